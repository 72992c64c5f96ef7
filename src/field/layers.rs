//! Meshes cut into layers along surfaces of equal extent.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use nalgebra::Vector3;

use super::error::{FieldError, LARGEST_LAYER_COUNT};
use super::pressure_field::check_extents;
use crate::geometry::{LARGEST_TETRAHEDRON_COUNT, TETRAHEDRON_FACES, VolumeMesh};

/// A vertex whose extent is within this part of the distance to the next level stands for the cut of the level through
/// the edges around it, so that no tetrahedron becomes a sliver.
const SNAP: f64 = 0.1;
/// The least distance between levels, in parts of the largest extent.
const CLOSEST: f64 = 1e-4;

/// Where on an edge a vertex was added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EdgePoint {
    /// The vertices at the ends of the edge.
    pub ends: [u32; 2],
    /// How far it lies from the first towards the second, between 0 and 1.
    pub fraction: f64,
}

/// A mesh that has been cut into layers.
#[derive(Clone, Debug, PartialEq)]
pub struct LayeredMesh {
    /// The mesh: the old vertices, then the added ones.
    pub mesh: VolumeMesh,
    /// The extent of each vertex: as it was at the old ones, the level that cuts the edge at the others.
    pub extent: Vec<f64>,
    /// Where each of the added vertices lies on an edge of the old mesh.
    pub added: Vec<EdgePoint>,
}

impl LayeredMesh {
    /// The derivatives of a number with respect to the vertices and extents of the old mesh, from those with respect to
    /// the vertices and extents of this one: added vertices stay at the same fraction of their edge, and their extents
    /// are the linear interpolation of those at its ends.
    ///
    /// # Errors
    /// When there is not one derivative of each kind for each vertex.
    pub fn vjp(
        &self,
        by_vertices: &[Vector3<f64>],
        by_extents: &[f64],
    ) -> Result<(Vec<Vector3<f64>>, Vec<f64>), FieldError> {
        let vertices = self.extent.len();
        if by_extents.len() != vertices {
            return Err(FieldError::ExtentCount { vertices, extents: by_extents.len() });
        }
        if by_vertices.len() != vertices {
            return Err(FieldError::CoordinateCount { vertices, derivatives: 3 * by_vertices.len() });
        }
        let old = vertices - self.added.len();
        let (mut vertices, mut extents) = (by_vertices[..old].to_vec(), by_extents[..old].to_vec());
        for (i, point) in self.added.iter().enumerate() {
            for (end, weight) in point.ends.into_iter().zip([1.0 - point.fraction, point.fraction]) {
                vertices[end as usize] += by_vertices[old + i] * weight;
                extents[end as usize] += by_extents[old + i] * weight;
            }
        }
        Ok((vertices, extents))
    }
}

/// The extents between so many layers, from 0 on the boundary to the largest extent: the kth of n is (k/n)² of the
/// largest, and there is none for one layer.
///
/// Layers are thin near the boundary, where bodies that touch lightly meet: with ten layers the first ends at a
/// hundredth of the largest extent, the last begins at 81 hundredths.
///
/// # Errors
/// When there are no layers or more than [`LARGEST_LAYER_COUNT`], or an extent is negative or not finite.
pub fn graded_levels(extent: &[f64], layers: usize) -> Result<Vec<f64>, FieldError> {
    check_extents(extent.iter().copied())?;
    if !(1..=LARGEST_LAYER_COUNT).contains(&layers) {
        return Err(FieldError::LayerCount { layers });
    }
    let largest = extent.iter().copied().fold(0.0, f64::max);
    if largest == 0.0 {
        return Ok(Vec::new());
    }
    Ok((1..layers).map(|k| largest * (k as f64 / layers as f64).powi(2)).collect())
}

/// Cuts the tetrahedra of a mesh where its extent, linear in each of them, crosses these levels.
///
/// Vertices are added where a level crosses an edge, except where it passes so close to one of its ends that this stands
/// for the cut. The extent stays the same function, and the mesh conforming where it was: every piece between two levels is cut
/// from its vertex of the lowest number, its faces from theirs, so that pieces on both sides of a face agree (the pulling
/// triangulation; J. Dompierre and others, *How to subdivide pyramids, prisms and hexahedra into tetrahedra*, 1999).
/// Levels at and above the largest extent cut nothing. The tetrahedra must have positive volumes.
///
/// # Errors
/// When there is not an extent for each vertex, one is negative or not finite, a tetrahedron names a vertex that does
/// not exist, the levels are not in order or closer to each other or to 0 than 10⁻⁴ of the largest extent, or there
/// would be more than [`LARGEST_TETRAHEDRON_COUNT`] tetrahedra.
pub fn split_at_levels(mesh: &VolumeMesh, extent: &[f64], levels: &[f64]) -> Result<LayeredMesh, FieldError> {
    let vertices = mesh.vertices.len();
    if extent.len() != vertices {
        return Err(FieldError::ExtentCount { vertices, extents: extent.len() });
    }
    check_extents(extent.iter().copied())?;
    for (tetrahedron, corners) in mesh.tetrahedra.iter().enumerate() {
        if let Some(&index) = corners.iter().find(|&&k| k as usize >= vertices) {
            return Err(FieldError::VertexIndex { tetrahedron, index, vertices });
        }
    }
    let largest = extent.iter().copied().fold(0.0, f64::max);
    let mut least = CLOSEST * largest;
    for (level, &value) in levels.iter().enumerate() {
        // Written so that NaN is caught too.
        if !(value >= least && value > 0.0 && value.is_finite()) {
            return Err(FieldError::Level { level, value, least });
        }
        least = value + CLOSEST * largest;
    }
    let below = levels.partition_point(|&level| level <= largest - CLOSEST * largest);
    let mut cutter = Cutter::new(mesh, extent, &levels[..below], largest);
    for corners in &mesh.tetrahedra {
        cutter.cut(*corners);
        if cutter.tetrahedra.len() > LARGEST_TETRAHEDRON_COUNT {
            return Err(FieldError::TooManyLayers);
        }
    }
    Ok(cutter.finish())
}

/// What is found while a mesh is cut.
struct Cutter<'a> {
    levels: &'a [f64],
    vertices: Vec<Vector3<f64>>,
    extent: Vec<f64>,
    /// Where each vertex lies among the levels: 2k on the kth of them, counted from 1, and 2k + 1 between it and the
    /// next.
    places: Vec<usize>,
    tetrahedra: Vec<[u32; 4]>,
    added: Vec<EdgePoint>,
    /// The vertex on an edge, by its ends in order, and on a level, by its place.
    on_edges: HashMap<([u32; 2], usize), u32>,
}

impl<'a> Cutter<'a> {
    fn new(mesh: &VolumeMesh, extent: &[f64], levels: &'a [f64], largest: f64) -> Self {
        let step = |k: usize| {
            let before = if k == 0 { 0.0 } else { levels[k - 1] };
            let after = levels.get(k + 1).copied().unwrap_or(largest);
            (levels[k] - before).min(after - levels[k])
        };
        let place = |&value: &f64| {
            let above = levels.partition_point(|&level| level < value);
            let is_near = |k: usize| (levels[k] - value).abs() <= SNAP * step(k);
            if above < levels.len() && is_near(above) {
                2 * above + 2
            } else if above > 0 && is_near(above - 1) {
                2 * above
            } else {
                2 * above + 1
            }
        };
        Self {
            levels,
            vertices: mesh.vertices.clone(),
            extent: extent.to_vec(),
            places: extent.iter().map(place).collect(),
            tetrahedra: Vec::with_capacity(mesh.tetrahedra.len()),
            added: Vec::new(),
            on_edges: HashMap::new(),
        }
    }

    fn place(&self, vertex: u32) -> usize {
        self.places[vertex as usize]
    }

    /// The vertex where a level crosses an edge, added where there is none yet.
    fn crossing(&mut self, a: u32, b: u32, level: usize) -> u32 {
        let ends = [a.min(b), a.max(b)];
        if let Some(&vertex) = self.on_edges.get(&(ends, level)) {
            return vertex;
        }
        let vertex = self.vertices.len() as u32;
        let value = self.levels[level / 2 - 1];
        let [(from, low), (to, high)] =
            ends.map(|end| (self.vertices[end as usize], self.extent[end as usize]));
        let fraction = (value - low) / (high - low);
        self.vertices.push(from + (to - from) * fraction);
        self.extent.push(value);
        self.places.push(level);
        self.added.push(EdgePoint { ends, fraction });
        self.on_edges.insert((ends, level), vertex);
        vertex
    }

    /// Adds the pieces of a tetrahedron.
    fn cut(&mut self, corners: [u32; 4]) {
        let places = corners.map(|vertex| self.place(vertex));
        let lowest = places.into_iter().fold(usize::MAX, usize::min);
        let highest = places.into_iter().fold(0, usize::max);
        // The layers that it has a part in are those of the odd places in this range.
        let (first, last) = (lowest | 1, highest - usize::from(highest % 2 == 0));
        if first >= last {
            self.tetrahedra.push(corners);
            return;
        }
        for layer in (first..=last).step_by(2) {
            let mut faces: Vec<Vec<u32>> = TETRAHEDRON_FACES
                .iter()
                .map(|face| self.face_in_layer(face.map(|k| corners[k]), layer))
                .filter(|face| face.len() > 2)
                .collect();
            add_lids(&mut faces);
            pull(&faces, &mut self.tetrahedra);
        }
    }

    /// The polygon of a triangle's part in a layer, in the triangle's orientation.
    fn face_in_layer(&mut self, face: [u32; 3], layer: usize) -> Vec<u32> {
        let mut polygon = Vec::with_capacity(5);
        for (from, to) in [(face[0], face[1]), (face[1], face[2]), (face[2], face[0])] {
            let (p, q) = (self.place(from), self.place(to));
            if p.abs_diff(layer) <= 1 {
                polygon.push(from);
            }
            let on_the_way = if p < q { [layer - 1, layer + 1] } else { [layer + 1, layer - 1] };
            for level in on_the_way {
                if p.min(q) < level && level < p.max(q) {
                    polygon.push(self.crossing(from, to, level));
                }
            }
        }
        polygon
    }

    fn finish(self) -> LayeredMesh {
        let mesh = VolumeMesh { vertices: self.vertices, tetrahedra: self.tetrahedra };
        LayeredMesh { mesh, extent: self.extent, added: self.added }
    }
}

/// Adds the faces on levels that close a polyhedron, from the edges of its other faces, which are seen from outside.
fn add_lids(faces: &mut Vec<Vec<u32>>) {
    let edges: BTreeSet<(u32, u32)> = faces
        .iter()
        .flat_map(|face| (0..face.len()).map(|i| (face[i], face[(i + 1) % face.len()])))
        .collect();
    // The face on the other side of an edge goes along it the other way. On each level there is one polygon at most.
    let mut open: BTreeMap<u32, u32> = edges
        .iter()
        .filter(|(from, to)| !edges.contains(&(*to, *from)))
        .map(|&(from, to)| (to, from))
        .collect();
    while let Some((start, mut next)) = open.pop_first() {
        let mut lid = vec![start];
        while next != start {
            lid.push(next);
            let Some(after) = open.remove(&next) else { break };
            next = after;
        }
        faces.push(lid);
    }
}

/// Cuts a convex polyhedron, of which the faces are given as seen from outside, into tetrahedra from its vertex of the
/// lowest number.
fn pull(faces: &[Vec<u32>], tetrahedra: &mut Vec<[u32; 4]>) {
    let Some(&lowest) = faces.iter().flatten().min() else { return };
    for face in faces.iter().filter(|face| !face.contains(&lowest)) {
        let start = (0..face.len()).min_by_key(|&i| face[i]).unwrap_or(0);
        let at = |i: usize| face[(start + i) % face.len()];
        for i in 1..face.len() - 1 {
            tetrahedra.push([lowest, at(0), at(i), at(i + 1)]);
        }
    }
}

#[cfg(test)]
mod tests;
