//! What mahimahi's `mm-link` makes of packets, written as it goes and apart from the links here.

use std::collections::VecDeque;

/// Bytes that one opportunity carries.
const OPPORTUNITY_BYTES: u32 = 1504;

/// Which arrivals, in ms and bytes with the TUN header, a queue of so many packets took, and when they left until
/// `end_ms`: (time in ms, arrival). Before a packet comes in, every opportunity up to its ms is used up.
pub fn emulate(trace_ms: &[u64], limit: usize, arrivals: &[(u64, u32)], end_ms: u64) -> (Vec<bool>, Vec<(u64, u32)>) {
    let (mut next, mut base_ms) = (0, 0);
    let (mut queue, mut transit) = (VecDeque::new(), None::<(u32, u32)>);
    let (mut taken, mut left) = (Vec::new(), Vec::new());
    let mut use_up = |until_ms: u64, queue: &mut VecDeque<(u32, u32)>| {
        while trace_ms[next] + base_ms <= until_ms {
            let at_ms = trace_ms[next] + base_ms;
            next += 1;
            if next == trace_ms.len() {
                (next, base_ms) = (0, base_ms + trace_ms[trace_ms.len() - 1]);
            }
            let mut room = OPPORTUNITY_BYTES;
            while room > 0 {
                transit = transit.or_else(|| queue.pop_front());
                let Some((id, bytes)) = &mut transit else { break };
                let used = room.min(*bytes);
                (room, *bytes) = (room - used, *bytes - used);
                if *bytes == 0 {
                    left.push((at_ms, *id));
                    transit = None;
                }
            }
        }
    };
    for (id, &(at_ms, bytes)) in arrivals.iter().enumerate() {
        use_up(at_ms, &mut queue);
        let is_taken = queue.len() < limit;
        taken.push(is_taken);
        if is_taken {
            queue.push_back((id as u32, bytes));
        }
    }
    use_up(end_ms, &mut queue);
    (taken, left)
}
