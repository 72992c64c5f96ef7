//! What is allowed in a scene but hardly meant: angles in degrees, lengths in millimetres, what the solver does not
//! use.

use crate::io::document::field_path::FieldPath;
use crate::io::file_error::Problem;
use crate::io::scene::schema::{BodyTable, SceneTable, SolverKind};
use crate::io::scene::shape_schema::ShapeTable;
use crate::io::strict::Exactly;
use crate::multibody::{Body, Motion};

/// Angles beyond this, a little more than a whole turn, are more likely degrees than radians.
const LARGEST_ANGLE: f64 = 6.3;
/// Bodies shorter than the one or longer than the other, in m, are unusual ...
const USUAL_SIZES: std::ops::RangeInclusive<f64> = 1e-3..=100.0;
/// ... and a mistake of units if others differ from them by this factor.
const LARGEST_RATIO: f64 = 100.0;
/// Bodies that move are not so many times as long as others.
const UNHEARD_OF: f64 = 300.0;
/// Bodies that are lighter, in kg/m³, weigh less than a tenth of the air.
const LIGHTEST: f64 = 0.1;
/// Meshes from files that are longer, in m, and have no scale are more likely in millimetres.
const LONGEST_MESH: f64 = 10.0;

/// What to say of angles that may be in degrees, as the fields of a pose `table` have them.
pub(in crate::io) fn angle_warnings(rpy: Option<Exactly<f64, 3>>, table: &FieldPath) -> Vec<Problem> {
    let angles =
        rpy.iter().flat_map(|rpy| rpy.0).enumerate().filter(|(_, angle)| angle.abs() > LARGEST_ANGLE);
    let doubtful = |(i, angle)| {
        let message =
            format!("found {angle}, more than a whole turn; angles are in radians: did you mean degrees?");
        Problem::new(table.key("rpy").index(i), message)
    };
    angles.map(doubtful).collect()
}

/// What to say of the angles of a scene's bodies, geometries, joints and robots.
pub(in crate::io) fn scene_angle_warnings(scene: &SceneTable) -> Vec<Problem> {
    let root = FieldPath::root();
    let mut warnings = Vec::new();
    for (i, t) in scene.bodies.iter().enumerate() {
        let table = root.key("bodies").index(i);
        warnings.extend(angle_warnings(t.rpy, &table));
        warnings.extend(t.joint.iter().flat_map(|joint| angle_warnings(joint.rpy, &table.key("joint"))));
        for (j, geometry) in t.geometries.iter().enumerate() {
            warnings.extend(angle_warnings(geometry.rpy, &table.key("geometries").index(j)));
        }
    }
    for (i, t) in scene.robots.iter().enumerate() {
        warnings.extend(angle_warnings(t.rpy, &root.key("robots").index(i)));
    }
    warnings
}

/// Whether a body has a mesh from a file, and whether that has no scale.
fn mesh_file(t: &BodyTable) -> (bool, bool) {
    let scales = t.geometries.iter().filter_map(|geometry| match &geometry.shape {
        ShapeTable::Mesh(mesh) => Some(mesh.scale),
        ShapeTable::Convex(hull) if hull.file.is_some() => Some(hull.scale),
        _ => None,
    });
    scales.fold((false, false), |(_, unscaled), scale| (true, unscaled || scale.is_none()))
}

/// What to say of bodies whose size is that of a mistake of units: unusual beside others that are
/// very different, the size of a mesh from a file, or hundreds of times that of others.
pub(in crate::io) fn size_warnings(scene: &SceneTable, bodies: &[Body]) -> Vec<Problem> {
    let sizes: Vec<(usize, f64)> =
        bodies.iter().enumerate().filter_map(|(i, body)| Some((i, body.size()?.amax()))).collect();
    let extreme = |of: fn(f64, f64) -> bool| {
        sizes.iter().copied().reduce(|best, next| if of(next.1, best.1) { next } else { best })
    };
    let (Some(smallest), Some(largest)) = (extreme(|a, b| a < b), extreme(|a, b| a > b)) else {
        return Vec::new();
    };
    let mut warnings = Vec::new();
    // Robots' links have their sizes from their own files.
    for (&(i, size), t) in sizes.iter().filter_map(|entry| Some((entry, scene.bodies.get(entry.0)?))) {
        let other = [smallest, largest]
            .into_iter()
            .find(|(_, other)| (size / other).max(other / size) >= LARGEST_RATIO);
        let (from_file, unscaled) = mesh_file(t);
        let unusual = !USUAL_SIZES.contains(&size) || (unscaled && size > LONGEST_MESH);
        let most = if unscaled { LARGEST_RATIO } else { UNHEARD_OF };
        // One that is too short is told itself.
        let too_long =
            !t.fixed && size / smallest.1 >= most && (unscaled || USUAL_SIZES.contains(&smallest.1));
        if !((unusual && (other.is_some() || from_file)) || too_long) {
            continue;
        }
        let beside = other.map(|(o, of_other)| format!(", and `{}` {of_other:.3e} m", bodies[o].name));
        let hint = if from_file { "; a mesh in millimetres needs scale = 0.001" } else { "" };
        let message = format!(
            "body `{}` is {size:.3e} m long{}: lengths are in metres{hint}",
            t.name,
            beside.unwrap_or_default()
        );
        warnings.push(Problem::new(FieldPath::root().key("bodies").index(i), message));
    }
    if warnings.is_empty() { light_warnings(scene, bodies) } else { warnings }
}

/// What to say of free bodies that weigh nothing for their size.
fn light_warnings(scene: &SceneTable, bodies: &[Body]) -> Vec<Problem> {
    let light = |(i, body): (usize, &Body)| {
        let Motion::Free { mass, .. } = &body.motion else { return None };
        scene.bodies.get(i)?;
        let volumes =
            body.geometries.iter().map(|geometry| geometry.unit_mass.as_ref().map(|unit| unit.mass));
        let volume = volumes.sum::<Option<f64>>()?;
        let density = mass.mass / volume;
        let message = format!(
            "body `{}` has {density:.3e} kg/m³, less than air: lengths are in metres, masses in kilograms",
            body.name
        );
        let field = FieldPath::root().key("bodies").index(i);
        (volume > 0.0 && density < LIGHTEST).then(|| Problem::new(field, message))
    };
    bodies.iter().enumerate().filter_map(light).collect()
}

/// What a velocity-level solver leaves out of account.
pub(in crate::io) fn solver_warnings(table: &SceneTable) -> Vec<Problem> {
    let root = FieldPath::root();
    let sap = table.solver.kind == SolverKind::Sap;
    let others = [SolverKind::Lagged, SolverKind::Similar, SolverKind::Tamsi];
    let mut warnings = Vec::new();
    for (name, m) in &table.materials {
        let field = root.key("materials").key(name);
        if sap && m.dissipation != 0.0 && m.relaxation_time == 0.0 {
            warnings.push(Problem::new(
                field.key("dissipation"),
                "the solver \"sap\" does not use it; give a relaxation_time instead",
            ));
        }
        if others.contains(&table.solver.kind) && m.relaxation_time != 0.0 && m.dissipation == 0.0 {
            warnings.push(Problem::new(
                field.key("relaxation_time"),
                "only the solver \"sap\" uses it; give a dissipation instead",
            ));
        }
    }
    warnings
}
