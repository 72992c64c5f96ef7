//! A contact surface as a set of compliant point contacts over a time step (Masterjohn §IV).
//!
//! Each face becomes one point contact at its centroid, with the elastic force A p and the
//! stiffness k = g A, where g is the two fields' gradient in series along the normal
//! (Masterjohn eq. 23). Where bodies have skirts the pressure that acts is [`onset`] of the fields'
//! and g is multiplied by its slope. The surface and its contacts are those of the start of the step; only
//! the velocity at its end is unknown. All of it is expressed in F's frame (see
//! [`super::roles`]), and wrenches act on O about F's origin.

use std::ops::Range;

use nalgebra::{Matrix3, Matrix6, Vector3, Vector6};

use super::impulse::{FaceConstants, ImpulseLaw};
use super::material::PairMaterial;
use super::onset::onset;
use super::polygon::Polygon;
use super::roles::{ContactPair, Roles};
use super::search::{Equilibrium, for_each_polygon};
use super::settings::ContactSettings;
use super::surface::{Fan, SurfacePolygon};
use super::traction::TractionLaw;
use super::wrench::{Workspace, for_each_point};
use super::{ContactModel, SurfaceRepresentation};
use crate::geometry::{TrianglePoint, triangle_rule};
use crate::scalar::Scalar;
use crate::spatial::{RigidTransform, SpatialForce, SpatialVelocity, cross_matrix};

/// Faces of at most this area in m² are left out (as in Drake).
pub(super) const SMALLEST_AREA: f64 = 1e-14;
/// Faces along whose normal a field grows by less than this, relative to its gradient, are left
/// out: pushing into the body would not raise the pressure (Masterjohn §IV-A).
const SMALLEST_GRADIENT: f64 = 1e-12;

/// Faces on which the pressure that acts grows by less than this part of the fields' pressure are
/// left out: they lie at the outer end of a skirt, and bear the square of it.
pub(super) const SMALLEST_ONSET: f64 = 1e-12;

/// A polygon of the contact surface with its plane and the fields around it.
pub(crate) type FoundPolygon = (Polygon, Equilibrium);

/// The point contacts of any number of patches, as parallel lists.
#[derive(Clone, Debug, Default)]
pub(crate) struct PointContacts {
    /// Position in F's frame.
    pub position: Vec<Vector3<f64>>,
    /// Unit normal out of F, into O.
    pub normal: Vec<Vector3<f64>>,
    /// What the impulse depends on.
    pub constants: Vec<FaceConstants<f64>>,
    /// The polygons that the contacts come from.
    pub polygons: Vec<FoundPolygon>,
    /// Whether the polygons are kept: derivatives take them.
    pub keep_polygons: bool,
    /// Normal impulses in N s that TAMSI's friction is taken from while they are held; empty
    /// otherwise.
    pub frozen_normal: Vec<f64>,
    /// For each contact the direction of friction w that the negative derivative of the impulse
    /// is taken with ([`DiscretePatch::turn_friction`]); empty where it is that at the velocity.
    pub friction_direction: Vec<Vector3<f64>>,
}

impl PointContacts {
    /// Forgets all contacts, not the memory.
    pub fn clear(&mut self) {
        self.position.clear();
        self.normal.clear();
        self.constants.clear();
        self.polygons.clear();
        self.frozen_normal.clear();
        self.friction_direction.clear();
    }
}

/// What the contacts of a step have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiscreteSettings<'a> {
    /// How the surface is found and cut into faces.
    pub contact: &'a ContactSettings,
    /// The contact model.
    pub model: ContactModel,
    /// Length of the step, s.
    pub dt: f64,
}

impl DiscreteSettings<'_> {
    /// The law of a pair's impulses.
    pub fn law<T: Scalar>(&self, pair: &PairMaterial<T>) -> ImpulseLaw<T> {
        ImpulseLaw {
            model: self.model,
            dt: self.dt,
            stiction_velocity: self.contact.stiction_velocity,
            friction: pair.dynamic_friction,
            relaxation_time: pair.relaxation_time,
        }
    }
}

/// The contacts of one pair of bodies.
#[derive(Clone, Debug)]
pub(crate) struct DiscretePatch {
    /// The law of the impulses.
    pub law: ImpulseLaw<f64>,
    /// Its contacts in [`PointContacts`].
    pub contacts: Range<usize>,
    /// Its polygons in [`PointContacts::polygons`].
    pub polygons: Range<usize>,
    /// Pose of F in the world.
    pub x_wf: RigidTransform<f64>,
    /// Whether A is O (else A is F).
    pub a_is_o: bool,
    /// The inverse inertia Λ that the pair's relative motion feels, for SAP; zero otherwise.
    pub inverse_inertia: Matrix6<f64>,
    /// Whether the meshes are aligned exactly somewhere.
    pub aligned: bool,
}

/// How far a model lifts sliding bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Glide {
    /// Slip velocity, averaged over the normal impulse, m/s.
    pub slip_velocity: f64,
    /// The gap that the model opens at that velocity, m.
    pub gap: f64,
    /// The depth at which elastic forces alone would balance the normal impulse, m.
    pub depth: f64,
    /// The part of the normal impulse that acts between faces that have parted at the end of
    /// the step: without the gap they would bear nothing.
    pub across_gap: f64,
}

/// One point per face: the rule of order 1 on triangles.
pub(crate) fn one_point() -> &'static [TrianglePoint] {
    triangle_rule(1).unwrap_or(&[])
}

/// The two fields' gradient in series along a polygon's normal, or `None` where the polygon is
/// left out.
#[inline]
pub(crate) fn usable_gradient<T: Scalar>(
    polygon: &SurfacePolygon<T>,
    equilibrium: &Equilibrium,
) -> Option<T> {
    let grows = |along: T, gradient: &Vector3<f64>| along.real() > SMALLEST_GRADIENT * gradient.norm();
    if !grows(polygon.gradient_f, &equilibrium.pressure.gradient) {
        return None;
    }
    if let (Some(along), Some(gradient)) = (polygon.gradient_o, &equilibrium.gradient_o)
        && !grows(along, gradient)
    {
        return None;
    }
    Some(polygon.gradient_in_series())
}

/// The inverse inertia w that a contact at `x` feels, 1/kg: ‖L Λ Lᵀ‖/3 with the velocity
/// L = (−\[x\]× 1) of the point by the relative motion (arXiv 2110.10107, eq. 36).
#[inline]
pub(crate) fn point_inverse_inertia<T: Scalar>(inverse_inertia: &Matrix6<T>, x: &Vector3<T>) -> T {
    let w = point_block(inverse_inertia, x);
    // Positive definite, so that the root is never of zero.
    w.iter().fold(T::from(0.0), |sum, &e| sum + e * e).sqrt() * (1.0 / 3.0)
}

/// L Λ Lᵀ.
#[inline]
pub(crate) fn point_block<T: Scalar>(inverse_inertia: &Matrix6<T>, x: &Vector3<T>) -> Matrix3<T> {
    let lever = cross_matrix(x);
    let block =
        |row: usize, column: usize| Matrix3::from_fn(|i, k| inverse_inertia[(3 * row + i, 3 * column + k)]);
    let coupled = lever * block(0, 1);
    block(1, 1) - coupled - coupled.transpose() - lever * block(0, 0) * lever
}

/// The constants of a face's impulse, from the pressure that acts and its gradient.
#[inline]
#[allow(clippy::too_many_arguments, reason = "what a face is, and what its pair has in common")]
pub(crate) fn face_constants<T: Scalar>(
    model: ContactModel,
    x: &Vector3<T>,
    normal: &Vector3<T>,
    pressure: T,
    area: T,
    gradient: T,
    dissipation: T,
    before: &SpatialVelocity<T>,
    inverse_inertia: &Matrix6<T>,
) -> FaceConstants<T> {
    let history = match model {
        ContactModel::Lagged => (before.translational + before.rotational.cross(x)).dot(normal),
        ContactModel::Sap => point_inverse_inertia(inverse_inertia, x),
        ContactModel::Similar | ContactModel::Tamsi => T::from(0.0),
    };
    FaceConstants { load: pressure * area, stiffness: gradient * area, dissipation, history }
}

/// Adds the contacts between two bodies to `contacts`; `None` if there are none. The velocities
/// of `pair` are those before the step. `inverse_inertia` is asked for Λ, in F's frame and about
/// its origin, by SAP alone.
pub(crate) fn find_contacts(
    pair: &ContactPair,
    settings: &DiscreteSettings,
    inverse_inertia: impl FnOnce(&Roles<f64>) -> Matrix6<f64>,
    workspace: &mut Workspace,
    contacts: &mut PointContacts,
) -> Option<DiscretePatch> {
    let roles = Roles::new(pair)?;
    contacts_of(
        &roles,
        &TractionLaw::new(&roles, settings.contact),
        settings,
        inverse_inertia,
        workspace,
        contacts,
    )
}

/// [`find_contacts`] between bodies whose roles are known, with the given dissipation. The
/// velocity of `roles` is that before the step.
pub(super) fn contacts_of(
    roles: &Roles<f64>,
    traction: &TractionLaw<f64>,
    settings: &DiscreteSettings,
    inverse_inertia: impl FnOnce(&Roles<f64>) -> Matrix6<f64>,
    workspace: &mut Workspace,
    contacts: &mut PointContacts,
) -> Option<DiscretePatch> {
    let law = settings.law(traction.pair());
    let (width, _) = roles.onset_width();
    let (first_contact, first_polygon) = (contacts.position.len(), contacts.polygons.len());
    let mut aligned = false;
    let mut polygon = SurfacePolygon::empty();
    let mut lambda = Matrix6::zeros();
    let mut inverse_inertia = Some(inverse_inertia);
    for_each_polygon(roles, settings.contact.face_filter, &mut workspace.stack, |found, equilibrium| {
        polygon.set_real(found, equilibrium);
        let Some(gradient) = usable_gradient(&polygon, equilibrium) else { return };
        if settings.model == ContactModel::Sap
            && let Some(inverse_inertia) = inverse_inertia.take()
        {
            lambda = inverse_inertia(roles);
        }
        let dissipation = traction.dissipation(&polygon);
        let fan = Fan::new(&polygon, settings.contact.surface);
        let before = contacts.position.len();
        for_each_point(&polygon, &fan, settings.contact.surface, one_point(), |x, p, a| {
            let (p, slope) = onset(p, width);
            if a <= SMALLEST_AREA || slope <= SMALLEST_ONSET {
                return;
            }
            let (n, gradient) = (&polygon.normal, gradient * slope);
            let (model, v) = (settings.model, &roles.v_fo);
            contacts.position.push(*x);
            contacts.normal.push(*n);
            contacts.constants.push(face_constants(model, x, n, p, a, gradient, dissipation, v, &lambda));
        });
        if contacts.position.len() > before {
            if contacts.keep_polygons {
                contacts.polygons.push((*found, *equilibrium));
            }
            aligned |= found.aligned;
        }
    });
    if contacts.position.len() == first_contact {
        return None;
    }
    Some(DiscretePatch {
        law,
        contacts: first_contact..contacts.position.len(),
        polygons: first_polygon..contacts.polygons.len(),
        x_wf: roles.x_wf,
        a_is_o: roles.a_is_o,
        inverse_inertia: lambda,
        aligned,
    })
}

/// The part of a velocity normal to a face, and its tangential part.
#[inline(always)]
pub(crate) fn split<T: Scalar>(v: &Vector3<T>, n: &Vector3<T>) -> (T, Vector3<T>) {
    let v_n = v.dot(n);
    (v_n, v - n * v_n)
}

impl DiscretePatch {
    /// The normal impulse that a contact's friction is taken from, if it is held.
    #[inline(always)]
    fn frozen(contacts: &PointContacts, i: usize) -> Option<f64> {
        contacts.frozen_normal.get(i).copied()
    }

    /// The impulse on O about F's origin, and its negative derivative by the velocity: both rows
    /// and columns rotational, then translational. `v` is the velocity of O relative to F at F's
    /// origin, in F.
    ///
    /// Where directions of friction are held the derivative of friction is that of S ρ w instead,
    /// made symmetric: S (1 − ½ (w uᵀ + u wᵀ)) with u = v_t/ρ, see [`Self::turn_friction`].
    pub fn impulse(&self, contacts: &PointContacts, v: &Vector6<f64>) -> (Vector6<f64>, Matrix6<f64>) {
        let (angular, linear) = (Vector3::new(v[0], v[1], v[2]), Vector3::new(v[3], v[4], v[5]));
        let (mut torque, mut force) = (Vector3::zeros(), Vector3::zeros());
        // −∂γ/∂v of a contact is S 1 + n̂ aᵀ + v_t bᵀ with a and b in the plane of n̂ and v_t. As
        // functions of the relative motion n̂ and v_t become p = (x × n̂, n̂) and q alike; the sums
        // of S, S x and S x xᵀ make up the first part.
        let (mut slip, mut slip_x, mut slip_xx) = (0.0, Vector3::zeros(), Matrix3::zeros());
        let mut hessian = Matrix6::zeros();
        for i in self.contacts.clone() {
            let (x, n) = (&contacts.position[i], &contacts.normal[i]);
            let (v_n, v_t) = split(&(linear + angular.cross(x)), n);
            let frozen = Self::frozen(contacts, i);
            let slopes = self.law.slopes(&contacts.constants[i], v_n, v_t.norm_squared(), frozen);
            if slopes.normal == 0.0 && slopes.slip == 0.0 {
                continue;
            }
            let gamma = n * slopes.normal - v_t * slopes.slip;
            force += gamma;
            torque += x.cross(&gamma);
            let scaled = x * slopes.slip;
            slip += slopes.slip;
            slip_x += scaled;
            slip_xx += scaled * x.transpose();
            let wrench = |d: &Vector3<f64>| {
                let m = x.cross(d);
                Vector6::new(m.x, m.y, m.z, d.x, d.y, d.z)
            };
            let (p, q) = (wrench(n), wrench(&v_t));
            let a = p * (-slopes.normal_by[0] - slopes.slip) - q * (2.0 * slopes.normal_by[1]);
            let b = p * slopes.slip_by[0] + q * (2.0 * slopes.slip_by[1]);
            if let Some(w) = contacts.friction_direction.get(i)
                && let Some(rho) = self.law.slip_scale(&contacts.constants[i], v_n, v_t.norm_squared())
            {
                let turned = wrench(&(v_t - w * rho)) * (0.5 * slopes.slip / (rho * rho));
                hessian += turned * q.transpose() + q * turned.transpose();
            }
            for k in 0..6 {
                for i in 0..6 {
                    hessian[(i, k)] += p[i] * a[k] + q[i] * b[k];
                }
            }
        }
        // Lᵀ L with the velocity L = (−[x]× 1) of a point.
        let lever = cross_matrix(&slip_x);
        let square = slip_xx.trace();
        for k in 0..3 {
            for i in 0..3 {
                hessian[(i, k)] -= slip_xx[(i, k)];
                hessian[(i, 3 + k)] += lever[(i, k)];
                hessian[(3 + i, k)] -= lever[(i, k)];
            }
            hessian[(k, k)] += square;
            hessian[(3 + k, 3 + k)] += slip;
        }
        (Vector6::new(torque.x, torque.y, torque.z, force.x, force.y, force.z), hessian)
    }

    /// The power of the impulse along a change `dv` of the velocity from `v`, dvᵀ w(v), and its
    /// negative derivative along `dv`.
    pub fn along(&self, contacts: &PointContacts, v: &Vector6<f64>, dv: &Vector6<f64>) -> (f64, f64) {
        let part = |v: &Vector6<f64>, k: usize| Vector3::new(v[k], v[k + 1], v[k + 2]);
        let (angular, linear) = (part(v, 0), part(v, 3));
        let (d_angular, d_linear) = (part(dv, 0), part(dv, 3));
        let (mut power, mut curvature) = (0.0, 0.0);
        for i in self.contacts.clone() {
            let (x, n) = (&contacts.position[i], &contacts.normal[i]);
            let (v_n, v_t) = split(&(linear + angular.cross(x)), n);
            let (d_n, d_t) = split(&(d_linear + d_angular.cross(x)), n);
            let frozen = Self::frozen(contacts, i);
            let slopes = self.law.slopes(&contacts.constants[i], v_n, v_t.norm_squared(), frozen);
            let turning = v_t.dot(&d_t);
            power += slopes.normal * d_n - slopes.slip * turning;
            let d_normal = slopes.normal_by[0] * d_n + slopes.normal_by[1] * 2.0 * turning;
            let d_slip = slopes.slip_by[0] * d_n + slopes.slip_by[1] * 2.0 * turning;
            curvature -= d_normal * d_n - d_slip * turning - slopes.slip * d_t.norm_squared();
        }
        (power, curvature)
    }

    /// Calls `visit` with every contact's number in [`PointContacts`] and its normal impulse at
    /// the velocity `v`.
    pub fn for_each_normal(
        &self,
        contacts: &PointContacts,
        v: &Vector6<f64>,
        mut visit: impl FnMut(usize, f64),
    ) {
        let (angular, linear) = (Vector3::new(v[0], v[1], v[2]), Vector3::new(v[3], v[4], v[5]));
        for i in self.contacts.clone() {
            let (v_n, v_t) = split(&(linear + angular.cross(&contacts.position[i])), &contacts.normal[i]);
            visit(i, self.law.impulse(&contacts.constants[i], v_n, v_t.norm_squared()).normal);
        }
    }

    /// Turns the directions of friction w as far as the change `dv` of the velocity from `v` asks
    /// for, with a part of length 1 at most.
    ///
    /// Friction is −S v_t = −μ γ_n w with ρ w = v_t, where ρ is the slip velocity or its
    /// regularized norm. Newton's method on v alone takes the radial stiffness of friction for
    /// zero and passes by v_t = 0, where it is largest. It converges in far fewer iterations if w
    /// is an unknown of its own and ρ w = v_t is made linear in both (Chan, Golub, Mulet 1999,
    /// SIAM J. Sci. Comput. 20(6); with this projection Hintermüller & Stadler 2006, 28(1)).
    pub fn turn_friction(
        &self,
        contacts: &PointContacts,
        v: &Vector6<f64>,
        dv: &Vector6<f64>,
        directions: &mut [Vector3<f64>],
    ) {
        let part = |v: &Vector6<f64>, k: usize| Vector3::new(v[k], v[k + 1], v[k + 2]);
        for i in self.contacts.clone() {
            let (x, n, constants) = (&contacts.position[i], &contacts.normal[i], &contacts.constants[i]);
            let at = |v: &Vector6<f64>| split(&(part(v, 3) + part(v, 0).cross(x)), n);
            let ((v_n, v_t), (_, change)) = (at(v), at(dv));
            let (s, w) = (v_t.norm_squared(), &mut directions[i]);
            if let Some(rho) = self.law.slip_scale(constants, v_n, s) {
                *w = (v_t + change - *w * (v_t.dot(&change) / rho)) / rho;
            } else {
                let impulse = self.law.impulse(constants, v_n, s);
                let sticks = impulse.normal > 0.0 && self.law.friction > 0.0;
                let scale = if sticks { impulse.slip / (self.law.friction * impulse.normal) } else { 0.0 };
                *w = (v_t + change) * scale;
            }
            *w /= w.norm().max(1.0);
        }
    }

    /// Calls `visit` with the slip velocity of every contact that bears load at the velocity `v`,
    /// and with its change along `dv`.
    pub fn for_each_slip(
        &self,
        contacts: &PointContacts,
        v: &Vector6<f64>,
        dv: &Vector6<f64>,
        visit: &mut impl FnMut(&Vector3<f64>, &Vector3<f64>),
    ) {
        let part = |v: &Vector6<f64>, k: usize| Vector3::new(v[k], v[k + 1], v[k + 2]);
        for i in self.contacts.clone() {
            let (x, n) = (&contacts.position[i], &contacts.normal[i]);
            let at = |v: &Vector6<f64>| split(&(part(v, 3) + part(v, 0).cross(x)), n);
            let (v_n, v_t) = at(v);
            if self.law.impulse(&contacts.constants[i], v_n, v_t.norm_squared()).normal > 0.0 {
                visit(&v_t, &at(dv).1);
            }
        }
    }

    /// What the model's gap under sliding is, at the velocity `v`; `None` for models without one,
    /// and where no contact bears load.
    pub fn glide(&self, contacts: &PointContacts, v: &Vector6<f64>) -> Option<Glide> {
        let time = self.law.gap_time()?;
        let (angular, linear) = (Vector3::new(v[0], v[1], v[2]), Vector3::new(v[3], v[4], v[5]));
        let (mut impulse, mut across, mut slip, mut stiffness) = (0.0, 0.0, 0.0, 0.0);
        for i in self.contacts.clone() {
            let (v_n, v_t) = split(&(linear + angular.cross(&contacts.position[i])), &contacts.normal[i]);
            let constants = &contacts.constants[i];
            let normal = self.law.impulse(constants, v_n, v_t.norm_squared()).normal;
            if normal > 0.0 {
                if constants.stiffness * v_n * time > constants.load {
                    across += normal;
                }
                impulse += normal;
                slip += normal * v_t.norm();
                stiffness += self.law.stiffness_at_rest(constants);
            }
        }
        if impulse == 0.0 {
            return None;
        }
        let slip_velocity = slip / impulse;
        let gap = time * self.law.friction * slip_velocity;
        let depth = impulse / (self.law.dt * stiffness);
        Some(Glide { slip_velocity, gap, depth, across_gap: across / impulse })
    }

    /// The cost of the patch's impulses, J; `None` for TAMSI.
    pub fn cost(&self, contacts: &PointContacts, v: &Vector6<f64>) -> Option<f64> {
        let (angular, linear) = (Vector3::new(v[0], v[1], v[2]), Vector3::new(v[3], v[4], v[5]));
        self.contacts.clone().try_fold(0.0, |sum, i| {
            let (v_n, v_t) = split(&(linear + angular.cross(&contacts.position[i])), &contacts.normal[i]);
            Some(sum + self.law.cost(&contacts.constants[i], v_n, v_t.norm_squared())?)
        })
    }
}

/// The impulse on O about F's origin in F, in scalars of any kind, over polygons that have been
/// found. `before` and `after` are the velocities of O relative to F at F's origin, before and
/// after the step; the velocity of `roles` is not used.
pub(crate) fn discrete_impulse<T: Scalar>(
    roles: &Roles<T>,
    settings: &DiscreteSettings,
    polygons: &[FoundPolygon],
    inverse_inertia: &Matrix6<T>,
    before: &SpatialVelocity<T>,
    after: &SpatialVelocity<T>,
) -> SpatialForce<T> {
    let traction = TractionLaw::new(roles, settings.contact);
    let law = settings.law(traction.pair());
    let surface: SurfaceRepresentation = settings.contact.surface;
    let (width, _) = roles.onset_width();
    let mut sum = SpatialForce::zero();
    let mut polygon = SurfacePolygon::empty();
    for (found, equilibrium) in polygons {
        polygon.set(roles, found, equilibrium);
        let Some(gradient) = usable_gradient(&polygon, equilibrium) else { continue };
        let dissipation = traction.dissipation(&polygon);
        let fan = Fan::new(&polygon, surface);
        let n = &polygon.normal;
        for_each_point(&polygon, &fan, surface, one_point(), |x, p, a| {
            let (p, slope) = onset(p, width);
            if a.real() <= SMALLEST_AREA || slope.real() <= SMALLEST_ONSET {
                return;
            }
            let gradient = gradient * slope;
            let model = settings.model;
            let constants = face_constants(model, x, n, p, a, gradient, dissipation, before, inverse_inertia);
            let (v_n, v_t) = split(&(after.translational + after.rotational.cross(x)), n);
            let impulse = law.impulse(&constants, v_n, v_t.dot(&v_t));
            let gamma = n * impulse.normal - v_t * impulse.slip;
            sum += SpatialForce::new(x.cross(&gamma), gamma);
        });
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    /// A patch of three contacts, and a velocity at which they slide or (SAP's first) stick.
    fn patch(model: ContactModel) -> (DiscretePatch, PointContacts, Vector6<f64>) {
        let contacts = PointContacts {
            position: vec![
                Vector3::new(0.0, 0.0, 0.01),
                Vector3::new(0.1, -0.05, 0.0),
                Vector3::new(-0.03, 0.08, 0.02),
            ],
            normal: vec![Vector3::z(), Vector3::new(0.6, 0.0, 0.8), Vector3::new(0.0, -0.28, 0.96)],
            constants: vec![FaceConstants { load: 3.0, stiffness: 4e3, dissipation: 0.5, history: 0.02 }; 3],
            ..PointContacts::default()
        };
        let law =
            ImpulseLaw { model, dt: 1e-3, stiction_velocity: 1e-2, friction: 0.5, relaxation_time: 2e-3 };
        let patch = DiscretePatch {
            law,
            contacts: 0..3,
            polygons: 0..0,
            x_wf: RigidTransform::identity(),
            a_is_o: true,
            inverse_inertia: Matrix6::zeros(),
            aligned: false,
        };
        (patch, contacts, Vector6::new(0.3, -0.2, 0.5, 2e-3, 0.0, -0.02))
    }

    const CONVEX: [ContactModel; 3] = [ContactModel::Sap, ContactModel::Lagged, ContactModel::Similar];

    #[test]
    fn directions_of_the_velocity_give_the_derivative() {
        for model in CONVEX {
            let (patch, mut contacts, v) = patch(model);
            let (impulse, exact) = patch.impulse(&contacts, &v);
            // Directions that have followed at an unchanged velocity.
            let mut directions = vec![Vector3::zeros(); 3];
            patch.turn_friction(&contacts, &v, &Vector6::zeros(), &mut directions);
            contacts.friction_direction = directions;
            let (same, held) = patch.impulse(&contacts, &v);
            assert_eq!(impulse, same);
            assert_relative_eq!(exact, held, max_relative = 1e-12, epsilon = 1e-12 * exact.norm());
        }
    }

    #[test]
    fn directions_turn_as_their_equation_asks() {
        // At a small change of the velocity the linearized direction is the new one.
        for model in CONVEX {
            let (patch, contacts, v) = patch(model);
            let dv = Vector6::new(0.1, 0.3, -0.2, 0.1, -0.4, 0.2) * 1e-5;
            let mut turned = vec![Vector3::zeros(); 3];
            patch.turn_friction(&contacts, &v, &Vector6::zeros(), &mut turned);
            patch.turn_friction(&contacts, &v, &dv, &mut turned);
            let mut after = vec![Vector3::zeros(); 3];
            patch.turn_friction(&contacts, &(v + dv), &Vector6::zeros(), &mut after);
            for (a, b) in turned.iter().zip(&after) {
                assert!(a.norm() <= 1.0 + 1e-15);
                assert_relative_eq!(a, b, epsilon = 1e-5);
            }
        }
    }

    #[test]
    fn held_directions_keep_the_matrix_positive() {
        for model in CONVEX {
            let (patch, mut contacts, v) = patch(model);
            for turn in 0..20 {
                let angle = f64::from(turn);
                let w = Vector3::new(angle.cos(), angle.sin(), 0.0);
                contacts.friction_direction = contacts.normal.iter().map(|n| split(&w, n).1).collect();
                let (_, held) = patch.impulse(&contacts, &v);
                assert_relative_eq!(held, held.transpose(), epsilon = 1e-12 * held.norm());
                let least = held.symmetric_eigenvalues().min();
                assert!(least > -1e-12 * held.norm(), "{model:?}: {least:e}");
            }
        }
    }
}
