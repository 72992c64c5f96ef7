//! Values that are the text of elements, and what is wrong with them, with their lines.

use crate::io::robot::values::{child, parse_number, parse_numbers};
use crate::xml::{Element, Problem};

/// Adds the line of an element to what is wrong with it.
pub(super) fn at(element: &Element) -> impl Fn(String) -> Problem {
    let line = element.line;
    move |message| (Some(line), message)
}

/// The text of an element, in one line.
pub(super) fn text(element: &Element) -> String {
    element.text.trim().replace(char::is_control, " ")
}

/// How messages begin that tell of the text of an element.
fn is(element: &Element) -> String {
    format!("`{}` is", element.name)
}

/// The numbers, separated by blanks, in an element.
pub(super) fn numbers<const N: usize>(element: &Element) -> Result<[f64; N], Problem> {
    parse_numbers(&is(element), &text(element)).map_err(at(element))
}

/// The number in the element of a name in another, if it is there.
pub(super) fn number(element: &Element, name: &str) -> Result<Option<f64>, Problem> {
    let Some(found) = child(element, name).map_err(at(element))? else { return Ok(None) };
    parse_number(&is(found), &text(found)).map(Some).map_err(at(found))
}

/// The same, or a default.
pub(super) fn number_or(element: &Element, name: &str, default: f64) -> Result<f64, Problem> {
    Ok(number(element, name)?.unwrap_or(default))
}

/// Whether the element of a name in another says true, or a default where it is not there.
pub(super) fn truth_or(element: &Element, name: &str, default: bool) -> Result<bool, Problem> {
    let Some(found) = child(element, name).map_err(at(element))? else { return Ok(default) };
    match text(found).as_str() {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        other => Err(at(found)(format!("{} {other:?}; it must be true or false", is(found)))),
    }
}
