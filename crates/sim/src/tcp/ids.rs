//! IP identifications.

use fadelab_laws::abi::{self, Identification};
use fadelab_run::transport::IpId;

/// A word that looks like chance, from any other: the output function of `SplitMix64` (Steele, Lea and Flood 2014).
fn mixed(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// What `counted`, which goes up by one with each packet of an end, stands for in the header of a packet of a format.
/// `chance` is another number for each packet.
#[inline(always)]
pub(crate) fn of(form: IpId, counted: u16, wire: u8, chance: impl FnOnce() -> u64) -> Identification {
    // DPCP's hosts take turns whatever the ID, which comes to the same here.
    if form == IpId::Counting {
        return Identification::by_id(counted);
    }
    not_counted(form, counted, wire, chance())
}

#[cold]
fn not_counted(form: IpId, counted: u16, wire: u8, chance: u64) -> Identification {
    let ip_id = if form == IpId::Random { mixed(chance) as u16 } else { 0 };
    if u32::from(wire) == abi::WIRE_DPCP {
        let role = (counted & 1) as u8;
        return Identification { ip_id, role };
    }
    Identification::by_id(ip_id)
}

/// Where an end of a flow begins to count. `random` is another number for each seed and flow.
pub(crate) fn start(random: u64, is_receiver: bool) -> u16 {
    mixed(random ^ u64::from(is_receiver)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_count_or_are_random_or_zero() {
        // Goal: counted IDs are what was counted, random ones have either lowest bit as often, zero stays; starts
        // differ by flow and by end.
        let ip_id = |form, counted, chance| of(form, counted, 0, || chance).ip_id;
        let odd: u32 = (0..100_000)
            .map(|count| u32::from(ip_id(IpId::Random, 9, count) & 1))
            .sum();
        // Five standard deviations of 158.
        assert!(odd.abs_diff(50_000) < 790, "{odd}");
        assert_eq!(ip_id(IpId::Counting, 65_535, 1), 65_535);
        assert_eq!(ip_id(IpId::Zero, 65_535, 1), 0);
        let starts = [start(7, false), start(7, true), start(8, false)];
        assert!(starts[0] != starts[1] && starts[0] != starts[2], "{starts:?}");
    }

    #[test]
    fn roles_follow_ids_but_for_dpcp() {
        // Goal: DCP-EW's role is the lowest bit of any ID; DPCP's takes turns, also with IDs that are random or 0.
        for form in [IpId::Counting, IpId::Random, IpId::Zero] {
            for counted in 0..100 {
                let of = |wire: u32| of(form, counted, wire as u8, || u64::from(counted));
                let pair = of(abi::WIRE_PAIR);
                assert_eq!(u16::from(pair.role), pair.ip_id & 1, "{form:?}");
                assert_eq!(u16::from(of(abi::WIRE_DPCP).role), counted & 1, "{form:?}");
            }
        }
    }
}
