//! Steps and gradients with a contact law of the user's own.

use std::cell::Cell;

use isobar::check::{CheckSettings, Verdict, check_scene};
use isobar::contact::{
    ContactLaw, ContactModel, ContactSettings, DampingPoint, FrictionPoint, MaterialParameter, OwnLaw,
};
use isobar::geometry::Shape;
use isobar::multibody::{Body, BodyState, MassSource, Model, ModelBuilder, Parameter, State, seeded};
use isobar::optimize::identification::parameters_at;
use isobar::rollout::{
    Checkpoints, Loss, Moment, Rollout, SimulationSettings, loss_gradient, loss_gradient_forward,
};
use isobar::scalar::Scalar;
use isobar::spatial::{Quaternion, RigidTransform, SpatialVelocity};
use isobar::step::{Integrator, SolverTolerance, StepError, StepProblem, StepWorkspace, VelocityLevel};
use nalgebra::Vector3;

use crate::moving_bodies::{compliant, half_space, heap, materials};
use crate::own_law::{Rubber, rubber};

fn with_rubber() -> ContactSettings {
    ContactSettings { stiction_velocity: 0.02, law: Some(rubber()), ..Default::default() }
}

fn tight(model: ContactModel) -> Integrator {
    let tolerance = SolverTolerance { relative: 1e-15, max_iterations: 200 };
    Integrator::VelocityLevel(VelocityLevel { model, tolerance })
}

/// The kinds of steps that take a law of the user's own.
fn kinds() -> [Integrator; 3] {
    [Integrator::SemiImplicitEuler, Integrator::RungeKutta4, tight(ContactModel::Tamsi)]
}

/// A law that leaves everything as it is.
#[derive(Debug)]
struct Unchanged;

impl ContactLaw for Unchanged {}

#[test]
fn the_default_law_is_hunt_crossley_and_coulomb() {
    let until = 0.02;
    for integrator in kinds() {
        let settings = SimulationSettings { integrator, time_step: 2e-4 };
        let end = |law: Option<OwnLaw>| {
            let (model, state) = heap(ContactSettings { stiction_velocity: 0.02, law, ..Default::default() });
            // One coefficient of friction: without a law of the user's own it is the static one at rest.
            let same = |material: usize, value: f64| {
                let of = |parameter| (Parameter::Material { material, parameter }, value);
                [of(MaterialParameter::StaticFriction), of(MaterialParameter::DynamicFriction)]
            };
            let (model, state) =
                seeded::<f64>(&model, &state, &[same(0, 0.4), same(1, 0.8)].concat()).unwrap();
            Rollout::new(&model, &state, settings, until).simulate().unwrap().states.pop().unwrap()
        };
        let (own, built_in) = (end(Some(OwnLaw::new(&Unchanged))), end(None));
        for (a, b) in own.bodies.iter().zip(&built_in.bodies) {
            let difference = (a.position - b.position).norm();
            let velocity = (a.velocity - b.velocity).translational.norm();
            assert!(difference < 1e-10 && velocity < 1e-7, "{integrator:?}: {difference:e}, {velocity:e}");
        }
        assert_ne!(built_in, end(Some(rubber())), "{integrator:?}");
    }
}

/// A ball that slides and spins on a compliant ground.
fn sliding_ball() -> (Model, State) {
    let mut materials = materials([4e4, 8e4], 1.2);
    // One that is 0, which no relative step changes.
    materials[1].material.own[2] = 0.0;
    let shape = Shape::Sphere { radius: 0.05 };
    let ball = compliant(&shape, 0.04, RigidTransform::identity(), &materials, 0);
    let ball = Body::free("ball", MassSource::Density(300.0), vec![ball]).expect("a volume");
    let ground = Body::fixed("ground", RigidTransform::identity(), vec![half_space(&materials, Some(1))]);
    let bodies = vec![ball, ground];
    let model = ModelBuilder { bodies, materials, contact: with_rubber(), ..Default::default() };
    let model = model.build().expect("compliant");
    let body = BodyState {
        orientation: Quaternion::from_wxyz(0.9, 0.1, -0.2, 0.3).normalized(),
        position: Vector3::new(0.0, 0.0, 0.044),
        velocity: SpatialVelocity::new(Vector3::new(2.0, 5.0, -3.0), Vector3::new(0.3, -0.2, -0.1)),
    };
    (model, State::of_bodies(vec![body]))
}

#[test]
fn gradients_by_all_parameters_agree_with_differences() {
    let (model, state) = sliding_ball();
    let own = Parameter::all(&model);
    let own =
        own.iter().filter(|i| matches!(i, Parameter::Material { parameter: MaterialParameter::Own(_), .. }));
    assert_eq!(own.count(), 8);
    for integrator in kinds() {
        let settings = SimulationSettings { integrator, time_step: 2e-4 };
        let report = check_scene(
            &Rollout::new(&model, &state, settings, 4.0 * settings.time_step),
            &CheckSettings::default(),
        )
        .unwrap();
        let (rows, undecided) = (report.rows.len(), report.undecided());
        assert_eq!(report.count(Verdict::Wrong), 0, "{integrator:?}: {report}");
        // Positions after steps this short follow a parameter by 10⁻¹⁰ of a metre, which rounding hides.
        assert!(100 * undecided <= 5 * rows, "{integrator:?}: {undecided} of {rows} undecided\n{report}");
        let tangent = [Parameter::initial_rotation(0, 1), Parameter::initial_position(0, 0)]
            .into_iter()
            .chain([Parameter::initial_angular_velocity(0, 2), Parameter::initial_velocity(0, 1)]);
        let names: Vec<String> = tangent.map(|parameter| parameter.name(&model)).collect();
        assert_eq!(names, ["ball.ry", "ball.px", "ball.wz", "ball.vy"]);
        for name in ["hardening", "decay", "viscosity", "fading"] {
            let rows = || report.rows.iter().filter(|row| row.parameter.ends_with(name));
            let checked = rows().filter(|row| row.comparison.verdict == Verdict::Ok).count();
            assert!(checked > 10, "{integrator:?}, {name}: {checked} of {}", rows().count());
        }
    }
}

/// Where everything ends.
struct End;

impl Loss for End {
    fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
        let mut sum = T::from(0.0);
        for (i, body) in moment.state.bodies.iter().enumerate() {
            let off = body.position;
            sum += off.dot(&off) * (1.0 + i as f64)
                + body.velocity.rotational.dot(&body.velocity.translational) * 0.1;
        }
        sum
    }
}

#[test]
fn the_adjoint_agrees_with_forward_sensitivities() {
    let (model, initial) = heap(with_rubber());
    let parameters = Parameter::all(&model);
    for integrator in kinds() {
        let settings = SimulationSettings { integrator, time_step: 2e-4 };
        let rollout = Rollout::new(&model, &initial, settings, 0.004);
        let adjoint = loss_gradient(&rollout, &End, &parameters, Checkpoints::default()).unwrap();
        let forward = loss_gradient_forward(&rollout, &End, &parameters).unwrap();
        for (k, parameter) in parameters.iter().enumerate() {
            let (a, f) = (adjoint.by_parameters[k], forward.by_parameters[k]);
            let name = parameter.name(&model);
            assert!((a - f).abs() < 1e-9 * f.abs().max(1e-9), "{integrator:?}, {name}: {a:e}, {f:e}");
            if matches!(parameter, Parameter::Material { parameter: MaterialParameter::Own(_), .. }) {
                assert!(f != 0.0, "{integrator:?}, {name}");
            }
        }
    }
}

thread_local! {
    /// Whether points are collected, how many have been, and how often it began.
    static COLLECTED: Cell<(bool, usize, usize)> = const { Cell::new((false, 0, 0)) };
}

/// [`Rubber`], which collects points; meanwhile it answers something else.
#[derive(Debug)]
struct Collecting;

impl Collecting {
    fn or<T: Scalar>(answer: T) -> T {
        let (collects, points, times) = COLLECTED.get();
        COLLECTED.set((collects, points + usize::from(collects), times));
        if collects { T::from(1e3) } else { answer }
    }
}

impl ContactLaw for Collecting {
    fn parameters(&self) -> &'static [&'static str] {
        Rubber.parameters()
    }

    fn damping_factor<T: Scalar>(&self, at: &DampingPoint<T>) -> T {
        Self::or(Rubber.damping_factor(at))
    }

    fn friction_coefficient<T: Scalar>(&self, at: &FrictionPoint<T>) -> T {
        Self::or(Rubber.friction_coefficient(at))
    }

    fn combine<T: Scalar>(&self, parameter: usize, a: T, b: T) -> T {
        Rubber.combine(parameter, a, b)
    }

    fn begin_collecting(&self) -> bool {
        let (collects, points, times) = COLLECTED.get();
        COLLECTED.set((true, points, times + 1));
        !collects
    }

    fn end_collecting(&self) {
        let (_, points, times) = COLLECTED.get();
        COLLECTED.set((false, points, times));
    }
}

#[test]
fn collecting_points_changes_no_bit() {
    let (model, initial) = heap(with_rubber());
    let mut builder = model.clone().into_builder();
    builder.contact.law = Some(OwnLaw::new(&Collecting));
    let collecting = builder.build().expect("the same but for its law");
    // Shapes too.
    let [few, many] = Parameter::beyond_all(&model);
    let parameters = [Parameter::all(&model), few, many.into_iter().take(20).collect()].concat();
    for integrator in kinds() {
        let settings = SimulationSettings { integrator, time_step: 2e-4 };
        COLLECTED.set((false, 0, 0));
        let [(end, gradient), (other_end, other)] = [&model, &collecting].map(|model| {
            let rollout = Rollout::new(model, &initial, settings, 0.002);
            let gradient = loss_gradient(&rollout, &End, &parameters, Checkpoints::default()).unwrap();
            (rollout.simulate().unwrap().states.pop(), gradient)
        });
        assert_eq!(end, other_end, "{integrator:?}");
        assert_eq!(gradient.by_parameters, other.by_parameters, "{integrator:?}");
        assert_eq!(gradient.by_initial, other.by_initial, "{integrator:?}");
        let (collects, points, times) = COLLECTED.get();
        assert!(
            !collects && points > 20 * times && times > 20,
            "{integrator:?}: {points} points, {times} times"
        );
    }
}

#[test]
fn convex_steps_refuse_a_law_of_the_users_own() {
    let (model, state) = heap(with_rubber());
    for kind in [ContactModel::Sap, ContactModel::Lagged, ContactModel::Similar] {
        let step = StepProblem::new(&model, &state, 1e-3);
        let error = tight(kind).step(&step, &mut StepWorkspace::default()).unwrap_err();
        assert_eq!(error, StepError::OwnLaw(kind));
        assert!(error.to_string().contains("`tamsi`"), "{error}");
    }
}

#[test]
fn its_parameters_have_names() {
    let (model, _) = heap(with_rubber());
    let parameter = Parameter::Material { material: 1, parameter: MaterialParameter::Own(2) };
    assert_eq!(parameter.name(&model), "rubber.viscosity");
    assert_eq!(parameters_at(&model, "materials.rubber.viscosity"), Ok(vec![parameter]));
    assert!(parameters_at(&model, "materials.rubber.thickness").is_err());
    let (model, _) = heap(ContactSettings::default());
    assert_eq!(parameter.name(&model), "rubber.own[2]");
    assert!(parameters_at(&model, "materials.rubber.viscosity").is_err());
}
