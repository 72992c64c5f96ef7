//! Finds the polygons of the contact surface (Elandt §VI-B.1 and Algorithm 1, Masterjohn
//! §III-A). Topology: everything here is `f64`.

use nalgebra::{Matrix3, Vector3};

use crate::contact::lanes::{InLanes, Lanes, in_lanes};
use crate::contact::pair::collider::Collider;
use crate::contact::pair::query::{Parts, Roles};
use crate::contact::settings::FaceFilter;
pub use crate::contact::surface::candidates::Elements;
use crate::contact::surface::candidates::{Candidates, are_beyond};
use crate::contact::surface::clip::{Clipper, ON_FACE};
use crate::contact::surface::element_cache::Remembered;
use crate::contact::surface::equilibrium::{Equilibrium, PARALLEL_FIELDS, SAME_BOUND, scaled};
use crate::contact::surface::polygon::{Bound, FIRST_OF_F, Polygon};
use crate::contact::surface::rigid_triangle::{SeenTriangle, section_of_field, triangle_in_field};
use crate::contact::surface::tetrahedron_pair::{SeenTetrahedron, Sizes, apart, two_tetrahedra};
use crate::field::LinearFunction;
use crate::field::hierarchy::{PlaneQuery, Side};
use crate::scalar::Scalar;
use crate::spatial::RigidTransform;

/// Reusable memory of searches.
#[derive(Clone, Debug, Default)]
pub(crate) struct SearchMemory {
    pub(super) candidates: Candidates,
    tetrahedra: Remembered<SeenTetrahedron>,
    triangles: Remembered<SeenTriangle>,
    found: Vec<Elements>,
}

impl SearchMemory {
    /// The elements of the polygons that the last search has visited, in its order.
    pub fn found(&self) -> &[Elements] {
        &self.found
    }
}

/// Whether a pose is none, but for the rounding of poses of a body of this size.
fn is_identity(x: &RigidTransform<f64>, size: f64) -> bool {
    (x.rotation - Matrix3::identity()).amax() <= f64::EPSILON && x.translation.amax() <= f64::EPSILON * size
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

impl<'a> Query<'a> {
    fn new<T: Scalar>(roles: &Roles<'a, T>) -> Self {
        let (o, f) = (SearchedBody::new(roles.o), SearchedBody::new(roles.f));
        Self { parts: roles.parts, x_fo: roles.x_fo.real(), o, f }
    }
}

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
    search(Search { query: &Query::new(roles), filter, memory, known: None, visit: &mut visit });
}

/// [`for_each_polygon`] again where it has been called before: `elements` are those that it
/// [found](SearchMemory::found) then, at the same poses and moduli.
pub(crate) fn for_each_known_polygon<T: Scalar>(
    roles: &Roles<T>,
    filter: FaceFilter,
    memory: &mut SearchMemory,
    elements: &[Elements],
    mut visit: impl FnMut(&Polygon, &Equilibrium),
) {
    search(Search { query: &Query::new(roles), filter, memory, known: Some(elements), visit: &mut visit });
}

/// [`for_each_polygon`] and [`for_each_known_polygon`] for all scalars and all that is done with
/// polygons: compiled once for registers of four, whose instructions leave their operands, and once without. What is in it
/// is inlined, since what both share is compiled without.
struct Search<'a> {
    query: &'a Query<'a>,
    filter: FaceFilter,
    memory: &'a mut SearchMemory,
    known: Option<&'a [Elements]>,
    visit: &'a mut dyn FnMut(&Polygon, &Equilibrium),
}

fn search(task: Search) {
    in_lanes(task);
}

impl InLanes for Search<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, one: L) {
        let Self { query, filter, memory, known, visit } = self;
        let SearchMemory { candidates, tetrahedra, triangles, found } = memory;
        found.clear();
        let x_fo = query.x_fo;
        let (e_o, e_f) = (query.o.modulus, query.f.modulus);
        let mut polygon = Polygon::empty(0, 0);
        let mut emit = |polygon: &Polygon, equilibrium: &Equilibrium| {
            if polygon.len >= 3 && equilibrium.passes(filter) {
                found.push([polygon.o, polygon.f]);
                visit(polygon, equilibrium);
            }
        };
        match query.parts {
            Parts::TwoRigid => {}
            // Where a body lies in its own likeness pressures are the same everywhere, and all tetrahedra meet in the middle.
            Parts::TwoFields { o, f } if std::ptr::eq(o, f) && is_identity(&x_fo, o.hierarchy().radius()) => {
            }
            Parts::TwoFields { o, f } => {
                let sides = [(o.hierarchy(), e_o), (f.hierarchy(), e_f)];
                let candidates = match known {
                    Some(known) => known,
                    None => candidates
                        .of_meshes(sides, [e_o, e_f], &x_fo, |pose, least| apart((o, f), pose, least)),
                };
                let sizes = Sizes::new(o, e_o, f, e_f, &x_fo);
                tetrahedra.clear();
                let mut clipper = Clipper::new(one);
                for &[i, j] in candidates {
                    let seen = tetrahedra.get(i, || SeenTetrahedron::new(o, e_o, i, &x_fo));
                    if let Some(equilibrium) =
                        two_tetrahedra(seen, o, f, j, &sizes, &mut clipper, &mut polygon)
                    {
                        emit(&polygon, &equilibrium);
                    }
                }
            }
            Parts::SurfaceInField { o, f } => {
                // Rigid triangles are there at all pressures.
                let sides = [(o.hierarchy(), f64::INFINITY), (f.hierarchy(), e_f)];
                let candidates = match known {
                    Some(known) => known,
                    None => candidates.of_meshes(sides, [0.0; 2], &x_fo, |pose, least| {
                        move |&[i, j]| {
                            let corners = o.mesh().corners(i as usize).map(|x| pose * x);
                            are_beyond(&corners, &f.tetrahedra()[j as usize].barycentric, least)
                        }
                    }),
                };
                let reach = o.hierarchy().radius() + x_fo.translation.norm() + f.hierarchy().radius();
                triangles.clear();
                for &[i, j] in candidates {
                    let seen = triangles.get(i, || SeenTriangle::new(o.mesh(), i, &x_fo));
                    triangle_in_field(one, seen, f, j, reach, &mut polygon);
                    if polygon.len > 0 {
                        let pressure = scaled(&f.tetrahedra()[j as usize].extent, e_f);
                        let normal = seen.plane.gradient;
                        emit(&polygon, &Equilibrium { normal, gradient_o: None, pressure });
                    }
                }
            }
            Parts::SurfaceInHalfSpace { o } => {
                let thickness = query.f.thickness;
                let depth = LinearFunction { gradient: -Vector3::z(), offset: 0.0 };
                // What there is of the half-space begins at the top of its skirt.
                let reaching = LinearFunction { offset: query.f.skirt, ..depth };
                let candidates = match known {
                    Some(known) => known,
                    None => {
                        // The elements' side of the query is O; the plane is seen from there.
                        let plane = seen_from(&x_fo, &reaching);
                        // Any positive number here asks for the triangles that reach below the plane.
                        let plane = PlaneQuery {
                            normal: -plane.gradient,
                            offset: plane.offset,
                            depth_per_pressure: 1.0,
                        };
                        let side = Side { hierarchy: o.hierarchy(), modulus: f64::INFINITY };
                        candidates.at_plane(side, &plane, query.f.skirt, x_fo, |i| [i, 0])
                    }
                };
                for &[i, _] in candidates {
                    let seen = SeenTriangle::new(o.mesh(), i, &x_fo);
                    let normal = seen.plane.gradient;
                    if normal != Vector3::zeros() {
                        polygon.triangle(&seen.corners);
                        (polygon.o, polygon.f) = (i, 0);
                        let inside = scaled(&reaching, 1.0 / thickness);
                        let tolerance =
                            ON_FACE * (o.hierarchy().radius() + x_fo.translation.norm()) / thickness;
                        polygon.clip(&inside, FIRST_OF_F, tolerance, &-normal, Bound::None);
                        let pressure = scaled(&depth, e_f / thickness);
                        emit(&polygon, &Equilibrium { normal, gradient_o: None, pressure });
                    }
                }
            }
            Parts::HalfSpaceInField { rigid, f } => {
                let normal = x_fo.rotation.column(2).into_owned();
                let offset = normal.dot(&x_fo.translation);
                let stiffness = if rigid { 0.0 } else { e_o / query.o.thickness };
                let candidates = match known {
                    Some(known) => known,
                    None => {
                        let depth_per_pressure = if rigid { 0.0 } else { 1.0 / stiffness };
                        let plane = PlaneQuery { normal, offset, depth_per_pressure };
                        let side = Side { hierarchy: f.hierarchy(), modulus: e_f };
                        candidates.at_plane(side, &plane, depth_per_pressure, x_fo.inverse(), |j| [0, j])
                    }
                };
                // Where the half-space's skirt ends before F's does.
                let (of_o, of_f) = (query.o.skirt_pressure, query.f.skirt_pressure);
                let top = (!rigid && of_o < of_f * (1.0 - SAME_BOUND))
                    .then(|| LinearFunction { gradient: -normal, offset: offset + query.o.skirt });
                let reach = offset.abs() + f.hierarchy().radius();
                for &[_, j] in candidates {
                    let pressure = scaled(&f.tetrahedra()[j as usize].extent, e_f);
                    let plane = if rigid {
                        // Height above the plane, growing into O's complement: from O into F, so
                        // its negative points out of F.
                        LinearFunction { gradient: -normal, offset }
                    } else {
                        let own =
                            LinearFunction { gradient: -normal * stiffness, offset: offset * stiffness };
                        LinearFunction {
                            gradient: own.gradient - pressure.gradient,
                            offset: own.offset - pressure.offset,
                        }
                    };
                    let gradient_o = (!rigid).then(|| -normal * stiffness);
                    let length = plane.gradient.norm();
                    let tolerance = 4e-15 * (length * f.hierarchy().radius() + plane.offset.abs());
                    section_of_field(f, j, &plane, tolerance, &mut polygon);
                    if polygon.len == 0 {
                        continue;
                    }
                    (polygon.o, polygon.f) = (0, j);
                    if let Some(top) = &top {
                        polygon.clip(top, 0, ON_FACE * reach, &normal, Bound::None);
                    }
                    if rigid || length > PARALLEL_FIELDS * (stiffness + pressure.gradient.norm()) {
                        let equilibrium =
                            Equilibrium { normal: plane.gradient / length, gradient_o, pressure };
                        emit(&polygon, &equilibrium);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    use crate::contact::lanes::Narrow;
    use crate::contact::{Collider, ContactGeometry, ContactPair, Material};
    use crate::field::{PressureField, RigidSurface};
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
        PressureField::of_shape(&shape(kind), 0.06).unwrap()
    }

    fn collider(geometry: ContactGeometry, hydroelastic_modulus: f64) -> Collider {
        Collider::new(geometry, Material::new(hydroelastic_modulus, 0.0, 0.0), 1.0)
    }

    /// All that counts of a polygon, to the last bit.
    fn told(p: &Polygon, equilibrium: &Equilibrium) -> String {
        let (elements, vertices, edges) = ([p.o, p.f], &p.position[..p.len], &p.edge[..p.len]);
        format!("{elements:?} {vertices:?} {edges:?} {} {equilibrium:?}", p.aligned)
    }

    fn found(a: &Collider, b: &Collider, x_wa: RigidTransform, x_wb: RigidTransform) -> BTreeSet<(u32, u32)> {
        let (v_wa, v_wb) = (SpatialVelocity::zero(), SpatialVelocity::zero());
        let pair = ContactPair { a, x_wa, v_wa, b, x_wb, v_wb };
        let roles = Roles::new(&pair).unwrap();
        let (mut set, mut polygons) = (BTreeSet::new(), Vec::new());
        let mut memory = SearchMemory::default();
        for_each_polygon(&roles, FaceFilter::None, &mut memory, |p, equilibrium| {
            assert!(set.insert((p.o, p.f)), "each pair of elements once");
            polygons.push(told(p, equilibrium));
        });
        // The same without a search, from the elements that it has found.
        let (elements, mut again) = (memory.found().to_vec(), Vec::new());
        for_each_known_polygon(&roles, FaceFilter::None, &mut memory, &elements, |p, equilibrium| {
            again.push(told(p, equilibrium));
        });
        assert_eq!(again, polygons);
        // The same by trying all pairs of elements.
        let mut all = BTreeSet::new();
        let mut polygon = Polygon::empty(0, 0);
        let x_fo = roles.x_fo;
        let e_f = roles.f.material.hydroelastic_modulus;
        match roles.parts {
            Parts::TwoRigid => {}
            Parts::TwoFields { o, f } => {
                let e_o = roles.o.material.hydroelastic_modulus;
                let sizes = Sizes::new(o, e_o, f, e_f, &x_fo);
                for i in 0..o.tetrahedra().len() as u32 {
                    let seen = SeenTetrahedron::new(o, e_o, i, &x_fo);
                    for j in 0..f.tetrahedra().len() as u32 {
                        let mut clipper = Clipper::new(Narrow::ANY);
                        if two_tetrahedra(&seen, o, f, j, &sizes, &mut clipper, &mut polygon).is_some() {
                            all.insert((i, j));
                        }
                    }
                }
            }
            Parts::SurfaceInField { o, f } => {
                let reach = o.hierarchy().radius() + x_fo.translation.norm() + f.hierarchy().radius();
                for i in 0..o.mesh().triangles.len() as u32 {
                    for j in 0..f.tetrahedra().len() as u32 {
                        let seen = SeenTriangle::new(o.mesh(), i, &x_fo);
                        triangle_in_field(Narrow::ANY, &seen, f, j, reach, &mut polygon);
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
            prop_assume!(q[..4].iter().map(|x: &f64| x.powi(2)).sum::<f64>() > 0.1);
            prop_assume!(q[4..].iter().map(|x: &f64| x.powi(2)).sum::<f64>() > 0.1);
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
