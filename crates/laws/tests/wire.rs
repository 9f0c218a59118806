//! Codecs of packets against options written by hand: what is pinned here is what kernels send to each other.

use fadelab_laws::abi::{FEEDBACK_BYTES_MAX, Format, WIRE_DPCP, WIRE_PAIR, WIRE_RCP, WIRE_VCP, WIRE_XCP};
use fadelab_laws::{Codec, receiver, sender};

fn of(law: &str) -> Codec {
    Codec::of(sender(law).unwrap(), receiver(law)).unwrap()
}

fn feedback(bytes: &[u8]) -> [u8; FEEDBACK_BYTES_MAX] {
    let mut feedback = [0; FEEDBACK_BYTES_MAX];
    feedback[..bytes.len()].copy_from_slice(bytes);
    feedback
}

/// XCP's feedback of data: RTT, X and delta.
fn xcp(rtt: u32, x: u32, delta: i32) -> [u8; FEEDBACK_BYTES_MAX] {
    feedback(&[rtt.to_be_bytes(), x.to_be_bytes(), delta.to_be_bytes()].concat())
}

fn delta_of(feedback: &[u8; FEEDBACK_BYTES_MAX]) -> i32 {
    i32::from_be_bytes(feedback[8..12].try_into().unwrap())
}

#[test]
fn laws_without_feedback_have_no_option() {
    // Goal: a plain TCP law takes no room on the wire, and each wire with a header has that one.
    for law in ["reno", "cubic", "bic"] {
        assert!(Codec::of(sender(law).unwrap(), receiver(law)).is_none(), "{law}");
    }
    let named = |law: &str| (of(law).wire().name(), of(law).wire().number(), of(law).option_bytes());
    assert_eq!(named("vcp"), ("vcp", WIRE_VCP, 8));
    assert_eq!(named("xcp"), ("xcp", WIRE_XCP, 12));
    assert_eq!(named("dcp_ew"), ("dcp_ew", WIRE_PAIR, 8));
    assert_eq!(named("dpcp"), ("dpcp", WIRE_DPCP, 8));
    assert_eq!(of("pair").wire().name(), "plain");
    assert_eq!(of("pair").format().wire, WIRE_RCP);
}

#[test]
fn options_are_those_drawn_in_the_headers() {
    // Goal: each byte stands where the layout says; an option without feedback says so in every field.
    let vcp = of("vcp");
    let mut option = vcp.option();
    assert_eq!(option, [254, 8, 0xfa, 0xd1, 0, 0, 0, 0]);
    vcp.put_data(&mut option, &feedback(&[9; 12]));
    assert_eq!((vcp.data(&option), vcp.echo(&option)), (None, None));
    vcp.put_echo(&mut option, &feedback(&[3]), false);
    assert_eq!(option, [254, 8, 0xfa, 0xd1, 2, 3, 0, 0]);
    assert_eq!(vcp.echo(&option), Some(feedback(&[3])));
    vcp.put_echo(&mut option, &feedback(&[3]), true);
    assert_eq!(option[4], 2 | 8);
    vcp.confirm(&mut option);
    assert_eq!(option[4], 2 | 4 | 8);

    let codec = of("xcp");
    let mut option = codec.option();
    assert_eq!(
        option,
        [254, 12, 0xfa, 0xd2, 0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0x7f, 0xff]
    );
    assert_eq!((codec.data(&option), codec.echo(&option)), (None, None));
    // 1 is the code 1; 2^12 + 2 has a mantissa of 1 + 1 / 2^11 and an exponent of 2; -1024 is the smallest with a 1.
    codec.put_data(&mut option, &xcp(1, 4098, -1024));
    assert_eq!(option[4..10], [0, 1, 0x10, 0x01, 0x84, 0x00]);
    codec.put_echo(&mut option, &feedback(&3000i32.to_be_bytes()), false);
    assert_eq!(option[10..], [0x80, 0]);
    assert_eq!(codec.echo(&option), Some(feedback(&[0; 4])));
    codec.put_echo(&mut option, &feedback(&3000i32.to_be_bytes()), true);
    assert_eq!(option[10..], [0x09, 0xdc], "3000 = (1024 + 476) << 1, exponent 2");
    codec.confirm(&mut option);
    assert_eq!(option[4..6], [0x80, 1]);
    assert_eq!(codec.data(&option), Some(xcp(1, 4098, -1024)));
    assert_eq!(codec.echo(&option), Some(feedback(&3000i32.to_be_bytes())));

    for (law, wire) in [("dcp_ew", 0xd4), ("dpcp", 0xd5)] {
        let halves = of(law);
        let mut option = halves.option();
        assert_eq!(option, [254, 8, 0xfa, wire, 0, 0, 0, 0]);
        halves.put_echo(&mut option, &feedback(&[0x3b, 1, 2]), true);
        assert_eq!(option[4..], [2 | 8, 0x3b, 1, 2]);
        assert_eq!(halves.echo(&option), Some(feedback(&[0x3b, 1, 2])));
    }

    let plain = Codec::new(Format {
        wire: WIRE_RCP,
        data_bytes: 4,
        echo_bytes: 3,
        ..Format::default()
    });
    let mut option = plain.option();
    assert_eq!(option[..4], [254, 16, 0xfa, 0xd3]);
    plain.put_data(&mut option, &feedback(&[1, 2, 3, 4]));
    plain.put_echo(&mut option, &feedback(&[5, 6, 7]), true);
    assert_eq!(option[4..], [3 | 8, 0, 5, 6, 7, 1, 2, 3, 4, 0, 0, 0]);
    plain.confirm(&mut option);
    assert_eq!(option[4], 3 | 4 | 8);
    assert_eq!(plain.data(&option), Some(feedback(&[1, 2, 3, 4])));
    assert_eq!(plain.echo(&option), Some(feedback(&[5, 6, 7])));
}

#[test]
fn the_nearest_float_stands_for_each_number() {
    // Goal: over all magnitudes a field comes back within 2^-12 (X) or 2^-11 (RTT and delta) of itself, and exactly the
    // second time.
    let codec = of("xcp");
    let mut option = codec.option();
    for shift in 0..31 {
        for value in [0x7fff_ffffu32, 0x5555_5555, 0x4000_0001].map(|value| value >> shift) {
            for sign in [1, -1] {
                let given = xcp(value, value, value.cast_signed() * sign);
                codec.put_data(&mut option, &given);
                let once = codec.data(&option).unwrap();
                for (at, bits) in [(0, 11), (4, 12)] {
                    let field = u32::from_be_bytes(once[at..at + 4].try_into().unwrap());
                    assert!(
                        u64::from(field.abs_diff(value)) << bits <= u64::from(value),
                        "{value}: {field}"
                    );
                }
                let delta = delta_of(&once);
                assert!(
                    u64::from(delta.abs_diff(value.cast_signed() * sign)) << 11 <= u64::from(value),
                    "{value}: {delta}"
                );
                codec.put_data(&mut option, &once);
                assert_eq!(codec.data(&option), Some(once));
            }
        }
    }
}

#[test]
fn a_routers_word_is_told_apart_from_what_was_sent() {
    // Goal: in every format the word that a router saw the data is there once it is given, with feedback and without,
    // stays when a router writes its share behind it, and says nothing of the other direction; likewise of the echo.
    for law in ["vcp", "xcp", "dcp_ew", "dpcp", "pair"] {
        let codec = of(law);
        let mut option = codec.option();
        codec.put_data(&mut option, &xcp(100, 200, 300));
        codec.put_echo(&mut option, &feedback(&[1; 4]), false);
        let words = |option: &[u8]| (codec.is_confirmed(option), codec.is_echo_confirmed(option));
        assert_eq!(words(&option), (false, false), "{law}");
        codec.confirm(&mut option);
        codec.put_share(&mut option, &xcp(100, 200, 30), 2);
        assert_eq!(words(&option), (true, false), "{law}");
        codec.put_echo(&mut option, &feedback(&[1; 4]), true);
        assert_eq!(words(&option), (true, true), "{law}");
        let mut option = codec.option();
        codec.put_echo(&mut option, &feedback(&[1; 4]), true);
        assert_eq!(words(&option), (false, true), "{law}");
    }
}

#[test]
fn what_offload_joined_is_summed_and_shared() {
    // Goal: a router sees X and delta of all segments and the RTT of one, and each gets its share, rounded down; codes
    // that the router did not change stay. Of bytes that nobody knows nothing is summed.
    let codec = of("xcp");
    assert_eq!(codec.joined(&xcp(100, 200, 300), 4), xcp(100, 800, 1200));
    assert_eq!(codec.joined(&xcp(100, 200, -300), 4), xcp(100, 800, -1200));
    assert_eq!(codec.joined(&xcp(1, u32::MAX, i32::MAX), 2), xcp(1, u32::MAX, i32::MAX));
    for (of_all, share) in [(1203, 300), (-1201, -301), (0, 0)] {
        let mut option = codec.option();
        codec.put_data(&mut option, &xcp(100, 200, 300));
        codec.put_share(&mut option, &xcp(1, 1, of_all), 4);
        assert_eq!(codec.data(&option), Some(xcp(100, 200, share)));
    }
    let pair = of("pair");
    assert_eq!(pair.joined(&feedback(&[1, 2, 3]), 4), feedback(&[1, 2, 3]));
}

#[test]
fn an_option_is_found_at_the_end_of_a_header_alone() {
    // Goal: another format's option, another length and another place are no option of this law.
    let codec = of("vcp");
    let option = codec.option();
    let before = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    assert_eq!(codec.find(&[&before[..], &option].concat()), Some(&option[..]));
    assert_eq!(codec.find(&[&option[..], &before].concat()), None);
    assert_eq!(codec.find(&of("xcp").option()), None);
    assert_eq!(codec.find(&option[4..]), None);
}
