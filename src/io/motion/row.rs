//! A state as a row of numbers: its columns, the numbers in them, and the state from these.

use crate::contact::{DEFLECTION_DIMENSION, Deflection};
use crate::io::motion::states::{normalize, unit};
use crate::io::motion::trajectory::{
    BRISTLE_COLUMNS, COLUMNS, body_state, bristle_names, joint_titles, numbers,
};
use crate::multibody::tree::{JointKind, JointState};
use crate::multibody::{Model, State};
use crate::scalar::Scalar;
use crate::shown::shown;

/// The titles of the numbers of a state of a model, as trajectory files have them: see
/// [`TrajectoryWriter`](crate::io::TrajectoryWriter).
pub fn state_columns(model: &Model) -> Vec<String> {
    let mut columns = Vec::new();
    for (_, body, _) in model.free_bodies() {
        columns.extend(COLUMNS.iter().map(|column| format!("{}.{column}", body.name)));
    }
    for joint in model.mechanism().joints_with_coordinates() {
        columns.extend(joint_titles(&joint.name, "q", joint.q.len()));
        columns.extend(joint_titles(&joint.name, "v", joint.v.len()));
    }
    for pair in bristle_names(model) {
        columns.extend(BRISTLE_COLUMNS.iter().map(|column| format!("{pair}.{column}")));
    }
    columns
}

/// The numbers of a state in the order of [`state_columns`].
pub fn state_numbers<T: Scalar>(model: &Model, state: &State<T>) -> Vec<T> {
    let mut row: Vec<T> = state.bodies.iter().flat_map(numbers).collect();
    let JointState { q, v, .. } = &state.joints;
    for joint in model.mechanism().joints_with_coordinates() {
        row.extend(q[joint.q.clone()].iter().chain(&v[joint.v.clone()]));
    }
    row.extend((0..model.bristle_count()).flat_map(|pair| state.deflection(pair).numbers()));
    row
}

/// The state of a model from its numbers in the order of [`state_columns`]. Quaternions are brought to unit length where
/// rounding has left them near it.
///
/// # Errors
/// When there are not as many numbers as columns, one of them is not finite, or a quaternion is far from unit length.
pub fn state_from_numbers(model: &Model, row: &[f64]) -> Result<State, String> {
    let joints = || model.mechanism().joints_with_coordinates();
    let free = model.free_bodies().count();
    let (of_bodies, of_joints) =
        (free * COLUMNS.len(), joints().map(|joint| joint.q.len() + joint.v.len()).sum::<usize>());
    let expected = of_bodies + of_joints + model.bristle_count() * DEFLECTION_DIMENSION;
    if row.len() != expected {
        return Err(format!("found {} numbers; a state of this model has {expected}", row.len()));
    }
    if let Some(index) = row.iter().position(|x| !x.is_finite()) {
        return Err(format!(
            "`{}` is {}; it must be finite",
            shown(&state_columns(model)[index]),
            row[index]
        ));
    }
    let fault = |name: &str, length: f64| {
        format!("the quaternion of `{}` has length {length}; it must be 1", shown(name))
    };
    let (of_bodies, rest) = row.split_at(of_bodies);
    let (mut of_joints, of_bristles) = rest.split_at(of_joints);
    let mut state = State::of_bodies(Vec::with_capacity(free));
    for ((_, body, _), numbers) in model.free_bodies().zip(of_bodies.as_chunks().0) {
        state.bodies.push(unit(&body_state(numbers)).map_err(|length| fault(&body.name, length))?);
    }
    let (mut q, mut v) = (Vec::new(), Vec::new());
    for joint in joints() {
        let (own, others) = of_joints.split_at(joint.q.len() + joint.v.len());
        let (of_q, of_v) = own.split_at(joint.q.len());
        let first = q.len();
        q.extend_from_slice(of_q);
        v.extend_from_slice(of_v);
        if matches!(joint.kind, JointKind::Ball | JointKind::Free) {
            normalize(&mut q[first..first + 4]).map_err(|length| fault(&joint.name, length))?;
        }
        of_joints = others;
    }
    state.joints = model.mechanism().state(q, v);
    state.bristles.extend(of_bristles.as_chunks().0.iter().map(|numbers| Deflection::from_numbers(*numbers)));
    Ok(state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::Scene;

    /// A body, a joint with one coordinate, and one with a quaternion.
    const SCENE: &str = r#"
        materials.foam = { hydroelastic_modulus = 1e5, friction = 0.5 }
        contact.bristle_length = 1e-4
        [[bodies]]
        name = "ball"
        mass = 0.1
        translation = [0, 0, 0.06]
        geometries = [{ shape = { sphere = { radius = 0.05, resolution = 0.05 } }, material = "foam" }]
        [[bodies]]
        name = "arm"
        mass = 0.1
        inertia = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
        joint = { name = "shoulder", type = "revolute", axis = [0, 1, 0] }
        [[bodies]]
        name = "hand"
        mass = 0.1
        inertia = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
        joint = { name = "wrist", type = "ball", parent = "arm" }
        [[bodies]]
        name = "floor"
        fixed = true
        geometries = [{ shape = { half_space = {} }, rigid = true, material = "foam" }]
    "#;

    #[test]
    fn a_state_comes_back_from_its_numbers() {
        let scene = Scene::parse(SCENE, "scene.toml").expect("a scene");
        let (model, state) = (&scene.model, scene.model.completed(scene.state.clone()));
        let tangent: Vec<f64> = (0..state.tangent_dimension()).map(|i| 0.1 * (i as f64).sin()).collect();
        let moved = state.moved(&tangent);
        let numbers = state_numbers(model, &moved);
        let columns = state_columns(model);
        assert_eq!(numbers.len(), columns.len());
        assert_eq!(state_from_numbers(model, &numbers).expect("a state"), moved);
        for (index, change, message) in [
            (2, f64::NAN, "`ball.pz_m` is NaN; it must be finite"),
            (3, 0.5, "the quaternion of `ball` has length"),
            (13, f64::INFINITY, "`shoulder.q` is inf; it must be finite"),
            (15, 3.0, "the quaternion of `wrist` has length"),
        ] {
            let mut bad = numbers.clone();
            bad[index] = change;
            let error = state_from_numbers(model, &bad).expect_err("a bad number");
            assert!(error.starts_with(message), "{error}");
        }
        let error = state_from_numbers(model, &numbers[1..]).expect_err("too few");
        assert_eq!(
            error,
            format!("found {} numbers; a state of this model has {}", columns.len() - 1, columns.len())
        );
    }
}
