//! Tetrahedra from any closed surface (isosurface stuffing).

mod creases;
mod features;
mod lattice;
mod measure;
mod splits;
mod stencils;
mod surface;

use nalgebra::Vector3;

use self::creases::{crossings, to_creases};
use self::features::{Topology, cut_off, deepen, round, sharpen};
use self::lattice::Lattice;
use self::measure::{angles_of, distance, sampled};
use self::splits::split;
use self::surface::{Stuffed, stuff};
use super::error::{LARGEST_HOLE_AREA, LARGEST_TETRAHEDRON_COUNT, LENGTH_RANGE, MeshError};
use super::holes::{Holes, area, closed};
use super::mesh::{SurfaceMesh, VolumeMesh, drop_unused_vertices, tetrahedron_volume};
use super::overlap::doubly_counted;
use super::surface_distance::SurfaceDistance;
use super::validate::check_indices;
use super::winding::Winding;

/// Lattice sizes in the mean thickness of a body, twice its volume over its area, where no size is given.
const SIZES_IN_THICKNESS: f64 = 2.5;
/// About as many tetrahedra are made at most where no size is given, ...
const TETRAHEDRA: f64 = 30_000.0;
/// ... but where the volume is farther off than this part of it, finer lattices are tried, ...
const VOLUME_OFF: f64 = 0.02;
/// ... each with a size this part of the one before, ...
const FINER: f64 = 0.75;
/// ... up to about as many tetrahedra as this.
const MOST_TETRAHEDRA: f64 = 300_000.0;
/// Rounds in which edges are split: in each, of every tetrahedron one at most.
const ROUNDS: usize = 2;
/// Walls are thick enough for a pressure field of this many sizes, and told where they are a tenth thinner.
const SIZES_IN_WALL: f64 = 2.0;

/// Tetrahedra that fill a surface, and how well.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Filled {
    /// The tetrahedra.
    pub mesh: VolumeMesh,
    /// The size of the lattice that they are cut from, m: the longest edges inside have this length.
    pub size: f64,
    /// The volume that the surface winds around, m³; what it winds around twice counts once.
    pub volume: f64,
    /// By which part of it the volume of the tetrahedra is larger.
    pub volume_error: f64,
    /// The largest distance of a point of the tetrahedra's boundary from the surface or of one of the surface from the boundary
    /// (Hausdorff distance), m, as found at some thousand points of each.
    pub distance: f64,
    /// A twentieth of the surface has walls behind it that are thinner than this, m.
    pub wall: f64,
    /// The smallest and the largest angle between two faces of a tetrahedron, radians.
    pub dihedral_angles: [f64; 2],
    /// Holes that were closed.
    pub holes: usize,
    /// The area of the holes as a part of that of the surface.
    pub hole_area: f64,
}

/// What is known of a surface before it is filled.
struct Surface {
    /// Without holes.
    mesh: SurfaceMesh,
    holes: Holes,
    tree: SurfaceDistance,
    low: Vector3<f64>,
    high: Vector3<f64>,
    volume: f64,
    area: f64,
}

impl SurfaceMesh {
    /// Fills a surface with tetrahedra, whatever its shape: a lattice cut at the surface (isosurface stuffing, Labelle and
    /// Shewchuk 2007, uniform), its boundary vertices moved to sharp edges, and beside the surface where it is curved, so that the volume is kept.
    /// Vertices inside are moved to where the distance to the boundary has a crease, as below a sharp edge, and edges that cut off or cross one
    /// are split; all this where it leaves good tetrahedra.
    ///
    /// What is inside is told by the winding number (Jacobson et al. 2013): pieces that overlap are united, parts apart from
    /// each other all filled, hollows left hollow, small holes closed. Every tetrahedron has a vertex inside, so that none is
    /// without gradient of a pressure that is 0 on the boundary. Dihedral angles are above 9° and below 165°. The result is the
    /// same on any number of threads.
    ///
    /// `size` is the length of the lattice's cubes, m. Without one it follows from the thickness of the body, and finer ones
    /// are tried where the volume is off by more than 2 %. Walls thinner than 1.2 sizes may have holes or be left out, which
    /// [`Filled::notes`] tells.
    ///
    /// # Errors
    /// When coordinates are not finite or indices out of range, the size is not a length, the surface is open or encloses no
    /// volume, the mesh or the lattice would be too large, or no point of it is inside.
    pub fn fill(&self, size: Option<f64>) -> Result<Filled, MeshError> {
        check_indices("triangle", &self.vertices, &self.triangles)?;
        let surface = Surface::new(self)?;
        if let Some(size) = size {
            if !(LENGTH_RANGE[0]..=LENGTH_RANGE[1]).contains(&size) {
                return Err(MeshError::Length { shape: "lattice", field: "size", value: size });
            }
            return surface.fill(size);
        }
        let of_count = |tetrahedra: f64| (12.0 * surface.volume / tetrahedra).cbrt();
        let mut size = (2.0 * surface.volume / surface.area / SIZES_IN_THICKNESS).max(of_count(TETRAHEDRA));
        // A whole number of cubes in the shortest direction: plates along the axes are met exactly.
        let shortest = (surface.high - surface.low).min();
        let fill = |size: f64| surface.fill(shortest / (shortest / size).round().max(1.0));
        let off = |found: &Result<Filled, MeshError>| {
            found.as_ref().map_or(f64::INFINITY, |filled| filled.volume_error.abs())
        };
        let mut best = fill(size);
        while off(&best) > VOLUME_OFF && size * FINER > of_count(MOST_TETRAHEDRA) {
            size *= FINER;
            let finer = fill(size);
            if off(&finer) < off(&best) {
                best = finer;
            }
        }
        best
    }
}

impl Surface {
    fn new(given: &SurfaceMesh) -> Result<Self, MeshError> {
        let (mesh, holes) = closed(given);
        if holes.area > LARGEST_HOLE_AREA {
            return Err(MeshError::Holes { count: holes.count, area: holes.area });
        }
        let [twice, less] = doubly_counted(&mesh);
        let volume = mesh.volume() * (1.0 - twice + less);
        let first = mesh.vertices.first().copied().unwrap_or_default();
        let (low, high) =
            mesh.vertices.iter().fold((first, first), |(low, high), v| (low.inf(v), high.sup(v)));
        if !(volume > 0.0 && volume.is_finite() && (high - low).min() > 0.0) {
            return Err(MeshError::Inward { volume });
        }
        let tree = SurfaceDistance::new(&mesh.vertices, &mesh.triangles);
        let area = (0..mesh.triangles.len()).map(|t| area(mesh.corners(t)).norm()).sum();
        Ok(Self { mesh, holes, tree, low, high, volume, area })
    }

    fn fill(&self, size: f64) -> Result<Filled, MeshError> {
        let tetrahedra = 12.0 * self.volume / size.powi(3);
        if tetrahedra > LARGEST_TETRAHEDRON_COUNT as f64 {
            return Err(MeshError::TooFine { shape: "surface", resolution: size, tetrahedra });
        }
        let lattice = Lattice::around(&self.low, &self.high, size)?;
        let winding = Winding::new(&self.tree);
        let mut stuffed = stuff(&self.tree, &winding, &lattice);
        let sampled = sampled(&self.mesh, &winding, size, (self.high - self.low).norm());
        if stuffed.tetrahedra.is_empty() {
            return Err(MeshError::ThinnerThanLattice { size, wall: sampled.thickness });
        }
        let mut topology = Topology::of(&stuffed);
        sharpen(&mut stuffed, &topology, &self.mesh, &self.tree, size);
        round(&mut stuffed, &topology, &self.mesh, &self.tree);
        deepen(&mut stuffed, &topology, &self.tree, size);
        to_creases(&mut stuffed, &topology, &self.mesh, &self.tree, size);
        for _ in 0..ROUNDS {
            let cut_off = cut_off(&stuffed, &topology, &self.mesh, &self.tree, size);
            split(&mut stuffed, &topology, cut_off, size);
            topology = Topology::of(&stuffed);
        }
        let boundary = SurfaceDistance::new(&stuffed.vertices, &topology.faces);
        to_creases(&mut stuffed, &topology, &self.mesh, &boundary, size);
        for _ in 0..ROUNDS {
            let crossings = crossings(&stuffed, &topology, &self.mesh, &boundary, size);
            split(&mut stuffed, &topology, crossings, size);
            topology = Topology::of(&stuffed);
        }
        deepen(&mut stuffed, &topology, &boundary, size);
        let Stuffed { vertices, mut tetrahedra, .. } = stuffed;
        let vertices = drop_unused_vertices(&vertices, &mut tetrahedra);
        let mesh = VolumeMesh { vertices, tetrahedra };
        let volume: f64 = (0..mesh.tetrahedra.len()).map(|t| tetrahedron_volume(&mesh.corners(t))).sum();
        Ok(Filled {
            size,
            volume: self.volume,
            volume_error: volume / self.volume - 1.0,
            distance: distance(&sampled, &self.tree, &boundary),
            wall: sampled.thickness,
            dihedral_angles: angles_of(&mesh),
            holes: self.holes.count,
            hole_area: self.holes.area,
            mesh,
        })
    }
}

impl Filled {
    /// How it was filled, as a part of a sentence.
    pub fn summary(&self) -> String {
        format!(
            "filled with {} tetrahedra of a lattice of {:.3e} m: their volume is {:+.2} % off, their boundary at most {:.1e} m from it",
            self.mesh.tetrahedra.len(),
            self.size,
            100.0 * self.volume_error,
            self.distance
        )
    }

    /// What it leaves out or closes, and what to do about that: nothing where it stands for the surface.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.holes > 0 {
            notes.push(format!(
                "holes are closed: {}, of {:.2} % of the area",
                self.holes,
                100.0 * self.hole_area
            ));
        }
        if self.volume_error.abs() > VOLUME_OFF {
            notes.push(format!(
                "the volume of the tetrahedra is {:+.1} % off that of the surface",
                100.0 * self.volume_error
            ));
        }
        if self.distance > self.size {
            notes.push(format!(
                "the surface and the boundary of the tetrahedra are up to {:.1e} m apart: parts or gaps thinner than the \
                 lattice of {:.1e} m are left out",
                self.distance, self.size
            ));
        }
        if self.wall > 0.0 && self.wall < 0.9 * SIZES_IN_WALL * self.size {
            notes.push(format!(
                "a twentieth of the surface has walls thinner than {:.1e} m behind it, {:.1} sizes of the lattice; a size of \
                 {:.1e} m resolves them",
                self.wall,
                self.wall / self.size,
                self.wall / SIZES_IN_WALL
            ));
        }
        notes
    }
}

#[cfg(test)]
mod tests;
