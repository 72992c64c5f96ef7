//! The bolt of Hotz et al. (1999), §1: it slides into its hole, overlaps nothing, and the methods agree.

use isobar::step::ComplementarityMethod;

use crate::bolt_scene::{BoltScene, FILE};

#[test]
fn a_bolt_slides_into_its_hole_and_overlaps_nothing() {
    for friction in [0.0, 0.1] {
    let scene = BoltScene::load(FILE).expect("a scene").with_friction(friction).expect("friction");
    println!("FRICTION {friction}");
    for method in [ComplementarityMethod::Bilateral, ComplementarityMethod::Ncp, ComplementarityMethod::Lcp, ComplementarityMethod::Ecp] {
        let begin = std::time::Instant::now();
        let mut state = scene.start.clone();
        let mut workspace = isobar::step::StepWorkspace::default();
        for step in 0..500 {
            let problem = isobar::step::StepProblem::new(&scene.model, &state, scene.time_step);
            match isobar::step::Integrator::Complementarity(method).step(&problem, &mut workspace) {
                Ok(next) => state = next,
                Err(error) => { println!("{method:?} {step}: {error}"); break; }
            }
            let body = &state.bodies[0];
            let d = scene.distance(body);
            if step % 50 == 49 || d < -1e-9 || (step>170 && step < 180) {
                let tilt = body.pose().rotation[(2,2)].acos();
                println!("{method:?} {step}: in {:.5} d {:.2e} xy {:.5} {:.5} tilt {:.4} contacts {:?}", scene.insertion(body), d, body.position.x, body.position.y, tilt,
                  workspace.rigid_contacts().iter().map(|c| ((c.normal.z*100.0).round()/100.0, (c.point.z*1e4).round()/1e4, c.normal_impulse)).collect::<Vec<_>>());
            }
        }
        println!("{method:?} {:?}", begin.elapsed());
    }
    }
}
