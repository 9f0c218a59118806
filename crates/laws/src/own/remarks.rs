//! What of a compiler's message its reader can mend: the remarks on their own files.

use std::path::Path;

use super::compile::is_of_system;

/// The kinds of remarks that gcc and clang make.
const KINDS: [&str; 4] = ["fatal error: ", "error: ", "warning: ", "note: "];

/// A line of a message that begins a remark: `FILE:LINE:COLUMN: error: what`.
struct Remark<'a> {
    file: &'a str,
    /// The kind and what is said.
    said: &'a str,
}

impl<'a> Remark<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let begins = |kind: &&str| line.find(*kind).filter(|at| line[..*at].ends_with(": "));
        let at = KINDS.iter().filter_map(begins).min()?;
        let (file, _) = line[..at].split_once(':')?;
        Some(Self {
            file,
            said: &line[at..],
        })
    }
}

/// The remarks on files that are neither the system's nor below `place`, where fadelab's headers are, with the lines
/// that show their places. An error in such a header keeps its words, for the note that follows says where it was
/// caused. A message without a remark on another file stays whole.
pub(super) fn on_own_files(message: &str, place: &Path) -> String {
    let is_own =
        |file: &str| !Path::new(file).starts_with(place) && !is_of_system(Path::new(file)) && !file.starts_with('<');
    let (mut lines, mut found) = (Vec::new(), false);
    // Whether lines without a place of their own belong to what is kept.
    let mut is_kept = false;
    for line in message.lines() {
        if let Some(remark) = Remark::of(line) {
            is_kept = is_own(remark.file);
            found |= is_kept;
            let header = Path::new(remark.file).file_name().unwrap_or_default().display();
            match is_kept {
                true => lines.push(line.to_owned()),
                false if remark.said.starts_with("note: ") => {}
                false => lines.push(format!("{} (in {header})", remark.said)),
            }
        } else if line.starts_with("In file included from") || line.trim_start().starts_with("from ") {
            is_kept = false;
        } else if let Some((file, _)) = line
            .split_once(": In function")
            .or_else(|| line.split_once(": At top level"))
        {
            is_kept = is_own(file);
            if is_kept {
                lines.push(line.to_owned());
            }
        } else if is_kept {
            lines.push(line.to_owned());
        }
    }
    if found { lines.join("\n") } else { message.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: &str = "/tmp/fadelab-law-1-x";

    fn shown(message: &str) -> String {
        on_own_files(message, Path::new(PLACE))
    }

    #[test]
    fn remarks_on_other_headers_are_left_out() {
        // Goal: an author sees the lines that they wrote, and of an error inside a macro the words and where it was
        // used.
        let message = "In file included from /tmp/fadelab-law-1-x/law.h:23,\n                 from ./mine.h:19:\n\
                       /tmp/fadelab-law-1-x/base.h:23:13: error: expected a list before 'static'\n   \
                       23 | #define LAW static\n      |             ^~~~~~\n\
                       ./mine.h:36:1: note: in expansion of macro 'LAW'\n   36 | LAW void f(void)\n      | ^~~\n\
                       /usr/include/stdio.h:7:25: note: previous declaration\n    7 | typedef int FILE;\n";
        let expected = "error: expected a list before 'static' (in base.h)\n\
                        ./mine.h:36:1: note: in expansion of macro 'LAW'\n   36 | LAW void f(void)\n      | ^~~";
        assert_eq!(shown(message), expected);
    }

    #[test]
    fn a_message_on_nothing_of_the_author_stays_whole() {
        // Goal: what cannot be told from the author's own lines is not lost.
        for message in [
            "cc: fatal error: no input files",
            "/usr/include/a.h:1:1: error: unknown type\n    1 | foo",
        ] {
            assert_eq!(shown(message), message);
        }
    }
}
