//! Attributes that no element of the format has: mostly misspelled ones, which would be left out without a word.

use std::collections::BTreeMap;
use std::path::Path;

use crate::xml::Element;

/// The sections that are looked at; the others say nothing that is read.
const SECTIONS: [&str; 10] = [
    "compiler",
    "option",
    "default",
    "asset",
    "worldbody",
    "contact",
    "equality",
    "tendon",
    "actuator",
    "keyframe",
];

/// The attributes of elements that are read, by MuJoCo 4.0's schema; of what has one name in several sections all together.
const KNOWN: [(&str, &str); 19] = [
    ("body", "axisangle childclass euler fuse gravcomp mocap name pos quat simple sleep user xyaxes zaxis"),
    ("frame", "axisangle childclass euler name pos quat xyaxes zaxis"),
    (
        "compiler",
        "alignfree angle assetdir autolimits balanceinertia boundinertia boundmass conflict coordinate \
         discardvisual eulerseq fitaabb fusestatic inertiafromgeom inertiagrouprange meshdir passthrough \
         savecanonical savecompiled saveinertial settotalmass strippath texturedir usethread",
    ),
    (
        "option",
        "actuatorgroupdisable ccd_iterations ccd_tolerance cone density gravity impratio integrator iterations \
         jacobian ls_iterations ls_tolerance magnetic noslip_iterations noslip_tolerance o_friction o_margin \
         o_solimp o_solref sdf_initpoints sdf_iterations sleep_tolerance solver timestep tolerance viscosity wind",
    ),
    (
        "flag",
        "actuation autoreset clampctrl constraint contact damper diagexact energy equality eulerdamp filterparent \
         frictionloss fwdinv gravity invdiscrete ipc island limit midphase multiccd nativeccd override refsafe \
         sensor sleep speculative spring warmstart",
    ),
    ("inertial", "axisangle diaginertia euler fullinertia mass pos quat xyaxes zaxis"),
    (
        "joint",
        "active actuatorfrclimited actuatorfrcrange actuatorgravcomp armature axis class coef damping \
         frictionloss group joint joint1 joint2 limited margin name polycoef pos range ref solimp solimpfriction \
         solimplimit solref solreffriction solreflimit springdamper springref springyield stiffness type user",
    ),
    ("freejoint", "align group name"),
    (
        "geom",
        "adhesion axisangle castshadow class conaffinity condim contype density euler fitscale fluidcoef \
         fluidshape friction fromto gap group hfield margin mass material mesh name pos priority quat rgba \
         shellinertia size solimp solmix solref surfacevel type user xyaxes zaxis",
    ),
    (
        "mesh",
        "builtin class content_type face file inertia material maxhullvert name normal params refpos refquat \
         scale smoothnormal texcoord vertex",
    ),
    (
        "motor",
        "armature class cranklength cranksite ctrllimited ctrlrange damping delay forcelimited forcerange gear \
         group interp joint jointinparent lengthrange name nsample refsite site slidersite tendon user",
    ),
    ("position", "dampratio inheritrange kp kv timeconst"),
    ("velocity", "kv"),
    (
        "general",
        "actdim actearly actlimited actrange biasprm biastype body dynprm dyntype ffrange gainprm gaintype \
         inheritrange input velrange",
    ),
    ("equality", "active solimp solref"),
    (
        "tendon",
        "active actuatorfrclimited actuatorfrcrange armature class damping frictionloss group limited margin \
         material name polycoef range rgba solimp solimpfriction solimplimit solref solreffriction solreflimit \
         springlength springyield stiffness tendon1 tendon2 user width",
    ),
    (
        "fixed",
        "actuatorfrclimited actuatorfrcrange armature class damping frictionloss group limited margin name range \
         solimpfriction solimplimit solreffriction solreflimit springlength springyield stiffness user",
    ),
    ("exclude", "body1 body2 name"),
    ("key", "act ctrl mpos mquat name plastic qpos qvel time"),
];

/// How many letters a name that is meant may differ by.
const NEAR: usize = 2;

/// The actuators that have the attributes of a motor too.
const LIKE_MOTORS: [&str; 3] = ["position", "velocity", "general"];

/// A warning for each attribute that is not known, with the first place that has it.
pub(super) fn unknown(root: &Element) -> Vec<String> {
    let mut found = BTreeMap::new();
    for section in root.children.iter().filter(|section| SECTIONS.contains(&section.name.as_str())) {
        add(section, &mut found);
    }
    found.into_values().collect()
}

fn add<'a>(element: &'a Element, found: &mut BTreeMap<(&'a str, &'a str), String>) {
    let is_like_motor = LIKE_MOTORS.contains(&element.name.as_str());
    let known: Vec<&str> = of(&element.name).chain(of("motor").filter(|_| is_like_motor)).collect();
    for name in
        element.names().filter(|name| !known.is_empty() && !known.contains(name) && !name.contains(':'))
    {
        found.entry((&element.name, name)).or_insert_with(|| {
            let file = element.file.as_deref().unwrap_or(Path::new("")).display();
            // Of two that are as near, the one with the same letters.
            let near = known.iter().filter(|other| other.len().abs_diff(name.len()) <= NEAR);
            let near = near.min_by_key(|other| (distance(name, other), letters(name) != letters(other)));
            let near = near.filter(|other| distance(name, other) <= NEAR);
            let near = near.map_or_else(String::new, |near| format!("; it may be meant to be `{near}`"));
            let (line, label) = (element.line, element.label());
            format!("{file}:{line}: {label}: the attribute `{name}` is not known and not read{near}")
        });
    }
    element.children.iter().for_each(|child| add(child, found));
}

/// The attributes of elements of a name.
fn of(name: &str) -> impl Iterator<Item = &'static str> {
    KNOWN.iter().find(|(of, _)| *of == name).map_or("", |(_, all)| *all).split_whitespace()
}

fn letters(word: &str) -> Vec<char> {
    let mut letters: Vec<char> = word.chars().collect();
    letters.sort_unstable();
    letters
}

/// How many letters are put in, left out or replaced between two words.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut before = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = before + usize::from(x != *y);
            before = row[j + 1];
            row[j + 1] = replaced.min(before + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
