//! What the loads of a model and its actuators on free bodies exert, and its derivatives.

use nalgebra::Vector3;

use super::force_values::{AppliedColumn, ForceEntry, ForcePoint, Forces};
use crate::multibody::models::joint_law::limited;
use crate::multibody::{Model, Parameter, State, TANGENT_DIMENSION};
use crate::scalar::{DualArray, Scalar, lift_vector};

impl<T: Scalar> Model<T> {
    /// Adds the model's loads at a state and a time in s, and the forces of its actuators on free bodies under their
    /// commands.
    pub(crate) fn add_loads(&self, state: &State<T>, time: f64, commands: &[T], forces: &mut Forces<T>) {
        for load in &self.loads {
            let Some(free) = self.free_index(load.body) else { continue };
            let rotation = state.bodies[free].orientation.to_matrix();
            forces.bodies[free] += load.kind.force(load.frame, &rotation, &load.history.at(time));
        }
        for (actuator, &command) in self.actuators.iter().zip(commands) {
            let Some(load) = actuator.body_load() else { continue };
            let Some(free) = self.free_index(load.body) else { continue };
            let rotation = state.bodies[free].orientation.to_matrix();
            let value = lift_vector::<T>(&load.direction) * limited(command, actuator.effort);
            forces.bodies[free] += load.kind.force(load.frame, &rotation, &value);
        }
    }
}

/// Calls `visit` with every derivative of [`Model::add_loads`] that may not be zero, by what and of which force: with
/// respect to turns of the bodies, commands, and parameters. At a limit of effort they are one-sided.
pub(super) fn for_each_load_derivative(at: &ForcePoint, visit: &mut dyn FnMut(AppliedColumn, ForceEntry)) {
    let model = at.model.model();
    for load in &model.loads {
        let Some(free) = model.free_index(load.body) else { continue };
        let rotation = at.state.bodies[free].orientation.to_matrix();
        let by_turns = load.kind.force_by_turns(load.frame, &rotation, &load.history.at(at.time));
        for (axis, by) in by_turns.into_iter().enumerate() {
            visit(AppliedColumn::State(TANGENT_DIMENSION * free + axis), ForceEntry::Body(free, by));
        }
    }
    for (index, (actuator, &command)) in model.actuators.iter().zip(at.commands).enumerate() {
        let Some(load) = actuator.body_load() else { continue };
        let Some(free) = model.free_index(load.body) else { continue };
        let rotation = at.state.bodies[free].orientation.to_matrix();
        let size = limited(command, actuator.effort);
        let by_turns = load.kind.force_by_turns(load.frame, &rotation, &(load.direction * size));
        for (axis, by) in by_turns.into_iter().enumerate() {
            visit(AppliedColumn::State(TANGENT_DIMENSION * free + axis), ForceEntry::Body(free, by));
        }
        let [by_command, _] = size_slopes(command, actuator.effort);
        let by = load.kind.force(load.frame, &rotation, &(load.direction * by_command));
        visit(AppliedColumn::Command(index), ForceEntry::Body(free, by));
    }
    for &column in at.model.parameters_of_loads() {
        let (body, kind, frame, value) = match at.model.parameters()[column] {
            Parameter::Load { load, part, axis } => {
                let load = &model.loads[load];
                let weight = load.history.weight(part, at.time);
                (load.body, load.kind, load.frame, Vector3::ith(axis, weight))
            }
            Parameter::EffortLimit { actuator: index } => {
                let actuator = &model.actuators[index];
                let Some(load) = actuator.body_load() else { continue };
                let [_, by_effort] = size_slopes(at.commands[index], actuator.effort);
                (load.body, load.kind, load.frame, load.direction * by_effort)
            }
            _ => continue,
        };
        let Some(free) = model.free_index(body) else { continue };
        if value != Vector3::zeros() {
            let rotation = at.state.bodies[free].orientation.to_matrix();
            visit(
                AppliedColumn::Parameter(column),
                ForceEntry::Body(free, kind.force(frame, &rotation, &value)),
            );
        }
    }
}

/// The derivatives of the size of an actuator's force with respect to its command and its limit.
fn size_slopes(command: f64, effort: f64) -> [f64; 2] {
    limited(DualArray::variable(command, 0), DualArray::variable(effort, 1)).eps
}

#[cfg(test)]
mod tests;
