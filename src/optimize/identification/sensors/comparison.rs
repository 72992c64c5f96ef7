//! What sensors measured beside what a model says: to look at, and as root mean squares.

use super::reading::Reading;
use super::{Recorded, RecordedChannels};
use crate::optimize::identification::root_mean_square;

/// What a channel of a sensor measured, and what a model says.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelPrediction {
    /// The sensor.
    pub sensor: String,
    /// What it measures, and of what.
    pub quantity: String,
    /// The unit of the difference.
    pub unit: &'static str,
    /// Times of the samples, s.
    pub times: Vec<f64>,
    /// Standard deviation of the noise.
    pub sigma: f64,
    /// At each time the numbers that the model says less those measured: one, or along three axes.
    pub differences: Vec<Vec<f64>>,
    /// At each time the number measured, of quantities that are one number.
    pub measured: Option<Vec<f64>>,
}

/// The deviation of a model from a channel of a sensor.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ChannelError {
    /// The sensor.
    pub sensor: String,
    /// What it measures.
    pub quantity: String,
    /// Number of samples.
    pub samples: usize,
    /// Root mean square of the difference.
    pub error: f64,
    /// The unit of the difference.
    pub unit: &'static str,
}

impl From<ChannelPrediction> for ChannelError {
    fn from(channel: ChannelPrediction) -> Self {
        let ChannelPrediction { sensor, quantity, unit, differences, .. } = channel;
        let square = |difference: &Vec<f64>| difference.iter().map(|x| x * x).sum::<f64>();
        let error = root_mean_square(differences.iter().map(square));
        Self { sensor, quantity, samples: differences.len(), error, unit }
    }
}

impl RecordedChannels {
    /// What was measured by each channel, and what the model says.
    pub fn predictions(&self, deviations: Vec<Vec<f64>>) -> Vec<ChannelPrediction> {
        let mut deviations = deviations.into_iter();
        let of_channel = |channel: &Recorded| {
            let (kind, sensor) = (channel.kind, &self.sensors[channel.sensor]);
            let number = |reading: &Reading<f64>| match reading {
                Reading::Vector(vector) => vector.x,
                Reading::Rotation(quaternion) => quaternion.w,
            };
            let is_number = kind.dimension() == 1;
            ChannelPrediction {
                sensor: sensor.name.clone(),
                quantity: sensor.channels[channel.channel].title(),
                unit: kind.unit(),
                times: channel.times.clone(),
                sigma: channel.weight.recip(),
                differences: deviations.by_ref().take(channel.times.len()).collect(),
                measured: is_number.then(|| channel.measured.iter().map(number).collect()),
            }
        };
        self.channels.iter().map(of_channel).collect()
    }
}
