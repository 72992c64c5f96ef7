//! Contact at a state, as dictionaries.

use isobar::contact::{Workspace, for_each_polygon_traction};
use isobar::io;
use isobar::multibody::{BodyFrame, PairWorkspace, State, may_touch, with_pair};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::new_matrix;
use crate::failure::Failure;

/// What acts between two bodies that touch. SI units, world frame; the surface's numbers face after face.
pub struct Patch {
    a: String,
    b: String,
    force_on_a: [f64; 3],
    torque_on_a: [f64; 3],
    area: f64,
    centroid: [f64; 3],
    max_pressure: f64,
    energy: f64,
    points: Vec<f64>,
    normals: Vec<f64>,
    tractions_on_a: Vec<f64>,
    areas: Vec<f64>,
    pressures: Vec<f64>,
}

/// The patches between all bodies of a scene that touch.
pub fn patches(scene: &io::Scene, state: &State) -> Result<Vec<Patch>, Failure> {
    let model = &scene.model;
    let mut frames: Vec<BodyFrame> = Vec::new();
    model.body_frames(state, &mut frames);
    let (mut workspace, mut of_surface) = (PairWorkspace::default(), Workspace::default());
    let mut found = Vec::new();
    for (bodies, mut geometries) in scene.body_pairs().map_err(Failure::input)? {
        geometries.retain(|pair| may_touch(model, &frames, pair));
        let contact = model.body_pair_contact(&frames, &geometries, &mut workspace);
        let Some(centroid) = contact.centroid else { continue };
        let mut patch = Patch {
            a: model.bodies()[bodies.a].name.clone(),
            b: model.bodies()[bodies.b].name.clone(),
            force_on_a: contact.wrench_on_a.translational.into(),
            torque_on_a: contact.wrench_on_a.rotational.into(),
            area: contact.area,
            centroid: centroid.into(),
            max_pressure: contact.max_pressure,
            energy: model.body_pair_energy(&frames, &geometries),
            points: Vec::new(),
            normals: Vec::new(),
            tractions_on_a: Vec::new(),
            areas: Vec::new(),
            pressures: Vec::new(),
        };
        for pair in &geometries {
            with_pair(model, &frames, pair, |query| {
                for_each_polygon_traction(query, model.contact(), &mut of_surface, |polygon, traction| {
                    patch.points.extend(&traction.centroid);
                    patch.normals.extend(&polygon.normal);
                    patch.tractions_on_a.extend(&traction.on_a);
                    patch.areas.push(traction.area);
                    patch.pressures.push(traction.pressure);
                });
            });
        }
        let numbers = patch.force_on_a.iter().chain(&patch.torque_on_a).chain(&patch.tractions_on_a);
        if !numbers.chain([&patch.area, &patch.energy]).all(|x| x.is_finite()) {
            let message = "is not finite; velocities, moduli or lengths are too large";
            return Err(Failure::input(format!("the contact of `{}` and `{}` {message}", patch.a, patch.b)));
        }
        found.push(patch);
    }
    Ok(found)
}

impl Patch {
    /// Its numbers by name, those of the surface as arrays.
    pub fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("a", self.a)?;
        dict.set_item("b", self.b)?;
        for (name, vector) in
            [("force_on_a", self.force_on_a), ("torque_on_a", self.torque_on_a), ("centroid", self.centroid)]
        {
            dict.set_item(name, PyArray1::from_slice(py, &vector))?;
        }
        for (name, number) in
            [("area", self.area), ("max_pressure", self.max_pressure), ("energy", self.energy)]
        {
            dict.set_item(name, number)?;
        }
        let faces = self.areas.len();
        for (name, rows) in
            [("points", self.points), ("normals", self.normals), ("tractions_on_a", self.tractions_on_a)]
        {
            dict.set_item(name, new_matrix(py, rows, [faces, 3])?)?;
        }
        dict.set_item("areas", PyArray1::from_vec(py, self.areas))?;
        dict.set_item("pressures", PyArray1::from_vec(py, self.pressures))?;
        Ok(dict)
    }
}
