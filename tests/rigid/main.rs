//! Rigid contact: the scenes of Hotz et al. and of Xie and Chakraborty, properties, derivatives.

mod bolt;
mod gradients;
mod hotz;
mod joints;
mod planar;
mod properties;
mod pushed;
mod scene_files;
mod scenes_of_the_paper;
mod timing;
mod velocity_level;

#[path = "../../examples/rigid_contact/bolt.rs"]
mod bolt_scene;
#[path = "../support/folder.rs"]
mod folder;
#[path = "../../examples/rigid_contact/scenes.rs"]
#[allow(dead_code, reason = "the tests do not use all of the example")]
mod scenes;
