//! The numbers that a simulation can be differentiated with respect to.

use std::sync::Arc;

use nalgebra::Vector3;

use super::mass::MassError;
use super::model::{Body, BodyGeometry, Model, Motion, unit_parts};
use super::state::{State, TANGENT_DIMENSION};
use crate::contact::ContactGeometry;
use crate::field::{FieldError, PressureField, RigidSurface};
use crate::geometry::{SurfaceMesh, VolumeMesh};
use crate::scalar::Scalar;

/// Names of the tangent directions of a free body, in their order.
pub const TANGENT_NAMES: [&str; TANGENT_DIMENSION] =
    ["rx", "ry", "rz", "px", "py", "pz", "wx", "wy", "wz", "vx", "vy", "vz"];

/// A number that goes into a simulation, by the place of its body or material in the
/// [`Model`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Input {
    /// A move of a free body's initial state along one direction of its tangent space (see
    /// [`TANGENT_DIMENSION`]). Its value is 0.
    InitialTangent {
        /// The body.
        body: usize,
        /// The direction, 0 to 11.
        index: usize,
    },
    /// The hydroelastic modulus of a material, Pa.
    HydroelasticModulus {
        /// The material.
        material: usize,
    },
    /// The dissipation of a material, s/m (s in the strain-rate form).
    Dissipation {
        /// The material.
        material: usize,
    },
    /// The coefficient of static friction of a material.
    StaticFriction {
        /// The material.
        material: usize,
    },
    /// The coefficient of dynamic friction of a material.
    DynamicFriction {
        /// The material.
        material: usize,
    },
    /// The mass of a free body, kg, at the size that its geometries have in the model. An inertia
    /// that was given stays as it is, one that comes from the geometries stays proportional to
    /// the mass.
    Mass {
        /// The body.
        body: usize,
    },
    /// A factor on the size of a geometry about the origin of its own frame (on the thickness
    /// of a half-space); its value is 1. Extents stay as they are at the vertices. Mass, centre
    /// of mass and inertia follow where they come from the geometry: with a density mass grows
    /// with the cube and inertia with the fifth power; with a mass that is given inertia grows
    /// with the square; where inertia is given too, nothing follows.
    GeometryScale {
        /// The body.
        body: usize,
        /// The geometry in [`Body::geometries`].
        geometry: usize,
    },
}

/// Why a model could not be made from values of its inputs.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum InputError {
    /// There is no such body, material, geometry or direction.
    #[error("the model has no input {0:?}")]
    NoSuchInput(Input),
    /// A value is out of its range.
    #[error("{name} is {value}; it must be {allowed}")]
    Value {
        /// Name of the input.
        name: String,
        /// The value.
        value: f64,
        /// What is allowed.
        allowed: &'static str,
    },
    /// The mass properties cannot be made.
    #[error("body `{body}`: {source}")]
    Mass {
        /// Name of the body.
        body: String,
        /// What is wrong.
        source: MassError,
    },
    /// A pressure field cannot be made.
    #[error("{name}: {source}")]
    Field {
        /// Name of the input.
        name: String,
        /// What is wrong.
        source: FieldError,
    },
}

impl Input {
    /// A name that tells the inputs of a model apart, such as `ball.vz` or
    /// `foam.hydroelastic_modulus`.
    pub fn name(&self, model: &Model) -> String {
        let body = |i: usize| model.bodies.get(i).map_or("?", |b| b.name.as_str());
        let material = |i: usize| model.materials.get(i).map_or("?", |m| m.name.as_str());
        match *self {
            Self::InitialTangent { body: b, index } => {
                format!("{}.{}", body(b), TANGENT_NAMES.get(index).unwrap_or(&"?"))
            }
            Self::HydroelasticModulus { material: m } => format!("{}.hydroelastic_modulus", material(m)),
            Self::Dissipation { material: m } => format!("{}.dissipation", material(m)),
            Self::StaticFriction { material: m } => format!("{}.static_friction", material(m)),
            Self::DynamicFriction { material: m } => format!("{}.dynamic_friction", material(m)),
            Self::Mass { body: b } => format!("{}.mass", body(b)),
            Self::GeometryScale { body: b, geometry } => {
                format!("{}.geometries[{geometry}].scale", body(b))
            }
        }
    }

    /// The value that the input has in a model: 0 for directions of the initial state, 1 for
    /// scales.
    ///
    /// # Errors
    /// When the model has no such input.
    pub fn value(&self, model: &Model) -> Result<f64, InputError> {
        let missing = || InputError::NoSuchInput(*self);
        let material = |i: usize| model.materials.get(i).map(|m| &m.material).ok_or_else(missing);
        match *self {
            Self::InitialTangent { body, index } => {
                let exists = model.free_index(body).is_some() && index < TANGENT_DIMENSION;
                exists.then_some(0.0).ok_or_else(missing)
            }
            Self::HydroelasticModulus { material: m } => Ok(material(m)?.hydroelastic_modulus),
            Self::Dissipation { material: m } => Ok(material(m)?.dissipation),
            Self::StaticFriction { material: m } => Ok(material(m)?.static_friction),
            Self::DynamicFriction { material: m } => Ok(material(m)?.dynamic_friction),
            Self::Mass { body } => Ok(model.bodies.get(body).and_then(Body::mass).ok_or_else(missing)?.mass),
            Self::GeometryScale { body, geometry } => {
                let geometries = model.bodies.get(body).map(|b| &b.geometries);
                geometries.and_then(|g| g.get(geometry)).map(|_| 1.0).ok_or_else(missing)
            }
        }
    }

    /// Checks that a value makes sense for the input.
    fn check(&self, model: &Model, value: f64) -> Result<(), InputError> {
        let (good, allowed) = match self {
            Self::InitialTangent { .. } => (true, "finite"),
            Self::HydroelasticModulus { .. } | Self::Mass { .. } | Self::GeometryScale { .. } => {
                (value > 0.0, "positive and finite")
            }
            Self::Dissipation { .. } | Self::StaticFriction { .. } | Self::DynamicFriction { .. } => {
                (value >= 0.0, "at least 0 and finite")
            }
        };
        if good && value.is_finite() {
            Ok(())
        } else {
            Err(InputError::Value { name: self.name(model), value, allowed })
        }
    }
}

/// Every input of a model that can matter: the initial tangent and mass of every free body, the
/// parameters of every material that a geometry uses, and the size of every geometry but those
/// that have none (rigid half-spaces).
pub fn all_inputs(model: &Model) -> Vec<Input> {
    let mut inputs = Vec::new();
    for (body, _, _) in model.free_bodies() {
        inputs.extend((0..TANGENT_DIMENSION).map(|index| Input::InitialTangent { body, index }));
    }
    let geometries = || model.bodies.iter().flat_map(|b| &b.geometries);
    for material in 0..model.materials.len() {
        let uses = |g: &BodyGeometry| g.material == Some(material);
        if geometries().any(|g| uses(g) && !g.collider.geometry.is_rigid()) {
            inputs.extend([Input::HydroelasticModulus { material }, Input::Dissipation { material }]);
        }
        if geometries().any(uses) {
            inputs.extend([Input::StaticFriction { material }, Input::DynamicFriction { material }]);
        }
    }
    inputs.extend(model.free_bodies().map(|(body, _, _)| Input::Mass { body }));
    for (body, b) in model.bodies.iter().enumerate() {
        let sized = b.geometries.iter().enumerate();
        let sized = sized.filter(|(_, g)| !matches!(*g.collider.geometry, ContactGeometry::RigidHalfSpace));
        inputs.extend(sized.map(|(geometry, _)| Input::GeometryScale { body, geometry }));
    }
    inputs
}

/// The model and the state with some inputs set to values in a scalar `T`, so that everything
/// computed from them carries the values' derivatives. With `f64` it evaluates at other values.
///
/// Inputs that are not listed keep the values they have in `model` and `state`, as constants.
/// An input listed twice takes the last value, except that moves of the initial state in
/// different directions are made together.
///
/// # Errors
/// When the model has no such input, a value is out of its range, or the mass properties or a
/// pressure field cannot be made with it.
pub fn seeded<T: Scalar>(
    model: &Model,
    state: &State,
    values: &[(Input, T)],
) -> Result<(Model<T>, State<T>), InputError> {
    let mut out = Model::<T>::lift(model);
    let mut tangent = vec![T::from(0.0); state.tangent_dimension()];
    let mut remass = vec![false; model.bodies.len()];
    for &(input, value) in values {
        input.value(model)?;
        input.check(model, value.real())?;
        match input {
            Input::InitialTangent { body, index } => {
                let free = model.free_index(body).ok_or(InputError::NoSuchInput(input))?;
                tangent[free * TANGENT_DIMENSION + index] = value;
            }
            Input::HydroelasticModulus { material } => {
                out.materials[material].material.hydroelastic_modulus = value;
            }
            Input::Dissipation { material } => out.materials[material].material.dissipation = value,
            Input::StaticFriction { material } => out.materials[material].material.static_friction = value,
            Input::DynamicFriction { material } => {
                out.materials[material].material.dynamic_friction = value;
            }
            Input::Mass { body } => {
                let present = input.value(model)?;
                if let Motion::Free { source, .. } = &mut out.bodies[body].motion {
                    *source = source.with_mass(present, value);
                }
                remass[body] = true;
            }
            Input::GeometryScale { body, geometry } => {
                let original = &model.bodies[body].geometries[geometry];
                out.bodies[body].geometries[geometry] = enlarged(original, value)
                    .map_err(|source| InputError::Field { name: input.name(model), source })?;
                remass[body] = true;
            }
        }
    }
    let Model { bodies, materials, .. } = &mut out;
    for (body, remass) in bodies.iter_mut().zip(remass) {
        for geometry in &mut body.geometries {
            if let Some(material) = geometry.material {
                geometry.collider.material = materials[material].material;
            }
        }
        let Body { name, motion, geometries } = body;
        if let (true, Motion::Free { source, mass, .. }) = (remass, motion) {
            *mass = source
                .resolve(unit_parts(geometries))
                .map_err(|source| InputError::Mass { body: name.clone(), source })?;
        }
    }
    Ok((out, State::lift(state).moved(&tangent)))
}

/// A geometry enlarged by a factor about the origin of its frame.
fn enlarged<T: Scalar>(original: &BodyGeometry, scale: T) -> Result<BodyGeometry<T>, FieldError> {
    let mut out = BodyGeometry::<T>::lift(original);
    let factor = scale.real();
    let has_derivatives = T::NDERIV > 0;
    out.unit_mass = out.unit_mass.map(|m| m.enlarged(scale));
    let larger = |vertices: &[Vector3<f64>]| vertices.iter().map(|v| v * factor).collect::<Vec<_>>();
    let vertices: &[Vector3<f64>] = match &*original.collider.geometry {
        ContactGeometry::Compliant(field) => {
            let mesh = field.mesh();
            if factor != 1.0 {
                let vertices = larger(&mesh.vertices);
                let mesh = VolumeMesh { vertices, tetrahedra: mesh.tetrahedra.clone() };
                let field = PressureField::new(mesh, field.extent().to_vec())?;
                out.collider.geometry = Arc::new(ContactGeometry::Compliant(field));
            }
            &mesh.vertices
        }
        ContactGeometry::Rigid(surface) => {
            let mesh = surface.mesh();
            if factor != 1.0 {
                let vertices = larger(&mesh.vertices);
                let mesh = SurfaceMesh { vertices, triangles: mesh.triangles.clone() };
                out.collider.geometry = Arc::new(ContactGeometry::Rigid(RigidSurface::new(mesh)));
            }
            &mesh.vertices
        }
        ContactGeometry::CompliantHalfSpace | ContactGeometry::RigidHalfSpace => {
            out.collider.thickness *= scale;
            &[]
        }
    };
    if has_derivatives && !vertices.is_empty() {
        out.collider.vertices = Some(vertices.iter().map(|v| v.map(|x| scale * x)).collect());
    }
    Ok(out)
}
