//! What sensors read, and its derivatives against differences, in a scene with joints of every kind.

use crate::jointed_scene;
use isobar::contact::SurfaceRepresentation;
use isobar::multibody::{BodyPair, Model, NamedMaterial, PairWorkspace, SensorWorkspace, State};
use isobar::scalar::{DualArray, Scalar};

/// The ball and a finger, in the order of the model.
fn ball_and_finger(model: &Model) -> BodyPair {
    let [a, b] = ["ball", "left"].map(|name| model.body_index(name).expect("a body"));
    assert!(a < b);
    BodyPair { a, b }
}

/// All readings at a state, in groups of one unit.
fn readings<T: Scalar>(model: &Model<T>, state: &State<T>, bodies: BodyPair) -> Vec<Vec<T>> {
    let mut workspace = SensorWorkspace::default();
    let frame = model.body_frame(state, bodies.b, &mut workspace);
    let contact = model.pair_contact(state, bodies, &mut workspace);
    let on_b = model.contact_wrench(state, bodies.b, bodies.a, &mut workspace);
    let pressure = model.pair_pressure(state, bodies, &mut workspace).expect("they touch");
    let (mut frames, mut pairs) = (Vec::new(), PairWorkspace::default());
    model.body_frames(state, &mut frames);
    let patch = model.patch_reading(&frames, bodies, &mut pairs).expect("they touch");
    let elbow = model.mechanism().joint_index("elbow").expect("a joint");
    let wrist = model.mechanism().joint_index("wrist").expect("a joint");
    vec![
        model.joint_position(state, elbow).to_vec(),
        model.joint_velocity(state, wrist).to_vec(),
        frame.pose.rotation.as_slice().to_vec(),
        frame.pose.translation.as_slice().to_vec(),
        frame.velocity.rotational.as_slice().to_vec(),
        frame.velocity.translational.as_slice().to_vec(),
        contact.wrench_on_a.rotational.as_slice().to_vec(),
        contact.wrench_on_a.translational.as_slice().to_vec(),
        on_b.rotational.as_slice().to_vec(),
        on_b.translational.as_slice().to_vec(),
        vec![contact.area],
        contact.centroid.expect("they touch").as_slice().to_vec(),
        vec![pressure.largest, pressure.mean],
        vec![pressure.area],
        model.pair_slip(state, bodies.b, bodies.a, &mut workspace).as_slice().to_vec(),
        vec![patch.force],
        patch.slip.as_slice().to_vec(),
    ]
}

#[test]
fn readings_agree_with_each_other() {
    for surface in [SurfaceRepresentation::Triangles, SurfaceRepresentation::Polygons] {
        let (model, state) = jointed_scene::scene(surface);
        let bodies = ball_and_finger(&model);
        let mut workspace = SensorWorkspace::default();
        let contact = model.pair_contact(&state, bodies, &mut workspace);
        // The wrenches on the two bodies about their own origins: seen from one, they are opposite.
        let on_a = model.contact_wrench(&state, bodies.a, bodies.b, &mut workspace);
        let on_b = model.contact_wrench(&state, bodies.b, bodies.a, &mut workspace);
        assert_eq!(on_a, contact.wrench_on_a);
        let [a, b] = [bodies.a, bodies.b].map(|body| model.body_frame(&state, body, &mut workspace));
        let about_a = on_b.shifted(&(a.pose.translation - b.pose.translation));
        let force = on_a.translational.norm();
        assert!((about_a.translational + on_a.translational).norm() < 1e-14 * force);
        assert!((about_a.rotational + on_a.rotational).norm() < 1e-14 * force);
        assert!(on_b.rotational.norm() > 1e-6 * force, "{on_b:?}");
        let pressure = model.pair_pressure(&state, bodies, &mut workspace).expect("they touch");
        assert!((pressure.area / contact.area - 1.0).abs() < 1e-12);
        assert!((pressure.largest / contact.max_pressure - 1.0).abs() < 1e-12);
        assert!(pressure.mean > 0.0 && pressure.mean < pressure.largest);
        // Without dissipation and friction the force is the mean pressure times the area, on a
        // surface that is nearly flat.
        let mut smooth = model.clone().into_builder();
        for NamedMaterial { material, .. } in &mut smooth.materials {
            (material.dissipation, material.static_friction, material.dynamic_friction) = (0.0, 0.0, 0.0);
        }
        let smooth = smooth.build().expect("valid materials");
        let force = smooth.pair_contact(&state, bodies, &mut workspace).wrench_on_a.translational.norm();
        let ratio = force / (pressure.mean * pressure.area);
        assert!(ratio > 0.95 && ratio <= 1.0 + 1e-12, "{ratio}");
        // A pair that does not touch.
        let apart = BodyPair { a: 0, b: model.body_index("weight").expect("a body") };
        assert_eq!(model.pair_pressure(&state, apart, &mut workspace), None);
        assert_eq!(model.pair_contact(&state, apart, &mut workspace).faces, 0);
    }
}

#[test]
fn derivatives_agree_with_central_differences() {
    const N: usize = 8;
    let (model, state) = jointed_scene::scene(SurfaceRepresentation::Triangles);
    let bodies = ball_and_finger(&model);
    let count = state.tangent_dimension();
    let lifted = Model::<DualArray<N>>::lift(&model);
    let mut worst = 0.0_f64;
    for first in (0..count).step_by(N) {
        let mut tangent = vec![DualArray::<N>::from(0.0); count];
        for (k, t) in tangent.iter_mut().skip(first).take(N).enumerate() {
            *t = DualArray::variable(0.0, k);
        }
        let claimed = readings(&lifted, &State::lift(&state).moved(&tangent), bodies);
        for direction in first..count.min(first + N) {
            let h = 1e-6;
            let at = |h: f64| {
                let mut tangent = vec![0.0; count];
                tangent[direction] = h;
                readings(&model, &state.moved(&tangent), bodies)
            };
            let (plus, minus) = (at(h), at(-h));
            for (group, claimed) in claimed.iter().enumerate() {
                let difference: Vec<f64> =
                    plus[group].iter().zip(&minus[group]).map(|(p, m)| (p - m) / (2.0 * h)).collect();
                let size = difference.iter().fold(1e-3 * magnitude(&plus[group]), |s, d| s.max(d.abs()));
                for (c, d) in claimed.iter().zip(&difference) {
                    let error = (c.eps[direction - first] - d).abs() / size;
                    worst = worst.max(error);
                    assert!(
                        error < 1e-5,
                        "reading {group}, direction {direction}: {} {d}",
                        c.eps[direction - first]
                    );
                }
            }
        }
    }
    println!("worst error of {count} directions: {worst:.1e}");
}

/// The largest of some numbers, at least 1e-3.
fn magnitude(x: &[f64]) -> f64 {
    x.iter().fold(1e-3, |s, x| s.max(x.abs()))
}
