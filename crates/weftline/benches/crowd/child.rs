//! What a child process does.

use std::fs;
use std::future::Future;
use std::io::BufRead;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::measure::cpu_seconds;
use crate::options::{Crowd, Engine};
use crate::process::say;
use crate::traffic::Arrivals;
use crate::{bare, weft};

/// What a child process is in a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Role {
    Server,
    Client(Listening),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) engine: Engine,
    pub(crate) role: Role,
    pub(crate) crowd: Crowd,
}

/// A server's first line: where it is and how it is known.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Listening {
    pub(crate) addr: SocketAddr,
    pub(crate) key: String,
}

/// What a child process is told on its standard input. It answers each with a [`Look`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Command {
    Look,
    /// Connect all sessions.
    Connect,
    /// Let each session send its messages.
    Send,
}

/// How a process is now.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Look {
    pub(crate) resident: Option<f64>,
    pub(crate) cpu: Option<f64>,
    /// That the command took.
    pub(crate) seconds: f64,
    /// Messages that were sent by the command, or arrived since the last one.
    pub(crate) messages: u64,
    /// Median and 99th percentile of what arrived, in milliseconds.
    pub(crate) delays: [f64; 2],
}

/// Does what it is told until its standard input ends.
pub(crate) fn run(task: Task) -> Result<()> {
    let limit = Duration::from_secs_f64(60.0 + 4.0 * task.crowd.secs);
    std::thread::spawn(move || {
        std::thread::sleep(limit);
        eprintln!("a child process did not end in time");
        std::process::exit(1);
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let enter = runtime.enter();
    let crowd = task.crowd;
    match (task.role, task.engine) {
        (Role::Server, engine) => {
            let arrivals = Arc::default();
            say(&match engine {
                Engine::Weftline => weft::serve(&crowd, &arrivals)?,
                Engine::Quinn => bare::serve(&arrivals)?,
            })?;
            obey(|_| Ok(0), &arrivals)
        }
        (Role::Client(to), Engine::Weftline) => {
            let client = weft::Client::new(&crowd, &to)?;
            let client = Arc::new(client);
            let connect = move || {
                let client = client.clone();
                async move { client.connect().await }
            };
            drop(enter);
            play(&runtime, crowd, connect, weft::send)
        }
        (Role::Client(to), Engine::Quinn) => {
            let client = Arc::new(bare::Client::new(&to)?);
            let connect = move || {
                let client = client.clone();
                async move { client.connect().await }
            };
            drop(enter);
            play(&runtime, crowd, connect, bare::send)
        }
    }
}

fn obey(mut act: impl FnMut(Command) -> Result<u64>, arrivals: &Arrivals) -> Result<()> {
    for line in std::io::stdin().lock().lines() {
        let start = Instant::now();
        let sent = act(serde_json::from_str(&line?)?)?;
        let seconds = start.elapsed().as_secs_f64();
        let (arrived, delays) = arrivals.take();
        say(&Look {
            resident: resident_bytes(),
            cpu: cpu_seconds(),
            seconds,
            messages: sent + arrived,
            delays,
        })?;
    }
    // Not by dropping the sessions: what they hold at the end shows in a profile of the heap.
    std::process::exit(0)
}

/// Memory of this process that is in the machine's, in bytes.
fn resident_bytes() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024.0)
}

/// The client: connects, and sends.
fn play<C, F, G>(
    runtime: &Runtime,
    crowd: Crowd,
    connect: impl Fn() -> F + Clone + Send + 'static,
    send: impl Fn(C, Crowd, usize) -> G,
) -> Result<()>
where
    C: Clone + Send + 'static,
    F: Future<Output = Result<C>> + Send + 'static,
    G: Future<Output = Result<u64>> + Send + 'static,
{
    let mut sessions = Vec::with_capacity(crowd.sessions);
    let act = |command| {
        runtime.block_on(async {
            let mut tasks = JoinSet::new();
            match command {
                Command::Look => {}
                Command::Connect => {
                    for begun in 0..crowd.sessions {
                        if begun >= crowd.at_once
                            && let Some(connected) = tasks.join_next().await
                        {
                            sessions.push(connected??);
                        }
                        tasks.spawn(connect());
                    }
                    while let Some(connected) = tasks.join_next().await {
                        sessions.push(connected??);
                    }
                }
                Command::Send => {
                    let mut tasks = JoinSet::new();
                    for (number, session) in sessions.iter().enumerate() {
                        tasks.spawn(send(session.clone(), crowd, number));
                    }
                    let mut sent = 0;
                    while let Some(done) = tasks.join_next().await {
                        sent += done??;
                    }
                    if sent == 0 {
                        bail!("no message was sent");
                    }
                    return Ok(sent);
                }
            }
            Ok(0)
        })
    };
    obey(act, &Arrivals::default())
}
