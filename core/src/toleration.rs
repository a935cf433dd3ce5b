//! Taints and tolerations, as words of a record.
//!
//! A taint is `[key, value, effect]`, a toleration `[key or 0, operator, value, effect]`. Mirrors
//! `staging/src/k8s.io/api/core/v1/toleration.go`.

use crate::capacity::CapacityExceeded;
use crate::intern::{Texts, Word, Writer};

/// Effects of taints and tolerations; 0 stands for an empty one.
pub(crate) mod effect {
    use super::Word;
    pub(crate) const ANY: Word = 0;
    pub(crate) const NO_SCHEDULE: Word = 1;
    pub(crate) const PREFER_NO_SCHEDULE: Word = 2;
    pub(crate) const NO_EXECUTE: Word = 3;
    pub(crate) const OTHER: Word = 4;

    pub(crate) fn from_name(name: &str) -> Word {
        match name {
            "" => ANY,
            "NoSchedule" => NO_SCHEDULE,
            "PreferNoSchedule" => PREFER_NO_SCHEDULE,
            "NoExecute" => NO_EXECUTE,
            _ => OTHER,
        }
    }
}

const EQUAL: Word = 0;
const TOLERATES_ANY_VALUE: Word = 1;
/// `Gt`, `Lt` (their gate is off in 1.37) and unknown operators match no taint.
const TOLERATES_NOTHING: Word = 2;

/// A toleration is `[key or 0, operator, value, effect]`; those of a pod are sorted afterwards.
pub(crate) fn write_toleration(
    writer: &mut Writer,
    texts: &mut Texts,
    toleration: &crate::object::Toleration,
) -> Result<(), CapacityExceeded> {
    if toleration.key.is_empty() {
        writer.number(0)?;
    } else {
        writer.text(texts, &toleration.key)?;
    }
    writer.number(match toleration.operator.as_str() {
        "" | "Equal" => EQUAL,
        "Exists" => TOLERATES_ANY_VALUE,
        _ => TOLERATES_NOTHING,
    })?;
    writer.text(texts, &toleration.value)?;
    writer.number(effect::from_name(&toleration.effect))
}

/// A taint as words: `[key, value, effect]`.
#[derive(Clone, Copy)]
pub(crate) struct TaintView {
    pub(crate) key: Word,
    pub(crate) value: Word,
    pub(crate) effect: Word,
}

pub(crate) fn taints(words: &[Word]) -> impl Iterator<Item = TaintView> {
    let taints = words.as_chunks::<3>().0.iter();
    taints.map(|&[key, value, effect]| TaintView { key, value, effect })
}

/// Whether one of the tolerations, which are sorted, whose effect is `considered` tolerates the
/// taint. Mirrors `Toleration.ToleratesTaint` in `staging/src/k8s.io/api/core/v1/toleration.go`.
pub(crate) fn tolerated(
    tolerations: &[Word],
    taint: TaintView,
    mut considered: impl FnMut(Word) -> bool,
) -> bool {
    let (tolerations, _) = tolerations.as_chunks::<4>();
    let of_key = |wanted: Word| {
        let first = tolerations.partition_point(|[key, ..]| *key < wanted);
        let rest = tolerations.get(first..).unwrap_or_default();
        rest.iter().take_while(move |[key, ..]| *key == wanted)
    };
    let mut of_both = of_key(0).chain(of_key(taint.key));
    of_both.any(|&[_, operator, value, effect]| {
        considered(effect)
            && (effect == effect::ANY || effect == taint.effect)
            && match operator {
                EQUAL => value == taint.value,
                operator => operator == TOLERATES_ANY_VALUE,
            }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// The rule as upstream loops over it.
    fn plain(tolerations: &[[Word; 4]], taint: TaintView) -> bool {
        tolerations.iter().any(|[key, operator, value, effect]| {
            (*effect == effect::ANY || *effect == taint.effect)
                && (*key == 0 || *key == taint.key)
                && (*operator == TOLERATES_ANY_VALUE || *operator == EQUAL && *value == taint.value)
        })
    }

    proptest! {
        #[test]
        fn sorted_tolerations_tolerate_what_any_of_them_tolerates(
            recipes in vec((0..6_u32, 0..3_u32, 1..4_u32, 0..5_u32), 0..40),
            (key, value, effect) in (1..6_u32, 1..4_u32, 1..5_u32),
        ) {
            let mut tolerations: Vec<[Word; 4]> = recipes
                .into_iter()
                .map(|(key, operator, value, effect)| [key, operator, value, effect])
                .collect();
            let taint = TaintView { key, value, effect };
            let expected = plain(&tolerations, taint);
            tolerations.sort_unstable();
            prop_assert_eq!(tolerated(tolerations.as_flattened(), taint, |_| true), expected);
        }
    }
}
