//! What the server says no with.

use crate::kind::Target;
use serde_json::{Value, json};

/// A `Status` of a failure.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// HTTP's.
    pub code: u16,
    /// Kubernetes' word for it.
    pub reason: String,
    /// For people.
    pub message: String,
    /// Seconds, in the header and in the body.
    pub retry_after: Option<u32>,
    details: Value,
}

impl Refusal {
    /// One that says nothing of objects.
    pub fn new(code: u16, reason: &str, message: &str) -> Self {
        Self {
            code,
            reason: reason.to_owned(),
            message: message.to_owned(),
            retry_after: None,
            details: json!({}),
        }
    }

    /// 429, to be tried again after some seconds.
    pub fn too_many_requests(seconds: u32) -> Self {
        let message = "Too many requests, please try again later.";
        let mut refusal = Self::new(429, "TooManyRequests", message);
        refusal.retry_after = Some(seconds);
        refusal
    }

    /// 410: what the client goes by is forgotten.
    pub fn expired() -> Self {
        let message = "The provided continue parameter or resource version is too old.";
        Self::new(410, "Expired", message)
    }

    /// 504: the client has seen a version that is not there yet.
    pub(crate) fn too_new(wanted: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {wanted}, current: {current}");
        let mut refusal = Self::new(504, "Timeout", &message);
        refusal.retry_after = Some(1);
        let cause =
            json!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"});
        refusal.details["causes"] = json!([cause]);
        refusal
    }

    pub(crate) fn bad_request(message: &str) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message)
    }

    pub(crate) fn no_such_path() -> Self {
        Self::new(
            404,
            "NotFound",
            "the server could not find the requested resource",
        )
    }

    pub(crate) fn not_found(target: &Target) -> Self {
        let message = format!("{} {:?} not found", target.kind.qualified(), target.name);
        Self::about(target, 404, "NotFound", &message)
    }

    pub(crate) fn already_exists(target: &Target) -> Self {
        let message = format!(
            "{} {:?} already exists",
            target.kind.qualified(),
            target.name
        );
        Self::about(target, 409, "AlreadyExists", &message)
    }

    pub(crate) fn conflict(target: &Target, why: &str) -> Self {
        let mut resource = target.kind.qualified();
        if target.subresource == "binding" {
            resource += "/binding";
        }
        let name = &target.name;
        let message = format!("Operation cannot be fulfilled on {resource} {name:?}: {why}");
        Self::about(target, 409, "Conflict", &message)
    }

    pub(crate) fn invalid(target: &Target, why: &str) -> Self {
        let (kind, name) = (target.kind.kind, &target.name);
        let message = format!("{kind} {name:?} is invalid: {why}");
        Self::about(target, 422, "Invalid", &message)
    }

    fn about(target: &Target, code: u16, reason: &str, message: &str) -> Self {
        let mut refusal = Self::new(code, reason, message);
        let kind = target.kind;
        refusal.details = json!({"name": target.name, "group": kind.group, "kind": kind.resource});
        refusal
    }

    /// The body.
    pub fn status(&self) -> Value {
        let mut details = self.details.clone();
        if let Some(seconds) = self.retry_after {
            details["retryAfterSeconds"] = json!(seconds);
        }
        json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": details,
            "code": self.code,
        })
    }
}
