// A flow of saturating traffic between two stations, and what came of it.
#pragma once

#include "wifi.h"

#include "ns3/socket.h"

#include <cstdint>
#include <memory>
#include <vector>

// A flow's number, and the stations that it goes from and to.
struct Ends {
    uint32_t id, from, to;
};

// What every kind of flow counts, from the start of traffic on.
class Flow {
  public:
    virtual ~Flow() = default;
    // Sends from now on.
    virtual void Start() = 0;

    // Payload that the application has, in order; of a block that is not decoded, what its rank makes up.
    virtual double Bytes() const { return bytes; }
    // Mean of the time that payload takes from the application to the application, ms.
    double DelayMs() const { return count == 0 ? 0 : delay * 1e3 / count; }
    // Blocks decoded.
    virtual uint64_t Blocks() const { return 0; }

  protected:
    void Delivered(double size, double seconds) {
        bytes += size;
        delay += seconds;
        count += 1;
    }

  private:
    double bytes = 0, delay = 0;
    uint64_t count = 0;
};

// Bytes of the largest UDP payload in an IP packet of 1500.
constexpr uint32_t UDP_PAYLOAD = 1472;

// One application's packet of a byte stream: when it was written, in nanoseconds, and filling.
constexpr uint32_t RECORD = 1448;

std::unique_ptr<Flow> MakeRlcFlow(const Options& options, Network& network, const Ends& ends);
std::unique_ptr<Flow> MakeSessionFlow(const Options& options, Network& network, const Ends& ends);
std::unique_ptr<Flow> MakeTcpFlow(const Options& options, Network& network, const Ends& ends);

// Whatever the libraries refuse is a bug of this model or a wrong option: says which and ends.
[[noreturn]] void Stop(const char* where, const char* reason);
