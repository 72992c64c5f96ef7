//! The experiments in the order of the index.

mod bolt_map;
mod bounce;
mod boxes;
mod bubble;
mod coin;
mod compliance;
mod cone;
mod continuity;
mod cost;
mod cradle;
mod desk;
mod flip;
mod flip_arm;
mod grasps;
mod hertz;
mod huang;
mod incline;
mod laplace;
mod layer;
mod modes;
mod mug;
mod nut;
mod rattleback;
mod rod;
mod spin_and_roll;
mod thin_box;
mod tippe_top;

use crate::page::{Failure, Page, Run};

/// An experiment of the gallery.
pub struct Experiment {
    pub name: &'static str,
    pub run: fn(Run) -> Result<Page, Failure>,
}

const fn experiment(name: &'static str, run: fn(Run) -> Result<Page, Failure>) -> Experiment {
    Experiment { name, run }
}

pub const EXPERIMENTS: [Experiment; 27] = [
    experiment("compliance", compliance::run),
    experiment("laplace", laplace::run),
    experiment("layer", layer::run),
    experiment("continuity", continuity::run),
    experiment("cost", cost::run),
    experiment("bounce", bounce::run),
    experiment("boxes", boxes::run),
    experiment("spoon", grasps::spoon),
    experiment("chopsticks", grasps::chopsticks),
    experiment("mug", mug::run),
    experiment("nut", nut::run),
    experiment("desk", desk::run),
    experiment("modes", modes::run),
    experiment("coin", coin::run),
    experiment("flip", flip::run),
    experiment("bubble", bubble::run),
    experiment("thin_box", thin_box::run),
    experiment("huang", huang::run),
    experiment("incline", incline::run),
    experiment("bolt_map", bolt_map::run),
    experiment("hertz", hertz::run),
    experiment("spin_and_roll", spin_and_roll::run),
    experiment("cradle", cradle::run),
    experiment("rod", rod::run),
    experiment("cone", cone::run),
    experiment("tippe_top", tippe_top::run),
    experiment("rattleback", rattleback::run),
];
