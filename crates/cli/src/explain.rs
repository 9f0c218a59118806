//! `fadelab explain NAME`: what the header of a law says, on the terminal.

use std::fmt::Write;

use clap::Args;
use console::style;
use fadelab_lab::Failure;
use fadelab_laws::catalogue::{self, Block, Entry, Role, Section};

use crate::explain_run::MomentArgs;
use crate::laws::RoleArg;
use crate::{explain_run, output};

/// Columns that prose takes at most: longer lines are hard to read.
const PROSE_COLUMNS: usize = 100;

/// Spaces before what stands under a heading.
const INDENT: &str = "  ";

/// Arguments of `fadelab explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Name of a law or of a shared part, as `fadelab laws` lists them; or the folder of a result
    name: String,
    /// Which one, where a sender and a router have the same name
    #[arg(value_enum)]
    role: Option<RoleArg>,
    #[command(flatten)]
    moment: MomentArgs,
}

/// Prints what the headers of that name say: the laws, or where there is none, the shared part.
///
/// # Errors
/// An unknown name.
pub fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    if explain_run::is_result(&args.name) {
        return explain_run::explain(&args.name, &args.moment);
    }
    if args.moment.is_given() {
        let message = format!(
            "`{}` is not the folder of a result, which --flow, --at and the like need",
            args.name
        );
        return Err(Failure::Invalid(message));
    }
    let entries = catalogue::entries();
    let named: Vec<&Entry> = entries.iter().filter(|entry| entry.name == args.name).collect();
    if named.is_empty() {
        return Err(unknown(&args.name));
    }
    let has_law = named.iter().any(|entry| entry.role != Role::Part);
    let is_asked = |entry: &&&Entry| {
        let default = entry.role != Role::Part || !has_law;
        args.role.map_or(default, |role| entry.role == Role::from(role))
    };
    let asked: Vec<&Entry> = named.iter().filter(is_asked).copied().collect();
    if asked.is_empty() {
        let roles: Vec<&str> = named.iter().map(|entry| entry.role.name()).collect();
        let given = args.role.map_or("", |role| Role::from(role).name());
        let roles = roles.join(" and ");
        return Err(Failure::Invalid(format!(
            "`{}` is no {given}: it is {roles}",
            args.name
        )));
    }
    let texts: Vec<String> = asked.iter().map(|entry| text(entry)).collect();
    output::print_told(&texts.join("\n\n"))
}

fn unknown(name: &str) -> Failure {
    let nearest = catalogue::nearest(name);
    let known = nearest.first().copied().unwrap_or_default();
    Failure::Invalid(format!(
        "unknown law `{name}`: the nearest spelling is `{known}`; `fadelab laws` lists all"
    ))
}

fn text(entry: &Entry) -> String {
    let title = format!("{} {}", entry.name, entry.role.name());
    let mut text = format!("{}  {}\n", style(title).bold().cyan(), style(entry.path).dim());
    if entry.role != Role::Part {
        let _ = writeln!(text, "{}.", wrapped(&entry.summary, "", ""));
    }
    for section in &entry.sections {
        text.push('\n');
        write_section(&mut text, entry, section);
        if section.title == "Parameters" && !entry.watch.is_empty() {
            let _ = writeln!(text, "\n{}\n{}", style("Values to watch").bold(), watch(entry));
        }
    }
    if !entry.facts.is_empty() {
        let _ = writeln!(text, "\n{}", style("For its host and path").bold());
        let label_columns = entry.facts.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
        for (label, value) in &entry.facts {
            let hanging = " ".repeat(INDENT.len() + label_columns + 2);
            let _ = writeln!(
                text,
                "{}",
                wrapped(value, &format!("{INDENT}{label:label_columns$}  "), &hanging)
            );
        }
    }
    text
}

fn write_section(text: &mut String, entry: &Entry, section: &Section) {
    if !section.title.is_empty() {
        let _ = writeln!(text, "{}{}", style(&section.title).bold(), section.qualifier);
    }
    if section.title == "Parameters" && !entry.params.is_empty() {
        let _ = writeln!(text, "{}", parameters(entry));
    }
    for (place, block) in section.blocks.iter().enumerate() {
        if place > 0 {
            text.push('\n');
        }
        match block {
            Block::Paragraph(prose) => {
                let _ = writeln!(text, "{}", wrapped(prose, INDENT, INDENT));
            }
            Block::Formula(lines) => {
                for line in lines {
                    let _ = writeln!(text, "{}", formula(line));
                }
            }
            Block::List(items) => {
                for (number, item) in items.iter().enumerate() {
                    let first = format!("{INDENT}{:>2}. ", number + 1);
                    let _ = writeln!(text, "{}", wrapped(item, &first, &" ".repeat(first.len())));
                }
            }
        }
    }
}

fn wrapped(prose: &str, first: &str, others: &str) -> String {
    let columns = output::columns().min(PROSE_COLUMNS);
    textwrap::fill(
        prose,
        textwrap::Options::new(columns)
            .initial_indent(first)
            .subsequent_indent(others),
    )
}

/// A line of a formula keeps its spaces; what does not fit goes on under the second word group.
fn formula(line: &str) -> String {
    if INDENT.len() + line.chars().count() <= output::columns() {
        return format!("{INDENT}{line}");
    }
    let indentation = line.len() - line.trim_start().len();
    let label = line[indentation..].find("  ").map_or(0, |end| {
        let rest = &line[indentation + end..];
        end + rest.len() - rest.trim_start().len()
    });
    let hanging = " ".repeat(INDENT.len() + indentation + label.min(output::columns() / 2));
    let options = textwrap::Options::new(output::columns())
        .subsequent_indent(&hanging)
        .initial_indent(INDENT);
    textwrap::fill(line, options)
}

/// Values carry their units; the page of docs/laws has a column for them.
fn parameters(entry: &Entry) -> String {
    let mut table = output::table();
    table.set_header(["  name", "default", "range", "meaning", "source"]);
    for info in entry.params {
        let name = format!("{INDENT}{}", info.name);
        let (default, range) = (info.written(info.value), info.range());
        table.add_row([name.as_str(), &default, &range, info.meaning, info.source]);
    }
    output::with_bold_header(&mut table)
}

/// What a recorded run has of the law in `watch.parquet`.
fn watch(entry: &Entry) -> String {
    let mut table = output::table();
    table.set_header(["  name", "unit", "meaning"]);
    for info in entry.watch {
        let name = format!("{INDENT}{}", info.name);
        table.add_row([name.as_str(), &info.unit.replace('|', ", "), info.meaning]);
    }
    output::with_bold_header(&mut table)
}
