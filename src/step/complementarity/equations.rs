//! The equations of a step, in any scalar.
//!
//! With the velocities v over the step, the impulses p of the contacts along their normals, the wrenches W_f of friction at
//! the end of the step and those of normals W̄ₙ in the mean over it (`normals.rs` says why), momentum is
//! M (v − v*) = Σ W̄ₙ p + W_f p_f (Hotz eq. 2; Xie and Chakraborty eq. 6), and 0 ≤ p ⟂ δ ≥ 0 with the distances δ at the
//! end of the step (Hotz eq. 4, Xie and Chakraborty eq. 9). There are two laws of friction:
//!
//! * The **ellipsoid** (eq. 8): one wrench for all contacts of two geometries, at their equivalent contact point
//!   a = Σ p x / Σ p. With q such that p_t = e_t q_t, and so on, and s the velocities at a, that is
//!   0 = e μ pₙ s + q σ, 0 ≤ (μ pₙ)² − ‖q‖² ⟂ σ ≥ 0. Velocities are affine in the point, so pₙ s(a) = Σ p s(x).
//! * The **polyhedral cone** of Stewart and Trinkle (1996) at each contact: impulses β along directions d with
//!   0 ≤ β ⟂ λ + dᵀv ≥ 0, and 0 ≤ λ ⟂ μ p − Σ β ≥ 0.
//!
//! The normals of a patch are parallel, and its contacts lie in its plane: of a polyhedron over a plane they are the
//! vertices of the convex hull, and nonnegative impulses on them are what eq. 13 to 17 say with multipliers of the
//! faces: see `tests/rigid/planar.rs`.

use nalgebra::{DMatrix, Vector3};

use super::data::StepData;
use super::dynamics::BODY;
use super::kinematics::Kinematics;
use super::normals::normal_rows;
use super::row::Row;
use crate::linear_algebra::{MixedProblem, jacobian};
use crate::scalar::Scalar;

/// Directions of a polyhedral cone.
pub(super) const DIRECTIONS: usize = 4;
/// The least impulse that an equivalent contact point is divided by, in units of the scale.
const LEAST_IMPULSE: f64 = 1e-12;
/// The least part of the impulses of a patch that has a direction.
const LEAST_ALONG: f64 = 0.1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrictionLaw {
    Ellipsoid,
    Polyhedral,
}

/// Which variables there are: velocities, then q of the ellipsoids, the impulses p, and σ or β and λ.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub law: FrictionLaw,
    /// The contacts that take part; the impulses of the others are 0.
    pub used: Vec<usize>,
    /// The patches with an ellipsoid; or the contacts with a cone, as positions in `used`.
    pub frictional: Vec<usize>,
    /// How far contacts give under an impulse, in units of the scales: of contacts that share a load in many ways one
    /// way is left.
    pub compliance: f64,
    pub velocities: usize,
}

impl Layout {
    /// That of contacts with friction where its coefficient is not 0.
    pub fn new<T: Scalar>(data: &StepData<T>, law: FrictionLaw, used: Vec<usize>) -> Self {
        let frictional = match law {
            FrictionLaw::Ellipsoid => {
                let has = |patch: usize| {
                    data.patches[patch].friction.real() > 0.0
                        && used.iter().any(|&k| data.contacts[k].patch == patch)
                };
                (0..data.patches.len()).filter(|&patch| has(patch)).collect()
            }
            FrictionLaw::Polyhedral => {
                let friction = |k: usize| data.patches[data.contacts[k].patch].friction.real();
                (0..used.len()).filter(|&i| friction(used[i]) > 0.0).collect()
            }
        };
        Self { law, used, frictional, compliance: 0.0, velocities: data.velocity_count() }
    }

    /// Where q of the ellipsoids begins.
    pub fn ellipsoids(&self) -> usize {
        self.velocities
    }

    /// Where the impulses along the normals begin.
    pub fn impulses(&self) -> usize {
        match self.law {
            FrictionLaw::Ellipsoid => self.velocities + 3 * self.frictional.len(),
            FrictionLaw::Polyhedral => self.velocities,
        }
    }

    /// Where σ, or β, begins.
    pub fn multipliers(&self) -> usize {
        self.impulses() + self.used.len()
    }

    /// Where λ begins.
    pub fn cone_multipliers(&self) -> usize {
        self.multipliers() + DIRECTIONS * self.frictional.len()
    }

    /// The number of variables.
    pub fn size(&self) -> usize {
        match self.law {
            FrictionLaw::Ellipsoid => self.multipliers() + self.frictional.len(),
            FrictionLaw::Polyhedral => self.cone_multipliers() + self.frictional.len(),
        }
    }

    /// The number of variables that are not complementary to anything.
    pub fn equations(&self) -> usize {
        self.impulses()
    }

    /// Where the variables are that are those of a patch between free bodies, in the order of a layout of these alone; `own` are the positions
    /// of its contacts.
    fn places_of(&self, patch: usize, own: &[usize], bodies: &[usize]) -> Vec<usize> {
        let few = |first: usize, count: usize| first..first + count;
        let mut places: Vec<usize> = bodies.iter().flat_map(|body| few(BODY * body, BODY)).collect();
        let impulses = own.iter().map(|position| self.impulses() + position);
        match self.law {
            FrictionLaw::Ellipsoid => {
                let friction = self.frictional.binary_search(&patch).ok();
                places.extend(friction.iter().flat_map(|i| few(self.ellipsoids() + 3 * i, 3)));
                places.extend(impulses);
                places.extend(friction.map(|i| self.multipliers() + i));
            }
            FrictionLaw::Polyhedral => {
                places.extend(impulses);
                let cones = || own.iter().filter_map(|position| self.frictional.binary_search(position).ok());
                places.extend(cones().flat_map(|i| few(self.multipliers() + DIRECTIONS * i, DIRECTIONS)));
                places.extend(cones().map(|i| self.cone_multipliers() + i));
            }
        }
        places
    }
}

/// The equations and the functions of the complementary pairs, all of size 1.
pub(super) fn evaluate<T: Scalar>(data: &StepData<T>, layout: &Layout, z: &[T], out: &mut Vec<T>) {
    let velocities = &scaled_velocities(data, z);
    let kinematics = &data.kinematics(velocities);
    let normals = normal_rows(data, kinematics, layout.used.iter().copied());
    let zero = T::from(0.0);
    let (scales, dt) = (data.scales, data.dt);
    out.clear();
    out.resize(layout.size(), zero);
    let impulse = T::from(scales.impulse);
    let impulses = &z[layout.impulses()..layout.multipliers()];
    let mut momentum = vec![zero; layout.velocities];
    for (row, &p) in normals.iter().zip(impulses) {
        row.add_to(&mut momentum, p * impulse);
    }
    let per_velocity = T::from(1.0 / scales.velocity);
    let gap_rows = layout.impulses();
    for (i, &k) in layout.used.iter().enumerate() {
        let given = impulses[i] * T::from(layout.compliance * scales.velocity / scales.approach);
        out[gap_rows + i] = kinematics.gaps[k].distance * (dt * scales.approach).recip() + given;
    }
    match layout.law {
        FrictionLaw::Ellipsoid => {
            for (i, &patch) in layout.frictional.iter().enumerate() {
                let row = layout.ellipsoids() + 3 * i;
                let q = [z[row], z[row + 1], z[row + 2]];
                let sigma = z[layout.multipliers() + i];
                let slip = patch_slip(data, &layout.used, patch, impulses, kinematics);
                let friction = data.patches[patch].friction;
                let e = data.patches[patch].ellipsoid;
                let mut square = zero;
                for k in 0..3 {
                    out[row + k] = if e[k].real() > 0.0 {
                        e[k] * friction * slip.velocity[k] * per_velocity + q[k] * sigma
                    } else {
                        q[k]
                    };
                    square += q[k] * q[k];
                }
                let most = friction * slip.impulse;
                out[layout.multipliers() + i] = most * most - square;
                let [t, o, n] = slip.frame;
                let force = (t * (e[0] * q[0]) + o * (e[1] * q[1])) * impulse;
                let torque = n * (e[2] * q[2] * impulse);
                let bodies = data.patches[patch].bodies;
                Row::new(data, kinematics, bodies, &slip.point, &force, &torque)
                    .add_to_momenta(&mut momentum);
            }
        }
        FrictionLaw::Polyhedral => {
            let (first_beta, first_lambda) = (layout.multipliers(), layout.cone_multipliers());
            for (i, &position) in layout.frictional.iter().enumerate() {
                let k = layout.used[position];
                let patch = &data.patches[data.contacts[k].patch];
                let gap = &kinematics.gaps[k];
                let [t, o, _] = kinematics.frame(patch, &gap.normal);
                let slip = kinematics.relative_velocity(patch.bodies, &gap.point);
                let lambda = z[first_lambda + i];
                let mut sum = zero;
                let mut force = Vector3::from_element(zero);
                for (j, d) in [t, o, -t, -o].into_iter().enumerate() {
                    let beta = z[first_beta + DIRECTIONS * i + j];
                    sum += beta;
                    force += d * (beta * impulse);
                    out[first_beta + DIRECTIONS * i + j] = lambda + d.dot(&slip) * per_velocity;
                }
                out[first_lambda + i] = patch.friction * impulses[position] - sum;
                Row::of_force(data, kinematics, patch.bodies, &gap.point, &force)
                    .add_to_momenta(&mut momentum);
            }
        }
    }
    data.momentum_balance(velocities, &momentum, out);
}

/// The velocities in rad/s and m/s among the variables.
pub(super) fn scaled_velocities<T: Scalar>(data: &StepData<T>, z: &[T]) -> Vec<T> {
    let Scaling { turn, shift } = Scaling::of(data);
    let unit = |k: usize| T::from(if data.is_turn(k) { turn } else { shift });
    (0..data.velocity_count()).map(|k| z[k] * unit(k)).collect()
}

/// The units of the velocities among the variables.
pub(super) struct Scaling {
    pub turn: f64,
    pub shift: f64,
}

impl Scaling {
    pub fn of<T>(data: &StepData<T>) -> Self {
        Self { turn: data.scales.velocity / data.scales.length, shift: data.scales.velocity }
    }
}

/// How a patch slips.
pub(super) struct Slip<T> {
    /// The impulse along the normal, Σ p, in units of the scale.
    pub impulse: T,
    /// The velocities s along t and o, and that about n, times the impulse.
    pub velocity: [T; 3],
    /// The axes t, o and n.
    pub frame: [Vector3<T>; 3],
    /// The equivalent contact point in W.
    pub point: Vector3<T>,
}

/// How a patch slips under impulses of the contacts that are used.
pub(super) fn patch_slip<T: Scalar>(
    data: &StepData<T>,
    used: &[usize],
    patch: usize,
    impulses: &[T],
    kinematics: &Kinematics<T>,
) -> Slip<T> {
    let zero = T::from(0.0);
    let (mut impulse, mut weighted, mut along) =
        (zero, Vector3::from_element(zero), Vector3::from_element(zero));
    let mut heaviest: Option<(f64, usize)> = None;
    for (&k, &p) in used.iter().zip(impulses) {
        if data.contacts[k].patch == patch {
            impulse += p;
            weighted += kinematics.gaps[k].point * p;
            along += kinematics.gaps[k].normal * p;
            if heaviest.is_none_or(|(most, _)| p.real() > most) {
                heaviest = Some((p.real(), k));
            }
        }
    }
    // The mean of the normals: that of one contact would jump where another one comes to carry more.
    let (is_loaded, square) = (impulse.real() > LEAST_IMPULSE, along.dot(&along));
    let normal = match heaviest {
        Some(_) if is_loaded && square.real() > (LEAST_ALONG * impulse.real()).powi(2) => {
            along * square.sqrt().recip()
        }
        Some((_, k)) => kinematics.gaps[k].normal,
        None => Vector3::new(zero, zero, T::from(1.0)),
    };
    let bodies = data.patches[patch].bodies;
    let frame = kinematics.frame(&data.patches[patch], &normal);
    let point = if is_loaded {
        weighted * impulse.recip()
    } else {
        heaviest.map_or(weighted, |(_, k)| kinematics.gaps[k].point)
    };
    let slip = kinematics.relative_velocity(bodies, &point);
    let spin = kinematics.relative_spin(bodies).dot(&frame[2]);
    let velocity = [frame[0].dot(&slip), frame[1].dot(&slip), spin].map(|v| v * impulse);
    Slip { impulse, velocity, frame, point }
}

/// The equations of a step in `f64`, for solvers.
pub(super) struct Equations<'a> {
    pub data: &'a StepData,
    pub layout: &'a Layout,
}

impl MixedProblem for Equations<'_> {
    fn equations(&self) -> usize {
        self.layout.equations()
    }

    fn pairs(&self) -> usize {
        self.layout.size() - self.layout.equations()
    }

    fn evaluate<T: Scalar>(&self, variables: &[T], out: &mut Vec<T>) {
        let data = self.data.map(|x| T::from(x));
        evaluate(&data, self.layout, variables, out);
    }

    /// Patch by patch: what a patch does follows its two bodies and its own impulses alone.
    fn slopes(&self, variables: &[f64]) -> DMatrix<f64> {
        let Self { data, layout } = *self;
        if data.joints.is_some() {
            return jacobian(self, variables);
        }
        let mut matrix = DMatrix::zeros(variables.len(), variables.len());
        let Scaling { turn, shift } = Scaling::of(data);
        let of_shift = 1.0 / data.scales.impulse;
        let of_turn = of_shift / data.scales.length;
        for (at, body) in data.bodies.iter().enumerate().map(|(i, body)| (BODY * i, body)) {
            matrix.view_mut((at, at), (3, 3)).copy_from(&(body.inertia * (turn * of_turn)));
            (3..BODY).for_each(|k| matrix[(at + k, at + k)] = body.mass * shift * of_shift);
        }
        for patch in 0..data.patches.len() {
            let is_own = |&position: &usize| data.contacts[layout.used[position]].patch == patch;
            let own: Vec<usize> = (0..layout.used.len()).filter(is_own).collect();
            if own.is_empty() {
                continue;
            }
            let contacts: Vec<usize> = own.iter().map(|&position| layout.used[position]).collect();
            let (part, bodies) = data.of_patch(patch, &contacts);
            let mut of_part = Layout::new(&part, layout.law, (0..own.len()).collect());
            of_part.compliance = layout.compliance;
            let places = layout.places_of(patch, &own, &bodies);
            let local: Vec<f64> = places.iter().map(|&place| variables[place]).collect();
            let slopes = jacobian(&Equations { data: &part, layout: &of_part }, &local);
            for (i, &row) in places.iter().enumerate() {
                for (j, &column) in places.iter().enumerate() {
                    matrix[(row, column)] += slopes[(i, j)];
                }
            }
        }
        matrix
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::{Contact, Patch, Place};
    use super::super::normals::tests::data;
    use super::*;
    use crate::contact::{LocalGap, kinds_of_gaps};
    use crate::spatial::{RigidTransform, SpatialVelocity};
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn derivatives_patch_by_patch_are_those_of_the_whole_equations() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        for kind in kinds_of_gaps() {
            let mut data = data(&mut rng, LocalGap { kind, flipped: false }, [false, false]);
            // The second body on one that does not move, and one with two contacts, of which another one is not used.
            data.places.push(Place::Fixed(
                RigidTransform::from_translation([0.1, 0.0, -0.2]),
                SpatialVelocity::zero(),
            ));
            data.patches.push(Patch { bodies: [1, 2], friction: 0.2, ..data.patches[0] });
            let contact = data.contacts[0].clone();
            let other = LocalGap { kind: kinds_of_gaps().swap_remove(2), flipped: false };
            for (patch, gap) in [(1, &contact.gap), (1, &contact.gap), (0, &contact.gap), (1, &other)] {
                let normal_of = data.contacts.len();
                data.contacts.push(Contact { patch, normal_of, gap: gap.clone() });
            }
            data.contacts[3].normal_of = 0;
            for law in [FrictionLaw::Ellipsoid, FrictionLaw::Polyhedral] {
                let mut layout = Layout::new(&data, law, vec![0, 2, 3, 4]);
                layout.compliance = 0.1;
                let z: Vec<f64> = (0..layout.size()).map(|_| rng.random_range(0.1..0.5)).collect();
                let equations = Equations { data: &data, layout: &layout };
                let whole = jacobian(&equations, &z);
                let off = equations.slopes(&z) - &whole;
                assert!(off.amax() < 1e-13 * whole.amax(), "{off}");
                let d = 1e-6;
                let at = |k: usize, d: f64| {
                    let mut out = Vec::new();
                    let moved: Vec<f64> =
                        z.iter().enumerate().map(|(i, z)| if i == k { z + d } else { *z }).collect();
                    equations.evaluate(&moved, &mut out);
                    out
                };
                for k in 0..z.len() {
                    for (i, (plus, minus)) in at(k, d).into_iter().zip(at(k, -d)).enumerate() {
                        let off = (plus - minus) / (2.0 * d) - whole[(i, k)];
                        assert!(off.abs() < 1e-6 * whole.amax(), "{law:?} {i} {k}: {off}");
                    }
                }
            }
        }
    }
}
