//! The clock of a thread's own processor time, which other programs disturb less than the wall
//! clock.

use std::time::Duration;

/// The processor time that this thread has taken.
#[cfg(unix)]
pub fn thread_time() -> Duration {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

/// Where there is no such clock: the time since the first call.
#[cfg(not(unix))]
pub fn thread_time() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}
