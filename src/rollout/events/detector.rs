//! What is watched in a rollout to find events of one kind, and where in a step it changes.

use super::super::error::SimulationError;
use super::boundary::{Boundary, candidates};
use super::features::{Features, Placed};
use super::first_touch::first_touching;
use super::function::EventFunction;
use super::kind::EventKind;
use super::locate::{narrowed, zero};
use super::piece::Piece;
use crate::contact::{Elements, FaceFilter, Roles, Workspace};
use crate::multibody::{BodyFrame, GeometryPair, JointKinematics, Model, State, with_pair};
use crate::step::StepWorkspace;

/// What the zeros of functions are located to, s: a tenth of what events are.
const TOLERANCE: f64 = 1e-13;

/// Lengths that the beginning or end of an overlap is narrowed to until the features that touch are found, as parts
/// of the piece and at least so many s: the overlap is to be small, and larger than rounding.
const WIDTHS: [(f64, f64); 4] = [(1e-6, 1e-9), (1e-8, 1e-10), (1e-10, 1e-11), (0.0, 1e-12)];

/// What is looked at to find events of one kind.
pub(super) struct Detector {
    pub kind: EventKind,
    watched: Watched,
    /// Whether what is watched held when it was last looked at.
    pub held: bool,
}

/// What holds on one side of an event.
enum Watched {
    /// The overlap of two geometries.
    Overlap { pair: GeometryPair, boundaries: [Boundary; 2] },
    /// That a velocity is not positive.
    Speed(EventFunction),
}

/// Memory for looking at states.
#[derive(Default)]
pub(super) struct Look {
    frames: Vec<BodyFrame>,
    joints: JointKinematics,
    contact: Workspace,
}

impl Detector {
    pub fn new(model: &Model, kind: EventKind) -> Result<Self, SimulationError> {
        kind.check(model)?;
        let watched = match kind {
            EventKind::Touch { pair } | EventKind::LiftOff { pair } => {
                let boundaries = pair.geometries().map(|(body, geometry)| {
                    Boundary::new(&model.bodies()[body].geometries[geometry].collider.geometry)
                });
                Watched::Overlap { pair, boundaries }
            }
            EventKind::Apex { body, direction } => {
                Watched::Speed(EventFunction::Speed { body, direction: direction.normalize() })
            }
        };
        Ok(Self { kind, watched, held: false })
    }

    /// Whether what is watched holds after the event.
    pub fn holds_after(&self) -> bool {
        !matches!(self.kind, EventKind::LiftOff { .. })
    }

    /// Whether what is watched holds at a state.
    pub fn holds(&self, model: &Model, state: &State, look: &mut Look) -> bool {
        look.frames_at(model, state);
        match &self.watched {
            Watched::Overlap { pair, .. } => look.overlap(model, pair),
            Watched::Speed(function) => function.at(model, &look.frames) <= 0.0,
        }
    }
}

impl Look {
    /// The frames of all bodies at a state.
    pub fn frames_at(&mut self, model: &Model, state: &State) -> &[BodyFrame] {
        model.update_frames(state, &mut self.frames, &mut self.joints);
        &self.frames
    }

    /// Whether two geometries overlap at the frames, so that there is a contact surface, however small.
    fn overlap(&mut self, model: &Model, pair: &GeometryPair) -> bool {
        let Self { frames, contact, .. } = self;
        with_pair(model, frames, pair, |query| contact.topology(query, FaceFilter::None, |x| x).is_some())
    }

    /// The elements of both geometries that their contact surface lies in, of A first, at a state.
    fn elements(&mut self, model: &Model, pair: &GeometryPair, state: &State) -> Vec<Elements> {
        self.frames_at(model, state);
        if !self.overlap(model, pair) {
            return Vec::new();
        }
        let a_is_o =
            with_pair(model, &self.frames, pair, |query| Roles::new(query).is_ok_and(|roles| roles.a_is_o));
        let found = self.contact.found().iter();
        found.map(|&[o, f]| if a_is_o { [o, f] } else { [f, o] }).collect()
    }
}

/// The function of an event, and where it vanishes.
pub(super) struct Located {
    pub function: EventFunction,
    pub features: Option<Features>,
    pub is_unique: bool,
    /// The length of the piece that ends at the event, s.
    pub length: f64,
}

impl Detector {
    /// Locates the event within a piece, at whose start and end it was found to be different.
    pub fn locate(
        &self,
        piece: &Piece<'_>,
        workspace: &mut StepWorkspace,
        look: &mut Look,
    ) -> Result<Located, SimulationError> {
        let (model, whole) = (piece.problem.model, piece.problem.time_step);
        let mut state = State::default();
        let mut value = |function: &EventFunction, length: f64, workspace: &mut StepWorkspace| {
            piece.state_after(length, workspace, &mut state)?;
            Ok::<_, SimulationError>(function.at_state(model, &state))
        };
        let (pair, boundaries) = match &self.watched {
            Watched::Speed(function) => {
                let mut at = |length| value(function, length, workspace);
                let ends = [at(0.0)?, at(whole)?];
                let length = zero([0.0, whole], ends, TOLERANCE, at)?;
                return Ok(Located { function: *function, features: None, is_unique: true, length });
            }
            Watched::Overlap { pair, boundaries } => (pair, boundaries),
        };
        let begins = self.holds_after();
        let (mut bracket, mut inner, mut outer) = ([0.0, whole], State::default(), State::default());
        for (part, shortest) in WIDTHS {
            let width = shortest.max(part * whole);
            bracket = narrowed(bracket, width, |length| {
                piece.state_after(length, workspace, &mut inner)?;
                Ok::<_, SimulationError>(self.holds(model, &inner, look) == begins)
            })?;
            let [inside, outside] = if begins { [bracket[1], bracket[0]] } else { bracket };
            piece.state_after(inside, workspace, &mut inner)?;
            piece.state_after(outside, workspace, &mut outer)?;
            let near = candidates(boundaries, &look.elements(model, pair, &inner));
            let frames = [&outer, &inner].map(|state| look.frames_at(model, state).to_vec());
            let places = [&frames[0], &frames[1]].map(|frames| Placed::new(model, frames, pair));
            let Some((features, is_unique)) = first_touching(&places, &near, bracket[1] - bracket[0]) else {
                continue;
            };
            let function = EventFunction::Gap { pair: *pair, features };
            let mut at = |length| value(&function, length, workspace);
            // Rounding may have the overlap begin a little before or after the gap is zero.
            let wider = [(bracket[0] - 2.0 * width).max(0.0), (bracket[1] + 2.0 * width).min(whole)];
            let ends = [at(wider[0])?, at(wider[1])?];
            let length = if ends[0] * ends[1] <= 0.0 {
                zero(wider, ends, TOLERANCE, at)?
            } else if ends.iter().any(|end| end.abs() <= function.rounding(model, &frames[0])) {
                // At the start or the end of the piece.
                if ends[0].abs() <= ends[1].abs() { wider[0] } else { wider[1] }
            } else {
                continue;
            };
            return Ok(Located { function, features: Some(features), is_unique, length });
        }
        let [a, b] = [pair.bodies.a, pair.bodies.b].map(|body| model.bodies()[body].name.clone());
        Err(SimulationError::EventFeatures { a, b, time: piece.problem.time + bracket[1] })
    }
}
