//! Identities of the dynamics of random mechanisms: branching trees with joints of all kinds.

use crate::mechanisms::{forces, mass, mechanism, number, numbers, pose, quaternion, random, state, vector};
use isobar::multibody::tree::{
    BodyDescription, BodyForce, InverseDerivatives, JointDescription, JointKind, JointState, Mechanism,
    StepInput, Workspace,
};
use isobar::multibody::{BodyState, body_acceleration};
use isobar::scalar::{DualArray, Scalar};
use isobar::spatial::{MassProperties, Quaternion, RigidTransform, SpatialForce, SpatialVelocity};
use nalgebra::{DMatrix, DVector, Matrix6xX, Vector3};
use num_dual::Dual64;
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;

const GRAVITY: Vector3<f64> = Vector3::new(0.3, -0.4, -9.7);

/// The largest magnitude of numbers, and at least 1.
fn scale_of(numbers: &[f64]) -> f64 {
    numbers.iter().fold(1.0, |s, x| s.max(x.abs()))
}

/// Numbers agree to a tolerance relative to the largest of them, and at least 1.
fn assert_close(got: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), expected.len());
    let scale = scale_of(expected);
    for (i, (g, e)) in got.iter().zip(expected).enumerate() {
        assert!((g - e).abs() <= tolerance * scale, "{what}: {i}: {g} {e}, scale {scale}");
    }
}

/// A random mechanism of `count` bodies and a state of it, and the random numbers to go on with.
fn random_case(seed: u64, count: usize) -> (ChaCha8Rng, Mechanism, JointState) {
    let mut rng = random(seed);
    let mechanism = mechanism(&mut rng, count, None);
    let state = state(&mut rng, &mechanism);
    (rng, mechanism, state)
}

fn at(mechanism: &Mechanism, state: &JointState) -> Workspace {
    let mut workspace = Workspace::new(mechanism);
    mechanism.update_kinematics(&state.q, &state.v, &mut workspace);
    workspace
}

fn matrix(mechanism: &Mechanism, workspace: &mut Workspace) -> DMatrix<f64> {
    let n = mechanism.velocity_dimension();
    let mut m = DMatrix::zeros(n, n);
    mechanism.mass_matrix(workspace, &mut m);
    m
}

/// Forces that give an acceleration.
fn inverse(
    mechanism: &Mechanism,
    state: &JointState,
    vdot: &[f64],
    gravity: &Vector3<f64>,
    applied: &[BodyForce],
) -> Vec<f64> {
    let mut tau = vec![0.0; vdot.len()];
    mechanism.inverse_dynamics(&mut at(mechanism, state), vdot, gravity, applied, &mut tau);
    tau
}

/// Acceleration that forces give.
fn forward(mechanism: &Mechanism, state: &JointState, tau: &[f64], applied: &[BodyForce]) -> Vec<f64> {
    let mut vdot = vec![0.0; tau.len()];
    mechanism.forward_dynamics(&mut at(mechanism, state), tau, &GRAVITY, applied, &mut vdot);
    vdot
}

/// The state with a derivative along a direction of the configuration's tangent space and one of
/// the velocity.
fn along(
    mechanism: &Mechanism,
    state: &JointState,
    by_q: &[f64],
    by_v: &[f64],
) -> (Mechanism<Dual64>, JointState<Dual64>, Workspace<Dual64>) {
    let dual = Mechanism::<Dual64>::lift(mechanism);
    let start = JointState::<Dual64>::lift(state);
    let delta: Vec<Dual64> = by_q.iter().map(|d| Dual64::new(0.0, *d)).collect();
    let mut q = start.q.clone();
    dual.move_configuration(&start.q, &delta, &mut q);
    let v = state.v.iter().zip(by_v).map(|(v, d)| Dual64::new(*v, *d)).collect();
    let moved = dual.state(q, v);
    let mut workspace = Workspace::new(&dual);
    dual.update_kinematics(&moved.q, &moved.v, &mut workspace);
    (dual, moved, workspace)
}

/// The state a moment after: derivatives of what is computed from it are rates in time.
fn moving(
    mechanism: &Mechanism,
    state: &JointState,
    vdot: &[f64],
) -> (Mechanism<Dual64>, JointState<Dual64>, Workspace<Dual64>) {
    along(mechanism, state, &state.v, vdot)
}

fn rates(v: &Vector3<Dual64>) -> Vector3<f64> {
    v.map(|x| x.eps)
}

/// Forces that give an acceleration, from Newton's and Euler's laws for each body about its
/// centre of mass, with accelerations by automatic differentiation of kinematics.
fn newton_and_euler(mechanism: &Mechanism, s: &JointState, vdot: &[f64], applied: &[BodyForce]) -> Vec<f64> {
    let workspace = at(mechanism, s);
    let (dual, _, moving) = moving(mechanism, s, vdot);
    let mut tau = vec![0.0; vdot.len()];
    for (index, body) in mechanism.bodies().iter().enumerate() {
        let m = body.mass.expect("mass");
        let x_wb = workspace.body_pose(mechanism, index);
        let c = x_wb.rotation * m.center_of_mass;
        let inertia = x_wb.rotation * m.inertia * x_wb.rotation.transpose();
        let velocity = moving.body_velocity(&dual, index);
        let c_dual = moving.body_pose(&dual, index).rotation * m.center_of_mass.map(Into::into);
        let acceleration = rates(&velocity.shifted(&c_dual).translational);
        let spin = velocity.rotational.map(|x| x.re);
        let mut force = (acceleration - GRAVITY) * m.mass;
        let mut moment = inertia * rates(&velocity.rotational) + spin.cross(&(inertia * spin));
        for f in applied.iter().filter(|f| f.body == index) {
            force -= f.force.translational;
            moment -= f.force.shifted(&c).rotational;
        }
        for (k, column) in workspace.jacobian_columns(mechanism, index, &c) {
            tau[k] += column.rotational.dot(&moment) + column.translational.dot(&force);
        }
    }
    for joint in mechanism.joints() {
        for k in joint.v.clone() {
            tau[k] += joint.rotor_inertia * vdot[k];
        }
    }
    tau
}

proptest! {
    #[test]
    fn half_v_m_v_is_the_kinetic_energy(seed: u64, count in 1..9usize) {
        let (_, m, s) = random_case(seed, count);
        let mut workspace = at(&m, &s);
        let v = DVector::from_column_slice(&s.v);
        let quadratic = 0.5 * v.dot(&(matrix(&m, &mut workspace) * &v));
        // Body by body, and the rotors.
        let mut energy = 0.0;
        for (index, body) in m.bodies().iter().enumerate() {
            let mass = body.mass.expect("mass");
            let r = workspace.body_pose(&m, index).rotation;
            let velocity = workspace.body_velocity(&m, index);
            let spin = r.transpose() * velocity.rotational;
            energy += 0.5 * spin.dot(&(mass.inertia * spin));
            energy += 0.5 * mass.mass * velocity.shifted(&(r * mass.center_of_mass)).translational.norm_squared();
        }
        for joint in m.joints() {
            energy += joint.v.clone().map(|k| 0.5 * joint.rotor_inertia * s.v[k] * s.v[k]).sum::<f64>();
        }
        assert_close(&[quadratic, m.kinetic_energy(&workspace, &s.v)], &[energy; 2], 1e-12, "energy");
    }

    #[test]
    fn inverse_dynamics_is_newtons_and_eulers_law_for_each_body(seed: u64, count in 1..9usize) {
        let (mut rng, m, s) = random_case(seed, count);
        let vdot = numbers(&mut rng, s.v.len());
        let applied = forces(&mut rng, &m);
        let got = inverse(&m, &s, &vdot, &GRAVITY, &applied);
        assert_close(&got, &newton_and_euler(&m, &s, &vdot, &applied), 1e-11, "tau");
    }

    #[test]
    fn forward_and_inverse_dynamics_invert_each_other(seed: u64, count in 1..9usize) {
        let (mut rng, m, s) = random_case(seed, count);
        let vdot = numbers(&mut rng, s.v.len());
        let applied = forces(&mut rng, &m);
        let tau = inverse(&m, &s, &vdot, &GRAVITY, &applied);
        assert_close(&forward(&m, &s, &tau, &applied), &vdot, 1e-10, "vdot");
        let tau = numbers(&mut rng, s.v.len());
        let vdot = forward(&m, &s, &tau, &applied);
        let size = scale_of(&vdot);
        assert_close(&inverse(&m, &s, &vdot, &GRAVITY, &applied), &tau, 1e-10 * size, "tau");
    }

    #[test]
    fn columns_of_the_mass_matrix_are_inverse_dynamics(seed: u64, count in 1..9usize) {
        let (_, m, mut s) = random_case(seed, count);
        s.v.fill(0.0);
        let matrix = matrix(&m, &mut at(&m, &s));
        for k in 0..s.v.len() {
            let mut unit = vec![0.0; s.v.len()];
            unit[k] = 1.0;
            let column = inverse(&m, &s, &unit, &Vector3::zeros(), &[]);
            assert_close(matrix.column(k).as_slice(), &column, 1e-12, "column");
        }
    }

    #[test]
    fn factors_solve_the_mass_matrix(seed: u64, count in 1..9usize) {
        let (mut rng, m, s) = random_case(seed, count);
        let mut matrix = matrix(&m, &mut at(&m, &s));
        for k in 0..s.v.len() {
            matrix[(k, k)] += 0.1;
        }
        let x = DVector::from_vec(numbers(&mut rng, s.v.len()));
        let mut got = &matrix * &x;
        m.factorize(&mut matrix);
        m.solve(&matrix, got.as_mut_slice());
        assert_close(got.as_slice(), x.as_slice(), 1e-10, "solution");
    }

    #[test]
    fn a_step_balances_momentum(seed: u64, count in 1..9usize) {
        let (mut rng, m, s) = random_case(seed, count);
        let n = s.v.len();
        let tau = numbers(&mut rng, n);
        let applied = forces(&mut rng, &m);
        let dt = 0.01;
        let mut workspace = at(&m, &s);
        let mut factors = DMatrix::zeros(n, n);
        m.step_matrix(&mut workspace, dt, &mut factors);
        m.factorize(&mut factors);
        let input = StepInput { q: &s.q, v: &s.v, tau: &tau, gravity: GRAVITY, applied: &applied };
        let mut end = vec![0.0; n];
        m.free_velocity(&mut workspace, &input, dt, &factors, &mut end);
        // What the mean acceleration takes is τ with damping and springs at the end of the step.
        let vdot: Vec<f64> = end.iter().zip(&s.v).map(|(e, v)| (e - v) / dt).collect();
        let got = inverse(&m, &s, &vdot, &GRAVITY, &applied);
        let mut expected = tau.clone();
        let way: Vec<f64> = end.iter().map(|v| v * dt).collect();
        let mut q = s.q.clone();
        m.move_configuration(&s.q, &way, &mut q);
        m.passive_forces(&q, &end, &mut expected);
        let size = scale_of(&vdot);
        assert_close(&got, &expected, 1e-11 * size, "balance");
    }

    #[test]
    fn energy_changes_by_the_power_of_the_forces(seed: u64, count in 1..9usize) {
        let (mut rng, m, s) = random_case(seed, count);
        let drive = numbers(&mut rng, s.v.len());
        let applied = forces(&mut rng, &m);
        let mut tau = drive.clone();
        m.passive_forces(&s.q, &s.v, &mut tau);
        let vdot = forward(&m, &s, &tau, &applied);
        let (dual, after, workspace) = moving(&m, &s, &vdot);
        let energy = dual.kinetic_energy(&workspace, &after.v)
            + dual.potential_energy(&workspace, &after.q, &GRAVITY.map(Into::into));
        let mut power: f64 = drive.iter().zip(&s.v).map(|(t, v)| t * v).sum();
        for joint in m.joints() {
            power -= joint.v.clone().map(|k| joint.damping * s.v[k] * s.v[k]).sum::<f64>();
        }
        let workspace = at(&m, &s);
        power += applied.iter().map(|f| workspace.body_velocity(&m, f.body).dot(&f.force)).sum::<f64>();
        let size = scale_of(&vdot);
        assert_close(&[energy.eps], &[power], 1e-11 * size, "power");
    }

    #[test]
    fn momentum_changes_by_the_forces_from_outside(seed: u64, count in 1..9usize) {
        let rng = &mut random(seed);
        let m = mechanism(rng, count, Some(JointKind::Free));
        let s = state(rng, &m);
        // The joints push as they like, but nothing pushes on the root.
        let mut tau = numbers(rng, s.v.len());
        tau[..6].fill(0.0);
        let weightless = |applied: &[BodyForce]| {
            let mut vdot = vec![0.0; tau.len()];
            m.forward_dynamics(&mut at(&m, &s), &tau, &Vector3::zeros(), applied, &mut vdot);
            let size = scale_of(&vdot);
            let (dual, _, workspace) = moving(&m, &s, &vdot);
            let rate = dual.momentum(&workspace);
            (rates(&rate.rotational), rates(&rate.translational), size)
        };
        let (angular, linear, size) = weightless(&[]);
        assert_close(angular.as_slice(), &[0.0; 3], 1e-11 * size, "angular momentum");
        assert_close(linear.as_slice(), &[0.0; 3], 1e-11 * size, "linear momentum");
        let applied = forces(rng, &m);
        let (angular, linear, size) = weightless(&applied);
        let workspace = at(&m, &s);
        let mut sum = SpatialForce::zero();
        for f in &applied {
            sum += f.force.shifted(&-workspace.body_pose(&m, f.body).translation);
        }
        assert_close(angular.as_slice(), sum.rotational.as_slice(), 1e-11 * size, "angular momentum");
        assert_close(linear.as_slice(), sum.translational.as_slice(), 1e-11 * size, "linear momentum");
    }

    #[test]
    fn jacobian_times_velocity_is_the_velocity_of_a_point(seed: u64, count in 1..9usize) {
        let (mut rng, m, s) = random_case(seed, count);
        let workspace = at(&m, &s);
        let (dual, _, moving) = moving(&m, &s, &vec![0.0; s.v.len()]);
        for body in 0..count {
            let offset = vector(&mut rng);
            let mut jacobian = Matrix6xX::zeros(s.v.len());
            workspace.jacobian(&m, body, &offset, &mut jacobian);
            let got = jacobian * DVector::from_column_slice(&s.v);
            let velocity = workspace.body_velocity(&m, body).shifted(&offset);
            assert_close(&got.as_slice()[..3], velocity.rotational.as_slice(), 1e-12, "angular");
            assert_close(&got.as_slice()[3..], velocity.translational.as_slice(), 1e-12, "linear");
            // The rate of the pose: p' = v, R' = [ω]× R.
            let x_wb = moving.body_pose(&dual, body);
            let velocity = workspace.body_velocity(&m, body);
            assert_close(rates(&x_wb.translation).as_slice(), velocity.translational.as_slice(), 1e-12, "rate");
            for i in 0..3 {
                let axis = x_wb.rotation.column(i).into_owned();
                let expected = velocity.rotational.cross(&axis.map(|x| x.re));
                assert_close(rates(&axis).as_slice(), expected.as_slice(), 1e-12, "turn");
            }
        }
    }

    #[test]
    fn gravity_forces_are_inverse_dynamics_at_rest(seed: u64, count in 1..9usize) {
        let (_, m, mut s) = random_case(seed, count);
        let mut got = vec![0.0; s.v.len()];
        m.gravity_forces(&mut at(&m, &s), &GRAVITY, &mut got);
        s.v.fill(0.0);
        let hold = inverse(&m, &s, &vec![0.0; s.v.len()], &GRAVITY, &[]);
        assert_close(&got, &hold.iter().map(|x| -x).collect::<Vec<_>>(), 1e-12, "gravity");
    }

    #[test]
    fn configurations_move_and_differ(seed: u64, count in 1..9usize) {
        let (mut rng, m, s) = random_case(seed, count);
        let delta = numbers(&mut rng, s.v.len());
        let (mut moved, mut back) = (s.q.clone(), delta.clone());
        m.move_configuration(&s.q, &delta, &mut moved);
        m.configuration_difference(&s.q, &moved, &mut back);
        assert_close(&back, &delta, 1e-13, "difference");
        let mut rate = s.q.clone();
        m.configuration_rate(&s.q, &s.v, &mut rate);
        let (_, after, _) = moving(&m, &s, &delta);
        let expected: Vec<f64> = after.q.iter().map(|x| x.eps).collect();
        assert_close(&rate, &expected, 1e-14, "rate");
    }

    #[test]
    fn a_free_joint_is_a_free_body(seed: u64) {
        let rng = &mut random(seed);
        let mass = mass(rng);
        let bodies = vec![BodyDescription { name: "body".into(), mass: Some(mass) }];
        let world = RigidTransform::identity();
        let joint = JointDescription::new("joint", JointKind::Free, None, "body", world);
        let m = Mechanism::new(bodies, vec![joint]).expect("a tree");
        let body = BodyState {
            orientation: quaternion(rng),
            // Far away: nothing may cancel.
            position: vector(rng) * 1e5,
            velocity: SpatialVelocity::new(vector(rng), vector(rng)),
        };
        let (o, p, v) = (body.orientation, body.position, body.velocity);
        let s = m.state(
            vec![o.w, o.v.x, o.v.y, o.v.z, p.x, p.y, p.z],
            v.rotational.iter().chain(&v.translational).copied().collect(),
        );
        let force = SpatialForce::new(vector(rng), vector(rng));
        let expected = body_acceleration(&mass, &GRAVITY, &body, &force);
        let expected: Vec<f64> = expected.angular.iter().chain(&expected.of_origin).copied().collect();
        let got = forward(&m, &s, &[0.0; 6], &[BodyForce { body: 0, force }]);
        assert_close(&got, &expected, 1e-12, "acceleration");
        // A generalized force of a free joint is a force on the body.
        let tau: Vec<f64> = force.rotational.iter().chain(&force.translational).copied().collect();
        assert_close(&forward(&m, &s, &tau, &[]), &expected, 1e-12, "acceleration");
        let pose = at(&m, &s).body_pose(&m, 0);
        assert_close(pose.translation.as_slice(), p.as_slice(), 1e-15, "position");
        assert_close(pose.rotation.as_slice(), o.to_matrix().as_slice(), 1e-15, "rotation");
        // The tangent is that of the body.
        let delta = numbers(rng, 6);
        let mut moved = s.q.clone();
        m.move_configuration(&s.q, &delta, &mut moved);
        let mut tangent = delta.clone();
        tangent.extend([0.0; 6]);
        let whole = isobar::multibody::State::of_bodies(vec![body]).moved(&tangent).bodies[0];
        let (o, p) = (whole.orientation, whole.position);
        assert_close(&moved, &[o.w, o.v.x, o.v.y, o.v.z, p.x, p.y, p.z], 1e-15, "configuration");
    }

    #[test]
    fn derivatives_of_inverse_dynamics_agree_with_dual_numbers(seed: u64, count in 1..9usize) {
        let (mut rng, m, s) = random_case(seed, count);
        let n = s.v.len();
        let vdot = numbers(&mut rng, n);
        let applied = forces(&mut rng, &m);
        let mut derivatives = InverseDerivatives::new(&m);
        // Once with forces and once without on the same memory: nothing may be left over.
        for applied in [&applied[..], &[]] {
            let mut tau = vec![0.0; n];
            m.inverse_dynamics_derivatives(&mut at(&m, &s), &vdot, &GRAVITY, applied, &mut tau, &mut derivatives);
            assert_close(&tau, &inverse(&m, &s, &vdot, &GRAVITY, applied), 1e-14, "tau");
            for j in 0..n {
                let (by_q, by_v) = dual_columns(&m, &s, j, |dual, workspace| {
                    let vdot: Vec<Dual64> = vdot.iter().map(|x| Dual64::from(*x)).collect();
                    let mut tau = vdot.clone();
                    dual.inverse_dynamics(workspace, &vdot, &GRAVITY.map(Into::into), &lifted(applied), &mut tau);
                    tau
                });
                assert_close(derivatives.tau_by_q.column(j).as_slice(), &by_q, 1e-11, "by q");
                assert_close(derivatives.tau_by_v.column(j).as_slice(), &by_v, 1e-11, "by v");
            }
        }
    }
}

/// Applied forces as constants.
fn lifted<T: Scalar>(applied: &[BodyForce]) -> Vec<BodyForce<T>> {
    applied.iter().map(|f| BodyForce { body: f.body, force: SpatialForce::lift(&f.force) }).collect()
}

/// Derivatives of a function of the state along direction j of the configuration's tangent space
/// and of the velocity.
fn dual_columns(
    mechanism: &Mechanism,
    state: &JointState,
    j: usize,
    function: impl Fn(&Mechanism<Dual64>, &mut Workspace<Dual64>) -> Vec<Dual64>,
) -> (Vec<f64>, Vec<f64>) {
    let zeros = vec![0.0; state.v.len()];
    let mut unit = zeros.clone();
    unit[j] = 1.0;
    let slope = |by_q: &[f64], by_v: &[f64]| {
        let (dual, _, mut workspace) = along(mechanism, state, by_q, by_v);
        function(&dual, &mut workspace).iter().map(|x| x.eps).collect()
    };
    (slope(&unit, &zeros), slope(&zeros, &unit))
}

/// The derivative of a function at zero by central differences.
fn central_difference(h: f64, function: impl Fn(f64) -> Vec<f64>) -> Vec<f64> {
    function(h).iter().zip(function(-h)).map(|(plus, minus)| (plus - minus) / (2.0 * h)).collect()
}

/// Central differences of the acceleration by configuration, velocity, force and mass.
#[test]
fn derivatives_of_forward_dynamics_agree_with_central_differences() {
    for seed in 0..6 {
        let (mut rng, m, s) = random_case(seed, 6);
        let n = s.v.len();
        let tau = numbers(&mut rng, n);
        let applied = forces(&mut rng, &m);
        let forward_in_duals = |dual: &Mechanism<Dual64>, workspace: &mut Workspace<Dual64>| {
            let tau: Vec<Dual64> = tau.iter().map(|x| Dual64::from(*x)).collect();
            let mut vdot = tau.clone();
            dual.forward_dynamics(workspace, &tau, &GRAVITY.map(Into::into), &lifted(&applied), &mut vdot);
            vdot
        };
        let inverse_matrix = matrix(&m, &mut at(&m, &s)).try_inverse().expect("a mass matrix");
        let check = |got: &[f64], of: &dyn Fn(f64) -> Vec<f64>, what: &str| {
            let slope = central_difference(1e-5, of);
            let size = scale_of(got);
            assert_close(got, &slope, 1e-6 * size, what);
        };
        for j in 0..n {
            let shifted = |x: &[f64], h: f64| {
                let mut y = x.to_vec();
                y[j] += h;
                y
            };
            let (slope_by_q, slope_by_v) = dual_columns(&m, &s, j, forward_in_duals);
            let by_q = |h: f64| {
                let mut q = s.q.clone();
                m.move_configuration(&s.q, &shifted(&vec![0.0; n], h), &mut q);
                forward(&m, &m.state(q, s.v.clone()), &tau, &applied)
            };
            check(&slope_by_q, &by_q, "by q");
            let by_v = |h: f64| forward(&m, &m.state(s.q.clone(), shifted(&s.v, h)), &tau, &applied);
            check(&slope_by_v, &by_v, "by v");
            let by_tau = |h: f64| forward(&m, &s, &shifted(&tau, h), &applied);
            check(inverse_matrix.column(j).as_slice(), &by_tau, "by tau");
        }
        // Masses carry derivatives, too.
        let body = 3;
        let mass = m.bodies()[body].mass.expect("mass");
        let heavier = |h: f64| {
            let m = m.clone().with_body_mass(body, MassProperties { mass: mass.mass + h, ..mass });
            forward(&m, &s, &tau, &applied)
        };
        let dual_mass = MassProperties { mass: Dual64::new(mass.mass, 1.0), ..MassProperties::lift(&mass) };
        let dual = Mechanism::<Dual64>::lift(&m).with_body_mass(body, dual_mass);
        let lifted_state = JointState::<Dual64>::lift(&s);
        let mut workspace = Workspace::new(&dual);
        dual.update_kinematics(&lifted_state.q, &lifted_state.v, &mut workspace);
        let tau: Vec<Dual64> = tau.iter().map(|x| Dual64::from(*x)).collect();
        let mut vdot = tau.clone();
        dual.forward_dynamics(&mut workspace, &tau, &GRAVITY.map(Into::into), &lifted(&applied), &mut vdot);
        check(&vdot.iter().map(|x| x.eps).collect::<Vec<_>>(), &heavier, "by mass");
    }
}

/// At a state full of zeros, where a careless shortcut drops a derivative: a chain of all joints
/// along the axes, at rest, in the types that derivatives are made of.
#[test]
fn derivatives_hold_at_an_aligned_state_at_rest() {
    type D = DualArray<8>;
    let kinds = [
        JointKind::Free,
        JointKind::Revolute { axis: Vector3::z() },
        JointKind::Ball,
        JointKind::Prismatic { axis: Vector3::x() },
        JointKind::Planar,
    ];
    let inertia = nalgebra::Matrix3::from_diagonal(&Vector3::new(0.2, 0.3, 0.4));
    let mass = MassProperties { mass: 1.0, center_of_mass: Vector3::new(0.0, 0.0, 0.5), inertia };
    let (mut bodies, mut joints) = (Vec::new(), Vec::new());
    for (i, kind) in kinds.into_iter().enumerate() {
        let parent = i.checked_sub(1).map(|p| p.to_string());
        let x_pf = RigidTransform::from_translation([0.0, 0.0, 1.0]);
        bodies.push(BodyDescription { name: i.to_string(), mass: Some(mass) });
        joints.push(JointDescription::new(format!("j{i}"), kind, parent.as_deref(), i.to_string(), x_pf));
    }
    let m = Mechanism::new(bodies, joints).expect("a tree");
    let s = m.neutral_state();
    let n = s.v.len();
    let tau = vec![0.0; n];
    let vdot = forward(&m, &s, &tau, &[]);
    let mut d = InverseDerivatives::new(&m);
    m.inverse_dynamics_derivatives(&mut at(&m, &s), &vdot, &GRAVITY, &[], &mut tau.clone(), &mut d);
    // With τ constant, ∂v̇ = −M⁻¹ ∂ID(q, v, v̇).
    let inverse_matrix = matrix(&m, &mut at(&m, &s)).try_inverse().expect("a mass matrix");
    let (vdot_by_q, vdot_by_v) = (-&inverse_matrix * &d.tau_by_q, -&inverse_matrix * &d.tau_by_v);
    let dual = Mechanism::<D>::lift(&m);
    let start = JointState::<D>::lift(&s);
    let mut workspace = Workspace::new(&dual);
    for j in 0..n {
        let (mut delta, mut v) = (vec![D::constant(0.0); n], start.v.clone());
        delta[j].eps[0] = 1.0;
        v[j].eps[1] = 1.0;
        let mut q = start.q.clone();
        dual.move_configuration(&start.q, &delta, &mut q);
        dual.update_kinematics(&q, &v, &mut workspace);
        let (tau, mut vdot) = (vec![D::constant(0.0); n], vec![D::constant(0.0); n]);
        dual.forward_dynamics(&mut workspace, &tau, &GRAVITY.map(Into::into), &[], &mut vdot);
        let slope = |i: usize| vdot.iter().map(|x| x.eps[i]).collect::<Vec<_>>();
        assert_close(&slope(0), vdot_by_q.column(j).as_slice(), 1e-11, "by q");
        assert_close(&slope(1), vdot_by_v.column(j).as_slice(), 1e-11, "by v");
        let moved = |h: f64| {
            let (mut delta, mut q) = (vec![0.0; n], s.q.clone());
            delta[j] = h;
            m.move_configuration(&s.q, &delta, &mut q);
            forward(&m, &m.state(q, s.v.clone()), &tau.iter().map(|x| x.re).collect::<Vec<_>>(), &[])
        };
        assert_close(
            &central_difference(1e-5, moved),
            vdot_by_q.column(j).as_slice(),
            1e-7,
            "by q, differences",
        );
    }
}

/// What is fixed together is one body.
#[test]
fn fixed_joints_make_one_body() {
    let rng = &mut random(7);
    let (a, b, x_ab) = (mass(rng), mass(rng), pose(rng));
    let x_wf = pose(rng);
    let joint =
        |kind, parent, child: &str, x| JointDescription::new(format!("on {child}"), kind, parent, child, x);
    let body = |name: &str, mass| BodyDescription { name: name.into(), mass: Some(mass) };
    let whole = MassProperties::composite([a, b.seen_from(&x_ab)]).expect("mass");
    let two = Mechanism::new(
        vec![body("a", a), body("b", b)],
        vec![joint(JointKind::Ball, None, "a", x_wf), joint(JointKind::Fixed, Some("a"), "b", x_ab)],
    )
    .expect("a tree");
    let one = Mechanism::new(vec![body("a", whole)], vec![joint(JointKind::Ball, None, "a", x_wf)])
        .expect("a tree");
    let s = state(rng, &two);
    let tau = numbers(rng, 3);
    assert_close(&forward(&two, &s, &tau, &[]), &forward(&one, &s, &tau, &[]), 1e-13, "vdot");
    let workspace = at(&two, &s);
    let expected = workspace.body_pose(&two, 0) * x_ab;
    let got = workspace.body_pose(&two, 1);
    assert_close(got.translation.as_slice(), expected.translation.as_slice(), 1e-15, "position");
    assert_close(got.rotation.as_slice(), expected.rotation.as_slice(), 1e-15, "rotation");
}

/// Coordinates are contiguous for what a joint carries, trees come one after the other, and what
/// does not carry each other has no common inertia.
#[test]
fn coordinates_follow_the_tree() {
    for seed in 0..20 {
        let (_, m, s) = random_case(seed, 9);
        let matrix = matrix(&m, &mut at(&m, &s));
        let trees: usize = m.trees().iter().map(|t| t.v.len()).sum();
        assert_eq!(trees, m.velocity_dimension());
        for (index, joint) in m.joints().iter().enumerate() {
            assert!(joint.parent.is_none_or(|p| p < index && m.joints()[p].subtree.contains(&index)));
            for (other, joint_b) in m.joints().iter().enumerate() {
                let related = joint.subtree.contains(&other) || joint_b.subtree.contains(&index);
                let block = matrix.view((joint.v.start, joint_b.v.start), (joint.v.len(), joint_b.v.len()));
                assert!(related || block.amax() == 0.0);
            }
        }
        for body in 0..m.bodies().len() {
            let tree = m.tree_of_body(body);
            assert_eq!(tree.is_none(), m.bodies()[body].joint.is_none());
            let inside = |k: usize| tree.is_some_and(|t| m.trees()[t].v.contains(&k));
            let zero = Vector3::zeros();
            assert!(at(&m, &s).jacobian_columns(&m, body, &zero).all(|(k, _)| inside(k)));
        }
    }
}

/// A configuration far from W's origin loses no digits: each tree has a reference point of its
/// own.
#[test]
fn far_from_the_origin_nothing_cancels() {
    let rng = &mut random(11);
    let m = mechanism(rng, 6, Some(JointKind::Free));
    let mut near = state(rng, &m);
    near.q[4..7].fill(0.0);
    let mut far = near.clone();
    far.q[4..7].fill(1e6);
    let tau = numbers(rng, near.v.len());
    assert_close(&forward(&m, &far, &tau, &[]), &forward(&m, &near, &tau, &[]), 1e-14, "vdot");
}

/// The kinetic energy of a planar joint's motion, by hand.
#[test]
fn a_planar_joint_slides_and_turns() {
    let mass = MassProperties {
        mass: 2.0,
        center_of_mass: Vector3::new(0.3, 0.0, 0.0),
        inertia: nalgebra::Matrix3::from_diagonal(&Vector3::new(0.1, 0.2, 0.25)),
    };
    let world = RigidTransform::identity();
    let m = Mechanism::new(
        vec![BodyDescription { name: "puck".into(), mass: Some(mass) }],
        vec![JointDescription::new("table", JointKind::Planar, None, "puck", world)],
    )
    .expect("a tree");
    let s = m.state(vec![1.0, 2.0, 0.7], vec![0.5, -0.25, 3.0]);
    let workspace = at(&m, &s);
    let velocity = Vector3::new(0.5 - 3.0 * 0.3 * 0.7f64.sin(), -0.25 + 3.0 * 0.3 * 0.7f64.cos(), 0.0);
    let energy = 0.5 * 2.0 * velocity.norm_squared() + 0.5 * 0.25 * 9.0;
    assert_close(&[m.kinetic_energy(&workspace, &s.v)], &[energy], 1e-15, "energy");
    assert_close(workspace.body_pose(&m, 0).translation.as_slice(), &[1.0, 2.0, 0.0], 1e-15, "position");
}

/// A quaternion of a ball joint turns the child the same way as the state of a free body.
#[test]
fn a_ball_joint_turns_by_its_quaternion() {
    let rng = &mut random(5);
    let x_wf = pose(rng);
    let bodies = vec![BodyDescription { name: "body".into(), mass: Some(mass(rng)) }];
    let joint = JointDescription::new("joint", JointKind::Ball, None, "body", x_wf);
    let m = Mechanism::new(bodies, vec![joint]).expect("a tree");
    let q = Quaternion::from_wxyz(number(rng), number(rng), number(rng), number(rng));
    let s = m.state(vec![q.w, q.v.x, q.v.y, q.v.z], vec![0.1, 0.2, 0.3]);
    let workspace = at(&m, &s);
    let expected = x_wf.rotation * q.to_matrix();
    assert_close(workspace.body_pose(&m, 0).rotation.as_slice(), expected.as_slice(), 1e-15, "rotation");
    let spin = x_wf.rotation * Vector3::new(0.1, 0.2, 0.3);
    assert_close(workspace.body_velocity(&m, 0).rotational.as_slice(), spin.as_slice(), 1e-15, "spin");
}
