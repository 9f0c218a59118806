//! Which kernel runs, or will run what is compiled.

use std::fmt;
use std::fs;

use libbpf_rs::btf::types::{Func, FuncProto, Ptr, Struct};
use libbpf_rs::btf::{Btf, ReferencesType};
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

    /// The one whose hooks the running kernel has, by its own type data: some bring those of a later release. Where it
    /// tells nothing, its release.
    pub fn of_hooks() -> Option<Self> {
        let release = Self::running()?;
        let Ok(types) = Btf::from_vmlinux() else {
            return Some(release);
        };
        Some(release.with_hooks(arguments_of_acks(&types), has_contexts(&types)))
    }

    /// This release, with what its hook for ACKs is told and whether programs may look at a packet's structure.
    fn with_hooks(self, arguments: Option<usize>, has_contexts: bool) -> Self {
        const TOLD_MORE: Version = Version::new(6, 10);
        const CONTEXTS: Version = Version::new(6, 2);
        match arguments {
            Some(4..) if self < TOLD_MORE => TOLD_MORE,
            Some(..4) if self >= TOLD_MORE => Self::new(6, 9),
            _ if !has_contexts && self >= CONTEXTS && self < TOLD_MORE => Self::OLDEST,
            _ if has_contexts => self.max(CONTEXTS),
            _ => self,
        }
    }

    /// The beginning of a release, such as `6.12.43+deb12-cloud-amd64`.
    pub fn parse(release: &str) -> Option<Self> {
        let mut numbers = release.split(|c: char| !c.is_ascii_digit());
        let mut number = || numbers.next()?.parse().ok();
        Some(Self::new(number()?, number()?))
    }

    /// The one of these whose programs this kernel takes.
    #[must_use]
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

/// How many arguments the hook for ACKs has: two before 6.10.
fn arguments_of_acks(types: &Btf<'_>) -> Option<usize> {
    let hooks: Struct<'_> = types.type_by_name("tcp_congestion_ops")?;
    let hook = hooks
        .iter()
        .find(|member| member.name.is_some_and(|name| name == "cong_control"))?;
    let pointer: Ptr<'_> = types.type_by_id(hook.ty)?;
    let function: FuncProto<'_> = pointer.referenced_type().try_into().ok()?;
    Some(function.len())
}

/// Whether programs of traffic control may look at the kernel's structures of a packet.
fn has_contexts(types: &Btf<'_>) -> bool {
    types.type_by_name::<Func<'_>>("bpf_cast_to_kern_ctx").is_some()
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

    #[test]
    fn hooks_tell_more_than_a_release_s_number() {
        // Goal: a kernel with hooks of a later release gets the programs for these, one without them those before, and
        // where the types say what the number does, or nothing, the number holds; so it does for the running kernel.
        let of = |release, arguments, has_contexts| Version::with_hooks(release, arguments, has_contexts);
        let [old, middle, new] = [Version::new(6, 1), Version::new(6, 6), Version::new(6, 18)];
        assert_eq!(of(old, Some(2), false), old);
        assert_eq!(of(middle, Some(2), true), middle);
        assert_eq!(of(new, Some(4), true), new);
        assert_eq!(of(middle, Some(4), true), Version::new(6, 10), "brought back");
        assert_eq!(of(new, Some(2), true), Version::new(6, 9), "left out");
        assert_eq!(of(old, Some(2), true), Version::new(6, 2));
        assert_eq!(of(middle, Some(2), false), old);
        assert_eq!(of(new, None, true), new);
        if Version::running().is_some_and(|running| running >= Version::OLDEST) && Btf::from_vmlinux().is_ok() {
            assert_eq!(Version::of_hooks(), Version::running());
        }
    }

    #[test]
    fn a_kernel_takes_the_newest_shape_that_is_not_newer() {
        // Goal: programs are compiled for the releases from which on they differ, and for no other.
        let shape = |version: Version| version.shape(&Version::SENDER_SHAPES);
        assert_eq!(shape(Version::new(6, 1)), Version::OLDEST);
        assert_eq!(shape(Version::new(6, 9)), Version::OLDEST);
        assert_eq!(shape(Version::new(6, 10)), Version::new(6, 10));
        assert_eq!(shape(Version::new(6, 11)), Version::new(6, 10));
        assert_eq!(shape(Version::new(7, 3)), Version::new(6, 12));
        assert_eq!(Version::new(6, 12).shape(&Version::ROUTER_SHAPES), Version::new(6, 2));
    }
}
