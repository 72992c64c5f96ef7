//! Second derivatives over a whole rollout: hyper-dual numbers against differences of the adjoint's gradient,
//! and the other dual numbers of num-dual against the adjoint itself.

use crate::moving_bodies::heap;
use nalgebra::Vector3;

use isobar::contact::{ContactModel, ContactSettings, MaterialParameter};
use isobar::multibody::{Model, Parameter, State, seeded};
use isobar::rollout::{
    Checkpoints, GaussNewton, Loss, Moment, Rollout, SimulationSettings, TrajectoryResiduals, loss_gradient,
};
use isobar::scalar::Scalar;
use isobar::step::{Integrator, SolverTolerance, VelocityLevel};
use num_dual::HyperDual64;

/// A number that depends on where all bodies end, and on how they are turned and move there.
struct End;

impl Loss for End {
    fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
        let mut sum = T::from(0.0);
        for (k, body) in moment.state.bodies.iter().enumerate() {
            let axis = body.orientation.to_matrix() * Vector3::new(0.3, -0.5, 0.8).map(T::from);
            let aim = body.position * T::from(1.0 + k as f64) + axis * T::from(0.1);
            let v = body.velocity.translational;
            sum += aim.dot(&aim) + v.dot(&v) * 0.05 + v.x * axis.z * 0.1;
        }
        sum
    }
}

/// Parameters of every kind.
fn parameters() -> Vec<Parameter> {
    let of = |material, parameter| Parameter::Material { material, parameter };
    vec![
        Parameter::initial_position(0, 2),
        Parameter::initial_velocity(0, 0),
        Parameter::initial_rotation(1, 1),
        of(0, MaterialParameter::HydroelasticModulus),
        of(1, MaterialParameter::Dissipation),
        of(1, MaterialParameter::DynamicFriction),
        Parameter::Mass { body: 1 },
        Parameter::GeometryScale { body: 0, geometry: 0 },
    ]
}

fn methods() -> Vec<(Integrator, f64, usize)> {
    let tolerance = SolverTolerance { relative: 1e-14, max_iterations: 200 };
    let exact = |model| (Integrator::VelocityLevel(VelocityLevel { model, tolerance }), 5e-4, 8);
    vec![
        (Integrator::SemiImplicitEuler, 1e-4, 20),
        (Integrator::RungeKutta4, 1e-4, 8),
        exact(ContactModel::Lagged),
        exact(ContactModel::Sap),
    ]
}

/// The loss of a rollout in scalars of any kind.
fn loss<T: Scalar>(model: &Model<T>, initial: &State<T>, settings: SimulationSettings, until: f64) -> T {
    let trajectory = Rollout::new(model, initial, settings, until).simulate().expect("simulates");
    let state = trajectory.states.last().expect("the initial state at least");
    End.terminal(&Moment {
        step: 0,
        time: until,
        dt: 0.0,
        model,
        state,
        control: &[],
        contacts: &Default::default(),
        step_end: None,
    })
}

/// The model and the state with the first of two parameters along one direction of hyper-dual numbers, and the
/// second along the other.
fn seeded_twice(
    model: &Model,
    initial: &State,
    all: &[Parameter],
    [first, second]: [usize; 2],
) -> (Model<HyperDual64>, State<HyperDual64>) {
    let along = |i: usize, eps1: f64, eps2: f64| {
        (all[i], HyperDual64::new(all[i].value(model).expect("exists"), eps1, eps2, 0.0))
    };
    // A parameter listed twice takes the last value.
    let values = match first == second {
        true => vec![along(first, 1.0, 1.0)],
        false => vec![along(first, 1.0, 0.0), along(second, 0.0, 1.0)],
    };
    seeded(model, initial, &values).expect("valid")
}

#[test]
fn hyper_dual_numbers_have_the_hessian_of_the_adjoint() {
    let (model, initial) = heap(ContactSettings { stiction_velocity: 0.05, ..Default::default() });
    let all = parameters();
    let at: Vec<f64> = all.iter().map(|p| p.value(&model).expect("exists")).collect();
    let scales = [0.01, 0.1, 0.1, at[3], at[4], at[5], at[6], 1.0];
    for (integrator, time_step, steps) in methods() {
        let settings = SimulationSettings { integrator, time_step };
        let until = steps as f64 * time_step;
        let gradient_at = |i: usize, x: f64| {
            let (model, initial) = seeded(&model, &initial, &[(all[i], x)]).expect("valid");
            let rollout = Rollout::new(&model, &initial, settings, until);
            let found = loss_gradient(&rollout, &End, &all, Checkpoints::All).expect("simulates");
            let mut gradient = found.by_parameters;
            // The size of a body that is enlarged by x is 1 again.
            if matches!(all[i], Parameter::GeometryScale { .. }) {
                gradient[i] /= x;
            }
            gradient
        };
        let own = gradient_at(0, at[0]);
        // Scaled by what each parameter is measured in.
        let mut hessian = vec![vec![0.0; all.len()]; all.len()];
        for i in 0..all.len() {
            for k in i..all.len() {
                let (model, initial) = seeded_twice(&model, &initial, &all, [i, k]);
                let value = loss(&model, &initial, settings, until);
                let size = own.iter().zip(scales).fold(0.0_f64, |m, (g, s)| m.max((g * s).abs()));
                for (j, first) in [(i, value.eps1), (k, value.eps2)] {
                    let error = (first - own[j]).abs() * scales[j];
                    assert!(error <= 1e-9 * size, "{integrator:?} {:?}: {first:e}, {:e}", all[j], own[j]);
                }
                hessian[i][k] = value.eps1eps2 * scales[i] * scales[k];
                hessian[k][i] = hessian[i][k];
            }
        }
        let largest = hessian.iter().flatten().fold(0.0_f64, |m, h| m.max(h.abs()));
        for (i, row) in hessian.iter().enumerate() {
            // Differences of the gradient over steps of several sizes: no face appears within one of them.
            let mut best = vec![f64::INFINITY; all.len()];
            for h in [3e-5, 1e-5, 3e-6, 1e-6] {
                let step = h * scales[i];
                let central = |h: f64| {
                    let (up, down) = (gradient_at(i, at[i] + h), gradient_at(i, at[i] - h));
                    let slope = up.iter().zip(down).map(move |(u, d)| (u - d) / (2.0 * h));
                    slope.collect::<Vec<f64>>()
                };
                let (wide, narrow) = (central(step), central(0.5 * step));
                for (k, best) in best.iter_mut().enumerate() {
                    let difference = (4.0 * narrow[k] - wide[k]) / 3.0 * scales[i] * scales[k];
                    *best = best.min((difference - row[k]).abs());
                }
            }
            let worst = best.iter().copied().fold(0.0, f64::max);
            assert!(
                worst <= 1e-6 * largest,
                "{integrator:?}: {:?} is off by {worst:e} of {largest:e}",
                all[i]
            );
        }
    }
}

/// How far all bodies end from where they were aimed at, m and m/s.
struct Misses(Vec<[Vector3<f64>; 2]>);

impl TrajectoryResiduals for Misses {
    fn terminal<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        for (body, aims) in moment.state.bodies.iter().zip(&self.0) {
            for (found, aim) in [body.position, body.velocity.translational].iter().zip(aims) {
                residuals.extend((found - aim.map(T::from)).iter().copied());
            }
        }
    }
}

/// Where residuals are 0, half of the sum of their squares has the Hessian JᵀJ; where they are not, the
/// Hessian has the part Σ r ∇²r besides.
#[test]
fn gauss_newton_is_the_hessian_where_nothing_is_left_of_the_residuals() {
    let (model, initial) = heap(ContactSettings { stiction_velocity: 0.05, ..Default::default() });
    let all = parameters();
    let at: Vec<f64> = all.iter().map(|p| p.value(&model).expect("exists")).collect();
    let scales = [0.01, 0.1, 0.1, at[3], at[4], at[5], at[6], 1.0];
    for (integrator, time_step, steps) in methods() {
        let settings = SimulationSettings { integrator, time_step };
        let until = steps as f64 * time_step;
        let rollout = Rollout::new(&model, &initial, settings, until);
        let end = rollout.simulate().expect("simulates").states.pop().expect("a state");
        let aims = |by: f64| {
            let aim = |body: &isobar::multibody::BodyState| {
                let by = Vector3::new(by, -by, 0.5 * by);
                [body.position + by * 0.01, body.velocity.translational + by]
            };
            Misses(end.bodies.iter().map(aim).collect())
        };
        let of_hessian = |misses: &Misses, i: usize, k: usize| {
            let (model, initial) = seeded_twice(&model, &initial, &all, [i, k]);
            let trajectory = Rollout::new(&model, &initial, settings, until).simulate().expect("simulates");
            let state = trajectory.states.last().expect("a state");
            let mut residuals = Vec::new();
            let moment = Moment {
                step: 0,
                time: until,
                dt: 0.0,
                model: &model,
                state,
                control: &[],
                contacts: &Default::default(),
                step_end: None,
            };
            misses.terminal(&moment, &mut residuals);
            let zero = HyperDual64::from(0.0);
            let half = residuals.iter().fold(zero, |sum, &r| sum + r * r * 0.5);
            half.eps1eps2 * scales[i] * scales[k]
        };
        let off = |misses: &Misses| {
            let operator = GaussNewton::new(rollout, misses, &all).expect("simulates");
            let (mut worst, mut largest) = (0.0_f64, 0.0_f64);
            for i in [0, 1, 3, 5, 7] {
                let mut direction = vec![0.0; operator.columns()];
                direction[i] = scales[i];
                let row = operator.hessian_vector_product(&direction).expect("differentiates");
                for k in i..all.len() {
                    let hessian = of_hessian(misses, i, k);
                    worst = worst.max((hessian - row[k] * scales[k]).abs());
                    largest = largest.max(hessian.abs());
                }
            }
            worst / largest
        };
        let (none, some) = (off(&aims(0.0)), off(&aims(0.1)));
        assert!(none <= 1e-9, "{integrator:?}: {none:e}");
        assert!(some > 1e-6, "{integrator:?}: {some:e}");
    }
}
