//! The vector–Jacobian product of a contact is the transpose of its Jacobian, for every kind of pair
//! and model of dissipation; and that of a step allocates nothing in the steady state.

use crate::moving_bodies::{Pull, heap};
use crate::own_law::{OWN, rubber};
use nalgebra::{Vector3, Vector6};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use isobar::contact::{
    Collider, ContactGeometry, ContactPair, ContactSettings, DissipationModel, Material, OWN_PARAMETERS,
    SurfaceRepresentation, Workspace, combination_derivatives, contact_jacobian, contact_vjp,
};
use isobar::field::RigidSurface;
use isobar::geometry::Shape;
use isobar::multibody::{AppliedForces, DifferentiatedModel, ModelGradient, Parameter};
use isobar::spatial::{RigidTransform, SpatialForce, SpatialVelocity, rotation_from_rpy};
use isobar::step::{DerivativeWorkspace, Integrator, StepCotangent, StepProblem, StepWorkspace, Tape};

fn material(hydroelastic_modulus: f64, dissipation: f64, friction: f64) -> Material {
    Material::new(hydroelastic_modulus, dissipation, friction)
        .with_static_friction(1.3 * friction)
        .with_own(OWN)
}

fn compliant(shape: Shape, material: Material) -> Collider {
    Collider::of_shape(&shape, 0.04, material).unwrap()
}

/// Pairs of every kind, with the distance along z at which they overlap.
fn pairs() -> Vec<(Collider, Collider, f64)> {
    let (soft, hard) = (material(1e5, 0.7, 0.4), material(3e5, 0.2, 0.8));
    let ball = Shape::Sphere { radius: 0.1 };
    let slab = Shape::Box { size: [0.2, 0.16, 0.12] };
    let rigid = |shape: Shape| {
        let surface = RigidSurface::new(shape.surface_mesh(0.05).unwrap());
        Collider::rigid(surface, hard)
    };
    let plane = |geometry| Collider::new(geometry, hard, 0.1);
    vec![
        (compliant(ball, soft), compliant(slab, hard), 0.13),
        (compliant(ball, hard), compliant(slab, soft), 0.13),
        (compliant(ball, soft), rigid(slab), 0.13),
        (rigid(ball), compliant(slab, soft), 0.13),
        (compliant(ball, soft), plane(ContactGeometry::CompliantHalfSpace), 0.08),
        (compliant(ball, soft), plane(ContactGeometry::RigidHalfSpace), 0.08),
        (rigid(slab), plane(ContactGeometry::CompliantHalfSpace), 0.05),
    ]
}

fn settings(polygons: bool, strain_rate: bool, own: bool) -> ContactSettings {
    use {DissipationModel as Dissipation, SurfaceRepresentation as Surface};
    ContactSettings {
        law: own.then(rubber),
        surface: if polygons { Surface::Polygons } else { Surface::Triangles },
        dissipation_model: if strain_rate { Dissipation::StrainRate } else { Dissipation::HuntCrossley },
        ..Default::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, rng_seed: RngSeed::Fixed(1), ..Default::default() })]

    #[test]
    fn vjp_is_that_of_the_jacobian(
        turn in prop::array::uniform3(-3.0..3.0f64),
        shift in prop::array::uniform3(-0.01..0.01f64),
        velocity in prop::array::uniform6(-0.5..0.5f64),
        by in prop::array::uniform6(-1.0..1.0f64),
        polygons in any::<bool>(),
        strain_rate in any::<bool>(),
        swapped in any::<bool>(),
        own in any::<bool>(),
    ) {
        let settings = ContactSettings { positive_part_width: 0.5, ..settings(polygons, strain_rate, own) };
        agree(&pairs(), 0.0, (turn, shift, velocity, by), &settings, swapped)?;
    }

    #[test]
    fn before_touch_too(
        turn in prop::array::uniform3(-3.0..3.0f64),
        shift in prop::array::uniform3(-0.01..0.01f64),
        velocity in prop::array::uniform6(-0.5..0.5f64),
        by in prop::array::uniform6(-1.0..1.0f64),
        apart in -0.01..0.035f64,
        polygons in any::<bool>(),
        strain_rate in any::<bool>(),
        swapped in any::<bool>(),
        own in any::<bool>(),
    ) {
        let settings = settings(polygons, strain_rate, own);
        let skirted = |c: &Collider| c.with_skirt(0.008).expect("a thin skirt");
        let pairs: Vec<_> = pairs().iter().map(|(a, b, distance)| (skirted(a), skirted(b), *distance)).collect();
        agree(&pairs, apart, (turn, shift, velocity, by), &settings, swapped)?;
    }
}

/// The turn and shift of A, the velocities, and the derivatives with respect to the wrench.
type Numbers = ([f64; 3], [f64; 3], [f64; 6], [f64; 6]);

/// Compares the derivatives of all pairs, `apart` farther from each other than given.
fn agree(
    pairs: &[(Collider, Collider, f64)],
    apart: f64,
    (turn, shift, velocity, by): Numbers,
    settings: &ContactSettings,
    swapped: bool,
) -> Result<(), TestCaseError> {
    let mut workspace = Workspace::default();
    for (i, (a, b, distance)) in pairs.iter().enumerate() {
        let x_wa = RigidTransform::new(
            rotation_from_rpy(0.2 * turn[0], 0.2 * turn[1], turn[2]),
            Vector3::from(shift) + Vector3::new(0.3, -0.2, distance + apart),
        );
        let x_wb = RigidTransform::from_translation([0.3, -0.2, 0.0]);
        let v = |i: usize| Vector3::new(velocity[i], velocity[i + 1], velocity[i + 2]);
        let v_wa = SpatialVelocity::new(v(0), v(3));
        let v_wb = SpatialVelocity::new(v(3) * -0.5, v(1) * 0.7);
        let pair = if swapped {
            ContactPair { a: b, x_wa: x_wb, v_wa: v_wb, b: a, x_wb: x_wa, v_wb: v_wa }
        } else {
            ContactPair { a, x_wa, v_wa, b, x_wb, v_wb }
        };
        let by_wrench =
            SpatialForce::new(Vector3::new(by[0], by[1], by[2]), Vector3::new(by[3], by[4], by[5]));
        let w = Vector6::from(by);
        let Some((patch, jacobian)) =
            contact_jacobian(&pair, settings, &mut workspace).expect("a pair that can touch")
        else {
            prop_assert!(apart > 0.0, "pair {i} does not touch");
            prop_assert!(
                contact_vjp(&pair, &by_wrench, settings, &mut workspace)
                    .expect("a pair that can touch")
                    .is_none()
            );
            continue;
        };
        let found = contact_vjp(&pair, &by_wrench, settings, &mut workspace)
            .expect("a pair that can touch")
            .expect("they touch");
        let size = patch.wrench_on_a.translational.norm();
        let error = found.wrench_on_a - patch.wrench_on_a;
        let errors = [error.translational.norm(), error.rotational.norm()];
        prop_assert!(errors.iter().all(|e| *e <= 1e-13 * size), "pair {i}: {errors:?} of {size:e}");
        for (name, matrix, got) in [
            ("pose of A", jacobian.by_pose_a, found.pose_a),
            ("pose of B", jacobian.by_pose_b, found.pose_b),
            ("velocity of A", jacobian.by_velocity_a, found.velocity_a),
            ("velocity of B", jacobian.by_velocity_b, found.velocity_b),
        ] {
            // Where dissipation cancels the pressure everywhere, nothing is left of both.
            let (error, size) = ((matrix.tr_mul(&w) - got).norm(), matrix.norm());
            prop_assert!(error <= 1e-12 * size, "pair {i}, {name}: {error:e} of {size:e}");
        }
        let combination = combination_derivatives(pair.a, pair.b, settings);
        // What the fall from static to dynamic friction leaves at high slip may be too small to square.
        let underflow = 1e-150;
        let moduli = [jacobian.by_modulus_a, jacobian.by_modulus_b];
        for (body, material) in [found.material_a, found.material_b].into_iter().enumerate() {
            let own = &combination[body];
            let by = &jacobian.by_parameters;
            let own_law = (0..OWN_PARAMETERS).map(|k| (by.own[k] * own.own[k], material.own[k]));
            for (vector, got) in [
                (moduli[body], material.hydroelastic_modulus),
                (by.dissipation * own.dissipation, material.dissipation),
                (by.static_friction * own.static_friction, material.static_friction),
                (by.dynamic_friction * own.dynamic_friction, material.dynamic_friction),
            ]
            .into_iter()
            .chain(own_law)
            {
                let error = (vector.dot(&w) - got).abs();
                prop_assert!(
                    error <= 1e-12 * vector.norm() + underflow,
                    "pair {i}, body {body}: {error:e} of {:e}",
                    vector.norm()
                );
            }
        }
    }
    Ok(())
}

#[test]
fn aligned_meshes_have_the_derivatives_of_the_jacobian() {
    let slab = |m| compliant(Shape::Box { size: [0.2, 0.16, 0.12] }, m);
    let (a, b) = (slab(material(1e5, 0.7, 0.4)), slab(material(3e5, 0.2, 0.8)));
    let x_wa = RigidTransform::from_translation([0.0, 0.0, 0.11]);
    let pair = ContactPair::at_rest(&a, x_wa, &b, RigidTransform::identity());
    let (settings, mut workspace) = (ContactSettings::default(), Workspace::default());
    let by_wrench = SpatialForce::new(Vector3::new(0.3, -0.2, 0.1), Vector3::new(0.5, 0.7, -0.4));
    let w = Vector6::new(0.3, -0.2, 0.1, 0.5, 0.7, -0.4);
    let (_, jacobian) = contact_jacobian(&pair, &settings, &mut workspace)
        .expect("a pair that can touch")
        .expect("they touch");
    let found = contact_vjp(&pair, &by_wrench, &settings, &mut workspace)
        .expect("a pair that can touch")
        .expect("they touch");
    assert_eq!(found.pose_a, jacobian.by_pose_a.tr_mul(&w));
    assert_eq!(found.material_b.hydroelastic_modulus, jacobian.by_modulus_b.dot(&w));
}

#[test]
fn vjps_of_steps_allocate_nothing_in_the_steady_state() {
    let (model, before) = heap(ContactSettings::default());
    let control = [0.1, -0.2, 0.3, 0.4, 0.5];
    let parameters = Parameter::all(&model);
    let differentiated = DifferentiatedModel::new(&model, &parameters, Pull.dependence(), control.len())
        .expect("valid parameters");
    for integrator in [Integrator::SemiImplicitEuler, Integrator::RungeKutta4] {
        let (model, state, applied, control) = (&model, &before, &Pull, &control[..]);
        let problem = StepProblem {
            model,
            state,
            time: 0.0,
            time_step: 1e-4,
            applied,
            control,
            substeps: None,
            asleep: &[],
        };
        let (mut tape, mut workspace) = (Tape::default(), DerivativeWorkspace::default());
        integrator
            .step_taped(&problem, &differentiated, &mut StepWorkspace::default(), &mut tape)
            .expect("explicit");
        let mut by_state = vec![0.3; before.tangent_dimension()];
        let mut by_control = vec![0.0; control.len()];
        let mut by_model = ModelGradient::zero(&differentiated);
        let mut step = || {
            let mut out =
                StepCotangent { state: &mut by_state, control: &mut by_control, model: &mut by_model };
            tape.vjp(&differentiated, applied, &mut workspace, &mut out);
        };
        step();
        let steady = allocation_counter::measure(step);
        assert_eq!(steady.count_total, 0, "{integrator:?}");
        assert!(by_model.masses[0].mass != 0.0);
    }
}
