//! Sensors: what they measure, how well, how late.

use nalgebra::Vector3;
use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::QuantityKind;
use crate::optimize::error::ProblemError;
use crate::optimize::identification::{Loss, LossKind, parameter_path::listed, positive};
use crate::scalar::Scalar;

/// A sensor, `[[sensors]]`: quantities that are measured with the same delay. All recordings have its columns.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sensor {
    /// Its name, for parameters such as `sensors.NAME.delay`.
    pub name: String,
    /// By how much later than the motion its samples are: one with the time t is of the motion at t − delay. Before the
    /// start of a motion a straight line in time continues it.
    #[serde(default)]
    #[schemars(extend("x-unit" = "s"))]
    pub delay: f64,
    /// What it measures, at least one quantity.
    pub channels: Vec<Channel>,
}

/// A quantity that a sensor measures.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// What is measured.
    pub quantity: QuantityKind,
    /// Name of the body, joint or actuator that it is of.
    pub of: String,
    /// For `actuator_force` of an actuator that drives several joints: which.
    pub joint: Option<String>,
    /// Names of its columns. Fields are empty where it was not sampled.
    #[schemars(extend("x-default" = "those in files of `isobar simulate`, such as `ball.px_m` or `left.q`; `NAME.force` of actuators"))]
    pub columns: Option<Vec<String>>,
    /// What one unit of the columns is in SI units: 0.001 for millimetres, 0.0174533 for degrees.
    #[serde(default = "one")]
    pub unit: f64,
    /// Standard deviation of the noise, in SI units; of orientations the angle about each axis, in rad.
    pub sigma: f64,
    /// Length of the residuals of one sample, in standard deviations, from which they count less than squared.
    #[schemars(extend("x-default" = "never"))]
    pub outlier_limit: Option<f64>,
    /// How much those beyond the limit count.
    #[serde(default)]
    pub outlier_loss: LossKind,
    /// What is added to the quantity, in SI units: the zero of an encoder, say. For positions and velocities of bodies
    /// along each axis; of orientations a small rotation vector in the world frame.
    #[serde(default)]
    #[schemars(with = "[f64; 3]", extend("x-default" = "0"))]
    pub offset: [f64; 3],
}

fn one() -> f64 {
    1.0
}

impl Channel {
    /// The names of its columns.
    pub fn column_names(&self) -> Vec<String> {
        let own = || self.quantity.columns().iter().map(|column| format!("{}.{column}", self.of)).collect();
        self.columns.clone().unwrap_or_else(own)
    }

    /// How much large residuals count.
    pub(super) fn loss(&self) -> Loss {
        self.outlier_loss.with_limit(self.outlier_limit)
    }

    /// A name for people.
    pub(super) fn title(&self) -> String {
        let joint = self.joint.as_ref().map_or(String::new(), |joint| format!(" on {joint}"));
        format!("{} of {}{joint}", self.quantity.name().replace('_', " "), self.of)
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
    Offset { channel: usize, component: usize },
}

impl SensorParameter {
    /// The number that `path` is called, `sensors.NAME.delay` or `sensors.NAME.channels[INDEX].offset[COMPONENT]`
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

    /// How delay and offset of a channel, given by the indices of its sensor and of itself, change with it.
    pub(super) fn rates(&self, sensors: &[Sensor], sensor: usize, own: usize) -> Rates {
        let mut rates = Rates::default();
        if sensors[sensor].name == self.sensor {
            match self.number {
                SensorNumber::Delay => rates.delay = 1.0,
                SensorNumber::Offset { channel, component } if channel == own => {
                    rates.offset[component] = 1.0;
                }
                SensorNumber::Offset { .. } => {}
            }
        }
        rates
    }

    /// Its unit.
    pub fn unit(&self, sensors: &[Sensor]) -> &'static str {
        let own = sensors.iter().find(|sensor| sensor.name == self.sensor);
        match self.number {
            SensorNumber::Delay => "s",
            SensorNumber::Offset { channel, .. } => {
                let channel = own.and_then(|sensor| sensor.channels.get(channel));
                channel.map_or("1", |channel| channel.quantity.unit())
            }
        }
    }
}

/// How a channel's delay and offset change with a parameter.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rates {
    pub delay: f64,
    pub offset: [f64; 3],
}

/// Delay and offsets of a sensor, in any scalar.
#[derive(Clone, Debug)]
pub(super) struct SensorNumbers<T> {
    pub delay: T,
    pub offsets: Vec<Vector3<T>>,
}

/// The numbers of all sensors, with those values of parameters that are theirs.
pub(super) fn sensor_numbers<T: Scalar>(
    sensors: &[Sensor],
    values: &[(&SensorParameter, T)],
) -> Vec<SensorNumbers<T>> {
    let of_one = |sensor: &Sensor| {
        let offset = |channel: &Channel| Vector3::from(channel.offset).map(T::from);
        let mut numbers = SensorNumbers {
            delay: T::from(sensor.delay),
            offsets: sensor.channels.iter().map(offset).collect(),
        };
        for (parameter, value) in values.iter().filter(|(parameter, _)| parameter.sensor == sensor.name) {
            match parameter.number {
                SensorNumber::Delay => numbers.delay = *value,
                SensorNumber::Offset { channel, component } => {
                    // A sensor of the same name in another recording may have fewer channels.
                    if let Some(offset) = numbers.offsets.get_mut(channel) {
                        offset[component] = *value;
                    }
                }
            }
        }
        numbers
    };
    sensors.iter().map(of_one).collect()
}
