//! The same meshes as programs write them otherwise.

use approx::assert_relative_eq;

use super::tests::{VTK, refused, surface, volume, with_file};
use super::*;

/// A brick of 1 m × 2 m × 3 m by its corners and the quadrangles between them.
const CORNERS: [[f64; 3]; 8] = [
    [0.0, 0.0, 0.0],
    [1.0, 0.0, 0.0],
    [0.0, 2.0, 0.0],
    [1.0, 2.0, 0.0],
    [0.0, 0.0, 3.0],
    [1.0, 0.0, 3.0],
    [0.0, 2.0, 3.0],
    [1.0, 2.0, 3.0],
];
const SIDES: [[usize; 4]; 6] =
    [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [1, 3, 7, 5], [3, 2, 6, 7], [2, 0, 4, 6]];

type Facet = [[f64; 3]; 3];

/// The facets of the brick, moved along x.
fn brick(x: f64) -> Vec<Facet> {
    let corner = |i: usize| [CORNERS[i][0] + x, CORNERS[i][1], CORNERS[i][2]];
    SIDES.iter().flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]).map(|t| t.map(corner)).collect()
}

fn turned(facets: &[Facet]) -> Vec<Facet> {
    facets.iter().map(|[a, b, c]| [*a, *c, *b]).collect()
}

fn text_stl(facets: &[Facet], name: &str) -> String {
    let mut text = format!("solid{name}\n");
    for facet in facets {
        text += "facet normal 0 0 1\nouter loop\n";
        facet.iter().for_each(|[x, y, z]| text += &format!("vertex {x} {y} {z}\n"));
        text += "endloop\nendfacet\n";
    }
    text + "endsolid" + name + "\n"
}

fn binary_stl(facets: &[Facet]) -> Vec<u8> {
    let mut bytes = vec![b' '; 80];
    bytes[..5].copy_from_slice(b"solid");
    bytes.extend((facets.len() as u32).to_le_bytes());
    for facet in facets {
        bytes.extend([f32::NAN; 3].iter().flat_map(|x| x.to_le_bytes()));
        bytes.extend(facet.iter().flatten().flat_map(|x| (*x as f32).to_le_bytes()));
        bytes.extend([7; 2]);
    }
    bytes
}

#[test]
fn stl_files_of_every_writing_are_the_brick() {
    let plain = text_stl(&brick(0.0), " part");
    let nan = plain.replace("normal 0 0 1", "normal -nan(ind) nan 1.#QNAN");
    let mut latin = text_stl(&brick(0.0), " T?r facet vertex").into_bytes();
    latin.iter_mut().filter(|byte| **byte == b'?').for_each(|byte| *byte = 0xfc);
    let mut longer = binary_stl(&brick(0.0));
    longer.extend(b"of another program");
    let half = brick(0.0).len() / 2;
    let one_in_two = text_stl(&brick(0.0)[..half], " a") + &text_stl(&brick(0.0)[half..], " b");
    let mut repeated = brick(0.0);
    // Twice, without area by two corners at one place, and by three on a line.
    repeated.extend([repeated[4], [CORNERS[0], CORNERS[0], CORNERS[1]]]);
    repeated.push([CORNERS[0], [0.5, 0.0, 0.0], CORNERS[1]]);
    for content in [
        plain.clone().into_bytes(),
        plain.to_uppercase().into_bytes(),
        format!("\u{feff}{}", text_stl(&brick(0.0), "")).into_bytes(),
        format!("\n\r\n  {plain}").into_bytes(),
        plain.replace('\n', "\r\n").into_bytes(),
        plain.replace('\n', "\r").into_bytes(),
        nan.into_bytes(),
        latin,
        binary_stl(&brick(0.0)),
        longer,
        one_in_two.into_bytes(),
        text_stl(&repeated, " degenerate").into_bytes(),
        binary_stl(&[brick(0.0), turned(&brick(0.0))].concat()),
    ] {
        let (mesh, notes) =
            with_file("a.stl", &content, |path: &Path| SurfaceMesh::read_unclosed(path)).unwrap();
        assert_eq!((mesh.vertices.len(), mesh.triangles.len(), notes.len()), (8, 12, 0));
        assert_relative_eq!(mesh.volume(), 6.0, epsilon = 1e-12);
    }
}

#[test]
fn an_edge_that_meets_a_vertex_is_closed_by_a_facet_without_area() {
    // The lower edge of the front is cut in the middle, which the bottom's is not.
    let middle = [0.5, 0.0, 0.0];
    let mut facets = brick(0.0);
    let [a, b, c] = facets.remove(4);
    assert_eq!([a, b], [CORNERS[0], CORNERS[1]]);
    facets.extend([[a, middle, c], [middle, b, c], [a, b, middle]]);
    let mesh = surface("a.stl", &binary_stl(&facets)).unwrap();
    assert_eq!((mesh.vertices.len(), mesh.triangles.len()), (9, 14));
    assert_relative_eq!(mesh.volume(), 6.0, epsilon = 1e-12);
}

#[test]
fn parts_that_face_inward_are_turned_and_told() {
    let mut one = brick(0.0);
    one[3] = turned(&one[3..4])[0];
    let inner: Vec<Facet> = brick(0.0).iter().map(|f| f.map(|p| p.map(|x| 0.5 * x + 0.25))).collect();
    let hollow = [brick(0.0), turned(&inner)].concat();
    for (facets, count, volume) in [
        (turned(&brick(0.0)), 12, 6.0),
        (one, 1, 6.0),
        ([brick(0.0), turned(&brick(3.0))].concat(), 12, 12.0),
        ([turned(&brick(0.0)), turned(&brick(3.0))].concat(), 24, 12.0),
        (hollow.clone(), 0, 5.25),
        (turned(&hollow), 24, 5.25),
    ] {
        let (mesh, notes) =
            with_file("a.stl", &binary_stl(&facets), |path: &Path| SurfaceMesh::read_unclosed(path)).unwrap();
        let told = format!("{count} of {} triangles faced inward", facets.len());
        assert_eq!(notes.len(), usize::from(count > 0), "{told}");
        assert!(notes.iter().all(|note| note.starts_with(&told)), "{notes:?}, not {told}");
        assert_relative_eq!(mesh.volume(), volume, epsilon = 1e-12);
    }
}

#[test]
fn bodies_that_touch_are_told_apart() {
    let beside = |x: f64, y: f64| -> Vec<Facet> {
        brick(x).iter().map(|facet| facet.map(|[x, z, h]| [x, z + y, h])).collect()
    };
    // In an edge, and in a face that each cuts into triangles of its own.
    for other in [beside(1.0, 2.0), brick(1.0)] {
        let both = [brick(0.0), other.clone()].concat();
        let solids = text_stl(&brick(0.0), " a") + &text_stl(&other, " b");
        for content in [binary_stl(&both), solids.into_bytes()] {
            let mesh = surface("a.stl", &content).unwrap();
            assert_eq!((mesh.vertices.len(), mesh.triangles.len()), (16, 24));
            assert_relative_eq!(mesh.volume(), 12.0, epsilon = 1e-12);
        }
    }
}

#[test]
fn a_body_may_touch_itself() {
    // A frame of four bars around a hole, with two bricks in corners of the hole that meet in an edge.
    let bars = [[0.0, 0.0, 4.0, 1.0], [0.0, 3.0, 4.0, 4.0], [0.0, 1.0, 1.0, 3.0], [3.0, 1.0, 4.0, 3.0]];
    let inner = [[1.0, 1.0, 2.0, 2.0], [2.0, 2.0, 3.0, 3.0]];
    let filled = |x: f64, y: f64| {
        let within = |[a, b, c, d]: &[f64; 4]| (*a..*c).contains(&x) && (*b..*d).contains(&y);
        bars.iter().chain(&inner).any(within)
    };
    let mut sides = Vec::new();
    for (i, j) in (0..4).flat_map(|i| (0..4).map(move |j| (f64::from(i), f64::from(j)))) {
        if !filled(i, j) {
            continue;
        }
        let at = |x: f64, y: f64, z: f64| [i + x, j + y, z];
        sides.push([at(0.0, 0.0, 0.0), at(0.0, 1.0, 0.0), at(1.0, 1.0, 0.0), at(1.0, 0.0, 0.0)]);
        sides.push([at(0.0, 0.0, 1.0), at(1.0, 0.0, 1.0), at(1.0, 1.0, 1.0), at(0.0, 1.0, 1.0)]);
        // Walls where there is nothing beside.
        for (dx, dy) in [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0_f64)] {
            if !filled(i + dx, j + dy) {
                let [p, q] = [-0.5, 0.5].map(|s| (0.5 + 0.5 * dx - s * dy, 0.5 + 0.5 * dy + s * dx));
                sides.push([at(p.0, p.1, 0.0), at(q.0, q.1, 0.0), at(q.0, q.1, 1.0), at(p.0, p.1, 1.0)]);
            }
        }
    }
    let facets: Vec<Facet> = sides.iter().flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]).collect();
    let mesh = surface("a.stl", &binary_stl(&facets)).unwrap();
    assert_eq!(mesh.triangles.len(), facets.len());
    assert_relative_eq!(mesh.volume(), 14.0, epsilon = 1e-12);
}

/// An OBJ file of polygons over corners.
fn text_obj(corners: &[[f64; 3]], sides: &[Vec<usize>]) -> String {
    let mut text: String = corners.iter().map(|[x, y, z]| format!("v {x} {y} {z}\n")).collect();
    for side in sides {
        let corners: Vec<String> = side.iter().map(|i| (i + 1).to_string()).collect();
        text += &format!("f {}\n", corners.join(" "));
    }
    text
}

#[test]
fn obj_files_of_every_writing_are_the_brick() {
    let sides = SIDES.map(|side| side.to_vec());
    let plain = text_obj(&CORNERS, &sides);
    // Corners of their own for each side, named backward.
    let seams: String = SIDES
        .iter()
        .map(|side| text_obj(&side.map(|i| CORNERS[i]), &[]) + "vt 0 0\nf -4/1 -3/1 -2/1 -1/1\n")
        .collect();
    let long = plain.replace("f 1 3 4 2", "f 1 3 \\\n 4 2 # below");
    for content in [plain.clone(), format!("\u{feff}{plain}"), plain.replace('\n', "\r"), seams, long] {
        let mesh = surface("a.obj", content.as_bytes()).unwrap();
        assert_eq!((mesh.vertices.len(), mesh.triangles.len()), (8, 12));
        assert_relative_eq!(mesh.volume(), 6.0, epsilon = 1e-12);
    }
    // A polygon whose fan from the first corner would go over its edges: a U of 7 squares of 1 m, 1 m high.
    let outline = [[0, 0], [3, 0], [3, 3], [2, 3], [2, 1], [1, 1], [1, 3], [0, 3]];
    let at = |z: f64| outline.map(|[x, y]| [f64::from(x), f64::from(y), z]);
    let mut sides: Vec<Vec<usize>> = (0..8).map(|i| vec![i, (i + 1) % 8, (i + 1) % 8 + 8, i + 8]).collect();
    sides.extend([(0..8).rev().collect(), (8..16).collect::<Vec<usize>>()]);
    let mesh = surface("u.obj", text_obj(&[at(0.0), at(1.0)].concat(), &sides).as_bytes()).unwrap();
    assert_eq!(mesh.triangles.len(), 28);
    assert_relative_eq!(mesh.volume(), 7.0, epsilon = 1e-12);
    let area: f64 =
        (0..28).map(|t| mesh.corners(t)).map(|[a, b, c]| (b - a).cross(&(c - a)).norm() / 2.0).sum();
    assert_relative_eq!(area, 2.0 * 7.0 + 16.0, epsilon = 1e-12);
    let mut star: Vec<usize> = (0..1001).collect();
    star.push(500);
    let spiral: Vec<[f64; 3]> = (0..1001).map(|i| [f64::from(i % 7), f64::from(i), 0.0]).collect();
    refused(
        surface("a.obj", text_obj(&spiral, &[star]).as_bytes()),
        &["a.obj:1002:", "1002 vertices", "at most 500"],
    );
}

/// The two tetrahedra of [`VTK`] in other formats.
pub(super) fn tetrahedra_in_binary() -> Vec<(&'static str, Vec<u8>)> {
    let points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0_f64; 3]];
    let cells = [[0, 1, 2, 3], [1, 2, 3, 4_i32]];
    let big = |numbers: &[i32]| numbers.iter().flat_map(|x| x.to_be_bytes()).collect::<Vec<u8>>();
    let little = |numbers: &[i32]| numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let long = |numbers: &[u64]| numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let coordinates: Vec<u8> = points.iter().flatten().flat_map(|x| x.to_be_bytes()).collect();
    // A triangle and a point beside them.
    let mut vtk =
        b"# vtk DataFile Version 2.0\nT\xfcr\nBINARY\nDATASET UNSTRUCTURED_GRID\nFIELD FieldData 2\n\
        TIME 1 1 float\n\x0a\x0d\x20\x20\nwho 1 2 string\n\xc1a\xc2\x0ab\nPOINTS 5 double\n"
            .to_vec();
    vtk.extend(&coordinates);
    vtk.extend(b"\nCELLS 4 16\n");
    vtk.extend(big(&[3, 0, 1, 2, 4, 0, 1, 2, 3, 1, 0, 4, 1, 2, 3, 4]));
    vtk.extend(b"\nCELL_TYPES 4\n");
    vtk.extend(big(&[5, 10, 1, 10]));
    let mut msh_2 = b"$MeshFormat\n2.2 1 8\n\x01\0\0\0\n$EndMeshFormat\n$Nodes\n5\n".to_vec();
    for (i, point) in (1..).zip(&points) {
        msh_2.extend(little(&[i]));
        msh_2.extend(point.iter().flat_map(|x| x.to_le_bytes()));
    }
    msh_2.extend(b"\n$EndNodes\n$Elements\n3\n");
    msh_2.extend(little(&[2, 1, 2, 1, 7, 7, 1, 2, 3, 4, 2, 0]));
    for (i, [a, b, c, d]) in (2..).zip(cells) {
        msh_2.extend(little(&[i, a + 1, b + 1, c + 1, d + 1]));
    }
    msh_2.extend(b"\n$EndElements\n$ElementData\n\x0a$\xff\n$EndElementData\n");
    let mut msh_4 =
        b"$MeshFormat\n4.1 1 8\n\x01\0\0\0\n$EndMeshFormat\n$Entities\n\0$\n$EndEntities\n$Nodes\n".to_vec();
    msh_4.extend(long(&[1, 5, 1, 5]));
    msh_4.extend(little(&[3, 1, 0]));
    msh_4.extend(long(&[5, 1, 2, 3, 4, 5]));
    msh_4.extend(points.iter().flatten().flat_map(|x| x.to_le_bytes()));
    msh_4.extend(b"\n$EndNodes\n$Elements\n");
    msh_4.extend(long(&[1, 2, 1, 2]));
    msh_4.extend(little(&[3, 1, 4]));
    msh_4.extend(long(&[2, 1, 1, 2, 3, 4, 2, 2, 3, 4, 5]));
    msh_4.extend(b"\n$EndElements\n");
    vec![("a.vtk", vtk), ("a.msh", msh_2), ("b.msh", msh_4)]
}

#[test]
fn binary_files_and_msh_2_are_the_same_tetrahedra() {
    let expected = volume("a.vtk", VTK).unwrap();
    for (name, content) in tetrahedra_in_binary() {
        assert_eq!(with_file(name, &content, |file| VolumeMesh::read(file)).unwrap(), expected, "{name}");
    }
    let msh_2 = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n3 1 \"a b\"\n$EndPhysicalNames\n$Nodes\n5\n\
        10 0 0 0\n20 1 0 0\n30 0 1 0\n40 0 0 1\n50 1 1 1\n$EndNodes\n$Elements\n3\n1 2 2 1 1 10 20 30\n\
        2 4 2 1 1 10 20 30 40\n3 4 0 20 30 40 50\n$EndElements\n";
    assert_eq!(volume("a.msh", msh_2).unwrap(), expected);
    refused(volume("bad.msh", &msh_2.replace("3 4 0", "3 5 0")), &["bad.msh:20:", "element type 5"]);
    refused(volume("bad.msh", &msh_2.replace("0 20 30 40 50", "0 20 30 40 60")), &["bad.msh:20:", "node 60"]);
}

#[test]
fn vtk_files_have_fields_flat_cells_and_nodes_at_one_place() {
    let expected = volume("a.vtk", VTK).unwrap();
    let field = "FIELD FieldData 2\nTIME 1 1 double\n0.5\nMETADATA\nINFORMATION 0\n\nwho 1 2 string\na%20b c\nd\nPOINTS";
    let with_field = format!("\u{feff}{}", VTK.replace("POINTS", field));
    let mixed = VTK
        .replace("CELLS 2 10\n", "CELLS 4 16\n3 0 1 2\n")
        .replace("CELL_TYPES 2\n10\n10\n", "1 5\nCELL_TYPES 4\n5\n10\n10\n1\n");
    for content in [with_field, mixed] {
        assert_eq!(volume("a.vtk", &content).unwrap(), expected);
    }
    let own_nodes = "# vtk DataFile Version 3.0\ntwo\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 8 double\n0 0 0 1 0 0 \
        0 1 0 0 0 1 1 0 0 0 1 0 -0 0 1 1 1 1\nCELLS 2 10\n4 0 1 2 3\n4 4 5 6 7\nCELL_TYPES 2\n10\n10\n";
    assert_eq!(volume("a.vtk", own_nodes).unwrap(), expected);
}

#[test]
fn ply_files_are_the_brick() {
    let header = |format: &str| {
        format!(
            "ply\nformat {format} 1.0\ncomment a comment\nelement vertex 8\nproperty float x\nproperty float y\n\
             property float z\nproperty uchar red\nelement face 6\nproperty list uchar int vertex_indices\n\
             property list uchar float texcoord\nelement edge 1\nproperty int vertex1\nend_header\n"
        )
    };
    let mut text = header("ascii");
    let [mut little, mut big] =
        ["binary_little_endian", "binary_big_endian"].map(|format| header(format).into_bytes());
    for [x, y, z] in CORNERS {
        text += &format!("{x} {y} {z} 200\n");
        [x, y, z].iter().for_each(|x| little.extend((*x as f32).to_le_bytes()));
        [x, y, z].iter().for_each(|x| big.extend((*x as f32).to_be_bytes()));
        [&mut little, &mut big].into_iter().for_each(|bytes| bytes.push(200));
    }
    for side in SIDES {
        text += &format!("4 {} {} {} {} 2 0.5 0.5\n", side[0], side[1], side[2], side[3]);
        [&mut little, &mut big].into_iter().for_each(|bytes| bytes.push(4));
        side.iter().for_each(|i| little.extend((*i as i32).to_le_bytes()));
        side.iter().for_each(|i| big.extend((*i as i32).to_be_bytes()));
        [&mut little, &mut big].into_iter().for_each(|bytes| bytes.extend([1, 10, 10, 10, 10]));
    }
    text += "7\n";
    [&mut little, &mut big].into_iter().for_each(|bytes| bytes.extend([7; 4]));
    for content in [text.as_bytes(), &little, &big] {
        let mesh = surface("a.ply", content).unwrap();
        assert_eq!((mesh.vertices.len(), mesh.triangles.len()), (8, 12));
        assert_relative_eq!(mesh.volume(), 6.0, epsilon = 1e-12);
    }
    let with = |from: &str, to: &str| surface("bad.ply", text.replacen(from, to, 1).as_bytes());
    refused(with("ply", "plyy"), &["bad.ply:1:", "expected ply"]);
    refused(with("ascii", "utf8"), &["bad.ply:2:", "utf8", "binary_little_endian"]);
    refused(with("float x", "half x"), &["bad.ply:5:", "\"half\"", "type of numbers"]);
    refused(with("end_header", "end"), &["bad.ply:14:", "\"end\"", "end_header"]);
    refused(with("4 0 2 3 1", "4 0 2 3 8"), &["bad.ply:23:", "vertex 8", "8 vertices"]);
    refused(with("4 0 2 3 1 ", "2 0 2 "), &["bad.ply:23:", "at least three"]);
    refused(surface("bad.ply", &little[..little.len() - 5]), &["the end of the file"]);
}

#[test]
fn points_ask_nothing_of_triangles() {
    let points = |name: &str, content: &str| with_file(name, content.as_bytes(), read_points).unwrap().len();
    let sides = SIDES.map(|side| side.to_vec());
    assert_eq!(points("a.obj", &text_obj(&CORNERS, &sides[..5])), 8);
    assert_eq!(points("a.obj", &text_obj(&CORNERS, &[])), 8);
    assert_eq!(points("a.obj", &(text_obj(&CORNERS, &sides) + "v 9 9 9\nf 1 1 2\n")), 8);
    assert_eq!(points("a.vtk", &VTK.replace("4 1 2 3 4", "4 1 2 3 3")), 4);
}

/// The brick as MuJoCo writes it, with a normal and texture coordinates that are not read.
pub(super) fn mujoco_brick() -> Vec<u8> {
    let triangles: Vec<[usize; 3]> =
        SIDES.iter().flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]).collect();
    let counts = [CORNERS.len(), 1, 2, triangles.len()].map(|count| count as u32);
    let mut bytes: Vec<u8> = counts.iter().flat_map(|count| count.to_le_bytes()).collect();
    bytes.extend(CORNERS.iter().flatten().flat_map(|x| (*x as f32).to_le_bytes()));
    bytes.extend([f32::NAN; 7].iter().flat_map(|x| x.to_le_bytes()));
    bytes.extend(triangles.iter().flatten().flat_map(|corner| (*corner as u32).to_le_bytes()));
    bytes
}

#[test]
fn surfaces_of_mujoco_are_read_and_are_no_volumes() {
    let mesh = surface("brick.msh", &mujoco_brick()).unwrap();
    assert_eq!((mesh.vertices.len(), mesh.triangles.len()), (8, 12));
    assert_relative_eq!(mesh.mass_properties().unwrap().mass, 6.0, max_relative = 1e-14);
    with_file("brick.msh", &mujoco_brick(), |path| {
        assert_eq!(read_points(path).unwrap().len(), 8);
    });
    let as_volume = with_file("brick.msh", &mujoco_brick(), |path| VolumeMesh::read(path));
    refused(as_volume, &["brick.msh", "a surface of MuJoCo's", "tetrahedra"]);
    let mut bad = mujoco_brick();
    let last = bad.len() - 4;
    bad[last] = 8;
    refused(surface("brick.msh", &bad), &["brick.msh", "vertex 8 in triangle 11", "there are 8 vertices"]);
    bad = mujoco_brick();
    bad[16..20].copy_from_slice(&f32::INFINITY.to_le_bytes());
    refused(surface("brick.msh", &bad), &["brick.msh", "in vertex 0"]);
}
