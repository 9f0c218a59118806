//! The service that is killed again and again, and what it says of itself.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::{Duration, Instant};

use super::common::Scratch;
use super::hosts::{Running, command, fadelab, heard, metrics, run, said, sample, unique};
use super::site::{RATE, Site};

/// Laws at both ends of a site and the router between them, by one file.
pub struct Service {
    scratch: Scratch,
    manager: UnixDatagram,
    pub vcp: String,
    pub xcp: String,
    running: Option<Running>,
}

impl Service {
    pub fn new(site: &Site) -> Self {
        let scratch = Scratch::new();
        let manager = UnixDatagram::bind(scratch.0.join("notify")).expect("a socket");
        manager.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
        let (vcp, xcp) = (unique("fkv"), unique("fkx"));
        let devices = format!("[\"{}:wire\", \"{}:wire\"]", site.a, site.b);
        let law =
            |law: &str, name: &str| format!("[[law]]\nlaw = \"{law}\"\nname = \"{name}\"\ndevices = {devices}\n\n");
        let text = format!(
            "{}{}[[router]]\ndevice = \"{}:out\"\nlaw = \"vcp\"\nrate = \"{RATE}\"\n\n[metrics]\nsocket = \"{}\"\n",
            law("vcp", &vcp),
            law("xcp", &xcp),
            site.r,
            scratch.0.join("metrics").display()
        );
        fs::write(scratch.0.join("kernel.toml"), text).expect("a file");
        Self {
            scratch,
            manager,
            vcp,
            xcp,
            running: None,
        }
    }

    /// Starts it and waits until it says that all is in place.
    pub fn start(&mut self) {
        let mut command = command(&self.scratch.0, &["kernel", "run", "kernel.toml"]);
        command.env("NOTIFY_SOCKET", self.scratch.0.join("notify"));
        self.running = Some(Running::start(command));
        let mut buffer = [0; 1024];
        loop {
            let bytes = heard(&self.manager, &mut buffer).unwrap_or_else(|error| {
                let mut running = self.running.take().expect("it was started");
                let ended = running.0.try_wait().expect("ours");
                let _ = running.0.kill();
                let said = said(&running.finished());
                panic!("it says that it is ready within a minute: {error}; it ended {ended:?} and said: {said}");
            });
            if String::from_utf8_lossy(&buffer[..bytes]).contains("READY=1") {
                return;
            }
        }
    }

    /// Kills it and starts it again at once, as a manager does. Gives how long it was away.
    pub fn killed(&mut self) -> Duration {
        let since = Instant::now();
        drop(self.running.take());
        self.start();
        since.elapsed()
    }

    /// Ends it in order.
    pub fn end(&mut self) {
        let running = self.running.take().expect("it runs");
        run(&format!("kill -TERM {}", running.0.id()));
        let output = running.finished();
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    }

    /// A sample of what it counted, by its name and the beginning of its labels.
    pub fn sample(&self, begins: &str) -> Option<f64> {
        sample(&metrics(&self.scratch.0.join("metrics")), begins)
    }

    /// Whether `kernel list` tells of both laws and the router as of this process's, and of nothing that a killed one
    /// left here; gives what is not so.
    pub fn untold(&self, site: &Site) -> Vec<String> {
        let listed = listed();
        let mut untold = Vec::new();
        for (law, name) in [("vcp", &self.vcp), ("xcp", &self.xcp)] {
            // Sockets keep a law that was taken away until they close, which is told too.
            let is_told = |line: &&str| line.starts_with(name.as_str()) && !line.contains("unloaded; lives on");
            let lines: Vec<&str> = listed.lines().filter(is_told).collect();
            if lines.len() != 1 || !lines[0].contains(&format!("law {law}")) || lines[0].contains("killed") {
                untold.push(format!("{name}: {lines:?}"));
            }
        }
        let of_router: Vec<&str> = listed.lines().filter(|line| line.contains(&site.r)).collect();
        if of_router.is_empty() || of_router.iter().any(|line| line.contains("killed")) {
            untold.push(format!("router: {of_router:?}"));
        }
        untold
    }
}

impl Drop for Service {
    /// Where the test failed nothing is to stay.
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            run(&format!("kill -TERM {}", running.0.id()));
            let _ = running.finished();
            fadelab(Path::new("."), &["kernel", "clean"]);
        }
    }
}

/// What `kernel list` says.
pub fn listed() -> String {
    said(&fadelab(Path::new("."), &["kernel", "list"]))
}
