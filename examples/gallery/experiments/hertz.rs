//! Hertz's force beside that of the field: a rigid ball on a compliant block.

use std::f64::consts::PI;

use isobar::contact::{Collider, ContactPair, ContactPatch, ContactSettings, Material, Workspace, contact};
use isobar::field::{PressureLaw, RigidSurface, primitive_field};
use isobar::geometry::Shape;
use isobar::spatial::RigidTransform;
use nalgebra::Vector3;

use crate::figure::{Curve, Plot};
use crate::page::{Failure, Figure, Page, Picture, Run, row, shown};

/// Radius of the ball, and half the thickness of the block, over which the extent rises to 1, m.
const RADIUS: f64 = 0.05;
const HALF: f64 = 0.05;
/// Young's moduli of Hertz's block, Pa, with Poisson's ratio 0.3: four decades.
const YOUNG: [f64; 5] = [1e5, 1e6, 1e7, 1e8, 1e9];
const POISSON: f64 = 0.3;
/// Depths over the radius.
const DEPTHS: [f64; 9] = [0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1];
/// At which both are compared.
const AT: f64 = 0.02;
/// Layers of the block's mesh: the pressure is linear within each.
const LAYERS: usize = 64;

/// Hertz: a rigid ball on an elastic half-space of the reduced modulus E* = E/(1 − ν²).
fn hertz(young: f64, depth: f64) -> f64 {
    4.0 / 3.0 * young / (1.0 - POISSON * POISSON) * RADIUS.sqrt() * depth.powf(1.5)
}

/// The force of the field E_h (depth/H)^n on a ball of modulus 1, by quadrature over its cap.
fn quadrature(exponent: f64, depth: f64) -> f64 {
    const POINTS: usize = 100_000;
    // r dr = (R − δ + s) ds with the depth s of the ring below the plane.
    let ring = |k: usize| {
        let s = depth * (k as f64 + 0.5) / POINTS as f64;
        (s / HALF).powf(exponent) * (RADIUS - depth + s)
    };
    (0..POINTS).map(ring).sum::<f64>() * 2.0 * PI * depth / POINTS as f64
}

/// A ball and a block with a pressure law, which touch at a depth.
struct Press {
    ball: Collider,
    block: isobar::field::PressureField,
    workspace: Workspace,
}

impl Press {
    fn new(exponent: f64, resolution: f64) -> Result<Self, Failure> {
        let shape = Shape::Sphere { radius: RADIUS };
        let surface = RigidSurface::new(shape.surface_mesh(resolution)?);
        let ball = Collider::rigid(surface, Material::NONE);
        let (mesh, extent) = primitive_field(&Shape::Box { size: [0.2, 0.2, 2.0 * HALF] }, 0.01)?;
        let block = PressureLaw::power(exponent)?.field(mesh, extent, LAYERS)?;
        Ok(Self { ball, block, workspace: Workspace::default() })
    }

    fn at(&mut self, modulus: f64, depth: f64) -> Result<ContactPatch, Failure> {
        let block = Collider::compliant(self.block.clone(), Material::new(modulus, 0.0, 0.0));
        let pose = RigidTransform::from_translation(Vector3::z() * (HALF + RADIUS - depth));
        let pair = ContactPair::at_rest(&self.ball, pose, &block, RigidTransform::identity());
        contact(&pair, &ContactSettings::default(), &mut self.workspace)?.ok_or_else(|| "no contact".into())
    }
}

/// The modulus with which a law of exponent ½ has Hertz's force at all depths: of the force
/// (4π/3) E_h R δ^1.5 / √H of its field.
fn matching(young: f64) -> f64 {
    young / (1.0 - POISSON * POISSON) / PI * (HALF / RADIUS).sqrt()
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let resolution = if run == Run::Full { 0.0006 } else { 0.002 };
    let (mut linear, mut root) = (Press::new(1.0, resolution)?, Press::new(0.5, resolution)?);
    let (mut rows, mut table) = (Vec::new(), String::new());
    table += "| Young's modulus, Pa | Hertz's force at δ = 0.02 R, N | law ε^½, E_h = E*/π | E_h / E of the linear law for the same force |\n|---|---|---|---|\n";
    let mut ratios = Vec::new();
    let mut forces = Vec::new();
    for young in YOUNG {
        let depth = AT * RADIUS;
        let exact = hertz(young, depth);
        let force = root.at(matching(young), depth)?.wrench_on_a.translational.z;
        // The force is in proportion to the modulus.
        let ratio = exact / linear.at(young, depth)?.wrench_on_a.translational.z;
        table += &format!("| {young:e} | {} | {} | {} |\n", shown(exact), shown(force), shown(ratio));
        ratios.push(ratio);
        forces.push(force / exact);
    }
    let spread = |all: &[f64]| {
        let [low, high] = all.iter().fold([f64::INFINITY, 0.0_f64], |[a, b], v| [a.min(*v), b.max(*v)]);
        (high - low) / high
    };
    let depth = AT * RADIUS;
    let by_root = matching(1e6) * quadrature(0.5, depth) / hertz(1e6, depth);
    let by_linear = hertz(1.0, depth) / quadrature(1.0, depth);
    let expected = format!("{by_root:.4} (quadrature of the model)");
    rows.push(row("force of the law ε^½ over Hertz's at δ = 0.02 R", expected, forces[0], 5e-3));
    let quantity = "E_h / E of the linear law for Hertz's force at δ = 0.02 R";
    rows.push(row(quantity, format!("{by_linear:.4} (quadrature of the model)"), ratios[0], 5e-3));
    rows.push(row(
        "largest change of both over four decades of E",
        "0",
        spread(&ratios).max(spread(&forces)),
        1e-9,
    ));
    let patch = root.at(matching(1e6), AT * RADIUS)?;
    let radius = (patch.area / PI).sqrt() / RADIUS;
    rows.push(row(
        "radius of the patch / R at δ = 0.02 R",
        format!("{:.4} (Hertz: √(δ/R)); {:.4} (a cap of the ball: √(2δ/R))", AT.sqrt(), (2.0 * AT).sqrt()),
        radius,
        5e-3,
    ));
    let mut curves = Vec::new();
    let linear_modulus = 1e6 * by_linear;
    if run == Run::Full {
        for (name, press, modulus) in
            [("linear law", &mut linear, linear_modulus), ("law ε^½", &mut root, matching(1e6))]
        {
            let point = |d: &f64| -> Result<(f64, f64), Failure> {
                Ok((*d, press.at(modulus, d * RADIUS)?.wrench_on_a.translational.z))
            };
            let points = DEPTHS.iter().map(point).collect::<Result<Vec<_>, _>>()?;
            curves.push(Curve { name: name.into(), points, reference: false, marks: true });
        }
        let points = DEPTHS.iter().map(|d| (*d, hertz(1e6, d * RADIUS))).collect();
        curves.push(Curve { name: "Hertz".into(), points, reference: true, marks: false });
    }
    let title = "A ball on a block, E = 1 MPa";
    let plot = Plot { title, x: "depth / R", y: "force, N", logarithmic: [true, true], curves };
    Ok(Page {
        name: "hertz",
        title: "Hertz's force and the field's",
        source: "Hertz (Elandt [11])",
        result: format!(
            "With the pressure law ε^½ and E_h = E*/π · √(H/R) the field has Hertz's force at all small depths, {:.1} % less at 0.02 R; \
             the linear law has it at one depth. Over four decades of modulus neither ratio changes.",
            100.0 * (1.0 - forces[0])
        ),
        figures: vec![Figure {
            suffix: "",
            caption: "Force over depth: Hertz's, and of two pressure laws that agree with it at 0.02 R".into(),
            picture: Picture::Plots(vec![plot]),
        }],
        rows,
        why: "Hertz takes the ball for a paraboloid, which is wider: the quadrature is over the ball. What is left is the pressure that is \
              linear in each of 64 layers. A linear field on a flat body gives a force in proportion to δ², as its pressure grows with the depth and its patch \
              does too; Hertz's grows with δ^1.5. The patch is √2 times as wide as Hertz's, because the field's surface does \
              not sink beside the ball: friction torques of a field are larger by that, whatever the modulus."
            .into(),
        more: table,
    })
}
