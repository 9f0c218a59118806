//! Laws that users bring run as the built-in ones do, and a law at fault ends the run with its place and time.

mod common;

use common::{Dumbbell, MS, S, random_loss, record_of};
use fadelab_laws::own::{Source, SourceFile, load_text};
use fadelab_laws::replay::Explained;
use fadelab_run::spec::RunSpec;
use fadelab_sim::RunError;

/// The built-in law `name` of `role` as a user would bring it, under the name `own`.
fn bring(role: &str, name: &str, own: &str, header: &str) {
    let mut text = header.replace(&format!(".name = \"{name}\""), &format!(".name = \"{own}\""));
    for table in [role, "receiver"] {
        text = text.replace(&format!("{name}_{table} = {{"), &format!("{own}_{table} = {{"));
    }
    bring_text(own, text);
}

fn bring_text(name: &str, text: String) {
    let file = format!("{name}.h");
    load_text(&Source {
        name: name.to_owned(),
        path: file.clone().into(),
        files: vec![SourceFile { name: file, text }],
        ..Source::default()
    })
    .unwrap_or_else(|error| panic!("{error}"));
}

/// A network with losses of both kinds, so that every function of a law is called.
fn busy(law: &str, router: &str) -> RunSpec {
    let mut spec = Dumbbell {
        flows: 3,
        law,
        router,
        rate_bps: 5_000_000,
        delay_ns: 20 * MS,
        buffer_pkts: 30,
        duration_ns: 8 * S,
    }
    .spec();
    spec.network.links[0].channel = Some(random_loss(0.002, 0.001));
    spec
}

#[test]
fn a_sender_brought_by_a_user_gives_the_same_run() {
    // Goal: each sender compiled with checks and behind the guard, and in the build that tells its steps, moves every
    // packet as the built-in one does; and no call of a registered law is taken for a fault.
    for law in fadelab_laws::senders()
        .iter()
        .filter(|law| !law.name().starts_with("own_"))
    {
        let (name, router) = (law.name(), law.router().unwrap_or("rem"));
        let own = format!("own_{name}");
        // One file, as a user's law is: the receiver's half joins it where it stands in a header of its own.
        let receiver = fadelab_laws::receiver(name).map_or("", |receiver| receiver.header());
        let beside = if receiver == law.header() { "" } else { receiver };
        bring("sender", name, &own, &[law.header(), beside].concat());
        let spec = busy(name, router);
        let record = record_of(&spec);
        assert_eq!(record_of(&busy(&own, router)), record, "{name}");
        let mut explained = spec.clone();
        let sender = Explained::builtin("sender", name)
            .and_then(|law| law.sender)
            .expect("registered");
        let sender: &'static fadelab_laws::Sender = Box::leak(Box::new(sender));
        explained.flows.iter_mut().for_each(|flow| flow.sender = Some(sender));
        let receiver = Explained::builtin("receiver", name).and_then(|law| law.receiver);
        assert_eq!(receiver.is_some(), explained.flows[0].receiver.is_some(), "{name}");
        if let Some(receiver) = receiver {
            let receiver: &'static fadelab_laws::Receiver = Box::leak(Box::new(receiver));
            explained
                .flows
                .iter_mut()
                .for_each(|flow| flow.receiver = Some(receiver));
        }
        assert_eq!(record_of(&explained), record, "{name}, explained");
    }
}

#[test]
fn a_router_brought_by_a_user_gives_the_same_run() {
    // Goal: the same for each router, under the sender that needs it or under Reno, and for each capacity part.
    for law in fadelab_laws::routers()
        .iter()
        .filter(|law| !law.name().starts_with("own_"))
    {
        let (name, own) = (law.name(), format!("own_router_{}", law.name()));
        bring("router", name, &own, law.header());
        let sender = if fadelab_laws::sender(name).is_some() {
            name
        } else {
            "reno"
        };
        assert_eq!(record_of(&busy(sender, &own)), record_of(&busy(sender, name)), "{name}");
    }
    for part in fadelab_laws::capacities()
        .iter()
        .filter(|part| !part.name().starts_with("own_"))
    {
        let own = format!("own_part_{}", part.name());
        bring("capacity", part.name(), &own, part.header());
        let with = |name: &str| {
            let mut spec = busy("vcp", "vcp");
            for link in &mut spec.network.links {
                link.router.capacity = fadelab_laws::capacity(name).expect("a part");
                link.router.capacity_params = link.router.capacity.default_params();
            }
            record_of(&spec)
        };
        assert_eq!(with(&own), with(part.name()), "{}", part.name());
    }
}

/// A sender that runs `code` on each ACK.
fn sender(name: &str, code: &str) {
    bring_text(
        name,
        format!(
            "#include \"law.h\"\n\
             LAW void {name}_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control \
             *control)\n{{\n\t{code}\n}}\n\
             LAW void {name}_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause, struct \
             law_control *control)\n{{\n\tcontrol->ssthresh_pkts = control->cwnd_pkts;\n}}\n\
             LAW_TABLE struct law_sender {name}_sender = {{\n\t.abi = LAW_ABI, .size = sizeof(struct law_sender),\n\
             \t.name = \"{name}\", .summary = \"s\", .state_bytes = 8, LAW_NO_PARAMS, \
             .on_ack = {name}_on_ack,\n\t.on_loss = {name}_on_loss,\n}};\n"
        ),
    );
}

#[test]
fn a_fault_says_which_flow_and_when() {
    // Goal: of several flows under the same law the one whose call went wrong is named, with the time of that call.
    sender("own_faulty", "if (ack->now_us >= 7000000) control->cwnd_pkts = 0;");
    let mut spec = busy("reno", "droptail");
    let law = fadelab_laws::sender("own_faulty").expect("loaded");
    (spec.flows[1].sender, spec.flows[1].params) = (Some(law), law.default_params());
    let Err(RunError::Law(fault)) = fadelab_sim::run(&spec, |_| true) else {
        panic!("the run should end");
    };
    assert_eq!(fault.record.place, "flow 2 (flow.1)");
    let event_us = fault.record.event["now_us"].as_u64().expect("a time");
    assert_eq!(fault.record.time_ns, event_us * 1000);
    assert!((7_000_000..7_200_000).contains(&event_us), "{event_us}");
    assert!(fault.why().contains("cwnd_pkts = 0"), "{fault}");
}

#[test]
fn a_fault_in_one_thread_leaves_others_alone() {
    // Goal: runs of a law that traps and of sound laws, guarded and not, share threads without disturbing one another.
    sender(
        "own_traps",
        "if (ack->now_us >= 2000000) *(volatile u32 *)(u64)ack->now_us = 1;",
    );
    sender(
        "own_sound",
        "if (control->ca_state < LAW_CA_RECOVERY) control->cwnd_pkts = 10;",
    );
    let expected = ["own_sound", "reno"].map(|law| record_of(&busy(law, "droptail")));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..3 {
                    let fault = fadelab_sim::run(&busy("own_traps", "droptail"), |_| true);
                    assert!(matches!(fault, Err(RunError::Law(_))), "{fault:?}");
                    for (law, expected) in ["own_sound", "reno"].iter().zip(&expected) {
                        assert_eq!(&record_of(&busy(law, "droptail")), expected);
                    }
                }
            });
        }
    });
}
