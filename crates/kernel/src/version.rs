//! Which kernel runs, or will run what is compiled.

use std::fmt;
use std::fs;

use serde::{Deserialize, Serialize};

/// Version of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Version {
    /// Before the point.
    pub major: u32,
    /// After it.
    pub minor: u32,
}

impl Version {
    /// Programs on devices (tcx) and links of congestion controls, which go with the process that made them.
    pub const LINKS: Self = Self::new(6, 6);
    /// The oldest that is known to take the laws.
    pub const OLDEST: Self = Self::new(6, 1);

    /// From which on senders' programs differ: `cong_control` is told more from 6.10 on, and from 6.12 on the verifier
    /// takes laws in place (`bpf/invoke.h`).
    pub const SENDER_SHAPES: [Self; 3] = [Self::OLDEST, Self::new(6, 10), Self::new(6, 12)];
    /// From which on routers' programs differ: from 6.2 on they may look at the queue themselves (`bpf/queue.h`).
    pub const ROUTER_SHAPES: [Self; 2] = [Self::OLDEST, Self::new(6, 2)];

    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// The running kernel's.
    pub fn running() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/sys/kernel/osrelease").ok()?)
    }

    /// The beginning of a release, such as `6.12.43+deb12-cloud-amd64`.
    pub fn parse(release: &str) -> Option<Self> {
        let mut numbers = release.split(|c: char| !c.is_ascii_digit());
        let mut number = || numbers.next()?.parse().ok();
        Some(Self::new(number()?, number()?))
    }

    /// The one of these whose programs this kernel takes.
    pub fn shape(self, shapes: &[Self]) -> Self {
        let known = shapes.iter().copied().filter(|shape| *shape <= self);
        known.max().unwrap_or(Self::OLDEST)
    }

    /// As the programs take it: 6.12 is 612.
    pub fn number(self) -> u32 {
        self.major * 100 + self.minor
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read_by_their_first_two_numbers() {
        // Goal: whatever distributions append, 6.12 is newer than 6.6.
        assert_eq!(Version::parse("6.12.43+deb12-cloud-amd64"), Some(Version::new(6, 12)));
        assert_eq!(Version::parse("6.1.0-56-cloud-amd64\n"), Some(Version::new(6, 1)));
        assert_eq!(Version::parse("linux"), None);
        assert!(Version::new(6, 12) > Version::LINKS);
        assert_eq!(Version::new(6, 12).number(), 612);
    }
}
