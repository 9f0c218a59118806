//! Figures for papers: the script of the page, run without a page.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rquickjs::{CatchResultExt, Context, Ctx, Function, Runtime};
use serde::{Deserialize, Serialize};
use svg2pdf::usvg::{self, fontdb};

use super::{FIGURES_SCRIPT, STYLE, data};
use crate::curves::Curves;
use crate::{Error, Experiment, Summary};

const PAPER_SCRIPT: &str = include_str!("../../../../web/paper.js");
/// Arimo has the advances of Helvetica, which the script knows, so that a PDF looks like its SVG; web/font/LICENSE.
const REGULAR: &[u8] = include_bytes!("../../../../web/font/arimo-regular.ttf");
const BOLD: &[u8] = include_bytes!("../../../../web/font/arimo-bold.ttf");
const FAMILY: &str = "Arimo";
/// Points to a unit of the script's drawings.
const POINTS_PER_INCH: f32 = 72.0;

/// A figure that can be asked for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Named {
    pub name: String,
    /// What it shows.
    pub about: String,
    /// What a result must have for it.
    pub needs: String,
    /// Whether this result has it.
    pub there: bool,
}

/// What a figure shall show.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Request {
    /// Name of the figure.
    pub name: String,
    /// Width in millimetres.
    pub width: f64,
    /// Places of laws that are left out.
    pub hidden: Vec<usize>,
    /// What is chosen otherwise.
    pub state: Choice,
}

/// Choices, as the page's controls make them; what is absent stays as it is when the page opens.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a choice that a reader of the page makes"
)]
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Choice {
    /// Place of the point of the sweep.
    pub point: usize,
    /// Places of points that a figure of laws beside each other has all at once; where there are none, only `point`.
    pub points: Vec<usize>,
    /// Name of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Place of the only seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<usize>,
    /// Whether bands are from the lowest to the highest and not intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<bool>,
    /// `all`: each flow as a line; `mean`: their mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<&'static str>,
    /// Whether laws stand side by side.
    pub apart: bool,
    /// Place of the metric of a sweep; those of laws beside each other, [`crate::versus::FIGURES`], are behind the
    /// others.
    pub metric: usize,
    /// Place of the swept key that is the axis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub axis: Option<usize>,
    /// Place of the law that others are compared with.
    pub base: usize,
    /// Whether a sweep shows differences to it.
    pub difference: bool,
    /// Whether the axis of a sweep is logarithmic.
    pub log_x: bool,
    /// Whether the metric of a sweep is.
    pub log_y: bool,
    /// Seconds that axes over time show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zoom: Option<[f64; 2]>,
}

/// A figure.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Drawn {
    pub svg: String,
    /// What it shows, for a caption.
    pub title: String,
    /// How it was made, for a caption.
    pub note: String,
    /// The point of a sweep that it shows, where it shows one of several.
    pub at: String,
}

/// The figures of an experiment, ready to be drawn.
pub struct Figures {
    context: Context,
}

impl Figures {
    /// Hands the experiment to the script.
    ///
    /// # Errors
    /// [`Error::Json`] when a figure cannot be written as JSON, [`Error::Script`] when the script fails.
    pub fn of(experiment: &Experiment, summary: &Summary) -> Result<Self, Error> {
        let text = data(summary, &Curves::of(experiment))?;
        let context = Runtime::new().and_then(|runtime| Context::full(&runtime));
        let context = context.map_err(|error| Error::Script(error.to_string()))?;
        context.with(|ctx| {
            let begin = || {
                ctx.globals().set("sheet", STYLE)?;
                ctx.globals().set("data", text)?;
                ctx.globals().set("atob", Function::new(ctx.clone(), atob)?)?;
                ctx.eval::<(), _>(format!(
                    "const report = JSON.parse(data);{FIGURES_SCRIPT}{PAPER_SCRIPT}"
                ))
            };
            begin().catch(&ctx).map_err(|error| script(&error))
        })?;
        Ok(Self { context })
    }

    /// All that there are, also those that this result lacks.
    ///
    /// # Errors
    /// [`Error::Script`] when the script fails.
    pub fn list(&self) -> Result<Vec<Named>, Error> {
        self.call("figureList", "null")
    }

    /// Draws one of [`Figures::list`]; nothing if what is asked for is not in the result.
    ///
    /// # Errors
    /// [`Error::Script`] when the script fails.
    pub fn draw(&self, request: &Request) -> Result<Option<Drawn>, Error> {
        let request = serde_json::to_string(request).map_err(Error::json("request"))?;
        self.call("figureAsked", &request)
    }

    fn call<T: serde::de::DeserializeOwned>(&self, function: &str, argument: &str) -> Result<T, Error> {
        let text: String = self.context.with(|ctx| {
            called(&ctx, function, argument)
                .catch(&ctx)
                .map_err(|error| script(&error))
        })?;
        serde_json::from_str(&text).map_err(Error::json("figure"))
    }
}

fn called(ctx: &Ctx, function: &str, argument: &str) -> rquickjs::Result<String> {
    ctx.eval(format!("JSON.stringify({function}({argument}))"))
}

fn script(error: &rquickjs::CaughtError) -> Error {
    Error::Script(error.to_string())
}

/// What browsers have: each byte as a letter. What is no base64 gives nothing, and the numbers are missing.
#[allow(clippy::needless_pass_by_value, reason = "what the script hands over is owned")]
fn atob(text: String) -> String {
    STANDARD
        .decode(text)
        .unwrap_or_default()
        .into_iter()
        .map(char::from)
        .collect()
}

/// The figure as PDF with its letters embedded. Letters that Arimo lacks come from the fonts of the machine.
///
/// # Errors
/// [`Error::Script`] when it is no SVG.
pub fn pdf(svg: &str) -> Result<Vec<u8>, Error> {
    let mut fonts = fontdb::Database::new();
    for font in [REGULAR, BOLD] {
        fonts.load_font_data(font.to_vec());
    }
    if !svg.chars().all(has_letter) {
        fonts.load_system_fonts();
    }
    let options = usvg::Options {
        fontdb: Arc::new(fonts),
        font_family: FAMILY.to_owned(),
        dpi: POINTS_PER_INCH,
        ..usvg::Options::default()
    };
    let named = svg.replacen(
        "font-family=\"Helvetica",
        &format!("font-family=\"{FAMILY}, Helvetica"),
        1,
    );
    let tree = usvg::Tree::from_str(&named, &options).map_err(|error| Error::Script(error.to_string()))?;
    let page = svg2pdf::PageOptions { dpi: POINTS_PER_INCH };
    let mut bytes = svg2pdf::to_pdf(&tree, svg2pdf::ConversionOptions::default(), page)
        .map_err(|error| Error::Script(error.to_string()))?;
    say_version(&mut bytes);
    Ok(bytes)
}

/// Lines, letters and transparency are PDF 1.4's; a newer version, which the writer always names, LaTeX warns of.
fn say_version(pdf: &mut [u8]) {
    const WRITTEN: &[u8] = b"%PDF-1.7";
    if pdf.starts_with(WRITTEN) {
        pdf[..WRITTEN.len()].copy_from_slice(b"%PDF-1.5");
    }
}

/// Letters of the embedded font.
const LETTERS: [std::ops::RangeInclusive<char>; 7] = [
    '\0'..='ſ',
    'Ά'..='ώ',
    'Ё'..='џ',
    '‐'..='‧',
    '⁰'..='₎',
    '←'..='↕',
    '∂'..='≥',
];

/// Whether a letter of a figure is one of the embedded font.
fn has_letter(letter: char) -> bool {
    LETTERS.iter().any(|range| range.contains(&letter))
}
