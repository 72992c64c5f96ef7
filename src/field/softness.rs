//! Whether a field is as stiff at one place of its surface as at others.

use nalgebra::Vector3;

use super::pressure_field::PressureField;
use crate::geometry::{boundary_faces, closest_point_on_triangle};

/// Places of the surface that are looked at, spread evenly over its area.
const PLACES: usize = 200;
/// A place is soft if a body there meets less than this part of what it meets at others.
const SOFT: f64 = 1.0 / 3.0;
/// Some softness is at every edge of a coarse mesh: so much of the surface has to be soft. It is a leg of a T, near its end.
const LEAST_PART: f64 = 0.05;
/// How deep a field is looked at, as a part of the thickness below a place.
const DEPTH: f64 = 0.25;
/// The golden ratio's and the plastic number's fractions, whose multiples are spread evenly.
const SPREAD: [f64; 2] = [0.618_033_988_749_894_9, 0.754_877_666_246_692_7];

/// A part of a surface where a field is far softer than elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SoftPart {
    /// The part of the surface's area.
    pub part: f64,
    /// How many times softer it is in the middle of that part.
    pub factor: f64,
    /// Where it is softest, in the geometry's frame, m.
    pub softest: Vector3<f64>,
    /// Whether the field has a single vertex inside: its surface was filled from a point.
    pub is_fan: bool,
}

/// How stiff a field is below a place of the surface: its extent at a point a quarter of the thickness below,
struct Place {
    at: Vector3<f64>,
    /// for each metre from the point to the surface,
    slope: f64,
    /// and for each part of half of the thickness.
    growth: f64,
}

/// The part of the surface where a field is far softer than elsewhere, if there is one.
///
/// A place counts as soft if the extent below it grows slowly from the surface against that below the other places (the
/// median), by the metre and by the thickness: the narrow sides of a plate have the first, thin parts may have the
/// second, and neither is a fault. A fan has both where a long part of constant thickness leads away from its point, and a
/// volume mesh where it has no vertices between the surfaces of a part.
pub(crate) fn soft_part(field: &PressureField) -> Option<SoftPart> {
    let mut places = places(field);
    let [slope, growth] = [|p: &Place| p.slope, |p: &Place| p.growth].map(|of| median(places.iter().map(of)));
    if !(slope > 0.0 && growth > 0.0) {
        return None;
    }
    let stiffness = |p: &Place| (p.slope / slope).max(p.growth / growth);
    places.sort_by(|a, b| stiffness(a).total_cmp(&stiffness(b)));
    let soft = places.partition_point(|p| stiffness(p) < SOFT);
    let part = soft as f64 / places.len() as f64;
    let (softest, middle) = (places.first()?, places.get(soft / 2)?);
    let is_fan = field.extent().iter().filter(|extent| **extent > 0.0).count() == 1;
    let found = SoftPart { part, factor: 1.0 / stiffness(middle), softest: softest.at, is_fan };
    (part >= LEAST_PART && middle.slope > 0.0).then_some(found)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// The places that are looked at.
fn places(field: &PressureField) -> Vec<Place> {
    let mesh = field.mesh();
    let faces: Vec<[Vector3<f64>; 3]> =
        boundary_faces(&mesh.tetrahedra).into_iter().map(|t| t.map(|v| mesh.vertices[v as usize])).collect();
    let area_vector = |[a, b, c]: &[Vector3<f64>; 3]| 0.5 * (b - a).cross(&(c - a));
    let mut sum = 0.0;
    let up_to: Vec<f64> = faces
        .iter()
        .map(|face| {
            sum += area_vector(face).norm();
            sum
        })
        .collect();
    let place = |k: usize| {
        let wanted = (k as f64 + 0.5) / PLACES as f64 * sum;
        let face = &faces[up_to.partition_point(|&area| area < wanted).min(faces.len() - 1)];
        // A point of the square, folded into the triangle.
        let [u, v] = SPREAD.map(|step| ((k + 1) as f64 * step).fract());
        let [u, v] = if u + v > 1.0 { [1.0 - u, 1.0 - v] } else { [u, v] };
        let at = face[0] + (face[1] - face[0]) * u + (face[2] - face[0]) * v;
        let inward = -area_vector(face).try_normalize(0.0)?;
        let crossings = faces.iter().filter(|other| !std::ptr::eq(*other, face));
        let thickness =
            crossings.filter_map(|other| crossing(&at, &inward, other)).fold(f64::INFINITY, f64::min);
        let x = at + inward * (DEPTH * thickness);
        let distances = faces.iter().map(|face| (closest_point_on_triangle(&x, face).position - x).norm());
        let slope = extent_at(field, &x) / distances.fold(f64::INFINITY, f64::min);
        let place = Place { at, slope, growth: 0.5 * thickness * slope };
        (thickness.is_finite() && slope.is_finite()).then_some(place)
    };
    if faces.is_empty() { Vec::new() } else { (0..PLACES).filter_map(place).collect() }
}

/// How far along a ray it meets a triangle, in lengths of its direction (Möller and Trumbore 1997).
fn crossing(from: &Vector3<f64>, direction: &Vector3<f64>, [a, b, c]: &[Vector3<f64>; 3]) -> Option<f64> {
    let (u, v, to) = (b - a, c - a, from - a);
    let across = direction.cross(&v);
    let volume = u.dot(&across);
    let [along_u, along_v] = [to.dot(&across), direction.dot(&to.cross(&u))].map(|x| x / volume);
    let distance = v.dot(&to.cross(&u)) / volume;
    (along_u >= 0.0 && along_v >= 0.0 && along_u + along_v <= 1.0 && distance > 0.0).then_some(distance)
}

/// The extent at a point; 0 in tetrahedra without one, and outside.
fn extent_at(field: &PressureField, x: &Vector3<f64>) -> f64 {
    let least =
        |t: &super::TetrahedronField| t.barycentric.iter().map(|l| l.at(x)).fold(f64::INFINITY, f64::min);
    let holds = |t: &&super::TetrahedronField| least(t) >= -1e-9;
    field.tetrahedra().iter().find(holds).map_or(0.0, |t| t.extent.at(x).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::distance_extent;
    use crate::geometry::{Shape, SurfaceMesh};

    fn filled(surface: &SurfaceMesh) -> PressureField {
        let mesh = surface.tetrahedralize().unwrap();
        let extent = distance_extent(&mesh).unwrap();
        PressureField::new(mesh, extent).unwrap()
    }

    /// An outline in x and z, in triangles, extruded along y, m.
    fn extruded(outline: &[[f64; 2]], lid: &[[u32; 3]], depth: f64) -> SurfaceMesh {
        let n = outline.len() as u32;
        let side = |y: f64| outline.iter().map(move |&[x, z]| Vector3::new(x, y, z));
        let vertices = side(0.0).chain(side(depth)).collect();
        let mut triangles = lid.to_vec();
        triangles.extend(lid.iter().map(|[a, b, c]| [a + n, c + n, b + n]));
        for k in 0..n {
            let next = (k + 1) % n;
            triangles.extend([[k, k + n, next], [next, k + n, next + n]]);
        }
        SurfaceMesh { vertices, triangles }
    }

    /// An L of two legs of the same thickness, m.
    fn angle(l: f64, t: f64) -> SurfaceMesh {
        let outline = [[0.0, 0.0], [l, 0.0], [l, t], [t, t], [t, l], [0.0, l]];
        extruded(&outline, &[[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]], t)
    }

    /// A T of 10 mm walls: a bar of 60 mm and a leg of 50 mm, 15 mm deep.
    fn tee() -> SurfaceMesh {
        let outline = [[0, 0], [60, 0], [60, 10], [35, 10], [35, 60], [25, 60], [25, 10], [0, 10]];
        let lid = [[7, 0, 1], [1, 2, 3], [3, 4, 5], [3, 5, 6], [1, 3, 6], [1, 6, 7]];
        extruded(&outline.map(|point| point.map(|x| 1e-3 * f64::from(x))), &lid, 0.015)
    }

    #[test]
    fn a_fan_is_soft_at_the_ends_of_long_legs() {
        let soft = soft_part(&filled(&angle(0.1, 0.02))).expect("soft legs");
        assert!(soft.part > 0.1 && soft.factor > 3.0, "{soft:?}");
        let from_corner = soft.softest.x.max(soft.softest.z);
        assert!(from_corner > 0.08, "{soft:?}");
        let soft = soft_part(&filled(&tee())).expect("a soft leg");
        assert!(soft.factor > 3.0 && soft.softest.z > 0.05, "{soft:?}");
    }

    #[test]
    fn convex_shapes_and_short_legs_are_even() {
        assert_eq!(soft_part(&filled(&angle(0.05, 0.03))), None);
        let shapes = [
            Shape::Sphere { radius: 0.03 },
            Shape::Box { size: [0.1, 0.08, 0.005] },
            Shape::Cylinder { radius: 0.02, length: 0.1 },
            Shape::Cylinder { radius: 0.05, length: 0.004 },
            Shape::Capsule { radius: 0.01, length: 0.1 },
            Shape::Ellipsoid { semi_axes: [0.05, 0.02, 0.01] },
        ];
        for shape in shapes {
            for resolution in [0.005, 0.02] {
                let field = PressureField::of_shape(&shape, resolution).unwrap();
                assert_eq!(soft_part(&field), None, "{shape:?} {resolution}");
            }
        }
    }
}
