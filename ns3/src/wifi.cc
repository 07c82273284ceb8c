#include "wifi.h"

#include "ns3/aodv-helper.h"
#include "ns3/config.h"
#include "ns3/double.h"
#include "ns3/drop-tail-queue.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-static-routing-helper.h"
#include "ns3/log.h"
#include "ns3/mobility-helper.h"
#include "ns3/neighbor-cache-helper.h"
#include "ns3/olsr-helper.h"
#include "ns3/pointer.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/uinteger.h"
#include "ns3/wifi-mac-header.h"
#include "ns3/wifi-net-device.h"
#include "ns3/yans-wifi-helper.h"

#include <cmath>
#include <numeric>

using namespace ns3;

// Frames below this many bytes carry acknowledgements, not data.
constexpr uint32_t ACKNOWLEDGEMENT = 300;

NS_OBJECT_ENSURE_REGISTERED(BlockTag);
NS_OBJECT_ENSURE_REGISTERED(FreshQueue);
NS_OBJECT_ENSURE_REGISTERED(FrameErrors);

TypeId BlockTag::GetTypeId() {
    static TypeId id = TypeId("weftline::BlockTag").SetParent<Tag>().AddConstructor<BlockTag>();
    return id;
}

void BlockTag::Serialize(TagBuffer buffer) const {
    buffer.WriteU32(flow);
    buffer.WriteU32(block);
    buffer.WriteU32(place);
    buffer.WriteU8(decoded);
}

void BlockTag::Deserialize(TagBuffer buffer) {
    flow = buffer.ReadU32();
    block = buffer.ReadU32();
    place = buffer.ReadU32();
    decoded = buffer.ReadU8() != 0;
}

TypeId FreshQueue::GetTypeId() {
    static TypeId id =
        TypeId("weftline::FreshQueue").SetParent<QueueDisc>().AddConstructor<FreshQueue>();
    return id;
}

void FreshQueue::Decoded(uint32_t flow, uint32_t block) {
    decoded[flow] = {block + 1, arrived};
}

uint32_t FreshQueue::Packets() const {
    return GetNInternalQueues() == 0 ? 0 : GetInternalQueue(0)->GetNPackets();
}

bool FreshQueue::IsStale(Ptr<const QueueDiscItem> item) const {
    BlockTag tag;
    if (!item->GetPacket()->PeekPacketTag(tag) || tag.decoded)
        return false;
    const auto known = decoded.find(tag.flow);
    return known != decoded.end() && tag.block < known->second.below && tag.place <= known->second.until;
}

bool FreshQueue::DoEnqueue(Ptr<QueueDiscItem> item) {
    BlockTag tag;
    if (item->GetPacket()->RemovePacketTag(tag)) {
        tag.place = ++arrived;
        item->GetPacket()->AddPacketTag(tag);
        if (watch && tag.decoded)
            Decoded(tag.flow, tag.block);
    }
    if (Packets() >= limit) {
        DropBeforeEnqueue(item, FULL);
        return false;
    }
    return GetInternalQueue(0)->Enqueue(item);
}

Ptr<QueueDiscItem> FreshQueue::DoDequeue() {
    Ptr<QueueDiscItem> item = GetInternalQueue(0)->Dequeue();
    while (item && IsStale(item)) {
        DropAfterDequeue(item, STALE);
        item = GetInternalQueue(0)->Dequeue();
    }
    // Not from within: what is called may enqueue.
    if (!told && !calls.empty()) {
        told = true;
        Simulator::ScheduleNow([self = Ptr<FreshQueue>(this)] {
            self->told = false;
            for (const auto& call : self->calls)
                call();
        });
    }
    return item;
}

Ptr<const QueueDiscItem> FreshQueue::DoPeek() {
    while (Ptr<const QueueDiscItem> item = GetInternalQueue(0)->Peek()) {
        if (!IsStale(item))
            return item;
        DropAfterDequeue(GetInternalQueue(0)->Dequeue(), STALE);
    }
    return nullptr;
}

bool FreshQueue::CheckConfig() {
    if (GetNInternalQueues() == 0) {
        const QueueSize most(QueueSizeUnit::PACKETS, limit + 1);
        AddInternalQueue(CreateObjectWithAttributes<DropTailQueue<QueueDiscItem>>(
            "MaxSize", QueueSizeValue(most)));
    }
    return GetNInternalQueues() == 1;
}

TypeId FrameErrors::GetTypeId() {
    static TypeId id =
        TypeId("weftline::FrameErrors").SetParent<ErrorModel>().AddConstructor<FrameErrors>();
    return id;
}

bool FrameErrors::DoCorrupt(Ptr<Packet> packet) {
    WifiMacHeader header;
    packet->PeekHeader(header);
    if (!header.IsData() || header.GetAddr1() != own || packet->GetSize() < spared)
        return false;
    const auto link = from.find(header.GetAddr2());
    const double fer = link == from.end() ? usual : link->second;
    return fer > 0 && chance->GetValue() < fer;
}

Network::Network(const Options& options, const std::vector<Position>& positions) {
    nodes.Create(positions.size());
    MobilityHelper mobility;
    auto places = CreateObject<ListPositionAllocator>();
    for (const Position& at : positions)
        places->Add(Vector(at.x, at.y, 0));
    mobility.SetPositionAllocator(places);
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(nodes);

    // A frame is received at -80 dBm, which `range` metres leave of 16 dBm, and sensed below that.
    constexpr double POWER = 16, RECEIVED = -80, EXPONENT = 3;
    const double loss = POWER - RECEIVED - 10 * EXPONENT * std::log10(options.range);
    const double sensed = RECEIVED - 10 * EXPONENT * std::log10(options.sense) - 0.1;
    Config::SetDefault("ns3::ThresholdPreambleDetectionModel::MinimumRssi", DoubleValue(RECEIVED));
    YansWifiChannelHelper channel;
    channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    channel.AddPropagationLoss("ns3::LogDistancePropagationLossModel", "Exponent",
                               DoubleValue(EXPONENT), "ReferenceDistance", DoubleValue(1),
                               "ReferenceLoss", DoubleValue(loss));
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    phy.Set("TxPowerStart", DoubleValue(POWER));
    phy.Set("TxPowerEnd", DoubleValue(POWER));
    phy.Set("CcaEdThreshold", DoubleValue(sensed));
    // One frame waits in the MAC; the others where stale ones can be dropped.
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", QueueSizeValue(QueueSize("1p")));
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211b);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode",
                                 StringValue("DsssRate11Mbps"), "ControlMode",
                                 StringValue("DsssRate1Mbps"), "NonUnicastMode",
                                 StringValue("DsssRate1Mbps"), "MaxSsrc",
                                 UintegerValue(options.transmissions), "MaxSlrc",
                                 UintegerValue(options.transmissions));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac");
    devices = wifi.Install(phy, mac, nodes);

    InternetStackHelper internet;
    OlsrHelper olsr;
    AodvHelper aodv;
    if (options.scenario == "mesh" && options.routing == "olsr")
        internet.SetRoutingHelper(olsr);
    else if (options.scenario == "mesh" && options.routing == "aodv")
        internet.SetRoutingHelper(aodv);
    else
        internet.SetRoutingHelper(Ipv4StaticRoutingHelper());
    internet.Install(nodes);
    for (uint32_t i = 0; i < nodes.GetN(); i++) {
        const auto queue = CreateObject<FreshQueue>();
        queue->Limit(options.queue);
        queue->Watch(options.relay_drop);
        nodes.Get(i)->GetObject<TrafficControlLayer>()->SetRootQueueDiscOnDevice(devices.Get(i), queue);
        queues.push_back(queue);
    }
    Ipv4AddressHelper address("10.0.0.0", "255.255.0.0");
    const Ipv4InterfaceContainer interfaces = address.Assign(devices);
    // Addresses are known: that ARP is lost is nothing that is studied here.
    NeighborCacheHelper().PopulateNeighborCache(interfaces);

    for (uint32_t i = 0; i < nodes.GetN(); i++) {
        addresses.push_back(interfaces.GetAddress(i));
        const auto device = DynamicCast<WifiNetDevice>(devices.Get(i));
        const auto error = CreateObject<FrameErrors>();
        error->own = Mac48Address::ConvertFrom(device->GetAddress());
        error->usual = options.fer;
        error->spared = options.acks == "lossless" ? ACKNOWLEDGEMENT : 0;
        device->GetPhy()->SetPostReceptionErrorModel(error);
        device->GetPhy()->TraceConnectWithoutContext("PhyTxBegin",
                                                     MakeCallback(&Network::Sent, this).Bind(i));
        errors.push_back(error);
    }
    frames.resize(nodes.GetN());
    wifi.AssignStreams(devices, 1000);
}

void Network::SetFer(uint32_t one, uint32_t other, double fer) {
    errors[one]->from[errors[other]->own] = fer;
    errors[other]->from[errors[one]->own] = fer;
}

double Network::Fer(uint32_t from, uint32_t to) const {
    const auto link = errors[to]->from.find(errors[from]->own);
    return link == errors[to]->from.end() ? errors[to]->usual : link->second;
}

uint64_t Network::Frames() const { return std::accumulate(frames.begin(), frames.end(), uint64_t{0}); }

void Network::Route(uint32_t at, uint32_t to, uint32_t via) {
    const auto ipv4 = Node(at)->GetObject<Ipv4>();
    const auto routing = Ipv4StaticRoutingHelper().GetStaticRouting(ipv4);
    routing->AddHostRouteTo(Address(to), Address(via), 1);
}

uint64_t Network::Overflows() const {
    uint64_t sum = 0;
    for (const auto& queue : queues)
        sum += queue->GetStats().GetNDroppedPackets(FreshQueue::FULL);
    return sum;
}

void Network::Sent(uint32_t at, Ptr<const Packet> packet, double) {
    WifiMacHeader header;
    packet->PeekHeader(header);
    frames[at] += header.IsData() && !header.GetAddr1().IsGroup();
}
