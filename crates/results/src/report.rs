//! stub
use crate::{Error, Experiment, Summary};
/// stub
pub fn html(_: &Experiment, _: &Summary) -> Result<String, Error> {
    Ok(String::new())
}
