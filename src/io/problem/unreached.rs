//! A term of the cost that nothing reaches: an optimization that calls itself converged has changed it nowhere, and nothing
//! around changes it.

use nalgebra::Vector3;

use crate::geometry::SurfaceDistance;
use crate::io::problem::file::ProblemFile;
use crate::multibody::{BodyFrame, BodyGeometry, GeometryPair, Model, State};
use crate::optimize::trajectory::OptimizedProblem;
use crate::rollout::Quantity;

/// Part of the cost from which on a term counts, and part of the term that is no change of it.
const COUNTS: f64 = 1e-2;
const NO_CHANGE: f64 = 1e-6;
/// States of a motion, about, in which the gap between bodies is measured.
const STATES: usize = 100;

/// The term of the cost, with why if that is known, that an optimization from a start has not changed, and that nothing
/// changes where it ended.
pub(super) fn unreached(
    file: &ProblemFile,
    problem: &dyn OptimizedProblem,
    start: &[f64],
    end: &[f64],
) -> Option<String> {
    let (before, after) = (file.cost_by_term(problem, start).ok()?, file.cost_by_term(problem, end).ok()?);
    let total: f64 = after.iter().sum();
    let is_same =
        |i: &usize| after[*i] > COUNTS * total && (after[*i] - before[*i]).abs() <= NO_CHANGE * after[*i];
    let same: Vec<usize> = (0..file.cost_names.len()).filter(is_same).collect();
    // Derivatives take time.
    let gradients = if same.is_empty() { return None } else { file.gradients_by_term(end).ok()? };
    let is_constant = |i: &usize| gradients[*i].iter().all(|by| by.abs() <= NO_CHANGE * after[*i]);
    let term = same.into_iter().find(is_constant)?;
    let model = file.ensemble.as_ref().map_or(&file.scene.model, |ensemble| &ensemble.training[0].model);
    let states = problem.motion_of(0, end).ok()?.trajectory.states;
    let why = nearest(model, &states, &file.objective.terms()[term].quantity).map(|([a, b], gap)| {
        let [a, b] = [a, b].map(|body| &model.bodies()[body].name);
        format!(": `{a}` and `{b}` do not touch, they come no nearer than {gap:.3} m")
    });
    Some(format!("`{}`{}", file.cost_names[term], why.unwrap_or_default()))
}

/// What a quantity is of and the moving body, or the one that it is to be touched by, that comes nearest to it and may touch
/// it; and how near, in m.
fn nearest(model: &Model, states: &[State], quantity: &Quantity) -> Option<([usize; 2], f64)> {
    use Quantity::{
        AngularVelocity, ContactArea, ContactForce, GripForce, NormalForce, Orientation, Position, StepForce,
        Velocity,
    };
    let (body, from) = match *quantity {
        Position { body, .. }
        | Orientation { body, .. }
        | Velocity { body, .. }
        | AngularVelocity { body, .. } => (body, None),
        ContactForce { on, from, .. }
        | StepForce { on, from }
        | NormalForce { on, from }
        | GripForce { on, from }
        | ContactArea { on, from } => (on, Some(from)),
        _ => return None,
    };
    let gap = |pair: &GeometryPair| {
        let other = if pair.bodies.a == body { pair.bodies.b } else { pair.bodies.a };
        let is_other = from.map_or_else(|| model.bodies()[other].is_moving(), |from| from == other);
        let is_of_body = body == pair.bodies.a || body == pair.bodies.b;
        Some(([other, body], gap(model, states, pair)?)).filter(|_| is_other && is_of_body)
    };
    model.pairs().iter().filter_map(gap).min_by(|a, b| a.1.total_cmp(&b.1))
}

/// The least distance of two geometries in some of the states; none of half-spaces.
fn gap(model: &Model, states: &[State], pair: &GeometryPair) -> Option<f64> {
    let sides = [(pair.bodies.a, pair.geometry_a), (pair.bodies.b, pair.geometry_b)];
    let sides = sides.map(|(body, geometry)| (body, &model.bodies()[body].geometries[geometry]));
    let [a, b] = sides.map(|(_, geometry)| surface(geometry));
    let (a, b) = (a?, b?);
    let mut frames: Vec<BodyFrame> = Vec::new();
    let mut least = f64::INFINITY;
    for state in states.iter().step_by(states.len().div_ceil(STATES)) {
        model.body_frames(state, &mut frames);
        let [x_wa, x_wb] = sides.map(|(body, geometry)| frames[body].pose * geometry.x_bg);
        for (points, of, other) in [(&a.0, x_wb.inverse() * x_wa, &b.1), (&b.0, x_wa.inverse() * x_wb, &a.1)]
        {
            least = points.iter().map(|point| other.distance(&(of * *point))).fold(least, f64::min);
        }
    }
    Some(least)
}

/// The vertices and the surface of a geometry.
fn surface(geometry: &BodyGeometry) -> Option<(Vec<Vector3<f64>>, SurfaceDistance)> {
    let mesh = geometry.collider.geometry.surface_mesh()?;
    let distance = SurfaceDistance::new(&mesh.vertices, &mesh.triangles);
    Some((mesh.vertices, distance))
}
