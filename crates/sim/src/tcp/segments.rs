//! How many segments a transfer or a download takes.

use fadelab_run::app::{App, RESPONSE_HEADER_BYTES};

use crate::tcp::plan::Plan;

/// A transfer in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segments {
    /// How many they are.
    pub count: u32,
    /// What the last one is shorter by than a full one.
    pub short_by_bytes: u32,
}

impl Segments {
    /// Those of `bytes` of payload.
    pub fn of_bytes(bytes: u64, mss_bytes: u32) -> Self {
        let count = bytes.div_ceil(u64::from(mss_bytes));
        Self {
            count: count.min(u64::from(u32::MAX)) as u32,
            short_by_bytes: (count * u64::from(mss_bytes) - bytes) as u32,
        }
    }

    /// Those of the plan's transfers or downloads, the answer's header included; else none.
    pub fn of(plan: &Plan) -> Self {
        let bytes = match plan.app {
            App::Transfer { bytes, .. } => bytes,
            App::Http { bytes, .. } => bytes + RESPONSE_HEADER_BYTES,
            _ => 0,
        };
        Self::of_bytes(bytes, plan.mss_bytes)
    }
}
