//! Costs of motions: their values, their derivatives, and what is refused.

use crate::jointed_scene;
use isobar::contact::SurfaceRepresentation;
use isobar::multibody::{Model, SensorWorkspace, State};
use isobar::optimize::ProblemError;
use isobar::optimize::objective::{CostTerm, Deviation, Objective, Quantity, Target, When};
use isobar::rollout::{Moment, SimulationError, TrajectoryResiduals};
use isobar::scalar::{DualArray, Scalar};
use isobar::spatial::{Quaternion, SpatialVelocity};
use nalgebra::Vector3;

fn term(quantity: Quantity) -> CostTerm {
    CostTerm {
        quantity,
        target: Target::constant(Vector3::new(0.2, -0.1, 0.3)),
        weight: Vector3::new(1.0, 2.0, 0.5),
        deviation: Deviation::Both,
        when: When::Running,
    }
}

fn quantities(model: &Model) -> Vec<Quantity> {
    let body = |name: &str| model.body_index(name).expect("a body");
    let (ball, left, hand, pusher) = (body("ball"), body("left"), body("hand"), body("pusher"));
    let target = Quaternion::from_wxyz(0.8, 0.1, -0.3, 0.2);
    vec![
        Quantity::Control { index: 2 },
        Quantity::JointPosition { index: 6 },
        Quantity::JointVelocity { index: 3 },
        Quantity::Position { body: ball, relative_to: None },
        Quantity::Position { body: ball, relative_to: Some(hand) },
        Quantity::Orientation { body: hand, relative_to: None, target },
        Quantity::Orientation { body: ball, relative_to: Some(pusher), target },
        Quantity::Velocity { body: hand, relative_to: None },
        Quantity::AngularVelocity { body: hand, relative_to: None },
        Quantity::Velocity { body: ball, relative_to: Some(hand) },
        Quantity::AngularVelocity { body: pusher, relative_to: Some(ball) },
        Quantity::ActuatorForce { actuator: 0, coordinate: 0 },
        Quantity::ContactForce { on: ball, from: left, expressed_in: None },
        Quantity::ContactForce { on: left, from: ball, expressed_in: None },
        Quantity::ContactForce { on: left, from: ball, expressed_in: Some(hand) },
        Quantity::GripForce { on: ball, from: left },
        Quantity::NormalForce { on: ball, from: left },
        Quantity::ContactTorque { on: left, from: ball },
    ]
}

fn residuals<T: Scalar>(
    objective: &Objective,
    model: &Model<T>,
    state: &State<T>,
    control: &[T],
    at_end: bool,
) -> Vec<T> {
    let mut out = Vec::new();
    let moment = Moment {
        step: 0,
        time: 0.25,
        dt: if at_end { 0.0 } else { 0.01 },
        model,
        state,
        control,
        contacts: &Default::default(),
        step_end: None,
    };
    if at_end {
        objective.terminal(&moment, &mut out);
    } else {
        objective.running(&moment, &mut out);
    }
    out
}

#[test]
fn derivatives_agree_with_differences() {
    let (model, _) = jointed_scene::scene(SurfaceRepresentation::Polygons);
    check_derivatives(quantities(&model));
}

/// Each by itself: pressures are large numbers.
#[test]
fn derivatives_of_patches_agree_with_differences() {
    let (model, _) = jointed_scene::scene(SurfaceRepresentation::Polygons);
    let body = |name: &str| model.body_index(name).expect("a body");
    let (ball, left) = (body("ball"), body("left"));
    check_derivatives(vec![Quantity::ContactArea { on: ball, from: left }]);
    check_derivatives(vec![Quantity::LargestPressure { on: ball, from: left }]);
    check_derivatives(vec![Quantity::Slip { on: ball, from: left }]);
    check_derivatives(vec![Quantity::Slip { on: left, from: ball }]);
    check_derivatives(vec![Quantity::SlipVelocity { on: left, from: ball }]);
    check_derivatives(vec![Quantity::ContactCentroid { on: left, from: ball }]);
}

/// Of a ball that slides on a table: what it slips at, and that both see it opposite.
#[test]
fn slip_is_the_velocity_along_the_surface() {
    let (model, state) = jointed_scene::scene(SurfaceRepresentation::Polygons);
    let body = |name: &str| model.body_index(name).expect("a body");
    let (ball, table) = (body("ball"), body("table"));
    let workspace = &mut SensorWorkspace::default();
    let slip = |state: &State, on, from, workspace: &mut SensorWorkspace| {
        model.pair_slip(state, on, from, workspace)
    };
    let mut gliding = state.clone();
    gliding.bodies[0].position = Vector3::new(0.0, 0.0, 0.025);
    gliding.bodies[0].velocity = SpatialVelocity::new(Vector3::zeros(), Vector3::new(0.3, -0.2, 0.0));
    // The table is flat, and the surface almost.
    let found = slip(&gliding, ball, table, workspace);
    assert!((found - Vector3::new(0.3, -0.2, 0.0)).norm() < 0.1, "{found}");
    assert!((found + slip(&gliding, table, ball, workspace)).norm() < 1e-15);
    gliding.bodies[0].velocity.translational = Vector3::new(0.0, 0.0, -0.5);
    let down = slip(&gliding, ball, table, workspace);
    assert!(down.norm() < 0.1, "{down}");
    gliding.bodies[0].position.z = 1.0;
    assert_eq!(slip(&gliding, ball, table, workspace), Vector3::zeros());
}

fn check_derivatives(quantities: Vec<Quantity>) {
    type Dual = DualArray<8>;
    let (model, state) = jointed_scene::scene(SurfaceRepresentation::Polygons);
    let control = [0.1, 0.2, 11.0, -0.3];
    let terms = quantities.into_iter().map(term).collect();
    let objective = Objective::new(&model, control.len(), terms).expect("it fits");
    let lifted = Model::<Dual>::lift(&model);
    let n = state.tangent_dimension();
    for direction in 0..n + control.len() {
        let moved = |h: f64| {
            let (mut tangent, mut control) = (vec![0.0; n], control);
            if direction < n {
                tangent[direction] = h;
            } else {
                control[direction - n] += h;
            }
            residuals(&objective, &model, &state.moved(&tangent), &control, false)
        };
        let unit =
            |value: f64, k: usize| if k == direction { Dual::variable(value, 0) } else { Dual::from(value) };
        let tangent: Vec<Dual> = (0..n).map(|k| unit(0.0, k)).collect();
        let seeded: Vec<Dual> = control.iter().enumerate().map(|(k, &u)| unit(u, n + k)).collect();
        let dual = residuals(&objective, &lifted, &State::lift(&state).moved(&tangent), &seeded, false);
        let h = 1e-6;
        let (plus, minus) = (moved(h), moved(-h));
        let size = dual.iter().map(|r| r.eps[0].abs()).fold(1e-3, f64::max);
        for (i, r) in dual.iter().enumerate() {
            let difference = (plus[i] - minus[i]) / (2.0 * h);
            let error = (r.eps[0] - difference).abs() / size;
            assert!(error < 1e-5, "direction {direction}, residual {i}: {} {difference}", r.eps[0]);
        }
    }
}

#[test]
fn forces_of_a_pair_are_opposite_and_limits_count_on_one_side() {
    let (model, state) = jointed_scene::scene(SurfaceRepresentation::Polygons);
    let body = |name: &str| model.body_index(name).expect("a body");
    let force = |a, b, deviation, target: f64| {
        let cost = CostTerm {
            quantity: Quantity::ContactForce { on: body(a), from: body(b), expressed_in: None },
            target: Target::constant(Vector3::from_element(target)),
            weight: Vector3::from_element(1.0),
            deviation,
            when: When::End,
        };
        let objective = Objective::new(&model, 4, vec![cost]).expect("it fits");
        residuals(&objective, &model, &state, &[0.0; 4], true)
    };
    let on_left = force("left", "ball", Deviation::Both, 0.0);
    let on_ball = force("ball", "left", Deviation::Both, 0.0);
    assert!(on_left[0].abs() > 0.1, "{on_left:?}");
    for (a, b) in on_left.iter().zip(&on_ball) {
        assert!((a + b).abs() < 1e-12, "{a} {b}");
    }
    for (free, above, below) in triples(
        &on_left,
        &force("left", "ball", Deviation::Above, 0.0),
        &force("left", "ball", Deviation::Below, 0.0),
    ) {
        assert_eq!((above, below), (free.max(0.0), free.min(0.0)));
    }
}

fn triples(a: &[f64], b: &[f64], c: &[f64]) -> Vec<(f64, f64, f64)> {
    (0..3).map(|i| (a[i], b[i], c[i])).collect()
}

#[test]
fn targets_are_linear_between_times() {
    let value = |x: f64| Vector3::new(x, 2.0 * x, 0.0);
    let target = Target::new(vec![1.0, 2.0, 4.0], vec![value(1.0), value(3.0), value(-1.0)]).expect("valid");
    for (time, expected) in [(0.0, 1.0), (1.5, 2.0), (2.0, 3.0), (3.0, 1.0), (9.0, -1.0)] {
        assert_eq!(target.at(time), value(expected), "{time}");
    }
    assert_eq!(
        Target::new(vec![0.0, 0.0], vec![value(0.0); 2]),
        Err(ProblemError::TargetTime { index: 1, time: 0.0 })
    );
    assert!(matches!(Target::new(vec![], vec![]), Err(ProblemError::TargetCount { .. })));
}

#[test]
fn terms_that_do_not_fit_are_refused() {
    let (model, _) = jointed_scene::scene(SurfaceRepresentation::Polygons);
    let body = |name: &str| model.body_index(name).expect("a body");
    let refused = |cost: CostTerm| Objective::new(&model, 4, vec![cost]).expect_err("it does not fit");
    let at_end = CostTerm { when: When::End, ..term(Quantity::Control { index: 0 }) };
    assert_eq!(refused(at_end), ProblemError::ControlAtEnd);
    assert!(matches!(
        refused(term(Quantity::Control { index: 4 })),
        ProblemError::Simulation(SimulationError::NoSuch { index: 4, .. })
    ));
    assert!(matches!(
        refused(term(Quantity::Velocity { body: 99, relative_to: None })),
        ProblemError::Simulation(SimulationError::NoSuch { what: "body", .. })
    ));
    let apart = Quantity::ContactForce { on: body("upper"), from: body("table"), expressed_in: None };
    let message = refused(term(apart)).to_string();
    assert_eq!(message, "bodies `upper` and `table` cannot touch in this model");
    let negative = CostTerm {
        weight: Vector3::new(1.0, -1.0, 0.0),
        ..term(Quantity::Velocity { body: 1, relative_to: None })
    };
    assert_eq!(refused(negative), ProblemError::Weight(-1.0));
}
