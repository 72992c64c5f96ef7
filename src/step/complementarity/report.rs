//! What a step found where rigid bodies touch.

use nalgebra::Vector3;

use super::data::StepData;
use super::equations::{patch_slip, scaled_velocities};
use super::held::{Held, Solution};
use crate::multibody::{GeometryPair, Model};

/// Contacts that are nearer than this part of the length scale are closed.
const CLOSED: f64 = 1e-9;
/// Points whose extent in a direction is below this part of the largest one are on a line.
const FLAT: f64 = 1e-6;

/// The convex hull of where two rigid bodies touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatchKind {
    /// One point.
    Point,
    /// A segment: an edge, the line of a cylinder, or two points and what is between them.
    Line,
    /// A part of a plane.
    Surface,
}

/// The contact of two rigid geometries over a step by complementarity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RigidContact {
    /// The two geometries.
    pub pair: GeometryPair,
    /// What the hull of the patch is after the step.
    pub kind: PatchKind,
    /// The equivalent contact point in W, about which the impulses along the normal have no moment, m.
    pub point: Vector3<f64>,
    /// The normal in W, out of B and into A.
    pub normal: Vector3<f64>,
    /// The impulse on A along the normal, N s.
    pub normal_impulse: f64,
    /// The impulse of friction on A in W, N s.
    pub friction_impulse: Vector3<f64>,
    /// The angular impulse of friction on A about the normal at the point, N m s.
    pub friction_moment: f64,
}

/// The contacts of a step that carry.
pub(super) fn report(model: &Model, data: &StepData, solution: &Solution, out: &mut Vec<RigidContact>) {
    out.clear();
    let z = &solution.variables;
    let velocities = scaled_velocities(data, z);
    let kinematics = data.kinematics(&velocities);
    let (used, impulses): (Vec<usize>, Vec<f64>) = solution.carrying.iter().copied().unzip();
    let unit = data.scales.impulse;
    for (patch, of) in data.patches.iter().enumerate() {
        let slip = patch_slip(data, &used, patch, &impulses, &kinematics);
        if slip.impulse <= 0.0 {
            continue;
        }
        let [t, o, normal] = slip.frame;
        let (mut friction, mut moment) = (Vector3::zeros(), 0.0);
        if let Held::Ellipsoids { layout, .. } = &solution.held
            && let Some(i) = layout.frictional.iter().position(|&p| p == patch)
        {
            let q = &z[layout.ellipsoids() + 3 * i..][..3];
            friction = (t * (of.ellipsoid[0] * q[0]) + o * (of.ellipsoid[1] * q[1])) * unit;
            moment = of.ellipsoid[2] * q[2] * unit;
        }
        for (&k, own) in
            used.iter().zip(&solution.friction).filter(|(k, _)| data.contacts[**k].patch == patch)
        {
            friction += own * unit;
            moment += (kinematics.gaps[k].point - slip.point).cross(&(own * unit)).dot(&normal);
        }
        let closed = data.contacts.iter().zip(&kinematics.gaps).filter(|(contact, gap)| {
            contact.patch == patch && gap.distance.abs() <= CLOSED * data.scales.length
        });
        let points: Vec<Vector3<f64>> = closed.map(|(_, gap)| gap.point).collect();
        out.push(RigidContact {
            pair: model.pairs[of.pair],
            kind: kind_of(&points, data.scales.length),
            point: slip.point,
            normal,
            normal_impulse: slip.impulse * unit,
            friction_impulse: friction,
            friction_moment: moment,
        });
    }
}

fn kind_of(points: &[Vector3<f64>], length: f64) -> PatchKind {
    let Some(first) = points.first() else { return PatchKind::Point };
    let far = points.iter().max_by(|a, b| (*a - first).norm().total_cmp(&(*b - first).norm()));
    let along = far.map_or_else(Vector3::zeros, |far| far - first);
    if along.norm() <= FLAT * length {
        return PatchKind::Point;
    }
    let beside = points.iter().map(|p| along.cross(&(p - first)).norm() / along.norm()).fold(0.0, f64::max);
    if beside <= FLAT * along.norm() { PatchKind::Line } else { PatchKind::Surface }
}
