//! Colours of a quantity between 0 and its largest value.

/// Colours from low to high, evenly spaced: the map "viridis", whose lightness rises evenly, red, green and
/// blue as screens take them (sRGB).
const VIRIDIS: [[f64; 3]; 6] = [
    [68.0, 1.0, 84.0],
    [65.0, 68.0, 135.0],
    [42.0, 120.0, 142.0],
    [34.0, 168.0, 132.0],
    [122.0, 209.0, 81.0],
    [253.0, 231.0, 37.0],
];

/// The colour of a fraction between 0 and 1: red, green and blue from 0 to 1, sRGB.
pub(super) fn viridis(fraction: f64) -> [f64; 3] {
    let x = fraction.clamp(0.0, 1.0) * (VIRIDIS.len() - 1) as f64;
    let i = (x as usize).min(VIRIDIS.len() - 2);
    std::array::from_fn(|k| {
        let (low, high) = (VIRIDIS[i][k], VIRIDIS[i + 1][k]);
        (low + (high - low) * (x - i as f64)) / 255.0
    })
}

/// An sRGB value from 0 to 1 as an amount of light (IEC 61966-2-1).
pub(super) fn linear(srgb: f64) -> f64 {
    if srgb <= 0.04045 { srgb / 12.92 } else { ((srgb + 0.055) / 1.055).powf(2.4) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_rise_in_lightness_and_end_where_the_map_does() {
        let light = |fraction: f64| {
            let [r, g, b] = viridis(fraction).map(linear);
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        for i in 0..50 {
            assert!(light(f64::from(i + 1) / 50.0) > light(f64::from(i) / 50.0));
        }
        assert_eq!(viridis(-1.0), [68.0 / 255.0, 1.0 / 255.0, 84.0 / 255.0]);
        assert_eq!(viridis(2.0), [253.0 / 255.0, 231.0 / 255.0, 37.0 / 255.0]);
        assert!((linear(0.5) - 0.214_041).abs() < 1e-6);
    }
}
