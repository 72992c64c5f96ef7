//! How the corners of a patch share its load, for the derivatives of equivalent contact points.
//!
//! Where more corners touch than it takes to carry the load, Lemke's algorithm ends at impulses of a few of them, such as two
//! that lie across. The motion is the same with all that share it by the least Σ p² (as in `modes.rs`), and small changes
//! of the step keep all of these closed, not the few alone: their distances are held.

use nalgebra::{DMatrix, DVector};

use super::active_set::CLOSED;
use super::data::StepData;
use super::equations::{FrictionLaw, Layout, scaled_velocities};
use super::held::{Held, Solution};
use super::normals::normal_rows;
use super::row::{Row, independent};

/// Impulses below this part of their sum are none.
const NOTHING: f64 = 1e-9;
/// What may be left of the load that is shared, in parts of it.
const LEFT: f64 = 1e-9;

/// Holds all contacts that share the load of a patch, as far as they are independent, in place of those that were found to
/// carry it. Nothing changes where these are the same, or where those of several patches depend on each other.
pub(super) fn hold_shared(data: &StepData, solution: &mut Solution) {
    let Held::Ellipsoids { layout, active } = &solution.held else { return };
    if let Some((shared, variables)) = shared(data, layout, &solution.variables) {
        let closed = std::iter::repeat_n(true, shared.multipliers());
        let active = closed.chain(active[layout.multipliers()..].iter().copied()).collect();
        solution.held = Held::Ellipsoids { layout: shared, active };
        solution.variables = variables;
    }
}

/// A layout with contacts that are independent and hold all that share, and its variables; `None` where it is the
/// same, or they depend on each other.
fn shared(data: &StepData, layout: &Layout, z: &[f64]) -> Option<(Layout, Vec<f64>)> {
    let velocities = scaled_velocities(data, z);
    let kinematics = data.kinematics(&velocities);
    let closed: Vec<usize> = (0..data.contacts.len())
        .filter(|&k| kinematics.gaps[k].distance <= CLOSED * data.scales.length || layout.used.contains(&k))
        .collect();
    if closed.len() == layout.used.len() {
        return None;
    }
    let rows = normal_rows(data, &kinematics, 0..data.contacts.len());
    let impulses = &z[layout.impulses()..layout.multipliers()];
    let mut parts = Vec::new();
    for patch in 0..data.patches.len() {
        let of_patch = |k: &usize| data.contacts[*k].patch == patch;
        let load: Impulses =
            layout.used.iter().copied().zip(impulses.iter().copied()).filter(|(k, _)| of_patch(k)).collect();
        if !load.is_empty() {
            let candidates = closed.iter().copied().filter(of_patch).collect();
            parts.extend(share(&rows, data.scales.length, candidates, &load)?);
        }
    }
    parts.sort_by_key(|(k, _)| *k);
    let used: Vec<usize> = parts.iter().map(|(k, _)| *k).collect();
    if independent_of(&rows, data.scales.length, &used).len() < used.len() {
        return None;
    }
    let shared = Layout::new(data, FrictionLaw::Ellipsoid, used);
    if shared.frictional != layout.frictional {
        return None;
    }
    let mut variables = z[..layout.impulses()].to_vec();
    variables.extend(parts.iter().map(|(_, p)| *p));
    variables.extend_from_slice(&z[layout.multipliers()..]);
    Some((shared, variables))
}

/// The products of rows with others.
fn products(rows: &[Row], length: f64, of: &[usize], with: &[usize]) -> DMatrix<f64> {
    DMatrix::from_fn(of.len(), with.len(), |i, j| rows[of[i]].product(&rows[with[j]], length))
}

/// Those of contacts whose rows are independent.
fn independent_of(rows: &[Row], length: f64, of: &[usize]) -> Vec<usize> {
    let of_rows: Vec<&Row> = of.iter().map(|&k| &rows[k]).collect();
    independent(&of_rows, length, [0..of.len(), 0..0]).into_iter().map(|i| of[i]).collect()
}

/// Contacts with their impulses, in units of the scale.
type Impulses = Vec<(usize, f64)>;

/// Of the contacts among which a load is shared by the least Σ p² those that are independent, with impulses that do the same; `None`
/// where there are none.
fn share(rows: &[Row], length: f64, mut of: Vec<usize>, load: &Impulses) -> Option<Impulses> {
    let (loaded, p): (Vec<usize>, Vec<f64>) = load.iter().copied().unzip();
    let sum: f64 = p.iter().sum();
    let p = DVector::from_vec(p);
    let needed = products(rows, length, &loaded, &loaded) * &p;
    while !of.is_empty() {
        let chosen = independent_of(rows, length, &of);
        let right = products(rows, length, &chosen, &loaded) * &p;
        let across = products(rows, length, &chosen, &of);
        let factors = (&across * across.transpose()).lu().solve(&right)?;
        let shares = across.tr_mul(&factors);
        // What pulls does not share, nor does what has nothing.
        let least = if shares.min() < -NOTHING * sum { 0.0 } else { NOTHING * sum };
        let count = of.len();
        let given = products(rows, length, &loaded, &of) * &shares;
        of = of.iter().zip(shares.iter()).filter(|(_, share)| **share > least).map(|(k, _)| *k).collect();
        if of.len() == count {
            let own = products(rows, length, &chosen, &chosen).lu().solve(&right)?;
            let is_all = (given - &needed).amax() <= LEFT * needed.amax();
            return is_all.then(|| chosen.into_iter().zip(own.iter().copied()).collect());
        }
    }
    None
}
