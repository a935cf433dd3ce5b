//! Results that come in one order and leave in another.

use std::collections::BTreeMap;

/// Hands out results by their place, each as soon as all before it have come.
///
/// Holds only what came early: nothing when the orders agree.
#[derive(Debug)]
pub struct Ordered<T> {
    early: BTreeMap<usize, T>,
    next: usize,
}

impl<T> Ordered<T> {
    pub fn new() -> Self {
        Self {
            early: BTreeMap::new(),
            next: 0,
        }
    }

    /// Takes the result of `place` and hands out those that can leave, in order.
    pub fn put(&mut self, place: usize, result: T) -> impl Iterator<Item = T> + '_ {
        self.early.insert(place, result);
        std::iter::from_fn(|| {
            let result = self.early.remove(&self.next)?;
            self.next += 1;
            Some(result)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Ordered;

    #[test]
    fn results_leave_by_place_as_soon_as_they_can() {
        let mut ordered = Ordered::new();
        assert_eq!(ordered.put(1, 'b').collect::<String>(), "");
        assert_eq!(ordered.put(0, 'a').collect::<String>(), "ab");
        assert_eq!(ordered.put(2, 'c').collect::<String>(), "c");
    }
}
