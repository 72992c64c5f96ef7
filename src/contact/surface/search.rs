//! Finds the polygons of the contact surface (Elandt §VI-B.1 and Algorithm 1, Masterjohn
//! §III-A). Topology: everything here is `f64`.

use nalgebra::Vector3;

use crate::contact::pair::collider::Collider;
use crate::contact::pair::query::{Parts, Roles};
use crate::contact::settings::FaceFilter;
use crate::contact::surface::clip::{Clipped, Clipper, Corners, ON_FACE, on_face, snapped};
use crate::contact::surface::element_cache::Remembered;
use crate::contact::surface::polygon::{Bound, FIRST_OF_F, Polygon, Section};
use crate::contact::surface::rigid_triangle::{SeenTriangle, triangle_in_field};
use crate::field::hierarchy::{PlaneQuery, Side, TraversalStack, for_each_at_plane, for_each_pair};
use crate::field::{LinearFunction, PressureField, TetrahedronField};
use crate::scalar::Scalar;
use crate::spatial::RigidTransform;

/// Two gradients closer than this, relative to their size, have no plane of equal pressure.
const PARALLEL_FIELDS: f64 = 1e-12;

/// Two skirts that end at pressures closer than this, relative to their size, end at the same one:
/// to clip by both would place vertices by rounding.
const SAME_BOUND: f64 = 1e-9;

/// cos(5π/8): Drake's limit on the angle between a face's normal and the pressure increase.
const DRAKE_COSINE: f64 = -0.382_683_432_365_089_8;

/// The plane a polygon lies in, and the fields around it, in F's frame.
#[derive(Clone, Copy, Debug)]
pub struct Equilibrium {
    /// Unit normal out of F, into O.
    pub normal: Vector3<f64>,
    /// Gradient of O's pressure, Pa/m; `None` where O is rigid.
    pub gradient_o: Option<Vector3<f64>>,
    /// F's pressure in Pa as a function of position.
    pub pressure: LinearFunction,
}

impl Equilibrium {
    /// Whether Drake would keep a face with this normal: it must be within 5π/8 of the
    /// direction in which each compliant body's pressure grows.
    fn passes(&self, filter: FaceFilter) -> bool {
        let along = |normal: f64, gradient: &Vector3<f64>| {
            normal * gradient.dot(&self.normal) > DRAKE_COSINE * gradient.norm()
        };
        filter == FaceFilter::None
            || (along(-1.0, &self.pressure.gradient)
                && self.gradient_o.as_ref().is_none_or(|g| along(1.0, g)))
    }
}

/// Reusable memory of searches.
#[derive(Clone, Debug, Default)]
pub(crate) struct SearchMemory {
    stack: TraversalStack,
    tetrahedra: Remembered<SeenTetrahedron>,
    triangles: Remembered<SeenTriangle>,
}

/// A linear function times a number.
#[inline(always)]
fn scaled(f: &LinearFunction, by: f64) -> LinearFunction {
    LinearFunction { gradient: f.gradient * by, offset: f.offset * by }
}

/// A linear function of position in F, as a function of position in O.
#[inline(always)]
fn seen_from(x_fo: &RigidTransform<f64>, f: &LinearFunction) -> LinearFunction {
    LinearFunction {
        gradient: x_fo.rotation.tr_mul(&f.gradient),
        offset: f.gradient.dot(&x_fo.translation) + f.offset,
    }
}

/// What the search for polygons depends on.
struct Query<'a> {
    parts: Parts<'a>,
    x_fo: RigidTransform<f64>,
    o: SearchedBody,
    f: SearchedBody,
}

/// A body in a search.
struct SearchedBody {
    /// Its modulus, Pa.
    modulus: f64,
    /// The thickness of a half-space, m.
    thickness: f64,
    /// The thickness of its skirt, m, and how far the pressure falls there, Pa.
    skirt: f64,
    skirt_pressure: f64,
}

impl SearchedBody {
    fn new<T: Scalar>(c: &Collider<T>) -> Self {
        Self {
            modulus: c.material.hydroelastic_modulus.real(),
            thickness: c.thickness.real(),
            skirt: c.skirt_thickness(),
            skirt_pressure: c.skirt_pressure().real(),
        }
    }
}

/// Calls `visit` with every polygon of the contact surface, in an order that depends on the
/// input alone.
pub(crate) fn for_each_polygon<T: Scalar>(
    roles: &Roles<T>,
    filter: FaceFilter,
    memory: &mut SearchMemory,
    mut visit: impl FnMut(&Polygon, &Equilibrium),
) {
    let (o, f) = (SearchedBody::new(roles.o), SearchedBody::new(roles.f));
    let query = Query { parts: roles.parts, x_fo: roles.x_fo.real(), o, f };
    search(&query, filter, memory, &mut visit);
}

/// [`for_each_polygon`] for all scalars and all that is done with polygons: compiled once.
fn search(
    query: &Query,
    filter: FaceFilter,
    memory: &mut SearchMemory,
    visit: &mut dyn FnMut(&Polygon, &Equilibrium),
) {
    let SearchMemory { stack, tetrahedra, triangles } = memory;
    let x_fo = query.x_fo;
    let (e_o, e_f) = (query.o.modulus, query.f.modulus);
    let mut polygon = Polygon::empty(0, 0);
    let mut emit = |polygon: &Polygon, equilibrium: &Equilibrium| {
        if polygon.len >= 3 && equilibrium.passes(filter) {
            visit(polygon, equilibrium);
        }
    };
    match query.parts {
        Parts::TwoFields { o, f } => {
            let side_o = Side { hierarchy: o.hierarchy(), modulus: e_o };
            let side_f = Side { hierarchy: f.hierarchy(), modulus: e_f };
            let sizes = Sizes::new(o, e_o, f, e_f, &x_fo);
            let mut clipper = Clipper::new();
            tetrahedra.clear();
            for_each_pair(side_o, side_f, &x_fo, stack, |i, j| {
                let seen = tetrahedra.get(i, || SeenTetrahedron::new(o, e_o, i, &x_fo));
                if let Some(equilibrium) = two_tetrahedra(seen, o, f, j, &sizes, &mut clipper, &mut polygon) {
                    emit(&polygon, &equilibrium);
                }
            });
        }
        Parts::SurfaceInField { o, f } => {
            let side_o = Side { hierarchy: o.hierarchy(), modulus: f64::INFINITY };
            let side_f = Side { hierarchy: f.hierarchy(), modulus: e_f };
            let reach = o.hierarchy().radius() + x_fo.translation.norm() + f.hierarchy().radius();
            triangles.clear();
            for_each_pair(side_o, side_f, &x_fo, stack, |i, j| {
                let seen = triangles.get(i, || SeenTriangle::new(o.mesh(), i, &x_fo));
                triangle_in_field(seen, f, j, reach, &mut polygon);
                if polygon.len > 0 {
                    let pressure = scaled(&f.tetrahedra()[j as usize].extent, e_f);
                    let normal = seen.plane.gradient;
                    emit(&polygon, &Equilibrium { normal, gradient_o: None, pressure });
                }
            });
        }
        Parts::SurfaceInHalfSpace { o } => {
            let thickness = query.f.thickness;
            let depth = LinearFunction { gradient: -Vector3::z(), offset: 0.0 };
            // What there is of the half-space begins at the top of its skirt.
            let reaching = LinearFunction { offset: query.f.skirt, ..depth };
            let side = Side { hierarchy: o.hierarchy(), modulus: f64::INFINITY };
            // The elements' side of the query is O; the plane is seen from there.
            let plane = seen_from(&x_fo, &reaching);
            // Any positive number here asks for the triangles that reach below the plane.
            let at_plane =
                PlaneQuery { normal: -plane.gradient, offset: plane.offset, depth_per_pressure: 1.0 };
            for_each_at_plane(side, &at_plane, stack, |i| {
                let seen = SeenTriangle::new(o.mesh(), i, &x_fo);
                let normal = seen.plane.gradient;
                if normal != Vector3::zeros() {
                    polygon.triangle(&seen.corners);
                    (polygon.o, polygon.f) = (i, 0);
                    let inside = scaled(&reaching, 1.0 / thickness);
                    let tolerance = ON_FACE * (o.hierarchy().radius() + x_fo.translation.norm()) / thickness;
                    polygon.clip(&inside, FIRST_OF_F, tolerance, &-normal, Bound::None);
                    let pressure = scaled(&depth, e_f / thickness);
                    emit(&polygon, &Equilibrium { normal, gradient_o: None, pressure });
                }
            });
        }
        Parts::HalfSpaceInField { rigid, f } => {
            let normal = x_fo.rotation.column(2).into_owned();
            let offset = normal.dot(&x_fo.translation);
            let stiffness = if rigid { 0.0 } else { e_o / query.o.thickness };
            let depth_per_pressure = if rigid { 0.0 } else { 1.0 / stiffness };
            let at_plane = PlaneQuery { normal, offset, depth_per_pressure };
            let side = Side { hierarchy: f.hierarchy(), modulus: e_f };
            // Where the half-space's skirt ends before F's does.
            let (of_o, of_f) = (query.o.skirt_pressure, query.f.skirt_pressure);
            let top = (!rigid && of_o < of_f * (1.0 - SAME_BOUND))
                .then(|| LinearFunction { gradient: -normal, offset: offset + query.o.skirt });
            let reach = offset.abs() + f.hierarchy().radius();
            for_each_at_plane(side, &at_plane, stack, |j| {
                let pressure = scaled(&f.tetrahedra()[j as usize].extent, e_f);
                let plane = if rigid {
                    // Height above the plane, growing into O's complement: from O into F, so
                    // its negative points out of F.
                    LinearFunction { gradient: -normal, offset }
                } else {
                    let own = LinearFunction { gradient: -normal * stiffness, offset: offset * stiffness };
                    LinearFunction {
                        gradient: own.gradient - pressure.gradient,
                        offset: own.offset - pressure.offset,
                    }
                };
                let gradient_o = (!rigid).then(|| -normal * stiffness);
                section_of_field(f, j, &plane, &mut polygon);
                if let Some(top) = &top
                    && polygon.len > 0
                {
                    polygon.clip(top, 0, ON_FACE * reach, &normal, Bound::None);
                }
                let length = plane.gradient.norm();
                if length > PARALLEL_FIELDS * (stiffness + pressure.gradient.norm()) || rigid {
                    let equilibrium = Equilibrium { normal: plane.gradient / length, gradient_o, pressure };
                    emit(&polygon, &equilibrium);
                }
            });
        }
    }
}

/// The section of F's tetrahedron `j` by the plane where `plane` vanishes.
fn section_of_field(f: &PressureField, j: u32, plane: &LinearFunction, polygon: &mut Polygon) {
    let v = f.mesh().tetrahedra[j as usize].map(|k| f.mesh().vertices[k as usize]);
    let scale = plane.gradient.norm() * f.hierarchy().radius() + plane.offset.abs();
    let value = snapped(v.map(|x| plane.at(&x)), 4e-15 * scale);
    polygon.section(&v, &value, FIRST_OF_F);
    (polygon.o, polygon.f) = (0, j);
}

/// A tetrahedron of O as F sees it.
#[derive(Clone, Copy, Debug)]
struct SeenTetrahedron {
    /// Its number.
    number: u32,
    /// Its vertices in F's frame.
    corners: Corners,
    /// O's pressure at the vertices, Pa.
    pressure: [f64; 4],
    /// O's pressure gradient in F's frame, Pa/m.
    gradient: Vector3<f64>,
}

impl SeenTetrahedron {
    #[inline]
    fn new(o: &PressureField, e_o: f64, i: u32, x_fo: &RigidTransform<f64>) -> Self {
        let gradient = x_fo.rotation * (o.tetrahedra()[i as usize].extent.gradient * e_o);
        let corners = Corners { position: [[0.0; 4]; 3] };
        let mut seen = Self { number: i, corners, pressure: [0.0; 4], gradient };
        for (corner, k) in o.mesh().tetrahedra[i as usize].into_iter().enumerate() {
            let x = *x_fo * o.mesh().vertices[k as usize];
            for axis in 0..3 {
                seen.corners.position[axis][corner] = x[axis];
            }
            seen.pressure[corner] = e_o * o.extent()[k as usize];
        }
        seen
    }
}

/// Both moduli in Pa and, for what rounding can do, how far the tetrahedra of O and of F reach
/// from F's origin, metres.
struct Sizes {
    e_o: f64,
    e_f: f64,
    reach_of_o: f64,
    reach_of_f: f64,
}

impl Sizes {
    fn new(o: &PressureField, e_o: f64, f: &PressureField, e_f: f64, x_fo: &RigidTransform<f64>) -> Self {
        Self {
            e_o,
            e_f,
            reach_of_o: o.hierarchy().radius() + x_fo.translation.norm(),
            reach_of_f: f.hierarchy().radius(),
        }
    }
}

/// The polygon where O's tetrahedron and F's tetrahedron `j` have equal pressure.
#[inline]
fn two_tetrahedra(
    seen: &SeenTetrahedron,
    o: &PressureField,
    f: &PressureField,
    j: u32,
    sizes: &Sizes,
    clipper: &mut Clipper,
    polygon: &mut Polygon,
) -> Option<Equilibrium> {
    let t_f = &f.tetrahedra()[j as usize];
    let pressure = scaled(&t_f.extent, sizes.e_f);
    // A few units in the last place of the terms that are added.
    let scale = sizes.e_o + pressure.offset.abs() + pressure.gradient.abs().sum() * sizes.reach_of_o;
    let of_f = seen.corners.values(&pressure);
    let mut value = seen.pressure;
    for k in 0..4 {
        value[k] -= of_f[k];
    }
    let value = snapped(value, 4e-15 * scale);
    if Section::of(&value).len == 0 {
        return None;
    }
    let difference = seen.gradient - pressure.gradient;
    let size = difference.norm_squared();
    let sum = seen.gradient.norm_squared() + pressure.gradient.norm_squared();
    if size <= PARALLEL_FIELDS * PARALLEL_FIELDS * sum {
        return None;
    }
    (polygon.o, polygon.f) = (seen.number, j);
    let t_o = &o.tetrahedra()[seen.number as usize];
    let left_out = same_bound(t_o, sizes.e_o, t_f, sizes.e_f);
    let reach = sizes.reach_of_o + sizes.reach_of_f;
    let mut tolerance = [0.0; 4];
    for face in 0..4 {
        tolerance[face] = on_face(&t_f.barycentric[face], reach);
    }
    let clipped = clipper.section(&seen.corners, &value, &t_f.barycentric, &tolerance, left_out, polygon);
    if clipped == Clipped::Special {
        polygon.section(&seen.corners.points(), &value, 0);
        clip_by_tetrahedron(polygon, t_f, t_o, left_out, reach, &-difference);
    }
    if clipped == Clipped::Outside || polygon.len == 0 {
        return None;
    }
    Some(Equilibrium { normal: difference / size.sqrt(), gradient_o: Some(seen.gradient), pressure })
}

/// The face of F that bounds the common pressure on the same side as, and no tighter than, a
/// face of O.
///
/// On the plane of equal pressure two such faces are one and the same constraint, or parallel
/// ones. Above all this is the perimeter, where both pressures vanish: O's boundary face, F's
/// boundary face and the plane meet in one line there. Clipping by both would place vertices by
/// rounding alone and ruin their derivatives, so F's is left out.
#[inline]
fn same_bound(t_o: &TetrahedronField, e_o: f64, t_f: &TetrahedronField, e_f: f64) -> Option<u8> {
    let (bound_o, bound_f) = (t_o.isobaric?, t_f.isobaric?);
    if bound_o.lower_bound != bound_f.lower_bound {
        return None;
    }
    let (level_o, level_f) = (e_o * bound_o.level, e_f * bound_f.level);
    // Only the levels of skirts differ by rounding; the others are 0 or whole moduli.
    let close = if level_f < 0.0 { SAME_BOUND * level_f.abs() } else { 0.0 };
    let tighter = if bound_f.lower_bound { level_f > level_o + close } else { level_f < level_o - close };
    (!tighter).then_some(bound_f.face)
}

/// Clips by the faces of F's tetrahedron, but for the one to be left out.
///
/// `reach` bounds the distance of the polygon from either body's origin, metres.
#[inline]
fn clip_by_tetrahedron(
    polygon: &mut Polygon,
    tetrahedron: &TetrahedronField,
    of_o: &TetrahedronField,
    left_out: Option<u8>,
    reach: f64,
    shift: &Vector3<f64>,
) {
    for (face, inside) in tetrahedron.barycentric.iter().enumerate() {
        let name = face as u8;
        if Some(name) != left_out && polygon.len > 0 {
            let bound = if tetrahedron.isobaric.is_some_and(|b| b.face == name) {
                Bound::This
            } else {
                of_o.isobaric.map_or(Bound::None, |b| Bound::Edge(b.face))
            };
            polygon.clip(inside, FIRST_OF_F + name, on_face(inside, reach), shift, bound);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use crate::contact::{Collider, ContactGeometry, ContactPair, Material};
    use crate::field::{RigidSurface, primitive_field};
    use crate::geometry::Shape;
    use crate::spatial::{Quaternion, SpatialVelocity};
    use proptest::prelude::*;

    fn shape(kind: usize) -> Shape {
        match kind {
            0 => Shape::Sphere { radius: 0.1 },
            1 => Shape::Box { size: [0.2, 0.16, 0.12] },
            2 => Shape::Cylinder { radius: 0.08, length: 0.2 },
            3 => Shape::Capsule { radius: 0.06, length: 0.12 },
            _ => Shape::Ellipsoid { semi_axes: [0.12, 0.08, 0.06] },
        }
    }

    fn field(kind: usize) -> PressureField {
        let (mesh, extent) = primitive_field(&shape(kind), 0.06).unwrap();
        PressureField::new(mesh, extent).unwrap()
    }

    fn collider(geometry: ContactGeometry, hydroelastic_modulus: f64) -> Collider {
        let material = Material::new(hydroelastic_modulus, 0.0, 0.0);
        Collider::new(Arc::new(geometry), material, 1.0)
    }

    fn found(a: &Collider, b: &Collider, x_wa: RigidTransform, x_wb: RigidTransform) -> BTreeSet<(u32, u32)> {
        let (v_wa, v_wb) = (SpatialVelocity::zero(), SpatialVelocity::zero());
        let pair = ContactPair { a, x_wa, v_wa, b, x_wb, v_wb };
        let roles = Roles::new(&pair).unwrap();
        let mut set = BTreeSet::new();
        for_each_polygon(&roles, FaceFilter::None, &mut SearchMemory::default(), |p, _| {
            assert!(set.insert((p.o, p.f)), "each pair of elements once");
        });
        // The same by trying all pairs of elements.
        let mut all = BTreeSet::new();
        let mut polygon = Polygon::empty(0, 0);
        let x_fo = roles.x_fo;
        let e_f = roles.f.material.hydroelastic_modulus;
        match roles.parts {
            Parts::TwoFields { o, f } => {
                let e_o = roles.o.material.hydroelastic_modulus;
                let sizes = Sizes::new(o, e_o, f, e_f, &x_fo);
                for i in 0..o.tetrahedra().len() as u32 {
                    let seen = SeenTetrahedron::new(o, e_o, i, &x_fo);
                    for j in 0..f.tetrahedra().len() as u32 {
                        if two_tetrahedra(&seen, o, f, j, &sizes, &mut Clipper::new(), &mut polygon).is_some()
                        {
                            all.insert((i, j));
                        }
                    }
                }
            }
            Parts::SurfaceInField { o, f } => {
                let reach = o.hierarchy().radius() + x_fo.translation.norm() + f.hierarchy().radius();
                for i in 0..o.mesh().triangles.len() as u32 {
                    for j in 0..f.tetrahedra().len() as u32 {
                        triangle_in_field(&SeenTriangle::new(o.mesh(), i, &x_fo), f, j, reach, &mut polygon);
                        if polygon.len >= 3 {
                            all.insert((i, j));
                        }
                    }
                }
            }
            _ => unreachable!("only pairs of meshes are tested"),
        }
        assert_eq!(set, all);
        set
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        /// The hierarchy leaves out nothing: not in deep overlap, not far from the frames'
        /// origins, not for moduli of different size.
        #[test]
        fn the_search_finds_what_trying_all_pairs_finds(
            kinds in prop::array::uniform2(0..5usize),
            rigid in any::<bool>(),
            log_ratio in -6.0..6.0,
            q in prop::array::uniform8(-1.0..1.0),
            p in prop::array::uniform3(-0.12..0.12),
            offset in prop_oneof![Just(0.0), -10.0..10.0],
        ) {
            prop_assume!(q[..4].iter().map(|x| x * x).sum::<f64>() > 0.1);
            prop_assume!(q[4..].iter().map(|x| x * x).sum::<f64>() > 0.1);
            let rotation = |q: &[f64]| Quaternion::from_wxyz(q[0], q[1], q[2], q[3]).to_matrix();
            let a = if rigid {
                collider(ContactGeometry::Rigid(RigidSurface::new(shape(kinds[0]).surface_mesh(0.06).unwrap())), 1.0)
            } else {
                collider(ContactGeometry::Compliant(field(kinds[0])), 1e5)
            };
            let b = collider(ContactGeometry::Compliant(field(kinds[1])), 1e5 * 10f64.powf(log_ratio));
            let far = Vector3::new(offset, -offset, 0.3 * offset);
            let x_wa = RigidTransform::new(rotation(&q[..4]), far);
            let x_wb = RigidTransform::new(rotation(&q[4..]), far + Vector3::from(p));
            found(&a, &b, x_wa, x_wb);
        }
    }
}
