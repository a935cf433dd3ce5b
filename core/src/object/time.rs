//! Times as the API writes them.

const MINUTE: i64 = 60;
const HOUR: i64 = 3_600;
const DAY: i64 = 86_400;
const NANOS: i64 = 1_000_000_000;
/// Go's parser takes a zone of 24 hours and one of 60 minutes, as some people write them.
const ZONE_HOUR_MAX: i64 = 24;
const ZONE_MINUTE_MAX: i64 = 60;

/// Nanoseconds since 1970 of an RFC 3339 time, such as `2000-01-01T00:00:00Z`; `None` if it is none.
///
/// Mirrors `time.Parse(time.RFC3339, ..)` of Go, of which the forms that no API server writes
/// (an hour of one digit, a comma before the fraction) are refused.
pub fn parse_time(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| digits(text, from, to);
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    let bytes = text.as_bytes();
    if !marks.iter().all(|(at, mark)| bytes.get(*at) == Some(mark)) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let is_date = (1..=12).contains(&month) && (1..=last_day(year, month)).contains(&day);
    if !is_date || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut rest = text.get(19..)?;
    let mut nanos = 0;
    if let Some(fraction) = rest.strip_prefix('.') {
        let count = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if count == 0 {
            return None;
        }
        let read = fraction.get(..count.min(9))?;
        let unit = 10_i64.checked_pow(9_u32.checked_sub(read.len() as u32)?)?;
        nanos = total(&[(read.parse().ok()?, unit)])?;
        rest = fraction.get(count..)?;
    }
    let offset = match rest.as_bytes() {
        [b'Z'] => 0,
        [sign @ (b'+' | b'-'), _, _, b':', _, _] => {
            let (hour, minute) = (digits(rest, 1, 3)?, digits(rest, 4, 6)?);
            if hour > ZONE_HOUR_MAX || minute > ZONE_MINUTE_MAX {
                return None;
            }
            let sign = if *sign == b'+' { 1 } else { -1 };
            total(&[(hour, HOUR), (minute, MINUTE)])?.checked_mul(sign)?
        }
        _ => return None,
    };
    let seconds = total(&[
        (days(year, month, day)?, DAY),
        (hour, HOUR),
        (minute, MINUTE),
        (second, 1),
        (offset, -1),
    ])?;
    total(&[(seconds, NANOS), (nanos, 1)])
}

/// The number in a part of the text, if that is digits alone.
fn digits(text: &str, from: usize, to: usize) -> Option<i64> {
    let digits = text.get(from..to)?;
    let are_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    are_digits.then(|| digits.parse().ok()).flatten()
}

/// The last day of a month from 1 to 12.
fn last_day(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The sum of so many of each unit; `None` beyond the ends of the type.
fn total(parts: &[(i64, i64)]) -> Option<i64> {
    let mut parts = parts.iter();
    parts.try_fold(0_i64, |sum, (count, unit)| {
        sum.checked_add(count.checked_mul(*unit)?)
    })
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    // Years begin in March, so that the leap day is the last.
    let year = total(&[(year, 1), (i64::from(month <= 2), -1)])?;
    let month = total(&[(month, 1), (9, 1)])? % 12;
    total(&[
        (year, 365),
        (year.div_euclid(4), 1),
        (year.div_euclid(100), -1),
        (year.div_euclid(400), 1),
        (total(&[(month, 153), (2, 1)])? / 5, 1),
        (day, 1),
        (-719_469, 1),
    ])
}

#[cfg(test)]
mod tests {
    use super::parse_time;

    #[test]
    fn times_of_the_api_are_read_and_others_are_not() {
        let seconds = |text| parse_time(text).map(|nanos| nanos / 1_000_000_000);
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds("2000-01-01T00:00:00Z"), Some(946_684_800));
        assert_eq!(seconds("2024-02-29T12:00:00+02:00"), Some(1_709_200_800));
        assert_eq!(seconds("1999-12-31T23:59:59Z"), Some(946_684_799));
        assert_eq!(seconds("1969-12-31T23:30:01-00:30"), Some(1));
        assert_eq!(seconds("1970-01-02T01:00:00+24:60"), Some(0));
        assert_eq!(parse_time("1970-01-01T00:00:00.5Z"), Some(500_000_000));
        let most_digits = parse_time("1970-01-01T00:00:00.1234567899Z");
        assert_eq!(most_digits, Some(123_456_789));
        for text in [
            "",
            "yesterday",
            "2000-13-01T00:00:00Z",
            "2000-01-01T00:00:00",
            "2000-01-01T00:00:60Z",
            "2000-02-30T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2000-01-01T00:00:00.Z",
            // Each part of a zone is two digits, within Go's ranges.
            "2000-01-01T00:00:00+-1:00",
            "2000-01-01T00:00:00+01:+1",
            "2000-01-01T00:00:00+25:00",
            "2000-01-01T00:00:00+00:61",
        ] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }
}
