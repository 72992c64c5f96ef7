use nalgebra::{DMatrix, DMatrixViewMut, DVector};
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use rand::prelude::*;
use rand_chacha::ChaCha8Rng;

use super::*;

/// A matrix of blocks with random numbers, with its dense form.
struct System {
    sizes: Vec<usize>,
    couplings: Vec<(usize, usize)>,
    dense: DMatrix<f64>,
}

impl System {
    /// Contact between coupled trees (couplings drawn with the given chance) and a mass matrix of
    /// each tree that dominates it; symmetric and positive definite, or a general matrix.
    fn random(sizes: &[usize], chance: f64, kind: Values, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let trees = sizes.len();
        let mut couplings: Vec<_> = (0..trees).flat_map(|j| (0..j).map(move |i| (i, j))).collect();
        couplings.retain(|_| rng.random_bool(chance));
        couplings.sort_unstable();
        let starts: Vec<usize> = (0..trees).map(|tree| sizes[..tree].iter().sum()).collect();
        let total = sizes.iter().sum();
        let mut dense = DMatrix::zeros(total, total);
        let mut random = |rows, columns| DMatrix::from_fn(rows, columns, |_, _| rng.random_range(-1.0..1.0));
        for &(i, j) in &couplings {
            // Jᵀ G J of a few contact points; J has columns at trees i and j alone.
            let points = 4;
            let mut jacobian = DMatrix::zeros(points, total);
            for tree in [i, j] {
                jacobian.columns_mut(starts[tree], sizes[tree]).copy_from(&random(points, sizes[tree]));
            }
            let stiffness = match kind {
                Values::PositiveDefinite => DMatrix::identity(points, points),
                Values::General => DMatrix::identity(points, points) + 0.5 * random(points, points),
            };
            dense += jacobian.transpose() * stiffness * jacobian;
        }
        for (&start, &size) in starts.iter().zip(sizes) {
            let root = random(size, size);
            let mass = DMatrix::identity(size, size) + &root * root.transpose();
            let mut block = dense.view_mut((start, start), (size, size));
            block += match kind {
                Values::PositiveDefinite => mass,
                // Exchanged rows, so that pivots have to be chosen.
                Values::General => DMatrix::from_fn(size, size, |i, j| 9.0 * mass[(size - 1 - i, j)]),
            };
        }
        Self { sizes: sizes.to_vec(), couplings, dense }
    }

    fn fill(&self, factor: &mut BlockFactor) {
        let starts: Vec<usize> = (0..self.sizes.len()).map(|tree| self.sizes[..tree].iter().sum()).collect();
        let block =
            |i: usize, j: usize| self.dense.view((starts[i], starts[j]), (self.sizes[i], self.sizes[j]));
        factor.set_structure(&self.sizes, &self.couplings);
        factor.clear();
        for tree in 0..self.sizes.len() {
            // In two halves: blocks are added into.
            for _ in 0..2 {
                let size = self.sizes[tree];
                let mut diagonal = DMatrixViewMut::from_slice(factor.diagonal_mut(tree), size, size);
                diagonal += block(tree, tree) * 0.5;
            }
        }
        for (coupling, &(i, j)) in self.couplings.iter().enumerate() {
            let (rows, columns) = (self.sizes[i], self.sizes[j]);
            let (upper, lower) = factor.coupling_mut(coupling);
            DMatrixViewMut::from_slice(upper, rows, columns).copy_from(&block(i, j));
            DMatrixViewMut::from_slice(lower, columns, rows).copy_from(&block(j, i));
        }
    }

    fn random_vector(&self, seed: u64) -> DVector<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        DVector::from_fn(self.dense.nrows(), |_, _| rng.random_range(-1.0..1.0))
    }
}

fn solved(factor: &BlockFactor, b: &DVector<f64>) -> DVector<f64> {
    let mut x = b.clone();
    factor.factors().solve(x.as_mut_slice());
    x
}

fn solved_transposed(factor: &BlockFactor, b: &DVector<f64>) -> DVector<f64> {
    let mut x = b.clone();
    factor.factors().solve_transposed(x.as_mut_slice());
    x
}

fn any_sizes() -> impl Strategy<Value = Vec<usize>> {
    let size = prop_oneof![4 => Just(6), 3 => Just(1), 1 => Just(7), 1 => 0..14usize];
    proptest::collection::vec(size, 0..14)
}

fn any_kind() -> impl Strategy<Value = Values> {
    prop_oneof![Just(Values::PositiveDefinite), Just(Values::General)]
}

proptest! {
    #[test]
    fn solutions_are_those_of_a_dense_factorization(
        sizes in any_sizes(), chance in 0.0..1.0, kind in any_kind(), seed in any::<u64>(),
    ) {
        let system = System::random(&sizes, chance, kind, seed);
        let mut factor = BlockFactor::default();
        system.fill(&mut factor);
        prop_assert_eq!(factor.factorize(kind), Ok(()));
        let b = system.random_vector(seed ^ 1);
        let transpose = system.dense.transpose();
        for (matrix, x) in [(&system.dense, solved(&factor, &b)), (&transpose, solved_transposed(&factor, &b))] {
            let residual = (matrix * &x - &b).norm();
            prop_assert!(residual <= 1e-12 * matrix.norm() * x.norm(), "residual {}", residual);
            if !b.is_empty() {
                let expected = matrix.clone().lu().solve(&b).unwrap();
                prop_assert!((&x - &expected).norm() <= 1e-10 * expected.norm());
            }
        }
    }

    #[test]
    fn both_kinds_agree_on_positive_definite_values(sizes in any_sizes(), chance in 0.0..1.0, seed in any::<u64>()) {
        let system = System::random(&sizes, chance, Values::PositiveDefinite, seed);
        let b = system.random_vector(seed ^ 1);
        let [x, y] = [Values::PositiveDefinite, Values::General].map(|kind| {
            let mut factor = BlockFactor::default();
            system.fill(&mut factor);
            factor.factorize(kind).unwrap();
            solved(&factor, &b)
        });
        prop_assert!((&x - &y).norm() <= 1e-12 * x.norm());
    }

    #[test]
    fn a_used_factorization_gives_the_same_bits(
        sizes in any_sizes(), other in any_sizes(), chance in 0.0..1.0, kind in any_kind(), seed in any::<u64>(),
    ) {
        let system = System::random(&sizes, chance, kind, seed);
        let b = system.random_vector(seed ^ 1);
        let run = |factor: &mut BlockFactor| {
            system.fill(factor);
            factor.factorize(kind).unwrap();
            [solved(factor, &b), solved_transposed(factor, &b)].map(|x| x.map(f64::to_bits))
        };
        let first = run(&mut BlockFactor::default());
        let mut used = BlockFactor::default();
        System::random(&other, 0.5, Values::General, seed ^ 2).fill(&mut used);
        let _ = used.factorize(Values::General);
        prop_assert_eq!(&run(&mut used), &first);
        prop_assert_eq!(&run(&mut used), &first);
    }
}

#[test]
fn the_determinant_has_its_sign() {
    let mut negative = 0;
    for seed in 0..200 {
        let sizes: &[usize] = if seed % 2 == 0 { &[6, 1, 3, 6] } else { &[6, 6, 6] };
        let mut system = System::random(sizes, 0.7, Values::General, seed);
        if seed % 3 == 0 {
            system.dense.row_mut(0).neg_mut();
        }
        let mut factor = BlockFactor::default();
        system.fill(&mut factor);
        factor.factorize(Values::General).expect("a regular matrix");
        let expected = system.dense.determinant() < 0.0;
        assert_eq!(factor.has_negative_determinant(), expected, "seed {seed}");
        negative += usize::from(expected);
    }
    assert!((20..180).contains(&negative), "{negative} of 200 are negative");
    let system = System::random(&[6, 3, 6], 1.0, Values::PositiveDefinite, 0);
    let mut factor = BlockFactor::default();
    system.fill(&mut factor);
    factor.factorize(Values::PositiveDefinite).expect("a regular matrix");
    assert!(!factor.has_negative_determinant());
}

#[test]
fn many_columns_are_solved_one_by_one() {
    let system = System::random(&[6, 1, 1, 7, 6], 0.6, Values::General, 3);
    let mut factor = BlockFactor::default();
    system.fill(&mut factor);
    factor.factorize(Values::General).unwrap();
    let columns: Vec<_> = (0..5).map(|seed| system.random_vector(seed)).collect();
    let flat: Vec<f64> = columns.iter().flat_map(|column| column.iter().copied()).collect();
    let mut x = flat;
    factor.factors().solve_many(&mut x);
    let n = system.dense.nrows();
    for (k, column) in columns.iter().enumerate() {
        assert_eq!(x[k * n..(k + 1) * n], *solved(&factor, column).as_slice());
    }
}

/// The system with its diagonal blocks enlarged.
fn stiffer(system: &System, factor: &mut BlockFactor) {
    system.fill(factor);
    for (tree, &size) in system.sizes.iter().enumerate() {
        factor.diagonal_mut(tree).iter_mut().step_by(size + 1).for_each(|value| *value *= 1.3);
    }
}

#[test]
fn the_factorization_of_a_close_matrix_solves() {
    for kind in [Values::PositiveDefinite, Values::General] {
        for seed in 0..20 {
            let system = System::random(&[6, 1, 6, 7, 6, 6], 0.6, kind, seed);
            let b = system.random_vector(seed ^ 1);
            let weight: Vec<f64> = (0..b.len()).map(|i| 0.1 + (i as f64).sin().abs()).collect();
            let mut exact = BlockFactor::default();
            system.fill(&mut exact);
            exact.factorize(kind).unwrap();
            let expected = solved(&exact, &b);
            let mut close = BlockFactor::default();
            stiffer(&system, &mut close);
            close.factorize(kind).unwrap();
            close.clear();
            system.fill(&mut close);

            let mut memory = MinimalResidual::default();
            let mut x = b.clone();
            assert!(!memory.solve(&close, &weight, x.as_mut_slice(), 1e-12, 2), "two products are too few");
            assert_eq!(x, b, "what is not solved is left as it was");
            for accuracy in [1e-3, 1e-10] {
                x.copy_from(&b);
                assert!(memory.solve(&close, &weight, x.as_mut_slice(), accuracy, 32));
                let mut left = b.clone();
                close.subtract_product(x.as_slice(), left.as_mut_slice());
                let length =
                    |v: &[f64]| v.iter().zip(&weight).map(|(v, w)| (v * w).powi(2)).sum::<f64>().sqrt();
                let (left, all) = (length(left.as_slice()), length(b.as_slice()));
                assert!(left <= 1.01 * accuracy * all, "{left:e} of {all:e}");
            }
            assert!((&x - &expected).norm() <= 1e-7 * expected.norm());
        }
    }
}

#[test]
fn nothing_is_allocated_in_the_steady_state() {
    let kinds = [Values::PositiveDefinite, Values::General];
    // Structures that change, the largest of them not last.
    let systems: Vec<_> = [0.1, 0.5, 0.2]
        .iter()
        .flat_map(|&chance| {
            kinds.map(|kind| {
                let sizes: Vec<usize> = (0..24).map(|i| [6, 6, 1, 7][i % 4]).collect();
                (System::random(&sizes, chance, kind, 5), kind)
            })
        })
        .collect();
    let mut factor = BlockFactor::default();
    let mut x = systems[0].0.random_vector(1);
    let mut series = || {
        for (system, kind) in &systems {
            factor.set_structure(&system.sizes, &system.couplings);
            factor.clear();
            for tree in 0..system.sizes.len() {
                factor
                    .diagonal_mut(tree)
                    .iter_mut()
                    .step_by(system.sizes[tree] + 1)
                    .for_each(|value| *value = 1.0);
            }
            for coupling in 0..system.couplings.len() {
                factor.coupling_mut(coupling).0.fill(1e-3);
                factor.coupling_mut(coupling).1.fill(1e-3);
            }
            factor.factorize(*kind).unwrap();
            factor.factors().solve(x.as_mut_slice());
            factor.factors().solve_transposed(x.as_mut_slice());
        }
    };
    series();
    assert_eq!(allocation_counter::measure(series).count_total, 0);
}

#[test]
fn a_chain_and_a_star_keep_to_the_blocks_of_their_couplings() {
    let chain: Vec<_> = (1..40).map(|i| (i - 1, i)).collect();
    let star: Vec<_> = (1..40).map(|i| (0, i)).collect();
    for couplings in [chain, star] {
        let mut factor = BlockFactor::default();
        factor.set_structure(&[6; 40], &couplings);
        assert_eq!(factor.factors.values.len(), 36 * (40 + 39));
    }
}

#[test]
fn a_pivot_that_vanishes_or_is_not_finite_names_its_tree() {
    let sizes = [6, 1, 6, 7];
    let system = System::random(&sizes, 0.0, Values::PositiveDefinite, 8);
    for kind in [Values::PositiveDefinite, Values::General] {
        for tree in 0..sizes.len() {
            for wrong in [0.0, f64::NAN, f64::INFINITY] {
                let mut factor = BlockFactor::default();
                system.fill(&mut factor);
                let size = sizes[tree];
                factor
                    .diagonal_mut(tree)
                    .iter_mut()
                    .skip(size - 1)
                    .step_by(size)
                    .for_each(|value| *value = wrong);
                assert_eq!(factor.factorize(kind), Err(tree), "{kind:?}, {wrong} at tree {tree}");
            }
        }
    }
    // Not positive definite, but regular.
    let mut factor = BlockFactor::default();
    system.fill(&mut factor);
    factor.diagonal_mut(2).iter_mut().for_each(|value| *value = -*value);
    let filled = factor.clone();
    assert_eq!(factor.factorize(Values::PositiveDefinite), Err(2));
    factor.clone_from(&filled);
    assert_eq!(factor.factorize(Values::General), Ok(()));
}

#[test]
fn a_coupling_that_is_not_finite_is_found() {
    let sizes = [6, 1, 6];
    for kind in [Values::PositiveDefinite, Values::General] {
        let system = System::random(&sizes, 1.0, kind, 9);
        for coupling in 0..system.couplings.len() {
            for wrong in [f64::NAN, f64::INFINITY] {
                let mut factor = BlockFactor::default();
                system.fill(&mut factor);
                let (upper, lower) = factor.coupling_mut(coupling);
                upper[0] = wrong;
                lower[0] = wrong;
                assert!(factor.factorize(kind).is_err(), "{kind:?}, {wrong} at {coupling}");
            }
        }
    }
}
