#!/usr/bin/python3
"""Show that figure1.py accepts right captures and refuses each kind of wrong one.

The captures are made here, by scapy: hosts whose data carry halves of loads, two gateways and a router that work as
sections III-B and III-C of the DCP-EW paper say, in both directions, with ACKs, pings, UDP and SYNs in between.
"""

import contextlib
import functools
import io
import os
import random
import re
import struct
import tempfile
import unittest

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.ipsec import ESP, SecurityAssociation
from scapy.packet import Raw
from scapy.utils import RawPcapNgReader

import figure1
import judged

KEY = bytes(range(20))
FORWARD = ["in", "enter", "leave", "out"]
BACKWARD = ["out.back", "leave.back", "enter.back", "in.back"]
MILLI, NANO = 10**6, 10**9
UDP_BYTES = 8
OPTION_FLAG = 0x80  # by which a router says that it saw the packet; in the last byte of the option here


def association(cipher, source, target, spi, in_udp=False):
    """One SA of scapy."""
    if cipher == "aes-gcm":
        algorithms = {"crypt_algo": "AES-GCM", "crypt_key": KEY}
    else:
        algorithms = {"crypt_algo": "NULL", "auth_algo": "HMAC-SHA1-96", "auth_key": KEY}
    header = IPv6(src=source, dst=target, hlim=64) if ":" in source else IP(src=source, dst=target, ttl=64)
    udp = UDP(sport=4500, dport=4500) if in_udp else None
    return SecurityAssociation(ESP, spi=spi, tunnel_header=header, nat_t_header=udp, **algorithms)


def again(data, **changes):
    """The same packet with other fields of the IP header, and with right checksums."""
    if data[0] >> 4 == 6:
        packet = IPv6(data)
        packet.tc, packet.hlim = changes.get("tos", packet.tc), changes.get("ttl", packet.hlim)
        return bytes(packet)
    packet = IP(data)
    for name, value in changes.items():
        setattr(packet, name, value)
    del packet.chksum
    if TCP in packet:
        del packet[TCP].chksum
    return bytes(packet)


def ecn(data):
    """The ECN field."""
    return (data[1] >> 4 if data[0] >> 4 == 6 else data[1]) & 3


def with_ecn(data, field):
    """The packet with another ECN field."""
    return again(data, tos=data[1] & 0xFC | field)


def with_flag(data):
    """The packet with the flag of the law's option set."""
    packet = IP(data)
    packet[TCP].options = [(kind, value[:-1] + bytes([value[-1] | OPTION_FLAG]) if kind == 253 else value)
                           for kind, value in packet[TCP].options]
    del packet.chksum, packet[TCP].chksum
    return bytes(packet)


class Way:
    """One direction: entry gateway, router and exit gateway, which put what arrives on each link into frames."""

    def __init__(self, links, cipher, code, role, spi, ends, in_udp, by_flow):
        self.links, self.code, self.role, self.by_flow = links, code, role, by_flow
        self.association = association(cipher, *ends, spi, in_udp)
        self.sequence, self.outer_id = 0, 0
        self.memories = {}

    def known(self, halves, role, now):
        """A remembered half that is not older than a second, or None."""
        field, time = halves.get(role, (None, -10 * NANO))
        return field if now - time <= NANO else None

    def send(self, now, data, own, load):
        """A packet's whole way; answers [link, time, bytes] four times."""
        field, role = data[1] & 3, int.from_bytes(data[4:6], "big") & 1
        sent, received = self.memories.setdefault(IP(data)[TCP].sport if own and self.by_flow else None, ({}, {}))
        if own:
            sent[role] = (field, now)
        self.sequence += 1
        self.outer_id += 1
        sealed = self.association.encrypt(IP(again(data, ttl=data[8] - 1)), seq_num=self.sequence,
                                          iv=struct.pack("!Q", self.sequence) if self.association.crypt_algo.iv_size
                                          else None)
        if UDP in sealed:
            sealed[UDP].len = UDP_BYTES + len(sealed[ESP])  # scapy writes that of the header alone
            if IPv6 in sealed:
                del sealed[UDP].chksum
        outer_role = (self.sequence if self.role == "sequence" else self.outer_id) & 1
        lowest = 0 if self.code == "sixteen" else 1
        half = self.known(sent, outer_role, now)
        entered = again(bytes(sealed), tos=lowest if half is None else half, id=self.outer_id, ttl=64)
        halves = (load >> 2, load & 3) if self.code == "sixteen" else (load // 3 + 1, load % 3 + 1)
        left = again(entered, tos=max(ecn(entered), halves[outer_role]), ttl=63)
        behind = again(data, ttl=data[8] - 2)
        received[outer_role] = (ecn(left), now)
        if own:
            half = self.known(received, role, now)
            behind = with_flag(with_ecn(behind, field if half is None else max(field, half)))
        return [[link, now + at * MILLI // 10, bytes_] for link, at, bytes_ in
                zip(self.links, (0, 1, 3, 4), (data, entered, left, behind))]


class Traffic:
    """What hosts send: data with halves of a load, and others in between."""

    def __init__(self, code, source, target, start, flows):
        self.code, self.source, self.target, self.ip_id, self.flows = code, source, target, start, flows

    def packet(self, number):
        """The packet of that number as (bytes, whether it is of the law)."""
        ip = IP(src=self.source, dst=self.target, ttl=63, tos=0, id=0, flags="DF")
        if number % 7 == 3:  # a pure ACK, and always the same one
            return bytes(ip / TCP(sport=5001, dport=40000, flags="A", seq=1, ack=77)), False
        if number % 11 == 5:
            ip.tos = 2
            return bytes(ip / UDP(sport=1, dport=2) / Raw(b"u" * (number % 50))), False
        if number % 13 == 6:
            return bytes(ip / ICMP(id=4, seq=number) / Raw(b"p" * 56)), False
        if number % 29 == 1:
            return bytes(ip / TCP(sport=number, dport=5001, flags="S", seq=number)), False
        self.ip_id += 1
        ip.id, role = self.ip_id, self.ip_id & 1
        level = number // 8 % (16 if self.code == "sixteen" else 9) // 2
        halves = (level >> 2, level & 3) if self.code == "sixteen" else (level // 3 + 1, level % 3 + 1)
        ip.tos = 4 | halves[role]  # and a DSCP, which has to stay
        option = (253, b"\xfa\xde\x01\x00")
        port = 40000 + number // 2 % self.flows
        tcp = TCP(sport=port, dport=5001, flags="A", seq=number * 100, ack=1, options=[option])
        return bytes(ip / tcp / Raw(bytes([number & 255]) * (40 + number % 60))), True


IPV4, IPV6 = ("172.31.1.1", "172.31.1.2"), ("fd00::1:1", "fd00::1:2")


def make_frames(cipher="aes-gcm", code="sixteen", role="sequence", count=400, ends=IPV4, in_udp=False, by_flow=False):
    """Frames of both directions in order of time, with a pause in which all halves are forgotten; a test may change them."""
    return [list(frame) for frame in frames_once(cipher, code, role, count, ends, in_udp, by_flow)]


@functools.lru_cache(maxsize=None)
def frames_once(cipher, code, role, count, ends, in_udp, by_flow):
    """The same, made once: scapy takes a second for them."""
    there = Way(FORWARD, cipher, code, role, 0x1001, ends, in_udp, by_flow)
    back = Way(BACKWARD, cipher, code, role, 0x1002, ends[::-1], in_udp, by_flow)
    to, fro = (Traffic(code, *way, 3 if by_flow else 1) for way in (("10.1.0.2", "10.2.0.2", 101),
                                                                    ("10.2.0.2", "10.1.0.2", 7000)))
    levels, now, frames = 16 if code == "sixteen" else 9, NANO * 1_700_000_000, []
    for number in range(count):
        now += MILLI if number != count // 2 else 3 * NANO // 2
        if number in (count // 2, count // 2 + 2):
            # The first after the pause is none of the law, and has to get the lowest level.
            frames += there.send(now, bytes(IP(src="10.1.0.2", dst="10.2.0.2", id=0) / ICMP(seq=9999)), False, 0)
            now += MILLI
        frames += there.send(now, *to.packet(number), number // 16 % levels)
        if number % 2:
            frames += back.send(now + MILLI // 20, *fro.packet(number), number // 8 % levels)
    return sorted(frames, key=lambda frame: frame[1])


def block(kind, body):
    """A block of pcapng."""
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def option(code, value):
    """An option of pcapng."""
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def write_capture(path, frames):
    """A pcapng file with nanoseconds and named interfaces of raw IPv4."""
    names = FORWARD + BACKWARD
    with open(path, "wb") as file:
        file.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
        for name in names:
            described = option(2, name.encode()) + option(9, b"\x09") + option(0, b"")
            file.write(block(1, struct.pack("<HHI", 101, 0, 0) + described))
        for name, time, data in frames:
            head = struct.pack("<5I", names.index(name), time >> 32, time & 0xFFFFFFFF, len(data), len(data))
            file.write(block(6, head + data))


def which(frames, link, wanted=lambda data: True, after=0.4):
    """The place of a frame on a link that is as wanted, after that part of them (0 is the first, 1 the last)."""
    places = [at for at, frame in enumerate(frames) if frame[0] == link and wanted(frame[2])]
    return places[round(after * (len(places) - 1))]


def is_data(data):
    """Whether a packet in the clear is of the law."""
    return data[9] == 6 and b"\xfd\x06\xfa\xde" in data


class Checker(unittest.TestCase):
    """Runs figure1.py as its command line does."""

    made = {}

    def frames(self, **how):
        """A fresh copy of right frames; making them is slow, so they are made once."""
        name = tuple(sorted(how.items()))
        if name not in self.made:
            self.made[name] = make_frames(**how)
        return [list(frame) for frame in self.made[name]]

    def check(self, frames, *more, both=True):
        """Exit status and report for these frames."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "capture.pcapng")
            write_capture(path, frames)
            backward = ["--backward", ",".join(BACKWARD)] if both else []
            return self.run_on(path, *backward, "--scapy-every", "40", *more)

    def run_on(self, path, *more):
        """Exit status and report for a file."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            try:
                status = figure1.main([path, "--forward", ",".join(FORWARD), *more])
            except SystemExit as end:
                status = end.code
        return status, output.getvalue()

    def refused(self, frames, *texts, more=()):
        """The frames are refused, and the report names why."""
        status, report = self.check(frames, *more)
        self.assertEqual(status, 1, report)
        for text in texts:
            self.assertIn(text, report)
        return report

    def violations(self, report):
        """How many there were."""
        return int(re.search(r"violations of all kinds: (\d+)", report).group(1))


class Right(Checker):
    """What has to be accepted."""

    def test_both_ciphers_codes_and_all_roles(self):
        for cipher in ("aes-gcm", "null"):
            for code in ("sixteen", "nine"):
                for role in ("sequence", "id", "written") if code == "sixteen" else ("sequence",):
                    with self.subTest(cipher=cipher, code=code, role=role):
                        frames = self.frames(cipher=cipher, code=code, role=role)
                        status, report = self.check(frames, "--cipher", cipher, "--code", code, "--role", role,
                                                    "--least-levels", "2", "--least-packets", "600",
                                                    "--scapy-every", "0")
                        self.assertEqual(status, 0, report)
                        self.assertIn("option 253: bit 7 of byte 5 changed", report)
                        self.assertIn("all right", report)

    def test_a_memory_for_each_flow(self):
        frames = self.frames(role="written", by_flow=True)
        status, report = self.check(frames, "--role", "written", "--memory", "flow", "--least-packets", "600")
        self.assertEqual(status, 0, report)
        self.assertEqual(self.check(frames, "--role", "written")[0], 1)
        of_tunnel = self.frames(role="written")
        self.assertEqual(self.check(of_tunnel, "--role", "written", "--memory", "flow")[0], 1)

    def test_headers_of_ipv6_outside(self):
        frames = self.frames(ends=IPV6)
        status, report = self.check(frames, "--least-levels", "2", "--least-packets", "600", "--scapy-every", "0")
        self.assertEqual(status, 0, report)
        at = which(frames, "leave")
        frames[at][2] = again(frames[at][2], tos=ecn(frames[at][2]) ^ 1)
        self.assertEqual(self.check(frames)[0], 1)
        frames = self.frames(ends=IPV6)
        status, report = self.check(frames, "--role", "id")
        self.assertEqual(status, 1)
        self.assertIn("IPv6 has no ID", report)

    def test_esp_in_udp(self):
        frames = self.frames(in_udp=True)
        status, report = self.check(frames, "--least-levels", "2", "--least-packets", "600", "--scapy-every", "1")
        self.assertEqual(status, 0, report)
        over_ip6 = self.frames(in_udp=True, ends=IPV6)
        self.assertEqual(self.check(over_ip6)[0], 0)
        place = which(over_ip6, "leave")
        over_ip6[place][2] = over_ip6[place][2][:46] + bytes(2) + over_ip6[place][2][48:]
        self.assertIn("not right", self.refused(over_ip6, "checksum"))
        place = which(frames, "leave")
        packet = frames[place][2]
        for at in (9, len(packet) - 1):  # a half, and a byte of the check value
            changed = self.frames(in_udp=True)
            changed[place][2] = with_ecn(packet, ecn(packet) ^ 1) if at == 9 else packet[:at] + bytes([packet[at] ^ 1])
            self.assertEqual(self.check(changed)[0], 1)
        for at, value in ((27, 1), (25, 7)):  # a checksum, which is not there, and a length that is another one
            changed = self.frames(in_udp=True)
            changed[place][2] = packet[:at] + bytes([value]) + packet[at + 1:]
            self.assertIn("ESP in UDP", self.refused(changed, "checksum"))

    def test_halves_are_forgotten(self):
        frames = self.frames()
        self.assertEqual(self.check(frames, "--hold", "1")[0], 0)
        self.assertEqual(self.check(frames, "--hold", "2")[0], 1)

    def test_one_direction_alone(self):
        self.assertEqual(self.check(self.frames(), both=False)[0], 0)

    def test_levels_before_and_behind(self):
        frames = self.frames()
        status, report = self.check(frames, "--before", "out.back", "--behind", "in.back", both=False)
        self.assertEqual(status, 0, report)
        self.assertIn("out.back (before)", report)
        self.assertIn("in.back (behind)", report)

    def test_own_by_option_and_by_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.py")
            with open(path, "w", encoding="ascii") as file:
                file.write("def mine(packet):\n    return packet.payload > 0 and 253 in packet.kinds\n")
            for own in ("option", "data-option", path + ":mine"):
                self.assertEqual(self.check(self.frames(), "--own", own)[0], 0)

    def test_packets_on_their_way_at_both_ends(self):
        frames = self.frames()
        first, last = which(frames, "enter", after=0), which(frames, "leave", after=1)
        self.assertEqual(self.check(frames[first:last])[0], 0)

    def test_lost_packets_are_counted(self):
        frames = self.frames()
        place = which(frames, "out", lambda data: data[9] == 17)
        del frames[place]
        status, report = self.check(frames)
        self.assertEqual(status, 0, report)
        self.assertIn("from leave to plain-out: 1 lost", report)

    def test_the_file_is_one_that_scapy_reads(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "capture.pcapng")
            write_capture(path, self.frames())
            reader = RawPcapNgReader(path)
            read = [data for data, _ in reader]
            reader.close()
        self.assertEqual(read, [frame[2] for frame in self.frames()])


class Wrong(Checker):
    """What has to be refused: each test changes one thing in right frames."""

    def change(self, link, how, wanted=lambda data: True, **which_frames):
        """Right frames with one packet of a link changed."""
        frames = self.frames(**which_frames)
        place = which(frames, link, wanted)
        frames[place][2] = how(frames[place][2])
        return frames

    def test_one_wrong_outer_bit(self):
        for cipher in ("aes-gcm", "null"):
            for code in ("sixteen", "nine"):
                frames = self.change("enter", lambda data: with_ecn(data, data[1] & 3 ^ 1), cipher=cipher, code=code)
                report = self.refused(frames, "event 2, outer field", more=("--cipher", cipher, "--code", code))
                self.assertEqual(self.violations(report), 1, report)

    def test_one_wrong_bit_behind(self):
        for cipher in ("aes-gcm", "null"):
            for code in ("sixteen", "nine"):
                frames = self.change("out", lambda data: with_ecn(data, data[1] & 3 ^ 2), is_data, cipher=cipher,
                                     code=code)
                report = self.refused(frames, "event 4, inner field of own packets",
                                      more=("--cipher", cipher, "--code", code))
                self.assertEqual(self.violations(report), 1, report)

    def test_other_packet_left_marked(self):
        frames = self.change("in.back", lambda data: with_ecn(data, data[1] & 3 | 1), lambda data: data[9] != 6)
        frames_ack = self.change("out", lambda data: with_ecn(data, 3), lambda data: data[9] == 6 and len(data) == 40)
        for wrong in (frames, frames_ack):
            self.assertEqual(self.violations(self.refused(wrong, "none left marked outside")), 1)

    def test_changed_payload_byte(self):
        for link in ("in", "out"):
            frames = self.change(link, lambda data: again(data[:-1] + bytes([data[-1] ^ 1])), is_data)
            report = self.refused(frames, "no other byte changed", "became")
            self.assertEqual(self.violations(report), 1, report)

    def test_changed_inner_field_inside(self):
        frames = self.change("in", lambda data: with_ecn(data, data[1] & 3 ^ 1), lambda data: data[9] == 17)
        self.refused(frames, "inner field unchanged by entry")

    def test_bad_check_value(self):
        for cipher in ("aes-gcm", "null"):
            for link in ("enter", "leave"):
                frames = self.change(link, lambda data: data[:-1] + bytes([data[-1] ^ 1]), cipher=cipher)
                self.refused(frames, "ESP check values", more=("--cipher", cipher))

    def test_esp_changed_inside(self):
        frames = self.change("leave", lambda data: data[:60] + bytes([data[60] ^ 4]) + data[61:])
        self.refused(frames, "outer bytes between enter and leave", "ESP check values")

    def test_duplicated_esp_packet(self):
        for link, text in (("leave", "no ESP packet twice"), ("enter", "ESP sequence at enter")):
            frames = self.frames()
            place = which(frames, link)
            frames.insert(place + 1, list(frames[place]))
            self.refused(frames, text)

    def test_packet_twice_behind(self):
        frames = self.frames()
        place = which(frames, "out", is_data)
        frames.insert(place + 1, list(frames[place]))
        self.refused(frames, "every packet on plain-out came by leave")

    def test_id_changed_by_a_router(self):
        for role in ("sequence", "written"):
            frames = self.change("leave", lambda data: again(data, id=IP(data).id ^ 2), role=role)
            report = self.refused(frames, "outer bytes between enter and leave", "byte 5", more=("--role", role))
            self.assertEqual(self.violations(report), 1, report)

    def test_missing_sequence_number(self):
        frames = self.frames()
        del frames[which(frames, "enter")]
        self.refused(frames, "ESP sequence at enter")

    def test_second_bit_of_the_option(self):
        def other_bit(data):
            return again(data.replace(b"\xfa\xde\x01", b"\xfa\xde\x03"))
        self.refused(self.change("out", other_bit, is_data), "one bit of the law's option")

    def test_bit_of_the_option_cleared(self):
        self.refused(self.change("out", lambda data: again(data.replace(b"\xfa\xde\x01", b"\xfa\xde\x00")), is_data),
                     "one bit of the law's option")

    def test_wrong_checksums(self):
        def wrong_sum(data):
            return data[:36] + bytes([data[36] ^ 1]) + data[37:]
        frames = self.change("out", wrong_sum, is_data)
        self.refused(frames, "checksums of packets in the clear", "TCP checksum")
        self.assertEqual(self.check(frames, "--no-tcp-checksum")[0], 0)
        frames = self.change("leave", lambda data: data[:10] + bytes([data[10] ^ 1]) + data[11:])
        self.refused(frames, "checksums of outer headers")

    def test_rising_ttl(self):
        self.refused(self.change("out", lambda data: again(data, ttl=200)), "TTL only falls")

    def test_changed_dscp(self):
        self.refused(self.change("out", lambda data: again(data, tos=data[1] ^ 0x20), is_data), "no other byte changed")

    def test_any_bit(self):
        chance = random.Random(1)
        for _ in range(25):
            frames = self.frames()
            place = chance.randrange(30, len(frames))
            bit = chance.randrange(len(frames[place][2]) * 8)
            data = bytearray(frames[place][2])
            data[bit // 8] ^= 1 << bit % 8
            frames[place][2] = bytes(data)
            with self.subTest(place=place, link=frames[place][0], bit=bit):
                self.refused(frames)

    def test_ignored_seconds(self):
        frames = self.frames()
        place = which(frames, "enter", after=0.02)
        frames[place][2] = with_ecn(frames[place][2], frames[place][2][1] & 3 ^ 1)
        self.refused(frames)
        status, report = self.check(frames, "--ignore-first-seconds", "0.1")
        self.assertEqual(status, 0, report)
        self.assertIn("as asked: 1 wrong", report)

    def test_time_runs_back(self):
        frames = self.frames()
        frames[200][1] -= NANO
        self.refused(frames, "times never run back")

    def test_wrong_key_and_wrong_code(self):
        self.refused(self.frames(), "ESP check values", more=("--key", "ff" * 20))
        self.refused(self.frames(), "event", more=("--code", "nine"))

    def test_minimums(self):
        self.refused(self.frames(), "minimum not reached", more=("--least-levels", "1000"))
        self.refused(self.frames(), "minimum not reached", more=("--least-packets", "1000000"))


class Parts(unittest.TestCase):
    """Parts of the checker by themselves."""

    def test_memory_at_the_edge_of_the_hold(self):
        memory = judged.Memory(100)
        self.assertEqual(memory.possible(0, 0, 1), {None})
        memory.save(0, 3, 10, 12)
        self.assertEqual(memory.possible(0, 108, 110), {3})
        self.assertEqual(memory.possible(0, 109, 111), {3, None})
        self.assertEqual(memory.possible(0, 112, 114), {3, None})
        self.assertEqual(memory.possible(0, 113, 115), {None})
        self.assertEqual(memory.possible(1, 20, 21), {None})

    def test_levels(self):
        halves = [("a", 0, 3), ("b", 1, 1), ("a", 1, 2), ("a", 1, 0), ("b", 1, 2), ("b", 0, 1), ("a", 1, 1)]
        counts = judged.count_levels(halves, "sixteen")
        self.assertEqual({level: count for level, count in enumerate(counts) if count}, {14: 1, 6: 1})
        counts = judged.count_levels([("a", 0, 3), ("a", 1, 3), ("a", 0, 1), ("a", 1, 0), ("a", 1, 1)], "nine")
        self.assertEqual(counts, [0] * 8 + [1])


class Unusable(Checker):
    """Wrong usage and wrong files: exit status 2."""

    def test_files(self):
        self.assertEqual(self.run_on("/nonexistent")[0], 2)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "capture.pcapng")
            write_capture(path, self.frames())
            with open(path, "rb") as file:
                whole = file.read()
            for wrong in (whole[:-5], b"", b"no capture at all, but long enough", whole[:28]):
                with open(path, "wb") as file:
                    file.write(wrong)
                self.assertEqual(self.run_on(path)[0], 2)

    def test_usage(self):
        self.assertEqual(self.check(self.frames(), "--before", "no such")[0], 2)
        self.assertEqual(self.check(self.frames(), "--key", "00")[0], 2)
        self.assertEqual(self.check(self.frames(), "--own", "nothing")[0], 2)
        self.assertEqual(self.check(self.frames(), "--backward", "in,enter,leave,out")[0], 2)


if __name__ == "__main__":
    unittest.main()
