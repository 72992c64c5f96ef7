//! The shapes of links as they are written.

use super::pose::{Pose, pose};
use super::text::{at, number, numbers, text};
use nalgebra::Vector3;

use crate::io::robot::values::{child, required_child};
use crate::io::robot::{Geometry, Proximity, proximity};
use crate::spatial::{RigidTransform, rotation_to};
use crate::xml::{Element, Problem};

/// What a link collides with and what is drawn of it.
#[derive(Debug)]
pub(super) struct Shapes {
    pub collisions: Vec<Shape>,
    /// What is drawn, or what is wrong with that.
    pub visuals: Vec<Result<Shape, String>>,
}

/// A shape with its pose.
#[derive(Debug)]
pub(super) struct Shape {
    pub name: Option<String>,
    pub pose: Pose,
    pub geometry: Geometry,
    pub proximity: Proximity,
}

/// The shapes that are read.
const SHAPES: [&str; 9] = [
    "box",
    "sphere",
    "cylinder",
    "capsule",
    "ellipsoid",
    "drake:capsule",
    "drake:ellipsoid",
    "mesh",
    "plane",
];

pub(super) fn shapes(link: &Element) -> Result<Shapes, Problem> {
    Ok(Shapes {
        collisions: link.all("collision").map(shape).collect::<Result<_, _>>()?,
        visuals: link.all("visual").map(|visual| shape(visual).map_err(|(_, message)| message)).collect(),
    })
}

fn shape(element: &Element) -> Result<Shape, Problem> {
    let name = element.attribute("name").map(str::to_owned);
    let written = required_child(element, "geometry").map_err(at(element))?;
    let (geometry, mut pose) = (geometry(written)?, pose(element)?);
    if let (Geometry::HalfSpace, Some(plane)) = (&geometry, child(written, "plane").map_err(at(written))?)
        && let Some(normal) = child(plane, "normal").map_err(at(plane))?
    {
        let turn = rotation_to(&Vector3::from(numbers(normal)?)).ok_or_else(|| {
            at(normal)(format!("`normal` is {:?}; it must be finite and not zero", text(normal)))
        })?;
        pose.x = pose.x * RigidTransform::new(turn, Vector3::zeros());
    }
    Ok(Shape { name, pose, geometry, proximity: proximity(element).map_err(at(element))? })
}

fn geometry(element: &Element) -> Result<Geometry, Problem> {
    let Some(shape) = element.children.iter().find(|child| SHAPES.contains(&child.name.as_str())) else {
        let found = element.children.first().map_or("nothing".to_owned(), |c| format!("`{}`", c.name));
        let message = format!("`geometry` has {found}; it must be one of {}", SHAPES.join(", "));
        return Err((Some(element.line), message));
    };
    let needed = |name| {
        let missing = || format!("`{}` has no element `{name}`; it needs one", shape.name);
        number(shape, name)?.ok_or_else(|| at(shape)(missing()))
    };
    Ok(match shape.name.as_str() {
        "box" => Geometry::Box { size: numbers(required_child(shape, "size").map_err(at(shape))?)? },
        "sphere" => Geometry::Sphere { radius: needed("radius")? },
        "cylinder" => Geometry::Cylinder { radius: needed("radius")?, length: needed("length")? },
        "capsule" | "drake:capsule" => {
            Geometry::Capsule { radius: needed("radius")?, length: needed("length")? }
        }
        "ellipsoid" => {
            Geometry::Ellipsoid { semi_axes: numbers(required_child(shape, "radii").map_err(at(shape))?)? }
        }
        "plane" => Geometry::HalfSpace,
        "drake:ellipsoid" => Geometry::Ellipsoid { semi_axes: [needed("a")?, needed("b")?, needed("c")?] },
        _ => {
            if let Some(part) = shape.all("submesh").next() {
                return Err(at(part)("found `submesh`; a mesh is read as a whole".to_owned()));
            }
            let scale = child(shape, "scale").map_err(at(shape))?.map(numbers).transpose()?;
            let convex = shape.all("drake:declare_convex").next().is_some();
            Geometry::Mesh { uri: text(required_child(shape, "uri").map_err(at(shape))?), scale, convex }
        }
    })
}
