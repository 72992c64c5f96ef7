//! What is drawn of a scene's robots: it is known beside the model, and read where a motion is recorded.

use crate::geometry::SurfaceMesh;
use crate::io::robot::{DRAWN_FORMATS, Visual};

/// What is drawn of a robot's links.
#[derive(Clone, Debug, PartialEq)]
pub struct RobotVisuals {
    /// The name of the robot in its file.
    pub robot: String,
    /// What is drawn, with the names that the links have in the scene.
    pub visuals: Vec<Visual>,
}

/// A mesh that is drawn of a body.
#[derive(Clone, Debug, PartialEq)]
pub struct VisualMesh {
    /// The name of the body.
    pub body: String,
    /// Triangles in the body's frame, m, which need not be closed.
    pub surface: SurfaceMesh,
}

/// What is drawn of a scene's robots.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VisualMeshes {
    /// The meshes.
    pub meshes: Vec<VisualMesh>,
    /// What cannot be drawn, and why: a text for each robot of which something is missing.
    pub warnings: Vec<String>,
}

/// Reads what is drawn of robots.
pub(in crate::io) fn read_visuals(robots: &[RobotVisuals]) -> VisualMeshes {
    let mut read = VisualMeshes::default();
    for RobotVisuals { robot, visuals } in robots {
        let mut left_out = Vec::new();
        for visual in visuals {
            match visual.surface() {
                Ok(surface) => read.meshes.push(VisualMesh { body: visual.body.clone(), surface }),
                Err(why) => {
                    left_out.push(format!("{} of link `{}` ({why})", visual.label(), visual.body));
                }
            }
        }
        if !left_out.is_empty() {
            read.warnings.push(format!(
                "robot `{robot}`: recordings leave out {}; visual meshes are read from {DRAWN_FORMATS}",
                left_out.join(", ")
            ));
        }
    }
    read
}
