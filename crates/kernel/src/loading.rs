//! From a law to what the kernel holds of it: checks, a claim of the name, and what is undone when something is in the
//! way.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::cgroup::{cgroup_root, is_cgroup};
use crate::compile::CompileError;
use crate::default::{self, DefaultLaw};
use crate::device::{Device, within};
use crate::object::LoadError;
use crate::process::Owner;
use crate::segments::Segments;
use crate::sender::{NAME_BYTES_MAX, Sender, Unit};
use crate::spaces;
use crate::store::{self, Entry};
use crate::tunnel::{WAYS_MAX, Way};

/// Why a law was not loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadingError {
    /// No congestion control can have that name.
    #[error(
        "the name `{name}` of the congestion control: allowed are 1 to {NAME_BYTES_MAX} letters, digits, `_` and `-`; \
         give one with --as NAME"
    )]
    Name {
        /// What was given.
        name: String,
    },
    /// The kernel has one of that name that fadelab did not load, or one that sockets still use.
    #[error("the kernel has a congestion control `{name}` already; give another name with --as NAME")]
    NameTaken {
        /// What was given.
        name: String,
    },
    /// Marks would go into networks that read them otherwise.
    #[error(
        "{law} writes into the ECN field, which other networks read otherwise: name the interfaces through which its \
         packets may leave, for example --dev eth0"
    )]
    NoDevices { law: String },
    /// In what is encrypted nobody can mark, or need not.
    #[error(
        "--tunnel: {law} {why}; leave it out, allowed is it with laws that tell the load by the ECN field alone (vcp, \
         dcp_ew)"
    )]
    Sealed { law: String, why: &'static str },
    /// More than the programs tell apart.
    #[error("--tunnel: {given} directions; allowed are {WAYS_MAX}")]
    TooManySealed { given: usize },
    /// There is no such device.
    #[error("--dev {given}: {why}; `ip link` lists the devices")]
    Device {
        /// What was given.
        given: String,
        /// What the system said.
        why: io::Error,
    },
    /// There is no such cgroup.
    #[error("--cgroup {given}: {why}; the cgroups v2 of this machine are {root} and the folders in it")]
    Cgroup {
        /// What was given.
        given: String,
        /// What is wrong with it.
        why: String,
        /// Where they are mounted.
        root: String,
    },
    /// What reaches the sockets needs a cgroup.
    #[error("{law} needs a cgroup v2, and none is mounted; `fadelab kernel check` says more")]
    NoCgroup { law: String },
    /// Who may choose a law is asked at the root of all cgroups.
    #[error(
        "who may choose {law} cannot be limited without a cgroup v2, and none is mounted; --allow all lets everybody \
         choose it"
    )]
    NoChoice { law: String },
    /// There is no such namespace.
    #[error("--default {given}: {why}; `ip netns` lists the namespaces that have a name")]
    Namespace {
        /// What was given.
        given: String,
        /// What the system said.
        why: io::Error,
    },
    /// The law cannot be the default of new sockets.
    #[error("{sysctl}={name}: {why}; nothing was loaded", sysctl = crate::default::SYSCTL)]
    Default {
        /// The congestion control.
        name: String,
        /// What the system said.
        why: io::Error,
    },
    /// The kernel would keep nothing of a flow, and the law run on nothing, without a word.
    #[error(
        "{law} keeps {needed} bytes of a socket and {place} allows {allowed} (net.core.optmem_max): allow more there, \
         for example sysctl -w net.core.optmem_max=131072"
    )]
    SocketMemory {
        law: String,
        needed: u64,
        /// The namespace.
        place: String,
        allowed: u64,
    },
    /// The law does not compile for BPF.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The kernel does not take it.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// What was changed at a device could not be noted.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl LoadingError {
    /// Whether what was asked for is at fault, and nothing was tried.
    pub fn is_invalid_input(&self) -> bool {
        matches!(
            self,
            Self::Name { .. }
                | Self::NameTaken { .. }
                | Self::NoDevices { .. }
                | Self::Sealed { .. }
                | Self::TooManySealed { .. }
                | Self::Device { .. }
                | Self::Cgroup { .. }
                | Self::Namespace { .. }
                | Self::SocketMemory { .. }
        )
    }
}

/// A law that is about to be loaded.
#[derive(Debug)]
pub struct Loading<'a> {
    unit: Unit<'a>,
    devices: Vec<Device>,
    entry: Entry,
}

impl<'a> Loading<'a> {
    /// A law whose marked packets may leave through `devices`, `NAME` or `NETNS:NAME`, for the sockets of a cgroup, or
    /// of all.
    ///
    /// # Errors
    /// See [`LoadingError`]; nothing was changed.
    pub fn of(unit: Unit<'a>, devices: &[String], cgroup: Option<PathBuf>) -> Result<Self, LoadingError> {
        let law = || unit.law.name().to_owned();
        check_name(&unit.name)?;
        check_not_taken(&unit.name)?;
        if unit.marks() && devices.is_empty() {
            return Err(LoadingError::NoDevices { law: law() });
        }
        let looked = devices.iter().map(|given| looked_at(given)).collect::<Result<_, _>>()?;
        if let Some(given) = &cgroup {
            check_cgroup(given)?;
        }
        let cgroup = cgroup.or_else(cgroup_root);
        if cgroup.is_none() && unit.carries_feedback() {
            return Err(LoadingError::NoCgroup { law: law() });
        }
        if unit.allowed_users.is_some() && cgroup_root().is_none() {
            return Err(LoadingError::NoChoice { law: law() });
        }
        let infos = unit.law.params().iter().zip(unit.params.values());
        let entry = Entry {
            name: unit.name.clone(),
            law: law(),
            params: infos.map(|(info, value)| (info.name.to_owned(), *value)).collect(),
            cgroup: cgroup.unwrap_or_else(|| PathBuf::from("/")),
            devices: devices.to_vec(),
            sealed: Vec::new(),
            owner: Owner::this(),
            filters: Vec::new(),
            segments: Vec::new(),
            default: None,
            map_id: 0,
            allowed_users: unit.allowed_users.clone(),
            allowed_groups: unit.allowed_groups.iter().map(|group| group.path.clone()).collect(),
            is_kept: false,
            is_complete: false,
        };
        Ok(Self {
            unit,
            devices: looked,
            entry,
        })
    }

    /// With marks also in what IPsec in transport mode sends these ways.
    ///
    /// # Errors
    /// When the law has nothing to mark there, or there are too many; nothing was changed.
    pub fn sealed(mut self, ways: &[Way]) -> Result<Self, LoadingError> {
        let why = match () {
            () if !self.unit.marks() => Some("marks nothing in an IP header"),
            () if self.unit.exchanges_numbers() => Some("reads numbers of the TCP header, which is encrypted there"),
            () => None,
        };
        if let Some(why) = why.filter(|_| !ways.is_empty()) {
            let law = self.entry.law;
            return Err(LoadingError::Sealed { law, why });
        }
        if ways.len() > WAYS_MAX {
            return Err(LoadingError::TooManySealed { given: ways.len() });
        }
        self.entry.sealed = ways.to_vec();
        Ok(self)
    }

    /// As the default of new sockets in a namespace: its name, or nothing for this one.
    ///
    /// # Errors
    /// When there is no such namespace; nothing was changed.
    pub fn as_default(mut self, netns: &str) -> Result<Self, LoadingError> {
        let default = DefaultLaw::of(netns, &self.entry.name).map_err(|why| LoadingError::Namespace {
            given: netns.to_owned(),
            why,
        })?;
        self.entry.default = Some(default);
        Ok(self)
    }

    /// The name that its congestion control will have.
    pub fn name(&self) -> &str {
        &self.entry.name
    }

    /// As one that this process keeps for as long as it lives: the next such process removes what a killed one left.
    #[must_use]
    pub fn kept(mut self) -> Self {
        self.entry.is_kept = true;
        self
    }

    /// Loads it and leaves it in the kernel; what is known of it then.
    ///
    /// # Errors
    /// See [`LoadingError`]; nothing is left.
    pub fn keep(mut self) -> Result<Entry, LoadingError> {
        let object = self.claimed()?;
        let done = self
            .fill(&object)
            .and_then(|sender| Ok(store::keep(sender, &mut self.entry)?))
            .and_then(|()| set_default(&self.entry));
        match done {
            Ok(()) => Ok(self.entry),
            Err(error) => {
                store::remove(&self.entry)?;
                Err(error)
            }
        }
    }

    /// Loads it for as long as `work` takes.
    ///
    /// # Errors
    /// See [`LoadingError`], and those of `work`; nothing is left.
    pub fn hold<E: From<LoadingError>>(
        mut self,
        work: impl FnOnce(&Sender, &Unit<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let object = self.claimed()?;
        let filled = self.fill(&object);
        let set = filled.and_then(|sender| set_default(&self.entry).map(|()| sender));
        let done = set.map_err(E::from).and_then(|sender| work(&sender, &self.unit));
        store::remove(&self.entry).map_err(LoadingError::from)?;
        done
    }

    /// The compiled law, whose name is claimed from then on.
    fn claimed(&self) -> Result<Vec<u8>, LoadingError> {
        let object = self.unit.compile()?;
        store::claim(&self.entry)?;
        Ok(object)
    }

    /// What is done between the claim of a name and its end.
    fn fill(&mut self, object: &[u8]) -> Result<Sender, LoadingError> {
        // Each packet has a feedback or an order of its own.
        if self.unit.law.feedback_bytes() > 0 || self.unit.exchanges_numbers() {
            for device in &self.devices {
                let segments = Segments::of(device)?;
                // Noted first: what is noted is undone, whenever the process is killed.
                self.entry.segments.push(segments.clone());
                store::write(&self.entry)?;
                segments.limit()?;
            }
        }
        let sender = Sender::load(object, &self.entry.cgroup, &self.devices)?;
        for &way in &self.entry.sealed {
            sender.marks_sealed(way)?;
        }
        self.check_memory(sender.socket_bytes())?;
        self.entry.map_id = sender.map_id().unwrap_or(0);
        store::write(&self.entry)?;
        default::renew(&self.entry.name);
        Ok(sender)
    }
}

impl Loading<'_> {
    /// Whether sockets may keep so many bytes here and in the namespaces of the devices. The kernel charges them to the
    /// memory of a socket's options (`bpf_local_storage`, `sysctl_optmem_max`); before it counted namespaces apart, one
    /// figure was for all.
    fn check_memory(&self, needed: u64) -> Result<(), LoadingError> {
        let own = std::iter::once(None);
        for netns in own.chain(self.devices.iter().map(|device| device.netns.as_deref())) {
            let text = within(netns, || fs::read_to_string("/proc/sys/net/core/optmem_max"));
            let allowed = text.ok().and_then(Result::ok).and_then(|text| text.trim().parse().ok());
            if let Some(allowed) = allowed.filter(|allowed| *allowed <= needed) {
                return Err(LoadingError::SocketMemory {
                    law: self.entry.law.clone(),
                    needed,
                    place: netns.map_or_else(|| "this namespace".to_owned(), spaces::described),
                    allowed,
                });
            }
        }
        Ok(())
    }
}

/// The last step: what the default was is written down with the rest of the entry by now.
fn set_default(entry: &Entry) -> Result<(), LoadingError> {
    let set = entry
        .default
        .as_ref()
        .map_or(Ok(()), |default| default.set(&entry.name));
    set.map_err(|why| LoadingError::Default {
        name: entry.name.clone(),
        why,
    })
}

fn looked_at(given: &str) -> Result<Device, LoadingError> {
    let device = Device::named(given);
    let seen = device.look().map(drop);
    seen.map_err(|why| LoadingError::Device {
        given: given.to_owned(),
        why,
    })?;
    Ok(device)
}

/// What fadelab has loaded under the name is told by the claim of it.
fn check_not_taken(name: &str) -> Result<(), LoadingError> {
    if default::is_known(name) && store::read(name).is_none() {
        return Err(LoadingError::NameTaken { name: name.to_owned() });
    }
    Ok(())
}

fn check_cgroup(given: &Path) -> Result<(), LoadingError> {
    let why = match is_cgroup(given) {
        Ok(true) => return Ok(()),
        Ok(false) => "it is no cgroup v2".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(LoadingError::Cgroup {
        given: given.display().to_string(),
        why,
        root: cgroup_root().map_or_else(|| "nowhere".to_owned(), |root| root.display().to_string()),
    })
}

fn check_name(name: &str) -> Result<(), LoadingError> {
    let is_plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if is_plain && (1..=NAME_BYTES_MAX).contains(&name.len()) {
        return Ok(());
    }
    Err(LoadingError::Name { name: name.to_owned() })
}

/// Segments of a packet as large as IP allows: what an ACK may stand for with offload.
pub const OFFLOADED_PKTS: u64 = 44;

/// What a law in slow start adds at most with each ACK, where that is little although with offload ACKs are few (RFC
/// 5681 allows no more).
pub fn opens_slowly(entry: &Entry) -> Option<u64> {
    let limit = entry.params.iter().find(|(name, _)| name.as_str() == "limit_pkts");
    limit.map(|(_, pkts)| *pkts).filter(|pkts| *pkts < OFFLOADED_PKTS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Version;

    fn refused(law: &str, name: &str, devices: &[&str]) -> String {
        let unit = Unit {
            name: name.to_owned(),
            ..Unit::new(fadelab_laws::sender(law).expect("registered"), Version::new(6, 12))
        };
        let devices: Vec<String> = devices.iter().map(|&device| device.to_owned()).collect();
        let loading = Loading::of(unit, &devices, None);
        let error = loading.map(drop).expect_err("it is refused");
        assert!(error.is_invalid_input(), "{error}");
        error.to_string()
    }

    #[test]
    fn what_cannot_be_loaded_is_refused_before_anything_is_done() {
        // Goal: a name that the kernel has no room for or has already, a folder that is no cgroup, marks without a
        // device, and a device that is not there are refused with what was given; a law that is right is taken, with
        // its parameters.
        assert!(refused("reno", "fade_much_too_long", &[]).contains("`fade_much_too_long`"));
        assert!(refused("reno", "", &[]).contains("1 to 15 letters"));
        assert!(refused("reno", "a b", &[]).contains("`a b`"));
        assert!(refused("vcp", "v", &[]).contains("vcp writes into the ECN field"));
        assert!(refused("dcp_ew", "v", &[]).contains("dcp_ew writes into the ECN field"));
        assert!(refused("dpcp", "v", &[]).contains("dpcp writes into the ECN field"));
        assert!(refused("vcp", "v", &["no-such-dev"]).contains("--dev no-such-dev: "));
        let ways = ["192.0.2.1-192.0.2.2".parse().expect("a direction")];
        for (law, why) in [("reno", "marks nothing"), ("dpcp", "reads numbers")] {
            let unit = Unit::new(fadelab_laws::sender(law).expect("registered"), Version::new(6, 12));
            let loading = Loading::of(unit, &["lo".to_owned()], None).expect("it can be loaded");
            let error = loading.sealed(&ways).expect_err(law).to_string();
            assert!(error.contains(why) && error.contains("vcp, dcp_ew"), "{error}");
        }
        let unit = Unit::new(fadelab_laws::sender("reno").expect("registered"), Version::new(6, 12));
        // Reno is there wherever Linux is.
        assert!(refused("reno", "reno", &[]).contains("a congestion control `reno` already"));
        let elsewhere = Loading::of(unit.clone(), &[], Some("/".into())).expect_err("no cgroup");
        assert!(
            elsewhere.to_string().starts_with("--cgroup /: it is no cgroup v2"),
            "{elsewhere}"
        );
        let loading = Loading::of(unit, &[], None).expect("it can be loaded");
        assert_eq!(
            (loading.entry.name.as_str(), loading.entry.law.as_str()),
            ("fade_reno", "reno")
        );
        assert_eq!(opens_slowly(&loading.entry), Some(1));
        let lifted = Entry {
            params: vec![("limit_pkts".to_owned(), OFFLOADED_PKTS)],
            ..loading.entry
        };
        assert_eq!(opens_slowly(&lifted), None);
    }
}
