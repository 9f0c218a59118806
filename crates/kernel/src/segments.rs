//! How many segments a device takes as one packet. Routers of laws whose packets each carry a feedback of their own
//! (XCP) must see them one by one, so offload is given up at the devices through which they leave.

use std::io;

use serde::{Deserialize, Serialize};

use crate::device::{Device, ip};
use crate::object::LoadError;

/// A device and the number it had before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segments {
    pub device: Device,
    /// `gso_max_segs` before.
    pub max: u32,
}

impl Segments {
    /// How a device is now.
    ///
    /// # Errors
    /// When there is no `ip`, or it does not know the device.
    pub fn of(device: &Device) -> Result<Self, LoadError> {
        let max = look(device).map_err(|error| failed(device, &error))?;
        Ok(Self {
            device: device.clone(),
            max,
        })
    }

    /// Limits it to one segment per packet.
    ///
    /// # Errors
    /// When it does not take that.
    pub fn limit(&self) -> Result<(), LoadError> {
        set(&self.device, 1).map_err(|error| failed(&self.device, &error))
    }

    /// As it was. A device that is gone needs nothing.
    pub fn restore(&self) {
        let _ = set(&self.device, self.max);
    }
}

fn failed(device: &Device, error: &io::Error) -> LoadError {
    LoadError::system(format!("device {}: gso_max_segs", device.name), error)
}

fn look(device: &Device) -> io::Result<u32> {
    let told = ip(
        device.netns.as_deref(),
        &["-json", "-details", "link", "show", "dev", &device.name],
    )?;
    let told: serde_json::Value = serde_json::from_slice(&told)?;
    let max = told[0]["gso_max_segs"].as_u64().and_then(|max| u32::try_from(max).ok());
    max.ok_or_else(|| io::Error::other("`ip` does not tell it"))
}

fn set(device: &Device, max: u32) -> io::Result<()> {
    ip(
        device.netns.as_deref(),
        &["link", "set", "dev", &device.name, "gso_max_segs", &max.to_string()],
    )
    .map(drop)
}
