//! A rattleback: a stone whose axes of inertia are turned against those of its bottom spins one way, rocks, and turns back.

use isobar::contact::{Collider, ContactModel, ContactSettings, Material};
use isobar::field::RigidSurface;
use isobar::geometry::{Shape, SurfaceMesh};
use isobar::multibody::{
    Body, BodyGeometry, BodyState, MassProperties, MassSource, Model, ModelBuilder, State,
};
use isobar::rollout::{Rollout, SimulationSettings, Trajectory};
use isobar::spatial::{Quaternion, RigidTransform, SpatialVelocity, rotation_exponential, rotation_from_rpy};
use isobar::step::Integrator;
use nalgebra::{Matrix3, Vector3};

use crate::figure::{Curve, Plot};
use crate::film::{Look, film, with_shape};
use crate::page::{Failure, Figure, Page, Picture, Points, Run, row};

/// The stone of Kane and Levinson (1982): semi-axes (m), how far its mass is below the middle (m), mass (kg), inertia (kg m²).
const AXES: [f64; 3] = [0.2, 0.03, 0.02];
const BELOW: f64 = 0.01;
const MASS: f64 = 1.0;
const INERTIA: Matrix3<f64> = Matrix3::new(2e-4, -2e-5, 0.0, -2e-5, 1.6e-3, 0.0, 0.0, 0.0, 1.7e-3);
/// Roll and pitch at the start (rad), and the spin (rad/s).
const TILT: f64 = 0.5 * std::f64::consts::PI / 180.0;
const SPIN: f64 = 5.0;
const G: f64 = 9.81;
/// Below 0.74 the stone slips as it rocks.
const FRICTION: f64 = 1.0;
/// Pressure over depth of the plane, Pa/m, stiffest first.
const STIFFNESSES: [f64; 3] = [1e14, 1e13, 5e9];
const STEP: f64 = 1e-4;
const UNTIL: f64 = 3.0;
const RK4: (Integrator, f64) = (Integrator::RungeKutta4, STEP);
/// When the tests look, s.
const SOON: f64 = 0.05;
/// Half of the size of the part of the bottom that touches, m, and the cells of its mesh in half of a patch.
const BOTTOM: [f64; 2] = [0.075, 0.008];
const CELLS: f64 = 1.8;

/// The point of the stone's surface whose normal is down: in the stone, from its middle.
fn lowest(up: &Vector3<f64>) -> Vector3<f64> {
    let squares = Vector3::from(AXES.map(|a| a * a));
    let scaled = up.component_mul(&squares);
    -scaled / up.dot(&scaled).sqrt()
}

/// The stone as it rolls on a point without slip: its angular acceleration, from its rotation and its angular velocity.
fn rolling(rotation: &Matrix3<f64>, spin: &Vector3<f64>) -> Vector3<f64> {
    let squares = Vector3::from(AXES.map(|a| a * a));
    let up = rotation.tr_mul(&Vector3::z());
    let turned = -rotation.tr_mul(spin).cross(&up);
    // How the point moves in the stone.
    let size = up.dot(&up.component_mul(&squares)).sqrt();
    let moved = up.component_mul(&squares) * (up.dot(&turned.component_mul(&squares)) / size.powi(3))
        - turned.component_mul(&squares) / size;
    let arm = rotation * (lowest(&up) + Vector3::z() * BELOW);
    let arm_rate = rotation * moved + spin.cross(&arm);
    let inertia = rotation * INERTIA * rotation.transpose();
    let about_point = inertia + (Matrix3::identity() * arm.norm_squared() - arm * arm.transpose()) * MASS;
    let weight = arm.cross(&((Vector3::z() * G - spin.cross(&arm_rate)) * MASS));
    about_point.try_inverse().unwrap_or_default() * (weight - spin.cross(&(inertia * spin)))
}

fn start() -> Matrix3<f64> {
    rotation_from_rpy(TILT, TILT, 0.0)
}

/// Spins of the stone that rolls on a point over time, by the Runge–Kutta method.
fn on_a_point(spin: f64, until: f64) -> Points {
    let (mut rotation, mut spin) = (start(), Vector3::z() * spin);
    let steps = (until / STEP).round() as usize;
    let mut points = vec![(0.0, spin.z)];
    for step in 1..=steps {
        let after = |part: f64, of: Vector3<f64>| rotation_exponential(&(of * (part * STEP))) * rotation;
        let a = (spin, rolling(&rotation, &spin));
        let at = |part: f64, k: &(Vector3<f64>, Vector3<f64>)| {
            let w = spin + k.1 * (part * STEP);
            (w, rolling(&after(part, k.0), &w))
        };
        let b = at(0.5, &a);
        let c = at(0.5, &b);
        let d = at(1.0, &c);
        rotation = after(1.0, (a.0 + (b.0 + c.0) * 2.0 + d.0) / 6.0);
        spin += (a.1 + (b.1 + c.1) * 2.0 + d.1) * (STEP / 6.0);
        points.push((step as f64 * STEP, spin.z));
    }
    points
}

/// How deep the stone sinks in where it rests, m: a paraboloid's force is π k √(R₁R₂) δ².
fn depth(stiffness: f64) -> f64 {
    (MASS * G * AXES[2] / (std::f64::consts::PI * stiffness * AXES[0] * AXES[1])).sqrt()
}

/// Half of the patch there, along both axes, m.
fn patch(stiffness: f64) -> [f64; 2] {
    [0, 1].map(|k| (2.0 * AXES[k] * AXES[k] / AXES[2] * depth(stiffness)).sqrt())
}

/// The bottom as a grid that is finer than the patch, closed by a tip above.
fn bottom(stiffness: f64) -> SurfaceMesh {
    let patch = patch(stiffness);
    let [nx, ny] = [0, 1].map(|k| (2.0 * CELLS * BOTTOM[k] / patch[k]).ceil() as usize);
    let number = |i: usize, j: usize| (i * (ny + 1) + j) as u32;
    let at = |k: usize, n: usize, half: f64| half * (2.0 * k as f64 / n as f64 - 1.0);
    let grid = (0..=nx).flat_map(|i| (0..=ny).map(move |j| [at(i, nx, BOTTOM[0]), at(j, ny, BOTTOM[1])]));
    let height = |x: f64, y: f64| -AXES[2] * (1.0 - (x / AXES[0]).powi(2) - (y / AXES[1]).powi(2)).sqrt();
    let mut vertices: Vec<Vector3<f64>> = grid.map(|[x, y]| Vector3::new(x, y, height(x, y))).collect();
    let tip = vertices.len() as u32;
    vertices.push(Vector3::zeros());
    let mut triangles = Vec::new();
    for i in 0..nx {
        for j in 0..ny {
            let [a, b, c, d] = [number(i, j), number(i + 1, j), number(i + 1, j + 1), number(i, j + 1)];
            triangles.extend([[a, c, b], [a, d, c]]);
        }
    }
    let along = |i: usize, j: usize, k: usize, l: usize| [number(i, j), number(k, l), tip];
    for i in 0..nx {
        triangles.extend([along(i, 0, i + 1, 0), along(i + 1, ny, i, ny)]);
    }
    for j in 0..ny {
        triangles.extend([along(nx, j, nx, j + 1), along(0, j + 1, 0, j)]);
    }
    SurfaceMesh { vertices, triangles }
}

/// The stone on a plane, and its first state.
fn stone(stiffness: f64, spin: f64) -> Result<(Model, State), Failure> {
    let material = Material::new(stiffness, 0.0, FRICTION);
    let mass = MassProperties { mass: MASS, center_of_mass: Vector3::z() * -BELOW, inertia: INERTIA };
    let surface = BodyGeometry::new(Collider::rigid(RigidSurface::new(bottom(stiffness)), material));
    let plane = BodyGeometry::new(Collider::compliant_half_space(material, 1.0));
    let bodies = vec![
        Body::free("stone", MassSource::Given(mass), vec![surface])?,
        Body::fixed("plane", RigidTransform::identity(), vec![plane]),
    ];
    let contact = ContactSettings { stiction_velocity: 1e-3, ..Default::default() };
    let model = ModelBuilder { bodies, gravity: Vector3::z() * -G, contact, ..Default::default() }.build()?;
    let arm = start() * lowest(&start().tr_mul(&Vector3::z()));
    let turning = Vector3::z() * spin;
    let velocity = SpatialVelocity { rotational: turning, translational: -turning.cross(&arm) };
    let position = Vector3::z() * (-arm.z - depth(stiffness));
    let body = BodyState { orientation: Quaternion::from_matrix(&start()), position, velocity };
    Ok((model, State::of_bodies(vec![body])))
}

fn spins(trajectory: &Trajectory) -> Points {
    let spin = |state: &State| state.bodies[0].velocity.rotational.z;
    trajectory.times.iter().zip(&trajectory.states).map(|(time, state)| (*time, spin(state))).collect()
}

/// A spin that is more than what rocking swings by, rad/s.
const TURNED: f64 = 0.1;

/// When the stone spins the other way, s.
fn reversal(points: &Points) -> Option<f64> {
    points.iter().find(|p| p.1 * points[0].1.signum() < -TURNED).map(|p| p.0)
}

fn on_a_plane(
    stiffness: f64,
    (integrator, time_step): (Integrator, f64),
    until: f64,
) -> Result<(Model, Trajectory), Failure> {
    let (model, state) = stone(stiffness, -SPIN)?;
    let settings = SimulationSettings { integrator, time_step };
    let trajectory = Rollout::new(&model, &state, settings, until).simulate()?;
    Ok((model, trajectory))
}

/// Every so many points.
fn thinned(points: &Points, every: usize) -> Points {
    points.iter().step_by(every).copied().collect()
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let at = |points: &Points, time: f64| points[((time / STEP).round() as usize).min(points.len() - 1)].1;
    let until = if run == Run::Full { UNTIL } else { SOON };
    let point = on_a_point(-SPIN, until);
    let (_, soon) = on_a_plane(STIFFNESSES[0], RK4, SOON)?;
    let expected = format!("{:.4} (on a point, by its equations)", at(&point, SOON));
    let mut rows = vec![row(
        format!("spin after {SOON} s on the stiffest plane, rad/s"),
        expected,
        spins(&soon)[soon.times.len() - 1].1,
        2e-3,
    )];
    let (mut figures, mut result, mut more) = (Vec::new(), String::new(), String::new());
    if run == Run::Full {
        let told = |time: Option<f64>| time.map_or("not".into(), |time| format!("{time:.3}"));
        let turns = told(reversal(&point));
        more = format!(
            "| pressure over depth, Pa/m | patch at rest, mm | turns back after, s |\n|---|---|---|\n| – | point | {turns} |\n"
        );
        let mut curves = Vec::new();
        let curve = |name: String, points: &Points, reference| Curve {
            name,
            points: thinned(points, 500),
            reference,
            marks: false,
        };
        // At the same time: they are long. An error is told as text, which threads can pass on.
        let lagged = Integrator::velocity_level(ContactModel::Lagged);
        let (planes, implicit) = std::thread::scope(|scope| {
            let start = |stiffness, steps| {
                scope.spawn(move || on_a_plane(stiffness, steps, UNTIL).map_err(|error| error.to_string()))
            };
            let planes = STIFFNESSES.map(|stiffness| start(stiffness, RK4));
            let implicit = [STEP, 10.0 * STEP].map(|step| start(STIFFNESSES[1], (lagged, step)));
            let ended = |all: Vec<std::thread::ScopedJoinHandle<_>>| {
                all.into_iter().map(|one| one.join().map_err(|_| "a thread has ended")).collect::<Vec<_>>()
            };
            (ended(planes.into()), ended(implicit.into()))
        });
        for (stiffness, plane) in STIFFNESSES.into_iter().zip(planes) {
            let (model, trajectory) = plane??;
            let spins = spins(&trajectory);
            let size = patch(stiffness).map(|half| format!("{:.2}", 2e3 * half)).join(" × ");
            let quantity = format!("patch of {size} mm: spin after {UNTIL} s, rad/s");
            rows.push(row(
                quantity,
                format!("{:.4} (on a point)", at(&point, UNTIL)),
                spins[spins.len() - 1].1,
                0.05,
            ));
            more += &format!("| {stiffness:.0e} | {size} | {} |\n", told(reversal(&spins)));
            curves.push(curve(format!("{size} mm"), &spins, false));
            if stiffness == STIFFNESSES[0] {
                let back = reversal(&spins).unwrap_or(f64::NAN);
                rows.insert(
                    0,
                    row("stiffest plane: turns back after, s", format!("{turns} (on a point)"), back, 0.02),
                );
                result = format!(
                    "A stone that spins at −{SPIN} rad/s turns back after {} s on a stiff plane, after {} s on a point.",
                    told(reversal(&spins)),
                    turns
                );
                // The whole stone from above.
                let whole = Shape::Ellipsoid { semi_axes: AXES };
                let model = with_shape(model, 0, &whole, RigidTransform::identity())?;
                let look = Look {
                    slower: 2.0,
                    axes: [Vector3::x(), Vector3::y()],
                    ..Look::from_the_side([400, 400], [0.0, 0.0], 850.0)
                };
                let caption = "The stone on the stiffest plane from above, twice slower".into();
                figures.push(Figure {
                    suffix: "_film",
                    caption,
                    picture: Picture::Svg(film(&model, &trajectory, &look)),
                });
            }
        }
        for (plane, name) in implicit.into_iter().zip(["0.1 ms", "1 ms"]) {
            let spins = spins(&plane??.1);
            let last = spins[spins.len() - 1].1;
            rows.push(row(
                format!("the second patch by `lagged`, steps of {name}: spin after {UNTIL} s, rad/s"),
                "as `rk4`",
                last,
                0.05,
            ));
            more += &format!(
                "| {:.0e}, `lagged`, steps of {name} | – | {} |\n",
                STIFFNESSES[1],
                told(reversal(&spins))
            );
        }
        curves.push(curve("point".into(), &point, true));
        let plot =
            Plot { title: "Spin of the stone", x: "time, s", y: "rad/s", logarithmic: [false; 2], curves };
        figures.insert(
            0,
            Figure {
                suffix: "",
                caption: "Spin over time, on a point and on patches".into(),
                picture: Picture::Plots(vec![plot]),
            },
        );
    }
    Ok(Page {
        name: "rattleback",
        title: "A rattleback turns back",
        source: "Kane and Levinson 1982",
        result,
        figures,
        rows,
        why: "A patch that spins is braked by its friction, by some μ N times its radius. The spin of this stone, which friction at a point cannot \
              brake, is lost so within 5 s on the smallest of these patches, and within a rocking or two on that of a plane of 10⁸ Pa and \
              2 cm, on which it does \
              not turn back. Without friction of 0.74 and more the stone slips as it rocks. The mesh has to be finer than the patch. \
              Steps are of 0.1 ms by `rk4` \
              but where another is named: `lagged` loses the energy of the rocking as its steps get longer."
            .into(),
        more,
    })
}
