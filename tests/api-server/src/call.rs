//! What was asked, for the test to count.

/// A request that came, whatever became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Kubernetes' verb: get, list, watch, create, update, patch, delete.
    pub verb: String,
    /// The resource, with its subresource behind a slash; the whole path of what names none.
    pub resource: String,
    /// Empty of all namespaces, or of a kind without.
    pub namespace: String,
    /// Empty of a list.
    pub name: String,
    /// As it was sent, behind the question mark.
    pub query: String,
    /// As it was sent.
    pub body: String,
    /// The code of the answer; 0 while there is none, or if it was cut.
    pub code: u16,
}
