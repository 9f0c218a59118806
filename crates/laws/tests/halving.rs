//! Halves with their fraction, as ns-2 keeps them.

mod common;

use common::Flow;
use fadelab_laws::abi;

#[test]
fn exact_halving_keeps_the_fraction() {
    // Goal: ns-2's precisionReduce_ by hand: half of 11 packets is 5.5, of which the host takes 5; three ACKs make
    // 5.5 + 1/5.5 + 1/5.68 + 1/5.86 = 6.03 of it. Rounded down it takes six: 5 + 1/5 + ... + 1/5.93 = 6.10. A
    // timeout leaves one packet and no more.
    for law in ["reno", "xcp", "vcp"] {
        for (halving, is_exact) in [(0.0, false), (1.0, true)] {
            let mut flow = Flow::new(law, &[("halving", halving)], 11, 999);
            flow.on_ack(&flow.ack(0));
            flow.control.cwnd_pkts = flow.on_loss();
            let mut window = abi::Control {
                ca_state: abi::CA_RECOVERY,
                ..flow.control
            };
            let ack = flow.ack(1);
            flow.law.on_ack(&mut flow.state, &flow.params, &ack, &mut window);
            assert_eq!(window.cwnd_pkts, 5, "{law}: recovery is the host's");
            let keeps = flow.state.words()[0] == (5 << 32) + (1 << 31);
            assert_eq!(
                keeps, is_exact,
                "{law}: the fraction of the window, its state's first word"
            );
        }
    }
    let after = |halving, acks: u32| {
        let mut flow = Flow::new("reno", &[("halving", halving)], 11, 999);
        flow.control.cwnd_pkts = flow.on_loss();
        (0..acks).map(|_| flow.on_ack(&flow.ack(1))).last()
    };
    assert_eq!((after(1.0, 2), after(1.0, 3)), (Some(5), Some(6)));
    assert_eq!((after(0.0, 5), after(0.0, 6)), (Some(5), Some(6)));
    for (cwnd, ssthresh) in [(5, 2), (3, 2), (1, 2)] {
        let mut flow = Flow::new("reno", &[("halving", 1.0)], cwnd, 999);
        assert_eq!(flow.on_loss(), ssthresh, "two packets are the least");
        flow.control.cwnd_pkts = ssthresh;
        flow.on_rto();
        flow.control.cwnd_pkts = 1;
        assert_eq!(flow.on_ack(&flow.ack(1)), 2, "slow start goes on from one packet");
    }
}
