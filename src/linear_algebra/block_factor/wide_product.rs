//! Products of the blocks of free bodies, four numbers at a time where the processor has registers
//! for that.
//!
//! Every number is the same sum in the same order on any processor, and products are rounded
//! before they are subtracted: the same bits.

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod x86;

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use self::x86::wide;
use super::products::{Narrow, OfProducts};
use crate::scalar::{InRegisters, Registers, in_registers};

/// A computation in registers of four.
struct InWide<C>(C);

impl<C: OfProducts> InRegisters for InWide<C> {
    type Output = C::Output;

    #[inline(always)]
    fn run(self, registers: Registers) -> C::Output {
        self.0.compute(wide(registers))
    }
}

/// Computes in registers of four, where the processor has them.
#[inline]
pub(super) fn compute<C: OfProducts>(computation: C) -> C::Output {
    in_registers(InWide(computation)).unwrap_or_else(|InWide(computation)| computation.compute(Narrow))
}

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
fn wide(registers: Registers) -> Narrow {
    match registers {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear_algebra::block_factor::dense;
    use crate::linear_algebra::block_factor::products::Products;

    fn numbers<const N: usize>(seed: f64) -> [f64; N] {
        std::array::from_fn(|i| (seed * (i as f64 + 0.3)).sin())
    }

    /// The products of one matrix, one after the other.
    struct All<'a>(&'a mut Vec<u64>, f64);

    impl OfProducts for All<'_> {
        type Output = ();

        fn compute(self, products: impl Products) {
            let Self(bits, seed) = self;
            let (a, b): ([f64; 36], [f64; 36]) = (numbers(0.7 * seed), numbers(1.3 * seed));
            let (mut c, mut x): ([f64; 36], [f64; 6]) = (numbers(2.1 * seed), numbers(0.4 * seed));
            let mut e: [f64; 36] = numbers(0.9 * seed);
            products.subtract_product::<false>(&mut c, &a, &b);
            products.subtract_product::<true>(&mut c, &b, &a);
            products.subtract_two_products::<false>([&mut c, &mut e], [&a, &b], &b);
            products.subtract_two_products::<true>([&mut c, &mut e], [&b, &a], &b);
            let v = b.as_chunks().0[0];
            products.subtract_product_with_vector(&mut x, &a, &v);
            let sum = products.add_transposed_product(products.no_sum(), &a, &v);
            let sum = products.add_transposed_product(sum, &b, &v);
            products.subtract_sum(&mut x, sum);
            let mut d = b;
            (0..6).for_each(|i| d[7 * i] += 10.0);
            let mut exchanges = [0; 6];
            assert!(dense::factor::<false>(&mut d, &mut exchanges));
            products.divide_right(&mut c, &d, &exchanges);
            bits.extend(c.iter().chain(&e).chain(&x).map(|x| x.to_bits()));
        }
    }

    #[test]
    fn wide_registers_give_the_same_bits() {
        for seed in 1..50 {
            let (mut wide, mut narrow) = (Vec::new(), Vec::new());
            if in_registers(InWide(All(&mut wide, f64::from(seed)))).is_err() {
                println!("skipped: the processor has no registers of four numbers");
                return;
            }
            All(&mut narrow, f64::from(seed)).compute(Narrow);
            assert_eq!(wide, narrow);
        }
    }
}
