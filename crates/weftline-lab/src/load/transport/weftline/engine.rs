//! The carrier's options by name; the engine's are those of [`session_text`].

use weftline::{Congestion, EndpointConfig};
use weftline_apps::session_text::{self, SettingError, Settings};

/// What takes the datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    /// QUIC DATAGRAM.
    Quic,
    /// Plain UDP.
    Udp,
}

/// Takes the options; what is not given is the preset's, or the library's default.
pub(super) fn take(settings: &mut Settings) -> Result<(EndpointConfig, Carrier), SettingError> {
    let preset = session_text::preset(settings)?;
    let carriers = [("quic", Carrier::Quic), ("udp", Carrier::Udp)];
    let carrier = settings
        .choice("carrier", &carriers)?
        .unwrap_or(Carrier::Quic);

    let session = session_text::session(preset, settings)?;
    let mut config = EndpointConfig::new(session);
    let controllers = [
        ("cubic", Congestion::Cubic),
        ("bbr", Congestion::Bbr),
        ("newreno", Congestion::NewReno),
        ("engine", Congestion::Engine),
    ];
    config.congestion = settings.choice("cc", &controllers)?;
    if carrier == Carrier::Udp && config.congestion.is_some() {
        let message = "cc= chooses QUIC's congestion control: leave it out with carrier=udp";
        return Err(SettingError::Contradiction(message.to_owned()));
    }
    config.early_data = settings.switch("0rtt")?.unwrap_or(false);
    if carrier == Carrier::Udp && config.early_data {
        let message = "0rtt= is a matter of QUIC: leave it out with carrier=udp";
        return Err(SettingError::Contradiction(message.to_owned()));
    }
    config.segmentation_offload = settings.switch("gso")?.unwrap_or(false);
    Ok((config, carrier))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use weftline::Config;
    use weftline::proto::{Code, Compared, Feedback, RateControl, Redundancy, TopUp};

    fn engine(arguments: &[&str]) -> Result<(EndpointConfig, Carrier), SettingError> {
        let arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
        let mut settings = Settings::parse(&arguments)?;
        let engine = take(&mut settings)?;
        settings.finish("weftline")?;
        Ok(engine)
    }

    #[test]
    fn options_reach_the_engine() {
        let (config, carrier) = engine(&[
            "preset=block",
            "k=64",
            "share=0.25",
            "feedback=periodic:25",
            "topup=none",
            "fixed_rate=25",
            "fixed_window=187500",
            "carrier=udp",
        ])
        .unwrap();
        assert_eq!(carrier, Carrier::Udp);
        let policies = config.session.policies;
        assert_eq!(policies.code, Code::Block { k: 64 });
        assert_eq!(policies.redundancy, Redundancy::Share(0.25));
        assert_eq!(policies.top_up, TopUp::None);
        let interval = Duration::from_millis(25);
        assert_eq!(policies.feedback, Feedback::Periodic { interval });
        assert_eq!(
            config.session.rate,
            RateControl::Fixed {
                rate: Some(25_000_000),
                window: Some(187_500)
            }
        );
    }

    #[test]
    fn auto_is_told_what_to_aim_at() {
        let (config, _) = engine(&["share=0.4", "delay=25", "without=tail+bursts"]).unwrap();
        let Redundancy::Auto(auto) = config.session.policies.redundancy else {
            panic!("auto is the default")
        };
        assert_eq!(auto.delay, Some(Duration::from_millis(25)));
        assert_eq!(auto.limit, Some(0.4));
        assert!(!auto.ingredients.tail && !auto.ingredients.bursts && auto.ingredients.reports);
    }

    #[test]
    fn rules_to_compare_with_have_their_own_options() {
        let (config, _) = engine(&["preset=ac-rlnc", "th=0.2"]).unwrap();
        let rule = Redundancy::Compared(Compared::AcRlnc { threshold: 0.2 });
        assert_eq!(config.session.policies.redundancy, rule);
        let (config, _) = engine(&["preset=flec-message", "deadline=80"]).unwrap();
        let deadline = Duration::from_millis(80);
        let rule = Redundancy::Compared(Compared::FlecMessage { deadline });
        assert_eq!(config.session.policies.redundancy, rule);
        let (config, _) = engine(&["deadline=80", "feedback=adaptive:5"]).unwrap();
        let Redundancy::Auto(auto) = config.session.policies.redundancy else {
            panic!("auto is the default")
        };
        assert_eq!(auto.deadline, Some(deadline));
        let target = Duration::from_millis(5);
        assert_eq!(
            config.session.policies.feedback,
            Feedback::Adaptive { target }
        );
    }

    #[test]
    fn a_spacing_is_a_share_by_another_name() {
        let (config, _) = engine(&["preset=streaming", "l=5"]).unwrap();
        let redundancy = config.session.policies.redundancy;
        assert_eq!(redundancy, Redundancy::Share(0.25));
    }

    #[test]
    fn rest_follows_the_losses_or_keeps_a_fixed_share() {
        let (config, _) = engine(&["preset=rest", "ewma=1", "weight=0.5", "apart=50"]).unwrap();
        let Redundancy::Measured(measured) = config.session.policies.redundancy else {
            panic!("rest measures")
        };
        assert_eq!(measured.interval, Duration::from_secs(1));
        assert_eq!((measured.weight, measured.most_apart), (0.5, 50));
        let (config, _) = engine(&["preset=rest", "share=0.2", "topup=none"]).unwrap();
        let policies = config.session.policies;
        assert_eq!(policies.redundancy, Redundancy::Share(0.2));
        assert_eq!(policies.top_up, TopUp::None);
    }

    #[test]
    fn without_options_it_is_the_library_but_for_segmentation_offload() {
        let (config, carrier) = engine(&[]).unwrap();
        assert_eq!(carrier, Carrier::Quic);
        assert_eq!(config.session, Config::default());
        assert!(!config.segmentation_offload);
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        for bad in [
            ["preset=arq", "share=0.1"],
            ["preset=streaming", "k=8"],
            ["carrier=udp", "cc=cubic"],
            ["encoding=elastic:0", "gso=0"],
            ["feedback=periodic:0", "gso=0"],
            ["delay=20", "preset=streaming"],
            ["ewma=1", "preset=streaming"],
            ["th=0.2", "preset=streaming"],
            ["share=0.2", "preset=ac-rlnc"],
            ["deadline=50", "preset=streaming"],
            ["deadline=0", "gso=0"],
            ["feedback=adaptive:0", "gso=0"],
            ["apart=50", "gso=0"],
            ["without=luck", "gso=0"],
            ["l=5", "gso=0"],
            ["l=5", "preset=arq"],
            ["l=1", "preset=streaming"],
        ] {
            assert!(engine(&bad).is_err(), "{bad:?}");
        }
    }
}
