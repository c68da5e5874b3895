//! What the operating system says of this process and its machine. Called by `routes::server_info`, seldom: it reads two small files
//! that exist in memory only.

use std::{fs, num::NonZeroUsize, thread};

/// How much memory there is, and how much of it this process has, in KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) total: u64,
    pub(crate) used: u64,
}

impl Memory {
    /// `None` where the system does not say.
    pub(crate) fn now() -> Option<Self> {
        let total = kibibytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")?;
        let used = kibibytes(&fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")?;
        Some(Self { total, used })
    }
}

/// How many processors this process may use.
pub(crate) fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// The number in a line such as `VmRSS:      1234 kB`.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim_end().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_system_are_read() {
        let text = "Name:\theureka\nVmPeak:\t  99 kB\nVmRSS:\t    1234 kB\n";
        assert_eq!(kibibytes(text, "VmRSS:"), Some(1234));
        assert_eq!(kibibytes(text, "Name:"), None);
        assert_eq!(kibibytes(text, "VmSwap:"), None);
        assert!(processors() > 0);
    }
}
