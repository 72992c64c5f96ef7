//! A look at a contact: how stiff, how deep, how fast it slides, and what it moves.

use nalgebra::{DMatrix, DVector, Vector3};

use crate::contact::{
    Collider, ContactGeometry, ContactPair, ContactSettings, Workspace, contact, for_each_face,
};
use crate::multibody::{BodyFrame, BodyPair, JointKinematics, Model, Motion, State};

/// What is seen of a contact.
#[derive(Clone, Copy, Debug)]
pub(super) struct PatchLook {
    /// On A, in W, N.
    pub force: Vector3<f64>,
    /// In W, m.
    pub centroid: Vector3<f64>,
    /// Sum of area times gradient of the fields in series, ∂F/∂depth, N/m.
    pub stiffness: f64,
    /// Largest pressure over gradient of its face, m.
    pub depth: f64,
    /// Velocity of A relative to B along the surface at the centroid, m/s.
    pub slip_velocity: f64,
}

impl PatchLook {
    /// Looks at the contact of two geometries, if they touch (and can).
    pub fn new(query: &ContactPair, settings: &ContactSettings, workspace: &mut Workspace) -> Option<Self> {
        let patch = contact(query, settings, workspace).ok()??;
        let (mut stiffness, mut depth) = (0.0, 0.0);
        for_each_face(query, settings, workspace, |face| {
            let gradient = match (face.gradient_a, face.gradient_b) {
                (Some(a), Some(b)) => a * b / (a + b),
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => return,
            };
            // Faces without a gradient along their normal are not deep, but oblique.
            if gradient > 0.0 && gradient.is_finite() {
                stiffness += face.area * gradient;
                depth = f64::max(depth, face.pressure / gradient);
            }
        });
        let at = |x: &Vector3<f64>| patch.centroid - x;
        let a = query.v_wa.shifted(&at(&query.x_wa.translation)).translational;
        let b = query.v_wb.shifted(&at(&query.x_wb.translation)).translational;
        let force = patch.wrench_on_a.translational;
        let mut look = Self { force, centroid: patch.centroid, stiffness, depth, slip_velocity: 0.0 };
        let (normal, relative) = (look.normal(), a - b);
        look.slip_velocity = (relative - normal * normal.dot(&relative)).norm();
        Some(look)
    }

    /// The direction of the force, or zero if there is none.
    pub fn normal(&self) -> Vector3<f64> {
        self.force.try_normalize(0.0).unwrap_or_else(Vector3::zeros)
    }
}

/// The smallest side of a geometry's box, m; ∞ for half-spaces.
pub(super) fn smallest_extent(collider: &Collider) -> f64 {
    let hierarchy = match collider.geometry.as_ref() {
        ContactGeometry::Compliant(field) => field.hierarchy(),
        ContactGeometry::Rigid(surface) => surface.hierarchy(),
        ContactGeometry::CompliantHalfSpace | ContactGeometry::RigidHalfSpace => return f64::INFINITY,
    };
    2.0 * hierarchy.bounding_box().1.min()
}

/// The velocity along `direction` of the point of A relative to that of B at `point`, both in W, by
/// an impulse of 1 N s between them in this direction, m/s: the inverse of the effective mass.
pub(super) fn mobility(
    model: &Model,
    state: &State,
    frames: &[BodyFrame],
    joints: &mut JointKinematics,
    bodies: BodyPair,
    point: &Vector3<f64>,
    direction: &Vector3<f64>,
) -> f64 {
    let mechanism = &model.mechanism;
    let n = mechanism.velocity_dimension();
    let mut of_joints = DVector::<f64>::zeros(n);
    let mut sum = 0.0;
    for (body, sign) in [(bodies.a, 1.0), (bodies.b, -1.0)] {
        let offset = point - frames[body].pose.translation;
        match &model.bodies[body].motion {
            Motion::Fixed { .. } => {}
            Motion::Free { mass, .. } => {
                let rotation = &frames[body].pose.rotation;
                let moment =
                    rotation.transpose() * (offset - rotation * mass.center_of_mass).cross(direction);
                let turning =
                    mass.inertia.try_inverse().map_or(0.0, |inverse| moment.dot(&(inverse * moment)));
                sum += 1.0 / mass.mass + turning;
            }
            Motion::Link { link } => {
                let workspace = joints.of(mechanism);
                for (k, column) in workspace.jacobian_columns(mechanism, *link, &offset) {
                    of_joints[k] += sign * column.translational.dot(direction);
                }
            }
        }
    }
    if of_joints.amax() > 0.0 {
        let mut matrix = DMatrix::zeros(n, n);
        mechanism.mass_matrix(joints.update(mechanism, &state.joints.q, &state.joints.v), &mut matrix);
        mechanism.factorize(&mut matrix);
        let mut moved = of_joints.clone();
        mechanism.solve(&matrix, moved.as_mut_slice());
        sum += moved.dot(&of_joints);
    }
    sum
}
