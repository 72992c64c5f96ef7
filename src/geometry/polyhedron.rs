//! Convex polyhedra cut out by half-spaces, and integrals over them.

use crate::scalar::Scalar;
use nalgebra::Vector3;

/// The points x with n·x ≤ d.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HalfSpace<T = f64> {
    /// The normal n, out of the half-space; of any length.
    pub normal: Vector3<T>,
    /// The bound d, in metres times the length of the normal.
    pub offset: T,
}

/// A convex polyhedron, which starts as a tetrahedron and is clipped by half-spaces.
///
/// It is kept as tetrahedra that fill it. A tetrahedron is cut by the signs of its four corners
/// alone, without tolerances and without a topology that rounding could contradict, so planes
/// through corners, edges and faces need no care: they leave tetrahedra of volume 0. Buffers are
/// reused from one polyhedron to the next.
#[derive(Clone, Debug)]
pub struct ConvexPolyhedron<T = f64> {
    tetrahedra: Vec<[Vector3<T>; 4]>,
    clipped: Vec<[Vector3<T>; 4]>,
}

impl<T> Default for ConvexPolyhedron<T> {
    /// The empty polyhedron.
    fn default() -> Self {
        Self { tetrahedra: Vec::new(), clipped: Vec::new() }
    }
}

impl<T: Scalar> ConvexPolyhedron<T> {
    /// Starts over from a tetrahedron, positively oriented as in
    /// [`VolumeMesh`](crate::geometry::VolumeMesh); a negatively oriented one has negative volume.
    pub fn set_tetrahedron(&mut self, corners: [Vector3<T>; 4]) {
        self.tetrahedra.clear();
        self.tetrahedra.push(corners);
    }

    /// Keeps the part in a half-space.
    pub fn clip(&mut self, half_space: &HalfSpace<T>) {
        self.clipped.clear();
        for tetrahedron in &self.tetrahedra {
            clip_tetrahedron(tetrahedron, half_space, &mut self.clipped);
        }
        std::mem::swap(&mut self.tetrahedra, &mut self.clipped);
    }

    /// Whether nothing is left. What a half-space only touches may be left with volume 0.
    pub fn is_empty(&self) -> bool {
        self.tetrahedra.is_empty()
    }

    /// The volume ∫ dV in m³ and the first moment ∫ x dV in m⁴.
    pub fn volume_and_moment(&self) -> (T, Vector3<T>) {
        let mut volume = T::zero();
        let mut moment = Vector3::from_element(T::zero());
        for [a, b, c, d] in &self.tetrahedra {
            let part = (b - a).cross(&(c - a)).dot(&(d - a)) / 6.0;
            volume += part;
            moment += (a + b + c + d) * (part / 4.0);
        }
        (volume, moment)
    }

    /// The integral ∫ (g·x + c) dV of a linear function, exact but for rounding.
    pub fn integrate(&self, gradient: &Vector3<T>, constant: T) -> T {
        let (volume, moment) = self.volume_and_moment();
        gradient.dot(&moment) + constant * volume
    }

    /// The integral ∫ (g·x + c)² dV of the square of a linear function, exact but for rounding.
    pub fn integrate_square(&self, gradient: &Vector3<T>, constant: T) -> T {
        let mut sum = T::zero();
        for corners in &self.tetrahedra {
            let [a, b, c, d] = corners;
            let volume = (b - a).cross(&(c - a)).dot(&(d - a)) / 6.0;
            let values = corners.map(|x| gradient.dot(&x) + constant);
            let total = values[0] + values[1] + values[2] + values[3];
            let squares = values.iter().fold(total * total, |s, &v| s + v * v);
            sum += volume * squares / 20.0;
        }
        sum
    }
}

/// Appends tetrahedra that fill the part of a tetrahedron in a half-space.
fn clip_tetrahedron<T: Scalar>(
    corners: &[Vector3<T>; 4],
    half_space: &HalfSpace<T>,
    filling: &mut Vec<[Vector3<T>; 4]>,
) {
    let height = corners.map(|x| half_space.normal.dot(&x) - half_space.offset);
    let inside = height.map(|h| h.real() <= 0.0);
    let count = inside.iter().filter(|&&inside| inside).count();
    if count == 4 {
        filling.push(*corners);
        return;
    }
    // The corners inside first; exchanging two of the same side keeps the orientation.
    let mut order = [0, 1, 2, 3];
    order.sort_by_key(|&i| !inside[i]);
    let exchanges =
        (0..4).flat_map(|i| (0..i).map(move |j| (j, i))).filter(|&(j, i)| !inside[j] && inside[i]).count();
    if exchanges % 2 == 1 {
        match count {
            1 => order.swap(2, 3),
            _ => order.swap(0, 1),
        }
    }
    let corner = |i: usize| corners[order[i]];
    // Where the edge from a corner inside to one outside meets the plane. The heights differ, as
    // one is positive and the other is not.
    let cut = |i: usize, o: usize| {
        let (h, k) = (height[order[i]], height[order[o]]);
        corner(i) + (corner(o) - corner(i)) * (h / (h - k))
    };
    // A prism with corresponding ends (p₀, p₁, p₂), (q₀, q₁, q₂) is filled by each four
    // consecutive points of p₀ p₁ p₂ q₀ q₁ q₂, all oriented like the first.
    let mut fill_prism = |points: [Vector3<T>; 6]| {
        for first in 0..3 {
            filling.push([0, 1, 2, 3].map(|i| points[first + i]));
        }
    };
    match count {
        1 => filling.push([corner(0), cut(0, 1), cut(0, 2), cut(0, 3)]),
        2 => fill_prism([corner(0), cut(0, 2), cut(0, 3), corner(1), cut(1, 2), cut(1, 3)]),
        3 => fill_prism([corner(0), corner(1), corner(2), cut(0, 3), cut(1, 3), cut(2, 3)]),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::TETRAHEDRON_FACES;
    use crate::geometry::kuhn_grid::kuhn_grid;
    use crate::scalar::{DualArray, lift_vector};
    use proptest::prelude::*;

    type Tetrahedron = [Vector3<f64>; 4];

    fn half_space(normal: [f64; 3], offset: f64) -> HalfSpace {
        HalfSpace { normal: normal.into(), offset }
    }

    fn complement(h: &HalfSpace) -> HalfSpace {
        HalfSpace { normal: -h.normal, offset: -h.offset }
    }

    fn clipped(corners: &Tetrahedron, half_spaces: &[HalfSpace]) -> ConvexPolyhedron {
        let mut polyhedron = ConvexPolyhedron::default();
        polyhedron.set_tetrahedron(*corners);
        for h in half_spaces {
            polyhedron.clip(h);
        }
        polyhedron
    }

    /// Volume and first moment of the unit cube clipped, through its six Kuhn tetrahedra.
    fn clipped_cube(half_spaces: &[HalfSpace]) -> (f64, Vector3<f64>) {
        let mesh = kuhn_grid([1, 1, 1], 0.0, 1);
        let parts = mesh.tetrahedra.iter().map(|t| {
            let corners = t.map(|v| mesh.vertices[v as usize]);
            clipped(&corners, half_spaces).volume_and_moment()
        });
        parts.fold((0.0, Vector3::zeros()), |(v, m), (w, n)| (v + w, m + n))
    }

    /// The four half-spaces whose intersection is a tetrahedron.
    fn half_spaces(corners: &Tetrahedron) -> [HalfSpace; 4] {
        TETRAHEDRON_FACES.map(|[a, b, c]| {
            let normal = (corners[b] - corners[a]).cross(&(corners[c] - corners[a]));
            HalfSpace { normal, offset: normal.dot(&corners[a]) }
        })
    }

    fn vector() -> impl Strategy<Value = Vector3<f64>> {
        proptest::array::uniform3(-1.0..1.0f64).prop_map(Vector3::from)
    }

    fn tetrahedron() -> impl Strategy<Value = Tetrahedron> {
        proptest::array::uniform4(vector()).prop_filter_map("flat", |mut t| {
            let (volume, _) = clipped(&t, &[]).volume_and_moment();
            if volume < 0.0 {
                t.swap(0, 1);
            }
            (volume.abs() > 1e-2).then_some(t)
        })
    }

    fn plane() -> impl Strategy<Value = HalfSpace> {
        (vector(), -0.5..0.5f64)
            .prop_filter("no direction", |(n, _)| n.norm() > 0.1)
            .prop_map(|(normal, offset)| HalfSpace { normal, offset })
    }

    #[test]
    fn cube_cut_by_a_diagonal_plane() {
        for s in [0.0, 1e-9, 0.3, 1.0, 1.2, 1.5, 2.0, 2.9, 3.0, 4.0] {
            let (volume, _) = clipped_cube(&[half_space([1.0, 1.0, 1.0], s)]);
            let cube = |x: f64| x.max(0.0).powi(3) / 6.0;
            let exact = cube(s) - 3.0 * cube(s - 1.0) + 3.0 * cube(s - 2.0) - cube(s - 3.0);
            assert!((volume - exact).abs() < 1e-15, "{s}: {volume}, not {exact}");
        }
    }

    #[test]
    fn square_of_a_linear_function_over_a_box() {
        let mesh = kuhn_grid([1, 1, 1], 0.0, 1);
        let below = half_space([0.0, 0.0, 1.0], 0.25);
        let parts = mesh.tetrahedra.iter().map(|t| {
            let corners = t.map(|v| mesh.vertices[v as usize]);
            clipped(&corners, &[below]).integrate_square(&Vector3::new(2.0, 0.0, 4.0), -0.5)
        });
        // ∫₀¹ ∫₀^¼ (2 x + 4 z − ½)² dz dx, with the mean 1 and the variances 4/12 and 16/16/12.
        let exact = 0.25 * (1.0 + 4.0 / 12.0 + 1.0 / 12.0);
        assert!((parts.sum::<f64>() - exact).abs() < 1e-15);
    }

    #[test]
    fn box_cut_from_a_cube_has_its_volume_and_moment() {
        let (volume, moment) = clipped_cube(&[
            half_space([-2.0, 0.0, 0.0], -0.4),
            half_space([0.0, 3.0, 0.0], 1.5),
            half_space([0.0, 0.0, 1.0], 0.25),
        ]);
        assert!((volume - 0.8 * 0.5 * 0.25).abs() < 1e-15);
        assert!((moment - Vector3::new(0.6, 0.25, 0.125) * 0.1).norm() < 1e-15);
    }

    #[test]
    fn planes_through_corners_edges_and_faces_of_the_cube() {
        for (normal, offset, exact) in [
            ([1.0, 0.0, 0.0], 0.0, 0.0),
            ([1.0, 0.0, 0.0], 1.0, 1.0),
            ([-1.0, 0.0, 0.0], 0.0, 1.0),
            ([1.0, -1.0, 0.0], 0.0, 0.5),
            ([1.0, 1.0, 0.0], 1.0, 0.5),
            ([1.0, 1.0, 0.0], 0.0, 0.0),
            ([1.0, 1.0, 1.0], 0.0, 0.0),
            ([1.0, 1.0, -1.0], 0.0, 1.0 / 6.0),
            ([1.0, 1.0, -2.0], 0.0, 0.5),
        ] {
            let h = half_space(normal, offset);
            let (volume, _) = clipped_cube(&[h]);
            let (rest, _) = clipped_cube(&[complement(&h)]);
            assert!((volume + rest - 1.0).abs() < 1e-15);
            assert!((volume - exact).abs() < 1e-15, "{normal:?}: {volume}");
        }
    }

    proptest! {
        #[test]
        fn a_part_and_its_complement_make_the_whole(t in tetrahedron(), h in plane(), k in plane()) {
            let whole = clipped(&t, &[h]).volume_and_moment();
            let one = clipped(&t, &[h, k]).volume_and_moment();
            let other = clipped(&t, &[h, complement(&k)]).volume_and_moment();
            let scale = clipped(&t, &[]).volume_and_moment().0;
            prop_assert!((one.0 + other.0 - whole.0).abs() <= 1e-14 * scale);
            prop_assert!((one.1 + other.1 - whole.1).norm() <= 1e-14 * scale);
            prop_assert!(one.0 >= -1e-15 * scale && other.0 >= -1e-15 * scale);
        }

        #[test]
        fn order_of_clipping_does_not_matter(
            t in tetrahedron(), planes in proptest::collection::vec(plane(), 2..6),
        ) {
            let forward = clipped(&t, &planes).volume_and_moment();
            let reversed: Vec<_> = planes.iter().rev().copied().collect();
            let backward = clipped(&t, &reversed).volume_and_moment();
            prop_assert!((forward.0 - backward.0).abs() < 1e-14);
            prop_assert!((forward.1 - backward.1).norm() < 1e-14);
        }

        #[test]
        fn overlap_of_two_tetrahedra_is_symmetric(a in tetrahedron(), b in tetrahedron()) {
            let ab = clipped(&a, &half_spaces(&b)).volume_and_moment();
            let ba = clipped(&b, &half_spaces(&a)).volume_and_moment();
            prop_assert!((ab.0 - ba.0).abs() < 1e-13);
            prop_assert!((ab.1 - ba.1).norm() < 1e-13);
            let own = clipped(&a, &half_spaces(&a)).volume_and_moment().0;
            prop_assert!((own - clipped(&a, &[]).volume_and_moment().0).abs() < 1e-13);
        }

        #[test]
        fn linear_function_is_its_value_at_the_centroid_times_the_volume(
            t in tetrahedron(), h in plane(), g in vector(), c in -1.0..1.0f64,
        ) {
            let part = clipped(&t, &[h]);
            let (volume, moment) = part.volume_and_moment();
            prop_assume!(volume > 1e-6);
            let centroid = moment / volume;
            prop_assert!((part.integrate(&g, c) - (g.dot(&centroid) + c) * volume).abs() < 1e-15);
            // The centroid of a convex body lies in it.
            prop_assert!(h.normal.dot(&centroid) < h.offset + 1e-9);
        }

        /// The integral's derivative with respect to the position of a plane and a motion of a corner.
        #[test]
        fn derivatives_agree_with_differences(
            t in tetrahedron(), h in plane(), g in vector(), direction in vector(),
        ) {
            let integral = |shift: f64, step: f64| {
                let mut t = t;
                t[0] += direction * step;
                let moved = HalfSpace { offset: h.offset + shift, ..h };
                clipped(&t, &[moved]).integrate(&g, 0.3)
            };
            // A corner in the plane is a kink of the second derivative.
            prop_assume!(t.iter().all(|x| (h.normal.dot(x) - h.offset).abs() > 1e-3));
            let mut corners = t.map(|x| lift_vector::<DualArray<2>>(&x));
            corners[0] += direction.map(|x| DualArray::new(0.0, [0.0, x]));
            let mut polyhedron = ConvexPolyhedron::default();
            polyhedron.set_tetrahedron(corners);
            polyhedron.clip(&HalfSpace {
                normal: lift_vector(&h.normal),
                offset: DualArray::variable(h.offset, 0),
            });
            let exact = polyhedron.integrate(&lift_vector(&g), DualArray::constant(0.3));
            let e = 1e-5;
            let by_shift = (integral(e, 0.0) - integral(-e, 0.0)) / (2.0 * e);
            let by_step = (integral(0.0, e) - integral(0.0, -e)) / (2.0 * e);
            prop_assert!((exact.eps[0] - by_shift).abs() < 1e-6, "{exact} {by_shift}");
            prop_assert!((exact.eps[1] - by_step).abs() < 1e-6, "{exact} {by_step}");
        }
    }

    #[test]
    fn buffers_are_reused_and_empty_is_said() {
        let t = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(Vector3::from);
        let mut polyhedron = clipped(&t, &[half_space([1.0, 0.0, 0.0], -1.0)]);
        assert!(polyhedron.is_empty() && polyhedron.volume_and_moment().0 == 0.0);
        polyhedron.set_tetrahedron(t);
        assert!(!polyhedron.is_empty());
        assert!((polyhedron.volume_and_moment().0 - 1.0 / 6.0).abs() < 1e-16);
    }
}
