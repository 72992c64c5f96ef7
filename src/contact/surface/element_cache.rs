//! The elements of one body that a search has seen last, as the other body sees them.

/// How many elements are remembered. A search keeps to few at a time.
const REMEMBERED: usize = 128;

/// Marks a slot where nothing is remembered.
const NOTHING: u8 = u8::MAX;

/// Elements by number; its memory is kept from search to search.
#[derive(Clone, Debug)]
pub(in crate::contact) struct Remembered<E> {
    /// For each remainder of an element's number the slot of the last one in `elements`.
    slot: [u8; REMEMBERED],
    /// Elements with their numbers.
    elements: Vec<(u32, E)>,
}

impl<E> Default for Remembered<E> {
    fn default() -> Self {
        Self { slot: [NOTHING; REMEMBERED], elements: Vec::new() }
    }
}

impl<E> Remembered<E> {
    /// Forgets all elements, not the memory.
    pub fn clear(&mut self) {
        self.slot = [NOTHING; REMEMBERED];
        self.elements.clear();
    }

    /// The element with this number: remembered or else `new`.
    #[inline(always)]
    pub fn get(&mut self, number: u32, new: impl FnOnce() -> E) -> &E {
        let slot = &mut self.slot[number as usize % REMEMBERED];
        if self.elements.get(usize::from(*slot)).is_none_or(|element| element.0 != number) {
            let element = (number, new());
            if *slot == NOTHING {
                // At most REMEMBERED slots are taken, which is less than NOTHING.
                *slot = self.elements.len() as u8;
                self.elements.push(element);
            } else {
                self.elements[usize::from(*slot)] = element;
            }
        }
        &self.elements[usize::from(*slot)].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_gets_its_element() {
        let mut remembered = Remembered::default();
        let mut made = 0;
        for search in 0..3 {
            remembered.clear();
            made = 0;
            // Numbers that share slots, each asked for twice in a row.
            for i in 0..1000_u32 {
                let number = i / 2 * 37 % 300;
                let element = remembered.get(number, || {
                    made += 1;
                    (search, number)
                });
                assert_eq!(*element, (search, number));
            }
            assert!(remembered.elements.len() <= REMEMBERED);
        }
        assert!(made <= 500, "the second request finds the element: {made}");
    }
}
