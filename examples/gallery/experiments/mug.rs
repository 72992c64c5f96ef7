//! Elandt et al. (2019), §VIII-B: a mug, of which nothing is known but its surface, is picked by its handle and by a hand around its body.

use std::path::Path;

use isobar::Scene;
use isobar::multibody::{Model, SensorWorkspace, State};
use isobar::rollout::Trajectory;

use crate::gradients::derivatives_by;
use crate::page::{Failure, Figure, Page, Picture, Run, row};
use crate::solid_film::{Look, played};

const PADS: &str = include_str!("../../mug/grasp.toml");
const HAND: &str = include_str!("../../mug/hand.toml");
/// The folder of both, by which they find the mug and the hand.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/mug/");
const MODEL: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data/models/allegro/allegro_hand_description_right.urdf");
/// Until the mug is held, and in the midst of the lift, s.
const UNTIL: f64 = 2.0;
const LIFTING: f64 = 1.0;
const G: f64 = 9.81;
/// How the pads and the hand are looked at: what is only drawn are the links that touch nothing.
const BESIDE: Look = Look {
    scale: 1150.0,
    view: [-0.12, 0.12, -0.045, 0.265],
    eye: [-0.9, 0.35],
    table: [0.09, 0.09],
    colour: |name, _| match name {
        "mug" => [225.0, 150.0, 70.0],
        "table" => [200.0, 205.0, 200.0],
        _ => [60.0, 130.0, 190.0],
    },
    drawn: &[
        ("link_0", [0.0, 0.0, 0.0082], [0.0098, 0.01375, 0.0082]),
        ("link_4", [0.0, 0.0, 0.0082], [0.0098, 0.01375, 0.0082]),
        ("link_8", [0.0, 0.0, 0.0082], [0.0098, 0.01375, 0.0082]),
        ("link_12", [-0.0179, 0.009, 0.0145], [0.0179, 0.017, 0.02275]),
        ("link_13", [0.0, 0.0, 0.00885], [0.0098, 0.01375, 0.00885]),
    ],
};

fn scene(text: &str) -> Result<Scene, Failure> {
    Ok(Scene::parse(text, format!("{FOLDER}scene.toml"))?)
}

/// What becomes of the mug.
struct Grasp {
    trajectory: Trajectory,
    /// How far it is raised (mm), how far it leans (degrees), and what all bodies that touch it bear over its weight.
    raised: f64,
    leans: f64,
    borne: f64,
}

fn grasp(scene: &Scene) -> Result<Grasp, Failure> {
    let Scene { model, .. } = scene;
    let trajectory = scene.rollout(UNTIL)?.simulate()?;
    let mug = model.body_index("mug").ok_or("a mug")?;
    let pose = |state: &State| {
        let mut frames = Vec::new();
        model.body_frames(state, &mut frames);
        frames[mug].pose
    };
    let last = &trajectory.states[trajectory.states.len() - 1];
    let (before, after) = (pose(&trajectory.states[0]), pose(last));
    let mut workspace = SensorWorkspace::default();
    let others = (0..model.bodies().len()).filter(|body| *body != mug);
    let up = others.map(|body| model.contact_wrench(last, mug, body, &mut workspace).translational.z);
    let borne = up.sum::<f64>() / (G * model.bodies()[mug].mass().ok_or("its mass")?.mass);
    let raised = 1e3 * (after.translation - before.translation).z;
    Ok(Grasp { trajectory, raised, leans: after.rotation[(2, 2)].acos().to_degrees(), borne })
}

/// The film of a grasp.
fn seen(model: &Model, grasp: &Grasp, suffix: &'static str, caption: &str) -> Result<Figure, Failure> {
    let picture = Picture::Png(played(model, &grasp.trajectory, UNTIL, &BESIDE)?);
    Ok(Figure { suffix, caption: caption.into(), picture })
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let (mut rows, mut figures) = (Vec::new(), Vec::new());
    let pads = scene(PADS)?;
    let by_handle = grasp(&pads)?;
    let mut result = format!(
        "Two pads lift a mug by {:.1} mm by its handle. Its surface is all that the scene has of it.",
        by_handle.raised
    );
    let is_there = Path::new(MODEL).exists();
    if run == Run::Full && !is_there {
        eprintln!("mug: {MODEL} is not there, so the rows of the hand are left out");
    }
    let hands = [0.8, 0.1].map(|friction| {
        let text = HAND.replace("friction = 0.8", &format!("friction = {friction:?}"));
        (run == Run::Full && is_there).then_some(text)
    });
    if let [Some(firm), Some(slippery)] = hands {
        let hand = scene(&firm)?;
        let around = grasp(&hand)?;
        result = format!(
            "An Allegro hand lifts a mug by {:.1} mm around its body, two pads by {:.1} mm by its handle. Its surface is all that the \
             scenes have of it.",
            around.raised, by_handle.raised
        );
        rows.push(row("hand: raised by, mm", "100 (with the wrist)", around.raised, 0.02));
        rows.push(row("hand: the mug leans by, °", "0", around.leans, 0.05));
        rows.push(row("hand: what it bears over the weight", "1", around.borne, 1e-3));
        rows.push(row(
            "hand, friction 0.1: raised by, mm",
            "0 (slips out)",
            grasp(&scene(&slippery)?)?.raised,
            0.05,
        ));
        let place = format!("at {LIFTING} s by the mug, a joint of the thumb and friction");
        rows.push(derivatives_by(&hand, LIFTING, &place, &["mug.", "joint_14", "friction"])?);
        let caption = "An Allegro hand takes the mug, lifts it and holds it; grey links touch nothing";
        figures.push(seen(&hand.model, &around, "", caption)?);
    }
    rows.push(row("pads at the handle: raised by, mm", "100 (with the pads)", by_handle.raised, 0.01));
    rows.push(row("pads at the handle: the mug leans by, °", "0", by_handle.leans, 0.02));
    rows.push(row("pads at the handle: what they bear over the weight", "1", by_handle.borne, 1e-3));
    if run == Run::Full {
        figures.push(seen(&pads.model, &by_handle, "_handle", "Two pads take the mug by its handle")?);
    }
    Ok(Page {
        name: "mug",
        title: "A hand picks a mug",
        source: "Elandt §VIII-B",
        result,
        figures,
        rows,
        why: "The paper shows a film of a hand with a mug and tells no numbers. The mug is a surface of 206 points, filled with tetrahedra by \
              the scene; the hand's model is that of its maker, with a box or a ball for each link and its motors' drives as springs. The \
              fingers close further than the mug lets them, and give as they lift it, so that it comes less high than the wrist and \
              leans."
            .into(),
        more: String::new(),
    })
}
