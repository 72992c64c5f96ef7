//! What a factorization leaves behind: all that solutions take.

/// What is known of the values of a matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Values {
    /// Symmetric and positive definite: half of the work and of the memory is saved.
    #[default]
    PositiveDefinite,
    /// Any, as long as the diagonal blocks dominate.
    General,
}

/// The factors of a matrix K = L U: L has identities on its diagonal, U the eliminated diagonal
/// blocks D of K. Of symmetric values U is D Lᵀ.
#[derive(Debug, Default)]
pub(crate) struct Factors {
    /// In the order of elimination.
    pub(super) pivots: Vec<Pivot>,
    pub(super) blocks: Vec<Coupled>,
    /// D and L, each block column after column, in the order of elimination: the diagonal
    /// block of a pivot p, then for each tree q coupled with it that comes later, by fill if not
    /// otherwise, the block (q, p).
    pub(super) values: Vec<f64>,
    /// The blocks (p, q) of U, where those of L are; without meaning for symmetric values.
    pub(super) upper: Vec<f64>,
    /// What the factors are of.
    pub(super) kind: Values,
    /// Row exchanges within the diagonal blocks.
    pub(super) exchanges: Vec<usize>,
}

/// A tree to be eliminated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pivot {
    pub(super) tree: usize,
    pub(super) size: usize,
    /// Whether it and all that is coupled with it and comes later are free bodies.
    pub(super) free: bool,
    /// Where its velocities start.
    pub(super) start: usize,
    /// Where its diagonal block starts in the factors, and where its last block ends.
    pub(super) values: (usize, usize),
    /// Its blocks below the diagonal, in `blocks`.
    pub(super) blocks: (usize, usize),
    /// Its first target.
    pub(super) targets: usize,
}

/// A tree q coupled with a pivot p and eliminated after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coupled {
    /// Index in the order of elimination.
    pub(super) position: usize,
    pub(super) size: usize,
    /// Where its velocities start.
    pub(super) start: usize,
    /// Where block (q, p) starts in L, and block (p, q) in U.
    pub(super) values: usize,
    /// Where the blocks of K are in the values; `None` where K has none.
    pub(super) source: Option<Source>,
}

/// The blocks of two coupled trees p and q in the values of K.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    /// Where the first of the two blocks starts.
    pub(super) start: usize,
    /// Whether that is (q, p).
    pub(super) in_order: bool,
}

impl Clone for Factors {
    fn clone(&self) -> Self {
        let mut clone = Self::default();
        clone.clone_from(self);
        clone
    }

    /// Takes the values of others, in the memory that there is.
    fn clone_from(&mut self, from: &Self) {
        let Self { pivots, blocks, values, upper, kind, exchanges } = self;
        pivots.clone_from(&from.pivots);
        blocks.clone_from(&from.blocks);
        values.clone_from(&from.values);
        match from.kind {
            Values::General => upper.clone_from(&from.upper),
            Values::PositiveDefinite => upper.clear(),
        }
        *kind = from.kind;
        exchanges.clone_from(&from.exchanges);
    }
}

impl Factors {
    /// The memory of the numbers, and of what tells where they belong, bytes.
    pub(crate) fn bytes(&self) -> usize {
        (self.values.len() + self.upper.len()) * size_of::<f64>()
            + self.blocks.len() * size_of::<Coupled>()
            + self.pivots.len() * size_of::<Pivot>()
    }

    pub(super) fn coupled(&self, pivot: &Pivot) -> &[Coupled] {
        &self.blocks[pivot.blocks.0..pivot.blocks.1]
    }

    /// The factors of a pivot's diagonal block.
    pub(super) fn diagonal(&self, pivot: &Pivot) -> (&[f64], &[usize]) {
        let block = &self.values[pivot.values.0..][..pivot.size * pivot.size];
        (block, &self.exchanges[pivot.start..pivot.start + pivot.size])
    }

    /// The block (q, p) of L of a tree q coupled with a pivot p.
    pub(super) fn lower(&self, pivot: &Pivot, block: &Coupled) -> &[f64] {
        &self.values[block.values..][..pivot.size * block.size]
    }

    /// The block (p, q) of U.
    pub(super) fn upper(&self, pivot: &Pivot, block: &Coupled) -> &[f64] {
        &self.upper[block.values..][..pivot.size * block.size]
    }
}
