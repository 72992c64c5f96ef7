//! The three methods of Hotz et al., and where they agree.

use isobar::geometry::Shape;
use isobar::multibody::{Body, BodyState, MassSource, Model, State};
use isobar::spatial::{RigidTransform, SpatialVelocity, rotation_exponential};
use isobar::step::{ComplementarityMethod, Integrator, StepProblem, StepWorkspace};
use nalgebra::Vector3;

use crate::scenes::{self, on_plane, rigid};

const ALL: [ComplementarityMethod; 4] = [
    ComplementarityMethod::Lcp,
    ComplementarityMethod::Ncp,
    ComplementarityMethod::Bilateral,
    ComplementarityMethod::Ecp,
];

pub fn shape(shape: Shape, mass: f64, name: &str) -> Body {
    let mesh = shape.surface_mesh(0.05).expect("a valid shape");
    let geometry = rigid(mesh, Some(shape), 0);
    Body::free(name, MassSource::Spread(mass), vec![geometry]).expect("a valid body")
}

fn boxes(count: usize) -> Vec<Body> {
    (0..count).map(|i| shape(Shape::Box { size: [0.2, 0.2, 0.1] }, 1.0, &format!("box {i}"))).collect()
}

fn at_rest(z: f64) -> BodyState {
    BodyState::at_rest(&RigidTransform::from_translation([0.0, 0.0, z]))
}

fn simulate(model: &Model, start: &State, method: ComplementarityMethod, steps: usize, dt: f64) -> State {
    let mut workspace = StepWorkspace::default();
    let mut state = start.clone();
    for step in 0..steps {
        let problem = StepProblem::new(model, &state, dt);
        state = Integrator::Complementarity(method)
            .step(&problem, &mut workspace)
            .unwrap_or_else(|error| panic!("{method:?}, step {step}: {error}"));
    }
    state
}

#[test]
fn a_box_that_rests_stays() {
    for friction in [0.0, 0.4] {
        let model = on_plane(boxes(1), friction, [1.0, 1.0, 0.05], 9.81);
        let start = State::of_bodies(vec![at_rest(0.05)]);
        for method in ALL {
            let end = simulate(&model, &start, method, 50, 0.01);
            let moved = start.difference(&end).iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            assert!(moved < 1e-11, "{method:?}, friction {friction}: {moved:e}");
        }
    }
}

#[test]
fn the_methods_agree_where_a_box_slides_without_friction() {
    let model = on_plane(boxes(1), 0.0, [1.0, 1.0, 0.0], 9.81);
    let mut body = at_rest(0.05);
    body.velocity = SpatialVelocity::new(Vector3::new(0.0, 0.0, 2.0), Vector3::new(0.7, -0.2, 0.0));
    let start = State::of_bodies(vec![body]);
    let ends = ALL.map(|method| simulate(&model, &start, method, 50, 0.01));
    for end in &ends {
        let off = ends[0].difference(end).iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        assert!(off < 1e-8, "{off:e}");
        assert!((end.bodies[0].position.x - 0.35).abs() < 1e-10);
    }
}

#[test]
fn the_methods_agree_where_a_box_falls_on_a_corner_without_friction() {
    let model = on_plane(boxes(1), 0.0, [1.0, 1.0, 0.0], 9.81);
    let turned = RigidTransform::new(
        rotation_exponential(&Vector3::new(0.5, -0.3, 0.2)),
        Vector3::new(0.0, 0.0, 0.16),
    );
    let start = State::of_bodies(vec![BodyState::at_rest(&turned)]);
    let ends = ALL.map(|method| simulate(&model, &start, method, 20, 0.005));
    for (method, end) in ALL.iter().zip(&ends) {
        let off = ends[0].difference(end).iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        println!("{method:?} {off:e}");
        // Bilateral steps do not see contacts that others close.
        assert!(off < 1e-8 || *method == ComplementarityMethod::Bilateral, "{method:?}: {off:e}");
    }
}

#[test]
fn a_stack_of_ten_rests() {
    let start = State::of_bodies((0..10).map(|i| at_rest(0.05 + 0.1 * i as f64)).collect());
    for method in [ComplementarityMethod::Lcp, ComplementarityMethod::Ecp] {
        let friction = if method == ComplementarityMethod::Lcp { 0.0 } else { 0.3 };
        let model = on_plane(boxes(10), friction, [1.0, 1.0, 0.05], 9.81);
        let end = simulate(&model, &start, method, 20, 0.01);
        let moved = start.difference(&end).iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        assert!(moved < 1e-9, "{method:?}: {moved:e}");
    }
}

#[test]
fn friction_in_a_cone_holds_a_box_and_lets_it_slide_in_every_direction() {
    // On a plane that is tilted by gravity.
    let tangents = [(0.399, false), (0.401, true), (0.5, true)];
    for (number, (tangent, slides)) in tangents.into_iter().cycle().take(24).enumerate() {
        let angle = 0.27 * number as f64;
        let model = on_plane(boxes(1), 0.4, [1.0, 1.0, 0.05], 9.81);
        let mut builder = model.into_builder();
        let along = Vector3::new(angle.cos(), angle.sin(), 0.0);
        builder.gravity = along * (tangent * 9.81) - Vector3::z() * 9.81;
        let model = builder.build().expect("a valid model");
        let start = State::of_bodies(vec![at_rest(0.05)]);
        for method in [ComplementarityMethod::Lcp, ComplementarityMethod::Ncp, ComplementarityMethod::Ecp] {
            let end = simulate(&model, &start, method, 20, 0.01);
            let expected = if slides { (tangent - 0.4) * 9.81 * 0.2 } else { 0.0 };
            let off = (end.bodies[0].velocity.translational - along * expected).norm();
            assert!(off < 1e-9, "{method:?}, {tangent}, {angle}: {off}");
        }
    }
}

#[test]
fn bodies_that_slide_and_turn_on_several_points_share_their_load_in_one_way() {
    for scene in [scenes::desk(), scenes::tee()] {
        let [lcp, ncp] = [ComplementarityMethod::Lcp, ComplementarityMethod::Ncp]
            .map(|method| scene.simulate(method).unwrap_or_else(|error| panic!("{}: {error}", scene.name)));
        let apart = |a: &[BodyState], b: &[BodyState]| {
            let of = |(a, b): (&BodyState, &BodyState)| {
                (a.position - b.position).norm() + (a.velocity.rotational - b.velocity.rotational).norm()
            };
            a.iter().zip(b).map(of).fold(0.0, f64::max)
        };
        let off = apart(&lcp.states, &ncp.states);
        println!("{}: the methods differ by {off:.1e}", scene.name);
        assert!(off < 1e-8, "{}: {off:e}", scene.name);
        // What is near stays near: no jump to another way.
        let mut moved = scene.start.clone();
        moved.bodies[0].velocity.rotational.z += 1e-9;
        let moved = scenes::Scene { start: moved, ..scene };
        let motion = moved.simulate(ComplementarityMethod::Lcp).expect("steps that converge");
        let off = apart(&lcp.states, &motion.states);
        println!("{}: moved by {off:.1e}", moved.name);
        assert!(off < 1e-6, "{}: {off:e}", moved.name);
    }
}
