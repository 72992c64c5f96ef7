//! How long steps take, in processor time of this thread.

use isobar::geometry::Shape;
use isobar::multibody::{BodyState, State};
use isobar::spatial::RigidTransform;
use isobar::step::{ComplementarityMethod, Integrator, StepProblem, StepWorkspace};
use rustix::time::{ClockId, clock_gettime};

use crate::hotz::shape;
use crate::scenes::{self, on_plane};

fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

/// The shortest time of ten, s.
fn shortest(mut run: impl FnMut()) -> f64 {
    let time = |run: &mut dyn FnMut()| {
        let begin = now();
        run();
        now() - begin
    };
    (0..10).map(|_| time(&mut run)).fold(f64::INFINITY, f64::min)
}

#[test]
#[ignore = "measures time, which is told and not judged"]
fn study_times_of_steps() {
    use ComplementarityMethod::{Bilateral, Ecp, Lcp, Ncp};
    for scene in [scenes::desk(), scenes::tee(), scenes::dumbbell()] {
        for method in [Ecp, Lcp, Ncp] {
            let steps = scene.duration / scenes::STEP;
            if let Err(error) = scene.simulate(method) {
                println!("{} {method:?}: {error}", scene.name);
                continue;
            }
            let time = shortest(|| assert!(scene.simulate(method).is_ok()));
            println!("{} {method:?}: {:.1} µs a step", scene.name, 1e6 * time / steps);
        }
    }
    // Two boxes on a plane have eight contacts.
    for friction in [0.0, 0.4] {
        let cuboid = Shape::Box { size: [0.2, 0.2, 0.1] };
        let bodies = vec![shape(cuboid, 1.0, "a"), shape(cuboid, 1.0, "b")];
        let model = on_plane(bodies, friction, [1.0, 1.0, 0.05], 9.81);
        let at = |x: f64| {
            let mut body = BodyState::at_rest(&RigidTransform::from_translation([x, 0.0, 0.05]));
            body.velocity.translational.x = 0.3;
            body
        };
        let state = State::of_bodies(vec![at(-1.0), at(1.0)]);
        let mut workspace = StepWorkspace::default();
        for method in [Lcp, Ncp, Bilateral, Ecp] {
            let problem = StepProblem::new(&model, &state, 0.01);
            let integrator = Integrator::Complementarity(method);
            let time = shortest(|| {
                for _ in 0..100 {
                    assert!(integrator.step(&problem, &mut workspace).is_ok());
                }
            });
            println!("eight contacts, friction {friction}, {method:?}: {:.1} µs", 1e6 * time / 100.0);
        }
    }
}
