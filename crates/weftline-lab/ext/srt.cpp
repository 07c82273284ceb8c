// SRT (libsrt) to the contract of `weftline-lab load`.
//
// `stream` uses SRT's live mode without its timed delivery (tsbpd), unless latency= asks for it:
// reliable, in order, each message handed over as soon as those before it are there. `bulk` and
// `xfer` use its file mode, which has a congestion control and no message boundaries.
#include <srt/srt.h>

#include "contract.hpp"

namespace {

// Milliseconds until a blocking call says that nothing happened.
constexpr int TICK = 100;
// Largest payload of an SRT packet over IPv4.
constexpr int PAYLOAD = 1456;

[[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error(what + ": " + srt_getlasterror_str());
}

class SrtConnection : public contract::Connection {
  public:
    SrtConnection(SRTSOCKET socket, bool is_live) : socket(socket), is_live(is_live) {}
    ~SrtConnection() override {
        // What is written must arrive: SRT forgets it when a live socket is closed.
        size_t blocks = 1, bytes = 0;
        const int64_t end = contract::now() + contract::nanos(1);
        while (blocks > 0 && contract::now() < end && srt_getsockstate(socket) == SRTS_CONNECTED) {
            if (srt_getsndbuffer(socket, &blocks, &bytes) == SRT_ERROR) break;
            if (blocks > 0) contract::sleep_until(contract::now() + 1000000);
        }
        srt_close(socket);
    }
    long read(char* buffer, size_t room) override {
        if (!is_live) return answer(srt_recv(socket, buffer, int(room)), SRT_EASYNCRCV);
        // A message is read whole or not at all.
        if (room >= PAYLOAD)
            return answer(srt_recvmsg(socket, buffer, int(room)), SRT_EASYNCRCV);
        char whole[PAYLOAD];
        const long length = answer(srt_recvmsg(socket, whole, PAYLOAD), SRT_EASYNCRCV);
        const long kept = std::min(length, long(room));
        if (kept > 0) std::memcpy(buffer, whole, size_t(kept));
        return kept;
    }
    long write(const char* bytes, size_t length) override {
        const int sent = is_live ? srt_sendmsg(socket, bytes, int(length), -1, true)
                                 : srt_send(socket, bytes, int(length));
        return answer(sent, SRT_EASYNCSND);
    }

  private:
    static long answer(int result, int nothing) {
        if (result != SRT_ERROR) return result;
        const int error = srt_getlasterror(nullptr);
        return error == nothing || error == SRT_ETIMEOUT ? -1 : 0;
    }
    SRTSOCKET socket;
    bool is_live;
};

class Srt : public contract::Network {
  public:
    Srt(contract::Mode mode, contract::Settings& settings)
        : is_live(mode == contract::Mode::Stream),
          latency(int(settings.number("latency", 0, 0, 60000))) {
        if (srt_startup() < 0) fail("libsrt does not start");
        srt_setloglevel(0);
    }
    void listen(const contract::Address& at) override {
        listener = make();
        const bool no = false;
        set(listener, SRTO_RCVSYN, no);
        if (srt_bind(listener, at.get(), int(at.length)) == SRT_ERROR) fail("cannot listen");
        if (srt_listen(listener, 100) == SRT_ERROR) fail("cannot listen");
    }
    std::unique_ptr<contract::Connection> accept() override {
        const SRTSOCKET socket = srt_accept(listener, nullptr, nullptr);
        if (socket == SRT_INVALID_SOCK) return nullptr;
        const bool yes = true;
        set(socket, SRTO_RCVSYN, yes);
        set(socket, SRTO_RCVTIMEO, TICK);
        set(socket, SRTO_SNDTIMEO, TICK);
        return std::make_unique<SrtConnection>(socket, is_live);
    }
    std::unique_ptr<contract::Connection> connect(const contract::Address& to,
                                                  double seconds) override {
        const SRTSOCKET socket = make();
        set(socket, SRTO_CONNTIMEO, int(seconds * 1000));
        set(socket, SRTO_RCVTIMEO, TICK);
        set(socket, SRTO_SNDTIMEO, TICK);
        if (srt_connect(socket, to.get(), int(to.length)) == SRT_ERROR) {
            const std::string reason = srt_getlasterror_str();
            srt_close(socket);
            throw contract::Lost("cannot connect: " + reason);
        }
        return std::make_unique<SrtConnection>(socket, is_live);
    }
    size_t largest_message() const override { return PAYLOAD; }

  private:
    SRTSOCKET make() const {
        const SRTSOCKET socket = srt_create_socket();
        if (socket == SRT_INVALID_SOCK) fail("no socket");
        set(socket, SRTO_TRANSTYPE, is_live ? SRTT_LIVE : SRTT_FILE);
        // Packets: 35 MB, far above 100 Mbit/s times 200 ms.
        set(socket, SRTO_FC, 25600);
        set(socket, SRTO_RCVBUF, 25600 * PAYLOAD);
        set(socket, SRTO_SNDBUF, 8192 * PAYLOAD);
        if (is_live) {
            const bool timed = latency > 0, no = false;
            set(socket, SRTO_PAYLOADSIZE, PAYLOAD);
            set(socket, SRTO_TSBPDMODE, timed);
            // Everything is delivered, however late.
            set(socket, SRTO_TLPKTDROP, no);
            if (timed) set(socket, SRTO_LATENCY, latency);
        } else {
            const bool no = false;
            set(socket, SRTO_MESSAGEAPI, no);
        }
        return socket;
    }
    template <class T>
    static void set(SRTSOCKET socket, SRT_SOCKOPT option, const T& value) {
        if (srt_setsockflag(socket, option, &value, int(sizeof value)) == SRT_ERROR)
            fail("socket option " + std::to_string(int(option)));
    }
    bool is_live;
    int latency;
    SRTSOCKET listener = SRT_INVALID_SOCK;
};

} // namespace

int main(int argc, char** argv) {
    return contract::main(argc, argv, [](contract::Mode mode, contract::Settings& settings) {
        return std::make_unique<Srt>(mode, settings);
    });
}
