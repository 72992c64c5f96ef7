//! Where a step brings bodies and contacts.

use nalgebra::Vector3;

use super::data::{Contact, Patch, Place, StepData};
use super::dynamics::BODY;
use crate::contact::Gap;
use crate::multibody::tree::Workspace;
use crate::scalar::Scalar;
use crate::spatial::{RigidTransform, SpatialVelocity, times_vector};

/// Bodies and contacts after the step, at its velocities.
#[derive(Clone, Debug)]
pub(super) struct Kinematics<T = f64> {
    pub gaps: Vec<Gap<T>>,
    /// For each body of the model its velocity, at the point beside it.
    velocities: Vec<(SpatialVelocity<T>, Vector3<T>)>,
    pub poses: Vec<RigidTransform<T>>,
    /// The links, if there are joints.
    links: Option<Box<Workspace<T>>>,
    /// The velocities of the joints.
    pub of_joints: Vec<T>,
}

impl<T: Scalar> Kinematics<T> {
    /// The velocity of body A relative to B at a point in W.
    pub fn relative_velocity(&self, [a, b]: [usize; 2], at: &Vector3<T>) -> Vector3<T> {
        let of = |body: usize| {
            let (velocity, origin) = &self.velocities[body];
            velocity.shifted(&(at - origin)).translational
        };
        of(a) - of(b)
    }

    /// The arm of a point from where a body's momentum is taken about: its centre of mass.
    pub fn arm(&self, body: usize, at: &Vector3<T>) -> Vector3<T> {
        at - self.velocities[body].1
    }

    /// The velocity of a body, at its centre of mass if it is free, and where that is.
    pub fn motion(&self, body: usize) -> &(SpatialVelocity<T>, Vector3<T>) {
        &self.velocities[body]
    }

    /// The links, if there are joints.
    pub fn links(&self) -> Option<&Workspace<T>> {
        self.links.as_deref()
    }

    /// The angular velocity of body A relative to B.
    pub fn relative_spin(&self, [a, b]: [usize; 2]) -> Vector3<T> {
        self.velocities[a].0.rotational - self.velocities[b].0.rotational
    }

    /// The axes t, o and n of the contact frames of contacts: one for those that follow each other and share their normal.
    pub fn frames(&self, data: &StepData<T>, contacts: impl Iterator<Item = usize>) -> Vec<[Vector3<T>; 3]> {
        let mut last: Option<(usize, [Vector3<T>; 3])> = None;
        let frame = |k: usize| {
            let Contact { patch, normal_of, .. } = data.contacts[k];
            match last {
                Some((of, frame)) if of == normal_of => frame,
                _ => {
                    let frame = self.frame(&data.patches[patch], &self.gaps[k].normal);
                    last = Some((normal_of, frame));
                    frame
                }
            }
        };
        contacts.map(frame).collect()
    }

    /// The axes t, o and n of the contact frame of a patch with a normal.
    pub fn frame(&self, patch: &Patch<T>, normal: &Vector3<T>) -> [Vector3<T>; 3] {
        let rotation = &self.poses[patch.bodies[1]].rotation;
        // The axis that is farther from the normal, so that a tangent is left of it.
        let x = times_vector(rotation, &patch.axes[0]);
        let is_far = normal.dot(&x).real().abs() < 0.9;
        let axis = if is_far { x } else { times_vector(rotation, &patch.axes[1]) };
        let tangent = axis - normal * normal.dot(&axis);
        let t = tangent * tangent.dot(&tangent).sqrt().recip();
        [t, normal.cross(&t), *normal]
    }
}

impl<T: Scalar> StepData<T> {
    /// The links after the step, if there are joints.
    fn links(&self, velocities: &[T]) -> Option<Box<Workspace<T>>> {
        let joints = self.joints.as_ref()?;
        Some(Box::new(joints.links(&velocities[BODY * self.bodies.len()..], self.dt, 1.0)))
    }

    /// The poses of all bodies after the step.
    pub fn poses(&self, velocities: &[T]) -> Vec<RigidTransform<T>> {
        let links = self.links(velocities);
        (0..self.places.len()).map(|body| self.pose(body, velocities, links.as_deref())).collect()
    }

    fn pose(&self, body: usize, velocities: &[T], links: Option<&Workspace<T>>) -> RigidTransform<T> {
        match (&self.places[body], &self.joints, links) {
            (Place::Free(index), ..) => self.bodies[*index].pose_after(&velocities[BODY * index..], self.dt),
            (Place::Link(link), Some(joints), Some(links)) => links.body_pose(&joints.mechanism, *link),
            (Place::Link(_), ..) => RigidTransform::identity(),
            (Place::Fixed(pose, _), ..) => *pose,
        }
    }

    /// Bodies and contacts after the step with these velocities.
    pub fn kinematics(&self, velocities: &[T]) -> Kinematics<T> {
        let links = self.links(velocities);
        let of_joints = velocities[BODY * self.bodies.len()..].to_vec();
        let poses: Vec<_> =
            (0..self.places.len()).map(|body| self.pose(body, velocities, links.as_deref())).collect();
        let velocity = |(place, pose): (&Place<T>, &RigidTransform<T>)| match (place, &self.joints, &links) {
            (Place::Free(index), ..) => {
                let v = &velocities[BODY * index..];
                let [turn, shift] = [0, 3].map(|k| Vector3::new(v[k], v[k + 1], v[k + 2]));
                (SpatialVelocity::new(turn, shift), self.bodies[*index].center_after(v, self.dt))
            }
            (Place::Link(link), Some(joints), Some(links)) => {
                (links.body_velocity(&joints.mechanism, *link), pose.translation)
            }
            (Place::Link(_), ..) => (SpatialVelocity::zero(), pose.translation),
            (Place::Fixed(pose, velocity), ..) => (*velocity, pose.translation),
        };
        let velocities = self.places.iter().zip(&poses).map(velocity).collect();
        let mut gaps: Vec<Gap<T>> = Vec::with_capacity(self.contacts.len());
        for contact in &self.contacts {
            let [a, b] = self.patches[contact.patch].bodies.map(|body| &poses[body]);
            let gap = match gaps.get(contact.normal_of) {
                Some(first) => contact.gap.at_with_normal(a, b, &first.normal),
                None => contact.gap.at(a, b),
            };
            gaps.push(gap);
        }
        Kinematics { gaps, velocities, poses, links, of_joints }
    }
}
