//! The mass of a body: as its `inertial` says, or that of its geoms.

use std::f64::consts::PI;

use nalgebra::{Matrix3, Vector3};

use super::compiler::Compiler;
use super::file::File;
use super::geoms::Geom;
use super::layers::Layers;
use super::meshes;
use super::pose::pose;
use super::wrong;
use crate::io::file_error::FileError;
use crate::io::robot::link_mass;
use crate::spatial::{MassProperties, RigidTransform};
use crate::xml::Element;

/// Density of a geom that says none, kg/m³: that of water.
const DENSITY: f64 = 1000.0;

/// The mass of a body with an `inertial`, in a frame of the body, and geoms; `None` without.
///
/// # Errors
/// When its numbers are not good, or the file of a mesh cannot be read.
pub(super) fn mass<'a>(
    file: &File<'a>,
    inertial: Option<(&'a Element, RigidTransform)>,
    geoms: &[Geom<'a>],
) -> Result<Option<MassProperties>, FileError> {
    let compiler = &file.compiler;
    let own = match inertial {
        Some((element, x_frame)) if compiler.inertia_from_geoms != Some(true) => {
            written(element, &x_frame, compiler)?
        }
        _ if compiler.inertia_from_geoms == Some(false) => None,
        _ => {
            let [first, last] = compiler.groups_with_mass;
            let heavy = geoms.iter().filter(|geom| (first..=last).contains(&geom.group));
            let parts = heavy.map(|geom| of_geom(file, geom)).collect::<Result<Vec<_>, FileError>>()?;
            MassProperties::composite(parts)
        }
    };
    // The bounds are those of bodies without mass too.
    let is_bounded = compiler.least_mass > 0.0 || compiler.least_inertia > 0.0;
    let own = own.or_else(|| is_bounded.then(MassProperties::zero));
    Ok(own.map(|own| bounded(own, compiler)))
}

/// The mass that an `inertial` says.
fn written(
    element: &Element,
    x_frame: &RigidTransform,
    compiler: &Compiler,
) -> Result<Option<MassProperties>, FileError> {
    let own = Layers(vec![element]);
    if own.find("pos").is_none() {
        return Err(wrong(element, "it has no attribute `pos`; it needs one"));
    }
    let mass =
        own.numbers("mass")?.ok_or_else(|| wrong(element, "it has no attribute `mass`; it needs one"))?;
    let inertia = match (own.numbers("fullinertia")?, own.numbers("diaginertia")?) {
        (Some([xx, yy, zz, xy, xz, yz]), None) => [xx, xy, xz, yy, yz, zz],
        (None, Some([xx, yy, zz])) => [xx, 0.0, 0.0, yy, 0.0, zz],
        (None, None) => [0.0; 6],
        (Some(_), Some(_)) => {
            return Err(wrong(element, "found diaginertia and fullinertia; one of them is allowed"));
        }
    };
    let [mass] = mass;
    Ok(link_mass(mass, inertia, &(*x_frame * pose(&own, compiler)?)))
}

/// The mass properties of a geom in the body's frame.
fn of_geom(file: &File, geom: &Geom) -> Result<MassProperties, FileError> {
    let layers = &geom.layers;
    let mass = layers.numbers::<1>("mass")?.map(|[mass]| mass);
    let density = layers.number_or("density", DENSITY)?;
    if mass.unwrap_or(density) == 0.0 || geom.kind == "plane" {
        return Ok(MassProperties::zero());
    }
    if layers.truth("shellinertia")? == Some(true) {
        return Err(wrong(geom.element(), "found shellinertia = \"true\"; masses of surfaces are not read"));
    }
    let [a, b, c] = geom.size;
    let of_box = |x: f64, y: f64, z: f64| [y * y + z * z, x * x + z * z, x * x + y * y];
    // The volume, and the moments of inertia in parts of the mass.
    let (volume, moments) = match geom.shape(file).map(|_| geom.kind)? {
        "sphere" => (4.0 / 3.0 * PI * a.powi(3), [0.4 * a * a; 3]),
        "ellipsoid" => (4.0 / 3.0 * PI * a * b * c, of_box(a, b, c).map(|x| x / 5.0)),
        "box" => (8.0 * a * b * c, of_box(a, b, c).map(|x| x / 3.0)),
        "cylinder" => {
            let across = a * a / 4.0 + b * b / 3.0;
            (2.0 * PI * a * a * b, [across, across, a * a / 2.0])
        }
        "capsule" => {
            // Of a ball of volume 4/3 in two halves, and a cylinder of volume 2b between them, in π a².
            let (ball, tube) = (4.0 / 3.0 * a, 2.0 * b);
            let [ball, tube] = [ball, tube].map(|part| part / (ball + tube));
            let across = ball * (0.4 * a * a + b * b + 0.75 * a * b) + tube * (a * a / 4.0 + b * b / 3.0);
            let along = ball * 0.4 * a * a + tube * a * a / 2.0;
            (PI * a * a * (4.0 / 3.0 * a + 2.0 * b), [across, across, along])
        }
        _ => {
            let own = meshes::mass_properties(file, &geom.layers)?;
            return Ok(own.denser(mass.map_or(density, |mass| mass / own.mass)).seen_from(&geom.x_bg));
        }
    };
    let mass = mass.unwrap_or(density * volume);
    let inertia = Matrix3::from_diagonal(&(Vector3::from(moments) * mass));
    Ok(MassProperties { mass, center_of_mass: Vector3::zeros(), inertia }.seen_from(&geom.x_bg))
}

/// The mass with the bounds of the file, and with moments of inertia that can be if the file asks for them.
fn bounded(mut own: MassProperties, compiler: &Compiler) -> MassProperties {
    own.mass = own.mass.max(compiler.least_mass);
    if !(compiler.balance_inertia || compiler.least_inertia > 0.0)
        || !own.inertia.iter().all(|x| x.is_finite())
    {
        return own;
    }
    let principal = own.inertia.symmetric_eigen();
    let mut moments = principal.eigenvalues.map(|moment| moment.max(compiler.least_inertia));
    if compiler.balance_inertia && 2.0 * moments.max() > moments.sum() {
        moments.fill(moments.mean());
    }
    own.inertia =
        principal.eigenvectors * Matrix3::from_diagonal(&moments) * principal.eigenvectors.transpose();
    own
}
