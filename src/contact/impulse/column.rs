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
use crate::field::{Cells, LinearFunction, OfFaces, PressureField, WayOut};
use crate::scalar::Scalar;
use crate::spatial::RigidTransform;

/// Where a column ends: a face of a tetrahedron on the boundary of a mesh.
#[derive(Clone, Copy, Debug)]
pub(in crate::contact) struct End {
    pub tetrahedron: u32,
    pub face: u8,
    /// How far the face is along the column, m.
    depth: f64,
}

/// The ends of a column in O and in F; `None` where the body has no mesh of tetrahedra.
pub(in crate::contact) type Ends = [Option<End>; 2];

/// The mesh of one body as a polygon's columns run through it.
struct Side<'a> {
    /// `None` where the field's own gradients count on all polygons.
    field: Option<(&'a PressureField, &'a Cells)>,
    asked: Asked,
    /// The field's own gradient counts on this polygon.
    is_own: bool,
    /// Pose of the body in F, if it is not F.
    pose: Option<&'a RigidTransform<f64>>,
    tetrahedron: u32,
    /// Columns end where the field is lowest, in the polygon's tetrahedron, where none of these functions in F is negative.
    ends_lowest: Option<OfFaces>,
    /// The direction in which columns leave, in the frame of the body's geometry.
    direction: Vector3<f64>,
}

/// The columns on one polygon.
pub(in crate::contact) struct Columns<'a> {
    sides: [Side<'a>; 2],
}

/// Which columns are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::contact) enum Asked {
    /// All of them.
    All,
    /// Those that differ from the fields' own gradients, also in derivatives by poses, where extents are constant.
    Differing,
}

impl<'a> Side<'a> {
    fn empty(field: Option<&'a PressureField>, pose: Option<&'a RigidTransform<f64>>, asked: Asked) -> Self {
        let field = field.map(|field| (field, field.cells()));
        Self {
            field,
            asked,
            is_own: true,
            pose,
            tetrahedron: 0,
            ends_lowest: None,
            direction: Vector3::zeros(),
        }
    }

    /// The side of a polygon's columns. The field's own gradient counts where the field falls linearly on all columns
    /// to its lowest value, since it is the mean one then, unless all are asked for.
    #[inline(always)]
    fn set(&mut self, tetrahedron: u32, normal: &Vector3<f64>) {
        if let Some((_, cells)) = self.field {
            self.tetrahedron = tetrahedron;
            self.direction = self.pose.map_or(*normal, |x_fo| -x_fo.rotation.tr_mul(normal));
            if self.asked == Asked::All {
                self.is_own = false;
                return;
            }
            self.is_own = cells.falls_linearly(tetrahedron, &self.direction);
            if !self.is_own {
                self.ends_lowest = cells.lowest_way_out(tetrahedron, &self.direction);
                if let (Some(in_body), Some(x_fo)) = (&mut self.ends_lowest, self.pose) {
                    in_body.move_to(x_fo);
                }
            }
        }
    }

    /// Whether the field's own gradient counts at a point of the polygon, as is seen at once.
    #[inline(always)]
    fn is_own_at(&self, x: &Vector3<f64>) -> bool {
        self.is_own || self.ends_lowest.as_ref().is_some_and(|functions| functions.are_nonnegative(x))
    }

    /// The end of the column on a point of the polygon, in F's frame.
    fn end(&self, x: &Vector3<f64>) -> Option<End> {
        let (field, cells) = self.field.filter(|_| !self.is_own_at(x))?;
        let x = self.pose.map_or(*x, |pose| pose.rotation.tr_mul(&(x - pose.translation)));
        let mut tetrahedron = self.tetrahedron;
        let mut out = cells.way_out(tetrahedron, None, &x, &self.direction);
        if out.is_lowest && self.asked == Asked::Differing {
            return None;
        }
        // A line passes through each tetrahedron once.
        for _ in field.tetrahedra() {
            let WayOut { face, depth, .. } = out;
            let Some((beyond, came)) = field.neighbour(tetrahedron, face) else {
                return Some(End { tetrahedron, face, depth });
            };
            tetrahedron = beyond;
            out = cells.way_out(tetrahedron, Some(came), &x, &self.direction);
        }
        None
    }

    /// The mean gradient on the column on a point from the pressure there above the lowest one, or the field's own.
    fn gradient(&self, own: f64, x: &Vector3<f64>, above: f64) -> f64 {
        match self.end(x) {
            Some(end) if above > 0.0 && end.depth > 0.0 => above / end.depth,
            _ => own,
        }
    }
}

impl<'a> Columns<'a> {
    /// Memory for the columns of a pair's polygons. With Drake's filter the fields' own gradients count.
    pub fn new<T>(
        roles: &Roles<'a, T>,
        x_fo: &'a RigidTransform<f64>,
        filter: FaceFilter,
        asked: Asked,
    ) -> Self {
        let [o, f] = match roles.parts {
            _ if filter == FaceFilter::Drake => [None, None],
            Parts::TwoFields { o, f } => [Some(o), Some(f)],
            Parts::SurfaceInField { f, .. } | Parts::HalfSpaceInField { f, .. } => [None, Some(f)],
            Parts::SurfaceInHalfSpace { .. } | Parts::TwoRigid => [None, None],
        };
        Self { sides: [Side::empty(o, Some(x_fo), asked), Side::empty(f, None, asked)] }
    }

    /// Becomes the columns on a polygon with this normal.
    #[inline(always)]
    pub fn set(&mut self, found: &Polygon, normal: &Vector3<f64>) {
        let [of_o, of_f] = &mut self.sides;
        of_o.set(found.o, normal);
        of_f.set(found.f, normal);
    }

    /// Whether the fields' own gradients count at a point of the polygon, as is seen at once. Where they are not said to,
    /// they may all the same.
    #[inline(always)]
    pub fn are_own_at(&self, x: &Vector3<f64>) -> bool {
        let [o, f] = &self.sides;
        o.is_own_at(x) && f.is_own_at(x)
    }

    /// The ends of the column on a point of the polygon, in F's frame; `None` where the field's own gradient counts.
    pub fn ends(&self, x: &Vector3<f64>) -> Ends {
        let [o, f] = &self.sides;
        [o.end(x), f.end(x)]
    }

    /// The fields of O and F.
    pub fn fields(&self) -> [Option<&'a PressureField>; 2] {
        [0, 1].map(|k| self.sides[k].field.map(|(field, _)| field))
    }

    /// The gradient that the stiffness of a face at `x` is proportional to, Pa/m, from the pressure there and how far the
    /// pressures of O and F fall below zero in skirts: [`face_gradient`] without derivatives.
    #[inline(never)]
    pub fn gradient(
        &self,
        polygon: &SurfacePolygon<f64>,
        x: &Vector3<f64>,
        pressure: f64,
        lowest: &[f64; 2],
    ) -> f64 {
        let f = self.sides[1].gradient(polygon.gradient_f, x, pressure + lowest[1]);
        let o = polygon.gradient_o.map(|own| self.sides[0].gradient(own, x, pressure + lowest[0]));
        gradient_in_series(o, f)
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
