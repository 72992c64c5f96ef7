//! Velocity-level steps against numbers measured with Drake 1.51.1
//! (`tests/reference/drake_steps/discrete_steps.json`: one step of a ball on a fixed box, for
//! four contact models and both representations, with both meshes in full).

use std::collections::BTreeMap;

use isobar::contact::{Collider, ContactModel, ContactSettings, FaceFilter, Material, SurfaceRepresentation};
use isobar::field::PressureField;
use isobar::geometry::VolumeMesh;
use isobar::multibody::{
    Body, BodyGeometry, BodyState, MassProperties, MassSource, Model, ModelBuilder, NamedMaterial, State,
};
use isobar::spatial::{Quaternion, RigidTransform, SpatialVelocity};
use isobar::step::{Integrator, StepProblem, StepWorkspace};
use nalgebra::{Matrix3, Vector3};
use serde::Deserialize;

#[derive(Deserialize)]
struct Mesh {
    vertices: Vec<[f64; 3]>,
    tets: Vec<[u32; 4]>,
    extent: Vec<f64>,
    #[serde(rename = "X_FG")]
    x_fg: [[f64; 4]; 4],
}

#[derive(Deserialize)]
struct Step {
    velocity: String,
    approx: String,
    representation: String,
    dt: f64,
    x0: Vec<f64>,
    x1: Vec<f64>,
    faces: usize,
}

#[derive(Deserialize)]
struct Reference {
    meshes: BTreeMap<String, Mesh>,
    steps: Vec<Step>,
}

fn geometry(mesh: &Mesh, material: usize, materials: &[NamedMaterial]) -> BodyGeometry {
    let x = &mesh.x_fg;
    let rotation = Matrix3::from_fn(|i, k| x[i][k]);
    let vertices = mesh.vertices.iter().map(|&v| Vector3::from(v)).collect();
    let extent = mesh.extent.clone();
    let field = PressureField::new(VolumeMesh { vertices, tetrahedra: mesh.tets.clone() }, extent).unwrap();
    let x_bg = RigidTransform::new(rotation, Vector3::new(x[0][3], x[1][3], x[2][3]));
    let collider = Collider::compliant(field, materials[material].material);
    BodyGeometry::new(collider).at(x_bg).of_material(material)
}

fn model(reference: &Reference, surface: SurfaceRepresentation) -> Model {
    let material = |name: &str, hydroelastic_modulus| NamedMaterial {
        name: name.into(),
        material: Material::new(hydroelastic_modulus, 1.25, 0.5).with_relaxation_time(0.01),
    };
    let moduli = [1e5, 1e6];
    let materials = vec![material("ball", moduli[0]), material("box", moduli[1])];
    let (mass, radius) = (0.5, 0.05);
    let properties = MassProperties {
        mass,
        center_of_mass: Vector3::zeros(),
        inertia: Matrix3::identity() * (0.4 * mass * radius * radius),
    };
    let ball = geometry(&reference.meshes["s"], 0, &materials);
    let ground = geometry(&reference.meshes["box"], 1, &materials);
    let bodies = vec![
        Body::free("ball", MassSource::Given(properties), vec![ball]).unwrap(),
        Body::fixed("box", RigidTransform::identity(), vec![ground]),
    ];
    let settings = ContactSettings {
        surface,
        face_filter: FaceFilter::Drake,
        stiction_velocity: 1e-4,
        ..Default::default()
    };
    ModelBuilder { bodies, materials, contact: settings, ..Default::default() }.build().unwrap()
}

fn state(x: &[f64]) -> State {
    let v = |i: usize| Vector3::new(x[i], x[i + 1], x[i + 2]);
    State::of_bodies(vec![BodyState {
        orientation: Quaternion::from_wxyz(x[0], x[1], x[2], x[3]),
        position: v(4),
        velocity: SpatialVelocity::new(v(7), v(10)),
    }])
}

#[test]
fn steps_are_those_of_drake() {
    let text = include_str!("../reference/drake_steps/discrete_steps.json");
    let reference: Reference = serde_json::from_str(text).unwrap();
    for step in &reference.steps {
        let surface = match step.representation.as_str() {
            "kTriangle" => SurfaceRepresentation::Triangles,
            "kPolygon" => SurfaceRepresentation::Polygons,
            other => panic!("representation {other}"),
        };
        let contact_model = match step.approx.as_str() {
            "kSap" => ContactModel::Sap,
            "kLagged" => ContactModel::Lagged,
            "kSimilar" => ContactModel::Similar,
            "kTamsi" => ContactModel::Tamsi,
            other => panic!("contact model {other}"),
        };
        let model = model(&reference, surface);
        let (before, expected) = (state(&step.x0), state(&step.x1));
        let mut workspace = StepWorkspace::default();
        let integrator = Integrator::velocity_level(contact_model);
        let after = integrator.step(&StepProblem::new(&model, &before, step.dt), &mut workspace).unwrap();
        let (a, b) = (&after.bodies[0].velocity, &expected.bodies[0].velocity);
        let start = &before.bodies[0].velocity;
        let relative = |a: &Vector3<f64>, b: &Vector3<f64>, start: &Vector3<f64>| {
            let change = (b - start).norm();
            // A step without contact turns nothing.
            if change == 0.0 { (a - start).norm() } else { (a - b).norm() / change }
        };
        let error = relative(&a.translational, &b.translational, &start.translational).max(relative(
            &a.rotational,
            &b.rotational,
            &start.rotational,
        ));
        let statistics = workspace.statistics();
        let name = format!("{} {} {}", step.velocity, step.approx, step.representation);
        println!("{name:35} {error:.1e} of the change, {} iterations", statistics.iterations);
        // Drake clips one triangle in two at a vertex in the middle of a straight edge (see the
        // wrenches' test): friction then acts at other points, and SAP regularizes it once more.
        let same_faces = statistics.contacts == step.faces;
        assert!(same_faces || statistics.contacts + 1 == step.faces, "{name}: {}", statistics.contacts);
        let allowed = match contact_model {
            _ if !same_faces => 1e-4,
            // Drake's TAMSI stops at a change of 10⁻⁶ of the slip velocities.
            ContactModel::Tamsi => 1e-5,
            ContactModel::Sap | ContactModel::Lagged | ContactModel::Similar => 1e-6,
            other => panic!("nothing is known of {other:?}"),
        };
        assert!(error <= allowed, "{name}: {error:e}");
        let position = (after.bodies[0].position - expected.bodies[0].position).norm();
        assert!(position <= allowed * step.dt, "{name}: {position:e}");
        let turn: f64 = before.difference(&expected)[..3].iter().map(|x| x * x).sum::<f64>().sqrt();
        let orientation: f64 = after.difference(&expected)[..3].iter().map(|x| x * x).sum::<f64>().sqrt();
        assert!(orientation <= allowed * turn.max(step.dt), "{name}: {orientation:e}");
    }
}
