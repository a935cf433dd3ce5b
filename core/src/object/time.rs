//! Times as the API writes them.

const DAY: i64 = 86_400;
const NANOS: i64 = 1_000_000_000;

/// Nanoseconds since 1970 of an RFC 3339 time, such as `2000-01-01T00:00:00Z`; `None` if it is none.
pub fn parse_time(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        if digits.bytes().all(|byte| byte.is_ascii_digit()) {
            digits.parse().ok()
        } else {
            None
        }
    };
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    let bytes = text.as_bytes();
    if !marks.iter().all(|(at, mark)| bytes.get(*at) == Some(mark)) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let is_date = (1..=12).contains(&month) && (1..=31).contains(&day);
    if !is_date || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut rest = text.get(19..)?;
    let mut nanos = 0;
    if let Some(fraction) = rest.strip_prefix('.') {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        let read = fraction.get(..digits.min(9))?;
        nanos = read.parse::<i64>().ok()? * 10_i64.pow(9 - read.len() as u32);
        rest = fraction.get(digits..)?;
    }
    let offset = match rest.as_bytes() {
        [b'Z'] => 0,
        [sign @ (b'+' | b'-'), _, _, b':', _, _] => {
            let part = |from: usize| rest.get(from..from + 2)?.parse::<i64>().ok();
            let seconds = part(1)? * 3600 + part(4)? * 60;
            if *sign == b'+' { seconds } else { -seconds }
        }
        _ => return None,
    };
    let seconds = days(year, month, day) * DAY + hour * 3600 + minute * 60 + second - offset;
    seconds.checked_mul(NANOS)?.checked_add(nanos)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day is the last.
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year
        - 719_468
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
        assert_eq!(parse_time("1970-01-01T00:00:00.5Z"), Some(500_000_000));
        for text in [
            "",
            "yesterday",
            "2000-13-01T00:00:00Z",
            "2000-01-01T00:00:00",
        ] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }
}
