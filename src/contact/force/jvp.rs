//! Contact with first derivatives through the local Jacobian: evaluate once in `f64`,
//! differentiate per pair, chain to whatever the inputs depend on.

use nalgebra::{Matrix3, Matrix6, Vector3, Vector6};

use crate::contact::force::known_answer::KnownAnswer;
use crate::contact::force::local_jacobian::{LocalJacobian, local_jacobian};
use crate::contact::force::one_sided::differentiate_one_sided;
use crate::contact::force::traction::TractionLaw;
use crate::contact::force::wrench::{ContactPatch, Integral, contact, contact_under};
use crate::contact::pair::collider::{Collider, ContactGeometry};
use crate::contact::pair::material::PairMaterial;
use crate::contact::pair::query::{ContactError, ContactPair, Roles};
use crate::contact::settings::ContactSettings;
use crate::contact::surface::workspace::Workspace;
use crate::scalar::{DualArray, Scalar};
use crate::spatial::{RigidTransform, SpatialForce, SpatialVelocity};

/// The derivative part of a number: itself less its real part.
pub(in crate::contact) fn infinitesimal<T: Scalar>(x: T) -> T {
    x - x.real()
}

/// The derivative part of the logarithm of a body's stiffness: of its modulus or, for a
/// half-space, its modulus over its thickness.
pub(in crate::contact) fn log_stiffness<T: Scalar>(c: &Collider<T>) -> T {
    if c.geometry.is_rigid() {
        return T::from(0.0);
    }
    let modulus = c.material.hydroelastic_modulus;
    let own = infinitesimal(modulus) / modulus.real();
    match c.geometry.as_ref() {
        ContactGeometry::CompliantHalfSpace => own - infinitesimal(c.thickness) / c.thickness.real(),
        _ => own,
    }
}

/// The tangent of O's pose in F: (δθ, δt) about F's origin.
pub(in crate::contact) fn pose_tangent<T: Scalar>(x: &RigidTransform<T>) -> [T; 6] {
    let real = x.real();
    let turn = x.rotation * RigidTransform::<T>::lift(&real).rotation.transpose();
    let half = |a: T, b: T| infinitesimal(a - b) * 0.5;
    let rotation = Vector3::new(
        half(turn[(2, 1)], turn[(1, 2)]),
        half(turn[(0, 2)], turn[(2, 0)]),
        half(turn[(1, 0)], turn[(0, 1)]),
    );
    let translation = x.translation.map(infinitesimal) - rotation.cross(&real.translation.map(T::from));
    [rotation.x, rotation.y, rotation.z, translation.x, translation.y, translation.z]
}

/// `value` plus a derivative times an infinitesimal, component by component.
pub(in crate::contact) fn add<T: Scalar>(
    value: &mut SpatialForce<T>,
    derivative: impl Fn(usize) -> f64,
    step: T,
) {
    for row in 0..3 {
        value.rotational[row] += step * derivative(row);
        value.translational[row] += step * derivative(3 + row);
    }
}

/// The local Jacobian. Its derivatives are one-sided where the meshes are exactly aligned.
fn differentiated(
    roles: &Roles<f64>,
    settings: &ContactSettings,
    workspace: &mut Workspace,
) -> LocalJacobian {
    let mut local = local_jacobian(roles, settings, workspace);
    if local.aligned {
        differentiate_one_sided(&mut local, roles, settings, workspace);
    }
    local
}

/// The patch with the derivatives that its inputs carry.
fn chained<T: Scalar>(
    roles: &Roles<T>,
    local: &LocalJacobian,
    settings: &ContactSettings<T>,
    p_wa: &Vector3<T>,
) -> Option<ContactPatch<T>> {
    let real = &local.integral;
    let mut sum = Integral::lift(real);
    let [a, b, c, d, e, f] = pose_tangent(&roles.x_fo);
    let geometry = [a, b, c, d, e, f, log_stiffness(roles.o), log_stiffness(roles.f)];
    for (k, &step) in geometry.iter().enumerate() {
        add(&mut sum.wrench_on_o, |row| local.by_geometry[row][k], step);
        sum.area += step * local.area_by_geometry[k];
        for row in 0..3 {
            sum.first_moment[row] += step * local.moment_by_geometry[(row, k)];
        }
    }
    for k in 0..3 {
        let angular = infinitesimal(roles.v_fo.rotational[k]);
        let linear = infinitesimal(roles.v_fo.translational[k]);
        add(&mut sum.wrench_on_o, |row| local.by_velocity[(row, k)], angular);
        add(&mut sum.wrench_on_o, |row| local.by_velocity[(row, 3 + k)], linear);
    }
    TractionLaw::new(roles, settings).parameters().for_each_with(&local.by_parameters, |parameter, by| {
        add(&mut sum.wrench_on_o, |row| by[row], infinitesimal(parameter));
    });
    sum.patch(roles, p_wa)
}

/// The same as [`contact`], with first derivatives through the analytic local Jacobian.
///
/// For scalars that carry first derivatives in many directions this is many times faster. For
/// scalars with second derivatives, and where a collider's vertices or extents carry
/// derivatives, it *is* [`contact`]; for plain `f64` too.
///
/// # Errors
/// For pairs that [`crate::contact::check_pair`] refuses.
pub fn contact_lifted<T: Scalar>(
    pair: &ContactPair<T>,
    settings: &ContactSettings,
    workspace: &mut Workspace,
) -> Result<Option<ContactPatch<T>>, ContactError> {
    contact_lifted_with(pair, settings, workspace, None)
}

/// [`contact_lifted`] with what is known of the pair, if that is to be kept.
pub(crate) fn contact_lifted_with<T: Scalar>(
    pair: &ContactPair<T>,
    settings: &ContactSettings,
    workspace: &mut Workspace,
    known: Option<&mut KnownAnswer<LocalJacobian>>,
) -> Result<Option<ContactPatch<T>>, ContactError> {
    if T::NDERIV != 1 || pair.a.has_shape_derivatives() || pair.b.has_shape_derivatives() {
        return contact(pair, settings, workspace);
    }
    let (a, b) = (pair.a.real(), pair.b.real());
    let real = Roles::new(&pair.real(&a, &b))?;
    let mut own = KnownAnswer::default();
    let local = known.unwrap_or(&mut own).of(&real, settings, || differentiated(&real, settings, workspace));
    if local.integral.faces == 0 {
        return Ok(None);
    }
    Ok(chained(&Roles::new(pair)?, local, &settings.lift(), &pair.x_wa.translation))
}

/// [`contact_lifted_with`] under settings that carry derivatives.
///
/// First derivatives add up: those with respect to the settings are of the formulas over the surface as it is, which
/// [`contact_under`] evaluates, and all others, one-sided where meshes are aligned, of the local Jacobian.
pub(crate) fn contact_lifted_under<T: Scalar>(
    pair: &ContactPair<T>,
    settings: &ContactSettings<T>,
    workspace: &mut Workspace,
    known: Option<&mut KnownAnswer<LocalJacobian>>,
) -> Result<Option<ContactPatch<T>>, ContactError> {
    if T::NDERIV != 1 || pair.a.has_shape_derivatives() || pair.b.has_shape_derivatives() {
        return contact_under(pair, settings, workspace);
    }
    let Some(mut patch) = contact_lifted_with(pair, &settings.real(), workspace, known)? else {
        return Ok(None);
    };
    let (a, b) = (pair.a.real(), pair.b.real());
    let (a_still, b_still) = (Collider::lift(&a), Collider::lift(&b));
    let still = pair.real(&a, &b).lift(&a_still, &b_still);
    if let Some(ContactPatch { wrench_on_a: wrench, .. }) = contact_under(&still, settings, workspace)? {
        patch.wrench_on_a += wrench - SpatialForce::lift(&wrench.real());
    }
    Ok(Some(patch))
}

/// The derivatives of a contact in the world. Rows are torque about the origin of A's geometry
/// frame (which moves along with A), then force; N m and N.
#[derive(Clone, Copy, Debug)]
pub struct ContactJacobian {
    /// With respect to A's pose: rotation of A about its own origin, then translation, both in W.
    pub by_pose_a: Matrix6<f64>,
    /// With respect to B's pose: rotation of B about its own origin, then translation, both in W.
    pub by_pose_b: Matrix6<f64>,
    /// With respect to A's angular velocity and the velocity of its origin, in W.
    pub by_velocity_a: Matrix6<f64>,
    /// With respect to B's angular velocity and the velocity of its origin, in W.
    pub by_velocity_b: Matrix6<f64>,
    /// With respect to A's modulus, per Pa, its part in the combined dissipation included; 0 if A is
    /// rigid.
    pub by_modulus_a: Vector6<f64>,
    /// With respect to B's modulus, per Pa, its part in the combined dissipation included; 0 if B is
    /// rigid.
    pub by_modulus_b: Vector6<f64>,
    /// With respect to the combined parameters of the pair. The derivative with respect to the
    /// dissipation is per s/m; in the strain-rate form it is with respect to the sum of both bodies'
    /// χ/E, per 1/(Pa/s). The derivative with respect to the sum of the relaxation times is per s; the
    /// contact at an instant does not depend on it.
    pub by_parameters: PairMaterial<Vector6<f64>>,
    /// Derivatives of the area in m² with respect to A's pose: rotation about its own origin, then
    /// translation, both in W.
    pub area_by_pose_a: Vector6<f64>,
    /// The derivative of the area with respect to A's modulus, m²/Pa.
    pub area_by_modulus_a: f64,
    /// The derivative of the area with respect to B's modulus, m²/Pa.
    pub area_by_modulus_b: f64,
}

impl ContactJacobian {
    /// The derivative of the force on A with respect to A's translation, N/m: rows are the force, columns the direction.
    pub fn force_by_translation(&self) -> Matrix3<f64> {
        self.by_pose_a.fixed_view::<3, 3>(3, 3).into()
    }

    /// The derivative of the force on A with respect to A's modulus, N/Pa.
    pub fn force_by_modulus(&self) -> Vector3<f64> {
        self.by_modulus_a.fixed_rows::<3>(3).into()
    }

    /// The derivative of the wrench with respect to one coefficient of friction that is both the static
    /// and the dynamic one.
    pub fn by_friction(&self) -> Vector6<f64> {
        self.by_parameters.static_friction + self.by_parameters.dynamic_friction
    }
}

/// Pose and velocity of each body, then both moduli.
pub(super) const SEEDS: usize = 26;
type Seeded = DualArray<SEEDS>;

/// A body's collider, pose and velocity with derivatives: 12 directions from `first`, and
/// `modulus` for the modulus.
pub(super) fn seeded(
    collider: &Collider,
    x: &RigidTransform,
    v: &SpatialVelocity,
    first: usize,
    modulus: usize,
) -> (Collider<Seeded>, RigidTransform<Seeded>, SpatialVelocity<Seeded>) {
    let mut lifted = Collider::lift(collider);
    lifted.material.hydroelastic_modulus = Seeded::variable(collider.material.hydroelastic_modulus, modulus);
    let variable =
        |value: &Vector3<f64>, at: usize| Vector3::from_fn(|i, _| Seeded::variable(value[i], at + i));
    let zero = Vector3::zeros();
    let pose = RigidTransform::lift(x).moved(&variable(&zero, first), &variable(&zero, first + 3));
    let velocity =
        SpatialVelocity::new(variable(&v.rotational, first + 6), variable(&v.translational, first + 9));
    (lifted, pose, velocity)
}

/// The contact of a pair with its derivatives, or `None` if the bodies do not touch.
///
/// At a kink, where faces appear or vanish and the derivative jumps, the derivatives are one-sided.
/// Where the meshes are exactly aligned, each derivative with respect to A's pose and the moduli is the
/// one-sided derivative in the positive direction, or in the negative direction if the query runs in A's
/// field. The derivatives with respect to B's pose follow from these.
///
/// # Errors
/// For pairs that [`crate::contact::check_pair`] refuses.
///
/// # Examples
/// How the force on a ball follows its height, compared with a difference:
/// ```
/// use isobar::contact::{Collider, ContactPair, ContactSettings, Material, Workspace, contact_jacobian};
/// use isobar::{RigidTransform, Shape};
///
/// let foam = Material::new(1e5, 1.0, 0.5);
/// let ball = Collider::of_shape(&Shape::Sphere { radius: 0.05 }, 0.02, foam)?;
/// let floor = Collider::rigid_half_space(foam);
///
/// let (settings, mut workspace) = (ContactSettings::default(), Workspace::default());
/// let mut at = |height: f64| {
///     let pose = RigidTransform::from_translation([0.0, 0.0, height]);
///     let pair = ContactPair::at_rest(&ball, pose, &floor, RigidTransform::identity());
///     contact_jacobian(&pair, &settings, &mut workspace)
/// };
/// let (patch, jacobian) = at(0.045)?.ok_or("no contact")?;
/// let (higher, _) = at(0.045 + 1e-7)?.ok_or("no contact")?;
/// let difference = (higher.wrench_on_a.translational.z - patch.wrench_on_a.translational.z) / 1e-7;
/// assert!((jacobian.force_by_translation().m33 / difference - 1.0).abs() < 1e-3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn contact_jacobian(
    pair: &ContactPair,
    settings: &ContactSettings,
    workspace: &mut Workspace,
) -> Result<Option<(ContactPatch, ContactJacobian)>, ContactError> {
    let real = Roles::new(pair)?;
    let local = differentiated(&real, settings, workspace);
    let p_wa = pair.x_wa.translation;
    let Some(patch) = local.integral.patch(&real, &p_wa) else { return Ok(None) };
    let (a, x_wa, v_wa) = seeded(pair.a, &pair.x_wa, &pair.v_wa, 0, 24);
    let (b, x_wb, v_wb) = seeded(pair.b, &pair.x_wb, &pair.v_wb, 12, 25);
    let dual = ContactPair { a: &a, x_wa, v_wa, b: &b, x_wb, v_wb };
    let Some(lifted) = chained(&Roles::new(&dual)?, &local, &settings.lift(), &x_wa.translation) else {
        return Ok(None);
    };
    let entry = |row: usize| {
        let w = &lifted.wrench_on_a;
        if row < 3 { w.rotational[row] } else { w.translational[row - 3] }
    };
    let block = |first: usize| Matrix6::from_fn(|row, k| entry(row).eps[first + k]);
    let column = |k: usize| Vector6::from_fn(|row, _| entry(row).eps[k]);
    // Derivatives with respect to the pair's own parameters: wrenches on O about F's origin, in F.
    let in_world = |w: &Vector6<f64>| {
        let on_o = SpatialForce::new(w.fixed_rows::<3>(0).into_owned(), w.fixed_rows::<3>(3).into_owned())
            .rotated(&real.x_wf.rotation)
            .shifted(&(p_wa - real.x_wf.translation));
        let on_a = if real.a_is_o { on_o } else { -on_o };
        let (m, f) = (on_a.rotational, on_a.translational);
        Vector6::new(m.x, m.y, m.z, f.x, f.y, f.z)
    };
    let jacobian = ContactJacobian {
        by_pose_a: block(0),
        by_velocity_a: block(6),
        by_pose_b: block(12),
        by_velocity_b: block(18),
        by_modulus_a: column(24),
        by_modulus_b: column(25),
        by_parameters: local.by_parameters.map(|by| in_world(&by)),
        area_by_pose_a: Vector6::from_fn(|k, _| lifted.area.eps[k]),
        area_by_modulus_a: lifted.area.eps[24],
        area_by_modulus_b: lifted.area.eps[25],
    };
    Ok(Some((patch, jacobian)))
}
