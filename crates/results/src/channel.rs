//! A page with the curves of channels: packet error over SNR.

use serde::Serialize;

use crate::Error;

const PAGE: &str = include_str!("../../../web/channel.html");
const STYLE: &str = include_str!("../../../web/report.css");
const SCRIPT: &str = include_str!("../../../web/channel.js");
const CHARTS_SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/uPlot.iife.min.js"));
const CHARTS_STYLE: &str = include_str!(concat!(env!("OUT_DIR"), "/uPlot.min.css"));
const CHARTS_LICENSE: &str = include_str!(concat!(env!("OUT_DIR"), "/LICENSE"));

#[derive(Clone, Debug, Serialize)]
pub struct ChannelCurve {
    /// Antennas and code rate.
    pub label: String,
    /// Whether the packet is an ACK.
    pub is_ack: bool,
    /// IP bytes of the packet.
    pub ip_bytes: u32,
    /// Packet error at each SNR of the page.
    pub packet_error: Vec<f64>,
}

/// What the page shows.
#[derive(Clone, Debug, Serialize)]
pub struct ChannelPage {
    /// What all curves have in common.
    pub about: String,
    /// SNRs of the good state, rising, in dB.
    pub snr_db: Vec<f64>,
    pub curves: Vec<ChannelCurve>,
}

impl ChannelPage {
    /// The page: one file that works offline.
    ///
    /// # Errors
    /// [`Error::Json`] when a value cannot be written as JSON.
    pub fn html(&self) -> Result<String, Error> {
        let file = "the page of a channel";
        let data = serde_json::to_string(self).map_err(|source| Error::Json { file, source })?;
        let style = format!("{CHARTS_STYLE}\n{STYLE}");
        // In a script element only `</` and `<!--` could end the data early. What is put in is searched for nothing but
        // the name that follows.
        let parts = [
            ("style", style.as_str()),
            ("data", &data.replace('<', "\\u003c")),
            ("charts_license", CHARTS_LICENSE.trim()),
            ("charts_script", CHARTS_SCRIPT),
            ("script", SCRIPT),
        ];
        let mut text = String::new();
        let mut rest = PAGE;
        for (name, part) in parts {
            let (before, after) = rest
                .split_once(&format!("{{{{{name}}}}}"))
                .expect("the page has each part once, in order");
            text.push_str(before);
            text.push_str(part);
            rest = after;
        }
        Ok(text + rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_holds_its_data_and_needs_no_network() {
        // Goal: all parts are filled in, the data read back as given, and nothing is fetched from elsewhere.
        let page = ChannelPage {
            about: "</script> {{script}}".to_owned(),
            snr_db: vec![0.0, 1.0],
            curves: vec![ChannelCurve {
                label: "2x2 rate 0.93".to_owned(),
                is_ack: false,
                ip_bytes: 1040,
                packet_error: vec![1.0, 0.5],
            }],
        };
        let html = page.html().unwrap();
        let (_, after) = html.split_once("id=\"data\">").unwrap();
        let (data, _) = after.split_once("</script>").unwrap();
        let read: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(read["about"], page.about);
        assert_eq!(read["curves"][0]["packet_error"][1], 0.5);
        assert_eq!(html.matches("{{").count(), html.matches("{{script}}").count());
        assert!(!html.contains("src=\"http") && !html.contains("href=\"http"));
    }
}
