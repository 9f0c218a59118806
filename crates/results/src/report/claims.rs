//! The ledger of a paper: its figures, and below each the claims about it. Needs no script but for the pictures.

use std::fmt::Write;

use super::escape;
use crate::{Claim, Picture, Summary};

/// A section for each figure with its claims, and one for claims without a figure; nothing without claims.
pub fn sections(summary: &Summary) -> String {
    let about = |picture: &Picture| {
        let prefix = format!("{}.", picture.id);
        summary.claims.iter().filter(move |claim| claim.id.starts_with(&prefix))
    };
    let drawn = summary.pictures.iter().enumerate().map(|(place, picture)| {
        format!(
            "<section class=\"pictured\"><h2>{}</h2><p class=\"note\">{}</p>\
             <div class=\"picture\" id=\"picture-{place}\"></div>{}</section>",
            escape(&picture.title),
            escape(&picture.caption),
            table(&about(picture).collect::<Vec<_>>())
        )
    });
    let has_picture = |claim: &&Claim| {
        summary
            .pictures
            .iter()
            .any(|p| about(p).any(|other| other.id == claim.id))
    };
    let others: Vec<&Claim> = summary.claims.iter().filter(|claim| !has_picture(claim)).collect();
    let heading = if summary.pictures.is_empty() {
        "Claims"
    } else {
        "Claims without a figure"
    };
    let rest = match others.as_slice() {
        [] => String::new(),
        others => format!("<section><h2>{heading}</h2>{}</section>", table(others)),
    };
    drawn.collect::<String>() + &rest
}

fn table(claims: &[&Claim]) -> String {
    if claims.is_empty() {
        return String::new();
    }
    let mut text = "<div class=\"wide\"><table class=\"claims\"><thead><tr><th>claim</th><th>published</th>\
                    <th>measured</th><th>verdict</th><th>why</th></tr></thead><tbody>"
        .to_owned();
    for claim in claims {
        let verdict = claim.verdict.text();
        let _ = write!(
            text,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td><em class=\"{}\">{verdict}</em></td>\
             <td>{}</td></tr>",
            escape(&claim.id),
            escape(&claim.published),
            escape(&claim.measured).replace("; ", "<br>"),
            verdict.split(' ').next().unwrap_or_default(),
            escape(&claim.why)
        );
    }
    text + "</tbody></table></div>"
}

/// What all runs showed, in a box that is opened where pictures come first.
pub fn folded(summary: &Summary, tables: String) -> String {
    if summary.pictures.is_empty() {
        return tables;
    }
    format!("<details><summary>All runs in numbers</summary>{tables}</details>")
}
