//! The time of the parts of a velocity-level step, and the faces it is spent on.

use std::time::{Duration, Instant};

use isobar::contact::{ContactModel, SurfaceRepresentation};
use isobar::step::{Integrator, StepProblem, StepWorkspace};

use super::step_scenes::*;

#[test]
fn the_parts_of_a_step_take_no_longer_than_the_step() {
    let (model, mut state) = gripper(Held::Cylinder, 0.02, SurfaceRepresentation::Polygons);
    let mut workspace = StepWorkspace::default();
    assert_eq!(workspace.timing().solver, Duration::ZERO);
    for kind in MODELS {
        let integrator = Integrator::velocity_level(kind);
        for _ in 0..20 {
            let start = Instant::now();
            state = integrator
                .step(&StepProblem::new(&model, &state, 1e-3).under(&Squeeze(15.0)), &mut workspace)
                .expect("a step");
            let (elapsed, timing) = (start.elapsed(), workspace.timing());
            assert!(timing.geometry > Duration::ZERO && timing.solver > Duration::ZERO, "{timing:?}");
            assert!(timing.geometry + timing.solver <= elapsed, "{timing:?} of {elapsed:?}");
        }
    }
}

#[test]
fn polygons_are_fewer_than_triangles() {
    for (held, resolution) in
        [(Held::Ball, 0.028), (Held::Ball, 0.008), (Held::Cylinder, 0.02), (Held::Cylinder, 0.008)]
    {
        let faces = [SurfaceRepresentation::Polygons, SurfaceRepresentation::Triangles].map(|surface| {
            let (model, state) = gripper(held, resolution, surface);
            let mut workspace = StepWorkspace::default();
            let integrator = Integrator::velocity_level(ContactModel::Lagged);
            (0..50).fold(state, |state, _| {
                integrator
                    .step(&StepProblem::new(&model, &state, 1e-3).under(&Squeeze(15.0)), &mut workspace)
                    .expect("a step")
            });
            workspace.statistics().contacts as f64
        });
        let times = faces[1] / faces[0];
        // Masterjohn et al. have 4.05 times fewer (§V-B): it is the mean number of a polygon's sides.
        assert!((3.4..4.5).contains(&times), "{held:?} at {resolution} m: {times}");
    }
}
