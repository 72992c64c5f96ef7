//! A compliant ball on the floor: the force on it, and how that follows its height and modulus.

use isobar::contact::{
    Collider, ContactPair, ContactSettings, Material, Workspace, contact, contact_jacobian,
};
use isobar::field::{PressureField, primitive_field};
use isobar::geometry::Shape;
use isobar::spatial::RigidTransform;
use nalgebra::Vector3;
use num_dual::Dual64;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A ball of 5 cm radius, meshed at 1 cm, and a rigid floor that fills z ≤ 0.
    let foam = Material::new(1e5, 1.0, 0.5);
    let (mesh, extent) = primitive_field(&Shape::Sphere { radius: 0.05 }, 0.01)?;
    let field = PressureField::new(mesh, extent)?;
    let ball = Collider::compliant(field, foam);
    let floor = Collider::rigid_half_space(foam);

    // The ball has sunk 5 mm into the floor.
    let (settings, mut workspace) = (ContactSettings::default(), Workspace::default());
    let pose = RigidTransform::from_translation(Vector3::new(0.0, 0.0, 0.045));
    let pair = ContactPair::at_rest(&ball, pose, &floor, RigidTransform::identity());
    let (patch, jacobian) = contact_jacobian(&pair, &settings, &mut workspace)?.ok_or("no contact")?;
    println!("force         {:.3} N", patch.wrench_on_a.translational.z);
    println!("  by height   {:.0} N/m", jacobian.by_pose_a[(5, 5)]);
    println!("  by modulus  {:.3e} N/Pa", jacobian.by_modulus_a[5]);

    // Dual numbers carry derivatives with respect to any quantity through the same code: here the height.
    let height = Dual64::from(0.045).derivative();
    let pose = RigidTransform::from_translation(Vector3::new(0.0.into(), 0.0.into(), height));
    let (ball, floor) = (Collider::lift(&ball), Collider::lift(&floor));
    let pair = ContactPair::at_rest(&ball, pose, &floor, RigidTransform::identity());
    let patch = contact(&pair, &settings, &mut workspace)?.ok_or("no contact")?;
    println!("area          {:.3e} m²", patch.area.re);
    println!("  by height   {:.3} m", patch.area.eps);
    Ok(())
}
