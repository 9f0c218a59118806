#!/usr/bin/python3
"""Check, from packet captures, that two IPsec gateways carry the marks of DCP-EW as figure 1 of its paper has it.

DCP-EW ("DCP-EW: Distributed Congestion-control Protocol for Encrypted Wireless Networks", 2010) tells senders a load of
four bits over two packets, by the ECN field of the IP header. A packet with role 0 carries the most significant half, a
packet with role 1 the least significant one; the role is the lowest bit of the IP ID (section III-B). Where IPsec hides
the inner header, a module in both gateways carries the halves from header to header (section III-C, figure 1):

  event 1   a packet enters: the gateway remembers the half that its inner header has;
  event 2   it leaves encrypted: the outer ECN field becomes the remembered half for the role of the OUTER header;
  event 3   routers inside mark the outer header as they like (nothing is asked of their marks here);
  event 4   it is decrypted: the inner ECN field becomes the larger one of its own half and of the half that outer
            headers brought for the role of the INNER header.

The captures are one pcapng file, link type raw IP, whose interfaces have names. For each direction four of them are
named, in the order of a packet's way: where it arrives in the clear at the entry (plain-in), where it arrives at the
first router inside (enter), at the exit gateway (leave), and in the clear behind that (plain-out). Every ESP packet's
check value is verified, and every packet followed by its content. There is no tolerance and no averaging: exit status 0
means that no bit was wrong and all minimums were reached, 1 that this is not so, and 2 wrong usage or a wrong file.

What cannot be known from outside is said, and counted, in two places. Near the end of the hold time a capture does not
tell whether a gateway looked just before or just after it: then both fields are right ("at the edge of the hold").
Packets that were on their way when the capture began or ended are no loss and no fault.
"""

import argparse
import sys
from collections import namedtuple

from capture import Capture, NANO, Unusable
from clear import Broken, OWN, own_predicate, read_clear
from direction import Direction, STEPS
from esp import Opener, SecondOpinion
from judged import Report, level_count, levels_in_the_clear, levels_inside

DEFAULT_KEY = bytes(range(20)).hex()  # of the tunnels of `fadelab testbed` and of simulated logs


def print_direction(direction):
    """Packets per interface, and what became of them."""
    print(f"\n{direction.title}")
    for step in STEPS:
        packets = direction.packets[step]
        own = sum(packet.own for packet in packets)
        other = len(packets) - own
        print(f"  {step:<10}{direction.names[step]:<14}{len(packets):>9} packets{own:>9} own{other:>9} other")
    print(f"  followed through all four{direction.followed:>13}")
    for first, second in zip(STEPS, STEPS[1:]):
        step = direction.steps[second]
        print(f"  from {first} to {second}: {step.lost} lost, {step.on_the_way} on their way at the end, "
              f"{step.begun_before} since before the capture")
    for role in (0, 1):
        count = sum(packet.role == role for packet in direction.packets["enter"])
        print(f"  outer role {role} on enter: {count}")
    for what, count in sorted(direction.notes.items()) + sorted(direction.not_followed.items()):
        print(f"  {what}: {count}")


def print_checks(report, rules):
    """How many things were checked, and how many of them were wrong."""
    print(f"\n{'checked':>9}{'wrong':>9}")
    for what in sorted(set(report.checked) | set(report.wrong)):
        print(f"{report.checked[what]:>9}{report.wrong[what]:>9}  {what}")
    print(f"scapy opened {rules.second.asked} of them again")
    for what, count in sorted(report.undecided.items()):
        print(f"at the edge of the hold, where two fields are right: {count} of {what}")
    for (kind, byte, bit), count in sorted(report.option_bits.items()):
        print(f"option {kind}: bit {bit} of byte {byte} changed in {count} packets")
    if report.ignored:
        print(f"ignored in the first seconds, as asked: {report.ignored} wrong")


def print_levels(table, code):
    """How often each level was seen on each link."""
    print(f"\nlevels, code {code}")
    width = max([len(name) for name in table] + [8])
    print(" " * (width + 2) + "".join(f"{level:>7}" for level in range(level_count(code))))
    for name, counts in table.items():
        print(f"  {name:<{width}}" + "".join(f"{count:>7}" for count in counts))


def level_table(capture, directions, rules, before, behind):
    """The levels of all links: those before, those of the directions, those behind."""
    table = {}
    for title, names in (("before", before), ("behind", behind)):
        if title == "behind":
            for direction in directions:
                for step in STEPS:
                    levels = levels_in_the_clear if step.startswith("plain") else levels_inside
                    table[f"{direction.names[step]} ({step})"] = levels(direction.packets[step], rules.code)
        for name in names:
            table[f"{name} ({title})"] = levels_in_the_clear(clear_packets(capture, name, rules), rules.code)
    return table


def clear_packets(capture, name, rules):
    """Packets of a link where levels are only counted; what is no IPv4 there is nobody's business."""
    for frame in capture.frames[name]:
        try:
            yield read_clear(capture.data(frame), name, frame, rules)
        except Broken:
            continue


def missed_minimums(directions, table, options):
    """Which minimums were not reached, as lines."""
    groups = [[direction] for direction in directions] if options.minimums == "each" else [directions]
    for group in groups:
        title = " and ".join(direction.title for direction in group)
        followed = sum(direction.followed for direction in group)
        if followed < options.least_packets:
            yield f"{title}: {followed} packets followed through all four links, {options.least_packets} needed"
        rows = [table[f"{direction.names['leave']} (leave)"] for direction in group]
        for level, counts in enumerate(zip(*rows)):
            if sum(counts) < options.least_levels:
                yield f"{title}: level {level} seen {sum(counts)} times on leave, {options.least_levels} needed"


Rules = namedtuple("Rules", "own code role hold flight tcp_checksum scapy_every opener second by_flow")


def four_names(text):
    """Four different names of interfaces."""
    names = text.split(",")
    if len(set(names)) != 4 or len(names) != 4 or not all(names):
        raise argparse.ArgumentTypeError("four different names are needed: plain-in,enter,leave,plain-out")
    return names


def some_names(text):
    """Any number of names of interfaces."""
    return [name for name in text.split(",") if name]


def key_bytes(text):
    """A key of 20 bytes in hexadecimal."""
    try:
        key = bytes.fromhex(text.removeprefix("0x"))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if len(key) != 20:
        raise argparse.ArgumentTypeError("20 bytes are needed: AES-128 and salt, or HMAC-SHA1")
    return key


def not_negative(kind):
    """A number of that kind which is not below zero."""
    def number(text):
        value = kind(text)
        if not 0 <= value < float("inf"):
            raise argparse.ArgumentTypeError(f"{text}: not a number from 0 on")
        return value
    number.__name__ = kind.__name__
    return number


def parse_arguments(arguments):
    """The command line; argparse ends with status 2 where it is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("file", help="pcapng, raw IPv4, named interfaces")
    add("--forward", type=four_names, metavar="IN,ENTER,LEAVE,OUT", help="links of one direction, in a packet's order")
    add("--backward", type=four_names, metavar="IN,ENTER,LEAVE,OUT", help="links of the other, in ITS packets' order")
    add("--before", type=some_names, default=[], metavar="NAMES", help="links where levels are only counted")
    add("--behind", type=some_names, default=[], metavar="NAMES", help="links where levels are only counted")
    add("--cipher", choices=("aes-gcm", "null"), default="aes-gcm", help="RFC 4106, or NULL with HMAC-SHA1-96")
    add("--role", choices=("sequence", "id", "written"), default="sequence", help="whose lowest bit is the outer role")
    add("--memory", choices=("tunnel", "flow"), default="tunnel", help="what a gateway has one memory for")
    add("--code", choices=("sixteen", "nine"), default="sixteen", help="levels that two halves tell")
    add("--key", type=key_bytes, default=DEFAULT_KEY, metavar="HEX", help="of all SAs, 20 bytes")
    add("--hold", type=not_negative(float), default=1.0, metavar="SECONDS", help="how long a half is known")
    add("--flight", type=not_negative(float), default=5.0, metavar="SECONDS", help="longest way from link to link")
    add("--own", type=own_predicate, default="data", metavar="WHICH",
        help=f"packets of the law: {', '.join(OWN)} or FILE.py:FUNCTION")
    add("--tcp-checksum", action=argparse.BooleanOptionalAction, default=True, help="check TCP checksums (default)")
    add("--scapy-every", type=not_negative(int), default=0, metavar="N",
        help="scapy opens each N-th packet again; 0: all up to 2,000, then 1,000 or more, at least each 50th")
    add("--least-levels", type=not_negative(int), default=0, metavar="N", help="of each level on leave")
    add("--least-packets", type=not_negative(int), default=1, metavar="N", help="followed through all four links")
    add("--minimums", choices=("together", "each"), default="together", help="for both directions together, or each")
    add("--ignore-first-seconds", type=not_negative(float), default=0.0, metavar="SECONDS",
        help="for captures that begin when gateways know something already; two hold times are enough")
    options = parser.parse_args(arguments)
    if not options.forward and not options.backward:
        parser.error("--forward, --backward or both are needed")
    if set(options.forward or ()) & set(options.backward or ()):
        parser.error("an interface belongs to one direction")
    return options


def make_rules(options):
    """What all checks need to know."""
    try:
        opener, second = Opener(options.cipher, options.key), SecondOpinion(options.cipher, options.key)
    except ImportError as error:
        raise Unusable(f"{error}; python3-scapy and python3-cryptography are needed") from error
    return Rules(options.own, options.code, options.role, int(options.hold * NANO), int(options.flight * NANO),
                 options.tcp_checksum, options.scapy_every, opener, second, options.memory == "flow")


def run(options):
    """Checks a file, prints the report, and answers whether all was right."""
    rules, capture = make_rules(options), Capture(options.file)
    wanted = [("forward", options.forward), ("backward", options.backward)]
    names = (options.forward or []) + (options.backward or []) + options.before + options.behind
    missing = [name for name in names if name not in capture.frames]
    if missing:
        raise Unusable(f"no interface {', '.join(missing)} in the file; there are {', '.join(capture.frames)}")
    report = Report(capture, options.ignore_first_seconds)
    for name, frame in capture.backwards:
        report.refuse("times never run back", frame, name, "earlier than the frame before it")
    directions = [Direction(title, four, capture, rules, report) for title, four in wanted if four]
    for direction in directions:
        direction.check()
    table = level_table(capture, directions, rules, options.before, options.behind)
    missed = list(missed_minimums(directions, table, options))
    print(f"{options.file}: {capture.number} packets in {(capture.last - capture.first) / NANO:.3f} s")
    for direction in directions:
        print_direction(direction)
    print_checks(report, rules)
    print_levels(table, rules.code)
    print_verdict(report, missed)
    return not report.violations and not missed


def print_verdict(report, missed):
    """The first violations, the minimums that were missed, and the last line, which says it all."""
    fields = ("event", "none left", "inner field")
    bits = sum(count for what, count in report.wrong.items() if what.startswith(fields))
    if report.violations:
        print(f"\n{len(report.violations)} violations; the first of them:")
        print("\n".join(report.first(10)))
    for line in missed:
        print(f"minimum not reached: {line}")
    print(f"\nwrong fields: {bits}; violations of all kinds: {len(report.violations)}; "
          f"minimums not reached: {len(missed)}: {'NOT RIGHT' if report.violations or missed else 'all right'}")


def main(arguments=None):
    """Exit status 0 if all is right, 1 if not, 2 for wrong usage or a file that cannot be read."""
    options = parse_arguments(arguments)
    try:
        return 0 if run(options) else 1
    except Unusable as error:
        print(f"figure1: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
