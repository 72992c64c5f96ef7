//! Bodies and scenes that the tests and benchmarks of velocity-level steps share.
#![allow(dead_code, reason = "not every test that includes this module uses its own part of this module")]

use std::sync::Arc;

use isobar::contact::{
    Collider, ContactGeometry, ContactModel, ContactSettings, Material, SurfaceRepresentation,
};
use isobar::field::{PressureField, RigidSurface};
use isobar::geometry::Shape;
use isobar::multibody::tree::{BodyDescription, JointDescription, JointKind, Mechanism};
use isobar::multibody::{
    AppliedForces, Body, BodyGeometry, BodyState, ForceDependence, Forces, MassProperties, MassSource, Model,
    ModelBuilder, NamedMaterial, State, StateDependence,
};
use isobar::scalar::Scalar;
use isobar::spatial::{Quaternion, RigidTransform, SpatialVelocity, rotation_from_rpy};
use isobar::step::{Integrator, StepProblem, StepWorkspace};
use nalgebra::{Matrix3, Vector3};

/// The contact models of velocity-level steps.
pub const MODELS: [ContactModel; 4] =
    [ContactModel::Sap, ContactModel::Lagged, ContactModel::Similar, ContactModel::Tamsi];

/// Gravity, m/s².
pub const GRAVITY: f64 = 9.81;

/// A material with equal friction coefficients.
pub fn material(
    hydroelastic_modulus: f64,
    dissipation: f64,
    relaxation_time: f64,
    friction: f64,
) -> Material {
    Material::new(hydroelastic_modulus, dissipation, friction).with_relaxation_time(relaxation_time)
}

/// A compliant primitive.
pub fn compliant(shape: Shape, resolution: f64) -> Arc<ContactGeometry> {
    Arc::new(ContactGeometry::Compliant(PressureField::of_shape(&shape, resolution).expect("a valid shape")))
}

/// A rigid primitive.
pub fn rigid(shape: Shape, resolution: f64) -> Arc<ContactGeometry> {
    let mesh = shape.surface_mesh(resolution).expect("a valid shape");
    Arc::new(ContactGeometry::Rigid(RigidSurface::new(mesh)))
}

/// A scene under construction.
#[derive(Default)]
pub struct Builder {
    bodies: Vec<Body>,
    materials: Vec<NamedMaterial>,
    states: Vec<BodyState>,
    links: Vec<BodyDescription>,
    joints: Vec<JointDescription>,
    speeds: Vec<f64>,
}

/// The moments of inertia of a solid ball.
pub fn ball_inertia(mass: f64, radius: f64) -> Matrix3<f64> {
    Matrix3::identity() * (0.4 * mass * radius * radius)
}

/// The moments of inertia of a solid box.
pub fn box_inertia(mass: f64, size: [f64; 3]) -> Matrix3<f64> {
    let [x, y, z] = size.map(|s| s * s);
    Matrix3::from_diagonal(&(Vector3::new(y + z, z + x, x + y) * (mass / 12.0)))
}

/// The moments of inertia of a solid cylinder around z.
pub fn cylinder_inertia(mass: f64, radius: f64, length: f64) -> Matrix3<f64> {
    let across = mass * (3.0 * radius * radius + length * length) / 12.0;
    Matrix3::from_diagonal(&Vector3::new(across, across, 0.5 * mass * radius * radius))
}

impl Builder {
    /// Adds a material of its own for a geometry in its body's frame.
    fn geometry(
        &mut self,
        geometry: Arc<ContactGeometry>,
        material: Material,
        thickness: f64,
    ) -> BodyGeometry {
        self.materials.push(NamedMaterial { name: format!("material {}", self.materials.len()), material });
        let collider = Collider::new(geometry, material, thickness);
        BodyGeometry::new(collider).of_material(self.materials.len() - 1)
    }

    /// Adds a fixed body.
    pub fn fixed(
        &mut self,
        geometry: Arc<ContactGeometry>,
        material: Material,
        thickness: f64,
        pose: RigidTransform,
    ) {
        let geometry = self.geometry(geometry, material, thickness);
        let name = format!("body {}", self.bodies.len());
        self.bodies.push(Body::fixed(name, pose, vec![geometry]));
    }

    /// Adds a free body; on a prismatic joint along an axis with a damping if one is given, which
    /// it must not move or be turned from.
    pub fn free(
        &mut self,
        geometry: Arc<ContactGeometry>,
        material: Material,
        mass: f64,
        inertia: Matrix3<f64>,
        guide: Option<(Vector3<f64>, f64)>,
        state: BodyState,
    ) {
        let geometry = self.geometry(geometry, material, 1.0);
        let mass = MassProperties { mass, center_of_mass: Vector3::zeros(), inertia };
        let name = format!("body {}", self.bodies.len());
        let Some((axis, damping)) = guide else {
            let body = Body::free(name, MassSource::Given(mass), vec![geometry]).expect("a valid mass");
            self.bodies.push(body);
            self.states.push(state);
            return;
        };
        let kind = JointKind::Prismatic { axis };
        let place = RigidTransform::from_translation(state.position);
        let joint = JointDescription::new(format!("guide of {name}"), kind, None, name.clone(), place);
        self.joints.push(JointDescription { damping, ..joint });
        self.speeds.push(axis.normalize().dot(&state.velocity.translational));
        self.bodies.push(Body::link(name.clone(), self.links.len(), vec![geometry]));
        self.links.push(BodyDescription { name, mass: Some(mass) });
    }

    /// The model under gravity along −z (or none), and the initial state.
    pub fn build(self, gravity: Vector3<f64>, settings: ContactSettings) -> (Model, State) {
        let mechanism = Mechanism::new(self.links, self.joints).expect("a valid mechanism");
        let joints = mechanism.state(vec![0.0; self.speeds.len()], self.speeds);
        let (bodies, materials) = (self.bodies, self.materials);
        let model =
            ModelBuilder { mechanism, bodies, materials, gravity, contact: settings, ..Default::default() };
        (model.build().expect("a valid model"), State::new(self.states, joints))
    }
}

/// At rest without rotation.
pub fn resting(position: Vector3<f64>) -> BodyState {
    moving(Quaternion::identity(), position, Vector3::zeros(), Vector3::zeros())
}

/// A state of one body.
pub fn moving(
    orientation: Quaternion,
    position: Vector3<f64>,
    angular: Vector3<f64>,
    linear: Vector3<f64>,
) -> BodyState {
    BodyState { orientation, position, velocity: SpatialVelocity::new(angular, linear) }
}

/// The weight of `down`-ward gravity.
pub fn down() -> Vector3<f64> {
    Vector3::new(0.0, 0.0, -GRAVITY)
}

/// Two constant forces along x, on the second and the third free body: the fingers of a gripper.
#[derive(Clone, Copy, Debug)]
pub struct Squeeze(pub f64);

impl AppliedForces for Squeeze {
    fn apply<T: Scalar>(&self, _: &Model<T>, _: &State<T>, _: f64, _: &[T], forces: &mut Forces<T>) {
        if let [_, left, right] = &mut forces.bodies[..] {
            left.translational.x += T::from(self.0);
            right.translational.x -= T::from(self.0);
        }
    }

    fn dependence(&self) -> ForceDependence {
        ForceDependence { state: StateDependence::None, model: false }
    }
}

/// A ball of 0.5 kg dropped, turning, onto a fixed box: Drake's first benchmark.
pub fn ball_on_box(resolution: f64, surface: SurfaceRepresentation) -> (Model, State) {
    let (radius, mass) = (0.05, 0.5);
    let mut b = Builder::default();
    let ball = compliant(Shape::Sphere { radius }, resolution);
    let state = moving(
        Quaternion::from_matrix(&rotation_from_rpy(0.3, 0.2, 0.1)),
        Vector3::new(0.0, 0.0, radius - 0.003),
        Vector3::new(0.0, 1.0, 0.0),
        Vector3::new(0.05, 0.0, 0.0),
    );
    b.free(ball, material(1e5, 1.25, 0.01, 0.8), mass, ball_inertia(mass, radius), None, state);
    let ground = compliant(Shape::Box { size: [0.6, 0.6, 0.1] }, 0.1);
    let pose = RigidTransform::from_translation([0.0, 0.0, -0.05]);
    b.fixed(ground, material(1e6, 1.25, 0.01, 0.8), 1.0, pose);
    b.build(down(), ContactSettings { surface, ..Default::default() })
}

/// A cube that comes down on a corner, turning and moving sideways, onto a fixed box.
pub fn tumbling_cube(dissipation: f64, friction: f64, contact: ContactSettings) -> (Model, State) {
    let (size, mass) = ([0.1; 3], 0.5);
    let mut b = Builder::default();
    let state = moving(
        Quaternion::from_matrix(&rotation_from_rpy(0.5, 0.4, 0.3)),
        Vector3::new(0.0, 0.0, 0.088),
        Vector3::new(2.0, -3.0, 1.0),
        Vector3::new(0.6, 0.2, -0.5),
    );
    let m = material(1e5, dissipation, 0.0, friction);
    b.free(compliant(Shape::Box { size }, 0.1), m, mass, box_inertia(mass, size), None, state);
    let ground = compliant(Shape::Box { size: [2.0, 2.0, 0.1] }, 0.1);
    let pose = RigidTransform::from_translation([0.0, 0.0, -0.05]);
    b.fixed(ground, material(1e6, dissipation, 0.0, friction), 1.0, pose);
    b.build(down(), contact)
}

/// A soft cube, pressed flat into a fixed rigid box, `depth` deep, with a velocity.
pub fn flat_cube(depth: f64, velocity: Vector3<f64>, stiction_velocity: f64) -> (Model, State) {
    let (size, mass) = ([0.1; 3], 0.5);
    let mut b = Builder::default();
    let place = Vector3::new(0.0, 0.0, 0.05 - depth);
    let state = moving(Quaternion::identity(), place, Vector3::zeros(), velocity);
    let m = material(1e5, 0.0, 0.0, 0.3);
    b.free(compliant(Shape::Box { size }, 0.1), m, mass, box_inertia(mass, size), None, state);
    let pose = RigidTransform::from_translation([0.0, 0.0, -0.05]);
    b.fixed(rigid(Shape::Box { size: [2.0, 2.0, 0.1] }, 0.1), material(1.0, 0.0, 0.0, 0.3), 1.0, pose);
    // Steps of all kinds have the same points.
    let quadrature_order = Some(1);
    b.build(down(), ContactSettings { stiction_velocity, quadrature_order, ..Default::default() })
}

/// Two cubes on each other and on a slab, at rest, face on face with the edges of one in the
/// faces of the next, `depth` deep.
pub fn flat_stack(depth: f64, surface: SurfaceRepresentation) -> (Model, State) {
    let (size, mass) = ([0.1; 3], 0.5);
    let mut b = Builder::default();
    let m = material(1e6, 1.25, 0.01, 0.5);
    let ground = compliant(Shape::Box { size: [0.1, 0.1, 0.2] }, 0.1);
    b.fixed(ground, m, 1.0, RigidTransform::from_translation([0.0, 0.0, -0.1]));
    for (i, x) in [0.0, 0.05].into_iter().enumerate() {
        let height = 0.05 - depth + i as f64 * (0.1 - depth);
        let cube = compliant(Shape::Box { size }, 0.1);
        b.free(cube, m, mass, box_inertia(mass, size), None, resting(Vector3::new(x, 0.0, height)));
    }
    b.build(down(), ContactSettings { surface, ..Default::default() })
}

/// What a gripper holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Held {
    /// A ball of 4 cm radius.
    Ball,
    /// A cylinder of 4 cm radius, 8 cm long.
    Cylinder,
}

/// Two compliant fingers on prismatic joints that squeeze an object ([`Squeeze`], 15 N each): Drake's
/// second and third benchmark.
pub fn gripper(held: Held, resolution: f64, surface: SurfaceRepresentation) -> (Model, State) {
    let (radius, length, mass) = (0.04, 0.08, 0.2);
    let mut b = Builder::default();
    let (shape, inertia) = match held {
        Held::Ball => (Shape::Sphere { radius }, ball_inertia(mass, radius)),
        Held::Cylinder => (Shape::Cylinder { radius, length }, cylinder_inertia(mass, radius, length)),
    };
    let orientation = Quaternion::from_matrix(&rotation_from_rpy(0.1, 0.05, 0.2));
    let state = moving(orientation, Vector3::zeros(), Vector3::zeros(), Vector3::zeros());
    b.free(compliant(shape, resolution), material(2e5, 1.25, 0.01, 0.8), mass, inertia, None, state);
    let size = [0.02, 0.06, 0.06];
    let finger = compliant(Shape::Box { size }, 0.03);
    for side in [-1.0, 1.0] {
        let state = resting(Vector3::new(side * (radius + 0.01 - 0.0015), 0.0, 0.0));
        let guide = Some((Vector3::x(), 2.0));
        let m = material(5e5, 1.25, 0.01, 0.8);
        b.free(finger.clone(), m, 0.1, box_inertia(0.1, size), guide, state);
    }
    b.build(down(), ContactSettings { surface, ..Default::default() })
}

/// The state after a number of steps.
pub fn settled(
    model: &Model,
    state: State,
    integrator: Integrator,
    dt: f64,
    steps: usize,
    applied: &impl AppliedForces,
) -> State {
    let mut workspace = StepWorkspace::default();
    (0..steps).fold(state, |state, _| {
        integrator.step(&StepProblem::new(model, &state, dt).under(applied), &mut workspace).expect("a step")
    })
}

/// Balls in `layers` layers of `side` × `side` in a bin with fixed walls, each touching its
/// neighbours, out of line by a little. So a ball has as many contacts in a small pile as in a
/// large one.
pub fn pile(side: usize, layers: usize) -> (Model, State) {
    let (radius, mass, spacing) = (0.05, 0.5, 0.0985);
    let mut b = Builder::default();
    let m = material(1e6, 1.25, 0.01, 0.5);
    let ground = compliant(Shape::Box { size: [4.0, 4.0, 0.2] }, 1.0);
    b.fixed(ground, m, 1.0, RigidTransform::from_translation([0.0, 0.0, -0.1]));
    let (width, height, wall) = ((side - 1) as f64 * spacing, (layers + 1) as f64 * spacing, 0.1);
    for (axis, sign) in [(0, -1.0), (0, 1.0), (1, -1.0), (1, 1.0)] {
        let mut size = [width + 4.0 * spacing, width + 4.0 * spacing, height + 0.2];
        size[axis] = wall;
        // The first and the last ball are as deep in a wall as in their neighbours.
        let mut place = Vector3::new(0.5 * width, 0.5 * width, 0.5 * height);
        place[axis] += sign * (0.5 * width + 0.5 * spacing + 0.5 * wall);
        let side_wall = compliant(Shape::Box { size }, 1.0);
        b.fixed(side_wall, m, 1.0, RigidTransform::from_translation(place));
    }
    let ball = compliant(Shape::Sphere { radius }, 0.035);
    for i in 0..side * side * layers {
        let (x, y, z) = (i % side, i / side % side, i / (side * side));
        // The golden ratio's multiples fill the interval evenly.
        let shift = |k: f64| ((i as f64 * k).fract() - 0.5) * 1e-3;
        let place = Vector3::new(
            x as f64 * spacing + shift(0.618_034),
            y as f64 * spacing + shift(0.754_878),
            radius - 5e-4 + z as f64 * spacing + shift(0.569_84),
        );
        b.free(Arc::clone(&ball), m, mass, ball_inertia(mass, radius), None, resting(place));
    }
    b.build(down(), ContactSettings { surface: SurfaceRepresentation::Polygons, ..Default::default() })
}
