//! Logs of real connections.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;
use weftline_proto::{LogEntry, LogEvent, Role};

use super::EventLogs;
use super::file::{About, LogFile};
use super::text;
use crate::{BindError, EndpointConfig, InsecureEndpoint};

fn endpoint(logs: &EventLogs) -> Result<InsecureEndpoint, BindError> {
    let config = EndpointConfig {
        event_logs: Some(logs.clone()),
        ..EndpointConfig::default()
    };
    InsecureEndpoint::bind((Ipv4Addr::LOCALHOST, 0).into(), config)
}

/// The files of a folder, in the order of their names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder");
    let mut files: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    files.sort();
    files
}

/// The head and the entries of a log.
fn read(file: &Path) -> (Value, Vec<LogEntry>) {
    let text = fs::read_to_string(file).expect("text");
    let records = text.split('\u{1e}').skip(1);
    let mut records = records.map(|record| record.strip_suffix('\n').expect("a whole record"));
    let head = serde_json::from_str(records.next().expect("a head")).expect("JSON");
    let entries = records.map(|record| serde_json::from_str(record).expect("an entry"));
    (head, entries.collect())
}

#[tokio::test]
async fn each_connection_has_a_file_with_all_that_happened_which_only_its_user_reads() {
    let home = TempDir::new().expect("a folder");
    let folder = home.path().join("logs");
    let logs = EventLogs::new(&folder, 8 << 20);
    let [client, server] = [(); 2].map(|()| endpoint(&logs).expect("a port"));
    let addr = server.local_addr().expect("an address");
    for _ in 0..2 {
        let connection = client.connect(addr).await.expect("a connection");
        let accepted = server.accept().await.expect("a connection");
        let receipt = connection.send_message(vec![7; 50_000], None).await;
        receipt.expect("room").await.expect("delivered");
        assert_eq!(
            accepted.recv_message().await.expect("a message").data.len(),
            50_000
        );
        connection.close(0, "");
        accepted.closed().await;
    }
    client.wait_idle().await;
    server.wait_idle().await;
    logs.flush();
    let files = files(&folder);
    assert_eq!(files.len(), 4, "{files:?}");
    let mut roles = Vec::new();
    for file in &files {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path| {
                fs::metadata(path)
                    .expect("it is there")
                    .permissions()
                    .mode()
            };
            assert_eq!((mode(&folder) & 0o777, mode(file) & 0o777), (0o700, 0o600));
        }
        let (head, entries) = read(file);
        let role = head["trace"]["vantage_point"]["type"].clone();
        let sent: u64 = entries
            .iter()
            .filter_map(|entry| match &entry.event {
                LogEvent::Written { bytes, .. } => Some(*bytes),
                _ => None,
            })
            .sum();
        assert_eq!(sent, if role == "client" { 50_000 } else { 0 });
        let ends = |event: &LogEvent| matches!(event, LogEvent::Closed { .. });
        assert_eq!(entries.iter().filter(|e| ends(&e.event)).count(), 1);
        assert!(entries.is_sorted_by_key(|entry| entry.time));
        roles.push(role);
    }
    roles.sort_by_key(Value::to_string);
    assert_eq!(roles, ["client", "client", "server", "server"]);
}

#[tokio::test]
async fn more_connections_than_logs_lose_the_oldest() {
    let home = TempDir::new().expect("a folder");
    let logs = EventLogs::new(home.path(), EventLogs::LEAST_SIZE);
    let client = endpoint(&logs).expect("a port");
    let server = InsecureEndpoint::bind((Ipv4Addr::LOCALHOST, 0).into(), EndpointConfig::default());
    let server = server.expect("a port");
    let addr = server.local_addr().expect("an address");
    let mut first = Vec::new();
    for _ in 0..2 {
        let mut connections = Vec::new();
        for _ in 0..EventLogs::MOST / 2 + 3 {
            connections.push(client.connect(addr).await.expect("a connection"));
        }
        connections.iter().for_each(|one| one.close(0, ""));
        drop(connections);
        client.wait_idle().await;
        logs.flush();
        first.push(files(home.path()));
    }
    let [first, second] = [&first[0], &first[1]];
    assert_eq!(
        (first.len(), second.len()),
        (EventLogs::MOST / 2 + 3, EventLogs::MOST)
    );
    let gone = first.iter().filter(|file| !second.contains(file));
    assert_eq!(gone.count(), 6);
}

#[test]
fn a_long_log_keeps_its_newest_half_in_two_files_of_bounded_length() {
    let home = TempDir::new().expect("a folder");
    let about = || About {
        role: Role::Client,
        began: std::time::SystemTime::now(),
        peer: None,
        remote: "192.0.2.1:9338".to_owned(),
    };
    let most = 20_000;
    let mut log = LogFile::create(home.path(), "1-2-3", about(), most).expect("a file");
    let entry = |number: u64| -> LogEntry {
        let text = format!(
            r#"{{"time":{number},"name":"weftline:probe_sent","data":{{"number":{number},"size":20,"next":0,"edge":0}}}}"#
        );
        serde_json::from_str(&text).expect("an entry")
    };
    for batch in 0..50 {
        let entries = (batch * 40..batch * 40 + 40).map(entry);
        log.write(entries).expect("written");
    }
    let [old, current] = log.into_paths();
    let mut kept = Vec::new();
    for file in [&old, &current] {
        assert!(fs::metadata(file).expect("a file").len() <= most);
        let (_, entries) = read(file);
        kept.extend(entries.iter().map(|entry| entry.time.as_micros() / 1000));
    }
    assert!(fs::metadata(&old).expect("a file").len() > most - 200);
    let last = 50 * 40 - 1;
    assert!(kept.iter().copied().eq(kept[0]..=last), "{kept:?}");
    assert_eq!(files(home.path()).len(), 2);
    // Nothing that exists is written over.
    assert!(LogFile::create(home.path(), "1-2-3", about(), most).is_err());
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_an_error_when_the_endpoint_is_bound() {
    let home = TempDir::new().expect("a folder");
    let file = home.path().join("file");
    fs::write(&file, "").expect("written");
    let error = endpoint(&EventLogs::new(&file, 8 << 20)).map(drop);
    let error = error.expect_err("it is a file").to_string();
    assert!(error.starts_with("cannot write event logs to "), "{error}");
    let small = endpoint(&EventLogs::new(home.path(), 1000)).map(drop);
    let error = small.expect_err("it is small").to_string();
    assert!(error.contains("1000 bytes"), "{error}");
}

#[test]
fn what_is_written_without_serde_is_what_serde_writes() {
    let time_and_path = [
        r#""time":0.0"#,
        r#""time":7.001"#,
        r#""time":1234567.01,"path":2"#,
        r#""time":80.2"#,
        r#""time":44.208,"path":16777215"#,
    ];
    let events = [
        r#""name":"weftline:written","data":{"stream":7,"message":null,"bytes":1100}"#,
        r#""name":"weftline:written","data":{"stream":null,"message":0,"bytes":18446744073709551615}"#,
        r#""name":"weftline:source_sent","data":{"number":90,"size":1119,"esi":87,"edge":80,"again":true,"fin":false}"#,
        r#""name":"weftline:source_sent","data":{"number":90,"size":1119,"esi":87,"edge":80,"again":false,"fin":true,"riders":2,"streams":[[4,442]],"messages":[1009]}"#,
        r#""name":"weftline:source_sent","data":{"number":90,"size":1119,"esi":87,"edge":80,"again":false,"fin":false,"streams":[[4,10],[8,200],[12,0]],"messages":[10,9,100]}"#,
        r#""name":"weftline:source_received","data":{"number":10,"size":4294967295,"esi":100,"useful":true}"#,
        r#""name":"weftline:source_received","data":{"number":10,"size":20,"esi":100,"useful":false,"riders":255}"#,
        r#""name":"weftline:source_received","data":{"number":10,"size":20,"esi":100,"useful":true,"delivered":7}"#,
        r#""name":"weftline:delivered","data":{"first":100,"count":1,"given_up":0}"#,
        r#""name":"weftline:edge_moved","data":{"previous":7,"edge":9,"next":20}"#,
        r#""name":"weftline:report_sent","data":{"report":7,"size":40,"largest":80,"next":70,"extent":11,"missing":[],"rank":0,"credit":8192,"delay_us":48,"queue_us":0,"loss":null}"#,
        r#""name":"weftline:report_received","data":{"report":7,"size":40,"largest":80,"next":70,"extent":11,"missing":[[70,2],[75,1]],"rank":1,"credit":8192,"delay_us":48,"queue_us":900,"loss":0.05,"news":true}"#,
        r#""name":"weftline:estimates","data":{"loss":0.0,"mean_burst":1.25,"rtt_us":441,"in_flight":0,"planned_loss":null,"share":0.125,"apart":8.0}"#,
        r#""name":"weftline:held","data":{"by":"rate"}"#,
    ];
    for (start, event) in time_and_path.iter().flat_map(|t| events.map(|e| (t, e))) {
        let expected = format!("{{{start},{event}}}");
        let entry: LogEntry = serde_json::from_str(&expected).expect("an entry");
        assert_eq!(serde_json::to_string(&entry).expect("text"), expected);
        let mut text = Vec::new();
        text::put(&mut text, &entry).expect("text");
        assert_eq!(String::from_utf8(text).expect("text"), expected);
    }
}

/// The records of a file that are QUIC's.
#[cfg(feature = "quic-qlog")]
fn quic_records(folder: &Path) -> Vec<Value> {
    let of_quic = files(folder).into_iter();
    let of_quic = of_quic.filter(|file| file.to_string_lossy().contains("-quic-"));
    let texts = of_quic.map(|file| fs::read_to_string(file).expect("text"));
    let texts: Vec<String> = texts.collect();
    let records = texts.iter().flat_map(|text| text.split('\u{1e}').skip(1));
    records
        .map(|record| serde_json::from_str(record).expect("a whole record"))
        .collect()
}

#[cfg(feature = "quic-qlog")]
#[tokio::test]
async fn quic_tells_its_own_events_within_the_bound() {
    use crate::{Allowed, Endpoint, Identity};

    for size in [8 << 20, EventLogs::LEAST_SIZE] {
        let home = TempDir::new().expect("a folder");
        let logs = EventLogs::new(home.path(), size);
        let [near, far] = [(); 2].map(|()| Identity::generate());
        let (ours, theirs) = (near.fingerprint(), far.fingerprint());
        let bind = |identity, allowed| {
            let config = EndpointConfig {
                event_logs: Some(logs.clone()),
                ..EndpointConfig::default()
            };
            let addr = (Ipv4Addr::LOCALHOST, 0).into();
            Endpoint::bind(addr, identity, allowed, config).expect("a port")
        };
        let server = bind(far, Allowed::only([ours]));
        let client = bind(near, Allowed::nobody());
        let addr = server.local_addr().expect("an address");
        let connection = client.connect(addr, theirs).await.expect("a connection");
        let accepted = server.accept().await.expect("a connection");
        let mut sent = 0;
        // Each packet is an event or more of some 200 bytes at both ends.
        while sent < 12_000_000 {
            let receipt = connection.send_message(vec![7; 60_000], None).await;
            receipt.expect("room").await.expect("delivered");
            accepted.recv_message().await.expect("a message");
            sent += 60_000;
        }
        connection.close(0, "");
        accepted.closed().await;
        let records = quic_records(home.path());
        let names: Vec<&str> = records.iter().filter_map(|r| r["name"].as_str()).collect();
        for name in ["transport:packet_sent", "recovery:metrics_updated"] {
            assert!(names.contains(&name), "{name} is not among {}", names.len());
        }
        for file in files(home.path()) {
            let bytes = fs::metadata(&file).expect("a file").len();
            assert!(bytes <= size + 4096, "{}: {bytes}", file.display());
        }
    }
}
