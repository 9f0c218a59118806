//! When packets left, by a recording and by tcpdump beside it.

use std::path::Path;

use super::{Outside, number, row};
use crate::measure;
use crate::row::{Bound, Row};
use crate::simulators::Bench;

/// Packets that are sent, their payload and with it their size, by which both tell them from what the kernel says when
/// a device comes up; and the way whose departures both see: that to the command.
const PACKETS: usize = 1000;
const PAYLOAD_BYTES: usize = 1000;
const IP_BYTES: &str = "1028";
const WAY: &str = "down";

/// Times in a capture with nanoseconds (pcap-savefile(5)): a header of 24 bytes, then 16 before each packet, of which
/// the first two words are seconds and nanoseconds and the third says how many bytes follow.
fn captured_ns(bytes: &[u8]) -> Result<Vec<u64>, String> {
    const MAGIC: [u8; 4] = 0xa1b2_3c4d_u32.to_le_bytes();
    let mut rest = bytes.strip_prefix(&MAGIC).and_then(|rest| rest.get(20..));
    let mut times = Vec::new();
    while let Some(record) = rest.filter(|rest| !rest.is_empty()) {
        let word = |at: usize| Some(u32::from_le_bytes(record.get(at..at + 4)?.try_into().ok()?));
        let (Some(s), Some(ns), Some(length)) = (word(0), word(4), word(8)) else {
            return Err("the capture of tcpdump is cut off".to_owned());
        };
        times.push(u64::from(s) * 1_000_000_000 + u64::from(ns));
        rest = record.get(16 + length as usize..);
    }
    rest.map(|_| times).ok_or_else(|| "tcpdump wrote no capture".to_owned())
}

/// When each packet of the way left, by the table of a recording.
fn recorded_ns(table: &str) -> Vec<u64> {
    let fields = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let lines = table.lines().skip(1).map(fields);
    let delivered = lines.filter(|fields| fields[0] == WAY && fields[3] == IP_BYTES && fields[4] == "delivered");
    let number = |text: &str| text.parse::<u64>().unwrap_or(0);
    delivered
        .map(|fields| number(&fields[5]) + number(&fields[6]))
        .collect()
}

/// How far the two are apart, when the clocks' distance is taken off, in us: 99 of 100 are closer.
fn apart_us(recorded: &[u64], captured: &[u64]) -> f64 {
    let distances = recorded
        .iter()
        .zip(captured)
        .map(|(&one, &other)| other as i64 - one as i64);
    let mut distances: Vec<i64> = distances.collect();
    distances.sort_unstable();
    let middle = distances[distances.len() / 2];
    let mut apart: Vec<u64> = distances.iter().map(|distance| distance.abs_diff(middle)).collect();
    apart.sort_unstable();
    apart[apart.len() * 99 / 100] as f64 / 1e3
}

/// Ping over a link that is recorded, with tcpdump at the device where its answers leave the link.
pub fn departures(bench: &Bench, outside: &Outside) -> Result<Row, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("a folder: {error}"))?;
    let at = |name: &str| folder.path().join(name).display().to_string();
    let [recording, capture, table] = ["recording", "capture", "table"].map(at);
    let link = ["--rate", "20 Mbit/s", "--delay", "20 ms", "--record", &recording];
    let command = format!(
        "tcpdump -i fade0 -Q in -w {capture} --nano --immediate-mode -U -Z root icmp 2>/dev/null & \
         sleep 1; \
         ping -q -c {PACKETS} -i 0.005 -s {PAYLOAD_BYTES} $FADELAB_OUTSIDE; sleep 0.5; kill $!; wait"
    );
    let (_, outcome) = outside.emulate(bench, &link, &command)?;
    let fadelab = bench.fadelab.display().to_string();
    measure::run([fadelab.as_str(), "replay", &recording, "--packets", &table])?;
    let read = |file: &str| std::fs::read(Path::new(file)).map_err(|error| format!("{file}: {error}"));
    let captured = read(&capture)
        .map_err(|error| format!("tcpdump left no capture ({error}): is it installed? `make bench` does that"))?;
    let captured = captured_ns(&captured)?;
    let recorded = recorded_ns(&String::from_utf8_lossy(&read(&table)?));
    if recorded.len() != captured.len() || recorded.len() < PACKETS {
        return Err(format!(
            "{} departures, and tcpdump saw {}",
            recorded.len(),
            captured.len()
        ));
    }
    let late_us = number(&outcome, "/punctuality/late_ns_p99")? / 1e3;
    Ok(row(
        "departures beside tcpdump",
        "us apart, 99 of 100",
        apart_us(&recorded, &captured),
        Bound::AtMost(late_us),
        format!("{} packets; lateness {late_us:.0} us", recorded.len()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_from_a_capture_and_from_a_table() {
        // Goal: two packets of a capture, of which one has bytes; of a table those of ping that the way delivered, with
        // their lateness; the distance of the clocks is none between the two, and a capture that is cut is told.
        let word = |value: u32| value.to_le_bytes().to_vec();
        let record = |ns: u32, bytes: u32| [word(7), word(ns), word(bytes), word(99), vec![0; bytes as usize]].concat();
        let head = [word(0xa1b2_3c4d), vec![0; 20]].concat();
        let whole = [head.clone(), record(500, 3), record(9_500, 0)].concat();
        assert_eq!(captured_ns(&whole), Ok(vec![7_000_000_500, 7_000_009_500]));
        assert_eq!(captured_ns(&head), Ok(Vec::new()));
        assert!(captured_ns(&whole[..whole.len() - 3]).is_err() && captured_ns(b"text").is_err());
        let table = "way,...\nup,0,1,1028,delivered,3,4,0,0\ndown,0,1,1028,delivered,10,4,0,0\n\
                     down,1,1,1028,lost,12,4,0,0\ndown,2,1,76,delivered,13,1,0,0\n\
                     down,3,1,1028,delivered,9010,2,0,0\n";
        assert_eq!(recorded_ns(table), [14, 9_012]);
        assert!((apart_us(&[14, 9_012], &[500, 9_500]) - 0.002).abs() < 1e-9);
    }
}
