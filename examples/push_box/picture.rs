//! The table from above: boxes at several times, their targets, and the paths of the pushers.

use std::fmt::Write;

use isobar::multibody::State;
use isobar::rollout::Trajectory;

use crate::law::Task;

/// Pixels per metre.
const SCALE: f64 = 660.0;
/// What a panel shows, m around the target: x from, x to, half of y.
const VIEW: [f64; 3] = [-0.42, 0.13, 0.2];
/// Half the box, and the radius of the pusher, m.
const HALF: f64 = 0.05;
const RADIUS: f64 = 0.02;
/// Outlines drawn of a motion.
const OUTLINES: usize = 7;
const TOP: f64 = 40.0;

/// From metres around the target to pixels.
struct Panel {
    left: f64,
    top: f64,
}

impl Panel {
    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (self.left + (x - VIEW[0]) * SCALE, self.top + (VIEW[2] - y) * SCALE)
    }

    /// The outline of a box, as a path.
    fn outline(&self, x: f64, y: f64, cosine: f64, sine: f64) -> String {
        let corner = |u: f64, v: f64| {
            let (px, py) = self.at(x + HALF * (cosine * u - sine * v), y + HALF * (sine * u + cosine * v));
            format!("{px:.1} {py:.1}")
        };
        // The front is marked by a line to it from the middle.
        let (mx, my) = self.at(x, y);
        format!(
            "M{}L{}L{}L{}ZM{mx:.1} {my:.1}L{}",
            corner(-1.0, -1.0),
            corner(1.0, -1.0),
            corner(1.0, 1.0),
            corner(-1.0, 1.0),
            corner(1.0, 0.0)
        )
    }
}

/// The pose of a box around its target: place, cosine and sine of its heading.
fn pose(task: &Task, state: &State) -> [f64; 4] {
    let body = &state.bodies[task.body];
    let rotation = body.orientation.to_matrix();
    [body.position.x - task.target[0], body.position.y - task.target[1], rotation[(0, 0)], rotation[(1, 0)]]
}

/// A row of panels for each box, a column for each motion.
pub fn svg(tasks: &[Task], motions: [(&str, &Trajectory); 2]) -> String {
    let size = [(VIEW[1] - VIEW[0]) * SCALE, 2.0 * VIEW[2] * SCALE];
    let width = 2.0 * size[0] + 30.0;
    let height = TOP + tasks.len() as f64 * (size[1] + 10.0) + 20.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"white\"/>\n"
    );
    for (column, (name, trajectory)) in motions.into_iter().enumerate() {
        let left = 10.0 + column as f64 * (size[0] + 10.0);
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"26\" text-anchor=\"middle\">{name} optimization</text>",
            left + 0.5 * size[0]
        );
        for (row, task) in tasks.iter().enumerate() {
            let panel = Panel { left, top: TOP + row as f64 * (size[1] + 10.0) };
            let _ = writeln!(
                out,
                "<svg x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" viewBox=\"{:.1} {:.1} {:.1} {:.1}\">",
                panel.left, panel.top, size[0], size[1], panel.left, panel.top, size[0], size[1]
            );
            let _ = writeln!(
                out,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#fafafa\" stroke=\"#bbb\"/>",
                panel.left, panel.top, size[0], size[1]
            );
            draw(&mut out, &panel, task, trajectory);
            out += "</svg>\n";
        }
    }
    let _ = writeln!(
        out,
        "<text x=\"10\" y=\"{:.1}\" fill=\"#555\">blue: the box over time, light to dark, a line to its front; green, dashed: its target; red: the pusher and its path</text>",
        height - 8.0
    );
    out + "</svg>\n"
}

fn draw(out: &mut String, panel: &Panel, task: &Task, trajectory: &Trajectory) {
    let last = trajectory.states.len() - 1;
    for k in 0..OUTLINES {
        // Closer together at first, when boxes move fast.
        let part = (k as f64 / (OUTLINES - 1) as f64).powi(2);
        let state = &trajectory.states[(part * last as f64).round() as usize];
        let [x, y, c, s] = pose(task, state);
        let opacity = 0.2 + 0.8 * k as f64 / (OUTLINES - 1) as f64;
        let _ = writeln!(
            out,
            "<path d=\"{}\" fill=\"none\" stroke=\"#1f77b4\" stroke-width=\"1.6\" stroke-opacity=\"{opacity:.2}\"/>",
            panel.outline(x, y, c, s)
        );
    }
    let _ = writeln!(
        out,
        "<path d=\"{}\" fill=\"none\" stroke=\"#2ca02c\" stroke-width=\"1.8\" stroke-dasharray=\"6 4\"/>",
        panel.outline(0.0, 0.0, task.target[2].cos(), task.target[2].sin())
    );
    let pusher = |state: &State| {
        let q = &state.joints.q[task.joint..];
        panel.at(q[0] - task.target[0], q[1] - task.target[1])
    };
    let mut path = String::new();
    for (k, state) in trajectory.states.iter().step_by(5).enumerate() {
        let (x, y) = pusher(state);
        let _ = write!(path, "{}{x:.1} {y:.1}", if k == 0 { "M" } else { "L" });
    }
    let _ = writeln!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"#d62728\" stroke-width=\"1.2\"/>");
    for (state, fill) in [(&trajectory.states[0], "none"), (&trajectory.states[last], "#d62728")] {
        let (x, y) = pusher(state);
        let _ = writeln!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\" fill=\"{fill}\" fill-opacity=\"0.5\" stroke=\"#d62728\"/>",
            RADIUS * SCALE
        );
    }
}
