//! What a step leaves behind for derivatives with respect to the shapes of geometries: its faces. Tapes have
//! it only where such derivatives are asked for.

use nalgebra::Vector6;

use super::problem::Problem;
use crate::contact::{
    DEFLECTION_DIMENSION, DiscretePatch, DiscreteSettings, PairImpulse, PointContacts, Roles, ShapeTerms,
};
use crate::multibody::{
    BodyFrame, DifferentiatedModel, GeometryPair, Model, ModelGradient, by_wrench_on_a, with_pair,
};
use crate::spatial::SpatialForce;

/// A patch of one geometry at least whose shape is asked for.
#[derive(Debug)]
struct AskedPatch {
    /// The index of its pair in [`Model::pairs`].
    index: usize,
    pair: GeometryPair,
    /// Whether the shapes of A and of B are asked for.
    asked: [bool; 2],
    contacts: DiscretePatch,
}

/// The faces of a step.
#[derive(Debug, Default)]
pub(super) struct ShapeTape {
    contacts: PointContacts,
    patches: Vec<AskedPatch>,
    /// The bodies before the step, with their velocities before it and after it.
    before: Vec<BodyFrame>,
    after: Vec<BodyFrame>,
}

impl ShapeTape {
    /// Becomes the faces of the patches at which a parameter's shape takes part.
    pub fn record(
        &mut self,
        differentiated: &DifferentiatedModel,
        problem: &Problem,
        [before, after]: [&[BodyFrame]; 2],
    ) {
        self.patches.clear();
        self.contacts.clear();
        if !differentiated.asks_for_geometries() {
            return;
        }
        let pairs = differentiated.model().pairs();
        self.patches.extend(problem.patches.iter().filter_map(|patch| {
            let (index, pair) = (patch.pair, pairs[patch.pair]);
            let asked = differentiated.geometries_asked_of(&pair);
            let patch = &patch.contacts;
            asked.contains(&true).then(|| AskedPatch { index, pair, asked, contacts: patch.clone() })
        }));
        if !self.patches.is_empty() {
            let (own, found) = (&mut self.contacts, &problem.contacts);
            own.position.clone_from(&found.position);
            own.normal.clone_from(&found.normal);
            own.constants.clone_from(&found.constants);
            own.slip_shift.clone_from(&found.slip_shift);
            own.polygons.clone_from(&found.polygons);
            own.features.pairs.clone_from(&found.features.pairs);
            for (own, frames) in [(&mut self.before, before), (&mut self.after, after)] {
                own.clear();
                own.extend_from_slice(frames);
            }
        }
    }

    /// About the memory that it holds, bytes.
    pub fn bytes(&self) -> usize {
        let PointContacts { position, normal, constants, slip_shift, polygons, features, .. } =
            &self.contacts;
        let contacts = size_of_val(&**position)
            + size_of_val(&**normal)
            + size_of_val(&**constants)
            + size_of_val(&**slip_shift)
            + size_of_val(&**polygons)
            + size_of_val(&*features.pairs);
        let frames = size_of_val(&*self.before) + size_of_val(&*self.after);
        contacts + frames + size_of_val(&*self.patches)
    }

    /// Adds the derivatives of a number with respect to the shapes, given those with respect to the impulse
    /// on each moving body about its origin, in W.
    pub fn add_vjp(
        &self,
        model: &Model,
        settings: &DiscreteSettings,
        moving: &[Option<usize>],
        by_force: &[SpatialForce],
        (terms, out): (&mut ShapeTerms, &mut ModelGradient),
    ) {
        self.for_each_patch(model, settings, (terms, out), |(_, pair, before), impulse, terms| {
            let [p_a, p_b] = [pair.bodies.a, pair.bodies.b].map(|body| before[body].pose.translation);
            let SpatialForce { rotational: by_moment, translational: by_linear } =
                by_wrench_on_a(pair, &(p_b - p_a), moving, by_force);
            let roles = impulse.roles;
            let sign = if roles.a_is_o { 1.0 } else { -1.0 };
            let lever = roles.x_wf.translation - p_a;
            let on_o = SpatialForce::new(by_moment, by_linear + by_moment.cross(&lever)) * sign;
            impulse.shape_vjp(&on_o.rotated(&roles.x_wf.rotation.transpose()), terms);
        });
    }

    /// Adds the derivatives of a number with respect to the shapes, given those with respect to the deflections
    /// of all bristles after the step.
    pub fn add_deflection_vjp(
        &self,
        model: &Model,
        settings: &DiscreteSettings,
        by_deflections: &[f64],
        (terms, out): (&mut ShapeTerms, &mut ModelGradient),
    ) {
        self.for_each_patch(model, settings, (terms, out), |(index, _, _), impulse, terms| {
            let first = DEFLECTION_DIMENSION * index;
            let by = Vector6::from_column_slice(&by_deflections[first..first + DEFLECTION_DIMENSION]);
            impulse.deflection_shape_vjp(&by, terms);
        });
    }

    /// Adds the derivatives of a number with respect to the shapes, of which `visit` writes down the terms of each
    /// patch, in memory that is reused. It is given the patch's pair with its index and the bodies before the step, and the impulse.
    fn for_each_patch(
        &self,
        model: &Model,
        settings: &DiscreteSettings,
        (terms, out): (&mut ShapeTerms, &mut ModelGradient),
        visit: impl Fn((usize, &GeometryPair, &[BodyFrame]), &PairImpulse, &mut ShapeTerms),
    ) {
        let Self { contacts, patches, before, after } = self;
        for AskedPatch { index, pair, asked, contacts: patch } in patches {
            terms.start(*asked);
            let velocity_after =
                with_pair(model, after, pair, |query| Roles::of_step(query).ok().map(|roles| roles.v_fo));
            with_pair(model, before, pair, |query| {
                let (Ok(roles), Some(velocity)) = (Roles::of_step(query), velocity_after) else { return };
                let impulse = PairImpulse {
                    roles: &roles,
                    settings,
                    patch,
                    contacts,
                    before: &roles.v_fo,
                    after: &velocity,
                };
                visit((*index, pair, before), &impulse, terms);
            });
            out.add_shapes(pair, terms);
        }
    }
}
