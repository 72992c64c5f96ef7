//! The functions that vanish at events, in any scalar, and their derivatives.

use nalgebra::Vector3;

use super::features::{Face, Features, Placed};
use crate::multibody::{
    BodyFrame, DIRECTIONS, GeometryPair, JointKinematics, Model, Parameter, ParameterError, SEEDS,
    SeededModel, State, for_each_tangent_chunk, seeded_models,
};
use crate::scalar::{DualArray, Scalar};

/// Units in the last place by which a function may be off.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// A function of the state that vanishes at an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum EventFunction {
    /// The gap between two features of geometries, m; positive while they are apart.
    Gap { pair: GeometryPair, features: Features },
    /// The velocity of a body's origin along a unit vector of W, m/s.
    Speed { body: usize, direction: Vector3<f64> },
}

impl EventFunction {
    /// Its value with the bodies at `frames`; 0 where features have no normal.
    pub fn at<T: Scalar>(&self, model: &Model<T>, frames: &[BodyFrame<T>]) -> T {
        match self {
            Self::Gap { pair, features } => {
                Placed::new(model, frames, pair).gap(features).unwrap_or(T::from(0.0))
            }
            Self::Speed { body, direction } => {
                frames[*body].velocity.translational.dot(&direction.map(T::from))
            }
        }
    }

    /// Its value at a state.
    pub fn at_state<T: Scalar>(&self, model: &Model<T>, state: &State<T>) -> T {
        let mut frames = Vec::new();
        model.update_frames(state, &mut frames, &mut JointKinematics::default());
        self.at(model, &frames)
    }

    /// How much of its value may be rounding.
    pub fn rounding(&self, model: &Model, frames: &[BodyFrame]) -> f64 {
        ROUNDING
            * match self {
                Self::Gap { pair, features } => Placed::new(model, frames, pair).reach(features),
                Self::Speed { body, .. } => frames[*body].velocity.translational.amax(),
            }
    }

    /// Its derivatives with respect to the state in its tangent space.
    pub fn by_state(&self, model: &Model, state: &State) -> Vec<f64> {
        let lifted = Model::<DualArray<DIRECTIONS>>::lift(model);
        let mut by = vec![0.0; state.tangent_dimension()];
        for_each_tangent_chunk(state, &mut State::default(), &mut |state, directions| {
            let along = self.at_state(&lifted, state).eps;
            by[directions].iter_mut().zip(along).for_each(|(out, x)| *out = x);
        });
        by
    }

    /// Its derivatives with respect to parameters of the model while the state stays, in their order: those that
    /// move the features on their bodies or in W, or joints.
    pub fn by_parameters(
        &self,
        model: &Model,
        state: &State,
        parameters: &[Parameter],
    ) -> Result<Vec<f64>, ParameterError> {
        let mut by = vec![0.0; parameters.len()];
        for SeededModel { columns, model } in
            seeded_models::<SEEDS>(model, parameters, |parameter| self.follows(parameter))?
        {
            let along = self.at_state(&model, &State::lift(state)).eps;
            columns.iter().zip(along).for_each(|(&i, x)| by[i] = x);
        }
        Ok(by)
    }

    /// Whether the function depends on a parameter of the model directly.
    fn follows(&self, parameter: &Parameter) -> bool {
        // Frames and velocities of links at a state follow where joints are.
        if matches!(parameter, Parameter::JointFrame { .. } | Parameter::JointAxis { .. }) {
            return true;
        }
        let Self::Gap { pair, features } = self else { return false };
        let side = |wanted: (usize, usize)| pair.geometries().iter().position(|own| *own == wanted);
        match *parameter {
            Parameter::GeometryScale { body, geometry } | Parameter::GeometryPose { body, geometry, .. } => {
                side((body, geometry)).is_some()
            }
            Parameter::FixedPose { body, .. } => pair.geometries().iter().any(|own| own.0 == body),
            Parameter::MeshVertex { body, geometry, vertex, .. } => {
                side((body, geometry)).is_some_and(|side| features.has_vertex(side, vertex))
            }
            _ => false,
        }
    }
}

impl Features {
    /// Whether a vertex of the mesh of A (side 0) or of B (side 1) is one of theirs.
    fn has_vertex(&self, side: usize, vertex: usize) -> bool {
        let is = |k: &u32| *k as usize == vertex;
        let of_face = |face: &Face| matches!(face, Face::Triangle(corners) if corners.iter().any(is));
        match (self, side) {
            (Self::VertexOfA { vertex, .. }, 0) | (Self::VertexOfB { vertex, .. }, 1) => is(vertex),
            (Self::VertexOfA { face, .. }, _) | (Self::VertexOfB { face, .. }, _) => of_face(face),
            (Self::Edges { of_a, .. }, 0) => of_a.iter().any(is),
            (Self::Edges { of_b, .. }, _) => of_b.iter().any(is),
        }
    }
}
