//! Meshes from files in scenes: every format, rigid and compliant, scaled, with each extent; and
//! tetrahedra without a pressure gradient.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use isobar::contact::ContactGeometry;
use isobar::field::PressureField;
use isobar::geometry::{SurfaceMesh, VolumeMesh};
use isobar::io::Scene;
use isobar::multibody::{BodyPair, BodyPairContact, PairWorkspace};
use nalgebra::Vector3;

use crate::folder::Folder;
use crate::{isobar, text};

/// A body of the shape on a compliant slab, or of the shape on a rigid one.
fn scene_in(folder: &Folder, shape: &str, rigid: bool, height: f64) -> PathBuf {
    folder.file("scene.toml", scene(shape, rigid, height))
}

fn scene(shape: &str, rigid: bool, height: f64) -> String {
    let part = |rigid: bool| if rigid { "rigid = true" } else { "material = \"foam\"" };
    format!(
        "[materials.foam]\nhydroelastic_modulus = 1e5\n[[bodies]]\nname = \"body\"\nrpy = [0.2, 0.1, 0]\n\
         translation = [0, 0, {height}]\n[[bodies.geometries]]\nshape = {shape}\n{}\n[[bodies]]\nname = \"ground\"\n\
         fixed = true\n[[bodies.geometries]]\nshape = {{ half_space = {{ thickness = 0.05 }} }}\n{}\n",
        part(rigid),
        part(!rigid)
    )
}

fn contact(path: &Path) -> (BodyPairContact, f64) {
    let scene = Scene::load(path).unwrap_or_else(|e| panic!("{e}"));
    let pairs = scene.model.geometry_pairs(BodyPair { a: 0, b: 1 }).expect("they can touch");
    let mut frames = Vec::new();
    scene.model.body_frames(&scene.state, &mut frames);
    let found = scene.model.body_pair_contact(&frames, &pairs, &mut PairWorkspace::default());
    (found, scene.model.body_pair_energy(&frames, &pairs))
}

/// The pressure field of the first body.
fn field(scene: &Scene) -> &PressureField {
    match scene.model.bodies()[0].geometries[0].collider.geometry.as_ref() {
        ContactGeometry::Compliant(field) => field,
        _ => panic!("the body is compliant"),
    }
}

/// A ball of radius about 0.1 whose coordinates are numbers that STL can hold, with inner layers.
fn ball() -> VolumeMesh {
    let mut mesh = VolumeMesh::icosphere(0.1, 1);
    for v in &mut mesh.vertices {
        *v = v.map(|x| f64::from(x as f32));
    }
    mesh
}

fn obj(mesh: &SurfaceMesh) -> String {
    let mut text = String::new();
    mesh.vertices.iter().for_each(|v| writeln!(text, "v {:?} {:?} {:?}", v.x, v.y, v.z).unwrap());
    mesh.triangles.iter().for_each(|t| writeln!(text, "f {} {} {}", t[0] + 1, t[1] + 1, t[2] + 1).unwrap());
    text
}

fn stl(mesh: &SurfaceMesh) -> String {
    let mut text = "solid ball\n".to_owned();
    for t in &mesh.triangles {
        let corners = t.map(|k| mesh.vertices[k as usize]);
        let n = (corners[1] - corners[0]).cross(&(corners[2] - corners[0])).normalize();
        writeln!(text, "facet normal {} {} {}\nouter loop", n.x, n.y, n.z).unwrap();
        corners.iter().for_each(|v| writeln!(text, "vertex {:?} {:?} {:?}", v.x, v.y, v.z).unwrap());
        writeln!(text, "endloop\nendfacet").unwrap();
    }
    text + "endsolid ball\n"
}

fn vtk(mesh: &VolumeMesh) -> Vec<u8> {
    let mut text = Vec::new();
    mesh.write(&mut text, &[]).expect("written");
    text
}

fn msh(mesh: &VolumeMesh) -> String {
    let (n, m) = (mesh.vertices.len(), mesh.tetrahedra.len());
    let mut text = format!("$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 {n} 1 {n}\n3 1 0 {n}\n");
    (1..=n).for_each(|i| writeln!(text, "{i}").unwrap());
    mesh.vertices.iter().for_each(|v| writeln!(text, "{:?} {:?} {:?}", v.x, v.y, v.z).unwrap());
    writeln!(text, "$EndNodes\n$Elements\n1 {m} 1 {m}\n3 1 4 {m}").unwrap();
    for (i, [a, b, c, d]) in mesh.tetrahedra.iter().enumerate() {
        writeln!(text, "{} {} {} {} {}", i + 1, a + 1, b + 1, c + 1, d + 1).unwrap();
    }
    text + "$EndElements\n"
}

/// An inline volume mesh, its vertices times a factor.
fn inline(mesh: &VolumeMesh, scale: f64, extra: &str) -> String {
    let vertices: Vec<[f64; 3]> = mesh.vertices.iter().map(|v| (v * scale).into()).collect();
    format!("{{ volume_mesh = {{ vertices = {vertices:?}, tetrahedra = {:?}{extra} }} }}", mesh.tetrahedra)
}

#[test]
fn every_format_is_the_inline_mesh() {
    let folder = Folder::new("formats");
    let mesh = ball();
    let surface = mesh.boundary();
    folder.file("ball.obj", obj(&surface));
    folder.file("ball.stl", stl(&surface));
    folder.file("ball.vtk", vtk(&mesh));
    folder.file("ball.msh", msh(&mesh));
    for rigid in [false, true] {
        for extent in ["distance", "laplace"] {
            let extra = format!(", extent = \"{extent}\"");
            let (expected, energy) = contact(&scene_in(&folder, &inline(&mesh, 0.5, &extra), rigid, 0.04));
            let force = expected.wrench_on_a.translational.norm();
            assert!(force > 1.0 && energy > 0.0 && expected.faces > 5);
            for ending in ["obj", "stl", "vtk", "msh"] {
                let label = format!("{ending}, {extent}, rigid = {rigid}");
                let shape = format!(
                    "{{ mesh = {{ file = \"ball.{ending}\", scale = 0.5, extent = \"{extent}\" }} }}"
                );
                let (found, found_energy) = contact(&scene_in(&folder, &shape, rigid, 0.04));
                let force_error =
                    (found.wrench_on_a.translational - expected.wrench_on_a.translational).norm() / force;
                assert!(force_error < 1e-12, "{label}: force off by {force_error:e}");
                assert_eq!(found.faces, expected.faces, "{label}");
                assert!((found_energy / energy - 1.0).abs() < 1e-10, "{label}: energy");
                let torque = (found.wrench_on_a.rotational - expected.wrench_on_a.rotational).norm();
                assert!(torque < 1e-12 * force, "{label}: torque off by {torque:e}");
            }
        }
    }
}

#[test]
fn the_hull_of_a_file_is_that_of_its_points() {
    let folder = Folder::new("hull");
    let mesh = ball();
    folder.file("ball.obj", obj(&mesh.boundary()));
    folder.file("ball.vtk", vtk(&mesh));
    for rigid in [false, true] {
        let (expected, _) = contact(&scene_in(&folder, &inline(&mesh, 0.5, ""), true, 0.04));
        for file in ["ball.obj", "ball.vtk"] {
            let shape = format!("{{ convex = {{ file = \"{file}\", scale = 0.5 }} }}");
            let (found, _) = contact(&scene_in(&folder, &shape, rigid, 0.04));
            if rigid {
                // The same solid, though the hull may cut flat faces otherwise.
                assert!((found.area / expected.area - 1.0).abs() < 1e-6, "{file}");
            }
            assert!(found.wrench_on_a.translational.z > 1.0, "{file}");
        }
    }
}

/// What a scene is warned of.
fn warnings(scene: &Path) -> Vec<String> {
    Scene::load(scene).unwrap_or_else(|e| panic!("{e}")).warnings
}

#[test]
fn what_overlaps_or_faces_inward_is_told_once() {
    let folder = Folder::new("told");
    // Two bricks of 6 m³ that share 3 m³, or touch, or of which one lies in the other; and a brick inside out.
    let brick = |at: f64, size: f64, turned: bool| {
        let corner = |i: u32| [i & 1, i >> 1 & 1, i >> 2].map(f64::from);
        let place = |[x, y, z]: [f64; 3]| Vector3::new(at + size * x, 2.0 * size * y, 3.0 * size * z) * 0.1;
        let sides = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [1, 3, 7, 5], [3, 2, 6, 7], [2, 0, 4, 6]];
        let mut triangles: Vec<[u32; 3]> =
            sides.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
        triangles.iter_mut().filter(|_| turned).for_each(|t| t.swap(1, 2));
        SurfaceMesh { vertices: (0..8).map(|i| place(corner(i))).collect(), triangles }
    };
    let both = |mut first: SurfaceMesh, second: &SurfaceMesh| {
        let count = first.vertices.len() as u32;
        first.vertices.extend(&second.vertices);
        first.triangles.extend(second.triangles.iter().map(|t| t.map(|v| v + count)));
        first
    };
    let plain = brick(0.0, 1.0, false);
    let shape = "{ mesh = { file = \"b.obj\" } }";
    for (mesh, said) in [
        (plain.clone(), None),
        (both(plain.clone(), &brick(0.5, 1.0, false)), Some("3.0e-3 m³, 25.")),
        (both(plain.clone(), &brick(1.0, 1.0, false)), None),
        (both(plain.clone(), &brick(0.25, 0.5, false)), Some("7.")),
        (both(plain.clone(), &brick(0.25, 0.5, true)), None),
        (brick(0.0, 1.0, true), Some("12 of 12 triangles faced inward")),
    ] {
        folder.file("b.obj", obj(&mesh));
        let told = warnings(&scene_in(&folder, shape, true, 1.0));
        assert_eq!(told.len(), usize::from(said.is_some()), "{told:?}");
        assert!(said.is_none_or(|said| told[0].contains(said)), "{told:?}");
    }
    // Filled from a point in both, it is told of the tetrahedra too.
    folder.file("b.obj", obj(&both(plain.clone(), &brick(0.5, 1.0, false))));
    let told = warnings(&scene_in(&folder, shape, false, 1.0));
    assert!(told.iter().any(|told| told.contains("overlaps itself")), "{told:?}");
    // Of a hull triangles do not count.
    let mut open = plain;
    open.triangles.truncate(5);
    open.triangles.push([0, 0, 7]);
    open.triangles.push([1, 2, 4]);
    folder.file("b.obj", obj(&open));
    let hull = scene_in(&folder, "{ convex = { file = \"b.obj\" } }", false, 1.0);
    assert_eq!(warnings(&hull), Vec::<String>::new());
}

/// The message of a scene that is refused, by the command: one line and exit code 2.
fn refusal(scene: &Path) -> String {
    let run = isobar(&["contact", text(scene)]);
    let message = String::from_utf8_lossy(&run.stderr).trim_end().to_owned();
    assert_eq!(run.status.code(), Some(2), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    message
}

#[test]
fn a_surface_that_no_point_sees_all_of_is_filled_and_an_open_one_refused() {
    // A prism over a U: no point sees all of it.
    let outline =
        [[0.0, 0.0], [3.0, 0.0], [3.0, 3.0], [2.0, 3.0], [2.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 3.0]];
    let top = [[0u32, 1, 4], [0, 4, 5], [1, 2, 3], [1, 3, 4], [0, 5, 6], [0, 6, 7]];
    let n = outline.len() as u32;
    let at = |z: f64| outline.iter().map(move |p| Vector3::new(p[0], p[1], z) * 0.03);
    let mut triangles: Vec<[u32; 3]> = top.iter().map(|&[a, b, c]| [a, c, b]).collect();
    triangles.extend(top.iter().map(|t| t.map(|v| v + n)));
    for i in 0..n {
        let j = (i + 1) % n;
        triangles.extend([[i, j, j + n], [i, j + n, i + n]]);
    }
    let surface = SurfaceMesh { vertices: at(0.0).chain(at(1.0)).collect(), triangles };
    let folder = Folder::new("star");
    folder.file("u.obj", obj(&surface));
    let shape = "{ mesh = { file = \"u.obj\" } }";
    for rigid in [false, true] {
        let (found, _) = contact(&scene_in(&folder, shape, rigid, -0.01));
        assert!(found.wrench_on_a.translational.z > 1.0);
    }
    // An open one is good for nothing.
    let mut open = surface;
    open.triangles.pop();
    folder.file("u.obj", obj(&open));
    for (rigid, why) in [(false, "the surface is open: holes (1)"), (true, "edge")] {
        assert!(refusal(&scene_in(&folder, shape, rigid, 0.0)).contains(why));
    }
    assert!(
        refusal(&scene_in(&folder, "{ mesh = { file = \"none.obj\" } }", true, 0.0)).contains("none.obj")
    );
    assert!(refusal(&scene_in(&folder, "{ mesh = { file = \"u.dae\" } }", true, 0.0)).contains(".msh"));
}

/// A plate of one layer of cubes, six tetrahedra each: every vertex lies on the boundary.
fn plate(cells: u32) -> VolumeMesh {
    let index = |x: u32, y: u32, z: u32| (z * (cells + 1) + y) * (cells + 1) + x;
    let mut mesh = VolumeMesh { vertices: Vec::new(), tetrahedra: Vec::new() };
    for z in 0..2 {
        for y in 0..=cells {
            for x in 0..=cells {
                mesh.vertices.push(Vector3::new(x, y, z).map(f64::from) * 0.05);
            }
        }
    }
    for y in 0..cells {
        for x in 0..cells {
            for (axes, odd) in [
                ([0, 1, 2], false),
                ([1, 2, 0], false),
                ([2, 0, 1], false),
                ([0, 2, 1], true),
                ([2, 1, 0], true),
                ([1, 0, 2], true),
            ] {
                let mut p = [x, y, 0];
                let mut t = [index(p[0], p[1], p[2]); 4];
                for (k, axis) in axes.into_iter().enumerate() {
                    p[axis] += 1;
                    t[k + 1] = index(p[0], p[1], p[2]);
                }
                if odd {
                    t.swap(2, 3);
                }
                mesh.tetrahedra.push(t);
            }
        }
    }
    mesh
}

#[test]
fn tetrahedra_without_gradient_are_reported_and_split() {
    let folder = Folder::new("split");
    let mesh = plate(2);
    folder.file("plate.vtk", vtk(&mesh));
    // No pressure at all: refused, with the way out.
    for shape in [inline(&mesh, 1.0, ""), "{ mesh = { file = \"plate.vtk\" } }".to_owned()] {
        let message = refusal(&scene_in(&folder, &shape, false, 0.0));
        assert!(message.contains("split_zero_gradient = true"), "{message}");
    }
    for extent in ["distance", "laplace"] {
        for shape in [
            inline(&mesh, 1.0, &format!(", extent = \"{extent}\", split_zero_gradient = true")),
            format!(
                "{{ mesh = {{ file = \"plate.vtk\", extent = \"{extent}\", split_zero_gradient = true }} }}"
            ),
        ] {
            let path = scene_in(&folder, &shape, false, -0.01);
            let scene = Scene::load(&path).expect("valid");
            // Of so coarse a mesh the field is uneven once it is split, by tetrahedra; that is another warning.
            assert!(scene.warnings.iter().all(|w| w.contains("times softer")), "{:?}", scene.warnings);
            assert_eq!(field(&scene).tetrahedra().len(), 4 * mesh.tetrahedra.len());
            assert_eq!(field(&scene).zero_tetrahedra(), 0);
            assert!(contact(&path).0.wrench_on_a.translational.z > 0.1);
        }
    }
    // An extent that is given is left as it is, and what vanishes is reported: refused where it is the most.
    let (mut extent, all) = (vec![0.0; mesh.vertices.len()], mesh.tetrahedra.len());
    let vanishing = |extent: &[f64]| {
        mesh.tetrahedra.iter().filter(|t| t.iter().all(|&v| extent[v as usize] == 0.0)).count()
    };
    for vertex in 0..extent.len() {
        extent[vertex] = 1.0;
        if 2 * vanishing(&extent) <= all {
            break;
        }
        let given = format!(", extent = {extent:?}");
        let message = refusal(&scene_in(&folder, &inline(&mesh, 1.0, &given), false, -0.01));
        assert!(message.contains(&format!("in {} of {all} tetrahedra", vanishing(&extent))), "{message}");
    }
    let zero = vanishing(&extent);
    let given = format!(", extent = {extent:?}");
    let path = scene_in(&folder, &inline(&mesh, 1.0, &given), false, -0.01);
    let scene = Scene::load(&path).expect("valid");
    assert_eq!(field(&scene).extent(), extent);
    assert_eq!(scene.warnings.len(), 1);
    let run = isobar(&["contact", "--json", "--derivatives", text(&path)]);
    let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
    let report: serde_json::Value = serde_json::from_slice(&run.stdout).expect("JSON alone");
    assert!(run.status.success() && report["pairs"][0]["faces"].as_u64().expect("a number") > 0);
    let count = format!("{zero} of {} tetrahedra", mesh.tetrahedra.len());
    for part in [
        "isobar: warning: ",
        "scene.toml:8: bodies[0].geometries[0].shape: ",
        "`body`",
        &count,
        "split_zero_gradient",
    ] {
        assert!(stderr.contains(part), "`{part}` is not in: {stderr}");
    }
    let both = format!("{given}, split_zero_gradient = true");
    let message = refusal(&scene_in(&folder, &inline(&mesh, 1.0, &both), false, 0.0));
    assert!(message.contains("split_zero_gradient: found beside a list of extents"), "{message}");
}

#[test]
#[ignore = "needs the recordings and models in ../shared/data"]
fn recorded_models_load() {
    let models = Path::new(crate::ROOT).join("../shared/data/models");
    let folder = Folder::new("models");
    // With what is wrong with those that are refused: as compliant bodies, as rigid ones.
    for (file, split, scale, refused) in [
        ("wsg_50/bubble.vtk", false, 1.0, [None, None]),
        ("veggies/yellow_bell_pepper_no_stem_low.vtk", false, 1.0, [None, None]),
        ("dishes/evo_bowl_coarse3k.vtk", true, 1.0, [None, None]),
        ("wsg_50/textured_bubble.obj", false, 1.0, [Some("the surface is open"); 2]),
        ("dishes/plate_8in_col.obj", false, 1.0, [None, None]),
    ] {
        let path = models.join(file).canonicalize().expect("present");
        for rigid in [false, true] {
            for extent in ["distance", "laplace"] {
                let split = if file.ends_with(".vtk") {
                    format!(", split_zero_gradient = {split}")
                } else {
                    String::new()
                };
                let shape = format!(
                    "{{ mesh = {{ file = {path:?}, scale = {scale}, extent = \"{extent}\"{split} }} }}"
                );
                let label = format!("{file}, rigid = {rigid}, {extent}");
                let loaded = Scene::load(scene_in(&folder, &shape, rigid, 0.0));
                match (loaded, refused[usize::from(rigid)]) {
                    (Ok(scene), None) => {
                        let (found, energy) = contact(&folder.0.join("scene.toml"));
                        let force = found.wrench_on_a.translational.z;
                        println!(
                            "{label}: {} faces, {force:.3e} N, warnings {:?}",
                            found.faces, scene.warnings
                        );
                        assert!(force > 0.0 && force.is_finite() && energy > 0.0, "{label}");
                    }
                    (Err(error), Some(why)) => assert!(error.to_string().contains(why), "{label}: {error}"),
                    (Err(error), None) => panic!("{label}: {error}"),
                    (Ok(_), Some(why)) => panic!("{label} was read, though {why}"),
                }
            }
        }
    }
}
