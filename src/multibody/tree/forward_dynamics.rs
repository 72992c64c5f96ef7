//! From forces to the motion that they cause: the articulated body algorithm.

use nalgebra::{DMatrix, Vector3};

use super::inverse_dynamics::{BodyForce, minus_gravity};
use super::mechanism::{Joint, Mechanism};
use super::workspace::Workspace;
use crate::scalar::Scalar;
use crate::spatial::ArticulatedInertia;

impl<T: Scalar> Mechanism<T> {
    /// The acceleration v̇ with M(q) v̇ + C(q, v) v = τ + τ_g + Σ Jᵀ f, written into `vdot`, by the
    /// articulated body algorithm (Featherstone 2008, table 7.1) at the state of the last
    /// [`Mechanism::update_kinematics`].
    ///
    /// The coordinates of a joint yield one after the other, so that no matrix is inverted. Where joints
    /// follow others, whose coordinates move along several directions at once, the mass matrix is factorized
    /// instead. Rotor inertia is included. Damping and springs are not; [`Mechanism::passive_forces`] adds
    /// them to τ.
    ///
    /// # Panics
    /// When a slice does not have nv numbers, or a body is not there.
    #[inline(never)]
    pub fn forward_dynamics(
        &self,
        workspace: &mut Workspace<T>,
        tau: &[T],
        gravity: &Vector3<T>,
        applied: &[BodyForce<T>],
        vdot: &mut [T],
    ) {
        self.check_lengths(&[], &[tau.len(), vdot.len()]);
        if self.has_followers() {
            self.solve_forward_dynamics(workspace, tau, gravity, applied, vdot);
            return;
        }
        for index in 0..self.joints.len() {
            let felt = workspace.felt_motion(self, index);
            let inertia = &workspace.motions[index].inertia;
            workspace.articulated[index] = ArticulatedInertia::of_rigid(inertia);
            workspace.forces[index] = felt.velocity.cross_force(&inertia.times(&felt.velocity));
        }
        workspace.subtract_applied(self, applied);
        for (index, joint) in self.joints.iter().enumerate().rev() {
            let mut inertia = workspace.articulated[index];
            let mut force = workspace.forces[index];
            for k in joint.columns.clone().rev() {
                let column = workspace.columns[k];
                let u = inertia.times(&column);
                let inverse = (column.dot(&u) + joint.rotor_inertia).recip();
                let excess = tau[k] - column.dot(&force);
                inertia.release(&u, inverse);
                force += u * (excess * inverse);
                workspace.momenta[k] = u;
                workspace.pivots[k] = [inverse, excess];
            }
            if let Some(parent) = joint.parent {
                let bias = workspace.felt_motion(self, index).bias;
                workspace.articulated[parent] += inertia;
                workspace.forces[parent] += force + inertia.times(&bias);
            }
        }
        for (index, joint) in self.joints.iter().enumerate() {
            let at_rest = || minus_gravity(&self.trees[workspace.tree[index]], gravity);
            let mut a = joint.parent.map_or_else(at_rest, |p| workspace.accelerations[p])
                + workspace.felt_motion(self, index).bias;
            for k in joint.columns.clone() {
                let [inverse, excess] = workspace.pivots[k];
                vdot[k] = (excess - a.dot(&workspace.momenta[k])) * inverse;
                a += workspace.columns[k] * vdot[k];
            }
            workspace.accelerations[index] = a;
        }
    }
}

impl<T: Scalar> Mechanism<T> {
    /// [`Self::forward_dynamics`] by the factors of the mass matrix.
    fn solve_forward_dynamics(
        &self,
        workspace: &mut Workspace<T>,
        tau: &[T],
        gravity: &Vector3<T>,
        applied: &[BodyForce<T>],
        vdot: &mut [T],
    ) {
        self.bias_forces(workspace, gravity, applied, vdot);
        for (v, tau) in vdot.iter_mut().zip(tau) {
            *v = *tau - *v;
        }
        let mut factors =
            std::mem::replace(&mut workspace.factors, DMatrix::from_element(0, 0, T::from(0.0)));
        self.mass_matrix(workspace, &mut factors);
        self.factorize(&mut factors);
        self.solve(&factors, vdot);
        workspace.factors = factors;
    }
}

/// What is left of a joint's inertia, relative to the terms it is the difference of, that passes
/// for zero.
const SINGULAR: f64 = 1e-12;

/// A joint whose motion nothing resists at a generic configuration, if there is one.
pub(super) fn weakest_joint(mechanism: &Mechanism) -> Option<usize> {
    let mut state = mechanism.neutral_state();
    let mut q = state.q.clone();
    // Far from every symmetry: steps by the golden ratio.
    for (k, delta) in state.v.iter_mut().enumerate() {
        *delta = (0.37 + 0.618_033_988_749_895 * (k + 1) as f64).fract() + 0.2;
    }
    mechanism.move_configuration(&state.q, &state.v, &mut q);
    state.v.fill(0.0);
    let mut workspace = Workspace::new(mechanism);
    mechanism.update_kinematics(&q, &state.v, &mut workspace);
    let is_singular = |left: f64, inertia: f64| left.is_nan() || left <= SINGULAR * inertia;
    if !mechanism.has_followers() {
        // In proportion to the number of joints, where factors of long chains would take its third power.
        let (forces, mut acceleration) = (vec![0.0; mechanism.nv], vec![0.0; mechanism.nv]);
        mechanism.forward_dynamics(&mut workspace, &forces, &Vector3::zeros(), &[], &mut acceleration);
        workspace.update_composites(mechanism);
        return mechanism.joints.iter().rposition(|joint| {
            joint.columns.clone().any(|k| {
                let inertia = workspace.columns[k].dot(&workspace.momenta[k]) + joint.rotor_inertia;
                is_singular(workspace.pivots[k][0].recip(), inertia)
            })
        });
    }
    let mut factors = DMatrix::zeros(mechanism.nv, mechanism.nv);
    mechanism.mass_matrix(&mut workspace, &mut factors);
    let inertia = factors.diagonal();
    mechanism.factorize(&mut factors);
    let weak = |joint: &Joint| joint.v.clone().any(|k| is_singular(factors[(k, k)], inertia[k]));
    mechanism.joints.iter().rposition(weak)
}
