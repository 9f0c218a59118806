//! Several results as one, so that their laws stand on one page.

use std::fmt::Write;
use std::sync::Arc;

use crate::distinct::in_order;
use crate::{Experiment, Run, Spec, point_text};

/// Puts results together, each under the name that tells it from the others. A law that several results have on one
/// ground is shown once for each, with the name of its result.
///
/// # Errors
/// In words: the results cannot stand in one table, because their runs do not share links, flows, points or times.
pub fn combine(parts: Vec<(String, Experiment)>) -> Result<Experiment, String> {
    for pair in parts.windows(2) {
        check(&pair[0], &pair[1])?;
    }
    let clashing = clashing_laws(&parts);
    let all = |text: fn(&Experiment) -> &String| in_order(parts.iter().map(|(_, part)| text(part).clone()));
    let mut combined = Experiment {
        version: all(|part| &part.version).join(" and "),
        title: all(|part| &part.title).join("; "),
        about: all(|part| &part.about).join(" ").trim().to_owned(),
        ..Experiment::default()
    };
    for (name, part) in parts {
        let _ = writeln!(combined.scenario, "# {name}\n{}", part.scenario);
        let warnings = part.warnings.iter().map(|warning| format!("{name}: {warning}"));
        combined.warnings.extend(warnings);
        combined.sources.extend(part.sources);
        combined.claims.extend(part.claims);
        combined.runs.extend(part.runs.into_iter().map(|run| Run {
            law: if clashing.contains(&(run.law.clone(), run.ground.clone())) {
                format!("{} ({name})", run.law)
            } else {
                run.law
            },
            ..run
        }));
    }
    Ok(combined)
}

/// Law and ground.
fn clashing_laws(parts: &[(String, Experiment)]) -> Vec<(String, String)> {
    let laws = |part: &Experiment| in_order(part.runs.iter().map(|run| (run.law.clone(), run.ground.clone())));
    let all: Vec<(String, String)> = parts.iter().flat_map(|(_, part)| laws(part)).collect();
    let clashes = |law: &&(String, String)| all.iter().filter(|other| other == law).count() > 1;
    in_order(all.iter().filter(clashes).cloned())
}

/// Runs at one point must be comparable, whichever result they come from, and there must be such a point.
fn check((one, first): &(String, Experiment), (other, second): &(String, Experiment)) -> Result<(), String> {
    let mut shared = false;
    for run in &first.runs {
        // Laws alone and side by side have other flows: one is held against its like.
        let rivals = || second.runs.iter().filter(|rival| rival.point == run.point);
        let Some(rival) = rivals().find(|rival| rival.law == run.law).or_else(|| rivals().next()) else {
            continue;
        };
        shared = true;
        if !Arc::ptr_eq(&run.spec, &rival.spec)
            && let Some(reason) = mismatch(&run.spec, &rival.spec)
        {
            let point = point_text(&run.point);
            let at = if point.is_empty() { "" } else { " at " };
            return Err(format!("{one} and {other} do not fit on one page{at}{point}: {reason}"));
        }
    }
    if shared {
        return Ok(());
    }
    let points = |part: &Experiment| {
        let points = in_order(part.runs.iter().map(Run::point_text));
        let shown: Vec<String> = points.iter().take(3).map(|point| format!("\"{point}\"")).collect();
        format!("{}{}", shown.join(", "), if points.len() > 3 { ", ..." } else { "" })
    };
    Err(format!(
        "{one} and {other} do not fit on one page: they share no point of a sweep ({} and {})",
        points(first),
        points(second)
    ))
}

/// Why runs of these specs cannot be compared. Routers and buffers may differ, for they belong to a law.
fn mismatch(first: &Spec, second: &Spec) -> Option<String> {
    let seconds = |spec: &Spec| {
        let (from, to) = (spec.warmup_ns as f64 / 1e9, spec.duration_ns as f64 / 1e9);
        format!("from {from} s to {to} s")
    };
    if seconds(first) != seconds(second) {
        return Some(format!(
            "one is measured {}, the other {}",
            seconds(first),
            seconds(second)
        ));
    }
    let links = |spec: &Spec| {
        let shown = spec.links.iter().filter(|link| link.shown);
        shown
            .map(|link| {
                let rate = if link.varies {
                    "at first or on average"
                } else {
                    "constant"
                };
                let loss = link.air_loss_rate_exact.unwrap_or_default();
                format!(
                    "{} ({} bit/s {rate}, {} ns, packet error {loss})",
                    link.name, link.rate_bps_mean, link.delay_ns
                )
            })
            .collect::<Vec<_>>()
    };
    if let Some(difference) = first_difference("link", &links(first), &links(second)) {
        return Some(difference);
    }
    let flows = |spec: &Spec| {
        let route = |route: &[u32]| {
            let names = route.iter().map(|&link| spec.links[link as usize].name.as_ref());
            names.collect::<Vec<_>>().join(" ")
        };
        spec.flows
            .iter()
            .map(|flow| format!("{} (over {})", flow.name, route(&flow.route)))
            .collect::<Vec<_>>()
    };
    first_difference("flow", &flows(first), &flows(second)).or_else(|| {
        // Pages address links by their place, so that hidden ones must stand alike as well.
        let names = |spec: &Spec| spec.links.iter().map(|link| link.name.to_string()).collect::<Vec<_>>();
        first_difference("link", &names(first), &names(second))
    })
}

fn first_difference(kind: &str, first: &[String], second: &[String]) -> Option<String> {
    let nothing = || "none".to_owned();
    (0..first.len().max(second.len()))
        .find(|&place| first.get(place) != second.get(place))
        .map(|place| {
            format!(
                "where one has the {kind} {}, the other has {}",
                first.get(place).cloned().unwrap_or_else(nothing),
                second.get(place).cloned().unwrap_or_else(nothing)
            )
        })
}
