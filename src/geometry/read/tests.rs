use std::path::Path;

use approx::assert_relative_eq;
use proptest::prelude::*;

use super::*;
use crate::geometry::Shape;

/// Writes a file of a given extension into a fresh directory, and reads it.
pub(super) fn with_file<R>(name: &str, content: &[u8], read: impl Fn(&Path) -> R) -> R {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("isobar-read-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(name);
    std::fs::write(&file, content).unwrap();
    let result = read(&file);
    std::fs::remove_dir_all(&folder).unwrap();
    result
}

pub(super) fn volume(name: &str, content: &str) -> Result<VolumeMesh, ReadMeshError> {
    with_file(name, content.as_bytes(), |file| VolumeMesh::read(file))
}

pub(super) fn surface(name: &str, content: &[u8]) -> Result<SurfaceMesh, ReadMeshError> {
    with_file(name, content, |file| SurfaceMesh::read(file))
}

/// Checks that the message of a result holds all of these words.
pub(super) fn refused<M: std::fmt::Debug>(result: Result<M, ReadMeshError>, words: &[&str]) {
    let message = result.unwrap_err().to_string();
    for word in words {
        assert!(message.contains(word), "\"{message}\" does not say \"{word}\"");
    }
}

pub(super) const VTK: &str = "# vtk DataFile Version 3.0\ntwo\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 6 double\n\
    0 0 0 1 0 0\n0 1 0 0 0 1\n1 1 1\n9 9 9\nCELLS 2 10\n4 0 1 2 3\n4 1 2 3 4\nCELL_TYPES 2\n10\n10\n\
    POINT_DATA 6\nSCALARS p double 1\n";

const VTK_5: &str = "# vtk DataFile Version 5.1\ntwo\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 5 double\n\
    0 0 0 1 0 0\n0 1 0 0 0 1\n1 1 1\nMETADATA\nINFORMATION 0\n\nCELLS 3 8\nOFFSETS vtktypeint64\n0 4 8\n\
    CONNECTIVITY vtktypeint64\n0 1 2 3\n1 3 2 4\nCELL_TYPES 2\n10\n10\n";

const MSH: &str = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Entities\n0 0 0 0\n$EndEntities\n$Nodes\n2 6 1 60\n\
    2 1 1 1\n60\n9 9 9 0.5 0.5\n3 1 0 5\n10\n20\n30\n40\n50\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n1 1 1\n$EndNodes\n\
    $Elements\n2 3 1 3\n2 1 2 1\n1 10 20 30\n3 1 4 2\n2 10 20 30 40\n3 20 40 30 50\n$EndElements\n";

#[test]
fn the_same_two_tetrahedra_in_each_format() {
    let expected = volume("a.vtk", VTK).unwrap();
    assert_eq!(expected.vertices.len(), 5, "the unused vertex is left out");
    assert_eq!(expected.tetrahedra.len(), 2);
    assert_relative_eq!(expected.mass_properties().unwrap().mass, 0.5, epsilon = 1e-15);
    assert_eq!(volume("a.VTK", VTK_5).unwrap().vertices, expected.vertices);
    let gmsh = volume("a.msh", MSH).unwrap();
    assert_eq!(gmsh.vertices, expected.vertices);
    // The other orientation of a tetrahedron is turned round.
    let inverted = volume("a.vtk", &VTK.replace("4 0 1 2 3", "4 1 0 2 3")).unwrap();
    assert_relative_eq!(inverted.mass_properties().unwrap().mass, 0.5, epsilon = 1e-15);
    assert_eq!(surface("a.msh", MSH.as_bytes()).unwrap().triangles.len(), 6);
}

#[test]
fn faults_of_vtk_files_are_named() {
    let with = |from: &str, to: &str| {
        assert!(VTK.contains(from));
        volume("bad.vtk", &VTK.replacen(from, to, 1))
    };
    refused(with("# vtk", "# VTX"), &["bad.vtk:1:", "# vtk DataFile"]);
    refused(with("ASCII", "BINARIES"), &["bad.vtk:3:", "BINARIES", "ASCII or BINARY"]);
    refused(with("ASCII", "BINARY"), &["bad.vtk:5:", "the end of the file"]);
    refused(with("ASCII", "AS\u{7}CII"), &["bad.vtk:3:", "AS\\u{7}CII"]);
    refused(with("UNSTRUCTURED_GRID", "POLYDATA"), &["bad.vtk:4:", "POLYDATA", "UNSTRUCTURED_GRID"]);
    refused(with("1 1 1\n", "1 x 1\n"), &["bad.vtk:8:", "\"x\"", "coordinate"]);
    refused(with("1 1 1\n", "1 nan 1\n"), &["bad.vtk:8:", "NaN", "finite"]);
    refused(with("4 1 2 3 4", "4 1 2 3 6"), &["bad.vtk:12:", "vertex 6", "6 points"]);
    refused(with("4 1 2 3 4", "4 1 2 3 -4"), &["bad.vtk:12:", "\"-4\""]);
    refused(with("4 1 2 3 4", "4 1 2 3 3"), &["bad.vtk:12:", "tetrahedron 1", "volume"]);
    refused(with("10\n10\n", "10\n12\n"), &["bad.vtk:15:", "cell type 12", "cell type 10"]);
    refused(with("CELL_TYPES 2\n10\n10", "CELL_TYPES 1\n10"), &["1 cell types for 2 cells"]);
    refused(with("CELL_TYPES 2\n10\n10\n", ""), &["no CELL_TYPES"]);
    refused(with("4 1 2 3 4", "4 0 1 2 4"), &["bad.vtk:", "overlap"]);
    refused(with("CELLS 2 10", "CELLS 999999999999 10"), &["bad.vtk:13:", "CELL_TYPES"]);
    refused(volume("bad.vtk", &VTK_5.replace("0 4 8\n", "0 4 9\n")), &["offsets"]);
    refused(volume("bad.vtk", ""), &["bad.vtk:1:"]);
}

#[test]
fn faults_of_msh_files_are_named() {
    let with = |from: &str, to: &str| {
        assert!(MSH.contains(from));
        volume("bad.msh", &MSH.replacen(from, to, 1))
    };
    refused(with("4.1", "4.0"), &["bad.msh:2:", "4.0", "4.1 or 2.2"]);
    refused(with("4.1", "2.2"), &["bad.msh:11:", "$EndNodes"]);
    refused(with("4.1 0", "4.1 1"), &["bad.msh:2:", "binary"]);
    refused(with("3 1 4 2", "3 1 5 2"), &["bad.msh:28:", "element type 5", "element type 4"]);
    refused(with("2 10 20 30 40", "2 10 20 30 41"), &["bad.msh:29:", "node 41"]);
    refused(with("$EndElements", ""), &["$EndElements"]);
    refused(with("20\n30", "20\n20"), &["bad.msh", "once"]);
    refused(volume("bad.msh", "hello"), &["bad.msh:1:", "$MeshFormat"]);
}

const OBJ: &str = "# tetrahedron\nmtllib x.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0 1 0 0\nv 9 9 9\nv 0 0 1\nusemtl m\n\
    f 1/1 3/2 2/3\nf -5//1 -4//1 -1//1\no other\nf 2 3 5\nf 1 5 3\n";

#[test]
fn obj_files_are_read_and_their_faults_named() {
    let mesh = surface("a.obj", OBJ.as_bytes()).unwrap();
    assert_eq!((mesh.vertices.len(), mesh.triangles.len()), (4, 4));
    let cube = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n\
        f 1 4 3 2\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n";
    let mesh = surface("a.obj", cube.as_bytes()).unwrap();
    assert_relative_eq!(mesh.volume(), 1.0, epsilon = 1e-15);
    let with = |from: &str, to: &str| {
        assert!(OBJ.contains(from));
        surface("bad.obj", OBJ.replacen(from, to, 1).as_bytes())
    };
    refused(with("v 1 0 0", "v 1 0"), &["bad.obj:4:", "coordinates"]);
    refused(with("f 2 3 5", "f 2 3 6"), &["bad.obj:12:", "\"6\"", "1 to 5"]);
    refused(with("f 2 3 5", "f 2 3 0"), &["bad.obj:12:", "\"0\""]);
    refused(with("f 2 3 5", "f 2 3"), &["bad.obj:12:", "at least three"]);
    refused(with("f 2 3 5\n", ""), &["bad.obj", "open"]);
    refused(surface("bad.obj", b""), &["no triangle"]);
}

#[test]
fn stl_files_are_read_and_their_faults_named() {
    let shape = Shape::Box { size: [1.0, 2.0, 0.5] }.surface_mesh(1.0).unwrap();
    let corners = |t: usize| shape.corners(t).map(|v| [v.x as f32, v.y as f32, v.z as f32]);
    let mut text = "solid a box\n".to_owned();
    let mut binary = b"solid, though it is not text".to_vec();
    binary.resize(80, b' ');
    binary.extend((shape.triangles.len() as u32).to_le_bytes());
    for t in 0..shape.triangles.len() {
        text += "facet normal 0 0 0\nouter loop\n";
        binary.extend([0; 12]);
        for [x, y, z] in corners(t) {
            text += &format!("vertex {x} {y} {z}\n");
            binary.extend([x, y, z].iter().flat_map(|c| c.to_le_bytes()));
        }
        text += "endloop\nendfacet\n";
        binary.extend([0; 2]);
    }
    text += "endsolid a box\n";
    for content in [text.as_bytes(), &binary] {
        let mesh = surface("a.stl", content).unwrap();
        assert_eq!((mesh.vertices.len(), mesh.triangles.len()), (14, 24));
        assert_relative_eq!(mesh.volume(), 1.0, epsilon = 1e-15);
    }
    refused(surface("bad.stl", &binary[..binary.len() - 7]), &["bad.stl"]);
    refused(
        surface("bad.stl", text.replacen("endloop", "", 1).as_bytes()),
        &["bad.stl:8:", "expected endloop"],
    );
    refused(
        surface("bad.stl", text.replacen("vertex 0", "vertex nan", 1).as_bytes()),
        &["bad.stl:", "finite"],
    );
    binary[84 + 12..84 + 16].copy_from_slice(&f32::NAN.to_le_bytes());
    refused(surface("bad.stl", &binary), &["bad.stl", "facet 0", "finite"]);
    refused(surface("bad.stl", b""), &["bad.stl"]);
}

#[test]
fn missing_files_and_other_extensions_are_refused() {
    refused(VolumeMesh::read("no-such-folder/a.vtk"), &["no-such-folder/a.vtk"]);
    refused(VolumeMesh::read("a.stl"), &["a.stl", ".vtk, .vtu or .msh"]);
    refused(SurfaceMesh::read("a.off"), &[".off", ".obj"]);
    refused(SurfaceMesh::read("a"), &["no extension", ".obj"]);
}

#[test]
fn what_is_written_reads_back_to_the_same_bits() {
    let mesh = Shape::Capsule { radius: 0.1, length: 0.37 }.volume_mesh(0.03).unwrap();
    let extent = vec![0.1; mesh.vertices.len()];
    let mut out = Vec::new();
    mesh.write(&mut out, &[("extent", &extent)]).unwrap();
    assert_eq!(with_file("a.vtk", &out, |file| VolumeMesh::read(file)).unwrap(), mesh);
    assert!(mesh.write(&mut out, &[("extent", &extent[1..])]).is_err());
}

#[test]
#[ignore = "needs the recordings and models in ../shared/data"]
fn models_of_real_objects_are_read() {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/models");
    for (file, tetrahedra) in [
        ("wsg_50/bubble.vtk", 212),
        ("dishes/evo_bowl_coarse3k.vtk", 3374),
        ("veggies/yellow_bell_pepper_no_stem_low.vtk", 2519),
    ] {
        let mesh = VolumeMesh::read(models.join(file)).unwrap();
        assert_eq!(mesh.tetrahedra.len(), tetrahedra);
    }
    assert_eq!(SurfaceMesh::read(models.join("dishes/plate_8in_col.obj")).unwrap().triangles.len(), 896);
    refused(SurfaceMesh::read(models.join("wsg_50/textured_bubble.obj")), &["textured_bubble.obj", "open"]);
}

proptest! {
    #[test]
    fn no_damage_to_a_file_makes_a_panic(at in 0.0..1.0_f64, length in 0..6_usize, with in "[-0-9 \\n$.e]{0,5}") {
        for content in [VTK, VTK_5] {
            let mut text = content.to_owned();
            let start = (at * text.len() as f64) as usize;
            text.replace_range(start..(start + length).min(content.len()), &with);
            if let Ok(ListedTetrahedra { mesh, lines }) = vtk::parse(text.as_bytes()) {
                prop_assert_eq!(mesh.tetrahedra.len(), lines.len());
            }
        }
        for (name, mut bytes) in super::kinds::tetrahedra_in_binary() {
            let start = (at * bytes.len() as f64) as usize;
            bytes.splice(start..(start + length).min(bytes.len()), with.bytes().map(|byte| byte ^ 0x80));
            let parsed = if name == "a.vtk" { vtk::parse(&bytes) } else { msh::parse(&bytes) };
            if let Ok(ListedTetrahedra { mesh, .. }) = parsed {
                prop_assert!(mesh.tetrahedra.iter().flatten().all(|&v| (v as usize) < mesh.vertices.len()));
            }
        }
        for (content, is_msh) in [(MSH, true), (OBJ, false)] {
            let mut text = content.to_owned();
            let start = (at * text.len() as f64) as usize;
            text.replace_range(start..(start + length).min(content.len()), &with);
            let an_index_is_out_of_range = if is_msh {
                msh::parse(text.as_bytes()).is_ok_and(|l| check_indices("", &l.mesh.vertices, &l.mesh.tetrahedra).is_err())
            } else {
                obj::parse(text.as_bytes()).is_ok_and(|m| {
                    !m.triangles.is_empty() && check_indices("", &m.vertices, &m.triangles).is_err()
                })
            };
            prop_assert!(!an_index_is_out_of_range);
        }
    }
}
