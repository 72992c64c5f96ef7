//! Elandt et al. (2019), §X-C: the wrench is continuous where faces of the contact surface come and go.

use isobar::contact::{
    Collider, ContactPair, ContactSettings, DissipationModel, FaceFilter, Material, SurfaceRepresentation,
    Workspace, contact, for_each_face,
};
use isobar::field::PressureField;
use isobar::geometry::{Shape, VolumeMesh};
use isobar::multibody::{Body, BodyGeometry, BodyState, MassSource, ModelBuilder, State};
use isobar::rollout::Trajectory;
use isobar::spatial::{RigidTransform, SpatialForce, SpatialVelocity};
use nalgebra::Vector3;

use crate::figure::{Curve, Plot};
use crate::film::{Look, film};
use crate::page::{Failure, Figure, Page, Picture, Run, row, shown};

/// Moduli of a coarse ball and of a box, Pa; both are about 10 cm wide.
const MODULI: [f64; 2] = [1e5, 3e5];
const STEPS: usize = 1000;
/// How near a change of the faces is come from both sides, in parts of the path.
const NEAR: f64 = 1e-13;

struct Pair {
    ball: Collider,
    block: Collider,
    settings: ContactSettings,
    workspace: Workspace,
}

/// How a wrench is computed.
struct Case {
    name: &'static str,
    settings: ContactSettings,
    dissipation: f64,
    friction: f64,
}

fn cases() -> Vec<Case> {
    let usual = ContactSettings::default();
    let case = |name, settings| Case { name, settings, dissipation: 2.0, friction: 0.5 };
    let of_order = |order| ContactSettings { quadrature_order: Some(order), ..usual };
    let polygons = ContactSettings { surface: SurfaceRepresentation::Polygons, ..usual };
    let strain = ContactSettings { dissipation_model: DissipationModel::StrainRate, ..usual };
    vec![
        Case { dissipation: 0.0, friction: 0.0, ..case("triangles, pressure alone", usual) },
        case("triangles, Hunt–Crossley, friction, order 1", of_order(1)),
        case("the same, order 2 (default)", of_order(2)),
        case("the same, order 3", of_order(3)),
        case("the same, order 5", of_order(5)),
        Case { dissipation: 0.01, ..case("triangles, strain rate, friction", strain) },
        Case { dissipation: 0.0, friction: 0.0, ..case("polygons, pressure alone", polygons) },
        case("polygons, Hunt–Crossley, friction", polygons),
        case(
            "triangles, faces left out as in Drake",
            ContactSettings { face_filter: FaceFilter::Drake, ..usual },
        ),
    ]
}

impl Pair {
    fn new(case: &Case) -> Result<Self, Failure> {
        let material = |k: usize| Material::new(MODULI[k], case.dissipation, case.friction);
        let mesh = VolumeMesh::icosphere(0.05, 1);
        let extent = mesh.vertices.iter().map(|v| if v.norm() == 0.0 { 1.0 } else { 0.0 }).collect();
        let ball = Collider::compliant(PressureField::new(mesh, extent)?, material(0));
        let block = Collider::of_shape(&Shape::Box { size: [0.1, 0.08, 0.06] }, 1.0, material(1))?;
        Ok(Self { ball, block, settings: case.settings, workspace: Workspace::default() })
    }

    /// The pair at a part of its path: the ball turns as it slides over an edge of the block, on and off.
    fn at(&self, s: f64) -> ContactPair<'_> {
        let turn = Vector3::new(1.1, 0.7, -0.9) * s;
        let place = Vector3::new(-0.06 + 0.12 * s, 0.02 + 0.03 * s, 0.065 - 0.06 * s * (1.0 - s));
        let x_wa = RigidTransform::identity().moved(&turn, &place);
        let v_wa = SpatialVelocity::new(Vector3::new(1.0, -2.0, 0.5), Vector3::new(0.1, 0.05, -0.1));
        let v_wb = SpatialVelocity::zero();
        let x_wb = RigidTransform::identity();
        ContactPair { v_wa, v_wb, ..ContactPair::at_rest(&self.ball, x_wa, &self.block, x_wb) }
    }

    /// Force and torque over the size of the bodies, N, and which elements have faces.
    fn wrench(&mut self, s: f64) -> Result<([f64; 6], Vec<[u32; 2]>), Failure> {
        let mut workspace = std::mem::take(&mut self.workspace);
        let pair = self.at(s);
        let patch = contact(&pair, &self.settings, &mut workspace)?;
        let mut faces = Vec::new();
        for_each_face(&pair, &self.settings, &mut workspace, |face| faces.push(face.elements));
        faces.sort_unstable();
        self.workspace = workspace;
        let wrench = patch.map(|patch| patch.wrench_on_a).unwrap_or_else(SpatialForce::zero);
        let (f, m) = (wrench.translational, wrench.rotational / 0.05);
        Ok(([f.x, f.y, f.z, m.x, m.y, m.z], faces))
    }
}

/// The film of the ball along its path, and of the block.
fn film_of(case: &Case) -> Result<String, Failure> {
    let pair = Pair::new(case)?;
    let ball = Body::free("ball", MassSource::Density(1e3), vec![BodyGeometry::new(pair.ball.clone())])?;
    let block = vec![BodyGeometry::new(pair.block.clone())];
    let bodies = vec![ball, Body::fixed("block", RigidTransform::identity(), block)];
    let model = ModelBuilder { bodies, ..ModelBuilder::default() }.build()?;
    let times: Vec<f64> = (0..=80).map(|k| f64::from(k) / 80.0).collect();
    let at = |s: &f64| State::of_bodies(vec![BodyState::at_rest(&pair.at(*s).x_wa)]);
    let states = times.iter().map(at).collect();
    let look = Look { slower: 4.0, ..Look::from_the_side([420, 260], [0.0, 0.03], 1700.0) };
    Ok(film(&model, &Trajectory { times, states }, &look))
}

fn distance(a: &[f64; 6], b: &[f64; 6]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
}

/// Along the path: changes of the faces, the largest jump of the wrench at them, the largest force, and the force along it.
struct Walk {
    changes: usize,
    jump: f64,
    largest: f64,
    force: Vec<(f64, f64)>,
}

fn walk(case: &Case, steps: usize) -> Result<Walk, Failure> {
    let mut pair = Pair::new(case)?;
    let mut out = Walk { changes: 0, jump: 0.0, largest: 0.0, force: Vec::new() };
    let mut before = pair.wrench(0.0)?;
    for step in 1..=steps {
        let [mut low, mut high] = [step - 1, step].map(|k| k as f64 / steps as f64);
        let end = pair.wrench(high)?;
        if end.1 != before.1 {
            let [mut a, mut b] = [before, end.clone()];
            // Towards one of the changes between both.
            while high - low > NEAR {
                let middle = 0.5 * (low + high);
                let at = pair.wrench(middle)?;
                if at.1 == a.1 { (low, a) = (middle, at) } else { (high, b) = (middle, at) }
            }
            out.changes += 1;
            out.jump = out.jump.max(distance(&a.0, &b.0));
        }
        let force = end.0[..3].iter().map(|f| f * f).sum::<f64>().sqrt();
        out.largest = out.largest.max(force);
        out.force.push((step as f64 / steps as f64, force));
        before = end;
    }
    Ok(out)
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let (mut rows, mut curves, mut worst) = (Vec::new(), Vec::new(), 0.0_f64);
    let mut table = String::from(
        "| wrench | changes of the faces | largest jump, N | over the largest force |\n|---|---|---|---|\n",
    );
    let mut filtered = 0.0;
    for case in cases() {
        let walk = walk(&case, if run == Run::Full { STEPS } else { 50 })?;
        let relative = walk.jump / walk.largest;
        table +=
            &format!("| {} | {} | {} | {} |\n", case.name, walk.changes, shown(walk.jump), shown(relative));
        if case.settings.face_filter == FaceFilter::Drake {
            filtered = relative;
        } else {
            worst = worst.max(relative);
        }
        if case.name.contains("default") || case.name.contains("Drake") {
            let name = if case.name.contains("Drake") { "faces left out" } else { "all faces" };
            curves.push(Curve { name: name.into(), points: walk.force, reference: false, marks: false });
        }
    }
    rows.push(row("largest jump over the largest force, all faces", "0 (§X-C)", worst, 1e-9));
    if run == Run::Full {
        rows.push(row("the same, with faces left out as in Drake", "–", filtered, 0.02));
    }
    let mut films = Vec::new();
    if run == Run::Full {
        let caption = "The ball on its path, seen along y".into();
        films.push(Figure { suffix: "_film", caption, picture: Picture::Svg(film_of(&cases()[0])?) });
    }
    let title = "A ball turns and slides over a block's edge";
    let plot = Plot { title, x: "part of the path", y: "force, N", logarithmic: [false; 2], curves };
    let caption = "The force along the path".into();
    let mut figures = vec![Figure { suffix: "", caption, picture: Picture::Plots(vec![plot]) }];
    figures.append(&mut films);
    Ok(Page {
        name: "continuity",
        title: "The wrench is continuous where faces come and go",
        source: "Elandt §X-C",
        result: format!(
            "Where faces come and go the wrench changes by {worst:.1e} of the force at most, with damping, friction, all orders of \
             quadrature, triangles and polygons."
        ),
        figures,
        rows,
        why: format!(
            "Each change is come to within {NEAR:e} of the path from both sides: what is left is how far the wrench changes over that, and \
             rounding. The option `face_filter = \"drake\"` drops faces by their normals, and the wrench jumps where it does."
        ),
        more: table,
    })
}
