//! Which features of two boundaries touch first.

use super::features::{Features, Placed, Situation};

/// Two touches are at the same time if they are no farther apart than this, s.
const SAME_TIME: f64 = 1e-12;
/// Two touches are at the same place if they are no farther apart than this part of their distance from the origin of
/// W, and alike if their unit normals do not differ by more.
const SAME_PLACE: f64 = 1e-6;

/// How far beyond the two places, as a part of the way between them, features may touch: rounding tells how small an
/// overlap is found.
const BEYOND: f64 = 1.0;

/// The features that touch first on the way from the first place of the geometries, where they are apart, to the
/// second, where they overlap a little, and whether they are the only ones; none if no features touch. The way
/// takes `span` s.
pub(super) fn first_touching(
    places: &[Placed<'_, f64>; 2],
    candidates: &[Features],
    span: f64,
) -> Option<(Features, bool)> {
    let touches: Vec<Touch> =
        candidates.iter().filter_map(|features| Touch::new(places, *features)).collect();
    let first = touches.iter().map(|touch| touch.part).fold(f64::INFINITY, f64::min);
    let at_that_time = || touches.iter().filter(|touch| (touch.part - first) * span <= SAME_TIME);
    // The first in the list, where vertices come before edges.
    let touch = at_that_time().next()?;
    let near = SAME_PLACE * places[1].reach(&touch.features);
    let is_unique = at_that_time().all(|other| touch.is_like(other, near));
    Some((touch.features, is_unique))
}

/// Features that touch on the way.
struct Touch {
    features: Features,
    /// The part of the way to where they touch.
    part: f64,
    situation: Situation,
}

impl Touch {
    fn new(places: &[Placed<'_, f64>; 2], features: Features) -> Option<Self> {
        let situation = places[1].situation(&features)?;
        if !situation.is_on_both {
            return None;
        }
        let (outer, inner) = (places[0].gap(&features)?, situation.gap);
        let (features, outer, inner) = match features {
            Features::Edges { of_a, of_b: [from, to] } if outer < inner => {
                (Features::Edges { of_a, of_b: [to, from] }, -outer, -inner)
            }
            features => (features, outer, inner),
        };
        let part = outer / (outer - inner);
        let touches = outer > inner && (-BEYOND..=1.0 + BEYOND).contains(&part);
        touches.then_some(Self { features, part, situation })
    }

    /// Whether another touch at the same time is the same, so that the gap has one derivative: on a face that continues
    /// this one's, or of edges that end in this one's vertex.
    fn is_like(&self, other: &Self, near: f64) -> bool {
        let (own, its) = (&self.situation, &other.situation);
        let is_near = (own.point - its.point).norm() <= near;
        let difference = (own.normal - its.normal).norm().min((own.normal + its.normal).norm());
        is_near && (difference <= SAME_PLACE || self.features.vertex_ends(&other.features))
    }
}

impl Features {
    /// Whether these are a vertex and a face, and others are edges one of which ends in the vertex.
    fn vertex_ends(&self, edges: &Self) -> bool {
        match (self, edges) {
            (Self::VertexOfA { vertex, .. }, Self::Edges { of_a, .. }) => of_a.contains(vertex),
            (Self::VertexOfB { vertex, .. }, Self::Edges { of_b, .. }) => of_b.contains(vertex),
            _ => false,
        }
    }
}
