//! Contacts with a known answer.

use std::f64::consts::PI;

use crate::common::{
    Field, at_rest, box_field, compliant, compliant_half_space, energy_slope, icosphere, l_shape,
    random_pose, rigid, rigid_half_space, torus,
};
use approx::assert_relative_eq;
use isobar::contact::{
    Collider, ContactPatch, ContactSettings, SurfaceRepresentation, Workspace, check_pair, contact,
    contact_energy,
};
use isobar::geometry::{ConvexPolyhedron, HalfSpace};
use isobar::io::Scene;
use isobar::multibody::BodyGeometry;
use isobar::spatial::{RigidTransform, SpatialForce, rotation_exponential};
use nalgebra::{Matrix3, Vector3};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const BOTH: [SurfaceRepresentation; 2] = [SurfaceRepresentation::Triangles, SurfaceRepresentation::Polygons];

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

fn shifted(x: f64, y: f64, z: f64) -> RigidTransform {
    RigidTransform::from_translation([x, y, z])
}

/// Volume and first moment of the part of a body below z = 0.
fn sunk((mesh, _): &Field, x_w: &RigidTransform) -> (f64, Vector3<f64>) {
    let mut part = ConvexPolyhedron::default();
    mesh.tetrahedra.iter().fold((0.0, Vector3::zeros()), |(volume, moment), t| {
        part.set_tetrahedron(t.map(|k| *x_w * mesh.vertices[k as usize]));
        part.clip(&HalfSpace { normal: Vector3::z(), offset: 0.0 });
        let (v, m) = part.volume_and_moment();
        (volume + v, moment + m)
    })
}

/// A pressure proportional to depth is buoyancy in a liquid of specific weight E/t (Archimedes):
/// the force is E/t times the displaced volume, through its centroid.
#[test]
fn rigid_bodies_float_in_a_compliant_half_space() {
    let (modulus, thickness) = (3e4, 0.25);
    let liquid = compliant_half_space(modulus, thickness);
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for field in [box_field([1.0, 2.0, 0.5]), torus(0.7, 0.2, 9, 5), l_shape(0.2)] {
        let body = rigid(&field);
        let flat = (0..3).map(|k| shifted(0.3, -0.2, 0.05 * f64::from(k)));
        let tilted = (0..10).map(|_| random_pose(&mut random, 0.2));
        for x_wb in flat.chain(tilted.collect::<Vec<_>>()) {
            let (volume, moment) = sunk(&field, &x_wb);
            let weight = modulus / thickness * volume;
            let centroid = moment / volume;
            let patch = query(&body, x_wb, &liquid, RigidTransform::identity(), BOTH[0]).unwrap();
            let force = Vector3::new(0.0, 0.0, weight);
            assert_relative_eq!(patch.wrench_on_a.translational, force, epsilon = 1e-11 * weight);
            let torque = (centroid - x_wb.translation).cross(&force);
            assert_relative_eq!(patch.wrench_on_a.rotational, torque, epsilon = 1e-11 * weight);
            // The pressure at a polygon's centroid gives the force exactly.
            let patch = query(&body, x_wb, &liquid, RigidTransform::identity(), BOTH[1]).unwrap();
            assert_relative_eq!(patch.wrench_on_a.translational, force, epsilon = 1e-11 * weight);
        }
    }
}

/// Checks that the errors at mesh sizes h, h/2, h/4, … fall by about 4 each time.
fn assert_second_order(name: &str, errors: &[f64]) {
    println!("{name}: relative errors {errors:?}");
    for pair in errors.windows(2) {
        let ratio = pair[0] / pair[1];
        assert!((3.0..5.5).contains(&ratio), "{name}: error falls by {ratio} from {errors:?}");
    }
}

/// On the disc of radius √(R² − h²) that a rigid plane at height h cuts from a sphere with
/// pressure E(1 − r/R), the force is
/// ∫ E(1 − √(ρ²+h²)/R) 2πρ dρ = πE [R² − h² − 2(R³ − h³)/(3R)].
#[test]
fn sphere_on_a_rigid_half_space_converges_at_second_order() {
    let (modulus, radius, depth) = (1e5, 0.1, 0.025);
    let h: f64 = radius - depth;
    let exact =
        PI * modulus * (radius * radius - h * h - 2.0 * (radius.powi(3) - h.powi(3)) / (3.0 * radius));
    let rotation = rotation_exponential(&Vector3::new(0.3, -0.5, 0.2));
    let errors = [2, 3, 4, 5].map(|level| {
        let ball = compliant(icosphere(radius, level), modulus);
        let x_wa = RigidTransform::new(rotation, Vector3::new(0.0, 0.0, h));
        let patch = query(&ball, x_wa, &rigid_half_space(), RigidTransform::identity(), BOTH[0]).unwrap();
        (patch.wrench_on_a.translational - Vector3::z() * exact).norm() / exact
    });
    assert_second_order("sphere on a rigid half-space", &errors);
}

/// The force is E/t times the volume of a spherical cap, πd²(3R − d)/3.
#[test]
fn rigid_sphere_in_a_compliant_half_space_converges_at_second_order() {
    let (modulus, thickness, radius, depth) = (1e5, 0.05, 0.1, 0.025);
    let exact = modulus / thickness * PI * depth * depth * (3.0 * radius - depth) / 3.0;
    let liquid = compliant_half_space(modulus, thickness);
    let rotation = rotation_exponential(&Vector3::new(0.3, -0.5, 0.2));
    let errors = [2, 3, 4, 5].map(|level| {
        let x_wb = RigidTransform::new(rotation, Vector3::new(0.0, 0.0, radius - depth));
        let ball = rigid(&icosphere(radius, level));
        let patch = query(&liquid, RigidTransform::identity(), &ball, x_wb, BOTH[0]).unwrap();
        (patch.wrench_on_a.translational + Vector3::z() * exact).norm() / exact
    });
    assert_second_order("rigid sphere in a compliant half-space", &errors);
}

/// Where a half turn about the line of contact leaves both bodies as they are, the force is
/// along that line and no torque acts.
#[test]
fn symmetric_contacts_are_free_of_torque() {
    let ball = compliant(icosphere(1.0, 2), 1e5);
    let soft_ball = compliant(icosphere(0.7, 1), 1e4);
    let slab = compliant(box_field([3.0, 2.0, 1.0]), 1e5);
    let hard_slab = rigid(&box_field([3.0, 2.0, 1.0]));
    let ring = compliant(torus(0.7, 0.3, 12, 6), 1e5);
    let (soft, hard) = (compliant_half_space(1e4, 0.5), rigid_half_space());
    let lying = shifted(0.0, 0.0, -0.5);
    let at = RigidTransform::identity();
    for (name, a, height, b, x_wb) in [
        ("sphere on rigid half-space", &ball, 0.8, &hard, at),
        ("sphere on compliant half-space", &ball, 0.8, &soft, at),
        ("sphere on sphere", &soft_ball, 1.3, &ball, at),
        ("sphere on box", &ball, 0.75, &slab, lying),
        ("sphere on rigid box", &ball, 0.75, &hard_slab, lying),
        ("box on rigid half-space", &slab, 0.4, &hard, at),
        ("box on compliant half-space", &slab, 0.4, &soft, at),
        ("box on box", &slab, 0.4, &slab, lying),
        ("torus on box", &ring, 0.2, &slab, lying),
        ("torus on rigid half-space", &ring, 0.2, &hard, at),
    ] {
        for surface in BOTH {
            let patch = query(a, shifted(0.0, 0.0, height), b, x_wb, surface).unwrap();
            let w = patch.wrench_on_a;
            let force = w.translational.z;
            assert!(force > 0.0, "{name}: pulled with {force} N");
            let sideways = w.translational.xy().norm() / force;
            let torque = w.rotational.norm() / force;
            // A polygon's one point gives its force exactly but not its torque, and the half turn
            // need not map one polygon to another.
            let torque = if surface == SurfaceRepresentation::Triangles { torque } else { 0.0 };
            assert!(sideways < 1e-12 && torque < 1e-12, "{name} {surface:?}: {sideways:e}, {torque:e} m");
        }
    }
}

/// Two equal unit cubes, one moved by x (Huang et al. 2021, §VI and Fig. 3).
///
/// Both pressures are E(1 − 2‖·‖_∞) about their centres. The energy is ∫ min of the two, twice
/// what lies beyond the plane halfway, so the force is the pressure on that plane,
/// E ∫∫ (1 − 2 max(|y|, |z|, x/2)) dy dz = E(1 − x³)/3: largest as x → 0, where it changes sign.
#[test]
fn two_cubes_repel_symmetrically() {
    let modulus = 7e3;
    let cube = compliant(box_field([1.0; 3]), modulus);
    let b = RigidTransform::identity();
    for surface in BOTH {
        for axis in 0..3 {
            let force = |x: f64| -> Vector3<f64> {
                let x_wa = RigidTransform::from_translation(Vector3::ith(axis, x));
                query(&cube, x_wa, &cube, b, surface)
                    .map_or(Vector3::zeros(), |p| p.wrench_on_a.translational)
            };
            assert_eq!(force(0.0), Vector3::zeros());
            for k in 1..=40 {
                let x = f64::from(k) / 40.0;
                let exact = Vector3::ith(axis, modulus * (1.0 - x.powi(3)) / 3.0);
                assert_relative_eq!(force(x), exact, epsilon = 1e-11 * modulus);
                assert_relative_eq!(force(-x), -exact, epsilon = 1e-11 * modulus);
            }
            for x in [-1.0 - 1e-9, -1.0, 1.0, 1.0 + 1e-9, 1.2] {
                assert!(force(x).norm() < 1e-11 * modulus, "{x}: {}", force(x));
            }
        }
    }
}

/// A small hard sphere wholly inside a big soft one: the contact surface is closed, and the
/// small one floats towards where the pressure is lower.
#[test]
fn nested_spheres() {
    let big = compliant(icosphere(1.0, 2), 1e4);
    for (name, small) in [
        ("compliant", compliant(icosphere(0.2, 1), 1e7)),
        ("rigid", rigid(&icosphere(0.2, 1))),
        ("of the same modulus", compliant(icosphere(0.2, 1), 1e4 * (1.0 + 1e-9))),
    ] {
        let centred = RigidTransform::identity();
        let patch = query(&small, centred, &big, centred, BOTH[0]).unwrap();
        assert!(patch.area > 0.0 && patch.faces >= 20, "{name}: {patch:?}");
        let load = patch.max_pressure * 4.0 * PI * 0.04;
        assert!(patch.wrench_on_a.translational.norm() < 1e-12 * load, "{name}: {patch:?}");
        assert!(patch.wrench_on_a.rotational.norm() < 1e-12 * load, "{name}: {patch:?}");
        let mut random = ChaCha8Rng::seed_from_u64(3);
        for _ in 0..10 {
            let mut x_wa = random_pose(&mut random, 0.5);
            let outward = Vector3::new(0.4, -0.3, 0.2);
            x_wa.translation = x_wa.translation * 0.2 + outward;
            let patch = query(&small, x_wa, &big, centred, BOTH[0]).unwrap();
            let slope = energy_slope(&at_rest(&small, x_wa, &big, centred));
            let error = patch.wrench_on_a - slope;
            let scale = slope.translational.norm();
            assert!(error.translational.norm() < 1e-10 * scale, "{name}: {patch:?}, not {slope:?}");
            assert!(error.rotational.norm() < 1e-10 * scale, "{name}: {patch:?}, not {slope:?}");
            assert!(slope.translational.dot(&x_wa.translation) > 0.0, "{name}: drawn inward");
        }
    }
}

/// A solid sphere between the arms of an L and one in the hole of a torus: their boxes overlap,
/// they do not.
#[test]
fn bodies_apart_do_not_touch() {
    let ball = icosphere(0.25, 2);
    let (ring, corner) = (torus(0.7, 0.3, 12, 6), l_shape(0.3));
    for (around, at) in [(&ring, Vector3::zeros()), (&corner, Vector3::new(0.3, 0.3, 0.0))] {
        let (soft, hard) = (compliant(around.clone(), 1e5), rigid(around));
        let (soft_ball, hard_ball) = (compliant(ball.clone(), 1e4), rigid(&ball));
        let x_wa = RigidTransform::from_translation(at);
        for (a, b) in [(&soft_ball, &soft), (&soft_ball, &hard), (&hard_ball, &soft)] {
            for (a, x_wa, b, x_wb) in
                [(a, x_wa, b, RigidTransform::identity()), (b, RigidTransform::identity(), a, x_wa)]
            {
                for surface in BOTH {
                    assert!(query(a, x_wa, b, x_wb, surface).is_none());
                }
                // Signed tetrahedra that fill a rigid body cancel outside it, but for rounding.
                let energy = contact_energy(&at_rest(a, x_wa, b, x_wb));
                assert!(energy.abs() < 1e-14 * 1e5, "{energy}");
            }
        }
    }
    let (soft, hard) = (compliant_half_space(1e4, 0.5), rigid_half_space());
    let above = shifted(0.0, 0.0, 0.2501);
    let (soft_ball, hard_ball) = (compliant(ball.clone(), 1e4), rigid(&ball));
    for (a, b) in [(&soft_ball, &soft), (&soft_ball, &hard), (&hard_ball, &soft)] {
        assert!(query(a, above, b, RigidTransform::identity(), BOTH[0]).is_none());
    }
}

/// Pairs of every kind: two bodies of about 1 m, and how far apart they may be to touch.
fn pairs_of_every_kind(length: f64, stiffness: f64) -> Vec<(&'static str, Collider, Collider, f64)> {
    let grown = |(mut mesh, extent): Field| {
        mesh.vertices.iter_mut().for_each(|x| *x *= length);
        (mesh, extent)
    };
    let ball = || grown(icosphere(0.8, 1));
    let slab = || grown(box_field([1.5, 1.0, 0.8]));
    let ring = || grown(torus(0.7, 0.3, 12, 6));
    let soft = || compliant_half_space(stiffness * 1e4, length * 0.3);
    vec![
        ("sphere, box", compliant(ball(), stiffness * 1e5), compliant(slab(), stiffness * 1e4), 1.0),
        ("torus, sphere", compliant(ring(), stiffness * 1e5), compliant(ball(), stiffness * 1e7), 1.0),
        ("rigid sphere, box", rigid(&ball()), compliant(slab(), stiffness * 1e4), 1.0),
        ("torus, rigid box", compliant(ring(), stiffness * 1e4), rigid(&slab()), 1.0),
        ("box, rigid half-space", compliant(slab(), stiffness * 1e4), rigid_half_space(), 0.5),
        ("compliant half-space, torus", soft(), compliant(ring(), stiffness * 1e5), 0.5),
        ("rigid box, compliant half-space", rigid(&slab()), soft(), 0.5),
    ]
}

/// The largest difference of two wrenches relative to the force, with arms in units of `length`.
fn distance(a: &SpatialForce, b: &SpatialForce, length: f64) -> f64 {
    let error = *a - *b;
    error.translational.norm().max(error.rotational.norm() / length) / b.translational.norm()
}

/// Random poses of two bodies, with A's pose relative to B's within `reach`.
fn poses(reach: f64, length: f64) -> impl Iterator<Item = (RigidTransform, RigidTransform)> {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    (0..20).map(move |_| {
        let x_wb = random_pose(&mut random, length);
        (x_wb * random_pose(&mut random, reach * length), x_wb)
    })
}

#[test]
fn swapping_the_bodies_turns_the_wrench_round() {
    let mut pairs = pairs_of_every_kind(1.0, 1.0);
    let equal = compliant(icosphere(0.8, 1), 1e4);
    pairs.push(("torus, sphere of one modulus", compliant(torus(0.7, 0.3, 12, 6), 1e4), equal, 1.0));
    for (name, a, b, reach) in pairs {
        // Two fields of one modulus trade places in the query; all others run it the same way.
        let same_query = a.material.hydroelastic_modulus != b.material.hydroelastic_modulus;
        for (x_wa, x_wb) in poses(reach, 1.0) {
            for surface in BOTH {
                let on_a = query(&a, x_wa, &b, x_wb, surface);
                let on_b = query(&b, x_wb, &a, x_wa, surface);
                assert_eq!(on_a.is_some(), on_b.is_some(), "{name}");
                let (Some(on_a), Some(on_b)) = (on_a, on_b) else { continue };
                let about_a = on_b.wrench_on_a.shifted(&(x_wa.translation - x_wb.translation));
                let off = distance(&-about_a, &on_a.wrench_on_a, 1.0);
                assert!(off < 1e-10, "{name} {surface:?}: {off:e}");
                if same_query {
                    assert_eq!(on_a.wrench_on_a.translational, -on_b.wrench_on_a.translational, "{name}");
                    assert_eq!((on_a.area, on_a.faces), (on_b.area, on_b.faces), "{name}");
                    assert_eq!(on_a.centroid, on_b.centroid, "{name}");
                }
            }
        }
    }
}

/// Pressure is proportional to the moduli; at the same moduli the force grows with the area.
#[test]
fn wrench_scales_with_moduli_and_lengths() {
    for (length, stiffness) in [(1.0, 1e-3), (1.0, 7e4), (0.01, 1.0), (30.0, 1.0), (0.02, 50.0)] {
        let originals = pairs_of_every_kind(1.0, 1.0);
        for ((name, a, b, reach), (_, c, d, _)) in
            originals.iter().zip(pairs_of_every_kind(length, stiffness))
        {
            for (x_wa, x_wb) in poses(*reach, 1.0) {
                let grown = |x: &RigidTransform| RigidTransform::new(x.rotation, x.translation * length);
                for surface in BOTH {
                    let one = query(a, x_wa, b, x_wb, surface);
                    let other = query(&c, grown(&x_wa), &d, grown(&x_wb), surface);
                    assert_eq!(one.is_some(), other.is_some(), "{name} {length} {stiffness}");
                    let (Some(one), Some(other)) = (one, other) else { continue };
                    let by_force = stiffness * length * length;
                    let expected = SpatialForce::new(
                        one.wrench_on_a.rotational * (by_force * length),
                        one.wrench_on_a.translational * by_force,
                    );
                    let off = distance(&other.wrench_on_a, &expected, length);
                    assert!(off < 1e-9, "{name} {surface:?} {length} {stiffness}: {off:e}");
                    assert_relative_eq!(other.area, one.area * length * length, max_relative = 1e-9);
                }
            }
        }
    }
}

/// Rotating the world rotates the wrench: by a quarter turn, exactly but for rounding.
#[test]
fn the_world_has_no_preferred_direction() {
    let turn = Matrix3::new(0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0);
    let world = RigidTransform::new(turn, Vector3::new(3.0, -2.0, 5.0));
    for (name, a, b, reach) in pairs_of_every_kind(1.0, 1.0) {
        for (x_wa, x_wb) in poses(reach, 1.0) {
            let one = query(&a, x_wa, &b, x_wb, BOTH[0]);
            let other = query(&a, world * x_wa, &b, world * x_wb, BOTH[0]);
            assert_eq!(one.is_some(), other.is_some(), "{name}");
            let (Some(one), Some(other)) = (one, other) else { continue };
            let off = distance(&other.wrench_on_a, &one.wrench_on_a.rotated(&turn), 1.0);
            assert!(off < 1e-10, "{name}: {off:e}");
        }
    }
}

/// Bodies that are apart are no error, pairs that cannot touch are, whichever comes first.
#[test]
fn pairs_that_cannot_touch_are_told_from_those_that_do_not() {
    let ball = icosphere(0.1, 1);
    let (soft, hard) = (compliant(ball.clone(), 1e5), rigid(&ball));
    let (soft_ground, hard_ground) = (compliant_half_space(1e5, 0.1), rigid_half_space());
    let colliders = [&soft, &hard, &soft_ground, &hard_ground];
    let apart = shifted(0.0, 0.0, 0.3);
    for a in colliders {
        for b in colliders {
            let pair = at_rest(a, apart, b, RigidTransform::identity());
            let found = contact(&pair, &ContactSettings::default(), &mut Workspace::default());
            let expected = check_pair(&a.geometry, &b.geometry);
            assert_eq!(found.as_ref().err(), expected.as_ref().err(), "{a:?} {b:?}");
            // Nothing is below the ground here; a half-space as A is not above anything.
            if let Ok(found) = found {
                assert!(found.is_none() || a.geometry.is_half_space());
            }
        }
    }
}

/// A geometry of a scene, of material with a modulus of 1e5 Pa.
fn of_scene(geometry: &str) -> BodyGeometry {
    let text = format!(
        "[materials.foam]\nhydroelastic_modulus = 1e5\n[[bodies]]\nname = \"body\"\ndensity = 1.0\n[[bodies.geometries]]\n\
         {geometry}\nmaterial = \"foam\"\n"
    );
    let scene = Scene::parse(&text, "scene.toml").expect("a scene");
    scene.model.bodies()[0].geometries[0].clone()
}

/// The root mean square errors of the force and the stiffness of a ball that is turned at random over a rigid floor, a part of its
/// radius deep, which bears F(h) = 2 π E ((R² − h²)/2 − (R³ − h³)/(3 R)) with its centre h above it.
fn errors_of_ball(mesh: &str, part: f64) -> [f64; 2] {
    let (modulus, r) = (1e5, 0.05_f64);
    let ball = of_scene(&format!("shape = {{ sphere = {{ radius = {r}, {mesh} }} }}")).collider;
    let (floor, h, step) = (rigid_half_space(), (1.0 - part) * r, 1e-6);
    let exact = 2.0 * PI * modulus * ((r * r - h * h) / 2.0 - (r.powi(3) - h.powi(3)) / (3.0 * r));
    let stiffness = 2.0 * PI * modulus * h * (1.0 - h / r);
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut squares = [0.0; 2];
    const TURNS: usize = 100;
    for _ in 0..TURNS {
        let turn = random_pose(&mut random, 0.0).rotation;
        let force = |height: f64| {
            let x_wb = RigidTransform::new(turn, Vector3::new(0.0, 0.0, height));
            let patch = query(&ball, x_wb, &floor, RigidTransform::identity(), BOTH[1]);
            patch.map_or(0.0, |patch| patch.wrench_on_a.translational.z)
        };
        let slope = (force(h - step) - force(h + step)) / (2.0 * step);
        squares[0] += (force(h) / exact - 1.0).powi(2);
        squares[1] += (slope / stiffness - 1.0).powi(2);
    }
    squares.map(|sum| (sum / TURNS as f64).sqrt())
}

#[test]
fn meshes_with_the_volume_of_their_shape_bear_its_force() {
    for (shape, volume) in [
        ("sphere = { radius = 0.1", 4.0 / 3.0 * PI * 1e-3),
        ("cylinder = { radius = 0.1, length = 0.3", PI * 3e-3),
        ("capsule = { radius = 0.1, length = 0.3", PI * 3e-3 + 4.0 / 3.0 * PI * 1e-3),
        ("ellipsoid = { semi_axes = [0.1, 0.2, 0.3]", 4.0 / 3.0 * PI * 6e-3),
    ] {
        for kind in ["", "\nrigid = true"] {
            let with = |mesh: &str| {
                let made = of_scene(&format!("shape = {{ {shape}, resolution = 0.08{mesh} }} }}{kind}"));
                made.unit_mass.expect("a volume").mass
            };
            assert_relative_eq!(with(", equal_volume = true"), volume, max_relative = 1e-12);
            assert!(with("") < 0.999 * volume, "{shape} {}", with("") / volume);
        }
    }
    println!("errors of force and stiffness, %, as vertices lie on the ball and with its volume:");
    for (tetrahedra, resolution) in [(80, 0.05), (320, 0.025), (1280, 0.0125), (5120, 0.006)] {
        for part in [0.02, 0.05, 0.1, 0.2] {
            let [inside, equal] = ["", ", equal_volume = true"].map(|mesh| {
                errors_of_ball(&format!("resolution = {resolution}{mesh}"), part).map(|error| 100.0 * error)
            });
            println!("{tetrahedra} tetrahedra, depth {part} R: {inside:.2?} {equal:.2?}");
            if tetrahedra == 320 && part >= 0.05 {
                assert!(equal.iter().all(|&error| error < 2.0) && inside[0] > 8.0, "{equal:?} {inside:?}");
            }
        }
    }
}
