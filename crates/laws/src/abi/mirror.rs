//! How the mirrors of the structs of `law.h` are declared.

use std::any::Any;

/// A struct of `law.h` whose fields can be told by name, in order.
pub(crate) trait Described: Copy {
    /// Shows each field under its name.
    fn visit(&mut self, visit: &mut dyn FnMut(&'static str, &mut dyn Any));
}

/// Declares mirrors of C structs whose fields can be told by name and, for the layout test, a list of them.
macro_rules! mirror {
    ($($(#[$doc:meta])* $name:ident = $c:literal { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug)]
            pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }

            impl Described for $name {
                fn visit(&mut self, visit: &mut dyn FnMut(&'static str, &mut dyn std::any::Any)) {
                    $(visit(stringify!($field), &mut self.$field);)*
                }
            }
        )*

        /// Name, offset and size of each struct and field.
        #[cfg(test)]
        fn layout() -> Vec<(String, u64, u64)> {
            let mut rows = Vec::new();
            $(
                rows.push(($c.to_owned(), 0, size_of::<$name>() as u64));
                $(
                    let size = size_of::<$type>() as u64;
                    let offset = std::mem::offset_of!($name, $field) as u64;
                    rows.push((format!("{}.{}", $c, stringify!($field)), offset, size));
                )*
            )*
            rows
        }
    };
}

/// Declares enumerators and, for the layout test, a list of them under their C names.
macro_rules! enumerators {
    ($($(#[$doc:meta])* $name:ident = $value:expr;)*) => {
        $($(#[$doc])* pub const $name: u32 = $value;)*

        /// Name and value of each enumerator.
        #[cfg(test)]
        fn enumerators() -> Vec<(String, u64, u64)> {
            vec![$((format!("LAW_{}", stringify!($name)), u64::from($name), 0),)*]
        }
    };
}

/// Zeroed, with `size` filled in.
macro_rules! sized {
    ($($name:ident)*) => {
        $(impl Default for $name {
            fn default() -> Self {
                // SAFETY: the struct consists of integers and arrays of integers only; all zeros is a value.
                let mut value: Self = unsafe { std::mem::zeroed() };
                value.size = size_of::<Self>() as u32;
                value
            }
        })*
    };
}
