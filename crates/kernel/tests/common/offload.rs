//! What a device joins of the packets that come (GRO), which a cable between namespaces leaves alone.
#![allow(unsafe_code)]

use std::ffi::CString;

use fadelab_kernel::device::{Device, within};

/// `linux/sockios.h` and `linux/ethtool.h`.
const SIOCETHTOOL: libc::Ioctl = 0x8946;
const ETHTOOL_SGRO: u32 = 0x2c;

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// From now on a device joins segments that come one behind the other.
pub fn join(device: &Device) {
    let name = CString::new(device.name.as_str()).expect("a name");
    let status = within(device.netns.as_deref(), || {
        let mut value = Value {
            command: ETHTOOL_SGRO,
            data: 1,
        };
        // SAFETY: a request of zeros is one without a name; the name fits, and both structs live through the calls.
        unsafe {
            let mut request: libc::ifreq = std::mem::zeroed();
            for (to, from) in request.ifr_name.iter_mut().zip(name.as_bytes()) {
                *to = *from as libc::c_char;
            }
            request.ifr_ifru.ifru_data = (&raw mut value).cast();
            let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
            let status = libc::ioctl(socket, SIOCETHTOOL, &raw mut request);
            libc::close(socket);
            status
        }
    });
    assert_eq!(status.expect("the namespace is there"), 0, "{} joins", device.name);
}
