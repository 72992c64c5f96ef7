//! Bodies pressed together as linear elasticity has them, and the moduli with which pressure fields bear the same force.
//!
//! A pressure field is a law of its own: of a ball its force grows with the square of the depth, where that of an elastic
//! ball grows with the power 1.5. One modulus therefore stands for one depth, and is off at others.

use serde::Serialize;

use super::elastic_material::Elastic;
use super::pressing::{Patch, Press, span};
use super::remarks::{Subject, geometries};
use crate::contact::{ContactGeometry, MaterialParameter};
use crate::multibody::{BodyGeometry, Model, NamedMaterial, Parameter};

/// A material of a scene as an elastic one.
#[derive(Clone, Debug, PartialEq)]
pub struct ElasticMaterial {
    /// Its name in the scene.
    pub name: String,
    /// What it is.
    pub elastic: Elastic,
    /// How thick it is in front of what is rigid behind it, m; without it the body from side to side.
    pub thickness: Option<f64>,
}

/// A solution of linear elasticity for two bodies that are pressed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ElasticSolution {
    /// Round on round or on a plane: F = 4/3 E* √R δ^1.5 (Hertz; Johnson 1985, "Contact Mechanics", eq. 4.23).
    Hertz,
    /// A cylinder along a line: δ = F/(π L E*) (2 ln(4 R/b) − 1) with b² = 4 F R/(π L E*) (Johnson, eq. 4.43 and §5.6).
    Cylinder,
    /// A flat face that is small against the other body: F = 2 E* a δ (Johnson, eq. 3.36).
    Punch,
    /// A layer that is thin against the contact, or a block between plates: F = Σ(h/M)⁻¹ ∫ depth dA.
    Layer,
}

/// Two bodies as linear elasticity has them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ElasticAdvice {
    /// By which solution.
    pub solution: ElasticSolution,
    /// How far they come under the load, m.
    pub penetration: f64,
    /// The hydroelastic moduli with which pressure fields bear the load at the same penetration.
    pub moduli: Vec<AdvisedModulus>,
    /// The force of the meshes as they are with these moduli over that of elastic bodies, less 1: 0 unless they are too coarse to
    /// be pressed that little.
    pub error: f64,
    /// The same at half the penetration.
    pub error_at_half: f64,
    /// The same at twice the penetration.
    pub error_at_twice: f64,
}

/// The modulus of a material of a scene.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdvisedModulus {
    /// The material's name.
    pub material: String,
    /// What its `hydroelastic_modulus` should be, Pa.
    pub hydroelastic_modulus: f64,
}

/// Bodies that are not elastic are harder than those that are by this factor.
const RIGID: f64 = 1e4;
/// The part of the smaller body's size at which its shape is first looked at, ...
const FIRST_DEPTH: f64 = 1e-3;
/// ... and at most.
const LAST_DEPTH: f64 = 0.1;
/// Polygons across a contact surface that show the shape of bodies, and not of their meshes.
const ACROSS: f64 = 6.0;
/// With fewer across, the force is that of single facets and corners.
const COARSE: f64 = 3.0;
/// Forces that grow with less than this power of the depth are those of faces, ...
const FLAT: f64 = 1.25;
/// ... and with more than this one those of round bodies; between them are those of cylinders.
const ROUND: f64 = 1.75;
/// Steps by which a power is looked for.
const STEP: f64 = 1.1;

/// One elastic body of two, and how thick it is, m.
type Layer = (Elastic, f64);

/// The shape of two bodies where they touch.
struct Shape {
    patch: Patch,
    /// The depth of which the patch is.
    depth: f64,
    /// The power of the depth with which the force of pressure fields grows.
    power: f64,
    layers: Vec<Layer>,
    /// The smallest width of an elastic body across the way, m.
    width: f64,
}

impl Shape {
    fn is_flat(&self) -> bool {
        self.power < FLAT
    }

    fn is_round(&self) -> bool {
        self.power >= ROUND
    }

    /// The radius of curvature, m: of a ball the patch of overlap has the area 2 π R δ, of a cylinder the width √(8 R δ).
    fn radius(&self) -> f64 {
        match self.is_round() {
            true => self.patch.area / (2.0 * std::f64::consts::PI * self.depth),
            false => self.patch.width.powi(2) / (8.0 * self.depth),
        }
    }

    /// The power of the depth with which the force of pressure fields grows without facets.
    fn smooth_power(&self) -> f64 {
        match (self.is_flat(), self.is_round()) {
            (true, _) => 1.0,
            (_, true) => 2.0,
            _ => 1.5,
        }
    }

    /// 1/E* = Σ (1 − ν²)/E, Pa⁻¹.
    fn compliance(&self) -> f64 {
        self.layers.iter().map(|(elastic, _)| elastic.compliance()).sum()
    }

    fn thinnest(&self) -> f64 {
        self.layers.iter().map(|layer| layer.1).fold(f64::INFINITY, f64::min)
    }

    /// The solution that holds at a depth.
    fn solution(&self, depth: f64) -> ElasticSolution {
        let Patch { length, width, .. } = self.patch;
        if self.is_flat() {
            let is_small = length.max(width) < 0.5 * self.width && width < self.thinnest();
            return if is_small { ElasticSolution::Punch } else { ElasticSolution::Layer };
        }
        match (self.radius() * depth).sqrt() > self.thinnest() {
            true => ElasticSolution::Layer,
            false if self.is_round() => ElasticSolution::Hertz,
            false => ElasticSolution::Cylinder,
        }
    }

    /// The area at a depth, m².
    fn area(&self, depth: f64) -> f64 {
        self.patch.area * (depth / self.depth).powf(self.smooth_power() - 1.0)
    }

    /// The force at a depth, N.
    fn force(&self, solution: ElasticSolution, depth: f64) -> f64 {
        let pi = std::f64::consts::PI;
        match solution {
            ElasticSolution::Hertz => 4.0 / 3.0 * (self.radius() * depth.powi(3)).sqrt() / self.compliance(),
            ElasticSolution::Punch => 2.0 * (self.patch.area / pi).sqrt() * depth / self.compliance(),
            ElasticSolution::Layer => {
                let Patch { length, width, .. } = self.patch;
                let give = |(elastic, thickness): &Layer| {
                    let shape_factor = length * width / (2.0 * (length + width) * thickness);
                    thickness / elastic.layer_modulus(shape_factor)
                };
                // ∫ depth dA is this part of the area and the depth.
                let mean = self.smooth_power().recip();
                mean * self.area(depth) * depth / self.layers.iter().map(give).sum::<f64>()
            }
            ElasticSolution::Cylinder => {
                // By x = F/(π L E*) and b = 2 √(R x); the depth grows with x up to (2 R/e)²/R.
                let radius = self.radius();
                let deep = |x: f64| x * (2.0 * (2.0 * (radius / x).sqrt()).ln() - 1.0);
                let most = 4.0 * radius / std::f64::consts::E.powi(2);
                let x = root(most, |x| deep(x) >= depth);
                x * pi * self.patch.length / self.compliance()
            }
        }
    }
}

/// The least number up to a largest one from which on something holds that holds there.
fn root(most: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let mut ends = [most * 1e-12, most];
    for _ in 0..60 {
        let middle = (ends[0] * ends[1]).sqrt();
        ends[usize::from(holds(middle))] = middle;
    }
    ends[1]
}

/// The two bodies as elastic ones. `None` where neither is made of one of the elastic materials or they do not meet; an
/// error says why there is no depth.
pub(super) fn elastic_advice(subject: &Subject) -> Option<Result<ElasticAdvice, String>> {
    let elastic = |index: Option<usize>| {
        let name = &subject.model.materials().get(index?)?.name;
        subject.how.elastic.iter().find(|elastic| elastic.name == *name)
    };
    let own: Vec<_> = geometries(subject)
        .into_iter()
        .enumerate()
        .filter(|(_, geometry)| !geometry.collider.geometry.is_rigid())
        .filter_map(|(of_b, geometry)| Some((of_b == 1, geometry, elastic(geometry.material)?)))
        .collect();
    if own.is_empty() {
        return None;
    }
    let largest = own.iter().map(|(_, _, e)| 1.0 / e.elastic.compliance()).fold(0.0, f64::max);
    let moduli = |material: &NamedMaterial| {
        let found = subject.how.elastic.iter().find(|elastic| elastic.name == material.name);
        found.map_or(RIGID * largest, |found| 1.0 / found.elastic.compliance())
    };
    // Each with the modulus of an elastic half-space, so that they share the depth as those do.
    let model = with_moduli(subject.model, moduli)?;
    let mut press = Press::new(&model, subject.frames, subject.pairs, subject.load, subject.how)?;
    let size = press.size();
    let direction = press.direction();
    let layer = |(of_b, geometry, elastic): &(bool, &BodyGeometry, &ElasticMaterial)| {
        let of_body = match geometry.collider.geometry.as_ref() {
            ContactGeometry::CompliantHalfSpace => geometry.collider.thickness,
            _ => span(subject.model, subject.frames, &subject.pairs[0], *of_b, &direction),
        };
        (elastic.elastic, elastic.thickness.unwrap_or(of_body))
    };
    let layers: Vec<Layer> = own.iter().map(layer).collect();
    let mut shape_at = |depth: f64| {
        let power = (press.force_at(depth * STEP) / press.force_at(depth / STEP)).ln() / (2.0 * STEP.ln());
        let patch = press.patch(depth);
        let sides = own.iter().filter(|(_, geometry, _)| !geometry.collider.geometry.is_half_space());
        let widths = sides.flat_map(|(of_b, _, _)| {
            patch.axes.map(|axis| span(subject.model, subject.frames, &subject.pairs[0], *of_b, &axis))
        });
        Shape { depth, power, layers: layers.clone(), width: widths.fold(f64::INFINITY, f64::min), patch }
    };
    let mut shape = shape_at(FIRST_DEPTH * size);
    while !shape.patch.shows(ACROSS) && shape.depth < LAST_DEPTH * size {
        shape = shape_at((1.5 * shape.depth).min(LAST_DEPTH * size));
    }
    let load = subject.load;
    let depth_of = |shape: &Shape| root(size, |depth| shape.force(shape.solution(depth), depth) >= load);
    let mut depth = depth_of(&shape);
    if depth > shape.depth && depth < 0.5 * size {
        shape = shape_at(depth);
        depth = depth_of(&shape);
    }
    if depth >= 0.5 * size {
        return Some(Err(
            "elastic bodies would come together by half their size under this load: linear elasticity ends there"
                .to_owned(),
        ));
    }
    let solution = shape.solution(depth);
    let smooth = press.force_at(shape.depth) * (depth / shape.depth).powf(shape.smooth_power());
    let factor = load / if press.patch(depth).shows(COARSE) { press.force_at(depth) } else { smooth };
    let mut error =
        |part: f64| factor * press.force_at(part * depth) / shape.force(solution, part * depth) - 1.0;
    let [error, error_at_half, error_at_twice] = [1.0, 0.5, 2.0].map(&mut error);
    let mut advised: Vec<AdvisedModulus> = own
        .iter()
        .map(|(_, _, elastic)| AdvisedModulus {
            material: elastic.name.clone(),
            hydroelastic_modulus: factor / elastic.elastic.compliance(),
        })
        .collect();
    advised.dedup();
    Some(Ok(ElasticAdvice {
        solution,
        penetration: depth,
        moduli: advised,
        error,
        error_at_half,
        error_at_twice,
    }))
}

/// The model with other moduli of its compliant materials; `None` where one is not a modulus.
fn with_moduli(model: &Model, modulus: impl Fn(&NamedMaterial) -> f64) -> Option<Model> {
    let parameter = MaterialParameter::HydroelasticModulus;
    let compliant =
        model.materials().iter().enumerate().filter(|(_, m)| m.material.hydroelastic_modulus > 0.0);
    let values: Vec<(Parameter, f64)> = compliant
        .map(|(material, named)| (Parameter::Material { material, parameter }, modulus(named)))
        .collect();
    model.with_parameters(&values).ok()
}
