//! The pressure field of a compliant body.

use std::fmt;
use std::sync::OnceLock;

use nalgebra::Vector3;

use super::cells::Cells;
use super::error::FieldError;
use super::hierarchy::Hierarchy;
use super::tetrahedron::{IsobaricFace, LinearFunction, TetrahedronField, barycentric};
use crate::geometry::{NO_NEIGHBOUR, VolumeMesh, neighbours};

/// How far a field reaches out of its body.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Skirt {
    /// Its thickness, metres; 0 for none.
    pub thickness: f64,
    /// How far the extent falls below its value at the boundary, which is usually 0.
    pub extent: f64,
}

/// A piecewise linear field of the extent ε on a tetrahedral mesh, ready for contact queries.
///
/// The pressure is E_h ε; the modulus belongs to the material, so that one field serves all. With a
/// [`PressureLaw`](super::PressureLaw) the numbers at the vertices are its values f(ε), the pressure over the modulus, and all
/// that is called extent here is that. They may be greater than 1, where a body is stiffer than its modulus says.
/// Tetrahedra on which ε vanishes (all four vertices on the boundary) take no part in contact:
/// see [`Self::zero_tetrahedra`].
#[derive(Clone, Debug)]
pub struct PressureField {
    mesh: VolumeMesh,
    extent: Vec<f64>,
    tetrahedra: Vec<TetrahedronField>,
    hierarchy: Hierarchy,
    zero_tetrahedra: usize,
    skirt: Skirt,
    exponent: Option<f64>,
    neighbours: Derived<Vec<[u32; 4]>>,
    cells: Derived<Cells>,
    largest_part: Derived<f64>,
}

/// What is computed when it is first asked for. It is no part of what a value is, nor of how it is printed.
#[derive(Clone)]
struct Derived<T>(OnceLock<T>);

impl<T> Default for Derived<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T> fmt::Debug for Derived<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("_")
    }
}

/// Checks that extents are finite and not negative.
pub(super) fn check_extents(extent: impl IntoIterator<Item = f64>) -> Result<(), FieldError> {
    // Written so that NaN is caught too.
    match extent.into_iter().enumerate().find(|(_, e)| !(e.is_finite() && *e >= 0.0)) {
        Some((vertex, value)) => Err(FieldError::ExtentValue { vertex, value }),
        None => Ok(()),
    }
}

impl PressureField {
    /// A field from a mesh and an extent for every vertex.
    ///
    /// # Errors
    /// When the number of extents is wrong, one of them is negative or not finite, an index is
    /// out of range, or a tetrahedron has no positive volume or its field overflows.
    pub fn new(mesh: VolumeMesh, extent: Vec<f64>) -> Result<Self, FieldError> {
        let vertices = mesh.vertices.len();
        if extent.len() != vertices {
            return Err(FieldError::ExtentCount { vertices, extents: extent.len() });
        }
        check_extents(extent.iter().copied())?;
        Self::build(mesh, extent, Skirt::default())
    }

    /// The same field with other vertices and other finite extents, one for each vertex; its skirt is
    /// thicker by a factor.
    ///
    /// # Errors
    /// When a tetrahedron has no positive volume any more.
    pub(crate) fn reshaped(
        &self,
        vertices: Vec<Vector3<f64>>,
        extent: Vec<f64>,
        factor: f64,
    ) -> Result<Self, FieldError> {
        let mesh = VolumeMesh { vertices, tetrahedra: self.mesh.tetrahedra.clone() };
        let skirt = Skirt { thickness: self.skirt.thickness * factor, ..self.skirt };
        Self::build(mesh, extent, skirt).map(|field| field.with_exponent(self.exponent))
    }

    /// The same field, whose extents are now said to be powers with this exponent.
    pub(crate) fn with_exponent(self, exponent: Option<f64>) -> Self {
        Self { exponent, ..self }
    }

    /// A field from finite extents, one for each vertex, that fall below zero in a skirt.
    pub(super) fn build(mesh: VolumeMesh, extent: Vec<f64>, skirt: Skirt) -> Result<Self, FieldError> {
        let vertices = mesh.vertices.len();
        let mut tetrahedra = Vec::with_capacity(mesh.tetrahedra.len());
        let mut active = Vec::with_capacity(mesh.tetrahedra.len());
        for (i, t) in mesh.tetrahedra.iter().enumerate() {
            if let Some(&index) = t.iter().find(|&&k| k as usize >= vertices) {
                return Err(FieldError::VertexIndex { tetrahedron: i, index, vertices });
            }
            let corners = t.map(|k| mesh.vertices[k as usize]);
            let (functions, volume) = barycentric(&corners);
            // Written so that NaN is caught too.
            if !(volume > 0.0 && volume.is_finite()) {
                return Err(FieldError::Volume { tetrahedron: i, volume });
            }
            let e = t.map(|k| extent[k as usize]);
            let gradient = (1..4).map(|k| functions[k].gradient * (e[k] - e[0])).sum::<Vector3<f64>>();
            let offset = e[0] - gradient.dot(&corners[0]);
            let finite =
                |f: &LinearFunction| f.offset.is_finite() && f.gradient.iter().all(|x| x.is_finite());
            if !functions.iter().chain([&LinearFunction { gradient, offset }]).all(finite) {
                return Err(FieldError::NotFinite { tetrahedron: i });
            }
            let isobaric = (0..4).find_map(|k| {
                let others = [(k + 1) % 4, (k + 2) % 4, (k + 3) % 4].map(|m| e[m]);
                (others[0] == others[1] && others[1] == others[2] && others[0] != e[k]).then_some(
                    IsobaricFace { face: k as u8, lower_bound: e[k] > others[0], level: others[0] },
                )
            });
            tetrahedra.push(TetrahedronField {
                barycentric: functions,
                extent: LinearFunction { gradient, offset },
                isobaric,
            });
            // Not where it is 0 throughout; around a body the extent is below.
            if e.iter().any(|&x| x > 0.0 || x != e[0]) {
                active.push(i);
            }
        }
        let hierarchy = Hierarchy::build(active.len(), |i, points| {
            let t = mesh.tetrahedra[active[i]];
            points.extend(t.map(|k| (mesh.vertices[k as usize], extent[k as usize])));
        });
        let zero_tetrahedra = mesh.tetrahedra.len() - active.len();
        let hierarchy = hierarchy.with_elements(&active);
        Ok(Self {
            mesh,
            extent,
            tetrahedra,
            hierarchy,
            zero_tetrahedra,
            skirt,
            exponent: None,
            neighbours: Derived::default(),
            cells: Derived::default(),
            largest_part: Derived::default(),
        })
    }

    /// The mesh.
    pub fn mesh(&self) -> &VolumeMesh {
        &self.mesh
    }

    /// The extent of every vertex: negative on the boundary of a skirt, else at least 0.
    pub fn extent(&self) -> &[f64] {
        &self.extent
    }

    /// The linear functions of every tetrahedron.
    pub fn tetrahedra(&self) -> &[TetrahedronField] {
        &self.tetrahedra
    }

    /// The bounding-volume hierarchy over the tetrahedra.
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// How many tetrahedra have an extent of 0 throughout, and so take no part in contact.
    pub fn zero_tetrahedra(&self) -> usize {
        self.zero_tetrahedra
    }

    /// How far the field continues out of its body; see [`Self::with_skirt`].
    pub fn skirt(&self) -> Skirt {
        self.skirt
    }

    /// The exponent of the law that the field was made by, if that is a power.
    pub fn exponent(&self) -> Option<f64> {
        self.exponent
    }

    /// The tetrahedron beyond a face of another one, and the same face's number there; `None` on the boundary of the mesh.
    #[inline]
    pub(crate) fn neighbour(&self, tetrahedron: u32, face: u8) -> Option<(u32, u8)> {
        let beyond = self.neighbours()[tetrahedron as usize][usize::from(face)];
        (beyond != NO_NEIGHBOUR).then_some((beyond / 4, (beyond % 4) as u8))
    }

    #[inline]
    fn neighbours(&self) -> &[[u32; 4]] {
        self.neighbours.0.get_or_init(|| neighbours(&self.mesh.tetrahedra))
    }

    /// The parts over which the field is linear.
    pub(crate) fn cells(&self) -> &Cells {
        self.cells.0.get_or_init(|| {
            let lowest = -self.skirt.extent;
            let is_lowest = |(corners, beyond): (&[u32; 4], &[u32; 4]), face: usize| {
                beyond[face] == NO_NEIGHBOUR
                    && (0..4).all(|k| k == face || self.extent[corners[k] as usize] == lowest)
            };
            let tetrahedra = self.mesh.tetrahedra.iter().zip(self.neighbours());
            let bits = |of| (0..4).map(|face| u8::from(is_lowest(of, face)) << face).sum();
            Cells::new(&self.tetrahedra, self.neighbours(), &tetrahedra.map(bits).collect::<Vec<_>>())
        })
    }

    /// The part of the mesh's boundary that its largest triangle has.
    pub(crate) fn largest_part(&self) -> f64 {
        *self.largest_part.0.get_or_init(|| self.mesh.boundary().largest_part())
    }

    /// Bytes of memory held by the field, its mesh included.
    pub fn memory(&self) -> usize {
        self.mesh.vertices.capacity() * size_of::<Vector3<f64>>()
            + self.mesh.tetrahedra.capacity() * size_of::<[u32; 4]>()
            + self.extent.capacity() * size_of::<f64>()
            + self.tetrahedra.capacity() * size_of::<TetrahedronField>()
            + self.hierarchy.memory()
            + self.neighbours.0.get().map_or(0, |all| all.capacity() * size_of::<[u32; 4]>())
            + self.cells.0.get().map_or(0, Cells::memory)
    }
}
