//! Wrenches against numbers measured with Drake 1.51.1 (`tests/reference/drake/*.json`: two
//! bodies with their meshes, extents, poses and velocities, and Drake's surface and wrench in
//! both representations).

use std::path::Path;

use isobar::contact::{
    Collider, ContactGeometry, ContactPair, ContactSettings, FaceFilter, FrictionRegularization, Material,
    SurfaceRepresentation, Workspace, contact,
};
use isobar::field::{PressureField, RigidSurface};
use isobar::geometry::{SurfaceMesh, VolumeMesh};
use isobar::spatial::{RigidTransform, SpatialVelocity};
use nalgebra::{Matrix3, Vector3};
use serde::Deserialize;

#[derive(Deserialize)]
struct Body {
    rotation: [[f64; 3]; 3],
    translation: [f64; 3],
    angular_velocity: [f64; 3],
    linear_velocity: [f64; 3],
    rigid: bool,
    half_space: bool,
    modulus: f64,
    dissipation: f64,
    friction: f64,
    #[serde(default)]
    thickness: f64,
    #[serde(default)]
    vertices: Vec<[f64; 3]>,
    #[serde(default)]
    tetrahedra: Vec<[u32; 4]>,
    #[serde(default)]
    extent: Vec<f64>,
    #[serde(default)]
    triangles: Vec<[u32; 3]>,
}

#[derive(Deserialize)]
struct Expected {
    faces: usize,
    /// Vertices of Drake's polygons that lie in the middle of a straight edge of the perimeter
    /// (to 1e-13). Drake clips by both bodies' boundary faces there, the same line twice, and
    /// rounding decides whether an extra vertex and so an extra triangle comes of it.
    #[serde(default)]
    redundant: usize,
    area: f64,
    centroid: [f64; 3],
    force_on_a: [f64; 3],
    torque_on_a: [f64; 3],
}

#[derive(Deserialize)]
struct Results {
    triangles: Expected,
    polygons: Expected,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    stiction_velocity: f64,
    a: Body,
    b: Body,
    results: Results,
}

impl Body {
    fn collider(&self) -> Collider {
        let vertices: Vec<_> = self.vertices.iter().map(|&v| Vector3::from(v)).collect();
        let geometry = match (self.half_space, self.rigid) {
            (true, true) => ContactGeometry::RigidHalfSpace,
            (true, false) => ContactGeometry::CompliantHalfSpace,
            (false, true) => ContactGeometry::Rigid(RigidSurface::new(SurfaceMesh {
                vertices,
                triangles: self.triangles.clone(),
            })),
            (false, false) => ContactGeometry::Compliant(
                PressureField::new(
                    VolumeMesh { vertices, tetrahedra: self.tetrahedra.clone() },
                    self.extent.clone(),
                )
                .unwrap(),
            ),
        };
        let material = Material::new(self.modulus, self.dissipation, self.friction);
        Collider::new(geometry, material, self.thickness)
    }

    fn pose(&self) -> RigidTransform {
        let rotation = Matrix3::from_rows(&self.rotation.map(|r| Vector3::from(r).transpose()));
        RigidTransform::new(rotation, Vector3::from(self.translation))
    }

    fn velocity(&self) -> SpatialVelocity {
        SpatialVelocity::new(Vector3::from(self.angular_velocity), Vector3::from(self.linear_velocity))
    }
}

/// Where the pressure vanishes on whole tetrahedra, whether Drake reports their polygons, which
/// carry no force, depends on rounding.
fn count_depends_on_rounding(name: &str) -> bool {
    name == "Lshape_box"
}

fn check(case: &Case, surface: SurfaceRepresentation, expected: &Expected) -> f64 {
    let (a, b) = (case.a.collider(), case.b.collider());
    let pair = ContactPair {
        a: &a,
        x_wa: case.a.pose(),
        v_wa: case.a.velocity(),
        b: &b,
        x_wb: case.b.pose(),
        v_wb: case.b.velocity(),
    };
    let settings = ContactSettings {
        surface,
        face_filter: FaceFilter::Drake,
        friction_regularization: FrictionRegularization::Atan,
        stiction_velocity: case.stiction_velocity,
        ..Default::default()
    };
    let patch = contact(&pair, &settings, &mut Workspace::default()).expect("a pair that can touch");
    if expected.faces == 0 {
        assert!(patch.is_none(), "{}: these bodies do not touch", case.name);
        return 0.0;
    }
    let patch = patch.unwrap_or_else(|| panic!("{}: these bodies touch", case.name));
    let force = Vector3::from(expected.force_on_a);
    let torque = Vector3::from(expected.torque_on_a);
    // A moment of zero by symmetry is compared with the force times the lever.
    let lever = (Vector3::from(expected.centroid) - pair.x_wa.translation).norm();
    let of_force = (patch.wrench_on_a.translational - force).norm() / force.norm();
    let of_torque = (patch.wrench_on_a.rotational - torque).norm() / torque.norm().max(lever * force.norm());
    let error = of_force.max(of_torque);
    let label = format!("{} {surface:?}", case.name);
    println!(
        "{label}: faces {} ({}), force {of_force:.1e}, torque {of_torque:.1e}",
        patch.faces, expected.faces
    );
    if !count_depends_on_rounding(&case.name) {
        assert_eq!(patch.faces + expected.redundant, expected.faces, "{label}: faces");
        let area = (patch.area - expected.area).abs() / expected.area;
        assert!(area < 1e-9, "{label}: area off by {area:e}");
        let centroid = (patch.centroid - Vector3::from(expected.centroid)).norm();
        assert!(centroid < 1e-9, "{label}: centroid off by {centroid:e} m");
    }
    let allowed = if case.name == "vel_slide_torus_box" { 1e-7 } else { 1e-9 };
    assert!(error < allowed, "{label}: wrench off by {error:e}, {allowed:e} allowed");
    error
}

#[test]
fn wrenches_match_drake() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/drake");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 28);
    let mut worst: f64 = 0.0;
    for file in files {
        let case: Case = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        worst = worst.max(check(&case, SurfaceRepresentation::Triangles, &case.results.triangles));
        worst = worst.max(check(&case, SurfaceRepresentation::Polygons, &case.results.polygons));
    }
    println!("worst of all: {worst:.1e}");
}
