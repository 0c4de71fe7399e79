//! Clients that are slow, silent, many, or said goodbye early; heads that are too long or name two hosts.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use atomlearn_serve::Config;
use common::{Answer, Running, blobs, config, request};
use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

const JSON: (&str, &str) = ("Content-Type", "application/json");
const ROW: &[u8] = b"[[1, 2, 3, 4, 5, 6]]";
/// What an answer may take, on a machine that is busy with other tests. It is milliseconds otherwise, and a minute where
/// the client has to wait for others.
const PROMPT: Duration = Duration::from_secs(3);

/// A server with so many places; its times are so long that no test waits for them to pass.
fn server(max_connections: usize) -> Running {
    let minute = Duration::from_secs(60);
    let limits = Config { max_connections, header_time: minute, request_time: minute, ..config() };
    Running::start(blobs("crc", "unit"), limits)
}

fn is_healthy(server: &Running, when: &str) {
    let start = Instant::now();
    assert_eq!(server.get("/healthz").status, 200, "{when}");
    assert!(start.elapsed() < PROMPT, "{when}: /healthz took {:?}", start.elapsed());
}

/// So many connections that each send the same and then say nothing.
fn crowd(server: &Running, size: usize, text: &[u8]) -> Vec<TcpStream> {
    let join = |_| {
        let mut stream = server.connect();
        // Who had to leave already cannot be written to.
        let _ = stream.write_all(text);
        stream
    };
    (0..size).map(join).collect()
}

/// Whether the server has closed a connection, whatever it said before.
fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    loop {
        match stream.read(&mut [0; 4096]) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(e) => return !matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }
}

#[test]
fn clients_that_close_their_sending_side_get_all_their_answers() {
    let server = server(16);
    let chunk = [format!("{:x}\r\n", ROW.len()).as_bytes(), ROW, b"\r\n0\r\n\r\n"].concat();
    let chunked = request("POST", "/predict", &[JSON, ("Transfer-Encoding", "chunked")], &chunk);
    let post = |path| request("POST", path, &[JSON], ROW);
    let requests = [
        request("GET", "/healthz", &[], b""),
        request("GET", "/", &[], b""),
        post("/predict"),
        post("/explain"),
        chunked,
    ];
    let all = requests.concat();
    for (text, answers) in requests.iter().map(|one| (one, 1)).chain([(&all, requests.len())]) {
        // A client whose end arrives together with its request, and one whose end comes later.
        for pause in [0, 20] {
            let mut stream = server.connect();
            stream.write_all(text).unwrap();
            std::thread::sleep(Duration::from_millis(pause));
            stream.shutdown(Shutdown::Write).unwrap();
            let mut reader = BufReader::new(stream);
            for _ in 0..answers {
                assert_eq!(Answer::read(&mut reader).status, 200, "{}", String::from_utf8_lossy(text));
            }
            assert_eq!(reader.read(&mut [0]).unwrap(), 0, "nothing more, and the connection ends");
        }
    }
    // Half a body is an error that is told, too.
    let mut half = server.connect();
    half.write_all(&request("POST", "/predict", &[JSON, ("Content-Length", "50")], b"[[1,")).unwrap();
    half.shutdown(Shutdown::Write).unwrap();
    let answer = Answer::read(&mut BufReader::new(half));
    assert!(answer.status == 400 && answer.text().contains("broke off"), "{}", answer.text());
}

#[test]
fn a_crowd_that_is_silent_or_slow_delays_nobody() {
    let body = [JSON, ("Content-Length", "1000000")];
    let cases = [
        ("connections that say nothing", Vec::new()),
        ("half a head", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ".to_vec()),
        ("slow bodies", request("POST", "/predict", &body, b"[")),
        ("slow explanations", request("POST", "/explain", &body, b"[")),
        ("idle after an answer", request("GET", "/healthz", &[], b"")),
    ];
    let server = server(32);
    for (what, text) in cases {
        let mut present = crowd(&server, 100, &text);
        for _ in 0..3 {
            is_healthy(&server, what);
            let start = Instant::now();
            assert_eq!(server.send("POST", "/predict", &[JSON], ROW).status, 200, "{what}");
            assert!(start.elapsed() < PROMPT, "{what}: /predict took {:?}", start.elapsed());
        }
        let closed = present.iter_mut().filter_map(|stream| is_closed(stream).then_some(())).count();
        assert!(closed >= 68, "{what}: {closed} had to leave");
    }
    let metrics = server.get("/metrics");
    let evicted = metrics.text().lines().find_map(|line| line.strip_prefix("atomlearn_evicted_connections_total "));
    assert!(evicted.unwrap().parse::<u64>().unwrap() >= 5 * 68, "{evicted:?}");
}

#[test]
fn clients_that_do_not_read_their_answers_delay_nobody() {
    let server = server(4);
    let _deaf = crowd(&server, 8, &request("GET", "/main.js", &[], b"").repeat(1000));
    for _ in 0..3 {
        is_healthy(&server, "answers that are not read");
    }
}

#[test]
fn a_body_that_is_cut_off_for_others_is_told_so() {
    let server = server(8);
    let mut slow = server.connect();
    slow.write_all(&request("POST", "/predict", &[JSON, ("Content-Length", "50")], b"[[1,")).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let _others = crowd(&server, 8, b"");
    let answer = Answer::read(&mut BufReader::new(slow));
    assert!(answer.status == 408 && answer.text().contains("many clients"), "{}", answer.text());
}

#[test]
fn work_leaves_places_for_checks_of_health() {
    // One place of two is for work, so that most of these requests find it taken.
    let server = server(2);
    let rows = format!("[{}]", ["[1, 2, 3, 4, 5, 6]"; 4000].join(","));
    let end = Instant::now() + Duration::from_millis(1500);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (server, rows) = (&server, &rows);
            scope.spawn(move || {
                while Instant::now() < end {
                    let mut stream = server.connect();
                    let _ = stream.write_all(&request("POST", "/predict", &[JSON], rows.as_bytes()));
                    if let Some(answer) = Answer::try_read(&mut BufReader::new(stream)) {
                        assert!([200, 408, 503].contains(&answer.status), "{}", answer.text());
                    }
                }
            });
        }
        while Instant::now() < end {
            let start = Instant::now();
            let mut stream = BufReader::new(server.connect());
            // With two places the others may push even this one out before its head is read; then it tries again.
            let _ = stream.get_mut().write_all(&request("GET", "/healthz", &[], b""));
            let answer = Answer::try_read(&mut stream);
            assert!(answer.is_none_or(|answer| answer.status == 200));
            assert!(start.elapsed() < PROMPT, "/healthz took {:?}", start.elapsed());
        }
    });
    is_healthy(&server, "afterwards");
}

#[test]
fn heads_are_limited_to_64_kib() {
    let server = server(16);
    let head = |size: usize| {
        let start = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ";
        format!("{start}{}\r\n\r\n", "a".repeat(size - start.len() - 4))
    };
    for (size, status) in [(1000, 200), (65_000, 200), (65_536, 200), (65_537, 431), (100_000, 431), (300_000, 431)] {
        let text = head(size);
        // At once, and in pieces: the limit must not depend on how the bytes arrive.
        for pieces in [1, 7] {
            let mut stream = server.connect();
            for piece in text.as_bytes().chunks(size.div_ceil(pieces)) {
                let _ = stream.write_all(piece);
                std::thread::sleep(Duration::from_millis(if pieces > 1 { 5 } else { 0 }));
            }
            let answer = Answer::read(&mut BufReader::new(stream));
            assert_eq!(answer.status, status, "a head of {size} bytes in {pieces} pieces");
        }
    }
}

#[test]
fn two_hosts_and_other_targets_are_refused() {
    let server = server(16);
    let say = |target: &str, hosts: &[&str]| {
        let hosts: String = hosts.iter().map(|host| format!("Host: {host}\r\n")).collect();
        let mut stream = server.connect();
        stream.write_all(format!("GET {target} HTTP/1.1\r\n{hosts}\r\n").as_bytes()).unwrap();
        let answer = Answer::read(&mut BufReader::new(stream));
        (answer.status, answer.text().to_string())
    };
    for two in [["localhost", "evil.example"], ["evil.example", "localhost"], ["localhost", "localhost"]] {
        let (status, text) = say("/healthz", &two);
        assert!(status == 400 && text.contains("several Host headers"), "{text}");
    }
    let (status, text) = say("http://evil.example/healthz", &["localhost"]);
    assert!(status == 400 && text.contains("another host"), "{text}");
    assert_eq!(say("http://evil.example/healthz", &["evil.example"]).0, 403);
    assert_eq!(say("http://localhost/healthz", &["localhost"]).0, 200);
    assert_eq!(say("/healthz", &["localhost"]).0, 200);
}

#[test]
fn what_does_not_fit_is_refused_without_a_word_about_this_machine() {
    let server = server(16);
    for shape in ["(9999999999999, 6)", "(1, 99999999999999)", "(4294967296, 4294967296)", "(1000000000, 6)"] {
        let mut head = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
        head += &" ".repeat(100 - head.len());
        let body = [&b"\x93NUMPY\x01\x00"[..], &(head.len() as u16).to_le_bytes(), head.as_bytes(), &[0; 48]].concat();
        let answer = server.post_npy("/predict", &body);
        let text = answer.text();
        assert!(answer.status == 400 && text.contains("ends too early"), "{shape}: {text}");
        assert!(!["iB", "memory", "available"].iter().any(|word| text.contains(word)), "{shape}: {text}");
    }
}
