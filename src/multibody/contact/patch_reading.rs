//! What a sensor in the skin of a body sees of its contact with another: the force that presses the two
//! together, the patch, and how fast they slide on each other.

use nalgebra::Vector3;

use super::contact_forces::{PairWorkspace, with_pair};
use crate::contact::{SurfaceReading, surface_reading};
use crate::multibody::{BodyFrame, BodyPair, Model};
use crate::scalar::Scalar;

/// A contact patch between two bodies A and B, summed over their geometries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PatchReading<T = f64> {
    /// The pressure integrated over the surfaces, N: what presses the two bodies together. Without dissipation
    /// and friction, so that it does not depend on velocities.
    pub force: T,
    /// Area of the surfaces, m².
    pub area: T,
    /// Centroid of the surfaces in W, m.
    pub centroid: Vector3<T>,
    /// Velocity of A with respect to B at the centroid, without its part along the surfaces' mean normal, in W,
    /// m/s.
    pub slip: Vector3<T>,
}

impl<T: Scalar> PatchReading<T> {
    /// The patch of two bodies at these frames, from what is read off their surfaces.
    pub(crate) fn of(reading: &SurfaceReading<T>, frames: &[BodyFrame<T>], bodies: BodyPair) -> Self {
        let SurfaceReading { area, first_moment, normal, force, .. } = *reading;
        let centroid = first_moment * area.recip();
        let (a, b) = (&frames[bodies.a], &frames[bodies.b]);
        let at = |frame: &BodyFrame<T>| frame.velocity.shifted(&(centroid - frame.pose.translation));
        let velocity = at(a).translational - at(b).translational;
        let square = normal.dot(&normal);
        // Rounding of cancelled normals must not decide on a direction.
        let has_normal = square.real() > (1e-12 * area.real() * area.real()).max(f64::MIN_POSITIVE);
        let along =
            if has_normal { normal * (normal.dot(&velocity) * square.recip()) } else { Vector3::zeros() };
        Self { force, area, centroid, slip: velocity - along }
    }
}

impl<T: Scalar> Model<T> {
    /// The readings of all pairs of geometries of two bodies together, at these frames; `None` where none of them
    /// touch.
    pub(crate) fn surface_reading(
        &self,
        frames: &[BodyFrame<T>],
        bodies: BodyPair,
        workspace: &mut PairWorkspace,
    ) -> Option<SurfaceReading<T>> {
        let readings = self.pairs_of(bodies).filter_map(|pair| {
            let (scratch, known) = workspace.of_pair::<T>(pair);
            let known = known.map(|known| &mut known.reading);
            with_pair(self, frames, pair, |query| {
                surface_reading(query, &self.contact.real(), scratch, known)
            })
        });
        readings.reduce(SurfaceReading::with)
    }

    /// The contact patch of two bodies at these frames (see [`Model::update_frames`]); `None` where they do not
    /// touch.
    ///
    /// The force grows from zero where bodies begin to touch, with a derivative that vanishes there; area,
    /// centroid and slip appear at once. Where the surfaces' normals cancel (a body all around the other),
    /// nothing is taken off the velocity.
    pub fn patch_reading(
        &self,
        frames: &[BodyFrame<T>],
        bodies: BodyPair,
        workspace: &mut PairWorkspace,
    ) -> Option<PatchReading<T>> {
        let reading = self.surface_reading(frames, bodies, workspace)?;
        Some(PatchReading::of(&reading, frames, bodies))
    }
}
