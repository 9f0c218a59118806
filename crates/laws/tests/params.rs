//! Parameters: what headers declare, and how users' values become the integers that laws compute with.

use fadelab_laws::{ParamError, ParamInfo, capacities, routers, sender, senders};

fn all() -> Vec<(&'static str, &'static ParamInfo)> {
    let senders = senders()
        .iter()
        .flat_map(|law| law.params().iter().map(|info| (law.name(), info)));
    let routers = routers()
        .iter()
        .flat_map(|law| law.params().iter().map(|info| (law.name(), info)));
    let capacities = capacities()
        .iter()
        .flat_map(|part| part.params().iter().map(|info| (part.name(), info)));
    senders.chain(routers).chain(capacities).collect()
}

#[test]
fn every_declaration_is_sound() {
    // Goal: each default is within its range, each unit is known, choices have as many names as values.
    assert!(all().len() > 50);
    for (law, info) in all() {
        let place = format!("{law}.{}", info.name);
        assert!(
            info.scale > 0 && info.min <= info.value && info.value <= info.max,
            "{place}: range"
        );
        assert!(
            !info.source.is_empty() && !info.meaning.is_empty(),
            "{place}: source and meaning"
        );
        let choices = info.choices();
        let known = ["us", "B", "pkt", "1", "bool"].contains(&info.unit) || info.unit.contains('|');
        assert!(known, "{place}: unit {}", info.unit);
        if !choices.is_empty() {
            assert_eq!(
                (info.scale, info.min, info.max),
                (1, 0, choices.len() as u64 - 1),
                "{place}: choices"
            );
        }
        assert_eq!(
            info.to_law(info.to_user(info.value)),
            Some(info.value),
            "{place}: the default survives the round trip"
        );
    }
}

#[test]
fn headers_have_the_headings_of_the_catalogue() {
    // Goal: every header opens with the headings from which the catalogue is made.
    let senders = senders().iter().map(|law| (law.name(), law.header(), law.summary()));
    let routers = routers().iter().map(|law| (law.name(), law.header(), law.summary()));
    let capacities = capacities()
        .iter()
        .map(|part| (part.name(), part.header(), part.summary()));
    for (name, header, summary) in senders.chain(routers).chain(capacities) {
        let mut rest = header.split("*/").nth(1).expect("licence, then the comment");
        for heading in [
            "Source:",
            "In one paragraph:",
            "Law",
            "Parameters:",
            "Divergences:",
            "Figures:",
        ] {
            let (_, after) = rest
                .split_once(&format!("\n * {heading}"))
                .unwrap_or_else(|| panic!("{name}: {heading}"));
            rest = after;
        }
        assert!(summary.len() > 10, "{name}");
    }
}

#[test]
fn values_are_scaled_and_rounded() {
    // Goal: integer = round(value * scale), in the parameter's place, the others at their defaults.
    let law = sender("vcp").expect("registered");
    let params = law
        .params_from(&[("beta", 0.875_000_4), ("td_us", 200_000.0)])
        .expect("valid");
    for (info, value) in law.params().iter().zip(params.values()) {
        let expected = match info.name {
            "beta" => 875_000,
            "td_us" => 200_000,
            _ => info.value,
        };
        assert_eq!(*value, expected, "{}", info.name);
    }
    assert_eq!(law.params_from(&[]).expect("valid"), law.default_params());
}

#[test]
fn decimal_values_are_what_they_say() {
    // Goal: a decimal fraction that binary numbers only come near is the integer that is meant.
    let law = sender("vcp").expect("registered");
    let place = law.params().iter().position(|info| info.name == "beta").expect("known");
    let beta = |value: f64| law.params_from(&[("beta", value)]).expect("valid").values()[place];
    for millionths in (100_000..=1_000_000).step_by(7) {
        assert_eq!(beta(millionths as f64 / 1e6), millionths);
    }
    assert_eq!(beta(0.875_000_6), 875_001);
}

#[test]
fn refusals_say_what_is_allowed() {
    // Goal: unknown names come with the nearest known one first, values out of range with the range.
    let law = sender("vcp").expect("registered");
    let unknown = law.params_from(&[("bta", 1.0)]).expect_err("no such parameter");
    let ParamError::UnknownName {
        law: name,
        ref given,
        ref nearest,
    } = unknown
    else {
        panic!("{unknown:?}")
    };
    assert_eq!(
        (name, given.as_str(), nearest[0], nearest.len()),
        ("vcp", "bta", "beta", law.params().len())
    );
    assert!(
        unknown
            .to_string()
            .starts_with("law `vcp` has no parameter `bta`; known are beta, "),
        "{unknown}"
    );
    for bad in [-0.1, 1.01, f64::NAN, f64::INFINITY, 1e300] {
        let refused = law.params_from(&[("beta", bad)]).expect_err("out of range");
        assert!(refused.to_string().ends_with("allowed 0.1 to 1"), "{refused}");
    }
    let refused = law.params_from(&[("loss", 3.0)]).expect_err("no such choice");
    assert_eq!(
        refused.to_string(),
        "parameter `loss` of law `vcp`: given 3, allowed one of reno, beta, history"
    );
    let none = sender("rounds")
        .expect("registered")
        .params_from(&[("x", 1.0)])
        .expect_err("it has no parameters");
    assert_eq!(none.to_string(), "law `rounds` has no parameter `x`; it has none");
}
