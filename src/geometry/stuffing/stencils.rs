//! The part of a tetrahedron of the lattice that lies inside, as tetrahedra.

/// What a stencil asks for.
pub(super) trait Corners {
    /// Whether the point lies inside (1), on the surface (0) or outside (−1).
    fn side(&self, point: u32) -> i8;
    /// The vertex where the surface cuts the edge from a point inside to one outside.
    fn cut(&self, inside: u32, outside: u32) -> u32;
    /// Of a quadrilateral of two points inside and the cuts of their edges to one outside, whether the diagonal starts at `a`
    /// rather than at `b`.
    fn comes_first(&self, a: u32, b: u32, outside: u32) -> bool;
    /// Whether the first pair of vertices are nearer to each other than the second.
    fn is_shorter(&self, first: [u32; 2], second: [u32; 2]) -> bool;
}

/// Appends the tetrahedra that fill the inside part of a tetrahedron of the lattice, of any orientation: the stencils of
/// Labelle and Shewchuk (2007), figure 3.
///
/// Each of them has a point inside, and such a point is on no boundary face: its whole surroundings are filled. So no
/// tetrahedron has all of its vertices on the surface.
pub(super) fn fill(of: &impl Corners, points: [u32; 4], out: &mut Vec<[u32; 4]>) {
    let on = |side: i8| points.into_iter().filter(move |&point| of.side(point) == side);
    let (inside, zero, outside): (Vec<u32>, Vec<u32>, Vec<u32>) =
        (on(1).collect(), on(0).collect(), on(-1).collect());
    match (&inside[..], &zero[..], &outside[..]) {
        ([], ..) => {}
        (.., []) => out.push(points),
        (&[a], ..) => {
            let mut corners = zero.clone();
            corners.extend(outside.iter().map(|&point| of.cut(a, point)));
            out.push([a, corners[0], corners[1], corners[2]]);
        }
        (&[a, b], &[z], &[c]) => {
            let [a, b] = if of.comes_first(a, b, c) { [a, b] } else { [b, a] };
            out.extend([[z, a, b, of.cut(b, c)], [z, a, of.cut(b, c), of.cut(a, c)]]);
        }
        (&[a, b], _, &[c, d]) => fill_two(of, [a, b], [c, d], out),
        (&[a, b, c], _, &[d]) => {
            let mut order = [a, b, c];
            // The order has no cycle: see `comes_first`.
            order.sort_by(|&p, &q| {
                if of.comes_first(p, q, d) { std::cmp::Ordering::Less } else { std::cmp::Ordering::Greater }
            });
            let [a, b, c] = order;
            let [x, y, z] = order.map(|point| of.cut(point, d));
            out.extend([[a, b, c, z], [a, b, y, z], [a, x, y, z]]);
        }
        _ => {}
    }
}

/// Two points inside, two outside.
fn fill_two(of: &impl Corners, [a, b]: [u32; 2], [c, d]: [u32; 2], out: &mut Vec<[u32; 4]>) {
    let first = [c, d].map(|outside| of.comes_first(a, b, outside));
    if first[0] == first[1] {
        let [a, b] = if first[0] { [a, b] } else { [b, a] };
        let [ac, ad, bc, bd] = [of.cut(a, c), of.cut(a, d), of.cut(b, c), of.cut(b, d)];
        out.push([a, b, bc, bd]);
        match of.is_shorter([ac, bd], [bc, ad]) {
            true => out.extend([[a, ac, bc, bd], [a, ac, ad, bd]]),
            false => out.extend([[a, ac, bc, ad], [a, bc, ad, bd]]),
        }
    } else {
        // The diagonals start at `a` to the cut of `b` with `c`, and at `b` to that of `a` with `d`.
        let [c, d] = if first[0] { [c, d] } else { [d, c] };
        let [ac, ad, bc, bd] = [of.cut(a, c), of.cut(a, d), of.cut(b, c), of.cut(b, d)];
        out.extend([[a, b, bc, ad], [a, ac, bc, ad], [b, bc, bd, ad]]);
    }
}
