//! The vector–Jacobian product of a step: the equations are solved once, transposed, and what is left is the derivative of
//! one number with respect to the numbers of bodies, patches and features, whatever parameters these come from.
//!
//! With the equations R(z, d) = 0 of the variables z and the numbers d of the step, the state after it a(z, d), and weights
//! x, that number is xᵀ a + λᵀ R with λ = −R_z⁻ᵀ a_zᵀ x. It is evaluated in dual numbers, a few directions at a time.

use std::sync::Arc;

use nalgebra::{DMatrix, DVector, Matrix3, Vector3};

use super::data::{Patch, StepData, geometries, patch_axes};
use super::dynamics::{BODY, BodyStep};
use super::equations::{Scaling, scaled_velocities};
use super::jacobian_of;
use super::search::Solved;
use crate::contact::Collider;
use crate::multibody::{
    BodyState, MassProperties, Model, ModelGradient, TANGENT_DIMENSION, forces_without_contact,
};
use crate::scalar::{CHUNK, DualArray, lift_matrix, lift_vector};
use crate::spatial::{RigidTransform, SpatialForce};
use crate::step::StepCotangent;
use crate::step::derivative_workspace::DerivativeWorkspace;
use crate::step::step_point::StepPoint;

type Dual = DualArray<CHUNK>;

/// Numbers that a body's part of a step is made of: state, force, gravity, mass, centre of mass, inertia.
const INPUTS: usize = TANGENT_DIMENSION + 6 + 3 + 1 + 3 + 9;
/// Those that are there whether masses are asked for or not.
const WITHOUT_MASS: usize = TANGENT_DIMENSION + 6 + 3;

/// A step that was solved, with what its derivatives need.
#[derive(Debug)]
pub(in crate::step) struct ComplementarityTape {
    pub(super) solved: Solved,
    /// The inverse of the Jacobian of the equations.
    pub(super) inverse: DMatrix<f64>,
}

impl ComplementarityTape {
    /// The memory that it holds besides its own, bytes.
    pub fn bytes(&self) -> usize {
        let Solved { found, data, solution, .. } = &self.solved;
        size_of_val(self.inverse.as_slice())
            + size_of_val(&found[..])
            + size_of_val(&data.bodies[..])
            + data.joints.as_ref().map_or(0, |joints| joints.bytes())
            + size_of_val(&data.places[..])
            + size_of_val(&data.contacts[..])
            + size_of_val(&data.patches[..])
            + size_of_val(&solution.variables[..])
    }
}

/// The number xᵀ a + λᵀ R at the solution.
struct Weighted<'a> {
    solved: &'a Solved,
    by_after: &'a [f64],
    multipliers: DVector<f64>,
}

impl<'a> Weighted<'a> {
    fn new(tape: &'a ComplementarityTape, by_after: &'a [f64]) -> Self {
        let ComplementarityTape { solved, inverse } = tape;
        let (data, z) = (&solved.data, &solved.solution.variables);
        let velocities = scaled_velocities(data, z);
        let Scaling { turn, shift } = Scaling::of(data);
        let mut by_z = DVector::zeros(z.len());
        for (i, body) in data.bodies.iter().enumerate() {
            let v: Vec<Dual> = (0..BODY).map(|k| Dual::variable(velocities[BODY * i + k], k)).collect();
            let along = after_along(&body.map(Dual::from), &v, Dual::from(data.dt), i, by_after);
            for k in 0..BODY {
                by_z[BODY * i + k] = along.eps[k] * if k < 3 { turn } else { shift };
            }
        }
        Self { solved, by_after, multipliers: -inverse.tr_mul(&by_z) }
    }

    /// The number with these numbers of the step.
    fn at(&self, data: &StepData<Dual>) -> Dual {
        let z: Vec<Dual> = self.solved.solution.variables.iter().map(|&x| Dual::from(x)).collect();
        let mut residual = Vec::new();
        self.solved.solution.held.evaluate(data, &z, &mut residual);
        let mut sum = Dual::from(0.0);
        for (r, multiplier) in residual.iter().zip(self.multipliers.iter()) {
            sum += *r * *multiplier;
        }
        let velocities = scaled_velocities(data, &z);
        for (i, (body, v)) in data.bodies.iter().zip(velocities.chunks_exact(BODY)).enumerate() {
            sum += after_along(body, v, data.dt, i, self.by_after);
        }
        sum
    }
}

/// The state of a body after the step along the weights of its tangent space.
fn after_along(body: &BodyStep<Dual>, v: &[Dual], dt: Dual, index: usize, by_after: &[f64]) -> Dual {
    let after = body.after(v, dt);
    let tangent = BodyState::lift(&after.real()).difference(&after);
    let weights = &by_after[TANGENT_DIMENSION * index..][..TANGENT_DIMENSION];
    tangent.iter().zip(weights).fold(Dual::from(0.0), |sum, (t, w)| sum + *t * *w)
}

/// Replaces the derivatives with respect to the state after the step by those with respect to the state before it, and adds
/// those with respect to control values and model.
pub(in crate::step) fn vjp(
    at: &StepPoint<'_>,
    tape: &ComplementarityTape,
    workspace: &mut DerivativeWorkspace,
    out: &mut StepCotangent<'_>,
) {
    let model = at.model.model();
    let by_after = out.state.to_vec();
    if model.mechanism().velocity_dimension() > 0 {
        // That a model has its parameters was checked when it was to be differentiated.
        if let Ok(jacobian) = jacobian_of(at, tape) {
            jacobian.product(&by_after, out);
        }
        return;
    }
    let weighted = Weighted::new(tape, &by_after);
    let total =
        forces_without_contact(model, at.before, at.time, at.applied, at.control, &mut workspace.forces);
    let by_force = &mut workspace.by_force;
    by_force.bodies.clear();
    by_force.joints.clear();
    let bodies = model.free_bodies().zip(&at.before.bodies).zip(&total.bodies);
    for (i, (((_, _, mass), body), force)) in bodies.enumerate() {
        let by = by_body(&weighted, i, mass, model.gravity(), body, force, out.model.of_free_bodies);
        let three = |k: usize| Vector3::new(by[k], by[k + 1], by[k + 2]);
        out.state[TANGENT_DIMENSION * i..][..TANGENT_DIMENSION].copy_from_slice(&by[..TANGENT_DIMENSION]);
        let first = TANGENT_DIMENSION;
        by_force.bodies.push(SpatialForce::new(three(first), three(first + 3)));
        out.model.gravity += three(first + 6);
        if out.model.of_free_bodies {
            let own = &mut out.model.masses[i];
            own.mass += by[WITHOUT_MASS];
            own.center_of_mass += three(WITHOUT_MASS + 1);
            own.inertia += Matrix3::from_row_slice(&by[WITHOUT_MASS + 4..]);
        }
    }
    by_force.bodies.resize(model.moving_count(), SpatialForce::zero());
    add_materials(&weighted, model, out.model);
    add_geometries(&weighted, model, out.model);
    let point = at.forces_at(at.before, at.time);
    workspace.sensitivity.add_applied_vjp(&point, at.applied, by_force, out.state, out.control, out.model);
}

/// The derivatives with respect to the numbers of a body.
fn by_body(
    weighted: &Weighted<'_>,
    index: usize,
    mass: &MassProperties,
    gravity: &Vector3<f64>,
    body: &BodyState,
    force: &SpatialForce,
    of_mass: bool,
) -> [f64; INPUTS] {
    let mut by = [0.0; INPUTS];
    let mut data = weighted.solved.data.map(Dual::from);
    let count = if of_mass { INPUTS } else { WITHOUT_MASS };
    for first in (0..count).step_by(CHUNK) {
        let seed = |k: usize| match k.checked_sub(first) {
            Some(direction) if direction < CHUNK => Dual::variable(0.0, direction),
            _ => Dual::from(0.0),
        };
        let three = |k: usize| Vector3::new(seed(k), seed(k + 1), seed(k + 2));
        let tangent: [Dual; TANGENT_DIMENSION] = std::array::from_fn(seed);
        let of_force = SpatialForce::new(three(TANGENT_DIMENSION), three(TANGENT_DIMENSION + 3));
        let inertia = Matrix3::from_fn(|i, j| seed(WITHOUT_MASS + 4 + 3 * i + j));
        let mass = MassProperties {
            mass: seed(WITHOUT_MASS) + mass.mass,
            center_of_mass: three(WITHOUT_MASS + 1) + lift_vector(&mass.center_of_mass),
            inertia: inertia + lift_matrix(&mass.inertia),
        };
        let state = BodyState::lift(body).moved(&tangent);
        let gravity = three(TANGENT_DIMENSION + 6) + lift_vector(gravity);
        let force = SpatialForce::lift(force) + of_force;
        data.bodies[index] = BodyStep::new(&mass, &gravity, &state, &force, data.dt);
        let along = weighted.at(&data);
        for (k, by) in by.iter_mut().enumerate().skip(first).take(CHUNK) {
            *by = along.eps[k - first];
        }
    }
    by
}

/// Adds the derivatives with respect to friction and ellipsoids of materials.
fn add_materials(weighted: &Weighted<'_>, model: &Model, out: &mut ModelGradient) {
    let lifted = weighted.solved.data.map(Dual::from);
    for (index, patch) in weighted.solved.data.patches.iter().enumerate() {
        let mut data = lifted.clone();
        let own = &mut data.patches[index];
        own.friction = Dual::variable(patch.friction, 0);
        own.ellipsoid = std::array::from_fn(|k| Dual::variable(patch.ellipsoid[k], k + 1));
        let along = weighted.at(&data);
        let pair = &model.pairs[patch.pair];
        let sides =
            pair.geometries().map(|(body, geometry)| model.bodies()[body].geometries[geometry].material);
        let [(a, _), (b, _)] = geometries(model, pair);
        let of = [a.material, b.material];
        for side in 0..2 {
            // A geometry without a material has that of the other.
            let Some(material) = sides[side].or(sides[1 - side]) else { continue };
            let by = &mut out.materials[material];
            let (own, other) = (&of[side], &of[1 - side]);
            by.dynamic_friction += along.eps[0] * slope(own.dynamic_friction, other.dynamic_friction);
            for k in 0..3 {
                let slope = slope(own.friction_ellipsoid[k], other.friction_ellipsoid[k]);
                by.friction_ellipsoid[k] += along.eps[k + 1] * slope;
            }
        }
    }
}

/// How what two materials combine to, 2 a b / (a + b), follows the first.
fn slope(own: f64, other: f64) -> f64 {
    let sum = own + other;
    if sum > 0.0 { 2.0 * (other / sum) * (other / sum) } else { 0.0 }
}

/// A number of a geometry that its features follow.
#[derive(Clone, Copy, Debug)]
enum ShapeNumber {
    /// A turn or a shift of its frame.
    Place(usize),
    Size,
    /// A coordinate of a vertex.
    Vertex(usize, usize),
}

/// Adds the derivatives with respect to shapes and places of the geometries that are asked for.
fn add_geometries(weighted: &Weighted<'_>, model: &Model, out: &mut ModelGradient) {
    let Solved { found, data: real, .. } = weighted.solved;
    let lifted = real.map(Dual::from);
    for own in &mut out.geometries {
        let geometry = own.geometry;
        let sides: Vec<(usize, usize)> = found
            .iter()
            .enumerate()
            .flat_map(|(k, contact)| {
                let pair = model.pairs[contact.pair].geometries();
                (0..2).filter(move |&side| pair[side] == geometry).map(move |side| (k, side))
            })
            .collect();
        if sides.is_empty() {
            continue;
        }
        let mut numbers: Vec<ShapeNumber> = (0..6).map(ShapeNumber::Place).collect();
        let mut vertices: Vec<usize> =
            sides.iter().flat_map(|&(k, side)| found[k].features.vertices_of(side)).collect();
        vertices.sort_unstable();
        vertices.dedup();
        numbers.extend(vertices.iter().flat_map(|&v| (0..3).map(move |axis| ShapeNumber::Vertex(v, axis))));
        let of_model = &model.bodies()[geometry.0].geometries[geometry.1];
        let shape = of_model.collider.geometry.vertices();
        if vertices.is_empty() && !shape.is_empty() {
            numbers.push(ShapeNumber::Size);
        }
        for chunk in numbers.chunks(CHUNK) {
            let mut data = lifted.clone();
            let mut place = [Dual::from(0.0); 6];
            let mut moved: Vec<Vector3<Dual>> = Vec::new();
            if chunk.iter().any(|number| !matches!(number, ShapeNumber::Place(_))) {
                moved.extend(shape.iter().map(lift_vector));
            }
            for (direction, number) in chunk.iter().enumerate() {
                let seed = Dual::variable(0.0, direction);
                match *number {
                    ShapeNumber::Place(axis) => place[axis] = seed,
                    ShapeNumber::Size => moved.iter_mut().for_each(|v| *v *= seed + 1.0),
                    ShapeNumber::Vertex(vertex, axis) => moved[vertex][axis] += seed,
                }
            }
            let three = |k: usize| Vector3::new(place[k], place[k + 1], place[k + 2]);
            let x_bg = RigidTransform::lift(&of_model.x_bg).moved(&three(0), &three(3));
            let moved = (!moved.is_empty()).then(|| Arc::from(moved));
            for &(k, side) in &sides {
                let pair = &model.pairs[found[k].pair];
                let mut both = geometries(model, pair).map(|(collider, x_bg)| {
                    (Collider::<Dual>::lift(&collider), RigidTransform::<Dual>::lift(&x_bg))
                });
                both[side].0.vertices = moved.clone().or(both[side].0.vertices.take());
                both[side].1 = x_bg;
                let [a, b] = &both;
                data.contacts[k].gap = found[k].features.prepare((&a.0, &a.1), (&b.0, &b.1));
                if side == 1 {
                    let patch: &mut Patch<Dual> = &mut data.patches[real.contacts[k].patch];
                    patch.axes = patch_axes(&x_bg, &found[k].features);
                }
            }
            let along = weighted.at(&data);
            for (number, by) in chunk.iter().zip(along.eps) {
                match *number {
                    ShapeNumber::Place(axis) if axis < 3 => own.rotation[axis] += by,
                    ShapeNumber::Place(axis) => own.translation[axis - 3] += by,
                    ShapeNumber::Vertex(vertex, axis) => own.vertices[vertex][axis] += by,
                    ShapeNumber::Size => {
                        // The size is that of the enlargement that comes nearest to the vertices.
                        let square: f64 = shape.iter().map(|v| v.norm_squared()).sum();
                        let vertices = own.vertices.iter_mut().zip(shape);
                        vertices.for_each(|(to, v)| *to += v * (by / square));
                    }
                }
            }
        }
    }
}
