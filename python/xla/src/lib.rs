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
    let frame = unsafe { &mut *frame };
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
        let arguments: Vec<&[f64]> = list(arguments)
            .iter()
            .map(|&buffer| Ok(slice::from_raw_parts(data(buffer)?, length(buffer))))
            .collect::<Result<_, String>>()?;
        // The results of a call do not overlap each other or its arguments, unless it is told that they may.
        let mut results: Vec<&mut [f64]> = list(results)
            .iter()
            .map(|&buffer| Ok(slice::from_raw_parts_mut(data(buffer)?, length(buffer))))
            .collect::<Result<_, String>>()?;
        F::call(of, &arguments, &mut results)
    }
}

/// The buffers of a list.
///
/// # Safety
/// As for [`handler`].
unsafe fn list(buffers: &Buffers) -> &[*const Buffer] {
    match usize::try_from(buffers.count) {
        // SAFETY: there are as many as it says.
        Ok(count) if count > 0 => unsafe { slice::from_raw_parts(buffers.buffers, count) },
        _ => &[],
    }
}

/// The numbers of a buffer.
///
/// # Safety
/// As for [`handler`].
unsafe fn data(buffer: *const Buffer) -> Result<*mut f64, String> {
    // SAFETY: it lives as long as the call.
    let Buffer { kind, data, .. } = unsafe { &*buffer };
    match *kind {
        // What has no numbers may be null.
        FLOAT64 if data.is_null() => Ok(ptr::dangling_mut()),
        FLOAT64 => Ok(*data),
        other => Err(format!("isobar: found an array of XLA's type {other}; it must be of float64")),
    }
}

/// How many numbers a buffer has.
///
/// # Safety
/// As for [`handler`].
unsafe fn length(buffer: *const Buffer) -> usize {
    // SAFETY: it has as many lengths as it says.
    unsafe {
        let Buffer { rank, lengths, .. } = &*buffer;
        let rank = usize::try_from(*rank).unwrap_or(0);
        (0..rank).map(|axis| usize::try_from(*lengths.add(axis)).unwrap_or(0)).product()
    }
}
