//! `fadelab channel --out`: the curves on a page.

use std::io::Write;
use std::path::Path;

use fadelab_lab::Failure;
use fadelab_phy::channel::PacketKind;
use fadelab_results::channel::{ChannelCurve, ChannelPage};
use rayon::prelude::*;

use crate::channel::table::{channel_text, rate_text};
use crate::channel::{ChannelArgs, Curve, rounded};
use crate::output;

/// Computes the curves on all cores and writes the page.
///
/// # Errors
/// A file that exists or cannot be written.
pub fn write(path: &Path, args: &ChannelArgs, curves: &[Curve], snrs: &[f64]) -> Result<(), Failure> {
    let shown = path.display();
    if path.exists() {
        let hint = "pages are never written over others; give a name that does not exist";
        return Err(Failure::Invalid(format!("--out {shown} exists: {hint}")));
    }
    let values = |curve: &Curve| snrs.par_iter().map(|&snr_db| curve.packet_error(snr_db)).collect();
    let drawn = curves.iter().map(|curve| ChannelCurve {
        label: format!("{} {}", curve.antennas, rate_text(curve.rate)),
        is_ack: curve.kind == PacketKind::Ack,
        ip_bytes: curve.ip_bytes,
        packet_error: values(curve),
    });
    let page = ChannelPage {
        about: format!("{} code, {}", args.mode, channel_text(args)),
        snr_db: snrs.iter().map(|&snr_db| rounded(snr_db)).collect(),
        curves: drawn.collect(),
    };
    let html = page.html().map_err(|error| Failure::Failed(error.to_string()))?;
    let write = || {
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(path)?;
        file.write_all(html.as_bytes())
    };
    write().map_err(|error| Failure::Failed(format!("cannot write {shown}: {error}")))?;
    output::print(&format!("{shown}\n"))
}
