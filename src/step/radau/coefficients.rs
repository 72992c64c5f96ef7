//! The coefficients of the Radau IIA methods of one, two and three stages.
//!
//! A step of length h from the state y₀ at the time t₀ solves, for the increments zᵢ of its s stages,
//!
//! ```text
//! zᵢ = h Σⱼ Aᵢⱼ f(t₀ + cⱼ h, y₀ + zⱼ),     y₁ = y₀ + zₛ.
//! ```
//!
//! The nodes c are the zeros of dˢ⁻¹/dxˢ⁻¹ (xˢ⁻¹ (x − 1)ˢ), of which the last is 1, and A follows from
//! collocation: Σⱼ Aᵢⱼ cⱼᵏ⁻¹ = cᵢᵏ / k for k = 1 … s (Hairer and Wanner, section IV.5).
//!
//! Newton's method does not work with A, but with the eigenvalues of its inverse (section IV.8):
//! A⁻¹ T = T Λ, where Λ has the real eigenvalue γ on its diagonal, if s is odd, and then a block
//! (α, −β; β, α) for the pair α ± iβ, if s > 1. The columns of T are an eigenvector for γ and the real part
//! and the negative imaginary part of one for α + iβ, scaled so that the last row of T is (1, 1, 0). With
//! A cᵏ⁻¹ = cᵏ/k the components of an eigenvector for λ are, up to a factor, the values at the nodes of
//!
//! ```text
//! s = 2:  x − λ/6,          s = 3:  x² + (λ²/30 − 3λ/10) x + λ/30.
//! ```

use nalgebra::Complex;

/// A Radau IIA method, named by its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RadauOrder {
    /// One stage: the implicit Euler method.
    First,
    /// Two stages.
    Third,
    /// Three stages.
    Fifth,
}

impl RadauOrder {
    /// All methods, by ascending order.
    pub(in crate::step) const ALL: [Self; 3] = [Self::First, Self::Third, Self::Fifth];

    /// The number of stages s.
    pub const fn stages(self) -> usize {
        match self {
            Self::First => 1,
            Self::Third => 2,
            Self::Fifth => 3,
        }
    }

    /// The order 2s − 1 of the states at the ends of steps.
    pub const fn number(self) -> i32 {
        2 * self.stages() as i32 - 1
    }

    /// The method of this order; `None` if there is none.
    pub(in crate::step) fn of_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.number() == number)
    }

    /// The coefficients of the method.
    pub(in crate::step) const fn coefficients(self) -> &'static Coefficients {
        match self {
            Self::First => &FIRST,
            Self::Third => &THIRD,
            Self::Fifth => &FIFTH,
        }
    }

    /// The method of one stage less; of the lowest order the method itself.
    pub(in crate::step) const fn lower(self) -> Self {
        match self {
            Self::First | Self::Third => Self::First,
            Self::Fifth => Self::Third,
        }
    }

    /// The method of one stage more; of the highest order the method itself.
    pub(in crate::step) const fn higher(self) -> Self {
        match self {
            Self::First => Self::Third,
            Self::Third | Self::Fifth => Self::Fifth,
        }
    }
}

/// The numbers of a method of s stages; matrices are lists of s rows.
#[derive(Debug)]
pub(in crate::step) struct Coefficients {
    /// The nodes c, ascending, in parts of the step.
    pub(in crate::step) nodes: &'static [f64],
    pub(in crate::step) matrix: &'static [&'static [f64]],
    /// The real eigenvalue γ of A⁻¹, if s is odd.
    pub(in crate::step) real_eigenvalue: Option<f64>,
    /// The complex eigenvalue α + iβ of A⁻¹ with β > 0, if s > 1.
    pub(in crate::step) complex_eigenvalue: Option<Complex<f64>>,
    /// The matrix T.
    pub(in crate::step) transformation: &'static [&'static [f64]],
    /// The matrix T⁻¹.
    pub(in crate::step) inverse_transformation: &'static [&'static [f64]],
    /// The weights dᵢ with q'(0) = Σᵢ dᵢ zᵢ for the collocation polynomial q, which is 0 at 0 and zᵢ at cᵢ;
    /// the derivative is with respect to the part of the step.
    pub(in crate::step) initial_slope: &'static [f64],
    /// The weight γ₀ of the rate at the start of the step in the formula that errors are estimated with
    /// (see [`error_estimate`](super::error_estimate)).
    pub(in crate::step) error_weight: f64,
}

/// The implicit Euler method.
const FIRST: Coefficients = Coefficients {
    nodes: &[1.0],
    matrix: &[&[1.0]],
    real_eigenvalue: Some(1.0),
    complex_eigenvalue: None,
    transformation: &[&[1.0]],
    inverse_transformation: &[&[1.0]],
    initial_slope: &[1.0],
    error_weight: 0.5,
};

/// Two stages: c = (1/3, 1), A = (5/12, −1/12; 3/4, 1/4), and A⁻¹ has the eigenvalues 2 ± i√2.
const THIRD: Coefficients = Coefficients {
    nodes: &[1.0 / 3.0, 1.0],
    matrix: &[&[5.0 / 12.0, -1.0 / 12.0], &[3.0 / 4.0, 1.0 / 4.0]],
    real_eigenvalue: None,
    complex_eigenvalue: Some(Complex::new(2.0, std::f64::consts::SQRT_2)),
    // (1/9, 2√2/9; 1, 0)
    transformation: &[&[1.0 / 9.0, 0.31426968052735443], &[1.0, 0.0]],
    // (0, 1; 9√2/4, −√2/4)
    inverse_transformation: &[&[0.0, 1.0], &[3.181980515339464, -0.3535533905932738]],
    initial_slope: &[4.5, -0.5],
    // 1/√6, the inverse of the modulus of the eigenvalues.
    error_weight: 0.408248290463863,
};

/// Three stages: c = ((4 − √6)/10, (4 + √6)/10, 1).
const FIFTH: Coefficients = Coefficients {
    nodes: &[0.1550510257216822, 0.6449489742783178, 1.0],
    // ((88 − 7√6)/360, (296 − 169√6)/1800, (−2 + 3√6)/225;
    //  (296 + 169√6)/1800, (88 + 7√6)/360, (−2 − 3√6)/225;
    //  (16 − √6)/36, (16 + √6)/36, 1/9)
    matrix: &[
        &[0.19681547722366044, -0.06553542585019839, 0.02377097434822015],
        &[0.3944243147390873, 0.29207341166522843, -0.04154875212599793],
        &[0.37640306270046725, 0.5124858261884216, 1.0 / 9.0],
    ],
    // 3 + ∛9 − ∛3
    real_eigenvalue: Some(3.637834252744496),
    // 3 + (∛3 − ∛9)/2, (3^(5/6) + 3^(7/6))/2
    complex_eigenvalue: Some(Complex::new(2.681082873627752, 3.0504301992474105)),
    // From the eigenvectors of the module's introduction.
    transformation: &[
        &[0.09443876248897524, -0.1412552950209542, -0.030029194105147424],
        &[0.2502131229653333, 0.20412935229379994, 0.3829421127572619],
        &[1.0, 1.0, 0.0],
    ],
    inverse_transformation: &[
        &[4.178718591551904, 0.32768282076106237, 0.5233764454994495],
        &[-4.178718591551904, -0.32768282076106237, 0.47662355450055044],
        &[-0.5028726349457869, 2.571926949855605, -0.5960392048282249],
    ],
    // (13 + 7√6)/3, (13 − 7√6)/3, 1/3
    initial_slope: &[10.048809399827416, -1.382142733160749, 1.0 / 3.0],
    // 1/γ, as Hairer and Wanner choose it.
    error_weight: 0.2748888295956774,
};
