//! The scene from the side at a few times.

use std::fmt::Write;

use isobar::multibody::{Model, State};
use isobar::rollout::Trajectory;
use isobar::spatial::RigidTransform;
use nalgebra::Vector3;

/// Pixels per metre.
const SCALE: f64 = 430.0;
/// What a panel shows, m: x from and to, z from and to.
const VIEW: [f64; 4] = [-0.29, 0.73, -0.02, 0.56];
/// Height of a panel's title, pixels.
const TOP: f64 = 26.0;

/// A body drawn as boxes (middle and half of the size, x and z, m) or ellipses.
const SPATULA: [[f64; 4]; 2] = [[0.0, 0.0, 0.07, 0.01], [0.125, -0.0085, 0.055, 0.0015]];
const STAND: [[f64; 4]; 2] = [[-0.055, 0.0, 0.01, 0.05], [0.12, 0.0, 0.01, 0.05]];
const STOVE: [[f64; 4]; 2] = [[0.0, 0.0, 0.13, 0.05], [0.105, 0.06, 0.01, 0.01]];
const PANCAKE: [f64; 2] = [0.07, 0.01];
const PAD: [f64; 2] = [0.025, 0.025];
/// Links whose origins the arm's line passes: those of either arm.
const ARM: [&str; 14] = [
    "base",
    "shoulder",
    "upper_arm",
    "forearm",
    "wrist_1",
    "wrist_2",
    "j2n6s300_link_1",
    "j2n6s300_link_2",
    "j2n6s300_link_3",
    "j2n6s300_link_4",
    "j2n6s300_link_5",
    "j2n6s300_link_6",
    "hand",
    "left_finger",
];

struct Panel<'a> {
    model: &'a Model,
    poses: Vec<RigidTransform>,
    left: f64,
    top: f64,
}

impl Panel<'_> {
    fn pose(&self, name: &str) -> Option<RigidTransform> {
        self.model.body_index(name).map(|body| self.poses[body])
    }

    fn at(&self, p: Vector3<f64>) -> String {
        let (x, y) = (self.left + (p.x - VIEW[0]) * SCALE, self.top + (VIEW[3] - p.z) * SCALE);
        format!("{x:.1} {y:.1}")
    }

    /// A closed line through points of a body's xz plane.
    fn outline(&self, out: &mut String, body: &str, points: impl Iterator<Item = [f64; 2]>, colour: &str) {
        let Some(pose) = self.pose(body) else { return };
        let line: Vec<String> = points
            .map(|[x, z]| self.at(pose.translation + pose.rotation * Vector3::new(x, 0.0, z)))
            .collect();
        let _ = writeln!(
            out,
            "<path d=\"M{}Z\" fill=\"{colour}\" fill-opacity=\"0.45\" stroke=\"{colour}\"/>",
            line.join("L")
        );
    }

    fn boxes(&self, out: &mut String, body: &str, boxes: &[[f64; 4]], colour: &str) {
        for [x, z, a, c] in boxes {
            let corners = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
            self.outline(out, body, corners.into_iter().map(|[u, w]| [x + u * a, z + w * c]), colour);
        }
    }

    fn ellipse(&self, out: &mut String, body: &str, [a, c]: [f64; 2], colour: &str) {
        let angles = (0..48).map(|k| f64::from(k) * std::f64::consts::TAU / 48.0);
        self.outline(out, body, angles.map(|t| [a * t.cos(), c * t.sin()]), colour);
    }
}

/// Panels at these times, s, two in a row.
pub fn svg(model: &Model, trajectory: &Trajectory, times: &[f64]) -> String {
    let size = [(VIEW[1] - VIEW[0]) * SCALE, (VIEW[3] - VIEW[2]) * SCALE];
    let rows = times.len().div_ceil(2) as f64;
    let (width, height) = (2.0 * (size[0] + 8.0) + 8.0, rows * (size[1] + TOP) + 8.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" font-size=\"15\">\n<rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"white\"/>\n"
    );
    for (k, &time) in times.iter().enumerate() {
        let step = trajectory.times.partition_point(|&t| t < time - 1e-9);
        let state: &State = &trajectory.states[step.min(trajectory.states.len() - 1)];
        let mut frames = Vec::new();
        model.body_frames(state, &mut frames);
        let left = 8.0 + (k % 2) as f64 * (size[0] + 8.0);
        let top = TOP + (k / 2) as f64 * (size[1] + TOP);
        let panel = Panel { model, poses: frames.iter().map(|f| f.pose).collect(), left, top };
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{time:.1} s</text>\n<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"none\" stroke=\"#bbb\"/>",
            left + 0.5 * size[0],
            top - 8.0,
            size[0],
            size[1]
        );
        panel.boxes(&mut out, "stove", &STOVE, "#7f7f7f");
        panel.boxes(&mut out, "stand", &STAND, "#c7c7c7");
        let arm: Vec<String> =
            ARM.iter().filter_map(|name| panel.pose(name)).map(|x| panel.at(x.translation)).collect();
        let _ = writeln!(
            out,
            "<path d=\"M{}\" fill=\"none\" stroke=\"#333\" stroke-width=\"5\" stroke-linejoin=\"round\" stroke-opacity=\"0.6\"/>",
            arm.join("L")
        );
        panel.ellipse(&mut out, "left_finger", PAD, "#2ca02c");
        panel.boxes(&mut out, "spatula", &SPATULA, "#1f77b4");
        panel.ellipse(&mut out, "pancake", PANCAKE, "#d68910");
    }
    out + "</svg>\n"
}
