//! How far two states of a model are apart, in metres.

use nalgebra::{Matrix3, Vector3};

use crate::multibody::{Body, BodyFrame, JointKinematics, Model, ModelIdentity, Motion, State};

/// What is borne accelerates along gravity by no more than this part of it,
const FALLS: f64 = 0.3;
/// and in all by no more than this many times gravity.
const BOUNCES: f64 = 1.5;

/// The largest distance of points of bodies between two states: memory that is reused.
#[derive(Debug, Default)]
pub(super) struct Displacement {
    /// For each body the largest distance of its points from its origin.
    radii: Vec<f64>,
    of: Option<ModelIdentity>,
    frames: [Vec<BodyFrame>; 3],
    joints: JointKinematics,
}

impl Displacement {
    /// By how much the points of a body differ at most between two states, m, and the body: the shift of its
    /// origin and its turn; velocities count with what they make in `time` s. Not a number if a
    /// state is not finite.
    pub fn largest(&mut self, model: &Model, states: [&State; 2], time: f64) -> (f64, usize) {
        self.prepare(model);
        let Self { radii, frames, joints, .. } = self;
        for (frames, state) in frames.iter_mut().zip(states) {
            model.update_frames(state, frames, joints);
        }
        let [first, second, _] = &*frames;
        let mut largest = (0.0, 0);
        for (body, ((a, b), radius)) in first.iter().zip(second).zip(&*radii).enumerate() {
            // ‖R_a − R_b‖ is 2 sin(θ/2), and its Frobenius norm √2 times that.
            let turn = (a.pose.rotation - b.pose.rotation).norm() * std::f64::consts::FRAC_1_SQRT_2;
            let shift = (a.pose.translation - b.pose.translation).norm();
            let speed = (a.velocity.translational - b.velocity.translational).norm();
            let spin = (a.velocity.rotational - b.velocity.rotational).norm();
            let sum = shift + radius * turn + time * (speed + radius * spin);
            // Once it is not a number, it stays so.
            if sum > largest.0 || sum.is_nan() {
                largest = (sum, body);
                if sum.is_nan() {
                    break;
                }
            }
        }
        largest
    }

    /// Whether the weights of all bodies are borne during a substep of `length` s between two states: no body falls, bounces
    /// or is thrown.
    pub fn is_borne(&mut self, model: &Model, states: [&State; 2], length: f64) -> bool {
        let Self { frames, joints, .. } = self;
        for (frames, state) in frames.iter_mut().zip(states) {
            model.update_frames(state, frames, joints);
        }
        let [before, after, _] = &*frames;
        let (gravity, down) = (model.gravity.norm() * length, model.gravity.try_normalize(0.0));
        let Some(down) = down else { return false };
        before.iter().zip(after).all(|(a, b)| {
            let change = b.velocity.translational - a.velocity.translational;
            change.dot(&down).abs() <= FALLS * gravity && change.norm() <= BOUNCES * gravity
        })
    }

    /// By how much the velocity of the points of a body changes more in the second half of a step than in its first, at most, m/s,
    /// and the body.
    pub fn bend(&mut self, model: &Model, states: [&State; 3]) -> (f64, usize) {
        self.prepare(model);
        let Self { radii, frames, joints, .. } = self;
        for (frames, state) in frames.iter_mut().zip(states) {
            model.update_frames(state, frames, joints);
        }
        let [before, middle, after] = &*frames;
        let mut largest = (0.0, 0);
        for (body, radius) in radii.iter().enumerate() {
            let [v0, v1, v2] = [before, middle, after].map(|frames| &frames[body].velocity);
            let bend = (v2.translational - v1.translational * 2.0 + v0.translational).norm()
                + radius * (v2.rotational - v1.rotational * 2.0 + v0.rotational).norm();
            if bend > largest.0 {
                largest = (bend, body);
            }
        }
        largest
    }

    /// What the positions of a body's points are rounded to at a state, m, and the body for which that is most.
    pub fn rounding(&mut self, model: &Model, state: &State) -> (f64, usize) {
        self.prepare(model);
        let Self { radii, frames: [frames, ..], joints, .. } = self;
        model.update_frames(state, frames, joints);
        let distances =
            frames.iter().zip(&*radii).map(|(frame, radius)| frame.pose.translation.norm() + radius);
        let moving = distances.enumerate().filter(|(body, _)| mass_of(model, *body).is_finite());
        let (body, farthest) = moving.fold((0, 0.0), |most, at| if at.1 > most.1 { at } else { most });
        (farthest * f64::EPSILON, body)
    }

    fn prepare(&mut self, model: &Model) {
        let identity = model.identity();
        if self.of != Some(identity) {
            self.radii.clear();
            self.radii.extend(model.bodies.iter().map(|body| radius(model, body)));
            self.of = Some(identity);
        }
    }
}

/// The largest distance of a body's geometries from its origin; of a body without any that is bounded its
/// largest radius of gyration.
fn radius(model: &Model, body: &Body) -> f64 {
    let bounded = body.geometries.iter().filter_map(|geometry| {
        let hierarchy = geometry.collider.geometry.hierarchy()?;
        let (middle, _) = hierarchy.bounding_box();
        Some((geometry.x_bg * middle).norm() + hierarchy.span())
    });
    let largest = bounded.fold(0.0, f64::max);
    if largest > 0.0 {
        return largest;
    }
    let (mass, inertia): (f64, Matrix3<f64>) = match &body.motion {
        Motion::Fixed { .. } => return 0.0,
        Motion::Free { mass, .. } => (mass.mass, mass.inertia),
        Motion::Link { link } => match &model.mechanism.bodies()[*link].mass {
            Some(mass) => (mass.mass, mass.inertia),
            None => return 0.0,
        },
    };
    let moments: Vector3<f64> = inertia.diagonal();
    if mass > 0.0 { (moments.max() / mass).max(0.0).sqrt() } else { 0.0 }
}

/// The mass of a body, kg; infinite if it is fixed, 0 if it is carried by joints and has none of its own.
pub(super) fn mass_of(model: &Model, body: usize) -> f64 {
    match &model.bodies[body].motion {
        Motion::Fixed { .. } => f64::INFINITY,
        Motion::Free { mass, .. } => mass.mass,
        Motion::Link { link } => model.mechanism.bodies()[*link].mass.map_or(0.0, |mass| mass.mass),
    }
}
