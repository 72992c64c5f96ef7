//! What recordings hold: animated glTF, VTK files and pages, as tests read them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use crate::isobar;

/// Runs a command that must succeed.
pub fn run(arguments: &[&str]) -> String {
    let output = isobar(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The document and the binary part of a `.glb` file.
pub fn glb(path: &Path) -> (Value, Vec<u8>) {
    let bytes = fs::read(path).expect("the file");
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize;
    assert_eq!((&bytes[..4], number(4), number(8)), (&b"glTF"[..], 2, bytes.len()));
    let json_end = 20 + number(12);
    assert_eq!((&bytes[16..20], &bytes[json_end + 4..json_end + 8]), (&b"JSON"[..], &b"BIN\0"[..]));
    assert_eq!(json_end + 8 + number(json_end), bytes.len());
    (serde_json::from_slice(&bytes[20..json_end]).expect("JSON"), bytes[json_end + 8..].to_vec())
}

pub fn index(value: &Value) -> usize {
    usize::try_from(value.as_u64().expect("an index")).expect("a small number")
}

/// The numbers of an accessor of floats.
pub fn floats(document: &Value, binary: &[u8], accessor: usize) -> Vec<f32> {
    let accessor = &document["accessors"][accessor];
    let width = match accessor["type"].as_str() {
        Some("SCALAR") => 1,
        Some("VEC3") => 3,
        Some("VEC4") => 4,
        other => panic!("{other:?}"),
    };
    assert_eq!(accessor["componentType"], 5126);
    let view = &document["bufferViews"][index(&accessor["bufferView"])];
    let (start, length) = (index(&view["byteOffset"]), index(&view["byteLength"]));
    assert_eq!(length, 4 * width * index(&accessor["count"]));
    let float = |four: &[u8]| f32::from_le_bytes(four.try_into().expect("four bytes"));
    let numbers: Vec<f32> = binary[start..start + length].chunks(4).map(float).collect();
    if let Some(max) = accessor["max"].as_array() {
        for (k, max) in max.iter().enumerate() {
            let largest = numbers.iter().skip(k).step_by(width).copied().fold(f32::MIN, f32::max);
            assert_eq!(max.as_f64().map(|x| x as f32), Some(largest));
        }
    }
    numbers
}

/// The times and values of an animated property of the node with a name.
pub fn animated(document: &Value, binary: &[u8], node: &str, property: &str) -> Option<(Vec<f32>, Vec<f32>)> {
    let nodes = document["nodes"].as_array()?;
    let at = nodes.iter().position(|found| found["name"] == node)?;
    let animation = &document["animations"][0];
    let channels = animation["channels"].as_array()?.iter();
    let mut of_node = channels.filter(|c| c["target"]["node"] == at && c["target"]["path"] == property);
    let sampler = &animation["samplers"][index(&of_node.next()?["sampler"])];
    let numbers = |key: &str| floats(document, binary, index(&sampler[key]));
    Some((numbers("input"), numbers("output")))
}

/// The arrays of a `.vtu` file by their names, each as numbers.
pub fn vtu(path: &Path) -> BTreeMap<String, Vec<f64>> {
    let file = fs::read_to_string(path).expect("the file");
    let mut arrays = BTreeMap::new();
    for array in file.split("<DataArray ").skip(1) {
        let attribute = |name: &str| {
            let start = array.find(&format!("{name}=\"")).expect("the attribute") + name.len() + 2;
            array[start..].split('"').next().expect("a value").to_owned()
        };
        let content = array.split_once('>').expect("an element").1.split('<').next().expect("a text");
        let bytes = BASE64_STANDARD.decode(content).expect("base 64");
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap());
        assert_eq!(length as usize, bytes.len() - 8);
        let numbers = match attribute("type").as_str() {
            "Float32" => {
                bytes[8..].chunks(4).map(|b| f64::from(f32::from_le_bytes(b.try_into().unwrap()))).collect()
            }
            "Float64" => bytes[8..].chunks(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect(),
            "Int64" => {
                bytes[8..].chunks(8).map(|b| i64::from_le_bytes(b.try_into().unwrap()) as f64).collect()
            }
            _ => bytes[8..].iter().map(|&b| f64::from(b)).collect::<Vec<f64>>(),
        };
        arrays.insert(attribute("Name"), numbers);
    }
    arrays
}

/// The data of a page: its header, and the arrays that the header names.
pub struct PageData {
    pub header: Value,
    binary: Vec<u8>,
}

impl PageData {
    pub fn read(path: &Path) -> Self {
        let html = fs::read_to_string(path).expect("the page");
        let start = html.find("<script id=\"run\"").expect("the data");
        // Its data and libraries aside.
        let (head, _) = html.split_once("<script id=").expect("the data");
        let (_, script) = html.split_once("<script type=\"module\">").expect("the script");
        for part in [head, script] {
            assert!(!part.contains("src=") && !part.contains("<link"), "nothing comes from a network");
        }
        let content = html[start..].split_once('>').unwrap().1.split('<').next().unwrap().trim();
        let compressed = BASE64_STANDARD.decode(content).expect("base 64");
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(&compressed[..]).read_to_end(&mut bytes).expect("gzip");
        let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        let header = serde_json::from_slice(&bytes[4..4 + length]).expect("JSON");
        Self { header, binary: bytes[(4 + length).next_multiple_of(8)..].to_vec() }
    }

    pub fn array(&self, array: &Value) -> Vec<f64> {
        let (at, count) = (index(&array["at"]), index(&array["count"]));
        assert_eq!(at % 8, 0);
        let of = |width: usize| self.binary[at..at + width * count].chunks(width);
        match array["type"].as_str().expect("a type") {
            "f32" => of(4).map(|b| f64::from(f32::from_le_bytes(b.try_into().unwrap()))).collect(),
            "f64" => of(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect(),
            "u32" => of(4).map(|b| f64::from(u32::from_le_bytes(b.try_into().unwrap()))).collect(),
            "u16" => of(2).map(|b| f64::from(u16::from_le_bytes(b.try_into().unwrap()))).collect(),
            "u8" => of(1).map(|b| f64::from(b[0])).collect(),
            "i8" => of(1).map(|b| f64::from(b[0].cast_signed())).collect(),
            other => panic!("{other}"),
        }
    }

    pub fn plot(&self, title: &str) -> &Value {
        let plots = self.header["plots"].as_array().expect("plots");
        plots.iter().find(|plot| plot["title"] == title).unwrap_or_else(|| panic!("no plot {title}"))
    }

    pub fn table(&self, title: &str) -> &Vec<Value> {
        let tables = self.header["tables"].as_array().expect("tables");
        let table = tables.iter().find(|table| table["title"] == title).expect("the table");
        table["rows"].as_array().expect("rows")
    }
}
