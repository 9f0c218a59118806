//! Whether the kernel decrypts ESP before the programs at a device can see its outer header.
//!
//! With `esp4_offload` or `esp6_offload` it does so while the device's packets are joined (GRO): `esp4_gro_receive` of
//! Linux, `net/ipv4/esp4_offload.c`. What then comes to the programs is plain, and a half 11 outside has become a mark
//! inside.

use std::fs::File;
use std::io::{self, BufRead, BufReader};

use super::{GatewayError, Options, refused};

/// Refuses a cipher device behind which a gateway would see no outer header.
pub(super) fn check(options: &Options) -> Result<(), GatewayError> {
    let cipher = &options.cipher;
    if !cipher.joins_packets().map_err(|error| refused(cipher, &error))? {
        return Ok(());
    }
    for is_ipv6 in [false, true] {
        let is_here = options
            .tunnels
            .iter()
            .any(|tunnel| tunnel.out.from.is_ipv6() == is_ipv6);
        // Where the kernel does not tell, nothing is known against it.
        let has = |name: &str| File::open("/proc/kallsyms").and_then(|list| has_symbol(BufReader::new(list), name));
        let (function, module) = if is_ipv6 {
            ("esp6_gro_receive", "esp6_offload")
        } else {
            ("esp4_gro_receive", "esp4_offload")
        };
        if is_here && has(function).unwrap_or(false) {
            return Err(GatewayError::DecryptedFirst {
                device: cipher.name.clone(),
                module,
            });
        }
    }
    Ok(())
}

/// Whether a list of the kernel's symbols has one: an address, a letter, its name, and whose module it is.
fn has_symbol(list: impl BufRead, name: &str) -> io::Result<bool> {
    for line in list.lines() {
        if line?.split_whitespace().nth(2) == Some(name) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;

    #[test]
    fn whether_a_device_joins_packets_is_asked() {
        // Goal: the loopback device does, by default and of every user; one that is not there is an error.
        assert!(Device::here("lo").joins_packets().expect("it is there"));
        assert!(Device::here("none-such").joins_packets().is_err());
    }

    #[test]
    fn a_symbol_is_found_by_its_whole_name() {
        // Goal: of the kernel and of a module, whether or not addresses are shown; a part of a name is none.
        let list = "ffffffff81000000 T _text\n0000000000000000 t esp4_gro_receive_list\t[other]\n\
                    0000000000000000 t esp4_gro_receive\t[esp4_offload]\n";
        let has = |name: &str| has_symbol(list.as_bytes(), name).expect("it is text");
        assert_eq!(
            ["_text", "esp4_gro_receive", "esp4_gro", "esp6_gro_receive"].map(has),
            [true, true, false, false]
        );
    }
}
