//! The ledger: each claim, what was measured, and whether its recorded verdict still holds.

use std::fmt::Write;
use std::path::Path;

use fadelab_results::{Claim, Verdict};

use super::criterion::{Outcome, is_as, joint};
use super::figures::Figures;
use super::paper::{self, Claimed, Claims};
use super::quantity::Quantity;
use super::variants::{self, Beside};
use crate::Failure;

/// A claim and what became of it.
#[derive(Debug)]
pub struct Entry<'a> {
    /// As recorded.
    pub claim: &'a Claimed,
    /// Quantities with their intervals.
    pub measured: String,
    /// What we make of it, with its figures.
    pub why: String,
    /// Under variants.
    beside: Vec<Beside>,
    /// Of all criteria together.
    criteria: Outcome,
    /// Of all evidence together.
    evidence: Outcome,
}

impl Entry<'_> {
    /// Whether the seeds decide nothing.
    pub fn is_open(&self) -> bool {
        self.criteria == Outcome::Open || self.evidence == Outcome::Open
    }

    /// Whether the record is wrong. Fewer seeds than those it was made with, where not `complete`, may leave open what
    /// it decides.
    pub fn is_broken(&self, complete: bool) -> bool {
        !is_as(self.criteria, Outcome::of(self.claim.verdict), complete)
            || !is_as(self.evidence, Outcome::Holds, complete)
            || self.beside.iter().any(|beside| beside.is_broken(complete))
    }

    fn why_and_beside(&self) -> String {
        let beside = self
            .beside
            .iter()
            .map(|beside| format!(" Beside it, {}.", beside.text(true)));
        self.why.clone() + &beside.collect::<String>()
    }

    /// Whether the record holds, in words; `complete` as in [`Self::is_broken`].
    pub fn standing(&self, complete: bool) -> &'static str {
        match (self.is_broken(complete), self.is_open()) {
            (true, true) => "NO LONGER DECIDED",
            (true, false) => "NO LONGER HOLDS",
            (false, true) if self.claim.verdict == Verdict::NotDecided => "holds",
            (false, true) => "not decided by so few seeds",
            (false, false) => "holds",
        }
    }

    /// As pages and summaries show it.
    pub fn claim(&self) -> Claim {
        Claim {
            id: self.claim.id.clone(),
            published: format!("{} ({})", self.claim.published, self.claim.place),
            measured: self.measured.clone(),
            verdict: self.claim.verdict,
            why: self.why_and_beside(),
        }
    }
}

/// The claims of a paper, those that are `wanted` or all where none is named, with the runs that they need.
///
/// # Errors
/// A file that cannot be read or says something that it must not, or a claim that does not exist.
pub fn read(folder: &Path, wanted: &[String]) -> Result<Claims, Failure> {
    let mut claims = paper::read_file(folder, "claims.toml")?;
    select(&mut claims, wanted)?;
    Ok(claims)
}

/// Keeps the claims that were asked for, and of the runs those that they need; all of both where none was named.
///
/// # Errors
/// A claim that does not exist or stands twice, or a criterion about a run that the file does not name.
pub fn select(claims: &mut Claims, wanted: &[String]) -> Result<(), Failure> {
    let ids: Vec<&str> = claims.claim.iter().map(|claim| claim.id.as_str()).collect();
    if let Some(id) = wanted.iter().find(|id| !ids.contains(&id.as_str())) {
        return Err(Failure::Invalid(format!(
            "there is no claim \"{id}\": allowed are {}",
            ids.join(", ")
        )));
    }
    if let Some(twice) = ids.iter().enumerate().find(|(place, id)| ids[..*place].contains(id)) {
        return Err(Failure::Invalid(format!("claim \"{}\" stands twice", twice.1)));
    }
    if !wanted.is_empty() {
        claims.claim.retain(|claim| wanted.contains(&claim.id));
    }
    let before = claims.run.len();
    variants::add_runs(claims)?;
    let is_of_variant = |place: usize| place >= before;
    let needed = |id: &str| {
        let mut quantities = claims.claim.iter().flat_map(Claimed::quantities);
        quantities.any(|quantity| quantity.run == id)
    };
    for claim in &claims.claim {
        for run in claim.quantities().map(|quantity: &Quantity| quantity.run.as_str()) {
            let runs = claims.run.iter().map(|runs| runs.id.as_str());
            let known: Vec<&str> = runs.chain(claims.channel.iter().map(|c| c.id.as_str())).collect();
            if !known.contains(&run) {
                let message = format!(
                    "claim \"{}\" needs run \"{run}\": there are {}",
                    claim.id,
                    known.join(", ")
                );
                return Err(Failure::Invalid(message));
            }
        }
    }
    let kept: Vec<bool> = claims
        .run
        .iter()
        .enumerate()
        .map(|(place, runs)| wanted.is_empty() || is_of_variant(place) || needed(&runs.id))
        .collect();
    let mut place = kept.iter();
    claims.run.retain(|_| place.next().copied().unwrap_or(false));
    Ok(())
}

/// Evaluates all claims.
pub fn entries<'a>(claims: &'a Claims, figures: &[Figures]) -> Vec<Entry<'a>> {
    let entry = |claim: &'a Claimed| {
        let measured: Vec<String> = claim
            .criteria
            .iter()
            .map(|criterion| criterion.measured(figures))
            .collect();
        let mut measured = measured.join("; ");
        for (place, criterion) in claim.evidence.iter().enumerate() {
            measured += if place == 0 { "; and " } else { "; " };
            measured += &criterion.measured(figures);
        }
        Entry {
            claim,
            measured,
            why: claim.why.text(figures),
            beside: variants::beside(claims, claim, figures),
            criteria: joint(&claim.criteria, figures),
            evidence: joint(&claim.evidence, figures),
        }
    };
    claims.claim.iter().map(entry).collect()
}

/// The ledger as text; `heading` makes the id of a claim stand out, where that is possible.
pub fn text(claims: &Claims, entries: &[Entry], complete: bool, heading: &dyn Fn(&str) -> String) -> String {
    let mut text = format!("{}\n{}\n", claims.paper, claims.subject);
    for variant in &claims.variant {
        let _ = writeln!(text, "beside it, {}: {}", variant.id, variant.what);
    }
    for entry in entries {
        let claim = entry.claim;
        let _ = write!(
            text,
            "\n{}: {}, {}\n  published  {} ({})\n  measured   {}\n  criterion  {}\n  why        {}\n",
            heading(&claim.id),
            claim.verdict.text(),
            entry.standing(complete),
            claim.published,
            claim.place,
            entry.measured.replace("; ", "\n             "),
            claim.reason,
            entry.why
        );
        for beside in &entry.beside {
            let _ = writeln!(
                text,
                "  beside     {}",
                beside.text(complete).replace("; ", "\n             ")
            );
        }
    }
    let count = |verdict| entries.iter().filter(|entry| entry.claim.verdict == verdict).count();
    let ended = Verdict::ALL.map(|verdict| format!("{} {}", count(verdict), verdict.text()));
    let _ = write!(
        text,
        "\n{}; the record {} for {} of {}\n",
        ended.join(", "),
        if complete { "holds" } else { "is not contradicted" },
        entries.iter().filter(|entry| !entry.is_broken(complete)).count(),
        entries.len()
    );
    text
}
