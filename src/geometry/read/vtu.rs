//! VTK's XML files of unstructured grids, `.vtu`: numbers as text, in base 64 or appended, compressed by zlib or not (the
//! VTK file formats, XML; the layout of compressed arrays is that of `vtkXMLDataReader`).

use std::io::Read;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::read::ZlibDecoder;

use super::fault::Fault;
use super::listed_tetrahedra::ListedTetrahedra;
use super::text::{Numbers, Words};
use super::vtk::{Cells, listed};
use crate::xml::{self, Element};

/// What the whole file says of its arrays.
struct Layout<'a> {
    numbers: Numbers,
    /// Bytes of a number that counts bytes.
    header: usize,
    compressed: bool,
    /// What arrays say where they begin in, and whether that is base 64.
    appended: Option<(&'a [u8], bool)>,
}

fn attribute<'a>(element: &'a Element, name: &str, expected: &str) -> Result<&'a str, Fault> {
    let missing = || Fault::new(element.line, format!("{} without `{name}`", element.label()), expected);
    element.attribute(name).ok_or_else(missing)
}

/// An attribute that has a default, as one of a list.
fn choice<T: Copy>(
    element: &Element,
    name: &str,
    default: &str,
    allowed: &[(&str, T)],
    expected: &str,
) -> Result<T, Fault> {
    let found = element.attribute(name).unwrap_or(default);
    let value = allowed.iter().find(|(word, _)| *word == found).map(|(_, value)| *value);
    value.ok_or_else(|| Fault::new(element.line, format!("{name} = {found:?}"), expected))
}

/// The one element of a name in another.
fn only<'a>(element: &'a Element, name: &'a str) -> Result<&'a Element, Fault> {
    let expected = format!("expected one element {name} in {}", element.label());
    element.all(name).next().ok_or_else(|| Fault::new(element.line, format!("no {name}"), expected))
}

/// Bytes one after the other.
struct Source<'a> {
    rest: &'a [u8],
    is_base64: bool,
    /// What is decoded and not taken yet.
    decoded: Vec<u8>,
    line: usize,
}

impl Source<'_> {
    /// The next bytes. In base 64 each part of an array, such as its header, can end with `=` signs of its own.
    fn take(&mut self, count: u64) -> Result<Vec<u8>, Fault> {
        let end = || Fault::new(self.line, "the end of the numbers", format!("expected {count} more bytes"));
        let count = usize::try_from(count).map_err(|_| end())?;
        if !self.is_base64 {
            let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(end)?;
            self.rest = rest;
            return Ok(taken.to_vec());
        }
        while self.decoded.len() < count {
            let mut group = [0; 4];
            for letter in &mut group {
                let is_letter = |byte: &u8| !byte.is_ascii_whitespace();
                let place = self.rest.iter().position(is_letter).ok_or_else(end)?;
                *letter = self.rest[place];
                self.rest = &self.rest[place + 1..];
            }
            let wrong = |_| {
                let found = String::from_utf8_lossy(&group).into_owned();
                Fault::new(self.line, format!("{found:?}"), "expected numbers in base 64")
            };
            self.decoded.extend(BASE64_STANDARD.decode(group).map_err(wrong)?);
        }
        let rest = self.decoded.split_off(count);
        Ok(std::mem::replace(&mut self.decoded, rest))
    }
}

impl Layout<'_> {
    /// The bytes of an array's numbers.
    fn bytes(&self, array: &Element, format: &str) -> Result<Vec<u8>, Fault> {
        let line = array.line;
        let (rest, is_base64) = match (format, self.appended) {
            ("binary", _) => (array.text.as_bytes(), true),
            ("appended", Some((appended, is_base64))) => {
                let offset = attribute(array, "offset", "an appended array needs where it begins")?;
                let place = offset.parse().ok().and_then(|offset: usize| appended.get(offset..));
                let expected = format!("there are {} appended bytes", appended.len());
                let beyond = || Fault::new(line, format!("offset = {offset:?}"), expected);
                (place.ok_or_else(beyond)?, is_base64)
            }
            ("appended", None) => {
                return Err(Fault::new(line, "an appended array", "the file has no AppendedData"));
            }
            _ => {
                return Err(Fault::new(
                    line,
                    format!("format = {format:?}"),
                    "expected ascii, binary or appended",
                ));
            }
        };
        let mut source = Source { rest, is_base64, decoded: Vec::new(), line };
        let count = |source: &mut Source| {
            let bytes = source.take(self.header as u64)?;
            Words::of_numbers(&bytes, self.numbers).starting_at(line).index(self.header, "a number of bytes")
        };
        let first = count(&mut source)?;
        if !self.compressed {
            return source.take(first);
        }
        // The number of blocks, the sizes of each and of the last before compression, and those after.
        let [size, last] = [count(&mut source)?, count(&mut source)?];
        let mut sizes = Vec::new();
        for _ in 0..first {
            sizes.push(count(&mut source)?);
        }
        let mut bytes = Vec::new();
        for (block, compressed) in sizes.iter().enumerate() {
            let expected = if block + 1 == sizes.len() && last > 0 { last } else { size };
            let compressed = source.take(*compressed)?;
            let before = bytes.len() as u64;
            let read = ZlibDecoder::new(&compressed[..]).take(expected).read_to_end(&mut bytes);
            if read.is_err() || bytes.len() as u64 - before != expected {
                let found = format!("a block {block} that is not compressed as it says");
                return Err(Fault::new(line, found, format!("expected {expected} bytes by zlib")));
            }
        }
        Ok(bytes)
    }

    /// Reads the numbers of an array, each of as many bytes as are passed on, which its type says. `kinds` are the types
    /// that are allowed.
    fn numbers<T>(
        &self,
        array: &Element,
        kinds: &[(&str, usize)],
        read: impl FnOnce(&mut Words, usize) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let names: Vec<&str> = kinds.iter().map(|(name, _)| *name).collect();
        let size = choice(array, "type", "", kinds, &format!("expected one of {}", names.join(", ")))?;
        match array.attribute("format").unwrap_or("ascii") {
            "ascii" => read(&mut Words::new(array.text.as_bytes()).starting_at(array.line), size),
            format => {
                let bytes = self.bytes(array, format)?;
                read(&mut Words::of_numbers(&bytes, self.numbers).starting_at(array.line), size)
            }
        }
    }
}

const REAL: [(&str, usize); 2] = [("Float32", 4), ("Float64", 8)];
const WHOLE: [(&str, usize); 8] = [
    ("Int64", 8),
    ("Int32", 4),
    ("UInt8", 1),
    ("UInt64", 8),
    ("UInt32", 4),
    ("Int8", 1),
    ("UInt16", 2),
    ("Int16", 2),
];

/// So many whole numbers, each with its line.
fn whole(words: &mut Words, count: u64, size: usize, what: &str) -> Result<Vec<(u64, usize)>, Fault> {
    (0..count).map(|_| Ok((words.index(size, what)?, words.line()))).collect()
}

/// The cells of a piece with their types; the numbers of its vertices are after those of the pieces before.
fn cells(layout: &Layout, piece: &Element, before: u64) -> Result<(Cells, Vec<(u64, usize)>), Fault> {
    let count = number(piece, "NumberOfCells")?;
    let section = only(piece, "Cells")?;
    let array = |name: &str| {
        let found = section.all("DataArray").find(|array| array.attribute("Name") == Some(name));
        let missing = || Fault::new(section.line, "Cells", format!("expected a DataArray `{name}` in it"));
        found.ok_or_else(missing)
    };
    let of = |name: &str, count: u64, what: &str| {
        layout.numbers(array(name)?, &WHOLE, |words, size| whole(words, count, size, what))
    };
    let ends = of("offsets", count, "an offset")?;
    let total = ends.last().map_or(0, |end| end.0);
    let corners = of("connectivity", total, "a vertex number, counted from 0")?;
    let mut cells = Cells::new();
    let mut start = 0;
    for (end, line) in ends {
        let end = end as usize;
        let Some(cell) = corners.get(start..end) else {
            let found = format!("a cell with the offsets {start} to {end}");
            return Err(Fault::new(line, found, format!("offsets must ascend to {total}")));
        };
        let line = cell.first().map_or(line, |corner| corner.1);
        cells.push((cell.iter().map(|corner| corner.0.saturating_add(before)).collect(), line));
        start = end;
    }
    Ok((cells, of("types", count, "a cell type")?))
}

fn number(piece: &Element, name: &str) -> Result<u64, Fault> {
    let expected = "expected a number of points and of cells";
    let text = attribute(piece, name, expected)?;
    text.parse().map_err(|_| Fault::new(piece.line, format!("{name} = {text:?}"), expected))
}

/// The file up to what is appended, and that after its underscore, with the element's tag.
fn split(bytes: &[u8]) -> (&[u8], Option<&[u8]>) {
    const TAG: &[u8] = b"<AppendedData";
    let Some(place) = bytes.windows(TAG.len()).position(|window| window == TAG) else {
        return (bytes, None);
    };
    let end = bytes[place..].iter().position(|&byte| byte == b'>').map(|end| place + end + 1);
    let (head, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
    let start = rest.iter().position(|&byte| byte == b'_').map_or(rest.len(), |place| place + 1);
    (head, Some(&rest[start..]))
}

/// The tetrahedra of a file.
pub(super) fn parse(bytes: &[u8]) -> Result<ListedTetrahedra, Fault> {
    let (head, appended) = split(bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes));
    let mut text = String::from_utf8_lossy(head).into_owned();
    if appended.is_some() {
        text.push_str("</AppendedData></VTKFile>");
    }
    let file = xml::parse(&text)
        .map_err(|(line, message)| Fault::new(line, message, "expected VTK's XML, a VTKFile element"))?;
    if file.name != "VTKFile" {
        return Err(Fault::new(file.line, file.label(), "expected an element VTKFile"));
    }
    choice(&file, "type", "", &[("UnstructuredGrid", ())], "a volume mesh is an UnstructuredGrid")?;
    let orders = [("LittleEndian", Numbers::LittleEndian), ("BigEndian", Numbers::BigEndian)];
    let compressors = [("", false), ("vtkZLibDataCompressor", true)];
    let appended = match (appended, file.all("AppendedData").next()) {
        (Some(bytes), Some(element)) => {
            let allowed = [("base64", true), ("raw", false)];
            Some((bytes, choice(element, "encoding", "base64", &allowed, "expected base64 or raw")?))
        }
        _ => None,
    };
    let layout = Layout {
        numbers: choice(&file, "byte_order", "LittleEndian", &orders, "expected LittleEndian or BigEndian")?,
        header: choice(
            &file,
            "header_type",
            "UInt32",
            &[("UInt32", 4), ("UInt64", 8)],
            "expected UInt32 or UInt64",
        )?,
        compressed: choice(
            &file,
            "compressor",
            "",
            &compressors,
            "write it with vtkZLibDataCompressor or without any",
        )?,
        appended,
    };
    let grid = only(&file, "UnstructuredGrid")?;
    let (mut vertices, mut all, mut types) = (Vec::new(), Cells::new(), Vec::new());
    for piece in grid.all("Piece") {
        let count = number(piece, "NumberOfPoints")?;
        let points = only(only(piece, "Points")?, "DataArray")?;
        let before = vertices.len() as u64;
        layout.numbers(points, &REAL, |words, size| {
            (0..count).try_for_each(|_| words.point(size).map(|point| vertices.push(point)))
        })?;
        let (cells, kinds) = cells(&layout, piece, before)?;
        all.extend(cells);
        types.extend(kinds);
    }
    listed(vertices, all, types)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;
    use crate::geometry::VolumeMesh;
    use crate::geometry::read::tests::{VTK, refused, volume, with_file};

    /// The two tetrahedra of `VTK`, with a line between, as text.
    const TEXT: &str = r#"<?xml version="1.0"?>
<VTKFile type="UnstructuredGrid" version="1.0" byte_order="LittleEndian" header_type="UInt64">
<UnstructuredGrid><Piece NumberOfPoints="6" NumberOfCells="3">
<PointData><DataArray type="Float64" Name="p" format="ascii">0 0 0 0 0 0</DataArray></PointData>
<Points><DataArray type="Float64" NumberOfComponents="3" format="ascii">
0 0 0 1 0 0
0 1 0 0 0 1
1 1 1
9 9 9</DataArray></Points>
<Cells>
<DataArray type="Int64" Name="connectivity" format="ascii">0 1 2 3 0 4
1 2 3 4</DataArray>
<DataArray type="Int64" Name="offsets" format="ascii">4 6 10</DataArray>
<DataArray type="UInt8" Name="types" format="ascii">10 3 10</DataArray>
</Cells></Piece></UnstructuredGrid></VTKFile>
"#;

    fn coded(bytes: &[u8]) -> Vec<u8> {
        BASE64_STANDARD.encode(bytes).into_bytes()
    }

    /// An array's bytes with their header, of 4-byte counts in the order of bytes `big`, as VTK writes them.
    fn array(bytes: &[u8], big: bool, compressed: bool, base64: bool) -> Vec<u8> {
        let count = |n: usize| if big { (n as u32).to_be_bytes() } else { (n as u32).to_le_bytes() };
        let code = |bytes: &[u8]| if base64 { coded(bytes) } else { bytes.to_vec() };
        if !compressed {
            return code(&[&count(bytes.len())[..], bytes].concat());
        }
        let block = 32;
        let blocks = bytes.chunks(block).map(|block| {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(block).unwrap();
            encoder.finish().unwrap()
        });
        let blocks: Vec<Vec<u8>> = blocks.collect();
        let mut header = [count(blocks.len()), count(block), count(bytes.len() % block)].concat();
        blocks.iter().for_each(|block| header.extend(count(block.len())));
        [code(&header), code(&blocks.concat())].concat()
    }

    /// The file as programs write it in binary.
    fn file(big: bool, compressed: bool, format: &str) -> Vec<u8> {
        let real = |x: f32| if big { x.to_be_bytes() } else { x.to_le_bytes() };
        let whole = |n: i32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let points = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1, 9, 9, 9];
        let arrays: [(&str, Vec<u8>); 4] = [
            (
                r#"type="Float32" NumberOfComponents="3""#,
                points.iter().flat_map(|&x| real(x as f32)).collect(),
            ),
            (
                r#"type="Int32" Name="connectivity""#,
                [0, 1, 2, 3, 0, 4, 1, 2, 3, 4].iter().flat_map(|&n| whole(n)).collect(),
            ),
            (r#"type="Int32" Name="offsets""#, [4, 6, 10].iter().flat_map(|&n| whole(n)).collect()),
            (r#"type="UInt8" Name="types""#, vec![10, 3, 10]),
        ];
        let order = if big { "BigEndian" } else { "LittleEndian" };
        let compressor = if compressed { r#" compressor="vtkZLibDataCompressor""# } else { "" };
        let head = format!("<VTKFile type=\"UnstructuredGrid\" byte_order=\"{order}\"{compressor}>");
        let mut text = head.into_bytes();
        let mut appended = Vec::new();
        for (number, (kind, bytes)) in arrays.iter().enumerate() {
            text.extend(match number {
                0 => &b"<UnstructuredGrid><Piece NumberOfPoints='6' NumberOfCells='3'><Points>"[..],
                1 => b"</Points><Cells>",
                _ => b"",
            });
            if format == "binary" {
                text.extend(format!("<DataArray {kind} format=\"binary\">\n ").bytes());
                text.extend(array(bytes, big, compressed, true));
                text.extend(b"\n</DataArray>");
            } else {
                let place = appended.len();
                text.extend(format!("<DataArray {kind} format=\"appended\" offset=\"{place}\"/>").bytes());
                appended.extend(array(bytes, big, compressed, format == "base64"));
            }
        }
        text.extend(b"</Cells></Piece></UnstructuredGrid>");
        if format != "binary" {
            text.extend(format!("<AppendedData encoding=\"{format}\">\n_").bytes());
            text.extend(appended);
            text.extend(b"\n</AppendedData>");
        }
        text.extend(b"</VTKFile>");
        text
    }

    #[test]
    fn the_same_tetrahedra_in_each_writing() {
        let expected = volume("a.vtk", VTK).unwrap();
        let mut files = vec![TEXT.as_bytes().to_vec()];
        for (big, compressed) in [(false, false), (false, true), (true, false), (true, true)] {
            files.extend(["binary", "base64", "raw"].map(|format| file(big, compressed, format)));
        }
        for content in files {
            let mesh = with_file("a.vtu", &content, |path| VolumeMesh::read(path)).unwrap();
            assert_eq!(mesh, expected);
        }
    }

    #[test]
    fn pieces_are_one_mesh() {
        let start = TEXT.find("<Piece").unwrap();
        let end = TEXT.find("</UnstructuredGrid>").unwrap();
        let moved = TEXT[start..end]
            .replace("0 0 0 1 0 0\n0 1 0 0 0 1\n1 1 1\n", "9 0 0 8 0 0\n9 1 0 9 0 1\n8 1 1\n");
        let text = format!("{}{moved}{}", &TEXT[..end], &TEXT[end..]);
        let mesh = volume("a.vtu", &text).unwrap();
        assert_eq!((mesh.vertices.len(), mesh.tetrahedra.len()), (10, 4));
    }

    #[test]
    fn faults_are_named() {
        let with = |from: &str, to: &str| {
            assert!(TEXT.contains(from), "{from}");
            volume("bad.vtu", &TEXT.replacen(from, to, 1))
        };
        refused(with("VTKFile", "File"), &["bad.vtu:", "XML"]);
        refused(
            with("\"UnstructuredGrid\"", "\"PolyData\""),
            &["bad.vtu:2:", "PolyData", "UnstructuredGrid"],
        );
        refused(with("LittleEndian\"", "LittleEndian\" compressor=\"vtkLZ4DataCompressor\""), &["vtkZLib"]);
        refused(with("\"UInt64\"", "\"UInt16\""), &["bad.vtu:2:", "header_type", "UInt64"]);
        refused(with("NumberOfCells=\"3\"", "NumberOfCells=\"x\""), &["bad.vtu:3:", "NumberOfCells"]);
        refused(with("1 1 1\n", "1 nan 1\n"), &["bad.vtu:8:", "NaN", "finite"]);
        refused(with("1 2 3 4<", "1 2 3 6<"), &["bad.vtu:12:", "vertex 6", "6 points"]);
        refused(with("4 6 10", "6 4 10"), &["bad.vtu:13:", "offsets must ascend"]);
        refused(with("10 3 10", "10 3 12"), &["bad.vtu:14:", "cell type 12"]);
        refused(with("10 3 10", "10 3"), &["bad.vtu:14:", "the end of the file"]);
        refused(with("\"connectivity\"", "\"other\""), &["bad.vtu:10:", "connectivity"]);
        refused(with("\"Float64\" NumberOf", "\"String\" NumberOf"), &["bad.vtu:5:", "Float64"]);
        refused(with("\"ascii\">\n0", "\"binary\">\n!"), &["bad.vtu:5:", "base 64"]);
        let whole = file(false, true, "raw");
        for cut in [20, 60, 90] {
            let content = [&whole[..whole.len() - 30 - cut], b"</AppendedData></VTKFile>"].concat();
            let read = with_file("bad.vtu", &content, |path| VolumeMesh::read(path));
            assert!(read.is_err());
        }
    }
}
