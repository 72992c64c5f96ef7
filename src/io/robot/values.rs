//! Children and numbers of elements, or in a few words what is wrong with them.

use crate::xml::Element;

/// The element in another that has a name; there may be one at most.
pub(in crate::io) fn child<'a>(element: &'a Element, name: &'a str) -> Result<Option<&'a Element>, String> {
    let mut all = element.all(name);
    match (all.next(), all.next()) {
        (_, Some(_)) => Err(format!("it has two elements `{name}`; one is allowed")),
        (first, None) => Ok(first),
    }
}

/// The element in another that has a name and must be there.
pub(in crate::io) fn required_child<'a>(element: &'a Element, name: &'a str) -> Result<&'a Element, String> {
    child(element, name)?.ok_or_else(|| format!("`{}` has no element `{name}`; it needs one", element.name))
}

/// An attribute that must be there.
pub(in crate::io) fn required<'a>(element: &'a Element, attribute: &str) -> Result<&'a str, String> {
    element
        .attribute(attribute)
        .ok_or_else(|| format!("`{}` has no attribute `{attribute}`; it needs one", element.name))
}

/// The number that an attribute is, if it is there.
pub(in crate::io) fn number(element: &Element, attribute: &str) -> Result<Option<f64>, String> {
    let parse = |text| parse_number(&has(element, attribute), text);
    element.attribute(attribute).map(parse).transpose()
}

/// The number that an attribute is which must be there.
pub(in crate::io) fn required_number(element: &Element, attribute: &str) -> Result<f64, String> {
    parse_number(&has(element, attribute), required(element, attribute)?)
}

/// The numbers, separated by blanks, that an attribute is which must be there.
pub(in crate::io) fn required_numbers<const N: usize>(
    element: &Element,
    attribute: &str,
) -> Result<[f64; N], String> {
    parse_numbers(&has(element, attribute), required(element, attribute)?)
}

/// How messages begin that tell of the value of an attribute.
fn has(element: &Element, attribute: &str) -> String {
    format!("`{}` has {attribute} =", element.name)
}

/// The number that a text is; `what` begins the message if it is none.
pub(in crate::io) fn parse_number(what: &str, text: &str) -> Result<f64, String> {
    let number = text.trim().parse();
    number.map_err(|error| format!("{what} {text:?}, which is no number ({error})"))
}

/// The numbers, separated by blanks, that a text is; `what` begins the message if it is not.
pub(in crate::io) fn parse_numbers<const N: usize>(what: &str, text: &str) -> Result<[f64; N], String> {
    let numbers = text.split_whitespace().map(|word| parse_number(what, word));
    let numbers = numbers.collect::<Result<Vec<f64>, String>>()?;
    <[f64; N]>::try_from(numbers)
        .map_err(|found| format!("{what} {text:?}: expected {N} found {} numbers", found.len()))
}
