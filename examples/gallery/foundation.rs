//! Three models on one pair, a rigid box that is pressed into a flat layer: the field, an elastic foundation, and the overlap's volume
//! (Elandt et al. 2019, §IV and Figure 3).

use isobar::contact::{
    Collider, ContactPair, ContactSettings, Material, Workspace, for_each_contact_polygon,
};
use isobar::field::RigidSurface;
use isobar::geometry::Shape;
use isobar::spatial::{RigidTransform, rotation_from_rpy};
use nalgebra::Vector3;

use crate::page::Failure;

#[derive(Clone, Copy, PartialEq)]
pub enum Model {
    /// Pressure along the normal of the box.
    Field,
    /// A spring at each point of the box's surface, with the same pressure, that pushes away from the layer.
    Foundation,
    /// A force in proportion to the overlap's volume, through its middle, along the mean normal of the box's surface in it.
    Volume,
}

pub const BOX: [f64; 3] = [0.06, 0.05, 0.04];
/// Pressure over depth, Pa/m.
const SLOPE: f64 = 2e6;

/// The box whose lowest edge is so deep, tilted about y.
fn pose(depth: f64, tilt: f64) -> RigidTransform {
    let lowest = 0.5 * (BOX[0] * tilt.sin().abs() + BOX[2] * tilt.cos().abs());
    RigidTransform::new(rotation_from_rpy(0.0, tilt, 0.0), Vector3::z() * (lowest - depth))
}

/// Force along x and z, N, torque about y through the middle of the box, N m, and the field's energy, J.
pub fn wrench(model: Model, depth: f64, tilt: f64) -> Result<[f64; 4], Failure> {
    let layer = Collider::compliant_half_space(Material::new(SLOPE, 0.0, 0.0), 1.0);
    let surface = RigidSurface::new(Shape::Box { size: BOX }.surface_mesh(1.0)?);
    let body = Collider::rigid(surface, Material::NONE);
    let at = pose(depth, tilt);
    let pair = ContactPair::at_rest(&body, at, &layer, RigidTransform::identity());
    let mut points: Vec<(Vector3<f64>, Vector3<f64>)> = Vec::new();
    let mut workspace = Workspace::default();
    for_each_contact_polygon(&pair, &ContactSettings::default(), &mut workspace, |polygon| {
        // Triangles with the middles of their edges, which is exact for moments of the linear pressure.
        for k in 1..polygon.vertices.len() - 1 {
            let [a, b, c] = [polygon.vertices[0], polygon.vertices[k], polygon.vertices[k + 1]];
            let area = (b - a).cross(&(c - a)) * 0.5;
            let area = area * area.dot(&polygon.normal).signum();
            points.extend([(a + b) * 0.5, (b + c) * 0.5, (c + a) * 0.5].map(|x| (x, area / 3.0)));
        }
    });
    let middle = at.translation;
    let (mut force, mut torque, mut energy) = (Vector3::zeros(), Vector3::zeros(), 0.0);
    let (mut volume, mut moment, mut vector_area) = (0.0, Vector3::zeros(), Vector3::zeros());
    for (x, area) in &points {
        let pressure = -SLOPE * x.z;
        let traction = match model {
            Model::Foundation => Vector3::z() * area.norm(),
            _ => *area,
        };
        force += traction * pressure;
        torque += (x - middle).cross(&(traction * pressure));
        // Columns from the box's surface up to the plane.
        volume -= x.z * area.z;
        moment += Vector3::new(x.x, x.y, 0.5 * x.z) * (-x.z * area.z);
        vector_area += area;
        energy += 0.5 * SLOPE * x.z * x.z * area.z;
    }
    if model == Model::Volume {
        force = vector_area.normalize() * (SLOPE * volume);
        torque = (moment / volume - middle).cross(&force);
    }
    Ok([force.x, force.z, torque.y, energy])
}

/// Work around a rectangle of depths and tilts, over the field's largest energy on it.
pub fn work_around(model: Model) -> Result<f64, Failure> {
    const STEPS: usize = 200;
    // Heights of the middle (m) and tilts (rad) at the corners.
    let height = |depth: f64, tilt: f64| pose(depth, tilt).translation.z;
    let (low, high) = (height(0.016, 0.3), height(0.007, 0.3));
    let corners = [[high, 0.1], [low, 0.1], [low, 0.5], [high, 0.5], [high, 0.1]];
    let (mut work, mut largest) = (0.0, 0.0_f64);
    for leg in corners.windows(2) {
        let [rise, turn] = [0, 1].map(|k| leg[1][k] - leg[0][k]);
        for step in 0..STEPS {
            let s = (step as f64 + 0.5) / STEPS as f64;
            let [z, tilt] = [0, 1].map(|k| leg[0][k] + s * (leg[1][k] - leg[0][k]));
            let depth = pose(0.0, tilt).translation.z - z;
            let [_, up, torque, energy] = wrench(model, depth, tilt)?;
            largest = largest.max(energy);
            work += (up * rise + torque * turn) / STEPS as f64;
        }
    }
    Ok(work / largest)
}
