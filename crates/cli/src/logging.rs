//! What the program logs on standard error, where the environment variable `RUST_LOG` asks for it.

use std::io::Write;
use std::time::Instant;

/// The environment variable that says what is logged.
const VARIABLE: &str = "RUST_LOG";

/// Whether something is logged: then nothing is drawn between its lines.
pub(super) fn is_asked_for() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|filter| !filter.is_empty())
}

/// Logs what `RUST_LOG` asks for from now on, each line with the seconds since then.
pub(super) fn start() {
    let begin = Instant::now();
    env_logger::Builder::new()
        .parse_env(VARIABLE)
        .format(move |line, record| {
            let (time, level) = (begin.elapsed().as_secs_f64(), record.level());
            let style = line.default_level_style(level);
            writeln!(line, "{time:9.3} s {style}{level:5}{style:#} {}: {}", record.target(), record.args())
        })
        .init();
}
