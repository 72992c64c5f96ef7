//! Which pairs of geometries may touch: those whose boxes, along W's axes, overlap, and whose
//! bounding balls do. Two rigid geometries have no pressure between them: they are left out, or all of them added.
//!
//! The boxes are sorted along the axis on which they are spread most and swept: the cost is
//! n log n for n geometries, and what overlaps along that axis.

use nalgebra::Vector3;

use crate::contact::ContactGeometry;
use crate::multibody::{BodyFrame, BodyPair, GeometryPair, Model};
use crate::scalar::Scalar;
use crate::spatial::RigidTransform;

/// Boxes and balls are widened by this part of their size and of their distance from the origin, many
/// times what rounding can shift them by.
const MARGIN: f64 = 1e-9;

/// The box of one geometry in W, and the ball around the same middle.
#[derive(Clone, Copy, Debug)]
struct WorldBox {
    low: Vector3<f64>,
    high: Vector3<f64>,
    middle: Vector3<f64>,
    radius: f64,
    body: usize,
    geometry: usize,
    is_rigid: bool,
}

impl WorldBox {
    fn new(geometry: &ContactGeometry, x_wg: &RigidTransform, body: usize, index: usize) -> Self {
        let (middle, half, radius) = geometry.hierarchy().map_or_else(
            || (Vector3::zeros(), Vector3::from_element(f64::INFINITY), f64::INFINITY),
            |hierarchy| {
                let (middle, half) = hierarchy.bounding_box();
                let middle = *x_wg * middle;
                let half = x_wg.rotation.abs() * half;
                let radius = hierarchy.span() + (hierarchy.span() + middle.amax()) * MARGIN;
                (middle, half + (half + middle.abs()) * MARGIN, radius)
            },
        );
        let is_rigid = geometry.is_rigid();
        Self { low: middle - half, high: middle + half, middle, radius, body, geometry: index, is_rigid }
    }

    fn overlaps(&self, other: &Self) -> bool {
        let reach = self.radius + other.radius;
        (0..3).all(|k| self.low[k] <= other.high[k] && other.low[k] <= self.high[k])
            && (self.middle - other.middle).norm_squared() <= reach * reach
    }
}

/// The memory of the search, reused from one state to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct BroadPhase {
    boxes: Vec<WorldBox>,
    candidates: Vec<usize>,
    /// For each body the place that its pair with body 0 would have if all bodies of one geometry
    /// could touch: a guess that need not be right.
    rows: Vec<usize>,
}

/// The place of a pair in a sorted list. Where the guess is right, that is one look at the list.
fn index_of(pairs: &[GeometryPair], wanted: &GeometryPair, row: &mut usize) -> Option<usize> {
    let guess = row.wrapping_add(wanted.bodies.b);
    if pairs.get(guess) == Some(wanted) {
        return Some(guess);
    }
    let found = pairs.binary_search(wanted).ok()?;
    *row = found.wrapping_sub(wanted.bodies.b);
    Some(found)
}

impl BroadPhase {
    /// What [`Self::candidates`] found last.
    pub fn found(&self) -> &[usize] {
        &self.candidates
    }

    /// [`Self::candidates`] and the pairs of rigid geometries, which touch in features.
    pub fn with_rigid_pairs<T: Scalar>(&mut self, model: &Model<T>, frames: &[BodyFrame<T>]) -> &[usize] {
        self.candidates(model, frames);
        if !model.rigid_pairs.is_empty() {
            self.candidates.extend(&model.rigid_pairs);
            self.candidates.sort_unstable();
        }
        &self.candidates
    }

    /// The indices in [`Model::pairs`], in increasing order, of the pairs between which there may be pressure with the
    /// bodies at `frames`. Between all others there is none.
    pub fn candidates<T: Scalar>(&mut self, model: &Model<T>, frames: &[BodyFrame<T>]) -> &[usize] {
        let Self { boxes, candidates, rows } = self;
        boxes.clear();
        candidates.clear();
        rows.resize(frames.len(), 0);
        for (body, (description, frame)) in model.bodies.iter().zip(frames).enumerate() {
            let pose = frame.pose.real();
            for (index, geometry) in description.geometries.iter().enumerate() {
                let x_wg = pose * geometry.x_bg.real();
                boxes.push(WorldBox::new(&geometry.collider.geometry, &x_wg, body, index));
            }
        }
        let axis = widest_axis(boxes);
        boxes.sort_unstable_by(|a, b| {
            a.low[axis].total_cmp(&b.low[axis]).then((a.body, a.geometry).cmp(&(b.body, b.geometry)))
        });
        for (i, first) in boxes.iter().enumerate() {
            for second in boxes[i + 1..].iter().take_while(|b| b.low[axis] <= first.high[axis]) {
                let none = first.body == second.body || (first.is_rigid && second.is_rigid);
                if none || !first.overlaps(second) {
                    continue;
                }
                let (a, b) = if first.body < second.body { (first, second) } else { (second, first) };
                let wanted = GeometryPair {
                    bodies: BodyPair { a: a.body, b: b.body },
                    geometry_a: a.geometry,
                    geometry_b: b.geometry,
                };
                candidates.extend(index_of(&model.pairs, &wanted, &mut rows[a.body]));
            }
        }
        candidates.sort_unstable();
        candidates
    }
}

/// Whether two geometries may touch with the bodies at `frames`; others do not.
pub fn may_touch(model: &Model, frames: &[BodyFrame], pair: &GeometryPair) -> bool {
    let world_box = |body: usize, index: usize| {
        let geometry = &model.bodies[body].geometries[index];
        let x_wg = frames[body].pose * geometry.x_bg;
        WorldBox::new(&geometry.collider.geometry, &x_wg, body, index)
    };
    let BodyPair { a, b } = pair.bodies;
    world_box(a, pair.geometry_a).overlaps(&world_box(b, pair.geometry_b))
}

/// The axis along which the middles of the finite boxes are spread most.
fn widest_axis(boxes: &[WorldBox]) -> usize {
    let (mut low, mut high) =
        (Vector3::from_element(f64::INFINITY), Vector3::from_element(f64::NEG_INFINITY));
    for b in boxes.iter().filter(|b| b.high.x < f64::INFINITY) {
        low = low.inf(&b.middle);
        high = high.sup(&b.middle);
    }
    (high - low).imax()
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    use crate::contact::{Collider, Material, Workspace, contact_lifted};
    use crate::geometry::Shape;
    use crate::multibody::contact::contact_forces::with_pair;
    use crate::multibody::{
        Body, BodyGeometry, BodyState, MassProperties, MassSource, ModelBuilder, NamedMaterial, State,
    };
    use crate::spatial::{Quaternion, SpatialVelocity};

    const MATERIAL: Material = Material::new(1e5, 0.0, 0.0);

    fn shape(shape: Shape) -> BodyGeometry {
        BodyGeometry::new(Collider::of_shape(&shape, 0.1, MATERIAL).expect("a valid shape")).of_material(0)
    }

    /// Bodies of two geometries each over a half-space.
    fn model(count: usize) -> Model {
        let mass = MassProperties {
            mass: 1.0,
            center_of_mass: Vector3::zeros(),
            inertia: nalgebra::Matrix3::identity(),
        };
        let beside = RigidTransform::from_translation([0.2, 0.0, 0.0]);
        let mut bodies: Vec<Body> = (0..count)
            .map(|i| {
                let parts = vec![
                    shape(Shape::Box { size: [0.3, 0.1, 0.05] }),
                    shape(Shape::Sphere { radius: 0.1 }).at(beside),
                ];
                Body::free(format!("{i}"), MassSource::Given(mass), parts).expect("a valid body")
            })
            .collect();
        let ground = BodyGeometry::new(Collider::rigid_half_space(MATERIAL)).of_material(0);
        bodies.insert(count / 2, Body::fixed("ground", RigidTransform::identity(), vec![ground]));
        let materials = vec![NamedMaterial { name: "foam".into(), material: MATERIAL }];
        let apart = vec![BodyPair { a: 0, b: 1 }];
        ModelBuilder { bodies, materials, apart, ..Default::default() }.build().expect("a model")
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

        #[test]
        fn no_pair_that_touches_is_left_out(numbers in prop::collection::vec(-1.0..1.0f64, 6 * 7)) {
            let model = model(6);
            let bodies = numbers.chunks_exact(7).map(|x| BodyState {
                orientation: Quaternion::from_wxyz(x[0] + 1.5, x[1], x[2], x[3]),
                position: Vector3::new(x[4], x[5], x[6]) * 0.3,
                velocity: SpatialVelocity::zero(),
            });
            let state = State::of_bodies(bodies.collect());
            let mut frames = Vec::new();
            model.body_frames(&state, &mut frames);
            let mut search = BroadPhase::default();
            let found = search.candidates(&model, &frames).to_vec();
            prop_assert!(found.is_sorted_by(|a, b| a < b));
            let mut workspace = Workspace::default();
            for (i, pair) in model.pairs.iter().enumerate() {
                let touches = with_pair(&model, &frames, pair, |query| {
                    contact_lifted(query, &model.contact, &mut workspace).expect("checked").is_some()
                });
                prop_assert!(!touches || found.contains(&i), "pair {i}");
            }
            // The same whatever was searched before.
            search.candidates(&model, &frames[..1]);
            prop_assert_eq!(&found[..], search.candidates(&model, &frames));
        }
    }

    #[test]
    fn pairs_far_from_each_other_are_left_out() {
        let model = model(4);
        let at = |i: usize| Vector3::new(i as f64, 0.0, 5.0);
        let state = State::of_bodies(
            (0..4).map(|i| BodyState::at_rest(&RigidTransform::from_translation(at(i)))).collect(),
        );
        let mut frames = Vec::new();
        model.body_frames(&state, &mut frames);
        // A half-space has no box: what is left are its pairs.
        let mut search = BroadPhase::default();
        let found = search.candidates(&model, &frames);
        assert!(found.iter().all(|&i| [model.pairs[i].bodies.a, model.pairs[i].bodies.b].contains(&2)));
        assert_eq!(found.len(), 4 * 2);
    }
}
