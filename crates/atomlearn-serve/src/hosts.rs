//! Which pages may call the server: only its own.

use crate::reply::Refusal;
use hyper::StatusCode;
use hyper::header::{HOST, HeaderMap, ORIGIN};
use std::net::IpAddr;

/// Names under which the server may be called.
///
/// A page elsewhere can point a name of its own at this machine and then call the server as if it were its own origin.
/// So only `localhost`, plain addresses (which nobody can point elsewhere) and names given by the user are answered.
pub struct Hosts {
    names: Vec<String>,
}

impl Hosts {
    /// Also these names.
    pub fn new(names: &[String]) -> Self {
        Hosts { names: names.iter().map(|name| name.to_ascii_lowercase()).collect() }
    }

    /// Refuses requests for other names and requests of other pages.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let text = |value: &hyper::header::HeaderValue| value.to_str().unwrap_or("?").to_ascii_lowercase();
        let Some(host) = headers.get(HOST).map(text) else {
            return Err(Refusal::bad("the request has no Host header; send one, as HTTP/1.1 asks for"));
        };
        let name = without_port(&host);
        let is_address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok();
        if !(name == "localhost" || is_address || self.names.iter().any(|held| held == name)) {
            let name: String = name.chars().take(80).collect();
            let message = format!("this server does not answer to the name `{name}`; start it with --host {name}");
            return Err(Refusal::new(StatusCode::FORBIDDEN, message));
        }
        match headers.get(ORIGIN).map(text) {
            Some(origin) if origin.split_once("://").is_none_or(|(_, from)| from != host) => {
                Err(Refusal::new(StatusCode::FORBIDDEN, "pages of other origins may not call this server"))
            }
            _ => Ok(()),
        }
    }
}

/// `name:80` and `[::1]:80` without the port.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_addresses_and_origins() {
        let hosts = Hosts::new(&["Faces.Example".into()]);
        let check = |host: Option<&str>, origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            host.map(|host| headers.insert(HOST, host.parse().unwrap()));
            origin.map(|origin| headers.insert(ORIGIN, origin.parse().unwrap()));
            hosts.check(&headers).is_ok()
        };
        for good in
            ["localhost", "LOCALHOST:80", "127.0.0.1:8642", "[::1]:8642", "[::1]", "192.0.2.1", "faces.example:1"]
        {
            assert!(check(Some(good), None), "{good}");
        }
        for bad in ["evil.example", "localhost.evil.example", "", "127.0.0.1.evil.example:80", "é"] {
            assert!(!check(Some(bad), None), "{bad}");
        }
        assert!(!check(None, None));
        assert!(check(Some("localhost:80"), Some("http://localhost:80")));
        assert!(!check(Some("localhost:80"), Some("http://localhost:81")));
        assert!(!check(Some("localhost:80"), Some("https://evil.example")));
        assert!(!check(Some("localhost:80"), Some("null")));
    }
}
