//! The time of contact queries on one thread, next to Drake's on the same meshes.
//!
//! Two bodies take a different one of 32 poses at every call, as in Drake's measurement. A query
//! finds the contact surface and integrates the wrench over it. Besides criterion's own output a
//! table is printed at the end, with the median over the samples of the time per call: of the
//! wall clock, and of the thread's own processor time, which other programs disturb less.

mod clock;
mod median;

use std::hint::black_box;
use std::time::{Duration, Instant};

use clock::thread_time;
use criterion::{BenchmarkId, Criterion, SamplingMode};
use isobar::contact::{
    Collider, ContactPair, ContactSettings, Material, SurfaceRepresentation, Workspace, contact,
    contact_jacobian,
};
use isobar::field::{PressureField, RigidSurface};
use isobar::geometry::{Shape, SurfaceMesh, VolumeMesh};
use isobar::spatial::{Quaternion, RigidTransform, SpatialVelocity, rotation_exponential, rotation_from_rpy};
use median::median;
use nalgebra::{Matrix3, Vector3};
use rand::prelude::*;
use rand_chacha::ChaCha8Rng;

const POSES: usize = 32;

const MATERIAL: Material = Material::new(1e5, 0.0, 0.0);

/// A pair of bodies and the poses it takes.
struct Scene {
    name: &'static str,
    a: Collider,
    b: Collider,
    poses: Vec<(RigidTransform, RigidTransform)>,
    /// Velocity of A.
    v_wa: SpatialVelocity,
}

impl Scene {
    fn pair(&self, call: usize) -> ContactPair<'_> {
        let (x_wa, x_wb) = self.poses[call % self.poses.len()];
        ContactPair { v_wa: self.v_wa, ..ContactPair::at_rest(&self.a, x_wa, &self.b, x_wb) }
    }
}

fn icosphere(radius: f64, level: u32) -> Collider {
    let mesh = VolumeMesh::icosphere(radius, level);
    let extent = mesh.vertices.iter().map(|v| if v.norm() < 0.5 * radius { 1.0 } else { 0.0 }).collect();
    Collider::compliant(PressureField::new(mesh, extent).unwrap(), MATERIAL)
}

fn cuboid(size: [f64; 3]) -> Collider {
    Collider::of_shape(&Shape::Box { size }, 1.0, MATERIAL).unwrap()
}

fn random_vector(rng: &mut ChaCha8Rng) -> Vector3<f64> {
    Vector3::from_fn(|_, _| rng.random_range(-1.0..1.0))
}

fn random_rotation(rng: &mut ChaCha8Rng) -> Matrix3<f64> {
    let v = random_vector(rng);
    Quaternion::from_wxyz(rng.random_range(-1.0..1.0), v.x, v.y, v.z).to_matrix()
}

/// Two equal icospheres, turned at random, in a random direction from each other.
fn icospheres(name: &'static str, radius: f64, level: u32, distance: f64) -> Scene {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let poses = (0..POSES)
        .map(|_| {
            let (turn_a, turn_b) = (random_rotation(&mut rng), random_rotation(&mut rng));
            let offset = random_vector(&mut rng).normalize() * distance;
            (RigidTransform::new(turn_a, Vector3::zeros()), RigidTransform::new(turn_b, offset))
        })
        .collect();
    let body = icosphere(radius, level);
    Scene { name, a: body.clone(), b: body, poses, v_wa: SpatialVelocity::zero() }
}

/// A at a pose from which it is turned by a few hundredths of a radian at random.
fn nearly_fixed(
    name: &'static str,
    a: Collider,
    x_wa: RigidTransform,
    b: Collider,
    x_wb: RigidTransform,
) -> Scene {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let poses = (0..POSES)
        .map(|_| {
            let turn = rotation_exponential(&(random_vector(&mut rng) * 0.05));
            (RigidTransform::new(turn * x_wa.rotation, x_wa.translation), x_wb)
        })
        .collect();
    Scene { name, a, b, poses, v_wa: SpatialVelocity::zero() }
}

fn at(rpy: [f64; 3], p: [f64; 3]) -> RigidTransform {
    RigidTransform::new(rotation_from_rpy(rpy[0], rpy[1], rpy[2]), Vector3::from(p))
}

/// The wrench alone, or with its local Jacobian.
#[derive(Clone, Copy, PartialEq)]
enum Query {
    Wrench,
    Jacobian,
}

/// Seconds per call.
#[derive(Clone, Copy)]
struct Time {
    wall: f64,
    cpu: f64,
}

/// What was measured of one query.
struct Measurement {
    time: Time,
    /// Faces per call, averaged over the poses.
    faces: f64,
}

/// Measures a query; `None` if the command line left it out.
fn measure(
    criterion: &mut Criterion,
    scene: &Scene,
    surface: SurfaceRepresentation,
    query: Query,
) -> Option<Measurement> {
    let settings = ContactSettings { surface, ..Default::default() };
    let mut workspace = Workspace::default();
    let faces = (0..POSES)
        .map(|i| {
            contact(&scene.pair(i), &settings, &mut workspace)
                .expect("a pair that can touch")
                .map_or(0, |p| p.faces)
        })
        .sum::<usize>() as f64
        / POSES as f64;
    let (mut wall, mut cpu) = (Vec::new(), Vec::new());
    let mut call = 0;
    let kind = match (surface, query) {
        (SurfaceRepresentation::Polygons, Query::Wrench) => "polygons",
        (SurfaceRepresentation::Polygons, Query::Jacobian) => "polygons, Jacobian",
        (SurfaceRepresentation::Triangles, Query::Wrench) => "triangles",
        (SurfaceRepresentation::Triangles, Query::Jacobian) => "triangles, Jacobian",
    };
    let mut group = criterion.benchmark_group("contact");
    group.sampling_mode(SamplingMode::Flat);
    group.bench_function(BenchmarkId::new(scene.name, kind), |bencher| {
        bencher.iter_custom(|calls| {
            let (start, cpu_start) = (Instant::now(), thread_time());
            for _ in 0..calls {
                let pair = black_box(scene.pair(call));
                call += 1;
                match query {
                    Query::Wrench => drop(black_box(
                        contact(&pair, &settings, &mut workspace).expect("a pair that can touch"),
                    )),
                    Query::Jacobian => drop(black_box(
                        contact_jacobian(&pair, &settings, &mut workspace).expect("a pair that can touch"),
                    )),
                }
            }
            let elapsed = start.elapsed();
            cpu.push((thread_time() - cpu_start).as_secs_f64() / calls as f64);
            wall.push(elapsed.as_secs_f64() / calls as f64);
            elapsed
        });
    });
    group.finish();
    (!wall.is_empty()).then(|| Measurement { time: Time { wall: median(wall), cpu: median(cpu) }, faces })
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// The rows of the final table.
#[derive(Default)]
struct Summary(Vec<[String; 7]>);

impl Summary {
    fn time(&mut self, name: &str, m: &Option<Measurement>, target: Option<f64>, reference: &str) {
        let Some(m) = m else { return };
        self.0.push([
            name.to_owned(),
            format!("{:.0}", m.faces),
            duration(m.time.wall),
            duration(m.time.cpu),
            target.map_or(String::new(), |t| format!("≤ {}", duration(t))),
            target.map_or(String::new(), |t| (if m.time.cpu <= t { "yes" } else { "NO" }).to_owned()),
            reference.to_owned(),
        ]);
    }

    fn ratio(
        &mut self,
        name: &str,
        above: &Option<Measurement>,
        below: &Option<Measurement>,
        per_face: bool,
        target: f64,
        reference: &str,
    ) {
        let (Some(above), Some(below)) = (above, below) else { return };
        let faces = if per_face { below.faces / above.faces } else { 1.0 };
        let [wall, cpu] =
            [|t: &Time| t.wall, |t: &Time| t.cpu].map(|f| f(&above.time) / f(&below.time) * faces);
        self.0.push([
            name.to_owned(),
            String::new(),
            format!("{wall:.2}"),
            format!("{cpu:.2}"),
            format!("≤ {target}"),
            (if cpu <= target { "yes" } else { "NO" }).to_owned(),
            reference.to_owned(),
        ]);
    }

    fn print(&self) {
        let head =
            ["case", "faces", "wall clock", "processor", "target", "met", "reference"].map(String::from);
        let rows: Vec<_> = std::iter::once(&head).chain(&self.0).collect();
        let width: Vec<usize> =
            (0..7).map(|k| rows.iter().map(|r| r[k].chars().count()).max().unwrap_or(0)).collect();
        println!();
        for row in rows {
            let cells: Vec<_> = (0..7)
                .map(|k| match k {
                    0 | 6 => format!("{:<1$}", row[k], width[k]),
                    _ => format!("{:>1$}", row[k], width[k]),
                })
                .collect();
            println!("{}", cells.join("  ").trim_end());
        }
    }
}

fn main() {
    use Query::{Jacobian, Wrench};
    use SurfaceRepresentation::{Polygons, Triangles};

    let mut criterion = Criterion::default()
        .without_plots()
        .sample_size(12)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(1200))
        .configure_from_args();
    let c = &mut criterion;
    let mut summary = Summary::default();

    let radius = 0.1;
    let shallow = icospheres("icospheres of 1280 tets, depth 0.2 R", radius, 3, 1.8 * radius);
    let deep = icospheres("icospheres of 1280 tets, centre distance R", radius, 3, radius);
    let turning = Scene {
        name: "icospheres of 1280 tets, depth 0.2 R, turning",
        v_wa: SpatialVelocity::new(Vector3::new(1.0, -0.5, 2.0), Vector3::new(0.1, 0.2, -0.3)),
        ..icospheres("", radius, 3, 1.8 * radius)
    };
    let large = icospheres("icospheres of 20480 tets, centre distance R", radius, 5, radius);

    let shallow_polygons = measure(c, &shallow, Polygons, Wrench);
    let deep_polygons = measure(c, &deep, Polygons, Wrench);
    let turning_polygons = measure(c, &turning, Polygons, Wrench);
    let large_polygons = measure(c, &large, Polygons, Wrench);
    summary.time(&format!("{}, polygons", shallow.name), &shallow_polygons, Some(190e-6), "Drake 940 µs");
    summary.time(&format!("{}, polygons", deep.name), &deep_polygons, Some(1.5e-3), "Drake 28–38 ms");
    summary.time(&format!("{}, polygons", large.name), &large_polygons, Some(40e-3), "Drake 1.6 s");
    summary.ratio(
        "time per face, deep over shallow",
        &deep_polygons,
        &shallow_polygons,
        true,
        2.0,
        "Drake 13",
    );

    for (scene, polygons) in
        [(&shallow, &shallow_polygons), (&deep, &deep_polygons), (&turning, &turning_polygons)]
    {
        let triangles = measure(c, scene, Triangles, Wrench);
        let polygons_jacobian = measure(c, scene, Polygons, Jacobian);
        let triangles_jacobian = measure(c, scene, Triangles, Jacobian);
        let reference = "Drake 18–32 for 13 directions";
        let place = scene.name.trim_start_matches("icospheres of ");
        let name = |kind| format!("Jacobian over wrench, {place}, {kind}");
        summary.time(&format!("{}, triangles", scene.name), &triangles, None, "");
        summary.ratio(&name("polygons"), &polygons_jacobian, polygons, false, 4.0, reference);
        summary.ratio(&name("triangles"), &triangles_jacobian, &triangles, false, 4.0, reference);
    }

    // Huang et al. 2021, Table I, row (e): 0.036, 0.368 and 3.82 s in Julia. The paper does not
    // give the poses; at a centre distance of one radius the patch is as large as it gets.
    let huang = [
        (1, 0.036, ["unit icospheres, k = 1, depth 0.2", "unit icospheres, k = 1, centre distance 1"]),
        (2, 0.368, ["unit icospheres, k = 2, depth 0.2", "unit icospheres, k = 2, centre distance 1"]),
        (3, 3.82, ["unit icospheres, k = 3, depth 0.2", "unit icospheres, k = 3, centre distance 1"]),
    ];
    for (level, seconds, names) in huang {
        for (name, distance) in names.into_iter().zip([1.8, 1.0]) {
            let scene = icospheres(name, 1.0, level, distance);
            let triangles = measure(c, &scene, Triangles, Wrench);
            summary.time(name, &triangles, Some(seconds / 1000.0), &format!("Huang {seconds} s"));
        }
    }

    let flat = [0.0; 3];
    let slab = || cuboid([0.2, 0.16, 0.12]);
    let cube = || cuboid([0.1; 3]);
    let rigid_ball = Collider::rigid(RigidSurface::new(SurfaceMesh::icosphere(radius, 2)), MATERIAL);
    let rigid_ground = Collider::rigid_half_space(MATERIAL);
    let scenes = [
        nearly_fixed(
            "box on box, face on face, 8 mm deep",
            slab(),
            at(flat, [0.0; 3]),
            cube(),
            at([0.05, -0.03, 0.4], [0.01, 0.02, 0.102]),
        ),
        nearly_fixed(
            "cube corner in box",
            slab(),
            at(flat, [0.0; 3]),
            cube(),
            at([0.7, 0.6, 0.3], [0.02, 0.01, 0.135]),
        ),
        nearly_fixed(
            "sphere of 320 tets on rigid half-space",
            icosphere(radius, 2),
            at([0.4, -0.8, 1.3], [0.0, 0.0, 0.085]),
            rigid_ground,
            at(flat, [0.0; 3]),
        ),
        nearly_fixed(
            "rigid sphere of 320 triangles in box",
            rigid_ball,
            at(flat, [0.01, 0.02, 0.14]),
            slab(),
            at(flat, [0.0; 3]),
        ),
    ];
    // Drake 1.51.1 on the same shapes: ComputeContactSurfaces alone, without the wrench, on the
    // machine of the guide's figures.
    let drake = ["Drake 92 µs", "Drake 35 µs", "Drake 15 µs", "Drake 148 µs"];
    for (scene, reference) in scenes.iter().zip(drake) {
        let triangles = measure(c, scene, Triangles, Wrench);
        summary.time(&format!("{}, triangles", scene.name), &triangles, None, reference);
    }

    criterion.final_summary();
    summary.print();
}
