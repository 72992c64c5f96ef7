//! What a step does to a free body: its motion without contact, its mass, and its pose after the step.
//!
//! The rotation is the midpoint rule of [`FreeMotion`], with impulses such that they do not add energy but by their work.
//! With the mean rate u of turning over the step, R₁ = exp(δt u) R₀, and the inertia I at its start in W, the body
//! turns after the step with ω₁ = exp(δt u) (u + B u), where I B = \[b\]× for a vector b that is the same for any u.
//! Without impulses u = u*, and b is such that ω₁ is that of [`FreeMotion`], which keeps angular momentum and energy:
//!
//! > b = tan(½ δt |u*|)/|u*| (I − ⅓ tr I) u*.
//!
//! (What is parallel to u* in b changes nothing there; with this part b is 0 for a ball.) The body's kinetic energy after
//! the step is ½ uᵀ A u with A = I + Bᵀ I B, as u · I B u = 0. Momentum A (u − u*) = τ of angular impulses τ therefore
//! changes it by τ · u − ½ (u − u*)ᵀ A (u − u*): not more than the work of τ on the turn δt u over δt. From 2.5 rad in a
//! step on the tangent is held where it is there, and a body without contact no longer keeps its momentum.

use nalgebra::{Matrix3, Vector3};

use crate::multibody::{BodyState, FreeMotion, MassProperties, solve};
use crate::scalar::Scalar;
use crate::spatial::{
    Quaternion, RigidTransform, SpatialForce, SpatialVelocity, cross_matrix, half_tangent_quotient,
    rotation_exponential,
};

/// The number of velocities of a free body: the mean rate of turning over the step, then the velocity of the centre of mass,
/// both in W.
pub(super) const BODY: usize = 6;

/// A free body over a step. Velocities are those that move it over the step.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyStep<T = f64> {
    pub mass: T,
    /// A, about the centre of mass, in W.
    pub inertia: Matrix3<T>,
    /// The centre of mass at the start.
    pub center: Vector3<T>,
    orientation: Quaternion<T>,
    center_in_body: Vector3<T>,
    /// The mean rate of turning without contact, u*, and the velocity of the centre of mass.
    pub free: [Vector3<T>; 2],
    /// B.
    nutation: Matrix3<T>,
}

impl<T: Scalar> BodyStep<T> {
    /// A body under a force about its origin, which acts from the start, and gravity.
    pub fn new(
        mass: &MassProperties<T>,
        gravity: &Vector3<T>,
        body: &BodyState<T>,
        force: &SpatialForce<T>,
        dt: T,
    ) -> Self {
        let rotation = body.orientation.to_matrix();
        let motion = FreeMotion::new(mass, &rotation, &body.velocity.rotational, dt);
        let rate = motion.angular_velocity + motion.extra_turn * dt.recip();
        let inertia = rotation * mass.inertia * rotation.transpose();
        let quotient = half_tangent_quotient(rate.dot(&rate) * dt * dt) * dt;
        let about =
            cross_matrix(&((inertia * rate - rate * (inertia.trace() * T::from(1.0 / 3.0))) * quotient));
        let nutation = Matrix3::from_columns(&std::array::from_fn::<_, 3, _>(|k| {
            solve(&inertia, &about.column(k).into_owned())
        }));
        let effective = inertia + about.transpose() * nutation;
        let offset = rotation * mass.center_of_mass;
        let force = force.shifted(&offset);
        let acceleration = force.translational * mass.mass.recip() + gravity;
        Self {
            mass: mass.mass,
            inertia: effective,
            center: body.position + offset,
            orientation: body.orientation,
            center_in_body: mass.center_of_mass,
            free: [
                rate + solve(&effective, &force.rotational) * dt,
                body.velocity.shifted(&offset).translational + acceleration * dt,
            ],
            nutation,
        }
    }

    /// The body as numbers of another scalar.
    pub fn map<U: Scalar>(&self, f: impl Fn(T) -> U + Copy) -> BodyStep<U> {
        let v = |x: &Vector3<T>| x.map(f);
        let q = &self.orientation;
        BodyStep {
            mass: f(self.mass),
            inertia: self.inertia.map(f),
            center: v(&self.center),
            orientation: Quaternion { w: f(q.w), v: v(&q.v) },
            center_in_body: v(&self.center_in_body),
            free: [v(&self.free[0]), v(&self.free[1])],
            nutation: self.nutation.map(f),
        }
    }

    /// The body on a part of its way without contact.
    pub fn part(&self, part: f64) -> Self {
        let part = T::from(part);
        Self { free: self.free.map(|v| v * part), ..*self }
    }

    fn turn(velocity: &[T], dt: T) -> Vector3<T> {
        Vector3::new(velocity[0], velocity[1], velocity[2]) * dt
    }

    /// The centre of mass after the step.
    pub fn center_after(&self, velocity: &[T], dt: T) -> Vector3<T> {
        self.center + Vector3::new(velocity[3], velocity[4], velocity[5]) * dt
    }

    /// The pose after the step.
    pub fn pose_after(&self, velocity: &[T], dt: T) -> RigidTransform<T> {
        let rotation = self.orientation.rotated_by(&Self::turn(velocity, dt)).to_matrix();
        let center = self.center_after(velocity, dt);
        RigidTransform::new(rotation, center - rotation * self.center_in_body)
    }

    /// The state after the step.
    pub fn after(&self, velocity: &[T], dt: T) -> BodyState<T> {
        let turn = Self::turn(velocity, dt);
        let orientation = self.orientation.rotated_by(&turn);
        let offset = orientation.to_matrix() * self.center_in_body;
        let rate = Vector3::new(velocity[0], velocity[1], velocity[2]);
        let of_center = Vector3::new(velocity[3], velocity[4], velocity[5]);
        // The mean rate is the same before and after the turn.
        let spin = rate + rotation_exponential(&turn) * (self.nutation * rate);
        BodyState {
            orientation,
            position: self.center_after(velocity, dt) - offset,
            velocity: SpatialVelocity::new(spin, of_center - spin.cross(&offset)),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::scalar::DualArray;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    pub fn vector(rng: &mut ChaCha8Rng, size: f64) -> Vector3<f64> {
        Vector3::from_fn(|_, _| rng.random_range(-size..size))
    }

    /// A body with any inertia and centre of mass, which turns by a few tenths of a radian in a step of 0.05 s.
    pub fn any_body(rng: &mut ChaCha8Rng) -> (MassProperties, BodyState) {
        let axes = rotation_exponential(&vector(rng, 1.5));
        let [x, y, z] = std::array::from_fn(|_| rng.random_range(0.02..1.0));
        let moments = Matrix3::from_diagonal(&Vector3::new(y + z, z + x, x + y));
        let mass = MassProperties {
            mass: rng.random_range(0.5..2.0),
            center_of_mass: vector(rng, 0.3),
            inertia: axes * moments * axes.transpose(),
        };
        let pose = RigidTransform::new(rotation_exponential(&vector(rng, 1.5)), vector(rng, 0.5));
        let velocity = SpatialVelocity::new(vector(rng, 5.0), vector(rng, 1.0));
        (mass, BodyState { velocity, ..BodyState::at_rest(&pose) })
    }

    /// Angular momentum about the centre of mass in W, and kinetic energy.
    fn momentum_and_energy(mass: &MassProperties, body: &BodyState) -> (Vector3<f64>, f64) {
        let rotation = body.pose().rotation;
        let inertia = rotation * mass.inertia * rotation.transpose();
        let v = body.velocity.shifted(&(rotation * mass.center_of_mass)).translational;
        let spin = body.velocity.rotational;
        let momentum = inertia * spin;
        (momentum, 0.5 * momentum.dot(&spin) + 0.5 * mass.mass * v.norm_squared())
    }

    #[test]
    fn a_body_without_contact_moves_as_free_motion_does_and_impulses_do_their_work() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let (dt, none) = (0.05, SpatialForce::zero());
        for _ in 0..200 {
            let (mass, body) = any_body(&mut rng);
            let step = BodyStep::new(&mass, &Vector3::zeros(), &body, &none, dt);
            let free: Vec<f64> = step.free.iter().flat_map(|v| [v.x, v.y, v.z]).collect();
            let after = step.after(&free, dt);
            let motion = FreeMotion::new(&mass, &body.pose().rotation, &body.velocity.rotational, dt);
            assert!((after.velocity.rotational - motion.angular_velocity).norm() < 1e-12);
            let (before, energy) = momentum_and_energy(&mass, &body);
            let (momentum, kept) = momentum_and_energy(&mass, &after);
            assert!((momentum - before).norm() < 1e-12 && (kept - energy).abs() < 1e-12 * energy);
            // An impulse of any size, also one that stops the turn.
            for part in [0.01, 1.0, 3.0] {
                let change = [vector(&mut rng, 5.0 * part), vector(&mut rng, part)];
                let of = |k: usize| step.free[k] + change[k];
                let v: Vec<f64> = [of(0), of(1)].iter().flat_map(|v| [v.x, v.y, v.z]).collect();
                let (_, there) = momentum_and_energy(&mass, &step.after(&v, dt));
                let (angular, linear) = (step.inertia * change[0], change[1] * mass.mass);
                let work = angular.dot(&of(0)) + linear.dot(&of(1));
                let lost = 0.5 * (angular.dot(&change[0]) + linear.dot(&change[1]));
                assert!(((there - energy) - (work - lost)).abs() < 1e-12 * there.max(energy));
                assert!(lost >= 0.0);
            }
        }
    }

    #[test]
    fn the_motion_of_a_body_has_the_derivatives_of_differences() {
        type Dual = DualArray<6>;
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        for _ in 0..20 {
            let (mass, body) = any_body(&mut rng);
            let v: [f64; BODY] = std::array::from_fn(|_| rng.random_range(-3.0..3.0));
            let zero = Vector3::<Dual>::zeros();
            let lifted = MassProperties::<Dual>::lift(&mass);
            let seed = |k: usize| Dual::variable(0.0, k);
            let tangent = [seed(0), seed(1), seed(2), seed(3), seed(4), seed(5)];
            let moved = |of: [f64; 6]| {
                let mut tangent = [0.0; 12];
                tangent[..3].copy_from_slice(&of[..3]);
                tangent[6..9].copy_from_slice(&of[3..]);
                let state = body.moved(&tangent);
                let step = BodyStep::new(&mass, &Vector3::zeros(), &state, &SpatialForce::zero(), 0.05);
                let after = step.after(&v, 0.05).velocity.rotational;
                [step.free[0], after, step.inertia * Vector3::new(1.0, 2.0, 3.0)]
            };
            let none = Dual::from(0.0);
            let [a, b, c, d, e, f] = tangent;
            let state =
                BodyState::<Dual>::lift(&body).moved(&[a, b, c, none, none, none, d, e, f, none, none, none]);
            let dt = Dual::from(0.05);
            let step = BodyStep::new(&lifted, &zero, &state, &SpatialForce::zero(), dt);
            let rates = v.map(Dual::from);
            let got = [
                step.free[0],
                step.after(&rates, dt).velocity.rotational,
                step.inertia * Vector3::new(1.0, 2.0, 3.0).map(Dual::from),
            ];
            for k in 0..6 {
                let at = |d: f64| {
                    let mut of = [0.0; 6];
                    of[k] = d;
                    moved(of)
                };
                let (plus, minus) = (at(1e-5), at(-1e-5));
                for i in 0..3 {
                    let slope = (plus[i] - minus[i]) / 2e-5;
                    assert!((slope - got[i].map(|x| x.eps[k])).amax() < 1e-7, "{i} {k}");
                }
            }
        }
    }
}
