//! Motions to look at: films with contact surfaces and forces, and plots, written in formats that viewers
//! open.
//!
//! A [`Recorder`] observes a simulation, or is given states, and makes a [`Recording`]. [`write_gltf`]
//! writes it as an animated glTF file, [`write_vtk`] as a series of VTK files, and [`write_page`] as a
//! page for a browser, which can also show plots and tables of one's own.

mod angles;
mod arrow;
mod bounds;
mod color;
mod film;
mod gltf;
mod gltf_document;
mod page;
mod page_content;
mod page_data;
mod plots;
mod recorder;
mod shapes;
mod vtk;

pub use bounds::Bounds;
pub use film::{Film, Frame, FrameContact, FramePolygon, FrameSurface, Pose};
pub use gltf::write_gltf;
pub use page::{write_page, write_version};
pub use page_content::{Chart, Curve, CurveMode, Page, Table};
pub use plots::{Plot, Plots, Series};
pub use recorder::{Recorder, Recording};
pub use shapes::{FilmBody, Part, PartField, PartKind};
pub use vtk::{write_contact_surface, write_vtk};
