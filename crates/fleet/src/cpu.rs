//! CPU time and memory of a process on this machine. Called by `load.rs` and `change_cost.rs`.
//!
//! CPU time is the process's own CPU clock: nanoseconds, all threads, those that have ended included. The scheduler's
//! per-thread statistics lose ended threads and lag behind in running ones, and `/proc/PID/stat` counts in 10 ms.

use std::time::Duration;

use anyhow::Context;
use nix::time::{ClockId, clock_getcpuclockid};
use nix::unistd::Pid;
use serde::Serialize;

/// Length of one tick in `/proc/PID/stat`: `USER_HZ` is 100 on every Linux.
const TICK: Duration = Duration::from_millis(10);

/// A process whose use of the machine is watched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WatchedProcess {
    pid: u32,
    clock: ClockId,
}

/// CPU time used since the process started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CpuTime {
    pub(crate) total: Duration,
    /// In user mode, to 10 ms.
    pub(crate) user: Duration,
    /// In the kernel, to 10 ms.
    pub(crate) system: Duration,
}

/// Resident memory in KiB.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Memory {
    /// At present (`VmRSS`).
    pub(crate) rss_kib: u64,
    /// At most so far (`VmHWM`).
    pub(crate) rss_peak_kib: u64,
}

impl WatchedProcess {
    pub(crate) fn open(pid: u32) -> anyhow::Result<Self> {
        let raw = i32::try_from(pid).context("process id is too large")?;
        let clock = clock_getcpuclockid(Pid::from_raw(raw)).with_context(|| format!("watch process {pid}"))?;
        Ok(Self { pid, clock })
    }

    /// The load generator itself.
    pub(crate) fn own() -> anyhow::Result<Self> {
        Self::open(std::process::id())
    }

    /// CPU time used so far, exact; cheap enough to read around a single request.
    pub(crate) fn total(&self) -> anyhow::Result<Duration> {
        let now = self.clock.now().with_context(|| format!("read the CPU clock of process {}", self.pid))?;
        Ok(Duration::from(now))
    }

    pub(crate) fn cpu(&self) -> anyhow::Result<CpuTime> {
        let total = self.total()?;
        let stat = self.read("stat")?;
        let (user, system) = user_and_system(&stat).with_context(|| format!("parse /proc/{}/stat", self.pid))?;
        Ok(CpuTime { total, user, system })
    }

    pub(crate) fn memory(&self) -> anyhow::Result<Memory> {
        let status = self.read("status")?;
        let kib = |name| kib_of(&status, name).with_context(|| format!("find {name} of process {}", self.pid));
        Ok(Memory { rss_kib: kib("VmRSS:")?, rss_peak_kib: kib("VmHWM:")? })
    }

    fn read(&self, file: &str) -> anyhow::Result<String> {
        let path = format!("/proc/{}/{file}", self.pid);
        std::fs::read_to_string(&path).with_context(|| format!("read {path}"))
    }
}

impl CpuTime {
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            total: self.total.saturating_sub(earlier.total),
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
        }
    }
}

/// Fields 14 and 15 of the line. The second field is a command name that may hold spaces and brackets, so counting starts
/// behind its last bracket.
fn user_and_system(stat: &str) -> Option<(Duration, Duration)> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut ticks = fields.split_ascii_whitespace().skip(11).map(|field| field.parse::<u32>().ok());
    Some((TICK * ticks.next()??, TICK * ticks.next()??))
}

fn kib_of(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim_end().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_counted_behind_a_command_name_with_brackets() {
        let stat = "12 (a) b (c)) S 1 12 12 0 -1 4194560 1 2 3 4 39 7 0 0 20 0 1 0 5 6 7";
        assert_eq!(user_and_system(stat), Some((Duration::from_millis(390), Duration::from_millis(70))));
        assert_eq!(user_and_system("12 (a) S 1"), None);
    }

    #[test]
    fn memory_lines_are_found_by_name() {
        let status = "VmPeak:\t  9 kB\nVmHWM:\t  1234 kB\nVmRSS:\t   987 kB\n";
        assert_eq!(kib_of(status, "VmHWM:"), Some(1234));
        assert_eq!(kib_of(status, "VmRSS:"), Some(987));
        assert_eq!(kib_of(status, "VmSwap:"), None);
    }

    #[test]
    fn the_own_process_can_be_watched() {
        let own = WatchedProcess::own().unwrap();
        let before = own.total().unwrap();
        assert!(own.cpu().unwrap().total >= before);
        assert!(own.memory().unwrap().rss_peak_kib > 0);
    }
}
