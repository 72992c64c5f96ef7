//! An elimination order for sparse factorizations on a mesh.

use nalgebra::Vector3;

/// Below this many vertices a part is not divided further.
const PART_SIZE: usize = 24;

/// The order in which to eliminate vertices so that a sparse factorization fills in little.
///
/// Nested dissection by position (George 1973): the vertices are halved along the longest axis of
/// their box, those of one half that touch the other come last, both halves are ordered in the same
/// way. On a tetrahedral mesh of n vertices the factor then has about n^(4/3) entries rather than
/// n^(5/3).
///
/// `neighbours[v]` are the vertices that share a matrix entry with vertex v, symmetric.
pub(crate) fn dissection_order(positions: &[Vector3<f64>], neighbours: &[Vec<u32>]) -> Vec<u32> {
    let mut order = Vec::with_capacity(positions.len());
    let mut in_second_half = vec![false; positions.len()];
    // Parts yet to be ordered, last first; a separator is emitted as it is.
    let mut pending = vec![((0..positions.len() as u32).collect::<Vec<u32>>(), true)];
    while let Some((mut part, divisible)) = pending.pop() {
        if !divisible || part.len() <= PART_SIZE {
            order.append(&mut part);
            continue;
        }
        let position = |v: &u32| positions[*v as usize];
        let low = part.iter().map(position).reduce(|a, b| a.inf(&b));
        let high = part.iter().map(position).reduce(|a, b| a.sup(&b));
        let axis = high.zip(low).map_or(0, |(high, low)| (high - low).imax());
        let half = part.len() / 2;
        part.select_nth_unstable_by(half, |a, b| {
            (position(a)[axis].total_cmp(&position(b)[axis])).then(a.cmp(b))
        });
        let second = part.split_off(half);
        for &v in &second {
            in_second_half[v as usize] = true;
        }
        let (separator, first): (Vec<u32>, Vec<u32>) = part
            .into_iter()
            .partition(|&v| neighbours[v as usize].iter().any(|&w| in_second_half[w as usize]));
        for &v in &second {
            in_second_half[v as usize] = false;
        }
        pending.push((separator, false));
        pending.push((second, true));
        pending.push((first, true));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vertex_comes_once_and_separators_separate() {
        // A path: eliminating its dissection order fills in nothing but along separators.
        let n = 200;
        let positions: Vec<_> = (0..n).map(|i| Vector3::new(f64::from(i), 0.0, 0.0)).collect();
        let neighbours: Vec<Vec<u32>> = (0..n as u32)
            .map(|i| [i.wrapping_sub(1), i + 1].into_iter().filter(|&j| j < n as u32).collect())
            .collect();
        let order = dissection_order(&positions, &neighbours);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..n as u32).collect::<Vec<_>>());
        // The last one eliminated is the middle: nothing before it joins the two halves.
        let last = order[order.len() - 1];
        assert_eq!(last, n as u32 / 2 - 1);
        let first_half = order.iter().take_while(|&&v| v < last).count();
        assert!(order[first_half..n as usize - 1].iter().all(|&v| v > last));
    }
}
