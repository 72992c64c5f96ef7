//! The order in which to eliminate trees so that a factorization fills in little.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Elimination by about the least fill (Rothberg & Eisenstat 1998, SIAM J. Matrix Anal. Appl.
/// 19(3)): next comes the tree that couples the fewest neighbours anew, where few neighbours left
/// count a little too; of equal ones the first. Its neighbours then become neighbours of one
/// another, and their fill is counted again (not that of *their* neighbours, which may have
/// become smaller).
///
/// The neighbours are held as bits, n² of them for n trees, which for the hundreds of trees of a
/// scene is less work than lists. The memory is kept from one computation to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct EliminationOrder {
    /// The trees, first eliminated first.
    pub(super) order: Vec<usize>,
    /// The position of each tree in `order`.
    pub(super) positions: Vec<usize>,
    /// For the k-th eliminated, where its neighbours end in `later`.
    ends: Vec<usize>,
    /// The indices of the neighbours left when a tree is eliminated, ascending.
    later: Vec<usize>,
    /// Bit j of row i: trees i and j are neighbours, neither is eliminated.
    neighbours: Vec<u64>,
    /// The row of the tree just eliminated.
    eliminated: Vec<u64>,
    /// What each tree costs to eliminate: see [`Self::cost`].
    costs: Vec<usize>,
    /// Cost and tree; entries with another than the tree's present cost are out of date.
    queue: BinaryHeap<Reverse<(usize, usize)>>,
}

impl EliminationOrder {
    /// Orders `trees` trees, of which the pairs in `couplings` are neighbours.
    pub(super) fn compute(&mut self, trees: usize, couplings: &[(usize, usize)]) {
        let words = trees.div_ceil(64);
        refill(&mut self.neighbours, words * trees, 0);
        refill(&mut self.costs, trees, 0);
        refill(&mut self.positions, trees, usize::MAX);
        self.order.clear();
        self.ends.clear();
        self.later.clear();
        self.queue.clear();
        for &(i, j) in couplings {
            for (i, j) in [(i, j), (j, i)] {
                self.neighbours[i * words + j / 64] |= 1 << (j % 64);
            }
        }
        for tree in 0..trees {
            self.costs[tree] = self.cost(tree, words);
            self.queue.push(Reverse((self.costs[tree], tree)));
        }
        while let Some(Reverse((cost, tree))) = self.queue.pop() {
            if self.positions[tree] == usize::MAX && self.costs[tree] == cost {
                self.eliminate(tree, words);
            }
        }
        let mut start = 0;
        for &end in &self.ends {
            for tree in &mut self.later[start..end] {
                *tree = self.positions[*tree];
            }
            self.later[start..end].sort_unstable();
            start = end;
        }
    }

    /// The indices of the trees coupled, by `couplings` or by fill, with the one at `position` that come
    /// after it, ascending.
    pub(super) fn later(&self, position: usize) -> &[usize] {
        let start = if position == 0 { 0 } else { self.ends[position - 1] };
        &self.later[start..self.ends[position]]
    }

    /// Eight times the pairs of a tree's neighbours that are not neighbours of one another, and
    /// the square of the number of neighbours: the weights that filled in least in piles.
    fn cost(&self, tree: usize, words: usize) -> usize {
        let own = &self.neighbours[tree * words..(tree + 1) * words];
        let (mut missing, mut degree) = (0, 0);
        for neighbour in ones(own) {
            let row = &self.neighbours[neighbour * words..(neighbour + 1) * words];
            // A tree is no neighbour of its own.
            missing += own.iter().zip(row).map(|(o, r)| (o & !r).count_ones() as usize).sum::<usize>() - 1;
            degree += 1;
        }
        4 * missing + degree * degree
    }

    fn eliminate(&mut self, tree: usize, words: usize) {
        self.positions[tree] = self.order.len();
        self.order.push(tree);
        self.eliminated.clear();
        self.eliminated.extend_from_slice(&self.neighbours[tree * words..(tree + 1) * words]);
        let start = self.later.len();
        self.later.extend(ones(&self.eliminated));
        self.ends.push(self.later.len());
        for &neighbour in &self.later[start..] {
            let row = &mut self.neighbours[neighbour * words..(neighbour + 1) * words];
            for (own, new) in row.iter_mut().zip(&self.eliminated) {
                *own |= new;
            }
            for gone in [tree, neighbour] {
                row[gone / 64] &= !(1 << (gone % 64));
            }
        }
        for at in start..self.later.len() {
            let neighbour = self.later[at];
            let cost = self.cost(neighbour, words);
            if cost != self.costs[neighbour] {
                self.costs[neighbour] = cost;
                self.queue.push(Reverse((cost, neighbour)));
            }
        }
    }
}

/// The vector with `length` times `value`, in the memory that it has.
pub(super) fn refill<V: Copy>(vector: &mut Vec<V>, length: usize, value: V) {
    vector.clear();
    vector.resize(length, value);
}

/// The positions of the bits that are set, ascending.
fn ones(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(at, &word)| {
        let mut left = word;
        std::iter::from_fn(move || {
            let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(64 * at + bit)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(trees: usize, couplings: &[(usize, usize)]) -> EliminationOrder {
        let mut order = EliminationOrder::default();
        order.compute(trees, couplings);
        let mut sorted = order.order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..trees).collect::<Vec<_>>(), "each tree comes once");
        order
    }

    #[test]
    fn trees_of_couplings_fill_in_nothing() {
        let chain: Vec<_> = (1..150).map(|i| (i - 1, i)).collect();
        let star: Vec<_> = (0..150).filter(|&i| i != 70).map(|i| (i.min(70), i.max(70))).collect();
        let binary: Vec<_> = (1..150).map(|i| ((i - 1) / 2, i)).collect();
        for couplings in [chain, star, binary] {
            let order = order(150, &couplings);
            assert_eq!(order.later.len(), couplings.len());
        }
    }

    #[test]
    fn fill_is_what_elimination_needs() {
        // A ring of n: each elimination joins the two neighbours until three are left.
        let n = 70;
        let ring: Vec<_> = (0..n).map(|i| (i, (i + 1) % n)).collect();
        let order = order(n, &ring);
        assert_eq!(order.later.len(), n + (n - 3));
        // All neighbours of a position left are neighbours of one another.
        for position in 0..n {
            let later = order.later(position);
            for (k, &first) in later.iter().enumerate() {
                assert!(first > position);
                assert!(later[k + 1..].iter().all(|other| order.later(first).contains(other)));
            }
        }
    }

    #[test]
    fn uncoupled_trees_come_in_their_order() {
        assert_eq!(order(5, &[]).order, [0, 1, 2, 3, 4]);
        assert_eq!(order(0, &[]).order, [0; 0]);
    }
}
