//! What a loader has to know of a law, without its functions: enough where its programs were compiled before.

use serde::{Deserialize, Serialize};

use crate::params::ParamInfo;

/// A parameter, as [`ParamInfo`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribedParam {
    name: String,
    value: u64,
    unit: String,
    scale: u64,
    min: u64,
    max: u64,
    source: String,
    meaning: String,
}

/// A sender's law.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribedSender {
    pub(crate) summary: String,
    pub(crate) router: Option<String>,
    pub(crate) params: Vec<DescribedParam>,
    pub(crate) state_bytes: u32,
    pub(crate) flags: u32,
    pub(crate) wire: u32,
    pub(crate) ecn_mode: u32,
    pub(crate) feedback_bytes: u32,
}

/// A receiver's half of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribedReceiver {
    pub(crate) state_bytes: u32,
    pub(crate) feedback_bytes: u32,
}

/// A router's law.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribedRouter {
    pub(crate) summary: String,
    pub(crate) params: Vec<DescribedParam>,
    pub(crate) state_bytes: u32,
    pub(crate) flags: u32,
    pub(crate) wire: u32,
    pub(crate) timers: u32,
    pub(crate) control_timer: u32,
    pub(crate) queues: u32,
}

/// A capacity part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribedCapacity {
    pub(crate) summary: String,
    pub(crate) params: Vec<DescribedParam>,
    pub(crate) state_bytes: u32,
    pub(crate) flags: u32,
}

/// All that a name stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// The name.
    pub name: String,
    pub sender: Option<DescribedSender>,
    /// The receiver's half.
    pub receiver: Option<DescribedReceiver>,
    pub router: Option<DescribedRouter>,
    /// The capacity part.
    pub capacity: Option<DescribedCapacity>,
}

pub(crate) fn described(infos: &[ParamInfo]) -> Vec<DescribedParam> {
    let of = |info: &ParamInfo| DescribedParam {
        name: info.name.to_owned(),
        value: info.value,
        unit: info.unit.to_owned(),
        scale: info.scale,
        min: info.min,
        max: info.max,
        source: info.source.to_owned(),
        meaning: info.meaning.to_owned(),
    };
    infos.iter().map(of).collect()
}

/// Laws live as long as the program.
pub(crate) fn kept(text: &str) -> &'static str {
    text.to_owned().leak()
}

pub(crate) fn infos(params: &[DescribedParam]) -> Vec<ParamInfo> {
    let of = |param: &DescribedParam| ParamInfo {
        name: kept(&param.name),
        value: param.value,
        unit: kept(&param.unit),
        scale: param.scale,
        min: param.min,
        max: param.max,
        source: kept(&param.source),
        meaning: kept(&param.meaning),
    };
    params.iter().map(of).collect()
}
