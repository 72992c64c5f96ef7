//! Without dissipation and friction the wrench is the slope of the potential energy: F = −∂U/∂x
//! and τ = −∂U/∂θ, where U is integrated over volumes and knows nothing of the contact surface.

use crate::common;
use crate::common::{
    at_rest, box_field, compliant, compliant_half_space, energy_slope, icosphere, l_shape, random_pose,
    rigid, rigid_half_space, torus,
};
use isobar::contact::{Collider, ContactSettings, SurfaceRepresentation, Workspace, contact, contact_energy};
use isobar::spatial::{RigidTransform, SpatialForce};
use nalgebra::{Vector3, Vector6};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Moment and force in one.
fn stacked(f: &SpatialForce) -> Vector6<f64> {
    Vector6::from_iterator(f.rotational.iter().chain(&f.translational).copied())
}

/// −∂U by rotation and translation of A, by central differences.
fn difference_slope(
    a: &Collider,
    x_wa: &RigidTransform,
    b: &Collider,
    x_wb: &RigidTransform,
    step: f64,
) -> Vector6<f64> {
    Vector6::from_fn(|k, _| {
        let energy = |h: f64| {
            let mut tangent = [Vector3::zeros(); 2];
            tangent[k / 3][k % 3] = h;
            contact_energy(&at_rest(a, x_wa.moved(&tangent[0], &tangent[1]), b, *x_wb))
        };
        (energy(-step) - energy(step)) / (2.0 * step)
    })
}

/// Checks `poses` random poses at which A, of size 1 m, touches B.
fn check(name: &str, a: &Collider, b: &Collider, reach: f64, poses: usize) {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let (mut done, mut worst_exact, mut worst_difference) = (0, 0.0_f64, 0.0_f64);
    while done < poses {
        let x_wb = random_pose(&mut random, 0.3);
        let x_wa = x_wb * random_pose(&mut random, reach);
        let pair = at_rest(a, x_wa, b, x_wb);
        let wrench = |surface| {
            // The pressure of the fan's triangles is linear: order 2 integrates its moment exactly.
            let settings = ContactSettings { surface, ..Default::default() };
            contact(&pair, &settings, &mut Workspace::default())
                .expect("a pair that can touch")
                .map(|p| p.wrench_on_a)
        };
        let (energy, slope) = (contact_energy(&pair), stacked(&energy_slope(&pair)));
        let Some(w) = wrench(SurfaceRepresentation::Triangles) else {
            // Apart, or sunk altogether in a half-space: no force either way. Where only elements
            // without pressure overlap the energy is rounding, of moduli of 1e4 Pa and more.
            assert!(slope.norm() <= 1e-12 * energy.max(1.0), "{name}: a force without contact");
            continue;
        };
        // All but sunk: a small force as the slope of a large energy is mostly rounding.
        if w.translational.norm() < 1e-3 * energy {
            continue;
        }
        // A force of 1 N acts at arms of up to 1 m.
        let scale = w.translational.norm();
        let exact = (slope - stacked(&w)).norm() / scale;
        // Best of a few steps: a grazing contact is shallower than the larger ones.
        let difference = [1e-4, 1e-5, 1e-6, 1e-7]
            .map(|step| (difference_slope(a, &x_wa, b, &x_wb, step) - stacked(&w)).norm() / scale)
            .into_iter()
            .fold(f64::INFINITY, f64::min);
        assert!(exact < 1e-9, "{name}: wrench off the energy's slope by {exact:e} at {x_wa:?} {x_wb:?}");
        assert!(difference < 1e-6, "{name}: off the difference by {difference:e} at {x_wa:?} {x_wb:?}");
        // One point a polygon is exact for the force.
        let polygons = wrench(SurfaceRepresentation::Polygons).expect("they touch");
        let off = (polygons.translational - w.translational).norm() / scale;
        assert!(off < 1e-11, "{name}: polygons' force off by {off:e}");
        worst_exact = worst_exact.max(exact);
        worst_difference = worst_difference.max(difference);
        done += 1;
    }
    println!("{name}: {worst_exact:.1e} by duals, {worst_difference:.1e} by differences");
}

#[test]
fn two_compliant_bodies() {
    let ball = || compliant(icosphere(1.0, 1), 3e4);
    check("icosphere–icosphere", &ball(), &compliant(icosphere(0.8, 2), 1e5), 1.7, 12);
    check(
        "box–cube",
        &compliant(box_field([1.5, 1.0, 0.8]), 2e5),
        &compliant(box_field([1.0; 3]), 1e4),
        1.2,
        30,
    );
    check("sphere–box", &ball(), &compliant(box_field([2.0, 1.5, 1.0]), 1e5), 1.6, 20);
    check(
        "torus–box",
        &compliant(torus(0.7, 0.3, 12, 6), 1e5),
        &compliant(box_field([1.0; 3]), 1e7),
        1.2,
        12,
    );
    check("L–box", &compliant(l_shape(0.3), 1e5), &compliant(box_field([1.0; 3]), 2e5), 1.2, 12);
    check("torus–L", &compliant(torus(0.7, 0.3, 10, 5), 1e3), &compliant(l_shape(0.3), 1e6), 1.2, 6);
}

#[test]
fn a_compliant_and_a_rigid_body() {
    let ball = icosphere(1.0, 2);
    check("rigid sphere–box", &rigid(&ball), &compliant(box_field([2.0, 1.5, 1.0]), 1e5), 1.6, 12);
    check("box–rigid sphere", &compliant(box_field([1.5, 1.0, 0.8]), 2e5), &rigid(&ball), 1.6, 12);
    check("rigid torus–box", &rigid(&torus(0.7, 0.3, 10, 5)), &compliant(box_field([1.0; 3]), 1e5), 1.2, 12);
    check("sphere–rigid L", &compliant(icosphere(1.0, 1), 1e5), &rigid(&l_shape(0.3)), 1.4, 12);
}

#[test]
fn half_spaces() {
    let (soft, hard) = (compliant_half_space(1e4, 0.5), rigid_half_space());
    for (name, field) in [
        ("sphere", icosphere(1.0, 2)),
        ("box", box_field([1.5, 1.0, 0.8])),
        ("torus", torus(0.7, 0.3, 12, 6)),
        ("L", l_shape(0.3)),
    ] {
        let body = compliant(field.clone(), 4e4);
        check(&format!("{name}–rigid half-space"), &body, &hard, 0.9, 12);
        check(&format!("compliant half-space–{name}"), &soft, &body, 0.9, 12);
        check(&format!("rigid {name}–compliant half-space"), &rigid(&field), &soft, 0.9, 12);
    }
}

#[test]
fn meshes_fill_their_shapes() {
    let section = |m: f64| 0.5 * m * (std::f64::consts::TAU / m).sin() * 0.25;
    for (name, field, expected, tetrahedra) in [
        ("box", common::box_field([1.0, 2.0, 3.0]), 6.0, 12),
        ("L", common::l_shape(0.5), 24.0 / 8.0, 144),
        ("sphere", common::icosphere(1.0, 3), 4.0 / 3.0 * std::f64::consts::PI * 0.99, 1280),
        ("torus", common::torus(2.0, 0.5, 96, 6), section(6.0) * std::f64::consts::TAU * 2.0, 96 * 18),
    ] {
        let v = field.0.mass_properties().unwrap().mass;
        let w = field.0.boundary().volume();
        assert_eq!(field.0.tetrahedra.len(), tetrahedra);
        assert!((v - w).abs() < 1e-12, "{name}: {v}, its surface encloses {w}");
        assert!((v / expected - 1.0).abs() < 1e-2, "{name}: {v}, {expected} expected");
    }
}
