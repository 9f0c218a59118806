//! Measures what channels cost: building the table of a packet size, and deciding the fate of a packet.
//!
//! Run by hand: `cargo run --release -p fadelab-phy --example cost`.

use std::hint::black_box;
use std::time::Instant;

use fadelab_phy::channel::{Antennas, Channel, ChannelSpec, CodeMode, CodeSpec, Model, Modulation, PacketKind};

fn main() {
    let bits = |burst_good_bits, burst_bad_bits| Model::GilbertElliott {
        modulation: Modulation::Bpsk,
        antennas: Antennas::TwoByTwo,
        snr_good_db: 5.0,
        snr_bad_db: -5.0,
        burst_good_bits,
        burst_bad_bits,
    };
    let stays = Model::PacketScale {
        good_ns_mean: 10e6,
        bad_ns_mean: 1e6,
        bit_error_good: 1e-6,
        bit_error_bad: 1e-2,
    };
    for (burst_good_bits, burst_bad_bits) in [(800.0, 8.0), (200.0, 40.0), (10_000.0, 1_000.0)] {
        for (code_rate, mode) in [(0.8, CodeMode::Ideal), (0.8, CodeMode::Gf256), (0.5, CodeMode::Gf256)] {
            build(bits(burst_good_bits, burst_bad_bits), code_rate, mode);
        }
    }
    let code = CodeSpec {
        data_rate: 0.9,
        ack_rate: 0.5,
        mode: CodeMode::Ideal,
    };
    for (name, model) in [
        ("bits", bits(800.0, 8.0)),
        ("stays", stays),
        ("random", Model::Random { data: 0.01, ack: 0.01 }),
    ] {
        let spec = ChannelSpec { model, code };
        for (gap, gap_ns) in [("back to back", 0), ("gaps of 200 ns", 200), ("gaps of 1 us", 1_000)] {
            decide(&format!("{name}, {gap}"), &spec, gap_ns);
        }
    }
}

/// Builds the table of data packets of 1040 bytes.
fn build(model: Model, code_rate: f64, mode: CodeMode) {
    let code = CodeSpec {
        data_rate: code_rate,
        ack_rate: code_rate,
        mode,
    };
    let spec = ChannelSpec { model, code };
    let begin = Instant::now();
    let error = black_box(spec.packet_error(PacketKind::Data, 1040));
    let took = begin.elapsed();
    println!(
        "table of 1040 bytes at {code_rate}, {mode:?}: {took:?} (packet error {error:.3e}, {:?})",
        spec.model
    );
}

/// Decides the fates of data packets and ACKs in turn, on a link of 54 Mbit/s. Prints the best of twenty rounds, as
/// other work on the machine only makes rounds slower.
fn decide(name: &str, spec: &ChannelSpec, gap_ns: u64) {
    let (rate_bps, round_pkts) = (54_000_000, 200_000);
    let mut channel = Channel::new(spec, 1, "link", rate_bps);
    let sizes = [(PacketKind::Data, 1040), (PacketKind::Ack, 40)];
    let air_ns = sizes.map(|(kind, bytes)| u64::from(spec.air_bytes(kind, bytes)) * 8_000_000_000 / rate_bps + 1);
    let (mut now_ns, mut lost, mut best_ns) = (0, 0, f64::INFINITY);
    for _ in 0..20 {
        let begin = Instant::now();
        for packet in 0..round_pkts {
            let (kind, bytes) = sizes[packet % 2];
            lost += u32::from(channel.is_lost(now_ns, kind, bytes));
            now_ns += air_ns[packet % 2] + gap_ns;
        }
        best_ns = best_ns.min(begin.elapsed().as_secs_f64() * 1e9 / round_pkts as f64);
    }
    println!(
        "fate of a packet, {name}: {best_ns:.1} ns (lost {lost} of {})",
        20 * round_pkts
    );
}
