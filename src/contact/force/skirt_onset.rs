//! The onset of contact: how the elastic pressure begins where bodies have a skirt.
//!
//! A skirt (see [`crate::field::PressureField::with_skirt`]) continues a body's pressure below
//! zero outside of it, so that two bodies have a surface of equal pressure before they touch. What
//! acts on that surface is a smooth positive part of the pressure: forces, and with them
//! gradients, begin before touch and grow into those of the bodies without skirts. Without a skirt
//! the pressure acts as it is. On a face it acts at the points of the quadrature: with one point to
//! a polygon, faces that are large against the onset's part of the surface are only roughly right.

use crate::scalar::{DualArray, Scalar};

/// The pressure that acts where the fields' is `p`, in Pa, and its derivative with respect to `p`. The
/// width `w` in Pa, at least 0, is the amount by which the pressure reaches below zero.
///
/// The pressure that acts is 0 up to −w, (p + w)²/(4 w) between −w and w, and p from there on: its
/// derivative is continuous. At w = 0 it is p itself.
#[inline(always)]
pub fn onset<T: Scalar>(p: T, w: T) -> (T, T) {
    let (value, width) = (p.real(), w.real());
    if width == 0.0 || value >= width {
        (p, T::from(1.0))
    } else if value <= -width {
        (T::from(0.0), T::from(0.0))
    } else {
        let slope = (p + w) / (w * 2.0);
        (w * slope * slope, slope)
    }
}

/// The pressure of [`onset`] with its derivatives with respect to the pressure and the width.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnsetSlopes {
    /// The pressure that acts, Pa.
    pub value: f64,
    /// Its derivative with respect to the fields' pressure.
    pub by_pressure: f64,
    /// Its derivative with respect to the width.
    pub by_width: f64,
}

impl OnsetSlopes {
    /// At the pressure `p` and the width `w`.
    #[inline(always)]
    pub fn new(p: f64, w: f64) -> Self {
        if w == 0.0 {
            return Self { value: p, by_pressure: 1.0, by_width: 0.0 };
        }
        let (value, _) = onset(DualArray::<2>::variable(p, 0), DualArray::variable(w, 1));
        Self { value: value.re, by_pressure: value.eps[0], by_width: value.eps[1] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn the_onset_is_smooth_and_exact_outside() {
        assert_eq!(onset(-3.0, 2.0), (0.0, 0.0));
        assert_eq!(onset(3.0, 2.0), (3.0, 1.0));
        assert_eq!(onset(-1e-20, 0.0), (-1e-20, 1.0));
        for p in [-2.0_f64, 2.0] {
            let (below, above) = (onset(p - 1e-9, 2.0), onset(p + 1e-9, 2.0));
            assert!((below.0 - above.0).abs() < 3e-9 && (below.1 - above.1).abs() < 1e-9);
        }
        assert_eq!(onset(0.0, 2.0), (0.5, 0.5));
    }

    #[test]
    fn derivatives_agree_with_differences() {
        let h = 1e-5;
        for (p, w) in [(-3.1, 2.0), (-1.3, 2.0), (0.0, 2.0), (1.7, 2.0), (2.5, 2.0), (0.4, 0.0)] {
            let slopes = OnsetSlopes::new(p, w);
            let (value, slope) = onset(p, w);
            assert_eq!((slopes.value, slopes.by_pressure), (value, slope));
            let by_p = (onset(p + h, w).0 - onset(p - h, w).0) / (2.0 * h);
            assert_relative_eq!(slopes.by_pressure, by_p, epsilon = 1e-9);
            if w > 0.0 {
                let by_w = (onset(p, w + h).0 - onset(p, w - h).0) / (2.0 * h);
                assert_relative_eq!(slopes.by_width, by_w, epsilon = 1e-9);
                let dual = onset(DualArray::<2>::variable(p, 0), DualArray::variable(w, 1)).1;
                let by_p = (onset(p + h, w).1 - onset(p - h, w).1) / (2.0 * h);
                let by_w = (onset(p, w + h).1 - onset(p, w - h).1) / (2.0 * h);
                assert_relative_eq!(dual.eps[0], by_p, epsilon = 1e-9);
                assert_relative_eq!(dual.eps[1], by_w, epsilon = 1e-9);
            }
        }
    }
}
