//! Named parameters with bounds and logarithmic scales, and the variables that optimizers see.
//!
//! An optimizer works on dimensionless variables of order one, u = p / s, or u = ln p on a
//! logarithmic scale; the model takes physical values p. Bounds stay bounds.

use crate::optimize::error::ProblemError;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One unknown of a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, schemars(rename = "Parameter"))]
pub struct FitParameter {
    /// Name: for a scene, the path of a parameter: `materials.NAME.FIELD`, `bodies.NAME.FIELD`,
    /// `bodies.NAME.geometries[INDEX].scale`, `bodies.NAME.geometries[INDEX].pressure_law.power.exponent`, `pairs.BODY.OTHER.FIELD`, `joints.NAME.FIELD`, `actuators.NAME.FIELD`,
    /// `loads.NAME.FIELD` (`loads[INDEX].FIELD` of one without a name), `contact.FIELD`, `gravity[AXIS]`,
    /// `indentations[INDEX].offset`,
    /// `sensors.NAME.delay`, `sensors.NAME.position[AXIS]`, `sensors.NAME.rotation[AXIS]` or `sensors.NAME.channels[INDEX].offset[AXIS]`.
    ///
    /// FIELD of a material is `hydroelastic_modulus` (Pa), `dissipation` (s/m; s where `contact.dissipation_model` is
    /// `strain_rate`), `relaxation_time` (s), `static_friction`, `dynamic_friction` or `friction`, which is both; of a
    /// free body or a link `mass` (kg), `center_of_mass[AXIS]` (m, in its frame), `inertia[ROW][COLUMN]` (kg m²) or
    /// `pseudo_inertia[INDEX]` (0 to 9; see the guide); of a fixed
    /// body `shift[AXIS]`, in m along an axis of the world from its place in the scene. The `friction` of a pair (or
    /// `static_friction`, `dynamic_friction`) is that of the materials of both bodies, so that it is the coefficient
    /// between the two; no other body may have these materials. FIELD of a joint is `damping`, `friction`, `stiction_velocity` (of that friction), `frame.shift[AXIS]` (m: by
    /// how much more it is moved along an axis of what carries it, with all that it carries), `spring.stiffness`,
    /// `spring.rest`, `lower`, `upper`, `stop_stiffness` or `stop_dissipation`, and of one that computed torque leads
    /// `computed_torque.stiffness` (1/s²) or `computed_torque.damping` (1/s), which are those of its robot, of an actuator `stiffness`, `damping` or
    /// `effort`, where it has them; of a load `force[AXIS]` or `torque[AXIS]` where it is constant, `force.values[KNOT][AXIS]`
    /// where it has times (knots count from 0), `force.mean[AXIS]`, `force.sine[AXIS]` or `force.cosine[AXIS]` where it has a
    /// period (N or N m, along the axes of its frame), and the same of `torque`; of contact
    /// `stiction_velocity` (m/s) or, where there is one, `bristle_length` (m). AXIS, ROW and COLUMN are 0, 1 or 2; an offset of one number has none.
    pub name: String,
    /// Start value, in the unit of the quantity.
    pub initial: f64,
    /// Smallest value allowed; −∞ where there is none.
    #[serde(default = "minus_infinity")]
    #[cfg_attr(test, schemars(extend("x-default" = "−∞")))]
    pub lower: f64,
    /// Largest value allowed; +∞ where there is none.
    #[serde(default = "plus_infinity")]
    #[cfg_attr(test, schemars(extend("x-default" = "∞")))]
    pub upper: f64,
    /// Whether the optimizer works on the logarithm: for positive quantities that may be off
    /// by factors.
    #[serde(default)]
    pub log: bool,
    /// What is known of it from elsewhere, a scale or a data sheet: counts as one more measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-default" = "nothing")))]
    pub prior: Option<Prior>,
    /// Names of further quantities that have the same value, such as the damping of the other finger: they are one
    /// unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
}

/// What is known of a parameter before a fit: a normal distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Prior {
    /// Its mean, in the unit of the parameter.
    pub value: f64,
    /// Its standard deviation, in the same unit.
    pub sigma: f64,
}

fn minus_infinity() -> f64 {
    f64::NEG_INFINITY
}

fn plus_infinity() -> f64 {
    f64::INFINITY
}

impl FitParameter {
    /// A parameter without bounds on a linear scale.
    pub fn new(name: impl Into<String>, initial: f64) -> Self {
        let (lower, upper) = (f64::NEG_INFINITY, f64::INFINITY);
        Self { name: name.into(), initial, lower, upper, log: false, prior: None, also: Vec::new() }
    }

    /// The same with bounds.
    #[must_use]
    pub fn bounded(mut self, lower: f64, upper: f64) -> Self {
        (self.lower, self.upper) = (lower, upper);
        self
    }

    /// The same on a logarithmic scale.
    #[must_use]
    pub fn logarithmic(mut self) -> Self {
        self.log = true;
        self
    }

    /// The same with what is known of it from elsewhere.
    #[must_use]
    pub fn known(mut self, value: f64, sigma: f64) -> Self {
        self.prior = Some(Prior { value, sigma });
        self
    }

    /// The same for further quantities with the same value.
    #[must_use]
    pub fn tied(mut self, also: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.also = also.into_iter().map(Into::into).collect();
        self
    }

    /// The names of all quantities that it is the value of.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.name).chain(&self.also).map(String::as_str)
    }

    /// The scale of the optimizer's variable, in the unit of the parameter: the magnitude of the start
    /// value, or if that is 0 the distance between the bounds, or 1 if that is infinite.
    pub fn scale(&self) -> f64 {
        let width = self.upper - self.lower;
        if self.initial != 0.0 {
            self.initial.abs()
        } else if width.is_finite() {
            width
        } else {
            1.0
        }
    }

    fn validate(&self) -> Result<(), ProblemError> {
        let name = || self.name.clone();
        if !self.initial.is_finite() {
            return Err(ProblemError::NotANumber {
                name: name(),
                field: "initial",
                found: self.initial,
                allowed: "a finite number",
            });
        }
        for (field, found) in [("lower", self.lower), ("upper", self.upper)] {
            if found.is_nan() {
                return Err(ProblemError::NotANumber {
                    name: name(),
                    field,
                    found,
                    allowed: "a number or ±inf",
                });
            }
        }
        let (lower, upper, initial) = (self.lower, self.upper, self.initial);
        if lower >= upper {
            return Err(ProblemError::BoundsCrossed { name: name(), lower, upper });
        }
        if self.log {
            for (field, found) in [("lower", lower), ("upper", upper), ("initial", initial)] {
                if found <= 0.0 && found > f64::NEG_INFINITY {
                    return Err(ProblemError::LogOfNonPositive { name: name(), field, found });
                }
            }
        }
        if !(lower..=upper).contains(&initial) {
            return Err(ProblemError::StartOutside { name: name(), initial, lower, upper });
        }
        if let Some(Prior { value, sigma }) = self.prior {
            let wrong =
                |field, found, allowed| ProblemError::NotANumber { name: name(), field, found, allowed };
            if !value.is_finite() {
                return Err(wrong("prior.value", value, "a finite number"));
            }
            if !(sigma.is_finite() && sigma > 0.0) {
                return Err(wrong("prior.sigma", sigma, "positive and finite"));
            }
        }
        Ok(())
    }

    pub(super) fn to_scaled(&self, value: f64) -> f64 {
        match self.log {
            // A bound of −∞ on a logarithmic scale stands for every positive value.
            true if value == f64::NEG_INFINITY => value,
            true => value.ln(),
            false => value / self.scale(),
        }
    }

    pub(super) fn physical(&self, u: f64) -> f64 {
        let value = if self.log { u.exp() } else { u * self.scale() };
        // Rounding in the map must not leave the bounds.
        value.clamp(self.lower, self.upper)
    }

    /// dp/du at a physical value.
    fn scaled_factor(&self, value: f64) -> f64 {
        if self.log { value } else { self.scale() }
    }

    fn scaled_bounds(&self) -> (f64, f64) {
        (self.to_scaled(self.lower), self.to_scaled(self.upper))
    }
}

/// The unknowns of a fit, checked: names differ, bounds and starts make sense.
#[derive(Clone, Debug, PartialEq)]
pub struct FitParameters {
    list: Vec<FitParameter>,
}

impl FitParameters {
    /// Checks the parameters and takes them.
    ///
    /// # Errors
    /// The list is empty, a name appears twice, a number is not finite, a lower bound is not below the
    /// upper one, a start is outside of its bounds, or a parameter on a logarithmic scale has a bound or
    /// start that is not positive.
    pub fn new(list: Vec<FitParameter>) -> Result<Self, ProblemError> {
        if list.is_empty() {
            return Err(ProblemError::NoParameters);
        }
        for (i, parameter) in list.iter().enumerate() {
            parameter.validate()?;
            let before = || list[..i].iter().flat_map(FitParameter::names);
            let own = |k: usize| parameter.names().take(k);
            let mut names = parameter.names().enumerate();
            let twice = names.find(|(k, name)| before().chain(own(*k)).any(|other| other == *name));
            if let Some((_, name)) = twice {
                return Err(ProblemError::DuplicateParameter { name: name.to_owned() });
            }
        }
        Ok(Self { list })
    }

    /// How many there are.
    #[allow(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// The parameters in order.
    pub fn as_slice(&self) -> &[FitParameter] {
        &self.list
    }

    /// The start values, physical.
    pub fn initial(&self) -> Vec<f64> {
        self.list.iter().map(|p| p.initial).collect()
    }

    /// What is known of parameters from elsewhere, as residuals at physical values: for each prior the distance from its
    /// mean over its standard deviation, with the index of its parameter and the derivative with respect to that.
    pub(super) fn prior_residuals(&self, values: &[f64]) -> impl Iterator<Item = (usize, f64, f64)> {
        let with_values = self.list.iter().zip(values).enumerate();
        with_values.filter_map(|(index, (parameter, at))| {
            let Prior { value, sigma } = parameter.prior?;
            Some((index, (at - value) / sigma, sigma.recip()))
        })
    }

    /// The optimizer's variables at physical values (one per parameter).
    ///
    /// # Errors
    /// A wrong number of values.
    pub fn variables(&self, values: &[f64]) -> Result<Vec<f64>, ProblemError> {
        self.check_count(values.len())?;
        Ok(self.list.iter().zip(values).map(|(p, v)| p.to_scaled(v.clamp(p.lower, p.upper))).collect())
    }

    /// Physical values at the optimizer's variables, and the derivative of each with respect to
    /// its variable.
    ///
    /// # Errors
    /// A wrong number of variables.
    pub fn values(&self, variables: &[f64]) -> Result<Vec<(f64, f64)>, ProblemError> {
        self.check_count(variables.len())?;
        let physical = |(p, &u): (&FitParameter, &f64)| {
            let value = p.physical(u);
            (value, p.scaled_factor(value))
        };
        Ok(self.list.iter().zip(variables).map(physical).collect())
    }

    /// Lower and upper bounds of the optimizer's variables.
    pub fn bounds(&self) -> (Vec<f64>, Vec<f64>) {
        self.list.iter().map(FitParameter::scaled_bounds).unzip()
    }

    fn check_count(&self, found: usize) -> Result<(), ProblemError> {
        let expected = self.list.len();
        if found == expected { Ok(()) } else { Err(ProblemError::ValueCount { found, expected }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use proptest::prelude::*;

    fn kinds_of_bounds() -> Vec<FitParameter> {
        vec![
            FitParameter::new("free", 3.0),
            FitParameter::new("both", -1.0).bounded(-2.0, 5.0),
            FitParameter::new("lower", 0.0).bounded(-1.0, f64::INFINITY),
            FitParameter::new("upper", 2.0).bounded(f64::NEG_INFINITY, 2.5),
            FitParameter::new("log", 1e5).logarithmic(),
            FitParameter::new("log both", 1e5).bounded(1e3, 1e7).logarithmic(),
            FitParameter::new("log upper", 1e5).bounded(f64::NEG_INFINITY, 1e7).logarithmic(),
        ]
    }

    proptest! {
        #[test]
        fn factors_are_derivatives_and_values_stay_within_bounds(y in -3.0..3.0f64, i in 0usize..7) {
            let all = kinds_of_bounds();
            let set = FitParameters::new(vec![all[i].clone()]).unwrap();
            let (lower, upper) = set.bounds();
            // Away from the bounds by more than the step.
            let x = (y + if all[i].log { 11.0 } else { 0.0 }).clamp(lower[0] + 0.01, upper[0] - 0.01);
            let (value, factor) = set.values(&[x]).unwrap()[0];
            prop_assert!(value >= all[i].lower && value <= all[i].upper);
            let h = 1e-5;
            let plus = set.values(&[x + h]).unwrap()[0].0;
            let minus = set.values(&[x - h]).unwrap()[0].0;
            let difference = (plus - minus) / (2.0 * h);
            prop_assert!((difference - factor).abs() <= 1e-8 * (factor.abs() + value.abs()));
        }
    }

    #[test]
    fn values_and_variables_are_inverse() {
        let set = FitParameters::new(kinds_of_bounds()).unwrap();
        let x = set.variables(&set.initial()).unwrap();
        for (got, wanted) in set.values(&x).unwrap().iter().zip(set.initial()) {
            assert_relative_eq!(got.0, wanted, epsilon = 1e-12, max_relative = 1e-12);
        }
    }

    #[test]
    fn bad_parameters_are_refused_by_name() {
        let refused = |p: FitParameter| FitParameters::new(vec![p]).unwrap_err().to_string();
        assert!(refused(FitParameter::new("a", 1.0).bounded(2.0, 1.0)).contains("`a`: `lower` is 2"));
        assert!(refused(FitParameter::new("a", 3.0).bounded(0.0, 1.0)).contains("between 0 and 1"));
        assert!(
            refused(FitParameter::new("a", 3.0).bounded(0.0, 9.0).logarithmic()).contains("`lower` is 0")
        );
        assert!(refused(FitParameter::new("a", -3.0).logarithmic()).contains("`initial` is -3"));
        assert!(refused(FitParameter::new("a", f64::NAN)).contains("`initial` is NaN"));
        assert!(refused(FitParameter::new("a", 0.0).bounded(f64::NAN, 1.0)).contains("`lower` is NaN"));
        let twice = vec![FitParameter::new("a", 1.0), FitParameter::new("a", 1.0)];
        assert!(FitParameters::new(twice).unwrap_err().to_string().contains("listed twice"));
        assert!(refused(FitParameter::new("a", 1.0).tied(["a"])).contains("listed twice"));
        let tied = vec![FitParameter::new("a", 1.0), FitParameter::new("b", 1.0).tied(["a"])];
        assert!(FitParameters::new(tied).unwrap_err().to_string().contains("`a` is listed twice"));
        assert!(refused(FitParameter::new("a", 1.0).known(2.0, 0.0)).contains("`prior.sigma` is 0"));
        assert!(refused(FitParameter::new("a", 1.0).known(f64::NAN, 1.0)).contains("`prior.value` is NaN"));
        assert_eq!(FitParameters::new(vec![]), Err(ProblemError::NoParameters));
        let set = FitParameters::new(vec![FitParameter::new("a", 1.0)]).unwrap();
        let wrong = ProblemError::ValueCount { found: 2, expected: 1 };
        assert_eq!(set.values(&[1.0, 2.0]), Err(wrong));
    }
}
