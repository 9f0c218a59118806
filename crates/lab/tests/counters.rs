//! What links count, over any interval and on any kind of link.

use std::path::Path;

use fadelab_path::counters::LinkCounters;
use fadelab_scenario::{Options, parse};
use fadelab_sim::run;

/// Samples of the first link, every 20 ms.
fn samples(text: &str) -> Vec<LinkCounters> {
    let head = "[run]\nduration = '12 s'\nrecord = '20 ms'\n";
    let plan = parse(
        format!("{head}{text}").as_bytes(),
        "s.toml",
        Path::new(""),
        &Options::default(),
    );
    let plan = plan.unwrap_or_else(|refusal| panic!("{refusal}\n{text}"));
    let record = run(&plan.runs[0].spec, |_| true).unwrap_or_else(|error| panic!("{error}\n{text}"));
    record.series.links[0].clone()
}

const LINK: &str = "[topology.bottleneck]\nrate = '4 Mbit/s'\ndelay = '20 ms'\nbuffer = '2 BDP'\n";

/// A network of each kind of link: planned ahead and step by step, marks at arrival and at departure, with repetitions.
fn networks() -> Vec<String> {
    let wire = |law: &str| format!("{LINK}[flow]\nlaw = '{law}'\ncount = 4\ndirection = 'both'\n");
    let air =
        "[channel]\nmodel = 'packet-scale'\ngood = '300 ms'\nbad = '80 ms'\nbit_error_good = 0\nbit_error_bad = 2e-4\n";
    let arq = format!("{air}[channel.arq]\ntries = 3\nretry = '60 ms'\n");
    vec![
        wire("reno+red"),
        wire("reno+codel"),
        wire("vcp"),
        wire("reno+fq_red"),
        wire("reno+red") + air,
        wire("vcp") + air,
        wire("reno+rem") + &arq,
        wire("cubic") + &arq,
    ]
}

#[test]
fn parts_never_exceed_their_wholes() {
    // Goal: over every interval no more is marked than sent, and no more data are lost on the air than sent: so rates
    // after a warm-up stay within 0 and 1, whatever waited or was to be repeated when it ended.
    let (mut marked, mut lost) = (0, 0);
    for text in networks() {
        let samples = samples(&text);
        for (number, from) in samples.iter().enumerate() {
            for to in samples[number + 1..].iter().take(10) {
                let grown = |field: fn(&LinkCounters) -> u64| field(to) - field(from);
                let (sent, data) = (grown(|c| c.sent_pkts), grown(|c| c.sent_data_pkts));
                assert!(grown(|c| c.marked_pkts) <= sent, "{text}\n{from:?}\n{to:?}");
                assert!(grown(|c| c.lost_air_data_pkts) <= data, "{text}\n{from:?}\n{to:?}");
            }
        }
        let end = samples.last().expect("samples");
        assert!(
            0 < end.sent_data_pkts && end.sent_data_pkts < end.sent_pkts,
            "{text}\n{end:?}"
        );
        marked += end.marked_pkts;
        lost += end.lost_air_data_pkts;
    }
    assert!(marked > 1000 && lost > 50, "{marked} marked, {lost} lost");
}

#[test]
fn data_are_told_from_acknowledgements_on_every_link() {
    // Goal: without a channel as many data packets are counted as on one that loses nothing; where no ACKs come, all
    // that is sent is data, SYNs included.
    let lossless = "[channel]\nmodel = 'random'\nloss_data = 0.0\n";
    for law in ["reno", "reno+red", "reno+fq_codel", "vcp"] {
        for (direction, preset) in [("both", "rfc"), ("both", "linux"), ("forward", "linux")] {
            let flow = format!("[flow]\nlaw = '{law}'\ncount = 3\ndirection = '{direction}'\n");
            let text = format!("{LINK}{flow}[transport]\npreset = '{preset}'\n");
            let samples = [text.clone(), text.clone() + lossless].map(|text| samples(&text));
            assert_eq!(samples[0], samples[1], "{text}");
            let end = samples[0].last().expect("samples");
            assert!(end.sent_data_pkts > 1000, "{text}\n{end:?}");
            assert_eq!(
                end.sent_data_pkts == end.sent_pkts,
                direction == "forward",
                "{text}\n{end:?}"
            );
        }
    }
}
