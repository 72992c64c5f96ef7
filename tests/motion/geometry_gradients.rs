//! Derivatives with respect to geometries: vertices and extents of meshes, sizes, poses on bodies and of fixed
//! bodies. The adjoint, which takes all of them in one sweep, against dual numbers, step Jacobians and differences.

use std::convert::Infallible;
use std::sync::Arc;

use crate::moving_bodies::{compliant, half_space, heap, materials};
use nalgebra::{Matrix3, Vector3};

use isobar::check::{CheckSettings, Verdict, compare_derivative};
use isobar::contact::{
    Collider, ContactGeometry, ContactModel, ContactSettings, DissipationModel, Material,
    SurfaceRepresentation,
};
use isobar::field::{PressureLaw, RigidSurface, primitive_field};
use isobar::geometry::Shape;
use isobar::multibody::{
    Body, BodyGeometry, BodyState, MassSource, Model, ModelBuilder, Parameter, State, seeded,
};
use isobar::rollout::{
    Checkpoints, Loss, Moment, Rollout, SimulationSettings, Trajectory, loss_gradient, loss_gradient_forward,
};
use isobar::scalar::{DualArray, Scalar};
use isobar::spatial::{Quaternion, RigidTransform, SpatialVelocity};
use isobar::step::{Integrator, SolverTolerance, VelocityLevel};

/// A number that the end of every body counts in, with its position, its orientation and its velocity.
#[derive(Clone, Copy, Debug)]
struct End;

impl Loss for End {
    fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
        let weights = |k: usize| Vector3::from_fn(|i, _| T::from((1.7 * (3 * k + i) as f64 + 0.4).sin()));
        let mut sum = T::from(0.0);
        for (k, body) in moment.state.bodies.iter().enumerate() {
            let axis = body.orientation.to_matrix() * weights(4 * k);
            sum += axis.dot(&weights(4 * k + 1)) + body.position.dot(&weights(4 * k + 2));
            let v = body.velocity.translational + body.velocity.rotational.map(|w| w * 0.02);
            sum += v.dot(&weights(4 * k + 3)) * 0.1;
        }
        sum
    }
}

/// Explicit steps, and velocity-level ones whose rounding does not show in differences.
fn methods() -> Vec<(Integrator, f64, usize)> {
    let exact = |model| {
        let tolerance = SolverTolerance { relative: 1e-14, max_iterations: 200 };
        (Integrator::VelocityLevel(VelocityLevel { model, tolerance }), 5e-4, 4)
    };
    let models = [ContactModel::Sap, ContactModel::Lagged, ContactModel::Similar, ContactModel::Tamsi];
    let explicit = [(Integrator::SemiImplicitEuler, 1e-4, 4), (Integrator::RungeKutta4, 1e-4, 2)];
    explicit.into_iter().chain(models.map(exact)).collect()
}

fn contact(surface: SurfaceRepresentation, dissipation_model: DissipationModel) -> ContactSettings {
    ContactSettings { stiction_velocity: 0.02, surface, dissipation_model, ..Default::default() }
}

/// Every kind of surface with some kind of dissipation.
fn variants() -> [ContactSettings; 3] {
    use DissipationModel::{HuntCrossley, StrainRate};
    use SurfaceRepresentation::{Polygons, Triangles};
    [contact(Polygons, HuntCrossley), contact(Triangles, HuntCrossley), contact(Polygons, StrainRate)]
}

/// A rigid brick, filled with a density, that lies on a compliant ground.
fn brick_on_ground(settings: ContactSettings) -> (Model, State) {
    let materials = materials([4e4, 8e4], 1.2);
    let mesh = Shape::Box { size: [0.06, 0.08, 0.05] }.surface_mesh(0.05).expect("valid shape");
    let collider = Collider::rigid(RigidSurface::new(mesh), Material::NONE);
    let x_bg = RigidTransform::new(Matrix3::identity(), Vector3::new(0.01, 0.0, -0.005));
    let brick = BodyGeometry::new(collider).at(x_bg);
    let brick = Body::free("brick", MassSource::Density(900.0), vec![brick]).expect("a volume");
    let ground = Body::fixed("ground", RigidTransform::identity(), vec![half_space(&materials, Some(1))]);
    let gravity = Vector3::new(0.0, 0.3, -9.81);
    let bodies = vec![brick, ground];
    let model = ModelBuilder { bodies, materials, gravity, contact: settings, ..Default::default() };
    let start = BodyState {
        orientation: Quaternion::from_wxyz(0.99, 0.05, -0.03, 0.1).normalized(),
        position: Vector3::new(0.0, 0.0, 0.031),
        velocity: SpatialVelocity::new(Vector3::new(0.4, -0.6, 0.3), Vector3::new(0.1, 0.05, -0.2)),
    };
    (model.build().expect("compliant"), State::of_bodies(vec![start]))
}

/// A compliant brick that lies on another one, nearly flat: faces of lateral elements, whose columns end in other ones.
fn bricks(settings: ContactSettings) -> (Model, State) {
    let materials = materials([4e4, 8e4], 1.2);
    let brick = |size: [f64; 3], place: usize| {
        compliant(&Shape::Box { size }, 0.1, RigidTransform::identity(), &materials, place)
    };
    let upper = brick([0.06, 0.08, 0.05], 0);
    let upper = Body::free("upper", MassSource::Density(900.0), vec![upper]).expect("a volume");
    let lower = Body::fixed(
        "lower",
        RigidTransform::from_translation([0.004, -0.003, -0.04]),
        vec![brick([0.1, 0.12, 0.08], 1)],
    );
    let gravity = Vector3::new(0.0, 0.3, -9.81);
    let bodies = vec![upper, lower];
    let model = ModelBuilder { bodies, materials, gravity, contact: settings, ..Default::default() };
    let start = BodyState {
        orientation: Quaternion::from_wxyz(0.99, 0.004, -0.003, 0.1).normalized(),
        position: Vector3::new(0.0, 0.0, 0.023),
        velocity: SpatialVelocity::new(Vector3::new(0.04, -0.06, 0.3), Vector3::new(0.1, 0.05, -0.02)),
    };
    (model.build().expect("compliant"), State::of_bodies(vec![start]))
}

/// The same model with a skirt on everything compliant.
fn with_skirts(model: &Model, thickness: f64) -> Model {
    let mut builder = model.clone().into_builder();
    for geometry in builder.bodies.iter_mut().flat_map(|body| &mut body.geometries) {
        geometry.collider = geometry.collider.with_skirt(thickness).expect("a thin skirt");
    }
    builder.build().expect("the same bodies")
}

/// The numbers of all geometries: sizes, vertices, extents, places.
fn numbers(model: &Model) -> Vec<Parameter> {
    let mut all = Parameter::places(model);
    for (body, b) in model.bodies().iter().enumerate() {
        for geometry in 0..b.geometries.len() {
            if !b.geometries[geometry].collider.geometry.is_rigid() || body + 1 < model.bodies().len() {
                all.push(Parameter::GeometryScale { body, geometry });
            }
            all.extend(Parameter::vertices(model, body, geometry));
            all.extend(Parameter::extents(model, body, geometry));
        }
    }
    all
}

/// The derivative of the loss with respect to parameters in forward mode, by simulations in dual numbers.
fn by_duals(rollout: &Rollout<'_>, parameters: &[Parameter]) -> Vec<f64> {
    let of_chunk = |chunk: &[Parameter]| {
        let seed = |(i, p): (usize, &Parameter)| {
            (*p, DualArray::<8>::variable(p.value(rollout.model).expect("exists"), i))
        };
        let values: Vec<_> = chunk.iter().enumerate().map(seed).collect();
        let (model, initial) = seeded(rollout.model, rollout.initial, &values).expect("valid");
        let run = Rollout::new(&model, &initial, rollout.settings, rollout.until);
        loss_at_end(&run.simulate().expect("simulates"), &model).eps[..chunk.len()].to_vec()
    };
    parameters.chunks(8).flat_map(of_chunk).collect()
}

fn loss_at_end<T: Scalar>(trajectory: &Trajectory<T>, model: &Model<T>) -> T {
    let state = trajectory.states.last().expect("the initial state at least");
    let (step, time) = (trajectory.states.len() - 1, trajectory.times.last().copied().unwrap_or(0.0));
    End.terminal(&Moment {
        step,
        time,
        dt: 0.0,
        model,
        state,
        control: &[],
        contacts: &Default::default(),
        step_end: None,
    })
}

/// Of the parameters of each kind those that matter most, and some of the others, by their derivatives.
fn chosen(parameters: &[Parameter], gradient: &[f64], most: usize, others: usize) -> Vec<usize> {
    let kind = |i: usize| std::mem::discriminant(&parameters[i]);
    let mut all = Vec::new();
    let mut left: Vec<usize> = (0..gradient.len()).collect();
    while let Some(&first) = left.first() {
        let (mut alike, rest): (Vec<usize>, Vec<usize>) =
            left.into_iter().partition(|&i| kind(i) == kind(first));
        left = rest;
        alike.sort_by(|&a, &b| gradient[b].abs().total_cmp(&gradient[a].abs()));
        let less = alike.split_off(most.min(alike.len()));
        let every = (less.len() / others.max(1)).max(1);
        all.extend(alike);
        all.extend(less.into_iter().step_by(every).take(others));
    }
    all
}

fn assert_same(name: &str, model: &Model, parameters: &[Parameter], a: &[f64], b: &[f64]) {
    let of_kind = |p: &Parameter| std::mem::discriminant(p);
    for ((p, a_value), b_value) in parameters.iter().zip(a).zip(b) {
        let alike = parameters.iter().zip(a).filter(|(q, _)| of_kind(q) == of_kind(p));
        let size = alike.fold(0.0_f64, |m, (_, x)| m.max(x.abs()));
        assert!(
            (a_value - b_value).abs() <= 1e-9 * size,
            "{name}: {}: {a_value:e} and {b_value:e}, of at most {size:e}",
            p.name(model)
        );
    }
}

/// The gradient with respect to all geometries by the adjoint, and which of the parameters to look at.
fn adjoint(rollout: &Rollout<'_>, most: usize, others: usize) -> (Vec<Parameter>, Vec<f64>) {
    let all = numbers(rollout.model);
    let gradient = loss_gradient(rollout, &End, &all, Checkpoints::All).expect("simulates").by_parameters;
    let indices = chosen(&all, &gradient, most, others);
    (indices.iter().map(|&i| all[i]).collect(), indices.iter().map(|&i| gradient[i]).collect())
}

/// Compares the adjoint with dual numbers, for all kinds of steps.
fn compare_with_duals(model: &Model, initial: &State) {
    for (integrator, time_step, steps) in methods() {
        let settings = SimulationSettings { integrator, time_step };
        let rollout = Rollout::new(model, initial, settings, steps as f64 * time_step);
        let (parameters, gradient) = adjoint(&rollout, 8, 4);
        let zeros = gradient.iter().filter(|d| **d == 0.0).count();
        assert!(3 * zeros < gradient.len(), "{integrator:?}: hardly any contact");
        let duals = by_duals(&rollout, &parameters);
        assert_same(&format!("{integrator:?}"), model, &parameters, &gradient, &duals);
    }
}

#[test]
fn shapes_and_places_in_a_heap_have_the_derivatives_of_dual_numbers() {
    for settings in variants() {
        let (model, initial) = heap(settings);
        compare_with_duals(&model, &initial);
    }
}

#[test]
fn those_of_a_rigid_brick_on_soft_ground_too() {
    for settings in variants() {
        let (model, initial) = brick_on_ground(settings);
        compare_with_duals(&model, &initial);
    }
}

#[test]
fn those_of_bricks_that_lie_on_each_other_too() {
    for settings in variants() {
        for settings in [settings, ContactSettings { quadrature_order: Some(3), ..settings }] {
            let (model, initial) = bricks(settings);
            compare_with_duals(&model, &initial);
            compare_with_duals(&with_skirts(&model, 0.002), &initial);
        }
    }
}

#[test]
fn skirts_change_nothing_in_that() {
    let (model, initial) = heap(contact(SurfaceRepresentation::Triangles, DissipationModel::HuntCrossley));
    compare_with_duals(&with_skirts(&model, 0.004), &initial);
    let (model, initial) = brick_on_ground(ContactSettings::default());
    compare_with_duals(&with_skirts(&model, 0.004), &initial);
}

#[test]
fn step_jacobians_have_the_derivatives_of_the_adjoint() {
    let (model, initial) = brick_on_ground(ContactSettings::default());
    for (integrator, time_step, steps) in methods() {
        let settings = SimulationSettings { integrator, time_step };
        let rollout = Rollout::new(&model, &initial, settings, steps as f64 * time_step);
        let (parameters, gradient) = adjoint(&rollout, 8, 2);
        let forward = loss_gradient_forward(&rollout, &End, &parameters).expect("simulates").by_parameters;
        assert_same(&format!("{integrator:?}"), &model, &parameters, &gradient, &forward);
    }
}

#[test]
fn differences_agree() {
    let (model, initial) = heap(ContactSettings { stiction_velocity: 0.02, ..Default::default() });
    for (integrator, time_step, steps) in methods() {
        let settings = SimulationSettings { integrator, time_step };
        let rollout = Rollout::new(&model, &initial, settings, steps as f64 * time_step);
        let (parameters, gradient) = adjoint(&rollout, 2, 0);
        let mut decided = 0;
        for (parameter, claimed) in parameters.iter().zip(gradient) {
            let value = parameter.value(&model).expect("exists");
            // Raised, the boundary presses; lowered, the body begins within it: there contact has kinks.
            if matches!(parameter, Parameter::Extent { .. }) && value == 0.0 {
                continue;
            }
            let is_length = matches!(
                parameter,
                Parameter::MeshVertex { .. } | Parameter::GeometryPose { .. } | Parameter::FixedPose { .. }
            );
            let scale = if is_length { 1e-2 } else { 1.0 };
            let loss = |x: f64| {
                let (model, initial) = seeded(&model, &initial, &[(*parameter, x)]).expect("valid");
                let run = Rollout::new(&model, &initial, settings, rollout.until);
                Ok::<_, Infallible>(vec![loss_at_end(&run.simulate().expect("simulates"), &model)])
            };
            let check = CheckSettings { largest_step: 1e-3, smallest_step: 1e-8, ..Default::default() };
            let Ok(compared) = compare_derivative(loss, value, scale, &[claimed], &check);
            let verdict = compared[0].verdict;
            assert_ne!(verdict, Verdict::Wrong, "{integrator:?} {}: {compared:?}", parameter.name(&model));
            decided += usize::from(verdict == Verdict::Ok);
        }
        assert!(decided >= 8, "{integrator:?}: {decided} decided");
    }
}

/// The upper brick stiffens as it is pressed; it lies between the boundary and the first level of its law.
#[test]
fn exponents_of_pressure_laws_have_the_derivatives_of_dual_numbers_and_differences() {
    let (model, initial) = bricks(contact(SurfaceRepresentation::Polygons, DissipationModel::HuntCrossley));
    let mut builder = model.into_builder();
    let (mesh, extent) = primitive_field(&Shape::Box { size: [0.06, 0.08, 0.05] }, 0.1).expect("a field");
    let field = PressureLaw::power(1.3).expect("positive").field(mesh, extent, 3).expect("a field");
    builder.bodies[0].geometries[0].collider.geometry = Arc::new(ContactGeometry::Compliant(field));
    let model = builder.build().expect("the same bodies");
    let exponent = Parameter::PressureExponent { body: 0, geometry: 0 };
    assert_eq!(exponent.value(&model).expect("a power"), 1.3);
    assert!(Parameter::PressureExponent { body: 1, geometry: 0 }.value(&model).is_err(), "a linear law");
    for model in [with_skirts(&model, 0.002), model] {
        for (integrator, time_step, steps) in methods() {
            let settings = SimulationSettings { integrator, time_step };
            let rollout = Rollout::new(&model, &initial, settings, steps as f64 * time_step);
            let gradient = loss_gradient(&rollout, &End, &[exponent], Checkpoints::All).expect("simulates");
            let claimed = gradient.by_parameters;
            let forward = loss_gradient_forward(&rollout, &End, &[exponent]).expect("simulates");
            let name = format!("{integrator:?}");
            assert_same(&name, &model, &[exponent], &claimed, &forward.by_parameters);
            assert_same(&name, &model, &[exponent], &claimed, &by_duals(&rollout, &[exponent]));
            let loss = |x: f64| {
                let (model, initial) = seeded(&model, &initial, &[(exponent, x)]).expect("valid");
                let run = Rollout::new(&model, &initial, settings, rollout.until);
                loss_at_end(&run.simulate().expect("simulates"), &model)
            };
            let difference = (loss(1.3 + 1e-5) - loss(1.3 - 1e-5)) / 2e-5;
            let error = (difference - claimed[0]).abs() / claimed[0].abs();
            assert!(error < 1e-4, "{name}: {difference:e}, claimed {:e}", claimed[0]);
        }
    }
}
