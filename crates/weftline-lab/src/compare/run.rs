//! One run: a fresh path, the flows on it, and the results of both and of the emulator.

use std::fs;
use std::time::{Duration, Instant, SystemTime};

use weftline_emulator::{Event, Lab, Links, NotAnEvent, PathConfig, PathError, Script, Side};

use super::capacity::capacity;
use super::peer::Peer;
use super::plan::Job;
use super::process::Process;
use super::record::{Flow, Record};
use super::suite::{Case, number};
use super::tools::{Missing, Tools};
use crate::load::{Mode, Side as End, now};

/// Time between two checks.
const LOOK: Duration = Duration::from_millis(3);
/// How long a receiver may take to start listening.
const READY: Duration = Duration::from_secs(10);
/// How long one end may continue when the other has ended.
const FAREWELL: Duration = Duration::from_secs(5);
/// Lateness of the sending program, in ms, above which a run does not represent the transport: the
/// same limit as for the emulator.
const MAX_LATE: f64 = 1.0;
/// Clock ticks in a second in /proc (`USER_HZ`).
const TICKS: f64 = 100.0;

/// Why there was no run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The lab cannot be opened.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A program is missing.
    #[error(transparent)]
    Missing(#[from] Missing),
}

/// A flow to start.
struct Plan {
    peer: Peer,
    settings: Vec<String>,
    offset: f64,
}

/// Runs `job` in a fresh lab; `None` if `stop` requested an end. A peer that fails makes a record
/// with an error.
///
/// # Errors
/// The lab cannot be opened, or a program is missing.
pub(super) fn run(
    job: &Job,
    attempt: u32,
    tools: &Tools,
    stop: &mut dyn FnMut() -> bool,
) -> Result<Option<Record>, RunError> {
    let started = Instant::now();
    let since_1970 = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let load_average = load_average();
    let (cpu, waited, plans) = (children_secs(), waited_secs(), plans(job, tools));
    let links = |link: &str, back: &Option<String>| {
        Links::parse(link, back.as_deref()).map_err(PathError::from)
    };
    let mut config = PathConfig::new(links(&job.case.link, &job.case.back)?);
    for more in &job.case.more {
        config.links.push(links(&more.link, &more.back)?);
    }
    config.seed = job.seed;
    let events = job.case.events.iter().map(|event| event.parse());
    let events: Vec<Event> = events
        .collect::<Result<_, NotAnEvent>>()
        .map_err(|error| PathError::Setting(error.to_string()))?;
    config.devices_go_down = !events.is_empty();
    let lab = Lab::open(&config)?;
    let (mut flows, mut began) = (Vec::new(), None);
    let setting = Setting {
        lab: &lab,
        case: &job.case,
        plans: &plans,
        events: &events,
        tools,
    };
    let outcome = measure(&setting, &mut flows, &mut began, stop);
    // Every process inside ends here, so that its output can be read to the end.
    let report = lab.close();
    let flows: Vec<Flow> = flows.into_iter().map(Running::into_flow).collect();
    let mut error = match outcome? {
        Outcome::Stopped => return Ok(None),
        Outcome::Ended => None,
        Outcome::Failed(error) => Some(error),
    };
    error = error.or_else(|| flows.iter().find_map(problem));
    let (mut problems, path) = match report {
        Ok(report) => (report.problems.clone(), serde_json::to_value(&report).ok()),
        Err(problem) => {
            error.get_or_insert(problem.to_string());
            (Vec::new(), None)
        }
    };
    let capacity = began.and_then(|began| capacity(&config.links, job, &flows, began));
    problems.extend(flows.iter().filter_map(late_sender));
    let seconds = started.elapsed().as_secs_f64();
    Ok(Some(Record {
        what: job.what.clone(),
        attempt,
        valid: problems.is_empty() && error.is_none(),
        problems,
        error,
        flows,
        path,
        capacity,
        started: since_1970.as_secs_f64(),
        seconds,
        cpu: (children_secs() - cpu) / seconds,
        load_average,
        waiting: waited.and_then(|before| Some((waited_secs()? - before) / seconds)),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: kernel(),
    }))
}

/// The flows of a job; the measured one is last.
fn plans(job: &Job, tools: &Tools) -> Vec<Plan> {
    let case = &job.case;
    let measured = tools.settings(case, &job.peer);
    let mut plans: Vec<Plan> = Vec::new();
    for other in &case.others {
        let peer = other.as_ref().unwrap_or(&job.peer);
        // They continue until the newcomer has ended.
        let secs = case.setting("secs").unwrap_or(0.0) + case.head_start + 1.0;
        let settings = tools.settings(case, peer);
        let settings = settings.into_iter().map(|s| match s.starts_with("secs=") {
            true => format!("secs={secs}"),
            false => s,
        });
        plans.push(Plan {
            peer: peer.clone(),
            settings: settings.collect(),
            offset: 0.0,
        });
    }
    plans.push(Plan {
        peer: job.peer.clone(),
        settings: measured,
        offset: if case.others.is_empty() {
            0.0
        } else {
            case.head_start
        },
    });
    plans
}

/// Reports messages that were written late because the sender waited for the processor.
fn late_sender(flow: &Flow) -> Option<String> {
    let late = flow.sent.as_ref()?.pointer("/late/p99")?.as_f64()?;
    let peer = &flow.peer;
    (late > MAX_LATE)
        .then(|| format!("{peer}: 1 in 100 messages was written {late} ms late or later"))
}

/// The problem of a flow. An error that one end reports takes precedence over the other end's
/// silence, which it may have caused.
fn problem(flow: &Flow) -> Option<String> {
    let ends = [("sender", &flow.sent), ("receiver", &flow.received)];
    let said = ends.iter().find_map(|(end, result)| {
        let error = result.as_ref()?.get("error")?;
        Some(format!(
            "{}: {end}: {}",
            flow.peer,
            error.as_str().unwrap_or("?")
        ))
    });
    let silent = || {
        let silent = ends.iter().find(|(_, result)| result.is_none());
        silent.map(|(end, _)| format!("{}: the {end} gave no result", flow.peer))
    };
    said.or_else(silent)
}

/// The reason why the flows ended.
enum Outcome {
    Ended,
    Failed(String),
    Stopped,
}

/// A flow whose receiver is running.
struct Running {
    flow: Flow,
    receiver: Process,
    sender: Option<Process>,
    /// When one end had ended and the other had not.
    alone: Option<Instant>,
}

impl Running {
    fn into_flow(self) -> Flow {
        let mut flow = self.flow;
        flow.received = self.receiver.result();
        flow.sent = self.sender.and_then(Process::result);
        flow
    }
}

/// What a run has.
struct Setting<'a> {
    lab: &'a Lab,
    case: &'a Case,
    plans: &'a [Plan],
    events: &'a [Event],
    tools: &'a Tools,
}

fn measure(
    setting: &Setting<'_>,
    flows: &mut Vec<Running>,
    began: &mut Option<i64>,
    stop: &mut dyn FnMut() -> bool,
) -> Result<Outcome, RunError> {
    let &Setting {
        lab,
        case,
        plans,
        events,
        tools,
    } = setting;
    for (index, plan) in plans.iter().enumerate() {
        let line = |end| tools.arguments(end, case.mode, &plan.peer, &plan.settings, index);
        let command = |arguments: &[String]| format!("weftline-lab {}", arguments.join(" "));
        let (recv, send) = (line(End::Recv)?, line(End::Send)?);
        flows.push(Running {
            flow: Flow {
                peer: plan.peer.to_string(),
                offset: plan.offset,
                commands: [command(&recv), command(&send)],
                received: None,
                sent: None,
            },
            receiver: Process::start(lab, Side::B, tools, &recv)?,
            sender: None,
            alone: None,
        });
    }
    let end = Instant::now() + READY;
    for running in flows.iter_mut() {
        while !running.receiver.is_listening() {
            if stop() {
                return Ok(Outcome::Stopped);
            }
            let late = Instant::now() >= end;
            if late || running.receiver.has_ended() {
                let what = if late {
                    "does not listen"
                } else {
                    "ended before it listened"
                };
                let words = running.receiver.last_words();
                return Ok(Outcome::Failed(format!(
                    "{}: receiver {what}{words}",
                    running.flow.peer
                )));
            }
            std::thread::sleep(LOOK);
        }
    }
    lab.begin_traces();
    *began = Some(now());
    let mut script = Script::begin(events);
    let start = Instant::now();
    let limit = start + limit(case);
    loop {
        if stop() {
            return Ok(Outcome::Stopped);
        }
        script.play(lab)?;
        if let Some(status) = script.failed() {
            return Ok(Outcome::Failed(format!("an event failed: {status}")));
        }
        let now = Instant::now();
        let mut is_over = true;
        for (running, (index, plan)) in flows.iter_mut().zip(plans.iter().enumerate()) {
            let due = start + Duration::from_secs_f64(plan.offset);
            match &mut running.sender {
                None if now >= due => {
                    let send =
                        tools.arguments(End::Send, case.mode, &plan.peer, &plan.settings, index)?;
                    running.sender = Some(Process::start(lab, Side::A, tools, &send)?);
                    is_over = false;
                }
                None => is_over = false,
                Some(sender) => match (sender.has_ended(), running.receiver.has_ended()) {
                    (true, true) => {}
                    (false, false) => is_over = false,
                    _ => {
                        let alone = *running.alone.get_or_insert(now);
                        is_over &= now >= alone + FAREWELL;
                    }
                },
            }
        }
        if is_over {
            return Ok(Outcome::Ended);
        }
        if now >= limit {
            let seconds = (limit - start).as_secs_f64();
            let slow = flows
                .iter_mut()
                .find_map(|r| (!r.receiver.has_ended()).then(|| r.flow.peer.clone()));
            let peer = slow.unwrap_or_default();
            return Ok(Outcome::Failed(format!(
                "{peer}: not finished after {seconds:.0} s"
            )));
        }
        std::thread::sleep(LOOK);
    }
}

/// The longest time that the flows of a case may take.
fn limit(case: &Case) -> Duration {
    let get = |name| number(&case.settings, name);
    let secs = match case.mode {
        Mode::Bulk | Mode::Stream => {
            case.head_start + get("secs").unwrap_or(10.0) + get("drain").unwrap_or(2.0) + 15.0
        }
        Mode::Xfer => 60.0 + 10.0 * case.about_secs,
    };
    Duration::from_secs_f64(secs)
}

/// Processor time of all children that have ended and were waited for, in seconds.
fn children_secs() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let Some((_, fields)) = stat.rsplit_once(") ") else {
        return 0.0;
    };
    // cutime and cstime are the 16th and 17th field, the state the third (proc(5)).
    let times = fields.split(' ').skip(13).take(2);
    times.filter_map(|t| t.parse::<f64>().ok()).sum::<f64>() / TICKS
}

/// Time since boot in which some process waited for a processor, in seconds.
fn waited_secs() -> Option<f64> {
    let text = fs::read_to_string("/proc/pressure/cpu").ok()?;
    let some = text.lines().find(|line| line.starts_with("some "))?;
    let (_, total) = some.rsplit_once("total=")?;
    Some(total.parse::<f64>().ok()? / 1e6)
}

/// The kernel's name and release.
fn kernel() -> Option<String> {
    let read = |file: &str| fs::read_to_string(format!("/proc/sys/kernel/{file}")).ok();
    let (name, release) = (read("ostype")?, read("osrelease")?);
    Some(format!("{} {}", name.trim(), release.trim()))
}

fn load_average() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let mut words = text.split(' ');
    words.next().and_then(|w| w.parse().ok()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::super::plan;
    use super::super::suite::Scale;
    use super::super::suites;
    use super::*;

    #[test]
    fn flows_that_share_a_path_start_earlier_and_end_later() {
        let suite = suites::by_name("D", Scale::default()).unwrap();
        let jobs = plan::jobs(&suite, 1);
        let job = jobs
            .iter()
            .find(|j| j.what.case == "beside 4 TCP BBR")
            .unwrap();
        let tools = Tools::new("weftline-lab".into(), Vec::new(), "/none".as_ref());
        let plans = plans(job, &tools);
        assert_eq!(plans.len(), 5);
        let secs = |plan: &Plan| number(&plan.settings, "secs").unwrap();
        let last = plans.last().unwrap();
        assert_eq!((last.offset, last.peer.clone()), (3.0, job.peer.clone()));
        for other in &plans[..4] {
            assert!(other.offset == 0.0 && secs(other) > secs(last) + last.offset);
            assert_eq!(other.peer.to_string(), "tcp/bbr");
        }
    }

    #[test]
    fn a_late_sender_is_reported() {
        let flow = |late: f64| Flow {
            peer: "kcp".into(),
            offset: 0.0,
            commands: Default::default(),
            received: None,
            sent: Some(serde_json::json!({"late": {"p99": late}})),
        };
        assert_eq!(late_sender(&flow(0.2)), None);
        assert!(
            late_sender(&flow(9.0))
                .unwrap()
                .starts_with("kcp: 1 in 100")
        );
    }

    #[test]
    fn a_reported_error_takes_precedence_over_silence() {
        let mut flow = Flow {
            peer: "udt".into(),
            offset: 0.0,
            commands: Default::default(),
            received: None,
            sent: Some(serde_json::json!({"error": "cannot connect"})),
        };
        assert_eq!(
            problem(&flow).as_deref(),
            Some("udt: sender: cannot connect")
        );
        flow.sent = Some(serde_json::json!({"bytes": 1}));
        assert_eq!(
            problem(&flow).as_deref(),
            Some("udt: the receiver gave no result")
        );
        flow.received = Some(serde_json::json!({"bytes": 1}));
        assert_eq!(problem(&flow), None);
    }

    #[test]
    fn the_load_of_the_machine_is_known() {
        assert!(children_secs() >= 0.0);
        assert!(load_average() >= 0.0);
        assert!(waited_secs().is_none_or(|secs| secs >= 0.0));
        assert!(kernel().is_some_and(|name| name.starts_with("Linux ")));
    }
}
