//! What a violation of the balance of momentum is measured against: for each tree the sum of the
//! magnitudes of what is balanced.
//!
//! The net impulse would not do: a ball between two walls, a grasp or a wheel that stands on the floor
//! is at rest because large impulses cancel, and their sum is rounding. Magnitudes do not cancel. They
//! are taken before they are projected on the velocities of a tree, so that a load that a joint bears
//! counts although it does not move the joint. Each is multiplied by 1/√A_ii, with the inertia A_ii of
//! the velocity that it acts on. Linear and angular momenta of bodies and joints then have the same
//! unit: the square root of an energy.

use nalgebra::Vector3;

use super::coupled_patch::{Column, CoupledPatch, PatchSide};
use super::free_body::BODY;
use super::joint_part::JointPart;
use crate::contact::PointContacts;
use crate::multibody::{Forces, Model};

/// Roundings in the balance at a coordinate with a stiff servo or stop, in units of ε: of the
/// position at the end of the step, of its difference to the command, and of two products.
const SERVO_ROUNDINGS: f64 = 4.0;

/// The magnitudes of one tree.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TreeScale {
    /// Gravity and the forces of the user over the step, √J.
    pub forces: f64,
    /// What rounding leaves of the balance however small the velocities are, √J.
    pub rounding: f64,
}

/// How the force of a patch weighs on a tree.
#[derive(Clone, Copy, Debug)]
struct PatchOnTree {
    tree: usize,
    /// Per newton second, √J.
    weight: f64,
}

#[derive(Clone, Copy, Debug)]
struct PatchLoad {
    on: [Option<PatchOnTree>; 2],
    /// Sum of the elastic impulses of its faces, at the overlap at the start of the step, N s: what
    /// a patch that encloses a body bears although it has no net force.
    elastic: f64,
}

/// The magnitudes of what a step balances, apart from momenta and net impulses.
#[derive(Debug, Default)]
pub(super) struct BalanceScale {
    pub trees: Vec<TreeScale>,
    patches: Vec<PatchLoad>,
    /// 1/√A_ii.
    pub weight: Vec<f64>,
}

impl BalanceScale {
    /// Weights, and the magnitudes of forces: from the diagonal of A, the masses of the free
    /// bodies, and the joints.
    pub fn set_forces(
        &mut self,
        model: &Model,
        forces: &Forces,
        joints: &JointPart,
        diagonal: impl Iterator<Item = f64>,
        dt: f64,
    ) {
        self.weight.clear();
        self.weight.extend(diagonal.map(|a| 1.0 / a.sqrt()));
        self.trees.clear();
        let gravity = model.gravity.norm() * dt;
        for (tree, ((_, _, mass), force)) in model.free_bodies().zip(&forces.bodies).enumerate() {
            let weight = &self.weight[BODY * tree..BODY * (tree + 1)];
            let components = force.rotational.iter().chain(force.translational.iter());
            let of_user = weighted_length(components.copied(), weight) * dt;
            let forces = gravity * mass.mass.sqrt() + of_user;
            self.trees.push(TreeScale { forces, rounding: 0.0 });
        }
        let first = self.trees.len();
        let first_velocity = BODY * first;
        for tree in model.mechanism.trees() {
            // |Σ m_b gᵀJ_b| ≤ ‖g‖ √(Σ m_b) √A_kk by the inequality of Cauchy and Schwarz.
            let carried = model
                .mechanism
                .bodies()
                .iter()
                .filter(|body| body.joint.is_some_and(|joint| tree.joints.contains(&joint)));
            let mass: f64 = carried.filter_map(|body| Some(body.mass.as_ref()?.mass)).sum();
            let weight = &self.weight[first_velocity + tree.v.start..first_velocity + tree.v.end];
            let of_user = weighted_length(forces.joints[tree.v.clone()].iter().copied(), weight) * dt;
            self.trees.push(TreeScale { forces: gravity * mass.sqrt() + of_user, rounding: 0.0 });
        }
        for (index, stiffness) in joints.stiffnesses() {
            let impulse = stiffness * dt * self.weight[index.coordinate];
            self.trees[index.tree].rounding += SERVO_ROUNDINGS * f64::EPSILON * impulse;
        }
    }

    /// The loads of the patches that have been found.
    pub fn set_patches(
        &mut self,
        patches: &[CoupledPatch],
        columns: &[Column],
        contacts: &PointContacts,
        dt: f64,
    ) {
        self.patches.clear();
        let weight = &self.weight;
        self.patches.extend(patches.iter().map(|patch| patch_load(patch, columns, contacts, weight, dt)));
    }

    /// The magnitudes of forces, and of the loads of all patches with net impulses of these
    /// lengths (N s), for each tree.
    pub fn evaluate(&self, net: impl Iterator<Item = f64>, out: &mut Vec<f64>) {
        out.clear();
        out.extend(self.trees.iter().map(|tree| tree.forces));
        for (patch, net) in self.patches.iter().zip(net) {
            let load = patch.elastic.max(net);
            for on in patch.on.iter().flatten() {
                out[on.tree] += on.weight * load;
            }
        }
    }
}

/// The length of a momentum in which all velocities count by their kinetic energy.
pub(super) fn weighted_length(momentum: impl Iterator<Item = f64>, weight: &[f64]) -> f64 {
    momentum.zip(weight).map(|(m, w)| (m * w).powi(2)).sum::<f64>().sqrt()
}

/// The load of a patch, and how it weighs on its trees: as a force in any direction at its
/// centroid, with the lever of its size.
fn patch_load(
    patch: &CoupledPatch,
    columns: &[Column],
    contacts: &PointContacts,
    weight: &[f64],
    dt: f64,
) -> PatchLoad {
    let positions = &contacts.position[patch.contacts.contacts.clone()];
    let centroid = positions.iter().sum::<Vector3<f64>>() / positions.len().max(1) as f64;
    let square = |x: &Vector3<f64>| (x - centroid).norm_squared();
    let lever = positions.iter().map(square).fold(0.0, f64::max).sqrt();
    let mut squares: [Option<PatchOnTree>; 2] = [None, None];
    let mut add = |tree: usize, square: f64| {
        let present = squares.iter_mut().find(|on| on.is_none_or(|on| on.tree == tree));
        if let Some(on) = present {
            on.get_or_insert(PatchOnTree { tree, weight: 0.0 }).weight += square;
        }
    };
    for side in patch.free_sides() {
        let PatchSide { tree, offset } = side;
        let to_centroid = offset + patch.contacts.x_wf.rotation * centroid;
        let weight = &weight[BODY * tree..BODY * (tree + 1)];
        let turning: f64 = weight[..3].iter().map(|w| w * w).sum();
        add(*tree, turning * (to_centroid.norm() + lever).powi(2) + weight[3] * weight[3]);
    }
    for column in patch.columns(columns) {
        let (rotational, translational) = column.parts();
        let at_centroid = translational + rotational.cross(&centroid);
        let speed = at_centroid.norm() + rotational.norm() * lever;
        add(column.index.tree, (speed * weight[column.index.coordinate]).powi(2));
    }
    let root = |on: PatchOnTree| PatchOnTree { weight: on.weight.sqrt(), ..on };
    PatchLoad { on: squares.map(|on| on.map(root)), elastic: patch.contacts.sums.load * dt }
}
