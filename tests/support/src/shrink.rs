//! The least of a JSON document that still has a property: elements of lists and fields of objects
//! are left out as long as it holds.

use serde_json::Value;

/// Place of a value in a document: keys and numbers from the root on.
type Place = Vec<Step>;

#[derive(Clone, Debug)]
enum Step {
    Key(String),
    At(usize),
}

/// The search for a smaller document.
struct Shrink<'a> {
    least: Value,
    holds: &'a mut dyn FnMut(&Value) -> bool,
    tries_left: usize,
    changed: bool,
}

/// Leaves out of `document` what it can without `holds` becoming false, in at most `tries` tries.
pub fn shrink(document: Value, tries: usize, holds: &mut dyn FnMut(&Value) -> bool) -> Value {
    let mut shrink = Shrink {
        least: document,
        holds,
        tries_left: tries,
        changed: true,
    };
    while shrink.changed && shrink.tries_left > 0 {
        shrink.changed = false;
        shrink.visit(&Place::new());
    }
    shrink.least
}

impl Shrink<'_> {
    /// Keeps what `change` makes of the value at `place` if the property still holds.
    fn try_change(&mut self, place: &Place, change: impl FnOnce(&mut Value)) -> bool {
        if self.tries_left == 0 {
            return false;
        }
        self.tries_left -= 1;
        let mut smaller = self.least.clone();
        change(value_at(&mut smaller, place));
        let holds = (self.holds)(&smaller);
        if holds {
            self.least = smaller;
            self.changed = true;
        }
        holds
    }

    /// Whole parts first: what is gone need not be looked into.
    fn visit(&mut self, place: &Place) {
        match value_at(&mut self.least, place).clone() {
            Value::Array(elements) => {
                self.thin_out(place, elements.len());
                let left = value_at(&mut self.least, place)
                    .as_array()
                    .map_or(0, Vec::len);
                for at in 0..left {
                    self.visit(&below(place, Step::At(at)));
                }
            }
            Value::Object(fields) => {
                for key in fields.keys() {
                    let gone = self.try_change(place, |value| {
                        value.as_object_mut().expect("an object").remove(key);
                    });
                    if !gone {
                        self.visit(&below(place, Step::Key(key.clone())));
                    }
                }
            }
            _ => {}
        }
    }

    /// Leaves out runs of elements, from the end, long runs first.
    fn thin_out(&mut self, place: &Place, len: usize) {
        let mut run = len;
        let mut len = len;
        while run > 0 {
            let mut end = len;
            while end > 0 {
                let start = end.saturating_sub(run);
                let gone = self.try_change(place, |value| {
                    value.as_array_mut().expect("a list").drain(start..end);
                });
                if gone {
                    len -= end - start;
                }
                end = start;
            }
            run = run.min(len.max(1)) / 2;
        }
    }
}

fn below(place: &Place, step: Step) -> Place {
    let mut place = place.clone();
    place.push(step);
    place
}

fn value_at<'a>(document: &'a mut Value, place: &Place) -> &'a mut Value {
    place.iter().fold(document, |value, step| match step {
        Step::Key(key) => &mut value[key.as_str()],
        Step::At(at) => &mut value[*at],
    })
}

#[cfg(test)]
mod tests {
    use super::shrink;
    use serde_json::{Value, json};

    #[test]
    fn what_the_property_needs_stays_and_nothing_else() {
        let document = json!({"a": [1, {"b": 2, "c": [3, 4]}, 5, 6, 7], "d": {"e": 8}});
        let mut holds = |value: &Value| value.to_string().contains('4') && value["a"].is_array();
        let least = shrink(document, 1000, &mut holds);
        assert_eq!(least, json!({"a": [{"c": [4]}]}));
    }

    #[test]
    fn the_number_of_tries_is_kept() {
        let mut tries = 0;
        let document = json!({"a": (0..100).collect::<Vec<_>>()});
        shrink(document, 7, &mut |_| {
            tries += 1;
            false
        });
        assert_eq!(tries, 7);
    }
}
