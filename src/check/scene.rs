//! The gradient check of a scene: wrenches, one step and a rollout, by every input.

use std::ops::Range;

use nalgebra::Vector3;
use rayon::prelude::*;

use super::differences::{CheckSettings, Comparison, UNSETTLED, Verdict, compare_groups};
use super::report::GradientReport;
use super::varied::{JointPart, Varied, joint_parts, settings_for, step_scale};
use crate::multibody::{
    AppliedForces, BodyPair, GeometryPair, Input, InputError, Model, PairWorkspace, State, TANGENT_DIMENSION,
    all_inputs, body_pair_contact, seeded,
};
use crate::rollout::{Controls, SimulationError, SimulationSettings, simulate_controlled};
use crate::scalar::{DualArray, Scalar};

/// Why a scene could not be checked.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum SceneCheckError {
    /// A value of an input does not fit the model.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A simulation failed.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
}

/// Value at which a dissipation or a friction that is 0 is checked instead, so that differences
/// can go to both sides: s/m (s) and 1.
const INSTEAD_OF_ZERO: f64 = 0.1;
/// Inputs differentiated in one pass.
const CHUNK: usize = 8;

/// Names of a body's four tangent vectors, in their order.
const VECTORS: [&str; TANGENT_DIMENSION / 3] = ["orientation", "position", "angular velocity", "velocity"];

/// The quantities of one evaluation, each with components of one kind.
type Quantities<T> = Vec<Vec<T>>;

struct SceneCheck<'a, A> {
    model: &'a Model,
    state: &'a State,
    settings: &'a SimulationSettings,
    applied: &'a A,
    controls: &'a Controls,
    steps: usize,
    /// The coordinates of the joints.
    parts: Vec<JointPart>,
    /// Pairs of bodies that can touch, with their pairs of geometries.
    pairs: Vec<(BodyPair, Vec<GeometryPair>)>,
    /// States that the simulated ones are measured from: after one step, after all.
    reference: [State; 2],
}

/// Checks the derivatives of a scene with respect to every input (see [`all_inputs`]) and to a
/// shift of each control value in all steps: the wrench of each pair of bodies at the initial
/// state, and the state after one step and after as many steps as `controls` has rows (`steps`
/// where there are no control values) of the scene's integrator, in its tangent space.
///
/// Steps of differences are relative to an input's value, or to 0.1 rad, 0.01 m, 1 rad/s and
/// 0.1 m/s for the initial state, the smallest principal moment for an inertia, the radius of
/// gyration for a centre of mass, the magnitude of gravity (at least 1 m/s²) for gravity, and the
/// largest of its values (1 where all are 0) for a control. A dissipation or friction of 0 is
/// checked at 0.1 instead, and says so.
///
/// # Errors
/// The scene cannot be simulated, at the values of its inputs or near them.
pub fn check_scene(
    model: &Model,
    state: &State,
    simulation: &SimulationSettings,
    applied: &impl AppliedForces,
    controls: &Controls,
    steps: usize,
    settings: &CheckSettings,
) -> Result<GradientReport, SceneCheckError> {
    let mut pairs: Vec<(BodyPair, Vec<GeometryPair>)> = Vec::new();
    for pair in &model.pairs {
        match pairs.last_mut() {
            Some((bodies, list)) if *bodies == pair.bodies => list.push(*pair),
            _ => pairs.push((pair.bodies, vec![*pair])),
        }
    }
    let empty = State::default();
    let mut check = SceneCheck {
        model,
        state,
        settings: simulation,
        applied,
        controls,
        steps: if controls.dimension() > 0 { controls.steps() } else { steps.max(1) },
        parts: joint_parts(model),
        pairs,
        reference: [empty.clone(), empty],
    };
    check.reference = check.simulated(model, state, controls)?;
    let names = check.names();
    let mut inputs: Vec<(Varied, String, f64)> = all_inputs(model)
        .into_iter()
        .map(|input| {
            let (name, value) = (input.name(model), input.value(model)?);
            let may_be_zero = matches!(
                input,
                Input::Dissipation { .. }
                    | Input::RelaxationTime { .. }
                    | Input::StaticFriction { .. }
                    | Input::DynamicFriction { .. }
            );
            Ok(match value {
                0.0 if may_be_zero => {
                    (Varied::Input(input), format!("{name} (at {INSTEAD_OF_ZERO})"), INSTEAD_OF_ZERO)
                }
                _ => (Varied::Input(input), name, value),
            })
        })
        .collect::<Result<_, SceneCheckError>>()?;
    inputs.extend((0..controls.dimension()).map(|i| {
        let name = match model.actuators.get(i) {
            Some(actuator) => format!("command of {}", actuator.name),
            None => format!("control {}", i - model.actuators.len()),
        };
        (Varied::Control(i), name, 0.0)
    }));
    let compared: Vec<Vec<Vec<Vec<Comparison>>>> = inputs
        .par_chunks(CHUNK)
        .map(|chunk| check.compare_chunk(chunk, settings))
        .collect::<Result<_, SceneCheckError>>()?;
    let mut compared: Vec<Vec<Vec<Comparison>>> = compared.into_iter().flatten().collect();
    let scales: Vec<f64> = inputs
        .iter()
        .map(|(input, _, value)| step_scale(model, controls, &check.parts, input, *value))
        .collect();
    settle_negligible(&mut compared, &scales);
    let after = 4 * model.free_bodies().count() + 2 * check.parts.len();
    let wrenches = 2 * check.pairs.len();
    settle_beside_kinks(&mut compared, wrenches);
    for first in [wrenches, wrenches + after] {
        settle_unstable(&mut compared, first..first + after);
    }
    let mut report = GradientReport::default();
    for ((_, input, _), quantities) in inputs.iter().zip(compared) {
        for (name, comparisons) in names.iter().zip(quantities) {
            report.add(name, input, comparisons);
        }
    }
    Ok(report)
}

/// A sensitivity below this part of the quantity's largest is the rounding of sums that cancel.
const NEGLIGIBLE_SENSITIVITY: f64 = 1e-11;

/// Gives the verdict [`Verdict::Zero`] to derivatives that are rounding: by symmetry a force may
/// not depend on an input at all, and yet its derivative is a sum that cancels to 10⁻¹⁶ only.
///
/// A quantity's sensitivity to an input is its derivative times the input's scale; it is compared
/// with the largest one among all inputs.
fn settle_negligible(compared: &mut [Vec<Vec<Comparison>>], scales: &[f64]) {
    let quantities = compared.first().map_or(0, Vec::len);
    for quantity in 0..quantities {
        let largest = compared
            .iter()
            .zip(scales)
            .flat_map(|(of_input, scale)| of_input[quantity].iter().map(move |c| c.claimed.abs() * scale))
            .filter(|s| s.is_finite())
            .fold(0.0, f64::max);
        for (of_input, scale) in compared.iter_mut().zip(scales) {
            let limit = NEGLIGIBLE_SENSITIVITY * largest / scale;
            for c in &mut of_input[quantity] {
                let unsettled = matches!(c.verdict, Verdict::Wrong | Verdict::Noisy);
                let no_difference = c.difference.abs() <= limit.max(2.0 * c.difference_error);
                if unsettled && c.claimed.abs() <= limit && no_difference {
                    (c.verdict, c.note) = (Verdict::Zero, String::new());
                }
            }
        }
    }
}

/// Names a kink what differences find beside one: where a wrench at the initial state has a kink
/// along an input, all that follows from that wrench has one too, though it may be too slight
/// against the smooth part for the differences to show it. The wrenches come first.
fn settle_beside_kinks(compared: &mut [Vec<Vec<Comparison>>], wrenches: usize) {
    for of_input in compared {
        let Some(initial) = of_input.get(..wrenches) else { continue };
        if !initial.iter().flatten().any(|c| c.verdict == Verdict::Kink) {
            continue;
        }
        for c in of_input.iter_mut().flatten().filter(|c| c.verdict == Verdict::Wrong) {
            let [left, right] = c.one_sided;
            (c.verdict, c.note) =
                (Verdict::Kink, format!("the wrench has a kink here; left {left:.6e}, right {right:.6e}"));
        }
    }
}

/// Leaves undecided what differences find about the state after unstable steps.
///
/// Where steps are too long for the friction or the stiffness, the smallest disturbance grows
/// from step to step until friction saturates: derivatives by one input do not settle, and
/// rounding that has grown as much makes the others jump, or not vanish where they should.
fn settle_unstable(compared: &mut [Vec<Vec<Comparison>>], state: Range<usize>) {
    let of_state = |of_input: &[Vec<Comparison>]| of_input.get(state.clone()).map_or(vec![], <[_]>::concat);
    if !compared.iter().any(|of_input| of_state(of_input).iter().any(|c| c.note == UNSETTLED)) {
        return;
    }
    for of_input in compared {
        for c in of_input[state.clone()].iter_mut().flatten() {
            if matches!(c.verdict, Verdict::Wrong | Verdict::Kink) {
                (c.verdict, c.note) = (Verdict::Noisy, UNSETTLED.into());
            }
        }
    }
}

impl<A: AppliedForces> SceneCheck<'_, A> {
    /// Derivatives of all quantities by each input of a chunk, compared.
    fn compare_chunk(
        &self,
        chunk: &[(Varied, String, f64)],
        settings: &CheckSettings,
    ) -> Result<Vec<Vec<Vec<Comparison>>>, SceneCheckError> {
        let mut claimed: Vec<Quantities<f64>> = Vec::with_capacity(chunk.len());
        // Inputs that are checked at a value of their own are not mixed with others.
        let shared = chunk.iter().all(|(varied, _, value)| match varied {
            Varied::Input(input) => input.value(self.model) == Ok(*value),
            Varied::Control(_) => true,
        });
        for part in chunk.chunks(if shared { CHUNK } else { 1 }) {
            let values: Vec<(Varied, DualArray<CHUNK>)> = part
                .iter()
                .enumerate()
                .map(|(i, (input, _, v))| (*input, DualArray::variable(*v, i)))
                .collect();
            let quantities = self.evaluate(&values)?;
            let along = |i: usize| quantities.iter().map(|q| q.iter().map(|x| x.eps[i]).collect()).collect();
            claimed.extend((0..part.len()).map(along));
        }
        let magnitudes = self.magnitudes();
        chunk
            .iter()
            .zip(claimed)
            .map(|((input, _, value), claimed)| {
                let f = |x: f64| self.evaluate(&[(*input, x)]);
                let scale = step_scale(self.model, self.controls, &self.parts, input, *value);
                compare_groups(f, *value, scale, &claimed, &magnitudes, &settings_for(input, settings))
            })
            .collect()
    }

    /// What [`Self::evaluate`] returns, by name.
    fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (pair, _) in &self.pairs {
            let (a, b) = (&self.model.bodies[pair.a].name, &self.model.bodies[pair.b].name);
            names.push(format!("torque on {a} from {b}"));
            names.push(format!("force on {a} from {b}"));
        }
        for when in ["one step".to_string(), format!("{} steps", self.steps)] {
            for (_, body, _) in self.model.free_bodies() {
                names.extend(VECTORS.iter().map(|v| format!("{} of {} after {when}", v, body.name)));
            }
            for kinds in [["angle", "displacement"], ["angular velocity", "velocity"]] {
                names.extend(self.parts.iter().map(|part| {
                    let joint = &self.model.mechanism.joints()[part.joint].name;
                    format!("{} of joint {joint} after {when}", kinds[usize::from(part.is_translation)])
                }));
            }
        }
        names
    }

    /// The magnitude that each quantity rounds at: a state is measured from the reference, but
    /// computed from its own numbers and from the changes that forces make to them.
    fn magnitudes(&self) -> Vec<f64> {
        let mut magnitudes = vec![0.0; 2 * self.pairs.len()];
        for after in &self.reference {
            for (a, b) in self.state.bodies.iter().zip(&after.bodies) {
                let of = |a: &Vector3<f64>, b: &Vector3<f64>| a.norm().max(b.norm()).max((b - a).norm());
                magnitudes.extend([
                    1.0,
                    of(&a.position, &b.position),
                    of(&a.velocity.rotational, &b.velocity.rotational),
                    of(&a.velocity.translational, &b.velocity.translational),
                ]);
            }
            let (start, end) = (&self.state.joints, &after.joints);
            let of = |a: &[f64], b: &[f64]| {
                let larger = a.iter().zip(b).map(|(a, b)| a.abs().max(b.abs()).max((b - a).abs()));
                larger.fold(0.0, f64::max)
            };
            // Angles round with the rotations that they make.
            magnitudes.extend(self.parts.iter().map(|part| {
                let q = self.model.mechanism.joints()[part.joint].q.clone();
                of(&start.q[q.clone()], &end.q[q]).max(if part.is_translation { 0.0 } else { 1.0 })
            }));
            magnitudes.extend(self.parts.iter().map(|p| of(&start.v[p.v.clone()], &end.v[p.v.clone()])));
        }
        magnitudes
    }

    /// Wrenches at the initial state, then the states after one step and after all.
    fn evaluate<T: Scalar>(&self, values: &[(Varied, T)]) -> Result<Quantities<T>, SceneCheckError> {
        let mut inputs = Vec::with_capacity(values.len());
        let lifted = self.controls.values().iter().map(|u| T::from(*u)).collect();
        let mut controls =
            Controls::from_values(self.controls.dimension(), lifted).unwrap_or(Controls::none());
        for &(varied, value) in values {
            match varied {
                Varied::Input(input) => inputs.push((input, value)),
                Varied::Control(i) => {
                    (0..controls.steps()).for_each(|step| controls.row_mut(step)[i] += value);
                }
            }
        }
        let (model, state) = seeded(self.model, self.state, &inputs)?;
        let mut quantities: Quantities<T> = Vec::new();
        let mut frames = Vec::new();
        model.body_frames(&state, &mut frames);
        let mut workspace = PairWorkspace::default();
        for (_, pairs) in &self.pairs {
            let wrench = body_pair_contact(&model, &frames, pairs, &mut workspace).wrench_on_a;
            quantities.push(wrench.rotational.as_slice().to_vec());
            quantities.push(wrench.translational.as_slice().to_vec());
        }
        for (reference, state) in self.reference.iter().zip(self.simulated(&model, &state, &controls)?) {
            let tangent = State::lift(reference).difference(&state);
            let (of_bodies, of_joints) = tangent.split_at(reference.body_tangent_dimension());
            quantities.extend(of_bodies.chunks_exact(3).map(<[T]>::to_vec));
            for half in of_joints.chunks(reference.joints.v.len().max(1)) {
                quantities.extend(self.parts.iter().map(|part| half[part.v.clone()].to_vec()));
            }
        }
        Ok(quantities)
    }

    fn simulated<T: Scalar>(
        &self,
        model: &Model<T>,
        state: &State<T>,
        controls: &Controls<T>,
    ) -> Result<[State<T>; 2], SimulationError> {
        let until = self.steps as f64 * self.settings.time_step;
        let run = simulate_controlled(model, state, self.settings, until, self.applied, controls, |_, _| ());
        let states = run?.states;
        let after = |k: usize| states.get(k).unwrap_or(state).clone();
        Ok([after(1), after(states.len() - 1)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::{ContactSettings, Material};
    use crate::multibody::{Body, Forces, MassProperties, MassSource, NamedMaterial};
    use crate::spatial::{Quaternion, SpatialVelocity};
    use nalgebra::Matrix3;

    /// A spring with the first material's modulus along z, with damping. Where `wrong`, its
    /// derivative by the height is dropped on purpose; `corner` adds a force at z < 0 only.
    struct Spring {
        wrong: bool,
        corner: bool,
    }

    impl AppliedForces for Spring {
        fn apply<T: Scalar>(
            &self,
            model: &Model<T>,
            state: &State<T>,
            _: f64,
            _: &[T],
            forces: &mut Forces<T>,
        ) {
            let material = &model.materials[0].material;
            for (body, force) in state.bodies.iter().zip(&mut forces.bodies) {
                let z = if self.wrong { T::from(body.position.z.real()) } else { body.position.z };
                let damping = material.dissipation * body.velocity.translational.z;
                let mut pull = -(material.hydroelastic_modulus * z) - damping;
                if self.corner && z.real() < 0.0 {
                    pull -= z * 50.0;
                }
                force.translational.z += pull;
            }
        }
    }

    fn scene(height: f64) -> (Model, State) {
        let properties = MassProperties {
            mass: 0.5,
            center_of_mass: Vector3::new(0.01, 0.0, 0.02),
            inertia: Matrix3::from_diagonal(&Vector3::new(1e-3, 2e-3, 2.5e-3)),
        };
        let body = Body::free("block", MassSource::Given(properties), vec![]).unwrap();
        let material = Material {
            hydroelastic_modulus: 40.0,
            dissipation: 0.3,
            relaxation_time: 0.0,
            static_friction: 0.0,
            dynamic_friction: 0.0,
        };
        let materials = vec![NamedMaterial { name: "spring".into(), material }];
        let model =
            Model::new(vec![body], materials, Vector3::zeros(), ContactSettings::default(), &[]).unwrap();
        let body = crate::multibody::BodyState {
            orientation: Quaternion::from_wxyz(0.9, 0.2, -0.1, 0.3),
            position: Vector3::new(0.1, 0.2, height),
            velocity: SpatialVelocity::new(Vector3::new(3.0, -2.0, 1.0), Vector3::new(0.2, 0.1, 0.4)),
        };
        (model, State::of_bodies(vec![body]))
    }

    fn check(height: f64, law: &Spring) -> GradientReport {
        let (model, state) = scene(height);
        let (simulation, settings) = (SimulationSettings::default(), CheckSettings::default());
        check_scene(&model, &state, &simulation, law, &Controls::none(), 20, &settings).unwrap()
    }

    #[test]
    fn the_derivatives_of_a_body_on_a_spring_are_right() {
        let report = check(0.05, &Spring { wrong: false, corner: false });
        // Twelve directions of the state, ten numbers of the mass properties, gravity; no geometry
        // uses the material.
        assert_eq!(report.rows.len(), 25 * 24);
        assert!(report.passed(), "{report}");
        assert!(report.count(Verdict::Ok) > 100, "{report}");
        assert_eq!(report.count(Verdict::Kink), 0, "{report}");
    }

    #[test]
    fn a_derivative_that_was_dropped_is_found() {
        let report = check(0.05, &Spring { wrong: true, corner: false });
        assert!(!report.passed());
        let wrong = report.rows.iter().filter(|r| r.comparison.verdict == Verdict::Wrong);
        assert!(
            wrong.clone().any(|r| r.input == "block.pz" && r.quantity == "velocity of block after one step")
        );
        assert!(wrong.clone().all(|r| r.input != "block.px"), "{report}");
    }

    #[test]
    fn a_kink_at_the_initial_state_is_named() {
        let report = check(0.0, &Spring { wrong: false, corner: true });
        assert!(report.passed(), "{report}");
        let kinks: Vec<_> =
            report.rows.iter().filter(|r| r.comparison.verdict == Verdict::Kink).map(|r| &*r.input).collect();
        assert!(kinks.contains(&"block.pz"), "{report}");
    }
}
