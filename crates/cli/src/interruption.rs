//! Ctrl-C.

use super::error::{Error, INTERRUPTED};
use super::messages::tell;
use isobar::interruption;
use isobar::io::remove_unfinished_files;

/// Sets what Ctrl-C does from now on. A command that `keeps` its results so far is asked to stop, and
/// ended at once the second time. Other commands are ended at once. Temporary files are removed.
pub(super) fn handle_interruption(keeps: bool) -> Result<(), Error> {
    let handler = move || {
        if keeps && !interruption::is_requested() {
            interruption::request();
            tell("isobar: stopping, and keeping what there is; Ctrl-C once more ends at once");
        } else {
            remove_unfinished_files();
            std::process::exit(i32::from(INTERRUPTED));
        }
    };
    ctrlc::set_handler(handler).map_err(|source| Error::Handler(source.to_string()))
}
