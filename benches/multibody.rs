//! How fast the dynamics of a mechanism are, printed next to what was aimed for.
//!
//! `cargo bench --bench multibody`. Kinematics count: every measurement starts from a new state.
//! The time of a thread's own processor is measured, so that other load hardly matters.

mod clock;

use std::hint::black_box;
use std::time::{Duration, Instant};

use clock::thread_time;
use criterion::Criterion;
use isobar::multibody::tree::{
    BodyDescription, InverseDerivatives, JointDescription, JointKind, JointState, Mechanism, Workspace,
};
use isobar::spatial::{MassProperties, RigidTransform, rotation_from_rpy};
use nalgebra::{DMatrix, Matrix3, Vector3};

const GRAVITY: Vector3<f64> = Vector3::new(0.0, 0.0, -9.81);
const STATES: usize = 64;

/// An arm of seven links, each turned by a quarter against the one before.
fn arm() -> Mechanism {
    let (mut bodies, mut joints) = (Vec::new(), Vec::new());
    for i in 0..7u32 {
        let name = |i: u32| format!("link {i}");
        let size = 1.0 - 0.1 * f64::from(i);
        let mass = MassProperties {
            mass: 3.0 * size,
            center_of_mass: Vector3::new(0.01, -0.03, 0.12) * size,
            inertia: Matrix3::new(0.018, 0.001, 0.0, 0.001, 0.016, 0.004, 0.0, 0.004, 0.009) * size,
        };
        bodies.push(BodyDescription { name: name(i), mass: Some(mass) });
        let quarter = std::f64::consts::FRAC_PI_2 * if i % 2 == 0 { 1.0 } else { -1.0 };
        let x_pf = RigidTransform::new(rotation_from_rpy(quarter, 0.0, 0.0), Vector3::new(0.05, 0.0, 0.3));
        let kind = JointKind::Revolute { axis: Vector3::z() };
        let parent = i.checked_sub(1).map(name);
        joints.push(JointDescription::new(format!("joint {i}"), kind, parent.as_deref(), name(i), x_pf));
    }
    Mechanism::new(bodies, joints).unwrap()
}

fn states(mechanism: &Mechanism) -> Vec<JointState> {
    let numbers = |offset: usize, n: usize| -> Vec<f64> {
        (0..n).map(|k| 2.0 * ((k + offset) as f64 * 0.618_033_988_75).fract() - 1.0).collect()
    };
    (0..STATES)
        .map(|i| {
            let q = numbers(17 * i, mechanism.configuration_dimension());
            mechanism.state(q, numbers(17 * i + 7, mechanism.velocity_dimension()))
        })
        .collect()
}

/// Processor time per call in seconds, the least of all samples; `None` if the command line left
/// the case out.
fn measure(criterion: &mut Criterion, name: &str, mut function: impl FnMut(usize)) -> Option<f64> {
    let mut least = None;
    criterion.bench_function(name, |bencher| {
        bencher.iter_custom(|calls| {
            let (start, cpu) = (Instant::now(), thread_time());
            for call in 0..calls {
                function(call as usize % STATES);
            }
            let time = (thread_time() - cpu).as_secs_f64() / calls as f64;
            least = Some(least.map_or(time, |l: f64| l.min(time)));
            start.elapsed()
        });
    });
    least
}

fn main() {
    let mut criterion = Criterion::default()
        .without_plots()
        .sample_size(30)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600))
        .configure_from_args();
    let c = &mut criterion;

    let arm = arm();
    let states = states(&arm);
    let mut w = Workspace::new(&arm);
    let n = arm.velocity_dimension();
    let mut out = vec![0.0; n];
    let mut matrix = DMatrix::zeros(n, n);
    let mut derivatives = InverseDerivatives::new(&arm);

    let kinematics = measure(c, "kinematics", |i| {
        let s = black_box(&states[i]);
        arm.update_kinematics(&s.q, &s.v, &mut w);
        black_box(&w);
    });
    let rnea = measure(c, "inverse dynamics (RNEA)", |i| {
        let s = black_box(&states[i]);
        arm.update_kinematics(&s.q, &s.v, &mut w);
        arm.inverse_dynamics(&mut w, &s.v, &GRAVITY, &[], &mut out);
        black_box(&out);
    });
    let crba = measure(c, "mass matrix (CRBA)", |i| {
        let s = black_box(&states[i]);
        arm.update_kinematics(&s.q, &s.v, &mut w);
        arm.mass_matrix(&mut w, &mut matrix);
        black_box(&matrix);
    });
    let aba = measure(c, "forward dynamics (ABA)", |i| {
        let s = black_box(&states[i]);
        arm.update_kinematics(&s.q, &s.v, &mut w);
        arm.forward_dynamics(&mut w, &s.v, &GRAVITY, &[], &mut out);
        black_box(&out);
    });
    let by_all = measure(c, "derivatives of inverse dynamics by q and v", |i| {
        let s = black_box(&states[i]);
        arm.update_kinematics(&s.q, &s.v, &mut w);
        arm.inverse_dynamics_derivatives(&mut w, &s.v, &GRAVITY, &[], &mut out, &mut derivatives);
        black_box(&derivatives);
    });
    criterion.final_summary();

    println!("\n{:<50} {:>10} {:>10}", "arm of 7 joints", "measured", "target");
    let time = |name: &str, seconds: Option<f64>, target: Option<f64>| {
        let Some(seconds) = seconds else { return };
        let aim = target.map_or(String::new(), |t| format!("≤ {:.1} µs", t * 1e6));
        let met = target.map_or("", |t| if seconds <= t { "yes" } else { "NO" });
        println!("{name:<50} {:>7.2} µs {aim:>10} {met}", seconds * 1e6);
    };
    time("kinematics", kinematics, None);
    time("inverse dynamics (RNEA)", rnea, Some(1.5e-6));
    time("mass matrix (CRBA)", crba, None);
    time("forward dynamics (ABA)", aba, Some(3e-6));
    time("derivatives of inverse dynamics by q and v", by_all, None);
    if let (Some(by_all), Some(rnea)) = (by_all, rnea) {
        println!("{:<50} {:>10.2}", "their time over that of inverse dynamics", by_all / rnea);
    }
}
