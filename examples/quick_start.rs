//! A foam ball on the floor: the force on it and how that changes with its pose and stiffness.

use std::sync::Arc;

use isobar::contact::{
    Collider, ContactGeometry, ContactPair, ContactSettings, Material, Workspace, contact, contact_jacobian,
};
use isobar::field::{PressureField, primitive_field};
use isobar::geometry::Shape;
use isobar::spatial::{RigidTransform, SpatialVelocity};
use nalgebra::Vector3;
use num_dual::Dual64;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A ball of 5 cm radius that is compliant, and a rigid floor that fills z ≤ 0.
    let (mesh, extent) = primitive_field(&Shape::Sphere { radius: 0.05 }, 0.01)?;
    let foam = Material {
        hydroelastic_modulus: 1e5, // Pa
        dissipation: 1.0,          // s/m
        static_friction: 0.5,
        dynamic_friction: 0.5,
    };
    let ball = ContactGeometry::Compliant(PressureField::new(mesh, extent)?);
    let ball = Collider::new(Arc::new(ball), foam, 1.0);
    let floor = Collider::new(Arc::new(ContactGeometry::RigidHalfSpace), foam, 1.0);

    // The ball has sunk 5 mm into the floor and slides along x.
    let pair = ContactPair {
        a: &ball,
        x_wa: RigidTransform::from_translation(Vector3::new(0.0, 0.0, 0.045)),
        v_wa: SpatialVelocity::new(Vector3::zeros(), Vector3::new(0.2, 0.0, 0.0)),
        b: &floor,
        x_wb: RigidTransform::identity(),
        v_wb: SpatialVelocity::zero(),
    };
    let (settings, mut workspace) = (ContactSettings::default(), Workspace::default());
    let (patch, jacobian) = contact_jacobian(&pair, &settings, &mut workspace).ok_or("no contact")?;
    println!(
        "force       {:.3?} N over {:.2} cm²",
        patch.wrench_on_a.translational.data.0[0],
        patch.area * 1e4
    );
    // Rows: torque, then force; columns: rotation of the ball, then translation.
    println!("∂f_z/∂z     {:.1} N/m", jacobian.by_pose_a[(5, 5)]);
    println!("∂f_z/∂E     {:.3e} N/Pa", jacobian.by_modulus_a[5]);

    // The same with dual numbers, which can carry any input's derivative: here the height's.
    let (ball, floor) = (Collider::lift(&ball), Collider::lift(&floor));
    let height = Dual64::from(0.045).derivative();
    let pair = ContactPair {
        a: &ball,
        x_wa: RigidTransform::from_translation(Vector3::new(0.0.into(), 0.0.into(), height)),
        v_wa: SpatialVelocity::lift(&pair.v_wa),
        b: &floor,
        x_wb: RigidTransform::identity(),
        v_wb: SpatialVelocity::zero(),
    };
    let patch = contact(&pair, &settings, &mut workspace).ok_or("no contact")?;
    println!("∂f_z/∂z     {:.1} N/m with dual numbers", patch.wrench_on_a.translational.z.eps);
    println!("∂area/∂z    {:.2} cm²/mm", patch.area.eps * 10.0);
    Ok(())
}
