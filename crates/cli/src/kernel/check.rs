//! `fadelab kernel check`.

use std::fmt::Write;

use fadelab_kernel::check::Standing;
use fadelab_lab::Failure;

use crate::output;

/// Prints what this machine can do.
///
/// # Errors
/// When no law can be loaded.
pub fn check() -> Result<(), Failure> {
    let items = fadelab_kernel::check::check();
    let mut text = String::new();
    for item in &items {
        let mark = match item.standing {
            Standing::Good => console::style("ok     ").green(),
            Standing::Limited => console::style("limited").yellow(),
            Standing::Missing => console::style("missing").red(),
        };
        let _ = writeln!(
            text,
            "{mark}  {:12} {}",
            item.what,
            item.found.replace('\n', "\n                      ")
        );
        if !item.remedy.is_empty() {
            let _ = writeln!(text, "                      -> {}", item.remedy);
        }
    }
    output::print_told(&text)?;
    let missing = items.iter().filter(|item| item.standing == Standing::Missing).count();
    match missing {
        0 => Ok(()),
        _ => Err(Failure::Failed(
            "no law can be loaded into this kernel; what is missing stands above".to_owned(),
        )),
    }
}
