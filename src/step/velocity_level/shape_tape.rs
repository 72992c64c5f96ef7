//! What a step leaves behind for derivatives with respect to the shapes of geometries: its faces. Tapes have
//! it only where such derivatives are asked for.

use super::problem::Problem;
use crate::contact::{DiscretePatch, DiscreteSettings, PairImpulse, PointContacts, Roles, ShapeTerms};
use crate::multibody::{BodyFrame, DifferentiatedModel, GeometryPair, Model, ModelGradient, with_pair};
use crate::spatial::SpatialForce;

/// The faces of a step.
#[derive(Debug, Default)]
pub(super) struct ShapeTape {
    contacts: PointContacts,
    patches: Vec<(GeometryPair, DiscretePatch)>,
    /// The bodies before the step, with their velocities before it and after it.
    before: Vec<BodyFrame>,
    after: Vec<BodyFrame>,
    terms: ShapeTerms,
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
        let asked = problem.patches.iter().map(|patch| (pairs[patch.pair], &patch.contacts));
        let asked = asked.filter(|(pair, _)| differentiated.asks_for_geometry_of(pair));
        self.patches.extend(asked.map(|(pair, patch)| (pair, patch.clone())));
        if !self.patches.is_empty() {
            let (own, found) = (&mut self.contacts, &problem.contacts);
            own.position.clone_from(&found.position);
            own.normal.clone_from(&found.normal);
            own.constants.clone_from(&found.constants);
            own.polygons.clone_from(&found.polygons);
            for (own, frames) in [(&mut self.before, before), (&mut self.after, after)] {
                own.clear();
                own.extend_from_slice(frames);
            }
        }
    }

    /// About the memory that it holds, bytes.
    pub fn bytes(&self) -> usize {
        let PointContacts { position, normal, constants, polygons, .. } = &self.contacts;
        let contacts = size_of_val(&**position)
            + size_of_val(&**normal)
            + size_of_val(&**constants)
            + size_of_val(&**polygons);
        let frames = size_of_val(&*self.before) + size_of_val(&*self.after);
        contacts + frames + size_of_val(&*self.patches)
    }

    /// Adds the derivatives of a number with respect to the shapes, given those with respect to the impulse
    /// on each moving body about its origin, in W.
    pub fn add_vjp(
        &mut self,
        model: &Model,
        settings: &DiscreteSettings,
        moving: &[Option<usize>],
        by_force: &[SpatialForce],
        out: &mut ModelGradient,
    ) {
        let Self { contacts, patches, before, after, terms } = self;
        for (pair, patch) in patches.iter() {
            let [by_a, by_b] = [pair.bodies.a, pair.bodies.b]
                .map(|body| moving[body].map_or_else(SpatialForce::zero, |i| by_force[i]));
            let [p_a, p_b] = [pair.bodies.a, pair.bodies.b].map(|body| before[body].pose.translation);
            // About A's origin: M_B = −M_A + d × F and F_B = −F_A with d from A to B.
            let by_moment = by_a.rotational - by_b.rotational;
            let by_linear = by_a.translational - by_b.translational + by_b.rotational.cross(&(p_b - p_a));
            terms.clear();
            let velocity_after =
                with_pair(model, after, pair, |query| Roles::new(query).ok().map(|roles| roles.v_fo));
            with_pair(model, before, pair, |query| {
                let (Ok(roles), Some(velocity)) = (Roles::new(query), velocity_after) else { return };
                let sign = if roles.a_is_o { 1.0 } else { -1.0 };
                let lever = roles.x_wf.translation - p_a;
                let on_o = SpatialForce::new(by_moment, by_linear + by_moment.cross(&lever)) * sign;
                let by_impulse = on_o.rotated(&roles.x_wf.rotation.transpose());
                let impulse = PairImpulse {
                    roles: &roles,
                    settings,
                    patch,
                    contacts,
                    before: &roles.v_fo,
                    after: &velocity,
                };
                impulse.shape_vjp(&by_impulse, terms);
            });
            out.add_shapes(pair, terms);
        }
    }
}
