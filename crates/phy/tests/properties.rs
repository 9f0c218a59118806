//! What holds for every channel, over random channels.

use fadelab_phy::channel::{Antennas, ChannelSpec, CodeMode, CodeSpec, Model, Modulation, PacketKind, SpecError};
use fadelab_phy::gilbert_elliott::{BAD, GOOD};
use fadelab_phy::solve::{SolveError, at_snr, code_rate_for_packet_error, snr_for_packet_error};
use proptest::prelude::*;

fn antennas() -> impl Strategy<Value = Antennas> {
    prop::sample::select(vec![
        Antennas::OneByOne,
        Antennas::TwoByOne,
        Antennas::OneByTwo,
        Antennas::TwoByTwo,
    ])
}

fn modulation() -> impl Strategy<Value = Modulation> {
    prop::sample::select(vec![
        Modulation::Bpsk,
        Modulation::Qpsk,
        Modulation::Psk8,
        Modulation::Psk16,
    ])
}

prop_compose! {
    /// Bursts and ratios over their sensible ranges.
    fn bit_model()(
        modulation in modulation(),
        antennas in antennas(),
        snr_good_db in -10.0..40.0f64,
        below_db in 0.0..20.0f64,
        log_burst_good in 0.0..12.0f64,
        log_burst_bad in 0.0..9.0f64,
    ) -> Model {
        Model::GilbertElliott {
            modulation,
            antennas,
            snr_good_db,
            snr_bad_db: snr_good_db - below_db,
            burst_good_bits: log_burst_good.exp(),
            burst_bad_bits: log_burst_bad.exp(),
        }
    }
}

prop_compose! {
    /// Stays from microseconds to seconds.
    fn time_model()(
        log_good in 7.0..21.0f64,
        log_bad in 7.0..21.0f64,
        bit_error_good in 0.0..1e-3f64,
        bit_error_bad in 0.0..0.5f64,
    ) -> Model {
        Model::PacketScale { good_ns_mean: log_good.exp(), bad_ns_mean: log_bad.exp(), bit_error_good, bit_error_bad }
    }
}

fn code() -> impl Strategy<Value = CodeSpec> {
    let mode = prop::sample::select(vec![CodeMode::None, CodeMode::Ideal, CodeMode::Gf256]);
    (mode, 0.5..1.0f64).prop_map(|(mode, rate)| match mode {
        CodeMode::None => CodeSpec::NONE,
        mode => CodeSpec {
            data_rate: rate,
            ack_rate: rate,
            mode,
        },
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn laws_are_probabilities(
        model in prop_oneof![bit_model(), time_model()],
        code in code(),
        ip_bytes in 1..1600u32,
        rate_bps in 100_000..1_000_000_000u64,
    ) {
        // Goal: for any valid channel, every entry of a packet's law is a probability, rows sum to 1, the state after
        // follows the chain whatever the fate, and the packet error is a probability.
        let spec = ChannelSpec { model, code };
        prop_assert_eq!(spec.validate(), Ok(()));
        let (law, mixing) = spec.packet_law(PacketKind::Data, ip_bytes, rate_bps).expect("a chain");
        let chain = mixing.transition(u64::from(spec.air_bytes(PacketKind::Data, ip_bytes)));
        for from in [GOOD, BAD] {
            for to in [GOOD, BAD] {
                let (lost, received) = (law.lost[from][to], law.received[from][to]);
                prop_assert!((0.0..=1.0 + 1e-9).contains(&lost) && (0.0..=1.0 + 1e-9).contains(&received));
                prop_assert!((lost + received - chain[from][to]).abs() < 1e-9, "{from} {to}: {lost} {received}");
            }
        }
        let error = spec.packet_error_at(PacketKind::Data, ip_bytes, rate_bps);
        prop_assert!((0.0..=1.0).contains(&error));
    }

    #[test]
    fn losses_fall_with_the_ratio(model in bit_model(), code in code(), ip_bytes in 1..1600u32) {
        // Goal: a better signal never loses more.
        let spec = ChannelSpec { model, code };
        let error_at = |snr_db| at_snr(&spec, snr_db).packet_error(PacketKind::Data, ip_bytes);
        let errors: Vec<f64> = (0..5).map(|step| error_at(10.0 * f64::from(step) - 10.0)).collect();
        prop_assert!(errors.windows(2).all(|pair| pair[1] <= pair[0] + 1e-12), "{errors:?}");
    }

    #[test]
    fn losses_rise_with_the_code_rate(antennas in antennas(), snr_db in 5.0..30.0f64, ip_bytes in 40..1500u32) {
        // Goal: more parity never loses more, in whole pairs of parity bytes (one alone corrects nothing and can itself
        // be wrong) and while bytes are right more often than wrong, as at 5 dB and above with VCP's bursts.
        let model = Model::GilbertElliott {
            modulation: Modulation::Bpsk, antennas, snr_good_db: snr_db, snr_bad_db: snr_db - 10.0,
            burst_good_bits: 800.0, burst_bad_bits: 8.0,
        };
        let errors: Vec<f64> = (0..6).map(|step| {
            let rate = f64::from(ip_bytes) / f64::from(ip_bytes + 2 * step * (1 + ip_bytes / 40));
            let code = CodeSpec { data_rate: rate, ack_rate: rate, mode: CodeMode::Ideal };
            ChannelSpec { model: model.clone(), code }.packet_error(PacketKind::Data, ip_bytes)
        }).collect();
        prop_assert!(errors.windows(2).all(|pair| pair[1] <= pair[0] + 1e-12), "{errors:?}");
    }

    #[test]
    fn solved_ratio_has_the_target(antennas in antennas(), modulation in modulation(), log_target in -15.0..-0.1f64) {
        // Goal: solving and asking again closes the circle.
        let model = Model::GilbertElliott {
            modulation, antennas, snr_good_db: 20.0, snr_bad_db: 10.0, burst_good_bits: 800.0, burst_bad_bits: 8.0,
        };
        let code = CodeSpec { data_rate: 0.9, ack_rate: 0.5, mode: CodeMode::Ideal };
        let (spec, target) = (ChannelSpec { model, code }, log_target.exp());
        let snr_db = snr_for_packet_error(&spec, PacketKind::Ack, 40, target).expect("a ratio");
        let error = at_snr(&spec, snr_db).packet_error(PacketKind::Ack, 40);
        prop_assert!((error / target - 1.0).abs() < 1e-6, "{snr_db} dB: {error} {target}");
    }
}

#[test]
fn invalid_channels_are_refused_by_name() {
    // Goal: each field out of its range is refused, and the message has the field, the value and what is allowed.
    let bits = |snr_bad_db, burst_bad_bits| Model::GilbertElliott {
        modulation: Modulation::Bpsk,
        antennas: Antennas::OneByOne,
        snr_good_db: 10.0,
        snr_bad_db,
        burst_good_bits: 800.0,
        burst_bad_bits,
    };
    let stays = |bad_ns_mean, bit_error_bad| Model::PacketScale {
        good_ns_mean: 1e9,
        bad_ns_mean,
        bit_error_good: 0.0,
        bit_error_bad,
    };
    let coded = |rate, mode| CodeSpec {
        data_rate: rate,
        ack_rate: 1.0,
        mode,
    };
    let cases = [
        (bits(11.0, 8.0), CodeSpec::NONE, "snr_bad_db"),
        (bits(f64::NAN, 8.0), CodeSpec::NONE, "snr_bad_db"),
        (bits(0.0, 0.5), CodeSpec::NONE, "burst_bad_bits"),
        (bits(0.0, f64::INFINITY), CodeSpec::NONE, "burst_bad_bits"),
        (stays(10.0, 0.1), CodeSpec::NONE, "bad_ns_mean"),
        (stays(1e6, 0.6), CodeSpec::NONE, "bit_error_bad"),
        (Model::Random { data: 0.0, ack: 1.1 }, CodeSpec::NONE, "ack"),
        (bits(0.0, 8.0), coded(0.93, CodeMode::None), "code.data_rate"),
        (bits(0.0, 8.0), coded(1.1, CodeMode::Ideal), "code.data_rate"),
        (bits(0.0, 8.0), coded(0.05, CodeMode::Gf256), "code.data_rate"),
    ];
    for (model, code, field) in cases {
        let error: SpecError = ChannelSpec { model, code }.validate().expect_err(field);
        assert_eq!(error.field, field);
        let message = error.to_string();
        assert!(message.contains(field) && message.contains("allowed"), "{message}");
    }
}

#[test]
fn questions_without_an_answer_say_why() {
    // Goal: the solver refuses models without what is asked for and targets out of reach, in words.
    let random = ChannelSpec {
        model: Model::Random { data: 0.1, ack: 0.1 },
        code: CodeSpec::NONE,
    };
    let refused = snr_for_packet_error(&random, PacketKind::Data, 1040, 0.01);
    assert!(matches!(refused, Err(SolveError::NotInModel { .. })));
    assert_eq!(
        code_rate_for_packet_error(&random, PacketKind::Data, 1040, 0.01),
        Err(SolveError::NoCode)
    );
    let model = Model::GilbertElliott {
        modulation: Modulation::Bpsk,
        antennas: Antennas::OneByOne,
        snr_good_db: 10.0,
        snr_bad_db: 0.0,
        burst_good_bits: 800.0,
        burst_bad_bits: 8.0,
    };
    let fading = ChannelSpec {
        model,
        code: CodeSpec::NONE,
    };
    for target in [0.0, 1.5, f64::NAN] {
        let refused = snr_for_packet_error(&fading, PacketKind::Data, 1040, target);
        assert!(
            matches!(refused, Err(SolveError::OutOfRange { .. })),
            "{target}: {refused:?}"
        );
    }
}
