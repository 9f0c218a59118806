//! Each of several items once.

/// The distinct items, in the order of their first appearance.
pub(crate) fn in_order<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for item in items {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    distinct
}
