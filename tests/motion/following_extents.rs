//! Gradients with respect to vertices whose extents follow them, against differences of models built anew from
//! moved vertices.

use nalgebra::Vector3;

use crate::common::voxels;
use crate::moving_bodies::{compliant, materials};
use isobar::contact::{Collider, ContactModel, ContactSettings};
use isobar::field::{ExtentSource, PressureField, PressureLaw, deep_core};
use isobar::geometry::{Shape, VolumeMesh};
use isobar::multibody::{Body, BodyGeometry, BodyState, MassSource, Model, ModelBuilder, Parameter, State};
use isobar::rollout::{Checkpoints, Loss, Moment, Rollout, SimulationSettings, loss_gradient};
use isobar::scalar::Scalar;
use isobar::spatial::{Quaternion, RigidTransform, SpatialVelocity};
use isobar::step::{Integrator, SolverTolerance, VelocityLevel};

/// Where the brick ends, how it lies and how it moves.
#[derive(Clone, Copy, Debug)]
struct End;

impl Loss for End {
    fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
        let weights = |k: usize| Vector3::from_fn(|i, _| T::from((1.7 * (3 * k + i) as f64 + 0.4).sin()));
        let body = &moment.state.bodies[0];
        let v = body.velocity.translational + body.velocity.rotational.map(|w| w * 0.05);
        (body.orientation.to_matrix() * weights(0)).dot(&weights(1))
            + body.position.dot(&weights(2))
            + v.dot(&weights(3)) * 0.1
    }
}

/// A cube of 4 × 4 × 4 cells with dents: every vertex is moved by up to a twentieth of a cell.
fn dented_cube() -> VolumeMesh {
    let cells: Vec<[i32; 3]> = (0..64).map(|i| [i % 4, i / 4 % 4, i / 16]).collect();
    let (mut mesh, _) = voxels(&cells, 0.02);
    for (i, coordinate) in mesh.vertices.iter_mut().flat_map(|v| v.iter_mut()).enumerate() {
        *coordinate += 1e-3 * (2.3 * i as f64 + 0.1).sin();
    }
    mesh
}

/// The cube, filled with a density, lands tilted on a block of rubber.
fn cube_on_block(mesh: &VolumeMesh, source: &ExtentSource) -> (Model, State) {
    let materials = materials([4e4, 8e4], 1.2);
    let extent = source.extent(mesh).expect("a field");
    let field = PressureField::new(mesh.clone(), extent).expect("a field");
    let cube = BodyGeometry::new(Collider::compliant(field, materials[0].material)).of_material(0);
    let cube = Body::free("cube", MassSource::Density(300.0), vec![cube]).expect("a volume");
    let place = RigidTransform::from_translation([0.0, 0.0, -0.05]);
    let block =
        compliant(&Shape::Box { size: [0.3, 0.25, 0.1] }, 0.3, RigidTransform::identity(), &materials, 1);
    let block = Body::fixed("block", place, vec![block]);
    let contact = ContactSettings { stiction_velocity: 0.02, ..Default::default() };
    let gravity = Vector3::new(0.0, 0.3, -9.81);
    let model = ModelBuilder { bodies: vec![cube, block], materials, gravity, contact, ..Default::default() };
    let start = BodyState {
        orientation: Quaternion::from_wxyz(0.98, 0.12, -0.09, 0.1).normalized(),
        position: Vector3::new(0.01, -0.02, 0.045),
        velocity: SpatialVelocity::new(Vector3::new(0.4, -0.6, 0.3), Vector3::new(0.1, 0.05, -0.4)),
    };
    (model.build().expect("compliant"), State::of_bodies(vec![start]))
}

fn settings() -> [(SimulationSettings, usize); 2] {
    let tolerance = SolverTolerance { relative: 1e-14, max_iterations: 200 };
    let lagged = VelocityLevel { model: ContactModel::Lagged, tolerance };
    [
        (SimulationSettings { integrator: Integrator::SemiImplicitEuler, time_step: 2e-4 }, 8),
        (SimulationSettings { integrator: Integrator::VelocityLevel(lagged), time_step: 1e-3 }, 5),
    ]
}

#[test]
fn gradients_with_following_extents_are_those_of_models_built_anew() {
    let mesh = dented_cube();
    let core = deep_core(&mesh, 0.8).expect("a core");
    let stiff_core = PressureLaw::table(vec![[0.0, 0.0], [0.5, 0.3], [0.7, 0.6], [1.0, 3.0]]).expect("a law");
    let by_law = ExtentSource::Law { of: Box::new(ExtentSource::Distance), law: stiff_core };
    for source in [ExtentSource::Distance, ExtentSource::Laplace { core }, by_law] {
        let (model, initial) = cube_on_block(&mesh, &source);
        for (settings, steps) in settings() {
            let until = steps as f64 * settings.time_step;
            let mut parameters = Parameter::vertices(&model, 0, 0);
            let coordinates = parameters.len();
            parameters.extend(Parameter::extents(&model, 0, 0));
            let rollout = Rollout::new(&model, &initial, settings, until);
            let gradient = loss_gradient(&rollout, &End, &parameters, Checkpoints::All).expect("simulates");
            let (by_vertices, by_extents) = gradient.by_parameters.split_at(coordinates);
            let following = source.vertex_gradient(&mesh, by_vertices, by_extents).expect("its own mesh");

            let loss = |vertex: usize, axis: usize, by: f64| {
                let mut mesh = mesh.clone();
                mesh.vertices[vertex][axis] += by;
                let (model, initial) = cube_on_block(&mesh, &source);
                let states =
                    Rollout::new(&model, &initial, settings, until).simulate().expect("simulates").states;
                let moment = Moment {
                    step: steps,
                    time: until,
                    dt: 0.0,
                    model: &model,
                    state: states.last().expect("the end"),
                    control: &[],
                    contacts: &Default::default(),
                    step_end: None,
                };
                End.terminal(&moment)
            };
            let largest = following.iter().map(Vector3::amax).fold(0.0, f64::max);
            // Those whose part through the extents is largest, inside and on the boundary, and others.
            let through =
                |v: usize| (following[v] - Vector3::from_column_slice(&by_vertices[3 * v..][..3])).norm();
            let mut order: Vec<usize> = (0..mesh.vertices.len()).collect();
            order.sort_by(|&a, &b| through(b).total_cmp(&through(a)));
            let extent = source.extent(&mesh).expect("a field");
            let (inside, boundary): (Vec<usize>, Vec<usize>) = order.iter().partition(|&&v| extent[v] > 0.0);
            let vertices = inside.into_iter().take(3).chain(boundary.into_iter().take(3)).chain([40, 77]);
            for vertex in vertices {
                for axis in 0..3 {
                    let h = 1e-7;
                    let difference = (loss(vertex, axis, h) - loss(vertex, axis, -h)) / (2.0 * h);
                    let error = (difference - following[vertex][axis]).abs() / largest;
                    assert!(error < 1e-6, "{source:?} {:?} {vertex} {axis}: {error:e}", settings.integrator);
                }
            }
            let most = through(order[0]) / largest;
            assert!(most > 0.1, "the extents hardly matter: {most:e}");
        }
    }
}
