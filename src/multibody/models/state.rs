//! The state of a model: what changes while it moves.

use std::ops::Range;

use nalgebra::Vector3;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::contact::{DEFLECTION_DIMENSION, Deflection};
use crate::multibody::tree::JointState;
use crate::scalar::{DualArray, Scalar};
use crate::spatial::{Quaternion, RigidTransform, SpatialVelocity, rotation_between};

/// Number of tangent directions of one free body: rotation (3), translation (3), angular
/// velocity (3), velocity (3), in this order, all expressed in the world frame W.
pub const TANGENT_DIMENSION: usize = 12;

/// Pose and velocity of one free body B.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "T: nalgebra::Scalar + Serialize + DeserializeOwned")]
pub struct BodyState<T = f64> {
    /// Orientation of B in W.
    pub orientation: Quaternion<T>,
    /// Position of B's origin in W, m.
    pub position: Vector3<T>,
    /// Velocity of B in W: angular velocity (rad/s) and velocity of B's origin (m/s), in W.
    pub velocity: SpatialVelocity<T>,
}

impl<T: Scalar> BodyState<T> {
    /// A body at rest at a pose.
    pub fn at_rest(pose: &RigidTransform<T>) -> Self {
        Self {
            orientation: Quaternion::from_matrix(&pose.rotation),
            position: pose.translation,
            velocity: SpatialVelocity::zero(),
        }
    }

    /// A constant state as scalars `T`.
    pub fn lift(s: &BodyState<f64>) -> Self {
        Self {
            orientation: Quaternion::lift(&s.orientation),
            position: s.position.map(T::from),
            velocity: SpatialVelocity::lift(&s.velocity),
        }
    }

    /// The state without its derivatives.
    pub fn real(&self) -> BodyState<f64> {
        BodyState {
            orientation: self.orientation.real(),
            position: self.position.map(|x| x.real()),
            velocity: self.velocity.real(),
        }
    }

    /// The pose `x_wb` of the body.
    pub fn pose(&self) -> RigidTransform<T> {
        RigidTransform::new(self.orientation.to_matrix(), self.position)
    }

    /// The state moved by the twelve numbers of `tangent` (see [`TANGENT_DIMENSION`]): the orientation
    /// is rotated by a rotation vector in W, and the other numbers are added.
    #[must_use]
    pub fn moved(&self, tangent: &[T]) -> Self {
        let part = |i: usize| Vector3::new(tangent[i], tangent[i + 1], tangent[i + 2]);
        Self {
            orientation: self.orientation.rotated_by(&part(0)),
            position: self.position + part(3),
            velocity: SpatialVelocity::new(
                self.velocity.rotational + part(6),
                self.velocity.translational + part(9),
            ),
        }
    }

    /// The tangent that moves `self` to `to`: the inverse of [`Self::moved`].
    pub(crate) fn difference(&self, to: &Self) -> [T; TANGENT_DIMENSION] {
        let rotation = rotation_between(&self.orientation, &to.orientation);
        let position = to.position - self.position;
        let angular = to.velocity.rotational - self.velocity.rotational;
        let linear = to.velocity.translational - self.velocity.translational;
        std::array::from_fn(|i| match i / 3 {
            0 => rotation[i],
            1 => position[i - 3],
            2 => angular[i - 6],
            _ => linear[i - 9],
        })
    }

    /// Whether every number is finite.
    pub fn is_finite(&self) -> bool {
        let s = self.real();
        s.orientation.w.is_finite()
            && [s.orientation.v, s.position, s.velocity.rotational, s.velocity.translational]
                .iter()
                .all(|v| v.iter().all(|x| x.is_finite()))
    }
}

/// The state of a model: poses and velocities of its free bodies, in the order of the model's bodies,
/// configuration and velocity of its joints, and the deflection of the bristles between geometries that stick.
///
/// The tangent space has twelve directions for each free body (see [`TANGENT_DIMENSION`]), then
/// one for the configuration of each of the joints' velocity coordinates, then one for each of
/// these velocities, then six for each deflection: its rotation and its translation.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "T: nalgebra::Scalar + Serialize + DeserializeOwned")]
pub struct State<T = f64> {
    /// One for each free body.
    pub bodies: Vec<BodyState<T>>,
    /// Configuration and velocity of the joints.
    pub joints: JointState<T>,
    /// One for each pair of geometries that can touch, in the order of [`Model::pairs`](crate::multibody::Model::pairs), in a
    /// model with bristles (see
    /// [`ContactSettings::bristle_length`](crate::contact::ContactSettings::bristle_length)); none in others. A
    /// state without any is taken for one without deflection: [`Model::completed`](crate::multibody::Model::completed).
    pub bristles: Vec<Deflection<T>>,
}

impl<T: Clone> Clone for State<T> {
    fn clone(&self) -> Self {
        Self { bodies: self.bodies.clone(), joints: self.joints.clone(), bristles: self.bristles.clone() }
    }

    /// Takes the memory that is there.
    fn clone_from(&mut self, from: &Self) {
        self.bodies.clone_from(&from.bodies);
        self.joints.clone_from(&from.joints);
        self.bristles.clone_from(&from.bristles);
    }
}

impl<T> Default for State<T> {
    /// The state of a model without moving bodies and joints.
    fn default() -> Self {
        Self::of_bodies(Vec::new())
    }
}

impl<T> State<T> {
    /// The state of free bodies without joints.
    pub fn of_bodies(bodies: Vec<BodyState<T>>) -> Self {
        Self::new(bodies, JointState::default())
    }

    /// The state of free bodies and joints, without deflection of bristles.
    pub fn new(bodies: Vec<BodyState<T>>, joints: JointState<T>) -> Self {
        Self { bodies, joints, bristles: Vec::new() }
    }

    /// Number of tangent directions of the free bodies, which come first.
    pub fn body_tangent_dimension(&self) -> usize {
        self.bodies.len() * TANGENT_DIMENSION
    }

    /// Number of tangent directions of the free bodies and the joints, which come before those of bristles.
    pub fn motion_tangent_dimension(&self) -> usize {
        self.body_tangent_dimension() + 2 * self.joints.v.len()
    }

    /// Number of tangent directions.
    pub fn tangent_dimension(&self) -> usize {
        self.motion_tangent_dimension() + self.bristles.len() * DEFLECTION_DIMENSION
    }
}

impl<T: Scalar> State<T> {
    /// A constant state as scalars `T`.
    pub fn lift(s: &State<f64>) -> Self {
        Self {
            bodies: s.bodies.iter().map(BodyState::lift).collect(),
            joints: JointState::lift(&s.joints),
            bristles: s.bristles.iter().map(Deflection::lift).collect(),
        }
    }

    /// All its numbers, so that the same bits can be had again.
    pub(crate) fn numbers_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let of_bodies = self.bodies.iter_mut().flat_map(|BodyState { orientation, position, velocity }| {
            let SpatialVelocity { rotational, translational } = velocity;
            let vectors = [&mut orientation.v, position, rotational, translational];
            std::iter::once(&mut orientation.w).chain(vectors.into_iter().flat_map(|v| v.iter_mut()))
        });
        let bristles = self.bristles.iter_mut();
        let vectors = bristles.flat_map(|Deflection { rotation, translation }| [rotation, translation]);
        let of_bristles = vectors.flat_map(|v| v.iter_mut());
        of_bodies.chain(&mut self.joints.q).chain(&mut self.joints.v).chain(of_bristles)
    }

    /// The deflection of the bristles of a pair, given by its index; zero in a state that says nothing of bristles.
    pub(crate) fn deflection(&self, pair: usize) -> Deflection<T> {
        self.bristles.get(pair).copied().unwrap_or_else(Deflection::zero)
    }

    /// Memory in bytes that the state takes.
    pub(crate) fn bytes(&self) -> usize {
        let joints = (self.joints.q.len() + self.joints.v.len()) * size_of::<T>();
        let bristles = self.bristles.len() * size_of::<Deflection<T>>();
        size_of::<Self>() + self.bodies.len() * size_of::<BodyState<T>>() + joints + bristles
    }

    /// Sets this to a constant state, in place.
    pub(crate) fn assign(&mut self, s: &State<f64>) {
        self.bodies.clear();
        self.bodies.reserve_exact(s.bodies.len());
        self.bodies.extend(s.bodies.iter().map(BodyState::lift));
        self.joints.assign(&s.joints);
        self.bristles.clear();
        self.bristles.extend(s.bristles.iter().map(Deflection::lift));
    }

    /// Writes the state without its derivatives into `to`.
    pub(crate) fn write_real(&self, to: &mut State<f64>) {
        to.bodies.clear();
        to.bodies.extend(self.bodies.iter().map(BodyState::real));
        self.joints.write_real(&mut to.joints);
        to.bristles.clear();
        to.bristles.extend(self.bristles.iter().map(Deflection::real));
    }

    /// The state without its derivatives.
    pub fn real(&self) -> State<f64> {
        State {
            bodies: self.bodies.iter().map(BodyState::real).collect(),
            joints: self.joints.real(),
            bristles: self.bristles.iter().map(Deflection::real).collect(),
        }
    }

    /// The state moved along its tangent space, `x ⊕ δ`. The numbers of δ are, for each free body in
    /// turn, a rotation vector, a translation, and changes of angular and linear velocity, all in W;
    /// then changes of the joints' configuration and velocity, then of the bristles' deflections. Derivatives
    /// seeded in a zero `tangent` are derivatives in the tangent space.
    ///
    /// # Panics
    /// When `tangent` does not have [`State::tangent_dimension`] numbers.
    #[must_use]
    pub fn moved(&self, tangent: &[T]) -> Self {
        assert_eq!(tangent.len(), self.tangent_dimension(), "one number for each tangent direction");
        let mut moved = Self::default();
        moved.set_moved(self, tangent);
        moved
    }

    /// Becomes [`Self::moved`] of `from`, in place.
    #[inline(never)]
    pub(crate) fn set_moved(&mut self, from: &Self, tangent: &[T]) {
        let (of_motion, of_bristles) = tangent.split_at(from.motion_tangent_dimension());
        let (of_bodies, of_joints) = of_motion.split_at(from.body_tangent_dimension());
        let parts = of_bodies.chunks_exact(TANGENT_DIMENSION);
        self.bodies.clear();
        self.bodies.extend(from.bodies.iter().zip(parts).map(|(body, part)| body.moved(part)));
        let (delta_q, delta_v) = of_joints.split_at(from.joints.v.len());
        self.joints.set_moved(&from.joints, delta_q, delta_v);
        let parts = of_bristles.chunks_exact(DEFLECTION_DIMENSION);
        self.bristles.clear();
        self.bristles.extend(from.bristles.iter().zip(parts).map(|(bristles, part)| {
            let mut numbers = bristles.numbers();
            numbers.iter_mut().zip(part).for_each(|(x, change)| *x += *change);
            Deflection::from_numbers(numbers)
        }));
    }

    /// The tangent δ with `self ⊕ δ = to`: the inverse of [`State::moved`].
    ///
    /// With `self` the constant real part of `to`, the derivatives of the result are those of
    /// `to` in the tangent space.
    ///
    /// # Panics
    /// When the two states are not of the same model.
    #[inline(never)]
    pub fn difference(&self, to: &Self) -> Vec<T> {
        assert_eq!(self.bodies.len(), to.bodies.len(), "states of the same model");
        let mut tangent = Vec::with_capacity(self.tangent_dimension());
        tangent.extend(self.bodies.iter().zip(&to.bodies).flat_map(|(a, b)| a.difference(b)));
        tangent.resize(self.motion_tangent_dimension(), T::from(0.0));
        self.joints.difference(&to.joints, &mut tangent[self.body_tangent_dimension()..]);
        assert_eq!(self.bristles.len(), to.bristles.len(), "states of the same model");
        for (from, to) in self.bristles.iter().zip(&to.bristles) {
            tangent.extend(from.numbers().into_iter().zip(to.numbers()).map(|(from, to)| to - from));
        }
        tangent
    }

    /// Whether every number is finite.
    pub fn is_finite(&self) -> bool {
        let JointState { q, v, .. } = &self.joints;
        self.bodies.iter().all(BodyState::is_finite)
            && q.iter().chain(v).all(|x| x.real().is_finite())
            && self.bristles.iter().all(Deflection::is_finite)
    }
}

/// Calls `visit` several times with the state in dual numbers, each time with derivatives along other
/// directions of its tangent space, and with the range of these directions: first those of each free
/// body, then those of the joints, then those of bristles, as many at a time as the dual numbers have.
/// `lifted` is scratch memory, and is left without derivatives.
#[inline(never)]
pub(crate) fn for_each_tangent_chunk<const N: usize>(
    state: &State,
    lifted: &mut State<DualArray<N>>,
    visit: &mut dyn FnMut(&State<DualArray<N>>, Range<usize>),
) {
    lifted.assign(state);
    let seeds: [DualArray<N>; N] = std::array::from_fn(|k| DualArray::variable(0.0, k));
    for body in 0..state.bodies.len() {
        let constant = lifted.bodies[body];
        lifted.bodies[body] = constant.moved(&seeds[..TANGENT_DIMENSION]);
        let first = body * TANGENT_DIMENSION;
        visit(lifted, first..first + TANGENT_DIMENSION);
        lifted.bodies[body] = constant;
    }
    for_each_joint_chunk(state, lifted, &seeds, visit);
    let first = state.motion_tangent_dimension();
    // Whole deflections at a time.
    let at_a_time = (N / DEFLECTION_DIMENSION).max(1);
    for pair in (0..state.bristles.len()).step_by(at_a_time) {
        let pairs = pair..state.bristles.len().min(pair + at_a_time);
        let constants: Vec<_> = lifted.bristles[pairs.clone()].to_vec();
        for (bristles, seeds) in
            lifted.bristles[pairs.clone()].iter_mut().zip(seeds.chunks(DEFLECTION_DIMENSION))
        {
            let mut numbers = bristles.numbers();
            numbers.iter_mut().zip(seeds).for_each(|(x, seed)| *x += *seed);
            *bristles = Deflection::from_numbers(numbers);
        }
        let at = |pair: usize| first + pair * DEFLECTION_DIMENSION;
        visit(lifted, at(pairs.start)..at(pairs.end));
        lifted.bristles[pairs].copy_from_slice(&constants);
    }
}

/// The part of [`for_each_tangent_chunk`] of the joints.
fn for_each_joint_chunk<const N: usize>(
    state: &State,
    lifted: &mut State<DualArray<N>>,
    seeds: &[DualArray<N>; N],
    visit: &mut dyn FnMut(&State<DualArray<N>>, Range<usize>),
) {
    let (first, nv) = (state.body_tangent_dimension(), state.joints.v.len());
    if nv == 0 {
        return;
    }
    let mut delta = vec![DualArray::from(0.0); 2 * nv];
    for start in (0..2 * nv).step_by(N) {
        let end = (2 * nv).min(start + N);
        delta[start..end].copy_from_slice(&seeds[..end - start]);
        let constant = lifted.joints.clone();
        lifted.joints = constant.moved(&delta[..nv], &delta[nv..]);
        visit(lifted, first + start..first + end);
        lifted.joints = constant;
        delta[start..end].fill(DualArray::from(0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use num_dual::Dual64;
    use proptest::prelude::*;

    fn some_state() -> State {
        State::of_bodies(vec![BodyState {
            orientation: Quaternion::from_wxyz(0.3, -0.2, 0.8, 0.1),
            position: Vector3::new(0.1, -0.4, 2.0),
            velocity: SpatialVelocity::new(Vector3::new(1.0, 2.0, -3.0), Vector3::new(0.2, 0.0, 0.4)),
        }])
    }

    proptest! {
        #[test]
        fn difference_inverts_moved(
            rotation in prop::array::uniform3(-1.8..1.8f64),
            shrink in prop::sample::select(vec![1.0, 0.1, 1e-4, 1e-9, 0.0]),
            rest in prop::array::uniform9(-1.0..1.0f64),
        ) {
            let mut tangent: Vec<f64> = rotation.iter().map(|x| x * shrink).collect();
            tangent.extend(rest);
            let state = some_state();
            let back = state.difference(&state.moved(&tangent));
            for (got, expected) in back.iter().zip(&tangent) {
                prop_assert!((got - expected).abs() < 1e-14, "{got} {expected}");
            }
        }
    }

    #[test]
    fn bristles_come_last_in_the_tangent_space() {
        let mut state = some_state();
        let s = |k: f64| Deflection::from_numbers([0.1, -0.2, 0.3, 4e-6, 5e-6, -6e-6].map(|x| x * k));
        state.bristles = vec![s(1.0), s(-0.5), Deflection::zero()];
        assert_eq!((state.motion_tangent_dimension(), state.tangent_dimension()), (12, 30));
        let tangent: Vec<f64> = (0..30).map(|i| 1e-3 * (1.7 * f64::from(i)).sin()).collect();
        let moved = state.moved(&tangent);
        assert_eq!(moved.bristles[1].translation.y, state.bristles[1].translation.y + tangent[22]);
        for (got, expected) in state.difference(&moved).iter().zip(&tangent) {
            assert!((got - expected).abs() < 1e-15);
        }
        // Every direction is seeded once, alone, and nothing is left behind.
        let mut lifted = State::<DualArray<12>>::lift(&state);
        let mut seen = Vec::new();
        let constant = lifted.clone();
        for_each_tangent_chunk(&state, &mut lifted, &mut |seeded, directions| {
            let change = State::lift(&state).difference(seeded);
            for (k, direction) in directions.clone().enumerate() {
                for (row, x) in change.iter().enumerate() {
                    assert!((x.eps[k] - f64::from(u8::from(row == direction))).abs() < 1e-15);
                }
            }
            seen.extend(directions);
        });
        assert_eq!(seen, (0..30).collect::<Vec<_>>());
        assert_eq!(lifted, constant);
        assert_eq!(State::<DualArray<12>>::lift(&state).real(), state);
        let mut copy = State::<f64>::default();
        copy.assign(&state);
        assert_eq!(copy, state);
        assert!(copy.bytes() > some_state().bytes() && copy.is_finite());
        copy.bristles[2].rotation.x = f64::NAN;
        assert!(!copy.is_finite());
    }

    #[test]
    fn derivative_of_difference_agrees_with_central_differences() {
        // At zero, on both sides of the series' limit, and at a large turn.
        for size in [0.0, 0.19, 0.21, 2.0] {
            for direction in 0..3 {
                let tangent = |h: f64| {
                    let mut t = vec![0.0; 12];
                    t[..3].copy_from_slice(&[0.6 * size, -0.48 * size, 0.64 * size]);
                    t[direction] += h;
                    t
                };
                let start = some_state();
                // Not through the inverse pair alone: the reference is turned once more.
                let reference = start.moved(&[0.02, 0.01, -0.03, 0., 0., 0., 0., 0., 0., 0., 0., 0.]);
                let real = |h: f64| reference.difference(&start.moved(&tangent(h)));
                let mut dual: Vec<Dual64> = tangent(0.0).into_iter().map(Dual64::from).collect();
                dual[direction].eps = 1.0;
                let lifted = State::<Dual64>::lift(&reference);
                let got = lifted.difference(&State::<Dual64>::lift(&start).moved(&dual));
                let h = 1e-5;
                let (plus, minus) = (real(h), real(-h));
                for i in 0..3 {
                    assert_relative_eq!(got[i].re, real(0.0)[i], epsilon = 1e-14);
                    assert_relative_eq!(got[i].eps, (plus[i] - minus[i]) / (2.0 * h), epsilon = 1e-9);
                }
            }
        }
    }
}
