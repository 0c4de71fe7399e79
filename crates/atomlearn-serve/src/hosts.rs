//! Which pages may call the server: only its own.

use crate::reply::Refusal;
use hyper::header::{HOST, HeaderMap, ORIGIN};
use hyper::{StatusCode, Uri};
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
    pub fn check(&self, target: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let text = |value: &hyper::header::HeaderValue| value.to_str().unwrap_or("?").to_ascii_lowercase();
        let mut hosts = headers.get_all(HOST).iter().map(text);
        let Some(host) = hosts.next() else {
            return Err(Refusal::bad("the request has no Host header; send one, as HTTP/1.1 asks for"));
        };
        // Whoever stands between might go by the other one.
        if hosts.next().is_some() {
            return Err(Refusal::bad("the request has several Host headers; send exactly one"));
        }
        if target.authority().is_some_and(|target| !target.as_str().eq_ignore_ascii_case(&host)) {
            return Err(Refusal::bad("the request's target is another host than its Host header; send a path only"));
        }
        let name = without_port(&host);
        let is_address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok();
        if !(name == "localhost" || is_address || self.names.iter().any(|held| held == name)) {
            let name: String = name.chars().take(80).collect();
            let message = format!("this server does not answer to the name `{name}`; start it with --host {name}");
            return Err(Refusal::new(StatusCode::FORBIDDEN, message));
        }
        let foreign = |origin: String| origin.split_once("://").is_none_or(|(_, from)| from != host);
        if headers.get_all(ORIGIN).iter().map(text).any(foreign) {
            return Err(Refusal::new(StatusCode::FORBIDDEN, "pages of other origins may not call this server"));
        }
        Ok(())
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
mod tests {
    use super::*;

    #[test]
    fn names_addresses_and_origins() {
        let hosts = Hosts::new(&["Faces.Example".into()]);
        let check = |host: Option<&str>, origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            host.map(|host| headers.insert(HOST, host.parse().unwrap()));
            origin.map(|origin| headers.insert(ORIGIN, origin.parse().unwrap()));
            hosts.check(&Uri::from_static("/predict"), &headers).is_ok()
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

    #[test]
    fn one_host_and_no_other_target() {
        let hosts = Hosts::new(&[]);
        let check = |target: &str, names: &[&str], origins: &[&str]| {
            let mut headers = HeaderMap::new();
            for (header, values) in [(HOST, names), (ORIGIN, origins)] {
                for value in values {
                    headers.append(&header, value.parse().unwrap());
                }
            }
            hosts.check(&target.parse().unwrap(), &headers).is_ok()
        };
        assert!(check("http://LOCALHOST:80/predict", &["localhost:80"], &[]));
        assert!(!check("http://evil.example/predict", &["localhost"], &[]));
        assert!(!check("http://evil.example/predict", &["evil.example"], &[]));
        assert!(!check("http://localhost@evil.example/predict", &["localhost"], &[]));
        assert!(!check("http://localhost:81/predict", &["localhost:80"], &[]));
        for two in [["localhost", "evil.example"], ["evil.example", "localhost"], ["localhost", "localhost"]] {
            assert!(!check("/predict", &two, &[]), "{two:?}");
        }
        assert!(!check("/predict", &["localhost"], &["http://localhost", "http://evil.example"]));
    }
}
