//! A contact law of the user's own: a damping factor and a coefficient of friction, written once in any
//! scalar outside of this crate.
//!
//! A model is generic over the scalar but not over the law. The law is therefore held behind a trait
//! object, which evaluates it in only three scalars: `f64` for values, one dual number for first
//! derivatives, and one for derivatives up to the third. In any other scalar its value is the Taylor
//! polynomial around the real parts, which for dual numbers of up to three derivatives is exact, since
//! the products of more of their infinitesimal parts vanish.

use std::any::TypeId;

use num_dual::HyperHyperDual64;

use crate::scalar::{DualArray, Scalar};

/// How many parameters a law of the user's own can have.
pub const OWN_PARAMETERS: usize = 4;

/// What a damping factor can depend on.
#[derive(Clone, Copy, Debug)]
pub struct DampingPoint<T = f64> {
    /// Undamped pressure, Pa; in steps of the contact model TAMSI that at the start of the step.
    pub pressure: T,
    /// Relative velocity along the normal, m/s, positive when the bodies separate.
    pub normal_velocity: T,
    /// The combined dissipation, s/m: also of the strain-rate form, where it follows the fields.
    pub dissipation: T,
    /// The law's own parameters, combined.
    pub own: [T; OWN_PARAMETERS],
}

/// What a coefficient of friction can depend on.
#[derive(Clone, Copy, Debug)]
pub struct FrictionPoint<T = f64> {
    /// Undamped pressure, Pa; in steps of the contact model TAMSI that at the start of the step.
    pub pressure: T,
    /// √(|v_t|² + v_s²) in m/s, with the slip velocity v_t and the stiction velocity v_s: never 0, so that
    /// its root has derivatives at rest.
    pub slip_speed: T,
    /// The combined coefficient of static friction.
    pub static_friction: T,
    /// The combined coefficient of dynamic friction.
    pub dynamic_friction: T,
    /// The law's own parameters, combined.
    pub own: [T; OWN_PARAMETERS],
}

/// A contact law: which part of the pressure acts while bodies move along the normal, and the
/// coefficient of friction. Set it as [`ContactSettings::law`](crate::contact::ContactSettings::law).
/// Each material holds values for the law's parameters in
/// [`Material::own`](crate::contact::Material::own). Gradients and fits treat these parameters like
/// coefficients of friction and name them
/// [`MaterialParameter::Own`](crate::contact::MaterialParameter::Own).
///
/// It works in explicit steps and in steps of the contact model TAMSI. The other contact models minimize
/// a cost that is derived for their own laws, and refuse a model that has a law of the user's own.
///
/// # Requirements on the functions
/// Factors and coefficients below 0 count as 0. The functions are pure: the same value at the same point.
/// They are finite, with finite derivatives, at all points with non-negative pressure. Where they are not
/// smooth, they return one side's derivatives. Derivatives of more than third order are not carried
/// through them.
///
/// # Examples
/// Friction that grows with the slip speed:
/// ```
/// use isobar::contact::{ContactLaw, ContactSettings, DampingPoint, FrictionPoint, OwnLaw};
/// use isobar::scalar::Scalar;
///
/// #[derive(Debug)]
/// struct Viscous;
///
/// impl ContactLaw for Viscous {
///     fn parameters(&self) -> &'static [&'static str] {
///         &["viscosity"]
///     }
///
///     fn friction_coefficient<T: Scalar>(&self, at: &FrictionPoint<T>) -> T {
///         at.dynamic_friction + at.own[0] * at.slip_speed
///     }
/// }
///
/// let settings = ContactSettings { law: Some(OwnLaw::new(&Viscous)), ..Default::default() };
/// # assert_eq!(settings.law.unwrap().parameters(), ["viscosity"]);
/// ```
pub trait ContactLaw: std::fmt::Debug + Sync {
    /// The names of the law's parameters in their order in
    /// [`Material::own`](crate::contact::Material::own), at most [`OWN_PARAMETERS`].
    fn parameters(&self) -> &'static [&'static str] {
        &[]
    }

    /// The factor of the pressure that acts. By default Hunt and Crossley's, (1 − d v_n)₊.
    fn damping_factor<T: Scalar>(&self, at: &DampingPoint<T>) -> T {
        let factor = T::from(1.0) - at.dissipation * at.normal_velocity;
        if factor.real() > 0.0 { factor } else { T::from(0.0) }
    }

    /// The coefficient of friction. By default that of dynamic friction.
    fn friction_coefficient<T: Scalar>(&self, at: &FrictionPoint<T>) -> T {
        at.dynamic_friction
    }

    /// A parameter of a pair from those of its two materials. By default their mean.
    fn combine<T: Scalar>(&self, _parameter: usize, a: T, b: T) -> T {
        (a + b) * 0.5
    }

    /// Begins to collect the points that this thread asks the functions at, and says whether the law does that; by default it
    /// does not. What the functions then return is thrown away. After [`Self::end_collecting`] they are asked at the same points
    /// again. So a law that costs much per call can answer many points in one.
    fn begin_collecting(&self) -> bool {
        false
    }

    /// The points that are asked for next have all been collected.
    fn end_collecting(&self) {}
}

/// A [`ContactLaw`] as models hold it. Two are equal if they are the same object of the same type.
#[derive(Clone, Copy)]
pub struct OwnLaw(&'static dyn AnyLaw);

impl std::fmt::Debug for OwnLaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl PartialEq for OwnLaw {
    fn eq(&self, other: &Self) -> bool {
        // Objects without fields may share an address.
        std::ptr::addr_eq(self.0, other.0) && self.0.kind() == other.0.kind()
    }
}

/// How many numbers a function of a law takes: two or three of the point, two of the pair, its own.
const ARGUMENTS: usize = 4 + OWN_PARAMETERS;
type Arguments<T> = [T; ARGUMENTS];
/// The indices of the arguments: pressure; velocity or slip speed; dissipation or static friction;
/// dynamic friction; own ones.
pub(in crate::contact) const PRESSURE: usize = 0;
pub(in crate::contact) const SPEED: usize = 1;
pub(in crate::contact) const FIRST_OF_PAIR: usize = 2;
pub(in crate::contact) const SECOND_OF_PAIR: usize = 3;
pub(in crate::contact) const FIRST_OWN: usize = 4;

/// A number with its derivatives with respect to a function's arguments.
pub(in crate::contact) type ByArguments = DualArray<ARGUMENTS>;

/// The functions of a law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Damping,
    Friction,
    /// How the parameter of this index is combined, of the first two arguments.
    Combine(usize),
}

/// A law in the scalars that it is compiled for.
trait AnyLaw: std::fmt::Debug + Sync {
    fn kind(&self) -> TypeId;
    fn parameters(&self) -> &'static [&'static str];
    fn begin_collecting(&self) -> bool;
    fn end_collecting(&self);
    fn value(&self, function: Function, x: &Arguments<f64>) -> f64;
    fn first(&self, function: Function, x: &Arguments<ByArguments>) -> ByArguments;
    fn third(&self, function: Function, x: &Arguments<HyperHyperDual64>) -> HyperHyperDual64;
}

fn evaluate<L: ContactLaw, T: Scalar>(law: &L, function: Function, x: &Arguments<T>) -> T {
    let own = || std::array::from_fn(|k| x[FIRST_OWN + k]);
    match function {
        Function::Damping => law.damping_factor(&DampingPoint {
            pressure: x[PRESSURE],
            normal_velocity: x[SPEED],
            dissipation: x[FIRST_OF_PAIR],
            own: own(),
        }),
        Function::Friction => law.friction_coefficient(&FrictionPoint {
            pressure: x[PRESSURE],
            slip_speed: x[SPEED],
            static_friction: x[FIRST_OF_PAIR],
            dynamic_friction: x[SECOND_OF_PAIR],
            own: own(),
        }),
        Function::Combine(parameter) => law.combine(parameter, x[0], x[1]),
    }
}

impl<L: ContactLaw + 'static> AnyLaw for L {
    fn kind(&self) -> TypeId {
        TypeId::of::<L>()
    }

    fn parameters(&self) -> &'static [&'static str] {
        ContactLaw::parameters(self)
    }

    fn begin_collecting(&self) -> bool {
        ContactLaw::begin_collecting(self)
    }

    fn end_collecting(&self) {
        ContactLaw::end_collecting(self);
    }

    fn value(&self, function: Function, x: &Arguments<f64>) -> f64 {
        evaluate(self, function, x)
    }

    fn first(&self, function: Function, x: &Arguments<ByArguments>) -> ByArguments {
        evaluate(self, function, x)
    }

    fn third(&self, function: Function, x: &Arguments<HyperHyperDual64>) -> HyperHyperDual64 {
        evaluate(self, function, x)
    }
}

impl OwnLaw {
    /// A law; that of a unit struct is `OwnLaw::new(&MyLaw)`.
    ///
    /// # Panics
    /// When the law names more than [`OWN_PARAMETERS`] parameters: there is no place for them.
    pub fn new<L: ContactLaw>(law: &'static L) -> Self {
        let count = ContactLaw::parameters(law).len();
        assert!(
            count <= OWN_PARAMETERS,
            "{law:?} has {count} parameters; at most {OWN_PARAMETERS} are allowed"
        );
        Self(law)
    }

    /// The names of the law's parameters.
    pub fn parameters(&self) -> &'static [&'static str] {
        self.0.parameters()
    }

    /// What `work` makes, which asks the law at points that do not depend on its answers. A law that collects points has it done
    /// twice; it is told whether its result is thrown away.
    pub(crate) fn together<R>(self, mut work: impl FnMut(bool) -> R) -> R {
        if self.0.begin_collecting() {
            work(true);
            self.0.end_collecting();
        }
        work(false)
    }

    /// The parameters of a pair.
    pub(in crate::contact) fn combine<T: Scalar>(
        self,
        a: &[T; OWN_PARAMETERS],
        b: &[T; OWN_PARAMETERS],
    ) -> [T; OWN_PARAMETERS] {
        let mut x = [T::from(0.0); ARGUMENTS];
        let count = self.parameters().len();
        std::array::from_fn(|k| {
            if k >= count {
                return T::from(0.0);
            }
            (x[0], x[1]) = (a[k], b[k]);
            self.evaluate(Function::Combine(k), &x)
        })
    }

    /// The damping factor.
    pub(crate) fn damping<T: Scalar>(self, at: &DampingPoint<T>) -> T {
        clamped_to_zero(self.evaluate(Function::Damping, &damping_arguments(at)))
    }

    /// The coefficient of friction.
    pub(in crate::contact) fn friction<T: Scalar>(self, at: &FrictionPoint<T>) -> T {
        clamped_to_zero(self.evaluate(Function::Friction, &friction_arguments(at)))
    }

    /// The damping factor with its derivatives with respect to all that it depends on.
    pub(in crate::contact) fn damping_slopes(self, at: &DampingPoint) -> ByArguments {
        clamped_to_zero(self.0.first(Function::Damping, &seeded(&damping_arguments(at))))
    }

    /// The coefficient of friction with its derivatives with respect to all that it depends on.
    pub(in crate::contact) fn friction_slopes(self, at: &FrictionPoint) -> ByArguments {
        clamped_to_zero(self.0.first(Function::Friction, &seeded(&friction_arguments(at))))
    }

    /// A function in any scalar: its Taylor polynomial around the real parts.
    fn evaluate<T: Scalar>(self, function: Function, x: &Arguments<T>) -> T {
        let real = x.map(|x| x.real());
        if T::NDERIV == 0 {
            return T::from(self.0.value(function, &real));
        }
        let first = self.0.first(function, &seeded(&real));
        let change: Arguments<T> = std::array::from_fn(|k| x[k] - real[k]);
        let mut sum = T::from(first.re);
        for k in 0..ARGUMENTS {
            sum += change[k] * first.eps[k];
        }
        if T::NDERIV > 1 {
            self.add_higher(function, &real, &change, &mut sum);
        }
        sum
    }

    /// Adds the second and third order of the Taylor polynomial.
    fn add_higher<T: Scalar>(
        self,
        function: Function,
        real: &Arguments<f64>,
        change: &Arguments<T>,
        sum: &mut T,
    ) {
        // Each product once, times the number of its orders over the factorial.
        for i in 0..ARGUMENTS {
            for j in i..ARGUMENTS {
                let last = if T::NDERIV > 2 { ARGUMENTS } else { j + 1 };
                for k in j..last {
                    let mut x = real.map(HyperHyperDual64::from);
                    x[i].eps1 = 1.0;
                    x[j].eps2 = 1.0;
                    x[k].eps3 = 1.0;
                    let value = self.0.third(function, &x);
                    let pair = change[i] * change[j];
                    if k == j {
                        *sum += pair * (value.eps1eps2 * if i == j { 0.5 } else { 1.0 });
                    }
                    let orders = match (i == j, j == k) {
                        (true, true) => 1.0 / 6.0,
                        (false, false) => 1.0,
                        _ => 0.5,
                    };
                    *sum += pair * change[k] * (value.eps1eps2eps3 * orders);
                }
            }
        }
    }
}

/// The number, clamped to at least 0. NaN stays NaN, and the step or the query then reports a value that
/// is not finite.
fn clamped_to_zero<T: Scalar>(x: T) -> T {
    if x.real() <= 0.0 { T::from(0.0) } else { x }
}

fn damping_arguments<T: Scalar>(at: &DampingPoint<T>) -> Arguments<T> {
    let [a, b, c, d] = at.own;
    [at.pressure, at.normal_velocity, at.dissipation, T::from(0.0), a, b, c, d]
}

fn friction_arguments<T: Scalar>(at: &FrictionPoint<T>) -> Arguments<T> {
    let [a, b, c, d] = at.own;
    [at.pressure, at.slip_speed, at.static_friction, at.dynamic_friction, a, b, c, d]
}

/// The arguments as variables.
fn seeded(x: &Arguments<f64>) -> Arguments<ByArguments> {
    std::array::from_fn(|k| ByArguments::variable(x[k], k))
}

#[cfg(test)]
pub(in crate::contact) mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use num_dual::{Dual3_64, DualStruct, HyperDual64};

    /// A law that depends on all that it can depend on.
    #[derive(Debug)]
    pub struct Everything;

    impl ContactLaw for Everything {
        fn parameters(&self) -> &'static [&'static str] {
            &["hardening", "decay", "viscosity", "fading"]
        }

        fn damping_factor<T: Scalar>(&self, at: &DampingPoint<T>) -> T {
            let hunt_crossley = T::from(1.0) - at.dissipation * at.normal_velocity;
            hunt_crossley * hunt_crossley * (at.own[0] * at.pressure * 1e-5 + 1.0)
        }

        fn friction_coefficient<T: Scalar>(&self, at: &FrictionPoint<T>) -> T {
            let falling = (-(at.slip_speed * at.own[1])).exp();
            let coefficient = at.dynamic_friction + (at.static_friction - at.dynamic_friction) * falling;
            coefficient * (at.own[3] * at.pressure * -1e-5 + 1.0) + at.own[2] * at.slip_speed
        }

        fn combine<T: Scalar>(&self, parameter: usize, a: T, b: T) -> T {
            if parameter == 0 { a + b } else { (a * b).sqrt() }
        }
    }

    /// Parameters of [`Everything`].
    pub const OWN: [f64; OWN_PARAMETERS] = [0.7, 3.0, 0.2, 0.4];

    /// A damping factor with mixed third derivatives in any scalar.
    fn damping<T: Scalar>(pressure: T, normal_velocity: T) -> T {
        let point =
            DampingPoint { pressure, normal_velocity, dissipation: T::from(0.8), own: OWN.map(T::from) };
        OwnLaw::new(&Everything).damping(&point)
    }

    fn plain<T: Scalar>(pressure: T, normal_velocity: T) -> T {
        let own = OWN.map(T::from);
        Everything.damping_factor(&DampingPoint { pressure, normal_velocity, dissipation: T::from(0.8), own })
    }

    #[test]
    fn all_derivatives_up_to_the_third_order_are_those_of_the_law_itself() {
        let (p, v) = (2e4, -0.3);
        assert_eq!(damping(p, v), plain(p, v));
        // A number whose every derivative differs.
        let mut x = HyperHyperDual64::from(p);
        (x.eps1, x.eps2, x.eps3, x.eps1eps2, x.eps2eps3) = (1e4, -2e4, 3e4, 5e3, 7e3);
        let mut y = HyperHyperDual64::from(v);
        (y.eps1, y.eps2, y.eps3, y.eps1eps3, y.eps1eps2eps3) = (0.4, 0.1, -0.6, 0.3, 0.2);
        let (got, exact) = (damping(x, y), plain(x, y));
        let numbers = |x: &HyperHyperDual64| {
            [x.re, x.eps1, x.eps2, x.eps3, x.eps1eps2, x.eps1eps3, x.eps2eps3, x.eps1eps2eps3]
        };
        for (got, exact) in numbers(&got).into_iter().zip(numbers(&exact)) {
            assert_relative_eq!(got, exact, max_relative = 1e-13);
        }
        let (x, y) = (Dual3_64::new(p, 1e4, 2e3, 5e3), Dual3_64::new(v, 0.5, 0.3, -0.7));
        let (got, exact) = (damping(x, y), plain(x, y));
        assert_relative_eq!(got.v1, exact.v1, max_relative = 1e-13);
        assert_relative_eq!(got.v2, exact.v2, max_relative = 1e-13);
        assert_relative_eq!(got.v3, exact.v3, max_relative = 1e-13);
        let (x, y) = (HyperDual64::new(p, 1e4, 2e4, 0.0), HyperDual64::new(v, 0.2, -0.1, 0.0));
        let (got, exact) = (damping(x, y), plain(x, y));
        assert_relative_eq!(got.eps1eps2, exact.eps1eps2, max_relative = 1e-13);
        assert_eq!(got.re(), exact.re());
    }

    #[test]
    fn what_is_not_positive_is_zero_without_derivatives() {
        #[derive(Debug)]
        struct Pulling;
        impl ContactLaw for Pulling {
            fn damping_factor<T: Scalar>(&self, at: &DampingPoint<T>) -> T {
                -at.pressure
            }
        }
        #[derive(Debug)]
        struct Other;
        impl ContactLaw for Other {}
        assert_ne!(OwnLaw::new(&Pulling), OwnLaw::new(&Other));
        assert_eq!(OwnLaw::new(&Everything), OwnLaw::new(&Everything));
        assert!(clamped_to_zero(f64::NAN).is_nan());
        let x = ByArguments::variable(3.0, PRESSURE);
        let zero = ByArguments::constant(0.0);
        let own = [zero; OWN_PARAMETERS];
        let point = DampingPoint { pressure: x, normal_velocity: zero, dissipation: zero, own };
        let got = OwnLaw::new(&Pulling).damping(&point);
        assert_eq!((got.re, got.eps), (0.0, [0.0; ARGUMENTS]));
    }
}
