//! How the corners of a patch share its load, for the derivatives of equivalent contact points.
//!
//! Where more corners touch than it takes to carry the load, Lemke's algorithm ends at impulses of a few of them, such as two
//! that lie across. The motion is the same with all that share it by the least Σ p² (as in `modes.rs`), and small changes
//! of the step keep all of these closed, not the few alone: their distances are held.

use nalgebra::{DMatrix, DVector};

use super::data::StepData;
use super::equations::{FrictionLaw, Layout, scaled_velocities};
use super::linear::normal_rows;
use super::row::Row;

/// Contacts that are nearer than this part of the length scale are closed.
const CLOSED: f64 = 1e-11;
/// Impulses below this part of their sum are none.
const NOTHING: f64 = 1e-9;
/// A row is implied by others where less than this part of its square is left without them.
const DEPENDENT: f64 = 1e-10;
/// What may be left of the load that is shared, in parts of it.
const LEFT: f64 = 1e-9;

/// Impulses with contacts that are independent and hold all that share.
pub(super) struct Shared {
    pub layout: Layout,
    pub variables: Vec<f64>,
    /// All that share, with their impulses, in units of the scale.
    pub carrying: Vec<(usize, f64)>,
}

/// The contacts that share the loads of patches in a solution with a layout; `None` where they are those of the layout,
/// or depend on each other.
pub(super) fn shared(data: &StepData, layout: &Layout, z: &[f64]) -> Option<Shared> {
    let velocities = scaled_velocities(data, z);
    let kinematics = data.kinematics(&velocities);
    let closed: Vec<usize> = (0..data.contacts.len())
        .filter(|&k| kinematics.gaps[k].distance <= CLOSED * data.scales.length || layout.used.contains(&k))
        .collect();
    if closed.len() == layout.used.len() {
        return None;
    }
    let rows = normal_rows(data, &kinematics);
    let impulses = &z[layout.impulses()..layout.multipliers()];
    let mut carrying = Vec::new();
    let mut parts = Vec::new();
    for patch in 0..data.patches.len() {
        let of_patch = |k: &usize| data.contacts[*k].patch == patch;
        let load: Vec<(usize, f64)> =
            layout.used.iter().copied().zip(impulses.iter().copied()).filter(|(k, _)| of_patch(k)).collect();
        if load.is_empty() {
            continue;
        }
        let candidates: Vec<usize> = closed.iter().copied().filter(of_patch).collect();
        let (sharing, held) = share(&rows, data.scales.length, candidates, &load)?;
        carrying.extend(sharing);
        parts.extend(held);
    }
    parts.sort_by_key(|(k, _)| *k);
    carrying.sort_by_key(|(k, _)| *k);
    let used: Vec<usize> = parts.iter().map(|(k, _)| *k).collect();
    if independent(&rows, data.scales.length, &used).len() < used.len() {
        return None;
    }
    let of_shared = Layout::new(data, FrictionLaw::Ellipsoid, used);
    if of_shared.frictional != layout.frictional {
        return None;
    }
    let mut variables = z[..layout.impulses()].to_vec();
    variables.extend(parts.iter().map(|(_, p)| *p));
    variables.extend_from_slice(&z[layout.multipliers()..]);
    Some(Shared { layout: of_shared, variables, carrying })
}

/// The products of rows with others.
fn products(rows: &[Row], length: f64, of: &[usize], with: &[usize]) -> DMatrix<f64> {
    DMatrix::from_fn(of.len(), with.len(), |i, j| rows[of[i]].product(&rows[with[j]], length))
}

/// Those of contacts whose rows are independent: a Cholesky factorization of their products with pivots.
fn independent(rows: &[Row], length: f64, of: &[usize]) -> Vec<usize> {
    let mut gram = products(rows, length, of, of);
    let least: Vec<f64> = (0..of.len()).map(|i| DEPENDENT * gram[(i, i)]).collect();
    let mut chosen: Vec<usize> = Vec::new();
    loop {
        // The first of equals, so that the choice does not follow rounding.
        let mut best: Option<usize> = None;
        for i in (0..of.len()).filter(|i| !chosen.contains(i)) {
            let left = gram[(i, i)];
            if left > least[i] && best.is_none_or(|best| left > (1.0 + 1e-6) * gram[(best, best)]) {
                best = Some(i);
            }
        }
        let Some(best) = best else { break };
        let column = gram.column(best) / gram[(best, best)].sqrt();
        gram -= &column * column.transpose();
        chosen.push(best);
    }
    chosen.into_iter().map(|i| of[i]).collect()
}

/// Contacts with their impulses.
type Impulses = Vec<(usize, f64)>;

/// The impulses with the least Σ p² that do the same as a load, and those of independent ones among them that do;
/// `None` where there are none.
fn share(rows: &[Row], length: f64, mut of: Vec<usize>, load: &Impulses) -> Option<(Impulses, Impulses)> {
    let (loaded, p): (Vec<usize>, Vec<f64>) = load.iter().copied().unzip();
    let sum: f64 = p.iter().sum();
    let p = DVector::from_vec(p);
    loop {
        if of.is_empty() {
            return None;
        }
        let chosen = independent(rows, length, &of);
        let right = products(rows, length, &chosen, &loaded) * &p;
        let across = products(rows, length, &chosen, &of);
        let factors = (&across * across.transpose()).lu().solve(&right)?;
        let shares = across.tr_mul(&factors);
        if shares.iter().any(|share| *share < -NOTHING * sum) {
            // What pulls does not share.
            of = of.iter().zip(shares.iter()).filter(|(_, share)| **share > 0.0).map(|(k, _)| *k).collect();
            continue;
        }
        let left =
            products(rows, length, &loaded, &of) * &shares - products(rows, length, &loaded, &loaded) * &p;
        let size = (products(rows, length, &loaded, &loaded) * &p).amax();
        if left.amax() > LEFT * size {
            return None;
        }
        let sharing: Impulses =
            of.iter().copied().zip(shares.iter().copied()).filter(|(_, p)| *p > NOTHING * sum).collect();
        if sharing.len() < of.len() {
            of = sharing.iter().map(|(k, _)| *k).collect();
            continue;
        }
        let own = products(rows, length, &chosen, &chosen).lu().solve(&right)?;
        return Some((sharing, chosen.into_iter().zip(own.iter().copied()).collect()));
    }
}
