//! The faces of contacts and the state that they are looked at: what `isobar contact` shows besides the
//! contact of each pair.

use std::path::Path;

use serde::Serialize;

use super::Error;
use isobar::contact::{Workspace, for_each_polygon_traction};
use isobar::io::Scene;
use isobar::multibody::{BodyFrame, GeometryPair, Model, State, with_pair};
use isobar::rollout::Trajectory;
use isobar::spatial::SpatialForce;

/// A polygon of a contact surface. SI units, world frame.
#[derive(Debug, Serialize)]
pub(super) struct Face {
    pub centroid: [f64; 3],
    pub normal: [f64; 3],
    pub area: f64,
    pub pressure: f64,
    pub traction_on_a: [f64; 3],
    pub slip_velocity: [f64; 3],
    pub vertices: Vec<[f64; 3]>,
}

/// The faces between two bodies, whose pairs of geometries are given.
pub(super) fn faces(
    model: &Model,
    frames: &[BodyFrame],
    pairs: &[GeometryPair],
    workspace: &mut Workspace,
) -> Vec<Face> {
    let mut faces = Vec::new();
    for pair in pairs {
        with_pair(model, frames, pair, |query| {
            for_each_polygon_traction(query, model.contact(), workspace, |polygon, traction| {
                faces.push(Face {
                    centroid: traction.centroid.into(),
                    normal: polygon.normal.into(),
                    area: traction.area,
                    pressure: traction.pressure,
                    traction_on_a: traction.on_a.into(),
                    slip_velocity: traction.slip.into(),
                    vertices: polygon.vertices.iter().map(|v| (*v).into()).collect(),
                });
            });
        });
    }
    faces
}

/// A row of a trajectory.
pub(super) struct Row {
    pub time: f64,
    pub state: State,
    /// The force of contact on A for each two bodies in [`Model::pairs_by_bodies`], if the file has them.
    pub forces: Vec<SpatialForce>,
}

/// The row of a trajectory nearest to a time, or its last without one.
pub(super) fn row_at(scene: &Scene, file: &Path, time: Option<f64>) -> Result<Row, Error> {
    scene.check_motion()?;
    let (Trajectory { times, mut states }, mut forces) = Trajectory::read_with_forces(file, &scene.model)?;
    let (first, last) = (times[0], times[times.len() - 1]);
    let index = match time {
        None => times.len() - 1,
        Some(time) if time >= first && time <= last => {
            let after = times.partition_point(|&t| t < time);
            // The nearer of the two that it lies between.
            if after > 0 && time - times[after - 1] <= times[after] - time { after - 1 } else { after }
        }
        Some(time) => {
            return Err(Error::Value {
                name: "time",
                found: time.to_string(),
                allowed: format!("between {first} and {last} s, the times of {}", file.display()),
            });
        }
    };
    Ok(Row { time: times[index], state: states.swap_remove(index), forces: forces.swap_remove(index) })
}
