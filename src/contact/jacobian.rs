//! The local Jacobian of a contact: the wrench's derivatives with respect to what it depends on
//! and no more, whatever the state around it is.
//!
//! In F's frame the wrench depends on the pose of O (6 tangent directions), both moduli, the
//! relative velocity (6), the dissipation and the friction coefficients. Each vertex of the
//! surface moves with a 3×3 matrix times the velocity of O's material there, so 8 directions of
//! the surface's geometry are propagated as plain arrays, and the traction is differentiated in
//! closed form.

use nalgebra::{Matrix3, Matrix6, SMatrix, Vector3, Vector6};

use super::polygon::{FIRST_OF_F, MAX_VERTICES, Polygon};
use super::roles::{Parts, Roles};
use super::search::{Equilibrium, for_each_polygon, seen_from_inside};
use super::settings::{ContactSettings, DissipationModel};
use super::surface::{Fan, SurfacePolygon, solve_planes};
use super::traction::TractionLaw;
use super::wrench::{Integral, Workspace, fan_rule, for_each_point};
use crate::scalar::{DualArray, real_vector};
use crate::spatial::{SpatialForce, cross_matrix};

/// Directions of the surface's geometry: rotation and translation of O, the logarithms of O's
/// and F's moduli.
pub(crate) const DIRECTIONS: usize = 8;
pub(crate) type Dual = DualArray<DIRECTIONS>;

const LOG_MODULUS_O: usize = 6;
const LOG_MODULUS_F: usize = 7;

/// Six rows, torque then force, each by the directions of the geometry: rows are contiguous, so
/// that all directions are summed at once.
pub(crate) type ByGeometry = [[f64; DIRECTIONS]; 6];

/// The wrench's derivatives in F's frame.
pub(crate) struct LocalJacobian {
    /// The sums themselves, in F's frame.
    pub integral: Integral<f64>,
    /// Wrench on O about F's origin, by O's rotation about F's origin, O's translation, and the
    /// logarithms of the moduli at fixed combined dissipation.
    pub by_geometry: ByGeometry,
    /// By the relative velocity at F's origin, (angular, linear).
    pub by_velocity: Matrix6<f64>,
    /// By the combined dissipation (Hunt–Crossley) or the summed compliance χ/E (strain rate).
    pub by_dissipation: Vector6<f64>,
    /// By the combined static friction coefficient.
    pub by_static_friction: Vector6<f64>,
    /// By the combined dynamic friction coefficient.
    pub by_dynamic_friction: Vector6<f64>,
    /// The area by the directions of the geometry.
    pub area_by_geometry: [f64; DIRECTIONS],
    /// The first moment of area by the directions of the geometry.
    pub moment_by_geometry: SMatrix<f64, 3, DIRECTIONS>,
    /// Whether the meshes are aligned exactly somewhere on the surface, so that the derivatives
    /// by the geometry may be those of no direction.
    pub aligned: bool,
}

/// `value` with derivatives by O's motion u(x) = δt + δθ × x through the matrix `by_motion`, and
/// by the moduli.
#[inline(always)]
fn moving(
    value: &Vector3<f64>,
    by_motion: &Matrix3<f64>,
    by_o: &Vector3<f64>,
    by_f: &Vector3<f64>,
) -> Vector3<Dual> {
    // u = δt − [x]× δθ
    let by_rotation = -by_motion * cross_matrix(value);
    Vector3::from_fn(|row, _| {
        let mut eps = [0.0; DIRECTIONS];
        for k in 0..3 {
            eps[k] = by_rotation[(row, k)];
            eps[3 + k] = by_motion[(row, k)];
        }
        eps[LOG_MODULUS_O] = by_o[row];
        eps[LOG_MODULUS_F] = by_f[row];
        Dual { re: value[row], eps }
    })
}

/// A vector fixed to O, with its derivatives by O's rotation and by the logarithm of O's
/// modulus, to which it is proportional if `scales`.
#[inline(always)]
fn turning(value: &Vector3<f64>, scales: bool) -> Vector3<Dual> {
    let by_rotation = -cross_matrix(value);
    Vector3::from_fn(|row, _| {
        let mut eps = [0.0; DIRECTIONS];
        for k in 0..3 {
            eps[k] = by_rotation[(row, k)];
        }
        if scales {
            eps[LOG_MODULUS_O] = value[row];
        }
        Dual { re: value[row], eps }
    })
}

/// F's pressure gradient: proportional to F's modulus.
#[inline(always)]
fn of_f(value: &Vector3<f64>) -> Vector3<Dual> {
    value.map(|x| {
        let mut eps = [0.0; DIRECTIONS];
        eps[LOG_MODULUS_F] = x;
        Dual { re: x, eps }
    })
}

/// The gradients of the polygon's plane and of its constraints in F's frame.
pub(super) struct Gradients {
    pub plane: Vector3<f64>,
    pub of_o: [Vector3<f64>; 4],
    pub of_f: [Vector3<f64>; 4],
}

impl Gradients {
    #[inline]
    pub fn new(roles: &Roles<f64>, polygon: &Polygon, equilibrium: &Equilibrium) -> Self {
        let rotation = &roles.x_fo.rotation;
        let mut of_o = [equilibrium.normal; 4];
        let mut of_f = [equilibrium.normal; 4];
        let plane = match &equilibrium.gradient_o {
            Some(gradient) => gradient - equilibrium.pressure.gradient,
            None => equilibrium.normal,
        };
        match roles.parts {
            Parts::TwoFields { o, f } => {
                of_o = o.tetrahedra()[polygon.o as usize].barycentric.map(|l| rotation * l.gradient);
                of_f = f.tetrahedra()[polygon.f as usize].barycentric.map(|l| l.gradient);
            }
            Parts::HalfSpaceInField { f, .. } => {
                of_f = f.tetrahedra()[polygon.f as usize].barycentric.map(|l| l.gradient);
            }
            Parts::SurfaceInField { o, .. } | Parts::SurfaceInHalfSpace { o } => {
                let v = seen_from_inside(o.mesh().triangles[polygon.o as usize])
                    .map(|k| rotation * o.mesh().vertices[k as usize]);
                for k in 0..3 {
                    of_o[k] = equilibrium.normal.cross(&(v[(k + 1) % 3] - v[k]));
                }
                match roles.parts {
                    Parts::SurfaceInField { f, .. } => {
                        of_f = f.tetrahedra()[polygon.f as usize].barycentric.map(|l| l.gradient);
                    }
                    _ => of_f[0] = equilibrium.pressure.gradient,
                }
            }
        }
        Self { plane, of_o, of_f }
    }
}

/// The polygon with its derivatives.
///
/// A vertex solves `M x = r`, the rows of M being the gradients of its three planes. As O moves
/// by u at x, a plane fixed to O with gradient m carries the vertex so that m·dx = m·u; one
/// fixed to F gives 0; the equilibrium plane, whose function is p_O − p_F, gives ∇p_O·u.
pub(super) fn differentiate(
    roles: &Roles<f64>,
    polygon: &Polygon,
    equilibrium: &Equilibrium,
) -> SurfacePolygon<Dual> {
    let gradients = Gradients::new(roles, polygon, equilibrium);
    let zero = Dual::from(0.0);
    let mut surface = SurfacePolygon {
        len: polygon.len,
        position: [Vector3::from([zero; 3]); MAX_VERTICES],
        pressure: [zero; MAX_VERTICES],
        normal: Vector3::from([zero; 3]),
        gradient_o: None,
        gradient_f: zero,
    };
    let gradient_f = of_f(&equilibrium.pressure.gradient);
    // What of the plane moves with O: its own plane if O is rigid.
    let carried = equilibrium.gradient_o.unwrap_or(gradients.plane);
    let none = Vector3::zeros();
    let constraint = |name: u8| {
        if name < FIRST_OF_F {
            let m = gradients.of_o[usize::from(name)];
            (m, m)
        } else {
            (gradients.of_f[usize::from(name - FIRST_OF_F) % 4], none)
        }
    };
    for i in 0..polygon.len {
        let previous = if i == 0 { polygon.len - 1 } else { i - 1 };
        let (first, first_carried) = constraint(polygon.edge[previous]);
        let (second, second_carried) = constraint(polygon.edge[i]);
        let inverse = solve_planes(&[gradients.plane, first, second]);
        let by_motion = inverse.column(0) * carried.transpose()
            + inverse.column(1) * first_carried.transpose()
            + inverse.column(2) * second_carried.transpose();
        let x = &polygon.position[i];
        let p = equilibrium.pressure.at(x);
        // p_O − p_F grows by p with each logarithm's own sign.
        let by_f = match equilibrium.gradient_o {
            Some(_) => inverse.column(0) * p,
            None => none,
        };
        surface.position[i] = moving(x, &by_motion, &-by_f, &by_f);
        let mut pressure = Dual::from(p);
        let g = &equilibrium.pressure.gradient;
        for k in 0..DIRECTIONS {
            let dx = &surface.position[i];
            pressure.eps[k] = g.x * dx.x.eps[k] + g.y * dx.y.eps[k] + g.z * dx.z.eps[k];
        }
        pressure.eps[LOG_MODULUS_F] += p;
        surface.pressure[i] = pressure;
    }
    match &equilibrium.gradient_o {
        Some(gradient) => {
            let gradient_o = turning(gradient, true);
            let difference = gradient_o - gradient_f;
            let inverse_length = num_dual::DualNum::sqrt(&difference.dot(&difference));
            surface.normal = difference.map(|x| x / inverse_length);
            surface.gradient_o = Some(gradient_o.dot(&surface.normal));
        }
        None => surface.normal = turning(&equilibrium.normal, false),
    }
    surface.gradient_f = -gradient_f.dot(&surface.normal);
    surface
}

/// Adds the derivatives of the wrench of the force `value · load` at `x`, but for those through
/// the normal and the dissipation: the load's, the lever's, and the velocity's, which changes
/// with the position if the bodies turn.
#[allow(clippy::too_many_arguments, reason = "the point, its force and how both are differentiated")]
#[inline(always)]
fn add_point(
    into: &mut ByGeometry,
    x: &Vector3<Dual>,
    at: &Vector3<f64>,
    value: &Vector3<f64>,
    force: &Vector3<f64>,
    load: &Dual,
    by_position: &Matrix3<f64>,
    turning_about: bool,
) {
    let (ux, uy, uz) = (&x.x.eps, &x.y.eps, &x.z.eps);
    let mut f = [0, 1, 2].map(|row| load.eps.map(|a| value[row] * a));
    if turning_about {
        for row in 0..3 {
            let m = by_position.row(row);
            for k in 0..DIRECTIONS {
                f[row][k] += m[0] * ux[k] + m[1] * uy[k] + m[2] * uz[k];
            }
        }
    }
    for k in 0..DIRECTIONS {
        let (fx, fy, fz) = (f[0][k], f[1][k], f[2][k]);
        into[0][k] += at.y * fz - at.z * fy + uy[k] * force.z - uz[k] * force.y;
        into[1][k] += at.z * fx - at.x * fz + uz[k] * force.x - ux[k] * force.z;
        into[2][k] += at.x * fy - at.y * fx + ux[k] * force.y - uy[k] * force.x;
        into[3][k] += fx;
        into[4][k] += fy;
        into[5][k] += fz;
    }
}

/// (x × f; f)
#[inline(always)]
pub(super) fn wrench_at(x: &Vector3<f64>, f: &Vector3<f64>) -> Vector6<f64> {
    let m = x.cross(f);
    Vector6::new(m.x, m.y, m.z, f.x, f.y, f.z)
}

/// The sums over the contact surface and their local derivatives.
pub(crate) fn local_jacobian(
    roles: &Roles<f64>,
    settings: &ContactSettings,
    workspace: &mut Workspace,
) -> LocalJacobian {
    let law = TractionLaw::new(roles, settings);
    let rule = fan_rule(settings);
    let mut jacobian = LocalJacobian {
        integral: Integral::new(),
        by_geometry: [[0.0; DIRECTIONS]; 6],
        by_velocity: Matrix6::zeros(),
        by_dissipation: Vector6::zeros(),
        by_static_friction: Vector6::zeros(),
        by_dynamic_friction: Vector6::zeros(),
        area_by_geometry: [0.0; DIRECTIONS],
        moment_by_geometry: SMatrix::zeros(),
        aligned: false,
    };
    let spin = cross_matrix(&roles.v_fo.rotational);
    let turning_about = roles.v_fo.rotational != Vector3::zeros();
    for_each_polygon(roles, settings.face_filter, &mut workspace.stack, |found, equilibrium| {
        let real = SurfacePolygon::from_real(found, equilibrium);
        jacobian.aligned |= found.aligned;
        let polygon = differentiate(roles, found, equilibrium);
        let fan = Fan::new(&polygon, settings.surface);
        jacobian.integral.add_surface(&real, fan.area.re, &real_vector(&fan.centroid), settings.surface);
        for k in 0..DIRECTIONS {
            jacobian.area_by_geometry[k] += fan.area.eps[k];
            for row in 0..3 {
                jacobian.moment_by_geometry[(row, k)] +=
                    fan.centroid[row].eps[k] * fan.area.re + fan.centroid[row].re * fan.area.eps[k];
            }
        }
        // κ and its derivatives: by the geometry, and by what it is proportional to.
        let (dissipation, series) = match settings.dissipation_model {
            DissipationModel::HuntCrossley => (Dual::from(law.dissipation(&real)), 1.0),
            DissipationModel::StrainRate => {
                let series = polygon.gradient_in_series();
                (series * law.strain_rate(), series.re)
            }
        };
        let normal = real_vector(&polygon.normal);
        // What multiplies the derivatives of the normal and of κ, the same for all points:
        // force and torque.
        let (mut force_by_normal, mut torque_by_normal) = (Matrix3::zeros(), Matrix3::zeros());
        let mut by_dissipation = Vector6::zeros();
        for_each_point(&polygon, &fan, settings.surface, rule, |x, p, a| {
            let at = real_vector(x);
            let lever = cross_matrix(&at);
            let velocity = roles.v_fo.translational + roles.v_fo.rotational.cross(&at);
            let t = law.derivatives(&normal, &velocity, dissipation.re);
            let load = p * a;
            let force = t.value * load.re;
            jacobian.integral.wrench_on_o += SpatialForce::new(at.cross(&force), force);
            let by_linear = t.by_velocity * load.re;
            let by_position = if turning_about { by_linear * spin } else { Matrix3::zeros() };
            add_point(
                &mut jacobian.by_geometry,
                x,
                &at,
                &t.value,
                &force,
                &load,
                &by_position,
                turning_about,
            );
            let by_normal = t.by_normal * load.re;
            force_by_normal += by_normal;
            torque_by_normal += lever * by_normal;
            let by_angular = -by_linear * lever;
            let rows = [lever * by_angular, lever * by_linear, by_angular, by_linear];
            for c in 0..3 {
                for r in 0..3 {
                    jacobian.by_velocity[(r, c)] += rows[0][(r, c)];
                    jacobian.by_velocity[(r, 3 + c)] += rows[1][(r, c)];
                    jacobian.by_velocity[(3 + r, c)] += rows[2][(r, c)];
                    jacobian.by_velocity[(3 + r, 3 + c)] += rows[3][(r, c)];
                }
            }
            by_dissipation += wrench_at(&at, &(t.by_dissipation * load.re));
            jacobian.by_static_friction += wrench_at(&at, &(t.by_static_friction * load.re));
            jacobian.by_dynamic_friction += wrench_at(&at, &(t.by_dynamic_friction * load.re));
        });
        jacobian.by_dissipation += by_dissipation * series;
        for k in 0..DIRECTIONS {
            let d_normal = polygon.normal.map(|n| n.eps[k]);
            let (torque, force) = (torque_by_normal * d_normal, force_by_normal * d_normal);
            for row in 0..3 {
                jacobian.by_geometry[row][k] += torque[row] + by_dissipation[row] * dissipation.eps[k];
                jacobian.by_geometry[3 + row][k] += force[row] + by_dissipation[3 + row] * dissipation.eps[k];
            }
        }
    });
    jacobian
}
