//! The example in which a gripper from an SDF file lifts a plate.

use std::path::{Path, PathBuf};

use isobar::io::ProblemFile;

use crate::{isobar, text};

fn problem() -> PathBuf {
    Path::new(crate::ROOT).join("examples/bubble_gripper/problem.toml")
}

#[test]
#[ignore = "needs the recordings and models in ../shared/data"]
fn the_bubble_gripper_loads_without_complaint_and_its_start_loses_the_plate() {
    let file = ProblemFile::load(problem()).expect("a problem");
    let scene = &file.scene;
    assert!(scene.warnings.is_empty(), "{:?}", scene.warnings);
    // Of the gripper's own ellipsoids none touches: the bubbles are there instead.
    let own =
        |name: &str| scene.model.bodies()[scene.model.body_index(name).expect("a link")].geometries.len();
    assert_eq!(["left_finger_bubble", "right_finger_bubble"].map(own), [0, 0]);
    let problem = file.problem().expect("a problem");
    let motion = problem.variables(&file.start).and_then(|x| problem.trajectory(&x)).expect("a motion");
    let plate = scene.model.body_index("plate").expect("the plate");
    let mut frames = Vec::new();
    let mut height = |i: usize| {
        scene.model.body_frames(&motion.states[i], &mut frames);
        frames[plate].pose.translation.z
    };
    let rise = height(motion.states.len() - 1) - height(0);
    assert!(rise < 0.05, "{rise}");
}

#[test]
#[ignore = "needs the recordings and models in ../shared/data"]
fn the_gradient_of_the_bubble_gripper_agrees_with_differences_at_the_start() {
    // Of fifteen knots the one at which it loses the plate.
    let path = problem();
    let only = ["--only", "at 0.8"];
    let output = isobar(&[&["gradient-check", text(&path)], &only[..]].concat());
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
}
