//! Received files: resumed, compared, placed.

use std::fs;
use std::time::{Duration, UNIX_EPOCH};

use sha2::{Digest as _, Sha256};

use super::super::wire::{Kind, Meta};
use super::part::{claim, open_existing, rename_new};
use super::*;

fn entry(path: &str, size: u64) -> Entry {
    let (kind, path) = (Kind::File, path.to_owned());
    Entry {
        id: 0,
        kind,
        meta: Meta {
            size: Some(size),
            // NTFS counts 100 ns.
            modified: Some((1_000_000_000, 500)),
            mode: Some(0o700),
        },
        path,
    }
}

fn store(overwrite: bool) -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let mut folder = Folder::new(dir.path());
    folder.overwrite = overwrite;
    (dir, Store::new(folder))
}

fn part(plan: io::Result<Plan>) -> Part {
    match plan.unwrap() {
        Plan::Write(part) => part,
        Plan::Compare { .. } => panic!("expected to write"),
    }
}

#[test]
fn a_file_appears_only_when_complete_with_its_mode_and_time() {
    let (dir, store) = store(false);
    let entry = entry("sub/f", 6);
    let mut part = part(store.plan(&entry));
    part.begin(0).unwrap();
    part.write(b"abc").unwrap();
    let target = dir.path().join("sub/f");
    assert!(!target.exists());
    assert!(dir.path().join("sub/.f.weftline-part").exists());
    part.write(b"def").unwrap();
    assert!(
        store
            .finish(part, &entry, 6, &Sha256::digest("abcdef").into())
            .is_ok()
    );
    assert_eq!(fs::read(&target).unwrap(), b"abcdef");
    assert!(!dir.path().join("sub/.f.weftline-part").exists());
    let metadata = fs::metadata(&target).unwrap();
    assert_eq!(
        metadata.modified().unwrap(),
        UNIX_EPOCH + Duration::new(1_000_000_000, 500)
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_ne!(metadata.permissions().mode() & 0o100, 0);
    }
}

#[test]
fn damage_is_detected_and_leaves_no_file() {
    let (dir, store) = store(false);
    let entry = entry("f", 3);
    let mut part = part(store.plan(&entry));
    part.begin(0).unwrap();
    part.write(b"abx").unwrap();
    let digest = Sha256::digest("abc").into();
    assert!(matches!(
        store.finish(part, &entry, 3, &digest),
        Err(FinishError::Corrupt(_))
    ));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn an_earlier_part_is_resumed_unless_it_is_too_long() {
    let (dir, store) = store(false);
    fs::write(dir.path().join(".f.weftline-part"), "abc").unwrap();
    assert_eq!(
        part(store.plan(&entry("f", 6))).prefix(),
        (3, Sha256::digest("abc").into())
    );
    assert_eq!(part(store.plan(&entry("f", 2))).prefix().0, 0);
}

#[test]
fn one_file_is_not_received_twice_at_once() {
    let (dir, store) = store(false);
    fs::write(dir.path().join(".f.weftline-part"), "abc").unwrap();
    let _first = part(store.plan(&entry("f", 6)));
    let second = store.plan(&entry("f", 6)).err().unwrap();
    assert!(second.to_string().contains("another transfer"), "{second}");
}

/// Receives `content` as `entry`.
fn receive(store: &Store, entry: &Entry, content: &str) {
    let mut part = part(store.plan(entry));
    part.begin(0).unwrap();
    part.write(content.as_bytes()).unwrap();
    let digest = Sha256::digest(content).into();
    let finished = store.finish(part, entry, content.len() as u64, &digest);
    assert!(finished.is_ok());
}

fn from(dir: &tempfile::TempDir, sender: u8, overwrite: bool) -> Store {
    let mut folder = Folder::new(dir.path());
    folder.overwrite = overwrite;
    folder.sender = Some([sender; 20].into());
    Store::new(folder)
}

#[test]
fn only_the_sender_of_a_file_is_asked_to_compare_it() {
    let dir = tempfile::tempdir().unwrap();
    receive(&from(&dir, 1, false), &entry("f", 3), "old");
    let is_compared =
        |store: &Store| matches!(store.plan(&entry("f", 3)), Ok(Plan::Compare { .. }));
    assert!(is_compared(&from(&dir, 1, false)));
    assert!(is_compared(&from(&dir, 1, true)));
    assert!(!is_compared(&from(&dir, 2, false)));
    assert!(!is_compared(&from(&dir, 2, true)));
    // It is somebody else's once it has changed.
    fs::write(dir.path().join("f"), "new").unwrap();
    assert!(!is_compared(&from(&dir, 1, false)));
}

#[test]
fn a_part_is_only_its_senders() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = part(from(&dir, 1, false).plan(&entry("f", 6)));
    first.begin(0).unwrap();
    first.write(b"abc").unwrap();
    drop(first);
    assert_eq!(part(from(&dir, 1, false).plan(&entry("f", 6))).len(), 3);
    assert_eq!(part(from(&dir, 2, false).plan(&entry("f", 6))).len(), 0);
}

#[test]
fn an_existing_file_is_replaced_only_on_request() {
    let (dir, keep) = store(false);
    fs::write(dir.path().join("f"), "old").unwrap();
    for size in [3, 4] {
        let refused = keep.plan(&entry("f", size)).err().unwrap();
        assert!(refused.to_string().contains("--overwrite"), "{refused}");
    }
    let replace = from(&dir, 1, true);
    assert!(matches!(replace.plan(&entry("f", 3)), Ok(Plan::Write(_))));
    fs::create_dir(dir.path().join("d")).unwrap();
    assert!(replace.plan(&entry("d", 4)).is_err());
}

#[cfg(unix)]
#[test]
fn a_part_that_another_transfer_has_finished_is_not_touched() {
    let (dir, store) = store(false);
    let entry = entry("f", 3);
    let mut first = part(store.plan(&entry));
    first.begin(0).unwrap();
    first.write(b"abc").unwrap();
    // The second receiver opens the part, and locks it only after the first has finished it.
    let path = dir.path().join(".f.weftline-part");
    let open = || fs::File::options().write(true).open(&path).unwrap();
    let second = open();
    assert!(
        claim(open(), &path).is_err(),
        "the first one holds the lock"
    );
    let digest = Sha256::digest("abc").into();
    assert!(store.finish(first, &entry, 3, &digest).is_ok());
    assert!(claim(second, &path).unwrap().is_none());
}

#[test]
fn a_file_is_claimed_only_where_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let [placed, part] = ["f", ".f.weftline-part"].map(|name| dir.path().join(name));
    fs::write(&placed, "mine").unwrap();
    fs::write(&part, "other").unwrap();
    // It was opened as the part, before that was finished and another one was begun.
    let claimed = |opened, at| claim(fs::File::open(opened).unwrap(), at).unwrap();
    assert!(claimed(&placed, &part).is_none());
    assert!(claimed(&part, &part).is_some());
}

#[test]
fn renaming_replaces_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    fs::write(&from, "new").unwrap();
    fs::write(&to, "mine").unwrap();
    let error = rename_new(&from, &to).unwrap_err();
    assert!(error.to_string().contains("--overwrite"), "{error}");
    assert_eq!(fs::read(&to).unwrap(), b"mine");
    fs::remove_file(&to).unwrap();
    rename_new(&from, &to).unwrap();
    assert_eq!(fs::read(&to).unwrap(), b"new");
    assert!(!from.exists());
}

#[test]
fn a_file_that_appears_meanwhile_is_kept() {
    let (dir, store) = store(false);
    let entry = entry("f", 3);
    let mut part = part(store.plan(&entry));
    part.begin(0).unwrap();
    part.write(b"new").unwrap();
    fs::write(dir.path().join("f"), "mine").unwrap();
    let finished = store.finish(part, &entry, 3, &Sha256::digest("new").into());
    assert!(matches!(finished, Err(FinishError::Io(_))));
    assert_eq!(fs::read(dir.path().join("f")).unwrap(), b"mine");
}

#[cfg(windows)]
#[test]
fn a_file_whose_name_differs_in_case_is_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let store = from(&dir, 1, true);
    let [one, other] = ["Dir/name", "Dir/Name"].map(|path| entry(path, 3));
    // The second is planned before the first is there.
    let mut second = part(store.plan(&other));
    receive(&store, &one, "one");
    second.begin(0).unwrap();
    second.write(b"two").unwrap();
    let placed = store.finish(second, &other, 3, &Sha256::digest("two").into());
    assert!(matches!(placed, Err(FinishError::Io(_))));
    let refused = store.plan(&other).err().unwrap();
    assert!(refused.to_string().contains("differ in case"), "{refused}");
    assert_eq!(fs::read(dir.path().join("Dir/name")).unwrap(), b"one");
    receive(&store, &entry("Dir/name", 5), "newer");
    assert_eq!(fs::read(dir.path().join("Dir/name")).unwrap(), b"newer");
}

#[cfg(unix)]
#[test]
fn a_link_at_the_part_files_path_is_not_followed() {
    let (dir, store) = store(true);
    let outside = tempfile::NamedTempFile::new().unwrap();
    let link = dir.path().join(".f.weftline-part");
    std::os::unix::fs::symlink(outside.path(), &link).unwrap();
    let error = store.plan(&entry("f", 3)).err().unwrap();
    assert!(error.to_string().contains("is in the way"), "{error}");
    // One that appears only after the look at the path is not opened either.
    assert!(open_existing(&link).is_err());
    std::os::unix::fs::symlink(outside.path(), dir.path().join("g")).unwrap();
    let entry = entry("g", 1);
    let mut part = part(store.plan(&entry));
    part.begin(0).unwrap();
    part.write(b"x").unwrap();
    assert!(
        store
            .finish(part, &entry, 1, &Sha256::digest("x").into())
            .is_ok()
    );
    assert_eq!(fs::read(outside.path()).unwrap(), b"");
}
