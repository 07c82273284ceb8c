// The engine: a session over UDP that carries a stream, through the C ABI.
#include "flow.h"

#include "weftline.h"

#include "ns3/event-id.h"
#include "ns3/inet-socket-address.h"
#include "ns3/simulator.h"
#include "ns3/udp-socket-factory.h"

#include <cstring>

using namespace ns3;

namespace {

uint64_t Now() { return Simulator::Now().GetNanoSeconds(); }

void Check(WeftlineStatus status) {
    if (status != WEFTLINE_STATUS_OK)
        Stop("session", weftline_last_error());
}

// One end: a session, its socket and its timer.
class End {
  public:
    End(const Options& options, Ptr<ns3::Node> node, Ptr<FreshQueue> queue, uint16_t port, bool client)
        : ahead(options.ahead), session(nullptr, weftline_session_free), queue(queue), datagram(2048),
          socket(Socket::CreateSocket(node, UdpSocketFactory::GetTypeId())) {
        const std::unique_ptr<WeftlineConfig, void (*)(WeftlineConfig*)> config(
            weftline_config_parse(options.preset.c_str()), weftline_config_free);
        if (!config)
            Stop("preset", weftline_last_error());
        Check(weftline_config_set(config.get(), WEFTLINE_CONFIG_OPTION_SYMBOL_SIZE, UDP_PAYLOAD));
        // IP, UDP and 802.11.
        Check(weftline_config_set(config.get(), WEFTLINE_CONFIG_OPTION_DATAGRAM_OVERHEAD, 28 + 36));
        session.reset(weftline_session_new(client, config.get(), 2 * uint64_t{options.seed} + client, Now()));
        if (!session)
            Stop("session", weftline_last_error());
        Check(weftline_session_set_largest_datagram(session.get(), UDP_PAYLOAD));
        if (socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), port)) != 0)
            Stop("socket", "the port is taken");
        socket->SetRecvCallback(MakeCallback(&End::OnReceive, this));
        queue->OnRoom([this] { Drive(); });
    }

    void Begin(Address to, std::function<void()> call) {
        peer = to;
        application = std::move(call);
        Drive();
    }

    WeftlineSession* Session() { return session.get(); }

    // What is owed after any change: the application's turn, datagrams, the timer.
    void Drive() {
        if (!application || driving)
            return;
        driving = true;
        WeftlineEvent event{};
        do
            Check(weftline_session_poll_event(session.get(), &event));
        while (event.kind != WEFTLINE_EVENT_KIND_NONE);
        application();
        size_t length = 0;
        while (queue->Packets() < ahead &&
               weftline_session_poll_datagram(session.get(), Now(), datagram.data(), datagram.size(),
                                              &length) == WEFTLINE_STATUS_OK)
            socket->SendTo(Create<Packet>(datagram.data(), length), 0, peer);
        driving = false;
        timer.Cancel();
        const uint64_t at = weftline_session_timeout(session.get());
        // What is overdue waits for room in the queue, which calls again.
        if (at != WEFTLINE_NO_TIMEOUT && (at > Now() || queue->Packets() < ahead))
            timer = Simulator::Schedule(NanoSeconds(std::max(at, Now()) - Now()), &End::OnTimer, this);
    }

  private:
    void OnTimer() {
        Check(weftline_session_handle_timeout(session.get(), Now()));
        Drive();
    }

    void OnReceive(Ptr<Socket> from) {
        while (Ptr<Packet> packet = from->Recv()) {
            const uint32_t length = packet->CopyData(datagram.data(), datagram.size());
            Check(weftline_session_handle_datagram(session.get(), Now(), datagram.data(), length));
        }
        Drive();
    }

    // Datagrams waiting in the node's queue: what is sent is decided late.
    const uint32_t ahead;
    std::unique_ptr<WeftlineSession, void (*)(WeftlineSession*)> session;
    Ptr<FreshQueue> queue;
    std::vector<uint8_t> datagram;
    Ptr<Socket> socket;
    Address peer;
    std::function<void()> application;
    EventId timer;
    bool driving = false;
};

class SessionFlow : public Flow {
  public:
    SessionFlow(const Options& options, Network& network, const Ends& ends)
        : options(options), network(network), id(ends.id), from(ends.from), to(ends.to) {}

    void Start() override {
        const uint16_t port = static_cast<uint16_t>(6000 + 2 * id);
        client = std::make_unique<End>(options, network.Node(from), network.Queue(from), port, true);
        server = std::make_unique<End>(options, network.Node(to), network.Queue(to), port + 1, false);
        Check(weftline_session_open_stream(client->Session(), &out));
        server->Begin(InetSocketAddress(network.Address(from), port), [this] { Read(); });
        client->Begin(InetSocketAddress(network.Address(to), port + 1), [this] { Write(); });
    }

  private:
    void Write() {
        while (true) {
            if (pending == 0) {
                const uint64_t now = Now();
                std::memcpy(record, &now, sizeof now);
                pending = RECORD;
            }
            size_t written = 0;
            const WeftlineStatus status = weftline_session_write(
                client->Session(), out, record + RECORD - pending, pending, &written);
            if (status == WEFTLINE_STATUS_BLOCKED)
                return;
            Check(status);
            pending -= written;
        }
    }

    void Read() {
        if (!open && weftline_session_accept_stream(server->Session(), &in) != WEFTLINE_STATUS_OK)
            return;
        open = true;
        uint8_t buffer[8192];
        size_t got = 0;
        WeftlineStatus status;
        while ((status = weftline_session_read(server->Session(), in, buffer, sizeof buffer, &got)) ==
               WEFTLINE_STATUS_OK) {
            for (size_t i = 0; i < got; i++) {
                if (filled < sizeof stamp)
                    reinterpret_cast<uint8_t*>(&stamp)[filled] = buffer[i];
                if (++filled == RECORD) {
                    Delivered(RECORD, (Now() - stamp) * 1e-9);
                    filled = 0;
                }
            }
        }
        if (status != WEFTLINE_STATUS_BLOCKED)
            Check(status);
    }

    const Options& options;
    Network& network;
    const uint32_t id, from, to;
    std::unique_ptr<End> client, server;
    uint64_t out = 0, in = 0, stamp = 0;
    uint8_t record[RECORD] = {};
    size_t pending = 0, filled = 0;
    bool open = false;
};

} // namespace

std::unique_ptr<Flow> MakeSessionFlow(const Options& options, Network& network, const Ends& ends) {
    return std::make_unique<SessionFlow>(options, network, ends);
}
