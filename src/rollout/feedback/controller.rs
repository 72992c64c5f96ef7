//! The law of a controller, and its derivatives.

use super::nominal_states::NominalStates;
use crate::multibody::DIRECTIONS;
use crate::rollout::quantity::Quantity;
use crate::scalar::{DualArray, Scalar};

/// What a controller is given when it samples.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a, T = f64> {
    /// The number of the step that starts here, from 0.
    pub step: usize,
    /// Time, s.
    pub time: f64,
    /// Time until the next sample, s.
    pub period: f64,
    /// The numbers of [`Controller::observed`], one quantity after the other, and of [`Controller::nominal`], at the state at the start of the
    /// step, with the errors of sensors.
    pub values: &'a [T],
}

/// A feedback law: from what it observes and remembers to commands.
///
/// This is a trait with a generic method and not a closure, because the same law is evaluated in `f64` and in
/// dual numbers. Its commands are added to those of the rollout, and go through the model's actuators: a servo's
/// gains and the limit of effort hold for a controller as for anybody else.
///
/// # Examples
/// A motor that holds a slider where it began, by a force:
/// ```
/// use isobar::multibody::tree::{BodyDescription, JointDescription, JointKind, Mechanism};
/// use isobar::multibody::{Actuator, Body, Drive, ModelBuilder, State};
/// use isobar::rollout::{ClosedLoop, Controller, Observation, Quantity, Rollout, SampledController};
/// use isobar::rollout::SimulationSettings;
/// use isobar::scalar::Scalar;
/// use isobar::spatial::{MassProperties, RigidTransform};
/// use nalgebra::{Matrix3, Vector3};
///
/// /// Force −k q − d v with parameters k and d.
/// struct Hold {
///     observed: Vec<Quantity>,
/// }
///
/// impl Controller for Hold {
///     fn observed(&self) -> &[Quantity] {
///         &self.observed
///     }
///     fn controls(&self) -> &[usize] {
///         &[0]
///     }
///     fn parameter_count(&self) -> usize {
///         2
///     }
///     fn control<T: Scalar>(&self, observation: &Observation<T>, gains: &[T], _: &mut [T], force: &mut [T]) {
///         let [q, v] = [observation.values[0], observation.values[1]];
///         force[0] = -gains[0] * q - gains[1] * v;
///     }
/// }
///
/// let mass = MassProperties { mass: 2.0, center_of_mass: Vector3::zeros(), inertia: Matrix3::identity() };
/// let kind = JointKind::Prismatic { axis: Vector3::x() };
/// let slide = JointDescription::new("slide", kind, None, "slider", RigidTransform::identity());
/// let mechanism = Mechanism::new(vec![BodyDescription { name: "slider".into(), mass: Some(mass) }], vec![slide])?;
/// let motor = Actuator::new("motor", &mechanism, &[("slide", 0, 1.0)], Drive::Force, 5.0)?;
/// let bodies = vec![Body::link("slider", 0, vec![])];
/// let model = ModelBuilder { bodies, mechanism, actuators: vec![motor], ..Default::default() }.build()?;
/// let start = State::new(vec![], model.mechanism().state(vec![0.1], vec![0.0]));
/// let observed = vec![Quantity::JointPosition { index: 0 }, Quantity::JointVelocity { index: 0 }];
/// // It samples every second step.
/// let controllers = [SampledController::new(Hold { observed }, 2)];
/// let rollout = Rollout::new(&model, &start, SimulationSettings::default(), 3.0);
/// let motion = ClosedLoop::new(rollout, &controllers, &[50.0, 20.0]).simulate()?;
/// assert!(motion.0.states[3000].joints.q[0].abs() < 1e-4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Controller: Sync {
    /// The quantities that it observes. What costs much, such as a contact force, is evaluated only for
    /// controllers that ask for it, and only when they sample.
    fn observed(&self) -> &[Quantity];

    /// A nominal motion; after the quantities it observes the tangent from its state to the present one.
    fn nominal(&self) -> Option<&NominalStates> {
        None
    }

    /// The control values that it adds to, by their indices in the row of a step: those of actuators are the
    /// actuators' indices in the model.
    fn controls(&self) -> &[usize];

    /// Number of its parameters.
    fn parameter_count(&self) -> usize {
        0
    }

    /// Number of numbers that it remembers from one sample to the next. They are zero at the beginning.
    fn memory_dimension(&self) -> usize {
        0
    }

    /// Sets `commands`, which are zero before, one for each of [`Self::controls`], and changes what it
    /// remembers.
    fn control<T: Scalar>(
        &self,
        observation: &Observation<T>,
        parameters: &[T],
        memory: &mut [T],
        commands: &mut [T],
    );

    /// The vector–Jacobian product of [`Self::control`]. `by` holds the derivatives of one number with respect
    /// to what is remembered afterwards, and `by_commands` those with respect to the commands. It replaces the
    /// former by those with respect to what was remembered before, and adds the others.
    ///
    /// The provided implementation evaluates the law in dual numbers, twelve of observations, parameters and
    /// memory at a time. With very many parameters an implementation by hand is faster.
    fn add_vjp(&self, at: &ControllerPoint<'_>, by_commands: &[f64], by: &mut ControllerCotangent<'_>)
    where
        Self: Sized,
    {
        vjp_by_duals(self, at, by_commands, by);
    }
}

/// A sample of a controller that is differentiated.
#[derive(Clone, Copy, Debug)]
pub struct ControllerPoint<'a> {
    /// What it was given.
    pub observation: Observation<'a>,
    /// Its parameters.
    pub parameters: &'a [f64],
    /// What it remembered before.
    pub memory: &'a [f64],
}

/// Derivatives of one number with respect to what a controller's commands depend on.
#[derive(Debug)]
pub struct ControllerCotangent<'a> {
    /// With respect to the observed numbers.
    pub observation: &'a mut [f64],
    /// With respect to its parameters.
    pub parameters: &'a mut [f64],
    /// With respect to what it remembers.
    pub memory: &'a mut [f64],
}

fn vjp_by_duals(
    controller: &impl Controller,
    at: &ControllerPoint<'_>,
    by_commands: &[f64],
    by: &mut ControllerCotangent<'_>,
) {
    type Dual = DualArray<DIRECTIONS>;
    let Observation { step, time, period, values } = at.observation;
    let constants = values.iter().chain(at.parameters).chain(at.memory);
    let mut inputs: Vec<Dual> = constants.map(|&x| Dual::from(x)).collect();
    let mut commands = vec![Dual::from(0.0); by_commands.len()];
    let mut memory = vec![Dual::from(0.0); at.memory.len()];
    let mut total = vec![0.0; inputs.len()];
    for first in (0..inputs.len()).step_by(DIRECTIONS) {
        let chunk = first..inputs.len().min(first + DIRECTIONS);
        for i in chunk.clone() {
            inputs[i].eps[i - first] = 1.0;
        }
        let (observed, rest) = inputs.split_at(values.len());
        let (parameters, before) = rest.split_at(at.parameters.len());
        memory.copy_from_slice(before);
        commands.fill(Dual::from(0.0));
        let observation = Observation { step, time, period, values: observed };
        controller.control(&observation, parameters, &mut memory, &mut commands);
        for i in chunk {
            let along = |x: &[Dual], by: &[f64]| -> f64 {
                x.iter().zip(by).map(|(x, by)| x.eps[i - first] * by).sum()
            };
            total[i] = along(&commands, by_commands) + along(&memory, by.memory);
            inputs[i].eps[i - first] = 0.0;
        }
    }
    let (observed, rest) = total.split_at(values.len());
    let (parameters, before) = rest.split_at(at.parameters.len());
    by.observation.iter_mut().zip(observed).for_each(|(by, x)| *by += x);
    by.parameters.iter_mut().zip(parameters).for_each(|(by, x)| *by += x);
    by.memory.copy_from_slice(before);
}
