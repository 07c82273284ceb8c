//! The options of the carrier by name, and those of the engine.

use weftline::{Congestion, EndpointConfig, PathRequest};
use weftline_proto::{Settings, TextError};

use weftline_sim::schemes;

/// What takes the datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    /// QUIC DATAGRAM.
    Quic,
    /// Plain UDP.
    Udp,
}

/// Takes the options; what is not given is the preset's, or the library's default.
pub(super) fn take(settings: &mut Settings) -> Result<(EndpointConfig, Carrier), TextError> {
    let carriers = [("quic", Carrier::Quic), ("udp", Carrier::Udp)];
    let carrier = settings
        .choice("carrier", &carriers)?
        .unwrap_or(Carrier::Quic);

    let session = schemes::config(settings)?;
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
        return Err(TextError::Contradiction(message));
    }
    config.early_data = settings.switch("0rtt")?.unwrap_or(false);
    if carrier == Carrier::Udp && config.early_data {
        let message = "0rtt= is a matter of QUIC: leave it out with carrier=udp";
        return Err(TextError::Contradiction(message));
    }
    config.segmentation_offload = settings.switch("gso")?.unwrap_or(false);
    let ways = "network devices with `+` in between, as lab0+lab1, or all";
    let paths = settings.take("paths", ways, |text| match text {
        "all" => Some(None),
        names => {
            let paths = names.split('+').map(|name| name.parse().ok());
            paths.collect::<Option<Vec<PathRequest>>>().map(Some)
        }
    })?;
    if carrier == Carrier::Udp && paths.is_some() {
        let message = "plain UDP has one path: leave paths= out with carrier=udp";
        return Err(TextError::Contradiction(message));
    }
    match paths {
        None => {}
        Some(None) => config.all_interfaces = true,
        Some(Some(paths)) => config.paths = paths,
    }
    Ok((config, carrier))
}

#[cfg(test)]
mod tests {
    use super::*;
    use weftline::{Config, RateControl};

    fn engine(arguments: &[&str]) -> Result<(EndpointConfig, Carrier), TextError> {
        let arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
        let mut settings = Settings::parse(&arguments)?;
        let engine = take(&mut settings)?;
        settings.finish("weftline")?;
        Ok(engine)
    }

    #[test]
    fn options_reach_the_engine_and_the_carrier() {
        let words = [
            "preset=block",
            "k=64",
            "share=0.25",
            "fixed_rate=25",
            "carrier=udp",
        ];
        let (config, carrier) = engine(&words).unwrap();
        assert_eq!(carrier, Carrier::Udp);
        assert_eq!(
            config.session.scheme,
            Config::block().k(64).share(0.25).into()
        );
        let rate = Some(25_000_000);
        assert_eq!(
            config.session.rate,
            RateControl::Fixed { rate, window: None }
        );
    }

    #[test]
    fn without_options_it_is_the_library_but_for_segmentation_offload() {
        let (config, carrier) = engine(&[]).unwrap();
        assert_eq!(carrier, Carrier::Quic);
        assert_eq!(config.session, Config::default());
        assert!(!config.segmentation_offload);
    }

    #[test]
    fn paths_are_devices_or_all_of_them() {
        let (config, _) = engine(&["paths=lab0+lab1"]).unwrap();
        let names: Vec<String> = config.paths.iter().map(ToString::to_string).collect();
        assert_eq!(
            (names, config.all_interfaces),
            (vec!["lab0".to_owned(), "lab1".to_owned()], false)
        );
        assert!(engine(&["paths=all"]).unwrap().0.all_interfaces);
        assert!(engine(&["paths=lab0+"]).is_err());
    }

    #[test]
    fn what_plain_udp_cannot_do_is_refused() {
        for words in [
            ["carrier=udp", "cc=cubic"],
            ["carrier=udp", "0rtt=1"],
            ["carrier=udp", "paths=all"],
        ] {
            assert!(engine(&words).is_err(), "{words:?}");
        }
    }
}
