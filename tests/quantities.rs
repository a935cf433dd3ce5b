//! Quantities against kube-scheduler's own answers and against big integers.
//!
//! `golden/quantities.jsonl` holds `Quantity.String()`, `Value()` and `MilliValue()` of
//! k8s.io/apimachinery v0.37.2 for each text, or its error.

#[path = "quantities/oracle.rs"]
mod oracle;

use berth_core::Quantity;
use berth_core::quantity::ParseQuantityError;
use num_bigint::BigInt;
use oracle::{Family, exact};
use proptest::prelude::*;

#[derive(serde::Deserialize)]
struct Row {
    r#in: String,
    canonical: Option<String>,
    value: i64,
    milli: i64,
    error: Option<String>,
}

fn rows() -> impl Iterator<Item = Row> {
    include_str!("golden/quantities.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a golden row"))
}

fn parse(text: &str) -> Quantity {
    Quantity::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

#[test]
fn what_upstream_refuses_is_refused_with_its_text() {
    let mut refused = 0;
    for row in rows() {
        let Some(upstream) = row.error else { continue };
        let text = row.r#in;
        let error = Quantity::parse(&text).expect_err(&text);
        let wording = error.to_string();
        assert!(wording.starts_with(&upstream), "{text:?}: {wording}");
        refused += 1;
    }
    assert_eq!(refused, 31);
}

#[test]
fn every_golden_text_reads_as_upstream_or_saturates() {
    let (mut values, mut millis, mut canonicals) = (0, 0, 0);
    for row in rows().filter(|row| row.error.is_none()) {
        let text = row.r#in.as_str();
        let Some(exact) = exact(text) else {
            // B13: upstream reads a text without a digit as 0.
            assert!(!text.contains(|letter: char| letter.is_ascii_digit()));
            let error = Quantity::parse(text).expect_err(text);
            assert!(
                matches!(error, ParseQuantityError::Numeric { .. }),
                "{text}"
            );
            continue;
        };
        let quantity = parse(text);
        assert_eq!(quantity.nanos(), exact.saturated(), "{text}");

        // Upstream wraps beyond 64 bits, and rounds large negative amounts the wrong way.
        let upstream_rounds = exact.small || !exact.negative;
        let value = exact.rounded_up(9);
        assert_eq!(quantity.value(), oracle::saturated(&value), "{text}");
        if upstream_rounds && i64::try_from(&value).is_ok() {
            assert_eq!(quantity.value(), row.value, "{text}");
            values += 1;
        }
        let milli = exact.rounded_up(6);
        assert_eq!(quantity.milli_value(), oracle::saturated(&milli), "{text}");
        if upstream_rounds && i64::try_from(&milli).is_ok() {
            assert_eq!(quantity.milli_value(), row.milli, "{text}");
            millis += 1;
        }

        let canonical = quantity.to_string();
        assert_eq!(canonical, exact.canonical(), "{text}");
        let upstream = row.canonical.expect("a row without error has a text");
        // Upstream keeps any number of digits, some texts as they came, and beyond E no suffix.
        let saturated = i128::try_from(&exact.nanos).is_err();
        let repeated = upstream == text && upstream != canonical;
        let beyond_suffixes = exact.family == Family::Decimal && canonical.ends_with("000E");
        if !saturated && !repeated && !beyond_suffixes {
            assert_eq!(canonical, upstream, "{text}");
            canonicals += 1;
        }
    }
    // As many of upstream's answers as the conditions above leave.
    assert_eq!((values, millis, canonicals), (890, 702, 927));
}

/// Texts of all forms, most of them quantities.
fn texts() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        "[0-9]{1,22}",
        "[0-9]{0,12}\\.[0-9]{0,12}",
        "0{0,3}[0-9]{1,4}0{0,30}",
        "(9223372036854775|18446744073709551)[0-9]{1,5}",
    ];
    let suffix = prop_oneof![
        3 => "(n|u|m|k|M|G|T|P|E)?",
        3 => "(K|M|G|T|P|E)i",
        2 => "[eE][+-]?[0-9]{1,2}",
        1 => "[eE][+-]?[0-9]{1,21}",
        1 => "[eEinumkKMGTP]{0,2}[+-]?[0-9]{0,2}",
    ];
    ("[+-]?", number, suffix).prop_map(|(sign, number, suffix)| sign + &number + &suffix)
}

fn quantities() -> impl Strategy<Value = (String, Quantity)> {
    texts().prop_filter_map("not a quantity", |text| {
        let quantity = Quantity::parse(&text).ok()?;
        Some((text, quantity))
    })
}

fn clamped(amount: &BigInt) -> i128 {
    let limit = if *amount < BigInt::ZERO {
        i128::MIN
    } else {
        i128::MAX
    };
    i128::try_from(amount).unwrap_or(limit)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn reading_is_exact_and_saturates(text in texts()) {
        match (Quantity::parse(&text), exact(&text)) {
            (Ok(quantity), Some(exact)) => {
                prop_assert_eq!(quantity.nanos(), exact.saturated());
                prop_assert_eq!(quantity.value(), oracle::saturated(&exact.rounded_up(9)));
                prop_assert_eq!(quantity.milli_value(), oracle::saturated(&exact.rounded_up(6)));
                prop_assert_eq!(quantity.to_string(), exact.canonical());
            }
            (Err(error), None) => prop_assert!(error.position() <= text.len()),
            (quantity, exact) => {
                prop_assert!(false, "{:?} against {:?}", quantity, exact.map(|exact| exact.nanos));
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused_as_by_the_oracle(text in "[+-.0-9eEinumkKMGTPx\u{e9} ]{0,12}") {
        prop_assert_eq!(Quantity::parse(&text).is_ok(), exact(&text).is_some(), "{:?}", text);
    }

    #[test]
    fn printing_then_reading_is_the_identity((_, quantity) in quantities()) {
        let printed = quantity.to_string();
        let read = parse(&printed);
        prop_assert_eq!(read, quantity);
        prop_assert_eq!(read.to_string(), printed);
    }

    #[test]
    fn sums_differences_and_order_are_exact((_, a) in quantities(), (_, b) in quantities()) {
        let (x, y) = (BigInt::from(a.nanos()), BigInt::from(b.nanos()));
        prop_assert_eq!(a.saturating_add(b).nanos(), clamped(&(&x + &y)));
        prop_assert_eq!(a.saturating_sub(b).nanos(), clamped(&(&x - &y)));
        prop_assert_eq!(a.cmp(&b), x.cmp(&y));
        prop_assert_eq!(a == b, x == y);
        prop_assert_eq!(a.max(b).nanos(), clamped(&x.max(y)));
    }
}
