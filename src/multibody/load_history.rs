//! Loads of a model: forces and torques on free bodies as functions of time.

use nalgebra::Vector3;

use super::force_values::Forces;
use super::load::{LoadFrame, LoadKind};
use super::model::Model;
use super::model_error::ModelError;
use super::state::{State, TANGENT_DIMENSION};
use crate::scalar::{Scalar, lift_vector};
use crate::spatial::SpatialForce;

/// A force or a torque on a free body over time, as a part of a model: every kind of step has it, and the derivatives of
/// all of them. It acts with its value at the time at which a step evaluates forces: that of each stage of explicit
/// steps and of Radau steps, and the beginning of others.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// The body in [`Model::bodies`].
    pub body: usize,
    /// What it is.
    pub kind: LoadKind,
    /// The axes that its values are given in.
    pub frame: LoadFrame,
    /// Its values, N or N m.
    pub history: LoadHistory,
}

/// A vector over time.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LoadHistory {
    /// It does not change.
    Constant(Vector3<f64>),
    /// Values at times in s, in increasing order; before the first and after the last one the values there hold.
    Knots {
        /// The times.
        times: Vec<f64>,
        /// The value at each.
        values: Vec<Vector3<f64>>,
        /// Whether it is linear between them. Otherwise each value is held until the next time.
        linear: bool,
    },
    /// mean + sine sin(2π t/T) + cosine cos(2π t/T).
    Periodic {
        /// The period T, s.
        period: f64,
        /// The mean.
        mean: Vector3<f64>,
        /// The amplitude of the sine.
        sine: Vector3<f64>,
        /// The amplitude of the cosine.
        cosine: Vector3<f64>,
    },
}

impl LoadHistory {
    /// The value at a time in s.
    pub fn at(&self, time: f64) -> Vector3<f64> {
        match self {
            Self::Constant(value) => *value,
            Self::Knots { times, values, linear } => {
                let after = times.partition_point(|&t| t <= time);
                let value = |i: usize| values.get(i).copied().unwrap_or_else(Vector3::zeros);
                match (after.checked_sub(1), times.get(after)) {
                    (None, _) => value(0),
                    (Some(before), Some(&end)) if *linear => {
                        let part = (time - times[before]) / (end - times[before]);
                        value(before) * (1.0 - part) + value(after) * part
                    }
                    (Some(before), _) => value(before),
                }
            }
            Self::Periodic { period, mean, sine, cosine } => {
                let (s, c) = (std::f64::consts::TAU * time / period).sin_cos();
                mean + sine * s + cosine * c
            }
        }
    }

    /// What is wrong with it, if anything.
    fn problem(&self) -> Option<&'static str> {
        let finite = |v: &Vector3<f64>| v.iter().all(|x| x.is_finite());
        match self {
            Self::Constant(value) => (!finite(value)).then_some("has a value that is not finite"),
            Self::Knots { times, values, .. } => {
                if times.is_empty() || times.len() != values.len() {
                    Some("needs one value for each of its times, and at least one")
                } else if !times.iter().all(|t| t.is_finite()) || !times.is_sorted_by(|a, b| a < b) {
                    Some("has times that do not increase")
                } else {
                    (!values.iter().all(finite)).then_some("has a value that is not finite")
                }
            }
            Self::Periodic { period, mean, sine, cosine } => {
                if !(period.is_finite() && *period > 0.0) {
                    Some("has a period that is not positive")
                } else {
                    (![mean, sine, cosine].into_iter().all(finite))
                        .then_some("has a value that is not finite")
                }
            }
        }
    }
}

/// Checks the loads of a model.
pub(super) fn check_loads(loads: &[Load], is_free: impl Fn(usize) -> bool) -> Result<(), ModelError> {
    for (index, load) in loads.iter().enumerate() {
        let point = match load.kind {
            LoadKind::Force { point } => point,
            LoadKind::Torque => Vector3::zeros(),
        };
        let what = if !is_free(load.body) {
            Some("acts on no free body")
        } else if !point.iter().all(|x| x.is_finite()) {
            Some("has a direction or a point that is not finite")
        } else {
            load.history.problem()
        };
        if let Some(what) = what {
            return Err(ModelError::Load { index, what });
        }
    }
    Ok(())
}

impl<T: Scalar> Model<T> {
    /// Adds the model's loads at a state and a time in s.
    pub(crate) fn add_loads(&self, state: &State<T>, time: f64, forces: &mut Forces<T>) {
        for load in &self.loads {
            let Some(free) = self.free_index(load.body) else { continue };
            let rotation = state.bodies[free].orientation.to_matrix();
            let value = lift_vector::<T>(&load.history.at(time));
            let push = match load.frame {
                LoadFrame::World => value,
                LoadFrame::Body => rotation * value,
            };
            forces.bodies[free] += match load.kind {
                LoadKind::Torque => SpatialForce::new(push, Vector3::from_element(T::from(0.0))),
                LoadKind::Force { point } => {
                    SpatialForce::new((rotation * lift_vector::<T>(&point)).cross(&push), push)
                }
            };
        }
    }
}

impl Model {
    /// Calls `visit` with the derivatives of the loads with respect to turns of their bodies: the direction in the state's
    /// tangent space, the body among the free ones, and the change of the force on it.
    pub(crate) fn for_each_load_derivative(
        &self,
        state: &State,
        time: f64,
        mut visit: impl FnMut(usize, usize, SpatialForce),
    ) {
        for load in &self.loads {
            let Some(free) = self.free_index(load.body) else { continue };
            let rotation = state.bodies[free].orientation.to_matrix();
            let value = load.history.at(time);
            let turns = load.frame == LoadFrame::Body;
            let push = if turns { rotation * value } else { value };
            for axis in 0..3 {
                let turn = Vector3::ith(axis, 1.0);
                let change = if turns { turn.cross(&push) } else { Vector3::zeros() };
                let by = match load.kind {
                    LoadKind::Torque => SpatialForce::new(change, Vector3::zeros()),
                    LoadKind::Force { point } => {
                        let arm = rotation * point;
                        SpatialForce::new(turn.cross(&arm).cross(&push) + arm.cross(&change), change)
                    }
                };
                visit(TANGENT_DIMENSION * free + axis, free, by);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::ContactModel;
    use crate::multibody::{
        Body, BodyState, DifferentiatedModel, ForceDependence, MassProperties, MassSource, ModelBuilder,
        ModelGradient, NoForces,
    };
    use crate::spatial::{RigidTransform, rotation_exponential};
    use crate::step::{
        ComplementarityMethod, DerivativeWorkspace, Integrator, RadauOrder, StepCotangent, StepProblem,
        StepWorkspace, Tape,
    };
    use nalgebra::Matrix3;

    #[test]
    fn values_over_time() {
        let x = Vector3::x();
        let knots = |linear| LoadHistory::Knots { times: vec![1.0, 2.0], values: vec![x, 3.0 * x], linear };
        for (time, held, linear) in
            [(0.0, 1.0, 1.0), (1.0, 1.0, 1.0), (1.5, 1.0, 2.0), (2.0, 3.0, 3.0), (9.0, 3.0, 3.0)]
        {
            assert_eq!(knots(false).at(time).x, held);
            assert_eq!(knots(true).at(time).x, linear);
        }
        let periodic = LoadHistory::Periodic { period: 2.0, mean: x, sine: 4.0 * x, cosine: 7.0 * x };
        assert!((periodic.at(0.5).x - 5.0).abs() < 1e-12 && (periodic.at(1.0).x + 6.0).abs() < 1e-12);
        let wrong = [
            (
                LoadHistory::Knots { times: vec![1.0, 1.0], values: vec![x, x], linear: true },
                "do not increase",
            ),
            (LoadHistory::Knots { times: vec![1.0], values: vec![], linear: true }, "one value for each"),
            (LoadHistory::Periodic { period: 0.0, mean: x, sine: x, cosine: x }, "period"),
            (LoadHistory::Constant(x * f64::NAN), "not finite"),
        ];
        for (history, part) in wrong {
            let load = Load { body: 0, kind: LoadKind::Torque, frame: LoadFrame::World, history };
            let error = check_loads(&[load], |_| true).expect_err("wrong").to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn every_kind_of_step_has_loads_and_their_derivatives() {
        let inertia = Matrix3::from_diagonal(&Vector3::new(1.0, 1.4, 1.9));
        let mass = MassProperties { mass: 2.0, center_of_mass: Vector3::new(0.1, 0.0, -0.05), inertia };
        let body = Body::free("body", MassSource::Given(mass), vec![]).expect("a body");
        let history = LoadHistory::Periodic {
            period: 0.7,
            mean: Vector3::new(0.4, -0.2, 0.3),
            sine: Vector3::new(1.0, 0.5, -2.0),
            cosine: Vector3::new(-0.3, 0.8, 0.2),
        };
        let load = |kind, frame| Load { body: 0, kind, frame, history: history.clone() };
        let point = Vector3::new(0.2, -0.4, 0.3);
        let loads = vec![
            load(LoadKind::Force { point }, LoadFrame::World),
            load(LoadKind::Force { point: -point }, LoadFrame::Body),
            load(LoadKind::Torque, LoadFrame::Body),
            load(LoadKind::Torque, LoadFrame::World),
        ];
        let model =
            ModelBuilder { bodies: vec![body], loads, ..Default::default() }.build().expect("a model");
        let turn = rotation_exponential(&Vector3::new(0.3, -0.5, 0.8));
        let state = State::of_bodies(vec![BodyState::at_rest(&RigidTransform::new(turn, Vector3::x()))]);
        let differentiated =
            DifferentiatedModel::new(&model, &[], ForceDependence::NONE, 0).expect("no parameters");
        let still = Model { loads: Vec::new(), ..model.clone() };
        for integrator in [
            Integrator::SemiImplicitEuler,
            Integrator::RungeKutta4,
            Integrator::Radau(RadauOrder::Third),
            Integrator::velocity_level(ContactModel::Lagged),
            Integrator::Complementarity(ComplementarityMethod::Ecp),
        ] {
            let step = |model: &Model, state: &State| {
                let problem = StepProblem { time: 0.31, ..StepProblem::new(model, state, 0.02) };
                integrator.step(&problem, &mut StepWorkspace::default()).expect("a step")
            };
            let after = step(&model, &state);
            let pushed = step(&still, &state).difference(&after);
            assert!(pushed[6..].iter().all(|x| x.abs() > 1e-4), "{integrator:?}: {pushed:?}");
            let problem = StepProblem { time: 0.31, ..StepProblem::new(&model, &state, 0.02) };
            let (mut workspace, mut tape) = (StepWorkspace::default(), Tape::default());
            integrator.step_taped(&problem, &differentiated, &mut workspace, &mut tape).expect("a step");
            let mut derivatives = DerivativeWorkspace::default();
            let jacobian = tape.jacobian(&differentiated, &NoForces, &mut derivatives).expect("a derivative");
            for column in 0..TANGENT_DIMENSION {
                let at = |d: f64| {
                    let mut tangent = [0.0; TANGENT_DIMENSION];
                    tangent[column] = d;
                    after.difference(&step(&model, &state.moved(&tangent)))
                };
                let (plus, minus) = (at(1e-5), at(-1e-5));
                for row in 0..TANGENT_DIMENSION {
                    let slope = (plus[row] - minus[row]) / 2e-5;
                    let claimed = jacobian.by_state[(row, column)];
                    assert!(
                        (slope - claimed).abs() < 1e-8,
                        "{integrator:?} {row} {column}: {slope} {claimed}"
                    );
                }
            }
            let weights: Vec<f64> = (0..TANGENT_DIMENSION).map(|i| 0.3 + 0.1 * i as f64).collect();
            let (mut by_state, mut by_model) = (weights.clone(), ModelGradient::zero(&differentiated));
            let mut out = StepCotangent { state: &mut by_state, control: &mut [], model: &mut by_model };
            tape.vjp(&differentiated, &NoForces, &mut derivatives, &mut out);
            for (k, by) in by_state.iter().enumerate() {
                let expected: f64 =
                    jacobian.by_state.column(k).iter().zip(&weights).map(|(a, b)| a * b).sum();
                assert!((by - expected).abs() < 1e-12, "{integrator:?} {k}: {by} {expected}");
            }
        }
    }
}
