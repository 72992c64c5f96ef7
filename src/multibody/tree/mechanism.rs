//! The immutable description of a tree of bodies and joints.

use std::ops::Range;
use std::sync::Arc;

use nalgebra::Vector3;

use super::computed_torque::ComputedTorque;
use super::description::{JointLimits, JointSpring};
use super::joint::{JointFrame, JointKind};
use crate::scalar::Scalar;
use crate::spatial::{MassProperties, RigidTransform};

/// A body of a mechanism.
#[derive(Clone, Debug)]
pub struct Body<T = f64> {
    /// Its name.
    pub name: String,
    /// Index in [`Mechanism::bodies`] of the body it is jointed to; `None` for the world.
    pub parent: Option<usize>,
    /// The joint that carries it, itself or through fixed joints: its index in [`Mechanism::joints`].
    /// `None` where it is fixed to the world.
    pub joint: Option<usize>,
    /// Its pose in the frame M of that joint, or in W.
    pub x_mb: RigidTransform<T>,
    /// Its own mass properties, in its own frame; `None` without mass.
    pub mass: Option<MassProperties<T>>,
}

/// A joint of a mechanism that can move, with all bodies that are fixed to its child.
#[derive(Clone, Debug)]
pub struct Joint<T = f64> {
    /// Its name.
    pub name: String,
    /// How the child can move.
    pub kind: JointKind,
    /// The moving joint that carries this one: its index in [`Mechanism::joints`], less than this one's.
    /// `None` where it is fixed to the world.
    pub parent: Option<usize>,
    /// The child body: its index in [`Mechanism::bodies`].
    pub child: usize,
    /// Its limits.
    pub limits: JointLimits<T>,
    /// Viscous damping of each velocity coordinate, N m s/rad or N s/m.
    pub damping: T,
    /// Inertia of the rotor, added to each velocity coordinate, kg m² or kg.
    pub rotor_inertia: T,
    /// Its spring; without one the stiffness is 0.
    pub spring: JointSpring<T>,
    /// Coulomb friction: the largest force with which the joint resists sliding, N m or N. The force is
    /// −friction v/√(v² + stiction_velocity²); only joints with one coordinate have it.
    pub friction: T,
    /// The velocity at which the friction is regularized, rad/s or m/s.
    pub stiction_velocity: T,
    /// The joint that it follows, if it does. Then it has no coordinates of its own, and its friction,
    /// damping, rotor and spring are counted among those of that joint.
    pub follows: Option<Follows>,
    /// Its coordinates in `q`; none where it follows another joint.
    pub q: Range<usize>,
    /// Its coordinates in `v`; none where it follows another joint.
    pub v: Range<usize>,
    /// Its directions of motion among those of all joints: for each a column in the workspace.
    pub(super) columns: Range<usize>,
    /// The joints that it carries, itself included: their indices in [`Mechanism::joints`].
    pub subtree: Range<usize>,
    /// Mass properties in M of all bodies that move as one with the child.
    pub(super) composite: MassProperties<T>,
    /// Its constants, with F's pose in the frame M of the parent joint, or in W.
    pub(super) frame: JointFrame<T>,
}

impl<T: Scalar> Joint<T> {
    /// Pose of the joint's frame F in the frame M of the joint that carries it, or in W.
    pub fn x_pf(&self) -> &RigidTransform<T> {
        &self.frame.x_pf
    }
}

/// How a joint with one coordinate follows another: its position is `ratio` q + `offset`, with the
/// position q of the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Follows {
    /// The joint that it follows, which has a coordinate of its own: its index in [`Mechanism::joints`].
    pub joint: usize,
    /// Its velocity over that of the other joint.
    pub ratio: f64,
    /// Its position where the other joint is at 0, rad or m.
    pub offset: f64,
}

/// A tree of bodies of its own: all that one joint on the world carries, or several of which one
/// follows another. The mass matrix has one block for each.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree<T = f64> {
    /// Its joints, in [`Mechanism::joints`].
    pub joints: Range<usize>,
    /// Their velocity coordinates.
    pub v: Range<usize>,
    /// Whether its drives carry its weight, so that gravity does not act on it.
    pub is_weightless: bool,
    /// The law that its drives make its coordinates follow by computed torque, if they do.
    pub computed_torque: Option<ComputedTorque<T>>,
}

impl<T> Tree<T> {
    /// The same tree with its law in scalars of another kind.
    fn with_law<U>(&self, law: impl Fn(&ComputedTorque<T>) -> ComputedTorque<U>) -> Tree<U> {
        let Self { joints, v, is_weightless, computed_torque } = self;
        Tree {
            joints: joints.clone(),
            v: v.clone(),
            is_weightless: *is_weightless,
            computed_torque: computed_torque.as_ref().map(law),
        }
    }
}

/// A set of trees of bodies that joints connect with the world: immutable, and shared by every
/// state. Joints come in depth-first order, so that what a joint carries is contiguous.
#[derive(Clone, Debug)]
pub struct Mechanism<T = f64> {
    pub(super) bodies: Vec<Body<T>>,
    pub(super) joints: Vec<Joint<T>>,
    pub(super) trees: Vec<Tree<T>>,
    /// For each direction of motion of a joint the one before it on the way to the world (λ of
    /// Featherstone 2008, §6.4).
    pub(super) column_parent: Vec<Option<usize>>,
    /// For each direction of motion the velocity coordinate that moves along it: its own, or that of
    /// the joint that is followed.
    pub(super) coordinate: Vec<usize>,
    /// For each velocity coordinate the one before it in the order of elimination: on the way to the
    /// world, or any one before it in a tree with joints that follow others.
    pub(super) v_parent: Vec<Option<usize>>,
    /// The kinds of the joints that have coordinates, which states share.
    pub(super) kinds: Arc<[JointKind]>,
    pub(super) nq: usize,
    pub(super) nv: usize,
}

impl<T> Default for Mechanism<T> {
    /// No bodies and no joints.
    fn default() -> Self {
        Self {
            bodies: vec![],
            joints: vec![],
            trees: vec![],
            column_parent: vec![],
            coordinate: vec![],
            v_parent: vec![],
            kinds: Arc::default(),
            nq: 0,
            nv: 0,
        }
    }
}

impl<T: Scalar> Mechanism<T> {
    /// A constant mechanism as scalars `T`.
    pub fn lift(m: &Mechanism<f64>) -> Self {
        let spring = |s: &JointSpring| JointSpring { stiffness: T::from(s.stiffness), rest: T::from(s.rest) };
        Self {
            bodies: m
                .bodies
                .iter()
                .map(|b| Body {
                    name: b.name.clone(),
                    parent: b.parent,
                    joint: b.joint,
                    x_mb: RigidTransform::lift(&b.x_mb),
                    mass: b.mass.as_ref().map(MassProperties::lift),
                })
                .collect(),
            joints: m
                .joints
                .iter()
                .map(|j| Joint {
                    name: j.name.clone(),
                    kind: j.kind,
                    parent: j.parent,
                    child: j.child,
                    limits: JointLimits::lift(&j.limits),
                    damping: T::from(j.damping),
                    rotor_inertia: T::from(j.rotor_inertia),
                    spring: spring(&j.spring),
                    friction: T::from(j.friction),
                    stiction_velocity: T::from(j.stiction_velocity),
                    follows: j.follows,
                    q: j.q.clone(),
                    v: j.v.clone(),
                    columns: j.columns.clone(),
                    subtree: j.subtree.clone(),
                    composite: MassProperties::lift(&j.composite),
                    frame: JointFrame::new(&j.kind, &RigidTransform::lift(j.x_pf())),
                })
                .collect(),
            trees: m.trees.iter().map(|tree| tree.with_law(ComputedTorque::lifted)).collect(),
            column_parent: m.column_parent.clone(),
            coordinate: m.coordinate.clone(),
            v_parent: m.v_parent.clone(),
            kinds: Arc::clone(&m.kinds),
            nq: m.nq,
            nv: m.nv,
        }
    }

    /// The mechanism without its derivatives.
    pub fn real(&self) -> Mechanism {
        let spring = |s: &JointSpring<T>| JointSpring { stiffness: s.stiffness.real(), rest: s.rest.real() };
        let body = |b: &Body<T>| Body {
            name: b.name.clone(),
            parent: b.parent,
            joint: b.joint,
            x_mb: b.x_mb.real(),
            mass: b.mass.as_ref().map(MassProperties::real),
        };
        let joint = |j: &Joint<T>| Joint {
            name: j.name.clone(),
            kind: j.kind,
            parent: j.parent,
            child: j.child,
            limits: j.limits.real(),
            damping: j.damping.real(),
            rotor_inertia: j.rotor_inertia.real(),
            spring: spring(&j.spring),
            friction: j.friction.real(),
            stiction_velocity: j.stiction_velocity.real(),
            follows: j.follows,
            q: j.q.clone(),
            v: j.v.clone(),
            columns: j.columns.clone(),
            subtree: j.subtree.clone(),
            composite: j.composite.real(),
            frame: JointFrame::new(&j.kind, &j.x_pf().real()),
        };
        Mechanism {
            bodies: self.bodies.iter().map(body).collect(),
            joints: self.joints.iter().map(joint).collect(),
            trees: self.trees.iter().map(|tree| tree.with_law(ComputedTorque::real)).collect(),
            column_parent: self.column_parent.clone(),
            coordinate: self.coordinate.clone(),
            v_parent: self.v_parent.clone(),
            kinds: Arc::clone(&self.kinds),
            nq: self.nq,
            nv: self.nv,
        }
    }

    /// The bodies: every one after the one it is jointed to.
    pub fn bodies(&self) -> &[Body<T>] {
        &self.bodies
    }

    /// The joints that can move, in the order of their coordinates in `q` and `v`: depth first,
    /// every one after the one that carries it. Those that follow others are among them.
    pub fn joints(&self) -> &[Joint<T>] {
        &self.joints
    }

    /// The trees, in the order of their coordinates.
    pub fn trees(&self) -> &[Tree<T>] {
        &self.trees
    }

    /// Number of configuration coordinates.
    pub fn configuration_dimension(&self) -> usize {
        self.nq
    }

    /// Number of velocity coordinates.
    pub fn velocity_dimension(&self) -> usize {
        self.nv
    }

    /// Whether a joint leaves all rotations to its child.
    pub(crate) fn has_spherical_joints(&self) -> bool {
        self.trees.iter().any(|tree| self.is_spherical(tree))
    }

    /// Whether a joint of a tree leaves all rotations to its child.
    pub(super) fn is_spherical(&self, tree: &Tree<T>) -> bool {
        self.joints[tree.joints.clone()].iter().any(|joint| joint.kind.is_spherical())
    }

    /// The index of the body with this name.
    pub fn body_index(&self, name: &str) -> Option<usize> {
        self.bodies.iter().position(|b| b.name == name)
    }

    /// The index of the moving joint with this name.
    pub fn joint_index(&self, name: &str) -> Option<usize> {
        self.joints.iter().position(|j| j.name == name)
    }

    /// The tree that a body belongs to; `None` where it is fixed to the world.
    pub fn tree_of_body(&self, body: usize) -> Option<usize> {
        let joint = self.bodies[body].joint?;
        self.trees.iter().position(|t| t.joints.contains(&joint))
    }

    /// Whether two bodies move as one or a single joint lies between them. Bodies that are fixed
    /// to the world belong together where the joints of the mechanism connect them.
    pub fn are_connected(&self, a: usize, b: usize) -> bool {
        let joint_parent = |joint: usize| self.joints[joint].parent;
        match (self.bodies[a].joint, self.bodies[b].joint) {
            (Some(a), Some(b)) => a == b || joint_parent(a) == Some(b) || joint_parent(b) == Some(a),
            (None, None) => self.root(a) == self.root(b),
            (None, Some(joint)) => self.hangs_on(joint, a),
            (Some(joint), None) => self.hangs_on(joint, b),
        }
    }

    /// Whether a joint lies between its child and a body that is fixed to the world.
    fn hangs_on(&self, joint: usize, fixed: usize) -> bool {
        let Joint { parent, child, .. } = &self.joints[joint];
        let base = self.bodies[*child].parent;
        parent.is_none() && base.is_some_and(|base| self.root(base) == self.root(fixed))
    }

    /// The body on the world that a body is connected with.
    fn root(&self, body: usize) -> usize {
        std::iter::successors(Some(body), |&b| self.bodies[b].parent).last().unwrap_or(body)
    }

    /// The directions that a joint's child moves along, from its own to the world.
    pub(super) fn chain(&self, joint: Option<usize>) -> impl Iterator<Item = usize> + '_ {
        let last = joint.map(|j| self.joints[j].columns.end - 1);
        std::iter::successors(last, |&column| self.column_parent[column])
    }

    /// Whether a joint follows another.
    pub(super) fn has_followers(&self) -> bool {
        self.coordinate.len() > self.nv
    }

    /// The kinds of the joints that have coordinates, in the order of these.
    pub(crate) fn kinds(&self) -> &[JointKind] {
        &self.kinds
    }

    /// The joints that have coordinates of their own, in the order of these: all that follow no other.
    pub fn joints_with_coordinates(&self) -> impl Iterator<Item = &Joint<T>> + Clone {
        self.joints.iter().filter(|joint| joint.follows.is_none())
    }

    /// The same mechanism with other mass properties of one body, in the body's frame, so that
    /// they can carry derivatives. They are not checked.
    ///
    /// # Panics
    /// When there is no such body.
    #[must_use]
    pub fn with_body_mass(mut self, body: usize, mass: MassProperties<T>) -> Self {
        self.bodies[body].mass = Some(mass);
        self.set_composites();
        self
    }

    /// The same mechanism with other damping, rotor inertia, spring and limits of one joint, so that
    /// they can carry derivatives. They are not checked.
    ///
    /// # Panics
    /// When there is no such joint.
    pub fn with_joint_parameters(
        mut self,
        joint: usize,
        damping: T,
        rotor_inertia: T,
        spring: JointSpring<T>,
        limits: JointLimits<T>,
    ) -> Self {
        let j = &mut self.joints[joint];
        (j.damping, j.rotor_inertia, j.spring, j.limits) = (damping, rotor_inertia, spring, limits);
        self
    }

    /// The same mechanism with another Coulomb friction of one joint and another stiction velocity of it, so that it can carry derivatives.
    /// It is not checked.
    ///
    /// # Panics
    /// When there is no such joint.
    #[must_use]
    pub fn with_joint_friction(mut self, joint: usize, friction: T, stiction_velocity: T) -> Self {
        let joint = &mut self.joints[joint];
        (joint.friction, joint.stiction_velocity) = (friction, stiction_velocity);
        self
    }

    /// The same mechanism with the frame F of one joint moved, and with it all that the joint carries: turned about F's
    /// origin by a rotation vector, then shifted, both in the axes that [`Joint::x_pf`] is in.
    ///
    /// # Panics
    /// When there is no such joint.
    #[must_use]
    pub fn with_moved_joint(mut self, joint: usize, turn: &Vector3<T>, shift: &Vector3<T>) -> Self {
        let j = &mut self.joints[joint];
        j.frame = JointFrame::new(&j.kind, &j.frame.x_pf.moved(turn, shift));
        self
    }

    /// The same mechanism with the axis of one joint turned about the origin of the joint's frame, by a rotation vector in
    /// the axes that [`Joint::x_pf`] is in. At the joint's position 0 what it carries stays where it is.
    ///
    /// # Panics
    /// When there is no such joint.
    #[must_use]
    pub fn with_turned_axis(mut self, joint: usize, turn: &Vector3<T>) -> Self {
        let x_pf = self.joints[joint].frame.x_pf;
        let no_shift = Vector3::from_element(T::from(0.0));
        self = self.with_moved_joint(joint, turn, &no_shift);
        let turned = self.joints[joint].frame.x_pf.rotation;
        let back = RigidTransform::new(turned.transpose() * x_pf.rotation, no_shift);
        for body in self.bodies.iter_mut().filter(|body| body.joint == Some(joint)) {
            body.x_mb = back * body.x_mb;
        }
        for carried in self.joints.iter_mut().filter(|carried| carried.parent == Some(joint)) {
            carried.frame = JointFrame::new(&carried.kind, &(back * carried.frame.x_pf));
        }
        self.set_composites();
        self
    }

    /// Sums the masses of the bodies that move as one.
    pub(super) fn set_composites(&mut self) {
        let mut parts: Vec<Vec<MassProperties<T>>> = vec![Vec::new(); self.joints.len()];
        for body in &self.bodies {
            if let (Some(joint), Some(mass)) = (body.joint, &body.mass) {
                parts[joint].push(mass.seen_from(&body.x_mb));
            }
        }
        for (joint, parts) in self.joints.iter_mut().zip(parts) {
            joint.composite = MassProperties::composite(parts).unwrap_or_else(MassProperties::zero);
            // Rounding leaves the inertia of a turned body a little off symmetry.
            let i = joint.composite.inertia;
            joint.composite.inertia = (i + i.transpose()) * T::from(0.5);
        }
    }
}
