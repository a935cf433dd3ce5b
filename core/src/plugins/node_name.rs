//! `NodeName`: a pod that names its node goes there and nowhere else.
//!
//! Mirrors `plugins/nodename/node_name.go`. A pod with `spec.nodeName` is bound, is not decided on,
//! and is judged by an evaluation as if it named no node; so the plugin never refuses here.
