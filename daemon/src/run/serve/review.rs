//! Asking the API server who a token is, and what they may.
//!
//! Mirrors the delegated authentication and authorisation of `apiserver/pkg/server/options`: answers
//! are kept for a while, a bounded number of them, and no answer is a no.

use crate::run::client::{Api, ApiError};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Answers that are kept.
const KEPT_MAX: usize = 4096;

/// Somebody who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub struct User {
    #[serde(rename = "username")]
    pub name: String,
    pub uid: String,
    pub groups: Vec<String>,
    pub extra: BTreeMap<String, Vec<String>>,
}

/// Answers by question, for a while.
struct Kept<K, V> {
    answers: Mutex<HashMap<K, (V, Instant)>>,
}

impl<K: Eq + Hash, V: Clone> Kept<K, V> {
    fn new() -> Self {
        Self {
            answers: Mutex::new(HashMap::new()),
        }
    }

    fn get(&self, key: &K) -> Option<V> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let (answer, until) = answers.get(key)?;
        (Instant::now() < *until).then(|| answer.clone())
    }

    fn put(&self, key: K, answer: V, time: Duration) {
        if time.is_zero() {
            return;
        }
        let now = Instant::now();
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= KEPT_MAX {
            answers.retain(|_, (_, until)| now < *until);
        }
        if answers.len() < KEPT_MAX {
            answers.insert(key, (answer, now + time));
        }
    }
}

/// Both reviews.
pub struct Reviews {
    authentication: Api,
    authorization: Api,
    tokens: Kept<String, Option<User>>,
    accesses: Kept<(User, String, String), (bool, String)>,
    token_time: Duration,
    yes_time: Duration,
    no_time: Duration,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenReview {
    status: TokenStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenStatus {
    authenticated: bool,
    user: User,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AccessReview {
    status: AccessStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AccessStatus {
    allowed: bool,
    denied: bool,
    reason: String,
}

impl Reviews {
    /// `times`: how long the answer about a token, a yes and a no are kept.
    pub fn new(authentication: Api, authorization: Api, times: [Duration; 3]) -> Self {
        let [token_time, yes_time, no_time] = times;
        Self {
            authentication,
            authorization,
            tokens: Kept::new(),
            accesses: Kept::new(),
            token_time,
            yes_time,
            no_time,
        }
    }

    /// Whose token it is; `None` if the server does not know it.
    ///
    /// # Errors
    /// The server does not say.
    pub async fn user_of(&self, token: &str) -> Result<Option<User>, ApiError> {
        let key = token.to_owned();
        if let Some(known) = self.tokens.get(&key) {
            return Ok(known);
        }
        let body = json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token},
        });
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        let bytes = self.authentication.post(path, &body).await?;
        let review: TokenReview =
            serde_json::from_slice(&bytes).map_err(|error| ApiError::Unclear(error.to_string()))?;
        let user = review.status.authenticated.then_some(review.status.user);
        self.tokens.put(key, user.clone(), self.token_time);
        Ok(user)
    }

    /// Whether the user may, and why not.
    ///
    /// # Errors
    /// The server does not say.
    pub async fn allows(
        &self,
        user: &User,
        verb: &str,
        path: &str,
    ) -> Result<(bool, String), ApiError> {
        let key = (user.clone(), verb.to_owned(), path.to_owned());
        if let Some(known) = self.accesses.get(&key) {
            return Ok(known);
        }
        let body = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": user.name,
                "uid": user.uid,
                "groups": user.groups,
                "extra": user.extra,
                "nonResourceAttributes": {"verb": verb, "path": path},
            },
        });
        let reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let bytes = self.authorization.post(reviews, &body).await?;
        let review: AccessReview =
            serde_json::from_slice(&bytes).map_err(|error| ApiError::Unclear(error.to_string()))?;
        let AccessStatus {
            allowed,
            denied,
            reason,
        } = review.status;
        let answer = (allowed && !denied, reason);
        let time = if answer.0 {
            self.yes_time
        } else {
            self.no_time
        };
        self.accesses.put(key, answer.clone(), time);
        Ok(answer)
    }
}
