//! The search for the contacts of a step, by several threads where there are many pairs.

use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};
use rayon::slice::ParallelSlice;

use super::inverse_inertia::{LinkRows, PairInertia, pair_inverse_inertia};
use crate::contact::{
    ContactPair, DiscretePatch, DiscreteSettings, PointContacts, Roles, Workspace as PairScratch,
    find_contacts,
};
use crate::multibody::{BodyFrame, BroadPhase, shares, with_pair};

/// With fewer pairs than this it takes longer to wake threads than to look.
const PAIRS_WORTH_THREADS: usize = 500;

/// What one thread looks for contacts with, and what it has found: patches with their pairs in
/// [`Model::pairs`](crate::multibody::Model::pairs).
#[derive(Debug, Default)]
struct Share {
    scratch: PairScratch,
    link_rows: LinkRows<f64>,
    contacts: PointContacts,
    found: Vec<(usize, DiscretePatch)>,
}

/// The memory of the search.
#[derive(Debug, Default)]
pub(super) struct ContactSearch {
    broad_phase: BroadPhase,
    pairs: Vec<usize>,
    shares: Vec<Share>,
}

impl ContactSearch {
    /// Finds the contacts, with the bodies at `frames`, and adds them to an empty list: the same on any number of threads.
    /// Calls `of_patch` with each pair that has some, and its patch.
    pub fn run(
        &mut self,
        at: &PairInertia<f64>,
        frames: &[BodyFrame],
        settings: &DiscreteSettings,
        contacts: &mut PointContacts,
        mut of_patch: impl FnMut(usize, DiscretePatch),
    ) {
        let Self { broad_phase, pairs, shares: all } = self;
        pairs.clear();
        pairs.extend(broad_phase.candidates(at.model, frames));
        // Rigid bodies push before they meet, so that they do not overlap after the step.
        pairs.extend(&at.model.rigid_pairs);
        pairs.retain(|pair| at.moves(&at.model.pairs[*pair]));
        let count = pairs.len();
        let (threads, size) = if count < PAIRS_WORTH_THREADS { (1, count) } else { shares(count) };
        if all.len() < threads {
            all.resize_with(threads, Share::default);
        }
        let (shares, keep_polygons) = (&mut all[..threads], contacts.keep_polygons);
        // The first share has the memory of the list, and gives it back.
        std::mem::swap(contacts, &mut shares[0].contacts);
        for share in &mut *shares {
            share.contacts.clear();
            share.contacts.keep_polygons = keep_polygons;
        }
        match &mut *shares {
            [share] => share.find(pairs, at, frames, settings),
            shares => shares
                .par_iter_mut()
                .zip(pairs.par_chunks(size))
                .for_each(|(share, pairs)| share.find(pairs, at, frames, settings)),
        }
        for Share { contacts: own, found, .. } in shares {
            contacts.append(own, found.iter_mut().map(|(_, patch)| patch));
            found.drain(..).for_each(|(pair, patch)| of_patch(pair, patch));
        }
    }
}

impl Share {
    fn find(
        &mut self,
        pairs: &[usize],
        at: &PairInertia<f64>,
        frames: &[BodyFrame],
        settings: &DiscreteSettings,
    ) {
        let Self { scratch, link_rows, contacts, found } = self;
        for &index in pairs {
            let pair = &at.model.pairs[index];
            let patch = with_pair(at.model, frames, pair, |query: &ContactPair| {
                let lambda = |roles: &Roles<f64>| pair_inverse_inertia(at, pair, roles, link_rows);
                let deflection = at.state.deflection(index);
                find_contacts(query, settings, &deflection, lambda, scratch.of_pair(pair.number()), contacts)
            });
            found.extend(patch.map(|patch| (index, patch)));
        }
    }
}
