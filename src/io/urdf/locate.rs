//! Where in a URDF file an error is.
//!
//! The reader of the format gives no lines, and its stack overflows on elements that are nested
//! very deeply. So the file's outline is made first; when the reader fails, each element of the
//! outline is read by itself.

use std::ops::Range;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// The deepest nesting of elements that is read; the format's own is 5.
const DEEPEST: usize = 100;

/// What is wrong with a file: the line, from 1, where it is known, and a message.
pub(super) type Problem = (Option<usize>, String);

/// The elements of a file.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// The tag that starts the file's one element.
    root: Range<usize>,
    /// The elements in it, for messages such as "joint `elbow`", and where they are.
    children: Vec<(String, Range<usize>)>,
}

/// The line of a position, from 1.
fn line_of(text: &str, position: u64) -> Option<usize> {
    text.get(..usize::try_from(position).ok()?).map(|before| before.matches('\n').count() + 1)
}

/// Positions as a range.
fn range(start: u64, end: u64) -> Range<usize> {
    let index = |position| usize::try_from(position).unwrap_or(usize::MAX);
    index(start)..index(end)
}

/// An element for a message, such as "joint `elbow`".
fn label(tag: &BytesStart) -> String {
    let kind = String::from_utf8_lossy(tag.name().as_ref()).into_owned();
    match tag.try_get_attribute("name") {
        Ok(Some(name)) => format!("{kind} `{}`", String::from_utf8_lossy(&name.value)),
        _ => kind,
    }
}

impl Outline {
    /// The outline of a file, or why it is not XML that can be read.
    pub fn new(text: &str) -> Result<Self, Problem> {
        let mut reader = Reader::from_str(text);
        let mut outline = Self::default();
        let mut open: Vec<(String, u64)> = Vec::new();
        loop {
            let start = reader.buffer_position();
            let event = reader.read_event().map_err(|error| {
                let line = line_of(text, reader.error_position());
                (line, format!("it is not well-formed XML: {error}"))
            })?;
            let end = reader.buffer_position();
            match event {
                Event::Start(tag) => {
                    if open.is_empty() {
                        outline.root = range(start, end);
                    }
                    open.push((label(&tag), start));
                    if open.len() > DEEPEST {
                        let message = format!("elements are nested more than {DEEPEST} deep");
                        return Err((line_of(text, start), message));
                    }
                }
                Event::Empty(tag) if open.len() == 1 => {
                    outline.children.push((label(&tag), range(start, end)));
                }
                Event::End(_) => {
                    if let Some((name, start)) = open.pop()
                        && open.len() == 1
                    {
                        outline.children.push((name, range(start, end)));
                    }
                }
                Event::Eof => break,
                _ => {}
            }
        }
        match open.pop() {
            Some((name, start)) => Err((line_of(text, start), format!("{name} is not closed"))),
            None => Ok(outline),
        }
    }

    /// What is wrong with the file that `urdf_rs` refuses with the error `whole`.
    pub fn locate(&self, text: &str, whole: &urdf_rs::UrdfError) -> Problem {
        let root = text.get(self.root.clone()).unwrap_or_default();
        let culprit = self.children.iter().find_map(|(name, place)| {
            let alone = format!("{root}{}</robot>", text.get(place.clone())?);
            let error = urdf_rs::read_from_string(&alone).err()?;
            Some((line_of(text, place.start as u64), format!("{name}: {error}")))
        });
        let (line, message) = culprit.unwrap_or_else(|| (None, whole.to_string()));
        (line, message.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> (Option<usize>, String) {
        match Outline::new(text) {
            Ok(outline) => outline.locate(text, &urdf_rs::read_from_string(text).expect_err("bad")),
            Err(problem) => problem,
        }
    }

    #[test]
    fn the_element_and_its_line_are_found() {
        let text = "<robot name=\"r\" xmlns:d=\"urn:d\">\n<link name=\"a\" d:x=\"1\"/>\n<link name=\"b\">\n<inertial>\n<mass value=\"two\"/>\n</inertial>\n</link>\n</robot>";
        let (line, message) = problem(text);
        assert_eq!(line, Some(3));
        assert!(message.starts_with("link `b`: ") && message.contains("float"), "{message}");
        let (line, message) = problem("<robot name=\"r\">\n<link name=\"a\">\n");
        assert_eq!((line, message.as_str()), (Some(2), "link `a` is not closed"));
        let (line, message) = problem("<robot name=\"r\">\n\n<link name=\"a\"></robot>");
        assert_eq!(line, Some(3));
        assert!(message.contains("well-formed"), "{message}");
        assert_eq!(problem("").0, None);
        let deep = format!("<robot>\n{}{}</robot>", "<x>".repeat(100_000), "</x>".repeat(100_000));
        let (line, message) = problem(&deep);
        assert_eq!((line, message.as_str()), (Some(2), "elements are nested more than 100 deep"));
    }
}
