//! Once its memory is made, a step allocates nothing.

use crate::jointed_scene;
use crate::step_scenes::{Held, MODELS, Squeeze, ball_on_box, gripper};
use isobar::contact::SurfaceRepresentation;
use isobar::multibody::{AppliedForces, Model, NoForces, State};
use isobar::scalar::{DualArray, Scalar};
use isobar::step::{Integrator, StepProblem, StepWorkspace};

/// How often steps of each kind allocate, from the second one at a state on.
fn allocations<T: Scalar>(model: &Model, state: &State, applied: &impl AppliedForces) -> Vec<u64> {
    let (model, state) = (&Model::<T>::lift(model), &State::<T>::lift(state));
    let control = vec![T::from(0.1); model.command_dimension() + applied.control_dimension()];
    let explicit = [Integrator::SemiImplicitEuler, Integrator::RungeKutta4];
    let kinds = explicit.into_iter().chain(MODELS.map(Integrator::velocity_level));
    let counted = kinds.map(|integrator| {
        let (mut workspace, mut after) = (StepWorkspace::default(), State::default());
        let step = StepProblem {
            model,
            state,
            time: 0.0,
            time_step: 1e-4,
            applied,
            control: &control,
            substeps: None,
            asleep: &[],
        };
        let mut take = || integrator.step_into(&step, &mut workspace, &mut after).expect("a step");
        take();
        allocation_counter::measure(take).count_total
    });
    counted.collect()
}

#[test]
fn steps_allocate_nothing() {
    type Dual = DualArray<8>;
    let (model, state) = ball_on_box(0.02, SurfaceRepresentation::Triangles);
    assert_eq!(allocations::<f64>(&model, &state, &NoForces), [0; 6]);
    assert_eq!(allocations::<Dual>(&model, &state, &NoForces), [0; 6]);
    let (model, state) = gripper(Held::Ball, 0.02, SurfaceRepresentation::Polygons);
    assert_eq!(allocations::<f64>(&model, &state, &Squeeze(15.0)), [0; 6]);
    assert_eq!(allocations::<Dual>(&model, &state, &Squeeze(15.0)), [0; 6]);
    // Joints of every kind, ball and free joints among them, and actuators.
    let (model, state) = jointed_scene::scene(SurfaceRepresentation::Polygons);
    assert_eq!(allocations::<f64>(&model, &state, &NoForces), [0; 6]);
}
