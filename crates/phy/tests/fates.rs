//! The fates of long schedules of packets, as they were when each packet was decided by floating-point numbers alone.
//!
//! Whatever is done for speed, no packet may have another fate: every result of the project hangs on them.

use fadelab_phy::channel::{Antennas, Channel, ChannelSpec, CodeMode, CodeSpec, Model, Modulation, PacketKind};
use fadelab_phy::random::Stream;

/// Packets of a schedule.
const PACKETS: u32 = 60_000;

/// A channel, the rate of its link, and of its fates the number of losses and the hash.
struct Golden {
    name: &'static str,
    spec: ChannelSpec,
    rate_bps: u64,
    lost: u32,
    hash: u64,
}

/// Fates of packets of mixed sizes: long rows of the same two, back to back and with gaps, and now and then others.
fn fates(spec: &ChannelSpec, rate_bps: u64) -> (u32, u64) {
    let mut channel = Channel::new(spec, 11, "link", rate_bps);
    let mut random = Stream::new(7, "schedule");
    let (mut now_ns, mut lost, mut hash) = (1_234_567, 0, 0xcbf2_9ce4_8422_2325u64);
    for _ in 0..PACKETS {
        let (kind, ip_bytes) = match random.below(40) {
            0 => (PacketKind::Data, 20 + 240 * random.below(6) as u32),
            1 => (PacketKind::Ack, 20 + 13 * random.below(4) as u32),
            2..20 => (PacketKind::Ack, 40),
            _ => (PacketKind::Data, 1040),
        };
        let is_lost = channel.is_lost(now_ns, kind, ip_bytes);
        lost += u32::from(is_lost);
        hash = (hash ^ u64::from(is_lost)).wrapping_mul(0x100_0000_01b3);
        now_ns += (u64::from(spec.air_bytes(kind, ip_bytes)) * 8_000_000_000).div_ceil(rate_bps);
        now_ns += match random.below(30) {
            0 => random.below(3_000_000),
            1 => random.below(100_000_000),
            2..10 => random.below(2_000),
            _ => 0,
        };
    }
    (lost, hash)
}

fn bits(snr_good_db: f64, bursts: (f64, f64), code: CodeSpec) -> ChannelSpec {
    ChannelSpec {
        model: Model::GilbertElliott {
            modulation: Modulation::Bpsk,
            antennas: Antennas::TwoByTwo,
            snr_good_db,
            snr_bad_db: snr_good_db - 10.0,
            burst_good_bits: bursts.0,
            burst_bad_bits: bursts.1,
        },
        code,
    }
}

fn stays(means_ns: (f64, f64), bit_errors: (f64, f64), code: CodeSpec) -> ChannelSpec {
    ChannelSpec {
        model: Model::PacketScale {
            good_ns_mean: means_ns.0,
            bad_ns_mean: means_ns.1,
            bit_error_good: bit_errors.0,
            bit_error_bad: bit_errors.1,
        },
        code,
    }
}

fn random(data: f64, ack: f64) -> ChannelSpec {
    ChannelSpec {
        model: Model::Random { data, ack },
        code: CodeSpec::NONE,
    }
}

const CODE: CodeSpec = CodeSpec {
    data_rate: 0.9,
    ack_rate: 0.5,
    mode: CodeMode::Ideal,
};

const WORDS: CodeSpec = CodeSpec {
    data_rate: 0.85,
    ack_rate: 0.6,
    mode: CodeMode::Gf256,
};

fn golden(name: &'static str, spec: ChannelSpec, rate_bps: u64, lost: u32, hash: u64) -> Golden {
    Golden {
        name,
        spec,
        rate_bps,
        lost,
        hash,
    }
}

fn goldens() -> [Golden; 11] {
    [
        golden(
            "satellite",
            bits(5.0, (800.0, 8.0), CODE),
            2_000_000,
            662,
            0x4a84_4ab4_42e3_2689,
        ),
        golden(
            "words",
            bits(5.0, (3e4, 6e3), WORDS),
            54_000_000,
            16_321,
            0xabf1_b5f3_6ef8_23f4,
        ),
        golden(
            "uncoded",
            bits(20.0, (1e5, 1e4), CodeSpec::NONE),
            1_000_000_000,
            2037,
            0xd179_535c_4bff_9afe,
        ),
        golden(
            "alternating",
            bits(9.0, (1.25, 1.0), CODE),
            54_000_000,
            33_329,
            0x3eda_ecaf_8bf2_fac8,
        ),
        golden(
            "often lost",
            bits(2.0, (800.0, 8.0), CODE),
            54_000_000,
            31_711,
            0xbdaa_14c1_a498_3eca,
        ),
        golden(
            "long stays",
            stays((50e6, 5e6), (1e-6, 1e-2), CODE),
            54_000_000,
            2673,
            0x2abb_06d5_4611_a388,
        ),
        golden(
            "short stays",
            stays((3e5, 1e5), (1e-5, 1e-3), CodeSpec::NONE),
            54_000_000,
            17_671,
            0x8ec7_0c0f_c450_0894,
        ),
        golden(
            "few errors",
            stays((5e8, 5e7), (0.0, 1e-6), CodeSpec::NONE),
            3_000_000,
            27,
            0x9a84_692c_e03f_dd32,
        ),
        golden("random", random(0.01, 0.3), 54_000_000, 8711, 0xb6ef_b13d_c5bd_de02),
        golden(
            "always and never",
            random(1.0, 0.0),
            54_000_000,
            31_551,
            0x0a75_f1b3_064e_e44a,
        ),
        golden("fast", random(0.2, 0.2), 400_000_000_000, 11_981, 0x97ce_df39_44ce_3fae),
    ]
}

#[test]
fn no_packet_has_another_fate() {
    // Goal: every model decides as it always did, packet by packet: the hash of the fates is the one that the sampler
    // gave when draws by counter became SplitMix64's; until then it was that of a sampler without short cuts. A change
    // here changes every result over such a channel.
    let differing: Vec<String> = goldens()
        .iter()
        .filter_map(|golden| {
            let (lost, hash) = fates(&golden.spec, golden.rate_bps);
            let same = (lost, hash) == (golden.lost, golden.hash);
            (!same).then(|| format!("{}: {lost} of {PACKETS} lost, hash {hash:#018x}", golden.name))
        })
        .collect();
    assert!(differing.is_empty(), "{differing:#?}");
}
