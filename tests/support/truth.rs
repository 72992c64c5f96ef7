//! States of two bodies, their inputs one by one, and differences of what a contact query gives.

#![allow(dead_code, reason = "each test crate uses a part of it")]

use isobar::contact::{
    Collider, ContactJacobian, ContactPair, ContactSettings, DissipationModel, SurfaceRepresentation,
    Workspace, contact, for_each_face,
};
use isobar::geometry::VolumeMesh;
use isobar::spatial::{RigidTransform, SpatialVelocity};
use nalgebra::{Matrix3, Vector3};
use rand_chacha::ChaCha8Rng;

use crate::common::{Field, random_in_ball, random_pose};

/// Modulus of every compliant body unless a test says otherwise, Pa.
pub const MODULUS: f64 = 1e5;

/// An octahedron whose triangles are divided in four `level` times, on a sphere; level 2 has the
/// 128 triangles of Drake's sphere of radius 0.1 m and resolution 0.07 m.
pub fn octasphere(radius: f64, level: u32) -> Field {
    let axes = [Vector3::x(), Vector3::y(), Vector3::z()];
    let mut triangles: Vec<[Vector3<f64>; 3]> = Vec::new();
    for i in 0..8 {
        let sign = |k: usize| if i >> k & 1 == 0 { 1.0 } else { -1.0 };
        let v = [axes[0] * sign(0), axes[1] * sign(1), axes[2] * sign(2)];
        triangles.push(if sign(0) * sign(1) * sign(2) > 0.0 { v } else { [v[0], v[2], v[1]] });
    }
    for _ in 0..level {
        triangles = triangles
            .iter()
            .flat_map(|&[a, b, c]| {
                let [ab, bc, ca] = [(a + b).normalize(), (b + c).normalize(), (c + a).normalize()];
                [[a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]]
            })
            .collect();
    }
    // The centre comes first.
    let mut vertices = vec![Vector3::zeros()];
    let mut name = |x: &Vector3<f64>| {
        let found = vertices.iter().position(|v| (v - x).norm() < 1e-9);
        found.unwrap_or_else(|| {
            vertices.push(*x);
            vertices.len() - 1
        }) as u32
    };
    let tetrahedra = triangles.iter().map(|[a, b, c]| [name(a), name(c), name(b), 0]).collect();
    let mut extent = vec![0.0; vertices.len()];
    extent[0] = 1.0;
    for v in &mut vertices {
        *v *= radius;
    }
    (VolumeMesh { vertices, tetrahedra }, extent)
}

/// A box whose extent is the distance to its surface over the largest one: its 8 corners and
/// those of its medial axis (a rectangle, or one point if the box is a cube).
pub fn medial_box(size: [f64; 3]) -> Field {
    let half = Vector3::from(size) * 0.5;
    let corner = |inset: f64, i: usize| {
        Vector3::from_fn(|k, _| (half[k] - inset) * if i >> k & 1 == 1 { 1.0 } else { -1.0 })
    };
    let mut vertices: Vec<_> = (0..8).map(|i| corner(0.0, i)).collect();
    let medial: Vec<u32> = (0..8)
        .map(|i| {
            let x = corner(half.min(), i);
            let found = vertices.iter().position(|y| (y - x).norm() < 1e-9 * half.norm());
            found.unwrap_or_else(|| {
                vertices.push(x);
                vertices.len() - 1
            }) as u32
        })
        .collect();
    let mut tetrahedra = Vec::new();
    for axis in 0..3 {
        for side in 0..2u32 {
            let at = |i: u32, j: u32| side << axis | i << ((axis + 1) % 3) | j << ((axis + 2) % 3);
            // Two prisms between the face and its image on the medial axis, each cut along the
            // order of its corners, on which neighbours agree.
            for mut face in [[at(0, 0), at(1, 0), at(1, 1)], [at(0, 0), at(1, 1), at(0, 1)]] {
                face.sort();
                let [a, b, c] = face;
                let [p, q, r] = face.map(|k| medial[k as usize]);
                for t in [[a, b, c, r], [a, b, q, r], [a, p, q, r]] {
                    let [w, x, y, z] = t.map(|k| vertices[k as usize]);
                    let six_volume = (x - w).cross(&(y - w)).dot(&(z - w));
                    if six_volume > 1e-9 * half.min().powi(3) {
                        tetrahedra.push(t);
                    } else if six_volume < -1e-9 * half.min().powi(3) {
                        tetrahedra.push([t[0], t[2], t[1], t[3]]);
                    }
                }
            }
        }
    }
    let extent = (0..vertices.len()).map(|i| if i < 8 { 0.0 } else { 1.0 }).collect();
    (VolumeMesh { vertices, tetrahedra }, extent)
}

/// Two bodies in a state: all that a contact query takes.
#[derive(Clone)]
pub struct State {
    pub a: Collider,
    pub b: Collider,
    pub x_wa: RigidTransform,
    pub x_wb: RigidTransform,
    pub v_wa: SpatialVelocity,
    pub v_wb: SpatialVelocity,
    /// Length of the bodies, m: the unit of translations.
    pub length: f64,
}

/// What a state is moved in. Units: radians, lengths of the bodies, m/s, the logarithms of the
/// moduli, s/m (or 1/(Pa/s) × `MODULUS` in the strain-rate form), 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Input {
    RotationA(usize),
    TranslationA(usize),
    RotationB(usize),
    TranslationB(usize),
    AngularA(usize),
    LinearA(usize),
    AngularB(usize),
    LinearB(usize),
    ModulusA,
    ModulusB,
    Dissipation,
    StaticFriction,
    DynamicFriction,
    Own(usize),
}

/// Torque about A's origin, force, and area.
pub type Output = [f64; 7];
/// The elements of A and B of each polygon and its number of vertices.
pub type FaceSet = Vec<[u32; 3]>;

/// The rows of [`Output`]: torque, force, area.
pub const ROWS: [(usize, usize); 3] = [(0, 3), (3, 6), (6, 7)];

impl State {
    pub fn at_rest(a: &Collider, b: &Collider, x_wa: RigidTransform, x_wb: RigidTransform) -> Self {
        let (a, b) = (a.clone(), b.clone());
        let v = SpatialVelocity::zero();
        Self { a, b, x_wa, x_wb, v_wa: v, v_wb: v, length: 0.1 }
    }

    pub fn pair(&self) -> ContactPair<'_> {
        ContactPair {
            a: &self.a,
            x_wa: self.x_wa,
            v_wa: self.v_wa,
            b: &self.b,
            x_wb: self.x_wb,
            v_wb: self.v_wb,
        }
    }

    /// The state moved by `h` in one input.
    pub fn moved(&self, input: Input, h: f64, settings: &ContactSettings) -> Self {
        let mut s = self.clone();
        let zero = Vector3::zeros();
        let unit = |k: usize, h: f64| Vector3::ith(k, h);
        let l = self.length;
        match input {
            Input::RotationA(k) => s.x_wa = s.x_wa.moved(&unit(k, h), &zero),
            Input::TranslationA(k) => s.x_wa = s.x_wa.moved(&zero, &unit(k, h * l)),
            Input::RotationB(k) => s.x_wb = s.x_wb.moved(&unit(k, h), &zero),
            Input::TranslationB(k) => s.x_wb = s.x_wb.moved(&zero, &unit(k, h * l)),
            Input::AngularA(k) => s.v_wa.rotational[k] += h,
            Input::LinearA(k) => s.v_wa.translational[k] += h,
            Input::AngularB(k) => s.v_wb.rotational[k] += h,
            Input::LinearB(k) => s.v_wb.translational[k] += h,
            Input::ModulusA => s.a.material.hydroelastic_modulus *= 1.0 + h,
            Input::ModulusB => s.b.material.hydroelastic_modulus *= 1.0 + h,
            Input::Dissipation => match settings.dissipation_model {
                DissipationModel::HuntCrossley => {
                    s.a.material.dissipation += h;
                    s.b.material.dissipation += h;
                }
                DissipationModel::StrainRate => {
                    // Their sum of χ/E, through a body that is not rigid.
                    let c = if s.a.geometry.is_rigid() { &mut s.b } else { &mut s.a };
                    c.material.dissipation += h * c.material.hydroelastic_modulus / MODULUS;
                }
                other => panic!("nothing is known of {other:?}"),
            },
            Input::StaticFriction => {
                s.a.material.static_friction += h;
                s.b.material.static_friction += h;
            }
            Input::DynamicFriction => {
                s.a.material.dynamic_friction += h;
                s.b.material.dynamic_friction += h;
            }
            Input::Own(k) => {
                s.a.material.own[k] += h;
                s.b.material.own[k] += h;
            }
        }
        s
    }

    /// Torque, force and area, zero where the bodies do not touch.
    pub fn output(&self, settings: &ContactSettings, workspace: &mut Workspace) -> Output {
        match contact(&self.pair(), settings, workspace).expect("a pair that can touch") {
            Some(p) => {
                let (m, f) = (p.wrench_on_a.rotational, p.wrench_on_a.translational);
                [m.x, m.y, m.z, f.x, f.y, f.z, p.area]
            }
            None => [0.0; 7],
        }
    }

    pub fn face_set(&self, settings: &ContactSettings, workspace: &mut Workspace) -> FaceSet {
        let settings = ContactSettings { surface: SurfaceRepresentation::Triangles, ..*settings };
        let mut set = FaceSet::new();
        for_each_face(&self.pair(), &settings, workspace, |face| {
            let [a, b] = face.elements;
            match set.last_mut() {
                Some(last) if last[..2] == [a, b] => last[2] += 1,
                _ => set.push([a, b, 1]),
            }
        });
        // Which body the query runs in, and so the order, depends on the moduli.
        set.sort_unstable();
        set
    }

    /// Sizes of the torque, the force and the area that a relative error is told from zero by.
    pub fn scale(&self, output: &Output) -> [f64; 3] {
        let force = Vector3::new(output[3], output[4], output[5]).norm();
        [force * self.length, force, output[6]]
    }

    /// The derivative with respect to an input (in its units) that a [`ContactJacobian`] states. The
    /// area's is NaN for inputs that it is not given by.
    pub fn exact(&self, j: &ContactJacobian, input: Input, settings: &ContactSettings) -> Output {
        let (wrench, area) = match input {
            Input::RotationA(k) => (j.by_pose_a.column(k).into_owned(), j.area_by_pose_a[k]),
            Input::TranslationA(k) => {
                (j.by_pose_a.column(3 + k) * self.length, j.area_by_pose_a[3 + k] * self.length)
            }
            Input::RotationB(k) => (j.by_pose_b.column(k).into_owned(), f64::NAN),
            Input::TranslationB(k) => (j.by_pose_b.column(3 + k) * self.length, f64::NAN),
            Input::AngularA(k) => (j.by_velocity_a.column(k).into_owned(), 0.0),
            Input::LinearA(k) => (j.by_velocity_a.column(3 + k).into_owned(), 0.0),
            Input::AngularB(k) => (j.by_velocity_b.column(k).into_owned(), 0.0),
            Input::LinearB(k) => (j.by_velocity_b.column(3 + k).into_owned(), 0.0),
            Input::ModulusA => {
                let e = self.a.material.hydroelastic_modulus;
                (j.by_modulus_a * e, j.area_by_modulus_a * e)
            }
            Input::ModulusB => {
                let e = self.b.material.hydroelastic_modulus;
                (j.by_modulus_b * e, j.area_by_modulus_b * e)
            }
            Input::Dissipation => match settings.dissipation_model {
                DissipationModel::HuntCrossley => (j.by_parameters.dissipation, 0.0),
                DissipationModel::StrainRate => (j.by_parameters.dissipation / MODULUS, 0.0),
                other => panic!("nothing is known of {other:?}"),
            },
            Input::StaticFriction => (j.by_parameters.static_friction, 0.0),
            Input::DynamicFriction => (j.by_parameters.dynamic_friction, 0.0),
            // The law combines the first of them in series, which halves it where both are the same.
            Input::Own(0) => (j.by_parameters.own[0] * 0.5, 0.0),
            Input::Own(k) => (j.by_parameters.own[k], 0.0),
        };
        let mut out = [area; 7];
        out[..6].copy_from_slice(wrench.as_slice());
        out
    }
}

pub fn subtract(a: &Output, b: &Output, by: f64) -> Output {
    std::array::from_fn(|i| (a[i] - b[i]) / by)
}

/// The length of some rows.
pub fn norm(x: &Output, rows: (usize, usize)) -> f64 {
    x[rows.0..rows.1].iter().map(|v| v * v).sum::<f64>().sqrt()
}

pub fn random_unit(rng: &mut ChaCha8Rng) -> Vector3<f64> {
    random_in_ball(rng).normalize()
}

/// A uniformly distributed rotation.
pub fn random_rotation(rng: &mut ChaCha8Rng) -> Matrix3<f64> {
    random_pose(rng, 0.0).rotation
}
