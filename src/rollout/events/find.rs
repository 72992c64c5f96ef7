//! Finding the events of a rollout.

use std::ops::ControlFlow;

use super::super::error::SimulationError;
use super::super::report::StepReport;
use super::super::schedule::StepTime;
use super::super::simulate::Rollout;
use super::detector::{Detector, Located, Look};
use super::event::{Event, Place};
use super::kind::EventKind;
use super::piece::{Piece, SHORTEST};
use crate::multibody::State;
use crate::step::{StepProblem, StepWorkspace, Substep};

impl Rollout<'_> {
    /// Finds the events of these kinds, in the order of their times, and locates them to 10⁻¹² s on the motion that is
    /// simulated: the step (of an error-controlled step the substep) in which one happens is taken again with a
    /// part of its length until it ends there.
    ///
    /// An event is found where what it changes is different before and after a step, or before and after a substep of an
    /// error-controlled step: two bodies that touch and part within one are not seen to touch. What is so at the start
    /// (two bodies that overlap) is no event. All pairs count by their geometry alone, whatever the force is.
    ///
    /// # Errors
    /// The errors of [`Rollout::simulate`], and those of events: for a pair or body that the model does not have, for two
    /// compliant geometries whose skirts end at different pressures, and where an overlap begins at no features of the
    /// boundaries.
    ///
    /// # Examples
    /// When a die that is thrown up is highest and when it comes down, and how both follow the speed:
    /// ```
    /// use isobar::rollout::{EventKind, event_gradients};
    /// use isobar::spatial::SpatialVelocity;
    /// use isobar::*;
    /// use nalgebra::Vector3;
    ///
    /// let foam = Material::new(1e5, 1.0, 0.5);
    /// let die = BodyGeometry::new(Collider::of_shape(&Shape::Box { size: [0.1, 0.08, 0.06] }, 0.1, foam)?);
    /// let die = Body::free("die", MassSource::Density(200.0), vec![die])?;
    /// let floor = BodyGeometry::new(Collider::rigid_half_space(foam));
    /// let floor = Body::fixed("floor", RigidTransform::identity(), vec![floor]);
    /// let model = ModelBuilder { bodies: vec![die, floor], ..Default::default() }.build()?;
    /// let mut start = BodyState::at_rest(&RigidTransform::from_translation([0.0, 0.0, 0.1]));
    /// start.velocity = SpatialVelocity::new(Vector3::new(2.0, 3.0, 1.0), Vector3::new(0.0, 0.0, 1.0));
    /// let start = State::of_bodies(vec![start]);
    /// let settings = SimulationSettings { integrator: Integrator::RungeKutta4, time_step: 1e-2 };
    /// let rollout = Rollout::new(&model, &start, settings, 0.3);
    ///
    /// let highest = EventKind::Apex { body: 0, direction: Vector3::z() };
    /// let events = rollout.find_events(&[highest, EventKind::Touch { pair: model.pairs()[0] }])?;
    /// // After v/g it is highest, and comes down on a corner.
    /// assert!((events[0].time - 1.0 / 9.81).abs() < 1e-12);
    /// assert!(events[1].kind == EventKind::Touch { pair: model.pairs()[0] } && events[1].is_unique);
    ///
    /// let speed = Parameter::initial_velocity(0, 2);
    /// let gradients = event_gradients(&rollout, &events, &[speed])?;
    /// assert!((gradients[0].time[0] - 1.0 / 9.81).abs() < 1e-9);
    /// // It comes down later, and turned farther.
    /// assert!(gradients[1].time[0] > 0.1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn find_events(&self, kinds: &[EventKind]) -> Result<Vec<Event>, SimulationError> {
        let detectors = kinds
            .iter()
            .map(|kind| Detector::new(self.model, *kind))
            .collect::<Result<_, SimulationError>>()?;
        let mut search = Search {
            rollout: self,
            detectors,
            workspace: StepWorkspace::default(),
            look: Look::default(),
            before: State::default(),
            events: Vec::new(),
        };
        self.try_for_each(|report| {
            search.look_at(report)?;
            Ok::<_, SimulationError>(ControlFlow::Continue(()))
        })?;
        Ok(search.events)
    }
}

/// Where in a step a piece lies: the step, the state before it, and the time and the substeps between.
struct Within<'s> {
    at: StepTime,
    before: &'s State,
    done: f64,
    substeps: &'s [Substep],
}

/// The search for events, step by step.
struct Search<'r, 'a> {
    rollout: &'r Rollout<'a>,
    detectors: Vec<Detector>,
    workspace: StepWorkspace,
    look: Look,
    /// The state before the step.
    before: State,
    events: Vec<Event>,
}

impl Search<'_, '_> {
    /// Looks at a state, and at the step that led to it.
    fn look_at(&mut self, report: &StepReport<'_>) -> Result<(), SimulationError> {
        let Rollout { model, applied, .. } = *self.rollout;
        let Some(taken) = &report.taken else {
            for detector in &mut self.detectors {
                detector.held = detector.holds(model, report.state, &mut self.look);
            }
            self.before.clone_from(report.state);
            return Ok(());
        };
        let before = std::mem::take(&mut self.before);
        let at = StepTime { time: taken.start, dt: taken.time_step, number: report.steps };
        let controlled = taken.substeps().map(|statistics| statistics.substeps.clone());
        let substeps = controlled.as_deref().unwrap_or_default();
        let whole = StepProblem {
            model,
            state: &before,
            time: at.time,
            time_step: at.dt,
            applied,
            control: taken.control,
            substeps: None,
            asleep: &[],
        };
        let found = self.events.len();
        let (mut state, mut after, mut done) = (before.clone(), State::default(), 0.0);
        for k in 0..substeps.len().max(1) {
            let length = substeps.get(k).map_or(at.dt, |substep| substep.length);
            let piece = Piece {
                integrator: taken.integrator,
                problem: StepProblem { state: &state, time: at.time + done, time_step: length, ..whole },
                order: substeps.get(k).map(|substep| substep.order),
                number: at.number,
            };
            if k + 1 < substeps.len() {
                piece.state_after(length, &mut self.workspace, &mut after)?;
            } else {
                after.clone_from(report.state);
            }
            for index in 0..self.detectors.len() {
                let holds = self.detectors[index].holds(model, &after, &mut self.look);
                let changed = holds != std::mem::replace(&mut self.detectors[index].held, holds);
                if changed && holds == self.detectors[index].holds_after() {
                    let Self { detectors, workspace, look, .. } = self;
                    let located = detectors[index].locate(&piece, workspace, look)?;
                    let within = Within { at, before: &before, done, substeps: &substeps[..k] };
                    let event = self.event(index, located, &piece, &within)?;
                    self.events.push(event);
                }
            }
            done += length;
            std::mem::swap(&mut state, &mut after);
        }
        self.events[found..].sort_by(|one, other| one.time.total_cmp(&other.time));
        self.before.clone_from(report.state);
        Ok(())
    }

    /// The event that was located in a piece of a step.
    fn event(
        &mut self,
        index: usize,
        located: Located,
        piece: &Piece<'_>,
        within: &Within<'_>,
    ) -> Result<Event, SimulationError> {
        let Located { function, features, is_unique, length } = located;
        let Within { at, before, done, substeps } = *within;
        // A step has a length.
        let length = length.max(SHORTEST);
        let model = self.rollout.model;
        let mut state = State::default();
        piece.state_after(length, &mut self.workspace, &mut state)?;
        let state_rate = piece.rate(length, &state, &mut self.workspace)?;
        let rate = function.by_state(model, &state).iter().zip(&state_rate).map(|(a, b)| a * b).sum();
        let last = piece.order.map(|order| Substep { length, order });
        let place = Place {
            step: at.number - 1,
            at,
            length: done + length,
            substeps: substeps.iter().copied().chain(last).collect(),
            before: before.clone(),
            function,
            rounding: function.rounding(model, self.look.frames_at(model, &state)),
        };
        let kind = self.detectors[index].kind;
        let time = at.time + done + length;
        Ok(Event { kind, time, state, state_rate, rate, features, is_unique, place })
    }
}
