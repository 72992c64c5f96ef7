//! What a contact query costs besides time: no allocation in the steady state, little memory
//! for each tetrahedron, and the same bits every time.

use isobar::contact::{
    Collider, ContactGeometry, ContactPair, ContactPatch, ContactSettings, Material, SurfaceRepresentation,
    Workspace, contact, contact_jacobian, contact_lifted, for_each_contact_polygon, for_each_face,
};
use isobar::field::{PressureField, RigidSurface, distance_extent, laplace_extent};
use isobar::geometry::{Shape, VolumeMesh};
use isobar::scalar::DualArray;
use isobar::spatial::{RigidTransform, SpatialVelocity, rotation_from_rpy};
use nalgebra::Vector3;

const MATERIAL: Material = Material::new(1e5, 0.7, 0.5).with_static_friction(0.6);

fn compliant(shape: Shape) -> Collider {
    Collider::of_shape(&shape, 0.02, MATERIAL).unwrap()
}

fn rigid(shape: Shape) -> Collider {
    let surface = RigidSurface::new(shape.surface_mesh(0.02).unwrap());
    Collider::rigid(surface, MATERIAL)
}

/// Pairs of every kind, with the distance along z at which they overlap.
fn pairs() -> Vec<(&'static str, Collider, Collider, f64)> {
    let ball = Shape::Sphere { radius: 0.1 };
    let slab = Shape::Box { size: [0.2, 0.16, 0.12] };
    let rod = Shape::Capsule { radius: 0.04, length: 0.1 };
    let half_space = |compliant| {
        if compliant { ContactGeometry::CompliantHalfSpace } else { ContactGeometry::RigidHalfSpace }
    };
    let plane = |compliant| Collider::new(half_space(compliant), MATERIAL, 0.1);
    vec![
        ("ball, ball", compliant(ball), compliant(ball), 0.15),
        ("ball, ball deep", compliant(ball), compliant(ball), 0.1),
        ("ball, box", compliant(ball), compliant(slab), 0.14),
        ("rod, rigid box", compliant(rod), rigid(slab), 0.14),
        ("rigid ball, box", rigid(ball), compliant(slab), 0.14),
        ("ball, compliant half-space", compliant(ball), plane(true), 0.08),
        ("ball, rigid half-space", compliant(ball), plane(false), 0.08),
        ("rigid box, compliant half-space", rigid(slab), plane(true), 0.05),
    ]
}

/// A pair at the `step`-th of a series of poses.
fn at_pose<'a>(a: &'a Collider, b: &'a Collider, distance: f64, step: usize) -> ContactPair<'a> {
    let t = step as f64;
    let turn = rotation_from_rpy(0.3 + 0.05 * (1.3 * t).sin(), 0.05 * (0.7 * t).cos(), 0.2 + 0.1 * t);
    let shift = Vector3::new(0.01 * t.sin(), 0.008 * t.cos(), distance + 0.004 * (0.4 * t).sin());
    ContactPair {
        a,
        x_wa: RigidTransform::new(turn, shift),
        v_wa: SpatialVelocity::new(Vector3::new(0.1, -0.2, 0.3), Vector3::new(0.03, 0.01, -0.05)),
        b,
        x_wb: RigidTransform::identity(),
        v_wb: SpatialVelocity::zero(),
    }
}

fn both_representations() -> [ContactSettings; 2] {
    [SurfaceRepresentation::Triangles, SurfaceRepresentation::Polygons]
        .map(|surface| ContactSettings { surface, ..Default::default() })
}

const STEPS: usize = 12;

type Dual = DualArray<13>;

/// The pair with derivatives with respect to A's pose and velocity and its modulus.
fn with_derivatives<'a>(
    pair: &ContactPair<'a>,
    a: &'a mut Collider<Dual>,
    b: &'a Collider<Dual>,
) -> ContactPair<'a, Dual> {
    let seed = |v: &Vector3<f64>, at: usize| Vector3::from_fn(|i, _| Dual::variable(v[i], at + i));
    a.material.hydroelastic_modulus = Dual::variable(MATERIAL.hydroelastic_modulus, 12);
    let zero = Vector3::zeros();
    ContactPair {
        a,
        x_wa: RigidTransform::lift(&pair.x_wa).moved(&seed(&zero, 0), &seed(&zero, 3)),
        v_wa: SpatialVelocity::new(seed(&pair.v_wa.rotational, 6), seed(&pair.v_wa.translational, 9)),
        b,
        x_wb: RigidTransform::lift(&pair.x_wb),
        v_wb: SpatialVelocity::lift(&pair.v_wb),
    }
}

#[test]
fn queries_allocate_nothing_in_the_steady_state() {
    for (name, a, b, distance) in pairs() {
        let (mut a_dual, b_dual) = (Collider::<Dual>::lift(&a), Collider::<Dual>::lift(&b));
        for settings in both_representations() {
            let mut workspace = Workspace::default();
            let mut touched = [0; 5];
            let mut series = || {
                for step in 0..STEPS {
                    let pair = at_pose(&a, &b, distance, step);
                    touched[0] += usize::from(
                        contact(&pair, &settings, &mut workspace).expect("a pair that can touch").is_some(),
                    );
                    touched[1] += usize::from(
                        contact_jacobian(&pair, &settings, &mut workspace)
                            .expect("a pair that can touch")
                            .is_some(),
                    );
                    let dual = with_derivatives(&pair, &mut a_dual, &b_dual);
                    touched[2] += usize::from(
                        contact_lifted(&dual, &settings, &mut workspace)
                            .expect("a pair that can touch")
                            .is_some(),
                    );
                    for_each_face(&pair, &settings, &mut workspace, |_| touched[3] += 1);
                    for_each_contact_polygon(&pair, &settings, &mut workspace, |_| touched[4] += 1);
                }
            };
            // The first series lets the workspace grow.
            series();
            let counted = allocation_counter::measure(series);
            assert_eq!(counted.count_total, 0, "{name}: {} bytes, {settings:?}", counted.bytes_total);
            assert!(touched[..3].iter().all(|&n| n == 2 * STEPS), "{name}: {touched:?}");
            assert!(touched[3] >= touched[4] && touched[4] > 0, "{name}: {touched:?}");
        }
    }
}

#[test]
fn the_allocation_counter_counts() {
    let counted = allocation_counter::measure(|| drop(std::hint::black_box(vec![1.0; 100])));
    assert_eq!(counted.count_total, 1);
}

/// A cube of side 1 divided into n³ cells of six tetrahedra around the cell's main diagonal
/// (Kuhn's division).
fn divided_cube(n: u32) -> VolumeMesh {
    let side = n + 1;
    let index = |[x, y, z]: [u32; 3]| (z * side + y) * side + x;
    let range = |m: u32| (0..m).flat_map(move |z| (0..m).flat_map(move |y| (0..m).map(move |x| [x, y, z])));
    let vertices =
        range(side).map(|p| Vector3::from(p.map(f64::from)) / f64::from(n)).collect::<Vec<Vector3<f64>>>();
    let mut tetrahedra = Vec::new();
    // The order in which a path from corner to corner goes along the axes, and whether that
    // order is an even permutation.
    let orders = [([0, 1, 2], true), ([1, 2, 0], true), ([2, 0, 1], true)];
    let reversed = orders.map(|([i, j, k], _)| ([k, j, i], false));
    for cell in range(n) {
        for (order, even) in orders.into_iter().chain(reversed) {
            let mut corner = cell;
            let mut path = [index(corner); 4];
            for (step, axis) in order.into_iter().enumerate() {
                corner[axis] += 1;
                path[step + 1] = index(corner);
            }
            if !even {
                path.swap(2, 3);
            }
            tetrahedra.push(path);
        }
    }
    VolumeMesh { vertices, tetrahedra }
}

#[test]
fn a_field_takes_at_most_400_bytes_a_tetrahedron() {
    let mut fields = Vec::new();
    for level in 2..=5 {
        let mesh = VolumeMesh::icosphere(0.1, level);
        let extent = distance_extent(&mesh).unwrap();
        fields.push((format!("icosphere of level {level}"), PressureField::new(mesh, extent).unwrap()));
    }
    let cube = divided_cube(12);
    let extent = distance_extent(&cube).unwrap();
    let centre = extent.iter().position(|&e| e == 1.0).unwrap() as u32;
    let laplace = laplace_extent(&cube, &[centre]).unwrap();
    fields.push(("cube, distance".into(), PressureField::new(cube.clone(), extent).unwrap()));
    fields.push(("cube, Laplace".into(), PressureField::new(cube, laplace).unwrap()));
    for (name, field) in fields {
        let tetrahedra = field.mesh().tetrahedra.len();
        let each = field.memory() as f64 / tetrahedra as f64;
        assert!(each <= 400.0, "{name}: {each:.0} bytes for each of {tetrahedra} tetrahedra");
        // What is counted is what is held.
        let mut copy = None;
        let held = allocation_counter::measure(|| copy = Some(field.clone())).bytes_current;
        assert!(held <= field.memory() as i64, "{name}: holds {held} bytes, says {}", field.memory());
        drop(copy);
    }
}

fn bits(patch: &ContactPatch) -> Vec<u64> {
    let w = &patch.wrench_on_a;
    let numbers = w.rotational.iter().chain(w.translational.iter()).chain(patch.centroid.iter());
    numbers.chain([&patch.area, &patch.max_pressure]).map(|x| x.to_bits()).collect()
}

/// The bits of wrenches and Jacobians over a series of poses.
fn series_bits(a: &Collider, b: &Collider, distance: f64, workspace: &mut Workspace) -> Vec<u64> {
    let mut all = Vec::new();
    for settings in both_representations() {
        for step in 0..STEPS {
            let pair = at_pose(a, b, distance, step);
            let patch = contact(&pair, &settings, workspace).expect("a pair that can touch").unwrap();
            let (again, jacobian) =
                contact_jacobian(&pair, &settings, workspace).expect("a pair that can touch").unwrap();
            assert_eq!(patch.faces, again.faces);
            all.push(patch.faces as u64);
            all.extend(bits(&patch));
            all.extend(bits(&again));
            let j = &jacobian;
            for block in [&j.by_pose_a, &j.by_pose_b, &j.by_velocity_a, &j.by_velocity_b] {
                all.extend(block.iter().map(|x| x.to_bits()));
            }
            all.extend(j.by_modulus_a.iter().chain(&j.by_modulus_b).map(|x| x.to_bits()));
        }
    }
    all
}

#[test]
fn repeated_queries_and_threads_give_the_same_bits() {
    for (name, a, b, distance) in pairs() {
        let mut workspace = Workspace::default();
        let first = series_bits(&a, &b, distance, &mut workspace);
        let again = series_bits(&a, &b, distance, &mut workspace);
        assert_eq!(first, again, "{name}: a used workspace changes the result");
        std::thread::scope(|scope| {
            let run = || series_bits(&a, &b, distance, &mut Workspace::default());
            let threads = [0, 1, 2].map(|_| scope.spawn(run));
            for thread in threads {
                assert_eq!(thread.join().unwrap(), first, "{name}: another thread gives another result");
            }
        });
    }
}
