//! `isobar mesh`: tetrahedra from a closed surface.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::Error;
use super::messages::{print_warnings, text_output};
use super::outputs::{check_outputs, print_json};
use isobar::geometry::{Filled, MeshError, SurfaceMesh};
use isobar::io::OutputFile;

/// Arguments of `isobar mesh`.
#[derive(Debug, Args)]
pub(super) struct MeshArguments {
    /// The surface: .obj, .ply or .stl
    file: PathBuf,
    /// File to write the tetrahedra to, legacy VTK (.vtk), coordinates in m
    #[arg(long, value_name = "FILE.vtk")]
    out: Option<PathBuf>,
    /// Length of the cubes of the lattice that the tetrahedra are cut from, m; without it by the thickness of the body
    #[arg(long, value_name = "LENGTH")]
    size: Option<f64>,
    /// Factor that converts coordinates to m: 0.001 for a file in mm
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    scale: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What is said of the tetrahedra.
#[derive(Serialize)]
struct Report {
    tetrahedra: usize,
    vertices: usize,
    /// Of the lattice, m.
    size: f64,
    /// Of the surface, m³.
    volume: f64,
    /// By which part of it that of the tetrahedra is larger.
    volume_error: f64,
    /// Of their boundary and the surface (Hausdorff), m.
    distance: f64,
    /// A twentieth of the surface has walls thinner than this, m.
    wall: f64,
    /// The smallest and the largest, rad.
    dihedral_angles: [f64; 2],
    /// Holes that were closed.
    holes: usize,
    warnings: Vec<String>,
}

/// Fills the surface, writes the tetrahedra and prints how well they stand for it.
pub(super) fn run(arguments: &MeshArguments) -> Result<(), Error> {
    let MeshArguments { file, out, size, scale, json } = arguments;
    let name = file.display();
    if !(scale.is_finite() && *scale > 0.0) {
        return Err(Error::Argument {
            name: "scale",
            found: scale.to_string(),
            allowed: "a number greater than 0",
        });
    }
    if let Some(out) = out {
        if !out.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("vtk")) {
            let allowed = "a file that ends in .vtk";
            return Err(Error::Argument { name: "out", found: out.display().to_string(), allowed });
        }
        check_outputs(std::slice::from_ref(out), std::slice::from_ref(file))?;
    }
    let (surface, mut notes) =
        SurfaceMesh::read_unclosed(file).map_err(|error| Error::Usage(error.to_string()))?;
    let mesh_error = |error: MeshError| Error::Usage(format!("{name}: {error}"));
    let filled = surface.scaled(*scale).fill(*size).map_err(mesh_error)?;
    notes.extend(filled.notes());
    let warnings: Vec<String> = notes.into_iter().map(|note| format!("warning: {name}: {note}")).collect();
    print_warnings(&warnings);
    if let Some(path) = out {
        let write = || {
            let mut file = OutputFile::create(path)?;
            filled.mesh.write(&mut file, &[])?;
            file.finish()
        };
        write().map_err(|source| Error::Write { path: path.display().to_string(), source })?;
    }
    let Filled { mesh, size, volume, volume_error, distance, wall, dihedral_angles, holes, .. } = filled;
    let (tetrahedra, vertices) = (mesh.tetrahedra.len(), mesh.vertices.len());
    if *json {
        return print_json(&Report {
            tetrahedra,
            vertices,
            size,
            volume,
            volume_error,
            distance,
            wall,
            dihedral_angles,
            holes,
            warnings,
        });
    }
    let mut text = text_output();
    writeln!(text, "{name}: {tetrahedra} tetrahedra, {vertices} vertices, lattice of {size:.4e} m")?;
    writeln!(
        text,
        "volume        {volume:.6e} m³, that of the tetrahedra {:+.2} % off",
        100.0 * volume_error
    )?;
    writeln!(
        text,
        "boundary      at most {distance:.2e} m from the surface, {:.2} sizes of the lattice",
        distance / size
    )?;
    writeln!(
        text,
        "walls         {wall:.2e} m or thicker behind 95 % of the surface, {:.1} sizes",
        wall / size
    )?;
    let [least, most] = dihedral_angles.map(f64::to_degrees);
    writeln!(text, "dihedral      {least:.1}° to {most:.1}°")?;
    if let Some(path) = out {
        writeln!(text, "written: {}", path.display())?;
    }
    Ok(())
}
