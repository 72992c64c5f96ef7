//! Derivatives of one number by the numbers of a model, and from these by its inputs.

use nalgebra::Vector3;

use super::actuator::GainGradient;
use super::body::Motion;
use super::dynamics::BodyCotangent;
use super::force_dependence::ForceDependence;
use super::input::{Input, InputError};
use super::mass::MassSource;
use super::model::Model;
use super::seeding::seeded;
use super::state::{State, TANGENT_DIMENSION};
use super::tree::Mechanism;
use crate::contact::Material;
use crate::scalar::DualArray;
use crate::spatial::MassProperties;

/// Directions of state and control that one evaluation in dual numbers carries.
pub const DIRECTIONS: usize = TANGENT_DIMENSION;
/// Inputs that one evaluation in dual numbers carries.
pub const SEEDS: usize = 4;
/// Directions of the joints' configuration that one evaluation in dual numbers carries.
pub(crate) const JOINT_DIRECTIONS: usize = 4;

/// The derivatives of one number, such as a loss, by the numbers of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelGradient {
    /// By the parameters of each of [`Model::materials`].
    pub materials: Vec<Material>,
    /// By the mass properties of each moving body (see [`Model::moving_index`]); an inertia's elements are taken as nine
    /// independent numbers, and the derivative is symmetric. What passes through a velocity-level
    /// step is there only if masses or sizes are among the inputs.
    pub masses: Vec<MassProperties>,
    /// By the acceleration of gravity in W.
    pub gravity: Vector3<f64>,
    /// By the spring and the damping of each joint of the mechanism; what passes through SAP's
    /// regularization is there only if they are among the inputs.
    pub joints: Vec<GainGradient>,
    /// By the gains of each of [`Model::actuators`], 0 for those that it does not have.
    pub drives: Vec<GainGradient>,
    /// Whether masses of free bodies or sizes of geometries are among the inputs: those by masses
    /// take extra work in velocity-level steps.
    pub(crate) of_free_bodies: bool,
    /// Whether the masses of links are among the inputs: those by them take extra work.
    pub(crate) of_links: bool,
    /// Whether springs or dampings of joints are among the inputs.
    pub(crate) of_springs: bool,
    /// Whether gains of actuators are among the inputs: those by them take extra work.
    pub(crate) of_drives: bool,
    /// By each of [`DifferentiatedModel::inputs`], what does not pass through the numbers above:
    /// through the shapes of geometries, and through forces of the user that depend on the model.
    pub direct: Vec<f64>,
}

impl ModelGradient {
    /// No dependence on anything.
    pub fn zero(model: &DifferentiatedModel) -> Self {
        Self {
            materials: vec![Material::NONE; model.model.materials.len()],
            masses: vec![MassProperties::zero(); model.model.moving_count()],
            gravity: Vector3::zeros(),
            joints: vec![GainGradient::default(); model.model.mechanism.joints().len()],
            drives: vec![GainGradient::default(); model.model.actuators.len()],
            of_springs: model
                .inputs
                .iter()
                .any(|input| matches!(input, Input::JointDamping { .. } | Input::SpringStiffness { .. })),
            of_drives: model
                .inputs
                .iter()
                .any(|input| matches!(input, Input::DriveStiffness { .. } | Input::DriveDamping { .. })),
            of_links: model.asks_for_link_masses(),
            of_free_bodies: model.asks_for_free_masses(),
            direct: vec![0.0; model.inputs.len()],
        }
    }

    /// Becomes zero.
    pub(crate) fn clear(&mut self) {
        self.materials.fill(Material::NONE);
        self.masses.fill(MassProperties::zero());
        self.gravity = Vector3::zeros();
        self.joints.fill(GainGradient::default());
        self.drives.fill(GainGradient::default());
        self.direct.fill(0.0);
    }
}

/// Adds derivatives by mass properties.
pub(super) fn add_mass(to: &mut MassProperties, by: &MassProperties) {
    to.mass += by.mass;
    to.center_of_mass += by.center_of_mass;
    to.inertia += by.inertia;
}

impl ModelGradient {
    /// Adds the derivatives through the acceleration of a body, by its place among the free ones.
    pub fn add_body(&mut self, free: usize, by: &BodyCotangent) {
        add_mass(&mut self.masses[free], &by.mass);
        self.gravity += by.gravity;
    }
}

/// A model some of whose inputs carry derivatives.
#[derive(Clone, Debug)]
pub struct SeededModel {
    /// For each direction of the dual numbers the place of its input in
    /// [`DifferentiatedModel::inputs`]; at most [`SEEDS`].
    pub columns: Vec<usize>,
    /// The model.
    pub model: Model<DualArray<SEEDS>>,
}

/// A model with the inputs that it is differentiated by, and what that takes: made once, used by
/// every step.
///
/// The derivatives of contact by state and materials come from its local Jacobian, those of the
/// motion by masses and gravity in closed form: however many inputs there are, they cost the
/// same. Two kinds of dependence do not pass through these: that of contact on the size of
/// geometries, and that of the user's forces on the model (unless [`ForceDependence::model`]
/// denies it). Both are evaluated in dual numbers with [`SEEDS`] inputs at a time.
#[derive(Clone, Debug)]
pub struct DifferentiatedModel<'m> {
    model: &'m Model,
    inputs: Vec<Input>,
    sizes: Vec<SeededModel>,
    seen_by_forces: Vec<SeededModel>,
    constant: Option<Model<DualArray<DIRECTIONS>>>,
    constant_joints: Mechanism<DualArray<JOINT_DIRECTIONS>>,
}

impl<'m> DifferentiatedModel<'m> {
    /// A model to be differentiated by `inputs` while the user's forces depend on what
    /// `dependence` says and on `control_dimension` control values.
    ///
    /// # Errors
    /// When the model has no such input.
    pub fn new(
        model: &'m Model,
        inputs: &[Input],
        dependence: ForceDependence,
        control_dimension: usize,
    ) -> Result<Self, InputError> {
        for input in inputs {
            input.value(model)?;
        }
        let is_size = |input: &Input| matches!(input, Input::GeometryScale { .. });
        let is_initial =
            |input: &Input| matches!(input, Input::InitialTangent { .. } | Input::InitialJoint { .. });
        let seen = |input: &Input| dependence.model && !is_initial(input);
        let forces_have_derivatives = dependence.has_state() || control_dimension > 0;
        Ok(Self {
            model,
            inputs: inputs.to_vec(),
            sizes: seeded_models(model, inputs, is_size)?,
            seen_by_forces: seeded_models(model, inputs, seen)?,
            constant_joints: Mechanism::lift(&model.mechanism),
            constant: forces_have_derivatives.then(|| Model::lift(model)),
        })
    }

    /// The model.
    pub fn model(&self) -> &'m Model {
        self.model
    }

    /// The inputs.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// Whether the mass of a free body, or a size that it may come from, is among the inputs.
    pub(crate) fn asks_for_free_masses(&self) -> bool {
        self.inputs.iter().any(|input| match input.mass_of_body() {
            Some(body) => self.model.bodies[body].is_free(),
            None => matches!(input, Input::GeometryScale { .. }),
        })
    }

    /// Whether the mass of a link is among the inputs.
    pub(crate) fn asks_for_link_masses(&self) -> bool {
        let is_of_link = |body: usize| !self.model.bodies[body].is_free();
        self.inputs.iter().any(|input| input.mass_of_body().is_some_and(is_of_link))
    }

    /// The joints as constants, for derivatives by their configuration.
    pub(crate) fn constant_joints(&self) -> &Mechanism<DualArray<JOINT_DIRECTIONS>> {
        &self.constant_joints
    }

    /// Models that carry the derivatives by the inputs that are sizes of geometries.
    pub fn sizes(&self) -> &[SeededModel] {
        &self.sizes
    }

    /// Models that carry the derivatives by the inputs that the user's forces may depend on.
    pub(super) fn seen_by_forces(&self) -> &[SeededModel] {
        &self.seen_by_forces
    }

    /// The model as constants, if the user's forces depend on state or control.
    pub(super) fn constant(&self) -> Option<&Model<DualArray<DIRECTIONS>>> {
        self.constant.as_ref()
    }

    /// The derivatives by each of the inputs, from those by the model's numbers and by the
    /// initial state in its tangent space.
    pub fn by_inputs(&self, by_initial: &[f64], by_model: &ModelGradient) -> Vec<f64> {
        let mut gradient = by_model.direct.clone();
        for (value, input) in gradient.iter_mut().zip(&self.inputs) {
            *value += self.by_numbers(input, by_initial, by_model);
        }
        for SeededModel { columns, model } in &self.sizes {
            for ((_, _, mass), by_mass) in model.free_bodies().zip(&by_model.masses) {
                for (k, &column) in columns.iter().enumerate() {
                    gradient[column] += by_mass.mass * mass.mass.eps[k]
                        + by_mass.center_of_mass.dot(&mass.center_of_mass.map(|x| x.eps[k]))
                        + by_mass.inertia.dot(&mass.inertia.map(|x| x.eps[k]));
                }
            }
        }
        gradient
    }

    /// The derivative by one input through the numbers of the model that it sets; sizes of
    /// geometries aside.
    fn by_numbers(&self, input: &Input, by_initial: &[f64], by_model: &ModelGradient) -> f64 {
        let mass = |body: usize| self.model.moving_index(body).map(|i| &by_model.masses[i]);
        match *input {
            Input::InitialTangent { .. } | Input::InitialJoint { .. } => {
                input.initial_tangent(self.model).map_or(0.0, |i| by_initial[i])
            }
            Input::Material { material, parameter } => {
                by_model.materials[material].get(parameter).unwrap_or(0.0)
            }
            Input::Mass { body } => mass(body).map_or(0.0, |by| match &self.model.bodies[body].motion {
                Motion::Free { source: MassSource::Spread(_) | MassSource::Density(_), mass, .. } => {
                    // Inertia is proportional to the mass.
                    by.mass + by.inertia.dot(&mass.inertia) / mass.mass
                }
                _ => by.mass,
            }),
            Input::Inertia { body, row, column } => mass(body).map_or(0.0, |by| {
                let mirror = if row == column { 0.0 } else { by.inertia[(column, row)] };
                by.inertia[(row, column)] + mirror
            }),
            Input::CenterOfMass { body, axis } => mass(body).map_or(0.0, |by| by.center_of_mass[axis]),
            Input::Gravity { axis } => by_model.gravity[axis],
            Input::JointDamping { joint } => by_model.joints[joint].damping,
            Input::SpringStiffness { joint } => by_model.joints[joint].stiffness,
            Input::DriveStiffness { actuator } => by_model.drives[actuator].stiffness,
            Input::DriveDamping { actuator } => by_model.drives[actuator].damping,
            Input::GeometryScale { .. } => 0.0,
        }
    }
}

/// Models seeded with those of the inputs that are `wanted`, [`SEEDS`] at a time.
fn seeded_models(
    model: &Model,
    inputs: &[Input],
    wanted: impl Fn(&Input) -> bool,
) -> Result<Vec<SeededModel>, InputError> {
    // The model does not depend on the state that is moved along.
    let nowhere = State::default();
    let columns: Vec<usize> = (0..inputs.len()).filter(|&i| wanted(&inputs[i])).collect();
    columns
        .chunks(SEEDS)
        .map(|columns| {
            let seeds = columns.iter().enumerate();
            let values = seeds
                .map(|(k, &i)| Ok((inputs[i], DualArray::variable(inputs[i].value(model)?, k))))
                .collect::<Result<Vec<_>, InputError>>()?;
            let (model, _) = seeded(model, &nowhere, &values)?;
            Ok(SeededModel { columns: columns.to_vec(), model })
        })
        .collect()
}
