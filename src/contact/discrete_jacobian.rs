//! The derivatives of a pair's impulse over a velocity-level step with respect to what it depends
//! on: relative pose, velocities before and after the step, moduli and contact parameters.
//!
//! As for forces (see [`super::jacobian`]) eight directions of the surface's geometry are
//! propagated as plain arrays; each face's impulse is differentiated by what it depends on.

use nalgebra::{Matrix3, Matrix6, Vector3, Vector6};

use super::combination::combination_derivatives;
use super::discrete::{
    DiscretePatch, DiscreteSettings, PointContacts, contacts_of, face_constants, one_point, point_block,
    split, usable_gradient,
};
use super::impulse::{ContactModel, FaceConstants, ImpulseLaw};
use super::jacobian::{ByGeometry, DIRECTIONS, Dual, differentiate, differentiated_width};
use super::lanes::with_registers;
use super::lifted::ContactJacobian;
use super::one_sided::{depth, one_sided_by_geometry};
use super::onset::onset;
use super::polygon_derivatives::wrench_at;
use super::roles::{ContactPair, Roles};
use super::settings::DissipationModel;
use super::surface::{Fan, SurfacePolygon};
use super::traction::TractionLaw;
use super::wrench::{Workspace, for_each_point};
use crate::scalar::{DualArray, real_vector};
use crate::spatial::{SpatialForce, SpatialVelocity, cross_matrix, from_quarters};

/// What a face's impulse depends on: normal velocity, squared slip velocity, load, stiffness,
/// dissipation, friction, relaxation time, history.
const ARGUMENTS: usize = 8;
type Argument = DualArray<ARGUMENTS>;

const DISSIPATION: usize = 4;
const FRICTION: usize = 5;
const RELAXATION_TIME: usize = 6;
const HISTORY: usize = 7;

/// The derivatives of the impulse on O about F's origin, in F's frame; rows torque, then force.
#[derive(Clone, Debug)]
pub(crate) struct LocalImpulseJacobian {
    /// By O's rotation about F's origin, O's translation, and the logarithms of the moduli at
    /// fixed combined dissipation.
    pub by_geometry: ByGeometry,
    /// By the velocity of O relative to F before the step, at F's origin.
    pub by_velocity_before: Matrix6<f64>,
    /// By the combined dissipation (Hunt–Crossley) or the summed compliance χ/E (strain rate).
    pub by_dissipation: Vector6<f64>,
    /// By the combined relaxation time.
    pub by_relaxation_time: Vector6<f64>,
    /// By the combined coefficient of dynamic friction.
    pub by_friction: Vector6<f64>,
    /// For SAP: for each row its derivatives by the inverse inertia Λ.
    pub by_inverse_inertia: [Matrix6<f64>; 6],
}

/// The derivatives of w = ‖L Λ Lᵀ‖/3 (see [`super::discrete::point_inverse_inertia`]) by the
/// position and by Λ.
#[inline(always)]
fn inverse_inertia_slopes(lambda: &Matrix6<f64>, x: &Vector3<f64>, w: f64) -> (Vector3<f64>, Matrix6<f64>) {
    let block = point_block(lambda, x);
    let lever = cross_matrix(x);
    // L = (−[x]× 1); dw = block : d(L Λ Lᵀ) / (9 w).
    let upper = lambda.fixed_view::<3, 3>(0, 0) * lever + lambda.fixed_view::<3, 3>(0, 3);
    let b = upper * block;
    let scale = 1.0 / (9.0 * w);
    let by_x =
        Vector3::new(b[(2, 1)] - b[(1, 2)], b[(0, 2)] - b[(2, 0)], b[(1, 0)] - b[(0, 1)]) * (2.0 * scale);
    let turned = lever * (block * scale);
    let by_lambda = from_quarters(-turned * lever, turned, turned.transpose(), block * scale);
    (by_x, by_lambda)
}

/// The impulse's derivatives at the velocities `before` and `after` the step, of O relative to F
/// at F's origin.
pub(crate) fn impulse_jacobian(
    roles: &Roles<f64>,
    settings: &DiscreteSettings,
    patch: &DiscretePatch,
    contacts: &PointContacts,
    before: &SpatialVelocity,
    after: &SpatialVelocity,
) -> LocalImpulseJacobian {
    with_registers(
        #[inline(always)]
        || impulse_jacobian_in_registers(roles, settings, patch, contacts, before, after),
    )
}

#[inline(always)]
fn impulse_jacobian_in_registers(
    roles: &Roles<f64>,
    settings: &DiscreteSettings,
    patch: &DiscretePatch,
    contacts: &PointContacts,
    before: &SpatialVelocity,
    after: &SpatialVelocity,
) -> LocalImpulseJacobian {
    let traction = TractionLaw::new(roles, settings.contact);
    let constant = |x: f64| Argument::from(x);
    let law = ImpulseLaw {
        model: settings.model,
        dt: settings.dt,
        stiction_velocity: settings.contact.stiction_velocity,
        friction: Argument::variable(patch.law.friction, FRICTION),
        relaxation_time: Argument::variable(patch.law.relaxation_time, RELAXATION_TIME),
    };
    let mut jacobian = LocalImpulseJacobian {
        by_geometry: [[0.0; DIRECTIONS]; 6],
        by_velocity_before: Matrix6::zeros(),
        by_dissipation: Vector6::zeros(),
        by_relaxation_time: Vector6::zeros(),
        by_friction: Vector6::zeros(),
        by_inverse_inertia: [Matrix6::zeros(); 6],
    };
    let surface = settings.contact.surface;
    let lambda = &patch.inverse_inertia;
    let mut surface_area = 0.0;
    let width = differentiated_width(roles);
    let mut polygon = SurfacePolygon::empty();
    for (found, equilibrium) in &contacts.polygons[patch.polygons.clone()] {
        differentiate(roles, found, equilibrium, &mut polygon);
        let Some(gradient) = usable_gradient(&polygon, equilibrium) else { continue };
        let dissipation = match settings.contact.dissipation_model {
            DissipationModel::HuntCrossley => Dual::from(traction.pair().dissipation),
            DissipationModel::StrainRate => gradient * traction.strain_rate(),
        };
        // What the dissipation is proportional to, in the strain-rate form.
        let per_parameter = match settings.contact.dissipation_model {
            DissipationModel::HuntCrossley => 1.0,
            DissipationModel::StrainRate => gradient.re,
        };
        let fan = Fan::new(&polygon, surface);
        surface_area += fan.area.re;
        let n = real_vector(&polygon.normal);
        for_each_point(
            &polygon,
            &fan,
            surface,
            one_point(),
            #[inline(always)]
            |point, p, area| {
                let (p, slope) = onset(p, width);
                if area.re <= super::discrete::SMALLEST_AREA || slope.re <= super::discrete::SMALLEST_ONSET {
                    return;
                }
                let gradient = gradient * slope;
                let x = real_vector(point);
                let (load, stiffness) = (p * area, gradient * area);
                let constants = face_constants(
                    settings.model,
                    &x,
                    &n,
                    p.re,
                    area.re,
                    gradient.re,
                    dissipation.re,
                    before,
                    lambda,
                );
                let v = after.translational + after.rotational.cross(&x);
                let (v_n, v_t) = split(&v, &n);
                let arguments = FaceConstants {
                    load: Argument::variable(constants.load, 2),
                    stiffness: Argument::variable(constants.stiffness, 3),
                    dissipation: Argument::variable(constants.dissipation, DISSIPATION),
                    history: match settings.model {
                        ContactModel::Lagged | ContactModel::Sap => {
                            Argument::variable(constants.history, HISTORY)
                        }
                        ContactModel::Similar | ContactModel::Tamsi => constant(constants.history),
                    },
                };
                let impulse = law.impulse(
                    &arguments,
                    Argument::variable(v_n, 0),
                    Argument::variable(v_t.norm_squared(), 1),
                );
                let (normal, slip) = (impulse.normal, impulse.slip);
                if normal.re == 0.0 && slip.re == 0.0 {
                    return;
                }
                let by_argument =
                    |k: usize| Vector6::from(wrench_at(&x, &(n * normal.eps[k] - v_t * slip.eps[k])));
                jacobian.by_friction += by_argument(FRICTION);
                jacobian.by_relaxation_time += by_argument(RELAXATION_TIME);
                jacobian.by_dissipation += by_argument(DISSIPATION) * per_parameter;
                let mut history_by_x = Vector3::zeros();
                let mut history_by_n = Vector3::zeros();
                match settings.model {
                    ContactModel::Lagged => {
                        let by_history = by_argument(HISTORY);
                        jacobian.by_velocity_before +=
                            by_history * Vector6::from(wrench_at(&x, &n)).transpose();
                        history_by_x = -before.rotational.cross(&n);
                        history_by_n = before.translational + before.rotational.cross(&x);
                    }
                    ContactModel::Sap => {
                        let (by_x, by_lambda) = inverse_inertia_slopes(lambda, &x, constants.history);
                        let by_history = by_argument(HISTORY);
                        for (row, out) in jacobian.by_inverse_inertia.iter_mut().enumerate() {
                            let by_row = by_history[row];
                            for (out, by) in out.as_mut_slice().iter_mut().zip(by_lambda.as_slice()) {
                                *out += by * by_row;
                            }
                        }
                        history_by_x = by_x;
                    }
                    ContactModel::Similar | ContactModel::Tamsi => {}
                }
                let face = FaceMotion {
                    x: &x,
                    n: &n,
                    v: &v,
                    v_n,
                    v_t: &v_t,
                    spin: &after.rotational,
                    normal: &normal,
                    slip: &slip,
                    history_by_x: &history_by_x,
                    history_by_n: &history_by_n,
                };
                let arguments = [&load.eps, &stiffness.eps, &dissipation.eps];
                face.add_directions(point, &polygon.normal, arguments, &mut jacobian.by_geometry);
            },
        );
    }
    if patch.aligned {
        // The inverse inertia stays as it is in F's frame.
        let mut workspace = Workspace::default();
        let mut moved_contacts = PointContacts::default();
        let velocity = six(after);
        let impulse = |moved: &Roles<f64>| {
            moved_contacts.clear();
            let scratch = (&mut workspace, &mut moved_contacts);
            let found = contacts_of(moved, &traction, settings, |_| *lambda, scratch.0, scratch.1);
            found.map_or_else(Vector6::zeros, |patch| patch.impulse(&moved_contacts, &velocity).0)
        };
        let length = surface_area.max(0.0).sqrt();
        let depth = depth(roles, settings.contact, &mut Workspace::default());
        // The velocities at F's origin and in F are held.
        if let Some(by) = one_sided_by_geometry(roles, length, depth, impulse) {
            jacobian.by_geometry = std::array::from_fn(|row| std::array::from_fn(|k| by[(row, k)]));
        }
    }
    jacobian
}

/// Angular, then linear velocity.
fn six(v: &SpatialVelocity) -> Vector6<f64> {
    let (w, v) = (&v.rotational, &v.translational);
    Vector6::new(w.x, w.y, w.z, v.x, v.y, v.z)
}

/// A face's impulse, and what its derivatives by the geometry take.
struct FaceMotion<'a> {
    x: &'a Vector3<f64>,
    n: &'a Vector3<f64>,
    v: &'a Vector3<f64>,
    v_n: f64,
    v_t: &'a Vector3<f64>,
    /// Relative angular velocity after the step.
    spin: &'a Vector3<f64>,
    normal: &'a Argument,
    slip: &'a Argument,
    history_by_x: &'a Vector3<f64>,
    history_by_n: &'a Vector3<f64>,
}

impl FaceMotion<'_> {
    /// Adds the derivatives of the impulse and its torque along all directions of the geometry,
    /// which the face's position, its normal, load, stiffness and dissipation follow. Written out
    /// in components, so that all directions are computed at once.
    #[inline(always)]
    fn add_directions(
        &self,
        point: &Vector3<Dual>,
        turned: &Vector3<Dual>,
        [load, stiffness, dissipation]: [&[f64; DIRECTIONS]; 3],
        into: &mut ByGeometry,
    ) {
        let Self { x, n, v, v_n, v_t, spin, normal, slip, history_by_x, history_by_n } = *self;
        let gamma = n * normal.re - v_t * slip.re;
        let (ux, uy, uz) = (&point.x.eps, &point.y.eps, &point.z.eps);
        let (mx, my, mz) = (&turned.x.eps, &turned.y.eps, &turned.z.eps);
        let (by_n, by_s) = (&normal.eps, &slip.eps);
        for k in 0..DIRECTIONS {
            let (ux, uy, uz, mx, my, mz) = (ux[k], uy[k], uz[k], mx[k], my[k], mz[k]);
            let dv_x = spin.y * uz - spin.z * uy;
            let dv_y = spin.z * ux - spin.x * uz;
            let dv_z = spin.x * uy - spin.y * ux;
            let d_v_n = dv_x * n.x + dv_y * n.y + dv_z * n.z + v.x * mx + v.y * my + v.z * mz;
            let dt_x = dv_x - mx * v_n - n.x * d_v_n;
            let dt_y = dv_y - my * v_n - n.y * d_v_n;
            let dt_z = dv_z - mz * v_n - n.z * d_v_n;
            let d_s = 2.0 * (v_t.x * dt_x + v_t.y * dt_y + v_t.z * dt_z);
            let d_history = history_by_x.x * ux
                + history_by_x.y * uy
                + history_by_x.z * uz
                + history_by_n.x * mx
                + history_by_n.y * my
                + history_by_n.z * mz;
            let d_normal = by_n[0] * d_v_n
                + by_n[1] * d_s
                + by_n[2] * load[k]
                + by_n[3] * stiffness[k]
                + by_n[DISSIPATION] * dissipation[k]
                + by_n[HISTORY] * d_history;
            let d_slip = by_s[0] * d_v_n
                + by_s[1] * d_s
                + by_s[2] * load[k]
                + by_s[3] * stiffness[k]
                + by_s[DISSIPATION] * dissipation[k]
                + by_s[HISTORY] * d_history;
            let f_x = n.x * d_normal + mx * normal.re - v_t.x * d_slip - dt_x * slip.re;
            let f_y = n.y * d_normal + my * normal.re - v_t.y * d_slip - dt_y * slip.re;
            let f_z = n.z * d_normal + mz * normal.re - v_t.z * d_slip - dt_z * slip.re;
            into[0][k] += uy * gamma.z - uz * gamma.y + x.y * f_z - x.z * f_y;
            into[1][k] += uz * gamma.x - ux * gamma.z + x.z * f_x - x.x * f_z;
            into[2][k] += ux * gamma.y - uy * gamma.x + x.x * f_y - x.y * f_x;
            into[3][k] += f_x;
            into[4][k] += f_y;
            into[5][k] += f_z;
        }
    }
}

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
        self.about_a() * (self.turn * w)
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

    /// The derivatives by the frames' velocities and, through them, poses, of an impulse with the
    /// derivative `by_velocity` by the relative velocity `relative` (all in F); O's angular
    /// velocity in W is `spin`. Of O, then of F: by pose, by velocity, in W about F's origin.
    fn through_velocity(
        &self,
        by_velocity: &Matrix6<f64>,
        relative: &SpatialVelocity,
        spin: &Vector3<f64>,
    ) -> [[Matrix6<f64>; 2]; 2] {
        let zero = Matrix3::zeros();
        let by = self.turn * by_velocity * self.turn.transpose();
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
    /// Its derivatives; those by velocity are by the velocities after the step.
    pub after: ContactJacobian,
    /// Its derivatives by the velocities before the step and, through them, the poses; for
    /// Lagged.
    pub before: Option<ContactJacobian>,
    /// For SAP: for each row its derivatives by the inverse inertia Λ.
    pub by_inverse_inertia: Option<[Matrix6<f64>; 6]>,
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
        by_dissipation: vector,
        by_relaxation_time: vector,
        by_static_friction: vector,
        by_dynamic_friction: vector,
        area_by_pose_a: vector,
        area_by_modulus_a: 0.0,
        area_by_modulus_b: 0.0,
    }
}

/// The derivatives of the impulse between two bodies; the impulse on O and its negative derivative
/// by the velocity after the step are given as [`DiscretePatch::impulse`] does. The velocities of `before` are those
/// before the step; `after` has the same bodies at the same poses with those after it.
pub(crate) fn world_impulse_jacobian(
    before: &ContactPair,
    after: &ContactPair,
    settings: &DiscreteSettings,
    patch: &DiscretePatch,
    contacts: &PointContacts,
    (impulse, hessian): &(Vector6<f64>, Matrix6<f64>),
) -> Option<ImpulseJacobian> {
    let (roles, roles_after) = (Roles::new(before)?, Roles::new(after)?);
    let (v0, v1) = (roles.v_fo, roles_after.v_fo);
    let local = impulse_jacobian(&roles, settings, patch, contacts, &v0, &v1);
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
    let [of_o, of_f] = chain.through_velocity(&-*hessian, &v1, &spins[0]);
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
    jacobian.by_dissipation = chain.on_a(&local.by_dissipation);
    jacobian.by_relaxation_time = chain.on_a(&local.by_relaxation_time);
    jacobian.by_dynamic_friction = chain.on_a(&local.by_friction);
    let combination = combination_derivatives(roles.o, roles.f, settings.contact);
    let by_modulus = [roles.o, roles.f].map(|c| c.material.hydroelastic_modulus);
    let by_modulus = [0, 1].map(|k| {
        let rigid = if k == 0 { roles.o.geometry.is_rigid() } else { false };
        let by_logarithm = Vector6::from_fn(|row, _| local.by_geometry[row][6 + k]);
        let direct = if rigid { Vector6::zeros() } else { by_logarithm / by_modulus[k] };
        chain.on_a(&(direct + local.by_dissipation * combination[k].hydroelastic_modulus))
    });
    let [of_a, of_b] = if roles.a_is_o { [0, 1] } else { [1, 0] };
    (jacobian.by_modulus_a, jacobian.by_modulus_b) = (by_modulus[of_a], by_modulus[of_b]);

    let before = (settings.model == ContactModel::Lagged).then(|| {
        let [of_o, of_f] = chain.through_velocity(&local.by_velocity_before, &v0, &spins[1]);
        let mut jacobian = no_jacobian();
        (jacobian.by_pose_a, jacobian.by_pose_b) = assign(of_o[0], of_f[0]);
        (jacobian.by_velocity_a, jacobian.by_velocity_b) = assign(of_o[1], of_f[1]);
        jacobian
    });
    let by_inverse_inertia = (settings.model == ContactModel::Sap).then(|| {
        let rows = about_a * chain.turn;
        std::array::from_fn(|i| {
            (0..6).fold(Matrix6::zeros(), |sum, k| sum + local.by_inverse_inertia[k] * rows[(i, k)])
        })
    });
    let total = chain.on_a(impulse);
    let impulse_on_a = SpatialForce::new(
        Vector3::new(total[0], total[1], total[2]),
        Vector3::new(total[3], total[4], total[5]),
    );
    Some(ImpulseJacobian { impulse_on_a, after: jacobian, before, by_inverse_inertia })
}
