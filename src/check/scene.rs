//! The gradient check of a scene: wrenches, one step and a rollout, with respect to every parameter.

use super::comparison::{CheckSettings, Comparison};
use super::contact_events::{Events, StepEvents, Watch};
use super::instability::{Instability, first_instability};
use super::report::GradientReport;
use super::sensitivities::Sensitivities;
use super::tight::tightest_first;
use super::varied::{CheckedValue, JointPart, Varied, joint_parts};
use crate::multibody::{
    BodyPair, DifferentiatedModel, ForcesIn, GeometryPair, Model, PairWorkspace, State, seeded,
};
use crate::parallel::in_parallel;
use crate::rollout::{Controls, Rollout, SimulationError, SimulationSettings, checked_step_into, failed};
use crate::scalar::{CHUNK, DualArray, Scalar};
use crate::step::{Integrator, StepError, StepProblem, StepWorkspace, Substep, Tape};

/// The quantities of one evaluation, each with components of one kind.
pub(super) type Quantities<T> = Vec<Vec<T>>;

/// Derivatives that were compared: of each parameter, quantity and component.
pub(super) type Compared = Vec<Vec<Vec<Comparison>>>;

/// The model, the state and the controls of a scene some of whose parameters are varied.
type VariedScene<T> = (Model<T>, State<T>, Controls<T>);

/// A scene whose derivatives are checked.
pub(super) struct SceneCheck<'a> {
    pub model: &'a Model,
    pub state: &'a State,
    pub time_step: f64,
    pub applied: &'a dyn ForcesIn<f64>,
    pub controls: &'a Controls,
    pub steps: usize,
    /// The coordinates of the joints.
    pub parts: Vec<JointPart>,
    /// Pairs of bodies that can touch, with their pairs of geometries.
    pub pairs: Vec<(BodyPair, Vec<GeometryPair>)>,
    /// The method of steps: an implicit one with tighter and tighter tolerances, the tightest first.
    methods: Vec<Integrator>,
    /// The substeps of error-controlled steps, which are held where parameters vary.
    pub substeps: Vec<Vec<Substep>>,
    /// Reference states that the simulated states are compared with: after one step, and after all
    /// steps.
    pub reference: [State; 2],
    /// Where explicit steps stop being stable.
    pub instability: Option<Instability>,
}

/// Checks the derivatives of a scene with respect to every parameter (see [`crate::multibody::Parameter::all`]), to
/// places and to some vertices of meshes (see [`CheckSettings`]), and to a constant shift of each control value
/// over all steps. Three kinds of quantities are differentiated:
/// the wrench of each pair of bodies at the initial state, the state after one step, and the state after
/// as many steps as `controls` has rows (`steps` if there are no control values). States are
/// differentiated in their tangent space, and steps are those of the scene's integrator.
///
/// Steps of differences are relative to a parameter's value, or to 0.1 rad, 0.01 m, 1 rad/s and 0.1 m/s
/// for the initial state, the smallest principal moment for an inertia, the radius of gyration for a
/// centre of mass, the magnitude of gravity (at least 1 m/s²) for gravity, 0.1 rad and 0.01 m for poses, the
/// distance to the nearest vertex for vertices, the largest extent of the mesh for extents, and the largest of its
/// values (1 where all are 0) for a control. A dissipation or friction of 0 is checked at 0.1 instead, and its
/// row says so.
///
/// Implicit steps are solved as tightly as rounding allows, whatever tolerance `simulation` has. Where
/// differences do not agree with a derivative, the trajectories on both sides of the point are compared.
/// Difference steps along which contact faces, branches of friction or stops of joints change are not
/// used. If these change however small the step is, or if meshes are exactly aligned, the claim is held
/// against the derivatives from both sides, and the row names the bodies and the time: that of a side, or one
/// between both, is a [`crate::check::Verdict::Kink`]. A row at a kink is checked again at initial states beside
/// it: what is wrong there too is [`crate::check::Verdict::Wrong`]. A claim that is neither side's may be the derivative
/// right beside the point ([`crate::check::Side::Beside`]); else it is undecided. So is one that differences refute where the
/// derivatives at their ends, on both sides, agree with them: the point lies in something narrower than the smallest step.
///
/// The derivatives of the state after one step and after all are also made in every other way (Jacobians and
/// vector–Jacobian products of steps, forward and backward sweeps) and compared with the same claims:
/// see [`GradientReport::ways`]. Where more derivatives are undecided than may be, as where bodies lie flat on each other or
/// just touch, all are checked once more at a start beside: see [`GradientReport::beside`].
///
/// # Errors
/// The scene cannot be simulated at the values of its parameters or near them.
pub fn check_scene(
    rollout: &Rollout<'_>,
    settings: &CheckSettings,
) -> Result<GradientReport, SimulationError> {
    let start = rollout.start();
    let rollout = &Rollout { initial: &start, ..*rollout };
    let steps = rollout.settings.schedule(rollout.until)?.steps().max(1);
    let until = steps as f64 * rollout.settings.time_step;
    let controls = Rollout { until, ..*rollout }.control_rows()?;
    let check = SceneCheck::new(rollout, steps, &controls)?;
    let parameters = check.parameters(settings)?;
    let (compared, largest) = check.compare_settled(&parameters, &|_, _| true, &Vec::new(), settings)?;
    let mut report = check.report(&parameters, &compared, settings);
    check.add_ways(&parameters, &mut report)?;
    check.add_start_beside((&parameters, &compared), &largest, settings, &mut report)?;
    Ok(report)
}

impl<'a> SceneCheck<'a> {
    /// The check of a number of steps of a rollout, under its control values in them.
    pub fn new(rollout: &Rollout<'a>, steps: usize, controls: &'a Controls) -> Result<Self, SimulationError> {
        let Rollout { model, initial: state, settings: simulation, applied, .. } = *rollout;
        let mut pairs: Vec<(BodyPair, Vec<GeometryPair>)> = Vec::new();
        for pair in model.pairs.iter().filter(|pair| !model.is_rigid_pair(pair)) {
            match pairs.last_mut() {
                Some((bodies, list)) if *bodies == pair.bodies => list.push(*pair),
                _ => pairs.push((pair.bodies, vec![*pair])),
            }
        }
        let mut check = Self {
            model,
            state,
            time_step: simulation.time_step,
            applied,
            controls,
            steps,
            parts: joint_parts(model),
            pairs,
            methods: tightest_first(simulation.integrator),
            substeps: Vec::new(),
            reference: Default::default(),
            instability: None,
        };
        check.substeps = check.substeps_from(state)?;
        check.reference = check.simulated(applied, model, state, controls)?;
        let method = SimulationSettings { integrator: check.method(), ..simulation };
        let until = steps as f64 * simulation.time_step;
        let tight = Rollout::new(model, state, method, until).under(applied).with_controls(controls);
        check.instability = first_instability(&tight)?;
        Ok(check)
    }
}

impl SceneCheck<'_> {
    /// The rows of derivatives that were compared.
    pub fn report(
        &self,
        parameters: &[CheckedValue],
        compared: &Compared,
        settings: &CheckSettings,
    ) -> GradientReport {
        let names = self.names();
        let mut report = GradientReport { allowed_undecided: settings.undecided, ..Default::default() };
        for ((_, parameter, _), quantities) in parameters.iter().zip(compared) {
            for (name, comparisons) in names.iter().zip(quantities) {
                report.add(name, parameter, comparisons.clone());
            }
        }
        report
    }

    /// The same scene from another state, with numbers of its model moved.
    pub fn started_at<'s>(
        &'s self,
        (model, state): &'s (Model, State),
    ) -> Result<SceneCheck<'s>, SimulationError> {
        let mut check = SceneCheck {
            model,
            state,
            parts: self.parts.clone(),
            pairs: self.pairs.clone(),
            methods: self.methods.clone(),
            substeps: Vec::new(),
            reference: Default::default(),
            instability: self.instability.clone(),
            ..*self
        };
        check.substeps = check.substeps_from(state)?;
        check.reference = check.simulated(self.applied, model, state, self.controls)?;
        Ok(check)
    }

    /// The substeps of each step from a state, by the method with its own tolerance; none where errors are
    /// not controlled.
    fn substeps_from(&self, state: &State) -> Result<Vec<Vec<Substep>>, SimulationError> {
        let integrator = self.method();
        if !matches!(integrator, Integrator::ErrorControlled(_)) {
            return Ok(Vec::new());
        }
        let settings = SimulationSettings { integrator, time_step: self.time_step };
        let until = self.steps as f64 * self.time_step;
        let rollout = Rollout::new(self.model, state, settings, until);
        rollout.under(self.applied).with_controls(self.controls).find_substeps()
    }

    /// Those of one step.
    pub fn held_substeps(&self, step: usize) -> Option<&[Substep]> {
        self.substeps.get(step).map(Vec::as_slice)
    }

    /// The derivatives of all quantities with respect to each parameter, by dual numbers.
    pub fn claims(&self, parameters: &[CheckedValue]) -> Result<Vec<Quantities<f64>>, SimulationError> {
        let claimed = in_parallel(parameters.chunks(CHUNK), |chunk| self.claimed(chunk, 0.0));
        Ok(claimed.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// Derivatives with respect to each parameter, compared with differences. Rounding is measured by the largest
    /// sensitivities of the components.
    pub fn compare_all(
        &self,
        parameters: &[CheckedValue],
        claimed: &[Quantities<f64>],
        largest: &Sensitivities,
        settings: &CheckSettings,
    ) -> Result<Compared, SimulationError> {
        let (magnitudes, limits) = (self.magnitudes(), self.limits_of_rounding(largest));
        let compared = in_parallel(parameters.iter().zip(claimed), |(parameter, claimed)| {
            let mut around = self.surroundings(parameter, settings)?;
            self.compare(&mut around, claimed, (&magnitudes, &limits), settings)
        });
        compared.into_iter().collect()
    }

    /// The derivatives of all quantities with respect to each parameter of a chunk, at values that are
    /// `moved` by this part of the parameters' scales.
    pub fn claimed(
        &self,
        chunk: &[CheckedValue],
        moved: f64,
    ) -> Result<Vec<Quantities<f64>>, SimulationError> {
        let mut claimed: Vec<Quantities<f64>> = Vec::with_capacity(chunk.len());
        // Parameters that are checked at a value of their own are not mixed with others.
        let shared = chunk.iter().all(|(varied, _, value)| match varied {
            Varied::Parameter(parameter) => parameter.value(self.model) == Ok(*value),
            Varied::Control(_) => true,
        });
        for part in chunk.chunks(if shared { CHUNK } else { 1 }) {
            let values: Vec<(Varied, DualArray<CHUNK>)> = part
                .iter()
                .enumerate()
                .map(|(i, checked)| {
                    let (varied, _, value) = checked;
                    (*varied, DualArray::variable(*value + moved * self.scale_of(checked), i))
                })
                .collect();
            let quantities = self.evaluate::<DualArray<CHUNK>>(self.applied.differentiable(), &values)?;
            let along = |i: usize| quantities.iter().map(|q| q.iter().map(|x| x.eps[i]).collect()).collect();
            claimed.extend((0..part.len()).map(along));
        }
        Ok(claimed)
    }

    /// The method of steps with its own tolerance.
    fn method(&self) -> Integrator {
        self.methods.last().copied().unwrap_or_default()
    }

    /// The model, the state and the controls with some parameters at values.
    fn varied<T: Scalar>(&self, values: &[(Varied, T)]) -> Result<VariedScene<T>, SimulationError> {
        let mut parameters = Vec::with_capacity(values.len());
        let lifted = self.controls.values().iter().map(|u| T::from(*u)).collect();
        let mut controls =
            Controls::from_values(self.controls.dimension(), lifted).unwrap_or(Controls::none());
        for &(varied, value) in values {
            match varied {
                Varied::Parameter(parameter) => parameters.push((parameter, value)),
                Varied::Control(i) => {
                    (0..controls.steps()).for_each(|step| controls.row_mut(step)[i] += value);
                }
            }
        }
        let (model, state) = seeded(self.model, self.state, &parameters)?;
        Ok((model, state, controls))
    }

    /// Wrenches at the initial state, then the states after one step and after all.
    pub fn evaluate<T: Scalar>(
        &self,
        applied: &dyn ForcesIn<T>,
        values: &[(Varied, T)],
    ) -> Result<Quantities<T>, SimulationError> {
        let (model, state, controls) = self.varied(values)?;
        let mut quantities: Quantities<T> = Vec::new();
        let mut frames = Vec::new();
        model.body_frames(&state, &mut frames);
        let mut workspace = PairWorkspace::default();
        for (_, pairs) in &self.pairs {
            let wrench = model.body_pair_contact(&frames, pairs, &mut workspace).wrench_on_a;
            quantities.push(wrench.rotational.as_slice().to_vec());
            quantities.push(wrench.translational.as_slice().to_vec());
        }
        for (reference, state) in
            self.reference.iter().zip(self.simulated(applied, &model, &state, &controls)?)
        {
            let tangent = State::lift(reference).difference(&state);
            let (of_motion, of_bristles) = tangent.split_at(reference.motion_tangent_dimension());
            let (of_bodies, of_joints) = of_motion.split_at(reference.body_tangent_dimension());
            quantities.extend(of_bodies.chunks_exact(3).map(<[T]>::to_vec));
            for half in of_joints.chunks(reference.joints.v.len().max(1)) {
                quantities.extend(self.parts.iter().map(|part| half[part.v.clone()].to_vec()));
            }
            quantities.extend(of_bristles.chunks_exact(3).map(<[T]>::to_vec));
        }
        Ok(quantities)
    }

    fn simulated<T: Scalar>(
        &self,
        applied: &dyn ForcesIn<T>,
        model: &Model<T>,
        state: &State<T>,
        controls: &Controls<T>,
    ) -> Result<[State<T>; 2], SimulationError> {
        let until = self.steps as f64 * self.time_step;
        let run = self.with_tightest(|integrator| {
            let settings = SimulationSettings { integrator, time_step: self.time_step };
            let rollout = Rollout::new(model, state, settings, until).under(applied);
            rollout.with_controls(controls).holding(&self.substeps).simulate()
        });
        let states = run?.states;
        let after = |k: usize| states.get(k).unwrap_or(state).clone();
        Ok([after(1), after(states.len() - 1)])
    }

    /// What contacts and joints do along the trajectory with parameters at values.
    pub fn watched(&self, values: &[(Varied, f64)]) -> Result<Events, SimulationError> {
        let (model, state, controls) = self.varied(values)?;
        let applied = self.applied;
        let differentiated = DifferentiatedModel::new(
            &model,
            &[],
            applied.differentiable().force_dependence(),
            controls.dimension(),
        )?;
        let mut watch = Watch::default();
        self.with_tightest(|method| {
            let mut state = state.clone();
            let (mut workspace, mut tape) = (StepWorkspace::default(), Tape::default());
            let mut stages = StepWorkspace::default();
            let mut events = Events {
                initial: watch.at_state(&model, &state, controls.row(0)),
                steps: Vec::with_capacity(self.steps),
            };
            for step in 0..self.steps {
                let (control, time_step) = (controls.row(step), self.time_step);
                let time = step as f64 * time_step;
                let (before, substeps) = (&state, self.held_substeps(step));
                let problem = StepProblem {
                    model: &model,
                    state: before,
                    time,
                    time_step,
                    applied,
                    control,
                    substeps,
                    asleep: &[],
                };
                let number = step + 1;
                let mut of_step = StepEvents::default();
                let mut after = State::default();
                let (fixed, again) = (method.of_fixed_length(), &mut stages);
                let mut look = |part: &StepProblem<'_>, after: &State, workspace: &StepWorkspace| {
                    if fixed.is_runge_kutta() {
                        // It has been taken before, so that it does not fail.
                        let _ = fixed.step_taped(part, &differentiated, again, &mut tape);
                    }
                    of_step.merge(watch.of_fixed_step(fixed, part, after, workspace, &tape));
                };
                match (method, substeps) {
                    (Integrator::ErrorControlled(controlled), Some(substeps)) => {
                        let parts =
                            controlled.for_each_fixed_step(&problem, substeps, &mut workspace, &mut look);
                        after = parts.map_err(|error| failed(&problem, number, error))?;
                    }
                    _ => {
                        checked_step_into(method, &problem, number, &mut workspace, &mut after)?;
                        look(&problem, &after, &workspace);
                    }
                }
                events.steps.push(of_step);
                state = after;
            }
            Ok(events)
        })
    }

    /// The first outcome of a simulation, from the tightest tolerance on, that is not a step that
    /// does not converge.
    pub fn with_tightest<R>(
        &self,
        mut simulation: impl FnMut(Integrator) -> Result<R, SimulationError>,
    ) -> Result<R, SimulationError> {
        let mut failed = None;
        for method in &self.methods {
            match simulation(*method) {
                Err(
                    error @ SimulationError::Step {
                        source: StepError::NotConverged { .. } | StepError::StagesNotConverged { .. },
                        ..
                    },
                ) => {
                    failed = Some(error);
                }
                outcome => return outcome,
            }
        }
        failed.map_or_else(|| simulation(self.method()), Err)
    }
}

#[cfg(test)]
mod planting;
#[cfg(test)]
mod tests;
