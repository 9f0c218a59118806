//! The papers that come with the program, for where there is no folder of them.

use std::path::Path;

use fadelab_scenario::ready_made;

include!(concat!(env!("OUT_DIR"), "/papers.rs"));

/// Keys of the papers, in order.
pub fn keys() -> Vec<&'static str> {
    let mut keys: Vec<&str> = FILES.iter().map(|(paper, _, _)| *paper).collect();
    keys.dedup();
    keys
}

/// The text of a file in the folder of a paper.
pub fn text(folder: &Path, name: &Path) -> Option<&'static str> {
    let paper = folder.file_name()?;
    let found = FILES
        .iter()
        .find(|(key, file, _)| paper == *key && name.as_os_str() == *file);
    found.map(|(_, _, text)| *text)
}

/// The text of a scenario that a paper names, from its folder: one beside it, or a ready-made one.
pub fn scenario(folder: &Path, name: &Path) -> Option<&'static str> {
    let is_ready_made = name.parent() == Some(Path::new("../../scenarios"));
    let ready = || ready_made::find(Path::new(name.file_stem()?));
    text(folder, name).or_else(|| ready().filter(|_| is_ready_made).map(|ready| ready.text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper;

    #[test]
    fn every_scenario_of_a_paper_is_there() {
        // Goal: whatever a paper's files name is in the program.
        assert!(keys().contains(&"vcp-ton-2010"), "{:?}", keys());
        for key in keys() {
            let folder = Path::new("nowhere").join(key);
            let claims: paper::Claims = paper::read_file(&folder, "claims.toml").ok().unwrap();
            for run in &claims.run {
                assert!(
                    scenario(&folder, &run.scenario).is_some(),
                    "{key}: {}",
                    run.scenario.display()
                );
            }
            let studies: paper::Studies = paper::read_file(&folder, "studies.toml").ok().unwrap();
            for study in &studies.study {
                assert!(
                    scenario(&folder, &study.scenario).is_some(),
                    "{key}: {}",
                    study.scenario.display()
                );
            }
        }
        assert!(text(Path::new("vcp-ton-2010"), Path::new("none.toml")).is_none());
        assert!(scenario(Path::new("vcp-ton-2010"), Path::new("satellite.toml")).is_none());
    }
}
