//! Profile likelihoods: how the cost of a fit grows as one parameter is held at other values and the others are fitted
//! again.
//!
//! A standard error is the curvature of the cost at its minimum, and the interval around it is symmetric. A profile follows
//! the cost itself. With the least cost C and the variance s² of the residuals at the minimum, the values θ of a parameter
//! with
//!
//! 2 (C(θ) − C) ≤ s² t²,
//!
//! where t is the 97.5 % quantile of Student's distribution, are its 95 % interval (D. M. Bates, D. G. Watts, *Nonlinear
//! Regression Analysis and Its Applications*, 1988, §6.1). Of a model that is linear in its parameters it is the interval
//! of the standard error. Where the cost does not grow so far on a side, the data set no limit there (A. Raue et al.,
//! *Structural and practical identifiability analysis of partially observed dynamical models by exploiting the profile
//! likelihood*, Bioinformatics 25, 2009).

use crate::parallel::in_parallel;
use std::fmt;

use argmin::core::Error;
use serde::Serialize;

pub use self::one_sided::judge_one_sided;
pub use self::walk::{ProfileEnd, ProfilePoint};
use self::walk::{Side, Walk};
use super::fit::{Fit, FitSettings};
use super::least_squares::{FittedModel, HeldSubsteps, Residuals};
use super::parameters::FitParameters;
use super::uncertainty::student_quantile;

mod one_sided;
mod walk;

/// The profile of one parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Points in the order of their values, that of the fit among them.
    pub points: Vec<ProfilePoint>,
    /// The distance at which the 95 % interval ends.
    pub level: f64,
    /// The ends of the 95 % interval; `None` where the profile does not reach the level.
    pub interval: [Option<f64>; 2],
    /// How it ends below and above.
    pub ends: [ProfileEnd; 2],
    /// The lowest cost on the way if it is below that of the fit, whose minimum is then not the best one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower_cost: Option<f64>,
}

/// Arms of an interval whose lengths differ by this factor are called unequal.
const UNEQUAL: f64 = 1.5;

impl Profile {
    /// The value of the fit.
    fn center(&self) -> f64 {
        let nearest = self.points.iter().min_by(|a, b| a.distance.abs().total_cmp(&b.distance.abs()));
        nearest.map_or(f64::NAN, |point| point.value)
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(cost) = self.lower_cost {
            return write!(
                f,
                "a cost of {cost:.6e}, lower than that of the fit, lies on its way: fit from other starts"
            );
        }
        let reach = |side: usize| {
            let outer = if side == 0 { self.points.first() } else { self.points.last() };
            outer.map_or(f64::NAN, |point| point.value)
        };
        let mut open = Vec::new();
        for (side, word) in [(0, "below"), (1, "above")] {
            match &self.ends[side] {
                ProfileEnd::Reached => {}
                ProfileEnd::AtBound => open.push(format!("{word} its bound {:.4e} comes first", reach(side))),
                ProfileEnd::Flat => {
                    open.push(format!("{word} the data set no limit (looked as far as {:.4e})", reach(side)));
                }
                ProfileEnd::Failed(message) => {
                    open.push(format!("{word} it ends at {:.4e}: {message}", reach(side)));
                }
            }
        }
        match self.interval {
            [Some(low), Some(high)] => {
                write!(f, "{low:.6e} to {high:.6e}")?;
                let center = self.center();
                let ratio = (high - center) / (center - low);
                if ratio > UNEQUAL {
                    write!(f, ", farther above ({ratio:.1} times) than below")?;
                } else if ratio < UNEQUAL.recip() {
                    write!(f, ", farther below ({:.1} times) than above", ratio.recip())?;
                }
                Ok(())
            }
            [Some(low), None] => write!(f, "above {low:.6e}: {}", open.join("; ")),
            [None, Some(high)] => write!(f, "below {high:.6e}: {}", open.join("; ")),
            [None, None] => write!(f, "not identifiable: {}", open.join("; ")),
        }
    }
}

/// Most iterations of the others at a point.
const MOST_ITERATIONS: u64 = 50;
/// Cost tolerance there.
const TOLERANCE: f64 = 1e-9;

/// The profiles of all parameters of a fit, in parallel; `tell` is called once a side of one is done. Points of
/// error-controlled steps have the substeps that the steps have at the result.
///
/// # Errors
/// When there are no more residuals than parameters, so that there is no level, or the substeps cannot be found.
pub fn profiles<R: Residuals + Clone + Send + Sync>(
    model: &R,
    parameters: &FitParameters,
    settings: &FitSettings,
    result: &Fit,
    tell: impl Fn() + Sync,
) -> Result<Vec<Profile>, Error> {
    let copy = || -> Box<dyn FittedModel + '_> { Box::new(model.clone()) };
    let held = held_substeps(model, result)?;
    profiles_of_copies((&copy, held.as_ref()), parameters, settings, result, &tell)
}

/// The substeps of error-controlled steps at a result, if there are any.
fn held_substeps(model: &dyn FittedModel, result: &Fit) -> Result<Option<HeldSubsteps>, Error> {
    Ok(Some(model.find_substeps(&result.values())?).filter(|substeps| !substeps.is_empty()))
}

/// The profiles from copies of the model, with these substeps.
fn profiles_of_copies<'m>(
    (copy, held): (&(dyn Fn() -> Box<dyn FittedModel + 'm> + Sync), Option<&HeldSubsteps>),
    parameters: &FitParameters,
    settings: &FitSettings,
    result: &Fit,
    tell: &(dyn Fn() + Sync),
) -> Result<Vec<Profile>, Error> {
    let variance = variance_of(result)?;
    let level = student_quantile(result.uncertainty.degrees_of_freedom);
    let cost = result.cost_after;
    let sides: Vec<(usize, f64)> = (0..parameters.len()).flat_map(|i| [(i, -1.0), (i, 1.0)]).collect();
    let one = |(index, direction): (usize, f64)| -> Result<Side, Error> {
        let settings = FitSettings {
            max_iterations: MOST_ITERATIONS,
            cost_tolerance: settings.cost_tolerance.max(TOLERANCE),
            ..*settings
        };
        let model = copy();
        let walk = walk(&*model, parameters, (index, held), settings, result)?;
        let side = walk.side(parameters, result, direction)?;
        tell();
        Ok(side)
    };
    let all = in_parallel(sides, one).into_iter().collect::<Result<Vec<Side>, Error>>()?;
    let mut sides = all.into_iter();
    let mut profiles = Vec::with_capacity(parameters.len());
    for estimate in &result.uncertainty.estimates {
        let (Some(below), Some(above)) = (sides.next(), sides.next()) else { break };
        let center = ProfilePoint { value: estimate.value, cost, distance: 0.0 };
        let mut points = below.points;
        points.push(center);
        points.extend(above.points);
        points.sort_by(|a, b| a.value.total_cmp(&b.value));
        let least = points.iter().map(|point| point.cost).fold(f64::INFINITY, f64::min);
        profiles.push(Profile {
            name: estimate.name.clone(),
            points,
            level,
            interval: [below.limit, above.limit],
            ends: [below.end, above.end],
            lower_cost: (least < cost - 0.5 * variance * 0.1_f64.powi(2)).then_some(least),
        });
    }
    Ok(profiles)
}

/// The variance of the residuals at a result.
fn variance_of(result: &Fit) -> Result<f64, Error> {
    let variance = result.uncertainty.residual_variance.filter(|variance| *variance > 0.0);
    variance.ok_or_else(|| {
        Error::msg("profiles need residuals that are not zero, and more of them than parameters")
    })
}

/// A walk along the parameter of this index from a result, with these substeps.
fn walk<'a>(
    model: &'a dyn FittedModel,
    parameters: &'a FitParameters,
    (index, held): (usize, Option<&'a HeldSubsteps>),
    settings: FitSettings,
    result: &Fit,
) -> Result<Walk<'a>, Error> {
    Ok(Walk {
        model,
        own: &parameters.as_slice()[index],
        others: others(parameters, index),
        index,
        held,
        settings,
        cost: result.cost_after,
        variance: variance_of(result)?,
        level: student_quantile(result.uncertainty.degrees_of_freedom),
    })
}

/// The parameters without one; `None` if there are no others.
fn others(parameters: &FitParameters, index: usize) -> Option<FitParameters> {
    let mut list = parameters.as_slice().to_vec();
    list.remove(index);
    FitParameters::new(list).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimize::fit::fit;
    use crate::optimize::parameters::FitParameter;
    use crate::scalar::Scalar;
    use approx::assert_relative_eq;

    /// Noise of fixed signs and sizes.
    fn noise(k: usize) -> f64 {
        0.3 * (12.9898 * (k as f64 + 1.0)).sin()
    }

    /// y = a + b t, measured at ten times.
    #[derive(Clone)]
    struct Line;

    impl Residuals for Line {
        fn residuals<T: Scalar>(&self, p: &[T]) -> Result<Vec<T>, Error> {
            let at = |k: usize| p[0] + p[1] * k as f64 - (2.0 - 0.5 * k as f64 + noise(k));
            Ok((0..10).map(at).collect())
        }
    }

    /// A function of one parameter, measured so many times.
    #[derive(Clone)]
    struct Repeated<const SATURATES: bool>;

    impl<const SATURATES: bool> Repeated<SATURATES> {
        fn measured() -> Vec<f64> {
            let (mean, scale) = (if SATURATES { 0.95 } else { 1.5 }, 3.0);
            let middle = (0..6).map(noise).sum::<f64>() / 6.0;
            (0..6).map(|k| mean + scale * (noise(k) - middle)).collect()
        }
    }

    impl<const SATURATES: bool> Residuals for Repeated<SATURATES> {
        fn residuals<T: Scalar>(&self, p: &[T]) -> Result<Vec<T>, Error> {
            let model = if SATURATES { -(-p[0]).exp() + 1.0 } else { p[0].exp() };
            Ok(Self::measured().into_iter().map(|y| model - y).collect())
        }
    }

    fn profiled<R: Residuals + Clone + Send + Sync>(
        model: &R,
        list: Vec<FitParameter>,
    ) -> (Fit, Vec<Profile>) {
        let parameters = FitParameters::new(list).unwrap();
        let settings = FitSettings { cost_tolerance: 1e-14, ..Default::default() };
        let result = fit(model, &parameters, &settings, None).unwrap();
        let profiles = profiles(model, &parameters, &settings, &result, || ()).unwrap();
        (result, profiles)
    }

    #[test]
    fn of_a_linear_model_the_interval_is_that_of_the_standard_error() {
        let (result, profiles) =
            profiled(&Line, vec![FitParameter::new("a", 1.0), FitParameter::new("b", 1.0)]);
        for (estimate, profile) in result.uncertainty.estimates.iter().zip(&profiles) {
            let interval = estimate.interval.unwrap();
            for (found, expected) in profile.interval.into_iter().zip(interval) {
                assert_relative_eq!(found.unwrap(), expected, max_relative = 1e-6);
            }
            // Along a straight line the distance is that in standard errors.
            for point in &profile.points {
                let distance = (point.value - estimate.value) / estimate.standard_error.unwrap();
                assert!((point.distance - distance).abs() < 1e-5, "{point:?}");
            }
            assert!(profile.points.windows(2).all(|pair| pair[0].value < pair[1].value));
        }
    }

    #[test]
    fn a_prior_narrows_the_interval_as_another_measurement_does() {
        let list = vec![FitParameter::new("a", 1.0).known(2.0, 0.1), FitParameter::new("b", 1.0)];
        let (result, profiles) = profiled(&Line, list);
        assert_eq!(result.residuals, 11);
        for (estimate, profile) in result.uncertainty.estimates.iter().zip(&profiles) {
            for (found, expected) in profile.interval.into_iter().zip(estimate.interval.unwrap()) {
                assert_relative_eq!(found.unwrap(), expected, max_relative = 1e-6);
            }
        }
    }

    #[test]
    fn of_an_exponential_the_interval_is_not_symmetric() {
        // The mean of m measurements of e^θ with standard deviation s lies within t s/√m of e^θ.
        let measured = Repeated::<false>::measured();
        let m = measured.len() as f64;
        let mean = measured.iter().sum::<f64>() / m;
        let square: f64 = measured.iter().map(|y| (y - mean).powi(2)).sum();
        let reach = student_quantile(measured.len() - 1) * (square / (m - 1.0) / m).sqrt();
        let (result, profiles) = profiled(&Repeated::<false>, vec![FitParameter::new("theta", 0.1)]);
        assert_relative_eq!(result.values()[0], mean.ln(), max_relative = 1e-7);
        for (found, expected) in profiles[0].interval.into_iter().zip([mean - reach, mean + reach]) {
            assert_relative_eq!(found.unwrap(), expected.ln(), max_relative = 1e-4);
        }
        // That of the standard error is off.
        let symmetric = result.uncertainty.estimates[0].interval.unwrap();
        assert!((symmetric[0] - (mean - reach).ln()).abs() > 0.005, "{symmetric:?}");
    }

    #[test]
    fn a_side_without_a_limit_is_called_so() {
        let (_, profiles) = profiled(&Repeated::<true>, vec![FitParameter::new("theta", 1.0)]);
        let profile = &profiles[0];
        assert_eq!(profile.ends, [ProfileEnd::Reached, ProfileEnd::Flat]);
        assert!(profile.interval[0].is_some() && profile.interval[1].is_none());
        assert!(profile.to_string().contains("above the data set no limit"), "{profile}");
        let bounded = vec![FitParameter::new("theta", 1.0).bounded(0.0, 8.0)];
        let (_, profiles) = profiled(&Repeated::<true>, bounded);
        assert_eq!(profiles[0].ends[1], ProfileEnd::AtBound);
        assert!(profiles[0].to_string().contains("its bound 8.0000e0 comes first"), "{}", profiles[0]);
    }

    /// y = a b t.
    #[derive(Clone)]
    struct Product;

    impl Residuals for Product {
        fn residuals<T: Scalar>(&self, p: &[T]) -> Result<Vec<T>, Error> {
            Ok((0..10).map(|k| p[0] * p[1] * k as f64 - (6.0 * k as f64 + noise(k))).collect())
        }
    }

    #[test]
    fn what_only_a_product_determines_has_flat_profiles() {
        let unknown = |name: &str| FitParameter::new(name, 2.0).logarithmic();
        let (_, profiles) = profiled(&Product, vec![unknown("a"), unknown("b")]);
        for profile in &profiles {
            assert_eq!(profile.ends, [ProfileEnd::Flat, ProfileEnd::Flat]);
            assert!(profile.to_string().starts_with("not identifiable"), "{profile}");
        }
    }
}
