//! Pressure fields beside the equivalent contact point: the desk and the T-bar with compliant soles, from soft to stiff,
//! against the same bodies as rigid ones; and friction as the integral over the patch against the friction ellipsoid.

use std::error::Error;
use std::f64::consts::FRAC_PI_2;
use std::path::Path;

use isobar::contact::{Collider, ContactModel, ContactPair, ContactSettings, Material, Workspace, contact};
use isobar::geometry::Shape;
use isobar::multibody::{self, BodyGeometry, BodyState, Model, NamedMaterial};
use isobar::spatial::{RigidTransform, SpatialVelocity};
use isobar::step::{ComplementarityMethod, Integrator, VelocityLevel};
use nalgebra::Vector3;

use crate::figure::{Curve, Plot, draw};
use crate::scenes::{self, DESK, FRICTION, GRAVITY, Load, Motion, Scene, TEE};

/// Length of all steps here, s: a fields' step is of first order as that of rigid contact is, and one length makes
/// equal errors.
const TIME_STEP: f64 = 1e-3;
/// Hydroelastic moduli, Pa.
const MODULI: [f64; 6] = [1e5, 1e6, 1e7, 1e8, 1e9, 1e10];
/// Hunt–Crossley dissipation of the soles, s/m: what falls on them does not bounce.
const DISSIPATION: f64 = 100.0;
const STICTION_VELOCITY: f64 = 1e-5;
/// How many ratios of turning to sliding the integral over the patch is drawn at.
const LIMIT_POINTS: f64 = 40.0;

/// A scene with the boxes that its body touches the plane with.
struct Study {
    scene: Scene,
    /// Size and centre in the body frame.
    boxes: Vec<([f64; 3], Vector3<f64>)>,
    /// The time until which the body stays flat and slides: from then on to the end, s.
    slides_from: f64,
    /// Its force alone.
    push: Load,
}

fn desk() -> Study {
    let [side, foot, height, _] = DESK;
    let corners = [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)];
    let center = |(x, y)| Vector3::new(x, y, 0.0) * (0.5 * (side - foot)) - Vector3::z() * (height - 0.05);
    Study {
        scene: scenes::desk(),
        boxes: corners.map(|corner| ([foot, foot, 0.1], center(corner))).to_vec(),
        slides_from: 0.0,
        push: |time| (scenes::desk_load(time).0, Vector3::zeros()),
    }
}

fn tee() -> Study {
    let [bar, depth, stem, length, thickness, _] = TEE;
    // The first point of the outline is at the foot of the stem.
    let foot = scenes::tee_outline()[0][1];
    let boxes = vec![
        ([stem, length, thickness], Vector3::new(0.0, foot + 0.5 * length, 0.0)),
        ([bar, depth, thickness], Vector3::new(0.0, foot + length + 0.5 * depth, 0.0)),
    ];
    Study {
        scene: scenes::tee(),
        boxes,
        slides_from: 3.0,
        push: |time| (scenes::tee_load(time + 3.0).0, Vector3::zeros()),
    }
}

fn box_field(size: [f64; 3], material: Material) -> Result<Collider, Box<dyn Error>> {
    Ok(Collider::of_shape(&Shape::Box { size }, 0.02, material)?)
}

impl Study {
    /// The same body with compliant soles.
    fn compliant(&self, modulus: f64) -> Result<Scene, Box<dyn Error>> {
        let mut builder = self.scene.model.clone().into_builder();
        let material = Material::new(modulus, DISSIPATION, FRICTION);
        builder.materials = vec![NamedMaterial { name: "contact".into(), material }];
        builder.contact = ContactSettings { stiction_velocity: STICTION_VELOCITY, ..builder.contact };
        let mut geometries = Vec::new();
        for (size, center) in &self.boxes {
            let x_bg = RigidTransform::from_translation(*center);
            geometries.push(BodyGeometry::new(box_field(*size, material)?).at(x_bg).of_material(0));
        }
        builder.bodies[0].geometries = geometries;
        // It begins where the soles carry it: a step takes its forces at the surface at its start.
        let extent = |size: &[f64; 3]| 0.5 * size.iter().copied().fold(f64::MAX, f64::min);
        let stiffness: f64 =
            self.boxes.iter().map(|(size, _)| modulus * size[0] * size[1] / extent(size)).sum();
        let multibody::Motion::Free { mass, .. } = &builder.bodies[0].motion else {
            return Err("a free body".into());
        };
        let depth = mass.mass * GRAVITY / stiffness;
        let mut scene = self.with(builder.build()?);
        scene.start.bodies[0].position.z -= depth;
        Ok(scene)
    }

    /// The same body, rigid, with a friction ellipsoid that turns on a radius e_r.
    fn rigid(&self, radius: f64) -> Result<Scene, Box<dyn Error>> {
        let mut builder = self.scene.model.clone().into_builder();
        let material = &mut builder.materials[0].material;
        *material = material.with_friction_ellipsoid([1.0, 1.0, radius]);
        Ok(self.with(builder.build()?))
    }

    fn with(&self, model: Model) -> Scene {
        let Scene { name, ref start, load, duration, .. } = self.scene;
        Scene { name, model, start: start.clone(), load, duration }
    }

    /// Force (over μ N) and moment about the centre of mass (over μ N, m) of friction on the soles, pressed evenly, that
    /// slide along x and turn about the centre of mass: the integral over the patch.
    fn limit_surface(&self) -> Result<Vec<[f64; 2]>, Box<dyn Error>> {
        let material = Material::new(1e7, 0.0, FRICTION);
        let ground = Collider::rigid_half_space(material);
        let settings = ContactSettings { stiction_velocity: 1e-6, ..ContactSettings::default() };
        let mut workspace = Workspace::default();
        let lowest =
            self.boxes.iter().map(|(size, center)| center.z - 0.5 * size[2]).fold(f64::MAX, f64::min);
        let soles: Result<Vec<_>, _> = self
            .boxes
            .iter()
            .map(|(size, center)| Ok::<_, Box<dyn Error>>((box_field(*size, material)?, center)))
            .collect();
        let soles = soles?;
        let mut all = Vec::new();
        for k in 0..=LIMIT_POINTS as u32 {
            let angle = FRAC_PI_2 * f64::from(k) / LIMIT_POINTS;
            // Speeds of the centre of mass and of what is half a metre away.
            let (speed, spin) = (angle.cos(), 4.0 * angle.sin());
            let (mut normal, mut force, mut moment) = (0.0, 0.0, 0.0);
            for (sole, center) in &soles {
                let x_wa = RigidTransform::from_translation(**center - Vector3::z() * (lowest + 1e-5));
                let turn = Vector3::z() * spin;
                let v_wa = SpatialVelocity::new(turn, Vector3::x() * speed + turn.cross(center));
                let pair = ContactPair {
                    v_wa,
                    ..ContactPair::at_rest(sole, x_wa, &ground, RigidTransform::identity())
                };
                let wrench = contact(&pair, &settings, &mut workspace)?.ok_or("no contact")?.wrench_on_a;
                normal += wrench.translational.z;
                force -= wrench.translational.x;
                moment -= (wrench.rotational + center.cross(&wrench.translational)).z;
            }
            all.push([force, moment].map(|x| x / (FRICTION * normal)));
        }
        Ok(all)
    }
}

/// The largest differences of v_x, v_y (m/s) and ω_z (rad/s) between two motions from a time on.
fn difference(a: &Motion, b: &Motion, from: f64) -> [f64; 3] {
    let first = (from / TIME_STEP) as usize;
    let of = |m: &Motion, i: usize| {
        let v = m.states[i].velocity;
        [v.translational.x, v.translational.y, v.rotational.z]
    };
    (first..a.states.len()).fold([0.0; 3], |worst, i| {
        let (p, q) = (of(a, i), of(b, i));
        [0, 1, 2].map(|k| f64::max(worst[k], (p[k] - q[k]).abs()))
    })
}

/// Where the forces between the plane and the body have no moment about a line in the plane, from the centre of mass, over time: from
/// the balance of momentum of each step.
fn pressure_centers(scene: &Scene, motion: &Motion) -> Result<Vec<[f64; 2]>, Box<dyn Error>> {
    let multibody::Motion::Free { mass, .. } = &scene.model.bodies()[0].motion else {
        return Err("a free body".into());
    };
    let center = |(i, pair): (usize, &[BodyState])| {
        let [before, after] = [&pair[0], &pair[1]];
        let change = |of: fn(&BodyState) -> Vector3<f64>| (of(after) - of(before)) / TIME_STEP;
        let (load, torque) = (scene.load)(i as f64 * TIME_STEP);
        let force =
            change(|s| s.velocity.translational) * mass.mass - load + Vector3::z() * (mass.mass * GRAVITY);
        let turn = before.pose().rotation;
        let inertia = turn * mass.inertia * turn.transpose();
        let spin = before.velocity.rotational;
        let moment = inertia * change(|s| s.velocity.rotational) + spin.cross(&(inertia * spin)) - torque;
        let below = -after.position.z;
        [(below * force.x - moment.y) / force.z, (below * force.y + moment.x) / force.z]
    };
    Ok(motion.states.windows(2).enumerate().map(center).collect())
}

/// The root mean square of a difference from a time on.
fn apart(a: &[[f64; 2]], b: &[[f64; 2]], from: f64) -> f64 {
    let squares = a
        .iter()
        .zip(b)
        .skip((from / TIME_STEP) as usize)
        .map(|(p, q)| (p[0] - q[0]).powi(2) + (p[1] - q[1]).powi(2));
    let (sum, count) = squares.fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
    f64::sqrt(sum / count)
}

fn curve(name: impl Into<String>, points: Vec<(f64, f64)>, reference: bool, marks: bool) -> Curve {
    Curve { name: name.into(), points, reference, marks }
}

/// The motions of a study and of the same one without turning, by one model of contact.
struct Motions {
    turning: Motion,
    centers: Vec<[f64; 2]>,
    sliding: Motion,
}

fn motions(study: &Study, scene: Scene, integrator: Integrator) -> Result<Motions, Box<dyn Error>> {
    let turning = scene.simulate_by(integrator, TIME_STEP)?;
    let centers = pressure_centers(&scene, &turning)?;
    let mut start = scene.start.clone();
    start.bodies[0].velocity.rotational = Vector3::zeros();
    let scene = Scene { load: study.push, start, ..scene };
    Ok(Motions { turning, centers, sliding: scene.simulate_by(integrator, TIME_STEP)? })
}

/// Prints and draws one scene.
fn study(study: &Study, folder: &Path) -> Result<(), Box<dyn Error>> {
    let name = study.scene.name;
    let from = study.slides_from;
    let limit = study.limit_surface()?;
    // e_r of ellipsoids that are right where the body turns alone, and where it slides and turns slowly.
    let turning = limit.last().ok_or("points")?[1];
    let [_, moment] = limit[1];
    let sliding = (moment / (4.0 * f64::tan(FRAC_PI_2 / LIMIT_POINTS))).sqrt();
    let radii = [scenes::ELLIPSOID[2], sliding, turning];
    let excess = |radius: f64| {
        let inside = limit.iter().map(|[f, m]| f64::hypot(*f, m / radius));
        inside
            .fold([f64::MAX, 0.0], |[least, most], x| [least.min(x), most.max(x)])
            .map(|x| 100.0 * (x - 1.0))
    };
    println!("\n{name}: the integral of friction against the ellipsoid with e_r, in % of the latter");
    for radius in radii {
        let [least, most] = excess(radius);
        println!("  e_r {radius:.4} m: {least:+.1} to {most:+.1} %");
    }
    let ecp = Integrator::Complementarity(ComplementarityMethod::Ecp);
    let rigid: Result<Vec<_>, Box<dyn Error>> =
        radii.iter().map(|&radius| motions(study, study.rigid(radius)?, ecp)).collect();
    let rigid = rigid?;
    let lagged =
        Integrator::VelocityLevel(VelocityLevel { model: ContactModel::Lagged, ..Default::default() });
    let names = radii.map(|radius| format!("ω z, e_r {radius:.2} m"));
    let mut curves: Vec<Curve> = names.map(|name| curve(name, Vec::new(), false, true)).into();
    curves.push(curve("v, no torque", Vec::new(), false, true));
    let mut stiffest = None;
    println!(
        "  largest differences of pressure fields to ECP: v (m/s) and ω z (rad/s) with each e_r, the contact point (root"
    );
    println!(
        "  mean square, m) and v without torque with the second; height of the centre of mass over all the motion (m)"
    );
    for modulus in MODULI {
        let fields = motions(study, study.compliant(modulus)?, lagged)?;
        print!("  {modulus:6.0e} Pa");
        for (rigid, curve) in rigid.iter().zip(&mut curves) {
            let [x, y, spin] = difference(&rigid.turning, &fields.turning, from);
            print!(" | {:.2e} {spin:.2e}", f64::hypot(x, y));
            curve.points.push((modulus, spin));
        }
        let [x, y, _] = difference(&rigid[1].sliding, &fields.sliding, 0.0);
        curves[3].points.push((modulus, f64::hypot(x, y)));
        let heights = rigid[0].turning.states.iter().zip(&fields.turning.states);
        let height = heights.fold(0.0, |most, (a, b)| f64::max(most, (a.position.z - b.position.z).abs()));
        let point = apart(&rigid[1].centers, &fields.centers, from);
        println!(" | {point:.2e} | {:.2e} | {height:.2e}", f64::hypot(x, y));
        stiffest = Some(fields.turning);
    }
    let spin = |motion: &Motion| {
        let times =
            motion.states.iter().enumerate().map(|(i, s)| (i as f64 * TIME_STEP, s.velocity.rotational.z));
        times.filter(|(time, _)| *time >= from).collect()
    };
    let named = |radius: f64| format!("ECP, e_r {radius:.2} m");
    let ellipse = |radius: f64| {
        let angles = (0..=60).map(|k| FRAC_PI_2 * f64::from(k) / 60.0);
        curve(named(radius), angles.map(|a| (a.cos(), radius * a.sin())).collect(), false, false)
    };
    let mut spins: Vec<_> = rigid
        .iter()
        .zip(radii)
        .map(|(r, radius)| curve(named(radius), spin(&r.turning), false, false))
        .collect();
    spins.push(curve("fields, 1e10 Pa", spin(&stiffest.ok_or("moduli")?), true, false));
    let mut limits: Vec<_> = radii.map(ellipse).into();
    limits.push(curve("integral", limit.iter().map(|[f, m]| (*f, *m)).collect(), true, false));
    let plot = |title, x, y, logarithmic, curves| Plot { title, x, y, logarithmic, curves };
    let difference = "Largest difference of pressure fields to ECP";
    let plots = [
        plot(difference, "hydroelastic modulus / Pa", "m/s, rad/s", [true; 2], curves),
        plot("Angular velocity", "t / s", "rad/s", [false; 2], spins),
        plot("Friction on soles that slide and turn", "force / μ N", "moment / μ N, m", [false; 2], limits),
    ];
    let name = name.to_lowercase().replace('-', "_");
    draw(folder.join(format!("rigid_contact_{name}_fields.svg")), &plots)
}

/// Both scenes.
pub fn run(folder: &Path) -> Result<(), Box<dyn Error>> {
    study(&desk(), folder)?;
    study(&tee(), folder)
}
