//! The programs of one gateway's law.

use fadelab_laws::{Codec, Gateway, Params, abi, sender};

use crate::compile::{self, CompileError, Text, law_header, values};
use crate::set;

/// The unit that all gateways' laws share.
const UNIT: &str = include_str!("../../bpf/gateway.bpf.c");

/// What goes into an object.
#[derive(Clone, Debug)]
pub struct Recipe<'a> {
    pub law: &'a Gateway,
    /// Its parameters.
    pub params: &'a Params,
    /// The format of the packets inside that are the law's, `WIRE_*`.
    pub wire: u32,
    /// Whether each call of the law is recorded.
    pub record: bool,
    /// Whether each flow inside has a memory of its own, in place of one for the tunnel. The gateway has to write roles
    /// then ([`crate::tunnel::RoleFrom::Written`]).
    pub by_flow: bool,
}

/// The format of the packets inside that are a law's: that of the sender of the same name.
pub fn wire_of(law: &Gateway) -> Option<u32> {
    let wire = sender(law.name())?.wire();
    (wire != abi::WIRE_NONE).then_some(wire)
}

/// Compiles it. The bytes may be loaded on another machine.
///
/// # Errors
/// See [`Text::object`].
pub fn compile(recipe: &Recipe<'_>) -> Result<Vec<u8>, CompileError> {
    let mut object = text(recipe).object()?;
    set::set_words(&mut object, "law_params", recipe.params.values());
    Ok(object)
}

/// What is compiled: with default parameters.
fn text(recipe: &Recipe<'_>) -> Text {
    let law = recipe.law;
    let codec = Codec::on_wire(recipe.wire);
    let params = Some(values(&law.default_params())).filter(|values| !values.is_empty());
    let defines = [
        ("LAW_HEADER", law_header("gateway", law.name())),
        ("LAW_TABLE_NAME", format!("{}_gateway", law.name())),
        ("LAW_STATE_BYTES", law.state_bytes().to_string()),
        ("LAW_PARAMS", params.unwrap_or("0".to_owned())),
        ("ECHO_BYTES", codec.format().echo_bytes.to_string()),
        ("DATA_BYTES", codec.format().data_bytes.to_string()),
        ("RECORD", u8::from(recipe.record).to_string()),
        ("FLOWS", u8::from(recipe.by_flow).to_string()),
    ];
    Text {
        name: "gateway.bpf.c",
        text: UNIT,
        defines: defines.into_iter().chain(compile::codec(&codec)).collect(),
    }
}
