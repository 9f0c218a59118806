//! The router's program of one law and one capacity part.

use fadelab_laws::{Capacity, Codec, Params, Router, abi};

use crate::Version;
use crate::compile::{self, CompileError, Text, law_header, values};
use crate::set;

/// The unit that all router laws share.
const UNIT: &str = include_str!("../../bpf/router.bpf.c");

/// What goes into an object.
#[derive(Clone, Debug)]
pub struct Recipe<'a> {
    pub law: &'a Router,
    /// Its parameters.
    pub params: &'a Params,
    pub part: &'a Capacity,
    /// Its parameters.
    pub part_params: &'a Params,
    /// Version of the kernel that will load it.
    pub kernel: Version,
    /// Whether each passage of a packet and each run of the law's timers is recorded.
    pub record: bool,
}

/// Why a law cannot work at a device, where it is that: traffic control sees packets before the queue only.
pub fn obstacle(law: &Router, part: &Capacity) -> Option<String> {
    if law.flags() & abi::ROUTER_DROPS_AT_DEQUEUE != 0 {
        return Some(format!(
            "router law {}: it drops packets when they leave the queue, where no program can be; allowed are laws that \
             decide at arrival, such as red or vcp, or the kernel's own queueing disciplines, such as codel",
            law.name()
        ));
    }
    if law.queues() > 0 {
        return Some(format!(
            "router law {}: it has {} queues of its own, and a device has one, behind the program; it runs in the \
             simulator",
            law.name(),
            law.queues()
        ));
    }
    if law.flags() & abi::ROUTER_NEEDS_CAPACITY != 0 && !part.knows_capacity() {
        return Some(format!(
            "router law {}: it needs a capacity, which the part {} does not give; take the part configured",
            law.name(),
            part.name()
        ));
    }
    None
}

/// Compiles it. The bytes may be loaded on another machine whose kernel has that version.
///
/// # Errors
/// See [`Text::object`].
pub fn compile(recipe: &Recipe<'_>) -> Result<Vec<u8>, CompileError> {
    let mut object = text(recipe).object()?;
    set::set_words(&mut object, "law_params", recipe.params.values());
    set::set_words(&mut object, "capacity_params", recipe.part_params.values());
    Ok(object)
}

/// What is compiled: with default parameters.
pub(crate) fn text(recipe: &Recipe<'_>) -> Text {
    let Recipe { law, part, .. } = recipe;
    let codec = Codec::on_wire(law.wire());
    let header = law_header("router", law.name());
    let part_header = law_header("capacity", part.name());
    // A header that a user brings may have both, and nothing that keeps it from being read twice.
    let part_header = (part_header != header).then_some(("CAPACITY_HEADER", part_header));
    let defines = [
        ("LAW_HEADER", header),
        ("LAW_TABLE_NAME", format!("{}_router", law.name())),
        ("LAW_STATE_BYTES", law.state_bytes().to_string()),
        ("LAW_PARAMS", list(&law.default_params())),
        ("CAPACITY_TABLE_NAME", format!("{}_capacity", part.name())),
        ("CAPACITY_STATE_BYTES", part.state_bytes().to_string()),
        ("CAPACITY_PARAMS", list(&part.default_params())),
        ("ECHO_BYTES", codec.format().echo_bytes.to_string()),
        ("DATA_BYTES", codec.format().data_bytes.to_string()),
        (
            "KERNEL_VERSION",
            recipe.kernel.shape(&Version::ROUTER_SHAPES).number().to_string(),
        ),
        ("RECORD", u8::from(recipe.record).to_string()),
    ];
    // The one law with a load factor and a code in its state shows them.
    let shown = [
        (
            "LOAD_Q32(s)",
            "((const struct vcp_router_state *)(s))->load_q32".to_owned(),
        ),
        ("CODE(s)", "((const struct vcp_router_state *)(s))->code".to_owned()),
    ];
    let shown = shown.iter().filter(|_| law.name() == "vcp").cloned();
    let defines = defines.into_iter().chain(part_header);
    Text {
        name: "router.bpf.c",
        text: UNIT,
        defines: defines.chain(compile::codec(&codec)).chain(shown).collect(),
    }
}

/// Parameters as an initialiser list; a law without any gets one that nobody reads.
fn list(params: &Params) -> String {
    Some(values(params))
        .filter(|values| !values.is_empty())
        .unwrap_or("0".to_owned())
}
