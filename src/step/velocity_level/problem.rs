//! The balance of momentum over a step: A v = p + Jᵀγ(v), with the mass matrix A at the start of
//! the step, the momentum p without contact, and the impulses γ of contacts (Masterjohn eq. 7),
//! actuators and stops.
//!
//! The velocities are those of the free bodies, six each (angular velocity, and velocity of the
//! origin, in W), and then those of the joints. A *tree* is a set of velocities that share a block
//! of A: a free body, or what one joint on the world carries.

use nalgebra::{Matrix6, Vector3, Vector6};
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};

use super::balance_scale::BalanceScale;
use super::contact_search::ContactSearch;
use super::coupled_patch::{Bodies, Column, CoupledPatch};
use super::free_body::{BODY, BodyInertia, add_block, add_to_tree, six, tree_velocity};
use super::free_motions::FreeMotions;
use super::inverse_inertia::PairInertia;
use super::joint_part::JointPart;
use super::real_step::RealStep;
use super::settings_of;
use crate::contact::{ContactModel, OwnLaw, PointContacts, SlipChange};
use crate::linear_algebra::BlockFactor;
use crate::multibody::tree::Workspace as JointWorkspace;
use crate::multibody::{BodyFrame, shares};

/// With fewer contacts than this threads take longer to begin than to evaluate them.
const CONTACTS_WORTH_THREADS: usize = 2000;

/// Coefficients of friction of all patches, and of those contacts that have coefficients of their own.
#[derive(Clone, Debug)]
pub(super) struct Coefficients {
    patches: Vec<f64>,
    contacts: Vec<f64>,
}

/// The balance of momentum of a step, and the memory it is kept in.
#[derive(Debug, Default)]
pub(super) struct Problem {
    /// Blocks of A of the free bodies.
    pub inertia: Vec<Matrix6<f64>>,
    pub joints: JointPart,
    /// The momentum p.
    pub momentum: Vec<f64>,
    pub patches: Vec<CoupledPatch>,
    columns: Vec<Column>,
    pub contacts: PointContacts,
    couplings: Vec<(usize, usize)>,
    /// Velocities of each tree.
    sizes: Vec<usize>,
    /// What the balance is measured against.
    pub scale: BalanceScale,
    search: ContactSearch,
}

impl Problem {
    /// Sets up the motion without contact of a step, with the kinematics of the joints and the free
    /// motions of bodies.
    pub fn set_free_motion(
        &mut self,
        step: &RealStep,
        joints: &mut JointWorkspace,
        free_motions: &FreeMotions,
    ) {
        let RealStep { model, state, forces, dt, .. } = *step;
        self.inertia.clear();
        self.momentum.clear();
        let bodies = model.free_bodies().zip(&state.bodies).zip(&free_motions.bodies).zip(&forces.bodies);
        for ((((_, _, mass), state), free), force) in bodies {
            let body = BodyInertia::new(mass, state);
            self.inertia.push(body.matrix());
            let p = body.free_momentum(&state.velocity, free, force, &model.gravity, dt);
            self.momentum.extend(six(&p.rotational, &p.translational));
        }
        self.sizes.clear();
        self.sizes.resize(self.inertia.len(), BODY);
        let Self { joints: joint_part, sizes, momentum, .. } = self;
        let inertial = &free_motions.joints;
        joint_part.assemble(step, joints, inertial, sizes, momentum);
        let mut scale = std::mem::take(&mut self.scale);
        scale.set_forces(model, forces, &self.joints, self.inertia_diagonal(), dt);
        self.scale = scale;
    }

    /// Leaves a free body where it is.
    pub fn rest(&mut self, tree: Option<usize>) {
        if let Some(tree) = tree {
            self.momentum[BODY * tree..BODY * (tree + 1)].fill(0.0);
        }
    }

    /// Finds the contacts of a step, once its motion without contact is set, with the bodies' frames,
    /// their indices among the moving ones, and the kinematics of the joints.
    pub fn find_contacts(
        &mut self,
        step: &RealStep,
        frames: &[BodyFrame],
        moving: &[Option<usize>],
        joints: &JointWorkspace,
        kind: ContactModel,
    ) {
        let RealStep { model, state, dt, .. } = *step;
        self.contacts.clear();
        self.patches.clear();
        self.columns.clear();
        let Self { contacts, patches, columns, joints: joint_part, search, .. } = self;
        let settings = settings_of(model, kind, dt);
        let inertia = PairInertia { model, state, moving, joints, factors: &joint_part.factors };
        let bodies = Bodies { model, frames, moving, joints, joint_part };
        search.run(&inertia, frames, &settings, contacts, |pair, found| {
            patches.push(CoupledPatch::new(pair, found, &bodies, columns));
        });
        self.patches.sort_unstable_by_key(|patch| patch.pair);
        self.couple();
        self.scale.set_patches(&self.patches, &self.columns, &self.contacts, dt);
    }

    /// The velocity of O relative to F of a patch, see [`CoupledPatch::relative`].
    #[inline]
    pub fn relative(&self, patch: &CoupledPatch, velocity: &[f64], with_fixed: bool) -> Vector6<f64> {
        patch.relative(&self.columns, velocity, with_fixed)
    }

    /// Lists the couplings of trees, and gives each patch its index in the list.
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

    pub fn inertia_diagonal(&self) -> impl Iterator<Item = f64> + '_ {
        let bodies = self.inertia.iter().flat_map(|m| (0..BODY).map(move |i| m[(i, i)]));
        bodies.chain(self.joints.inertia_diagonal())
    }

    /// Whether several threads evaluate the patches, with the same bits. Laws that collect points do so on one.
    pub fn is_shared(&self) -> bool {
        self.contact_count() >= CONTACTS_WORTH_THREADS
            && shares(self.patches.len()).0 > 1
            && self.own_law().is_none()
    }

    /// Number of velocities.
    pub fn dimension(&self) -> usize {
        self.momentum.len()
    }

    /// Prepares a factorization for this problem's couplings.
    pub fn set_structure(&self, factor: &mut BlockFactor) {
        factor.set_structure(&self.sizes, &self.couplings);
    }

    pub fn inertia_times(&self, v: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (tree, inertia) in self.inertia.iter().enumerate() {
            add_to_tree(out, tree, &(inertia * tree_velocity(v, tree)));
        }
        self.joints.add_inertia_times(v, out);
    }

    /// The impulses Jᵀγ(v), written into `impulse`; and the impulse of each patch with its
    /// negative derivative, written into `by_patch`.
    pub fn evaluate(&self, v: &[f64], impulse: &mut [f64], by_patch: &mut Vec<(Vector6<f64>, Matrix6<f64>)>) {
        impulse.fill(0.0);
        self.joints.add_impulse(v, impulse);
        let of_patch = |patch: &CoupledPatch| {
            patch.contacts.impulse(&self.contacts, &patch.relative(&self.columns, v, true))
        };
        if self.is_shared() {
            self.patches.par_iter().map(of_patch).collect_into_vec(by_patch);
        } else {
            self.together(|| {
                by_patch.clear();
                by_patch.extend(self.patches.iter().map(of_patch));
            });
        }
        for (patch, (w, _)) in self.patches.iter().zip(by_patch) {
            patch.add_impulse(&self.columns, w, impulse);
        }
    }

    /// The law of the user's own that impulses have, if they do.
    fn own_law(&self) -> Option<OwnLaw> {
        self.patches.iter().find_map(|patch| patch.contacts.law.own).map(|own| own.law)
    }

    /// What `work` makes, which evaluates contacts at given velocities.
    fn together<R>(&self, mut work: impl FnMut() -> R) -> R {
        match self.own_law() {
            None => work(),
            Some(law) => law.together(|_| work()),
        }
    }

    /// The matrix K = A − ∂(Jᵀγ)/∂v at the velocities `v` at which the patches have been
    /// evaluated, written into the blocks of `factor`.
    pub fn set_matrix(&self, v: &[f64], by_patch: &[(Vector6<f64>, Matrix6<f64>)], factor: &mut BlockFactor) {
        factor.clear();
        for (tree, inertia) in self.inertia.iter().enumerate() {
            add_block(factor.diagonal_mut(tree), inertia);
        }
        self.joints.add_matrix(v, factor);
        for (patch, (_, hessian)) in self.patches.iter().zip(by_patch) {
            patch.add_matrix((&self.columns, &self.sizes), hessian, factor);
        }
    }

    /// dvᵀ Jᵀγ(v + α dv), and its negative derivative with respect to α.
    pub fn along(&self, v: &[f64], dv: &[f64], alpha: f64) -> (f64, f64) {
        let of_patch = |patch: &CoupledPatch| {
            let change = patch.relative(&self.columns, dv, false);
            let at = patch.relative(&self.columns, v, true) + change * alpha;
            patch.contacts.along(&self.contacts, &at, &change)
        };
        let add = |sum: (f64, f64), term: (f64, f64)| (sum.0 + term.0, sum.1 + term.1);
        let joints = self.joints.along(v, dv, alpha);
        if self.is_shared() {
            let terms: Vec<_> = self.patches.par_iter().map(of_patch).collect();
            return terms.into_iter().fold(joints, add);
        }
        self.together(|| self.patches.iter().map(of_patch).fold(joints, add))
    }

    /// The smallest of 1 and the values of `limit` for all contacts that bear load at `v`. `limit` is
    /// given how the contact's slip velocity changes along `dv`.
    pub fn least_of_slips(&self, v: &[f64], dv: &[f64], limit: impl Fn(&SlipChange) -> f64) -> f64 {
        self.patches.iter().fold(1.0, |least, patch| {
            let (at, change) = (self.relative(patch, v, true), self.relative(patch, dv, false));
            patch.contacts.least_of_slips(&self.contacts, &at, &change, least, &limit)
        })
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

    pub fn friction(&self) -> Coefficients {
        let patches = self.patches.iter().map(|patch| patch.contacts.law.friction).collect();
        Coefficients { patches, contacts: self.contacts.friction.clone() }
    }

    /// Sets the coefficients of friction to a part of these.
    pub fn set_friction(&mut self, friction: &Coefficients, part: f64) {
        for (own, friction) in self.contacts.friction.iter_mut().zip(&friction.contacts) {
            *own = part * friction;
        }
        for (patch, friction) in self.patches.iter_mut().zip(&friction.patches) {
            match &mut patch.contacts.law.own {
                // Its friction need not be proportional to the coefficient.
                Some(own) => own.part = part,
                None => patch.contacts.law.friction = part * friction,
            }
        }
    }

    /// Whether the velocities are the minimum of a convex function.
    pub fn is_convex(&self) -> bool {
        self.patches.iter().all(|patch| patch.contacts.law.model.is_convex())
    }

    /// Gives rigid pairs a law that is convex; returns whether one had another.
    pub fn make_rigid_pairs_convex(&mut self) -> bool {
        let Self { patches, contacts, .. } = self;
        let changed = patches.iter_mut().map(|patch| patch.contacts.make_convex(contacts));
        changed.filter(|is_changed| *is_changed).count() > 0
    }

    /// Whether friction has a corner where contacts begin to slip that is much sharper than the
    /// stiction velocity: SAP's.
    pub fn has_stiction_corner(&self) -> bool {
        self.patches.iter().any(|patch| patch.contacts.law.model == ContactModel::Sap)
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
        let mut sum = self.joints.cost(v, &self.momentum);
        for (tree, inertia) in self.inertia.iter().enumerate() {
            let v = tree_velocity(v, tree);
            sum += 0.5 * v.dot(&(inertia * v)) - v.dot(&tree_velocity(&self.momentum, tree));
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
