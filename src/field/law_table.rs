//! Pressure laws by points: a monotone curve through them.

use super::error::FieldError;
use crate::scalar::Scalar;

/// A strictly increasing curve with a continuous slope through points (ε, f), from (0, 0) on.
///
/// Between two points the curve is a cubic polynomial. The slope at a point is the weighted harmonic mean of the slopes
/// of the chords on both sides, which keeps the curve from overshooting however steep one of them is (F. N. Fritsch,
/// J. Butland, *A method for constructing local monotone piecewise cubic interpolants*, 1984, eq. 5; the condition for
/// monotony is F. N. Fritsch and R. E. Carlson's, 1980). At both ends it is the slope of the chord there, with which
/// the curve continues beyond them as a straight line.
#[derive(Clone, Debug, PartialEq)]
pub struct LawTable {
    /// Extent and value of each point.
    points: Vec<[f64; 2]>,
    /// The slope at each point.
    slopes: Vec<f64>,
}

impl LawTable {
    /// The curve through these points, each an extent and the value there.
    ///
    /// # Errors
    /// When there are fewer than two, the first is not (0, 0), the extent of the last is below 1, or a point is not
    /// finite, not greater than the one before in both numbers, or so close to it that the slope overflows.
    pub fn new(points: Vec<[f64; 2]>) -> Result<Self, FieldError> {
        let (Some(&first), Some(&last), 2..) = (points.first(), points.last(), points.len()) else {
            return Err(FieldError::LawPointCount { points: points.len() });
        };
        if first != [0.0; 2] {
            return Err(FieldError::LawFirstPoint { found: first });
        }
        let chords: Vec<f64> = points.windows(2).map(|p| (p[1][1] - p[0][1]) / (p[1][0] - p[0][0])).collect();
        for (i, pair) in points.windows(2).enumerate() {
            // Written so that NaN is caught too.
            let increases = (0..2).all(|k| pair[1][k].is_finite() && pair[1][k] > pair[0][k]);
            if !(increases && chords[i].is_finite() && chords[i] > 0.0) {
                return Err(FieldError::LawPoint { point: i + 1, found: pair[1], before: pair[0] });
            }
        }
        if last[0] < 1.0 {
            return Err(FieldError::LawLastPoint { found: last });
        }
        let slopes = slopes(&points, &chords);
        match slopes.iter().position(|slope| !slope.is_finite()) {
            None => Ok(Self { points, slopes }),
            Some(i) => {
                let point = i.max(1);
                Err(FieldError::LawPoint { point, found: points[point], before: points[point - 1] })
            }
        }
    }

    /// The points, each an extent and the value there.
    pub fn points(&self) -> &[[f64; 2]] {
        &self.points
    }

    /// The index of the polynomial at an extent, or on which side of all of them it lies.
    fn segment(&self, extent: f64) -> Segment {
        let after = self.points.partition_point(|point| point[0] <= extent);
        match after {
            0 => Segment::Beyond(0),
            _ if after == self.points.len() => Segment::Beyond(after - 1),
            _ => Segment::Between(after - 1),
        }
    }

    /// Where a cubic begins, its length, and its coefficients from the first power on.
    fn cubic(&self, i: usize) -> ([f64; 2], f64, [f64; 3]) {
        let ([from, to], [a, b]) =
            ([self.points[i], self.points[i + 1]], [self.slopes[i], self.slopes[i + 1]]);
        let length = to[0] - from[0];
        let chord = (to[1] - from[1]) / length;
        (from, length, [a, 3.0 * chord - 2.0 * a - b, a + b - 2.0 * chord])
    }

    pub(super) fn value<T: Scalar>(&self, extent: T) -> T {
        match self.segment(extent.real()) {
            Segment::Beyond(i) => (extent - self.points[i][0]) * self.slopes[i] + self.points[i][1],
            Segment::Between(i) => {
                let (from, length, [a, b, c]) = self.cubic(i);
                let past = extent - from[0];
                let part = past / length;
                past * ((part * c + b) * part + a) + from[1]
            }
        }
    }

    pub(super) fn slope(&self, extent: f64) -> f64 {
        match self.segment(extent) {
            Segment::Beyond(i) => self.slopes[i],
            Segment::Between(i) => {
                let (from, length, [a, b, c]) = self.cubic(i);
                let part = (extent - from[0]) / length;
                (3.0 * part * c + 2.0 * b) * part + a
            }
        }
    }
}

/// Where an extent lies among the points.
enum Segment {
    /// Before or after all of them: the nearest one.
    Beyond(usize),
    /// Between this one and the next.
    Between(usize),
}

/// The slope of the curve at each point, from the points and the slopes of the chords between them.
fn slopes(points: &[[f64; 2]], chords: &[f64]) -> Vec<f64> {
    let inner = chords.windows(2).zip(points.windows(3)).map(|(chord, point)| {
        let lengths = [point[1][0] - point[0][0], point[2][0] - point[1][0]];
        // Between 1/3 and 2/3: the longer side's chord counts less, as it says less of the slope here.
        let weight = (2.0 * lengths[1] + lengths[0]) / (3.0 * (lengths[0] + lengths[1]));
        1.0 / (weight / chord[0] + (1.0 - weight) / chord[1])
    });
    let mut slopes: Vec<f64> = std::iter::once(chords[0]).chain(inner).collect();
    slopes.push(chords[chords.len() - 1]);
    slopes
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_dual::Dual64;
    use proptest::prelude::*;

    /// A strictly increasing table that reaches an extent of 1, with chords of very different slopes.
    fn any_table() -> impl Strategy<Value = LawTable> {
        proptest::collection::vec((-3.0..0.0f64, -4.0..2.0f64), 1..8).prop_map(|steps| {
            let total: f64 = steps.iter().map(|s| 10f64.powf(s.0)).sum();
            let mut points = vec![[0.0; 2]];
            for (length, height) in steps {
                let [x, y] = points[points.len() - 1];
                // A little more than 1, so that rounding does not leave the last one below.
                points.push([x + 10f64.powf(length) / total * 1.000_001, y + 10f64.powf(height)]);
            }
            LawTable::new(points).expect("strictly increasing")
        })
    }

    /// The slope of the steepest chord.
    fn steepest(table: &LawTable) -> f64 {
        let chord = |p: &[[f64; 2]]| (p[1][1] - p[0][1]) / (p[1][0] - p[0][0]);
        table.points.windows(2).map(chord).fold(0.0, f64::max)
    }

    proptest! {
        #[test]
        fn it_passes_through_its_points_and_never_falls(table in any_table()) {
            for &[extent, value] in table.points() {
                prop_assert!((table.value(extent) - value).abs() <= 1e-14 * value);
            }
            let mut before = f64::NEG_INFINITY;
            for i in -20..=1200 {
                let here = table.value(f64::from(i) * 1e-3);
                prop_assert!(here > before || (i > 1000 && here >= before), "{i}: {here} after {before}");
                prop_assert!(table.slope(f64::from(i) * 1e-3) >= 0.0);
                before = here;
            }
        }

        #[test]
        fn its_slope_is_that_of_differences_and_of_dual_numbers(table in any_table(), extent in 0.0..1.2f64) {
            let slope = table.slope(extent);
            let dual = table.value(Dual64::new(extent, 1.0));
            let steepest = steepest(&table);
            prop_assert_eq!(dual.re, table.value(extent));
            prop_assert!((dual.eps - slope).abs() <= 1e-11 * steepest);
            let h = 1e-8;
            let difference = (table.value(extent + h) - table.value(extent - h)) / (2.0 * h);
            // The slope changes by at most 18 times that of the steepest chord over the shortest piece, 10⁻³/8.
            prop_assert!((difference - slope).abs() <= 1e-2 * steepest, "{difference} {slope}");
        }

        #[test]
        fn its_slope_is_continuous(table in any_table()) {
            for (i, &[extent, _]) in table.points().iter().enumerate() {
                for side in [-1e-12, 1e-12] {
                    prop_assert!((table.slope(extent + side) - table.slopes[i]).abs() <= 1e-6 * steepest(&table));
                }
            }
        }
    }

    #[test]
    fn points_of_a_line_give_the_line() {
        let table = LawTable::new(vec![[0.0, 0.0], [0.25, 0.5], [0.5, 1.0], [1.5, 3.0]]).unwrap();
        for extent in [-1.0_f64, 0.0, 0.1, 0.25, 0.4, 0.9, 1.5, 7.0] {
            assert!((table.value(extent) - 2.0 * extent).abs() < 1e-14, "{extent}");
            assert!((table.slope(extent) - 2.0).abs() < 1e-14);
        }
        let two = LawTable::new(vec![[0.0, 0.0], [1.0, 0.5]]).unwrap();
        assert_eq!((two.value(0.5), two.slope(0.5)), (0.25, 0.5));
    }

    #[test]
    fn a_smooth_law_is_met_at_second_order_and_better() {
        let miss = |n: u32| {
            let exact = |x: f64| (3.0 * x).exp_m1();
            let points = (0..=n).map(|i| f64::from(i) / f64::from(n)).map(|x| [x, exact(x)]).collect();
            let table = LawTable::new(points).unwrap();
            (0..=1000)
                .map(|i| f64::from(i) * 1e-3)
                .map(|x| (table.value(x) - exact(x)).abs())
                .fold(0.0, f64::max)
        };
        let (coarse, fine) = (miss(8), miss(16));
        assert!(fine < 0.06 && coarse / fine > 3.5, "{coarse} {fine}");
    }

    #[test]
    fn tables_that_are_no_law_are_refused() {
        let refused = |points: &[[f64; 2]]| LawTable::new(points.to_vec()).unwrap_err();
        assert_eq!(refused(&[]), FieldError::LawPointCount { points: 0 });
        assert_eq!(refused(&[[0.0; 2]]), FieldError::LawPointCount { points: 1 });
        let found = [0.0, 0.1];
        assert_eq!(refused(&[found, [1.0, 1.0]]), FieldError::LawFirstPoint { found });
        let before = [0.5, 0.4];
        for found in [[0.5, 0.6], [0.7, 0.4], [0.7, 0.3], [f64::NAN, 1.0], [1.0, f64::INFINITY]] {
            let error = refused(&[[0.0; 2], before, found, [2.0, 2.0]]);
            let FieldError::LawPoint { point: 2, before: b, .. } = error else { panic!("{error:?}") };
            assert_eq!(b, before);
        }
        let found = [5e-324, 1.0];
        assert_eq!(
            refused(&[[0.0; 2], found, [1.0, 2.0]]),
            FieldError::LawPoint { point: 1, found, before: [0.0; 2] }
        );
        let found = [0.9, 1.0];
        assert_eq!(refused(&[[0.0; 2], found]), FieldError::LawLastPoint { found });
        let text = refused(&[[0.0; 2], [0.9, 1.0]]).to_string();
        assert!(text.contains("(0.9, 1)") && text.contains("at least 1"), "{text}");
    }
}
