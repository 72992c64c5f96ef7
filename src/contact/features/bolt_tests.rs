//! The features of a bolt and a hole against dense samples of both surfaces, and against differences.

use std::f64::consts::TAU;

use nalgebra::Vector3;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::gap::{Gap, LocalGap};
use super::prepare::FeaturePair;
use super::{Features, Rim, find_features};
use crate::contact::{Collider, ContactGeometry, Material};
use crate::field::RigidSurface;
use crate::geometry::Revolved;
use crate::scalar::DualArray;
use crate::spatial::{RigidTransform, rotation_exponential};

const HOLE: Revolved =
    Revolved::Hole { radius: 1.0, depth: 4.0, through: false, mouth_radius: 1.6, mouth_depth: 0.7 };
const BOLT: Revolved = Revolved::Bolt { radius: 0.95, length: 3.0, tip_radius: 0.7, tip_length: 0.4 };
const MARGIN: f64 = 0.3;

fn collider(shape: Revolved) -> Collider {
    let mesh = shape.surface_mesh(0.5, None).expect("a valid shape");
    let geometry = ContactGeometry::Rigid(RigidSurface::of_revolved(shape, mesh));
    Collider::new(geometry, Material::NONE, 0.0)
}

/// The corners of the profiles, with the body to the left of the line through them.
fn corners(shape: &Revolved) -> Vec<[f64; 2]> {
    match *shape {
        Revolved::Hole { radius, depth, through, mouth_radius, mouth_depth } => {
            let last = if through { [100.0, -depth] } else { [0.0, -depth] };
            vec![[100.0, 0.0], [mouth_radius, 0.0], [radius, -mouth_depth], [radius, -depth], last]
        }
        Revolved::Bolt { radius, length, tip_radius, tip_length } => {
            let half = 0.5 * length;
            let low = -half - tip_length;
            vec![[0.0, low], [tip_radius, low], [radius, -half], [radius, half], [0.0, half]]
        }
        Revolved::Cone { radius, top_radius, length } => {
            let half = 0.5 * length;
            vec![[0.0, -half], [radius, -half], [top_radius, half], [0.0, half]]
        }
    }
}

/// The signed distance of a point from a body of revolution: to its nearest line, which side by the winding around the point.
fn distance(corners: &[[f64; 2]], point: &Vector3<f64>) -> f64 {
    let p = [point.x.hypot(point.y), point.z];
    let mut least = (f64::INFINITY, 0.0_f64);
    for pair in corners.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let along = [b[0] - a[0], b[1] - a[1]];
        let from = [p[0] - a[0], p[1] - a[1]];
        let square = along[0] * along[0] + along[1] * along[1];
        if square == 0.0 {
            continue;
        }
        let part = ((from[0] * along[0] + from[1] * along[1]) / square).clamp(0.0, 1.0);
        let to = [from[0] - part * along[0], from[1] - part * along[1]];
        let far = to[0].hypot(to[1]);
        // Right of the line is outside; at corners the line that is seen most directly tells.
        let side = (from[0] * along[1] - from[1] * along[0]) / square.sqrt();
        if far < least.0 - 1e-12 || (far < least.0 + 1e-12 && side.abs() > least.1.abs()) {
            least = (far, side);
        }
    }
    least.0 * least.1.signum()
}

/// The distance of two bodies, by samples of the circles that stick out of each of them and of lines between them.
fn sampled(
    bolt: &Revolved,
    x_wb: &RigidTransform,
    hole: &Revolved,
    x_wh: &RigidTransform,
    count: usize,
) -> f64 {
    let one_way = |of: &Revolved, x: RigidTransform, to: &Revolved| {
        let (own, other) = (corners(of), corners(to));
        let mut least = f64::INFINITY;
        for (i, corner) in own.iter().enumerate().filter(|(_, corner)| corner[0] < 50.0) {
            for k in 0..count {
                let (sin, cos) = (TAU * k as f64 / count as f64).sin_cos();
                let at = |[rho, z]: [f64; 2]| x * Vector3::new(rho * cos, rho * sin, z);
                least = least.min(distance(&other, &at(*corner)));
                if let Some(next) = own.get(i + 1).filter(|next| next[0] < 50.0 && k % 32 == 0) {
                    for step in 1..20 {
                        let part = f64::from(step) / 20.0;
                        let between = [0, 1].map(|k| corner[k] + part * (next[k] - corner[k]));
                        least = least.min(distance(&other, &at(between)));
                    }
                }
            }
        }
        least
    };
    let x_hb = x_wh.inverse() * *x_wb;
    one_way(bolt, x_hb, hole).min(one_way(hole, x_hb.inverse(), bolt))
}

fn vector(rng: &mut ChaCha8Rng, size: f64) -> Vector3<f64> {
    Vector3::from_fn(|_, _| rng.random_range(-size..size))
}

/// Poses in W of a bolt that is in or over a hole, tilted by up to `tilt`.
fn poses(rng: &mut ChaCha8Rng, tilt: f64) -> [RigidTransform; 2] {
    let x_wh = RigidTransform::new(rotation_exponential(&vector(rng, 1.0)), vector(rng, 1.0));
    let turn = rotation_exponential(&Vector3::new(0.0, 0.0, rng.random_range(-3.0..3.0)));
    let rotation = rotation_exponential(&vector(rng, tilt)) * turn;
    let place =
        Vector3::new(rng.random_range(-0.8..0.8), rng.random_range(-0.8..0.8), rng.random_range(-2.2..2.2));
    [x_wh * RigidTransform::new(rotation, place), x_wh]
}

fn gaps(
    bolt: &Collider,
    x_wb: &RigidTransform,
    hole: &Collider,
    x_wh: &RigidTransform,
) -> Vec<(FeaturePair, LocalGap, Gap)> {
    let identity = RigidTransform::identity();
    let mut found = Features::default();
    find_features((hole, x_wh), (bolt, x_wb), MARGIN, Rim::Circle, &mut found);
    let gap = |pair: FeaturePair| {
        let local = pair.prepare((hole, &identity), (bolt, &identity));
        let gap = local.at(x_wh, x_wb);
        (pair, local, gap)
    };
    found.pairs.into_iter().map(gap).collect()
}

#[test]
fn distances_of_bolts_and_holes_are_those_of_samples() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let bolts = [
        BOLT,
        Revolved::Bolt { radius: 0.95, length: 3.0, tip_radius: 0.0, tip_length: 0.8 },
        Revolved::Cone { radius: 1.2, top_radius: 0.5, length: 2.0 },
    ];
    let holes = [
        HOLE,
        Revolved::Hole { radius: 1.0, depth: 2.0, through: true, mouth_radius: 1.0, mouth_depth: 0.0 },
    ];
    let (mut outside, mut inside) = (0, 0);
    for bolt in bolts {
        for hole in holes {
            let colliders = [bolt, hole].map(collider);
            for tilt in [0.02, 0.1, 0.6] {
                for _ in 0..200 {
                    let [x_wb, x_wh] = poses(&mut rng, tilt);
                    let coarse = sampled(&bolt, &x_wb, &hole, &x_wh, 32);
                    if !(-0.1..0.2).contains(&coarse) {
                        continue;
                    }
                    let expected = sampled(&bolt, &x_wb, &hole, &x_wh, 4096);
                    let gaps = gaps(&colliders[0], &x_wb, &colliders[1], &x_wh);
                    let least = gaps.iter().map(|(_, _, gap)| gap.distance).fold(f64::INFINITY, f64::min);
                    if expected > 0.0 {
                        outside += 1;
                        // A tip over an edge has the distance from the plane of one of the walls there.
                        let has_tip = matches!(bolt, Revolved::Bolt { tip_radius: 0.0, .. });
                        let least_of_tip = if has_tip { 0.0 } else { expected - 5e-6 };
                        assert!(
                            least > least_of_tip && least < expected + 5e-6,
                            "{bolt:?} {hole:?} {tilt}: {least} {expected}"
                        );
                    } else if expected < -1e-5 {
                        inside += 1;
                        assert!(least < 0.0, "{bolt:?} {hole:?} {tilt}: {least} {expected}");
                    }
                }
            }
        }
    }
    println!("{outside} apart, {inside} overlapping");
    assert!(outside > 150 && inside > 100);
}

#[test]
fn distances_points_and_normals_have_the_derivatives_of_differences() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let tip = Revolved::Bolt { radius: 0.95, length: 3.0, tip_radius: 0.0, tip_length: 0.8 };
    let mut kinds = std::collections::BTreeMap::new();
    for attempt in 0..600 {
        let colliders = [if attempt % 2 == 0 { BOLT } else { tip }, HOLE].map(collider);
        let [x_wb, x_wh] = poses(&mut rng, 0.4);
        for (pair, local, here) in gaps(&colliders[0], &x_wb, &colliders[1], &x_wh) {
            let name = format!("{:?}", pair.kind);
            let name = name.split(' ').next().unwrap_or_default().to_owned();
            let seen: &mut usize = kinds.entry(name.clone()).or_default();
            if *seen >= 40 {
                continue;
            }
            *seen += 1;
            let seed = |k: usize| DualArray::<6>::variable(0.0, k);
            let moved = RigidTransform::lift(&x_wb)
                .moved(&Vector3::new(seed(0), seed(1), seed(2)), &Vector3::new(seed(3), seed(4), seed(5)));
            let lifted = local.map(DualArray::<6>::constant);
            let there = lifted.at(&RigidTransform::lift(&x_wh), &moved);
            for k in 0..6 {
                let at = |d: f64| {
                    let mut by = [0.0; 6];
                    by[k] = d;
                    let (turn, shift) =
                        (Vector3::new(by[0], by[1], by[2]), Vector3::new(by[3], by[4], by[5]));
                    local.at(&x_wh, &x_wb.moved(&turn, &shift))
                };
                let numbers = |gap: &Gap| {
                    let Gap { distance, point: p, normal: n } = *gap;
                    [distance, p.x, p.y, p.z, n.x, n.y, n.z]
                };
                let slopes = |d: f64| {
                    let (plus, minus) = (numbers(&at(d)), numbers(&at(-d)));
                    [0, 1, 2, 3, 4, 5, 6].map(|i: usize| (plus[i] - minus[i]) / (2.0 * d))
                };
                let (coarse, fine) = (slopes(2e-5), slopes(1e-5));
                let own = [
                    there.distance,
                    there.point.x,
                    there.point.y,
                    there.point.z,
                    there.normal.x,
                    there.normal.y,
                    there.normal.z,
                ];
                for i in 0..7 {
                    let slope = (4.0 * fine[i] - coarse[i]) / 3.0;
                    // Where a circle is nearly as near everywhere its nearest point runs around it.
                    let size = 1.0 + own[i].eps[k].abs().powi(3);
                    assert!(
                        (slope - own[i].eps[k]).abs() < 1e-7 * size,
                        "{name} {i} {k}: {slope} {}",
                        own[i].eps[k]
                    );
                }
            }
            assert!((here.normal.norm() - 1.0).abs() < 1e-12);
        }
    }
    println!("{kinds:?}");
    assert!(kinds.len() == 5 && kinds.values().all(|&count| count >= 20), "{kinds:?}");
}

#[test]
fn a_bolt_along_the_axis_of_a_hole_has_finite_distances() {
    let cone = Revolved::Cone { radius: 0.4, top_radius: 1.3, length: 0.9 };
    assert!(cone.validate().is_err());
    let plug = Revolved::Bolt { radius: 1.3, length: 1.0, tip_radius: 1.1, tip_length: 0.2 };
    let x_wh = RigidTransform::identity();
    for (shape, height) in [(BOLT, -2.1 + 1e-4), (plug, 0.5 - 0.36)] {
        let colliders = [shape, HOLE].map(collider);
        for tilt in [0.0, 1e-12, 1e-9, 1e-8, 1e-6, 1e-4, 1e-3] {
            for rim in [Rim::Points, Rim::Circle] {
                let rotation = rotation_exponential(&Vector3::new(tilt, 0.5 * tilt, 0.0));
                let x_wb = RigidTransform::new(rotation, Vector3::new(0.0, 0.1 * tilt, height));
                let mut found = Features::default();
                find_features((&colliders[0], &x_wb), (&colliders[1], &x_wh), MARGIN, rim, &mut found);
                assert!(!found.pairs.is_empty());
                let identity = RigidTransform::identity();
                for pair in &found.pairs {
                    let local = pair.prepare((&colliders[0], &identity), (&colliders[1], &identity));
                    let lifted = local.map(|x| DualArray::<2>::variable(x, 0));
                    let gap = lifted.at(&RigidTransform::lift(&x_wb), &RigidTransform::lift(&x_wh));
                    let numbers =
                        [gap.distance, gap.point.x, gap.point.y, gap.point.z, gap.normal.x, gap.normal.z];
                    for x in numbers {
                        assert!(
                            x.re.is_finite() && x.eps.iter().all(|e| e.is_finite()),
                            "{pair:?} at {tilt}: {gap:?}"
                        );
                    }
                }
                // Points are all around where the whole circle is as near.
                if tilt < 1e-9 {
                    assert!(found.pairs.len() >= 16, "{shape:?} {tilt}: {}", found.pairs.len());
                }
            }
        }
    }
}
