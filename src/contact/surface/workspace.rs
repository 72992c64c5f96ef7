//! The memory of contact queries, and what tells one surface from another.

use crate::contact::pair::query::{ContactPair, Roles};
use crate::contact::settings::FaceFilter;
use crate::contact::surface::search::{SearchMemory, for_each_polygon};

/// Reusable memory of contact queries: one per thread. After the first queries they allocate
/// nothing.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    pub(in crate::contact) search: SearchMemory,
}

impl Workspace {
    /// A number that tells which polygons the contact surface of two bodies has and which
    /// constraints bound them, made with a function that mixes numbers, and whether meshes are
    /// aligned on it; `None` where the bodies do not touch. Poses at which it is the same have
    /// surfaces of the same make.
    pub(crate) fn topology(
        &mut self,
        pair: &ContactPair,
        filter: FaceFilter,
        mixed: impl Fn(u64) -> u64,
    ) -> Option<(u64, bool)> {
        let roles = Roles::new(pair).ok()?;
        let (mut number, mut aligned) = (u64::from(roles.a_is_o), false);
        let mut polygons = 0;
        for_each_polygon(&roles, filter, &mut self.search, |polygon, _| {
            // In no order, as the search may find the same ones in another, and begin elsewhere.
            let edges =
                polygon.edge[..polygon.len].iter().fold(0, |bits, edge| bits | (1_u64 << (edge & 63)));
            let elements = mixed(u64::from(polygon.o) << 32 | u64::from(polygon.f));
            number = number.wrapping_add(mixed(elements ^ (edges << 8 | polygon.len as u64)));
            aligned |= polygon.aligned;
            polygons += 1;
        });
        (polygons > 0).then_some((number, aligned))
    }
}
