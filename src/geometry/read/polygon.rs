//! Polygons cut into triangles, convex or not.

use nalgebra::Vector3;

use super::fault::Fault;

/// The largest number of corners of a polygon that is not convex: the time grows with its cube at worst.
const MOST_CORNERS: usize = 500;

/// The triangles of a polygon: a fan from its first corner where that covers it, else the corners cut off one after
/// the other (Meisters 1975). Corners at one place may come twice, as where a slit leads to a hole. Faults are at a
/// line.
pub(super) fn triangles_of(
    corners: &[u32],
    vertices: &[Vector3<f64>],
    line: impl Into<Option<usize>>,
) -> Result<Vec<[u32; 3]>, Fault> {
    if corners.len() < 3 {
        let found = format!("a face of {} vertices", corners.len());
        return Err(Fault::new(line, found, "a face needs at least three"));
    }
    let at = |corner: u32| vertices[corner as usize];
    let fan = |corners: &[u32]| -> Vec<[u32; 3]> {
        corners[1..].windows(2).map(|w| [corners[0], w[0], w[1]]).collect()
    };
    let area = |[a, b, c]: [u32; 3]| (at(b) - at(a)).cross(&(at(c) - at(a)));
    let all = fan(corners);
    let normal: Vector3<f64> = all.iter().map(|&triangle| area(triangle)).sum();
    let is_ahead = |triangle: [u32; 3]| area(triangle).dot(&normal) > 0.0;
    if all.len() < 2 || all.iter().all(|&triangle| is_ahead(triangle)) {
        return Ok(all);
    }
    if corners.len() > MOST_CORNERS {
        let found = format!("a face of {} vertices that is not convex", corners.len());
        return Err(Fault::new(line, found, format!("such a face may have at most {MOST_CORNERS}")));
    }
    let mut left = corners.to_vec();
    let mut triangles = Vec::new();
    while left.len() > 3 {
        let n = left.len();
        let ear = |i: usize| [left[(i + n - 1) % n], left[i], left[(i + 1) % n]];
        let is_free = |&i: &usize| {
            let [a, b, c] = ear(i);
            let within = |&p: &u32| {
                ![a, b, c].map(at).contains(&at(p))
                    && [[a, b, p], [b, c, p], [c, a, p]].iter().all(|&part| area(part).dot(&normal) >= 0.0)
            };
            is_ahead([a, b, c]) && !left.iter().any(within)
        };
        // Without one it crosses itself, or what is left has no area.
        let Some(i) = (0..n).find(is_free) else { break };
        triangles.push(ear(i));
        left.remove(i);
    }
    triangles.extend(fan(&left));
    Ok(triangles)
}
