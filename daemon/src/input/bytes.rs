//! Files, folders and stdin to text, within limits.

use super::{Place, Problem};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Folders within folders; a guard, no use is known beyond a handful.
const FOLDER_DEPTH_MAX: usize = 32;
/// Endings of the files that are read of a folder, as kubectl's.
const ENDINGS: [&str; 3] = ["json", "yaml", "yml"];
/// Bytes that are read, and looked through, at once.
const CHUNK_BYTES: u64 = 1 << 20;

/// The files that `path` stands for: itself, or those below the folder, sorted by name.
///
/// Names that begin with a dot are left out, as a mounted `ConfigMap` keeps its copies there.
pub fn list(path: &Path) -> Result<Vec<PathBuf>, Problem> {
    let mut files = Vec::new();
    let is_folder = fs::metadata(path).map_err(|error| failed(path, &error))?;
    if is_folder.is_dir() {
        walk(path, &mut Vec::new(), &mut files)?;
    } else {
        files.push(path.to_path_buf());
    }
    Ok(files)
}

/// `above` holds the real paths of the folders that are being walked.
fn walk(folder: &Path, above: &mut Vec<PathBuf>, files: &mut Vec<PathBuf>) -> Result<(), Problem> {
    let failed = |error: io::Error| failed(folder, &error);
    let real = fs::canonicalize(folder).map_err(failed)?;
    if above.contains(&real) {
        return Err(problem(folder, "the folder contains itself"));
    }
    if above.len() == FOLDER_DEPTH_MAX {
        let message = format!("more than {FOLDER_DEPTH_MAX} folders deep");
        return Err(problem(folder, message));
    }
    above.push(real);
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            paths.push(entry.path());
        }
    }
    paths.sort();
    for path in paths {
        let has_ending = path
            .extension()
            .is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known));
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => walk(&path, above, files)?,
            // A pipe in a folder has nobody at its other end: reading it would wait for ever.
            Ok(metadata) if has_ending && !metadata.is_file() => {
                return Err(problem(
                    &path,
                    "is no file; name it with -f if it is to be read",
                ));
            }
            // What cannot be looked at is told when it is read.
            _ if has_ending => files.push(path),
            _ => {}
        }
    }
    above.pop();
    Ok(())
}

/// The file's text, of at most `bytes_max` bytes.
pub fn read_file(path: &Path, bytes_max: u64) -> Result<String, Problem> {
    let (file, length) = open(path, bytes_max)?;
    let bytes = read_bounded(path, file, length, bytes_max)?;
    to_text(path, bytes)
}

/// The file as it is, of at most `bytes_max` bytes.
pub fn read_raw(path: &Path, bytes_max: u64) -> Result<Vec<u8>, Problem> {
    let (file, length) = open(path, bytes_max)?;
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    let mut bounded = file.take(bytes_max.saturating_add(1));
    let read = bounded.read_to_end(&mut bytes);
    read.map_err(|error| failed(path, &error))?;
    if bytes.len() as u64 > bytes_max {
        return Err(too_large(path, bytes_max));
    }
    Ok(bytes)
}

/// The file and its length, if that is not too large already.
fn open(path: &Path, bytes_max: u64) -> Result<(File, u64), Problem> {
    let file = File::open(path).map_err(|error| failed(path, &error))?;
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    if length > bytes_max {
        return Err(too_large(path, bytes_max));
    }
    Ok((file, length))
}

/// Stdin's text.
pub fn read_stdin(bytes_max: u64) -> Result<String, Problem> {
    let path = Path::new("-");
    let bytes = read_bounded(path, io::stdin().lock(), 0, bytes_max)?;
    to_text(path, bytes)
}

/// Stops at the limit and at the first NUL, so that no device is read without end.
fn read_bounded(
    path: &Path,
    mut source: impl Read,
    length: u64,
    bytes_max: u64,
) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    loop {
        let before = bytes.len();
        let count = source
            .by_ref()
            .take(CHUNK_BYTES)
            .read_to_end(&mut bytes)
            .map_err(|error| failed(path, &error))?;
        if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            return Err(problem(path, "text is UTF-16; save it as UTF-8"));
        }
        if let Some(position) = bytes[before..].iter().position(|byte| *byte == 0) {
            let line = line_of(&bytes, before + position);
            let place = Place::file(path).at_line(line);
            return Err(Problem::of_place(place, "NUL byte; expected JSON or YAML"));
        }
        if count == 0 {
            return Ok(bytes);
        }
        if bytes.len() as u64 > bytes_max {
            return Err(too_large(path, bytes_max));
        }
    }
}

fn to_text(path: &Path, mut bytes: Vec<u8>) -> Result<String, Problem> {
    if bytes.starts_with("\u{feff}".as_bytes()) {
        bytes.drain(..3);
    }
    String::from_utf8(bytes).map_err(|error| {
        let line = line_of(error.as_bytes(), error.utf8_error().valid_up_to());
        let place = Place::file(path).at_line(line);
        Problem::of_place(place, "text is not UTF-8")
    })
}

/// Line of the byte at `position`, from 1.
fn line_of(bytes: &[u8], position: usize) -> u32 {
    1 + newlines(bytes.get(..position).unwrap_or(bytes))
}

/// Number of line ends.
#[expect(
    clippy::naive_bytecount,
    reason = "the compiler's vector code is fast enough"
)]
pub fn newlines(bytes: &[u8]) -> u32 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u32
}

fn problem(path: &Path, message: impl Into<String>) -> Problem {
    Problem::of_place(Place::file(path), message)
}

fn failed(path: &Path, error: &io::Error) -> Problem {
    problem(path, error.to_string())
}

fn too_large(path: &Path, bytes_max: u64) -> Problem {
    let message = format!("more than {} MiB; split the file", bytes_max >> 20);
    problem(path, message)
}
