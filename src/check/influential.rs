//! The vertices of meshes and the knots of loads that a check takes: those that matter for the motion, since most do not
//! take part in contact, or lie beyond its end.

use super::beside::SPREAD;
use super::scene::SceneCheck;
use super::way_derivatives::Weighted;
use crate::multibody::{LoadPart, Parameter};
use crate::rollout::{Checkpoints, Rollout, SimulationError, SimulationSettings, loss_gradient};

impl SceneCheck<'_> {
    /// The coordinates of up to `count` vertices of each geometry's mesh, as many extents, and the values at as many
    /// knots of each load: of all that a sum of the final state's components depends on, in the order of how much it
    /// does, the first and others at even distances.
    ///
    /// Extents of 0 are not among them. Fields are 0 on the boundary of a mesh, and forces have a kink
    /// where they are not.
    pub(super) fn influential_parameters(&self, count: usize) -> Result<Vec<Parameter>, SimulationError> {
        let (model, n) = (self.model, self.state.tangent_dimension());
        if count == 0 || n == 0 {
            return Ok(Vec::new());
        }
        let inside = |extent: &Parameter| extent.value(model).is_ok_and(|extent| extent > 0.0);
        let mut lists: Vec<Vec<Parameter>> = Vec::new();
        for (body, b) in model.bodies.iter().enumerate() {
            for geometry in 0..b.geometries.len() {
                lists.push(Parameter::vertices(model, body, geometry));
                lists.push(Parameter::extents(model, body, geometry).into_iter().filter(inside).collect());
            }
        }
        let knots = Parameter::load_knots(model);
        let load_of = |parameter: &Parameter| match *parameter {
            Parameter::Load { load, .. } => load,
            _ => 0,
        };
        lists.extend(knots.chunk_by(|a, b| load_of(a) == load_of(b)).map(<[Parameter]>::to_vec));
        let all = lists.concat();
        if all.is_empty() {
            return Ok(Vec::new());
        }
        let weights: Vec<f64> = (0..n).map(|i| ((1 + i) as f64 * SPREAD).fract() + 0.5).collect();
        let until = self.steps as f64 * self.time_step;
        let gradient = self.with_tightest(|integrator| {
            let settings = SimulationSettings { integrator, time_step: self.time_step };
            let rollout = Rollout::new(model, self.state, settings, until);
            let rollout = rollout.under(self.applied).with_controls(self.controls).holding(&self.substeps);
            loss_gradient(&rollout, &Weighted(&weights), &all, Checkpoints::All)
        })?;
        let mut rest = &gradient.by_parameters[..];
        let mut chosen = Vec::new();
        for list in &lists {
            let (own, others) = rest.split_at(list.len());
            rest = others;
            chosen.extend(spread_over(list, own, count));
        }
        Ok(chosen)
    }
}

/// The parameters of up to `count` vertices or knots that a number depends on, given the derivatives with respect to
/// all parameters of a list.
fn spread_over(list: &[Parameter], derivatives: &[f64], count: usize) -> Vec<Parameter> {
    let vertex_of = |parameter: &Parameter| match *parameter {
        Parameter::MeshVertex { vertex, .. } | Parameter::Extent { vertex, .. } => vertex,
        Parameter::Load { part: LoadPart::Knot(knot), .. } => knot,
        _ => 0,
    };
    let mut influence = vec![0.0_f64; list.iter().map(vertex_of).max().map_or(0, |last| last + 1)];
    for (parameter, derivative) in list.iter().zip(derivatives) {
        influence[vertex_of(parameter)] += derivative * derivative;
    }
    let mut ranked: Vec<usize> = (0..influence.len()).filter(|&v| influence[v] > 0.0).collect();
    ranked.sort_by(|&a, &b| influence[b].total_cmp(&influence[a]));
    let taken = count.min(ranked.len());
    let mut chosen: Vec<usize> = (0..taken).map(|i| ranked[i * ranked.len() / taken]).collect();
    chosen.sort_unstable();
    list.iter().filter(|parameter| chosen.binary_search(&vertex_of(parameter)).is_ok()).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_are_taken_from_the_first_to_the_last_that_matter() {
        let (body, geometry) = (0, 0);
        let coordinates =
            |vertex| (0..3).map(move |axis| Parameter::MeshVertex { body, geometry, vertex, axis });
        let list: Vec<Parameter> = (0..5).flat_map(coordinates).collect();
        // Vertex 3 matters most, then 0, 4 and 1; 2 does not.
        let mut derivatives = vec![0.0; list.len()];
        for (vertex, influence) in [(3, 9.0), (0, -5.0), (4, 2.0), (1, 1.0)] {
            derivatives[3 * vertex + 1] = influence;
        }
        let vertices = |count| spread_over(&list, &derivatives, count);
        let all_of = |vertices: &[usize]| vertices.iter().flat_map(|&v| coordinates(v)).collect::<Vec<_>>();
        assert_eq!(vertices(1), all_of(&[3]));
        assert_eq!(vertices(2), all_of(&[3, 4]));
        assert_eq!(vertices(9), all_of(&[0, 1, 3, 4]));
        assert!(spread_over(&list, &vec![0.0; list.len()], 2).is_empty());
        let extents: Vec<Parameter> =
            [1, 4].map(|vertex| Parameter::Extent { body, geometry, vertex }).to_vec();
        assert_eq!(spread_over(&extents, &[0.0, -1.0], 2), extents[1..]);
    }
}
