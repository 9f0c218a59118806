//! Figure 1 of dcp-ew-2010, bit by bit: packet logs of the links beside two gateways, judged by a program that has
//! nothing of fadelab's (`tests/ipsec/figure1.py`).

mod common;

use common::Scratch;
use common::ipsec::{judged, log_of, place, python};

#[test]
fn simulated_gateways_carry_each_half() {
    // Goal: with either cipher and code, each source of the role, IPv6 outside, and ESP in UDP, no bit that crosses a
    // simulated tunnel is another than figure 1 says: events 1 to 4 at both ends, both ways, of each level, in runs of
    // some thousand packets; of what is not DCP-EW's nothing is left marked outside.
    if python().is_none() {
        return;
    }
    let nine = [
        "law.dcp_ew.code=nine",
        "router.dcp_ew.code=nine",
        "tunnel.vpn.params.code=nine",
    ];
    let cases: [(&[&str], &[&str]); 8] = [
        (
            &["run.duration=240 s"],
            &["--least-levels", "100", "--least-packets", "20000"],
        ),
        (
            &["tunnel.vpn.cipher=null"],
            &["--cipher", "null", "--least-packets", "4000"],
        ),
        (&["tunnel.vpn.role=id"], &["--role", "id", "--least-packets", "4000"]),
        (
            &["tunnel.vpn.role=written"],
            &["--role", "written", "--least-packets", "4000"],
        ),
        (&["tunnel.vpn.outer=ipv6"], &["--least-packets", "4000"]),
        (&["tunnel.vpn.udp=true"], &["--least-packets", "4000"]),
        (&["tunnel.vpn.rekey=2 s"], &["--least-packets", "4000"]),
        (
            &["tunnel.vpn.udp=true", "tunnel.vpn.outer=ipv6"],
            &["--least-packets", "4000"],
        ),
    ];
    let scratch = Scratch::new();
    let with_nine = (
        &nine[..],
        &["--code", "nine", "--least-packets", "4000", "--least-levels", "10"][..],
    );
    for (number, (sets, told)) in cases.into_iter().chain([with_nine]).enumerate() {
        let out = format!("r{number}");
        let scenario = place("figure1.toml");
        let mut arguments = vec!["run", scenario.as_str(), "--quiet", "--out", &out];
        arguments.extend(sets.iter().flat_map(|set| ["--set", set]));
        arguments.extend(log_of());
        let output = scratch.fadelab(&arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        judged(&scratch, &out, told);
    }
}

#[test]
fn the_judge_refuses_what_is_wrong() {
    // Goal: the program that judges takes a right log, and refuses each kind of wrong one: a bit outside or behind, a
    // byte of payload, a check value, a packet twice, a mark that was left, an ID.
    let Some(mut python) = python() else { return };
    let output = python.arg(place("figure1_test.py")).output().expect("it is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
