//! Joints that follow others, and links that do not touch.

use std::collections::BTreeSet;
use std::path::Path;

use super::bodies::WORLD;
use super::file::File;
use super::tree::Tree;
use super::wrong;
use crate::io::file_error::FileError;
use crate::io::robot::values::required;
use crate::io::robot::{MimicJoints, set_mimic};
use crate::multibody::tree::Mimic;

/// The most pairs of links that are looked at for the bits of their geoms.
const MOST_PAIRS: usize = 1_000_000;

/// Has joints follow others where an equality says so.
///
/// # Errors
/// When it is of another kind, not linear, or names a joint that is not there.
pub(super) fn follow(file: &File, tree: &mut Tree, mimic: MimicJoints) -> Result<Vec<String>, FileError> {
    let mut warnings = Vec::new();
    for element in file.root.all("equality").flat_map(|section| &section.children) {
        let layers = file.classes.layers(element, &["equality"], None)?;
        if layers.truth("active")? == Some(false) {
            continue;
        }
        if element.name != "joint" {
            return Err(wrong(element, "found in `equality`; of its constraints only `joint` is simulated"));
        }
        let find = |attribute: &str| {
            let name = required(element, attribute).map_err(|message| wrong(element, message))?;
            let found = tree.joints.iter().position(|joint| joint.name == name && joint.kind.is_single());
            found.ok_or_else(|| {
                let message =
                    format!("found {attribute} = {name:?}, which is no joint of a body with one coordinate");
                wrong(element, message)
            })
        };
        let (own, leader) = (find("joint1")?, find("joint2")?);
        let [offset, factor, rest @ ..] = layers.overlaid("polycoef", [0.0, 1.0, 0.0, 0.0, 0.0], 1)?;
        if rest != [0.0; 3] || factor == 0.0 {
            let message = "its polycoef is not that of a line; a joint follows another in proportion";
            return Err(wrong(element, message));
        }
        let name = tree.joints[leader].name.clone();
        let start = |joint: &str| {
            let start = tree.initial.iter().find(|(other, _)| other == joint);
            start.and_then(|(_, at)| at.first().copied()).unwrap_or(0.0)
        };
        // Both positions are measured from `ref`.
        let offset = offset + start(&tree.joints[own].name) - factor * start(&name);
        let joint = &mut tree.joints[own];
        if joint.mimic.is_some() {
            return Err(wrong(element, format!("joint `{}` follows another joint already", joint.name)));
        }
        let mimics = Mimic { joint: name, multiplier: factor, offset };
        let path = element.file.as_deref().unwrap_or(Path::new(""));
        set_mimic(joint, Some(mimics), mimic, path, &mut warnings);
    }
    Ok(warnings)
}

/// The pairs of links that do not touch: those that the file excludes, those that several joints of one body connect, as
/// one joint would, and those that no bits of `contype` and `conaffinity` bring together.
///
/// # Errors
/// When the file names a body that is not there.
pub(super) fn apart(file: &File, tree: &mut Tree) -> Result<Vec<[String; 2]>, FileError> {
    let mut pairs = Vec::new();
    for element in file.root.all("contact").flat_map(|section| &section.children) {
        if element.name != "exclude" {
            tree.ignored.add("what `contact` says of a pair of geoms", element.label());
            continue;
        }
        let find = |attribute: &str| {
            let name = required(element, attribute).map_err(|message| wrong(element, message))?;
            let is_there = name == WORLD || tree.bodies.iter().any(|body| body.name == name);
            let message = || wrong(element, format!("found {attribute} = {name:?}, which is no body"));
            is_there.then(|| name.to_owned()).ok_or_else(message)
        };
        pairs.push([find("body1")?, find("body2")?]);
    }
    for (own, first) in tree.parts.iter().enumerate().filter(|(_, part)| part.joints > 1) {
        let Some(above) = first.above.map(|above| tree.parts[above].moves_with) else { continue };
        let with = |one: usize| tree.parts.iter().filter(move |part| part.moves_with == one);
        if with(above).any(|part| part.joints > 0) {
            pairs.extend(with(own).flat_map(|a| with(above).map(|b| [a.link.clone(), b.link.clone()])));
        }
    }
    let meet = |a: &[u32; 2], b: &[u32; 2]| (a[0] & b[1]) | (a[1] & b[0]) != 0;
    let links = &tree.masks;
    let kinds: BTreeSet<&[u32; 2]> = links.iter().flat_map(|(_, masks)| masks).collect();
    let is_few = links.len().max(kinds.len()).pow(2) / 2 <= MOST_PAIRS;
    let differ = !is_few || kinds.iter().any(|a| kinds.iter().any(|b| !meet(a, b)));
    let mut partly = Vec::new();
    for (i, (b, of_b)) in links.iter().enumerate().filter(|_| differ && is_few) {
        for (a, of_a) in &links[..i] {
            let mut all = of_a.iter().flat_map(|a| of_b.iter().map(move |b| meet(a, b)));
            match (all.clone().any(|meets| meets), all.any(|meets| !meets)) {
                (false, _) => pairs.push([a.clone(), b.clone()]),
                (true, true) => partly.push(b.clone()),
                (true, false) => {}
            }
        }
    }
    for link in partly.into_iter().chain((differ && !is_few).then(|| "all bodies".to_owned())) {
        tree.ignored.add("that `contype` and `conaffinity` keep some geoms of two bodies apart", link);
    }
    pairs.retain(|pair| pair.iter().all(|link| tree.bodies.iter().any(|body| body.name == *link)));
    Ok(pairs)
}
