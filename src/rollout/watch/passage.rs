//! Bodies that pass through each other's surfaces: through a wall in one step, or pressed in so deep
//! that the contact pushes them out on the other side.
//!
//! The *middle* of a geometry is the mean of the vertices of its field where the extent is largest, or one of
//! them where that does not lie inside; of a rigid surface the middle of its box or of its corners where one
//! lies inside. A warning is given if the middle of a body crosses the surface of another body, if it goes far in one step while it is as near to that
//! surface as to the body's own, or if a body turns far in one step while its ends reach the surface.
//! How near that surface is at most is known from the last look, so that it is looked for again only
//! after the middle has gone as far.

use nalgebra::{Matrix3, Vector3};

use super::warning::{MotionWarning, WarningCause};
use crate::contact::ContactGeometry;
use crate::geometry::{SurfaceDistance, SurfaceMesh};
use crate::multibody::{BodyFrame, BodyGeometry, Model};
use crate::spatial::RigidTransform;

/// The surface of a geometry, in its own frame.
#[derive(Debug)]
enum Surface {
    /// z ≤ 0 is inside.
    HalfSpace,
    Mesh {
        mesh: SurfaceMesh,
        distance: SurfaceDistance,
    },
}

impl Surface {
    fn new(geometry: &ContactGeometry) -> Self {
        let Some(mesh) = geometry.surface_mesh() else { return Self::HalfSpace };
        let distance = SurfaceDistance::new(&mesh.vertices, &mesh.triangles);
        Self::Mesh { mesh, distance }
    }

    /// How far a point is from the surface at least, m.
    fn distance(&self, x: &Vector3<f64>) -> f64 {
        match self {
            Self::HalfSpace => x.z.abs(),
            Self::Mesh { distance, .. } => distance.distance(x),
        }
    }

    /// Whether a point is inside the surface of this geometry.
    fn contains(&self, geometry: &ContactGeometry, x: &Vector3<f64>) -> bool {
        let Some(hierarchy) = geometry.hierarchy() else { return x.z < 0.0 };
        let (middle, half) = hierarchy.bounding_box();
        let within = (0..3).all(|k| (x[k] - middle[k]).abs() <= half[k]);
        within && !self.crossings(x, &(middle + half.component_mul(&AWAY))).is_multiple_of(2)
    }

    /// How often the way from `start` to `end` crosses the surface.
    fn crossings(&self, start: &Vector3<f64>, end: &Vector3<f64>) -> usize {
        match self {
            Self::HalfSpace => usize::from((start.z > 0.0) != (end.z > 0.0)),
            Self::Mesh { mesh, .. } => {
                (0..mesh.triangles.len()).filter(|&i| crosses(start, end, &mesh.corners(i))).count()
            }
        }
    }
}

/// A point outside of a body, in half the widths of its box from the middle: in no direction in which
/// meshes of simple shapes have vertices and edges.
const AWAY: Vector3<f64> = Vector3::new(3.1, 2.7, 3.3);

/// Six times the volume of the tetrahedron with these corners.
fn volume(a: &Vector3<f64>, b: &Vector3<f64>, c: &Vector3<f64>, d: &Vector3<f64>) -> f64 {
    (b - a).cross(&(c - a)).dot(&(d - a))
}

/// Whether a segment crosses a triangle.
fn crosses(start: &Vector3<f64>, end: &Vector3<f64>, [a, b, c]: &[Vector3<f64>; 3]) -> bool {
    let (before, after) = (volume(a, b, c, start), volume(a, b, c, end));
    if (before > 0.0) == (after > 0.0) {
        return false;
    }
    let sides = [volume(start, end, a, b), volume(start, end, b, c), volume(start, end, c, a)];
    sides.iter().all(|v| *v >= 0.0) || sides.iter().all(|v| *v <= 0.0)
}

/// The middle of a geometry in its frame, and how far it is from the surface, m; none of a half-space.
type Middle = Option<(Vector3<f64>, f64)>;

fn middle_of(geometry: &ContactGeometry, surface: &Surface) -> Middle {
    let middle = match geometry {
        ContactGeometry::Compliant(field) => {
            let largest = field.extent().iter().copied().reduce(f64::max)?;
            let vertices = field.extent().iter().zip(&field.mesh().vertices);
            let deepest = || vertices.clone().filter(|(extent, _)| **extent == largest).map(|(_, x)| *x);
            // Long bodies have several, at the ends of what is deep in them.
            let mean = deepest().sum::<Vector3<f64>>() / deepest().count().max(1) as f64;
            let inside = |x: &Vector3<f64>| surface.contains(geometry, x);
            [mean].into_iter().chain(deepest()).find(inside).or_else(|| deepest().next())?
        }
        ContactGeometry::Rigid(rigid) => {
            let (box_middle, _) = rigid.hierarchy().bounding_box();
            let vertices = &rigid.mesh().vertices;
            let mean = vertices.iter().sum::<Vector3<f64>>() / vertices.len().max(1) as f64;
            [box_middle, mean].into_iter().find(|x| surface.contains(geometry, x))?
        }
        ContactGeometry::CompliantHalfSpace | ContactGeometry::RigidHalfSpace => return None,
    };
    Some((middle, surface.distance(&middle)))
}

/// How far a geometry reaches from a point at most, m; 0 of a half-space.
fn reach_of(geometry: &ContactGeometry, from: &Vector3<f64>) -> f64 {
    geometry.vertices().iter().fold(0.0, |reach, v| f64::max(reach, (v - from).norm()))
}

/// The angle of the rotation from one to another, rad.
fn angle_between(a: &Matrix3<f64>, b: &Matrix3<f64>) -> f64 {
    // The trace of the rotation between them is the sum of the products of their elements.
    (0.5 * (a.component_mul(b).sum() - 1.0)).clamp(-1.0, 1.0).acos()
}

/// A middle that could pass a surface.
#[derive(Debug)]
struct Passage {
    /// The body and geometry of the middle.
    of: (usize, usize),
    /// The body and geometry of the surface.
    through: (usize, usize),
    /// The middle at the last step, in the frame of the other geometry.
    last: Vector3<f64>,
    /// The rotation of the first geometry at the last step, in the frame of the other.
    last_rotation: Matrix3<f64>,
    /// How far the middle can go at least before it meets the surface, m.
    free: f64,
    told: bool,
    long_step_told: bool,
}

/// A way in one step is far from this part of the distance between a middle and its own surface on.
const FAR: f64 = 0.5;
/// A turn in one step is far from this angle on, rad.
const FAR_TURN: f64 = 0.5;

/// All middles that could pass surfaces.
#[derive(Debug, Default)]
pub(super) struct Passages {
    /// For each geometry of each body its surface, and its middle with the depth of that.
    geometries: Vec<Vec<(Surface, Middle)>>,
    /// How far each geometry of each body reaches from its middle, m.
    reaches: Vec<Vec<f64>>,
    list: Vec<Passage>,
    poses: Vec<Vec<RigidTransform>>,
}

impl Passages {
    /// Those of the pairs of a model, with the bodies at `frames`.
    pub fn new(model: &Model, frames: &[BodyFrame]) -> Self {
        let geometries = model.bodies.iter().map(|body| {
            let one = |geometry: &ContactGeometry| {
                let surface = Surface::new(geometry);
                let middle = middle_of(geometry, &surface);
                (surface, middle)
            };
            body.geometries.iter().map(|g| one(&g.collider.geometry)).collect()
        });
        let geometries: Vec<Vec<_>> = geometries.collect();
        let reaches = model.bodies.iter().zip(&geometries).map(|(body, of_body)| {
            let one = |(geometry, (_, middle)): (&BodyGeometry, &(Surface, Middle))| {
                middle.map_or(0.0, |(middle, _)| reach_of(&geometry.collider.geometry, &middle))
            };
            body.geometries.iter().zip(of_body).map(one).collect()
        });
        let reaches = reaches.collect();
        let mut passages =
            Self { geometries, reaches, list: Vec::new(), poses: vec![Vec::new(); frames.len()] };
        passages.set_poses(model, frames);
        for pair in &model.pairs {
            let is_rigid = model.is_rigid_pair(pair);
            let (a, b) = ((pair.bodies.a, pair.geometry_a), (pair.bodies.b, pair.geometry_b));
            for (of, through) in [(a, b), (b, a)] {
                let Some((middle, _)) = passages.geometries[of.0][of.1].1 else { continue };
                let last = passages.relative(of, through, &middle);
                let free = passages.geometries[through.0][through.1].0.distance(&last);
                let last_rotation = passages.relative_rotation(of, through);
                passages.list.push(Passage {
                    of,
                    through,
                    last,
                    last_rotation,
                    free,
                    told: false,
                    // Between rigid bodies the contact is where the step ends, however long it is.
                    long_step_told: is_rigid,
                });
            }
        }
        passages
    }

    /// Tells middles that are inside other bodies at the start, but for pairs of which `told` says
    /// that their overlap has been told.
    pub fn look_at_start(&self, model: &Model, told: &[bool], time: f64, warnings: &mut Vec<MotionWarning>) {
        let told_of = |passage: &Passage| {
            model.pairs.iter().zip(told).any(|(pair, told)| {
                let (a, b) = ((pair.bodies.a, pair.geometry_a), (pair.bodies.b, pair.geometry_b));
                *told && [(a, b), (b, a)].contains(&(passage.of, passage.through))
            })
        };
        for passage in &self.list {
            let (body, geometry) = passage.through;
            let other = &model.bodies[body].geometries[geometry].collider.geometry;
            let surface = &self.geometries[body][geometry].0;
            if surface.contains(other, &passage.last) && !told_of(passage) {
                let cause = WarningCause::StartsInside { depth: passage.free };
                warnings.push(MotionWarning::of_bodies(model, [passage.of.0, body], time, cause));
            }
        }
    }

    fn set_poses(&mut self, model: &Model, frames: &[BodyFrame]) {
        for ((poses, body), frame) in self.poses.iter_mut().zip(&model.bodies).zip(frames) {
            poses.clear();
            poses.extend(body.geometries.iter().map(|geometry| frame.pose * geometry.x_bg));
        }
    }

    /// The rotation of a geometry in the frame of another.
    fn relative_rotation(&self, of: (usize, usize), through: (usize, usize)) -> Matrix3<f64> {
        self.poses[through.0][through.1].rotation.transpose() * self.poses[of.0][of.1].rotation
    }

    /// The middle of a geometry in the frame of another.
    fn relative(&self, of: (usize, usize), through: (usize, usize), middle: &Vector3<f64>) -> Vector3<f64> {
        let (own, other) = (&self.poses[of.0][of.1], &self.poses[through.0][through.1]);
        other.rotation.transpose() * (*own * *middle - other.translation)
    }

    /// Looks at the bodies at `frames`, after a step of `dt` seconds that ended at `time`.
    pub fn after_step(
        &mut self,
        model: &Model,
        frames: &[BodyFrame],
        time: f64,
        dt: f64,
        warnings: &mut Vec<MotionWarning>,
    ) {
        self.set_poses(model, frames);
        let mut list = std::mem::take(&mut self.list);
        for passage in &mut list {
            let Some((middle, depth)) = self.geometries[passage.of.0][passage.of.1].1 else { continue };
            let now = self.relative(passage.of, passage.through, &middle);
            let way = (now - passage.last).norm();
            passage.free -= way;
            let surface = &self.geometries[passage.through.0][passage.through.1].0;
            let rotation = self.relative_rotation(passage.of, passage.through);
            if !passage.long_step_told {
                let turn = angle_between(&passage.last_rotation, &rotation);
                let reach = self.reaches[passage.of.0][passage.of.1];
                // Near at the end of the step: it has met the surface, or is about to.
                let near = |within: f64| passage.free <= within && surface.distance(&now) <= within;
                let far = if way > FAR * depth && near(depth) {
                    Some((way, dt * FAR * depth / way))
                } else if turn > FAR_TURN && near(reach) {
                    Some((turn * reach, dt * FAR_TURN / turn))
                } else {
                    None
                };
                if let Some((way, longest)) = far {
                    passage.long_step_told = true;
                    let bodies = [passage.of.0, passage.through.0];
                    let cause = WarningCause::LongStep { way, depth, longest };
                    warnings.push(MotionWarning::of_bodies(model, bodies, time, cause));
                }
            }
            passage.last_rotation = rotation;
            if passage.free <= 0.0 && !passage.told {
                if surface.crossings(&passage.last, &now) > 0 {
                    passage.told = true;
                    let bodies = [passage.of.0, passage.through.0];
                    let cause = WarningCause::Passed { way, depth };
                    warnings.push(MotionWarning::of_bodies(model, bodies, time, cause));
                }
                passage.free = surface.distance(&now);
            }
            passage.last = now;
        }
        self.list = list;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    use crate::field::{PressureField, RigidSurface};
    use crate::spatial::rotation_exponential;

    /// The corner of a cube: the middle of its box is outside, the mean of its vertices inside.
    fn corner(at: &Vector3<f64>) -> ContactGeometry {
        let unit = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let vertices = unit.map(|v| Vector3::from(v) + at).to_vec();
        let triangles = vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
        ContactGeometry::Rigid(RigidSurface::new(SurfaceMesh { vertices, triangles }))
    }

    #[test]
    fn the_middle_of_a_body_is_inside_and_its_reach_that_of_its_farthest_vertex() {
        let at = Vector3::new(0.3, -2.0, 5.0);
        let geometry = corner(&at);
        let (middle, depth) = middle_of(&geometry, &Surface::new(&geometry)).expect("a body");
        assert_relative_eq!(middle, at + Vector3::from_element(0.25), epsilon = 1e-14);
        // The slanted face is (1 − 3/4)/√3 away, the others 1/4.
        assert_relative_eq!(depth, 0.25 / 3.0_f64.sqrt(), epsilon = 1e-14);
        assert_relative_eq!(reach_of(&geometry, &middle), 0.6875_f64.sqrt(), epsilon = 1e-14);
    }

    /// The extent is largest along a line in a long box, whose ends are no middle.
    #[test]
    fn the_middle_of_a_long_body_is_not_at_one_of_its_ends() {
        let shape = crate::geometry::Shape::Box { size: [0.012, 0.024, 0.08] };
        let geometry = ContactGeometry::Compliant(PressureField::of_shape(&shape, 0.01).expect("a field"));
        let (middle, depth) = middle_of(&geometry, &Surface::new(&geometry)).expect("a body");
        assert_relative_eq!(middle, Vector3::zeros(), epsilon = 1e-12);
        assert_relative_eq!(depth, 0.006, epsilon = 1e-12);
    }

    #[test]
    fn points_are_inside_where_the_inequalities_of_the_faces_say_so() {
        for at in [Vector3::zeros(), Vector3::new(0.3, -2.0, 5.0)] {
            let geometry = corner(&at);
            let surface = Surface::new(&geometry);
            let place = |k: usize| -0.33 + 0.19 * k as f64;
            for (i, j, k) in (0..512).map(|n| (n / 64, n / 8 % 8, n % 8)) {
                let x = Vector3::new(place(i), place(j), place(k));
                let inside = x.min() > 0.0 && x.sum() < 1.0;
                assert_eq!(surface.contains(&geometry, &(x + at)), inside, "{x}");
                // In from far away it crosses the surface once, and on through the body twice.
                let start = at + Vector3::new(-3.1, 0.27, -2.3);
                let crossings = surface.crossings(&start, &(x + at));
                assert_eq!(crossings % 2, usize::from(inside), "{x}");
                assert_eq!(crossings, surface.crossings(&(x + at), &start), "{x}");
            }
        }
    }

    #[test]
    fn a_segment_crosses_a_triangle_where_it_meets_its_plane_within() {
        let triangle =
            [Vector3::new(1.0, 0.0, 1.0), Vector3::new(1.0, 3.0, 1.0), Vector3::new(4.0, 0.0, 1.0)];
        let [a, b, c] = triangle;
        for corners in [[a, b, c], [a, c, b], [b, c, a]] {
            let meets = |x: f64, y: f64, z: f64| {
                let [start, end] = [-0.5, z].map(|z| Vector3::new(x, y, z));
                let there = crosses(&start, &end, &corners);
                assert_eq!(there, crosses(&end, &start, &corners));
                there
            };
            assert!(meets(2.0, 1.0, 2.0) && meets(1.01, 2.9, 1.1) && meets(1.1, 0.1, 3.0));
            assert!(!meets(2.0, 1.0, 0.9), "too short");
            assert!(!meets(0.9, 1.0, 2.0) && !meets(2.0, -0.1, 2.0) && !meets(3.0, 2.0, 2.0), "beside it");
        }
    }

    #[test]
    fn a_half_space_is_below_its_plane() {
        let (geometry, surface) = (ContactGeometry::RigidHalfSpace, Surface::HalfSpace);
        let [above, below] = [0.2, -0.3].map(|z| Vector3::new(1.0, 2.0, z));
        assert!(surface.contains(&geometry, &below) && !surface.contains(&geometry, &above));
        let crossings = [(&above, &below), (&below, &above), (&above, &above), (&below, &below)];
        assert_eq!(crossings.map(|(a, b)| surface.crossings(a, b)), [1, 1, 0, 0]);
    }

    #[test]
    fn the_angle_between_rotations_is_that_of_the_one_to_the_other() {
        let a = rotation_exponential(&Vector3::new(0.3, -0.8, 0.5));
        for turn in [0.0, 0.4, 2.0, std::f64::consts::PI] {
            let b = a * rotation_exponential(&(Vector3::new(0.48, -0.6, 0.64) * turn));
            assert_relative_eq!(angle_between(&a, &b), turn, epsilon = 1e-7);
        }
    }
}
