//! Skirts: the onset of the force before touch, what is left of it in deep contact, its energy and
//! its gradients.

use isobar::contact::{
    Collider, ContactModel, ContactPair, ContactSettings, MaterialParameter, SurfaceRepresentation,
    Workspace, contact, contact_energy, contact_jacobian, contact_lifted, contact_vjp,
};
use isobar::field::primitive_field;
use isobar::geometry::Shape;
use isobar::multibody::{
    Body, BodyGeometry, BodyState, MassProperties, MassSource, Model, ModelBuilder, NamedMaterial, Parameter,
    State, seeded,
};
use isobar::rollout::{Rollout, SimulationSettings};
use isobar::scalar::DualArray;
use isobar::spatial::{Quaternion, RigidTransform, SpatialForce, SpatialVelocity, rotation_from_rpy};
use isobar::step::Integrator;
use nalgebra::{Matrix3, Vector3, Vector6};

use crate::common::{at_rest, compliant, compliant_half_space, elastic, rigid, rigid_half_space};

/// Thickness of the skirts, m.
const SKIRT: f64 = 0.002;

fn shape(shape: &Shape, resolution: f64, modulus: f64) -> Collider {
    compliant(primitive_field(shape, resolution).expect("a shape"), modulus)
}

fn skirted(c: &Collider) -> Collider {
    c.with_skirt(SKIRT).expect("a thin skirt")
}

/// The force between A at this height along z and B.
fn force(a: &Collider, b: &Collider, turn: [f64; 3], height: f64, settings: &ContactSettings) -> f64 {
    let r = rotation_from_rpy(turn[0], turn[1], turn[2]);
    let x_wa = RigidTransform::new(r, Vector3::new(0.0013, -0.0021, height));
    let pair = at_rest(a, x_wa, b, RigidTransform::identity());
    contact(&pair, settings, &mut Workspace::default())
        .expect("a pair that can touch")
        .map_or(0.0, |p| p.wrench_on_a.translational.z)
}

/// Two bodies, their turn, the height at which they touch, how far from there they still act on
/// each other with skirts, and a name: δ (1 + κ) with κ the ratio of the lesser stiffness to the
/// greater, the stiffness of a body being its modulus times the slope of its extent.
type Pair = (&'static str, Collider, Collider, [f64; 3], f64, f64);

fn pairs() -> Vec<Pair> {
    let ball = |modulus| shape(&Shape::Sphere { radius: 0.05 }, 0.012, modulus);
    let block = |modulus| shape(&Shape::Box { size: [0.06, 0.05, 0.04] }, 0.1, modulus);
    let slab = |modulus| shape(&Shape::Box { size: [0.2, 0.16, 0.05] }, 0.1, modulus);
    let hull = primitive_field(&Shape::Box { size: [0.06, 0.05, 0.04] }, 0.1).expect("a shape");
    let none = [0.0; 3];
    let turned = [0.0, 0.0, 0.3];
    vec![
        ("ball, rigid plane", ball(1e5), rigid_half_space(), none, 0.05, SKIRT),
        ("ball, compliant plane", ball(1e5), compliant_half_space(2e5, 0.05), none, 0.05, 1.5 * SKIRT),
        ("ball, ball", ball(1e5), ball(3e5), none, 0.1, 1.34 * SKIRT),
        ("box, rigid plane", block(1e5), rigid_half_space(), turned, 0.02, SKIRT),
        ("box, box", block(1e5), slab(1.25e5), turned, 0.045, 2.0 * SKIRT),
        ("box, box, unequal", block(1e5), slab(5e5), turned, 0.045, 1.25 * SKIRT),
        ("rigid box, compliant plane", rigid(&hull), compliant_half_space(1e5, 0.05), turned, 0.02, SKIRT),
    ]
}

#[test]
fn the_force_begins_before_touch_and_grows_smoothly_into_the_one_without_skirts() {
    for surface in [SurfaceRepresentation::Triangles, SurfaceRepresentation::Polygons] {
        let settings = ContactSettings { surface, ..Default::default() };
        for (name, a, b, turn, touch, reach) in pairs() {
            let (with_a, with_b) = (skirted(&a), skirted(&b));
            let at = |gap: f64| force(&with_a, &with_b, turn, touch + gap, &settings);
            // The tessellated ball lies a little inside of the ball.
            assert_eq!(at(1.01 * reach), 0.0, "{name}");
            assert!(at(0.75 * reach) > 0.0 && at(0.5 * reach) > 0.0, "{name}");
            let bare = |gap: f64| force(&a, &b, turn, touch + gap, &settings);
            assert_eq!(bare(1e-6), 0.0, "{name}");
            // Monotone, and the slope changes from step to step by no more than a smooth function's.
            let step = 0.01 * SKIRT;
            let forces: Vec<f64> = (0..500).map(|i| at(reach - f64::from(i) * step)).collect();
            let slopes: Vec<f64> = forces.windows(2).map(|f| f[1] - f[0]).collect();
            let largest = slopes.iter().copied().fold(0.0, f64::max);
            assert!(slopes.iter().all(|s| *s >= 0.0), "{name}: the force falls as they approach");
            let jump = slopes.windows(2).map(|s| (s[1] - s[0]).abs()).fold(0.0, f64::max) / largest;
            assert!(jump < 0.025, "{name}: the slope jumps by {jump} of the largest");
            let excess = [1.0, 2.0, 5.0].map(|k| at(-k * SKIRT) / bare(-k * SKIRT) - 1.0);
            println!("{surface:?}, {name}: slope changes {jump:.4}, excess at δ, 2 δ, 5 δ {excess:.4?}");
            assert!(excess[2].abs() < 0.05, "{name}");
            // With one point to a polygon, large polygons do not resolve the onset at their rims.
            if surface == SurfaceRepresentation::Triangles {
                assert!(excess[2] <= excess[1] && excess[1] <= excess[0], "{name}");
            }
        }
    }
}

/// On a rigid plane the pressure in a ball of radius R and depth D is k z with k = E/R, and the
/// excess of the force is 2πRk ∫ (ψ − k z₊)/k dz = πRk δ²/3, of πRk D².
#[test]
fn a_ball_on_a_plane_bears_the_excess_of_the_onset() {
    let ball = shape(&Shape::Sphere { radius: 0.05 }, 0.0035, 1e5);
    let (plane, settings) = (rigid_half_space(), ContactSettings::default());
    let at = |c: &Collider, depth: f64| force(c, &plane, [0.4, 0.2, 0.1], 0.05 - depth, &settings);
    for depth in [0.003, 0.005, 0.01] {
        let bare = at(&ball, depth);
        let excess = at(&skirted(&ball), depth) - bare;
        let expected = std::f64::consts::PI * 1e5 * SKIRT * SKIRT / 3.0;
        println!("depth {depth}: excess {excess:.5} N, expected {expected:.5} N, of {bare:.4} N");
        assert!((excess / expected - 1.0).abs() < 0.03, "{excess} {expected}");
    }
}

#[test]
fn a_skirt_of_no_thickness_changes_no_bit() {
    let mut workspace = Workspace::default();
    let settings = ContactSettings::default();
    for (name, a, b, turn, touch, _) in pairs() {
        let bare = force(&a, &b, turn, touch - 0.003, &settings);
        let none = |c: &Collider| c.with_skirt(0.0).expect("no skirt");
        assert_eq!(force(&none(&a), &none(&b), turn, touch - 0.003, &settings), bare, "{name}");
        assert_eq!((a.skirt_thickness(), none(&a).skirt_thickness()), (0.0, 0.0));
        // Nor does that of one body where the other has none: the field ends where the other's does.
        if a.geometry.is_rigid() || b.geometry.is_rigid() {
            continue;
        }
        for (a, b) in [(skirted(&a), b.clone()), (a, skirted(&b))] {
            let one = force(&a, &b, turn, touch - 0.003, &settings);
            assert!((one / bare - 1.0).abs() < 1e-9, "{name}: {one} {bare}");
            let x_wa = RigidTransform::from_translation([0.0, 0.0, touch + 1e-4]);
            let pair = at_rest(&a, x_wa, &b, RigidTransform::identity());
            assert!(
                contact(&pair, &settings, &mut workspace).expect("a pair that can touch").is_none(),
                "{name}"
            );
        }
    }
}

#[test]
fn the_force_is_the_slope_of_the_energy() {
    let settings = ContactSettings { quadrature_order: Some(5), ..Default::default() };
    for (name, a, b, turn, touch, _) in pairs() {
        let (a, b) = (skirted(&a), skirted(&b));
        for gap in [0.4 * SKIRT, 0.05 * SKIRT, -0.7 * SKIRT, -3.0 * SKIRT] {
            let energy = |gap: f64| {
                let r = rotation_from_rpy(turn[0], turn[1], turn[2]);
                let x_wa = RigidTransform::new(r, Vector3::new(0.0013, -0.0021, touch + gap));
                contact_energy(&at_rest(&a, x_wa, &b, RigidTransform::identity()))
            };
            let h = 1e-6;
            let slope = (energy(gap - h) - energy(gap + h)) / (2.0 * h);
            let f = force(&a, &b, turn, touch + gap, &settings);
            // The force is a quadrature, the energy exact.
            println!("{name}, gap {gap}: {f} {slope}");
            assert!((f / slope - 1.0).abs() < 3e-4, "{name}, gap {gap}: {f} {slope}");
        }
    }
}

#[test]
fn every_way_to_the_derivatives_agrees() {
    type Dual = DualArray<8>;
    let turn = [0.21, -0.13, 0.3];
    let r = rotation_from_rpy(turn[0], turn[1], turn[2]);
    let mut workspace = Workspace::default();
    for surface in [SurfaceRepresentation::Triangles, SurfaceRepresentation::Polygons] {
        let settings = ContactSettings { surface, ..Default::default() };
        for (name, a, b, _, touch, _) in pairs() {
            let (a, b) = (skirted(&a), skirted(&b));
            // A box on its edge is lower than one on its face.
            let mut seen = 0;
            for lift in [0.014, 0.012, 0.0103, 0.0051, 0.0013, -0.001, -0.004] {
                let x_wa = RigidTransform::new(r, Vector3::new(0.0013, -0.0021, touch + lift));
                let pair = at_rest(&a, x_wa, &b, RigidTransform::identity());
                let Some((patch, jacobian)) =
                    contact_jacobian(&pair, &settings, &mut workspace).expect("a pair that can touch")
                else {
                    continue;
                };
                seen += 1;
                let zero = Vector3::zeros();
                let variable = |k: usize| Vector3::from_fn(|i, _| Dual::variable(zero[i], k + i));
                let mut dual = [Collider::<Dual>::lift(&a), Collider::lift(&b)];
                for (k, c) in dual.iter_mut().enumerate() {
                    let modulus = &mut c.material.hydroelastic_modulus;
                    *modulus = Dual::variable(modulus.re, 6 + k);
                }
                let x_wa = RigidTransform::<Dual>::lift(&x_wa).moved(&variable(0), &variable(3));
                let pair = ContactPair {
                    a: &dual[0],
                    x_wa,
                    v_wa: SpatialVelocity::zero(),
                    b: &dual[1],
                    x_wb: RigidTransform::identity(),
                    v_wb: SpatialVelocity::zero(),
                };
                for found in [
                    contact(&pair, &settings, &mut workspace).expect("a pair that can touch"),
                    contact_lifted(&pair, &settings, &mut workspace).expect("a pair that can touch"),
                ] {
                    let found = found.expect("they touch");
                    assert_eq!(found.max_pressure, patch.max_pressure);
                    let size = jacobian.by_pose_a.amax();
                    for row in 0..3 {
                        let (m, f) =
                            (found.wrench_on_a.rotational[row], found.wrench_on_a.translational[row]);
                        for (x, row) in [(m, row), (f, row + 3)] {
                            for k in 0..6 {
                                let off = (x.eps[k] - jacobian.by_pose_a[(row, k)]).abs();
                                assert!(off <= 1e-9 * size, "{name} {lift} {row} {k}: {off:e} of {size:e}");
                            }
                            for (k, by) in [(6, &jacobian.by_modulus_a), (7, &jacobian.by_modulus_b)] {
                                let off = (x.eps[k] - by[row]).abs();
                                assert!(off <= 1e-9 * by.amax(), "{name} {lift}: {} {}", x.eps[k], by[row]);
                            }
                        }
                    }
                    let off = (found.area.eps[5] - jacobian.area_by_pose_a[5]).abs();
                    assert!(off <= 1e-9 * jacobian.area_by_pose_a.amax(), "{name} {lift}");
                }
            }
            assert!(seen >= 3, "{name}: {seen}");
        }
    }
}

/// Boxes whose faces, edges and skirts are aligned: the derivatives are one-sided ones.
#[test]
fn aligned_boxes_have_derivatives_before_touch() {
    let settings = ContactSettings::default();
    let mut workspace = Workspace::default();
    let block = |size| skirted(&shape(&Shape::Box { size }, 0.1, 1e5));
    let (a, b) = (block([0.06, 0.05, 0.04]), block([0.2, 0.16, 0.04]));
    for gap in [1.5 * SKIRT, 0.5 * SKIRT, 0.0, -SKIRT] {
        let at = |height: f64| RigidTransform::from_translation([0.0, 0.0, 0.04 + height]);
        let force = |height: f64, workspace: &mut Workspace| {
            let pair = at_rest(&a, at(height), &b, RigidTransform::identity());
            contact(&pair, &settings, workspace)
                .expect("a pair that can touch")
                .map_or(0.0, |p| p.wrench_on_a.translational.z)
        };
        let pair = at_rest(&a, at(gap), &b, RigidTransform::identity());
        let (patch, jacobian) = contact_jacobian(&pair, &settings, &mut workspace)
            .expect("a pair that can touch")
            .expect("they touch");
        let h = 1e-7;
        let difference = (force(gap + h, &mut workspace) - force(gap - h, &mut workspace)) / (2.0 * h);
        let found = jacobian.by_pose_a[(5, 5)];
        println!("gap {gap}: {} N, {found} N/m, {difference}", patch.wrench_on_a.translational.z);
        assert!(found < 0.0 && (found / difference - 1.0).abs() < 1e-4, "{gap}: {found} {difference}");
        let by = SpatialForce::new(Vector3::new(0.3, -0.2, 0.1), Vector3::new(0.5, 0.7, -0.4));
        let vjp = contact_vjp(&pair, &by, &settings, &mut workspace)
            .expect("a pair that can touch")
            .expect("they touch");
        let expected = jacobian.by_pose_a.tr_mul(&Vector6::new(0.3, -0.2, 0.1, 0.5, 0.7, -0.4));
        assert!((vjp.pose_a - expected).norm() <= 1e-12 * expected.norm());
    }
}

/// A ball that glides past a table without touching it.
fn gliding(skirt: f64) -> (Model, State) {
    let mut foam = elastic(1e5);
    (foam.static_friction, foam.dynamic_friction) = (0.5, 0.5);
    let materials = vec![NamedMaterial { name: "foam".into(), material: foam }];
    let geometry = |shape: &Shape| {
        let collider = Collider::of_shape(shape, 0.02, foam).expect("a shape");
        BodyGeometry::new(collider.with_skirt(skirt).expect("a thin skirt")).of_material(0)
    };
    let table = geometry(&Shape::Box { size: [0.4, 0.3, 0.1] });
    let ball = geometry(&Shape::Sphere { radius: 0.05 });
    let mass =
        MassProperties { mass: 0.2, center_of_mass: Vector3::zeros(), inertia: Matrix3::identity() * 2e-4 };
    let table = Body::fixed("table", RigidTransform::identity(), vec![table]);
    let ball = Body::free("ball", MassSource::Given(mass), vec![ball]).expect("a mass");
    let (bodies, gravity) = (vec![table, ball], Vector3::zeros());
    let model = ModelBuilder { bodies, materials, gravity, ..Default::default() };
    let model = model.build().expect("compliant");
    let state = State::of_bodies(vec![BodyState {
        orientation: Quaternion::from_wxyz(0.9, 0.1, -0.2, 0.3),
        position: Vector3::new(0.01, 0.02, 0.1015),
        velocity: SpatialVelocity::new(Vector3::zeros(), Vector3::new(0.3, 0.0, 0.0)),
    }]);
    (model, state)
}

#[test]
fn a_rollout_that_does_not_touch_yet_has_a_gradient() {
    let models = [ContactModel::Sap, ContactModel::Lagged, ContactModel::Similar, ContactModel::Tamsi];
    let explicit = [Integrator::SemiImplicitEuler, Integrator::RungeKutta4];
    for integrator in explicit.into_iter().chain(models.map(Integrator::velocity_level)) {
        let end = |skirt: f64, height: f64, modulus: f64| {
            let (model, state) = gliding(skirt);
            let values = [
                (Parameter::InitialTangent { body: 1, index: 5 }, height),
                (
                    Parameter::Material { parameter: MaterialParameter::HydroelasticModulus, material: 0 },
                    modulus,
                ),
            ];
            let (model, state) = seeded(&model, &state, &values).expect("parameters");
            let settings = SimulationSettings { integrator, time_step: 1e-3 };
            let run = Rollout::new(&model, &state, settings, 0.02).simulate().expect("a run");
            run.states.last().expect("a state").bodies[0].velocity.translational.z
        };
        assert_eq!(end(0.0, 0.0, 1e5), 0.0);
        let rest = end(SKIRT, 0.0, 1e5);
        assert!(rest > 0.0, "{integrator:?}: pushed by {rest}");
        for (k, parameter) in [
            Parameter::InitialTangent { body: 1, index: 5 },
            Parameter::Material { parameter: MaterialParameter::HydroelasticModulus, material: 0 },
        ]
        .into_iter()
        .enumerate()
        {
            let (model, state) = gliding(SKIRT);
            type Dual = DualArray<1>;
            let value = Dual::variable(parameter.value(&model).expect("a parameter"), 0);
            let (model, state) = seeded(&model, &state, &[(parameter, value)]).expect("a parameter");
            let settings = SimulationSettings { integrator, time_step: 1e-3 };
            let run = Rollout::new(&model, &state, settings, 0.02).simulate().expect("a run");
            let gradient = run.states.last().expect("a state").bodies[0].velocity.translational.z.eps[0];
            let h = [1e-7, 1.0][k];
            let moved = |h: f64| if k == 0 { end(SKIRT, h, 1e5) } else { end(SKIRT, 0.0, 1e5 + h) };
            let difference = (moved(h) - moved(-h)) / (2.0 * h);
            println!("{integrator:?} {parameter:?}: {gradient:e} {difference:e}");
            assert!(gradient != 0.0);
            assert!((gradient / difference - 1.0).abs() < 1e-5, "{gradient} {difference}");
        }
    }
}
