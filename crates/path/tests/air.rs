//! What the channel and its code do to a link.

mod common;

use common::{Bench, DATA, MS, constant, spec};
use fadelab_phy::channel::{ChannelSpec, CodeMode, CodeSpec, Model, PacketKind};

/// Half-width of an interval that a binomial share leaves once in 10^5 runs.
fn margin(share: f64, count: u64) -> f64 {
    4.5 * (share * (1.0 - share) / count as f64).sqrt()
}

#[test]
fn channels_lose_what_they_promise() {
    // Goal: the realised loss of a link lies within a binomial interval of `ChannelSpec::packet_error_at`, for data and
    // ACKs, on plain random channels, bit-level fading with a code, and packet-scale fading of short stays.
    let fading = Model::GilbertElliott {
        modulation: fadelab_phy::channel::Modulation::Bpsk,
        antennas: fadelab_phy::channel::Antennas::OneByOne,
        snr_good_db: 19.0,
        snr_bad_db: 9.0,
        burst_good_bits: 800.0,
        burst_bad_bits: 8.0,
    };
    let code = CodeSpec {
        data_rate: 0.93,
        ack_rate: 0.5,
        mode: CodeMode::Ideal,
    };
    let slow = Model::PacketScale {
        good_ns_mean: 3e6,
        bad_ns_mean: 1e6,
        bit_error_good: 1e-6,
        bit_error_bad: 1e-4,
    };
    let channels = [
        (Model::Random { data: 0.1, ack: 0.02 }, CodeSpec::NONE),
        (fading, code),
        (slow, CodeSpec::NONE),
    ];
    for (model, code) in channels {
        let channel = ChannelSpec { model, code };
        let rate_bps = 54_000_000;
        let mut spec = spec(constant(rate_bps), MS, None, None);
        spec.channel = Some(channel.clone());
        let mut bench = Bench::new(&spec);
        let (mut now_ns, pairs) = (0, 30_000);
        for _ in 0..pairs {
            // Far enough apart for states to be independent, so that the binomial interval holds.
            now_ns += 20 * MS;
            assert!(bench.arrive(now_ns, 1040, DATA));
            now_ns += 20 * MS;
            assert!(bench.arrive(now_ns, 40, 0));
        }
        bench.run(u64::MAX - 1);
        let counters = bench.link.snapshot(now_ns + MS, &mut bench.packets).expect("sound");
        assert_eq!((counters.sent_data_pkts, counters.sent_pkts), (pairs, 2 * pairs));
        let lost_acks = counters.lost_air_pkts - counters.lost_air_data_pkts;
        for (kind, bytes, lost) in [
            (PacketKind::Data, 1040, counters.lost_air_data_pkts),
            (PacketKind::Ack, 40, lost_acks),
        ] {
            let expected = channel.packet_error_at(kind, bytes, rate_bps);
            let realised = lost as f64 / pairs as f64;
            let bound = margin(expected, pairs) + 1e-9;
            assert!(
                (realised - expected).abs() <= bound,
                "{:?} {kind:?}: {realised}, expected {expected}",
                channel.model
            );
        }
        assert_eq!(
            bench.out.iter().filter(|out| out.2).count() as u64,
            counters.lost_air_pkts
        );
    }
}

#[test]
fn parity_occupies_the_link() {
    // Goal: a code of rate r makes packets 1/r as long on the air, in time, in counters and in the queue's bytes.
    let mut coded = spec(constant(8_000_000), 0, None, Some(3000));
    coded.channel = Some(ChannelSpec {
        model: Model::Random { data: 0.0, ack: 0.0 },
        code: CodeSpec {
            data_rate: 0.8,
            ack_rate: 0.5,
            mode: CodeMode::Ideal,
        },
    });
    let mut bench = Bench::new(&coded);
    // One in transmission, two of 1300 bytes waiting, a third one does not fit in 3000 bytes, an ACK of 80 bytes does.
    let taken: Vec<bool> = (0..4).map(|_| bench.arrive(0, 1040, DATA)).collect();
    assert_eq!(taken, [true, true, true, false]);
    assert!(bench.arrive(0, 40, 0));
    let waiting = bench.link.snapshot(0, &mut bench.packets).expect("sound");
    assert_eq!(
        (waiting.queue_bytes, waiting.queue_pkts, waiting.sent_bytes),
        (2680, 3, 0)
    );
    let halfway = bench.link.snapshot(650_000, &mut bench.packets).expect("sound");
    assert_eq!(
        (halfway.sent_bytes, halfway.sent_pkts),
        (650, 0),
        "of the one in transmission, half is on the air"
    );
    bench.run(u64::MAX - 1);
    let ends_us: Vec<u64> = bench.out.iter().map(|out| out.0 / 1000).collect();
    assert_eq!(ends_us, [1300, 2600, 3900, 3980]);
    let counters = bench.link.snapshot(3_980_000, &mut bench.packets).expect("sound");
    assert_eq!((counters.sent_bytes, counters.offered_bytes), (3980, 3980));
}
