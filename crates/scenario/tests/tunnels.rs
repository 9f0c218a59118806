//! `[tunnel.NAME]`: what it amounts to, and what is wrong with one.

use std::path::Path;

use fadelab_run::spec::RunSpec;
use fadelab_run::transport::IpId;
use fadelab_run::tunnel::{Cipher, EcnRule, Memory, Mode, Rekey, RoleFrom, TunnelSpec};
use fadelab_scenario::plan::Plan;
use fadelab_scenario::{Options, Refusal, parse};

/// Four nodes in a row and a fifth beside them, flows both ways over the row.
const ROW: &str = r#"
[topology]
nodes = ["a", "b", "c", "d", "e"]

[link.ab]
from = "a"
to = "b"
rate = "8 Mbit/s"
delay = "5 ms"

[link.bc]
from = "b"
to = "c"
rate = "8 Mbit/s"
delay = "5 ms"

[link.cd]
from = "c"
to = "d"
rate = "8 Mbit/s"
delay = "5 ms"

[link.be]
from = "b"
to = "e"
rate = "8 Mbit/s"
delay = "5 ms"

[flow]
law = "reno"
from = "a"
to = "d"
direction = "both"
"#;

fn parsed(tunnels: &str, sets: &[&str]) -> Result<Plan, Refusal> {
    let options = Options {
        sets: sets.iter().map(|set| (*set).to_owned()).collect(),
        ..Options::default()
    };
    let text = format!("{ROW}\n{tunnels}");
    parse(text.as_bytes(), "s.toml", Path::new(""), &options)
}

fn plan(tunnels: &str) -> Plan {
    parsed(tunnels, &[]).unwrap_or_else(|refusal| panic!("{refusal}\n{tunnels}"))
}

fn spec(tunnels: &str) -> RunSpec {
    plan(tunnels).runs[0].spec.clone()
}

#[test]
fn a_tunnel_has_its_ends_and_defaults() {
    // Goal: two nodes and a name are enough; what else holds is what the documentation says.
    let spec = spec("[tunnel.wan]\nfrom = 'c'\nto = 'a'");
    let [wan] = &spec.network.tunnels[..] else {
        panic!("one tunnel")
    };
    assert_eq!((wan.name.as_ref(), wan.from, wan.to), ("wan", 2, 0));
    assert_eq!(
        (wan.cipher, wan.ecn, wan.ip_id),
        (Cipher::AesGcm, [EcnRule::Linux; 2], IpId::Counting)
    );
    assert_eq!(
        (wan.role, wan.memory, wan.told_wire),
        (RoleFrom::Sequence, Memory::Tunnel, None)
    );
    assert!(wan.gateways.iter().all(Option::is_none));
    spec.check().expect("sound");
}

#[test]
fn the_law_of_a_run_may_choose_the_gateway() {
    // Goal: with "auto" gateways and what routers are told are those of each run's law, where there are such; a law
    // without a gateway has none, and routers are told nothing, also of one whose routers read a format.
    let text = "[tunnel.wan]\nfrom = 'a'\nto = 'd'\nlaw = 'auto'\nrouters = 'auto'\n";
    let laws = r#"flow.law=["vcp", "dcp_ew", "cubic", "xcp"]"#;
    let plan = parsed(text, &[laws]).unwrap_or_else(|refusal| panic!("{refusal}"));
    let chosen: Vec<_> = plan
        .runs
        .iter()
        .map(|run| {
            let wan = &run.spec.network.tunnels[0];
            (
                wan.gateways[1].as_ref().map(|gateway| gateway.law.name()),
                wan.told_wire,
            )
        })
        .collect();
    let expected = [
        (Some("vcp"), Some(1)),
        (Some("dcp_ew"), Some(4)),
        (None, None),
        (None, None),
    ];
    for run in &expected {
        assert!(chosen.contains(run), "{chosen:?}");
    }
    // A parameter of the one law is none of the others.
    let with_params = format!("{text}[tunnel.wan.params]\ncode = 'nine'\n");
    let plan = parsed(&with_params, &["flow.law=dcp_ew"]).unwrap_or_else(|refusal| panic!("{refusal}"));
    let gateway = plan.runs[0].spec.network.tunnels[0].gateways[0]
        .as_ref()
        .expect("a law");
    assert_eq!(gateway.params.values()[0], 1);
    let plan = parsed(&with_params, &["flow.law=cubic"]).unwrap_or_else(|refusal| panic!("{refusal}"));
    assert!(plan.runs[0].spec.network.tunnels[0].gateways[0].is_none());
}

#[test]
fn ids_that_never_change_are_warned_of_once() {
    // Goal: with IDs of 0 the halves of a load cannot be told apart, inside or outside, which is said once each,
    // however many flows there are; with IDs that change, or another source of the role, nothing is.
    let text = "[tunnel.wan]\nfrom = 'a'\nto = 'd'\nlaw = 'auto'\nrouters = 'auto'\nrole = 'id'\nip_id = 'zero'\n";
    let of_ids = |sets: &[&str]| {
        let sets = [&["flow.law=dcp_ew", "flow.count=3"], sets].concat();
        let plan = parsed(text, &sets).unwrap_or_else(|refusal| panic!("{refusal}"));
        let of_ids = plan
            .warnings
            .into_iter()
            .filter(|warning| warning.contains("are 0, so") || warning.contains("IDs of 0"));
        of_ids.collect::<Vec<_>>()
    };
    let [tunnel] = &of_ids(&[])[..] else {
        panic!("one warning")
    };
    assert!(
        tunnel.contains("tunnel `wan`") && tunnel.contains("\"sequence\""),
        "{tunnel}"
    );
    let both = of_ids(&["transport.ip_id=zero"]);
    assert_eq!(both.len(), 2, "{both:?}");
    assert!(both[0].contains("flows of dcp_ew"), "{both:?}");
    assert_eq!(of_ids(&["tunnel.wan.role=sequence"]), Vec::<String>::new());
    assert_eq!(of_ids(&["flow.law=cubic"]), Vec::<String>::new());
}

#[test]
fn every_key_of_a_tunnel_is_read() {
    // Goal: each key and word reaches the run, parameters of the law too, and the resolved scenario reads back as the
    // same.
    let text = "[tunnel.wan]\nfrom = 'a'\nto = 'd'\ncipher = 'null'\necn = 'rfc6040'\nip_id = 'zero'\n\
                role = 'written'\nudp = true\nrekey = '3 s'\nrekey_gap = '250 ms'\n\
                routers = 'vcp'\nlaw = 'vcp'\nmemory = 'flow'\n\
                ecn_to = 'none'\nlaw_to = 'dcp_ew'\nparams_to = {code = 'nine'}\n[tunnel.wan.params]\nconfirm = false";
    let plan = plan(text);
    let wan = &plan.runs[0].spec.network.tunnels[0];
    assert_eq!(
        (wan.cipher, wan.ecn, wan.ip_id),
        (Cipher::Null, [EcnRule::Rfc6040, EcnRule::None], IpId::Zero)
    );
    assert_eq!(
        (wan.role, wan.memory, wan.told_wire, wan.in_udp),
        (RoleFrom::Written, Memory::Flow, Some(1), true)
    );
    let rekey = Rekey {
        lasts_ns: 3_000_000_000,
        gap_ns: 250_000_000,
    };
    assert_eq!(wan.rekey, Some(rekey));
    let [gateway, other] = [0, 1].map(|end: usize| wan.gateways[end].as_ref().expect("a law"));
    assert_eq!((gateway.law.name(), gateway.params.values()), ("vcp", &[0][..]));
    assert_eq!((other.law.name(), other.params.values()[0]), ("dcp_ew", 1));
    let again = parse(plan.text.as_bytes(), "r.toml", Path::new(""), &Options::default()).expect("it reads back");
    assert_eq!(again.text, plan.text);
    assert!(
        plan.text.contains("[tunnel.wan.params]\nconfirm = false"),
        "{}",
        plan.text
    );
    for (key, word, default) in [
        ("ecn", "noecn", "linux"),
        ("ecn", "none", "linux"),
        ("ecn_to", "none", "same"),
        ("ip_id", "random", "counting"),
    ] {
        let text = format!("[tunnel.wan]\nfrom = 'a'\nto = 'd'\n{key} = ['{word}', '{default}']");
        assert_eq!(parsed(&text, &[]).expect("a sweep").runs.len(), 2);
    }
}

#[test]
fn the_end_at_to_may_be_unlike_the_other() {
    // Goal: a gateway may be missing at either end, have another law, or the same one with parameters of its own;
    // what is not given of `to` is as at `from`, in a sweep and with the run's law, too.
    let of = |more: &str, sets: &[&str]| {
        let text = format!("[tunnel.wan]\nfrom = 'a'\nto = 'd'\n{more}");
        let plan = parsed(&text, sets).unwrap_or_else(|refusal| panic!("{more}: {refusal}"));
        let again = parse(plan.text.as_bytes(), "r.toml", Path::new(""), &Options::default()).expect("it reads back");
        assert_eq!(again.text, plan.text, "{more}");
        let ends = |wan: &TunnelSpec| {
            wan.gateways
                .clone()
                .map(|gateway| gateway.map(|of| (of.law.name(), of.params.values()[0])))
        };
        plan.runs
            .iter()
            .map(|run| ends(&run.spec.network.tunnels[0]))
            .collect::<Vec<_>>()
    };
    let (vcp, pair) = (Some(("vcp", 1)), Some(("dcp_ew", 0)));
    assert_eq!(of("law = 'vcp'", &[]), [[vcp, vcp]]);
    assert_eq!(of("law = 'vcp'\nlaw_to = 'none'", &[]), [[vcp, None]]);
    assert_eq!(of("law_to = 'vcp'", &[]), [[None, vcp]]);
    assert_eq!(of("law = 'vcp'\nlaw_to = 'dcp_ew'", &[]), [[vcp, pair]]);
    assert_eq!(
        of("law = 'vcp'\nparams_to = {confirm = false}", &[]),
        [[vcp, Some(("vcp", 0))]]
    );
    assert_eq!(
        of("law = 'vcp'\nparams = {confirm = false}", &[]),
        [[Some(("vcp", 0)); 2]],
        "parameters are of both"
    );
    assert_eq!(
        of("law = 'auto'\nlaw_to = 'none'", &["flow.law=dcp_ew"]),
        [[pair, None]]
    );
    let swept = of("law = 'vcp'\nlaw_to = ['same', 'none', 'dcp_ew']", &[]);
    assert_eq!(swept, [[vcp, vcp], [vcp, None], [vcp, pair]]);
    for (more, key, why) in [
        ("law_to = 'reno'", "law_to", "`law_to = \"same\"`"),
        (
            "law = 'vcp'\nlaw_to = 'none'\nparams_to = {confirm = true}",
            "params_to",
            "law_to",
        ),
        ("ecn_to = 'rfc3168'", "ecn_to", "or \"same\""),
        ("mode = 'transport'\nlaw_to = 'vcp'", "law_to", "no gateway"),
        ("mode = 'transport'\necn_to = 'none'", "ecn_to", "their own IP header"),
        ("mode = 'transport'\nudp = true", "udp", "their own IP header"),
        ("rekey = '1999 ms'", "rekey", "2 s at least"),
    ] {
        let text = format!("[tunnel.wan]\nfrom = 'a'\nto = 'd'\n{more}");
        let refusal = parsed(&text, &[]).expect_err(more).to_string();
        assert!(refusal.contains(key) && refusal.contains(why), "{more}: {refusal}");
    }
}

#[test]
fn a_header_of_ipv6_is_longer_and_has_no_id() {
    // Goal: packets in the tunnel are 20 B longer, which buffers, MTUs and laws are told; there is no ID outside, so
    // that none is asked for, and one that is given says that it has no effect; both families may be swept.
    let of = |more: &str| plan(&format!("[tunnel.wan]\nfrom = 'a'\nto = 'd'\n{more}"));
    let [four, six] = ["outer = 'ipv4'", "outer = 'ipv6'"].map(of);
    let bytes = |plan: &Plan| plan.runs[0].spec.network.tunnels[0].encapsulated_bytes(1500);
    assert_eq!((bytes(&four), bytes(&six)), (1556, 1576));
    assert_eq!(six.runs[0].spec.network.tunnels[0].ip_id, IpId::Zero);
    let warned = of("outer = 'ipv6'\nip_id = 'random'");
    assert!(
        warned
            .warnings
            .iter()
            .any(|warning| warning.contains("`tunnel.wan.ip_id` has no effect")),
        "{:?}",
        warned.warnings
    );
    let both = of("outer = ['ipv4', 'ipv6']\nip_id = 'random'");
    let ids: Vec<IpId> = both.runs.iter().map(|run| run.spec.network.tunnels[0].ip_id).collect();
    assert_eq!((ids[0], *ids.last().expect("two")), (IpId::Random, IpId::Zero));
    let again = parse(both.text.as_bytes(), "r.toml", Path::new(""), &Options::default()).expect("it reads back");
    assert_eq!(again.text, both.text);
}

#[test]
fn transport_mode_has_no_gateway() {
    // Goal: between hosts the mode is enough; roles are those of the packets' own IDs, gateways that a run's law would
    // choose are none, while routers can be told, and the resolved scenario reads back as the same.
    let text = "[tunnel.wan]\nfrom = 'a'\nto = 'd'\nmode = 'transport'\nrouters = 'auto'\nlaw = 'auto'";
    let plan = parsed(text, &["flow.law=dcp_ew"]).expect("it is sound");
    let wan = &plan.runs[0].spec.network.tunnels[0];
    assert_eq!(
        (wan.mode, wan.role, wan.told_wire.is_some()),
        (Mode::Transport, RoleFrom::Id, true)
    );
    assert!(wan.gateways.iter().all(Option::is_none));
    let again = parse(plan.text.as_bytes(), "r.toml", Path::new(""), &Options::default()).expect("it reads back");
    assert_eq!(again.text, plan.text);
}

#[test]
fn laws_of_gateways_are_swept_with_their_parameters() {
    // Goal: a sweep may have no law at one of its points, where parameters are not asked for.
    let plan = plan("[tunnel.wan]\nfrom = 'a'\nto = 'd'\nlaw = ['none', 'vcp']\nparams = {confirm = false}");
    let laws: Vec<bool> = plan
        .runs
        .iter()
        .map(|run| run.spec.network.tunnels[0].gateways[0].is_some())
        .collect();
    assert_eq!(laws, [false, true]);
    assert!(
        plan.warnings.iter().all(|warning| !warning.contains("confirm")),
        "{:?}",
        plan.warnings
    );
}

#[test]
fn buffers_in_a_tunnel_are_measured_in_its_packets() {
    // Goal: 30 ms round trip at 8 Mbit/s are 30000 bytes: 20 packets of 1500 bytes, and 19 of 1556 in the tunnel.
    let spec = spec("[tunnel.wan]\nfrom = 'b'\nto = 'c'");
    let pkts: Vec<Option<u32>> = spec.network.links.iter().map(|link| link.buffer.packets).collect();
    assert_eq!(pkts[..6], [Some(20), Some(20), Some(19), Some(19), Some(20), Some(20)]);
}

/// What stands below a tunnel's ends, and what its refusal has.
const WRONG: &[(&str, &[&str])] = &[
    (
        "law = 'vpc'",
        &["tunnel.wan.law", "unknown gateway `vpc`", "did you mean `vcp`?"],
    ),
    (
        "routers = 'red'",
        &["tunnel.wan.routers", "all formats", "blind, ", "blind, vcp, xcp, dpcp"],
    ),
    ("routers = 'rde'", &["unknown router `rde`", "did you mean `red`?"]),
    ("ecn = 'rfc6041'", &["tunnel.wan.ecn", "did you mean `rfc6040`?"]),
    (
        "params = {confirm = true}",
        &["[tunnel.wan.params]", "parameters of no law"],
    ),
    (
        "law = 'vcp'\nparams = {cofnirm = true}",
        &["tunnel.wan.params.cofnirm", "`confirm`?"],
    ),
    (
        "law = 'vcp'\nparams = {confirm = 7}",
        &["tunnel.wan.params.confirm", "true or false"],
    ),
    (
        "mode = 'transport'\necn = 'linux'",
        &["tunnel.wan.ecn", "their own IP header", "leave it out, or set"],
    ),
    (
        "outer = 'ipv6'\nrole = 'written'",
        &["tunnel.wan.role", "no IP ID", "allowed is \"sequence\", or set outer"],
    ),
    (
        "mode = 'transport'\nouter = 'ipv6'",
        &["tunnel.wan.outer", "their own IP header"],
    ),
    (
        "mode = 'transport'\nlaw = 'vcp'",
        &["tunnel.wan.law", "no gateway", "mode = \"tunnel\""],
    ),
    (
        "mode = 'transport'\nrole = 'sequence'",
        &["tunnel.wan.role", "from the IP ID", "allowed is \"id\""],
    ),
    ("lwa = 'vcp'", &["`tunnel.wan.lwa`", "did you mean `law`?"]),
];

/// Wrong ends, and what their refusals have.
const WRONG_ENDS: &[(&str, &[&str])] = &[
    (
        "[tunnel.wan]\nto = 'd'",
        &["tunnel.wan.from", "is missing", "node at one end"],
    ),
    (
        "[tunnel.wan]\nfrom = 'a'\nto = 'x'",
        &["tunnel.wan.to = \"x\"", "no node `x`", "a, b, c, d or e"],
    ),
    (
        "[tunnel.wan]\nfrom = 'a'\nto = 'a'",
        &["tunnel.wan.to", "ends where it begins"],
    ),
    (
        "[tunnel.wan]\nfrom = 'a'\nto = 'c'\nmode = 'transport'",
        &["tunnel.wan.mode", "flow.1 goes on behind an end", "or set \"tunnel\""],
    ),
    (
        "[tunnel.wan]\nfrom = 'a'\nto = 'e'",
        &["tunnel.wan.to", "no flow passes both `a` and `e`"],
    ),
    (
        "[tunnel.wan]\nfrom = 'a'\nto = 'c'\n[tunnel.lan]\nfrom = 'b'\nto = 'd'",
        &["tunnel.lan.from", "flow flow.1", "`wan` and `lan` at once"],
    ),
    (
        "[tunnel.wan]\nfrom = 'a'\nto = 'd'\n[tunnel.lan]\nfrom = 'b'\nto = 'c'",
        &[
            "tunnel.lan.from",
            "`wan` and `lan` at once",
            "let one end where the other begins",
        ],
    ),
];

#[test]
fn what_is_wrong_with_a_tunnel_is_said() {
    // Goal: each refusal has the place, the key, what was given, and what is allowed or to do.
    let ends = "[tunnel.wan]\nfrom = 'a'\nto = 'd'\n";
    let below = WRONG.iter().map(|(text, parts)| (format!("{ends}{text}"), parts));
    let of_ends = WRONG_ENDS.iter().map(|(text, parts)| ((*text).to_owned(), parts));
    for (text, parts) in below.chain(of_ends) {
        let message = parsed(&text, &[]).expect_err(&text).to_string();
        for part in *parts {
            assert!(message.contains(part), "`{part}` is missing in: {message}");
        }
        assert!(!message.contains('\n') && message.contains("s.toml"), "{message}");
    }
    let message = parsed(ends, &["transport.packet=65500 B"])
        .expect_err("too large")
        .to_string();
    assert!(
        message.contains("tunnel.wan.cipher") && message.contains("65556 B"),
        "{message}"
    );
}

#[test]
fn a_row_of_routers_has_no_tunnels() {
    // Goal: nodes of a dumbbell have no names, and the refusal says what to give instead.
    let text = "topology.bottleneck = {rate = '1 Mbit/s', delay = '1 ms'}\nflow.law = 'reno'\n\
                [tunnel.wan]\nfrom = 'left'\nto = 'right'";
    let refusal = parse(text.as_bytes(), "s.toml", Path::new(""), &Options::default()).expect_err("no graph");
    assert!(
        refusal.to_string().contains("[tunnel.wan]") && refusal.message.contains("[link.NAME]"),
        "{refusal}"
    );
}
