//! A page that opens in any browser and needs no network: a film to orbit and play, plots, tables.
//!
//! Scripts are in the file, and so are the data (see [`PageData`]) and those libraries that it needs, compressed.

use std::io::{self, Write};
use std::path::Path;

use super::page_content::Page;
use super::page_data::{PageData, packed};
use isobar::io::{FileError, OutputFile, write_atomically};

/// The page before it is filled.
const TEMPLATE: &str = include_str!("page/page.html");

/// The library that draws in three dimensions: three.js (MIT); `three/parts.js` tells how its file was made.
const THREE: &[u8] = include_bytes!("page/three/three.min.js");

/// The library that plots: of Plotly (MIT) the part with curves, as npm's package plotly.js-basic-dist-min has it.
const PLOTLY: &[u8] = include_bytes!("page/plotly/plotly-basic.min.js");

/// The script of the page, in the order in which its parts build on each other.
const SCRIPT: [&str; 9] = [
    include_str!("page/data.js"),
    include_str!("page/geometry.js"),
    include_str!("page/ground.js"),
    include_str!("page/view.js"),
    include_str!("page/patches.js"),
    include_str!("page/slices.js"),
    include_str!("page/plots.js"),
    include_str!("page/controls.js"),
    include_str!("page/start.js"),
];

/// Writes a page. The file appears when it is complete.
///
/// # Errors
/// When the file cannot be written.
pub fn write_page(path: &Path, page: &Page) -> Result<(), FileError> {
    let write = || {
        let mut file = OutputFile::create(path)?;
        fill(&mut file, page)?;
        file.finish()
    };
    write().map_err(|source| FileError::Write { path: path.to_owned(), source })
}

/// Writes the script that says the newest version of a page: pages of another one that are open load themselves anew within a second.
///
/// # Errors
/// When the file cannot be written.
pub fn write_version(path: &Path, version: u64) -> Result<(), FileError> {
    write_atomically::<io::Error>(path, |out| writeln!(out, "isobarVersion({version});"))
        .map_err(|source| FileError::Write { path: path.to_owned(), source })
}

/// Writes the template with its places filled.
fn fill(out: &mut impl Write, page: &Page) -> io::Result<()> {
    let data = PageData::encode(page)?;
    let mut rest = TEMPLATE;
    // In one pass, so that nothing that is filled in is taken for a place.
    while let Some((before, after)) = rest.split_once("{{") {
        out.write_all(before.as_bytes())?;
        let Some((place, after)) = after.split_once("}}") else { break };
        match place {
            "TITLE" => write!(out, "{}", quick_xml::escape::escape(page.title.as_str()))?,
            "CSS" => out.write_all(include_bytes!("page/page.css"))?,
            "LIBRARIES" => libraries(page).try_for_each(|(name, library)| {
                writeln!(out, "<script id=\"{name}\" type=\"text/plain\">{}</script>", packed(library)?)
            })?,
            "SCRIPT" => SCRIPT.iter().try_for_each(|part| writeln!(out, "{part}"))?,
            "DATA" => out.write_all(data.as_bytes())?,
            unknown => write!(out, "{{{{{unknown}}}}}")?,
        }
        rest = after;
    }
    out.write_all(rest.as_bytes())
}

/// The libraries that draw what is in a page, and what its script calls them.
fn libraries(page: &Page) -> impl Iterator<Item = (&'static str, &'static [u8])> {
    let has_plots = page.recording.is_some() || !page.charts.is_empty();
    let three = page.recording.map(|_| ("three", THREE));
    three.into_iter().chain(has_plots.then_some(("plotly", PLOTLY)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_filled_and_its_title_is_text() {
        let page = Page { title: "a < b & {{DATA}}".to_owned(), ..Page::default() };
        let mut html = Vec::new();
        fill(&mut html, &page).unwrap();
        let html = String::from_utf8(html).unwrap();
        assert!(html.contains("<title>a &lt; b &amp; {{DATA}}"));
        for place in ["TITLE", "CSS", "LIBRARIES", "SCRIPT", "DATA"].map(|name| format!("{{{{{name}}}}}")) {
            assert_eq!(TEMPLATE.matches(&place).count(), 1, "{place}");
        }
        assert!(SCRIPT.iter().all(|part| html.contains(part)));
        assert!(!html.contains("id=\"plotly\"") && !html.contains("id=\"three\""), "nothing is drawn");
    }
}
