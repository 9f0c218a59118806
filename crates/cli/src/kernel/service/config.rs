//! What a service is to keep in the kernel, as its file says.

use std::path::{Path, PathBuf};

use fadelab_kernel::device::Device;
use fadelab_kernel::tunnel::Way;
use fadelab_lab::Failure;
use serde::Deserialize;

use crate::kernel::gateway::{self, GatewayArgs, Memory, Role};
use crate::kernel::load::{self, LoadArgs};
use crate::kernel::router::{self, RouterArgs};

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    #[serde(default, rename = "law")]
    pub laws: Vec<Loaded>,
    #[serde(default, rename = "router")]
    pub routers: Vec<Routed>,
    #[serde(default, rename = "gateway")]
    pub gateways: Vec<Gated>,
    #[serde(default)]
    pub metrics: Option<Metrics>,
}

/// A law for sockets, as `fadelab kernel load` takes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loaded {
    pub law: String,
    #[serde(default)]
    pub devices: Vec<String>,
    #[serde(default)]
    pub tunnels: Vec<Way>,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub cgroup: Option<PathBuf>,
    #[serde(default)]
    pub default: Option<Default>,
    #[serde(default)]
    pub allow: Vec<String>,
    #[serde(default)]
    pub set: Vec<String>,
}

/// Whether a law is the default of new sockets: of this namespace, or of another.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Default {
    Here(bool),
    In(String),
}

/// A router's law at a device, as `fadelab kernel router` takes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routed {
    pub device: String,
    pub law: String,
    #[serde(default)]
    pub rate: Option<String>,
    #[serde(default)]
    pub limit: Option<String>,
    #[serde(default)]
    pub inside: Vec<String>,
    #[serde(default)]
    pub tunnels: Vec<Way>,
    #[serde(default)]
    pub role: Role,
    #[serde(default = "yes")]
    pub shape: bool,
    #[serde(default)]
    pub set: Vec<String>,
}

/// A gateway's law at the ends of IPsec tunnels, as `fadelab kernel gateway` takes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gated {
    pub plain: Vec<String>,
    pub cipher: String,
    pub law: String,
    #[serde(default)]
    pub tunnels: Vec<Way>,
    #[serde(default)]
    pub role: Role,
    #[serde(default)]
    pub memory: Memory,
    #[serde(default)]
    pub set: Vec<String>,
}

/// Where counters can be had.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    pub socket: PathBuf,
}

fn yes() -> bool {
    true
}

impl Config {
    /// Reads the file. A header of one's own is sought from the folder in which the file is.
    ///
    /// # Errors
    /// When it cannot be read, or says what nobody understands: with line and key, given and allowed.
    pub fn read(file: &Path) -> Result<Self, Failure> {
        let refused = |why: String| Failure::Invalid(format!("{}: {why}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|error| refused(error.to_string()))?;
        let mut config: Self = toml::from_str(&text).map_err(|error| refused(error.to_string()))?;
        if config.laws.is_empty() && config.routers.is_empty() && config.gateways.is_empty() {
            return Err(refused(
                "there is nothing to keep: neither a [[law]] nor a [[router]] nor a [[gateway]]".to_owned(),
            ));
        }
        let laws = config.laws.iter_mut().map(|law| &mut law.law);
        let routers = config.routers.iter_mut().map(|router| &mut router.law);
        let gateways = config.gateways.iter_mut().map(|gateway| &mut gateway.law);
        for law in laws.chain(routers).chain(gateways).filter(|law| is_own(law)) {
            let folder = file.parent().filter(|folder| *folder != Path::new(""));
            let folder = folder.unwrap_or(Path::new("."));
            *law = folder.join(&*law).to_string_lossy().into_owned();
        }
        for law in &config.laws {
            load::unit(&law.args()).map_err(|error| refused(format!("law {}: {error}", law.law)))?;
        }
        for routed in &config.routers {
            let planned = router::planned(&routed.args());
            planned.map_err(|error| refused(format!("router {} at {}: {error}", routed.law, routed.device)))?;
        }
        for gated in &config.gateways {
            let planned = gateway::planned(&gated.args());
            planned.map_err(|error| refused(format!("gateway {} at {}: {error}", gated.law, gated.cipher)))?;
        }
        Ok(config)
    }

    /// All devices through which marks may leave.
    pub fn devices(&self) -> Vec<Device> {
        let of_laws = self.laws.iter().flat_map(|law| law.devices.iter());
        let of_laws = of_laws.map(|given| Device::named(given));
        of_laws.chain(self.routers.iter().flat_map(Routed::named)).collect()
    }
}

/// Whether a law is a header and not a name: that may have changed while what the file says is the same.
pub fn is_own(law: &str) -> bool {
    law.contains('/') || Path::new(law).extension().is_some_and(|extension| extension == "h")
}

impl Loaded {
    /// As the command line would have it.
    pub fn args(&self) -> LoadArgs {
        LoadArgs {
            law: self.law.clone(),
            devices: self.devices.clone(),
            tunnels: self.tunnels.clone(),
            cgroup: self.cgroup.clone(),
            name: self.name.clone(),
            default: match &self.default {
                Some(Default::Here(true)) => Some(String::new()),
                Some(Default::In(netns)) => Some(netns.clone()),
                Some(Default::Here(false)) | None => None,
            },
            allow: self.allow.clone(),
            sets: self.set.clone(),
            record: None,
        }
    }
}

impl Routed {
    /// Its device and those inside, which are in the same namespace.
    pub fn named(&self) -> Vec<Device> {
        let own = Device::named(&self.device);
        let inside = self.inside.iter().map(|name| Device {
            name: name.clone(),
            netns: own.netns.clone(),
        });
        let inside: Vec<Device> = inside.collect();
        [own].into_iter().chain(inside).collect()
    }

    /// As the command line would have it.
    pub fn args(&self) -> RouterArgs {
        RouterArgs {
            dev: self.device.clone(),
            law: self.law.clone(),
            rate: self.rate.clone(),
            rate_changes: None,
            limit: self.limit.clone(),
            inside: self.inside.clone(),
            tunnels: self.tunnels.clone(),
            role: self.role,
            no_shape: !self.shape,
            sets: self.set.clone(),
            record: None,
        }
    }
}

impl Gated {
    /// Its devices.
    pub fn named(&self) -> Vec<Device> {
        let names = self.plain.iter().chain([&self.cipher]);
        names.map(|name| Device::named(name)).collect()
    }

    /// As the command line would have it.
    pub fn args(&self) -> GatewayArgs {
        GatewayArgs {
            plain: self.plain.clone(),
            cipher: self.cipher.clone(),
            law: self.law.clone(),
            tunnels: self.tunnels.clone(),
            role: self.role,
            memory: self.memory,
            sets: self.set.clone(),
            record: None,
        }
    }
}
