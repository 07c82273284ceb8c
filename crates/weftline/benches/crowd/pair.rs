//! One run: a server and a client process, step by step.

use std::io::Write;
use std::process::ChildStdin;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::child::{Command, Listening, Look, Role, Task};
use crate::options::{Crowd, Engine};
use crate::process::{self, Process};

/// After each step both ends settle for this part of a pause.
const SETTLE: f64 = 0.3;

/// What one run came to. Of pairs, the client's value is first.
pub(crate) struct Run {
    pub(crate) setups_per_second: f64,
    /// Processor milliseconds of a set-up.
    pub(crate) setup_cpu: [Option<f64>; 2],
    /// KiB of resident memory of a session that was set up and did nothing, of one that sends, and of
    /// one that is idle again.
    pub(crate) idle: [Option<f64>; 2],
    pub(crate) busy: [Option<f64>; 2],
    pub(crate) quiet: [Option<f64>; 2],
    /// Processor microseconds of an idle session in a second.
    pub(crate) idle_cpu: [Option<f64>; 2],
    /// Processor microseconds of a message.
    pub(crate) message_cpu: [Option<f64>; 2],
    pub(crate) sent_per_second: f64,
    /// Part of what was to be sent that has arrived.
    pub(crate) arrived: f64,
    pub(crate) delays: [f64; 2],
}

/// How both ends are.
type Ends = [Look; 2];

pub(crate) fn run(engine: Engine, crowd: &Crowd) -> Result<Run> {
    let start = |role| {
        let task = Task {
            engine,
            role,
            crowd: *crowd,
        };
        let mut child = std::process::Command::new(std::env::current_exe()?);
        child.args(process::arguments(&task)?);
        Process::spawn(child)
    };
    let mut server = start(Role::Server)?;
    let listening: Listening = server.0.line()?;
    let mut client = start(Role::Client(listening))?;
    let pause = |share: f64| sleep(Duration::from_secs_f64(crowd.secs * share));

    let mut tell = |command| -> Result<Ends> {
        Ok([ask(&mut client, command)?, ask(&mut server, Command::Look)?])
    };
    let fresh = tell(Command::Look)?;
    let connected = tell(Command::Connect)?;
    pause(SETTLE);
    let idle = tell(Command::Look)?;
    pause(1.0);
    let rested = tell(Command::Look)?;
    let sent = tell(Command::Send)?;
    pause(SETTLE);
    let last = tell(Command::Look)?;
    // Sessions let memory go when they ask each other in a pause.
    pause(1.0);
    let quiet = tell(Command::Look)?;

    let sessions = crowd.sessions as f64;
    let kib =
        |ends: &Ends| each(|n| Some((ends[n].resident? - fresh[n].resident?) / 1024.0 / sessions));
    let cpu = |from: &Ends, to: &Ends, count: f64| {
        each(|n| Some((to[n].cpu? - from[n].cpu?) * 1e6 / count))
    };
    let arrived = sent[1].messages + last[1].messages;
    ensure!(arrived > 0, "no message arrived");
    let wanted = f64::from(crowd.rate) * crowd.secs * sessions;
    let part = sent[1].messages.max(last[1].messages);
    Ok(Run {
        setups_per_second: sessions / connected[0].seconds,
        setup_cpu: cpu(&fresh, &connected, sessions * 1000.0),
        idle: kib(&idle),
        busy: kib(&sent),
        quiet: kib(&quiet),
        idle_cpu: cpu(&idle, &rested, sessions * crowd.secs),
        message_cpu: cpu(&rested, &sent, arrived as f64),
        sent_per_second: sent[0].messages as f64 / sent[0].seconds,
        arrived: arrived as f64 / wanted,
        delays: match part == sent[1].messages {
            true => sent[1].delays,
            false => last[1].delays,
        },
    })
}

/// Tells a child process something, and waits for its answer.
fn ask((process, stdin): &mut (Process, ChildStdin), command: Command) -> Result<Look> {
    writeln!(stdin, "{}", serde_json::to_string(&command)?)?;
    process.line()
}

fn each(value: impl Fn(usize) -> Option<f64>) -> [Option<f64>; 2] {
    [value(0), value(1)]
}
