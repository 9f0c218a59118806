//! Runs the applications of all flows and reads the meters, in one thread and by one clock.

use std::collections::BTreeSet;
use std::time::Duration;

use fadelab_kernel::sender::Sender;
use fadelab_run::app::{App, Application, Wish};
use fadelab_run::record::{Completion, FlowCounters, RunRecord, Watched};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId as TimerClock, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::ClockId;

use super::associations::Associations;
use super::connection::{self, Moved};
use super::emulated::{Emulation, LaneState};
use super::http::Http;
use super::iperf3::Iperf3;
use super::laws::AtLink;
use super::measure::{FlowMeter, LinkMeter, Recorder};
use super::memory::FlowMemory;
use super::spaces::Spaces;
use super::tcp_info::TcpInfo;
use super::whose::{Whose, add};
use super::worker::{self, Reading, Receiver, Sending, Worker};
use super::{Outcome, clock_ns, failed};
use crate::plan::Plan;

/// Distance between two looks at the kernel's counters, where there are few of them.
const TICK_NS: u64 = 10_000_000;

/// Looks at links and flows that cost one tick; with more of them ticks are longer.
const LOOKS_PER_TICK: usize = 64;

/// How often is asked whether a transfer's last byte is acknowledged.
const DONE_NS: u64 = 1_000_000;

/// How often the host hears how far the run has come.
const NEWS_NS: u64 = 1_000_000_000;

/// From the last preparation to the first instant of the run.
const LEAD_NS: u64 = 100_000_000;

/// Runs the applications to the end of the run. `news` is told once a second how far it is, and when it began by the
/// monotonic clock.
pub fn run(
    plan: &Plan,
    spaces: &Spaces,
    laws: (&[Sender], &[AtLink]),
    emulation: Option<Emulation>,
    is_virtual: bool,
    mut news: impl FnMut(u64, u64) -> Outcome<()>,
) -> Outcome<RunRecord> {
    let mut traffic = Traffic::new(plan, spaces, laws, emulation)?;
    traffic.is_virtual = is_virtual;
    traffic.look(0)?;
    news(0, traffic.epoch_ns)?;
    while traffic.next_look_ns <= plan.duration_ns {
        traffic.wait()?;
        let now_ns = traffic.now_ns()?;
        traffic.applications(now_ns)?;
        if now_ns >= traffic.next_look_ns {
            let at_ns = traffic.next_look_ns;
            traffic.look(at_ns)?;
            if at_ns.is_multiple_of(NEWS_NS) {
                news(at_ns, traffic.epoch_ns)?;
            }
        }
    }
    let Traffic {
        recorder, emulation, ..
    } = traffic;
    let mut record = recorder.finish();
    if let Some(emulation) = emulation {
        record.punctuality = Some(emulation.end(spaces)?);
    }
    Ok(record)
}

struct Traffic<'a> {
    plan: &'a Plan,
    spaces: &'a Spaces,
    epoll: Epoll,
    timer: TimerFd,
    epoch_ns: u64,
    armed_ns: u64,
    workers: Vec<Worker<'a>>,
    readers: Vec<Option<Reading>>,
    /// When applications want something.
    due: BTreeSet<(u64, usize)>,
    /// Flows that have written everything and wait for the last ACK.
    ending: BTreeSet<usize>,
    next_done_ns: u64,
    links: Vec<LinkMeter<'a>>,
    tick_ns: u64,
    next_look_ns: u64,
    recorder: Recorder,
    associations: Associations<'a>,
    emulation: Option<Emulation>,
    is_virtual: bool,
}

impl<'a> Traffic<'a> {
    fn new(
        plan: &'a Plan,
        spaces: &'a Spaces,
        laws: (&'a [Sender], &'a [AtLink]),
        emulation: Option<Emulation>,
    ) -> Outcome<Self> {
        let (senders, routers) = laws;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(failed("epoll"))?;
        let timer = TimerFd::new(TimerClock::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK).map_err(failed("a timer"))?;
        add(&epoll, &timer, Whose::Timer, EpollFlags::EPOLLIN)?;
        let mut workers = Vec::with_capacity(plan.flows.len());
        let mut due = BTreeSet::new();
        for (number, flow) in plan.flows.iter().enumerate() {
            let receiver = match flow.app {
                App::Greedy { .. } if plan.iperf3 => Receiver::Iperf3(Iperf3::listen(spaces, number, flow)?),
                App::Http { bytes, .. } => Receiver::Http(Http::listen(spaces, number, flow, bytes)?),
                _ => {
                    let listener = spaces.at(flow.to, || connection::receiver(number, flow))?;
                    add(&epoll, &listener, Whose::Listener(number), EpollFlags::EPOLLIN)?;
                    Receiver::Own(listener)
                }
            };
            let app = Application::of_flow(&flow.app, plan.seed, &flow.name);
            due.insert((app.due_ns(), number));
            workers.push(Worker {
                flow,
                app,
                receiver,
                sender: None,
                delivered_bytes: 0,
                meter: FlowMeter::default(),
                memory: FlowMemory::of(plan, senders, flow).filter(|_| plan.record_interval_ns.is_some()),
            });
        }
        let links = LinkMeter::all(plan, spaces, routers)?;
        let looks = 8 * links.len() + workers.len();
        let epoch_ns = monotonic_ns()? + LEAD_NS;
        if let Some(emulation) = &emulation {
            emulation.begin(epoch_ns)?;
        }
        let mut traffic = Self {
            plan,
            spaces,
            epoll,
            timer,
            epoch_ns,
            armed_ns: u64::MAX,
            workers,
            readers: Vec::new(),
            due,
            ending: BTreeSet::new(),
            next_done_ns: u64::MAX,
            links,
            tick_ns: TICK_NS * looks.div_ceil(LOOKS_PER_TICK) as u64,
            next_look_ns: 0,
            recorder: Recorder::new(plan),
            associations: Associations::new(plan, spaces),
            emulation,
            is_virtual: true,
        };
        traffic.arm(0)?;
        traffic.wait()?;
        Ok(traffic)
    }

    /// Time since the beginning of the run; 0 before.
    fn now_ns(&self) -> Outcome<u64> {
        Ok(monotonic_ns()?.saturating_sub(self.epoch_ns))
    }

    /// Lets the timer fire at `at_ns`.
    fn arm(&mut self, at_ns: u64) -> Outcome<()> {
        if self.armed_ns != at_ns {
            self.armed_ns = at_ns;
            let at = TimeSpec::from_duration(Duration::from_nanos(self.epoch_ns + at_ns));
            let flags = TimerSetTimeFlags::TFD_TIMER_ABSTIME;
            self.timer
                .set(Expiration::OneShot(at), flags)
                .map_err(failed("a timer"))?;
        }
        Ok(())
    }

    /// Waits for the next instant at which something is due, and meanwhile serves sockets once.
    fn wait(&mut self) -> Outcome<()> {
        let first = self.due.first().map_or(u64::MAX, |&(at_ns, _)| at_ns);
        if self.next_look_ns > 0 {
            self.arm(first.min(self.next_look_ns).min(self.next_done_ns))?;
        }
        let mut events = [EpollEvent::empty(); 64];
        let count = match self.epoll.wait(&mut events, EpollTimeout::NONE) {
            Ok(count) => count,
            Err(nix::Error::EINTR) => 0,
            Err(error) => return Err(failed("epoll")(error)),
        };
        for event in &events[..count] {
            match Whose::of(event.data()) {
                Whose::Timer => {
                    self.timer.wait().map_err(failed("a timer"))?;
                    self.armed_ns = u64::MAX;
                }
                Whose::Listener(flow) => self.listen(flow)?,
                Whose::Sender(flow) => self.send(flow)?,
                Whose::Reader(reader) => self.read(reader)?,
                Whose::Client(flow) => self.end_download(flow)?,
            }
        }
        Ok(())
    }

    /// Lets applications do what is due.
    fn applications(&mut self, now_ns: u64) -> Outcome<()> {
        while let Some(&(at_ns, number)) = self.due.first() {
            if at_ns > now_ns {
                break;
            }
            self.due.pop_first();
            let worker = &mut self.workers[number];
            let wish = worker.app.wish(&worker.flow.app, at_ns, worker.flow.payload_bytes());
            match wish {
                Wish::Open(bytes) => self.open(number, at_ns, bytes)?,
                Wish::Segment => self.segment(number)?,
                Wish::Close => self.close(number),
            }
            self.due.insert((self.workers[number].app.due_ns(), number));
        }
        if now_ns >= self.next_done_ns {
            self.next_done_ns = u64::MAX;
            for number in self.ending.clone() {
                self.end(number, now_ns)?;
            }
            if !self.ending.is_empty() {
                self.next_done_ns = (now_ns / DONE_NS + 1) * DONE_NS;
            }
        }
        Ok(())
    }

    fn open(&mut self, number: usize, start_ns: u64, bytes: Option<u64>) -> Outcome<()> {
        let worker = &mut self.workers[number];
        match &mut worker.receiver {
            Receiver::Iperf3(iperf3) => return iperf3.send(self.spaces, number, worker.flow),
            Receiver::Http(http) => {
                let client = http.get(self.spaces, number, worker.flow)?;
                return add(&self.epoll, client, Whose::Client(number), EpollFlags::EPOLLIN);
            }
            Receiver::Own(_) => {}
        }
        let socket = self
            .spaces
            .at(worker.flow.from, || connection::sender(number, worker.flow))?;
        let waits = worker.flow.law.is_some();
        if waits {
            add(&self.epoll, &socket, Whose::Sender(number), EpollFlags::EPOLLOUT)?;
        }
        worker.sender = Some(Sending {
            socket,
            start_ns,
            is_open: false,
            is_closed: false,
            written_bytes: 0,
            left_bytes: bytes,
            waits,
        });
        Ok(())
    }

    /// One more segment is there to be sent. A datagram that finds no room in the socket is lost, as on a full queue.
    fn segment(&mut self, number: usize) -> Outcome<()> {
        let worker = &mut self.workers[number];
        let Some(sending) = &mut worker.sender else {
            return Ok(());
        };
        if worker.flow.law.is_none() {
            // 20 bytes of IP and 8 of UDP make it a full packet.
            let bytes = u64::from(worker.flow.packet_bytes - 28);
            if let Moved::Bytes(_) = connection::write(&sending.socket, worker.flow, bytes)? {
                worker.meter.sent_datagram();
            }
            return Ok(());
        }
        let payload_bytes = u64::from(worker.flow.payload_bytes());
        sending.left_bytes = sending.left_bytes.map(|left_bytes| left_bytes + payload_bytes);
        if sending.waits {
            return Ok(());
        }
        sending.waits = true;
        add(
            &self.epoll,
            &sending.socket,
            Whose::Sender(number),
            EpollFlags::EPOLLOUT,
        )?;
        self.send(number)
    }

    /// Nothing more is written; what is under way is finished.
    fn close(&mut self, number: usize) {
        if let Some(sending) = &mut self.workers[number].sender {
            sending.left_bytes = Some(0);
            sending.is_closed = true;
            self.ending.insert(number);
            self.next_done_ns = 0;
        }
    }

    /// Writes until there is no room or nothing left.
    fn send(&mut self, number: usize) -> Outcome<()> {
        let worker = &mut self.workers[number];
        let Some(sending) = &mut worker.sender else {
            return Ok(());
        };
        if let Some(why) = connection::fault(&sending.socket) {
            return Err(format!("{}: {why}", worker.flow.name));
        }
        sending.is_open = true;
        while sending.left_bytes != Some(0) {
            let most = sending.left_bytes.unwrap_or(u64::MAX);
            match connection::write(&sending.socket, worker.flow, most).map_err(failed(&worker.flow.name))? {
                Moved::Bytes(bytes) => {
                    sending.written_bytes += bytes;
                    sending.left_bytes = sending.left_bytes.map(|left| left - bytes);
                }
                Moved::Nothing => return Ok(()),
            }
        }
        if sending.waits {
            sending.waits = false;
            self.epoll.delete(&sending.socket).map_err(failed("epoll"))?;
        }
        if worker.flow.is_paced() && !sending.is_closed {
            return Ok(());
        }
        self.ending.insert(number);
        self.next_done_ns = 0;
        Ok(())
    }

    /// A flow that has written everything is over when all is acknowledged.
    fn end(&mut self, number: usize, now_ns: u64) -> Outcome<()> {
        let worker = &mut self.workers[number];
        let Some(sending) = &worker.sender else {
            self.ending.remove(&number);
            return Ok(());
        };
        if worker.flow.law.is_some() {
            let info = TcpInfo::of(&sending.socket);
            if !sending.is_open || !info.is_done() {
                return Ok(());
            }
            worker::read(&info, &sending.socket, &mut worker.meter, worker.memory.as_mut())?;
            if !worker.flow.is_paced() {
                self.recorder.completed(Completion {
                    flow: number as u32,
                    start_ns: sending.start_ns,
                    end_ns: now_ns,
                    bytes: sending.written_bytes,
                });
            }
        }
        self.ending.remove(&number);
        worker.meter.end();
        worker.sender = None;
        self.finish(number, now_ns);
        Ok(())
    }

    /// An application is told that what it had asked for is over.
    fn finish(&mut self, number: usize, now_ns: u64) {
        let worker = &mut self.workers[number];
        self.due.remove(&(worker.app.due_ns(), number));
        worker.app.finished(&worker.flow.app, now_ns);
        self.due.insert((worker.app.due_ns(), number));
    }

    /// The client of a download has ended. It began its download later than it was started.
    fn end_download(&mut self, number: usize) -> Outcome<()> {
        let now_ns = self.now_ns()?;
        let worker = &mut self.workers[number];
        let Receiver::Http(http) = &mut worker.receiver else {
            return Ok(());
        };
        let Some((download, socket)) = http.end().map_err(failed(&worker.flow.name))? else {
            return Ok(());
        };
        if let Some(socket) = socket {
            let info = TcpInfo::of(&socket);
            worker::read(&info, &socket, &mut worker.meter, worker.memory.as_mut())?;
        }
        worker.meter.end();
        self.recorder.completed(Completion {
            flow: number as u32,
            start_ns: now_ns.saturating_sub(download.took.as_nanos() as u64),
            end_ns: now_ns,
            bytes: download.body_bytes,
        });
        self.finish(number, now_ns);
        Ok(())
    }

    /// Takes connections, or where the flow is of datagrams counts them.
    fn listen(&mut self, number: usize) -> Outcome<()> {
        let worker = &mut self.workers[number];
        let Receiver::Own(listener) = &worker.receiver else {
            return Ok(());
        };
        if worker.flow.law.is_none() {
            let payload_bytes = u64::from(worker.flow.payload_bytes());
            while let Moved::Bytes(_) = connection::read_datagram(listener)? {
                worker.delivered_bytes += payload_bytes;
            }
            return Ok(());
        }
        while let Some(socket) = connection::accepted(listener) {
            let free = self.readers.iter().position(Option::is_none);
            let place = free.unwrap_or(self.readers.len());
            add(&self.epoll, &socket, Whose::Reader(place), EpollFlags::EPOLLIN)?;
            let reading = Some(Reading { flow: number, socket });
            match free {
                Some(place) => self.readers[place] = reading,
                None => self.readers.push(reading),
            }
        }
        Ok(())
    }

    /// Reads what came, at once, as an application does that is never the bottleneck.
    fn read(&mut self, reader: usize) -> Outcome<()> {
        let Some(reading) = &self.readers[reader] else {
            return Ok(());
        };
        let worker = &mut self.workers[reading.flow];
        // Once: what comes meanwhile makes the socket readable again.
        match connection::read(&reading.socket).map_err(failed(&worker.flow.name))? {
            Moved::Bytes(0) => self.readers[reader] = None,
            Moved::Bytes(bytes) => worker.delivered_bytes += bytes,
            Moved::Nothing => {}
        }
        Ok(())
    }

    /// Reads all meters, and keeps what they say where results want it.
    fn look(&mut self, now_ns: u64) -> Outcome<()> {
        // In real time a look comes late now and then, and what was sent meanwhile was offered, too.
        let seen_ns = if self.is_virtual {
            now_ns
        } else {
            self.now_ns()?.max(now_ns)
        };
        // What is behind queues first: what was lost there is never more than what left them.
        let lanes = match &self.emulation {
            Some(emulation) => emulation.state(seen_ns)?,
            None => Vec::new(),
        };
        let links = self
            .links
            .iter_mut()
            .map(|link| link.read(seen_ns, &lanes))
            .collect::<Outcome<Vec<_>>>()?;
        let is_sampled = self.recorder.is_sampled(now_ns);
        // Directly behind the counters: what passes in between is in the memories of laws and not in those.
        let watched = if is_sampled { self.watched(&lanes)? } else { Vec::new() };
        let flows = self.workers.iter_mut().map(|worker| worker.look(is_sampled));
        let flows: Vec<FlowCounters> = flows.collect::<Outcome<_>>()?;
        self.recorder.keep(now_ns, &links, &flows);
        if is_sampled {
            self.keep_watched(&watched);
        }
        if !self.plan.tunnels.is_empty() && self.recorder.is_bound(now_ns) {
            self.recorder.keep_tunnels(self.associations.counters()?);
        }
        self.associations.renew(now_ns)?;
        self.next_look_ns = self.recorder.next_ns(now_ns, self.tick_ns);
        debug_assert!(self.next_look_ns > now_ns, "time goes on");
        debug_assert_eq!(self.plan.flows.len(), flows.len());
        Ok(())
    }

    /// What laws at links have to show.
    fn watched(&self, lanes: &[LaneState]) -> Outcome<Vec<Watched>> {
        self.links.iter().map(|link| link.watch(lanes)).collect()
    }

    /// Keeps what laws have to show, of the sample that was just kept.
    fn keep_watched(&mut self, links: &[Watched]) {
        let none = Watched::new();
        let memories = self.workers.iter().map(|worker| worker.memory.as_ref());
        let flows: Vec<&Watched> = memories
            .map(|memory| memory.map_or(&none, FlowMemory::values))
            .collect();
        self.recorder.keep_watched(links, &flows);
    }
}

fn monotonic_ns() -> Outcome<u64> {
    clock_ns(ClockId::CLOCK_MONOTONIC)
}
