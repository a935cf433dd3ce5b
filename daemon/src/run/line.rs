//! Lines of a watch and pages of a list, to objects.

use super::kept::Keeps;
use super::watcher::News;
use berth_core::object::Object;
use berth_core::object::decode::decode;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Bytes of one object, as a line of a watch.
const LINE_BYTES_MAX: usize = 16 << 20;
/// Marks the bookmark at the end of a streamed list.
const LIST_ENDS: &str = "k8s.io/initial-events-end";

/// One line of a watch.
#[derive(Debug)]
pub enum Line {
    Object {
        is_deleted: bool,
        object: Box<Object>,
        version: String,
        /// As it was sent, if it is kept so.
        text: Option<Box<RawValue>>,
    },
    /// An object that the core's types cannot hold.
    Unreadable {
        namespace: String,
        name: String,
        version: String,
        why: String,
    },
    Bookmark {
        version: String,
        ends_list: bool,
    },
    /// The server ends the watch.
    Error {
        code: u16,
        message: String,
    },
    Nonsense(String),
}

#[derive(Deserialize)]
struct RawLine<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// What is read of an object beside what the core reads.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    metadata: HeadMeta,
    /// Of a `Status`.
    code: u16,
    message: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct HeadMeta {
    namespace: String,
    name: String,
    resource_version: String,
    annotations: std::collections::BTreeMap<String, String>,
}

/// Cuts a stream into lines.
#[derive(Default)]
pub struct Lines {
    held: Vec<u8>,
    /// Bytes of `held` that were given out.
    taken: usize,
    /// Bytes behind `taken` that are known to hold no end of a line.
    seen: usize,
    /// Whether a line that is too long is being passed over.
    skips: bool,
    keeps: Keeps,
}

impl Lines {
    /// These objects keep their text.
    pub fn new(keeps: Keeps) -> Self {
        Self {
            keeps,
            ..Self::default()
        }
    }

    /// Takes in what came next.
    pub fn push(&mut self, data: &[u8]) {
        if self.taken > 0 {
            self.held.drain(..self.taken);
            self.taken = 0;
        }
        self.held.extend_from_slice(data);
    }

    /// The next whole line.
    pub fn next(&mut self, kind: &str) -> Option<Line> {
        loop {
            let rest = self.held.get(self.taken..).unwrap_or_default();
            let fresh = rest.get(self.seen..).unwrap_or_default();
            let Some(at) = fresh.iter().position(|byte| *byte == b'\n') else {
                self.seen = rest.len();
                if rest.len() <= LINE_BYTES_MAX {
                    return None;
                }
                let told = !self.skips;
                self.skips = true;
                self.held.clear();
                (self.taken, self.seen) = (0, 0);
                let why = || Line::Nonsense(format!("a line of more than {LINE_BYTES_MAX} bytes"));
                return told.then(why);
            };
            let end = self.seen + at;
            let line = rest.get(..end).unwrap_or_default();
            let read = (!self.skips && !line.trim_ascii().is_empty())
                .then(|| read(kind, line, self.keeps));
            self.skips = false;
            self.taken += end + 1;
            self.seen = 0;
            if read.is_some() {
                return read;
            }
        }
    }
}

fn read(kind: &str, line: &[u8], keeps: Keeps) -> Line {
    let raw: RawLine<'_> = match serde_json::from_slice(line) {
        Ok(raw) => raw,
        Err(error) => return Line::Nonsense(error.to_string()),
    };
    let text = raw.object.get();
    let head = || serde_json::from_str::<Head>(text).unwrap_or_default();
    match raw.kind {
        "ADDED" | "MODIFIED" | "DELETED" => match object(kind, text) {
            Ok(object) => Line::Object {
                is_deleted: raw.kind == "DELETED",
                version: object.metadata().resource_version.clone(),
                text: keeps.text(&object, raw.object),
                object: Box::new(object),
            },
            Err(why) => {
                let HeadMeta {
                    namespace,
                    name,
                    resource_version: version,
                    ..
                } = head().metadata;
                Line::Unreadable {
                    namespace,
                    name,
                    version,
                    why,
                }
            }
        },
        "BOOKMARK" => {
            let metadata = head().metadata;
            let mark = metadata.annotations.get(LIST_ENDS);
            Line::Bookmark {
                ends_list: mark.is_some_and(|mark| mark == "true"),
                version: metadata.resource_version,
            }
        }
        "ERROR" => {
            let Head { code, message, .. } = head();
            Line::Error { code, message }
        }
        other => Line::Nonsense(format!("type {other:?}")),
    }
}

fn object(kind: &str, text: &str) -> Result<Object, String> {
    let mut source = serde_json::Deserializer::from_str(text);
    let object = decode(kind, &mut source).map_err(|error| error.to_string())?;
    let object = object.ok_or_else(|| format!("{kind} is not taken in"))?;
    if object.metadata().name.is_empty() {
        return Err("an object without a name".to_owned());
    }
    Ok(object)
}

/// A page of a list.
pub struct Page {
    pub news: Vec<News>,
    /// Where the next page begins; empty at the end.
    pub next: String,
    pub version: String,
}

#[derive(Deserialize)]
struct RawPage<'a> {
    #[serde(default)]
    metadata: PageMeta,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PageMeta {
    #[serde(rename = "continue")]
    next: String,
    resource_version: String,
}

impl Page {
    /// # Errors
    /// What is no list.
    pub fn read(kind: &str, bytes: &[u8], keeps: Keeps) -> Result<Self, String> {
        let raw: RawPage<'_> =
            serde_json::from_slice(bytes).map_err(|error| format!("no list: {error}"))?;
        let items = raw.items.unwrap_or_default().into_iter();
        let news = items.map(|item| match object(kind, item.get()) {
            Ok(object) => {
                let text = keeps.text(&object, item);
                News::Applied(Box::new(object), text)
            }
            Err(why) => {
                let head: Head = serde_json::from_str(item.get()).unwrap_or_default();
                News::Unreadable(head.metadata.namespace, head.metadata.name, why)
            }
        });
        Ok(Self {
            news: news.collect(),
            next: raw.metadata.next,
            version: raw.metadata.resource_version,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{LINE_BYTES_MAX, Line, Lines};

    fn lines(chunks: &[&[u8]]) -> Vec<Line> {
        let mut lines = Lines::default();
        let mut read = Vec::new();
        for chunk in chunks {
            lines.push(chunk);
            while let Some(line) = lines.next("Node") {
                read.push(line);
            }
        }
        read
    }

    const NODE: &str =
        r#"{"type":"ADDED","object":{"metadata":{"name":"n1","resourceVersion":"7"}}}"#;

    #[test]
    fn lines_are_read_whatever_way_they_are_cut() {
        let text = format!("{NODE}\n\n{NODE}\n{NODE}");
        for cut in 0..text.len() {
            let (one, other) = text.as_bytes().split_at(cut);
            let read = lines(&[one, other]);
            assert_eq!(read.len(), 2, "{cut}");
            assert!(matches!(&read[1], Line::Object { version, .. } if version == "7"));
        }
    }

    #[test]
    fn nonsense_is_told_and_passed_over() {
        let long = vec![b'x'; LINE_BYTES_MAX + 1];
        let read = lines(&[&long, b"yyy\n", NODE.as_bytes(), b"\n"]);
        assert_eq!(read.len(), 2);
        assert!(matches!(&read[0], Line::Nonsense(_)));
        assert!(matches!(&read[1], Line::Object { .. }));
        for line in [
            "{\"type\":\"ADDED\",\"obj",
            "{\"type\":\"WHAT\",\"object\":{}}",
            "[]",
        ] {
            let read = lines(&[line.as_bytes(), b"\n"]);
            assert!(matches!(read[..], [Line::Nonsense(_)]), "{line}");
        }
        let read = lines(&[b"{\"type\":\"ADDED\",\"object\":{\"metadata\":{}}}\n"]);
        assert!(matches!(read[..], [Line::Unreadable { .. }]));
    }

    #[test]
    fn bookmarks_and_errors_are_told_apart() {
        let read = lines(&[
            br#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}"#,
            b"\n",
            br#"{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}}"#,
            b"\n",
        ]);
        assert!(matches!(
            &read[0],
            Line::Bookmark { version, ends_list: true } if version == "9"
        ));
        assert!(matches!(&read[1], Line::Error { code: 410, .. }));
    }
}
