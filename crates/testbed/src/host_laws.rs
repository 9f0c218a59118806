//! The laws that Linux brings itself, named in scenarios with `linux:` before them.

use fadelab_laws::LINUX_PREFIX;

/// Senders: name, module that has it (none where the kernel has it built in), what it is.
pub const SENDERS: &[(&str, Option<&str>, &str)] = &[
    ("reno", None, "Linux's own Reno"),
    ("cubic", None, "Linux's own CUBIC"),
    ("bic", Some("tcp_bic"), "Linux's own BIC"),
    ("bbr", Some("tcp_bbr"), "Linux's own BBR, version 1"),
    ("veno", Some("tcp_veno"), "Linux's own Veno"),
    ("westwood", Some("tcp_westwood"), "Linux's own Westwood+"),
    ("dctcp", Some("tcp_dctcp"), "Linux's own DCTCP"),
];

/// Queues: name, module, what it is.
pub const QUEUES: &[(&str, Option<&str>, &str)] = &[
    ("red", Some("sch_red"), "Linux's own RED, adaptive, without marks"),
    ("codel", Some("sch_codel"), "Linux's own CoDel"),
    ("fq_codel", Some("sch_fq_codel"), "Linux's own FQ-CoDel"),
    ("pie", Some("sch_pie"), "Linux's own PIE"),
    ("sfq", Some("sch_sfq"), "Linux's own stochastic fair queueing"),
];

/// Makes them known to scenarios that are read from now on. The simulator refuses them.
pub fn register() {
    for (name, _, about) in SENDERS {
        fadelab_laws::add_host_sender(&format!("{LINUX_PREFIX}{name}"), about);
    }
    for (name, _, about) in QUEUES {
        fadelab_laws::add_host_router(&format!("{LINUX_PREFIX}{name}"), about);
    }
}
