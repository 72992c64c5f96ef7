//! Products of 6×6 matrices, four numbers at a time where the processor has registers for that.
//!
//! Every number is the same sum in the same order on any processor, and products are rounded
//! before they are subtracted: the same bits.

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod x86 {
    use pulp::x86::V3;
    use pulp::{NullaryFnOnce, Simd, f64x4};

    /// Registers of four numbers.
    type Wide = V3;

    /// Them, where the processor has them.
    pub(in super::super) fn wide() -> Option<Wide> {
        V3::try_new()
    }

    /// `c` −= `a` `b`, all of them 6×6 and column after column.
    #[inline(always)]
    pub(in super::super) fn subtract_product(simd: Wide, c: &mut [f64], a: &[f64], b: &[f64]) {
        simd.vectorize(Product { simd, c, a, b });
    }

    struct Product<'a> {
        simd: V3,
        c: &'a mut [f64],
        a: &'a [f64],
        b: &'a [f64],
    }

    impl NullaryFnOnce for Product<'_> {
        type Output = ();

        #[inline(always)]
        fn call(self) {
            let Self { simd, c, a, b } = self;
            let four = |x: &[f64]| f64x4(x[0], x[1], x[2], x[3]);
            let (c, a, b) = (&mut c[..36], &a[..36], &b[..36]);
            // Two columns of c in three registers.
            let mut sum: [f64x4; 9] = std::array::from_fn(|i| four(&c[4 * i..4 * i + 4]));
            for k in 0..6 {
                let column = &a[6 * k..6 * k + 6];
                let (upper, lower) = (four(&column[..4]), four(&column[2..]));
                let both = f64x4(column[4], column[5], column[0], column[1]);
                for pair in 0..3 {
                    let (left, right) = (b[12 * pair + k], b[12 * pair + 6 + k]);
                    let factors =
                        [simd.splat_f64s(left), f64x4(left, left, right, right), simd.splat_f64s(right)];
                    for (i, a) in [upper, both, lower].into_iter().enumerate() {
                        let sum = &mut sum[3 * pair + i];
                        *sum = simd.sub_f64s(*sum, simd.mul_f64s(a, factors[i]));
                    }
                }
            }
            for (c, sum) in c.chunks_exact_mut(4).zip(sum) {
                c.copy_from_slice(&[sum.0, sum.1, sum.2, sum.3]);
            }
        }
    }
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
pub(super) use x86::{subtract_product, wide};

/// Registers of four numbers: none.
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
#[derive(Clone, Copy)]
pub(super) enum Wide {}

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
pub(super) fn wide() -> Option<Wide> {
    None
}

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
pub(super) fn subtract_product(wide: Wide, _: &mut [f64], _: &[f64], _: &[f64]) {
    match wide {}
}

#[cfg(test)]
mod tests {
    use super::super::dense;
    use super::*;

    #[test]
    fn wide_registers_give_the_same_bits() {
        let Some(wide) = wide() else {
            println!("skipped: the processor has no registers of four numbers");
            return;
        };
        let matrix = |seed: f64| -> [f64; 36] { std::array::from_fn(|i| (seed * (i as f64 + 0.3)).sin()) };
        for seed in 1..50 {
            let seed = f64::from(seed);
            let (a, b) = (matrix(0.7 * seed), matrix(1.3 * seed));
            let mut c = matrix(2.1 * seed);
            let mut narrow = c;
            subtract_product(wide, &mut c, &a, &b);
            dense::subtract_product(&mut narrow, (&a, 6, 6), &b);
            assert_eq!(c.map(f64::to_bits), narrow.map(f64::to_bits));
        }
    }
}
