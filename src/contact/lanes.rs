//! SIMD over four contacts, or four faces of a tetrahedron: uses registers of four numbers if the processor has them, and gives the same
//! bits if it does not. No product is rounded together with a sum.

use std::ops::{Add, Mul, Sub};

pub(in crate::contact) use crate::scalar::with_registers;
use crate::scalar::{InRegisters, Registers, in_registers};

/// How many are evaluated at once.
pub(in crate::contact) const LANES: usize = 4;

/// One number for each of four contacts or faces.
pub(in crate::contact) trait Lanes:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
    /// A mask: true or false for each of four contacts.
    type Mask: Copy;
    /// Four numbers, in registers like these.
    fn with(self, numbers: [f64; LANES]) -> Self;
    /// The four numbers.
    fn numbers(self) -> [f64; LANES];
    /// The same number in all four lanes (a splat).
    fn splat(self, number: f64) -> Self;
    /// 1/x.
    fn reciprocal(self) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;
    /// The mask of the lanes in which a number is less than or equal to the other's.
    fn less_equal(self, other: Self) -> Self::Mask;
    /// A bit for each lane in which a number is greater than the other's.
    fn greater(self, other: Self) -> u32;
    /// Selects these numbers where the mask is set, those of `other` elsewhere.
    fn select(self, mask: Self::Mask, other: Self) -> Self;
    /// Selects zero where the mask is set, these numbers elsewhere.
    #[inline(always)]
    fn zero_where(self, mask: Self::Mask) -> Self {
        self.splat(0.0).select(mask, self)
    }
    /// The sum of the four.
    #[inline(always)]
    fn sum(self) -> f64 {
        let [a, b, c, d] = self.numbers();
        (a + b) + (c + d)
    }
}

/// What can be done with four numbers at once.
pub(in crate::contact) trait InLanes {
    /// Its result.
    type Output;
    /// Does it with numbers like `one`.
    fn run<L: Lanes>(self, one: L) -> Self::Output;
}

/// Numbers in no special registers.
#[derive(Clone, Copy, Debug)]
pub(in crate::contact) struct Narrow([f64; LANES]);

impl Narrow {
    /// Any four numbers.
    pub const ANY: Self = Self([0.0; LANES]);
}

macro_rules! operator {
    ($lanes:ty, $trait:ident, $function:ident, |$a:ident, $b:ident| $result:expr) => {
        impl $trait for $lanes {
            type Output = Self;
            #[inline(always)]
            fn $function(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                $result
            }
        }
    };
}

operator!(Narrow, Add, add, |a, b| Self(std::array::from_fn(|i| a.0[i] + b.0[i])));
operator!(Narrow, Sub, sub, |a, b| Self(std::array::from_fn(|i| a.0[i] - b.0[i])));
operator!(Narrow, Mul, mul, |a, b| Self(std::array::from_fn(|i| a.0[i] * b.0[i])));

impl Lanes for Narrow {
    type Mask = [bool; LANES];
    #[inline(always)]
    fn with(self, numbers: [f64; LANES]) -> Self {
        Self(numbers)
    }
    #[inline(always)]
    fn numbers(self) -> [f64; LANES] {
        self.0
    }
    #[inline(always)]
    fn splat(self, number: f64) -> Self {
        Self([number; LANES])
    }
    #[inline(always)]
    fn reciprocal(self) -> Self {
        Self(self.0.map(|x| 1.0 / x))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.map(f64::sqrt))
    }
    #[inline(always)]
    fn less_equal(self, other: Self) -> Self::Mask {
        std::array::from_fn(|i| self.0[i] <= other.0[i])
    }
    #[inline(always)]
    fn greater(self, other: Self) -> u32 {
        (0..LANES).map(|i| u32::from(self.0[i] > other.0[i]) << i).sum()
    }
    #[inline(always)]
    fn select(self, mask: Self::Mask, other: Self) -> Self {
        Self(std::array::from_fn(|i| if mask[i] { self.0[i] } else { other.0[i] }))
    }
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod x86 {
    use std::ops::{Add, Mul, Sub};

    use pulp::{Simd, cast, f64x4, m64x4};

    use super::{LANES, Lanes, Registers};

    /// Numbers in a register of four.
    #[derive(Clone, Copy)]
    pub struct Wide(Registers, f64x4);

    operator!(Wide, Add, add, |a, b| Self(a.0, a.0.add_f64s(a.1, b.1)));
    operator!(Wide, Sub, sub, |a, b| Self(a.0, a.0.sub_f64s(a.1, b.1)));
    operator!(Wide, Mul, mul, |a, b| Self(a.0, a.0.mul_f64s(a.1, b.1)));

    impl Lanes for Wide {
        type Mask = m64x4;
        #[inline(always)]
        fn with(self, [a, b, c, d]: [f64; LANES]) -> Self {
            Self(self.0, f64x4(a, b, c, d))
        }
        #[inline(always)]
        fn numbers(self) -> [f64; LANES] {
            [self.1.0, self.1.1, self.1.2, self.1.3]
        }
        #[inline(always)]
        fn splat(self, number: f64) -> Self {
            Self(self.0, self.0.splat_f64s(number))
        }
        #[inline(always)]
        fn reciprocal(self) -> Self {
            Self(self.0, self.0.div_f64s(self.0.splat_f64s(1.0), self.1))
        }
        #[inline(always)]
        fn sqrt(self) -> Self {
            Self(self.0, self.0.sqrt_f64x4(self.1))
        }
        #[inline(always)]
        fn less_equal(self, other: Self) -> Self::Mask {
            self.0.cmp_le_f64x4(self.1, other.1)
        }
        #[inline(always)]
        fn greater(self, other: Self) -> u32 {
            self.0.avx._mm256_movemask_pd(cast(self.0.cmp_lt_f64x4(other.1, self.1))).cast_unsigned()
        }
        #[inline(always)]
        fn select(self, mask: Self::Mask, other: Self) -> Self {
            Self(self.0, self.0.select_f64x4(mask, self.1, other.1))
        }
    }

    /// Numbers in these registers.
    #[inline(always)]
    pub fn wide(registers: Registers) -> Wide {
        Wide(registers, f64x4(0.0, 0.0, 0.0, 0.0))
    }
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use x86::wide;

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
fn wide(registers: Registers) -> Narrow {
    match registers {}
}

/// A task in registers of four.
struct InWide<T>(T);

impl<T: InLanes> InRegisters for InWide<T> {
    type Output = T::Output;

    #[inline(always)]
    fn run(self, registers: Registers) -> T::Output {
        self.0.run(wide(registers))
    }
}

/// Does it four numbers at a time.
#[inline(always)]
pub(in crate::contact) fn in_lanes<T: InLanes>(task: T) -> T::Output {
    in_registers(InWide(task)).unwrap_or_else(|InWide(task)| task.run(Narrow::ANY))
}

/// A vector for each of four contacts.
#[derive(Clone, Copy)]
pub(in crate::contact) struct LaneVector<L>(pub [L; 3]);

impl<L: Lanes> LaneVector<L> {
    /// The same vector for all four.
    #[inline(always)]
    pub fn splat(one: L, v: &nalgebra::Vector3<f64>) -> Self {
        Self([one.splat(v.x), one.splat(v.y), one.splat(v.z)])
    }

    /// The vectors of a list with these numbers.
    #[inline(always)]
    pub fn of(one: L, list: &[nalgebra::Vector3<f64>], [a, b, c, d]: [usize; LANES]) -> Self {
        let (a, b, c, d) = (&list[a], &list[b], &list[c], &list[d]);
        Self([one.with([a.x, b.x, c.x, d.x]), one.with([a.y, b.y, c.y, d.y]), one.with([a.z, b.z, c.z, d.z])])
    }

    /// a·b.
    #[inline(always)]
    pub fn dot(self, other: Self) -> L {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        a * x + b * y + c * z
    }

    /// a × b.
    #[inline(always)]
    pub fn cross(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Self([b * z - c * y, c * x - a * z, a * y - b * x])
    }

    /// Times a number.
    #[inline(always)]
    pub fn times(self, by: L) -> Self {
        let [a, b, c] = self.0;
        Self([a * by, b * by, c * by])
    }

    /// The sum of the four.
    #[inline(always)]
    pub fn sum(self) -> nalgebra::Vector3<f64> {
        let [a, b, c] = self.0;
        nalgebra::Vector3::new(a.sum(), b.sum(), c.sum())
    }
}

impl<L: Lanes> Add for LaneVector<L> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Self([a + x, b + y, c + z])
    }
}

impl<L: Lanes> Sub for LaneVector<L> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Self([a - x, b - y, c - z])
    }
}
