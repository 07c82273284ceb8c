//! A film from one side of a lab to a player on the other.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use weftline_emulator::{Lab, Side};

use super::clip::Clip;
use super::watched::Watched;
use crate::inside::{Running, path};

const PROGRAM: &str = env!("CARGO_BIN_EXE_weftline");
/// Where the player listens, and where the encoder sends to if not straight there.
const PLAYER: u16 = 5006;
/// Time for what is under way at the end, and for the decoder.
const REST: Duration = Duration::from_millis(1500);

/// What carries the film.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Way {
    /// RTP as ffmpeg sends it.
    Bare,
    /// `weftline cast`, to a multicast group.
    Cast,
    /// `weftline relay`.
    Relay,
}

impl Way {
    pub(super) const ALL: [Way; 3] = [Way::Bare, Way::Cast, Way::Relay];

    pub(super) fn name(self) -> &'static str {
        match self {
            Way::Bare => "bare RTP",
            Way::Cast => "`cast`",
            Way::Relay => "`relay`",
        }
    }

    /// Starts what carries it; returns those programs and the address to send the film to.
    fn start(self, lab: &Lab, folder: &Path) -> (Vec<Running>, &'static str) {
        match self {
            Way::Bare => (Vec::new(), "10.77.0.2:5006"),
            Way::Cast => (cast(lab, folder), "127.0.0.1:5004"),
            Way::Relay => (relay(lab, folder), "127.0.0.1:5004"),
        }
    }
}

fn cast(lab: &Lab, folder: &Path) -> Vec<Running> {
    let sending = "cast send --in udp://:5004 --to 239.1.2.3:6000 --interface 10.77.0.1 \
                   --max-latency 400ms --symbol-size 1331 --sdp cast.sdp";
    let sender = Running::weftline(lab, Side::A, folder, "send", sending);
    let description = folder.join("cast.sdp");
    sender.until("the description", || {
        fs::read_to_string(&description).is_ok_and(|text| text.ends_with("a=mid:R\r\n"))
    });
    let receiving = "cast recv --sdp cast.sdp --out udp://127.0.0.1:5006 --interface 10.77.0.2";
    let receiver = Running::weftline(lab, Side::B, folder, "recv", receiving);
    receiver.says(" -> udp://");
    vec![sender, receiver]
}

fn relay(lab: &Lab, folder: &Path) -> Vec<Running> {
    // Both ends have the folder as their home, and so one identity.
    let key = Command::new(PROGRAM)
        .arg("key")
        .env("HOME", folder)
        .output()
        .unwrap();
    let key = String::from_utf8(key.stdout).unwrap();
    let key = key.trim();
    let serving = format!("relay serve --allow 127.0.0.1:5006 --peer {key}");
    let server = Running::weftline(lab, Side::B, folder, "serve", &serving);
    server.says("weftline relay connect");
    // With a deadline packets come as they are recovered. ffmpeg 5.1 puts RTP in order itself, but
    // loses parts of MPEG-TS in doing so.
    let rule = "5004=127.0.0.1:5006,in-order";
    let connecting = format!("relay connect 10.77.0.2 --peer {key} --udp {rule}");
    let client = Running::weftline(lab, Side::A, folder, "connect", &connecting);
    client.says("connected to");
    vec![server, client]
}

/// Plays the film over this link, in real time. Returns what was seen at the far end.
pub(super) fn play(clip: &Clip, way: Way, link: &str, seed: u64) -> Watched {
    let lab = path(link, None, seed);
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();

    let description = format!(
        "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=film\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n\
         m=video {PLAYER} RTP/AVP 33\r\n"
    );
    fs::write(folder.join("player.sdp"), description).unwrap();
    // Packets out of order may wait as long as what carries them lets them be late; unless told,
    // ffmpeg waits for 100 ms. Each line is written when it is there: the end is rough.
    let playing = "ffmpeg -hide_banner -v repeat+level+warning -protocol_whitelist file,udp,rtp \
                   -max_delay 500000 -analyzeduration 500000 -threads 1 -i player.sdp -map 0:v \
                   -fps_mode passthrough -flush_packets 1 -f framehash -hash crc32 seen";
    let words: Vec<&str> = playing.split_whitespace().collect();
    let player = Running::start(&lab, Side::B, folder, "player", &words);
    player.sees_port(PLAYER);

    let (carrying, to) = way.start(&lab, folder);
    let before = lab.report().unwrap().a_to_b;
    let to = format!("rtp://{to}?pkt_size=1328");
    let film = clip.file.to_str().unwrap();
    let sending = ["ffmpeg", "-v", "error", "-re", "-i", film];
    let sending = [
        &sending[..],
        &["-map", "0:v", "-c", "copy", "-f", "rtp_mpegts", &to],
    ]
    .concat();
    Running::start(&lab, Side::A, folder, "encoder", &sending).succeeds();
    sleep(REST);
    let report = lab.report().unwrap();
    let overflow = player.dropped(PLAYER);
    let log = player.end();
    let said = carrying.into_iter().rev().map(Running::end).collect();

    let seen = fs::read_to_string(folder.join("seen")).unwrap_or_default();
    let mut watched = Watched::new(clip, &seen, &log);
    watched.losses = report.a_to_b.losses - before.losses;
    watched.bytes = report.a_to_b.bytes - before.bytes;
    watched.problems = report.problems;
    watched.overflow = overflow;
    watched.said = said;
    watched
}
