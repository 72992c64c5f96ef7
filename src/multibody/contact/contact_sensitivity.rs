//! From the local Jacobian of a contact to how the forces on two bodies follow their states and
//! materials, and back.

use nalgebra::{Matrix3, Matrix6, SMatrix, Vector3, Vector6};

use crate::contact::{ContactJacobian, Material, combination_derivatives};
use crate::multibody::models::pair::collider;
use crate::multibody::{BodyFrame, BodyGeometry, GeometryPair, Model, ModelGradient, TANGENT_DIMENSION};
use crate::spatial::{SpatialForce, cross_matrix, from_quarters};

/// Derivatives of a wrench with respect to the state of one body: rows moment, then force; a column for
/// each direction of the body's tangent space (see [`TANGENT_DIMENSION`]).
pub type WrenchByState = SMatrix<f64, 6, TANGENT_DIMENSION>;

/// The wrench between two geometries and its derivatives with respect to their bodies' states and
/// materials.
///
/// The wrench may be a force or, in a step of given length, an impulse.
#[derive(Clone, Debug)]
pub struct ContactSensitivity {
    /// The two geometries.
    pub pair: GeometryPair,
    /// The wrench on body A about its origin, in W.
    pub wrench_on_a: SpatialForce,
    /// From the origin of body A to that of body B, in W, m.
    pub to_b: Vector3<f64>,
    /// Derivatives of the wrench on A with respect to the state of A.
    pub by_state_a: WrenchByState,
    /// Derivatives of the wrench on A with respect to the state of B.
    pub by_state_b: WrenchByState,
    /// Derivatives of the wrench on A with respect to the parameters of the material of A's geometry.
    pub by_material_a: Material<Vector6<f64>>,
    /// Derivatives of the wrench on A with respect to the parameters of the material of B's geometry.
    pub by_material_b: Material<Vector6<f64>>,
    /// Indices of both materials in [`Model::materials`].
    materials: [Option<usize>; 2],
}

/// How a wrench follows the state of a body, from how it follows the pose and the velocity of a
/// geometry's frame, at offset `p` from the body's origin (in W).
fn by_body_state(
    by_pose: &Matrix6<f64>,
    by_velocity: &Matrix6<f64>,
    p: &Vector3<f64>,
    angular_velocity: &Vector3<f64>,
) -> WrenchByState {
    let mut by_state = WrenchByState::zeros();
    by_state.fixed_columns_mut::<6>(0).copy_from(by_pose);
    by_state.fixed_columns_mut::<6>(6).copy_from(by_velocity);
    for row in 0..6 {
        let by_linear = Vector3::from_fn(|i, _| by_velocity[(row, 3 + i)]);
        let by_translation = Vector3::from_fn(|i, _| by_pose[(row, 3 + i)]);
        // The origin of the geometry moves by δθ × p, its velocity changes by ω × (δθ × p).
        let by_turn = p.cross(&(by_translation + by_linear.cross(angular_velocity)));
        let by_spin = p.cross(&by_linear);
        for i in 0..3 {
            by_state[(row, i)] += by_turn[i];
            by_state[(row, 6 + i)] += by_spin[i];
        }
    }
    by_state
}

/// Shifts wrenches about a point, one in each column, to another point at offset `-p` from it.
fn shift_columns_back<const N: usize>(p: &Vector3<f64>, wrenches: &mut SMatrix<f64, 6, N>) {
    for mut wrench in wrenches.column_iter_mut() {
        let moment = p.cross(&Vector3::new(wrench[3], wrench[4], wrench[5]));
        (0..3).for_each(|i| wrench[i] += moment[i]);
    }
}

/// The matrix that takes wrenches about a point to wrenches about another, at offset `-p` from it.
pub(super) fn shift_back(p: &Vector3<f64>) -> Matrix6<f64> {
    let (one, zero) = (Matrix3::identity(), Matrix3::zeros());
    from_quarters(one, cross_matrix(p), zero, one)
}

/// The matrix that takes wrenches on the geometry of body A about its origin, in W, to those on the body about its
/// own.
pub(crate) fn wrench_about_body(model: &Model, frames: &[BodyFrame], pair: &GeometryPair) -> Matrix6<f64> {
    let geometry = &model.bodies[pair.bodies.a].geometries[pair.geometry_a];
    shift_back(&geometry_offset(&frames[pair.bodies.a], geometry))
}

/// From the origin of a geometry's body to that of the geometry, in W.
pub(super) fn geometry_offset(frame: &BodyFrame, geometry: &BodyGeometry) -> Vector3<f64> {
    frame.pose.rotation * geometry.x_bg.translation
}

/// No derivative with respect to a material.
fn no_material() -> Material<Vector6<f64>> {
    Material::NONE.map(|_| Vector6::zeros())
}

/// The derivatives with respect to both materials, from those with respect to the pair's combined
/// parameters.
fn by_materials(
    model: &Model,
    ga: &BodyGeometry,
    gb: &BodyGeometry,
    jacobian: &ContactJacobian,
) -> [Material<Vector6<f64>>; 2] {
    let combination = combination_derivatives(&collider(ga, gb), &collider(gb, ga), &model.contact);
    let one = |own: &Material, by_modulus: Vector6<f64>| Material {
        // The modulus' part in the combined dissipation is in the Jacobian already.
        hydroelastic_modulus: by_modulus,
        ..jacobian.by_parameters.with_modulus(by_modulus).zip(own, |by, own| by * own)
    };
    let mut by = [one(&combination[0], jacobian.by_modulus_a), one(&combination[1], jacobian.by_modulus_b)];
    // A geometry without a material has the other's friction and parameters of an own law.
    for (own, geometry) in [ga, gb].into_iter().enumerate() {
        if geometry.material.is_none() {
            let adopted = std::mem::replace(&mut by[own], no_material());
            by[1 - own].static_friction += adopted.static_friction;
            by[1 - own].dynamic_friction += adopted.dynamic_friction;
            for (out, by) in by[1 - own].own.iter_mut().zip(adopted.own) {
                *out += by;
            }
        }
    }
    by
}

/// The derivatives of a number with respect to the wrench on body A about its origin, given those with respect to the
/// spatial force on each moving body about its own; `to_b` is from the origin of A to that of B.
pub(crate) fn by_wrench_on_a(
    pair: &GeometryPair,
    to_b: &Vector3<f64>,
    moving: &[Option<usize>],
    by_force: &[SpatialForce],
) -> SpatialForce {
    let [by_a, by_b] = [pair.bodies.a, pair.bodies.b]
        .map(|body| moving[body].map_or_else(SpatialForce::zero, |i| by_force[i]));
    // M_B = −M_A + d × F and F_B = −F_A with d from A to B.
    let by_linear = by_a.translational - by_b.translational + by_b.rotational.cross(to_b);
    SpatialForce::new(by_a.rotational - by_b.rotational, by_linear)
}

/// The product of two wrenches' six numbers.
#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sum = 0.0;
    for k in 0..6 {
        sum += a[k] * b[k];
    }
    sum
}

impl ContactSensitivity {
    /// The sensitivity of the contact of two geometries, with the bodies of `model` at `frames`,
    /// from the wrench on A's geometry about that geometry's origin, in W, and its derivatives.
    pub fn new(
        model: &Model,
        frames: &[BodyFrame],
        pair: &GeometryPair,
        wrench: &SpatialForce,
        jacobian: &ContactJacobian,
    ) -> Self {
        let ga = &model.bodies[pair.bodies.a].geometries[pair.geometry_a];
        let gb = &model.bodies[pair.bodies.b].geometries[pair.geometry_b];
        let p_a = geometry_offset(&frames[pair.bodies.a], ga);
        let [by_material_a, by_material_b] = by_materials(model, ga, gb, jacobian).map(|material| {
            material.map(|mut by| {
                shift_columns_back(&p_a, &mut by);
                by
            })
        });
        let materials = [ga.material, gb.material];
        Self {
            by_material_a,
            by_material_b,
            materials,
            ..Self::of_motion(model, frames, pair, wrench, jacobian)
        }
    }

    /// [`Self::new`] without the derivatives with respect to materials, which are zero.
    pub fn of_motion(
        model: &Model,
        frames: &[BodyFrame],
        pair: &GeometryPair,
        wrench: &SpatialForce,
        jacobian: &ContactJacobian,
    ) -> Self {
        let p_a =
            geometry_offset(&frames[pair.bodies.a], &model.bodies[pair.bodies.a].geometries[pair.geometry_a]);
        let mut sensitivity = Self::of_numbers(model, frames, pair, jacobian);
        shift_columns_back(&p_a, &mut sensitivity.by_state_a);
        shift_columns_back(&p_a, &mut sensitivity.by_state_b);
        // The offset that the moment is shifted by turns with the body: d(p × F) holds (δθ × p) × F.
        let turning = cross_matrix(&wrench.translational) * cross_matrix(&p_a);
        let mut quarter = sensitivity.by_state_a.fixed_view_mut::<3, 3>(0, 0);
        quarter += turning;
        Self {
            wrench_on_a: wrench.shifted(&-p_a),
            by_material_a: no_material(),
            by_material_b: no_material(),
            materials: [None; 2],
            ..sensitivity
        }
    }

    /// The sensitivity of six numbers, such as the deflection of bristles, that are no wrench: they are neither shifted
    /// nor turned with the bodies. Of the materials they follow the moduli.
    pub(crate) fn of_numbers(
        model: &Model,
        frames: &[BodyFrame],
        pair: &GeometryPair,
        jacobian: &ContactJacobian,
    ) -> Self {
        let (frame_a, frame_b) = (&frames[pair.bodies.a], &frames[pair.bodies.b]);
        let ga = &model.bodies[pair.bodies.a].geometries[pair.geometry_a];
        let gb = &model.bodies[pair.bodies.b].geometries[pair.geometry_b];
        let (p_a, p_b) = (geometry_offset(frame_a, ga), geometry_offset(frame_b, gb));
        let (w_a, w_b) = (&frame_a.velocity.rotational, &frame_b.velocity.rotational);
        let of_modulus = |by: Vector6<f64>| Material { hydroelastic_modulus: by, ..no_material() };
        Self {
            pair: *pair,
            wrench_on_a: SpatialForce::zero(),
            to_b: frame_b.pose.translation - frame_a.pose.translation,
            by_state_a: by_body_state(&jacobian.by_pose_a, &jacobian.by_velocity_a, &p_a, w_a),
            by_state_b: by_body_state(&jacobian.by_pose_b, &jacobian.by_velocity_b, &p_b, w_b),
            by_material_a: of_modulus(jacobian.by_modulus_a),
            by_material_b: of_modulus(jacobian.by_modulus_b),
            materials: [ga.material, gb.material],
        }
    }

    /// The wrench on body B about its origin, in W.
    pub fn wrench_on_b(&self) -> SpatialForce {
        -self.wrench_on_a.shifted(&self.to_b)
    }

    /// The derivatives of a number with respect to the wrench on A about its origin, given those with respect
    /// to the spatial force on each moving body about its own.
    pub(crate) fn by_wrench(&self, moving: &[Option<usize>], by_force: &[SpatialForce]) -> Vector6<f64> {
        let SpatialForce { rotational: m, translational: f } =
            by_wrench_on_a(&self.pair, &self.to_b, moving, by_force);
        Vector6::new(m.x, m.y, m.z, f.x, f.y, f.z)
    }

    /// The vector–Jacobian product: adds to `by_motion` (twelve numbers for each moving body, as in
    /// [`TANGENT_DIMENSION`]) and to `by_model` the derivatives of one number, given those with respect
    /// to the spatial force on each moving body about its origin.
    ///
    /// `moving` holds for each body its index among the moving ones (see [`Model::moving_indices`]).
    pub fn add_vjp(
        &self,
        moving: &[Option<usize>],
        by_force: &[SpatialForce],
        by_motion: &mut [f64],
        by_model: &mut ModelGradient,
    ) {
        self.add_products(&self.by_wrench(moving, by_force), moving, by_motion, by_model);
        let [index_a, index_b] = [moving[self.pair.bodies.a], moving[self.pair.bodies.b]];
        let by_b = index_b.map_or_else(SpatialForce::zero, |i| by_force[i]);
        let by_offset = self.wrench_on_a.translational.cross(&by_b.rotational);
        for (index, by_position) in [(index_a, -by_offset), (index_b, by_offset)] {
            let Some(i) = index else { continue };
            (0..3).for_each(|axis| by_motion[i * TANGENT_DIMENSION + 3 + axis] += by_position[axis]);
        }
    }

    /// The part of [`Self::add_vjp`] of the wrench on A, or of six numbers, given the derivatives with respect to them.
    pub(crate) fn add_products(
        &self,
        by_numbers: &Vector6<f64>,
        moving: &[Option<usize>],
        by_motion: &mut [f64],
        by_model: &mut ModelGradient,
    ) {
        let along = |by: &[f64]| dot(by, by_numbers.as_slice());
        let bodies = [self.pair.bodies.a, self.pair.bodies.b];
        for (body, block) in bodies.into_iter().zip([&self.by_state_a, &self.by_state_b]) {
            let Some(i) = moving[body] else { continue };
            let out = &mut by_motion[i * TANGENT_DIMENSION..(i + 1) * TANGENT_DIMENSION];
            for (out, column) in out.iter_mut().zip(block.as_slice().chunks_exact(6)) {
                *out += along(column);
            }
        }
        for (index, by) in self.materials.into_iter().zip([&self.by_material_a, &self.by_material_b]) {
            let Some(i) = index else { continue };
            let out = &mut by_model.materials[i];
            *out = out.zip(by, |out, by| out + along(by.as_slice()));
        }
    }
}
