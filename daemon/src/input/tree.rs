//! A YAML document as a tree whose values know their lines.

use berth_core::object::decode::Value;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use std::fmt;

/// A value and where it stands.
#[derive(Debug)]
pub struct Tree {
    /// Line within the document, from 1.
    pub line: u32,
    /// First byte of its text within the document, and the number of bytes.
    text: (usize, usize),
    pub node: Node,
}

#[derive(Debug)]
pub enum Node {
    /// Null, boolean, number or text.
    Scalar(Value),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

impl Tree {
    /// The value without its lines. `document` is the text that the tree was read of.
    pub fn value(&self, document: &str) -> Value {
        match &self.node {
            Node::Scalar(value) => self.scalar(value, document),
            Node::List(entries) => {
                let entries = entries.iter().map(|entry| entry.value(document));
                Value::List(entries.collect())
            }
            Node::Map(fields) => {
                let fields = fields
                    .iter()
                    .map(|(key, tree)| (key.clone(), tree.value(document)));
                Value::Map(fields.collect())
            }
        }
    }

    /// A number too large for a float is text to kubectl's parser: `2e848593` is a fine hash.
    fn scalar(&self, value: &Value, document: &str) -> Value {
        let (start, length) = self.text;
        match (value, document.get(start..start.saturating_add(length))) {
            (Value::Float(number), Some(text))
                if number.is_infinite() && !text.to_ascii_lowercase().contains("inf") =>
            {
                Value::String(text.to_owned())
            }
            _ => value.clone(),
        }
    }

    /// The value of a key, if this is a map that has it.
    pub fn field(&self, name: &str) -> Option<&Self> {
        let Node::Map(fields) = &self.node else {
            return None;
        };
        let field = fields.iter().find(|(key, _)| key == name);
        field.map(|(_, tree)| tree)
    }

    /// The text of a key, if it is there and is one.
    pub fn text(&self, name: &str) -> Option<&str> {
        match &self.field(name)?.node {
            Node::Scalar(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// Line of the field at `path` (`spec.containers[0].resources.requests[example.com/gpu]`), or
    /// of the last part of it that is there.
    pub fn line_of(&self, path: &str) -> u32 {
        let mut tree = self;
        for step in path
            .split(['.', '['])
            .map(|step| step.trim_end_matches(']'))
        {
            let next = match &tree.node {
                Node::Map(_) => tree.field(step),
                Node::List(entries) => step
                    .parse()
                    .ok()
                    .and_then(|index: usize| entries.get(index)),
                Node::Scalar(_) => None,
            };
            match next {
                Some(next) => tree = next,
                None => break,
            }
        }
        tree.line
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned {
            value,
            referenced,
            defined,
        } = Spanned::<Node>::deserialize(deserializer)?;
        let span = defined.span();
        let byte = |byte: Option<u64>| byte.unwrap_or(0) as usize;
        Ok(Self {
            line: referenced.line() as u32,
            text: (byte(span.byte_offset()), byte(span.byte_len())),
            node: value,
        })
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Bool(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        let value = i64::try_from(value).map_or(Value::Unsigned(value), Value::Signed);
        Ok(Node::Scalar(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Signed(value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Float(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Scalar(Value::String(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = sequence.next_element()? {
            entries.push(entry);
        }
        Ok(Node::List(entries))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Node::Map(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::Tree;
    use berth_core::object::decode::Value;

    fn tree(text: &str) -> Tree {
        serde_saphyr::from_str(text).expect("the text is YAML")
    }

    #[test]
    fn a_path_leads_to_the_line_of_its_last_part_that_is_there() {
        let tree = tree("a:\n  b:\n  - c: 1\n  - example.com/gpu: 2\n");
        assert_eq!(tree.line_of("a.b[0].c"), 3);
        assert_eq!(tree.line_of("a.b[1][example.com/gpu]"), 4);
        assert_eq!(tree.line_of("a.b[7].c"), 3);
        assert_eq!(tree.line_of("absent"), 1);
    }

    #[test]
    fn a_number_beyond_floats_is_the_text_that_was_written() {
        let text = "\u{e4}: 2e848593\n";
        let options = serde_saphyr::options! {
            non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::PassThrough,
        };
        let tree: Tree =
            serde_saphyr::from_str_with_options(text, options).expect("the text is YAML");
        let expected = Value::String("2e848593".to_owned());
        assert_eq!(
            tree.value(text),
            Value::Map([("\u{e4}".to_owned(), expected)].into())
        );
    }
}
