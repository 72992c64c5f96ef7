//! The balance of momentum over a step: A v = p + Jᵀγ(v), with the mass matrix A at the start of
//! the step, the momentum p without contact, and the impulses γ of contacts (Masterjohn eq. 7),
//! actuators and stops.
//!
//! The velocities are those of the free bodies, six each (angular velocity, and velocity of the
//! origin, in W), and then those of the joints. A *tree* is a set of velocities that share a block
//! of A: a free body, or what one joint on the world carries.

use nalgebra::{DMatrix, Matrix3, Matrix6, Vector3, Vector6};

use super::free_body::{BodyInertia, six};
use super::inverse_inertia::{PairInertia, pair_inverse_inertia};
use crate::contact::{
    ContactModel, ContactPair, DiscretePatch, DiscreteSettings, PointContacts, Roles,
    Workspace as PairScratch, find_contacts,
};
use crate::multibody::tree::{
    BodyForce, StepInput, Workspace as JointWorkspace, factorize, free_impulse, step_matrix,
};
use crate::multibody::{
    BodyFrame, BroadPhase, Forces, GeometryPair, JointLaw, Model, Motion, State, link_forces, with_pair,
};
use crate::spatial::{SpatialVelocity, cross_matrix, from_quarters};
use crate::step::block_factor::BlockFactor;

/// Velocities of a free body.
pub(super) const BODY: usize = 6;

/// One side of a patch, O or F, on a free body.
#[derive(Clone, Copy, Debug)]
pub(super) struct PatchSide {
    /// The body's tree.
    pub tree: usize,
    /// From the body's velocities to the velocity of its material at F's origin, in F.
    pub map: Matrix6<f64>,
}

/// What one velocity adds to the velocity of O relative to F at F's origin, in F, per unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    /// Its place among all velocities.
    coordinate: usize,
    /// Its tree, and its place there.
    tree: usize,
    local: usize,
    velocity: Vector6<f64>,
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
    /// Where a link takes part, all velocities that move either side, in [`Problem::columns`].
    columns: std::ops::Range<usize>,
    /// What fixed bodies that move (belts) add to the velocity of O relative to F.
    pub fixed: Vector6<f64>,
    /// The two trees that it connects, the first one first.
    trees: Option<(usize, usize)>,
    /// The place of the two trees in the list of couplings.
    pub coupling: Option<usize>,
}

/// The velocities of a free body.
#[inline]
pub(super) fn tree_velocity(velocity: &[f64], tree: usize) -> Vector6<f64> {
    Vector6::from_column_slice(&velocity[BODY * tree..BODY * (tree + 1)])
}

/// Adds to the velocities (or momenta) of a free body.
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

/// A force along one joint coordinate.
#[derive(Clone, Copy, Debug)]
struct JointTerm {
    /// The velocity's place among all, its tree, and its place there.
    coordinate: usize,
    tree: usize,
    local: usize,
    /// Position at the start of the step.
    position: f64,
    law: JointLaw,
}

/// The tree of a velocity coordinate of the joints.
#[derive(Clone, Copy, Debug)]
struct JointPlaceInTree {
    tree: usize,
    local: usize,
}

/// The balance of momentum of a step, and the memory it is kept in.
#[derive(Debug, Default)]
pub(super) struct Problem {
    /// Blocks of A of the free bodies.
    pub inertia: Vec<Matrix6<f64>>,
    /// The part of A of the joints, and its factors.
    pub joint_inertia: DMatrix<f64>,
    pub joint_factors: DMatrix<f64>,
    /// For each velocity of the joints where it is.
    joint_places: Vec<JointPlaceInTree>,
    joint_terms: Vec<JointTerm>,
    /// The momentum p.
    pub momentum: Vec<f64>,
    pub patches: Vec<CoupledPatch>,
    columns: Vec<Column>,
    pub contacts: PointContacts,
    couplings: Vec<(usize, usize)>,
    /// Velocities of each tree.
    sizes: Vec<usize>,
    dt: f64,
    link_forces: Vec<BodyForce>,
    scratch: PairScratch,
    broad_phase: BroadPhase,
}

/// The velocity of a frame's material at F's origin and in F, as a map of the body's velocity:
/// its origin is `offset` away from F's.
pub(super) fn map_to_patch(rotation_wf: &Matrix3<f64>, offset: &Vector3<f64>) -> Matrix6<f64> {
    let r = rotation_wf.transpose();
    from_quarters(r, Matrix3::zeros(), r * -cross_matrix(offset), r)
}

/// A spatial velocity as six numbers.
fn column_of(v: &SpatialVelocity) -> Vector6<f64> {
    six(&v.rotational, &v.translational).into()
}

impl Problem {
    /// Sets up the step from `state`, with the bodies' frames, their places among the moving ones,
    /// the kinematics of the joints, the forces of the user, and the commands of the actuators.
    #[allow(clippy::too_many_arguments, reason = "a step depends on all of this")]
    pub fn assemble(
        &mut self,
        model: &Model,
        state: &State,
        frames: &[BodyFrame],
        moving: &[Option<usize>],
        joints: &mut JointWorkspace,
        forces: &Forces,
        commands: &[f64],
        kind: ContactModel,
        dt: f64,
    ) {
        self.dt = dt;
        self.inertia.clear();
        self.momentum.clear();
        for (((_, _, mass), state), force) in model.free_bodies().zip(&state.bodies).zip(&forces.bodies) {
            let body = BodyInertia::new(mass, state);
            self.inertia.push(body.matrix());
            let p = body.free_momentum(&state.velocity, force, &model.gravity, dt);
            self.momentum.extend(six(&p.rotational, &p.translational));
        }
        self.sizes.clear();
        self.sizes.resize(self.inertia.len(), BODY);
        self.assemble_joints(model, state, joints, forces, commands, dt);
        self.contacts.clear();
        self.patches.clear();
        self.columns.clear();
        let settings = DiscreteSettings { contact: &model.contact, model: kind, dt };
        let mut broad_phase = std::mem::take(&mut self.broad_phase);
        for &index in broad_phase.candidates(model, frames) {
            let pair = &model.pairs[index];
            let Self { contacts, scratch, joint_factors, .. } = self;
            let found = with_pair(model, frames, pair, |query: &ContactPair| {
                let inertia = PairInertia { model, state, moving, joints, factors: joint_factors };
                let lambda = |roles: &Roles<f64>| pair_inverse_inertia(&inertia, pair, roles);
                find_contacts(query, &settings, lambda, scratch, contacts)
            });
            if let Some(found) = found {
                self.add_patch(index, found, model, frames, moving, joints);
            }
        }
        self.broad_phase = broad_phase;
        self.couple();
    }

    /// Sets up the part of the joints.
    fn assemble_joints(
        &mut self,
        model: &Model,
        state: &State,
        joints: &mut JointWorkspace,
        forces: &Forces,
        commands: &[f64],
        dt: f64,
    ) {
        let mechanism = &model.mechanism;
        let (first, first_tree, n) =
            (self.momentum.len(), self.inertia.len(), mechanism.velocity_dimension());
        self.joint_places.clear();
        self.joint_terms.clear();
        if n == 0 {
            return;
        }
        for (i, tree) in mechanism.trees().iter().enumerate() {
            self.sizes.push(tree.v.len());
            let places = (0..tree.v.len()).map(|local| JointPlaceInTree { tree: first_tree + i, local });
            self.joint_places.extend(places);
        }
        if self.joint_inertia.nrows() != n {
            self.joint_inertia = DMatrix::zeros(n, n);
            self.joint_factors = DMatrix::zeros(n, n);
        }
        step_matrix(mechanism, joints, dt, &mut self.joint_inertia);
        self.joint_factors.copy_from(&self.joint_inertia);
        factorize(mechanism, &mut self.joint_factors);
        link_forces(model, &forces.bodies, &mut self.link_forces);
        let (q, v) = (&state.joints.q, &state.joints.v);
        let (tau, applied) = (&forces.joints, &self.link_forces);
        let input = StepInput { q, v, tau, gravity: model.gravity, applied };
        self.momentum.resize(first + n, 0.0);
        free_impulse(mechanism, joints, &input, dt, &mut self.momentum[first..]);
        for (i, p) in self.momentum[first..].iter_mut().enumerate() {
            *p += v.iter().enumerate().map(|(k, v)| self.joint_inertia[(i, k)] * v).sum::<f64>();
        }
        let Self { joint_terms, joint_places, .. } = self;
        model.for_each_joint_law(commands, |at, law| {
            let JointPlaceInTree { tree, local } = joint_places[at.v];
            joint_terms.push(JointTerm { coordinate: first + at.v, tree, local, position: q[at.q], law });
        });
    }

    /// Adds the patch of a pair.
    fn add_patch(
        &mut self,
        index: usize,
        contacts: DiscretePatch,
        model: &Model,
        frames: &[BodyFrame],
        moving: &[Option<usize>],
        joints: &JointWorkspace,
    ) {
        let GeometryPair { bodies, .. } = model.pairs[index];
        let sides = if contacts.a_is_o { [bodies.a, bodies.b] } else { [bodies.b, bodies.a] };
        let x_wf = contacts.x_wf;
        let with_links = sides.iter().any(|&b| matches!(model.bodies[b].motion, Motion::Link { .. }));
        let mut patch = CoupledPatch {
            pair: index,
            contacts,
            o: None,
            f: None,
            columns: self.columns.len()..self.columns.len(),
            fixed: Vector6::zeros(),
            trees: None,
            coupling: None,
        };
        let first = self.inertia.len() * BODY;
        for (k, &body) in sides.iter().enumerate() {
            let sign = if k == 0 { 1.0 } else { -1.0 };
            let offset = x_wf.translation - frames[body].pose.translation;
            match (&model.bodies[body].motion, moving[body]) {
                (Motion::Link { link }, _) => {
                    let turn = x_wf.rotation.transpose();
                    for (coordinate, at_origin) in joints.jacobian_columns(&model.mechanism, *link, &offset) {
                        let velocity = column_of(&at_origin.rotated(&turn)) * sign;
                        let JointPlaceInTree { tree, local } = self.joint_places[coordinate];
                        let coordinate = first + coordinate;
                        let mut present = self.columns[patch.columns.start..].iter_mut();
                        match present.find(|c| c.coordinate == coordinate) {
                            Some(column) => column.velocity += velocity,
                            None => self.columns.push(Column { coordinate, tree, local, velocity }),
                        }
                    }
                }
                (Motion::Free { .. }, Some(tree)) => {
                    let map = map_to_patch(&x_wf.rotation, &offset);
                    if with_links {
                        for local in 0..BODY {
                            let velocity = map.column(local) * sign;
                            let coordinate = BODY * tree + local;
                            self.columns.push(Column { coordinate, tree, local, velocity });
                        }
                    } else {
                        *(if k == 0 { &mut patch.o } else { &mut patch.f }) = Some(PatchSide { tree, map });
                    }
                }
                _ => {
                    let v: &SpatialVelocity = &frames[body].velocity;
                    if *v != SpatialVelocity::zero() {
                        patch.fixed += map_to_patch(&x_wf.rotation, &offset) * column_of(v) * sign;
                    }
                }
            }
        }
        patch.columns.end = self.columns.len();
        let columns = &self.columns[patch.columns.clone()];
        let trees = || {
            [&patch.o, &patch.f].into_iter().flatten().map(|s| s.tree).chain(columns.iter().map(|c| c.tree))
        };
        if let (Some(low), Some(high)) = (trees().min(), trees().max()) {
            patch.trees = (low < high).then_some((low, high));
        }
        self.patches.push(patch);
    }

    /// The velocity of O relative to F at F's origin, in F. (The fixed bodies' part is left out
    /// for changes of velocity.)
    #[inline]
    pub fn relative(&self, patch: &CoupledPatch, velocity: &[f64], with_fixed: bool) -> Vector6<f64> {
        let mut v = if with_fixed { patch.fixed } else { Vector6::zeros() };
        if let Some(o) = &patch.o {
            v += o.map * tree_velocity(velocity, o.tree);
        }
        if let Some(f) = &patch.f {
            v -= f.map * tree_velocity(velocity, f.tree);
        }
        for column in &self.columns[patch.columns.clone()] {
            v += column.velocity * velocity[column.coordinate];
        }
        v
    }

    /// Lists the couplings of trees, and gives each patch its place in the list.
    fn couple(&mut self) {
        self.couplings.clear();
        self.couplings.extend(self.patches.iter().filter_map(|patch| patch.trees));
        self.couplings.sort_unstable();
        self.couplings.dedup();
        for patch in &mut self.patches {
            patch.coupling = patch.trees.and_then(|c| self.couplings.binary_search(&c).ok());
        }
    }

    /// The velocities of each tree, in order.
    pub fn trees(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        self.sizes.iter().scan(0, |next, size| {
            *next += size;
            Some(*next - size..*next)
        })
    }

    /// The diagonal of A.
    pub fn inertia_diagonal(&self) -> impl Iterator<Item = f64> + '_ {
        let bodies = self.inertia.iter().flat_map(|m| (0..BODY).map(move |i| m[(i, i)]));
        bodies.chain((0..self.joint_places.len()).map(|i| self.joint_inertia[(i, i)]))
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
        let first = BODY * self.inertia.len();
        for range in self.trees().skip(self.inertia.len()) {
            for i in range.clone() {
                for k in range.clone() {
                    out[i] += self.joint_inertia[(i - first, k - first)] * v[k];
                }
            }
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
        self.evaluate_joints(v, impulse, factor);
        for patch in &self.patches {
            let (w, hessian) = patch.contacts.impulse(&self.contacts, &self.relative(patch, v, true));
            by_patch.push((w, hessian));
            if let Some(o) = &patch.o {
                add_to_tree(impulse, o.tree, &o.map.tr_mul(&w));
                add_block(factor.diagonal_mut(o.tree), &(o.map.tr_mul(&hessian) * o.map));
            }
            if let Some(f) = &patch.f {
                add_to_tree(impulse, f.tree, &-f.map.tr_mul(&w));
                add_block(factor.diagonal_mut(f.tree), &(f.map.tr_mul(&hessian) * f.map));
            }
            if let (Some(o), Some(f), Some(coupling)) = (&patch.o, &patch.f, patch.coupling) {
                let of = -(o.map.tr_mul(&hessian) * f.map);
                let fo = -(f.map.tr_mul(&hessian) * o.map);
                let (first, second) = factor.coupling_mut(coupling);
                let (of_block, fo_block) = if o.tree < f.tree { (first, second) } else { (second, first) };
                add_block(of_block, &of);
                add_block(fo_block, &fo);
            }
            if !patch.columns.is_empty() {
                self.add_columns(patch, &w, &hessian, impulse, factor);
            }
        }
    }

    /// Adds the impulse of a patch that links take part in, and its negative derivative.
    fn add_columns(
        &self,
        patch: &CoupledPatch,
        w: &Vector6<f64>,
        hessian: &Matrix6<f64>,
        impulse: &mut [f64],
        factor: &mut BlockFactor,
    ) {
        let columns = &self.columns[patch.columns.clone()];
        for right in columns {
            impulse[right.coordinate] += right.velocity.dot(w);
            let follows = hessian * right.velocity;
            for left in columns {
                let value = left.velocity.dot(&follows);
                let place = right.local * self.sizes[left.tree] + left.local;
                if left.tree == right.tree {
                    factor.diagonal_mut(left.tree)[place] += value;
                } else if let Some(coupling) = patch.coupling {
                    let (first, second) = factor.coupling_mut(coupling);
                    let block = if left.tree < right.tree { first } else { second };
                    block[place] += value;
                }
            }
        }
    }

    /// The part of [`Self::evaluate`] of the joints without contact.
    fn evaluate_joints(&self, v: &[f64], impulse: &mut [f64], factor: &mut BlockFactor) {
        let first = BODY * self.inertia.len();
        for (tree, range) in self.trees().enumerate().skip(self.inertia.len()) {
            let block = factor.diagonal_mut(tree);
            let values = range.clone().flat_map(|k| range.clone().map(move |i| (i - first, k - first)));
            for (b, at) in block.iter_mut().zip(values) {
                *b += self.joint_inertia[at];
            }
        }
        for term in &self.joint_terms {
            impulse[term.coordinate] += term.law.impulse(self.dt, term.position, v[term.coordinate]);
            let slope = term.slope(self.dt, v[term.coordinate]);
            let size = self.sizes[term.tree];
            factor.diagonal_mut(term.tree)[term.local * (size + 1)] -= slope;
        }
    }

    /// dvᵀ Jᵀγ(v + α dv), and its negative derivative by α.
    pub fn along(&self, v: &[f64], dv: &[f64], alpha: f64) -> (f64, f64) {
        let mut sum = (0.0, 0.0);
        for patch in &self.patches {
            let change = self.relative(patch, dv, false);
            let at = self.relative(patch, v, true) + change * alpha;
            let (power, curvature) = patch.contacts.along(&self.contacts, &at, &change);
            sum.0 += power;
            sum.1 += curvature;
        }
        for term in &self.joint_terms {
            let change = dv[term.coordinate];
            let at = v[term.coordinate] + alpha * change;
            sum.0 += term.law.impulse(self.dt, term.position, at) * change;
            sum.1 -= term.slope(self.dt, at) * change * change;
        }
        sum
    }

    /// Calls `visit` with the slip velocity of every contact that bears load at `v`, and with its
    /// change along `dv`.
    pub fn for_each_slip(&self, v: &[f64], dv: &[f64], mut visit: impl FnMut(&Vector3<f64>, &Vector3<f64>)) {
        for patch in &self.patches {
            let (at, change) = (self.relative(patch, v, true), self.relative(patch, dv, false));
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
            patch.contacts.for_each_normal(&self.contacts, &self.relative(patch, v, true), |i, normal| {
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
                let (at, change) = (self.relative(patch, v, true), self.relative(patch, dv, false));
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
        let first = BODY * self.inertia.len();
        for range in self.trees().skip(self.inertia.len()) {
            for i in range.clone() {
                let row =
                    range.clone().map(|k| self.joint_inertia[(i - first, k - first)] * v[k]).sum::<f64>();
                sum += v[i] * (0.5 * row - self.momentum[i]);
            }
        }
        for term in &self.joint_terms {
            sum += term.law.cost(self.dt, term.position, v[term.coordinate]);
        }
        for patch in &self.patches {
            sum += patch.contacts.cost(&self.contacts, &self.relative(patch, v, true))?;
        }
        Some(sum)
    }

    /// Number of point contacts.
    pub fn contact_count(&self) -> usize {
        self.contacts.position.len()
    }
}

impl JointTerm {
    /// The derivative of the impulse by the velocity at the end of the step.
    fn slope(&self, dt: f64, v: f64) -> f64 {
        self.law.slopes(|law, q, v| law.impulse(dt, q, v), self.position, v)[1]
    }
}
