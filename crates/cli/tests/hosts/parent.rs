//! A namespace in which shells behind a link are made, and what is there beside them.

use std::process::{Child, Command, Output, Stdio};

use super::{run, unique, until};

/// A network namespace with one device that passes no packets on, in which shells are made.
pub struct Parent(pub String);

impl Parent {
    pub fn new() -> Self {
        let parent = Self(unique("fle"));
        let name = &parent.0;
        run(&format!("ip netns add {name}"));
        run(&format!("ip -n {name} link set lo up"));
        run(&format!("ip -n {name} link add wire type veth peer name other"));
        run(&format!("ip -n {name} addr add 10.76.0.1/24 dev wire"));
        run(&format!("ip -n {name} link set wire up"));
        run(&format!("ip -n {name} link set other up"));
        // The kernel tells so a moment later, and what is there is compared.
        until("the wire is up", || {
            parent.told("ip -o link show").matches("state UP").count() == 2
        });
        parent
    }

    /// A command here.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.0)).args(words);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// A shell here, and what it says.
    pub fn emulate(&self, words: &[&str]) -> Output {
        self.started(words).wait_with_output().expect("it ends")
    }

    /// The same while it runs.
    pub fn started(&self, words: &[&str]) -> Child {
        let words = [
            &[env!("CARGO_BIN_EXE_fadelab"), "emulate", "--rate", "10 Mbit/s"],
            words,
        ]
        .concat();
        self.command(&words).spawn().expect("nsenter runs")
    }

    pub fn told(&self, words: &str) -> String {
        let words: Vec<&str> = words.split(' ').collect();
        let output = self.command(&words).output().expect("nsenter runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Devices, translations and settings: what is there beside shells.
    pub fn state(&self) -> [String; 3] {
        [
            self.told("ip -o link show"),
            self.told("nft list ruleset"),
            self.told("cat /proc/sys/net/ipv4/conf/wire/forwarding"),
        ]
    }
}

impl Drop for Parent {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).output();
    }
}
