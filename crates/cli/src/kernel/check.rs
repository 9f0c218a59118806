//! `fadelab kernel check`.

use std::fmt::Write;
use std::path::Path;

use clap::Args;
use fadelab_kernel::check::{Standing, stack, tunnels};
use fadelab_kernel::device::Device;
use fadelab_lab::Failure;

use crate::output;

/// Arguments of `fadelab kernel check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Show on which devices these lie, which lie on them, and which a router has named; NAME or NETNS:NAME
    #[arg(long = "dev", value_name = "DEV", value_delimiter = ',')]
    pub devices: Vec<String>,
}

/// Prints what this machine can do, and the stacks of devices.
///
/// # Errors
/// When no law can be loaded, or a device is not there.
pub fn check(args: &CheckArgs) -> Result<(), Failure> {
    let mut items = fadelab_kernel::check::check();
    let devices: Vec<Device> = args.devices.iter().map(|given| Device::named(given)).collect();
    for (device, given) in devices.iter().zip(&args.devices) {
        let item = stack(device);
        items.push(item.map_err(|error| Failure::Invalid(format!("--dev {given}: {error}")))?);
    }
    let mut spaces: Vec<Option<&Path>> = devices.iter().map(|device| device.netns.as_deref()).collect();
    spaces.dedup();
    if spaces.is_empty() {
        spaces.push(None);
    }
    items.extend(spaces.into_iter().flat_map(tunnels));
    let mut text = String::new();
    for item in &items {
        let mark = match item.standing {
            Standing::Good => console::style("ok     ").green(),
            Standing::Limited => console::style("limited").yellow(),
            Standing::Missing => console::style("missing").red(),
        };
        let _ = writeln!(
            text,
            "{mark}  {:12} {}",
            item.what,
            item.found.replace('\n', "\n                      ")
        );
        if !item.remedy.is_empty() {
            let _ = writeln!(text, "                      -> {}", item.remedy);
        }
    }
    output::print_told(&text)?;
    let missing = items.iter().filter(|item| item.standing == Standing::Missing).count();
    match missing {
        0 => Ok(()),
        _ => Err(Failure::Failed(
            "no law can be loaded into this kernel; what is missing stands above".to_owned(),
        )),
    }
}
