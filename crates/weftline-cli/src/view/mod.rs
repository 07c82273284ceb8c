//! `weftline view`: a live stream for viewers with a browser (`weftline_apps::view`).

mod options;
mod standing;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use weftline::{EndpointConfig, RateControl};
use weftline_apps::SessionError;
use weftline_apps::view::{
    Counts, Format, Source, SourceOptions, TokenRules, View, ViewEvent, ViewOptions,
};
use weftline_apps::{Stopper, printable};

use crate::listen::reachable;
use crate::options::{LogOptions, rate, stats, timeout};
use crate::preset::PresetChoice;
use crate::supervise::{Opened, Reload, StayOptions, supervise};
use crate::ui::failure::There;
use crate::ui::progress::Reporter;
use crate::ui::report::Report;
use crate::ui::{Exit, Failure, OutputOptions, output};
use options::{delay, life, listen, sound, tokens, viewers};

/// No other host runs a command.
const THERE: There = There {
    serve: "weftline view",
    service: None,
    allow: "weftline view",
};

const EXAMPLES: &str = "\
Formats: H.264 as MPEG-TS (with Opus), byte stream or RTP; AV1 as IVF or OBUs. B pictures cost
delay: encode with -tune zerolatency or -bf 0. A key frame every one or two seconds lets viewers
begin quickly. In MPEG-TS without -omit_video_pes_length 0, each picture waits for the next one.

Examples:
  ffmpeg -i INPUT -c:v libx264 -tune zerolatency -g 60 -c:a libopus -f mpegts \\
      -omit_video_pes_length 0 - | weftline view
  weftline view --from movie.ts --repeat --http
  weftline view --from rtp://:5004 --sound rtp://:5006 --listen :8443
  weftline view --from udp://:5000 --once --tokens 5 --listen 192.0.2.7:8443

It prints a link for each token. Whoever has the link may watch, so send it by a way that is safe.
A browser warns of a certificate that is not from an authority: give one with --cert and --key, or
use --http on this host itself. SIGHUP prints a further link. docs/use/view.md has recipes for
cameras, screens and phones.";

/// Show a live stream (H.264, AV1, Opus) to viewers with a browser, over WebTransport
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ViewArgs {
    /// The stream: udp://IP:PORT, rtp://IP:PORT, :PORT in place of IP:PORT for this host only, a file
    /// (played in real time), or - for standard input
    #[arg(long, value_name = "SOURCE", default_value = "-")]
    from: Source,
    /// Sound apart from the stream: RTP with Opus
    #[arg(long, value_name = "rtp://IP:PORT", value_parser = sound)]
    sound: Option<SocketAddr>,
    /// The stream's format: mpegts, h264, ivf or obu [default: by its first bytes]
    #[arg(long, value_name = "NAME")]
    format: Option<Format>,
    /// Play a file again and again
    #[arg(long)]
    repeat: bool,
    /// Address of the page (TCP) and of the sessions (UDP): PORT, IP:PORT, or :PORT for every address
    /// of this host
    #[arg(long, value_name = "LISTEN", default_value = "localhost:8443", value_parser = listen)]
    listen: SocketAddr,
    /// Serve the page without encryption, for browsers on this host itself: they need no certificate
    /// then. Sessions are encrypted in any case
    #[arg(long, conflicts_with_all = ["cert", "key"])]
    http: bool,
    /// The page's certificate, from an authority that browsers know (PEM) [default: one that this
    /// program makes]
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// The private key of --cert (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Serve the files of this folder in place of the built-in page: a page of your own, or the one
    /// that `packaging/web` has built
    #[arg(long, value_name = "DIR")]
    page: Option<PathBuf>,
    /// A link admits viewers for this long: 90s, 30m, 12h
    #[arg(long, value_name = "TIME", default_value = "12h", value_parser = life)]
    token_life: Duration,
    /// Each link admits one viewer, who may come again with the same page
    #[arg(long)]
    once: bool,
    /// Number of links to print
    #[arg(long, value_name = "NUMBER", default_value = "1", value_parser = tokens)]
    tokens: u32,
    /// Most viewers at a time
    #[arg(long, value_name = "NUMBER", default_value = "64", value_parser = viewers)]
    viewers: usize,
    /// Delay with which pages begin, 50ms to 10s; viewers may choose another one. It is the time that
    /// repairs have, beyond the path's own delay
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = delay)]
    delay: Duration,
    /// Print a line of statistics this often
    #[arg(long, value_name = "TIME", value_parser = stats)]
    stats: Option<Duration>,
    /// How lost packets are recovered, as in the other commands (docs/reference/presets.md)
    #[arg(
        long,
        default_value = "auto",
        value_name = "NAME[,OPTION=VALUE...]",
        help_heading = "Session"
    )]
    preset: PresetChoice,
    /// Send to each viewer at most at this rate, whatever the network signals: for links you own, and
    /// well above the stream's rate, for example 20mbit
    #[arg(long, value_name = "RATE", value_parser = rate, help_heading = "Session")]
    rate: Option<u64>,
    /// Give up a viewer whose browser is silent for this long
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = timeout, help_heading = "Session")]
    timeout: Duration,
    /// The event logs of the sessions.
    #[command(flatten)]
    logs: LogOptions,
    /// What every command that stays has.
    #[command(flatten)]
    stay: StayOptions,
}

/// Runs the command.
///
/// # Errors
/// Anything that prevents the start. Later errors are printed, and returned as the exit code.
pub(crate) async fn run(args: ViewArgs, output: OutputOptions) -> Result<Exit> {
    let report = Report::new("view", "", output, args.stats);
    let opening = async {
        let (options, source) = args.options()?;
        if args.stay.config.only_checks() {
            View::check(&options)?;
        }
        (args.stay.config).checked(options.endpoint.event_logs.as_ref())?;
        let reporter = report.reporter.clone();
        let tell = move |event: ViewEvent<'_>| tell(&event, &reporter);
        let view = View::open(options, source, tell).await?;
        let view = Rc::new(view);
        let watch = args.stay.monitor.open("view", "").await?;
        announce(&args, &view, output)?;
        let (seen, inviting) = (view.clone(), view.clone());
        Ok(Opened {
            watch,
            budget: None,
            look: move || seen.counts(),
            reload: Reload::Server(Box::new(move || {
                let link = link(&inviting).map_err(|error| error.to_string())?;
                Ok(format!("a further link: {link}"))
            })),
            run: async move |stopper: &Stopper| -> Result<(), SessionError> {
                view.run(stopper).await
            },
        })
    };
    Ok(supervise::<Counts, _, _>(&report, THERE, opening).await)
}

impl ViewArgs {
    fn options(&self) -> Result<(ViewOptions, SourceOptions), Failure> {
        let mut session = self.preset.config().map_err(Failure::usage)?;
        if self.rate.is_some() {
            session.rate = RateControl::Fixed {
                rate: self.rate,
                window: None,
            };
        }
        session.idle_timeout = self.timeout;
        session.keep_alive = Some((self.timeout / 4).min(Duration::from_secs(5)));
        let mut endpoint = EndpointConfig::new(session);
        endpoint.connect_timeout = endpoint.connect_timeout.min(self.timeout);
        self.logs.complete(&mut endpoint);
        self.stay.monitor.complete(&mut endpoint);
        let mut options = ViewOptions::new(self.listen);
        options.http = self.http;
        options.certificate = self.cert.clone().zip(self.key.clone());
        options.page = self.page.clone();
        options.tokens = TokenRules {
            life: self.token_life,
            once: self.once,
        };
        options.viewers = self.viewers;
        options.delay = self.delay;
        options.endpoint = endpoint;
        let mut source = SourceOptions::new(self.from.clone());
        source.sound = self.sound;
        source.format = self.format;
        source.repeat = self.repeat;
        Ok((options, source))
    }
}

/// The page's link with a further token.
fn link(view: &View) -> Result<String> {
    let token = view.invite()?;
    Ok(view.url(&reachable(view.local_addr()), &token))
}

fn announce(args: &ViewArgs, view: &View, output: OutputOptions) -> Result<()> {
    let links: Result<Vec<_>> = (0..args.tokens).map(|_| link(view)).collect();
    let links = links?;
    if output.json {
        let event = json!({"command": "view", "event": "open", "links": &links});
        output::print(event);
    }
    if !view.has_page() {
        output::line(
            "warning: this build has no page: run packaging/web and build again, or give a page with --page DIR",
        );
    }
    let show = |link: &String| output::line(&format!("  {link}"));
    if output.quiet {
        // Without them nobody can watch.
        links.iter().for_each(show);
        return Ok(());
    }
    let whom = match (args.once, links.len()) {
        (true, 1) => "one viewer may watch",
        (true, _) => "one viewer for each link may watch",
        (false, _) => "those who have the link may watch",
    };
    output::line(&format!("{} at {}; {whom}:", args.from, view.local_addr()));
    links.iter().for_each(show);
    if args.cert.is_none() && !args.http {
        output::line(
            "the page's certificate is this program's own: browsers warn of it, and again after each start and about every 11 days; --cert and --key give another",
        );
    }
    Ok(())
}

fn tell(event: &ViewEvent<'_>, reporter: &Reporter) {
    match event {
        ViewEvent::Joined { remote } => reporter.peer(format!("a viewer at {remote}")),
        ViewEvent::Left { remote, reason } => {
            reporter.peer(format!("the viewer at {remote} is gone: {reason}"));
        }
        ViewEvent::Full { remote } => {
            reporter.peer(format!("no place for a viewer at {remote}: see --viewers"));
        }
        ViewEvent::NotAdmitted { remote } => {
            reporter.peer(format!(
                "refused a viewer at {remote}: its link admits nobody"
            ));
        }
        ViewEvent::TurnedAway(refusal) => reporter.peer(refusal.to_string()),
        ViewEvent::Source(trouble) => reporter.warn(&printable(trouble)),
        ViewEvent::SourceEnded => reporter.note("the stream has ended"),
        ViewEvent::NotRenewed(error) => {
            reporter.warn(&format!("the certificate cannot be renewed: {error}"));
        }
        _ => {}
    }
}
