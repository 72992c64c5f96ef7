//! Small dense matrices in slices, column after column: what a block factorization does with its
//! blocks.
//!
//! A free body has 6 velocities, a body on one joint 1: blocks of these heights have loops of fixed
//! length, which stay in registers.

use wide::f64x2;

/// Velocities of a free body, and numbers in a block of two free bodies.
pub(super) const FREE_BODY: usize = 6;
pub(super) const BLOCK: usize = FREE_BODY * FREE_BODY;
/// The velocities of a free body, and a block of two free bodies.
pub(super) type Vector = [f64; FREE_BODY];
pub(super) type Block = [f64; BLOCK];

/// Matrix `c` −= `a` `b`, where `a` is `rows`×`inner` and `b` has as many columns as `c`.
#[inline]
pub(super) fn subtract_product(c: &mut [f64], (a, rows, inner): (&[f64], usize, usize), b: &[f64]) {
    match (rows, inner) {
        (6, 6) => product_of_fixed::<6, 6>(c, a, b),
        (1, 6) => product_of_fixed::<1, 6>(c, a, b),
        (6, 1) => product_of_fixed::<6, 1>(c, a, b),
        (1, 1) => product_of_fixed::<1, 1>(c, a, b),
        (0, _) | (_, 0) => {}
        _ => {
            for (c, b) in c.chunks_exact_mut(rows).zip(b.chunks_exact(inner)) {
                for (a, &b) in a.chunks_exact(rows).zip(b) {
                    subtract_multiple(c, a, b);
                }
            }
        }
    }
}

/// Matrix `c` −= `a` `b`ᵀ, where `a` has `rows` rows and `b` has `columns`.
#[inline]
pub(super) fn subtract_product_with_transpose(
    c: &mut [f64],
    (a, rows): (&[f64], usize),
    (b, columns): (&[f64], usize),
) {
    if rows > 0 && columns > 0 {
        for (column, c) in c.chunks_exact_mut(rows).enumerate() {
            for (a, b) in a.chunks_exact(rows).zip(b.chunks_exact(columns)) {
                subtract_multiple(c, a, b[column]);
            }
        }
    }
}

/// `c` −= `a` `b`, or `a` `b`ᵀ, for the blocks of free bodies.
#[inline(always)]
pub(super) fn product_of_free_bodies<const TRANSPOSE: bool>(c: &mut Block, a: &Block, b: &Block) {
    let a = a.as_chunks().0;
    let (first, second) = c.split_at_mut(18);
    three_columns_of_product::<TRANSPOSE>(first, a, b, 0);
    three_columns_of_product::<TRANSPOSE>(second, a, b, 3);
}

/// Where the entry in this row and column of b, or of the matrix of which b is the transpose, is.
#[inline(always)]
pub(super) fn entry<const TRANSPOSE: bool>(row: usize, column: usize) -> usize {
    if TRANSPOSE { column + 6 * row } else { 6 * column + row }
}

/// Three columns at once, and two rows in a register: as much as fits into the 16 registers that
/// every x86-64 has.
#[inline(always)]
fn three_columns_of_product<const TRANSPOSE: bool>(c: &mut [f64], a: &[[f64; 2]], b: &Block, first: usize) {
    let a = &a[..18];
    let c = &mut c.as_chunks_mut::<2>().0[..9];
    let mut sum: [f64x2; 9] = std::array::from_fn(|i| f64x2::new(c[i]));
    for k in 0..6 {
        let a: [f64x2; 3] = std::array::from_fn(|i| f64x2::new(a[3 * k + i]));
        for column in 0..3 {
            let factor = f64x2::splat(b[entry::<TRANSPOSE>(k, first + column)]);
            for i in 0..3 {
                sum[3 * column + i] -= a[i] * factor;
            }
        }
    }
    for (c, sum) in c.iter_mut().zip(sum) {
        *c = sum.to_array();
    }
}

#[inline(always)]
fn product_of_fixed<const ROWS: usize, const INNER: usize>(c: &mut [f64], a: &[f64], b: &[f64]) {
    let a = &a.as_chunks::<ROWS>().0[..INNER];
    for (c, b) in c.as_chunks_mut::<ROWS>().0.iter_mut().zip(b.as_chunks::<INNER>().0) {
        let mut column = *c;
        for k in 0..INNER {
            for i in 0..ROWS {
                column[i] -= a[k][i] * b[k];
            }
        }
        *c = column;
    }
}

/// Vector `c` −= `a`ᵀ `b`, where `a` has `rows` rows.
#[inline]
pub(super) fn subtract_transposed_product(c: &mut [f64], (a, rows): (&[f64], usize), b: &[f64]) {
    let product = |c: &mut [f64], rows: usize| {
        let b = &b[..rows];
        for (c, a) in c.iter_mut().zip(a.chunks_exact(rows)) {
            let mut sum = 0.0;
            for i in 0..rows {
                sum += a[i] * b[i];
            }
            *c -= sum;
        }
    };
    match rows {
        0 => {}
        1 => product(c, 1),
        6 => product(c, 6),
        _ => product(c, rows),
    }
}

/// `c` −= `a` `b` for a number `b`.
#[inline(always)]
fn subtract_multiple(c: &mut [f64], a: &[f64], b: f64) {
    for (c, a) in c.iter_mut().zip(a) {
        *c -= a * b;
    }
}

/// The products of the entries of 6×6 matrices with those of vectors, summed: what is left to do for
/// a sum of transposed products is to sum each column.
pub(super) type ColumnSum = Block;

/// Adds the products of `a`ᵀ with a vector `b`.
#[inline(always)]
pub(super) fn add_to_columns(sum: &mut ColumnSum, a: &Block, b: &Vector) {
    for k in 0..6 {
        for i in 0..6 {
            sum[6 * k + i] += a[6 * k + i] * b[i];
        }
    }
}

/// Vector `c` −= what has been added.
#[inline(always)]
pub(super) fn subtract_columns(c: &mut Vector, sum: &ColumnSum) {
    for (c, s) in c.iter_mut().zip(sum.as_chunks::<6>().0) {
        *c -= ((s[0] + s[1]) + (s[2] + s[3])) + (s[4] + s[5]);
    }
}

/// Factors the square matrix `d` in place: P d = l u, with l below the diagonal (its own diagonal
/// is 1), u above it, and the reciprocals of u's diagonal on it. P exchanges row k with row
/// `exchanges[k]`, for one k after the other.
///
/// With `PIVOTING` rows are exchanged so that the pivot is the largest of its column. Without,
/// none are, and pivots have to be positive: they are, if d is symmetric positive definite.
///
/// False if a pivot vanishes (or is not positive), or is not finite.
#[inline]
pub(super) fn factor<const PIVOTING: bool>(d: &mut [f64], exchanges: &mut [usize]) -> bool {
    match exchanges.len() {
        1 => factor_of_size::<PIVOTING>(d, exchanges, 1),
        6 => factor_of_size::<PIVOTING>(d, exchanges, 6),
        n => factor_of_size::<PIVOTING>(d, exchanges, n),
    }
}

#[inline(always)]
fn factor_of_size<const PIVOTING: bool>(d: &mut [f64], exchanges: &mut [usize], n: usize) -> bool {
    let (d, exchanges) = (&mut d[..n * n], &mut exchanges[..n]);
    for k in 0..n {
        exchanges[k] = k;
        if PIVOTING {
            let mut largest = d[k * n + k].abs();
            for i in k + 1..n {
                if d[k * n + i].abs() > largest {
                    largest = d[k * n + i].abs();
                    exchanges[k] = i;
                }
            }
            if exchanges[k] != k {
                for j in 0..n {
                    d.swap(j * n + k, j * n + exchanges[k]);
                }
            }
        } else if d[k * n + k] < 0.0 {
            return false;
        }
        let reciprocal = d[k * n + k].recip();
        if !reciprocal.is_finite() || reciprocal == 0.0 {
            return false;
        }
        d[k * n + k] = reciprocal;
        for i in k + 1..n {
            d[k * n + i] *= reciprocal;
        }
        let (left, right) = d.split_at_mut((k + 1) * n);
        let multipliers = &left[k * n..];
        for j in 0..n - k - 1 {
            let column = &mut right[j * n..][..n];
            let pivot_row = column[k];
            for i in k + 1..n {
                column[i] -= multipliers[i] * pivot_row;
            }
        }
    }
    true
}

/// x ← x d⁻¹ for the `rows`×n matrix `x`, with d as left by [`factor`].
#[inline]
pub(super) fn divide_right(x: &mut [f64], rows: usize, d: &[f64], exchanges: &[usize]) {
    match (rows, exchanges.len()) {
        (0, _) => {}
        (6, 6) => divide_right_of_size(x, 6, d, exchanges, 6),
        (rows, n) => divide_right_of_size(x, rows, d, exchanges, n),
    }
}

#[inline(always)]
fn divide_right_of_size(x: &mut [f64], rows: usize, d: &[f64], exchanges: &[usize], n: usize) {
    let (x, d, exchanges) = (&mut x[..rows * n], &d[..n * n], &exchanges[..n]);
    for c in 0..n {
        let (left, right) = x.split_at_mut(c * rows);
        let column = &mut right[..rows];
        for k in 0..c {
            subtract_multiple(column, &left[k * rows..][..rows], d[c * n + k]);
        }
        for value in column {
            *value *= d[c * n + c];
        }
    }
    for c in (0..n).rev() {
        let (left, right) = x.split_at_mut((c + 1) * rows);
        let column = &mut left[c * rows..];
        for k in c + 1..n {
            subtract_multiple(column, &right[(k - c - 1) * rows..][..rows], d[c * n + k]);
        }
    }
    for c in (0..n).rev() {
        if exchanges[c] != c {
            for row in 0..rows {
                x.swap(c * rows + row, exchanges[c] * rows + row);
            }
        }
    }
}

/// x ← d⁻¹ x for a vector, with d as left by [`factor`].
#[inline]
pub(super) fn divide(x: &mut [f64], d: &[f64], exchanges: &[usize]) {
    match exchanges.len() {
        1 => x[0] *= d[0],
        6 => divide_of_size(x, d, exchanges, 6),
        n => divide_of_size(x, d, exchanges, n),
    }
}

#[inline(always)]
fn divide_of_size(x: &mut [f64], d: &[f64], exchanges: &[usize], n: usize) {
    let (x, d, exchanges) = (&mut x[..n], &d[..n * n], &exchanges[..n]);
    for k in 0..n {
        x.swap(k, exchanges[k]);
    }
    for k in 0..n {
        for i in k + 1..n {
            x[i] -= d[k * n + i] * x[k];
        }
    }
    for k in (0..n).rev() {
        x[k] *= d[k * n + k];
        for i in 0..k {
            x[i] -= d[k * n + i] * x[k];
        }
    }
}

/// x ← d⁻ᵀ x for a vector, with d as left by [`factor`].
#[inline]
pub(super) fn divide_transposed(x: &mut [f64], d: &[f64], exchanges: &[usize]) {
    match exchanges.len() {
        1 => x[0] *= d[0],
        6 => divide_transposed_of_size(x, d, exchanges, 6),
        n => divide_transposed_of_size(x, d, exchanges, n),
    }
}

#[inline(always)]
fn divide_transposed_of_size(x: &mut [f64], d: &[f64], exchanges: &[usize], n: usize) {
    let (x, d, exchanges) = (&mut x[..n], &d[..n * n], &exchanges[..n]);
    for k in 0..n {
        for i in 0..k {
            x[k] -= d[k * n + i] * x[i];
        }
        x[k] *= d[k * n + k];
    }
    for k in (0..n).rev() {
        for i in k + 1..n {
            x[k] -= d[k * n + i] * x[i];
        }
    }
    for k in (0..n).rev() {
        x.swap(k, exchanges[k]);
    }
}
