//! Kernel modules of the guest, in the order in which they must load.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Error;
use crate::host_laws::{QUEUES, SENDERS};
use crate::image::programs;
use crate::need::{self, Need};

/// Makes the table of dependencies.
const DEPMOD: Need = ("depmod", "orders the kernel's modules", "kmod");

/// What the ground itself needs: the message port, cables, queues, what leads packets from one device to another, and
/// tunnels.
const GROUND: [&str; 24] = [
    "virtio_pci",
    "virtio_console",
    "veth",
    "tun",
    "sch_htb",
    "sch_netem",
    "sch_ingress",
    "cls_matchall",
    "cls_bpf",
    "act_mirred",
    "tcp_diag",
    // IPsec. `aesni_intel`, where it is faster, crashes Linux 6.1 in a guest whose processor has AVX without XSAVE.
    "xfrm_user",
    "esp4",
    "esp6",
    "aes_generic",
    "ctr",
    "gcm",
    "ghash_generic",
    "drbg",
    "seqiv",
    "authenc",
    "crypto_null",
    "sha1_generic",
    "sha512_generic",
];

/// Files of the modules needed, relative to `/lib/modules/RELEASE`, each after those that it needs. What the kernel has
/// built in has no file, and what it lacks is left out: the guest says so where a scenario asks for it.
///
/// # Errors
/// There is no `depmod`, or the table cannot be read.
pub fn ordered(root: &Path, release: &str) -> Result<Vec<String>, Error> {
    let depmod = need::find(&DEPMOD)?;
    programs::output("depmod", Command::new(depmod).arg("-b").arg(root).arg(release))?;
    let path = root.join("lib/modules").join(release).join("modules.dep");
    let table = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
    let rows: Vec<(&str, Vec<&str>)> = table
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(file, needs)| (file, needs.split_whitespace().collect()))
        .collect();
    let brought = SENDERS.iter().chain(QUEUES).filter_map(|(_, module, _)| *module);
    let mut order: Vec<String> = Vec::new();
    for wanted in GROUND.into_iter().chain(brought) {
        let Some((file, needs)) = rows.iter().find(|(file, _)| name(file) == wanted) else {
            continue;
        };
        // The table lists what a module needs with the nearest first.
        for file in needs.iter().rev().chain([file]) {
            if !order.iter().any(|known| known == file) {
                order.push((*file).to_owned());
            }
        }
    }
    Ok(order)
}

/// A module's name: that of its file, in which dashes count as underscores.
fn name(file: &str) -> String {
    let file = file.rsplit('/').next().unwrap_or(file);
    file.split('.').next().unwrap_or(file).replace('-', "_")
}
