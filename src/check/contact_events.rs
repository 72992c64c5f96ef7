//! The discrete events of contacts and joints along a trajectory. A derivative can jump where one of
//! them changes: the set of faces of a contact surface, exact alignment of meshes, which faces bear
//! load, stick or slip, and which stops and actuator limits act.
//!
//! If two trajectories have the same events, then as far as the two ends can show, no formula changes on
//! the trajectories between them, and the state is a smooth function there. Where events differ, the
//! first that does says where and when.

use nalgebra::Vector3;

use crate::contact::{DampingPoint, PairMaterial, Workspace, for_each_face};
use crate::multibody::{BodyFrame, BroadPhase, Model, State, with_pair};
use crate::rollout::mixed;
use crate::spatial::SpatialVelocity;
use crate::step::{Integrator, StepProblem, StepWorkspace, Tape};

/// What is said of an event at which meshes are aligned.
pub(super) const ALIGNED: &str = "meshes are aligned";

/// Where something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// Between two geometries: a place in [`Model::pairs`].
    Pair(usize),
    /// At a velocity coordinate of the joints.
    Coordinate(usize),
    /// At the limit of effort of an actuator on a free body.
    Effort(usize),
    /// Everywhere: a step fails.
    Failure,
}

/// What happens in one step, or at the initial state.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StepEvents {
    /// For each place where something acts what does, as a number.
    acting: Vec<(Place, u64)>,
    /// The first pair of geometries whose meshes are aligned.
    aligned: Option<usize>,
}

/// The events of a trajectory.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Events {
    /// Those of the forces at the initial state.
    pub initial: StepEvents,
    /// Those of every step.
    pub steps: Vec<StepEvents>,
}

/// An event at which derivatives may jump.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Event {
    /// The step in which it happens.
    pub step: usize,
    /// Where.
    pub place: Place,
    /// Whether it is that meshes are aligned.
    pub aligned: bool,
}

impl Event {
    /// One of the first `steps` steps fails.
    pub fn failed(steps: usize) -> Self {
        Self { step: steps.saturating_sub(1), place: Place::Failure, aligned: false }
    }
}

impl StepEvents {
    /// Adds what happens at another moment of the same step.
    pub fn merge(&mut self, other: Self) {
        // Mixed once more: two moments that are exchanged are not the same.
        self.acting.iter_mut().for_each(|(_, number)| *number = mixed(*number));
        other.acting.into_iter().for_each(|(place, number)| self.add(place, number));
        self.aligned = self.aligned.or(other.aligned);
    }

    /// Adds what acts at a place to what is known to act there.
    fn add(&mut self, place: Place, number: u64) {
        match self.acting.iter_mut().find(|(p, _)| *p == place) {
            Some((_, sum)) => *sum = sum.wrapping_add(number),
            None => self.acting.push((place, number)),
        }
    }

    /// The first place where something else acts than in `other`.
    fn differs_at(&self, other: &Self) -> Option<Place> {
        let missing = |from: &Self, to: &Self| {
            from.acting.iter().find(|entry| !to.acting.contains(entry)).map(|(place, _)| *place)
        };
        missing(self, other).or_else(|| missing(other, self))
    }
}

impl Events {
    /// The number of contacts of all steps.
    pub fn contacts(&self) -> usize {
        let of_pairs = |events: &StepEvents| {
            events.acting.iter().filter(|(place, _)| matches!(place, Place::Pair(_))).count()
        };
        self.steps.iter().map(of_pairs).sum()
    }

    /// The first of the first `steps` steps in which something else happens than in `other`; with
    /// no steps the initial states are compared.
    pub fn first_difference(&self, other: &Self, steps: usize) -> Option<Event> {
        let differs = |step: usize, a: &StepEvents, b: &StepEvents| {
            a.differs_at(b).map(|place| Event { step, place, aligned: false })
        };
        if steps == 0 {
            return differs(0, &self.initial, &other.initial);
        }
        let both = self.steps.iter().zip(&other.steps).take(steps).enumerate();
        both.map(|(step, (a, b))| differs(step, a, b)).find(Option::is_some).flatten()
    }

    /// The first of the first `steps` steps at whose start meshes are aligned; with no steps the
    /// initial state is looked at.
    pub fn first_aligned(&self, steps: usize) -> Option<Event> {
        let at = |(step, events): (usize, &StepEvents)| {
            events.aligned.map(|pair| Event { step, place: Place::Pair(pair), aligned: true })
        };
        if steps == 0 {
            return at((0, &self.initial));
        }
        self.steps.iter().take(steps).enumerate().find_map(at)
    }
}

/// Watches a simulation in plain numbers.
#[derive(Default)]
pub(super) struct Watch {
    scratch: Workspace,
    broad_phase: BroadPhase,
    frames: Vec<BodyFrame>,
}

impl Watch {
    /// The events of the forces at a state, under commands.
    pub fn at_state(&mut self, model: &Model, state: &State, commands: &[f64]) -> StepEvents {
        let mut events = StepEvents::default();
        self.surfaces(model, state, &mut events);
        self.damping(model, &mut events);
        joint_laws(model, state, &state.joints.v, 0.0, commands, &mut events);
        events
    }

    /// The events of a velocity-level step of `dt` seconds from `before` to `after`, which left its
    /// contacts in `workspace`.
    fn of_step(
        &mut self,
        model: &Model,
        [before, after]: [&State; 2],
        dt: f64,
        commands: &[f64],
        workspace: &StepWorkspace,
    ) -> StepEvents {
        let mut events = StepEvents::default();
        self.surfaces(model, before, &mut events);
        workspace.for_each_branch(|pair, branch| events.add(Place::Pair(pair), mixed(branch)));
        joint_laws(model, before, &after.joints.v, dt, commands, &mut events);
        events
    }

    /// The events of a step with several stages at these states, the first of them the state before
    /// the step.
    fn of_stages(&mut self, model: &Model, stages: &[State], commands: &[f64]) -> StepEvents {
        let mut events = StepEvents::default();
        stages.iter().for_each(|stage| events.merge(self.at_state(model, stage, commands)));
        events
    }

    /// The events of a step of fixed length, which left its contacts in `workspace`, and the states at its stages
    /// in `tape` if it is a Runge–Kutta step.
    pub fn of_fixed_step(
        &mut self,
        method: Integrator,
        step: &StepProblem<'_>,
        after: &State,
        workspace: &StepWorkspace,
        tape: &Tape,
    ) -> StepEvents {
        let (StepProblem { model, state, control, .. }, dt) = (*step, step.length());
        match method {
            Integrator::VelocityLevel(_) => self.of_step(model, [state, after], dt, control, workspace),
            method if method.is_runge_kutta() => self.of_stages(model, &tape.stages(), control),
            _ => self.at_state(model, state, control),
        }
    }

    /// The faces of all contact surfaces.
    fn surfaces(&mut self, model: &Model, state: &State, events: &mut StepEvents) {
        let Self { scratch, broad_phase, frames } = self;
        model.body_frames(state, frames);
        for &index in broad_phase.candidates(model, frames) {
            let found = with_pair(model, frames, &model.pairs[index], |query| {
                scratch.topology(query, model.contact.face_filter, mixed)
            });
            let Some((number, aligned)) = found else { continue };
            events.add(Place::Pair(index), number);
            if aligned && events.aligned.is_none() {
                events.aligned = Some(index);
            }
        }
    }

    /// On which faces dissipation leaves no pressure, once the frames are those of the state.
    fn damping(&mut self, model: &Model, events: &mut StepEvents) {
        let Self { scratch, frames, .. } = self;
        let acting: Vec<Place> = events.acting.iter().map(|(place, _)| *place).collect();
        for place in acting {
            let Place::Pair(index) = place else { continue };
            let number = with_pair(model, frames, &model.pairs[index], |query| {
                let law = model.contact.law;
                let of_pair = PairMaterial::of(query.a, query.b, law);
                let (mut number, mut face_number) = (0_u64, 0);
                for_each_face(query, &model.contact, scratch, |face| {
                    let at_face = |v: &SpatialVelocity, origin: &Vector3<f64>| {
                        v.shifted(&(face.centroid - origin)).translational
                    };
                    let slip = at_face(&query.v_wa, &query.x_wa.translation)
                        - at_face(&query.v_wb, &query.x_wb.translation);
                    let normal_velocity = slip.dot(&face.normal);
                    let PairMaterial { dissipation, own, .. } = of_pair;
                    let without_pressure = match law {
                        None => dissipation * normal_velocity >= 1.0,
                        Some(law) => {
                            let pressure = face.pressure;
                            law.damping(&DampingPoint { pressure, normal_velocity, dissipation, own }) <= 0.0
                        }
                    };
                    if without_pressure {
                        number = number.wrapping_add(mixed(face_number));
                    }
                    face_number += 1;
                });
                number
            });
            events.add(place, number);
        }
    }
}

/// Which forces of actuators and stops follow their coordinates and commands: at velocities `v`, and at the
/// positions that these reach in `dt` seconds.
fn joint_laws(model: &Model, state: &State, v: &[f64], dt: f64, commands: &[f64], events: &mut StepEvents) {
    let commands = &commands[..model.command_dimension().min(commands.len())];
    let mut law_number = 0;
    model.for_each_joint_law(commands, &mut |at, law| {
        let q = state.joints.q[at.q] + v[at.v] * dt;
        let slopes = law.slopes(|law, q, v| law.force(q, v), q, v[at.v]);
        let follows = slopes.iter().fold(0, |bits, slope| 2 * bits + u64::from(*slope != 0.0));
        events.add(Place::Coordinate(at.v), mixed(8 * law_number + follows));
        law_number += 1;
    });
    for (index, (actuator, command)) in model.actuators.iter().zip(commands).enumerate() {
        if actuator.body_load().is_some() {
            events.add(Place::Effort(index), mixed(u64::from(command.abs() > actuator.effort)));
        }
    }
}

/// What a reader is told of an event.
pub(super) fn described(model: &Model, event: &Event, time_step: f64) -> String {
    let time = event.step as f64 * time_step;
    match event.place {
        Place::Pair(index) => {
            let bodies = model.pairs[index].bodies;
            let [a, b] = [bodies.a, bodies.b].map(|i| &model.bodies[i].name);
            let what = if event.aligned { ALIGNED } else { "faces change" };
            format!("the contact of {a} and {b} at t = {time:.6} s, whose {what}")
        }
        Place::Coordinate(v) => {
            let joint = model.mechanism.joints().iter().find(|joint| joint.v.contains(&v));
            let name = joint.map_or("", |joint| &joint.name);
            format!("a stop or effort limit of joint {name} at t = {time:.6} s")
        }
        Place::Effort(index) => {
            format!("the effort limit of actuator {} at t = {time:.6} s", model.actuators[index].name)
        }
        Place::Failure => format!("a step until t = {time:.6} s that fails"),
    }
}
