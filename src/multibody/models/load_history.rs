//! Loads of a model: forces and torques on free bodies as functions of time.

use nalgebra::Vector3;

use super::load::{LoadFrame, LoadKind};
use crate::multibody::ModelError;
use crate::scalar::{Scalar, lift_vector, real_vector};

/// A force or a torque on a free body over time, as a part of a model: every kind of step has it, and the derivatives of
/// all of them. It acts with its value at the time at which a step evaluates forces: that of each stage of explicit
/// steps and of Radau steps, and the beginning of others.
#[derive(Clone, Debug, PartialEq)]
pub struct Load<T = f64> {
    /// Its name. A force and a torque may share one; two forces may not, nor two torques.
    pub name: String,
    /// The body in [`Model::bodies`](crate::multibody::Model::bodies).
    pub body: usize,
    /// What it is.
    pub kind: LoadKind,
    /// The axes that its values are given in.
    pub frame: LoadFrame,
    /// Its values, N or N m.
    pub history: LoadHistory<T>,
}

/// A vector over time.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LoadHistory<T = f64> {
    /// It does not change.
    Constant(Vector3<T>),
    /// Values at times in s, in increasing order; before the first and after the last one the values there hold.
    Knots {
        /// The times.
        times: Vec<f64>,
        /// The value at each.
        values: Vec<Vector3<T>>,
        /// Whether it is linear between them. Otherwise each value is held until the next time.
        linear: bool,
    },
    /// mean + sine sin(2π t/T) + cosine cos(2π t/T).
    Periodic {
        /// The period T, s.
        period: f64,
        /// The mean.
        mean: Vector3<T>,
        /// The amplitude of the sine.
        sine: Vector3<T>,
        /// The amplitude of the cosine.
        cosine: Vector3<T>,
    },
}

/// One of the vectors of a [`LoadHistory`], which depends on each of them linearly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LoadPart {
    /// The value of a constant one.
    Constant,
    /// The value at a knot, counted from 0.
    Knot(usize),
    /// The mean of a periodic one.
    Mean,
    /// The amplitude of its sine.
    Sine,
    /// The amplitude of its cosine.
    Cosine,
}

/// How much the values at knots count at a time: the knot before it and the one after it, each with its weight.
fn weights_of_knots(times: &[f64], linear: bool, time: f64) -> [(usize, f64); 2] {
    let after = times.partition_point(|&t| t <= time);
    match (after.checked_sub(1), times.get(after)) {
        (None, _) => [(0, 1.0), (0, 0.0)],
        (Some(before), Some(&end)) if linear => {
            let part = (time - times[before]) / (end - times[before]);
            [(before, 1.0 - part), (after, part)]
        }
        (Some(before), _) => [(before, 1.0), (before, 0.0)],
    }
}

/// Sine and cosine of a periodic load at a time.
fn sine_and_cosine(period: f64, time: f64) -> (f64, f64) {
    (std::f64::consts::TAU * time / period).sin_cos()
}

impl<T: Scalar> LoadHistory<T> {
    /// The value at a time in s.
    pub fn at(&self, time: f64) -> Vector3<T> {
        match self {
            Self::Constant(value) => *value,
            Self::Knots { times, values, linear } => {
                let [before, after] = weights_of_knots(times, *linear, time);
                let value = |(i, weight): (usize, f64)| match values.get(i) {
                    Some(value) if weight == 1.0 => *value,
                    Some(value) => value * T::from(weight),
                    None => Vector3::from_element(T::from(0.0)),
                };
                if after.1 == 0.0 { value(before) } else { value(before) + value(after) }
            }
            Self::Periodic { period, mean, sine, cosine } => {
                let (s, c) = sine_and_cosine(*period, time);
                mean + sine * T::from(s) + cosine * T::from(c)
            }
        }
    }

    /// One of its vectors; `None` where it has no such part.
    pub fn part(&self, part: LoadPart) -> Option<&Vector3<T>> {
        match (self, part) {
            (Self::Constant(value), LoadPart::Constant) => Some(value),
            (Self::Knots { values, .. }, LoadPart::Knot(knot)) => values.get(knot),
            (Self::Periodic { mean, .. }, LoadPart::Mean) => Some(mean),
            (Self::Periodic { sine, .. }, LoadPart::Sine) => Some(sine),
            (Self::Periodic { cosine, .. }, LoadPart::Cosine) => Some(cosine),
            _ => None,
        }
    }

    /// One of its vectors, to be changed.
    pub(in crate::multibody) fn part_mut(&mut self, part: LoadPart) -> Option<&mut Vector3<T>> {
        match (self, part) {
            (Self::Constant(value), LoadPart::Constant) => Some(value),
            (Self::Knots { values, .. }, LoadPart::Knot(knot)) => values.get_mut(knot),
            (Self::Periodic { mean, .. }, LoadPart::Mean) => Some(mean),
            (Self::Periodic { sine, .. }, LoadPart::Sine) => Some(sine),
            (Self::Periodic { cosine, .. }, LoadPart::Cosine) => Some(cosine),
            _ => None,
        }
    }

    /// The history without its derivatives.
    pub(super) fn real(&self) -> LoadHistory {
        match self {
            Self::Constant(value) => LoadHistory::Constant(real_vector(value)),
            Self::Knots { times, values, linear } => LoadHistory::Knots {
                times: times.clone(),
                values: values.iter().map(real_vector).collect(),
                linear: *linear,
            },
            Self::Periodic { period, mean, sine, cosine } => LoadHistory::Periodic {
                period: *period,
                mean: real_vector(mean),
                sine: real_vector(sine),
                cosine: real_vector(cosine),
            },
        }
    }

    /// A constant history as scalars `T`.
    pub(super) fn lift(of: &LoadHistory) -> Self {
        match of {
            LoadHistory::Constant(value) => Self::Constant(lift_vector(value)),
            LoadHistory::Knots { times, values, linear } => Self::Knots {
                times: times.clone(),
                values: values.iter().map(lift_vector).collect(),
                linear: *linear,
            },
            LoadHistory::Periodic { period, mean, sine, cosine } => Self::Periodic {
                period: *period,
                mean: lift_vector(mean),
                sine: lift_vector(sine),
                cosine: lift_vector(cosine),
            },
        }
    }
}

impl LoadHistory {
    /// All its vectors, in the order of the fields.
    pub(crate) fn parts(&self) -> Vec<LoadPart> {
        match self {
            Self::Constant(_) => vec![LoadPart::Constant],
            Self::Knots { values, .. } => (0..values.len()).map(LoadPart::Knot).collect(),
            Self::Periodic { .. } => vec![LoadPart::Mean, LoadPart::Sine, LoadPart::Cosine],
        }
    }

    /// The derivative of each component of its value at a time with respect to the same component of one of its vectors.
    pub(in crate::multibody) fn weight(&self, part: LoadPart, time: f64) -> f64 {
        match (self, part) {
            (Self::Constant(_), LoadPart::Constant) | (Self::Periodic { .. }, LoadPart::Mean) => 1.0,
            (Self::Knots { times, linear, .. }, LoadPart::Knot(knot)) => {
                let weights = weights_of_knots(times, *linear, time);
                weights.iter().filter(|(i, _)| *i == knot).map(|(_, weight)| weight).sum()
            }
            (Self::Periodic { period, .. }, LoadPart::Sine) => sine_and_cosine(*period, time).0,
            (Self::Periodic { period, .. }, LoadPart::Cosine) => sine_and_cosine(*period, time).1,
            _ => 0.0,
        }
    }

    /// The same values with times counted from a time in s: that at 0 is the value at this time.
    fn counted_from(&self, start: f64) -> Self {
        match self {
            Self::Constant(value) => Self::Constant(*value),
            Self::Knots { times, values, linear } => Self::Knots {
                times: times.iter().map(|time| time - start).collect(),
                values: values.clone(),
                linear: *linear,
            },
            Self::Periodic { period, mean, sine, cosine } => {
                let (s, c) = sine_and_cosine(*period, start);
                Self::Periodic {
                    period: *period,
                    mean: *mean,
                    sine: sine * c - cosine * s,
                    cosine: sine * s + cosine * c,
                }
            }
        }
    }

    /// What is wrong with it, if anything.
    fn problem(&self) -> Option<&'static str> {
        let finite = |v: &Vector3<f64>| v.iter().all(|x| x.is_finite());
        match self {
            Self::Constant(value) => (!finite(value)).then_some("has a value that is not finite"),
            Self::Knots { times, values, .. } => {
                if times.is_empty() || times.len() != values.len() {
                    Some("needs one value for each of its times, and at least one")
                } else if !times.iter().all(|t| t.is_finite()) || !times.is_sorted_by(|a, b| a < b) {
                    Some("has times that do not increase")
                } else {
                    (!values.iter().all(finite)).then_some("has a value that is not finite")
                }
            }
            Self::Periodic { period, mean, sine, cosine } => {
                if !(period.is_finite() && *period > 0.0) {
                    Some("has a period that is not positive")
                } else {
                    (![mean, sine, cosine].into_iter().all(finite))
                        .then_some("has a value that is not finite")
                }
            }
        }
    }
}

/// Checks the loads of a model.
pub(super) fn check_loads(loads: &[Load], is_free: impl Fn(usize) -> bool) -> Result<(), ModelError> {
    for (index, load) in loads.iter().enumerate() {
        let same = |other: &&Load| other.name == load.name && other.kind.name() == load.kind.name();
        let what = if !is_free(load.body) {
            Some("acts on no free body")
        } else if loads[..index].iter().any(|other| same(&other)) {
            Some("has the name of another one of its kind")
        } else {
            load.kind.problem().or_else(|| load.history.problem())
        };
        if let Some(what) = what {
            return Err(ModelError::Load { index, what });
        }
    }
    Ok(())
}

impl<T: Scalar> Load<T> {
    /// A constant load as scalars `T`.
    pub(super) fn lift(of: &Load) -> Self {
        let Load { name, body, kind, frame, history } = of;
        let (name, history) = (name.clone(), LoadHistory::lift(history));
        Self { name, body: *body, kind: *kind, frame: *frame, history }
    }

    /// The load without its derivatives.
    pub(super) fn real(&self) -> Load {
        let Self { name, body, kind, frame, history } = self;
        Load { name: name.clone(), body: *body, kind: *kind, frame: *frame, history: history.real() }
    }
}

impl Load {
    /// The same load with times counted from a time in s.
    pub(crate) fn counted_from(&self, start: f64) -> Self {
        Self { history: self.history.counted_from(start), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_over_time() {
        let x = Vector3::<f64>::x();
        let knots = |linear| LoadHistory::Knots { times: vec![1.0, 2.0], values: vec![x, 3.0 * x], linear };
        for (time, held, linear) in
            [(0.0, 1.0, 1.0), (1.0, 1.0, 1.0), (1.5, 1.0, 2.0), (2.0, 3.0, 3.0), (9.0, 3.0, 3.0)]
        {
            assert_eq!(knots(false).at(time).x, held);
            assert_eq!(knots(true).at(time).x, linear);
        }
        let periodic = LoadHistory::Periodic { period: 2.0, mean: x, sine: 4.0 * x, cosine: 7.0 * x };
        assert!((periodic.at(0.5).x - 5.0).abs() < 1e-12 && (periodic.at(1.0).x + 6.0).abs() < 1e-12);
        for history in [knots(false), knots(true), periodic, LoadHistory::Constant(x)] {
            for time in [-0.3, 0.2, 0.45, 0.9] {
                let difference = history.counted_from(0.8).at(time) - history.at(time + 0.8);
                assert!(difference.norm() < 1e-12, "{history:?} {time}");
            }
        }
        let wrong = [
            (
                LoadHistory::Knots { times: vec![1.0, 1.0], values: vec![x, x], linear: true },
                "do not increase",
            ),
            (LoadHistory::Knots { times: vec![1.0], values: vec![], linear: true }, "one value for each"),
            (LoadHistory::Periodic { period: 0.0, mean: x, sine: x, cosine: x }, "period"),
            (LoadHistory::Constant(x * f64::NAN), "not finite"),
        ];
        for (history, part) in wrong {
            let load = Load {
                name: String::new(),
                body: 0,
                kind: LoadKind::Torque,
                frame: LoadFrame::World,
                history,
            };
            let error = check_loads(&[load], |_| true).expect_err("wrong").to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
