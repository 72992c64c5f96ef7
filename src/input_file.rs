//! Reading files that are named by whoever calls: no devices, and none that memory has no room for.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Files longer than this, in bytes, are not read as a whole.
const LONGEST: u64 = 4 << 30;

/// Opens a file, or a pipe; devices, of which some never end, are refused.
pub(crate) fn open(path: &Path) -> Result<File> {
    let file = File::open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = file.metadata()?.file_type();
        if kind.is_char_device() || kind.is_block_device() {
            return Err(Error::new(ErrorKind::InvalidInput, "it is a device"));
        }
    }
    Ok(file)
}

/// What a file holds.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    let file = open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    if length <= LONGEST {
        bytes.try_reserve_exact(length as usize)?;
        // A pipe tells no length.
        file.take(LONGEST + 1).read_to_end(&mut bytes)?;
    }
    match length.max(bytes.len() as u64) > LONGEST {
        true => Err(Error::new(ErrorKind::FileTooLarge, format!("it has more than {LONGEST} bytes"))),
        false => Ok(bytes),
    }
}

/// The text of a file.
///
/// # Errors
/// When it cannot be read, is a device, too long, or not in UTF-8.
pub fn read_text(path: &Path) -> Result<String> {
    String::from_utf8(read_bytes(path)?)
        .map_err(|_| Error::new(ErrorKind::InvalidData, "stream did not contain valid UTF-8"))
}
