//! Contact between the bodies of a model. The broad phase says which pairs may touch; their wrenches are
//! taken to the bodies. The derivatives of wrenches are taken to the bodies' states, their materials and the
//! places of their geometries. Sensors read what they feel.

pub(in crate::multibody) mod broad_phase;
pub(in crate::multibody) mod contact_forces;
pub(in crate::multibody) mod contact_sensitivity;
pub(in crate::multibody) mod contact_vjp;
pub(in crate::multibody) mod found_surfaces;
pub(in crate::multibody) mod patch_reading;
pub(in crate::multibody) mod place_sensitivity;
pub(in crate::multibody) mod sensor;
