//! Where the contact surfaces of an evaluation of forces lie: what it takes to evaluate them again
//! without a search.

use crate::contact::Elements;

/// The elements that the contact surface of each pair lies in, pair after pair.
#[derive(Debug, Default)]
pub(crate) struct FoundSurfaces {
    elements: Vec<Elements>,
    /// Where those of each pair end.
    ends: Vec<usize>,
}

impl Clone for FoundSurfaces {
    fn clone(&self) -> Self {
        Self { elements: self.elements.clone(), ends: self.ends.clone() }
    }

    /// Without new memory, where there is enough.
    fn clone_from(&mut self, other: &Self) {
        self.elements.clone_from(&other.elements);
        self.ends.clone_from(&other.ends);
    }
}

impl FoundSurfaces {
    /// Those of no pair.
    pub fn clear(&mut self) {
        self.elements.clear();
        self.ends.clear();
    }

    /// Adds those of the next pair.
    pub fn push(&mut self, elements: &[Elements]) {
        self.elements.extend_from_slice(elements);
        self.ends.push(self.elements.len());
    }

    /// Adds those of the pairs of another list.
    pub fn append(&mut self, other: &Self) {
        let first = self.elements.len();
        self.elements.extend_from_slice(&other.elements);
        self.ends.extend(other.ends.iter().map(|end| first + end));
    }

    /// How many pairs there are.
    pub fn pairs(&self) -> usize {
        self.ends.len()
    }

    /// Those of a pair.
    pub fn of(&self, pair: usize) -> &[Elements] {
        let first = pair.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.elements[first..self.ends[pair]]
    }

    /// The memory that it holds, bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.elements) + size_of_val(&*self.ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_follow_one_another() {
        let [mut first, mut second] = [FoundSurfaces::default(), FoundSurfaces::default()];
        first.push(&[[1, 2], [3, 4]]);
        first.push(&[]);
        second.push(&[[5, 6]]);
        first.append(&second);
        first.push(&[[7, 8]]);
        assert_eq!(first.pairs(), 4);
        let all: Vec<&[Elements]> = (0..4).map(|pair| first.of(pair)).collect();
        assert_eq!(all, [&[[1, 2], [3, 4]][..], &[], &[[5, 6]], &[[7, 8]]]);
        second.clone_from(&first);
        assert_eq!(second.of(3), [[7, 8]]);
        second.clear();
        assert_eq!((second.pairs(), second.bytes()), (0, 0));
    }
}
