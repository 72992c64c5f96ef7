//! What changes while a mechanism moves.

use super::mechanism::Mechanism;
use crate::scalar::Scalar;

/// Configuration and velocity of a mechanism, in the coordinates of its joints (see
/// [`JointKind`](super::JointKind)).
#[derive(Clone, Debug, PartialEq)]
pub struct JointState<T = f64> {
    /// Configuration coordinates. Quaternions must have unit length.
    pub q: Vec<T>,
    /// Velocity coordinates.
    pub v: Vec<T>,
}

impl<T: Scalar> JointState<T> {
    /// A constant state as scalars `T`.
    pub fn lift(s: &JointState<f64>) -> Self {
        let lift = |x: &[f64]| x.iter().map(|x| T::from(*x)).collect();
        Self { q: lift(&s.q), v: lift(&s.v) }
    }

    /// The state without its derivatives.
    pub fn real(&self) -> JointState<f64> {
        let real = |x: &[T]| x.iter().map(|x| x.real()).collect();
        JointState { q: real(&self.q), v: real(&self.v) }
    }
}

impl<T: Scalar> Mechanism<T> {
    /// The state at rest in which every frame M lies on its F.
    pub fn neutral_state(&self) -> JointState<T> {
        let q = self.joints.iter().flat_map(|j| j.kind.neutral().iter().map(|x| T::from(*x))).collect();
        JointState { q, v: vec![T::from(0.0); self.nv] }
    }

    /// `q ⊕ δ`: the configuration moved along its tangent space, written into `moved`.
    /// Derivatives seeded in a zero δ are derivatives in the tangent space.
    ///
    /// # Panics
    /// When a slice does not have the length of the mechanism's `q` or `v`.
    pub fn move_configuration(&self, q: &[T], delta: &[T], moved: &mut [T]) {
        self.check_lengths(&[q.len(), moved.len()], &[delta.len()]);
        for j in &self.joints {
            j.kind.moved(&q[j.q.clone()], &delta[j.v.clone()], &mut moved[j.q.clone()]);
        }
    }

    /// The tangent δ with `from ⊕ δ = to`, written into `delta`; quaternions by at most half a
    /// turn.
    ///
    /// # Panics
    /// When a slice does not have the length of the mechanism's `q` or `v`.
    pub fn configuration_difference(&self, from: &[T], to: &[T], delta: &mut [T]) {
        self.check_lengths(&[from.len(), to.len()], &[delta.len()]);
        for j in &self.joints {
            j.kind.difference(&from[j.q.clone()], &to[j.q.clone()], &mut delta[j.v.clone()]);
        }
    }

    /// The rate q̇ of the configuration coordinates at the velocity `v`, written into `rate`.
    ///
    /// # Panics
    /// When a slice does not have the length of the mechanism's `q` or `v`.
    pub fn configuration_rate(&self, q: &[T], v: &[T], rate: &mut [T]) {
        self.check_lengths(&[q.len(), rate.len()], &[v.len()]);
        for j in &self.joints {
            j.kind.configuration_rate(&q[j.q.clone()], &v[j.v.clone()], &mut rate[j.q.clone()]);
        }
    }

    /// Checks the lengths of vectors of configuration and velocity coordinates.
    pub(super) fn check_lengths(&self, q: &[usize], v: &[usize]) {
        let (nq, nv) = (self.configuration_dimension(), self.nv);
        assert!(q.iter().all(|n| *n == nq), "{nq} configuration coordinates are needed, found {q:?}");
        assert!(v.iter().all(|n| *n == nv), "{nv} velocity coordinates are needed, found {v:?}");
    }
}
