//! Which contacts there were in the last step, which of them ended, and which formula of its contact model each face
//! followed.

use super::Workspace;
use crate::contact::Release;

impl Workspace {
    /// The pairs of geometries that were in contact at the start of the last step, by their indices in
    /// [`crate::multibody::Model::pairs`], in increasing order.
    pub fn touching(&self) -> impl Iterator<Item = usize> {
        self.problem.patches.iter().map(|patch| patch.pair)
    }

    /// The pairs of rigid geometries that pushed on each other in the last step.
    pub fn pushing_rigid_pairs(&self) -> impl Iterator<Item = usize> {
        let patches = self.problem.patches.iter().zip(&self.newton.by_patch);
        let pushes = patches.filter(|(patch, (on_o, _))| patch.contacts.is_rigid && on_o.amax() > 0.0);
        pushes.map(|(patch, _)| patch.pair)
    }

    /// The contacts that ended within the last step, with their pairs.
    pub fn released(&self) -> impl Iterator<Item = (usize, Release)> {
        let Self { problem, newton, .. } = self;
        problem.patches.iter().filter_map(|patch| {
            let v = problem.relative(patch, &newton.velocity, true);
            Some((patch.pair, patch.contacts.release(&problem.contacts, &v)?))
        })
    }

    /// Calls `visit` for each face with the index of its pair in [`crate::multibody::Model::pairs`] and
    /// a number that identifies the face within the pair and the branch of its impulse (see
    /// [`crate::contact::ContactModel`]).
    pub fn for_each_branch(&self, mut visit: impl FnMut(usize, u64)) {
        for patch in &self.problem.patches {
            let v = self.problem.relative(patch, &self.newton.velocity, true);
            patch.contacts.for_each_branch(&self.problem.contacts, &v, |face, branch| {
                visit(patch.pair, face as u64 * 64 + u64::from(branch));
            });
        }
    }
}
