//! Events of a motion that are located in time: first touch, lift-off and turning points, with the derivatives of
//! their times and states.
//!
//! An event is where a function g(x, θ) of the state vanishes: the gap between the features of two boundaries that
//! touch ([`Features`]), or the velocity of a body along a direction. It lies in a step, from the state x₀ at its
//! start, that is taken again with a part τ of its length until g(Φ_τ(x₀, θ), θ) = 0. The time of the
//! event is t = t₀ + τ and its state x = Φ_τ(x₀, θ).
//!
//! # Derivatives
//! With the length of the part held, the state at its end follows everything by δx = ∂Φ/∂x₀ δx₀ + ∂Φ/∂θ δθ: a step like any
//! other. As the function stays zero,
//!
//! ```text
//! δt = −(∂g/∂x δx + ∂g/∂θ δθ) / ġ,   ġ = ∂g/∂x ẋ,   and at the event   δx + ẋ δt,
//! ```
//!
//! where ẋ = ∂Φ/∂τ is the rate of the state. So these are the derivatives of the discrete motion, not of the one that
//! shorter and shorter steps tend to. ẋ comes from differences of order 6 to parts a little shorter, as far as they agree from spacing to spacing:
//! that leaves about 10⁻⁹ of it, and more where the event lies at the very start of a step or a velocity-level step has
//! faces that begin to push within a few microseconds. Where ġ is zero the event is grazing and has no derivative, but
//! an error.
//!
//! After the event the motion goes on. In general its derivative jumps there by the saltation matrix
//! I + (ẋ⁺ − ẋ⁻) (∂g/∂x)/ġ, with the rates after and before the event (Kong, Payne, Zhu, Johnson, *Saltation
//! matrices*, Proceedings of the IEEE, 2024). Forces between pressure fields begin from zero, at a touch as at a
//! lift-off: both rates are the same, the matrix is the identity, and derivatives of the states of a rollout need nothing
//! of what is found here. The same holds where the factor of dissipation (1 − d v)₊ becomes zero, which
//! it does before the lift-off where bodies separate faster than 1/d: the force is zero there and its slope jumps, not
//! the force.
//!
//! # Where they end
//! Where several features touch at the same time, on different sides of which different ones would touch first, the time
//! has a kink ([`Event::is_unique`]). Times and features are those of the discrete motion: where a small change of a
//! parameter has an error-controlled step take other substeps, the time jumps by the error of these.

mod adjoint;
mod boundary;
mod detector;
mod event;
mod features;
mod find;
mod first_touch;
mod forward;
mod function;
mod kind;
mod locate;
mod loss;
mod piece;

pub use adjoint::event_loss_gradient;
pub use event::Event;
pub use features::{Face, Features};
pub use forward::{EventGradient, event_gradients};
pub use kind::EventKind;
pub use loss::{EventLoss, EventMoment};
