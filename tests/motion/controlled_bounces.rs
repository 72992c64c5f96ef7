//! Bounces in steps of controlled error: contacts that begin and end within a substep count.

use std::sync::Arc;

use nalgebra::Vector3;
use rayon::prelude::*;

use crate::step_scenes::{Builder, MODELS, ball_inertia, compliant, material, moving};

use isobar::contact::{ContactGeometry, ContactModel, ContactSettings, SurfaceRepresentation};
use isobar::geometry::Shape;
use isobar::multibody::{Model, State};
use isobar::rollout::{Checkpoints, Loss, Moment, Rollout, SimulationSettings, loss_gradient};
use isobar::scalar::Scalar;
use isobar::spatial::{Quaternion, RigidTransform, rotation_from_rpy};
use isobar::step::{ControlledMethod, ErrorControlled, Integrator, VelocityLevel};

const RADIUS: f64 = 0.1;

/// A lossless ball of 1 kg, `gap` m above a rigid floor, that comes down with a speed; with `ceiling` m between the
/// floor and a second one above. There is no gravity.
fn ball(modulus: f64, gap: f64, speed: f64, turn: f64, ceiling: Option<f64>) -> (Model, State) {
    let mut b = Builder::default();
    let state = moving(
        Quaternion::from_matrix(&rotation_from_rpy(turn, 0.7 * turn, 0.3)),
        Vector3::new(0.0, 0.0, RADIUS + gap),
        Vector3::zeros(),
        Vector3::new(0.0, 0.0, -speed),
    );
    let lossless = material(modulus, 0.0, 0.0, 0.0);
    let shape = compliant(Shape::Sphere { radius: RADIUS }, 0.06);
    b.free(shape, lossless, 1.0, ball_inertia(1.0, RADIUS), None, state);
    let floor = Arc::new(ContactGeometry::RigidHalfSpace);
    b.fixed(floor.clone(), lossless, 1.0, RigidTransform::identity());
    if let Some(height) = ceiling {
        let down = rotation_from_rpy(std::f64::consts::PI, 0.0, 0.0);
        b.fixed(floor, lossless, 1.0, RigidTransform::new(down, Vector3::new(0.0, 0.0, height)));
    }
    let surface = SurfaceRepresentation::Polygons;
    b.build(Vector3::zeros(), ContactSettings { surface, ..Default::default() })
}

fn extrapolated(model: ContactModel, accuracy: f64, time_step: f64) -> SimulationSettings {
    let method = ControlledMethod::Extrapolated(VelocityLevel { model, ..Default::default() });
    controlled(method, accuracy, time_step)
}

fn controlled(method: ControlledMethod, accuracy: f64, time_step: f64) -> SimulationSettings {
    SimulationSettings {
        integrator: Integrator::ErrorControlled(ErrorControlled { method, accuracy }),
        time_step,
    }
}

/// Numbers that fill [0, 1) evenly.
fn spread(i: usize, k: usize) -> f64 {
    let irrational =
        [0.618_033_988_749_894_8, 0.754_877_666_246_692_8, 0.569_840_290_998_053_3, 0.414_213_562];
    ((i + 1) as f64 * irrational[k]).fract()
}

/// Velocities count with what they make in this time, s.
const AFTER_IMPACT: f64 = 1.0;

#[test]
fn a_lossless_ball_rebounds_as_fast_as_it_came() {
    // The accuracy of a case, and the speed at its end in steps of a kind.
    let rebound = |i: usize, settings: &dyn Fn(f64, f64) -> SimulationSettings| {
        let (modulus, time_step) = (10_f64.powf(5.0 + 3.0 * spread(i, 0)), 1e-3 * 20_f64.powf(spread(i, 1)));
        let (speed, accuracy) = (0.5 + 4.0 * spread(i, 2), 10_f64.powf(-5.0 - spread(i, 3)));
        let gap = 1e-4 + 2.0 * speed * time_step * spread(i, 3);
        let (scene, start) = ball(modulus, gap, speed, spread(i, 2), None);
        // The force is about π E a², the energy π E a³/3.
        let depth = (1.5 * speed * speed / (std::f64::consts::PI * modulus)).cbrt();
        let steps = ((gap + 3.2 * depth) / speed / time_step).ceil() + 1.0;
        let rollout = Rollout::new(&scene, &start, settings(accuracy, time_step), steps * time_step);
        let end = rollout.simulate().expect("simulates").states.pop().expect("the end");
        let after = end.bodies[0].velocity.translational.z;
        // Surfaces of few faces lose and gain a little energy.
        assert!((after - speed).abs() < 2e-3 * speed, "{i}: {speed} m/s, then {after} m/s");
        (accuracy, after)
    };
    let exact = |_: f64, time_step: f64| {
        let radau = ErrorControlled { method: ControlledMethod::Radau, accuracy: 1e-8 };
        SimulationSettings { integrator: Integrator::ErrorControlled(radau), time_step }
    };
    let expected: Vec<f64> = (0..25).into_par_iter().map(|i| rebound(i, &exact).1).collect();
    // Without friction all velocity-level kinds take the same steps.
    let of_models =
        MODELS.map(|model| ControlledMethod::Extrapolated(VelocityLevel { model, ..Default::default() }));
    let others =
        [ControlledMethod::DormandPrince, ControlledMethod::BogackiShampine, ControlledMethod::Radau];
    for (method, count) in of_models.into_iter().chain(others).zip([25, 5, 5, 5, 25, 25, 25]) {
        let cases = (0..count).into_par_iter().map(|i| {
            let (accuracy, after) =
                rebound(i, &|accuracy, time_step| controlled(method, accuracy, time_step));
            ((after - expected[i]).abs() * AFTER_IMPACT / accuracy, i)
        });
        let mut list: Vec<(f64, usize)> = cases.collect();
        list.sort_by(|a, b| a.0.total_cmp(&b.0));
        println!(
            "{method:?}: accuracies off: {:.2} in the middle, {:.2?} at most",
            list[count / 2].0,
            list[count - 1]
        );
        assert!(list[count - 1].0 < 10.0, "{method:?}: {:?}", &list[count - 5..]);
    }
}

/// From these heights, in a step in which contact grows, one substep of its whole length and two of half of it agree by chance:
/// both are off by 1e-3 m/s.
#[test]
fn solutions_that_agree_by_chance_are_not_accepted() {
    for i in 0..6 {
        let gap = 0.150_285 + 5e-6 * f64::from(i);
        let (scene, start) = ball(1e6, gap, 1.0, 0.0, None);
        let rollout = Rollout::new(&scene, &start, extrapolated(ContactModel::Lagged, 1e-5, 1e-3), 0.19);
        let end = rollout.simulate().expect("simulates").states.pop().expect("the end");
        let off = (end.bodies[0].velocity.translational.z - 1.0).abs() * AFTER_IMPACT;
        assert!(off < 1e-4, "{gap} m: {off:e} m/s");
    }
}

/// A step that begins deep and ends apart: the whole and its halves exert no impulse.
#[test]
fn a_step_that_ends_apart_is_not_taken_at_once() {
    let time_step = 0.01;
    let (scene, start) = ball(1e6, -0.0172, -3.9655, 0.3, None);
    let speed = |settings| {
        let end = Rollout::new(&scene, &start, settings, time_step).simulate().expect("simulates").states;
        end[1].bodies[0].velocity.translational.z
    };
    let radau = ErrorControlled { method: ControlledMethod::Radau, accuracy: 1e-9 };
    let expected = speed(SimulationSettings { integrator: Integrator::ErrorControlled(radau), time_step });
    assert!(expected > 4.5, "{expected}");
    for model in MODELS {
        for accuracy in [1e-5, 1e-6] {
            let off = (speed(extrapolated(model, accuracy, time_step)) - expected).abs() * time_step;
            assert!(off < 10.0 * accuracy, "{model:?} {accuracy:e}: {off:e} m");
        }
    }
}

/// Where the ball is.
struct Height;

impl Loss for Height {
    fn running<T: Scalar>(&self, _: &Moment<T>) -> T {
        T::from(0.0)
    }

    fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
        moment.state.bodies[0].position.z
    }
}

/// Two bounces between two walls: where the ball ends follows where it starts, one to one. Derivatives with the lengths
/// held do not see how the instants move at which contacts begin and end: what they lack is the force that is
/// passed over there, which falls with the accuracy.
#[test]
fn the_end_follows_the_start_over_two_bounces() {
    // Five heights, at which contact begins in five different parts of a step.
    let cases = [(1e-5, 1e-3, [0.05, 0.07]), (1e-6, 1e-3, [0.01, 0.01]), (1e-6, 1e-2, [0.01, 0.01])];
    for (accuracy, time_step, allowed) in cases {
        let height = 0.23 * time_step;
        let ends: Vec<(f64, f64)> = (0..5)
            .into_par_iter()
            .map(|i| {
                let (scene, start) = ball(1e6, 0.15 + height * f64::from(i), 1.0, 0.0, Some(0.5));
                let settings = extrapolated(ContactModel::Lagged, accuracy, time_step);
                let rollout = Rollout::new(&scene, &start, settings, 0.8);
                let gradient = loss_gradient(&rollout, &Height, &[], Checkpoints::All).expect("simulates");
                (gradient.value, gradient.by_initial[5])
            })
            .collect();
        let slopes = ends.windows(2).map(|pair| (pair[1].0 - pair[0].0) / height);
        let farthest =
            |list: &mut dyn Iterator<Item = f64>| list.fold(0.0, |far, x| f64::max(far, (x - 1.0).abs()));
        let off = [farthest(&mut slopes.clone()), farthest(&mut ends.iter().map(|end| end.1))];
        println!("accuracy {accuracy:e}, steps of {time_step} s: slopes and gradients off by {off:?}");
        assert!(off[0] < allowed[0] && off[1] < allowed[1], "{accuracy:e}, {time_step}: {off:?}");
    }
}
