//! Who may watch: tokens in the URL of the page.

use std::fmt;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::lock::lock;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::rand;

/// Most tokens at a time.
pub(super) const MOST: usize = 1024;
/// Random bytes of a token or secret.
const RANDOM: usize = 16;
/// Longest path and query that is looked at.
const LONGEST_PATH: usize = 256;
/// The path of WebTransport sessions.
const PATH: &str = "/view";

/// 128 random bits as 32 hexadecimal digits: it is part of a URL as it is.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A new one.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(super) fn new() -> Result<Self, NoRandom> {
        let mut bytes = [0; RANDOM];
        rand::fill(&mut bytes).map_err(|_| NoRandom)?;
        Ok(Secret(
            bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        ))
    }

    /// Its digits.
    pub fn as_text(&self) -> &str {
        &self.0
    }

    /// Whether `text` is it, in a time that does not depend on where they differ.
    fn is(&self, text: &str) -> bool {
        verify_slices_are_equal(self.0.as_bytes(), text.as_bytes()).is_ok()
    }
}

/// The digits are not shown: whoever reads a log may not watch.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The system has no random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system has no random numbers")]
pub struct NoRandom;

/// No further token can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoToken {
    /// There are too many that have not expired.
    #[error("there are {MOST} tokens that have not expired: no further one is made")]
    TooMany,
    /// The system has no random numbers.
    #[error(transparent)]
    NoRandom(#[from] NoRandom),
}

/// How long tokens admit viewers, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenRules {
    /// A token admits nobody after this time.
    pub life: Duration,
    /// Each token admits one page. The page may come again.
    pub once: bool,
}

impl Default for TokenRules {
    /// 12 hours, any number of viewers.
    fn default() -> Self {
        TokenRules {
            life: Duration::from_secs(12 * 3600),
            once: false,
        }
    }
}

/// The tokens of a server.
#[derive(Debug)]
pub(super) struct Tokens {
    rules: TokenRules,
    all: Mutex<Vec<Token>>,
}

#[derive(Debug)]
struct Token {
    secret: Secret,
    until: Instant,
    /// The page that it admitted, if it admits but one.
    page: Option<Page>,
}

#[derive(Debug)]
struct Page {
    secret: Secret,
    /// Counts its sessions.
    session: u64,
}

/// A viewer that was admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Admitted {
    /// By it the page may come again.
    pub(super) secret: Secret,
    /// Of a token that admits one page: which session of the page this is.
    session: Option<u64>,
}

impl Tokens {
    pub(super) fn new(rules: TokenRules) -> Self {
        let all = Mutex::default();
        Tokens { rules, all }
    }

    /// A further token.
    ///
    /// # Errors
    /// See [`NoToken`].
    pub(super) fn add(&self, now: Instant) -> Result<Secret, NoToken> {
        let secret = Secret::new()?;
        let mut all = lock(&self.all);
        all.retain(|token| now < token.until);
        if all.len() >= MOST {
            return Err(NoToken::TooMany);
        }
        all.push(Token {
            secret: secret.clone(),
            until: now + self.rules.life,
            page: None,
        });
        Ok(secret)
    }

    /// Whether a page with this path and query would be admitted now.
    pub(super) fn admits(&self, path: &str, now: Instant) -> bool {
        let Some(asked) = Asked::read(path) else {
            return false;
        };
        find(&mut lock(&self.all), &asked, now).is_some()
    }

    /// Admits a page with this path and query. `None`: it may not watch.
    pub(super) fn admit(&self, path: &str, now: Instant) -> Option<Admitted> {
        let asked = Asked::read(path)?;
        let fresh = Secret::new().ok()?;
        let mut all = lock(&self.all);
        let token = find(&mut all, &asked, now)?;
        if !self.rules.once {
            return Some(Admitted {
                secret: fresh,
                session: None,
            });
        }
        let page = token.page.get_or_insert(Page {
            secret: fresh,
            session: 0,
        });
        page.session += 1;
        Some(Admitted {
            secret: page.secret.clone(),
            session: Some(page.session),
        })
    }

    /// The page that was admitted does not know its secret: if this was its only session, the token admits
    /// a page as before.
    pub(super) fn give_back(&self, admitted: &Admitted) {
        let is_its = |page: &Page| page.secret == admitted.secret && page.session == 1;
        for token in lock(&self.all).iter_mut() {
            token.page.take_if(|page| is_its(page));
        }
    }

    /// Whether the same page has come again since: then this session of it is over.
    pub(super) fn is_replaced(&self, admitted: &Admitted) -> bool {
        let Some(session) = admitted.session else {
            return false;
        };
        let all = lock(&self.all);
        let mut pages = all.iter().filter_map(|token| token.page.as_ref());
        pages.any(|page| page.secret == admitted.secret && page.session != session)
    }
}

/// The token that admits a page; all are looked at, so that the time tells nothing.
fn find<'a>(all: &'a mut [Token], asked: &Asked<'_>, now: Instant) -> Option<&'a mut Token> {
    let mut found = None;
    for token in all {
        let is_its = token.secret.is(asked.token);
        let may = match (&token.page, asked.resume) {
            (None, _) => true,
            (Some(page), Some(resume)) => page.secret.is(resume),
            (Some(_), None) => false,
        };
        if is_its && may && now < token.until {
            found = Some(token);
        }
    }
    found
}

/// What a page says of itself.
struct Asked<'a> {
    token: &'a str,
    resume: Option<&'a str>,
}

impl<'a> Asked<'a> {
    fn read(path: &'a str) -> Option<Self> {
        if path.len() > LONGEST_PATH {
            return None;
        }
        let query = path.strip_prefix(PATH)?.strip_prefix('?')?;
        let value = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find_map(|(key, value)| (key == name).then_some(value))
        };
        Some(Asked {
            token: value("token")?,
            resume: value("resume"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(once: bool) -> Tokens {
        let life = Duration::from_secs(60);
        Tokens::new(TokenRules { life, once })
    }

    fn path(token: &Secret) -> String {
        format!("/view?token={}", token.as_text())
    }

    #[test]
    fn a_token_admits_many_until_it_expires() {
        let (tokens, now) = (tokens(false), Instant::now());
        let token = tokens.add(now).unwrap();
        assert_eq!(token.as_text().len(), 32);
        let path = path(&token);
        let [a, b] = [(); 2].map(|()| tokens.admit(&path, now).unwrap());
        assert_ne!(a.secret, b.secret);
        assert!(!tokens.is_replaced(&a));
        let last = now + Duration::from_secs(60) - Duration::from_nanos(1);
        assert!(tokens.admits(&path, last) && tokens.admit(&path, last).is_some());
        let end = now + Duration::from_secs(60);
        assert!(!tokens.admits(&path, end) && tokens.admit(&path, end).is_none());
    }

    #[test]
    fn a_token_for_one_page_admits_it_again_and_nobody_else() {
        let (tokens, now) = (tokens(true), Instant::now());
        let [token, other] = [(); 2].map(|()| tokens.add(now).unwrap());
        let path = path(&token);
        assert!(tokens.admits(&path, now));
        let first = tokens.admit(&path, now).unwrap();
        assert!(!tokens.admits(&path, now) && tokens.admit(&path, now).is_none());
        let again = format!("{path}&resume={}", first.secret.as_text());
        let second = tokens.admit(&again, now).unwrap();
        assert_eq!(second.secret, first.secret);
        assert!(tokens.is_replaced(&first) && !tokens.is_replaced(&second));
        // The secret of one page does not open another token.
        let foreign = format!("/view?token={}&resume=x", token.as_text());
        assert!(!tokens.admits(&foreign, now));
        let taken = tokens.admit(&super::tests::path(&other), now).unwrap();
        let swapped = format!("{path}&resume={}", taken.secret.as_text());
        assert!(tokens.admit(&swapped, now).is_none());
    }

    #[test]
    fn a_token_is_given_back_by_the_only_session_of_its_page() {
        let (tokens, now) = (tokens(true), Instant::now());
        let token = tokens.add(now).unwrap();
        let path = path(&token);
        let first = tokens.admit(&path, now).unwrap();
        tokens.give_back(&first);
        assert!(tokens.admits(&path, now));
        let first = tokens.admit(&path, now).unwrap();
        let again = format!("{path}&resume={}", first.secret.as_text());
        let second = tokens.admit(&again, now).unwrap();
        tokens.give_back(&first);
        tokens.give_back(&second);
        assert!(!tokens.admits(&path, now) && tokens.admits(&again, now));
    }

    #[test]
    fn other_paths_and_tokens_are_refused() {
        let (tokens, now) = (tokens(false), Instant::now());
        let token = tokens.add(now).unwrap();
        let text = token.as_text();
        for path in [
            "",
            "/",
            "/view",
            "/view?",
            "/view?token",
            "/view?token=",
            &format!("/view?token={}", &text[1..]),
            &format!("/view?token={text}0"),
            &format!("/view?Token={text}"),
            &format!("/views?token={text}"),
            &format!("/?token={text}"),
            &format!("/view?x={}&token={text}", "y".repeat(LONGEST_PATH)),
        ] {
            assert!(!tokens.admits(path, now), "{path}");
        }
        assert!(tokens.admits(&format!("/view?v=1&token={text}"), now));
        assert!(!format!("{token:?}").contains(text));
    }

    #[test]
    fn the_number_of_tokens_is_bounded() {
        let (tokens, now) = (tokens(false), Instant::now());
        for _ in 0..MOST {
            tokens.add(now).unwrap();
        }
        assert_eq!(tokens.add(now), Err(NoToken::TooMany));
        assert!(tokens.add(now + Duration::from_secs(60)).is_ok());
    }
}
