//! How forces accelerate the joints of a model, and the vector–Jacobian product of that.

use nalgebra::{DMatrix, Vector3};

use super::force_values::Forces;
use crate::multibody::parameters::model_gradient::add_mass;
use crate::multibody::tree::{
    BodyForce, InverseDerivatives, JointState, Mechanism, MotionCotangent, velocities_of_bodies,
};
use crate::multibody::{BodyFrame, JointKinematics, Model, ModelGradient, TANGENT_DIMENSION};
use crate::scalar::Scalar;
use crate::spatial::{MassProperties, SpatialForce};

/// The forces on links, for the algorithms on trees; `forces` are those on the moving bodies.
pub(crate) fn link_forces<T: Scalar>(
    model: &Model<T>,
    forces: &[SpatialForce<T>],
    out: &mut Vec<BodyForce<T>>,
) {
    out.clear();
    let first = forces.len() - model.links().count();
    out.extend(
        model.links().zip(&forces[first..]).map(|((_, body), force)| BodyForce { body, force: *force }),
    );
}

/// The acceleration of joints, and memory that the next evaluation of it reuses.
#[derive(Debug)]
pub(crate) struct JointAcceleration<T = f64> {
    /// v̇: a number for each velocity axis.
    pub vdot: Vec<T>,
    applied: Vec<BodyForce<T>>,
    tau: Vec<T>,
}

impl<T> Default for JointAcceleration<T> {
    fn default() -> Self {
        Self { vdot: Vec::new(), applied: Vec::new(), tau: Vec::new() }
    }
}

impl<T: Scalar> JointAcceleration<T> {
    /// Becomes that under gravity, the joints' damping and springs, forces, and what drives of computed torque add under
    /// their commands, at the state that `kinematics` was brought to last.
    pub fn evaluate(
        &mut self,
        model: &Model<T>,
        joints: &JointState<T>,
        forces: &Forces<T>,
        commands: &[T],
        kinematics: &mut JointKinematics<T>,
    ) -> &mut Vec<T> {
        self.evaluate_forces(model, joints, forces, kinematics);
        model.for_each_computed_torque(commands, |axis| self.vdot[axis.v] += axis.acceleration(joints));
        &mut self.vdot
    }

    /// Becomes that without what drives of computed torque add.
    fn evaluate_forces(
        &mut self,
        model: &Model<T>,
        joints: &JointState<T>,
        forces: &Forces<T>,
        kinematics: &mut JointKinematics<T>,
    ) {
        let (mechanism, Self { vdot, applied, tau }) = (&model.mechanism, self);
        vdot.clear();
        vdot.resize(mechanism.velocity_dimension(), T::from(0.0));
        if !vdot.is_empty() {
            link_forces(model, &forces.bodies, applied);
            tau.clone_from(&forces.joints);
            mechanism.passive_forces(&joints.q, &joints.v, tau);
            mechanism.forward_dynamics(kinematics.of(mechanism), tau, &model.gravity, applied, vdot);
        }
    }
}

/// The dependence of the joints' balance of forces on everything, at a state and an acceleration;
/// memory that is reused.
#[derive(Debug, Default)]
pub(crate) struct JointSensitivity {
    kinematics: JointKinematics,
    /// The mass matrix at the state of the last evaluation, its factors, τ, and the derivatives of τ.
    mass_matrix: DMatrix<f64>,
    factors: DMatrix<f64>,
    tau: Vec<f64>,
    inverse: Option<InverseDerivatives>,
    applied: Vec<BodyForce>,
    acceleration: JointAcceleration,
}

impl JointSensitivity {
    /// The derivatives of a number with respect to all forces on links and along joints, given those
    /// with respect to the joints' acceleration: appended to `by_force.bodies`, and put in place of
    /// `by_force.joints`. They do not depend on the forces.
    pub fn force_cotangent(
        &mut self,
        model: &Model,
        joints: &JointState,
        by_acceleration: &[f64],
        by_force: &mut Forces,
    ) {
        by_force.joints.clear();
        by_force.joints.extend_from_slice(by_acceleration);
        let mechanism = &model.mechanism;
        let n = mechanism.velocity_dimension();
        if n == 0 {
            return;
        }
        let workspace = self.kinematics.update(mechanism, &joints.q, &joints.v);
        fit(&mut self.factors, n);
        mechanism.mass_matrix(workspace, &mut self.factors);
        mechanism.factorize(&mut self.factors);
        mechanism.solve(&self.factors, &mut by_force.joints);
        let Forces { bodies, joints: rates } = by_force;
        self.spread(model, rates, bodies);
    }

    /// Adds the derivatives of a number through the joints' acceleration under constant forces: by
    /// configuration and velocity to `by_joints`, by gravity, masses, dampings and springs to
    /// `by_model`. What drives of computed torque add is left to [`Model::add_computed_torque_vjp`].
    /// `by_joint_forces` are those of [`Self::force_cotangent`], at the same state.
    pub fn add_acceleration_vjp(
        &mut self,
        model: &Model,
        joints: &JointState,
        forces: &Forces,
        by_joint_forces: &[f64],
        by_joints: &mut [f64],
        by_model: &mut ModelGradient,
    ) {
        if model.mechanism.velocity_dimension() == 0 {
            return;
        }
        self.kinematics.update(&model.mechanism, &joints.q, &joints.v);
        self.acceleration.evaluate_forces(model, joints, forces, &mut self.kinematics);
        let vdot = std::mem::take(&mut self.acceleration.vdot);
        self.evaluate(model, joints, &vdot, &forces.bodies);
        self.acceleration.vdot = vdot;
        self.subtract_vjp(model, by_joint_forces, by_joints, by_model);
        add_passive_vjp(model, joints, by_joint_forces, by_joints, by_model);
    }

    /// Evaluates how τ of inverse dynamics depends on everything, at a state, an acceleration, and
    /// forces on the moving bodies that keep their components in W.
    pub fn evaluate(&mut self, model: &Model, joints: &JointState, vdot: &[f64], forces: &[SpatialForce]) {
        let Self { kinematics, mass_matrix, tau, inverse, applied, .. } = self;
        let mechanism = &model.mechanism;
        link_forces(model, forces, applied);
        let workspace = kinematics.update(mechanism, &joints.q, &joints.v);
        if inverse.as_ref().is_some_and(|i| !i.fits(mechanism)) {
            *inverse = None;
        }
        let inverse = inverse.get_or_insert_with(|| InverseDerivatives::new(mechanism));
        let n = mechanism.velocity_dimension();
        fit(mass_matrix, n);
        tau.resize(n, 0.0);
        mechanism.mass_matrix(workspace, mass_matrix);
        mechanism.inverse_dynamics_derivatives(workspace, vdot, &model.gravity, applied, tau, inverse);
    }

    /// The mass matrix at the state of [`Self::evaluate`].
    pub const fn mass_matrix(&self) -> &DMatrix<f64> {
        &self.mass_matrix
    }

    /// Adds the derivatives of −`left`ᵀ τ: by configuration and velocity to `by_joints`, one
    /// after the other, and by gravity and the links' masses to `by_model`.
    pub fn subtract_vjp(
        &mut self,
        model: &Model,
        left: &[f64],
        by_joints: &mut [f64],
        by_model: &mut ModelGradient,
    ) {
        let Some(inverse) = &self.inverse else { return };
        let mechanism = &model.mechanism;
        let minus: Vec<f64> = left.iter().map(|x| -x).collect();
        let (by_q, by_v) = by_joints.split_at_mut(left.len());
        for (i, minus) in minus.iter().enumerate().filter(|(_, minus)| **minus != 0.0) {
            for j in 0..left.len() {
                by_q[j] += minus * inverse.tau_by_q[(i, j)];
                by_v[j] += minus * inverse.tau_by_v[(i, j)];
            }
        }
        let workspace = self.kinematics.of(mechanism);
        by_model.gravity += mechanism.inverse_dynamics_by_gravity(workspace, &minus);
        if by_model.of_links {
            mechanism.inverse_dynamics_by_masses(workspace, &minus, |link, by| {
                add_link_mass(model, by_model, link, by);
            });
        }
    }

    /// Appends the velocities of the links that go with rates of the coordinates, about the links'
    /// origins, at the state of the last evaluation: as forces, since that is what they are
    /// multiplied with.
    pub fn spread(&mut self, model: &Model, rates: &[f64], out: &mut Vec<SpatialForce>) {
        let mechanism = &model.mechanism;
        let links = model.links().map(|(_, link)| link);
        velocities_of_bodies(mechanism, self.kinematics.of(mechanism), rates, links, |v| {
            out.push(SpatialForce::new(v.rotational, v.translational));
        });
    }
}

/// Makes a matrix one of n rows and columns.
fn fit(matrix: &mut DMatrix<f64>, n: usize) {
    if matrix.nrows() != n {
        *matrix = DMatrix::zeros(n, n);
    }
}

/// Adds the derivatives of `left`ᵀ τ, with τ of the joints' damping and springs: by configuration
/// and velocity to `by_joints`, and by these themselves.
fn add_passive_vjp(
    model: &Model,
    joints: &JointState,
    left: &[f64],
    by_joints: &mut [f64],
    by_model: &mut ModelGradient,
) {
    for (index, joint) in model.mechanism.passive_joints() {
        let by = &mut by_model.joints[index];
        for k in joint.v.clone() {
            by_joints[left.len() + k] -= joint.damping * left[k];
            by.damping -= joints.v[k] * left[k];
        }
        if joint.q.len() == 1 {
            let k = joint.v.start;
            by_joints[k] -= joint.spring.stiffness * left[k];
            by.stiffness -= (joints.q[joint.q.start] - joint.spring.rest) * left[k];
            by.rest += joint.spring.stiffness * left[k];
        }
    }
}

/// Adds derivatives with respect to the mass properties of a body of the mechanism, if it is a link of
/// the model.
pub(crate) fn add_link_mass(model: &Model, by_model: &mut ModelGradient, link: usize, by: &MassProperties) {
    let first = by_model.masses.len() - model.links().count();
    if let Some(index) = model.links().position(|(_, l)| l == link) {
        add_mass(&mut by_model.masses[first + index], by);
    }
}

/// Adds to `by_joints` (configuration, then velocity) the derivatives of a number with respect to the
/// joints, given those with respect to the motions of the moving bodies, twelve for each (see
/// [`TANGENT_DIMENSION`]), at the configuration that `kinematics` was brought to last, and the rates
/// that the links' velocities come from.
pub(crate) fn add_link_motions(
    model: &Model,
    kinematics: &mut JointKinematics,
    by_motion: &[f64],
    by_joints: &mut [f64],
) {
    let mechanism: &Mechanism = &model.mechanism;
    if mechanism.velocity_dimension() == 0 {
        return;
    }
    let workspace = kinematics.of(mechanism);
    let first = by_motion.len() - TANGENT_DIMENSION * model.links().count();
    let part = |x: &[f64], i: usize| Vector3::new(x[i], x[i + 1], x[i + 2]);
    let motions = by_motion[first..].chunks_exact(TANGENT_DIMENSION).zip(model.links());
    let motions = motions.map(|(by, (_, body))| MotionCotangent {
        body,
        pose: SpatialForce::new(part(by, 0), part(by, 3)),
        velocity: SpatialForce::new(part(by, 6), part(by, 9)),
    });
    let (by_q, by_v) = by_joints.split_at_mut(mechanism.velocity_dimension());
    mechanism.motion_vjp(workspace, motions, by_q, by_v);
}

/// Sets the velocities of the links' frames to those at other rates of the coordinates.
pub(crate) fn set_link_velocities<T: Scalar>(
    model: &Model<T>,
    kinematics: &mut JointKinematics<T>,
    q: &[T],
    v: &[T],
    frames: &mut [BodyFrame<T>],
) {
    if v.is_empty() {
        return;
    }
    let workspace = kinematics.update(&model.mechanism, q, v);
    for (body, link) in model.links() {
        frames[body].velocity = workspace.body_velocity(&model.mechanism, link);
    }
}
