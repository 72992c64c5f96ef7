//! The force is the energy's slope.

mod common;

#[test]
fn meshes_fill_their_shapes() {
    let volume = |(mesh, _): &common::Field| -> f64 {
        mesh.tetrahedra
            .iter()
            .map(|t| {
                let [a, b, c, d] = t.map(|k| mesh.vertices[k as usize]);
                (b - a).cross(&(c - a)).dot(&(d - a)) / 6.0
            })
            .sum()
    };
    let enclosed = |field: &common::Field| -> f64 {
        let s = common::surface(&field.0);
        s.triangles
            .iter()
            .map(|t| {
                let [a, b, c] = t.map(|k| s.vertices[k as usize]);
                a.dot(&b.cross(&c)) / 6.0
            })
            .sum()
    };
    let section = |m: f64| 0.5 * m * (std::f64::consts::TAU / m).sin() * 0.25;
    for (name, field, expected, tetrahedra) in [
        ("box", common::box_field([1.0, 2.0, 3.0]), 6.0, 12),
        ("L", common::l_shape(0.5), 24.0 / 8.0, 144),
        ("sphere", common::icosphere(1.0, 3), 4.0 / 3.0 * std::f64::consts::PI * 0.99, 1280),
        ("torus", common::torus(2.0, 0.5, 96, 6), section(6.0) * std::f64::consts::TAU * 2.0, 96 * 18),
    ] {
        let (v, w) = (volume(&field), enclosed(&field));
        assert_eq!(field.0.tetrahedra.len(), tetrahedra);
        assert!((v - w).abs() < 1e-12, "{name}: {v}, its surface encloses {w}");
        assert!((v / expected - 1.0).abs() < 1e-2, "{name}: {v}, {expected} expected");
    }
}
