//! The file with the names of known peers.

use std::fmt;
use std::path::PathBuf;

use anyhow::{Context, Result};
use weftline::Fingerprint;
use weftline_apps::Address;
use weftline_apps::pairing::Name;

use crate::home;
use crate::ui::Failure;

/// A known peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) name: Name,
    pub(crate) peer: Fingerprint,
    /// Where it receives: the host as a person typed it.
    pub(crate) address: Option<Address>,
}

/// A line of the file, as it is, and what it says.
#[derive(Clone, Debug)]
struct Line {
    text: String,
    known: Option<Known>,
}

/// The known peers: `NAME FINGERPRINT [ADDRESS]` a line. What follows a `#` is a comment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Book(Vec<Line>);

/// A change of the known peers is refused.
fn usage(message: String) -> anyhow::Error {
    Failure::usage(message).into()
}

/// The file; `None` where nothing names the folder.
fn file() -> Option<PathBuf> {
    Some(home::folder().ok()?.join("peers"))
}

impl Book {
    /// Reads the file; without one, nobody is known.
    ///
    /// # Errors
    /// The file cannot be read, or a line is not what it should be.
    pub(crate) fn read() -> Result<Self> {
        let Some(path) = file() else {
            return Ok(Book::default());
        };
        let text = home::text(&path)?;
        Book::parse(&text).with_context(|| format!("in {}", path.display()))
    }

    /// Reads the file, changes what is known, and writes the file again if anything has changed.
    ///
    /// # Errors
    /// Those of reading and writing, and of `change`.
    pub(crate) fn edit<T>(change: impl FnOnce(&mut Book) -> Result<T>) -> Result<T> {
        let path = home::folder()?.join("peers");
        let _lock = home::lock()?;
        let mut book = Book::read()?;
        let before = book.to_string();
        let result = change(&mut book)?;
        let after = book.readable()?;
        if after != before {
            home::write(&path, &after)?;
        }
        Ok(result)
    }

    /// The file's text, which must be one that can be read again.
    fn readable(&self) -> Result<String> {
        let text = self.to_string();
        Book::parse(&text).context("the known peers are not changed: the new list is not valid")?;
        Ok(text)
    }

    fn parse(text: &str) -> Result<Self> {
        let mut book = Book::default();
        for (number, text) in text.lines().enumerate() {
            let known = known(text).and_then(|known| {
                if let Some(known) = &known {
                    book.check(known)?;
                }
                Ok(known)
            });
            let known = known.with_context(|| format!("line {}", number + 1))?;
            let text = text.to_owned();
            book.0.push(Line { text, known });
        }
        Ok(book)
    }

    /// Refuses what would make a name, or an address, mean two peers.
    fn check(&self, new: &Known) -> Result<()> {
        if self.named(&new.name).is_some() {
            return Err(usage(format!("the name {} is taken", new.name)));
        }
        if let Some(address) = &new.address
            && let Some(known) = self.at(address)
        {
            let name = &known.name;
            return Err(usage(format!("{address} is the address of {name} already")));
        }
        Ok(())
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Known> {
        self.0.iter().filter_map(|line| line.known.as_ref())
    }

    pub(crate) fn named(&self, name: &Name) -> Option<&Known> {
        self.all().find(|known| known.name == *name)
    }

    pub(crate) fn at(&self, address: &Address) -> Option<&Known> {
        self.all()
            .find(|known| known.address.as_ref() == Some(address))
    }

    pub(crate) fn of(&self, peer: &Fingerprint) -> Option<&Known> {
        self.all().find(|known| known.peer == *peer)
    }

    /// Adds a peer.
    ///
    /// # Errors
    /// Its name or its address is that of another one.
    pub(crate) fn add(&mut self, known: Known) -> Result<()> {
        self.check(&known)?;
        self.push(known);
        Ok(())
    }

    fn push(&mut self, known: Known) {
        self.0.push(Line {
            text: line(&known, ""),
            known: Some(known),
        });
    }

    /// Removes the peer with this name.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn remove(&mut self, name: &Name) -> Result<Known> {
        let known = self.named(name).cloned().ok_or_else(|| nobody(name))?;
        self.0.retain(|line| line.known.as_ref() != Some(&known));
        Ok(known)
    }

    /// Gives a peer another name.
    ///
    /// # Errors
    /// There is no such peer, or the name is taken.
    pub(crate) fn rename(&mut self, from: &Name, to: &Name) -> Result<()> {
        let known = self.named(from).cloned().ok_or_else(|| nobody(from))?;
        if self.named(to).is_some() {
            return Err(usage(format!("the name {to} is taken")));
        }
        let new = Known {
            name: to.clone(),
            ..known
        };
        self.replace(from, new);
        Ok(())
    }

    /// Remembers a peer that has just been paired: under the name that it has here, or else under `name`,
    /// perhaps with a number. `address` is this peer's from now on; an address that the peer has
    /// already stays its own, so a further one is a line of its own.
    pub(crate) fn remember(
        &mut self,
        peer: Fingerprint,
        name: Option<Name>,
        address: Option<&Address>,
    ) -> Name {
        match address.and_then(|address| self.at(address)).cloned() {
            Some(known) if known.peer == peer => return known.name,
            // Another key was there before.
            Some(before) => {
                let name = before.name.clone();
                let moved = Known {
                    address: None,
                    ..before
                };
                self.replace(&name, moved);
            }
            None => {}
        }
        let fits =
            |known: &&Known| known.peer == peer && (address.is_none() || known.address.is_none());
        let found = self.all().find(fits).cloned();
        let name = match (&found, self.of(&peer)) {
            (Some(known), _) => known.name.clone(),
            (None, Some(known)) => self.free(Some(known.name.clone())),
            (None, None) => self.free(name),
        };
        let known = Known {
            name: name.clone(),
            peer,
            address: address.cloned(),
        };
        match found {
            Some(_) if address.is_none() => {}
            Some(_) => self.replace(&name, known),
            None => self.push(known),
        }
        name
    }

    /// This name, or the first one with a number that nobody has.
    fn free(&self, name: Option<Name>) -> Name {
        let name = name.unwrap_or_else(|| Name::like("peer").expect("`peer` is a name"));
        let numbered = (2..).map(|number| name.numbered(number));
        let mut candidates = std::iter::once(name.clone()).chain(numbered);
        let free = candidates.find(|name| self.named(name).is_none());
        free.expect("a file has not all numbers")
    }

    fn replace(&mut self, name: &Name, new: Known) {
        let of_it = |line: &&mut Line| line.known.as_ref().is_some_and(|k| k.name == *name);
        if let Some(found) = self.0.iter_mut().find(of_it)
            && found.known.as_ref() != Some(&new)
        {
            let comment = found.text.find('#').map_or("", |at| &found.text[at..]);
            found.text = line(&new, comment);
            found.known = Some(new);
        }
    }
}

fn nobody(name: &Name) -> anyhow::Error {
    usage(format!(
        "no peer is called {name}: `weftline peers` lists them"
    ))
}

impl fmt::Display for Book {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|line| writeln!(f, "{}", line.text))
    }
}

fn line(known: &Known, comment: &str) -> String {
    let Known {
        name,
        peer,
        address,
    } = known;
    let mut text = format!("{name} {peer}");
    if let Some(address) = address {
        text += &format!(" {address}");
    }
    if !comment.is_empty() {
        text += &format!(" {comment}");
    }
    text
}

/// What a line says; `None`: nothing but a comment.
fn known(line: &str) -> Result<Option<Known>> {
    let said = line.split('#').next().unwrap_or_default();
    let words: Vec<&str> = said.split_whitespace().collect();
    let (name, peer, address) = match words[..] {
        [] => return Ok(None),
        [name, peer] => (name, peer, None),
        [name, peer, address] => (name, peer, Some(address)),
        _ => anyhow::bail!("a line is NAME FINGERPRINT, and an ADDRESS if it is known"),
    };
    Ok(Some(Known {
        name: name.parse()?,
        peer: peer.parse()?,
        address: address.map(str::parse).transpose()?,
    }))
}

/// The client for people: as [`shown`], or unknown, as on plain UDP.
pub(crate) fn client(peer: &Option<Fingerprint>) -> String {
    match peer {
        Some(peer) => shown(peer),
        None => "an unknown client".to_owned(),
    }
}

/// The peer for people: its name, if it has one here, and its fingerprint.
pub(crate) fn shown(peer: &Fingerprint) -> String {
    let book = Book::read().ok();
    match book.as_ref().and_then(|book| book.of(peer)) {
        Some(known) => format!("{} ({peer})", known.name),
        None => peer.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(number: u8) -> Fingerprint {
        Fingerprint::from([number; 20])
    }

    fn name(text: &str) -> Name {
        text.parse().unwrap()
    }

    fn address(text: &str) -> Address {
        text.parse().unwrap()
    }

    fn book() -> Book {
        let (a, b) = (peer(1), peer(2));
        let text = format!("# mine\n\nstudio {a} host.example # the tall one\n  laptop   {b}\n");
        Book::parse(&text).unwrap()
    }

    #[test]
    fn a_peer_is_found_by_name_address_and_fingerprint() {
        let book = book();
        assert_eq!(book.named(&name("laptop")).unwrap().peer, peer(2));
        // As typed, with the port that is meant.
        assert_eq!(book.at(&address("host.example")).unwrap().peer, peer(1));
        assert_eq!(
            book.at(&address("host.example:9338")).unwrap().peer,
            peer(1)
        );
        assert_eq!(book.at(&address("host.example:1")), None);
        assert_eq!(book.of(&peer(1)).unwrap().name, name("studio"));
        assert_eq!(book.of(&peer(3)), None);
    }

    #[test]
    fn lines_that_are_not_changed_stay_as_they_are() {
        let mut book = book();
        book.rename(&name("studio"), &name("attic")).unwrap();
        book.add(Known {
            name: name("phone"),
            peer: peer(3),
            address: None,
        })
        .unwrap();
        let (a, b, c) = (peer(1), peer(2), peer(3));
        let text = format!(
            "# mine\n\nattic {a} host.example:9338 # the tall one\n  laptop   {b}\nphone {c}\n"
        );
        assert_eq!(book.to_string(), text);
        book.remove(&name("attic")).unwrap();
        assert!(
            book.to_string()
                .starts_with(&format!("# mine\n\n  laptop   {b}\n"))
        );
    }

    #[test]
    fn a_name_and_an_address_mean_one_peer() {
        let mut book = book();
        let taken = book.rename(&name("laptop"), &name("studio"));
        assert!(taken.unwrap_err().to_string().contains("is taken"));
        let there = Known {
            name: name("x"),
            peer: peer(3),
            address: Some(address("host.example")),
        };
        let taken = book.add(there).unwrap_err().to_string();
        assert!(taken.contains("is the address of studio"), "{taken}");
        let a = peer(1);
        for (text, why) in [
            (format!("a {a}\na {a}"), "line 2: the name a is taken"),
            (
                format!("a {a} h\nb {a} h"),
                "line 2: h:9338 is the address of a",
            ),
            ("a".to_owned(), "line 1: a line is NAME"),
            (format!("a {a} h more"), "line 1: a line is NAME"),
            (format!("{a} a"), "line 1: "),
        ] {
            let error = format!("{:#}", Book::parse(&text).unwrap_err());
            assert!(error.starts_with(why), "{error}");
        }
    }

    #[test]
    fn a_pair_keeps_its_name_and_takes_the_address() {
        let mut book = book();
        let there = address("host.example");
        // Another key at a known address, by a code: the address moves, the peer stays known.
        let new = book.remember(peer(3), Some(name("studio")), Some(&there));
        assert_eq!(new, name("studio-2"));
        assert_eq!(book.at(&there).unwrap().peer, peer(3));
        assert_eq!(book.named(&name("studio")).unwrap().address, None);
        let again = book.remember(peer(2), Some(name("other")), Some(&address("h")));
        assert_eq!(again, name("laptop"));
        let again = book.remember(peer(2), Some(name("other")), None);
        assert_eq!(book.named(&again).unwrap().address, Some(address("h")));
        assert_eq!(book.remember(peer(4), None, None), name("peer"));
        assert!(Book::parse(&book.to_string()).is_ok());
    }

    #[test]
    fn a_peer_that_is_paired_at_several_addresses_has_a_line_for_each() {
        let a = peer(1);
        let mut book = Book::parse(&format!("a {a} h # old\nb {a} i\n")).unwrap();
        let (h, i, j) = (address("h"), address("i"), address("j"));
        for (at, expected) in [(&h, "a"), (&i, "b"), (&j, "a-2"), (&j, "a-2")] {
            assert_eq!(book.remember(a, Some(name("x")), Some(at)), name(expected));
        }
        assert_eq!(book.remember(a, Some(name("x")), None), name("a"));
        // Another key at one of them leaves the others.
        assert_eq!(book.remember(peer(2), Some(name("x")), Some(&i)), name("x"));
        assert_eq!(book.remember(a, None, Some(&address("k"))), name("b"));
        let b = peer(2);
        let text = format!("a {a} h # old\nb {a} k:9338\na-2 {a} j:9338\nx {b} i:9338\n");
        assert_eq!(book.readable().unwrap(), text);
    }

    #[test]
    fn what_could_not_be_read_is_not_written() {
        let mut book = book();
        let twice = book.0[2].clone();
        book.0.push(twice);
        let error = format!("{:#}", book.readable().unwrap_err());
        assert!(
            error.contains("line 5: the name studio is taken"),
            "{error}"
        );
    }
}
