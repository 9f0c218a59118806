//! What is asked of plans, results and laws without running anything, through the library.

use std::fs;
use std::path::Path;

use fadelab_lab::amount::{Amount, Network};
use fadelab_lab::channel::{Curve, coded};
use fadelab_lab::settings::{Setting, differing};
use fadelab_lab::{Failure, Ground, Simulator, Virtual, own_law, parameters, prepare};
use fadelab_laws::catalogue::Role;
use fadelab_phy::channel::{ChannelSpec, CodeMode, CodeSpec, Model, PacketKind};
use fadelab_phy::symbol_error::{Antennas, Modulation};
use fadelab_results::{Experiment, Source, Target};
use fadelab_scenario::plan::Plan;

const SCENARIO: &str = "
    [run]
    duration = '30 s'
    seeds = '1..2'
    [topology.bottleneck]
    rate = '2 Mbit/s'
    delay = '20 ms'
    [flow]
    law = ['vcp', 'reno']
    count = 3
";

fn plan(sets: &[&str]) -> Plan {
    let options = fadelab_scenario::Options {
        sets: sets.iter().map(|&set| set.to_owned()).collect(),
        ..Default::default()
    };
    fadelab_scenario::parse(SCENARIO.as_bytes(), "s.toml", Path::new(""), &options).unwrap()
}

#[test]
fn a_plan_says_what_it_amounts_to() {
    // Goal: runs, laws in the scenario's order, seconds, the first network and the samples that will be written are
    // known before anything runs; a plan that records nothing has no samples.
    let amount = Amount::of(&plan(&["run.record=10 s"]));
    assert_eq!((amount.runs, amount.virtual_s), (4, 120));
    assert_eq!(amount.laws, ["vcp", "reno"]);
    assert!(
        amount.sweep_keys.contains(&"flow.law".to_owned()),
        "{:?}",
        amount.sweep_keys
    );
    let first = amount.first.unwrap();
    let Network {
        flows,
        rtt_ns_min,
        rtt_ns_max,
        ..
    } = first;
    assert_eq!((flows, first.shown.contains(&"bottleneck".to_owned())), (3, true));
    assert!(
        rtt_ns_min >= 40_000_000 && rtt_ns_min <= rtt_ns_max,
        "{rtt_ns_min} {rtt_ns_max}"
    );
    let links = first.shown.len() as u128;
    assert_eq!(amount.samples, 4 * 3 * (links + 3));
    assert_eq!(Amount::of(&plan(&["run.record=false"])).samples, 0);
}

#[test]
fn two_results_say_what_was_asked_for_differently() {
    // Goal: version, own laws and keys in which they differ are named with both values; parameters of a law that one of
    // them does not run are none of them; equal ones say nothing, and what is no scenario says so.
    let of = |scenario: &str, version: &str, law: &str| Experiment {
        version: version.to_owned(),
        scenario: scenario.to_owned(),
        sources: vec![Source {
            file: "mine/mine.h".to_owned(),
            text: law.to_owned(),
        }],
        ..Experiment::default()
    };
    let first = of("[run]\nseeds = 1\n[law.vcp]\nkappa = 0.25\n", "1", "a");
    assert_eq!(differing(&first, &first), []);
    let second = of("[run]\nseeds = 2\nrecord = false\n[law.reno]\nx = 1\n", "2", "b");
    let all: Vec<String> = differing(&first, &second).iter().map(Setting::to_string).collect();
    assert_eq!(
        all,
        [
            "fadelab 1 → 2",
            "laws/mine/mine.h differs",
            "run.record: not set → false",
            "run.seeds: 1 → 2"
        ]
    );
    let other = of("[run]\nseeds = 1\n[law.vcp]\nkappa = 0.5\n", "1", "a");
    let key = Setting::Key {
        name: "law.vcp.kappa".to_owned(),
        first: Some("0.25".to_owned()),
        second: Some("0.5".to_owned()),
    };
    assert_eq!(differing(&first, &other), [key]);
    assert_eq!(
        differing(&of("no toml", "1", "a"), &of("nor this", "1", "a")),
        [Setting::Scenario]
    );
}

#[test]
fn a_new_law_is_written_once_and_runs() {
    // Goal: the header of each role compiles and is a law under its name; what is there is left alone, and names that
    // no law can have are refused.
    let folder = tempfile::TempDir::new().unwrap();
    for (role, name) in [
        (Role::Sender, "asked_s"),
        (Role::Router, "asked_r"),
        (Role::Capacity, "asked_c"),
    ] {
        let file = own_law::create(folder.path(), role, name).unwrap();
        let given = file.display().to_string();
        assert_eq!(own_law::named(&given, &|remark| panic!("{remark}")).unwrap(), name);
    }
    assert!(fadelab_laws::sender("asked_s").is_some() && fadelab_laws::router("asked_r").is_some());
    assert!(fadelab_laws::capacity("asked_c").is_some());
    assert_eq!(own_law::named("reno", &|_| ()).unwrap(), "reno");
    fs::write(folder.path().join("there.h"), "mine").unwrap();
    for (role, name, word) in [
        (Role::Sender, "there", "exists already"),
        (Role::Sender, "Not-This", "lower case"),
        (Role::Wire, "asked_w", "no law of its own"),
    ] {
        let failure = own_law::create(folder.path(), role, name).unwrap_err();
        assert!(
            matches!(&failure, Failure::Invalid(text) if text.contains(word)),
            "{failure}"
        );
    }
    assert_eq!(fs::read_to_string(folder.path().join("there.h")).unwrap(), "mine");
}

#[test]
fn parameters_are_set_by_the_words_of_scenarios() {
    // Goal: a law alone has the parameters that a scenario would give it; other keys, lists and wrong values are
    // refused.
    let sets = |sets: &[&str]| sets.iter().map(|&set| set.to_owned()).collect::<Vec<_>>();
    let run = parameters::of_law("vcp", &sets(&["law.vcp.kappa=0.3"])).unwrap();
    let flow = &run.spec.flows[0];
    let law = flow.sender.unwrap();
    assert_eq!(law.name(), "vcp");
    assert_eq!(
        flow.params.values(),
        law.params_from(&[("kappa", 0.3)]).unwrap().values()
    );
    for (given, word) in [
        (&["run.seeds=1"][..], "only parameters of laws"),
        (&["law.vcp.kappa=[0.1,0.2]"], "not with a list"),
        (&["law.vcp.kappa=7"], "law.vcp.kappa"),
    ] {
        let failure = parameters::of_law("vcp", &sets(given)).unwrap_err();
        assert!(failure.to_string().contains(word), "{failure}");
    }
    assert!(parameters::of_law("nolaw", &[]).is_err());
}

#[test]
fn grounds_are_prepared_when_all_of_them_can_run_the_plan() {
    // Goal: a target that is taken and a plan that the second ground refuses are known before the first is prepared.
    let folder = tempfile::TempDir::new().unwrap();
    let (free, taken) = (folder.path().join("free"), folder.path().join("taken"));
    fs::create_dir(&taken).unwrap();
    fs::write(taken.join("file"), "").unwrap();
    let mut guests = Virtual::new("no-such-kernel", "fadelab".into(), false);
    let mut all: [&mut dyn Ground; 2] = [&mut guests, &mut Simulator];
    fadelab_testbed::host_laws::register();
    let of_linux = plan(&["flow.law=linux:reno"]);
    let mut why = |plan: &Plan, target: &Path| {
        let target = Target::Exact(target.to_owned());
        prepare(plan, &target, &mut all, &|what| panic!("{what}"))
            .unwrap_err()
            .to_string()
    };
    assert!(why(&plan(&[]), &taken).contains("taken"));
    assert!(why(&of_linux, &free).contains("linux:reno"));
    assert!(
        why(&plan(&[]), &free).contains("no-such-kernel"),
        "both can run it, and the first is prepared first"
    );
}

#[test]
fn a_packet_error_asks_for_an_snr_or_a_code_rate() {
    // Goal: what is found reaches the target, and four bytes of parity less do not, of data and of ACKs; a target that
    // nothing reaches and a packet that would take too long to compute are refused.
    let spec = ChannelSpec {
        model: Model::GilbertElliott {
            modulation: Modulation::Bpsk,
            antennas: Antennas::OneByOne,
            snr_good_db: 0.0,
            snr_bad_db: -10.0,
            burst_good_bits: 800.0,
            burst_bad_bits: 8.0,
        },
        code: CodeSpec::NONE,
    };
    for (kind, ip_bytes) in [(PacketKind::Data, 1040), (PacketKind::Ack, 40)] {
        let curve = Curve::new("1x1", 1.0, kind, ip_bytes, spec.clone()).unwrap();
        let needed = curve.snr_for(0.01).unwrap();
        assert!(
            needed.packet_error <= 0.01 && curve.packet_error(needed.value - 0.01) > 0.01,
            "{needed:?}"
        );
        let [good, bad] = curve.symbol_errors(needed.value).unwrap();
        assert!(0.0 < good && good < bad && bad < 0.5, "{good} {bad}");
        let snr_db = needed.value - 15.0;
        let rate = curve.rate_for(CodeMode::Ideal, snr_db, 0.01).unwrap().unwrap();
        let bytes = f64::from(ip_bytes);
        let parity_bytes = bytes / rate.value - bytes;
        let less = bytes / (bytes + (parity_bytes - 4.0).max(0.0));
        let less = coded(&curve.at(snr_db), less, CodeMode::Ideal);
        assert!(rate.value < 1.0 && rate.packet_error <= 0.01, "{rate:?}");
        assert!(less.packet_error(kind, ip_bytes) > 0.01, "{rate:?}");
    }
    let curve = Curve::new("1x1", 1.0, PacketKind::Data, 1040, spec.clone()).unwrap();
    assert!(curve.rate_for(CodeMode::Ideal, -60.0, 1e-6).unwrap().is_err());
    let large = Curve::new("1x1", 1.0, PacketKind::Data, 65_000, spec).unwrap();
    let failure = large.rate_for(CodeMode::Ideal, 20.0, 0.01).unwrap_err();
    assert!(
        failure
            .to_string()
            .contains("--size 65000 at --code-rate 0.1: allowed is up to"),
        "{failure}"
    );
}
