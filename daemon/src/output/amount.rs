//! Amounts of resources as text.

/// Powers of 1024 and their suffixes, largest first.
const BINARY: [(i128, &str); 6] = [
    (1 << 60, "Ei"),
    (1 << 50, "Pi"),
    (1 << 40, "Ti"),
    (1 << 30, "Gi"),
    (1 << 20, "Mi"),
    (1 << 10, "Ki"),
];

/// An amount in canonical form, exact: `500m`, `4`, `8Gi`, `7730941133`.
///
/// `amount` is in milli-cores for `cpu`, in whole units for all else.
pub fn exact(resource: &str, amount: i128) -> String {
    if resource == "cpu" {
        return cpu(amount);
    }
    let suffix = BINARY
        .iter()
        .find(|(unit, _)| is_bytes(resource) && amount != 0 && amount % unit == 0);
    match suffix {
        Some((unit, suffix)) => format!("{}{suffix}", amount / unit),
        None => amount.to_string(),
    }
}

/// An amount for people, bytes with at most three digits: `7.2Gi`.
pub fn rounded(resource: &str, amount: i128) -> String {
    if resource == "cpu" {
        return cpu(amount);
    }
    let unit = BINARY
        .iter()
        .find(|(unit, _)| is_bytes(resource) && amount.abs() >= *unit);
    let Some((unit, suffix)) = unit else {
        return amount.to_string();
    };
    let tenths = (amount * 10 + amount.signum() * unit / 2) / unit;
    if tenths.abs() >= 1000 || tenths % 10 == 0 {
        format!("{}{suffix}", (tenths + tenths.signum() * 5) / 10)
    } else {
        format!("{}.{}{suffix}", tenths / 10, (tenths % 10).abs())
    }
}

/// Whole percent of `allocatable`, rounded down so that 100 is full; absent when there is none.
pub fn percent(requested: i128, allocatable: i64) -> Option<i128> {
    (allocatable > 0).then(|| requested.saturating_mul(100) / i128::from(allocatable))
}

fn cpu(milli: i128) -> String {
    if milli % 1000 == 0 {
        (milli / 1000).to_string()
    } else {
        format!("{milli}m")
    }
}

/// Whether a resource is counted in bytes.
fn is_bytes(resource: &str) -> bool {
    resource == "memory" || resource == "ephemeral-storage" || resource.starts_with("hugepages-")
}

#[cfg(test)]
mod tests {
    use super::{exact, percent, rounded};

    #[test]
    fn exact_amounts_are_canonical_and_lose_nothing() {
        assert_eq!(exact("cpu", 500), "500m");
        assert_eq!(exact("cpu", 4000), "4");
        assert_eq!(exact("memory", 8 << 30), "8Gi");
        assert_eq!(exact("memory", (8 << 30) + 1), "8589934593");
        assert_eq!(exact("memory", 0), "0");
        assert_eq!(exact("nvidia.com/gpu", 1024), "1024");
    }

    #[test]
    fn rounded_bytes_have_three_digits_at_most() {
        assert_eq!(rounded("memory", 0), "0");
        assert_eq!(rounded("memory", 1023), "1023");
        assert_eq!(rounded("memory", 8 << 30), "8Gi");
        assert_eq!(rounded("memory", 7_730_941_133), "7.2Gi");
        assert_eq!(rounded("memory", 500 << 20), "500Mi");
        assert_eq!(rounded("memory", (500 << 20) + (400 << 10)), "500Mi");
        assert_eq!(rounded("cpu", 3900), "3900m");
        assert_eq!(rounded("nvidia.com/gpu", 4096), "4096");
    }

    #[test]
    fn percent_reaches_100_only_when_full() {
        assert_eq!(percent(3999, 4000), Some(99));
        assert_eq!(percent(4000, 4000), Some(100));
        assert_eq!(percent(5000, 4000), Some(125));
        assert_eq!(percent(1, 0), None);
    }
}
