//! Quadrature rules on the triangle.

/// A point of a quadrature rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrianglePoint {
    /// Its barycentric coordinates; their sum is 1.
    pub barycentric: [f64; 3],
    /// Its weight; the weights of a rule are positive and their sum is 1, so that the integral is
    /// the area times the weighted sum of the values.
    pub weight: f64,
}

const fn point(barycentric: [f64; 3], weight: f64) -> TrianglePoint {
    TrianglePoint { barycentric, weight }
}

/// The three points with one coordinate `a` and two coordinates `b`.
const fn orbit(a: f64, b: f64, weight: f64) -> [TrianglePoint; 3] {
    [point([a, b, b], weight), point([b, a, b], weight), point([b, b, a], weight)]
}

/// Most points of a rule.
pub(crate) const LARGEST_TRIANGLE_RULE: usize = 7;

const CENTROID: f64 = 1.0 / 3.0;

static DEGREE_1: [TrianglePoint; 1] = [point([CENTROID; 3], 1.0)];

static DEGREE_2: [TrianglePoint; 3] = orbit(2.0 / 3.0, 1.0 / 6.0, CENTROID);

/// Strang and Fix 1973; Dunavant 1985, Table II, degree 4.
static DEGREE_4: [TrianglePoint; 6] = {
    let [a, b, c] = orbit(0.1081030181680702, 0.4459484909159649, 0.22338158967801147);
    let [d, e, f] = orbit(0.8168475729804585, 0.09157621350977074, 0.10995174365532187);
    [a, b, c, d, e, f]
};

/// Radon 1948; Dunavant 1985, Table II, degree 5. The coordinates are (6 ± √15)/21 and the weights
/// (155 ± √15)/1200.
static DEGREE_5: [TrianglePoint; LARGEST_TRIANGLE_RULE] = {
    let [a, b, c] = orbit(0.05971587178976982, 0.4701420641051151, 0.1323941527885062);
    let [d, e, f] = orbit(0.7974269853530873, 0.10128650732345634, 0.12593918054482714);
    [point([CENTROID; 3], 0.225), a, b, c, d, e, f]
};

/// A rule that is exact for polynomials of up to a degree on the triangle, with points inside and
/// positive weights; `None` above degree 5.
///
/// It has 1 point for degrees 0 and 1, 3 for 2, 6 for 3 and 4, and 7 for 5.
pub(crate) fn triangle_rule(degree: u8) -> Option<&'static [TrianglePoint]> {
    match degree {
        0 | 1 => Some(&DEGREE_1),
        2 => Some(&DEGREE_2),
        3 | 4 => Some(&DEGREE_4),
        5 => Some(&DEGREE_5),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest error of a rule over the monomials λ₀ⁱ λ₁ʲ λ₂ᵏ of one degree. Their mean over the
    /// triangle is 2 i! j! k! / (i + j + k + 2)!.
    fn worst_error(rule: &[TrianglePoint], degree: i32) -> f64 {
        let factorial = |n: i32| (1..=n).map(f64::from).product::<f64>();
        let mut worst = 0.0f64;
        for i in 0..=degree {
            for j in 0..=degree - i {
                let k = degree - i - j;
                let exact = 2.0 * factorial(i) * factorial(j) * factorial(k) / factorial(degree + 2);
                let sum: f64 = rule
                    .iter()
                    .map(|p| {
                        let [a, b, c] = p.barycentric;
                        p.weight * a.powi(i) * b.powi(j) * c.powi(k)
                    })
                    .sum();
                worst = worst.max((sum - exact).abs());
            }
        }
        worst
    }

    #[test]
    fn rules_are_exact_up_to_their_degree_and_not_above() {
        for (asked, exact_to, points) in [(0, 1, 1), (1, 1, 1), (2, 2, 3), (3, 4, 6), (4, 4, 6), (5, 5, 7)] {
            let rule = triangle_rule(asked).unwrap();
            assert_eq!(rule.len(), points);
            for degree in 0..=exact_to {
                let error = worst_error(rule, degree);
                assert!(error < 1e-15, "rule {asked}, degree {degree}: {error}");
            }
            let error = worst_error(rule, exact_to + 1);
            assert!(error > 1e-5, "rule {asked}: {error}");
            for p in rule {
                assert!(p.weight > 0.0 && p.barycentric.iter().all(|&x| x > 0.0));
                assert!((p.barycentric.iter().sum::<f64>() - 1.0).abs() < 1e-15);
            }
        }
        assert!(triangle_rule(6).is_none());
    }
}
