//! Rows of Jacobians: how a velocity between two bodies follows theirs, which is also what an impulse along it does.

use nalgebra::Vector3;

use super::data::{Place, StepData};
use super::dynamics::BODY;
use crate::scalar::Scalar;

/// A row of a Jacobian, with a part for each of the two bodies that moves freely.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<T = f64> {
    parts: [Option<(usize, [T; BODY])>; 2],
}

impl<T: Scalar> Row<T> {
    /// A row without parts.
    pub fn none() -> Self {
        Self { parts: [None; 2] }
    }

    /// The row of a force along a direction at a point on body A and against it on B, and of a torque.
    pub fn new(
        data: &StepData<T>,
        velocities: &[T],
        bodies: [usize; 2],
        at: &Vector3<T>,
        force: &Vector3<T>,
        torque: &Vector3<T>,
    ) -> Self {
        let part = |body: usize, sign: f64| match data.places[body] {
            Place::Free(index) => {
                let center = data.bodies[index].center_after(&velocities[BODY * index..], data.dt);
                let sign = T::from(sign);
                let (m, f) = (((at - center).cross(force) + torque) * sign, force * sign);
                Some((index, [m.x, m.y, m.z, f.x, f.y, f.z]))
            }
            Place::Fixed(..) => None,
        };
        Self { parts: [part(bodies[0], 1.0), part(bodies[1], -1.0)] }
    }

    /// The row with each body's part changed.
    pub fn map(&self, mut f: impl FnMut(usize, [T; BODY]) -> [T; BODY]) -> Self {
        Self { parts: self.parts.map(|part| part.map(|(body, row)| (body, f(body, row)))) }
    }

    /// The velocity along the row.
    pub fn dot(&self, velocities: &[T]) -> T {
        let part = |sum: T, (body, row): &(usize, [T; BODY])| {
            row.iter().zip(&velocities[BODY * body..]).fold(sum, |sum, (a, b)| sum + *a * *b)
        };
        self.parts.iter().flatten().fold(T::from(0.0), part)
    }

    /// Adds the row times a factor to velocities or momenta of all bodies.
    pub fn add_to(&self, velocities: &mut [T], factor: T) {
        for (body, row) in self.parts.iter().flatten() {
            row.iter().zip(&mut velocities[BODY * body..]).for_each(|(a, v)| *v += *a * factor);
        }
    }

    /// The product of two rows, with turns measured at a length.
    pub fn product(&self, other: &Self, length: f64) -> T {
        let unit = T::from(1.0 / (length * length));
        let mut sum = T::from(0.0);
        for (body, row) in self.parts.iter().flatten() {
            for (of, response) in other.parts.iter().flatten() {
                if body == of {
                    let part = |from: usize| {
                        (from..from + 3).fold(T::from(0.0), |sum, k| sum + row[k] * response[k])
                    };
                    sum += part(0) * unit + part(3);
                }
            }
        }
        sum
    }
}
