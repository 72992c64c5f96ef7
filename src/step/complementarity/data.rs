//! What the equations of a step are made of, in any scalar.

use nalgebra::{Matrix3, Vector3};

use super::dynamics::{BODY, BodyStep};
use super::joints::{JointStep, LawPoint};
use crate::contact::{Collider, FeaturePair, LocalGap, combine_ellipsoids, combine_friction};
use crate::multibody::tree::Workspace;
use crate::multibody::{Body, Forces, GeometryPair, Model, Motion, State, contact_collider};
use crate::scalar::Scalar;
use crate::spatial::{RigidTransform, SpatialVelocity};

/// What may be left of each equation, in parts of the scales.
pub(super) const RESIDUAL: f64 = 1e-11;

/// A contact by its pair of geometries (an index in [`Model::pairs`]) and the features that come near.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FoundContact {
    pub pair: usize,
    pub features: FeaturePair,
}

/// A body during the step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<T = f64> {
    /// A free body, by its index among them.
    Free(usize),
    /// A link, by its index in the mechanism.
    Link(usize),
    /// One that does not move over the step, with its velocity as of a belt.
    Fixed(RigidTransform<T>, SpatialVelocity<T>),
}

/// Features that may touch.
#[derive(Clone, Debug)]
pub(super) struct Contact<T = f64> {
    /// The patch that it is part of.
    pub patch: usize,
    /// The first of several points of one body over the same plane of the other, with which this one shares its normal; its own index
    /// otherwise.
    pub normal_of: usize,
    pub gap: LocalGap<T>,
}

/// The contacts of two geometries along one normal, which share their friction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patch<T = f64> {
    /// Index in [`Model::pairs`].
    pub pair: usize,
    /// Bodies A and B by their indices in the model.
    pub bodies: [usize; 2],
    pub friction: T,
    /// e_t, e_o and e_r of the friction ellipsoid.
    pub ellipsoid: [T; 3],
    /// The x and y axes of B's geometry in B's axes, or its z and x axes around a surface of revolution: t is along the first one.
    pub axes: [Vector3<T>; 2],
}

/// What velocities, impulses and lengths are measured in, so that the equations are of one size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scales {
    pub velocity: f64,
    /// The velocity that distances over the step are measured in: more than the other where rounding of positions would
    /// be more than [`RESIDUAL`] of it.
    pub approach: f64,
    pub impulse: f64,
    pub length: f64,
}

/// The numbers of a step.
#[derive(Clone, Debug)]
pub(super) struct StepData<T = f64> {
    pub dt: T,
    pub scales: Scales,
    pub bodies: Vec<BodyStep<T>>,
    /// The joints, if there are any (boxed, as most scenes have none to be copied with). Their velocities come after those of the bodies.
    pub joints: Option<Box<JointStep<T>>>,
    pub places: Vec<Place<T>>,
    pub contacts: Vec<Contact<T>>,
    pub patches: Vec<Patch<T>>,
}

impl<T: Scalar> StepData<T> {
    /// The numbers of the bodies; there are no contacts yet.
    pub fn new(
        model: &Model<T>,
        state: &State<T>,
        forces: &Forces<T>,
        commands: &[T],
        dt: T,
        laws: &LawPoint,
    ) -> Self {
        let free = model.free_bodies().zip(&state.bodies).zip(&forces.bodies);
        let bodies: Vec<_> =
            free.map(|(((_, _, mass), body), f)| BodyStep::new(mass, model.gravity(), body, f, dt)).collect();
        let mut next = 0;
        let place = |body: &Body<T>| match &body.motion {
            Motion::Fixed { x_wb, v_wb } => Place::Fixed(*x_wb, *v_wb),
            Motion::Link { link } => Place::Link(*link),
            Motion::Free { .. } => {
                next += 1;
                Place::Free(next - 1)
            }
        };
        let places = model.bodies().iter().map(place).collect();
        let has_joints = model.mechanism().velocity_dimension() > 0;
        let joints = has_joints.then(|| Box::new(JointStep::new(model, state, forces, commands, dt, laws)));
        let scales = Scales::of(&bodies, joints.as_deref(), model, dt.real());
        Self { dt, scales, bodies, joints, places, contacts: Vec::new(), patches: Vec::new() }
    }

    /// The step with a part of the velocities without contact.
    pub fn part(&self, part: f64) -> Self {
        let bodies = self.bodies.iter().map(|body| body.part(part)).collect();
        let joints = self.joints.as_ref().map(|joints| Box::new(joints.part(part)));
        Self { bodies, joints, ..self.clone() }
    }

    /// Takes contacts in the place of those that were there.
    pub fn set_contacts(&mut self, model: &Model<T>, found: &[FoundContact]) {
        self.contacts.clear();
        self.patches.clear();
        // The first contact of each patch.
        let mut firsts: Vec<&FoundContact> = Vec::new();
        let mut last: Option<&FoundContact> = None;
        for (k, contact) in found.iter().enumerate() {
            let pair = &model.pairs[contact.pair];
            let [a, b] = geometries(model, pair);
            let is_of = |first: &&FoundContact| {
                first.pair == contact.pair && first.features.is_of_one_patch(&contact.features)
            };
            let of = firsts.iter().position(is_of).unwrap_or_else(|| {
                firsts.push(contact);
                self.patches.push(patch(model, contact));
                firsts.len() - 1
            });
            let gap = contact.features.prepare((&a.0, &a.1), (&b.0, &b.1));
            let shares = |last: &FoundContact| {
                last.pair == contact.pair && contact.features.are_over_one_plane(&last.features)
            };
            let normal_of = if last.is_some_and(shares) { self.contacts[k - 1].normal_of } else { k };
            self.contacts.push(Contact { patch: of, normal_of, gap });
            last = Some(contact);
        }
    }

    /// The number of velocity coordinates of joints.
    pub fn joint_count(&self) -> usize {
        self.joints.as_ref().map_or(0, |joints| joints.turns.len())
    }

    /// The number of velocities: six of each free body, and those of the joints.
    pub fn velocity_count(&self) -> usize {
        BODY * self.bodies.len() + self.joint_count()
    }

    /// Whether a velocity is an angular one.
    pub fn is_turn(&self, velocity: usize) -> bool {
        match velocity.checked_sub(BODY * self.bodies.len()) {
            Some(joint) => self.joints.as_ref().is_some_and(|joints| joints.turns[joint]),
            None => velocity % BODY < 3,
        }
    }

    /// Adds the generalized forces on the joints of a force at a point on body A and against it on B, and of a torque, with
    /// the links where they are.
    pub fn add_generalized_forces(
        &self,
        links: &Workspace<T>,
        bodies: [usize; 2],
        at: &Vector3<T>,
        [force, torque]: [&Vector3<T>; 2],
        along: &mut [T],
    ) {
        let Some(joints) = &self.joints else { return };
        for (body, sign) in bodies.into_iter().zip([1.0, -1.0]) {
            let Place::Link(link) = self.places[body] else { continue };
            for (k, column) in links.jacobian_columns_at(&joints.mechanism, link, at) {
                let work = column.rotational.dot(torque) + column.translational.dot(force);
                along[k] += work * T::from(sign);
            }
        }
    }

    /// Writes what is left of the balance of momentum, of size 1, with velocities and the momentum that contacts give.
    pub fn momentum_balance(&self, velocities: &[T], momentum: &[T], out: &mut [T]) {
        let of_shift = T::from(1.0 / self.scales.impulse);
        let of_turn = of_shift * T::from(1.0 / self.scales.length);
        for (i, body) in self.bodies.iter().enumerate() {
            let at = BODY * i;
            let change = |k: usize| velocities[at + k] - body.free[k / 3][k % 3];
            let turn = body.inertia * Vector3::new(change(0), change(1), change(2));
            for k in 0..3 {
                out[at + k] = (turn[k] - momentum[at + k]) * of_turn;
                out[at + 3 + k] = (body.mass * change(3 + k) - momentum[at + 3 + k]) * of_shift;
            }
        }
        if let Some(joints) = &self.joints {
            let first = BODY * self.bodies.len();
            for (k, turns) in joints.turns.iter().enumerate() {
                let left = joints.balance(k, &velocities[first..], momentum[first + k]);
                out[first + k] = left * if *turns { of_turn } else { of_shift };
            }
        }
    }
}

impl StepData {
    /// The velocities of free bodies and joints without contact.
    pub fn free_velocities(&self) -> Vec<f64> {
        let of_bodies = self.bodies.iter().flat_map(|b| [b.free[0], b.free[1]]).flat_map(|v| [v.x, v.y, v.z]);
        of_bodies.chain(self.joints.iter().flat_map(|joints| joints.free.iter().copied())).collect()
    }

    /// A patch with some of its contacts between its two bodies alone, as if they had no mass, and those of them that are free; there are no
    /// joints.
    pub fn of_patch(&self, patch: usize, contacts: &[usize]) -> (Self, Vec<usize>) {
        let own = &self.patches[patch];
        let (mut bodies, mut free) = (Vec::new(), Vec::new());
        let places = own.bodies.map(|body| match self.places[body] {
            Place::Free(index) => {
                let mut body = self.bodies[index];
                (body.mass, body.inertia) = (0.0, Matrix3::zeros());
                bodies.push(body);
                free.push(index);
                Place::Free(bodies.len() - 1)
            }
            place => place,
        });
        let normal_of = |k: usize| self.contacts[k].normal_of;
        let contact = |(at, &k): (usize, &usize)| {
            let first = contacts[..at].iter().position(|&other| normal_of(other) == normal_of(k));
            Contact { patch: 0, normal_of: first.unwrap_or(at), gap: self.contacts[k].gap.clone() }
        };
        let part = Self {
            bodies,
            joints: None,
            places: places.to_vec(),
            contacts: contacts.iter().enumerate().map(contact).collect(),
            patches: vec![Patch { bodies: [0, 1], ..*own }],
            ..*self
        };
        (part, free)
    }

    /// The same numbers of another scalar.
    pub fn map<U: Scalar>(&self, f: impl Fn(f64) -> U + Copy) -> StepData<U> {
        let v = |x: &Vector3<f64>| x.map(f);
        let place = |place: &Place| match place {
            Place::Free(index) => Place::Free(*index),
            Place::Link(link) => Place::Link(*link),
            Place::Fixed(x, velocity) => Place::Fixed(
                RigidTransform::new(x.rotation.map(f), v(&x.translation)),
                SpatialVelocity::new(v(&velocity.rotational), v(&velocity.translational)),
            ),
        };
        let patch = |p: &Patch| Patch {
            pair: p.pair,
            bodies: p.bodies,
            friction: f(p.friction),
            ellipsoid: p.ellipsoid.map(f),
            axes: [v(&p.axes[0]), v(&p.axes[1])],
        };
        StepData {
            dt: f(self.dt),
            scales: self.scales,
            bodies: self.bodies.iter().map(|body| body.map(f)).collect(),
            joints: self.joints.as_ref().map(|joints| Box::new(joints.map(f))),
            places: self.places.iter().map(place).collect(),
            contacts: self
                .contacts
                .iter()
                .map(|c| Contact { patch: c.patch, normal_of: c.normal_of, gap: c.gap.map(f) })
                .collect(),
            patches: self.patches.iter().map(patch).collect(),
        }
    }
}

/// By how many units of rounding of a position a distance may be off.
const ROUNDINGS: f64 = 8.0;

impl Scales {
    fn of<T: Scalar>(
        bodies: &[BodyStep<T>],
        joints: Option<&JointStep<T>>,
        model: &Model<T>,
        dt: f64,
    ) -> Self {
        let gyration = |inertia: T, mass: T| (inertia.real() / (3.0 * mass.real())).sqrt();
        let of_bodies = bodies.iter().map(|b| [b.mass.real(), gyration(b.inertia.trace(), b.mass)]);
        let of_links = model.mechanism().bodies().iter().filter_map(|link| {
            let mass = link.mass.as_ref().filter(|mass| link.joint.is_some() && mass.mass.real() > 0.0)?;
            Some([mass.mass.real(), gyration(mass.inertia.trace(), mass.mass)])
        });
        let all: Vec<[f64; 2]> = of_bodies.chain(of_links).collect();
        let mean = |k: usize| all.iter().map(|of| of[k]).sum::<f64>() / all.len().max(1) as f64;
        let (mass, length) = (mean(0), mean(1));
        let speed = |b: &BodyStep<T>| {
            b.free[1].map(|x| x.real()).norm() + b.free[0].map(|x| x.real()).norm() * length
        };
        let fastest = bodies.iter().map(speed).fold(0.0, f64::max);
        let of_joints = joints.iter().flat_map(|joints| joints.free.iter().zip(joints.turns.iter()));
        let fastest = of_joints
            .fold(fastest, |most: f64, (v, turns)| most.max(v.abs() * if *turns { length } else { 1.0 }));
        let velocity = model.gravity().map(|x| x.real()).norm() * dt + fastest;
        let or_one = |x: f64| if x > 0.0 && x.is_finite() { x } else { 1.0 };
        let (velocity, mass, length) = (or_one(velocity), or_one(mass), or_one(length));
        let farthest = bodies.iter().map(|b| b.center.map(|x| x.real()).norm()).fold(length, f64::max);
        let approach = velocity.max(ROUNDINGS * f64::EPSILON / RESIDUAL * farthest / dt);
        Self { velocity, approach, impulse: mass * velocity, length }
    }
}

/// The two geometries of a pair, with the materials that they touch with, and their poses on their bodies.
pub(super) fn geometries<T: Scalar>(
    model: &Model<T>,
    pair: &GeometryPair,
) -> [(Collider<T>, RigidTransform<T>); 2] {
    let a = &model.bodies()[pair.bodies.a].geometries[pair.geometry_a];
    let b = &model.bodies()[pair.bodies.b].geometries[pair.geometry_b];
    [(contact_collider(a, b), a.x_bg), (contact_collider(b, a), b.x_bg)]
}

fn patch<T: Scalar>(model: &Model<T>, first: &FoundContact) -> Patch<T> {
    let pair = first.pair;
    let of = &model.pairs[pair];
    let [(a, _), (b, x_bg)] = geometries(model, of);
    let (one, other) = (&a.material, &b.material);
    let friction = combine_friction(one.dynamic_friction, other.dynamic_friction);
    Patch {
        pair,
        bodies: [of.bodies.a, of.bodies.b],
        friction,
        ellipsoid: combine_ellipsoids(&one.friction_ellipsoid, &other.friction_ellipsoid),
        axes: patch_axes(&x_bg, &first.features),
    }
}

/// The axes x and y of a geometry in those of its body; z and x where features are around its axis, so that the tangents go
/// around with them.
pub(super) fn patch_axes<T: Scalar>(x_bg: &RigidTransform<T>, features: &FeaturePair) -> [Vector3<T>; 2] {
    let axes = if features.is_around_axis() { [2, 0] } else { [0, 1] };
    axes.map(|axis| x_bg.rotation.column(axis).into_owned())
}
