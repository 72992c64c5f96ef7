//! Masterjohn et al. (2021), §VI: how deep a thin compliant box must be pushed into a compliant half-space to be lost, and at which
//! speed a step takes it there.

use isobar::Scene;
use isobar::advice::{Pressing, advise};
use isobar::contact::{Collider, ContactPair, ContactSettings, FaceFilter, Material, Workspace, contact};
use isobar::geometry::Shape;
use isobar::multibody::Model;
use isobar::rollout::{SimulationSettings, Trajectory};
use isobar::spatial::RigidTransform;
use nalgebra::Vector3;

use crate::figure::{Curve, Plot};
use crate::film::{Look, film};
use crate::page::{Failure, Figure, Page, Picture, Run, row, shown};

const SCENE: &str = include_str!("../scenes/thin_box.toml");
/// Thickness of the half-space, m, and modulus of the box, Pa.
const THICKNESS: f64 = 0.05;
const MODULUS: f64 = 1e6;
/// Thicknesses of the box, m, and moduli of the half-space over that of the box.
const BOXES: [f64; 4] = [0.002, 0.005, 0.01, 0.02];
const RATIOS: [f64; 2] = [1.0, 4.0];
const SIDE: f64 = 0.1;
const TIME_STEPS: [f64; 4] = [1e-3, 2e-3, 5e-3, 1e-2];

/// The depth of the lower face at which no surface is left: where the half-space's pressure in the middle plane of the box is its modulus.
fn by_hand(thickness: f64, ratio: f64) -> f64 {
    0.5 * thickness + THICKNESS / ratio
}

/// The force on the box at a depth of its lower face, N.
fn force(thickness: f64, ratio: f64, depth: f64) -> Result<f64, Failure> {
    let (shape, material) = (Shape::Box { size: [SIDE, SIDE, thickness] }, Material::new(MODULUS, 0.0, 0.0));
    let body = Collider::of_shape(&shape, 1.0, material)?;
    let ground = Collider::compliant_half_space(Material::new(ratio * MODULUS, 0.0, 0.0), THICKNESS);
    let pose = RigidTransform::from_translation(Vector3::z() * (0.5 * thickness - depth));
    let pair = ContactPair::at_rest(&body, pose, &ground, RigidTransform::identity());
    let patch = contact(&pair, &ContactSettings::default(), &mut Workspace::default())?;
    Ok(patch.map_or(0.0, |patch| patch.wrench_on_a.translational.z))
}

/// The depth at which the upward force is lost, by halving.
fn lost_at(thickness: f64, ratio: f64) -> Result<f64, Failure> {
    let (mut low, mut high) = (0.25 * thickness, 2.0 * by_hand(thickness, ratio));
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if force(thickness, ratio, middle)? > 0.0 { low = middle } else { high = middle }
    }
    Ok(0.5 * (low + high))
}

/// A box that falls on the half-space at a speed, for 0.1 s.
fn fall(
    thickness: f64,
    speed: f64,
    time_step: f64,
    face_filter: FaceFilter,
) -> Result<(Model, Trajectory), Failure> {
    let text = SCENE.replace("0.1, 0.1, 0.005", &format!("0.1, 0.1, {thickness}"));
    let mut scene = Scene::parse(&text, "thin_box.toml")?;
    scene.time_step = time_step;
    let mut builder = scene.model.into_builder();
    builder.contact.face_filter = face_filter;
    scene.model = builder.build()?;
    // It begins just above, so that the first step takes it in.
    let body = &mut scene.state.bodies[0];
    body.position.z = 0.5 * thickness + 1e-6;
    body.velocity.translational.z = -speed;
    let trajectory = scene.rollout(0.1)?.simulate()?;
    Ok((scene.model, trajectory))
}

/// Whether it is still above the lower side of the half-space at the end.
fn is_kept(thickness: f64, speed: f64, time_step: f64, face_filter: FaceFilter) -> Result<bool, Failure> {
    let (_, trajectory) = fall(thickness, speed, time_step, face_filter)?;
    Ok(trajectory.states[trajectory.states.len() - 1].bodies[0].position.z > -THICKNESS)
}

/// A film of a box of 5 mm that falls at 12 m/s, by steps of 5 ms.
fn seen(suffix: &'static str, how: &str, face_filter: FaceFilter) -> Result<Figure, Failure> {
    let (model, trajectory) = fall(BOXES[1], 12.0, TIME_STEPS[2], face_filter)?;
    let look = Look { slower: 40.0, ..Look::from_the_side([240, 260], [0.0, 0.0], 900.0) };
    let caption = format!("A box of 5 mm at 12 m/s, by steps of 5 ms that are {how}, forty times slower");
    Ok(Figure { suffix, caption, picture: Picture::Svg(film(&model, &trajectory, &look)) })
}

/// The least speed at which a box is lost, by halving.
fn losing_speed(thickness: f64, time_step: f64, face_filter: FaceFilter) -> Result<f64, Failure> {
    let (mut low, mut high) = (0.1, 1000.0);
    for _ in 0..20 {
        let middle = f64::sqrt(low * high);
        if is_kept(thickness, middle, time_step, face_filter)? { low = middle } else { high = middle }
    }
    Ok(f64::sqrt(low * high))
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let mut rows = Vec::new();
    let mut table = String::from(
        "| box, mm | E half-space / E box | lost at the depth, mm | by hand | over the thickness |\n|---|---|---|---|---|\n",
    );
    let mut worst: f64 = 0.0;
    for ratio in RATIOS {
        for thickness in BOXES {
            let (depth, exact) = (lost_at(thickness, ratio)?, by_hand(thickness, ratio));
            worst = worst.max((depth / exact - 1.0).abs());
            table += &format!(
                "| {} | {ratio} | {} | {} | {} |\n",
                1e3 * thickness,
                shown(1e3 * depth),
                shown(1e3 * exact),
                shown(depth / thickness)
            );
            if thickness == 0.005 {
                let quantity = format!("box of 5 mm, E half-space / E box = {ratio}: lost at the depth, mm");
                rows.push(row(quantity, format!("{} (by hand)", shown(1e3 * exact)), 1e3 * depth, 1e-6));
            }
        }
    }
    let mut curves = Vec::new();
    if run == Run::Full {
        for thickness in BOXES {
            let all = |filter| TIME_STEPS.map(|h| Ok((1e3 * h, losing_speed(thickness, h, filter)?)));
            let uncut = all(FaceFilter::Drake).into_iter().collect::<Result<Vec<_>, Failure>>()?;
            let cut = all(FaceFilter::None).into_iter().collect::<Result<Vec<_>, Failure>>()?;
            let (millimetres, expected) = (1e3 * thickness, shown(by_hand(thickness, 1.0) / TIME_STEPS[2]));
            let quantity = format!("box of {millimetres} mm, uncut steps of 5 ms: lost from the speed, m/s");
            rows.push(row(quantity, format!("{expected} (that depth in one step)"), uncut[2].1, 0.02));
            let quantity = "the same, steps that are cut where they land (default)";
            rows.push(row(format!("{quantity}, {millimetres} mm"), "–", cut[2].1, 0.1));
            if thickness != BOXES[0] && thickness != BOXES[3] {
                for (name, points) in [("uncut", uncut), ("default", cut)] {
                    curves.push(Curve {
                        name: format!("{millimetres} mm, {name}"),
                        points,
                        reference: false,
                        marks: true,
                    });
                }
            }
        }
        let points = TIME_STEPS.map(|h| (1e3 * h, by_hand(BOXES[1], 1.0) / h)).to_vec();
        curves.push(Curve { name: "5 mm, by hand".into(), points, reference: true, marks: false });
    }
    let scene = Scene::parse(SCENE, "thin_box.toml")?;
    let settings = SimulationSettings { time_step: TIME_STEPS[2], ..scene.simulation_settings()? };
    let advice = advise(&scene.model, &scene.state, &settings, &Pressing::default());
    let mut remarks = advice.pairs.iter().flat_map(|pair| &pair.remarks);
    let remark = remarks.find(|remark| remark.contains("passes through")).ok_or("no remark on a thin box")?;
    table += &format!(
        "\nOf the box of 5 mm in steps of 5 ms `isobar advise` says: {remark}. That is half the thickness alone, as on a half-space that is much \
         stiffer: one that gives way as well holds the box to the depths above.\n"
    );
    let title = "Speed from which a thin box is lost";
    let plot = Plot { title, x: "step, ms", y: "m/s", logarithmic: [true, true], curves };
    let mut figures = vec![Figure {
        suffix: "",
        caption:
            "The speed from which a box that falls flat is lost within a step, by the length of the step"
                .into(),
        picture: Picture::Plots(vec![plot]),
    }];
    if run == Run::Full {
        figures.push(seen("_lost", "not cut: it is lost", FaceFilter::Drake)?);
        figures.push(seen("_kept", "cut where it lands", FaceFilter::None)?);
    }
    Ok(Page {
        name: "thin_box",
        title: "How a thin box is lost",
        source: "Masterjohn §VI",
        result: format!(
            "A compliant box in a compliant half-space loses its contact surface where the half-space's pressure in its middle exceeds its \
             own modulus, within {worst:.0e} of that depth: half its thickness and the half-space's thickness times the ratio of moduli."
        ),
        figures,
        rows,
        why: "The paper only says that it can happen, above all in large steps. A step knows the contacts at its start: a box that comes in \
              from above is as deep after it as its speed takes it. By default a step is cut where it lands with more energy than \
              the body brings, so that only much faster boxes are lost; `face_filter = \"drake\"` leaves steps uncut."
            .into(),
        more: table,
    })
}
