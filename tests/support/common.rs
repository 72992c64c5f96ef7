//! Meshes, bodies and random poses that several tests share.
#![allow(dead_code, reason = "not every test that includes this module uses its own part of this module")]

use std::collections::HashMap;
use std::f64::consts::TAU;

use isobar::contact::{Collider, ContactPair, Material, contact_energy};
use isobar::field::{PressureField, RigidSurface, distance_extent};
use isobar::geometry::VolumeMesh;
use isobar::scalar::DualArray;
use isobar::spatial::{Quaternion, RigidTransform, SpatialForce, SpatialVelocity};
use nalgebra::Vector3;
use rand::Rng;

/// A mesh with an extent for every vertex.
pub type Field = (VolumeMesh, Vec<f64>);

/// Turns over the tetrahedra of negative volume.
fn oriented(vertices: Vec<Vector3<f64>>, mut tetrahedra: Vec<[u32; 4]>) -> VolumeMesh {
    for t in &mut tetrahedra {
        let [a, b, c, d] = t.map(|k| vertices[k as usize]);
        if (b - a).cross(&(c - a)).dot(&(d - a)) < 0.0 {
            t.swap(2, 3);
        }
    }
    VolumeMesh { vertices, tetrahedra }
}

/// A sphere of the given radius: an icosahedron subdivided `level` times, 20·4^level tetrahedra
/// that share the centre, where the extent is 1.
pub fn icosphere(radius: f64, level: u32) -> Field {
    let mesh = VolumeMesh::icosphere(radius, level);
    let extent = mesh.vertices.iter().map(|x| if x.norm() == 0.0 { 1.0 } else { 0.0 }).collect();
    (mesh, extent)
}

/// A torus in the xy-plane: `n` segments around a circle of radius `major`, each an `m`-gon of
/// radius `minor` in section. The extent is 1 on the circle.
pub fn torus(major: f64, minor: f64, n: u32, m: u32) -> Field {
    let (mut vertices, mut extent) = (Vec::new(), Vec::new());
    for i in 0..n {
        let (sin, cos) = (TAU * f64::from(i) / f64::from(n)).sin_cos();
        vertices.push(Vector3::new(cos, sin, 0.0) * major);
        extent.push(1.0);
        for j in 0..m {
            let (up, out) = (TAU * f64::from(j) / f64::from(m)).sin_cos();
            let distance = major + minor * out;
            vertices.push(Vector3::new(distance * cos, distance * sin, minor * up));
            extent.push(0.0);
        }
    }
    let mut tetrahedra = Vec::new();
    for i in 0..n {
        let (here, there) = (i * (m + 1), (i + 1) % n * (m + 1));
        for j in 0..m {
            // The columns of a prism from one section to the next: the axis, then two of the
            // boundary in an order on which both neighbours agree.
            let next = (j + 1) % m;
            let columns = [0, 1 + j.min(next), 1 + j.max(next)];
            let [a, b, c] = columns.map(|k| here + k);
            let [d, e, f] = columns.map(|k| there + k);
            tetrahedra.extend([[a, b, c, f], [a, b, e, f], [a, d, e, f]]);
        }
    }
    (oriented(vertices, tetrahedra), extent)
}

/// Cubic cells of size `h` at integer places, six tetrahedra each, centred on the box around
/// them. The extent is the distance to the boundary over the largest one.
pub fn voxels(cells: &[[i32; 3]], h: f64) -> Field {
    let mut index = HashMap::new();
    let mut vertices: Vec<Vector3<f64>> = Vec::new();
    let mut vertex = |p: [i32; 3]| {
        *index.entry(p).or_insert_with(|| {
            vertices.push(Vector3::from(p.map(f64::from)) * h);
            vertices.len() as u32 - 1
        })
    };
    let mut tetrahedra = Vec::new();
    for &cell in cells {
        for axes in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut p = cell;
            let mut t = [vertex(p); 4];
            for (k, axis) in axes.into_iter().enumerate() {
                p[axis] += 1;
                t[k + 1] = vertex(p);
            }
            tetrahedra.push(t);
        }
    }
    let (low, high) = vertices.iter().fold((vertices[0], vertices[0]), |(l, u), x| (l.inf(x), u.sup(x)));
    for x in &mut vertices {
        *x -= (low + high) * 0.5;
    }
    let mesh = oriented(vertices, tetrahedra);
    let extent = distance_extent(&mesh).expect("cells that enclose a vertex");
    (mesh, extent)
}

/// Two arms of square section, 2 × 2 cells, that meet at a right angle: not convex, with
/// tetrahedra whose vertices are all on the boundary.
pub fn l_shape(h: f64) -> Field {
    let mut cells = Vec::new();
    for x in 0..4 {
        for y in 0..4 {
            for z in 0..2 {
                if x < 2 || y < 2 {
                    cells.push([x, y, z]);
                }
            }
        }
    }
    voxels(&cells, h)
}

/// A box with the given edge lengths: its 8 corners and its centre, where the extent is 1, in 12
/// tetrahedra (the cubes of Huang et al. 2021, §VI).
pub fn box_field(size: [f64; 3]) -> Field {
    let mut vertices: Vec<_> = (0..8)
        .map(|k| Vector3::from_fn(|axis, _| if k >> axis & 1 == 1 { 0.5 } else { -0.5 } * size[axis]))
        .collect();
    vertices.push(Vector3::zeros());
    let mut tetrahedra = Vec::new();
    for (axis, side) in [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)] {
        let (u, v) = (1 << ((axis + 1) % 3), 1 << ((axis + 2) % 3));
        let corner = side << axis;
        tetrahedra.extend([[corner, corner + u, corner + u + v, 8], [corner, corner + u + v, corner + v, 8]]);
    }
    let mut extent = vec![0.0; 8];
    extent.push(1.0);
    (oriented(vertices, tetrahedra), extent)
}

/// A material without dissipation and friction.
pub fn elastic(hydroelastic_modulus: f64) -> Material {
    Material::new(hydroelastic_modulus, 0.0, 0.0)
}

/// A compliant body without dissipation and friction.
pub fn compliant((mesh, extent): Field, modulus: f64) -> Collider {
    let field = PressureField::new(mesh, extent).expect("a valid field");
    Collider::compliant(field, elastic(modulus))
}

/// The rigid body bounded by a volume mesh, without friction.
pub fn rigid((mesh, _): &Field) -> Collider {
    let surface = RigidSurface::new(mesh.boundary());
    Collider::rigid(surface, elastic(1.0))
}

/// A compliant half-space without dissipation and friction.
pub fn compliant_half_space(modulus: f64, thickness: f64) -> Collider {
    Collider::compliant_half_space(elastic(modulus), thickness)
}

/// A rigid half-space without friction.
pub fn rigid_half_space() -> Collider {
    Collider::rigid_half_space(elastic(1.0))
}

/// Two bodies at rest.
pub fn at_rest<'a>(
    a: &'a Collider,
    x_wa: RigidTransform,
    b: &'a Collider,
    x_wb: RigidTransform,
) -> ContactPair<'a> {
    ContactPair { a, x_wa, v_wa: SpatialVelocity::zero(), b, x_wb, v_wb: SpatialVelocity::zero() }
}

/// −∂U by rotation (about A's origin) and translation of A, with dual numbers: the wrench on A
/// about its origin.
pub fn energy_slope(pair: &ContactPair) -> SpatialForce {
    type Dual = DualArray<6>;
    let turn = Vector3::from_fn(|k, _| Dual::variable(0.0, k));
    let shift = Vector3::from_fn(|k, _| Dual::variable(0.0, 3 + k));
    let energy = contact_energy(&ContactPair {
        a: &Collider::lift(pair.a),
        x_wa: RigidTransform::lift(&pair.x_wa).moved(&turn, &shift),
        v_wa: SpatialVelocity::zero(),
        b: &Collider::lift(pair.b),
        x_wb: RigidTransform::lift(&pair.x_wb),
        v_wb: SpatialVelocity::zero(),
    });
    let slope = |k: usize| Vector3::from_fn(|i, _| -energy.eps[k + i]);
    SpatialForce::new(slope(0), slope(3))
}

/// A vector uniform in the unit ball.
pub fn random_in_ball(random: &mut impl Rng) -> Vector3<f64> {
    loop {
        let x = Vector3::from_fn(|_, _| random.random_range(-1.0..1.0));
        if x.norm_squared() <= 1.0 {
            return x;
        }
    }
}

/// A uniformly random orientation and a translation uniform in a ball of radius `reach`.
pub fn random_pose(random: &mut impl Rng, reach: f64) -> RigidTransform {
    let q = loop {
        let q = [0; 4].map(|_| random.random_range(-1.0..1.0));
        let square: f64 = q.iter().map(|x| x * x).sum();
        if 0.01 < square && square <= 1.0 {
            break q;
        }
    };
    let rotation = Quaternion::from_wxyz(q[0], q[1], q[2], q[3]).to_matrix();
    RigidTransform::new(rotation, random_in_ball(random) * reach)
}
