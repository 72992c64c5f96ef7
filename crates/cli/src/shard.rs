//! The part of a command's work that one of several jobs does, on a machine of its own.

use std::fmt;
use std::str::FromStr;

/// Every Nth piece of the work, from the Kth on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shard {
    /// From 1.
    number: usize,
    count: usize,
}

impl Shard {
    /// Whether a piece, counted from 0, is of this part.
    pub fn has(self, piece: usize) -> bool {
        piece % self.count == self.number - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((number, count)) if (1..=count).contains(&number) => Ok(Self { number, count }),
            _ => Err("it must be the number of a job and how many there are, as 1/4 to 4/4".to_owned()),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_of_one_part() {
        for count in 1..6 {
            let all: Vec<Shard> = (1..=count).map(|k| format!("{k}/{count}").parse().unwrap()).collect();
            for piece in 0..20 {
                assert_eq!(all.iter().filter(|shard| shard.has(piece)).count(), 1);
            }
        }
        for wrong in ["", "1", "0/4", "5/4", "1/0", "a/b", "1/4/2", "-1/4", "1.0/4"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
