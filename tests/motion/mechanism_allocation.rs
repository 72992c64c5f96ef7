//! Once its memory is made, the dynamics of a mechanism allocate nothing.

use crate::mechanisms::{forces, mechanism, random, state};
use isobar::multibody::tree::{InverseDerivatives, Workspace};
use nalgebra::{DMatrix, Matrix6xX, Vector3};

#[test]
fn dynamics_allocate_nothing() {
    let rng = &mut random(3);
    let m = mechanism(rng, 8, None);
    let n = m.velocity_dimension();
    let states: Vec<_> = (0..4).map(|_| state(rng, &m)).collect();
    let applied = forces(rng, &m);
    let gravity = Vector3::new(0.0, 0.0, -9.81);
    let mut w = Workspace::new(&m);
    let (mut tau, mut vdot, mut matrix) = (vec![0.0; n], vec![0.0; n], DMatrix::zeros(n, n));
    let mut inverse = InverseDerivatives::new(&m);
    let mut jacobian = Matrix6xX::zeros(n);
    let mut moved = states[0].q.clone();
    let count = allocation_counter::measure(|| {
        for s in &states {
            m.update_kinematics(&s.q, &s.v, &mut w);
            m.inverse_dynamics(&mut w, &s.v, &gravity, &applied, &mut tau);
            m.gravity_forces(&mut w, &gravity, &mut tau);
            m.passive_forces(&s.q, &s.v, &mut tau);
            m.forward_dynamics(&mut w, &tau, &gravity, &applied, &mut vdot);
            m.mass_matrix(&mut w, &mut matrix);
            m.factorize(&mut matrix);
            m.solve(&matrix, &mut tau);
            m.inverse_dynamics_derivatives(&mut w, &vdot, &gravity, &applied, &mut tau, &mut inverse);
            w.jacobian(&m, 7, &gravity, &mut jacobian);
            m.move_configuration(&s.q, &s.v, &mut moved);
            m.configuration_difference(&s.q, &moved, &mut vdot);
        }
    });
    assert_eq!(count.count_total, 0);
}
