//! Recordings that begin with a body inside another one: a height, a unit or a frame is hardly what was meant.

use nalgebra::Vector3;

use super::nearness::Nearness;
use super::recorded_states::RecordedStates;
use super::{Identification, Measurement, RecordedMotion, place};
use crate::multibody::{AppliedForces, BodyState, Model, PairWorkspace, State};
use crate::optimize::error::ProblemError;
use crate::parallel::in_parallel;

/// Overlaps of less than this part of the smallest extent of the body are those of soft bodies and of noise.
const DEEP: f64 = 0.1;

/// Further than this many of its largest extents a body is not moved to find how deep it is.
const FARTHEST: f64 = 2.0;

/// A recorded motion whose first simulation starts deep inside another body.
#[derive(Clone, Debug, PartialEq)]
pub struct DeepStart {
    /// The recording, with the line where there is one.
    pub place: String,
    /// The body.
    pub body: String,
    /// How far it would have to be moved to touch nothing, m; `None` where that is more than twice its size.
    pub depth: Option<f64>,
    /// Its smallest extent, m.
    pub size: f64,
}

/// How far the body must be moved until nothing touches, along the contact force or upwards, whichever is less.
fn depth(model: &Model, body: BodyState, largest: f64) -> Option<f64> {
    let mut nearness = Nearness::new(model, 0.0);
    let mut touches = |shift: Vector3<f64>| {
        nearness.is_found(&State::of_bodies(vec![BodyState { position: body.position + shift, ..body }]))
    };
    if !touches(Vector3::zeros()) {
        return Some(0.0);
    }
    let mut frames = Vec::new();
    model.body_frames(&State::of_bodies(vec![body]), &mut frames);
    let contact = model.body_pair_contact(&frames, &model.pairs, &mut PairWorkspace::default());
    let force = contact.wrench_on_a.translational;
    let directions = [force, -force, -model.gravity()].into_iter().filter_map(|v| v.try_normalize(0.0));
    let mut along = |direction: Vector3<f64>| {
        let (mut inside, mut outside) = (0.0, largest / 1024.0);
        while touches(direction * outside) {
            inside = outside;
            outside *= 2.0;
            if outside > largest * FARTHEST {
                return None;
            }
        }
        // To a hundredth.
        while outside - inside > 0.01 * outside {
            let middle = 0.5 * (inside + outside);
            if touches(direction * middle) { inside = middle } else { outside = middle }
        }
        Some(outside)
    };
    directions.filter_map(&mut along).min_by(f64::total_cmp)
}

impl RecordedStates {
    /// What to say of the state that the first window starts at, if the body is deep inside another one there.
    fn deep_start(&self, model: &Model) -> Option<DeepStart> {
        let body = model.bodies.iter().find(|body| body.is_free())?;
        let extents = body.size()?;
        let first = self.recording.states.get(self.windows.first()?.start)?;
        let (size, largest) = (extents.min(), extents.max());
        if !(size > 0.0 && largest.is_finite()) {
            return None;
        }
        let depth = depth(model, first.body, largest);
        if depth.is_some_and(|depth| depth < DEEP * size) {
            return None;
        }
        let place = place(&self.recording.name, first.line);
        Some(DeepStart { place, body: body.name.clone(), depth, size })
    }
}

impl<A: AppliedForces> Identification<A> {
    /// The recorded motions that begin with the body deep inside another one, with these parameters: by more than a
    /// tenth of its smallest extent.
    ///
    /// # Errors
    /// Values out of their range.
    pub fn deep_starts(&self, parameters: &[f64]) -> Result<Vec<DeepStart>, ProblemError> {
        let (model, _): (Model, State) = self.seeded(parameters)?;
        let deep = |measurement: &Measurement| {
            measurement.motion().and_then(RecordedMotion::states)?.deep_start(&model)
        };
        Ok(in_parallel(&self.measurements, deep).into_iter().flatten().collect())
    }
}
