//! Robots with Drake's tags: what is read of them is what Drake 1.58 holds (`tests/reference/multibody/drake_tags.json`,
//! which its script says how).

use std::fs;
use std::path::Path;

use isobar::geometry::Shape;
use isobar::io::robot::{CollisionShape, Compliance, LinkGeometry, Robot, RobotOptions};
use nalgebra::{Matrix3, Vector3};
use serde::Deserialize;

#[derive(Deserialize)]
struct Reference {
    robots: Vec<Held>,
}

/// A body's name, mass, centre of mass and inertia.
type Mass = (String, f64, [f64; 3], [[f64; 3]; 3]);

/// A robot, by its text or by a public file, and what Drake holds of it.
#[derive(Deserialize)]
struct Held {
    format: String,
    text: Option<String>,
    file: Option<String>,
    collisions: Vec<Collision>,
    masses: Vec<Mass>,
}

#[derive(Debug, Deserialize)]
struct Collision {
    body: String,
    name: String,
    shape: String,
    numbers: Vec<f64>,
    rotation: [[f64; 3]; 3],
    translation: [f64; 3],
    /// Whether it is compliant; none where it takes no part in hydroelastic contact.
    has_field: Option<bool>,
    modulus: Option<f64>,
    resolution: Option<f64>,
    dissipation: Option<f64>,
    relaxation_time: Option<f64>,
    /// Dynamic and static.
    friction: [f64; 2],
}

fn reference() -> Vec<Held> {
    let path = Path::new(crate::ROOT).join("tests/reference/multibody/drake_tags.json");
    let text = fs::read_to_string(path).expect("a file");
    serde_json::from_str::<Reference>(&text).expect("a reference").robots
}

fn matrix(rows: [[f64; 3]; 3]) -> Matrix3<f64> {
    Matrix3::from_fn(|i, k| rows[i][k])
}

fn numbers(shape: &CollisionShape) -> (&'static str, Vec<f64>) {
    match shape.geometry {
        LinkGeometry::Primitive(Shape::Box { size }) => ("box", size.to_vec()),
        LinkGeometry::Primitive(Shape::Sphere { radius }) => ("sphere", vec![radius]),
        LinkGeometry::Primitive(Shape::Cylinder { radius, length }) => ("cylinder", vec![radius, length]),
        LinkGeometry::Primitive(Shape::Capsule { radius, length }) => ("capsule", vec![radius, length]),
        LinkGeometry::Primitive(Shape::Ellipsoid { semi_axes }) => ("ellipsoid", semi_axes.to_vec()),
        _ => ("mesh", Vec::new()),
    }
}

/// Checks a robot against what Drake holds.
fn agrees(robot: &Robot, held: &Held) {
    let of = |body: &str, name: &str| {
        robot.collisions.iter().find(|shape| shape.body == body && shape.name.as_deref() == Some(name))
    };
    assert_eq!(robot.collisions.len(), held.collisions.len());
    for expected in &held.collisions {
        let found = of(&expected.body, &expected.name).unwrap_or_else(|| panic!("no {expected:?}"));
        let told = format!("{found:?}\n{expected:?}");
        let (shape, sizes) = numbers(found);
        assert_eq!((shape, &sizes), (expected.shape.as_str(), &expected.numbers), "{told}");
        assert!((found.x_bg.rotation - matrix(expected.rotation)).amax() < 1e-14, "{told}");
        assert!((found.x_bg.translation - Vector3::from(expected.translation)).amax() < 1e-14, "{told}");
        let given = &found.proximity;
        let compliance = |has_field| if has_field { Compliance::Compliant } else { Compliance::Rigid };
        assert_eq!(given.compliance, expected.has_field.map(compliance), "{told}");
        // Drake drops the modulus of what is rigid.
        let modulus = given.hydroelastic_modulus.filter(|_| given.compliance != Some(Compliance::Rigid));
        assert_eq!(modulus, expected.modulus, "{told}");
        assert_eq!(given.resolution, expected.resolution, "{told}");
        assert_eq!(given.dissipation, expected.dissipation, "{told}");
        assert_eq!(given.relaxation_time, expected.relaxation_time, "{told}");
        // One stands for both; without any Drake has 1.
        let (low, high) = (given.dynamic_friction, given.static_friction);
        let friction = [low.or(high), high.or(low)].map(|friction| friction.unwrap_or(1.0));
        assert_eq!(friction, expected.friction, "{told}");
    }
    let m = &robot.mechanism;
    for (name, mass, centre, inertia) in &held.masses {
        let own = m.bodies()[m.body_index(name).expect("a body")].mass.expect("mass");
        assert!((own.mass - mass).abs() <= 1e-15 * mass, "{name}");
        assert!((own.center_of_mass - Vector3::from(*centre)).amax() < 1e-14, "{name}");
        assert!((own.inertia - matrix(*inertia)).amax() < 1e-14, "{name}: {} {inertia:?}", own.inertia);
    }
}

#[test]
fn ten_robots_with_tags_are_what_drake_holds() {
    let all = reference();
    let own: Vec<&Held> = all.iter().filter(|held| held.text.is_some()).collect();
    assert_eq!(own.len(), 10);
    for held in own {
        let name = format!("robot.{}", held.format);
        let text = held.text.as_deref().expect("a text");
        let robot = Robot::parse(text, Path::new(&name), &RobotOptions::default()).expect("a robot");
        agrees(&robot, held);
    }
}

#[test]
#[ignore = "needs the recordings and models in ../shared/data"]
fn public_robots_with_tags_are_what_drake_holds() {
    let data = Path::new(crate::ROOT).join("../shared/data");
    for held in reference() {
        let Some(file) = &held.file else { continue };
        let robot = Robot::load(&data.join(file), &RobotOptions::default()).expect("a robot");
        agrees(&robot, &held);
    }
}
