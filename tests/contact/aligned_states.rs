//! States that users start from: faces, edges or vertices of the two meshes coincide. Faces of
//! the contact surface appear or vanish there, so that derivatives may be one-sided; they must
//! be finite and agree with one side, and the wrench must be the limit of its neighbours'.

use std::f64::consts::PI;

use crate::common::{
    Field, box_field, compliant, compliant_half_space, icosphere, random_in_ball, rigid, rigid_half_space,
    voxels,
};
use crate::truth::*;
use isobar::contact::{
    Collider, ContactPair, ContactSettings, SurfaceRepresentation, Workspace, contact_jacobian,
};
use isobar::geometry::VolumeMesh;
use isobar::spatial::{RigidTransform, rotation_exponential};
use nalgebra::Vector3;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Largest difference between an entry of a derivative and a one-sided difference, relative to
/// the block it stands in (torque, force or area by rotation, translation or a modulus).
const DERIVATIVE_ALLOWED: f64 = 1e-4;

/// Largest distance of wrench and area from their limits, relative to force, force times body
/// length, and area.
const LIMIT_ALLOWED: f64 = 1e-9;

const BLOCKS: [&[Input]; 4] = [
    &[Input::RotationA(0), Input::RotationA(1), Input::RotationA(2)],
    &[Input::TranslationA(0), Input::TranslationA(1), Input::TranslationA(2)],
    &[Input::ModulusA],
    &[Input::ModulusB],
];

/// The derivative towards `side` (±1) from values at three points: second order.
fn one_sided(
    state: &State,
    input: Input,
    side: f64,
    settings: &ContactSettings,
    w: &mut Workspace,
) -> Output {
    let h = 1.3e-5 * side;
    let f0 = state.output(settings, w);
    let f1 = state.moved(input, h, settings).output(settings, w);
    let f2 = state.moved(input, 2.0 * h, settings).output(settings, w);
    std::array::from_fn(|i| (4.0 * f1[i] - 3.0 * f0[i] - f2[i]) / (2.0 * h))
}

/// The largest error of a derivative's entries, relative to their blocks.
fn derivative_error(state: &State, settings: &ContactSettings) -> f64 {
    let w = &mut Workspace::default();
    let (_, jacobian) = contact_jacobian(&state.pair(), settings, w)
        .expect("a pair that can touch")
        .expect("bodies that touch");
    let scale = state.scale(&state.output(settings, w));
    let mut worst: f64 = 0.0;
    for block in BLOCKS {
        let mut sizes = [0.0; 3];
        let mut errors = [0.0_f64; 3];
        let mut report = Vec::new();
        for &input in block {
            if input == Input::ModulusA && state.a.geometry.is_rigid()
                || input == Input::ModulusB && state.b.geometry.is_rigid()
            {
                continue;
            }
            let exact = state.exact(&jacobian, input, settings);
            let up = one_sided(state, input, 1.0, settings, w);
            let down = one_sided(state, input, -1.0, settings, w);
            for (r, &(from, to)) in ROWS.iter().enumerate() {
                for i in from..to {
                    assert!(exact[i].is_finite(), "{input:?}, row {i}: {}", exact[i]);
                    let e = (exact[i] - up[i])
                        .abs()
                        .min((exact[i] - down[i]).abs())
                        .min((exact[i] - 0.5 * (up[i] + down[i])).abs());
                    errors[r] = errors[r].max(e);
                    sizes[r] += exact[i].powi(2).max(up[i].powi(2)).max(down[i].powi(2));
                    report.push((input, i, exact[i], down[i], up[i]));
                }
            }
        }
        for r in 0..3 {
            let e = errors[r] / f64::sqrt(sizes[r]).max(1e-3 * scale[r]);
            if e > DERIVATIVE_ALLOWED {
                for (input, i, e, d, u) in report.iter().filter(|x| ROWS[r].0 <= x.1 && x.1 < ROWS[r].1) {
                    println!("      {input:?} row {i}: {e:.6e}, below {d:.6e}, above {u:.6e}");
                }
            }
            worst = worst.max(e);
        }
    }
    worst
}

/// How far wrench and area are from their limits along 100 random lines, relative to their
/// scales: one number a line.
///
/// Along a line they are linear up to second order on either side of the state, so the limit
/// is twice the value at 1e-9 m less that at 2e-9 m, but for rounding. The torque of polygons,
/// taken at their centroids, depends on how the surface is divided and has no limit.
fn limit_errors(state: &State, settings: &ContactSettings) -> Vec<f64> {
    let w = &mut Workspace::default();
    let at = state.output(settings, w);
    let scale = state.scale(&at);
    let rows = match settings.surface {
        SurfaceRepresentation::Triangles => 0..3,
        SurfaceRepresentation::Polygons => 1..3,
    };
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut line = |_| {
        let (turn, shift) = (random_in_ball(&mut rng), random_in_ball(&mut rng));
        let mut near = |h: f64| {
            let mut s = state.clone();
            s.x_wa = s.x_wa.moved(&(turn * (h / s.length)), &(shift * h));
            s.output(settings, w)
        };
        let (one, two) = (near(1e-9), near(2e-9));
        let off: Output = std::array::from_fn(|i| 2.0 * one[i] - two[i] - at[i]);
        rows.clone().map(|r| norm(&off, ROWS[r]) / scale[r].max(f64::MIN_POSITIVE)).fold(0.0, f64::max)
    };
    (0..100).map(&mut line).collect()
}

fn soft(field: Field) -> Collider {
    compliant(field, MODULUS)
}

fn at(x: f64, y: f64, z: f64) -> RigidTransform {
    RigidTransform::from_translation([x, y, z])
}

/// A cylinder along z: `n` sides, its axis from half a radius below the upper end to as much
/// above the lower one at extent 1.
fn cylinder(radius: f64, half: f64, n: u32) -> Field {
    let inner = half - 0.5 * radius;
    let mut vertices =
        vec![Vector3::z() * -inner, Vector3::z() * inner, Vector3::z() * -half, Vector3::z() * half];
    let mut extent = vec![1.0, 1.0, 0.0, 0.0];
    for i in 0..n {
        let (sin, cos) = (2.0 * PI * f64::from(i) / f64::from(n)).sin_cos();
        for z in [-half, half] {
            vertices.push(Vector3::new(radius * cos, radius * sin, z));
            extent.push(0.0);
        }
    }
    let mut tetrahedra = Vec::new();
    for i in 0..n {
        let (a, b) = (4 + 2 * i, 4 + 2 * ((i + 1) % n));
        tetrahedra.extend([
            [0, a, b, 2],
            [1, a + 1, 3, b + 1],
            // The wedge between the axis and the side.
            [0, 1, a, b],
            [1, a, b, a + 1],
            [1, b, b + 1, a + 1],
        ]);
    }
    for t in &mut tetrahedra {
        let [p, q, r, s] = t.map(|k| vertices[k as usize]);
        if (q - p).cross(&(r - p)).dot(&(s - p)) < 0.0 {
            t.swap(2, 3);
        }
    }
    (VolumeMesh { vertices, tetrahedra }, extent)
}

/// Cells of a block of `n` × `m` × `k`.
fn block(n: i32, m: i32, k: i32) -> Vec<[i32; 3]> {
    (0..n * m * k).map(|i| [i % n, i / n % m, i / (n * m)]).collect()
}

/// The rotation that turns `from` into −z.
fn downward(from: Vector3<f64>) -> RigidTransform {
    let from = from.normalize();
    let axis = from.cross(&-Vector3::z());
    let angle = axis.norm().atan2(-from.z);
    let turn = if axis.norm() > 1e-12 { axis.normalize() * angle } else { Vector3::x() * angle };
    RigidTransform::new(rotation_exponential(&turn), Vector3::zeros())
}

fn states() -> Vec<(String, State)> {
    let mut all = Vec::new();
    let mut add = |name: &str, a: &Collider, x_wa: RigidTransform, b: &Collider, x_wb: RigidTransform| {
        all.push((name.to_string(), State::at_rest(a, b, x_wa, x_wb)));
    };
    let origin = RigidTransform::identity();
    let wide = [0.2, 0.16, 0.12];
    for (kind, cube, base) in [
        ("star", soft(box_field([0.1; 3])), soft(box_field(wide))),
        ("medial", soft(medial_box([0.1; 3])), soft(medial_box(wide))),
        ("voxel", soft(voxels(&block(4, 4, 4), 0.025)), soft(voxels(&block(8, 8, 4), 0.025))),
    ] {
        let half = if kind == "voxel" { 0.05 } else { 0.06 };
        let z = half + 0.05 - 0.01;
        add(&format!("{kind} box on box, centred"), &cube, at(0.0, 0.0, z), &base, origin);
        add(&format!("{kind} box on box, shifted"), &cube, at(0.025, 0.0125, z), &base, origin);
        if kind == "voxel" {
            add("voxel box on box, shared corner", &cube, at(0.05, 0.03, z), &base, origin);
        }
        add(&format!("{kind} base below box"), &base, origin, &cube, at(0.0, 0.0, z));
    }
    let unit = soft(box_field([1.0; 3]));
    let wider = soft(box_field([4.0, 2.0, 1.0]));
    add("unit cube on dyadic box", &unit, at(0.0, 0.0, 0.75), &wider, origin);
    add("unit cube on dyadic box, off centre", &unit, at(1.0, 0.25, 0.75), &wider, origin);
    add("unit cube half over the end", &unit, at(2.0, 0.0, 0.75), &wider, origin);
    let quarter_turn =
        RigidTransform::new(rotation_exponential(&(Vector3::x() * (PI / 2.0))), Vector3::new(0.0, 0.0, 0.75));
    add("unit cube on its side", &unit, quarter_turn, &wider, origin);
    for (kind, cube) in [
        ("star", box_field([0.1; 3])),
        ("medial", medial_box([0.1; 3])),
        ("voxel", voxels(&block(2, 2, 2), 0.05)),
    ] {
        let z = 0.04;
        add(
            &format!("{kind} cube on rigid half-space"),
            &soft(cube.clone()),
            at(0.0, 0.0, z),
            &rigid_half_space(),
            origin,
        );
        add(
            &format!("{kind} cube on compliant half-space"),
            &soft(cube.clone()),
            at(0.0, 0.0, z),
            &compliant_half_space(MODULUS, 0.1),
            origin,
        );
        add(
            &format!("rigid {kind} cube on compliant half-space"),
            &rigid(&cube),
            at(0.0, 0.0, z),
            &compliant_half_space(MODULUS, 0.1),
            origin,
        );
        add(
            &format!("rigid half-space below {kind} cube"),
            &rigid_half_space(),
            origin,
            &soft(cube.clone()),
            at(0.0, 0.0, z),
        );
        add(
            &format!("rigid {kind} cube on voxel box"),
            &rigid(&cube),
            at(0.0, 0.0, 0.09),
            &soft(voxels(&block(4, 4, 2), 0.05)),
            origin,
        );
        add(
            &format!("rigid {kind} cube deep in medial box"),
            &rigid(&cube),
            at(0.0, 0.0, 0.05),
            &soft(medial_box(wide)),
            origin,
        );
    }
    add(
        "voxels in a half-space to a layer",
        &soft(voxels(&block(2, 2, 4), 0.025)),
        at(0.0, 0.0, 0.025),
        &rigid_half_space(),
        origin,
    );
    let ball = icosphere(0.1, 2);
    let vertex = ball.0.vertices[1];
    let [p, q, r] = {
        let t = ball.0.tetrahedra[0];
        [t[0], t[1], t[2]].map(|k| ball.0.vertices[k as usize])
    };
    for (what, direction) in [("vertex", vertex), ("edge", p + q), ("face", p + q + r)] {
        let mut x = downward(direction);
        x.translation.z = 0.08;
        add(
            &format!("icosphere, {what} down, on rigid half-space"),
            &soft(ball.clone()),
            x,
            &rigid_half_space(),
            origin,
        );
        add(
            &format!("icosphere, {what} down, on compliant half-space"),
            &soft(ball.clone()),
            x,
            &compliant_half_space(MODULUS, 0.1),
            origin,
        );
        add(
            &format!("rigid icosphere, {what} down, on compliant half-space"),
            &rigid(&ball),
            x,
            &compliant_half_space(MODULUS, 0.1),
            origin,
        );
        x.translation.z = 0.13;
        add(
            &format!("icosphere, {what} down, on box"),
            &soft(ball.clone()),
            x,
            &soft(medial_box(wide)),
            origin,
        );
        add(
            &format!("rigid icosphere, {what} down, on box"),
            &rigid(&ball),
            x,
            &soft(medial_box(wide)),
            origin,
        );
    }
    add("icospheres, shifted", &soft(ball.clone()), origin, &soft(ball.clone()), at(0.0, 0.0, 0.17));
    add(
        "octaspheres, shifted",
        &soft(octasphere(0.1, 2)),
        origin,
        &soft(octasphere(0.1, 2)),
        at(0.0, 0.0, 0.17),
    );
    add(
        "rigid box face in sphere",
        &rigid(&box_field([0.3, 0.3, 0.1])),
        at(0.0, 0.0, 0.13),
        &soft(ball.clone()),
        origin,
    );
    add(
        "rigid box face in octasphere",
        &rigid(&box_field([0.3, 0.3, 0.1])),
        at(0.0, 0.0, 0.13),
        &soft(octasphere(0.1, 2)),
        origin,
    );
    let can = cylinder(0.05, 0.07, 12);
    let lying =
        RigidTransform::new(rotation_exponential(&(Vector3::x() * (PI / 2.0))), Vector3::new(0.0, 0.0, 0.1));
    for (kind, base) in [("star", box_field(wide)), ("medial", medial_box(wide))] {
        add(
            &format!("cylinder upright on {kind} box"),
            &soft(can.clone()),
            at(0.0, 0.0, 0.12),
            &soft(base.clone()),
            origin,
        );
        add(&format!("cylinder lying on {kind} box"), &soft(can.clone()), lying, &soft(base.clone()), origin);
        add(
            &format!("rigid cylinder upright on {kind} box"),
            &rigid(&can),
            at(0.0, 0.0, 0.12),
            &soft(base.clone()),
            origin,
        );
    }
    add(
        "cylinder lying on half-space",
        &soft(can.clone()),
        RigidTransform { translation: Vector3::z() * 0.04, ..lying },
        &rigid_half_space(),
        origin,
    );
    all
}

/// States at which the wrench has no limit: walls in one plane that bound both bodies.
fn flush_states() -> Vec<(String, State)> {
    let origin = RigidTransform::identity();
    let mut all = Vec::new();
    let mut add = |name: &str, a: Field, x_wa: RigidTransform, b: Field| {
        all.push((name.to_string(), State::at_rest(&soft(a), &soft(b), x_wa, origin)));
    };
    let wide = [0.2, 0.16, 0.12];
    add("box on box, shared corner", box_field([0.1; 3]), at(0.05, 0.03, 0.1), box_field(wide));
    add("medial box on box, shared corner", medial_box([0.1; 3]), at(0.05, 0.03, 0.1), medial_box(wide));
    add("stacked cubes", box_field([0.1; 3]), at(0.0, 0.0, 0.09), box_field([0.1; 3]));
    add("stacked medial cubes", medial_box([0.1; 3]), at(0.0, 0.0, 0.09), medial_box([0.1; 3]));
    add(
        "stacked voxel cubes",
        voxels(&block(4, 4, 4), 0.025),
        at(0.0, 0.0, 0.09),
        voxels(&block(4, 4, 4), 0.025),
    );
    add("unit cube over the end", box_field([1.0; 3]), at(1.5, 0.5, 0.75), box_field([4.0, 2.0, 1.0]));
    add("equal cubes", box_field([0.1; 3]), origin, box_field([0.1; 3]));
    add("equal medial cubes", medial_box([0.1; 3]), origin, medial_box([0.1; 3]));
    add("equal icospheres", icosphere(0.1, 2), origin, icosphere(0.1, 2));
    add("equal voxel cubes", voxels(&block(4, 4, 4), 0.025), origin, voxels(&block(4, 4, 4), 0.025));
    all
}

/// Where the wrench has no limit it is still one of the limits, or what symmetry asks for, and
/// its derivatives are those of a state beside the jump.
#[test]
fn flush_states_give_a_limit_or_the_symmetric_force() {
    for (name, state) in flush_states() {
        for surface in [SurfaceRepresentation::Triangles, SurfaceRepresentation::Polygons] {
            let settings = ContactSettings { surface, ..Default::default() };
            let w = &mut Workspace::default();
            let at = state.output(&settings, w);
            let limits = limit_errors(&state, &settings);
            let best = limits.iter().copied().fold(f64::INFINITY, f64::min);
            let worst = limits.iter().copied().fold(0.0, f64::max);
            println!(
                "{name:40} {surface:?}: force {:.3?}, distance from limits {best:.1e} to {worst:.1e}",
                &at[3..6]
            );
            if name.starts_with("equal") {
                // The fields are equal everywhere; the force just beside flips with the direction.
                assert!(
                    contact_jacobian(&state.pair(), &settings, w).expect("a pair that can touch").is_none()
                );
                assert_eq!(at, [0.0; 7]);
                continue;
            }
            let force = Vector3::new(at[3], at[4], at[5]);
            let (_, jacobian) = contact_jacobian(&state.pair(), &settings, w)
                .expect("a pair that can touch")
                .expect("bodies that touch");
            // Not the jump over a small step.
            let bound = 1e4 * force.norm() / state.length;
            assert!(jacobian.by_pose_a.iter().all(|x| x.abs() < bound), "{name}: {}", jacobian.by_pose_a);
            assert!(jacobian.by_modulus_a.iter().chain(&jacobian.by_modulus_b).all(|x| x.is_finite()));
            if name.starts_with("stacked cubes") || name.starts_with("stacked medial") {
                assert!(force.xy().norm() < 1e-12 * force.norm(), "{name}: {force}");
            } else {
                assert!(best <= LIMIT_ALLOWED, "{name}: {best:e} from the nearest limit");
            }
        }
    }
}

#[test]
fn aligned_states_have_one_sided_derivatives_and_are_limits() {
    let mut failures = Vec::new();
    for (name, state) in states() {
        for surface in [SurfaceRepresentation::Triangles, SurfaceRepresentation::Polygons] {
            let settings = ContactSettings { surface, ..Default::default() };
            let derivative = derivative_error(&state, &settings);
            let limit = limit_errors(&state, &settings).into_iter().fold(0.0, f64::max);
            let force = state.output(&settings, &mut Workspace::default());
            println!(
                "{name:50} {surface:?}: derivative {derivative:.1e}, limit {limit:.1e}, f_z {:.3} area {:.5}",
                force[5], force[6]
            );
            if !(derivative <= DERIVATIVE_ALLOWED && limit <= LIMIT_ALLOWED) {
                failures.push(format!("{name} {surface:?}: derivative {derivative:e}, limit {limit:e}"));
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Equal balls about one centre, one of them turned: their fields differ by their facets alone, and the
/// surface of equal pressure is folded through their whole volume.
#[test]
fn equal_balls_turned_about_one_centre_give_numbers() {
    let (a, b) = (compliant(icosphere(0.05, 1), 1e6), compliant(icosphere(0.05, 1), 1e6));
    for turn in [Vector3::new(0.3, 0.15, 0.06), Vector3::new(1e-9, 0.0, 0.0)] {
        let x_wb = RigidTransform::new(rotation_exponential(&turn), Vector3::zeros());
        let pair = ContactPair::at_rest(&a, RigidTransform::identity(), &b, x_wb);
        let look = || {
            contact_jacobian(&pair, &ContactSettings::default(), &mut Workspace::default())
                .expect("a pair that can touch")
        };
        let (patch, jacobian) = look().expect("fields that are equal on a surface");
        // By symmetry there is no net force, but for the rounding of 2000 N, which act between balls whose
        // centres are a little apart. (There is a torque: that between the facets.)
        assert!(patch.area > 0.0 && patch.wrench_on_a.translational.norm() < 2000.0 * 1e-6, "{patch:?}");
        assert!(patch.wrench_on_a.rotational.iter().all(|x| x.is_finite()), "{patch:?}");
        let columns = [jacobian.by_modulus_a, jacobian.by_modulus_b];
        let mut numbers =
            jacobian.by_pose_a.iter().chain(&jacobian.by_pose_b).chain(columns.iter().flatten());
        assert!(numbers.all(|x| x.is_finite()), "{jacobian:?}");
        let (same, same_jacobian) = look().expect("the same");
        assert_eq!((patch.wrench_on_a, patch.area), (same.wrench_on_a, same.area));
        assert_eq!(jacobian.by_pose_a, same_jacobian.by_pose_a);
    }
}
