//! Reading files that are named by whoever calls, and standard input: no devices, and nothing that memory has no room for.

use std::fs::File;
use std::io::{Error, ErrorKind, IsTerminal, Read, Result, stdin};
use std::path::Path;
use std::sync::OnceLock;

/// Files longer than this, in bytes, are not read as a whole.
const LONGEST: u64 = 4 << 30;

/// Opens a file, or a pipe; devices, of which some never end, are refused.
pub(crate) fn open(path: &Path) -> Result<File> {
    let file = File::open(path)?;
    refuse_devices(&file)?;
    Ok(file)
}

fn refuse_devices(file: &File) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = file.metadata()?.file_type();
        if kind.is_char_device() || kind.is_block_device() {
            return Err(Error::new(ErrorKind::InvalidInput, "it is a device"));
        }
    }
    Ok(())
}

/// Whether a path stands for standard input: `-`.
pub fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// The name of an input in messages. That of standard input has no folder, so that files are found relative to the
/// working directory.
pub fn name(path: &Path) -> &Path {
    if is_standard_input(path) { Path::new("standard input") } else { path }
}

/// The text on standard input, which is read when it is first asked for.
pub(crate) fn standard_input() -> Result<&'static str> {
    static TEXT: OnceLock<Result<String>> = OnceLock::new();
    let read = || {
        #[cfg(unix)]
        if !stdin().is_terminal() {
            use std::os::fd::AsFd;
            refuse_devices(&File::from(stdin().as_fd().try_clone_to_owned()?))?;
        }
        text_of(limited(stdin().lock(), 0)?)
    };
    let text = TEXT.get_or_init(read).as_deref();
    text.map_err(|error| Error::new(error.kind(), error.to_string()))
}

/// What is read, of which this many bytes are known beforehand.
fn limited(input: impl Read, length: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if length <= LONGEST {
        bytes.try_reserve_exact(length as usize)?;
        // A pipe tells no length.
        input.take(LONGEST + 1).read_to_end(&mut bytes)?;
    }
    match length.max(bytes.len() as u64) > LONGEST {
        true => Err(Error::new(ErrorKind::FileTooLarge, format!("it has more than {LONGEST} bytes"))),
        false => Ok(bytes),
    }
}

fn text_of(bytes: Vec<u8>) -> Result<String> {
    let wrong = |_| Error::new(ErrorKind::InvalidData, "stream did not contain valid UTF-8");
    String::from_utf8(bytes).map_err(wrong)
}

/// What a file holds.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    let file = open(path)?;
    let length = file.metadata()?.len();
    limited(file, length)
}

/// The text of a file.
///
/// # Errors
/// When it cannot be read, is a device, too long, or not in UTF-8.
pub fn read_text(path: &Path) -> Result<String> {
    text_of(read_bytes(path)?)
}
