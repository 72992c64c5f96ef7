//! Evaluates what controllers observe, in any scalar.

use std::cell::RefCell;

use nalgebra::Vector3;

use super::controller::Controller;
use crate::multibody::{Model, PairWorkspace, State};
use crate::rollout::{Moment, Reader};
use crate::scalar::Scalar;

/// What of a state may carry derivatives, so that contacts that have none are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rollout) enum Moved {
    /// Anything.
    All,
    /// One free body, by its index in the model.
    Body(usize),
    Joints,
    /// Nothing that is observed.
    Nothing,
}

impl Moved {
    /// Whether the contact of two bodies may have derivatives.
    fn concerns<T: Scalar>(self, model: &Model<T>, bodies: [usize; 2]) -> bool {
        match self {
            Self::All => true,
            Self::Body(body) => bodies.contains(&body),
            Self::Joints => bodies.into_iter().any(|b| {
                let body = &model.bodies[b];
                body.is_moving() && !body.is_free()
            }),
            Self::Nothing => false,
        }
    }
}

/// Evaluates observations; what is computed for one is used for the next at the same state.
#[derive(Debug)]
pub(in crate::rollout) struct Observer<T> {
    reader: Reader<T>,
    contacts: RefCell<PairWorkspace>,
}

impl<T> Default for Observer<T> {
    fn default() -> Self {
        Self { reader: Reader::default(), contacts: RefCell::default() }
    }
}

impl<T: Scalar> Observer<T> {
    /// Forgets what belongs to another state.
    pub fn renew(&mut self) {
        self.reader.renew();
    }

    /// Appends what a controller observes to `out`. Without derivatives that `moved` leaves out.
    pub fn observe(
        &mut self,
        model: &Model<T>,
        state: &State<T>,
        (time, moved): (f64, Moved),
        controller: &impl Controller,
        out: &mut Vec<T>,
    ) {
        let Self { reader, contacts } = self;
        let at = Moment::instant(model, state, &[], contacts);
        for quantity in controller.observed() {
            let numbers = match quantity.contact() {
                Some((on, from)) if !moved.concerns(model, [on, from]) => Vector3::zeros(),
                _ => quantity.value(&at, reader),
            };
            out.extend(numbers.iter().take(quantity.dimension()));
        }
        out.extend(controller.nominal().into_iter().flat_map(|nominal| nominal.deviation(time, state)));
    }
}
