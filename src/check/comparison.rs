//! Settings and results of comparing a derivative with differences.

use serde::Serialize;

use super::sides::Side;

/// What is added to the note of a claim that is wrong at the point and right around it.
pub(super) const NARROW: &str =
    "the derivative at the point is that of something narrower than the smallest step";

/// Settings of the comparison of a derivative with differences.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckSettings {
    /// Only parameters whose names contain one of these are checked; all where there are none.
    pub only: Vec<String>,
    /// Largest step, relative to the scale of the parameter.
    pub largest_step: f64,
    /// Smallest step, relative to the scale of the parameter.
    pub smallest_step: f64,
    /// Number of step sizes, in geometric progression; at least 8.
    pub steps: usize,
    /// Relative error up to which a derivative is right.
    pub tolerance: f64,
    /// The part of a report's rows that may be undecided (see [`Comparison::is_undecided`]) in a check
    /// that passes.
    pub undecided: f64,
    /// Of a scene: whether the poses of geometries on their bodies and of bodies that do not move are
    /// checked as well (see [`Parameter::places`](crate::multibody::Parameter::places)).
    pub places: bool,
    /// Of a scene: the number of vertices of each mesh whose coordinates are checked as well, of extents
    /// inside of it, and of knots of each load. They are taken from those that the motion depends on.
    pub vertices: usize,
}

impl Default for CheckSettings {
    /// 15 steps from 10⁻² to 10⁻⁹, tolerance 10⁻⁵, at most 2 % undecided, places, two vertices of each
    /// mesh and two knots of each load.
    fn default() -> Self {
        Self {
            only: Vec::new(),
            largest_step: 1e-2,
            smallest_step: 1e-9,
            steps: 15,
            tolerance: 1e-5,
            undecided: 0.02,
            places: true,
            vertices: 2,
        }
    }
}

impl CheckSettings {
    /// Whether a parameter of this name is to be checked.
    pub(super) fn includes(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part.as_str()))
    }
}

/// The verdict of differences on a claimed derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verdict {
    /// The derivative agrees with the differences.
    Ok,
    /// The derivative differs where the function is smooth; or at a kink it is neither that of one side,
    /// nor between both, nor that right beside.
    Wrong,
    /// Left and right differences disagree however small the step (or the value jumps), so that there
    /// is no one derivative. The claimed one is that of a side, between both or right beside, unless that
    /// cannot be told.
    Kink,
    /// Neither the function nor the claim changes with the parameter, or by no more than rounding.
    Zero,
    /// Differences are too inaccurate to decide.
    Noisy,
}

impl Verdict {
    /// Whether the derivative agrees with the differences, so that nothing is left to find out.
    pub(super) fn is_settled(self) -> bool {
        matches!(self, Self::Ok | Self::Zero)
    }
}

/// One component of a function along one parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The component's value at the point.
    pub value: f64,
    /// The claimed derivative.
    pub claimed: f64,
    /// The derivative from central differences.
    pub difference: f64,
    /// The error of `difference`, estimated from its change with the step and from rounding.
    pub difference_error: f64,
    /// The derivatives from the left and from the right, at the smallest step that resolves them.
    pub one_sided: [f64; 2],
    /// |claimed − difference| over the larger of the two; 0 where both are 0.
    pub relative_error: f64,
    /// The step (in the parameter's unit) that `difference` was taken at.
    pub step: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// At a kink, the derivative that is claimed; `None` where that cannot be told, and elsewhere.
    pub side: Option<Side>,
    /// A note on the verdict; empty if there is nothing to add.
    pub note: String,
    /// The differences at each step that counted, largest first, where the verdict is neither `ok` nor `zero`;
    /// else none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Differences>,
}

/// The differences at one step size, in the unit of the component per unit of the parameter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Differences {
    /// The step, in the parameter's unit: the mean of those to both sides, which differ by rounding.
    pub step: f64,
    /// Between the values on both sides.
    pub central: f64,
    /// Between the value on the right and that at the point.
    pub forward: f64,
    /// Between the value at the point and that on the left.
    pub backward: f64,
}

impl Comparison {
    /// Whether it is right without what errors of differences would allow.
    pub(super) fn is_clear(&self, settings: &CheckSettings) -> bool {
        let (allowed, off) =
            (settings.tolerance * self.claimed.abs(), (self.claimed - self.difference).abs());
        self.verdict == Verdict::Ok && off.max(self.difference_error) <= allowed
    }

    /// Whether differences could not decide: they are noisy, or at a kink the derivatives of its sides
    /// are not known well enough.
    pub fn is_undecided(&self) -> bool {
        match self.verdict {
            Verdict::Noisy => true,
            Verdict::Kink => self.side.is_none(),
            Verdict::Ok | Verdict::Wrong | Verdict::Zero => false,
        }
    }
}
