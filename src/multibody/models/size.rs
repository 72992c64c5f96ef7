//! How large bodies are.

use nalgebra::Vector3;

use super::body::Body;

impl Body {
    /// Lengths in m of the box, along the axes of the body's frame, around all of its geometries
    /// that are bounded; `None` without any.
    pub fn size(&self) -> Option<Vector3<f64>> {
        let mut ends: Option<[Vector3<f64>; 2]> = None;
        for geometry in &self.geometries {
            for vertex in geometry.collider.geometry.vertices() {
                let x = geometry.x_bg.rotation * vertex + geometry.x_bg.translation;
                let [least, most] = ends.unwrap_or([x, x]);
                ends = Some([least.inf(&x), most.sup(&x)]);
            }
        }
        ends.map(|[least, most]| most - least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::{Collider, ContactGeometry, Material};
    use crate::field::RigidSurface;
    use crate::geometry::Shape;
    use crate::multibody::BodyGeometry;
    use crate::spatial::{RigidTransform, rotation_from_rpy};

    #[test]
    fn the_box_around_all_bounded_geometries() {
        let geometry = |shape: ContactGeometry, x_bg| {
            BodyGeometry::new(Collider::new(shape, Material::NONE, 0.0)).at(x_bg)
        };
        let surface = Shape::Box { size: [0.2, 0.4, 0.6] }.surface_mesh(0.1).expect("a mesh");
        let turned = RigidTransform::new(
            rotation_from_rpy(0.0, 0.0, std::f64::consts::FRAC_PI_2),
            Vector3::new(1.0, 0.0, 0.0),
        );
        let block = || ContactGeometry::Rigid(RigidSurface::new(surface.clone()));
        let body = |geometries| Body::fixed("b", RigidTransform::identity(), geometries);
        let floor = || geometry(ContactGeometry::RigidHalfSpace, RigidTransform::identity());
        assert_eq!(body(vec![floor()]).size(), None);
        let both =
            body(vec![floor(), geometry(block(), RigidTransform::identity()), geometry(block(), turned)]);
        let size = both.size().expect("bounded");
        // From −0.1 to 1 + 0.2; 0.4 and 0.2 wide; 0.6 high.
        assert!((size - Vector3::new(1.3, 0.4, 0.6)).amax() < 1e-14, "{size}");
    }
}
