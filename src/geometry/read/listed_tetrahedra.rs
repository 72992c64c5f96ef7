//! What a file of tetrahedra says, before it is checked.

use crate::geometry::VolumeMesh;

/// Tetrahedra as a file lists them, and the line of each.
pub(super) struct ListedTetrahedra {
    pub mesh: VolumeMesh,
    pub lines: Vec<usize>,
}
