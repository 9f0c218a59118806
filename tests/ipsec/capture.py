"""Reads captures: all frames of a pcapng file (draft-ietf-opsawg-pcapng) by the name of their interface."""

import mmap
import struct
from collections import defaultdict, namedtuple

NANO = 10**9
LINK_TYPES_RAW = (101, 228)  # LINKTYPE_RAW and LINKTYPE_IPV4


class Unusable(Exception):
    """The file or the command line cannot be used at all: exit status 2."""


Frame = namedtuple("Frame", "number time start length")  # number counts from 1 over the whole file; time in nanoseconds
Interface = namedtuple("Interface", "name ticks offset")  # ticks per second, offset in seconds


class Capture:
    """All frames of a pcapng file by the name of their interface; their bytes stay in the file until needed."""

    SECTION, DESCRIPTION, SIMPLE, ENHANCED = 0x0A0D0D0A, 1, 3, 6
    OBSOLETE = 2

    def __init__(self, path):
        try:
            with open(path, "rb") as file:
                self.bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise Unusable(f"{path}: {error}") from error
        self.frames = defaultdict(list)
        self.backwards = []  # frames that are earlier than the one before them
        self.first = self.last = None
        self.number = 0
        self.order, self.interfaces = "<", []
        try:
            self._read_blocks()
        except struct.error as error:
            raise Unusable(f"{path}: broken block: {error}") from error
        if self.first is None:
            raise Unusable(f"{path}: no packet in it")

    def data(self, frame):
        """The bytes of a frame, from its IP header on."""
        return self.bytes[frame.start:frame.start + frame.length]

    def _read_blocks(self):
        at, size = 0, len(self.bytes)
        while at < size:
            if at == 0 or self.bytes[at:at + 4] == b"\x0a\x0d\x0d\x0a":
                self._begin_section(at)
            kind, length = struct.unpack_from(self.order + "II", self.bytes, at)
            if length < 12 or length % 4 or at + length > size:
                raise Unusable(f"the block at byte {at} is cut short or broken")
            if kind == self.DESCRIPTION:
                self._describe_interface(at, length)
            elif kind == self.ENHANCED:
                self._add_frame(at, length)
            elif kind in (self.SIMPLE, self.OBSOLETE):
                raise Unusable(f"the packet block at byte {at} is of type {kind}; only enhanced packet blocks are read")
            at += length

    def _begin_section(self, at):
        magic = self.bytes[at + 8:at + 12]
        if self.bytes[at:at + 4] != b"\x0a\x0d\x0d\x0a" or magic not in (b"\x1a\x2b\x3c\x4d", b"\x4d\x3c\x2b\x1a"):
            raise Unusable("this is no pcapng file")
        self.order = ">" if magic == b"\x1a\x2b\x3c\x4d" else "<"
        self.interfaces = []

    def _describe_interface(self, at, length):
        link_type, = struct.unpack_from(self.order + "H", self.bytes, at + 8)
        name, ticks, offset = f"interface {len(self.interfaces)}", 10**6, 0
        for code, value in self._options(at + 16, at + length - 4):
            if code == 2:
                name = value.rstrip(b"\0").decode("utf-8", "replace")
            elif code == 9:
                ticks = 2**(value[0] & 0x7F) if value[0] & 0x80 else 10**value[0]
            elif code == 14:
                offset, = struct.unpack(self.order + "q", value)
        if link_type not in LINK_TYPES_RAW:
            raise Unusable(f"interface {name}: link type {link_type}, which is not raw IP")
        self.interfaces.append(Interface(name, ticks, offset))
        self.frames[name]  # so that an interface without packets is known too

    def _options(self, at, end):
        while at + 4 <= end:
            code, length = struct.unpack_from(self.order + "HH", self.bytes, at)
            if code == 0:
                return
            yield code, self.bytes[at + 4:at + 4 + length]
            at += 4 + (length + 3 & ~3)

    def _add_frame(self, at, length):
        which, high, low, captured, original = struct.unpack_from(self.order + "5I", self.bytes, at + 8)
        if which >= len(self.interfaces) or captured > length - 32:
            raise Unusable(f"the packet block at byte {at} is broken")
        if captured < original:
            raise Unusable(f"the packet at byte {at} was cut by the capture to {captured} of {original} bytes")
        interface = self.interfaces[which]
        time = (high << 32 | low) * NANO // interface.ticks + interface.offset * NANO
        self.number += 1
        frame = Frame(self.number, time, at + 28, captured)
        if self.first is None:
            self.first = self.last = time
        if time < self.last:
            self.backwards.append((interface.name, frame))
        self.last = max(self.last, time)
        self.frames[interface.name].append(frame)
