//! The part of the joints in the balance of momentum: their block of the mass matrix, their
//! momentum without contact, and the impulses of actuators and stops.

use std::ops::Range;

use nalgebra::DMatrix;

use super::real_step::RealStep;
use crate::linear_algebra::BlockFactor;
use crate::multibody::tree::{BodyForce, InertialMotion, StepInput, Workspace as JointWorkspace};
use crate::multibody::{JointLaw, link_forces};

/// A force along one joint coordinate.
#[derive(Clone, Copy, Debug)]
struct JointTerm {
    index: JointIndex,
    /// Position at the start of the step.
    position: f64,
    law: JointLaw,
}

/// Where a velocity of the joints is.
#[derive(Clone, Copy, Debug)]
pub(super) struct JointIndex {
    /// Its index among all velocities.
    pub coordinate: usize,
    /// Its tree, and its index there.
    pub tree: usize,
    pub local: usize,
}

/// The joints in the balance of momentum of a step.
#[derive(Debug, Default)]
pub(super) struct JointPart {
    /// The part of A of the joints, and its factors.
    inertia: DMatrix<f64>,
    pub factors: DMatrix<f64>,
    /// For each velocity of the joints where it is.
    indices: Vec<JointIndex>,
    /// The velocities of each tree, in order.
    trees: Vec<Range<usize>>,
    terms: Vec<JointTerm>,
    /// The velocities under computed torque, and the magnitude of the force that cancels there.
    cancelling: Vec<(JointIndex, f64)>,
    /// The velocities at the start of the step, with what computed torque changes them by over it.
    start: Vec<f64>,
    /// The first velocity, and the first tree.
    first: usize,
    first_tree: usize,
    dt: f64,
    link_forces: Vec<BodyForce>,
}

impl JointPart {
    /// Sets up the part of the joints, whose velocities follow those in `momentum` and whose trees
    /// those in `sizes`: both are continued.
    pub fn assemble(
        &mut self,
        step: &RealStep,
        joints: &mut JointWorkspace,
        inertial: &InertialMotion,
        sizes: &mut Vec<usize>,
        momentum: &mut Vec<f64>,
    ) {
        let RealStep { model, state, forces, commands, dt } = *step;
        let mechanism = &model.mechanism;
        let n = mechanism.velocity_dimension();
        (self.first, self.first_tree, self.dt) = (momentum.len(), sizes.len(), dt);
        self.indices.clear();
        self.trees.clear();
        self.terms.clear();
        self.cancelling.clear();
        if n == 0 {
            return;
        }
        for tree in mechanism.trees() {
            let first = self.first + self.indices.len();
            let index = |local| JointIndex { coordinate: first + local, tree: sizes.len(), local };
            self.indices.extend((0..tree.v.len()).map(index));
            self.trees.push(first..first + tree.v.len());
            sizes.push(tree.v.len());
        }
        if self.inertia.nrows() != n {
            self.inertia = DMatrix::zeros(n, n);
            self.factors = DMatrix::zeros(n, n);
        }
        mechanism.step_matrix(joints, dt, &mut self.inertia);
        self.factors.copy_from(&self.inertia);
        mechanism.factorize(&mut self.factors);
        link_forces(model, &forces.bodies, &mut self.link_forces);
        let (q, v) = (&state.joints.q, &state.joints.v);
        let (tau, applied) = (&forces.joints, &self.link_forces);
        let input = StepInput { q, v, tau, gravity: model.gravity, applied };
        momentum.resize(self.first + n, 0.0);
        let momentum = &mut momentum[self.first..];
        mechanism.free_impulse(joints, &input, dt, momentum);
        momentum.iter_mut().zip(&inertial.impulse).for_each(|(p, impulse)| *p += impulse);
        let Self { terms, cancelling, start, indices, inertia, .. } = self;
        start.clone_from(v);
        model.for_each_computed_torque(commands, |at| {
            start[at.v] += at.free_change(dt, &state.joints);
            let mass = inertia[(at.v, at.v)] / at.law.step_factor(dt);
            cancelling.push((indices[at.v], mass * at.law.stiffness * (q[at.q].abs() + at.command.abs())));
        });
        for (i, p) in momentum.iter_mut().enumerate() {
            *p += start.iter().enumerate().map(|(k, v)| inertia[(i, k)] * v).sum::<f64>();
        }
        model.for_each_joint_law(commands, &mut |at, law| {
            if !law.is_nothing() {
                terms.push(JointTerm { index: indices[at.v], position: q[at.q], law });
            }
        });
    }

    /// Where a velocity of the mechanism is.
    pub fn index(&self, velocity: usize) -> JointIndex {
        self.indices[velocity]
    }

    /// Where positions act through a stiffness, and the magnitude of the force that cancels
    /// there: stiffness times position, N or N m.
    pub fn stiffnesses(&self) -> impl Iterator<Item = (&JointIndex, f64)> {
        let of_laws = self.terms.iter().map(|term| (&term.index, term.law.cancelled_force(term.position)));
        of_laws.chain(self.cancelling.iter().map(|(index, force)| (index, *force)))
    }

    pub fn inertia_diagonal(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.indices.len()).map(|i| self.inertia[(i, i)])
    }

    /// For each velocity its index and what A v has there.
    fn inertia_times(&self, v: &[f64]) -> impl Iterator<Item = (usize, f64)> {
        self.trees.iter().flat_map(move |range| {
            range.clone().map(move |i| {
                let row = range.clone().map(|k| self.inertia[(i - self.first, k - self.first)] * v[k]);
                (i, row.sum())
            })
        })
    }

    pub fn add_inertia_times(&self, v: &[f64], out: &mut [f64]) {
        for (i, row) in self.inertia_times(v) {
            out[i] += row;
        }
    }

    /// Adds the impulses of actuators, stops and friction.
    pub fn add_impulse(&self, v: &[f64], impulse: &mut [f64]) {
        for term in &self.terms {
            let at = term.index.coordinate;
            impulse[at] += term.law.impulse(self.dt, term.position, v[at]);
        }
    }

    /// Adds the part of the joints to K: that of A, and the negative derivatives of the impulses.
    pub fn add_matrix(&self, v: &[f64], factor: &mut BlockFactor) {
        for (tree, range) in self.trees.iter().enumerate() {
            let block = factor.diagonal_mut(self.first_tree + tree);
            let values = range.clone().flat_map(|k| range.clone().map(move |i| (i, k)));
            for (b, (i, k)) in block.iter_mut().zip(values) {
                *b += self.inertia[(i - self.first, k - self.first)];
            }
        }
        for term in &self.terms {
            let JointIndex { coordinate, tree, local } = term.index;
            let size = self.trees[tree - self.first_tree].len();
            factor.diagonal_mut(tree)[local * (size + 1)] -= term.slope(self.dt, v[coordinate]);
        }
    }

    /// The power along `dv` of the impulses of actuators and stops at v + α dv, and its negative
    /// derivative with respect to α.
    pub fn along(&self, v: &[f64], dv: &[f64], alpha: f64) -> (f64, f64) {
        let mut sum = (0.0, 0.0);
        for term in &self.terms {
            let change = dv[term.index.coordinate];
            let at = v[term.index.coordinate] + alpha * change;
            sum.0 += term.law.impulse(self.dt, term.position, at) * change;
            sum.1 -= term.slope(self.dt, at) * change * change;
        }
        sum
    }

    /// The part of the joints in the cost of a convex model's step, ½ vᵀ A v − vᵀ p + Σ ℓ, J.
    pub fn cost(&self, v: &[f64], momentum: &[f64]) -> f64 {
        let kinetic = self.inertia_times(v).map(|(i, row)| v[i] * (0.5 * row - momentum[i]));
        let terms = self.terms.iter().map(|term| {
            let at = v[term.index.coordinate];
            term.law.cost(self.dt, term.position, at)
        });
        kinetic.chain(terms).sum()
    }
}

impl JointTerm {
    /// The derivative of the impulse with respect to the velocity at the end of the step.
    fn slope(&self, dt: f64, v: f64) -> f64 {
        self.law.slopes(|law, q, v| law.impulse(dt.into(), q, v), self.position, v)[1]
    }
}
