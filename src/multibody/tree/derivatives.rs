//! Derivatives of inverse dynamics.
//!
//! Analytical, after Carpentier and Mansard, *Analytical derivatives of rigid body dynamics
//! algorithms* (RSS 2018), written for joints of any kind. With all vectors about a fixed point
//! and in W's axes, a move along tangent direction j, with column S, of a joint J carries along
//! all that J carries, and so turns every vector there by S ×. What does not turn along is the
//! parent's motion. For a body i that J carries this gives
//!
//! - ∂V_i/∂q_j = Ψ + S × V_i, with Ψ = V_J × S + ξ,
//! - ∂A_i/∂q_j = Φ + S × A_i + Ψ × V_i, with Φ = A_J × S + V_J × Ψ + η + V_P × ξ,
//! - ∂A_i/∂v_j = Ω + S × V_i, with Ω = (V_J + V_P) × S + ζ,
//!
//! where P is J's parent and ξ, η, ζ stand for the dependence of J's own columns on its
//! configuration, which planar and free joints have. The force F_i = I A + V ×* I V follows as
//! ∂F_i/∂q_j = S ×* F_i + I Φ + B Ψ and ∂F_i/∂v_j = I Ω + B S, with the matrix
//! B x = I (x × V) + x ×* I V + V ×* I x, and both hold for the sums over all that J carries.

use nalgebra::{DMatrix, Matrix3, Vector3};

use super::carried::{AppliedForce, MovingInertia};
use super::inverse_dynamics::BodyForce;
use super::mechanism::{Joint, Mechanism};
use super::workspace::Workspace;
use crate::scalar::Scalar;
use crate::spatial::{SpatialForce, SpatialVelocity};

/// What a velocity coordinate adds to the motion of all that its joint carries, and to the forces
/// of the coordinates around it (see the module's documentation).
#[derive(Clone, Copy, Debug)]
struct Direction<T> {
    psi: SpatialVelocity<T>,
    phi: SpatialVelocity<T>,
    omega: SpatialVelocity<T>,
    /// ∂F/∂q of all that the joint carries.
    force_by_q: SpatialForce<T>,
    /// ∂F/∂v of all that the joint carries.
    force_by_v: SpatialForce<T>,
    /// Rotational part of Bᵀ S.
    w: Vector3<T>,
    /// What applied forces add in the rotational part of a direction above.
    lag: Vector3<T>,
}

/// Derivatives of [`Mechanism::inverse_dynamics`], and the memory that computing them reuses.
#[derive(Clone, Debug)]
pub struct InverseDerivatives<T = f64> {
    /// ∂τ/∂q, nv×nv: column j along direction j of the configuration's tangent space.
    pub tau_by_q: DMatrix<T>,
    /// ∂τ/∂v, nv×nv.
    pub tau_by_v: DMatrix<T>,
    moving: Vec<MovingInertia<T>>,
    applied: Vec<AppliedForce<T>>,
    directions: Vec<Direction<T>>,
}

impl<T: Scalar> InverseDerivatives<T> {
    /// Memory for the derivatives of a mechanism.
    pub fn new(mechanism: &Mechanism<T>) -> Self {
        let (joints, nv, columns) = (mechanism.joints.len(), mechanism.nv, mechanism.coordinate.len());
        let zeros = DMatrix::from_element(nv, nv, T::from(0.0));
        let (still, none) = (SpatialVelocity::zero(), SpatialForce::zero());
        let o = Vector3::from_element(T::from(0.0));
        let direction = Direction {
            psi: still,
            phi: still,
            omega: still,
            force_by_q: none,
            force_by_v: none,
            w: o,
            lag: o,
        };
        Self {
            tau_by_q: zeros.clone(),
            tau_by_v: zeros,
            moving: vec![MovingInertia::zero(); joints],
            applied: vec![AppliedForce::zero(); joints],
            directions: vec![direction; columns],
        }
    }

    /// Whether this is memory for a mechanism with as many joints and coordinates.
    pub(in crate::multibody) fn fits(&self, mechanism: &Mechanism<T>) -> bool {
        self.moving.len() == mechanism.joints.len() && self.directions.len() == mechanism.coordinate.len()
    }

    /// Sums moving inertias and applied forces from the leaves up.
    fn update_sums(&mut self, mechanism: &Mechanism<T>, workspace: &Workspace<T>, applied: &[BodyForce<T>]) {
        for (index, (moving, m)) in self.moving.iter_mut().zip(&workspace.motions).enumerate() {
            *moving = MovingInertia::new(&m.inertia, &workspace.felt_motion(mechanism, index).velocity);
        }
        for (index, joint) in mechanism.joints.iter().enumerate().rev() {
            if let Some(parent) = joint.parent {
                let moving = self.moving[index];
                self.moving[parent].add(&moving);
            }
        }
        if applied.is_empty() {
            return;
        }
        self.applied.fill(AppliedForce::zero());
        for BodyForce { body, force } in applied {
            let body = &mechanism.bodies[*body];
            let Some(joint) = body.joint else { continue };
            let m = &workspace.motions[joint];
            let p = m.rotation * body.x_mb.translation + m.position;
            let f = &force.translational;
            let lever = p * f.transpose() - Matrix3::from_diagonal_element(p.dot(f));
            self.applied[joint].add(&AppliedForce { sum: force.shifted(&-p), lever });
        }
        for (index, joint) in mechanism.joints.iter().enumerate().rev() {
            if let Some(parent) = joint.parent {
                let below = self.applied[index];
                self.applied[parent].add(&below);
            }
        }
    }

    /// Sets the directions of one joint.
    fn update_directions(
        &mut self,
        mechanism: &Mechanism<T>,
        workspace: &Workspace<T>,
        index: usize,
        vdot: &[T],
        any_applied: bool,
    ) {
        let joint = &mechanism.joints[index];
        let m = workspace.felt_motion(mechanism, index);
        let parent = m.velocity - m.relative;
        let own = OwnMotion::new(mechanism, workspace, index, vdot);
        for (i, k) in joint.columns.clone().enumerate() {
            let s = workspace.columns[k];
            let turned = m.velocity.cross(&s);
            let (mut psi, mut omega) = (turned, turned + parent.cross(&s));
            let mut phi = workspace.accelerations[index].cross(&s);
            if let Some(own) = &own {
                let (by_rates, by_accelerations) = own.of_configuration(joint, i, &s);
                psi.translational += by_rates;
                phi.translational += by_accelerations + parent.rotational.cross(&by_rates);
                omega.translational += own.of_rates(joint, i, &s, &by_rates);
            }
            phi += m.velocity.cross(&psi);
            let (composite, moving) = (&workspace.composites[index], &self.moving[index]);
            let mut force_by_q =
                s.cross_force(&workspace.forces[index]) + composite.times(&phi) + moving.times(&psi);
            let force_by_v = composite.times(&omega) + moving.times(&s);
            let w = moving.transposed_times(&s);
            let mut lag = self.directions[k].lag;
            if any_applied {
                force_by_q += self.applied[index].lag(&s.rotational);
                lag = self.applied[index].transposed_lag(&s);
            }
            self.directions[k] = Direction { psi, phi, omega, force_by_q, force_by_v, w, lag };
        }
    }
}

/// The motion of a joint whose columns depend on its own configuration: one that turns its child
/// about a centre that it moves.
struct OwnMotion<T> {
    /// Angular velocity of the child relative to the parent.
    spin: Vector3<T>,
    /// Part of the child's angular acceleration due to v̇.
    spin_rate: Vector3<T>,
    /// Velocity of the centre relative to the parent.
    center: Vector3<T>,
}

impl<T: Scalar> OwnMotion<T> {
    fn new(mechanism: &Mechanism<T>, workspace: &Workspace<T>, index: usize, vdot: &[T]) -> Option<Self> {
        let joint = &mechanism.joints[index];
        if !joint.kind.moves_its_center() {
            return None;
        }
        let m = workspace.felt_motion(mechanism, index);
        let position = &workspace.motions[index].position;
        let mut spin_rate = Vector3::from_element(T::from(0.0));
        for k in joint.columns.clone() {
            spin_rate += workspace.columns[k].rotational * vdot[mechanism.coordinate[k]];
        }
        let center = m.relative.shifted(position).translational;
        Some(Self { spin: m.relative.rotational, spin_rate, center })
    }

    /// The translational parts of ξ and η of coordinate `i` with column `s`: to move the centre
    /// moves the axes of the rotations.
    fn of_configuration(
        &self,
        joint: &Joint<T>,
        i: usize,
        s: &SpatialVelocity<T>,
    ) -> (Vector3<T>, Vector3<T>) {
        if joint.kind.is_translation(i) {
            (s.translational.cross(&self.spin), s.translational.cross(&self.spin_rate))
        } else {
            let o = Vector3::from_element(T::from(0.0));
            (o, o)
        }
    }

    /// The translational part of ζ of coordinate `i` with column `s`.
    fn of_rates(
        &self,
        joint: &Joint<T>,
        i: usize,
        s: &SpatialVelocity<T>,
        by_rates: &Vector3<T>,
    ) -> Vector3<T> {
        if joint.kind.is_translation(i) { *by_rates } else { self.center.cross(&s.rotational) }
    }
}

impl<T: Scalar> Mechanism<T> {
    /// The derivatives of τ of [`Mechanism::inverse_dynamics`], with the same arguments, with respect to
    /// configuration and velocity; with respect to v̇ it is the mass matrix. Applied forces are
    /// constant: their components in W and their points on the bodies do not change.
    ///
    /// # Panics
    /// When a slice or `derivatives` does not fit the mechanism, or a body is not there.
    pub fn inverse_dynamics_derivatives(
        &self,
        workspace: &mut Workspace<T>,
        vdot: &[T],
        gravity: &Vector3<T>,
        applied: &[BodyForce<T>],
        tau: &mut [T],
        derivatives: &mut InverseDerivatives<T>,
    ) {
        self.check_lengths(&[], &[derivatives.tau_by_q.nrows()]);
        assert!(derivatives.fits(self), "derivatives of this mechanism");
        workspace.update_composites(self);
        self.inverse_dynamics(workspace, vdot, gravity, applied, tau);
        derivatives.update(self, workspace, vdot, applied);
    }
}

impl<T: Scalar> InverseDerivatives<T> {
    /// Computes them after inverse dynamics; composite inertias are there already.
    fn update(
        &mut self,
        mechanism: &Mechanism<T>,
        workspace: &Workspace<T>,
        vdot: &[T],
        applied: &[BodyForce<T>],
    ) {
        self.update_sums(mechanism, workspace, applied);
        self.tau_by_q.fill(T::from(0.0));
        self.tau_by_v.fill(T::from(0.0));
        let any_applied = !applied.is_empty();
        for (index, joint) in mechanism.joints.iter().enumerate() {
            self.update_directions(mechanism, workspace, index, vdot, any_applied);
            for j in joint.columns.clone() {
                let d = &self.directions[j];
                let mut row = Some(joint.columns.end - 1);
                while let Some(k) = row {
                    let (s, at) = (&workspace.columns[k], (mechanism.coordinate[k], mechanism.coordinate[j]));
                    self.tau_by_q[at] += s.dot(&d.force_by_q);
                    self.tau_by_v[at] += s.dot(&d.force_by_v);
                    row = mechanism.column_parent[k];
                }
            }
            if joint.kind.moves_its_center() {
                self.add_own_columns(mechanism, workspace, index);
            }
        }
        self.fill_below(mechanism, workspace, any_applied);
    }

    /// The force on the child times the change of the joint's own columns.
    fn add_own_columns(&mut self, mechanism: &Mechanism<T>, workspace: &Workspace<T>, index: usize) {
        let joint = &mechanism.joints[index];
        let force = &workspace.forces[index].translational;
        let is_translation = |k: usize| joint.kind.is_translation(k - joint.columns.start);
        for j in joint.columns.clone().filter(|&j| is_translation(j)) {
            for k in joint.columns.clone().filter(|&k| !is_translation(k)) {
                let change = workspace.columns[j].translational.cross(&workspace.columns[k].rotational);
                self.tau_by_q[(mechanism.coordinate[k], mechanism.coordinate[j])] += change.dot(force);
            }
        }
    }

    /// Adds the elements of coordinates that others carry. There S_j × S_k and S_j ×* F cancel.
    fn fill_below(&mut self, mechanism: &Mechanism<T>, workspace: &Workspace<T>, any_applied: bool) {
        for joint in &mechanism.joints {
            let end = mechanism.joints[joint.subtree.end - 1].columns.end;
            for j in joint.columns.clone() {
                let d = self.directions[j];
                let turn = workspace.columns[j].rotational;
                for k in joint.columns.end..end {
                    let at = (mechanism.coordinate[k], mechanism.coordinate[j]);
                    let (u, below) = (&workspace.momenta[k], &self.directions[k]);
                    let mut by_q = d.phi.dot(u) + d.psi.rotational.dot(&below.w);
                    if any_applied {
                        by_q += turn.dot(&below.lag);
                    }
                    self.tau_by_q[at] += by_q;
                    self.tau_by_v[at] += d.omega.dot(u) + turn.dot(&below.w);
                }
            }
        }
    }
}
