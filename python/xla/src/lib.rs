//! Functions of arrays of float64 as XLA, the compiler of JAX, calls them.
//!
//! The structures are those of `xla/ffi/api/c_api.h` (OpenXLA, Apache 2.0), in the fields that all of its versions since 0.1
//! have. XLA promises to call what was made for a version for a year at least. All unsafe code of the workspace is here.

use std::ffi::{CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{ptr, slice};

/// The version of the interface, major and minor.
const VERSION: [c_int; 2] = [0, 1];
/// Of an extension that asks for the version.
const METADATA: c_int = 1;
/// Of an argument or result, of which there is one kind.
const BUFFER: c_int = 1;
/// Of a buffer or number, by its type.
const FLOAT64: c_int = 12;
const INTEGER64: c_int = 5;
const SCALAR: c_int = 3;
/// Of a call that computes.
const EXECUTE: c_int = 3;
/// Of an error.
const INTERNAL: c_int = 13;

#[repr(C)]
struct Extension {
    size: usize,
    kind: c_int,
    next: *mut Extension,
}

#[repr(C)]
struct Version {
    size: usize,
    extension: *mut Extension,
    numbers: [c_int; 2],
}

#[repr(C)]
struct Metadata {
    size: usize,
    version: Version,
    traits: u32,
}

#[repr(C)]
struct MetadataExtension {
    base: Extension,
    metadata: *mut Metadata,
}

#[repr(C)]
struct Buffer {
    size: usize,
    extension: *mut Extension,
    kind: c_int,
    data: *mut f64,
    rank: i64,
    lengths: *const i64,
}

#[repr(C)]
struct Buffers {
    size: usize,
    extension: *mut Extension,
    count: i64,
    kinds: *const c_int,
    buffers: *const *const Buffer,
}

#[repr(C)]
struct Scalar {
    kind: c_int,
    value: *const i64,
}

#[repr(C)]
struct Attributes {
    size: usize,
    extension: *mut Extension,
    count: i64,
    kinds: *const c_int,
    names: *const *const c_void,
    values: *const *const Scalar,
}

#[repr(C)]
struct ErrorArguments {
    size: usize,
    extension: *mut Extension,
    message: *const c_char,
    code: c_int,
}

#[repr(C)]
struct Api {
    size: usize,
    extension: *mut Extension,
    version: Version,
    internal: *const c_void,
    new_error: unsafe extern "C" fn(*mut ErrorArguments) -> *mut c_void,
}

/// What XLA calls a function with.
#[repr(C)]
pub struct Frame {
    size: usize,
    extension: *mut Extension,
    api: *const Api,
    context: *mut c_void,
    stage: c_int,
    arguments: Buffers,
    results: Buffers,
    attributes: Attributes,
}

/// A function of arrays.
pub trait Function {
    /// Computes the results of the arguments. `of` is the number that the call has as its one attribute, an integer of 64
    /// bits.
    ///
    /// # Errors
    /// With a message for the user.
    fn call(of: i64, arguments: &[&[f64]], results: &mut [&mut [f64]]) -> Result<(), String>;
}

/// Where XLA finds a function: the address of its handler.
pub fn address<F: Function>() -> usize {
    handler::<F> as *const () as usize
}

/// The handler of a function. Returns null, or an error that belongs to XLA.
///
/// # Safety
/// XLA calls it, with a frame as its interface says.
unsafe extern "C" fn handler<F: Function>(frame: *mut Frame) -> *mut c_void {
    // SAFETY: the frame and what it points to live as long as the call, and belong to it alone.
    let frame = unsafe { &*frame };
    // SAFETY: extensions are null or live as long.
    let asked = unsafe { frame.extension.as_ref() }.is_some_and(|extension| extension.kind == METADATA);
    if asked {
        // SAFETY: an extension of this kind is one of these.
        let metadata = unsafe { &mut *(*frame.extension.cast::<MetadataExtension>()).metadata };
        metadata.version.numbers = VERSION;
        metadata.traits = 0;
        return ptr::null_mut();
    }
    if frame.stage != EXECUTE {
        return ptr::null_mut();
    }
    // SAFETY: as above.
    let work = || unsafe { called::<F>(frame) };
    // Nothing may unwind into C++.
    let outcome = catch_unwind(AssertUnwindSafe(work));
    match outcome.unwrap_or_else(|_| Err("isobar: an internal error".to_owned())) {
        Ok(()) => ptr::null_mut(),
        Err(message) => {
            let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
            let size = size_of::<ErrorArguments>();
            let extension = ptr::null_mut();
            let mut arguments = ErrorArguments { size, extension, message: message.as_ptr(), code: INTERNAL };
            // SAFETY: XLA copies the message.
            unsafe { ((*frame.api).new_error)(&mut arguments) }
        }
    }
}

/// Calls a function with the arrays of a frame.
///
/// # Safety
/// As for [`handler`].
unsafe fn called<F: Function>(frame: &Frame) -> Result<(), String> {
    let Frame { arguments, results, attributes, .. } = frame;
    // SAFETY: there are as many as it says, each of the kind that it says.
    unsafe {
        if attributes.count != 1 || *attributes.kinds != SCALAR || (**attributes.values).kind != INTEGER64 {
            return Err("isobar: the call has other attributes than one integer of 64 bits".to_owned());
        }
        let of = *(**attributes.values).value;
        let arguments = all(arguments)?.into_iter().map(|(data, length)| slice::from_raw_parts(data, length));
        // The results of a call do not overlap each other or its arguments, unless it is told that they may.
        let results = all(results)?.into_iter().map(|(data, length)| slice::from_raw_parts_mut(data, length));
        F::call(of, &arguments.collect::<Vec<_>>(), &mut results.collect::<Vec<_>>())
    }
}

/// Of all buffers of a list the numbers, and how many they are.
///
/// # Safety
/// As for [`handler`].
unsafe fn all(list: &Buffers) -> Result<Vec<(*mut f64, usize)>, String> {
    let count = usize::try_from(list.count).unwrap_or(0);
    // SAFETY: there are as many as it says, of the kinds that it says.
    let one = |i: usize| match unsafe { *list.kinds.add(i) } {
        BUFFER => unsafe { numbers(&**list.buffers.add(i)) },
        other => Err(format!("isobar: found one of XLA's kind {other}; it must be an array")),
    };
    (0..count).map(one).collect()
}

/// The numbers of a buffer, and how many they are.
///
/// # Safety
/// As for [`handler`].
unsafe fn numbers(buffer: &Buffer) -> Result<(*mut f64, usize), String> {
    let &Buffer { kind, data, rank, lengths, .. } = buffer;
    if kind != FLOAT64 {
        return Err(format!("isobar: found an array of XLA's type {kind}; it must be of float64"));
    }
    // SAFETY: it has as many lengths as it says.
    let length = |axis: usize| usize::try_from(unsafe { *lengths.add(axis) }).unwrap_or(0);
    match (0..usize::try_from(rank).unwrap_or(0)).map(length).product() {
        // What has no numbers may be anywhere.
        0 => Ok((ptr::dangling_mut(), 0)),
        _ if data.is_null() || !data.is_aligned() => {
            Err("isobar: found an array that is not in memory, or not aligned there".to_owned())
        }
        count => Ok((data, count)),
    }
}
