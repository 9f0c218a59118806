//! `[tunnel.NAME]`: tunnels (ESP) between nodes of a graph, and the laws of their gateways.

use fadelab_laws::{Gateway, Params, Router, abi};
use fadelab_run::flow::FlowSpec;
use fadelab_run::network::{NetworkSpec, NodeId};
use fadelab_run::transport::IpId;
use fadelab_run::tunnel::{
    Cipher, EcnRule, Family, GatewaySpec, IP_BYTES_MAX, Memory, Mode, Rekey, RoleFrom, TunnelSpec,
};

use crate::error::{Refusal, one_of};
use crate::key::{Absent::Is, Declared, keys};
use crate::kind::Kind;
use crate::laws;
use crate::reader::Reader;
use crate::topology::Topology;
use crate::unit::{Duration, Switch};
use crate::value::{Same, words};

/// The section, below which each table has the name of a tunnel.
pub(crate) const SECTION: &str = "tunnel";

/// The table of a tunnel in which the parameters of its law stand.
const PARAMS: &str = "params";

/// The same of the law at `to`, where it has its own.
const PARAMS_TO: &str = "params_to";

/// Tables of a tunnel that have a law's parameters.
pub(crate) const TABLES_OF_PARAMS: [&str; 2] = [PARAMS, PARAMS_TO];

/// What stands where there is no law.
const NO_LAW: &str = "none";

/// What stands where routers see no format.
const BLIND: &str = "blind";

/// What stands where a run's law decides.
const AUTO: &str = "auto";

words!(Mode: "tunnel" => Self::Tunnel, "transport" => Self::Transport);
words!(Family: "ipv4" => Self::Ipv4, "ipv6" => Self::Ipv6);
words!(Cipher: "aes-gcm" => Self::AesGcm, "null" => Self::Null);
words!(EcnRule:
    "linux" => Self::Linux,
    "rfc6040" => Self::Rfc6040,
    "noecn" => Self::NoEcn,
    "none" => Self::None,
);
words!(RoleFrom: "sequence" => Self::Sequence, "id" => Self::Id, "written" => Self::Written);
words!(Memory: "tunnel" => Self::Tunnel, "flow" => Self::Flow);

keys! {
    KEYS;
    FROM: String = Declared::needed("from", "name the node at one end", "the node at one end").of_kind(Kind::Name);
    TO: String =
        Declared::needed("to", "name the node at the other end", "the node at the other end; both ways are in it")
        .of_kind(Kind::Name);
    MODE: Mode = Declared::new(
        "mode",
        Is("\"tunnel\""),
        "what ESP encrypts: the whole packet, or what is behind its IP header, which stays (between hosts alone)",
    );
    OUTER: Family = Declared::new(
        "outer",
        Is("\"ipv4\""),
        "the header outside, of 20 B or 40 B; under IPv6, which has no ID, `role` is \"sequence\". What is inside is \
         IPv4",
    );
    UDP: bool = Declared::new(
        "udp",
        Is("false"),
        "whether ESP is in UDP, as through a NAT (RFC 3948): 8 B more behind the header outside",
    );
    REKEY: Switch<Duration> = Declared::new(
        "rekey",
        Is("false"),
        "how long security associations last, at least 2 s: then new ones are there, of another index (SPI) and with \
         sequence numbers that begin again; packets of those before still come in as long again",
    );
    REKEY_GAP: Duration = Declared::new(
        "rekey_gap",
        Is("\"0 s\""),
        "with `rekey`, how long there is no association between one that has expired and the next, as where whoever \
         negotiates them is late: packets that would enter or leave then, or were sealed under one that is no more, \
         are dropped",
    );
    CIPHER: Cipher = Declared::new(
        "cipher",
        Is("\"aes-gcm\""),
        "how a packet grows: in tunnel mode by the header outside, by 8 B of ESP, padding to 4 B, and 8 B of vector \
         and 16 B of check value, or with NULL and HMAC-SHA1-96 12 B of check value",
    );
    ECN: EcnRule = Declared::new(
        "ecn",
        Is("\"linux\""),
        "what becomes of the ECN field at the ends: as Linux does, RFC 6040's normal mode, not ECN-capable in the \
         tunnel, or copied in and never out",
    );
    ECN_TO: Same<EcnRule> = Declared::new(
        "ecn_to",
        Is("\"same\""),
        "the rule of the end at `to`, where the ends have unequal ones",
    );
    IP_ID: IpId =
        Declared::new("ip_id", Is("\"counting\""), "the outer IP ID: counting from a random start, random, or zero");
    ROLE: RoleFrom = Declared::new(
        "role",
        Is("\"sequence\""),
        "whose lowest bit routers in the tunnel take for a packet's role: ESP's sequence number, the outer IP ID, or \
         an outer IP ID in which the gateway writes it by turns, per unit of `memory`; in transport mode the IP ID",
    );
    ROUTERS: String = Declared::new(
        "routers",
        Is("\"blind\""),
        "what routers in the tunnel are told of its packets: nothing, or with the name of a router's law that all of \
         them, ACKs too, are data of its format; \"auto\" is that of the run where there is a gateway for it, else \
         nothing",
    )
    .of_kind(Kind::Or(&Kind::Name, BLIND));
    LAW: String = Declared::new(
        "law",
        Is("\"none\""),
        "law of the gateways at both ends; \"auto\" is the one that is called as the run's router, if there is one",
    )
        .of_kind(Kind::Or(&Kind::Name, NO_LAW));
    LAW_TO: Same<String> = Declared::new(
        "law_to",
        Is("\"same\""),
        "law of the gateway at `to`, where it is another one or missing; `[tunnel.NAME.params_to]` has its parameters",
    )
        .of_kind(Kind::Or(&Kind::Or(&Kind::Name, NO_LAW), "same"));
    MEMORY: Memory =
        Declared::new("memory", Is("\"tunnel\""), "what a gateway has one memory for: the tunnel, or each flow in it");
}

/// What a run's law decides: the gateway's law and the format of its packets.
type Auto = Option<(&'static Gateway, u32)>;

/// Reads all tunnels; `router` is the router's law of the run.
pub fn read(reader: &mut Reader<'_>, topology: &Topology, router: &Router) -> Result<Vec<TunnelSpec>, Refusal> {
    let names = reader.names_in(SECTION);
    if let (Some(name), Some(_)) = (names.first(), &topology.access) {
        let why = "the topology is a row of routers, whose nodes have no names: give a graph of [link.NAME]";
        return Err(at_table(reader, &table(name), why));
    }
    let auto = fadelab_laws::gateway(router.name());
    names
        .into_iter()
        .map(|name| tunnel(reader, topology, name, auto.map(|law| (law, router.wire()))))
        .collect()
}

fn table(name: &str) -> String {
    format!("{SECTION}.{name}")
}

/// The refusal of a whole table.
fn at_table(reader: &Reader<'_>, table: &str, why: &str) -> Refusal {
    let place = reader.node(table).map(|node| node.place.to_string());
    Refusal::new(place.unwrap_or_default(), format!("[{table}]: {why}"))
}

fn tunnel(reader: &mut Reader<'_>, topology: &Topology, name: &str, auto: Auto) -> Result<TunnelSpec, Refusal> {
    let table = &table(name);
    let end = |reader: &mut Reader<'_>, row: &Declared<String>| {
        reader.map(&row.key.path(table), None, row.example, |node: String| {
            topology.node(&node)
        })
    };
    let (from, to) = (end(reader, &FROM)?, end(reader, &TO)?);
    if from == to {
        return Err(reader.refuse(
            &TO.key.path(table),
            "a tunnel joins two nodes, this one ends where it begins",
        ));
    }
    let mut tunnel = TunnelSpec {
        name: name.into(),
        from: from as NodeId,
        to: to as NodeId,
        mode: reader.take(table, &MODE)?,
        outer: Family::Ipv4,
        in_udp: false,
        rekey: rekey(reader, table)?,
        cipher: reader.take(table, &CIPHER)?,
        told_wire: told_wire(reader, table, auto)?,
        // As it is in transport mode: the header is the packet's own.
        ecn: [EcnRule::Linux; 2],
        ip_id: IpId::Counting,
        role: RoleFrom::Id,
        memory: Memory::Tunnel,
        gateways: [None, None],
    };
    if tunnel.mode == Mode::Transport {
        check_transport(reader, table)?;
        return Ok(tunnel);
    }
    tunnel.outer = reader.take(table, &OUTER)?;
    tunnel.in_udp = reader.take(table, &UDP)?;
    let ecn = reader.take(table, &ECN)?;
    let ecn_to = match reader.take(table, &ECN_TO)? {
        Same::Same => ecn,
        Same::Own(own) => own,
    };
    tunnel.ecn = [ecn, ecn_to];
    tunnel.role = reader.take(table, &ROLE)?;
    tunnel.ip_id = match tunnel.outer {
        Family::Ipv4 => reader.take(table, &IP_ID)?,
        Family::Ipv6 => IpId::Zero,
    };
    if tunnel.outer == Family::Ipv6 && tunnel.role != RoleFrom::Sequence {
        let why = "IPv6 has no IP ID: allowed is \"sequence\", or set outer = \"ipv4\"";
        return Err(reader.refuse(&ROLE.key.path(table), why));
    }
    tunnel.memory = reader.take(table, &MEMORY)?;
    tunnel.gateways = gateways(reader, table, auto)?;
    Ok(tunnel)
}

/// Linux takes the newer one of two associations by the second in which it came.
fn rekey(reader: &mut Reader<'_>, table: &str) -> Result<Option<Rekey>, Refusal> {
    const NS_MIN: u64 = 2_000_000_000;
    let Switch(Some(Duration(lasts_ns))) = reader.take(table, &REKEY)? else {
        return Ok(None);
    };
    if lasts_ns < NS_MIN {
        let why = "associations last 2 s at least, for Linux tells which one is newer by whole seconds: allowed is 2 s \
                   and longer, or false";
        return Err(reader.refuse(&REKEY.key.path(table), why));
    }
    let Duration(gap_ns) = reader.take(table, &REKEY_GAP)?;
    Ok(Some(Rekey { lasts_ns, gap_ns }))
}

/// In transport mode there is one IP header, and no gateway.
fn check_transport(reader: &mut Reader<'_>, table: &str) -> Result<(), Refusal> {
    let of_outer = [&OUTER.key, &UDP.key, &ECN.key, &ECN_TO.key, &IP_ID.key, &MEMORY.key].map(|key| key.path(table));
    if let Some(path) = of_outer.iter().find(|path| reader.node(path).is_some()) {
        let why = "in transport mode packets keep their own IP header, and this is of an outer one: leave it out, or \
                   set mode = \"tunnel\"";
        return Err(reader.refuse(path, why));
    }
    let no_gateway = |law: &str| law == NO_LAW || law == AUTO;
    let (law, law_to) = (LAW.key.path(table), LAW_TO.key.path(table));
    let is_law = reader.node(&law).is_some() && !no_gateway(&reader.take(table, &LAW)?);
    let is_law_to =
        reader.node(&law_to).is_some() && matches!(reader.take(table, &LAW_TO)?, Same::Own(own) if !no_gateway(&own));
    if is_law || is_law_to {
        let why = "in transport mode there is no gateway: leave it out, or set mode = \"tunnel\"";
        return Err(reader.refuse(if is_law { &law } else { &law_to }, why));
    }
    let path = ROLE.key.path(table);
    if reader.node(&path).is_some() && reader.take(table, &ROLE)? != RoleFrom::Id {
        let why = "in transport mode the receiving host takes the role from the IP ID, and so do routers: allowed is \
                   \"id\"";
        return Err(reader.refuse(&path, why));
    }
    Ok(())
}

fn told_wire(reader: &mut Reader<'_>, table: &str, auto: Auto) -> Result<Option<u8>, Refusal> {
    let word = reader.take(table, &ROUTERS)?;
    if word == AUTO {
        return Ok(auto.map(|(_, wire)| wire as u8));
    }
    if word == BLIND {
        return Ok(None);
    }
    let refused = |why: &str| reader.refuse(&ROUTERS.key.path(table), why);
    let wire = laws::router(&word).map_err(|why| refused(&why))?.0.wire();
    if wire == abi::WIRE_NONE {
        let known = fadelab_laws::routers()
            .iter()
            .filter(|law| law.wire() != abi::WIRE_NONE);
        let known: Vec<&str> = known.map(fadelab_laws::Router::name).collect();
        let why = format!(
            "this law takes packets of all formats: allowed is {BLIND}, {}",
            one_of(&known)
        );
        return Err(refused(&why));
    }
    Ok(Some(wire as u8))
}

/// The law at `from`, and that at `to`: the same with the same parameters, but for what is given of its own.
fn gateways(reader: &mut Reader<'_>, table: &str, auto: Auto) -> Result<[Option<GatewaySpec>; 2], Refusal> {
    let word = reader.take(table, &LAW)?;
    let first = gateway(
        reader,
        (&LAW.key.path(table), &format!("{table}.{PARAMS}")),
        &word,
        auto,
    )?;
    let params_to = format!("{table}.{PARAMS_TO}");
    let second = match reader.take(table, &LAW_TO)? {
        Same::Same if reader.node(&params_to).is_none() => first.clone(),
        Same::Same => gateway(reader, (&LAW.key.path(table), &params_to), &word, auto)?,
        Same::Own(own) => gateway(reader, (&LAW_TO.key.path(table), &params_to), &own, auto)?,
    };
    Ok([first, second])
}

/// The law that the key at `path` calls `word`.
fn gateway(
    reader: &mut Reader<'_>,
    (path, params_table): (&str, &str),
    word: &str,
    auto: Auto,
) -> Result<Option<GatewaySpec>, Refusal> {
    if word == NO_LAW {
        if reader.node(params_table).is_some() && !reader.is_swept(path) {
            let why = format!("parameters of no law: name it, {path} = ..., or leave them out");
            return Err(at_table(reader, params_table, &why));
        }
        return Ok(None);
    }
    let law = if word == AUTO {
        let Some((law, _)) = auto else { return Ok(None) };
        law
    } else {
        let words = format!("\"{AUTO}\" is the one of the run's law, and `law_to = \"same\"` that of `law`");
        laws::gateway(word).map_err(|why| reader.refuse(path, &format!("{why}; {words}")))?
    };
    Ok(Some(GatewaySpec {
        law,
        params: with_params(reader, params_table, law)?,
    }))
}

fn with_params(reader: &mut Reader<'_>, table: &str, law: &'static Gateway) -> Result<Params, Refusal> {
    laws::params(reader, table, law.params(), &[], |pairs| law.params_from(pairs))
}

/// Refuses tunnels that no route goes through, those that lie in each other, and packets that grow too large.
pub fn check(reader: &Reader<'_>, network: &NetworkSpec, flows: &[FlowSpec]) -> Result<(), Refusal> {
    let mut is_crossed = vec![false; network.tunnels.len()];
    for flow in flows.iter().filter(|_| !network.tunnels.is_empty()) {
        for route in [&flow.route, &flow.route_back] {
            let crossings = network.crossings(route).map_err(|overlap| {
                let [one, other] = overlap.tunnels.map(|tunnel| &network.tunnels[tunnel].name);
                let why = format!(
                    "flow {} would be in the tunnels `{one}` and `{other}` at once: let one end where the other \
                     begins, or before",
                    flow.name
                );
                reader.refuse(&FROM.key.path(&table(other)), &why)
            })?;
            for crossing in crossings {
                is_crossed[crossing.tunnel] = true;
                let spec = &network.tunnels[crossing.tunnel];
                let is_whole = crossing.first == 0 && crossing.last + 1 == route.len();
                if spec.mode == Mode::Transport && !is_whole {
                    let why = format!(
                        "transport mode is between the hosts of a flow, and {} goes on behind an end: let it begin and \
                         end there, or set \"tunnel\"",
                        flow.name
                    );
                    return Err(reader.refuse(&MODE.key.path(&table(&spec.name)), &why));
                }
            }
            check_size(reader, network, flow)?;
        }
    }
    let mut tunnels = network.tunnels.iter().zip(is_crossed);
    let Some((unused, _)) = tunnels.find(|(_, is_crossed)| !is_crossed) else {
        return Ok(());
    };
    let [from, to] = [unused.from, unused.to].map(|node| &network.nodes[node as usize].name);
    let why = format!("no flow passes both `{from}` and `{to}`: take nodes on the route of one, or leave it out");
    Err(reader.refuse(&TO.key.path(&table(&unused.name)), &why))
}

fn check_size(reader: &Reader<'_>, network: &NetworkSpec, flow: &FlowSpec) -> Result<(), Refusal> {
    let given = flow.transport.packet_bytes;
    let crossings = network.crossings(&flow.route).unwrap_or_default();
    for spec in crossings.iter().map(|crossing| &network.tunnels[crossing.tunnel]) {
        let bytes = spec.encapsulated_bytes(given);
        if bytes > IP_BYTES_MAX {
            let why = format!(
                "a packet of {given} B of flow {} has {bytes} B in this tunnel, allowed are {IP_BYTES_MAX} B: shorten \
                 transport.packet",
                flow.name
            );
            return Err(reader.refuse(&CIPHER.key.path(&table(&spec.name)), &why));
        }
    }
    Ok(())
}

/// IP bytes of a full data packet on each link: `packet_bytes`, or what comes of them in a tunnel.
pub fn packet_bytes_on(network: &NetworkSpec, flows: &[FlowSpec], packet_bytes: u32) -> Vec<u32> {
    let mut bytes_on = vec![packet_bytes; network.links.len()];
    for flow in flows.iter().filter(|_| !network.tunnels.is_empty()) {
        for (link, bytes) in network.bytes_on(&flow.route, packet_bytes) {
            let known = &mut bytes_on[link as usize];
            *known = bytes.max(*known);
        }
    }
    bytes_on
}
