//! How far the grounds are apart, as a section of the page.

use std::fmt::Write;

use super::escape;
use crate::Summary;
use crate::distance::{self, Agreement};

/// A table of the distances; nothing where there is one ground.
pub fn section(summary: &Summary) -> String {
    if summary.distances.is_empty() {
        return String::new();
    }
    let table = distance::table(&summary.distances);
    let mut text = "<section id=\"distances\"><h2>How far the grounds are apart</h2>\
                    <div class=\"wide\"><table class=\"figures\"><thead><tr>"
        .to_owned();
    for (place, heading) in table.headings.iter().enumerate() {
        let class = if place < table.texts { " class=\"key\"" } else { "" };
        let _ = write!(text, "<th{class}>{}</th>", escape(heading));
    }
    text.push_str("</tr></thead><tbody>");
    for (cells, agreement) in &table.rows {
        text.push_str(match agreement {
            Agreement::Within => "<tr>",
            Agreement::Beyond => "<tr class=\"beyond\">",
            Agreement::Undecided => "<tr class=\"undecided\">",
        });
        for (place, cell) in cells.iter().enumerate() {
            let class = if place < table.texts { " class=\"key\"" } else { "" };
            let _ = write!(text, "<td{class}>{}</td>", escape(cell));
        }
        text.push_str("</tr>");
    }
    text.push_str("</tbody></table></div></section>");
    text
}
