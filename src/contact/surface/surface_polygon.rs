//! Polygons of the contact surface in any scalar, and their division into faces.
//!
//! The search finds a polygon in `f64` and remembers which two constraints meet the polygon's
//! plane at each vertex. Here the vertex is evaluated in other scalars by Newton's method on
//! these three planes, started at the known point with the known matrix: after one step the
//! first derivatives are exact, −M⁻¹ times the derivative of the residual; after two the second
//! ones, and so on. Vertices that clipping threw away are never evaluated.

use nalgebra::{Matrix3, Vector3};

use crate::contact::pair::collider::Collider;
use crate::contact::pair::query::{Parts, Roles};
use crate::contact::surface::equilibrium::Equilibrium;
use crate::contact::surface::polygon::{Constraint, FIRST_OF_F, MAX_VERTICES, Polygon};
use crate::contact::surface::rigid_triangle::seen_from_inside;
use crate::field::{LinearFunction, PressureField};
use crate::geometry::SurfaceMesh;
use crate::scalar::{Scalar, lift_vector, real_vector};
use crate::spatial::RigidTransform;

/// A polygon of the contact surface, in F's frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SurfacePolygon<T> {
    /// Number of vertices.
    pub len: usize,
    /// Vertices, counter-clockwise about the normal.
    pub position: [Vector3<T>; MAX_VERTICES],
    /// Pressure at the vertices, Pa.
    pub pressure: [T; MAX_VERTICES],
    /// Unit normal out of F, into O.
    pub normal: Vector3<T>,
    /// O's pressure gradient along the normal, Pa/m (Masterjohn's g), 0 where it lies in the face (see [`along`]);
    /// `None` if O is rigid.
    pub gradient_o: Option<T>,
    /// F's pressure gradient against the normal, Pa/m, likewise.
    pub gradient_f: T,
}

/// A gradient lies in a face if its part along the face's normal is less than this, relative to itself.
const SMALLEST_PART: f64 = 1e-12;

/// The part of a gradient along a normal: 0, with its derivatives, where it is there by rounding alone.
#[inline(always)]
pub(in crate::contact) fn along<T: Scalar>(part: T, gradient: &Vector3<f64>) -> T {
    let real = part.real();
    if real * real <= SMALLEST_PART * SMALLEST_PART * gradient.norm_squared() { part - real } else { part }
}

/// Three planes whose gradients have a triple product below this, relative to their lengths,
/// do not determine a point.
const SINGULAR: f64 = 1e-11;

/// The columns of the inverse of M times its determinant, and the determinant, row `k` of M being
/// `rows[k]`; `None` where the three planes do not meet in one point.
#[inline(always)]
fn adjugate(rows: &[Vector3<f64>; 3]) -> Option<([Vector3<f64>; 3], f64)> {
    let columns = [rows[1].cross(&rows[2]), rows[2].cross(&rows[0]), rows[0].cross(&rows[1])];
    let determinant = rows[0].dot(&columns[0]);
    let size = rows[0].norm_squared() * rows[1].norm_squared() * rows[2].norm_squared();
    (determinant * determinant > SINGULAR * SINGULAR * size).then_some((columns, determinant))
}

/// The matrix that solves `M x = r`, row `k` of M being `rows[k]`.
///
/// Where the three planes do not meet in one point (the vertex of a polygon without width) the
/// component along their common direction is undetermined and set to zero.
#[inline(always)]
pub(crate) fn solve_planes(rows: &[Vector3<f64>; 3]) -> Matrix3<f64> {
    match adjugate(rows) {
        Some((columns, determinant)) => Matrix3::from_columns(&columns) / determinant,
        None => solve_planes_without_point(rows),
    }
}

/// The transpose of the matrix of [`solve_planes`] times a vector.
#[inline(always)]
pub(crate) fn solve_planes_transposed(rows: &[Vector3<f64>; 3], by: &Vector3<f64>) -> Vector3<f64> {
    match adjugate(rows) {
        Some((columns, determinant)) => {
            let inverse = 1.0 / determinant;
            Vector3::from(columns.map(|c| c.dot(by) * inverse))
        }
        None => solve_planes_without_point(rows).tr_mul(by),
    }
}

/// [`solve_planes`] where the three planes do not meet in one point.
#[cold]
fn solve_planes_without_point(rows: &[Vector3<f64>; 3]) -> Matrix3<f64> {
    let scale = rows.map(|r| if r.norm() > 0.0 { r.norm() } else { 1.0 });
    let unit = Matrix3::from_rows(&[0, 1, 2].map(|k| (rows[k] / scale[k]).transpose()));
    let inverse = unit.pseudo_inverse(1e-6).unwrap_or_else(|_| Matrix3::zeros());
    inverse * Matrix3::from_diagonal(&Vector3::from(scale.map(|s| 1.0 / s)))
}

/// The linear functions of a tetrahedron, in a given frame: barycentric coordinates and
/// pressure.
pub(crate) struct TetrahedronPlanes<T> {
    /// Barycentric coordinates: inside, all are ≥ 0.
    pub barycentric: [LinearFunction<T>; 4],
    /// Pressure, Pa.
    pub pressure: LinearFunction<T>,
}

/// `f` of the frame G, as a function of position in F.
pub(crate) fn moved<T: Scalar>(x_fg: &RigidTransform<T>, f: &LinearFunction<T>) -> LinearFunction<T> {
    let gradient = x_fg.rotation * f.gradient;
    LinearFunction { gradient, offset: f.offset - gradient.dot(&x_fg.translation) }
}

/// A constant linear function as scalars `T`.
pub(in crate::contact) fn lifted<T: Scalar>(f: &LinearFunction) -> LinearFunction<T> {
    LinearFunction { gradient: lift_vector(&f.gradient), offset: T::from(f.offset) }
}

/// A linear function times a number.
fn times<T: Scalar>(f: &LinearFunction<T>, by: T) -> LinearFunction<T> {
    LinearFunction { gradient: f.gradient * by, offset: f.offset * by }
}

/// The planes of tetrahedron `i` of a collider in its own frame.
pub(crate) fn tetrahedron_planes<T: Scalar>(
    c: &Collider<T>,
    field: &PressureField,
    i: u32,
) -> TetrahedronPlanes<T> {
    let stored = &field.tetrahedra()[i as usize];
    let modulus = c.material.hydroelastic_modulus;
    if c.vertices.is_none() && c.extent.is_none() {
        return TetrahedronPlanes {
            barycentric: stored.barycentric.map(|f| lifted(&f)),
            pressure: times(&lifted(&stored.extent), modulus),
        };
    }
    let corners = field.mesh().tetrahedra[i as usize].map(|k| k as usize);
    let v = corners.map(|k| match &c.vertices {
        Some(vertices) => vertices[k],
        None => lift_vector(&field.mesh().vertices[k]),
    });
    let e = corners.map(|k| match &c.extent {
        Some(extent) => extent[k],
        None => T::from(field.extent()[k]),
    });
    let (p, q, r) = (v[1] - v[0], v[2] - v[0], v[3] - v[0]);
    let inverse = p.cross(&q).dot(&r).recip();
    let g = [q.cross(&r) * inverse, r.cross(&p) * inverse, p.cross(&q) * inverse];
    let through =
        |gradient: Vector3<T>, zero: &Vector3<T>| LinearFunction { gradient, offset: -gradient.dot(zero) };
    let gradient = g[0] * (e[1] - e[0]) + g[1] * (e[2] - e[0]) + g[2] * (e[3] - e[0]);
    let extent = LinearFunction { gradient, offset: e[0] - gradient.dot(&v[0]) };
    TetrahedronPlanes {
        barycentric: [
            through(-(g[0] + g[1] + g[2]), &v[1]),
            through(g[0], &v[0]),
            through(g[1], &v[0]),
            through(g[2], &v[0]),
        ],
        pressure: times(&extent, modulus),
    }
}

/// The planes of a rigid triangle in F's frame: its own, whose gradient points out of F into O,
/// and those that stand on its edges, positive inside.
fn triangle_planes<T: Scalar>(
    c: &Collider<T>,
    mesh: &SurfaceMesh,
    i: u32,
    x_fo: &RigidTransform<T>,
) -> (LinearFunction<T>, [LinearFunction<T>; 3]) {
    let v = seen_from_inside(mesh.triangles[i as usize]).map(|k| {
        let own = match &c.vertices {
            Some(vertices) => vertices[k as usize],
            None => lift_vector(&mesh.vertices[k as usize]),
        };
        *x_fo * own
    });
    let inward = (v[1] - v[0]).cross(&(v[2] - v[0]));
    let through =
        |gradient: Vector3<T>, zero: &Vector3<T>| LinearFunction { gradient, offset: -gradient.dot(zero) };
    let edges = [0, 1, 2].map(|k: usize| {
        let along = v[(k + 1) % 3] - v[k];
        through(inward.cross(&along), &v[k])
    });
    (through(inward, &v[0]), edges)
}

/// The pressure of a compliant half-space in its own frame.
pub(crate) fn half_space_pressure<T: Scalar>(c: &Collider<T>) -> LinearFunction<T> {
    let stiffness = c.material.hydroelastic_modulus / c.thickness;
    let o = T::from(0.0);
    LinearFunction { gradient: Vector3::new(o, o, -stiffness), offset: o }
}

/// The depth in metres below the top of a compliant half-space's skirt, in its own frame.
pub(crate) fn depth_in_skirt<T: Scalar>(c: &Collider<T>) -> LinearFunction<T> {
    LinearFunction { gradient: lift_vector(&-Vector3::z()), offset: T::from(c.skirt_thickness()) }
}

/// All planes that bound one polygon, in F's frame.
struct PolygonPlanes<T> {
    /// The polygon's own plane; its gradient points out of F, into O.
    plane: LinearFunction<T>,
    of_o: [Option<LinearFunction<T>>; 4],
    of_f: [Option<LinearFunction<T>>; 4],
    pressure_o: Option<LinearFunction<T>>,
    pressure_f: LinearFunction<T>,
}

impl<T: Scalar> PolygonPlanes<T> {
    fn new(roles: &Roles<T>, polygon: &Polygon) -> Self {
        let tetrahedron_f = |f: &PressureField| tetrahedron_planes(roles.f, f, polygon.f);
        let between = |o: &LinearFunction<T>, f: &LinearFunction<T>| LinearFunction {
            gradient: o.gradient - f.gradient,
            offset: o.offset - f.offset,
        };
        match roles.parts {
            Parts::TwoFields { o, f } => {
                let t_o = tetrahedron_planes(roles.o, o, polygon.o);
                let t_f = tetrahedron_f(f);
                let pressure_o = moved(&roles.x_fo, &t_o.pressure);
                Self {
                    plane: between(&pressure_o, &t_f.pressure),
                    of_o: t_o.barycentric.map(|l| Some(moved(&roles.x_fo, &l))),
                    of_f: t_f.barycentric.map(Some),
                    pressure_o: Some(pressure_o),
                    pressure_f: t_f.pressure,
                }
            }
            Parts::SurfaceInField { o, f } => {
                let t_f = tetrahedron_f(f);
                let (plane, [a, b, c]) = triangle_planes(roles.o, o.mesh(), polygon.o, &roles.x_fo);
                Self {
                    plane,
                    of_o: [Some(a), Some(b), Some(c), None],
                    of_f: t_f.barycentric.map(Some),
                    pressure_o: None,
                    pressure_f: t_f.pressure,
                }
            }
            Parts::TwoRigid => {
                let none =
                    LinearFunction { gradient: Vector3::from_element(T::from(0.0)), offset: T::from(0.0) };
                let (of_o, of_f) = ([None; 4], [None; 4]);
                Self { plane: none, of_o, of_f, pressure_o: None, pressure_f: none }
            }
            Parts::SurfaceInHalfSpace { o } => {
                let (plane, [a, b, c]) = triangle_planes(roles.o, o.mesh(), polygon.o, &roles.x_fo);
                let pressure_f = half_space_pressure(roles.f);
                // It bounds polygons where its skirt ends.
                let lifted = pressure_f.offset + roles.f.skirt_pressure();
                Self {
                    plane,
                    of_o: [Some(a), Some(b), Some(c), None],
                    of_f: [Some(LinearFunction { offset: lifted, ..pressure_f }), None, None, None],
                    pressure_o: None,
                    pressure_f,
                }
            }
            Parts::HalfSpaceInField { rigid, f } => {
                let t_f = tetrahedron_f(f);
                let pressure_o = (!rigid).then(|| moved(&roles.x_fo, &half_space_pressure(roles.o)));
                let plane = match &pressure_o {
                    Some(own) => between(own, &t_f.pressure),
                    None => {
                        let gradient = -roles.x_fo.rotation.column(2).into_owned();
                        LinearFunction { gradient, offset: -gradient.dot(&roles.x_fo.translation) }
                    }
                };
                // It bounds polygons where its skirt ends.
                let top = (!rigid).then(|| moved(&roles.x_fo, &depth_in_skirt(roles.o)));
                Self {
                    plane,
                    of_o: [top, None, None, None],
                    of_f: t_f.barycentric.map(Some),
                    pressure_o,
                    pressure_f: t_f.pressure,
                }
            }
        }
    }

    /// The constraint of that number. Every number a polygon carries names one; the polygon's
    /// own plane stands in for one that does not, which moves no vertex sideways.
    fn constraint(&self, name: Constraint) -> &LinearFunction<T> {
        let found = if name < FIRST_OF_F {
            self.of_o[usize::from(name)].as_ref()
        } else {
            self.of_f[usize::from(name - FIRST_OF_F) % 4].as_ref()
        };
        found.unwrap_or(&self.plane)
    }
}

/// Value and position at once: `f` at `x`.
fn at<T: Scalar>(f: &LinearFunction<T>, x: &Vector3<T>) -> T {
    f.gradient.dot(x) + f.offset
}

impl<T: Scalar> SurfacePolygon<T> {
    /// A polygon without vertices: memory for [`Self::set`].
    pub fn empty() -> Self {
        let zero = T::from(0.0);
        Self {
            len: 0,
            position: [Vector3::zeros(); MAX_VERTICES],
            pressure: [zero; MAX_VERTICES],
            normal: Vector3::zeros(),
            gradient_o: None,
            gradient_f: zero,
        }
    }

    /// Evaluates a polygon in scalars `T`. The real parts are those that the search found.
    pub fn evaluate(roles: &Roles<T>, polygon: &Polygon, equilibrium: &Equilibrium) -> Self {
        let mut surface = Self::empty();
        surface.set(roles, polygon, equilibrium);
        surface
    }

    /// Becomes what [`Self::evaluate`] returns. Vertices above their number are left as they are.
    #[inline]
    pub fn set(&mut self, roles: &Roles<T>, polygon: &Polygon, equilibrium: &Equilibrium) {
        self.set_real(polygon, equilibrium);
        if T::NDERIV > 0 {
            self.set_derivatives(roles, polygon, equilibrium);
        }
    }

    /// Adds the derivatives to the real parts.
    fn set_derivatives(&mut self, roles: &Roles<T>, polygon: &Polygon, equilibrium: &Equilibrium) {
        let surface = self;
        let planes = PolygonPlanes::new(roles, polygon);
        for i in 0..polygon.len {
            let previous = if i == 0 { polygon.len - 1 } else { i - 1 };
            let three = [
                &planes.plane,
                planes.constraint(polygon.edge[previous]),
                planes.constraint(polygon.edge[i]),
            ];
            let inverse = solve_planes(&three.map(|f| real_vector(&f.gradient)));
            let x = &mut surface.position[i];
            for _ in 0..T::NDERIV {
                let residual = Vector3::from(three.map(|f| {
                    let r = at(f, x);
                    r - r.real()
                }));
                *x -= inverse.map(T::from) * residual;
            }
            surface.pressure[i] = at(&planes.pressure_f, x);
        }
        let inverse_length = planes.plane.gradient.dot(&planes.plane.gradient).sqrt().recip();
        surface.normal = planes.plane.gradient * inverse_length;
        let part_of_o = planes.pressure_o.map(|p| p.gradient.dot(&surface.normal));
        surface.gradient_o =
            part_of_o.zip(equilibrium.gradient_o.as_ref()).map(|(part, gradient)| along(part, gradient));
        let part_of_f = -planes.pressure_f.gradient.dot(&surface.normal);
        surface.gradient_f = along(part_of_f, &equilibrium.pressure.gradient);
    }

    /// Becomes the polygon without derivatives. Vertices above their number are left as they are.
    #[inline]
    pub fn set_real(&mut self, polygon: &Polygon, equilibrium: &Equilibrium) {
        self.len = polygon.len;
        self.normal = lift_vector(&equilibrium.normal);
        let (normal, gradient_f) = (&equilibrium.normal, &equilibrium.pressure.gradient);
        self.gradient_o = equilibrium.gradient_o.map(|g| T::from(along(g.dot(normal), &g)));
        self.gradient_f = T::from(along(-gradient_f.dot(normal), gradient_f));
        for i in 0..polygon.len.min(MAX_VERTICES) {
            self.position[i] = lift_vector(&polygon.position[i]);
            self.pressure[i] = T::from(equilibrium.pressure.at(&polygon.position[i]));
        }
    }

    /// The two fields' gradient in series along the normal, g_O g_F / (g_O + g_F) in Pa/m
    /// (Masterjohn eq. 23); F's alone where O is rigid. Zero where a field does not grow into
    /// its body. Where one lies in the face, which is where that begins, the derivative is the mean of those of the two
    /// sides: a box that lies flat has such faces on all sides, of which those that begin to grow and those that cease to
    /// are one another's mirror images.
    pub fn gradient_in_series(&self) -> T {
        gradient_in_series(self.gradient_o, self.gradient_f)
    }

    /// Whether both fields grow into their bodies along the normal.
    pub fn fields_grow(&self) -> bool {
        self.gradient_f.real() > 0.0 && self.gradient_o.is_none_or(|o| o.real() > 0.0)
    }
}

/// [`SurfacePolygon::gradient_in_series`] of these gradients of O, `None` where that is rigid, and of F.
#[inline(always)]
pub(in crate::contact) fn gradient_in_series<T: Scalar>(o: Option<T>, f: T) -> T {
    match o {
        Some(o) if o.real() > 0.0 && f.real() > 0.0 => o * f / (o + f),
        Some(o) if o.real() == 0.0 && f.real() > 0.0 => o * 0.5,
        Some(o) if o.real() > 0.0 && f.real() == 0.0 => f * 0.5,
        None if f.real() > 0.0 => f,
        None if f.real() == 0.0 => f * 0.5,
        _ => T::from(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn planes_without_a_common_point_are_solved_across_their_common_direction() {
        let (a, b, c) =
            (Vector3::new(3.0, 1.0, -2.0), Vector3::new(0.2, -0.5, 0.1), Vector3::new(-7.0, 4.0, 9.0));
        let x = Vector3::new(0.3, -1.1, 0.7);
        // Values of the planes' functions at x, from which a point is found.
        let found = |rows: &[Vector3<f64>; 3]| solve_planes(rows) * Vector3::from(rows.map(|r| r.dot(&x)));
        assert_relative_eq!(found(&[a, b, c]), x, max_relative = 1e-12);
        let along = a.cross(&b).normalize();
        for rows in [[a, b, a * -2.0], [a, b * 100.0, b], [a, a + b, b], [a, b, Vector3::zeros()]] {
            assert_relative_eq!(found(&rows), x - along * along.dot(&x), max_relative = 1e-12);
            let by = Vector3::new(0.7, 0.2, -0.4);
            let transposed = solve_planes(&rows).transpose() * by;
            assert_relative_eq!(solve_planes_transposed(&rows, &by), transposed, max_relative = 1e-12);
        }
        assert_eq!(found(&[Vector3::zeros(); 3]), Vector3::zeros());
    }
}
