//! The derivative of one step, as matrices and as vector–Jacobian products that do not form them.
//!
//! Both use the tangent spaces of the states before and after the step (see
//! [`crate::multibody::State::moved`]).

use nalgebra::DMatrix;

use crate::multibody::ModelGradient;

/// The derivatives of one number, such as a loss, that [`Tape::vjp`](super::Tape::vjp) carries backward.
#[derive(Debug)]
pub struct StepCotangent<'a> {
    /// The derivatives with respect to the state, in its tangent space: on entry the state after the
    /// step, on return the state before it.
    pub state: &'a mut [f64],
    /// The derivatives with respect to the control values during the step; those of the step are added.
    pub control: &'a mut [f64],
    /// The derivatives with respect to the numbers of the model; those of the step are added.
    pub model: &'a mut ModelGradient,
}

/// The derivative of the state after a step, in its tangent space: a row for each of its
/// directions (see [`crate::multibody::State`]).
#[derive(Clone, Debug, PartialEq)]
pub struct StepJacobian {
    /// With respect to the state before the step, a column for each direction of its tangent space.
    pub by_state: DMatrix<f64>,
    /// With respect to the control values, a column each.
    pub by_control: DMatrix<f64>,
    /// With respect to the parameters of the model, a column each; zero for those that move the initial
    /// state.
    pub by_parameters: DMatrix<f64>,
}

impl StepJacobian {
    /// The product with the derivatives of a number with respect to the state after the step, as
    /// [`Tape::vjp`](super::Tape::vjp) gives it.
    pub(super) fn product(&self, by_after: &[f64], out: &mut StepCotangent<'_>) {
        let along = |column: nalgebra::DVectorView<f64>| -> f64 {
            column.iter().zip(by_after).map(|(by, weight)| by * weight).sum()
        };
        let columns = |matrix: &DMatrix<f64>| matrix.column_iter().map(along).collect::<Vec<f64>>();
        out.state.iter_mut().zip(columns(&self.by_state)).for_each(|(to, by)| *to = by);
        out.control.iter_mut().zip(columns(&self.by_control)).for_each(|(to, by)| *to += by);
        out.model.direct.iter_mut().zip(columns(&self.by_parameters)).for_each(|(to, by)| *to += by);
    }
}
