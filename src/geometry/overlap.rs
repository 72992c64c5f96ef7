//! How much of a closed surface's volume it encloses more than once, or from the wrong side.

use super::mesh::SurfaceMesh;

/// Columns that the volume is looked at in, along each of two axes.
const COLUMNS: usize = 256;

/// The volume that a closed surface counts more than once, as where pieces overlap, and that which it counts as less
/// than nothing, both as parts of its volume: integrals of (w − 1)₊ and (−w)₊ for the winding number w, along columns.
pub(crate) fn doubly_counted(mesh: &SurfaceMesh) -> [f64; 2] {
    let (low, high) = mesh.vertices.iter().fold(
        (nalgebra::Vector3::repeat(f64::INFINITY), nalgebra::Vector3::repeat(f64::NEG_INFINITY)),
        |(low, high), vertex| (low.inf(vertex), high.sup(vertex)),
    );
    let size = (high - low) / COLUMNS as f64;
    if !(size.x > 0.0 && size.y > 0.0) {
        return [0.0; 2];
    }
    // Columns off the middle of their cells, so that none meets an edge of what is regular.
    let place =
        |index: usize, axis: usize| low[axis] + (index as f64 + [0.419_371, 0.553_217][axis]) * size[axis];
    let mut crossings = vec![Vec::new(); COLUMNS * COLUMNS];
    for t in 0..mesh.triangles.len() {
        let corners = mesh.corners(t);
        let cell =
            |x: f64, axis: usize| (((x - low[axis]) / size[axis]).floor().max(0.0) as usize).min(COLUMNS - 1);
        let cells = |places: &[f64], axis: usize| {
            let (from, to) =
                places.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(*x), b.max(*x)));
            cell(from, axis).saturating_sub(1)..=(cell(to, axis) + 1).min(COLUMNS - 1)
        };
        for i in cells(&corners.map(|corner| corner.x), 0) {
            let x = place(i, 0);
            // Where the plane at x cuts the edges.
            let cuts = [(0, 1), (1, 2), (2, 0)]
                .map(|(p, q)| [corners[p], corners[q]])
                .into_iter()
                .filter_map(|[p, q]| {
                    let part = (x - p.x) / (q.x - p.x);
                    (0.0..=1.0).contains(&part).then(|| p.y + part * (q.y - p.y))
                });
            let cuts: Vec<f64> = cuts.collect();
            if cuts.is_empty() {
                continue;
            }
            for j in cells(&cuts, 1) {
                let y = place(j, 1);
                // Twice the areas that the column divides the triangle into; edges belong to one of their triangles.
                let part = |p: usize, q: usize| {
                    let [p, q] = [corners[p], corners[q]];
                    let sign = if (p.x, p.y) < (q.x, q.y) { 1.0 } else { -1.0 };
                    let [p, q] = if sign > 0.0 { [p, q] } else { [q, p] };
                    sign * ((p.x - x) * (q.y - y) - (p.y - y) * (q.x - x))
                };
                let parts = [part(1, 2), part(2, 0), part(0, 1)];
                let up = parts.iter().all(|&part| part > 0.0);
                if up || parts.iter().all(|&part| part < 0.0) {
                    let z = (0..3).map(|k| parts[k] * corners[k].z).sum::<f64>() / parts.iter().sum::<f64>();
                    crossings[COLUMNS * i + j].push((z, if up { 1 } else { -1 }));
                }
            }
        }
    }
    let (mut volume, mut more, mut less) = (0.0, 0.0, 0.0);
    for column in &mut crossings {
        column.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut winding = 0;
        for pair in column.windows(2) {
            // From below one comes into a body through a triangle that faces down.
            winding -= pair[0].1;
            let length = pair[1].0 - pair[0].0;
            volume += f64::from(winding) * length;
            more += f64::from((winding - 1).max(0)) * length;
            less += f64::from((-winding).max(0)) * length;
        }
    }
    if volume > 0.0 { [more / volume, less / volume] } else { [0.0; 2] }
}
