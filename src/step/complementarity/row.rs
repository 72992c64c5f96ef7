//! Rows of Jacobians: how a velocity between two bodies follows theirs, which is also what an impulse along it does.

use std::ops::Range;

use nalgebra::Vector3;

use super::data::{Place, StepData};
use super::dynamics::BODY;
use super::kinematics::Kinematics;
use crate::scalar::Scalar;

/// A row is implied by others where less than this part of its square is left without them.
const DEPENDENT: f64 = 1e-10;

/// A row of a Jacobian, with a part for each of the two bodies that moves freely and one for the joints.
#[derive(Clone, Debug)]
pub(super) struct Row<T = f64> {
    parts: [Option<(usize, [T; BODY])>; 2],
    /// None where neither body is a link.
    joints: Option<Box<JointPart<T>>>,
}

/// The part of a row along the coordinates of all joints.
#[derive(Clone, Debug)]
struct JointPart<T> {
    /// The index of the first of them among the velocities.
    first: usize,
    along: Vec<T>,
}

impl<T: Scalar> Row<T> {
    /// A row without parts.
    pub fn none() -> Self {
        Self { parts: [None; 2], joints: None }
    }

    /// A row of two bodies that is 0.
    pub fn zero(data: &StepData<T>, bodies: [usize; 2]) -> Self {
        let part = |body: usize| match data.places[body] {
            Place::Free(index) => Some((index, [T::from(0.0); BODY])),
            Place::Link(_) | Place::Fixed(..) => None,
        };
        Self { parts: bodies.map(part), joints: Self::no_joints(data, bodies) }
    }

    /// The row of a force along a direction at a point on body A and against it on B, and of a torque.
    #[inline]
    pub fn new(
        data: &StepData<T>,
        kinematics: &Kinematics<T>,
        bodies: [usize; 2],
        at: &Vector3<T>,
        force: &Vector3<T>,
        torque: &Vector3<T>,
    ) -> Self {
        let moment = |body: usize| kinematics.arm(body, at).cross(force) + torque;
        let mut row = Self::of_moments(data, bodies, moment, force);
        if let (Some(along), Some(links)) = (row.along_joints(), kinematics.links()) {
            data.add_generalized_forces(links, bodies, at, [force, torque], along);
        }
        row
    }

    /// The same without a torque.
    #[inline]
    pub fn of_force(
        data: &StepData<T>,
        kinematics: &Kinematics<T>,
        bodies: [usize; 2],
        at: &Vector3<T>,
        force: &Vector3<T>,
    ) -> Self {
        let mut row = Self::of_moments(data, bodies, |body| kinematics.arm(body, at).cross(force), force);
        if let (Some(along), Some(links)) = (row.along_joints(), kinematics.links()) {
            let still = Vector3::from_element(T::from(0.0));
            data.add_generalized_forces(links, bodies, at, [force, &still], along);
        }
        row
    }

    /// The row of a force on A and against it on B, with the moment about the centre of mass of each body that it has if it is free;
    /// 0 along joints.
    #[inline]
    pub fn of_moments(
        data: &StepData<T>,
        bodies: [usize; 2],
        moment: impl Fn(usize) -> Vector3<T>,
        force: &Vector3<T>,
    ) -> Self {
        let part = |side: usize| match data.places[bodies[side]] {
            Place::Free(index) => {
                let moment = moment(bodies[side]);
                let (m, f) = if side == 0 { (moment, *force) } else { (-moment, -force) };
                Some((index, [m.x, m.y, m.z, f.x, f.y, f.z]))
            }
            Place::Link(_) | Place::Fixed(..) => None,
        };
        Self { parts: [part(0), part(1)], joints: Self::no_joints(data, bodies) }
    }

    /// The part of a row along joints that is 0, if one of the bodies is a link.
    fn no_joints(data: &StepData<T>, bodies: [usize; 2]) -> Option<Box<JointPart<T>>> {
        let moves_joints = bodies.iter().any(|&body| matches!(data.places[body], Place::Link(_)));
        let first = BODY * data.bodies.len();
        moves_joints.then(|| Box::new(JointPart { first, along: vec![T::from(0.0); data.joint_count()] }))
    }

    /// Adds a moment about the centre of mass and a force on A (side 0), or against them on B, if it is a free body.
    pub fn add_to_body(&mut self, side: usize, moment: &Vector3<T>, force: &Vector3<T>) {
        let sign = T::from(if side == 0 { 1.0 } else { -1.0 });
        if let Some((_, part)) = &mut self.parts[side] {
            for k in 0..3 {
                part[k] += moment[k] * sign;
                part[3 + k] += force[k] * sign;
            }
        }
    }

    /// Its part along the coordinates of the joints, if one of the bodies is a link.
    pub fn along_joints(&mut self) -> Option<&mut [T]> {
        self.joints.as_mut().map(|joints| &mut joints.along[..])
    }

    /// Adds a row of the same bodies.
    pub fn add(&mut self, other: &Self) {
        for ((_, own), (_, other)) in self.parts.iter_mut().flatten().zip(other.parts.iter().flatten()) {
            own.iter_mut().zip(other).for_each(|(a, b)| *a += *b);
        }
        if let (Some(own), Some(other)) = (&mut self.joints, &other.joints) {
            own.along.iter_mut().zip(&other.along).for_each(|(a, b)| *a += *b);
        }
    }

    /// The row with each body's part changed, and that of the joints.
    pub fn map(
        &self,
        mut of_body: impl FnMut(usize, [T; BODY]) -> [T; BODY],
        of_joints: impl FnOnce(&[T]) -> Vec<T>,
    ) -> Self {
        Self {
            parts: self.parts.map(|part| part.map(|(body, row)| (body, of_body(body, row)))),
            joints: self
                .joints
                .as_ref()
                .map(|joints| Box::new(JointPart { first: joints.first, along: of_joints(&joints.along) })),
        }
    }

    /// The velocity along the row.
    pub fn dot(&self, velocities: &[T]) -> T {
        let part = |sum: T, (body, row): &(usize, [T; BODY])| {
            row.iter().zip(&velocities[BODY * body..]).fold(sum, |sum, (a, b)| sum + *a * *b)
        };
        let sum = self.parts.iter().flatten().fold(T::from(0.0), part);
        match self.joints.as_deref() {
            Some(JointPart { first, along }) => {
                along.iter().zip(&velocities[*first..]).fold(sum, |sum, (a, b)| sum + *a * *b)
            }
            None => sum,
        }
    }

    /// Adds the row times a factor to velocities or momenta of all bodies and joints.
    pub fn add_to(&self, velocities: &mut [T], factor: T) {
        for (body, row) in self.parts.iter().flatten() {
            row.iter().zip(&mut velocities[BODY * body..]).for_each(|(a, v)| *v += *a * factor);
        }
        if let Some(JointPart { first, along }) = self.joints.as_deref() {
            along.iter().zip(&mut velocities[*first..]).for_each(|(a, v)| *v += *a * factor);
        }
    }

    /// Adds the row to momenta of all bodies and joints.
    pub fn add_to_momenta(&self, momenta: &mut [T]) {
        for (body, row) in self.parts.iter().flatten() {
            row.iter().zip(&mut momenta[BODY * body..]).for_each(|(a, m)| *m += *a);
        }
        if let Some(JointPart { first, along }) = self.joints.as_deref() {
            along.iter().zip(&mut momenta[*first..]).for_each(|(a, m)| *m += *a);
        }
    }

    /// The product of two rows, with turns measured at a length.
    #[inline]
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
        if let (Some(own), Some(other)) = (&self.joints, &other.joints) {
            // All as turns: which share of a load that many contacts carry each has is theirs to choose.
            sum = own.along.iter().zip(&other.along).fold(sum, |sum, (a, b)| sum + *a * *b * unit);
        }
        sum
    }
}

/// Those of rows that are independent, of one part and then of the other: a Cholesky factorization of their products with pivots.
pub(super) fn independent(rows: &[&Row], length: f64, parts: [Range<usize>; 2]) -> Vec<usize> {
    let mut left: Vec<f64> = rows.iter().map(|row| row.product(row, length)).collect();
    let least: Vec<f64> = left.iter().map(|square| DEPENDENT * square).collect();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    let mut chosen = Vec::new();
    for part in parts {
        loop {
            // The first of equals, so that the choice does not follow rounding.
            let mut best: Option<usize> = None;
            for i in part.clone() {
                if left[i] > least[i] && best.is_none_or(|b| left[i] > (1.0 + 1e-6) * left[b]) {
                    best = Some(i);
                }
            }
            let Some(best) = best else { break };
            let pivot = left[best].sqrt();
            let mut column = vec![0.0; rows.len()];
            for known in columns.iter().filter(|known| known[best] != 0.0) {
                column.iter_mut().zip(known).for_each(|(sum, c)| *sum += c * known[best]);
            }
            // Nothing more is asked of rows that are implied.
            for (i, entry) in column.iter_mut().enumerate() {
                let is_left = left[i] > least[i];
                *entry = if is_left { (rows[i].product(rows[best], length) - *entry) / pivot } else { 0.0 };
            }
            left.iter_mut().zip(&column).for_each(|(left, c)| *left -= c * c);
            left[best] = 0.0;
            columns.push(column);
            chosen.push(best);
        }
    }
    chosen
}
