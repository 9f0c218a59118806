//! A router that forwards between hosts inside and one outside of its domain, and what of both sides arrives there.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::Command;

use fadelab_kernel::attach::{Attached, Direction, to_device};
use fadelab_kernel::compile;
use fadelab_kernel::device::{Device, within};
use fadelab_kernel::object::load;
use fadelab_kernel::router::{Closed, Options, Router, edge};
use fadelab_kernel::tunnel::{RoleFrom, Way};
use libbpf_rs::{MapCore, MapFlags, Object};

use crate::common::router::compiled_here;
use crate::common::{run, unique};
use crate::packet::{self, Made, vcp_option, xcp_option};

/// Counts what comes to a host, by whose it is and whether it is marked, and takes it away.
const COUNTER: &str = r#"
#include "host.h"
struct { MAP_NUMBER(type, MAP_TYPE_ARRAY); MAP_NUMBER(max_entries, 4); u32 *key; u64 *value; } counts SEC(".maps");
char counter_license[] SEC("license") = "Dual BSD/GPL";
SEC("tc") int count(struct __sk_buff *skb)
{
	u32 is_ipv6 = skb->protocol == host_be16(ETHER_IPV6), marked, key;
	u8 head[2], last;
	u64 *counter;

	if (bpf_skb_load_bytes(skb, ETHER_BYTES, head, 2) || bpf_skb_load_bytes(skb, skb->len - 1, &last, 1))
		return TC_ACT_OK;
	if (last != 0x55 && last != 0xaa)
		return TC_ACT_OK;
	marked = is_ipv6 ? head[1] >> 4 & 3 : head[1] & 3;
	key = (last == 0xaa ? 2 : 0) + (marked ? 1 : 0);
	counter = bpf_map_lookup_elem(&counts, &key);
	if (counter)
		__sync_fetch_and_add(counter, 1);
	return TC_ACT_SHOT;
}
"#;

/// The last byte of a packet of ours and of another's, by which the counter tells them apart.
pub const OURS: u8 = 0x55;
pub const OTHERS: u8 = 0xaa;

pub struct Counter {
    object: Object,
    _attached: Attached,
}

/// Packets by whose they are and whether they are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    pub ours: u64,
    pub ours_marked: u64,
    pub others: u64,
    pub others_marked: u64,
}

impl Counter {
    pub fn new(device: &Device) -> Self {
        let text = compile::Text {
            name: "counter.bpf.c",
            text: COUNTER,
            defines: Vec::new(),
        };
        let bytes = text.object().expect("it compiles");
        let object = load(&bytes, |_| Ok(())).expect("it loads");
        let program = object.progs().next().expect("one program");
        let attached = to_device(&program, device, Direction::Ingress).expect("the device is there");
        Self {
            object,
            _attached: attached,
        }
    }

    pub fn read(&self) -> Counts {
        let map = self.object.maps().next().expect("one map");
        let count = |key: u32| {
            let value = map
                .lookup(&key.to_ne_bytes(), MapFlags::ANY)
                .expect("a map")
                .expect("a value");
            u64::from_ne_bytes(value.try_into().expect("eight bytes"))
        };
        Counts {
            ours: count(0) + count(1),
            ours_marked: count(1),
            others: count(2) + count(3),
            others_marked: count(3),
        }
    }
}

/// A sender, a router, a host inside and one outside, each a namespace; the router forwards between them.
pub struct Hosts {
    names: [String; 4],
}

/// The routers' devices and where packets through them go.
pub const WAYS: [(&str, u8); 3] = [("left", 1), ("inner", 2), ("outer", 3)];

impl Hosts {
    pub fn new() -> Self {
        let names = [unique("fld"), unique("fld"), unique("fld"), unique("fld")];
        for name in &names {
            run(&format!("ip netns add {name}"));
        }
        let hosts = Self { names };
        let router = hosts.name(1);
        for ((device, net), host) in WAYS.iter().zip([0, 2, 3]) {
            let host = hosts.name(host);
            run(&format!(
                "ip link add wire netns {host} type veth peer name {device} netns {router}"
            ));
            run(&format!(
                "ip -n {router} link set {device} address 02:00:00:00:0{net}:01 up"
            ));
            run(&format!("ip -n {host} link set wire address 02:00:00:00:0{net}:02 up"));
            run(&format!("ip -n {router} addr add 10.0.{net}.1/24 dev {device}"));
            run(&format!("ip -n {router} addr add fd0{net}::1/64 dev {device} nodad"));
            run(&format!(
                "ip -n {router} neigh add 10.0.{net}.2 lladdr 02:00:00:00:0{net}:02 dev {device}"
            ));
            run(&format!(
                "ip -n {router} neigh add fd0{net}::2 lladdr 02:00:00:00:0{net}:02 dev {device}"
            ));
        }
        let forward = "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv4.conf.all.rp_filter=0";
        run(&format!("ip netns exec {router} {forward}"));
        hosts
    }

    pub fn name(&self, host: usize) -> &str {
        &self.names[host]
    }

    /// Routes what is sent to a network by a device of the router, there to the host of another network if it has
    /// neighbours.
    pub fn route(&self, net: u8, device: &str, neighbour: Option<u8>) {
        let router = self.name(1);
        run(&format!("ip -n {router} link set {device} up"));
        for (network, host) in [
            (format!("10.0.{net}.0/24"), format!("10.0.{net}.2")),
            (format!("fd0{net}::/64"), format!("fd0{net}::2")),
        ] {
            run(&format!("ip -n {router} route add {network} dev {device}"));
            if let Some(of) = neighbour {
                run(&format!(
                    "ip -n {router} neigh add {host} lladdr 02:00:00:00:0{of}:02 dev {device}"
                ));
            }
        }
    }

    pub fn device(&self, host: usize, name: &str) -> Device {
        Device {
            name: name.to_owned(),
            netns: Some(PathBuf::from("/run/netns").join(&self.names[host])),
        }
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).output();
        }
    }
}

/// A packet to the host behind a device of the router.
pub fn frame(net: u8, made: &Made, last: u8) -> Vec<u8> {
    let mut frame = made.frame();
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 1, 2]);
    // The addresses stand in both sums: what is added to one word is taken from another.
    if made.ipv6 {
        let (source, destination) = ([0xfd, 1], [0xfd, net]);
        for (at, address) in [(22, source), (38, destination)] {
            frame[at..at + 16].fill(0);
            frame[at..at + 2].copy_from_slice(&address);
            frame[at + 15] = 2;
        }
    } else {
        frame[26..34].copy_from_slice(&[10, 0, 1, 2, 10, 0, net, 2]);
        frame[24..26].fill(0);
        let sum = !packet::folded(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
    }
    *frame.last_mut().expect("a packet") = last;
    frame
}

/// All kinds of packets to one host: ours of two wires and another's, every codepoint, both versions.
pub fn frames(net: u8) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for ipv6 in [false, true] {
        for ecn in 0..4 {
            let options = [
                (vcp_option(1), OURS),
                (vcp_option(2), OURS),
                (xcp_option([1, 2, 3, 4]), OURS),
                (vec![], OTHERS),
            ];
            for (option, last) in options {
                let made = Made {
                    ipv6,
                    ecn,
                    payload: 10,
                    before: vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2],
                    option,
                };
                frames.push(frame(net, &made, last));
            }
        }
    }
    frames
}

/// Sends frames as they are out of a device.
pub struct Sender {
    socket: OwnedFd,
}

impl Sender {
    pub fn new(device: &Device) -> Self {
        let open = || {
            let (index, _) = device.look().expect("the device is there");
            // SAFETY: a socket of constants, of which this is the only owner; an address of zeros is one of its kind,
            // and as long as it is said to be.
            unsafe {
                let socket = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
                assert!(socket >= 0, "{}", io::Error::last_os_error());
                let mut address: libc::sockaddr_ll = std::mem::zeroed();
                address.sll_family = libc::AF_PACKET as u16;
                address.sll_ifindex = index;
                let bytes = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
                assert_eq!(libc::bind(socket, (&raw const address).cast(), bytes), 0);
                OwnedFd::from_raw_fd(socket)
            }
        };
        Self {
            socket: within(device.netns.as_deref(), open).expect("the namespace is there"),
        }
    }

    /// From now on each frame says in front how much of it is to lie in one piece, see `in_pieces`.
    pub fn takes_pieces(&self) {
        let yes: i32 = 1;
        // SAFETY: the value lives through the call.
        let status = unsafe {
            let option = libc::PACKET_VNET_HDR;
            libc::setsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                option,
                (&raw const yes).cast(),
                4,
            )
        };
        assert_eq!(status, 0, "{}", io::Error::last_os_error());
    }

    pub fn send(&self, frames: &[Vec<u8>]) {
        let mut parts: Vec<libc::iovec> = frames
            .iter()
            .map(|frame| libc::iovec {
                iov_base: frame.as_ptr().cast_mut().cast(),
                iov_len: frame.len(),
            })
            .collect();
        // SAFETY: messages of zeros have neither address nor parts.
        let mut messages: Vec<libc::mmsghdr> = parts.iter().map(|_| unsafe { std::mem::zeroed() }).collect();
        for (message, part) in messages.iter_mut().zip(&mut parts) {
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: as many messages as are said, each with one part that lives through the call and is only read.
        let sent = unsafe { libc::sendmmsg(self.socket.as_raw_fd(), messages.as_mut_ptr(), messages.len() as u32, 0) };
        assert!(sent > 0, "{}", io::Error::last_os_error());
    }
}

/// A frame of more than a page, of which the kernel keeps that much in one piece in front (`struct virtio_net_hdr`).
pub fn in_pieces(front_bytes: u16, frame: &[u8]) -> Vec<u8> {
    let mut header = vec![0; 10];
    header[2..4].copy_from_slice(&front_bytes.to_ne_bytes());
    header.extend(frame);
    header
}

pub fn vcp_router(device: Device, inside: &[&str]) -> Router {
    vcp_router_told(device, inside, Vec::new())
}

/// The same, told of tunnels.
pub fn vcp_router_told(device: Device, inside: &[&str], tunnels: Vec<(Way, RoleFrom)>) -> Router {
    let closed = Closed {
        object: edge().expect("it compiles"),
        inside: inside.iter().map(|&name| name.to_owned()).collect(),
    };
    let options = Options {
        device,
        law: "vcp".to_owned(),
        capacity_bytes_per_s: 1_000_000,
        limit_bytes: 0,
        shaped: false,
        air_header_bytes: None,
        packet_bytes: None,
        tunnels,
        closed: Some(closed),
    };
    Router::load(&compiled_here("vcp"), options).expect("a router")
}
