//! What a device joins of the packets that come, and what it leaves to be cut before it.
#![allow(unsafe_code)]

use fadelab_kernel::device::{Device, within};

/// `linux/sockios.h` and `linux/ethtool.h`.
const SIOCETHTOOL: libc::Ioctl = 0x8946;
const ETHTOOL_STSO: u32 = 0x1f;
const ETHTOOL_SGRO: u32 = 0x2c;

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// From now on a device takes no super-packets: they are cut before it, and come one segment behind the other.
pub fn cut(device: &Device) {
    set(device, ETHTOOL_STSO, 0);
}

/// From now on a device joins what comes so (GRO). A cable does that where the other end takes no super-packets.
pub fn join(device: &Device) {
    set(device, ETHTOOL_SGRO, 1);
}

fn set(device: &Device, command: u32, data: u32) {
    let status = within(device.netns.as_deref(), || {
        let mut value = Value { command, data };
        // SAFETY: a request of zeros is one without a name; the name fits, and both structs live through the calls.
        unsafe {
            let mut request: libc::ifreq = std::mem::zeroed();
            for (to, from) in request.ifr_name.iter_mut().zip(device.name.bytes()) {
                *to = from as libc::c_char;
            }
            request.ifr_ifru.ifru_data = (&raw mut value).cast();
            let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
            let status = libc::ioctl(socket, SIOCETHTOOL, &raw mut request);
            libc::close(socket);
            status
        }
    });
    assert_eq!(status.expect("the namespace is there"), 0, "{device:?}");
}
