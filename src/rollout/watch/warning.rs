//! Warnings about a simulation.

use std::fmt;

use crate::multibody::Model;

/// A warning about something that went wrong in a simulation that nevertheless continued: the time, the
/// bodies, the cause, and a remedy. Its text is one line.
#[derive(Clone, Debug, PartialEq)]
pub struct MotionWarning {
    /// The time at which it was first noticed, s.
    pub time: f64,
    /// The names of the two bodies.
    pub bodies: [String; 2],
    /// The cause.
    pub cause: WarningCause,
}

/// A reason why a simulation may not be trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum WarningCause {
    /// Explicit steps are too long for the stiffness of a contact: energy grows or is lost.
    StiffContact {
        /// ∂F/∂depth at the present overlap, N/m.
        stiffness: f64,
        /// ω δt, the phase by which contact and mass vibrate in a step, rad.
        turn: f64,
        /// The step, s.
        dt: f64,
        /// The longest step that resolves it, s.
        longest: f64,
    },
    /// Explicit steps are too long for friction near stiction, which chatters.
    StiffFriction {
        /// μ N δt / (m v_s).
        ratio: f64,
        /// The ratio beyond which a step is unstable.
        limit: f64,
    },
    /// SAP or Similar hold sliding bodies apart, see [`Gliding`](crate::step::Gliding).
    Gliding {
        /// Slip velocity, m/s.
        slip_velocity: f64,
        /// The gap that opens, m.
        gap: f64,
        /// The overlap at rest, m.
        depth: f64,
    },
    /// The middle of the first body has passed a surface of the second: it is inside, or went
    /// through.
    Passed {
        /// The way of the middle relative to the second body in the step that passed it, m.
        way: f64,
        /// From the middle of the first body to its own surface, m.
        depth: f64,
    },
    /// The first body moves or turns far near the second within a single step: contact begins deep
    /// inside or is missed, and energy is gained or lost.
    LongStep {
        /// The way of the first body's middle, or of its ends if it turns far, relative to the second
        /// in this step, m.
        way: f64,
        /// From the middle of the first body to its own surface, m.
        depth: f64,
        /// The longest step that is not far, s.
        longest: f64,
    },
    /// The first body gains energy in contact with the second, and no actuator, load, moving surface or stored
    /// pressure gives it.
    EnergyGain {
        /// By how much it exceeds what there was, J.
        gain: f64,
        /// The steps are explicit.
        explicit: bool,
    },
    /// Implicit steps take more than half of the energy of a rebound.
    EatenRebound {
        /// The speed of the rebound, m/s.
        speed: f64,
        /// That which the materials' dissipation would leave, m/s.
        expected: f64,
        /// How many steps the impact lasts.
        lasts: f64,
        /// The longest step with which half of the energy is left, s.
        longest: f64,
    },
    /// Implicit steps resist rolling.
    RollingResistance {
        /// The torque that resists, N δt v, N m.
        torque: f64,
        /// The part of the kinetic energy that it has taken.
        part: f64,
        /// How far the bodies have rolled, rad.
        turned: f64,
        /// The step, s.
        dt: f64,
    },
    /// Two rigid bodies overlap at the start.
    RigidOverlap {
        /// Deepest overlap, m.
        depth: f64,
    },
    /// The bodies overlap deeply at the start.
    DeepStart {
        /// Deepest overlap, m.
        depth: f64,
        /// Smallest side of the smaller body, m.
        size: f64,
        /// Force between them, N.
        force: f64,
    },
    /// At the start the middle of the first body is inside the second, and no contact pushes the body
    /// out; with a contact it would be a [`DeepStart`](Self::DeepStart).
    StartsInside {
        /// From the middle of the first body to the surface of the second, m.
        depth: f64,
    },
}

impl MotionWarning {
    /// A warning about a pair of geometries.
    pub(super) fn of_pair(model: &Model, pair: usize, time: f64, cause: WarningCause) -> Self {
        let bodies = model.pairs[pair].bodies;
        Self::of_bodies(model, [bodies.a, bodies.b], time, cause)
    }

    /// A warning about two bodies.
    pub(super) fn of_bodies(model: &Model, bodies: [usize; 2], time: f64, cause: WarningCause) -> Self {
        Self { time, bodies: bodies.map(|body| model.bodies[body].name.clone()), cause }
    }
}

impl MotionWarning {
    /// Whether it already says that these two bodies gain energy, or why.
    pub(super) fn explains_gain(&self, model: &Model, bodies: [usize; 2]) -> bool {
        let [a, b] = bodies.map(|body| &model.bodies[body].name);
        let explains = matches!(
            self.cause,
            WarningCause::EnergyGain { .. }
                | WarningCause::StiffContact { .. }
                | WarningCause::LongStep { .. }
                | WarningCause::DeepStart { .. }
                | WarningCause::RigidOverlap { .. }
        );
        explains
            && ([&self.bodies[0], &self.bodies[1]] == [a, b] || [&self.bodies[1], &self.bodies[0]] == [a, b])
    }
}

impl fmt::Display for MotionWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time, bodies: [a, b], cause } = self;
        write!(f, "`{a}` and `{b}`, t = {time:.6} s: ")?;
        match cause {
            WarningCause::StiffContact { stiffness, turn, dt, longest } => write!(
                f,
                "contact is too stiff for explicit steps of {dt:e} s: with {stiffness:.2e} N/m it vibrates by {turn:.1} rad a step, so that energy is gained or lost; make the steps {longest:.1e} s or shorter, or use a velocity-level solver such as \"lagged\""
            ),
            WarningCause::StiffFriction { ratio, limit } => write!(
                f,
                "friction is too stiff for the step: μ N Δt / (m v_s) = {ratio:.1}; above {limit}, sticking contact chatters; raise contact.stiction_velocity, shorten the steps, or use a velocity-level solver such as \"lagged\""
            ),
            WarningCause::Gliding { slip_velocity, gap, depth } => write!(
                f,
                "while they slide at {slip_velocity:.2e} m/s this solver holds them {gap:.2e} m apart, more than their overlap of {depth:.2e} m at rest, so contact and friction are lost; use \"lagged\" or \"tamsi\", or shorter steps"
            ),
            WarningCause::Passed { way, depth } => write!(
                f,
                "the middle of `{a}` has passed the surface of `{b}`, by {way:.2e} m in this step; from its middle to its own surface it is {depth:.2e} m. A body that moves this far in one step can pass through without contact, and one that is pressed in this deep comes out on the other side; shorten the steps, raise hydroelastic_modulus, or make `{b}` thicker"
            ),
            WarningCause::LongStep { way, depth, longest } => write!(
                f,
                "`{a}` moves or turns by {way:.2e} m at `{b}` in one step; from its middle to its surface it is {depth:.2e} m. Contact then begins deep inside or is missed, and energy is gained or lost; make the steps {longest:.1e} s or shorter"
            ),
            WarningCause::EnergyGain { gain, explicit } => {
                let remedy = match explicit {
                    true => "shorten the steps, or use a velocity-level solver such as \"lagged\"",
                    false => "shorten the steps, or lower hydroelastic_modulus where contact is not rigid",
                };
                write!(
                    f,
                    "`{a}` gains {gain:.2e} J of energy that no actuator, load or stored pressure gives: it is thrown off; {remedy}"
                )
            }
            WarningCause::EatenRebound { speed, expected, lasts, longest } => write!(
                f,
                "steps eat a rebound: an impact lasts {lasts:.1} steps, after which they part at {speed:.2e} m/s where the dissipation leaves {expected:.2e} m/s; make the steps {longest:.1e} s or shorter, or set accuracy = 1e-6 in [solver]"
            ),
            WarningCause::RollingResistance { torque, part, turned, dt } => write!(
                f,
                "steps of {dt:e} s resist rolling, with {torque:.2e} N m (load × step × speed): they have taken {:.0} % of the kinetic energy in {turned:.1} rad; half the step takes half as much, accuracy = 1e-6 in [solver] little",
                100.0 * part
            ),
            WarningCause::RigidOverlap { depth } => write!(
                f,
                "rigid bodies that overlap, by {depth:.2e} m at the start: one step by complementarity moves them apart, and they keep that velocity and are thrown apart, other steps do so little by little; move them apart, or check units (m, rad) and scale"
            ),
            WarningCause::DeepStart { depth, size, force } => write!(
                f,
                "they overlap by {depth:.2e} m at the start, more than a tenth of {size:.2e} m, and push with {force:.2e} N: they will be thrown apart; move them apart, or check units (m, rad) and scale"
            ),
            WarningCause::StartsInside { depth } => write!(
                f,
                "the middle of `{a}` is inside `{b}` at the start, {depth:.2e} m from its surface: a body this deep inside is not pushed out, or comes out on the other side; move it out, or check units (m, rad) and scale"
            ),
        }
    }
}
