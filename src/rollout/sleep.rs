//! Bodies that steps leave out because they are at rest: they sleep.
//!
//! Free bodies that touch each other are an island. It falls asleep when all of it has been at rest for a while and
//! something fixed bears it. What moves and touches a body of it wakes it, and so do loads that change; that step is taken
//! anew, with the island awake.

use super::report::TakenStep;
use crate::multibody::{Model, Motion, State};
use crate::scalar::Scalar;
use crate::spatial::{SpatialForce, SpatialVelocity};

/// When bodies fall asleep. They save the search for their contacts and the solution for their velocities, and stay exactly
/// where they are: what creeps more slowly than `speed` stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sleep {
    /// A body is at rest while no point of it is faster, m/s.
    pub speed: f64,
    /// For how long all bodies of an island are at rest before they fall asleep, s.
    pub after: f64,
}

impl Default for Sleep {
    /// Half a second at less than 1 mm/s.
    fn default() -> Self {
        Self { speed: 1e-3, after: 0.5 }
    }
}

/// The bodies of a simulation, some of which sleep.
#[derive(Debug)]
pub(super) struct Sleepers {
    sleep: Sleep,
    asleep: Vec<bool>,
    /// Those that slept in the last step.
    slept: Vec<bool>,
    /// For how long each body has been at rest, s.
    rest: Vec<f64>,
    /// One body of the island of each body, or another body that leads to it.
    island: Vec<usize>,
    /// The free bodies, and of each how far it reaches from its origin, m, and the load it fell asleep under.
    free: Vec<(usize, f64, SpatialForce)>,
}

/// The body that stands for an island.
fn root(island: &[usize], mut body: usize) -> usize {
    while island[body] != body {
        body = island[body];
    }
    body
}

impl Sleepers {
    /// All of them are awake.
    pub fn new<T: Scalar>(sleep: Sleep, model: &Model<T>) -> Self {
        let count = model.bodies.len();
        let reach = |body: usize| {
            let of_geometries = model.bodies[body].geometries.iter().map(|g| {
                let hierarchy = g.collider.geometry.hierarchy();
                hierarchy.map_or(f64::INFINITY, |h| (g.x_bg.real() * h.bounding_box().0).norm() + h.span())
            });
            of_geometries.fold(0.0, f64::max)
        };
        let free = model.free_bodies().map(|(body, ..)| (body, reach(body), SpatialForce::zero())).collect();
        let island = (0..count).collect();
        let none = vec![false; count];
        Self { sleep, asleep: none.clone(), slept: none, rest: vec![0.0; count], island, free }
    }

    /// For each body whether it sleeps.
    pub fn asleep(&self) -> &[bool] {
        &self.asleep
    }

    /// For each body whether it slept in the last step.
    pub fn slept(&self) -> &[bool] {
        &self.slept
    }

    /// Wakes islands that a step has to move. Whether there are any: then the step has to be taken anew.
    pub fn wake<T: Scalar>(&mut self, model: &Model<T>, taken: &TakenStep<'_, T>) -> bool {
        let mut woken: Vec<usize> = Vec::new();
        taken.for_each_contact(model, &mut |pair| {
            for (body, other) in [(pair.a, pair.b), (pair.b, pair.a)] {
                let moves = !matches!(model.bodies[other].motion, Motion::Fixed { .. });
                if self.asleep[body] && moves && !self.asleep[other] {
                    woken.push(root(&self.island, body));
                }
            }
        });
        for ((body, _, load), now) in self.free.iter().zip(taken.loads()) {
            if self.asleep[*body] && load != now {
                woken.push(root(&self.island, *body));
            }
        }
        for body in 0..self.asleep.len() {
            if self.asleep[body] && woken.contains(&root(&self.island, body)) {
                (self.asleep[body], self.rest[body]) = (false, 0.0);
            }
        }
        !woken.is_empty()
    }

    /// After a step: islands that have been at rest for long enough fall asleep, and lose the velocity that they had.
    pub fn settle<T: Scalar>(&mut self, model: &Model<T>, taken: &TakenStep<'_, T>, state: &mut State<T>) {
        let Self { sleep, asleep, slept, rest, island, free } = self;
        slept.clone_from(asleep);
        let mut may_fall_asleep = false;
        for ((body, reach, _), state) in free.iter().zip(&state.bodies) {
            let SpatialVelocity { rotational, translational } = state.velocity.real();
            let speed = translational.norm() + rotational.norm() * reach;
            rest[*body] = if speed <= sleep.speed { rest[*body] + taken.time_step } else { 0.0 };
            may_fall_asleep |= !asleep[*body] && rest[*body] >= sleep.after;
        }
        if !may_fall_asleep {
            return;
        }
        let awake = |body: usize| !asleep[body];
        (0..island.len()).filter(|&body| awake(body)).for_each(|body| island[body] = body);
        let (mut is_borne, mut is_restless) = (vec![false; island.len()], vec![false; island.len()]);
        taken.for_each_contact(model, &mut |pair| {
            let roots = [pair.a, pair.b].map(|body| root(island, body));
            match [pair.a, pair.b].map(|body| &model.bodies[body].motion) {
                [Motion::Free { .. }, Motion::Free { .. }] => island[roots[0]] = roots[1],
                [Motion::Fixed { .. }, _] => is_borne[pair.b] = true,
                [_, Motion::Fixed { .. }] => is_borne[pair.a] = true,
                // Joints do not sleep.
                [Motion::Link { .. }, _] => is_restless[pair.b] = true,
                [_, Motion::Link { .. }] => is_restless[pair.a] = true,
            }
        });
        for body in 0..island.len() {
            let root = root(island, body);
            is_borne[root] |= is_borne[body];
            is_restless[root] |= is_restless[body];
        }
        for (body, ..) in free.iter() {
            is_restless[root(island, *body)] |= rest[*body] < sleep.after;
        }
        for (((body, _, load), state), now) in free.iter_mut().zip(&mut state.bodies).zip(taken.loads()) {
            let root = root(island, *body);
            if !asleep[*body] && is_borne[root] && !is_restless[root] {
                (asleep[*body], *load) = (true, *now);
                state.velocity = SpatialVelocity::zero();
            }
        }
    }
}
