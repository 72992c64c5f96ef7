//! Which vertices of an object matter for its grasp: two fingers lift a ball, and the height that it ends
//! at is differentiated with respect to the position of every vertex of its mesh and the extent there, in
//! one sweep backward over the motion.
//!
//!     cargo run --release --example vertex_gradient

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use isobar::contact::{Collider, ContactGeometry};
use isobar::geometry::{Shape, VolumeMesh};
use isobar::io::ProblemFile;
use isobar::multibody::{Model, Parameter, seeded};
use isobar::rollout::{Checkpoints, Controls, Loss, Moment, Rollout, SimulationError, loss_gradient};
use isobar::scalar::Scalar;
use isobar::step::{Integrator, SolverTolerance, VelocityLevel};
use nalgebra::Vector3;
use plotters::prelude::*;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// Radius of the ball in the scene, and the length of the edges of its mesh here, m.
const RADIUS: f64 = 0.035;
const RESOLUTION: f64 = 0.005;
/// Force of each finger, N: some more than holds the ball.
const SQUEEZE: f64 = 1.6;
/// Vertices at which the gradient is compared with differences, the steps of these in m, and how well they have
/// to know a derivative.
const COMPARED: usize = 50;
const STEPS: [f64; 2] = [1e-8, 3e-9];
const KNOWN: f64 = 1e-6;
/// The part of the vertices that is marked.
const MARKED: f64 = 0.01;

/// The height of a body's origin at the end, m.
struct Height {
    free: usize,
}

impl Loss for Height {
    fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
        moment.state.bodies[self.free].position.z
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/grasp_lift");
    let file = ProblemFile::load(folder.join("problem.toml"))?;
    let scene = &file.scene;
    let ball = scene.model.body_index("ball").ok_or("there is no body `ball`")?;
    let model = &with_finer_mesh(&scene.model, ball)?;
    let free = model.moving_index(ball).ok_or("the ball does not move")?;
    // The palm's path is the problem's start; the squeeze is constant.
    let problem = file.problem()?;
    let mut rows = problem.controls(&problem.variables(&file.start)?)?.values().to_vec();
    let dimension = model.actuators().len();
    let squeeze = model.actuators().iter().position(|a| a.name == "squeeze").ok_or("no `squeeze`")?;
    rows.chunks_mut(dimension).for_each(|row| row[squeeze] = SQUEEZE);
    let controls = Controls::from_values(dimension, rows).ok_or("whole rows")?;
    let mut settings = scene.simulation_settings()?;
    if let Integrator::VelocityLevel(VelocityLevel { model, .. }) = settings.integrator {
        // Solved so tightly that differences have little noise.
        let tolerance = SolverTolerance { relative: 1e-13, max_iterations: 200 };
        settings.integrator = Integrator::VelocityLevel(VelocityLevel { model, tolerance });
    }
    let until = controls.steps() as f64 * settings.time_step;
    let rollout = Rollout::new(model, &scene.state, settings, until).with_controls(&controls);
    let loss = Height { free };

    let mut parameters = Parameter::vertices(model, ball, 0);
    let vertices = parameters.len() / 3;
    parameters.extend(Parameter::extents(model, ball, 0));
    let clock = Instant::now();
    let end = rollout.simulate()?.states.pop().ok_or("no states")?;
    let of_rollout = clock.elapsed().as_secs_f64();
    let clock = Instant::now();
    loss_gradient(&rollout, &loss, &[], Checkpoints::All)?;
    let of_none = clock.elapsed().as_secs_f64();
    let clock = Instant::now();
    let gradient = loss_gradient(&rollout, &loss, &parameters, Checkpoints::All)?.by_parameters;
    let of_gradient = clock.elapsed().as_secs_f64();
    let start = scene.state.bodies[free].position.z;
    println!("the ball rises by {:.1} mm", 1e3 * (end.bodies[free].position.z - start));
    println!(
        "{} derivatives, with respect to {vertices} vertices and their extents, in {of_gradient:.2} s: {:.1} times the rollout ({of_rollout:.2} s); {:.1} times without them",
        parameters.len(),
        of_gradient / of_rollout,
        of_none / of_rollout
    );

    // Of vertices that matter, at random.
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut order: Vec<usize> = (0..vertices).filter(|&v| magnitude(&gradient, v) > 0.0).collect();
    order.shuffle(&mut rng);
    let largest = (0..vertices).map(|v| magnitude(&gradient, v)).fold(0.0, f64::max);
    let chosen: Vec<usize> =
        order.iter().take(COMPARED).map(|vertex| 3 * vertex + rng.random_range(0..3)).collect();
    // Central differences over steps of two sizes, as short as rounding allows: faces appear and vanish on the
    // way, and within a longer step more of them do.
    let difference = |&index: &usize| {
        let (parameter, value) = (parameters[index], parameters[index].value(model)?);
        let height = |x: f64| {
            let (model, state) = seeded(model, &scene.state, &[(parameter, x)])?;
            let moved = Rollout::new(&model, &state, settings, until).with_controls(&controls);
            let end = moved.simulate()?.states.pop();
            Ok::<_, SimulationError>(end.map_or(f64::NAN, |end| end.bodies[free].position.z))
        };
        let central =
            |h: f64| Ok::<_, SimulationError>((height(value + h)? - height(value - h)?) / (2.0 * h));
        let [long, short] = STEPS.map(central);
        let (long, short) = (long?, short?);
        Ok::<_, SimulationError>((index, (short, (short - long).abs())))
    };
    let differences = chosen.par_iter().map(difference).collect::<Result<Vec<_>, _>>()?;
    let known = differences.iter().filter(|(_, (_, error))| error / largest <= KNOWN);
    let off = known.clone().map(|(index, (found, _))| (gradient[*index] - found).abs() / largest);
    println!(
        "at {COMPARED} of them, {} of which differences tell to {KNOWN:e} of the largest derivative, the gradient is off by at most {:.1e} of that",
        known.count(),
        off.fold(0.0, f64::max)
    );
    let ContactGeometry::Compliant(field) = &*model.bodies()[ball].geometries[0].collider.geometry else {
        return Err("the ball is not compliant".into());
    };
    draw("vertex_gradient.svg", field.mesh(), &gradient)?;
    println!("vertex_gradient.svg");
    Ok(())
}

/// The model with a finer mesh of the ball, which has a given mass.
fn with_finer_mesh(model: &Model, ball: usize) -> Result<Model, Box<dyn Error>> {
    let mut builder = model.clone().into_builder();
    let collider = &mut builder.bodies[ball].geometries[0].collider;
    *collider = Collider::of_shape(&Shape::Sphere { radius: RADIUS }, RESOLUTION, collider.material)?;
    Ok(builder.build()?)
}

/// The length of the derivative with respect to a vertex's position.
fn magnitude(gradient: &[f64], vertex: usize) -> f64 {
    Vector3::from_column_slice(&gradient[3 * vertex..3 * vertex + 3]).norm()
}

/// Draws the mesh from two sides: its surface by how much the height follows each vertex, and the vertices
/// that matter most as points.
fn draw(path: &str, mesh: &VolumeMesh, gradient: &[f64]) -> Result<(), Box<dyn Error>> {
    const SIZE: i32 = 360;
    let surface = mesh.boundary();
    let by_vertex: Vec<f64> = (0..mesh.vertices.len()).map(|v| magnitude(gradient, v)).collect();
    // The surface has vertices of its own numbers at the same places.
    let index = |v: &Vector3<f64>| mesh.vertices.iter().position(|w| w == v).unwrap_or(0);
    let on_surface: Vec<f64> = surface.vertices.iter().map(|v| by_vertex[index(v)]).collect();
    let largest = by_vertex.iter().copied().fold(0.0, f64::max);
    let mut order: Vec<usize> = (0..by_vertex.len()).collect();
    order.sort_by(|&a, &b| by_vertex[b].total_cmp(&by_vertex[a]));
    let marked = &order[..(MARKED * order.len() as f64).ceil() as usize];
    let reach = mesh.vertices.iter().map(|v| v.norm()).fold(0.0, f64::max);
    let picture = SVGBackend::new(path, (2 * SIZE as u32, SIZE as u32 + 40)).into_drawing_area();
    picture.fill(&WHITE)?;
    // Seen along −y and along −x: the fingers are to the left and the right in one of them.
    let views =
        [(Vector3::x(), Vector3::y(), "from the front"), (-Vector3::y(), Vector3::x(), "from the side")];
    for (number, (right, toward, name)) in views.into_iter().enumerate() {
        let left = SIZE * number as i32;
        let pixel = |v: &Vector3<f64>| {
            let scale = 0.45 * f64::from(SIZE) / reach;
            let (x, y) = (right.dot(v) * scale, v.z * scale);
            (left + SIZE / 2 + x.round() as i32, 30 + SIZE / 2 - y.round() as i32)
        };
        for triangle in 0..surface.triangles.len() {
            let corners = surface.corners(triangle);
            // Of the ball, what is turned to the eye hides nothing.
            if corners.iter().map(|v| -toward.dot(v)).sum::<f64>() < 0.0 {
                continue;
            }
            let mean = surface.triangles[triangle].iter().map(|&k| on_surface[k as usize]).sum::<f64>() / 3.0;
            let part = (mean / largest).clamp(0.0, 1.0);
            // From light grey to dark red.
            let mix = |from: f64, to: f64| (from + (to - from) * part.sqrt()) as u8;
            let color = RGBColor(mix(235.0, 165.0), mix(235.0, 0.0), mix(235.0, 38.0));
            let points: Vec<(i32, i32)> = corners.iter().map(pixel).collect();
            picture.draw(&Polygon::new(points, color.filled()))?;
        }
        for &vertex in marked {
            let v = &mesh.vertices[vertex];
            if -toward.dot(v) >= -1e-9 {
                picture.draw(&Circle::new(pixel(v), 4, RGBColor(0, 114, 178).filled()))?;
            }
        }
        picture.draw(&Text::new(name, (left + 10, 10), ("sans-serif", 16)))?;
    }
    picture.present()?;
    Ok(())
}
