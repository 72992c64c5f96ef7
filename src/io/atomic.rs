//! Writing a file as a whole or not at all.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::interruption;
use crate::io::digest::Digest;

/// How the names of temporary files end.
const ENDING: &str = ".part";

/// The temporary files that are being written.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A file that is being written.
///
/// Output is written to a new temporary file in the same folder, under a name that cannot be guessed.
/// [`OutputFile::finish`] renames it to the file's name. If the value is dropped before that, the
/// temporary file is removed and an existing file stays as it was. Whoever writes the same file next removes what a process
/// left that was killed. A file that is replaced hands its permissions on. Of a symbolic link the file that it leads to is written, and the link stays. Pipes,
/// terminals and devices such as `/dev/null` are written to as they are.
#[derive(Debug)]
pub struct OutputFile(Destination);

#[derive(Debug)]
enum Destination {
    /// A temporary file, and the file that it will be.
    Replaced { temporary: NamedTempFile, path: PathBuf },
    /// What is no file of a disk.
    Special(File),
}

impl OutputFile {
    /// Starts to write a file.
    ///
    /// # Errors
    /// When the path is a folder or a broken link, when its folder does not exist or cannot be written
    /// to, or when an existing file cannot be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        let link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
        let found = match fs::metadata(path) {
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !link => None,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(io::Error::new(error.kind(), "it is a link that leads to no file"));
            }
            Err(error) => return Err(error),
        };
        if let Some(found) = &found {
            if found.is_dir() {
                return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
            }
            // Whether it can be written is found out without a change of it.
            if !found.is_file() {
                return Ok(Self(Destination::Special(opened_when_read(path)?)));
            }
            OpenOptions::new().append(true).open(path)?;
        }
        let path = if link { fs::canonicalize(path)? } else { path.to_owned() };
        let folder = match path.parent() {
            _ if path.file_name().is_none() => {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path does not name a file"));
            }
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let prefix = prefix(path.file_name().unwrap_or_default());
        remove_leftovers(folder, &prefix);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(ENDING);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // As of any new file: what the process masks is taken away.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        // Nobody may look for the file between its making and its entry in the list.
        let mut unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        let temporary = locked(|| builder.tempfile_in(folder).map_err(without_path))?;
        unfinished.push(temporary.path().to_owned());
        let output = Self(Destination::Replaced { temporary, path });
        drop(unfinished);
        if let (Some(found), Destination::Replaced { temporary, .. }) = (found, &output.0) {
            temporary.as_file().set_permissions(found.permissions())?;
        }
        Ok(output)
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// When what was written does not reach the disk, or the file cannot be renamed.
    pub fn finish(mut self) -> io::Result<()> {
        if let Destination::Replaced { temporary, path } = &mut self.0 {
            temporary.as_file().sync_all()?;
            fs::rename(temporary.path(), path)?;
        }
        Ok(())
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Destination::Replaced { temporary, .. } = &self.0 {
            let mut unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
            // It is gone where it was renamed.
            let _ = fs::remove_file(temporary.path());
            unfinished.retain(|path| path != temporary.path());
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            // The file itself: errors of the other tell its name, which nobody knows.
            Destination::Replaced { temporary, .. } => temporary.as_file_mut().write(bytes),
            Destination::Special(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Destination::Replaced { temporary, .. } => temporary.as_file_mut().flush(),
            Destination::Special(file) => file.flush(),
        }
    }
}

/// Opens what is no file of a disk. A pipe is opened once somebody reads it, unless an end is asked for meanwhile.
fn opened_when_read(path: &Path) -> io::Result<File> {
    let (send, opened) = mpsc::channel();
    let path = path.to_owned();
    thread::spawn(move || send.send(OpenOptions::new().append(true).open(path)));
    loop {
        match opened.recv_timeout(Duration::from_millis(100)) {
            Ok(file) => return file,
            Err(_) if interruption::is_requested() => {
                return Err(io::Error::new(io::ErrorKind::Interrupted, "it is a pipe that nobody reads"));
            }
            Err(_) => {}
        }
    }
}

/// What the names of the temporary files of an output begin with.
fn prefix(output: &OsStr) -> String {
    let mut digest = Digest::new();
    let _ = write!(digest, "{output:?}");
    format!(".isobar-{}-", digest.hexadecimal())
}

/// Makes a temporary file that is locked, by which others know that its process is alive. On a file system without locks
/// none is, and leftovers stay.
fn locked(make: impl Fn() -> io::Result<NamedTempFile>) -> io::Result<NamedTempFile> {
    loop {
        let temporary = make()?;
        let is_locked = temporary.as_file().lock().is_ok();
        // Another process may have taken it for a leftover before it was locked.
        if !is_locked || temporary.path().exists() {
            return Ok(temporary);
        }
    }
}

/// Removes the temporary files with a prefix whose processes are gone.
fn remove_leftovers(folder: &Path, prefix: &str) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_one = name.to_str().is_some_and(|name| name.starts_with(prefix) && name.ends_with(ENDING));
        // To open a pipe would wait for its reader.
        if !is_one || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        // What cannot be opened or locked is another's. The lock is held until the file is gone.
        if let Ok(leftover) = OpenOptions::new().write(true).open(entry.path())
            && leftover.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The same error without the name of the temporary file, which follows what happened.
fn without_path(error: io::Error) -> io::Error {
    let text = error.to_string();
    io::Error::new(error.kind(), text.split(" at path ").next().unwrap_or_default().to_owned())
}

/// Removes the temporary files of this process, for one that is about to end without dropping what
/// it has. No file may be written afterwards.
pub fn remove_unfinished_files() {
    let unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    for path in unfinished.iter() {
        // There is nobody left to tell.
        let _ = fs::remove_file(path);
    }
}

/// Whether a file can be written, found out without writing it.
///
/// # Errors
/// The errors of [`OutputFile::create`].
pub fn check_writable(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        // To open a pipe and close it again would end it for its reader.
        Ok(found) if !found.is_file() && !found.is_dir() => Ok(()),
        _ => OutputFile::create(path).map(drop),
    }
}

/// Writes a file through `write` as an [`OutputFile`].
///
/// # Errors
/// When the file cannot be created, written or renamed, or `write` fails.
pub fn write_atomically<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<OutputFile>) -> Result<(), E>,
) -> Result<(), E> {
    let mut writer = BufWriter::new(OutputFile::create(path)?);
    write(&mut writer)?;
    let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok(file.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> tempfile::TempDir {
        tempfile::Builder::new().prefix(name).tempdir().expect("a folder for the test")
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry"));
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = folder("failed");
        let path = folder.path().join("out.txt");
        let write = |text: &'static str, good: bool| {
            write_atomically::<io::Error>(&path, |writer| {
                writer.write_all(text.as_bytes())?;
                if good { Ok(()) } else { Err(io::Error::other("interrupted")) }
            })
        };
        write("old", true).expect("writes");
        write("new", false).expect_err("fails");
        assert_eq!(fs::read_to_string(&path).expect("the file"), "old");
        write("new", true).expect("writes");
        assert_eq!(fs::read_to_string(&path).expect("the file"), "new");
        assert_eq!(names(folder.path()), ["out.txt"]);
        assert!(check_writable(folder.path()).expect_err("a folder").to_string().contains("folder"));
        check_writable(&folder.path().join("none/out.txt")).expect_err("no folder");
        check_writable(&path).expect("a file");
        assert_eq!(fs::read_to_string(&path).expect("the file"), "new");
        assert_eq!(names(folder.path()), ["out.txt"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_permissions_and_special_files_stay() {
        use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
        let folder = folder("links");
        let (target, link) = (folder.path().join("sub/target.txt"), folder.path().join("link.txt"));
        fs::create_dir(folder.path().join("sub")).expect("a folder");
        let write = |path: &Path| write_atomically::<io::Error>(path, |writer| writer.write_all(b"new"));
        symlink(&target, &link).expect("a link");
        assert!(write(&link).expect_err("leads nowhere").to_string().contains("leads to no file"));
        fs::write(&target, "old").expect("a file");
        fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).expect("permissions");
        write(&link).expect("writes");
        assert!(fs::symlink_metadata(&link).expect("the link").is_symlink());
        assert_eq!(fs::read_to_string(&target).expect("the file"), "new");
        let mode = |path: &Path| fs::metadata(path).expect("the file").permissions().mode() & 0o777;
        assert_eq!(mode(&target), 0o640);
        // A new file is as any that the process makes.
        let (fresh, usual) = (folder.path().join("fresh.txt"), folder.path().join("usual.txt"));
        write(&fresh).expect("writes");
        fs::write(&usual, "").expect("a file");
        assert_eq!(mode(&fresh), mode(&usual));
        let null = Path::new("/dev/null");
        write(null).expect("writes");
        assert!(fs::symlink_metadata(null).expect("it").file_type().is_char_device());
        assert_eq!(names(&folder.path().join("sub")), ["target.txt"]);
    }
}
