//! The methods of Hotz et al. (1999), each by itself as the paper has it, beside the solution of steps with its polyhedral cones: a bolt that slides into
//! its hole, and comes to rest on the bottom.

use nalgebra::Vector3;

use super::ComplementarityMethod;
use super::accuracy::difference;
use super::data::StepData;
use super::equations::{Equations, FrictionLaw, Layout, scaled_velocities};
use super::linear::{LinearSolver, variables};
use super::methods::{Effort, solve_paper};
use super::search::solve_step;
use crate::contact::{Collider, Material};
use crate::field::RigidSurface;
use crate::geometry::Revolved;
use crate::linear_algebra::{NewtonLimits, solve_mixed};
use crate::multibody::{
    AppliedForces, Body, BodyGeometry, BodyState, ForceWorkspace, Forces, MassSource, Model, ModelBuilder,
    NamedMaterial, State,
};
use crate::scalar::Scalar;
use crate::spatial::{RigidTransform, SpatialForce, rotation_from_rpy};
use crate::step::StepProblem;

const BOLT: Revolved = Revolved::Bolt { radius: 0.01, length: 0.06, tip_radius: 0.008, tip_length: 0.003 };
const HOLE: Revolved =
    Revolved::Hole { radius: 0.0102, depth: 0.05, through: false, mouth_radius: 0.016, mouth_depth: 0.006 };
const STEP: f64 = 5e-4;

/// A push downward at the tip.
struct Push;

impl AppliedForces for Push {
    fn apply<T: Scalar>(&self, _: &Model<T>, state: &State<T>, _: f64, _: &[T], forces: &mut Forces<T>) {
        let arm = state.bodies[0].orientation.to_matrix() * Vector3::new(0.0, 0.0, -0.03).map(T::from);
        let force = Vector3::new(0.0, 0.0, -2.0).map(T::from);
        forces.bodies[0] += SpatialForce::new(arm.cross(&force), force);
    }
}

fn model(friction: f64) -> Model {
    let geometry = |shape: Revolved| {
        let mesh = shape.surface_mesh(0.002, None).expect("a valid shape");
        let collider = Collider::rigid(RigidSurface::of_revolved(shape, mesh), Material::NONE);
        BodyGeometry::new(collider).of_material(0)
    };
    let bolt = Body::free("bolt", MassSource::Spread(0.15), vec![geometry(BOLT)]).expect("a valid body");
    let plate = Body::fixed("plate", RigidTransform::identity(), vec![geometry(HOLE)]);
    let materials = vec![NamedMaterial { name: "steel".into(), material: Material::new(0.0, 0.0, friction) }];
    let gravity = Vector3::new(0.0, 0.0, -9.81);
    let builder = ModelBuilder { bodies: vec![bolt, plate], materials, gravity, ..ModelBuilder::default() };
    builder.build().expect("a valid model")
}

fn start() -> State {
    let pose = RigidTransform::new(rotation_from_rpy(0.03, -0.08, 0.0), Vector3::new(0.0025, 0.001, 0.0345));
    State::of_bodies(vec![BodyState::at_rest(&pose)])
}

fn layout(data: &StepData) -> Layout {
    Layout::new(data, FrictionLaw::Polyhedral, (0..data.contacts.len()).collect())
}

/// §2.2: linear problems by Lemke's algorithm, each at the positions of the last one, until they stay the same. Points that share
/// a load give a little, so that there is one solution.
fn fixed_point(data: &StepData, linear: &mut LinearSolver) -> Option<Vec<f64>> {
    let layout = Layout { compliance: 1e-10, ..layout(data) };
    let mut velocities = data.free_velocities();
    for _ in 0..200 {
        let next = linear.cones(data, &layout, &velocities)?.velocities;
        let change = difference(data, &velocities, &next);
        velocities = next;
        if change < 1e-11 {
            return Some(velocities);
        }
    }
    None
}

/// §2.1, eq. 5: Fischer's function by a semismooth Newton method, from one linear problem.
fn fischer(data: &StepData, linear: &mut LinearSolver) -> Option<Vec<f64>> {
    let layout = layout(data);
    let soft = Layout { compliance: 1e-6, ..layout.clone() };
    let first = linear.cones(data, &soft, &data.free_velocities())?;
    let mut z = variables(data, &layout, &first);
    let limits = NewtonLimits { tolerance: 1e-11, iterations: 200 };
    let outcome = solve_mixed(&Equations { data, layout: &layout }, &mut z, &limits);
    outcome.converged.then(|| scaled_velocities(data, &z))
}

/// What was found along a motion.
#[derive(Debug, Default)]
struct Compared {
    states: usize,
    /// The largest differences of velocities, in parts of the scale, of the fixed point and of Fischer's function.
    worst: [f64; 2],
    /// Steps at which they do not converge.
    without: [usize; 2],
    /// Steps at which the bilateral method misses a contact that another one closes.
    unseen: usize,
}

/// Compares the methods at the steps of a motion that touch.
fn compare(friction: f64, steps: usize) -> Compared {
    let model = model(friction);
    let mut state = start();
    let (mut forces, mut linear) = (ForceWorkspace::default(), LinearSolver::default());
    let mut contacts = Vec::new();
    let mut compared = Compared::default();
    for step in 0..steps {
        let problem = StepProblem::new(&model, &state, STEP).under(&Push);
        let mut solve = |method| {
            solve_step(method, &problem, &mut forces, &mut linear, &mut contacts)
                .expect("a step that converges")
        };
        let bilateral = solve(ComplementarityMethod::Bilateral);
        let solved = solve(ComplementarityMethod::Lcp);
        let data = &solved.data;
        linear.start(data);
        let lcp = ComplementarityMethod::Lcp;
        let solution = solve_paper(lcp, data, &mut linear, Effort::All, None).expect("a solution");
        let velocities = scaled_velocities(data, &solution.variables);
        if !contacts.is_empty() {
            compared.states += 1;
            let of_bilateral = scaled_velocities(&bilateral.data, &bilateral.solution.variables);
            if difference(data, &velocities, &of_bilateral) > 1e-8 {
                // It does not see what only others close.
                let gaps = data.kinematics(&data.free_velocities()).gaps;
                let mut carrying = solution.carrying.iter().filter(|(_, p)| *p > 0.0);
                assert!(carrying.any(|&(k, _)| gaps[k].distance > 0.0), "step {step}");
                compared.unseen += 1;
            }
            linear.start(data);
            let found = [fixed_point(data, &mut linear), fischer(data, &mut linear)];
            for (k, found) in found.iter().enumerate() {
                match found {
                    Some(found) => {
                        compared.worst[k] = compared.worst[k].max(difference(data, &velocities, found));
                    }
                    None => compared.without[k] += 1,
                }
            }
        }
        state = State::of_bodies(vec![data.bodies[0].after(&velocities, STEP)]);
    }
    compared
}

#[test]
fn each_method_by_itself_agrees_where_a_bolt_slides_in_and_rests_without_friction() {
    let found = compare(0.0, 200);
    println!("{found:?}");
    assert!(found.states > 100);
    assert!(found.worst.iter().all(|worst| *worst < 1e-8));
    // Where edges pass each other linear problems have no fixed point from velocities without contact.
    assert!(found.without[0] <= 10 && found.without[1] == 0 && found.unseen <= 10);
}

#[test]
fn each_method_by_itself_agrees_with_friction_until_many_points_share_the_load() {
    let found = compare(0.1, 170);
    println!("{found:?}");
    assert!(found.states > 80);
    assert!(found.worst.iter().all(|worst| *worst < 1e-8));
    assert!(found.without[0] <= 10 && found.without[1] == 0 && found.unseen <= 10);
}
