//! What tables and curves tell apart: a law, and where an experiment has several grounds, a law on one of them.

use crate::Run;
use crate::distinct::in_order;

/// Colours that the style sheet has for laws; further laws begin again with dashed lines.
pub(crate) const COLOURS_N: usize = 8;

/// A law on a ground.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contender {
    /// Label of the law.
    pub law: String,
    /// Where it was run.
    pub ground: String,
    /// What a reader sees: the law, with its ground behind it where there are several.
    pub label: String,
    /// Its look on the page: the colour, and for each round through the colours another kind of line.
    pub look: usize,
}

impl Contender {
    /// Whether a run is one of its.
    pub fn has(&self, run: &Run) -> bool {
        run.law == self.law && run.ground == self.ground
    }
}

/// The grounds of some runs, in the order of their first appearance.
pub fn grounds(runs: &[Run]) -> Vec<&str> {
    in_order(runs.iter().map(|run| run.ground.as_str()))
}

/// The contenders of some runs: laws in the order in which they first appear, each on its grounds in their order. On
/// several grounds a law keeps its colour, and its lines tell the grounds.
pub fn contenders(runs: &[Run]) -> Vec<Contender> {
    let grounds = grounds(runs);
    let mut contenders = Vec::new();
    for (place, law) in in_order(runs.iter().map(|run| run.law.as_str()))
        .into_iter()
        .enumerate()
    {
        for (round, &ground) in grounds.iter().enumerate() {
            let contender = Contender {
                law: law.to_owned(),
                ground: ground.to_owned(),
                label: if grounds.len() > 1 {
                    format!("{law} ({ground})")
                } else {
                    law.to_owned()
                },
                look: if grounds.len() > 1 {
                    place % COLOURS_N + round * COLOURS_N
                } else {
                    place
                },
            };
            if runs.iter().any(|run| contender.has(run)) {
                contenders.push(contender);
            }
        }
    }
    contenders
}

/// The look of each sender of runs in which several laws share the links, in the order of their appearance: that of the
/// law of the same name, else the next one that no law has.
pub fn sender_looks(runs: &[Run], contenders: &[Contender]) -> Vec<(String, usize)> {
    let mixed = runs.iter().filter(|run| run.senders().len() > 1);
    let mut free = contenders.iter().map(|contender| contender.look + 1).max().unwrap_or(0)..;
    let look = |sender: &str| {
        let known = contenders.iter().find(|contender| contender.law == sender);
        let look = known.map(|contender| contender.look).or_else(|| free.next());
        (sender.to_owned(), look.unwrap_or_default())
    };
    in_order(mixed.flat_map(Run::senders)).into_iter().map(look).collect()
}
