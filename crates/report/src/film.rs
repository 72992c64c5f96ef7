//! What is recorded of a motion: shapes, poses, contact surfaces and wrenches. Files of all formats are
//! written from it.

use nalgebra::Vector3;

use super::bounds::Bounds;
use super::shapes::FilmBody;
use isobar::spatial::{Quaternion, RigidTransform, SpatialForce};

/// How far from what moves, in parts of the diagonal of the box around it, things are near it.
const NEAR: f64 = 0.25;

/// A motion to look at.
#[derive(Clone, Debug, Default)]
pub struct Film {
    /// The bodies.
    pub bodies: Vec<FilmBody>,
    /// The names of the bodies A and B of each pair that can touch.
    pub pairs: Vec<[String; 2]>,
    /// Its frames, in order of time.
    pub frames: Vec<Frame>,
}

/// What is seen at one time.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Time, s.
    pub time: f64,
    /// The pose of each body in the world.
    pub poses: Vec<Pose>,
    /// The contact of each pair; `None` where the bodies do not touch.
    pub contacts: Vec<Option<FrameContact>>,
    /// The contact surfaces of all pairs.
    pub surface: FrameSurface,
}

/// The pose of a body in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// Position of the body's origin, m.
    pub position: Vector3<f64>,
    /// Orientation, a unit quaternion.
    pub orientation: Quaternion,
}

impl Pose {
    /// A pose as a quaternion near one of before: of the two that mean the same, that on its side, so that
    /// what interpolates quaternions takes the short way.
    pub(super) fn near(pose: &RigidTransform, before: Option<&Self>) -> Self {
        let mut orientation = Quaternion::from_matrix(&pose.rotation).normalized();
        if let Some(Self { orientation: last, .. }) = before
            && orientation.w * last.w + orientation.v.dot(&last.v) < 0.0
        {
            orientation = Quaternion { w: -orientation.w, v: -orientation.v };
        }
        Self { position: pose.translation, orientation }
    }

    /// The pose as a transform from the body's frame to the world.
    pub fn transform(&self) -> RigidTransform {
        RigidTransform::new(self.orientation.to_matrix(), self.position)
    }
}

/// The contact of two bodies at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameContact {
    /// Centroid of the contact surface in the world, m; of bodies that parted in a step a point on the axis of its wrench.
    pub centroid: Vector3<f64>,
    /// Wrench on A about the centroid, in the world: N m and N.
    pub on_a: SpatialForce,
    /// Area, m².
    pub area: f64,
    /// Largest pressure, Pa.
    pub max_pressure: f64,
}

/// Polygons of contact surfaces in the world.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrameSurface {
    /// The vertices of all polygons, one polygon after the other, m.
    pub vertices: Vec<[f32; 3]>,
    /// The pressure at each vertex, Pa.
    pub pressures: Vec<f32>,
    /// The polygons.
    pub polygons: Vec<FramePolygon>,
}

/// A polygon of a contact surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FramePolygon {
    /// The pair that it belongs to: its index in [`Film::pairs`].
    pub pair: u32,
    /// Number of its vertices.
    pub vertices: u8,
    /// Area, m².
    pub area: f32,
    /// Mean traction on A, Pa.
    pub traction_on_a: [f32; 3],
    /// Velocity of A relative to B along the surface, m/s.
    pub slip: [f32; 3],
}

impl FrameSurface {
    /// Each polygon with the range of its vertices.
    pub fn ranges(&self) -> impl Iterator<Item = (&FramePolygon, std::ops::Range<usize>)> {
        let mut start = 0;
        self.polygons.iter().map(move |polygon| {
            let first = start;
            start += usize::from(polygon.vertices);
            (polygon, first..start)
        })
    }

    /// The polygons as triangles: indices of their vertices.
    pub(super) fn triangles(&self) -> Vec<[u32; 3]> {
        let fan = |range: std::ops::Range<usize>| {
            (range.start + 1..range.end.saturating_sub(1))
                .map(move |i| [range.start as u32, i as u32, i as u32 + 1])
        };
        self.ranges().flat_map(|(_, range)| fan(range)).collect()
    }
}

impl Film {
    /// The box around what moves and what is near it, in all frames; around everything that is bounded where
    /// nothing moves; `None` without any.
    pub fn bounds(&self) -> Option<Bounds> {
        let all = self.bounds_of(|_| true)?;
        let Some(moving) = self.bounds_of(|body| !body.is_fixed) else { return Some(all) };
        let margin = Vector3::repeat(NEAR * moving.diagonal());
        Some(Bounds { low: (moving.low - margin).sup(&all.low), high: (moving.high + margin).inf(&all.high) })
    }

    /// The box around all bounded parts of some bodies, in all frames; `None` without any.
    fn bounds_of(&self, shown: impl Fn(&FilmBody) -> bool) -> Option<Bounds> {
        let boxes: Vec<Option<Bounds>> =
            self.bodies.iter().map(|body| body.bounds().filter(|_| shown(body))).collect();
        let corners = self.frames.iter().flat_map(|frame| {
            frame.poses.iter().zip(&boxes).flat_map(|(pose, bounds)| {
                let to_world = pose.transform();
                bounds.iter().flat_map(Bounds::corners).map(move |corner| to_world * corner)
            })
        });
        Bounds::around(corners)
    }

    /// The largest pressure on any contact surface, Pa; 0 without contact.
    pub fn max_pressure(&self) -> f64 {
        let pressures = self.frames.iter().flat_map(|frame| &frame.surface.pressures);
        f64::from(pressures.fold(0.0_f32, |largest, &p| largest.max(p)))
    }

    /// The largest force between two bodies, N; 0 without contact.
    pub fn max_force(&self) -> f64 {
        let contacts = self.frames.iter().flat_map(|frame| frame.contacts.iter().flatten());
        contacts.map(|contact| contact.on_a.translational.norm()).fold(0.0, f64::max)
    }
}

/// A vector in single precision.
pub(super) fn single(v: &Vector3<f64>) -> [f32; 3] {
    [v.x as f32, v.y as f32, v.z as f32]
}

/// A quaternion in single precision, in the order of most file formats.
pub(super) fn xyzw(q: &Quaternion) -> [f32; 4] {
    [q.v.x as f32, q.v.y as f32, q.v.z as f32, q.w as f32]
}
