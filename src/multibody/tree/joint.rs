//! Joints: their coordinates, and the motion that they leave free.
//!
//! A joint connects a frame F, fixed to the parent body P at the pose `x_pf`, with the frame M of
//! the child body. Velocity coordinates are always expressed in F's axes, which are W's where the
//! parent is the world and `x_pf` is not turned.

use nalgebra::{Matrix3, Vector3};
use serde::{Deserialize, Serialize};

use crate::scalar::{Scalar, lift_vector};
use crate::spatial::{Quaternion, RigidTransform, cross_matrix, rotation_between};

/// How a child body can move relative to its parent.
///
/// | joint | configuration `q` | velocity `v` |
/// |---|---|---|
/// | fixed | – | – |
/// | revolute | angle, rad | its rate |
/// | prismatic | distance, m | its rate |
/// | planar | x, y of M's origin in F, m, and angle about F's z axis, rad | their rates |
/// | ball | unit quaternion w, x, y, z of M in F | angular velocity of M in F |
/// | free | unit quaternion w, x, y, z of M in F, position of M's origin in F, m | angular velocity of M in F, velocity of M's origin in F |
///
/// The configuration's tangent space has the coordinates of the velocity: a rotation vector in F
/// for a quaternion, sums for the rest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum JointKind {
    /// No motion.
    Fixed,
    /// Rotation about a line through F's origin.
    Revolute {
        /// Its direction, a unit vector in F.
        axis: Vector3<f64>,
    },
    /// Translation along a line.
    Prismatic {
        /// Its direction, a unit vector in F.
        axis: Vector3<f64>,
    },
    /// Translation in F's xy plane and rotation about its normal.
    Planar,
    /// Any rotation about F's origin.
    Ball,
    /// Any motion.
    Free,
}

impl JointKind {
    /// The joint's name, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Revolute { .. } => "revolute",
            Self::Prismatic { .. } => "prismatic",
            Self::Planar => "planar",
            Self::Ball => "ball",
            Self::Free => "free",
        }
    }

    /// Whether the joint has one coordinate, a position along or about its axis.
    pub(crate) fn is_single(&self) -> bool {
        matches!(self, Self::Revolute { .. } | Self::Prismatic { .. })
    }

    /// Number of configuration coordinates.
    pub fn configuration_dimension(&self) -> usize {
        match self {
            Self::Fixed => 0,
            Self::Revolute { .. } | Self::Prismatic { .. } => 1,
            Self::Planar => 3,
            Self::Ball => 4,
            Self::Free => 7,
        }
    }

    /// Number of velocity coordinates.
    pub fn velocity_dimension(&self) -> usize {
        match self {
            Self::Fixed => 0,
            Self::Revolute { .. } | Self::Prismatic { .. } => 1,
            Self::Planar | Self::Ball => 3,
            Self::Free => 6,
        }
    }

    /// Whether the joint turns its child about a point that the joint itself moves. Then the
    /// joint's directions of motion depend on its own configuration.
    pub(super) fn moves_its_center(&self) -> bool {
        matches!(self, Self::Planar | Self::Free)
    }

    /// Whether the joint leaves all rotations to its child.
    pub fn is_spherical(&self) -> bool {
        matches!(self, Self::Ball | Self::Free)
    }

    /// Whether velocity coordinate `index` of the joint is a translation.
    pub(crate) fn is_translation(&self, index: usize) -> bool {
        match self {
            Self::Fixed | Self::Revolute { .. } | Self::Ball => false,
            Self::Prismatic { .. } => true,
            Self::Planar => index < 2,
            Self::Free => index >= 3,
        }
    }

    /// The configuration at which M lies on F.
    pub fn neutral(&self) -> &'static [f64] {
        match self {
            Self::Fixed => &[],
            Self::Revolute { .. } | Self::Prismatic { .. } => &[0.0],
            Self::Planar => &[0.0; 3],
            Self::Ball => &[1.0, 0.0, 0.0, 0.0],
            Self::Free => &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        }
    }

    /// `q ⊕ δ`: the configuration moved along its tangent space, written into `moved`.
    pub(super) fn moved<T: Scalar>(&self, q: &[T], delta: &[T], moved: &mut [T]) {
        match self {
            Self::Ball | Self::Free => {
                let turned = quaternion(q).rotated_by(&three(delta));
                write_quaternion(&turned, moved);
                for i in 3..self.velocity_dimension() {
                    moved[i + 1] = q[i + 1] + delta[i];
                }
            }
            _ => {
                for i in 0..q.len() {
                    moved[i] = q[i] + delta[i];
                }
            }
        }
    }

    /// The tangent δ with `from ⊕ δ = to`, written into `delta`; rotations of at most half a
    /// turn for quaternions.
    pub(super) fn difference<T: Scalar>(&self, from: &[T], to: &[T], delta: &mut [T]) {
        match self {
            Self::Ball | Self::Free => {
                let turn = rotation_between(&quaternion(from), &quaternion(to));
                delta[..3].copy_from_slice(turn.as_slice());
                for i in 3..self.velocity_dimension() {
                    delta[i] = to[i + 1] - from[i + 1];
                }
            }
            _ => {
                for i in 0..from.len() {
                    delta[i] = to[i] - from[i];
                }
            }
        }
    }

    /// The rate of the configuration coordinates, written into `rate`. For a quaternion it is
    /// ½ (0, ω) q, with ω in F.
    pub(super) fn configuration_rate<T: Scalar>(&self, q: &[T], v: &[T], rate: &mut [T]) {
        match self {
            Self::Ball | Self::Free => {
                let spin = Quaternion { w: T::from(0.0), v: three(v) * T::from(0.5) };
                write_quaternion(&spin.times(&quaternion(q)), rate);
                rate[4..].copy_from_slice(&v[3..]);
            }
            _ => rate.copy_from_slice(v),
        }
    }
}

/// The first three numbers of a slice.
#[inline]
fn three<T: Scalar>(x: &[T]) -> Vector3<T> {
    Vector3::new(x[0], x[1], x[2])
}

/// The quaternion at the start of a configuration, as it stands there.
#[inline]
pub(crate) fn quaternion<T: Scalar>(q: &[T]) -> Quaternion<T> {
    Quaternion { w: q[0], v: three(&q[1..]) }
}

fn write_quaternion<T: Scalar>(from: &Quaternion<T>, to: &mut [T]) {
    to[0] = from.w;
    to[1..4].copy_from_slice(from.v.as_slice());
}

/// A joint's constants, in the form in which kinematics needs them.
#[derive(Clone, Copy, Debug)]
pub(super) struct JointFrame<T> {
    /// Pose of F in P.
    pub x_pf: RigidTransform<T>,
    /// Axis of a revolute or prismatic joint, in P.
    pub axis: Vector3<T>,
    /// A revolute joint has `r_pm = fixed + cosine cos q + sine sin q` (Rodrigues' formula).
    fixed: Matrix3<T>,
    cosine: Matrix3<T>,
    sine: Matrix3<T>,
}

impl<T: Scalar> JointFrame<T> {
    /// The constants of a joint whose frame F has the pose `x_pf` in P.
    pub fn new(kind: &JointKind, x_pf: &RigidTransform<T>) -> Self {
        let axis = match kind {
            JointKind::Revolute { axis } | JointKind::Prismatic { axis } => lift_vector(axis),
            _ => lift_vector(&Vector3::zeros()),
        };
        let along = axis * axis.transpose();
        Self {
            x_pf: *x_pf,
            axis: x_pf.rotation * axis,
            fixed: x_pf.rotation * along,
            cosine: x_pf.rotation * (Matrix3::identity() - along),
            sine: x_pf.rotation * cross_matrix(&axis),
        }
    }

    /// The pose of M in P.
    #[inline]
    pub fn pose(&self, kind: &JointKind, q: &[T]) -> RigidTransform<T> {
        let x_pf = &self.x_pf;
        match kind {
            JointKind::Fixed => *x_pf,
            JointKind::Revolute { .. } => {
                let (sin, cos) = q[0].sin_cos();
                let rotation = Matrix3::from_fn(|i, j| {
                    self.fixed[(i, j)] + self.cosine[(i, j)] * cos + self.sine[(i, j)] * sin
                });
                RigidTransform::new(rotation, x_pf.translation)
            }
            JointKind::Prismatic { .. } => {
                RigidTransform::new(x_pf.rotation, x_pf.translation + self.axis * q[0])
            }
            JointKind::Planar => {
                let (sin, cos) = q[2].sin_cos();
                let (o, one) = (T::from(0.0), T::from(1.0));
                let turn = Matrix3::new(cos, -sin, o, sin, cos, o, o, o, one);
                RigidTransform::new(x_pf.rotation * turn, *x_pf * Vector3::new(q[0], q[1], o))
            }
            JointKind::Ball => {
                RigidTransform::new(x_pf.rotation * quaternion(q).to_matrix(), x_pf.translation)
            }
            JointKind::Free => {
                RigidTransform::new(x_pf.rotation * quaternion(q).to_matrix(), *x_pf * three(&q[4..]))
            }
        }
    }
}
