//! What an optimization may vary: values of commands at knots, parameters of controllers, numbers of models and of
//! initial states, and the end of the motions.

mod control_range;
mod design;
mod free_end;
mod shared;

pub use control_range::ControlRange;
pub use design::{Design, DesignVariable};
pub use free_end::FreeEnd;
pub(super) use free_end::{Ending, LossToEnd};
pub use shared::{KnotVariables, SharedVariables, TunedParameter};
