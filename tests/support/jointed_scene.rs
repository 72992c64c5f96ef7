//! A scene with joints of every kind that tests of steps share.
#![allow(dead_code, reason = "not every test that includes this module uses its own part of this module")]

use isobar::contact::{ContactSettings, Material, SurfaceRepresentation};
use isobar::geometry::Shape;
use isobar::multibody::tree::{
    BodyDescription, JointDescription, JointKind, JointLimits, JointSpring, Mechanism,
};
use isobar::multibody::{
    Actuator, AppliedForces, Body, BodyGeometry, BodyState, Drive, Forces, MassProperties, MassSource, Model,
    ModelBuilder, NamedMaterial, State,
};
use isobar::scalar::Scalar;
use isobar::spatial::{Quaternion, RigidTransform, SpatialVelocity, rotation_from_rpy};
use nalgebra::{Matrix3, Vector3};

use super::step_scenes::{ball_inertia, compliant, material};

fn mass(mass: f64, center: [f64; 3]) -> MassProperties {
    let inertia = Matrix3::new(1.1, 0.1, 0.05, 0.1, 1.3, -0.08, 0.05, -0.08, 0.9) * (mass * 2e-3);
    MassProperties { mass, center_of_mass: center.into(), inertia }
}

fn pose(rpy: [f64; 3], p: [f64; 3]) -> RigidTransform {
    RigidTransform::new(rotation_from_rpy(rpy[0], rpy[1], rpy[2]), p.into())
}

/// An arm on a turning base, with a ball joint as its wrist and two fingers on prismatic joints,
/// that holds a free ball against a table; a pusher on a planar joint; and a hanging body on a free
/// joint that touches the pusher. Four actuators: the base's position, the elbow's velocity (at
/// its effort limit), the fingers' force, the pusher's position along x. One finger is in its stop.
pub fn scene(surface: SurfaceRepresentation) -> (Model, State) {
    let bodies = [
        ("upper", mass(0.8, [0.1, 0.01, 0.02])),
        ("fore", mass(0.5, [0.08, -0.01, 0.0])),
        ("hand", mass(0.3, [0.02, 0.0, 0.01])),
        ("left", mass(0.1, [0.0, 0.002, 0.003])),
        ("right", mass(0.1, [0.001, 0.0, 0.003])),
        ("pusher", mass(0.4, [0.0, 0.01, 0.0])),
        ("weight", mass(0.3, [0.003, 0.0, 0.001])),
    ]
    .map(|(name, mass)| BodyDescription { name: name.into(), mass: Some(mass) });
    let joint =
        |name: &str, kind, parent, child: &str, x_pf| JointDescription::new(name, kind, parent, child, x_pf);
    let x = Vector3::x();
    let joints = vec![
        JointDescription {
            damping: 0.05,
            rotor_inertia: 0.01,
            ..joint(
                "base",
                JointKind::Revolute { axis: Vector3::z() },
                None,
                "upper",
                pose([0.02, 0.0, 0.0], [-0.4, 0.0, 0.1]),
            )
        },
        JointDescription {
            spring: Some(JointSpring { stiffness: 3.0, rest: 0.1 }),
            ..joint(
                "elbow",
                JointKind::Revolute { axis: Vector3::y() },
                Some("upper"),
                "fore",
                pose([0.0; 3], [0.2, 0.0, 0.0]),
            )
        },
        joint("wrist", JointKind::Ball, Some("fore"), "hand", pose([0.1, 0.0, 0.05], [0.15, 0.0, 0.0])),
        JointDescription {
            x_mc: pose([0.0, 0.0, 0.1], [0.002, 0.0, 0.0]),
            limits: JointLimits { lower: -0.0395, upper: 0.1, stiffness: 2e4, ..JointLimits::default() },
            ..joint(
                "left slide",
                JointKind::Prismatic { axis: x },
                Some("hand"),
                "left",
                pose([0.0; 3], [0.05, 0.0, 0.0]),
            )
        },
        joint(
            "right slide",
            JointKind::Prismatic { axis: x },
            Some("hand"),
            "right",
            pose([0.0; 3], [0.05, 0.0, 0.0]),
        ),
        joint("plane", JointKind::Planar, None, "pusher", pose([0.0, 0.1, 0.3], [0.05, 0.06, 0.04])),
        joint("loose", JointKind::Free, None, "weight", pose([0.0, 0.1, 0.3], [0.06, 0.11, 0.05])),
    ];
    let mechanism = Mechanism::new(bodies.to_vec(), joints).expect("a tree");
    let soft: Material = material(2e5, 0.9, 0.01, 0.6);
    let hard: Material = material(5e5, 0.7, 0.004, 0.8);
    let materials = vec![
        NamedMaterial { name: "soft".into(), material: soft },
        NamedMaterial { name: "hard".into(), material: hard },
    ];
    let geometry = |shape, resolution, x_bg, material: usize| {
        let collider = isobar::Collider::new(compliant(shape, resolution), [soft, hard][material], 1.0);
        BodyGeometry::new(collider).at(x_bg).of_material(material)
    };
    let finger = || {
        geometry(Shape::Box { size: [0.02, 0.05, 0.05] }, 0.05, pose([0.0, 0.05, 0.0], [0.001, 0.0, 0.0]), 1)
    };
    let link =
        |name: &str, geometries| Body::link(name, mechanism.body_index(name).expect("a body"), geometries);
    let ball = MassProperties {
        mass: 0.2,
        center_of_mass: Vector3::new(0.001, 0.0, 0.0),
        inertia: ball_inertia(0.2, 0.04),
    };
    let ball_shape = geometry(Shape::Sphere { radius: 0.04 }, 0.035, pose([0.1, 0.2, 0.0], [0.0; 3]), 0);
    let slab = geometry(Shape::Box { size: [0.5, 0.5, 0.1] }, 0.25, pose([0.0; 3], [0.0, 0.0, -0.05]), 1);
    let block = geometry(Shape::Box { size: [0.06, 0.05, 0.06] }, 0.06, pose([0.0; 3], [0.0; 3]), 1);
    let bead = geometry(Shape::Sphere { radius: 0.03 }, 0.03, pose([0.0; 3], [0.0; 3]), 0);
    let bodies = vec![
        Body::fixed("table", pose([0.0; 3], [0.0, 0.0, 0.0]), vec![slab]),
        Body::free("ball", MassSource::Given(ball), vec![ball_shape]).expect("a valid mass"),
        link("left", vec![finger()]),
        link("right", vec![finger()]),
        link("upper", vec![]),
        link("fore", vec![]),
        link("hand", vec![]),
        link("pusher", vec![block]),
        link("weight", vec![bead]),
    ];
    let settings = ContactSettings { surface, ..Default::default() };
    let gravity = Vector3::new(0.1, 0.0, -9.81);
    let names = [
        ("turn", vec![("base", 0, 1.0)], Drive::Position { stiffness: 60.0, damping: 2.0 }, f64::INFINITY),
        ("bend", vec![("elbow", 0, 1.0)], Drive::Velocity { damping: 4.0 }, 0.7),
        ("grip", vec![("left slide", 0, -1.0), ("right slide", 0, 1.0)], Drive::Force, 40.0),
        ("push", vec![("plane", 0, 1.0)], Drive::Position { stiffness: 500.0, damping: 5.0 }, 1e3),
    ];
    let actuators = names.map(|(name, joints, drive, effort)| {
        Actuator::new(name, &mechanism, &joints, drive, effort).expect("a valid actuator")
    });
    let model = ModelBuilder {
        mechanism,
        bodies,
        actuators: actuators.to_vec(),
        materials,
        gravity,
        loads: Vec::new(),
        contact: settings,
        apart: Vec::new(),
    };
    let model = model.build().expect("a valid model");
    let mut joints = model.mechanism().neutral_state();
    // base, elbow, wrist, left, right, plane (3), loose.
    joints.q[0] = 0.03;
    joints.q[1] = 0.3;
    let wrist = Quaternion::identity().rotated_by(&Vector3::new(0.05, -0.28, 0.02));
    joints.q[2..6].copy_from_slice(&[wrist.w, wrist.v.x, wrist.v.y, wrist.v.z]);
    joints.q[6] = -0.0485 + 0.0;
    joints.q[7] = 0.0485;
    for (i, v) in joints.v.iter_mut().enumerate() {
        *v = 0.05 * (1.3 * i as f64 + 0.4).sin();
    }
    let state = State::new(vec![], joints);
    // The ball is put between the fingers.
    let mut frames = Vec::new();
    let middle = State::new(vec![BodyState::at_rest(&RigidTransform::identity())], state.joints.clone());
    model.body_frames(&middle, &mut frames);
    let place = (frames[2].pose.translation + frames[3].pose.translation) * 0.5;
    let ball = BodyState {
        orientation: Quaternion::from_wxyz(0.9, 0.1, -0.2, 0.3),
        position: Vector3::new(place.x + 0.001, place.y, place.z - 0.002),
        velocity: SpatialVelocity::new(Vector3::new(0.3, -0.2, 0.1), Vector3::new(0.02, 0.01, -0.03)),
    };
    (model, State::new(vec![ball], state.joints))
}

/// Feedback on everything: a spring from the pusher to the ball, torques on the joints that follow
/// the ball's height and the joints' state, and control values on the hand.
pub struct Feedback;

impl AppliedForces for Feedback {
    fn control_dimension(&self) -> usize {
        2
    }

    fn apply<T: Scalar>(
        &self,
        model: &Model<T>,
        state: &State<T>,
        time: f64,
        control: &[T],
        forces: &mut Forces<T>,
    ) {
        let mut frames = Vec::new();
        model.body_frames(state, &mut frames);
        let pusher = model.body_index("pusher").expect("a body");
        let spring = (state.bodies[0].position - frames[pusher].pose.translation) * T::from(3.0)
            - frames[pusher].velocity.translational * T::from(0.4);
        let place = model.moving_index(pusher).expect("it moves");
        forces.bodies[place].translational += spring;
        forces.bodies[0].translational -= spring;
        let hand = model.moving_index(model.body_index("hand").expect("a body")).expect("it moves");
        forces.bodies[hand].rotational.z += control[0] * (time + 1.0);
        forces.bodies[hand].translational.y += control[1];
        for (i, tau) in forces.joints.iter_mut().enumerate() {
            *tau -= state.joints.v[i] * 0.01 + state.bodies[0].position.z * (0.1 * i as f64);
        }
        forces.joints[1] += state.joints.q[0] * state.joints.q[1] * 0.3;
    }
}
