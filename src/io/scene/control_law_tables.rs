//! From the law of a controller table to the law: what the names stand for, and that there are as many numbers as it takes.

use nalgebra::{DMatrix, Vector3};

use crate::io::document::field_path::FieldPath;
use crate::io::file_error::Problem;
use crate::io::scene::body_tables::{Range, number, vector};
use crate::io::scene::controller_schema::{
    CommandedTable, FeedbackStageTable, GripForceTable, KnotsLawTable, LawTable, LinearFeedbackTable,
    MeasuredBodyTable, MeasuredJointTable, NetworkInputTable, NeuralNetworkTable, PidTable, SlipReflexTable,
    SlipTable,
};
use crate::io::scene::named::named;
use crate::io::scene::quantity_schema::BodyPairTable;
use crate::io::scene::quantity_tables::{ANGULAR_VELOCITY, Of, POSITION, VELOCITY, body, contact, other};
use crate::multibody::{Actuator, BodyPair, BodyState, Drive, Model, State};
use crate::rollout::{
    ControlKnots, ControlLaw, FeedbackStage, GripForce, KnotFeedback, KnotInterpolation, KnotLaw,
    NetworkInput, NeuralNetwork, Output, Pid, Quantity, SensorNoise, SimulationError, SlipReflex, SlipSense,
};
use crate::spatial::{Quaternion, SpatialVelocity};

/// Finds what names stand for.
pub(super) struct LawTables<'m> {
    /// What the names are of.
    pub model: &'m Model,
}

impl LawTables<'_> {
    /// The law of a table, which is completed.
    pub fn law(&self, t: &mut LawTable, field: &FieldPath) -> Result<ControlLaw, Problem> {
        match t {
            LawTable::Knots(t) => self.knots(t, &field.key("knots")).map(ControlLaw::Knots),
            LawTable::Pid(t) => self.pid(t, &field.key("pid")).map(ControlLaw::Pid),
            LawTable::GripForce(t) => self.grip_force(t, &field.key("grip_force")).map(ControlLaw::GripForce),
            LawTable::SlipReflex(t) => {
                self.slip_reflex(t, &field.key("slip_reflex")).map(ControlLaw::SlipReflex)
            }
            LawTable::LinearFeedback(t) => {
                self.linear_feedback(t, &field.key("linear_feedback")).map(ControlLaw::KnotFeedback)
            }
            LawTable::NeuralNetwork(t) => {
                self.network(t, &field.key("neural_network")).map(ControlLaw::NeuralNetwork)
            }
        }
    }

    fn actuator(&self, name: &str, field: &FieldPath) -> Result<usize, Problem> {
        named(self.model.actuators.iter().map(|a| a.name.as_str()), "actuator", name, field)
    }

    fn actuators(&self, names: &[String], field: &FieldPath) -> Result<Vec<usize>, Problem> {
        at_least_one(names, "actuator", field)?;
        let found = names.iter().enumerate().map(|(i, name)| self.actuator(name, &field.index(i)));
        let found = found.collect::<Result<Vec<_>, _>>()?;
        not_twice(&found, field)?;
        Ok(found)
    }

    fn output(&self, commanded: &[CommandedTable], field: &FieldPath) -> Result<Output, Problem> {
        at_least_one(commanded, "actuator", field)?;
        let mut found = Vec::new();
        for (i, t) in commanded.iter().enumerate() {
            let here = field.index(i);
            found.push(match t {
                CommandedTable::Name(name) => (self.actuator(name, &here)?, 1.0),
                CommandedTable::Table(t) => {
                    let ratio = number(t.ratio, Range::Finite, &here.key("ratio"))?;
                    (self.actuator(&t.actuator, &here.key("actuator"))?, ratio)
                }
            });
        }
        not_twice(&found.iter().map(|(index, _)| *index).collect::<Vec<_>>(), field)?;
        Ok(Output::new(found))
    }

    fn contact(&self, t: &BodyPairTable, field: &FieldPath) -> Result<(usize, usize), Problem> {
        let pair = contact(self.model, t, field)?;
        self.check_touching(pair, field)?;
        Ok(pair)
    }

    fn check_touching(&self, (on, from): (usize, usize), field: &FieldPath) -> Result<(), Problem> {
        if self.model.pairs_of(BodyPair::of(on, from)).next().is_some() {
            return Ok(());
        }
        let [on, from] = [on, from].map(|body| &self.model.bodies[body].name);
        let message = format!("found `{on}` and `{from}`, which cannot touch in this scene");
        Err(Problem::new(field.clone(), message))
    }

    fn contacts(&self, t: &[BodyPairTable], field: &FieldPath) -> Result<Vec<(usize, usize)>, Problem> {
        at_least_one(t, "contact", field)?;
        t.iter().enumerate().map(|(i, t)| self.contact(t, &field.index(i))).collect()
    }

    /// The indices of a joint's coordinate in configuration and velocity.
    fn joint(&self, t: &MeasuredJointTable, field: &FieldPath) -> Result<(usize, usize), Problem> {
        let mechanism = &self.model.mechanism;
        named(mechanism.joints().iter().map(|j| j.name.as_str()), "joint", &t.joint, &field.key("joint"))?;
        // What can be driven can be measured.
        let driven =
            Actuator::new("", mechanism, &[(&t.joint, t.coordinate, 1.0)], Drive::Force, f64::INFINITY);
        match driven.as_ref().map(Actuator::coordinates) {
            Ok([at]) => Ok((at.q, at.v)),
            _ => {
                let message = format!(
                    "found {}; joint `{}` has no such coordinate, or none whose configuration is a sum of moves",
                    t.coordinate, t.joint
                );
                Err(Problem::new(field.key("coordinate"), message))
            }
        }
    }

    fn knots(&self, t: &KnotsLawTable, field: &FieldPath) -> Result<KnotLaw, Problem> {
        let controls = self.actuators(&t.actuators, &field.key("actuators"))?;
        let knots = knots(t.interpolation.kind(), &t.times, &field.key("times"))?;
        let count = knots.times().len() * controls.len();
        numbers(&t.values, count, "a number for each actuator at each knot", &field.key("values"))?;
        Ok(KnotLaw { knots, controls })
    }

    fn pid(&self, t: &PidTable, field: &FieldPath) -> Result<Pid, Problem> {
        let (observed, axis) = match (&t.joint, &t.position, &t.rotation) {
            (Some(joint), None, None) => {
                let (q, v) = self.joint(joint, &field.key("joint"))?;
                ([Quantity::JointPosition { index: q }, Quantity::JointVelocity { index: v }], Vector3::x())
            }
            (None, Some(of), None) => {
                let (body, relative_to, axis) = self.measured_body(of, &field.key("position"))?;
                ([POSITION(body, relative_to), VELOCITY(body, relative_to)], axis)
            }
            (None, None, Some(of)) => {
                let (body, relative_to, axis) = self.measured_body(of, &field.key("rotation"))?;
                let target = Quaternion::identity();
                let rotation = Quantity::Orientation { body, relative_to, target };
                ([rotation, ANGULAR_VELOCITY(body, relative_to)], axis)
            }
            _ => {
                let message = "exactly one of `joint`, `position` and `rotation` must be given";
                return Err(Problem::new(field.clone(), message));
            }
        };
        for (key, gain) in
            [("proportional", t.proportional), ("integral", t.integral), ("derivative", t.derivative)]
        {
            number(gain, Range::Finite, &field.key(key))?;
        }
        let target = target(&t.target, &t.target_times, "target", field)?;
        Ok(Pid::new(observed, axis, target, self.output(&t.actuators, &field.key("actuators"))?))
    }

    fn measured_body(
        &self,
        t: &MeasuredBodyTable,
        field: &FieldPath,
    ) -> Result<(usize, Option<usize>, Vector3<f64>), Problem> {
        let body = body(self.model, &t.body, &field.key("body"))?;
        let other = other(self.model, &t.relative_to, field)?;
        let axis = vector(t.axis, Range::Finite, &field.key("axis"))?;
        match axis.try_normalize(0.0) {
            Some(axis) => Ok((body, other, axis)),
            None => Err(Problem::new(field.key("axis"), "found zeros; an axis has a direction")),
        }
    }

    fn slip(
        &self,
        t: &SlipTable,
        contacts: &[(usize, usize)],
        field: &FieldPath,
    ) -> Result<SlipSense, Problem> {
        number(t.gain, Range::Finite, &field.key("gain"))?;
        number(t.release, Range::AtLeastZero, &field.key("release"))?;
        let threshold = number(t.threshold, Range::Positive, &field.key("threshold"))?;
        let force = number(t.force, Range::Positive, &field.key("force"))?;
        let from = number(t.from, Range::AtLeastZero, &field.key("from"))?;
        Ok(SlipSense { contacts: contacts.to_vec(), threshold, force, from })
    }

    fn grip_force(&self, t: &GripForceTable, field: &FieldPath) -> Result<GripForce, Problem> {
        let contacts = self.contacts(&t.contacts, &field.key("contacts"))?;
        let set_point = target(t.set_point.values(), &t.set_point_times, "set_point", field)?;
        for (key, gain) in
            [("proportional", t.proportional), ("integral", t.integral), ("feedforward", t.feedforward)]
        {
            number(gain, Range::Finite, &field.key(key))?;
        }
        let slip = t.slip.as_ref().map(|slip| self.slip(slip, &contacts, &field.key("slip"))).transpose()?;
        Ok(GripForce::new(&contacts, set_point, slip, self.output(&t.actuators, &field.key("actuators"))?))
    }

    fn slip_reflex(&self, t: &SlipReflexTable, field: &FieldPath) -> Result<SlipReflex, Problem> {
        let contacts = self.contacts(&t.contacts, &field.key("contacts"))?;
        let sense = self.slip(&t.slip, &contacts, &field.key("slip"))?;
        Ok(SlipReflex::new(sense, self.output(&t.actuators, &field.key("actuators"))?))
    }

    fn linear_feedback(&self, t: &LinearFeedbackTable, field: &FieldPath) -> Result<KnotFeedback, Problem> {
        let controls = self.actuators(&t.actuators, &field.key("actuators"))?;
        let knots = knots(t.interpolation.kind(), &t.times, &field.key("times"))?;
        let bound = |given: &[f64], none: f64, key: &str| {
            if given.is_empty() {
                return Ok(vec![none; controls.len()]);
            }
            numbers(given, controls.len(), "a number for each actuator", &field.key(key))?;
            Ok(given.to_vec())
        };
        let lower = bound(&t.lower, f64::NEG_INFINITY, "lower")?;
        let upper = bound(&t.upper, f64::INFINITY, "upper")?;
        let bounds = lower.into_iter().zip(upper).map(|(lower, upper)| [lower, upper]).collect();
        let here = field.key("stages");
        let stages = t.stages.iter().enumerate();
        let stages = stages.map(|(i, stage)| self.stage(stage, controls.len(), &here.index(i)));
        let stages = stages.collect::<Result<Vec<_>, _>>()?;
        KnotFeedback::new(knots, stages, bounds, controls).ok_or_else(|| {
            let message = format!(
                "found {} stages for {} knots; there must be one for each knot, at times that do not decrease, and \
                 rows of gains all as long as the state's tangent and the values at the same number of knots before",
                t.stages.len(),
                t.times.len()
            );
            Problem::new(here.clone(), message)
        })
    }

    fn stage(
        &self,
        t: &FeedbackStageTable,
        controls: usize,
        field: &FieldPath,
    ) -> Result<FeedbackStage, Problem> {
        let time = number(t.time, Range::Finite, &field.key("time"))?;
        numbers(&t.values, controls, "a number for each actuator", &field.key("values"))?;
        let state = self.state(&t.state, &field.key("state"))?;
        let field = field.key("gains");
        let columns = t.gains.first().map_or(0, Vec::len);
        if t.gains.len() != controls {
            let message = format!("found {} rows; there must be one for each actuator", t.gains.len());
            return Err(Problem::new(field, message));
        }
        for (i, row) in t.gains.iter().enumerate() {
            numbers(row, columns, "rows of one length", &field.index(i))?;
        }
        let gains = DMatrix::from_row_iterator(controls, columns, t.gains.iter().flatten().copied());
        Ok(FeedbackStage { time, state, values: t.values.clone(), gains })
    }

    /// The state that numbers of a file are, without bristles.
    fn state(&self, x: &[f64], field: &FieldPath) -> Result<State, Problem> {
        const OF_BODY: usize = 13;
        let mechanism = &self.model.mechanism;
        let bodies = self.model.free_bodies().count() * OF_BODY;
        let (nq, nv) = (mechanism.configuration_dimension(), mechanism.velocity_dimension());
        numbers(x, bodies + nq + nv, "the numbers of the scene's state", field)?;
        let joints = mechanism.state(x[bodies..bodies + nq].to_vec(), x[bodies + nq..].to_vec());
        let body = |x: &[f64]| {
            let part = |i: usize| Vector3::new(x[i], x[i + 1], x[i + 2]);
            BodyState {
                orientation: Quaternion { w: x[0], v: part(1) },
                position: part(4),
                velocity: SpatialVelocity::new(part(7), part(10)),
            }
        };
        Ok(State::new(x[..bodies].chunks_exact(OF_BODY).map(body).collect(), joints))
    }

    fn network(&self, t: &mut NeuralNetworkTable, field: &FieldPath) -> Result<NeuralNetwork, Problem> {
        let here = field.key("inputs");
        at_least_one(&t.inputs, "input", &here)?;
        let inputs = t.inputs.iter().enumerate().map(|(i, input)| self.input(input, &here.index(i)));
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        let here = field.key("outputs");
        at_least_one(&t.outputs, "output", &here)?;
        let mut outputs = Vec::new();
        for (i, output) in t.outputs.iter().enumerate() {
            let here = here.index(i);
            let scale = number(output.scale, Range::Finite, &here.key("scale"))?;
            outputs.push((self.output(&output.actuators, &here.key("actuators"))?, scale));
        }
        if !(1..=1000).contains(&t.hidden) {
            let message = format!("found {}; it must be between 1 and 1000", t.hidden);
            return Err(Problem::new(field.key("hidden"), message));
        }
        let network = NeuralNetwork::new(&inputs, t.hidden, outputs);
        let [first, second, third, fourth] = network.layer_sizes();
        if t.hidden_weights.is_empty() {
            let inputs = first / t.hidden;
            // Small enough that tanh is not at its ends.
            let noise = SensorNoise { seed: t.seed, deviations: vec![(inputs as f64).sqrt().recip(); first] };
            t.hidden_weights = (0..first).map(|i| noise.error(0, i)).collect();
        }
        for (weights, count) in
            [(&mut t.hidden_offsets, second), (&mut t.output_weights, third), (&mut t.output_offsets, fourth)]
        {
            if weights.is_empty() {
                weights.resize(count, 0.0);
            }
        }
        for (key, weights, count) in [
            ("hidden_weights", &t.hidden_weights, first),
            ("hidden_offsets", &t.hidden_offsets, second),
            ("output_weights", &t.output_weights, third),
            ("output_offsets", &t.output_offsets, fourth),
        ] {
            numbers(weights, count, "as many as the layer has", &field.key(key))?;
        }
        Ok(network)
    }

    fn input(&self, t: &NetworkInputTable, field: &FieldPath) -> Result<NetworkInput, Problem> {
        let joint = |of: &Option<MeasuredJointTable>, key| {
            of.as_ref().map(|of| self.joint(of, &field.key(key))).transpose()
        };
        let position = joint(&t.joint_position, "joint_position")?;
        let velocity = joint(&t.joint_velocity, "joint_velocity")?;
        let mut found = Vec::new();
        found.extend(position.map(|(index, _)| Quantity::JointPosition { index }));
        found.extend(velocity.map(|(_, index)| Quantity::JointVelocity { index }));
        let given = [
            ("position", Of::body(&t.position, POSITION)),
            (
                "rotation",
                Of::body(&t.rotation, |body, relative_to| Quantity::Orientation {
                    body,
                    relative_to,
                    target: Quaternion::identity(),
                }),
            ),
            ("velocity", Of::body(&t.velocity, VELOCITY)),
            ("angular_velocity", Of::body(&t.angular_velocity, ANGULAR_VELOCITY)),
            (
                "contact_force",
                Of::contact(&t.contact_force, |on, from| Quantity::ContactForce {
                    on,
                    from,
                    expressed_in: Some(on),
                }),
            ),
            ("normal_force", Of::contact(&t.normal_force, |on, from| Quantity::NormalForce { on, from })),
            ("patch_area", Of::contact(&t.patch_area, |on, from| Quantity::ContactArea { on, from })),
            (
                "patch_centroid",
                Of::contact(&t.patch_centroid, |on, from| Quantity::ContactCentroid { on, from }),
            ),
            ("slip_velocity", Of::contact(&t.slip_velocity, |on, from| Quantity::SlipVelocity { on, from })),
        ];
        for (key, of) in given {
            if let Some(of) = of {
                let field = field.key(key);
                let (_, quantity) = of.read(self.model, &field)?;
                quantity.contact().map_or(Ok(()), |pair| self.check_touching(pair, &field))?;
                found.push(quantity);
            }
        }
        let offset = number(t.offset, Range::Finite, &field.key("offset"))?;
        let scale = number(t.scale.unwrap_or(1.0), Range::Positive, &field.key("scale"))?;
        match found.len() {
            1 => Ok(NetworkInput { observed: found.remove(0), offset, scale }),
            n => {
                let message =
                    format!("found {n} quantities; exactly one must be given, such as `normal_force`");
                Err(Problem::new(field.clone(), message))
            }
        }
    }
}

fn at_least_one<T>(given: &[T], what: &str, field: &FieldPath) -> Result<(), Problem> {
    match given.is_empty() {
        true => Err(Problem::new(field.clone(), format_args!("found none; at least one {what} is needed"))),
        false => Ok(()),
    }
}

fn not_twice(found: &[usize], field: &FieldPath) -> Result<(), Problem> {
    match (0..found.len()).find(|&i| found[..i].contains(&found[i])) {
        Some(i) => Err(Problem::new(field.index(i), "found an actuator twice; a law commands each once")),
        None => Ok(()),
    }
}

/// Checks that there are so many finite numbers.
fn numbers(given: &[f64], count: usize, allowed: &str, field: &FieldPath) -> Result<(), Problem> {
    if given.len() != count {
        let message = format!("found {} numbers; there must be {count}: {allowed}", given.len());
        return Err(Problem::new(field.clone(), message));
    }
    given.iter().enumerate().try_for_each(|(i, &x)| number(x, Range::Finite, &field.index(i)).map(drop))
}

/// The knots of a target or set point: a number for each of the times `KEY_times`, which is linear in between, or one
/// alone.
fn target(given: &[f64], times: &[f64], key: &str, table: &FieldPath) -> Result<ControlKnots, Problem> {
    let times_key = format!("{key}_times");
    let at = if times.is_empty() { &[0.0][..] } else { times };
    let found = knots(KnotInterpolation::Linear, at, &table.key(&times_key))?;
    let allowed = format!("a number for each of `{times_key}`, one alone without");
    numbers(given, at.len(), &allowed, &table.key(key))?;
    Ok(found)
}

fn knots(
    interpolation: KnotInterpolation,
    times: &[f64],
    field: &FieldPath,
) -> Result<ControlKnots, Problem> {
    ControlKnots::new(interpolation, times.to_vec()).map_err(|error| {
        let field = match error {
            SimulationError::KnotTimes { index, .. } | SimulationError::KnotSpacing { index, .. } => {
                field.index(index)
            }
            _ => field.clone(),
        };
        Problem::new(field, error)
    })
}
