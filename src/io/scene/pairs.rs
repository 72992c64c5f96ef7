//! The pairs of bodies of a scene that can touch, also of one that cannot move.

use crate::io::scene::file::Scene;
use crate::multibody::{BodyPair, GeometryPair, ModelError, check_pair_count, geometry_pairs};

impl Scene {
    /// The geometries of each pair of bodies that contact can be computed between.
    ///
    /// Two bodies that are both fixed never meet in a simulation, so a pair of them that contact
    /// cannot be computed for is passed over, unless nothing else can touch.
    ///
    /// # Errors
    /// When there are too many pairs, or there is no contact between two bodies that can meet.
    pub fn body_pairs(&self) -> Result<Vec<(BodyPair, Vec<GeometryPair>)>, ModelError> {
        let bodies = self.model.bodies();
        let geometries: usize = bodies.iter().map(|body| body.geometries.len()).sum();
        check_pair_count(geometries.saturating_mul(geometries / 2))?;
        let mut pairs = Vec::new();
        let mut passed_over: Option<ModelError> = None;
        // Links of robots need not have geometries.
        let solid: Vec<usize> = (0..bodies.len()).filter(|&i| !bodies[i].geometries.is_empty()).collect();
        for (i, &a) in solid.iter().enumerate() {
            for &b in &solid[i + 1..] {
                let pair = BodyPair { a, b };
                if self.excluded.binary_search(&pair).is_ok() {
                    continue;
                }
                match geometry_pairs(bodies, pair) {
                    Ok(geometries) => pairs.push((pair, geometries)),
                    // Their forces are those of steps, and not of an instant.
                    Err(_) if self.model.rigid_pairs().any(|rigid| rigid.bodies == pair) => {}
                    Err(source) if self.fixed[a] && self.fixed[b] => passed_over = Some(source),
                    Err(source) => return Err(source),
                }
            }
        }
        match passed_over {
            Some(source) if pairs.is_empty() && self.model.rigid_pairs().len() == 0 => Err(source),
            _ => Ok(pairs),
        }
    }
}
