//! The stiffness of a face: the pressure there over the depth of the overlap along the face's normal.
//!
//! A face at x with the pressure p stands for the *column* of the overlap on it, from where the line through x along the
//! normal leaves O, to where it leaves F: as the bodies part by the length of the column, the face ends. With the
//! depths d_O and d_F from x to both ends its stiffness is A p/(d_O + d_F). Where both fields fall linearly to zero along
//! the column that is A g with the two gradients in series (Masterjohn eq. 23). Where they fall less at x than
//! on their way, as in the lateral elements of a box that lies flat, it is more: the face would else push on
//! bodies that have parted. So no face acts beyond its column. The stiffness is continuous in the state; it has kinks where the line
//! meets an edge of the boundary, with the derivatives of one side. Half-spaces end at their plane.
//!
//! Ends are found in `f64`; with derivatives the depths follow the planes of the triangles there.

use nalgebra::Vector3;

use crate::contact::pair::query::{Parts, Roles};
use crate::contact::settings::FaceFilter;
use crate::contact::surface::polygon::Polygon;
use crate::contact::surface::surface_polygon::{SurfacePolygon, gradient_in_series};
use crate::field::{LinearFunction, PressureField};
use crate::scalar::Scalar;
use crate::spatial::RigidTransform;

/// Where a column ends: a face of a tetrahedron on the boundary of a mesh.
#[derive(Clone, Copy, Debug)]
pub(in crate::contact) struct End {
    /// The tetrahedron.
    pub tetrahedron: u32,
    /// Its face.
    pub face: u8,
    /// The barycentric coordinate that vanishes there, at the face that the column stands on.
    height: f64,
    /// How fast it falls along the column, 1/m.
    rate: f64,
}

/// The ends of a column in O and in F; `None` where the body has no mesh of tetrahedra.
pub(in crate::contact) type Ends = [Option<End>; 2];

/// The mesh of one body as a polygon's columns run through it, in the frame of its geometry.
struct Side<'a> {
    field: &'a PressureField,
    tetrahedron: u32,
    direction: Vector3<f64>,
    /// How fast the barycentric coordinates of the polygon's tetrahedron fall along the direction, 1/m.
    rates: [f64; 4],
}

/// The columns on one polygon.
pub(in crate::contact) struct Columns<'a> {
    sides: [Option<Side<'a>>; 2],
    x_fo: &'a RigidTransform<f64>,
}

/// How fast the barycentric coordinates of a tetrahedron fall along a direction, 1/m.
#[inline(always)]
fn falls(field: &PressureField, tetrahedron: u32, direction: &Vector3<f64>) -> [f64; 4] {
    let coordinates = &field.tetrahedra()[tetrahedron as usize].barycentric;
    [0, 1, 2, 3].map(|k: usize| -coordinates[k].gradient.dot(direction))
}

/// The face through which the line from `x` leaves a tetrahedron, but for the one through which it came.
#[inline(always)]
fn way_out(
    field: &PressureField,
    tetrahedron: u32,
    rates: &[f64; 4],
    x: &Vector3<f64>,
    came: Option<u8>,
) -> Option<End> {
    let coordinates = &field.tetrahedra()[tetrahedron as usize].barycentric;
    let mut nearest: Option<End> = None;
    for k in 0..4 {
        let rate = rates[k];
        if rate <= 0.0 || came == Some(k as u8) {
            continue;
        }
        let height = coordinates[k].at(x);
        if nearest.is_none_or(|other| height * other.rate < other.height * rate) {
            nearest = Some(End { tetrahedron, face: k as u8, height, rate });
        }
    }
    nearest
}

impl<'a> Side<'a> {
    fn new(field: &'a PressureField, tetrahedron: u32, direction: Vector3<f64>) -> Self {
        let rates = falls(field, tetrahedron, &direction);
        Self { field, tetrahedron, direction, rates }
    }

    /// The end of the column on a point of the polygon.
    #[inline(always)]
    fn end(&self, x: &Vector3<f64>) -> Option<End> {
        let out = way_out(self.field, self.tetrahedron, &self.rates, x, None)?;
        match self.field.neighbour(self.tetrahedron, out.face) {
            None => Some(out),
            Some(beyond) => self.walk(x, beyond),
        }
    }

    /// The end of a column that goes on in a tetrahedron through a face of it.
    #[inline(never)]
    fn walk(&self, x: &Vector3<f64>, mut into: (u32, u8)) -> Option<End> {
        // A line passes through each tetrahedron once.
        for _ in self.field.tetrahedra() {
            let (tetrahedron, came) = into;
            let rates = falls(self.field, tetrahedron, &self.direction);
            let out = way_out(self.field, tetrahedron, &rates, x, Some(came))?;
            match self.field.neighbour(tetrahedron, out.face) {
                None => return Some(out),
                Some(beyond) => into = beyond,
            }
        }
        None
    }
}

impl<'a> Columns<'a> {
    /// The columns on a polygon with this normal. With Drake's filter the fields' own gradients count.
    #[inline(always)]
    pub fn new<T>(
        roles: &Roles<'a, T>,
        x_fo: &'a RigidTransform<f64>,
        found: &Polygon,
        normal: &Vector3<f64>,
        filter: FaceFilter,
    ) -> Self {
        let of_f = |f| Some(Side::new(f, found.f, *normal));
        let sides = match roles.parts {
            _ if filter == FaceFilter::Drake => [None, None],
            Parts::TwoFields { o, f } => {
                [Some(Side::new(o, found.o, -x_fo.rotation.tr_mul(normal))), of_f(f)]
            }
            Parts::SurfaceInField { f, .. } | Parts::HalfSpaceInField { f, .. } => [None, of_f(f)],
            Parts::SurfaceInHalfSpace { .. } => [None, None],
        };
        Self { sides, x_fo }
    }

    /// The ends of the column on a point of the polygon, in F's frame.
    #[inline(always)]
    pub fn ends(&self, x: &Vector3<f64>) -> Ends {
        let [o, f] = &self.sides;
        let in_o = |x: &Vector3<f64>| self.x_fo.rotation.tr_mul(&(x - self.x_fo.translation));
        [o.as_ref().and_then(|side| side.end(&in_o(x))), f.as_ref().and_then(|side| side.end(x))]
    }

    /// The fields of O and F.
    pub fn fields(&self) -> [Option<&'a PressureField>; 2] {
        [0, 1].map(|k: usize| self.sides[k].as_ref().map(|side| side.field))
    }
}

/// The pressure at `x` above the lowest one over the depth to the end of the column, or without an end the field's own gradient
/// along its direction (out of its body). With it the derivatives of the former.
#[inline(always)]
fn fall<T: Scalar>(
    own: T,
    pressure: T,
    end: Option<&LinearFunction<T>>,
    x: &Vector3<T>,
    direction: &Vector3<T>,
) -> (T, Option<MeanFall>) {
    let Some(plane) = end else { return (own, None) };
    let rate = -plane.gradient.dot(direction);
    let height = plane.gradient.dot(x) + plane.offset;
    if height.real() <= 0.0 || pressure.real() <= 0.0 {
        // On the end itself no quotient is of zeros.
        return (own, None);
    }
    let mean = pressure * rate / height;
    let [pressure, rate, height] = [pressure.real(), rate.real(), height.real()];
    let mean_fall =
        MeanFall { by_pressure: rate / height, by_rate: pressure / height, by_height: -mean.real() / height };
    (mean, Some(mean_fall))
}

/// The derivatives of a mean fall with respect to the pressure above the lowest one, and to how fast the end's barycentric
/// coordinate falls along the column and how large it is at the face.
#[derive(Clone, Copy, Debug)]
pub(in crate::contact) struct MeanFall {
    pub by_pressure: f64,
    pub by_rate: f64,
    pub by_height: f64,
}

impl End {
    /// The gradient of a mean fall, Pa/m, from the pressure above the lowest one; `None` on the end itself.
    #[inline(always)]
    fn mean_gradient(&self, pressure: f64) -> Option<f64> {
        (self.height > 0.0 && pressure > 0.0).then(|| pressure * self.rate / self.height)
    }
}

/// [`face_gradient`] without derivatives.
#[inline(always)]
pub(in crate::contact) fn real_face_gradient(
    polygon: &SurfacePolygon<f64>,
    ends: &Ends,
    pressure: f64,
    lowest: &[f64; 2],
) -> f64 {
    let own_or_mean =
        |own: f64, k: usize| ends[k].and_then(|end| end.mean_gradient(pressure + lowest[k])).unwrap_or(own);
    let f = own_or_mean(polygon.gradient_f, 1);
    gradient_in_series(polygon.gradient_o.map(|own| own_or_mean(own, 0)), f)
}

/// The gradient that a face's stiffness is proportional to, Pa/m, with those of O and of F that it is made of, and their
/// derivatives where they are mean falls: `end` makes the plane of an end, in F's frame, of O (0) or of F (1); `pressure`
/// is that of the fields at `x`, and `lowest` how far those of O and F fall below zero in skirts.
#[inline(always)]
pub(in crate::contact) fn face_gradient<T: Scalar>(
    polygon: &SurfacePolygon<T>,
    ends: &Ends,
    end: impl Fn(usize, End) -> LinearFunction<T>,
    (x, pressure): (&Vector3<T>, T),
    lowest: &[T; 2],
) -> FaceGradient<T> {
    let plane = |k: usize| ends[k].map(|at| end(k, at));
    let (f, mean_f) = fall(polygon.gradient_f, pressure + lowest[1], plane(1).as_ref(), x, &polygon.normal);
    let (o, mean_o) = match polygon.gradient_o {
        Some(own) => {
            let (o, mean) = fall(own, pressure + lowest[0], plane(0).as_ref(), x, &-polygon.normal);
            (Some(o), mean)
        }
        None => (None, None),
    };
    FaceGradient { series: gradient_in_series(o, f), o, f, means: [mean_o, mean_f] }
}

/// See [`face_gradient`].
pub(in crate::contact) struct FaceGradient<T> {
    pub series: T,
    pub o: Option<T>,
    pub f: T,
    pub means: [Option<MeanFall>; 2],
}
