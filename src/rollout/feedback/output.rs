//! Where the one command of a law goes.

use crate::scalar::Scalar;

/// The control values that a law with one command adds to, each with the ratio of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    controls: Vec<usize>,
    ratios: Vec<f64>,
}

impl Output {
    /// To control values, each by its index in the row of a step, with the factor of the command there.
    pub fn new(controls: impl IntoIterator<Item = (usize, f64)>) -> Self {
        let (controls, ratios) = controls.into_iter().unzip();
        Self { controls, ratios }
    }

    /// The indices of the control values.
    pub fn controls(&self) -> &[usize] {
        &self.controls
    }

    pub(super) fn add<T: Scalar>(&self, command: T, commands: &mut [T]) {
        commands.iter_mut().zip(&self.ratios).for_each(|(out, &ratio)| *out += command * ratio);
    }
}
