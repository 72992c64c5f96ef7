//! Huang et al. (2021): Table I, what finding pairs of tetrahedra costs, and Figure 3, the force between two cubes.

use isobar::contact::{Collider, ContactPair, ContactSettings, Material, Workspace, contact};
use isobar::field::PressureField;
use isobar::geometry::{Shape, VolumeMesh};
use isobar::spatial::RigidTransform;
use nalgebra::Vector3;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::clock::thread_time;
use crate::figure::{Curve, Plot};
use crate::page::{Failure, Figure, Page, Picture, Run, row, shown};

/// The paper's times in s, of cases (a) to (d) and (e), for 1 to 3 subdivisions.
const PAPER: [(&str, [f64; 3]); 5] = [
    ("(a) all pairs", [0.263, 3.77, 58.16]),
    ("(b) with bounding boxes", [0.077, 0.957, 14.52]),
    ("(c) with intersection checks", [0.071, 0.943, 13.71]),
    ("(d) with a spatial index", [0.041, 0.445, 5.30]),
    ("(e) with random projections", [0.036, 0.368, 3.82]),
];
/// How far apart the middles of the two balls of radius 1 are; the paper does not say.
const APART: f64 = 1.5;

/// A tetrahedron as a body of its own, its box, and its field as a linear function in the world.
struct Alone {
    collider: Collider,
    corners: [Vector3<f64>; 4],
    low: Vector3<f64>,
    high: Vector3<f64>,
    gradient: Vector3<f64>,
    offset: f64,
    /// From where to where it reaches along random directions.
    reach: Vec<[f64; 2]>,
}

/// Directions of random projections.
const DIRECTIONS: usize = 16;

fn directions() -> Vec<Vector3<f64>> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    (0..DIRECTIONS).map(|_| Vector3::from_fn(|_, _| random.random_range(-1.0..1.0))).collect()
}

fn ball(level: u32) -> Result<(VolumeMesh, Vec<f64>), Failure> {
    let mesh = VolumeMesh::icosphere(1.0, level);
    let extent = mesh.vertices.iter().map(|v| if v.norm() == 0.0 { 1.0 } else { 0.0 }).collect();
    Ok((mesh, extent))
}

fn alone(mesh: &VolumeMesh, extent: &[f64], at: Vector3<f64>) -> Result<Vec<Alone>, Failure> {
    let material = Material::new(1.0, 0.0, 0.0);
    let directions = directions();
    let one = |t: &[u32; 4]| {
        let corners = t.map(|v| mesh.vertices[v as usize] + at);
        let extent = t.map(|v| extent[v as usize]);
        let piece = VolumeMesh { vertices: corners.to_vec(), tetrahedra: vec![[0, 1, 2, 3]] };
        let field = PressureField::new(piece, extent.to_vec())?;
        let linear = &field.tetrahedra()[0].extent;
        let (gradient, offset) = (linear.gradient, linear.offset);
        let low = corners.iter().fold(corners[0], |low, v| low.inf(v));
        let high = corners.iter().fold(corners[0], |high, v| high.sup(v));
        let reach = |direction: &Vector3<f64>| {
            let along = corners.map(|v| direction.dot(&v));
            [
                along.iter().copied().fold(f64::INFINITY, f64::min),
                along.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            ]
        };
        let reach = directions.iter().map(reach).collect();
        Ok(Alone {
            collider: Collider::compliant(field, material),
            corners,
            low,
            high,
            gradient,
            offset,
            reach,
        })
    };
    mesh.tetrahedra.iter().map(one).collect()
}

/// Whether a pair has to be looked at.
type Check = fn(&Alone, &Alone) -> bool;

impl Alone {
    fn boxes_meet(&self, other: &Self) -> bool {
        (0..3).all(|k| self.low[k] <= other.high[k] && other.low[k] <= self.high[k])
    }

    /// Whether no random direction separates them.
    fn projections_meet(&self, other: &Self) -> bool {
        self.reach.iter().zip(&other.reach).all(|(a, b)| a[0] <= b[1] && b[0] <= a[1])
    }

    /// Whether the plane of equal pressure goes through both tetrahedra.
    fn plane_meets(&self, other: &Self) -> bool {
        let difference =
            |v: &Vector3<f64>| (self.gradient - other.gradient).dot(v) + self.offset - other.offset;
        [self, other].iter().all(|t| {
            let values = t.corners.map(|v| difference(&v));
            values.iter().any(|v| *v <= 0.0) && values.iter().any(|v| *v >= 0.0)
        })
    }
}

/// The force between the balls over all pairs that a check lets through, and the pairs.
fn over_pairs(
    a: &[Alone],
    b: &[Alone],
    lets_through: impl Fn(&Alone, &Alone) -> bool,
) -> Result<(Vector3<f64>, usize), Failure> {
    let (settings, mut workspace) = (ContactSettings::default(), Workspace::default());
    let (mut force, mut pairs) = (Vector3::zeros(), 0);
    for p in a {
        for q in b {
            if !lets_through(p, q) {
                continue;
            }
            pairs += 1;
            let identity = RigidTransform::identity();
            let pair = ContactPair::at_rest(&p.collider, identity, &q.collider, identity);
            if let Some(patch) = contact(&pair, &settings, &mut workspace)? {
                force += patch.wrench_on_a.translational;
            }
        }
    }
    Ok((force, pairs))
}

struct Case {
    name: &'static str,
    seconds: f64,
    pairs: String,
    force: f64,
}

fn cases(level: u32) -> Result<Vec<Case>, Failure> {
    let (mesh, extent) = ball(level)?;
    let shift = Vector3::new(0.0, 0.0, -APART);
    let (a, b) = (alone(&mesh, &extent, Vector3::zeros())?, alone(&mesh, &extent, shift)?);
    let mut all = Vec::new();
    let checks: [(&'static str, Check); 4] = [
        (PAPER[0].0, |_, _| true),
        (PAPER[1].0, Alone::boxes_meet),
        (PAPER[2].0, |a, b| a.boxes_meet(b) && a.plane_meets(b)),
        (PAPER[4].0, |a, b| a.boxes_meet(b) && a.plane_meets(b) && a.projections_meet(b)),
    ];
    for (name, check) in checks {
        let begin = thread_time();
        let (force, pairs) = over_pairs(&a, &b, check)?;
        let seconds = (thread_time() - begin).as_secs_f64();
        all.push(Case { name, seconds, pairs: pairs.to_string(), force: force.norm() });
    }
    let field = PressureField::new(mesh, extent)?;
    let body = Collider::compliant(field, Material::new(1.0, 0.0, 0.0));
    let pair = ContactPair::at_rest(
        &body,
        RigidTransform::identity(),
        &body,
        RigidTransform::from_translation(shift),
    );
    let (settings, mut workspace) = (ContactSettings::default(), Workspace::default());
    // The first query makes room.
    let mut patch = contact(&pair, &settings, &mut workspace)?.ok_or("no contact")?;
    const REPEATS: u32 = 20;
    let begin = thread_time();
    for _ in 0..REPEATS {
        patch = contact(&pair, &settings, &mut workspace)?.ok_or("no contact")?;
    }
    let seconds = (thread_time() - begin).as_secs_f64() / f64::from(REPEATS);
    let force = patch.wrench_on_a.translational.norm();
    all.insert(3, Case { name: PAPER[3].0, seconds, pairs: "–".into(), force });
    Ok(all)
}

/// The force on one of two unit cubes of modulus 1, an offset apart, along it.
fn cubes(offset: f64) -> Result<f64, Failure> {
    let cube = Collider::of_shape(&Shape::Box { size: [1.0; 3] }, 1.0, Material::new(1.0, 0.0, 0.0))?;
    let other = RigidTransform::from_translation([0.0, offset, 0.0]);
    let pair = ContactPair::at_rest(&cube, RigidTransform::identity(), &cube, other);
    let patch = contact(&pair, &ContactSettings::default(), &mut Workspace::default())?;
    Ok(patch.map_or(0.0, |patch| patch.wrench_on_a.translational.norm()))
}

/// The same by hand: cubes of twelve tetrahedra around their middles, whose pressure is 1 − 2 max(|x|, |y|, |z|). Half-way between
/// them both are the same, 1 − 2 max(|x|/2, |y|, |z|) with the offset x, over the unit square of y and z.
fn cubes_by_hand(offset: f64) -> f64 {
    let half = 0.5 * offset.abs();
    // A flat top over the square of half side `half`, then a pyramid.
    let (side, top) = (2.0 * half, 1.0 - 2.0 * half);
    top * (1.0 + side + side * side) / 3.0
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let mut rows = Vec::new();
    for offset in [0.1, 0.5] {
        let quantity = format!("force between unit cubes that are {offset} apart / E");
        let expected = format!("{:.4} (by hand)", cubes_by_hand(offset));
        rows.push(row(quantity, expected, cubes(offset)?, 1e-6));
    }
    let levels: &[u32] = if run == Run::Full { &[1, 2, 3] } else { &[1] };
    let all = levels.iter().map(|&level| cases(level)).collect::<Result<Vec<_>, _>>()?;
    let spread = all.iter().flat_map(|cases| cases.iter().map(|c| (c.force / cases[3].force - 1.0).abs()));
    let spread = spread.fold(0.0, f64::max);
    rows.push(row("force between balls, 80 tetrahedra each / E", "–", all[0][3].force, 1e-6));
    let mut table = String::from(
        "| Table I | 80 tetrahedra each, s (paper) | 320 | 1280 | pairs looked at, 1280 | faster than (a), 1280 (paper) |\n|---|---|---|---|---|---|\n",
    );
    for (k, (name, paper)) in PAPER.iter().enumerate() {
        let time = |level: usize| {
            all.get(level).map_or(String::new(), |c| format!("{} ({})", shown(c[k].seconds), paper[level]))
        };
        let last = &all[all.len() - 1];
        let (ratio, papers) = (last[0].seconds / last[k].seconds, PAPER[0].1[2] / paper[2]);
        table += &format!(
            "| {name} | {} | {} | {} | {} | {} ({papers:.2}) |\n",
            time(0),
            time(1),
            time(2),
            last[k].pairs,
            shown(ratio)
        );
        debug_assert_eq!(last[k].name, *name);
    }
    let offsets = (0..=200).map(|k| -1.0 + f64::from(k) / 100.0).filter(|x| *x != 0.0);
    let points = offsets.map(|x| Ok((x, cubes(x)?))).collect::<Result<Vec<_>, Failure>>()?;
    let by_hand = (0..=40).map(|k| -1.0 + f64::from(k) / 20.0).map(|x| (x, cubes_by_hand(x))).collect();
    let curves = vec![
        Curve { name: "isobar".into(), points, reference: false, marks: false },
        Curve { name: "by hand".into(), points: by_hand, reference: true, marks: false },
    ];
    let title = "Two unit cubes, x apart";
    let plot = Plot { title, x: "x", y: "force / E", logarithmic: [false; 2], curves };
    let at_rest = cubes(0.0)?;
    let fastest = all[all.len() - 1][3].seconds;
    Ok(Page {
        name: "huang",
        title: "What finding the faces costs, and two cubes",
        source: "Huang Fig. 3, Table I",
        result: format!(
            "Two balls of 1280 tetrahedra take {:.0} µs with the library's search, the paper's fastest 3.82 s; the forces of all \
             ways to find pairs agree within {spread:.0e}.",
            1e6 * fastest
        ),
        figures: vec![Figure {
            suffix: "",
            caption: "The force between two cubes by their distance (Fig. 3)".into(),
            picture: Picture::Plots(vec![plot]),
        }],
        rows,
        why: format!(
            "The paper's figure falls to 0 at x = 0, where both fields are the same and there is no surface: here the force is {at_rest} \
             there and jumps beside it, as it must. The times differ by machine, language, and how a polygon is clipped. Rows (a) to \
             (c) are made of the library's query between tetrahedra that are bodies of their own, behind the paper's checks; row (d) is \
             the query of the whole bodies, whose search also leaves out boxes of tetrahedra in which the pressures cannot be equal. \
             Row (e) has {DIRECTIONS} random directions behind the checks of (c), without the index that the paper has too: they let \
             fewer pairs through. The paper does not say how far its balls are apart; here it is {APART} radii."
        ),
        more: table,
    })
}
