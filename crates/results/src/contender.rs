//! What tables and curves tell apart: a law, and where an experiment has several grounds, a law on one of them.

use crate::Run;
use crate::distinct::in_order;

/// Colours that the style sheet has for laws; laws of one colour differ in their kinds of lines.
pub(crate) const COLOURS_N: usize = 8;
/// Kinds of lines that the script has.
const LINES_N: usize = 4;

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

/// The colour of a law or mixture, by its name alone: that of its sender, also where that is beside itself, or one of
/// the rest for other senders and for mixtures, which are no sender's.
fn home(label: &str) -> usize {
    let rest = COLOURS_N - AT_HOME.len();
    // FNV-1a: any hash that stays what it is.
    let hash = label.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    let of_its_own = AT_HOME.len() + hash as usize % rest;
    if is_mixture(label) {
        return of_its_own;
    }
    let sender = label.trim_start_matches('/').to_lowercase();
    let sender = sender.split(['+', ' ', '(', '/']).next().unwrap_or_default();
    let known = AT_HOME.iter().position(|name| *name == sender);
    known.unwrap_or(of_its_own)
}

/// The laws of a label, one for each group of flows: `cubic/vcp` has two, and `/vcp` one, of the second group. The
/// label of a paper, `Reno + REM/ECN`, has spaces and is one.
fn parts(label: &str) -> Vec<&str> {
    if label.contains(' ') {
        return vec![label];
    }
    label.split('/').filter(|part| !part.is_empty()).collect()
}

/// Whether several laws share the links.
fn is_mixture(label: &str) -> bool {
    in_order(parts(label).into_iter()).len() > 1
}

/// How late a label chooses its look: `reno` before the same with a router, that before `/reno`, and that before
/// `reno/reno`, so that the plainest is solid; what has no colour of its own comes last.
fn turn(label: &str) -> (bool, usize, bool, bool) {
    (
        is_mixture(label),
        parts(label).len(),
        label.starts_with('/'),
        label.contains('+'),
    )
}

/// Looks of some laws, none of them twice and none that is taken, in the order of [`turn`]. A law has its own colour,
/// in the first kind of line that is free; a mixture the first that is free of the colours that are no sender's, before
/// it takes another kind of line. Where all lines of these colours are taken, the lines of others that are not solid
/// serve. `rounds` kinds of lines belong to each, one for each ground.
fn looks(labels: &[&str], rounds: usize, taken: &[usize]) -> Vec<usize> {
    let mut taken = taken.to_vec();
    let mut looks = vec![0; labels.len()];
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by_key(|&place| turn(labels[place]));
    for place in order {
        let look = first_free(labels[place], rounds.max(1), &taken);
        taken.push(look);
        looks[place] = look;
    }
    looks
}

fn first_free(label: &str, rounds: usize, taken: &[usize]) -> usize {
    let home = home(label);
    let own: Vec<usize> = if is_mixture(label) {
        (home..COLOURS_N).chain(AT_HOME.len()..home).collect()
    } else {
        vec![home]
    };
    let lines = || (0..LINES_N).step_by(rounds);
    let preferred = lines().flat_map(|line| own.iter().map(move |colour| colour + line * COLOURS_N));
    let others = lines()
        .skip(1)
        .flat_map(|line| (0..COLOURS_N).map(move |k| (home + k) % COLOURS_N + line * COLOURS_N));
    // More than there are looks have numbers of their own all the same, though not lines.
    let beyond = (0..).map(|round| home + round * rounds * COLOURS_N);
    let mut all = preferred.chain(others).chain(beyond);
    all.find(|look| !taken.contains(look)).unwrap_or(home)
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
        assert_eq!(looks(&["cubic/cubic", "cubic", "/cubic"], 1, &[]), [17, 1, 9]);
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

    #[test]
    fn pairs_of_a_page_are_told_apart() {
        // Goal: each law alone, beside itself and beside each other one: a law has its own colour, solid; beside itself
        // too, in another line; the pairs of three laws are of three colours, those of five laws of as many looks as
        // there are runs, all of which can be drawn.
        let runs_of = |laws: &[&str]| -> Vec<String> {
            let of = |(k, law): (usize, &&str)| {
                let beside = laws[k..].iter().map(|other| format!("{law}/{other}"));
                std::iter::once((*law).to_owned()).chain(beside).collect::<Vec<_>>()
            };
            laws.iter().enumerate().flat_map(of).collect()
        };
        for laws in [
            &["cubic", "vcp"][..],
            &["cubic", "reno", "vcp"],
            &["cubic", "reno", "vcp", "bic", "xcp"],
        ] {
            let labels = runs_of(laws);
            let names: Vec<&str> = labels.iter().map(String::as_str).collect();
            let found = looks(&names, 1, &[]);
            let of = |name: &str| found[names.iter().position(|other| *other == name).expect("it is there")];
            for law in laws {
                assert_eq!(of(law), home(law));
                assert_eq!(of(&format!("{law}/{law}")), home(law) + COLOURS_N);
            }
            let mut lines = found.clone();
            lines.sort_unstable();
            lines.dedup();
            assert_eq!(lines.len(), names.len(), "{names:?}: {found:?}");
            assert!(found.iter().all(|look| *look < LINES_N * COLOURS_N), "{found:?}");
            let mixed = names.iter().filter(|name| is_mixture(name));
            let colours = in_order(mixed.map(|name| of(name) % COLOURS_N));
            assert_eq!(colours.len(), (laws.len() * (laws.len() - 1) / 2).min(3), "{colours:?}");
        }
    }
}
