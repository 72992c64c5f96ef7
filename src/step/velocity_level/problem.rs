//! The balance of momentum over a step: A v = p + Jᵀγ(v), with the mass matrix A at the start of
//! the step, the momentum p without contact, and the contact impulses γ (Masterjohn eq. 7).
//!
//! A *tree* is a set of velocities that share a block of A: here one body, with its angular
//! velocity and the velocity of its origin in W, or with its velocity along a guide.

use nalgebra::{Matrix3, Matrix6, Vector3, Vector6};

use super::free_body::{Tree, inverse_inertia};
use crate::contact::{
    ContactModel, ContactPair, DiscretePatch, DiscreteSettings, PointContacts, Roles,
    Workspace as PairScratch, find_contacts,
};
use crate::multibody::{BodyFrame, BroadPhase, GeometryPair, Guide, Model, State, with_pair};
use crate::scalar::Scalar;
use crate::spatial::{RigidTransform, SpatialForce, SpatialVelocity, cross_matrix, from_quarters};
use crate::step::block_factor::BlockFactor;

/// Velocities of a tree.
pub(super) const BODY: usize = 6;

/// One side of a patch: O or F.
#[derive(Clone, Copy, Debug)]
pub(super) struct PatchSide {
    /// The tree that moves it; `None` for a fixed body.
    pub tree: Option<usize>,
    /// From the tree's velocities to the velocity of the body's material at F's origin, in F.
    pub map: Matrix6<f64>,
}

/// A patch between two bodies, and how it follows their velocities.
#[derive(Clone, Debug)]
pub(super) struct CoupledPatch {
    /// Its pair in [`Model::pairs`].
    pub pair: usize,
    pub contacts: DiscretePatch,
    pub o: PatchSide,
    pub f: PatchSide,
    /// What fixed bodies that move (belts) add to the velocity of O relative to F.
    pub fixed: Vector6<f64>,
    /// The place of the two trees in the list of couplings.
    pub coupling: Option<usize>,
}

impl CoupledPatch {
    /// The velocity of O relative to F at F's origin, in F. (The fixed bodies' part is left out
    /// for changes of velocity.)
    #[inline]
    pub(super) fn relative(&self, velocity: &[f64], with_fixed: bool) -> Vector6<f64> {
        let mut v = if with_fixed { self.fixed } else { Vector6::zeros() };
        if let Some(tree) = self.o.tree {
            v += self.o.map * tree_velocity(velocity, tree);
        }
        if let Some(tree) = self.f.tree {
            v -= self.f.map * tree_velocity(velocity, tree);
        }
        v
    }
}

/// The velocities of a tree.
#[inline]
pub(super) fn tree_velocity(velocity: &[f64], tree: usize) -> Vector6<f64> {
    Vector6::from_column_slice(&velocity[BODY * tree..BODY * (tree + 1)])
}

/// Adds to the velocities (or momenta) of a tree.
#[inline]
fn add_to_tree(all: &mut [f64], tree: usize, by: &Vector6<f64>) {
    for (a, b) in all[BODY * tree..BODY * (tree + 1)].iter_mut().zip(by.iter()) {
        *a += b;
    }
}

/// Adds a 6×6 block to one that is stored column after column.
#[inline]
fn add_block(into: &mut [f64], block: &Matrix6<f64>) {
    for (a, b) in into.iter_mut().zip(block.as_slice()) {
        *a += b;
    }
}

/// The balance of momentum of a step, and the memory it is kept in.
#[derive(Debug, Default)]
pub(super) struct Problem {
    /// Diagonal blocks of A.
    pub inertia: Vec<Matrix6<f64>>,
    /// The momentum p.
    pub momentum: Vec<f64>,
    pub patches: Vec<CoupledPatch>,
    pub contacts: PointContacts,
    couplings: Vec<(usize, usize)>,
    sizes: Vec<usize>,
    scratch: PairScratch,
    broad_phase: BroadPhase,
}

/// The velocity of a frame's material at F's origin and in F, as a map of the body's velocity:
/// its origin is `offset` away from F's.
fn map_to_patch(rotation_wf: &Matrix3<f64>, offset: &Vector3<f64>) -> Matrix6<f64> {
    let r = rotation_wf.transpose();
    from_quarters(r, Matrix3::zeros(), r * -cross_matrix(offset), r)
}

/// The inverse inertia Λ that the relative motion of a pair feels, in F's frame and about its
/// origin: Σ P A⁻¹ Pᵀ over both bodies.
pub(super) fn pair_inverse_inertia<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    trees: &[Option<usize>],
    pair: &GeometryPair,
    roles: &Roles<T>,
    dt: f64,
) -> Matrix6<T> {
    let mut sum = Matrix6::from_element(T::from(0.0));
    for body in [pair.bodies.a, pair.bodies.b] {
        if let (Some(tree), Some(mass)) = (trees[body], model.bodies[body].mass()) {
            sum += inverse_inertia(model.bodies[body].guide(), mass, &state.bodies[tree], &roles.x_wf, dt);
        }
    }
    sum
}

/// What O and F are, for the step.
struct PairBodies<'a> {
    trees: [Option<usize>; 2],
    frames: [BodyFrame; 2],
    guides: [Option<&'a Guide>; 2],
}

impl<'a> PairBodies<'a> {
    fn new(
        a_is_o: bool,
        pair: &GeometryPair,
        model: &'a Model,
        trees: &[Option<usize>],
        frames: &[BodyFrame],
    ) -> Self {
        let (a, b) = (pair.bodies.a, pair.bodies.b);
        let places = if a_is_o { [a, b] } else { [b, a] };
        Self {
            trees: places.map(|k| trees[k]),
            frames: places.map(|k| frames[k]),
            guides: places.map(|k| model.bodies[k].guide()),
        }
    }

    /// The map of O's (0) or F's (1) velocity to the patch.
    fn map(&self, side: usize, patch_frame: &RigidTransform) -> Matrix6<f64> {
        let offset = patch_frame.translation - self.frames[side].pose.translation;
        let map = map_to_patch(&patch_frame.rotation, &offset);
        let Some(guide) = self.guides[side] else { return map };
        let mut guided = Matrix6::zeros();
        guided.set_column(0, &(map.fixed_columns::<3>(3) * guide.axis));
        guided
    }
}

impl Problem {
    /// Sets up the step from `state`, with the bodies' frames, the trees of the bodies, and the
    /// forces on the free bodies (about their origins, in W, without gravity).
    #[allow(clippy::too_many_arguments, reason = "a step depends on all of this")]
    pub fn assemble(
        &mut self,
        model: &Model,
        state: &State,
        frames: &[BodyFrame],
        trees: &[Option<usize>],
        forces: &[SpatialForce],
        kind: ContactModel,
        dt: f64,
    ) {
        self.inertia.clear();
        self.momentum.clear();
        for (((_, body, mass), state), force) in model.free_bodies().zip(&state.bodies).zip(forces) {
            let tree = Tree::new(body.guide(), mass, state, dt);
            self.inertia.push(tree.matrix());
            self.momentum.extend(tree.free_momentum(&state.velocity, force, &model.gravity));
        }
        self.sizes.clear();
        self.sizes.resize(self.inertia.len(), BODY);
        self.contacts.clear();
        self.patches.clear();
        let settings = DiscreteSettings { contact: &model.contact, model: kind, dt };
        let mut broad_phase = std::mem::take(&mut self.broad_phase);
        for &index in broad_phase.candidates(model, frames) {
            let pair = &model.pairs[index];
            let Self { contacts, patches, scratch, .. } = self;
            with_pair(model, frames, pair, |query: &ContactPair| {
                let lambda = |roles: &Roles<f64>| pair_inverse_inertia(model, state, trees, pair, roles, dt);
                let Some(found) = find_contacts(query, &settings, lambda, scratch, contacts) else { return };
                let bodies = PairBodies::new(found.a_is_o, pair, model, trees, frames);
                let side = |k: usize| PatchSide { tree: bodies.trees[k], map: bodies.map(k, &found.x_wf) };
                let (o, f) = (side(0), side(1));
                let mut fixed = Vector6::zeros();
                for (side, k, sign) in [(&o, 0, 1.0), (&f, 1, -1.0)] {
                    let v: &SpatialVelocity = &bodies.frames[k].velocity;
                    if side.tree.is_none() && *v != SpatialVelocity::zero() {
                        let (w, v) = (v.rotational, v.translational);
                        fixed += side.map * Vector6::new(w.x, w.y, w.z, v.x, v.y, v.z) * sign;
                    }
                }
                patches.push(CoupledPatch { pair: index, contacts: found, o, f, fixed, coupling: None });
            });
        }
        self.broad_phase = broad_phase;
        self.couple();
    }

    /// Lists the couplings of trees, and gives each patch its place in the list.
    fn couple(&mut self) {
        let both = |patch: &CoupledPatch| {
            let (o, f) = (patch.o.tree?, patch.f.tree?);
            Some((o.min(f), o.max(f)))
        };
        self.couplings.clear();
        self.couplings.extend(self.patches.iter().filter_map(both));
        self.couplings.sort_unstable();
        self.couplings.dedup();
        for patch in &mut self.patches {
            patch.coupling = both(patch).and_then(|c| self.couplings.binary_search(&c).ok());
        }
    }

    /// Number of velocities.
    pub fn dimension(&self) -> usize {
        self.momentum.len()
    }

    /// Prepares a factorization for this problem's couplings.
    pub fn set_structure(&self, factor: &mut BlockFactor) {
        factor.set_structure(&self.sizes, &self.couplings);
    }

    /// A v.
    pub fn inertia_times(&self, v: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (tree, inertia) in self.inertia.iter().enumerate() {
            add_to_tree(out, tree, &(inertia * tree_velocity(v, tree)));
        }
    }

    /// The impulses Jᵀγ(v), written into `impulse`; the matrix K = A − ∂(Jᵀγ)/∂v, written into the
    /// blocks of `factor`; and the impulse of each patch with its negative derivative, written
    /// into `by_patch`.
    pub fn evaluate(
        &self,
        v: &[f64],
        impulse: &mut [f64],
        factor: &mut BlockFactor,
        by_patch: &mut Vec<(Vector6<f64>, Matrix6<f64>)>,
    ) {
        impulse.fill(0.0);
        by_patch.clear();
        factor.clear();
        for (tree, inertia) in self.inertia.iter().enumerate() {
            add_block(factor.diagonal_mut(tree), inertia);
        }
        for patch in &self.patches {
            let (w, hessian) = patch.contacts.impulse(&self.contacts, &patch.relative(v, true));
            by_patch.push((w, hessian));
            if let Some(tree) = patch.o.tree {
                add_to_tree(impulse, tree, &patch.o.map.tr_mul(&w));
                add_block(factor.diagonal_mut(tree), &(patch.o.map.tr_mul(&hessian) * patch.o.map));
            }
            if let Some(tree) = patch.f.tree {
                add_to_tree(impulse, tree, &-patch.f.map.tr_mul(&w));
                add_block(factor.diagonal_mut(tree), &(patch.f.map.tr_mul(&hessian) * patch.f.map));
            }
            if let (Some(o), Some(f), Some(coupling)) = (patch.o.tree, patch.f.tree, patch.coupling) {
                let of = -(patch.o.map.tr_mul(&hessian) * patch.f.map);
                let fo = -(patch.f.map.tr_mul(&hessian) * patch.o.map);
                let (first, second) = factor.coupling_mut(coupling);
                let (of_block, fo_block) = if o < f { (first, second) } else { (second, first) };
                add_block(of_block, &of);
                add_block(fo_block, &fo);
            }
        }
    }

    /// dvᵀ Jᵀγ(v + α dv), and its negative derivative by α.
    pub fn along(&self, v: &[f64], dv: &[f64], alpha: f64) -> (f64, f64) {
        let mut sum = (0.0, 0.0);
        for patch in &self.patches {
            let change = patch.relative(dv, false);
            let at = patch.relative(v, true) + change * alpha;
            let (power, curvature) = patch.contacts.along(&self.contacts, &at, &change);
            sum.0 += power;
            sum.1 += curvature;
        }
        sum
    }

    /// Calls `visit` with the slip velocity of every contact that bears load at `v`, and with its
    /// change along `dv`.
    pub fn for_each_slip(&self, v: &[f64], dv: &[f64], mut visit: impl FnMut(&Vector3<f64>, &Vector3<f64>)) {
        for patch in &self.patches {
            let (at, change) = (patch.relative(v, true), patch.relative(dv, false));
            patch.contacts.for_each_slip(&self.contacts, &at, &change, &mut visit);
        }
    }

    /// Holds the normal impulses that TAMSI's friction is taken from: those at `v`, or of those
    /// held before and those at `v` the mean with `weight` on the latter.
    pub fn freeze(&mut self, v: &[f64], weight: f64) {
        let mut frozen = std::mem::take(&mut self.contacts.frozen_normal);
        let weight = if frozen.is_empty() { 1.0 } else { weight };
        frozen.resize(self.contacts.position.len(), 0.0);
        for patch in &self.patches {
            patch.contacts.for_each_normal(&self.contacts, &patch.relative(v, true), |i, normal| {
                frozen[i] += weight * (normal - frozen[i]);
            });
        }
        self.contacts.frozen_normal = frozen;
    }

    /// Holds no normal impulses any more; returns those that were held.
    pub fn take_frozen(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.contacts.frozen_normal)
    }

    /// Holds normal impulses, one for each contact.
    pub fn set_frozen(&mut self, frozen: Vec<f64>) {
        self.contacts.frozen_normal = frozen;
    }

    /// Holds the directions of friction that K is made with, of no length to begin with: friction
    /// is then as stiff along the slip velocity as across.
    pub fn hold_friction(&mut self) {
        self.contacts.friction_direction.resize(self.contacts.position.len(), Vector3::zeros());
    }

    /// Holds no directions of friction any more; whether any were held.
    pub fn release_friction(&mut self) -> bool {
        let held = self.holds_friction();
        self.contacts.friction_direction.clear();
        held
    }

    /// Whether directions of friction are held.
    pub fn holds_friction(&self) -> bool {
        !self.contacts.friction_direction.is_empty()
    }

    /// Turns the directions of friction that are held with a step `dv` from `v`.
    pub fn turn_friction(&mut self, v: &[f64], dv: &[f64]) {
        let mut directions = std::mem::take(&mut self.contacts.friction_direction);
        if !directions.is_empty() {
            for patch in &self.patches {
                let (at, change) = (patch.relative(v, true), patch.relative(dv, false));
                patch.contacts.turn_friction(&self.contacts, &at, &change, &mut directions);
            }
        }
        self.contacts.friction_direction = directions;
    }

    /// The cost ½ (v − v*)ᵀ A (v − v*) + Σ ℓ of which a convex model's step is the minimum, up
    /// to the constant ½ v*ᵀ A v*; `None` for TAMSI, J.
    pub fn cost(&self, v: &[f64]) -> Option<f64> {
        let mut sum = 0.0;
        for (tree, inertia) in self.inertia.iter().enumerate() {
            let v = tree_velocity(v, tree);
            sum += 0.5 * v.dot(&(inertia * v)) - v.dot(&tree_velocity(&self.momentum, tree));
        }
        for patch in &self.patches {
            sum += patch.contacts.cost(&self.contacts, &patch.relative(v, true))?;
        }
        Some(sum)
    }

    /// Number of point contacts.
    pub fn contact_count(&self) -> usize {
        self.contacts.position.len()
    }
}
