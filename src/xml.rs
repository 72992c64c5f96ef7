//! The elements of an XML text with their lines, in one pass.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};

/// The deepest nesting of elements that is read; the format's own is 5.
const DEEPEST: usize = 100;

/// What is wrong with a file: the line, from 1, where it is known, and a message.
pub(crate) type Problem = (Option<usize>, String);

/// An element. Names are as they are written, with the prefix of their namespace if they have one.
#[derive(Debug, Default)]
pub(crate) struct Element {
    pub name: String,
    /// Names and values.
    attributes: Vec<(String, String)>,
    pub children: Vec<Element>,
    /// The text in it, without that of the elements in it.
    pub text: String,
    /// The line where it starts, from 1.
    pub line: usize,
    /// Its file, where a robot has several.
    pub file: Option<Arc<Path>>,
}

impl Element {
    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The values of its attributes.
    pub fn attributes(&self) -> impl Iterator<Item = &str> {
        self.attributes.iter().map(|(_, value)| value.as_str())
    }

    /// The names of its attributes.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.attributes.iter().map(|(name, _)| name.as_str())
    }

    /// The elements in it that have this name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// What messages call it, such as "joint `elbow`".
    pub fn label(&self) -> String {
        match self.attribute("name") {
            Some(name) => format!("{} `{name}`", self.name),
            None => self.name.clone(),
        }
    }

    /// An element from its tag.
    fn new(tag: &BytesStart, line: usize) -> Result<Self, String> {
        let (mut attributes, mut names) = (Vec::new(), HashSet::new());
        // The reader looks for a name that comes twice among all names before it.
        for attribute in tag.attributes().with_checks(false) {
            let attribute = attribute.map_err(|error| error.to_string())?;
            let name = String::from_utf8_lossy(attribute.key.as_ref()).into_owned();
            if !names.insert(name.clone()) {
                return Err(format!("attribute `{name}` is there twice"));
            }
            let value = attribute.unescape_value().map_err(|error| error.to_string())?;
            // A line break in an attribute is a space (XML 1.0, §3.3.3).
            attributes.push((name, value.replace(char::is_control, " ")));
        }
        let name = String::from_utf8_lossy(tag.name().as_ref()).into_owned();
        Ok(Self { name, attributes, line, ..Self::default() })
    }

    /// The element without what is in it.
    pub fn bare(&self) -> Self {
        let (name, attributes) = (self.name.clone(), self.attributes.clone());
        Self { name, attributes, line: self.line, ..Self::default() }
    }
}

/// Lines of positions that increase.
struct Lines<'a> {
    text: &'a str,
    position: usize,
    line: usize,
}

impl Lines<'_> {
    /// The line of a position, from 1.
    fn at(&mut self, position: u64) -> usize {
        let position = usize::try_from(position).unwrap_or(usize::MAX).min(self.text.len());
        let passed = self.text.as_bytes().get(self.position..position).unwrap_or_default();
        self.line += passed.iter().filter(|&&byte| byte == b'\n').count();
        self.position = self.position.max(position);
        self.line
    }
}

/// The text that a piece of it stands for; a reference to what is not known stands for itself.
fn text_of(event: &Event) -> String {
    let written = String::from_utf8_lossy(event);
    let Event::GeneralRef(reference) = event else { return written.into_owned() };
    match (reference.resolve_char_ref(), resolve_predefined_entity(&written)) {
        (Ok(Some(character)), _) => character.into(),
        (_, Some(known)) => known.to_owned(),
        _ => format!("&{written};"),
    }
}

/// The one element that a text consists of, with all in it.
pub(crate) fn parse(text: &str) -> Result<Element, Problem> {
    let mut reader = Reader::from_str(text);
    let mut lines = Lines { text, position: 0, line: 1 };
    let mut open: Vec<Element> = Vec::new();
    let mut root = None;
    loop {
        let start = reader.buffer_position();
        let malformed = |lines: &mut Lines, position, error: &dyn std::fmt::Display| {
            // What was found may go over lines.
            let error = error.to_string().replace(char::is_control, " ");
            (Some(lines.at(position)), format!("it is not well-formed XML: {error}"))
        };
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => return Err(malformed(&mut lines, reader.error_position(), &error)),
        };
        let closed = match event {
            Event::Start(tag) => {
                let line = lines.at(start);
                open.push(Element::new(&tag, line).map_err(|error| malformed(&mut lines, start, &error))?);
                if open.len() > DEEPEST {
                    return Err((Some(line), format!("elements are nested more than {DEEPEST} deep")));
                }
                None
            }
            Event::Empty(tag) => {
                let line = lines.at(start);
                Some(Element::new(&tag, line).map_err(|error| malformed(&mut lines, start, &error))?)
            }
            Event::End(_) => open.pop(),
            Event::Text(_) | Event::CData(_) | Event::GeneralRef(_) => {
                if let Some(element) = open.last_mut() {
                    element.text.push_str(&text_of(&event));
                }
                None
            }
            Event::Eof => break,
            _ => None,
        };
        match (closed, open.last_mut()) {
            (Some(element), Some(parent)) => parent.children.push(element),
            (Some(element), None) if root.is_none() => root = Some(element),
            (Some(element), None) => {
                let message = format!("found a second element, {}, after the first", element.label());
                return Err((Some(element.line), message));
            }
            (None, _) => {}
        }
    }
    match (open.pop(), root) {
        (Some(element), _) => Err((Some(element.line), format!("{} is not closed", element.label()))),
        (None, Some(root)) => Ok(root),
        (None, None) => Err((None, "it has no element".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> Problem {
        parse(text).expect_err("bad")
    }

    #[test]
    fn elements_have_lines_attributes_and_children() {
        let text = "<?xml version=\"1.0\"?>\n<robot name=\"r &lt; s\">\n<!-- <x/> -->\n\n<link name=\"a\"/><d:link/>\n<link\nname=\"b\"><mass value=\"1\"/></link>\n</robot>\n";
        let root = parse(text).expect("good");
        assert_eq!((root.label().as_str(), root.line), ("robot `r < s`", 2));
        let links: Vec<(String, usize)> = root.all("link").map(|l| (l.label(), l.line)).collect();
        assert_eq!(links, [("link `a`".to_owned(), 5), ("link `b`".to_owned(), 6)]);
        assert_eq!(root.children[2].children[0].attribute("value"), Some("1"));
    }

    #[test]
    fn text_is_that_of_an_element_alone() {
        let text = "<a> 1 <!-- no --><b>x &lt;&#65;&odd;</b>2<![CDATA[ <3> ]]></a>";
        let root = parse(text).expect("good");
        assert_eq!((root.text.as_str(), root.children[0].text.as_str()), (" 1 2 <3> ", "x <A&odd;"));
    }

    #[test]
    fn what_is_no_xml_is_found_with_its_line() {
        let (line, message) = problem("<robot name=\"r\">\n<link name=\"a\">\n");
        assert_eq!((line, message.as_str()), (Some(2), "link `a` is not closed"));
        let (line, message) = problem("<robot name=\"r\">\n\n<link name=\"a\"></robot>");
        assert_eq!(line, Some(3));
        assert!(message.contains("well-formed"), "{message}");
        assert_eq!(problem("").0, None);
        assert_eq!(problem("<a/>\n<b/>"), (Some(2), "found a second element, b, after the first".to_owned()));
        assert!(problem("<a x=\"1\" x=\"2\"/>").1.contains("attribute `x` is there twice"));
        assert!(problem("<a x=\"&nothing;\"/>").1.contains("well-formed"));
        let deep = format!("<robot>\n{}{}</robot>", "<x>".repeat(100_000), "</x>".repeat(100_000));
        let (line, message) = problem(&deep);
        assert_eq!((line, message.as_str()), (Some(2), "elements are nested more than 100 deep"));
    }
}
