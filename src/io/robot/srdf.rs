//! Pairs of links that do not touch, from SRDF files.

use std::path::Path;

use super::error::invalid;
use crate::input_file;
use crate::io::file_error::FileError;
use crate::xml;

/// The pairs of links in the `disable_collisions` elements of an SRDF file, by their indices in `links`.
///
/// # Errors
/// When the file cannot be read or is no SRDF, or names a link that is not there.
pub(crate) fn disabled_collisions(path: &Path, links: &[&str]) -> Result<Vec<[usize; 2]>, FileError> {
    let text =
        input_file::read_text(path).map_err(|source| FileError::Read { path: path.to_owned(), source })?;
    parse(&text, links).map_err(|problem| invalid(path, "SRDF", problem))
}

fn parse(text: &str, links: &[&str]) -> Result<Vec<[usize; 2]>, xml::Problem> {
    let root = xml::parse(text.trim_start_matches('\u{feff}'))?;
    if root.name != "robot" {
        return Err((Some(root.line), format!("its element is `{}`; it must be `robot`", root.name)));
    }
    let pair = |element: &xml::Element| {
        let problem = |message: String| (Some(element.line), format!("`disable_collisions`: {message}"));
        let link = |attribute: &str| {
            let name = element.attribute(attribute);
            let name = name.ok_or_else(|| problem(format!("its attribute `{attribute}` is missing")))?;
            links.iter().position(|link| *link == name).ok_or_else(|| {
                problem(format!(
                    "{attribute} is `{name}`, which is no link of the robot; there are {}",
                    links.join(", ")
                ))
            })
        };
        Ok([link("link1")?, link("link2")?])
    };
    let pairs = root.all("disable_collisions").map(pair).collect::<Result<Vec<_>, xml::Problem>>()?;
    Ok(pairs.into_iter().filter(|[a, b]| a != b).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_and_unknown_links_named_with_their_line() {
        let file = |pair: &str| {
            format!(
                "<?xml version=\"1.0\"?>\n<robot name=\"r\">\n<group name=\"arm\"/>\n<disable_collisions {pair}/>\n</robot>"
            )
        };
        let good = file("link1=\"b\" link2=\"a\" reason=\"Adjacent\"");
        assert_eq!(parse(&good, &["a", "b"]), Ok(vec![[1, 0]]));
        let (line, message) = parse(&good, &["a", "c"]).expect_err("no link b");
        assert_eq!(line, Some(4));
        assert!(message.contains("link1 is `b`") && message.contains("a, c"), "{message}");
        let (_, message) = parse(&file("link1=\"a\""), &["a", "b"]).expect_err("one link");
        assert!(message.contains("`link2` is missing"), "{message}");
        assert!(parse("<world/>", &[]).is_err());
    }
}
