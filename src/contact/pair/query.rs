//! The roles of the two bodies in a contact query.
//!
//! A query runs in the frame of one compliant body, F. The other body, O, contributes the
//! polygons: sections of its tetrahedra by the equilibrium planes, its rigid triangles, or its
//! half-space. Of two compliant bodies F is the softer one: the pressure is evaluated in F's field,
//! where the rounding of a position matters least.

use crate::contact::pair::collider::{Collider, ContactGeometry};
use crate::field::{PressureField, RigidSurface};
use crate::scalar::Scalar;
use crate::spatial::{RigidTransform, SpatialVelocity};

/// Two bodies that may touch, with the poses and velocities of their geometry frames in the world W.
#[derive(Clone, Debug)]
pub struct ContactPair<'a, T = f64> {
    /// Body A.
    pub a: &'a Collider<T>,
    /// Pose of A's geometry frame in the world.
    pub x_wa: RigidTransform<T>,
    /// Spatial velocity of A's geometry frame in the world.
    pub v_wa: SpatialVelocity<T>,
    /// Body B.
    pub b: &'a Collider<T>,
    /// Pose of B's geometry frame in the world.
    pub x_wb: RigidTransform<T>,
    /// Spatial velocity of B's geometry frame in the world.
    pub v_wb: SpatialVelocity<T>,
}

impl<'a, T: Scalar> ContactPair<'a, T> {
    /// Two bodies at rest.
    pub fn at_rest(
        a: &'a Collider<T>,
        x_wa: RigidTransform<T>,
        b: &'a Collider<T>,
        x_wb: RigidTransform<T>,
    ) -> Self {
        Self { a, x_wa, v_wa: SpatialVelocity::zero(), b, x_wb, v_wb: SpatialVelocity::zero() }
    }
}

impl<T: Scalar> ContactPair<'_, T> {
    /// The pair without its derivatives; `a` and `b` are its colliders without theirs.
    pub(crate) fn real<'c>(&self, a: &'c Collider, b: &'c Collider) -> ContactPair<'c> {
        ContactPair {
            a,
            x_wa: self.x_wa.real(),
            v_wa: self.v_wa.real(),
            b,
            x_wb: self.x_wb.real(),
            v_wb: self.v_wb.real(),
        }
    }
}

impl ContactPair<'_> {
    /// The pair in another scalar, without derivatives; `a` and `b` are its colliders in that scalar.
    pub(crate) fn lift<'c, T: Scalar>(&self, a: &'c Collider<T>, b: &'c Collider<T>) -> ContactPair<'c, T> {
        ContactPair {
            a,
            x_wa: RigidTransform::lift(&self.x_wa),
            v_wa: SpatialVelocity::lift(&self.v_wa),
            b,
            x_wb: RigidTransform::lift(&self.x_wb),
            v_wb: SpatialVelocity::lift(&self.v_wb),
        }
    }
}

/// Why two geometries cannot be in contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContactError {
    /// Both are rigid.
    #[error(
        "both geometries are rigid, so there is no pressure between them; \
         give one of them a material with a hydroelastic modulus instead of `rigid = true`, \
         or simulate with the solver `lagged`, `similar`, `tamsi`, `sap` or `radau`, \
         or with `ecp`, `lcp` or `ncp`"
    )]
    RigidRigid,
    /// Both are half-spaces.
    #[error("both geometries are half-spaces, whose overlap is unbounded; make one of them a finite shape")]
    HalfSpaces,
}

/// Whether two geometries can be in contact.
///
/// # Errors
/// For two rigid geometries and for two half-spaces.
pub fn check_pair(a: &ContactGeometry, b: &ContactGeometry) -> Result<(), ContactError> {
    if a.is_half_space() && b.is_half_space() {
        Err(ContactError::HalfSpaces)
    } else if a.is_rigid() && b.is_rigid() {
        Err(ContactError::RigidRigid)
    } else {
        Ok(())
    }
}

/// The geometries of the two bodies in their roles.
#[derive(Clone, Copy)]
pub(crate) enum Parts<'a> {
    /// Tetrahedra against tetrahedra.
    TwoFields {
        /// O's field.
        o: &'a PressureField,
        /// F's field.
        f: &'a PressureField,
    },
    /// Rigid triangles against tetrahedra.
    SurfaceInField {
        /// O's triangles.
        o: &'a RigidSurface,
        /// F's field.
        f: &'a PressureField,
    },
    /// A half-space, compliant or rigid, against tetrahedra.
    HalfSpaceInField {
        /// Whether the half-space O is rigid.
        rigid: bool,
        /// F's field.
        f: &'a PressureField,
    },
    /// Rigid triangles against a compliant half-space.
    SurfaceInHalfSpace {
        /// O's triangles.
        o: &'a RigidSurface,
    },
    /// Two rigid bodies, which have no pressure: they touch in features.
    TwoRigid,
}

/// A pair of bodies seen from F.
pub(crate) struct Roles<'a, T> {
    /// The geometries.
    pub parts: Parts<'a>,
    /// Body O.
    pub o: &'a Collider<T>,
    /// Body F.
    pub f: &'a Collider<T>,
    /// Whether A is O (else A is F).
    pub a_is_o: bool,
    /// Pose of O in F.
    pub x_fo: RigidTransform<T>,
    /// Velocity of O's material relative to F's, at F's origin, expressed in F.
    pub v_fo: SpatialVelocity<T>,
    /// Pose of F in the world.
    pub x_wf: RigidTransform<T>,
}

impl<'a, T: Scalar> Roles<'a, T> {
    /// Assigns the roles of bodies of which one has a pressure.
    ///
    /// # Errors
    /// For pairs that [`check_pair`] refuses.
    pub fn new(pair: &ContactPair<'a, T>) -> Result<Self, ContactError> {
        let roles = Self::of_step(pair)?;
        if roles.are_rigid() { Err(ContactError::RigidRigid) } else { Ok(roles) }
    }

    /// Assigns the roles of bodies in a velocity-level step, of which both may be rigid.
    ///
    /// # Errors
    /// For two half-spaces.
    pub fn of_step(pair: &ContactPair<'a, T>) -> Result<Self, ContactError> {
        use ContactGeometry as G;
        let (a, b) = (pair.a.geometry.as_ref(), pair.b.geometry.as_ref());
        let (parts, a_is_o) = match (a, b) {
            // The pressure is evaluated from F's field: the softer one's, as the rounding of the
            // harder one's grows with its modulus.
            (G::Compliant(of_a), G::Compliant(of_b)) => {
                let modulus = |c: &Collider<T>| c.material.hydroelastic_modulus.real();
                if modulus(pair.a) >= modulus(pair.b) {
                    (Parts::TwoFields { o: of_a, f: of_b }, true)
                } else {
                    (Parts::TwoFields { o: of_b, f: of_a }, false)
                }
            }
            (G::Rigid(o), G::Compliant(f)) => (Parts::SurfaceInField { o, f }, true),
            (G::Compliant(f), G::Rigid(o)) => (Parts::SurfaceInField { o, f }, false),
            (G::RigidHalfSpace | G::CompliantHalfSpace, G::Compliant(f)) => {
                (Parts::HalfSpaceInField { rigid: a.is_rigid(), f }, true)
            }
            (G::Compliant(f), G::RigidHalfSpace | G::CompliantHalfSpace) => {
                (Parts::HalfSpaceInField { rigid: b.is_rigid(), f }, false)
            }
            (G::Rigid(o), G::CompliantHalfSpace) => (Parts::SurfaceInHalfSpace { o }, true),
            (G::CompliantHalfSpace, G::Rigid(o)) => (Parts::SurfaceInHalfSpace { o }, false),
            (G::Rigid(_) | G::RigidHalfSpace, G::Rigid(_)) | (G::Rigid(_), G::RigidHalfSpace) => {
                (Parts::TwoRigid, true)
            }
            (G::RigidHalfSpace | G::CompliantHalfSpace, G::RigidHalfSpace | G::CompliantHalfSpace) => {
                return Err(ContactError::HalfSpaces);
            }
        };
        let (o, x_wo, v_wo, f, x_wf, v_wf) = if a_is_o {
            (pair.a, &pair.x_wa, &pair.v_wa, pair.b, &pair.x_wb, &pair.v_wb)
        } else {
            (pair.b, &pair.x_wb, &pair.v_wb, pair.a, &pair.x_wa, &pair.v_wa)
        };
        let p_fo_w = x_wo.translation - x_wf.translation;
        let r_fw = x_wf.rotation.transpose();
        let x_fo = RigidTransform::new(r_fw * x_wo.rotation, r_fw * p_fo_w);
        let v_fo = (v_wo.shifted(&-p_fo_w) - *v_wf).rotated(&r_fw);
        Ok(Self { parts, o, f, a_is_o, x_fo, v_fo, x_wf: *x_wf })
    }

    /// Whether both bodies are rigid.
    pub fn are_rigid(&self) -> bool {
        matches!(self.parts, Parts::TwoRigid)
    }

    /// The width of the onset of the pressure, Pa (see [`crate::contact::onset`]). In its skirt the
    /// pressure of each compliant body falls below zero by some amount; the width is the smaller of the
    /// two amounts. Also returns whether the smaller amount is that of O; if both are equal, it is that
    /// of F.
    pub fn onset_width(&self) -> (T, bool) {
        let (of_o, of_f) = (self.o.skirt_pressure(), self.f.skirt_pressure());
        if !self.o.geometry.is_rigid() && of_o.real() < of_f.real() { (of_o, true) } else { (of_f, false) }
    }
}
