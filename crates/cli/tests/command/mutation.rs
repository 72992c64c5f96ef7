//! Mistakes in files: numbers that become others, lines that go, come twice or change places,
//! ends that are missing, bytes that are others.

use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

/// The generator of all mistakes.
pub type Random = ChaCha8Rng;

/// One of a list.
pub fn pick<T: Copy>(random: &mut Random, list: &[T]) -> T {
    *list.choose(random).expect("not empty")
}

/// Places of the numbers in a text.
fn number_spans(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut spans = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        let starts = bytes[i].is_ascii_digit() && (i == 0 || !bytes[i - 1].is_ascii_alphanumeric());
        if !starts {
            i += 1;
            continue;
        }
        let start = i;
        while i < bytes.len() && (bytes[i].is_ascii_digit() || b".e-".contains(&bytes[i])) {
            i += 1;
        }
        spans.push((start, i));
    }
    spans
}

/// What a number may turn into.
const NUMBERS: [&str; 22] = [
    "nan",
    "inf",
    "-inf",
    "0",
    "-0.0",
    "-1",
    "1e308",
    "-1e308",
    "1e200",
    "1e154",
    "1e-308",
    "5e-324",
    "1e-200",
    "1e30",
    "1e9",
    "4294967295",
    "99999999999999999999",
    "\"x\"",
    "[]",
    "{}",
    "true",
    "1e400",
];

/// The first boundary of characters from a place on.
fn boundary(text: &str, mut at: usize) -> usize {
    while at < text.len() && !text.is_char_boundary(at) {
        at += 1;
    }
    at.min(text.len())
}

/// A text with one mistake.
pub fn mutate_text(text: &str, random: &mut Random) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let spans = number_spans(text);
    if lines.is_empty() {
        return pick(random, &NUMBERS).to_owned();
    }
    match random.random_range(if spans.is_empty() { 5 } else { 0 }..10) {
        // A number becomes another.
        0..=4 => {
            let (start, end) = pick(random, &spans);
            format!("{}{}{}", &text[..start], pick(random, &NUMBERS), &text[end..])
        }
        // A line is left out, comes twice, or two are swapped.
        5 => {
            let gone = random.random_range(0..lines.len());
            let kept: Vec<&str> =
                lines.iter().enumerate().filter(|(i, _)| *i != gone).map(|(_, l)| *l).collect();
            kept.join("\n")
        }
        6 => {
            let (i, j) = (random.random_range(0..lines.len()), random.random_range(0..lines.len()));
            let mut lines = lines;
            lines.insert(i, lines[j]);
            lines.join("\n")
        }
        7 => {
            let (i, j) = (random.random_range(0..lines.len()), random.random_range(0..lines.len()));
            let mut lines = lines;
            lines.swap(i, j);
            lines.join("\n")
        }
        // The text ends early, or a character is another.
        8 => text[..boundary(text, random.random_range(0..text.len()))].to_owned(),
        _ => {
            let at = boundary(text, random.random_range(0..text.len()));
            let after = boundary(text, at + 1);
            let new = pick(random, &["[", "]", "{", "}", "\"", "=", "\0", "ü", "#", ",", "-", "\n"]);
            format!("{}{new}{}", &text[..at], &text[after..])
        }
    }
}

/// A file with one to three mistakes; where it is not text, in its bytes.
pub fn mutate_file(content: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = content.to_vec();
    for _ in 0..pick(random, &[1, 1, 1, 2, 3]) {
        match std::str::from_utf8(&bytes) {
            Ok(text) if random.random_bool(0.9) => bytes = mutate_text(text, random).into_bytes(),
            _ => mutate_bytes(&mut bytes, random),
        }
    }
    bytes
}

/// Changes, removes or repeats some bytes.
fn mutate_bytes(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        bytes.push(random.random());
        return;
    }
    let (at, count) = (random.random_range(0..bytes.len()), random.random_range(1..9));
    let end = (at + count).min(bytes.len());
    match random.random_range(0..4) {
        0 => bytes[at..end].iter_mut().for_each(|byte| *byte = random.random()),
        1 => drop(bytes.drain(at..end)),
        2 => bytes.truncate(at),
        _ => {
            let again = bytes[at..end].to_vec();
            bytes.splice(at..at, again);
        }
    }
}
