//! What contacts with friction do, and the equations of a step in which they keep doing it.
//!
//! A contact that carries has a distance of 0, and *sticks* (no velocity along both tangents), or *slips* with μ p against its slip.
//! In a polyhedral cone it slips with its friction at a *corner* of the cone's section, along the direction that is nearest to that, or
//! such that two directions are equally near, with its friction somewhere on the *side* between them.
//!
//! Where more points carry than it takes, their impulses are not determined by these conditions, and neither is the motion
//! if the points slip in different directions. Of all impulses those are taken that contacts have which give by the
//! same small length under the same impulse, in the limit of none: p = N y with the normals' rows N and any y. They have
//! the least Σ p², and depend on the state as continuously as it allows, which the vertex that a path of pivots ends at
//! does not. What sticks shares its friction in proportion to p in the same way. The variables are velocities v, and factors
//! of independent rows, w of normals and u of tangents, such that y = Σ w N, and each row that others imply is left out of
//! the conditions.

use nalgebra::{DMatrix, DVector, Vector3};

use super::data::{RESIDUAL, StepData};
use super::equations::{DIRECTIONS, scaled_velocities};
use super::kinematics::Kinematics;
use super::normals::{normal_rows, row_at_end};
use super::row::{Row, independent};
use crate::scalar::Scalar;

/// What friction does at a contact that carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Slip {
    /// There is none.
    Smooth,
    Stick,
    /// The impulse is along a direction, by its index.
    Corner(usize),
    /// It is between a direction and the next one.
    Side(usize),
    /// Friction is round: the impulse is along this unit vector in the tangents t and o, or against the slip where it follows that.
    Along([f64; 2]),
}

impl Slip {
    /// The same in a polyhedral cone.
    pub fn in_polygon(self) -> Self {
        match self {
            Self::Along([t, o]) if t.abs() >= o.abs() => Self::Corner(if t > 0.0 { 0 } else { 2 }),
            Self::Along([_, o]) => Self::Corner(if o > 0.0 { 1 } else { 3 }),
            slip => slip,
        }
    }
}

/// The section of the cone of friction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Section {
    #[default]
    Polygon,
    /// A circle, and friction has the directions that it began with.
    Circle,
    /// A circle, and friction is against the slip.
    Following,
}

/// Slip below this part of the velocity scale has no direction.
pub(super) const STILL: f64 = 1e-10;

/// A contact that carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Carrying {
    /// Index in the data.
    pub contact: usize,
    pub slip: Slip,
    /// Its share of the friction of what sticks: its impulse when that was chosen.
    pub weight: f64,
}

/// A tangent along which a contact has no velocity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    /// Position among those that carry.
    at: usize,
    /// The first and the second tangent of one that sticks; 0 of one on a side.
    axis: usize,
}

/// What the contacts of a step do.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Modes {
    pub carrying: Vec<Carrying>,
    held: Vec<Held>,
    /// Those that carry whose normals are independent.
    normals: Vec<usize>,
    /// Those that are held whose tangents are independent of each other and of the normals.
    tangents: Vec<usize>,
    /// Whether normals and tangents share a load together: where friction holds what other contacts' normals do, as that of an arm beside a
    /// block that stands.
    together: bool,
    pub section: Section,
}

/// The rows of contacts that carry.
pub(super) struct Rows<T = f64> {
    /// Those of distances at the end of the step: which of them others imply there is the same for the conditions that
    /// distances are 0, and they say how a load is shared.
    normals: Vec<Row<T>>,
    /// What an impulse of 1 along the normal does over the step, together with the friction of what slips.
    carried: Vec<Row<T>>,
    held: Vec<Row<T>>,
    /// The axes t, o and n of each contact that carries.
    pub frames: Vec<[Vector3<T>; 3]>,
    /// The friction of what slips, over μ p; of others 0.
    pub directions: Vec<Vector3<T>>,
}

/// How impulses follow factors: the share of each contact's normal in each factor, and then that of each tangent that is held.
pub(super) struct Shares<T = f64>(Vec<T>);

/// A row, and whether it is that of a normal.
type Chosen<'a, T> = (&'a Row<T>, bool);

/// The impulses of contacts that carry, in units of the scale.
pub(super) struct Impulses<T = f64> {
    pub normal: Vec<T>,
    /// Along the tangents that are held.
    held: Vec<T>,
}

/// A direction of the cone.
pub(super) fn direction<T: Scalar>(frame: &[Vector3<T>; 3], index: usize) -> Vector3<T> {
    let tangent = frame[index % 2];
    if index % DIRECTIONS < 2 { tangent } else { -tangent }
}

/// The direction of a vector; `None` of one that is 0.
pub(super) fn unit([t, o]: [f64; 2]) -> Option<[f64; 2]> {
    let length = t.hypot(o);
    (length > 0.0).then(|| [t / length, o / length])
}

impl Modes {
    /// Those of contacts that carry.
    pub fn new(carrying: Vec<Carrying>) -> Self {
        let mut held = Vec::new();
        for (at, contact) in carrying.iter().enumerate() {
            match contact.slip {
                Slip::Stick => held.extend((0..2).map(|axis| Held { at, axis })),
                Slip::Side(_) => held.push(Held { at, axis: 0 }),
                Slip::Smooth | Slip::Corner(_) | Slip::Along(_) => {}
            }
        }
        Self { carrying, held, ..Self::default() }
    }

    /// The same, with a load that normals and tangents share together.
    pub fn sharing_together(self) -> Self {
        Self { together: true, ..self }
    }

    /// Those of other contacts, which share a load in the same way.
    pub fn with(&self, carrying: Vec<Carrying>) -> Self {
        Self { together: self.together, section: self.section, ..Self::new(carrying) }
    }

    /// Whether any contact slips.
    pub fn slips(&self) -> bool {
        self.carrying.iter().any(|of| !matches!(of.slip, Slip::Smooth | Slip::Stick))
    }

    /// The same with round friction, which begins along that of a solution, in the frames that its rows have.
    pub fn round(&self, frames: &[[Vector3<f64>; 3]], friction: &[Vector3<f64>]) -> Self {
        let round = |(at, of): (usize, &Carrying)| {
            let along = [0, 1].map(|axis| frames[at][axis].dot(&friction[at]));
            let slip = match of.slip {
                Slip::Corner(_) | Slip::Side(_) => unit(along).map_or(Slip::Stick, Slip::Along),
                slip => slip,
            };
            Carrying { slip, ..*of }
        };
        let carrying = self.carrying.iter().enumerate().map(round).collect();
        Self { together: self.together, section: Section::Circle, ..Self::new(carrying) }
    }

    /// The number of variables besides velocities.
    pub fn factors(&self) -> usize {
        self.normals.len() + self.tangents.len()
    }

    /// The bodies of a contact that carries, and where it is.
    fn place<T: Scalar>(
        &self,
        data: &StepData<T>,
        kinematics: &Kinematics<T>,
        at: usize,
    ) -> ([usize; 2], Vector3<T>) {
        let contact = self.carrying[at].contact;
        (data.patches[data.contacts[contact].patch].bodies, kinematics.gaps[contact].point)
    }

    fn tangent<T: Scalar>(&self, held: Held, frame: &[Vector3<T>; 3]) -> Vector3<T> {
        match self.carrying[held.at].slip {
            Slip::Side(first) => {
                let half = T::from(std::f64::consts::FRAC_1_SQRT_2);
                (direction(frame, first) - direction(frame, first + 1)) * half
            }
            _ => frame[held.axis],
        }
    }

    /// The friction over μ p of a contact that slips; 0 of others.
    fn direction<T: Scalar>(
        &self,
        data: &StepData<T>,
        kinematics: &Kinematics<T>,
        at: usize,
        frame: &[Vector3<T>; 3],
    ) -> Vector3<T> {
        let [t, o, _] = frame;
        match self.carrying[at].slip {
            Slip::Smooth | Slip::Stick => Vector3::from_element(T::from(0.0)),
            Slip::Corner(index) => direction(frame, index),
            Slip::Side(first) => (direction(frame, first) + direction(frame, first + 1)) * T::from(0.5),
            Slip::Along(along) => {
                let (bodies, point) = self.place(data, kinematics, at);
                let slip = kinematics.relative_velocity(bodies, &point);
                let slip = t * t.dot(&slip) + o * o.dot(&slip);
                let square = slip.dot(&slip);
                if self.section == Section::Following && square.real().sqrt() > STILL * data.scales.velocity {
                    slip * -square.sqrt().recip()
                } else {
                    t * T::from(along[0]) + o * T::from(along[1])
                }
            }
        }
    }

    /// The rows with bodies after the step.
    pub fn rows<T: Scalar>(&self, data: &StepData<T>, kinematics: &Kinematics<T>) -> Rows<T> {
        let contacts = || self.carrying.iter().map(|of| of.contact);
        let frames = kinematics.frames(data, contacts());
        let mut carried = normal_rows(data, kinematics, contacts());
        let direction = |(at, frame)| self.direction(data, kinematics, at, frame);
        let directions: Vec<_> = frames.iter().enumerate().map(direction).collect();
        for (at, carrying) in self.carrying.iter().enumerate() {
            if matches!(carrying.slip, Slip::Smooth | Slip::Stick) {
                continue;
            }
            let friction = data.patches[data.contacts[carrying.contact].patch].friction;
            let (bodies, point) = self.place(data, kinematics, at);
            carried[at].add(&Row::of_force(data, kinematics, bodies, &point, &(directions[at] * friction)));
        }
        let held = self.held.iter().map(|&held| {
            let (bodies, point) = self.place(data, kinematics, held.at);
            Row::of_force(data, kinematics, bodies, &point, &self.tangent(held, &frames[held.at]))
        });
        Rows {
            normals: contacts().map(|k| row_at_end(data, kinematics, k)).collect(),
            held: held.collect(),
            carried,
            frames,
            directions,
        }
    }

    /// Chooses rows that are independent, normals first unless they share together.
    pub fn choose(&mut self, rows: &Rows, length: f64) {
        let all: Vec<&Row> = rows.normals.iter().chain(&rows.held).collect();
        let (count, normals) = (all.len(), rows.normals.len());
        let parts = if self.together { [0..count, 0..0] } else { [0..normals, normals..count] };
        self.normals.clear();
        self.tangents.clear();
        for row in independent(&all, length, parts) {
            if row < normals { self.normals.push(row) } else { self.tangents.push(row - normals) }
        }
    }

    /// How an impulse along a row follows a factor, by the row and the factor's; nothing where one is a normal's, the other a
    /// tangent's, and these do not share together.
    fn share<T: Scalar>(&self, row: Chosen<'_, T>, chosen: Chosen<'_, T>, length: f64) -> T {
        if row.1 == chosen.1 || self.together { row.0.product(chosen.0, length) } else { T::from(0.0) }
    }

    /// The rows that factors belong to, and whether they are normals.
    fn chosen<'a, T>(&'a self, rows: &'a Rows<T>) -> impl Iterator<Item = Chosen<'a, T>> {
        let normals = self.normals.iter().map(|&at| (&rows.normals[at], true));
        normals.chain(self.tangents.iter().map(|&held| (&rows.held[held], false)))
    }

    /// The shares of all rows.
    pub fn shares<T: Scalar>(&self, data: &StepData<T>, rows: &Rows<T>) -> Shares<T> {
        let length = data.scales.length;
        let mut shares = Vec::with_capacity((rows.normals.len() + rows.held.len()) * self.factors());
        for normal in &rows.normals {
            shares.extend(self.chosen(rows).map(|chosen| self.share((normal, true), chosen, length)));
        }
        for (row, held) in rows.held.iter().zip(&self.held) {
            let weight = T::from(self.carrying[held.at].weight);
            let of_row = |chosen| self.share((row, false), chosen, length) * weight;
            shares.extend(self.chosen(rows).map(of_row));
        }
        Shares(shares)
    }

    pub fn impulses<T: Scalar>(&self, shares: &Shares<T>, factors: &[T]) -> Impulses<T> {
        if factors.is_empty() {
            let none = |count: usize| vec![T::from(0.0); count];
            return Impulses { normal: none(self.carrying.len()), held: none(self.held.len()) };
        }
        let sum = |of: &[T]| of.iter().zip(factors).fold(T::from(0.0), |sum, (share, w)| sum + *share * *w);
        let (normals, held) = shares.0.split_at(self.carrying.len() * factors.len());
        Impulses {
            normal: normals.chunks_exact(factors.len()).map(sum).collect(),
            held: held.chunks_exact(factors.len()).map(sum).collect(),
        }
    }

    /// The impulse of friction of each contact that carries, in W, in units of the scale.
    pub fn friction(&self, data: &StepData, rows: &Rows, impulses: &Impulses) -> Vec<Vector3<f64>> {
        let mut friction = Vec::with_capacity(self.carrying.len());
        for (at, carrying) in self.carrying.iter().enumerate() {
            let frame = &rows.frames[at];
            let most = data.patches[data.contacts[carrying.contact].patch].friction * impulses.normal[at];
            let slip = rows.directions[at];
            let own = self.held.iter().zip(&impulses.held).filter(|(held, _)| held.at == at);
            friction.push(own.fold(slip * most, |sum, (held, f)| sum + self.tangent(*held, frame) * *f));
        }
        friction
    }

    /// A step of velocities and factors with the rows and distances of velocities: the conditions linearized.
    /// `None` where they are singular.
    pub fn linear_step(
        &self,
        data: &StepData,
        (rows, shares): (&Rows, &Shares),
        kinematics: &Kinematics,
        velocities: &[f64],
        (free, respond): (&[f64], impl Fn(&mut [f64])),
    ) -> Option<(Vec<f64>, Vec<f64>)> {
        let speed = data.scales.velocity;
        let size = self.factors();
        if size == 0 {
            return Some((free.to_vec(), Vec::new()));
        }
        // What each factor changes, one after the other.
        let mut changes = vec![0.0; size * velocities.len()];
        for (row, shares) in rows.carried.iter().chain(&rows.held).zip(shares.0.chunks_exact(size)) {
            for (column, share) in changes.chunks_exact_mut(velocities.len()).zip(shares) {
                // Bodies that have nothing to do with each other have no share.
                if *share != 0.0 {
                    row.add_to(column, share * data.scales.impulse);
                }
            }
        }
        changes.chunks_exact_mut(velocities.len()).for_each(respond);
        let columns = || changes.chunks_exact(velocities.len());
        let change: Vec<f64> = free.iter().zip(velocities).map(|(a, b)| a - b).collect();
        let mut matrix = DMatrix::zeros(size, size);
        let mut right = DVector::zeros(size);
        let values = self.values(data, rows, kinematics);
        for (i, ((row, _), value)) in self.chosen(rows).zip(values).enumerate() {
            right[i] = -(value + row.dot(&change)) / speed;
            for (j, column) in columns().enumerate() {
                matrix[(i, j)] = row.dot(column) / speed;
            }
        }
        let factors = matrix.lu().solve(&right)?;
        let mut after = free.to_vec();
        for (column, factor) in columns().zip(factors.iter()) {
            after.iter_mut().zip(column).for_each(|(v, c)| *v += c * factor);
        }
        after.iter().all(|v| v.is_finite()).then(|| (after, factors.as_slice().to_vec()))
    }

    /// What has to be 0, m/s: distances over the length of the step, and velocities.
    fn values<T: Scalar>(&self, data: &StepData<T>, rows: &Rows<T>, kinematics: &Kinematics<T>) -> Vec<T> {
        let per_step = data.dt.recip();
        let distance = |&at: &usize| kinematics.gaps[self.carrying[at].contact].distance * per_step;
        let velocity = |&held: &usize| {
            let held = self.held[held];
            let (bodies, point) = self.place(data, kinematics, held.at);
            self.tangent(held, &rows.frames[held.at]).dot(&kinematics.relative_velocity(bodies, &point))
        };
        self.normals.iter().map(distance).chain(self.tangents.iter().map(velocity)).collect()
    }

    /// The equations of the step, of size 1: momentum and the conditions, of velocities and factors.
    pub fn evaluate<T: Scalar>(&self, data: &StepData<T>, z: &[T], out: &mut Vec<T>) {
        let velocities = scaled_velocities(data, z);
        let kinematics = data.kinematics(&velocities);
        let rows = self.rows(data, &kinematics);
        let impulses = self.impulses(&self.shares(data, &rows), &z[velocities.len()..]);
        let impulse = T::from(data.scales.impulse);
        let mut momentum = vec![T::from(0.0); velocities.len()];
        for (row, p) in rows.carried.iter().zip(&impulses.normal) {
            row.add_to(&mut momentum, *p * impulse);
        }
        for (row, f) in rows.held.iter().zip(&impulses.held) {
            row.add_to(&mut momentum, *f * impulse);
        }
        out.clear();
        out.resize(velocities.len(), T::from(0.0));
        data.momentum_balance(&velocities, &momentum, out);
        let values = self.values(data, &rows, &kinematics);
        let of_size_one = |(i, value): (usize, T)| value * T::from(1.0 / self.unit(data, i));
        out.extend(values.into_iter().enumerate().map(of_size_one));
    }

    /// What a condition is measured in, m/s.
    fn unit<T>(&self, data: &StepData<T>, condition: usize) -> f64 {
        if condition < self.normals.len() { data.scales.approach } else { data.scales.velocity }
    }

    /// Whether the conditions hold at the end of linear steps that do not settle any more, such that what is left is rounding: where
    /// something slips, or a circle is about to tip, small changes may lead away.
    pub fn hold_at(&self, data: &StepData, rows: &Rows, kinematics: &Kinematics) -> bool {
        if self.slips() || self.carrying.iter().any(|of| data.contacts[of.contact].gap.is_of_circle()) {
            return false;
        }
        let values = self.values(data, rows, kinematics).into_iter().enumerate();
        values.map(|(i, value)| value.abs() / self.unit(data, i)).all(|left| left <= RESIDUAL)
    }

    /// How far a contact gives under the factors: it would carry if it gave.
    pub fn pressed(&self, data: &StepData, rows: &Rows, normal: &Row, factors: &[f64]) -> f64 {
        let length = data.scales.length;
        let chosen = self.chosen(rows).map(|chosen| self.share((normal, true), chosen, length));
        chosen.zip(factors).map(|(share, w)| share * w).sum()
    }
}
