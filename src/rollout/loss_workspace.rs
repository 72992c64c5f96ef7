//! The derivatives of the terms of a loss, by dual numbers.

use super::moment::{Moment, MomentGradient, StepEnd};
use crate::multibody::{
    DIRECTIONS, Model, Parameter, ParameterError, SEEDS, SeededModel, State, for_each_tangent_chunk, seeded,
    seeded_models,
};
use crate::scalar::{DualArray, Scalar};

/// A number with the derivatives along the directions of state and control that are taken at a time.
pub(super) type Direction = DualArray<DIRECTIONS>;
/// A number with the derivatives with respect to the parameters that are taken at a time.
pub(super) type Seed = DualArray<SEEDS>;

/// A term of a loss, evaluated in any scalar.
pub(super) trait Term {
    /// Its value at a moment; the vector is memory for residuals, where it is made of them.
    fn value<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) -> T;
}

/// A [`Term`] in one scalar, as an object.
pub(super) trait TermIn<T> {
    /// [`Term::value`].
    fn at(&self, moment: &Moment<T>, residuals: &mut Vec<T>) -> T;
}

impl<L: Term, T: Scalar> TermIn<T> for L {
    fn at(&self, moment: &Moment<T>, residuals: &mut Vec<T>) -> T {
        self.value(moment, residuals)
    }
}

/// A [`Term`] as an object, so that its differentiation is compiled once.
pub(super) trait DifferentiableTerm: TermIn<f64> + TermIn<Direction> + TermIn<Seed> {}

impl<L: TermIn<f64> + TermIn<Direction> + TermIn<Seed>> DifferentiableTerm for L {}

/// A moment in scalars that carry derivatives.
#[derive(Debug)]
struct Lifted<T> {
    state: State<T>,
    end: State<T>,
    control: Vec<T>,
    residuals: Vec<T>,
}

impl<T: Scalar> Default for Lifted<T> {
    fn default() -> Self {
        Self { state: State::default(), end: State::default(), control: Vec::new(), residuals: Vec::new() }
    }
}

/// Memory that the gradient of a loss reuses from one moment to the next.
#[derive(Debug)]
pub struct LossWorkspace {
    model: Model<Direction>,
    lifted: Lifted<Direction>,
    residuals: Vec<f64>,
    parameters: ReadParameters,
}

impl LossWorkspace {
    /// Memory for losses over trajectories of a model, and for their gradients with respect to `parameters`.
    ///
    /// # Errors
    /// When the model does not have a parameter.
    pub fn new(model: &Model, parameters: &[Parameter]) -> Result<Self, ParameterError> {
        Ok(Self {
            model: Model::lift(model),
            lifted: Lifted::default(),
            residuals: Vec::new(),
            parameters: ReadParameters::new(model, parameters)?,
        })
    }

    /// Adds to `by` the derivatives of a term, and returns its value. It is evaluated once for each free body, for
    /// every six joint coordinates and for every twelve control values, for the end of the step as for its start where
    /// the term has asked for it, and for parameters as
    /// [`ReadParameters::differentiate`] says.
    pub(super) fn differentiate(
        &mut self,
        moment: &Moment,
        by: &mut MomentGradient,
        term: &dyn DifferentiableTerm,
    ) -> f64 {
        let Self { model, lifted: Lifted { state, end, control, residuals }, .. } = self;
        let (model, applied) = (&*model, moment.applied());
        control.clear();
        control.extend(moment.control.iter().map(|&c| Direction::from(c)));
        if let Some(of_step) = moment.step_end {
            end.assign(of_step.constant());
            of_step.take_was_read();
        }
        let mut along = |state: &State<Direction>, control: &[Direction], end: &State<Direction>| {
            term.at(&moment.lifted(model, state, control, (end, applied)), residuals).eps
        };
        for_each_tangent_chunk(moment.state, state, &mut |state, directions| {
            let along = along(state, control, end);
            by.state[directions].iter_mut().zip(along).for_each(|(out, x)| *out += x);
        });
        for (chunk, out) in by.control.chunks_mut(DIRECTIONS).enumerate() {
            let first = chunk * DIRECTIONS;
            for k in 0..out.len() {
                control[first + k] = Direction::variable(moment.control[first + k], k);
            }
            let along = along(state, control, end);
            for k in 0..out.len() {
                control[first + k] = Direction::from(moment.control[first + k]);
            }
            out.iter_mut().zip(along).for_each(|(out, x)| *out += x);
        }
        if let Some(of_step) = moment.step_end.filter(StepEnd::take_was_read) {
            for_each_tangent_chunk(of_step.constant(), end, &mut |end, directions| {
                let along = along(state, control, end);
                by.step_end[directions].iter_mut().zip(along).for_each(|(out, x)| *out += x);
            });
        }
        self.parameters.differentiate(moment, by.parameters, term);
        term.at(moment, &mut self.residuals)
    }

    /// Whether every derivative that was asked for was added.
    ///
    /// # Errors
    /// When the model could not be made with derivatives with respect to a parameter.
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        self.parameters.failed.clone().map_or(Ok(()), Err)
    }
}

/// How a loss depends on the parameters of a model that it reads itself, with state and control values held.
///
/// Most losses read none. To tell this costs one evaluation, however many parameters there are: all of them
/// are seeded at once, and where nothing comes out there is nothing to be separated.
#[derive(Debug)]
struct ReadParameters {
    parameters: Vec<Parameter>,
    /// The model, and the model with all parameters seeded, several to a direction; none without parameters.
    together: Option<(Model, Model<Seed>)>,
    /// One to a direction, from when a loss is first found to read some.
    apart: Option<Vec<SeededModel>>,
    failed: Option<ParameterError>,
    lifted: Lifted<Seed>,
}

impl ReadParameters {
    fn new(model: &Model, parameters: &[Parameter]) -> Result<Self, ParameterError> {
        let of_model = parameters.iter().filter(|parameter| !parameter.is_of_state());
        // Different weights, so that dependences do not cancel.
        let weight = |i: usize| 0.5 + (i as f64 * GOLDEN_RATIO).fract();
        let values = of_model.enumerate().map(|(i, parameter)| {
            let mut value = Seed::from(parameter.value(model)?);
            value.eps[i % SEEDS] = weight(i);
            Ok((*parameter, value))
        });
        let values = values.collect::<Result<Vec<_>, ParameterError>>()?;
        // The model does not depend on the state that is moved along.
        let together = match values.is_empty() {
            true => None,
            false => Some((model.clone(), seeded(model, &State::default(), &values)?.0)),
        };
        let parameters = parameters.to_vec();
        Ok(Self { parameters, together, apart: None, failed: None, lifted: Lifted::default() })
    }

    /// Adds the derivatives of a term with respect to parameters.
    fn differentiate(&mut self, moment: &Moment, by: &mut [f64], term: &dyn DifferentiableTerm) {
        let Self { parameters, together, apart, failed, lifted } = self;
        let Some((real, together)) = together else { return };
        lifted.state = State::lift(moment.state);
        lifted.control.clear();
        lifted.control.extend(moment.control.iter().map(|&c| Seed::from(c)));
        if let Some(of_step) = moment.step_end {
            lifted.end.assign(of_step.constant());
        }
        let Lifted { state, end, control, residuals } = lifted;
        let end = (&*end, moment.applied() as _);
        let mut along = |model| term.at(&moment.lifted(model, state, control, end), residuals).eps;
        if along(together).iter().all(|&eps| eps == 0.0) {
            return;
        }
        let apart = match apart {
            Some(apart) => apart,
            None => match seeded_models(real, parameters, |parameter| !parameter.is_of_state()) {
                Ok(models) => apart.insert(models),
                Err(error) => {
                    failed.get_or_insert(error);
                    return;
                }
            },
        };
        for SeededModel { columns, model } in apart.iter() {
            columns.iter().zip(along(model)).for_each(|(&column, eps)| by[column] += eps);
        }
    }
}

/// The fractions of its multiples are spread evenly.
const GOLDEN_RATIO: f64 = 1.618_033_988_749_895;
