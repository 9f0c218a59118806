//! A TCP connection between two hosts, of which a test says what is written when.
#![allow(unsafe_code)]

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use fadelab_kernel::device::within;

use super::{Pair, run};

/// Length of the extension header of IPv6.
pub const EXTENSION_BYTES: usize = 8;

/// Both ends of a connection.
pub struct Connection {
    pub near: TcpStream,
    pub far: TcpStream,
}

impl Connection {
    /// From the pair's sender, under a congestion control that the kernel knows, to its receiver.
    pub fn open(pair: &Pair, control: &str, ipv6: bool) -> Self {
        let (near, far) = (pair.device(&pair.sender), pair.device(&pair.receiver));
        let sysctl = format!("sysctl -qw net.ipv4.tcp_congestion_control={control}");
        run(&format!("ip netns exec {} {sysctl}", pair.sender));
        let address = if ipv6 { "[fd77::2]:0" } else { "10.77.0.2:0" };
        let listen = || TcpListener::bind(address).expect("an address of the receiver's");
        let listener = within(far.netns.as_deref(), listen).expect("a namespace");
        let address = listener.local_addr().expect("it is bound");
        let connect = || TcpStream::connect(address).expect("the receiver listens");
        let near = within(near.netns.as_deref(), connect).expect("a namespace");
        near.set_nodelay(true).expect("it is TCP");
        let (far, _) = listener.accept().expect("it is connected");
        Self { near, far }
    }

    /// What the near end sends from now on has an extension header between IPv6's and TCP's: options for the
    /// destination, of padding alone.
    pub fn extend_headers(&self) {
        // No next header yet, eight bytes, and of these four of padding.
        let header: [u8; EXTENSION_BYTES] = [0, 0, 1, 4, 0, 0, 0, 0];
        // SAFETY: the kernel reads as many bytes as there are.
        let status = unsafe {
            libc::setsockopt(
                self.near.as_raw_fd(),
                libc::IPPROTO_IPV6,
                libc::IPV6_DSTOPTS,
                header.as_ptr().cast(),
                header.len() as u32,
            )
        };
        assert_eq!(status, 0, "root may write extension headers");
    }

    /// Writes so many full segments at once and waits until they are acknowledged; `meanwhile` is called again and
    /// again.
    pub fn write(&mut self, segments: u32, mut meanwhile: impl FnMut()) {
        let bytes = segments * told(&self.near, SND_MSS);
        self.near.write_all(&vec![0; bytes as usize]).expect("it is connected");
        let since = Instant::now();
        while self.left_bytes() > 0 || told(&self.near, UNACKED) > 0 {
            meanwhile();
            assert!(
                since.elapsed() < Duration::from_secs(60),
                "all is acknowledged in the end"
            );
        }
    }

    /// Bytes that were written and are not acknowledged.
    fn left_bytes(&self) -> i32 {
        let mut bytes = 0;
        // SAFETY: the request writes one integer, which lives.
        let status = unsafe { libc::ioctl(self.near.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
        assert_eq!(status, 0, "a socket tells");
        bytes
    }
}

/// Places of fields in the kernel's `struct tcp_info`.
pub const SND_MSS: usize = 16;
pub const UNACKED: usize = 24;
pub const TOTAL_RETRANS: usize = 100;
pub const SEGS_OUT: usize = 136;
pub const DATA_SEGS_IN: usize = 152;

/// Keeps this thread, and those it starts, on the processor where it is: a pair of virtual devices has a queue of
/// arrivals per processor, so segments that two of them send overtake each other.
pub fn stay_on_one_processor() {
    // SAFETY: an empty set is one, and the kernel only reads as many bytes as it has.
    let status = unsafe {
        let mut here: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(libc::sched_getcpu() as usize, &mut here);
        libc::sched_setaffinity(0, size_of_val(&here), &raw const here)
    };
    assert_eq!(status, 0, "a thread may choose among its processors");
}

/// What a socket tells of itself: a field of 32 bits of `TCP_INFO`. The socket is locked meanwhile, so a segment that
/// it knows of has been dealt with.
pub fn told(socket: &TcpStream, field: usize) -> u32 {
    let mut info = [0u8; 256];
    let mut length = info.len() as u32;
    // SAFETY: the kernel writes at most as many bytes as there are.
    let status = unsafe {
        let place = info.as_mut_ptr().cast();
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            place,
            &raw mut length,
        )
    };
    assert!(status == 0 && length as usize > field + 4, "a socket tells");
    u32::from_ne_bytes(info[field..field + 4].try_into().expect("four bytes"))
}
