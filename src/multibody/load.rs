//! Loads on bodies: forces and torques whose sizes are control values.

use nalgebra::Vector3;

use super::applied_forces::AppliedForces;
use super::force_dependence::ForceDependence;
use super::force_values::Forces;
use super::model::Model;
use super::model_error::ModelError;
use super::state::State;
use crate::scalar::{Scalar, lift_vector};
use crate::spatial::SpatialForce;

/// The axes that the direction of a load is given in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadFrame {
    /// Those of W: the direction stays as the body turns.
    #[default]
    World,
    /// Those of the body: the direction turns with it.
    Body,
}

/// What a load is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadKind {
    /// A force at a point of the body, given in its frame (m); its control value is in N.
    Force {
        /// Where it acts, in the body's frame.
        point: Vector3<f64>,
    },
    /// A torque; its control value is in N m.
    Torque,
}

/// A load on a free body, whose size is one control value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyLoad {
    /// The body in [`Model::bodies`].
    pub body: usize,
    /// What it is.
    pub kind: LoadKind,
    /// Its direction; the control value is multiplied by it, whatever its length.
    pub direction: Vector3<f64>,
    /// The axes of the direction.
    pub frame: LoadFrame,
}

/// Loads on free bodies, as [`AppliedForces`] with a control value each, in their order: constant over a step, and
/// between steps whatever controls are, such as knots, recordings and functions of time. They work with every kind of
/// step, and derivatives with respect to control values are those with respect to the loads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BodyLoads {
    loads: Vec<BodyLoad>,
    /// For each load the index of its body among the free ones.
    free: Vec<usize>,
}

impl BodyLoads {
    /// Loads on bodies of a model.
    ///
    /// # Errors
    /// When a body is not a free body of the model, or a point or a direction is not finite.
    pub fn new(model: &Model, loads: Vec<BodyLoad>) -> Result<Self, ModelError> {
        let mut free = Vec::with_capacity(loads.len());
        for (index, load) in loads.iter().enumerate() {
            let bad = |what: &'static str| ModelError::Load { index, what };
            free.push(model.free_index(load.body).ok_or_else(|| bad("acts on no free body"))?);
            let finite = |v: &Vector3<f64>| v.iter().all(|x| x.is_finite());
            let point = match load.kind {
                LoadKind::Force { point } => point,
                LoadKind::Torque => Vector3::zeros(),
            };
            if !(finite(&load.direction) && finite(&point)) {
                return Err(bad("has a direction or a point that is not finite"));
            }
        }
        Ok(Self { loads, free })
    }

    /// The loads, in the order of their control values.
    pub fn loads(&self) -> &[BodyLoad] {
        &self.loads
    }
}

impl AppliedForces for BodyLoads {
    fn control_dimension(&self) -> usize {
        self.loads.len()
    }

    fn apply<T: Scalar>(&self, _: &Model<T>, state: &State<T>, _: f64, sizes: &[T], forces: &mut Forces<T>) {
        for ((load, &free), &size) in self.loads.iter().zip(&self.free).zip(sizes) {
            let rotation = state.bodies[free].orientation.to_matrix();
            let direction = match load.frame {
                LoadFrame::World => lift_vector(&load.direction),
                LoadFrame::Body => rotation * lift_vector::<T>(&load.direction),
            };
            let push = direction * size;
            forces.bodies[free] += match load.kind {
                LoadKind::Torque => SpatialForce::new(push, Vector3::from_element(T::from(0.0))),
                LoadKind::Force { point } => {
                    let arm = rotation * lift_vector::<T>(&point);
                    SpatialForce::new(arm.cross(&push), push)
                }
            };
        }
    }

    fn dependence(&self) -> ForceDependence {
        ForceDependence { model: false, ..ForceDependence::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multibody::{Body, BodyState, MassProperties, MassSource, ModelBuilder};
    use crate::spatial::{RigidTransform, rotation_exponential};
    use crate::step::{Integrator, StepProblem, StepWorkspace};
    use nalgebra::Matrix3;

    #[test]
    fn loads_accelerate_as_forces_and_torques_do() {
        let mass =
            MassProperties { mass: 2.0, center_of_mass: Vector3::zeros(), inertia: Matrix3::identity() };
        let body = Body::free("body", MassSource::Given(mass), vec![]).expect("a body");
        let gravity = Vector3::zeros();
        let model =
            ModelBuilder { bodies: vec![body], gravity, ..Default::default() }.build().expect("a model");
        let turn = rotation_exponential(&Vector3::new(0.0, 0.0, std::f64::consts::FRAC_PI_2));
        let state = State::of_bodies(vec![BodyState::at_rest(&RigidTransform::new(turn, Vector3::x()))]);
        let load = |kind, frame| BodyLoad { body: 0, kind, direction: Vector3::x(), frame };
        let loads = BodyLoads::new(
            &model,
            vec![
                load(LoadKind::Force { point: Vector3::new(0.0, 0.3, 0.0) }, LoadFrame::Body),
                load(LoadKind::Force { point: Vector3::zeros() }, LoadFrame::World),
                load(LoadKind::Torque, LoadFrame::World),
            ],
        )
        .expect("loads");
        let control = [4.0, 6.0, 0.5];
        let problem =
            StepProblem { control: &control, ..StepProblem::new(&model, &state, 0.01) }.under(&loads);
        let after =
            Integrator::SemiImplicitEuler.step(&problem, &mut StepWorkspace::default()).expect("a step");
        // The body's x axis is W's y axis, and its y axis W's −x axis.
        let v = after.bodies[0].velocity;
        assert!((v.translational - Vector3::new(3.0, 2.0, 0.0) * 0.01).norm() < 1e-15);
        assert!((v.rotational - Vector3::new(0.5, 0.0, -1.2) * 0.01).norm() < 1e-15, "{}", v.rotational);
        let wrong = BodyLoads::new(&model, vec![BodyLoad { body: 1, ..loads.loads()[0] }]);
        assert_eq!(wrong, Err(ModelError::Load { index: 0, what: "acts on no free body" }));
    }
}
