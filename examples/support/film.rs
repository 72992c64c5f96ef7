//! Films of solid bodies, as animated PNG pictures.

use std::error::Error;

use isobar::contact::ContactGeometry;
use isobar::geometry::SurfaceMesh;
use isobar::multibody::{Body, Model};
use isobar::rollout::Trajectory;
use isobar::spatial::RigidTransform;
use nalgebra::Vector3;

/// Samples of each pixel along either side.
const FINE: usize = 3;
/// Pictures a second.
const RATE: f64 = 10.0;
const BACKGROUND: [f64; 3] = [255.0, 255.0, 255.0];
/// Red, green and blue of what is only drawn.
const DRAWN_COLOUR: [f64; 3] = [120.0, 120.0, 128.0];

/// A box on a body that is drawn and touches nothing: the body's name, middle and half of the size.
pub type Drawn = (&'static str, [f64; 3], [f64; 3]);

/// How a film is looked at.
pub struct Look {
    /// Pixels per metre.
    pub scale: f64,
    /// What a frame shows of the plane of the picture, m: right from and to, up from and to.
    pub view: [f64; 4],
    /// Where the eye is, rad: around the z axis from x, and above the ground.
    pub eye: [f64; 2],
    /// Half of the size of the part of the table that is drawn, along x and y.
    pub table: [f64; 2],
    /// Red, green and blue of a body that touches, by its name, at a point of it in its geometry's frame.
    pub colour: fn(&str, &Vector3<f64>) -> [f64; 3],
    /// What is only drawn.
    pub drawn: &'static [Drawn],
}

/// A gripper that lifts something from a table: its palm is only drawn.
#[allow(dead_code, reason = "for examples that have one")]
pub const GRIPPER: Look = Look {
    scale: 1100.0,
    view: [-0.12, 0.12, -0.05, 0.3],
    eye: [-1.1, 0.3],
    table: [0.09, 0.09],
    colour: |name, _| match name {
        "ball" | "object" => [235.0, 150.0, 50.0],
        "table" => [200.0, 205.0, 200.0],
        _ => [60.0, 130.0, 190.0],
    },
    drawn: &[("palm", [0.0, 0.0, 0.0], [0.08, 0.015, 0.008])],
};

/// A picture with a depth for each sample.
struct Canvas {
    width: usize,
    height: usize,
    colours: Vec<[f64; 3]>,
    depths: Vec<f64>,
    /// Right, up, and towards the eye.
    axes: [Vector3<f64>; 3],
    scale: f64,
    view: [f64; 4],
}

impl Canvas {
    fn new(look: &Look) -> Self {
        let Look { scale, view, eye: [around, above], .. } = *look;
        let pixels = |from: f64, to: f64| ((to - from) * scale).round() as usize * FINE;
        let (width, height) = (pixels(view[0], view[1]), pixels(view[2], view[3]));
        let eye = Vector3::new(above.cos() * around.cos(), above.cos() * around.sin(), above.sin());
        let right = Vector3::new(-around.sin(), around.cos(), 0.0);
        Self {
            width,
            height,
            colours: vec![BACKGROUND; width * height],
            depths: vec![f64::NEG_INFINITY; width * height],
            axes: [right, eye.cross(&right), eye],
            scale,
            view,
        }
    }

    /// A triangle in W.
    fn triangle(&mut self, corners: [Vector3<f64>; 3], colour: [f64; 3]) {
        let [right, up, eye] = self.axes;
        let normal = (corners[1] - corners[0]).cross(&(corners[2] - corners[0]));
        let Some(normal) = normal.try_normalize(1e-12) else { return };
        let light = (eye + 0.8 * up - 0.6 * right).normalize();
        let bright = 0.35 + 0.65 * normal.dot(&light).abs();
        let (scale, view) = (self.scale * FINE as f64, self.view);
        let seen =
            corners.map(|c| [(c.dot(&right) - view[0]) * scale, (view[3] - c.dot(&up)) * scale, c.dot(&eye)]);
        let [a, b, c] = seen;
        let area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
        if area.abs() < 1e-12 {
            return;
        }
        let range = |axis: usize, most: usize| {
            let values = seen.map(|p| p[axis]);
            let low = values.iter().copied().fold(f64::INFINITY, f64::min).max(0.0);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max).min(most as f64);
            low.floor() as usize..high.ceil().max(0.0) as usize
        };
        for row in range(1, self.height) {
            for column in range(0, self.width) {
                let p = [column as f64 + 0.5, row as f64 + 0.5];
                let part = |u: [f64; 3], v: [f64; 3]| {
                    ((u[0] - p[0]) * (v[1] - p[1]) - (u[1] - p[1]) * (v[0] - p[0])) / area
                };
                let weights = [part(b, c), part(c, a), part(a, b)];
                if weights.iter().any(|w| *w < 0.0) {
                    continue;
                }
                let depth: f64 = weights.iter().zip(&seen).map(|(w, p)| w * p[2]).sum();
                let at = row * self.width + column;
                if depth > self.depths[at] {
                    self.depths[at] = depth;
                    self.colours[at] = colour.map(|x| x * bright);
                }
            }
        }
    }

    /// Each triangle in the colour that its centroid has.
    fn mesh(
        &mut self,
        mesh: &SurfaceMesh,
        pose: &RigidTransform,
        colour: impl Fn(&Vector3<f64>) -> [f64; 3],
    ) {
        for t in &mesh.triangles {
            let corners = t.map(|v| mesh.vertices[v as usize]);
            let centroid = corners.iter().sum::<Vector3<f64>>() / 3.0;
            self.triangle(corners.map(|corner| *pose * corner), colour(&centroid));
        }
    }

    /// Rows of pixels, each the mean of its samples.
    fn rows(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        (0..self.height / FINE).map(|row| {
            let pixel = |column: usize| {
                let mut sum = [0.0; 3];
                for k in 0..FINE * FINE {
                    let at = (row * FINE + k / FINE) * self.width + column * FINE + k % FINE;
                    (0..3).for_each(|i| sum[i] += self.colours[at][i]);
                }
                sum.map(|x| (x / (FINE * FINE) as f64).round() as u8)
            };
            (0..self.width / FINE).flat_map(pixel).collect()
        })
    }
}

/// A box as a mesh.
fn block(middle: [f64; 3], half: [f64; 3]) -> SurfaceMesh {
    let corner = |k: u32| {
        let sign = |axis: usize| if k >> axis & 1 == 1 { 1.0 } else { -1.0 };
        Vector3::from_fn(|axis, _| middle[axis] + sign(axis) * half[axis])
    };
    let sides = [[0, 1, 3, 2], [4, 5, 7, 6], [0, 1, 5, 4], [2, 3, 7, 6], [0, 2, 6, 4], [1, 3, 7, 5]];
    SurfaceMesh {
        vertices: (0..8).map(corner).collect(),
        triangles: sides.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect(),
    }
}

/// A picture: rows of pixels, each red, green and blue.
type Rows = Vec<Vec<u8>>;

/// The surface of a geometry that is bounded, in its frame.
fn surface(geometry: &ContactGeometry) -> Option<SurfaceMesh> {
    match geometry {
        ContactGeometry::Compliant(field) => Some(field.mesh().boundary()),
        ContactGeometry::Rigid(surface) => Some(surface.mesh().clone()),
        _ => None,
    }
}

/// Pictures of a motion at these times, s. A body `table` is drawn as a plate.
fn pictures(model: &Model, trajectory: &Trajectory, times: &[f64], look: &Look) -> Vec<Rows> {
    let parts = |body: &Body| -> Vec<(RigidTransform, SurfaceMesh)> {
        let [x, y] = look.table;
        let table = (body.name == "table").then(|| block([0.0, 0.0, -0.004], [x, y, 0.004]));
        let bounded = body.geometries.iter().filter_map(|g| Some((g.x_bg, surface(&g.collider.geometry)?)));
        table.map(|table| (RigidTransform::identity(), table)).into_iter().chain(bounded).collect()
    };
    let parts: Vec<_> = model.bodies().iter().map(parts).collect();
    let mut frames = Vec::new();
    let mut picture = |time: &f64| {
        let Trajectory { times, states } = trajectory;
        let at = times.partition_point(|t| *t < time - 1e-9).min(states.len() - 1);
        model.body_frames(&states[at], &mut frames);
        let mut canvas = Canvas::new(look);
        for ((body, parts), frame) in model.bodies().iter().zip(&parts).zip(&frames) {
            for (x_bg, part) in parts {
                canvas.mesh(part, &(frame.pose * *x_bg), |point| (look.colour)(&body.name, point));
            }
            for (_, middle, half) in look.drawn.iter().filter(|(name, ..)| *name == body.name) {
                canvas.mesh(&block(*middle, *half), &frame.pose, |_| DRAWN_COLOUR);
            }
        }
        canvas.rows().collect()
    };
    times.iter().map(&mut picture).collect()
}

/// A film of a motion from 0 to a time, in s, that plays over and over in its own time: an animated PNG.
pub fn played(
    model: &Model,
    trajectory: &Trajectory,
    until: f64,
    look: &Look,
) -> Result<Vec<u8>, Box<dyn Error>> {
    let times: Vec<f64> = (0..(RATE * until).round() as usize).map(|k| k as f64 / RATE).collect();
    let pictures = pictures(model, trajectory, &times, look);
    let first = pictures.first().ok_or("a film needs times")?;
    let mut bytes = Vec::new();
    let (height, width) = (first.len(), first[0].len() / 3);
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::High);
    encoder.set_animated(pictures.len() as u32, 0)?;
    encoder.set_frame_delay(1, RATE as u16)?;
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&first.concat())?;
    for pair in pictures.windows(2) {
        // The rectangle in which a frame differs from the one before, of a pixel at least.
        let differs = |row: usize, column: usize| {
            let pixel = 3 * column..3 * column + 3;
            pair[0][row][pixel.clone()] != pair[1][row][pixel]
        };
        let mut rows = (0..height).filter(|row| pair[0][*row] != pair[1][*row]);
        let top = rows.next().unwrap_or(0);
        let bottom = rows.next_back().unwrap_or(top);
        let mut columns = (0..width).filter(|column| (top..=bottom).any(|row| differs(row, *column)));
        let left = columns.next().unwrap_or(0);
        let right = columns.next_back().unwrap_or(left);
        writer.reset_frame_position()?;
        writer.set_frame_dimension((right + 1 - left) as u32, (bottom + 1 - top) as u32)?;
        writer.set_frame_position(left as u32, top as u32)?;
        let part: Vec<u8> =
            (top..=bottom).flat_map(|row| &pair[1][row][3 * left..3 * right + 3]).copied().collect();
        writer.write_image_data(&part)?;
    }
    writer.finish()?;
    Ok(bytes)
}
