//! What changes while a mechanism moves.

use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

use super::joint::JointKind;
use super::mechanism::Mechanism;
use crate::scalar::Scalar;

/// Configuration and velocity of a mechanism, in the coordinates of its joints (see
/// [`JointKind`]).
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct JointState<T = f64> {
    /// The kinds of the joints that have coordinates, in order: what the coordinates mean.
    kinds: Arc<[JointKind]>,
    /// Configuration coordinates. Quaternions must have unit length.
    pub q: Vec<T>,
    /// Velocity coordinates.
    pub v: Vec<T>,
}

impl<T: Clone> Clone for JointState<T> {
    fn clone(&self) -> Self {
        Self { kinds: Arc::clone(&self.kinds), q: self.q.clone(), v: self.v.clone() }
    }

    /// Takes the memory that is there.
    fn clone_from(&mut self, from: &Self) {
        if !Arc::ptr_eq(&self.kinds, &from.kinds) {
            self.kinds = Arc::clone(&from.kinds);
        }
        self.q.clone_from(&from.q);
        self.v.clone_from(&from.v);
    }
}

impl<T> Default for JointState<T> {
    /// The state of no joints.
    fn default() -> Self {
        Self { kinds: Arc::default(), q: Vec::new(), v: Vec::new() }
    }
}

impl<T: Scalar> JointState<T> {
    /// A constant state as scalars `T`.
    pub fn lift(s: &JointState<f64>) -> Self {
        let lift = |x: &[f64]| x.iter().map(|x| T::from(*x)).collect();
        Self { kinds: Arc::clone(&s.kinds), q: lift(&s.q), v: lift(&s.v) }
    }

    /// Sets this to a constant state, in place.
    pub(crate) fn assign(&mut self, s: &JointState<f64>) {
        let Self { kinds, q, v } = self;
        if !Arc::ptr_eq(kinds, &s.kinds) {
            *kinds = Arc::clone(&s.kinds);
        }
        for (to, from) in [(q, &s.q), (v, &s.v)] {
            to.clear();
            to.extend(from.iter().map(|x| T::from(*x)));
        }
    }

    /// Writes the state without its derivatives into `to`.
    pub(crate) fn write_real(&self, to: &mut JointState<f64>) {
        if !Arc::ptr_eq(&to.kinds, &self.kinds) {
            to.kinds = Arc::clone(&self.kinds);
        }
        for (to, from) in [(&mut to.q, &self.q), (&mut to.v, &self.v)] {
            to.clear();
            to.extend(from.iter().map(|x| x.real()));
        }
    }

    /// The state without its derivatives.
    pub fn real(&self) -> JointState<f64> {
        let real = |x: &[T]| x.iter().map(|x| x.real()).collect();
        JointState { kinds: Arc::clone(&self.kinds), q: real(&self.q), v: real(&self.v) }
    }

    /// The state moved along its tangent space: the configuration by `delta_q`, in the
    /// coordinates of the velocity (see [`JointKind`]), the velocity by `delta_v`.
    ///
    /// # Panics
    /// When either does not have as many numbers as `v`.
    pub fn moved(&self, delta_q: &[T], delta_v: &[T]) -> Self {
        let mut moved = Self::default();
        moved.set_moved(self, delta_q, delta_v);
        moved
    }

    /// Becomes [`Self::moved`] of `from`, in place.
    pub(crate) fn set_moved(&mut self, from: &Self, delta_q: &[T], delta_v: &[T]) {
        assert_eq!([delta_q.len(), delta_v.len()], [from.v.len(); 2], "one number for each velocity");
        if !Arc::ptr_eq(&self.kinds, &from.kinds) {
            self.kinds = Arc::clone(&from.kinds);
        }
        let Self { q, v, .. } = self;
        q.clear();
        q.extend_from_slice(&from.q);
        from.for_each_joint(|kind, q_range, v_range| {
            kind.moved(&from.q[q_range.clone()], &delta_q[v_range], &mut q[q_range]);
        });
        v.clear();
        v.extend(from.v.iter().zip(delta_v).map(|(v, d)| *v + *d));
    }

    /// The tangent (δq, δv) with `self ⊕ δ = to`, written into `delta`: the inverse of
    /// [`JointState::moved`]; quaternions by at most half a turn.
    ///
    /// # Panics
    /// When the states do not belong to the same mechanism, or `delta` does not have twice as many
    /// numbers as `v`.
    pub fn difference(&self, to: &Self, delta: &mut [T]) {
        let nv = self.v.len();
        assert!(to.v.len() == nv && delta.len() == 2 * nv, "states of the same mechanism");
        let (delta_q, delta_v) = delta.split_at_mut(nv);
        self.for_each_joint(|kind, q, v| kind.difference(&self.q[q.clone()], &to.q[q], &mut delta_q[v]));
        for ((d, from), to) in delta_v.iter_mut().zip(&self.v).zip(&to.v) {
            *d = *to - *from;
        }
    }

    /// The velocity coordinates at which the rotations of ball and free joints begin: three each,
    /// that move a quaternion. All other coordinates are added to.
    pub fn rotations(&self) -> impl Iterator<Item = usize> + '_ {
        let starts = self.kinds.iter().scan(0, |next, kind| {
            let start = *next;
            *next += kind.velocity_dimension();
            Some((kind, start))
        });
        starts.filter(|(kind, _)| kind.is_spherical()).map(|(_, start)| start)
    }

    /// The kinds of the joints that have coordinates, in order.
    pub fn kinds(&self) -> &[JointKind] {
        &self.kinds
    }

    /// Calls `visit` for every joint with its kind and its coordinates in `q` and `v`.
    pub(crate) fn for_each_joint(&self, mut visit: impl FnMut(&JointKind, Range<usize>, Range<usize>)) {
        let (mut q, mut v) = (0, 0);
        for kind in self.kinds.iter() {
            let (dq, dv) = (kind.configuration_dimension(), kind.velocity_dimension());
            visit(kind, q..q + dq, v..v + dv);
            (q, v) = (q + dq, v + dv);
        }
    }
}

impl<T: Scalar> Mechanism<T> {
    /// A state in the coordinates of this mechanism.
    ///
    /// # Panics
    /// When `q` or `v` does not have the mechanism's length.
    pub fn state(&self, q: Vec<T>, v: Vec<T>) -> JointState<T> {
        self.check_lengths(&[q.len()], &[v.len()]);
        JointState { kinds: Arc::clone(&self.kinds), q, v }
    }

    /// The state at rest in which every frame M lies on its F, but for joints that follow others.
    pub fn neutral_state(&self) -> JointState<T> {
        let q = self.kinds.iter().flat_map(|kind| kind.neutral().iter().map(|x| T::from(*x))).collect();
        self.state(q, vec![T::from(0.0); self.nv])
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
