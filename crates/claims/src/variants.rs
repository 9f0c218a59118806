//! Variants: the same claims where something else runs, such as another recovery than that of the paper's authors.
//!
//! `RUN~VARIANT` is the run with the settings of the variant behind its own. Criteria may name one; a claim whose
//! `beside` names a variant has all its criteria evaluated there too, and what is recorded of that is checked as its
//! verdict is.

use std::collections::BTreeSet;

use fadelab_results::Verdict;

use super::criterion::{Criterion, Outcome, is_as, joint};
use super::figures::Figures;
use super::paper::{Claimed, Claims, Runs};
use crate::Failure;

/// Between the name of a run and that of a variant.
const MARK: char = '~';

/// Adds the runs of variants that the claims speak of.
///
/// # Errors
/// A variant or a run that the file does not have.
pub fn add_runs(claims: &mut Claims) -> Result<(), Failure> {
    let mut wanted: BTreeSet<String> = BTreeSet::new();
    for claim in &claims.claim {
        wanted.extend(claim.quantities().map(|quantity| quantity.run.clone()));
        for id in claim.beside.keys() {
            wanted.extend(
                criteria(claims, claim, id)?
                    .iter()
                    .flat_map(|c| c.runs())
                    .map(str::to_owned),
            );
        }
    }
    for id in wanted {
        let known = claims.run.iter().any(|runs| runs.id == id);
        let Some((run, variant)) = id.split_once(MARK).filter(|_| !known) else {
            continue;
        };
        let variant = claims
            .variant
            .iter()
            .find(|v| v.id == variant)
            .ok_or_else(|| unknown(claims, variant))?;
        let Some(runs) = claims.run.iter().find(|runs| runs.id == run) else {
            return Err(Failure::Invalid(format!("\"{id}\": there is no run \"{run}\"")));
        };
        let runs = Runs {
            id: id.clone(),
            set: runs.set.iter().chain(&variant.set).cloned().collect(),
            ground: variant.ground.unwrap_or(runs.ground),
            sysctl: runs.sysctl.iter().chain(&variant.sysctl).cloned().collect(),
            ..runs.clone()
        };
        claims.run.push(runs);
    }
    Ok(())
}

fn unknown(claims: &Claims, id: &str) -> Failure {
    let ids: Vec<&str> = claims.variant.iter().map(|variant| variant.id.as_str()).collect();
    Failure::Invalid(format!("there is no variant \"{id}\": allowed are {}", ids.join(", ")))
}

/// The criteria of a claim under a variant. Channels, which are computed, are what they are.
///
/// # Errors
/// A variant that the file does not have.
pub fn criteria(claims: &Claims, claim: &Claimed, variant: &str) -> Result<Vec<Criterion>, Failure> {
    if !claims.variant.iter().any(|known| known.id == variant) {
        return Err(unknown(claims, variant));
    }
    let mut all = claim.criteria.clone();
    for quantity in all.iter_mut().flat_map(Criterion::quantities_mut) {
        if !claims.channel.iter().any(|channel| channel.id == quantity.run) {
            quantity.run = format!("{}{MARK}{variant}", quantity.run);
        }
    }
    Ok(all)
}

/// A claim under a variant.
#[derive(Debug)]
pub struct Beside {
    variant: String,
    recorded: Verdict,
    outcome: Outcome,
    measured: String,
}

/// What became of a claim under the variants that it names.
pub fn beside(claims: &Claims, claim: &Claimed, figures: &[Figures]) -> Vec<Beside> {
    let one = |(variant, recorded): (&String, &Verdict)| {
        let criteria = criteria(claims, claim, variant).unwrap_or_default();
        let measured: Vec<String> = criteria.iter().map(|criterion| criterion.measured(figures)).collect();
        Beside {
            variant: variant.clone(),
            recorded: *recorded,
            outcome: joint(&criteria, figures),
            measured: measured.join("; "),
        }
    };
    claim.beside.iter().map(one).collect()
}

impl Beside {
    /// Whether the runs contradict what is recorded.
    pub fn is_broken(&self, complete: bool) -> bool {
        !is_as(self.outcome, Outcome::of(self.recorded), complete)
    }

    /// For the ledger and its page.
    pub fn text(&self, complete: bool) -> String {
        let broken = if self.is_broken(complete) {
            ", NO LONGER HOLDS"
        } else {
            ""
        };
        format!("{}: {}{broken}; {}", self.variant, self.recorded.text(), self.measured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::Ground;

    fn claims() -> Claims {
        let text = r#"
            paper = "p"
            subject = "s"
            run = [{ id = "r", scenario = "s.toml", link = "l", set = ["a=1"] }]
            variant = [{ id = "v", what = "w", set = ["a=2"] }]
            [[claim]]
            id = "c"
            where = "w"
            published = "p"
            criteria = ["r.x.utilisation < 0.5"]
            evidence = ["r~v.x.jain >= 0.5"]
            reason = "r"
            verdict = "reproduced"
            beside = { v = "differs" }
            why = "{r.x.utilisation}, and {r~v.x.utilisation} beside."
        "#;
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_variant_is_run_and_its_record_is_checked() {
        // Goal: settings of the variant stand behind the run's, and a record that the runs contradict is found out.
        let mut claims = claims();
        super::super::ledger::select(&mut claims, &[], &[Ground::Sim])
            .ok()
            .unwrap();
        let ids: Vec<(&str, &[String])> = claims
            .run
            .iter()
            .map(|runs| (runs.id.as_str(), &runs.set[..]))
            .collect();
        assert_eq!(
            ids,
            [
                ("r", &["a=1".to_owned()][..]),
                ("r~v", &["a=1".to_owned(), "a=2".to_owned()][..])
            ]
        );
        let measured = |beside| {
            let one = |run, value| Figures::of(run, "x", Some(1), &[("utilisation", value), ("jain", 1.0)]);
            [one("r", 0.25), one("r~v", beside)]
        };
        let broken = |beside| super::super::ledger::entries(&claims, &measured(beside))[0].is_broken(true);
        assert_eq!([0.75, 0.25].map(broken), [false, true]);
        let entries = super::super::ledger::entries(&claims, &measured(0.25));
        assert_eq!(entries[0].why, "0.2500, and 0.2500 beside.");
        let text = super::super::ledger::text(&claims, &entries, true, &str::to_owned);
        assert!(text.contains("v: differs, NO LONGER HOLDS\n"), "{text}");
        assert!(
            entries[0].claim().why.ends_with("r~v.x.utilisation 0.2500 < 0.5."),
            "{}",
            entries[0].claim().why
        );
    }

    #[test]
    fn a_variant_that_does_not_exist_is_refused() {
        // Goal: a slip in the name of a variant or of its run ends with a message.
        let refusal = |change: fn(&mut Claims)| {
            let mut claims = claims();
            change(&mut claims);
            matches!(add_runs(&mut claims), Err(Failure::Invalid(_)))
        };
        assert!(refusal(|claims| claims.variant[0].id = "w".to_owned()));
        assert!(refusal(|claims| claims.run[0].id = "s".to_owned()));
        assert!(!refusal(|_| ()));
    }
}
