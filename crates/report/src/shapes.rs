//! The shapes of bodies as they are drawn.

use nalgebra::Vector3;

use super::bounds::Bounds;
use isobar::contact::ContactGeometry;
use isobar::field::PressureField;
use isobar::geometry::{SurfaceMesh, VolumeMesh};
use isobar::multibody::{Body, BodyGeometry, Model};
use isobar::spatial::RigidTransform;

/// A body of a film.
#[derive(Clone, Debug)]
pub struct FilmBody {
    /// Its name.
    pub name: String,
    /// Whether it stays where it is.
    pub is_fixed: bool,
    /// Its colour, red, green and blue.
    pub color: [u8; 3],
    /// Its geometries, and what is drawn of it, in its own frame.
    pub parts: Vec<Part>,
}

/// A geometry of a body, or a mesh that is drawn of it.
#[derive(Clone, Debug)]
pub struct Part {
    /// What it is in contact.
    pub kind: PartKind,
    /// Its surface in the body's frame, m. That of a half-space is a square about the origin of its
    /// frame that reaches somewhat beyond what is bounded.
    pub surface: SurfaceMesh,
    /// The pressure field of a bounded compliant geometry, in the body's frame.
    pub field: Option<PartField>,
    /// Pose of the geometry's frame in the body's.
    pub(super) x_bg: RigidTransform,
}

/// What a geometry is in contact, if it is in contact at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// A bounded compliant body.
    Compliant,
    /// A bounded rigid body.
    Rigid,
    /// A half-space, compliant or rigid.
    HalfSpace,
    /// A mesh that is drawn and touches nothing; it need not be closed.
    Visual,
}

impl Part {
    /// How opaque it is drawn, from 0 to 1: contact surfaces lie inside what is compliant.
    pub(super) fn opacity(&self) -> f32 {
        match self.kind {
            PartKind::Rigid | PartKind::Visual => 1.0,
            PartKind::Compliant | PartKind::HalfSpace => 0.5,
        }
    }
}

/// A pressure field in a body's frame.
#[derive(Clone, Debug)]
pub struct PartField {
    /// Its mesh, m.
    pub mesh: VolumeMesh,
    /// The pressure at each vertex, Pa.
    pub pressures: Vec<f64>,
}

/// Colours that are told apart by everyone (Okabe and Ito 2008), without black and yellow.
const COLORS: [[u8; 3]; 6] =
    [[0, 114, 178], [213, 94, 0], [0, 158, 115], [204, 121, 167], [86, 180, 233], [230, 159, 0]];

/// The colour of bodies that do not move.
const FIXED_COLOR: [u8; 3] = [150, 150, 150];

pub(super) fn film_bodies(model: &Model) -> Vec<FilmBody> {
    let body = |body: &Body| {
        let parts = body.geometries.iter().map(|geometry| part(model, geometry)).collect();
        FilmBody { name: body.name.clone(), is_fixed: !body.is_moving(), color: FIXED_COLOR, parts }
    };
    model.bodies().iter().map(body).collect()
}

/// Gives the bodies that move and are seen their colours, one after the other: the colours are few.
pub(super) fn give_colors(bodies: &mut [FilmBody]) {
    let moving = bodies.iter_mut().filter(|body| !body.is_fixed && !body.parts.is_empty());
    for (body, color) in moving.zip(COLORS.iter().cycle()) {
        body.color = *color;
    }
}

/// A geometry as it is drawn.
fn part(model: &Model, geometry: &BodyGeometry) -> Part {
    let x_bg = geometry.x_bg;
    let moved = |vertices: &[Vector3<f64>]| vertices.iter().map(|v| x_bg * *v).collect::<Vec<_>>();
    let (kind, surface, field) = match geometry.collider.geometry.as_ref() {
        ContactGeometry::Compliant(field) => {
            let mesh =
                VolumeMesh { vertices: moved(&field.mesh().vertices), tetrahedra: own_tetrahedra(field) };
            let modulus = geometry
                .material
                .and_then(|index| model.materials().get(index))
                .map_or(0.0, |named| named.material.hydroelastic_modulus);
            let pressures = field.extent().iter().map(|extent| extent * modulus).collect();
            (PartKind::Compliant, mesh.boundary(), Some(PartField { mesh, pressures }))
        }
        ContactGeometry::Rigid(surface) => {
            let SurfaceMesh { vertices, triangles } = surface.mesh();
            let mesh = SurfaceMesh { vertices: moved(vertices), triangles: triangles.clone() };
            (PartKind::Rigid, mesh, None)
        }
        ContactGeometry::CompliantHalfSpace | ContactGeometry::RigidHalfSpace => {
            (PartKind::HalfSpace, square(&x_bg, &Vector3::zeros(), 1.0), None)
        }
    };
    Part { kind, surface, field, x_bg }
}

/// The tetrahedra of a field without those of its skirt, which is no part of the body.
fn own_tetrahedra(field: &PressureField) -> Vec<[u32; 4]> {
    let is_inside = |t: &&[u32; 4]| t.iter().all(|&k| field.extent()[k as usize] >= 0.0);
    field.mesh().tetrahedra.iter().filter(is_inside).copied().collect()
}

/// A square in the plane z = 0 of a frame, about a point of it, seen from above.
fn square(frame: &RigidTransform, center: &Vector3<f64>, half_width: f64) -> SurfaceMesh {
    let corner = |x: f64, y: f64| *frame * (center + Vector3::new(x, y, 0.0) * half_width);
    let vertices = vec![corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)];
    SurfaceMesh { vertices, triangles: vec![[0, 1, 2], [0, 2, 3]] }
}

/// Gives the squares of half-spaces a size: they lie below what is bounded and reach somewhat beyond it.
/// `pose` is the pose of the body in the world.
pub(super) fn fit_half_spaces(body: &mut FilmBody, pose: &RigidTransform, bounds: Option<&Bounds>) {
    for part in body.parts.iter_mut().filter(|part| part.kind == PartKind::HalfSpace) {
        let (center, half_width) = match bounds {
            Some(bounds) => {
                let middle = (*pose * part.x_bg).inverse() * ((bounds.low + bounds.high) * 0.5);
                (Vector3::new(middle.x, middle.y, 0.0), 0.6 * bounds.diagonal())
            }
            None => (Vector3::zeros(), 1.0),
        };
        part.surface = square(&part.x_bg, &center, half_width);
    }
}

impl FilmBody {
    /// Adds a mesh that is drawn of the body.
    pub(super) fn add_visual(&mut self, surface: SurfaceMesh) {
        self.parts.push(Part {
            kind: PartKind::Visual,
            surface,
            field: None,
            x_bg: RigidTransform::identity(),
        });
    }

    /// Whether the body has meshes that are drawn in the place of what collides.
    pub(super) fn has_visuals(&self) -> bool {
        self.parts.iter().any(|part| part.kind == PartKind::Visual)
    }

    /// The box around its bounded parts, in its own frame.
    pub(super) fn bounds(&self) -> Option<Bounds> {
        let bounded = self.parts.iter().filter(|part| part.kind != PartKind::HalfSpace);
        Bounds::around(bounded.flat_map(|part| part.surface.vertices.iter().copied()))
    }
}
