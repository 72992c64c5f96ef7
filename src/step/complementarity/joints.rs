//! What a step does to the joints: their motion without contact, their mass matrix, and where it brings links.
//!
//! Over a step δt with velocities v before and v⁺ after it, A (v⁺ − v) = b + Σ Jᵀ p with A = M + δt D + δt² K and the
//! impulse b of gravity, applied forces, damping and springs (as in velocity-level steps; see
//! [`Mechanism::step_matrix`]). M is that at the start, J those of links after the step. Drives, stops and friction in joints
//! act with the positions and velocities at the end: each is linear in v⁺ about a velocity, which is v⁺ in the end
//! (`search.rs`).

use std::sync::Arc;

use nalgebra::{DMatrix, DVector, Vector3};

use crate::multibody::tree::{InertialMotion, Mechanism, StepInput, Workspace};
use crate::multibody::{Forces, JointKinematics, JointLaw, Model, State, link_forces};
use crate::scalar::Scalar;
use crate::spatial::rotation_exponential;
use crate::step::StepProblem;

/// Where the laws of single coordinates (drives, stops, friction) are linear: a velocity of each coordinate, and what
/// their impulses change by with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LawPoint {
    pub velocities: Vec<f64>,
    pub slopes: Vec<f64>,
}

/// Which lines take the place of laws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lines {
    /// Tangents: Newton's method, which is fast near the solution.
    Tangents,
    /// Lines as steep as the law is anywhere or, of friction, that through rest: their costs lie above the laws', so that each
    /// solution has less cost than the last.
    Steep,
}

impl LawPoint {
    /// The laws at velocities.
    pub fn at(step: &StepProblem<'_>, velocities: Vec<f64>, lines: Lines) -> Self {
        let StepProblem { model, state, control, .. } = *step;
        let time_step = step.length();
        let mut slopes = vec![0.0; velocities.len()];
        model.for_each_joint_law(&control[..model.command_dimension()], &mut |at, law| {
            let (q, v) = (state.joints.q[at.q], velocities[at.v]);
            slopes[at.v] += match (lines, law) {
                (Lines::Steep, JointLaw::Friction { friction, stiction_velocity }) => {
                    -time_step * friction / v.hypot(stiction_velocity)
                }
                (Lines::Steep, JointLaw::Drive { drive, command, .. }) => {
                    slope(&JointLaw::Drive { drive, command, effort: f64::INFINITY }, time_step, q, v)
                }
                (_, law) => slope(&law, time_step, q, v),
            };
        });
        Self { velocities, slopes }
    }

    /// The largest difference of the laws' impulses at other velocities to what they are taken for there.
    pub fn error(&self, step: &StepProblem<'_>, velocities: &[f64]) -> f64 {
        let StepProblem { model, state, control, .. } = *step;
        let time_step = step.length();
        let mut off: Vec<f64> = self
            .slopes
            .iter()
            .zip(velocities.iter().zip(&self.velocities))
            .map(|(slope, (v, at))| slope * (v - at))
            .collect();
        model.for_each_joint_law(&control[..model.command_dimension()], &mut |at, law| {
            let q = state.joints.q[at.q];
            off[at.v] += law.impulse(time_step, q, self.velocities[at.v])
                - law.impulse(time_step, q, velocities[at.v]);
        });
        off.iter().fold(0.0, |most: f64, x| most.max(x.abs()))
    }
}

/// How the impulse of a law changes with the velocity at the end.
fn slope(law: &JointLaw, dt: f64, q: f64, v: f64) -> f64 {
    let [_, by_velocity, _] = law.slopes(|law, q, v| law.impulse(dt.into(), q, v), q, v);
    by_velocity
}

/// The joints over a step.
#[derive(Clone, Debug)]
pub(super) struct JointStep<T = f64> {
    pub mechanism: Arc<Mechanism<T>>,
    /// Configuration and velocity before it.
    q: Vec<T>,
    before: Vec<T>,
    /// How far the move of the configuration is from δt v⁺; nothing where it is that.
    extra_moves: Vec<T>,
    /// A, with what the laws add to it.
    pub matrix: DMatrix<T>,
    /// b, with the laws at their velocities.
    impulse: Vec<T>,
    /// The velocities without contact.
    pub free: Vec<f64>,
    pub inverse: Arc<DMatrix<f64>>,
    /// Which coordinates are turns.
    pub turns: Arc<[bool]>,
    pub laws: LawPoint,
}

impl<T: Scalar> JointStep<T> {
    /// The joints of a model under forces, which have the laws at the start of the step. Without numbers if A is
    /// singular.
    pub fn new(
        model: &Model<T>,
        state: &State<T>,
        forces: &Forces<T>,
        commands: &[T],
        dt: T,
        laws: &LawPoint,
    ) -> Self {
        let (mechanism, joints) = (model.mechanism(), &state.joints);
        let n = mechanism.velocity_dimension();
        let (mut applied, mut kinematics) = (Vec::new(), JointKinematics::default());
        link_forces(model, &forces.bodies, &mut applied);
        let workspace = kinematics.update(mechanism, &joints.q, &joints.v);
        let mut tau = forces.joints.clone();
        model.for_each_joint_law(commands, &mut |at, law| {
            tau[at.v] -= law.force(joints.q[at.q], joints.v[at.v]);
        });
        let (q, v, gravity) = (&joints.q[..], &joints.v[..], *model.gravity());
        let mut matrix = DMatrix::from_element(n, n, T::from(0.0));
        mechanism.step_matrix(workspace, dt, &mut matrix);
        let input = StepInput { q, v, tau: &tau, gravity, applied: &applied };
        let mut impulse = vec![T::from(0.0); n];
        mechanism.free_impulse(workspace, &input, dt, &mut impulse);
        let motion = if mechanism.has_spherical_joints() {
            InertialMotion::new(mechanism, &mechanism.real(), q, v, dt)
        } else {
            InertialMotion::default()
        };
        impulse.iter_mut().zip(&motion.impulse).for_each(|(b, free)| *b += *free);
        model.for_each_computed_torque(commands, |axis| {
            let change = axis.free_change(dt, joints);
            impulse.iter_mut().enumerate().for_each(|(i, b)| *b += matrix[(i, axis.v)] * change);
        });
        model.for_each_joint_law(commands, &mut |at, law| {
            impulse[at.v] += law.impulse(dt, q[at.q], T::from(laws.velocities[at.v]));
        });
        for (k, (slope, at)) in laws.slopes.iter().zip(&laws.velocities).enumerate() {
            let slope = T::from(*slope);
            matrix[(k, k)] -= slope;
            impulse[k] += slope * (v[k] - T::from(*at));
        }
        let inverse = matrix.map(|x| x.real()).try_inverse();
        let inverse = inverse.unwrap_or_else(|| DMatrix::from_element(n, n, f64::INFINITY));
        let change = &inverse * DVector::from_iterator(n, impulse.iter().map(|b| b.real()));
        let free = v.iter().zip(change.iter()).map(|(v, c)| v.real() + c).collect();
        let turns = mechanism
            .joints_with_coordinates()
            .flat_map(|joint| (0..joint.v.len()).map(|index| !joint.kind.is_translation(index)))
            .collect();
        Self {
            mechanism: Arc::new(mechanism.clone()),
            q: q.to_vec(),
            before: v.to_vec(),
            extra_moves: motion.extra_moves,
            matrix,
            impulse,
            free,
            inverse: Arc::new(inverse),
            turns,
            laws: laws.clone(),
        }
    }

    /// The joints on a part of their way without contact.
    pub fn part(&self, part: f64) -> Self {
        let free: Vec<f64> = self.free.iter().map(|v| v * part).collect();
        let changes = self.changes(&free.iter().map(|&v| T::from(v)).collect::<Vec<_>>());
        let impulse = &self.matrix * DVector::from_vec(changes);
        let extra_moves = self.extra_moves.iter().map(|x| *x * T::from(part)).collect();
        Self { impulse: impulse.as_slice().to_vec(), extra_moves, free, ..self.clone() }
    }

    /// How velocities after the step move the configuration.
    pub fn moves(&self, velocities: &[T], dt: T) -> Vec<T> {
        let mut moves: Vec<T> = velocities.iter().map(|v| *v * dt).collect();
        moves.iter_mut().zip(&self.extra_moves).for_each(|(x, extra)| *x += *extra);
        moves
    }

    /// How they differ from those before it.
    pub fn changes(&self, velocities: &[T]) -> Vec<T> {
        velocities.iter().zip(&self.before).map(|(after, before)| *after - *before).collect()
    }

    /// The links after a part of the step.
    pub fn links(&self, velocities: &[T], dt: T, part: f64) -> Workspace<T> {
        let mut q = self.q.clone();
        let mut moves = self.moves(velocities, dt);
        moves.iter_mut().for_each(|x| *x *= T::from(part));
        self.mechanism.move_configuration(&self.q, &moves, &mut q);
        let mut workspace = Workspace::new(&self.mechanism);
        self.mechanism.update_kinematics(&q, velocities, &mut workspace);
        workspace
    }

    /// Turns the moments among generalized forces of ball and free joints, which are about axes that stay, with the bodies by
    /// what is left of the step.
    pub fn turn(&self, velocities: &[T], left: T, forces: &mut [T]) {
        for joint in self.mechanism.joints_with_coordinates().filter(|joint| joint.kind.is_spherical()) {
            let three = |of: &[T]| Vector3::from_fn(|k, _| of[joint.v.start + k]);
            let turned = rotation_exponential(&(three(velocities) * left)) * three(forces);
            forces[joint.v.start..][..3].copy_from_slice(turned.as_slice());
        }
    }

    /// What is left of the balance A (v⁺ − v) = b + momentum along an axis.
    pub fn balance(&self, coordinate: usize, velocities: &[T], momentum: T) -> T {
        let changes = velocities.iter().zip(&self.before);
        let sum = changes.enumerate().fold(T::from(0.0), |sum, (k, (after, before))| {
            sum + self.matrix[(coordinate, k)] * (*after - *before)
        });
        sum - self.impulse[coordinate] - momentum
    }
}

impl JointStep {
    /// The memory that it holds, bytes, but for the mechanism's.
    pub fn bytes(&self) -> usize {
        let numbers = self.matrix.len() + self.inverse.len() + self.q.len() + 6 * self.before.len();
        numbers * size_of::<f64>()
    }

    /// The same numbers of another scalar.
    pub fn map<U: Scalar>(&self, f: impl Fn(f64) -> U + Copy) -> JointStep<U> {
        let numbers = |x: &[f64]| x.iter().map(|&x| f(x)).collect();
        JointStep {
            mechanism: Arc::new(Mechanism::lift(&self.mechanism)),
            q: numbers(&self.q),
            before: numbers(&self.before),
            extra_moves: numbers(&self.extra_moves),
            matrix: self.matrix.map(f),
            impulse: numbers(&self.impulse),
            free: self.free.clone(),
            inverse: Arc::clone(&self.inverse),
            turns: Arc::clone(&self.turns),
            laws: self.laws.clone(),
        }
    }
}
