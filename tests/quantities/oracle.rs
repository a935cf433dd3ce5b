//! Quantities by the definition: big integers, one step after the other.

use num_bigint::{BigInt, BigUint};

/// What a text says, before any limit of a machine integer.
pub struct Exact {
    pub negative: bool,
    /// Units of 10^-9, rounded up.
    pub nanos: BigUint,
    pub family: Family,
    /// Whether upstream keeps the amount as a 64-bit mantissa and a power of ten.
    pub small: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Family {
    Decimal,
    Binary,
    Exponent,
}

const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// Far beyond what the texts of these tests can bring back into range.
const EXPONENT_MAX: i128 = 3000;

fn power(base: u32, exponent: u32) -> BigUint {
    BigUint::from(base).pow(exponent)
}

fn divided_up(amount: &BigUint, by: &BigUint) -> BigUint {
    (amount + by - 1_u32) / by
}

/// Reads `text`, or `None` if it is no quantity.
pub fn exact(text: &str) -> Option<Exact> {
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mantissa: BigUint = format!("{whole}{fraction}").parse().ok()?;

    let (family, bits, exponent) =
        if let Some(thousands) = DECIMAL.iter().position(|known| *known == suffix) {
            (Family::Decimal, 0, 3 * thousands as i128 - 9)
        } else if let Some(kibis) = BINARY.iter().position(|known| *known == suffix) {
            (Family::Binary, 10 * kibis as u32, 0)
        } else {
            let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            (Family::Exponent, 0, i128::from(exponent))
        };

    let shift = exponent.clamp(-EXPONENT_MAX, EXPONENT_MAX) + 9 - fraction.len() as i128;
    let shifted = mantissa * power(2, bits);
    let mut nanos = if shift < 0 {
        divided_up(&shifted, &power(10, shift.unsigned_abs() as u32))
    } else {
        shifted * power(10, shift as u32)
    };
    let mut family = family;
    if family == Family::Binary {
        nanos = nanos.min(BigUint::from(i64::MAX as u64) * power(10, 9));
        if nanos < power(10, 9) {
            family = Family::Decimal;
        }
    }

    let digits = whole.trim_start_matches('0').len().max(1) + fraction.len();
    let small = match bits {
        0 => digits <= 18 && shift >= 0,
        _ => fraction.is_empty() && digits + bits as usize * 3 / 10 < 15,
    };
    Some(Exact {
        negative,
        nanos,
        family,
        small,
    })
}

impl Exact {
    /// Units of 10^-9, within what 128 bits hold.
    pub fn saturated(&self) -> i128 {
        let magnitude = i128::try_from(&self.nanos).unwrap_or(i128::MAX);
        if self.negative { -magnitude } else { magnitude }
    }

    /// The amount in steps of 10^`places` x 10^-9, rounded up, without any limit.
    pub fn rounded_up(&self, places: u32) -> BigInt {
        let steps = BigInt::from(divided_up(&self.nanos, &power(10, places)));
        if self.negative { -steps } else { steps }
    }

    /// The saturated amount in canonical form.
    pub fn canonical(&self) -> String {
        let nanos = self.saturated();
        let sign = if nanos < 0 { "-" } else { "" };
        let digits = nanos.unsigned_abs().to_string();
        if nanos == 0 {
            return digits;
        }
        let zeros = digits.len() - digits.trim_end_matches('0').len();
        if self.family == Family::Binary
            && zeros >= 9
            && nanos.unsigned_abs() >= 1024 * 10_u128.pow(9)
        {
            let units = nanos.unsigned_abs() / 10_u128.pow(9);
            let kibis = (units.trailing_zeros() / 10).min(6);
            return format!("{sign}{}{}", units >> (10 * kibis), BINARY[kibis as usize]);
        }
        let thousands = match self.family {
            Family::Exponent => zeros / 3,
            _ => (zeros / 3).min(9),
        };
        let mantissa = &digits[..digits.len() - 3 * thousands];
        match (self.family, 3 * thousands as i32 - 9) {
            (Family::Exponent, 0) => format!("{sign}{mantissa}"),
            (Family::Exponent, exponent) => format!("{sign}{mantissa}e{exponent}"),
            _ => format!("{sign}{mantissa}{}", DECIMAL[thousands]),
        }
    }
}

/// `amount` within what 64 bits hold.
pub fn saturated(amount: &BigInt) -> i64 {
    let limit = if *amount < BigInt::ZERO {
        i64::MIN
    } else {
        i64::MAX
    };
    i64::try_from(amount).unwrap_or(limit)
}
