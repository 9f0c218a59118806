//! Laws by name, and their parameters in the units that their headers declare.

use fadelab_laws::shadow::objection;
use fadelab_laws::{Gateway, ParamError, ParamInfo, Params, Receiver, Router, Sender};

use crate::document::{Raw, quoted};
use crate::error::{Refusal, clipped, nearest, one_of};
use crate::queues;
use crate::reader::Reader;
use crate::transport::LawChoices;
use crate::unit::{Duration, Scalar, Size, tagged_number};

/// The name of a flow without congestion control.
pub const UDP: &str = "udp";

/// A law as a scenario names it: `SENDER` or `SENDER+ROUTER`.
#[derive(Clone, Debug)]
pub struct Law {
    /// As written.
    pub label: String,
    /// The sender; `None` is UDP.
    pub sender: Option<&'static Sender>,
    /// The law of the routers: the one named, else the one the sender needs, else drop-tail.
    pub router: &'static Router,
    /// Whether the router's name asks for fair queues.
    pub router_is_fair: bool,
}

/// Finds the laws behind a label.
///
/// # Errors
/// An unknown name, with the known ones.
pub fn law(label: &str) -> Result<Law, String> {
    let (sender_name, router_name) = match label.split_once('+') {
        Some((sender, router)) => (sender.trim(), Some(router.trim())),
        None => (label.trim(), None),
    };
    let sender = sender(sender_name)?;
    let router_name = router_name.or(sender.and_then(Sender::router)).unwrap_or("droptail");
    let (router, router_is_fair) = router(router_name)?;
    Ok(Law {
        label: label.to_owned(),
        sender,
        router,
        router_is_fair,
    })
}

/// Finds a router's law by name, and whether the name asks for fair queues, each with the law to itself: `fq_codel`.
///
/// # Errors
/// An unknown name, with the known ones.
pub fn router(name: &str) -> Result<(&'static Router, bool), String> {
    let (law_name, is_fair) = queues::split(name);
    let law = fadelab_laws::router(law_name).ok_or_else(|| {
        if let Some(why) = of_linux(name) {
            return why;
        }
        let known: Vec<&str> = fadelab_laws::routers().iter().map(Router::name).collect();
        format!(
            "unknown router `{}`: known are {}, and `{}` before one for fair queues{}",
            clipped(name),
            one_of(&known),
            queues::FAIR_PREFIX,
            nearest(law_name, &known)
        )
    })?;
    Ok((law, is_fair))
}

/// Finds a gateway's law by name.
///
/// # Errors
/// An unknown name, with the known ones.
pub fn gateway(name: &str) -> Result<&'static Gateway, String> {
    fadelab_laws::gateway(name).ok_or_else(|| {
        let known: Vec<&str> = fadelab_laws::gateways().iter().map(Gateway::name).collect();
        format!(
            "unknown gateway `{}`: known are none, {}{}",
            clipped(name),
            one_of(&known),
            nearest(name, &known)
        )
    })
}

/// Laws that Linux brings itself are known only where a kernel runs the scenario.
fn of_linux(name: &str) -> Option<String> {
    let own = name.strip_prefix(fadelab_laws::LINUX_PREFIX)?;
    Some(format!(
        "`{}` is a law of Linux's own, if it has it: `fadelab testbed run` knows it, the simulator does not{}",
        clipped(name),
        if fadelab_laws::sender(own).is_some() || fadelab_laws::router(own).is_some() {
            format!("; here `{own}` runs")
        } else {
            String::new()
        }
    ))
}

/// Finds a sender by name; `None` is UDP.
///
/// # Errors
/// An unknown name, with the known ones.
pub fn sender(name: &str) -> Result<Option<&'static Sender>, String> {
    if name == UDP {
        return Ok(None);
    }
    fadelab_laws::sender(name).map(Some).ok_or_else(|| {
        if let Some(why) = of_linux(name) {
            return why;
        }
        let mut known: Vec<&str> = fadelab_laws::senders().iter().map(Sender::name).collect();
        known.push(UDP);
        format!(
            "unknown law `{}`: known are {}{}",
            clipped(name),
            one_of(&known),
            nearest(name, &known)
        )
    })
}

/// Finds the laws that look on where `law` decides, by their names. That one among them is left out: a sweep of laws
/// may compare each with all.
///
/// # Errors
/// A name that is none or stands twice, or a law that cannot look on.
pub fn shadows(names: &[String], law: Option<&'static Sender>) -> Result<Vec<&'static Sender>, String> {
    let mut shadows: Vec<&'static Sender> = Vec::new();
    for (place, name) in names.iter().enumerate() {
        let shadow = sender(name)?.ok_or_else(|| format!("`{UDP}` sees no ACKs: name a sender"))?;
        if names[..place].contains(name) {
            return Err(format!("`{}` stands twice", clipped(name)));
        }
        let Some(law) = law else {
            return Err(format!("`{UDP}` gets no ACKs that a law could see: leave it out"));
        };
        if let Some(why) = objection(shadow, law) {
            return Err(why);
        }
        if shadow.name() != law.name() {
            shadows.push(shadow);
        }
    }
    Ok(shadows)
}

/// The receiver's half of a sender's law.
pub fn receiver(sender: Option<&'static Sender>) -> Option<&'static Receiver> {
    sender.and_then(|law| fadelab_laws::receiver(law.name()))
}

/// Reads the parameters of one law: those given under `section.name`, for the rest what the transport's preset chooses,
/// else their defaults.
///
/// # Errors
/// A value of the wrong kind, unit or size.
pub fn params(
    reader: &mut Reader<'_>,
    table: &str,
    infos: &'static [ParamInfo],
    choices: LawChoices,
    build: impl FnOnce(&[(&str, f64)]) -> Result<Params, ParamError>,
) -> Result<Params, Refusal> {
    let mut pairs = Vec::new();
    for info in infos {
        let path = format!("{table}.{}", info.name);
        let value = match reader.node(&path) {
            Some(node) => value(info, &node.raw).map_err(|why| reader.refuse(&path, &explained(info, &why)))?,
            None => chosen(info, choices).unwrap_or(info.value),
        };
        reader.note(&path, shown(info, value));
        pairs.push((info.name, info.to_user(value)));
    }
    build(&pairs).map_err(|error| Refusal::new(table, error.to_string()))
}

/// What a preset chooses for a parameter: laws may have one of this name that knows other words.
fn chosen(info: &ParamInfo, choices: LawChoices) -> Option<u64> {
    let (_, word) = choices.iter().find(|(name, _)| *name == info.name)?;
    let index = info.choices().iter().position(|choice| choice == word)?;
    Some(index as u64)
}

/// A user's value as the integer of the law.
fn value(info: &ParamInfo, raw: &Raw) -> Result<u64, String> {
    let choices = info.choices();
    let number = match (info.unit, raw) {
        ("us", _) => Duration::read(raw)?.0 as f64 / 1_000.0,
        ("B", _) => Size::read(raw)?.0 as f64,
        ("pkt", _) => tagged_number(raw, &["pkt", "packets", "packet"], "10 pkt")?,
        ("bool", Raw::Bool(value)) => f64::from(u8::from(*value)),
        ("bool", _) => return Err("true or false is needed".to_owned()),
        ("1", Raw::Number(text)) => text.parse().map_err(|_| format!("`{text}` is not a number"))?,
        (_, Raw::Text(word)) if !choices.is_empty() => {
            let index = choices.iter().position(|choice| choice == word);
            index.ok_or_else(|| format!("allowed is {}{}", one_of(&choices), nearest(word, &choices)))? as f64
        }
        _ if choices.is_empty() => return Err("a number without a unit is needed".to_owned()),
        _ => return Err(format!("a word is needed: {}", one_of(&choices))),
    };
    info.to_law(number).ok_or_else(|| "out of range".to_owned())
}

/// What is wrong with a parameter, its range and what it means.
fn explained(info: &ParamInfo, why: &str) -> String {
    if info.choices().is_empty() {
        format!("{why}; allowed is {}: {}", range(info), info.meaning)
    } else {
        format!("{why}: {}", info.meaning)
    }
}

/// A law's integer as canonical TOML.
fn shown(info: &ParamInfo, value: u64) -> String {
    let user = info.to_user(value);
    match info.unit {
        "us" => Duration((user * 1_000.0).round() as u64).shown(),
        "B" => Size(user.round() as u64).shown(),
        "pkt" => quoted(&format!("{user} pkt")),
        "bool" => (value != 0).to_string(),
        "1" => format!("{user:?}"),
        _ => quoted(info.choices().get(value as usize).copied().unwrap_or("?")),
    }
}

fn range(info: &ParamInfo) -> String {
    format!("{} to {}", shown(info, info.min), shown(info, info.max))
}

/// Reads the parameters of laws that are given but not used at this point, so that a wrong value is refused all the
/// same and a later `--set flow.law=` brings no surprise.
pub fn unused(reader: &mut Reader<'_>, choices: LawChoices) -> Result<(), Refusal> {
    let names = |reader: &Reader<'_>, section: &str| -> Vec<String> {
        let entries = reader.node(section).map_or(&[][..], |node| node.entries());
        entries.iter().map(|(name, _)| name.clone()).collect()
    };
    for name in names(reader, "law") {
        if let Some(law) = fadelab_laws::sender(&name) {
            params(reader, &format!("law.{name}"), law.params(), choices, |pairs| {
                law.params_from(pairs)
            })?;
        }
    }
    for name in names(reader, "router") {
        if let Some(law) = fadelab_laws::router(&name) {
            params(reader, &format!("router.{name}"), law.params(), choices, |pairs| {
                law.params_from(pairs)
            })?;
        }
    }
    for name in names(reader, "capacity") {
        if let Some(part) = fadelab_laws::capacity(&name) {
            params(reader, &format!("capacity.{name}"), part.params(), &[], |pairs| {
                part.params_from(pairs)
            })?;
        }
    }
    Ok(())
}
