//! A contact surface as a set of compliant point contacts over a time step (Masterjohn §IV).
//!
//! Each point of a face becomes a point contact, with the elastic force A p and the stiffness k = A g of its column
//! (see [`crate::contact::impulse::column`]). Where bodies have skirts the pressure that acts is [`onset`] of the fields'
//! and g is multiplied by its slope. The surface and its contacts are those of the start of the step; only
//! the velocity at its end is unknown. All of it is expressed in F's frame (see
//! [`crate::contact::pair::query`]), and wrenches act on O about F's origin, those of a [`DiscretePatch`] about a
//! point of its own.

use std::ops::Range;

use nalgebra::{Matrix3, Matrix6, Vector3};

use crate::contact::ContactModel;
use crate::contact::features::Features;
use crate::contact::force::skirt_onset::onset;
use crate::contact::force::traction::TractionLaw;
use crate::contact::force::wrench::for_each_point;
use crate::contact::impulse::bristles::{BristleLaw, Deflection, slip_shift};
use crate::contact::impulse::column::{Asked, Columns, End, face_gradient};
use crate::contact::impulse::face_rule::FaceRule;
use crate::contact::impulse::face_velocity::split;
use crate::contact::impulse::law::{FaceConstants, ImpulseLaw, OwnImpulse};
use crate::contact::impulse::law_vectorized::Regularization;
use crate::contact::impulse::rigid::rigid_contacts;
use crate::contact::pair::material::PairMaterial;
use crate::contact::pair::query::{ContactPair, Roles};
use crate::contact::settings::{ContactSettings, FaceFilter};
use crate::contact::surface::equilibrium::Equilibrium;
use crate::contact::surface::fan::Fan;
use crate::contact::surface::polygon::Polygon;
use crate::contact::surface::search::for_each_polygon;
use crate::contact::surface::surface_polygon::{SurfacePolygon, lifted, moved, tetrahedron_planes};
use crate::contact::surface::workspace::Workspace;
use crate::field::LinearFunction;
use crate::scalar::{Scalar, real_vector, with_registers};
use crate::spatial::{RigidTransform, SpatialForce, SpatialVelocity, cross_matrix};

/// Faces of at most this area in m² are left out (as in Drake).
pub(in crate::contact) const SMALLEST_AREA: f64 = 1e-14;

/// Faces on which the pressure that acts grows by less than this part of the fields' pressure are
/// left out: they lie at the outer end of a skirt, and bear the square of it.
pub(in crate::contact) const SMALLEST_ONSET: f64 = 1e-12;

/// A polygon of the contact surface with its plane and the fields around it.
pub(crate) type FoundPolygon = (Polygon, Equilibrium);

/// The point contacts of any number of patches, as parallel lists.
#[derive(Clone, Debug, Default)]
pub(crate) struct PointContacts {
    /// Position in F's frame, from [`DiscretePatch::origin`].
    pub position: Vec<Vector3<f64>>,
    /// Unit normal out of F, into O.
    pub normal: Vec<Vector3<f64>>,
    /// What the impulse depends on.
    pub constants: Vec<FaceConstants<f64>>,
    /// Coefficients of friction, of all contacts of pairs whose static friction is another than their dynamic
    /// friction ([`ImpulseLaw::static_friction`]); those of others have any number here, or none.
    pub friction: Vec<f64>,
    /// With bristles the shift z/(δt + τ) of each contact's slip velocity, m/s (see
    /// [`crate::contact::impulse::bristles`]); empty without.
    pub slip_shift: Vec<Vector3<f64>>,
    /// What SAP's impulse depends on; empty for other models.
    pub regularization: Vec<Regularization>,
    /// The polygons that the contacts come from.
    pub polygons: Vec<FoundPolygon>,
    /// The features of rigid bodies that the contacts come from, which derivatives take.
    pub features: Features,
    /// Whether the polygons are kept: derivatives take them.
    pub keep_polygons: bool,
    /// Normal impulses in N s that TAMSI's friction is taken from while they are held; empty
    /// otherwise.
    pub frozen_normal: Vec<f64>,
    /// For each contact the direction of friction w that is used in the negative derivative of the
    /// impulse ([`DiscretePatch::turn_friction`]). It is empty if the direction is that of the slip
    /// velocity.
    pub friction_direction: Vec<Vector3<f64>>,
}

impl PointContacts {
    /// Forgets all contacts, not the memory.
    pub fn clear(&mut self) {
        self.position.clear();
        self.normal.clear();
        self.constants.clear();
        self.friction.clear();
        self.slip_shift.clear();
        self.regularization.clear();
        self.polygons.clear();
        self.features.pairs.clear();
        self.frozen_normal.clear();
        self.friction_direction.clear();
    }
}

/// What the contacts of a step have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiscreteSettings<'a, T = f64> {
    /// How the surface is found and cut into faces.
    pub contact: &'a ContactSettings<T>,
    pub model: ContactModel,
    /// Length of the step, s.
    pub dt: T,
    /// The mass of the heaviest body, kg, which the stiffness of rigid contacts is in proportion to; it carries no derivative.
    pub heaviest: f64,
}

impl<T: Scalar> DiscreteSettings<'_, T> {
    /// The law of bristles, if steps have them.
    pub fn bristles(&self) -> Option<BristleLaw<T>> {
        let length = self.contact.bristle_length.filter(|_| self.model == ContactModel::Lagged)?;
        Some(BristleLaw { length, stiction_velocity: self.contact.stiction_velocity, dt: self.dt })
    }

    /// The law of a pair's impulses.
    pub fn law(&self, pair: &PairMaterial<T>) -> ImpulseLaw<T> {
        let PairMaterial { static_friction, dynamic_friction: friction, .. } = *pair;
        let own = self.contact.law.filter(|_| !self.model.is_convex()).map(|law| OwnImpulse {
            law,
            static_friction,
            parameters: pair.own,
            part: 1.0,
        });
        // Coefficients that are equal may have derivatives that are not.
        let differs = T::NDERIV > 0 || static_friction.real() != friction.real();
        ImpulseLaw {
            model: self.model,
            dt: self.dt,
            stiction_velocity: self
                .bristles()
                .map_or(self.contact.stiction_velocity, |bristles| bristles.length / bristles.time()),
            fall_velocity: self.contact.stiction_velocity,
            friction,
            static_friction: (own.is_none() && differs).then_some(static_friction),
            relaxation_time: pair.relaxation_time,
            near_rigid: self.contact.face_filter == FaceFilter::Drake,
            sap_stiction: self.contact.sap_stiction,
            own,
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
    /// Of rigid bodies its pairs of features in [`PointContacts::features`].
    pub features: Range<usize>,
    /// Pose of F in the world.
    pub x_wf: RigidTransform<f64>,
    /// The point of F, in its frame, that positions, velocities and impulses of the patch are about:
    /// one of its contacts. About the origin of a half-space, which may be far away, the moments of
    /// a stiff contact would be differences of much larger numbers.
    pub origin: Vector3<f64>,
    /// Whether A is O (else A is F).
    pub a_is_o: bool,
    /// The inverse inertia Λ that the pair's relative motion feels, for SAP; zero otherwise.
    pub inverse_inertia: Matrix6<f64>,
    /// With bristles the rate s/(δt + τ) of the pair's deflection at the start of the step, at F's origin, in F.
    pub deflection_rate: Option<SpatialVelocity>,
    /// Whether the meshes are aligned exactly somewhere.
    pub aligned: bool,
    /// Whether both bodies are rigid.
    pub is_rigid: bool,
    /// Sums over its contacts.
    pub sums: LoadSums,
}

/// Loads, stiffnesses and directions of a patch's contacts together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LoadSums {
    /// Sum of loads, N.
    pub load: f64,
    /// Sum of stiffnesses, N/m.
    pub stiffness: f64,
    /// Sum of loads along the normals out of F, in F, N.
    pub force: Vector3<f64>,
    /// Sum of loads times the middles of their polygons, in F, N m.
    pub moment: Vector3<f64>,
}

impl LoadSums {
    /// The mean over the stiffnesses of the depths at which contacts end, m: no more than their mean over loads.
    pub fn least_depth(&self) -> f64 {
        if self.stiffness > 0.0 { self.load / self.stiffness } else { 0.0 }
    }

    /// The mean of its normals over its loads.
    pub fn normal(&self) -> Vector3<f64> {
        if self.load > 0.0 { self.force / self.load } else { Vector3::zeros() }
    }
}

/// Whether a polygon counts. All do but with [`FaceFilter::Drake`], which leaves out those along whose normal a field does
/// not grow, as Drake does and Masterjohn §IV-A says. A box that lies flat has such faces, where its lateral elements reach
/// the surface; with them the forces are continuous as it tilts.
#[inline]
pub(in crate::contact) fn counts<T: Scalar>(polygon: &SurfacePolygon<T>, filter: FaceFilter) -> bool {
    filter == FaceFilter::None || polygon.fields_grow()
}

/// The inverse effective mass w at a contact at `x`, 1/kg: ‖L Λ Lᵀ‖/3 with the velocity L = (−\[x\]× 1)
/// of the point by the relative motion (arXiv 2110.10107, eq. 36).
#[inline(always)]
pub(crate) fn inverse_effective_mass<T: Scalar>(inverse_inertia: &Matrix6<T>, x: &Vector3<T>) -> T {
    let w = point_block(inverse_inertia, x);
    // Positive definite, so that the root is never of zero.
    w.iter().fold(T::from(0.0), |sum, &e| sum + e * e).sqrt() * (1.0 / 3.0)
}

/// L Λ Lᵀ.
#[inline(always)]
pub(crate) fn point_block<T: Scalar>(inverse_inertia: &Matrix6<T>, x: &Vector3<T>) -> Matrix3<T> {
    let lever = cross_matrix(x);
    let block =
        |row: usize, column: usize| Matrix3::from_fn(|i, k| inverse_inertia[(3 * row + i, 3 * column + k)]);
    let coupled = lever * block(0, 1);
    block(1, 1) - coupled - coupled.transpose() - lever * block(0, 0) * lever
}

/// A face of a contact surface.
struct Face<'a, T> {
    /// A point of it, and its unit normal.
    x: &'a Vector3<T>,
    normal: &'a Vector3<T>,
    /// The pressure that acts, and its gradient along the normal.
    pressure: T,
    gradient: T,
    area: T,
    dissipation: T,
}

/// The constants of a face's impulse, from the velocity before the step and the inverse inertia of the
/// pair.
#[inline(always)]
fn face_constants<T: Scalar>(
    model: ContactModel,
    face: &Face<T>,
    before: &SpatialVelocity<T>,
    inverse_inertia: &Matrix6<T>,
) -> FaceConstants<T> {
    let Face { x, normal, pressure, gradient, area, dissipation } = *face;
    let history = match model {
        ContactModel::Lagged => (before.translational + before.rotational.cross(x)).dot(normal),
        ContactModel::Sap => inverse_effective_mass(inverse_inertia, x),
        ContactModel::Tamsi => pressure,
        ContactModel::Similar => T::from(0.0),
    };
    FaceConstants { load: pressure * area, stiffness: gradient * area, dissipation, history }
}

/// The barycentric coordinate that vanishes at the end of a column in O (0) or in F (1), in F's frame.
#[inline(never)]
pub(in crate::contact) fn end_plane<T: Scalar>(
    roles: &Roles<T>,
    columns: &Columns,
    side: usize,
    end: End,
) -> LinearFunction<T> {
    let (c, pose) = [(roles.o, Some(&roles.x_fo)), (roles.f, None)][side];
    let zero = LinearFunction { gradient: Vector3::zeros(), offset: T::from(0.0) };
    let plane = columns.fields()[side].map_or(zero, |field| {
        let face = usize::from(end.face);
        match &c.vertices {
            None => lifted(&field.tetrahedra()[end.tetrahedron as usize].barycentric[face]),
            Some(_) => tetrahedron_planes(c, field, end.tetrahedron).barycentric[face],
        }
    });
    pose.map_or(plane, |x_fo| moved(x_fo, &plane))
}

/// Adds the contacts between two bodies to `contacts`; `None` if there are none. The velocities
/// of `pair` are those before the step, and so is the `deflection` of its bristles, which is not used where
/// steps have none. `inverse_inertia` is asked for Λ, in F's frame and about its origin, by SAP
/// alone.
pub(crate) fn find_contacts(
    pair: &ContactPair,
    settings: &DiscreteSettings,
    deflection: &Deflection,
    inverse_inertia: impl FnOnce(&Roles<f64>) -> Matrix6<f64>,
    workspace: &mut Workspace,
    contacts: &mut PointContacts,
) -> Option<DiscretePatch> {
    let roles = Roles::of_step(pair).ok()?;
    if roles.are_rigid() {
        return rigid_contacts(&roles, settings, contacts);
    }
    let rate = settings.bristles().map(|law| law.rate(deflection));
    contacts_of(
        &roles,
        &TractionLaw::new(&roles, settings.contact),
        settings,
        rate,
        inverse_inertia,
        workspace,
        contacts,
    )
}

/// [`find_contacts`] between bodies whose roles are known, with the given dissipation and, with bristles, the
/// rate of their deflection. The velocity of `roles` is that before the step.
pub(in crate::contact) fn contacts_of(
    roles: &Roles<f64>,
    traction: &TractionLaw<f64>,
    settings: &DiscreteSettings,
    deflection_rate: Option<SpatialVelocity>,
    inverse_inertia: impl FnOnce(&Roles<f64>) -> Matrix6<f64>,
    workspace: &mut Workspace,
    contacts: &mut PointContacts,
) -> Option<DiscretePatch> {
    let law = settings.law(traction.pair());
    let (width, _) = roles.onset_width();
    let lowest = [roles.o, roles.f].map(|c| c.skirt_pressure());
    let rule = FaceRule::new(&roles.parts, settings.contact);
    let (first_contact, first_polygon) = (contacts.position.len(), contacts.polygons.len());
    let mut aligned = false;
    let mut sums = LoadSums::default();
    let mut polygon = SurfacePolygon::empty();
    let mut columns = Columns::new(roles, &roles.x_fo, settings.contact.face_filter, Asked::Differing);
    let mut lambda = Matrix6::zeros();
    let mut inverse_inertia = Some(inverse_inertia);
    for_each_polygon(roles, settings.contact.face_filter, &mut workspace.search, |found, equilibrium| {
        with_registers(
            #[inline(always)]
            || {
                polygon.set_real(found, equilibrium);
                if !counts(&polygon, settings.contact.face_filter) {
                    return;
                }
                if settings.model == ContactModel::Sap
                    && let Some(inverse_inertia) = inverse_inertia.take()
                {
                    lambda = inverse_inertia(roles);
                }
                let dissipation = traction.dissipation(&polygon);
                let fan = Fan::new(&polygon, rule.surface);
                columns.set(found, &equilibrium.normal);
                let own = polygon.gradient_in_series();
                let (before, load_before) = (contacts.position.len(), sums.load);
                for_each_point(
                    &polygon,
                    &fan,
                    rule.surface,
                    rule.points,
                    #[inline(always)]
                    |x, of_fields, a| {
                        let (p, slope) = onset(of_fields, width);
                        if a <= SMALLEST_AREA || slope <= SMALLEST_ONSET {
                            return;
                        }
                        let gradient = match columns.are_own_at(x) {
                            true => own,
                            false => columns.gradient(&polygon, x, of_fields, &lowest),
                        };
                        let (n, gradient) = (&polygon.normal, gradient * slope);
                        let (model, v) = (settings.model, &roles.v_fo);
                        contacts.position.push(*x);
                        contacts.normal.push(*n);
                        contacts.slip_shift.extend(deflection_rate.map(|rate| slip_shift(&rate, x, n)));
                        let face = Face { x, normal: n, pressure: p, gradient, area: a, dissipation };
                        let constants = face_constants(model, &face, v, &lambda);
                        let mut of_face = &law;
                        let other;
                        if law.static_friction.is_some() {
                            other = law.of_face(v, x, n);
                            of_face = &other;
                            contacts.friction.resize(contacts.position.len() - 1, 0.0);
                            contacts.friction.push(other.friction);
                        }
                        if model == ContactModel::Sap {
                            contacts.regularization.push(of_face.regularization(&constants));
                        }
                        contacts.constants.push(constants);
                        sums.load += constants.load;
                        sums.stiffness += constants.stiffness;
                    },
                );
                if contacts.position.len() > before {
                    let load = sums.load - load_before;
                    sums.force += polygon.normal * load;
                    sums.moment += fan.centroid * load;
                    if contacts.keep_polygons {
                        contacts.polygons.push((*found, *equilibrium));
                    }
                    aligned |= found.aligned;
                }
            },
        );
    });
    let origin = *contacts.position.get(first_contact)?;
    contacts.position[first_contact..].iter_mut().for_each(|x| *x -= origin);
    Some(DiscretePatch {
        law,
        contacts: first_contact..contacts.position.len(),
        polygons: first_polygon..contacts.polygons.len(),
        features: 0..0,
        x_wf: roles.x_wf,
        origin,
        a_is_o: roles.a_is_o,
        inverse_inertia: lambda,
        deflection_rate,
        aligned,
        is_rigid: false,
        sums,
    })
}

/// The impulse on O about F's origin in F, in scalars of any kind, over polygons that have been
/// found. `before` and `after` are the velocities of O relative to F at F's origin, before and
/// after the step; the velocity of `roles` is not used. With bristles `deflection_rate` is that of their
/// deflection before the step.
pub(crate) fn discrete_impulse<T: Scalar>(
    roles: &Roles<T>,
    settings: &DiscreteSettings<T>,
    polygons: &[FoundPolygon],
    inverse_inertia: &Matrix6<T>,
    before: &SpatialVelocity<T>,
    after: &SpatialVelocity<T>,
    deflection_rate: Option<&SpatialVelocity<T>>,
) -> SpatialForce<T> {
    let traction = TractionLaw::new(roles, settings.contact);
    let law = settings.law(traction.pair());
    let (width, _) = roles.onset_width();
    let lowest = [roles.o, roles.f].map(|c| c.skirt_pressure());
    let rule = FaceRule::new(&roles.parts, settings.contact);
    let x_fo = roles.x_fo.real();
    let mut sum = SpatialForce::zero();
    let mut polygon = SurfacePolygon::empty();
    let mut columns = Columns::new(roles, &x_fo, settings.contact.face_filter, Asked::All);
    for (found, equilibrium) in polygons {
        polygon.set(roles, found, equilibrium);
        if !counts(&polygon, settings.contact.face_filter) {
            continue;
        }
        let dissipation = traction.dissipation(&polygon);
        let fan = Fan::new(&polygon, rule.surface);
        columns.set(found, &equilibrium.normal);
        let n = &polygon.normal;
        for_each_point(&polygon, &fan, rule.surface, rule.points, |x, of_fields, a| {
            let (p, slope) = onset(of_fields, width);
            if a.real() <= SMALLEST_AREA || slope.real() <= SMALLEST_ONSET {
                return;
            }
            let end = |side, end| end_plane(roles, &columns, side, end);
            let ends = columns.ends(&real_vector(x));
            let own = face_gradient(&polygon, &ends, end, (x, of_fields), &lowest);
            let gradient = own.series * slope;
            let model = settings.model;
            let face = Face { x, normal: n, pressure: p, gradient, area: a, dissipation };
            let constants = face_constants(model, &face, before, inverse_inertia);
            let (v_n, mut v_t) = split(&(after.translational + after.rotational.cross(x)), n);
            if let Some(rate) = deflection_rate {
                v_t += slip_shift(rate, x, n);
            }
            let impulse = law.of_face(before, x, n).impulse(&constants, v_n, v_t.dot(&v_t));
            let gamma = n * impulse.normal - v_t * impulse.slip;
            sum += SpatialForce::new(x.cross(&gamma), gamma);
        });
    }
    sum
}
