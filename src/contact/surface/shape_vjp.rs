//! Reverse mode from a polygon of the contact surface to the shapes of both geometries: to the vertices of
//! their meshes, the extents there, and the thickness of a half-space.
//!
//! A polygon lies in one element of each geometry, and follows nothing but the linear functions of the two:
//! pressure and barycentric coordinates of a tetrahedron, height and edges of a triangle. Such a function f
//! takes given values at the element's corners v_k. So at a fixed point x with the barycentric coordinates
//! b_k(x) it changes by −∇f·Σ b_k(x) δv_k as the corners move, and by Σ b_k(x) δf_k as its values there do.
//! A vertex of the polygon is where three such functions vanish.

use nalgebra::{Matrix3, Vector3};

use crate::contact::pair::collider::Collider;
use crate::contact::pair::query::{Parts, Roles};
use crate::contact::surface::equilibrium::Equilibrium;
use crate::contact::surface::polygon::{FIRST_OF_F, Polygon};
use crate::contact::surface::polygon_vjp::GradientCotangent;
use crate::contact::surface::rigid_triangle::seen_from_inside;
use crate::contact::surface::vertex_planes::VertexPlanes;
use crate::field::PressureField;
use crate::geometry::SurfaceMesh;

/// The derivatives of a number with respect to one vertex of a mesh.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VertexTerm {
    /// Its index.
    pub vertex: u32,
    /// With respect to its position, in the geometry's frame.
    pub position: Vector3<f64>,
    /// With respect to the extent there; 0 for rigid geometries.
    pub extent: f64,
}

/// The derivatives of a number with respect to the shape of one geometry, as sums.
#[derive(Clone, Debug, Default)]
pub(crate) struct GeometryTerms {
    /// With respect to vertices, each of them any number of times.
    pub vertices: Vec<VertexTerm>,
    /// With respect to the thickness of a half-space.
    pub thickness: f64,
}

/// The derivatives of a number with respect to the shapes of the two geometries of a pair.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShapeTerms {
    pub o: GeometryTerms,
    pub f: GeometryTerms,
    /// Whether A is O (else A is F).
    pub a_is_o: bool,
    /// Whether the shapes of A and of B are asked for; the others have no terms but that of the onset's width.
    asked: [bool; 2],
}

impl ShapeTerms {
    /// The terms of A and of B.
    pub fn of_a_and_b(&self) -> [&GeometryTerms; 2] {
        if self.a_is_o { [&self.o, &self.f] } else { [&self.f, &self.o] }
    }

    /// Begins with no terms of the shapes of A and of B, as far as they are asked for.
    pub fn start(&mut self, asked: [bool; 2]) {
        self.asked = asked;
        for terms in [&mut self.o, &mut self.f] {
            terms.vertices.clear();
            terms.thickness = 0.0;
        }
    }

    /// Whether the shapes of O and of F are asked for.
    fn asked_of_o_and_f(&self, roles: &Roles<f64>) -> [bool; 2] {
        let [a, b] = self.asked;
        if roles.a_is_o { [a, b] } else { [b, a] }
    }

    /// Adds the derivatives through the width of the onset of the pressure, given that with respect to the
    /// width's logarithm, and whether the width is O's: it is inverse to the thickness of a half-space.
    pub fn add_width(&mut self, roles: &Roles<f64>, width_is_of_o: bool, by_logarithm: f64) {
        let (collider, terms) = match width_is_of_o {
            true => (roles.o, &mut self.o),
            false => (roles.f, &mut self.f),
        };
        if collider.geometry.is_half_space() && by_logarithm != 0.0 {
            terms.thickness -= by_logarithm / collider.thickness;
        }
    }
}

/// The element of one geometry that a polygon lies in.
enum Element<'a> {
    /// A tetrahedron of a compliant geometry with this modulus.
    Tetrahedron { field: &'a PressureField, index: u32, modulus: f64 },
    /// A triangle of a rigid geometry.
    Triangle { mesh: &'a SurfaceMesh, index: u32 },
    /// A compliant half-space of this thickness.
    HalfSpace { thickness: f64 },
    /// A rigid half-space, whose shape has no numbers.
    Nothing,
}

/// The derivatives with respect to one element. Vectors are in F's frame.
struct ElementTerms<'a> {
    element: Element<'a>,
    /// From the axes of the geometry's frame to those of F.
    rotation: Matrix3<f64>,
    /// The gradient of the element's pressure; zero if it is rigid.
    gradient: Vector3<f64>,
    position: [Vector3<f64>; 4],
    extent: [f64; 4],
    thickness: f64,
}

impl<'a> ElementTerms<'a> {
    fn new(element: Element<'a>, rotation: Matrix3<f64>, gradient: Vector3<f64>) -> Self {
        Self {
            element,
            rotation,
            gradient,
            position: [Vector3::zeros(); 4],
            extent: [0.0; 4],
            thickness: 0.0,
        }
    }

    /// Adds the derivatives through linear functions at a point: `x` is the point in the geometry's frame.
    /// The number grows by `by_pressure` times the growth of the pressure, which is `pressure` there, and by
    /// `−by_functions` times the move of the element's material there through its other functions.
    fn add_point(&mut self, x: &Vector3<f64>, pressure: f64, by_pressure: f64, by_functions: &Vector3<f64>) {
        let by_move = self.gradient * by_pressure + by_functions;
        match &self.element {
            Element::Tetrahedron { field, index, modulus } => {
                let barycentric = &field.tetrahedra()[*index as usize].barycentric;
                for (k, coordinate) in barycentric.iter().enumerate() {
                    let b = coordinate.at(x);
                    self.position[k] -= by_move * b;
                    self.extent[k] += modulus * by_pressure * b;
                }
            }
            Element::Triangle { mesh, index } => {
                let b = triangle_coordinates(mesh, *index, x);
                for k in 0..3 {
                    self.position[k] -= by_move * b[k];
                }
            }
            Element::HalfSpace { thickness } => self.thickness -= by_pressure * pressure / thickness,
            Element::Nothing => {}
        }
    }

    /// Adds the derivatives through the gradient of the element's pressure, in F's frame.
    fn add_gradient(&mut self, by_gradient: &Vector3<f64>) {
        match &self.element {
            Element::Tetrahedron { field, index, modulus } => {
                let barycentric = &field.tetrahedra()[*index as usize].barycentric;
                for (k, coordinate) in barycentric.iter().enumerate() {
                    let along = (self.rotation * coordinate.gradient).dot(by_gradient);
                    self.position[k] -= self.gradient * along;
                    self.extent[k] += modulus * along;
                }
            }
            Element::HalfSpace { thickness } => {
                self.thickness -= by_gradient.dot(&self.gradient) / thickness;
            }
            Element::Triangle { .. } | Element::Nothing => {}
        }
    }

    /// Adds the derivatives through the normal of a rigid triangle; `by_normal` has no part along it.
    fn add_normal(&mut self, by_normal: &Vector3<f64>) {
        if let Element::Triangle { mesh, index } = &self.element {
            let [a, b, c] = seen_from_inside(mesh.triangles[*index as usize])
                .map(|k| self.rotation * mesh.vertices[k as usize]);
            let (first, second) = (b - a, c - a);
            // The normal is the direction of the cross product of both edges.
            let by_product = by_normal / first.cross(&second).norm();
            let (by_first, by_second) = (second.cross(&by_product), by_product.cross(&first));
            self.position[0] -= by_first + by_second;
            self.position[1] += by_first;
            self.position[2] += by_second;
        }
    }

    fn finish(self, terms: &mut GeometryTerms) {
        match &self.element {
            Element::Tetrahedron { field, index, .. } => {
                self.add_corners(&field.mesh().tetrahedra[*index as usize], terms);
            }
            Element::Triangle { mesh, index } => {
                self.add_corners(&seen_from_inside(mesh.triangles[*index as usize]), terms);
            }
            Element::HalfSpace { .. } => terms.thickness += self.thickness,
            Element::Nothing => {}
        }
    }

    fn add_corners(&self, corners: &[u32], terms: &mut GeometryTerms) {
        terms.vertices.reserve(corners.len());
        for (k, &vertex) in corners.iter().enumerate() {
            let position = self.rotation.tr_mul(&self.position[k]);
            terms.vertices.push(VertexTerm { vertex, position, extent: self.extent[k] });
        }
    }
}

/// The barycentric coordinates of a point in the plane of a triangle, in the order of
/// [`seen_from_inside`].
fn triangle_coordinates(mesh: &SurfaceMesh, index: u32, x: &Vector3<f64>) -> [f64; 3] {
    let [a, b, c] = seen_from_inside(mesh.triangles[index as usize]).map(|k| mesh.vertices[k as usize]);
    let normal = (b - a).cross(&(c - a));
    let per_area = 1.0 / normal.norm_squared();
    let second = normal.dot(&(x - a).cross(&(c - a))) * per_area;
    let third = normal.dot(&(b - a).cross(&(x - a))) * per_area;
    [1.0 - second - third, second, third]
}

/// The derivatives of a number with respect to the elements that one polygon lies in.
pub(in crate::contact) struct PolygonShape<'a> {
    roles: &'a Roles<'a, f64>,
    o: ElementTerms<'a>,
    f: ElementTerms<'a>,
    /// Whether the polygon's plane is that of equal pressure, and not O's own.
    is_balance: bool,
}

impl<'a> PolygonShape<'a> {
    /// No derivatives yet; those that `terms` are asked for are to come.
    pub fn new(
        roles: &'a Roles<'a, f64>,
        found: &Polygon,
        equilibrium: &Equilibrium,
        terms: &ShapeTerms,
    ) -> Self {
        let tetrahedron = |field: &'a PressureField, index: u32, c: &Collider| Element::Tetrahedron {
            field,
            index,
            modulus: c.material.hydroelastic_modulus,
        };
        let (o, f) = match roles.parts {
            Parts::TwoFields { o, f } => (tetrahedron(o, found.o, roles.o), tetrahedron(f, found.f, roles.f)),
            Parts::SurfaceInField { o, f } => {
                (Element::Triangle { mesh: o.mesh(), index: found.o }, tetrahedron(f, found.f, roles.f))
            }
            Parts::HalfSpaceInField { rigid, f } => {
                let thickness = roles.o.thickness;
                let o = if rigid { Element::Nothing } else { Element::HalfSpace { thickness } };
                (o, tetrahedron(f, found.f, roles.f))
            }
            Parts::SurfaceInHalfSpace { o } => (
                Element::Triangle { mesh: o.mesh(), index: found.o },
                Element::HalfSpace { thickness: roles.f.thickness },
            ),
            Parts::TwoRigid => (Element::Nothing, Element::Nothing),
        };
        let [asked_o, asked_f] = terms.asked_of_o_and_f(roles);
        let (o, f) = (if asked_o { o } else { Element::Nothing }, if asked_f { f } else { Element::Nothing });
        let gradient_o = equilibrium.gradient_o.unwrap_or_else(Vector3::zeros);
        Self {
            roles,
            o: ElementTerms::new(o, roles.x_fo.rotation, gradient_o),
            f: ElementTerms::new(f, Matrix3::identity(), equilibrium.pressure.gradient),
            is_balance: equilibrium.gradient_o.is_some(),
        }
    }

    /// Adds the derivatives through the fields' gradients and the normal.
    pub fn add_gradients(&mut self, by: &GradientCotangent) {
        self.o.add_gradient(&by.of_o);
        self.f.add_gradient(&by.of_f);
        if !self.is_balance {
            self.o.add_normal(&by.normal);
        }
    }

    /// Adds the derivatives through a vertex at `x`, where the pressure is `pressure`: `by_planes` are those
    /// of [`VertexPlanes::solve_transposed`], `by_pressure` is that with respect to the pressure there.
    pub fn add_vertex(
        &mut self,
        x: &Vector3<f64>,
        pressure: f64,
        planes: &VertexPlanes,
        by_planes: &Vector3<f64>,
        by_pressure: f64,
    ) {
        let (mut of_o, mut of_f) = (Vector3::zeros(), Vector3::zeros());
        for k in [1, 2] {
            let by_function = planes.rows[k] * -by_planes[k];
            if planes.name(k) < FIRST_OF_F { of_o += by_function } else { of_f += by_function }
        }
        // The function of the polygon's plane is p_O − p_F, or that of O's own plane.
        let by_difference = -by_planes.x;
        let (by_o, by_f) =
            if self.is_balance { (by_difference, by_pressure - by_difference) } else { (0.0, by_pressure) };
        if !self.is_balance {
            of_o += planes.rows[0] * by_difference;
        }
        let x_fo = &self.roles.x_fo;
        let x_o = x_fo.rotation.tr_mul(&(x - x_fo.translation));
        self.o.add_point(&x_o, pressure, by_o, &of_o);
        self.f.add_point(x, pressure, by_f, &of_f);
    }

    /// Adds the derivatives through the barycentric coordinate of another tetrahedron of O, or of F, which a line along the
    /// normal from `x` leaves the body through: with respect to the coordinate's gradient, which is `gradient`, and to its
    /// value at `x`.
    pub fn add_end(
        &self,
        of_o: bool,
        tetrahedron: u32,
        x: &Vector3<f64>,
        gradient: &Vector3<f64>,
        (by_gradient, by_value): (&Vector3<f64>, f64),
        terms: &mut ShapeTerms,
    ) {
        let (own, terms) = if of_o { (&self.o, &mut terms.o) } else { (&self.f, &mut terms.f) };
        let Element::Tetrahedron { field, .. } = own.element else { return };
        // The values at the corners are those of a coordinate, not of an extent.
        let element = Element::Tetrahedron { field, index: tetrahedron, modulus: 0.0 };
        let mut end = ElementTerms::new(element, own.rotation, *gradient);
        let x_fo = &self.roles.x_fo;
        let x = if of_o { x_fo.rotation.tr_mul(&(x - x_fo.translation)) } else { *x };
        end.add_point(&x, 0.0, by_value, &Vector3::zeros());
        end.add_gradient(by_gradient);
        end.finish(terms);
    }

    /// Adds what was found to the derivatives with respect to both geometries.
    pub fn finish(self, terms: &mut ShapeTerms) {
        self.o.finish(&mut terms.o);
        self.f.finish(&mut terms.f);
    }
}
