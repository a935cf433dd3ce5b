//! Who a token is, and what a user may do.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What the test has granted; everything else is refused.
#[derive(Debug, Default)]
pub(crate) struct Reviews {
    /// The user and the groups of a token.
    pub(crate) tokens: BTreeMap<String, (String, Vec<String>)>,
    /// User, verb, and resource or path.
    pub(crate) rights: BTreeSet<(String, String, String)>,
}

impl Reviews {
    /// Answers a `TokenReview`.
    pub(crate) fn token(&self, mut review: Value) -> Value {
        let token = review["spec"]["token"].as_str().unwrap_or_default();
        review["status"] = match self.tokens.get(token) {
            Some((user, groups)) => json!({
                "authenticated": true,
                "user": {"username": user, "groups": groups},
            }),
            None => json!({"authenticated": false}),
        };
        review
    }

    /// Answers a `SubjectAccessReview`.
    pub(crate) fn access(&self, mut review: Value) -> Value {
        let spec = &review["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (asked, what) = match &spec["resourceAttributes"] {
            Value::Null => (&spec["nonResourceAttributes"], "path"),
            asked => (asked, "resource"),
        };
        let right = (
            text(&spec["user"]),
            text(&asked["verb"]),
            text(&asked[what]),
        );
        review["status"] = json!({"allowed": self.rights.contains(&right)});
        review
    }
}
