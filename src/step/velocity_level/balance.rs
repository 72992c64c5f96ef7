//! The balance of momentum in scalars of any kind: what gives the velocities that were found in
//! `f64` their derivatives.

use std::mem::take;

use nalgebra::{DMatrix, Matrix6, Vector3};

use super::bristle_motion::move_bristles;
use super::free_body::{BODY, BodyInertia, six, velocity_of, write_velocities};
use super::free_motions::FreeMotions;
use super::inverse_inertia::{LinkRows, PairInertia, pair_inverse_inertia};
use super::newton::Newton;
use super::patch_impulse::patch_impulse;
use super::problem::Problem;
use super::settings_of;
use crate::contact::{ContactModel, Roles};
use crate::linear_algebra::Factors;
use crate::multibody::tree::BodyForce;
use crate::multibody::{
    BodyFrame, BodyState, Forces, GeometryPair, JointKinematics, Model, Motion, State, link_forces,
    set_link_velocities,
};
use crate::scalar::Scalar;
use crate::spatial::SpatialForce;
use crate::step::StepProblem;

/// A step as it was solved in `f64`.
#[derive(Clone, Copy)]
pub(in crate::step) struct Solved<'a> {
    pub(super) problem: &'a Problem,
    pub(super) newton: &'a Newton,
    /// For each body its place among the moving ones.
    pub(super) moving: &'a [Option<usize>],
}

/// The balance A v − p − Jᵀγ(v) of a step in scalars `T`, in memory that the next step reuses.
#[derive(Debug)]
pub(in crate::step) struct Balance<T> {
    /// The user's forces at the start of the step.
    pub forces: Forces<T>,
    /// The motions without forces.
    pub(super) free_motions: FreeMotions<T>,
    /// The velocities after the step.
    pub velocity: Vec<T>,
    /// What is left of the balance at these velocities.
    residual: Vec<T>,
    /// The frames of the bodies with their velocities before and after the step.
    before: Vec<BodyFrame<T>>,
    after: Vec<BodyFrame<T>>,
    joints: JointKinematics<T>,
    joints_after: JointKinematics<T>,
    on_links: Vec<BodyForce<T>>,
    /// The factors of the joints' part of A, which SAP's regularization takes.
    factors: DMatrix<T>,
    link_rows: LinkRows<T>,
    /// The joints' acceleration, and the residual of their balance.
    vdot: Vec<T>,
    of_joints: Vec<T>,
    moves: Vec<T>,
    changes: Vec<T>,
}

impl<T: Scalar> Default for Balance<T> {
    fn default() -> Self {
        Self {
            forces: Forces::default(),
            free_motions: FreeMotions::default(),
            velocity: Vec::new(),
            residual: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
            joints: JointKinematics::default(),
            joints_after: JointKinematics::default(),
            on_links: Vec::new(),
            factors: DMatrix::from_element(0, 0, T::from(0.0)),
            link_rows: LinkRows::default(),
            vdot: Vec::new(),
            of_joints: Vec::new(),
            moves: Vec::new(),
            changes: Vec::new(),
        }
    }
}

impl<T: Scalar> Balance<T> {
    /// Sets the motions without contact, and the velocities after the step.
    pub(super) fn set_motion(
        &mut self,
        free: &FreeMotions<f64>,
        velocity: &[f64],
        model: (&Model<T>, &Model),
        state: &State<T>,
        dt: T,
    ) {
        self.free_motions.set_lifted(free, model.0, model.1, state, dt);
        self.velocity.clear();
        self.velocity.extend(velocity.iter().map(|&v| T::from(v)));
    }

    /// Evaluates what is left of the balance at the contacts that have been found.
    pub(super) fn evaluate(&mut self, kind: ContactModel, step: &StepProblem<'_, T>, solved: Solved<'_>) {
        let (StepProblem { model, state, .. }, dt) = (*step, step.length());
        self.set_frames(model, state);
        self.start(model, state, dt);
        // Forces on links: the user's, and the impulses of contact over the step.
        link_forces(model, &self.forces.bodies, &mut self.on_links);
        self.factorize_joints(kind, model, dt);
        let (mut residual, mut on_links) = (take(&mut self.residual), take(&mut self.on_links));
        self.for_each_impulse(kind, step, solved, |before, pair, on_a, origin| {
            for (body, on_body) in [(pair.bodies.a, on_a), (pair.bodies.b, -on_a)] {
                let about_body = on_body.shifted(&(before[body].pose.translation - origin));
                let (m, f) = (about_body.rotational, about_body.translational);
                match (&model.bodies[body].motion, solved.moving[body]) {
                    (Motion::Free { .. }, Some(tree)) => {
                        for (r, w) in residual[BODY * tree..BODY * (tree + 1)].iter_mut().zip(six(&m, &f)) {
                            *r -= w;
                        }
                    }
                    (Motion::Link { link }, _) => {
                        let rate = dt.recip();
                        let force = SpatialForce::new(m * rate, f * rate);
                        on_links.push(BodyForce { body: *link, force });
                    }
                    _ => {}
                }
            }
        });
        (self.residual, self.on_links) = (residual, on_links);
        self.add_joints(step);
    }

    /// Calls `visit` for the impulse of every patch that was found: with the frames of bodies, its pair, the impulse on
    /// body A in W about a point, and that point. Frames, velocities after the step and the factors of joints are set.
    fn for_each_impulse(
        &mut self,
        kind: ContactModel,
        step: &StepProblem<'_, T>,
        Solved { problem, newton, moving }: Solved<'_>,
        mut visit: impl FnMut(&[BodyFrame<T>], &GeometryPair, SpatialForce<T>, Vector3<T>),
    ) {
        let (StepProblem { model, state, .. }, dt) = (*step, step.length());
        let Self { before, after, joints, factors, link_rows, .. } = self;
        let joints = joints.of(&model.mechanism);
        let settings = settings_of(model, kind, dt);
        for (patch, evaluated) in problem.patches.iter().zip(&newton.by_patch) {
            let pair = &model.pairs[patch.pair];
            let lambda = |roles: &Roles<T>| match kind {
                ContactModel::Sap if !roles.are_rigid() => {
                    let at = PairInertia { model, state, moving, joints, factors };
                    pair_inverse_inertia(&at, pair, roles, link_rows)
                }
                _ => Matrix6::from_element(T::from(0.0)),
            };
            let rate = settings.bristles().map(|law| law.rate(&state.deflection(patch.pair)));
            let found = &problem.contacts;
            let impulse =
                patch_impulse(model, before, after, rate, patch, &settings, found, evaluated, lambda);
            if let Some((on_a, origin)) = impulse {
                visit(before, pair, on_a, origin);
            }
        }
    }

    /// The impulse on body `on` about its origin, in W, of its contacts with body `from` over a step to a state.
    #[inline(never)]
    pub(in crate::step) fn impulse_between(
        &mut self,
        kind: ContactModel,
        step: &StepProblem<'_, T>,
        after: &State<T>,
        solved: Solved<'_>,
        (on, from): (usize, usize),
    ) -> SpatialForce<T> {
        write_velocities(after, &mut self.velocity);
        self.set_frames(step.model, step.state);
        self.factorize_joints(kind, step.model, step.length());
        let mut sum = SpatialForce::zero();
        self.for_each_impulse(kind, step, solved, |before, pair, on_a, origin| {
            let on_body = match (pair.bodies.a, pair.bodies.b) {
                (a, b) if (a, b) == (on, from) => on_a,
                (a, b) if (a, b) == (from, on) => -on_a,
                _ => return,
            };
            sum += on_body.shifted(&(before[on].pose.translation - origin));
        });
        sum
    }

    /// Takes a Newton step with the factors of the slope in `f64`: each gives the velocities another
    /// order of derivatives.
    pub fn correct(&mut self, factors: &Factors) {
        // What is left of the real part is rounding.
        self.residual.iter_mut().for_each(|r| *r -= r.real());
        factors.solve_scalars(&mut self.residual);
        self.velocity.iter_mut().zip(&self.residual).for_each(|(v, r)| *v -= *r);
    }

    /// Sets the frames of bodies before the step, and those with their velocities after it, at the poses that they have
    /// before it.
    fn set_frames(&mut self, model: &Model<T>, state: &State<T>) {
        model.update_frames(state, &mut self.before, &mut self.joints);
        let Self { before, after, velocity, joints_after, .. } = self;
        after.clone_from(before);
        for ((index, _, _), v) in model.free_bodies().zip(velocity.chunks_exact(BODY)) {
            after[index].velocity = velocity_of(v);
        }
        let of_joints = &velocity[BODY * state.bodies.len()..];
        set_link_velocities(model, joints_after, &state.joints.q, of_joints, after);
    }

    /// Begins the residual: the part of the free bodies without contact.
    fn start(&mut self, model: &Model<T>, state: &State<T>, dt: T) {
        let Self { residual, after, free_motions, forces, .. } = self;
        residual.clear();
        let bodies = model.free_bodies().zip(&state.bodies).zip(&free_motions.bodies).zip(&forces.bodies);
        for ((((index, _, mass), state), free), force) in bodies {
            let body = BodyInertia::new(mass, state);
            let free = body.free_momentum(&state.velocity, free, force, &model.gravity, dt);
            let kept = body.momentum(&after[index].velocity);
            let (kept, free) =
                (six(&kept.rotational, &kept.translational), six(&free.rotational, &free.translational));
            residual.extend(kept.iter().zip(free).map(|(&a, p)| a - p));
        }
    }

    /// The factors of the joints' part of A, where SAP takes them.
    fn factorize_joints(&mut self, kind: ContactModel, model: &Model<T>, dt: T) {
        let n = if kind == ContactModel::Sap { model.mechanism.velocity_dimension() } else { 0 };
        let Self { factors, joints, .. } = self;
        if factors.nrows() != n {
            *factors = DMatrix::from_element(n, n, T::from(0.0));
        }
        if n > 0 {
            model.mechanism.step_matrix(joints.of(&model.mechanism), dt, factors);
            model.mechanism.factorize(factors);
        }
    }

    /// Appends the part of the joints:
    /// δt (ID(q, v₀, (v − v₀)/δt) + D v + K (q + δt v − q_rest) − τ), less the impulses of actuators,
    /// stops and the motion without forces, at the kinematics of the state. Of trees under computed torque the acceleration that
    /// their drives lead with is taken from that in ID, and D and K are not theirs.
    fn add_joints(&mut self, step: &StepProblem<'_, T>) {
        let (StepProblem { model, state, control, .. }, dt) = (*step, step.length());
        let Self { velocity, forces, joints, on_links, vdot, of_joints, free_motions, .. } = self;
        let v = &velocity[BODY * state.bodies.len()..];
        if v.is_empty() {
            return;
        }
        let (commands, mechanism) = (&control[..model.command_dimension()], &model.mechanism);
        let rate = dt.recip();
        vdot.clear();
        vdot.extend(v.iter().zip(&state.joints.v).map(|(&v, &before)| (v - before) * rate));
        model.for_each_computed_torque(commands, |axis| {
            vdot[axis.v] -= axis.acceleration_after(dt, state.joints.q[axis.q], v[axis.v]);
        });
        of_joints.clear();
        of_joints.resize(v.len(), T::from(0.0));
        mechanism.inverse_dynamics(joints.of(mechanism), vdot, &model.gravity, on_links, of_joints);
        for (r, tau) in of_joints.iter_mut().zip(&forces.joints) {
            *r -= *tau;
        }
        for (_, joint) in mechanism.passive_joints() {
            for k in joint.v.clone() {
                of_joints[k] += joint.damping * v[k];
            }
            if joint.q.len() == 1 {
                let (k, spring) = (joint.v.start, &joint.spring);
                of_joints[k] += spring.stiffness * (state.joints.q[joint.q.start] + v[k] * dt - spring.rest);
            }
        }
        of_joints.iter_mut().for_each(|r| *r *= dt);
        model.for_each_joint_law(commands, &mut |at, law| {
            of_joints[at.v] -= law.impulse(dt, state.joints.q[at.q], v[at.v]);
        });
        for (residual, impulse) in of_joints.iter_mut().zip(&free_motions.joints.impulse) {
            *residual -= *impulse;
        }
        self.residual.extend_from_slice(&self.of_joints);
    }

    /// The deflection of bristles after the step, at these velocities.
    pub(super) fn move_bristles(
        &mut self,
        kind: ContactModel,
        step: &StepProblem<'_, T>,
        problem: &Problem,
        after: &mut State<T>,
    ) {
        let (StepProblem { model, state, .. }, dt) = (*step, step.length());
        if model.bristle_count() == 0 {
            after.bristles.clear();
            return;
        }
        self.set_frames(model, state);
        let settings = settings_of(model, kind, dt);
        let of = (model, step.asleep);
        move_bristles(&settings, of, state, problem, &self.after, &mut after.bristles);
    }

    /// The state carried by the velocities after the step, and by what free motions turn and shift bodies
    /// besides.
    pub fn move_state(&mut self, state: &State<T>, dt: T, after: &mut State<T>) {
        let Self { velocity, free_motions, moves, changes, .. } = self;
        let bodies = state.bodies.iter().zip(&free_motions.bodies).zip(velocity.chunks_exact(BODY));
        after.bodies.clear();
        after.bodies.reserve_exact(state.bodies.len());
        after.bodies.extend(bodies.map(|((state, free), v)| {
            let velocity = velocity_of(v);
            BodyState {
                orientation: state.orientation.rotated_by(&(velocity.rotational * dt + free.extra_turn)),
                position: state.position + velocity.translational * dt + free.extra_shift,
                velocity,
            }
        }));
        let v = &velocity[BODY * state.bodies.len()..];
        moves.clear();
        moves.extend(v.iter().map(|&v| v * dt));
        moves.iter_mut().zip(&free_motions.joints.extra_moves).for_each(|(x, extra)| *x += *extra);
        changes.clear();
        changes.extend(v.iter().zip(&state.joints.v).map(|(&v, &before)| v - before));
        after.joints.set_moved(&state.joints, moves, changes);
        // Not a sum with what it was before: the bits of the solution.
        after.joints.v.copy_from_slice(v);
    }
}
