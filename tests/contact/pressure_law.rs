//! Bodies with pressure laws other than the linear one: known answers, layers that change nothing, energy and force.

use crate::common::{
    Field, at_rest, box_field, compliant_half_space, energy_slope, icosphere, l_shape, random_pose, rigid,
    rigid_half_space, torus,
};
use isobar::contact::{
    Collider, ContactPatch, ContactSettings, Material, SurfaceRepresentation, Workspace, contact,
    contact_energy,
};
use isobar::field::{PressureLaw, primitive_field};
use isobar::geometry::{Shape, VolumeMesh};
use isobar::spatial::{RigidTransform, SpatialForce};
use nalgebra::{Vector3, Vector6};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const E: f64 = 5e4;

fn power(exponent: f64) -> PressureLaw {
    PressureLaw::power(exponent).expect("a law")
}

/// Soft outside, ten times as stiff inside, and twice as high at the core.
fn stiff_core() -> PressureLaw {
    PressureLaw::table(vec![[0.0, 0.0], [0.5, 0.2], [0.6, 0.35], [1.0, 2.0]]).expect("a law")
}

fn body((mesh, extent): &Field, law: &PressureLaw, layers: usize, modulus: f64) -> Collider {
    let field = law.field(mesh.clone(), extent.clone(), layers).expect("a field");
    Collider::compliant(field, Material::new(modulus, 0.0, 0.0))
}

fn query(
    a: &Collider,
    x_wa: RigidTransform,
    b: &Collider,
    x_wb: RigidTransform,
    surface: SurfaceRepresentation,
) -> Option<ContactPatch> {
    let settings = ContactSettings { surface, ..Default::default() };
    contact(&at_rest(a, x_wa, b, x_wb), &settings, &mut Workspace::default()).expect("a pair that can touch")
}

fn up(z: f64) -> RigidTransform {
    RigidTransform::from_translation([0.0, 0.0, z])
}

/// A column of base 1 m × 1 m and height 1 m on z = 0 whose extent grows from 0 at one end to 1 at the other.
fn column(from_below: bool) -> Field {
    let vertices: Vec<_> =
        (0..8).map(|k| Vector3::from_fn(|axis, _| if k >> axis & 1 == 1 { 1.0 } else { 0.0 })).collect();
    let tetrahedra = vec![[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]];
    let extent = vertices.iter().map(|x: &Vector3<f64>| if from_below { x.z } else { 1.0 - x.z }).collect();
    (VolumeMesh { vertices, tetrahedra }, extent)
}

/// The integral of a function by Simpson's rule.
fn integral(of: impl Fn(f64) -> f64, to: f64) -> f64 {
    let n = 20_000;
    let h = to / f64::from(n);
    let weight = |i| {
        if i == 0 || i == n {
            1.0
        } else if i % 2 == 1 {
            4.0
        } else {
            2.0
        }
    };
    (0..=n).map(|i| weight(i) * of(f64::from(i) * h)).sum::<f64>() * h / 3.0
}

/// The extent between a layer and the next, counted from 1; or in between.
fn level(k: f64, layers: u32) -> f64 {
    (k / f64::from(layers)).powi(2)
}

/// How far linear interpolation between so many layers misses a law at most.
fn interpolation_miss(law: &PressureLaw, layers: u32) -> f64 {
    let in_layer = |k: u32| {
        let [low, high] = [k, k + 1].map(|k| level(f64::from(k), layers));
        let miss = |part: f64| {
            let linear = law.value(low) * (1.0 - part) + law.value(high) * part;
            (linear - law.value(low + (high - low) * part)).abs()
        };
        (0..64).map(|i| miss(f64::from(i) / 64.0)).fold(0.0, f64::max)
    };
    // Between the points that are looked at a little more.
    (0..layers).map(in_layer).fold(0.0, f64::max) * 1.001 + 1e-12
}

/// A rigid floor pressed into a column: F = A E f(depth), and U = A ∫ E f, both within the error of linear interpolation
/// between layers, which falls with their number squared.
#[test]
fn the_pressure_at_a_rigid_face_is_the_law_at_its_depth() {
    let floor = rigid_half_space();
    for law in [power(1.5), power(2.0), power(3.0), stiff_core()] {
        let miss = |layers: u32, depth: f64| {
            let column = body(&column(true), &law, layers as usize, E);
            let pair = at_rest(&column, up(-depth), &floor, RigidTransform::identity());
            let patch = query(
                &column,
                up(-depth),
                &floor,
                RigidTransform::identity(),
                SurfaceRepresentation::Triangles,
            )
            .expect("they touch");
            let force = patch.wrench_on_a.translational.z;
            assert!((patch.area - 1.0).abs() < 1e-12);
            assert!((patch.max_pressure - force).abs() < 1e-9 * E, "the same pressure all over");
            let energy = contact_energy(&pair) / E - integral(|x| law.value(x), depth);
            (force / E - law.value(depth), energy)
        };
        // In the middle of layers.
        let worst = |layers: u32| {
            (0..layers)
                .map(|k| level(f64::from(k) + 0.5, layers))
                .filter(|depth| (0.3..0.95).contains(depth))
                .map(|depth| miss(layers, depth).0.abs())
                .fold(0.0, f64::max)
        };
        let [coarse, middle, fine] = [8, 16, 32].map(worst);
        println!("{law:?}: {coarse:.2e} {middle:.2e} {fine:.2e}");
        assert!(coarse <= interpolation_miss(&law, 8), "{law:?}: {coarse}");
        assert!(
            (3.0..5.0).contains(&(middle / fine)) && coarse > 2.5 * middle,
            "{law:?}: {coarse} {middle} {fine}"
        );
        for depth in [0.25, 0.5625] {
            let (force, _) = miss(4, depth);
            assert!(force.abs() < 1e-12, "{law:?}: {force:e} on a layer");
            let energies = [8, 16, 32].map(|layers| miss(layers, depth).1.abs());
            assert!(energies[1] < 0.35 * energies[0] && energies[2] < 0.35 * energies[1], "{energies:?}");
        }
    }
}

/// Two columns of different laws and moduli pressed together: the surface lies where both pressures are equal.
#[test]
fn the_surface_lies_where_both_laws_agree() {
    let (soft, hard) = ((power(2.0), 3e4), (stiff_core(), 8e4));
    for depth in [0.3, 0.7, 1.1] {
        // The part of the depth that A takes, by bisection.
        let (mut low, mut high) = (0.0_f64.max(depth - 1.0), 1.0_f64.min(depth));
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            let excess = soft.1 * soft.0.value(middle) - hard.1 * hard.0.value(depth - middle);
            if excess < 0.0 { low = middle } else { high = middle }
        }
        let exact = soft.1 * soft.0.value(low);
        let miss = |layers: usize| {
            // A above B: A's lower end at height 1 − depth, B's upper end at 1.
            let a = body(&column(true), &soft.0, layers, soft.1);
            let b = body(&column(false), &hard.0, layers, hard.1);
            let patch =
                query(&a, up(1.0 - depth), &b, up(0.0), SurfaceRepresentation::Polygons).expect("they touch");
            assert!((patch.area - 1.0).abs() < 1e-12);
            let height = 1.0 - depth + low;
            // The pressure at which two fields agree is off by no more than one of them.
            let off = (patch.wrench_on_a.translational.z - exact).abs();
            let bounds =
                [&soft, &hard].map(|(law, modulus)| modulus * interpolation_miss(law, layers as u32));
            assert!(off <= bounds[0].max(bounds[1]), "{depth}, {layers} layers: {off} of {exact}");
            (off / exact, (patch.centroid.z - height).abs())
        };
        let (coarse, fine) = (miss(7), miss(56));
        println!("{depth}: {exact} {coarse:?} {fine:?}");
        assert!(fine.0 < 2e-3 && fine.1 < 1e-3, "{fine:?}");
    }
}

/// A box pressed flat on a floor: below its face the extent is the distance to the nearest side, so that with the base
/// a × a the force is E ((a − 2δ)² f(δ/H) + 4 ∫ (a − 2s) f(s/H) ds), s from 0 to δ, over half the height H.
#[test]
fn a_box_on_a_floor_is_its_law_integrated_over_the_face() {
    let (side, half, depth) = (0.4, 0.1, 0.036);
    let field = primitive_field(&Shape::Box { size: [side, side, 2.0 * half] }, 1.0).expect("a box");
    for law in [power(1.5), power(3.0), stiff_core()] {
        let rim = integral(|s| 4.0 * (side - 2.0 * s) * law.value(s / half), depth);
        let exact = E * ((side - 2.0 * depth).powi(2) * law.value(depth / half) + rim);
        let miss = |layers| {
            let a = body(&field, &law, layers, E);
            let floor = rigid_half_space();
            let x_wa = up(half - depth);
            let patch = query(&a, x_wa, &floor, RigidTransform::identity(), SurfaceRepresentation::Triangles);
            (patch.expect("they touch").wrench_on_a.translational.z - exact).abs() / (E * side * side)
        };
        // The depth 0.6² lies at the same part of a layer each time: 0.6 n is 3.6, 6.6, 12.6, 24.6.
        let counts = [6, 11, 21, 41];
        let misses = counts.map(|layers| miss(layers as usize));
        println!("{law:?}: {misses:?}");
        // Of a pressure that misses the law by so much at each point of the face.
        for (layers, miss) in counts.into_iter().zip(misses) {
            assert!(miss <= interpolation_miss(&law, layers), "{law:?}, {layers} layers: {miss}");
        }
        // (41/6)² = 47 at second order.
        assert!(misses[3] < misses[0] / 40.0, "{law:?}: {misses:?}");
    }
}

fn fields() -> [(&'static str, Field); 4] {
    [
        ("sphere", icosphere(1.0, 1)),
        ("box", primitive_field(&Shape::Box { size: [1.5, 1.0, 0.8] }, 1.0).expect("a box")),
        ("torus", torus(0.7, 0.3, 12, 6)),
        ("L", l_shape(0.3)),
    ]
}

/// With the linear law a mesh in layers has the same field, and so the same wrench and energy.
#[test]
fn layers_alone_change_nothing() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let cube = (box_field([1.0; 3]), 1e5);
    let (mut touching, mut worst) = (0, 0.0_f64);
    for (name, field) in fields() {
        for layers in [2, 3, 7] {
            let plain =
                [body(&field, &PressureLaw::Linear, 1, E), body(&cube.0, &PressureLaw::Linear, 1, cube.1)];
            let layered = [
                body(&field, &PressureLaw::Linear, layers, E),
                body(&cube.0, &PressureLaw::Linear, layers, cube.1),
            ];
            for _ in 0..8 {
                let x_wb = random_pose(&mut random, 0.3);
                let x_wa = x_wb * random_pose(&mut random, 1.2);
                let values = [&plain, &layered].map(|[a, b]| {
                    let patch = query(a, x_wa, b, x_wb, SurfaceRepresentation::Triangles);
                    patch.map(|p| (p.wrench_on_a, p.area, contact_energy(&at_rest(a, x_wa, b, x_wb))))
                });
                let [Some((wrench, area, energy)), other] = values else { continue };
                let other = other.expect("the same contact");
                let size = wrench.translational.norm();
                let off = (stacked(&wrench) - stacked(&other.0)).norm() / size;
                assert!(off < 1e-9, "{name}, {layers} layers: wrench off by {off:e}");
                assert!((area - other.1).abs() < 1e-9 && (energy - other.2).abs() < 1e-11 * E);
                (touching, worst) = (touching + 1, worst.max(off));
            }
        }
    }
    println!("{touching} contacts, off by {worst:.1e} at most");
    assert!(touching > 40);
}

/// Moment and force in one.
fn stacked(f: &SpatialForce) -> Vector6<f64> {
    Vector6::from_iterator(f.rotational.iter().chain(&f.translational).copied())
}

/// The wrench is the slope of the energy, by dual numbers and by differences.
fn check_energy(name: &str, a: &Collider, b: &Collider, reach: f64, poses: usize) {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let (mut done, mut worst) = (0, [0.0_f64; 2]);
    while done < poses {
        let x_wb = random_pose(&mut random, 0.3);
        let x_wa = x_wb * random_pose(&mut random, reach);
        let pair = at_rest(a, x_wa, b, x_wb);
        let Some(patch) = query(a, x_wa, b, x_wb, SurfaceRepresentation::Triangles) else { continue };
        let (wrench, energy) = (stacked(&patch.wrench_on_a), contact_energy(&pair));
        let size = patch.wrench_on_a.translational.norm();
        // All but sunk, or grazing: a small force as the slope of a large energy is mostly rounding.
        if size < 1e-3 * energy || size < 1e-3 * E {
            continue;
        }
        let exact = (stacked(&energy_slope(&pair)) - wrench).norm() / size;
        let difference = |h: f64| {
            let slope = Vector6::from_fn(|k, _| {
                let energy = |by: f64| {
                    let mut tangent = [Vector3::zeros(); 2];
                    tangent[k / 3][k % 3] = by;
                    contact_energy(&at_rest(a, x_wa.moved(&tangent[0], &tangent[1]), b, x_wb))
                };
                (energy(-h) - energy(h)) / (2.0 * h)
            });
            (slope - wrench).norm() / size
        };
        let difference = [1e-5, 1e-6, 1e-7].map(difference).into_iter().fold(f64::INFINITY, f64::min);
        assert!(exact < 1e-9, "{name}: wrench off the energy's slope by {exact:e}");
        assert!(difference < 1e-6, "{name}: off the difference by {difference:e}");
        worst = [worst[0].max(exact), worst[1].max(difference)];
        done += 1;
    }
    println!("{name}: {:.1e} by duals, {:.1e} by differences", worst[0], worst[1]);
}

#[test]
fn the_force_is_the_slope_of_the_energy() {
    let [sphere, brick, torus, l] = fields().map(|(_, field)| field);
    check_energy(
        "sphere–box",
        &body(&sphere, &power(1.5), 5, 3e4),
        &body(&brick, &stiff_core(), 4, 1e5),
        1.6,
        8,
    );
    check_energy("box–box", &body(&brick, &power(0.5), 3, 1e5), &body(&brick, &power(2.5), 3, 5e4), 1.2, 8);
    check_energy("torus–L", &body(&torus, &stiff_core(), 3, 1e5), &body(&l, &power(2.0), 2, 2e5), 1.2, 4);
    check_energy("sphere–rigid box", &body(&sphere, &stiff_core(), 6, 1e5), &rigid(&brick), 1.4, 8);
    check_energy("L–half-space", &body(&l, &power(1.5), 3, 1e5), &compliant_half_space(1e5, 0.5), 0.9, 8);
    check_energy("box–rigid half-space", &body(&brick, &power(3.0), 6, 1e5), &rigid_half_space(), 0.8, 8);
}
