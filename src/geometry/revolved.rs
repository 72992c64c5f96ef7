//! Bodies whose surface is made by straight lines that turn around the z axis: cones, bolts, and plates with a hole.

use nalgebra::Vector3;

use super::error::{LARGEST_ASPECT_RATIO, LENGTH_RANGE, MeshError};
use super::mesh::SurfaceMesh;
use super::tessellation::edge_count;

/// The most sectors of a mesh.
const MOST_SECTORS: f64 = 100_000.0;
/// How far a plate is drawn where nothing is said, in radii of the hole's mouth.
const DRAWN: f64 = 2.5;

/// A rigid body of revolution around the z axis of its frame.
///
/// Rigid contact by complementarity knows it as it is; its mesh is for all else.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Revolved {
    /// A cone or a truncated cone: from a circle at z = −length/2 to a smaller one, or a tip, at z = length/2.
    Cone {
        /// Radius at the lower end, m.
        radius: f64,
        /// Radius at the upper end, m; 0 for a tip.
        top_radius: f64,
        /// Length along z, m.
        length: f64,
    },
    /// A cylinder around the origin with a cone below it, which narrows downward.
    Bolt {
        /// Radius of the cylinder, m.
        radius: f64,
        /// Length of the cylinder along z, m.
        length: f64,
        /// Radius at the lower end of the cone, m; 0 for a tip.
        tip_radius: f64,
        /// Length of the cone along z, m.
        tip_length: f64,
    },
    /// A plate below z = 0 with a hole around the z axis, which widens to a conical mouth above.
    ///
    /// The plate has no end to the sides, and below a hole with a bottom.
    Hole {
        /// Radius, m.
        radius: f64,
        /// From the face of the plate to the bottom, or to its other face, m.
        depth: f64,
        /// Whether it passes through the plate.
        through: bool,
        /// Radius of the mouth in the face of the plate, m; that of the hole where it has no mouth.
        mouth_radius: f64,
        /// How deep the mouth is, m; 0 where it has none.
        mouth_depth: f64,
    },
}

impl Revolved {
    /// Its name, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Cone { .. } => "cone",
            Self::Bolt { .. } => "bolt",
            Self::Hole { .. } => "hole",
        }
    }

    /// Checks the sizes.
    ///
    /// # Errors
    /// When a length is NaN or outside of [`LENGTH_RANGE`], two lengths differ by more than [`LARGEST_ASPECT_RATIO`], a
    /// cone widens toward its tip, or a mouth is narrower than its hole or as deep.
    pub fn validate(&self) -> Result<(), MeshError> {
        let shape = self.name();
        let wrong = |field, value, allowed| Err(MeshError::Profile { shape, field, value, allowed });
        let (positive, tip) = match *self {
            Self::Cone { radius, top_radius, length } => {
                (vec![("radius", radius), ("length", length)], Some(("top radius", top_radius, radius)))
            }
            Self::Bolt { radius, length, tip_radius, tip_length } => (
                vec![("radius", radius), ("length", length), ("tip length", tip_length)],
                Some(("tip radius", tip_radius, radius)),
            ),
            Self::Hole { radius, depth, .. } => (vec![("radius", radius), ("depth", depth)], None),
        };
        let (mut smallest, mut largest) = (f64::INFINITY, 0.0_f64);
        for (field, value) in positive {
            if !(LENGTH_RANGE[0]..=LENGTH_RANGE[1]).contains(&value) {
                return Err(MeshError::Length { shape, field, value });
            }
            (smallest, largest) = (smallest.min(value), largest.max(value));
        }
        if largest > smallest * LARGEST_ASPECT_RATIO {
            return Err(MeshError::AspectRatio { shape, largest, smallest });
        }
        if let Some((field, value, radius)) = tip
            && !(value == 0.0 || (value >= radius / LARGEST_ASPECT_RATIO && value < radius))
        {
            return wrong(field, value, "0 or more and less than the radius");
        }
        if let Self::Hole { radius, depth, mouth_radius, mouth_depth, .. } = *self {
            if !(mouth_depth >= 0.0 && mouth_depth < depth) {
                return wrong("mouth depth", mouth_depth, "0 or more and less than the depth");
            }
            let has_mouth = mouth_depth > 0.0;
            if has_mouth && !(mouth_radius > radius && mouth_radius <= LENGTH_RANGE[1]) {
                return wrong("mouth radius", mouth_radius, "more than the radius");
            }
            if !has_mouth && mouth_radius != radius {
                return wrong("mouth radius", mouth_radius, "the radius where the mouth has no depth");
            }
        }
        Ok(())
    }

    /// The corners of the profile (distance from the axis, height), with the body to the left of the line through them, and
    /// whether the line goes on without an end before the first and after the last one.
    fn corners(&self) -> (Vec<[f64; 2]>, [bool; 2]) {
        match *self {
            Self::Cone { radius, top_radius, length } => {
                let half = 0.5 * length;
                (vec![[0.0, -half], [radius, -half], [top_radius, half], [0.0, half]], [false; 2])
            }
            Self::Bolt { radius, length, tip_radius, tip_length } => {
                let half = 0.5 * length;
                let low = -half - tip_length;
                let corners =
                    vec![[0.0, low], [tip_radius, low], [radius, -half], [radius, half], [0.0, half]];
                (corners, [false; 2])
            }
            Self::Hole { radius, depth, through, mouth_radius, mouth_depth } => {
                let last = if through { [2.0 * mouth_radius, -depth] } else { [0.0, -depth] };
                let corners = vec![
                    [2.0 * mouth_radius, 0.0],
                    [mouth_radius, 0.0],
                    [radius, -mouth_depth],
                    [radius, -depth],
                    last,
                ];
                (corners, [true, through])
            }
        }
    }

    /// Its straight lines and the circles that stick out.
    pub(crate) fn profile(&self) -> Profile {
        let (corners, unbounded) = self.corners();
        Profile::new(self.name(), &corners, unbounded)
    }

    /// The surface as a closed mesh. A plate with a hole ends at `plate_radius` (m), or where none is given at 2.5 radii of
    /// the mouth; below a hole with a bottom it is one radius thick.
    ///
    /// `resolution` is the length in metres of the edges around the widest circle.
    ///
    /// # Errors
    /// When the sizes are not valid, the plate is not wider than the mouth, or the resolution is not a positive number or
    /// so small that there are more than 100 000 edges around.
    pub fn surface_mesh(&self, resolution: f64, plate_radius: Option<f64>) -> Result<SurfaceMesh, MeshError> {
        self.validate()?;
        let shape = self.name();
        if !(resolution > 0.0 && resolution.is_finite()) {
            return Err(MeshError::Resolution { shape, value: resolution });
        }
        let (mut corners, _) = self.corners();
        let mut widest = corners.iter().map(|corner| corner[0]).fold(0.0, f64::max);
        if let Self::Hole { radius, depth, through, mouth_radius, .. } = *self {
            let plate = plate_radius.unwrap_or(DRAWN * mouth_radius);
            if !(plate > mouth_radius && plate <= LENGTH_RANGE[1]) {
                let allowed = "more than the radius of the mouth";
                return Err(MeshError::Profile { shape, field: "plate radius", value: plate, allowed });
            }
            widest = mouth_radius;
            corners[0][0] = plate;
            let low = if through { depth } else { depth + radius };
            if through {
                corners.pop();
            } else {
                corners.push([0.0, -low]);
            }
            corners.push([plate, -low]);
            corners.push([plate, 0.0]);
        }
        let sectors = edge_count(std::f64::consts::TAU * widest, resolution, 6.0);
        if sectors > MOST_SECTORS {
            let allowed = "so large that there are at most 100 000 edges around the widest circle";
            return Err(MeshError::Profile { shape, field: "resolution", value: resolution, allowed });
        }
        Ok(turned(&corners, sectors as usize))
    }
}

/// The mesh of a line that turns around the axis, with the body to its left; it begins and ends on the axis or where it began.
fn turned(corners: &[[f64; 2]], sectors: usize) -> SurfaceMesh {
    let mut mesh = SurfaceMesh { vertices: Vec::new(), triangles: Vec::new() };
    let mut rings: Vec<Vec<u32>> = Vec::new();
    let mut kept: Vec<[f64; 2]> = Vec::new();
    for &corner in corners {
        if kept.last() == Some(&corner) {
            continue;
        }
        kept.push(corner);
        let [radius, height] = corner;
        if kept.len() > 1 && radius > 0.0 && kept[0] == corner {
            rings.push(rings[0].clone());
            continue;
        }
        let first = mesh.vertices.len() as u32;
        let count = if radius == 0.0 { 1 } else { sectors };
        for k in 0..count {
            let (sin, cos) = (std::f64::consts::TAU * k as f64 / sectors as f64).sin_cos();
            mesh.vertices.push(Vector3::new(radius * cos, radius * sin, height));
        }
        rings.push((0..sectors as u32).map(|k| first + k.min(count as u32 - 1)).collect());
    }
    for (low, high) in rings.iter().zip(rings.iter().skip(1)) {
        for (i, j) in (0..sectors).map(|i| (i, (i + 1) % sectors)) {
            let corners = [[low[i], low[j], high[j]], [low[i], high[j], high[i]]];
            mesh.triangles.extend(corners.iter().filter(|[a, b, c]| a != b && b != c && c != a));
        }
    }
    mesh
}

/// A straight line that turns around the axis: a disk, a ring, a cone or a cylinder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wall {
    /// A point of it: its distance from the axis and its height, m.
    pub point: [f64; 2],
    /// Along it, of length 1.
    pub along: [f64; 2],
    /// From where to where it reaches from the point, m.
    pub range: [f64; 2],
    /// Out of the body.
    pub normal: [f64; 2],
    /// Where it is along the normal, m.
    pub offset: f64,
    /// The circles that stick out at its two ends, by their indices.
    pub rings: [Option<usize>; 2],
}

/// A circle around the axis that sticks out, or a tip, whose radius is 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ring {
    /// Its radius, m.
    pub radius: f64,
    /// Its height, m.
    pub height: f64,
    /// The walls that end in it, by their indices: the one before, and the one after it.
    pub walls: [usize; 2],
}

/// The surface of a body of revolution.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Profile {
    /// What the body is, for messages.
    pub name: &'static str,
    /// Its lines, one after the other, the body to their left.
    pub walls: Vec<Wall>,
    /// The circles that stick out.
    pub rings: Vec<Ring>,
}

impl Profile {
    /// That of a cylinder around the origin.
    pub fn cylinder(radius: f64, length: f64) -> Self {
        let half = 0.5 * length;
        Self::new("cylinder", &[[0.0, -half], [radius, -half], [radius, half], [0.0, half]], [false; 2])
    }

    fn new(name: &'static str, corners: &[[f64; 2]], unbounded: [bool; 2]) -> Self {
        let mut kept: Vec<[f64; 2]> = Vec::with_capacity(corners.len());
        for corner in corners {
            if kept.last() != Some(corner) {
                kept.push(*corner);
            }
        }
        let count = kept.len() - 1;
        let mut walls: Vec<Wall> = Vec::with_capacity(count);
        let mut rings = Vec::new();
        for (i, (from, to)) in kept.iter().zip(&kept[1..]).enumerate() {
            let between = [to[0] - from[0], to[1] - from[1]];
            let length = between[0].hypot(between[1]);
            let along = between.map(|x| x / length);
            let normal = [along[1], -along[0]];
            let mut range = [0.0, length];
            if i == 0 && unbounded[0] {
                range[0] = f64::NEG_INFINITY;
            }
            if i + 1 == count && unbounded[1] {
                range[1] = f64::INFINITY;
            }
            let offset = normal[0] * from[0] + normal[1] * from[1];
            let mut wall = Wall { point: *from, along, range, normal, offset, rings: [None; 2] };
            let on_axis = from[0] == 0.0;
            match walls.last_mut() {
                Some(last) => {
                    let turn = last.along[0] * along[1] - last.along[1] * along[0];
                    if turn > 0.0 {
                        (last.rings[1], wall.rings[0]) = (Some(rings.len()), Some(rings.len()));
                        rings.push(Ring { radius: from[0], height: from[1], walls: [i - 1, i] });
                    }
                }
                // A line that leaves the axis upward begins in a tip.
                None if on_axis && along[1] > 0.0 => {
                    wall.rings[0] = Some(rings.len());
                    rings.push(Ring { radius: 0.0, height: from[1], walls: [i, i] });
                }
                None => {}
            }
            // One that comes back to it from below ends in one.
            if i + 1 == count && to[0] == 0.0 && along[1] > 0.0 {
                wall.rings[1] = Some(rings.len());
                rings.push(Ring { radius: 0.0, height: to[1], walls: [i, i] });
            }
            walls.push(wall);
        }
        Self { name, walls, rings }
    }

    /// The radius of a ball around the origin that holds the circles, m.
    pub fn reach(&self) -> f64 {
        self.rings.iter().map(|ring| ring.radius.hypot(ring.height)).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    fn hole(through: bool) -> Revolved {
        Revolved::Hole { radius: 0.01, depth: 0.04, through, mouth_radius: 0.02, mouth_depth: 0.008 }
    }

    #[test]
    fn meshes_are_closed_and_their_volumes_those_of_the_formulas() {
        let frustum = |a: f64, b: f64, h: f64| PI * h * (a * a + a * b + b * b) / 3.0;
        let cases = [
            (Revolved::Cone { radius: 0.02, top_radius: 0.0, length: 0.05 }, frustum(0.02, 0.0, 0.05)),
            (Revolved::Cone { radius: 0.02, top_radius: 0.01, length: 0.05 }, frustum(0.02, 0.01, 0.05)),
            (
                Revolved::Bolt { radius: 0.01, length: 0.05, tip_radius: 0.006, tip_length: 0.004 },
                frustum(0.01, 0.006, 0.004) + PI * 0.01 * 0.01 * 0.05,
            ),
            (hole(false), PI * 0.05 * 0.05 * 0.05 - frustum(0.02, 0.01, 0.008) - PI * 0.01 * 0.01 * 0.032),
            (hole(true), PI * 0.05 * 0.05 * 0.04 - frustum(0.02, 0.01, 0.008) - PI * 0.01 * 0.01 * 0.032),
        ];
        for (shape, volume) in cases {
            let mesh = shape.surface_mesh(2e-4, Some(0.05)).expect("a valid shape");
            mesh.validate().expect("a closed mesh");
            let found = mesh.mass_properties().expect("a volume").mass;
            assert!((found / volume - 1.0).abs() < 1e-4, "{shape:?}: {found} {volume}");
        }
    }

    #[test]
    fn profiles_have_the_circles_that_stick_out() {
        let rings = |profile: Profile| -> Vec<[f64; 2]> {
            profile.rings.iter().map(|ring| [ring.radius, ring.height]).collect()
        };
        assert_eq!(rings(Profile::cylinder(0.1, 0.4)), [[0.1, -0.2], [0.1, 0.2]]);
        let cone = Revolved::Cone { radius: 0.1, top_radius: 0.0, length: 0.4 };
        assert_eq!(rings(cone.profile()), [[0.1, -0.2], [0.0, 0.2]]);
        let bolt = Revolved::Bolt { radius: 0.1, length: 0.4, tip_radius: 0.0, tip_length: 0.1 };
        assert_eq!(rings(bolt.profile()), [[0.0, -0.30000000000000004], [0.1, -0.2], [0.1, 0.2]]);
        assert_eq!(rings(hole(false).profile()), [[0.02, 0.0], [0.01, -0.008]]);
        assert_eq!(rings(hole(true).profile()), [[0.02, 0.0], [0.01, -0.008], [0.01, -0.04]]);
        for wall in hole(true).profile().walls {
            let end = |t: f64| [0, 1].map(|k| wall.point[k] + t * wall.along[k]);
            for point in [end(0.0), end(1.0)] {
                let level = wall.normal[0] * point[0] + wall.normal[1] * point[1];
                assert!((level - wall.offset).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused() {
        let field = |shape: Revolved| match shape.validate() {
            Err(MeshError::Profile { field, .. } | MeshError::Length { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        assert_eq!(field(Revolved::Cone { radius: 0.1, top_radius: 0.2, length: 0.1 }), "top radius");
        assert_eq!(field(Revolved::Cone { radius: f64::NAN, top_radius: 0.0, length: 0.1 }), "radius");
        let bolt = Revolved::Bolt { radius: 0.1, length: 0.4, tip_radius: -0.1, tip_length: 0.1 };
        assert_eq!(field(bolt), "tip radius");
        let hole = |mouth_radius, mouth_depth| Revolved::Hole {
            radius: 0.01,
            depth: 0.02,
            through: false,
            mouth_radius,
            mouth_depth,
        };
        assert_eq!(field(hole(0.005, 0.01)), "mouth radius");
        assert_eq!(field(hole(0.02, 0.0)), "mouth radius");
        assert_eq!(field(hole(0.02, 0.03)), "mouth depth");
        assert!(matches!(hole(0.02, 0.01).surface_mesh(0.0, None), Err(MeshError::Resolution { .. })));
        let narrow = hole(0.02, 0.01).surface_mesh(0.01, Some(0.01));
        assert!(matches!(narrow, Err(MeshError::Profile { field: "plate radius", .. })));
    }
}
