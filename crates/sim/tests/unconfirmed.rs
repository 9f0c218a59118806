//! Laws that take feedback from routers, on paths where none of these routers is, or not at the queue that overflows.

mod common;

use common::{DROP, Dumbbell, MS, S, kth, link, plain_router, record_of};
use fadelab_laws::sender;
use fadelab_run::record::RunRecord;
use fadelab_run::spec::RunSpec;

/// Another law for some of the flows.
fn with_law(spec: &mut RunSpec, flows: impl IntoIterator<Item = usize>, law: &str) {
    let law = sender(law).expect("registered");
    for index in flows {
        let mut kind = (*spec.flows[index].kind).clone();
        (kind.sender, kind.params) = (Some(law), law.default_params());
        kind.receiver = fadelab_laws::receiver(law.name());
        spec.flows[index].kind = kind.into();
    }
}

fn goodput(record: &RunRecord, flow: usize) -> u64 {
    record.flows_end[flow].delivered_bytes
}

#[test]
fn without_a_router_of_its_law_a_flow_is_reno() {
    // Goal: two flows over drop-tail, which lose packets, do the same to the packet under XCP, VCP and Reno.
    let run = |law| {
        let spec = Dumbbell {
            flows: 2,
            law,
            router: "droptail",
            rate_bps: 10_000_000,
            delay_ns: 10 * MS,
            buffer_pkts: 25,
            duration_ns: 30 * S,
        };
        record_of(&spec.spec()).flows_end
    };
    let reno = run("reno");
    assert!(reno.iter().all(|flow| flow.retransmitted_pkts > 5), "{reno:?}");
    assert_eq!(run("xcp"), reno);
    assert_eq!(run("vcp"), reno);
}

/// A CUBIC flow and one of `law` over two links: a router of XCP or VCP that has spare capacity for ever, and a
/// drop-tail queue of a fifth of its rate. The goodput of CUBIC, and how many packets the other retransmitted.
fn beside_cubic(law: &str, router: &str, (rate_mbps, delay_ms, buffer_pkts): (u64, u64, u32)) -> (u64, u64) {
    let mut spec = Dumbbell {
        flows: 2,
        law: "cubic",
        router: "droptail",
        rate_bps: rate_mbps * 1_000_000,
        delay_ns: delay_ms * MS,
        buffer_pkts,
        duration_ns: 120 * S,
    }
    .spec();
    let generous = spec.network.links.len() as u32;
    let mut first = link("generous", 5 * rate_mbps * 1_000_000, MS, 1000);
    first.router = plain_router(router);
    spec.network.join(0, 0, first);
    for flow in &mut spec.flows {
        flow.route.insert(1, generous);
    }
    with_law(&mut spec, [1], law);
    let record = record_of(&spec);
    (goodput(&record, 0), record.flows_end[1].retransmitted_pkts)
}

#[test]
fn grants_of_one_router_do_not_overflow_the_queue_of_another() {
    // Goal: over paths short and long, slow and fast, with small buffers and large, CUBIC has at least 0.9 of what it
    // has beside Reno, and the flow whose router has much to give retransmits at most four times what Reno does.
    let paths = [
        (2, 10, 10),
        (2, 10, 60),
        (10, 10, 40),
        (10, 50, 20),
        (10, 200, 200),
        (50, 5, 60),
        (50, 50, 200),
        (50, 50, 800),
    ];
    for path in paths {
        for law in ["xcp", "vcp"] {
            let (beside_reno, reno_again) = beside_cubic("reno", law, path);
            let (beside_law, law_again) = beside_cubic(law, law, path);
            println!("{law} {path:?}: CUBIC {beside_law} of {beside_reno} B; {law_again} again, Reno {reno_again}");
            assert!(beside_law * 10 >= beside_reno * 9, "{law} {path:?}");
            assert!(law_again <= 4 * reno_again, "{law} {path:?}");
        }
    }
}

#[test]
fn behind_losses_a_flow_follows_its_own_bottleneck_again() {
    // Goal: where the router of the law is the bottleneck, losses do not turn a flow into Reno for good: with a packet
    // of 3000 lost it gets at least 0.8 of what it gets with `grants = "all"`.
    for law in ["xcp", "vcp"] {
        let [bounded, all] = [0.0, 1.0].map(|grants| {
            let mut spec = Dumbbell {
                flows: 1,
                law,
                router: law,
                rate_bps: 10_000_000,
                delay_ns: 10 * MS,
                buffer_pkts: 100,
                duration_ns: 60 * S,
            }
            .spec();
            let once = spec.network.links.len() as u32;
            let mut dropping = link("once", 100_000_000, MS, 1000);
            dropping.router = kth(3000, 3000, 1_000_000_000, DROP);
            spec.network.join(0, 0, dropping);
            spec.flows[0].route.insert(1, once);
            let mut kind = (*spec.flows[0].kind).clone();
            kind.params = kind
                .sender
                .expect("a law")
                .params_from(&[("grants", grants)])
                .expect("valid");
            spec.flows[0].kind = kind.into();
            spec.warmup_ns = 30 * S;
            let record = record_of(&spec);
            let flow = &record.flows_end[0];
            assert!(flow.retransmitted_pkts > 10, "{law} {grants}: {flow:?}");
            flow.delivered_bytes - record.flows_warmup[0].delivered_bytes
        });
        println!("{law}: {bounded} of {all}");
        assert!(bounded * 10 >= all * 8, "{law}: {bounded} of {all}");
    }
}
