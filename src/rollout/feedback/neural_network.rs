//! A small neural network as a controller.

use super::controller::{Controller, Observation};
use super::output::Output;
use crate::rollout::quantity::Quantity;
use crate::scalar::Scalar;

/// What a network sees, and in what measure.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkInput {
    /// The quantity, all of whose numbers are inputs.
    pub observed: Quantity,
    /// What is taken off each number.
    pub offset: f64,
    /// What it is then divided by; positive.
    pub scale: f64,
}

/// Two layers: u = s · (W₂ tanh(W₁ x + b₁) + b₂), with a command u for each [`Output`] and its scale s. The parameters
/// are W₁ row by row, b₁, W₂ row by row, b₂.
#[derive(Clone, Debug, PartialEq)]
pub struct NeuralNetwork {
    observed: Vec<Quantity>,
    /// Offset and inverse scale of each observed number.
    measures: Vec<(f64, f64)>,
    hidden: usize,
    outputs: Vec<(Output, f64)>,
    controls: Vec<usize>,
}

impl NeuralNetwork {
    /// A network with so many hidden units.
    pub fn new(inputs: &[NetworkInput], hidden: usize, outputs: Vec<(Output, f64)>) -> Self {
        let measure = |input: &NetworkInput| {
            std::iter::repeat_n((input.offset, 1.0 / input.scale), input.observed.dimension())
        };
        Self {
            observed: inputs.iter().map(|input| input.observed).collect(),
            measures: inputs.iter().flat_map(measure).collect(),
            hidden,
            controls: outputs.iter().flat_map(|(output, _)| output.controls()).copied().collect(),
            outputs,
        }
    }

    /// The numbers of parameters of W₁, b₁, W₂ and b₂.
    pub fn layer_sizes(&self) -> [usize; 4] {
        let (n, h, m) = (self.measures.len(), self.hidden, self.outputs.len());
        [h * n, h, m * h, m]
    }
}

impl Controller for NeuralNetwork {
    fn observed(&self) -> &[Quantity] {
        &self.observed
    }

    fn controls(&self) -> &[usize] {
        &self.controls
    }

    fn parameter_count(&self) -> usize {
        self.layer_sizes().iter().sum()
    }

    fn control<T: Scalar>(&self, at: &Observation<T>, parameters: &[T], _: &mut [T], commands: &mut [T]) {
        let [first_weights, first_offsets, second_weights, _] = self.layer_sizes();
        let (w1, rest) = parameters.split_at(first_weights);
        let (b1, rest) = rest.split_at(first_offsets);
        let (w2, b2) = rest.split_at(second_weights);
        let inputs: Vec<T> =
            at.values.iter().zip(&self.measures).map(|(&x, &(offset, by))| (x - offset) * by).collect();
        let sum = |row: &[T], x: &[T], offset: T| row.iter().zip(x).fold(offset, |sum, (&w, &x)| sum + w * x);
        let rows = (0..self.hidden).map(|i| &w1[i * inputs.len()..][..inputs.len()]);
        let hidden: Vec<T> = rows.zip(b1).map(|(row, &offset)| sum(row, &inputs, offset).tanh()).collect();
        let mut first = 0;
        for (k, (output, scale)) in self.outputs.iter().enumerate() {
            let row = &w2[k * self.hidden..][..self.hidden];
            let count = output.controls().len();
            output.add(sum(row, &hidden, b2[k]) * *scale, &mut commands[first..first + count]);
            first += count;
        }
    }
}
