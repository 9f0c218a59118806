"""One direction of a tunnel: follows its packets over four links, and checks the events of figure 1."""

from collections import Counter, defaultdict, deque

from clear import Broken, checksum_fits, ip_length, read_clear, without_what_routers_write
from esp import BadCheckValue, Sealed, read_sealed
from judged import Memory

STEPS = ("plain-in", "enter", "leave", "plain-out")


class Step:
    """What became of packets between two links that follow each other."""

    def __init__(self):
        self.earlier = {}  # id of a later packet -> the packet that it was before
        self.later = {}  # the other way round
        self.unmatched_earlier, self.unmatched_later = [], []
        self.lost = self.on_the_way = self.begun_before = 0

    def join(self, earlier, later):
        """These two are one packet."""
        self.earlier[id(later)] = earlier
        self.later[id(earlier)] = later


class Direction:
    """One direction: reads its four links, follows the packets, and checks the events of figure 1."""

    def __init__(self, title, names, capture, rules, report):
        self.title, self.names = title, dict(zip(STEPS, names))
        self.capture, self.rules, self.report = capture, rules, report
        self.not_followed = Counter()
        self.notes = Counter()
        self.packets = {}
        self.steps = {}
        self.followed = 0

    def check(self):
        """All of it, in the order of a packet's way."""
        for step in STEPS:
            self.packets[step] = self._read_clear(step) if step.startswith("plain") else self._read_sealed(step)
        self._open(self.packets["enter"])
        self._follow_inside()
        self._open_leaving()
        self._follow_content("plain-in", "enter", lambda packet: packet, lambda packet: packet.inner)
        self._follow_content("leave", "plain-out", lambda packet: packet.inner, lambda packet: packet)
        self._check_entry_bytes()
        self._check_exit_bytes()
        self._check_entry_fields()
        self._check_exit_fields()
        self._count_followed()

    # Reading ---------------------------------------------------------------------------------------------------------

    def _read(self, step, reader):
        """Packets of IP on a link, each with its bytes; what cannot be read is refused."""
        name = self.names[step]
        for frame in self.capture.frames[name]:
            data = self.capture.data(frame)
            if data and data[0] >> 4 not in (4, 6):
                self.not_followed[f"{name}: not IP"] += 1
                continue
            try:
                yield reader(data, name, frame, self.rules), data
            except Broken as error:
                self.report.refuse("readable packet", frame, name, str(error))

    def _read_clear(self, step):
        packets = []
        for packet, _ in self._read(step, read_clear):
            self._check_sums(packet, packet)
            packets.append(packet)
        return packets

    def _check_sums(self, packet, place):
        """IP and TCP checksums, which must be right in the clear and in what was decrypted."""
        what = "checksums of packets in the clear" if packet is place else "checksums of decrypted packets"
        self.report.check(what, place, not packet.faults, "right ones", lambda: f"wrong: {', '.join(packet.faults)}")

    def _read_sealed(self, step):
        packets = []
        for packet, data in self._read(step, read_sealed):
            if packet is None:
                self.not_followed[f"{self.names[step]}: IP, but not ESP"] += 1
                continue
            if packet.ip_id is not None:  # IPv6 has no checksum
                self.report.check("checksums of outer headers", packet, checksum_fits(data[:packet.ip_bytes]),
                                  "a right one", "a wrong IP header checksum")
            packets.append(packet)
        return packets

    # Opening ---------------------------------------------------------------------------------------------------------

    def _open(self, packets):
        """Verifies and decrypts each packet; scapy does a sample again, and has to find the same bytes."""
        every = self.rules.scapy_every or max(1, min(50, len(packets) // 1000))
        for number, packet in enumerate(packets):
            outer = self._outer(packet)
            self._open_one(packet, outer, number % every == 0)

    def _outer(self, packet):
        data = self.capture.data(packet.frame)
        return data[:ip_length(data)]

    def _open_one(self, packet, outer, ask_scapy):
        what = "ESP check values"
        try:
            inner = self.rules.opener.open(outer[packet.header:])
        except BadCheckValue as error:
            self.report.check(what, packet, False, "a right one", f"a wrong one: {error}")
            return
        except Broken as error:
            self.report.refuse("ESP trailers", packet.frame, packet.name, str(error), packet.describe())
            return
        self.report.check(what, packet, True, "", "")
        if ask_scapy:
            second = self.rules.second.open(outer, packet.association)
            self.report.check("scapy opens to the same", packet, second == inner, inner.hex,
                              lambda: second if isinstance(second, str) else second.hex())
        try:
            packet.inner = read_clear(inner, packet.name, packet.frame, self.rules)
        except Broken as error:
            self.report.refuse("readable packet", packet.frame, packet.name, f"decrypted: {error}", packet.describe())
            return
        self._check_sums(packet.inner, packet)

    def _open_leaving(self):
        """Verifies each packet at the exit; where its bytes are those of the entry, what is in it is known already."""
        packets, step = self.packets["leave"], self.steps["leave"]
        changed = []
        for packet in packets:
            before = step.earlier.get(id(packet))
            outer = self._outer(packet)
            if before is None or before.inner is None or self._outer(before)[before.header:] != outer[packet.header:]:
                changed.append(packet)
                continue
            try:
                self.rules.opener.open(outer[packet.header:])
                right = True
            except (BadCheckValue, Broken):
                right = False
            self.report.check("ESP check values", packet, right, "a right one", "a wrong one")
            packet.inner = before.inner
        self._open(changed)

    # Following -------------------------------------------------------------------------------------------------------

    def _follow_inside(self):
        """From enter to leave, by SPI and sequence number; what routers may change there is ECN field and TTL alone."""
        step = self.steps["leave"] = Step()
        entered = self._check_sequence()
        seen = {}
        for packet in self.packets["leave"]:
            name = packet.association + (packet.sequence,)
            self.report.check("no ESP packet twice", packet, name not in seen, "each once",
                              lambda: f"again, first in frame {seen[name].frame.number}")
            if name in seen:
                continue
            seen[name] = packet
            before = entered.get(name)
            if before is None or before.frame.time > packet.frame.time:
                step.unmatched_later.append(packet)
                continue
            step.join(before, packet)
            self._check_routers(before, packet)
        self._end_step("enter", "leave", step)
        for packet in step.unmatched_later:
            self._refuse_stranger(packet, "every packet on leave came by enter")
        self._note_order("leave", self.packets["leave"])

    def _check_sequence(self):
        """ESP counts up by one in each SA (RFC 4303 section 2.2); answers the packets by SA and number."""
        last, entered = {}, {}
        for packet in self.packets["enter"]:
            before = last.get(packet.association)
            if before is not None:
                self.report.check("ESP sequence at enter", packet, packet.sequence == before + 1, f"{before + 1}",
                                  f"{packet.sequence}")
            last[packet.association] = packet.sequence
            entered.setdefault(packet.association + (packet.sequence,), packet)
        return entered

    def _note_order(self, step, packets):
        last = {}
        for packet in packets:
            if packet.sequence < last.get(packet.association, 0):
                self.notes[f"out of order on {step}"] += 1
            last[packet.association] = max(packet.sequence, last.get(packet.association, 0))

    def _check_routers(self, before, after):
        """Between enter and leave nothing changes but ECN field, TTL and header checksum."""
        old, new = (without_what_routers_write(self._outer(packet)) for packet in (before, after))
        self.report.check("outer bytes between enter and leave", after, old == new, "no other byte changed",
                          lambda: differences(old, new))
        self.report.check("TTL only falls", after, after.ttl <= before.ttl, f"at most {before.ttl}", f"{after.ttl}")
        change = "raised" if after.ecn > before.ecn else "lowered" if after.ecn < before.ecn else "left"
        self.notes[f"outer fields {change} by routers"] += 1

    def _follow_content(self, first, second, first_clear, second_clear):
        """Finds the same packet on two links by its content; identical ones are matched in order."""
        step = self.steps[second] = Step()
        waiting, flight = defaultdict(deque), self.rules.flight
        for packet in self.packets[first]:
            if first_clear(packet) is not None:
                waiting[first_clear(packet).key].append(packet)
        for packet in self.packets[second]:
            if second_clear(packet) is None:
                continue
            queue = waiting[second_clear(packet).key]
            while queue and queue[0].frame.time < packet.frame.time - flight:
                queue.popleft()
            if queue and queue[0].frame.time <= packet.frame.time:
                step.join(queue.popleft(), packet)
            else:
                step.unmatched_later.append(packet)
        self._end_step(first, second, step)
        self._explain_strangers(step, first_clear, second_clear, f"every packet on {second} came by {first}")

    def _end_step(self, first, second, step):
        """Tells what was lost from what was on its way when the capture began or ended."""
        joined = [packet.frame.number for packet in self.packets[second] if id(packet) in step.earlier]
        step.first_joined = min(joined, default=float("inf"))
        gone_on = [packet.frame.number for packet in self.packets[first] if id(packet) in step.later]
        last_joined = max(gone_on, default=0)
        for packet in self.packets[first]:
            if id(packet) in step.later:
                continue
            step.unmatched_earlier.append(packet)
            late = packet.frame.time > self.capture.last - self.rules.flight
            if late and packet.frame.number > last_joined:
                step.on_the_way += 1
            else:
                step.lost += 1

    def _explain_strangers(self, step, first_clear, second_clear, what):
        """A packet that nobody sent may be one that was changed on its way: then says which bytes."""
        left = defaultdict(deque)
        for packet in step.unmatched_earlier:
            if first_clear(packet) is not None:
                left[first_clear(packet).weak_key].append(packet)
        for packet in step.unmatched_later:
            queue = left[second_clear(packet).weak_key]
            while queue and queue[0].frame.time < packet.frame.time - self.rules.flight:
                queue.popleft()
            if queue and queue[0].frame.time <= packet.frame.time:
                before = self._clear_bytes(queue.popleft())
                self.report.refuse("no other byte changed", packet.frame, packet.name,
                                   differences(before, self._clear_bytes(packet)), packet.describe())
            else:
                self._refuse_stranger(packet, what, step)

    def _refuse_stranger(self, packet, what, step=None):
        """A packet that was not on the link before is right only where it was there before the capture began."""
        step = step or self.steps["leave"]
        early = packet.frame.time < self.capture.first + self.rules.flight
        if early and packet.frame.number < step.first_joined:
            step.begun_before += 1
        else:
            self.report.refuse(what, packet.frame, packet.name, "it did not, or it comes again", packet.describe())

    def _clear_bytes(self, packet):
        """The bytes of a packet in the clear, decrypted where need be; without what may always change."""
        data = self._outer(packet)
        if isinstance(packet, Sealed):
            data = self.rules.opener.open(data[packet.header:])
        data = without_what_routers_write(data[:ip_length(data)])
        return data

    # Comparing -------------------------------------------------------------------------------------------------------

    def _check_entry_bytes(self):
        """What is decrypted on enter is what came by plain-in, ECN field and all, but for the TTL."""
        for packet in self.packets["enter"]:
            before = self.steps["enter"].earlier.get(id(packet))
            if before is None:
                continue
            inner = packet.inner
            self.report.check("bytes between plain-in and enter", packet,
                              before.law_options == inner.law_options and self._same_sum(before, inner),
                              lambda: options_text(before), lambda: options_text(inner))
            self.report.field("inner field unchanged by entry", packet, {before.ecn}, inner.ecn)
            self.report.check("TTL only falls", packet, inner.ttl <= before.ttl, f"at most {before.ttl}",
                              f"{inner.ttl}")

    def _same_sum(self, before, after):
        return not self.rules.tcp_checksum or before.tcp_checksum == after.tcp_checksum

    def _check_exit_bytes(self):
        """What comes by plain-out is what was decrypted on leave, but for the TTL and one bit of the law's option."""
        for packet in self.packets["plain-out"]:
            sealed = self.steps["plain-out"].earlier.get(id(packet))
            if sealed is None:
                continue
            before = sealed.inner
            bits = list(changed_option_bits(before.law_options, packet.law_options))
            same = bool(bits) or self._same_sum(before, packet)
            self.report.check("bytes between leave and plain-out", packet, same,
                              lambda: options_text(before), lambda: options_text(packet))
            self.report.check("TTL only falls", packet, packet.ttl <= before.ttl, f"at most {before.ttl}",
                              f"{packet.ttl}")
            if bits:
                self._check_option_bits(bits, before, packet)

    def _check_option_bits(self, bits, before, packet):
        """The exit may tell that a router saw the packet: by one bit, the same in all packets, which it sets."""
        self.notes["packets changed in the TCP option alone"] += 1
        what = "one bit of the law's option, set"
        for kind, byte, bit, old in bits:
            place = (kind, byte, bit)
            self.report.option_bits[place] += 1
            allowed = next(iter(self.report.option_bits))
            right = before.own and place == allowed and old == 0
            self.report.check(what, packet, right,
                              lambda: f"at most that bit {allowed[2]} of byte {allowed[1]} of option {allowed[0]} goes "
                                      "from 0 to 1, in a packet of the law",
                              lambda: f"bit {bit} of byte {byte} of option {kind} went from {old} to {1 - old}")

    # Events ----------------------------------------------------------------------------------------------------------

    def _unit(self, packet):
        """What a gateway has one memory for: a tunnel, or a flow in it."""
        return (packet.tunnel, packet.inner.flow) if self.rules.by_flow and packet.inner else packet.tunnel

    def _check_entry_fields(self):
        """Events 1 and 2, in the order of ESP's sequence numbers, which is that of arrival unless refused above."""
        memories = defaultdict(lambda: Memory(self.rules.hold))
        lowest = 0 if self.rules.code == "sixteen" else 1
        for packet in self.packets["enter"]:
            memory, before = memories[self._unit(packet)], self.steps["enter"].earlier.get(id(packet))
            latest = packet.frame.time
            earliest = before.frame.time if before else latest
            if packet.own:
                memory.save(packet.inner.role, (before or packet.inner).ecn, earliest, latest)
                self.notes["event 1, halves remembered"] += 1
            if packet.inner is None:
                continue
            known = memory.possible(packet.role, earliest, latest)
            possible = {lowest if field is None else field for field in known}
            kind = "own" if packet.own else "other"
            self.report.field(f"event 2, outer field of {kind} packets", packet, possible, packet.ecn)

    def _check_exit_fields(self):
        """Events 3 and 4, in the order of arrival on leave.

        A memory for each flow may begin with the first packet of the law, since nobody else's needs one: whether it has
        what packets before that brought, such as the flow's SYN, is open.
        """
        memories, begun = defaultdict(lambda: Memory(self.rules.hold)), set()
        for packet in self.packets["leave"]:
            if packet.inner is None:
                continue
            memory, after = memories[self._unit(packet)], self.steps["plain-out"].later.get(id(packet))
            earliest = packet.frame.time
            latest = after.frame.time if after else earliest
            if packet.own or not self.rules.by_flow:
                begun.add(self._unit(packet))
            no_half = self.rules.code == "nine" and packet.ecn == 0
            if not no_half:
                memory.save(packet.role, packet.ecn, earliest, latest, self._unit(packet) in begun)
                self.notes["event 3, halves remembered"] += 1
            if after is None:
                continue
            field = self._field_at_entry(packet)
            if packet.own:
                known = memory.possible(packet.inner.role, earliest, latest)
                possible = {field if half is None else max(field, half) for half in known}
                self.notes["event 4, inner fields raised"] += after.ecn > field
                self.report.field("event 4, inner field of own packets", after, possible, after.ecn)
            else:
                self.report.field("none left marked outside", after, {field}, after.ecn)

    def _field_at_entry(self, packet):
        """The inner field with which a packet on leave had entered, by plain-in where it was seen there."""
        sealed = self.steps["leave"].earlier.get(id(packet))
        before = self.steps["enter"].earlier.get(id(sealed)) if sealed else None
        return (before or packet.inner).ecn

    def _count_followed(self):
        for packet in self.packets["leave"]:
            sealed = self.steps["leave"].earlier.get(id(packet))
            if sealed and id(sealed) in self.steps["enter"].earlier and id(packet) in self.steps["plain-out"].later:
                self.followed += 1


def differences(before, after):
    """Which bytes differ, in words."""
    if len(before) != len(after):
        return f"{len(before)} bytes became {len(after)}"
    places = [f"byte {at}: {old:#04x} became {new:#04x}"
              for at, (old, new) in enumerate(zip(before, after)) if old != new]
    return "; ".join(places[:8]) + (f"; and {len(places) - 8} more" if len(places) > 8 else "")


def options_text(packet):
    """TCP checksum and experimental options of a packet."""
    options = " ".join(option.hex() for option in packet.law_options) or "none"
    return f"options {options}, TCP checksum {packet.tcp_checksum}"


def changed_option_bits(before, after):
    """Each bit that differs, as (kind, byte counted from the option's kind, bit counted from the lowest, old value)."""
    for old, new in zip(before, after):
        for byte, (one, other) in enumerate(zip(old, new)):
            for bit in range(8):
                if (one ^ other) >> bit & 1:
                    yield old[0], byte, bit, one >> bit & 1
