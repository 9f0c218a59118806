//! What is compiled for the ends of connections: one law, its parameters, and the name under which the kernel knows it.

use fadelab_laws::abi::{Format, WIRE_DPCP, WIRE_PAIR, WIRE_VCP};
use fadelab_laws::{Codec, Params, Receiver, Sender};

use super::live::FLOWS_NOTED_MAX;
use crate::Version;
use crate::cgroup::Group;
use crate::compile::{self, CompileError, Text, law_header, values};
use crate::set;

/// Most bytes of a congestion control's name (`TCP_CA_NAME_MAX` less the zero byte).
pub const NAME_BYTES_MAX: usize = 15;

/// The name under which the kernel knows a law unless another is given; its own `reno` and `cubic` keep theirs. One
/// that is too long is cut: `fade_westwood_p`.
pub fn default_name(law: &str) -> String {
    let mut name = format!("fade_{law}");
    name.truncate(NAME_BYTES_MAX);
    name
}

/// One law for one kernel.
#[derive(Clone, Debug)]
pub struct Unit<'a> {
    pub law: &'a Sender,
    /// Its receiver's half, if it has one.
    pub receiver: Option<&'a Receiver>,
    /// Its parameters.
    pub params: Params,
    /// The congestion control's name, at most [`NAME_BYTES_MAX`] bytes.
    pub name: String,
    /// The kernel it is for.
    pub version: Version,
    /// Whether each call of the law is recorded.
    pub record: bool,
    /// Users who may choose it for their sockets, by their numbers; `None`: everybody.
    pub allowed_users: Option<Vec<u32>>,
    /// Groups of processes that may, beside these users.
    pub allowed_groups: Vec<Group>,
}

impl<'a> Unit<'a> {
    /// With the law's default parameters and name, for a kernel.
    pub fn new(law: &'a Sender, version: Version) -> Self {
        Self {
            law,
            receiver: fadelab_laws::receiver(law.name()),
            params: law.default_params(),
            name: default_name(law.name()),
            version,
            record: false,
            allowed_users: None,
            allowed_groups: Vec::new(),
        }
    }

    /// Whether packets carry something of the law: then its receivers need fadelab too, and marks a closed network.
    pub fn carries_feedback(&self) -> bool {
        Codec::of(self.law, self.receiver).is_some()
    }

    /// Whether it sets the ECN field of what leaves.
    pub fn marks(&self) -> bool {
        [WIRE_VCP, WIRE_PAIR, WIRE_DPCP].contains(&self.law.wire())
    }

    /// Whether its hosts exchange numbers of the TCP header, which the other end has to put back.
    pub fn exchanges_numbers(&self) -> bool {
        self.law.wire() == WIRE_DPCP
    }

    /// The object file.
    ///
    /// # Errors
    /// What the compiler says.
    pub fn compile(&self) -> Result<Vec<u8>, CompileError> {
        let mut object = self.text().object()?;
        set::set_words(&mut object, "law_params", self.params.values());
        set::set_name(&mut object, &self.name);
        if let Some(users) = &self.allowed_users {
            let groups: Vec<u64> = self.allowed_groups.iter().map(|group| group.id).collect();
            set::set_allowed(&mut object, users, &groups);
        }
        Ok(object)
    }

    /// What is compiled: with default parameters, without a name and for everybody.
    pub(crate) fn text(&self) -> Text {
        let law = self.law;
        let codec = Codec::of(law, self.receiver).unwrap_or_else(|| Codec::new(Format::default()));
        let mut defines = vec![
            ("LAW_HEADER", law_header("sender", law.name())),
            ("LAW_SENDER", format!("{}_sender", law.name())),
            ("STATE_BYTES", law.state_bytes().to_string()),
            ("PARAMS", values(&law.default_params())),
            ("PARAMS_N", self.params.values().len().to_string()),
            ("FEEDBACK_BYTES", codec.format().data_bytes.to_string()),
            ("ECHO_BYTES", codec.format().echo_bytes.to_string()),
            ("EXCHANGES_NUMBERS", u8::from(self.exchanges_numbers()).to_string()),
            ("CARRIES_FEEDBACK", u8::from(self.carries_feedback()).to_string()),
            (
                "KERNEL_VERSION",
                self.version.shape(&Version::SENDER_SHAPES).number().to_string(),
            ),
            ("FLOWS_NOTED_MAX", FLOWS_NOTED_MAX.to_string()),
            ("RECORD", u8::from(self.record).to_string()),
        ];
        defines.extend(compile::codec(&codec));
        let state_bytes = self.receiver.map_or(0, Receiver::state_bytes);
        defines.push(("ECHO_STATE_BYTES", state_bytes.to_string()));
        if self.receiver.is_some() {
            let (header, beside) = (law_header("receiver", law.name()), law_header("sender", law.name()));
            // A header that a user brings may have both halves, and nothing that keeps it from being read twice.
            if header != beside {
                defines.push(("RECEIVER_HEADER", header));
            }
            defines.push(("LAW_RECEIVER", format!("{}_receiver", law.name())));
        }
        Text {
            name: "sender.bpf.c",
            text: include_str!("../../bpf/sender.bpf.c"),
            defines,
        }
    }
}
