//! Whole packets agree with the vectors, and a receiver gets their ADUs. (The codec and
//! `weftline-lab vectors` check the parts of packets with the same file.)
#![allow(clippy::unwrap_used)]

use serde_json::Value;
use weftline_fecframe::payload_id::RepairId;
use weftline_fecframe::{
    CodeRate, EncodingId, FlowSet, Fssi, Order, Outcome, Receiver, ReceiverConfig, Sender,
    SenderConfig, Time,
};

fn vectors(section: &str) -> Vec<Value> {
    let text = include_str!("../../weftline-codec/tests/vectors/rfc8681.json");
    let vectors: Value = serde_json::from_str(text).unwrap();
    let cases = vectors[section].as_array().unwrap().clone();
    assert!(!cases.is_empty());
    cases
}

fn number(value: &Value) -> u32 {
    u32::try_from(value.as_u64().unwrap()).unwrap()
}

fn hex(value: &Value) -> Vec<u8> {
    let digits = value.as_str().unwrap();
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn rlc(case: &Value) -> (EncodingId, Fssi) {
    let id = EncodingId::from_number(number(&case["fec_encoding_id"]) as u8).unwrap();
    let fssi = Fssi::Rlc {
        symbol_size: number(&case["e"]) as u16,
        window_size_ratio: 191,
    };
    (id, fssi)
}

/// A receiver for every entry.
fn receiver(case: &Value) -> Receiver {
    let (id, fssi) = rlc(case);
    let mut config = ReceiverConfig::new(id, fssi);
    config.flows = FlowSet::from_iter(0..=255);
    config.order = Order::AsDecoded;
    Receiver::new(config).unwrap()
}

#[test]
fn packets_are_those_of_the_vectors() {
    for case in vectors("adu_to_packets") {
        let (id, fssi) = rlc(&case);
        let window = number(&case["nss"]) as u16;
        let mut config = SenderConfig::new(id, fssi, CodeRate::ONE, window);
        config.flows = FlowSet::from_iter(0..=255);
        config.first = number(&case["packets"][0]["esi"]);
        config.first_key = number(&case["repair_key"]) as u16;
        config.density_threshold = number(&case["dt"]) as u8;
        config.bandwidth_cap = false;
        let mut sender = Sender::new(config).unwrap();
        let mut packet = Vec::new();
        for source in case["packets"].as_array().unwrap() {
            let flow = number(&source["flow_id"]) as u8;
            let adu = hex(&source["adu_hex"]);
            sender.source(flow, &adu, Time::ZERO, &mut packet).unwrap();
            assert_eq!(packet, hex(&source["fec_source_packet_hex"]));
        }
        sender.extra_repair(Time::ZERO, &mut packet).unwrap();
        assert_eq!(packet, hex(&case["fec_repair_packet_hex"]));
    }
}

#[test]
fn each_lost_packet_of_one_symbol_is_recovered() {
    let mut recovered = 0;
    for case in vectors("adu_to_packets") {
        let packets = case["packets"].as_array().unwrap();
        // No packet tells where an ADU before the first packet begins.
        for lost in 1..packets.len() {
            let symbols = packets[lost]["adui_symbols_hex"].as_array().unwrap().len();
            let mut receiver = receiver(&case);
            for (_, source) in packets.iter().enumerate().filter(|(i, _)| *i != lost) {
                let packet = hex(&source["fec_source_packet_hex"]);
                let flow = number(&source["flow_id"]) as u8;
                receiver.source_packet(flow, &packet, Time::ZERO).unwrap();
            }
            let repair = hex(&case["fec_repair_packet_hex"]);
            let outcome = receiver.repair_packet(&repair, Time::ZERO).unwrap();
            assert_eq!(outcome, Outcome::Useful);
            let adus: Vec<_> = std::iter::from_fn(|| receiver.poll_adu()).collect();
            let found = adus.iter().find(|adu| adu.recovered);
            assert_eq!(found.is_some(), symbols == 1, "{}", case["name"]);
            if let Some(adu) = found {
                assert_eq!(adu.data, hex(&packets[lost]["adu_hex"]));
                assert_eq!(u32::from(adu.flow), number(&packets[lost]["flow_id"]));
                assert_eq!(adu.esi, number(&packets[lost]["esi"]));
                recovered += 1;
            }
        }
    }
    assert_eq!(recovered, 3);
}

#[test]
fn repair_packets_are_read_and_written_as_in_the_vectors() {
    for section in ["repair_symbols", "several_repair_symbols_in_one_packet"] {
        for case in vectors(section) {
            let packet = hex(&case["fec_repair_packet_hex"]);
            let (id, symbols) = RepairId::split(&packet).unwrap();
            let key = case.get("repair_key").unwrap_or(&case["first_repair_key"]);
            assert_eq!(u32::from(id.key), number(key));
            assert_eq!(u32::from(id.density_threshold), number(&case["dt"]));
            assert_eq!(u32::from(id.nss), number(&case["nss"]));
            assert_eq!(id.first_esi, number(&case["fss_esi"]));
            assert_eq!(id.to_bytes()[..], packet[..8]);
            let count = symbols.len() / number(&case["e"]) as usize;
            let mut receiver = receiver(&case);
            let taken = receiver.repair_packet(&packet, Time::ZERO).unwrap();
            assert_eq!(taken, Outcome::Useful, "{}", case["name"]);
            // Every repair symbol of the vectors raises the rank.
            assert_eq!(receiver.stats().useful_repair, count as u64);
        }
    }
}

#[test]
fn all_zero_rows_are_useless_and_harmless() {
    for case in vectors("rank_edge_cases") {
        if case["kind"] != "all_zero_row" {
            continue;
        }
        let id = if case["m"] == 1 { 9 } else { 10 };
        let case = serde_json::json!({
            "fec_encoding_id": id, "e": 4, "dt": case["dt"], "nss": case["nss"], "key": case["repair_key"],
        });
        let header = RepairId {
            key: number(&case["key"]) as u16,
            density_threshold: number(&case["dt"]) as u8,
            nss: number(&case["nss"]) as u16,
            first_esi: 7,
        };
        let packet = [&header.to_bytes()[..], &[0; 4]].concat();
        let mut receiver = receiver(&case);
        let taken = receiver.repair_packet(&packet, Time::ZERO);
        assert_eq!(taken, Ok(Outcome::Redundant));
    }
}

#[test]
fn scheme_specific_information_is_that_of_the_vectors() {
    for case in vectors("fssi_octets") {
        let octets: [u8; 3] = hex(&case["hex"]).try_into().unwrap();
        let fssi = Fssi::from_bytes(EncodingId::RlcGf256, octets).unwrap();
        let expected = Fssi::Rlc {
            symbol_size: number(&case["e"]) as u16,
            window_size_ratio: number(&case["wsr"]) as u8,
        };
        assert_eq!(fssi, expected);
        assert_eq!(fssi.to_bytes(), octets);
        assert_eq!(fssi.to_string(), case["sdp"].as_str().unwrap());
    }
}
