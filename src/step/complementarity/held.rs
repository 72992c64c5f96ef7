//! The equations that hold at the solution of a step: those that the implicit function theorem differentiates.

use nalgebra::{DMatrix, Vector3};

use super::data::StepData;
use super::equations::{Equations, Layout, evaluate};
use super::modes::Modes;
use crate::linear_algebra::{MixedProblem, jacobian};
use crate::scalar::Scalar;

/// Which equations hold.
#[derive(Clone, Debug)]
pub(super) enum Held {
    /// Those of equivalent contact points.
    Ellipsoids {
        /// The variables.
        layout: Layout,
        /// For each equation whether it is one; the variable is 0 otherwise.
        active: Vec<bool>,
    },
    /// Those of contacts with cones in their modes.
    Cones(Modes),
}

/// The solution of the equations of a step.
#[derive(Clone, Debug)]
pub(super) struct Solution {
    pub held: Held,
    /// Velocities first.
    pub variables: Vec<f64>,
    /// The contacts that carry, and their impulses along the normal in units of the scale.
    pub carrying: Vec<(usize, f64)>,
    /// With cones, their friction in W in units of the scale.
    pub friction: Vec<Vector3<f64>>,
    /// Iterations taken.
    pub iterations: usize,
}

impl Held {
    /// Writes the values of the equations.
    pub fn evaluate<T: Scalar>(&self, data: &StepData<T>, z: &[T], out: &mut Vec<T>) {
        match self {
            Self::Ellipsoids { layout, active } => {
                evaluate(data, layout, z, out);
                for ((value, z), _) in out.iter_mut().zip(z).zip(active).filter(|(_, active)| !**active) {
                    *value = *z;
                }
            }
            Self::Cones(modes) => modes.evaluate(data, z, out),
        }
    }
}

/// These equations as a problem for Newton's method, without pairs.
pub(super) struct HeldEquations<'a> {
    pub data: &'a StepData,
    pub held: &'a Held,
}

impl MixedProblem for HeldEquations<'_> {
    fn equations(&self) -> usize {
        match self.held {
            Held::Ellipsoids { layout, .. } => layout.size(),
            Held::Cones(modes) => self.data.velocity_count() + modes.factors(),
        }
    }

    fn pairs(&self) -> usize {
        0
    }

    fn evaluate<T: Scalar>(&self, variables: &[T], out: &mut Vec<T>) {
        self.held.evaluate(&self.data.map(|x| T::from(x)), variables, out);
    }

    fn slopes(&self, variables: &[f64]) -> DMatrix<f64> {
        let Held::Ellipsoids { layout, active } = self.held else { return jacobian(self, variables) };
        let mut matrix = Equations { data: self.data, layout }.slopes(variables);
        for (i, _) in active.iter().enumerate().filter(|(_, active)| !**active) {
            matrix.row_mut(i).fill(0.0);
            matrix[(i, i)] = 1.0;
        }
        matrix
    }
}
