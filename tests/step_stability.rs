//! Stability of velocity-level steps: stiff contact with long steps.

mod step_scenes;

use isobar::contact::{ContactModel, ContactSettings};
use isobar::geometry::Shape;
use isobar::multibody::{Model, NoForces, State};
use isobar::spatial::{Quaternion, RigidTransform};
use isobar::step::{Integrator, StepError, StepWorkspace};
use nalgebra::Vector3;
use step_scenes::*;

struct Run {
    last: State,
    worst_energy: f64,
    most_iterations: usize,
    iterations: usize,
    steps: usize,
    without_contact: usize,
}

fn run(
    model: &Model,
    state: &State,
    kind: ContactModel,
    dt: f64,
    steps: usize,
) -> Result<Run, (usize, StepError)> {
    let mut workspace = StepWorkspace::default();
    let mut r = Run {
        last: state.clone(),
        worst_energy: f64::NEG_INFINITY,
        most_iterations: 0,
        iterations: 0,
        steps,
        without_contact: 0,
    };
    let e0 = model.mechanical_energy(state);
    for k in 0..steps {
        r.last = Integrator::velocity_level(kind)
            .step(model, &r.last, 0.0, dt, &NoForces, &[], &mut workspace)
            .map_err(|e| (k, e))?;
        let s = workspace.statistics();
        r.most_iterations = r.most_iterations.max(s.iterations);
        r.iterations += s.iterations;
        r.without_contact += usize::from(s.contacts == 0);
        r.worst_energy = r.worst_energy.max(model.mechanical_energy(&r.last) - e0);
    }
    Ok(r)
}

fn stack(modulus: f64) -> (Model, State) {
    let mut b = Builder::default();
    let m = material(modulus, 10.0, 0.01, 0.5);
    b.fixed(
        compliant(Shape::Box { size: [2.0, 2.0, 0.1] }, 1.0),
        m,
        1.0,
        RigidTransform::from_translation(Vector3::new(0.0, 0.0, -0.05)),
    );
    let cube = compliant(Shape::Box { size: [0.1; 3] }, 1.0);
    let mut z = -0.05;
    for i in 0..10 {
        z += 0.1 - f64::from(10 - i) * GRAVITY / (0.01 * modulus / 0.1);
        b.free(cube.clone(), m, 1.0, box_inertia(1.0, [0.1; 3]), None, resting(Vector3::new(0.0, 0.0, z)));
    }
    b.build(down(), ContactSettings { stiction_velocity: 1e-4, ..Default::default() })
}

fn ball(modulus: f64) -> (Model, State) {
    let mut b = Builder::default();
    let m = material(modulus, 10.0, 0.01, 0.5);
    b.fixed(
        compliant(Shape::Box { size: [40.0, 2.0, 0.1] }, 1.0),
        m,
        1.0,
        RigidTransform::from_translation(Vector3::new(0.0, 0.0, -0.05)),
    );
    let r = 0.05;
    b.free(
        compliant(Shape::Sphere { radius: r }, 0.01),
        m,
        0.5,
        ball_inertia(0.5, r),
        None,
        moving(
            Quaternion::identity(),
            Vector3::new(0.0, 0.0, r),
            Vector3::new(0.0, 1.0 / r, 0.0),
            Vector3::new(1.0, 0.0, 0.0),
        ),
    );
    b.build(down(), ContactSettings { stiction_velocity: 1e-4, ..Default::default() })
}

fn incline(modulus: f64, angle: f64) -> (Model, State) {
    let mut b = Builder::default();
    let m = material(modulus, 10.0, 0.01, 0.5);
    b.fixed(
        compliant(Shape::Box { size: [40.0, 2.0, 0.1] }, 1.0),
        m,
        1.0,
        RigidTransform::from_translation(Vector3::new(0.0, 0.0, -0.05)),
    );
    b.free(
        compliant(Shape::Box { size: [0.2, 0.1, 0.05] }, 1.0),
        m,
        1.0,
        box_inertia(1.0, [0.2, 0.1, 0.05]),
        None,
        resting(Vector3::new(0.0, 0.0, 0.025 - GRAVITY * angle.cos() / (0.02 * modulus / 0.075))),
    );
    b.build(
        Vector3::new(angle.sin(), 0.0, -angle.cos()) * GRAVITY,
        ContactSettings { stiction_velocity: 1e-4, ..Default::default() },
    )
}

fn report(name: &str, kind: ContactModel, e: f64, dt: f64, r: Result<Run, (usize, StepError)>) {
    let head = format!("{name:12} {:8} E {e:.0e} dt {dt:.0e}", format!("{kind:?}"));
    match r {
        Err((k, e)) => println!("{head} FAILED at {k}: {e}"),
        Ok(r) => {
            let s = r.last.bodies.last().unwrap();
            println!(
                "{head} p {:.3e} {:.3e} {:.8} v {:.2e} w {:.2e} energy {:.2e} it {:.2}/{} airborne {}",
                s.position.x,
                s.position.y,
                s.position.z,
                s.velocity.translational.norm(),
                s.velocity.rotational.norm(),
                r.worst_energy,
                r.iterations as f64 / r.steps as f64,
                r.most_iterations,
                r.without_contact
            );
        }
    }
}

#[test]
fn explore() {
    let only = std::env::var("ONLY").unwrap_or_default();
    for e in [1e5, 1e7, 1e9] {
        for dt in [1e-3, 1e-2] {
            for kind in MODELS {
                let n = (2.0 / dt) as usize;
                let t = std::time::Instant::now();
                if "stack".contains(&only) {
                    let (m, s) = stack(e);
                    report("stack", kind, e, dt, run(&m, &s, kind, dt, n / 2));
                }
                if "ball".contains(&only) {
                    let (m, s) = ball(e);
                    report("ball", kind, e, dt, run(&m, &s, kind, dt, 5 * n));
                }
                if "low".contains(&only) {
                    let (m, s) = incline(e, 0.4f64.atan());
                    report("low", kind, e, dt, run(&m, &s, kind, dt, n));
                }
                if "high".contains(&only) {
                    let (m, s) = incline(e, 0.7f64.atan());
                    report("high", kind, e, dt, run(&m, &s, kind, dt, n));
                }
                println!("   {:.2} s", t.elapsed().as_secs_f64());
            }
        }
    }
}
