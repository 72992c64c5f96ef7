//! Derivatives where the two meshes are aligned: one-sided differences.
//!
//! Meshes are exactly aligned where a vertex, an edge or a face of one lies on a face of the other, or
//! where the equilibrium plane passes through a vertex. Faces then appear or vanish with every motion,
//! and the constraints that meet in a vertex are not unique. The formulas for one choice of constraints
//! may not be the derivative in any direction. The wrench itself is continuous there, so its one-sided
//! derivative along each direction is found by differences.
//!
//! Where walls of both bodies lie in one plane even the wrench jumps (Huang §VI, Fig. 3). The
//! differences leave out the value at the state itself, so that they are the derivative just
//! beside the jump.

use nalgebra::{Matrix6, SMatrix, SVector, Vector3};

use crate::contact::force::local_jacobian::{DIRECTIONS, LocalJacobian};
use crate::contact::force::traction::TractionLaw;
use crate::contact::force::wrench::Integral;
use crate::contact::pair::collider::Collider;
use crate::contact::pair::query::Roles;
use crate::contact::settings::ContactSettings;
use crate::contact::surface::search::for_each_polygon;
use crate::contact::surface::workspace::Workspace;
use crate::spatial::{RigidTransform, rotation_exponential};

/// Step of the differences in radians, in logarithms of the moduli, and in square roots of the
/// contact area. Of second order, they are off by its square, and by rounding over it.
const STEP: f64 = 1e-5;
/// Largest motion of the differences, relative to the depth of the contact: the third of their
/// steps must not lead out of it.
const PART_OF_DEPTH: f64 = 0.1;

/// How deep a contact is, m: the largest ratio of pressure, from where it begins in the bodies'
/// skirts if they have any, and its gradient in F.
pub(crate) fn depth(roles: &Roles<f64>, settings: &ContactSettings, workspace: &mut Workspace) -> f64 {
    let mut deepest: f64 = 0.0;
    let (width, _) = roles.onset_width();
    for_each_polygon(roles, settings.face_filter, &mut workspace.search, |polygon, equilibrium| {
        let gradient = equilibrium.pressure.gradient.norm();
        let vertices = &polygon.position[..polygon.len];
        let pressure = vertices.iter().map(|x| equilibrium.pressure.at(x) + width).fold(0.0, f64::max);
        if gradient > 0.0 {
            deepest = deepest.max(pressure / gradient);
        }
    });
    deepest
}

/// Wrench, area and first moment as plain numbers.
type Sums = SVector<f64, 10>;

fn sums(integral: &Integral<f64>) -> Sums {
    let (m, f, c) =
        (&integral.wrench_on_o.rotational, &integral.wrench_on_o.translational, &integral.first_moment);
    Sums::from([m.x, m.y, m.z, f.x, f.y, f.z, integral.area, c.x, c.y, c.z])
}

/// The slope at 0 of the parabola through the values at h, 2h and 3h.
fn slope<const N: usize>(mut value: impl FnMut(f64) -> SVector<f64, N>, h: f64) -> SVector<f64, N> {
    let (one, two, three) = (value(h), value(2.0 * h), value(3.0 * h));
    (two * 8.0 - one * 5.0 - three * 3.0) / (2.0 * h)
}

/// A collider with its modulus times a factor.
fn stiffened(c: &Collider, by: f64) -> Collider {
    let mut c = c.clone();
    c.material.hydroelastic_modulus *= by;
    c
}

/// The one-sided derivatives with respect to the geometry of what `evaluate` computes of two bodies
/// whose contact surface has this `length` (the root of its area) and [`depth`].
///
/// Each is taken along one input of A: its rotation about its own origin and its translation
/// along the world's axes, and both moduli, towards positive ones of O.
pub(crate) fn one_sided_by_geometry<const N: usize>(
    roles: &Roles<f64>,
    length: f64,
    depth: f64,
    mut evaluate: impl FnMut(&Roles<f64>) -> SVector<f64, N>,
) -> Option<SMatrix<f64, N, DIRECTIONS>> {
    if length <= 0.0 || depth <= 0.0 {
        return None;
    }
    let step = STEP.min(PART_OF_DEPTH * depth / length);
    let mut along =
        |x_fo: RigidTransform<f64>, o: &Collider, f: &Collider| evaluate(&Roles { o, f, x_fo, ..*roles });
    // The origin of A's frame, about which A turns, and the world's axes, in F.
    let pivot = if roles.a_is_o { roles.x_fo.translation } else { Vector3::zeros() };
    let mut by_input = SMatrix::<f64, N, 6>::zeros();
    let mut twists = Matrix6::zeros();
    for k in 0..6 {
        let axis = roles.x_wf.rotation.row(k % 3).transpose();
        let (h, turn, shift) =
            if k < 3 { (step, axis, Vector3::zeros()) } else { (step * length, Vector3::zeros(), axis) };
        let value = |h: f64| {
            let r = rotation_exponential(&(turn * h));
            let x = &roles.x_fo;
            let translation = pivot + r * (x.translation - pivot) + shift * h;
            along(RigidTransform::new(r * x.rotation, translation), roles.o, roles.f)
        };
        by_input.set_column(k, &slope(value, h));
        // The same motion as a rotation about F's origin and a translation.
        twists.fixed_view_mut::<3, 1>(0, k).copy_from(&turn);
        twists.fixed_view_mut::<3, 1>(3, k).copy_from(&(shift - turn.cross(&pivot)));
    }
    let inverse = twists.try_inverse()?;
    let mut by_direction = SMatrix::<f64, N, DIRECTIONS>::zeros();
    by_direction.fixed_columns_mut::<6>(0).copy_from(&(by_input * inverse));
    for (k, c) in [(6, roles.o), (7, roles.f)] {
        if c.geometry.is_rigid() {
            continue;
        }
        let value = |h: f64| {
            let changed = stiffened(c, h.exp());
            let (o, f) = if k == 6 { (&changed, roles.f) } else { (roles.o, &changed) };
            along(roles.x_fo, o, f)
        };
        by_direction.set_column(k, &slope(value, STEP));
    }
    Some(by_direction)
}

/// Replaces the derivatives with respect to the geometry by one-sided ones. The combined dissipation
/// stays as it is.
pub(crate) fn differentiate_one_sided(
    jacobian: &mut LocalJacobian,
    roles: &Roles<f64>,
    settings: &ContactSettings,
    workspace: &mut Workspace,
) {
    let law = &TractionLaw::new(roles, settings);
    let length = jacobian.integral.area.max(0.0).sqrt();
    let depth = depth(roles, settings, workspace);
    let evaluate = |moved: &Roles<f64>| sums(&Integral::over(moved, law, settings, workspace));
    let Some(by_direction) = one_sided_by_geometry(roles, length, depth, evaluate) else { return };
    jacobian.by_geometry = std::array::from_fn(|row| std::array::from_fn(|k| by_direction[(row, k)]));
    jacobian.area_by_geometry = std::array::from_fn(|k| by_direction[(6, k)]);
    jacobian.moment_by_geometry.copy_from(&by_direction.fixed_rows::<3>(7));
}
