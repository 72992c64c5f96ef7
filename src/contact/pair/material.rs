//! Contact materials and how two of them combine.

use num_traits::Zero;
use serde::{Deserialize, Serialize};

use crate::contact::own_law::{OWN_PARAMETERS, OwnLaw};
use crate::scalar::Scalar;

/// The contact parameters of one body.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Material<T = f64> {
    /// Hydroelastic modulus E_h in Pa: the pressure where the extent is 1. Not used by rigid
    /// bodies.
    pub hydroelastic_modulus: T,
    /// Dissipation: d in s/m (Hunt–Crossley) or χ in s (strain rate). Not used by rigid bodies.
    pub dissipation: T,
    /// Relaxation time τ_d in s of linear (Kelvin–Voigt) dissipation, which the contact model SAP uses
    /// instead of Hunt–Crossley dissipation. It is not used elsewhere.
    pub relaxation_time: T,
    /// Coefficient of static friction: at rest. It falls to that of dynamic friction around a slip velocity of
    /// 10 times the stiction velocity.
    pub static_friction: T,
    /// Coefficient of dynamic friction.
    pub dynamic_friction: T,
    /// The semi-axes of the friction ellipsoid of steps by equivalent contact points: e_t and e_o, which multiply the
    /// friction along two tangents, and e_r in m, that of its moment about the normal. 1, 1 and 0 unless given; not
    /// used elsewhere.
    pub friction_ellipsoid: [T; 3],
    /// The parameters of a law of the user's own ([`crate::contact::ContactLaw`]), in its order and
    /// units; not used without one.
    pub own: [T; OWN_PARAMETERS],
}

/// One of a [`Material`]'s parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum MaterialParameter {
    /// [`Material::hydroelastic_modulus`].
    HydroelasticModulus,
    /// [`Material::dissipation`].
    Dissipation,
    /// [`Material::relaxation_time`].
    RelaxationTime,
    /// [`Material::static_friction`].
    StaticFriction,
    /// [`Material::dynamic_friction`].
    DynamicFriction,
    /// A semi-axis, 0 to 2, of [`Material::friction_ellipsoid`].
    FrictionEllipsoid(usize),
    /// The parameter of this index in [`Material::own`].
    Own(usize),
}

impl MaterialParameter {
    /// The parameters that every material has; those of a law of the user's own are not among them.
    pub const BUILT_IN: [Self; 8] = [
        Self::HydroelasticModulus,
        Self::Dissipation,
        Self::RelaxationTime,
        Self::StaticFriction,
        Self::DynamicFriction,
        Self::FrictionEllipsoid(0),
        Self::FrictionEllipsoid(1),
        Self::FrictionEllipsoid(2),
    ];

    /// The parameter's name in files and messages. A parameter of a law of the user's own has the name
    /// that the law gives it, or `own[index]` if there is no such law.
    pub fn name(self, law: Option<OwnLaw>) -> String {
        match self {
            Self::HydroelasticModulus => "hydroelastic_modulus".to_owned(),
            Self::Dissipation => "dissipation".to_owned(),
            Self::RelaxationTime => "relaxation_time".to_owned(),
            Self::StaticFriction => "static_friction".to_owned(),
            Self::DynamicFriction => "dynamic_friction".to_owned(),
            Self::FrictionEllipsoid(axis) => ["e_t", "e_o", "e_r"].get(axis).unwrap_or(&"e").to_string(),
            Self::Own(index) => {
                let name = law.and_then(|law| law.parameters().get(index).copied());
                name.map_or_else(|| format!("own[{index}]"), str::to_owned)
            }
        }
    }
}

impl Material<f64> {
    /// All parameters 0: no stiffness, no dissipation, no friction.
    pub const NONE: Self = Self { friction_ellipsoid: [0.0; 3], ..Self::new(0.0, 0.0, 0.0) };

    /// A material with a hydroelastic modulus in Pa, a dissipation in s/m (in s for the strain-rate
    /// form), and one coefficient of friction, static and dynamic. Its relaxation time and the
    /// parameters of a law of the user's own are 0.
    pub const fn new(hydroelastic_modulus: f64, dissipation: f64, friction: f64) -> Self {
        Self {
            hydroelastic_modulus,
            dissipation,
            relaxation_time: 0.0,
            static_friction: friction,
            dynamic_friction: friction,
            friction_ellipsoid: [1.0, 1.0, 0.0],
            own: [0.0; OWN_PARAMETERS],
        }
    }

    /// The same material with this coefficient of static friction.
    #[must_use]
    pub const fn with_static_friction(mut self, static_friction: f64) -> Self {
        self.static_friction = static_friction;
        self
    }

    /// The same material with these semi-axes e_t, e_o and e_r (m) of the friction ellipsoid.
    #[must_use]
    pub const fn with_friction_ellipsoid(mut self, semi_axes: [f64; 3]) -> Self {
        self.friction_ellipsoid = semi_axes;
        self
    }

    /// The same material with this relaxation time in s.
    #[must_use]
    pub const fn with_relaxation_time(mut self, relaxation_time: f64) -> Self {
        self.relaxation_time = relaxation_time;
        self
    }

    /// The same material with these parameters of a law of the user's own.
    #[must_use]
    pub const fn with_own(mut self, own: [f64; OWN_PARAMETERS]) -> Self {
        self.own = own;
        self
    }
}

impl<T: Copy> Material<T> {
    /// The material with `f` applied to each parameter.
    pub fn map<U>(&self, mut f: impl FnMut(T) -> U) -> Material<U> {
        Material {
            hydroelastic_modulus: f(self.hydroelastic_modulus),
            dissipation: f(self.dissipation),
            relaxation_time: f(self.relaxation_time),
            static_friction: f(self.static_friction),
            dynamic_friction: f(self.dynamic_friction),
            friction_ellipsoid: self.friction_ellipsoid.map(&mut f),
            own: self.own.map(f),
        }
    }

    /// The material with `f` applied to each parameter and the same parameter of another material.
    pub fn zip<U: Copy, V>(&self, other: &Material<U>, mut f: impl FnMut(T, U) -> V) -> Material<V> {
        Material {
            hydroelastic_modulus: f(self.hydroelastic_modulus, other.hydroelastic_modulus),
            dissipation: f(self.dissipation, other.dissipation),
            relaxation_time: f(self.relaxation_time, other.relaxation_time),
            static_friction: f(self.static_friction, other.static_friction),
            dynamic_friction: f(self.dynamic_friction, other.dynamic_friction),
            friction_ellipsoid: std::array::from_fn(|k| {
                f(self.friction_ellipsoid[k], other.friction_ellipsoid[k])
            }),
            own: std::array::from_fn(|k| f(self.own[k], other.own[k])),
        }
    }

    /// One parameter; `None` for one of a law of the user's own beyond the number that a material can
    /// hold.
    pub fn get(&self, parameter: MaterialParameter) -> Option<T> {
        match parameter {
            MaterialParameter::HydroelasticModulus => Some(self.hydroelastic_modulus),
            MaterialParameter::Dissipation => Some(self.dissipation),
            MaterialParameter::RelaxationTime => Some(self.relaxation_time),
            MaterialParameter::StaticFriction => Some(self.static_friction),
            MaterialParameter::DynamicFriction => Some(self.dynamic_friction),
            MaterialParameter::FrictionEllipsoid(axis) => self.friction_ellipsoid.get(axis).copied(),
            MaterialParameter::Own(index) => self.own.get(index).copied(),
        }
    }

    /// One parameter, to be changed; `None` for one of a law of the user's own beyond the number that a
    /// material can hold.
    pub fn get_mut(&mut self, parameter: MaterialParameter) -> Option<&mut T> {
        match parameter {
            MaterialParameter::HydroelasticModulus => Some(&mut self.hydroelastic_modulus),
            MaterialParameter::Dissipation => Some(&mut self.dissipation),
            MaterialParameter::RelaxationTime => Some(&mut self.relaxation_time),
            MaterialParameter::StaticFriction => Some(&mut self.static_friction),
            MaterialParameter::DynamicFriction => Some(&mut self.dynamic_friction),
            MaterialParameter::FrictionEllipsoid(axis) => self.friction_ellipsoid.get_mut(axis),
            MaterialParameter::Own(index) => self.own.get_mut(index),
        }
    }
}

impl<T: Scalar> Material<T> {
    /// A constant material as scalars `T`.
    pub fn lift(m: &Material<f64>) -> Self {
        m.map(T::from)
    }

    /// The material without its derivatives.
    pub fn real(&self) -> Material<f64> {
        self.map(|x| x.real())
    }
}

/// The parameters of a pair of bodies in contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairMaterial<T = f64> {
    /// Combined Hunt–Crossley dissipation, s/m.
    pub dissipation: T,
    /// Sum of the relaxation times, s.
    pub relaxation_time: T,
    /// Combined coefficient of static friction.
    pub static_friction: T,
    /// Combined coefficient of dynamic friction.
    pub dynamic_friction: T,
    /// Combined parameters of a law of the user's own.
    pub own: [T; OWN_PARAMETERS],
}

impl<T: Copy> PairMaterial<T> {
    /// The same value for all parameters.
    pub fn filled(value: T) -> Self {
        Self {
            dissipation: value,
            relaxation_time: value,
            static_friction: value,
            dynamic_friction: value,
            own: [value; OWN_PARAMETERS],
        }
    }

    /// Calls `visit` with each parameter and the same one of another.
    pub fn for_each_with<U: Copy>(&self, other: &PairMaterial<U>, mut visit: impl FnMut(T, U)) {
        visit(self.dissipation, other.dissipation);
        visit(self.relaxation_time, other.relaxation_time);
        visit(self.static_friction, other.static_friction);
        visit(self.dynamic_friction, other.dynamic_friction);
        self.own.iter().zip(other.own).for_each(|(x, y)| visit(*x, y));
    }

    /// These parameters with `f` applied to each.
    pub fn map<U>(&self, mut f: impl FnMut(T) -> U) -> PairMaterial<U> {
        PairMaterial {
            dissipation: f(self.dissipation),
            relaxation_time: f(self.relaxation_time),
            static_friction: f(self.static_friction),
            dynamic_friction: f(self.dynamic_friction),
            own: self.own.map(f),
        }
    }

    /// The same parameters as those of one material with this modulus, and without a friction ellipsoid.
    pub fn with_modulus(&self, hydroelastic_modulus: T) -> Material<T>
    where
        T: Zero,
    {
        let Self { dissipation, relaxation_time, static_friction, dynamic_friction, own } = *self;
        Material {
            hydroelastic_modulus,
            dissipation,
            relaxation_time,
            static_friction,
            dynamic_friction,
            friction_ellipsoid: [T::zero(); 3],
            own,
        }
    }
}

/// 2 μ_A μ_B / (μ_A + μ_B), and 0 where both are 0.
pub(crate) fn combine_friction<T: Scalar>(a: T, b: T) -> T {
    let sum = a + b;
    if sum.real() > 0.0 { a * b * 2.0 / sum } else { T::from(0.0) }
}

/// The semi-axes of two friction ellipsoids, combined as coefficients of friction are.
pub(crate) fn combine_ellipsoids<T: Scalar>(a: &[T; 3], b: &[T; 3]) -> [T; 3] {
    std::array::from_fn(|k| combine_friction(a[k], b[k]))
}

impl<T: Scalar> PairMaterial<T> {
    /// Combines two materials as Drake does. Each body's dissipation is weighted by the *other's*
    /// modulus, because the softer body deforms more; coefficients of friction are combined by their
    /// harmonic mean. The dissipation of a rigid body is not used; relaxation times are added.
    /// Parameters of a law of the user's own are combined by that law, and are 0 without one.
    pub fn combine(
        a: &Material<T>,
        a_is_rigid: bool,
        b: &Material<T>,
        b_is_rigid: bool,
        law: Option<OwnLaw>,
    ) -> Self {
        let dissipation = match (a_is_rigid, b_is_rigid) {
            (false, false) => {
                let (ea, eb) = (a.hydroelastic_modulus, b.hydroelastic_modulus);
                (eb * a.dissipation + ea * b.dissipation) / (ea + eb)
            }
            (false, true) => a.dissipation,
            (true, _) => b.dissipation,
        };
        Self {
            dissipation,
            relaxation_time: a.relaxation_time + b.relaxation_time,
            static_friction: combine_friction(a.static_friction, b.static_friction),
            dynamic_friction: combine_friction(a.dynamic_friction, b.dynamic_friction),
            own: law.map_or([T::from(0.0); OWN_PARAMETERS], |law| law.combine(&a.own, &b.own)),
        }
    }
}
