//! Designs: numbers of the model and of its initial state that are optimized together with the controls.

use argmin::core::{CostFunction, Error, Executor, Gradient};
use nalgebra::Vector3;

use super::problem::{TrajectoryProblem, TrajectoryTask};
use super::settings::{TrajectoryMethod, TrajectorySettings};
use crate::multibody::{AppliedForces, Model, Parameter, State, seeded};
use crate::optimize::error::ProblemError;
use crate::optimize::lbfgsb::Lbfgsb;
use crate::optimize::progress::ProgressObserver;
use crate::optimize::solver::{Convergence, run};
use crate::rollout::{Trajectory, TrajectoryResiduals};
use crate::spatial::rotation_exponential_jacobian;

/// A number of the model or of its initial state that is optimized.
#[derive(Clone, Debug, PartialEq)]
pub struct DesignVariable {
    /// The parameters that take its value, such as static and dynamic friction of one material (see
    /// [`parameters_at`](crate::optimize::identification::parameters_at)). Displacements of the initial state are from
    /// that of the task, and factors of sizes are on those of its model.
    pub parameters: Vec<Parameter>,
    /// Least value, in the parameter's unit; −∞ without a bound.
    pub lower: f64,
    /// Largest value; ∞ without a bound.
    pub upper: f64,
    /// The value over this is the optimizer's variable; positive. For a logarithmic variable it is not used.
    pub scale: f64,
    /// Whether the optimizer's variable is the logarithm of the value, for what may change by orders of magnitude.
    pub is_logarithmic: bool,
}

impl DesignVariable {
    /// The optimizer's variable at a value.
    fn variable(&self, value: f64) -> f64 {
        if self.is_logarithmic { value.ln() } else { value / self.scale }
    }

    /// The value at a variable, which within bounds is within bounds, and its derivative.
    fn value(&self, x: f64) -> (f64, f64) {
        let (value, slope) =
            if self.is_logarithmic { (x.exp(), x.exp()) } else { (x * self.scale, self.scale) };
        (value.clamp(self.lower, self.upper), slope)
    }

    /// What is wrong with it, as the variable of this number of a model.
    fn check(&self, index: usize, model: &Model) -> Result<(), ProblemError> {
        let wrong = |message: &str| Err(ProblemError::Design { index, message: message.to_owned() });
        if self.parameters.is_empty() {
            return wrong("it has no parameters; it needs at least one");
        }
        if self.lower.partial_cmp(&self.upper).is_none_or(|order| order.is_gt()) {
            return wrong("its lower bound must not be above its upper bound");
        }
        if !(self.scale > 0.0 && self.scale.is_finite()) {
            return wrong("its scale must be positive and finite");
        }
        if self.is_logarithmic && self.lower <= 0.0 {
            return wrong("its lower bound must be positive, as it is logarithmic");
        }
        for parameter in &self.parameters {
            if let Err(error) = parameter.value(model) {
                return wrong(&error.to_string());
            }
            if is_turn_of_place(parameter) || is_turn_of_joint(model, parameter) {
                return wrong(
                    "turns of geometries, of fixed bodies and of ball and free joints are no variables",
                );
            }
        }
        Ok(())
    }
}

/// Whether a parameter turns a geometry on its body or a fixed body: turns about several axes do not add up.
fn is_turn_of_place(parameter: &Parameter) -> bool {
    matches!(parameter, Parameter::GeometryPose { axis: ..3, .. } | Parameter::FixedPose { axis: ..3, .. })
}

/// Whether a parameter turns the initial configuration of a ball or free joint.
fn is_turn_of_joint(model: &Model, parameter: &Parameter) -> bool {
    let Parameter::InitialJoint { index } = *parameter else { return false };
    let mut joints = model.mechanism.joints().iter();
    joints.any(|joint| {
        joint.kind.is_spherical()
            && joint.v.contains(&index)
            && !joint.kind.is_translation(index - joint.v.start)
    })
}

/// The body whose initial orientation a parameter turns, and about which axis.
fn initial_turn(parameter: &Parameter) -> Option<(usize, usize)> {
    match *parameter {
        Parameter::InitialTangent { body, index } if index < 3 => Some((body, index)),
        _ => None,
    }
}

/// The problem min ½‖r‖² over the values of controls at knots and the values of design variables.
///
/// The optimizer's variables are those of the controls (see [`TrajectoryProblem`]), then those of the design. It
/// implements argmin's `CostFunction` and `Gradient`: one backward sweep for any number of variables.
#[derive(Debug)]
pub struct DesignProblem<'a, A, R> {
    controls: TrajectoryProblem<'a, A, R>,
    variables: Vec<DesignVariable>,
    /// The parameters that the gradient is taken with respect to, each once.
    parameters: Vec<Parameter>,
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl<'a, A: AppliedForces, R: TrajectoryResiduals> DesignProblem<'a, A, R> {
    /// The problem of optimizing design variables with the controls of a problem.
    ///
    /// # Errors
    /// When a variable does not fit the model, its bounds or scale cannot be, or two have the same parameter.
    pub fn new(
        controls: TrajectoryProblem<'a, A, R>,
        variables: Vec<DesignVariable>,
    ) -> Result<Self, ProblemError> {
        let model = controls.task().model;
        let mut parameters: Vec<Parameter> = Vec::new();
        for (index, variable) in variables.iter().enumerate() {
            variable.check(index, model)?;
            for parameter in &variable.parameters {
                if parameters.contains(parameter) {
                    let message =
                        format!("its parameter {} is that of another variable", parameter.name(model));
                    return Err(ProblemError::Design { index, message });
                }
                parameters.push(*parameter);
            }
        }
        // Turns about several axes of one body do not add up: their derivatives need all three.
        for (body, _) in parameters.clone().iter().filter_map(initial_turn) {
            let all = (0..3).map(|axis| Parameter::initial_rotation(body, axis));
            let missing: Vec<_> = all.filter(|turn| !parameters.contains(turn)).collect();
            parameters.extend(missing);
        }
        let (lower, upper) = controls.bounds();
        let bound = |of: fn(&DesignVariable) -> f64| variables.iter().map(move |v| v.variable(of(v)));
        let lower = lower.iter().copied().chain(bound(|v| v.lower)).collect();
        let upper = upper.iter().copied().chain(bound(|v| v.upper)).collect();
        Ok(Self { controls, variables, parameters, lower, upper })
    }

    /// Lower and upper bounds of the optimizer's variables.
    pub fn bounds(&self) -> (&[f64], &[f64]) {
        (&self.lower, &self.upper)
    }

    /// The optimizer's variables at values of the controls at knots and of the design, moved into their bounds.
    ///
    /// # Errors
    /// When there is not one for each.
    pub fn optimizer_variables(&self, controls: &[f64], design: &[f64]) -> Result<Vec<f64>, Error> {
        if design.len() != self.variables.len() {
            let message = format!("{} values for {} design variables", design.len(), self.variables.len());
            return Err(Error::msg(message));
        }
        let mut x = self.controls.variables(controls)?;
        let within = |(v, value): (&DesignVariable, &f64)| v.variable(value.clamp(v.lower, v.upper));
        x.extend(self.variables.iter().zip(design).map(within));
        Ok(x.iter().zip(self.lower.iter().zip(&self.upper)).map(|(x, (l, u))| x.clamp(*l, *u)).collect())
    }

    /// The values of the controls at knots and of the design, in their units.
    ///
    /// # Errors
    /// When there is not one variable for each.
    pub fn values(&self, x: &[f64]) -> Result<(Vec<f64>, Vec<f64>), Error> {
        let (of_controls, of_design) = self.split(x)?;
        let design = self.variables.iter().zip(of_design).map(|(v, x)| v.value(*x).0).collect();
        Ok((self.controls.values(of_controls)?, design))
    }

    /// The model and the initial state of a design.
    ///
    /// # Errors
    /// When there is not one variable for each control and design variable, or the model cannot have such values.
    pub fn design(&self, x: &[f64]) -> Result<(Model, State), Error> {
        let task = self.controls.task();
        Ok(seeded(task.model, task.initial, &self.parameter_values(x)?)?)
    }

    /// The motion of a design under its controls.
    ///
    /// # Errors
    /// The errors of [`Self::design`], or the simulation fails.
    pub fn trajectory(&self, x: &[f64]) -> Result<Trajectory, Error> {
        self.with_design(x, |problem, x| problem.trajectory(x))
    }

    fn split<'x>(&self, x: &'x [f64]) -> Result<(&'x [f64], &'x [f64]), Error> {
        let (found, expected) = (x.len(), self.lower.len());
        if found != expected {
            return Err(Error::msg(format!(
                "{found} variables for {expected} controls and design variables"
            )));
        }
        Ok(x.split_at(expected - self.variables.len()))
    }

    fn parameter_values(&self, x: &[f64]) -> Result<Vec<(Parameter, f64)>, Error> {
        let (_, of_design) = self.split(x)?;
        let of = |(v, x): (&DesignVariable, &f64)| {
            let value = v.value(*x).0;
            v.parameters.iter().map(move |&parameter| (parameter, value)).collect::<Vec<_>>()
        };
        Ok(self.variables.iter().zip(of_design).flat_map(of).collect())
    }

    /// What is evaluated of the problem of the controls with the model and the state of a design.
    fn with_design<V>(
        &self,
        x: &[f64],
        evaluate: impl FnOnce(&TrajectoryProblem<'_, A, R>, &[f64]) -> Result<V, Error>,
    ) -> Result<V, Error> {
        let (model, initial) = self.design(x)?;
        let TrajectoryTask { settings, until, applied, residuals, .. } = *self.controls.task();
        let task = TrajectoryTask { model: &model, initial: &initial, settings, until, applied, residuals };
        evaluate(&self.controls.for_task(task), self.split(x)?.0)
    }

    /// The derivatives with respect to the values of the design, from those with respect to the parameters of the
    /// model of the design.
    fn by_values(&self, x: &[f64], by_parameters: &[f64]) -> Result<Vec<f64>, Error> {
        let values = self.parameter_values(x)?;
        let value_of =
            |wanted: Parameter| values.iter().find(|(p, _)| *p == wanted).map_or(0.0, |(_, value)| *value);
        let derivative = |wanted: Parameter| {
            let index = self.parameters.iter().position(|parameter| *parameter == wanted);
            index.map_or(0.0, |index| by_parameters[index])
        };
        let of_parameter = |parameter: Parameter| match (parameter, initial_turn(&parameter)) {
            // A factor on the size that the design has already.
            (Parameter::GeometryScale { .. }, _) => derivative(parameter) / value_of(parameter),
            // exp(δ + dδ) = exp(J dδ) exp(δ), and the derivative is that of a turn on the left.
            (_, Some((body, axis))) => {
                let of_axes = |of: &dyn Fn(Parameter) -> f64| {
                    Vector3::from_fn(|axis, _| of(Parameter::initial_rotation(body, axis)))
                };
                let jacobian = rotation_exponential_jacobian(&of_axes(&value_of));
                jacobian.column(axis).dot(&of_axes(&derivative))
            }
            _ => derivative(parameter),
        };
        let of_variable =
            |v: &DesignVariable| v.parameters.iter().map(|&parameter| of_parameter(parameter)).sum();
        Ok(self.variables.iter().map(of_variable).collect())
    }
}

impl<A: AppliedForces, R: TrajectoryResiduals> CostFunction for DesignProblem<'_, A, R> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        self.with_design(x, |problem, x| problem.cost_alone(x))
    }
}

impl<A: AppliedForces, R: TrajectoryResiduals> Gradient for DesignProblem<'_, A, R> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        let (by_parameters, mut gradient) =
            self.with_design(x, |problem, x| problem.gradient_by_parameters(x, &self.parameters))?;
        let (_, of_design) = self.split(x)?;
        let by_values = self.by_values(x, &by_parameters)?;
        let parts = self.variables.iter().zip(of_design).zip(by_values);
        gradient.extend(parts.map(|((v, x), by)| by * v.value(*x).1));
        Ok(gradient)
    }
}

/// The result of an optimization of controls and design.
#[derive(Clone, Debug, PartialEq)]
pub struct DesignOptimum {
    /// The optimizer's variables.
    pub variables: Vec<f64>,
    /// Values of the controls at knots, in their units, knot after knot.
    pub controls: Vec<f64>,
    /// Values of the design variables, in their units.
    pub design: Vec<f64>,
    /// The cost ½‖r‖².
    pub cost: f64,
    /// Iterations made.
    pub iterations: u64,
    /// The criterion of convergence that was met, if one was.
    pub convergence: Option<Convergence>,
    /// Why the solver stopped, in words.
    pub termination: String,
}

/// The problem by reference.
struct Borrowed<'p, 'a, A, R>(&'p DesignProblem<'a, A, R>);

impl<A: AppliedForces, R: TrajectoryResiduals> CostFunction for Borrowed<'_, '_, A, R> {
    type Param = Vec<f64>;
    type Output = f64;
    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        self.0.cost(x)
    }
}

impl<A: AppliedForces, R: TrajectoryResiduals> Gradient for Borrowed<'_, '_, A, R> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;
    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        self.0.gradient(x)
    }
}

/// Optimizes controls and design from values of both, by [`Lbfgsb`] (those out of bounds are moved to them).
///
/// # Errors
/// A method other than L-BFGS, values that do not fit, a tolerance that is negative, or a motion that cannot be simulated or
/// differentiated at the start.
pub fn optimize_design<A: AppliedForces, R: TrajectoryResiduals>(
    problem: &DesignProblem<'_, A, R>,
    (controls, design): (&[f64], &[f64]),
    settings: &TrajectorySettings,
    progress: Option<&ProgressObserver>,
) -> Result<DesignOptimum, Error> {
    if settings.method != TrajectoryMethod::Lbfgs {
        return Err(ProblemError::DesignMethod { method: settings.method.name() }.into());
    }
    let start = problem.optimizer_variables(controls, design)?;
    let (lower, upper) = problem.bounds();
    let tolerance = settings.cost_tolerance.unwrap_or(settings.method.standard_tolerance());
    let solver = Lbfgsb::new().with_bounds(lower.to_vec(), upper.to_vec())?.with_cost_tolerance(tolerance)?;
    let executor = Executor::new(Borrowed(problem), solver)
        .configure(|state| state.param(start).max_iters(settings.max_iterations));
    let ended = run::<_, _, (), ()>(executor, progress, Lbfgsb::convergence)?;
    let (controls, design) = problem.values(&ended.variables)?;
    Ok(DesignOptimum {
        variables: ended.variables,
        controls,
        design,
        cost: ended.cost,
        iterations: ended.iterations,
        convergence: ended.convergence,
        termination: ended.termination,
    })
}
