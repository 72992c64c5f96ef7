//! From the pressure laws of a scene file to pressure fields.

use crate::field::{FieldError, LARGEST_LAYER_COUNT, PressureField, PressureLaw};
use crate::geometry::VolumeMesh;
use crate::io::document::field_path::FieldPath;
use crate::io::file_error::Problem;
use crate::io::scene::body_tables::{Range, number};
use crate::io::scene::shape_schema::{GeometryTable, PressureLawTable, ShapeTable};

/// A pressure law and the number of layers that it asks for.
#[derive(Clone, Debug, Default)]
pub(in crate::io) struct LayeredLaw {
    law: PressureLaw,
    /// As many as the law needs, if there is no number.
    layers: Option<usize>,
}

impl LayeredLaw {
    /// The law of a geometry; the linear one if it has none.
    pub fn of(t: &GeometryTable, table: &FieldPath) -> Result<Self, Problem> {
        let Some(law) = &t.pressure_law else { return Ok(Self::default()) };
        let field = table.key("pressure_law");
        if t.rigid {
            return Err(Problem::new(field, "found beside rigid = true; a rigid geometry has no pressure"));
        }
        let made = Self::from_table(law, &field)?;
        if matches!(t.shape, ShapeTable::HalfSpace(_)) && made.law != PressureLaw::Linear {
            return Err(Problem::new(
                field,
                "found for a half-space, in which the pressure grows with depth without end and has no layers; it must be \
                 \"linear\" (a box can have other laws)",
            ));
        }
        Ok(made)
    }

    fn from_table(t: &PressureLawTable, field: &FieldPath) -> Result<Self, Problem> {
        match t {
            PressureLawTable::Linear => Ok(Self::default()),
            PressureLawTable::Power(t) => {
                let field = field.key("power");
                let exponent = number(t.exponent, Range::Positive, &field.key("exponent"))?;
                let layers = layer_count(t.layers, &field)?;
                Ok(Self { law: PressureLaw::Power { exponent }, layers })
            }
            PressureLawTable::Table(t) => {
                let field = field.key("table");
                let points = field.key("points");
                let law =
                    PressureLaw::table(t.points.iter().map(|point| point.0).collect()).map_err(|error| {
                        let place = match error {
                            FieldError::LawPoint { point, .. } => points.index(point),
                            FieldError::LawFirstPoint { .. } => points.index(0),
                            FieldError::LawLastPoint { .. } => points.index(t.points.len() - 1),
                            _ => points,
                        };
                        Problem::new(place, error)
                    })?;
                Ok(Self { law, layers: layer_count(t.layers, &field)? })
            }
        }
    }

    /// The pressure field on a mesh with an extent for each vertex.
    pub fn field(&self, mesh: VolumeMesh, extent: Vec<f64>) -> Result<PressureField, FieldError> {
        let largest = || extent.iter().copied().fold(0.0, f64::max);
        let layers = self.layers.unwrap_or_else(|| self.law.default_layers(largest()));
        self.law.field(mesh, extent, layers)
    }

    /// What tells it from others: the bits of its numbers.
    pub fn key(&self) -> Vec<u64> {
        let numbers: Vec<f64> = match &self.law {
            PressureLaw::Power { exponent } => vec![*exponent],
            PressureLaw::Table(table) => table.points().concat(),
            _ => Vec::new(),
        };
        let layers = self.layers.map_or(0, |layers| layers as u64);
        std::iter::once(layers).chain(numbers.into_iter().map(f64::to_bits)).collect()
    }
}

/// Checks a number of layers.
fn layer_count(layers: Option<usize>, law: &FieldPath) -> Result<Option<usize>, Problem> {
    match layers {
        Some(count) if !(1..=LARGEST_LAYER_COUNT).contains(&count) => Err(Problem::new(
            law.key("layers"),
            format_args!("found {count}; it must be between 1 and {LARGEST_LAYER_COUNT}"),
        )),
        _ => Ok(layers),
    }
}
