//! Forces as arrows.

use std::f64::consts::TAU;

use nalgebra::Vector3;

use super::film::Film;
use isobar::spatial::Quaternion;

/// Number of corners around an arrow.
const CORNERS: u32 = 16;

/// An arrow of length 1 from the origin along z: vertices and triangles.
pub(super) fn arrow_mesh() -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
    // Radius and height of the rings, from the foot to the tip.
    let rings = [[0.0, 0.0], [0.02, 0.0], [0.02, 0.75], [0.06, 0.75], [0.0, 1.0]];
    let corner = |radius: f64, height: f64, k: u32| {
        let angle = TAU * f64::from(k) / f64::from(CORNERS);
        [(radius * angle.cos()) as f32, (radius * angle.sin()) as f32, height as f32]
    };
    let vertices =
        rings.iter().flat_map(|&[radius, height]| (0..CORNERS).map(move |k| corner(radius, height, k)));
    let mut triangles = Vec::new();
    for ring in 0..rings.len() as u32 - 1 {
        for k in 0..CORNERS {
            let next = (k + 1) % CORNERS;
            let [a, b] = [ring * CORNERS + k, ring * CORNERS + next];
            let [c, d] = [a + CORNERS, b + CORNERS];
            // The foot and the tip are points, where one of the two triangles has no area.
            if ring > 0 {
                triangles.push([a, b, d]);
            }
            if rings[ring as usize + 1][0] > 0.0 {
                triangles.push([a, d, c]);
            }
        }
    }
    (vertices.collect(), triangles)
}

/// The rotation that takes the z axis to the direction of a vector that is not zero.
pub(super) fn turned_from_z(v: &Vector3<f64>) -> Quaternion {
    let d = v / v.norm();
    // Halfway between z and the direction; where that is no direction, half a turn about x.
    if d.z < -1.0 + 1e-9 {
        return Quaternion { w: 0.0, v: Vector3::x() };
    }
    Quaternion { w: 1.0 + d.z, v: Vector3::new(-d.y, d.x, 0.0) }.normalized()
}

/// How long arrows of forces are, m/N: the largest of a film is a fifth of the diagonal of what is seen. `None`
/// where there is no force.
pub(super) fn force_scale(film: &Film) -> Option<f64> {
    let largest = film.max_force();
    (largest > 0.0).then(|| Some(0.2 * film.bounds()?.diagonal() / largest))?
}

/// Where a force acts, and the force.
pub(super) type DrawnForce = (Vector3<f64>, Vector3<f64>);

/// On which body of a pair its force is drawn (0 or 1: on one that moves), and where it acts and the force
/// in each frame, if there is one.
pub(super) fn drawn_force(film: &Film, pair: usize) -> (usize, Vec<Option<DrawnForce>>) {
    let is_fixed = |name: &String| film.bodies.iter().any(|body| body.name == *name && body.is_fixed);
    let [a, b] = &film.pairs[pair];
    let on = usize::from(is_fixed(a) && !is_fixed(b));
    let sign = if on == 0 { 1.0 } else { -1.0 };
    let force = |frame: &super::film::Frame| {
        let contact = frame.contacts[pair]?;
        let force = contact.on_a.translational * sign;
        (force.norm() > 0.0).then_some((contact.centroid, force))
    };
    (on, film.frames.iter().map(force).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn arrows_point_where_the_force_does() {
        for v in [[0.3, -0.5, 0.2], [0.0, 0.0, 2.0], [0.0, 0.0, -3.0], [1e-7, 0.0, -1.0], [4.0, 1.0, -4.0]] {
            let v = Vector3::from(v);
            assert_relative_eq!(turned_from_z(&v).to_matrix() * Vector3::z(), v / v.norm(), epsilon = 1e-6);
        }
    }

    #[test]
    fn an_arrow_is_closed_and_seen_from_outside() {
        let (vertices, triangles) = arrow_mesh();
        let at = |i: u32| Vector3::from(vertices[i as usize].map(f64::from));
        let volume: f64 = triangles.iter().map(|t| at(t[0]).dot(&at(t[1]).cross(&at(t[2]))) / 6.0).sum();
        // A prism and a pyramid over a regular polygon.
        let ring = 0.5 * f64::from(CORNERS) * (TAU / f64::from(CORNERS)).sin();
        let exact = ring * (0.02 * 0.02 * 0.75 + 0.06 * 0.06 * 0.25 / 3.0);
        assert_relative_eq!(volume, exact, max_relative = 1e-5);
    }
}
