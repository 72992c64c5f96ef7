//! The policy of an optimized motion, as a file that `isobar simulate --controller` reads.

use serde::Serialize;

use crate::io::problem::controls::OptimizedControl;
use crate::io::scene::actuator_schema::InterpolationTable;
use crate::io::scene::controller_schema::{
    ControllerTable, FeedbackStageTable, LawTable, LinearFeedbackTable,
};
use crate::multibody::State;
use crate::rollout::{FeedbackStage, KnotFeedback, KnotInterpolation};

/// A policy with what it takes the place of.
#[derive(Debug, Serialize)]
pub struct PolicyTables {
    /// Commands of zero: those of the scene would be added.
    actuators: Vec<NoCommandTable>,
    controllers: Vec<ControllerTable>,
}

#[derive(Debug, Serialize)]
struct NoCommandTable {
    name: String,
    command: f64,
}

/// The tables of a policy of these controls.
pub fn policy_tables(policy: &KnotFeedback, controls: &[OptimizedControl]) -> PolicyTables {
    let names = || controls.iter().map(|control| control.name.clone());
    let finite = |of: fn(&[f64; 2]) -> f64, none: f64| {
        // JSON has no infinities; a number beyond all commands does the same.
        policy.bounds().iter().map(|bounds| if of(bounds).is_finite() { of(bounds) } else { none }).collect()
    };
    let law = LawTable::LinearFeedback(LinearFeedbackTable {
        actuators: names().collect(),
        times: policy.knots().times().to_vec(),
        interpolation: match policy.knots().interpolation() {
            KnotInterpolation::ZeroOrderHold => InterpolationTable::Hold,
            KnotInterpolation::Linear => InterpolationTable::Linear,
            KnotInterpolation::Cubic => InterpolationTable::Cubic,
        },
        lower: finite(|bounds| bounds[0], f64::MIN),
        upper: finite(|bounds| bounds[1], f64::MAX),
        stages: policy.stages().iter().map(stage).collect(),
    });
    PolicyTables {
        actuators: names().map(|name| NoCommandTable { name, command: 0.0 }).collect(),
        controllers: vec![ControllerTable {
            name: "policy".to_owned(),
            period: None,
            delay: 0.0,
            noise: None,
            law,
        }],
    }
}

fn stage(stage: &FeedbackStage) -> FeedbackStageTable {
    FeedbackStageTable {
        time: stage.time,
        state: numbers(&stage.state),
        values: stage.values.clone(),
        gains: stage.gains.row_iter().map(|row| row.iter().copied().collect()).collect(),
    }
}

/// The numbers of a state, in the order that the file has them.
fn numbers(state: &State) -> Vec<f64> {
    let mut numbers = Vec::new();
    for body in &state.bodies {
        numbers.push(body.orientation.w);
        for part in [body.orientation.v, body.position, body.velocity.rotational, body.velocity.translational]
        {
            numbers.extend(part.iter());
        }
    }
    numbers.extend(&state.joints.q);
    numbers.extend(&state.joints.v);
    numbers
}
