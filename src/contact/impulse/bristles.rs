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
use serde::{Deserialize, Serialize, de::DeserializeOwned};

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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "T: nalgebra::Scalar + Serialize + DeserializeOwned")]
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
mod tests;
