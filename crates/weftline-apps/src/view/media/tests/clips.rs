//! Two seconds of ffmpeg's test picture in each format.

use std::io::Write;
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use weftline_testkit::has_command;

use super::Format;

/// A clip, and the sums of its pictures.
#[derive(Clone)]
pub(super) struct Clip {
    pub(super) bytes: Vec<u8>,
    pub(super) decoded: Vec<String>,
}

const VIDEO: &str = "-f lavfi -i testsrc2=size=320x240:rate=30:duration=2";
const SOUND: &str = "-f lavfi -i sine=frequency=440:sample_rate=48000:duration=2";
const H264: &str = "-c:v libx264 -profile:v baseline -level 3 -preset ultrafast -tune zerolatency -threads 1 -g 30 -x264-params scenecut=0:sliced-threads=0";
const OPUS: &str = "-c:a libopus -ac 2 -b:a 64k";
const AV1: &str = "-f lavfi -i testsrc2=size=96x64:rate=10:duration=2 -c:v libaom-av1 -cpu-used 8 -usage realtime -threads 1 -g 10 -keyint_min 10 -lag-in-frames 0";

/// The clip in this format; `None`: this machine cannot make it, and says so.
pub(super) fn clip(format: Format) -> Option<Clip> {
    static CLIPS: Mutex<Vec<(Format, Clip)>> = Mutex::new(Vec::new());
    if !has_command("ffmpeg", "-version", "ffmpeg") {
        return None;
    }
    let mut clips = CLIPS.lock().unwrap();
    if let Some((_, clip)) = clips.iter().find(|(its, _)| *its == format) {
        return Some(clip.clone());
    }
    let options = match format {
        Format::H264 => format!("{VIDEO} {H264} -f h264 -"),
        Format::MpegTs => {
            format!("{VIDEO} {SOUND} {H264} {OPUS} -f mpegts -omit_video_pes_length 0 -")
        }
        Format::Obu => format!("{AV1} -f obu -"),
        Format::Ivf => format!("{AV1} -f ivf -"),
    };
    let bytes = ffmpeg(&options, &[]);
    let clip = Clip {
        decoded: decoded(format, &bytes),
        bytes,
    };
    clips.push((format, clip.clone()));
    Some(clip)
}

/// Sums of the pictures that ffmpeg decodes from a stream.
pub(super) fn decoded(format: Format, stream: &[u8]) -> Vec<String> {
    let sums = ffmpeg(
        &format!("-f {format} -i - -map 0:v -vsync passthrough -f framehash -hash crc32 -"),
        stream,
    );
    let text = String::from_utf8(sums).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.rsplit(',').next().unwrap().trim().to_owned())
        .collect()
}

fn ffmpeg(options: &str, input: &[u8]) -> Vec<u8> {
    let mut command = Command::new("ffmpeg");
    command
        .args(["-v", "error"])
        .args(options.split_whitespace());
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_vec());
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    // ffmpeg may end before it has read everything.
    let _ = writer.join().unwrap();
    assert!(output.status.success(), "{options}");
    output.stdout
}

/// The clip's packets by RTP, `h264` or `opus`.
pub(super) fn rtp(codec: &str) -> Option<Vec<Vec<u8>>> {
    if !has_command("ffmpeg", "-version", "ffmpeg") {
        return None;
    }
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(4 << 20);
    let port = socket.local_addr().unwrap().port();
    let input = match codec {
        "h264" => format!("{VIDEO} {H264}"),
        _ => format!("{SOUND} {OPUS}"),
    };
    // ffmpeg sends reports to the next port; nothing needs to be there.
    ffmpeg(&format!("{input} -f rtp rtp://127.0.0.1:{port}"), &[]);
    socket
        .set_read_timeout(Some(Duration::from_millis(1)))
        .unwrap();
    let (mut packets, mut buffer) = (Vec::new(), [0; 2048]);
    while let Ok(length) = socket.recv(&mut buffer) {
        packets.push(buffer[..length].to_vec());
    }
    Some(packets)
}
