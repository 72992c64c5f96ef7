//! Registers of four numbers, where the processor has them.

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
pub(crate) use pulp::x86::V3 as Registers;

/// The leave to use registers of four: on this kind of processor there is none.
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
#[derive(Clone, Copy, Debug)]
pub(crate) enum Registers {}

/// What can be done in registers of four numbers.
pub(crate) trait InRegisters {
    /// Its result.
    type Output;
    /// Does it.
    fn run(self, registers: Registers) -> Self::Output;
}

/// Runs the task in registers of four numbers if the processor has them; otherwise returns the task.
#[inline(always)]
pub(crate) fn in_registers<T: InRegisters>(task: T) -> Result<T::Output, T> {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    if let Some(registers) = Registers::try_new() {
        return Ok(pulp::Simd::vectorize(registers, x86::Task(registers, task)));
    }
    Err(task)
}

/// Computes with instructions for registers of four, where the processor has them: the same
/// operations, as many at once as the compiler finds.
#[inline(always)]
pub(crate) fn with_registers<R>(compute: impl FnOnce() -> R) -> R {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    if let Some(registers) = Registers::try_new() {
        return pulp::Simd::vectorize(registers, compute);
    }
    compute()
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod x86 {
    use super::{InRegisters, Registers};

    /// A task and what it takes. Unlike a closure it is sure to be compiled for the registers.
    pub(super) struct Task<T>(pub Registers, pub T);

    impl<T: InRegisters> pulp::NullaryFnOnce for Task<T> {
        type Output = T::Output;

        #[inline(always)]
        fn call(self) -> T::Output {
            self.1.run(self.0)
        }
    }
}
