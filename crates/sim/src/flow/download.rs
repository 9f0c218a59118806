//! The client's side of a flow whose receiving end asks for what it gets.

use fadelab_path::packet::PacketId;
use fadelab_path::violation::Checked;
use fadelab_run::app::App;
use fadelab_run::record::Completion;

use super::Flow;
use crate::clock::Now;
use crate::ends::Ends;
use crate::network::Network;
use crate::packet::flag;
use crate::schedule::SourceId;

impl Flow {
    /// What the server of a download sent: the answer to a SYN, or data. The download that these complete is added to
    /// `ends`.
    #[inline(never)]
    pub(super) fn on_download(
        &mut self,
        now: Now,
        source: SourceId,
        id: PacketId,
        net: &mut Network,
        ends: &mut Ends,
    ) -> Checked<()> {
        let packet = *net.slab.get(id);
        let Some(client) = self.beside.client_mut() else {
            return Ok(());
        };
        if packet.tcp_flags & flag::SYN != 0 {
            net.discard(id);
            let packets = client.on_answer(now, self.id, &self.plan, &packet);
            for packet in packets.into_iter().flatten() {
                net.inject(now.ns, packet, self.route_back_at, None)?;
            }
            let due_ns = client.due_ns();
            self.want_event(due_ns, net);
            return Ok(());
        }
        if self.plan.receiver_law.is_some() {
            self.answer_data::<true>(now, id, net)?;
        } else {
            self.answer_data::<false>(now, id, net)?;
        }
        let nxt = self.receiver.nxt();
        let ends_now = self
            .beside
            .client_mut()
            .is_some_and(|client| client.on_data(packet.seq, nxt));
        if ends_now {
            self.complete_download(now.ns, source, ends);
            // With all of it there the client closes, and says so at once.
            if self.receiver.ack_due_ns() != u64::MAX {
                self.send_ack::<true>(now, 0, net)?;
            }
            let due_ns = self.app.due_ns();
            self.want_event(due_ns, net);
        }
        Ok(())
    }

    fn complete_download(&mut self, now_ns: u64, source: SourceId, ends: &mut Ends) {
        let App::Http { bytes, .. } = self.plan.app else {
            return;
        };
        self.app.finished(&self.plan.app, now_ns);
        let completion = Completion {
            flow: self.id,
            start_ns: self.app.start_ns(),
            end_ns: now_ns,
            bytes,
        };
        ends.add(source, completion);
    }
}
