//! The wrench is a continuous function of the pose, through every change of the set of faces:
//! over a small motion it changes by no more than L times the motion, with one L for all.
//!
//! As body A moves by s, F changes by ∫ (s·∇p_A)²/‖∇p_A − ∇p_B‖ dA and the like, so there is
//! such an L where the fields' gradients stay apart: where their sizes differ, as in all pairs
//! here. (Two equal cubes at the same pose have the same field; their force does jump.)

use crate::common::{
    at_rest, box_field, compliant, compliant_half_space, icosphere, l_shape, random_in_ball, random_pose,
    rigid, rigid_half_space, torus,
};
use isobar::contact::{Collider, ContactSettings, SurfaceRepresentation, Workspace, contact};
use isobar::spatial::{RigidTransform, SpatialForce};
use nalgebra::Vector3;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Modulus of the softer body of each pair, Pa. The bodies are about 1 m large.
const MODULUS: f64 = 1e5;

/// L: the wrench's change in newtons (torques divided by 1 m) over the motion in metres
/// (rotations times 1 m).
const LIPSCHITZ: f64 = 5.0 * MODULUS;

/// Rounding of a wrench, N.
const ROUNDING: f64 = 1e-12 * MODULUS;

/// Motion per step: at most this far and as many radians.
const STEP: f64 = 2e-3;

const STEPS: usize = 10_000;

/// Halvings of a step in which the number of faces changes, to close in on the change.
const HALVINGS: i32 = 12;

struct Walk<'a> {
    a: &'a Collider,
    b: &'a Collider,
    settings: ContactSettings,
    workspace: Workspace,
    steepest: f64,
    changes: usize,
}

impl Walk<'_> {
    fn wrench(&mut self, x_wa: &RigidTransform) -> (usize, SpatialForce) {
        let pair = at_rest(self.a, *x_wa, self.b, RigidTransform::identity());
        contact(&pair, &self.settings, &mut self.workspace)
            .expect("a pair that can touch")
            .map_or((0, SpatialForce::zero()), |p| (p.faces, p.wrench_on_a))
    }

    fn check(&mut self, from: &SpatialForce, to: &SpatialForce, motion: f64, at: &RigidTransform) {
        let change = *to - *from;
        let jump = change.translational.norm() + change.rotational.norm();
        self.steepest = self.steepest.max((jump - ROUNDING) / motion);
        assert!(
            jump <= LIPSCHITZ * motion + ROUNDING,
            "the wrench changes by {jump:e} over a motion of {motion:e} at {at:?}"
        );
    }

    /// Checks the step from `x_wa` by the tangent vector (`turn`, `shift`); returns its end.
    fn step(&mut self, x_wa: &RigidTransform, turn: &Vector3<f64>, shift: &Vector3<f64>) -> RigidTransform {
        let along = |s: f64| x_wa.moved(&(turn * s), &(shift * s));
        let motion = turn.norm() + shift.norm();
        let end = along(1.0);
        let (mut low, mut high) = ((0.0, self.wrench(x_wa)), (1.0, self.wrench(&end)));
        self.check(&low.1.1, &high.1.1, motion, x_wa);
        if low.1.0 != high.1.0 {
            self.changes += 1;
            for _ in 0..HALVINGS {
                let s = 0.5 * (low.0 + high.0);
                let middle = (s, self.wrench(&along(s)));
                if middle.1.0 == low.1.0 {
                    low = middle;
                } else {
                    high = middle;
                }
                self.check(&low.1.1, &high.1.1, motion * (high.0 - low.0), x_wa);
            }
        }
        end
    }
}

/// Takes A for a walk of [`STEPS`] steps, `next` saying where to go from a pose, and checks each.
fn walk(
    name: &str,
    a: &Collider,
    b: &Collider,
    start: RigidTransform,
    least_changes: usize,
    mut next: impl FnMut(&RigidTransform) -> (Vector3<f64>, Vector3<f64>),
) {
    for surface in [SurfaceRepresentation::Triangles, SurfaceRepresentation::Polygons] {
        let settings = ContactSettings { surface, ..Default::default() };
        let workspace = Workspace::default();
        let mut walk = Walk { a, b, settings, workspace, steepest: 0.0, changes: 0 };
        let mut x_wa = start;
        for _ in 0..STEPS {
            let (turn, shift) = next(&x_wa);
            x_wa = walk.step(&x_wa, &turn, &shift);
        }
        println!("{name} {surface:?}: {} changes, L = {:.2} E m", walk.changes, walk.steepest / MODULUS);
        // Otherwise the walk would prove little.
        assert!(walk.changes >= least_changes, "{name}: the faces changed {} times only", walk.changes);
    }
}

/// A random walk that turns back where A's origin is farther than `reach` from B's, or deeper in
/// it than `nearest`.
fn random_walk(name: &str, a: &Collider, b: &Collider, nearest: f64, reach: f64) {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let mut start = random_pose(&mut random, 1.0);
    start.translation = Vector3::new(0.0, 0.0, 0.5 * (nearest + reach));
    let half_space = b.geometry.is_half_space();
    walk(name, a, b, start, 100, |x_wa| {
        let outward = if half_space { Vector3::z() } else { x_wa.translation.normalize() };
        let distance = x_wa.translation.dot(&outward);
        let mut shift = random_in_ball(&mut random) * STEP;
        if (distance > reach && shift.dot(&outward) > 0.0)
            || (distance < nearest && shift.dot(&outward) < 0.0)
        {
            shift = -shift;
        }
        (random_in_ball(&mut random) * STEP, shift)
    });
}

#[test]
fn compliant_pairs() {
    let ball = compliant(icosphere(0.6, 0), MODULUS);
    random_walk("sphere–sphere", &ball, &compliant(icosphere(0.5, 1), 10.0 * MODULUS), 0.2, 1.0);
    let slab = compliant(box_field([1.5, 1.0, 0.8]), MODULUS);
    random_walk("box–cube", &compliant(box_field([1.0; 3]), 20.0 * MODULUS), &slab, 0.3, 1.2);
    random_walk("torus–box", &compliant(torus(0.6, 0.3, 10, 5), 30.0 * MODULUS), &slab, 0.3, 1.2);
}

#[test]
fn rigid_and_compliant_pairs() {
    let slab = compliant(box_field([1.5, 1.0, 0.8]), MODULUS);
    random_walk("rigid sphere–box", &rigid(&icosphere(0.5, 1)), &slab, 0.3, 1.2);
    random_walk("sphere–rigid L", &compliant(icosphere(0.6, 0), MODULUS), &rigid(&l_shape(0.3)), 0.2, 1.0);
}

#[test]
fn half_spaces() {
    let l = l_shape(0.3);
    random_walk("L–rigid half-space", &compliant(l.clone(), MODULUS), &rigid_half_space(), -0.5, 0.7);
    let soft = compliant_half_space(MODULUS, 1.0);
    random_walk(
        "torus–compliant half-space",
        &compliant(torus(0.6, 0.3, 10, 5), 10.0 * MODULUS),
        &soft,
        -0.3,
        0.6,
    );
    random_walk("rigid L–compliant half-space", &rigid(&l), &soft, -0.3, 0.7);
}

/// Bodies of voxels lowered flat: whole layers of mesh faces pass through the contact plane at
/// once.
#[test]
fn aligned_bodies() {
    let l = l_shape(0.3);
    let slab = compliant(box_field([2.0; 3]), MODULUS);
    for (name, a, b, height) in [
        ("lying L–rigid half-space", compliant(l.clone(), MODULUS), rigid_half_space(), 0.35),
        (
            "lying L–compliant half-space",
            compliant(l.clone(), 10.0 * MODULUS),
            compliant_half_space(MODULUS, 1.0),
            0.35,
        ),
        ("rigid lying L–box", rigid(&l), slab.clone(), 1.31),
        ("lying L–box", compliant(l.clone(), 10.0 * MODULUS), slab, 1.31),
    ] {
        // Straight down past a layer of vertices and back up again.
        let mut count = 0;
        let start = RigidTransform::from_translation([0.0, 0.0, height]);
        walk(name, &a, &b, start, 2, |_| {
            count += 1;
            let down = if count % STEPS <= STEPS / 2 { -1.0 } else { 1.0 };
            (Vector3::zeros(), Vector3::new(0.0, 0.0, down * 1e-4))
        });
    }
}
