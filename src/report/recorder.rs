//! Recording a motion while it is simulated, or from states that are known.

use super::film::{Film, Frame, FrameContact, FramePolygon, FrameSurface, Pose, single};
use super::plots::Plots;
use super::shapes::{film_bodies, fit_half_spaces};
use crate::contact::{PolygonTraction, Workspace, for_each_polygon_traction};
use crate::multibody::{BodyFrame, GeometryPair, JointKinematics, Model, State, with_pair};
use crate::rollout::StepReport;
use crate::spatial::SpatialForce;

/// A film of a motion, and the plots that belong to it.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// What is seen.
    pub film: Film,
    /// What is plotted over time.
    pub plots: Plots,
}

/// An observer that records what it sees.
///
/// Contact surfaces and wrenches are those of the pressure fields at the poses and velocities of each
/// frame, as [`Model::pair_contact`] has them.
///
/// # Examples
/// ```no_run
/// use isobar::report::{Recorder, write_gltf};
///
/// let scene = isobar::Scene::load("examples/fit_ball/scene.toml")?;
/// let mut recorder = Recorder::new(&scene.model, 0.01);
/// scene.rollout(0.5)?.for_each(|step| recorder.look(step))?;
/// write_gltf("ball.glb".as_ref(), &recorder.finish().film)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Recorder<'m> {
    model: &'m Model,
    /// Time between frames, s.
    interval: f64,
    /// The time from which on the next frame is due.
    due: f64,
    pairs: Vec<Vec<GeometryPair>>,
    recording: Recording,
    frames: Vec<BodyFrame>,
    joints: JointKinematics,
    workspace: Workspace,
}

impl<'m> Recorder<'m> {
    /// A recorder that takes a frame every `interval` seconds, at the first step at or after that time.
    pub fn new(model: &'m Model, interval: f64) -> Self {
        let name = |body: usize| model.bodies()[body].name.clone();
        // They are in increasing order: those of two bodies follow each other.
        let pairs: Vec<Vec<GeometryPair>> =
            model.pairs().chunk_by(|p, q| p.bodies == q.bodies).map(<[GeometryPair]>::to_vec).collect();
        let names = pairs.iter().map(|pairs| [name(pairs[0].bodies.a), name(pairs[0].bodies.b)]).collect();
        let film = Film { bodies: film_bodies(model), pairs: names, frames: Vec::new() };
        let plots = Plots::new(model, &film.pairs);
        Self {
            model,
            interval,
            due: f64::NEG_INFINITY,
            pairs,
            recording: Recording { film, plots },
            frames: Vec::new(),
            joints: JointKinematics::default(),
            workspace: Workspace::default(),
        }
    }

    /// Looks at a step of a simulation: takes a frame if it is due, and always of the last state.
    pub fn look(&mut self, step: &StepReport) {
        self.recording.plots.effort(step);
        // A step may end a rounding error before the time of its frame.
        let is_due = step.time >= self.due - 1e-9 * self.interval;
        if is_due || step.steps == step.all_steps {
            self.add(step.time, step.state);
            self.due = ((step.time / self.interval + 1e-9).floor() + 1.0) * self.interval;
        }
    }

    /// The time of the last frame, s.
    pub fn last_time(&self) -> Option<f64> {
        self.recording.film.frames.last().map(|frame| frame.time)
    }

    /// Takes a frame of a state. Times must increase.
    ///
    /// # Panics
    /// When the state does not belong to the model.
    pub fn add(&mut self, time: f64, state: &State) {
        self.model.update_frames(state, &mut self.frames, &mut self.joints);
        let before = self.recording.film.frames.last();
        let pose = |(i, frame): (usize, &BodyFrame)| Pose::near(&frame.pose, before.map(|b| &b.poses[i]));
        let poses = self.frames.iter().enumerate().map(pose).collect();
        let mut surface = FrameSurface::default();
        let contacts = (0..self.pairs.len()).map(|pair| self.contact(pair, &mut surface)).collect();
        let frame = Frame { time, poses, contacts, surface };
        self.recording.plots.add(self.model, state, &self.frames, &frame, &self.pairs);
        self.recording.film.frames.push(frame);
    }

    /// The contact of a pair of bodies, and its surface.
    fn contact(&mut self, index: usize, surface: &mut FrameSurface) -> Option<FrameContact> {
        let Self { model, pairs, frames, workspace, .. } = self;
        let (mut area, mut moment, mut max_pressure) = (0.0, nalgebra::Vector3::zeros(), 0.0_f64);
        let mut on_a = SpatialForce::zero();
        for pair in &pairs[index] {
            with_pair(model, frames, pair, |query| {
                for_each_polygon_traction(query, model.contact(), workspace, |polygon, traction| {
                    let PolygonTraction { centroid, area: a, on_a: t, slip, .. } = traction;
                    area += a;
                    moment += centroid * *a;
                    on_a += SpatialForce::new(centroid.cross(t), *t) * *a;
                    for (vertex, &pressure) in polygon.vertices.iter().zip(polygon.pressures) {
                        max_pressure = max_pressure.max(pressure);
                        surface.vertices.push(single(vertex));
                        surface.pressures.push(pressure as f32);
                    }
                    surface.polygons.push(FramePolygon {
                        pair: index as u32,
                        vertices: polygon.vertices.len() as u8,
                        traction_on_a: single(t),
                        slip: single(slip),
                    });
                });
            });
        }
        (area > 0.0).then(|| {
            let centroid = moment / area;
            FrameContact { centroid, on_a: on_a.shifted(&centroid), area, max_pressure }
        })
    }

    /// What was recorded.
    pub fn finish(self) -> Recording {
        let mut recording = self.recording;
        let film = &mut recording.film;
        let bounds = film.bounds();
        if let Some(first) = film.frames.first() {
            for (body, pose) in film.bodies.iter_mut().zip(&first.poses) {
                fit_half_spaces(body, &pose.transform(), bounds.as_ref());
            }
        }
        recording
    }
}
