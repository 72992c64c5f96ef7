//! The derivatives of [`InertialMotion`].

use nalgebra::DMatrix;

use super::inertial_motion::InertialMotion;
use super::mechanism::Mechanism;
use super::midpoint_rule::MiddleVelocities;
use super::state::JointState;
use crate::scalar::DualArray;
use crate::spatial::{MASS_NUMBERS, MassProperties};

/// How the motion of a mechanism without forces over a step depends on its configuration and
/// velocity, and on the masses of its bodies: by evaluation in dual numbers. Only mechanisms with
/// ball or free joints have such a motion, and it is a small part of what a step computes.
#[derive(Debug)]
pub(crate) struct InertialSensitivity {
    /// With respect to the directions of configuration and velocity.
    by_state: Derivatives,
    /// With respect to the numbers of the mass properties of bodies, each by its index in
    /// [`Mechanism::bodies`], if they are asked for.
    by_masses: Vec<(usize, Derivatives)>,
}

/// Derivatives of the numbers of [`InertialMotion`], a row for each coordinate.
#[derive(Debug)]
struct Derivatives {
    impulse: DMatrix<f64>,
    velocity_change: DMatrix<f64>,
    extra_moves: DMatrix<f64>,
}

impl Derivatives {
    fn zero(rows: usize, columns: usize) -> Self {
        let zero = || DMatrix::zeros(rows, columns);
        Self { impulse: zero(), velocity_change: zero(), extra_moves: zero() }
    }

    /// Sets columns, given with the directions of the dual numbers that they are.
    fn set<const N: usize>(&mut self, motion: &InertialMotion<DualArray<N>>, columns: &[usize]) {
        let parts = [
            (&mut self.impulse, &motion.impulse),
            (&mut self.velocity_change, &motion.velocity_change),
            (&mut self.extra_moves, &motion.extra_moves),
        ];
        for (matrix, numbers) in parts {
            for (row, number) in numbers.iter().enumerate() {
                for (&column, eps) in columns.iter().zip(number.eps) {
                    matrix[(row, column)] = eps;
                }
            }
        }
    }

    /// Calls `add` with each column's number and its product with `by`.
    fn vjp(&self, by: &InertialMotion, mut add: impl FnMut(usize, f64)) {
        let parts = [
            (&self.impulse, &by.impulse),
            (&self.velocity_change, &by.velocity_change),
            (&self.extra_moves, &by.extra_moves),
        ];
        for (matrix, by) in parts.into_iter().filter(|(_, by)| !by.is_empty()) {
            for (k, column) in matrix.column_iter().enumerate() {
                add(k, column.iter().zip(by).map(|(x, by)| x * by).sum());
            }
        }
    }
}

impl InertialSensitivity {
    /// That of a step of `dt` seconds of a mechanism, also given as one of constants, by `N`
    /// directions at a time; with the masses only if asked. None without ball and free joints.
    pub fn new<const N: usize>(
        real: &Mechanism,
        mechanism: &Mechanism<DualArray<N>>,
        joints: &JointState,
        dt: f64,
        of_masses: bool,
    ) -> Option<Self> {
        type Dual<const N: usize> = DualArray<N>;
        if !mechanism.has_spherical_joints() {
            return None;
        }
        let n = mechanism.nv;
        let state = JointState::<Dual<N>>::lift(joints);
        let middle = MiddleVelocities::find(real, &joints.q, &joints.v, dt, true);
        let is_concerned = |joint: usize| {
            let tree = mechanism.trees.iter().find(|tree| tree.joints.contains(&joint));
            tree.is_some_and(|tree| mechanism.is_spherical(tree))
        };
        let concerned = (0..mechanism.joints.len()).filter(|&joint| is_concerned(joint));
        let coordinates: Vec<usize> = concerned.flat_map(|joint| mechanism.joints[joint].v.clone()).collect();
        let directions: Vec<usize> =
            coordinates.iter().copied().chain(coordinates.iter().map(|k| n + k)).collect();
        let mut by_state = Derivatives::zero(n, 2 * n);
        for chunk in directions.chunks(N) {
            let mut moves = vec![Dual::from(0.0); 2 * n];
            chunk.iter().enumerate().for_each(|(k, &direction)| moves[direction] = Dual::variable(0.0, k));
            let moved = state.moved(&moves[..n], &moves[n..]);
            by_state.set(&InertialMotion::at(mechanism, &moved.q, &moved.v, Dual::from(dt), &middle), chunk);
        }
        let bodies = mechanism.bodies.iter().enumerate().filter(|_| of_masses);
        let bodies = bodies.filter_map(|(index, body)| Some((index, body.joint?, body.mass.as_ref()?)));
        let of_body = |(index, _, mass): (usize, usize, &MassProperties<_>)| {
            let (mass, mut derivatives) = (mass.real(), Derivatives::zero(n, MASS_NUMBERS));
            let numbers: Vec<usize> = (0..MASS_NUMBERS).collect();
            for chunk in numbers.chunks(N) {
                let seeded = mechanism.clone().with_body_mass(index, mass.seeded(chunk[0]));
                derivatives
                    .set(&InertialMotion::at(&seeded, &state.q, &state.v, Dual::from(dt), &middle), chunk);
            }
            (index, derivatives)
        };
        let by_masses = bodies.filter(|(_, joint, _)| is_concerned(*joint)).map(of_body).collect();
        Some(Self { by_state, by_masses })
    }

    /// Adds to `by_joints`, configuration and velocity one after the other, the derivatives of a number,
    /// given those `by` the motion (none where these are empty), and calls `visit` with the bodies and
    /// the derivatives with respect to their masses.
    pub fn add_vjp(
        &self,
        by: &InertialMotion,
        by_joints: &mut [f64],
        mut visit: impl FnMut(usize, &MassProperties),
    ) {
        self.by_state.vjp(by, |k, product| by_joints[k] += product);
        for (body, derivatives) in &self.by_masses {
            let mut numbers = [0.0; MASS_NUMBERS];
            derivatives.vjp(by, |k, product| numbers[k] += product);
            let mut mass = MassProperties::zero();
            mass.add_numbers(&numbers);
            visit(*body, &mass);
        }
    }
}
