use nalgebra::Vector3;

use super::{ControlledMethod, ErrorControlled};
use crate::multibody::{AppliedForces, Forces, Model, State};
use crate::rollout::{Rollout, SimulationSettings};
use crate::scalar::Scalar;
use crate::step::{self, Integrator, StepProblem, StepWorkspace, VelocityLevel};

/// An asymmetric body that turns about no principal axis.
fn top() -> (Model, State) {
    step::tests::top(Vector3::new(0.0, 0.0, -9.81))
}

fn controlled(method: ControlledMethod, accuracy: f64) -> Integrator {
    Integrator::ErrorControlled(ErrorControlled { method, accuracy })
}

#[test]
fn the_error_falls_with_the_accuracy_and_the_substeps_grow_with_the_order() {
    let (model, start) = top();
    let end = |integrator| {
        let settings = SimulationSettings { integrator, time_step: 0.5 };
        let rollout = Rollout::new(&model, &start, settings, 2.0);
        let substeps: usize = rollout.find_substeps().expect("simulates").iter().map(Vec::len).sum();
        (rollout.simulate().expect("simulates").states.pop().expect("the end"), substeps)
    };
    let (reference, _) = end(controlled(ControlledMethod::DormandPrince, 1e-14));
    for (method, accuracies, order) in [
        (ControlledMethod::DormandPrince, [1e-4, 1e-8], 4.0),
        (ControlledMethod::BogackiShampine, [1e-4, 1e-9], 3.0),
        (ControlledMethod::Extrapolated(VelocityLevel::default()), [1e-3, 1e-8], 2.0),
    ] {
        let [(coarse, few), (fine, many)] = accuracies.map(|accuracy| end(controlled(method, accuracy)));
        let error = |state: &State| reference.difference(state).iter().map(|x| x * x).sum::<f64>().sqrt();
        let decades = (accuracies[0] / accuracies[1]).log10();
        let slope = (error(&coarse) / error(&fine)).log10() / decades;
        // What is estimated falls with the accuracy, what is off with the order of the method.
        let expected = ErrorControlled { method, accuracy: 1.0 }.gain_of_a_tenth().log10();
        assert!(
            (slope - expected).abs() < 0.2,
            "{method:?}: the error falls with the accuracy to the {slope}, not {expected}"
        );
        let measured = decades / (many as f64 / few as f64).log10();
        assert!((measured - order).abs() < 0.2 * order, "{method:?}: order {measured}");
    }
}

#[test]
fn a_step_depends_on_nothing_before_it_and_can_be_held() {
    let (model, start) = top();
    let integrator = controlled(ControlledMethod::DormandPrince, 1e-9);
    let mut workspace = StepWorkspace::default();
    let problem = StepProblem::new(&model, &start, 0.3);
    let first = integrator.step(&problem, &mut workspace).expect("taken");
    let statistics = workspace.substeps().expect("controlled").clone();
    let sum: f64 = statistics.substeps.iter().map(|substep| substep.length).sum();
    assert!(statistics.substeps.len() > 2 && (sum - 0.3).abs() < 1e-15, "{statistics:?}");
    // Each has seven stages, the first of which is known but for the first substep.
    assert!(statistics.rejected > 0 && statistics.limit.is_some(), "{statistics:?}");
    let other = StepProblem::new(&model, &first, 0.1);
    integrator.step(&other, &mut workspace).expect("taken");
    let again = integrator.step(&problem, &mut workspace).expect("taken");
    assert_eq!(again, first);
    let held = StepProblem { substeps: Some(&statistics.substeps), ..problem };
    assert_eq!(integrator.step(&held, &mut workspace).expect("taken"), first);
    assert_eq!(workspace.substeps().expect("controlled").substeps, statistics.substeps);
}

/// A force that is not a number from a time on.
struct Failing;

impl AppliedForces for Failing {
    fn apply<T: Scalar>(&self, _: &Model<T>, _: &State<T>, time: f64, _: &[T], forces: &mut Forces<T>) {
        if time > 1.0 {
            forces.bodies[0].translational.x += T::from(f64::NAN);
        }
    }
}

#[test]
fn a_step_that_failed_leaves_nothing_to_the_next() {
    let (model, start) = top();
    let other = start.moved(&[0.3; 12]);
    for method in
        [ControlledMethod::BogackiShampine, ControlledMethod::DormandPrince, ControlledMethod::Radau]
    {
        let integrator = controlled(method, 1e-9);
        let expected = integrator.step(&StepProblem::new(&model, &other, 0.3), &mut StepWorkspace::default());
        let mut workspace = StepWorkspace::default();
        let failing = StepProblem { time: 0.9, ..StepProblem::new(&model, &start, 0.3).under(&Failing) };
        assert!(integrator.step(&failing, &mut workspace).is_err());
        let after = integrator.step(&StepProblem::new(&model, &other, 0.3), &mut workspace);
        assert_eq!(after, expected, "{method:?}");
    }
}

#[test]
fn statistics_are_those_of_the_last_step_whatever_was_before() {
    let (model, start) = top();
    let method = VelocityLevel::default();
    let mut workspace = StepWorkspace::default();
    let problem = StepProblem::new(&model, &start, 0.1);
    let mut alone = StepWorkspace::default();
    Integrator::VelocityLevel(method).step(&problem, &mut alone).expect("taken");
    controlled(ControlledMethod::Extrapolated(method), 1e-6).step(&problem, &mut workspace).expect("taken");
    Integrator::VelocityLevel(method).step(&problem, &mut workspace).expect("taken");
    assert_eq!(workspace.statistics(), alone.statistics());
}
