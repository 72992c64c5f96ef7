//! The same derivatives from every kind of dual number and from the local Jacobian, and derivatives with
//! respect to the meshes themselves.

use crate::common;
use std::sync::Arc;

use crate::common::{compliant, compliant_half_space, icosphere, random_in_ball, rigid, torus};
use crate::own_law::{OWN, rubber};
use crate::truth::*;
use isobar::contact::{
    Collider, ContactError, ContactGeometry, ContactPair, ContactPatch, ContactSettings, DissipationModel,
    FrictionRegularization, SurfaceRepresentation, Workspace, contact, contact_jacobian, contact_lifted,
};
use isobar::field::{PressureField, RigidSurface};
use isobar::geometry::{SurfaceMesh, VolumeMesh};
use isobar::scalar::{DualArray, Scalar};
use isobar::spatial::{RigidTransform, SpatialVelocity, rotation_exponential};
use nalgebra::{Const, Vector3};
use num_dual::{Dual2_64, Dual64, DualSVec64, HyperDual64};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Pose of A (rotation, translation), velocity of B, modulus of A, of B, dissipation of A.
const INPUTS: usize = 15;

/// A function that finds a contact.
type Query<T> =
    fn(&ContactPair<T>, &ContactSettings, &mut Workspace) -> Result<Option<ContactPatch<T>>, ContactError>;

/// Torque, force, area and centroid of the state moved by `x`.
fn evaluate<T: Scalar>(s: &State, settings: &ContactSettings, x: &[T; INPUTS], query: Query<T>) -> [T; 10] {
    let v = |i: usize| Vector3::new(x[i], x[i + 1], x[i + 2]);
    let (mut a, mut b) = (Collider::<T>::lift(&s.a), Collider::<T>::lift(&s.b));
    a.material.hydroelastic_modulus *= x[12] + 1.0;
    b.material.hydroelastic_modulus *= x[13] + 1.0;
    a.material.dissipation += x[14];
    let v_wb = SpatialVelocity::<T>::lift(&s.v_wb);
    let pair = ContactPair {
        a: &a,
        x_wa: RigidTransform::<T>::lift(&s.x_wa).moved(&v(0), &v(3)),
        v_wa: SpatialVelocity::lift(&s.v_wa),
        b: &b,
        x_wb: RigidTransform::lift(&s.x_wb),
        v_wb: SpatialVelocity::new(v_wb.rotational + v(6), v_wb.translational + v(9)),
    };
    let found = query(&pair, settings, &mut Workspace::default()).expect("a pair that can touch");
    let p = found.expect("bodies that touch");
    let (m, f, c) = (p.wrench_on_a.rotational, p.wrench_on_a.translational, p.centroid);
    [m.x, m.y, m.z, f.x, f.y, f.z, p.area, c.x, c.y, c.z]
}

/// Moving and sliding pairs of every kind.
fn states() -> Vec<(State, ContactSettings)> {
    let bodies: [(Collider, Collider); 5] = [
        (compliant(icosphere(0.1, 1), MODULUS), compliant(medial_box([0.2, 0.16, 0.12]), 2e5)),
        (rigid(&octasphere(0.1, 1)), compliant(medial_box([0.2, 0.16, 0.12]), MODULUS)),
        (compliant(torus(0.08, 0.03, 12, 6), MODULUS), common::rigid_half_space()),
        (compliant(icosphere(0.1, 1), MODULUS), compliant_half_space(2e5, 0.1)),
        (compliant_half_space(2e5, 0.1), rigid(&icosphere(0.1, 1))),
    ];
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let mut all = Vec::new();
    for (k, (a, b)) in bodies.iter().enumerate() {
        for surface in [SurfaceRepresentation::Triangles, SurfaceRepresentation::Polygons] {
            for dissipation_model in [DissipationModel::HuntCrossley, DissipationModel::StrainRate] {
                for (friction_regularization, law) in [
                    (FrictionRegularization::Smooth, None),
                    (FrictionRegularization::Atan, None),
                    (FrictionRegularization::Stribeck, None),
                    (FrictionRegularization::Atan, Some(rubber())),
                ] {
                    let height = [0.14, 0.14, 0.05, 0.08, -0.08][k];
                    let near_upright = rotation_exponential(&(random_in_ball(&mut rng) * 0.05));
                    let x_wa = RigidTransform::new(
                        if k == 4 { near_upright } else { random_rotation(&mut rng) },
                        Vector3::new(0.01, 0.02, height),
                    );
                    let x_wb = RigidTransform::new(
                        if k == 4 { random_rotation(&mut rng) } else { near_upright },
                        Vector3::zeros(),
                    );
                    let mut s = State::at_rest(a, b, x_wa, x_wb);
                    s.v_wa = SpatialVelocity::new(random_in_ball(&mut rng), random_in_ball(&mut rng) * 0.1);
                    s.v_wb = SpatialVelocity::new(random_in_ball(&mut rng), random_in_ball(&mut rng) * 0.1);
                    for c in [&mut s.a, &mut s.b] {
                        c.material.dissipation = 0.5;
                        c.material.static_friction = 0.7;
                        c.material.dynamic_friction = 0.4;
                        c.material.own = OWN;
                    }
                    let settings = ContactSettings {
                        surface,
                        dissipation_model,
                        friction_regularization,
                        law,
                        stiction_velocity: 0.05,
                        ..Default::default()
                    };
                    all.push((s, settings));
                }
            }
        }
    }
    all
}

/// Rows that have a common size: torque, force, area, centroid.
const GROUPS: [std::ops::Range<usize>; 4] = [0..3, 3..6, 6..7, 7..10];

/// The largest difference of two derivatives, relative to each group's size.
fn difference(a: &[[f64; INPUTS]; 10], b: &[[f64; INPUTS]; 10]) -> f64 {
    let mut worst: f64 = 0.0;
    for rows in GROUPS {
        let (mut off, mut size): (f64, f64) = (0.0, 0.0);
        for i in rows {
            for k in 0..INPUTS {
                assert!(a[i][k].is_finite() && b[i][k].is_finite());
                off = off.max((a[i][k] - b[i][k]).abs());
                size = size.max(a[i][k].abs());
            }
        }
        worst = worst.max(off / size.max(f64::MIN_POSITIVE));
    }
    worst
}

fn variables<T: Scalar>(seed: impl Fn(usize) -> T) -> [T; INPUTS] {
    std::array::from_fn(seed)
}

#[test]
fn first_derivatives_agree_between_types() {
    let mut worst: f64 = 0.0;
    let (mut lifted_worst, mut hyper_worst): (f64, f64) = (0.0, 0.0);
    for (s, settings) in states() {
        type A = DualArray<INPUTS>;
        type V = DualSVec64<INPUTS>;
        let x = variables(|k| A::variable(0.0, k));
        let reference = evaluate(&s, &settings, &x, contact).map(|y| y.eps);
        let lifted = evaluate(&s, &settings, &x, contact_lifted).map(|y| y.eps);
        lifted_worst = lifted_worst.max(difference(&reference, &lifted));
        let y = evaluate(&s, &settings, &variables(|k| V::from(0.0).derivative(k)), contact);
        let vector = y.map(|y| {
            let e = y.eps.unwrap_generic(Const::<INPUTS>, Const::<1>);
            std::array::from_fn(|k| e[k])
        });
        worst = worst.max(difference(&reference, &vector));
        let y = evaluate(&s, &settings, &variables(|k| V::from(0.0).derivative(k)), contact_lifted);
        let vector = y.map(|y| {
            let e = y.eps.unwrap_generic(Const::<INPUTS>, Const::<1>);
            std::array::from_fn(|k| e[k])
        });
        lifted_worst = lifted_worst.max(difference(&reference, &vector));
        let (mut single, mut hyper) = ([[0.0; INPUTS]; 10], [[0.0; INPUTS]; 10]);
        for k in 0..INPUTS {
            let y = evaluate(
                &s,
                &settings,
                &variables(|i| Dual64::new(0.0, f64::from(u8::from(i == k)))),
                contact,
            );
            let other = (k + 1) % INPUTS;
            let seed = |i: usize| {
                HyperDual64::new(0.0, f64::from(u8::from(i == k)), f64::from(u8::from(i == other)), 0.0)
            };
            let z = evaluate(&s, &settings, &variables(seed), contact);
            for i in 0..10 {
                single[i][k] = y[i].eps;
                hyper[i][k] = z[i].eps1;
            }
        }
        worst = worst.max(difference(&reference, &single));
        hyper_worst = hyper_worst.max(difference(&reference, &hyper));
        // The local Jacobian in the world.
        let (_, j) = contact_jacobian(&s.pair(), &settings, &mut Workspace::default())
            .expect("a pair that can touch")
            .unwrap();
        let mut world = reference;
        for (i, row) in world.iter_mut().enumerate().take(6) {
            let pose = (0..6).map(|k| j.by_pose_a[(i, k)]);
            let velocity = (0..6).map(|k| j.by_velocity_b[(i, k)]);
            let moduli = [
                j.by_modulus_a[i] * s.a.material.hydroelastic_modulus,
                j.by_modulus_b[i] * s.b.material.hydroelastic_modulus,
            ];
            for (x, y) in row.iter_mut().zip(pose.chain(velocity).chain(moduli)) {
                *x = y;
            }
        }
        world[6][..6].copy_from_slice(j.area_by_pose_a.as_slice());
        lifted_worst = lifted_worst.max(difference(&reference, &world));
    }
    println!("dual types {worst:.1e}, local Jacobian {lifted_worst:.1e}, hyper-dual {hyper_worst:.1e}");
    assert!(worst < 1e-10 && lifted_worst < 1e-10 && hyper_worst < 1e-10);
}

#[test]
fn second_derivatives_agree_with_differences_of_first_ones() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut worst: f64 = 0.0;
    for (s, settings) in states() {
        // Directions in which poses and moduli (not velocities alone) move.
        let mut direction = || -> [f64; INPUTS] { std::array::from_fn(|_| rng.random_range(-0.1..0.1)) };
        let (u, v) = (direction(), direction());
        let hyper = evaluate(&s, &settings, &variables(|i| HyperDual64::new(0.0, u[i], v[i], 0.0)), contact);
        let twice = evaluate(&s, &settings, &variables(|i| Dual2_64::new(0.0, u[i], 0.0)), contact);
        let slope = |h: f64, along: &[f64; INPUTS]| {
            evaluate(&s, &settings, &variables(|i| Dual64::new(h * along[i], u[i])), contact).map(|y| y.eps)
        };
        for rows in GROUPS {
            for (along, second) in [(&v, hyper.map(|y| y.eps1eps2)), (&u, twice.map(|y| y.v2))] {
                // The best of several steps: a pose may be near a kink.
                let error = [1e-3, 1e-4, 1e-5, 1e-6].map(|h| {
                    let (up, down) = (slope(h, along), slope(-h, along));
                    let (mut off, mut size) = (0.0, 0.0);
                    for i in rows.clone() {
                        let d = (up[i] - down[i]) / (2.0 * h);
                        off += (d - second[i]).powi(2);
                        size += second[i].powi(2);
                    }
                    f64::sqrt(off / size)
                });
                worst = worst.max(error.into_iter().fold(f64::INFINITY, f64::min));
            }
        }
    }
    println!("second derivatives off by {worst:.1e}");
    assert!(worst < 1e-5);
}

/// The collider's vertices and extents with a random direction each, and the rebuilt bodies.
struct Shaped {
    dual: Collider<Dual64>,
    up: Collider,
    down: Collider,
}

/// Moves the vertices by ±h times `along(vertex index, position)` and the extents by the second.
fn shaped(c: &Collider, along: impl Fn(usize, &Vector3<f64>) -> (Vector3<f64>, f64), h: f64) -> Shaped {
    let mut dual = Collider::<Dual64>::lift(c);
    let moved = |vertices: &[Vector3<f64>], h: f64| -> Vec<Vector3<f64>> {
        vertices.iter().enumerate().map(|(i, x)| x + along(i, x).0 * h).collect()
    };
    let lift = |vertices: &[Vector3<f64>]| -> Arc<[Vector3<Dual64>]> {
        vertices.iter().enumerate().map(|(i, x)| x.zip_map(&along(i, x).0, Dual64::new)).collect()
    };
    let rebuilt = |geometry: ContactGeometry| Collider::new(geometry, c.material, c.thickness);
    let (up, down) = match c.geometry.as_ref() {
        ContactGeometry::Compliant(f) => {
            let v = &f.mesh().vertices;
            dual.vertices = Some(lift(v));
            let e = f.extent();
            dual.extent = Some((0..e.len()).map(|i| Dual64::new(e[i], along(i, &v[i]).1)).collect());
            let build = |h: f64| {
                let mesh = VolumeMesh { vertices: moved(v, h), tetrahedra: f.mesh().tetrahedra.clone() };
                let extent = (0..e.len()).map(|i| e[i] + h * along(i, &v[i]).1).collect();
                rebuilt(ContactGeometry::Compliant(PressureField::new(mesh, extent).unwrap()))
            };
            (build(h), build(-h))
        }
        ContactGeometry::Rigid(r) => {
            let v = &r.mesh().vertices;
            dual.vertices = Some(lift(v));
            let build = |h: f64| {
                let mesh = SurfaceMesh { vertices: moved(v, h), triangles: r.mesh().triangles.clone() };
                rebuilt(ContactGeometry::Rigid(RigidSurface::new(mesh)))
            };
            (build(h), build(-h))
        }
        _ => panic!("a half-space has no mesh"),
    };
    Shaped { dual, up, down }
}

#[test]
fn derivatives_by_vertices_and_extents_agree_with_rebuilt_fields() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut worst: f64 = 0.0;
    for (s, settings) in states() {
        let seeds: Vec<Vector3<f64>> = (0..200).map(|_| random_in_ball(&mut rng) * 0.1).collect();
        for of_a in [true, false] {
            let c = if of_a { &s.a } else { &s.b };
            if c.geometry.is_half_space() {
                continue;
            }
            let extent = match c.geometry.as_ref() {
                ContactGeometry::Compliant(f) => f.extent().to_vec(),
                _ => Vec::new(),
            };
            // All vertices at random and inner extents with them; the scale of the geometry.
            let at_random = |i: usize, _: &Vector3<f64>| {
                (seeds[i % 200], if extent.get(i).is_some_and(|e| *e > 0.0) { seeds[i % 200].x } else { 0.0 })
            };
            let scale = |_: usize, x: &Vector3<f64>| (*x, 0.0);
            for kind in 0..2 {
                let mut best = f64::INFINITY;
                for h in [1e-4, 1e-5, 1e-6] {
                    let shaped = if kind == 0 { shaped(c, at_random, h) } else { shaped(c, scale, h) };
                    let (mut a, mut b) = (Collider::lift(&s.a), Collider::lift(&s.b));
                    let (mut up, mut down) = (s.clone(), s.clone());
                    if of_a {
                        (a, up.a, down.a) = (shaped.dual, shaped.up, shaped.down);
                    } else {
                        (b, up.b, down.b) = (shaped.dual, shaped.up, shaped.down);
                    }
                    let pair = ContactPair {
                        a: &a,
                        x_wa: RigidTransform::lift(&s.x_wa),
                        v_wa: SpatialVelocity::lift(&s.v_wa),
                        b: &b,
                        x_wb: RigidTransform::lift(&s.x_wb),
                        v_wb: SpatialVelocity::lift(&s.v_wb),
                    };
                    let w = &mut Workspace::default();
                    let p = contact_lifted(&pair, &settings, w)
                        .expect("a pair that can touch")
                        .expect("bodies that touch");
                    let (m, f) = (p.wrench_on_a.rotational, p.wrench_on_a.translational);
                    let exact: Output = [m.x, m.y, m.z, f.x, f.y, f.z, p.area].map(|y: Dual64| y.eps);
                    let d = subtract(&up.output(&settings, w), &down.output(&settings, w), 2.0 * h);
                    let off = subtract(&exact, &d, 1.0);
                    let error =
                        ROWS.iter().map(|&rows| norm(&off, rows) / norm(&exact, rows)).fold(0.0, f64::max);
                    best = best.min(error);
                }
                worst = worst.max(best);
            }
        }
    }
    println!("derivatives by vertices and extents off by {worst:.1e}");
    assert!(worst < 1e-5);
}
