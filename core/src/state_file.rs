//! State files: a scheduler, written down, and made again from that.
//!
//! Layout, all numbers little-endian: 8 bytes [`MAGIC`], 4 bytes version, 8 bytes length of what
//! follows them without the check, the content in postcard's encoding, 4 bytes CRC-32C of everything
//! before. The content has what cannot be found out otherwise: texts and records under their ids,
//! rows, orders, the queue. Sums, counts and indexes are made anew by the code that keeps them, so a
//! file cannot make them disagree; everything else is checked. Neither configuration nor capacities
//! are in it: the caller gives both, and may give others than before.

use crate::capacity::CapacityExceeded;
use crate::intake::SavedIntake;
use crate::object::config::ConfigErrors;
use crate::scheduler::{CreateError, SavedScheduler};
use alloc::vec::Vec;
use core::fmt;
use crc::{CRC_32_ISCSI, Crc, Table};
use serde::{Deserialize, Serialize};

/// First bytes of every state file.
pub const MAGIC: [u8; 8] = *b"berth\x1a\r\n";
/// The version that is written, and the only one that is read.
pub const VERSION: u32 = 1;

/// Magic, version, length.
const HEADER: usize = 20;
/// The check at the end.
const CHECK: usize = 4;

const CRC: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

/// Why bytes are no state; nothing was made of them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StateError {
    /// They do not begin as a state file does.
    NotAState,
    /// A version of the format that this program does not read.
    Version(u32),
    /// There are other than as many bytes as the file says.
    Length {
        /// Bytes that the file should have.
        stated: u64,
        /// Bytes that it has.
        found: u64,
    },
    /// The check at the end says that some bytes have changed.
    Check,
    /// The content cannot be: which table, which place in it, and what is wrong.
    Content {
        part: &'static str,
        place: usize,
        problem: &'static str,
    },
    /// The capacities are too small for it.
    Capacity(CapacityExceeded),
    /// The configuration would be refused without a state as well.
    Config(ConfigErrors),
}

impl From<CapacityExceeded> for StateError {
    fn from(full: CapacityExceeded) -> Self {
        Self::Capacity(full)
    }
}

impl From<CreateError> for StateError {
    fn from(error: CreateError) -> Self {
        match error {
            CreateError::Config(errors) => Self::Config(errors),
            CreateError::Capacity(full) => Self::Capacity(full),
        }
    }
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAState => f.write_str("this is no state file: its first bytes are others"),
            Self::Version(found) => write!(
                f,
                "state file of version {found}, and only version {VERSION} is read: make it anew \
                 from the objects"
            ),
            Self::Length { stated, found } => write!(
                f,
                "state file of {found} bytes that should have {stated}: it was cut or added to"
            ),
            Self::Check => f.write_str("state file whose check fails: some bytes have changed"),
            Self::Content {
                part,
                place,
                problem,
            } => write!(
                f,
                "state file with wrong content: {part}[{place}]: {problem}"
            ),
            Self::Capacity(full) => full.fmt(f),
            Self::Config(errors) => errors.fmt(f),
        }
    }
}

impl core::error::Error for StateError {}

/// Refuses content unless it is `right`.
pub(crate) fn check(
    right: bool,
    part: &'static str,
    place: usize,
    problem: &'static str,
) -> Result<(), StateError> {
    if right {
        return Ok(());
    }
    Err(StateError::Content {
        part,
        place,
        problem,
    })
}

/// Encodes content, with a frame around it.
pub(crate) fn write(content: &Content) -> Vec<u8> {
    let content = postcard::to_allocvec(content);
    // Sequences of unknown length could not be written; there are none.
    debug_assert!(content.is_ok());
    framed(&content.unwrap_or_default())
}

/// A state file with this content, whatever it is; for tests of what is refused.
pub fn framed(content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::from(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((content.len() as u64).to_le_bytes());
    bytes.extend(content);
    bytes.extend(CRC.checksum(&bytes).to_le_bytes());
    bytes
}

/// Takes the frame off, and reads the content.
///
/// Lists take memory only as far as there are bytes for them.
pub(crate) fn read(bytes: &[u8]) -> Result<Content, StateError> {
    let magic = bytes.get(..MAGIC.len());
    let begins = magic.map_or_else(|| MAGIC.starts_with(bytes), |magic| magic == MAGIC);
    if !begins || bytes.is_empty() {
        return Err(StateError::NotAState);
    }
    let found = bytes.len() as u64;
    let number = |at: usize| {
        bytes
            .get(at..)?
            .first_chunk()
            .copied()
            .map(u64::from_le_bytes)
    };
    let version = bytes.get(MAGIC.len()..).and_then(<[u8]>::first_chunk);
    let short = |stated| Err(StateError::Length { stated, found });
    let Some(version) = version.copied().map(u32::from_le_bytes) else {
        return short((HEADER + CHECK) as u64);
    };
    if version != VERSION {
        return Err(StateError::Version(version));
    }
    let Some(length) = number(HEADER - 8) else {
        return short((HEADER + CHECK) as u64);
    };
    let stated = length.saturating_add((HEADER + CHECK) as u64);
    let split = bytes.split_last_chunk::<CHECK>();
    let (Some((checked, check)), true) = (split, stated == found) else {
        return short(stated);
    };
    if CRC.checksum(checked) != u32::from_le_bytes(*check) {
        return Err(StateError::Check);
    }
    let content = checked.get(HEADER..).unwrap_or_default();
    let wrong = |problem| StateError::Content {
        part: "file",
        place: HEADER,
        problem,
    };
    let (content, rest) = postcard::take_from_bytes(content)
        .map_err(|_| wrong("this is not what a state is encoded as"))?;
    if rest.is_empty() {
        Ok(content)
    } else {
        Err(wrong("something follows the state"))
    }
}

/// Rows that are free, the one to be taken last first, as they are in the table `part`.
pub(crate) fn check_vacant(
    vacant: &[u32],
    len: usize,
    is_vacant: impl Fn(usize) -> bool,
    part: &'static str,
) -> Result<(), StateError> {
    let mut seen = Vec::new();
    seen.resize(len, false);
    for (place, row) in vacant.iter().enumerate() {
        let first = seen
            .get_mut(*row as usize)
            .map(|seen| !core::mem::replace(seen, true));
        let free = first == Some(true) && is_vacant(*row as usize);
        check(free, part, place, "this row is not free")?;
    }
    let free = (0..len).filter(|row| is_vacant(*row)).count();
    check(
        free == vacant.len(),
        part,
        vacant.len(),
        "a free row is missing",
    )
}

/// Everything that a state file holds.
#[derive(Serialize, Deserialize)]
pub(crate) struct Content {
    pub(crate) scheduler: SavedScheduler,
    /// What feeds it, if something does.
    pub(crate) intake: Option<SavedIntake>,
}

#[cfg(test)]
mod tests;
