//! How a body's mass properties follow the shape and the place of one of its geometries.

use nalgebra::{Matrix3, Vector3};

use crate::contact::ContactGeometry;
use crate::geometry::{Moments, Solid};
use crate::multibody::{BodyGeometry, MassSource, Model, Motion, TANGENT_DIMENSION};
use crate::scalar::{DualArray, Scalar};
use crate::spatial::{MassProperties, RigidTransform};

/// Directions of the dual numbers here: the ten numbers of a solid's moments are one, three and six of them.
type Dual = DualArray<TANGENT_DIMENSION>;

/// The rows and columns of a symmetric matrix's six numbers.
const SYMMETRIC: [(usize, usize); 6] = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)];

/// The solid that a mesh fills, by its vertices: of a field with a skirt the skirt is part of it.
fn solid(geometry: &ContactGeometry) -> Option<Solid<'_>> {
    match geometry {
        ContactGeometry::Compliant(field) => Some(Solid::Tetrahedra(&field.mesh().tetrahedra)),
        ContactGeometry::Rigid(surface) => Some(Solid::Triangles(&surface.mesh().triangles)),
        ContactGeometry::CompliantHalfSpace | ContactGeometry::RigidHalfSpace => None,
    }
}

/// The mass properties at unit density of a geometry whose mesh changes: those that it has, with what the
/// mesh gains, given its own before and after. `None` where nothing is left.
fn changed<T: Scalar>(
    unit: &MassProperties,
    before: &MassProperties,
    after: MassProperties<T>,
) -> Option<MassProperties<T>> {
    let lost = MassProperties::lift(before).denser(T::from(-1.0));
    MassProperties::composite([MassProperties::lift(unit), after, lost])
}

/// The mass properties at unit density of a geometry whose mesh has other vertices: those that it has, with
/// what the mesh gains and loses. `None` for a half-space, or where nothing is left.
pub(super) fn unit_mass_with_vertices<T: Scalar>(
    original: &BodyGeometry,
    vertices: &[Vector3<T>],
) -> Option<MassProperties<T>> {
    let geometry = &*original.collider.geometry;
    let (solid, unit) = (solid(geometry)?, original.unit_mass.as_ref()?);
    let (from, origin) = solid.moments(geometry.vertices());
    let (to, about) = solid.moments(vertices);
    changed(unit, &from.properties(&origin).ok()?, to.properties(&about).ok()?)
}

/// The derivatives of a number by directions of a geometry's mass properties at unit density, in the body's
/// frame, given those with respect to the mass properties of its body; none where these do not come from the
/// geometries.
fn by_unit_mass(
    model: &Model,
    body: usize,
    geometry: usize,
    unit: MassProperties<Dual>,
    by_mass: &MassProperties,
) -> Option<[f64; TANGENT_DIMENSION]> {
    let Motion::Free { source, .. } = &model.bodies[body].motion else { return None };
    if matches!(source, MassSource::Given(_)) {
        return None;
    }
    let parts: Vec<MassProperties<Dual>> = model.bodies[body]
        .geometries
        .iter()
        .enumerate()
        .filter_map(|(i, g)| {
            let constant = || Some(MassProperties::lift(&g.unit_mass.as_ref()?.seen_from(&g.x_bg)));
            if i == geometry { Some(unit) } else { constant() }
        })
        .collect();
    let mass = MassSource::lift(source).resolve(parts).ok()?;
    Some(std::array::from_fn(|k| {
        by_mass.mass * mass.mass.eps[k]
            + by_mass.center_of_mass.dot(&mass.center_of_mass.map(|x| x.eps[k]))
            + by_mass.inertia.dot(&mass.inertia.map(|x| x.eps[k]))
    }))
}

/// The derivative of a number with respect to a factor on the size of a geometry, at 1, given those with
/// respect to the mass properties of its body.
pub(super) fn by_scale_through_mass(
    model: &Model,
    body: usize,
    geometry: usize,
    by_mass: &MassProperties,
) -> f64 {
    let own = &model.bodies[body].geometries[geometry];
    let scaled = own.unit_mass.as_ref().map(|unit| {
        let scaled = MassProperties::lift(unit).enlarged(Dual::variable(1.0, 0));
        scaled.seen_from(&RigidTransform::lift(&own.x_bg))
    });
    let by = scaled.and_then(|scaled| by_unit_mass(model, body, geometry, scaled, by_mass));
    by.map_or(0.0, |by| by[0])
}

/// The derivatives of a number with respect to a turn of a geometry's frame about its origin and to a shift
/// of it, both in the body's axes, given those with respect to the mass properties of its body.
pub(super) fn by_place_through_mass(
    model: &Model,
    body: usize,
    geometry: usize,
    by_mass: &MassProperties,
) -> [f64; 6] {
    let own = &model.bodies[body].geometries[geometry];
    let moved = own.unit_mass.as_ref().map(|unit| {
        let along = |first: usize| Vector3::from_fn(|i, _| Dual::variable(0.0, first + i));
        MassProperties::lift(unit).seen_from(&RigidTransform::lift(&own.x_bg).moved(&along(0), &along(3)))
    });
    let by = moved.and_then(|moved| by_unit_mass(model, body, geometry, moved, by_mass));
    by.map_or([0.0; 6], |by| std::array::from_fn(|k| by[k]))
}

/// The derivatives of a number with respect to the vertices of a geometry's mesh, in its frame, given those
/// with respect to the mass properties of its body; `None` where these do not depend on the mesh.
pub(super) fn by_vertices_through_mass(
    model: &Model,
    body: usize,
    geometry: usize,
    by_mass: &MassProperties,
) -> Option<Vec<Vector3<f64>>> {
    let original = &model.bodies[body].geometries[geometry];
    let shape = &*original.collider.geometry;
    let (solid, unit) = (solid(shape)?, original.unit_mass.as_ref()?);
    let vertices = shape.vertices();
    let (moments, origin) = solid.moments(vertices);
    let mut second = Matrix3::from_fn(|i, k| Dual::from(moments.second[(i, k)]));
    for (number, (i, k)) in SYMMETRIC.into_iter().enumerate() {
        (second[(i, k)].eps[4 + number], second[(k, i)].eps[4 + number]) = (1.0, 1.0);
    }
    let seeded = Moments {
        volume: Dual::variable(moments.volume, 0),
        first: Vector3::from_fn(|i, _| Dual::variable(moments.first[i], 1 + i)),
        second,
    };
    let unit = changed(unit, &moments.properties(&origin).ok()?, seeded.properties(&origin).ok()?)?;
    let unit = unit.seen_from(&RigidTransform::lift(&original.x_bg));
    let by = by_unit_mass(model, body, geometry, unit, by_mass)?;
    let mut by_second = Matrix3::zeros();
    for (number, (i, k)) in SYMMETRIC.into_iter().enumerate() {
        by_second[(i, k)] = by[4 + number];
    }
    let by_moments = Moments { volume: by[0], first: Vector3::new(by[1], by[2], by[3]), second: by_second };
    let mut gradient = vec![Vector3::zeros(); vertices.len()];
    solid.moments_vjp(vertices, &by_moments, |vertex, by| gradient[vertex] += by);
    Some(gradient)
}
