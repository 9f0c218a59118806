"""Reads packets in the clear: IPv4 and TCP headers (RFC 791, RFC 9293), and which of them are of the law."""

import argparse
import hashlib
import importlib.util
import ipaddress
import struct

TCP = 6
SYN = 0x02
EXPERIMENTAL_KINDS = (253, 254)  # TCP options for experiments, RFC 4727 and RFC 6994


class Broken(Exception):
    """The bytes of a packet cannot be read as what they should be."""


class Clear:
    """An IPv4 packet in the clear: on a plain link, or decrypted; with what the law and the comparison need of it."""

    __slots__ = ("name", "frame", "source", "target", "protocol", "ip_id", "ecn", "ttl", "length", "tcp_flags",
                 "payload", "kinds", "ports", "law_options", "tcp_checksum", "key", "weak_key", "own", "faults")

    @property
    def role(self):
        """0 for the most significant half, 1 for the least: the lowest bit of the IP ID (paper, section III-B)."""
        return self.ip_id & 1

    @property
    def flow(self):
        """What tells a flow from others."""
        return self.source, self.target, self.protocol, self.ports

    def describe(self):
        """A few words for a report."""
        return (f"{dotted(self.source)} > {dotted(self.target)} protocol {self.protocol} ID {self.ip_id} "
                f"length {self.length} ECN {self.ecn:02b} {'own' if self.own else 'other'}")


def dotted(address):
    """An address as people write it."""
    return str(ipaddress.ip_address(bytes(address)))


def checksum_fits(data):
    """Whether 16-bit words, their checksum among them, add up to what RFC 1071 asks.

    The ones' complement sum of words is the number that they form modulo 65535, because 65536 is 1 modulo 65535.
    """
    if len(data) % 2:
        data += b"\0"
    return int.from_bytes(data, "big") % 0xFFFF == 0


def ip_header_length(data):
    """Length of the IPv4 header that data begin with; Broken if they do not, or if bytes are missing."""
    if len(data) < 20 or data[0] >> 4 != 4:
        raise Broken("no IPv4 header")
    header, total = (data[0] & 15) * 4, int.from_bytes(data[2:4], "big")
    if header < 20 or total < header or total > len(data):
        raise Broken(f"IPv4 header of {header} bytes, packet of {total}, but {len(data)} are there")
    return header


def ip6_header_length(data):
    """Length of the IPv6 header (RFC 8200) that data begin with; Broken if bytes are missing."""
    if len(data) < 40 or ip_length(data) > len(data):
        raise Broken(f"IPv6 packet of which {len(data)} bytes are there")
    return 40


def ip_length(data):
    """Bytes of a packet with its header, as that says."""
    if data[0] >> 4 == 6:
        return 40 + int.from_bytes(data[4:6], "big")
    return int.from_bytes(data[2:4], "big")


def without_what_routers_write(data):
    """The bytes of a packet with ECN field, TTL and header checksum set to zero."""
    data = bytearray(data)
    if data[0] >> 4 == 6:
        data[1] &= 0xCF
        data[7] = 0
    else:
        data[1] &= 0xFC
        data[8] = data[10] = data[11] = 0
    return data


def tcp_options(data, at, end):
    """Each option of a TCP header as (kind, where it begins, length), RFC 9293 section 3.1; stops where broken."""
    while at < end and data[at] != 0:
        if data[at] == 1:
            at += 1
            continue
        if at + 1 >= end or data[at + 1] < 2 or at + data[at + 1] > end:
            return
        yield data[at], at, data[at + 1]
        at += data[at + 1]


def read_clear(data, name, frame, rules):
    """Dissects a packet in the clear; Broken if it is no IPv4 packet. Wrong checksums are noted in its faults."""
    header = ip_header_length(data)
    packet = Clear()
    packet.name, packet.frame, packet.faults = name, frame, []
    packet.length, packet.ip_id, fragment = struct.unpack_from("!HHH", data, 2)
    packet.ecn, packet.ttl, packet.protocol = data[1] & 3, data[8], data[9]
    packet.source, packet.target = data[12:16], data[16:20]
    packet.tcp_flags = packet.payload = 0
    packet.kinds = packet.law_options = packet.ports = ()
    packet.tcp_checksum = None
    if not checksum_fits(data[:header]):
        packet.faults.append("IP header checksum")
    # ECN, TTL and checksum are neutral: what may change is compared by itself, everything else by this copy.
    neutral = bytearray(data[:packet.length])
    neutral[1] &= 0xFC
    neutral[8] = neutral[10] = neutral[11] = 0
    if packet.protocol == TCP and not fragment & 0x3FFF:
        read_tcp(packet, data[:packet.length], header, neutral, rules)
    packet.key = hashlib.blake2b(neutral, digest_size=16).digest()
    packet.weak_key = bytes(data[2:6]) + bytes(data[9:10]) + bytes(data[12:20]) + bytes(data[header:header + 8])
    packet.own = rules.own(packet) and not (rules.code == "nine" and packet.ecn == 0)  # 00 is no half of that code
    return packet


def read_tcp(packet, data, header, neutral, rules):
    """Adds what the TCP header says, and takes its checksum and the data of experimental options out of the copy."""
    if len(data) < header + 20 or len(data) < header + (data[header + 12] >> 4) * 4 or data[header + 12] >> 4 < 5:
        packet.faults.append("TCP header length")
        return
    end = header + (data[header + 12] >> 4) * 4
    packet.ports = struct.unpack_from("!HH", data, header)
    packet.tcp_flags, packet.payload = data[header + 13], len(data) - end
    packet.tcp_checksum, = struct.unpack_from("!H", data, header + 16)
    neutral[header + 16:header + 18] = b"\0\0"
    options = list(tcp_options(data, header + 20, end))
    packet.kinds = tuple(kind for kind, _, _ in options)
    packet.law_options = tuple(data[at:at + length] for kind, at, length in options if kind in EXPERIMENTAL_KINDS)
    for kind, at, length in options:
        if kind in EXPERIMENTAL_KINDS:
            neutral[at + 2:at + length] = bytes(length - 2)
    if rules.tcp_checksum:
        pseudo_header = data[12:20] + struct.pack("!HH", TCP, len(data) - header)
        if not checksum_fits(pseudo_header + data[header:]):
            packet.faults.append("TCP checksum")


def own_by_data(packet):
    """A packet of the law is TCP with payload and without SYN."""
    return packet.protocol == TCP and packet.payload > 0 and not packet.tcp_flags & SYN


def own_by_option(packet):
    """A packet of the law is TCP with an option for experiments (RFC 6994), whatever else it carries."""
    return any(kind in EXPERIMENTAL_KINDS for kind in packet.kinds)


def own_by_both(packet):
    """A packet of the law is data, and has the option."""
    return own_by_data(packet) and own_by_option(packet)


OWN = {"data": own_by_data, "option": own_by_option, "data-option": own_by_both}


def own_predicate(text):
    """What --own names: one of the above, or a function of a Clear packet in a file of Python, as FILE.py:NAME."""
    if text in OWN:
        return OWN[text]
    path, colon, name = text.rpartition(":")
    if not colon:
        raise argparse.ArgumentTypeError(f"{text}: none of {', '.join(OWN)}, and no FILE.py:NAME")
    try:
        description = importlib.util.spec_from_file_location("own_predicate", path)
        module = importlib.util.module_from_spec(description)
        description.loader.exec_module(module)
        return getattr(module, name)
    except Exception as error:  # whatever a stranger's file does wrong is wrong usage here
        raise argparse.ArgumentTypeError(f"{text}: {error}") from error
