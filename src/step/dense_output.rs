//! The motion within a step: states at any time, not only at its end.
//!
//! The stages of a Radau IIA method belong to a polynomial that satisfies the differential equation at them (collocation),
//! so that the states between are there once the stages are: of order s in a step of s stages, whose end is of order
//! 2s − 1 (Hairer and Wanner, *Solving Ordinary Differential Equations II*, IV.8). As in the step itself the polynomial is
//! one of the tangent that leads from the state at the start.

use std::ops::Range;

use super::error_control::ControlledMethod;
use super::{Integrator, RadauOrder, StepError, StepProblem, StepWorkspace};
use crate::multibody::State;

/// The motion within a step that was taken by a Radau method, of fixed length or of controlled error.
///
/// # Examples
/// The top of a flight, between two steps:
/// ```
/// use isobar::multibody::{Body, BodyState, MassSource, ModelBuilder, State};
/// use isobar::spatial::{MassProperties, RigidTransform};
/// use isobar::step::{DenseOutput, Integrator, RadauOrder, StepProblem, StepWorkspace};
/// use nalgebra::{Matrix3, Vector3};
///
/// let mass = MassProperties { mass: 1.0, center_of_mass: Vector3::zeros(), inertia: Matrix3::identity() };
/// let ball = Body::free("ball", MassSource::Given(mass), vec![])?;
/// let model = ModelBuilder { bodies: vec![ball], ..Default::default() }.build()?;
/// let mut start = BodyState::at_rest(&RigidTransform::identity());
/// start.velocity.translational.z = 1.0;
/// let start = State::of_bodies(vec![start]);
/// let step = StepProblem::new(&model, &start, 0.2);
/// let integrator = Integrator::Radau(RadauOrder::Fifth);
/// let motion = DenseOutput::of(integrator, &step, &mut StepWorkspace::default())?.expect("a Radau method");
/// let top = motion.state(1.0 / 9.81).bodies[0].position.z;
/// assert!((top - 0.5 / 9.81).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DenseOutput {
    time: f64,
    pieces: Vec<Piece>,
}

/// The motion over one substep.
#[derive(Clone, Debug)]
struct Piece {
    /// Since the start of the step, s.
    span: Range<f64>,
    before: State,
    order: RadauOrder,
    /// The tangents that lead from the state before to those of the stages, one after the other.
    increments: Vec<f64>,
}

impl DenseOutput {
    /// Takes a step and keeps the motion within it; `None` of a step by a method that is no collocation. A step of
    /// controlled error, whose substeps are not held, is taken twice: they are found first.
    ///
    /// # Errors
    /// Those of [`Integrator::step`].
    pub fn of(
        integrator: Integrator,
        step: &StepProblem<'_>,
        workspace: &mut StepWorkspace,
    ) -> Result<Option<Self>, StepError> {
        let mut pieces = Vec::new();
        let mut length = 0.0;
        let mut keep = |order: RadauOrder, part: &StepProblem<'_>, increments: &[f64]| {
            let end = length + part.length();
            let (before, increments) = (part.state.clone(), increments.to_vec());
            pieces.push(Piece { span: length..end, before, order, increments });
            length = end;
        };
        match integrator {
            Integrator::Radau(order) => {
                integrator.step(step, workspace)?;
                keep(order, step, workspace.radau.solver.increments());
            }
            Integrator::ErrorControlled(controlled) if controlled.method == ControlledMethod::Radau => {
                integrator.step(step, workspace)?;
                let substeps = workspace.substeps().map_or_else(Vec::new, |found| found.substeps.clone());
                let mut orders = substeps.iter().filter_map(|substep| RadauOrder::of_number(substep.order));
                controlled.for_each_fixed_step(step, &substeps, workspace, &mut |part, _, workspace| {
                    let order = orders.next().unwrap_or(RadauOrder::Fifth);
                    keep(order, part, workspace.radau.solver.increments());
                })?;
            }
            _ => return Ok(None),
        }
        Ok(Some(Self { time: step.time, pieces }))
    }

    /// The time at the start of the step and that at its end, s.
    pub fn span(&self) -> Range<f64> {
        self.time..self.time + self.pieces.last().map_or(0.0, |piece| piece.span.end)
    }

    /// The state at a time in s; that at the nearer end for times before or after the step.
    pub fn state(&self, time: f64) -> State {
        let since = time - self.time;
        let index = self.pieces.iter().position(|piece| since < piece.span.end);
        let piece = &self.pieces[index.unwrap_or(self.pieces.len() - 1)];
        let Range { start, end } = piece.span;
        let part = ((since - start) / (end - start)).clamp(0.0, 1.0);
        piece.before.moved(&piece.tangent(part))
    }
}

impl Piece {
    /// The tangent that leads from the state before to that after a part of the substep: the polynomial through 0 at its
    /// start and the increments at the nodes.
    fn tangent(&self, part: f64) -> Vec<f64> {
        let nodes = self.order.coefficients().nodes;
        let n = self.increments.len() / nodes.len();
        let mut tangent = vec![0.0; n];
        for (j, node) in nodes.iter().enumerate() {
            let others = nodes.iter().enumerate().filter(|(k, _)| *k != j).map(|(_, other)| other);
            let weight = others.fold(part / node, |product, other| product * (part - other) / (node - other));
            let increments = &self.increments[j * n..(j + 1) * n];
            tangent.iter_mut().zip(increments).for_each(|(x, z)| *x += weight * z);
        }
        tangent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multibody::{AppliedForces, Forces, Model};
    use crate::scalar::Scalar;
    use crate::step::ErrorControlled;
    use crate::step::tests::{distance, top};
    use nalgebra::Vector3;

    /// A spring to the world's origin, with a force that depends on time.
    struct Spring;

    impl AppliedForces for Spring {
        fn apply<T: Scalar>(&self, _: &Model<T>, state: &State<T>, time: f64, _: &[T], to: &mut Forces<T>) {
            to.bodies[0].translational -= state.bodies[0].position * T::from(40.0);
            to.bodies[0].translational.x += T::from((3.0 * time).sin());
        }
    }

    fn near_top() -> (Model, State) {
        let (model, mut state) = top(Vector3::new(0.0, 0.0, -9.81));
        state.bodies[0].position = Vector3::new(0.1, 0.2, 0.3);
        (model, state)
    }

    fn controlled(accuracy: f64) -> Integrator {
        Integrator::ErrorControlled(ErrorControlled { method: ControlledMethod::Radau, accuracy })
    }

    /// The step of this length from the start at 0.7 s, and the largest distance of its motion from the exact one.
    fn error(integrator: Integrator, length: f64) -> f64 {
        let (model, start) = near_top();
        let workspace = &mut StepWorkspace::default();
        let step = StepProblem { time: 0.7, ..StepProblem::new(&model, &start, length).under(&Spring) };
        let motion = DenseOutput::of(integrator, &step, workspace).expect("taken").expect("a collocation");
        let after = integrator.step(&step, workspace).expect("taken");
        assert_eq!(motion.span(), 0.7..0.7 + length);
        assert!(distance(&motion.state(0.7 + length), &after) < 1e-13);
        assert!(distance(&motion.state(9.0), &after) < 1e-13);
        assert!(distance(&motion.state(0.7), &start) < 1e-15);
        let off = |part: f64| {
            let exact = controlled(1e-12).step(&StepProblem { time_step: part * length, ..step }, workspace);
            distance(&motion.state(0.7 + part * length), &exact.expect("taken"))
        };
        [0.2, 0.4, 0.55, 0.8].map(off).into_iter().fold(0.0, f64::max)
    }

    #[test]
    fn states_within_a_step_have_the_order_of_collocation() {
        for (order, length, expected) in
            [(RadauOrder::First, 1e-3, 2.0), (RadauOrder::Third, 0.02, 3.0), (RadauOrder::Fifth, 0.04, 4.0)]
        {
            let [coarse, fine] = [length, 0.5 * length].map(|h| error(Integrator::Radau(order), h));
            let measured = (coarse / fine).log2();
            assert!((measured - expected).abs() < 0.25, "{order:?}: {coarse:e} {fine:e}");
        }
    }

    #[test]
    fn states_between_substeps_are_as_good_as_they() {
        let off = error(controlled(1e-7), 0.5);
        assert!(off < 1e-4, "{off:e}");
        let finer = error(controlled(1e-10), 0.5);
        assert!(finer < 1e-6, "{finer:e}");
    }

    #[test]
    fn other_methods_have_no_polynomial() {
        let (model, start) = near_top();
        let step = StepProblem::new(&model, &start, 0.01);
        let found = DenseOutput::of(Integrator::RungeKutta4, &step, &mut StepWorkspace::default());
        assert!(found.expect("no step is taken").is_none());
    }
}
