//! Sensors: what they measure, how well, how late.

use nalgebra::Vector3;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use super::kind::{ForcesOf, QuantityKind};
use super::reading::{Reading, SensorPose};
#[cfg(test)]
use crate::optimize::data::GivenUnit;
use crate::optimize::data::{si, unit};
use crate::optimize::error::ProblemError;
use crate::optimize::identification::{Loss, LossKind, parameter_path::listed, positive};
use crate::scalar::Scalar;

/// A sensor, `[[sensors]]`: quantities that are measured with the same delay. All recordings have its columns.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sensor {
    /// Its name, for parameters such as `sensors.NAME.delay`.
    pub name: String,
    /// By how much later than the motion its samples are: one with the time t is of the motion at t − delay. Before the
    /// start of a motion a straight line in time continues it.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-unit" = "s")))]
    pub delay: f64,
    /// Where its origin is in the world, for positions that it measures from there.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "[f64; 3]", extend("x-unit" = "m", "x-default" = "[0, 0, 0]")))]
    pub position: [f64; 3],
    /// The rotation vector that turns its axes from those of the world: what it measures along axes, positions,
    /// orientations, velocities and forces, is along its own.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "[f64; 3]", extend("x-unit" = "rad", "x-default" = "[0, 0, 0]")))]
    pub rotation: [f64; 3],
    /// What it measures, at least one quantity.
    pub channels: Vec<Channel>,
}

/// A quantity that a sensor measures.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// What is measured.
    pub quantity: QuantityKind,
    /// Name of the body, joint or actuator that it is of.
    pub of: String,
    /// Of contact: the name of the other body.
    #[cfg_attr(test, schemars(extend("x-default" = "all that it touches")))]
    pub by: Option<String>,
    /// Of `contact_force` and `contact_torque`: of what.
    #[serde(default)]
    pub forces: ForcesOf,
    /// For `actuator_force` of an actuator that drives several joints: which.
    pub joint: Option<String>,
    /// Names of its columns. Fields are empty where it was not sampled.
    #[cfg_attr(test, schemars(extend("x-default" = "those in files of `isobar simulate`, such as `ball.px_m`, `left.q` or `ball-table.fx_N`; `NAME.force` of actuators, `ball-table.grip_N`, `ball-table.area_m2`")))]
    pub columns: Option<Vec<String>>,
    /// What one unit of the columns is in SI units: a number, or a name such as `"mm"`, `"deg"`, `"ms"` or `"gf"`.
    #[serde(default = "si", deserialize_with = "unit")]
    #[cfg_attr(test, schemars(with = "GivenUnit"))]
    pub unit: f64,
    /// Standard deviation of the noise, in SI units; of orientations the angle about each axis, in rad.
    pub sigma: f64,
    /// Length of the residuals of one sample, in standard deviations, from which they count less than squared.
    #[cfg_attr(test, schemars(extend("x-default" = "never")))]
    pub outlier_limit: Option<f64>,
    /// How much those beyond the limit count.
    #[serde(default)]
    pub outlier_loss: LossKind,
    /// What is added to the quantity, in SI units: the zero of an encoder, say. For positions and velocities of bodies
    /// along each axis; of orientations a small rotation vector in the world frame.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "[f64; 3]", extend("x-default" = "0")))]
    pub offset: [f64; 3],
}

impl Channel {
    /// The names of its columns.
    pub fn column_names(&self) -> Vec<String> {
        let of = self.by.as_ref().map_or_else(|| self.of.clone(), |by| format!("{}-{by}", self.of));
        let own = || self.quantity.columns().iter().map(|column| format!("{of}.{column}")).collect();
        self.columns.clone().unwrap_or_else(own)
    }

    /// How much large residuals count.
    pub(super) fn loss(&self) -> Loss {
        self.outlier_loss.with_limit(self.outlier_limit)
    }

    /// A name for people.
    pub(super) fn title(&self) -> String {
        let joint = self.joint.as_ref().map_or(String::new(), |joint| format!(" on {joint}"));
        let (quantity, of) = (self.quantity.name().replace('_', " "), &self.of);
        match (&self.by, self.quantity.is_of_contact()) {
            (Some(by), _) => format!("{quantity} on {of} by {by}"),
            (None, true) => format!("{quantity} on {of}"),
            (None, false) => format!("{quantity} of {of}{joint}"),
        }
    }
}

impl Sensor {
    /// Checks its numbers.
    ///
    /// # Errors
    /// A number out of its range, or columns that are not as many as the quantity has.
    pub(super) fn check(&self) -> Result<(), ProblemError> {
        let setting = |field, found: String, allowed| ProblemError::Setting { field, found, allowed };
        if !self.delay.is_finite() {
            return Err(setting("delay", self.delay.to_string(), "finite"));
        }
        for (field, vector) in [("position", self.position), ("rotation", self.rotation)] {
            if vector.iter().any(|x| !x.is_finite()) {
                return Err(setting(field, format!("{vector:?}"), "finite"));
            }
        }
        if self.channels.is_empty() {
            return Err(setting("channels", "empty".to_owned(), "one quantity at least"));
        }
        for channel in &self.channels {
            positive("sigma", channel.sigma)?;
            channel.loss().check()?;
            if !(channel.sigma.is_finite() && channel.unit.is_finite()) || channel.unit == 0.0 {
                return Err(setting("unit", channel.unit.to_string(), "finite and not 0, as is `sigma`"));
            }
            if channel.offset.iter().any(|offset| !offset.is_finite()) {
                return Err(setting("offset", format!("{:?}", channel.offset), "finite"));
            }
            if channel.forces != ForcesOf::default() && !channel.quantity.is_of_step_or_state() {
                let found = format!("\"state\" with `{}`", channel.quantity.name());
                return Err(setting(
                    "forces",
                    found,
                    "left out of all but `contact_force` and `contact_torque`",
                ));
            }
            let (found, expected) = (channel.column_names().len(), channel.quantity.columns());
            if found != expected.len() {
                let quantity = channel.quantity.name();
                return Err(ProblemError::Columns { quantity, found, expected: expected.join(", ") });
            }
        }
        Ok(())
    }
}

/// A number of a sensor that a fit may find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::optimize::identification) struct SensorParameter {
    sensor: String,
    number: SensorNumber,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SensorNumber {
    Delay,
    /// Of its position, then of its rotation.
    Pose {
        index: usize,
    },
    Offset {
        channel: usize,
        component: usize,
    },
}

impl SensorParameter {
    /// The number that `path` is called, `sensors.NAME.delay`, `sensors.NAME.position[AXIS]`,
    /// `sensors.NAME.rotation[AXIS]` or `sensors.NAME.channels[INDEX].offset[COMPONENT]`
    /// (without a component where there is one).
    ///
    /// # Errors
    /// When there is no such sensor or number.
    pub fn named(sensors: &[Sensor], path: &str) -> Result<Self, ProblemError> {
        let form = || ProblemError::Path { path: path.to_owned() };
        let rest = path.strip_prefix("sensors.").ok_or_else(form)?;
        let no_such = |name: &str| ProblemError::NoSuchName {
            path: path.to_owned(),
            kind: "sensor",
            name: name.to_owned(),
            found: listed(sensors.iter().map(|sensor| sensor.name.as_str())),
        };
        let find =
            |name: &str| sensors.iter().find(|sensor| sensor.name == name).ok_or_else(|| no_such(name));
        if let Some(name) = rest.strip_suffix(".delay") {
            return Ok(Self { sensor: find(name)?.name.clone(), number: SensorNumber::Delay });
        }
        for (first, part) in [(0, ".position["), (3, ".rotation[")] {
            if let Some((name, axis)) = rest.rsplit_once(part) {
                let axis = axis.strip_suffix(']').and_then(|axis| axis.parse::<usize>().ok());
                let index = first + axis.filter(|axis| *axis < 3).ok_or_else(form)?;
                return Ok(Self { sensor: find(name)?.name.clone(), number: SensorNumber::Pose { index } });
            }
        }
        let (name, place) = rest.rsplit_once(".channels[").ok_or_else(form)?;
        let sensor = find(name)?;
        let (channel, component) = place.split_once("].offset").ok_or_else(form)?;
        let channel: usize = channel.parse().map_err(|_| form())?;
        let component = match component {
            "" => 0,
            component => {
                let inner = component.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
                inner.and_then(|text| text.parse().ok()).ok_or_else(form)?
            }
        };
        let dimension = sensor.channels.get(channel).map_or(0, |channel| channel.quantity.dimension());
        if component >= dimension {
            return Err(ProblemError::NoSuchField {
                path: path.to_owned(),
                field: format!("channels[{place}"),
                allowed: "those of its channels and their components, counted from 0",
            });
        }
        Ok(Self { sensor: sensor.name.clone(), number: SensorNumber::Offset { channel, component } })
    }

    /// Its unit.
    pub fn unit(&self, sensors: &[Sensor]) -> &'static str {
        let own = sensors.iter().find(|sensor| sensor.name == self.sensor);
        match self.number {
            SensorNumber::Delay => "s",
            SensorNumber::Pose { index } => ["m", "rad"][index / 3],
            SensorNumber::Offset { channel, .. } => {
                let channel = own.and_then(|sensor| sensor.channels.get(channel));
                channel.map_or("1", |channel| channel.quantity.unit())
            }
        }
    }
}

/// Delay, pose and offsets of a sensor, in any scalar.
#[derive(Clone, Debug)]
pub(super) struct SensorNumbers<T> {
    pub delay: T,
    /// `None` of a sensor that measures in the world.
    pub pose: Option<SensorPose<T>>,
    pub offsets: Vec<Vector3<T>>,
}

impl<T: Scalar> SensorNumbers<T> {
    /// What was measured of a quantity, in the world.
    pub fn in_world(&self, kind: QuantityKind, measured: &Reading<f64>) -> Reading<T> {
        let measured = Reading::lift(measured);
        self.pose.as_ref().map_or(measured, |pose| measured.in_world(kind, pose))
    }
}

/// The numbers of all sensors, with those values of parameters that are theirs.
pub(super) fn sensor_numbers<T: Scalar>(
    sensors: &[Sensor],
    values: &[(&SensorParameter, T)],
) -> Vec<SensorNumbers<T>> {
    let of_one = |sensor: &Sensor| {
        let offset = |channel: &Channel| Vector3::from(channel.offset).map(T::from);
        let vector = |x: [f64; 3]| Vector3::from(x).map(T::from);
        let is_moved = sensor.position.iter().chain(&sensor.rotation).any(|x| *x != 0.0);
        let mut pose = SensorPose { position: vector(sensor.position), rotation: vector(sensor.rotation) };
        let mut is_found = false;
        let mut numbers = SensorNumbers {
            delay: T::from(sensor.delay),
            pose: None,
            offsets: sensor.channels.iter().map(offset).collect(),
        };
        for (parameter, value) in values.iter().filter(|(parameter, _)| parameter.sensor == sensor.name) {
            match parameter.number {
                SensorNumber::Delay => numbers.delay = *value,
                SensorNumber::Pose { index } => {
                    is_found = true;
                    let part = if index < 3 { &mut pose.position } else { &mut pose.rotation };
                    part[index % 3] = *value;
                }
                SensorNumber::Offset { channel, component } => {
                    // A sensor of the same name in another recording may have fewer channels.
                    if let Some(offset) = numbers.offsets.get_mut(channel) {
                        offset[component] = *value;
                    }
                }
            }
        }
        numbers.pose = (is_moved || is_found).then_some(pose);
        numbers
    };
    sensors.iter().map(of_one).collect()
}
