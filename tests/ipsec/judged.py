"""What is right and what is wrong, what a gateway remembers, and which levels halves tell."""

import heapq
from collections import Counter, namedtuple

from capture import NANO

Violation = namedtuple("Violation", "time number name what detail packet")


class Report:
    """Counts what was checked and collects what was wrong."""

    def __init__(self, capture, ignored_seconds):
        self.start = capture.first
        self.begin = capture.first + int(ignored_seconds * NANO) if ignored_seconds else float("-inf")
        self.checked, self.wrong, self.ignored = Counter(), Counter(), 0
        self.undecided = Counter()
        self.option_bits = Counter()  # (kind, byte of the option, bit) -> in how many packets it changed
        self.violations = []

    def check(self, what, packet, right, expected, seen):
        """One thing that was checked; expected and seen are texts or functions that make them where they are needed."""
        if packet.frame.time < self.begin:
            self.ignored += not right
            return
        self.checked[what] += 1
        if not right:
            self.wrong[what] += 1
            detail = f"expected {expected() if callable(expected) else expected}, " \
                     f"seen {seen() if callable(seen) else seen}"
            self._add(packet.frame, packet.name, what, detail, packet.describe())

    def field(self, what, packet, possible, seen):
        """An ECN field of which one value is right, or of which two may be, at the edge of the hold."""
        if len(possible) > 1 and packet.frame.time >= self.begin:
            self.undecided[what] += 1
        self.check(what, packet, seen in possible,
                   lambda: " or ".join(f"{field:02b}" for field in sorted(possible)), lambda: f"{seen:02b}")

    def refuse(self, what, frame, name, detail, packet=""):
        """Something that must not be at all."""
        if frame.time < self.begin:
            self.ignored += 1
            return
        self.wrong[what] += 1
        self._add(frame, name, what, detail, packet)

    def _add(self, frame, name, what, detail, packet):
        self.violations.append(Violation(frame.time, frame.number, name, what, detail, packet))

    def first(self, count):
        """The earliest violations, as lines."""
        for found in heapq.nsmallest(count, self.violations):
            seconds, rest = divmod(found.time - self.start, NANO)
            yield f"  {seconds}.{rest:09} s, frame {found.number}, {found.name}: {found.what}: {found.detail}"
            if found.packet:
                yield f"      {found.packet}"


class Memory:
    """The halves that a gateway knows of one direction of a tunnel; each is known until a hold time after it was saved.

    A capture shows when a packet came to a gateway and when it arrived on the link behind. Whatever the gateway did
    with it happened in between, so times are given as earliest and latest.
    """

    def __init__(self, hold):
        self.hold, self.halves = hold, {}

    def save(self, role, field, earliest, latest, sure=True):
        """From now on, the half of that role is this field; where that is not sure, it may be."""
        self.halves[role] = (field, earliest, latest, sure)

    def possible(self, role, earliest, latest):
        """All that the gateway may know of that role at that time: a set of fields, None meaning nothing."""
        if role not in self.halves:
            return {None}
        field, saved_earliest, saved_latest, sure = self.halves[role]
        if latest - saved_earliest <= self.hold and sure:
            return {field}
        if earliest - saved_latest > self.hold:
            return {None}
        return {field, None}


def level_count(code):
    """How many levels a code has."""
    return 16 if code == "sixteen" else 9


def count_levels(halves, code):
    """How often each level was seen in halves: (flow, role, field) in order.

    Two consecutive packets of a flow whose roles differ make a pair, in whichever order, and no packet is in two pairs.
    In the code of nine levels a half is one of 01, 10 and 11; a field 00 is none and ends a pair that was begun.
    """
    counts, waiting = [0] * level_count(code), {}
    for flow, role, field in halves:
        before = waiting.pop(flow, None)
        if code == "nine" and field == 0:
            continue
        if before is None or before[0] == role:
            waiting[flow] = (role, field)
            continue
        most, least = (field, before[1]) if role == 0 else (before[1], field)
        counts[4 * most + least if code == "sixteen" else (most - 1) * 3 + least - 1] += 1
    return counts


def levels_in_the_clear(packets, code):
    """Levels that a receiver in the clear would see: inner role and inner field, by flow."""
    return count_levels(((packet.flow, packet.role, packet.ecn) for packet in packets if packet.own), code)


def levels_inside(packets, code):
    """Levels that outer headers told, in order of arrival, by direction of a tunnel; all packets carry halves."""
    return count_levels(((packet.tunnel, packet.role, packet.ecn) for packet in packets), code)
