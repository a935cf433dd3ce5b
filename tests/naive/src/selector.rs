//! Label selectors. Mirrors `apimachinery/pkg/labels/selector.go` and
//! `apimachinery/pkg/apis/meta/v1/helpers.go`.

use berth_core::object::{LabelSelector, Labels, Requirement};

/// Which labels are selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// None at all.
    Nothing,
    /// Those that meet every rule; without rules, all.
    Every(Vec<Rule>),
}

/// One rule of a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
    Greater(i64),
    Less(i64),
}

impl Selector {
    /// An absent selector selects nothing, an empty one everything.
    ///
    /// # Errors
    ///
    /// One requirement that is not valid spoils the selector.
    pub fn of_labels(selector: Option<&LabelSelector>) -> Result<Self, String> {
        let Some(selector) = selector else {
            return Ok(Self::Nothing);
        };
        let mut rules = Vec::new();
        for (key, value) in &selector.match_labels {
            check(key, std::slice::from_ref(value))?;
            rules.push(Rule::equals(key, value));
        }
        for requirement in &selector.match_expressions {
            if matches!(requirement.operator.as_str(), "Gt" | "Lt") {
                return Err(not_an_operator(&requirement.operator));
            }
            rules.push(Rule::of(requirement)?);
        }
        Ok(Self::Every(rules))
    }

    /// Equality on every pair, not validated.
    pub fn of_map(pairs: &Labels) -> Self {
        Self::Every(
            pairs
                .iter()
                .map(|(key, value)| Rule::equals(key, value))
                .collect(),
        )
    }

    /// Both must hold.
    #[must_use]
    pub fn and(mut self, more: Vec<Rule>) -> Self {
        if let Self::Every(rules) = &mut self {
            rules.extend(more);
        }
        self
    }

    /// Whether it has no rule and so selects everything; one that selects nothing is not empty.
    pub fn is_empty(&self) -> bool {
        *self == Self::Every(Vec::new())
    }

    /// Whether `labels` are selected.
    pub fn matches(&self, labels: &Labels) -> bool {
        match self {
            Self::Nothing => false,
            Self::Every(rules) => rules.iter().all(|rule| rule.matches(labels)),
        }
    }
}

impl Rule {
    /// The key must be there with this value.
    pub fn equals(key: &str, value: &str) -> Self {
        Self {
            key: key.to_owned(),
            test: Test::In(vec![value.to_owned()]),
        }
    }

    /// A requirement of a label or node selector.
    ///
    /// # Errors
    ///
    /// Unknown operator, invalid key or value, wrong number of values.
    pub fn of(requirement: &Requirement) -> Result<Self, String> {
        let values = &requirement.values;
        let number = || match values.as_slice() {
            [value] => value
                .parse::<i64>()
                .map_err(|_| format!("{value:?} is not an integer")),
            _ => Err("exactly one value is required".to_owned()),
        };
        let test = match requirement.operator.as_str() {
            "In" | "NotIn" if values.is_empty() => return Err("values are required".to_owned()),
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                return Err("values must be empty".to_owned());
            }
            "In" => Test::In(values.clone()),
            "NotIn" => Test::NotIn(values.clone()),
            "Exists" => Test::Exists,
            "DoesNotExist" => Test::DoesNotExist,
            "Gt" => Test::Greater(number()?),
            "Lt" => Test::Less(number()?),
            other => return Err(not_an_operator(other)),
        };
        check(&requirement.key, values)?;
        Ok(Self {
            key: requirement.key.clone(),
            test,
        })
    }

    /// Whether `labels` meet the rule.
    pub fn matches(&self, labels: &Labels) -> bool {
        let value = labels.get(&self.key);
        let number = value.and_then(|value| value.parse::<i64>().ok());
        match &self.test {
            Test::In(values) => value.is_some_and(|value| values.contains(value)),
            Test::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Test::Exists => value.is_some(),
            Test::DoesNotExist => value.is_none(),
            Test::Greater(bound) => number.is_some_and(|number| number > *bound),
            Test::Less(bound) => number.is_some_and(|number| number < *bound),
        }
    }
}

/// An optional DNS subdomain and `/`, then a name. Mirrors `content.IsLabelKey`.
pub fn is_label_key(key: &str) -> bool {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    prefix.is_none_or(is_dns_subdomain) && !name.is_empty() && is_label_value(name)
}

/// Empty, or a name. Mirrors `content.IsLabelValue`.
pub fn is_label_value(value: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    value.is_empty()
        || (value.len() <= 63
            && value.bytes().all(inner)
            && value.as_bytes()[0].is_ascii_alphanumeric()
            && value.as_bytes()[value.len() - 1].is_ascii_alphanumeric())
}

fn is_dns_subdomain(text: &str) -> bool {
    let is_part = |part: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !part.is_empty()
            && part.bytes().all(inner)
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(is_part)
}

fn check(key: &str, values: &[String]) -> Result<(), String> {
    if !is_label_key(key) {
        return Err(format!("{key:?} is not a label key"));
    }
    match values.iter().find(|value| !is_label_value(value)) {
        Some(value) => Err(format!("{value:?} is not a label value")),
        None => Ok(()),
    }
}

fn not_an_operator(operator: &str) -> String {
    format!("{operator:?} is not a valid label selector operator")
}
