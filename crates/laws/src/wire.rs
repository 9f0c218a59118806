//! The formats of packets: what the headers of `laws/wire` define.
#![allow(unsafe_code)]

use crate::abi;
use crate::law::literal;

/// A format of packets: one header of `laws/wire`.
#[derive(Clone, Debug)]
pub struct Wire {
    name: &'static str,
    summary: &'static str,
    header: &'static str,
    number: u32,
    pub(crate) option_bytes: unsafe extern "C-unwind" fn(*const abi::Format) -> u32,
    pub(crate) begin: unsafe extern "C-unwind" fn(*mut u8, *const abi::Format),
    pub(crate) put_data: Option<Put>,
    pub(crate) get_data: Option<Get>,
    pub(crate) confirm: unsafe extern "C-unwind" fn(*mut u8, *const abi::Format),
    pub(crate) put_echo: unsafe extern "C-unwind" fn(*mut u8, *const abi::Format, *const u8, u32),
    pub(crate) get_echo: Get,
    pub(crate) join: Option<unsafe extern "C-unwind" fn(*mut u8, u32)>,
    pub(crate) put_share: Option<unsafe extern "C-unwind" fn(*mut u8, *const abi::Format, *const u8, u32)>,
}

pub(crate) type Get = unsafe extern "C-unwind" fn(*const u8, *const abi::Format, *mut u8) -> u32;
pub(crate) type Put = unsafe extern "C-unwind" fn(*mut u8, *const abi::Format, *const u8);
impl Wire {
    /// Takes over what a header defines.
    ///
    /// # Safety
    /// As for [`Sender::new`].
    pub(crate) unsafe fn new(table: &abi::CodecTable, header: &'static str) -> Self {
        assert_eq!(
            table.abi,
            abi::ABI,
            "the format is compiled against another version of law.h"
        );
        // Without the last two a law that runs in the simulator would get no grants in a kernel, in silence.
        assert!(
            table.put_data.is_none() || (table.get_data.is_some() && table.put_share.is_some()),
            "what data carry in a format, routers read (.get_data) and write (.put_share)"
        );
        Self {
            // SAFETY: the caller vouches for the table.
            name: unsafe { literal(table.name) }.expect("a format has a name"),
            // SAFETY: as above.
            summary: unsafe { literal(table.summary) }.expect("a format has a summary"),
            header,
            number: table.wire,
            option_bytes: table.option_bytes.expect("each format has it"),
            begin: table.begin.expect("each format has it"),
            put_data: table.put_data,
            get_data: table.get_data,
            confirm: table.confirm.expect("each format has it"),
            put_echo: table.put_echo.expect("each format has it"),
            get_echo: table.get_echo.expect("each format has it"),
            join: table.join,
            put_share: table.put_share,
        }
    }

    /// Name, as in the registry.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// One sentence on it.
    pub fn summary(&self) -> &'static str {
        self.summary
    }

    /// Text of the C header.
    pub fn header(&self) -> &'static str {
        self.header
    }

    /// `WIRE_*`; `WIRE_NONE`: all that have no format of their own.
    pub fn number(&self) -> u32 {
        self.number
    }
}
