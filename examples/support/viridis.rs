//! Colours of numbers in pictures.

/// Colours from low to high, evenly spaced (the map "viridis").
const COLOURS: [[f64; 3]; 6] = [
    [68.0, 1.0, 84.0],
    [65.0, 68.0, 135.0],
    [42.0, 120.0, 142.0],
    [34.0, 168.0, 132.0],
    [122.0, 209.0, 81.0],
    [253.0, 231.0, 37.0],
];

/// The colour of a part from 0 to 1.
pub fn colour(part: f64) -> String {
    let x = part.clamp(0.0, 1.0) * (COLOURS.len() - 1) as f64;
    let i = (x as usize).min(COLOURS.len() - 2);
    let [r, g, b] = [0, 1, 2].map(|k| {
        let (low, high) = (COLOURS[i][k], COLOURS[i + 1][k]);
        (low + (high - low) * (x - i as f64)).round() as u8
    });
    format!("#{r:02x}{g:02x}{b:02x}")
}
