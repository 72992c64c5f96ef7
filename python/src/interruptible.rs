//! Long work beside the interpreter: others can use it meanwhile, and Ctrl-C is heard.

use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::prelude::*;

use crate::failure::Failure;
use crate::laws;

/// So often signals are looked for.
const INTERVAL: Duration = Duration::from_millis(50);

/// The process whose threads work. Those of a forked process do not come with it.
static WORKING: OnceLock<u32> = OnceLock::new();

/// Whether the threads of isobar are in this process.
pub fn is_at_home() -> Result<(), Failure> {
    let process = std::process::id();
    if *WORKING.get_or_init(|| process) == process {
        return Ok(());
    }
    let message = "isobar has worked in the process that this one was forked from, and its threads are not here; start \
                   processes by multiprocessing.get_context(\"spawn\")";
    Err(Failure::input(message))
}

/// What `work` makes on one of the threads of isobar, without the interpreter's lock; what a contact law of Python's raises
/// meanwhile is raised. When a signal handler of Python raises
/// (as that of Ctrl-C does), `stop` is called, which may tell `work` to end early, and the exception is raised when it has
/// ended.
pub fn interruptible<R: Send>(
    py: Python<'_>,
    stop: impl Fn() + Send + Sync,
    work: impl FnOnce() -> R + Send,
) -> PyResult<R> {
    is_at_home()?;
    if rayon::current_thread_index().is_some() {
        // A function of Python's that these threads call has called isobar. Who waits for it looks for signals.
        let result = py.detach(work);
        return laws::raised().map_or(Ok(result), Err);
    }
    let (raised, result) = py.detach(|| {
        rayon::in_place_scope(|scope| {
            let (done, result) = channel();
            // There is nobody to receive it after a panic alone, which the scope passes on.
            scope.spawn(move |_| drop(done.send(work())));
            let mut raised = None;
            loop {
                match result.recv_timeout(INTERVAL) {
                    Ok(result) => return (raised, Some(result)),
                    Err(RecvTimeoutError::Disconnected) => return (raised, None),
                    Err(RecvTimeoutError::Timeout) if raised.is_some() => {}
                    Err(RecvTimeoutError::Timeout) => {
                        raised = Python::attach(|py| py.check_signals().err());
                        if raised.is_some() {
                            stop();
                        }
                    }
                }
            }
        })
    });
    match (raised.or_else(laws::raised), result) {
        (Some(raised), _) => Err(raised),
        (None, Some(result)) => Ok(result),
        (None, None) => Err(Failure::Simulation("the work did not end".to_owned()).into()),
    }
}
