//! Quantities, against big integers.

use super::oracle::{exact, saturated};
use berth_core::Quantity;

/// The oracle's arithmetic is exact for texts up to this size.
const BYTES_MAX: usize = 512;

/// Reads one text as the oracle does; what is printed reads as the same amount.
pub fn run(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else {
        return;
    };
    if text.len() > BYTES_MAX {
        return;
    }
    let (quantity, exact) = match (Quantity::parse(text), exact(text)) {
        (Ok(quantity), Some(exact)) => (quantity, exact),
        (Err(error), None) => {
            let position = error.position();
            assert!(text.is_char_boundary(position), "{text:?}: {position}");
            return;
        }
        (read, exact) => {
            let exact = exact.map(|exact| exact.nanos);
            panic!("{text:?}: {read:?}, and exactly {exact:?}");
        }
    };
    assert_eq!(quantity.nanos(), exact.saturated(), "{text:?}");
    assert_eq!(
        quantity.value(),
        saturated(&exact.rounded_up(9)),
        "{text:?}"
    );
    assert_eq!(
        quantity.milli_value(),
        saturated(&exact.rounded_up(6)),
        "{text:?}"
    );
    let printed = quantity.to_string();
    assert_eq!(printed, exact.canonical(), "{text:?}");
    assert_eq!(Quantity::parse(&printed), Ok(quantity), "{text:?}");
    // In an object the same text means the same.
    let json = serde_json::to_string(text).expect("a text");
    let in_object: Quantity = serde_json::from_str(&json).expect("a quantity");
    assert_eq!(in_object, quantity, "{text:?}");
}
