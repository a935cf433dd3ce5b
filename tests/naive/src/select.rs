//! Which of the best nodes is taken. Mirrors `pkg/scheduler/framework/sorted_nodes.go`.

/// Rule for equal totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ties {
    /// The root of the heap that upstream builds in search order.
    #[default]
    Heap,
    /// The lexicographically first name.
    FirstName,
    /// The first in search order.
    First,
}

/// Index of the node to take. `nodes`: name and total, in search order, at least one.
pub fn select(nodes: &[(&str, i64)], ties: Ties) -> usize {
    let best = nodes.iter().map(|(_, total)| *total).max();
    let mut tied = (0..nodes.len()).filter(|&index| Some(nodes[index].1) == best);
    match ties {
        Ties::Heap => heap_root(nodes),
        Ties::FirstName => tied.min_by_key(|&index| nodes[index].0).unwrap_or(0),
        Ties::First => tied.next().unwrap_or(0),
    }
}

/// Go's `heap.Init` on the list, whose root `heap.Pop` takes.
fn heap_root(nodes: &[(&str, i64)]) -> usize {
    let mut heap: Vec<usize> = (0..nodes.len()).collect();
    let better = |heap: &[usize], i: usize, j: usize| nodes[heap[i]].1 > nodes[heap[j]].1;
    for top in (0..heap.len() / 2).rev() {
        let mut parent = top;
        loop {
            let left = 2 * parent + 1;
            if left >= heap.len() {
                break;
            }
            let right = left + 1;
            let child = if right < heap.len() && better(&heap, right, left) {
                right
            } else {
                left
            };
            if !better(&heap, child, parent) {
                break;
            }
            heap.swap(parent, child);
            parent = child;
        }
    }
    heap[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Upstream's documented consequence: of the best, the one that comes first when positions are
    /// visited parent, left subtree, right subtree.
    fn first_in_pre_order(nodes: &[(&str, i64)], position: usize, best: i64) -> Option<usize> {
        let (_, total) = nodes.get(position)?;
        if *total == best {
            return Some(position);
        }
        first_in_pre_order(nodes, 2 * position + 1, best)
            .or_else(|| first_in_pre_order(nodes, 2 * position + 2, best))
    }

    #[test]
    fn heap_root_is_the_first_of_the_best_in_pre_order() {
        for count in 1..=9_u32 {
            for pattern in 0..3_u32.pow(count) {
                let nodes: Vec<(&str, i64)> = (0..count)
                    .map(|digit| ("", i64::from(pattern / 3_u32.pow(digit) % 3)))
                    .collect();
                let best = nodes.iter().map(|(_, total)| *total).max();
                let expected = first_in_pre_order(&nodes, 0, best.unwrap_or(0));
                assert_eq!(Some(select(&nodes, Ties::Heap)), expected, "{nodes:?}");
            }
        }
    }

    #[test]
    fn first_name_and_first_place_are_taken_among_the_best_only() {
        let nodes = [("a", 1), ("d", 2), ("c", 2), ("b", 2)];
        assert_eq!(select(&nodes, Ties::FirstName), 3);
        assert_eq!(select(&nodes, Ties::First), 1);
    }
}
