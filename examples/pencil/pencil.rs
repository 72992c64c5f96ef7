//! A pencil that turns in a loosened grip, and the force that makes it turn by an angle.

use isobar::contact::Collider;
use isobar::field::PressureField;
use isobar::geometry::Shape;
use isobar::io::Scene;
use isobar::multibody::BodyState;
use isobar::rollout::{
    ControlKnots, Controls, GaussNewton, KnotInterpolation, KnotMap, Moment, Rollout, SimulationSettings,
    Trajectory, TrajectoryResiduals,
};
use isobar::scalar::Scalar;

pub type Failure = Box<dyn std::error::Error>;

/// The force on each finger while the pencil is held, N.
pub const HOLD: f64 = 4.0;
/// When the grip begins and ends to loosen, and begins and ends to tighten, s.
pub const KNOTS: [f64; 4] = [0.25, 0.3, 0.5, 0.55];
/// The end of the motion, s.
pub const UNTIL: f64 = 1.0;
/// The scene.
pub const SCENE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/pencil/scene.toml");
/// The fingers among the bodies of the scene; the pencil is the first.
const FINGERS: [usize; 2] = [1, 2];

/// How far the pencil's heavy end points down, rad.
pub fn pitch<T: Scalar>(pencil: &BodyState<T>) -> T {
    let along = pencil.orientation.to_matrix().column(0).into_owned();
    (-along.z).atan2(along.x)
}

/// The pitch at the end less the commanded one.
struct PitchError {
    commanded: f64,
}

impl TrajectoryResiduals for PitchError {
    fn terminal<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        residuals.push(pitch(&moment.state.bodies[0]) - self.commanded);
    }
}

/// The scene, and how the grip force loosens and tightens.
pub struct Task {
    pub scene: Scene,
    settings: SimulationSettings,
    map: KnotMap,
}

/// A simulated motion, and how the pitch at its end follows the force of the loose grip.
pub struct Turn {
    /// Force of the loose grip, N.
    pub force: f64,
    pub trajectory: Trajectory,
    /// Pitch at the end, rad.
    pub pitch: f64,
    /// Its derivative with respect to the force, rad/N.
    pub by_force: f64,
}

impl Task {
    pub fn load() -> Result<Self, Failure> {
        let scene = Scene::load(SCENE)?;
        let settings = scene.simulation_settings()?;
        let times = settings.step_times(UNTIL)?;
        let map = ControlKnots::new(KnotInterpolation::Linear, KNOTS.to_vec())?.map(1, &times)?;
        Ok(Self { scene, settings, map })
    }

    /// The same task with hard balls of 2 mm radius in place of the pads: nearly points.
    pub fn with_points(mut self) -> Result<Self, Failure> {
        let radius = 0.002;
        let field = PressureField::of_shape(&Shape::Sphere { radius }, 0.25 * radius)?;
        let mut model = self.scene.model.into_builder();
        for (finger, inward) in FINGERS.into_iter().zip([1.0, -1.0]) {
            let pad = &mut model.bodies[finger].geometries[0];
            pad.collider = Collider::compliant(field.clone(), pad.collider.material);
            if let Some(material) = pad.material {
                model.materials[material].material.hydroelastic_modulus = 4e8;
            }
            // The balls touch where the faces of the pads did.
            pad.x_bg.translation.y = inward * (0.005 - radius);
            pad.unit_mass = None;
        }
        self.scene.model = model.build()?;
        Ok(self)
    }

    /// The grip force of every step with `force` N in the loose grip.
    fn controls(&self, force: f64) -> Controls {
        self.map.controls(&[HOLD, force, force, HOLD])
    }

    fn rollout<'a>(&'a self, controls: &'a Controls) -> Rollout<'a> {
        let Scene { model, state: initial, .. } = &self.scene;
        Rollout::new(model, initial, self.settings, UNTIL).with_controls(controls)
    }

    /// The motion with `force` N in the loose grip.
    pub fn motion(&self, force: f64) -> Result<Trajectory, Failure> {
        Ok(self.rollout(&self.controls(force)).simulate()?)
    }

    /// The motion and the derivative of its last pitch, which takes one sweep backward over the
    /// steps.
    pub fn turn(&self, force: f64) -> Result<Turn, Failure> {
        let controls = self.controls(force);
        let error = PitchError { commanded: 0.0 };
        let gauss_newton = GaussNewton::new(self.rollout(&controls), &error, &[])?;
        // There is one residual, so its weight in the vector–Jacobian product gives its derivatives.
        let by_controls = Controls::from_values(1, gauss_newton.vjp(&[1.0])?);
        let by_knots = self.map.vjp(&by_controls.ok_or("one derivative for each step")?);
        let (trajectory, residuals) = gauss_newton.into_parts();
        Ok(Turn { force, trajectory, pitch: residuals[0], by_force: by_knots[1] + by_knots[2] })
    }

    /// The loose grip that turns the pencil by `commanded` rad, by Gauss–Newton steps from `force`
    /// N, and the turns on the way: the last is within 1e-4 rad.
    ///
    /// A step changes the force by a third at most, and is halved until the error falls: a grip
    /// that holds has no derivative to speak of, and one that drops the pencil has a wrong one.
    pub fn fit(&self, commanded: f64, force: f64) -> Result<Vec<Turn>, Failure> {
        let mut turns = vec![self.turn(force)?];
        for _ in 0..20 {
            let now = &turns[turns.len() - 1];
            let (from, error) = (now.force, now.pitch - commanded);
            if error.abs() < 1e-4 {
                return Ok(turns);
            }
            let mut step = (-error / now.by_force).clamp(-from / 3.0, from / 3.0);
            let next = loop {
                let next = self.turn(from + step)?;
                if (next.pitch - commanded).abs() < error.abs() {
                    break next;
                }
                step *= 0.5;
                if step.abs() < 1e-9 {
                    return Err(format!(
                        "no grip force near {from} N turns the pencil further to {commanded} rad"
                    )
                    .into());
                }
            };
            turns.push(next);
        }
        Err(format!("the pencil's angle is not {commanded} rad after 20 steps").into())
    }
}
