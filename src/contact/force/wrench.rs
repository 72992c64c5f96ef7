//! The wrench between two bodies: the traction integrated over the contact surface (Elandt
//! eq. 8).

use nalgebra::Vector3;

use crate::contact::force::point_block::{OnPolygon, PointBlock};
use crate::contact::force::skirt_onset::onset;
use crate::contact::force::traction::TractionLaw;
use crate::contact::lanes::in_lanes;
use crate::contact::pair::query::{ContactError, ContactPair, Roles};
use crate::contact::settings::{ContactSettings, SurfaceRepresentation, USUAL_QUADRATURE_ORDER};
use crate::contact::surface::fan::Fan;
use crate::contact::surface::search::for_each_polygon;
use crate::contact::surface::surface_polygon::SurfacePolygon;
use crate::contact::surface::workspace::Workspace;
use crate::geometry::{TrianglePoint, triangle_rule};
use crate::scalar::Scalar;
use crate::spatial::SpatialForce;

/// The contact surface of two bodies and the wrench over it.
///
/// With skirts (see [`crate::contact::Collider::with_skirt`]) the surface, and with it area, centroid and
/// faces, includes the parts between the skirts, also before the bodies touch.
#[derive(Clone, Copy, Debug)]
pub struct ContactPatch<T = f64> {
    /// Wrench on A about the origin of A's geometry frame, expressed in the world.
    pub wrench_on_a: SpatialForce<T>,
    /// Area, m².
    pub area: T,
    /// Centroid of the surface in the world.
    pub centroid: Vector3<T>,
    /// Number of faces.
    pub faces: usize,
    /// Largest undamped pressure that acts on the surface, Pa.
    pub max_pressure: f64,
}

/// One face of a contact surface.
#[derive(Clone, Copy, Debug)]
pub struct ContactFace<T = f64> {
    /// Area, m².
    pub area: T,
    /// Centroid in the world.
    pub centroid: Vector3<T>,
    /// Unit normal in the world, out of B, into A.
    pub normal: Vector3<T>,
    /// Undamped pressure that acts at the centroid, Pa.
    pub pressure: T,
    /// A's pressure gradient along the normal, ∇p_A·n̂ in Pa/m; `None` if A is rigid.
    pub gradient_a: Option<T>,
    /// B's pressure gradient against the normal, −∇p_B·n̂ in Pa/m; `None` if B is rigid.
    pub gradient_b: Option<T>,
    /// The tetrahedra or rigid triangles of A and of B that the face lies in; 0 for a
    /// half-space. The faces of a fan share them, so their number and these two tell whether
    /// two states have the same set of faces.
    pub elements: [u32; 2],
}

/// The rule for fan triangles; orders outside 1–5 are taken as the nearest of them.
pub(crate) fn fan_rule<T>(settings: &ContactSettings<T>) -> &'static [TrianglePoint] {
    triangle_rule(settings.quadrature_order.unwrap_or(USUAL_QUADRATURE_ORDER).clamp(1, 5)).unwrap_or(&[])
}

/// Calls `visit(x, p, a)` with every quadrature point of a polygon: position, undamped pressure
/// and the area that it stands for.
#[inline(always)]
pub(crate) fn for_each_point<T: Scalar>(
    polygon: &SurfacePolygon<T>,
    fan: &Fan<T>,
    surface: SurfaceRepresentation,
    rule: &[TrianglePoint],
    mut visit: impl FnMut(&Vector3<T>, T, T),
) {
    match surface {
        SurfaceRepresentation::Polygons => visit(&fan.centroid, fan.pressure, fan.area),
        SurfaceRepresentation::Triangles => {
            for i in 0..polygon.len {
                let next = if i + 1 == polygon.len { 0 } else { i + 1 };
                let area = fan.triangle_area[i];
                for point in rule {
                    let [c, a, b] = point.barycentric;
                    let x = fan.centroid.map(|x| x * c)
                        + polygon.position[i].map(|x| x * a)
                        + polygon.position[next].map(|x| x * b);
                    let p = fan.pressure * c + polygon.pressure[i] * a + polygon.pressure[next] * b;
                    visit(&x, p, area * point.weight);
                }
            }
        }
    }
}

/// Sums over a contact surface, in F's frame.
#[derive(Debug)]
pub(crate) struct Integral<T> {
    /// Wrench on O about F's origin.
    pub wrench_on_o: SpatialForce<T>,
    pub area: T,
    /// Area times centroid.
    pub first_moment: Vector3<T>,
    /// Number of faces.
    pub faces: usize,
    /// Largest undamped pressure that acts.
    pub max_pressure: f64,
    /// The width of its onset, Pa.
    width: f64,
}

impl<T: Scalar> Integral<T> {
    /// Nothing yet, with a width of the onset of the pressure in Pa.
    pub fn new(width: f64) -> Self {
        Self {
            wrench_on_o: SpatialForce::zero(),
            area: T::from(0.0),
            first_moment: Vector3::zeros(),
            faces: 0,
            max_pressure: 0.0,
            width,
        }
    }

    /// Constant sums as scalars `T`.
    pub fn lift(sum: &Integral<f64>) -> Self {
        Self {
            wrench_on_o: SpatialForce::lift(&sum.wrench_on_o),
            area: T::from(sum.area),
            first_moment: sum.first_moment.map(T::from),
            faces: sum.faces,
            max_pressure: sum.max_pressure,
            width: sum.width,
        }
    }

    /// The sums over the contact surface of two bodies.
    pub fn over(
        roles: &Roles<T>,
        law: &TractionLaw<T>,
        settings: &ContactSettings<T>,
        workspace: &mut Workspace,
    ) -> Self {
        match settings.law {
            None => Self::once_over(roles, law, settings, workspace),
            Some(own) => own.together(|_| Self::once_over(roles, law, settings, workspace)),
        }
    }

    fn once_over(
        roles: &Roles<T>,
        law: &TractionLaw<T>,
        settings: &ContactSettings<T>,
        workspace: &mut Workspace,
    ) -> Self {
        let rule = fan_rule(settings);
        let (width, _) = roles.onset_width();
        let mut sum = Self::new(width.real());
        let (mut polygon, mut block) = (SurfacePolygon::empty(), PointBlock::default());
        for_each_polygon(roles, settings.face_filter, &mut workspace.search, |found, equilibrium| {
            let (polygon, block, sum) = (&mut polygon, &mut block, &mut sum);
            let found = (found, equilibrium);
            in_lanes(OnPolygon {
                roles,
                law,
                surface: settings.surface,
                rule,
                width,
                found,
                polygon,
                block,
                sum,
            });
        });
        sum
    }

    /// Counts a polygon's faces and area.
    #[inline(always)]
    pub fn add_surface(
        &mut self,
        polygon: &SurfacePolygon<T>,
        area: T,
        centroid: &Vector3<T>,
        surface: SurfaceRepresentation,
    ) {
        self.area += area;
        self.first_moment += centroid * area;
        self.faces += match surface {
            SurfaceRepresentation::Triangles => polygon.len,
            SurfaceRepresentation::Polygons => 1,
        };
        for p in &polygon.pressure[..polygon.len] {
            self.max_pressure = self.max_pressure.max(onset(p.real(), self.width).0);
        }
    }

    /// Adds a point contact of rigid bodies with this wrench on O about F's origin.
    pub fn add_point(&mut self, wrench_on_o: &SpatialForce<T>) {
        self.wrench_on_o += *wrench_on_o;
        self.faces += 1;
    }

    /// The wrench on A about a point, both in W; `None` if there is no surface with an area, nor a contact of rigid bodies.
    pub fn wrench_on_a(&self, roles: &Roles<T>, x_wa: &Vector3<T>) -> Option<SpatialForce<T>> {
        // Bodies that only touch, in points or edges, have faces without area.
        if self.faces == 0 || !(roles.are_rigid() || self.area.real() > 0.0) {
            return None;
        }
        let on_o = self.wrench_on_o.rotated(&roles.x_wf.rotation);
        let on_a = if roles.a_is_o { on_o } else { -on_o };
        Some(on_a.shifted(&(x_wa - roles.x_wf.translation)))
    }

    /// The patch in the world, or `None` if there is no surface with an area.
    pub fn patch(&self, roles: &Roles<T>, x_wa: &Vector3<T>) -> Option<ContactPatch<T>> {
        let wrench_on_a = self.wrench_on_a(roles, x_wa)?;
        let centroid = self.first_moment * self.area.recip();
        Some(ContactPatch {
            wrench_on_a,
            area: self.area,
            centroid: roles.x_wf * centroid,
            faces: self.faces,
            max_pressure: self.max_pressure,
        })
    }
}

/// The contact between two bodies, or `None` if they do not touch.
///
/// The wrench on B about the same point is the exact opposite. Every number of `pair` may carry
/// derivatives of any order; they are those of the formulas at the present set of faces. Where faces
/// appear or vanish the wrench is continuous and its derivative may jump. Where the two meshes are
/// exactly aligned (a vertex, edge or face of one lies on a face of the other), the derivatives of this
/// function are finite but may not be the derivative in any direction. Use
/// [`crate::contact::contact_jacobian`] or [`crate::contact::contact_lifted`] there: their derivatives
/// are one-sided.
///
/// Two exceptions to continuity, both in the model itself:
/// * Where walls of both bodies lie in one plane (cubes of the same footprint on each other)
///   the force along the plane's normal jumps as either body is moved (Huang §VI, Fig. 3). At
///   the state itself it is the limit from one side or lies between the limits; by symmetry it
///   may be zero. Where the fields are equal throughout (equal meshes at equal poses) there is
///   no surface of equal pressure and the result is `None`.
/// * The torque of [`SurfaceRepresentation::Polygons`], whose force acts at each polygon's
///   centroid, jumps where polygons merge.
///
/// # Errors
/// For pairs that [`crate::contact::check_pair`] refuses.
///
/// # Examples
/// The force on a ball that has sunk 5 mm into the floor, and none where it hovers above it:
/// ```
/// use isobar::contact::{Collider, ContactPair, ContactSettings, Material, Workspace, contact};
/// use isobar::{RigidTransform, Shape};
///
/// let foam = Material::new(1e5, 1.0, 0.5);
/// let ball = Collider::of_shape(&Shape::Sphere { radius: 0.05 }, 0.02, foam)?;
/// let floor = Collider::rigid_half_space(foam);
///
/// let (settings, mut workspace) = (ContactSettings::default(), Workspace::default());
/// let mut at = |height: f64| {
///     let pose = RigidTransform::from_translation([0.0, 0.0, height]);
///     let pair = ContactPair::at_rest(&ball, pose, &floor, RigidTransform::identity());
///     contact(&pair, &settings, &mut workspace)
/// };
/// let patch = at(0.045)?.ok_or("no contact")?;
/// assert!(patch.wrench_on_a.translational.z > 5.0);
/// assert!(at(0.06)?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline(never)]
pub fn contact<T: Scalar>(
    pair: &ContactPair<T>,
    settings: &ContactSettings,
    workspace: &mut Workspace,
) -> Result<Option<ContactPatch<T>>, ContactError> {
    contact_under(pair, &settings.lift(), workspace)
}

/// [`contact`] under settings that may carry derivatives.
pub(crate) fn contact_under<T: Scalar>(
    pair: &ContactPair<T>,
    settings: &ContactSettings<T>,
    workspace: &mut Workspace,
) -> Result<Option<ContactPatch<T>>, ContactError> {
    let roles = Roles::new(pair)?;
    let law = TractionLaw::new(&roles, settings);
    let sum = Integral::over(&roles, &law, settings, workspace);
    Ok(sum.patch(&roles, &pair.x_wa.translation))
}

/// Calls `visit` with every face of the contact surface, in a fixed order.
pub fn for_each_face<T: Scalar>(
    pair: &ContactPair<T>,
    settings: &ContactSettings,
    workspace: &mut Workspace,
    mut visit: impl FnMut(&ContactFace<T>),
) {
    let Ok(roles) = Roles::new(pair) else { return };
    let sign = T::from(if roles.a_is_o { 1.0 } else { -1.0 });
    let (width, _) = roles.onset_width();
    for_each_polygon(&roles, settings.face_filter, &mut workspace.search, |found, equilibrium| {
        let polygon = SurfacePolygon::evaluate(&roles, found, equilibrium);
        let fan = Fan::new(&polygon, settings.surface);
        let (gradient_a, gradient_b) = if roles.a_is_o {
            (polygon.gradient_o, Some(polygon.gradient_f))
        } else {
            (Some(polygon.gradient_f), polygon.gradient_o)
        };
        let elements = if roles.a_is_o { [found.o, found.f] } else { [found.f, found.o] };
        let normal = roles.x_wf.rotation * polygon.normal * sign;
        let face = |x: Vector3<T>, pressure: T, area: T| ContactFace {
            area,
            centroid: roles.x_wf * x,
            normal,
            pressure: onset(pressure, width).0,
            gradient_a,
            gradient_b,
            elements,
        };
        match settings.surface {
            SurfaceRepresentation::Polygons => visit(&face(fan.centroid, fan.pressure, fan.area)),
            SurfaceRepresentation::Triangles => {
                for i in 0..polygon.len {
                    let next = if i + 1 == polygon.len { 0 } else { i + 1 };
                    let third = T::from(1.0 / 3.0);
                    let x = (fan.centroid + polygon.position[i] + polygon.position[next]) * third;
                    let p = (fan.pressure + polygon.pressure[i] + polygon.pressure[next]) * third;
                    visit(&face(x, p, fan.triangle_area[i]));
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    use crate::contact::{Collider, Material};
    use crate::geometry::Shape;
    use crate::spatial::{RigidTransform, rotation_exponential};

    #[test]
    fn faces_sum_to_the_force_and_the_centroid_and_change_sides_with_the_bodies() {
        let body = |shape: Shape, modulus: f64| {
            Collider::of_shape(&shape, 0.04, Material::new(modulus, 0.0, 0.0)).expect("a shape")
        };
        let (ball, block) =
            (body(Shape::Sphere { radius: 0.05 }, 1e5), body(Shape::Box { size: [0.1, 0.12, 0.08] }, 3e5));
        let pose = |turn: [f64; 3], at: [f64; 3]| {
            RigidTransform::new(rotation_exponential(&Vector3::from(turn)), Vector3::from(at))
        };
        let (x_a, x_b) =
            (pose([0.3, -0.8, 0.5], [0.02, 0.01, 0.08]), pose([-0.2, 0.4, 1.1], [0.0, 0.0, 0.0]));
        let mut workspace = Workspace::default();
        for surface in [SurfaceRepresentation::Polygons, SurfaceRepresentation::Triangles] {
            let settings = ContactSettings { surface, ..Default::default() };
            let mut faces_of = |pair: &ContactPair| {
                let patch = contact(pair, &settings, &mut workspace).expect("compliant").expect("they touch");
                let mut faces = Vec::new();
                for_each_face(pair, &settings, &mut workspace, |face| faces.push(*face));
                (patch, faces)
            };
            let (patch, faces) = faces_of(&ContactPair::at_rest(&ball, x_a, &block, x_b));
            let area: f64 = faces.iter().map(|face| face.area).sum();
            let force: Vector3<f64> =
                faces.iter().map(|face| face.normal * (face.area * face.pressure)).sum();
            let moment: Vector3<f64> = faces.iter().map(|face| face.centroid * face.area).sum();
            assert_relative_eq!(area, patch.area, max_relative = 1e-12);
            assert_relative_eq!(force, patch.wrench_on_a.translational, max_relative = 1e-9);
            assert_relative_eq!(moment / area, patch.centroid, max_relative = 1e-9);
            let (_, swapped) = faces_of(&ContactPair::at_rest(&block, x_b, &ball, x_a));
            assert_eq!(faces.len(), swapped.len());
            for (face, other) in faces.iter().zip(&swapped) {
                assert_relative_eq!(face.normal, -other.normal, epsilon = 1e-12);
                assert_eq!((face.gradient_a, face.gradient_b), (other.gradient_b, other.gradient_a));
                let [of_a, of_b] = other.elements;
                assert_eq!(face.elements, [of_b, of_a]);
            }
        }
    }
}
