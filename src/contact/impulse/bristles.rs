//! Bristles: the deflection of two surfaces that stick to each other, as a state of its own.
//!
//! Without bristles friction at rest follows a velocity, so that what sticks creeps. With them it follows the
//! deflection z of the surfaces: over a step of length δt the friction of a face with the slip velocity v_t
//! after the step is that of z + (δt + τ) v_t,
//!
//! γ_t = −μ γ_n0 (z + (δt + τ) v_t) / √(|z + (δt + τ) v_t|² + ℓ²), τ = ℓ/v_s,
//!
//! with the bristle length ℓ, the stiction velocity v_s and the normal impulse γ_n0 that the model Lagged takes
//! friction from. This is Lagged's law with the slip velocity shifted by z/(δt + τ) and the stiction velocity
//! ℓ/(δt + τ): the gradient of a convex function, so that all that is known of its steps stays true. What sticks
//! has v_t = 0 and a z that holds the load for ever.
//!
//! The time τ damps the bristles (σ₁ = τ σ₀ of LuGre): z/ℓ + v_t/v_s is their deflection beside that of friction
//! without bristles, as stiff against a velocity. Springs alone do not rest on compliant ground: friction
//! follows the normal force, which does not follow friction in turn, so that sliding and rocking of nearly the same
//! frequency feed each other (flutter, as in brakes that squeal). Backward differences hide that only where
//! steps are long for the frequencies. Since τ only adds to δt, friction takes at least the energy from a body that
//! it would without, and where steps are short the law has the limit of a continuous one.
//!
//! The deflection of a pair is a twist s = (φ, u) of O relative to F at F's origin, in F's axes, and z is the
//! tangential part of u + φ × x at a face at x. After a step
//!
//! s⁺ = (s + δt W) / (1 + δt ρ), ρ = (√(v̄² + ε²) − ε) / (10 ℓ),
//!
//! where W is the slip of the patch as a whole, a twist: its slip velocity at the centre of pressure, and its
//! spin about the normal there. A ball that rolls on a plane has neither, so that rolling stretches no bristles,
//! whatever material comes into contact. Where faces around a body look in several directions, so that the mean m
//! of their normals is shorter than 1, no turn is a rolling: of what is not about the normal the part 1 − |m|²
//! counts. The relaxation ρ is that of LuGre (Canudas de Wit et al. 1995, IEEE
//! Trans. Autom. Control 40(3)) with the mean square v̄² of the faces' slip velocities. In steady sliding it
//! leaves a deflection of 10 ℓ, at which friction is full to 0.5 %. It vanishes at rest together with its slope,
//! by the small velocity ε: what sticks does not relax.
//!
//! Everything here is smooth in the velocity. Where a pair does not touch, it has no deflection.

use nalgebra::{Matrix6, SMatrix, Vector3, Vector6};

use crate::contact::force::local_jacobian::{DIRECTIONS, Dual};
use crate::contact::impulse::face_velocity::split;
use crate::scalar::{DualArray, Scalar};
use crate::spatial::SpatialVelocity;

/// The length of bristles in steady sliding, in units of ℓ.
const SLIDING: f64 = 10.0;
/// The velocity ε below which bristles hardly relax, as a part of the stiction velocity.
const RESTING: f64 = 0.01;
/// Numbers of a deflection.
pub(crate) const DEFLECTION_DIMENSION: usize = 6;

/// The deflection of the bristles between two geometries: a small motion of one relative to the other, in the
/// axes of that in whose frame their contact is found.
///
/// That is the softer of two compliant geometries, the second one where both are equally soft, and the compliant
/// one beside a rigid one. A half-space it is only beside a rigid geometry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deflection<T = f64> {
    /// Rotation, rad.
    pub rotation: Vector3<T>,
    /// Translation at the origin of the frame, m.
    pub translation: Vector3<T>,
}

impl<T: Scalar> Deflection<T> {
    /// Bristles that are not deflected.
    pub fn zero() -> Self {
        let zero = Vector3::from_element(T::from(0.0));
        Self { rotation: zero, translation: zero }
    }

    /// A constant deflection as scalars `T`.
    pub fn lift(s: &Deflection<f64>) -> Self {
        Self { rotation: s.rotation.map(T::from), translation: s.translation.map(T::from) }
    }

    /// The deflection without its derivatives.
    pub fn real(&self) -> Deflection<f64> {
        Deflection {
            rotation: self.rotation.map(|x| x.real()),
            translation: self.translation.map(|x| x.real()),
        }
    }

    /// Its six numbers: rotation, then translation.
    pub fn numbers(&self) -> [T; DEFLECTION_DIMENSION] {
        let (r, t) = (&self.rotation, &self.translation);
        [r.x, r.y, r.z, t.x, t.y, t.z]
    }

    /// The deflection with these six numbers.
    pub fn from_numbers([a, b, c, d, e, f]: [T; DEFLECTION_DIMENSION]) -> Self {
        Self { rotation: Vector3::new(a, b, c), translation: Vector3::new(d, e, f) }
    }

    /// Whether every number is finite.
    pub fn is_finite(&self) -> bool {
        self.numbers().iter().all(|x| x.real().is_finite())
    }
}

/// The shift z/(δt + τ) of the slip velocity of a face at `x` with the normal `n`, m/s, from that of the pair.
#[inline(always)]
pub(in crate::contact) fn slip_shift<T: Scalar>(
    rate: &SpatialVelocity<T>,
    x: &Vector3<T>,
    n: &Vector3<T>,
) -> Vector3<T> {
    split(&(rate.translational + rate.rotational.cross(x)), n).1
}

/// Sums over the faces of a patch, each weighted with its elastic force at the start of the step (N).
#[derive(Clone, Copy, Debug)]
pub(crate) struct PatchSums<T> {
    /// Of the forces themselves, N.
    pub load: T,
    /// Of the faces' positions from F's origin, N m.
    pub position: Vector3<T>,
    /// Of their normals, N.
    pub normal: Vector3<T>,
    /// Of the squares of their slip velocities after the step, N m²/s².
    pub slip: T,
}

impl<T: Scalar> PatchSums<T> {
    /// No faces.
    pub fn zero() -> Self {
        let (zero, none) = (T::from(0.0), Vector3::from_element(T::from(0.0)));
        Self { load: zero, position: none, normal: none, slip: zero }
    }

    /// Adds a face with its elastic force, its position, its normal and the velocity of O relative to F after
    /// the step, at F's origin.
    #[inline(always)]
    pub fn add_face(&mut self, load: T, x: &Vector3<T>, n: &Vector3<T>, after: &SpatialVelocity<T>) {
        let (_, v_t) = split(&(after.translational + after.rotational.cross(x)), n);
        self.load += load;
        self.position += x * load;
        self.normal += n * load;
        self.slip += v_t.dot(&v_t) * load;
    }

    /// The same sums with real parts of their own.
    pub fn with_real(&self, real: &PatchSums<f64>) -> Self {
        let with = |x: T, real: f64| x - x.real() + real;
        let vector = |v: &Vector3<T>, real: &Vector3<f64>| Vector3::from_fn(|i, _| with(v[i], real[i]));
        Self {
            load: with(self.load, real.load),
            position: vector(&self.position, &real.position),
            normal: vector(&self.normal, &real.normal),
            slip: with(self.slip, real.slip),
        }
    }
}

/// How the deflection of a pair follows its slip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BristleLaw<T = f64> {
    /// The bristle length ℓ, m.
    pub length: T,
    /// The stiction velocity, m/s.
    pub stiction_velocity: T,
    /// The length of the step δt, s.
    pub dt: T,
}

impl<T: Scalar> BristleLaw<T> {
    /// The time δt + τ over which friction takes the slip velocity for a deflection, s: the step, and the time
    /// τ = ℓ/v_s of damping.
    pub fn time(&self) -> T {
        self.length / self.stiction_velocity + self.dt
    }

    /// The velocity s/(δt + τ) that friction takes for slip, from the deflection s before the step.
    pub fn rate(&self, before: &Deflection<T>) -> SpatialVelocity<T> {
        let rate = self.time().recip();
        SpatialVelocity::new(before.rotation * rate, before.translation * rate)
    }

    /// The deflection after a step, from that before it, the velocity of O relative to F after it at F's
    /// origin, and the sums over the faces of the patch. A patch that bears nothing has none.
    pub fn after(
        &self,
        before: &Deflection<T>,
        velocity: &SpatialVelocity<T>,
        sums: &PatchSums<T>,
    ) -> Deflection<T> {
        if sums.load.real() <= 0.0 {
            return Deflection::zero();
        }
        let per_load = sums.load.recip();
        // The normals' mean is a unit vector where the patch is plane; no root is taken.
        let (center, normal) = (sums.position * per_load, sums.normal * per_load);
        let around = T::from(1.0) - normal.dot(&normal);
        let about = normal * normal.dot(&velocity.rotational);
        let spin = about + (velocity.rotational - about) * around;
        let at_center = velocity.translational + velocity.rotational.cross(&center);
        let slip = at_center - normal * normal.dot(&at_center);
        let at_origin = slip - spin.cross(&center);
        // √(v̄² + ε²) − ε, without a difference of numbers that are nearly equal.
        let (square, resting) = (sums.slip * per_load, self.stiction_velocity * RESTING);
        let speed = square / ((square + resting * resting).sqrt() + resting);
        let kept = (speed * (self.dt / (self.length * SLIDING)) + 1.0).recip();
        let dt = self.dt;
        Deflection {
            rotation: (before.rotation + spin * dt) * kept,
            translation: (before.translation + at_origin * dt) * kept,
        }
    }
}

/// The derivatives of a pair's deflection after a step, in F; rows rotation, then translation.
#[derive(Clone, Debug)]
pub(crate) struct DeflectionJacobian {
    /// With respect to the geometry (see [`crate::contact::force::local_jacobian`]).
    pub by_geometry: SMatrix<f64, DEFLECTION_DIMENSION, DIRECTIONS>,
    /// With respect to the velocity of O relative to F after the step, at F's origin.
    pub by_velocity: Matrix6<f64>,
    /// With respect to the deflection before the step.
    pub by_deflection: Matrix6<f64>,
}

impl BristleLaw {
    /// The same law in another scalar, without derivatives.
    fn lift<T: Scalar>(&self) -> BristleLaw<T> {
        let Self { length, stiction_velocity, dt } = *self;
        BristleLaw { length: T::from(length), stiction_velocity: T::from(stiction_velocity), dt: T::from(dt) }
    }

    /// The deflection with this [`Self::rate`].
    pub fn deflection(&self, rate: &SpatialVelocity) -> Deflection {
        let time = self.time();
        Deflection { rotation: rate.rotational * time, translation: rate.translational * time }
    }

    /// The derivatives of [`Self::after`], with the sums' derivatives with respect to the geometry, and that of
    /// their slip with respect to the velocity.
    pub fn jacobian(
        &self,
        before: &Deflection,
        velocity: &SpatialVelocity,
        sums: &PatchSums<Dual>,
        slip_by_velocity: &Vector6<f64>,
    ) -> DeflectionJacobian {
        const VELOCITY: usize = DIRECTIONS;
        const DEFLECTION: usize = VELOCITY + 6;
        type All = DualArray<{ DIRECTIONS + 12 }>;
        let widened = |x: Dual| {
            let mut all = All::from(x.re);
            all.eps[..DIRECTIONS].copy_from_slice(&x.eps);
            all
        };
        let seeded = |v: &Vector3<f64>, first: usize| Vector3::from_fn(|i, _| All::variable(v[i], first + i));
        let mut slip = widened(sums.slip);
        slip.eps[VELOCITY..DEFLECTION].copy_from_slice(slip_by_velocity.as_slice());
        let sums = PatchSums {
            load: widened(sums.load),
            position: sums.position.map(widened),
            normal: sums.normal.map(widened),
            slip,
        };
        let velocity = SpatialVelocity::new(
            seeded(&velocity.rotational, VELOCITY),
            seeded(&velocity.translational, VELOCITY + 3),
        );
        let before = Deflection {
            rotation: seeded(&before.rotation, DEFLECTION),
            translation: seeded(&before.translation, DEFLECTION + 3),
        };
        let rows = self.lift().after(&before, &velocity, &sums).numbers();
        DeflectionJacobian {
            by_geometry: SMatrix::from_fn(|row, k| rows[row].eps[k]),
            by_velocity: Matrix6::from_fn(|row, k| rows[row].eps[VELOCITY + k]),
            by_deflection: Matrix6::from_fn(|row, k| rows[row].eps[DEFLECTION + k]),
        }
    }

    /// The derivatives of a number with respect to the sums, given those with respect to the deflection after
    /// the step.
    pub fn sums_vjp(
        &self,
        before: &Deflection,
        velocity: &SpatialVelocity,
        sums: &PatchSums<f64>,
        by_after: &Vector6<f64>,
    ) -> PatchSums<f64> {
        type Eight = DualArray<8>;
        let seeded =
            |v: &Vector3<f64>, first: usize| Vector3::from_fn(|i, _| Eight::variable(v[i], first + i));
        let sums = PatchSums {
            load: Eight::variable(sums.load, 0),
            position: seeded(&sums.position, 1),
            normal: seeded(&sums.normal, 4),
            slip: Eight::variable(sums.slip, 7),
        };
        let rows =
            self.lift().after(&Deflection::lift(before), &SpatialVelocity::lift(velocity), &sums).numbers();
        let by = |k: usize| rows.iter().zip(by_after.iter()).map(|(row, by)| row.eps[k] * by).sum::<f64>();
        PatchSums {
            load: by(0),
            position: Vector3::new(by(1), by(2), by(3)),
            normal: Vector3::new(by(4), by(5), by(6)),
            slip: by(7),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    const LAW: BristleLaw = BristleLaw { length: 1e-6, stiction_velocity: 1e-3, dt: 1e-3 };

    /// A plane patch of three faces around a centre.
    fn plane<T: Scalar>(center: &Vector3<T>, n: &Vector3<T>, after: &SpatialVelocity<T>) -> PatchSums<T> {
        let mut sums = PatchSums::zero();
        let across = n.cross(&Vector3::new(T::from(0.3), T::from(-0.2), T::from(0.7)));
        let along = n.cross(&across);
        for (load, a, b) in [(2.0, 0.02, 0.01), (1.5, -0.03, 0.005), (3.0, 0.001, -0.02)] {
            let x = center + across * T::from(a) + along * T::from(b);
            sums.add_face(T::from(load), &x, n, after);
        }
        sums
    }

    fn center(sums: &PatchSums<f64>) -> Vector3<f64> {
        sums.position / sums.load
    }

    #[test]
    fn what_sticks_keeps_its_deflection_to_the_bit() {
        let (n, still) = (Vector3::new(0.48, -0.6, 0.64), SpatialVelocity::zero());
        let sums = plane(&Vector3::new(0.1, 0.2, -0.3), &n, &still);
        let s = Deflection::from_numbers([1e-5, -2e-5, 3e-6, 1e-6, 2e-6, -3e-6]);
        assert_eq!(LAW.after(&s, &still, &sums), s);
        // And noise hardly relaxes it.
        let noise = SpatialVelocity::new(Vector3::zeros(), n.cross(&Vector3::x()) * 1e-12);
        let sums = plane(&Vector3::new(0.1, 0.2, -0.3), &n, &noise);
        let after = LAW.after(&s, &noise, &sums);
        assert_relative_eq!(after.rotation, s.rotation, max_relative = 1e-15);
    }

    #[test]
    fn steady_sliding_stretches_them_to_ten_lengths() {
        let n = Vector3::new(0.48, -0.6, 0.64);
        let direction = n.cross(&Vector3::x()).normalize();
        for speed in [1e-2, 1.0] {
            let v = SpatialVelocity::new(Vector3::zeros(), direction * speed + n * 0.2);
            let sums = plane(&Vector3::new(0.1, 0.2, -0.3), &n, &v);
            let mut s = Deflection::zero();
            for _ in 0..2000 {
                s = LAW.after(&s, &v, &sums);
            }
            assert_relative_eq!(s.translation, direction * 1e-5, max_relative = 1e-2);
            assert_relative_eq!(s.rotation, Vector3::zeros(), epsilon = 1e-20);
        }
    }

    #[test]
    fn rolling_stretches_none() {
        let n = Vector3::new(0.48, -0.6, 0.64);
        let still = SpatialVelocity::zero();
        let at = center(&plane(&Vector3::new(0.1, 0.2, -0.3), &n, &still));
        let spin = n.cross(&Vector3::x()) * 3.0;
        let rolling = SpatialVelocity::new(spin, -spin.cross(&at));
        let sums = plane(&Vector3::new(0.1, 0.2, -0.3), &n, &rolling);
        let after = LAW.after(&Deflection::zero(), &rolling, &sums);
        assert!(after.numbers().iter().all(|x| x.abs() < 1e-17), "{after:?}");
        // But a turn about the normal does.
        let turning = SpatialVelocity::new(n * 3.0, -(n * 3.0).cross(&at));
        let sums = plane(&Vector3::new(0.1, 0.2, -0.3), &n, &turning);
        assert!(LAW.after(&Deflection::zero(), &turning, &sums).rotation.norm() > 1e-6);
    }

    #[test]
    fn a_patch_around_a_body_follows_every_turn() {
        // Faces that look in opposite directions: as the jaws of a grip that are one body.
        let still = SpatialVelocity::<f64>::zero();
        let of = |tilt: f64, v: &SpatialVelocity| {
            let mut sums = PatchSums::zero();
            for sign in [1.0, -1.0] {
                let n = Vector3::new(sign * tilt.sin(), 0.0, tilt.cos());
                sums.add_face(2.0, &(n * 0.01), &n, v);
            }
            sums
        };
        let mut last = 0.0;
        for tilt in [0.0, 0.3, 1.0, 0.5 * std::f64::consts::PI] {
            let sums = of(tilt, &still);
            let at = center(&sums);
            let spin = Vector3::new(0.0, 2e-3, 0.0);
            let rolling = SpatialVelocity::new(spin, -spin.cross(&at));
            let turned = LAW.after(&Deflection::zero(), &rolling, &of(tilt, &rolling)).rotation.y;
            let (share, whole) = (tilt.sin() * tilt.sin(), 2e-3 * LAW.dt);
            assert!(
                turned <= share * whole * (1.0 + 1e-12) && turned > 0.9 * share * whole - 1e-20,
                "{turned:e}"
            );
            assert!(tilt == 0.0 || turned > last);
            last = turned;
        }
    }

    #[test]
    fn nothing_that_bears_has_no_deflection() {
        let s = Deflection::from_numbers([1e-5, -2e-5, 3e-6, 1e-6, 2e-6, -3e-6]);
        let v = SpatialVelocity::new(Vector3::x(), Vector3::y());
        assert_eq!(LAW.after(&s, &v, &PatchSums::zero()), Deflection::zero());
        let jacobian = LAW.jacobian(&s, &v, &PatchSums::zero(), &Vector6::zeros());
        assert_eq!(jacobian.by_deflection, Matrix6::zeros());
        assert_eq!(jacobian.by_velocity, Matrix6::zeros());
    }

    /// A state in which the patch slides, turns and separates, scaled.
    fn moving(scale: f64) -> (Deflection, SpatialVelocity, Vector3<f64>, Vector3<f64>) {
        let s = Deflection::from_numbers([1e-5, -2e-5, 3e-6, 1e-6, 2e-6, -3e-6]);
        let v = SpatialVelocity::new(Vector3::new(0.3, -0.4, 0.2), Vector3::new(0.02, 0.05, -0.01));
        let v = SpatialVelocity::new(v.rotational * scale, v.translational * scale);
        (s, v, Vector3::new(0.1, 0.2, -0.3), Vector3::new(0.48, -0.6, 0.64))
    }

    #[test]
    fn derivatives_are_those_of_differences() {
        for scale in [0.0, 1e-4, 1.0] {
            let (s, v, x, n) = moving(scale);
            // The geometry: direction 0 shifts the patch, direction 1 turns its normal.
            let shift = Vector3::new(0.3, 0.2, -0.5);
            let turn = Vector3::new(0.8, 0.0, -0.6);
            let seeded = |v: &Vector3<f64>, by: &Vector3<f64>, k: usize| {
                Vector3::from_fn(|i, _| Dual::from(v[i]) + Dual::variable(0.0, k) * by[i])
            };
            let (x_dual, n_dual) = (seeded(&x, &shift, 0), seeded(&n, &turn, 1));
            let sums = plane(&x_dual, &n_dual, &SpatialVelocity::lift(&v));
            let mut slip_by_velocity = Vector6::zeros();
            let with = |parts: [f64; 6]| {
                let of = |a: &Vector3<f64>, k: usize| a + Vector3::new(parts[k], parts[k + 1], parts[k + 2]);
                SpatialVelocity::new(of(&v.rotational, 0), of(&v.translational, 3))
            };
            let unit = |k: usize, h: f64| std::array::from_fn(|i| if i == k { h } else { 0.0 });
            let h = 1e-6 * scale.max(1e-4);
            for k in 0..6 {
                let slip = |h: f64| plane(&x, &n, &with(unit(k, h))).slip;
                slip_by_velocity[k] = (slip(h) - slip(-h)) / (2.0 * h);
            }
            let got = LAW.jacobian(&s, &v, &sums, &slip_by_velocity);
            let close = |a: Vector6<f64>, b: Vector6<f64>| {
                assert_relative_eq!(a, b, epsilon = 2e-6 * a.norm().max(1e-9));
            };
            let numbers = |s: Deflection| Vector6::from(s.numbers());
            for k in 0..6 {
                let at = |h: f64| {
                    let v = with(unit(k, h));
                    numbers(LAW.after(&s, &v, &plane(&x, &n, &v)))
                };
                close(got.by_velocity.column(k).into_owned(), (at(h) - at(-h)) / (2.0 * h));
                let at = |h: f64| {
                    let moved = Deflection::from_numbers(
                        (Vector6::from(s.numbers()) + Vector6::from(unit(k, h))).into(),
                    );
                    numbers(LAW.after(&moved, &v, &plane(&x, &n, &v)))
                };
                close(got.by_deflection.column(k).into_owned(), (at(1e-6) - at(-1e-6)) / 2e-6);
            }
            let by_geometry = |k: usize, at: &dyn Fn(f64) -> Vector6<f64>| {
                let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
                close(got.by_geometry.column(k).into_owned(), difference);
            };
            by_geometry(0, &|h| numbers(LAW.after(&s, &v, &plane(&(x + shift * h), &n, &v))));
            by_geometry(1, &|h| numbers(LAW.after(&s, &v, &plane(&x, &(n + turn * h), &v))));
        }
    }

    #[test]
    fn the_product_with_the_sums_is_that_of_differences() {
        let (s, v, x, n) = moving(1.0);
        let sums = plane(&x, &n, &v);
        let by_after = Vector6::new(0.3, -0.7, 0.2, 1.1, -0.4, 0.6);
        let got = LAW.sums_vjp(&s, &v, &sums, &by_after);
        let got = [
            got.load,
            got.position.x,
            got.position.y,
            got.position.z,
            got.normal.x,
            got.normal.y,
            got.normal.z,
            got.slip,
        ];
        for (k, got) in got.into_iter().enumerate() {
            let at = |h: f64| {
                let mut moved = sums;
                match k {
                    0 => moved.load += h,
                    1..4 => moved.position[k - 1] += h,
                    4..7 => moved.normal[k - 4] += h,
                    _ => moved.slip += h,
                }
                by_after.dot(&Vector6::from(LAW.after(&s, &v, &moved).numbers()))
            };
            let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
            assert_relative_eq!(got, difference, max_relative = 1e-6, epsilon = 1e-12);
            assert!(got != 0.0);
        }
    }
}
