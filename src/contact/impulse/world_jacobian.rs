//! The derivatives of a pair's impulse over a velocity-level step in the world: the chain from F's
//! frame (see [`crate::contact::impulse::local_jacobian`]) to the motions of both bodies' frames.

use nalgebra::{Matrix3, Matrix6, Vector3, Vector6};

use crate::contact::ContactModel;
use crate::contact::force::jvp::ContactJacobian;
use crate::contact::impulse::inverse_inertia::ByInverseInertia;
use crate::contact::impulse::local_jacobian::PairImpulse;
use crate::contact::impulse::point_contacts::{DiscretePatch, DiscreteSettings, PointContacts};
use crate::contact::pair::combination::combination_derivatives;
use crate::contact::pair::material::PairMaterial;
use crate::contact::pair::query::{ContactPair, Roles};
use crate::spatial::{SpatialForce, SpatialVelocity, cross_matrix, from_quarters};

/// How an impulse on O about F's origin, as a function of both frames and of the relative velocity
/// there, follows those: the chain from F's frame to W.
struct WorldChain<'a> {
    roles: &'a Roles<'a, f64>,
    /// From F's to W's axes, for torque and force.
    turn: Matrix6<f64>,
    /// From O's origin to F's, in W.
    offset: Vector3<f64>,
}

impl<'a> WorldChain<'a> {
    fn new(roles: &'a Roles<'a, f64>) -> Self {
        let (r, zero) = (roles.x_wf.rotation, Matrix3::zeros());
        Self { roles, turn: from_quarters(r, zero, zero, r), offset: -(r * roles.x_fo.translation) }
    }

    /// A vector of torque and force on O about F's origin, in F, as one on A about A's origin, in W.
    fn on_a(&self, w: &Vector6<f64>) -> Vector6<f64> {
        let r = &self.roles.x_wf.rotation;
        let (torque, force) = (r * Vector3::new(w[0], w[1], w[2]), r * Vector3::new(w[3], w[4], w[5]));
        let (torque, force) =
            if self.roles.a_is_o { (torque + self.offset.cross(&force), force) } else { (-torque, -force) };
        Vector6::new(torque.x, torque.y, torque.z, force.x, force.y, force.z)
    }

    /// From torque and force on O about F's origin to those on A about A's origin, both in W.
    fn about_a(&self) -> Matrix6<f64> {
        if self.roles.a_is_o {
            let (one, zero) = (Matrix3::identity(), Matrix3::zeros());
            from_quarters(one, cross_matrix(&self.offset), zero, one)
        } else {
            -Matrix6::identity()
        }
    }

    /// The derivatives with respect to the frames' velocities and, through them, poses, of what has
    /// the derivative `by_velocity` with respect to the relative velocity `relative`, which is in F's axes;
    /// O's angular velocity in W is `spin`. Of O, then of F: by pose, by velocity.
    fn through_velocity(
        &self,
        by_velocity: &Matrix6<f64>,
        relative: &SpatialVelocity,
        spin: &Vector3<f64>,
    ) -> [[Matrix6<f64>; 2]; 2] {
        let zero = Matrix3::zeros();
        let by = by_velocity * self.turn.transpose();
        let relative = relative.rotated(&self.roles.x_wf.rotation);
        let spin = cross_matrix(spin);
        let moves_o = from_quarters(zero, zero, zero, -spin);
        let moves_f = from_quarters(
            cross_matrix(&relative.rotational),
            zero,
            cross_matrix(&relative.translational),
            spin,
        );
        [[by * moves_o, by * self.carried()], [by * moves_f, -by]]
    }

    /// The motion of O's material at F's origin, from that of O's frame.
    fn carried(&self) -> Matrix6<f64> {
        let (one, zero) = (Matrix3::identity(), Matrix3::zeros());
        from_quarters(one, zero, -cross_matrix(&self.offset), one)
    }
}

/// The derivatives of a pair's impulse in the world.
#[derive(Clone, Debug)]
pub(crate) struct ImpulseJacobian {
    /// The impulse on A about the origin of A's geometry frame, in W.
    pub impulse_on_a: SpatialForce,
    /// Its derivatives; "velocity" means the velocities after the step.
    pub after: ContactJacobian,
    /// Its derivatives with respect to the velocities before the step and, through them, the poses: for
    /// Lagged, and where static friction is another than dynamic friction.
    pub before: Option<ContactJacobian>,
    /// For SAP: for each row its derivatives with respect to the inverse inertia Λ.
    pub by_inverse_inertia: Option<[ByInverseInertia; 6]>,
    pub bristles: Option<BristlesInWorld>,
}

/// The part of bristles in the derivatives in the world.
#[derive(Clone, Debug)]
pub(crate) struct BristlesInWorld {
    /// Of the impulse on A with respect to the deflection before the step.
    pub impulse_by_deflection: Matrix6<f64>,
    /// Of the deflection after the step with respect to that before it.
    pub by_deflection: Matrix6<f64>,
    /// Of the deflection after the step, as six numbers in F's axes; "velocity" means the velocities after it.
    pub after: ContactJacobian,
}

/// No derivatives.
fn no_jacobian() -> ContactJacobian {
    let (matrix, vector) = (Matrix6::zeros(), Vector6::zeros());
    ContactJacobian {
        by_pose_a: matrix,
        by_pose_b: matrix,
        by_velocity_a: matrix,
        by_velocity_b: matrix,
        by_modulus_a: vector,
        by_modulus_b: vector,
        by_parameters: PairMaterial::filled(vector),
        area_by_pose_a: vector,
        area_by_modulus_a: 0.0,
        area_by_modulus_b: 0.0,
    }
}

/// The derivatives of the impulse between two bodies; the impulse on O and its negative derivative with
/// respect to the velocity after the step are given as [`DiscretePatch::about_f`] does. The velocities
/// of `before` are those before the step; `after` has the same bodies at the same poses with those after
/// it.
pub(crate) fn world_impulse_jacobian(
    before: &ContactPair,
    after: &ContactPair,
    settings: &DiscreteSettings,
    patch: &DiscretePatch,
    contacts: &PointContacts,
    (impulse, hessian): &(Vector6<f64>, Matrix6<f64>),
) -> Option<ImpulseJacobian> {
    let (roles, roles_after) = (Roles::of_step(before).ok()?, Roles::of_step(after).ok()?);
    let (v0, v1) = (roles.v_fo, roles_after.v_fo);
    let pair = PairImpulse { roles: &roles, settings, patch, contacts, before: &v0, after: &v1 };
    let local = pair.jacobian();
    let chain = WorldChain::new(&roles);
    let about_a = chain.about_a();
    let zero = Matrix3::zeros();
    let on_o = chain.turn * impulse;
    let (torque, force) = (Vector3::new(on_o[0], on_o[1], on_o[2]), Vector3::new(on_o[3], on_o[4], on_o[5]));
    let spins = if roles.a_is_o {
        [after.v_wa.rotational, before.v_wa.rotational]
    } else {
        [after.v_wb.rotational, before.v_wb.rotational]
    };

    // By the motion of O relative to F, and with F's axes.
    let by_motion = Matrix6::from_fn(|row, k| local.by_geometry[row][k]);
    let by_motion = chain.turn * by_motion * chain.turn.transpose();
    let [of_o, of_f] = chain.through_velocity(&(chain.turn * -*hessian), &v1, &spins[0]);
    let mut pose_o = by_motion * chain.carried() + of_o[0];
    let mut pose_f =
        of_f[0] - by_motion - from_quarters(cross_matrix(&torque), zero, cross_matrix(&force), zero);
    if roles.a_is_o {
        // The moment is then taken about O's origin, whose offset from F's changes.
        let by_offset = from_quarters(zero, cross_matrix(&force), zero, zero);
        pose_o += by_offset;
        pose_f -= by_offset;
    }
    let assign = |o: Matrix6<f64>, f: Matrix6<f64>| {
        let (o, f) = (about_a * o, about_a * f);
        if roles.a_is_o { (o, f) } else { (f, o) }
    };
    let mut jacobian = no_jacobian();
    (jacobian.by_pose_a, jacobian.by_pose_b) = assign(pose_o, pose_f);
    (jacobian.by_velocity_a, jacobian.by_velocity_b) = assign(of_o[1], of_f[1]);
    jacobian.by_parameters = local.by_parameters.map(|by| chain.on_a(&by));
    let combination = combination_derivatives(roles.o, roles.f, settings.contact);
    let by_modulus = [roles.o, roles.f].map(|c| c.material.hydroelastic_modulus);
    let by_modulus = [0, 1].map(|k| {
        let rigid = [roles.o, roles.f][k].geometry.is_rigid();
        let by_logarithm = Vector6::from_fn(|row, _| local.by_geometry[row][6 + k]);
        let direct = if rigid { Vector6::zeros() } else { by_logarithm / by_modulus[k] };
        chain.on_a(&(direct + local.by_parameters.dissipation * combination[k].hydroelastic_modulus))
    });
    let [of_a, of_b] = if roles.a_is_o { [0, 1] } else { [1, 0] };
    (jacobian.by_modulus_a, jacobian.by_modulus_b) = (by_modulus[of_a], by_modulus[of_b]);

    let follows = settings.model == ContactModel::Lagged || patch.law.static_friction.is_some();
    let before = follows.then(|| {
        let [of_o, of_f] = chain.through_velocity(&(chain.turn * local.by_velocity_before), &v0, &spins[1]);
        let mut jacobian = no_jacobian();
        (jacobian.by_pose_a, jacobian.by_pose_b) = assign(of_o[0], of_f[0]);
        (jacobian.by_velocity_a, jacobian.by_velocity_b) = assign(of_o[1], of_f[1]);
        jacobian
    });
    let by_inverse_inertia = (settings.model == ContactModel::Sap && !patch.is_rigid).then(|| {
        let rows = about_a * chain.turn;
        std::array::from_fn(|i| {
            let mut sum = ByInverseInertia::ZERO;
            for (k, by) in local.by_inverse_inertia.iter().enumerate() {
                sum.add(by, rows[(i, k)]);
            }
            sum
        })
    });
    let bristles = local.bristles.as_ref().map(|bristles| {
        let by_geometry = &bristles.after.by_geometry;
        // The numbers are in F's axes, and are no wrench: they neither turn with F nor are shifted.
        let by_motion = by_geometry.fixed_columns::<6>(0) * chain.turn.transpose();
        let [of_o, of_f] = chain.through_velocity(&bristles.after.by_velocity, &v1, &spins[0]);
        let assign = |o: Matrix6<f64>, f: Matrix6<f64>| if roles.a_is_o { (o, f) } else { (f, o) };
        let mut after = no_jacobian();
        (after.by_pose_a, after.by_pose_b) =
            assign(by_motion * chain.carried() + of_o[0], of_f[0] - by_motion);
        (after.by_velocity_a, after.by_velocity_b) = assign(of_o[1], of_f[1]);
        let by_modulus = [roles.o, roles.f].map(|c| c.material.hydroelastic_modulus);
        let by_modulus = [0, 1].map(|k| match k == 0 && roles.o.geometry.is_rigid() {
            true => Vector6::zeros(),
            false => by_geometry.column(6 + k) / by_modulus[k],
        });
        (after.by_modulus_a, after.by_modulus_b) = (by_modulus[of_a], by_modulus[of_b]);
        BristlesInWorld {
            impulse_by_deflection: about_a * chain.turn * bristles.by_rate / bristles.time,
            by_deflection: bristles.after.by_deflection,
            after,
        }
    });
    let total = chain.on_a(impulse);
    let impulse_on_a = SpatialForce::new(
        Vector3::new(total[0], total[1], total[2]),
        Vector3::new(total[3], total[4], total[5]),
    );
    Some(ImpulseJacobian { impulse_on_a, after: jacobian, before, by_inverse_inertia, bristles })
}
