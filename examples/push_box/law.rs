//! The feedback law: the velocity that a pusher is told, linear in what it sees.

use isobar::multibody::{AppliedForces, ForceDependence, Forces, Model, State, StateDependence};
use isobar::scalar::Scalar;

/// What the law sees of one box and its pusher, all in the frame of the box.
pub const SEEN: [&str; 5] = [
    "target ahead, 1/s",
    "target to the left, 1/s",
    "target turned left, m/(s rad)",
    "pusher ahead of the rear face, 1/s",
    "pusher left of the middle, 1/s",
];

/// Number of gains: a row for the velocity ahead, a row for that to the left.
pub const GAINS: usize = 2 * SEEN.len();

/// One pusher behind one box.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// Place of the box among the free bodies.
    pub body: usize,
    /// First coordinate of the pusher's planar joint.
    pub joint: usize,
    /// Where the box is to be: x and y in m and heading in rad.
    pub target: [f64; 3],
}

/// The law for several boxes with the same gains, which are the control values.
#[derive(Clone, Debug)]
pub struct PushLaw {
    pub tasks: Vec<Task>,
    /// What turns a velocity into the force that keeps it against the joint's damping, N s/m.
    pub damping: f64,
    /// From the middle of the box to the middle of a pusher that touches its rear face, m.
    pub reach: f64,
}

/// The heading of a box: cosine and sine.
fn heading<T: Scalar>(state: &State<T>, body: usize) -> [T; 2] {
    let rotation = state.bodies[body].orientation.to_matrix();
    let (c, s) = (rotation[(0, 0)], rotation[(1, 0)]);
    let norm = (c * c + s * s).sqrt();
    [c / norm, s / norm]
}

impl Task {
    /// How far the box is from its target: ahead, to the left (m, in the frame of the box), and
    /// in heading (rad).
    pub fn error<T: Scalar>(&self, state: &State<T>) -> [T; 3] {
        let [c, s] = heading(state, self.body);
        let place = state.bodies[self.body].position;
        let (x, y) = (-(place.x - self.target[0]), -(place.y - self.target[1]));
        let (tc, ts) = (self.target[2].cos(), self.target[2].sin());
        [c * x + s * y, c * y - s * x, (c * ts - s * tc).atan2(c * tc + s * ts)]
    }

    /// Where the pusher is, from where it touches the middle of the rear face: ahead and to the
    /// left, m, in the frame of the box.
    fn pusher<T: Scalar>(&self, state: &State<T>, reach: f64) -> [T; 2] {
        let [c, s] = heading(state, self.body);
        let place = state.bodies[self.body].position;
        let q = &state.joints.q[self.joint..];
        let (x, y) = (q[0] - place.x, q[1] - place.y);
        [c * x + s * y + reach, c * y - s * x]
    }
}

impl AppliedForces for PushLaw {
    fn control_dimension(&self) -> usize {
        GAINS
    }

    fn apply<T: Scalar>(&self, _: &Model<T>, state: &State<T>, _: f64, gains: &[T], forces: &mut Forces<T>) {
        for task in &self.tasks {
            let [ahead, left, turned] = task.error(state);
            let [gap, side] = task.pusher(state, self.reach);
            let seen = [ahead, left, turned, gap, side];
            let told = |row: &[T]| row.iter().zip(seen).fold(T::from(0.0), |sum, (&k, x)| sum + k * x);
            let (u, v) = (told(&gains[..SEEN.len()]), told(&gains[SEEN.len()..]));
            let [c, s] = heading(state, task.body);
            forces.joints[task.joint] += (c * u - s * v) * self.damping;
            forces.joints[task.joint + 1] += (s * u + c * v) * self.damping;
        }
    }

    fn dependence(&self) -> ForceDependence {
        ForceDependence { state: StateDependence::AllBodies, model: false }
    }
}
