//! The polygon where two tetrahedra have equal pressure (Elandt §VI-B.1). Topology: everything here is
//! `f64`.

use nalgebra::Vector3;

use crate::contact::lanes::Lanes;
use crate::contact::surface::candidates::{Elements, are_beyond};
use crate::contact::surface::clip::{Clipped, Clipper, Corners, on_face, snapped};
use crate::contact::surface::equilibrium::{Equilibrium, PARALLEL_FIELDS, SAME_BOUND, scaled};
use crate::contact::surface::polygon::{Bound, FIRST_OF_F, Polygon, Section};
use crate::field::{PressureField, TetrahedronField};
use crate::spatial::RigidTransform;

/// A tetrahedron of O as F sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeenTetrahedron {
    number: u32,
    /// Its vertices in F's frame.
    corners: Corners,
    /// O's pressure at the vertices, Pa.
    pressure: [f64; 4],
    /// O's pressure gradient in F's frame, Pa/m.
    gradient: Vector3<f64>,
}

impl SeenTetrahedron {
    #[inline(always)]
    pub fn new(o: &PressureField, e_o: f64, i: u32, x_fo: &RigidTransform<f64>) -> Self {
        let gradient = x_fo.rotation * (o.tetrahedra()[i as usize].extent.gradient * e_o);
        let (mut corners, mut pressure) = ([Vector3::zeros(); 4], [0.0; 4]);
        for (corner, k) in o.mesh().tetrahedra[i as usize].into_iter().enumerate() {
            corners[corner] = *x_fo * o.mesh().vertices[k as usize];
            pressure[corner] = e_o * o.extent()[k as usize];
        }
        let corners = Corners::new(&corners);
        Self { number: i, corners, pressure, gradient }
    }
}

/// Both moduli in Pa and, for what rounding can do, how far the tetrahedra of O and of F reach
/// from F's origin, metres.
pub(super) struct Sizes {
    e_o: f64,
    e_f: f64,
    reach_of_o: f64,
    reach_of_f: f64,
}

impl Sizes {
    pub fn new(o: &PressureField, e_o: f64, f: &PressureField, e_f: f64, x_fo: &RigidTransform<f64>) -> Self {
        Self {
            e_o,
            e_f,
            reach_of_o: o.hierarchy().radius() + x_fo.translation.norm(),
            reach_of_f: f.hierarchy().radius(),
        }
    }
}

/// The polygon where O's tetrahedron and F's tetrahedron `j` have equal pressure.
#[inline(always)]
pub(super) fn two_tetrahedra<L: Lanes>(
    seen: &SeenTetrahedron,
    o: &PressureField,
    f: &PressureField,
    j: u32,
    sizes: &Sizes,
    clipper: &mut Clipper<L>,
    polygon: &mut Polygon,
) -> Option<Equilibrium> {
    let t_f = &f.tetrahedra()[j as usize];
    let pressure = scaled(&t_f.extent, sizes.e_f);
    // A few units in the last place of the terms that are added.
    let scale = sizes.e_o + pressure.offset.abs() + pressure.gradient.abs().sum() * sizes.reach_of_o;
    let of_f = seen.corners.values(&pressure);
    let mut value = seen.pressure;
    for k in 0..4 {
        value[k] -= of_f[k];
    }
    let value = snapped(value, 4e-15 * scale);
    if Section::of(&value).len == 0 {
        return None;
    }
    let difference = seen.gradient - pressure.gradient;
    let size = difference.norm_squared();
    let sum = seen.gradient.norm_squared() + pressure.gradient.norm_squared();
    if size <= PARALLEL_FIELDS * PARALLEL_FIELDS * sum {
        return None;
    }
    (polygon.o, polygon.f) = (seen.number, j);
    let t_o = &o.tetrahedra()[seen.number as usize];
    let left_out = same_bound(t_o, sizes.e_o, t_f, sizes.e_f);
    let reach = sizes.reach_of_o + sizes.reach_of_f;
    let clipped = clipper.section(&seen.corners, &value, &t_f.barycentric, reach, left_out, polygon);
    if clipped == Clipped::Special {
        polygon.section(&seen.corners.points(), &value, 0);
        clip_by_tetrahedron(polygon, t_f, t_o, left_out, reach, &-difference);
    }
    if clipped == Clipped::Outside || polygon.len == 0 {
        return None;
    }
    Some(Equilibrium { normal: difference / size.sqrt(), gradient_o: Some(seen.gradient), pressure })
}

/// What tells of O at a pose in F whether a face of one of two tetrahedra parts them by more than `least` in metres.
pub(super) fn apart<'a>(
    (o, f): (&'a PressureField, &'a PressureField),
    x_fo: RigidTransform<f64>,
    least: f64,
) -> impl Fn(&Elements) -> bool + use<'a> {
    let x_of = x_fo.inverse();
    move |&[i, j]| {
        let (of_o, of_f) = (o.mesh().corners(i as usize), f.mesh().corners(j as usize));
        are_beyond(&of_o.map(|x| x_fo * x), &f.tetrahedra()[j as usize].barycentric, least)
            || are_beyond(&of_f.map(|x| x_of * x), &o.tetrahedra()[i as usize].barycentric, least)
    }
}

/// The face of F that bounds the common pressure on the same side as, and no tighter than, a
/// face of O.
///
/// On the plane of equal pressure two such faces are one and the same constraint, or parallel
/// ones. Above all this is the perimeter, where both pressures vanish: O's boundary face, F's
/// boundary face and the plane meet in one line there. Clipping by both would place vertices by
/// rounding alone and ruin their derivatives, so F's is left out.
#[inline]
fn same_bound(t_o: &TetrahedronField, e_o: f64, t_f: &TetrahedronField, e_f: f64) -> Option<u8> {
    let (bound_o, bound_f) = (t_o.isobaric?, t_f.isobaric?);
    if bound_o.lower_bound != bound_f.lower_bound {
        return None;
    }
    let (level_o, level_f) = (e_o * bound_o.level, e_f * bound_f.level);
    // Only the levels of skirts differ by rounding; the others are 0 or whole moduli.
    let close = if level_f < 0.0 { SAME_BOUND * level_f.abs() } else { 0.0 };
    let tighter = if bound_f.lower_bound { level_f > level_o + close } else { level_f < level_o - close };
    (!tighter).then_some(bound_f.face)
}

/// Clips by the faces of F's tetrahedron, but for the one to be left out.
///
/// `reach` bounds the distance of the polygon from either body's origin, metres.
#[inline]
fn clip_by_tetrahedron(
    polygon: &mut Polygon,
    tetrahedron: &TetrahedronField,
    of_o: &TetrahedronField,
    left_out: Option<u8>,
    reach: f64,
    shift: &Vector3<f64>,
) {
    for (face, inside) in tetrahedron.barycentric.iter().enumerate() {
        let name = face as u8;
        if Some(name) != left_out && polygon.len > 0 {
            let bound = if tetrahedron.isobaric.is_some_and(|b| b.face == name) {
                Bound::This
            } else {
                of_o.isobaric.map_or(Bound::None, |b| Bound::Edge(b.face))
            };
            polygon.clip(inside, FIRST_OF_F + name, on_face(inside, reach), shift, bound);
        }
    }
}
