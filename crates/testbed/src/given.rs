//! What a guest is given behind the point at which snapshots are taken: a memory of a device, in which files are.
//!
//! It begins with the length of a list, in eight bytes of which the first is the lowest; the list, as JSON, has path
//! and length of each file; the contents follow in its order.

use crate::Error;

/// Bytes of the memory. It is a power of two, as memories of devices are, and takes room only where it is written.
pub const ROOM_BYTES: usize = 64 << 20;

/// Bytes of the first number.
const LENGTH_BYTES: usize = size_of::<u64>();

/// Files by path, as they lie in the memory.
///
/// # Errors
/// They have no room.
pub fn packed(files: &[(String, Vec<u8>)]) -> Result<Vec<u8>, Error> {
    let list: Vec<(&str, usize)> = files.iter().map(|(path, bytes)| (path.as_str(), bytes.len())).collect();
    let list = serde_json::to_vec(&list).expect("paths are text");
    let mut packed = (list.len() as u64).to_le_bytes().to_vec();
    packed.extend(list);
    for (_, bytes) in files {
        packed.extend(bytes);
    }
    if packed.len() > ROOM_BYTES {
        return Err(Error::Tool {
            what: "giving the guest its scenario".to_owned(),
            why: format!(
                "plan and laws have {} bytes, and at most {ROOM_BYTES} have room: choose fewer flows",
                packed.len()
            ),
        });
    }
    Ok(packed)
}

/// The files of a memory; `None` where it has none.
pub fn unpacked(memory: &[u8]) -> Option<Vec<(String, &[u8])>> {
    let (length, rest) = memory.split_at_checked(LENGTH_BYTES)?;
    let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
    let (list, mut rest) = rest.split_at_checked(length)?;
    let list: Vec<(String, usize)> = serde_json::from_slice(list).ok()?;
    let mut files = Vec::new();
    for (path, length) in list {
        let (bytes, behind) = rest.split_at_checked(length)?;
        files.push((path, bytes));
        rest = behind;
    }
    Some(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_out_as_they_went_in() {
        // Goal: paths and bytes survive, empty files too, with whatever lies behind them in the memory.
        let files = [
            ("/plan.json".to_owned(), b"{}".to_vec()),
            ("/objects/none.o".to_owned(), Vec::new()),
            ("/objects/a.o".to_owned(), vec![0, 255, 7]),
        ];
        let mut memory = packed(&files).expect("they have room");
        memory.resize(memory.len() + 100, 0);
        let found = unpacked(&memory).expect("files are there");
        let found: Vec<(String, Vec<u8>)> = found.into_iter().map(|(path, bytes)| (path, bytes.to_vec())).collect();
        assert_eq!(found, files);
    }

    #[test]
    fn a_memory_without_files_has_none() {
        // Goal: an empty memory, a cut one and a list that promises more than is there give nothing and no panic.
        let whole = packed(&[("/a".to_owned(), vec![1; 9])]).expect("it has room");
        for length in 0..whole.len() {
            assert!(unpacked(&whole[..length]).is_none(), "{length} bytes");
        }
        assert!(unpacked(&[0; 64]).is_none());
        assert!(unpacked(&[255; 64]).is_none());
    }

    #[test]
    fn too_much_is_refused_with_both_sizes() {
        // Goal: what has no room is told before a guest begins.
        let error = packed(&[("/a".to_owned(), vec![0; ROOM_BYTES])]).expect_err("it has no room");
        assert!(error.to_string().contains("67108864 have room"), "{error}");
    }
}
