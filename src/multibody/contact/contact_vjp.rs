//! The vector–Jacobian product of the contact between two bodies.

use nalgebra::{Matrix3, Vector3, Vector6};

use super::contact_forces::{StepStart, with_pair};
use super::contact_sensitivity::{by_wrench_on_a, geometry_offset};
use crate::contact::{Elements, Material, ShapeTerms, Workspace, contact_vjp_over};
use crate::multibody::{
    BodyFrame, DifferentiatedModel, GeometryPair, Model, ModelGradient, TANGENT_DIMENSION,
};
use crate::spatial::SpatialForce;

/// The wrench between two geometries, and the derivatives of one number with respect to their bodies'
/// states and materials through it.
#[derive(Clone, Debug)]
pub(in crate::multibody) struct PairCotangent {
    /// The two geometries.
    pub pair: GeometryPair,
    /// The wrench on body A about its origin, in W.
    pub wrench_on_a: SpatialForce,
    /// From the origin of body A to that of body B, in W, m.
    pub to_b: Vector3<f64>,
    by_state: [[f64; TANGENT_DIMENSION]; 2],
    by_material: [Material; 2],
    /// With respect to both geometries, if they were asked for.
    geometries: Option<GeometryCotangent>,
}

/// The derivatives of a number with respect to the shapes and the places of both geometries.
#[derive(Clone, Debug)]
struct GeometryCotangent {
    shapes: ShapeTerms,
    /// With respect to turns of both frames about their origins and to shifts of them, in W.
    places: [[Vector3<f64>; 2]; 2],
    /// From the axes of both bodies to those of W.
    to_world: [Matrix3<f64>; 2],
}

/// Rotational (`i` = 0) and translational (`i` = 3) part.
fn part(v: &Vector6<f64>, i: usize) -> Vector3<f64> {
    v.fixed_rows::<3>(i).into_owned()
}

/// The derivatives with respect to a turn about its origin and a shift of a geometry's frame on its body, from
/// those with respect to pose and velocity of the frame, and from those with respect to its offset from the
/// body's origin. The frame's velocity changes by ω × δp.
fn by_place(
    by_pose: &Vector6<f64>,
    by_velocity: &Vector6<f64>,
    by_offset: &Vector3<f64>,
    angular_velocity: &Vector3<f64>,
) -> [Vector3<f64>; 2] {
    let by_shift = part(by_pose, 3) + part(by_velocity, 3).cross(angular_velocity) + by_offset;
    [part(by_pose, 0), by_shift]
}

/// The derivatives with respect to the state of a body, from those with respect to the pose and the
/// velocity of a frame at offset `p` from its origin (in W), and from those with respect to the frame's
/// place on the body.
fn by_body_state(
    by_pose: &Vector6<f64>,
    by_velocity: &Vector6<f64>,
    [by_turn, by_shift]: &[Vector3<f64>; 2],
    p: &Vector3<f64>,
) -> [f64; TANGENT_DIMENSION] {
    let by_linear = part(by_velocity, 3);
    // The frame's origin moves by δθ × p.
    let by_rotation = by_turn + p.cross(by_shift);
    let by_angular = part(by_velocity, 0) + p.cross(&by_linear);
    let vectors = [by_rotation, part(by_pose, 3), by_angular, by_linear];
    std::array::from_fn(|i| vectors[i / 3][i % 3])
}

/// The contact of a pair of geometries, if they touch, with the derivatives of one number, given those
/// with respect to the spatial force on each moving body about its origin. `known` are the elements
/// that the surface lies in, if it has been found before.
pub(in crate::multibody) fn pair_cotangent(
    differentiated: &DifferentiatedModel,
    (frames, start): (&[BodyFrame], &StepStart),
    moving: &[Option<usize>],
    pair: &GeometryPair,
    by_force: &[SpatialForce],
    scratch: &mut PairScratch,
    known: Option<&[Elements]>,
) -> Option<PairCotangent> {
    let model = differentiated.model();
    let PairScratch { contact: scratch, spare } = scratch;
    let asked = differentiated.geometries_asked_of(pair);
    let mut shapes = asked.contains(&true).then(|| {
        let mut shapes = spare.pop().unwrap_or_default();
        shapes.start(asked);
        shapes
    });
    let (frame_a, frame_b) = (&frames[pair.bodies.a], &frames[pair.bodies.b]);
    let p_a = geometry_offset(frame_a, &model.bodies[pair.bodies.a].geometries[pair.geometry_a]);
    let p_b = geometry_offset(frame_b, &model.bodies[pair.bodies.b].geometries[pair.geometry_b]);
    let to_b = frame_b.pose.translation - frame_a.pose.translation;
    // M_A = M + p_A × F
    let SpatialForce { rotational: by_moment, translational: by_linear } =
        by_wrench_on_a(pair, &to_b, moving, by_force);
    let by_wrench = SpatialForce::new(by_moment, by_linear + by_moment.cross(&p_a));
    // The pairs of a model can touch: it has checked them.
    let contact = with_pair(model, frames, pair, |query| {
        let scratch = scratch.of_pair(pair.number());
        let settings = &model.contact;
        match model.is_rigid_pair(pair) {
            false => contact_vjp_over(query, &by_wrench, (settings, None), scratch, known, shapes.as_mut()),
            true => start.with_pair(model, frames, pair, |start| {
                contact_vjp_over(query, &by_wrench, (settings, Some(start)), scratch, None, shapes.as_mut())
            }),
        }
    });
    let Some(contact) = contact.ok().flatten() else {
        spare.extend(shapes);
        return None;
    };
    let force = contact.wrench_on_a.translational;
    let (w_a, w_b) = (&frame_a.velocity.rotational, &frame_b.velocity.rotational);
    let place_a = by_place(&contact.pose_a, &contact.velocity_a, &force.cross(&by_moment), w_a);
    let place_b = by_place(&contact.pose_b, &contact.velocity_b, &Vector3::zeros(), w_b);
    let mut state_a = by_body_state(&contact.pose_a, &contact.velocity_a, &place_a, &p_a);
    let mut state_b = by_body_state(&contact.pose_b, &contact.velocity_b, &place_b, &p_b);
    let by_moment_on_b = moving[pair.bodies.b].map_or_else(Vector3::zeros, |i| by_force[i].rotational);
    let by_distance = force.cross(&by_moment_on_b);
    for axis in 0..3 {
        state_a[3 + axis] -= by_distance[axis];
        state_b[3 + axis] += by_distance[axis];
    }
    Some(PairCotangent {
        pair: *pair,
        wrench_on_a: contact.wrench_on_a.shifted(&-p_a),
        to_b,
        by_state: [state_a, state_b],
        by_material: [contact.material_a, contact.material_b],
        geometries: shapes.map(|shapes| {
            let to_world = [frame_a.pose.rotation, frame_b.pose.rotation];
            GeometryCotangent { shapes, places: [place_a, place_b], to_world }
        }),
    })
}

/// Memory that is reused from one contact to the next.
#[derive(Debug, Default)]
pub(in crate::multibody) struct PairScratch {
    contact: Workspace,
    spare: Vec<ShapeTerms>,
}

impl PairScratch {
    /// Takes back the memory of a contact.
    pub fn take_back(&mut self, contact: PairCotangent) {
        self.spare.extend(contact.geometries.map(|by| by.shapes));
    }
}

impl PairCotangent {
    /// The wrench on body B about its origin, in W.
    pub fn wrench_on_b(&self) -> SpatialForce {
        -self.wrench_on_a.shifted(&self.to_b)
    }

    /// Adds the derivatives to those with respect to the moving bodies' motions and the model.
    pub fn add_to(
        &self,
        model: &Model,
        moving: &[Option<usize>],
        by_motion: &mut [f64],
        by_model: &mut ModelGradient,
    ) {
        let GeometryPair { bodies, geometry_a, geometry_b } = self.pair;
        let materials = [
            model.bodies[bodies.a].geometries[geometry_a].material,
            model.bodies[bodies.b].geometries[geometry_b].material,
        ];
        if let Some(by) = &self.geometries {
            by_model.add_shapes(&self.pair, &by.shapes);
            let places = by.places.iter().zip(&by.to_world);
            for (geometry, ([by_turn, by_shift], to_world)) in self.pair.geometries().into_iter().zip(places)
            {
                by_model.add_place(geometry, to_world, by_turn, by_shift);
            }
        }
        for (side, body) in [bodies.a, bodies.b].into_iter().enumerate() {
            if let Some(i) = moving[body] {
                let out = &mut by_motion[i * TANGENT_DIMENSION..(i + 1) * TANGENT_DIMENSION];
                out.iter_mut().zip(&self.by_state[side]).for_each(|(out, x)| *out += x);
            }
            let by = &self.by_material[side];
            if let Some(i) = materials[side] {
                let out = &mut by_model.materials[i];
                out.hydroelastic_modulus += by.hydroelastic_modulus;
                out.dissipation += by.dissipation;
                out.relaxation_time += by.relaxation_time;
            }
            // A geometry without a material has the friction and the own law's parameters of the other.
            if let Some(i) = materials[side].or(materials[1 - side]) {
                let out = &mut by_model.materials[i];
                out.static_friction += by.static_friction;
                out.dynamic_friction += by.dynamic_friction;
                out.own.iter_mut().zip(by.own).for_each(|(out, by)| *out += by);
            }
        }
    }
}
