//! What was loaded from a scene, so that mistakes of units are seen.

use serde::Serialize;

use crate::contact::ContactGeometry;
use crate::io::scene::file::Scene;
use crate::multibody::{Body, BodyGeometry, BodyPair, Motion};

/// The most pairs of bodies that a summary names.
const MOST_PAIRS: usize = 1000;

/// A body of a scene. SI units.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadedBody {
    /// Its name.
    pub name: String,
    /// How it moves: `fixed`, `free`, or `joint`.
    pub moves: &'static str,
    /// Lengths in m of the box around its bounded geometries and their skirts, along the axes of its
    /// frame; `None` without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<[f64; 3]>,
    /// Whether it has a half-space.
    pub unbounded: bool,
    /// Its mass, kg; `None` of a body that does not move or has none of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mass: Option<f64>,
    /// Number of triangles of its rigid geometries.
    pub triangles: usize,
    /// Number of tetrahedra of its compliant geometries.
    pub tetrahedra: usize,
    /// The materials of its geometries.
    pub materials: Vec<String>,
}

/// What was loaded from a scene.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SceneSummary {
    /// The bodies.
    pub bodies: Vec<LoadedBody>,
    /// Number of pairs of bodies that can touch.
    pub pair_count: usize,
    /// The names of these pairs, of the first 1000 of them.
    pub pairs: Vec<[String; 2]>,
}

impl Scene {
    /// A summary of what was loaded. `pairs` are the pairs of bodies that can touch, in increasing
    /// order; a pair may appear several times in a row.
    pub fn summary(&self, pairs: impl IntoIterator<Item = BodyPair>) -> SceneSummary {
        let bodies = &self.model.bodies;
        let mut pairs: Vec<BodyPair> = pairs.into_iter().collect();
        pairs.dedup();
        let named = |pair: &BodyPair| [bodies[pair.a].name.clone(), bodies[pair.b].name.clone()];
        SceneSummary {
            bodies: bodies.iter().enumerate().map(|(i, body)| self.loaded(i, body)).collect(),
            pair_count: pairs.len(),
            pairs: pairs.iter().take(MOST_PAIRS).map(named).collect(),
        }
    }

    fn loaded(&self, index: usize, body: &Body) -> LoadedBody {
        let count = |of: fn(&ContactGeometry) -> usize| {
            body.geometries.iter().map(|g| of(&g.collider.geometry)).sum()
        };
        let mut materials: Vec<String> = Vec::new();
        let of_geometry = |g: &BodyGeometry| Some(self.model.materials.get(g.material?)?.name.clone());
        for name in body.geometries.iter().filter_map(of_geometry) {
            if !materials.contains(&name) {
                materials.push(name);
            }
        }
        LoadedBody {
            name: body.name.clone(),
            moves: match body.motion {
                Motion::Fixed { .. } => "fixed",
                Motion::Free { .. } => "free",
                Motion::Link { .. } => "joint",
            },
            size: body.size().map(Into::into),
            unbounded: body.geometries.iter().any(|g| g.collider.geometry.is_half_space()),
            mass: self.model.body_mass(index).map(|mass| mass.mass),
            triangles: count(|geometry| match geometry {
                ContactGeometry::Rigid(surface) => surface.mesh().triangles.len(),
                _ => 0,
            }),
            tetrahedra: count(|geometry| match geometry {
                ContactGeometry::Compliant(field) => field.tetrahedra().len(),
                _ => 0,
            }),
            materials,
        }
    }
}
