//! What the safe types over the tables of functions have in common.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};

use crate::abi;
use crate::params::ParamInfo;
use crate::watch::WatchInfo;

/// Reads a string literal of a law.
///
/// # Safety
/// `text` is null or a string that lives as long as the program.
pub(crate) unsafe fn literal(text: *const c_char) -> Option<&'static str> {
    // SAFETY: the caller vouches for the string.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_str().expect("laws write ASCII"))
}

/// Reads the rows of a table's parameters.
///
/// # Safety
/// `rows` points to `count` rows that live as long as the program, or `count` is 0.
pub(crate) unsafe fn parameters(rows: *const abi::Param, count: u32, bytes: u32) -> Vec<ParamInfo> {
    assert_eq!(bytes, count * 8, "each parameter is one u64");
    // SAFETY: the caller vouches for the rows and for their strings.
    let row = |index: u32| unsafe {
        let row = &*rows.add(index as usize);
        ParamInfo {
            name: literal(row.name).expect("a name"),
            value: row.value,
            unit: literal(row.unit).expect("a unit"),
            scale: row.scale,
            min: row.min,
            max: row.max,
            source: literal(row.source).expect("a source"),
            meaning: literal(row.meaning).expect("a meaning"),
        }
    };
    (0..count).map(row).collect()
}

/// Reads the rows of a table's values to watch.
///
/// # Safety
/// As for [`parameters`].
pub(crate) unsafe fn watched(rows: *const abi::Watch, count: u32) -> Vec<WatchInfo> {
    // SAFETY: the caller vouches for the rows and for their strings.
    let row = |index: u32| unsafe {
        let row = &*rows.add(index as usize);
        let text = |text| literal(text).expect("checked, or built in");
        WatchInfo::new(row, text(row.name), text(row.unit), text(row.meaning))
    };
    (0..count).map(row).collect()
}

/// What all kinds of laws have in common.
macro_rules! common {
    ($type:ident) => {
        impl $type {
            /// Name, as in the registry and in scenarios.
            pub fn name(&self) -> &'static str {
                self.name
            }

            /// Text of the C header.
            pub fn header(&self) -> &'static str {
                self.header
            }

            /// Bytes of memory that the law asks for.
            pub fn state_bytes(&self) -> u32 {
                self.state_bytes
            }

            /// Fresh memory for one instance.
            pub fn new_state(&self) -> $crate::State {
                $crate::State::with_zones(self.state_bytes, self.zone_bytes)
            }

            /// The same law with room around its state that it must not touch.
            #[must_use]
            pub(crate) fn with_zone(self) -> Self {
                Self {
                    zone_bytes: $crate::guard::ZONE_BYTES,
                    ..self
                }
            }

            /// Pointer to `state` for a call.
            #[inline]
            fn state(&self, state: &mut $crate::State) -> *mut std::ffi::c_void {
                assert!(
                    state.bytes() >= self.state_bytes as usize,
                    "the state belongs to another law"
                );
                state.as_mut_ptr()
            }
        }
    };
}

/// What laws with parameters have in common.
macro_rules! with_params {
    ($type:ident) => {
        $crate::law::common!($type);

        impl $type {
            /// One sentence on the law.
            pub fn summary(&self) -> &'static str {
                self.summary
            }

            /// Flags, see [`abi`](crate::abi).
            #[inline]
            pub fn flags(&self) -> u32 {
                self.flags
            }

            /// The parameters that the header declares.
            pub fn params(&self) -> &[$crate::ParamInfo] {
                &self.params
            }

            /// The values to watch that the header declares.
            pub fn watch(&self) -> &[$crate::WatchInfo] {
                &self.watch
            }

            /// Defaults of the parameters.
            pub fn default_params(&self) -> $crate::Params {
                self.defaults.clone()
            }

            /// Defaults overridden by pairs of a name and a value in the parameter's unit.
            ///
            /// # Errors
            /// A name that the header does not declare, or a value outside the declared range.
            pub fn params_from(&self, pairs: &[(&str, f64)]) -> Result<$crate::Params, $crate::ParamError> {
                $crate::Params::from_pairs(self.name, &self.params, pairs)
            }

            /// These very integers, in the order of the header; `None` where the law has not as many parameters.
            pub fn params_of_values(&self, values: &[u64]) -> Option<$crate::Params> {
                (values.len() == self.params.len()).then(|| $crate::Params::from_values(values))
            }

            /// Pointer to `params` for a call.
            #[inline]
            pub(crate) fn values(&self, params: &$crate::Params) -> *const std::ffi::c_void {
                assert!(
                    params.is_as_long_as(&self.defaults),
                    "the parameters belong to another law"
                );
                params.as_ptr()
            }
        }
    };
}

pub(crate) use {common, with_params};
