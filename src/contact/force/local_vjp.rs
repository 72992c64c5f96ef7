//! The local vector–Jacobian product of a contact (reverse mode). From the derivatives of one number
//! with respect to the wrench it computes, in one pass over the surface, the derivatives with respect to
//! everything that the wrench depends on.
//!
//! The matrix of [`crate::contact::force::local_jacobian`] is contracted with the cotangent of the
//! wrench while it is computed, so that each polygon costs a few times its own evaluation.

use nalgebra::Vector3;

use crate::contact::force::skirt_onset::OnsetSlopes;
use crate::contact::force::traction::TractionLaw;
use crate::contact::force::wrench::{Integral, fan_rule};
use crate::contact::pair::material::PairMaterial;
use crate::contact::pair::query::Roles;
use crate::contact::settings::{ContactSettings, DissipationModel};
use crate::contact::surface::equilibrium::Equilibrium;
use crate::contact::surface::fan::Fan;
use crate::contact::surface::polygon::{FIRST_OF_F, Polygon};
use crate::contact::surface::polygon_vjp::{PointCotangent, PolygonCotangent, series_slopes};
use crate::contact::surface::search::{Elements, for_each_known_polygon, for_each_polygon};
use crate::contact::surface::shape_vjp::{PolygonShape, ShapeTerms};
use crate::contact::surface::surface_polygon::SurfacePolygon;
use crate::contact::surface::vertex_planes::{Gradients, VertexPlanes};
use crate::contact::surface::workspace::Workspace;
use crate::geometry::TrianglePoint;
use crate::spatial::SpatialForce;

/// The derivatives of one number with respect to what the wrench between two bodies depends on, in F's
/// frame.
pub(crate) struct LocalCotangent {
    /// The sums over the surface.
    pub integral: Integral<f64>,
    /// With respect to O's rotation about F's origin.
    pub rotation: Vector3<f64>,
    /// With respect to O's translation.
    pub translation: Vector3<f64>,
    /// With respect to the logarithms of O's and F's moduli at fixed combined dissipation.
    pub log_moduli: [f64; 2],
    /// With respect to the relative angular velocity.
    pub angular_velocity: Vector3<f64>,
    /// With respect to the relative velocity at F's origin.
    pub velocity: Vector3<f64>,
    /// With respect to the combined parameters, among them the dissipation (Hunt–Crossley) or the sum of
    /// both χ/E (strain rate).
    pub parameters: PairMaterial,
    /// With respect to the width of the pressure's onset; it is among those with respect to the moduli
    /// too.
    width: f64,
    /// Whether the meshes are exactly aligned somewhere on the surface, so that these may not be the
    /// derivative in any direction.
    pub aligned: bool,
}

impl LocalCotangent {
    /// Nothing yet, with a width of the onset of the pressure in Pa.
    pub fn zero(width: f64) -> Self {
        Self {
            integral: Integral::new(width),
            rotation: Vector3::zeros(),
            translation: Vector3::zeros(),
            log_moduli: [0.0; 2],
            angular_velocity: Vector3::zeros(),
            velocity: Vector3::zeros(),
            parameters: PairMaterial::filled(0.0),
            width: 0.0,
            aligned: false,
        }
    }
}

/// A pass over a contact surface.
struct Pass<'a> {
    roles: &'a Roles<'a, f64>,
    law: TractionLaw<f64>,
    settings: &'a ContactSettings,
    rule: &'a [TrianglePoint],
    /// The width of the pressure's onset, Pa.
    width: f64,
    /// The number's derivatives with respect to moment and force on O about F's origin, in F.
    by_wrench: SpatialForce,
    /// The derivatives with respect to the shapes, where they are asked for.
    shape: Option<&'a mut ShapeTerms>,
    sum: LocalCotangent,
}

impl Pass<'_> {
    /// Adds the force at a quadrature point of a polygon, and what the number depends on there; the
    /// derivative with respect to the dissipation is added to `by_dissipation`.
    #[inline(always)]
    fn point<const OWN: bool>(
        &mut self,
        x: &Vector3<f64>,
        pressure: f64,
        area: f64,
        normal: &Vector3<f64>,
        dissipation: f64,
        by_dissipation: &mut f64,
    ) -> PointCotangent {
        let spin = &self.roles.v_fo.rotational;
        let velocity = self.roles.v_fo.translational + spin.cross(x);
        let acting = OnsetSlopes::new(pressure, self.width);
        let (t, own) = self.law.derivatives::<OWN>(normal, &velocity, dissipation, acting.value);
        let load = acting.value * area;
        let (n, v_t) = (normal, &t.v_t);
        let along = |[by_n, by_v_t]: [f64; 2]| n * by_n + v_t * by_v_t;
        let value = along(t.value);
        let force = value * load;
        self.sum.integral.wrench_on_o += SpatialForce::new(x.cross(&force), force);
        let by_moment = &self.by_wrench.rotational;
        let by_force = self.by_wrench.translational + by_moment.cross(x);
        let by_load = by_force.dot(&value);
        let by_traction = by_force * load;
        let (by_n, by_v_t) = (by_traction.dot(n), by_traction.dot(v_t));
        // By the area times the pressure that acts, and by that pressure over the area.
        let mut by_acting = by_load;
        if let Some(own) = own {
            by_acting += by_force.dot(&along(own.by_pressure)) * acting.value;
            for (sum, [first, second]) in self.sum.parameters.own.iter_mut().zip(own.by_own) {
                *sum += by_n * first + by_v_t * second;
            }
        }
        self.sum.width += by_acting * area * acting.by_width;
        let [nn, tn, tt, one] = t.by_velocity;
        let by_velocity = n * (nn * by_n + tn * by_v_t) + v_t * (tt * by_v_t) + by_traction * one;
        self.sum.velocity += by_velocity;
        self.sum.angular_velocity += x.cross(&by_velocity);
        self.sum.parameters.static_friction += by_v_t * t.by_static_friction;
        self.sum.parameters.dynamic_friction += by_v_t * t.by_dynamic_friction;
        let [nt, tt, one] = t.by_normal;
        *by_dissipation += by_n * t.by_dissipation[0] + by_v_t * t.by_dissipation[1];
        PointCotangent {
            position: force.cross(by_moment) + by_velocity.cross(spin),
            normal: v_t * (nt * by_n + tt * by_v_t) + by_traction * one,
            pressure: by_acting * area * acting.by_pressure,
            area: by_load * acting.value,
        }
    }

    /// Adds all quadrature points of a polygon: `by` becomes the derivatives with respect to its vertices.
    /// Returns that with respect to the dissipation.
    #[inline(always)]
    fn points<const OWN: bool>(
        &mut self,
        polygon: &SurfacePolygon<f64>,
        fan: &Fan<f64>,
        by: &mut PolygonCotangent,
    ) -> f64 {
        let (dissipation, rule) = (self.law.dissipation(polygon), self.rule);
        let mut by_dissipation = 0.0;
        by.set(polygon, fan, self.settings.surface, rule, |x, p, area| {
            self.point::<OWN>(x, p, area, &polygon.normal, dissipation, &mut by_dissipation)
        });
        by_dissipation
    }

    /// From the derivatives with respect to a polygon to those with respect to the motion of O, the moduli
    /// and, where they are asked for, the shapes of both geometries.
    #[inline(always)]
    fn polygon(
        &mut self,
        found: &Polygon,
        equilibrium: &Equilibrium,
        polygon: &SurfacePolygon<f64>,
        by: &PolygonCotangent,
        by_dissipation: f64,
    ) {
        let gradients = Gradients::new(self.roles, found, equilibrium);
        let gradient_f = &equilibrium.pressure.gradient;
        // The gradients along the normal enter the strain-rate form.
        let by_along = match self.settings.dissipation_model {
            DissipationModel::HuntCrossley => {
                self.sum.parameters.dissipation += by_dissipation;
                [0.0; 2]
            }
            DissipationModel::StrainRate => {
                self.sum.parameters.dissipation += by_dissipation * polygon.gradient_in_series();
                let by_series = by_dissipation * self.law.strain_rate();
                series_slopes(polygon.gradient_o, polygon.gradient_f).map(|slope| slope * by_series)
            }
        };
        let by_gradients = by.through_gradients(polygon, equilibrium, by_along);
        let mut shape = match &mut self.shape {
            Some(terms) => Some((PolygonShape::new(self.roles, found, equilibrium, terms), terms)),
            None => None,
        };
        if let Some((shape, _)) = &mut shape {
            shape.add_gradients(&by_gradients);
        }
        let [log_o, log_f] = &mut self.sum.log_moduli;
        match &equilibrium.gradient_o {
            Some(gradient_o) => {
                self.sum.rotation += gradient_o.cross(&by_gradients.of_o);
                *log_o += gradient_o.dot(&by_gradients.of_o);
            }
            None => self.sum.rotation += polygon.normal.cross(&by_gradients.normal),
        }
        *log_f += gradient_f.dot(&by_gradients.of_f);
        // Each vertex lies on three planes: see `vertex_motion` in the local Jacobian.
        let carried = equilibrium.gradient_o.unwrap_or(gradients.plane);
        for i in 0..polygon.len {
            let planes = VertexPlanes::new(&gradients, found, i);
            let by_position = by.position[i] + gradient_f * by.pressure[i];
            let by_planes = planes.solve_transposed(&by_position);
            let mut by_motion = carried * by_planes.x;
            for k in [1, 2] {
                if planes.name(k) < FIRST_OF_F {
                    by_motion += planes.rows[k] * by_planes[k];
                }
            }
            self.sum.translation += by_motion;
            self.sum.rotation += polygon.position[i].cross(&by_motion);
            let p = polygon.pressure[i];
            if equilibrium.gradient_o.is_some() {
                *log_o -= p * by_planes.x;
                *log_f += p * by_planes.x;
            }
            *log_f += p * by.pressure[i];
            if let Some((shape, _)) = &mut shape {
                shape.add_vertex(&polygon.position[i], p, &planes, &by_planes, by.pressure[i]);
            }
        }
        if let Some((shape, terms)) = shape {
            shape.finish(terms);
        }
    }
}

/// The sums over the contact surface, and the derivatives of a number with respect to what they depend
/// on, from its derivatives `by_wrench` with respect to moment and force on O about F's origin, in F.
/// `known` are the elements that the surface lies in, where it has been found before. Those with respect to
/// the shapes of both geometries are added to `shape`, if it is there.
pub(crate) fn local_vjp(
    roles: &Roles<f64>,
    by_wrench: &SpatialForce,
    settings: &ContactSettings,
    workspace: &mut Workspace,
    known: Option<&[Elements]>,
    mut shape: Option<&mut ShapeTerms>,
) -> LocalCotangent {
    match settings.law {
        None => one_pass(roles, by_wrench, settings, workspace, known, shape),
        Some(own) => own.together(|is_dropped| {
            let shape = shape.as_deref_mut().filter(|_| !is_dropped);
            one_pass(roles, by_wrench, settings, workspace, known, shape)
        }),
    }
}

fn one_pass(
    roles: &Roles<f64>,
    by_wrench: &SpatialForce,
    settings: &ContactSettings,
    workspace: &mut Workspace,
    known: Option<&[Elements]>,
    shape: Option<&mut ShapeTerms>,
) -> LocalCotangent {
    let (width, width_is_of_o) = roles.onset_width();
    let mut pass = Pass {
        roles,
        law: TractionLaw::new(roles, settings),
        settings,
        rule: fan_rule(settings),
        width,
        by_wrench: *by_wrench,
        shape,
        sum: LocalCotangent::zero(width),
    };
    let mut polygon = SurfacePolygon::empty();
    let mut by = PolygonCotangent::zero();
    let visit = |found: &Polygon, equilibrium: &Equilibrium| {
        pass.sum.aligned |= found.aligned;
        polygon.set_real(found, equilibrium);
        let fan = Fan::new(&polygon, settings.surface);
        pass.sum.integral.add_surface(&polygon, fan.area, &fan.centroid, settings.surface);
        let by_dissipation = match pass.law.is_own() {
            true => pass.points::<true>(&polygon, &fan, &mut by),
            false => pass.points::<false>(&polygon, &fan, &mut by),
        };
        pass.polygon(found, equilibrium, &polygon, &by, by_dissipation);
    };
    let (filter, memory) = (settings.face_filter, &mut workspace.search);
    match known {
        None => for_each_polygon(roles, filter, memory, visit),
        Some(known) => for_each_known_polygon(roles, filter, memory, known, visit),
    }
    let by_width = pass.sum.width * width;
    pass.sum.log_moduli[usize::from(!width_is_of_o)] += by_width;
    if let Some(shape) = pass.shape {
        shape.a_is_o = roles.a_is_o;
        shape.add_width(roles, width_is_of_o, by_width);
    }
    pass.sum
}
