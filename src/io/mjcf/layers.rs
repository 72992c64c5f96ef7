//! What elements say together with the defaults of their classes.

use std::collections::HashMap;

use super::wrong;
use crate::io::file_error::FileError;
use crate::io::robot::values::parse_number;
use crate::xml::Element;

/// The name of the class that all others are in.
const MAIN: &str = "main";

/// Elements that say something of the same thing: what the later ones say goes before.
#[derive(Debug)]
pub(super) struct Layers<'a>(pub Vec<&'a Element>);

impl<'a> Layers<'a> {
    /// The element whose they are.
    pub fn element(&self) -> &'a Element {
        self.0[self.0.len() - 1]
    }

    /// What an attribute is, and where it is said.
    pub fn find(&self, attribute: &str) -> Option<(&'a Element, &'a str)> {
        self.0.iter().rev().find_map(|element| Some((*element, element.attribute(attribute)?)))
    }

    /// The numbers of an attribute, `least` at least; they replace the first ones of what is said before.
    pub fn overlaid<const N: usize>(
        &self,
        attribute: &str,
        mut numbers: [f64; N],
        least: usize,
    ) -> Result<[f64; N], FileError> {
        for element in &self.0 {
            let Some(text) = element.attribute(attribute) else { continue };
            let what = format!("`{}` has {attribute} =", element.name);
            let found = text.split_whitespace().map(|word| parse_number(&what, word));
            let found = found.collect::<Result<Vec<f64>, String>>().map_err(|e| wrong(element, e))?;
            let (count, allowed) =
                (found.len(), if least == N { N.to_string() } else { format!("{least} to {N}") });
            if !(least..=N).contains(&count) || found.iter().any(|number| number.is_nan()) {
                let message = format!(
                    "{what} {text:?}: expected numbers, {allowed}; found {count}, none of them may be NaN"
                );
                return Err(wrong(element, message));
            }
            numbers[..found.len()].copy_from_slice(&found);
        }
        Ok(numbers)
    }

    /// The numbers of an attribute, if it is there.
    pub fn numbers<const N: usize>(&self, attribute: &str) -> Result<Option<[f64; N]>, FileError> {
        self.find(attribute).map(|_| self.overlaid(attribute, [0.0; N], N)).transpose()
    }

    /// The number of an attribute, or a default.
    pub fn number_or(&self, attribute: &str, default: f64) -> Result<f64, FileError> {
        Ok(self.overlaid(attribute, [default], 1)?[0])
    }

    /// The first number of an attribute of up to three, which are coefficients of a polynomial, and whether it is
    /// linear.
    pub fn linear(&self, attribute: &str) -> Result<(f64, bool), FileError> {
        let [first, rest @ ..]: [f64; 3] = self.overlaid(attribute, [0.0; 3], 1)?;
        Ok((first, rest == [0.0; 2]))
    }

    /// The value that stands for a word, if the attribute is there.
    pub fn word<T: Copy>(&self, attribute: &str, words: &[(&str, T)]) -> Result<Option<T>, FileError> {
        let Some((element, found)) = self.find(attribute) else { return Ok(None) };
        match words.iter().find(|(word, _)| *word == found.trim()) {
            Some((_, value)) => Ok(Some(*value)),
            None => {
                let allowed: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                let allowed = allowed.join(", ");
                let name = &element.name;
                Err(wrong(
                    element,
                    format!("`{name}` has {attribute} = {found:?}; it must be one of {allowed}"),
                ))
            }
        }
    }

    /// Whether an attribute says true; `None` where it is `auto` or not there.
    pub fn truth(&self, attribute: &str) -> Result<Option<bool>, FileError> {
        let words = [("true", Some(true)), ("false", Some(false)), ("auto", None)];
        Ok(self.word(attribute, &words)?.flatten())
    }

    /// A range that holds: where an attribute says so, or by itself where `auto`.
    pub fn limits(&self, range: &str, limited: &str, auto: bool) -> Result<Option<[f64; 2]>, FileError> {
        let given = self.numbers(range)?.filter(|given| *given != [0.0; 2]);
        let limited = self.truth(limited)?.unwrap_or(auto);
        Ok(given.filter(|_| limited))
    }
}

/// The classes of a file.
#[derive(Debug, Default)]
pub(super) struct Classes<'a>(HashMap<&'a str, Class<'a>>);

#[derive(Debug)]
struct Class<'a> {
    within: Option<&'a str>,
    elements: Vec<&'a Element>,
}

impl<'a> Classes<'a> {
    /// The classes of a file.
    ///
    /// # Errors
    /// When a class has no name or that of another.
    pub fn new(root: &'a Element) -> Result<Self, FileError> {
        let mut classes = Self::default();
        classes.0.insert(MAIN, Class { within: None, elements: Vec::new() });
        for default in root.all("default") {
            match default.attribute("class") {
                None | Some(MAIN) => classes.add(MAIN, default)?,
                Some(other) => {
                    let message = format!("found class = {other:?}; the outermost class is `{MAIN}`");
                    return Err(wrong(default, message));
                }
            }
        }
        Ok(classes)
    }

    fn add(&mut self, name: &'a str, default: &'a Element) -> Result<(), FileError> {
        for child in &default.children {
            if child.name != "default" {
                self.0.entry(name).and_modify(|class| class.elements.push(child));
                continue;
            }
            let Some(inner) = child.attribute("class") else {
                return Err(wrong(child, "it has no attribute `class`; it needs one"));
            };
            if self.0.insert(inner, Class { within: Some(name), elements: Vec::new() }).is_some() {
                return Err(wrong(child, format!("found class = {inner:?} a second time; names are unique")));
            }
            self.add(inner, child)?;
        }
        Ok(())
    }

    /// The class of an element and those that it is in, innermost first; `childclass` is that of its body.
    ///
    /// # Errors
    /// When the class is not there.
    pub fn chain(&self, element: &Element, childclass: Option<&'a str>) -> Result<Vec<&'a str>, FileError> {
        let name = element.attribute("class").or(childclass).unwrap_or(MAIN);
        let Some((found, _)) = self.0.get_key_value(name) else {
            let mut known: Vec<&str> = self.0.keys().copied().collect();
            known.sort_unstable();
            let message =
                format!("found the class `{name}`, which is not there; there are {}", known.join(", "));
            return Err(wrong(element, message));
        };
        let within = |name: &&'a str| self.0.get(name).and_then(|class| class.within);
        Ok(std::iter::successors(Some(*found), within).collect())
    }

    /// What an element says after the defaults that its class has for elements of these names.
    ///
    /// # Errors
    /// When the class is not there.
    pub fn layers(
        &self,
        element: &'a Element,
        names: &[&str],
        childclass: Option<&'a str>,
    ) -> Result<Layers<'a>, FileError> {
        let chain = self.chain(element, childclass)?;
        let classes = chain.iter().rev().filter_map(|name| self.0.get(name));
        let defaults = classes.flat_map(|class| &class.elements).copied();
        let own = defaults.filter(|default| names.contains(&default.name.as_str()));
        Ok(Layers(own.chain([element]).collect()))
    }
}
