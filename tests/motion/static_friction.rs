//! Static friction in velocity-level steps: what holds, what slides, stick and slip, and static friction as
//! the parameter of a fit.

use argmin::core::Error;
use nalgebra::Vector3;

use isobar::contact::{ContactGeometry, ContactModel, ContactSettings, MaterialParameter};
use isobar::geometry::Shape;
use isobar::multibody::{
    AppliedForces, ForceDependence, Forces, Model, Parameter, State, StateDependence, seeded,
};
use isobar::optimize::fit::{FitSettings, fit};
use isobar::optimize::least_squares::Residuals;
use isobar::optimize::parameters::{FitParameter, FitParameters};
use isobar::rollout::{Rollout, SimulationSettings};
use isobar::scalar::Scalar;
use isobar::spatial::RigidTransform;
use isobar::step::{
    ControlledMethod, ErrorControlled, Integrator, StepProblem, StepWorkspace, VelocityLevel,
};

use crate::step_scenes::*;

/// Friction of the box and of the ground.
const STATIC: f64 = 0.6;
pub const DYNAMIC: f64 = 0.4;
/// Half the height of the box, m.
pub const HALF: f64 = 0.025;
/// So soft that the models that lift what slides keep it in contact.
const MODULUS: f64 = 2e4;

/// A wide box of 1 kg on rigid ground, as deep as the load presses it, which slides at a velocity along x.
pub fn sliding_box(gravity: Vector3<f64>, velocity: f64, stiction_velocity: f64) -> (Model, State) {
    let size = [0.2, 0.2, 2.0 * HALF];
    let m = material(MODULUS, 10.0, 0.0, DYNAMIC).with_static_friction(STATIC);
    let depth = -gravity.z / (size[0] * size[1] * MODULUS / HALF);
    let mut state = resting(Vector3::new(0.0, 0.0, HALF - depth));
    state.velocity.translational.x = velocity;
    let mut b = Builder::default();
    b.free(compliant(Shape::Box { size }, 1.0), m, 1.0, box_inertia(1.0, size), None, state);
    b.fixed(ContactGeometry::RigidHalfSpace.into(), m, 0.08, RigidTransform::identity());
    // The points that steps have.
    let quadrature_order = Some(1);
    b.build(gravity, ContactSettings { quadrature_order, stiction_velocity, ..Default::default() })
}

/// The velocities along the slope after each step of a box on a slope of this tangent.
fn down_the_slope(kind: ContactModel, tangent: f64, velocity: f64, steps: usize) -> Vec<f64> {
    let angle = tangent.atan();
    let gravity = Vector3::new(angle.sin(), 0.0, -angle.cos()) * GRAVITY;
    let (model, mut state) = sliding_box(gravity, velocity, 1e-3);
    let (integrator, mut workspace) = (Integrator::velocity_level(kind), StepWorkspace::default());
    let mut step = |_| {
        state = integrator.step(&StepProblem::new(&model, &state, 1e-3), &mut workspace).expect("a step");
        state.bodies[0].velocity.translational.x
    };
    (0..steps).map(&mut step).collect()
}

/// The velocity at which a box creeps down a slope of this tangent, in units of the stiction velocity: where
/// the regularized friction balances its weight.
fn creep(kind: ContactModel, tangent: f64) -> f64 {
    let mut x = 0.0f64;
    for _ in 0..100 {
        let used = tangent / (DYNAMIC + (STATIC - DYNAMIC) * (-(x / 10.0).powi(2)).exp());
        x = match kind {
            // r (2 − r)
            ContactModel::Tamsi => 1.0 - (1.0 - used).sqrt(),
            // x/√(1 + x²)
            _ => used / (1.0 - used * used).sqrt(),
        };
    }
    x
}

/// Between the slopes of dynamic and of static friction what rests stays, and what slides goes on.
#[test]
fn a_box_stays_below_its_static_friction_and_slides_with_its_dynamic_friction() {
    let faster = |tangent: f64| GRAVITY * tangent.atan().cos() * (tangent - DYNAMIC);
    for kind in MODELS {
        let between = 0.5;
        let end = down_the_slope(kind, between, 0.0, 600)[599];
        println!(
            "{kind:?}: creeps at {end:e} m/s, {} of the closed form",
            end / (1e-3 * creep(kind, between))
        );
        if kind == ContactModel::Sap {
            // Its regularization follows the bodies' inertia and the step, not the stiction velocity.
            // Without dissipation the box still vibrates.
            assert!(end.abs() < 1e-4, "{end:e}");
        } else {
            assert!((end / (1e-3 * creep(kind, between)) - 1.0).abs() < 1e-4, "{kind:?}: {end:e}");
        }
        let over = (1.05 * STATIC.atan()).tan();
        for (tangent, start, from, steps) in [(between, 0.1, 50, 250), (over, 0.0, 90, 200)] {
            let speeds = down_the_slope(kind, tangent, start, steps);
            let found = (speeds[steps - 1] - speeds[from]) / (1e-3 * (steps - 1 - from) as f64);
            println!(
                "{kind:?}, slope {tangent:.3}: {found:.4} of {:.4} m/s², to {} m/s",
                faster(tangent),
                speeds[steps - 1]
            );
            assert!(speeds[from] > 0.03, "{kind:?}: {}", speeds[from]);
            assert!((found / faster(tangent) - 1.0).abs() < 0.01, "{kind:?}, {tangent}: {found}");
        }
    }
}

/// A spring whose end moves along x.
#[derive(Clone, Copy, Debug)]
struct Pull;

/// Its stiffness, N/m, and the velocity of its end, m/s.
const STIFFNESS: f64 = 200.0;
const PULLED: f64 = 0.1;

impl AppliedForces for Pull {
    fn apply<T: Scalar>(&self, _: &Model<T>, state: &State<T>, time: f64, _: &[T], forces: &mut Forces<T>) {
        let extension = T::from(PULLED * time) - state.bodies[0].position.x;
        forces.bodies[0].translational.x += extension * STIFFNESS;
    }

    fn dependence(&self) -> ForceDependence {
        ForceDependence { state: StateDependence::SameBody, model: false }
    }
}

/// A stiction velocity with which explicit steps are quick.
const EASY: f64 = 5e-3;

/// The extension of the spring at multiples of this time, s.
fn extensions(integrator: Integrator, time_step: f64, until: f64) -> Vec<f64> {
    let (model, state) = sliding_box(down(), 0.0, EASY);
    let rollout = Rollout::new(&model, &state, SimulationSettings { integrator, time_step }, until);
    let mut out = Vec::new();
    let every = (SAMPLE / time_step).round() as usize;
    let outcome = rollout.under(&Pull).for_each(|report| {
        if report.steps % every == 0 {
            out.push(PULLED * report.time - report.state.bodies[0].position.x);
        }
    });
    outcome.expect("simulates");
    out
}

const SAMPLE: f64 = 4e-3;

/// Period and amplitude of stick and slip: between the last two times that the extension falls through its
/// mean, and half of how far it goes.
fn cycle(extensions: &[f64]) -> [f64; 2] {
    let late = &extensions[extensions.len() / 3..];
    let (low, high) = late.iter().fold((f64::MAX, f64::MIN), |(l, h), x| (l.min(*x), h.max(*x)));
    let mean = 0.5 * (low + high);
    let crossings = late.windows(2).enumerate().filter(|(_, w)| w[0] > mean && w[1] <= mean);
    let times: Vec<f64> = crossings.map(|(i, w)| i as f64 + (w[0] - mean) / (w[0] - w[1])).collect();
    let last = times.len() - 1;
    [(times[last] - times[last - 1]) * SAMPLE, 0.5 * (high - low)]
}

/// The classic case: a box that a spring pulls sticks, slips and sticks again. Steps of fixed length converge
/// in first order to explicit ones, controlled ones with their accuracy.
#[test]
fn stick_and_slip_converge_to_explicit_steps() {
    let until = 1.8;
    let reference = extensions(Integrator::RungeKutta4, 2.5e-4, until);
    let [period, amplitude] = cycle(&reference);
    // In the limit of a small stiction velocity it sticks until the spring has the force of static friction,
    // and slips as it vibrates about the force of dynamic friction, from an excess e with the velocity V.
    let (root, excess) = (STIFFNESS.sqrt(), (STATIC - DYNAMIC) * GRAVITY / STIFFNESS);
    let slips = (std::f64::consts::PI + 2.0 * (PULLED / (excess * root)).atan()) / root;
    let ideal = [2.0 * excess / PULLED + slips, excess.hypot(PULLED / root)];
    println!("period {period} s, ideal {}; amplitude {amplitude} m, ideal {}", ideal[0], ideal[1]);
    assert!((period / ideal[0] - 1.0).abs() < 0.06 && (amplitude / ideal[1] - 1.0).abs() < 0.06);
    let worst = |found: &[f64]| found.iter().zip(&reference).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let lagged = VelocityLevel { model: ContactModel::Lagged, ..Default::default() };
    let errors = [2e-3, 1e-3, 5e-4].map(|time_step| {
        let found = extensions(Integrator::VelocityLevel(lagged), time_step, until);
        let [p, a] = cycle(&found);
        println!("{time_step} s: {:e} m, period {p} s, amplitude {a} m", worst(&found));
        (worst(&found), (p / period - 1.0).abs(), (a / amplitude - 1.0).abs())
    });
    for pair in errors.windows(2) {
        let ratio = pair[0].0 / pair[1].0;
        assert!((1.8..2.2).contains(&ratio), "{ratio}");
    }
    assert!(errors[1].1 < 0.01 && errors[1].2 < 0.01, "{errors:?}");
    // That of each of the shorter steps; what it leads to grows where the box comes loose.
    for (accuracy, allowed) in [(1e-6, 2e-4), (1e-8, 1e-5)] {
        let method = ControlledMethod::Extrapolated(lagged);
        let method = Integrator::ErrorControlled(ErrorControlled { method, accuracy });
        let found = extensions(method, SAMPLE, until);
        println!("{accuracy:e}: {:e} m", worst(&found));
        assert!(worst(&found) < allowed, "{accuracy:e}: {:e}", worst(&found));
    }
}

/// Where the box is over time, as a function of the coefficients of friction of its material.
struct Pulled {
    model: Model,
    state: State,
    measured: Vec<f64>,
}

impl Residuals for Pulled {
    fn residuals<T: Scalar>(&self, parameters: &[T]) -> Result<Vec<T>, Error> {
        let of = |parameter| Parameter::Material { material: 0, parameter };
        let values = [
            (of(MaterialParameter::StaticFriction), parameters[0]),
            (of(MaterialParameter::DynamicFriction), parameters[1]),
        ];
        let (model, state) = seeded(&self.model, &self.state, &values)?;
        let integrator = Integrator::velocity_level(ContactModel::Lagged);
        let settings = SimulationSettings { integrator, time_step: 2e-3 };
        let motion = Rollout::new(&model, &state, settings, 0.6).under(&Pull).simulate()?;
        let places = motion.states.iter().map(|state| state.bodies[0].position.x);
        let measured = self.measured.iter().copied().chain(std::iter::repeat(0.0));
        Ok(places.zip(measured).map(|(x, measured)| (x - measured) * 1e3).collect())
    }
}

/// From one coefficient to two.
#[test]
fn a_fit_finds_static_and_dynamic_friction() {
    let (model, state) = sliding_box(down(), 0.0, EASY);
    let mut problem = Pulled { model, state, measured: Vec::new() };
    let exact = problem.residuals(&[0.7, 0.35]).expect("simulates");
    problem.measured = exact.into_iter().map(|x| x * 1e-3).collect();
    let start = |name: &str| FitParameter::new(name, 0.5).bounded(0.1, 1.5);
    let parameters = FitParameters::new(vec![start("static"), start("dynamic")]).expect("valid");
    let found = fit(&problem, &parameters, &FitSettings::default(), None).expect("a fit");
    let values: Vec<f64> = found.uncertainty.estimates.iter().map(|e| e.value).collect();
    println!("{values:?} in {} iterations", found.iterations);
    assert!((values[0] - 0.7).abs() < 1e-6 && (values[1] - 0.35).abs() < 1e-6, "{values:?}");
}
