//! Elandt et al. (2019), §VIII-B: a threaded bolt is turned into a soft nut. Its torque is that of a screw.

use std::collections::HashMap;
use std::f64::consts::TAU;

use isobar::Scene;
use isobar::contact::{ContactPair, ContactSettings, Workspace, for_each_contact_polygon, for_each_face};
use isobar::geometry::Shape;
use isobar::multibody::{Model, SensorWorkspace, State};
use isobar::rollout::Trajectory;
use isobar::spatial::RigidTransform;

use crate::figure::{Curve, Plot};
use crate::film::{Look, film, with_shape};
use crate::gradients::derivatives;
use crate::page::{Failure, Figure, Page, Picture, Run, row, shown};

const SCENE: &str = include_str!("../scenes/nut.toml");
/// Pitch and mean radius of the thread (m), and the tangent of the angle between its flanks and the plane across the axis: 30°.
const PITCH: f64 = 3e-3;
const RADIUS: f64 = 5e-3;
const SLOPE: f64 = 0.577_350_269_189_625_8;
/// Flat pieces around the axis.
const AROUND: usize = 32;
/// The pull (N), the bolt's mass (kg) and its moment of inertia about the axis (kg m²).
const PULL: f64 = 10.0;
const MASS: f64 = 0.02;
const INERTIA: f64 = 4e-5;
/// The slip velocity at which friction acts, m/s.
const STICTION: f64 = 1e-4;
/// With the first the thread holds, with the second it runs out.
const FRICTIONS: [f64; 2] = [0.15, 0.03];
/// The start and the commands of the file, and those of a bolt in the midst of the nut, which turns in and out for a moment.
const START: &str = "position = 0.0062";
const MIDST: &str = "position = 0.00013";
const TURN: &str =
    "times = [0, 0.05, 0.1, 1.35, 1.45, 1.75, 1.8], values = [0.0, 0.0, -20.0, -20.0, 20.0, 20.0, 0.0]";
const MOMENT: &str =
    "times = [0, 0.02, 0.04, 0.17, 0.21, 0.34], values = [0.0, 0.0, -20.0, -20.0, 20.0, 20.0]";
/// When that turns in and out at constant speed; when a bolt without drive has run out for a while, s.
const IN_AND_OUT: [[f64; 2]; 2] = [[0.05, 0.17], [0.22, 0.34]];
const ALONE: [f64; 2] = [0.1, 0.2];
/// The motion of the file: from when it turns until it is in, when derivatives are taken, and the end, s.
const IN: [f64; 2] = [0.06, 1.4];
const TURNING: f64 = 0.15;
const END: f64 = 1.8;
/// Steps from one look at the bolt to the next.
const STRIDE: usize = 4;

/// A thread of a bolt or a nut, made of straight pieces.
struct Thread {
    /// Radii of its two flats, m.
    radii: [f64; 2],
    /// How far each flank is set back along the axis from where bolt and nut just touch, m.
    play: f64,
    turns: usize,
    /// Pieces around.
    around: usize,
}

impl Thread {
    /// Vertices along the thread, four at each angle from a corner of the profile on, each followed by those outside of it.
    fn vertices(&self, first: usize, outside: &[f64]) -> Vec<[f64; 3]> {
        let mut vertices = Vec::new();
        for n in 0..4 * (self.around * self.turns + 1) {
            let (corner, around) = (n % 4 + first, (n / 4) as f64 / self.around as f64);
            let radius = self.radii[corner % 4 / 2];
            // Half of the width of the bolt's ridge, or of the nut's groove, in pitches.
            let half = 0.25 + (self.play - (radius - RADIUS) * SLOPE) / PITCH;
            let middle = if corner % 4 == 0 { -0.5 } else { 0.5 } + (corner / 4) as f64;
            let height = if corner % 2 == (corner % 4) / 2 { middle + half } else { middle - half };
            let (sin, cos) = (TAU * around).sin_cos();
            let z = PITCH * (height + around);
            vertices.extend([radius].iter().chain(outside).map(|r| [r * cos, r * sin, z]));
        }
        vertices
    }

    /// The place of a vertex: around, along the axis. A turn leads four corners on.
    fn at(&self, i: usize, j: usize) -> usize {
        4 * (i + self.around * (j / 4)) + j % 4
    }

    /// The rigid bolt: vertices and triangles, with a ramp at each end.
    fn bolt(&self) -> String {
        let mut vertices = self.vertices(0, &[]);
        let mut triangles = Vec::new();
        let last = 4 * self.turns - 1;
        for (i, j) in (0..self.around).flat_map(|i| (0..last).map(move |j| (i, j))) {
            let [a, b] = [self.at(i, j), self.at(i + 1, j)];
            let [d, c] = [self.at(i, j + 1), self.at(i + 1, j + 1)];
            triangles.extend([[a, b, c], [a, c, d]]);
        }
        for j in [0, last] {
            let around = (0..self.around).map(|i| self.at(i, j));
            let rim: Vec<usize> = around.chain((j + 1..=j + 4).rev().map(|j| self.at(0, j))).collect();
            let z = 0.5 * (vertices[rim[0]][2] + vertices[rim[self.around]][2]);
            for (k, &v) in rim.iter().enumerate() {
                let next = rim[(k + 1) % rim.len()];
                let [v, next] = if j == 0 { [next, v] } else { [v, next] };
                triangles.push([vertices.len(), v, next]);
            }
            vertices.push([0.0, 0.0, z]);
        }
        format!("vertices = {vertices:?}, triangles = {triangles:?}")
    }

    /// The soft nut: vertices, and tetrahedra in two layers.
    fn nut(&self) -> String {
        let vertices = self.vertices(2, &[7.8e-3, 1e-2]);
        let mut tetrahedra = Vec::new();
        for (i, j) in (0..self.around).flat_map(|i| (0..4 * self.turns - 1).map(move |j| (i, j))) {
            // From one corner of a cell to the opposite one, one axis after the other.
            for (k, first) in (0..6).map(|n| (n / 3, n % 3)) {
                for second in [(first + 1) % 3, (first + 2) % 3] {
                    let step = |axes: &[usize]| {
                        let on = |axis| usize::from(axes.contains(&axis));
                        3 * self.at(i + on(0), j + on(1)) + k + on(2)
                    };
                    let corners = [step(&[]), step(&[first]), step(&[first, second]), step(&[0, 1, 2])];
                    let [a, b, c, d] = corners;
                    let is_even = second == (first + 1) % 3;
                    tetrahedra.push(if is_even { corners } else { [a, c, b, d] });
                }
            }
        }
        format!("vertices = {vertices:?}, tetrahedra = {tetrahedra:?}")
    }
}

/// The scene with threads of so many pieces around, changed here and there.
fn scene(around: usize, friction: f64, changes: &[[&str; 2]]) -> Result<Scene, Failure> {
    let bolt = Thread { radii: [4.25e-3, 5.75e-3], play: 0.0, turns: 8, around };
    let nut = Thread { radii: [4.55e-3, 6.05e-3], play: 1e-4, turns: 3, around };
    let text = changes.iter().fold(SCENE.to_owned(), |text, [from, to]| text.replace(from, to));
    let text = text.replace("friction = 0.15", &format!("friction = {friction:?}"));
    let (block, cylinder) =
        ("box = { size = [0.02, 0.02, 0.009] }", "cylinder = { radius = 0.005, length = 0.024 }");
    let text = text.replace(cylinder, &format!("surface_mesh = {{ {} }}", bolt.bolt()));
    let nut = format!("volume_mesh = {{ split_zero_gradient = true, {} }}", nut.nut());
    Ok(Scene::parse(&text.replace(block, &nut), "nut.toml")?)
}

/// The torque of a screw over the force along it, m, at a mean radius of pressure: with friction against its turning up the
/// thread, or of the opposite sign down it.
fn lever(radius: f64, friction: f64) -> f64 {
    let lead = PITCH / (TAU * radius);
    // Over the part of the normal along the axis, with what is along the thread.
    let friction = friction * (1.0 + SLOPE * SLOPE / (1.0 + lead * lead)).sqrt();
    radius * (lead + friction) / (1.0 - friction * lead)
}

/// Bolt and nut at a state, the bolt pushed aside.
fn pair<'a>(model: &'a Model, state: &State, aside: f64) -> ContactPair<'a> {
    let mut frames = Vec::new();
    model.body_frames(state, &mut frames);
    let [nut, bolt] = [0, 2].map(|body: usize| &model.bodies()[body].geometries[0].collider);
    let aside = RigidTransform::from_translation([-aside, 0.0, 0.0]);
    ContactPair::at_rest(bolt, aside * frames[2].pose, nut, frames[0].pose)
}

/// The mean radius of the pressure on the flanks (m), and the torque of a friction of 1 on the crest, whose edge is pressed into the
/// nut with them, N m.
fn pressure(pair: &ContactPair) -> [f64; 2] {
    let (mut force, mut moment, mut crest) = (0.0, 0.0, 0.0);
    for_each_face(pair, &ContactSettings::default(), &mut Workspace::default(), |face| {
        let (pressed, radius) = (face.pressure * face.area, face.centroid.xy().norm());
        if face.normal.z.abs() > 0.5 {
            force += pressed;
            moment += pressed * radius;
        } else {
            crest += pressed * radius;
        }
    });
    [moment / force, crest]
}

/// How many pieces the contact surface consists of.
fn patches(pair: &ContactPair) -> usize {
    fn first(of: &[usize], mut polygon: usize) -> usize {
        while of[polygon] != polygon {
            polygon = of[polygon];
        }
        polygon
    }
    let (mut of, mut at) = (Vec::new(), HashMap::new());
    for_each_contact_polygon(pair, &ContactSettings::default(), &mut Workspace::default(), |polygon| {
        let own = of.len();
        of.push(own);
        for vertex in polygon.vertices {
            // Neighbours have the same corners, but for rounding.
            let other = *at.entry([0, 1, 2].map(|k| (1e9 * vertex[k]).round() as i64)).or_insert(own);
            let [a, b] = [first(&of, own), first(&of, other)];
            of[a] = b;
        }
    });
    (0..of.len()).filter(|&polygon| of[polygon] == polygon).count()
}

/// The bolt at a state.
struct Moment {
    /// It is turned by (rad) with (rad/s), and has risen by (m).
    angle: f64,
    rotation: f64,
    height: f64,
    /// Force along the axis (N) and torque about it (N m) by the nut; [`pressure`].
    force: f64,
    torque: f64,
    pressure: [f64; 2],
}

impl Moment {
    /// The torque of a screw with this friction: on its flanks, and all with that of the crest, N m.
    fn screw(&self, friction: f64) -> [f64; 2] {
        let [radius, crest] = self.pressure;
        let flanks = self.force * lever(radius, friction);
        [flanks, flanks + friction * crest]
    }
}

/// The moments of a motion between two times.
fn moments(scene: &Scene, trajectory: &Trajectory, [from, to]: [f64; 2]) -> Vec<Moment> {
    let at = |time: f64| trajectory.times.partition_point(|t| *t < time - 1e-9);
    let mut workspace = SensorWorkspace::default();
    let moment = |state: &State| {
        let wrench = scene.model.contact_wrench(state, 2, 0, &mut workspace);
        Moment {
            angle: state.joints.q[1],
            rotation: state.joints.v[1],
            height: state.joints.q[0],
            force: -wrench.translational.z,
            torque: wrench.rotational.z,
            pressure: pressure(&pair(&scene.model, state, 0.0)),
        }
    };
    trajectory.states[at(from)..=at(to)].iter().step_by(STRIDE).map(moment).collect()
}

/// Of a bolt that turns in and out in the midst of the nut: the advance in a turn over the pitch, and for both ways the
/// torque by the nut and those of the screw, mN m.
fn turned(around: usize, friction: f64) -> Result<(f64, [[f64; 3]; 2]), Failure> {
    let scene = scene(around, friction, &[[START, MIDST], [TURN, MOMENT]])?;
    let trajectory = scene.rollout(IN_AND_OUT[1][1])?.simulate()?;
    let mut advance = 0.0;
    let ways = [(IN_AND_OUT[0], friction), (IN_AND_OUT[1], -friction)].map(|(times, friction)| {
        let moments = moments(&scene, &trajectory, times);
        let [first, last] = [&moments[0], &moments[moments.len() - 1]];
        advance = (last.height - first.height) / (last.angle - first.angle) * TAU / PITCH;
        let mean =
            |of: &dyn Fn(&Moment) -> f64| 1e3 * moments.iter().map(of).sum::<f64>() / moments.len() as f64;
        [mean(&|m| m.torque), mean(&|m| m.screw(friction)[0]), mean(&|m| m.screw(friction)[1])]
    });
    Ok((advance, ways))
}

/// How a bolt without drive is accelerated by the pull, and how the screw would be, rad/s².
fn alone(friction: f64) -> Result<[f64; 2], Failure> {
    let undriven = ["damping = 0.05", "damping = 0.0"];
    let mut scene = scene(AROUND, friction, &[[START, MIDST], undriven])?;
    scene.time_step = 5e-4;
    let moments = moments(&scene, &scene.rollout(ALONE[1])?.simulate()?, ALONE);
    let [first, last] = [&moments[0], &moments[moments.len() - 1]];
    // Where the pull would have to be helped, the thread holds.
    let torque = last.screw(-friction)[1].max(0.0);
    let screw = torque / (INERTIA + MASS * torque / PULL * PITCH / TAU);
    Ok([(last.rotation - first.rotation) / (ALONE[1] - ALONE[0]), screw])
}

/// The torque of the nut over a motion, and that of the screw.
fn plot(moments: &[Moment]) -> Plot<'static> {
    let curve = |name: &str, of: &dyn Fn(&Moment) -> f64, reference| {
        let time = |k: usize| 1e-3 * (STRIDE * k) as f64;
        let points = moments.iter().enumerate().map(|(k, m)| (time(k), 1e3 * of(m))).collect();
        Curve { name: name.into(), points, reference, marks: false }
    };
    let along = |m: &Moment| m.rotation / m.rotation.hypot(STICTION / RADIUS);
    let screw = |m: &Moment| m.screw(-FRICTIONS[0] * along(m))[1];
    let curves = vec![curve("nut", &|m| m.torque, false), curve("screw", &screw, true)];
    let title = "Torque of the nut on the bolt";
    Plot { title, x: "time, s", y: "mN m", logarithmic: [false; 2], curves }
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let mut rows = Vec::new();
    for friction in &FRICTIONS[..if run == Run::Full { 2 } else { 1 }] {
        let (advance, ways) = turned(AROUND, *friction)?;
        rows.push(row(format!("friction {friction}: advance in a turn / pitch"), "1", advance, 1e-3));
        for ([torque, flanks, screw], way) in ways.into_iter().zip(["in, against", "out, with"]) {
            let quantity = format!("friction {friction}: torque of the nut as it turns {way} the pull, mN m");
            let expected = format!("{} (screw: flanks {}, edge of crest)", shown(screw), shown(flanks));
            rows.push(row(quantity, expected, torque, 5e-3));
        }
    }
    let mut scene = scene(AROUND, FRICTIONS[0], &[])?;
    for (what, height, aside, expected) in [
        ("pulled", 1.3e-4, 0.0, "1: along all of the thread"),
        ("pushed aside by 0.25 mm", 0.0, 2.5e-4, "6: both sides of three turns"),
    ] {
        let mut state = scene.state.clone();
        state.joints.q[0] = height;
        let count = patches(&pair(&scene.model, &state, aside));
        rows.push(row(format!("patches of a bolt that is {what}"), expected, count as f64, 0.0));
    }
    let (mut figures, mut more, mut result) = (Vec::new(), String::new(), String::new());
    if run == Run::Full {
        for friction in FRICTIONS {
            let [value, screw] = alone(friction)?;
            let quantity = format!("friction {friction}, no drive: speeds up by, rad/s²");
            rows.push(row(quantity, format!("{} (screw)", shown(screw)), value, 2e-2));
        }
        let trajectory = scene.rollout(END)?.simulate()?;
        let all = moments(&scene, &trajectory, [0.0, END]);
        let [first, last] = IN.map(|time| &all[(1e3 * time).round() as usize / STRIDE]);
        let (depth, turns) = (1e3 * (first.height - last.height), (first.angle - last.angle) / TAU);
        let expected = format!("{:.2} (turns × pitch)", 1e3 * PITCH * turns);
        rows.push(row("screwed in by, mm", expected, depth, 5e-3));
        // Of coarser threads: there are hundreds of differences, of a few steps each.
        let coarser = self::scene(16, FRICTIONS[0], &[])?;
        rows.push(derivatives(&coarser, TURNING, &format!("at {TURNING} s"))?);
        result = format!(
            "A bolt is screwed into a soft nut by {depth:.1} mm in {turns:.2} turns while it is pulled out of it. The torque is that of a \
             screw: with friction {} it holds itself, with {} the pull turns it out.",
            FRICTIONS[0], FRICTIONS[1]
        );
        more += "| pieces around | torque in, over the screw's, % | out, % |\n|---|---|---|\n";
        for around in [16, 24, 32, 48] {
            let ways = turned(around, FRICTIONS[0])?.1;
            let [into, out] = ways.map(|[torque, _, screw]| 100.0 * (torque / screw - 1.0));
            more += &format!("| {around} | {into:.2} | {out:.2} |\n");
        }
        let handle = Shape::Box { size: [0.022, 0.004, 0.003] };
        let above = RigidTransform::from_translation([0.0, 0.0, 0.0262]);
        scene.model = with_shape(scene.model, 2, &handle, above)?;
        let look = Look { slower: 3.0, cut: true, ..Look::from_the_side([280, 480], [0.0, 0.014], 1e4) };
        figures.extend([
            Figure {
                suffix: "",
                caption: "The bolt is turned in and a little out, cut through the axis".into(),
                picture: Picture::Svg(film(&scene.model, &trajectory, &look)),
            },
            Figure {
                suffix: "_torque",
                caption: "The torque, and that of a screw at the same force and radius; the bolt turns from 0.05 s on".into(),
                picture: Picture::Plots(vec![plot(&all)]),
            },
        ]);
    }
    Ok(Page {
        name: "nut",
        title: "A bolt is turned into a soft nut",
        source: "Elandt §VIII-B",
        result,
        figures,
        rows,
        why: "The paper shows a film and tells no numbers. A screw that is pulled by F takes the torque F r (tan λ ± μ s)/(1 ∓ μ s tan λ), with the \
              lead angle λ at the mean radius r of the pressure, and s² = 1 + tan² 30° cos² λ: that of the flanks in the table. The edge \
              of the bolt's crest is pressed into the nut as deep as the flanks are, and rubs with 2 % of their pressure. With that the \
              torque is within 0.4 %, and nearer with finer threads (below). Above a friction of tan λ/s = 0.08 the thread holds itself. \
              The bolt comes in by 0.3 mm more than its turns say: the pull presses it 0.3 mm into one turn of the nut at the start, and \
              0.05 mm into three turns at the end. One patch winds along all of the thread; a bolt pushed aside has one on each side of \
              each turn."
            .into(),
        more,
    })
}
