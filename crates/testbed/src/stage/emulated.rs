//! Links that the emulator drives, in a thread of its own: TUN devices in the namespaces of nodes, lanes between them.

use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::JoinHandle;

use fadelab_emu::record::Recorder;
use fadelab_emu::{Clock, Emulator, LaneSpec, Priority, Tun, Way, dropped_pkts};
use fadelab_path::counters::LinkCounters;
use fadelab_path::punctuality::Punctuality;
use fadelab_phy::channel::PacketKind;
use fadelab_run::record::Watched;
use nix::sys::eventfd::{EfdFlags, EventFd};

use super::build::SIDES;
use super::spaces::Spaces;
use super::{Host, Outcome, failed};
use crate::plan::Plan;

/// IP bytes of the largest ACK: 20 of IP, 60 of TCP, and 40 more of IPv6's.
const ACK_BYTES_MAX: u16 = 120;

/// What the thread is asked.
enum Ask {
    /// How its lanes stand now, and what their laws have to show.
    State(u64),
    /// To end, and how it went, where so many packets found no room at its devices.
    End(u64),
}

/// How a lane stands.
#[derive(Clone, Debug)]
pub struct LaneState {
    /// Number of its link.
    pub link: u32,
    pub counters: LinkCounters,
    pub watched: Watched,
}

/// What the thread answers.
enum Answer {
    State(Vec<LaneState>),
    End(Punctuality),
}

/// The emulator of a run.
pub struct Emulation {
    thread: Option<JoinHandle<()>>,
    asks: Option<Sender<Ask>>,
    answers: Receiver<Outcome<Answer>>,
    bell: Arc<EventFd>,
    /// When its time begins, once that is known.
    begins: Option<Sender<u64>>,
    /// Its devices: the node of each, and its name.
    devices: Vec<(usize, String)>,
}

impl Emulation {
    /// Makes the devices and lanes of a plan; `None` where it has none. Time stands until [`Self::begin`].
    pub fn prepare(plan: &Plan, spaces: &Spaces, host: &dyn Host) -> Outcome<Option<Self>> {
        let Parts {
            tuns,
            ways,
            lanes,
            links,
            devices,
        } = Parts::of(plan, spaces)?;
        if ways.is_empty() {
            return Ok(None);
        }
        let recorded = |path: &Path| {
            let recorder = Recorder::of_lanes(path, &lanes, env!("CARGO_PKG_VERSION"));
            recorder.map_err(failed(path.display()))
        };
        let recorder = host.links_file().map(recorded).transpose()?;
        let mut emulator = Emulator::new(tuns, ways, recorder).map_err(failed("the emulator"))?;
        if host.is_virtual() {
            emulator.look_never();
        }
        let bell = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK);
        let bell = Arc::new(bell.map_err(failed("the emulator"))?);
        emulator.watch(bell.as_fd()).map_err(failed("the emulator"))?;
        let (asks, asked) = mpsc::channel();
        let (answer, answers) = mpsc::channel();
        let (begins, begin) = mpsc::channel();
        let heard = Arc::clone(&bell);
        let thread = std::thread::Builder::new().name("emulator".to_owned()).spawn(move || {
            // Whoever began no run has dropped the other end.
            if let Ok(at_ns) = begin.recv() {
                emulator.begin(Clock::from_monotonic(at_ns));
                drive(emulator, &links, &heard, &asked, &answer);
            }
        });
        Ok(Some(Self {
            thread: Some(thread.map_err(failed("the emulator"))?),
            asks: Some(asks),
            answers,
            bell,
            begins: Some(begins),
            devices,
        }))
    }

    /// Lets time begin at an instant of the monotonic clock that is to come.
    pub fn begin(&self, at_ns: u64) -> Outcome<()> {
        let begins = self.begins.as_ref().ok_or("the emulator has ended")?;
        begins.send(at_ns).map_err(failed("the emulator"))
    }

    /// How all lanes stand at `now_ns`.
    pub fn state(&self, now_ns: u64) -> Outcome<Vec<LaneState>> {
        match self.ask(Ask::State(now_ns))? {
            Answer::State(states) => Ok(states),
            Answer::End(_) => Err("the emulator has ended".to_owned()),
        }
    }

    /// Ends it: what is in the lanes stays there.
    pub fn end(self, spaces: &Spaces) -> Outcome<Punctuality> {
        let mut overrun_pkts = 0;
        for (node, device) in &self.devices {
            overrun_pkts += spaces.at(*node, || dropped_pkts(device).map_err(failed(device)))?;
        }
        match self.ask(Ask::End(overrun_pkts))? {
            Answer::End(punctuality) => Ok(punctuality),
            Answer::State(_) => Err("the emulator did not end".to_owned()),
        }
    }

    fn ask(&self, ask: Ask) -> Outcome<Answer> {
        let asks = self.asks.as_ref().ok_or("the emulator has ended")?;
        asks.send(ask).map_err(failed("the emulator"))?;
        self.bell.write(1).map_err(failed("the emulator"))?;
        self.answers.recv().map_err(failed("the emulator"))?
    }
}

impl Drop for Emulation {
    /// Whatever ends a run ends the thread, and with it the devices.
    fn drop(&mut self) {
        (self.asks, self.begins) = (None, None);
        let _ = self.bell.write(1);
        if let Some(thread) = self.thread.take() {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}

/// Turns until it is told to end. What goes wrong is the answer to the next question.
fn drive(
    mut emulator: Emulator,
    links: &[u32],
    bell: &EventFd,
    asked: &Receiver<Ask>,
    answer: &Sender<Outcome<Answer>>,
) {
    let mut priority = Priority::take();
    let mut broken = None;
    loop {
        let has_rung = match &broken {
            None => emulator.turn().unwrap_or_else(|error| {
                broken = Some(error.to_string());
                false
            }),
            Some(_) => true,
        };
        priority.look();
        if !has_rung {
            continue;
        }
        let _ = bell.read();
        let ask = match asked.try_recv() {
            Ok(ask) => ask,
            // Nobody is there who would ask.
            Err(TryRecvError::Disconnected) => return,
            Err(TryRecvError::Empty) if broken.is_none() => continue,
            Err(TryRecvError::Empty) => match asked.recv() {
                Ok(ask) => ask,
                Err(_) => return,
            },
        };
        let said = match (broken.clone(), ask) {
            (Some(why), _) => Err(why),
            (None, Ask::State(now_ns)) => state(&mut emulator, links, now_ns).map(Answer::State),
            (None, Ask::End(overrun_pkts)) => {
                let punctuality = emulator.punctuality(overrun_pkts);
                // Nobody is there any more where this is not heard.
                let _ = answer.send(ended(emulator).map(|()| Answer::End(punctuality)));
                return;
            }
        };
        if answer.send(said).is_err() {
            return;
        }
    }
}

/// Ends the recording, if there is one.
fn ended(emulator: Emulator) -> Outcome<()> {
    if emulator.end().map_err(failed("the recording of links"))? {
        return Ok(());
    }
    Err("the recording of links is not whole: the disk could not follow".to_owned())
}

fn state(emulator: &mut Emulator, links: &[u32], now_ns: u64) -> Outcome<Vec<LaneState>> {
    let mut states = Vec::with_capacity(links.len());
    for (way, &link) in emulator.ways_mut().iter_mut().zip(links) {
        let at_ns = way.lane.now_ns().max(now_ns);
        states.push(LaneState {
            link,
            counters: way.lane.counters(at_ns).map_err(failed("a link"))?,
            watched: way.lane.watch(),
        });
    }
    Ok(states)
}

/// Of what an emulator is made.
#[derive(Default)]
struct Parts {
    tuns: Vec<Tun>,
    ways: Vec<Way>,
    /// From what the lane of each way is made, and the number of its link.
    lanes: Vec<LaneSpec>,
    links: Vec<u32>,
    /// Node and name of each device.
    devices: Vec<(usize, String)>,
}

impl Parts {
    fn of(plan: &Plan, spaces: &Spaces) -> Outcome<Self> {
        let mut parts = Self::default();
        let Self {
            tuns,
            ways,
            lanes,
            links,
            devices,
        } = &mut parts;
        // The devices of each node.
        let mut at_node = vec![Vec::new(); plan.nodes.len()];
        let sizes = sizes(plan);
        for (number, cable) in plan.cables.iter().enumerate().filter(|(_, cable)| cable.is_emulated()) {
            let first = tuns.len();
            for (end, (&node, side)) in cable.ends.iter().zip(SIDES).enumerate() {
                let name = format!("{side}{number}");
                let tun = spaces.at(node, || Tun::new(&name).map_err(failed("making a TUN device")))?;
                tuns.push(tun);
                devices.push((node, name));
                at_node[node].push(first + end);
            }
            for (end, way) in cable.ways.iter().enumerate() {
                let Some((way, spec)) = way.as_ref().and_then(|way| Some((way, way.emulated.as_ref()?))) else {
                    continue;
                };
                let lane = LaneSpec {
                    link: spec.link.clone(),
                    seed: plan.seed,
                    packet_bytes: way.packet_bytes as u16,
                    sizes: Some(sizes.clone()),
                };
                ways.push(Way::new(lane.lane(), first + end, first + 1 - end));
                lanes.push(lane);
                links.push(way.link);
            }
        }
        for way in ways {
            let node = at_node.iter().find(|tuns| tuns.contains(&way.to));
            let others = node.into_iter().flatten().filter(|&&tun| tun != way.to);
            way.next = others.copied().collect();
        }
        Ok(parts)
    }
}

/// The packets that a run has but for the last ones of transfers.
fn sizes(plan: &Plan) -> Vec<(PacketKind, u16)> {
    let mut sizes: Vec<_> = (40..=ACK_BYTES_MAX)
        .step_by(4)
        .map(|bytes| (PacketKind::Ack, bytes))
        .collect();
    for flow in &plan.flows {
        let full = (PacketKind::Data, flow.packet_bytes as u16);
        if !sizes.contains(&full) {
            sizes.push(full);
        }
    }
    sizes
}
