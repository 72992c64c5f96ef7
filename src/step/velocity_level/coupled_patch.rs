//! How the contacts of a pair follow the velocities of bodies and joints, and push back on them.

use nalgebra::{Matrix3, Matrix6, Vector3, Vector6};

use super::free_body::{BODY, add_to_tree, six, velocity_of};
use super::joint_part::{JointIndex, JointPart};
use crate::contact::DiscretePatch;
use crate::linear_algebra::BlockFactor;
use crate::multibody::tree::Workspace as JointWorkspace;
use crate::multibody::{BodyFrame, GeometryPair, Model, Motion};
use crate::spatial::{SpatialVelocity, cross_matrix, from_quarters};

/// One side of a patch, O or F, on a free body.
#[derive(Clone, Copy, Debug)]
pub(super) struct PatchSide {
    /// The body's tree.
    pub tree: usize,
    /// From the body's origin to the patch's, in W.
    pub offset: Vector3<f64>,
}

impl PatchSide {
    /// The velocity of the body's material at the patch's origin, in W.
    #[inline]
    fn velocity(&self, velocity: &[f64]) -> SpatialVelocity<f64> {
        velocity_of(&velocity[BODY * self.tree..BODY * (self.tree + 1)]).shifted(&self.offset)
    }
}

/// A matrix for spatial velocities by its quarters, the rotational rows first.
type Quarters = [Matrix3<f64>; 4];

/// T_iᵀ G T_j with the map T = (1 0; −\[c\]× 1) of a body's velocity to a point of it at c from its
/// origin.
#[inline]
fn about_origins(g: &Quarters, c_i: &Vector3<f64>, c_j: &Vector3<f64>) -> Quarters {
    let (c_i, c_j) = (cross_matrix(c_i), cross_matrix(c_j));
    let lower = g[2] - g[3] * c_j;
    [g[0] - g[1] * c_j + c_i * lower, g[1] + c_i * g[3], lower, g[3]]
}

/// Adds a multiple of a matrix to a 6×6 block that is stored column after column.
#[inline]
fn add_multiple(into: &mut [f64], by: f64, q: &Quarters) {
    let into = &mut into[..BODY * BODY];
    for k in 0..3 {
        for i in 0..3 {
            into[BODY * k + i] += by * q[0][(i, k)];
            into[BODY * (3 + k) + i] += by * q[1][(i, k)];
            into[BODY * k + 3 + i] += by * q[2][(i, k)];
            into[BODY * (3 + k) + 3 + i] += by * q[3][(i, k)];
        }
    }
}

/// What one velocity adds to the velocity of O relative to F at the patch's origin, in F, per unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub index: JointIndex,
    velocity: Vector6<f64>,
}

impl Column {
    /// Its rotational and its translational part.
    pub fn parts(&self) -> (Vector3<f64>, Vector3<f64>) {
        (self.velocity.fixed_rows::<3>(0).into_owned(), self.velocity.fixed_rows::<3>(3).into_owned())
    }
}

/// A patch between two bodies, and how it follows their velocities.
#[derive(Clone, Debug)]
pub(super) struct CoupledPatch {
    /// Its pair in [`Model::pairs`].
    pub pair: usize,
    pub contacts: DiscretePatch,
    /// Between free and fixed bodies, the free ones.
    o: Option<PatchSide>,
    f: Option<PatchSide>,
    /// Where a link takes part, all velocities that move either side, in the list of all columns.
    columns: std::ops::Range<usize>,
    /// What fixed bodies that move (belts) add to the velocity of O relative to F.
    fixed: Vector6<f64>,
    /// The two trees that it connects, the first one first.
    pub trees: Option<(usize, usize)>,
    /// The index of the two trees in the list of couplings.
    pub coupling: Option<usize>,
}

/// What the bodies of a patch are known by.
#[derive(Clone, Copy)]
pub(super) struct Bodies<'a> {
    pub model: &'a Model,
    pub frames: &'a [BodyFrame],
    /// For each body its index among the moving ones.
    pub moving: &'a [Option<usize>],
    pub joints: &'a JointWorkspace,
    pub joint_part: &'a JointPart,
}

/// The velocity of a body's material at the patch's origin and in F, as a map of the body's
/// velocity: the patch's origin is `offset` away from the body's.
fn map_to_patch(rotation_wf: &Matrix3<f64>, offset: &Vector3<f64>) -> Matrix6<f64> {
    let r = rotation_wf.transpose();
    from_quarters(r, Matrix3::zeros(), r * -cross_matrix(offset), r)
}

/// A spatial velocity as six numbers.
fn column_of(v: &SpatialVelocity) -> Vector6<f64> {
    six(&v.rotational, &v.translational).into()
}

impl CoupledPatch {
    /// The patch of the pair with this index in [`Model::pairs`]; its columns are added to `all`.
    pub fn new(pair: usize, contacts: DiscretePatch, bodies: &Bodies, all: &mut Vec<Column>) -> Self {
        let Bodies { model, frames, moving, joints, joint_part } = *bodies;
        let GeometryPair { bodies, .. } = model.pairs[pair];
        let sides = if contacts.a_is_o { [bodies.a, bodies.b] } else { [bodies.b, bodies.a] };
        let x_wf = contacts.x_wf;
        let with_links = sides.iter().any(|&b| matches!(model.bodies[b].motion, Motion::Link { .. }));
        let origin = x_wf * contacts.origin;
        let first = all.len();
        let (mut on_free, mut fixed) = ([None, None], Vector6::zeros());
        for (k, &body) in sides.iter().enumerate() {
            let sign = if k == 0 { 1.0 } else { -1.0 };
            let offset = origin - frames[body].pose.translation;
            match (&model.bodies[body].motion, moving[body]) {
                (Motion::Link { link }, _) => {
                    let turn = x_wf.rotation.transpose();
                    for (velocity, at_origin) in joints.jacobian_columns(&model.mechanism, *link, &offset) {
                        let index = joint_part.index(velocity);
                        let velocity = column_of(&at_origin.rotated(&turn)) * sign;
                        let mut present = all[first..].iter_mut();
                        match present.find(|c| c.index.coordinate == index.coordinate) {
                            Some(column) => column.velocity += velocity,
                            None => all.push(Column { index, velocity }),
                        }
                    }
                }
                (Motion::Free { .. }, Some(tree)) => {
                    if with_links {
                        let map = map_to_patch(&x_wf.rotation, &offset);
                        all.extend((0..BODY).map(|local| Column {
                            index: JointIndex { coordinate: BODY * tree + local, tree, local },
                            velocity: map.column(local) * sign,
                        }));
                    } else {
                        on_free[k] = Some(PatchSide { tree, offset });
                    }
                }
                _ => {
                    let v: &SpatialVelocity = &frames[body].velocity;
                    if *v != SpatialVelocity::zero() {
                        fixed += map_to_patch(&x_wf.rotation, &offset) * column_of(v) * sign;
                    }
                }
            }
        }
        let columns = first..all.len();
        let trees = || {
            let of_columns = all[columns.clone()].iter().map(|c| c.index.tree);
            on_free.iter().flatten().map(|s| s.tree).chain(of_columns)
        };
        let trees = match (trees().min(), trees().max()) {
            (Some(low), Some(high)) => (low < high).then_some((low, high)),
            _ => None,
        };
        let [o, f] = on_free;
        Self { pair, contacts, o, f, columns, fixed, trees, coupling: None }
    }

    /// Its sides on free bodies, where no link takes part.
    pub fn free_sides(&self) -> impl Iterator<Item = &PatchSide> {
        [&self.o, &self.f].into_iter().flatten()
    }

    /// The velocities that move either side where a link takes part, of the list of all.
    pub fn columns<'a>(&self, all: &'a [Column]) -> &'a [Column] {
        &all[self.columns.clone()]
    }

    /// The velocity of O relative to F at the patch's origin, in F. (The fixed bodies' part is left out
    /// for changes of velocity.)
    #[inline]
    pub fn relative(&self, all: &[Column], velocity: &[f64], with_fixed: bool) -> Vector6<f64> {
        let mut relative = SpatialVelocity::zero();
        if let Some(o) = &self.o {
            relative += o.velocity(velocity);
        }
        if let Some(f) = &self.f {
            relative = relative - f.velocity(velocity);
        }
        let mut v = column_of(&relative.rotated(&self.contacts.x_wf.rotation.transpose()));
        if with_fixed {
            v += self.fixed;
        }
        for column in self.columns(all) {
            v += column.velocity * velocity[column.index.coordinate];
        }
        v
    }

    /// Adds the patch's impulse `w`.
    #[inline]
    pub fn add_impulse(&self, all: &[Column], w: &Vector6<f64>, impulse: &mut [f64]) {
        let part = |k: usize| self.contacts.x_wf.rotation * Vector3::new(w[k], w[k + 1], w[k + 2]);
        let (torque, force) = (part(0), part(3));
        for (side, sign) in [(&self.o, 1.0), (&self.f, -1.0)] {
            if let Some(side) = side {
                let torque = torque + side.offset.cross(&force);
                add_to_tree(impulse, side.tree, &(Vector6::from(six(&torque, &force)) * sign));
            }
        }
        for column in self.columns(all) {
            impulse[column.index.coordinate] += column.velocity.dot(w);
        }
    }

    /// Adds the negative derivative of the patch's impulse to K; `sizes` are the numbers of
    /// velocities of the trees.
    #[inline]
    pub fn add_matrix(
        &self,
        (all, sizes): (&[Column], &[usize]),
        hessian: &Matrix6<f64>,
        factor: &mut BlockFactor,
    ) {
        if self.o.is_some() || self.f.is_some() {
            let r = self.contacts.x_wf.rotation;
            let quarter = |i: usize, k: usize| r * hessian.fixed_view::<3, 3>(i, k) * r.transpose();
            let turned = [quarter(0, 0), quarter(0, 3), quarter(3, 0), quarter(3, 3)];
            for side in self.free_sides() {
                let own = about_origins(&turned, &side.offset, &side.offset);
                add_multiple(factor.diagonal_mut(side.tree), 1.0, &own);
            }
            if let (Some(o), Some(f), Some(coupling)) = (&self.o, &self.f, self.coupling) {
                let (first, second) = factor.coupling_mut(coupling);
                let (of, fo) = if o.tree < f.tree { (first, second) } else { (second, first) };
                add_multiple(of, -1.0, &about_origins(&turned, &o.offset, &f.offset));
                add_multiple(fo, -1.0, &about_origins(&turned, &f.offset, &o.offset));
            }
        }
        let columns = self.columns(all);
        for right in columns {
            let follows = hessian * right.velocity;
            for left in columns {
                let value = left.velocity.dot(&follows);
                let (left, right) = (&left.index, &right.index);
                let index = right.local * sizes[left.tree] + left.local;
                if left.tree == right.tree {
                    factor.diagonal_mut(left.tree)[index] += value;
                } else if let Some(coupling) = self.coupling {
                    let (first, second) = factor.coupling_mut(coupling);
                    let block = if left.tree < right.tree { first } else { second };
                    block[index] += value;
                }
            }
        }
    }
}
