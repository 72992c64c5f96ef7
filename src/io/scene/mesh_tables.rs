//! From the mesh tables of a scene file to checked meshes with their extents.

use std::cell::RefCell;
use std::path::Path;

use nalgebra::Vector3;

use crate::field::{
    DEFAULT_CORE_THRESHOLD, FieldError, deep_core, distance_extent, laplace_extent,
    split_zero_gradient_tetrahedra,
};
use crate::geometry::{
    MeshError, ReadMeshError, SurfaceMesh, VertexPlace, VolumeMesh, read_pieces, read_points, vertex_places,
};
use crate::io::document::field_path::FieldPath;
use crate::io::file_error::Problem;
use crate::io::scene::body_tables::{Range, number, vector};
use crate::io::scene::shape_schema::{
    ConvexTable, ExtentTable, MeshTable, SurfaceMeshTable, TetrahedraTable, VolumeMeshTable,
};
use crate::io::strict::Exactly;

/// What a shape is in contact.
pub(in crate::io) enum Meshes {
    /// A volume mesh and the extent of each vertex.
    Compliant(VolumeMesh, Vec<f64>),
    /// A closed surface.
    Rigid(SurfaceMesh),
}

/// An inline volume mesh.
pub(in crate::io) fn volume_mesh(
    t: &VolumeMeshTable,
    rigid: bool,
    table: &FieldPath,
) -> Result<Meshes, Problem> {
    let mesh = VolumeMesh {
        vertices: vertices(&t.vertices, &table.key("vertices"))?,
        tetrahedra: t.tetrahedra.iter().map(|t| t.0).collect(),
    };
    mesh.validate().map_err(|error| Problem::new(table.clone(), error))?;
    from_volume(mesh, t.extent.as_ref(), t.split_zero_gradient, rigid, table)
}

/// An inline surface mesh.
pub(in crate::io) fn surface_mesh(
    t: &SurfaceMeshTable,
    rigid: bool,
    notes: &Notes,
    table: &FieldPath,
) -> Result<Meshes, Problem> {
    let mesh = SurfaceMesh {
        vertices: vertices(&t.vertices, &table.key("vertices"))?,
        triangles: t.triangles.iter().map(|t| t.0).collect(),
    };
    from_surface(
        mesh,
        t.extent.as_ref(),
        t.tetrahedra.as_ref(),
        rigid,
        table,
        &Place { file: None, notes, field: table },
    )
}

/// A mesh in a file: a surface (.obj, .ply, .stl) or a volume (.vtk, .vtu, .msh). What there is to tell of it goes to `notes`.
pub(in crate::io) fn mesh_file(
    t: &MeshTable,
    rigid: bool,
    folder: &Path,
    notes: &Notes,
    table: &FieldPath,
) -> Result<Meshes, Problem> {
    let field = table.key("file");
    let scale = number(t.scale.unwrap_or(1.0), Range::Positive, &table.key("scale"))?;
    let file = folder.join(&t.file);
    match read_mesh(&file, notes, &field)? {
        // A surface that is filled has no tetrahedra to split: all of them have an inner vertex.
        MeshFile::Surface(mesh) => {
            let place = Place { file: Some(&file), notes, field: &field };
            from_surface(mesh.scaled(scale), t.extent.as_ref(), t.tetrahedra.as_ref(), rigid, table, &place)
        }
        MeshFile::Volume(_) if t.tetrahedra.is_some() => Err(Problem::new(
            table.key("tetrahedra"),
            "found beside a volume mesh, which has tetrahedra; leave it out, or give a surface (.obj, .ply, .stl)",
        )),
        MeshFile::Volume(mesh) => {
            from_volume(mesh.scaled(scale), t.extent.as_ref(), t.split_zero_gradient, rigid, table)
        }
    }
}

/// The mesh of a robot's link or its convex hull, with coordinates multiplied by factors.
pub(in crate::io) fn link_mesh(
    file: &Path,
    scale: &Vector3<f64>,
    convex: bool,
    rigid: bool,
    notes: &Notes,
    field: &FieldPath,
) -> Result<Meshes, Problem> {
    let place = Place { file: Some(file), notes, field };
    if convex {
        let mut points = points_of(file, field)?;
        points.iter_mut().for_each(|v| v.component_mul_assign(scale));
        let hull = SurfaceMesh::convex_hull(&points);
        let problem = |error| Problem::new(field.clone(), format_args!("{}: {error}", file.display()));
        return from_surface(hull.map_err(problem)?, None, None, rigid, field, &place);
    }
    match read_mesh(file, notes, field)? {
        MeshFile::Surface(mut mesh) => {
            mesh.stretch(scale);
            from_surface(mesh, None, None, rigid, field, &place)
        }
        MeshFile::Volume(mut mesh) => {
            mesh.vertices.iter_mut().for_each(|v| v.component_mul_assign(scale));
            // A mirrored mesh is turned inside out.
            if scale.product() < 0.0 {
                mesh.tetrahedra.iter_mut().for_each(|t| t.swap(2, 3));
            }
            from_volume(mesh, None, false, rigid, field)
        }
    }
}

/// The convex hull of points, inline or the vertices of a file, or those of its pieces.
pub(in crate::io) fn convex_meshes(
    t: &ConvexTable,
    rigid: bool,
    folder: &Path,
    notes: &Notes,
    table: &FieldPath,
) -> Result<Vec<Meshes>, Problem> {
    let pieces = match (&t.points, &t.file) {
        (None, Some(file)) if t.pieces => {
            let (file, field) = (folder.join(file), table.key("file"));
            check_ending(&file, &field)?;
            let pieces = read_pieces(&file).map_err(|error| Problem::new(field.clone(), error))?;
            check_pieces(&pieces, &file, &field)?;
            pieces.into_iter().map(|piece| piece.vertices).collect()
        }
        (_, None) if t.pieces => return Err(Problem::new(table.key("pieces"), "found true without a file")),
        (Some(points), None) => vec![vertices(points, &table.key("points"))?],
        (None, Some(file)) => vec![points_of(&folder.join(file), &table.key("file"))?],
        _ => {
            return Err(Problem::new(
                table.clone(),
                "found both or neither of points and file; give one of them",
            ));
        }
    };
    let scale = number(t.scale.unwrap_or(1.0), Range::Positive, &table.key("scale"))?;
    let hull_of = |points: Vec<Vector3<f64>>| {
        let hull = SurfaceMesh::convex_hull(&points).map_err(|error| Problem::new(table.clone(), error))?;
        let place = Place { file: None, notes, field: table };
        from_surface(hull.scaled(scale), t.extent.as_ref(), None, rigid, table, &place)
    };
    pieces.into_iter().map(hull_of).collect()
}

/// A piece that fills this part of its convex hull is convex but for its facets.
const CONVEX: f64 = 0.95;

/// Refuses pieces of a file that are not convex: their hulls would be other bodies.
fn check_pieces(pieces: &[SurfaceMesh], file: &Path, field: &FieldPath) -> Result<(), Problem> {
    let file = file.display();
    for (k, piece) in pieces.iter().enumerate() {
        // What has no hull is refused where that is made.
        let Ok(hull) = SurfaceMesh::convex_hull(&piece.vertices) else { continue };
        let filled = piece.volume().abs() / hull.volume();
        if filled < CONVEX {
            return Err(Problem::new(
                field.clone(),
                format_args!(
                    "{file}: piece {} of {} fills {:.0} % of its convex hull; cut it into convex pieces, each an object that \
                     shares no vertices with others, or leave `pieces` out for the hull of all",
                    k + 1,
                    pieces.len(),
                    100.0 * filled
                ),
            ));
        }
    }
    Ok(())
}

/// A mesh as a file holds it.
enum MeshFile {
    Surface(SurfaceMesh),
    Volume(VolumeMesh),
}

/// What there is to tell of files.
pub(in crate::io) type Notes = RefCell<Vec<Problem>>;

/// The vertices of a file, whatever its elements.
fn points_of(file: &Path, field: &FieldPath) -> Result<Vec<Vector3<f64>>, Problem> {
    check_ending(file, field)?;
    read_points(file).map_err(|error| Problem::new(field.clone(), error))
}

/// Reads a file by the ending of its name.
fn read_mesh(file: &Path, notes: &Notes, field: &FieldPath) -> Result<MeshFile, Problem> {
    let read = match check_ending(file, field)? {
        true => VolumeMesh::read(file).map(MeshFile::Volume),
        false => SurfaceMesh::read_unclosed(file).map(|(mesh, told)| {
            let told = told.into_iter().map(|note| format!("{}: {note}", file.display()));
            notes.borrow_mut().extend(told.map(|note| Problem::new(field.clone(), note)));
            MeshFile::Surface(mesh)
        }),
    };
    read.map_err(|error| Problem::new(field.clone(), error))
}

/// Whether a file is a volume mesh by the ending of its name.
fn check_ending(file: &Path, field: &FieldPath) -> Result<bool, Problem> {
    let ending = file.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
    match ending.as_str() {
        "obj" | "ply" | "stl" => Ok(false),
        "vtk" | "vtu" | "msh" => Ok(true),
        _ => Err(Problem::new(
            field.clone(),
            format_args!(
                "found `{}`; a mesh file ends in .obj, .ply or .stl (surface) or .vtk, .vtu or .msh (volume)",
                file.display()
            ),
        )),
    }
}

/// Where a mesh comes from, and where to tell of it.
struct Place<'a> {
    file: Option<&'a Path>,
    notes: &'a Notes,
    field: &'a FieldPath,
}

impl Place<'_> {
    fn problem(&self, error: MeshError) -> Problem {
        match self.file {
            Some(file) => {
                Problem::new(self.field.clone(), ReadMeshError::Mesh { file: file.to_owned(), source: error })
            }
            None => Problem::new(self.field.clone(), error),
        }
    }

    fn tell(&self, note: &str) {
        let file = self.file.map(|file| format!("{}: ", file.display())).unwrap_or_default();
        self.notes.borrow_mut().push(Problem::new(self.field.clone(), format_args!("{file}{note}")));
    }
}

/// A surface as a body in contact: a compliant one is filled with tetrahedra, by a lattice where that is asked for, or where
/// it is open or not star-shaped.
fn from_surface(
    mesh: SurfaceMesh,
    extent: Option<&ExtentTable>,
    tetrahedra: Option<&TetrahedraTable>,
    rigid: bool,
    table: &FieldPath,
    place: &Place,
) -> Result<Meshes, Problem> {
    if rigid && tetrahedra.is_none() {
        mesh.validate().map_err(|error| place.problem(error))?;
        return Ok(Meshes::Rigid(mesh));
    }
    if matches!(extent, Some(ExtentTable::Given(_))) {
        return Err(Problem::new(
            table.key("extent"),
            "found a list, but a surface has no vertices inside; use \"distance\" or \"laplace\", or a volume mesh",
        ));
    }
    let fan = if tetrahedra.is_none() { mesh.tetrahedralize().map_err(Some) } else { Err(None) };
    let mesh = match fan {
        Ok(fan) => fan,
        Err(reason) => {
            let filled = mesh.fill(tetrahedra.and_then(|t| t.size)).map_err(|error| place.problem(error))?;
            if let Some(reason) = reason {
                let why = match reason {
                    MeshError::NotStarShaped { .. } => "no inner point sees all of the surface",
                    _ => "the surface is not closed as it is listed",
                };
                let how = "tetrahedra = { size = … } in a scene and isobar mesh set how finely";
                place.tell(&format!("{why}, so it is {}; {how}", filled.summary()));
            }
            filled.notes().iter().for_each(|note| place.tell(note));
            filled.mesh
        }
    };
    from_volume(mesh, extent, false, rigid, table)
}

/// Points with finite coordinates.
fn vertices(points: &[Exactly<f64, 3>], field: &FieldPath) -> Result<Vec<Vector3<f64>>, Problem> {
    points.iter().enumerate().map(|(i, p)| vector(*p, Range::Finite, &field.index(i))).collect()
}

/// A mesh whose tetrahedra with all vertices on the boundary are split at their centroids.
fn split(mesh: &VolumeMesh) -> VolumeMesh {
    let places = vertex_places(mesh.vertices.len(), &mesh.tetrahedra);
    let inside: Vec<f64> = places.iter().map(|p| f64::from(u8::from(*p == VertexPlace::Interior))).collect();
    split_zero_gradient_tetrahedra(mesh, &inside).mesh
}

/// A valid volume mesh as a body in contact.
fn from_volume(
    mut mesh: VolumeMesh,
    extent: Option<&ExtentTable>,
    split_zero_gradient: bool,
    rigid: bool,
    table: &FieldPath,
) -> Result<Meshes, Problem> {
    if rigid {
        return Ok(Meshes::Rigid(mesh.boundary()));
    }
    let field = table.key("extent");
    if split_zero_gradient {
        if matches!(extent, Some(ExtentTable::Given(_))) {
            return Err(Problem::new(
                table.key("split_zero_gradient"),
                "found beside a list of extents; the vertices that splitting adds have none, so leave it out or \
                 use \"distance\" or \"laplace\"",
            ));
        }
        mesh = split(&mesh);
    }
    let problem = |error: FieldError| match error {
        FieldError::NoInteriorVertex { .. } => Problem::new(
            table.clone(),
            format_args!("{error} (split_zero_gradient = true splits tetrahedra without inner vertices)"),
        ),
        _ => Problem::new(field.clone(), error),
    };
    let extent = match extent.unwrap_or(&ExtentTable::default()) {
        ExtentTable::Distance => distance_extent(&mesh).map_err(problem)?,
        ExtentTable::Laplace => deep_core(&mesh, DEFAULT_CORE_THRESHOLD)
            .and_then(|core| laplace_extent(&mesh, &core))
            .map_err(problem)?,
        ExtentTable::Given(values) => {
            for (i, &value) in values.iter().enumerate() {
                number(value, Range::AtLeastZero, &field.index(i))?;
            }
            if values.len() != mesh.vertices.len() {
                return Err(Problem::new(
                    field,
                    format_args!(
                        "found {} numbers; the mesh has {} vertices and each needs one",
                        values.len(),
                        mesh.vertices.len()
                    ),
                ));
            }
            values.clone()
        }
    };
    Ok(Meshes::Compliant(mesh, extent))
}
