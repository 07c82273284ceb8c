//! The files of the page.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use hyper::body::Bytes;

/// The files that were there when this was built: names and contents.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Most files of a folder, and bytes of all of them.
const MOST_FILES: usize = 1000;
const MOST_BYTES: u64 = 256 << 20;

/// The files that the server shows, by their names.
#[derive(Default)]
pub(super) struct Pages(BTreeMap<Cow<'static, str>, Bytes>);

impl Pages {
    /// The page that this was built with; nothing, if `packaging/web` was not run before.
    pub(super) fn built_in() -> Self {
        let files = FILES.iter();
        Pages(
            files
                .map(|(name, file)| ((*name).into(), Bytes::from_static(file)))
                .collect(),
        )
    }

    /// The files of this folder, without those of folders in it.
    ///
    /// # Errors
    /// They cannot be read, or are too many.
    pub(super) fn read(folder: &Path) -> io::Result<Self> {
        let (mut files, mut bytes) = (BTreeMap::new(), 0);
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let metadata = fs::metadata(entry.path())?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if !metadata.is_file() {
                continue;
            }
            bytes += metadata.len();
            if bytes > MOST_BYTES || files.len() >= MOST_FILES {
                return Err(io::Error::other("more than 1000 files or 256 MiB"));
            }
            files.insert(name.into(), fs::read(entry.path())?.into());
        }
        match files.contains_key("index.html") {
            true => Ok(Pages(files)),
            false => Err(io::Error::other("there is no index.html in it")),
        }
    }

    /// Whether there is a page at all.
    pub(super) fn is_there(&self) -> bool {
        !self.0.is_empty()
    }

    /// A file by its path in the URL: its contents, and its type.
    pub(super) fn file(&self, path: &str) -> Option<(Bytes, &'static str)> {
        let name = match path.strip_prefix('/')? {
            "" => "index.html",
            name => name,
        };
        Some((self.0.get(name)?.clone(), kind(name)))
    }
}

fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("json" | "webmanifest") => "application/json",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_and_the_engine_have_the_types_that_browsers_want() {
        assert_eq!(kind("page.js"), "text/javascript; charset=utf-8");
        assert_eq!(kind("weftline_bg.wasm"), "application/wasm");
        assert_eq!(kind("LICENSE"), "application/octet-stream");
    }

    #[test]
    fn a_folder_is_shown_and_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Pages::read(folder.path()).is_err());
        fs::create_dir(folder.path().join("page")).unwrap();
        let page = folder.path().join("page");
        fs::write(folder.path().join("secret"), "no").unwrap();
        fs::write(page.join("index.html"), "hello").unwrap();
        let pages = Pages::read(&page).unwrap();
        assert_eq!(pages.file("/").unwrap().0, "hello");
        for path in [
            "",
            "/secret",
            "/../secret",
            "/page",
            "//index.html",
            "/%2e%2e/secret",
        ] {
            assert!(pages.file(path).is_none(), "{path}");
        }
    }
}
