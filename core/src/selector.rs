//! Label selectors and node selector terms, as words of a record.
//!
//! A *requirement* is `[key, operator, count, values..]`; a *selector* is `[words, kind,
//! requirements..]`, where `words` counts what follows; a *term* of a node selector is `[words,
//! valid, expressions, requirements.., (is_name, operator, count, values..)..]`. Labels are `[key, value]`
//! pairs. Mirrors `labels/selector.go` of apimachinery and `nodeaffinity.go` of component-helpers.

use crate::capacity::CapacityExceeded;
use crate::intern::{Texts, Word, Writer, text_word, word_text};
use crate::object::label::{is_label_value, is_qualified_name};
use crate::object::{LabelSelector, Labels, NodeSelectorTerm, Requirement};

const IN: Word = 0;
const NOT_IN: Word = 1;
const EXISTS: Word = 2;
const DOES_NOT_EXIST: Word = 3;
const GREATER: Word = 4;
const LESS: Word = 5;

/// Selects nothing, whatever the requirements.
const NOTHING: Word = 0;
const REQUIREMENTS: Word = 1;

/// Labels of a pod, node or namespace: pairs of key and value, sorted by the key's word.
#[derive(Clone, Copy)]
pub(crate) struct LabelsView<'a>(pub(crate) &'a [Word]);

impl LabelsView<'_> {
    pub(crate) fn value(self, key: Word) -> Option<Word> {
        let (pairs, _) = self.0.as_chunks::<2>();
        let at = if pairs.len() <= FEW_LABELS {
            pairs.iter().position(|[own, _]| *own == key)
        } else {
            pairs.binary_search_by_key(&key, |[own, _]| *own).ok()
        };
        at.and_then(|at| pairs.get(at)).map(|[_, value]| *value)
    }
}

/// So many labels are looked through one by one, which is faster than halving.
const FEW_LABELS: usize = 16;

/// Labels to be looked up by [`LabelsView::value`].
pub(crate) fn write_labels(
    writer: &mut Writer,
    texts: &mut Texts,
    labels: &Labels,
) -> Result<(), CapacityExceeded> {
    let at = writer.len();
    write_pairs(writer, texts, labels)?;
    writer.sort::<2>(texts, at);
    Ok(())
}

/// Pairs that must all hold, in the order of their keys' texts.
pub(crate) fn write_pairs(
    writer: &mut Writer,
    texts: &mut Texts,
    labels: &Labels,
) -> Result<(), CapacityExceeded> {
    for (key, value) in labels {
        writer.text(texts, key)?;
        writer.text(texts, value)?;
    }
    Ok(())
}

/// Splits off the first item of a sequence whose items begin with the count of words after it.
pub(crate) fn split_item(words: &[Word]) -> Option<(&[Word], &[Word])> {
    let (count, rest) = words.split_first()?;
    rest.split_at_checked(*count as usize)
}

/// Items of such a sequence.
pub(crate) fn items(words: &[Word]) -> impl Iterator<Item = &[Word]> {
    let mut rest = words;
    core::iter::from_fn(move || {
        let (item, after) = split_item(rest)?;
        rest = after;
        Some(item)
    })
}

/// Writes an item and, once its length is known, its count of words before it.
pub(crate) fn write_item(
    writer: &mut Writer,
    texts: &mut Texts,
    write: impl FnOnce(&mut Writer, &mut Texts) -> Result<(), CapacityExceeded>,
) -> Result<(), CapacityExceeded> {
    let at = writer.len();
    writer.number(0)?;
    let start = writer.len();
    write(writer, texts)?;
    writer.set(at, writer.len().saturating_sub(start) as u32);
    Ok(())
}

/// `also` are further pairs that must hold (`matchLabelKeys`).
pub(crate) fn write_selector<'a>(
    writer: &mut Writer,
    texts: &mut Texts,
    selector: Option<&'a LabelSelector>,
    also: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<(), CapacityExceeded> {
    write_item(writer, texts, |writer, texts| {
        write_bare_selector(writer, texts, selector, also)
    })
}

/// A selector without the count of its words.
pub(crate) fn write_bare_selector<'a>(
    writer: &mut Writer,
    texts: &mut Texts,
    selector: Option<&'a LabelSelector>,
    also: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<(), CapacityExceeded> {
    let Some(selector) = selector else {
        return writer.number(NOTHING);
    };
    writer.number(REQUIREMENTS)?;
    let own = selector
        .match_labels
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()));
    for (key, value) in also.chain(own) {
        write_pair(writer, texts, key, value)?;
    }
    for requirement in &selector.match_expressions {
        write_requirement(writer, texts, requirement)?;
    }
    Ok(())
}

/// The requirement that `key` has `value`.
pub(crate) fn write_pair(
    writer: &mut Writer,
    texts: &mut Texts,
    key: &str,
    value: &str,
) -> Result<(), CapacityExceeded> {
    writer.text(texts, key)?;
    writer.number(IN)?;
    writer.number(1)?;
    writer.text(texts, value)
}

/// The item of a selector of map pairs and, if given, of another selector's requirements.
pub(crate) fn write_requirements_header(writer: &mut Writer) -> Result<(), CapacityExceeded> {
    writer.number(REQUIREMENTS)
}

fn write_requirement(
    writer: &mut Writer,
    texts: &mut Texts,
    requirement: &Requirement,
) -> Result<(), CapacityExceeded> {
    writer.text(texts, &requirement.key)?;
    writer.number(operator(&requirement.operator).unwrap_or(IN))?;
    writer.number(requirement.values.len() as u32)?;
    for value in &requirement.values {
        writer.text(texts, value)?;
    }
    Ok(())
}

fn operator(name: &str) -> Option<Word> {
    match name {
        "In" => Some(IN),
        "NotIn" => Some(NOT_IN),
        "Exists" => Some(EXISTS),
        "DoesNotExist" => Some(DOES_NOT_EXIST),
        "Gt" => Some(GREATER),
        "Lt" => Some(LESS),
        _ => None,
    }
}

/// Whether a label selector parses; mirrors `LabelSelectorAsSelector`.
pub(crate) fn is_valid(selector: &LabelSelector) -> bool {
    let labels = selector
        .match_labels
        .iter()
        .all(|(key, value)| is_qualified_name(key) && is_label_value(value));
    labels
        && selector.match_expressions.iter().all(|requirement| {
            !matches!(requirement.operator.as_str(), "Gt" | "Lt") && requirement_parses(requirement)
        })
}

/// Mirrors `labels.NewRequirement`.
fn requirement_parses(requirement: &Requirement) -> bool {
    let values = &requirement.values;
    let count = match requirement.operator.as_str() {
        "In" | "NotIn" => !values.is_empty(),
        "Exists" | "DoesNotExist" => values.is_empty(),
        "Gt" | "Lt" => {
            values.len() == 1 && values.iter().all(|value| parse_integer(value).is_some())
        }
        _ => false,
    };
    count && is_qualified_name(&requirement.key) && values.iter().all(|value| is_label_value(value))
}

/// Whether the selector has no requirement and so matches everything.
pub(crate) fn is_everything(selector: &[Word]) -> bool {
    selector == [REQUIREMENTS]
}

/// `selector` as an item, without its count.
pub(crate) fn selects(selector: &[Word], labels: LabelsView<'_>, texts: &Texts) -> bool {
    match selector.split_first() {
        Some((&REQUIREMENTS, requirements)) => all_hold(requirements, labels, texts),
        _ => false,
    }
}

/// Whether all requirements, one after another, hold.
pub(crate) fn all_hold(mut requirements: &[Word], labels: LabelsView<'_>, texts: &Texts) -> bool {
    while let [key, operator, count, rest @ ..] = requirements {
        let (values, after) = rest
            .split_at_checked(*count as usize)
            .unwrap_or((rest, &[]));
        let value = labels.value(*key);
        let holds = match *operator {
            IN => value.is_some_and(|value| values.contains(&value)),
            NOT_IN => value.is_none_or(|value| !values.contains(&value)),
            EXISTS => value.is_some(),
            DOES_NOT_EXIST => value.is_none(),
            operator => {
                let integer =
                    |word: Word| word_text(word).and_then(|text| parse_integer(texts.text(text)));
                let pair = value
                    .and_then(integer)
                    .zip(values.first().copied().and_then(integer));
                pair.is_some_and(|(value, bound)| {
                    if operator == GREATER {
                        value > bound
                    } else {
                        value < bound
                    }
                })
            }
        };
        if !holds {
            return false;
        }
        requirements = after;
    }
    true
}

/// Go's `strconv.ParseInt(text, 10, 64)`.
fn parse_integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// Writes a term of a node selector; an empty one matches nothing, as an invalid one does.
///
/// With `pinned`, the term's one field requirement, the node's name, is left out.
pub(crate) fn write_term(
    writer: &mut Writer,
    texts: &mut Texts,
    term: &NodeSelectorTerm,
    pinned: bool,
) -> Result<(), CapacityExceeded> {
    let empty = term.match_expressions.is_empty() && term.match_fields.is_empty();
    write_item(writer, texts, |writer, texts| {
        let valid = !empty
            && term.match_expressions.iter().all(requirement_parses)
            && term.match_fields.iter().all(|field| {
                matches!(field.operator.as_str(), "In" | "NotIn") && field.values.len() == 1
            });
        writer.number(u32::from(valid))?;
        write_item(writer, texts, |writer, texts| {
            for requirement in &term.match_expressions {
                write_requirement(writer, texts, requirement)?;
            }
            Ok(())
        })?;
        for field in term.match_fields.iter().filter(|_| !pinned) {
            writer.number(u32::from(field.key == NAME_FIELD))?;
            // What is no operator of fields narrows nothing, as upstream.
            writer.number(operator(&field.operator).unwrap_or(EXISTS))?;
            writer.number(field.values.len() as u32)?;
            for value in &field.values {
                writer.text(texts, value)?;
            }
        }
        Ok(())
    })
}

/// The one field that node selectors know.
pub(crate) const NAME_FIELD: &str = "metadata.name";

/// A node, as node selectors see it.
#[derive(Clone, Copy)]
pub(crate) struct NodeFacts<'a> {
    pub(crate) name: Word,
    pub(crate) labels: LabelsView<'a>,
}

/// `term` as an item, without its count. An invalid term matches nothing.
pub(crate) fn term_matches(term: &[Word], node: NodeFacts<'_>, texts: &Texts) -> bool {
    let Some((&1, rest)) = term.split_first() else {
        return false;
    };
    let Some((expressions, fields)) = split_item(rest) else {
        return false;
    };
    all_hold(expressions, node.labels, texts)
        && fields_of(fields).all(|field| {
            let equal = field.values.iter().any(|value| {
                if field.is_name {
                    node.name == *value
                } else {
                    word_text(*value).is_some_and(|text| texts.text(text).is_empty())
                }
            });
            equal == (field.operator == IN)
        })
}

/// A requirement on a field.
#[derive(Clone, Copy)]
struct FieldView<'a> {
    /// Whether it is on the node's name; every other field is empty.
    is_name: bool,
    operator: Word,
    values: &'a [Word],
}

/// The requirements on fields behind a term's expressions.
fn fields_of(mut words: &[Word]) -> impl Iterator<Item = FieldView<'_>> + Clone {
    core::iter::from_fn(move || {
        let [is_name, operator, count, rest @ ..] = words else {
            return None;
        };
        let (values, after) = rest.split_at_checked(*count as usize)?;
        words = after;
        Some(FieldView {
            is_name: *is_name == 1,
            operator: *operator,
            values,
        })
    })
}

/// Nodes that a term of required node affinity names by `metadata.name In`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TermNames {
    /// None: it has no such field, and so may match any node.
    Any,
    /// Those that every such field lists: [`term_names_node`].
    Some,
    /// None is in every such field's list, which may be empty.
    Contradiction,
}

pub(crate) fn term_names(term: &[Word]) -> TermNames {
    let Some(first) = name_lists(term).next() else {
        return TermNames::Any;
    };
    if first.iter().any(|name| in_all_lists(term, *name)) {
        TermNames::Some
    } else {
        TermNames::Contradiction
    }
}

/// Whether the term names the node of this name.
pub(crate) fn term_names_node(term: &[Word], name: Word) -> bool {
    name_lists(term).next().is_some() && in_all_lists(term, name)
}

fn in_all_lists(term: &[Word], name: Word) -> bool {
    name_lists(term).all(|names| names.contains(&name))
}

/// The values of the term's requirements `metadata.name In`; the API server takes one in each.
fn name_lists(term: &[Word]) -> impl Iterator<Item = &[Word]> {
    let fields = term
        .get(1..)
        .and_then(split_item)
        .map_or(&[][..], |(_, fields)| fields);
    fields_of(fields)
        .filter(|field| field.is_name && field.operator == IN)
        .map(|field| field.values)
}

/// Whether `term` parses.
pub(crate) fn term_is_valid(term: &[Word]) -> bool {
    term.first() == Some(&1)
}

/// Whether a map of pairs holds, each by equality.
pub(crate) fn pairs_hold(pairs: &[Word], labels: LabelsView<'_>) -> bool {
    pairs
        .as_chunks::<2>()
        .0
        .iter()
        .all(|[key, value]| labels.value(*key) == Some(*value))
}

/// The word of an interned text, or one that no label has.
pub(crate) fn word_of(texts: &Texts, text: &str) -> Option<Word> {
    texts.find(text).map(text_word)
}

/// Whether the words are pairs of texts in the order of their keys, each key once.
#[cfg(feature = "state-file")]
pub(crate) fn is_sorted(words: &[Word]) -> bool {
    let (pairs, rest) = words.as_chunks::<2>();
    let keys = pairs.iter().map(|[key, _]| *key);
    let texts = words.iter().all(|word| word_text(*word).is_some());
    rest.is_empty() && texts && keys.is_sorted_by(|a, b| a < b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        /// Fewer and more of them than are looked through one by one.
        #[test]
        fn a_label_is_found_however_many_there_are(
            labels in proptest::collection::btree_map(0..200_u32, 0..9_u32, 0..64),
        ) {
            let words: Vec<Word> = labels.iter().flat_map(|(key, value)| [*key, *value]).collect();
            for key in 0..200 {
                let value = LabelsView(&words).value(key);
                prop_assert_eq!(value, BTreeMap::get(&labels, &key).copied());
            }
        }
    }
}
