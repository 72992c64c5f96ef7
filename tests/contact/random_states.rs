//! What holds for every contact: finite numbers, action and reaction, forces that never feed
//! energy into a motion, and no preferred frame; on random bodies, states and settings.

use crate::common;
use crate::common::{Field, box_field, icosphere, l_shape, torus};
use isobar::contact::{
    Collider, ContactGeometry, ContactPair, ContactPatch, ContactSettings, DissipationModel, FaceFilter,
    FrictionRegularization, Material, SurfaceRepresentation, Workspace, check_pair, contact,
    contact_jacobian, for_each_face,
};
use isobar::field::{PressureField, RigidSurface, primitive_field};
use isobar::geometry::Shape;
use isobar::spatial::{Quaternion, RigidTransform, SpatialForce, SpatialVelocity, rotation_from_rpy};
use nalgebra::Vector3;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// The kinds of shape that [`field`] makes.
const KINDS: usize = 9;

/// The half-space is one kind more.
const HALF_SPACE: usize = KINDS;

/// A shape of a kind; its three lengths are between 0.4 and 1 m or so.
fn field(kind: usize, [a, b, c]: [f64; 3]) -> Field {
    let primitive = |shape| primitive_field(&shape, 0.5).expect("a valid shape");
    match kind {
        0 => primitive(Shape::Sphere { radius: 0.6 * a }),
        1 => primitive(Shape::Box { size: [a, b, c] }),
        2 => primitive(Shape::Cylinder { radius: 0.6 * a, length: b }),
        3 => primitive(Shape::Capsule { radius: 0.5 * a, length: b }),
        4 => primitive(Shape::Ellipsoid { semi_axes: [0.6 * a, 0.6 * b, 0.6 * c] }),
        5 => icosphere(0.6 * a, 1),
        6 => box_field([a, b, c]),
        7 => torus(0.6 * a, 0.3 * a, 7, 5),
        _ => l_shape(0.3 * a),
    }
}

#[derive(Clone, Debug)]
struct Body {
    kind: usize,
    lengths: [f64; 3],
    rigid: bool,
    material: Material,
}

impl Body {
    fn geometry(&self) -> ContactGeometry {
        if self.kind == HALF_SPACE {
            return if self.rigid {
                ContactGeometry::RigidHalfSpace
            } else {
                ContactGeometry::CompliantHalfSpace
            };
        }
        let (mesh, extent) = field(self.kind, self.lengths);
        if self.rigid {
            ContactGeometry::Rigid(RigidSurface::new(mesh.boundary()))
        } else {
            ContactGeometry::Compliant(PressureField::new(mesh, extent).expect("a valid field"))
        }
    }

    fn collider(&self) -> Collider {
        Collider::new(self.geometry(), self.material, 0.5 * self.lengths[0])
    }
}

/// 0 in one case of four.
fn maybe(strategy: impl Strategy<Value = f64> + 'static) -> impl Strategy<Value = f64> {
    prop_oneof![1 => Just(0.0), 3 => strategy]
}

fn material() -> impl Strategy<Value = Material> {
    (2.0..9.0, maybe(0.0..20.0), maybe(0.0..1.5), maybe(0.0..1.0)).prop_map(
        |(magnitude, dissipation, static_friction, part)| {
            let modulus = f64::powf(10.0, magnitude);
            Material::new(modulus, dissipation, static_friction * part).with_static_friction(static_friction)
        },
    )
}

fn body() -> impl Strategy<Value = Body> {
    (0..=KINDS, prop::array::uniform3(0.5..1.0), prop::bool::weighted(0.3), material())
        .prop_map(|(kind, lengths, rigid, material)| Body { kind, lengths, rigid, material })
}

/// Two bodies that may be in contact.
fn bodies() -> impl Strategy<Value = (Body, Body)> {
    (body(), body()).prop_map(|(a, mut b)| {
        if a.kind == HALF_SPACE && b.kind == HALF_SPACE {
            b.kind = 0;
        }
        b.rigid &= !a.rigid;
        (a, b)
    })
}

fn vector(reach: f64) -> impl Strategy<Value = Vector3<f64>> {
    prop::array::uniform3(-reach..reach).prop_map(Vector3::from)
}

fn pose(reach: f64) -> impl Strategy<Value = RigidTransform> {
    let orientation = prop::array::uniform4(-1.0..1.0f64)
        .prop_filter("no direction", |q| q.iter().map(|x| x * x).sum::<f64>() > 0.01)
        .prop_map(|[w, x, y, z]| Quaternion::from_wxyz(w, x, y, z).to_matrix());
    (orientation, vector(reach)).prop_map(|(r, p)| RigidTransform::new(r, p))
}

/// Velocities from 0 through the range of stiction to fast.
fn velocity() -> impl Strategy<Value = SpatialVelocity> {
    (vector(1.0), vector(1.0), prop_oneof![Just(0.0), (-6.0..1.0).prop_map(|x| f64::powf(10.0, x))])
        .prop_map(|(w, v, size)| SpatialVelocity::new(w * size, v * size))
}

fn settings() -> impl Strategy<Value = ContactSettings> {
    use DissipationModel::{HuntCrossley, StrainRate};
    use FrictionRegularization::{Atan, Smooth, Stribeck};
    (
        prop_oneof![Just(SurfaceRepresentation::Triangles), Just(SurfaceRepresentation::Polygons)],
        prop_oneof![3 => Just(FaceFilter::None), 1 => Just(FaceFilter::Drake)],
        prop_oneof![Just(HuntCrossley), Just(StrainRate)],
        maybe(0.0..1.0),
        prop_oneof![Just(Smooth), Just(Atan), Just(Stribeck)],
        -5.0..-1.0,
        1..=5u8,
    )
        .prop_map(|(surface, face_filter, dissipation_model, width, friction, stiction, order)| {
            ContactSettings {
                surface,
                face_filter,
                dissipation_model,
                positive_part_width: width,
                friction_regularization: friction,
                stiction_velocity: f64::powf(10.0, stiction),
                bristle_length: None,
                sap_stiction: false,
                rigid_stiffness: 1e9,
                quadrature_order: Some(order),
                law: None,
            }
        })
}

#[derive(Clone, Debug)]
struct State {
    a: Body,
    b: Body,
    x_wb: RigidTransform,
    x_ba: RigidTransform,
    v_wa: SpatialVelocity,
    v_wb: SpatialVelocity,
    settings: ContactSettings,
}

fn state() -> impl Strategy<Value = State> {
    (bodies(), pose(2.0), pose(0.6), velocity(), velocity(), settings()).prop_map(
        |((a, b), x_wb, x_ba, v_wa, v_wb, settings)| State { a, b, x_wb, x_ba, v_wa, v_wb, settings },
    )
}

impl State {
    fn colliders(&self) -> (Collider, Collider) {
        let (a, b) = (self.a.collider(), self.b.collider());
        assert_eq!(check_pair(&a.geometry, &b.geometry), Ok(()));
        (a, b)
    }

    fn pair<'a>(&self, a: &'a Collider, b: &'a Collider) -> ContactPair<'a> {
        ContactPair { a, x_wa: self.x_wb * self.x_ba, v_wa: self.v_wa, b, x_wb: self.x_wb, v_wb: self.v_wb }
    }
}

fn query(pair: &ContactPair, settings: &ContactSettings) -> Option<ContactPatch> {
    contact(pair, settings, &mut Workspace::default()).expect("a pair that can touch")
}

fn is_finite(f: &SpatialForce) -> bool {
    f.rotational.iter().chain(&f.translational).all(|x| x.is_finite())
}

/// The velocity of A's origin relative to the material of B there.
fn relative_velocity(pair: &ContactPair) -> SpatialVelocity {
    pair.v_wa - pair.v_wb.shifted(&(pair.x_wa.translation - pair.x_wb.translation))
}

/// The power that the wrench on A about A's origin gives to the two bodies.
fn power(f: &SpatialForce, v: &SpatialVelocity) -> f64 {
    f.rotational.dot(&v.rotational) + f.translational.dot(&v.translational)
}

/// A bound on the sum of the sizes of the forces on all faces, N.
fn load(pair: &ContactPair, patch: &ContactPatch, settings: &ContactSettings) -> f64 {
    let v = relative_velocity(pair);
    let speed = v.translational.norm() + 3.0 * v.rotational.norm();
    let mut damping: f64 = 0.0;
    let bound = |c: &Collider| match settings.dissipation_model {
        DissipationModel::HuntCrossley => c.material.dissipation,
        // κ = g (χ_A/E_A + χ_B/E_B), and g is at most the softer body's gradient, E/0.05 m.
        DissipationModel::StrainRate => c.material.dissipation / 0.05,
        other => panic!("nothing is known of {other:?}"),
    };
    for c in [pair.a, pair.b] {
        if !c.geometry.is_rigid() {
            damping = damping.max(bound(c));
        }
    }
    patch.max_pressure * patch.area * (1.0 + 2.0 * damping * speed) * 3.0
}

/// The largest difference of two wrenches, with torques over 1 m.
fn distance(a: &SpatialForce, b: &SpatialForce) -> f64 {
    let error = *a - *b;
    error.translational.norm().max(error.rotational.norm())
}

fn config(cases: u32) -> ProptestConfig {
    // The same cases on every run.
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(20_190),
        max_global_rejects: 20 * cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn results_are_finite(state in state()) {
        let (a, b) = state.colliders();
        let pair = state.pair(&a, &b);
        let Some(patch) = query(&pair, &state.settings) else { return Err(TestCaseError::reject("apart")) };
        prop_assert!(is_finite(&patch.wrench_on_a), "{patch:?}");
        prop_assert!(patch.area >= 0.0 && patch.area.is_finite());
        prop_assert!(patch.max_pressure >= 0.0 && patch.max_pressure.is_finite());
        prop_assert!(patch.centroid.iter().all(|x| x.is_finite()));
        let (mut faces, mut area) = (0, 0.0);
        for_each_face(&pair, &state.settings, &mut Workspace::default(), |face| {
            faces += 1;
            area += face.area;
            assert!((face.normal.norm() - 1.0).abs() < 1e-12);
            assert!(face.area.is_finite() && face.pressure.is_finite());
            assert!(face.pressure >= -1e-9 * patch.max_pressure);
        });
        prop_assert_eq!(faces, patch.faces);
        prop_assert!((area - patch.area).abs() <= 1e-12 * patch.area);
        let (again, jacobian) = contact_jacobian(&pair, &state.settings, &mut Workspace::default()).expect("a pair that can touch").unwrap();
        let scale = load(&pair, &patch, &state.settings);
        prop_assert!(distance(&again.wrench_on_a, &patch.wrench_on_a) <= 1e-12 * scale);
        for m in [jacobian.by_pose_a, jacobian.by_pose_b, jacobian.by_velocity_a, jacobian.by_velocity_b] {
            prop_assert!(m.iter().all(|x| x.is_finite()), "{jacobian:?}");
        }
        for m in [
            jacobian.by_modulus_a,
            jacobian.by_modulus_b,
            jacobian.by_parameters.dissipation,
            jacobian.by_parameters.static_friction,
            jacobian.by_parameters.dynamic_friction,
            jacobian.area_by_pose_a,
        ] {
            prop_assert!(m.iter().all(|x| x.is_finite()), "{jacobian:?}");
        }
    }

    /// What dissipation and friction add to the elastic pressure takes energy out of the relative
    /// motion, whatever it is.
    #[test]
    fn dissipation_and_friction_never_feed_the_motion(state in state()) {
        let (a, b) = state.colliders();
        let pair = state.pair(&a, &b);
        let Some(patch) = query(&pair, &state.settings) else { return Err(TestCaseError::reject("apart")) };
        let (mut smooth_a, mut smooth_b) = (a.clone(), b.clone());
        for c in [&mut smooth_a, &mut smooth_b] {
            c.material.static_friction = 0.0;
            c.material.dynamic_friction = 0.0;
        }
        let (mut elastic_a, mut elastic_b) = (smooth_a.clone(), smooth_b.clone());
        for c in [&mut elastic_a, &mut elastic_b] {
            c.material.dissipation = 0.0;
        }
        let v = relative_velocity(&pair);
        let total = power(&patch.wrench_on_a, &v);
        let damped = power(&query(&state.pair(&smooth_a, &smooth_b), &state.settings).unwrap().wrench_on_a, &v);
        let conserved = power(&query(&state.pair(&elastic_a, &elastic_b), &state.settings).unwrap().wrench_on_a, &v);
        let speed = v.translational.norm() + 2.0 * v.rotational.norm();
        let rounding = 1e-13 * load(&pair, &patch, &state.settings) * speed;
        prop_assert!(total <= damped + rounding, "friction adds {} W", total - damped);
        prop_assert!(damped <= conserved + rounding, "damping adds {} W", damped - conserved);
    }

    #[test]
    fn action_is_reaction(state in state()) {
        let (a, b) = state.colliders();
        let pair = state.pair(&a, &b);
        let Some(on_a) = query(&pair, &state.settings) else { return Err(TestCaseError::reject("apart")) };
        let swapped = ContactPair {
            a: pair.b, x_wa: pair.x_wb, v_wa: pair.v_wb, b: pair.a, x_wb: pair.x_wa, v_wb: pair.v_wa,
        };
        let on_b = query(&swapped, &state.settings).unwrap();
        let about_a = on_b.wrench_on_a.shifted(&(pair.x_wa.translation - pair.x_wb.translation));
        let scale = load(&pair, &on_a, &state.settings);
        let off = distance(&-about_a, &on_a.wrench_on_a) / scale;
        prop_assert!(off < 1e-9, "{off:e}");
    }

    /// Moving the world, or looking at it from a frame that moves, changes no wrench.
    #[test]
    fn no_frame_is_special(state in state(), world in pose(3.0), drift in velocity()) {
        let (a, b) = state.colliders();
        let pair = state.pair(&a, &b);
        let Some(one) = query(&pair, &state.settings) else { return Err(TestCaseError::reject("apart")) };
        let carried = |x: &RigidTransform, v: &SpatialVelocity| {
            let shifted = drift.shifted(&x.translation);
            SpatialVelocity::new(v.rotational + shifted.rotational, v.translational + shifted.translational)
                .rotated(&world.rotation)
        };
        let moved = ContactPair {
            a: pair.a,
            x_wa: world * pair.x_wa,
            v_wa: carried(&pair.x_wa, &pair.v_wa),
            b: pair.b,
            x_wb: world * pair.x_wb,
            v_wb: carried(&pair.x_wb, &pair.v_wb),
        };
        let other = query(&moved, &state.settings).unwrap();
        let scale = load(&pair, &one, &state.settings);
        let off = distance(&other.wrench_on_a, &one.wrench_on_a.rotated(&world.rotation)) / scale;
        // Slip is known to the rounding of the drift; friction grows with slip over v_s.
        let slip_error = 1e-15 * (drift.translational.norm() + 5.0 * drift.rotational.norm());
        prop_assert!(off < 1e-9 + 10.0 * slip_error / state.settings.stiction_velocity, "{off:e}");
    }

    /// Poses that users start from: axes along axes, faces on faces, vertices on edges.
    #[test]
    fn aligned_poses_give_finite_derivatives(
        (a, b) in bodies(),
        turns in prop::array::uniform3(0..4i32),
        steps in prop::array::uniform3(-4..=4i32),
        same in any::<bool>(),
        settings in settings(),
    ) {
        let [roll, pitch, yaw] = turns.map(|k| f64::from(k) * std::f64::consts::FRAC_PI_2);
        // Rounded, so that the alignment is exact.
        let rotation = rotation_from_rpy(roll, pitch, yaw).map(f64::round);
        let twins = same && !b.rigid && b.kind != HALF_SPACE;
        let (a, b) = (if twins { &b } else { &a }.collider(), b.collider());
        let pair = common::at_rest(
            &a,
            RigidTransform::new(rotation, Vector3::from(steps.map(|k| f64::from(k) * 0.125))),
            &b,
            RigidTransform::identity(),
        );
        let Some((patch, jacobian)) = contact_jacobian(&pair, &settings, &mut Workspace::default()).expect("a pair that can touch") else {
            return Err(TestCaseError::reject("apart"));
        };
        prop_assert!(is_finite(&patch.wrench_on_a));
        for m in [jacobian.by_pose_a, jacobian.by_pose_b, jacobian.by_velocity_a, jacobian.by_velocity_b] {
            prop_assert!(m.iter().all(|x| x.is_finite()), "{jacobian:?}");
        }
        prop_assert!(jacobian.by_modulus_a.iter().chain(&jacobian.by_modulus_b).all(|x| x.is_finite()));
    }
}
