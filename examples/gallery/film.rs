//! Films: outlines of bodies over time, as SVG that plays.

use std::collections::BTreeMap;
use std::fmt::Write;

use isobar::contact::{Collider, ContactGeometry, Material};
use isobar::field::RigidSurface;
use isobar::geometry::{Shape, SurfaceMesh};
use isobar::multibody::{BodyGeometry, Model, State};
use isobar::rollout::Trajectory;
use isobar::spatial::RigidTransform;
use nalgebra::{Vector2, Vector3};

use crate::drawing::{View, begun, finished, text};
use crate::page::Failure;

/// Edges of what is only drawn, m.
const DRAWN: f64 = 0.003;
/// Pixels that are not seen.
const FINE: f64 = 0.15;
/// Pictures a second.
const RATE: f64 = 20.0;
/// Colours of bodies in turn, and of what is fixed.
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const FIXED: &str = "#999999";

/// How a motion is looked at.
pub struct Look<'a> {
    /// Width and height, pixels, and what the plane of the picture shows.
    pub size: [u32; 2],
    pub view: View,
    /// Right and up in the picture, in the world.
    pub axes: [Vector3<f64>; 2],
    /// How much slower than it is the motion is shown.
    pub slower: f64,
    /// Bodies through whose origins a line is drawn.
    pub line: &'a [&'a str],
    /// Whether bodies are cut by the plane of the picture through the origin; otherwise their hulls are seen.
    pub cut: bool,
}

impl Look<'_> {
    /// From the side: x to the right, z up, with a point (x, z) in the middle.
    pub fn from_the_side(size: [u32; 2], middle: [f64; 2], scale: f64) -> Self {
        let at = size.map(|pixels| 0.5 * f64::from(pixels));
        let view = View { middle: middle.into(), at, scale };
        Self { size, view, axes: [Vector3::x(), Vector3::z()], slower: 1.0, line: &[], cut: false }
    }

    fn onto(&self, point: &Vector3<f64>) -> Vector2<f64> {
        Vector2::new(self.axes[0].dot(point), self.axes[1].dot(point))
    }

    /// The outlines of a geometry at a pose, each as the points of a polygon.
    fn outlines(&self, geometry: &ContactGeometry, pose: &RigidTransform) -> Vec<String> {
        match geometry {
            ContactGeometry::Compliant(field) if self.cut => {
                return self.sections(&field.mesh().boundary(), pose);
            }
            ContactGeometry::Rigid(surface) if self.cut => return self.sections(surface.mesh(), pose),
            _ => (),
        }
        let vertices = match geometry {
            ContactGeometry::Compliant(field) => field.mesh().vertices.as_slice(),
            ContactGeometry::Rigid(surface) => surface.mesh().vertices.as_slice(),
            // As large as any picture.
            _ => &[(-9.0, -9.0, 0.0), (9.0, 9.0, 0.0), (-9.0, 9.0, -9.0), (9.0, -9.0, -9.0)]
                .map(|(x, y, z)| Vector3::new(x, y, z)),
        };
        let places = vertices.iter().map(|v| self.onto(&(pose.translation + pose.rotation * v)));
        vec![self.thinned(&hull(places.collect()))]
    }

    /// The polygons in which the plane of the picture through the origin cuts a closed surface at a pose.
    fn sections(&self, mesh: &SurfaceMesh, pose: &RigidTransform) -> Vec<String> {
        let normal = self.axes[0].cross(&self.axes[1]);
        let places: Vec<Vector3<f64>> =
            mesh.vertices.iter().map(|v| pose.translation + pose.rotation * v).collect();
        let depth = |vertex: u32| places[vertex as usize].dot(&normal);
        // From the edge on which the section enters a triangle to that on which it leaves it.
        let mut next = BTreeMap::new();
        for &[a, b, c] in &mesh.triangles {
            let crossed = |from_below: bool| {
                let edge = [[a, b], [b, c], [c, a]]
                    .into_iter()
                    .find(|&[p, q]| (depth(p) < 0.0) == from_below && (depth(q) < 0.0) != from_below);
                edge.map(|[p, q]| [p.min(q), p.max(q)])
            };
            if let (Some(enters), Some(leaves)) = (crossed(true), crossed(false)) {
                next.insert(enters, leaves);
            }
        }
        let mut sections = Vec::new();
        while let Some((first, _)) = next.first_key_value() {
            let (mut edge, mut section) = (*first, Vec::new());
            while let Some(leaves) = next.remove(&edge) {
                let [p, q] = edge;
                let part = depth(p) / (depth(p) - depth(q));
                section.push(self.onto(&places[p as usize].lerp(&places[q as usize], part)));
                edge = leaves;
            }
            sections.push(self.thinned(&section));
        }
        sections
    }

    /// The points of a polygon without those that are not seen.
    fn thinned(&self, polygon: &[Vector2<f64>]) -> String {
        let mut corners: Vec<[f64; 2]> = polygon.iter().map(|p| self.view.place(p)).collect();
        // One of those that are not told apart.
        let is_near = |a: &[f64; 2], b: &[f64; 2]| (a[0] - b[0]).hypot(a[1] - b[1]) < FINE;
        corners.dedup_by(|a, b| is_near(a, b));
        if corners.len() > 1 && is_near(&corners[0], &corners[corners.len() - 1]) {
            corners.pop();
        }
        let mut points = String::new();
        // The last corner that is drawn, and the first one after it: those that are close to the line to the next are not seen.
        let (mut last, mut first) = (corners[corners.len() - 1], 0);
        for (k, &[x, y]) in corners.iter().enumerate() {
            let next = corners[(k + 1) % corners.len()];
            let along = Vector2::new(next[0] - last[0], next[1] - last[1]);
            let is_far = |c: &[f64; 2]| {
                along.perp(&Vector2::new(c[0] - last[0], c[1] - last[1])).abs() > FINE * along.norm()
            };
            if corners[first..=k].iter().any(is_far) {
                let _ = write!(points, "{x:.1},{y:.1} ");
                (last, first) = ([x, y], k + 1);
            }
        }
        points
    }
}

/// The corners of the convex hull of points, in turn.
fn hull(mut points: Vec<Vector2<f64>>) -> Vec<Vector2<f64>> {
    points.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    let half = |points: &mut dyn Iterator<Item = &Vector2<f64>>| {
        let mut chain: Vec<Vector2<f64>> = Vec::new();
        for p in points {
            while let [.., a, b] = chain[..]
                && (b - a).perp(&(p - b)) <= 0.0
            {
                chain.pop();
            }
            chain.push(*p);
        }
        chain.pop();
        chain
    };
    let mut all = half(&mut points.iter());
    all.extend(half(&mut points.iter().rev()));
    all
}

/// A model in which a body has one more shape, which is only drawn.
pub fn with_shape(model: Model, body: usize, shape: &Shape, x_bg: RigidTransform) -> Result<Model, Failure> {
    let mut builder = model.into_builder();
    let finest = shape.surface_mesh(DRAWN)?;
    let collider = Collider::rigid(RigidSurface::new(finest), Material::NONE);
    builder.bodies[body].geometries.push(BodyGeometry::new(collider).at(x_bg));
    Ok(builder.build()?)
}

/// A shape whose points change.
pub fn played(svg: &mut String, shape: &str, style: &str, points: &[String], duration: f64) {
    let _ = write!(svg, "<{shape} points=\"{}\" {style}>", points[0]);
    if points.len() > 1 {
        let _ = write!(
            svg,
            "<animate attributeName=\"points\" dur=\"{duration:.2}s\" calcMode=\"discrete\" \
             repeatCount=\"indefinite\" values=\"{}\"/>",
            points.join(";")
        );
    }
    let _ = writeln!(svg, "</{shape}>");
}

/// The film of a motion, over and over.
pub fn film(model: &Model, trajectory: &Trajectory, look: &Look) -> String {
    let Trajectory { times, states } = trajectory;
    let duration = times[times.len() - 1] * look.slower;
    let count = (duration * RATE).ceil().max(1.0) as usize;
    let shown = (0..=count).map(|k| {
        let time = times[times.len() - 1] * k as f64 / count as f64;
        &states[times.partition_point(|t| *t < time - 1e-9).min(states.len() - 1)]
    });
    let poses = |state: &State| {
        let mut frames = Vec::new();
        model.body_frames(state, &mut frames);
        frames.iter().map(|frame| frame.pose).collect::<Vec<_>>()
    };
    let poses: Vec<Vec<RigidTransform>> = shown.map(poses).collect();
    let mut svg = begun(look.size[0], look.size[1]);
    let mut colours = COLOURS.iter().cycle();
    for (body, at) in model.bodies().iter().zip(0..) {
        let moves = poses.iter().any(|p| p[at] != poses[0][at]);
        let colour = if moves { colours.next().unwrap_or(&FIXED) } else { &FIXED };
        for geometry in &body.geometries {
            let outline = |poses: &Vec<RigidTransform>| {
                look.outlines(&geometry.collider.geometry, &(poses[at] * geometry.x_bg))
            };
            let outlines: Vec<Vec<String>> =
                poses[..if moves { poses.len() } else { 1 }].iter().map(outline).collect();
            let style = format!("fill=\"{colour}\" fill-opacity=\".5\" stroke=\"{colour}\"");
            for k in 0..outlines[0].len() {
                let over_time = outlines.iter().map(|all| all.get(k).cloned().unwrap_or_default());
                played(&mut svg, "polygon", &style, &over_time.collect::<Vec<_>>(), duration);
            }
        }
    }
    let line: Vec<usize> = look.line.iter().filter_map(|name| model.body_index(name)).collect();
    let places = |poses: &Vec<RigidTransform>| {
        let place = |&body: &usize| look.view.place(&look.onto(&poses[body].translation));
        line.iter().map(place).map(|[x, y]| format!("{x:.1},{y:.1} ")).collect::<String>()
    };
    if !line.is_empty() {
        let style = "fill=\"none\" stroke=\"#333\" stroke-width=\"5\" stroke-opacity=\".6\"";
        played(&mut svg, "polyline", style, &poses.iter().map(places).collect::<Vec<_>>(), duration);
    }
    let pace = if look.slower == 1.0 { String::new() } else { format!(", {} times slower", look.slower) };
    text(&mut svg, [10.0, 20.0], 12, "start", &format!("{:.2} s{pace}", times[times.len() - 1]));
    finished(svg)
}
