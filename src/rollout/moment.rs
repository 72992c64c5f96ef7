//! Where on a trajectory a loss is evaluated, and its derivatives there.

use std::cell::RefCell;

use crate::multibody::{Model, PairWorkspace, State};

/// Where on a trajectory a term of a loss is evaluated.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a, T = f64> {
    /// The number of the step that starts here, from 0; at the end the number of steps.
    pub step: usize,
    /// Time, s.
    pub time: f64,
    /// Length of the step that starts here, s; 0 at the end.
    pub dt: f64,
    /// The model.
    pub model: &'a Model<T>,
    /// The state.
    pub state: &'a State<T>,
    /// Control values of the step that starts here; none at the end.
    pub control: &'a [T],
    /// Memory for readings of contacts (see [`Model::patch_reading`]): with it, what is known of them at this state is
    /// not computed again for every direction that derivatives are taken along.
    pub contacts: &'a RefCell<PairWorkspace>,
}

/// The derivatives of a term of a loss.
#[derive(Debug)]
pub struct MomentGradient<'a> {
    /// With respect to the state in its tangent space (see [`State::moved`]).
    pub state: &'a mut [f64],
    /// With respect to the control values.
    pub control: &'a mut [f64],
    /// With respect to the parameters that were asked for, in their order, where the term reads them in
    /// [`Moment::model`]: with state and control values held.
    pub parameters: &'a mut [f64],
}
