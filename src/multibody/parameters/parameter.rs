//! The numbers that a simulation can be differentiated with respect to.

use crate::contact::MaterialParameter;
use crate::multibody::tree::JointLimits;
use crate::multibody::{LoadPart, Model, TANGENT_DIMENSION};

/// A number that a simulation depends on and that derivatives can be taken with respect to. Bodies,
/// materials, joints and actuators are given by their index in the [`Model`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Parameter {
    /// A displacement of a free body's initial state along one direction of its tangent space (see
    /// [`TANGENT_DIMENSION`]). Its value is 0.
    InitialTangent {
        /// The body.
        body: usize,
        /// The direction, 0 to 11: rotation, position, angular velocity and velocity, each along three
        /// axes. Functions such as [`Parameter::initial_velocity`] name them.
        index: usize,
    },
    /// A displacement of the joints' initial state along one direction of its tangent space: first the
    /// directions of the configuration, then those of the velocity, each in the order of the velocity
    /// coordinates of [`Model::mechanism`]. Its value is 0.
    InitialJoint {
        /// The direction, 0 to 2 nv − 1.
        index: usize,
    },
    /// A parameter of a material, in its unit. Only steps with the contact model SAP depend on the
    /// relaxation time, and only models with a law of the user's own depend on that law's parameters.
    Material {
        /// The material in [`Model::materials`].
        material: usize,
        /// Which parameter.
        parameter: MaterialParameter,
    },
    /// The mass of a free body or a link, kg, at the size that its geometries have in the model. A given
    /// inertia does not change with the mass; an inertia computed from the geometries stays proportional
    /// to it.
    Mass {
        /// The body.
        body: usize,
    },
    /// A component of the inertia of a link, or of a free body whose inertia was given, about the centre
    /// of mass and in the body's axes, kg m². The symmetric component changes with it. A free body whose
    /// inertia comes from its geometries has no such parameter.
    Inertia {
        /// The body.
        body: usize,
        /// Row of the component, 0 to 2.
        row: usize,
        /// Column of the component, 0 to 2.
        column: usize,
    },
    /// A coordinate of the centre of mass of a link, or of a free body whose centre of mass was given,
    /// in the body's frame, m. A free body whose centre of mass comes from its geometries has no such
    /// parameter.
    CenterOfMass {
        /// The body.
        body: usize,
        /// The coordinate, 0 to 2.
        axis: usize,
    },
    /// One of the numbers that the mass of a free body or a link is deformed by, all of them 0 in a model that is built: 0 is the
    /// logarithm of a factor on the mass, 1 to 3 those of stretches, 4 to 6 are shears, 7 to 9 shifts of the centre of mass
    /// in m (see [`MassProperties::deformed`](crate::spatial::MassProperties::deformed)). Unlike masses, centres and inertias
    /// by themselves they may have any values. The mass of a free body is then given, and no longer follows its geometries.
    PseudoInertia {
        /// The body.
        body: usize,
        /// Which number, 0 to 9.
        index: usize,
    },
    /// A component of the acceleration of gravity in W, m/s².
    Gravity {
        /// The component, 0 to 2.
        axis: usize,
    },
    /// The viscous damping of each velocity coordinate of a joint, N m s/rad or N s/m. This and the following
    /// parameters of joints include what joints that follow the joint add; such joints have none of their own.
    JointDamping {
        /// The joint in [`Mechanism::joints`](crate::multibody::tree::Mechanism::joints).
        joint: usize,
    },
    /// The Coulomb friction of a joint with one coordinate, N m or N.
    JointFriction {
        /// The joint in [`Mechanism::joints`](crate::multibody::tree::Mechanism::joints).
        joint: usize,
    },
    /// The stiction velocity of the friction of a joint with one coordinate, rad/s or m/s.
    JointStictionVelocity {
        /// The joint in [`Mechanism::joints`](crate::multibody::tree::Mechanism::joints).
        joint: usize,
    },
    /// The stiffness of the spring of a joint with one coordinate, N m/rad or N/m; 0 where it has
    /// none.
    SpringStiffness {
        /// The joint in [`Mechanism::joints`](crate::multibody::tree::Mechanism::joints).
        joint: usize,
    },
    /// The position at which the spring of a joint with one coordinate is at rest, rad or m.
    SpringRest {
        /// The joint in [`Mechanism::joints`](crate::multibody::tree::Mechanism::joints).
        joint: usize,
    },
    /// A number of the stops at the ends of a joint's range, where it has them. With respect to it forces have a
    /// kink where the joint reaches a stop.
    JointStop {
        /// The joint in [`Mechanism::joints`](crate::multibody::tree::Mechanism::joints).
        joint: usize,
        /// Which number.
        number: StopNumber,
    },
    /// The largest force of an actuator that has a limit, N m or N. Only an actuator at its limit depends on it.
    EffortLimit {
        /// The actuator in [`Model::actuators`].
        actuator: usize,
    },
    /// A component of one of the vectors that a load's value over time is made of, N or N m.
    Load {
        /// The load in [`Model::loads`].
        load: usize,
        /// Which vector.
        part: LoadPart,
        /// The axis of the load's frame, 0 to 2.
        axis: usize,
    },
    /// The gain on the position of an actuator that is a position servo, N m/rad or N/m.
    DriveStiffness {
        /// The actuator in [`Model::actuators`].
        actuator: usize,
    },
    /// The gain on the velocity of an actuator that is a position or velocity servo, N m s/rad or
    /// N s/m.
    DriveDamping {
        /// The actuator in [`Model::actuators`].
        actuator: usize,
    },
    /// The acceleration for each deviation from the command in a tree of joints under computed torque, 1/s².
    TreeStiffness {
        /// The tree in [`Mechanism::trees`](crate::multibody::tree::Mechanism::trees).
        tree: usize,
    },
    /// The deceleration for each velocity in a tree of joints under computed torque, 1/s.
    TreeDamping {
        /// The tree in [`Mechanism::trees`](crate::multibody::tree::Mechanism::trees).
        tree: usize,
    },
    /// A factor on the size of a geometry about the origin of its own frame (on the thickness of a
    /// half-space); its value is 1. Extents stay as they are at the vertices. Mass, centre of mass and
    /// inertia change with the size where they are computed from the geometry. With a given density the
    /// mass grows with the cube of the scale and the inertia with its fifth power. With a given mass the
    /// inertia grows with the square. A given inertia does not change.
    GeometryScale {
        /// The body.
        body: usize,
        /// The geometry in [`Body::geometries`](crate::multibody::Body::geometries).
        geometry: usize,
    },
    /// A coordinate of a vertex of a geometry's mesh, in the geometry's frame, m. Extents stay as they are
    /// at the vertices; [`ExtentSource`](crate::field::ExtentSource) lets them follow. Mass, centre of mass and
    /// inertia change with the volume that the mesh gains or loses
    /// where they are computed from the geometry. See [`Parameter::vertices`].
    MeshVertex {
        /// The body.
        body: usize,
        /// The geometry in [`Body::geometries`](crate::multibody::Body::geometries).
        geometry: usize,
        /// The vertex of the mesh, of a skirt's if the field has one.
        vertex: usize,
        /// The axis of the geometry's frame, 0 to 2.
        axis: usize,
    },
    /// A move of a geometry's frame on its body, in the body's axes: a turn about the frame's origin (rad), or a
    /// shift (m); its value is 0. Mass properties follow where they are computed from the geometry. See
    /// [`Parameter::places`].
    GeometryPose {
        /// The body.
        body: usize,
        /// The geometry in [`Body::geometries`](crate::multibody::Body::geometries).
        geometry: usize,
        /// Turns about x, y and z, then shifts: 0 to 5.
        axis: usize,
    },
    /// A move of a body that does not move by itself, in W: a turn about the body's origin (rad), or a shift
    /// (m); its value is 0. See [`Parameter::places`].
    FixedPose {
        /// The body.
        body: usize,
        /// Turns about x, y and z, then shifts: 0 to 5.
        axis: usize,
    },
    /// A move of a joint's frame F on the body that carries it, with all that the joint carries, in the axes of the frame
    /// that [`Joint::x_pf`](crate::multibody::tree::Joint::x_pf) is in: a turn about F's origin (rad), or a shift (m); its value
    /// is 0. Steps take a step in dual numbers for each eight such parameters. See [`Parameter::places`].
    JointFrame {
        /// The joint in [`Mechanism::joints`](crate::multibody::tree::Mechanism::joints).
        joint: usize,
        /// Turns about x, y and z, then shifts: 0 to 5.
        axis: usize,
    },
    /// A turn of the axis of a revolute or prismatic joint about F's origin, in the same axes, rad; what the joint
    /// carries stays where it is while the joint's position is 0. Its value is 0; along the axis itself nothing follows
    /// it. Steps take it as they take [`Parameter::JointFrame`]. See [`Parameter::places`].
    JointAxis {
        /// The joint in [`Mechanism::joints`](crate::multibody::tree::Mechanism::joints).
        joint: usize,
        /// About x, y or z: 0 to 2.
        axis: usize,
    },
    /// The stiction velocity of contact, m/s (see [`ContactSettings`](crate::contact::ContactSettings)). Steps take it as
    /// they take [`Parameter::JointFrame`]. See [`Parameter::of_contact`].
    StictionVelocity,
    /// The bristle length, m, of a model that has one; taken as the stiction velocity.
    BristleLength,
    /// A factor on the length of every step, 1: the derivative with respect to it is that with respect to the time step,
    /// times the time step. Motions keep their number of steps, and each step the control values that it has; the
    /// times that loads, forces of the user's own and losses are told stay those of the settings. Steps take it as they
    /// take [`Parameter::JointFrame`]; it is in none of the lists of parameters.
    TimeStep,
    /// The extent at a vertex of a compliant geometry's mesh: the pressure there over the hydroelastic
    /// modulus. With a pressure law it is the law's value f(ε), not the ε that the law was applied to
    /// ([`ExtentSource`](crate::field::ExtentSource) leads from the one to the other). See [`Parameter::extents`].
    Extent {
        /// The body.
        body: usize,
        /// The geometry in [`Body::geometries`](crate::multibody::Body::geometries).
        geometry: usize,
        /// The vertex of the mesh.
        vertex: usize,
    },
    /// The exponent of the pressure law of a compliant geometry, where it is a power
    /// ([`PressureLaw::Power`](crate::field::PressureLaw)): the law's values at the vertices inside follow it. A skirt stays as it is.
    PressureExponent {
        /// The body.
        body: usize,
        /// The geometry in [`Body::geometries`](crate::multibody::Body::geometries).
        geometry: usize,
    },
}

/// A number of the stops of a joint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StopNumber {
    /// The lower end of the range, rad or m.
    Lower,
    /// The upper end of the range, rad or m.
    Upper,
    /// The stiffness of the stops, N m/rad or N/m.
    Stiffness,
    /// The Hunt–Crossley dissipation of the stops, s/rad or s/m.
    Dissipation,
}

impl StopNumber {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Lower, Self::Upper, Self::Stiffness, Self::Dissipation];

    /// Its name in a scene file.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Upper => "upper",
            Self::Stiffness => "stop_stiffness",
            Self::Dissipation => "stop_dissipation",
        }
    }

    /// The number in the limits of a joint.
    pub(super) fn of_mut<T>(self, limits: &mut JointLimits<T>) -> &mut T {
        match self {
            Self::Lower => &mut limits.lower,
            Self::Upper => &mut limits.upper,
            Self::Stiffness => &mut limits.stiffness,
            Self::Dissipation => &mut limits.dissipation,
        }
    }
}

impl Parameter {
    /// A rotation of a free body's initial orientation about an axis of W, rad.
    pub fn initial_rotation(body: usize, axis: usize) -> Self {
        Self::InitialTangent { body, index: axis }
    }

    /// A shift of a free body's initial position along an axis of W, m.
    pub fn initial_position(body: usize, axis: usize) -> Self {
        Self::InitialTangent { body, index: 3 + axis }
    }

    /// A change of a free body's initial angular velocity about an axis of W, rad/s.
    pub fn initial_angular_velocity(body: usize, axis: usize) -> Self {
        Self::InitialTangent { body, index: 6 + axis }
    }

    /// A change of a free body's initial velocity along an axis of W, m/s.
    pub fn initial_velocity(body: usize, axis: usize) -> Self {
        Self::InitialTangent { body, index: 9 + axis }
    }

    /// Whether the derivatives of a step with respect to the parameter are those of a step in dual numbers.
    pub(crate) fn takes_a_step(&self) -> bool {
        matches!(
            self,
            Self::JointFrame { .. }
                | Self::JointAxis { .. }
                | Self::StictionVelocity
                | Self::BristleLength
                | Self::TimeStep
        )
    }

    /// Whether the parameter moves the initial state, and leaves the model as it is.
    pub(crate) fn is_of_state(&self) -> bool {
        matches!(self, Self::InitialTangent { .. } | Self::InitialJoint { .. })
    }

    /// The direction of the state's tangent space that a parameter moves the initial state along.
    pub(crate) fn initial_tangent(&self, model: &Model) -> Option<usize> {
        match *self {
            Self::InitialTangent { body, index } => {
                let free = model.bodies.get(body).filter(|b| b.is_free()).and(model.moving_index(body))?;
                (index < TANGENT_DIMENSION).then_some(free * TANGENT_DIMENSION + index)
            }
            Self::InitialJoint { index } => {
                let exists = index < 2 * model.mechanism.velocity_dimension();
                exists.then(|| model.free_bodies().count() * TANGENT_DIMENSION + index)
            }
            _ => None,
        }
    }

    /// Whether forces on free bodies that are part of the model follow the parameter: its loads and its actuators on them.
    pub(super) fn is_of_loads(&self, model: &Model) -> bool {
        match *self {
            Self::Load { .. } => true,
            Self::EffortLimit { actuator } => {
                model.actuators.get(actuator).is_some_and(|actuator| actuator.body_load().is_some())
            }
            _ => false,
        }
    }

    /// The body that a parameter is a mass property of.
    pub(super) fn mass_of_body(&self) -> Option<usize> {
        match *self {
            Self::Mass { body }
            | Self::Inertia { body, .. }
            | Self::CenterOfMass { body, .. }
            | Self::PseudoInertia { body, .. } => Some(body),
            _ => None,
        }
    }

    /// Whether both set the same: a body's pseudo-inertia is all of its mass.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let deforms = |parameter: &Self| matches!(parameter, Self::PseudoInertia { .. });
        let is_of_one = self.mass_of_body().is_some() && self.mass_of_body() == other.mass_of_body();
        self == other || is_of_one && deforms(self) != deforms(other)
    }

    /// All geometries that a parameter changes or moves, each by its body and its index there.
    pub(super) fn geometries(&self, model: &Model) -> Vec<(usize, usize)> {
        match *self {
            Self::FixedPose { body, .. } => {
                (0..model.bodies[body].geometries.len()).map(|geometry| (body, geometry)).collect()
            }
            _ => self.geometry().into_iter().collect(),
        }
    }

    /// The body and the geometry whose shape or place on its body a parameter belongs to.
    pub(super) fn geometry(&self) -> Option<(usize, usize)> {
        match *self {
            Self::GeometryScale { body, geometry }
            | Self::MeshVertex { body, geometry, .. }
            | Self::GeometryPose { body, geometry, .. }
            | Self::Extent { body, geometry, .. }
            | Self::PressureExponent { body, geometry } => Some((body, geometry)),
            _ => None,
        }
    }
}
