//! Linear complementarity problems: w = M z + q with w ≥ 0, z ≥ 0 and wᵀz = 0, by Lemke's algorithm.
//!
//! An artificial variable z₀ makes w = M z + q + 1 z₀ ≥ 0 at first, and complementary pivots drive it out (Lemke
//! 1965; Cottle, Pang and Stone, *The Linear Complementarity Problem*, §4.4). Ties between rows that could leave the
//! basis are broken lexicographically (§4.9), so that no basis comes twice: the path ends at a solution or on a ray.
//! Where M is copositive-plus, as positive semidefinite matrices and those of Stewart and Trinkle's friction are, a
//! ray says that no w, z ≥ 0 have w = M z + q.

use nalgebra::{DMatrix, DVector};

/// Pivots smaller than this part of the largest number of their column are taken for zero.
const SMALLEST_PIVOT: f64 = 1e-11;
/// Ratios that differ by less than this part of their size are taken for equal.
const TIE: f64 = 1e-12;

/// How unequal the covering vectors are that are tried where rounding has hidden the way.
const COVERINGS: [f64; 4] = [0.0, 0.37, 0.61, 0.83];

/// How the path of pivots ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// At a solution.
    Solved,
    /// On a ray: the problem has no solution if M is copositive-plus.
    Ray,
    /// Rounding has hidden which row had to leave: more pivots than there could be in exact numbers of this size.
    Lost,
}

/// The memory of the algorithm, and the solution that it found last.
#[derive(Debug, Default)]
pub(crate) struct Lemke {
    /// Row after row: the columns of w, of z, of z₀, and the right-hand side.
    tableau: Vec<f64>,
    /// The variable of each row: w₀ …, z₀ …, and the artificial one.
    basis: Vec<usize>,
    pivot_row: Vec<f64>,
    z: Vec<f64>,
    /// Multiplications that are left before it gives up, if they are bounded.
    left: Option<u64>,
}

impl Lemke {
    /// Allows this many multiplications from now on, in all problems together; later ones have no solution.
    pub fn allow(&mut self, multiplications: u64) {
        self.left = Some(multiplications);
    }

    /// Whether no multiplications are left.
    pub fn is_spent(&self) -> bool {
        self.left == Some(0)
    }

    /// The solution.
    pub fn z(&self) -> &[f64] {
        &self.z
    }

    /// Whether z of an index is in the basis of the solution. The principal submatrix of the basis is not singular,
    /// however many solutions there are.
    pub fn is_basic(&self, index: usize) -> bool {
        self.basis.contains(&(self.z.len() + index))
    }

    /// Solves the problem with the matrix and the vector.
    ///
    /// # Panics
    /// When the matrix is not square or of another size than the vector.
    pub fn solve(&mut self, matrix: &DMatrix<f64>, q: &[f64]) -> Outcome {
        let n = q.len();
        assert_eq!(matrix.shape(), (n, n), "a square matrix");
        self.z.clear();
        self.z.resize(n, 0.0);
        let mut outcome = Outcome::Ray;
        // A ray from one covering vector is one from all, but for rounding.
        for unequal in COVERINGS {
            outcome = self.solve_from(matrix, q, unequal);
            if outcome == Outcome::Solved || self.is_spent() {
                break;
            }
        }
        outcome
    }

    /// Solves the problem with a covering vector whose elements are between 1 and 1 + `unequal`.
    fn solve_from(&mut self, matrix: &DMatrix<f64>, q: &[f64], unequal: f64) -> Outcome {
        let n = q.len();
        let width = 2 * n + 2;
        self.basis.clear();
        self.basis.extend(0..n);
        if q.iter().all(|&q| q >= 0.0) {
            return Outcome::Solved;
        }
        self.tableau.clear();
        self.tableau.resize(n * width, 0.0);
        for (i, row) in self.tableau.chunks_exact_mut(width).enumerate() {
            row[i] = 1.0;
            for (j, entry) in row[n..2 * n].iter_mut().enumerate() {
                *entry = -matrix[(i, j)];
            }
            // Parts of the golden ratio do not come twice.
            row[2 * n] = -1.0 - unequal * (0.618_033_988_749_895 * i as f64).fract();
            row[2 * n + 1] = q[i];
        }
        let outcome = self.pivot_until_complementary(n);
        if outcome == Outcome::Solved {
            self.read_solution(matrix, q);
        }
        outcome
    }

    fn pivot_until_complementary(&mut self, n: usize) -> Outcome {
        let artificial = 2 * n;
        // The row that is most violated, the lexicographically least of equals: all rows are positive afterwards.
        let mut leaving = 0;
        for row in 1..n {
            let cover = |row: usize| -self.tableau[row * (2 * n + 2) + artificial];
            if self.compare(row, leaving, cover(row), cover(leaving), n) {
                leaving = row;
            }
        }
        let mut entering = self.exchange(leaving, artificial, n);
        // Twice as many bases as paths of this length usually see; exact arithmetic needs no limit.
        let most = 1000 + 200 * n;
        for _ in 0..most {
            if let Some(left) = &mut self.left {
                let work = (n * (2 * n + 2)) as u64;
                *left = left.saturating_sub(work);
                if *left == 0 {
                    return Outcome::Lost;
                }
            }
            let Some(leaving) = self.leaving_row(entering, n) else { return Outcome::Ray };
            let was_artificial = self.basis[leaving] == artificial;
            entering = self.exchange(leaving, entering, n);
            if was_artificial {
                return Outcome::Solved;
            }
        }
        Outcome::Lost
    }

    /// The row that leaves the basis as a variable enters: the lexicographic minimum of the ratios; the artificial
    /// variable where it is among the first equals.
    fn leaving_row(&self, entering: usize, n: usize) -> Option<usize> {
        let width = 2 * n + 2;
        let entry = |row: usize| self.tableau[row * width + entering];
        let largest = (0..n).fold(0.0, |most: f64, row| most.max(entry(row).abs()));
        let rows = (0..n).filter(|&row| entry(row) > SMALLEST_PIVOT * largest);
        let best = rows.clone().reduce(|best, row| {
            if self.compare(row, best, entry(row), entry(best), n) { row } else { best }
        })?;
        let ratio = |row: usize| self.tableau[row * width + width - 1] / entry(row);
        let least = ratio(best);
        let artificial = rows.clone().find(|&row| self.basis[row] == 2 * n);
        Some(artificial.filter(|&row| ratio(row) - least <= TIE * (1.0 + least.abs())).unwrap_or(best))
    }

    /// Whether a row divided by its pivot comes lexicographically before another: right-hand side first, then the
    /// columns of w, which hold the inverse of the basis.
    fn compare(&self, row: usize, other: usize, pivot: f64, other_pivot: f64, n: usize) -> bool {
        let width = 2 * n + 2;
        let (a, b) = (&self.tableau[row * width..][..width], &self.tableau[other * width..][..width]);
        for column in std::iter::once(width - 1).chain(0..n) {
            let (x, y) = (a[column] / pivot, b[column] / other_pivot);
            if (x - y).abs() > TIE * (x.abs() + y.abs()) {
                return x < y;
            }
        }
        false
    }

    /// Takes a variable into the basis in the place of that of a row, and returns the complement of the one that
    /// left.
    fn exchange(&mut self, row: usize, entering: usize, n: usize) -> usize {
        let width = 2 * n + 2;
        let Self { tableau, basis, pivot_row, .. } = self;
        let pivot = tableau[row * width + entering];
        pivot_row.clear();
        pivot_row.extend(tableau[row * width..][..width].iter().map(|x| x / pivot));
        for (i, other) in tableau.chunks_exact_mut(width).enumerate() {
            let factor = other[entering];
            if i == row {
                other.copy_from_slice(pivot_row);
            } else if factor != 0.0 {
                other.iter_mut().zip(&*pivot_row).for_each(|(x, p)| *x -= factor * p);
                other[entering] = 0.0;
            }
        }
        let left = std::mem::replace(&mut basis[row], entering);
        if left < n { left + n } else { left.saturating_sub(n) }
    }

    /// The values of the basis: from the problem's own numbers, so that the roundings of the pivots are gone.
    fn read_solution(&mut self, matrix: &DMatrix<f64>, q: &[f64]) {
        let n = q.len();
        let width = 2 * n + 2;
        let Self { tableau, basis, z, .. } = self;
        for (row, &variable) in basis.iter().enumerate() {
            if (n..2 * n).contains(&variable) {
                z[variable - n] = tableau[row * width + width - 1].max(0.0);
            }
        }
        let basic: Vec<usize> = (0..n).filter(|&i| basis.contains(&(n + i))).collect();
        let size = basic.len();
        if size == 0 {
            return;
        }
        let principal = DMatrix::from_fn(size, size, |i, j| matrix[(basic[i], basic[j])]);
        let right = DVector::from_fn(size, |i, _| -q[basic[i]]);
        let scale = z.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        if let Some(exact) = principal.lu().solve(&right)
            && exact.iter().zip(&basic).all(|(x, &i)| (x - z[i]).abs() <= 1e-6 * scale)
        {
            exact.iter().zip(&basic).for_each(|(x, &i)| z[i] = x.max(0.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random, between −1 and 1.
    struct Numbers(u64);

    impl Numbers {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }

        fn matrix(&mut self, rows: usize, columns: usize) -> DMatrix<f64> {
            DMatrix::from_fn(rows, columns, |_, _| self.next())
        }
    }

    fn residual(matrix: &DMatrix<f64>, q: &[f64], z: &[f64]) -> f64 {
        let w = matrix * DVector::from_column_slice(z) + DVector::from_column_slice(q);
        w.iter().zip(z).map(|(w, z)| w.min(*z).abs()).fold(0.0, f64::max)
    }

    /// Minimizes ½ zᵀMz + qᵀz over z ≥ 0 by trying every set of positive variables.
    fn by_all_sets(matrix: &DMatrix<f64>, q: &[f64]) -> Vec<f64> {
        let n = q.len();
        for set in 0..1usize << n {
            let free: Vec<usize> = (0..n).filter(|i| set >> i & 1 == 1).collect();
            let part = DMatrix::from_fn(free.len(), free.len(), |i, j| matrix[(free[i], free[j])]);
            let right = DVector::from_fn(free.len(), |i, _| -q[free[i]]);
            let values = if free.is_empty() { Some(right) } else { part.lu().solve(&right) };
            let Some(values) = values else { continue };
            let mut z = vec![0.0; n];
            free.iter().zip(values.iter()).for_each(|(&i, v)| z[i] = *v);
            let w = matrix * DVector::from_column_slice(&z) + DVector::from_column_slice(q);
            if z.iter().all(|z| *z >= -1e-12) && w.iter().all(|w| *w >= -1e-12) {
                return z;
            }
        }
        panic!("a positive definite problem has a solution");
    }

    #[test]
    fn positive_definite_problems_have_the_solution_of_the_quadratic_program() {
        let mut numbers = Numbers(1);
        let mut lemke = Lemke::default();
        for case in 0..400 {
            let n = 1 + case % 7;
            let a = numbers.matrix(n, n);
            let m = &a * a.transpose() + DMatrix::identity(n, n) * 0.05;
            let q: Vec<f64> = (0..n).map(|_| numbers.next()).collect();
            assert_eq!(lemke.solve(&m, &q), Outcome::Solved, "case {case}");
            let expected = by_all_sets(&m, &q);
            let off = lemke.z().iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-10, "case {case}: {off}");
            assert!(residual(&m, &q, lemke.z()) < 1e-12);
        }
    }

    /// A program of the reference: F, d of M = F Fᵀ + d 1, q, and the least value of ½ zᵀMz + qᵀz, if there is one.
    #[derive(serde::Deserialize)]
    struct Program {
        factor: Vec<Vec<f64>>,
        diagonal: f64,
        q: Vec<f64>,
        least: Option<f64>,
    }

    #[derive(serde::Deserialize)]
    struct Programs {
        problems: Vec<Program>,
    }

    #[test]
    fn symmetric_problems_have_the_value_of_a_quadratic_program_or_a_ray() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/quadratic_programs/clarabel.json");
        let Programs { problems } = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let mut lemke = Lemke::default();
        let (mut worst, mut rays) = (0.0, 0);
        for (case, Program { factor, diagonal, q, least }) in problems.iter().enumerate() {
            let n = q.len();
            let f = DMatrix::from_fn(n, factor[0].len(), |i, j| factor[i][j]);
            let m = &f * f.transpose() + DMatrix::identity(n, n) * *diagonal;
            let Some(least) = least else {
                assert_eq!(lemke.solve(&m, q), Outcome::Ray, "case {case}");
                rays += 1;
                continue;
            };
            assert_eq!(lemke.solve(&m, q), Outcome::Solved, "case {case}");
            assert!(residual(&m, q, lemke.z()) < 1e-10, "case {case}");
            let z = DVector::from_column_slice(lemke.z());
            let value = 0.5 * z.dot(&(&m * &z)) + z.dot(&DVector::from_column_slice(q));
            worst = f64::max(worst, (value - least).abs() / least.abs().max(1.0));
        }
        assert!(worst < 1e-10 && rays == 9, "off by {worst}; {rays} rays");
    }

    #[test]
    fn random_copositive_and_degenerate_problems_end() {
        let mut numbers = Numbers(2);
        let mut lemke = Lemke::default();
        let (mut solved, mut rays) = (0, 0);
        for case in 0..1000 {
            let n = 2 + case % 11;
            let (m, q): (DMatrix<f64>, Vec<f64>) = match case % 4 {
                // Anything.
                0 => (numbers.matrix(n, n), (0..n).map(|_| numbers.next()).collect()),
                // Strictly copositive, not symmetric.
                1 => {
                    let m = numbers.matrix(n, n).map(|x| x.abs() + 0.01);
                    (m, (0..n).map(|_| numbers.next()).collect())
                }
                // Singular and positive semidefinite, with a solution: contacts that share their load.
                2 => {
                    let a = numbers.matrix(n, 1 + n / 3);
                    let inside = DVector::from_fn(a.ncols(), |_, _| numbers.next());
                    let q = &a * inside + DVector::from_fn(n, |_, _| numbers.next().max(0.0));
                    (&a * a.transpose(), q.iter().copied().collect())
                }
                // Many ties: whole numbers of few values.
                _ => {
                    let a = numbers.matrix(n, n).map(|x| (2.0 * x).round());
                    (&a * a.transpose(), (0..n).map(|_| (1.5 * numbers.next()).round()).collect())
                }
            };
            match lemke.solve(&m, &q) {
                Outcome::Solved => {
                    solved += 1;
                    assert!(
                        residual(&m, &q, lemke.z()) < 1e-8 * (1.0 + lemke.z().iter().sum::<f64>()),
                        "{case}"
                    );
                }
                Outcome::Ray => {
                    rays += 1;
                    assert!(![1, 2].contains(&(case % 4)), "case {case} has a solution");
                }
                Outcome::Lost => panic!("case {case} ends"),
            }
        }
        assert!(solved > 600 && rays > 10, "{solved} solved, {rays} rays");
    }

    #[test]
    fn a_problem_without_a_solution_ends_on_a_ray() {
        let m = DMatrix::from_row_slice(2, 2, &[0.0, 0.0, 0.0, 1.0]);
        assert_eq!(Lemke::default().solve(&m, &[-1.0, -1.0]), Outcome::Ray);
    }

    #[test]
    fn what_is_basic_is_independent() {
        // Four legs of a table share a load that three can carry.
        let legs = [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]];
        let m =
            DMatrix::from_fn(4, 4, |i, j| 1.0 + 3.0 * (legs[i][0] * legs[j][0] + legs[i][1] * legs[j][1]));
        let mut lemke = Lemke::default();
        assert_eq!(lemke.solve(&m, &[-1.0; 4]), Outcome::Solved);
        assert!((lemke.z().iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let basic: Vec<usize> = (0..4).filter(|&i| lemke.is_basic(i)).collect();
        let part = DMatrix::from_fn(basic.len(), basic.len(), |i, j| m[(basic[i], basic[j])]);
        assert!(part.determinant().abs() > 1e-6);
    }
}
