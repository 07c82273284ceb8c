// Saturating TCP of ns-3.
#include "flow.h"

#include "ns3/config.h"
#include "ns3/enum.h"
#include "ns3/inet-socket-address.h"
#include "ns3/nstime.h"
#include "ns3/simulator.h"
#include "ns3/tcp-cubic.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/tcp-linux-reno.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/tcp-westwood.h"
#include "ns3/uinteger.h"

#include <cstring>

using namespace ns3;

namespace {

class TcpFlow : public Flow {
  public:
    TcpFlow(const Options& options, Network& network, const Ends& ends)
        : node(network.Node(ends.from)), peer(network.Address(ends.to), static_cast<uint16_t>(5000 + ends.id)) {
        Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(RECORD));
        Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(options.min_rto / 1e3)));
        TypeId control = TcpNewReno::GetTypeId();
        if (options.protocol == "cubic")
            control = TcpCubic::GetTypeId();
        if (options.protocol.rfind("westwood", 0) == 0) {
            control = TcpWestwood::GetTypeId();
            const bool plus = options.protocol == "westwood+";
            Config::SetDefault("ns3::TcpWestwood::ProtocolType",
                               EnumValue(plus ? TcpWestwood::WESTWOODPLUS : TcpWestwood::WESTWOOD));
        }
        for (const auto& end : {network.Node(ends.from), network.Node(ends.to)})
            end->GetObject<TcpL4Protocol>()->SetAttribute("SocketType", TypeIdValue(control));
        listener = Socket::CreateSocket(network.Node(ends.to), TcpSocketFactory::GetTypeId());
        if (listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), peer.GetPort())) != 0)
            Stop("socket", "the port is taken");
        listener->Listen();
        listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                    MakeCallback(&TcpFlow::OnAccept, this));
    }

    void Start() override { Connect(); }

  private:
    // A SYN may be lost as often as TCP tries: then it is started anew.
    void Connect() {
        socket = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
        socket->SetConnectCallback(MakeCallback(&TcpFlow::OnConnect, this),
                                   MakeCallback(&TcpFlow::OnFail, this));
        socket->SetSendCallback(MakeCallback(&TcpFlow::OnSend, this));
        socket->Connect(peer);
    }

    void OnFail(Ptr<Socket>) { Simulator::ScheduleNow(&TcpFlow::Connect, this); }
    void OnConnect(Ptr<Socket> from) { OnSend(from, 0); }

    void OnSend(Ptr<Socket> from, uint32_t) {
        while (from->GetTxAvailable() >= RECORD) {
            uint8_t record[RECORD] = {};
            const int64_t now = Simulator::Now().GetNanoSeconds();
            std::memcpy(record, &now, sizeof now);
            if (from->Send(Create<Packet>(record, RECORD)) != int(RECORD))
                break;
        }
    }

    void OnAccept(Ptr<Socket> accepted, const Address&) {
        filled = 0;
        accepted->SetRecvCallback(MakeCallback(&TcpFlow::OnReceive, this));
    }

    void OnReceive(Ptr<Socket> from) {
        while (Ptr<Packet> packet = from->Recv()) {
            bytes.resize(packet->GetSize());
            packet->CopyData(bytes.data(), bytes.size());
            for (uint8_t byte : bytes) {
                if (filled < sizeof written)
                    reinterpret_cast<uint8_t*>(&written)[filled] = byte;
                if (++filled == RECORD) {
                    Delivered(RECORD, (Simulator::Now().GetNanoSeconds() - written) * 1e-9);
                    filled = 0;
                }
            }
        }
    }

    Ptr<ns3::Node> node;
    InetSocketAddress peer;
    Ptr<Socket> listener, socket;
    std::vector<uint8_t> bytes;
    int64_t written = 0;
    uint32_t filled = 0;
};

} // namespace

std::unique_ptr<Flow> MakeTcpFlow(const Options& options, Network& network, const Ends& ends) {
    return std::make_unique<TcpFlow>(options, network, ends);
}
