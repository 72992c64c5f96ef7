//! The impulses of four faces with their derivatives with respect to the velocity, in closed form: this
//! is where a velocity-level step spends its time.

use crate::contact::ContactModel;
use crate::contact::impulse::arguments::{SQUARE, VELOCITY};
use crate::contact::impulse::law::{FaceConstants, ImpulseLaw, sap_regularization};
use crate::contact::lanes::{LANES, Lanes};
use crate::scalar::DualArray;

/// Impulses γ_n n̂ − S v_t with their derivatives with respect to the normal velocity v_n and the
/// squared slip velocity s.
#[derive(Clone, Copy, Debug)]
pub(in crate::contact) struct ImpulseSlopes<L> {
    /// γ_n.
    pub normal: L,
    /// ∂γ_n/∂v_n and ∂γ_n/∂s.
    pub normal_by: [L; 2],
    /// S.
    pub slip: L,
    /// ∂S/∂v_n and ∂S/∂s.
    pub slip_by: [L; 2],
    /// 1/ρ in s/m for a convex model with friction S = μ γ_n/ρ, where ρ is ‖v_t‖ or its regularized norm
    /// and the direction of friction turns with the slip velocity. It is 0 where friction is linear in
    /// the slip velocity (SAP's stiction), where a face of SAP bears no load, and for TAMSI.
    pub per_scale: L,
}

/// What SAP's impulse of a face depends on besides the velocity; all of it is known before a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Regularization<T = f64> {
    /// The normal impulse v̂_n/R_n at rest, N s.
    pub(in crate::contact) at_rest: T,
    /// 1/R_n, N s/(m/s).
    pub(in crate::contact) per_normal: T,
    /// R_t, (m/s)/(N s).
    pub(in crate::contact) tangential: T,
    /// 1/R_t.
    per_tangential: T,
    /// 1/(1 + μ² R_t/R_n).
    pub(in crate::contact) sliding: T,
}

/// What the impulses of faces depend on, in lists.
#[derive(Clone, Copy, Debug)]
pub(in crate::contact) struct FaceLists<'a> {
    /// For models other than SAP.
    pub constants: &'a [FaceConstants<f64>],
    /// Coefficients of friction, where static friction is another than dynamic friction.
    pub friction: &'a [f64],
    /// For SAP.
    pub regularization: &'a [Regularization],
    /// For TAMSI: with normal impulses here, in N s, friction is taken from them, which makes the
    /// model convex; empty if none are given.
    pub frozen: &'a [f64],
}

/// The indices of up to four faces in a list: all of them faces of the list.
#[derive(Clone, Copy, Debug)]
pub(in crate::contact) struct Group {
    pub indices: [usize; LANES],
    /// How many of them count; the others bear nothing.
    pub count: usize,
}

impl Group {
    /// The faces of a list, in groups.
    #[inline(always)]
    pub fn all_of(range: std::ops::Range<usize>) -> impl Iterator<Item = Self> {
        let end = range.end;
        range.step_by(LANES).map(move |start| Self {
            indices: std::array::from_fn(|k| (start + k).min(end - 1)),
            count: (end - start).min(LANES),
        })
    }

    /// The items of a list at the indices.
    #[inline(always)]
    pub fn of<'a, T>(&self, list: &'a [T]) -> [&'a T; LANES] {
        let [a, b, c, d] = self.indices;
        [&list[a], &list[b], &list[c], &list[d]]
    }

    /// Where there is no face that counts.
    #[inline(always)]
    pub fn beyond<L: Lanes>(&self, one: L) -> L::Mask {
        one.splat(self.count as f64).less_equal(one.with([0.0, 1.0, 2.0, 3.0]))
    }
}

/// A number of each of four.
#[inline(always)]
pub(in crate::contact) fn each<T, L: Lanes>(
    one: L,
    [a, b, c, d]: [&T; LANES],
    number: impl Fn(&T) -> f64,
) -> L {
    one.with([number(a), number(b), number(c), number(d)])
}

impl FaceLists<'_> {
    /// The constants of faces; those that do not count have no load and no stiffness, so that they
    /// bear nothing.
    #[inline(always)]
    pub fn constants_of<L: Lanes>(&self, group: &Group, one: L) -> FaceConstants<L> {
        let (faces, beyond) = (group.of(self.constants), group.beyond(one));
        FaceConstants {
            load: each(one, faces, |f| f.load).zero_where(beyond),
            stiffness: each(one, faces, |f| f.stiffness).zero_where(beyond),
            dissipation: each(one, faces, |f| f.dissipation),
            history: each(one, faces, |f| f.history),
        }
    }
}

/// The Hunt–Crossley impulses δt (A p − δt k v)₊ (1 − d v)₊ and their derivatives with respect to v.
#[inline(always)]
fn hunt_crossley_slope<L: Lanes>(dt: f64, face: &FaceConstants<L>, v: L) -> (L, L) {
    let (dt, zero) = (v.splat(dt), v.splat(0.0));
    let elastic = face.load - face.stiffness * v * dt;
    let damping = v.splat(1.0) - face.dissipation * v;
    let (parted, pulled) = (elastic.less_equal(zero), damping.less_equal(zero));
    let slope = zero - dt * (face.stiffness * dt * damping + face.dissipation * elastic);
    (
        (elastic * damping * dt).zero_where(parted).zero_where(pulled),
        slope.zero_where(parted).zero_where(pulled),
    )
}

impl ImpulseLaw<f64> {
    /// SAP's constants of a face.
    pub fn regularization(&self, face: &FaceConstants<f64>) -> Regularization {
        let [per_normal, tangential, at_rest] = sap_regularization(self, face);
        Regularization {
            at_rest,
            per_normal,
            tangential,
            per_tangential: 1.0 / tangential,
            sliding: 1.0 / (1.0 + self.friction * self.friction * tangential * per_normal),
        }
    }

    /// TAMSI's friction per slip velocity and normal impulse over μ, and its derivative with respect to
    /// s.
    #[inline(always)]
    fn tamsi_slip<L: Lanes>(&self, s: L) -> (L, L) {
        let v_s = self.stiction_velocity;
        let (speed, per_stiction, minus_half) = (s.sqrt(), s.splat(1.0 / v_s), s.splat(-0.5));
        let per_speed = speed.reciprocal();
        let slides = s.splat(v_s * v_s).less_equal(s);
        let sticking = (s.splat(2.0) - speed * per_stiction) * per_stiction;
        let sticking_by =
            (minus_half * per_speed * (per_stiction * per_stiction)).zero_where(s.less_equal(s.splat(0.0)));
        let sliding_by = minus_half * per_speed * (per_speed * per_speed);
        (per_speed.select(slides, sticking), sliding_by.select(slides, sticking_by))
    }

    /// [`Self::slopes`] with a law of the user's own, one face after the other.
    #[inline(never)]
    fn own_slopes<L: Lanes>(&self, lists: &FaceLists, group: &Group, v_n: L, s: L) -> ImpulseSlopes<L> {
        let zero = v_n.splat(0.0);
        let (normal_velocity, square) = (v_n.numbers(), s.numbers());
        // γ_n and S with their derivatives.
        let mut numbers = [[0.0; LANES]; 6];
        for k in 0..group.count {
            let index = group.indices[k];
            let factors = self.own_factors(&lists.constants[index], normal_velocity[k], square[k]);
            let Some([normal, per_normal]) = factors else { break };
            // Friction from a normal impulse that is held does not change with it.
            let load = lists.frozen.get(index).map_or(normal, |&held| DualArray::constant(held));
            let slip = load * per_normal;
            let [normal, slip] = [normal, slip].map(|x| [x.re, x.eps[VELOCITY], x.eps[SQUARE]]);
            let of_face = normal.into_iter().chain(slip);
            for (numbers, number) in numbers.iter_mut().zip(of_face) {
                numbers[k] = number;
            }
        }
        let [normal, by_velocity, by_square, slip, slip_by_velocity, slip_by_square] =
            numbers.map(|of_faces| v_n.with(of_faces));
        ImpulseSlopes {
            normal,
            normal_by: [by_velocity, by_square],
            slip,
            slip_by: [slip_by_velocity, slip_by_square],
            per_scale: zero,
        }
    }

    /// The impulses of faces in lists with their derivatives with respect to the velocity.
    #[inline(always)]
    pub(in crate::contact) fn slopes<L: Lanes>(
        &self,
        lists: &FaceLists,
        group: &Group,
        v_n: L,
        s: L,
    ) -> ImpulseSlopes<L> {
        let (zero, half) = (v_n.splat(0.0), v_n.splat(0.5));
        let (v_s, dt) = (self.stiction_velocity, v_n.splat(self.dt));
        let mu = self.friction_of(lists, group, v_n);
        match self.model {
            ContactModel::Lagged => {
                let face = lists.constants_of(group, v_n);
                let (normal, slope) = hunt_crossley_slope(self.dt, &face, v_n);
                let per_scale = (s + v_n.splat(v_s * v_s)).sqrt().reciprocal();
                let damping = v_n.splat(1.0) - face.dissipation * face.history;
                let lagged = (face.load * damping * dt).zero_where(damping.less_equal(zero));
                let slip = mu * lagged * per_scale;
                let slip_by = [zero, zero - half * slip * (per_scale * per_scale)];
                ImpulseSlopes { normal, normal_by: [slope, zero], slip, slip_by, per_scale }
            }
            ContactModel::Similar => {
                let face = lists.constants_of(group, v_n);
                let soft = (s + v_n.splat(v_s * v_s)).sqrt();
                let per_scale = soft.reciprocal();
                let (normal, slope) = hunt_crossley_slope(self.dt, &face, v_n - mu * (soft - v_n.splat(v_s)));
                let ratio = mu * per_scale;
                let (slip, by_square) = (ratio * normal, zero - half * ratio * slope);
                let slip_by_square = ratio * by_square - half * slip * (per_scale * per_scale);
                let slip_by = [ratio * slope, slip_by_square];
                ImpulseSlopes { normal, normal_by: [slope, by_square], slip, slip_by, per_scale }
            }
            ContactModel::Tamsi if self.own.is_some() => self.own_slopes(lists, group, v_n, s),
            ContactModel::Tamsi => {
                let (normal, slope) = hunt_crossley_slope(self.dt, &lists.constants_of(group, v_n), v_n);
                let (per, per_by_square) = self.tamsi_slip(s);
                let (load, load_slope) = if lists.frozen.is_empty() {
                    (normal, slope)
                } else {
                    (each(v_n, group.of(lists.frozen), |load| *load).zero_where(group.beyond(v_n)), zero)
                };
                ImpulseSlopes {
                    normal,
                    normal_by: [slope, zero],
                    slip: mu * load * per,
                    slip_by: [mu * load_slope * per, mu * load * per_by_square],
                    per_scale: zero,
                }
            }
            ContactModel::Sap => self.sap_slopes(lists, group, v_n, s),
        }
    }

    /// SAP's impulses with their derivatives with respect to the velocity.
    #[inline(always)]
    fn sap_slopes<L: Lanes>(&self, lists: &FaceLists, group: &Group, v_n: L, s: L) -> ImpulseSlopes<L> {
        let (zero, half, mu) = (v_n.splat(0.0), v_n.splat(0.5), self.friction_of(lists, group, v_n));
        let faces = group.of(lists.regularization);
        let at_rest = each(v_n, faces, |f| f.at_rest);
        let face = Regularization {
            // Parted at any velocity, if there is none.
            at_rest: v_n.splat(f64::NEG_INFINITY).select(group.beyond(v_n), at_rest),
            per_normal: each(v_n, faces, |f| f.per_normal),
            tangential: each(v_n, faces, |f| f.tangential),
            per_tangential: each(v_n, faces, |f| f.per_tangential),
            sliding: each(v_n, faces, |f| f.sliding),
        };
        let y_n = face.at_rest - v_n * face.per_normal;
        let speed = s.sqrt();
        let ratio = mu * face.per_normal;
        // Nothing pulls, without friction and slip either.
        let pulled = (zero - y_n).zero_where(zero.less_equal(y_n));
        let sticks = (speed + pulled).less_equal(mu * y_n * face.tangential);
        let parted = y_n.less_equal(zero - ratio * speed);
        // Where it slides the speed is positive.
        let per_scale = speed.reciprocal();
        let normal = (y_n + ratio * speed) * face.sliding;
        let slope = zero - face.per_normal * face.sliding;
        let by_square = half * ratio * face.sliding * per_scale;
        let per = mu * per_scale;
        let slip = per * normal;
        let slip_by_square = per * by_square - half * slip * (per_scale * per_scale);
        ImpulseSlopes {
            normal: y_n.select(sticks, normal.zero_where(parted)),
            normal_by: [
                (zero - face.per_normal).select(sticks, slope.zero_where(parted)),
                zero.select(sticks, by_square.zero_where(parted)),
            ],
            slip: face.per_tangential.select(sticks, slip.zero_where(parted)),
            slip_by: [
                zero.select(sticks, (per * slope).zero_where(parted)),
                zero.select(sticks, slip_by_square.zero_where(parted)),
            ],
            per_scale: zero.select(sticks, per_scale.zero_where(parted)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::impulse::law::tests::{STATES, face, history, laws};
    use crate::contact::lanes::Narrow;
    use approx::assert_relative_eq;

    /// The impulse of one face, in the lane of this number.
    fn slopes(
        law: &ImpulseLaw<f64>,
        face: &FaceConstants<f64>,
        v_n: f64,
        s: f64,
        frozen: Option<f64>,
    ) -> ImpulseSlopes<f64> {
        let of = |count: usize, lane: usize| {
            let group = Group { indices: [0; LANES], count };
            let (v_n, s) = (Narrow::ANY.splat(v_n), Narrow::ANY.splat(s));
            let lists = FaceLists {
                constants: &[*face],
                friction: &[],
                regularization: &[law.regularization(face)],
                frozen: frozen.as_slice(),
            };
            let slopes = law.slopes(&lists, &group, v_n, s);
            let number = |x: Narrow| x.numbers()[lane];
            ImpulseSlopes {
                normal: number(slopes.normal),
                normal_by: slopes.normal_by.map(number),
                slip: number(slopes.slip),
                slip_by: slopes.slip_by.map(number),
                per_scale: number(slopes.per_scale),
            }
        };
        let none = of(1, 3);
        assert_eq!((none.normal, none.normal_by, none.slip, none.slip_by), (0.0, [0.0; 2], 0.0, [0.0; 2]));
        of(4, 3)
    }

    #[test]
    fn slopes_are_those_of_dual_numbers() {
        type D = DualArray<2>;
        let faces = |law: &ImpulseLaw<f64>| {
            let face = face(history(law.model));
            [face, FaceConstants { stiffness: 0.0, ..face }]
        };
        for (law, face) in laws().into_iter().flat_map(|law| faces(&law).map(|face| (law, face))) {
            let dual_law = law.lift::<D>();
            let dual_face = FaceConstants {
                load: D::from(face.load),
                stiffness: D::from(face.stiffness),
                dissipation: D::from(face.dissipation),
                history: D::from(face.history),
            };
            for (v_n, v_t) in STATES {
                let s = v_t * v_t;
                let exact = slopes(&law, &face, v_n, s, None);
                let dual = dual_law.impulse(&dual_face, D::variable(v_n, 0), D::variable(s, 1));
                for (got, by, expected) in
                    [(exact.normal, exact.normal_by, dual.normal), (exact.slip, exact.slip_by, dual.slip)]
                {
                    assert_relative_eq!(got, expected.re, max_relative = 1e-12);
                    for k in 0..2 {
                        assert_relative_eq!(by[k], expected.eps[k], max_relative = 1e-12, epsilon = 1e-300);
                    }
                }
            }
        }
    }

    #[test]
    fn frozen_friction_takes_the_load_that_is_given() {
        let laws = laws().into_iter().filter(|law| law.model == ContactModel::Tamsi);
        for (law, (v_n, v_t)) in laws.flat_map(|law| STATES.map(|state| (law, state))) {
            let (face, s) = (face(2e4), v_t * v_t);
            let (free, frozen) = (slopes(&law, &face, v_n, s, None), slopes(&law, &face, v_n, s, Some(2.0)));
            assert_eq!(free.normal, frozen.normal);
            assert_relative_eq!(frozen.slip * free.normal, free.slip * 2.0, max_relative = 1e-14);
            assert_eq!(frozen.slip_by[0], 0.0);
            let same = slopes(&law, &face, v_n, s, Some(free.normal));
            assert_eq!((same.slip, same.slip_by[1]), (free.slip, free.slip_by[1]));
        }
    }

    #[test]
    fn slopes_agree_with_differences() {
        for law in laws() {
            let face = face(history(law.model));
            for (v_n, v_t) in STATES {
                let s = v_t * v_t;
                let exact = slopes(&law, &face, v_n, s, None);
                let at = |dn: f64, ds: f64| law.impulse(&face, v_n + dn, s + ds);
                let (h, hs) = (1e-7, 1e-3 * s);
                for (k, plus, minus, width) in
                    [(0, at(h, 0.0), at(-h, 0.0), 2.0 * h), (1, at(0.0, hs), at(0.0, -hs), 2.0 * hs)]
                {
                    let normal = (plus.normal - minus.normal) / width;
                    let slip = (plus.slip - minus.slip) / width;
                    // What a difference cannot resolve, relative to the impulse over the step.
                    let size = exact.normal.abs().max(exact.slip.abs()) / width;
                    let tolerance = 1e-6 * size;
                    assert_relative_eq!(exact.normal_by[k], normal, max_relative = 1e-5, epsilon = tolerance);
                    let tolerance = 1e-12 * size;
                    assert_relative_eq!(exact.slip_by[k], slip, max_relative = 1e-5, epsilon = tolerance);
                }
            }
        }
    }
}
