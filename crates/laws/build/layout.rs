//! Lists every struct field and enumerator of `law.h`, `codec.h` and `host/` with what the C compiler makes of it, for
//! a test to compare.

use std::fmt::Write;

use crate::header::{blocks, declared};

/// C that exports `fadelab_law_layout`: name, offset or value, size; ended by a name of NULL.
pub fn c_source(header: &str) -> String {
    let mut rows = String::new();
    for block in blocks(header, "struct", ';') {
        let name = &block.name;
        writeln!(rows, "\t{{\"{name}\", 0, sizeof(struct law_{name})}},").expect("a string");
        for field in block.items.iter().map(|item| declared(&item.text)) {
            let object = format!("((struct law_{name} *)0)->{field}");
            writeln!(
                rows,
                "\t{{\"{name}.{field}\", __builtin_offsetof(struct law_{name}, {field}), sizeof({object})}},"
            )
            .expect("a string");
        }
    }
    for item in blocks(header, "enum", ',').iter().flat_map(|block| &block.items) {
        let name = item.text.split(' ').next().expect("a name");
        writeln!(rows, "\t{{\"{name}\", {name}, 0}},").expect("a string");
    }
    format!(
        "#include \"codec.h\"\n#include \"host/instance.h\"\n\
         struct row {{\n\tconst char *name;\n\tu64 place;\n\tu64 size;\n}};\n\
         extern const struct row fadelab_law_layout[];\n\
         const struct row fadelab_law_layout[] = {{\n{rows}\t{{NULL, 0, 0}},\n}};\n"
    )
}
