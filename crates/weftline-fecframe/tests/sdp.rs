//! Session descriptions are read as written, and errors name the wrong part.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use weftline_fecframe::ffci::{Ffci, RepairFlow, SdpError, SourceFlow};
use weftline_fecframe::{EncodingId, Fssi};

const RLC: Fssi = Fssi::Rlc {
    symbol_size: 1400,
    window_size_ratio: 191,
};

fn instance() -> Ffci {
    let mut video = SourceFlow::new(0, "239.1.2.3:5004".parse().unwrap());
    video.media = "video".to_owned();
    video.protocol = "RTP/AVP".to_owned();
    video.format = "33".to_owned();
    video.attributes = vec!["rtpmap:33 MP2T/90000".to_owned(), "recvonly".to_owned()];
    video.endpoint.ttl = Some(16);
    let mut game = SourceFlow::new(255, "[ff3e::8000:1]:7000".parse().unwrap());
    game.endpoint.sender = Some("2001:db8::1".parse().unwrap());
    let address = "239.1.2.3:6002".parse().unwrap();
    let mut repair = RepairFlow::new(EncodingId::RlcGf256, RLC, address);
    repair.window = Some(Duration::from_millis(200));
    repair.endpoint.sender = Some("192.0.2.1".parse().unwrap());
    let mut ffci = Ffci::new(vec![video, game], repair);
    ffci.name = "a film".to_owned();
    ffci
}

#[test]
fn an_instance_survives_its_description() {
    let ffci = instance();
    assert_eq!(Ffci::from_sdp(&ffci.to_sdp()).unwrap(), ffci);
    let mut blocks = instance();
    blocks.repair.encoding_id = EncodingId::ReedSolomon;
    blocks.repair.fssi = Fssi::ReedSolomon {
        symbol_size: 1400,
        strict: false,
        m: 8,
    };
    blocks.repair.window = Some(Duration::from_micros(1500));
    let sdp = blocks.to_sdp();
    assert!(sdp.contains("a=fec-source-flow: id=0; tag-len=6\r\n"));
    assert!(sdp.contains("a=repair-window:1500us\r\n"));
    assert_eq!(Ffci::from_sdp(&sdp).unwrap(), blocks);
}

#[test]
fn the_attributes_are_those_of_the_rfc() {
    let sdp = instance().to_sdp();
    for line in [
        "a=fec-source-flow: id=0; tag-len=4",
        "a=fec-repair-flow: encoding-id=10; fssi=E:1400,WSR:191",
        "a=repair-window:200ms",
        "m=video 5004 FEC/RTP/AVP 33",
        "c=IN IP4 239.1.2.3/16",
        "a=source-filter: incl IN IP6 ff3e::8000:1 2001:db8::1",
        "a=group:FEC-FR S0 S255 R",
    ] {
        assert!(sdp.lines().any(|l| l == line), "{line} in\n{sdp}");
    }
}

#[test]
fn descriptions_of_other_programs_are_read() {
    let text = "v=0\no=x 1 1 IN IP4 192.0.2.9\ns=other\nt=0 0\nb=AS:5000\n\
        c=IN IP4 233.252.0.1/127\na=repair-window:150ms\n\
        m=audio 9 RTP/AVP 0\n\
        m=video 30000 RTP/AVP 100\na=rtpmap:100 JPEG/90000\na=fec-source-flow: id=3;tag-len=4\n\
        m=application 30001 UDP/FEC *\na=fec-repair-flow: encoding-id=9; preference-lvl=1; fssi=E:700,WSR:0; ss-fssi=x\n";
    let ffci = Ffci::from_sdp(text).unwrap();
    assert_eq!(ffci.sources.len(), 1);
    assert_eq!(ffci.sources[0].id, 3);
    assert_eq!(ffci.sources[0].protocol, "RTP/AVP");
    assert_eq!(ffci.repair.encoding_id, EncodingId::RlcGf2);
    assert_eq!(ffci.repair.window, Some(Duration::from_millis(150)));
    assert_eq!(
        ffci.repair.endpoint.address,
        "233.252.0.1:30001".parse().unwrap()
    );
    assert_eq!(ffci.repair.endpoint.ttl, Some(127));
    assert_eq!(ffci.receiver().flows.iter().collect::<Vec<_>>(), [3]);
}

#[test]
fn errors_name_the_wrong_part() {
    let good = instance().to_sdp();
    let without = |line: &str| -> String {
        let lines = good.lines().filter(|l| !l.starts_with(line));
        lines.map(|l| format!("{l}\n")).collect()
    };
    let error = |text: &str| Ffci::from_sdp(text).unwrap_err();
    assert!(matches!(error(""), SdpError::Missing { .. }));
    assert!(matches!(
        error(&without("a=fec-repair")),
        SdpError::Missing { .. }
    ));
    assert!(matches!(
        error(&without("a=fec-source")),
        SdpError::Missing { .. }
    ));
    assert!(matches!(error(&without("c=")), SdpError::Missing { .. }));
    let with = |from: &str, to: &str| error(&good.replace(from, to));
    assert!(matches!(with("id=255", "id=0"), SdpError::Twice { .. }));
    assert!(matches!(with("id=255", "id=256"), SdpError::Line { .. }));
    assert!(matches!(
        with("encoding-id=10", "encoding-id=6"),
        SdpError::Line { .. }
    ));
    assert!(matches!(with("E:1400", "E:0"), SdpError::Fssi { .. }));
    assert!(matches!(with("200ms", "200s"), SdpError::Line { .. }));
    assert!(matches!(with("5004", "65536"), SdpError::Line { .. }));
    let tag = with("id=0; tag-len=4", "id=0; tag-len=6");
    assert_eq!(
        tag,
        SdpError::Tag {
            flow: 0,
            got: 6,
            expected: 4
        }
    );
    assert!(matches!(error("nonsense"), SdpError::Line { line: 1, .. }));
    assert!(matches!(
        error(&"a=x\n".repeat(1 << 19)),
        SdpError::TooLong { .. }
    ));
}

#[test]
fn a_name_cannot_add_lines() {
    let mut ffci = instance();
    ffci.name = "x\r\na=fec-source-flow: id=9; tag-len=4".to_owned();
    let read = Ffci::from_sdp(&ffci.to_sdp()).unwrap();
    assert_eq!(read.sources, ffci.sources);
}
