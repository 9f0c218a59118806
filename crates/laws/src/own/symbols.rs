//! Whether a compiled law keeps to its state: no variables of its own, no calls out of its header.
//!
//! Memory outside the state outlives a run and is shared by flows, seeds and threads, and so is what the C library
//! knows; a result would depend on the order of runs. Both are seen in the object file, before anything is loaded.

use object::{File, Object, ObjectSection, ObjectSymbol, SectionFlags, SectionIndex, SymbolKind, elf};

/// Variables of `guard.h`, which stands in the same translation unit.
const OF_GUARD: [&str; 7] = [
    "guard_host",
    "guard_current",
    "guard_sender",
    "guard_receiver",
    "guard_router",
    "guard_capacity",
    "guard_gateway",
];

/// What `guard.h` and `undefined.h` call, by the names that C libraries give it, and what position-independent code
/// with unwinding and protected stacks needs.
const OF_HOST: [&str; 12] = [
    "setjmp",
    "_setjmp",
    "sigsetjmp",
    "__sigsetjmp",
    "siglongjmp",
    "__longjmp_chk",
    "_GLOBAL_OFFSET_TABLE_",
    "__tls_get_addr",
    "__stack_chk_fail",
    "__gcc_personality_v0",
    "_Unwind_Resume",
    "__stack_chk_guard",
];

/// What compilers make of copies of structs and of arithmetic that the processor lacks.
const OF_COMPILER: [&str; 17] = [
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "__memcpy_chk",
    "__memmove_chk",
    "__memset_chk",
    "__udivti3",
    "__umodti3",
    "__divti3",
    "__modti3",
    "__udivmodti4",
    "__divmodti4",
    "__multi3",
    "__muloti4",
    "__popcountdi2",
    "__mulodi4",
];

/// Sections whose code runs when a library is loaded or left.
const AT_LOAD: [&str; 5] = [".preinit_array", ".init_array", ".fini_array", ".ctors", ".dtors"];

/// Says what a law does that no law may.
pub(super) fn check(object: &[u8]) -> Result<(), String> {
    let file = File::parse(object).map_err(|error| format!("the compiler made no object file: {error}"))?;
    for section in file.sections() {
        let name = section.name().unwrap_or_default();
        if AT_LOAD.iter().any(|at_load| name.starts_with(at_load)) {
            return Err("it has a constructor or a destructor; a law does nothing but what its table names".to_owned());
        }
    }
    for symbol in file.symbols() {
        let name = symbol.name().unwrap_or_default();
        if symbol.is_undefined() && !name.is_empty() && !OF_HOST.contains(&name) && !OF_COMPILER.contains(&name) {
            return Err(format!(
                "it uses `{name}`, which its header does not define; a law calls nothing of the C library or the \
                 system, since the kernel has neither and a run must come to the same each time: time, random numbers \
                 and memory are given by the host"
            ));
        }
        let is_variable = symbol.is_common() || symbol.section_index().is_some_and(|index| is_writable(&file, index));
        let is_named = !name.is_empty() && symbol.kind() != SymbolKind::Section;
        if is_variable && is_named && !OF_GUARD.contains(&name) {
            return Err(format!(
                "it has the variable `{name}` outside its state; all flows, seeds and runs would share it: put it into \
                 the state ({name} in the struct of .state_bytes), or make it const"
            ));
        }
    }
    Ok(())
}

/// Whether the section can be written once it is loaded; constants with addresses in them can not.
fn is_writable(file: &File<'_>, index: SectionIndex) -> bool {
    let Ok(section) = file.section_by_index(index) else {
        return false;
    };
    let SectionFlags::Elf { sh_flags } = section.flags() else {
        return false;
    };
    let is_constant = section.name().is_ok_and(|name| name.starts_with(".data.rel.ro"));
    sh_flags & u64::from(elf::SHF_WRITE) != 0 && !is_constant
}
