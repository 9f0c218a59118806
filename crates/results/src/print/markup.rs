//! The terminal's tables in two languages of markup, from the same cells.

use std::fmt::Write;

use super::{Form, Tables};
use crate::Summary;
use crate::table::{self, View, shares, shown_unit};

/// All tables of `links`, one after the other.
pub fn tables(summary: &Summary, links: &[String], tables: &[Tables], form: Form) -> String {
    let mut texts = Vec::new();
    for view in table::views(summary).iter().filter(|view| links.contains(&view.link)) {
        if tables.contains(&Tables::Laws) {
            texts.push(written(view, &format!("{}, {}", view.link, summary.seeds_text()), form));
        }
        let groups = shares::view(summary, &view.link).filter(|_| tables.contains(&Tables::Groups));
        if let Some(groups) = groups {
            let about = format!("{}, by group of flows, {}", view.link, summary.seeds_text());
            texts.push(written(&groups, &about, form));
        }
        if tables.contains(&Tables::Versus) {
            for matrix in table::versus::matrices(summary, &view.link, None) {
                let about = format!("{}, {}, {}", view.link, matrix.about, summary.seeds_text());
                texts.push(written(&matrix.view, &about, form));
            }
        }
    }
    texts.join("\n")
}

fn written(view: &View, about: &str, form: Form) -> String {
    match form {
        Form::Latex => latex(view, about),
        _ => markdown(view, about),
    }
}

fn headings(view: &View) -> impl Iterator<Item = (&str, &str)> {
    view.headings
        .iter()
        .map(|(heading, unit)| (heading.as_str(), shown_unit(unit)))
}

/// A caption is the author's, so what it would have to say is a comment.
fn latex(view: &View, about: &str) -> String {
    let columns = "l".repeat(view.keys.len()) + &"r".repeat(view.headings.len());
    let line = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
    let keys = || view.keys.iter().map(|key| latex_text(key));
    let units: Vec<String> = headings(view).map(|(_, unit)| latex_text(unit)).collect();
    let mut text = format!("% {about}; needs \\usepackage{{booktabs}}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n");
    text += &line(
        keys()
            .chain(headings(view).map(|(heading, _)| latex_text(heading)))
            .collect(),
    );
    text += &line(view.keys.iter().map(|_| String::new()).chain(units).collect());
    text += "\\midrule\n";
    for row in &view.rows {
        text += &line(row.keys.iter().chain(&row.cells).map(|cell| latex_cell(cell)).collect());
    }
    text + "\\bottomrule\n\\end{tabular}\n"
}

/// A lone hyphen stands for what is absent.
fn latex_cell(cell: &str) -> String {
    if cell == "-" { "--".to_owned() } else { latex_text(cell) }
}

/// Text for LaTeX: its special characters as what they print.
fn latex_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                let _ = write!(escaped, "\\{letter}");
            }
            '\\' => escaped += "\\textbackslash{}",
            '~' => escaped += "\\textasciitilde{}",
            '^' => escaped += "\\textasciicircum{}",
            '<' => escaped += "$<$",
            '>' => escaped += "$>$",
            '±' => escaped += "$\\pm$",
            'µ' | 'μ' => escaped += "$\\mu$",
            '×' => escaped += "$\\times$",
            '\n' => escaped.push(' '),
            _ => escaped.push(letter),
        }
    }
    escaped.replace("..", "--")
}

fn markdown(view: &View, about: &str) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let heading = |(heading, unit): (&str, &str)| match unit {
        "" => markdown_text(heading),
        unit => markdown_text(&format!("{heading} ({unit})")),
    };
    let rules = view
        .keys
        .iter()
        .map(|_| "---")
        .chain(view.headings.iter().map(|_| "---:"));
    let mut text = format!("{}\n\n", markdown_text(about));
    text += &line(
        view.keys
            .iter()
            .map(|key| markdown_text(key))
            .chain(headings(view).map(heading))
            .collect(),
    );
    text += &line(rules.map(str::to_owned).collect());
    for row in &view.rows {
        text += &line(
            row.keys
                .iter()
                .chain(&row.cells)
                .map(|cell| markdown_text(cell))
                .collect(),
        );
    }
    text
}

/// Text for a cell of Markdown.
fn markdown_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '|' | '*' | '_' | '`' | '<' | '\\' | '[' | ']') {
            escaped.push('\\');
        }
        escaped.push(if letter == '\n' { ' ' } else { letter });
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_print_as_themselves() {
        // Goal: a key or a law with any character of LaTeX or Markdown in it breaks no table.
        assert_eq!(
            latex_text("a_b & 5 % {x} ~^\\"),
            "a\\_b \\& 5 \\% \\{x\\} \\textasciitilde{}\\textasciicircum{}\\textbackslash{}"
        );
        assert_eq!(latex_text("78.1 ± 0.2"), "78.1 $\\pm$ 0.2");
        assert_eq!(latex_cell("-"), "--");
        assert_eq!(markdown_text("a|b_c*"), "a\\|b\\_c\\*");
    }
}
