//! Points in a tree of boxes, to find those farthest in a direction without a look at all.

use nalgebra::Vector3;

/// Most points of a box that is not divided.
const SMALL: usize = 16;
/// Bounds are larger by this part of the coordinates than the arithmetic gives, many times what
/// rounding takes away.
const MARGIN: f64 = 1e-14;

/// A box with points in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    middle: Vector3<f64>,
    half: Vector3<f64>,
    /// The points, by their indices in the list.
    first: usize,
    last: usize,
    /// The two halves, where it is divided: this one and the next.
    halves: Option<usize>,
}

impl Block {
    /// A number that normal·(p − start) does not exceed, as it is computed, for any point p of the box.
    pub fn bound(&self, normal: &Vector3<f64>, start: &Vector3<f64>) -> f64 {
        let size = self.middle.abs() + self.half + start.abs();
        let direction = normal.abs();
        normal.dot(&(self.middle - start)) + direction.dot(&self.half) + MARGIN * direction.dot(&size)
    }
}

/// Points, divided into boxes.
#[derive(Clone, Debug)]
pub(super) struct PointBlocks {
    /// The points by their numbers, box after box.
    order: Vec<u32>,
    /// The boxes; that of all points comes first.
    blocks: Vec<Block>,
}

impl PointBlocks {
    /// The tree of these points, of which there is one at least.
    pub fn new(points: &[Vector3<f64>]) -> Self {
        let mut order: Vec<u32> = (0..points.len() as u32).collect();
        let mut blocks = vec![block(points, &order, 0..points.len())];
        let mut next = 0;
        while let Some(&Block { first, last, half, .. }) = blocks.get(next) {
            let axis = half.imax();
            if last - first > SMALL && half[axis] > 0.0 {
                let middle = (last - first) / 2;
                let key = |i: &u32| points[*i as usize][axis];
                order[first..last].select_nth_unstable_by(middle, |i, j| key(i).total_cmp(&key(j)));
                blocks[next].halves = Some(blocks.len());
                for range in [first..first + middle, first + middle..last] {
                    let half = block(points, &order, range);
                    blocks.push(half);
                }
            }
            next += 1;
        }
        Self { order, blocks }
    }

    /// The largest measure of a point, given a bound on that of the points of each box.
    pub fn largest(&self, measure: impl Fn(u32) -> f64, bound: impl Fn(&Block) -> f64) -> f64 {
        let mut largest = f64::NEG_INFINITY;
        let mut open = vec![(f64::INFINITY, 0)];
        while let Some((most, index)) = open.pop() {
            if most < largest {
                continue;
            }
            let block = &self.blocks[index];
            match block.halves {
                Some(halves) => {
                    let mut both = [halves, halves + 1].map(|i| (bound(&self.blocks[i]), i));
                    // The better one is looked at first.
                    both.sort_by(|a, b| a.0.total_cmp(&b.0));
                    open.extend(both);
                }
                None => {
                    let own = self.order[block.first..block.last].iter();
                    largest = own.map(|&i| measure(i)).fold(largest, f64::max);
                }
            }
        }
        largest
    }

    /// The points whose measure is not below the least, given a bound on that of the points of each
    /// box.
    pub fn at_least(
        &self,
        least: f64,
        measure: impl Fn(u32) -> f64,
        bound: impl Fn(&Block) -> f64,
    ) -> Vec<u32> {
        let (mut found, mut open) = (Vec::new(), vec![0]);
        while let Some(index) = open.pop() {
            let block = &self.blocks[index];
            if bound(block) < least {
                continue;
            }
            match block.halves {
                Some(halves) => open.extend([halves, halves + 1]),
                None => {
                    let own = self.order[block.first..block.last].iter().copied();
                    found.extend(own.filter(|&i| measure(i) >= least));
                }
            }
        }
        found
    }
}

/// The box of some of the points.
fn block(points: &[Vector3<f64>], order: &[u32], range: std::ops::Range<usize>) -> Block {
    let (mut low, mut high) =
        (Vector3::from_element(f64::INFINITY), Vector3::from_element(f64::NEG_INFINITY));
    for &i in &order[range.clone()] {
        low = low.inf(&points[i as usize]);
        high = high.sup(&points[i as usize]);
    }
    // Halved first, so that large numbers do not overflow.
    let (middle, half) = (low * 0.5 + high * 0.5, high * 0.5 - low * 0.5);
    Block { middle, half, first: range.start, last: range.end, halves: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_same_points_are_found_as_by_a_look_at_all(
            points in prop::collection::vec([-1.0..1.0_f64, -1.0..1.0, -0.1..0.1], 1..300),
            normal in [-1.0..1.0_f64, -1.0..1.0, -1.0..1.0],
            start in [-1.0..1.0_f64, -1.0..1.0, -1.0..1.0],
            tolerance in 0.0..0.3,
        ) {
            let points: Vec<Vector3<f64>> = points.into_iter().map(Vector3::from).collect();
            let (normal, start) = (Vector3::from(normal), Vector3::from(start));
            let measure = |i: u32| normal.dot(&(points[i as usize] - start));
            let bound = |block: &Block| block.bound(&normal, &start);
            let blocks = PointBlocks::new(&points);
            let all = 0..points.len() as u32;
            let largest = all.clone().map(measure).fold(f64::NEG_INFINITY, f64::max);
            prop_assert_eq!(blocks.largest(measure, bound), largest);
            let expected: Vec<u32> = all.filter(|&i| measure(i) >= largest - tolerance).collect();
            let mut found = blocks.at_least(largest - tolerance, measure, bound);
            found.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }

    /// Whatever the points, few of them are measured.
    #[test]
    fn most_points_of_a_sphere_are_not_looked_at() {
        let count = 30_000;
        let point = |i: usize| {
            let z: f64 = 1.0 - (2 * i + 1) as f64 / count as f64;
            let (sine, cosine) = (2.399_963_229_728_653 * i as f64).sin_cos();
            let r = (1.0 - z * z).sqrt();
            Vector3::new(r * cosine, r * sine, z)
        };
        let points: Vec<Vector3<f64>> = (0..count).map(point).collect();
        let blocks = PointBlocks::new(&points);
        let measured = std::cell::Cell::new(0);
        for normal in points.iter().step_by(997) {
            let measure = |i: u32| {
                measured.set(measured.get() + 1);
                normal.dot(&points[i as usize])
            };
            let zero = Vector3::zeros();
            assert!((blocks.largest(measure, |block| block.bound(normal, &zero)) - 1.0).abs() < 1e-15);
        }
        let each = measured.get() / 31;
        assert!(each < count / 20, "{each} of {count} points are measured");
    }
}
