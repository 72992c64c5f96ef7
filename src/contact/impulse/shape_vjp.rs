//! Reverse mode from a pair's impulse over a velocity-level step to the shapes of both geometries.
//!
//! Forward mode (see [`crate::contact::impulse::local_jacobian`]) takes a direction for each number of a
//! mesh. Here one pass over the faces gives the derivatives with respect to all of them.

use nalgebra::{Vector3, Vector6};

use crate::contact::ContactModel;
use crate::contact::force::skirt_onset::onset;
use crate::contact::force::traction::TractionLaw;
use crate::contact::impulse::arguments::{
    ARGUMENTS, DISSIPATION, FRICTION, HISTORY, LOAD, SQUARE, STIFFNESS, VELOCITY,
};
use crate::contact::impulse::bristles::PatchSums;
use crate::contact::impulse::column::{Asked, Columns, face_gradient};
use crate::contact::impulse::face_friction::FaceFriction;
use crate::contact::impulse::face_rule::FaceRule;
use crate::contact::impulse::face_velocity::split;
use crate::contact::impulse::inverse_inertia::inverse_effective_mass_slopes;
use crate::contact::impulse::local_jacobian::PairImpulse;
use crate::contact::impulse::surface_contacts::{SMALLEST_AREA, SMALLEST_ONSET, counts, end_plane};
use crate::contact::settings::DissipationModel;
use crate::contact::surface::fan::Fan;
use crate::contact::surface::polygon_vjp::{PointCotangent, PolygonCotangent, series_slopes};
use crate::contact::surface::shape_vjp::{PolygonShape, ShapeTerms};
use crate::contact::surface::surface_polygon::SurfacePolygon;
use crate::contact::surface::vertex_planes::{Gradients, VertexPlanes};
use crate::scalar::DualArray;
use crate::spatial::SpatialForce;

/// The derivatives of a number through the constants of one polygon's faces.
#[derive(Default)]
struct FaceCotangent {
    /// With respect to the gradients of O and of F along the normal.
    along: [f64; 2],
    /// With respect to the width of the onset.
    width: f64,
}

impl PairImpulse<'_> {
    /// The vector–Jacobian product of the impulse: adds to `terms` the derivatives of one number with
    /// respect to the shapes of both geometries, given those with respect to the impulse on O about F's
    /// origin, in F. Velocities and, for SAP, the inverse inertia are held.
    pub fn shape_vjp(&self, by_impulse: &SpatialForce, terms: &mut ShapeTerms) {
        if self.roles.are_rigid() {
            return self.rigid_shape_vjp(by_impulse, terms);
        }
        self.faces_vjp(|index, x| self.point_vjp(index, x, by_impulse), terms);
    }

    /// The same of the deflection of bristles after the step, given the derivatives with respect to that.
    pub fn deflection_shape_vjp(&self, by_deflection: &Vector6<f64>, terms: &mut ShapeTerms) {
        let Some(law) = self.settings.bristles() else { return };
        let sums = self.patch.sums(self.contacts, self.after);
        let by_sums = law.sums_vjp(&self.deflection(), self.after, &sums, by_deflection);
        self.faces_vjp(|index, x| self.point_of_sums_vjp(index, x, &by_sums), terms);
    }

    /// Adds the derivatives of a number with respect to the shapes, given those through each face: `of_face` is
    /// called with the number of its contact and its position.
    fn faces_vjp(
        &self,
        of_face: impl Fn(usize, &Vector3<f64>) -> FacePointCotangent,
        terms: &mut ShapeTerms,
    ) {
        let Self { roles, settings, patch, contacts, .. } = *self;
        let traction = TractionLaw::new(roles, settings.contact);
        let (rule, filter) = (FaceRule::new(&roles.parts, settings.contact), settings.contact.face_filter);
        let (width, width_is_of_o) = roles.onset_width();
        let lowest = [roles.o, roles.f].map(|c| c.skirt_pressure());
        let mut indices = patch.contacts.clone();
        let (mut polygon, mut by) = (SurfacePolygon::empty(), PolygonCotangent::zero());
        let mut columns = Columns::new(roles, &roles.x_fo, filter, Asked::All);
        let mut by_width = 0.0;
        terms.a_is_o = roles.a_is_o;
        for (found, equilibrium) in &contacts.polygons[patch.polygons.clone()] {
            polygon.set_real(found, equilibrium);
            if !counts(&polygon, filter) {
                continue;
            }
            let per_gradient = match settings.contact.dissipation_model {
                DissipationModel::HuntCrossley => 0.0,
                DissipationModel::StrainRate => traction.strain_rate(),
            };
            let fan = Fan::new(&polygon, rule.surface);
            columns.set(found, &equilibrium.normal);
            let mut shape = PolygonShape::new(roles, found, equilibrium, terms);
            let own_slopes = series_slopes(polygon.gradient_o, polygon.gradient_f);
            let mut sums = FaceCotangent::default();
            by.set(&polygon, &fan, rule.surface, rule.points, |x, p, area| {
                let none = PointCotangent {
                    position: Vector3::zeros(),
                    normal: Vector3::zeros(),
                    pressure: 0.0,
                    area: 0.0,
                };
                // The pressure that acts and its slope, each with its derivatives with respect to the
                // fields' pressure and to the width.
                let (acting, slope) = onset(DualArray::<2>::variable(p, 0), DualArray::variable(width, 1));
                if area <= SMALLEST_AREA || slope.re <= SMALLEST_ONSET {
                    return none;
                }
                let Some(index) = indices.next() else { return none };
                let mut point = of_face(index, x);
                let by_load = point.by_argument[LOAD];
                let by_stiffness = point.by_argument[STIFFNESS];
                let ends = columns.ends(x);
                let end = |side, end| end_plane(roles, &columns, side, end);
                let of_columns = face_gradient(&polygon, &ends, end, (x, p), &lowest);
                let slopes = series_slopes(of_columns.o, of_columns.f);
                let mut by_fields = 0.0;
                for side in 0..2 {
                    let by_gradient = by_stiffness * slope.re * area * slopes[side];
                    sums.along[side] += own_slopes[side] * point.by_argument[DISSIPATION] * per_gradient;
                    let (Some(mean), Some(at)) = (of_columns.means[side], ends[side]) else {
                        sums.along[side] += by_gradient;
                        continue;
                    };
                    // The coordinate that vanishes at the end falls by g·n in O, which the column leaves against n.
                    let g = end(side, at).gradient;
                    let by_rate = by_gradient * mean.by_rate * if side == 0 { 1.0 } else { -1.0 };
                    let by_height = by_gradient * mean.by_height;
                    by_fields += by_gradient * mean.by_pressure;
                    point.by_normal += g * by_rate;
                    point.by_position += g * by_height;
                    let by_end = (&(polygon.normal * by_rate), by_height);
                    shape.add_end(side == 0, at.tetrahedron, x, &g, by_end, terms);
                }
                let by_acting = by_load * area + point.by_pressure;
                let by_slope = by_stiffness * of_columns.series * area;
                sums.width += by_acting * acting.eps[1] + by_slope * slope.eps[1];
                PointCotangent {
                    position: point.by_position,
                    normal: point.by_normal,
                    pressure: by_acting * acting.eps[0] + by_slope * slope.eps[0] + by_fields,
                    area: by_load * acting.re + by_stiffness * of_columns.series * slope.re,
                }
            });
            by_width += sums.width;
            let gradients = Gradients::new(roles, found, equilibrium);
            shape.add_gradients(&by.through_gradients(&polygon, equilibrium, sums.along));
            for i in 0..polygon.len {
                let planes = VertexPlanes::new(&gradients, found, i);
                let by_position = by.position[i] + equilibrium.pressure.gradient * by.pressure[i];
                let by_planes = planes.solve_transposed(&by_position);
                let (x, p) = (&polygon.position[i], polygon.pressure[i]);
                shape.add_vertex(x, p, &planes, &by_planes, by.pressure[i]);
            }
            shape.finish(terms);
        }
        debug_assert!(indices.is_empty(), "the faces are those that the step found");
        terms.add_width(roles, width_is_of_o, by_width * width);
    }

    /// The derivatives of a number through the impulse at one face, which acts at `x`, given those with
    /// respect to the impulse on O about F's origin.
    fn point_vjp(&self, index: usize, x: &Vector3<f64>, by_impulse: &SpatialForce) -> FacePointCotangent {
        let Self { settings, patch, contacts, before, after, .. } = *self;
        let (n, constants) = (&contacts.normal[index], &contacts.constants[index]);
        let v = after.translational + after.rotational.cross(x);
        let (v_n, mut v_t) = split(&v, n);
        if let Some(shift) = contacts.slip_shift.get(index) {
            v_t += shift;
        }
        let friction = FaceFriction::new(&patch.law, before, x, n);
        let impulse = friction.derivatives(&patch.law, constants, v_n, v_t.norm_squared());
        let gamma = n * impulse.normal - v_t * impulse.slip;
        let by_force = by_impulse.translational + by_impulse.rotational.cross(x);
        let (along, across) = (by_force.dot(n), by_force.dot(&v_t));
        let by_argument: [f64; ARGUMENTS] =
            std::array::from_fn(|k| along * impulse.normal_by[k] - across * impulse.slip_by[k]);
        // v_t = v − n v_n, and the impulse depends on its square.
        let by_v_t = v_t * (2.0 * by_argument[SQUARE]) - by_force * impulse.slip;
        let by_v_n = by_argument[VELOCITY] - by_v_t.dot(n);
        let by_velocity = by_v_t + n * by_v_n;
        let mut point = FacePointCotangent {
            by_position: gamma.cross(&by_impulse.rotational) + by_velocity.cross(&after.rotational),
            by_normal: by_force * impulse.normal - by_v_t * v_n + v * by_v_n,
            by_pressure: 0.0,
            by_argument,
        };
        let by_history = by_argument[HISTORY];
        match settings.model {
            ContactModel::Lagged => {
                let velocity = before.translational + before.rotational.cross(x);
                point.by_position += n.cross(&before.rotational) * by_history;
                point.by_normal += velocity * by_history;
            }
            ContactModel::Sap => {
                let lambda = &patch.inverse_inertia;
                let (by_x, _) = inverse_effective_mass_slopes(lambda, x, constants.history);
                point.by_position += by_x * by_history;
            }
            // The pressure at the start of the step, for a law of the user's own.
            ContactModel::Tamsi => point.by_pressure = by_history,
            ContactModel::Similar => {}
        }
        if let Some(rate) = &patch.deflection_rate {
            // The shift is the tangential part of r + φ × x.
            let shift = rate.translational + rate.rotational.cross(x);
            let along = by_v_t.dot(n);
            point.by_position += (by_v_t - n * along).cross(&rate.rotational);
            point.by_normal -= by_v_t * shift.dot(n) + shift * along;
        }
        if let Some(slip) = &friction.slip {
            point.by_position += slip.by_position * by_argument[FRICTION];
            point.by_normal += slip.by_normal * by_argument[FRICTION];
        }
        point
    }

    /// The derivatives of a number through the sums over the faces, given those with respect to the sums.
    fn point_of_sums_vjp(&self, index: usize, x: &Vector3<f64>, by: &PatchSums<f64>) -> FacePointCotangent {
        let Self { contacts, after, .. } = *self;
        let (n, load) = (&contacts.normal[index], contacts.constants[index].load);
        let (v_n, v_t) = split(&(after.translational + after.rotational.cross(x)), n);
        let mut by_argument = [0.0; ARGUMENTS];
        by_argument[LOAD] = by.load + by.position.dot(x) + by.normal.dot(n) + by.slip * v_t.norm_squared();
        // v_t = v + ω × x − n v_n
        let by_slip = v_t * (2.0 * by.slip * load);
        FacePointCotangent {
            by_position: by.position * load + by_slip.cross(&after.rotational),
            by_normal: by.normal * load - by_slip * v_n,
            by_pressure: 0.0,
            by_argument,
        }
    }
}

/// The derivatives of a number through the impulse at one face.
struct FacePointCotangent {
    by_position: Vector3<f64>,
    by_normal: Vector3<f64>,
    /// With respect to the pressure that acts, apart from the load.
    by_pressure: f64,
    /// With respect to the arguments of the law.
    by_argument: [f64; ARGUMENTS],
}
