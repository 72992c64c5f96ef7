//! Joints that follow others, and links that do not touch.

use std::collections::BTreeSet;
use std::path::Path;

use super::bodies::WORLD;
use super::file::File;
use super::tendons::Tendons;
use super::tree::Tree;
use super::wrong;
use crate::io::file_error::FileError;
use crate::io::robot::values::required;
use crate::io::robot::{MimicJoints, set_mimic};
use crate::multibody::tree::Mimic;
use crate::xml::Element;

/// The most pairs of links that are looked at for the bits of their geoms.
const MOST_PAIRS: usize = 1_000_000;

/// Has joints follow others where an equality says so: of two joints, or of the length of a fixed tendon of two.
///
/// # Errors
/// When it is of another kind, not linear, or names a joint or tendon that is not there.
pub(super) fn follow(
    file: &File,
    tree: &mut Tree,
    tendons: &Tendons,
    mimic: MimicJoints,
) -> Result<Vec<String>, FileError> {
    let mut warnings = Vec::new();
    for element in file.root.all("equality").flat_map(|section| &section.children) {
        let layers = file.classes.layers(element, &["equality"], None)?;
        if layers.truth("active")? == Some(false) {
            continue;
        }
        let polynomial = layers.overlaid("polycoef", [0.0, 1.0, 0.0, 0.0, 0.0], 1)?;
        let (own, leader, [offset, factor]) = match element.name.as_str() {
            "joint" => of_joints(element, tree, polynomial)?,
            "tendon" => of_tendon(element, tree, tendons, polynomial[0])?,
            _ => {
                let message = "found in `equality`; of its constraints only `joint` and `tendon` are simulated: take it out, \
                               or give it active=\"false\"";
                return Err(wrong(element, message));
            }
        };
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

/// The joint that follows, the one that it follows, and the constant and the factor between their positions from `ref`.
type Followed = (usize, usize, [f64; 2]);

fn of_joints(element: &Element, tree: &Tree, polynomial: [f64; 5]) -> Result<Followed, FileError> {
    let find = |attribute: &str| {
        let name = required(element, attribute).map_err(|message| wrong(element, message))?;
        let found = tree.joints.iter().position(|joint| joint.name == name && joint.kind.is_single());
        found.ok_or_else(|| {
            let message =
                format!("found {attribute} = {name:?}, which is no joint of a body with one coordinate");
            wrong(element, message)
        })
    };
    let followed = (find("joint1")?, find("joint2")?);
    let [offset, factor, rest @ ..] = polynomial;
    if rest != [0.0; 3] || factor == 0.0 {
        let message = "its polycoef is not that of a line; a joint follows another in proportion";
        return Err(wrong(element, message));
    }
    Ok((followed.0, followed.1, [offset, factor]))
}

/// A length of two joints that does not change.
fn of_tendon(element: &Element, tree: &Tree, tendons: &Tendons, offset: f64) -> Result<Followed, FileError> {
    let name = required(element, "tendon1").map_err(|message| wrong(element, message))?;
    let Some(joints) = tendons.get(name) else {
        return Err(wrong(element, format!("found tendon1 = {name:?}, which is no fixed tendon")));
    };
    match joints[..] {
        [(a, of_a), (b, of_b)]
            if a != b && of_a != 0.0 && of_b != 0.0 && element.attribute("tendon2").is_none() =>
        {
            let follows = |joint: usize| tree.joints[joint].mimic.is_some();
            let (own, leader, of_own, of_leader) =
                if follows(b) && !follows(a) { (a, b, of_a, of_b) } else { (b, a, of_b, of_a) };
            Ok((own, leader, [offset / of_own, -of_leader / of_own]))
        }
        _ => Err(wrong(
            element,
            "found in `equality`; of tendons only the constant length of one with two joints is simulated",
        )),
    }
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
