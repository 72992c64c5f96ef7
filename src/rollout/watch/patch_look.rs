//! What the watch reads from a contact: its stiffness, its depth, its sliding speed, and the bodies that
//! it moves.

use nalgebra::{DMatrix, DVector, Vector3};

use crate::contact::{Collider, ContactPair, ContactSettings, Workspace, contact, for_each_face};
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
    /// Largest pressure over gradient of its face, m, of the faces with at least half of the mean gradient: what is
    /// oblique to a field has a pressure and hardly a gradient along its normal, and would seem to be metres deep.
    pub depth: f64,
    /// The mean of the faces' normals, each by its elastic force; zero where there is none.
    pub normal: Vector3<f64>,
    /// Velocity of A relative to B along the surface at the centroid, m/s.
    pub slip: Vector3<f64>,
}

impl PatchLook {
    /// Looks at the contact of two geometries, if they touch (and can).
    pub fn new(query: &ContactPair, settings: &ContactSettings, workspace: &mut Workspace) -> Option<Self> {
        let patch = contact(query, settings, workspace).ok()??;
        let (mut stiffness, mut area, mut pushed) = (0.0, 0.0, Vector3::zeros());
        let mut faces = Vec::new();
        for_each_face(query, settings, workspace, |face| {
            pushed += face.normal * (face.area * face.pressure);
            if let Some(gradient) = gradient_in_series(face.gradient_a, face.gradient_b) {
                stiffness += face.area * gradient;
                area += face.area;
                faces.push((face.pressure, gradient));
            }
        });
        let steep = faces.iter().filter(|(_, gradient)| gradient * area > 0.5 * stiffness);
        let depth = steep.map(|(pressure, gradient)| pressure / gradient).fold(0.0, f64::max);
        let at = |x: &Vector3<f64>| patch.centroid - x;
        let a = query.v_wa.shifted(&at(&query.x_wa.translation)).translational;
        let b = query.v_wb.shifted(&at(&query.x_wb.translation)).translational;
        let force = patch.wrench_on_a.translational;
        // Not the direction of the force, which friction tilts.
        let normal = pushed.try_normalize(0.0).unwrap_or_else(Vector3::zeros);
        let relative = a - b;
        let slip = relative - normal * normal.dot(&relative);
        Some(Self { force, centroid: patch.centroid, stiffness, depth, normal, slip })
    }

    /// The direction that it slides in, or one along the surface where it does not.
    pub fn slip_direction(&self) -> Vector3<f64> {
        let across = self.normal.cross(&Vector3::ith(self.normal.iamin(), 1.0));
        let direction = self.slip.try_normalize(0.0).or_else(|| across.try_normalize(0.0));
        direction.unwrap_or_else(Vector3::zeros)
    }
}

/// The gradient along a face's normal of the fields of both sides, one on top of the other; none where there is none.
fn gradient_in_series(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    let gradient = match (a, b) {
        (Some(a), Some(b)) => a * b / (a + b),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => return None,
    };
    Some(gradient).filter(|gradient| *gradient > 0.0 && gradient.is_finite())
}

/// The smallest side of a geometry's box, m; ∞ for half-spaces.
pub(super) fn smallest_extent(collider: &Collider) -> f64 {
    collider.geometry.hierarchy().map_or(f64::INFINITY, |hierarchy| 2.0 * hierarchy.bounding_box().1.min())
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

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use nalgebra::Matrix3;

    use crate::contact::Material;
    use crate::geometry::Shape;
    use crate::multibody::tree::{BodyDescription, JointDescription, JointKind, Mechanism};
    use crate::multibody::{
        AppliedForces, Body, BodyState, Forces, MassProperties, MassSource, ModelBuilder,
    };
    use crate::scalar::{Scalar, lift_vector};
    use crate::spatial::{Quaternion, RigidTransform, SpatialForce, SpatialVelocity, rotation_from_rpy};
    use crate::step::{Integrator, StepProblem, StepWorkspace};

    /// A force of 1 N along a direction at a point of A, and its opposite there on B.
    struct Push {
        bodies: BodyPair,
        point: Vector3<f64>,
        direction: Vector3<f64>,
    }

    impl AppliedForces for Push {
        fn apply<T: Scalar>(
            &self,
            model: &Model<T>,
            state: &State<T>,
            _: f64,
            _: &[T],
            forces: &mut Forces<T>,
        ) {
            let mut frames = Vec::new();
            model.body_frames(state, &mut frames);
            for (body, sign) in [(self.bodies.a, 1.0), (self.bodies.b, -1.0)] {
                let Some(i) = model.moving_index(body) else { continue };
                let offset = lift_vector(&self.point) - frames[body].pose.translation;
                let force = lift_vector(&(self.direction * sign));
                forces.bodies[i] += SpatialForce::new(offset.cross(&force), force);
            }
        }
    }

    fn mass(mass: f64, center: [f64; 3]) -> MassProperties {
        let inertia = Matrix3::new(0.3, 0.02, -0.01, 0.02, 0.4, 0.03, -0.01, 0.03, 0.6);
        MassProperties { mass, center_of_mass: Vector3::from(center), inertia }
    }

    /// Two free bodies, the two links of an arm, and one that does not move.
    fn model() -> (Model, State) {
        let free = |name: &str, m: MassProperties| {
            Body::free(name, MassSource::Given(m), vec![]).expect("a valid mass")
        };
        let described = |name: &str, m: MassProperties| BodyDescription { name: name.into(), mass: Some(m) };
        let joint = |name: &str, parent: Option<&str>, child: &str, axis: Vector3<f64>| {
            let x_pf = RigidTransform::from_translation([0.3, 0.1, -0.2]);
            JointDescription::new(name, JointKind::Revolute { axis }, parent, child, x_pf)
        };
        let mechanism = Mechanism::new(
            vec![
                described("upper", mass(1.1, [0.2, 0.0, 0.1])),
                described("lower", mass(0.6, [0.1, 0.2, 0.0])),
            ],
            vec![
                joint("shoulder", None, "upper", Vector3::new(0.2, 1.0, 0.3)),
                joint("elbow", Some("upper"), "lower", Vector3::z()),
            ],
        );
        let bodies = vec![
            free("one", mass(1.7, [0.2, -0.1, 0.3])),
            free("two", mass(0.8, [-0.1, 0.0, 0.2])),
            Body::link("upper", 0, vec![]),
            Body::link("lower", 1, vec![]),
            Body::fixed("ground", RigidTransform::identity(), vec![]),
        ];
        let mechanism = mechanism.expect("an arm");
        let joints = mechanism.state(vec![0.4, -0.9], vec![0.0; 2]);
        let model = ModelBuilder { mechanism, bodies, gravity: Vector3::zeros(), ..Default::default() };
        let at = |w: f64, position: [f64; 3]| BodyState {
            orientation: Quaternion::from_wxyz(w, 0.1, -0.7, 0.3),
            position: Vector3::from(position),
            velocity: SpatialVelocity::zero(),
        };
        let bodies = vec![at(0.4, [0.1, 0.2, 0.3]), at(-0.2, [0.5, -0.2, 0.1])];
        (model.build().expect("no pairs"), State::new(bodies, joints))
    }

    #[test]
    fn mobility_is_the_velocity_that_an_impulse_gives() {
        let (model, state) = model();
        let (mut frames, mut joints) = (Vec::new(), JointKinematics::default());
        model.update_frames(&state, &mut frames, &mut joints);
        let point = Vector3::new(0.3, 0.25, -0.1);
        let direction = Vector3::new(0.48, -0.6, 0.64);
        for (a, b) in [(0, 1), (0, 4), (2, 4), (1, 3), (2, 3)] {
            let bodies = BodyPair { a, b };
            let found = mobility(&model, &state, &frames, &mut joints, bodies, &point, &direction);
            // From rest; so short a step that nothing moves.
            let (time, time_step, applied) = (0.0, 1e-6, &Push { bodies, point, direction });
            let step = StepProblem {
                model: &model,
                state: &state,
                time,
                time_step,
                applied,
                control: &[],
                substeps: None,
                asleep: &[],
            };
            let after = Integrator::SemiImplicitEuler.step(&step, &mut StepWorkspace::default());
            let mut moved = Vec::new();
            model.body_frames(&after.expect("an explicit step"), &mut moved);
            let [v_a, v_b] = [a, b].map(|body| {
                moved[body].velocity.shifted(&(point - frames[body].pose.translation)).translational
            });
            assert_relative_eq!(found, (v_a - v_b).dot(&direction) / time_step, max_relative = 1e-8);
        }
    }

    /// The tetrahedra at the ends of a bar that lies on the floor have a gradient along the bar.
    #[test]
    fn faces_that_are_oblique_to_a_field_do_not_look_deep() {
        let foam = Material::new(1e6, 0.0, 0.5);
        let bar =
            Collider::of_shape(&Shape::Cylinder { radius: 0.01, length: 0.12 }, 0.0025, foam).expect("a bar");
        let floor = Collider::rigid_half_space(foam);
        let depth = 3e-4;
        let lying = rotation_from_rpy(0.3, std::f64::consts::FRAC_PI_2 - 1e-3, 0.0);
        let pose = RigidTransform::new(lying, Vector3::new(0.0, 0.0, 0.01 - depth));
        let query = ContactPair::at_rest(&bar, pose, &floor, RigidTransform::identity());
        let look = PatchLook::new(&query, &ContactSettings::default(), &mut Workspace::default());
        let found = look.expect("they touch").depth;
        assert!((0.5 * depth..2.0 * depth).contains(&found), "{found}");
    }

    #[test]
    fn a_look_sees_the_slope_of_the_force_the_overlap_and_the_slip() {
        let foam = Material::new(1e5, 0.0, 0.5);
        let ball = Collider::of_shape(&Shape::Sphere { radius: 0.05 }, 0.02, foam).expect("a ball");
        let floor = Collider::rigid_half_space(foam);
        let (settings, mut workspace) = (ContactSettings::default(), Workspace::default());
        let at = |z: f64| RigidTransform::from_translation([0.0, 0.0, z]);
        let mut look = |query: &ContactPair| PatchLook::new(query, &settings, &mut workspace);
        let mut on_floor = |depth: f64| {
            look(&ContactPair::at_rest(&ball, at(0.05 - depth), &floor, at(0.0))).expect("they touch")
        };
        let (depth, h) = (0.0052, 1e-7);
        let one = on_floor(depth);
        let slope = (on_floor(depth + h).force.z - on_floor(depth - h).force.z) / (2.0 * h);
        assert_relative_eq!(one.stiffness, slope, max_relative = 1e-6);
        // The centroid of the deepest face is not quite as deep as the ball.
        assert!((0.75 * depth..depth).contains(&one.depth), "{one:?}");
        // Balls that are the mirror image of each other share the overlap, and are half as stiff.
        let mut query = ContactPair::at_rest(&ball, at(0.05 - depth), &ball, at(depth - 0.05));
        let both = look(&query).expect("they touch");
        assert_relative_eq!(both.force, one.force, max_relative = 1e-9, epsilon = 1e-9);
        assert_relative_eq!(both.stiffness, 0.5 * one.stiffness, max_relative = 1e-9);
        assert_relative_eq!(both.depth, 2.0 * one.depth, max_relative = 1e-9);
        assert_eq!(both.slip, Vector3::zeros());
        assert_relative_eq!(both.normal, Vector3::z(), epsilon = 1e-12);
        assert_relative_eq!(both.slip_direction().xy().norm(), 1.0, epsilon = 1e-12);
        // Both translate and turn; what separates them is no slip.
        query.v_wa = SpatialVelocity::new(Vector3::new(0.0, 2.0, 0.0), Vector3::new(0.3, 0.0, 0.7));
        query.v_wb = SpatialVelocity::new(Vector3::new(1.0, 0.0, 0.0), Vector3::new(0.1, 0.4, 0.0));
        let arm = 0.05 - depth;
        let slip = Vector3::new(0.3 - 2.0 * arm - 0.1, -0.4 + arm, 0.0);
        let sliding = look(&query).expect("they touch");
        assert_relative_eq!(sliding.slip, slip, epsilon = 1e-9);
        assert_relative_eq!(sliding.slip_direction(), slip.normalize(), epsilon = 1e-8);
    }
}
