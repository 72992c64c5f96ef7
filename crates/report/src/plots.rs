//! What is plotted of a motion over time.

use super::angles::continued_rpy;
use super::film::{Film, Frame, FrameContact, Pose};
use isobar::contact::contact_energy;
use isobar::multibody::tree::JointKind;
use isobar::multibody::{Body, BodyFrame, GeometryPair, Model, Motion, State, with_pair};
use isobar::parallel::in_parallel;
use isobar::rollout::StepReport;
use isobar::spatial::SpatialVelocity;

/// The plots of a motion.
#[derive(Clone, Debug, Default)]
pub struct Plots {
    /// The time of each value, s.
    pub times: Vec<f64>,
    /// The plots.
    pub plots: Vec<Plot>,
    /// What the steps since the last frame took.
    since: Effort,
    /// Which quantity each plot has, in the order of `plots`.
    quantities: Vec<Quantity>,
}

/// Quantities over time with one unit.
#[derive(Clone, Debug, Default)]
pub struct Plot {
    /// Its title.
    pub title: String,
    /// What its axis says, with the unit.
    pub axis: String,
    /// Whether a value holds from the frame before until its own, as of what is counted between frames.
    pub is_stepwise: bool,
    /// Its curves, each with a value for each time.
    pub series: Vec<Series>,
}

/// A curve.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// A value for each time; not a number where there is none. The energy of pressure fields, which takes
    /// long to compute, is known at some times only.
    pub values: Vec<f64>,
}

/// The most frames at which the energy of pressure fields is computed.
const FIELD_ENERGIES: usize = 50;

/// What a plot has.
#[derive(Clone, Debug, PartialEq)]
enum Quantity {
    /// Position of the free body with this index in a state.
    Position(usize),
    /// Roll, pitch and yaw of the body with this index in a model.
    Orientation(usize),
    /// Speed of each free body.
    Speed,
    /// Coordinates of joints: their indices in a configuration.
    Coordinates(Vec<usize>),
    /// Force, area and largest pressure of each pair.
    Force,
    Area,
    Pressure,
    /// Energies of the motion and of the fields.
    Energy,
    /// Control values of actuators.
    Control,
    /// Iterations of the steps.
    Iterations,
}

/// The effort of the steps between two frames.
#[derive(Clone, Debug, Default)]
pub(super) struct Effort {
    iterations: Option<f64>,
    control: Vec<f64>,
}

/// The coordinates of joints that are angles, or lengths, with their names: indices in a configuration.
fn coordinates(model: &Model, angles: bool) -> Vec<(String, usize)> {
    let joints = model.mechanism().joints_with_coordinates();
    let of_joint = joints.flat_map(|joint| {
        let first = joint.q.start;
        let named = |suffix: &str, k: usize| (format!("{}{suffix}", joint.name), first + k);
        match (&joint.kind, angles) {
            (JointKind::Revolute { .. }, true) | (JointKind::Prismatic { .. }, false) => vec![named("", 0)],
            (JointKind::Planar, true) => vec![named(" angle", 2)],
            (JointKind::Planar, false) => vec![named(" x", 0), named(" y", 1)],
            (JointKind::Free, false) => vec![named(" x", 4), named(" y", 5), named(" z", 6)],
            _ => Vec::new(),
        }
    });
    of_joint.collect()
}

/// Whether a body turns about all axes: a free one, or one that a ball or free joint carries.
fn turns_freely(model: &Model, body: &Body) -> bool {
    let mechanism = model.mechanism();
    match body.motion {
        Motion::Fixed { .. } => false,
        Motion::Free { .. } => true,
        Motion::Link { link } => {
            let joint = mechanism.bodies()[link].joint.map(|joint| &mechanism.joints()[joint]);
            joint.is_some_and(|joint| joint.kind.is_spherical())
        }
    }
}

impl Plots {
    /// Empty plots of a model; `pairs` are the names of the bodies that can touch.
    pub(super) fn new(model: &Model, pairs: &[[String; 2]]) -> Self {
        let mut plots = Self::default();
        let free: Vec<String> = model.free_bodies().map(|(_, body, _)| body.name.clone()).collect();
        for (index, name) in free.iter().enumerate() {
            let axes = ["x", "y", "z"].map(str::to_owned).to_vec();
            plots.push(Quantity::Position(index), format!("Position of {name}"), "position, m", axes);
        }
        for (index, body) in model.bodies().iter().enumerate().filter(|(_, body)| turns_freely(model, body)) {
            let title = format!("Orientation of {}, Rz(yaw) Ry(pitch) Rx(roll)", body.name);
            let names = ["roll", "pitch", "yaw"].map(str::to_owned).to_vec();
            plots.push(Quantity::Orientation(index), title, "angle, rad", names);
        }
        for (angles, title, axis) in
            [(true, "Joint angles", "angle, rad"), (false, "Joint displacements", "displacement, m")]
        {
            let (names, indices) = coordinates(model, angles).into_iter().unzip();
            plots.push(Quantity::Coordinates(indices), title.to_owned(), axis, names);
        }
        plots.push(Quantity::Speed, "Speeds of free bodies".to_owned(), "speed, m/s", free);
        let names: Vec<String> = pairs.iter().map(|[a, b]| format!("{a} – {b}")).collect();
        let (force, area, pressure) = ("Contact forces", "Contact areas", "Largest pressures");
        plots.push(Quantity::Force, force.to_owned(), "force, N", names.clone());
        plots.push(Quantity::Area, area.to_owned(), "area, m²", names.clone());
        plots.push(Quantity::Pressure, pressure.to_owned(), "pressure, Pa", names);
        let energies = ["kinetic and potential", "of the pressure fields", "sum"].map(str::to_owned);
        let moves = model.bodies().iter().any(isobar::multibody::Body::is_moving);
        let energies = if moves { energies.to_vec() } else { Vec::new() };
        plots.push(Quantity::Energy, "Energy".to_owned(), "energy, J", energies);
        plots
    }

    /// Adds a plot, unless it has no curve.
    fn push(&mut self, quantity: Quantity, title: String, axis: &str, names: Vec<String>) {
        if names.is_empty() {
            return;
        }
        let series = names.into_iter().map(|name| Series { name, values: Vec::new() });
        let is_stepwise = matches!(quantity, Quantity::Iterations | Quantity::Control);
        self.plots.push(Plot { title, axis: axis.to_owned(), is_stepwise, series: series.collect() });
        self.quantities.push(quantity);
    }

    /// Notes what a step took.
    pub(super) fn effort(&mut self, step: &StepReport) {
        let Some(taken) = &step.taken else { return };
        if let Some(statistics) = taken.statistics() {
            let iterations = statistics.iterations as f64;
            self.since.iterations = Some(self.since.iterations.map_or(iterations, |n| n.max(iterations)));
            if !self.quantities.contains(&Quantity::Iterations) {
                let names = vec!["most in a step".to_owned()];
                self.push(Quantity::Iterations, "Iterations of the solver".to_owned(), "iterations", names);
            }
        }
        if !taken.control.is_empty() {
            taken.control.clone_into(&mut self.since.control);
            if !self.quantities.contains(&Quantity::Control) {
                let actuators = step.model.actuators();
                let name = |i: usize| actuators.get(i).map_or(format!("value {i}"), |a| a.name.clone());
                let names = (0..taken.control.len()).map(name).collect();
                let axis = "command, unit of the actuator";
                self.push(Quantity::Control, "Commands".to_owned(), axis, names);
            }
        }
    }

    /// What the steps took since this was asked for last.
    pub(super) fn take_effort(&mut self) -> Effort {
        std::mem::take(&mut self.since)
    }

    /// Adds the values of a frame, and what the steps since the frame before took.
    pub(super) fn add(&mut self, model: &Model, state: &State, frame: &Frame, effort: &Effort) {
        self.times.push(frame.time);
        for (quantity, plot) in self.quantities.iter().zip(&mut self.plots) {
            let of_contacts = |value: fn(&FrameContact) -> f64| {
                frame.contacts.iter().map(|contact| contact.as_ref().map_or(0.0, value)).collect()
            };
            let values: Vec<f64> = match quantity {
                Quantity::Position(index) => state.bodies[*index].position.iter().copied().collect(),
                Quantity::Orientation(index) => {
                    let last = |series: &Series| series.values.last().copied().filter(|x| x.is_finite());
                    let last: Option<Vec<f64>> = plot.series.iter().map(last).collect();
                    let before = last.and_then(|angles| <[f64; 3]>::try_from(angles).ok());
                    continued_rpy(&frame.poses[*index].orientation, before).to_vec()
                }
                Quantity::Speed => {
                    state.bodies.iter().map(|body| body.velocity.translational.norm()).collect()
                }
                Quantity::Coordinates(indices) => indices.iter().map(|&i| state.joints.q[i]).collect(),
                Quantity::Force => of_contacts(|contact| contact.on_a.translational.norm()),
                Quantity::Area => of_contacts(|contact| contact.area),
                Quantity::Pressure => of_contacts(|contact| contact.max_pressure),
                // Those of the fields come at the end.
                Quantity::Energy => vec![model.mechanical_energy(state)],
                Quantity::Iterations => vec![effort.iterations.unwrap_or(f64::NAN)],
                Quantity::Control => effort.control.clone(),
            };
            for (k, series) in plot.series.iter_mut().enumerate() {
                series.values.push(values.get(k).copied().unwrap_or(f64::NAN));
            }
        }
    }

    /// Adds the energy of the pressure fields, at frames that are evenly spread over the film.
    pub(super) fn add_field_energies(&mut self, model: &Model, film: &Film, pairs: &[Vec<GeometryPair>]) {
        let Some(index) = self.quantities.iter().position(|quantity| *quantity == Quantity::Energy) else {
            return;
        };
        let [mechanical, stored, sum] = &mut self.plots[index].series[..] else { return };
        let every = film.frames.len().div_ceil(FIELD_ENERGIES).max(1);
        let of_fields = |(i, frame): (usize, &Frame)| {
            let at_rest =
                |pose: &Pose| BodyFrame { pose: pose.transform(), velocity: SpatialVelocity::zero() };
            let frames: Vec<BodyFrame> = frame.poses.iter().map(at_rest).collect();
            let touching = pairs.iter().zip(&frame.contacts).filter(|(_, contact)| contact.is_some());
            let geometries = touching.flat_map(|(pairs, _)| pairs);
            let energy: f64 = geometries.map(|pair| with_pair(model, &frames, pair, contact_energy)).sum();
            // A sum of nothing is −0.
            (i, energy + 0.0)
        };
        for (i, energy) in in_parallel(film.frames.iter().enumerate().step_by(every), of_fields) {
            stored.values[i] = energy;
            sum.values[i] = mechanical.values[i] + energy;
        }
    }
}
