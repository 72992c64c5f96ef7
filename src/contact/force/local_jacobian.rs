//! The local Jacobian of a contact: the derivatives of the wrench with respect to the few quantities
//! that it depends on directly, independent of the state around the pair.
//!
//! In F's frame the wrench depends on the pose of O (6 tangent directions), both moduli, the relative
//! velocity (6), the dissipation and the friction coefficients. Each vertex of the surface moves with a
//! 3×3 matrix times the velocity of O's material there. So the integral over a polygon is first
//! differentiated with respect to the motion of each of its vertices, in closed form and from the
//! quadrature points backwards, and only then by what moves the vertices: directions are paid for once a
//! vertex and not once a quadrature point.

use nalgebra::{Matrix3, Matrix6, SMatrix, Vector3, Vector6};

use crate::contact::force::polygon_derivatives::{
    ByVector, PolygonDerivatives, SurfaceSums, add, add_isotropic, add_outer, add_point, area_by_vertex,
    centroid_by_vertex, row,
};
use crate::contact::force::skirt_onset::OnsetSlopes;
use crate::contact::force::traction::TractionLaw;
use crate::contact::force::wrench::{Integral, fan_rule};
use crate::contact::pair::material::PairMaterial;
use crate::contact::pair::query::Roles;
use crate::contact::settings::{ContactSettings, DissipationModel, SurfaceRepresentation};
use crate::contact::surface::equilibrium::Equilibrium;
use crate::contact::surface::fan::Fan;
use crate::contact::surface::polygon::{FIRST_OF_F, Polygon};
use crate::contact::surface::search::for_each_polygon;
use crate::contact::surface::surface_polygon::{SurfacePolygon, along, solve_planes};
use crate::contact::surface::vertex_planes::{Gradients, VertexPlanes};
use crate::contact::surface::workspace::Workspace;
use crate::scalar::DualArray;
use crate::spatial::SpatialForce;

/// Directions of the surface's geometry: rotation and translation of O, the logarithms of O's
/// and F's moduli.
pub(crate) const DIRECTIONS: usize = 8;
pub(in crate::contact) type Dual = DualArray<DIRECTIONS>;

pub(in crate::contact) const LOG_MODULUS_O: usize = 6;
pub(in crate::contact) const LOG_MODULUS_F: usize = 7;

/// Six rows, torque then force, each by the directions of the geometry: rows are contiguous, so
/// that all directions are summed at once.
pub(in crate::contact) type ByGeometry = [[f64; DIRECTIONS]; 6];

/// The wrench's derivatives in F's frame.
#[derive(Debug)]
pub(crate) struct LocalJacobian {
    /// The sums themselves, in F's frame.
    pub integral: Integral<f64>,
    /// Wrench on O about F's origin, by O's rotation about F's origin, O's translation, and the
    /// logarithms of the moduli at fixed combined dissipation.
    pub by_geometry: ByGeometry,
    /// With respect to the relative velocity at F's origin, (angular, linear).
    pub by_velocity: Matrix6<f64>,
    /// With respect to the combined parameters, among them the dissipation (Hunt–Crossley) or the sum of
    /// both χ/E (strain rate).
    pub by_parameters: PairMaterial<Vector6<f64>>,
    /// The area by the directions of the geometry.
    pub area_by_geometry: [f64; DIRECTIONS],
    /// The first moment of area by the directions of the geometry.
    pub moment_by_geometry: SMatrix<f64, 3, DIRECTIONS>,
    /// Whether the meshes are exactly aligned somewhere on the surface, so that the derivatives with
    /// respect to the geometry may not be the derivative in any direction.
    pub aligned: bool,
}

/// How a vertex moves.
struct VertexMotion {
    /// With respect to the velocity of O's material there.
    by_motion: Matrix3<f64>,
    /// With respect to the logarithm of F's modulus, and against that of O's.
    by_modulus: Vector3<f64>,
}

impl VertexMotion {
    /// Adds to a number's derivatives with respect to the geometry those through the vertex at `x`,
    /// whose motion changes it by `by_position`.
    #[inline(always)]
    fn add(&self, to: &mut [f64; DIRECTIONS], x: &Vector3<f64>, by_position: &Vector3<f64>) {
        let by_motion = self.by_motion.tr_mul(by_position);
        // A turn δθ moves O's material by δθ × x.
        let by_rotation = x.cross(&by_motion);
        let by_modulus = by_position.dot(&self.by_modulus);
        for k in 0..3 {
            to[k] += by_rotation[k];
            to[3 + k] += by_motion[k];
        }
        to[LOG_MODULUS_O] -= by_modulus;
        to[LOG_MODULUS_F] += by_modulus;
    }
}

/// How vertex `i` of a polygon moves.
///
/// It solves `M x = r`, the rows of M being the gradients of its three planes. As O moves by u at
/// x, a plane fixed to O with gradient m carries the vertex so that m·dx = m·u; one fixed to F
/// gives 0; the equilibrium plane, whose function is p_O − p_F, gives ∇p_O·u.
#[inline(always)]
fn vertex_motion(
    gradients: &Gradients,
    polygon: &Polygon,
    equilibrium: &Equilibrium,
    i: usize,
    pressure: f64,
) -> VertexMotion {
    let planes = VertexPlanes::new(gradients, polygon, i);
    let inverse = solve_planes(&planes.rows);
    // What of the plane moves with O: its own plane if O is rigid.
    let carried = equilibrium.gradient_o.as_ref().unwrap_or(&gradients.plane);
    let columns = [0, 1, 2].map(|k| Vector3::new(inverse[(0, k)], inverse[(1, k)], inverse[(2, k)]));
    let outer = |a: &Vector3<f64>, b: &Vector3<f64>| Matrix3::from_columns(&[a * b.x, a * b.y, a * b.z]);
    let mut by_motion = outer(&columns[0], carried);
    for k in [1, 2] {
        if planes.name(k) < FIRST_OF_F {
            by_motion += outer(&columns[k], &planes.rows[k]);
        }
    }
    // p_O − p_F grows by p with each logarithm's own sign.
    let by_modulus = match equilibrium.gradient_o {
        Some(_) => columns[0] * pressure,
        None => Vector3::zeros(),
    };
    VertexMotion { by_motion, by_modulus }
}

/// The derivatives with respect to the geometry of a vector's components: the vector is `value`, fixed
/// to O, and proportional to O's modulus if it is a pressure gradient, less `of_f`, which is
/// proportional to F's.
#[inline(always)]
fn turning(value: &Vector3<f64>, scales: bool, of_f: &Vector3<f64>) -> [[f64; DIRECTIONS]; 3] {
    let (x, y, z) = (value.x, value.y, value.z);
    let own = if scales { 1.0 } else { 0.0 };
    // A turn δθ changes it by δθ × value.
    let mut by = [
        [0.0, z, -y, 0.0, 0.0, 0.0, 0.0, 0.0],
        [-z, 0.0, x, 0.0, 0.0, 0.0, 0.0, 0.0],
        [y, -x, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    ];
    for row in 0..3 {
        by[row][LOG_MODULUS_O] = own * value[row];
        by[row][LOG_MODULUS_F] = -of_f[row];
    }
    by
}

/// A vector times one with the derivatives `by`.
#[inline(always)]
fn dot_derivatives(v: &Vector3<f64>, by: &[[f64; DIRECTIONS]; 3]) -> [f64; DIRECTIONS] {
    let mut sum = [0.0; DIRECTIONS];
    for k in 0..DIRECTIONS {
        sum[k] = v.x * by[0][k] + v.y * by[1][k] + v.z * by[2][k];
    }
    sum
}

/// Gives a polygon the normal and the pressure gradients along it, with their derivatives.
#[inline(always)]
pub(in crate::contact) fn set_turning_plane(polygon: &mut SurfacePolygon<Dual>, equilibrium: &Equilibrium) {
    let (n, gradient_f) = (&equilibrium.normal, &equilibrium.pressure.gradient);
    let by_normal = match &equilibrium.gradient_o {
        Some(gradient) => {
            // The normal is the unit vector along the difference of the gradients.
            let difference = gradient - gradient_f;
            let mut by = turning(gradient, true, gradient_f);
            let per_length = 1.0 / difference.norm();
            let along = dot_derivatives(n, &by);
            for row in 0..3 {
                for k in 0..DIRECTIONS {
                    by[row][k] = (by[row][k] - n[row] * along[k]) * per_length;
                }
            }
            by
        }
        None => turning(n, false, &Vector3::zeros()),
    };
    polygon.gradient_o = equilibrium.gradient_o.map(|gradient| {
        let value = gradient.dot(n);
        let mut by = dot_derivatives(&gradient, &by_normal);
        let by_own = dot_derivatives(n, &turning(&gradient, true, &Vector3::zeros()));
        for k in 0..DIRECTIONS {
            by[k] += by_own[k];
        }
        along(Dual::new(value, by), &gradient)
    });
    let value = -gradient_f.dot(n);
    let mut by = dot_derivatives(&-gradient_f, &by_normal);
    by[LOG_MODULUS_F] += value;
    polygon.gradient_f = along(Dual::new(value, by), gradient_f);
    let [x, y, z] = by_normal;
    polygon.normal = Vector3::new(Dual::new(n.x, x), Dual::new(n.y, y), Dual::new(n.z, z));
}

/// The width of the pressure's onset with its derivatives with respect to the geometry.
pub(in crate::contact) fn differentiated_width(roles: &Roles<f64>) -> Dual {
    let (width, is_of_o) = roles.onset_width();
    let mut dual = Dual::from(width);
    dual.eps[if is_of_o { LOG_MODULUS_O } else { LOG_MODULUS_F }] = width;
    dual
}

/// The vertices of the polygon with their derivatives with respect to the geometry, written into
/// `surface`.
#[inline(always)]
pub(in crate::contact) fn set_moving_vertices(
    gradients: &Gradients,
    polygon: &Polygon,
    equilibrium: &Equilibrium,
    surface: &mut SurfacePolygon<Dual>,
) {
    surface.len = polygon.len;
    let gradient = &equilibrium.pressure.gradient;
    for i in 0..polygon.len {
        let x = &polygon.position[i];
        let p = equilibrium.pressure.at(x);
        let VertexMotion { by_motion, by_modulus } = vertex_motion(gradients, polygon, equilibrium, i, p);
        let mut by = [[0.0; DIRECTIONS]; 3];
        for row in 0..3 {
            let by_move = Vector3::new(by_motion[(row, 0)], by_motion[(row, 1)], by_motion[(row, 2)]);
            // A turn δθ moves O's material by δθ × x.
            let by_turn = x.cross(&by_move);
            for k in 0..3 {
                by[row][k] = by_turn[k];
                by[row][3 + k] = by_move[k];
            }
            (by[row][LOG_MODULUS_O], by[row][LOG_MODULUS_F]) = (-by_modulus[row], by_modulus[row]);
        }
        let mut by_pressure = dot_derivatives(gradient, &by);
        by_pressure[LOG_MODULUS_F] += p;
        let [by_x, by_y, by_z] = by;
        surface.position[i] = Vector3::new(Dual::new(x.x, by_x), Dual::new(x.y, by_y), Dual::new(x.z, by_z));
        surface.pressure[i] = Dual::new(p, by_pressure);
    }
}

/// The sums over the contact surface and their local derivatives.
pub(crate) fn local_jacobian(
    roles: &Roles<f64>,
    settings: &ContactSettings,
    workspace: &mut Workspace,
) -> LocalJacobian {
    match settings.law {
        None => jacobian_with::<false>(roles, settings, workspace),
        Some(own) => own.together(|_| jacobian_with::<true>(roles, settings, workspace)),
    }
}

/// [`local_jacobian`] with a law that is one of the user's own or not.
fn jacobian_with<const OWN: bool>(
    roles: &Roles<f64>,
    settings: &ContactSettings,
    workspace: &mut Workspace,
) -> LocalJacobian {
    let law = TractionLaw::new(roles, settings);
    let rule = fan_rule(settings);
    let (width, width_is_of_o) = roles.onset_width();
    let mut jacobian = LocalJacobian {
        integral: Integral::new(width),
        by_geometry: [[0.0; DIRECTIONS]; 6],
        by_velocity: Matrix6::zeros(),
        by_parameters: PairMaterial::filled(Vector6::zeros()),
        area_by_geometry: [0.0; DIRECTIONS],
        moment_by_geometry: SMatrix::zeros(),
        aligned: false,
    };
    let mut moment_by_geometry = [[0.0; DIRECTIONS]; 3];
    let v_fo = &roles.v_fo;
    let spin = (v_fo.rotational != Vector3::zeros()).then_some(&v_fo.rotational);
    let (mut polygon, mut turning) = (SurfacePolygon::empty(), SurfacePolygon::empty());
    let (mut sums, mut over_surface) = (PolygonDerivatives::new(width, OWN), SurfaceSums::new());
    for_each_polygon(roles, settings.face_filter, &mut workspace.search, |found, equilibrium| {
        polygon.set_real(found, equilibrium);
        let fan = Fan::new(&polygon, settings.surface);
        jacobian.aligned |= found.aligned;
        jacobian.integral.add_surface(&polygon, fan.area, &fan.centroid, settings.surface);
        // κ and its derivatives: by the geometry, and by what it is proportional to.
        let (dissipation, series) = match settings.dissipation_model {
            DissipationModel::HuntCrossley => (Dual::from(law.dissipation(&polygon)), 1.0),
            DissipationModel::StrainRate => {
                set_turning_plane(&mut turning, equilibrium);
                (turning.gradient_in_series() * law.strain_rate(), polygon.gradient_in_series())
            }
        };
        let n = polygon.len;
        let normal = &polygon.normal;
        let traction = |x: &Vector3<f64>, pressure: f64| {
            let velocity = v_fo.translational + v_fo.rotational.cross(x);
            law.derivatives::<OWN>(normal, &velocity, dissipation.re, pressure)
        };
        sums.clear(n);
        match settings.surface {
            SurfaceRepresentation::Polygons => {
                let (x, p) = (&fan.centroid, fan.pressure);
                let acting = OnsetSlopes::new(p, width);
                let t = traction(x, acting.value);
                let point = add_point((x, p, fan.area), &acting, &t, normal, &mut sums, &mut over_surface);
                sums.centroid.add(1.0, &point, spin);
                for i in 0..n {
                    let by_vertex = area_by_vertex(&polygon, i) * acting.value;
                    add_outer(&mut sums.by_area[i], &point.per_pressure, &by_vertex);
                }
            }
            SurfaceRepresentation::Triangles => {
                for i in 0..n {
                    let next = if i + 1 == n { 0 } else { i + 1 };
                    let (from, to) = (&polygon.position[i], &polygon.position[next]);
                    let mut per_area = [0.0; 6];
                    for q in rule {
                        let [c, u, w] = q.barycentric;
                        let x = fan.centroid * c + from * u + to * w;
                        let p = fan.pressure * c + polygon.pressure[i] * u + polygon.pressure[next] * w;
                        let area = fan.triangle_area[i] * q.weight;
                        let acting = OnsetSlopes::new(p, width);
                        let t = traction(&x, acting.value);
                        let point =
                            add_point((&x, p, area), &acting, &t, normal, &mut sums, &mut over_surface);
                        add(&mut per_area, &point.per_pressure, acting.value * q.weight);
                        sums.centroid.add(c, &point, spin);
                        sums.points[i].add(u, &point, spin);
                        sums.points[next].add(w, &point, spin);
                    }
                    let by_from = (to - fan.centroid).cross(normal) * 0.5;
                    let by_to = normal.cross(&(from - fan.centroid)) * 0.5;
                    add_outer(&mut sums.by_area[i], &per_area, &by_from);
                    add_outer(&mut sums.by_area[next], &per_area, &by_to);
                    add_outer(&mut sums.by_area_at_centroid, &per_area, &-(by_from + by_to));
                }
            }
        }
        let [a, b, c, d, e, f] = sums.wrench;
        jacobian.integral.wrench_on_o += SpatialForce::new(Vector3::new(a, b, c), Vector3::new(d, e, f));
        jacobian.by_parameters.dissipation += Vector6::from(sums.by_dissipation) * series;
        for row in 0..6 {
            for k in 0..DIRECTIONS {
                jacobian.by_geometry[row][k] += sums.by_dissipation[row] * dissipation.eps[k];
            }
            // The pressure at a fixed point is proportional to F's modulus, the width of its onset
            // to that of one body.
            jacobian.by_geometry[row][LOG_MODULUS_F] += sums.by_log_pressure()[row];
            let log_width = if width_is_of_o { LOG_MODULUS_O } else { LOG_MODULUS_F };
            jacobian.by_geometry[row][log_width] += sums.by_width[row] * width;
        }
        let gradients = Gradients::new(roles, found, equilibrium);
        centroid_by_vertex(&polygon, &fan, &mut sums.centroid_by_vertex);
        let g = &equilibrium.pressure.gradient;
        let mut by_centroid = sums.centroid.by_position(g, normal, spin);
        for c in 0..3 {
            add(&mut by_centroid[c], &sums.by_area_at_centroid[c], 1.0);
        }
        for i in 0..n {
            let x = &polygon.position[i];
            let motion = vertex_motion(&gradients, found, equilibrium, i, polygon.pressure[i]);
            let centroid = &sums.centroid_by_vertex[i];
            let mut by_vertex = sums.points[i].by_position(g, normal, spin);
            for c in 0..3 {
                add(&mut by_vertex[c], &sums.by_area[i][c], 1.0);
                for k in 0..3 {
                    add(&mut by_vertex[c], &by_centroid[k], centroid[(k, c)]);
                }
            }
            for (r, to) in jacobian.by_geometry.iter_mut().enumerate() {
                motion.add(to, x, &row(&by_vertex, r));
            }
            let area = area_by_vertex(&polygon, i);
            motion.add(&mut jacobian.area_by_geometry, x, &area);
            for (r, to) in moment_by_geometry.iter_mut().enumerate() {
                let own = centroid.row(r).transpose() * fan.area + area * fan.centroid[r];
                motion.add(to, x, &own);
            }
        }
        add_isotropic(&mut sums.by_normal, sums.by_normal_isotropic, &sums.by_normal_lever);
        add_normal(&mut jacobian.by_geometry, &sums.by_normal, normal, &gradients, equilibrium);
    });
    jacobian.by_velocity = over_surface.by_velocity();
    jacobian.by_parameters.static_friction = over_surface.by_static_friction.into();
    jacobian.by_parameters.dynamic_friction = over_surface.by_dynamic_friction.into();
    jacobian.by_parameters.own = over_surface.by_own.map(Vector6::from);
    jacobian.moment_by_geometry = SMatrix::from_fn(|row, k| moment_by_geometry[row][k]);
    jacobian
}

/// Adds to the derivatives with respect to the geometry those through the normal: that of the plane
/// where p_O − p_F vanishes, or fixed to a rigid O.
#[inline(always)]
fn add_normal(
    into: &mut ByGeometry,
    by_normal: &ByVector,
    normal: &Vector3<f64>,
    gradients: &Gradients,
    equilibrium: &Equilibrium,
) {
    let inverse_length = gradients.plane.norm().recip();
    for (r, to) in into.iter_mut().enumerate() {
        let own = row(by_normal, r);
        let by_rotation = match &equilibrium.gradient_o {
            Some(gradient_o) => {
                let by_difference = (own - normal * own.dot(normal)) * inverse_length;
                to[LOG_MODULUS_O] += by_difference.dot(gradient_o);
                to[LOG_MODULUS_F] -= by_difference.dot(&equilibrium.pressure.gradient);
                gradient_o.cross(&by_difference)
            }
            None => normal.cross(&own),
        };
        for k in 0..3 {
            to[k] += by_rotation[k];
        }
    }
}
