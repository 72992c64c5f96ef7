//! Recording a motion while it is simulated, or from states that are known.

use nalgebra::Vector3;
use rayon::prelude::*;

use super::film::{Film, Frame, FrameContact, FramePolygon, FrameSurface, Pose, single};
use super::plots::{Effort, Plots};
use super::shapes::{film_bodies, fit_half_spaces, give_colors};
use isobar::contact::{PolygonTraction, Workspace, for_each_polygon_traction};
use isobar::io::VisualMesh;
use isobar::multibody::{BodyFrame, GeometryPair, JointKinematics, Model, State, may_touch, with_pair};
use isobar::rollout::StepReport;
use isobar::spatial::SpatialForce;

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
/// Contact surfaces are those of the pressure fields at the poses and velocities of each frame, as
/// [`Model::pair_contact`] has them. They are computed at the end, for all frames in parallel, so that a
/// simulation waits little for its recording. Wrenches are those of the implicit step that led to the frame
/// ([`StepReport::step_forces`]), or those of the fields where there is none, or on request.
///
/// # Examples
/// ```no_run
/// use isobar_report::{Recorder, write_gltf};
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
    has_plots: bool,
    has_forces_of_steps: bool,
    recording: Recording,
    seen: Vec<Seen>,
    frames: Vec<BodyFrame>,
    joints: JointKinematics,
}

/// What is kept of a frame until its contacts are found.
#[derive(Debug)]
struct Seen {
    state: State,
    /// See [`Recorder::set_forces`]; empty for those of the fields.
    forces: Vec<SpatialForce>,
    /// What the steps since the frame before took.
    effort: Effort,
}

impl<'m> Recorder<'m> {
    /// A recorder that takes a frame every `interval` seconds, at the first step at or after that time.
    pub fn new(model: &'m Model, interval: f64) -> Self {
        let name = |body: usize| model.bodies()[body].name.clone();
        let pairs: Vec<Vec<GeometryPair>> = model.pairs_by_bodies().map(<[GeometryPair]>::to_vec).collect();
        let names = pairs.iter().map(|pairs| [name(pairs[0].bodies.a), name(pairs[0].bodies.b)]).collect();
        let film = Film { bodies: film_bodies(model), pairs: names, frames: Vec::new() };
        let plots = Plots::new(model, &film.pairs);
        Self {
            model,
            interval,
            due: f64::NEG_INFINITY,
            pairs,
            has_plots: true,
            has_forces_of_steps: true,
            recording: Recording { film, plots },
            seen: Vec::new(),
            frames: Vec::new(),
            joints: JointKinematics::default(),
        }
    }

    /// The same recorder, which leaves out the plots.
    #[must_use]
    pub fn without_plots(mut self) -> Self {
        self.has_plots = false;
        self.recording.plots = Plots::default();
        self
    }

    /// The same recorder, which shows the forces of the fields after implicit steps too.
    #[must_use]
    pub fn with_forces_of_states(mut self) -> Self {
        self.has_forces_of_steps = false;
        self
    }

    /// The same recorder, which also shows meshes that are only drawn, as [`isobar::Scene::visual_meshes`] reads
    /// them; those of bodies that the model does not have are left out.
    #[must_use]
    pub fn with_visuals(mut self, meshes: Vec<VisualMesh>) -> Self {
        for VisualMesh { body: name, surface } in meshes {
            let bodies = &mut self.recording.film.bodies;
            if let Some(body) = bodies.iter_mut().find(|body| body.name == name) {
                body.add_visual(surface);
            }
        }
        self
    }

    /// Looks at a step of a simulation: takes a frame if it is due, and always of the last state.
    pub fn look(&mut self, step: &StepReport) {
        if self.has_plots {
            self.recording.plots.effort(step);
        }
        // A step may end a rounding error before the time of its frame.
        let is_due = step.time >= self.due - 1e-9 * self.interval;
        if is_due || step.steps == step.all_steps {
            self.add(step.time, step.state);
            if self.has_forces_of_steps
                && let Some(forces) = step.step_forces()
            {
                self.set_forces(&forces);
            }
            self.due = ((step.time / self.interval + 1e-9).floor() + 1.0) * self.interval;
        }
    }

    /// Gives the last frame these forces of contact instead of those of the fields: for each two bodies in
    /// [`Model::pairs_by_bodies`] the wrench on A about its origin, in W, N and N m, as [`StepReport::step_forces`] has
    /// them.
    pub fn set_forces(&mut self, on_a: &[SpatialForce]) {
        if let Some(seen) = self.seen.last_mut() {
            seen.forces = on_a.to_vec();
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
        let (contacts, surface) = (Vec::new(), FrameSurface::default());
        self.recording.film.frames.push(Frame { time, poses, contacts, surface });
        let effort = self.recording.plots.take_effort();
        self.seen.push(Seen { state: state.clone(), forces: Vec::new(), effort });
    }

    /// Finds the contacts of all frames.
    fn find_contacts(&mut self) {
        let Self { model, pairs, seen, recording, .. } = self;
        let scratch = || (Vec::new(), JointKinematics::default(), Workspace::default());
        let frames = recording.film.frames.par_iter_mut().zip(seen.par_iter());
        frames.for_each_init(scratch, |(frames, joints, workspace), (frame, Seen { state, forces, .. })| {
            model.update_frames(state, frames, joints);
            let of_pair =
                |(i, pairs): (usize, &Vec<_>)| frame.surface.add(model, frames, i as u32, pairs, workspace);
            frame.contacts = pairs.iter().enumerate().map(of_pair).collect();
            for (contact, (on_a, pairs)) in frame.contacts.iter_mut().zip(forces.iter().zip(&*pairs)) {
                let origin = frames[pairs[0].bodies.a].pose.translation;
                let square = on_a.translational.norm_squared();
                if contact.is_none() && square > 0.0 {
                    // They parted in the step. The force is shown on the axis of its wrench, where that is nearest.
                    let centroid = origin + on_a.translational.cross(&on_a.rotational) / square;
                    *contact = Some(FrameContact { centroid, on_a: *on_a, area: 0.0, max_pressure: 0.0 });
                }
                if let Some(contact) = contact {
                    contact.on_a = on_a.shifted(&(contact.centroid - origin));
                }
            }
        });
    }

    /// What was recorded.
    pub fn finish(mut self) -> Recording {
        self.find_contacts();
        let mut recording = self.recording;
        if self.has_plots {
            for (frame, Seen { state, effort, .. }) in recording.film.frames.iter().zip(&self.seen) {
                recording.plots.add(self.model, state, frame, effort);
            }
            recording.plots.add_field_energies(self.model, &recording.film, &self.pairs);
        }
        let film = &mut recording.film;
        give_colors(&mut film.bodies);
        let bounds = film.bounds();
        if let Some(first) = film.frames.first() {
            for (body, pose) in film.bodies.iter_mut().zip(&first.poses) {
                fit_half_spaces(body, &pose.transform(), bounds.as_ref());
            }
        }
        recording
    }
}

impl FrameSurface {
    /// Adds the contact surface of two bodies, whose pairs of geometries are given. `index` is the index
    /// of the two in the film.
    #[doc(hidden)]
    pub fn add(
        &mut self,
        model: &Model,
        frames: &[BodyFrame],
        index: u32,
        pairs: &[GeometryPair],
        workspace: &mut Workspace,
    ) -> Option<FrameContact> {
        let (mut area, mut moment, mut max_pressure) = (0.0, Vector3::zeros(), 0.0_f64);
        let mut on_a = SpatialForce::zero();
        for pair in pairs.iter().filter(|pair| may_touch(model, frames, pair)) {
            with_pair(model, frames, pair, |query| {
                for_each_polygon_traction(query, model.contact(), workspace, |polygon, traction| {
                    let PolygonTraction { centroid, area: a, on_a: t, slip, moment_on_a, .. } = traction;
                    area += a;
                    moment += centroid * *a;
                    let force = t * *a;
                    on_a += SpatialForce::new(moment_on_a + centroid.cross(&force), force);
                    for (vertex, &pressure) in polygon.vertices.iter().zip(polygon.pressures) {
                        max_pressure = max_pressure.max(pressure);
                        self.vertices.push(single(vertex));
                        self.pressures.push(pressure as f32);
                    }
                    self.polygons.push(FramePolygon {
                        pair: index,
                        vertices: polygon.vertices.len() as u8,
                        area: *a as f32,
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use isobar::io::Scene;
    use isobar::multibody::PairWorkspace;
    use isobar::rollout::Rollout;
    use isobar::step::{Integrator, VelocityLevel};

    const THROWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/fit_ball/scene.toml");

    #[test]
    fn frames_come_when_they_are_due_and_have_the_contact_of_the_fields() {
        let scene = Scene::load(THROWN).unwrap();
        let (explicit, mut implicit) = (scene.rollout(0.0501).unwrap(), scene.rollout(0.0501).unwrap());
        implicit.settings.integrator = Integrator::VelocityLevel(VelocityLevel::default());
        [explicit, implicit].iter().for_each(check_frames);
    }

    fn check_frames(rollout: &Rollout<'_>) {
        let model = rollout.model;
        let mut recorder = Recorder::new(model, 0.01);
        let mut of_steps = Vec::new();
        let look = |step: &StepReport| {
            recorder.look(step);
            of_steps.push(step.step_forces());
        };
        rollout.for_each(look).unwrap();
        assert_eq!(recorder.last_time(), Some(0.0501));
        let Recording { film, plots } = recorder.finish();
        let times: Vec<f64> = film.frames.iter().map(|frame| frame.time).collect();
        let expected = [0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.0501];
        assert_relative_eq!(times[..], expected[..], epsilon = 1e-12);
        assert_eq!(plots.times, times);
        // The same contact as asked for by itself, at the state of a frame.
        let until = rollout.simulate().unwrap();
        let index = until.times.iter().position(|&time| (time - 0.03).abs() < 1e-9).unwrap();
        let mut frames = Vec::new();
        model.body_frames(&until.states[index], &mut frames);
        let pairs = model.pairs();
        let contact = model.body_pair_contact(&frames, pairs, &mut PairWorkspace::default());
        let seen = film.frames[3].contacts[0].expect("they touch");
        assert_relative_eq!(seen.area, contact.area, max_relative = 1e-12);
        assert_relative_eq!(seen.max_pressure, contact.max_pressure, max_relative = 1e-9);
        assert_relative_eq!(seen.centroid, contact.centroid.unwrap(), epsilon = 1e-12);
        // Its wrench is that of the step, or without one that of the fields.
        let origin = frames[pairs[0].bodies.a].pose.translation;
        let of_step = of_steps[index].as_ref().map(|of_pairs| of_pairs[0]);
        let on_a = of_step.unwrap_or(contact.wrench_on_a).shifted(&(seen.centroid - origin));
        assert_relative_eq!(seen.on_a.translational, on_a.translational, max_relative = 1e-10);
        assert_relative_eq!(seen.on_a.rotational, on_a.rotational, epsilon = 1e-12);
        // The energy that plots show is that of the state.
        let energy = plots.plots.iter().find(|plot| plot.title == "Energy").unwrap();
        let mechanical = model.mechanical_energy(&until.states[index]);
        assert_eq!(energy.series[0].values[3], mechanical);
        let stored = model.body_pair_energy(&frames, pairs);
        assert_relative_eq!(energy.series[1].values[3], stored, max_relative = 1e-6);
        assert!(plots.plots.iter().all(|plot| plot.series.iter().all(|s| s.values.len() == times.len())));
    }

    #[test]
    fn quaternions_take_the_short_way_and_half_spaces_lie_below() {
        let scene = Scene::load(THROWN).unwrap();
        let mut recorder = Recorder::new(&scene.model, 1.0);
        let mut state = scene.state.clone();
        for i in 0..40 {
            let turn = isobar::spatial::rotation_exponential(&Vector3::new(0.0, 0.3 * f64::from(i), 0.0));
            state.bodies[0].orientation = isobar::spatial::Quaternion::from_matrix(&turn);
            recorder.add(f64::from(i), &state);
        }
        let film = recorder.finish().film;
        for pair in film.frames.windows(2) {
            let [p, q] = [&pair[0], &pair[1]].map(|frame| frame.poses[0].orientation);
            assert!(p.w * q.w + p.v.dot(&q.v) > 0.9);
        }
        let bounds = film.bounds().unwrap();
        let table = &film.bodies[1].parts[0].surface;
        assert!(table.vertices.iter().all(|v| v.z == 0.0));
        let reach = table.vertices.iter().map(|v| v.x).fold(0.0, f64::max);
        assert!(reach > bounds.high.x && reach < 10.0 * bounds.high.x);
    }
}
