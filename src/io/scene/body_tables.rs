//! From the tables of a scene file to poses, materials and mass properties.

use nalgebra::{Matrix3, Vector3};

use crate::contact::{ContactSettings, Material};
use crate::io::document::field_path::FieldPath;
use crate::io::file_error::Problem;
use crate::io::scene::joint_schema::{JointTable, RobotTable};
use crate::io::scene::schema::{BodyTable, ContactTable, MaterialTable};
use crate::io::scene::shape_schema::GeometryTable;
use crate::io::strict::Exactly;
use crate::multibody::{Body, BodyGeometry, MassSource, unit_parts};
use crate::spatial::{
    MassProperties, MassPropertiesError, Quaternion, RigidTransform, SpatialVelocity, rotation_from_rpy,
};

/// How far a quaternion's length, or a rotation matrix's product with its transpose, may be from
/// 1: enough for numbers that were rounded to a few digits.
const ROTATION_TOLERANCE: f64 = 1e-3;

/// Largest of the angles roll, pitch and yaw, rad, and of the positions and velocities of joints: larger ones lose the digits
/// that tell a direction or a place.
const LARGEST_COORDINATE: f64 = 1e6;

/// What a translation or velocity is where none is given.
const ORIGIN: Exactly<f64, 3> = Exactly([0.0; 3]);

/// Which numbers are allowed.
#[derive(Clone, Copy)]
pub(in crate::io) enum Range {
    Finite,
    AtLeastZero,
    Positive,
}

/// Checks a number.
pub(in crate::io) fn number(value: f64, range: Range, field: &FieldPath) -> Result<f64, Problem> {
    let (good, allowed) = match range {
        Range::Finite => (true, "must be finite"),
        Range::AtLeastZero => (value >= 0.0, "must be at least 0 and finite"),
        Range::Positive => (value > 0.0, "must be positive and finite"),
    };
    if good && value.is_finite() {
        Ok(value)
    } else {
        Err(Problem::new(field.clone(), format_args!("found {value}; it {allowed}")))
    }
}

/// Checks an angle, or a position or velocity of a joint.
pub(in crate::io) fn coordinate(value: f64, what: &str, field: &FieldPath) -> Result<f64, Problem> {
    if number(value, Range::Finite, field)?.abs() <= LARGEST_COORDINATE {
        return Ok(value);
    }
    let allowed = format!("{what} must be between -{LARGEST_COORDINATE:e} and {LARGEST_COORDINATE:e}");
    Err(Problem::new(field.clone(), format_args!("found {value:e}; {allowed}")))
}

/// Checks three numbers.
pub(in crate::io) fn vector(
    value: Exactly<f64, 3>,
    range: Range,
    field: &FieldPath,
) -> Result<Vector3<f64>, Problem> {
    for (i, &x) in value.0.iter().enumerate() {
        number(x, range, &field.index(i))?;
    }
    Ok(Vector3::from(value.0))
}

/// Checks nine numbers, given row by row.
fn matrix(value: Exactly<Exactly<f64, 3>, 3>, field: &FieldPath) -> Result<Matrix3<f64>, Problem> {
    for (i, row) in value.0.iter().enumerate() {
        vector(*row, Range::Finite, &field.index(i))?;
    }
    Ok(Matrix3::from_fn(|i, j| value.0[i].0[j]))
}

/// The fields of a pose, which bodies, geometries, joints and robots share.
pub(in crate::io) struct PoseFields {
    translation: Option<Exactly<f64, 3>>,
    quaternion_wxyz: Option<Exactly<f64, 4>>,
    rpy: Option<Exactly<f64, 3>>,
    rotation_matrix: Option<Exactly<Exactly<f64, 3>, 3>>,
}

/// The tables that have the fields of a pose.
macro_rules! pose_fields_from {
    ($($table:ty),*) => {$(
        impl From<&$table> for PoseFields {
            fn from(t: &$table) -> Self {
                Self {
                    translation: t.translation,
                    quaternion_wxyz: t.quaternion_wxyz,
                    rpy: t.rpy,
                    rotation_matrix: t.rotation_matrix,
                }
            }
        }
    )*};
}

pose_fields_from!(BodyTable, GeometryTable, JointTable, RobotTable);

impl PoseFields {
    /// Those of an orientation alone.
    pub fn of_orientation(
        quaternion_wxyz: Option<Exactly<f64, 4>>,
        rpy: Option<Exactly<f64, 3>>,
        rotation_matrix: Option<Exactly<Exactly<f64, 3>, 3>>,
    ) -> Self {
        Self { translation: None, quaternion_wxyz, rpy, rotation_matrix }
    }

    /// The orientation and the position; the identity where nothing is given.
    pub fn read(&self, table: &FieldPath) -> Result<(Quaternion, Vector3<f64>), Problem> {
        let position = vector(self.translation.unwrap_or(ORIGIN), Range::Finite, &table.key("translation"))?;
        let orientation = match (self.quaternion_wxyz, self.rpy, self.rotation_matrix) {
            (None, None, None) => Quaternion::identity(),
            (Some(q), None, None) => quaternion(q, &table.key("quaternion_wxyz"))?,
            (None, Some(angles), None) => {
                let field = table.key("rpy");
                let v = vector(angles, Range::Finite, &field)?;
                for (i, &angle) in v.iter().enumerate() {
                    coordinate(angle, "an angle in rad", &field.index(i))?;
                }
                Quaternion::from_matrix(&rotation_from_rpy(v.x, v.y, v.z))
            }
            (None, None, Some(rows)) => rotation(rows, &table.key("rotation_matrix"))?,
            _ => {
                return Err(Problem::new(
                    table.clone(),
                    "found more than one of quaternion_wxyz, rpy and rotation_matrix; give at most one",
                ));
            }
        };
        Ok((orientation, position))
    }

    pub fn pose(&self, table: &FieldPath) -> Result<RigidTransform, Problem> {
        let (orientation, position) = self.read(table)?;
        Ok(RigidTransform::new(orientation.to_matrix(), position))
    }
}

/// A quaternion of nearly unit length, made exactly so.
pub(in crate::io) fn quaternion(wxyz: Exactly<f64, 4>, field: &FieldPath) -> Result<Quaternion, Problem> {
    for (i, &x) in wxyz.0.iter().enumerate() {
        number(x, Range::Finite, &field.index(i))?;
    }
    let [w, x, y, z] = wxyz.0;
    let length = wxyz.0.iter().map(|x| x * x).sum::<f64>().sqrt();
    if (length - 1.0).abs() > ROTATION_TOLERANCE {
        return Err(Problem::new(
            field.clone(),
            format_args!(
                "found length {length}; a quaternion must have length 1 within {ROTATION_TOLERANCE}"
            ),
        ));
    }
    Ok(Quaternion::from_wxyz(w, x, y, z))
}

/// A nearly orthonormal matrix, made exactly so.
fn rotation(rows: Exactly<Exactly<f64, 3>, 3>, field: &FieldPath) -> Result<Quaternion, Problem> {
    let r = matrix(rows, field)?;
    let deviation = (r.transpose() * r - Matrix3::identity()).amax();
    let determinant = r.determinant();
    // Written so that an overflow to NaN is refused too.
    let orthonormal = deviation <= ROTATION_TOLERANCE && determinant > 0.0;
    if !orthonormal {
        return Err(Problem::new(
            field.clone(),
            format_args!(
                "found a matrix with RᵀR up to {deviation} from the identity and determinant {determinant}; \
                 it must be a rotation: orthonormal within {ROTATION_TOLERANCE}, determinant 1"
            ),
        ));
    }
    Ok(Quaternion::from_matrix(&r).normalized())
}

pub(in crate::io) fn velocity(t: &BodyTable, table: &FieldPath) -> Result<SpatialVelocity, Problem> {
    let angular =
        vector(t.angular_velocity.unwrap_or(ORIGIN), Range::Finite, &table.key("angular_velocity"))?;
    let linear = vector(t.linear_velocity.unwrap_or(ORIGIN), Range::Finite, &table.key("linear_velocity"))?;
    Ok(SpatialVelocity::new(angular, linear))
}

/// A material. Its modulus is 0 where none is given: rigid bodies do not use it, and compliant
/// ones are refused without.
pub(in crate::io) fn material(t: &MaterialTable, table: &FieldPath) -> Result<Material, Problem> {
    let hydroelastic_modulus = match t.hydroelastic_modulus {
        Some(modulus) => number(modulus, Range::Positive, &table.key("hydroelastic_modulus"))?,
        None => 0.0,
    };
    let dissipation = number(t.dissipation, Range::AtLeastZero, &table.key("dissipation"))?;
    let relaxation_time = number(t.relaxation_time, Range::AtLeastZero, &table.key("relaxation_time"))?;
    let coefficient = |value: Option<f64>, name: &str| {
        value.map(|v| number(v, Range::AtLeastZero, &table.key(name))).transpose()
    };
    let both = coefficient(t.friction, "friction")?;
    let static_friction = coefficient(t.static_friction, "static_friction")?;
    let dynamic_friction = coefficient(t.dynamic_friction, "dynamic_friction")?;
    let (static_friction, dynamic_friction) = match (both, static_friction, dynamic_friction) {
        (None, None, None) => (0.0, 0.0),
        (Some(mu), None, None) | (None, Some(mu), None) | (None, None, Some(mu)) => (mu, mu),
        (None, Some(s), Some(d)) => (s, d),
        (Some(_), _, _) => {
            return Err(Problem::new(
                table.key("friction"),
                "found beside static_friction or dynamic_friction; give either friction or those",
            ));
        }
    };
    if dynamic_friction > static_friction {
        return Err(Problem::new(
            table.key("dynamic_friction"),
            format_args!(
                "found {dynamic_friction}, above static_friction = {static_friction}; it must not exceed it"
            ),
        ));
    }
    let ellipsoid = match t.friction_ellipsoid {
        Some(semi_axes) => vector(semi_axes, Range::AtLeastZero, &table.key("friction_ellipsoid"))?.into(),
        None => [1.0, 1.0, 0.0],
    };
    Ok(Material::new(hydroelastic_modulus, dissipation, dynamic_friction)
        .with_static_friction(static_friction)
        .with_friction_ellipsoid(ellipsoid)
        .with_relaxation_time(relaxation_time))
}

/// The settings of contact queries.
pub(in crate::io) fn contact_settings(
    t: &ContactTable,
    table: &FieldPath,
) -> Result<ContactSettings, Problem> {
    let default = ContactSettings::default();
    let settings = ContactSettings {
        surface: t.surface.unwrap_or(default.surface),
        face_filter: t.face_filter.unwrap_or(default.face_filter),
        dissipation_model: t.dissipation_model.unwrap_or(default.dissipation_model),
        positive_part_width: t.positive_part_width.unwrap_or(default.positive_part_width),
        friction_regularization: t.friction_regularization.unwrap_or(default.friction_regularization),
        stiction_velocity: t.stiction_velocity.unwrap_or(default.stiction_velocity),
        bristle_length: t.bristle_length,
        quadrature_order: t.quadrature_order,
        sap_stiction: false,
        rigid_stiffness: default.rigid_stiffness,
        // Laws of the user's own are code, not files.
        law: None,
    };
    number(settings.positive_part_width, Range::AtLeastZero, &table.key("positive_part_width"))?;
    number(settings.stiction_velocity, Range::Positive, &table.key("stiction_velocity"))?;
    if let Some(length) = settings.bristle_length {
        number(length, Range::Positive, &table.key("bristle_length"))?;
    }
    if let Some(order) = settings.quadrature_order.filter(|order| !(1..=5).contains(order)) {
        let found = format_args!("found {order}; it must be 1, 2, 3, 4 or 5");
        return Err(Problem::new(table.key("quadrature_order"), found));
    }
    Ok(settings)
}

/// A free body with its mass.
pub(in crate::io) fn free_body(
    t: &BodyTable,
    geometries: Vec<BodyGeometry>,
    table: &FieldPath,
) -> Result<Body, Problem> {
    let source = mass_source(t, &geometries, table)?;
    Body::free(t.name.clone(), source, geometries)
        .map_err(|error| Problem::new(table.clone(), format_args!("body `{}`: {error}", t.name)))
}

/// Checks the fields that give a body's mass, whether it needs one or not.
pub(in crate::io) fn check_mass_fields(t: &BodyTable, table: &FieldPath) -> Result<(), Problem> {
    if let Some(mass) = t.mass {
        number(mass, Range::Positive, &table.key("mass"))?;
    }
    if let Some(density) = t.density {
        number(density, Range::Positive, &table.key("density"))?;
    }
    if t.mass.is_some() && t.density.is_some() {
        return Err(Problem::new(table.clone(), "found both mass and density; give one of them"));
    }
    let inertia = t.inertia.map(|rows| matrix(rows, &table.key("inertia"))).transpose()?;
    if let Some(inertia) = inertia {
        let properties = MassProperties { mass: 1.0, center_of_mass: Vector3::zeros(), inertia };
        properties.validate().map_err(|error| Problem::new(table.key("inertia"), error))?;
    }
    if let Some(center) = t.center_of_mass {
        vector(center, Range::Finite, &table.key("center_of_mass"))?;
        if inertia.is_none() {
            return Err(Problem::new(
                table.key("center_of_mass"),
                "found without inertia; give the inertia about it too, or leave both to the geometries",
            ));
        }
    }
    Ok(())
}

/// The mass properties of a body that a joint carries; `None` without mass.
pub(in crate::io) fn link_mass(
    t: &BodyTable,
    geometries: &[BodyGeometry],
    table: &FieldPath,
) -> Result<Option<MassProperties>, Problem> {
    if t.mass.is_none() && t.density.is_none() {
        return match t.inertia {
            None => Ok(None),
            Some(_) => {
                Err(Problem::new(table.key("inertia"), "found without mass or density; give one of them too"))
            }
        };
    }
    let of_body =
        |error: MassPropertiesError| Problem::new(table.clone(), format_args!("body `{}`: {error}", t.name));
    let mass = mass_source(t, geometries, table)?.resolve(unit_parts(geometries)).map_err(of_body)?;
    mass.validate().map_err(of_body)?;
    Ok(Some(mass))
}

/// What the mass properties of a body that moves are made from.
fn mass_source(t: &BodyTable, geometries: &[BodyGeometry], table: &FieldPath) -> Result<MassSource, Problem> {
    let source = match (t.mass, t.density) {
        (Some(mass), _) => MassSource::Spread(mass),
        (None, Some(density)) => MassSource::Density(density),
        (None, None) => {
            return Err(Problem::new(
                table.clone(),
                format_args!(
                    "body `{}` moves but has no mass; give mass or density, or fixed = true",
                    t.name
                ),
            ));
        }
    };
    let Some(inertia) = t.inertia else { return Ok(source) };
    let filled = source.resolve(unit_parts(geometries));
    let mass = match (t.mass, &filled) {
        (Some(mass), _) => mass,
        (None, Ok(filled)) => filled.mass,
        (None, Err(error)) => return Err(Problem::new(table.key("density"), error)),
    };
    let center_of_mass = match (t.center_of_mass, filled) {
        (Some(center), _) => Vector3::from(center.0),
        (None, Ok(filled)) => filled.center_of_mass,
        (None, Err(_)) => Vector3::zeros(),
    };
    Ok(MassSource::Given(MassProperties { mass, center_of_mass, inertia: matrix(inertia, table)? }))
}
