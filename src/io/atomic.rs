//! Writing a file as a whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a file through `write`: into a temporary file beside it, which takes the file's name
/// once it is complete. When anything fails nothing is left behind and a file that was there
/// before is as it was.
///
/// # Errors
/// When a file cannot be created, written or renamed, or `write` fails.
pub fn write_atomically<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    let name = path.file_name().ok_or_else(|| {
        E::from(io::Error::new(io::ErrorKind::InvalidInput, "the path does not name a file"))
    })?;
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.part", std::process::id()));
    let temporary = path.with_file_name(temporary);
    let complete = File::create(&temporary).map_err(E::from).and_then(|file| {
        let mut writer = BufWriter::new(file);
        write(&mut writer)?;
        writer.flush()?;
        writer.get_ref().sync_all()?;
        Ok(fs::rename(&temporary, path)?)
    });
    if complete.is_err() {
        // The first error is the one to tell; the file may not even exist.
        let _ = fs::remove_file(&temporary);
    }
    complete
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = std::env::temp_dir().join(format!("isobar-atomic-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for the test");
        let path = folder.join("out.txt");
        write_atomically::<io::Error>(&path, |w| w.write_all(b"old")).expect("written");
        let failed = write_atomically::<io::Error>(&path, |w| {
            w.write_all(b"half")?;
            Err(io::Error::other("stopped"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).expect("still there"), b"old");
        assert_eq!(fs::read_dir(&folder).expect("listed").count(), 1);
        fs::remove_dir_all(&folder).expect("removed");
    }
}
