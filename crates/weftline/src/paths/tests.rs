//! Paths that end, and what keeps them open.

use super::*;
use crate::{Allowed, Connection, Endpoint, EndpointConfig, Identity};

fn bind(allowed: Allowed, paths: &[&str]) -> Endpoint {
    let config = EndpointConfig {
        paths: paths.iter().map(|text| text.parse().unwrap()).collect(),
        ..EndpointConfig::default()
    };
    let any = "127.0.0.1:0".parse().unwrap();
    Endpoint::bind(any, Identity::generate(), allowed, config).unwrap()
}

async fn pair(client: &Endpoint) -> (Endpoint, Connection, Connection) {
    let server = bind(Allowed::anyone(), &[]);
    let connecting = client.connect(server.local_addr().unwrap(), server.fingerprint());
    let (near, far) = tokio::join!(connecting, server.accept());
    (server, near.unwrap(), far.unwrap())
}

/// The connection under a path ends, as if its host had forgotten it.
async fn end(connection: &Connection, place: usize) {
    let lane = connection.shared().look(|state| {
        let mut lanes = state.paths.lanes();
        lanes.nth(place).cloned()
    });
    lane.unwrap().carrier.close(9, "gone").await;
}

#[tokio::test]
async fn a_path_that_ends_is_opened_again_and_the_session_goes_on() {
    let client = bind(Allowed::nobody(), &["127.0.0.2", "127.0.0.3"]);
    let (_server, near, far) = pair(&client).await;
    let opened = near.path_event().await.unwrap();
    assert_eq!(opened.change, PathChange::Opened);
    let second = opened.id;
    // The one that the session began with is first in the list of both ends.
    for id in [PathId::FIRST, second] {
        end(&far, 0).await;
        let lost = near.path_event().await.unwrap();
        assert_eq!(lost.id, id);
        assert!(matches!(lost.change, PathChange::Lost(_)), "{lost}");
        let opened = near.path_event().await.unwrap();
        assert_eq!((opened.id, opened.change), (id, PathChange::Opened));
        while far.paths().len() < 2 {
            tokio::task::yield_now().await;
        }
        near.send_message("still here", None).await.unwrap();
        assert_eq!(far.recv_message().await.unwrap().data, "still here");
    }
    assert_eq!((near.close_reason(), far.close_reason()), (None, None));
}

#[tokio::test]
async fn a_session_ends_with_its_last_connection() {
    let client = bind(Allowed::nobody(), &[]);
    let (_server, near, far) = pair(&client).await;
    end(&far, 0).await;
    let reason = near.closed().await;
    assert!(reason.to_string().contains("gone"), "{reason}");
}

#[tokio::test]
async fn a_path_that_the_peer_removes_is_not_opened_again() {
    let client = bind(Allowed::nobody(), &["127.0.0.2", "127.0.0.3"]);
    let (_server, near, far) = pair(&client).await;
    near.path_event().await.unwrap();
    let opened = far.path_event().await.unwrap();
    assert_eq!(opened.change, PathChange::Opened);
    far.remove_path(opened.id).unwrap();
    let removed = near.path_event().await.unwrap();
    assert_eq!(removed.change, PathChange::Removed);
    assert_eq!(near.paths().len(), 1);
}

#[tokio::test]
async fn what_keeps_paths_open_ends_with_the_session() {
    let tasks = || {
        let metrics = tokio::runtime::Handle::current().metrics();
        metrics.num_alive_tasks()
    };
    let before = tasks();
    let client = bind(
        Allowed::nobody(),
        &["127.0.0.2", "127.0.0.3", "no-such-one"],
    );
    let (server, near, far) = pair(&client).await;
    near.path_event().await.unwrap();
    near.close(0, "");
    far.closed().await;
    client.wait_idle().await;
    server.wait_idle().await;
    assert_eq!(server.registry().sessions.len(), 0);
    drop((client, server));
    while tasks() > before {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(near.close_reason().is_some());
}

#[tokio::test]
async fn a_path_that_is_silent_makes_room_for_another() {
    let client = bind(Allowed::nobody(), &[]);
    let (_server, near, far) = pair(&client).await;
    for number in 2..9 {
        let request = format!("127.0.0.{number}").parse().unwrap();
        near.add_path(request).await.unwrap();
    }
    let opener = Opener::of(near.0.shared()).await.unwrap();
    let ninth = "127.0.0.9".parse().unwrap();
    let refused = opener.dialler.again(&ninth, &opener.bond).await.err();
    let refused = refused.unwrap().to_string();
    assert!(refused.contains("at most 8 paths"), "{refused}");
    let silent = far.paths()[4].id;
    far.shared().with_all(|state, _| {
        state.paths.get(silent).unwrap().silent = Some(Instant::now());
    });
    opener.dialler.again(&ninth, &opener.bond).await.unwrap();
    let paths = far.paths();
    assert_eq!(paths.len(), 8);
    assert!(paths.iter().all(|path| path.id != silent));
}
