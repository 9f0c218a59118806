//! Reads the comment at the top of a header into sections.

/// The headings of a law's header, in their order. That of a format has `Layout` and not those of mathematics.
pub const TITLES: [&str; 8] = [
    "Source",
    "In one paragraph",
    "Law",
    "Layout",
    "Feedback",
    "Parameters",
    "Divergences",
    "Figures",
];

/// One heading of the comment and what stands under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Heading, for example `Law`; empty for text before the first heading.
    pub title: String,
    /// What the heading adds to it as it stands there, for example `, per arrival`.
    pub qualifier: String,
    /// What stands under it, in order.
    pub blocks: Vec<Block>,
}

/// A piece of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// Prose, on one line.
    Paragraph(String),
    /// Lines whose alignment says something, without their common indentation.
    Formula(Vec<String>),
    /// Numbered statements, each on one line.
    List(Vec<String>),
}

impl Section {
    /// Its prose and its statements on one line, without formulas.
    pub fn text(&self) -> String {
        let prose = self.blocks.iter().flat_map(|block| match block {
            Block::Paragraph(text) => std::slice::from_ref(text),
            Block::List(items) => items.as_slice(),
            Block::Formula(_) => &[],
        });
        prose.map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

/// The sections of a header's first comment after the line with the licence.
///
/// A heading opens a paragraph: one of [`TITLES`], perhaps a comma or bracket and more, and a colon. Indented lines are
/// formulas, and statements where they start with a number and a full stop.
pub fn sections(header: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut after_blank = true;
    for line in comment(header) {
        if line.trim().is_empty() {
            after_blank = true;
            continue;
        }
        let mut rest = line;
        if let Some((title, qualifier, text)) = after_blank.then(|| heading(line)).flatten() {
            sections.push(Section {
                title: title.to_owned(),
                qualifier: qualifier.to_owned(),
                blocks: Vec::new(),
            });
            rest = text;
        } else if sections.is_empty() {
            sections.push(Section {
                title: String::new(),
                qualifier: String::new(),
                blocks: Vec::new(),
            });
        }
        let blocks = &mut sections.last_mut().expect("one was pushed").blocks;
        if !rest.trim().is_empty() {
            add(blocks, rest, after_blank);
        }
        after_blank = false;
    }
    for section in &mut sections {
        section.blocks.iter_mut().for_each(unindent);
    }
    sections
}

/// Lines of the first block comment that opens a line by itself, without their asterisks.
fn comment(header: &str) -> Vec<&str> {
    let lines = header.lines().skip_while(|line| line.trim_end() != "/*").skip(1);
    let lines = lines.take_while(|line| line.trim() != "*/");
    lines
        .map(|line| line.strip_prefix(" *").unwrap_or(line))
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect()
}

/// Title, qualifier and the rest of a line that is a heading.
fn heading(line: &str) -> Option<(&str, &str, &str)> {
    let (head, text) = line.split_once(':')?;
    let title = TITLES.into_iter().find(|title| head.starts_with(title))?;
    let qualifier = &head[title.len()..];
    let is_heading = qualifier.is_empty() || qualifier.starts_with(", ") || qualifier.starts_with(" (");
    is_heading.then_some((title, qualifier, text.trim_start()))
}

/// The statement that a numbered line starts.
fn numbered(line: &str) -> Option<&str> {
    let (number, text) = line.trim_start().split_once(". ")?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

/// Adds a line to the last block or opens a new one.
fn add(blocks: &mut Vec<Block>, line: &str, after_blank: bool) {
    let is_indented = line.starts_with(' ');
    let text = line.trim();
    match (blocks.last_mut().filter(|_| !after_blank), is_indented) {
        (Some(Block::List(items)), true) => {
            if let Some(item) = numbered(line) {
                items.push(item.to_owned());
            } else {
                let item = items.last_mut().expect("a list has items");
                item.push(' ');
                item.push_str(text);
            }
        }
        (Some(Block::Formula(lines)), true) => lines.push(line.trim_end().to_owned()),
        (Some(Block::Paragraph(paragraph)), false) => {
            paragraph.push(' ');
            paragraph.push_str(text);
        }
        (_, true) => blocks.push(match numbered(line) {
            Some(item) => Block::List(vec![item.to_owned()]),
            None => Block::Formula(vec![line.trim_end().to_owned()]),
        }),
        (_, false) => blocks.push(Block::Paragraph(text.to_owned())),
    }
}

/// Takes the common indentation from the lines of a formula.
fn unindent(block: &mut Block) {
    if let Block::Formula(lines) = block {
        let common = lines
            .iter()
            .map(|line| line.len() - line.trim_start().len())
            .min()
            .unwrap_or(0);
        for line in lines {
            line.drain(..common);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "/* SPDX-License-Identifier: X */
/*
 * Source: A, B;
 * C.
 *
 * Law, per ACK:
 *   low   cwnd += 1
 *     and more
 *
 * Divergences:
 *   1. One: with
 *      more.
 *   2. Two.
 *
 * Figures: prose.
 */
/*
 * Law: not this one.
 */
";

    fn paragraph(text: &str) -> Block {
        Block::Paragraph(text.to_owned())
    }

    #[test]
    fn a_comment_falls_into_sections() {
        // Goal: headings, prose, formulas with their alignment and numbered statements are told apart.
        let found = sections(HEADER);
        let titles: Vec<_> = found.iter().map(|section| section.title.as_str()).collect();
        assert_eq!(titles, ["Source", "Law", "Divergences", "Figures"]);
        assert_eq!(found[0].blocks, [paragraph("A, B; C.")]);
        assert_eq!(found[1].qualifier, ", per ACK");
        assert_eq!(
            found[1].blocks,
            [Block::Formula(vec!["low   cwnd += 1".into(), "  and more".into()])]
        );
        assert_eq!(
            found[2].blocks,
            [Block::List(vec!["One: with more.".into(), "Two.".into()])]
        );
        assert_eq!(found[3].blocks, [paragraph("prose.")]);
    }

    #[test]
    fn text_without_headings_is_one_section() {
        // Goal: the comment of a shared part, which is prose with colons in it, is kept whole.
        let found = sections("/*\n * RFC 5681 as others use it: growth.\n *\n * More.\n */\n");
        assert_eq!(found[0].title, "");
        assert_eq!(
            found[0].blocks,
            [paragraph("RFC 5681 as others use it: growth."), paragraph("More.")]
        );
    }
}
