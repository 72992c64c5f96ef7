//! Small files of every format, which mistakes are made in.

pub(crate) const OBJ: &str = "# a tetrahedron\no t\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvn 0 0 1\nf 1 3 2\nf 1/1 2/2 4/3\n\
                   f 2//1 3//1 4//1\nf 3 1 -1\n";
pub(crate) const VTK: &str = "# vtk DataFile Version 3.0\ntwo\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 5 double\n0 0 0 1 0 0\n\
                   0 1 0 0 0 1\n1 1 1\nCELLS 2 10\n4 0 1 2 3\n4 1 2 3 4\nCELL_TYPES 2\n10\n10\nPOINT_DATA 5\n\
                   SCALARS p double 1\nLOOKUP_TABLE default\n0 0 0 0 1\n";
pub(crate) const VTK_5: &str = "# vtk DataFile Version 5.1\ntwo\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 5 double\n0 0 0 1 0 0\n\
                     0 1 0 0 0 1\n1 1 1\nMETADATA\nINFORMATION 0\n\nCELLS 3 8\nOFFSETS vtktypeint64\n0 4 8\n\
                     CONNECTIVITY vtktypeint64\n0 1 2 3\n1 3 2 4\nCELL_TYPES 2\n10\n10\n";
pub(crate) const MSH: &str = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Entities\n0 0 0 0\n$EndEntities\n$Nodes\n1 4 1 4\n3 1 0 4\n\
                   1\n2\n3\n4\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n$EndNodes\n$Elements\n2 2 1 2\n2 1 2 1\n1 1 2 3\n3 1 4 1\n\
                   2 1 2 3 4\n$EndElements\n";
pub(crate) const STL_TEXT: &str = "solid t\nfacet normal 0 0 -1\nouter loop\nvertex 0 0 0\nvertex 0 1 0\nvertex 1 0 0\nendloop\n\
                        endfacet\nfacet normal 0 -1 0\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 0 1\nendloop\n\
                        endfacet\nfacet normal 1 1 1\nouter loop\nvertex 1 0 0\nvertex 0 1 0\nvertex 0 0 1\nendloop\n\
                        endfacet\nfacet normal -1 0 0\nouter loop\nvertex 0 1 0\nvertex 0 0 0\nvertex 0 0 1\nendloop\n\
                        endfacet\nendsolid t\n";

/// The same two as VTK's XML, in text and in base 64 by zlib.
pub(crate) const VTU: &str = "<VTKFile type=\"UnstructuredGrid\" header_type=\"UInt64\"><UnstructuredGrid>\n<Piece \
                              NumberOfPoints=\"5\" NumberOfCells=\"2\"><Points><DataArray type=\"Float64\">\n0 0 0 1 0 0 0 1 0 \
                              0 0 1 1 1 1</DataArray></Points><Cells>\n<DataArray type=\"Int64\" Name=\"connectivity\">0 1 2 3 \
                              1 2 3 4</DataArray>\n<DataArray type=\"Int32\" Name=\"offsets\" format=\"ascii\">4 8</DataArray>\n\
                              <DataArray type=\"UInt8\" Name=\"types\">10 10</DataArray></Cells></Piece></UnstructuredGrid>\
                              </VTKFile>\n";
pub(crate) const VTU_ZLIB: &str = "<VTKFile type=\"UnstructuredGrid\" compressor=\"vtkZLibDataCompressor\"><UnstructuredGrid>\n\
                              <Piece NumberOfPoints=\"5\" NumberOfCells=\"2\"><Points><DataArray type=\"Float64\" \
                              format=\"binary\">AQAAAHgAAAAAAAAAFAAAAA==eJxjYMAHPtjjlSZaHpMGAPByBxs=</DataArray></Points><Cells>\n<DataArray type=\"Int64\" \
                              Name=\"connectivity\">0 1 2 3 1 2 3 4</DataArray>\n<DataArray type=\"Int32\" Name=\"offsets\" \
                              format=\"appended\" offset=\"0\"/>\n<DataArray type=\"UInt8\" Name=\"types\">10 10</DataArray>\
                              </Cells></Piece></UnstructuredGrid><AppendedData encoding=\"base64\">\n_AQAAAAgAAAAAAAAADgAAAA==eJxjYWBg4ABiAABIAA0=\
                              </AppendedData></VTKFile>\n";

/// The tetrahedron as a binary STL file.
pub(crate) fn binary_stl() -> Vec<u8> {
    let corners: [[f32; 3]; 4] = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let mut bytes = vec![0; 80];
    bytes.extend(4_u32.to_le_bytes());
    for triangle in [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]] {
        bytes.extend([0; 12]);
        triangle.iter().for_each(|&k: &usize| corners[k].iter().for_each(|x| bytes.extend(x.to_le_bytes())));
        bytes.extend([0; 2]);
    }
    bytes
}

pub(crate) const PLY: &str = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n\
                   property uchar red\nelement face 4\nproperty list uchar int vertex_indices\nend_header\n0 0 0 9\n\
                   1 0 0 9\n0 1 0 9\n0 0 1 9\n3 0 2 1\n3 0 1 3\n3 1 2 3\n3 0 3 2\n";

/// The two tetrahedra in binary: of VTK, and of Gmsh in its old format.
pub(crate) fn binary_tetrahedra() -> [Vec<u8>; 2] {
    let points = [[0.0_f64; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0; 3]];
    let mut vtk =
        b"# vtk DataFile Version 2.0\nt\nBINARY\nDATASET UNSTRUCTURED_GRID\nFIELD F 1\nt 1 1 float\n0000\n"
            .to_vec();
    vtk.extend(b"POINTS 5 double\n");
    points.iter().flatten().for_each(|x| vtk.extend(x.to_be_bytes()));
    vtk.extend(b"\nCELLS 2 10\n");
    [4, 0, 1, 2, 3, 4, 1, 2, 3, 4_i32].iter().for_each(|x| vtk.extend(x.to_be_bytes()));
    vtk.extend(b"\nCELL_TYPES 2\n\0\0\0\n\0\0\0\n");
    let mut msh = b"$MeshFormat\n2.2 1 8\n\x01\0\0\0\n$EndMeshFormat\n$Nodes\n5\n".to_vec();
    for (number, point) in (1_i32..).zip(&points) {
        msh.extend(number.to_le_bytes());
        point.iter().for_each(|x| msh.extend(x.to_le_bytes()));
    }
    msh.extend(b"\n$EndNodes\n$Elements\n2\n");
    [4, 2, 1, 1, 7, 1, 2, 3, 4, 2, 7, 2, 3, 4, 5_i32].iter().for_each(|x| msh.extend(x.to_le_bytes()));
    msh.extend(b"\n$EndElements\n");
    [vtk, msh]
}

/// A robot with what Drake and Gazebo write.
pub(crate) const SDF: &str = "<sdf version=\"1.9\"><model name=\"m\">\n<link name=\"a\"><gravity>false</gravity>\n<collision name=\"c\">\
                   <geometry><plane><normal>0 0 1</normal></plane></geometry>\n<drake:proximity_properties>\
                   <drake:rigid_hydroelastic/>\n<drake:mu_static>0.5</drake:mu_static></drake:proximity_properties>\
                   </collision></link>\n<link name=\"b\"/>\n<joint name=\"j\" type=\"revolute\"><parent>a</parent>\
                   <child>b</child><axis><xyz>0 0 1</xyz></axis>\n<drake:rotor_inertia>1e-4</drake:rotor_inertia>\n\
                   <drake:gear_ratio>100</drake:gear_ratio></joint>\n<drake:collision_filter_group name=\"g\">\
                   <drake:member>a</drake:member>\n<drake:ignored_collision_filter_group>g\
                   </drake:ignored_collision_filter_group></drake:collision_filter_group></model></sdf>\n";

/// A robot with what MuJoCo's files have.
pub(crate) const MJCF: &str = "<mujoco>\n<compiler eulerseq=\"zyx\" boundinertia=\"1e-9\"/>\n<default><joint damping=\"1\"/>\n<default class=\"c\">\
                    <geom type=\"capsule\" size=\"0.1 0.2\"/></default></default>\n<worldbody><geom type=\"plane\"/>\n<body name=\"a\" \
                    childclass=\"c\" euler=\"1 2 3\"><joint name=\"j\" range=\"-1 1\" ref=\"0.5\"/>\n<joint name=\"k\" type=\"slide\"/>\n<geom \
                    fromto=\"0 0 0 1 0 0\" contype=\"2\"/>\n<frame axisangle=\"0 0 1 90\"><body zaxis=\"0 1 0\"><joint type=\"ball\"/>\n<geom/>\
                    <inertial pos=\"0 0 0\" mass=\"1\" fullinertia=\"1 1 1 0 0 0\"/></body></frame></body>\n<body><freejoint/><geom \
                    type=\"box\" size=\"1 1 1\" xyaxes=\"1 0 0 0 1 0\"/></body></worldbody>\n<contact><exclude body1=\"a\" \
                    body2=\"world\"/></contact>\n<equality><joint joint1=\"j\" joint2=\"k\" polycoef=\"0.1 2\"/></equality>\n<actuator>\
                    <general joint=\"k\" biastype=\"affine\" biasprm=\"0 -1 -2\" forcerange=\"-1 1\"/>\n<motor tendon=\"t\" gear=\"3\"/>\
                    </actuator>\n<tendon><fixed name=\"t\" stiffness=\"1\"><joint joint=\"j\" coef=\"2\"/><joint joint=\"k\"/></fixed>\
                    </tendon></mujoco>\n";

/// A world of two models.
pub(crate) const WORLD: &str = "<sdf version=\"1.9\"><world name=\"w\">\n<model name=\"a\"><static>1</static><link name=\"l\"/></model>\n\
                     <model name=\"b\"><pose>0 0 1 0 1 0</pose><link name=\"l\"/>\n<link name=\"m\"/><joint name=\"j\" \
                     type=\"revolute\"><parent>l</parent>\n<child>m</child><axis/></joint></model></world></sdf>\n";

/// The tetrahedron as MuJoCo writes surfaces.
pub(crate) fn mujoco_surface() -> Vec<u8> {
    let mut bytes: Vec<u8> = [4_u32, 0, 0, 4].iter().flat_map(|count| count.to_le_bytes()).collect();
    let corners = [0.0_f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    bytes.extend(corners.iter().flat_map(|x| x.to_le_bytes()));
    bytes.extend([0_u32, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2].iter().flat_map(|corner| corner.to_le_bytes()));
    bytes
}

/// The trajectory that a scene's command writes.
pub(crate) fn trajectory() -> Vec<u8> {
    let mut text = String::from("t_s");
    let columns = ["px_m", "py_m", "pz_m", "qw", "qx", "qy", "qz", "vx_m_s", "vy_m_s", "vz_m_s", "wx_rad_s"];
    for column in columns.iter().chain(&["wy_rad_s", "wz_rad_s"]) {
        text += &format!(",ball.{column}");
    }
    for k in 0..4 {
        text +=
            &format!("\n{},0.1,0,{},1,0,0,0,0.1,0,0,0.5,0,0", f64::from(k) * 0.01, 0.3 - 0.01 * f64::from(k));
    }
    (text + "\n").into_bytes()
}
