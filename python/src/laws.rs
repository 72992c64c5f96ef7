//! Contact laws by functions of Python's.
//!
//! A call of Python costs as much for one point as for hundreds. So the points of a contact surface are collected and asked
//! for together; what is known then is looked up by the bits of a point.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use isobar::contact::{ContactLaw, DampingPoint, FrictionPoint, OWN_PARAMETERS, OwnLaw};
use isobar::scalar::Scalar;
use pyo3::prelude::*;

use crate::arrays::{matrix, new_matrix, vector};
use crate::failure::Failure;

/// Numbers that a function takes at most: see [`FunctionLaw::function`].
const ARGUMENTS: usize = 4 + OWN_PARAMETERS;
type Point = [f64; ARGUMENTS];

/// With more answers than this at hand a thread forgets them before it collects points.
const KEPT: usize = 1 << 13;

/// The functions of a law, as Python is told which is called.
const DAMPING: usize = 0;
const FRICTION: usize = 1;

/// What a function has raised, until somebody looks. It is not known which of the simulations on all threads it belongs to; all
/// of them fail, since the law has no finite answers any more until then.
static RAISED: Mutex<Option<PyErr>> = Mutex::new(None);

fn slot() -> MutexGuard<'static, Option<PyErr>> {
    RAISED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a law has raised since this was asked, if one has.
pub fn raised() -> Option<PyErr> {
    slot().take()
}

/// Whether a law has raised something.
pub fn has_raised() -> bool {
    slot().is_some()
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

#[derive(Default)]
struct Memory {
    /// The points that are asked for, while they are collected, of each function; and whether with derivatives.
    collected: Option<[(Vec<Point>, bool); 2]>,
    /// By law, function and the bits of a point.
    answers: HashMap<(usize, usize, [u64; ARGUMENTS]), Answer>,
}

#[derive(Clone, Copy)]
struct Answer {
    value: f64,
    by: Option<Point>,
}

/// A law that Python has the functions of.
#[derive(Debug)]
struct FunctionLaw {
    /// Of the number of a function, points with a row for each argument, and whether derivatives are wanted: the values, and
    /// these, with a row for each argument too, or nothing. Arguments are the fields of [`DampingPoint`] and [`FrictionPoint`].
    function: Py<PyAny>,
    /// Which of the functions there are; the others are those of a law by default.
    has: [bool; 2],
    parameters: &'static [&'static str],
}

/// The law by default.
#[derive(Debug)]
struct BuiltIn;

impl ContactLaw for BuiltIn {}

impl FunctionLaw {
    fn key(&self, which: usize, point: &Point) -> (usize, usize, [u64; ARGUMENTS]) {
        (std::ptr::from_ref(self).addr(), which, point.map(f64::to_bits))
    }

    /// A function in any scalar with first derivatives, which are all that Python gives.
    fn evaluate<T: Scalar>(&self, which: usize, x: [T; ARGUMENTS]) -> T {
        let real = x.map(|x| x.real());
        if T::NDERIV > 1 {
            let message = "law: its second derivatives are asked for; laws of Python have first ones";
            let error = PyErr::from(Failure::input(message));
            slot().get_or_insert(error);
        }
        let Answer { value, by } = self.answer(which, &real, T::NDERIV > 0);
        let terms = by.into_iter().flatten().zip(x.iter().zip(real));
        terms.fold(T::from(value), |sum, (by, (&x, real))| sum + (x - real) * by)
    }

    fn answer(&self, which: usize, point: &Point, has_derivatives: bool) -> Answer {
        let known = MEMORY.with_borrow_mut(|memory| {
            if let Some(collected) = &mut memory.collected {
                let (points, with_derivatives) = &mut collected[which];
                points.push(*point);
                *with_derivatives |= has_derivatives;
                return Some(Answer { value: 1.0, by: None });
            }
            let known = memory.answers.get(&self.key(which, point)).copied();
            known.filter(|known| known.by.is_some() || !has_derivatives)
        });
        known.unwrap_or_else(|| {
            let found = self.called(which, std::slice::from_ref(point), has_derivatives);
            found.first().copied().unwrap_or(Answer { value: f64::NAN, by: None })
        })
    }

    /// What Python answers at points; nothing after something was raised.
    fn called(&self, which: usize, points: &[Point], has_derivatives: bool) -> Vec<Answer> {
        if has_raised() {
            return Vec::new();
        }
        let count = 4 - usize::from(which == DAMPING) + self.parameters.len();
        // The damping factor leaves out the last of the first four.
        let place = |row: usize| if which == DAMPING && row >= 3 { row + 1 } else { row };
        let called = Python::attach(|py| -> PyResult<Vec<Answer>> {
            let rows = (0..count).flat_map(|row| points.iter().map(move |point| point[place(row)])).collect();
            let given = (which, new_matrix(py, rows, [count, points.len()])?, has_derivatives);
            let (values, by): (Bound<'_, PyAny>, Option<Bound<'_, PyAny>>) =
                self.function.bind(py).call1(given)?.extract()?;
            let values = vector("law", &values, points.len())?;
            let shape = [Some(count), Some(points.len())];
            let by = by.map(|by| matrix("law", &by, shape)).transpose()?;
            let answer = |(i, value): (usize, f64)| {
                let by = by.as_ref().map(|by| {
                    let mut of_point = [0.0; ARGUMENTS];
                    (0..count).for_each(|row| of_point[place(row)] = by[row * points.len() + i]);
                    of_point
                });
                Answer { value, by }
            };
            Ok(values.into_iter().enumerate().map(answer).collect())
        });
        called.unwrap_or_else(|error| {
            slot().get_or_insert(error);
            Vec::new()
        })
    }
}

impl ContactLaw for FunctionLaw {
    fn parameters(&self) -> &'static [&'static str] {
        self.parameters
    }

    fn damping_factor<T: Scalar>(&self, at: &DampingPoint<T>) -> T {
        if !self.has[DAMPING] {
            return BuiltIn.damping_factor(at);
        }
        let [a, b, c, d] = at.own;
        self.evaluate(DAMPING, [at.pressure, at.normal_velocity, at.dissipation, T::from(0.0), a, b, c, d])
    }

    fn friction_coefficient<T: Scalar>(&self, at: &FrictionPoint<T>) -> T {
        if !self.has[FRICTION] {
            return BuiltIn.friction_coefficient(at);
        }
        let [a, b, c, d] = at.own;
        let of_pair = [at.static_friction, at.dynamic_friction];
        self.evaluate(FRICTION, [at.pressure, at.slip_speed, of_pair[0], of_pair[1], a, b, c, d])
    }

    fn begin_collecting(&self) -> bool {
        MEMORY.with_borrow_mut(|memory| {
            let begins = memory.collected.is_none();
            memory.collected.get_or_insert_default();
            begins
        })
    }

    fn end_collecting(&self) {
        // Functions of Python's may call isobar in turn: nothing is borrowed meanwhile.
        let collected = MEMORY.with_borrow_mut(|memory| {
            let collected = memory.collected.take().unwrap_or_default();
            if memory.answers.len() > KEPT {
                memory.answers.clear();
            }
            collected
        });
        for (which, (points, has_derivatives)) in collected.into_iter().enumerate() {
            let is_known = |memory: &mut Memory| {
                let known = |point| memory.answers.get(&self.key(which, point));
                points.iter().all(|point| known(point).is_some_and(|x| x.by.is_some() || !has_derivatives))
            };
            if MEMORY.with_borrow_mut(is_known) {
                continue;
            }
            let found = self.called(which, &points, has_derivatives);
            let new = points.iter().zip(found).map(|(point, answer)| (self.key(which, point), answer));
            MEMORY.with_borrow_mut(|memory| memory.answers.extend(new));
        }
    }
}

/// A law for scenes.
#[pyclass(frozen)]
pub struct Law(pub OwnLaw);

#[pymethods]
impl Law {
    /// Which functions there are: that of the damping factor, and that of the coefficient of friction.
    #[new]
    fn new(function: Py<PyAny>, has: [bool; 2], parameters: Vec<String>) -> PyResult<Self> {
        if parameters.len() > OWN_PARAMETERS {
            let allowed = format!("at most {OWN_PARAMETERS}");
            return Err(Failure::argument("parameters", parameters.len(), &allowed).into());
        }
        // Models hold laws for good.
        let parameters = parameters.into_iter().map(|name| &*name.leak()).collect::<Vec<_>>().leak();
        Ok(Self(OwnLaw::new(Box::leak(Box::new(FunctionLaw { function, has, parameters })))))
    }
}
