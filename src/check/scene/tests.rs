//! Gradient checks of a body on a spring whose law is right, wrong, or has a corner.

use super::*;
use crate::check::Verdict;
use crate::contact::Material;
use crate::multibody::{
    AppliedForces, AppliedWorkspace, Body, ForcePoint, Forces, MassProperties, MassSource, ModelBuilder,
    NamedMaterial,
};
use crate::spatial::{Quaternion, SpatialVelocity};
use crate::step::Integrator;
use nalgebra::{Matrix3, Vector3};

/// A spring with the first material's modulus along z, with damping. Where `wrong`, its derivative with
/// respect to the height is dropped on purpose; `corner` adds a force at z < 0 only, `narrow` one that is over within
/// 10⁻¹³ m of z = 0.
#[derive(Clone, Copy, Default)]
struct Spring {
    wrong: bool,
    corner: bool,
    narrow: bool,
}

impl AppliedForces for Spring {
    fn apply<T: Scalar>(&self, model: &Model<T>, state: &State<T>, _: f64, _: &[T], forces: &mut Forces<T>) {
        let material = &model.materials[0].material;
        for (body, force) in state.bodies.iter().zip(&mut forces.bodies) {
            let z = if self.wrong { T::from(body.position.z.real()) } else { body.position.z };
            let damping = material.dissipation * body.velocity.translational.z;
            let mut pull = -(material.hydroelastic_modulus * z) - damping;
            if self.corner && z.real() < 0.0 {
                pull -= z * 50.0;
            }
            if self.narrow {
                let parts = z * 1e13;
                pull += z * 50.0 / (parts * parts + 1.0);
            }
            force.translational.z += pull;
        }
    }
}

/// First-order explicit steps of 1 ms.
const EXPLICIT: SimulationSettings =
    SimulationSettings { integrator: Integrator::SemiImplicitEuler, time_step: 1e-3 };

fn scene(height: f64) -> (Model, State) {
    let properties = MassProperties {
        mass: 0.5,
        center_of_mass: Vector3::new(0.01, 0.0, 0.02),
        inertia: Matrix3::from_diagonal(&Vector3::new(1e-3, 2e-3, 2.5e-3)),
    };
    let body = Body::free("block", MassSource::Given(properties), vec![]).unwrap();
    let material = Material::new(40.0, 0.3, 0.0);
    let materials = vec![NamedMaterial { name: "spring".into(), material }];
    let model =
        ModelBuilder { bodies: vec![body], materials, gravity: Vector3::zeros(), ..Default::default() };
    let model = model.build().unwrap();
    let body = crate::multibody::BodyState {
        orientation: Quaternion::from_wxyz(0.9, 0.2, -0.1, 0.3),
        position: Vector3::new(0.1, 0.2, height),
        velocity: SpatialVelocity::new(Vector3::new(3.0, -2.0, 1.0), Vector3::new(0.2, 0.1, 0.4)),
    };
    (model, State::of_bodies(vec![body]))
}

fn check(height: f64, law: &Spring) -> GradientReport {
    let (model, state) = scene(height);
    let rollout = Rollout::new(&model, &state, EXPLICIT, 0.02).under(law);
    check_scene(&rollout, &CheckSettings::default()).unwrap()
}

#[test]
fn the_derivatives_of_a_body_on_a_spring_are_right() {
    let report = check(0.05, &Spring::default());
    // Twelve directions of the state, ten numbers of the mass properties, gravity, the time step; no geometry
    // uses the material.
    assert_eq!(report.rows.len(), 26 * 24);
    assert!(report.passed(), "{report}");
    assert!(report.count(Verdict::Ok) > 100, "{report}");
    assert_eq!(report.count(Verdict::Kink), 0, "{report}");
}

#[test]
fn a_derivative_that_was_dropped_is_found() {
    let report = check(0.05, &Spring { wrong: true, ..Default::default() });
    assert!(!report.passed());
    let wrong = report.rows.iter().filter(|r| r.comparison.verdict == Verdict::Wrong);
    assert!(
        wrong.clone().any(|r| r.parameter == "block.pz" && r.quantity == "velocity of block after one step")
    );
    assert!(wrong.clone().all(|r| r.parameter != "block.px"), "{report}");
}

#[test]
fn a_kink_at_the_initial_state_is_named() {
    let report = check(0.0, &Spring { corner: true, ..Default::default() });
    assert!(report.passed(), "{report}");
    let kinks: Vec<_> =
        report.rows.iter().filter(|r| r.comparison.verdict == Verdict::Kink).map(|r| &*r.parameter).collect();
    assert!(kinks.contains(&"block.pz"), "{report}");
}

#[test]
fn a_derivative_of_something_narrower_than_the_differences_is_not_called_wrong() {
    let narrow = Spring { narrow: true, ..Default::default() };
    let velocity_by_height = |report: &GradientReport| {
        let row = report.rows.iter().find(|row| {
            let is_vertical = row.parameter == "block.pz" && row.component == "z";
            is_vertical && row.quantity == "velocity of block after one step"
        });
        row.expect("it is checked").comparison.clone()
    };
    let report = check(0.0, &narrow);
    assert_eq!(report.count(Verdict::Wrong), 0, "{report}");
    let found = velocity_by_height(&report);
    assert!(found.verdict == Verdict::Kink && found.note.contains("right on both sides"), "{found:?}");
    // With a mistake it is wrong on both sides as well.
    let dropped = velocity_by_height(&check(0.0, &Spring { wrong: true, ..narrow }));
    assert_eq!(dropped.verdict, Verdict::Wrong, "{dropped:?}");
}

/// A spring of 40 N/m along z whose vector–Jacobian product, written by hand, is off by a ten-thousandth
/// where `wrong`.
struct ByHand {
    wrong: bool,
}

impl AppliedForces for ByHand {
    fn apply<T: Scalar>(&self, _: &Model<T>, state: &State<T>, _: f64, _: &[T], forces: &mut Forces<T>) {
        for (body, force) in state.bodies.iter().zip(&mut forces.bodies) {
            force.translational.z -= body.position.z * 40.0;
        }
    }

    fn add_vjp(
        &self,
        _: &ForcePoint,
        by_force: &Forces,
        by_state: &mut [f64],
        _: &mut [f64],
        _: &mut AppliedWorkspace,
    ) {
        let slope = if self.wrong { -40.0 * 1.0001 } else { -40.0 };
        by_state[5] += slope * by_force.bodies[0].translational.z;
    }
}

#[test]
fn an_error_in_one_way_of_making_gradients_is_found_in_that_way() {
    let (model, state) = scene(0.05);
    let report = |wrong: bool| {
        let law = ByHand { wrong };
        let rollout = Rollout::new(&model, &state, EXPLICIT, 0.02).under(&law);
        check_scene(&rollout, &CheckSettings::default()).unwrap()
    };
    let right = report(false);
    assert!(right.passed() && right.ways.len() == 8, "{right}");
    assert!(right.ways.iter().all(|way| way.disagreeing == 0 && way.compared > 0), "{right}");
    let wrong = report(true);
    assert!(!wrong.passed());
    for way in &wrong.ways {
        let goes_back = way.way.contains("adjoint") || way.way.contains("vector–Jacobian");
        assert_eq!(way.disagreeing > 0, goes_back, "{wrong}");
        let rows = wrong.rows.iter().filter(|row| row.quantity.contains(&way.way));
        let rows: Vec<_> = rows.map(|row| (row.comparison.verdict, row.parameter.as_str())).collect();
        assert_eq!(rows.len(), usize::from(goes_back), "{wrong}");
        assert!(rows.iter().all(|row| *row == (Verdict::Wrong, "block.pz")), "{wrong}");
    }
    assert_eq!(right.rows.len() + 5, wrong.rows.len());
}
