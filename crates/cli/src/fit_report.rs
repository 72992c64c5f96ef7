//! The result of a fit, for those who read it: programs, people, a page.

use serde::Serialize;

use isobar::optimize::fit::Fit;
use isobar::optimize::identification::{ChannelError, Diagnostics, Identification, MeasurementError};
use isobar::optimize::profile::Profile;
use isobar::optimize::uncertainty::Identifiability;

/// The result of a fit, as printed.
#[derive(Debug, Serialize)]
pub(super) struct FitReport {
    #[serde(flatten)]
    pub fit: Fit,
    /// The unit of each estimate, in order.
    pub units: Vec<&'static str>,
    /// What is known of the states that windows start at.
    #[serde(flatten)]
    pub starts: StartsReport,
    pub measurements_before: Vec<MeasurementError>,
    pub measurements_after: Vec<MeasurementError>,
    /// What the residuals tell of the model.
    pub diagnostics: Diagnostics,
    /// For each parameter that the data do not determine, what would.
    pub what_to_record: Vec<String>,
    /// The mass properties of bodies whose pseudo-inertia was fitted, as a scene has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub masses: Vec<String>,
    /// The profile of each parameter, where they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<Profile>,
}

/// What is known of the states that the simulated windows of recordings start at.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct StartsReport {
    pub windows: usize,
    /// Those whose starts are estimated.
    #[serde(rename = "estimated_starts")]
    pub estimated: usize,
}

impl StartsReport {
    pub fn new(identification: &Identification) -> Self {
        let [estimated, windows] = identification.estimated_starts();
        Self { windows, estimated }
    }
}

/// What is known of a parameter that the data bound from one side only.
pub(super) fn one_sided(verdict: &Identifiability) -> Option<String> {
    match verdict {
        Identifiability::AtLeast { limit } => Some(format!("≥ {limit:.1e}")),
        Identifiability::AtMost { limit } => Some(format!("≤ {limit:.1e}")),
        _ => None,
    }
}

/// The errors of all recordings together; `None` if there are fewer than two.
pub(super) fn overall(measurements: &[MeasurementError]) -> Option<MeasurementError> {
    let (mut count, mut sum, mut squares) = (0, 0, [0.0; 4]);
    for measurement in measurements {
        if let MeasurementError::Motion {
            times,
            position,
            orientation,
            linear_velocity,
            angular_velocity,
            ..
        } = measurement
        {
            count += 1;
            sum += times;
            let all = [position, orientation, linear_velocity, angular_velocity];
            squares.iter_mut().zip(all).for_each(|(square, x)| *square += x * x * *times as f64);
        }
    }
    let [position, orientation, linear_velocity, angular_velocity] =
        squares.map(|square| (square / sum.max(1) as f64).sqrt());
    (count > 1).then(|| MeasurementError::Motion {
        name: format!("all {count} recordings"),
        times: sum,
        position,
        orientation,
        linear_velocity,
        angular_velocity,
    })
}

/// What was compared in a measurement, with units, and its errors.
pub(super) fn measured_quantities(error: &MeasurementError) -> Vec<(String, f64)> {
    match error {
        MeasurementError::Motion { position, orientation, linear_velocity, angular_velocity, .. } => vec![
            ("position, m".to_owned(), *position),
            ("orientation, rad".to_owned(), *orientation),
            ("velocity, m/s".to_owned(), *linear_velocity),
            ("angular velocity, rad/s".to_owned(), *angular_velocity),
        ],
        MeasurementError::Indentation { force, .. } => vec![("force, N".to_owned(), *force)],
        MeasurementError::Sensors { channels, .. } => {
            let of_channel =
                |c: &ChannelError| (format!("{} ({}), {}", c.quantity, c.sensor, c.unit), c.error);
            channels.iter().map(of_channel).collect()
        }
    }
}
