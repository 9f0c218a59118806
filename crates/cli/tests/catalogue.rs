//! `fadelab laws` and `fadelab explain`: what a person reads, and what happens to a name that does not exist.

mod common;

use common::{printed, refused};
use fadelab_laws::catalogue::{self, Role};

/// The words of a text, without how it is wrapped.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn laws_lists_what_is_registered() {
    // Goal: each law stands in the table of its role, and --role leaves only those of one.
    let all = printed(&["laws"]);
    let routers = printed(&["laws", "--role", "router"]);
    let starts_a_line = |text: &str, name: &str| text.lines().any(|line| line.starts_with(&format!("{name} ")));
    // What laws share is not among them, but may have the name of one.
    let entries = catalogue::entries();
    let is_law = |name: &str| {
        let mut laws = entries.iter().filter(|entry| entry.role != Role::Part);
        laws.any(|entry| entry.name == name)
    };
    for entry in &entries {
        assert_eq!(starts_a_line(&all, entry.name), is_law(entry.name), "{}", entry.name);
        if entry.role == Role::Router {
            assert!(starts_a_line(&routers, entry.name), "{}", entry.name);
        }
    }
    assert!(!starts_a_line(&routers, "cubic"));
    assert!(starts_a_line(&printed(&["laws", "--role", "part"]), "loss_history"));
    assert!(all.lines().all(|line| line.chars().count() <= 100), "{all}");
}

#[test]
fn explain_shows_every_section() {
    // Goal: what a header says and declares is on the terminal, for the sender, the router and the format of one name.
    let text = printed(&["explain", "vcp"]);
    let shown = words(&text);
    for entry in catalogue::entries().iter().filter(|entry| entry.name == "vcp") {
        assert!(text.contains(entry.path));
        for section in &entry.sections {
            assert!(text.contains(&section.title), "{}", section.title);
        }
        // A law's divergences, a format's layout.
        let last = if entry.role == Role::Wire {
            "Layout"
        } else {
            "Divergences"
        };
        let last = entry.section(last).unwrap();
        assert!(shown.contains(last.text().split(". ").next().unwrap()));
        for info in entry.params {
            assert!(
                shown.contains(&format!("{} {}", info.name, info.written(info.value))),
                "{}",
                info.name
            );
        }
    }
    assert!(
        !text.contains('\u{1b}'),
        "no colours where the output is not a terminal"
    );
    let router = printed(&["explain", "vcp", "router"]);
    assert!(router.starts_with("vcp router") && !router.contains("vcp sender"));
    assert!(printed(&["explain", "window"]).starts_with("window part"));
}

#[test]
fn unknown_names_are_answered_with_the_nearest() {
    // Goal: a misspelt law or role is refused with what was meant.
    assert!(refused(&["explain", "cubik"]).contains("`cubic`"));
    let role = refused(&["explain", "cubic", "router"]);
    assert!(role.contains("no router") && role.contains("sender"), "{role}");
    assert!(refused(&["laws", "--role", "routr"]).contains("router"));
}
