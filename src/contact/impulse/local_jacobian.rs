//! The derivatives of a pair's impulse over a velocity-level step with respect to what it depends
//! on: relative pose, velocities before and after the step, moduli and contact parameters.
//!
//! As for forces (see [`crate::contact::force::local_jacobian`]), derivatives along eight directions of
//! the surface's geometry are propagated as plain arrays. The impulse of each face is differentiated
//! with respect to all its arguments.

use nalgebra::{Matrix3, Matrix6, SMatrix, Vector3, Vector6};

use crate::contact::force::local_jacobian::{
    ByGeometry, DIRECTIONS, Dual, LOG_MODULUS_F, LOG_MODULUS_O, differentiated_width, set_turning_plane,
};
use crate::contact::force::one_sided::{depth, one_sided_by_geometry};
use crate::contact::force::skirt_onset::onset;
use crate::contact::force::traction::TractionLaw;
use crate::contact::impulse::arguments::{
    DISSIPATION, FRICTION, HISTORY, ImpulseDerivatives, LOAD, RELAXATION_TIME, SQUARE, STIFFNESS, VELOCITY,
};
use crate::contact::impulse::bristles::{Deflection, DeflectionJacobian, PatchSums};
use crate::contact::impulse::column::{Asked, Columns, End, face_gradient};
use crate::contact::impulse::face_friction::{FaceFriction, SlipBefore};
use crate::contact::impulse::face_points::FacePoints;
use crate::contact::impulse::face_rule::FaceRule;
use crate::contact::impulse::face_velocity::split;
use crate::contact::impulse::inverse_inertia::{ByInverseInertia, inverse_effective_mass_slopes};
use crate::contact::impulse::law::ContactModel;
use crate::contact::impulse::point_contacts::{DiscretePatch, DiscreteSettings, PointContacts};
use crate::contact::impulse::polygon_motion::cross;
use crate::contact::impulse::surface_contacts::{
    SMALLEST_AREA, SMALLEST_ONSET, contacts_of, counts, end_plane,
};
use crate::contact::lanes::with_registers;
use crate::contact::pair::material::PairMaterial;
use crate::contact::pair::query::Roles;
use crate::contact::settings::DissipationModel;
use crate::contact::surface::workspace::Workspace;
use crate::field::LinearFunction;
use crate::scalar::lift_vector;
use crate::spatial::{SpatialVelocity, cross_matrix};

/// The derivatives of the impulse on O about F's origin, in F's frame; rows torque, then force.
#[derive(Clone, Debug)]
pub(crate) struct LocalImpulseJacobian {
    /// With respect to O's rotation about F's origin, O's translation, and the logarithms of the moduli
    /// at fixed combined dissipation.
    pub by_geometry: ByGeometry,
    /// With respect to the velocity of O relative to F before the step, at F's origin.
    pub by_velocity_before: Matrix6<f64>,
    /// With respect to the combined parameters, among them the dissipation (Hunt–Crossley) or the sum of
    /// both χ/E (strain rate).
    pub by_parameters: PairMaterial<Vector6<f64>>,
    /// For SAP: for each row its derivatives with respect to the inverse inertia Λ.
    pub by_inverse_inertia: [ByInverseInertia; 6],
    pub bristles: Option<BristleJacobian>,
}

/// The part of bristles in the derivatives.
#[derive(Clone, Debug)]
pub(crate) struct BristleJacobian {
    /// Of the impulse with respect to the rate s/(δt + τ) of the deflection before the step.
    pub by_rate: Matrix6<f64>,
    /// The time δt + τ, s.
    pub time: f64,
    /// Of the deflection after the step.
    pub after: DeflectionJacobian,
}

/// A pair's impulse: the velocities `before` and `after` the step are those of O relative to F at
/// F's origin.
pub(crate) struct PairImpulse<'a> {
    /// The pair.
    pub roles: &'a Roles<'a, f64>,
    /// What the contacts of the step have in common.
    pub settings: &'a DiscreteSettings<'a>,
    /// The pair's contacts.
    pub patch: &'a DiscretePatch,
    /// All contacts, with their polygons.
    pub contacts: &'a PointContacts,
    /// Before the step.
    pub before: &'a SpatialVelocity,
    /// After the step.
    pub after: &'a SpatialVelocity,
}

/// How far the pressures of O and F fall below zero in skirts, with the derivatives with respect to the geometry.
fn moving_skirts(roles: &Roles<f64>) -> [Dual; 2] {
    [(roles.o, LOG_MODULUS_O), (roles.f, LOG_MODULUS_F)].map(|(c, direction)| {
        let mut lowest = Dual::from(c.skirt_pressure());
        lowest.eps[direction] = lowest.re;
        lowest
    })
}

/// The barycentric coordinate that vanishes at the end of a column in O (0) or in F (1), in F's frame, with its
/// derivatives with respect to the geometry.
#[inline(never)]
fn moving_end(roles: &Roles<f64>, columns: &Columns, side: usize, end: End) -> LinearFunction<Dual> {
    let plane = end_plane(roles, columns, side, end);
    let mut moving =
        LinearFunction { gradient: lift_vector(&plane.gradient), offset: Dual::from(plane.offset) };
    if side == 0 {
        // It turns with O about F's origin, and is carried by it.
        let g = &plane.gradient;
        let turned = [Vector3::x(), Vector3::y(), Vector3::z()].map(|axis| axis.cross(g));
        for k in 0..3 {
            for row in 0..3 {
                moving.gradient[row].eps[k] = turned[k][row];
            }
            moving.offset.eps[3 + k] = -g[k];
        }
    }
    moving
}

/// What a pass over the faces gathers for bristles.
struct BristleSums {
    rate: SpatialVelocity,
    by_rate: Matrix6<f64>,
    sums: PatchSums<Dual>,
    /// The derivative of the sums' slip with respect to the velocity after the step.
    slip_by_velocity: Vector6<f64>,
}

impl BristleSums {
    fn new(rate: SpatialVelocity) -> Self {
        let (by_rate, slip_by_velocity) = (Matrix6::zeros(), Vector6::zeros());
        Self { rate, by_rate, sums: PatchSums::zero(), slip_by_velocity }
    }

    /// Adds a face at `x` with its derivatives, and its slip velocity.
    // Out of line, as what follows: most steps have no bristles.
    #[inline(never)]
    fn add_face(
        &mut self,
        load: Dual,
        (position, normal): (&Vector3<Dual>, &Vector3<Dual>),
        after: &SpatialVelocity,
        (x, v_t): (&Vector3<f64>, &Vector3<f64>),
    ) {
        self.sums.add_face(load, position, normal, &SpatialVelocity::lift(after));
        self.slip_by_velocity += wrench_of(x, v_t) * (2.0 * load.re);
    }

    /// Adds the derivatives of a face's impulse through the shift of its slip velocity, which is `slip` with
    /// that shift. The face is at `x` with the normal `n`; `moving` are both with their derivatives.
    #[inline(never)]
    fn add_through_shift(
        &mut self,
        (x, n): (&Vector3<f64>, &Vector3<f64>),
        (position, normal): (&Vector3<Dual>, &Vector3<Dual>),
        slip: &Vector3<f64>,
        impulse: &ImpulseDerivatives,
        by_geometry: &mut ByGeometry,
    ) {
        let ImpulseDerivatives { normal_by, slip_by, .. } = impulse;
        let along = (n * normal_by[SQUARE] - slip * slip_by[SQUARE]) * 2.0;
        let by_slip = along * slip.transpose() - Matrix3::from_diagonal_element(impulse.slip);
        let by_velocity = by_slip * (Matrix3::identity() - n * n.transpose());
        // The force at x gives the torque x × f, and the rate at F's origin the velocity r + φ × x.
        let lever = cross_matrix(x);
        let blocks =
            [[lever * by_velocity * lever * -1.0, lever * by_velocity], [-by_velocity * lever, by_velocity]];
        for (i, row) in blocks.iter().enumerate() {
            for (k, block) in row.iter().enumerate() {
                let mut sum = self.by_rate.fixed_view_mut::<3, 3>(3 * i, 3 * k);
                sum += block;
            }
        }
        let r = self.rate.translational + cross(&self.rate.rotational, x);
        let r_n = r.dot(n);
        for k in 0..DIRECTIONS {
            let (dx, dn) = (position.map(|p| p.eps[k]), normal.map(|m| m.eps[k]));
            let dr = cross(&self.rate.rotational, &dx);
            let shifted = dr - dn * r_n - n * (dr.dot(n) + r.dot(&dn));
            let change = wrench_of(x, &(by_slip * shifted));
            by_geometry.iter_mut().zip(change.iter()).for_each(|(by, change)| by[k] += change);
        }
    }
}

impl PairImpulse<'_> {
    /// The impulse's derivatives.
    pub fn jacobian(&self) -> LocalImpulseJacobian {
        match self.patch.law.own {
            _ if self.roles.are_rigid() => self.rigid_jacobian(),
            None => self.surface_jacobian(),
            Some(own) => own.law.together(|_| self.surface_jacobian()),
        }
    }

    fn surface_jacobian(&self) -> LocalImpulseJacobian {
        let mut jacobian = LocalImpulseJacobian::zero();
        let mut bristles = self.patch.deflection_rate.map(BristleSums::new);
        let area = with_registers(
            #[inline(always)]
            || self.add_faces(&mut jacobian, &mut bristles),
        );
        if let (Some(sums), Some(law)) = (bristles, self.settings.bristles()) {
            let after = law.jacobian(&self.deflection(), self.after, &sums.sums, &sums.slip_by_velocity);
            jacobian.bristles = Some(BristleJacobian { by_rate: sums.by_rate, time: law.time(), after });
        }
        if self.patch.aligned {
            self.take_one_sided(area, &mut jacobian);
        }
        jacobian
    }

    /// The deflection of the bristles before the step; zero without.
    pub(super) fn deflection(&self) -> Deflection {
        let (rate, law) = (self.patch.deflection_rate, self.settings.bristles());
        rate.zip(law).map_or_else(Deflection::zero, |(rate, law)| law.deflection(&rate))
    }

    /// Adds the derivatives of all faces' impulses; returns the area of the surface.
    #[inline(always)]
    fn add_faces(&self, jacobian: &mut LocalImpulseJacobian, bristles: &mut Option<BristleSums>) -> f64 {
        let Self { roles, settings, patch, contacts, before, after } = *self;
        let traction = TractionLaw::new(roles, settings.contact);
        let lambda = &patch.inverse_inertia;
        let width = differentiated_width(roles);
        let (rule, filter) = (FaceRule::new(&roles.parts, settings.contact), settings.contact.face_filter);
        let lowest = moving_skirts(roles);
        let (mut surface_area, mut faces) = (0.0, FacePoints::none());
        let mut indices = patch.contacts.clone();
        let mut columns = Columns::new(roles, &roles.x_fo, filter, Asked::Differing);
        for polygon in &contacts.polygons[patch.polygons.clone()] {
            set_turning_plane(&mut faces.polygon, &polygon.1);
            if !counts(&faces.polygon, filter) {
                continue;
            }
            columns.set(&polygon.0, &polygon.1.normal);
            // What the dissipation is proportional to, in the strain-rate form.
            let gradient = faces.polygon.gradient_in_series();
            let (dissipation, per_parameter) = match settings.contact.dissipation_model {
                DissipationModel::HuntCrossley => (Dual::from(traction.pair().dissipation), 1.0),
                DissipationModel::StrainRate => (gradient * traction.strain_rate(), gradient.re),
            };
            surface_area += faces.set(roles, polygon, &rule);
            for (point, of_fields, area) in &faces.points[..faces.count] {
                let (p, slope) = onset(*of_fields, width);
                if area.re <= SMALLEST_AREA || slope.re <= SMALLEST_ONSET {
                    continue;
                }
                let Some(index) = indices.next() else { break };
                let (x, n) = (&(contacts.position[index] + patch.origin), &contacts.normal[index]);
                let constants = &contacts.constants[index];
                let end = |side, end| moving_end(roles, &columns, side, end);
                let of_face =
                    face_gradient(&faces.polygon, &columns.ends(x), end, (point, *of_fields), &lowest);
                let (load, stiffness) = (p * *area, of_face.series * slope * *area);
                let v = after.translational + cross(&after.rotational, x);
                let (v_n, mut v_t) = split(&v, n);
                if let Some(bristles) = bristles {
                    bristles.add_face(load, (point, &faces.polygon.normal), after, (x, &v_t));
                    // The law takes the slip velocity with the shift of the deflection.
                    v_t += contacts.slip_shift[index];
                }
                let friction = FaceFriction::new(&patch.law, before, x, n);
                let impulse = friction.derivatives(&patch.law, constants, v_n, v_t.norm_squared());
                if impulse.normal == 0.0 && impulse.slip == 0.0 {
                    continue;
                }
                let sums = &mut jacobian.by_parameters;
                let by_friction = wrench_of(x, &impulse.by(FRICTION, n, &v_t));
                sums.dynamic_friction += by_friction * friction.by_dynamic;
                sums.static_friction += by_friction * friction.by_static;
                sums.relaxation_time += wrench_of(x, &impulse.by(RELAXATION_TIME, n, &v_t));
                sums.dissipation += wrench_of(x, &impulse.by(DISSIPATION, n, &v_t)) * per_parameter;
                let mut history_by_x = Vector3::zeros();
                let mut history_by_n = Vector3::zeros();
                match settings.model {
                    ContactModel::Lagged => {
                        let (by_history, along) =
                            (wrench_of(x, &impulse.by(HISTORY, n, &v_t)), wrench_of(x, n));
                        for k in 0..6 {
                            for row in 0..6 {
                                jacobian.by_velocity_before[(row, k)] += by_history[row] * along[k];
                            }
                        }
                        history_by_x = -cross(&before.rotational, n);
                        history_by_n = before.translational + cross(&before.rotational, x);
                    }
                    ContactModel::Sap => {
                        let (by_x, by_lambda) = inverse_effective_mass_slopes(lambda, x, constants.history);
                        let by_history = wrench_of(x, &impulse.by(HISTORY, n, &v_t));
                        for (row, sum) in jacobian.by_inverse_inertia.iter_mut().enumerate() {
                            sum.add(&by_lambda, by_history[row]);
                        }
                        history_by_x = by_x;
                    }
                    ContactModel::Tamsi => {
                        if patch.law.own.is_some() {
                            // The pressure at the start of the step, and the law's own parameters.
                            let by_pressure = wrench_of(x, &impulse.by(HISTORY, n, &v_t));
                            for (row, by) in jacobian.by_geometry.iter_mut().enumerate() {
                                for k in 0..DIRECTIONS {
                                    by[k] += by_pressure[row] * p.eps[k];
                                }
                            }
                            let by_own = patch.law.own_derivatives(constants, v_n, v_t.norm_squared());
                            let wrench = |[normal, slip]: [f64; 2]| wrench_of(x, &(n * normal - v_t * slip));
                            sums.static_friction += wrench(by_own.by_static_friction);
                            for (sum, by) in sums.own.iter_mut().zip(by_own.by_parameters) {
                                *sum += wrench(by);
                            }
                        }
                    }
                    ContactModel::Similar => {}
                }
                let face = FaceMotion {
                    x,
                    n,
                    v: &v,
                    v_n,
                    v_t: &v_t,
                    spin: &after.rotational,
                    impulse: &impulse,
                    history_by_x: &history_by_x,
                    history_by_n: &history_by_n,
                };
                let arguments = [&load.eps, &stiffness.eps, &dissipation.eps];
                face.add_directions(point, &faces.polygon.normal, arguments, &mut jacobian.by_geometry);
                if let Some(bristles) = bristles {
                    let moving = (point, &faces.polygon.normal);
                    let by_geometry = &mut jacobian.by_geometry;
                    bristles.add_through_shift((x, n), moving, &v_t, &impulse, by_geometry);
                }
                if let Some(slip) = &friction.slip {
                    jacobian.add_through_slip(slip, &by_friction, x, (point, &faces.polygon.normal));
                }
            }
        }
        debug_assert!(indices.is_empty(), "the faces are those that the step found");
        surface_area
    }

    /// Takes the mean of the one-sided derivatives with respect to the geometry, for meshes that are exactly
    /// aligned on a surface of this area, where these derivatives exist.
    fn take_one_sided(&self, area: f64, jacobian: &mut LocalImpulseJacobian) {
        let after = self.after;
        let (w, v) = (&after.rotational, &after.translational);
        // The velocities at F's origin and in F are held, and so is the inverse inertia.
        let velocity = Vector6::new(w.x, w.y, w.z, v.x, v.y, v.z);
        let impulse =
            |patch: &DiscretePatch, contacts: &PointContacts| patch.impulse_at_f(contacts, &velocity);
        if let Some(by) = self.one_sided(area, impulse) {
            jacobian.by_geometry = std::array::from_fn(|row| std::array::from_fn(|k| by[(row, k)]));
        }
        if let (Some(bristles), Some(law)) = (&mut jacobian.bristles, self.settings.bristles()) {
            let before = self.deflection();
            let deflection = |patch: &DiscretePatch, contacts: &PointContacts| {
                Vector6::from(law.after(&before, after, &patch.sums(contacts, after)).numbers())
            };
            if let Some(by) = self.one_sided(area, deflection) {
                bristles.after.by_geometry = by;
            }
        }
    }

    /// The mean of the one-sided derivatives with respect to the geometry of what `evaluate` makes of the patch,
    /// zero where there is none; `None` if these derivatives do not exist.
    fn one_sided(
        &self,
        area: f64,
        evaluate: impl Fn(&DiscretePatch, &PointContacts) -> Vector6<f64>,
    ) -> Option<SMatrix<f64, 6, DIRECTIONS>> {
        let Self { roles, settings, patch, .. } = *self;
        let traction = TractionLaw::new(roles, settings.contact);
        let mut workspace = Workspace::default();
        let mut moved_contacts = PointContacts::default();
        let outcome = |moved: &Roles<f64>| {
            moved_contacts.clear();
            let scratch = (&mut workspace, &mut moved_contacts);
            let lambda = |_: &Roles<f64>| patch.inverse_inertia;
            let rate = patch.deflection_rate;
            let found = contacts_of(moved, &traction, settings, rate, lambda, scratch.0, scratch.1);
            found.map_or_else(Vector6::zeros, |patch| evaluate(&patch, &moved_contacts))
        };
        let depth = depth(roles, settings.contact, &mut Workspace::default());
        one_sided_by_geometry(roles, area.max(0.0).sqrt(), depth, outcome)
    }
}

impl LocalImpulseJacobian {
    /// No derivatives.
    pub(super) fn zero() -> Self {
        Self {
            by_geometry: [[0.0; DIRECTIONS]; 6],
            by_velocity_before: Matrix6::zeros(),
            by_parameters: PairMaterial::filled(Vector6::zeros()),
            by_inverse_inertia: [ByInverseInertia::ZERO; 6],
            bristles: None,
        }
    }

    /// Adds the derivatives of a face's impulse through its coefficient of friction, which follows the slip
    /// velocity before the step, given those of the impulse with respect to that coefficient. The face is at `x`;
    /// `moving` are its position and normal with their derivatives with respect to the geometry.
    // Out of line: most pairs have one coefficient.
    #[inline(never)]
    fn add_through_slip(
        &mut self,
        slip: &SlipBefore,
        by_friction: &Vector6<f64>,
        x: &Vector3<f64>,
        (position, normal): (&Vector3<Dual>, &Vector3<Dual>),
    ) {
        self.by_velocity_before += by_friction * wrench_of(x, &slip.by_velocity).transpose();
        for (row, by) in self.by_geometry.iter_mut().enumerate() {
            for (k, by) in by.iter_mut().enumerate() {
                for i in 0..3 {
                    let change =
                        slip.by_position[i] * position[i].eps[k] + slip.by_normal[i] * normal[i].eps[k];
                    *by += by_friction[row] * change;
                }
            }
        }
    }
}

/// The torque and the force of the force `f` at `x`.
#[inline(always)]
fn wrench_of(x: &Vector3<f64>, f: &Vector3<f64>) -> Vector6<f64> {
    let m = cross(x, f);
    Vector6::new(m.x, m.y, m.z, f.x, f.y, f.z)
}

/// A face's impulse, and what its derivatives with respect to the geometry take.
struct FaceMotion<'a> {
    x: &'a Vector3<f64>,
    n: &'a Vector3<f64>,
    v: &'a Vector3<f64>,
    v_n: f64,
    v_t: &'a Vector3<f64>,
    /// Relative angular velocity after the step.
    spin: &'a Vector3<f64>,
    impulse: &'a ImpulseDerivatives,
    history_by_x: &'a Vector3<f64>,
    history_by_n: &'a Vector3<f64>,
}

impl FaceMotion<'_> {
    /// Adds the derivatives of the impulse and its torque along all directions of the geometry,
    /// which the face's position, its normal, load, stiffness and dissipation follow. Written out
    /// in components, so that all directions are computed at once.
    #[inline(always)]
    fn add_directions(
        &self,
        point: &Vector3<Dual>,
        turned: &Vector3<Dual>,
        [load, stiffness, dissipation]: [&[f64; DIRECTIONS]; 3],
        into: &mut ByGeometry,
    ) {
        let Self { x, n, v, v_n, v_t, spin, impulse, history_by_x, history_by_n } = *self;
        let ImpulseDerivatives { normal, slip, normal_by: by_n, slip_by: by_s } = impulse;
        let gamma = n * *normal - v_t * *slip;
        let (ux, uy, uz) = (&point.x.eps, &point.y.eps, &point.z.eps);
        let (mx, my, mz) = (&turned.x.eps, &turned.y.eps, &turned.z.eps);
        for k in 0..DIRECTIONS {
            let (ux, uy, uz, mx, my, mz) = (ux[k], uy[k], uz[k], mx[k], my[k], mz[k]);
            let dv_x = spin.y * uz - spin.z * uy;
            let dv_y = spin.z * ux - spin.x * uz;
            let dv_z = spin.x * uy - spin.y * ux;
            let d_v_n = dv_x * n.x + dv_y * n.y + dv_z * n.z + v.x * mx + v.y * my + v.z * mz;
            let dt_x = dv_x - mx * v_n - n.x * d_v_n;
            let dt_y = dv_y - my * v_n - n.y * d_v_n;
            let dt_z = dv_z - mz * v_n - n.z * d_v_n;
            let d_s = 2.0 * (v_t.x * dt_x + v_t.y * dt_y + v_t.z * dt_z);
            let d_history = history_by_x.x * ux
                + history_by_x.y * uy
                + history_by_x.z * uz
                + history_by_n.x * mx
                + history_by_n.y * my
                + history_by_n.z * mz;
            let d_normal = by_n[VELOCITY] * d_v_n
                + by_n[SQUARE] * d_s
                + by_n[LOAD] * load[k]
                + by_n[STIFFNESS] * stiffness[k]
                + by_n[DISSIPATION] * dissipation[k]
                + by_n[HISTORY] * d_history;
            let d_slip = by_s[VELOCITY] * d_v_n
                + by_s[SQUARE] * d_s
                + by_s[LOAD] * load[k]
                + by_s[STIFFNESS] * stiffness[k]
                + by_s[DISSIPATION] * dissipation[k]
                + by_s[HISTORY] * d_history;
            let f_x = n.x * d_normal + mx * normal - v_t.x * d_slip - dt_x * slip;
            let f_y = n.y * d_normal + my * normal - v_t.y * d_slip - dt_y * slip;
            let f_z = n.z * d_normal + mz * normal - v_t.z * d_slip - dt_z * slip;
            into[0][k] += uy * gamma.z - uz * gamma.y + x.y * f_z - x.z * f_y;
            into[1][k] += uz * gamma.x - ux * gamma.z + x.z * f_x - x.x * f_z;
            into[2][k] += ux * gamma.y - uy * gamma.x + x.x * f_y - x.y * f_x;
            into[3][k] += f_x;
            into[4][k] += f_y;
            into[5][k] += f_z;
        }
    }
}
