//! `PrioritySort`: the pod of higher priority is tried first; of equals, the one queued earlier.
//!
//! Mirrors `plugins/queuesort/priority_sort.go`.

use core::cmp::Ordering;

/// Order of two pods by (priority, time of entry in any unit): `Less` is tried first.
pub fn order(a: (i32, u64), b: (i32, u64)) -> Ordering {
    b.0.cmp(&a.0).then(a.1.cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use super::order;
    use core::cmp::Ordering;

    #[test]
    fn priority_comes_first_and_then_time_without_overflow() {
        assert_eq!(order((i32::MAX, 9), (i32::MIN, 1)), Ordering::Less);
        assert_eq!(order((5, 2), (5, 1)), Ordering::Greater);
    }
}
