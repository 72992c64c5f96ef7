//! A spatula between two soft bubbles whose grip loosens and tightens.

use std::f64::consts::FRAC_PI_2;
use std::path::Path;
use std::time::Instant;

use isobar::contact::Collider;
use isobar::field::{PressureField, distance_extent};
use isobar::geometry::VolumeMesh;
use isobar::io::Scene;
use isobar::multibody::{BodyPair, MassProperties, MassSource, Motion, SensorWorkspace};
use isobar::rollout::{Command, KnotInterpolation, KnotValues, Rollout};
use isobar::spatial::rotation_exponential;
use nalgebra::{Matrix3, Vector3};

pub type Failure = Box<dyn std::error::Error>;

/// Grip force in the low and the high phase, N.
pub const FORCE: [f64; 2] = [1.0, 16.0];
/// Period of the square wave, s, and the part of it that is high, first in each period.
pub const PERIOD: f64 = 6.0;
pub const DUTY: f64 = 0.75;
/// The spatula and the left and the right bubble among the bodies of the scene.
const SPATULA: usize = 0;
const BUBBLES: [usize; 2] = [1, 2];

const SCENE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/spatula/scene.toml");

/// The spatula's inertia about its centre of mass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Inertia {
    /// That of Drake's model of this spatula (`spatula_slip_control/models/spatula.sdf`). For its
    /// 68 g it is nearly a thousand times too large, and so the motion is slow.
    Published,
    /// That of 68 g over a handle and a blade of 0.22 m, which the scene has.
    OfItsMass,
}

impl Inertia {
    /// A scene whose spatula has this inertia.
    pub fn applied_to(self, scene: &Scene) -> Result<Scene, Failure> {
        let mut scene = scene.clone();
        let mut model = scene.model.into_builder();
        if let (Self::Published, Motion::Free { source, mass }) = (self, &mut model.bodies[SPATULA].motion) {
            let inertia = Matrix3::from_diagonal(&Vector3::new(0.037, 0.211, 0.189));
            *mass = MassProperties { inertia, ..*mass };
            *source = MassSource::Given(*mass);
        }
        scene.model = model.build()?;
        Ok(scene)
    }
}

/// What is measured at a time.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Time, s.
    pub time: f64,
    /// How far the blade points down, rad.
    pub pitch: f64,
    /// How far the point of the handle that was gripped has moved down, m.
    pub drop: f64,
    /// Grip force that is commanded, N.
    pub commanded: f64,
    /// Force of the left bubble along the grip axis, N, as the pressure at that state.
    pub force: f64,
    /// Area of both patches, m².
    pub area: f64,
    /// Faces of both patches.
    pub faces: usize,
}

/// A simulated motion.
pub struct Run {
    pub samples: Vec<Sample>,
    /// Steps, and how many of them were taken in a second, sensing left out.
    pub steps: usize,
    pub steps_per_second: f64,
}

impl Run {
    /// What was measured last at a time in s.
    pub fn at(&self, time: f64) -> Sample {
        let after = self.samples.partition_point(|s| s.time <= time + 1e-9);
        self.samples[after.max(1) - 1]
    }
}

/// The scene, with ellipsoids as bubbles.
pub fn load() -> Result<Scene, Failure> {
    Ok(Scene::load(SCENE)?)
}

/// Puts the tetrahedral mesh of half an ellipsoid, with its dome to −z, in place of the bubbles'
/// ellipsoids.
pub fn use_bubble_mesh(scene: &mut Scene, path: &Path) -> Result<usize, Failure> {
    let mut model = scene.model.clone().into_builder();
    let mesh = VolumeMesh::read(path)?;
    let tetrahedra = mesh.tetrahedra.len();
    let extent = distance_extent(&mesh)?;
    let field = PressureField::new(mesh, extent)?;
    for (body, angle) in BUBBLES.into_iter().zip([FRAC_PI_2, -FRAC_PI_2]) {
        let bubble = &mut model.bodies[body].geometries[0];
        bubble.collider = Collider::compliant(field.clone(), bubble.collider.material);
        bubble.x_bg.rotation = rotation_exponential(&Vector3::new(angle, 0.0, 0.0));
        bubble.unit_mass = None;
    }
    scene.model = model.build()?;
    Ok(tetrahedra)
}

/// The square wave of the grip force until a time in s.
pub fn square_wave(until: f64) -> Result<Command, Failure> {
    let periods = (until / PERIOD).ceil() as usize;
    let edges = (0..periods).flat_map(|i| {
        let start = i as f64 * PERIOD;
        [(start, FORCE[1]), (start + DUTY * PERIOD, FORCE[0])]
    });
    let (times, values) = edges.filter(|edge| edge.0 < until).unzip();
    Ok(Command::new(KnotInterpolation::ZeroOrderHold, KnotValues { times, values })?)
}

/// Simulates until a time in s.
pub fn run(scene: &Scene, until: f64) -> Result<Run, Failure> {
    let settings = scene.simulation_settings()?;
    let command = square_wave(until)?;
    let start = Instant::now();
    let rollout = Rollout::new(&scene.model, &scene.state, settings, until)
        .with_controls(std::slice::from_ref(&command));
    let trajectory = rollout.simulate()?;
    let seconds = start.elapsed().as_secs_f64();
    let (steps, controls) = (trajectory.times.len() - 1, rollout.control_rows()?);
    let mut workspace = SensorWorkspace::default();
    let mut samples = Vec::new();
    // Every fifth state is enough to draw.
    for (step, state) in trajectory.states.iter().enumerate().step_by(5) {
        let spatula = &state.bodies[SPATULA];
        let along = spatula.orientation.to_matrix().column(0).into_owned();
        let contacts =
            BUBBLES.map(|b| scene.model.pair_contact(state, BodyPair { a: SPATULA, b }, &mut workspace));
        samples.push(Sample {
            time: trajectory.times[step],
            pitch: (-along.z).atan2(along.x),
            drop: -spatula.position.z,
            commanded: controls.row(step.min(steps - 1))[0],
            force: contacts[0].wrench_on_a.translational.y,
            area: contacts.iter().map(|c| c.area).sum(),
            faces: contacts.iter().map(|c| c.faces).sum(),
        });
    }
    Ok(Run { samples, steps, steps_per_second: steps as f64 / seconds })
}
