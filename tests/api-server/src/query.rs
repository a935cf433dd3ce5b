//! What stands behind the question mark.

use crate::refusal::Refusal;

/// Names and values, decoded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    /// Label selectors are refused, for here they would select nothing.
    pub(crate) fn new(text: &str) -> Result<Self, Refusal> {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        });
        let query = Self {
            pairs: pairs.collect(),
        };
        if query.get("labelSelector").is_empty() {
            Ok(query)
        } else {
            Err(Refusal::bad_request("this server has no label selectors"))
        }
    }

    /// Empty when absent.
    pub(crate) fn get(&self, name: &str) -> &str {
        let mut pairs = self.pairs.iter();
        let pair = pairs.find(|(known, _)| known == name);
        pair.map_or("", |(_, value)| value)
    }

    pub(crate) fn is_set(&self, name: &str) -> bool {
        matches!(self.get(name), "1" | "true" | "True")
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Refusal> {
        let text = self.get(name);
        let number = text.parse().ok();
        if text.is_empty() || number.is_some() {
            Ok(number)
        } else {
            Err(Refusal::bad_request(&format!(
                "{name}={text:?} is no number"
            )))
        }
    }

    /// The version asked for, 0 when none is.
    pub(crate) fn version(&self) -> Result<u64, Refusal> {
        Ok(self.number("resourceVersion")?.unwrap_or_default())
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || char::from(rest.next()?).to_digit(16);
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => match (digit(), digit()) {
                (Some(high), Some(low)) => (16 * high + low) as u8,
                _ => b'%',
            },
            other => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
