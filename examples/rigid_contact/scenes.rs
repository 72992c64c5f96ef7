//! The scenes of Xie and Chakraborty (2019), §5, and the bolt of Hotz et al. (1999), §1.

use std::f64::consts::TAU;

use isobar::contact::{Collider, Material};
use isobar::field::RigidSurface;
use isobar::geometry::{Shape, SurfaceMesh};
use isobar::multibody::{
    AppliedForces, Body, BodyGeometry, BodyState, Forces, MassProperties, MassSource, Model, ModelBuilder,
    NamedMaterial, State,
};
use isobar::scalar::Scalar;
use isobar::spatial::{RigidTransform, SpatialForce, SpatialVelocity};
use isobar::step::{ComplementarityMethod, Integrator, RigidContact, StepError, StepProblem, StepWorkspace};
use nalgebra::{Matrix3, Vector3};

/// Length of a step of all three scenes, s.
pub const STEP: f64 = 0.01;
/// Acceleration of gravity in the paper, m/s².
pub const GRAVITY: f64 = 9.8;
/// Friction of the three scenes, and e_t, e_o and e_r (m).
pub const FRICTION: f64 = 0.22;
pub const ELLIPSOID: [f64; 3] = [1.0, 1.0, 0.1];

/// A force at the centre of mass and a torque, both in W, as they are at a time.
pub type Load = fn(f64) -> (Vector3<f64>, Vector3<f64>);

/// A load on the first free body.
#[derive(Clone, Copy, Debug)]
pub struct Loaded(pub Load);

impl AppliedForces for Loaded {
    fn apply<T: Scalar>(&self, _: &Model<T>, _: &State<T>, time: f64, _: &[T], forces: &mut Forces<T>) {
        let (force, torque) = (self.0)(time);
        forces.bodies[0] += SpatialForce::new(torque.map(T::from), force.map(T::from));
    }
}

/// A scene: one body on a plane.
#[derive(Debug)]
pub struct Scene {
    pub name: &'static str,
    pub model: Model,
    pub start: State,
    pub load: Load,
    pub duration: f64,
}

/// A body's motion over a scene.
#[derive(Debug, Default)]
pub struct Motion {
    pub states: Vec<BodyState>,
    pub contacts: Vec<Vec<RigidContact>>,
}

impl Scene {
    /// The motion by steps of a method.
    pub fn simulate(&self, method: ComplementarityMethod) -> Result<Motion, StepError> {
        self.simulate_by(Integrator::Complementarity(method), STEP)
    }

    /// The motion by steps of an integrator of a length in s.
    pub fn simulate_by(&self, integrator: Integrator, time_step: f64) -> Result<Motion, StepError> {
        let mut workspace = StepWorkspace::default();
        let mut state = self.start.clone();
        let applied = Loaded(self.load);
        let mut motion = Motion { states: vec![state.bodies[0]], contacts: vec![Vec::new()] };
        for step in 0..(self.duration / time_step).round() as usize {
            let time = step as f64 * time_step;
            let problem =
                StepProblem { time, ..StepProblem::new(&self.model, &state, time_step) }.under(&applied);
            state = integrator.step(&problem, &mut workspace)?;
            motion.states.push(state.bodies[0]);
            motion.contacts.push(workspace.rigid_contacts().to_vec());
        }
        Ok(motion)
    }
}

/// A rigid geometry of a mesh, or of the shape that it stands for.
pub fn rigid(mesh: SurfaceMesh, shape: Option<Shape>, material: usize) -> BodyGeometry {
    let surface = match shape {
        Some(shape) => RigidSurface::of_shape(shape, mesh),
        None => RigidSurface::new(mesh),
    };
    BodyGeometry::new(Collider::rigid(surface, Material::NONE)).of_material(material)
}

/// A model of bodies on the plane z = 0, all of one material.
pub fn on_plane(mut bodies: Vec<Body>, friction: f64, ellipsoid: [f64; 3], gravity: f64) -> Model {
    let ground = BodyGeometry::new(Collider::rigid_half_space(Material::NONE)).of_material(0);
    bodies.push(Body::fixed("ground", RigidTransform::identity(), vec![ground]));
    let material = Material::new(0.0, 0.0, friction).with_friction_ellipsoid(ellipsoid);
    let materials = vec![NamedMaterial { name: "contact".into(), material }];
    let gravity = Vector3::new(0.0, 0.0, -gravity);
    ModelBuilder { bodies, materials, gravity, ..ModelBuilder::default() }.build().expect("a valid model")
}

fn free(name: &str, mass: MassProperties, geometries: Vec<BodyGeometry>) -> Body {
    Body::free(name, MassSource::Given(mass), geometries).expect("a valid body")
}

fn at(position: Vector3<f64>, velocity: [f64; 3], spin: f64) -> State {
    let pose = RigidTransform::from_translation(position);
    let velocity = SpatialVelocity::new(Vector3::new(0.0, 0.0, spin), Vector3::from(velocity));
    State::of_bodies(vec![BodyState { velocity, ..BodyState::at_rest(&pose) }])
}

/// Side of the desk's square, side of a foot, height of the centre of mass (m) and mass (kg).
pub const DESK: [f64; 4] = [0.5, 0.06, 0.45, 15.0];

/// The moments of inertia of the desk: those of a box of its size, as the paper names none.
pub fn desk_inertia() -> Matrix3<f64> {
    let [side, _, height, mass] = DESK;
    let (across, up) = (side * side, 4.0 * height * height);
    Matrix3::from_diagonal(&Vector3::new(across + up, across + up, 2.0 * across)) * (mass / 12.0)
}

/// The paper's force and torque.
pub fn desk_load(t: f64) -> (Vector3<f64>, Vector3<f64>) {
    let angle = TAU * t;
    let force = Vector3::new(22.5 * angle.sin() + 22.5, 22.5 * angle.cos() + 22.5, 0.0);
    (force, Vector3::new(0.0, 0.0, 2.1 * angle.cos()))
}

/// §5.1: a desk with four feet, pushed.
pub fn desk() -> Scene {
    let [side, foot, height, mass] = DESK;
    // Four boxes in one mesh: what touches is their convex hull.
    let mut mesh = SurfaceMesh { vertices: Vec::new(), triangles: Vec::new() };
    let cube = Shape::Box { size: [foot, foot, 0.1] }.surface_mesh(1.0).expect("a valid shape");
    for (x, y) in [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)] {
        let offset = Vector3::new(x, y, 0.0) * (0.5 * (side - foot)) - Vector3::z() * (height - 0.05);
        let first = mesh.vertices.len() as u32;
        mesh.vertices.extend(cube.vertices.iter().map(|v| v + offset));
        mesh.triangles.extend(cube.triangles.iter().map(|t| t.map(|i| i + first)));
    }
    let properties = MassProperties { mass, center_of_mass: Vector3::zeros(), inertia: desk_inertia() };
    let body = free("desk", properties, vec![rigid(mesh, None, 0)]);
    let start = at(Vector3::new(0.0, 0.0, height), [0.3, 0.2, 0.0], 0.5);
    let model = on_plane(vec![body], FRICTION, ELLIPSOID, GRAVITY);
    Scene { name: "desk", model, start, load: desk_load, duration: 4.0 }
}

/// Width and depth of the bar of the T, width and depth of its stem, thickness (m) and mass (kg). The paper has the sizes
/// in a figure only; the thickness is twice the height of its centre of mass.
pub const TEE: [f64; 6] = [0.4, 0.1, 0.1, 0.3, 0.05, 2.0];

/// The outline of the T about its centre of mass, counter-clockwise.
pub fn tee_outline() -> Vec<[f64; 2]> {
    let [bar, depth, stem, length, ..] = TEE;
    let (area_bar, area_stem) = (bar * depth, stem * length);
    let center = (area_bar * (length + 0.5 * depth) + area_stem * 0.5 * length) / (area_bar + area_stem);
    let (a, b) = (0.5 * stem, 0.5 * bar);
    let outline = [
        [-a, 0.0],
        [a, 0.0],
        [a, length],
        [b, length],
        [b, length + depth],
        [-b, length + depth],
        [-b, length],
        [-a, length],
    ];
    outline.map(|[x, y]| [x, y - center]).to_vec()
}

/// A prism over an outline that a fan of its third corner's diagonals cuts into triangles.
fn tee_mesh() -> SurfaceMesh {
    let outline = tee_outline();
    let half = 0.5 * TEE[4];
    let vertices: Vec<_> =
        [-half, half].iter().flat_map(|z| outline.iter().map(|[x, y]| Vector3::new(*x, *y, *z))).collect();
    let n = outline.len() as u32;
    let faces = [[0, 1, 2], [0, 2, 7], [2, 3, 4], [2, 4, 7], [7, 4, 5], [7, 5, 6]];
    let mut triangles: Vec<[u32; 3]> = Vec::new();
    for [a, b, c] in faces {
        triangles.push([a, c, b]);
        triangles.push([a + n, b + n, c + n]);
    }
    for k in 0..n {
        let next = (k + 1) % n;
        triangles.push([k, next, next + n]);
        triangles.push([k, next + n, k + n]);
    }
    SurfaceMesh { vertices, triangles }
}

/// Torques that tilt the T twice, to one side and to the other, and then a push along the plane.
pub fn tee_load(t: f64) -> (Vector3<f64>, Vector3<f64>) {
    let still = Vector3::zeros();
    if t < 0.12 {
        (still, Vector3::new(-3.4, 5.0, 0.0))
    } else if (1.5..1.62).contains(&t) {
        (still, Vector3::new(-3.4, -5.0, 0.0))
    } else if t >= 3.0 {
        let angle = TAU * t;
        let force = Vector3::new(3.0 * angle.sin() + 3.0, 3.0 * angle.cos() + 3.0, 0.0);
        (force, Vector3::new(0.0, 0.0, 0.3 * angle.cos()))
    } else {
        (still, still)
    }
}

/// §5.2: a bar in the form of a T that wobbles, and then slides.
pub fn tee() -> Scene {
    let mesh = tee_mesh();
    let unit = mesh.mass_properties().expect("a closed mesh");
    let mass = unit.denser(TEE[5] / unit.mass);
    let mass = MassProperties { center_of_mass: Vector3::zeros(), ..mass };
    let body = free("tee", mass, vec![rigid(mesh, None, 0)]);
    let model = on_plane(vec![body], FRICTION, ELLIPSOID, GRAVITY);
    let start = at(Vector3::new(0.0, 0.0, 0.5 * TEE[4]), [0.0; 3], 0.0);
    Scene { name: "T-bar", model, start, load: tee_load, duration: 5.0 }
}

/// Length, length of the bar, radius of the ends, radius of the bar (m) and mass (kg) of the dumbbell.
pub const DUMBBELL: [f64; 5] = [0.3, 0.18, 0.1, 0.05, 3.0];

/// A torque that topples the dumbbell, and a push that turns it as it rolls. The paper has them in a figure.
fn dumbbell_load(t: f64) -> (Vector3<f64>, Vector3<f64>) {
    if (0.05..0.35).contains(&t) {
        (Vector3::zeros(), Vector3::new(-3.8, 0.0, 0.0))
    } else if (0.75..1.05).contains(&t) {
        (Vector3::new(4.0, 0.0, 0.0), Vector3::new(0.0, 0.0, 0.9))
    } else {
        (Vector3::zeros(), Vector3::zeros())
    }
}

/// The moments of inertia of the dumbbell about its centre: two disks and a bar of one density.
pub fn dumbbell_mass() -> MassProperties {
    let [length, bar, radius, thin, mass] = DUMBBELL;
    let thickness = 0.5 * (length - bar);
    let (disk, rod) = (radius * radius * thickness, thin * thin * bar);
    let density = mass / (2.0 * disk + rod);
    let (disk, rod) = (disk * density, rod * density);
    let along = disk * radius * radius + 0.5 * rod * thin * thin;
    let arm = 0.5 * (bar + thickness);
    let across = 2.0 * disk * (radius * radius / 4.0 + thickness * thickness / 12.0 + arm * arm)
        + rod * (thin * thin / 4.0 + bar * bar / 12.0);
    let inertia = Matrix3::from_diagonal(&Vector3::new(across, across, along));
    MassProperties { mass, center_of_mass: Vector3::zeros(), inertia }
}

/// §5.3: a dumbbell that stands on one end, topples and rolls.
pub fn dumbbell() -> Scene {
    let [length, _, radius, ..] = DUMBBELL;
    // Its convex hull.
    let hull = Shape::Cylinder { radius, length };
    let mesh = hull.surface_mesh(0.02).expect("a valid shape");
    let body = free("dumbbell", dumbbell_mass(), vec![rigid(mesh, Some(hull), 0)]);
    let model = on_plane(vec![body], FRICTION, ELLIPSOID, GRAVITY);
    let start = at(Vector3::new(0.0, 0.0, 0.5 * length), [0.0; 3], 0.0);
    Scene { name: "dumbbell", model, start, load: dumbbell_load, duration: 2.5 }
}
