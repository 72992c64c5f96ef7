//! How fine the mesh of a primitive shape should be where it is pressed.
//!
//! Meshes of round shapes lie inside of them, so a coarse one touches later. Force and stiffness are therefore compared with
//! the bodies at the same place, not at the same penetration. They depend on whether a corner or a facet comes first, so
//! they are averaged over turns that leave the shape as it is.

use std::f64::consts::{SQRT_2, TAU};

use serde::Serialize;

use super::pressing::Press;
use super::remarks::{Subject, short};
use crate::contact::{Collider, ContactGeometry};
use crate::field::RigidSurface;
use crate::geometry::Shape;
use crate::multibody::{Body, BodyGeometry, GeometryPair, Model};
use crate::spatial::rotation_from_rpy;

/// The largest error of force and stiffness with the mesh that is advised, ...
const ALLOWED: f64 = 0.02;
/// ... and with the finest of those that are compared: a quarter, so that what is said of others is right.
const REFERENCE: f64 = 0.005;
/// No mesh is advised that is coarser than this part of the radius: a place where it is pressed on its flat face does not show
/// how round it is elsewhere.
const COARSEST: f64 = 0.5;
/// No mesh of more elements is made for a comparison: this many take a tenth of a second.
const MOST_ELEMENTS: f64 = 1e5;
/// Turns that are averaged over.
const TURNS: usize = 6;
/// Angles about the axes, in parts of a turn, whose multiples cover all turns evenly: powers of the root of x⁴ = x + 1.
const ANGLES: [f64; 3] = [0.819_172_513, 0.671_043_607, 0.549_700_478];

/// How fine the mesh of a shape should be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResolutionAdvice {
    /// Name of the body.
    pub body: String,
    /// Number of its geometry, from 0.
    pub geometry: usize,
    /// Name of the shape.
    pub shape: &'static str,
    /// How many others of this shape, resolution and material there are, which should be as fine.
    pub others: usize,
    /// Its mesh.
    pub now: Fineness,
    /// The coarsest mesh with which force and stiffness are within 2 %.
    pub advised: Fineness,
}

/// A mesh of a shape, and what it makes of a contact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fineness {
    /// Resolution, m.
    pub resolution: f64,
    /// Number of its tetrahedra; of a rigid one, triangles.
    pub elements: usize,
    /// Mean number of polygons of the contact surface, which most of the time of a query follows.
    pub polygons: f64,
    /// Error of the force, the root of the mean square over turns.
    pub force_error: f64,
    /// Error of the stiffness.
    pub stiffness_error: f64,
}

/// Force, stiffness and number of polygons.
type Look = [f64; 3];

/// A mesh of the shape.
struct Mesh {
    resolution: f64,
    collider: Collider,
}

impl Mesh {
    fn new(geometry: &BodyGeometry, resolution: f64) -> Option<Self> {
        let (shape, own) = (geometry.primitive?.0, &geometry.collider);
        let made = match own.geometry.as_ref() {
            ContactGeometry::Compliant(field) => {
                ContactGeometry::Compliant(field.at_resolution(&shape, resolution).ok()?)
            }
            ContactGeometry::Rigid(_) => {
                ContactGeometry::Rigid(RigidSurface::of_shape(shape, shape.surface_mesh(resolution).ok()?))
            }
            ContactGeometry::CompliantHalfSpace | ContactGeometry::RigidHalfSpace => return None,
        };
        let collider = Collider::new(made, own.material, own.thickness);
        Some(Self { resolution, collider: collider.with_skirt(own.skirt_thickness()).ok()? })
    }

    fn elements(&self) -> usize {
        match self.collider.geometry.as_ref() {
            ContactGeometry::Compliant(field) => field.mesh().tetrahedra.len(),
            ContactGeometry::Rigid(surface) => surface.mesh().triangles.len(),
            ContactGeometry::CompliantHalfSpace | ContactGeometry::RigidHalfSpace => 0,
        }
    }

    /// The mesh at a resolution of two digits that is larger by about a factor, unless it is the same.
    fn next(&self, geometry: &BodyGeometry, factor: f64) -> Option<Self> {
        let next = Self::new(geometry, short(factor * self.resolution).parse().ok()?)?;
        (next.elements() != self.elements()).then_some(next)
    }
}

/// A shape on one of two bodies that are pressed together.
struct Part<'m> {
    subject: &'m Subject<'m>,
    /// Its body, and its number there.
    place: (usize, usize),
    pairs: Vec<GeometryPair>,
    /// In which axes it can be turned: 1, else 0.
    round: [f64; 3],
}

/// The pairs of a geometry, given by its body and its number there.
fn pairs_of(subject: &Subject, place: (usize, usize)) -> Vec<GeometryPair> {
    subject.pairs.iter().filter(|pair| pair.geometries().contains(&place)).copied().collect()
}

/// Whether a geometry bears a part of the load.
pub(super) fn is_pressed(subject: &Subject, place: (usize, usize)) -> bool {
    let Subject { model, frames, pairs, load, how, .. } = *subject;
    let own = pairs_of(subject, place);
    let bears = || {
        let mut press = Press::new(model, frames, pairs, load, how)?;
        let depth = press.penetration(load).ok()?;
        Some(press.on(model, &own).force_at(depth) != 0.0)
    };
    own.len() == pairs.len() || bears().unwrap_or(false)
}

impl Part<'_> {
    /// The model with another mesh, turned.
    fn model(&self, mesh: &Mesh, turn: usize) -> Model {
        let mut model = Model::lift(self.subject.model);
        let geometry = &mut model.bodies[self.place.0].geometries[self.place.1];
        geometry.collider = mesh.collider.clone();
        let angle = |k: usize| self.round[k] * TAU * ANGLES[k] * turn as f64;
        geometry.x_bg.rotation *= rotation_from_rpy(angle(0), angle(1), angle(2));
        model
    }

    /// What comes of meshes where the last bears the load, for each the same turns.
    fn looks(&self, meshes: &[Mesh]) -> Option<Vec<Vec<Look>>> {
        let Subject { frames, pairs, load, how, .. } = *self.subject;
        let fine = self.model(meshes.last()?, 0);
        let mut press = Press::new(&fine, frames, pairs, load, how)?;
        let depth = press.penetration(load).ok()?;
        let turns = if self.round == [0.0; 3] { 1 } else { TURNS };
        let look = |mesh: &Mesh, turn: usize| {
            let model = self.model(mesh, turn);
            let mut press = press.on(&model, &self.pairs);
            let polygons = press.patch(depth).elements as f64;
            [press.force_at(depth), press.stiffness_at(depth), polygons]
        };
        Some(meshes.iter().map(|mesh| (0..turns).map(|turn| look(mesh, turn)).collect()).collect())
    }
}

/// The root of the mean square.
fn rms(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    (values.map(|x| x * x).sum::<f64>() / count).sqrt()
}

fn mean(looks: &[Look], k: usize) -> f64 {
    looks.iter().map(|look| look[k]).sum::<f64>() / looks.len() as f64
}

/// How many other geometries are of the same shape, resolution and material.
fn others(model: &Model, one: &BodyGeometry) -> usize {
    let shape = |geometry: &BodyGeometry| (geometry.primitive, geometry.material);
    let alike = |body: &Body| body.geometries.iter().filter(|other| shape(other) == shape(one)).count();
    model.bodies().iter().map(alike).sum::<usize>() - 1
}

/// How fine the mesh of a geometry should be, given by its body and its number there: as now, where that is right. `None`
/// where it is no primitive, and where no mesh is fine enough to compare with (of balls with three and more layers).
pub(super) fn resolution_advice(subject: &Subject, place: (usize, usize)) -> Option<ResolutionAdvice> {
    let body = &subject.model.bodies()[place.0];
    let geometry = &body.geometries[place.1];
    let (shape, resolution) = geometry.primitive?;
    let present = Mesh::new(geometry, resolution)?;
    // Parameters of the model may have given it another form since.
    if present.collider.geometry.vertices() != geometry.collider.geometry.vertices() {
        return None;
    }
    // Icospheres have edges half as long each, the others any number around.
    let (radius, ratio, round) = match shape {
        Shape::Sphere { radius } => (radius, 2.0, [1.0; 3]),
        Shape::Ellipsoid { semi_axes: [a, b, c] } => (a.max(b).max(c), 2.0, [0.0; 3]),
        Shape::Cylinder { radius, .. } | Shape::Capsule { radius, .. } => (radius, SQRT_2, [0.0, 0.0, 1.0]),
        Shape::Box { .. } => return None,
    };
    let part = Part { subject, place, pairs: pairs_of(subject, place), round };
    // From coarse to fine.
    let mut meshes = vec![present];
    let is_round = |mesh: &Mesh| mesh.resolution <= COARSEST * radius;
    while let Some(coarser) = meshes[0].next(geometry, ratio).filter(is_round) {
        meshes.insert(0, coarser);
    }
    let own = meshes.len() - 1;
    // Errors fall with the square of the resolution.
    let gain = ratio * ratio - 1.0;
    loop {
        if let [.., _, _] = &meshes[..] {
            let looks = part.looks(&meshes[meshes.len() - 2..])?;
            let error = |k: usize| {
                rms(looks[1]
                    .iter()
                    .zip(&looks[0])
                    .map(|(fine, coarse)| (fine[k] - coarse[k]) / (gain * fine[k])))
            };
            // Written so that NaN is not enough.
            if error(0) <= REFERENCE && error(1) <= REFERENCE {
                break;
            }
        }
        let finest = meshes.last()?;
        if finest.elements() as f64 * ratio * ratio > MOST_ELEMENTS {
            return None;
        }
        meshes.push(finest.next(geometry, 1.0 / ratio)?);
    }
    let looks = part.looks(&meshes)?;
    let last = looks.len() - 1;
    let reference =
        [0, 1].map(|k| mean(&looks[last], k) * (1.0 + 1.0 / gain) - mean(&looks[last - 1], k) / gain);
    let fineness = |i: usize| {
        let error = |k: usize| rms(looks[i].iter().map(|look| look[k] / reference[k] - 1.0));
        Fineness {
            resolution: meshes[i].resolution,
            elements: meshes[i].elements(),
            polygons: mean(&looks[i], 2),
            force_error: error(0),
            stiffness_error: error(1),
        }
    };
    let is_fine = |i: &usize| fineness(*i).force_error.max(fineness(*i).stiffness_error) <= ALLOWED;
    let advised = (0..=last).rev().take_while(is_fine).last()?;
    Some(ResolutionAdvice {
        body: body.name.clone(),
        geometry: place.1,
        shape: shape.name(),
        others: others(subject.model, geometry),
        now: fineness(own),
        advised: fineness(advised),
    })
}

impl ResolutionAdvice {
    /// In a sentence.
    pub(super) fn remark(&self) -> String {
        let Self { body, shape, others, now, advised, .. } = self;
        let alike = if *others > 0 { format!(" and {others} like it") } else { String::new() };
        let kept = format!(
            "`resolution = {}` of the {shape} of `{body}`{alike} (now {}) keeps force and stiffness within {:.0} %, with {} \
             polygons instead of {}",
            advised.resolution,
            short(now.resolution),
            100.0 * ALLOWED,
            short(advised.polygons),
            short(now.polygons)
        );
        let [force, stiffness] = [now.force_error, now.stiffness_error].map(|error| short(100.0 * error));
        match now.resolution > advised.resolution {
            true => format!(
                "the force is {force} % off with this mesh at the same place, the stiffness {stiffness} %; {kept}"
            ),
            false => kept,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::tests::scene;
    use crate::advice::{Advice, Pressing, advise};
    use crate::contact::{ContactPair, ContactSettings, Material, Workspace, contact};
    use crate::spatial::RigidTransform;
    use std::f64::consts::PI;

    const TABLE: &str = "shape = { half_space = {} }\nrigid = true";
    const BALL: &str = "shape = { sphere = { radius = 0.05, resolution = 0.01 } }\nmaterial = \"foam\"";

    /// Under 20 N, which press a ball of foam 15 % of its radius deep.
    fn advice(replaced: &[(&str, &str)]) -> Advice {
        let scene = scene(replaced);
        let how = Pressing { load: Some(20.0), ..Default::default() };
        advise(&scene.model, &scene.state, &scene.simulation_settings().unwrap(), &how)
    }

    fn only(advice: &Advice) -> Option<&ResolutionAdvice> {
        assert!(advice.pairs.iter().map(|pair| pair.resolutions.len()).sum::<usize>() <= 1);
        advice.pairs.iter().find_map(|pair| pair.resolutions.first())
    }

    /// The largest of the mean errors of a ball's force and stiffness on a rigid plane, which bears F(h) = 2 π E ((R² − h²)/2 −
    /// (R³ − h³)/(3 R)) with its centre h above it, over many turns.
    fn error(resolution: f64) -> f64 {
        let (modulus, radius) = (1e5, 0.05_f64);
        let force = |h: f64| {
            2.0 * PI
                * modulus
                * ((radius.powi(2) - h * h) / 2.0 - (radius.powi(3) - h.powi(3)) / (3.0 * radius))
        };
        let mut heights = [0.0, radius];
        for _ in 0..60 {
            let middle = 0.5 * (heights[0] + heights[1]);
            heights[usize::from(force(middle) < 20.0)] = middle;
        }
        let (h, step) = (heights[0], 1e-5);
        let material = Material::new(modulus, 0.0, 0.0);
        let ball = Collider::of_shape(&Shape::Sphere { radius }, resolution, material).unwrap();
        let floor = Collider::rigid_half_space(material);
        let meshed = |h: f64, k: f64| {
            let pose =
                RigidTransform::new(rotation_from_rpy(1.3 * k, 2.1 * k, 0.7 * k), [0.0, 0.0, h].into());
            let pair = ContactPair::at_rest(&ball, pose, &floor, RigidTransform::identity());
            let patch = contact(&pair, &ContactSettings::default(), &mut Workspace::default());
            patch.unwrap().map_or(0.0, |patch| patch.wrench_on_a.translational.z)
        };
        let stiffness = 2.0 * PI * modulus * h * (1.0 - h / radius);
        let turns = (0..60).map(f64::from);
        let of_force = turns.clone().map(|k| meshed(h, k) / force(h) - 1.0);
        let of_stiffness =
            turns.map(|k| (meshed(h - step, k) - meshed(h + step, k)) / (2.0 * step) / stiffness - 1.0);
        let rms = |errors: Vec<f64>| rms(errors.into_iter());
        rms(of_force.collect()).max(rms(of_stiffness.collect()))
    }

    #[test]
    fn the_coarsest_resolution_within_two_percent_is_advised() {
        let coarse = advice(&[("resolution = 0.01", "resolution = 0.03")]);
        let of_coarse = only(&coarse).expect("a finer mesh");
        let (now, advised) = (of_coarse.now, of_coarse.advised);
        assert!(
            error(advised.resolution) < 0.022 && error(2.0 * advised.resolution) > ALLOWED,
            "{of_coarse:?}"
        );
        let told = now.force_error.max(now.stiffness_error);
        assert!((told / error(now.resolution) - 1.0).abs() < 0.2, "{told} {}", error(now.resolution));
        let fine = advice(&[("resolution = 0.01", "resolution = 0.0025")]);
        let of_fine = only(&fine).expect("a coarser mesh");
        assert_eq!(of_fine.advised.elements, advised.elements);
        assert!(of_fine.now.polygons > 2.0 * advised.polygons, "{of_fine:?}");
        // As advised there is nothing to say.
        let written = format!("resolution = {}", advised.resolution);
        assert_eq!(only(&advice(&[("resolution = 0.01", &written)])), None);
        for (advice, start) in [(&coarse, "the force is"), (&fine, "`resolution = ")] {
            let told =
                advice.pairs[0].remarks.iter().find(|remark| remark.contains("keeps force and stiffness"));
            assert!(told.expect("a remark").starts_with(start), "{told:?}");
        }
    }

    /// A box has no curve. Of shapes that are the same one is told, where it is pressed.
    #[test]
    fn curved_shapes_are_told_once() {
        assert_eq!(
            only(&advice(&[(BALL, "shape = { box = { size = [0.1, 0.1, 0.1] } }\nmaterial = \"foam\"")])),
            None
        );
        let two = format!("{BALL}\n[[bodies.geometries]]\ntranslation = [0, 0, 0.06]\n{BALL}");
        let advice = advice(&[(BALL, &two)]);
        assert_eq!(only(&advice).expect("a finer mesh").geometry, 0);
    }

    /// With a law of layers, rigid, and lying on its side.
    #[test]
    fn meshes_of_all_kinds_are_compared() {
        let ball = BALL.replace("0.01", "0.03");
        let law = format!("{ball}\npressure_law = {{ power = {{ exponent = 1.5, layers = 2 }} }}");
        let block = (TABLE, "shape = { box = { size = [0.4, 0.4, 0.2] } }\nmaterial = \"foam\"");
        let at = ("[0.3, 0, 0.2]", "[0.01, 0.02, 0.3]\nrpy = [1.5707963267948966, 0, 0]");
        let cylinder = ball.replace("sphere = { radius = 0.05", "cylinder = { radius = 0.05, length = 0.1");
        for (shape, others) in [
            (law, vec![]),
            (ball.replace("material", "rigid = true\nmaterial"), vec![block, at]),
            (cylinder, vec![at]),
        ] {
            let all: Vec<_> = std::iter::once((BALL, shape.as_str())).chain(others).collect();
            let advice = advice(&all);
            let found = only(&advice).unwrap_or_else(|| panic!("{advice:?}"));
            assert!(found.now.force_error.max(found.now.stiffness_error) > ALLOWED, "{found:?}");
            assert!(found.advised.force_error.max(found.advised.stiffness_error) <= ALLOWED, "{found:?}");
        }
    }
}
