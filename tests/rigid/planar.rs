//! The desk of Xie and Chakraborty, §5.1, against the two methods that the paper compares with.

use isobar::step::ComplementarityMethod;
use nalgebra::{DMatrix, DVector, Matrix3, Vector2, Vector3};

use crate::scenes::{self, DESK, ELLIPSOID, FRICTION, GRAVITY, STEP};

/// Velocities along x and y, and about z.
type Planar = Vector3<f64>;

/// The system of planar sliding of the paper's [13]: force and moment of friction in the ellipsoid on the three velocities
/// of a body that cannot leave the plane. The height of the centre of mass moves the equivalent contact point by
/// r = −H p/pₙ; all else is in the plane.
fn planar_step(velocity: &Planar, load: (Vector3<f64>, Vector3<f64>), inertia: f64) -> Planar {
    let [_, _, height, mass] = DESK;
    let normal = mass * GRAVITY * STEP;
    let masses = Vector3::new(mass, mass, inertia);
    let free = velocity + Vector3::new(load.0.x, load.0.y, load.1.z).component_div(&masses) * STEP;
    let [e_t, e_o, e_r] = ELLIPSOID;
    let e = Vector3::new(e_t, e_o, e_r);
    let most = FRICTION * normal;
    // The unknowns: the velocities, q, and σ divided by μ pₙ.
    let residual = |x: &[f64]| {
        let (v, q, sigma) = (&x[..3], &x[3..6], x[6]);
        let p = Vector3::new(q[0] * e.x, q[1] * e.y, q[2] * e.z);
        let r = Vector2::new(-height * p.x / normal, -height * p.y / normal);
        let slip = [v[0] - v[2] * r.y, v[1] + v[2] * r.x, v[2]];
        // The moment of the force about the centre of mass is 0: it acts in line with r.
        let mut out = vec![0.0; 7];
        for k in 0..3 {
            out[k] = masses[k] * (v[k] - free[k]) - p[k];
            out[3 + k] = e[k] * slip[k] + q[k] / most * sigma;
        }
        out[6] = 1.0 - q.iter().map(|q| q * q).sum::<f64>() / (most * most);
        out
    };
    let mut x = vec![free.x, free.y, free.z];
    let speed = e.component_mul(&free);
    x.extend(speed.iter().map(|s| -s / speed.norm() * most));
    x.push(speed.norm());
    for _ in 0..50 {
        let at = residual(&x);
        if at.iter().all(|r| r.abs() < 1e-15) {
            break;
        }
        let matrix = DMatrix::from_fn(7, 7, |i, j| {
            let d = 1e-6 * (1.0 + x[j].abs());
            let (mut up, mut down) = (x.clone(), x.clone());
            up[j] += d;
            down[j] -= d;
            (residual(&up)[i] - residual(&down)[i]) / (2.0 * d)
        });
        let step = matrix.lu().solve(&DVector::from_vec(at)).expect("a sliding body");
        x.iter_mut().zip(step.iter()).for_each(|(x, d)| *x -= d);
    }
    assert!(residual(&x).iter().all(|r| r.abs() < 1e-12) && x[6] > 0.0, "it slides");
    Vector3::new(x[0], x[1], x[2])
}

#[test]
fn the_desk_moves_as_the_system_of_planar_sliding() {
    let scene = scenes::desk();
    let motion = scene.simulate(ComplementarityMethod::Ecp).expect("steps that converge");
    let mut velocity = Vector3::new(0.3, 0.2, 0.5);
    let inertia = scenes::desk_inertia()[(2, 2)];
    let mut largest: f64 = 0.0;
    let mut outside = 0;
    for (step, state) in motion.states.iter().enumerate().skip(1) {
        velocity = planar_step(&velocity, (scene.load)((step - 1) as f64 * STEP), inertia);
        let v = state.velocity;
        let own = Vector3::new(v.translational.x, v.translational.y, v.rotational.z);
        largest = largest.max((own - velocity).amax());
        assert!((state.position.z - DESK[2]).abs() < 1e-11);
        let point = state.pose().inverse() * motion.contacts[step][0].point;
        let inside = 0.5 * DESK[0];
        assert!(point.x.abs() <= inside && point.y.abs() <= inside);
        outside += usize::from(point.x.abs().min(point.y.abs()) < inside - DESK[1]);
    }
    println!("largest difference {largest:.1e}");
    assert!(largest < 1e-8, "{largest:e}");
    // Between the feet, in their hull alone.
    assert!(outside > 300, "{outside}");
}

/// The equations of one step with a contact point for each convex part (the paper's [8]): each foot has its own point
/// aᵢ, with multipliers of its sides (eq. 13 to 17), and its own impulse; the wrench of friction belongs to all of them. The
/// distribution is not unique, and the state is.
mod parts {
    use super::*;

    /// Corners of a foot in the body: from, to.
    pub type Foot = [[f64; 2]; 2];

    pub struct Desk {
        pub feet: Vec<Foot>,
        pub free: [Vector3<f64>; 2],
        pub height: f64,
        pub inertia: Matrix3<f64>,
        pub rotation: Matrix3<f64>,
    }

    /// φ(a, b) and its slopes.
    fn fischer(a: f64, b: f64) -> f64 {
        a.hypot(b) - a - b
    }

    impl Desk {
        pub fn size(&self) -> usize {
            // v, q, aᵢ; then lᵢ of four sides and pᵢ for each foot, σ.
            9 + 7 * self.feet.len() + 1
        }

        pub fn residual(&self, x: &[f64]) -> Vec<f64> {
            let [_, _, down, mass] = DESK;
            let scale = mass * GRAVITY * STEP;
            let count = self.feet.len();
            let (turn, shift) = (Vector3::new(x[0], x[1], x[2]), Vector3::new(x[3], x[4], x[5]));
            let q = Vector3::new(x[6], x[7], x[8]);
            let feet = &x[9..9 + 7 * count];
            let sigma = x[9 + 7 * count];
            let angle = turn * STEP;
            let rotation = nalgebra::Rotation3::new(angle).into_inner() * self.rotation;
            let normal = Vector3::z();
            let mut out = Vec::new();
            let (mut total, mut weighted, mut momentum) = (0.0, Vector3::zeros(), [Vector3::zeros(); 2]);
            for (foot, part) in self.feet.iter().zip(feet.chunks(7)) {
                let (a, l, p) = (Vector2::new(part[0], part[1]), &part[2..6], part[6]);
                let arm = rotation * Vector3::new(a.x, a.y, -down);
                let height = self.height + STEP * shift.z + arm.z;
                let impulse = normal * (p * scale);
                momentum[0] += arm.cross(&impulse);
                momentum[1] += impulse;
                total += p;
                weighted += arm * p;
                // The face below, the sides and the plane have normals that add up to nothing.
                let sum = -rotation.column(2)
                    + normal
                    + rotation.column(0) * (l[0] - l[1])
                    + rotation.column(1) * (l[2] - l[3]);
                out.push(rotation.column(0).dot(&sum));
                out.push(rotation.column(1).dot(&sum));
                let sides = [foot[1][0] - a.x, a.x - foot[0][0], foot[1][1] - a.y, a.y - foot[0][1]];
                out.extend(l.iter().zip(sides).map(|(l, inside)| fischer(*l, inside)));
                out.push(fischer(p, height / (GRAVITY * STEP * STEP)));
            }
            let [e_t, e_o, e_r] = ELLIPSOID;
            let force = Vector3::new(e_t * q.x, e_o * q.y, 0.0) * scale;
            let arm = weighted / total.max(1e-9);
            momentum[0] += arm.cross(&force) + normal * (e_r * q.z * scale);
            momentum[1] += force;
            let slip = shift + turn.cross(&arm);
            let speed = GRAVITY * STEP;
            for (s, q, e) in [(slip.x, q.x, e_t), (slip.y, q.y, e_o), (turn.z, q.z, e_r)] {
                out.push(e * FRICTION * total * s / speed + q * sigma);
            }
            out.push(fischer(sigma, (FRICTION * total).powi(2) - q.norm_squared()));
            let turned = self.inertia * (turn - self.free[0]) - momentum[0];
            let moved = (shift - self.free[1]) * mass - momentum[1];
            out.extend(turned.iter().chain(&moved).map(|m| m / scale));
            out
        }

        /// Levenberg and Marquardt's steps, as there are many solutions.
        pub fn solve(&self, x: &mut Vec<f64>) -> f64 {
            let size = self.size();
            let largest = |r: &[f64]| r.iter().fold(0.0, |most: f64, r| most.max(r.abs()));
            let mut at = self.residual(x);
            for _ in 0..200 {
                if largest(&at) < 1e-13 {
                    break;
                }
                let mut jacobian = DMatrix::zeros(at.len(), size);
                for j in 0..size {
                    let d = 1e-7 * (1.0 + x[j].abs());
                    let (mut up, mut down) = (x.clone(), x.clone());
                    up[j] += d;
                    down[j] -= d;
                    let (up, down) = (self.residual(&up), self.residual(&down));
                    for i in 0..at.len() {
                        jacobian[(i, j)] = (up[i] - down[i]) / (2.0 * d);
                    }
                }
                let r = DVector::from_column_slice(&at);
                let mut damping = r.norm_squared().clamp(1e-13, 1e-2);
                let square = jacobian.tr_mul(&jacobian);
                let slope = jacobian.tr_mul(&r);
                let mut better = false;
                // Newton's step where it goes down.
                if let Some(step) = jacobian.clone().lu().solve(&r).filter(|_| jacobian.is_square()) {
                    let there: Vec<f64> = x.iter().zip(step.iter()).map(|(x, d)| x - d).collect();
                    let residual = self.residual(&there);
                    if DVector::from_column_slice(&residual).norm() < 0.5 * r.norm() {
                        (*x, at) = (there, residual);
                        continue;
                    }
                }
                for _ in 0..12 {
                    let normal = &square + DMatrix::identity(size, size) * damping;
                    let step = normal.cholesky().expect("damped").solve(&slope);
                    let there: Vec<f64> = x.iter().zip(step.iter()).map(|(x, d)| x - d).collect();
                    let residual = self.residual(&there);
                    if DVector::from_column_slice(&residual).norm() < r.norm() {
                        (*x, at, better) = (there, residual, true);
                        break;
                    }
                    damping *= 10.0;
                }
                if !better {
                    break;
                }
            }
            largest(&at)
        }
    }
}

/// Compares every tenth step with the same step by parts: each begins at the library's state.
fn compare_with_parts(feet: &[parts::Foot]) -> (f64, f64) {
    let scene = scenes::desk();
    let motion = scene.simulate(ComplementarityMethod::Ecp).expect("steps that converge");
    let mass = DESK[3];
    let (mut largest, mut residual): (f64, f64) = (0.0, 0.0);
    for step in (1..motion.states.len()).step_by(10) {
        let (before, after) = (motion.states[step - 1], motion.states[step]);
        let (force, torque) = (scene.load)((step - 1) as f64 * STEP);
        let rotation = before.pose().rotation;
        let inertia = rotation * scenes::desk_inertia() * rotation.transpose();
        let gravity = Vector3::new(0.0, 0.0, -GRAVITY);
        let shift = before.velocity.translational + (force / mass + gravity) * STEP;
        let turn = before.velocity.rotational + inertia.try_inverse().expect("an inertia") * torque * STEP;
        let desk = parts::Desk {
            feet: feet.to_vec(),
            free: [turn, shift],
            height: before.position.z,
            inertia,
            rotation,
        };
        let mut x = vec![0.0; desk.size()];
        x[2] = turn.z;
        (x[3], x[4]) = (shift.x, shift.y);
        let speed = Vector3::new(shift.x, shift.y, ELLIPSOID[2] * turn.z);
        (x[6], x[7], x[8]) = {
            let q = -speed / speed.norm() * FRICTION;
            (q.x, q.y, q.z)
        };
        for (i, foot) in feet.iter().enumerate() {
            // Where friction puts the point of the whole, or the middle of a foot.
            let whole = rotation.tr_mul(&(Vector3::new(x[6], x[7], 0.0) * -DESK[2]));
            let middle = if feet.len() == 1 {
                [whole.x, whole.y]
            } else {
                [0, 1].map(|k| 0.5 * (foot[0][k] + foot[1][k]))
            };
            x[9 + 7 * i..9 + 7 * i + 2].copy_from_slice(&middle);
            x[9 + 7 * i + 6] = 1.0 / feet.len() as f64;
        }
        let last = desk.size() - 1;
        x[last] = FRICTION * speed.norm() / (GRAVITY * STEP);
        residual = residual.max(desk.solve(&mut x));
        let v = after.velocity;
        let own = [v.rotational.z, v.translational.x, v.translational.y];
        let theirs = [x[2], x[3], x[4]];
        for (a, b) in own.iter().zip(theirs) {
            largest = largest.max((a - b).abs());
        }
    }
    (largest, residual)
}

#[test]
fn the_desk_moves_as_with_one_contact_point_for_each_foot() {
    let [side, foot, ..] = DESK;
    let (near, far) = (0.5 * side - foot, 0.5 * side);
    let ranges = [[near, far], [-far, -near]];
    let feet: Vec<parts::Foot> =
        ranges.iter().flat_map(|x| ranges.map(|y| [[x[0], y[0]], [x[1], y[1]]])).collect();
    let (largest, residual) = compare_with_parts(&feet);
    println!("four feet: largest difference {largest:.1e}, residual {residual:.1e}");
    assert!(residual < 1e-11 && largest < 1e-8, "{largest:e} {residual:e}");
}

#[test]
fn impulses_on_the_corners_are_the_paper_s_multipliers_of_the_sides() {
    // The convex hull as one part: eq. 13 to 19 with its sides as inequalities.
    let far = 0.5 * DESK[0];
    let (largest, residual) = compare_with_parts(&[[[-far, -far], [far, far]]]);
    println!("hull: largest difference {largest:.1e}, residual {residual:.1e}");
    assert!(residual < 1e-11 && largest < 1e-8, "{largest:e} {residual:e}");
}
