// The contract of `weftline-lab load` for programs outside it: docs/reference/load.md.
//
// A transport derives from Network and Connection; `contract::main` does the rest. An example of
// how to join a transport of one's own, too.
#pragma once

#include <netdb.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace contract {

// Nanoseconds of CLOCK_MONOTONIC.
inline int64_t now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return int64_t(t.tv_sec) * 1000000000 + t.tv_nsec;
}

inline void sleep_until(int64_t time) {
    const timespec t{time_t(time / 1000000000), long(time % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR) {
    }
}

inline int64_t nanos(double seconds) { return int64_t(std::llround(seconds * 1e9)); }

// A wrong command line (exit code 2).
struct Usage : std::runtime_error {
    using runtime_error::runtime_error;
};
// The peer is not there (exit code 4).
struct Lost : std::runtime_error {
    using runtime_error::runtime_error;
};

struct Address {
    sockaddr_storage storage{};
    socklen_t length = 0;

    Address(const std::string& host, const std::string& port) {
        addrinfo hints{}, *found = nullptr;
        hints.ai_socktype = SOCK_DGRAM;
        const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
        if (error != 0) throw Lost("no address for `" + host + "`: " + gai_strerror(error));
        std::memcpy(&storage, found->ai_addr, found->ai_addrlen);
        length = found->ai_addrlen;
        freeaddrinfo(found);
    }
    int family() const { return storage.ss_family; }
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// NAME=VALUE arguments. What nobody takes is refused by finish().
class Settings {
  public:
    Settings(char** begin, char** end) {
        for (; begin != end; ++begin) {
            const char* const equals = std::strchr(*begin, '=');
            if (!equals || equals == *begin)
                throw Usage(std::string("`") + *begin + "` is no setting: write NAME=VALUE");
            if (!given.emplace(std::string(*begin, size_t(equals - *begin)), equals + 1).second)
                throw Usage(std::string("`") + *begin + "`: this setting is given twice");
        }
    }
    double number(const char* name, double fallback, double low, double high) {
        known += known.empty() ? name : std::string(", ") + name;
        const auto found = given.find(name);
        if (found == given.end()) return fallback;
        char* rest = nullptr;
        const double value = std::strtod(found->second.c_str(), &rest);
        if (found->second.empty() || *rest || !(value >= low && value <= high)) {
            char text[200];
            std::snprintf(text, sizeof text, "%s takes a number, %.15g to %.15g", name, low, high);
            throw Usage(text);
        }
        given.erase(found);
        return value;
    }
    void finish() const {
        if (!given.empty())
            throw Usage("unknown setting `" + given.begin()->first + "`: there are " + known);
    }

  private:
    std::map<std::string, std::string> given;
    std::string known;
};

// A connection: ordered bytes, or messages in order.
class Connection {
  public:
    virtual ~Connection() = default;
    // Bytes read; 0 at the end or when the connection broke; -1 if nothing came for a while.
    virtual long read(char* buffer, size_t room) = 0;
    // Bytes taken; 0 when the connection broke; -1 if there was no room for a while.
    virtual long write(const char* bytes, size_t length) = 0;
};

class Network {
  public:
    virtual ~Network() = default;
    virtual void listen(const Address& at) = 0;
    // Null if nobody is there at the moment.
    virtual std::unique_ptr<Connection> accept() = 0;
    virtual std::unique_ptr<Connection> connect(const Address& to, double seconds) = 0;
    // Largest size of a `stream` message; bytes more than a connection reads at a time.
    virtual size_t largest_message() const { return 1 << 20; }
};

// Prints a line. A receiver prints its result before it lets the sender go: where both run under
// one roof, its end may be the end of both.
using Print = std::function<void(const std::string&)>;

enum class Mode { Bulk, Stream, Xfer };

constexpr size_t PIECE = 256 << 10;

// Bytes that cannot be compressed.
inline const std::vector<char>& filler() {
    static const std::vector<char> bytes = [] {
        std::vector<char> made((1 << 20) + (1 << 20));
        uint64_t state = 0x9E3779B97F4A7C15u;
        for (size_t i = 0; i + 8 <= made.size(); i += 8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            std::memcpy(&made[i], &state, 8);
        }
        return made;
    }();
    return bytes;
}

// Writes everything; false when the connection broke or `end` came.
inline bool write_all(Connection& connection, const char* bytes, size_t length, int64_t end) {
    while (length > 0) {
        const long taken = connection.write(bytes, length);
        if (taken == 0 || (taken < 0 && now() >= end)) return false;
        if (taken > 0) bytes += taken, length -= size_t(taken);
    }
    return true;
}

// Reads exactly so much; false when the connection ended or `end` came.
inline bool read_all(Connection& connection, char* bytes, size_t length, int64_t end) {
    while (length > 0) {
        const long read = connection.read(bytes, length);
        if (read == 0 || (read < 0 && now() >= end)) return false;
        if (read > 0) bytes += read, length -= size_t(read);
    }
    return true;
}

// The first to connect, and its first bytes.
inline std::unique_ptr<Connection> guest(Network& network, double timeout) {
    const int64_t end = now() + nanos(timeout);
    while (now() < end) {
        if (auto connection = network.accept()) return connection;
        sleep_until(now() + 200000);
    }
    throw Lost("no sender came in time: start it, or give a longer timeout=");
}

// Milliseconds in JSON.
inline std::string millis(double nanoseconds) {
    char text[40];
    std::snprintf(text, sizeof text, "%.6f", nanoseconds / 1e6);
    return text;
}

// "mean":..,"p50":.. of delays in nanoseconds, which it sorts.
inline std::string summary(std::vector<int64_t>& delays) {
    const struct {
        const char* name;
        double share;
    } percentiles[] = {{"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}, {"max", 1.0}};
    std::sort(delays.begin(), delays.end());
    double sum = 0;
    for (int64_t delay : delays) sum += double(delay);
    const auto count = double(delays.size());
    std::string text = "\"mean\":" + (delays.empty() ? "null" : millis(sum / count));
    for (const auto& [name, share] : percentiles) {
        // The smallest delay that this share does not exceed.
        const size_t rank = std::max<size_t>(1, size_t(std::ceil(share * count)));
        text += std::string(",\"") + name +
                "\":" + (delays.empty() ? "null" : millis(double(delays[rank - 1])));
    }
    return text;
}

// ,"cdf":[[share,ms],..] of delays that are sorted: each hundredth, and the tail.
inline std::string curve(const std::vector<int64_t>& delays) {
    std::vector<double> shares;
    for (int percent = 0; percent < 100; ++percent) shares.push_back(percent / 100.0);
    for (double tail : {0.995, 0.998, 0.999, 0.9995, 0.9998, 0.9999, 1.0}) shares.push_back(tail);
    std::string text = ",\"cdf\":[";
    for (double share : shares) {
        const size_t rank = std::max<size_t>(1, size_t(std::ceil(share * double(delays.size()))));
        char pair[80];
        std::snprintf(pair, sizeof pair, "%s[%.10g,%s]", share > 0 ? "," : "", share,
                      millis(double(delays[rank - 1])).c_str());
        text += pair;
    }
    return text + "]";
}

struct Bulk {
    double secs, skip;
    explicit Bulk(Settings& s)
        : secs(s.number("secs", 10, 0.1, 1e6)), skip(s.number("skip", 0, 0, 1e6)) {
        if (skip >= secs) throw Usage("skip leaves nothing of secs: lower it");
    }

    void receive(Network& network, double timeout, const Print& print) const {
        auto connection = guest(network, timeout);
        std::vector<char> buffer(PIECE);
        const int64_t patience = now() + nanos(timeout);
        int64_t start = 0, end = INT64_MAX, ended = 0, bytes = 0, total = 0;
        while (now() < end) {
            const long read = connection->read(buffer.data(), buffer.size());
            const int64_t time = now();
            if (start == 0 && read <= 0 && (read == 0 || time >= patience))
                throw Lost("a sender connected and sent nothing");
            if (read == 0) {
                ended = time;
                break;
            }
            if (read < 0) continue;
            if (start == 0) start = time, end = start + nanos(secs);
            if (time < end) total += read;
            if (time >= start + nanos(skip) && time < end) bytes += read;
        }
        const int64_t until = ended ? std::min(ended, end) : end;
        const double counted = std::max<double>(0, double(until - start - nanos(skip)) / 1e9);
        char text[200];
        std::snprintf(text, sizeof text,
                      "{\"bytes\":%lld,\"secs\":%.6f,\"goodput\":%.6f,\"total\":%lld}",
                      (long long)bytes, counted, counted > 0 ? double(bytes) * 8e-6 / counted : 0,
                      (long long)total);
        print(text);
    }

    std::string send(Network& network, const Address& to, double timeout) const {
        auto connection = network.connect(to, timeout);
        const int64_t start = now(), end = start + nanos(secs + 0.5);
        int64_t bytes = 0;
        while (now() < end) {
            const char* piece = filler().data() + bytes % (1 << 20);
            const long taken = connection->write(piece, PIECE);
            if (taken == 0) break;
            if (taken > 0) bytes += taken;
        }
        return "{\"bytes\":" + std::to_string(bytes) + "}";
    }
};

// A video: 30 frames a second, each 60th a key frame of 40 parts, the others of 4 to 12, which are due
// at once. The same as load/pace.rs.
struct Video {
    static constexpr uint64_t FRAMES = 30, GROUP = 60;
    uint64_t before[GROUP + 1] = {0};

    Video() {
        for (uint64_t i = 0; i < GROUP; ++i)
            before[i + 1] = before[i] + (i == 0 ? 40 : 4 + i * 7 % 9);
    }
    uint64_t parts() const { return before[GROUP]; }
    // Nanoseconds to the frame of this message, `bits` long, at `rate`.
    int64_t offset(uint64_t message, uint64_t bits, uint64_t rate) const {
        const auto need = ((unsigned __int128)message + 1) * bits * parts() * FRAMES;
        const auto each = (unsigned __int128)rate * GROUP;
        const auto place = (need + each - 1) / each - 1;
        const auto inside = std::upper_bound(before, before + GROUP, uint64_t(place % parts()));
        const auto frame = place / parts() * GROUP + uint64_t(inside - before - 1);
        return int64_t(frame * 1000000000u / FRAMES);
    }
    // Messages of the frames that are due before so many nanoseconds have passed.
    uint64_t messages(int64_t nanoseconds, uint64_t bits, uint64_t rate) const {
        const auto frames =
            ((unsigned __int128)nanoseconds * FRAMES + 999999999u) / 1000000000u;
        const auto sum = frames / GROUP * parts() + before[uint64_t(frames % GROUP)];
        return uint64_t(sum * rate * GROUP / ((unsigned __int128)bits * parts() * FRAMES));
    }
};

struct Stream {
    double secs, skip, drain;
    uint64_t rate;
    size_t size;
    bool cdf, is_video;
    Video video;
    uint64_t total, first;

    Stream(Settings& s, const Network& network)
        : secs(s.number("secs", 10, 0.1, 1e6)), skip(s.number("skip", 0, 0, 1e6)),
          drain(s.number("drain", 2, 0, 3600)),
          rate(uint64_t(std::llround(s.number("rate", 10, 0.001, 100000) * 1e6))),
          size(size_t(s.number("size", 1200, 16, double(network.largest_message())))),
          cdf(s.number("cdf", 0, 0, 1) != 0), is_video(s.number("video", 0, 0, 1) != 0), total(before(secs)), first(before(skip)) {
        if (first >= total) throw Usage("skip leaves no message of secs: lower it");
        if (total > 10000000) throw Usage("too many messages: lower secs or rate, or raise size");
    }

    // Nanoseconds from the first message to this one.
    int64_t offset(uint64_t index) const {
        if (is_video) return video.offset(index, size * 8, rate);
        return int64_t((unsigned __int128)index * size * 8 * 1000000000u / rate);
    }
    // Messages that are due before so many seconds have passed.
    uint64_t before(double seconds) const {
        if (is_video) return video.messages(nanos(seconds), size * 8, rate);
        const auto period = (unsigned __int128)size * 8 * 1000000000u;
        return uint64_t(((unsigned __int128)nanos(seconds) * rate + period - 1) / period);
    }

    void receive(Network& network, double timeout, const Print& print) const {
        auto connection = guest(network, timeout);
        std::vector<char> buffer(std::max(PIECE, 2 * size));
        std::vector<int64_t> delays;
        size_t filled = 0;
        uint64_t next = 0;
        int64_t start = 0, end = now() + nanos(timeout);
        std::string broken;
        while (next < total && now() < end) {
            const long read = connection->read(&buffer[filled], buffer.size() - filled);
            const int64_t time = now();
            if (read == 0) {
                broken = ",\"broken\":\"the connection ended early\"";
                break;
            }
            if (read < 0) continue;
            filled += size_t(read);
            size_t used = 0;
            for (; filled - used >= size; used += size, ++next) {
                int64_t header[2];
                std::memcpy(header, &buffer[used], sizeof header);
                if (header[1] != int64_t(next)) throw std::runtime_error("out of order");
                if (next == 0) {
                    start = header[0];
                    end = start + offset(total - 1) + nanos(drain);
                }
                if (next >= first) delays.push_back(std::max<int64_t>(0, time - header[0]));
            }
            std::memmove(buffer.data(), &buffer[used], filled - used);
            filled -= used;
        }
        if (next == 0) throw Lost("a sender connected and sent no message");
        const uint64_t sent = total - first, got = delays.size();
        for (uint64_t i = std::max(next, first); i < total; ++i)
            delays.push_back(end - start - offset(i));
        // It sorts them for the curve.
        const std::string told = summary(delays);
        print("{\"sent\":" + std::to_string(sent) + ",\"got\":" + std::to_string(got) +
              ",\"missing\":" + std::to_string(sent - got) + "," + told +
              (cdf ? curve(delays) : "") + broken + "}");
        write_all(*connection, ".", 1, now() + nanos(1));
    }

    std::string send(Network& network, const Address& to, double timeout) const {
        auto connection = network.connect(to, timeout);
        std::vector<char> message(size);
        std::vector<int64_t> late;
        const int64_t start = now() + 20000000;
        const int64_t end = start + offset(total - 1) + nanos(drain);
        int64_t free = 0;
        uint64_t sent = 0, blocked = 0;
        for (uint64_t i = 0; i < total; ++i, ++sent) {
            const int64_t header[2] = {start + offset(i), int64_t(i)};
            sleep_until(header[0]);
            if (free > header[0])
                ++blocked;
            else
                late.push_back(now() - header[0]);
            std::memcpy(message.data(), filler().data() + i * size % (1 << 20), size);
            std::memcpy(message.data(), header, sizeof header);
            if (!write_all(*connection, message.data(), size, end)) break;
            free = now();
        }
        char word[2048];
        read_all(*connection, word, 1, end + nanos(2));
        return "{\"sent\":" + std::to_string(sent) + ",\"blocked\":" + std::to_string(blocked) +
               ",\"late\":{" + summary(late) + "}}";
    }
};

struct Xfer {
    uint32_t n;
    uint64_t size;
    bool reuse;
    double gap;

    explicit Xfer(Settings& s)
        : n(uint32_t(s.number("n", 10, 1, 1e6))), size(uint64_t(s.number("size", 1e5, 1, 1e12))),
          reuse(s.number("reuse", 0, 0, 1) != 0), gap(s.number("gap", 0, 0, 3600)) {}

    void receive(Network& network, double timeout, const Print& print) const {
        std::atomic<uint32_t> got{0}, open{0};
        std::atomic<int64_t> news{now()};
        while (got < n && now() < news + nanos(timeout + gap)) {
            auto connection = network.accept();
            if (!connection) {
                sleep_until(now() + 200000);
                continue;
            }
            news = now();
            ++open;
            std::thread([&, connection = std::move(connection)]() mutable {
                serve(*connection, got, news);
                connection.reset();
                --open;
            }).detach();
        }
        if (got == 0) throw Lost("no transfer arrived in time");
        const uint32_t whole = got;
        print("{\"got\":" + std::to_string(whole) + ",\"bytes\":" + std::to_string(whole * size) +
              "}");
        // The last answers are still on their way.
        const int64_t end = now() + nanos(2);
        while (open > 0 && now() < end) sleep_until(now() + 1000000);
    }

    void serve(Connection& connection, std::atomic<uint32_t>& got,
               std::atomic<int64_t>& news) const {
        std::vector<char> buffer(PIECE);
        for (;;) {
            for (uint64_t left = size; left > 0;) {
                const long read = connection.read(buffer.data(), std::min<uint64_t>(left, PIECE));
                if (read == 0) return;
                if (read > 0) left -= uint64_t(read);
            }
            const int64_t time = now();
            news = time;
            ++got;
            if (!write_all(connection, reinterpret_cast<const char*>(&time), 8, time + nanos(10)))
                return;
        }
    }

    std::string send(Network& network, const Address& to, double timeout) const {
        std::unique_ptr<Connection> connection;
        std::vector<int64_t> times;
        std::string list;
        if (reuse) connection = network.connect(to, timeout);
        for (uint32_t i = 0; i < n; ++i) {
            if (i > 0) sleep_until(now() + nanos(gap));
            const int64_t start = now(), end = start + nanos(timeout);
            int64_t answer = 0;
            bool arrived = false;
            try {
                if (!connection && (!reuse || i == 0)) connection = network.connect(to, timeout);
                arrived = connection && bring(*connection, end) &&
                          read_all(*connection, reinterpret_cast<char*>(&answer), 8, end);
            } catch (const Lost&) {
                if (i == 0) throw;
            }
            if (!arrived || !reuse) connection.reset();
            if (arrived) times.push_back(answer - start);
            list += (i ? "," : "") + (arrived ? millis(double(answer - start)) : "null");
        }
        const size_t failed = n - times.size();
        return "{\"times\":[" + list + "],\"failed\":" + std::to_string(failed) + "," +
               summary(times) + "}";
    }

    bool bring(Connection& connection, int64_t end) const {
        for (uint64_t left = size; left > 0;) {
            const size_t piece = size_t(std::min<uint64_t>(left, PIECE));
            if (!write_all(connection, filler().data() + left % (1 << 20), piece, end))
                return false;
            left -= piece;
        }
        return true;
    }
};

// The whole program. `make` gets the mode and takes the transport's own settings.
template <class Make>
int main(int argc, char** argv, Make make) {
    const auto fail = [](const char* what, int code) {
        std::string text;
        for (const char* c = what; *c; ++c) {
            if (*c == '"' || *c == '\\') text += '\\';
            if ((unsigned char)*c >= ' ') text += *c;
        }
        std::printf("{\"error\":\"%s\"}\n", text.c_str());
        std::fprintf(stderr, "error: %s\n", what);
        std::fflush(stdout);
        // Threads of the libraries may still run.
        std::_Exit(code);
    };
    prctl(PR_SET_TIMERSLACK, 1);
    try {
        const std::string side = argc > 1 ? argv[1] : "", name = argc > 2 ? argv[2] : "";
        if (argc < 5 || (side != "recv" && side != "send") ||
            (name != "bulk" && name != "stream" && name != "xfer"))
            throw Usage("usage: recv|send bulk|stream|xfer HOST PORT [NAME=VALUE...]");
        const Mode mode = name == "bulk"     ? Mode::Bulk
                          : name == "stream" ? Mode::Stream
                                             : Mode::Xfer;
        Settings settings(argv + 5, argv + argc);
        std::unique_ptr<Network> network = make(mode, settings);
        const double timeout = settings.number("timeout", 30, 0.1, 86400);
        const auto run = [&](const auto& workload) {
            settings.finish();
            const Address address(argv[3], argv[4]);
            const Print print = [](const std::string& line) {
                std::printf("%s\n", line.c_str());
                std::fflush(stdout);
            };
            if (side == "send") {
                print(workload.send(*network, address, timeout));
            } else {
                network->listen(address);
                print("{\"listening\":true}");
                workload.receive(*network, timeout, print);
            }
        };
        if (mode == Mode::Bulk) run(Bulk(settings));
        if (mode == Mode::Stream) run(Stream(settings, *network));
        if (mode == Mode::Xfer) run(Xfer(settings));
        network.reset();
        std::_Exit(0);
    } catch (const Usage& error) {
        fail(error.what(), 2);
    } catch (const Lost& error) {
        fail(error.what(), 4);
    } catch (const std::exception& error) {
        fail(error.what(), 1);
    }
    return 1;
}

} // namespace contract
