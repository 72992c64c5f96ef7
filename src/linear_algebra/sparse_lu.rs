//! Linear systems whose matrix is mostly zeros.
//!
//! Rows are eliminated one after the other, always one that has the fewest entries left, by one of its larger entries whose column has
//! the fewest (a cheap form of Markowitz's choice): what bodies in a chain do to each other fills in little.

use nalgebra::{DMatrix, DVector};

/// A pivot is at least this part of the largest entry of its row.
const LEAST_PIVOT: f64 = 0.1;

/// Which of many numbers are in a set.
#[derive(Clone, Debug)]
struct Sets {
    words: Vec<u64>,
    width: usize,
}

impl Sets {
    fn new(count: usize) -> Self {
        let width = count.div_ceil(64);
        Self { words: vec![0; count * width], width }
    }

    fn insert(&mut self, set: usize, number: usize) {
        self.words[set * self.width + number / 64] |= 1 << (number % 64);
    }

    fn remove(&mut self, set: usize, number: usize) {
        self.words[set * self.width + number / 64] &= !(1 << (number % 64));
    }

    fn count(&self, set: usize) -> u32 {
        self.words[set * self.width..][..self.width].iter().map(|word| word.count_ones()).sum()
    }

    /// Writes the numbers of a set.
    fn list(&self, set: usize, out: &mut Vec<usize>) {
        out.clear();
        for (k, &word) in self.words[set * self.width..][..self.width].iter().enumerate() {
            let mut left = word;
            while left != 0 {
                out.push(64 * k + left.trailing_zeros() as usize);
                left &= left - 1;
            }
        }
    }
}

/// A matrix as the product of two triangular ones, with its rows and columns in another order.
pub(crate) struct SparseLu {
    /// What is left of the rows, as they are eliminated, in columns.
    matrix: DMatrix<f64>,
    /// Rows and columns of the pivots in turn, and where the entries beside each of them end, and its multipliers.
    pivots: Vec<([usize; 2], usize, usize)>,
    beside: Vec<usize>,
    multipliers: Vec<(usize, f64)>,
}

impl SparseLu {
    /// Of the transposed matrix, whose columns are its rows; `None` if a pivot is 0 or not a number.
    pub fn new(mut matrix: DMatrix<f64>) -> Option<Self> {
        let n = matrix.nrows();
        let (mut rows, mut columns) = (Sets::new(n), Sets::new(n));
        for i in 0..n {
            for j in 0..n {
                if matrix[(j, i)] != 0.0 {
                    rows.insert(i, j);
                    columns.insert(j, i);
                }
            }
        }
        let mut left: Vec<usize> = (0..n).collect();
        let mut counts: Vec<u32> = (0..n).map(|i| rows.count(i)).collect();
        let (mut pivots, mut beside, mut multipliers) = (Vec::with_capacity(n), Vec::new(), Vec::new());
        let (mut own, mut others) = (Vec::new(), Vec::new());
        while !left.is_empty() {
            let at = (0..left.len()).min_by_key(|&k| counts[left[k]])?;
            let row = left.swap_remove(at);
            rows.list(row, &mut own);
            let size = |&j: &usize| matrix[(j, row)].abs();
            let largest = own.iter().map(size).fold(0.0, f64::max);
            let large = own.iter().copied().filter(|j| size(j) >= LEAST_PIVOT * largest && size(j) > 0.0);
            let column = large.min_by_key(|&j| columns.count(j))?;
            let pivot = matrix[(column, row)];
            own.retain(|&j| j != column);
            own.iter().for_each(|&j| columns.remove(j, row));
            columns.remove(column, row);
            columns.list(column, &mut others);
            for &i in &others {
                let factor = matrix[(column, i)] / pivot;
                multipliers.push((i, factor));
                rows.remove(i, column);
                for &j in &own {
                    matrix[(j, i)] -= factor * matrix[(j, row)];
                    rows.insert(i, j);
                    columns.insert(j, i);
                }
                counts[i] = rows.count(i);
            }
            beside.extend_from_slice(&own);
            pivots.push(([row, column], beside.len(), multipliers.len()));
        }
        Some(Self { matrix, pivots, beside, multipliers })
    }

    /// The solution for a right-hand side.
    pub fn solve(&self, right: &DVector<f64>) -> DVector<f64> {
        let Self { matrix, pivots, beside, multipliers } = self;
        let mut left = right.clone();
        let mut first = 0;
        for &([row, _], _, last) in pivots {
            let known = left[row];
            multipliers[first..last].iter().for_each(|&(i, factor)| left[i] -= factor * known);
            first = last;
        }
        let mut solution = DVector::zeros(left.len());
        for (k, &([row, column], last, _)) in pivots.iter().enumerate().rev() {
            let first = k.checked_sub(1).map_or(0, |before| pivots[before].1);
            let known: f64 = beside[first..last].iter().map(|&j| matrix[(j, row)] * solution[j]).sum();
            solution[column] = (left[row] - known) / matrix[(column, row)];
        }
        solution
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Blocks that are coupled with the next one, without diagonals that could be divided by.
    fn chain(rng: &mut ChaCha8Rng, n: usize) -> DMatrix<f64> {
        let near = |i: usize, j: usize| (i / 5).abs_diff(j / 5) < 2 && i != j;
        DMatrix::from_fn(n, n, |i, j| if near(i, j) { rng.random_range(-1.0..1.0) } else { 0.0 })
    }

    #[test]
    fn solutions_are_those_of_the_dense_factorization() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for n in [1, 2, 7, 63, 64, 65, 140] {
            let mut matrix = chain(&mut rng, n);
            if n < 3 {
                matrix.fill_diagonal(2.0);
            }
            let right = DVector::from_fn(n, |_, _| rng.random_range(-1.0..1.0));
            let dense = matrix.clone().lu().solve(&right).expect("no singular matrix");
            let sparse = SparseLu::new(matrix.transpose()).expect("no singular matrix");
            let entries = sparse.beside.len() + sparse.multipliers.len();
            assert!(n < 100 || entries < n * n / 4, "{entries} entries fill in");
            let off = (sparse.solve(&right) - &dense).amax();
            assert!(off < 1e-9 * dense.amax(), "{n}: {off}");
        }
    }

    #[test]
    fn a_row_without_an_entry_has_no_solution() {
        let mut matrix = chain(&mut ChaCha8Rng::seed_from_u64(4), 20);
        matrix.row_mut(7).fill(0.0);
        assert!(SparseLu::new(matrix.transpose()).is_none());
    }
}
