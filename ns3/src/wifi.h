// The radio network: 802.11b ad hoc stations with frame errors, and their queues.
#pragma once

#include "options.h"

#include "ns3/error-model.h"
#include "ns3/ipv4-address.h"
#include "ns3/net-device-container.h"
#include "ns3/node-container.h"
#include "ns3/queue-disc.h"
#include "ns3/random-variable-stream.h"
#include "ns3/tag.h"

#include <functional>
#include <map>
#include <utility>
#include <vector>

// On packets of a block, and on the acknowledgement that says that the block is decoded.
class BlockTag : public ns3::Tag {
  public:
    static ns3::TypeId GetTypeId();
    ns3::TypeId GetInstanceTypeId() const override { return GetTypeId(); }
    uint32_t GetSerializedSize() const override { return 13; }
    void Serialize(ns3::TagBuffer buffer) const override;
    void Deserialize(ns3::TagBuffer buffer) override;
    void Print(std::ostream& os) const override { os << flow << ' ' << block; }

    uint32_t flow = 0;
    uint32_t block = 0;
    uint32_t place = 0; // in the order of arrival at the queue it is in
    bool decoded = false;
};

// A node's queue: first in, first out, less packets that were in it when their block became known to be
// decoded. Later ones pass: they say that the acknowledgement was lost, and bring another.
class FreshQueue : public ns3::QueueDisc {
  public:
    static ns3::TypeId GetTypeId();

    void Limit(uint32_t packets) { limit = packets; }
    // What is queued of the flow's blocks up to this one is of no more use.
    void Decoded(uint32_t flow, uint32_t block);
    // Whether acknowledgements that pass tell what is decoded.
    void Watch(bool acknowledgements) { watch = acknowledgements; }
    // Called when there is room again.
    void OnRoom(std::function<void()> call) { calls.push_back(std::move(call)); }
    uint32_t Packets() const;

    static constexpr const char* FULL = "queue full";
    static constexpr const char* STALE = "of a decoded block";

  private:
    bool DoEnqueue(ns3::Ptr<ns3::QueueDiscItem> item) override;
    ns3::Ptr<ns3::QueueDiscItem> DoDequeue() override;
    ns3::Ptr<const ns3::QueueDiscItem> DoPeek() override;
    bool CheckConfig() override;
    void InitializeParams() override {}
    bool IsStale(ns3::Ptr<const ns3::QueueDiscItem> item) const;

    uint32_t limit = 100;
    bool watch = true;
    bool told = false;
    struct Useless {
        uint32_t below; // blocks below this number
        uint32_t until; // that arrived up to this place
    };
    std::map<uint32_t, Useless> decoded; // by flow
    uint32_t arrived = 0;
    std::vector<std::function<void()>> calls;
};

// Frames of data addressed to a station are lost with its link's probability; acknowledgements of
// the MAC and broadcasts, short and at 1 Mbit/s, are not, nor are frames below `spared` bytes.
class FrameErrors : public ns3::ErrorModel {
  public:
    static ns3::TypeId GetTypeId();
    ns3::Mac48Address own;
    double usual = 0;
    uint32_t spared = 0;
    std::map<ns3::Mac48Address, double> from;

  private:
    bool DoCorrupt(ns3::Ptr<ns3::Packet> packet) override;
    void DoReset() override {}
    ns3::Ptr<ns3::UniformRandomVariable> chance = ns3::CreateObject<ns3::UniformRandomVariable>();
};

struct Position {
    double x, y;
};

class Network {
  public:
    Network(const Options& options, const std::vector<Position>& positions);

    // Frames between two stations are lost with this probability.
    void SetFer(uint32_t one, uint32_t other, double fer);
    double Fer(uint32_t from, uint32_t to) const;
    // Packets to `to` leave `at` by `via`.
    void Route(uint32_t at, uint32_t to, uint32_t via);
    ns3::Ptr<ns3::Node> Node(uint32_t at) const { return nodes.Get(at); }
    ns3::Ipv4Address Address(uint32_t at) const { return addresses[at]; }
    ns3::Ptr<FreshQueue> Queue(uint32_t at) const { return queues[at]; }
    // Frames of data sent by all stations, repetitions included, broadcasts left out.
    uint64_t Frames() const;
    // Those of one station.
    uint64_t FramesOf(uint32_t at) const { return frames[at]; }
    // Packets dropped by full queues.
    uint64_t Overflows() const;

  private:
    void Sent(uint32_t at, ns3::Ptr<const ns3::Packet> packet, double power);

    ns3::NodeContainer nodes;
    ns3::NetDeviceContainer devices;
    std::vector<ns3::Ipv4Address> addresses;
    std::vector<ns3::Ptr<FreshQueue>> queues;
    std::vector<ns3::Ptr<FrameErrors>> errors;
    std::vector<uint64_t> frames;
};
