"""Reads, verifies and decrypts ESP (RFC 4303): with one library, and with scapy as a second opinion."""

import hmac
import logging
import struct

from clear import Broken, checksum_fits, dotted, ip6_header_length, ip_header_length

ESP = 50
UDP = 17
UDP_PORT, UDP_BYTES = 4500, 8  # RFC 3948 section 2.1
IP_IN_IP = 4  # the next header of ESP in tunnel mode over IPv4, RFC 4303 section 2.6
GCM_ICV, GCM_IV, GCM_SALT = 16, 8, 4  # RFC 4106 sections 3.1, 4 and 6
SHA1_96_ICV = 12  # RFC 2404 section 2


class BadCheckValue(Exception):
    """The integrity check value (ICV) of an ESP packet is not right."""


class Opener:
    """Verifies and decrypts ESP (RFC 4303) by the `cryptography` package and the standard library."""

    def __init__(self, cipher, key):
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        self.invalid, self.cipher, self.key = InvalidTag, cipher, key
        if cipher == "aes-gcm":
            self.salt, self.aes = key[-GCM_SALT:], AESGCM(key[:-GCM_SALT])

    def open(self, esp):
        """The inner packet of an ESP packet that begins with its SPI."""
        plain = self._open_gcm(esp) if self.cipher == "aes-gcm" else self._open_null(esp)
        if len(plain) < 2 or plain[-2] + 2 > len(plain):
            raise Broken("ESP padding longer than what it ends")
        if plain[-1] != IP_IN_IP:
            raise Broken(f"ESP next header {plain[-1]}, which is not IPv4 in tunnel mode")
        return plain[:-2 - plain[-2]]

    def _open_gcm(self, esp):
        if len(esp) < 8 + GCM_IV + GCM_ICV:
            raise BadCheckValue("too short")
        try:  # nonce = salt and IV, additional data = SPI and sequence number: RFC 4106 sections 4 and 5
            return self.aes.decrypt(self.salt + esp[8:8 + GCM_IV], esp[8 + GCM_IV:], esp[:8])
        except self.invalid:
            raise BadCheckValue("AES-GCM tag does not fit") from None

    def _open_null(self, esp):
        if len(esp) < 8 + SHA1_96_ICV:
            raise BadCheckValue("too short")
        right = hmac.digest(self.key, esp[:-SHA1_96_ICV], "sha1")[:SHA1_96_ICV]
        if not hmac.compare_digest(right, esp[-SHA1_96_ICV:]):
            raise BadCheckValue("HMAC-SHA1-96 does not fit")
        return esp[8:-SHA1_96_ICV]


class SecondOpinion:
    """Opens a sample of the packets once more, by scapy, which knows ESP by a code of its own."""

    def __init__(self, cipher, key):
        logging.getLogger("scapy.runtime").setLevel(logging.ERROR)
        from scapy.layers.inet import IP
        from scapy.layers.inet6 import IPv6
        from scapy.layers.ipsec import ESP as Layer
        from scapy.layers.ipsec import SecurityAssociation
        self.ip = {4: IP, 16: IPv6}  # by the bytes of an address
        self.layer, self.make = Layer, SecurityAssociation
        if cipher == "aes-gcm":
            self.algorithms = {"crypt_algo": "AES-GCM", "crypt_key": key}
        else:
            self.algorithms = {"crypt_algo": "NULL", "auth_algo": "HMAC-SHA1-96", "auth_key": key}
        self.associations = {}
        self.asked = 0

    def open(self, outer, association):
        """The inner packet by scapy, or a text that says why there is none."""
        source, target, spi = association
        if association not in self.associations:
            tunnel = self.ip[len(source)](src=dotted(source), dst=dotted(target))
            self.associations[association] = self.make(self.layer, spi=spi, tunnel_header=tunnel, **self.algorithms)
        self.asked += 1
        try:
            return bytes(self.associations[association].decrypt(self.ip[len(source)](outer)))
        except Exception as error:  # scapy raises many types; each of them means that it could not open the packet
            return f"{type(error).__name__}: {error}"


class Sealed:
    """An ESP packet on a link inside, and what is in it (inner is None where that could not be opened)."""

    __slots__ = ("name", "frame", "source", "target", "spi", "sequence", "ecn", "ttl", "ip_id", "ip_bytes", "header",
                 "role", "inner")

    @property
    def tunnel(self):
        """A direction of a tunnel, for which a gateway has one memory."""
        return self.source, self.target

    @property
    def association(self):
        """What tells one SA from another."""
        return self.source, self.target, self.spi

    @property
    def own(self):
        """Whether what is in it is of the law."""
        return self.inner is not None and self.inner.own

    def describe(self):
        """A few words for a report."""
        inside = self.inner.describe() if self.inner else "not opened"
        return (f"ESP {dotted(self.source)} > {dotted(self.target)} SPI {self.spi:#x} seq {self.sequence} "
                f"outer ID {self.ip_id} outer ECN {self.ecn:02b}; in it: {inside}")


def behind_udp(data, header):
    """Where ESP begins in the datagram at `header`; None if it is none of ESP (RFC 3948 section 2).

    Over IPv4 its checksum may be missing, over IPv6 not (RFC 8200 section 8.1).
    """
    if len(data) < header + UDP_BYTES + 4 or UDP_PORT not in struct.unpack_from("!HH", data, header):
        return None
    if data[header + UDP_BYTES:header + UDP_BYTES + 4] == bytes(4):
        return None
    length, check = struct.unpack_from("!HH", data, header + 4)
    if length != len(data) - header:
        raise Broken(f"ESP in UDP of {length} B: {len(data) - header} B are there")
    ends, is_ip4 = (data[12:20], True) if data[0] >> 4 == 4 else (data[8:40], False)
    if not (is_ip4 and check == 0) and not checksum_fits(ends + struct.pack("!HH", UDP, length) + data[header:]):
        raise Broken(f"ESP in UDP with checksum {check:#x}, which is not right")
    return header + UDP_BYTES


def read_sealed(data, name, frame, rules):
    """The outer header of an ESP packet, still closed; None if it is none of ESP, Broken if it is a fragment."""
    packet = Sealed()
    if data[:1] and data[0] >> 4 == 6:
        header = ip6_header_length(data)
        if data[6] not in (ESP, UDP):
            return None
        protocol = data[6]
        packet.ecn, packet.ttl, packet.ip_id = data[1] >> 4 & 3, data[7], None
        packet.source, packet.target = data[8:24], data[24:40]
    else:
        header = ip_header_length(data)
        if data[9] not in (ESP, UDP):
            return None
        protocol = data[9]
        if struct.unpack_from("!H", data, 6)[0] & 0x3FFF:
            raise Broken("fragment, which cannot be checked")
        packet.ecn, packet.ttl, packet.ip_id = data[1] & 3, data[8], int.from_bytes(data[4:6], "big")
        packet.source, packet.target = data[12:16], data[16:20]
    ip_bytes = header
    if protocol == UDP:
        header = behind_udp(data, header)
        if header is None:
            return None
    if len(data) < header + 8:
        raise Broken("ESP shorter than its header")
    packet.name, packet.frame, packet.inner, packet.ip_bytes, packet.header = name, frame, None, ip_bytes, header
    packet.spi, packet.sequence = struct.unpack_from("!II", data, header)
    if rules.role != "sequence" and packet.ip_id is None:
        raise Broken("IPv6 has no ID from which a role could come")
    packet.role = (packet.sequence if rules.role == "sequence" else packet.ip_id) & 1
    return packet
