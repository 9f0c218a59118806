//! A device behind which a process is.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use fadelab_kernel::device::{Device, within};

/// Makes the device, whose packets are read without anything in front of the IP header.
pub fn open(device: &Device) -> File {
    let made = within(device.netns.as_deref(), || {
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_NONBLOCK);
        let file = options.open("/dev/net/tun").expect("the kernel has TUN");
        // SAFETY: a request of zeros is one without a name; the name fits, and the struct lives through the call.
        let status = unsafe {
            let mut request: libc::ifreq = std::mem::zeroed();
            for (to, from) in request.ifr_name.iter_mut().zip(device.name.bytes()) {
                *to = from as libc::c_char;
            }
            request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
            libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request)
        };
        assert_eq!(status, 0, "{}", std::io::Error::last_os_error());
        file
    });
    made.expect("the namespace is there")
}

/// One packet, or none for a while.
pub fn read(mut tun: &File, packet: &mut [u8]) -> Option<usize> {
    let bytes = tun.read(packet).ok().filter(|bytes| *bytes > 0);
    if bytes.is_none() {
        std::thread::sleep(Duration::from_millis(10));
    }
    bytes
}
