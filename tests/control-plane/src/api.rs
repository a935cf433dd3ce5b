//! The API as one of its users, by paths and JSON values.

use http::{Method, Request};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::Value;
use std::path::Path;

/// The path of all nodes.
pub const NODES: &str = "/api/v1/nodes";

/// The path of all pods, of every namespace.
pub const PODS: &str = "/api/v1/pods";

/// The path of a namespace's pods.
pub fn pods(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods")
}

/// A connection. Cheap to clone.
#[derive(Clone)]
pub struct Api {
    client: Client,
}

impl Api {
    /// As the user of a kubeconfig.
    pub async fn new(kubeconfig: &Path) -> Self {
        Self::build(kubeconfig, None).await
    }

    /// The same user at another port of this machine, such as a scheduler's own.
    pub async fn at_port(kubeconfig: &Path, port: u16) -> Self {
        Self::build(kubeconfig, Some(port)).await
    }

    async fn build(kubeconfig: &Path, port: Option<u16>) -> Self {
        let file = Kubeconfig::read_from(kubeconfig).expect("the kubeconfig is ours");
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(file, &options).await;
        let mut config = config.expect("the kubeconfig is ours");
        if let Some(port) = port {
            let url = format!("https://127.0.0.1:{port}");
            config.cluster_url = url.parse().expect("a URL");
        }
        // What the server says is what a test wants to know.
        config.default_retry = false;
        let client = Client::try_from(config).expect("the kubeconfig is ours");
        Self { client }
    }

    /// What is at a path.
    pub async fn get(&self, path: &str) -> kube::Result<Value> {
        self.call(Method::GET, path, None).await
    }

    /// The same as text.
    pub async fn text(&self, path: &str) -> kube::Result<String> {
        let request = request(Method::GET, path, None);
        self.client.request_text(request).await
    }

    /// The code of the answer to a GET with these headers, and its text.
    pub async fn ask(&self, path: &str, headers: &[(&str, &str)]) -> kube::Result<(u16, String)> {
        let mut request = Request::get(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(kube::client::Body::empty());
        let request = request.expect("a path that a URL can hold");
        let answer = self.client.send(request).await?;
        let code = answer.status().as_u16();
        let bytes = answer.into_body().collect_bytes().await?;
        Ok((code, String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// All items of a list.
    pub async fn list(&self, path: &str) -> kube::Result<Vec<Value>> {
        let mut list = self.get(path).await?;
        let items = list["items"].take();
        Ok(items.as_array().cloned().unwrap_or_default())
    }

    /// Creates an object in the list at a path, or calls a subresource.
    pub async fn create(&self, path: &str, object: &Value) -> kube::Result<Value> {
        self.call(Method::POST, path, Some(object)).await
    }

    /// Replaces the object at a path.
    pub async fn replace(&self, path: &str, object: &Value) -> kube::Result<Value> {
        self.call(Method::PUT, path, Some(object)).await
    }

    /// Merges `change` into the object at a path, list by list as its type says.
    pub async fn patch(&self, path: &str, change: &Value) -> kube::Result<Value> {
        self.call(Method::PATCH, path, Some(change)).await
    }

    /// Deletes the object at a path, with `DeleteOptions`.
    pub async fn delete(&self, path: &str, options: &Value) -> kube::Result<Value> {
        self.call(Method::DELETE, path, Some(options)).await
    }

    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> kube::Result<Value> {
        self.client.request(request(method, path, body)).await
    }
}

fn request(method: Method, path: &str, body: Option<&Value>) -> Request<Vec<u8>> {
    let form = if method == Method::PATCH {
        "application/strategic-merge-patch+json"
    } else {
        "application/json"
    };
    let body = body.map(|body| body.to_string().into_bytes());
    let request = Request::builder().method(method).uri(path);
    let request = request.header(http::header::CONTENT_TYPE, form);
    let request = request.body(body.unwrap_or_default());
    request.expect("a path that a URL can hold")
}
