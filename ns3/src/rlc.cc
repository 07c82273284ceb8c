// The protocol of Garrido et al.: combinations of a block of K packets over UDP until the block's
// acknowledgement is back. The codec is weftline's, through its C ABI.
#include "flow.h"

#include "weftline.h"

#include "ns3/inet-socket-address.h"
#include "ns3/simulator.h"
#include "ns3/udp-socket-factory.h"

#include <cstring>

using namespace ns3;

namespace {

// Kind, flow (2), block (4), K - 1, q: the nine bytes of the paper's header.
constexpr uint32_t HEADER = 9;
constexpr uint32_t SEED = 4;
constexpr uint8_t DATA = 1, DECODED = 2;
// As short as an acknowledgement of TCP: 40 bytes with IP and UDP.
constexpr uint32_t ACK = 12;
void Check(WeftlineStatus status) {
    if (status != WEFTLINE_STATUS_OK)
        Stop("codec", weftline_last_error());
}

void Put(uint8_t* at, uint32_t value, int bytes) {
    for (int i = 0; i < bytes; i++)
        at[i] = static_cast<uint8_t>(value >> (8 * (bytes - 1 - i)));
}

uint32_t Get(const uint8_t* at, int bytes) {
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

class RlcFlow : public Flow {
  public:
    RlcFlow(const Options& options, Network& network, const Ends& ends)
        : q(options.q), k(options.k), id(ends.id), seed(options.seed), ahead(options.ahead),
          vector_bytes(options.header == "long" ? (k * q + 7) / 8 : 0), vector(k),
          payload(weftline_longest_payload(q, UDP_PAYLOAD - HEADER - (vector_bytes ? vector_bytes : SEED))),
          datagram(UDP_PAYLOAD + 64), expected(payload),
          encoder(weftline_block_encoder_new(q, k, payload), weftline_block_encoder_free),
          decoder(weftline_block_decoder_new(q, k, payload), weftline_block_decoder_free),
          queue(network.Queue(ends.from)), peer(network.Address(ends.to), Port(0)) {
        if (!encoder || !decoder)
            Stop("codec", weftline_last_error());
        sender = Open(network.Node(ends.from), Port(1));
        receiver = Open(network.Node(ends.to), Port(0));
        sender->SetRecvCallback(MakeCallback(&RlcFlow::OnAck, this));
        receiver->SetRecvCallback(MakeCallback(&RlcFlow::OnData, this));
        queue->OnRoom([this] { Fill(); });
    }

    void Start() override {
        running = true;
        Begin();
        Fill();
    }

    double Bytes() const override {
        const size_t rank = k - weftline_block_decoder_deficit(decoder.get());
        return Flow::Bytes() + double(rank) * payload;
    }

    uint64_t Blocks() const override { return decoded; }

  private:
    uint16_t Port(uint32_t end) const { return static_cast<uint16_t>(4000 + 2 * id + end); }

    Ptr<Socket> Open(Ptr<ns3::Node> node, uint16_t port) {
        Ptr<Socket> socket = Socket::CreateSocket(node, UdpSocketFactory::GetTypeId());
        if (socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), port)) != 0)
            Stop("socket", "the port is taken");
        return socket;
    }

    // The payload of a packet, which both ends can make.
    void Payload(uint32_t block, uint32_t index, std::vector<uint8_t>& out) const {
        uint64_t state = (uint64_t{seed} << 40 ^ uint64_t{id} << 32 ^ block) * 0x9E3779B97F4A7C15u + index + 1;
        for (size_t at = 0; at < out.size(); at += 8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            std::memcpy(&out[at], &state, std::min<size_t>(8, out.size() - at));
        }
    }

    void Begin() {
        begun = Simulator::Now();
        Check(weftline_block_encoder_clear(encoder.get()));
        for (uint32_t i = 0; i < k; i++) {
            Payload(sending, i, expected);
            Check(weftline_block_encoder_push(encoder.get(), expected.data(), payload, nullptr));
        }
    }

    // Keeps the MAC busy; no farther ahead, because the acknowledgement makes the rest useless.
    void Fill() {
        if (!running || filling)
            return;
        filling = true;
        while (queue->Packets() < ahead && SendOne()) {
        }
        filling = false;
    }

    bool SendOne() {
        WeftlineCoefficients coefficients{};
        coefficients.kind = WEFTLINE_COEFFICIENTS_UNIFORM;
        do {
            coefficients.key = key++;
            Check(weftline_coefficients_fill(q, coefficients, vector.data(), k));
        } while (std::all_of(vector.begin(), vector.end(), [](uint8_t c) { return c == 0; }));
        uint8_t* at = datagram.data();
        *at++ = DATA;
        Put(at, id, 2);
        Put(at + 2, sending, 4);
        at[6] = static_cast<uint8_t>(k - 1);
        at[7] = static_cast<uint8_t>(q);
        at += HEADER - 1;
        if (vector_bytes) {
            Pack(at);
            at += vector_bytes;
            coefficients.kind = WEFTLINE_COEFFICIENTS_EXPLICIT;
            coefficients.vector = vector.data();
            coefficients.vector_len = k;
        } else {
            Put(at, coefficients.key, SEED);
            at += SEED;
        }
        size_t length = 0;
        const size_t room = datagram.data() + datagram.size() - at;
        Check(weftline_block_encoder_repair(encoder.get(), coefficients, at, room, &length));
        return Send(sender, datagram.data(), at + length - datagram.data(), peer, sending, false);
    }

    bool Send(Ptr<Socket> socket, const uint8_t* bytes, uint32_t length, const Address& to, uint32_t block,
              bool ack) {
        BlockTag tag;
        tag.flow = id;
        tag.block = block;
        tag.decoded = ack;
        auto packet = Create<Packet>(bytes, length);
        packet->AddPacketTag(tag);
        return socket->SendTo(packet, 0, to) >= 0;
    }

    // q bits for each coefficient, the highest first.
    void Pack(uint8_t* out) const {
        std::memset(out, 0, vector_bytes);
        for (uint32_t bit = 0; bit < k * q; bit++) {
            const uint32_t one = vector[bit / q] >> (q - 1 - bit % q) & 1;
            out[bit / 8] |= one << (7 - bit % 8);
        }
    }

    void Unpack(const uint8_t* in) {
        std::fill(vector.begin(), vector.end(), 0);
        for (uint32_t bit = 0; bit < k * q; bit++)
            vector[bit / q] = static_cast<uint8_t>(vector[bit / q] << 1 | (in[bit / 8] >> (7 - bit % 8) & 1));
    }

    void OnAck(Ptr<Socket> socket) {
        Address from;
        while (Ptr<Packet> packet = socket->RecvFrom(from)) {
            uint8_t ack[ACK];
            if (packet->CopyData(ack, ACK) != ACK || ack[0] != DECODED || Get(ack + 3, 4) != sending)
                continue;
            queue->Decoded(id, sending);
            sending++;
            Begin();
            Fill();
        }
    }

    void OnData(Ptr<Socket> socket) {
        Address from;
        while (Ptr<Packet> packet = socket->RecvFrom(from)) {
            received.resize(packet->GetSize());
            packet->CopyData(received.data(), received.size());
            const uint32_t before = HEADER + (vector_bytes ? vector_bytes : SEED);
            if (received.size() <= before || received[0] != DATA)
                continue;
            const uint32_t block = Get(&received[3], 4);
            if (block > decoding)
                Stop("rlc", "a block that follows one that is not decoded");
            if (block == decoding && !Take(before))
                continue;
            // At once, and again for each packet of a block that is decoded.
            uint8_t ack[ACK] = {DECODED};
            Put(ack + 1, id, 2);
            Put(ack + 3, block, 4);
            Send(receiver, ack, ACK, from, block, true);
        }
    }

    // Gives a packet to the decoder; true: its block is complete.
    bool Take(uint32_t before) {
        WeftlineCoefficients coefficients{};
        if (vector_bytes) {
            Unpack(&received[HEADER]);
            coefficients.kind = WEFTLINE_COEFFICIENTS_EXPLICIT;
            coefficients.vector = vector.data();
            coefficients.vector_len = k;
        } else {
            coefficients.kind = WEFTLINE_COEFFICIENTS_UNIFORM;
            coefficients.key = Get(&received[HEADER], SEED);
        }
        Check(weftline_block_decoder_repair(decoder.get(), coefficients, &received[before],
                                            received.size() - before, nullptr));
        if (weftline_block_decoder_deficit(decoder.get()) > 0)
            return false;
        for (uint32_t i = 0; i < k; i++) {
            const uint8_t* symbol = nullptr;
            size_t length = 0;
            Check(weftline_block_decoder_symbol(decoder.get(), i, &symbol, &length));
            Payload(decoding, i, expected);
            if (length != payload || std::memcmp(symbol, expected.data(), payload) != 0)
                Stop("codec", "a packet came out wrong");
        }
        Delivered(double(k) * payload, (Simulator::Now() - begun).GetSeconds());
        decoded++;
        decoding++;
        Check(weftline_block_decoder_clear(decoder.get()));
        return true;
    }

    const uint32_t q, k, id, seed, ahead, vector_bytes;
    std::vector<uint8_t> vector;
    const size_t payload;
    std::vector<uint8_t> datagram, expected, received;
    std::unique_ptr<WeftlineBlockEncoder, void (*)(WeftlineBlockEncoder*)> encoder;
    std::unique_ptr<WeftlineBlockDecoder, void (*)(WeftlineBlockDecoder*)> decoder;
    Ptr<FreshQueue> queue;
    InetSocketAddress peer;
    Ptr<Socket> sender, receiver;
    Time begun;
    uint32_t key = 1, sending = 0, decoding = 0;
    uint64_t decoded = 0;
    bool running = false, filling = false;
};

} // namespace

std::unique_ptr<Flow> MakeRlcFlow(const Options& options, Network& network, const Ends& ends) {
    return std::make_unique<RlcFlow>(options, network, ends);
}
