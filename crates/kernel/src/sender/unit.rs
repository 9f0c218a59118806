//! What is compiled for the ends of connections: one law, its parameters, and the name under which the kernel knows it.

use fadelab_laws::abi::{WIRE_NONE, WIRE_VCP};
use fadelab_laws::{Params, Receiver, Sender};

use crate::Version;
use crate::compile::{CompileError, law_header, object, values};

/// Most bytes of a congestion control's name (`TCP_CA_NAME_MAX` less the zero byte).
pub const NAME_BYTES_MAX: usize = 15;

/// The name under which the kernel knows a law unless another is given; its own `reno` and `cubic` keep theirs.
pub fn default_name(law: &str) -> String {
    format!("fade_{law}")
}

/// One law for one kernel.
#[derive(Clone, Debug)]
pub struct Unit<'a> {
    /// The law.
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
        }
    }

    /// Whether packets carry something of the law: then its receivers need fadelab too, and marks a closed network.
    pub fn carries_feedback(&self) -> bool {
        self.law.wire() != WIRE_NONE || self.law.feedback_bytes() > 0 || self.receiver.is_some()
    }

    /// Whether it sets the ECN field of what leaves.
    pub fn marks(&self) -> bool {
        self.law.wire() == WIRE_VCP
    }

    /// The object file.
    ///
    /// # Errors
    /// What the compiler says.
    pub fn compile(&self) -> Result<Vec<u8>, CompileError> {
        let law = self.law;
        let mut defines = vec![
            ("LAW_HEADER", law_header("sender", law.name())),
            ("LAW_SENDER", format!("{}_sender", law.name())),
            ("STATE_BYTES", law.state_bytes().to_string()),
            ("PARAMS", values(&self.params)),
            ("PARAMS_N", self.params.values().len().to_string()),
            ("WIRE", law.wire().to_string()),
            ("FEEDBACK_BYTES", law.feedback_bytes().to_string()),
            ("CARRIES_FEEDBACK", u8::from(self.carries_feedback()).to_string()),
            ("CC_NAME", format!("\"{}\"", self.name)),
            ("KERNEL_VERSION", self.version.number().to_string()),
            ("RECORD", u8::from(self.record).to_string()),
        ];
        let (state_bytes, echo_bytes) = self
            .receiver
            .map_or((0, 0), |half| (half.state_bytes(), half.feedback_bytes()));
        defines.push(("ECHO_STATE_BYTES", state_bytes.to_string()));
        defines.push(("ECHO_BYTES", echo_bytes.to_string()));
        if self.receiver.is_some() {
            defines.push(("LAW_RECEIVER", format!("{}_receiver", law.name())));
        }
        object("sender.bpf.c", include_str!("../../bpf/sender.bpf.c"), &defines)
    }
}
