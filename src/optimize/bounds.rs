//! Bounds on variables, as solvers keep them.

use crate::optimize::data_error::InvalidField;
use argmin::core::Error;
use serde::{Deserialize, Serialize};

/// Lower and upper bounds of all variables (±∞ where there is none), where there are any.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "SavedBounds", into = "SavedBounds")]
pub(super) struct Bounds(Option<(Vec<f64>, Vec<f64>)>);

impl Bounds {
    /// Takes bounds, but not those of different number, nor lower ones that are above their upper ones
    /// or NaN.
    pub(super) fn new(lower: Vec<f64>, upper: Vec<f64>) -> Result<Self, Error> {
        if lower.len() != upper.len() {
            return Err(Error::msg(format!("{} lower bounds and {} upper bounds", lower.len(), upper.len())));
        }
        match (0..lower.len()).find(|&i| lower[i].partial_cmp(&upper[i]).is_none_or(|o| o.is_gt())) {
            Some(i) => Err(Error::msg(format!(
                "bounds of variable {i}: lower {} must not exceed upper {}",
                lower[i], upper[i]
            ))),
            None => Ok(Self(Some((lower, upper)))),
        }
    }

    /// Whether there are none, not even infinite ones.
    pub(super) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Those of one variable.
    pub(super) fn of(&self, i: usize) -> (f64, f64) {
        self.0.as_ref().map_or((f64::NEG_INFINITY, f64::INFINITY), |(lower, upper)| (lower[i], upper[i]))
    }

    /// Those of so many variables.
    pub(super) fn all(&self, variables: usize) -> (Vec<f64>, Vec<f64>) {
        (0..variables).map(|i| self.of(i)).unzip()
    }

    /// A value of a variable, moved into its bounds; a number that is none stays that.
    pub(super) fn moved_inside(&self, i: usize, x: f64) -> f64 {
        let (lower, upper) = self.of(i);
        x.clamp(lower, upper)
    }

    /// Variables to start from, moved into their bounds.
    ///
    /// # Errors
    /// When there are bounds for another number of variables.
    pub(super) fn start(&self, x: &[f64]) -> Result<Vec<f64>, Error> {
        match &self.0 {
            Some((lower, _)) if lower.len() != x.len() => {
                Err(Error::msg(format!("bounds for {} variables, but there are {}", lower.len(), x.len())))
            }
            _ => Ok(x.iter().enumerate().map(|(i, &x)| self.moved_inside(i, x)).collect()),
        }
    }

    /// Whether those of a checkpoint are those of the run that goes on from it.
    pub(super) fn check(&self, (lower, upper): (&[f64], &[f64])) -> Result<(), InvalidField> {
        match &self.0 {
            Some((l, u)) if l == lower && u == upper => Ok(()),
            _ => Err(InvalidField {
                field: "solver.bounds".to_owned(),
                found: "other bounds".to_owned(),
                allowed: "those of the problem".to_owned(),
            }),
        }
    }

    /// Whether a variable sits on a bound and would leave it downhill.
    pub(super) fn holds(&self, i: usize, x: f64, gradient: f64) -> bool {
        held(x, gradient, self.of(i))
    }

    /// As [`projected_gradient_norm`] of slices.
    pub(super) fn projected_gradient_norm(&self, x: &[f64], gradient: &[f64]) -> f64 {
        let (lower, upper) = self.all(x.len());
        projected_gradient_norm(x, gradient, &lower, &upper)
    }
}

/// Whether a variable sits on one of its bounds and would leave it downhill.
pub(super) fn held(x: f64, gradient: f64, (lower, upper): (f64, f64)) -> bool {
    x <= lower && gradient >= 0.0 || x >= upper && gradient <= 0.0
}

/// The largest derivative with respect to a variable that may move downhill: those that sit on a bound
/// and would leave it do not count.
pub(super) fn projected_gradient_norm(x: &[f64], gradient: &[f64], lower: &[f64], upper: &[f64]) -> f64 {
    let mut norm = 0.0_f64;
    for (i, &g) in gradient.iter().enumerate() {
        if !held(x[i], g, (lower[i], upper[i])) {
            norm = norm.max(g.abs());
        }
    }
    norm
}

/// Bounds in a file, with nothing in the place of an infinite one: not every format has infinity.
#[derive(Serialize, Deserialize)]
struct SavedBounds(Option<(SavedNumbers, SavedNumbers)>);

type SavedNumbers = Vec<Option<f64>>;

impl From<Bounds> for SavedBounds {
    fn from(bounds: Bounds) -> Self {
        let finite = |all: Vec<f64>| all.into_iter().map(|x| Some(x).filter(|x| x.is_finite())).collect();
        Self(bounds.0.map(|(lower, upper)| (finite(lower), finite(upper))))
    }
}

impl TryFrom<SavedBounds> for Bounds {
    type Error = Error;

    fn try_from(saved: SavedBounds) -> Result<Self, Error> {
        let or = |all: Vec<Option<f64>>, none: f64| all.into_iter().map(|x| x.unwrap_or(none)).collect();
        match saved.0 {
            Some((lower, upper)) => Self::new(or(lower, f64::NEG_INFINITY), or(upper, f64::INFINITY)),
            None => Ok(Self(None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gives_back_the_same_bounds() {
        let bounds = Bounds::new(vec![f64::NEG_INFINITY, 0.1], vec![1.0 / 3.0, f64::INFINITY]).unwrap();
        for bounds in [bounds, Bounds::default()] {
            let text = serde_json::to_string(&bounds).unwrap();
            assert_eq!(serde_json::from_str::<Bounds>(&text).unwrap(), bounds, "{text}");
        }
        let crossed = serde_json::from_str::<Bounds>("[[1.0], [0.5]]").unwrap_err().to_string();
        assert!(crossed.contains("lower 1 must not exceed upper 0.5"), "{crossed}");
    }

    #[test]
    fn only_variables_that_may_move_downhill_count() {
        let bounds = Bounds::new(vec![0.0; 4], vec![1.0; 4]).unwrap();
        // On the lower bound pushed out, on the upper one pushed out, pulled in, and between.
        let norm = |gradient: [f64; 4]| bounds.projected_gradient_norm(&[0.0, 1.0, 1.0, 0.5], &gradient);
        assert_eq!(norm([9.0, -8.0, 3.0, -2.0]), 3.0);
        assert_eq!(norm([9.0, -8.0, 0.0, -2.0]), 2.0);
        assert_eq!(Bounds::default().projected_gradient_norm(&[0.0], &[-7.0]), 7.0);
        assert!(bounds.start(&[0.0; 3]).unwrap_err().to_string().contains("bounds for 4 variables"));
        assert_eq!(bounds.start(&[-1.0, 0.2, 2.0, 1.0]).unwrap(), [0.0, 0.2, 1.0, 1.0]);
    }
}
