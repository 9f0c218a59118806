//! Which nodes a network has, and where its links and flows begin and end.

use std::path::Path;

use fadelab_run::network::NodeKind;
use fadelab_run::spec::RunSpec;
use fadelab_scenario::{Options, load, parse};

/// The first run of a scenario of reno flows.
fn spec(text: &str) -> RunSpec {
    let text = format!("[run]\nduration = '1 s'\nwarmup = '0 s'\n{text}");
    let plan = parse(text.as_bytes(), "s.toml", Path::new(""), &Options::default());
    plan.unwrap_or_else(|refusal| panic!("{refusal}\n{text}"))
        .runs
        .remove(0)
        .spec
}

/// The names of nodes, routers in brackets.
fn nodes(spec: &RunSpec) -> String {
    let names = spec.network.nodes.iter().map(|node| match node.kind {
        NodeKind::Host => node.name.to_string(),
        NodeKind::Router => format!("[{}]", node.name),
    });
    names.collect::<Vec<_>>().join(" ")
}

/// The nodes that the data of a flow pass, and those that its ACKs pass.
fn ways(spec: &RunSpec, flow: &str) -> [String; 2] {
    let flow = spec
        .flows
        .iter()
        .find(|known| &*known.name == flow)
        .expect("it is there");
    let name = |node: u32| spec.network.nodes[node as usize].name.to_string();
    [(flow.from, &flow.route), (flow.to, &flow.route_back)].map(|(from, route)| {
        let passed = route.iter().map(|&link| name(spec.network.links[link as usize].to));
        std::iter::once(name(from)).chain(passed).collect::<Vec<_>>().join(" ")
    })
}

const PARKING_LOT: &str =
    "[topology]\npreset = 'parking-lot'\nhops = ['4 Mbit/s', '2 Mbit/s']\nhop = { delay = '9 ms' }\n";

#[test]
fn hosts_of_a_row_stand_where_their_flows_enter_and_leave_it() {
    // Goal: a row has a router more than hops, each flow a host on the left and one on the right of its hops, and the
    // same router passes both ways.
    let spec = spec(&format!(
        "{PARKING_LOT}[flow]\nlaw = 'reno'\n[flow.all]\n[flow.second]\npath = '2'\ndirection = 'backward'\n"
    ));
    assert_eq!(spec.check(), Ok(()));
    assert_eq!(
        nodes(&spec),
        "[router.1] [router.2] [router.3] left.1 right.1 left.2 right.2"
    );
    let (there, back) = (
        "left.1 router.1 router.2 router.3 right.1",
        "right.1 router.3 router.2 router.1 left.1",
    );
    assert_eq!(ways(&spec, "all.1"), [there, back]);
    let (there, back) = ("right.2 router.3 router.2 left.2", "left.2 router.2 router.3 right.2");
    assert_eq!(ways(&spec, "second.1"), [there, back]);
}

#[test]
fn flows_share_hosts_where_pairs_are_given() {
    // Goal: two pairs of hosts for three flows are four hosts, and the third flow has those of the first.
    let spec = spec(
        "[topology]\npairs = 2\n[topology.bottleneck]\nrate = '1 Mbit/s'\ndelay = '1 ms'\n\
         [flow]\nlaw = 'reno'\ncount = 3\n",
    );
    assert_eq!(spec.check(), Ok(()));
    assert_eq!(nodes(&spec), "[router.1] [router.2] left.1 right.1 left.2 right.2");
    assert_eq!(ways(&spec, "flow.1"), ways(&spec, "flow.3"));
    assert_ne!(ways(&spec, "flow.1"), ways(&spec, "flow.2"));
}

#[test]
fn hosts_of_a_graph_are_where_flows_begin_or_end() {
    // Goal: nodes of a graph are those of the scenario, hosts where a flow begins or ends, also one against `from`.
    let link = |name: &str, from: &str, to: &str| {
        format!("[link.{name}]\nfrom = '{from}'\nto = '{to}'\nrate = '1 Mbit/s'\ndelay = '1 ms'\n")
    };
    let spec = spec(&format!(
        "[topology]\nnodes = ['a', 'b', 'c', 'd']\n{}{}{}\
         [flow]\nlaw = 'reno'\nfrom = 'a'\nto = 'd'\nvia = ['b', 'c', 'b']\ndirection = 'backward'\n",
        link("ab", "a", "b"),
        link("bc", "b", "c"),
        link("bd", "b", "d")
    ));
    assert_eq!(spec.check(), Ok(()));
    assert_eq!(nodes(&spec), "a [b] [c] d");
    assert_eq!(ways(&spec, "flow.1"), ["d b c b a", "a b c b d"]);
}

#[test]
fn a_flow_without_a_way_is_told_by_its_name() {
    // Goal: routes that do not begin at the sender, break off, end elsewhere or are empty are noticed there and back,
    // and so are ends at a router, numbers of nodes and links that there are not, and which flow it is.
    let changes: [fn(&mut RunSpec); 8] = [
        |spec| spec.flows[1].from = 4,
        |spec| spec.flows[1].route.swap(0, 1),
        |spec| spec.flows[1].route_back.truncate(2),
        |spec| spec.flows[1].route_back.clear(),
        |spec| spec.flows[1].route[0] = 1_000,
        |spec| spec.network.links[0].to = 1_000,
        |spec| spec.network.nodes[6].kind = NodeKind::Router,
        |spec| spec.network.nodes.truncate(6),
    ];
    let sound = spec(&format!("{PARKING_LOT}[flow]\nlaw = 'reno'\ncount = 2\npath = '1'\n"));
    assert_eq!(sound.check(), Ok(()));
    for (number, change) in changes.into_iter().enumerate() {
        let mut spec = sound.clone();
        change(&mut spec);
        let misfit = spec.check().expect_err("it is broken").to_string();
        let flow = if number == 5 { "`flow.1`" } else { "`flow.2`" };
        let told = if number < 6 { "do not lead" } else { "no host" };
        assert!(misfit.contains(flow) && misfit.contains(told), "{number}: {misfit}");
    }
}

#[test]
fn ready_made_scenarios_hold_together() {
    // Goal: in each scenario of the project flows lead from host to host, and names of nodes and links are unique.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for file in files.filter(|file| file.extension().is_some_and(|extension| extension == "toml")) {
        let plan = load(&file, &Options::default()).unwrap_or_else(|refusal| panic!("{refusal}"));
        for run in &plan.runs {
            assert_eq!(run.spec.check(), Ok(()), "{}", file.display());
            let network = &run.spec.network;
            let nodes = network.nodes.iter().map(|node| &node.name);
            let links = network.links.iter().map(|link| &link.name);
            for mut names in [nodes.collect::<Vec<_>>(), links.collect()] {
                names.sort();
                assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
            }
        }
    }
}
