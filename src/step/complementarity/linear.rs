//! The linear complementarity problems of a step: distances linearized at velocities, and friction at them.
//!
//! With ν = −δ + δt Nᵀ Jᵀ u at the velocities u of the last iteration, the condition Nᵀ Jᵀ u′ ≥ ν/δt is
//! δ + δt Nᵀ Jᵀ (u′ − u) ≥ 0 (Hotz §2.2, eq. 6 and 7): at a fixed point it is δ ≥ 0. As in the paper's iteration the
//! Jacobians are those at the positions of the last iteration.

use std::sync::Arc;

use nalgebra::{DMatrix, Matrix3, Vector3};

use super::data::{Place, StepData};
use super::dynamics::BODY;
use super::equations::{DIRECTIONS, FrictionLaw, Layout, Scaling, patch_slip, scaled_velocities};
use super::held::Solution;
use super::kinematics::Kinematics;
use super::modes::direction;
use super::normals::normal_rows;
use super::row::Row;
use crate::linear_algebra::{Lemke, LemkeOutcome};

/// Multiplications of Lemke's algorithm in a step, half a second.
const MOST_WORK: u64 = 500_000_000;
/// Iterations for the multiplier of an ellipsoid.
const SECULAR_ITERATIONS: usize = 60;

/// The memory of the problems of a step.
#[derive(Debug, Default)]
pub(super) struct LinearSolver {
    lemke: Lemke,
    /// For each free body its inverse inertia and mass.
    inverse: Vec<(Matrix3<f64>, f64)>,
    /// That of the joints' matrix, if there are joints.
    of_joints: Option<Arc<DMatrix<f64>>>,
    free: Vec<f64>,
    /// The friction of patches: rows, and impulses along them.
    friction: Vec<([Row; 3], [f64; 3])>,
}

/// What a linear problem says of a step.
#[derive(Clone, Debug, Default)]
pub(super) struct LinearSolution {
    pub velocities: Vec<f64>,
    /// The impulses of the contacts along their normals, in units of the scale.
    pub impulses: Vec<f64>,
    /// q and σ of the patches in the order of the data, in units of the scales.
    pub ellipsoids: Vec<([f64; 3], f64)>,
    /// β and λ of the contacts with cones, in units of the scales.
    pub cones: Vec<([f64; DIRECTIONS], f64)>,
    /// The velocities of the contacts with cones along its directions, m/s.
    pub slips: Vec<[f64; DIRECTIONS]>,
    /// Which impulses of a sweep are in the basis.
    pub basic_impulses: Vec<bool>,
}

impl LinearSolver {
    /// Begins a step; `false` where a mass or an inertia cannot be divided by.
    pub fn start(&mut self, data: &StepData) -> bool {
        self.inverse.clear();
        for body in &data.bodies {
            match body.inertia.try_inverse() {
                Some(inverse) if body.mass > 0.0 => self.inverse.push((inverse, 1.0 / body.mass)),
                _ => return false,
            }
        }
        self.of_joints = data.joints.as_ref().map(|joints| Arc::clone(&joints.inverse));
        self.free = data.free_velocities();
        self.friction.clear();
        true
    }

    /// Bounds the work of Lemke's algorithm from now on: what is not found with it is not found with more.
    pub fn bound(&mut self) {
        self.lemke.allow(MOST_WORK);
    }

    /// Whether that work has been done: there is no solution to be found then.
    pub fn is_spent(&self) -> bool {
        self.lemke.is_spent()
    }

    /// No friction is known of the patches.
    pub fn forget_friction(&mut self, data: &StepData) {
        self.friction.clear();
        self.friction.resize_with(data.patches.len(), || (std::array::from_fn(|_| Row::none()), [0.0; 3]));
    }

    /// The velocities without contact.
    pub fn free(&self) -> &[f64] {
        &self.free
    }

    /// Divides momenta of all bodies by their masses.
    pub fn respond(&self, momenta: &mut [f64]) {
        for ((inertia, mass), m) in self.inverse.iter().zip(momenta.chunks_exact_mut(BODY)) {
            let turn = inertia * Vector3::new(m[0], m[1], m[2]);
            m[..3].copy_from_slice(turn.as_slice());
            m[3..].iter_mut().for_each(|x| *x *= mass);
        }
        if self.of_joints.is_some() {
            let of_joints = &mut momenta[BODY * self.inverse.len()..];
            let response = self.response_of_joints(of_joints);
            of_joints.copy_from_slice(&response);
        }
    }

    fn response_of_joints(&self, momenta: &[f64]) -> Vec<f64> {
        let rows = self.of_joints.iter().flat_map(|inverse| inverse.row_iter());
        rows.map(|row| row.iter().zip(momenta).map(|(a, b)| a * b).sum()).collect()
    }

    /// What an impulse of 1 along a row changes.
    pub fn response(&self, row: &Row) -> Row {
        let of_body = |body: usize, r: [f64; BODY]| {
            let (inertia, mass) = &self.inverse[body];
            let turn = inertia * Vector3::new(r[0], r[1], r[2]);
            [turn.x, turn.y, turn.z, r[3] * mass, r[4] * mass, r[5] * mass]
        };
        row.map(of_body, |momenta| self.response_of_joints(momenta))
    }

    /// Solves for the impulses along the normals with the friction that is known, and then for the friction of each
    /// patch with these impulses: one sweep of an iteration.
    pub fn sweep(&mut self, data: &StepData, velocities: &[f64]) -> Option<LinearSolution> {
        let kinematics = data.kinematics(velocities);
        let rows = normal_rows(data, &kinematics, 0..data.contacts.len());
        let responses: Vec<Row> = rows.iter().map(|row| self.response(row)).collect();
        let (speed, impulse) = (data.scales.velocity, data.scales.impulse);
        let mut free = self.free.clone();
        for (friction, q) in &self.friction {
            for (row, q) in friction.iter().zip(q) {
                self.response(row).add_to(&mut free, q * impulse);
            }
        }
        let count = rows.len();
        let matrix =
            DMatrix::from_fn(count, count, |i, j| rows[i].product(&responses[j], 1.0) * impulse / speed);
        let right: Vec<f64> = (0..count)
            .map(|k| {
                (kinematics.gaps[k].distance / data.dt + rows[k].dot(&free) - rows[k].dot(velocities)) / speed
            })
            .collect();
        if self.lemke.solve(&matrix, &right) != LemkeOutcome::Solved {
            return None;
        }
        let mut solution = LinearSolution {
            impulses: self.lemke.z().to_vec(),
            basic_impulses: (0..count).map(|k| self.lemke.is_basic(k)).collect(),
            ..LinearSolution::default()
        };
        let mut v = free;
        for (response, p) in responses.iter().zip(&solution.impulses) {
            response.add_to(&mut v, p * impulse);
        }
        let layout = Layout::new(data, FrictionLaw::Ellipsoid, (0..count).collect());
        solution.ellipsoids = vec![([0.0; 3], 0.0); data.patches.len()];
        for &patch in &layout.frictional {
            let (old, q) = &self.friction[patch];
            for (row, q) in old.iter().zip(q) {
                self.response(row).add_to(&mut v, -q * impulse);
            }
            let slip = patch_slip(data, &layout.used, patch, &solution.impulses, &kinematics);
            let Patch3 { rows, speeds } = Patch3::new(data, &kinematics, patch, &slip.frame, &slip.point, &v);
            let responses = rows.each_ref().map(|row| self.response(row));
            let delassus = Matrix3::from_fn(|i, j| rows[i].product(&responses[j], 1.0) * impulse / speed);
            let most = data.patches[patch].friction * slip.impulse;
            let (q, tau) = on_ellipsoid(&delassus, &(speeds / speed), most);
            for (response, q) in responses.iter().zip(q.iter()) {
                response.add_to(&mut v, q * impulse);
            }
            self.friction[patch] = (rows, q.into());
            solution.ellipsoids[patch] = (q.into(), most * tau);
        }
        solution.velocities = v;
        Some(solution)
    }

    /// Solves for impulses along normals and in the polyhedral cones of friction together. Contacts that are not
    /// `used` have no impulse.
    pub fn cones(&mut self, data: &StepData, layout: &Layout, velocities: &[f64]) -> Option<LinearSolution> {
        if self.is_spent() {
            return None;
        }
        let kinematics = data.kinematics(velocities);
        let (speed, impulse) = (data.scales.velocity, data.scales.impulse);
        let mut rows = normal_rows(data, &kinematics, layout.used.iter().copied());
        let (normals, cones) = (rows.len(), layout.frictional.len());
        let mut right: Vec<f64> = layout
            .used
            .iter()
            .zip(&rows)
            .map(|(&k, row)| {
                kinematics.gaps[k].distance / data.dt + row.dot(&self.free) - row.dot(velocities)
            })
            .collect();
        for &position in &layout.frictional {
            let k = layout.used[position];
            let (patch, gap) = (&data.patches[data.contacts[k].patch], &kinematics.gaps[k]);
            let frame = kinematics.frame(patch, &gap.normal);
            let slip = kinematics.relative_velocity(patch.bodies, &gap.point);
            for d in (0..DIRECTIONS).map(|index| direction(&frame, index)) {
                let row = Row::of_force(data, &kinematics, patch.bodies, &gap.point, &d);
                // What is not of free bodies is of belts.
                right.push(row.dot(&self.free) + d.dot(&slip) - row.dot(velocities));
                rows.push(row);
            }
        }
        let responses: Vec<Row> = rows.iter().map(|row| self.response(row)).collect();
        let moving = rows.len();
        let size = moving + cones;
        right.iter_mut().for_each(|x| *x /= speed);
        right.resize(size, 0.0);
        let mut matrix = DMatrix::zeros(size, size);
        for i in 0..moving {
            for j in 0..moving {
                matrix[(i, j)] = rows[i].product(&responses[j], 1.0) * impulse / speed;
            }
        }
        (0..normals).for_each(|i| matrix[(i, i)] += layout.compliance);
        for (i, &position) in layout.frictional.iter().enumerate() {
            let lambda = moving + i;
            matrix[(lambda, position)] = data.patches[data.contacts[layout.used[position]].patch].friction;
            for j in 0..DIRECTIONS {
                let beta = normals + DIRECTIONS * i + j;
                matrix[(beta, lambda)] = 1.0;
                matrix[(lambda, beta)] = -1.0;
            }
        }
        if self.lemke.solve(&matrix, &right) != LemkeOutcome::Solved {
            return None;
        }
        let z = self.lemke.z();
        let mut v = self.free.clone();
        for (response, p) in responses.iter().zip(z) {
            response.add_to(&mut v, p * impulse);
        }
        // Velocities along the directions: those without contact, and what impulses change.
        let along = |k: usize| right[k] * speed + rows[k].dot(&v) - rows[k].dot(&self.free);
        let beta = |i: usize, j: usize| normals + DIRECTIONS * i + j;
        Some(LinearSolution {
            impulses: z[..normals].to_vec(),
            ellipsoids: Vec::new(),
            cones: (0..cones).map(|i| (std::array::from_fn(|j| z[beta(i, j)]), z[moving + i])).collect(),
            slips: (0..cones).map(|i| std::array::from_fn(|j| along(beta(i, j)))).collect(),
            basic_impulses: Vec::new(),
            velocities: v,
        })
    }
}

/// The rows of a patch's friction, e_t t, e_o o and the turn e_r n, and the velocities along them.
struct Patch3 {
    rows: [Row; 3],
    speeds: Vector3<f64>,
}

impl Patch3 {
    fn new(
        data: &StepData,
        kinematics: &Kinematics,
        patch: usize,
        frame: &[Vector3<f64>; 3],
        point: &Vector3<f64>,
        velocities: &[f64],
    ) -> Self {
        let of = &data.patches[patch];
        let [t, o, n] = frame;
        let [e_t, e_o, e_r] = of.ellipsoid;
        let still = Vector3::zeros();
        let row = |force: &Vector3<f64>, torque: &Vector3<f64>| {
            Row::new(data, kinematics, of.bodies, point, force, torque)
        };
        let rows = [row(&(t * e_t), &still), row(&(o * e_o), &still), row(&still, &(n * e_r))];
        let belt = |body: usize| match &data.places[body] {
            Place::Fixed(pose, v) => {
                let at = v.shifted(&(point - pose.translation)).translational;
                Vector3::new(e_t * t.dot(&at), e_o * o.dot(&at), e_r * n.dot(&v.rotational))
            }
            Place::Free(_) | Place::Link(_) => Vector3::zeros(),
        };
        let speeds = Vector3::from(rows.each_ref().map(|row| row.dot(velocities)));
        Self { rows, speeds: speeds + belt(of.bodies[0]) - belt(of.bodies[1]) }
    }
}

/// The impulse q with ‖q‖ ≤ `most` that dissipates most: s₀ + D q = −τ q with τ ≥ 0, and τ = 0 inside. Also τ.
fn on_ellipsoid(delassus: &Matrix3<f64>, speeds: &Vector3<f64>, most: f64) -> (Vector3<f64>, f64) {
    if most <= 0.0 {
        return (Vector3::zeros(), 0.0);
    }
    let at = |tau: f64| {
        let mut matrix = *delassus;
        for k in 0..3 {
            // A semi-axis that is 0 has no impulse.
            matrix[(k, k)] = if delassus[(k, k)] > 0.0 { matrix[(k, k)] + tau } else { 1.0 };
        }
        matrix.cholesky().map(|factor| (-factor.solve(speeds), factor))
    };
    if let Some((q, _)) = at(0.0)
        && q.norm() <= most
    {
        return (q, 0.0);
    }
    // 1/‖q(τ)‖ is nearly linear, and Newton's method for it comes from below.
    let mut tau = 0.0;
    let mut best = Vector3::zeros();
    for _ in 0..SECULAR_ITERATIONS {
        let Some((q, factor)) = at(tau) else {
            tau = tau.max(1e-12 * delassus.trace()) * 2.0;
            continue;
        };
        best = q;
        let length = q.norm();
        let change = (length / most - 1.0) * length * length / q.dot(&factor.solve(&q));
        if !change.is_finite() || change.abs() <= 4.0 * f64::EPSILON * tau {
            break;
        }
        tau = (tau + change).max(0.0);
    }
    (best, tau)
}

/// The variables of a layout from a linear solution of it.
pub(super) fn variables(data: &StepData, layout: &Layout, solution: &LinearSolution) -> Vec<f64> {
    let Scaling { turn, shift } = Scaling::of(data);
    let mut z = vec![0.0; layout.size()];
    for (k, v) in solution.velocities.iter().enumerate() {
        z[k] = v / if data.is_turn(k) { turn } else { shift };
    }
    let first = layout.impulses();
    match layout.law {
        FrictionLaw::Ellipsoid => {
            for (i, &k) in layout.used.iter().enumerate() {
                z[first + i] = solution.impulses[k];
            }
            for (i, &patch) in layout.frictional.iter().enumerate() {
                let (q, sigma) = solution.ellipsoids[patch];
                z[layout.ellipsoids() + 3 * i..][..3].copy_from_slice(&q);
                z[layout.multipliers() + i] = sigma;
            }
        }
        FrictionLaw::Polyhedral => {
            z[first..layout.multipliers()].copy_from_slice(&solution.impulses);
            for (i, (beta, lambda)) in solution.cones.iter().enumerate() {
                z[layout.multipliers() + DIRECTIONS * i..][..DIRECTIONS].copy_from_slice(beta);
                z[layout.cone_multipliers() + i] = *lambda;
            }
        }
    }
    z
}

/// What variables of a layout with cones say, as a linear problem does.
pub(super) fn linear_solution(data: &StepData, layout: &Layout, z: &[f64]) -> LinearSolution {
    let velocities = scaled_velocities(data, z);
    let kinematics = data.kinematics(&velocities);
    let slips = layout.frictional.iter().map(|&position| {
        let k = layout.used[position];
        let (patch, gap) = (&data.patches[data.contacts[k].patch], &kinematics.gaps[k]);
        let frame = kinematics.frame(patch, &gap.normal);
        let slip = kinematics.relative_velocity(patch.bodies, &gap.point);
        std::array::from_fn(|index| direction(&frame, index).dot(&slip))
    });
    let slips = slips.collect();
    let impulses = z[layout.impulses()..layout.multipliers()].to_vec();
    LinearSolution { velocities, impulses, slips, ..LinearSolution::default() }
}

/// The variables of a layout with cones from a solution with modes.
pub(super) fn cone_variables(data: &StepData, layout: &Layout, solution: &Solution) -> Vec<f64> {
    let velocities = scaled_velocities(data, &solution.variables);
    let kinematics = data.kinematics(&velocities);
    let mut impulses = vec![0.0; data.contacts.len()];
    let mut friction = vec![Vector3::zeros(); data.contacts.len()];
    for (&(k, p), f) in solution.carrying.iter().zip(&solution.friction) {
        impulses[k] = p;
        friction[k] = *f;
    }
    let cone = |&position: &usize| {
        let k = layout.used[position];
        let (patch, gap) = (&data.patches[data.contacts[k].patch], &kinematics.gaps[k]);
        let frame = kinematics.frame(patch, &gap.normal);
        let slip = kinematics.relative_velocity(patch.bodies, &gap.point);
        let along = |index: usize, v: &Vector3<f64>| direction(&frame, index).dot(v);
        let lambda = (0..DIRECTIONS).map(|index| -along(index, &slip)).fold(0.0, f64::max);
        let beta = std::array::from_fn(|index| along(index, &friction[k]).max(0.0));
        // Of a contact that carries nothing the multiplier is 0 or any that is large enough.
        (beta, lambda / data.scales.velocity)
    };
    let solution = LinearSolution {
        cones: layout.frictional.iter().map(cone).collect(),
        impulses: layout.used.iter().map(|&k| impulses[k]).collect(),
        velocities,
        ..LinearSolution::default()
    };
    variables(data, layout, &solution)
}
