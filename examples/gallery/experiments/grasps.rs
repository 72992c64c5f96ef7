//! Elandt et al. (2019), §VIII-B: two boxes manipulate a spoon; chopsticks pick a small, soft object.

use std::f64::consts::FRAC_PI_2;

use isobar::Scene;
use isobar::multibody::SensorWorkspace;
use isobar::rollout::Trajectory;
use nalgebra::Vector3;

use crate::film::{Look, film};
use crate::gradients::derivatives;
use crate::page::{Failure, Figure, Page, Picture, Run, row};

const SPOON: &str = include_str!("../scenes/spoon.toml");
const CHOPSTICKS: &str = include_str!("../scenes/chopsticks.toml");
/// When the spoon has been lifted and turned, and in the midst of it, s.
const TURNED: f64 = 1.5;
const TURNING: f64 = 1.1;
/// When the dumpling has been lifted, and in the midst of it, s.
const LIFTED: f64 = 1.2;
const LIFTING: f64 = 0.6;
/// Torque of a chopstick (N m), and how far from its pivot it presses (m).
const TORQUE: f64 = 0.1;
const LEVER: f64 = 0.155;

fn film_of(scene: &Scene, trajectory: &Trajectory, look: &Look, caption: &str) -> Figure {
    let picture = Picture::Svg(film(&scene.model, trajectory, look));
    Figure { suffix: "", caption: caption.into(), picture }
}

pub fn spoon(run: Run) -> Result<Page, Failure> {
    let scene = |modulus: &str| {
        Scene::parse(
            &SPOON.replace("hydroelastic_modulus = 1e6", &format!("hydroelastic_modulus = {modulus}")),
            "spoon.toml",
        )
    };
    let turned = |trajectory: &Trajectory| {
        let across =
            trajectory.states[trajectory.states.len() - 1].bodies[0].pose().rotation.column(1).into_owned();
        across.z.atan2(across.y).abs()
    };
    let softer = turned(&scene("1e5")?.rollout(TURNED)?.simulate()?);
    let scene = scene("1e6")?;
    let trajectory = scene.rollout(TURNED)?.simulate()?;
    let [first, last] = [0, trajectory.states.len() - 1].map(|k| trajectory.states[k].bodies[0].pose());
    let moved = last.translation - first.translation;
    let angle = turned(&trajectory);
    let sinks = last.rotation[(2, 0)].asin();
    let mut rows = vec![
        row("turned about the handle, °", "90 (rolls without slip)", angle.to_degrees(), 0.05),
        row(
            "the same of boxes of 10⁵ Pa, °",
            "less: they hold the handle all around",
            softer.to_degrees(),
            0.05,
        ),
        row("raised by, mm", "50 (as the boxes)", 1e3 * moved.z, 0.02),
        row("moved along the handle, mm", "0", 1e3 * moved.x, 0.02),
        row("the bowl sinks by, °", "0", -sinks.to_degrees(), 0.02),
    ];
    let mut figures = Vec::new();
    if run == Run::Full {
        rows.push(derivatives(&scene, TURNING, &format!("at {TURNING} s"))?);
        // Along the handle, and from above it.
        let look = Look {
            axes: [Vector3::new(0.35, -0.94, 0.0), Vector3::new(0.25, 0.1, 0.96)],
            ..Look::from_the_side([420, 380], [0.02, 0.07], 2200.0)
        };
        figures.push(film_of(
            &scene,
            &trajectory,
            &look,
            "The spoon is lifted off its stand, and its handle rolls between the boxes",
        ));
    }
    Ok(Page {
        name: "spoon",
        title: "Two boxes turn a spoon",
        source: "Elandt §VIII-B",
        result: format!(
            "Two soft boxes lift a rigid spoon by {:.1} mm and turn it by {:.1}° as one goes up and one down: its handle rolls between them.",
            1e3 * moved.z,
            angle.to_degrees()
        ),
        figures,
        rows,
        why: format!(
            "The paper shows a film and tells no numbers. A handle of 4 mm radius that rolls without slip turns by a quarter where each box goes by \
             {:.2} mm. Boxes of 10⁵ Pa are pressed in by 3 mm, and hold the handle all around: its surface moves along itself, the \
             box across it where it is not flat, so that the mean of both is less.",
            4.0 * FRAC_PI_2
        ),
        more: String::new(),
    })
}

pub fn chopsticks(run: Run) -> Result<Page, Failure> {
    let scene = |friction: f64| {
        Scene::parse(
            &CHOPSTICKS.replace("friction = 0.6", &format!("friction = {friction:?}")),
            "chopsticks.toml",
        )
    };
    let mut rows = Vec::new();
    let mut raised = [0.0; 2];
    let mut figures = Vec::new();
    for ((friction, expected), raised) in
        [(0.6, "100 (with the hand)"), (0.05, "0 (slips out)")].into_iter().zip(&mut raised)
    {
        let scene = scene(friction)?;
        let trajectory = scene.rollout(LIFTED)?.simulate()?;
        let last = &trajectory.states[trajectory.states.len() - 1];
        let [before, after] = [&trajectory.states[0], last].map(|state| state.bodies[0].position.z);
        *raised = 1e3 * (after - before);
        rows.push(row(
            format!("friction {friction}: the dumpling is raised by, mm"),
            expected,
            *raised,
            0.02,
        ));
        if friction == 0.6 {
            let body = |name: &str| scene.model.body_index(name).ok_or(format!("no body {name}"));
            let force = scene.model.contact_wrench(
                last,
                body("dumpling")?,
                body("left stick")?,
                &mut SensorWorkspace::default(),
            );
            let expected = format!("{:.4} (torque over lever)", TORQUE / LEVER);
            rows.push(row("force of a chopstick across, N", expected, force.translational.x.abs(), 0.02));
            if run == Run::Full {
                rows.push(derivatives(&scene, LIFTING, &format!("at {LIFTING} s"))?);
                let look = Look::from_the_side([300, 460], [0.0, 0.1], 1900.0);
                figures.push(film_of(
                    &scene,
                    &trajectory,
                    &look,
                    "The chopsticks close on a dumpling and lift it",
                ));
            }
        }
    }
    Ok(Page {
        name: "chopsticks",
        title: "Chopsticks pick a dumpling",
        source: "Elandt §VIII-B",
        result: format!("Two rigid chopsticks close on a soft dumpling and raise it by {:.1} mm as the hand rises by 100 mm; with a friction of 0.05 it slips out.", raised[0]),
        figures,
        rows,
        why: "The paper shows a film and tells no numbers. The dumpling comes less high than the hand as it sinks into the table at first, and as \
              regularized friction creeps."
            .into(),
        more: String::new(),
    })
}
