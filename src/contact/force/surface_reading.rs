//! What sensors and costs read off a contact surface: its area and where it lies, the force that presses the two
//! bodies together, the largest pressure, and how fast they slide on each other.
//!
//! Velocities enter the slip alone, and linearly: by two matrices of integrals. All integrals depend on the relative pose
//! and on both stiffnesses, so that their derivatives with respect to these eight directions are all that has to be
//! known of the surface (as in [`crate::contact::force::local_jacobian`]): they are evaluated once, from the polygons that the
//! search finds in `f64`, and chained to whatever the inputs depend on.

use nalgebra::{Matrix3, SVector, Vector3};

use crate::contact::force::jvp::{log_stiffness, pose_tangent};
use crate::contact::force::known_answer::KnownAnswer;
use crate::contact::force::local_jacobian::{
    DIRECTIONS, Dual, differentiated_width, set_moving_vertices, set_turning_plane,
};
use crate::contact::force::one_sided::{depth, one_sided_by_geometry};
use crate::contact::force::skirt_onset::onset;
use crate::contact::force::wrench::fan_rule;
use crate::contact::pair::query::{ContactPair, Roles};
use crate::contact::settings::ContactSettings;
use crate::contact::surface::search::for_each_polygon;
use crate::contact::surface::surface_polygon::SurfacePolygon;
use crate::contact::surface::vertex_planes::Gradients;
use crate::contact::surface::workspace::Workspace;
use crate::geometry::TrianglePoint;
use crate::scalar::Scalar;
use crate::spatial::cross_matrix;

/// Integrals over the contact surface of a pair of geometries, in W.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SurfaceReading<T = f64> {
    /// Area, m².
    pub area: T,
    /// The position, m³.
    pub first_moment: Vector3<T>,
    /// The unit normal out of B, into A, m².
    pub normal: Vector3<T>,
    /// The undamped pressure that acts, N.
    pub force: T,
    /// That pressure times the part along the surface of A's velocity relative to B's, N m/s.
    pub slip: Vector3<T>,
    /// Not an integral: the largest undamped pressure that acts, Pa.
    pub largest: T,
}

impl<T: Scalar> SurfaceReading<T> {
    /// The mean over the surface, weighted by the pressure, of the velocity along it of A relative to B, or of B relative
    /// to A, m/s; 0 without pressure.
    pub fn mean_slip(&self, of_a: bool) -> Vector3<T> {
        if self.force.real() <= 0.0 {
            return Vector3::zeros();
        }
        let weight = self.force.recip();
        self.slip * (if of_a { weight } else { -weight })
    }

    /// Both surfaces together.
    pub fn with(self, other: Self) -> Self {
        let other_is_larger = other.largest.real() > self.largest.real();
        Self {
            area: self.area + other.area,
            first_moment: self.first_moment + other.first_moment,
            normal: self.normal + other.normal,
            force: self.force + other.force,
            slip: self.slip + other.slip,
            largest: if other_is_larger { other.largest } else { self.largest },
        }
    }
}

/// Number of numbers of [`Integrals`].
const NUMBERS: usize = 27;

/// Integrals over a contact surface that no velocity enters, in F's frame.
#[derive(Clone, Copy, Debug)]
struct Integrals<T> {
    area: T,
    /// The position.
    first_moment: Vector3<T>,
    /// The unit normal out of F, into O.
    normal: Vector3<T>,
    /// The undamped pressure that acts.
    force: T,
    /// That pressure times the projection onto the surface.
    along: Matrix3<T>,
    /// That times what a turn about F's origin moves: the columns belong to the turn's axes.
    turning: Matrix3<T>,
    /// The largest pressure.
    largest: T,
}

impl<T: Scalar> Integrals<T> {
    fn zero() -> Self {
        Self::from_numbers(&[T::from(0.0); NUMBERS])
    }

    fn numbers(&self) -> [T; NUMBERS] {
        let scalars = [self.area, self.force, self.largest];
        let vectors = self.first_moment.iter().chain(self.normal.iter());
        let mut all =
            scalars.iter().chain(vectors).chain(self.along.iter()).chain(self.turning.iter()).copied();
        std::array::from_fn(|_| all.next().unwrap_or(T::from(0.0)))
    }

    fn from_numbers(numbers: &[T; NUMBERS]) -> Self {
        let vector = |first: usize| Vector3::from_fn(|i, _| numbers[first + i]);
        let matrix = |first: usize| Matrix3::from_fn(|row, column| numbers[first + row + 3 * column]);
        Self {
            area: numbers[0],
            force: numbers[1],
            largest: numbers[2],
            first_moment: vector(3),
            normal: vector(6),
            along: matrix(9),
            turning: matrix(18),
        }
    }

    /// Adds those over a polygon; `width` is that of the pressure's onset in Pa.
    fn add(&mut self, polygon: &SurfacePolygon<T>, width: T, rule: &[TrianglePoint]) {
        let zero = T::from(0.0);
        let (position, pressure) = (&polygon.position[..polygon.len], &polygon.pressure[..polygon.len]);
        let (mut area, mut force, mut lever) = (zero, zero, Vector3::from_element(zero));
        // Of triangles with the first vertex in common.
        for i in 1..polygon.len.max(1) - 1 {
            let (u, v) = (position[i] - position[0], position[i + 1] - position[0]);
            let triangle = u.cross(&v).dot(&polygon.normal) * 0.5;
            area += triangle;
            self.first_moment += (position[0] + (u + v) * T::from(1.0 / 3.0)) * triangle;
            for point in rule {
                let [a, b, c] = point.barycentric;
                let p = pressure[0] * a + pressure[i] * b + pressure[i + 1] * c;
                let load = onset(p, width).0 * triangle * point.weight;
                force += load;
                lever += (position[0] + u * T::from(b) + v * T::from(c)) * load;
            }
        }
        for &p in pressure {
            let acting = onset(p, width).0;
            if acting.real() > self.largest.real() {
                self.largest = acting;
            }
        }
        let normal = &polygon.normal;
        self.area += area;
        self.normal += normal * area;
        self.force += force;
        let along = |v: Vector3<T>| v - normal * normal.dot(&v);
        let turning = -cross_matrix(&lever);
        for k in 0..3 {
            let mut axis = Vector3::from_element(zero);
            axis[k] = force;
            let mut column = self.along.column_mut(k);
            column += along(axis);
            let mut column = self.turning.column_mut(k);
            column += along(turning.column(k).into_owned());
        }
    }

    /// Those over the whole surface.
    fn over(roles: &Roles<T>, settings: &ContactSettings, workspace: &mut Workspace) -> Self {
        let (rule, (width, _)) = (fan_rule(settings), roles.onset_width());
        let mut sum = Self::zero();
        for_each_polygon(roles, settings.face_filter, &mut workspace.search, |found, equilibrium| {
            sum.add(&SurfacePolygon::evaluate(roles, found, equilibrium), width, rule);
        });
        sum
    }

    /// The reading in the world; `None` if there is no surface with an area.
    fn reading(&self, roles: &Roles<T>) -> Option<SurfaceReading<T>> {
        // Bodies that only touch, in points or edges, have faces without area.
        if self.area.real() <= 0.0 {
            return None;
        }
        let sign = T::from(if roles.a_is_o { 1.0 } else { -1.0 });
        let (turn, shift) = (&roles.x_wf.rotation, &roles.x_wf.translation);
        let slip = self.along * roles.v_fo.translational + self.turning * roles.v_fo.rotational;
        Some(SurfaceReading {
            area: self.area,
            first_moment: turn * self.first_moment + shift * self.area,
            normal: turn * self.normal * sign,
            force: self.force,
            slip: turn * slip * sign,
            largest: self.largest,
        })
    }
}

/// The integrals with their derivatives with respect to the directions of [`DIRECTIONS`]: one-sided where the meshes are
/// exactly aligned.
#[derive(Debug)]
pub(crate) struct DifferentiatedIntegrals(Integrals<Dual>);

/// The integrals with their derivatives.
fn differentiated(
    roles: &Roles<f64>,
    settings: &ContactSettings,
    workspace: &mut Workspace,
) -> DifferentiatedIntegrals {
    let (rule, width) = (fan_rule(settings), differentiated_width(roles));
    let mut sum = Integrals::zero();
    let mut aligned = false;
    let mut polygon = SurfacePolygon::empty();
    for_each_polygon(roles, settings.face_filter, &mut workspace.search, |found, equilibrium| {
        let gradients = Gradients::new(roles, found, equilibrium);
        set_turning_plane(&mut polygon, equilibrium);
        set_moving_vertices(&gradients, found, equilibrium, &mut polygon);
        sum.add(&polygon, width, rule);
        aligned |= found.aligned;
    });
    if aligned {
        let (length, depth) = (sum.area.re.max(0.0).sqrt(), depth(roles, settings, workspace));
        let evaluate = |moved: &Roles<f64>| {
            SVector::<f64, NUMBERS>::from(Integrals::over(moved, settings, workspace).numbers())
        };
        if let Some(by) = one_sided_by_geometry(roles, length, depth, evaluate) {
            let real = sum.numbers().map(|x| x.re);
            let dual = |i: usize| Dual::new(real[i], std::array::from_fn(|k| by[(i, k)]));
            sum = Integrals::from_numbers(&std::array::from_fn(dual));
        }
    }
    DifferentiatedIntegrals(sum)
}

/// The integrals in a scalar with first derivatives, from those with respect to relative pose and stiffnesses.
fn chained<T: Scalar>(local: &Integrals<Dual>, roles: &Roles<T>) -> Integrals<T> {
    let [a, b, c, d, e, f] = pose_tangent(&roles.x_fo);
    let steps: [T; DIRECTIONS] = [a, b, c, d, e, f, log_stiffness(roles.o), log_stiffness(roles.f)];
    let chain = |x: Dual| steps.iter().zip(x.eps).fold(T::from(x.re), |sum, (&step, by)| sum + step * by);
    Integrals::from_numbers(&local.numbers().map(chain))
}

/// What can be read off the contact surface of a pair; `None` where the bodies do not touch.
///
/// With first derivatives, and where neither body's vertices or extents carry them, from derivatives with respect to relative
/// pose and stiffnesses that are evaluated once, and not again where they are `known`; else by evaluating the polygons in the
/// scalar itself.
pub(crate) fn surface_reading<T: Scalar>(
    pair: &ContactPair<T>,
    settings: &ContactSettings,
    workspace: &mut Workspace,
    known: Option<&mut KnownAnswer<DifferentiatedIntegrals>>,
) -> Option<SurfaceReading<T>> {
    let roles = Roles::new(pair).ok()?;
    if T::NDERIV != 1 || pair.a.has_shape_derivatives() || pair.b.has_shape_derivatives() {
        return Integrals::over(&roles, settings, workspace).reading(&roles);
    }
    let (a, b) = (pair.a.real(), pair.b.real());
    let real = Roles::new(&pair.real(&a, &b)).ok()?;
    let mut own = KnownAnswer::default();
    let local = known.unwrap_or(&mut own).of(&real, settings, || differentiated(&real, settings, workspace));
    chained(&local.0, &roles).reading(&roles)
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::contact::force::jvp::{SEEDS, seeded};
    use crate::contact::{Collider, Material};
    use crate::field::RigidSurface;
    use crate::geometry::Shape;
    use crate::spatial::{RigidTransform, SpatialVelocity, rotation_exponential};

    fn compliant(shape: Shape, modulus: f64) -> Collider {
        Collider::of_shape(&shape, 0.04, Material::new(modulus, 0.0, 0.0)).expect("a shape")
    }

    fn ball() -> Collider {
        compliant(Shape::Sphere { radius: 0.05 }, 1e5)
    }

    fn block() -> Shape {
        Shape::Box { size: [0.1, 0.12, 0.08] }
    }

    /// The bodies of the tests: every way in which elements meet.
    fn bodies() -> Vec<(Collider, Collider)> {
        let ground = Material::new(4e5, 0.0, 0.0);
        let rigid =
            || Collider::rigid(RigidSurface::new(block().surface_mesh(0.05).expect("a mesh")), ground);
        vec![
            (ball(), compliant(block(), 3e5)),
            (compliant(block(), 6e4), ball()),
            (ball(), rigid()),
            (ball(), Collider::rigid_half_space(ground)),
            (Collider::compliant_half_space(ground, 0.02), ball()),
            (rigid(), Collider::compliant_half_space(ground, 0.02)),
        ]
    }

    /// Poses and velocities that no symmetry has part in; the bodies overlap.
    fn places() -> [(RigidTransform<f64>, SpatialVelocity<f64>); 2] {
        let pose = |turn: [f64; 3], at: [f64; 3]| {
            RigidTransform::new(rotation_exponential(&Vector3::from(turn)), Vector3::from(at))
        };
        let velocity = |w: [f64; 3], v: [f64; 3]| SpatialVelocity::new(Vector3::from(w), Vector3::from(v));
        [
            (pose([0.1, -0.08, 0.5], [0.012, 0.01, 0.031]), velocity([1.0, 0.4, -2.0], [0.3, -0.1, 0.2])),
            (pose([-0.06, 0.05, 1.1], [0.0, 0.003, 0.0]), velocity([-0.7, 1.5, 0.2], [0.0, 0.25, -0.4])),
        ]
    }

    fn numbers<T: Scalar>(reading: &SurfaceReading<T>) -> Vec<T> {
        let SurfaceReading { area, first_moment, normal, force, slip, largest } = reading;
        let vectors = first_moment.iter().chain(normal.iter()).chain(slip.iter());
        [area, force, largest].into_iter().chain(vectors).copied().collect()
    }

    #[test]
    fn chained_derivatives_are_those_through_the_polygons() {
        let (settings, mut workspace) = (ContactSettings::default(), Workspace::default());
        // Of one pair after another: each time what is known is of another one.
        let mut known = KnownAnswer::default();
        for (number, (a, b)) in bodies().into_iter().enumerate() {
            for skirt in [0.0, 0.004] {
                let skirted = |c: &Collider| match c.geometry.is_rigid() {
                    true => c.clone(),
                    false => c.with_skirt(skirt).expect("a skirt"),
                };
                let (a, b) = (skirted(&a), skirted(&b));
                let [(x_a, v_a), (x_b, v_b)] = places();
                let (dual_a, x_wa, v_wa) = seeded(&a, &x_a, &v_a, 0, 24);
                let (dual_b, x_wb, v_wb) = seeded(&b, &x_b, &v_b, 12, 25);
                let pair = ContactPair { a: &dual_a, x_wa, v_wa, b: &dual_b, x_wb, v_wb };
                let chained = surface_reading(&pair, &settings, &mut workspace, Some(&mut known));
                let chained = chained.expect("they touch");
                let again = surface_reading(&pair, &settings, &mut workspace, Some(&mut known));
                assert_eq!(numbers(&again.expect("they touch")), numbers(&chained));
                let roles = Roles::new(&pair).expect("compliant");
                let plain = Integrals::over(&roles, &settings, &mut workspace).reading(&roles);
                for (x, y) in numbers(&chained).iter().zip(numbers(&plain.expect("they touch"))) {
                    assert_relative_eq!(x.re, y.re, max_relative = 1e-12, epsilon = 1e-15);
                    let size = y.eps.iter().fold(0.0, |size: f64, by| size.max(by.abs()));
                    for k in 0..SEEDS {
                        assert!(
                            (x.eps[k] - y.eps[k]).abs() <= 1e-9 * size,
                            "pair {number}, skirt {skirt}, direction {k}: {} and {}",
                            x.eps[k],
                            y.eps[k]
                        );
                    }
                }
            }
        }
    }
}
