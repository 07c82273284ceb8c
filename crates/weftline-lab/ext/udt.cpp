// UDT (libudt 4) to the contract of `weftline-lab load`: its stream mode and its own congestion
// control.
#include <udt/udt.h>

#include "contract.hpp"

namespace {

// Milliseconds until a blocking call says that nothing happened.
constexpr int TICK = 100;
// Bytes of its buffers: above 100 Mbit/s times 200 ms.
constexpr int BUFFER = 16 << 20;

[[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error(what + ": " + UDT::getlasterror_desc());
}

class UdtConnection : public contract::Connection {
  public:
    explicit UdtConnection(UDTSOCKET socket) : socket(socket) {}
    ~UdtConnection() override { UDT::close(socket); }
    long read(char* buffer, size_t room) override {
        return answer(UDT::recv(socket, buffer, int(room), 0), CUDTException::EASYNCRCV);
    }
    long write(const char* bytes, size_t length) override {
        return answer(UDT::send(socket, bytes, int(length), 0), CUDTException::EASYNCSND);
    }

  private:
    static long answer(int result, int nothing) {
        // In blocking mode UDT gives 0 where its timeout has passed.
        if (result > 0) return result;
        if (result == 0) return -1;
        const int error = UDT::getlasterror_code();
        return error == nothing || error == CUDTException::ETIMEOUT ? -1 : 0;
    }
    UDTSOCKET socket;
};

class Udt : public contract::Network {
  public:
    Udt() {
        if (UDT::startup() == UDT::ERROR) fail("libudt does not start");
    }
    void listen(const contract::Address& at) override {
        listener = make(at);
        const bool no = false;
        set(listener, UDT_RCVSYN, no);
        if (UDT::bind(listener, at.get(), int(at.length)) == UDT::ERROR) fail("cannot listen");
        if (UDT::listen(listener, 100) == UDT::ERROR) fail("cannot listen");
    }
    std::unique_ptr<contract::Connection> accept() override {
        sockaddr_storage peer;
        int length = sizeof peer;
        const UDTSOCKET socket =
            UDT::accept(listener, reinterpret_cast<sockaddr*>(&peer), &length);
        if (socket == UDT::INVALID_SOCK) return nullptr;
        const bool yes = true;
        set(socket, UDT_RCVSYN, yes);
        return std::make_unique<UdtConnection>(socket);
    }
    std::unique_ptr<contract::Connection> connect(const contract::Address& to, double) override {
        // It has no option for how long connecting may take: 3 seconds.
        const UDTSOCKET socket = make(to);
        if (UDT::connect(socket, to.get(), int(to.length)) == UDT::ERROR) {
            const std::string reason = UDT::getlasterror_desc();
            UDT::close(socket);
            throw contract::Lost("cannot connect: " + reason);
        }
        return std::make_unique<UdtConnection>(socket);
    }

  private:
    static UDTSOCKET make(const contract::Address& address) {
        const UDTSOCKET socket = UDT::socket(address.family(), SOCK_STREAM, 0);
        if (socket == UDT::INVALID_SOCK) fail("no socket");
        const linger wait{1, 1};
        set(socket, UDT_LINGER, wait);
        set(socket, UDT_SNDBUF, BUFFER);
        set(socket, UDT_RCVBUF, BUFFER);
        set(socket, UDT_RCVTIMEO, TICK);
        set(socket, UDT_SNDTIMEO, TICK);
        return socket;
    }
    template <class T>
    static void set(UDTSOCKET socket, UDTOpt option, const T& value) {
        if (UDT::setsockopt(socket, 0, option, &value, int(sizeof value)) == UDT::ERROR)
            fail("socket option " + std::to_string(int(option)));
    }
    UDTSOCKET listener = UDT::INVALID_SOCK;
};

} // namespace

int main(int argc, char** argv) {
    return contract::main(argc, argv, [](contract::Mode, contract::Settings&) {
        return std::make_unique<Udt>();
    });
}
