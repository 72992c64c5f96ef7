//! The derivative of a velocity-level step as matrices.

use nalgebra::{DMatrix, DVector, Vector3};

use super::VelocityLevel;
use super::free_body::{BODY, six, velocity_of};
use super::tape::BalanceTape;
use super::vjp::{VjpMemory, by_extra_pose, turn_jacobian};
use crate::multibody::{
    AppliedColumn, AppliedWorkspace, ForceEntry, ModelGradient, TANGENT_DIMENSION,
    for_each_applied_derivative,
};
use crate::step::joint_moves::move_jacobians;
use crate::step::step_point::StepPoint;
use crate::step::{StepCotangent, StepJacobian};

impl VelocityLevel {
    /// The derivative of a step as matrices.
    pub(in crate::step) fn jacobian(
        &self,
        at: &StepPoint<'_>,
        tape: &mut BalanceTape,
        memory: &mut VjpMemory,
    ) -> StepJacobian {
        let mut by = self.balance_matrix(at, tape, memory);
        add_applied(at, tape, &mut by);
        self.solved(at, tape, memory, by)
    }

    /// ∂φ, a row for each velocity, a column for each direction of the state, control value and
    /// parameter; the derivatives of the user's forces aside.
    fn balance_matrix(
        &self,
        at: &StepPoint<'_>,
        tape: &mut BalanceTape,
        memory: &mut VjpMemory,
    ) -> DMatrix<f64> {
        let nv = at.before.joints.v.len();
        let (n, rows) = (tape.bodies.len() * BODY + nv, at.before.tangent_dimension());
        let (controls, parameters) = (at.control.len(), at.model.parameters().len());
        // ∂φ, row by row, then dv = K⁻¹ ∂φ.
        let mut by = DMatrix::zeros(n, rows + controls + parameters);
        let mut mu = vec![0.0; n];
        let (mut state, mut control) = (vec![0.0; rows], vec![0.0; controls]);
        let nowhere = vec![0.0; rows];
        let mut by_model = ModelGradient::zero(at.model);
        for row in 0..n {
            mu[row] = 1.0;
            state.fill(0.0);
            control.fill(0.0);
            by_model.clear();
            let mut out = StepCotangent { state: &mut state, control: &mut control, model: &mut by_model };
            self.add_balance(at, tape, memory, &mu, &mut out);
            mu[row] = 0.0;
            let by_parameters = at.model.by_parameters(&nowhere, &by_model);
            // The user's forces follow.
            for (column, &value) in state.iter().chain(&control).enumerate() {
                by[(row, column)] = value;
            }
            for (column, value) in by_parameters.into_iter().enumerate() {
                by[(row, rows + controls + column)] = value;
            }
        }
        by
    }
}

/// Adds to ∂φ the derivatives of the user's forces.
fn add_applied(at: &StepPoint<'_>, tape: &mut BalanceTape, by: &mut DMatrix<f64>) {
    let model = at.model.model();
    let (rows, controls) = (at.before.tangent_dimension(), at.control.len());
    let mut scratch = AppliedWorkspace::default();
    let point = at.forces_at(at.before, at.time);
    let commands = at.split_control().0.len();
    let free = BODY * tape.bodies.len();
    let links: Vec<usize> = model.links().map(|(_, link)| link).collect();
    let joint_workspace = tape.kinematics[1].of(&model.mechanism);
    let mut put = |column: usize, force: ForceEntry| match force {
        ForceEntry::Joint(k, f) => by[(free + k, column)] += f * at.dt,
        ForceEntry::Body(body, f) if BODY * body < free => {
            for (i, f) in six(&f.rotational, &f.translational).into_iter().enumerate() {
                by[(body * BODY + i, column)] += f * at.dt;
            }
        }
        ForceEntry::Body(body, f) => {
            let link = links[body - free / BODY];
            let columns = joint_workspace.jacobian_columns(&model.mechanism, link, &Vector3::zeros());
            for (k, s) in columns {
                by[(free + k, column)] += s.dot(&f) * at.dt;
            }
        }
    };
    for_each_applied_derivative(at.applied, &point, &mut scratch, &mut |by_what, force| {
        let column = match by_what {
            AppliedColumn::State(k) => k,
            AppliedColumn::Command(k) => rows + k,
            AppliedColumn::Control(k) => rows + commands + k,
            AppliedColumn::Parameter(k) => rows + controls + k,
        };
        put(column, force);
    });
}

impl VelocityLevel {
    /// The derivative of the step from ∂φ: the velocities' is K⁻¹ ∂φ, and the poses follow them.
    fn solved(
        &self,
        at: &StepPoint<'_>,
        tape: &mut BalanceTape,
        memory: &mut VjpMemory,
        mut by: DMatrix<f64>,
    ) -> StepJacobian {
        let model = at.model.model();
        let nv = at.before.joints.v.len();
        let (free, rows) = (tape.bodies.len() * BODY, at.before.tangent_dimension());
        let (controls, parameters) = (at.control.len(), at.model.parameters().len());
        let nowhere = vec![0.0; rows];
        let mut by_model = ModelGradient::zero(at.model);
        tape.factors.solve_many(by.as_mut_slice());
        let mut all = DMatrix::zeros(rows, rows + controls + parameters);
        let states = model.free_bodies().zip(&at.before.bodies).zip(&at.after.bodies);
        for (tree, ((_, before), after)) in states.enumerate() {
            let first = tree * TANGENT_DIMENSION;
            let motion = &tape.bodies[tree].free;
            let by_vector = turn_jacobian(after, &motion.value, at.dt);
            let turn = by_vector * at.dt;
            for column in 0..by.ncols() {
                let own: [f64; BODY] = std::array::from_fn(|i| by[(tree * BODY + i, column)]);
                let v = velocity_of(&own);
                let turned = turn * v.rotational;
                for i in 0..3 {
                    all[(first + i, column)] = turned[i];
                    all[(first + 3 + i, column)] = v.translational[i] * at.dt;
                    all[(first + 6 + i, column)] = v.rotational[i];
                    all[(first + 9 + i, column)] = v.translational[i];
                }
            }
            let rotation = after.orientation.to_matrix() * before.orientation.to_matrix().transpose();
            for i in 0..3 {
                for k in 0..3 {
                    all[(first + i, first + k)] += rotation[(i, k)];
                }
                all[(first + 3 + i, first + 3 + i)] += 1.0;
            }
            // What the free motion turns and shifts the body besides.
            for row in 0..BODY {
                let unit = Vector3::from_fn(|i, _| f64::from(u8::from(i == row % 3)));
                let by_pose = if row < 3 {
                    by_extra_pose(by_vector.tr_mul(&unit), Vector3::zeros())
                } else {
                    by_extra_pose(Vector3::zeros(), unit)
                };
                let mut own = [0.0; TANGENT_DIMENSION];
                by_model.clear();
                motion.add_vjp(&by_pose, &mut own, &mut by_model.masses[tree]);
                for (k, value) in own.into_iter().enumerate() {
                    all[(first + row, first + k)] += value;
                }
                if at.model.asks_for_free_masses() {
                    for (column, value) in at.model.by_parameters(&nowhere, &by_model).into_iter().enumerate()
                    {
                        all[(first + row, rows + controls + column)] += value;
                    }
                }
            }
        }
        if nv > 0 {
            let [by_move, by_before] = move_jacobians(&at.before.joints, &tape.joint_moves);
            let (first, own) = (at.before.body_tangent_dimension(), by.rows(free, nv));
            all.rows_mut(first, nv).copy_from(&(&by_move * own * at.dt));
            all.rows_mut(first + nv, nv).copy_from(&own);
            let mut kept = all.view_mut((first, first), (nv, nv));
            kept += by_before;
            // What the joints move besides without forces.
            let mut own = vec![0.0; 2 * nv];
            for row in 0..nv {
                own.fill(0.0);
                by_model.clear();
                let by_moves = by_move.row(row).iter().copied().collect();
                tape.joints.add_extra_moves(model, by_moves, &mut own, &mut by_model);
                for (k, value) in own.iter().enumerate() {
                    all[(first + row, first + k)] += value;
                }
                if at.model.asks_for_link_masses() {
                    for (column, value) in at.model.by_parameters(&nowhere, &by_model).into_iter().enumerate()
                    {
                        all[(first + row, rows + controls + column)] += value;
                    }
                }
            }
        }
        self.set_bristle_rows(at, tape, memory, &by, &mut all);
        let columns = |from: usize, count: usize| all.columns(from, count).into_owned();
        StepJacobian {
            by_state: columns(0, rows),
            by_control: columns(rows, controls),
            by_parameters: columns(rows + controls, parameters),
        }
    }

    /// Writes the rows of the deflections after the step into its derivative `all`, with the velocities'
    /// derivatives `by`.
    fn set_bristle_rows(
        &self,
        at: &StepPoint<'_>,
        tape: &mut BalanceTape,
        memory: &mut VjpMemory,
        by: &DMatrix<f64>,
        all: &mut DMatrix<f64>,
    ) {
        let (first, rows) = (at.before.motion_tangent_dimension(), at.before.tangent_dimension());
        let first_parameter = rows + at.control.len();
        let nowhere = vec![0.0; rows];
        let mut by_model = ModelGradient::zero(at.model);
        let mut by_after = vec![0.0; rows - first];
        let mut by_velocity = DVector::zeros(by.nrows());
        let (mut state, mut control) = (vec![0.0; rows], vec![0.0; at.control.len()]);
        for row in first..rows {
            by_after[row - first] = 1.0;
            by_velocity.fill(0.0);
            state.fill(0.0);
            by_model.clear();
            let mut out = StepCotangent { state: &mut state, control: &mut control, model: &mut by_model };
            self.add_bristles(at, tape, memory, &by_after, by_velocity.as_mut_slice(), &mut out);
            by_after[row - first] = 0.0;
            all.row_mut(row).copy_from(&by.tr_mul(&by_velocity).transpose());
            state.iter().enumerate().for_each(|(column, x)| all[(row, column)] += x);
            for (column, x) in at.model.by_parameters(&nowhere, &by_model).into_iter().enumerate() {
                all[(row, first_parameter + column)] += x;
            }
        }
    }
}
