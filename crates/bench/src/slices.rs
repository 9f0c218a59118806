//! Those that are compared run at the same time: each has the machine for a slice while the others are stopped.
//!
//! What shares the machine changes its pace within seconds, as far as to half of it. In slices that are much shorter
//! all meet that alike, and their CPU times stay comparable where those of whole runs do not.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use wait4::Wait4;

use crate::measure::Words;

/// Long beside the fraction of a millisecond in which caches are filled again, short beside the seconds in which the
/// machine changes its pace.
const SLICE: Duration = Duration::from_millis(50);

/// What one of them does again and again.
pub struct Turn {
    /// Steps one after another, each of commands that run at once.
    pub steps: Vec<Vec<Words>>,
    /// Where results lie, removed before each step.
    pub folders: Vec<PathBuf>,
    /// A line of the first command begins so where what is measured begins; before it, no other runs.
    pub begins_at: Option<String>,
}

#[derive(Debug, Default)]
pub struct Spent {
    /// User and system, of all its commands.
    pub cpu_s: f64,
    /// From its start to its end, as far as it was not stopped.
    pub wall_s: f64,
    pub output: String,
}

/// Turns of each until each is through one, which the slowest is once: what each step of each whole turn spent.
///
/// # Errors
/// In words, where a command cannot be started or fails.
pub fn beside<const N: usize>(turns: [&Turn; N]) -> Result<[Vec<Vec<Spent>>; N], String> {
    let mut runners = turns.map(Runner::new);
    runners[0].reach_beginning()?;
    while runners.iter().any(|runner| runner.turns.is_empty()) {
        for runner in &mut runners {
            runner.run_for(SLICE)?;
        }
    }
    Ok(runners.map(|runner| runner.turns))
}

/// What the threads that read from commands tell.
enum Event {
    /// The line where what is measured begins.
    Begun,
    Ended(Result<Spent, String>),
}

struct Runner<'a> {
    turn: &'a Turn,
    turns: Vec<Vec<Spent>>,
    /// Steps of the turn that is not yet whole.
    done: Vec<Spent>,
    step: Option<Step>,
}

/// Commands that run, or are stopped.
struct Step {
    processes: Vec<Pid>,
    running: usize,
    events: Receiver<Event>,
    spent: Spent,
}

impl<'a> Runner<'a> {
    fn new(turn: &'a Turn) -> Self {
        Self {
            turn,
            turns: Vec::new(),
            done: Vec::new(),
            step: None,
        }
    }

    /// Runs until the first command prints that what is measured begins, if it does, and stops there.
    fn reach_beginning(&mut self) -> Result<(), String> {
        if let Some(line) = &self.turn.begins_at {
            let step = self.step.insert(Step::start(self.turn, 0)?);
            match step.events.recv() {
                Ok(Event::Begun) => step.signal(Signal::SIGSTOP),
                Ok(Event::Ended(Err(error))) => return Err(error),
                _ => return Err(format!("the command to be measured printed no line '{line}'")),
            }
        }
        Ok(())
    }

    /// Lets it run for as long as that, or until a turn is whole.
    fn run_for(&mut self, slice: Duration) -> Result<(), String> {
        let until = Instant::now() + slice;
        loop {
            let step = match &mut self.step {
                None => self.step.insert(Step::start(self.turn, self.done.len())?),
                Some(step) => {
                    step.signal(Signal::SIGCONT);
                    step
                }
            };
            if !step.ends_before(until)? {
                return Ok(());
            }
            self.done.push(std::mem::take(&mut step.spent));
            self.step = None;
            if self.done.len() == self.turn.steps.len() {
                self.turns.push(std::mem::take(&mut self.done));
                return Ok(());
            }
        }
    }
}

impl Step {
    fn start(turn: &Turn, number: usize) -> Result<Self, String> {
        for folder in turn.folders.iter().filter(|folder| folder.exists()) {
            std::fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        let (told, events) = mpsc::channel();
        let mut step = Self {
            processes: Vec::new(),
            running: 0,
            events,
            spent: Spent::default(),
        };
        for words in &turn.steps[number] {
            step.processes.push(start(words, turn.begins_at.clone(), told.clone())?);
            step.running += 1;
        }
        Ok(step)
    }

    /// Waits for the end of its commands, at most until then, and stops them if they run on.
    fn ends_before(&mut self, until: Instant) -> Result<bool, String> {
        let began = Instant::now();
        while self.running > 0 {
            match self
                .events
                .recv_timeout(until.saturating_duration_since(Instant::now()))
            {
                Ok(Event::Begun) => {}
                Ok(Event::Ended(spent)) => {
                    let spent = spent?;
                    self.running -= 1;
                    self.spent.cpu_s += spent.cpu_s;
                    self.spent.output += &spent.output;
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.signal(Signal::SIGSTOP);
                    break;
                }
                Err(RecvTimeoutError::Disconnected) => return Err("nobody waits for a command any more".to_owned()),
            }
        }
        self.spent.wall_s += began.elapsed().as_secs_f64();
        Ok(self.running == 0)
    }

    /// To all of them; one that has ended meanwhile does not mind.
    fn signal(&self, signal: Signal) {
        for &process in &self.processes {
            let _ = kill(process, signal);
        }
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        if self.running > 0 {
            self.signal(Signal::SIGKILL);
            // Until no thread is left that waits for one of them.
            while self.events.recv().is_ok() {}
        }
    }
}

/// Starts a command, of which a thread tells. It does not outlive this program, whatever ends that.
fn start(words: &Words, begins_at: Option<String>, told: Sender<Event>) -> Result<Pid, String> {
    let line = words.line();
    let failed =
        |error: std::io::Error| format!("cannot start {line}: {error}; tools/setup bench installs what is needed");
    let (reader, writer) = std::io::pipe().map_err(failed)?;
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).args(&words.0);
    command.stdout(writer.try_clone().map_err(failed)?).stderr(writer);
    let mut child = command.spawn().map_err(failed)?;
    // Its copies of the writing end would keep the pipe open.
    drop(command);
    let process = Pid::from_raw(child.id() as i32);
    let line = words.line();
    thread::spawn(move || {
        let mut output = String::new();
        for text in BufReader::new(reader).lines().map_while(Result::ok) {
            if begins_at.as_ref().is_some_and(|beginning| text.starts_with(beginning)) {
                let _ = told.send(Event::Begun);
            }
            output += &text;
            output.push('\n');
        }
        let ended = match child.wait4() {
            Err(error) => Err(format!("{line}: {error}")),
            Ok(used) if !used.status.success() => Err(format!("{line} failed ({}): {}", used.status, output.trim())),
            Ok(used) => Ok(Spent {
                cpu_s: (used.rusage.utime + used.rusage.stime).as_secs_f64(),
                wall_s: 0.0,
                output,
            }),
        };
        // Nobody listens where the comparison was given up.
        let _ = told.send(Event::Ended(ended));
    });
    Ok(process)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(scripts: &[&str]) -> Turn {
        let words = |script: &&str| vec![Words(["sh", "-c", script].map(str::to_owned).to_vec())];
        Turn {
            steps: scripts.iter().map(words).collect(),
            folders: Vec::new(),
            begins_at: None,
        }
    }

    /// A loop whose pace is that of the machine.
    fn count(to: u32) -> String {
        format!("i=0; while [ $i -lt {to} ]; do i=$((i + 1)); done; echo counted $i")
    }

    #[test]
    fn turns_of_both_go_on_together() {
        // Goal: turns of both go on at the same time, and each step's cost and words are its own.
        let both = [turn(&[&count(1_500_000)]), turn(&[&count(250_000), &count(250_000)])];
        let [lead, other] = beside(both.each_ref()).unwrap();
        assert_eq!((lead.len(), other[0].len()), (1, 2));
        assert_eq!(lead[0][0].output, "counted 1500000\n");
        assert_eq!(other[0][1].output, "counted 250000\n");
        assert!(other.len() > 1, "one turn beside one three times as long");
        assert!(lead[0][0].cpu_s > other[0][0].cpu_s);
    }

    /// The letter for a process's state in `/proc`: `T` is stopped.
    fn state_of(process: Pid) -> Option<char> {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    }

    #[test]
    fn what_has_no_slice_is_stopped() {
        // Goal: a command that is not through when its slice ends stops there, and goes on with the next one.
        let endless = turn(&["while :; do :; done"]);
        let mut runner = Runner::new(&endless);
        for _ in 0..2 {
            runner.run_for(SLICE).unwrap();
            let process = runner.step.as_ref().unwrap().processes[0];
            // The signal is sent; the process takes it when it has its next turn on a processor.
            let stops = (0..1000).any(|_| {
                thread::sleep(Duration::from_millis(10));
                state_of(process) == Some('T')
            });
            assert!(stops, "it runs on: {:?}", state_of(process));
        }
    }

    #[test]
    fn nothing_runs_beside_what_is_not_measured() {
        // Goal: the other begins at the line that says so, and a command that never prints it is an error.
        let script = format!("{}; echo begun; {}", count(500_000), count(1000));
        let mut lead = turn(&[&script]);
        lead.begins_at = Some("begun".to_owned());
        let [_, other] = beside([&lead, &turn(&[&count(100_000)])]).unwrap();
        assert_eq!(other.len(), 1, "it had a slice or two, not those of the set-up");
        lead.begins_at = Some("never".to_owned());
        let error = beside([&lead, &turn(&["true"])]).unwrap_err();
        assert!(error.contains("no line 'never'"), "{error}");
    }

    #[test]
    fn failures_end_the_comparison() {
        // Goal: the command that failed is named with what it printed, and the other does not go on.
        let left = format!("exec sleep 30.{}", std::process::id());
        let error = beside([&turn(&["echo why >&2; exit 3"]), &turn(&[&left])]).unwrap_err();
        assert!(error.contains("exit 3") && error.contains("why"), "{error}");
        let error = beside([&turn(&[&left]), &turn(&["exit 4"])]).unwrap_err();
        assert!(error.contains("exit 4"), "{error}");
        let listed = std::process::Command::new("ps").args(["-eo", "args"]).output().unwrap();
        assert!(
            !String::from_utf8_lossy(&listed.stdout).contains(&left[5..]),
            "it was left behind"
        );
    }
}
