//! How far a pipe may be looked ahead: until when what comes out of it may be dealt with in one event.
//!
//! The lookahead of conservative simulation (Chandy and Misra, "Distributed Simulation", IEEE Transactions on Software
//! Engineering SE-5(5), 1979; Fujimoto, "Parallel Discrete Event Simulation", Communications of the ACM 33(10), 1990,
//! section 3): what comes into a pipe from now on stays in it for its delay, so all that comes out until then is known.
//! It may be dealt with before events elsewhere if nobody but this pipe brings anything to where it goes:
//!
//! - to a link that this pipe alone feeds;
//! - to a host whose answers have a link of their own first. Its timers are events of their own, which end the look
//!   ahead, and the two ends of a flow have only packets in common, but for one case (`Flow::is_closing`).
//!
//! An end of a tunnel on the way there has to be this pipe's alone, too: what it remembers depends on the order of
//! packets.
//!
//! Where a law still has to see what left its link before a host may look at it, all that came to that link before must
//! have come: its feeder is looked at, too.

use fadelab_run::app::App;
use fadelab_run::network::LinkId;
use fadelab_run::spec::RunSpec;

use super::both_ways;
use super::feeders::{End, Feeder, Feeders, ends_of};
use crate::pipe::Pipe;

/// Tells each pipe how far it may be looked ahead. `settled` is the link whose law has to see what comes out of a pipe
/// before anybody else does.
pub(super) fn look_ahead(spec: &RunSpec, pipe_of: &[u32], settled: &[Option<LinkId>], pipes: &mut [Pipe]) {
    let by_link = Feeders::of(spec, |link| link);
    let by_pipe = Feeders::of(spec, |link| pipe_of[link as usize]);
    let mut is_alone = vec![true; pipes.len()];
    for flow in &spec.flows {
        for (way, answers, is_data) in both_ways(flow) {
            let ends = ends_of(spec, way);
            for (at, &link) in way.iter().enumerate() {
                let pipe = pipe_of[link as usize];
                is_alone[pipe as usize] &= by_pipe.are_ends_fed_by(Feeder::One(pipe), &ends, at + 1);
                is_alone[pipe as usize] &= match way.get(at + 1) {
                    Some(&next) => by_pipe.of_link(next) == Feeder::One(pipe),
                    // Datagrams are not answered.
                    None => flow.sender.is_none() || has_own_link(&by_link, &ends_of(spec, answers), answers),
                };
                if at + 1 == way.len() {
                    let reopens = is_data && matches!(flow.app, App::Sessions { off: Some(_), .. });
                    pipes[pipe as usize].make_exit(is_data, reopens);
                }
            }
        }
    }
    for (pipe, settled) in settled.iter().enumerate().filter(|&(pipe, _)| is_alone[pipe]) {
        let feeder = settled.map(|link| by_pipe.of_link(link));
        let delay_ns = pipes[pipe].delay_ns();
        match feeder {
            None => pipes[pipe].look_ahead(delay_ns, None),
            Some(Feeder::One(feeder)) => {
                let delay_ns = delay_ns.min(pipes[feeder as usize].delay_ns());
                pipes[pipe].look_ahead(delay_ns, Some(feeder));
            }
            Some(_) => {}
        }
    }
}

/// Whether what is sent on this route has its first link to itself, and the ends of tunnels before that.
fn has_own_link(feeders: &Feeders, ends: &[End], route: &[LinkId]) -> bool {
    let has_link = |&first: &LinkId| feeders.of_link(first) == Feeder::Route;
    route.first().is_some_and(has_link) && feeders.are_ends_fed_by(Feeder::Route, ends, 0)
}
