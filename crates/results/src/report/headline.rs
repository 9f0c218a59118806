//! The sentence that a first reader wants.

use std::fmt::Write;

use crate::distance;
use crate::distinct::in_order;
use crate::interval::{Judged, Stat};
use crate::measure::Metric;
use crate::shares::Share;
use crate::summary::Group;
use crate::table::Columns;
use crate::versus::Beside;
use crate::{Summary, Verdict, table};

/// How the claims ended, or else how many figures of grounds agree, or else which laws harm others, or else who uses
/// how much of the bottleneck.
pub fn headline(summary: &Summary) -> String {
    if !summary.claims.is_empty() {
        return verdicts(summary);
    }
    if let Some(first) = summary.distances.first() {
        let words = distance::in_words(&summary.distances);
        return format!("Between {} and {}: {words}", first.first_ground, first.second_ground);
    }
    if !summary.versus.is_empty() {
        return harms(summary);
    }
    let points = summary.points();
    let sentence = |link: &String| match points.as_slice() {
        [point] => shares(summary, link, point),
        _ => wins(summary, link, points.len()),
    };
    summary.bottleneck.as_ref().and_then(sentence).unwrap_or_default()
}

fn verdicts(summary: &Summary) -> String {
    let ended = |verdict: Verdict| {
        let n = summary.claims.iter().filter(|claim| claim.verdict == verdict).count();
        (n > 0).then(|| format!("{n} {}", verdict.text()))
    };
    let ended: Vec<String> = Verdict::ALL.into_iter().filter_map(ended).collect();
    let n = summary.claims.len();
    format!(
        "Of {n} {}: {}.",
        if n == 1 { "claim" } else { "claims" },
        ended.join(", ")
    )
}

/// Most pairs of laws that a headline names.
const HARMS_MAX: usize = 3;

/// Which laws take more from others than those take from themselves, how much, and at how many points of the sweep.
fn harms(summary: &Summary) -> String {
    let link = summary.bottleneck.as_deref().unwrap_or_default();
    let here: Vec<&Beside> = summary.versus.iter().filter(|beside| beside.link == link).collect();
    let pairs = in_order(
        here.iter()
            .map(|beside| (beside.beside.as_str(), beside.law.as_str(), beside.group.as_deref())),
    );
    let told: Vec<String> = pairs
        .into_iter()
        .filter(|(by, to, _)| by != to)
        .filter_map(|(by, to, side)| harm(&here, by, to, side))
        .collect();
    match told.len() {
        0 if is_untested(&here) => {
            format!("On {link} one seed does not tell what laws take from each other by chance.")
        }
        0 => format!("On {link} no law takes more from another than that one takes from itself, beyond the noise."),
        n if n > HARMS_MAX => {
            let rest = n - HARMS_MAX;
            let pairs = if rest == 1 { "pair" } else { "pairs" };
            format!(
                "On {link} {}; and so on of {rest} more {pairs}.",
                told[..HARMS_MAX].join("; ")
            )
        }
        _ => format!("On {link} {}.", told.join("; ")),
    }
}

/// Whether no difference has an interval, since there is one seed.
fn is_untested(here: &[&Beside]) -> bool {
    let differences = here.iter().filter_map(|beside| beside.harm_beyond_itself);
    let mut judged = differences.map(|stat| stat.judged()).peekable();
    judged.peek().is_some() && judged.all(|judged| judged == Judged::OneSeed)
}

/// What one law takes from another and that one from itself, at the points where it is more beyond the noise; on one
/// side, where the two differ.
fn harm(here: &[&Beside], by: &str, to: &str, side: Option<&str>) -> Option<String> {
    let of = |other: &str| {
        let is_it =
            move |beside: &&&Beside| beside.beside == other && beside.law == to && beside.group.as_deref() == side;
        here.iter().filter(is_it).copied().collect::<Vec<&Beside>>()
    };
    let pair = of(by);
    let is_more = |beside: &&Beside| {
        let beyond = beside.harm_beyond_itself;
        beyond.is_some_and(|stat| stat.judged() == Judged::More)
    };
    let more: Vec<&Beside> = pair.iter().copied().filter(is_more).collect();
    let taken = percents(more.iter().filter_map(|beside| beside.harm))?;
    let is_there = |own: &&Beside| more.iter().any(|beside| beside.point == own.point);
    let itself = percents(of(to).into_iter().filter(is_there).filter_map(|beside| beside.harm));
    let at = match (more.len(), pair.len()) {
        (_, 1) => String::new(),
        (n, all) => format!(", at {n} of {all} points"),
    };
    let than = itself.map_or_else(String::new, |itself| format!(", {to} itself {itself}"));
    let side = side.map_or_else(String::new, |side| format!(" ({side})"));
    Some(format!(
        "{by} takes {taken} of the goodput that {to}{side} has alone{than}{at}"
    ))
}

/// As one number, or from the least to the most.
fn percents(stats: impl Iterator<Item = Stat>) -> Option<String> {
    let mut texts: Vec<(f64, String)> = stats
        .map(|stat| (stat.mean, format!("{:.1}", stat.mean * 100.0)))
        .collect();
    texts.sort_by(|one, other| one.0.total_cmp(&other.0));
    let ((_, least), (_, most)) = (texts.first()?, texts.last()?);
    Some(if least == most {
        format!("{least}\u{a0}%")
    } else {
        format!("{least} to {most}\u{a0}%")
    })
}

fn utilisation(group: &Group) -> Option<f64> {
    Some(group.stat(Metric::Utilisation)?.mean)
}

fn shares(summary: &Summary, link: &str, point: &[(String, String)]) -> Option<String> {
    let here = summary
        .groups
        .iter()
        .filter(|group| group.link == link && group.point == point);
    let mut shares: Vec<(&Group, f64)> = here.filter_map(|group| Some((group, utilisation(group)?))).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut text = String::new();
    for (place, (group, share)) in shares.iter().enumerate() {
        let joint = match place {
            0 => "",
            _ if place + 1 == shares.len() => " and ",
            _ => ", ",
        };
        let _ = write!(text, "{joint}{}\u{a0}{:.1}\u{a0}%", group.law, share * 100.0);
        if let Some(rtt) = group.stat(Metric::Rtt) {
            let _ = write!(text, " (RTT\u{a0}{:.0}\u{a0}ms)", rtt.mean);
        }
    }
    (!text.is_empty()).then(|| format!("Utilisation of {link}: {text}.{}", split(summary, link, point)))
}

/// Who got what of it, where a single law, or a single mixture of laws, is shown.
fn split(summary: &Summary, link: &str, point: &[(String, String)]) -> String {
    let here = summary
        .shares
        .iter()
        .filter(|share| share.link == link && share.point == point);
    let shares: Vec<&Share> = here.collect();
    if shares.is_empty() || shares.iter().any(|share| share.law != shares[0].law) {
        return String::new();
    }
    let told_by_sender = in_order(shares.iter().map(|share| &share.sender)).len() == shares.len();
    let part = |share: &&Share| {
        let name = if told_by_sender { &share.sender } else { &share.group };
        Some(format!("{name}\u{a0}{:.1}\u{a0}%", share.stat("share")?.mean * 100.0))
    };
    let parts: Vec<String> = shares.iter().filter_map(part).collect();
    match parts.split_last() {
        Some((last, first)) if !first.is_empty() => {
            format!(" Of what it delivered {} and {last}.", first.join(", "))
        }
        _ => String::new(),
    }
}

fn wins(summary: &Summary, link: &str, points: usize) -> Option<String> {
    let view = table::views(summary, Columns::Usual)
        .into_iter()
        .find(|view| view.link == link)?;
    let wins = |law: &&String| {
        view.rows
            .iter()
            .filter(|row| row.best && row.keys.last() == Some(law))
            .count()
    };
    let mut laws: Vec<(&String, usize)> = summary.laws.iter().map(|law| (law, wins(&law))).collect();
    laws.sort_by_key(|&(_, n)| std::cmp::Reverse(n));
    let won: Vec<String> = laws
        .iter()
        .filter(|(_, n)| *n > 0)
        .map(|(law, n)| format!("{law} at {n} of {points}"))
        .collect();
    if won.is_empty() {
        let few = if summary.seeds.len() == 1 {
            ": one seed does not tell how far chance goes"
        } else {
            ""
        };
        let several = summary.laws.len() > 1;
        return several
            .then(|| format!("At no point of the sweep does one law use most of {link} beyond the noise{few}."));
    }
    let undecided = points - laws.iter().map(|(_, n)| n).sum::<usize>();
    let rest = if undecided > 0 {
        format!("; none beyond the noise at {undecided}")
    } else {
        String::new()
    };
    Some(format!(
        "Highest utilisation of {link}: {} points of the sweep{rest}.",
        won.join(", ")
    ))
}
