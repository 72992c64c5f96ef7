//! The quantities of a scene that are differentiated: their names, when they are, and what they round at.

use nalgebra::Vector3;

use super::scene::SceneCheck;
use crate::multibody::{State, TANGENT_DIMENSION};

/// Names of a body's four tangent vectors, in their order.
const VECTORS: [&str; TANGENT_DIMENSION / 3] = ["orientation", "position", "angular velocity", "velocity"];

impl SceneCheck<'_> {
    /// How many steps a quantity comes after.
    pub fn steps_before(&self, quantity: usize) -> usize {
        let wrenches = 2 * self.pairs.len();
        let after =
            4 * self.model.free_bodies().count() + 2 * self.parts.len() + 2 * self.model.bristle_count();
        if quantity < wrenches {
            0
        } else if quantity < wrenches + after {
            1
        } else {
            self.steps
        }
    }

    /// What [`Self::evaluate`] returns, by name.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (pair, _) in &self.pairs {
            let (a, b) = (&self.model.bodies[pair.a].name, &self.model.bodies[pair.b].name);
            names.push(format!("torque on {a} from {b}"));
            names.push(format!("force on {a} from {b}"));
        }
        for when in ["one step".to_string(), format!("{} steps", self.steps)] {
            for (_, body, _) in self.model.free_bodies() {
                names.extend(VECTORS.iter().map(|v| format!("{} of {} after {when}", v, body.name)));
            }
            for kinds in [["angle", "displacement"], ["angular velocity", "velocity"]] {
                names.extend(self.parts.iter().map(|part| {
                    let joint = &self.model.mechanism.joints()[part.joint].name;
                    format!("{} of joint {joint} after {when}", kinds[usize::from(part.is_translation)])
                }));
            }
            for pair in &self.model.pairs[..self.model.bristle_count()] {
                let [a, b] = [pair.bodies.a, pair.bodies.b].map(|body| &self.model.bodies[body].name);
                names.extend(
                    ["rotation", "translation"]
                        .map(|kind| format!("{kind} of the bristles between {a} and {b} after {when}")),
                );
            }
        }
        names
    }

    /// How far two bodies move and turn from the initial state to another one, in m and rad: what deflections of
    /// bristles are computed from.
    fn largest_move(&self, after: &State, bodies: [usize; 2]) -> f64 {
        let [mut before, mut moved] = [Vec::new(), Vec::new()];
        self.model.body_frames(self.state, &mut before);
        self.model.body_frames(after, &mut moved);
        let of_body = |body: usize| {
            let (a, b) = (&before[body].pose, &moved[body].pose);
            (a.translation - b.translation).norm().max((a.rotation - b.rotation).norm())
        };
        bodies.map(of_body).into_iter().fold(0.0, f64::max)
    }

    /// The magnitude that each quantity rounds at: a state is measured from the reference, but
    /// computed from its own numbers and from the changes that forces make to them. Between rigid bodies velocities are what
    /// brings positions to where nothing overlaps in one step, and round as these do.
    pub fn magnitudes(&self) -> Vec<f64> {
        let mut magnitudes = vec![0.0; 2 * self.pairs.len()];
        let rate = if self.model.rigid_pairs.is_empty() { 0.0 } else { self.time_step.recip() };
        for after in &self.reference {
            for (a, b) in self.state.bodies.iter().zip(&after.bodies) {
                let of = |a: &Vector3<f64>, b: &Vector3<f64>| a.norm().max(b.norm()).max((b - a).norm());
                magnitudes.extend([
                    1.0,
                    of(&a.position, &b.position),
                    of(&a.velocity.rotational, &b.velocity.rotational).max(rate),
                    of(&a.velocity.translational, &b.velocity.translational)
                        .max(rate * of(&a.position, &b.position)),
                ]);
            }
            let (start, end) = (&self.state.joints, &after.joints);
            let of = |a: &[f64], b: &[f64]| {
                let larger = a.iter().zip(b).map(|(a, b)| a.abs().max(b.abs()).max((b - a).abs()));
                larger.fold(0.0, f64::max)
            };
            // Angles round with the rotations that they make.
            magnitudes.extend(self.parts.iter().map(|part| {
                let q = self.model.mechanism.joints()[part.joint].q.clone();
                of(&start.q[q.clone()], &end.q[q]).max(if part.is_translation { 0.0 } else { 1.0 })
            }));
            magnitudes.extend(self.parts.iter().map(|part| {
                let q = self.model.mechanism.joints()[part.joint].q.clone();
                let moved = rate * of(&start.q[q.clone()], &end.q[q]);
                of(&start.v[part.v.clone()], &end.v[part.v.clone()]).max(moved)
            }));
            for (pair, (a, b)) in self.state.bristles.iter().zip(&after.bristles).enumerate() {
                let bodies = self.model.pairs[pair].bodies;
                let moves = self.largest_move(after, [bodies.a, bodies.b]);
                let of = |a: &Vector3<f64>, b: &Vector3<f64>| a.norm().max(b.norm()).max(moves);
                magnitudes.extend([of(&a.rotation, &b.rotation), of(&a.translation, &b.translation)]);
            }
        }
        magnitudes
    }
}
