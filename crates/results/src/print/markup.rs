//! The terminal's tables in two languages of markup, from the same cells.

use std::fmt::Write;

use super::{Asked, Form, Tables};
use crate::Summary;
use crate::distinct::in_order;
use crate::table::versus::Matrix;
use crate::table::{self, Columns, View, shares, shown_unit};

/// A table, what it is of, and what heads all its columns of figures.
struct Table {
    view: View,
    about: String,
    span: Option<&'static str>,
}

/// All tables of `links`, one after the other.
pub fn tables(
    summary: &Summary,
    links: &[String],
    tables: &[Tables],
    form: Form,
    asked: &Asked,
) -> Result<String, String> {
    let columns = &asked.columns;
    let mut all = collected(summary, links, tables, asked);
    for name in columns {
        if !all
            .iter()
            .any(|table| table.span.is_none() && place(&table.view, name).is_some())
        {
            if all.iter().all(|table| table.span.is_some()) {
                return Err(format!(
                    "{name} is no column of matrices, which have one for each law: leave it out"
                ));
            }
            let of = all.iter().filter(|table| table.span.is_none());
            let there = in_order(of.flat_map(|table| table.view.headings.iter().map(|(heading, _)| heading.clone())));
            return Err(format!("no table has a column {name}; there are: {}", there.join(", ")));
        }
    }
    for table in all
        .iter_mut()
        .filter(|table| table.span.is_none() && !columns.is_empty())
    {
        keep(&mut table.view, columns);
    }
    let texts: Vec<String> = all.iter().map(|table| written(table, form)).collect();
    Ok(texts.join("\n"))
}

fn collected(summary: &Summary, links: &[String], tables: &[Tables], asked: &Asked) -> Vec<Table> {
    let which = if asked.columns.is_empty() {
        Columns::Usual
    } else {
        Columns::All
    };
    // Where columns are chosen each has its interval, if there is one.
    let without = if asked.columns.is_empty() || summary.seeds.len() == 1 {
        ""
    } else {
        "; without: the same from each seed"
    };
    let mut all = Vec::new();
    let is_law = |law: &String| asked.laws.is_empty() || asked.laws.contains(law);
    for mut view in table::views(summary, which)
        .into_iter()
        .filter(|view| links.contains(&view.link))
    {
        let link = view.link.clone();
        view.rows.retain(|row| row.keys.last().is_some_and(is_law));
        if tables.contains(&Tables::Laws) {
            let about = format!("{link}, {}{without}", summary.seeds_text());
            all.push(Table {
                view,
                about,
                span: None,
            });
        }
        if let Some(view) =
            shares::view(summary, &link, which, &asked.laws).filter(|_| tables.contains(&Tables::Groups))
        {
            let about = format!("{link}, by group of flows, {}{without}", summary.seeds_text());
            all.push(Table {
                view,
                about,
                span: None,
            });
        }
        if tables.contains(&Tables::Versus) {
            all.extend(
                table::versus::matrices(summary, &link, None)
                    .into_iter()
                    .filter(|matrix| asked.metric.as_deref().is_none_or(|name| name == matrix.name))
                    .map(|matrix| Table {
                        about: format!("{link}, {}{}", matrix.about, seeds_of(&matrix, summary)),
                        view: matrix.view,
                        span: Some(matrix.label),
                    }),
            );
        }
    }
    all
}

/// Of how many seeds, and what ± is where there is one.
fn seeds_of(matrix: &Matrix, summary: &Summary) -> String {
    let has_interval = matrix
        .view
        .rows
        .iter()
        .flat_map(|row| &row.cells)
        .any(|cell| cell.contains('±'));
    if has_interval {
        format!(", {}", summary.seeds_text())
    } else {
        String::new()
    }
}

/// The column that a name means: the one of that heading, or else the first whose heading begins with it.
fn place(view: &View, name: &str) -> Option<usize> {
    let name = name.to_lowercase();
    let mut headings = view.headings.iter().map(|(heading, _)| heading.to_lowercase());
    let is_it = headings.clone().position(|heading| heading == name);
    is_it.or_else(|| headings.position(|heading| heading.starts_with(&name)))
}

/// Leaves the columns of these names, in their order.
fn keep(view: &mut View, columns: &[String]) {
    let places = in_order(columns.iter().filter_map(|name| place(view, name)));
    view.headings = places.iter().map(|&place| view.headings[place].clone()).collect();
    for row in &mut view.rows {
        row.cells = places.iter().map(|&place| row.cells[place].clone()).collect();
    }
}

fn written(table: &Table, form: Form) -> String {
    match form {
        Form::Latex => latex(table),
        _ => markdown(&table.view, &table.about),
    }
}

fn headings(view: &View) -> impl Iterator<Item = (&str, &str)> {
    view.headings
        .iter()
        .map(|(heading, unit)| (heading.as_str(), shown_unit(unit)))
}

/// A caption is the author's, so what it would have to say is a comment; what its cells are a matrix says itself.
fn latex(Table { view, about, span }: &Table) -> String {
    let columns = "l".repeat(view.keys.len()) + &"r".repeat(view.headings.len());
    let line = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
    let keys = || view.keys.iter().map(|key| latex_text(key));
    let no_keys = || view.keys.iter().map(|_| String::new());
    let mut text = format!("% {about}; needs \\usepackage{{booktabs}}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n");
    if let Some(span) = span {
        let (first, last) = (view.keys.len() + 1, columns.len());
        let spanning = format!(
            "\\multicolumn{{{}}}{{c}}{{{}, beside}}",
            view.headings.len(),
            latex_text(span)
        );
        text += &line(no_keys().chain([spanning]).collect());
        let _ = writeln!(text, "\\cmidrule(l){{{first}-{last}}}");
    }
    text += &line(
        keys()
            .chain(headings(view).map(|(heading, _)| latex_text(heading)))
            .collect(),
    );
    let units: Vec<String> = headings(view).map(|(_, unit)| latex_text(unit)).collect();
    if units.iter().any(|unit| !unit.is_empty()) {
        text += &line(no_keys().chain(units).collect());
    }
    text += "\\midrule\n";
    for row in &view.rows {
        text += &line(row.keys.iter().chain(&row.cells).map(|cell| latex_cell(cell)).collect());
    }
    text + "\\bottomrule\n\\end{tabular}\n"
}

/// A lone hyphen stands for what is absent; one before a digit is a minus.
fn latex_cell(cell: &str) -> String {
    match cell.strip_prefix('-') {
        Some("") => "--".to_owned(),
        Some(rest) if rest.starts_with(|letter: char| letter.is_ascii_digit()) => format!("$-${}", latex_text(rest)),
        _ => latex_text(cell),
    }
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
        assert_eq!(latex_cell("-1.8 ± 1.1"), "$-$1.8 $\\pm$ 1.1");
        assert_eq!(markdown_text("a|b_c*"), "a\\|b\\_c\\*");
    }
}
