//! Plots of a fit: what was measured beside what the model says, and the residuals beside what noise explains.

use std::path::Path;

use nalgebra::Vector3;

use isobar::multibody::{BodyState, rotation_between};
use isobar::optimize::identification::{ChannelPrediction, Prediction, StandardDeviations};
use isobar::optimize::profile::Profile;
use isobar_report::{Chart, Curve, CurveMode};

/// Half the width of a 95 % interval of a normal distribution, in standard deviations.
const HALF_WIDTH: f64 = 1.96;

/// The names of the axes.
const AXES: [&str; 3] = ["x", "y", "z"];

/// Which of the page's colours the band of noise has: grey.
const NOISE_COLOR: usize = 7;

/// The plots of a measurement, with what the model says with the start values and with the estimates. Files are
/// named as from the folder of the fit.
pub(super) fn charts(folder: &Path, before: &Prediction, after: &Prediction) -> Vec<Chart> {
    let short =
        |name: &str| Path::new(name).strip_prefix(folder).unwrap_or(Path::new(name)).display().to_string();
    match (before, after) {
        (
            Prediction::Indentation { predicted: start, .. },
            Prediction::Indentation { name, depths, measured, standard_deviations, predicted },
        ) => indentation(&short(name), depths, [measured, standard_deviations], [predicted, start]),
        (_, Prediction::Motion { name, times, recorded, simulated, standard_deviations }) => {
            motion(&short(name), times, recorded, simulated, standard_deviations)
        }
        (Prediction::Sensors { channels: start, .. }, Prediction::Sensors { name, channels }) => {
            let pairs = start.iter().zip(channels);
            pairs.flat_map(|(start, fitted)| sensor_channel(&short(name), start, fitted)).collect()
        }
        // Both are of the same measurements.
        _ => Vec::new(),
    }
}

/// A profile: how far from the minimum the cost is, in what would be standard errors of a linear model, along a parameter.
pub(super) fn profile_chart(profile: &Profile, unit: &str) -> Chart {
    let values: Vec<f64> = profile.points.iter().map(|point| point.value).collect();
    let distances: Vec<f64> = profile.points.iter().map(|point| point.distance.abs()).collect();
    let points = Curve { color: Some(0), ..marks("fitted again", &values, distances.clone()) };
    let found = Curve { color: Some(0), ..lines("√(2 ΔC) / s", &values, distances) };
    let level = lines("95 %", &values, vec![profile.level; values.len()]);
    let name = &profile.name;
    let axes = [&format!("{name}, {unit}")[..], "distance from the minimum, standard errors"];
    chart(
        format!("Profile of {name}"),
        axes,
        vec![found, points, Curve { color: Some(NOISE_COLOR), ..level }],
    )
}

/// Force at depth, and its residuals.
fn indentation(
    name: &str,
    depths: &[f64],
    [measured, sigmas]: [&[f64]; 2],
    [fitted, start]: [&[f64]; 2],
) -> Vec<Chart> {
    let difference = measured.iter().zip(fitted).map(|(m, f)| m - f).collect();
    let curves = vec![
        Curve {
            interval: Some(around(measured, sigmas, 1.0)),
            ..marks("measured", depths, measured.to_vec())
        },
        lines("fitted", depths, fitted.to_vec()),
        lines("start values", depths, start.to_vec()),
    ];
    vec![
        chart(format!("{name}: force at depth, measured ± σ"), ["depth, m", "force, N"], curves),
        residuals(
            name,
            "force",
            ["depth, m", "force, N"],
            depths,
            sigmas,
            vec![marks("force", depths, difference)],
        ),
    ]
}

/// Position over time, and the residuals of position and orientation.
fn motion(
    name: &str,
    times: &[f64],
    recorded: &[BodyState],
    fitted: &[BodyState],
    sigma: &StandardDeviations,
) -> Vec<Chart> {
    let [of_position, of_rotation] =
        [sigma.position, sigma.orientation].map(|sigma| vec![sigma; times.len()]);
    let mut positions = Vec::new();
    for (k, axis) in AXES.iter().enumerate() {
        let of = |states: &[BodyState]| states.iter().map(|state| state.position[k]).collect::<Vec<_>>();
        let measured = of(recorded);
        let interval = Some(around(&measured, &of_position, 1.0));
        let measured = marks(&format!("{axis} measured"), times, measured);
        positions.push(Curve { color: Some(k), interval, ..measured });
        let (times, fitted) = with_gaps(times, &of(fitted));
        positions.push(Curve { color: Some(k), ..lines(&format!("{axis} fitted"), &times, fitted) });
    }
    let of_axes = |difference: fn(&BodyState, &BodyState) -> Vector3<f64>| {
        let vectors: Vec<_> = recorded.iter().zip(fitted).map(|(m, f)| difference(m, f)).collect();
        let of_axis = |(k, axis): (usize, &&str)| {
            let values = vectors.iter().map(|v| v[k]).collect();
            Curve { color: Some(k), ..marks(axis, times, values) }
        };
        AXES.iter().enumerate().map(of_axis).collect::<Vec<_>>()
    };
    let difference = of_axes(|measured, fitted| measured.position - fitted.position);
    let turn = of_axes(|measured, fitted| rotation_between(&fitted.orientation, &measured.orientation));
    vec![
        chart(format!("{name}: position, measured ± σ"), ["time, s", "position, m"], positions),
        residuals(name, "position", ["time, s", "position, m"], times, &of_position, difference),
        residuals(name, "orientation", ["time, s", "rotation vector, rad"], times, &of_rotation, turn),
    ]
}

/// What a channel of a sensor measured over time, if that is a number, and its residuals.
fn sensor_channel(name: &str, start: &ChannelPrediction, fitted: &ChannelPrediction) -> Vec<Chart> {
    let ChannelPrediction { sensor, quantity, unit, times, sigma, differences, measured } = fitted;
    let title = &format!("{quantity} ({sensor})");
    let sigmas = vec![*sigma; times.len()];
    let axes = ["time, s", &format!("{title}, {unit}")];
    let mut charts = Vec::new();
    if let Some(measured) = measured {
        let predicted = |channel: &ChannelPrediction| -> Vec<f64> {
            measured.iter().zip(&channel.differences).map(|(m, d)| m + d.first().unwrap_or(&0.0)).collect()
        };
        let marked = marks("measured", times, measured.clone());
        let curves = vec![
            Curve { interval: Some(around(measured, &sigmas, 1.0)), ..marked },
            lines("fitted", times, predicted(fitted)),
            lines("start values", times, predicted(start)),
        ];
        charts.push(chart(format!("{name}: {title}, measured ± σ"), axes, curves));
    }
    let count = differences.first().map_or(0, Vec::len);
    let of_component = |k: usize| {
        let values = differences.iter().map(|difference| -difference[k]).collect();
        let label = if count > 1 { AXES[k] } else { title.as_str() };
        Curve { color: Some(k), ..marks(label, times, values) }
    };
    charts.push(residuals(name, title, axes, times, &sigmas, (0..count).map(of_component).collect()));
    charts
}

/// Residuals, measured less fitted, over the band where 95 % of them are if they are noise alone.
fn residuals(
    name: &str,
    quantity: &str,
    axes: [&str; 2],
    at: &[f64],
    sigmas: &[f64],
    of: Vec<Curve>,
) -> Chart {
    let zeros = vec![0.0; at.len()];
    let band = Curve {
        color: Some(NOISE_COLOR),
        interval: Some(around(&zeros, sigmas, HALF_WIDTH)),
        ..lines("95 % of the noise given", at, zeros)
    };
    let title = format!("{name}: {quantity}, measured − fitted");
    chart(title, axes, std::iter::once(band).chain(of).collect())
}

fn chart(title: String, axes: [&str; 2], curves: Vec<Curve>) -> Chart {
    Chart { title, axes: axes.map(str::to_owned), curves, ..Chart::default() }
}

fn lines(name: &str, x: &[f64], y: Vec<f64>) -> Curve {
    Curve { name: name.to_owned(), x: x.to_vec(), y, ..Curve::default() }
}

fn marks(name: &str, x: &[f64], y: Vec<f64>) -> Curve {
    Curve { mode: CurveMode::Markers, ..lines(name, x, y) }
}

/// The ends of intervals around values, some standard deviations wide to each side.
fn around(values: &[f64], sigmas: &[f64], width: f64) -> [Vec<f64>; 2] {
    let end = |width: f64| values.iter().zip(sigmas).map(|(x, sigma)| x + width * sigma).collect();
    [end(-width), end(width)]
}

/// A curve that is broken where its points are more than twice as far apart as elsewhere: there nothing was
/// compared.
fn with_gaps(x: &[f64], y: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let usual = x.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
    let (mut xs, mut ys): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    for (&x, &y) in x.iter().zip(y) {
        if let Some(&last) = xs.last().filter(|&&last| x - last > 2.0 * usual) {
            xs.push(0.5 * (last + x));
            ys.push(f64::NAN);
        }
        xs.push(x);
        ys.push(y);
    }
    (xs, ys)
}
