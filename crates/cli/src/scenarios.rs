//! `fadelab scenarios`: the scenarios that come with the program.

use clap::Args;
use fadelab_lab::Failure;
use fadelab_scenario::ready_made;

use crate::output;

/// Arguments of `fadelab scenarios`.
#[derive(Debug, Args)]
pub struct ScenariosArgs {
    /// Print this scenario, comments included: `fadelab scenarios satellite > mine.toml` starts one's own
    name: Option<String>,
}

/// Prints the list, or the text of one.
///
/// # Errors
/// A name that none has, or output that cannot be written.
pub fn scenarios(args: &ScenariosArgs) -> Result<(), Failure> {
    if let Some(name) = &args.name {
        let ready = ready_made::named(name).map_err(Failure::Invalid)?;
        return output::print(ready.text);
    }
    let mut table = output::table();
    table.set_header(["name", "shows"]);
    for ready in ready_made::all() {
        table.add_row([ready.name, ready.shows()]);
    }
    let list = output::with_bold_header(&mut table);
    output::print_told(&format!(
        "{list}\n\nfadelab run NAME runs one, fadelab scenarios NAME > FILE starts your own from it.\n"
    ))
}
