//! A compliant ball on the floor: the force on it, and how that follows its height and modulus.

use isobar::contact::Workspace;
use isobar::*;
use num_dual::Dual64;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A ball of 5 cm radius, meshed at 1 cm, has sunk 5 mm into a rigid floor that fills z ≤ 0.
    let foam = Material::new(1e5, 1.0, 0.5);
    let ball = Collider::of_shape(&Shape::Sphere { radius: 0.05 }, 0.01, foam)?;
    let floor = Collider::rigid_half_space(foam);
    let pose = RigidTransform::from_translation([0.0, 0.0, 0.045]);
    let pair = ContactPair::at_rest(&ball, pose, &floor, RigidTransform::identity());
    let (settings, mut workspace) = (ContactSettings::default(), Workspace::default());
    let (patch, jacobian) = contact_jacobian(&pair, &settings, &mut workspace)?.ok_or("no contact")?;
    println!("force         {:.3} N", patch.wrench_on_a.translational.z);
    println!("  by height   {:.0} N/m", jacobian.force_by_translation().m33);
    println!("  by modulus  {:.3e} N/Pa", jacobian.force_by_modulus().z);

    // Dual numbers carry derivatives with respect to any quantity through the same code.
    let (ball, floor) = (Collider::lift(&ball), Collider::lift(&floor));
    let pose = RigidTransform::from_translation([0.0.into(), 0.0.into(), Dual64::from(0.045).derivative()]);
    let pair = ContactPair::at_rest(&ball, pose, &floor, RigidTransform::identity());
    let patch = contact(&pair, &settings, &mut workspace)?.ok_or("no contact")?;
    println!("area          {:.3e} m², by height {:.3} m", patch.area.re, patch.area.eps);
    Ok(())
}
