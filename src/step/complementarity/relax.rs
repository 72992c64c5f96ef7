//! Which modes contacts have in a softer problem, by Newton's method.
//!
//! Contacts that give by a small part of what a body moves under the same impulse share their load as those that do not give,
//! but for a few that come to carry or cease to. With round friction their problem is the minimum of a convex function of the
//! velocities (Castro, Permenter and Han, arXiv 2110.10107, eq. 20 and §V), which is found whatever the masses. It finds modes where
//! very many contacts carry, in whose problem rounding hides the way of pivots.

use nalgebra::{DMatrix, DVector, Matrix3, Vector3};

use super::accuracy::difference;
use super::data::StepData;
use super::dynamics::BODY;
use super::equations::DIRECTIONS;
use super::linear::{LinearSolution, LinearSolver};
use super::modes::direction;
use super::normals::normal_rows;
use super::row::Row;

/// How far contacts give under an impulse along their normal, in units of the scales, and how they slip under friction that holds.
const COMPLIANCE: f64 = 1e-4;
/// Iterations, and the halvings of a step.
const ITERATIONS: usize = 100;
const HALVINGS: usize = 30;
/// Changes of velocities at which they end, in parts of the scale.
const LEAST_CHANGE: f64 = 1e-11;
/// The part of what a step promises that it has to lower the cost by.
const ARMIJO: f64 = 1e-4;
/// Slip below this part of the velocity scale is none.
const STILL: f64 = 1e-5;

/// The softer problem.
struct Soft {
    mass: DMatrix<f64>,
    /// For each contact the columns of its normal and its two tangents.
    rows: DMatrix<f64>,
    /// What the velocities along these are besides those of the bodies.
    offsets: DVector<f64>,
    friction: Vec<f64>,
    free: DVector<f64>,
    compliance: f64,
}

/// The impulse of a contact at a velocity along its normal and its tangents, and its negative derivative.
fn impulse(velocity: &Vector3<f64>, friction: f64, compliance: f64) -> (Vector3<f64>, Matrix3<f64>) {
    let y = -velocity / compliance;
    let (normal, tangential) = (y.x, Vector3::new(0.0, y.y, y.z));
    let pull = tangential.norm();
    let stiff = 1.0 / compliance;
    if normal >= 0.0 && pull <= friction * normal {
        let held = if friction > 0.0 { stiff } else { 0.0 };
        return (y, Matrix3::from_diagonal(&Vector3::new(stiff, held, held)));
    }
    if normal <= -friction * pull {
        return (Vector3::zeros(), Matrix3::zeros());
    }
    // On the side of the cone that is nearest to y.
    let along = tangential / pull.max(f64::MIN_POSITIVE);
    let edge = Vector3::x() + along * friction;
    let gamma = (normal + friction * pull) / edge.norm_squared();
    let across = Matrix3::from_diagonal(&Vector3::new(0.0, 1.0, 1.0)) - along * along.transpose();
    let turning = across * (friction * gamma / pull.max(f64::MIN_POSITIVE));
    (edge * gamma, (edge * edge.transpose() / edge.norm_squared() + turning) * stiff)
}

impl Soft {
    fn velocity(&self, v: &DVector<f64>, contact: usize) -> Vector3<f64> {
        let rows = self.rows.columns(3 * contact, 3);
        let along = rows.tr_mul(v);
        Vector3::from_fn(|i, _| along[i] + self.offsets[3 * contact + i])
    }

    fn cost(&self, v: &DVector<f64>) -> f64 {
        let change = v - &self.free;
        let of_contacts = self.friction.iter().enumerate().map(|(contact, &friction)| {
            impulse(&self.velocity(v, contact), friction, self.compliance).0.norm_squared()
        });
        0.5 * (change.dot(&(&self.mass * &change)) + self.compliance * of_contacts.sum::<f64>())
    }

    /// The gradient of the cost, and its Hessian.
    fn slopes(&self, v: &DVector<f64>) -> (DVector<f64>, DMatrix<f64>) {
        let mut gradient = &self.mass * (v - &self.free);
        let mut hessian = self.mass.clone();
        for (contact, &friction) in self.friction.iter().enumerate() {
            let (gamma, slope) = impulse(&self.velocity(v, contact), friction, self.compliance);
            let rows = self.rows.columns(3 * contact, 3);
            gradient.gemv(-1.0, &rows, &gamma, 1.0);
            hessian.gemm(1.0, &(rows * slope), &rows.transpose(), 1.0);
        }
        (gradient, hessian)
    }

    /// The velocities of the least cost, or near them.
    fn solve(&self, data: &StepData, start: DVector<f64>) -> DVector<f64> {
        let mut v = start;
        let mut cost = self.cost(&v);
        for _ in 0..ITERATIONS {
            let (gradient, hessian) = self.slopes(&v);
            let Some(factor) = hessian.cholesky() else { break };
            let step = -factor.solve(&gradient);
            let slope = gradient.dot(&step);
            let mut part = 1.0;
            let next = (0..HALVINGS).find_map(|_| {
                let moved = &v + &step * part;
                let lower = self.cost(&moved);
                let is_lower = lower <= cost + ARMIJO * part * slope;
                part *= 0.5;
                is_lower.then_some((moved, lower))
            });
            let Some((moved, lower)) = next else { break };
            let change = difference(data, v.as_slice(), moved.as_slice());
            (v, cost) = (moved, lower);
            if change <= LEAST_CHANGE {
                break;
            }
        }
        v
    }
}

/// The masses of bodies and joints as one matrix.
fn mass_matrix(data: &StepData) -> DMatrix<f64> {
    let size = data.velocity_count();
    let mut mass = DMatrix::zeros(size, size);
    for (i, body) in data.bodies.iter().enumerate() {
        mass.view_mut((BODY * i, BODY * i), (3, 3)).copy_from(&body.inertia);
        (3..BODY).for_each(|k| mass[(BODY * i + k, BODY * i + k)] = body.mass);
    }
    if let Some(joints) = &data.joints {
        let first = BODY * data.bodies.len();
        mass.view_mut((first, first), joints.matrix.shape()).copy_from(&joints.matrix);
    }
    mass
}

/// The solution of the softer problem of the contacts that are `used`, with distances as at velocities.
pub(super) fn relaxed(
    data: &StepData,
    used: &[usize],
    frictional: &[usize],
    velocities: &[f64],
    linear: &LinearSolver,
) -> LinearSolution {
    let kinematics = data.kinematics(velocities);
    let size = velocities.len();
    let normals = normal_rows(data, &kinematics, used.iter().copied());
    let mut rows = DMatrix::zeros(size, 3 * used.len());
    let mut offsets = DVector::zeros(3 * used.len());
    let mut friction = Vec::with_capacity(used.len());
    for (position, (&k, normal)) in used.iter().zip(normals).enumerate() {
        let (patch, gap) = (&data.patches[data.contacts[k].patch], &kinematics.gaps[k]);
        let frame = kinematics.frame(patch, &gap.normal);
        let slip = kinematics.relative_velocity(patch.bodies, &gap.point);
        let along = |axis: usize| Row::of_force(data, &kinematics, patch.bodies, &gap.point, &frame[axis]);
        let own = [normal, along(0), along(1)];
        let value = [gap.distance / data.dt, frame[0].dot(&slip), frame[1].dot(&slip)];
        for (i, row) in own.iter().enumerate() {
            let mut column = vec![0.0; size];
            row.add_to(&mut column, 1.0);
            rows.column_mut(3 * position + i).copy_from_slice(&column);
            offsets[3 * position + i] = value[i] - row.dot(velocities);
        }
        friction.push(patch.friction);
    }
    let free = DVector::from_column_slice(linear.free());
    let compliance = COMPLIANCE * data.scales.velocity / data.scales.impulse;
    let soft = Soft { mass: mass_matrix(data), rows, offsets, friction, free, compliance };
    let v = soft.solve(data, DVector::from_column_slice(velocities));
    let at = |position: usize| soft.velocity(&v, position);
    let slips = frictional.iter().map(|&position| {
        let velocity = at(position);
        let slip = [velocity.y, velocity.z];
        let slip = slip.map(|x| if x.abs() <= STILL * data.scales.velocity { 0.0 } else { x });
        let frame = [Vector3::x(), Vector3::y(), Vector3::z()];
        let slip = Vector3::new(slip[0], slip[1], 0.0);
        std::array::from_fn::<_, DIRECTIONS, _>(|index| direction(&frame, index).dot(&slip))
    });
    let normal = |(position, &friction): (usize, &f64)| {
        impulse(&at(position), friction, compliance).0.x / data.scales.impulse
    };
    LinearSolution {
        slips: slips.collect(),
        impulses: soft.friction.iter().enumerate().map(normal).collect(),
        velocities: v.as_slice().to_vec(),
        ..LinearSolution::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impulses_are_the_nearest_of_a_cone_and_follow_the_velocity() {
        for k in 0..60 {
            let angle = 0.31 * f64::from(k);
            let velocity = Vector3::new(angle.cos(), 0.7 * (1.7 * angle).sin(), 0.4 * (2.3 * angle).cos());
            for friction in [0.0, 0.4, 1.2] {
                let (gamma, slope) = impulse(&velocity, friction, 0.5);
                let tangential = gamma.y.hypot(gamma.z);
                assert!(gamma.x >= 0.0 && tangential <= friction * gamma.x * (1.0 + 1e-12) + 1e-15);
                let y = -velocity / 0.5;
                for j in 0..200 {
                    let (turn, size) = (f64::from(j), 0.05 * f64::from(j % 40));
                    let other = Vector3::new(1.0, friction * turn.cos(), friction * turn.sin()) * size;
                    assert!((y - gamma).norm() <= (y - other).norm() + 1e-12, "{k} {friction}");
                }
                for axis in 0..3 {
                    let moved = |h: f64| impulse(&(velocity + Vector3::ith(axis, h)), friction, 0.5).0;
                    let difference = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                    let off = difference + slope.column(axis);
                    let is_held = friction == 0.0 || off.amax() < 1e-6 * (1.0 + slope.amax());
                    assert!(is_held, "{k} {friction} {axis}: {off}");
                }
            }
        }
    }
}
