//! Work that is shared by threads, its results in order.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// What `of` makes of each item, on rayon's threads; the results are in the order of the items, so that they, and the first
/// error among them, are the same on any number of threads.
pub fn in_parallel<I: Send, T: Send>(
    items: impl IntoIterator<Item = I>,
    of: impl Fn(I) -> T + Sync,
) -> Vec<T> {
    enum Place<I, T> {
        Open(I),
        Taken,
        Done(T),
    }
    let places: Vec<_> = items.into_iter().map(|item| Mutex::new(Place::Open(item))).collect();
    for_each_index(places.len(), &|k| {
        let place = || places[k].lock().unwrap_or_else(PoisonError::into_inner);
        let item = std::mem::replace(&mut *place(), Place::Taken);
        if let Place::Open(item) = item {
            *place() = Place::Done(of(item));
        }
    });
    let result = |place: Mutex<Place<I, T>>| match place.into_inner().unwrap_or_else(PoisonError::into_inner)
    {
        Place::Done(result) => Some(result),
        // `of` has panicked, and so has what calls this.
        Place::Open(_) | Place::Taken => None,
    };
    places.into_iter().filter_map(result).collect()
}

thread_local! {
    /// Whether this thread works at one of several items.
    static HAS_ITEM: Cell<bool> = const { Cell::new(false) };
}

/// How many threads may share a piece of work: one where it is part of an item of [`in_parallel`], as a step of one motion of many.
pub fn threads() -> usize {
    if HAS_ITEM.get() { 1 } else { rayon::current_num_threads() }
}

/// Compiled once for all work.
fn for_each_index(count: usize, of: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().for_each(|k| {
        let had_item = HAS_ITEM.replace(count > 1 || HAS_ITEM.get());
        of(k);
        HAS_ITEM.set(had_item);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items_and_items_may_be_changed() {
        let mut numbers: Vec<usize> = (0..1000).collect();
        let twice = in_parallel(numbers.iter_mut().enumerate(), |(k, number)| {
            *number += 1;
            2 * k
        });
        assert!(twice.iter().enumerate().all(|(k, twice)| *twice == 2 * k) && twice.len() == 1000);
        assert!(numbers.iter().enumerate().all(|(k, number)| *number == k + 1));
        assert!(in_parallel(0..2, |_| threads()).iter().all(|&threads| threads == 1));
        assert_eq!(in_parallel(0..1, |_| threads()), [rayon::current_num_threads()]);
        let first = in_parallel(0..100, |k| if k % 7 == 6 { Err(k) } else { Ok(k) });
        assert_eq!(first.into_iter().collect::<Result<Vec<_>, _>>(), Err(6));
    }
}
