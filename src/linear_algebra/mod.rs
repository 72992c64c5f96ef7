//! Systems of linear equations in blocks: they know bodies and steps by the sizes of blocks alone.

mod block_factor;

pub(crate) use block_factor::{BlockFactor, Factors, MinimalResidual, Values};
