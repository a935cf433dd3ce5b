//! Plugin names as column headers.

/// Headers that let a table with these rows fit into `width` columns, as far as breaking names
/// such as `NodeResourcesFit` into lines can do that.
pub fn fit(headers: Vec<&str>, rows: &[Vec<String>], width: usize) -> Vec<String> {
    let content = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(String::len).max().unwrap_or(0)
    };
    let needed: usize = headers
        .iter()
        .enumerate()
        .map(|(column, header)| content(column).max(header.len()) + 2)
        .sum();
    if needed <= width.saturating_add(2) {
        return headers.into_iter().map(str::to_owned).collect();
    }
    headers.into_iter().map(broken).collect()
}

/// A name broken before its capitals, each line as long as the longest word allows.
fn broken(name: &str) -> String {
    let words = words(name);
    let longest = words.iter().map(|word| word.len()).max().unwrap_or(0);
    let mut text = String::new();
    let mut length = 0;
    for word in words {
        if length > 0 && length + word.len() > longest {
            text.push('\n');
            length = 0;
        }
        text.push_str(word);
        length += word.len();
    }
    text
}

/// `NodeResourcesFit` to `Node`, `Resources`, `Fit`; a run of capitals stays whole.
fn words(name: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut before_is_lower = false;
    for (index, letter) in name.char_indices() {
        if letter.is_uppercase() && before_is_lower {
            words.extend(name.get(start..index));
            start = index;
        }
        before_is_lower = letter.is_lowercase();
    }
    words.extend(name.get(start..));
    words
}

#[cfg(test)]
mod tests {
    use super::fit;

    #[test]
    fn names_are_broken_only_when_the_table_is_too_wide() {
        let rows = vec![vec!["n1".to_owned(), "90".to_owned()]];
        let headers = vec!["NODE", "NodeResourcesBalancedAllocation"];
        assert_eq!(fit(headers.clone(), &rows, 80), headers);
        assert_eq!(
            fit(headers, &rows, 30),
            ["NODE", "Node\nResources\nBalanced\nAllocation"]
        );
    }
}
