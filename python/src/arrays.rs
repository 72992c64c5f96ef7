//! Arrays of numpy in and out.

use numpy::ndarray::Dimension;
use numpy::{PyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::failure::Failure;

/// What was found in the place of an array of numbers.
fn described(value: &Bound<'_, PyAny>) -> String {
    let text =
        |attribute| value.getattr(attribute).and_then(|found| found.str()).map(|text| text.to_string());
    match (text("dtype"), text("shape")) {
        (Ok(dtype), Ok(shape)) => format!("an array of {dtype} with shape {shape}"),
        _ => value.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string()),
    }
}

/// The numbers of an array of float64 in logical order. Of its lengths those that are given must be these.
fn numbers<D: Dimension>(
    name: &str,
    value: &Bound<'_, PyAny>,
    lengths: &[Option<usize>],
) -> Result<Vec<f64>, Failure> {
    let allowed = || {
        let shown = |length: &Option<usize>| length.map_or("any number".to_owned(), |n| n.to_string());
        let shape = lengths.iter().map(shown).collect::<Vec<_>>().join(" × ");
        format!("a numpy array of float64 with shape {shape}")
    };
    let refused = || Failure::argument(name, described(value), &allowed());
    let array = value.cast::<PyArray<f64, D>>().map_err(|_| refused())?;
    if array.shape().iter().zip(lengths).any(|(found, wanted)| wanted.is_some_and(|wanted| wanted != *found))
    {
        return Err(refused());
    }
    let array: PyReadonlyArray<'_, f64, D> = array
        .try_readonly()
        .map_err(|_| Failure::argument(name, "an array that is being written to", &allowed()))?;
    let size = size_of::<f64>();
    let is_aligned = (array.data() as usize).is_multiple_of(size)
        && array.strides().iter().all(|stride| stride.unsigned_abs().is_multiple_of(size));
    if !is_aligned {
        return Err(Failure::argument(name, "an array that is not aligned in memory", &allowed()));
    }
    Ok(array.as_array().iter().copied().collect())
}

/// The numbers, if all of them are finite.
pub fn finite(name: &str, numbers: Vec<f64>) -> Result<Vec<f64>, Failure> {
    match numbers.iter().position(|x| !x.is_finite()) {
        Some(at) => Err(Failure::argument(name, format_args!("{} at index {at}", numbers[at]), "finite")),
        None => Ok(numbers),
    }
}

/// The numbers of a state, which are checked where it is made of them.
pub fn of_state(name: &str, value: &Bound<'_, PyAny>, length: usize) -> Result<Vec<f64>, Failure> {
    numbers::<numpy::Ix1>(name, value, &[Some(length)])
}

/// A vector, which is checked where it is used.
pub fn any_vector(name: &str, value: &Bound<'_, PyAny>) -> Result<Vec<f64>, Failure> {
    numbers::<numpy::Ix1>(name, value, &[None])
}

/// A vector of this length.
pub fn vector(name: &str, value: &Bound<'_, PyAny>, length: usize) -> Result<Vec<f64>, Failure> {
    finite(name, numbers::<numpy::Ix1>(name, value, &[Some(length)])?)
}

/// The rows of a matrix, one after the other.
pub fn matrix(name: &str, value: &Bound<'_, PyAny>, shape: [Option<usize>; 2]) -> Result<Vec<f64>, Failure> {
    finite(name, numbers::<numpy::Ix2>(name, value, &shape)?)
}

/// A new matrix from its rows, one after the other.
pub fn new_matrix<'py>(
    py: Python<'py>,
    numbers: Vec<f64>,
    shape: [usize; 2],
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    PyArray1::from_vec(py, numbers).reshape(shape)
}
