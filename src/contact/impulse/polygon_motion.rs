//! How a polygon of the contact surface, or its triangles, follow the surface's geometry.
//!
//! To first order area and centroid follow the motion of the edges across themselves alone: with
//! the velocity v of the edges outward in the plane, dA = ∮ v ds and A dx = ∮ (y − x) v ds for the
//! centroid x, which moves along the normal with the plane, too. An edge is where the plane meets
//! one constraint. So no vertex has to be found as the meeting point of three planes.

use nalgebra::Vector3;

use crate::contact::force::local_jacobian::{DIRECTIONS, Dual, LOG_MODULUS_F, LOG_MODULUS_O};
use crate::contact::surface::equilibrium::Equilibrium;
use crate::contact::surface::fan::Fan;
use crate::contact::surface::polygon::{FIRST_OF_F, Polygon};
use crate::contact::surface::surface_polygon::SurfacePolygon;
use crate::contact::surface::vertex_planes::Gradients;
use crate::geometry::TrianglePoint;

/// Position, pressure of the fields, and area of a face.
pub(in crate::contact) type FacePoint = (Vector3<Dual>, Dual, Dual);

/// A constraint whose gradient has less than this part of its length in the polygon's plane has no
/// line in common with the plane.
const PARALLEL: f64 = 1e-11;

#[inline(always)]
pub(in crate::contact) fn cross(a: &Vector3<f64>, b: &Vector3<f64>) -> Vector3<f64> {
    Vector3::new(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
}

/// A velocity across the surface by the directions of the geometry: of material of O that carries
/// it along `k`, and of a plane that moves by `by_modulus` as O's modulus falls and F's grows.
#[inline(always)]
fn by_directions(turn: &Vector3<f64>, k: &Vector3<f64>, by_modulus: f64) -> [f64; DIRECTIONS] {
    let mut by = [turn.x, turn.y, turn.z, k.x, k.y, k.z, 0.0, 0.0];
    (by[LOG_MODULUS_O], by[LOG_MODULUS_F]) = (-by_modulus, by_modulus);
    by
}

/// The centroid of a polygon, the fields' pressure there, and the area, with their derivatives with
/// respect to the geometry. Not for slivers, which have no centroid (see [`Fan::has_centroid`]).
#[inline(always)]
pub(in crate::contact) fn moving_face(
    gradients: &Gradients,
    polygon: &Polygon,
    equilibrium: &Equilibrium,
    fan: &Fan<f64>,
) -> FacePoint {
    let (n, pressure, x) = (&equilibrium.normal, &equilibrium.pressure, &fan.centroid);
    // What carries the plane with O, and what moves it with the moduli.
    let carried = equilibrium.gradient_o.as_ref().unwrap_or(&gradients.plane);
    let elastic = if equilibrium.gradient_o.is_some() { 1.0 } else { 0.0 };
    let per_length = 1.0 / gradients.plane.norm();
    let mut area = [0.0; DIRECTIONS];
    let mut moment = [[0.0; DIRECTIONS]; 3];
    let (mut from, mut from_pressure) = (&polygon.position[0], pressure.at(&polygon.position[0]));
    for i in 0..polygon.len {
        let next = if i + 1 == polygon.len { 0 } else { i + 1 };
        let to = &polygon.position[next];
        let to_pressure = pressure.at(to);
        let name = polygon.edge[i];
        let of_o = name < FIRST_OF_F;
        let c = gradients.constraint(name);
        let edge = to - from;
        let along_normal = c.dot(n);
        let (square, in_plane) = (c.norm_squared(), c - n * along_normal);
        let in_plane = in_plane.norm_squared();
        if in_plane > PARALLEL * PARALLEL * square {
            // The edge's length over the part of c in the plane, which points inward. There
            // c·dx is c·u for a constraint that O's motion u carries, otherwise 0.
            let weight = -cross(&edge, n).dot(c) / in_plane;
            let by_plane = weight * along_normal * per_length;
            let own = if of_o { weight } else { 0.0 };
            let k = carried * by_plane - c * own;
            let by_modulus = by_plane * elastic;
            let middle = (from + to) * 0.5;
            // Outward velocity times length, in the middle, and a twelfth of its change along the edge.
            let flux =
                by_directions(&cross(&middle, &k), &k, by_modulus * 0.5 * (from_pressure + to_pressure));
            let part = by_modulus * (to_pressure - from_pressure) / 12.0;
            let change = by_directions(&(cross(&edge, &k) / 12.0), &Vector3::zeros(), part);
            let arm = middle - x;
            for d in 0..DIRECTIONS {
                area[d] += flux[d];
            }
            for row in 0..3 {
                for d in 0..DIRECTIONS {
                    moment[row][d] += arm[row] * flux[d] + edge[row] * change[d];
                }
            }
        }
        (from, from_pressure) = (to, to_pressure);
    }
    let along = carried * per_length;
    let by_modulus = elastic * per_length * fan.pressure;
    let raised = by_directions(&cross(x, &along), &along, by_modulus);
    let per_area = 1.0 / fan.area;
    for row in 0..3 {
        for d in 0..DIRECTIONS {
            moment[row][d] = moment[row][d] * per_area + n[row] * raised[d];
        }
    }
    let g = &pressure.gradient;
    let mut by_pressure = [0.0; DIRECTIONS];
    for d in 0..DIRECTIONS {
        by_pressure[d] = g.x * moment[0][d] + g.y * moment[1][d] + g.z * moment[2][d];
    }
    by_pressure[LOG_MODULUS_F] += fan.pressure;
    let [by_x, by_y, by_z] = moment;
    let point = Vector3::new(Dual::new(x.x, by_x), Dual::new(x.y, by_y), Dual::new(x.z, by_z));
    (point, Dual::new(fan.pressure, by_pressure), Dual::new(fan.area, area))
}

/// The points of a rule on a polygon's triangles around its own centroid, the fields' pressure there, and the areas that they
/// stand for, with their derivatives with respect to the geometry; returns how many there are. The polygon has those of its
/// vertices; `centroid` is [`moving_face`].
#[inline(always)]
pub(in crate::contact) fn moving_triangles(
    (polygon, centroid): (&SurfacePolygon<Dual>, &FacePoint),
    normal: &Vector3<f64>,
    fan: &Fan<f64>,
    rule: &[TrianglePoint],
    points: &mut [FacePoint],
) -> usize {
    let (x, p, _) = centroid;
    let mut count = 0;
    for i in 0..polygon.len {
        let next = if i + 1 == polygon.len { 0 } else { i + 1 };
        let (from, to) = (&polygon.position[i], &polygon.position[next]);
        let (from_p, to_p) = (&polygon.pressure[i], &polygon.pressure[next]);
        // Twice the area is (a × b)·n, which a turn of n does not change: a × b is along n.
        let arm = |of: &Vector3<Dual>| Vector3::new(of.x.re - x.x.re, of.y.re - x.y.re, of.z.re - x.z.re);
        let (by_from, by_to) = (cross(&arm(to), normal) * 0.5, cross(normal, &arm(from)) * 0.5);
        let mut area = [0.0; DIRECTIONS];
        for (row, (x, (from, to))) in
            [(&x.x, (&from.x, &to.x)), (&x.y, (&from.y, &to.y)), (&x.z, (&from.z, &to.z))]
                .into_iter()
                .enumerate()
        {
            let (by_from, by_to) = (by_from[row], by_to[row]);
            for d in 0..DIRECTIONS {
                area[d] += by_from * (from.eps[d] - x.eps[d]) + by_to * (to.eps[d] - x.eps[d]);
            }
        }
        for TrianglePoint { barycentric: [c, a, b], weight } in rule {
            let mean = |x: &Dual, from: &Dual, to: &Dual| {
                let by = std::array::from_fn(|d| x.eps[d] * c + from.eps[d] * a + to.eps[d] * b);
                Dual::new(x.re * c + from.re * a + to.re * b, by)
            };
            let at = Vector3::new(
                mean(&x.x, &from.x, &to.x),
                mean(&x.y, &from.y, &to.y),
                mean(&x.z, &from.z, &to.z),
            );
            let area = Dual::new(fan.triangle_area[i] * weight, area.map(|by| by * weight));
            points[count] = (at, mean(p, from_p, to_p), area);
            count += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::force::local_jacobian::{set_moving_vertices, set_turning_plane};
    use crate::contact::force::wrench::for_each_point;
    use crate::contact::pair::query::{ContactPair, Roles};
    use crate::contact::settings::{FaceFilter, SurfaceRepresentation};
    use crate::contact::surface::polygon::MAX_VERTICES;
    use crate::contact::surface::search::for_each_polygon;
    use crate::contact::{Collider, ContactGeometry, Material, Workspace};
    use crate::field::RigidSurface;
    use crate::geometry::{LARGEST_TRIANGLE_RULE, Shape, triangle_rule};
    use crate::spatial::{RigidTransform, SpatialVelocity, rotation_from_rpy};
    use approx::assert_relative_eq;

    fn material(hydroelastic_modulus: f64) -> Material {
        Material::new(hydroelastic_modulus, 0.0, 0.5)
    }

    fn compliant(shape: Shape, resolution: f64, modulus: f64) -> Collider {
        Collider::of_shape(&shape, resolution, material(modulus)).unwrap()
    }

    /// A ball against a compliant and a rigid box, and against compliant and rigid ground.
    fn pairs() -> Vec<(Collider, Collider)> {
        let ball = compliant(Shape::Sphere { radius: 0.05 }, 0.03, 1e5);
        let size = [0.2, 0.2, 0.1];
        let mesh = Shape::Box { size }.surface_mesh(0.1).unwrap();
        let rigid = ContactGeometry::Rigid(RigidSurface::new(mesh));
        let other = |geometry| Collider::new(geometry, material(3e5), 0.05);
        vec![
            (ball.clone(), compliant(Shape::Box { size }, 0.1, 3e5)),
            (ball.clone(), other(rigid.clone())),
            (ball.clone(), other(ContactGeometry::RigidHalfSpace)),
            (ball, other(ContactGeometry::CompliantHalfSpace)),
            (Collider::new(rigid, material(1.0), 1.0), other(ContactGeometry::CompliantHalfSpace)),
        ]
    }

    fn roles<'a>(a: &'a Collider, b: &'a Collider) -> Roles<'a, f64> {
        let height = if b.geometry.is_half_space() { 0.045 } else { 0.093 };
        let x_wa =
            RigidTransform::new(rotation_from_rpy(0.31, -0.22, 0.53), Vector3::new(0.013, -0.021, height));
        let x_wb = RigidTransform::new(rotation_from_rpy(0.02, 0.03, -0.4), Vector3::zeros());
        let (v_wa, v_wb) = (SpatialVelocity::zero(), SpatialVelocity::zero());
        Roles::new(&ContactPair { a, x_wa, v_wa, b, x_wb, v_wb }).unwrap()
    }

    /// Calls `visit` with the polygons of the surface, with their vertices, and their faces or the
    /// triangles of these with derivatives.
    fn faces(
        roles: &Roles<f64>,
        surface: SurfaceRepresentation,
        mut visit: impl FnMut(&SurfacePolygon<Dual>, &[FacePoint]),
    ) {
        let mut workspace = Workspace::default();
        for_each_polygon(roles, FaceFilter::None, &mut workspace.search, |found, equilibrium| {
            let mut polygon = SurfacePolygon::empty();
            polygon.set_real(found, equilibrium);
            let fan = Fan::new(&polygon, surface);
            if fan.has_centroid {
                let gradients = Gradients::new(roles, found, equilibrium);
                let mut moving = SurfacePolygon::empty();
                set_turning_plane(&mut moving, equilibrium);
                set_moving_vertices(&gradients, found, equilibrium, &mut moving);
                let face = moving_face(&gradients, found, equilibrium, &fan);
                if surface == SurfaceRepresentation::Polygons {
                    return visit(&moving, &[face]);
                }
                let mut points = [face; MAX_VERTICES * LARGEST_TRIANGLE_RULE];
                let n = &equilibrium.normal;
                let count = moving_triangles((&moving, &face), n, &fan, rule(), &mut points);
                visit(&moving, &points[..count]);
            }
        });
    }

    /// Points that are not the centroids of triangles.
    fn rule() -> &'static [TrianglePoint] {
        triangle_rule(4).unwrap()
    }

    const BOTH: [SurfaceRepresentation; 2] =
        [SurfaceRepresentation::Polygons, SurfaceRepresentation::Triangles];

    #[test]
    fn edges_move_area_and_centroid_as_vertices_do() {
        for (a, b) in pairs() {
            let roles = roles(&a, &b);
            for surface in BOTH {
                let mut count = 0;
                faces(&roles, surface, |polygon, points| {
                    let fan = Fan::new(polygon, surface);
                    let size = fan.area.re.sqrt();
                    let mut points = points.iter();
                    for_each_point(polygon, &fan, surface, rule(), |expected, p_expected, a_expected| {
                        let (x, p, area) = points.next().unwrap();
                        let pairs = [
                            (x.x, expected.x, 1.0),
                            (x.y, expected.y, 1.0),
                            (x.z, expected.z, 1.0),
                            (*p, p_expected, 1e6),
                            (*area, a_expected, size),
                        ];
                        for (got, expected, unit) in pairs {
                            assert_relative_eq!(got.re, expected.re, epsilon = 1e-12 * unit);
                            for k in 0..DIRECTIONS {
                                // Acute corners move fast.
                                let epsilon = 1e-9 * unit * (1.0 + expected.eps[k].abs() / unit);
                                assert_relative_eq!(got.eps[k], expected.eps[k], epsilon = epsilon);
                            }
                        }
                    });
                    assert!(points.next().is_none());
                    count += 1;
                });
                assert!(count >= 4, "{count} faces");
            }
        }
    }

    #[test]
    fn derivatives_agree_with_differences() {
        BOTH.into_iter().for_each(agree_with_differences);
    }

    fn agree_with_differences(surface: SurfaceRepresentation) {
        let h = 1e-6;
        let (a, b) = pairs().swap_remove(0);
        let roles = roles(&a, &b);
        let moved = |k: usize, by: f64| {
            let mut moved = self::roles(&a, &b);
            let mut step = Vector3::zeros();
            step[k % 3] = by;
            let turn = if k < 3 {
                crate::spatial::rotation_exponential(&step)
            } else {
                nalgebra::Matrix3::identity()
            };
            let shift = if k < 3 { Vector3::zeros() } else { step };
            moved.x_fo =
                RigidTransform::new(turn * moved.x_fo.rotation, turn * moved.x_fo.translation + shift);
            let mut sum = [0.0; 5];
            faces(&moved, surface, |_, points| {
                for (x, p, area) in points {
                    for (sum, y) in sum.iter_mut().zip([1.0, x.x.re, x.y.re, x.z.re, p.re]) {
                        *sum += y * area.re;
                    }
                }
            });
            sum
        };
        let mut by = [[0.0; DIRECTIONS]; 5];
        faces(&roles, surface, |_, points| {
            for (x, p, area) in points {
                for (by, y) in by.iter_mut().zip([Dual::from(1.0), x.x, x.y, x.z, *p]) {
                    for (by, y) in by.iter_mut().zip((y * *area).eps) {
                        *by += y;
                    }
                }
            }
        });
        for k in 0..6 {
            let (plus, minus) = (moved(k, h), moved(k, -h));
            for row in 0..5 {
                let difference = (plus[row] - minus[row]) / (2.0 * h);
                let scale = by[row].iter().fold(0.0_f64, |m, x| m.max(x.abs()));
                assert_relative_eq!(by[row][k], difference, epsilon = 1e-6 * scale);
            }
        }
    }
}
