//! Where in a URDF file an error is.
//!
//! The reader of the format gives no lines. When it fails the file is gone through once more: is
//! it XML, and which of its elements cannot be read by itself?

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// What is wrong with a file that `urdf_rs` refuses with the error `whole`: the line, from 1, and
/// a message.
pub(super) fn locate(text: &str, whole: &urdf_rs::UrdfError) -> (Option<usize>, String) {
    let line_of = |position: usize| text[..position.min(text.len())].matches('\n').count() + 1;
    let mut reader = Reader::from_str(text);
    // Names and positions of the elements that are open.
    let mut open: Vec<(String, usize)> = Vec::new();
    let mut root: Option<&str> = None;
    loop {
        let start = position(reader.buffer_position());
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => {
                let line = line_of(position(reader.error_position()));
                return (Some(line), format!("it is not well-formed XML: {error}"));
            }
        };
        let end = position(reader.buffer_position());
        let (child, begin) = match &event {
            Event::Start(tag) => {
                if open.is_empty() {
                    root = text.get(start..end);
                }
                open.push((label(tag), start));
                continue;
            }
            Event::Empty(tag) => (label(tag), start),
            Event::End(_) => match open.pop() {
                Some(closed) => closed,
                None => continue,
            },
            Event::Eof => break,
            _ => continue,
        };
        if open.len() == 1
            && let (Some(root), Some(element)) = (root, text.get(begin..end))
            && let Err(error) = urdf_rs::read_from_string(&format!("{root}{element}</robot>"))
        {
            return (Some(line_of(begin)), format!("{child}: {error}"));
        }
    }
    match open.last() {
        Some((name, start)) => (Some(line_of(*start)), format!("{name} is not closed")),
        None => (None, whole.to_string()),
    }
}

fn position(position: u64) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

/// An element for a message, such as "joint `elbow`".
fn label(tag: &BytesStart) -> String {
    let kind = String::from_utf8_lossy(tag.name().as_ref()).into_owned();
    match tag.try_get_attribute("name") {
        Ok(Some(name)) => format!("{kind} `{}`", String::from_utf8_lossy(&name.value)),
        _ => kind,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> (Option<usize>, String) {
        locate(text, &urdf_rs::read_from_string(text).expect_err("bad"))
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
    }
}
