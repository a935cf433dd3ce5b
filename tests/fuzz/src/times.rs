//! Times of objects and durations of configurations.

use berth_core::object::config::Duration;
use berth_core::object::parse_time;

const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// What is read as a time has the form of one and its fields' ranges; a duration that is read is
/// printed as one that reads as the same.
pub fn run(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else {
        return;
    };
    if let Some(nanos) = parse_time(text) {
        time(text, nanos);
    }
    if let Ok(duration) = Duration::parse(text) {
        let printed = duration.to_string();
        assert_eq!(
            Duration::parse(&printed),
            Ok(duration),
            "{text:?}: {printed:?}"
        );
    }
}

/// Holds the text against the day counted one by one.
fn time(text: &str, nanos: i64) {
    let number = |from: usize, to: usize| -> i64 {
        let digits = text.get(from..to).expect("ASCII up to the seconds");
        assert!(digits.bytes().all(|byte| byte.is_ascii_digit()), "{text:?}");
        digits.parse().expect("digits")
    };
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    let zone = text.trim_end_matches('Z');
    let (own, offset) = match zone.get(19..).and_then(|rest| rest.find(['+', '-'])) {
        Some(at) => {
            let (own, zone) = zone.split_at(19 + at);
            let part = |from: usize| -> i64 {
                let digits = zone.get(from..from + 2).expect("two digits");
                assert!(digits.bytes().all(|byte| byte.is_ascii_digit()), "{text:?}");
                digits.parse().expect("digits")
            };
            assert_eq!(zone.len(), 6, "{text:?}");
            let seconds = part(1) * 3600 + part(4) * 60;
            (
                own,
                if zone.starts_with('-') {
                    -seconds
                } else {
                    seconds
                },
            )
        }
        None => (zone, 0),
    };
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_of_month = |year: i64, month: i64| match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    assert!(
        (1..=12).contains(&month) && (1..=days_of_month(year, month)).contains(&day),
        "{text:?}"
    );
    let years: i64 = if year >= 1970 {
        (1970..year)
            .map(|year| 365 + i64::from(is_leap(year)))
            .sum()
    } else {
        -(year..1970)
            .map(|year| 365 + i64::from(is_leap(year)))
            .sum::<i64>()
    };
    let months: i64 = (1..month).map(|month| days_of_month(year, month)).sum();
    let seconds = (years + months + day - 1) * 86_400
        + number(11, 13) * 3600
        + number(14, 16) * 60
        + number(17, 19)
        - offset;
    let fraction: String = own
        .get(19..)
        .expect("a rest")
        .chars()
        .skip(1)
        .take(9)
        .collect();
    let fraction: i64 = format!("{fraction:0<9}").parse().expect("digits");
    assert_eq!(nanos, seconds * NANOS_PER_SECOND + fraction, "{text:?}");
}
