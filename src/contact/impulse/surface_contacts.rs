//! The point contacts of a surface between bodies of which one at least is compliant.
//!
//! Each point of a face becomes a point contact, with the elastic force A p and the stiffness k = A g of its column
//! (see [`crate::contact::impulse::column`]). Where bodies have skirts the pressure that acts is [`onset`] of the fields'
//! and g is multiplied by its slope.

use nalgebra::{Matrix6, Vector3};

use crate::contact::ContactModel;
use crate::contact::force::skirt_onset::onset;
use crate::contact::force::traction::TractionLaw;
use crate::contact::force::wrench::for_each_point;
use crate::contact::impulse::bristles::slip_shift;
use crate::contact::impulse::column::{Asked, Columns, End, face_gradient};
use crate::contact::impulse::face_rule::FaceRule;
use crate::contact::impulse::face_velocity::split;
use crate::contact::impulse::law::FaceConstants;
use crate::contact::impulse::point_contacts::{
    DiscretePatch, DiscreteSettings, FoundPolygon, LoadSums, PointContacts, inverse_effective_mass,
};
use crate::contact::pair::query::Roles;
use crate::contact::settings::FaceFilter;
use crate::contact::surface::fan::Fan;
use crate::contact::surface::search::for_each_polygon;
use crate::contact::surface::surface_polygon::{SurfacePolygon, lifted, moved, tetrahedron_planes};
use crate::contact::surface::workspace::Workspace;
use crate::field::LinearFunction;
use crate::scalar::{Scalar, real_vector, with_registers};
use crate::spatial::{SpatialForce, SpatialVelocity};

/// Faces of at most this area in m² are left out (as in Drake).
pub(in crate::contact) const SMALLEST_AREA: f64 = 1e-14;

/// Faces on which the pressure that acts grows by less than this part of the fields' pressure are
/// left out: they lie at the outer end of a skirt, and bear the square of it.
pub(in crate::contact) const SMALLEST_ONSET: f64 = 1e-12;

/// Whether a polygon counts. All do but with [`FaceFilter::Drake`], which leaves out those along whose normal a field does
/// not grow, as Drake does and Masterjohn §IV-A says. A box that lies flat has such faces, where its lateral elements reach
/// the surface; with them the forces are continuous as it tilts.
#[inline]
pub(in crate::contact) fn counts<T: Scalar>(polygon: &SurfacePolygon<T>, filter: FaceFilter) -> bool {
    filter == FaceFilter::None || polygon.fields_grow()
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

/// [`find_contacts`](super::find::find_contacts) between bodies of which one at least is compliant, with the given
/// dissipation and, with bristles, the rate of their deflection. The velocity of `roles` is that before the step.
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
