//! The integral of the traction over one polygon, differentiated with respect to the motion of its
//! vertices, its normal, and what changes the traction but not the surface.
//!
//! It works backwards, from the quadrature points to the points they are weighted means of, so
//! that its cost does not depend on how many directions the vertices move in.

use nalgebra::{Matrix3, Matrix6, Vector3};

use crate::contact::force::skirt_onset::OnsetSlopes;
use crate::contact::force::traction::{OwnTractionDerivatives, TractionDerivatives};
use crate::contact::own_law::OWN_PARAMETERS;
use crate::contact::surface::fan::Fan;
use crate::contact::surface::polygon::MAX_VERTICES;
use crate::contact::surface::surface_polygon::SurfacePolygon;
use crate::spatial::cross_matrix;

/// Torque, then force.
pub(in crate::contact) type Wrench = [f64; 6];

/// The wrench of the force `f` at `x`.
#[inline(always)]
pub(in crate::contact) fn wrench_at(x: &Vector3<f64>, f: &Vector3<f64>) -> Wrench {
    let m = x.cross(f);
    [m.x, m.y, m.z, f.x, f.y, f.z]
}

/// Adds a multiple of a wrench.
#[inline(always)]
pub(in crate::contact) fn add(to: &mut Wrench, wrench: &Wrench, by: f64) {
    for k in 0..6 {
        to[k] += wrench[k] * by;
    }
}

/// `a` times one wrench and `b` times another.
#[inline(always)]
pub(in crate::contact) fn combine(first: &Wrench, a: f64, second: &Wrench, b: f64) -> Wrench {
    std::array::from_fn(|k| first[k] * a + second[k] * b)
}

/// A wrench differentiated with respect to a vector: one column for each of its components.
pub(in crate::contact) type ByVector = [Wrench; 3];

/// Adds the derivative of a wrench times a number whose derivative is `by`.
#[inline(always)]
pub(in crate::contact) fn add_outer(to: &mut ByVector, wrench: &Wrench, by: &Vector3<f64>) {
    for c in 0..3 {
        add(&mut to[c], wrench, by[c]);
    }
}

/// Adds the derivative of the wrench of forces that change by `stiffness` times a vector, where
/// `lever` is the sum of their stiffnesses times positions.
#[inline(always)]
pub(in crate::contact) fn add_isotropic(to: &mut ByVector, stiffness: f64, lever: &Vector3<f64>) {
    for c in 0..3 {
        let (next, last) = ((c + 1) % 3, (c + 2) % 3);
        to[c][next] += lever[last];
        to[c][last] -= lever[next];
        to[c][3 + c] += stiffness;
    }
}

/// The row of a derivative with respect to a vector.
#[inline(always)]
pub(in crate::contact) fn row(by: &ByVector, r: usize) -> Vector3<f64> {
    Vector3::new(by[0][r], by[1][r], by[2][r])
}

/// The force at a quadrature point and what it depends on.
pub(in crate::contact) struct PointForce {
    x: Vector3<f64>,
    /// What the area times the pressure that acts changes by with the fields' pressure.
    by_pressure: f64,
    load: f64,
    pub per_pressure: Wrench,
    /// With respect to the pressure that acts, which is `per_pressure` unless a law of the user's own
    /// depends on it.
    by_acting: Wrench,
    /// Through the velocity's component along the normal, through that along `slip_velocity`, and
    /// isotropic.
    by_normal_velocity: Wrench,
    by_slip: Wrench,
    slip_velocity: Vector3<f64>,
    isotropic: f64,
}

/// What the integral over a polygon gains as one of the points moves that its quadrature points
/// are weighted means of, each counted with its weight.
#[derive(Clone, Copy)]
pub(in crate::contact) struct PointSums {
    force: Vector3<f64>,
    /// The wrenches by the fields' pressure.
    per_pressure: Wrench,
    /// Through the velocity, which changes with the position if the bodies turn: that along the
    /// normal, that along the slip already times the turn, and the isotropic part.
    by_normal_velocity: Wrench,
    by_slip: ByVector,
    isotropic: f64,
    isotropic_lever: Vector3<f64>,
}

impl PointSums {
    const ZERO: Self = Self {
        force: Vector3::new(0.0, 0.0, 0.0),
        per_pressure: [0.0; 6],
        by_normal_velocity: [0.0; 6],
        by_slip: [[0.0; 6]; 3],
        isotropic: 0.0,
        isotropic_lever: Vector3::new(0.0, 0.0, 0.0),
    };

    /// Counts a quadrature point in which this point has a weight; `spin` is the angular velocity
    /// if there is any.
    #[inline(always)]
    pub fn add(&mut self, weight: f64, point: &PointForce, spin: Option<&Vector3<f64>>) {
        let (by_pressure, load) = (weight * point.by_pressure, weight * point.load);
        add(&mut self.per_pressure, &point.by_acting, by_pressure);
        for k in 0..3 {
            self.force[k] += point.per_pressure[3 + k] * load;
        }
        if let Some(spin) = spin {
            add(&mut self.by_normal_velocity, &point.by_normal_velocity, load);
            add_outer(&mut self.by_slip, &point.by_slip, &(point.slip_velocity.cross(spin) * load));
            self.isotropic += point.isotropic * load;
            self.isotropic_lever += point.x * (point.isotropic * load);
        }
    }

    /// The derivative with respect to the motion of the point.
    #[inline(always)]
    pub fn by_position(
        &self,
        pressure_gradient: &Vector3<f64>,
        normal: &Vector3<f64>,
        spin: Option<&Vector3<f64>>,
    ) -> ByVector {
        let mut sum = self.by_slip;
        add_outer(&mut sum, &self.per_pressure, pressure_gradient);
        add_isotropic(&mut sum, 0.0, &-self.force);
        if let Some(spin) = spin {
            add_outer(&mut sum, &self.by_normal_velocity, &normal.cross(spin));
            for c in 0..3 {
                let velocity = spin.cross(&Vector3::ith(c, 1.0));
                let torque = self.isotropic_lever.cross(&velocity);
                for k in 0..3 {
                    sum[c][k] += torque[k];
                    sum[c][3 + k] += velocity[k] * self.isotropic;
                }
            }
        }
        sum
    }
}

/// The derivative of the area of a polygon with respect to the motion of vertex `i`.
#[inline(always)]
pub(in crate::contact) fn area_by_vertex(polygon: &SurfacePolygon<f64>, i: usize) -> Vector3<f64> {
    let n = polygon.len;
    let next = if i + 1 == n { 0 } else { i + 1 };
    let previous = if i == 0 { n - 1 } else { i - 1 };
    (polygon.position[next] - polygon.position[previous]).cross(&polygon.normal) * 0.5
}

/// The derivative of the centroid of a polygon with respect to the motion of each vertex.
#[inline(always)]
pub(in crate::contact) fn centroid_by_vertex(
    polygon: &SurfacePolygon<f64>,
    fan: &Fan<f64>,
    into: &mut [Matrix3<f64>; MAX_VERTICES],
) {
    let n = polygon.len;
    if !fan.has_centroid {
        into[..n].fill(Matrix3::from_diagonal_element(1.0 / n as f64));
        return;
    }
    into[..n].fill(Matrix3::zeros());
    let origin = polygon.position[0];
    let normal = &polygon.normal;
    let share = 1.0 / (6.0 * fan.area);
    for i in 1..n - 1 {
        let (from, to) = (polygon.position[i] - origin, polygon.position[i + 1] - origin);
        // The centroid is the mean of the triangles' centroids, weighted with their areas.
        let off = (from + to - (fan.centroid - origin) * 3.0) * share;
        let (by_from, by_to) = (to.cross(normal), normal.cross(&from));
        let weight = from.dot(&by_from) * share;
        for (k, by) in [(i, by_from), (i + 1, by_to), (0, -(by_from + by_to))] {
            into[k] += off * by.transpose();
            for d in 0..3 {
                into[k][(d, d)] += weight;
            }
        }
    }
}

/// Memory for the derivatives of one polygon.
pub(in crate::contact) struct PolygonDerivatives {
    /// With respect to the motion of the vertices and of the centroid, through areas.
    pub by_area: [ByVector; MAX_VERTICES],
    pub by_area_at_centroid: ByVector,
    /// What quadrature points gain from the vertices, and from the centroid.
    pub points: [PointSums; MAX_VERTICES],
    pub centroid: PointSums,
    /// The centroid by the motion of the vertices.
    pub centroid_by_vertex: [Matrix3<f64>; MAX_VERTICES],
    /// With respect to the normal, and of that the isotropic part.
    pub by_normal: ByVector,
    pub by_normal_isotropic: f64,
    pub by_normal_lever: Vector3<f64>,
    /// With respect to the dissipation κ.
    pub by_dissipation: Wrench,
    pub wrench: Wrench,
    /// Whether the next two are computed: not where the traction is proportional to the fields' pressure.
    logs: bool,
    /// With respect to the logarithm of the fields' pressure and the width of the pressure's onset.
    by_log_pressure: Wrench,
    pub by_width: Wrench,
}

impl PolygonDerivatives {
    /// For a `width` of the pressure's onset in Pa, and a law that may be one of the user's own.
    pub fn new(width: f64, own_law: bool) -> Self {
        Self {
            logs: width > 0.0 || own_law,
            by_area: [[[0.0; 6]; 3]; MAX_VERTICES],
            by_area_at_centroid: [[0.0; 6]; 3],
            points: [PointSums::ZERO; MAX_VERTICES],
            centroid: PointSums::ZERO,
            centroid_by_vertex: [Matrix3::zeros(); MAX_VERTICES],
            by_normal: [[0.0; 6]; 3],
            by_normal_isotropic: 0.0,
            by_normal_lever: Vector3::zeros(),
            by_dissipation: [0.0; 6],
            wrench: [0.0; 6],
            by_log_pressure: [0.0; 6],
            by_width: [0.0; 6],
        }
    }

    /// The derivative with respect to the logarithm of the fields' pressure.
    pub fn by_log_pressure(&self) -> &Wrench {
        if self.logs { &self.by_log_pressure } else { &self.wrench }
    }

    /// Begins a polygon of `n` vertices.
    pub fn clear(&mut self, n: usize) {
        self.by_area[..n].fill([[0.0; 6]; 3]);
        self.by_area_at_centroid = [[0.0; 6]; 3];
        self.points[..n].fill(PointSums::ZERO);
        self.centroid = PointSums::ZERO;
        self.by_normal = [[0.0; 6]; 3];
        self.by_normal_isotropic = 0.0;
        self.by_normal_lever = Vector3::zeros();
        self.by_dissipation = [0.0; 6];
        self.wrench = [0.0; 6];
        self.by_log_pressure = [0.0; 6];
        self.by_width = [0.0; 6];
    }
}

/// Sums over the surface of what does not change the surface.
pub(in crate::contact) struct SurfaceSums {
    /// With respect to the angular and the linear velocity, one column for each component.
    by_velocity: [Wrench; 6],
    /// Of that the isotropic part: its sum, and those with the position and its products.
    isotropic: f64,
    isotropic_lever: Vector3<f64>,
    isotropic_moment: Matrix3<f64>,
    pub by_static_friction: Wrench,
    pub by_dynamic_friction: Wrench,
    pub by_own: [Wrench; OWN_PARAMETERS],
}

impl SurfaceSums {
    pub fn new() -> Self {
        Self {
            by_velocity: [[0.0; 6]; 6],
            isotropic: 0.0,
            isotropic_lever: Vector3::zeros(),
            isotropic_moment: Matrix3::zeros(),
            by_static_friction: [0.0; 6],
            by_dynamic_friction: [0.0; 6],
            by_own: [[0.0; 6]; OWN_PARAMETERS],
        }
    }

    /// The derivative with respect to the velocity.
    pub fn by_velocity(&self) -> Matrix6<f64> {
        let mut sum = Matrix6::from_fn(|r, c| self.by_velocity[c][r]);
        let lever = cross_matrix(&self.isotropic_lever);
        let (m, identity) = (&self.isotropic_moment, Matrix3::identity());
        // x × (δω × x) = (|x|² − x xᵀ) δω
        let mut add = |r: usize, c: usize, block: Matrix3<f64>| {
            let mut view = sum.fixed_view_mut::<3, 3>(r, c);
            view += block;
        };
        add(0, 0, identity * m.trace() - m);
        add(0, 3, lever);
        add(3, 0, -lever);
        add(3, 3, identity * self.isotropic);
        sum
    }
}

/// Counts the force at the quadrature point `x` with the fields' pressure `p`, of which `acting` acts,
/// and area `a`, and its derivatives but for those with respect to the position, area and pressure.
#[inline(always)]
pub(in crate::contact) fn add_point(
    (x, p, area): (&Vector3<f64>, f64, f64),
    acting: &OnsetSlopes,
    (t, own): &(TractionDerivatives, Option<OwnTractionDerivatives>),
    normal: &Vector3<f64>,
    polygon: &mut PolygonDerivatives,
    surface: &mut SurfaceSums,
) -> PointForce {
    let load = acting.value * area;
    let by_pressure = acting.by_pressure * area;
    let (along, across) = (wrench_at(x, normal), wrench_at(x, &t.v_t));
    let per_pressure = combine(&along, t.value[0], &across, t.value[1]);
    add(&mut polygon.wrench, &per_pressure, load);
    let mut by_acting = per_pressure;
    if let Some(own) = own {
        let [first, second] = own.by_pressure;
        add(&mut by_acting, &combine(&along, first, &across, second), acting.value);
        for (sum, [first, second]) in surface.by_own.iter_mut().zip(own.by_own) {
            add(sum, &combine(&along, first, &across, second), load);
        }
    }
    if polygon.logs {
        add(&mut polygon.by_log_pressure, &by_acting, p * by_pressure);
        add(&mut polygon.by_width, &by_acting, acting.by_width * area);
    }
    let [a, b, c, isotropic] = t.by_velocity;
    // A turn δω changes the velocity along a vector f by (x × f)·δω.
    for k in 0..6 {
        add(&mut surface.by_velocity[k], &along, along[k] * (a * load));
    }
    // Neither without friction.
    if b != 0.0 || c != 0.0 {
        let by_slip = combine(&along, b * load, &across, c * load);
        for k in 0..6 {
            add(&mut surface.by_velocity[k], &across, by_slip[k]);
        }
    }
    let stiffness = isotropic * load;
    let lever = x * stiffness;
    surface.isotropic += stiffness;
    surface.isotropic_lever += lever;
    surface.isotropic_moment += lever * x.transpose();
    add(&mut surface.by_static_friction, &across, t.by_static_friction * load);
    add(&mut surface.by_dynamic_friction, &across, t.by_dynamic_friction * load);
    let [first, second] = t.by_dissipation;
    add(&mut polygon.by_dissipation, &combine(&along, first, &across, second), load);
    let [first, second, third] = t.by_normal;
    add_outer(&mut polygon.by_normal, &combine(&along, first, &across, second), &(t.v_t * load));
    polygon.by_normal_isotropic += third * load;
    polygon.by_normal_lever += x * (third * load);
    PointForce {
        x: *x,
        by_pressure,
        load,
        per_pressure,
        by_acting,
        by_normal_velocity: combine(&along, a, &across, b),
        by_slip: across.map(|w| w * c),
        slip_velocity: t.v_t,
        isotropic,
    }
}
