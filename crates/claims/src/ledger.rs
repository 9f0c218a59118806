//! The ledger: each claim, what was measured, and whether its recorded verdict still holds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use fadelab_results::{Claim, Verdict};

use super::criterion::{Criterion, Outcome, is_as, joint};
use super::figures::Figures;
use super::paper::{self, Away, Claimed, Claims, Ground, Runs};
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

/// The claims of a paper, those that are `wanted` or all where none is named, with the runs that they need on these
/// grounds.
///
/// # Errors
/// A file that cannot be read or says something that it must not, or a claim that does not exist, or only elsewhere.
pub fn read(folder: &Path, wanted: &[String], grounds: &[Ground]) -> Result<Claims, Failure> {
    let mut claims = paper::read_file(folder, "claims.toml")?;
    let given: Vec<&str> = grounds.iter().map(|ground| ground.name()).collect();
    select(&mut claims, wanted, grounds)?;
    let away = wanted.iter().find_map(|id| Some((id, claims.away.claims.get(id)?)));
    if let Some((id, ground)) = away {
        let name = ground.name();
        return Err(Failure::Invalid(format!(
            "claim \"{id}\" needs runs on the ground {name}, too: --ground {},{name}",
            given.join(",")
        )));
    }
    if claims.claim.is_empty() {
        return Err(Failure::Invalid(format!(
            "--ground {}: no claim of this paper is decided there alone; add sim, such as --ground sim,virtual",
            given.join(",")
        )));
    }
    Ok(claims)
}

/// Keeps the claims that were asked for, and of the runs those that they need; all of both where none was named. What
/// runs on no ground of `grounds` is left out.
///
/// # Errors
/// A claim that does not exist or stands twice, or a criterion about a run that the file does not name.
pub fn select(claims: &mut Claims, wanted: &[String], grounds: &[Ground]) -> Result<(), Failure> {
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
    let own: Vec<String> = claims.run.iter().map(|runs| runs.id.clone()).collect();
    variants::add_runs(claims)?;
    check_runs(claims)?;
    leave_out(claims, grounds)?;
    let needed: BTreeSet<String> = claims
        .claim
        .iter()
        .flat_map(Claimed::quantities)
        .map(|quantity| quantity.run.clone())
        .collect();
    let is_kept = |runs: &Runs| wanted.is_empty() || !own.contains(&runs.id) || needed.contains(&runs.id);
    claims.run.retain(is_kept);
    Ok(())
}

/// Refuses a claim about a run that the file does not name.
fn check_runs(claims: &Claims) -> Result<(), Failure> {
    let runs = claims.run.iter().map(|runs| runs.id.as_str());
    let known: Vec<&str> = runs.chain(claims.channel.iter().map(|c| c.id.as_str())).collect();
    for claim in &claims.claim {
        let unknown = claim
            .quantities()
            .find(|quantity| !known.contains(&quantity.run.as_str()));
        if let Some(Quantity { run, .. }) = unknown {
            return Err(Failure::Invalid(format!(
                "claim \"{}\" needs run \"{run}\": there are {}",
                claim.id,
                known.join(", ")
            )));
        }
    }
    Ok(())
}

/// Leaves out the runs that no ground of `grounds` runs, with the claims, the evidence and the variants that need them.
fn leave_out(claims: &mut Claims, grounds: &[Ground]) -> Result<(), Failure> {
    let runs = claims.run.iter().filter(|runs| !grounds.contains(&runs.ground));
    let runs: BTreeMap<String, Ground> = runs.map(|runs| (runs.id.clone(), runs.ground)).collect();
    let away = |criteria: &[Criterion]| {
        criteria
            .iter()
            .flat_map(Criterion::runs)
            .find_map(|id| runs.get(id).copied())
    };
    let (mut left, mut variants_left) = (BTreeMap::new(), BTreeMap::new());
    for place in 0..claims.claim.len() {
        let variants: Vec<String> = claims.claim[place].beside.keys().cloned().collect();
        for variant in variants {
            let criteria = variants::criteria(claims, &claims.claim[place], &variant)?;
            if let Some(ground) = away(&criteria) {
                claims.claim[place].beside.remove(&variant);
                variants_left.insert(variant, ground);
            }
        }
        let claim = &mut claims.claim[place];
        claim
            .evidence
            .retain(|criterion| away(std::slice::from_ref(criterion)).is_none());
        left.extend(away(&claim.criteria).map(|ground| (claim.id.clone(), ground)));
    }
    claims.claim.retain(|claim| !left.contains_key(&claim.id));
    claims.run.retain(|run| !runs.contains_key(&run.id));
    claims.away = Away {
        runs,
        variants: variants_left,
        claims: left,
    };
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
    let add = |ground: &Ground| match ground {
        Ground::Sim => "add sim to --ground".to_owned(),
        Ground::Virtual | Ground::Live => format!("add --ground sim,{}", ground.name()),
    };
    for variant in &claims.variant {
        let away = claims.away.variants.get(&variant.id);
        let away = away.map(|ground| format!(" (not run: {})", add(ground)));
        let _ = writeln!(
            text,
            "beside it, {}: {}{}",
            variant.id,
            variant.what,
            away.unwrap_or_default()
        );
    }
    for (id, ground) in &claims.away.claims {
        let _ = writeln!(text, "not run: {id} ({})", add(ground));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Claims `c`, with evidence and a variant in a kernel, and `d`, which is about runs in a kernel alone.
    fn selected(grounds: &[Ground]) -> Claims {
        let text = r#"
            paper = "p"
            subject = "s"
            variant = [{ id = "k", what = "w", set = ["a=2"], ground = "virtual", sysctl = ["net.a=1"] }]
            [[run]]
            id = "r"
            scenario = "s.toml"
            link = "l"
            [[run]]
            id = "v"
            scenario = "s.toml"
            link = "l"
            ground = "virtual"
            sysctl = ["net.b=2"]
            [[claim]]
            id = "c"
            where = "w"
            published = "p"
            criteria = ["r.x.utilisation < 0.5"]
            evidence = ["r.x.jain >= 0.5", "v.x.jain >= 0.5"]
            reason = "r"
            verdict = "reproduced"
            beside = { k = "differs" }
            why = "w"
            [[claim]]
            id = "d"
            where = "w"
            published = "p"
            criteria = ["v.x.utilisation < 0.5"]
            reason = "r"
            verdict = "reproduced"
            why = "w"
        "#;
        let mut claims = toml::from_str(text).unwrap();
        select(&mut claims, &[], grounds).ok().unwrap();
        claims
    }

    fn runs(claims: &Claims) -> Vec<(&str, Ground, &[String])> {
        let runs = claims.run.iter();
        runs.map(|runs| (runs.id.as_str(), runs.ground, &runs.sysctl[..]))
            .collect()
    }

    #[test]
    fn what_runs_on_other_grounds_is_left_out_and_told() {
        // Goal: on the simulator alone a claim about a kernel is no claim, evidence and variants of others in one are
        // not asked for, and the text says what would run them.
        let claims = selected(&[Ground::Sim]);
        assert_eq!(runs(&claims), [("r", Ground::Sim, &[][..])]);
        let [claim] = &claims.claim[..] else {
            panic!("one claim is left")
        };
        assert_eq!((claim.evidence.len(), claim.beside.len()), (1, 0));
        let text = text(&claims, &[], true, &str::to_owned);
        assert!(text.contains("k: w (not run: add --ground sim,virtual)"), "{text}");
        assert!(text.contains("not run: d (add --ground sim,virtual)"), "{text}");
    }

    #[test]
    fn a_variant_may_be_of_another_ground() {
        // Goal: with both grounds nothing is left out, and a variant's ground and settings stand in place of and behind
        // those of the run.
        let claims = selected(&[Ground::Sim, Ground::Virtual]);
        let (a, b) = (["net.a=1".to_owned()], ["net.b=2".to_owned()]);
        let all = [
            ("r", Ground::Sim, &[][..]),
            ("v", Ground::Virtual, &b[..]),
            ("r~k", Ground::Virtual, &a[..]),
        ];
        assert_eq!(runs(&claims), all);
        assert_eq!((claims.claim.len(), claims.claim[0].evidence.len()), (2, 2));
        assert!(claims.away.runs.is_empty());
    }
}
