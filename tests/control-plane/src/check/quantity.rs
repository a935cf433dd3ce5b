//! Amounts as Kubernetes writes them.

/// Thousandths of the unit, rounded up. Panics on what an API server would not have let in.
pub(super) fn thousandths(text: &str) -> i128 {
    let digits = text.find(|letter: char| !matches!(letter, '0'..='9' | '.' | '+' | '-'));
    let (number, suffix) = text.split_at(digits.unwrap_or(text.len()));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mantissa = format!("{whole}{fraction}");
    let mantissa: i128 = mantissa.parse().expect("an amount of the API server's");
    let (tens, twos) = scale(suffix).unwrap_or_else(|| panic!("{text:?} is no amount"));
    let tens = tens + 3 - fraction.len() as i32;
    let up = mantissa.saturating_mul(1 << twos);
    let factor = 10_i128.pow(tens.unsigned_abs());
    if tens < 0 {
        up.div_euclid(factor) + i128::from(up.rem_euclid(factor) > 0)
    } else {
        up.saturating_mul(factor)
    }
}

/// A suffix as exponents of ten and of two.
fn scale(suffix: &str) -> Option<(i32, u32)> {
    const TENS: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
    const TWOS: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    if let Some(place) = TENS.iter().position(|known| *known == suffix) {
        return Some((3 * place as i32 - 9, 0));
    }
    if let Some(place) = TWOS.iter().position(|known| *known == suffix) {
        return Some((0, 10 * place as u32));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    Some((exponent.parse().ok()?, 0))
}

#[cfg(test)]
mod tests {
    use super::thousandths;

    #[test]
    fn amounts_are_thousandths_rounded_up() {
        let cases = [
            ("1", 1_000),
            ("100m", 100),
            ("1.5", 1_500),
            ("0.0001", 1),
            ("5u", 1),
            ("64Mi", 64 << 20),
            ("1.5Gi", 3 << 29),
            ("2k", 2_000_000),
            ("1e3", 1_000_000),
            ("3E", 3_000_000_000_000_000_000_000),
        ];
        for (text, expected) in cases {
            let bytes = if text.ends_with('i') { 1_000 } else { 1 };
            assert_eq!(thousandths(text), expected * bytes, "{text}");
        }
    }
}
