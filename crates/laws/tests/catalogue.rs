//! The catalogue: each header says what it must, and the pages of docs/laws are what the headers say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use fadelab_laws::catalogue::{self, Role, TITLES};

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What the header of a law must have, that of a receiver, which has no parameters, and that of a format.
const OF_LAWS: [&str; 6] = [
    "Source",
    "In one paragraph",
    "Law",
    "Parameters",
    "Divergences",
    "Figures",
];
const OF_RECEIVERS: [&str; 5] = ["Source", "In one paragraph", "Law", "Feedback", "Divergences"];
const OF_FORMATS: [&str; 3] = ["Source", "In one paragraph", "Layout"];

#[test]
fn each_law_has_the_headings_in_order() {
    // Goal: `fadelab explain` finds a source, an account, equations, parameters, divergences and figures in each law,
    // and in each format its layout.
    for entry in catalogue::entries() {
        if entry.role == Role::Part {
            continue;
        }
        let titles: Vec<_> = entry.sections.iter().map(|section| section.title.as_str()).collect();
        let places: Vec<_> = titles
            .iter()
            .map(|title| TITLES.iter().position(|known| known == title))
            .collect();
        assert!(
            places.is_sorted(),
            "{}: the headings are {titles:?}, their order is {TITLES:?}",
            entry.path
        );
        let wanted: &[&str] = match entry.role {
            Role::Wire => &OF_FORMATS,
            Role::Receiver => &OF_RECEIVERS,
            _ => &OF_LAWS,
        };
        for title in wanted {
            assert!(
                titles.contains(title),
                "{}: the heading `{title}:` is missing",
                entry.path
            );
        }
        for section in &entry.sections {
            let has_rows = section.title == "Parameters" && !entry.params.is_empty();
            assert!(
                has_rows || !section.blocks.is_empty(),
                "{}: nothing under `{}`",
                entry.path,
                section.title
            );
        }
    }
}

#[test]
fn no_sentence_of_a_header_is_lost() {
    // Goal: every word of each comment is on its page: what the parser does not understand it must not drop.
    for entry in catalogue::entries() {
        let header = fs::read_to_string(tree().join(entry.path)).unwrap();
        let comment = header.split_once("\n/*\n").unwrap().1.split_once("\n */").unwrap().0;
        let page = catalogue::page(&entry).replace('\\', "");
        let mut rest = page.as_str();
        // Instead of naming the X-macro the page has its rows.
        let without_macro = match comment.split_once("the X-macro ") {
            Some((before, after)) => format!("{before}{}", after.split_once(" below.").unwrap().1),
            None => comment.to_owned(),
        };
        for info in entry.params {
            let row = format!("| `{}` | {} |", info.name, info.written(info.value));
            assert!(page.contains(&row), "{}: {row}", entry.path);
        }
        let words = without_macro.split_whitespace().filter(|word| *word != "*");
        for word in words {
            let word = word.trim_end_matches([':', ',']);
            let at = rest
                .find(word)
                .unwrap_or_else(|| panic!("{}: `{word}` is not on the page, in order", entry.path));
            rest = &rest[at + word.len()..];
        }
    }
}

#[test]
fn test_laws_are_not_in_the_catalogue() {
    // Goal: what exists only to exercise the interface is not shown to users, though this build registers it.
    assert!(fadelab_laws::sender("ts_rate").is_some());
    assert!(
        catalogue::entries()
            .iter()
            .all(|entry| entry.path.starts_with("laws/") && entry.name != "ts_rate")
    );
}

#[test]
fn the_pages_are_up_to_date() {
    // Goal: docs/laws holds what the headers say and nothing else. FADELAB_BLESS=1 writes the pages.
    let folder = tree().join("docs/laws");
    let entries = catalogue::entries();
    let mut wanted: BTreeMap<String, String> = entries
        .iter()
        .map(|entry| (catalogue::page_name(entry), catalogue::page(entry)))
        .collect();
    wanted.insert("README.md".to_owned(), catalogue::index(&entries));
    if env::var_os("FADELAB_BLESS").is_some() {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in &wanted {
            fs::write(folder.join(name), text).unwrap();
        }
    }
    let mut found = BTreeMap::new();
    for file in fs::read_dir(&folder).unwrap() {
        let file = file.unwrap();
        let text = fs::read_to_string(file.path()).unwrap();
        found.insert(file.file_name().into_string().unwrap(), text);
    }
    let names = |pages: &BTreeMap<String, String>| pages.keys().cloned().collect::<Vec<_>>();
    let bless = "FADELAB_BLESS=1 cargo test -p fadelab-laws --test catalogue";
    assert_eq!(names(&wanted), names(&found), "docs/laws; to write it: {bless}");
    for (name, text) in &wanted {
        assert!(
            found[name] == *text,
            "docs/laws/{name} is not what the header says; to write it: {bless}"
        );
    }
}
