//! The isobar command.
fn main() {}
