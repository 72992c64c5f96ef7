//! What is done with all bodies of a scene together: their start is checked, their skirts put on.

use std::collections::HashMap;
use std::sync::Arc;

use crate::contact::ContactGeometry;
use crate::io::document::field_path::FieldPath;
use crate::io::file_error::Problem;
use crate::io::scene::body_tables::{Range, number};
use crate::multibody::{Body, BodyState, Motion, State};
use crate::spatial::RigidTransform;

/// Checks that the places where bodies are at the start are finite, and so are their velocities: numbers
/// of a file that are may overflow where they are combined.
pub(in crate::io) fn check_start(
    bodies: &[Body],
    state: &State,
    pose_of_link: impl Fn(usize) -> RigidTransform,
) -> Result<(), Problem> {
    let problem = |name: &str| {
        let message =
            "its pose or velocity at the start is not finite; angles, lengths or velocities are too large";
        Problem::new(FieldPath::root().key("bodies"), format_args!("body `{name}`: {message}"))
    };
    let is_finite =
        |pose: &RigidTransform| pose.rotation.iter().chain(&pose.translation).all(|x| x.is_finite());
    let mut free = state.bodies.iter();
    for body in bodies {
        let finite = match &body.motion {
            Motion::Fixed { x_wb, v_wb } => {
                let velocity = [v_wb.translational, v_wb.rotational];
                is_finite(x_wb) && velocity.iter().flatten().all(|x| x.is_finite())
            }
            Motion::Free { .. } => free.next().is_none_or(BodyState::is_finite),
            Motion::Link { link } => is_finite(&pose_of_link(*link)),
        };
        if !finite {
            return Err(problem(&body.name));
        }
    }
    Ok(())
}

/// Puts a skirt of this thickness in metres around every compliant geometry. Masses stay as they
/// are.
pub(in crate::io) fn put_on_skirts(
    bodies: &mut [Body],
    thickness: f64,
    field: &FieldPath,
) -> Result<f64, Problem> {
    number(thickness, Range::AtLeastZero, field)?;
    // Geometries that were shared stay so. Those without their skirts are kept until all have them, so
    // that no other takes the place of one.
    let mut made: HashMap<*const ContactGeometry, [Arc<ContactGeometry>; 2]> = HashMap::new();
    for body in bodies {
        for (i, geometry) in body.geometries.iter_mut().enumerate() {
            let bare = Arc::clone(&geometry.collider.geometry);
            if let Some([_, with_skirt]) = made.get(&Arc::as_ptr(&bare)).filter(|_| !bare.is_half_space()) {
                geometry.collider.geometry = Arc::clone(with_skirt);
                continue;
            }
            geometry.collider = geometry.collider.with_skirt(thickness).map_err(|error| {
                let place = format_args!("found {thickness}; geometry {i} of body `{}`: {error}", body.name);
                Problem::new(field.clone(), place)
            })?;
            made.insert(Arc::as_ptr(&bare), [bare, Arc::clone(&geometry.collider.geometry)]);
        }
    }
    Ok(thickness)
}
