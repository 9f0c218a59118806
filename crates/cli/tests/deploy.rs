//! The commands of docs/deploy.md, as they stand there, on three machines that are network namespaces.

mod hosts;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use hosts::{Running, is_registered, run, said, unique, until};

const PAGE: &str = include_str!("../../../docs/deploy.md");

/// What the page's machines are called.
const MACHINES: [char; 3] = ['A', 'R', 'B'];

/// A block of commands: at which machine, and whether it runs until it is interrupted.
struct Block {
    machine: char,
    stays: bool,
    commands: String,
}

fn blocks() -> Vec<Block> {
    let blocks = PAGE.split("```sh\n# ").skip(1);
    let read = |block: &str| {
        let (head, rest) = block.split_once('\n').expect("a line says where");
        Block {
            machine: head.chars().next().expect("a letter"),
            stays: head.contains("in a terminal of its own"),
            commands: rest.split("```").next().unwrap_or_default().to_owned(),
        }
    };
    blocks.map(read).collect()
}

/// The three machines of the page, and on each a command `fadelab`.
struct Network {
    spaces: [String; 3],
    /// Under which the law is known at either host. They share one kernel, so each has a name of its own.
    laws: [String; 3],
    bin: tempfile::TempDir,
}

impl Network {
    fn new() -> Self {
        let network = Self {
            spaces: MACHINES.map(|_| unique("fld")),
            laws: MACHINES.map(|_| unique("fdp")),
            bin: tempfile::tempdir().expect("a folder"),
        };
        let [a, r, b] = &network.spaces;
        for space in &network.spaces {
            run(&format!("ip netns add {space}"));
            run(&format!("ip -n {space} link set lo up"));
        }
        run(&format!(
            "ip link add eth0 netns {a} type veth peer name eth0 netns {r}"
        ));
        run(&format!(
            "ip link add eth1 netns {r} type veth peer name eth0 netns {b}"
        ));
        for (space, device, address) in [
            (a, "eth0", "192.0.2.10/24"),
            (r, "eth0", "192.0.2.1/24"),
            (r, "eth1", "198.51.100.1/24"),
            (b, "eth0", "198.51.100.10/24"),
        ] {
            run(&format!("ip -n {space} addr add {address} dev {device}"));
            run(&format!("ip -n {space} link set {device} up"));
        }
        run(&format!("ip -n {a} route add 198.51.100.0/24 via 192.0.2.1"));
        run(&format!("ip -n {b} route add default via 198.51.100.1"));
        network.within('R', "echo 1 > /proc/sys/net/ipv4/ip_forward");
        network
    }

    fn index(machine: char) -> usize {
        MACHINES
            .iter()
            .position(|&known| known == machine)
            .expect("one of the page's")
    }

    /// Commands at a machine, where `fadelab` has what is given to it as it is, but for the law's name.
    fn command(&self, machine: char, commands: &str) -> Command {
        let index = Self::index(machine);
        let (law, folder) = (&self.laws[index], self.bin.path().join(machine.to_string()));
        fs::create_dir_all(&folder).expect("a folder");
        let script = format!(
            "#!/bin/sh
case \"$1 $2 $3\" in
'kernel load vcp') exec '{0}' \"$@\" --as {law} ;;
'kernel unload vcp') exec '{0}' kernel unload {law} ;;
esac
exec '{0}' \"$@\"
",
            env!("CARGO_BIN_EXE_fadelab")
        );
        let program = folder.join("fadelab");
        fs::write(&program, script).expect("a file");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("ours");
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").expect("it is set"));
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--net=/run/netns/{}", self.spaces[index]))
            .args(["sh", "-ec", &commands.replace("fade_vcp", law)])
            .env("PATH", path);
        command
    }

    fn within(&self, machine: char, commands: &str) -> String {
        let output = self.command(machine, commands).output().expect("nsenter");
        assert!(output.status.success(), "at {machine}: {commands}\n{}", said(&output));
        said(&output)
    }

    /// Routes and disciplines of all machines.
    fn state(&self) -> String {
        let one = |machine| self.within(machine, "ip route; tc qdisc show");
        MACHINES.map(one).concat()
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for law in &self.laws {
            let _ = hosts::command(self.bin.path(), &["kernel", "unload", law]).output();
        }
        for space in &self.spaces {
            let _ = Command::new("ip").args(["netns", "del", space]).output();
        }
    }
}

#[test]
fn the_page_leads_to_vcp_and_back() {
    // Goal: a reader who does what docs/deploy.md says, in its order, has a flow that hears codes of the router, and at
    // the end the three machines as they were. (Their path has no delay, so that VCP's rate is none to look at.)
    if !hosts::possible() {
        return;
    }
    let network = Network::new();
    let before = network.state();
    let (mut staying, mut listed) = (Vec::new(), String::new());
    for block in blocks() {
        let commands = block.commands.trim();
        if block.stays {
            // In place of the shell, so that what ends it ends the command.
            staying.push(Running::start(
                network.command(block.machine, &format!("exec {commands}")),
            ));
            if commands.starts_with("iperf3") {
                until("the server listens", || {
                    network.within('B', "ss -ltnH").contains(":5201")
                });
            } else {
                staying.last_mut().expect("it began").shows("load");
            }
        } else {
            let said = network.within(block.machine, commands);
            if commands.contains("kernel list") {
                listed = said;
            }
        }
    }
    let hears = |line: &str| {
        ["low load", "high load", "overload"]
            .iter()
            .any(|code| line.contains(code))
    };
    assert!(
        listed.lines().any(|line| line.contains("198.51.100.10") && hears(line)),
        "beside iperf3's own connection one hears the router: {listed}"
    );
    for router in staying.drain(..).skip(1) {
        let ended = router.interrupted();
        assert!(ended.status.success(), "{}", said(&ended));
    }
    assert_eq!(network.state(), before);
    assert!(!network.laws.iter().any(|law| is_registered(law)), "no law is left");
}
