//! Sizes and the ECN field by hand.

use super::*;

fn tunnel(mode: Mode, outer: Family, cipher: Cipher) -> TunnelSpec {
    TunnelSpec {
        name: "t".into(),
        from: 0,
        to: 1,
        mode,
        outer,
        in_udp: false,
        rekey: None,
        cipher,
        ecn: [EcnRule::Linux; 2],
        ip_id: IpId::Counting,
        role: RoleFrom::Id,
        memory: Memory::Tunnel,
        told_wire: None,
        gateways: [None, None],
    }
}

#[test]
fn sizes_are_those_of_esp_to_the_byte() {
    // Goal: outer header, ESP header, vector, padding to four bytes and check value, added up by hand for each rest;
    // IPv6's header is 20 B longer, and one of UDP has 8 B more.
    for (inner, gcm, null) in [
        (40, 96, 84),
        (41, 96, 84),
        (42, 96, 84),
        (43, 100, 88),
        (52, 108, 96),
        (60, 116, 104),
        (84, 140, 128),
        (1040, 1096, 1084),
        (1445, 1500, 1488),
        (1500, 1556, 1544),
    ] {
        for (outer, in_udp, more) in [
            (Family::Ipv4, false, 0),
            (Family::Ipv6, false, 20),
            (Family::Ipv4, true, 8),
            (Family::Ipv6, true, 28),
        ] {
            let specs = [Cipher::AesGcm, Cipher::Null].map(|cipher| TunnelSpec {
                in_udp,
                ..tunnel(Mode::Tunnel, outer, cipher)
            });
            let sizes = specs.each_ref().map(|spec| spec.encapsulated_bytes(inner));
            assert_eq!(sizes, [gcm + more, null + more], "{inner} B");
            assert_eq!(specs.map(|spec| spec.outer_bytes()), [36 + more, 28 + more]);
        }
    }
}

#[test]
fn transport_mode_keeps_the_header() {
    // Goal: ESP's header, vector, padding and check value, and no second IP header, added up by hand: 20 B of header
    // and 20, 1020 and 1425 B behind it, with two bytes of trailer padded to 24, 1024 and 1428 B.
    for (inner, gcm, null) in [(40, 76, 64), (1040, 1076, 1064), (1445, 1480, 1468)] {
        let sizes = [Cipher::AesGcm, Cipher::Null]
            .map(|cipher| tunnel(Mode::Transport, Family::Ipv4, cipher).encapsulated_bytes(inner));
        assert_eq!(sizes, [gcm, null], "{inner} B");
    }
}

/// What a rule makes of each inner field at the entry, and at the exit in a row for each inner, a column for each outer
/// field; 9: dropped.
fn table(rule: EcnRule) -> ([u8; 4], [[u8; 4]; 4]) {
    let codes = [0, 1, 2, 3];
    let leaves = codes.map(|inner| codes.map(|outer| rule.inner(inner, outer).unwrap_or(9)));
    (codes.map(|inner| rule.outer(inner)), leaves)
}

#[test]
fn each_rule_has_its_table() {
    // Goal: every cell of every rule; that of RFC 6040 is its figure 4, in the order Not-ECT, ECT(1), ECT(0), CE.
    let untouched = [[0; 4], [1; 4], [2; 4], [3; 4]];
    let linux = [[0, 0, 0, 0], [1, 1, 1, 3], [2, 2, 2, 3], [3; 4]];
    assert_eq!(table(EcnRule::Linux), ([0, 1, 2, 2], linux));
    let rfc6040 = [[0, 0, 0, 9], [1, 1, 1, 3], [2, 1, 2, 3], [3; 4]];
    assert_eq!(table(EcnRule::Rfc6040), ([0, 1, 2, 3], rfc6040));
    assert_eq!(table(EcnRule::NoEcn), ([0; 4], untouched));
    assert_eq!(table(EcnRule::None), ([0, 1, 2, 3], untouched));
}
