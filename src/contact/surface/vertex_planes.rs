//! The planes that meet in the vertices of a polygon.

use nalgebra::Vector3;

use crate::contact::pair::query::{Parts, Roles};
use crate::contact::surface::equilibrium::Equilibrium;
use crate::contact::surface::polygon::{Constraint, FIRST_OF_F, Polygon};
use crate::contact::surface::rigid_triangle::seen_from_inside;
use crate::contact::surface::surface_polygon::solve_planes_transposed;

/// The gradients of the polygon's plane and of its constraints in F's frame.
pub(in crate::contact) struct Gradients {
    pub plane: Vector3<f64>,
    pub of_o: [Vector3<f64>; 4],
    pub of_f: [Vector3<f64>; 4],
}

impl Gradients {
    /// The gradient of the constraint of that number.
    #[inline(always)]
    pub fn constraint(&self, name: Constraint) -> &Vector3<f64> {
        match name {
            0..FIRST_OF_F => &self.of_o[usize::from(name)],
            _ => &self.of_f[usize::from(name - FIRST_OF_F) % 4],
        }
    }

    #[inline(always)]
    pub fn new(roles: &Roles<f64>, polygon: &Polygon, equilibrium: &Equilibrium) -> Self {
        let rotation = &roles.x_fo.rotation;
        let mut of_o = [equilibrium.normal; 4];
        let mut of_f = [equilibrium.normal; 4];
        let plane = match &equilibrium.gradient_o {
            Some(gradient) => gradient - equilibrium.pressure.gradient,
            None => equilibrium.normal,
        };
        match roles.parts {
            Parts::TwoRigid => {}
            Parts::TwoFields { o, f } => {
                of_o = o.tetrahedra()[polygon.o as usize].barycentric.map(|l| rotation * l.gradient);
                of_f = f.tetrahedra()[polygon.f as usize].barycentric.map(|l| l.gradient);
            }
            Parts::HalfSpaceInField { f, .. } => {
                // The end of a compliant half-space's skirt.
                of_o[0] = -rotation.column(2);
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

/// The planes of one vertex: the polygon's own, and the constraints that the two edges lie on.
pub(in crate::contact) struct VertexPlanes {
    /// Their gradients in F's frame, the polygon's own first.
    pub rows: [Vector3<f64>; 3],
    names: [Constraint; 2],
}

impl VertexPlanes {
    /// The planes of vertex `i` of a polygon.
    #[inline(always)]
    pub fn new(gradients: &Gradients, polygon: &Polygon, i: usize) -> Self {
        let previous = if i == 0 { polygon.len - 1 } else { i - 1 };
        let names = [polygon.edge[previous], polygon.edge[i]];
        let [first, second] = names.map(|name| *gradients.constraint(name));
        Self { rows: [gradients.plane, first, second], names }
    }

    /// The constraint of the plane with index 1 or 2.
    #[inline(always)]
    pub fn name(&self, k: usize) -> Constraint {
        self.names[k - 1]
    }

    /// The derivatives of a number against the values of the planes' functions at the vertex, given those
    /// with respect to the vertex: where a function grows by r, the number falls by r times this.
    #[inline(always)]
    pub fn solve_transposed(&self, by_position: &Vector3<f64>) -> Vector3<f64> {
        solve_planes_transposed(&self.rows, by_position)
    }
}
