//! What routers are shown of packets.

use std::cell::RefCell;
use std::rc::Rc;

use fadelab_laws::guard::{self, CallRecord};
use fadelab_laws::own::{Source, SourceFile, load_text};
use fadelab_laws::router;
use fadelab_run::network::LinkId;
use fadelab_run::spec::RunSpec;

use super::record_of;

/// A router's law that is shown all packets and does nothing, brought by a user so that its calls can be observed.
pub fn onlooker() -> &'static fadelab_laws::Router {
    const NAME: &str = "onlooker";
    if let Some(law) = router(NAME) {
        return law;
    }
    let text = "#include \"law.h\"\n\nLAW u32 onlooker_on_enqueue(void *state, const void *params, struct law_packet \
                *packet,\n\tconst struct law_queue *queue)\n{\n\treturn LAW_PASS;\n}\n\nLAW_TABLE struct law_router \
                onlooker_router = {\n\t.abi = LAW_ABI,\n\t.size = sizeof(struct law_router),\n\t.name = \
                \"onlooker\",\n\t.summary = \"Looks on\",\n\t.flags = LAW_ROUTER_FEEDBACK,\n\tLAW_NO_PARAMS,\n\t\
                .on_enqueue = onlooker_on_enqueue,\n};\n";
    let file = format!("{NAME}.h");
    load_text(&Source {
        name: NAME.to_owned(),
        path: file.clone().into(),
        files: vec![SourceFile {
            name: file,
            text: text.to_owned(),
        }],
        ..Source::default()
    })
    .unwrap_or_else(|error| panic!("{error}"));
    router(NAME).expect("brought")
}

/// What an onlooker at a link was shown, a packet each.
pub fn shown_at(mut spec: RunSpec, at: LinkId) -> Vec<CallRecord> {
    spec.network.links[at as usize].router.law = onlooker();
    let calls = Rc::new(RefCell::new(Vec::<CallRecord>::new()));
    let sink = Rc::clone(&calls);
    let observer = move |call: &guard::Seen<'_>| {
        if call.name() == "on_enqueue" {
            sink.borrow_mut().push(call.record());
        }
    };
    guard::observe(observer, || record_of(&spec));
    calls.take()
}

pub fn field(call: &CallRecord, name: &str) -> u64 {
    call.event[name].as_u64().expect("a number")
}
