//! What the host's clock says is nothing to a guest.

use std::fs;
use std::process::Command;

use super::common::guest::possible;
use super::common::{FADING, Scratch, column, has_programs};
use super::{fadelab, http, instead_of_qemu, said, same, scenario};

/// A host for QEMU, to be loaded behind what makes it take turns: its clock goes on by `STEP_S` with each reading, and
/// where that is more than nothing, who waits for a time has waited long enough after 200 us.
const HOST: &str = "#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
int gettimeofday(struct timeval *time, void *zone)
{
	static long seconds = 1700000000;

	(void)zone;
	*time = (struct timeval){.tv_sec = seconds += atoi(getenv(\"STEP_S\"))};
	return 0;
}
long syscall(long number, ...)
{
	long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, \"syscall\");
	struct timespec soon = {.tv_nsec = 200000};
	long given[6];
	va_list rest;

	va_start(rest, number);
	for (int i = 0; i < 6; i++)
		given[i] = va_arg(rest, long);
	va_end(rest);
	if (number == SYS_futex && given[3] && atoi(getenv(\"STEP_S\")))
		given[3] = (long)&soon;
	return next(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}
";

/// Compiles it; gives the path on which QEMU is found with it.
fn with_host(scratch: &Scratch) -> String {
    let [source, object] = ["host.c", "host.so"].map(|name| scratch.0.join(name));
    fs::write(&source, HOST).unwrap();
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-ldl", "-o"])
        .arg(&object)
        .arg(&source);
    assert!(compiler.status().unwrap().success());
    let script = format!(
        "PATH=${{PATH#*:}} LD_PRELOAD=$LD_PRELOAD:{} exec qemu-system-x86_64 \"$@\"",
        object.display()
    );
    instead_of_qemu(scratch, &script)
}

#[test]
fn the_host_s_clock_does_not_reach_a_guest() {
    // Goal: a host whose clock stands and one on which a second goes by whenever it is read, so that no wait is long
    // enough for a guest that works, give the same bytes; where processes are copied while packets pass: the emulator
    // then writes with or without page faults, by what the processor still remembers of its pages.
    if !has_programs(&["cc", "curl", "nginx"]) || !possible("6.1") {
        return;
    }
    let scratch = scenario(&format!("{}{FADING}", http::SCENARIO));
    let path = with_host(&scratch);
    let of = |out, step_s: &str| {
        let keys = [
            "run.duration=3 s",
            "flow.count=6",
            "flow.size=30 kB",
            "flow.off=exponential 100 ms",
        ];
        let output = fadelab(
            &scratch,
            &["testbed", "run", "net.toml", "--quiet", "--csv", "--out", out],
        )
        .args(["--no-snapshot", "--seeds", "1..3"])
        .args(keys.iter().flat_map(|key| ["--set", key]))
        .envs([("PATH", path.as_str()), ("STEP_S", step_s)])
        .output()
        .unwrap();
        assert!(output.status.success(), "{}", said(&output));
    };
    std::thread::scope(|scope| {
        scope.spawn(|| of("standing", "0"));
        of("hurrying", "1");
    });
    same(&scratch, "standing", "hurrying");
    let downloads = column(&scratch, "standing/csv/completions.csv", "bytes").len();
    assert!(downloads >= 3 * 12, "only {downloads} processes were copied");
}
