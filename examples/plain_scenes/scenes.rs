//! Random scenes of what everybody tries first.

use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

/// A random scene.
#[derive(Clone)]
pub struct Plain {
    /// The scene file.
    pub scene: Value,
    /// How its bodies are arranged.
    pub arrangement: &'static str,
    /// How high bodies are dropped from, m, and how large they are, m.
    pub drop: f64,
    pub size: f64,
    /// Whether all bodies lie flat from the start.
    pub rests: bool,
}

fn pick<T: Copy>(random: &mut ChaCha8Rng, from: &[T]) -> T {
    *from.choose(random).expect("something to choose from")
}

/// A number between two, evenly by its logarithm.
fn log_uniform(random: &mut ChaCha8Rng, low: f64, high: f64) -> f64 {
    (random.random_range(low.ln()..high.ln())).exp()
}

/// A box on its lowest face as a grid of cubes with six tetrahedra each.
fn grid(size: [f64; 3], cells: [usize; 3], extent: &str) -> Value {
    let [nx, ny, nz] = cells;
    let index = |x: usize, y: usize, z: usize| (z * (ny + 1) + y) * (nx + 1) + x;
    let mut vertices = Vec::new();
    for z in 0..=nz {
        for y in 0..=ny {
            for x in 0..=nx {
                let at = |i: usize, n: usize, length: f64| i as f64 / n as f64 * length;
                vertices.push([
                    at(x, nx, size[0]) - 0.5 * size[0],
                    at(y, ny, size[1]) - 0.5 * size[1],
                    at(z, nz, size[2]),
                ]);
            }
        }
    }
    let mut tetrahedra = Vec::new();
    for (x, y, z) in (0..nx * ny * nz).map(|i| (i % nx, i / nx % ny, i / nx / ny)) {
        let corner = |k: usize| index(x + (k & 1), y + (k >> 1 & 1), z + (k >> 2));
        for [a, b] in [[1, 3], [3, 2], [2, 6], [6, 4], [4, 5], [5, 1]] {
            tetrahedra.push([corner(0), corner(a), corner(b), corner(7)]);
        }
    }
    json!({"volume_mesh": {"vertices": vertices, "tetrahedra": tetrahedra, "extent": extent,
        "split_zero_gradient": true}})
}

/// An L of two plates on its foot.
fn bracket(width: f64, thickness: f64, depth: f64) -> Value {
    let outline = [
        (0.0, 0.0),
        (width, 0.0),
        (width, thickness),
        (thickness, thickness),
        (thickness, width),
        (0.0, width),
    ];
    let vertices: Vec<[f64; 3]> =
        [0.0, depth].into_iter().flat_map(|y| outline.map(|(x, z)| [x, y, z])).collect();
    let mut triangles = Vec::new();
    for [a, b, c] in [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]] {
        triangles.push([a, b, c]);
        triangles.push([6 + c, 6 + b, 6 + a]);
    }
    for i in 0..6 {
        let j = (i + 1) % 6;
        triangles.push([i, 6 + i, j]);
        triangles.push([j, 6 + i, 6 + j]);
    }
    json!({"surface_mesh": {"vertices": vertices, "triangles": triangles}})
}

/// A flat-faced shape of about this size, the height of its frame above its lowest face, and its height.
fn shape(random: &mut ChaCha8Rng, s: f64) -> (Value, f64, f64) {
    match random.random_range(0..7) {
        0 => {
            let h = s * random.random_range(0.3..1.5);
            let size = [s * random.random_range(0.6..1.4), s * random.random_range(0.6..1.4), h];
            (json!({"box": {"size": size}}), 0.5 * h, h)
        }
        1 => {
            let h = s * random.random_range(0.3..1.2);
            let resolution = s * pick(random, &[0.25, 0.1, 0.05]);
            (json!({"cylinder": {"radius": 0.5 * s, "length": h, "resolution": resolution}}), 0.5 * h, h)
        }
        2 => (bracket(s, 0.2 * s, 0.6 * s), 0.0, s),
        3 => {
            let corner = |k: usize| std::f64::consts::PI / 3.0 * k as f64;
            let points: Vec<[f64; 3]> = (0..12)
                .map(|k| {
                    [0.5 * s * corner(k / 2).cos(), 0.5 * s * corner(k / 2).sin(), 0.5 * s * (k % 2) as f64]
                })
                .collect();
            (json!({"convex": {"points": points}}), 0.0, 0.5 * s)
        }
        4 => {
            let h = 0.5 * s;
            let points = [[-h, -h, 0.0], [h, -h, 0.0], [h, h, 0.0], [-h, h, 0.0], [0.0, 0.0, 0.7 * s]];
            (json!({"convex": {"points": points}}), 0.0, 0.7 * s)
        }
        _ => {
            let h = s * random.random_range(0.3..1.2);
            let n = pick(random, &[2, 3, 5, 9]);
            let cells = [n, n, (n / 2).max(2)];
            (grid([s, s, h], cells, pick(random, &["distance", "laplace"])), 0.0, h)
        }
    }
}

impl Plain {
    /// Whether Drake has all that is in it.
    #[allow(dead_code, reason = "tests take the scenes too")]
    pub fn is_in_drake(&self) -> bool {
        let contact = &self.scene["contact"];
        let text = self.scene["bodies"].to_string();
        let lacks = ["volume_mesh", "surface_mesh", "pressure_law", "\"thickness\""];
        let absent = lacks.iter().any(|key| text.contains(key)) || self.scene["solver"]["kind"] == "tamsi";
        contact.get("skirt").is_none() && contact.get("bristle_length").is_none() && !absent
    }

    pub fn random(random: &mut ChaCha8Rng) -> Self {
        let kind = pick(random, &["lagged", "similar", "tamsi", "sap"]);
        let time_step = pick(random, &[1e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2]);
        let modulus = log_uniform(random, 1e5, 1e9);
        // Without dissipation soft bodies go on vibrating.
        let dissipation = pick(random, &[0.1, 0.5, 1.0, 3.0]);
        let size = log_uniform(random, 0.015, 0.2);
        let density = pick(random, &[300.0, 1000.0, 2700.0]);
        let arrangement = pick(random, &["one", "one", "one", "one", "two", "five", "leaning"]);
        let drop = pick(random, &[0.0, 0.0, 1.0]) * random.random_range(0.0..0.3);
        let tilt = pick(random, &[0.0, 0.0, 1.0]) * random.random_range(0.003..0.05);
        let material = json!({"hydroelastic_modulus": modulus, "dissipation": dissipation, "relaxation_time": 0.01,
            "friction": 0.5});
        let stiffer = json!({"hydroelastic_modulus": 10.0 * modulus, "dissipation": dissipation,
            "relaxation_time": 0.01, "friction": 0.5});
        let skirt = pick(random, &[0.0, 0.0, 0.0, 0.005]) * size;
        let bristles = kind == "lagged" && random.random_bool(0.2);
        let law = random.random_bool(0.1).then(|| json!({"power": {"exponent": 2.0, "layers": 2}}));
        let mut contact = json!({"surface": pick(random, &["triangles", "polygons"])});
        if bristles {
            contact["bristle_length"] = json!(1e-6);
        }
        if skirt > 0.0 {
            contact["skirt"] = json!(skirt);
        }
        let mut bodies = Vec::new();
        let number = match arrangement {
            "two" => 2,
            "five" => 5,
            _ => 1,
        };
        let mut top = 0.0;
        for i in 0..number {
            let (shape, below, height) = match number {
                1 => shape(random, size),
                // Only flat tops carry another body.
                _ if i + 1 < number => {
                    let h = size * random.random_range(0.3..0.8);
                    (json!({"box": {"size": [size, size, h]}}), 0.5 * h, h)
                }
                _ => shape(random, 0.8 * size),
            };
            let mut geometry = json!({"shape": shape, "material": "m"});
            if let (Some(law), true) = (&law, number == 1) {
                geometry["pressure_law"] = law.clone();
            }
            // Skirts that overlap at the start store energy. Where a field's slope differs along the boundary, as Laplace's
            // does, they reach farther than their thickness.
            let apart = 10.0 * skirt * (1.0 + i as f64);
            let (tilt, lift) = if number == 1 {
                (tilt, drop + 2.0 * size * tilt + apart)
            } else {
                (0.0, drop * (1.0 + i as f64) + apart)
            };
            // A bracket's foot is not about its frame.
            let turn = if number == 1 { random.random_range(0.0..3.0) } else { 0.0 };
            let mut at = [0.0, 0.0, top + below + lift];
            let mut rpy = [tilt, 0.3 * tilt, turn];
            if arrangement == "leaning" {
                rpy = [0.0, random.random_range(0.1..0.6), 0.0];
                at[2] += size;
            }
            bodies.push(json!({"name": format!("b{i}"), "translation": at, "rpy": rpy, "density": density,
                "geometries": [geometry]}));
            top += height;
        }
        let floor = match random.random_range(0..8) {
            0 | 1 => json!({"shape": {"half_space": {"thickness": 0.1}}, "material": "f"}),
            2 => json!({"shape": {"box": {"size": [2.0, 2.0, 0.2]}}, "material": "f", "rigid": true,
                "translation": [0.0, 0.0, -0.1]}),
            _ => json!({"shape": {"half_space": {}}, "material": "f", "rigid": true}),
        };
        bodies.push(json!({"name": "floor", "fixed": true, "geometries": [floor]}));
        let scene = json!({"materials": {"m": material, "f": stiffer},
            "solver": {"kind": kind, "time_step": time_step}, "contact": contact, "bodies": bodies});
        let rests = drop + skirt == 0.0 && (tilt == 0.0 || number > 1) && arrangement != "leaning";
        let height = if arrangement == "leaning" { size } else { drop + 2.0 * size * tilt + 10.0 * skirt };
        Self { scene, arrangement, drop: height, size, rests }
    }
}
