//! What a law is told of the segments of a super-packet: how many, and the role of each.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "common/packet.rs"]
mod packet;

use common::possible;
use fadelab_kernel::Version;
use fadelab_kernel::router::object::{Recipe, compile};
use fadelab_kernel::router::{Outcome, Place, Program};
use fadelab_laws::own::{Source, SourceFile, load_text};
use fadelab_laws::{capacity, router};
use packet::{ETHERNET, Made};

/// Keeps what it was shown of the last packet.
const KEEPER: &str = r#"
#include "law.h"

struct keeper_state {
	u64 segments;
	u64 roles_known;
	u64 roles;
};

LAW u32 keeper_on_enqueue(void *state, const void *params, struct law_packet *packet, const struct law_queue *queue)
{
	struct keeper_state *s = state;

	s->segments = packet->segments;
	s->roles_known = packet->roles_known;
	s->roles = packet->roles;
	return LAW_PASS;
}

LAW_TABLE struct law_router keeper_router = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_router),
	.name = "keeper",
	.summary = "Keeps what it is shown",
	.state_bytes = sizeof(struct keeper_state),
	LAW_NO_PARAMS,
	.on_enqueue = keeper_on_enqueue,
};
"#;

fn keeper() -> Program {
    let file = "keeper.h".to_owned();
    load_text(&Source {
        name: "keeper".to_owned(),
        path: file.clone().into(),
        files: vec![SourceFile {
            name: file,
            text: KEEPER.to_owned(),
        }],
        ..Source::default()
    })
    .unwrap_or_else(|error| panic!("{error}"));
    let (law, part) = (
        router("keeper").expect("brought"),
        capacity("configured").expect("registered"),
    );
    let object = compile(&Recipe {
        law,
        params: &law.default_params(),
        part,
        part_params: &part.default_params(),
        kernel: Version::running().expect("a version"),
    })
    .expect("it compiles");
    let place = Place {
        capacity_bytes_per_s: 1_000_000,
        packet_bytes: 1514,
        link_bytes: 14,
        air_bytes: 14,
        ..Place::default()
    };
    Program::load(&object, &place).expect("it loads")
}

#[test]
fn each_segment_of_a_super_packet_has_its_role() {
    // Goal: a packet of one segment has the role of its ID. Of several whose IDs count up each has its own, and it is
    // certain where the packet may be fragmented; of one that must not, that of the first alone is. Packets of IPv6
    // have none. More than 64 are not told.
    if !possible(&["clang"]) {
        return;
    }
    let program = keeper();
    let alternating =
        |first: u64, segments: u32| (0..segments.min(64)).fold(0, |roles, i| roles | (first ^ u64::from(i & 1)) << i);
    for ipv6 in [false, true] {
        for (id, may_be_cut) in [(0x1234u16, true), (0x1235, true), (0x1235, false), (0x1234, false)] {
            for segments in [1, 2, 5, 44, 64, 90] {
                let made = Made {
                    ipv6,
                    ecn: 0,
                    payload: 1000,
                    before: vec![],
                    option: vec![],
                };
                let mut frame = made.frame();
                if !ipv6 {
                    frame[ETHERNET + 4..ETHERNET + 6].copy_from_slice(&id.to_be_bytes());
                    frame[ETHERNET + 6] = if may_be_cut { 0 } else { 0x40 };
                }
                let outcome = program.pass(&frame, segments).expect("the kernel takes it");
                assert!(matches!(outcome, Outcome::Passed(_)));
                let (_, state) = program.state(24).expect("it tells");
                let words: Vec<u64> = state
                    .chunks_exact(8)
                    .map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")))
                    .collect();
                let first = if ipv6 { 0 } else { u64::from(id & 1) };
                let known = match (ipv6, may_be_cut) {
                    (true, _) => 0,
                    (false, true) => u64::from(segments.min(64)),
                    (false, false) => 1,
                };
                let case = format!("ipv6 {ipv6}, ID {id}, may be cut {may_be_cut}");
                assert_eq!(
                    words,
                    [u64::from(segments), known, alternating(first, segments)],
                    "{case}"
                );
            }
        }
    }
}
