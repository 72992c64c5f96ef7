//! Forward kinematics and Jacobians.

use nalgebra::{Matrix6xX, Vector3};

use super::joint::JointKind;
use super::mechanism::{Follows, Joint, Mechanism};
use super::workspace::{ChildMotion, Workspace};
use crate::scalar::{Scalar, lift_vector, real_vector};
use crate::spatial::{RigidTransform, SpatialInertia, SpatialVelocity};

impl<T: Scalar> Mechanism<T> {
    /// Computes poses, velocities, joint axes and inertias of all bodies at a configuration `q` and a
    /// velocity `v` into the workspace. All else is computed from there.
    ///
    /// # Panics
    /// When `q` or `v` does not have the mechanism's length, or the workspace is another mechanism's.
    #[inline(never)]
    pub fn update_kinematics(&self, q: &[T], v: &[T], workspace: &mut Workspace<T>) {
        self.check_lengths(&[q.len()], &[v.len()]);
        assert!(workspace.fits(self), "a workspace of this mechanism");
        for (index, joint) in self.joints.iter().enumerate() {
            let (before, rest) = workspace.motions.split_at_mut(index);
            let columns = &mut workspace.columns[joint.columns.clone()];
            let followed;
            let (q, v) = match &joint.follows {
                None => (&q[joint.q.clone()], &v[joint.v.clone()]),
                Some(Follows { joint, ratio, offset }) => {
                    let Joint { q: at_q, v: at_v, .. } = &self.joints[*joint];
                    followed = q[at_q.start] * *ratio + *offset;
                    (std::slice::from_ref(&followed), &v[at_v.clone()])
                }
            };
            let child = &mut rest[0];
            match joint.parent {
                Some(parent) => place(joint, &before[parent], q, child, columns),
                None => {
                    let tree = workspace.tree[index];
                    let is_first = self.trees[tree].joints.start == index;
                    let origin = (!is_first).then_some(workspace.origins[tree]);
                    workspace.origins[tree] = place_on_world(joint, origin, q, child, columns);
                }
            }
            if let Some(Follows { ratio, .. }) = joint.follows {
                columns.iter_mut().for_each(|column| *column = *column * T::from(ratio));
            }
            let parent = joint.parent.map_or_else(SpatialVelocity::zero, |p| before[p].velocity);
            set_velocity(joint, &parent, v, columns, child);
            let pose = RigidTransform::new(child.rotation, child.position);
            child.inertia = SpatialInertia::of_body(&joint.composite, &pose);
        }
    }
}

/// Places a child of the world and gives the point O of its tree: the one that is there, or on the
/// child.
fn place_on_world<T: Scalar>(
    joint: &Joint<T>,
    origin: Option<Vector3<T>>,
    q: &[T],
    child: &mut ChildMotion<T>,
    columns: &mut [SpatialVelocity<T>],
) -> Vector3<T> {
    let x_wm = joint.frame.pose(&joint.kind, q);
    // Fixed in W: the place where the child is, not the child.
    let origin = origin.unwrap_or_else(|| lift_vector(&real_vector(&x_wm.translation)));
    let world = RigidTransform::from_translation(-origin);
    child.rotation = x_wm.rotation;
    child.position = x_wm.translation - origin;
    set_columns(joint, &world, &child.position, columns);
    origin
}

/// Places a child on its parent.
#[inline]
fn place<T: Scalar>(
    joint: &Joint<T>,
    parent: &ChildMotion<T>,
    q: &[T],
    child: &mut ChildMotion<T>,
    columns: &mut [SpatialVelocity<T>],
) {
    let x_pm = joint.frame.pose(&joint.kind, q);
    child.rotation = parent.rotation * x_pm.rotation;
    child.position = parent.rotation * x_pm.translation + parent.position;
    let x_op = RigidTransform::new(parent.rotation, parent.position);
    set_columns(joint, &x_op, &child.position, columns);
}

/// The motion about O of a rotation about an axis through a point.
#[inline]
fn rotation_about<T: Scalar>(axis: Vector3<T>, point: &Vector3<T>) -> SpatialVelocity<T> {
    SpatialVelocity::new(axis, point.cross(&axis))
}

#[inline]
fn translation_along<T: Scalar>(axis: Vector3<T>) -> SpatialVelocity<T> {
    SpatialVelocity::new(Vector3::from_element(T::from(0.0)), axis)
}

/// The motions about O at unit rates, for a parent at the pose `x_op` and a child at `position`.
#[inline]
fn set_columns<T: Scalar>(
    joint: &Joint<T>,
    x_op: &RigidTransform<T>,
    position: &Vector3<T>,
    columns: &mut [SpatialVelocity<T>],
) {
    match joint.kind {
        JointKind::Fixed => {}
        JointKind::Revolute { .. } => {
            // The child's origin lies on the axis.
            columns[0] = rotation_about(x_op.rotation * joint.frame.axis, position);
        }
        JointKind::Prismatic { .. } => columns[0] = translation_along(x_op.rotation * joint.frame.axis),
        JointKind::Planar | JointKind::Ball | JointKind::Free => {
            let axes = x_op.rotation * joint.frame.x_pf.rotation;
            let axis = |i: usize| axes.column(i).into_owned();
            match joint.kind {
                JointKind::Planar => {
                    columns[0] = translation_along(axis(0));
                    columns[1] = translation_along(axis(1));
                    columns[2] = rotation_about(axis(2), position);
                }
                _ => {
                    for i in 0..3 {
                        columns[i] = rotation_about(axis(i), position);
                    }
                    for (i, column) in columns[3..].iter_mut().enumerate() {
                        *column = translation_along(axis(i));
                    }
                }
            }
        }
    }
}

/// Adds the joint's motion to the parent's.
#[inline]
fn set_velocity<T: Scalar>(
    joint: &Joint<T>,
    parent: &SpatialVelocity<T>,
    v: &[T],
    columns: &[SpatialVelocity<T>],
    child: &mut ChildMotion<T>,
) {
    let mut relative = columns[0] * v[0];
    for (column, rate) in columns.iter().zip(v).skip(1) {
        relative += *column * *rate;
    }
    child.relative = relative;
    child.velocity = *parent + relative;
    // The columns are carried along by the parent, ...
    child.bias = parent.cross(&relative);
    if joint.kind.moves_its_center() {
        // ... and those of rotations by the centre that they turn about, too.
        let center = relative.shifted(&child.position).translational;
        child.bias.translational += center.cross(&relative.rotational);
    }
}

impl<T: Scalar> Workspace<T> {
    /// Pose and velocity about O of a body's frame, and O.
    fn frame(
        &self,
        mechanism: &Mechanism<T>,
        body: usize,
    ) -> (RigidTransform<T>, SpatialVelocity<T>, Vector3<T>) {
        let b = &mechanism.bodies[body];
        match b.joint {
            None => (b.x_mb, SpatialVelocity::zero(), Vector3::from_element(T::from(0.0))),
            Some(joint) => {
                let m = &self.motions[joint];
                let x_ob = RigidTransform::new(m.rotation, m.position) * b.x_mb;
                (x_ob, m.velocity, self.origins[self.tree[joint]])
            }
        }
    }

    /// The pose `x_wb` of a body, by its index in [`Mechanism::bodies`].
    ///
    /// # Panics
    /// When there is no such body; so for all functions that take one.
    pub fn body_pose(&self, mechanism: &Mechanism<T>, body: usize) -> RigidTransform<T> {
        let (x_ob, _, origin) = self.frame(mechanism, body);
        RigidTransform::new(x_ob.rotation, x_ob.translation + origin)
    }

    /// The velocity of a body in W: angular velocity and velocity of its origin, in W's axes.
    pub fn body_velocity(&self, mechanism: &Mechanism<T>, body: usize) -> SpatialVelocity<T> {
        let (x_ob, velocity, _) = self.frame(mechanism, body);
        velocity.shifted(&x_ob.translation)
    }

    /// The nonzero columns of a body's Jacobian, each with its velocity coordinate, ordered from the
    /// joint nearest to the body towards the world. Where a joint on the way follows another that is on it
    /// too, their coordinate comes twice, and the columns add up. A column is the angular velocity of the body and the
    /// velocity of the point fixed to it at `offset` from its origin, all in W's axes, at unit rate of
    /// the coordinate.
    pub fn jacobian_columns<'a>(
        &'a self,
        mechanism: &'a Mechanism<T>,
        body: usize,
        offset: &Vector3<T>,
    ) -> impl Iterator<Item = (usize, SpatialVelocity<T>)> + 'a {
        let point = self.frame(mechanism, body).0.translation + offset;
        let columns = mechanism.chain(mechanism.bodies[body].joint);
        columns.map(move |c| (mechanism.coordinate[c], self.columns[c].shifted(&point)))
    }

    /// [`Self::jacobian_columns`] of the point that is at `point` in W.
    pub(crate) fn jacobian_columns_at<'a>(
        &'a self,
        mechanism: &'a Mechanism<T>,
        body: usize,
        point: &Vector3<T>,
    ) -> impl Iterator<Item = (usize, SpatialVelocity<T>)> + 'a {
        let joint = mechanism.bodies[body].joint;
        let point = joint.map_or(*point, |joint| point - self.origins[self.tree[joint]]);
        mechanism.chain(joint).map(move |c| (mechanism.coordinate[c], self.columns[c].shifted(&point)))
    }

    /// The Jacobian of a body, 6×nv, written into `jacobian`: rows angular velocity of the body,
    /// then velocity of the point that is fixed to it at `offset` from its origin, all in W's axes.
    ///
    /// # Panics
    /// When `jacobian` does not have nv columns.
    pub fn jacobian(
        &self,
        mechanism: &Mechanism<T>,
        body: usize,
        offset: &Vector3<T>,
        jacobian: &mut Matrix6xX<T>,
    ) {
        mechanism.check_lengths(&[], &[jacobian.ncols()]);
        jacobian.fill(T::from(0.0));
        for (k, column) in self.jacobian_columns(mechanism, body, offset) {
            for row in 0..3 {
                jacobian[(row, k)] += column.rotational[row];
                jacobian[(3 + row, k)] += column.translational[row];
            }
        }
    }
}
