//! A scheduler's extender that a test scripts: HTTP on loopback, an answer from a function.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How a request is answered.
#[derive(Clone, Debug)]
pub enum Reply {
    /// 200 and JSON.
    Json(Value),
    /// This code and these bytes.
    Bytes(u16, Vec<u8>),
    /// A redirect to this path of the extender itself.
    Redirect(&'static str),
    /// A body without an end.
    Endless,
    /// Nothing, for as long as the extender is there.
    Silence,
}

/// What was asked: the verb, and the body.
pub type Asked = (String, Value);

/// An extender. It is gone when this value is.
pub struct Extender {
    url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    ends: Arc<AtomicBool>,
}

impl Extender {
    /// `answer` gets each verb with its body, perhaps several at a time.
    pub fn start(answer: impl Fn(&str, &Value) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let own = Self {
            url: format!("http://{address}"),
            asked: Arc::default(),
            ends: Arc::default(),
        };
        let (asked, ends) = (own.asked.clone(), own.ends.clone());
        let answer = Arc::new(answer);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                let (asked, ends, answer) = (asked.clone(), ends.clone(), answer.clone());
                std::thread::spawn(move || {
                    // A client that goes away is its own business.
                    let _ = serve(&stream, &asked, &ends, &*answer);
                });
            }
        });
        own
    }

    /// Where it is, without a slash at the end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Everything that was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        locked(&self.asked).clone()
    }

    /// Bodies that came with a verb.
    pub fn bodies(&self, verb: &str) -> Vec<Value> {
        let asked = self.asked().into_iter();
        let of_verb = asked.filter(|(own, _)| own == verb);
        of_verb.map(|(_, body)| body).collect()
    }
}

impl Drop for Extender {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        // Wakes the one who accepts.
        let _ = TcpStream::connect(self.url.trim_start_matches("http://"));
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers the requests of a connection one by one.
fn serve(
    stream: &TcpStream,
    asked: &Mutex<Vec<Asked>>,
    ends: &AtomicBool,
    answer: &(dyn Fn(&str, &Value) -> Reply + Send + Sync),
) -> std::io::Result<()> {
    let (mut reader, mut writer) = (BufReader::new(stream), stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        assert!(line.starts_with("POST /"), "{line}");
        let mut length = 0;
        loop {
            line.clear();
            reader.read_line(&mut line)?;
            let header = line.trim().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length: ") {
                length = value.parse().expect("a number");
            }
            if let Some(value) = header.strip_prefix("content-type: ") {
                assert_eq!(value, "application/json");
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let body: Value = serde_json::from_slice(&body).expect("a request is JSON");
        let verb = path.trim_start_matches('/').to_owned();
        locked(asked).push((verb.clone(), body.clone()));
        let (code, head, bytes) = match answer(&verb, &body) {
            Reply::Json(value) => (200, String::new(), value.to_string().into_bytes()),
            Reply::Bytes(code, bytes) => (code, String::new(), bytes),
            Reply::Redirect(to) => (307, format!("location: {to}\r\n"), Vec::new()),
            Reply::Endless => {
                let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
                writer.write_all(head.as_bytes())?;
                let blanks = [b' '; 4096];
                loop {
                    writer.write_all(b"1000\r\n")?;
                    writer.write_all(&blanks)?;
                    writer.write_all(b"\r\n")?;
                }
            }
            Reply::Silence => {
                while !ends.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(20));
                }
                return Ok(());
            }
        };
        let length = bytes.len();
        let head = format!("HTTP/1.1 {code} Said\r\n{head}content-length: {length}\r\n\r\n");
        writer.write_all(head.as_bytes())?;
        writer.write_all(&bytes)?;
    }
}
