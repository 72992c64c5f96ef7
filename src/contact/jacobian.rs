//! The local Jacobian of a contact: the wrench's derivatives with respect to what it depends on
//! and no more, whatever the state around it is.
//!
//! In F's frame the wrench depends on the pose of O (6 tangent directions), both moduli, the
//! relative velocity (6), the dissipation and the friction coefficients. Each vertex of the
//! surface moves with a 3×3 matrix times the velocity of O's material there. So the integral over
//! a polygon is first differentiated by the motion of each of its vertices, in closed form and
//! from the quadrature points backwards, and only then by what moves the vertices: directions
//! are paid for once a vertex and not once a quadrature point.

use nalgebra::{Matrix3, Matrix6, SMatrix, Vector3, Vector6};

use super::polygon::{FIRST_OF_F, MAX_VERTICES, Polygon};
use super::roles::{Parts, Roles};
use super::search::{Equilibrium, for_each_polygon, seen_from_inside};
use super::settings::{ContactSettings, DissipationModel, SurfaceRepresentation};
use super::surface::{Fan, SurfacePolygon, solve_planes};
use super::traction::TractionLaw;
use super::wrench::{Integral, Workspace, fan_rule};
use crate::scalar::DualArray;
use crate::spatial::{SpatialForce, cross_matrix};

/// Directions of the surface's geometry: rotation and translation of O, the logarithms of O's
/// and F's moduli.
pub(crate) const DIRECTIONS: usize = 8;
type Dual = DualArray<DIRECTIONS>;

const LOG_MODULUS_O: usize = 6;
const LOG_MODULUS_F: usize = 7;

/// Six rows, torque then force, each by the directions of the geometry: rows are contiguous, so
/// that all directions are summed at once.
type ByGeometry = [[f64; DIRECTIONS]; 6];

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
struct Gradients {
    plane: Vector3<f64>,
    of_o: [Vector3<f64>; 4],
    of_f: [Vector3<f64>; 4],
}

impl Gradients {
    #[inline]
    fn new(roles: &Roles<f64>, polygon: &Polygon, equilibrium: &Equilibrium) -> Self {
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

/// How a vertex moves.
struct VertexMotion {
    /// By the velocity of O's material there.
    by_motion: Matrix3<f64>,
    /// By the logarithm of F's modulus, and against that of O's.
    by_modulus: Vector3<f64>,
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
    let previous = if i == 0 { polygon.len - 1 } else { i - 1 };
    let of = |name: u8| match name {
        0..FIRST_OF_F => &gradients.of_o[usize::from(name)],
        _ => &gradients.of_f[usize::from(name - FIRST_OF_F) % 4],
    };
    let names = [polygon.edge[previous], polygon.edge[i]];
    let inverse = solve_planes(&[gradients.plane, *of(names[0]), *of(names[1])]);
    // What of the plane moves with O: its own plane if O is rigid.
    let carried = equilibrium.gradient_o.as_ref().unwrap_or(&gradients.plane);
    let mut by_motion = inverse.column(0) * carried.transpose();
    for (k, name) in names.into_iter().enumerate() {
        if name < FIRST_OF_F {
            by_motion += inverse.column(k + 1) * of(name).transpose();
        }
    }
    // p_O − p_F grows by p with each logarithm's own sign.
    let by_modulus = match equilibrium.gradient_o {
        Some(_) => inverse.column(0) * pressure,
        None => Vector3::zeros(),
    };
    VertexMotion { by_motion, by_modulus }
}

/// A wrench's torque and force, differentiated by a vector.
#[derive(Clone, Copy)]
struct ByVector {
    torque: Matrix3<f64>,
    force: Matrix3<f64>,
}

impl ByVector {
    fn zeros() -> Self {
        Self { torque: Matrix3::zeros(), force: Matrix3::zeros() }
    }

    /// Adds the derivative of a wrench times a number, whose derivative is `by`.
    #[inline(always)]
    fn add_outer(&mut self, wrench: &Vector6<f64>, by: &Vector3<f64>) {
        for c in 0..3 {
            for r in 0..3 {
                self.torque[(r, c)] += wrench[r] * by[c];
                self.force[(r, c)] += wrench[3 + r] * by[c];
            }
        }
    }
}

/// What the integral over a polygon gains as one of the points moves that its quadrature points
/// are weighted means of, each counted with its weight.
#[derive(Clone, Copy)]
struct PointSums {
    /// The forces.
    force: Vector3<f64>,
    /// The wrenches per pressure, times area.
    per_pressure: Vector6<f64>,
    /// Through the velocity, which changes with the position if the bodies turn.
    by_velocity: ByVector,
}

impl PointSums {
    fn zeros() -> Self {
        Self { force: Vector3::zeros(), per_pressure: Vector6::zeros(), by_velocity: ByVector::zeros() }
    }

    /// The derivative by the motion of the point.
    #[inline(always)]
    fn by_position(&self, pressure_gradient: &Vector3<f64>) -> ByVector {
        let mut sum = self.by_velocity;
        sum.torque -= cross_matrix(&self.force);
        sum.add_outer(&self.per_pressure, pressure_gradient);
        sum
    }
}

/// The derivative of the area of a polygon by the motion of vertex `i`.
#[inline(always)]
fn area_by_vertex(polygon: &SurfacePolygon<f64>, i: usize) -> Vector3<f64> {
    let n = polygon.len;
    let next = if i + 1 == n { 0 } else { i + 1 };
    let previous = if i == 0 { n - 1 } else { i - 1 };
    (polygon.position[next] - polygon.position[previous]).cross(&polygon.normal) * 0.5
}

/// The derivative of the centroid of a polygon by the motion of each vertex.
#[inline(always)]
fn centroid_by_vertex(
    polygon: &SurfacePolygon<f64>,
    fan: &Fan<f64>,
    into: &mut [Matrix3<f64>; MAX_VERTICES],
) {
    let n = polygon.len;
    if !fan.has_centroid {
        into[..n].fill(Matrix3::from_diagonal_element(1.0 / n as f64));
        return;
    }
    into[..n].fill(Matrix3::zeros());
    let origin = polygon.position[0];
    let normal = &polygon.normal;
    let share = 1.0 / (6.0 * fan.area);
    for i in 1..n - 1 {
        let (from, to) = (polygon.position[i] - origin, polygon.position[i + 1] - origin);
        // The centroid is the mean of the triangles' centroids, weighted with their areas.
        let off = (from + to - (fan.centroid - origin) * 3.0) * share;
        let (by_from, by_to) = (to.cross(normal), normal.cross(&from));
        let weight = from.dot(&by_from) * share;
        for (k, by) in [(i, by_from), (i + 1, by_to), (0, -(by_from + by_to))] {
            into[k] += off * by.transpose();
            for d in 0..3 {
                into[k][(d, d)] += weight;
            }
        }
    }
}

/// (x × f; f)
#[inline(always)]
fn wrench_at(x: &Vector3<f64>, f: &Vector3<f64>) -> Vector6<f64> {
    let m = x.cross(f);
    Vector6::new(m.x, m.y, m.z, f.x, f.y, f.z)
}

/// Memory for the derivatives of one polygon.
struct PolygonDerivatives {
    /// By the motion of the vertices, but for what passes through the centroid.
    by_vertex: [ByVector; MAX_VERTICES],
    /// What quadrature points gain from the vertices, and from the centroid.
    points: [PointSums; MAX_VERTICES],
    centroid: PointSums,
    /// By the motion of the centroid, through the areas of triangles.
    centroid_by_area: ByVector,
    /// The centroid by the motion of the vertices.
    centroid_by_vertex: [Matrix3<f64>; MAX_VERTICES],
    /// By the normal.
    by_normal: ByVector,
    /// By the dissipation κ.
    by_dissipation: Vector6<f64>,
    /// The wrench.
    wrench: Vector6<f64>,
}

impl PolygonDerivatives {
    fn new() -> Self {
        Self {
            by_vertex: [ByVector::zeros(); MAX_VERTICES],
            points: [PointSums::zeros(); MAX_VERTICES],
            centroid: PointSums::zeros(),
            centroid_by_area: ByVector::zeros(),
            centroid_by_vertex: [Matrix3::zeros(); MAX_VERTICES],
            by_normal: ByVector::zeros(),
            by_dissipation: Vector6::zeros(),
            wrench: Vector6::zeros(),
        }
    }

    /// Begins a polygon of `n` vertices.
    fn clear(&mut self, n: usize) {
        self.by_vertex[..n].fill(ByVector::zeros());
        self.points[..n].fill(PointSums::zeros());
        self.centroid = PointSums::zeros();
        self.centroid_by_area = ByVector::zeros();
        self.by_normal = ByVector::zeros();
        self.by_dissipation = Vector6::zeros();
        self.wrench = Vector6::zeros();
    }
}

/// What is the same at all points of a surface, and the sums over them.
struct PointLaw<'a> {
    roles: &'a Roles<'a, f64>,
    law: &'a TractionLaw<f64>,
    spin: Matrix3<f64>,
    turning_about: bool,
}

impl PointLaw<'_> {
    /// Adds the force at the quadrature point `x` with pressure `p` and area `a`; returns the
    /// wrench per pressure and, if the bodies turn, the derivative through the velocity as the
    /// point moves.
    #[inline(always)]
    fn add(
        &self,
        x: &Vector3<f64>,
        p: f64,
        a: f64,
        normal: &Vector3<f64>,
        dissipation: f64,
        sums: &mut PolygonDerivatives,
        jacobian: &mut LocalJacobian,
    ) -> (Vector6<f64>, ByVector) {
        let v_fo = &self.roles.v_fo;
        let velocity = v_fo.translational + v_fo.rotational.cross(x);
        let t = self.law.derivatives(normal, &velocity, dissipation);
        let load = p * a;
        let per_pressure = wrench_at(x, &t.value);
        sums.wrench += per_pressure * load;
        let lever = |m: &Matrix3<f64>| Matrix3::from_columns(&[0, 1, 2].map(|c| x.cross(&m.column(c))));
        let by_normal = t.by_normal * load;
        sums.by_normal.force += by_normal;
        sums.by_normal.torque += lever(&by_normal);
        // A turn δω changes the velocity by δω × x.
        let by_linear = t.by_velocity * load;
        let by_angular =
            Matrix3::from_rows(&[0, 1, 2].map(|r| x.cross(&by_linear.row(r).transpose()).transpose()));
        let rows = [lever(&by_angular), lever(&by_linear), by_angular, by_linear];
        for c in 0..3 {
            for r in 0..3 {
                jacobian.by_velocity[(r, c)] += rows[0][(r, c)];
                jacobian.by_velocity[(r, 3 + c)] += rows[1][(r, c)];
                jacobian.by_velocity[(3 + r, c)] += rows[2][(r, c)];
                jacobian.by_velocity[(3 + r, 3 + c)] += rows[3][(r, c)];
            }
        }
        sums.by_dissipation += wrench_at(x, &(t.by_dissipation * load));
        jacobian.by_static_friction += wrench_at(x, &(t.by_static_friction * load));
        jacobian.by_dynamic_friction += wrench_at(x, &(t.by_dynamic_friction * load));
        let by_velocity = if self.turning_about {
            ByVector { torque: rows[1] * self.spin, force: rows[3] * self.spin }
        } else {
            ByVector::zeros()
        };
        (per_pressure, by_velocity)
    }

    /// Counts the motion of the quadrature point with the motion of a point that has this weight
    /// in it.
    #[inline(always)]
    fn share(
        &self,
        into: &mut PointSums,
        weight: f64,
        p: f64,
        a: f64,
        per_pressure: &Vector6<f64>,
        by_velocity: &ByVector,
    ) {
        let area = weight * a;
        into.per_pressure += per_pressure * area;
        into.force += per_pressure.fixed_rows::<3>(3) * (area * p);
        if self.turning_about {
            into.by_velocity.torque += by_velocity.torque * weight;
            into.by_velocity.force += by_velocity.force * weight;
        }
    }
}

/// Adds to the derivatives by the geometry those through the motion of a vertex at `x`.
#[inline(always)]
fn add_rows<const ROWS: usize>(
    into: [&mut [f64; DIRECTIONS]; ROWS],
    rows: [Vector3<f64>; ROWS],
    x: &Vector3<f64>,
    motion: &VertexMotion,
) {
    for (to, row) in into.into_iter().zip(&rows) {
        let by_motion = motion.by_motion.tr_mul(row);
        let by_rotation = x.cross(&by_motion);
        let by_modulus = row.dot(&motion.by_modulus);
        for k in 0..3 {
            to[k] += by_rotation[k];
            to[3 + k] += by_motion[k];
        }
        to[LOG_MODULUS_O] -= by_modulus;
        to[LOG_MODULUS_F] += by_modulus;
    }
}

/// The dissipation κ of the strain-rate form, which depends on the pressure gradients along the
/// normal, with its derivatives by the geometry.
fn strain_rate_dissipation(
    equilibrium: &Equilibrium,
    polygon: &SurfacePolygon<f64>,
    strain_rate: f64,
) -> Dual {
    let gradient_f = of_f(&equilibrium.pressure.gradient);
    let zero = Dual::from(0.0);
    let (normal, gradient_o) = match &equilibrium.gradient_o {
        Some(gradient) => {
            let gradient_o = turning(gradient, true);
            let difference = gradient_o - gradient_f;
            let inverse_length = num_dual::DualNum::sqrt(&difference.dot(&difference));
            let normal = difference.map(|x| x / inverse_length);
            (normal, Some(gradient_o.dot(&normal)))
        }
        None => (turning(&equilibrium.normal, false), None),
    };
    let surface = SurfacePolygon {
        len: polygon.len,
        position: [Vector3::from([zero; 3]); MAX_VERTICES],
        pressure: [zero; MAX_VERTICES],
        normal,
        gradient_o,
        gradient_f: -gradient_f.dot(&normal),
    };
    surface.gradient_in_series() * strain_rate
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
    let mut moment_by_geometry = [[0.0; DIRECTIONS]; 3];
    let at_points = PointLaw {
        roles,
        law: &law,
        spin: cross_matrix(&roles.v_fo.rotational),
        turning_about: roles.v_fo.rotational != Vector3::zeros(),
    };
    let mut sums = PolygonDerivatives::new();
    for_each_polygon(roles, settings.face_filter, &mut workspace.stack, |found, equilibrium| {
        let polygon = SurfacePolygon::from_real(found, equilibrium);
        let fan = Fan::new(&polygon, settings.surface);
        jacobian.aligned |= found.aligned;
        jacobian.integral.add_surface(&polygon, fan.area, &fan.centroid, settings.surface);
        // κ and its derivatives: by the geometry, and by what it is proportional to.
        let (dissipation, series) = match settings.dissipation_model {
            DissipationModel::HuntCrossley => (Dual::from(law.dissipation(&polygon)), 1.0),
            DissipationModel::StrainRate => (
                strain_rate_dissipation(equilibrium, &polygon, law.strain_rate()),
                polygon.gradient_in_series(),
            ),
        };
        let n = polygon.len;
        let normal = &polygon.normal;
        let kappa = dissipation.re;
        sums.clear(n);
        match settings.surface {
            SurfaceRepresentation::Polygons => {
                let (x, p, a) = (&fan.centroid, fan.pressure, fan.area);
                let (per_pressure, by_velocity) =
                    at_points.add(x, p, a, normal, kappa, &mut sums, &mut jacobian);
                at_points.share(&mut sums.centroid, 1.0, p, a, &per_pressure, &by_velocity);
                for i in 0..n {
                    sums.by_vertex[i].add_outer(&(per_pressure * p), &area_by_vertex(&polygon, i));
                }
            }
            SurfaceRepresentation::Triangles => {
                for i in 0..n {
                    let next = if i + 1 == n { 0 } else { i + 1 };
                    let (from, to) = (&polygon.position[i], &polygon.position[next]);
                    let mut per_area = Vector6::zeros();
                    for point in rule {
                        let [c, u, w] = point.barycentric;
                        let x = fan.centroid * c + from * u + to * w;
                        let p = fan.pressure * c + polygon.pressure[i] * u + polygon.pressure[next] * w;
                        let a = fan.triangle_area[i] * point.weight;
                        let (per_pressure, by_velocity) =
                            at_points.add(&x, p, a, normal, kappa, &mut sums, &mut jacobian);
                        per_area += per_pressure * (p * point.weight);
                        at_points.share(&mut sums.centroid, c, p, a, &per_pressure, &by_velocity);
                        at_points.share(&mut sums.points[i], u, p, a, &per_pressure, &by_velocity);
                        at_points.share(&mut sums.points[next], w, p, a, &per_pressure, &by_velocity);
                    }
                    let by_from = (to - fan.centroid).cross(normal) * 0.5;
                    let by_to = normal.cross(&(from - fan.centroid)) * 0.5;
                    sums.by_vertex[i].add_outer(&per_area, &by_from);
                    sums.by_vertex[next].add_outer(&per_area, &by_to);
                    sums.centroid_by_area.add_outer(&per_area, &-(by_from + by_to));
                }
            }
        }
        let w = &sums.wrench;
        jacobian.integral.wrench_on_o +=
            SpatialForce::new(w.fixed_rows::<3>(0).into(), w.fixed_rows::<3>(3).into());
        add_geometry(
            roles,
            found,
            equilibrium,
            &polygon,
            &fan,
            &mut sums,
            &mut jacobian,
            &mut moment_by_geometry,
        );
        jacobian.by_dissipation += sums.by_dissipation * series;
        for row in 0..6 {
            for k in 0..DIRECTIONS {
                jacobian.by_geometry[row][k] += sums.by_dissipation[row] * dissipation.eps[k];
            }
            // The pressure at a fixed point is proportional to F's modulus.
            jacobian.by_geometry[row][LOG_MODULUS_F] += sums.wrench[row];
        }
    });
    jacobian.moment_by_geometry = SMatrix::from_fn(|row, k| moment_by_geometry[row][k]);
    jacobian
}

/// Adds a polygon's derivatives by the geometry: through the motion of its vertices and its
/// normal.
#[allow(clippy::too_many_arguments, reason = "the polygon in its three forms, and what to add to")]
#[inline(always)]
fn add_geometry(
    roles: &Roles<f64>,
    found: &Polygon,
    equilibrium: &Equilibrium,
    polygon: &SurfacePolygon<f64>,
    fan: &Fan<f64>,
    sums: &mut PolygonDerivatives,
    jacobian: &mut LocalJacobian,
    moment: &mut [[f64; DIRECTIONS]; 3],
) {
    let gradients = Gradients::new(roles, found, equilibrium);
    let g = &equilibrium.pressure.gradient;
    centroid_by_vertex(polygon, fan, &mut sums.centroid_by_vertex);
    let mut by_centroid = sums.centroid.by_position(g);
    by_centroid.torque += sums.centroid_by_area.torque;
    by_centroid.force += sums.centroid_by_area.force;
    for i in 0..polygon.len {
        let x = &polygon.position[i];
        let motion = vertex_motion(&gradients, found, equilibrium, i, polygon.pressure[i]);
        let own = sums.points[i].by_position(g);
        let centroid = &sums.centroid_by_vertex[i];
        let torque = own.torque + sums.by_vertex[i].torque + by_centroid.torque * centroid;
        let force = own.force + sums.by_vertex[i].force + by_centroid.force * centroid;
        let [a, b, c, d, e, f] = &mut jacobian.by_geometry;
        let rows = [0, 1, 2].map(|r| torque.row(r).transpose());
        add_rows([a, b, c], rows, x, &motion);
        let rows = [0, 1, 2].map(|r| force.row(r).transpose());
        add_rows([d, e, f], rows, x, &motion);
        let area = area_by_vertex(polygon, i);
        add_rows([&mut jacobian.area_by_geometry], [area], x, &motion);
        let rows = [0, 1, 2].map(|r| centroid.row(r).transpose() * fan.area + area * fan.centroid[r]);
        add_rows(moment.each_mut(), rows, x, &motion);
    }
    // The normal: that of the plane where p_O − p_F vanishes, or fixed to a rigid O.
    let normal = &polygon.normal;
    for row in 0..6 {
        let by_normal = match row {
            0..3 => sums.by_normal.torque.row(row),
            _ => sums.by_normal.force.row(row - 3),
        }
        .transpose();
        let to = &mut jacobian.by_geometry[row];
        match &equilibrium.gradient_o {
            Some(gradient_o) => {
                let by_difference = (by_normal - normal * by_normal.dot(normal)) / gradients.plane.norm();
                let by_rotation = gradient_o.cross(&by_difference);
                for k in 0..3 {
                    to[k] += by_rotation[k];
                }
                to[LOG_MODULUS_O] += by_difference.dot(gradient_o);
                to[LOG_MODULUS_F] -= by_difference.dot(g);
            }
            None => {
                let by_rotation = normal.cross(&by_normal);
                for k in 0..3 {
                    to[k] += by_rotation[k];
                }
            }
        }
    }
}
