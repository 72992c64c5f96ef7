//! The potential energy of a contact without dissipation (Elandt §III and §X-A, eq. 1).

use nalgebra::Vector3;

use crate::contact::pair::query::{ContactPair, Parts, Roles};
use crate::contact::surface::surface_polygon::{
    TetrahedronPlanes, depth_in_skirt, half_space_pressure, moved, tetrahedron_planes,
};
use crate::field::hierarchy::{Hierarchy, Side, TraversalStack, for_each_pair};
use crate::field::{LinearFunction, PressureField, RigidSurface};
use crate::geometry::{ConvexPolyhedron, HalfSpace};
use crate::scalar::{Scalar, lift_vector, real_vector};
use crate::spatial::RigidTransform;

/// The potential energy in J stored between two bodies: the work done against the pressure in bringing
/// them from apart to their present poses. It is 0 for pairs that [`crate::contact::check_pair`]
/// refuses.
///
/// Each body's field is integrated over the part of the body that the contact surface cuts off (Elandt
/// eq. 1). The pressures are equal on that surface, so the sum of the two integrals is U = ∫ min(p_A,
/// p_B) dV over the overlap, or ∫ p_A dV if B is rigid. With every face counted and bodies at rest, the
/// contact force is −∂U/∂x and the torque −∂U/∂θ. With skirts (see
/// [`crate::contact::Collider::with_skirt`]) the energy is U = ∫ ψ(min(p_A, p_B)) dV over the overlap of
/// bodies and skirts, where ψ is the pressure that acts (see [`crate::contact::onset`]). This integral
/// is exact too. The force, however, is a quadrature of ψ over the faces, which is exact only if the
/// pressure on a whole face is beyond the onset; elsewhere energy and force agree only as closely as the
/// faces resolve the onset.
///
/// The integrals are over volumes and know nothing of the contact surface. They are exact but
/// for rounding, and cost as many intersections as there are overlapping pairs of elements: this
/// is meant for checks and energy budgets, not for every step.
#[inline(never)]
pub fn contact_energy<T: Scalar>(pair: &ContactPair<T>) -> T {
    let Ok(roles) = Roles::new(pair) else { return T::from(0.0) };
    match roles.parts {
        Parts::TwoFields { o, f } => two_fields(&roles, o, f),
        Parts::SurfaceInField { o, f } => surface_in_field(&roles, o, f),
        Parts::HalfSpaceInField { rigid, f } => half_space_in_field(&roles, rigid, f),
        Parts::SurfaceInHalfSpace { o } => surface_in_half_space(&roles, o),
        Parts::TwoRigid => T::from(0.0),
    }
}

/// Where `f` ≥ 0.
fn positive<T: Scalar>(f: &LinearFunction<T>) -> HalfSpace<T> {
    HalfSpace { normal: -f.gradient, offset: f.offset }
}

/// `a` − `b`.
fn difference<T: Scalar>(a: &LinearFunction<T>, b: &LinearFunction<T>) -> LinearFunction<T> {
    LinearFunction { gradient: a.gradient - b.gradient, offset: a.offset - b.offset }
}

/// ∫ ψ(p) dV with the pressure ψ that acts at an onset of width w (see [`crate::contact::onset`]). The
/// polyhedron is used up.
///
/// It is the integral of (p + w)² where p > −w, less that of (p − w)² where p > w, over 4 w.
fn integrate_onset<T: Scalar>(polyhedron: &mut ConvexPolyhedron<T>, p: &LinearFunction<T>, w: T) -> T {
    if w.real() == 0.0 {
        return polyhedron.integrate(&p.gradient, p.offset);
    }
    let mut above = |level: T| {
        let excess = LinearFunction { gradient: p.gradient, offset: p.offset - level };
        polyhedron.clip(&positive(&excess));
        polyhedron.integrate_square(&excess.gradient, excess.offset)
    };
    (above(-w) - above(w)) / (w * 4.0)
}

/// ∫ ψ(min(p, q)) dV, as [`integrate_onset`].
fn integrate_least<T: Scalar>(
    polyhedron: &mut ConvexPolyhedron<T>,
    p: &LinearFunction<T>,
    q: &LinearFunction<T>,
    w: T,
) -> T {
    if w.real() == 0.0 {
        return integrate_minimum(polyhedron, p, q);
    }
    let mut sum = T::from(0.0);
    for (least, other) in [(p, q), (q, p)] {
        let mut part = polyhedron.clone();
        part.clip(&positive(&difference(other, least)));
        sum += integrate_onset(&mut part, least, w);
    }
    sum
}

/// ∫ min(p, q) dV. The polyhedron is used up.
///
/// It is ∫ p dV less the excess of p over q where there is one, so that a place where the two
/// are equal counts once. The flatter function is taken for p: the steeper one may be larger by
/// many orders of magnitude, and its rounding would stay.
fn integrate_minimum<T: Scalar>(
    polyhedron: &mut ConvexPolyhedron<T>,
    p: &LinearFunction<T>,
    q: &LinearFunction<T>,
) -> T {
    let steepness = |f: &LinearFunction<T>| real_vector(&f.gradient).norm_squared();
    let (p, q) = if steepness(p) <= steepness(q) { (p, q) } else { (q, p) };
    let whole = polyhedron.integrate(&p.gradient, p.offset);
    let excess = difference(p, q);
    polyhedron.clip(&positive(&excess));
    whole - polyhedron.integrate(&excess.gradient, excess.offset)
}

/// The corners of a tetrahedron in the frame of its geometry.
fn corners<T: Scalar>(field: &PressureField, own: Option<&[Vector3<T>]>, i: usize) -> [Vector3<T>; 4] {
    field.mesh().tetrahedra[i].map(|k| match own {
        Some(vertices) => vertices[k as usize],
        None => lift_vector(&field.mesh().vertices[k as usize]),
    })
}

/// A hierarchy of ordinary boxes: every element is there at the one pressure 0.
fn boxes(count: usize, corners: impl Fn(usize) -> [Vector3<f64>; 4]) -> Hierarchy {
    Hierarchy::build(count, |i, points| points.extend(corners(i).map(|x| (x, 0.0))))
}

/// Calls `visit` with the numbers of two elements of O and F whose boxes overlap.
fn for_each_overlap(
    o: &Hierarchy,
    f: &Hierarchy,
    x_fo: &RigidTransform,
    mut visit: impl FnMut(usize, usize),
) {
    let side = |hierarchy| Side { hierarchy, modulus: 1.0 };
    for_each_pair(side(o), side(f), x_fo, 0.0, &mut TraversalStack::default(), |i, j| {
        visit(i as usize, j as usize);
    });
}

/// The boxes of a field's tetrahedra.
fn boxes_of_field(field: &PressureField) -> Hierarchy {
    boxes(field.mesh().tetrahedra.len(), |i| corners::<f64>(field, None, i))
}

/// Clips by the four faces of a tetrahedron.
fn clip_by_tetrahedron<T: Scalar>(polyhedron: &mut ConvexPolyhedron<T>, planes: &TetrahedronPlanes<T>) {
    for face in &planes.barycentric {
        polyhedron.clip(&positive(face));
    }
}

fn two_fields<T: Scalar>(roles: &Roles<T>, o: &PressureField, f: &PressureField) -> T {
    let mut energy = T::from(0.0);
    let (width, _) = roles.onset_width();
    let mut overlap = ConvexPolyhedron::default();
    for_each_overlap(&boxes_of_field(o), &boxes_of_field(f), &roles.x_fo.real(), |i, j| {
        let planes = tetrahedron_planes(roles.f, f, j as u32);
        overlap.set_tetrahedron(corners(o, roles.o.vertices.as_deref(), i).map(|x| roles.x_fo * x));
        clip_by_tetrahedron(&mut overlap, &planes);
        if !overlap.is_empty() {
            let pressure_o = moved(&roles.x_fo, &tetrahedron_planes(roles.o, o, i as u32).pressure);
            energy += integrate_least(&mut overlap, &pressure_o, &planes.pressure, width);
        }
    });
    energy
}

/// The rigid body O as signed tetrahedra in its own frame, one for each triangle, with a common apex.
/// Points outside of the body are covered as often by negative as by positive tetrahedra.
fn cones<'a, T: Scalar>(roles: &'a Roles<T>, o: &'a RigidSurface) -> impl Fn(usize) -> [Vector3<T>; 4] + 'a {
    let vertices = &o.mesh().vertices;
    // Any point serves. One in the middle keeps the tetrahedra small.
    let sum: Vector3<f64> = vertices.iter().sum();
    let apex = lift_vector(&(sum / vertices.len().max(1) as f64));
    move |i| {
        let [a, b, c] = o.mesh().triangles[i].map(|k| match &roles.o.vertices {
            Some(own) => own[k as usize],
            None => lift_vector(&vertices[k as usize]),
        });
        [apex, a, b, c]
    }
}

fn surface_in_field<T: Scalar>(roles: &Roles<T>, o: &RigidSurface, f: &PressureField) -> T {
    let mut energy = T::from(0.0);
    let (width, _) = roles.onset_width();
    let mut overlap = ConvexPolyhedron::default();
    let cone = cones(roles, o);
    let boxes_of_o = boxes(o.mesh().triangles.len(), |i| cone(i).map(|x| real_vector(&x)));
    for_each_overlap(&boxes_of_o, &boxes_of_field(f), &roles.x_fo.real(), |i, j| {
        let planes = tetrahedron_planes(roles.f, f, j as u32);
        overlap.set_tetrahedron(cone(i).map(|x| roles.x_fo * x));
        clip_by_tetrahedron(&mut overlap, &planes);
        energy += integrate_onset(&mut overlap, &planes.pressure, width);
    });
    energy
}

fn surface_in_half_space<T: Scalar>(roles: &Roles<T>, o: &RigidSurface) -> T {
    let mut energy = T::from(0.0);
    let (width, _) = roles.onset_width();
    let mut overlap = ConvexPolyhedron::default();
    let cone = cones(roles, o);
    let pressure = half_space_pressure(roles.f);
    let reaching = LinearFunction { offset: pressure.offset + roles.f.skirt_pressure(), ..pressure };
    for i in 0..o.mesh().triangles.len() {
        overlap.set_tetrahedron(cone(i).map(|x| roles.x_fo * x));
        overlap.clip(&positive(&reaching));
        energy += integrate_onset(&mut overlap, &pressure, width);
    }
    energy
}

fn half_space_in_field<T: Scalar>(roles: &Roles<T>, rigid: bool, f: &PressureField) -> T {
    let mut energy = T::from(0.0);
    let (width, _) = roles.onset_width();
    let mut overlap = ConvexPolyhedron::default();
    // The depth below O's plane or the top of its skirt.
    let depth = moved(&roles.x_fo, &depth_in_skirt(roles.o));
    for j in 0..f.mesh().tetrahedra.len() {
        overlap.set_tetrahedron(corners(f, roles.f.vertices.as_deref(), j));
        overlap.clip(&positive(&depth));
        if overlap.is_empty() {
            continue;
        }
        let pressure = tetrahedron_planes(roles.f, f, j as u32).pressure;
        energy += if rigid {
            integrate_onset(&mut overlap, &pressure, width)
        } else {
            let own = moved(&roles.x_fo, &half_space_pressure(roles.o));
            integrate_least(&mut overlap, &pressure, &own, width)
        };
    }
    energy
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::{Collider, ContactGeometry, Material};
    use crate::geometry::{SurfaceMesh, VolumeMesh, boundary_faces};
    use crate::spatial::SpatialVelocity;

    /// A cube of edge 2 around the origin, its extent 1 at the centre.
    fn cube() -> VolumeMesh {
        let mut vertices: Vec<_> =
            (0..8).map(|k| Vector3::from_fn(|axis, _| if k >> axis & 1 == 1 { 1.0 } else { -1.0 })).collect();
        vertices.push(Vector3::zeros());
        let mut tetrahedra = Vec::new();
        for (axis, side) in [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)] {
            let (u, v) = (1 << ((axis + 1) % 3), 1 << ((axis + 2) % 3));
            let at = side << axis;
            for [a, b] in [[at + u, at + u + v], [at + u + v, at + v]] {
                tetrahedra.push(if side == 0 { [at, a, b, 8] } else { [at, b, a, 8] });
            }
        }
        VolumeMesh { vertices, tetrahedra }
    }

    fn collider(geometry: ContactGeometry, hydroelastic_modulus: f64, thickness: f64) -> Collider {
        let material = Material::new(hydroelastic_modulus, 0.0, 0.0);
        Collider::new(geometry, material, thickness)
    }

    fn compliant_cube(modulus: f64) -> Collider {
        let extent = vec![0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
        collider(ContactGeometry::Compliant(PressureField::new(cube(), extent).unwrap()), modulus, 1.0)
    }

    fn rigid_cube() -> Collider {
        let mesh = cube();
        let triangles = boundary_faces(&mesh.tetrahedra);
        collider(
            ContactGeometry::Rigid(RigidSurface::new(SurfaceMesh { vertices: mesh.vertices, triangles })),
            1.0,
            1.0,
        )
    }

    fn energy(a: &Collider, z: f64, b: &Collider) -> f64 {
        let x_wa = RigidTransform::from_translation([0.0, 0.0, z]);
        let (v, x_wb) = (SpatialVelocity::zero(), RigidTransform::identity());
        let one = contact_energy(&ContactPair { a, x_wa, v_wa: v, b, x_wb, v_wb: v });
        let other = contact_energy(&ContactPair { a: b, x_wa: x_wb, v_wa: v, b: a, x_wb: x_wa, v_wb: v });
        assert!((one - other).abs() <= 1e-14 * one.abs(), "{one} {other}");
        one
    }

    #[test]
    fn energies_by_hand() {
        let floor = collider(ContactGeometry::CompliantHalfSpace, 3.0, 0.5);
        let rigid_floor = collider(ContactGeometry::RigidHalfSpace, 1.0, 1.0);
        let (soft, hard, rigid) = (compliant_cube(3.0), compliant_cube(30.0), rigid_cube());
        // The mean extent of a pyramid with its apex at 1 is 1/4.
        let whole = 3.0 * 8.0 / 4.0;
        let close =
            |got: f64, expected: f64| assert!((got - expected).abs() < 1e-13, "{got}, not {expected}");
        // ∫ (3/0.5) depth dV over a depth of 0.4 under 4 m².
        close(energy(&rigid, 0.6, &floor), 6.0 * 4.0 * 0.4 * 0.4 / 2.0);
        // A soft cube wholly inside rigid matter, inside itself and inside a harder one.
        close(energy(&soft, -7.0, &rigid_floor), whole);
        close(energy(&soft, 0.0, &rigid), whole);
        close(energy(&soft, 0.0, &soft), whole);
        close(energy(&soft, 0.0, &hard), whole);
        // Half of it.
        close(energy(&soft, 0.0, &rigid_floor), whole / 2.0);
        // Far down the half-space is the harder one.
        close(energy(&soft, -70.0, &floor), whole);
        close(energy(&soft, 2.1, &rigid), 0.0);
        close(energy(&soft, 1.1, &floor), 0.0);
        assert_eq!(energy(&rigid, 0.0, &rigid), 0.0);
    }
}
