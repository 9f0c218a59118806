//! What tables and curves tell apart: a law, and where an experiment has several grounds, a law on one of them.

use crate::Run;
use crate::distinct::in_order;

/// Colours that the style sheet has for laws; laws of one colour differ in their kinds of lines.
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

/// The contenders of some runs: laws in the order in which they first appear, each on its grounds in their order. A law
/// has its colour on every page; on several grounds its lines tell the grounds.
pub fn contenders(runs: &[Run]) -> Vec<Contender> {
    let grounds = grounds(runs);
    let laws = in_order(runs.iter().map(|run| run.law.as_str()));
    let looks = looks(&laws, grounds.len(), &[]);
    let mut contenders = Vec::new();
    for (law, look) in laws.into_iter().zip(looks) {
        for (round, &ground) in grounds.iter().enumerate() {
            let contender = Contender {
                law: law.to_owned(),
                ground: ground.to_owned(),
                label: if grounds.len() > 1 {
                    format!("{law} ({ground})")
                } else {
                    law.to_owned()
                },
                look: look + round * COLOURS_N,
            };
            if runs.iter().any(|run| contender.has(run)) {
                contenders.push(contender);
            }
        }
    }
    contenders
}

/// Senders that have a colour to themselves, in its order: the built-in ones, so that a law looks alike on every page.
const AT_HOME: [&str; 5] = ["reno", "cubic", "bic", "vcp", "xcp"];

/// The colour of a law or mixture, by its name alone: that of its sender, or one of the rest for other senders and for
/// mixtures, which are no sender's.
fn home(label: &str) -> usize {
    let sender = label.to_lowercase();
    let sender = sender.split(['+', ' ', '(']).next().unwrap_or_default();
    // `cubic+vcp/vcp`; the label of a paper, `Reno + REM/ECN`, has spaces.
    let is_mixture = label.contains('/') && !label.contains(' ');
    let known = AT_HOME.iter().position(|name| *name == sender && !is_mixture);
    let rest = COLOURS_N - AT_HOME.len();
    // FNV-1a: any hash that stays what it is.
    let hash = label.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    known.unwrap_or(AT_HOME.len() + hash as usize % rest)
}

/// Looks of some laws, none of them twice and none that is taken: each its own colour, in the first kind of line that
/// is free. Names without a router come before those with one, so that `reno` is solid beside `reno+rem`. `rounds`
/// kinds of lines belong to each, one for each ground.
fn looks(labels: &[&str], rounds: usize, taken: &[usize]) -> Vec<usize> {
    let mut taken = taken.to_vec();
    let mut looks = vec![0; labels.len()];
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by_key(|&place| labels[place].contains('+'));
    for place in order {
        let mut look = home(labels[place]);
        while taken.contains(&look) {
            look += rounds.max(1) * COLOURS_N;
        }
        taken.push(look);
        looks[place] = look;
    }
    looks
}

/// The look of each sender of runs in which several laws share the links, in the order of their appearance: that of the
/// law of the same name, else its own.
pub fn sender_looks(runs: &[Run], contenders: &[Contender]) -> Vec<(String, usize)> {
    let mixed = runs.iter().filter(|run| run.senders().len() > 1);
    let senders = in_order(mixed.flat_map(Run::senders));
    let known = |sender: &str| contenders.iter().find(|contender| contender.law == sender);
    let others: Vec<&str> = senders
        .iter()
        .copied()
        .filter(|sender| known(sender).is_none())
        .collect();
    let taken: Vec<usize> = contenders.iter().map(|contender| contender.look).collect();
    let mut own = looks(&others, 1, &taken).into_iter();
    let mut look = |sender: &str| {
        known(sender)
            .map(|law| law.look)
            .or_else(|| own.next())
            .unwrap_or_default()
    };
    senders
        .into_iter()
        .map(|sender| (sender.to_owned(), look(sender)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_law_has_its_colour_on_every_page() {
        // Goal: the colour follows from the name, whatever else is on the page and in which order; two laws of one
        // sender share it in different lines, and no look stands twice.
        assert_eq!(looks(&["vcp", "reno"], 1, &[]), [3, 0]);
        assert_eq!(looks(&["reno", "cubic", "vcp"], 1, &[])[2], 3);
        assert_eq!(looks(&["reno+rem", "reno"], 1, &[]), [COLOURS_N, 0]);
        assert_eq!(looks(&["reno+rem"], 1, &[]), [0]);
        assert_eq!(looks(&["VCP", "Reno + REM/ECN"], 1, &[]), [3, 0]);
        for label in ["cubic/vcp", "cubic+vcp/vcp"] {
            let mixture = looks(&[label, "cubic"], 1, &[]);
            assert!(
                mixture[0] % COLOURS_N >= AT_HOME.len() && mixture[1] == 1,
                "{mixture:?}"
            );
        }
        let many: Vec<String> = (0..40).map(|k| format!("mine{k}")).collect();
        let names: Vec<&str> = many.iter().map(String::as_str).collect();
        let mut all = looks(&names, 2, &[0, 1]);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 40);
    }
}
