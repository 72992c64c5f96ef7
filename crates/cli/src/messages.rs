//! What the command says: messages on standard error, reports on standard output.

use std::fmt::Display;
use std::io::{self, StdoutLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use isobar::rollout::MotionWarning;
use isobar::shown::escaped;

/// Whether only errors are told. Messages come from everywhere, and it is set once, before anything else.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Sets whether only errors are told from now on: neither warnings, nor what was loaded, nor progress.
pub(super) fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Whether only errors are told.
pub(super) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Says something that is no error, unless the command is to be quiet.
pub(super) fn remark(message: impl Display) {
    if !is_quiet() {
        tell(message);
    }
}

/// Says something on standard error, in one line. Where it cannot be said nothing happens.
pub(super) fn tell(message: impl Display) {
    let message = message.to_string();
    let _ = writeln!(io::stderr(), "{}", escaped(&message));
}

/// Prints a scene's warnings on standard error.
pub(crate) fn print_warnings(warnings: &[String]) {
    for warning in warnings {
        remark(format_args!("isobar: {warning}"));
    }
}

/// Prints what went wrong in a motion without an error, on standard error.
pub(crate) fn print_motion_warnings(warnings: &[MotionWarning]) {
    for warning in warnings {
        remark(format_args!("isobar: warning: {warning}"));
    }
}

/// Standard output for text that may hold names from files.
pub(super) fn text_output() -> Escaping<StdoutLock<'static>> {
    Escaping(io::stdout().lock())
}

/// Writes text with escapes in the place of characters that a terminal would not show, line ends
/// aside.
pub(super) struct Escaping<W>(pub W);

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Formatted text comes in whole pieces.
        match std::str::from_utf8(bytes) {
            Ok(text) => {
                for (i, line) in text.split('\n').enumerate() {
                    if i > 0 {
                        self.0.write_all(b"\n")?;
                    }
                    self.0.write_all(escaped(line).as_bytes())?;
                }
            }
            Err(_) => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_steer_a_terminal_are_escaped() {
        assert_eq!(escaped("Ω – plain"), "Ω – plain");
        assert_eq!(escaped("a\u{1b}[2J\u{202e}b\r\n\u{9b}"), "a\\u{1b}[2J\\u{202e}b\\r\\n\\u{9b}");
        let mut out = Escaping(Vec::new());
        writeln!(out, "ball\u{2066}\t{}\nnext", 1.5).expect("memory");
        assert_eq!(String::from_utf8(out.0).expect("text"), "ball\\u{2066}\\t1.5\nnext\n");
    }
}
