#include "options.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <vector>

namespace {

const char* const USAGE =
    "usage: weftline-ns3 hop|cross|mesh [--key=value]...\n"
    "  --protocol=rlc       rlc, session (the engine), newreno, westwood, westwood+, cubic\n"
    "  --fer=0              frame error rate, 0 to 0.95; mesh: of the worst link, each has its own\n"
    "  --lossy=flow2        cross: links with errors: flow2 (both hops of the second flow), hop2 (only\n"
    "                       its first hop), all\n"
    "  --acks=WHICH         lossless: packets below 300 bytes are never lost; lossy: they are lost as\n"
    "                       any; default: lossless, in the mesh lossy\n"
    "  --q=8 --k=128        rlc: GF(2^q), packets of a block (up to 256)\n"
    "  --header=short       rlc: short (seed) or long (coding vector)\n"
    "  --relay-drop=1       rlc: relays drop packets of blocks whose ACK they have forwarded\n"
    "  --preset=auto        session: its preset\n"
    "  --transmissions=N    of a frame by the MAC; 1 for rlc, 4 for others\n"
    "  --queue=100          packets that a node queues\n"
    "  --ahead=2            rlc, session: packets of its own that a source keeps in its node's queue\n"
    "  --min-rto=1000       TCP: its least retransmission timeout, ms\n"
    "  --sense=2            a transmission is sensed so many times farther than it is received\n"
    "  --nodes=32 --side=100 --range=20 --flows=1 --routing=olsr|aodv|static --warmup=20   mesh\n"
    "  --connected=1        mesh: every station reaches every other\n"
    "  --seconds=30 --seed=1 --runs=1     runs with consecutive seeds\n";

[[noreturn]] void Fail(const std::string& reason) {
    std::fprintf(stderr, "weftline-ns3: %s\n%s", reason.c_str(), USAGE);
    std::exit(2);
}

double Number(const std::string& key, const std::string& value, double least, double most) {
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    if (value.empty() || *end != '\0' || !(number >= least && number <= most)) {
        char range[80];
        std::snprintf(range, sizeof range, "a number from %g to %g", least, most);
        Fail("--" + key + "=" + value + ": expected " + range);
    }
    return number;
}

std::string OneOf(const std::string& key, const std::string& value, const std::set<std::string>& known) {
    if (known.count(value) == 0)
        Fail("--" + key + "=" + value + " is none of those known");
    return value;
}

} // namespace

Options ReadOptions(int argc, char** argv) {
    Options options;
    using Set = std::function<void(const std::string&, const std::string&)>;
    const auto real = [](double& place, double least, double most) -> Set {
        return [&place, least, most](auto& key, auto& value) { place = Number(key, value, least, most); };
    };
    const auto whole = [](uint32_t& place, double least, double most) -> Set {
        return [&place, least, most](auto& key, auto& value) {
            const double number = Number(key, value, least, most);
            place = static_cast<uint32_t>(number);
            if (place != number)
                Fail("--" + key + "=" + value + ": expected a whole number");
        };
    };
    const auto word = [](std::string& place, std::set<std::string> known) -> Set {
        return [&place, known](auto& key, auto& value) { place = OneOf(key, value, known); };
    };
    const std::map<std::string, Set> keys = {
        {"protocol", word(options.protocol, {"rlc", "session", "newreno", "westwood", "westwood+", "cubic"})},
        {"header", word(options.header, {"short", "long"})},
        {"routing", word(options.routing, {"olsr", "aodv", "static"})},
        // The library knows the names.
        {"preset", [&](auto&, auto& value) { options.preset = value; }},
        {"fer", real(options.fer, 0, 0.95)},
        {"lossy", word(options.lossy, {"flow2", "hop2", "all"})},
        {"acks", word(options.acks, {"lossless", "lossy"})},
        {"q", whole(options.q, 1, 8)},
        {"k", whole(options.k, 1, 256)},
        {"seed", whole(options.seed, 1, 4e9)},
        {"runs", whole(options.runs, 1, 1e4)},
        {"seconds", real(options.seconds, 0.1, 1e5)},
        {"transmissions", whole(options.transmissions, 1, 100)},
        {"queue", whole(options.queue, 1, 1e5)},
        {"ahead", whole(options.ahead, 1, 1e5)},
        {"flows", whole(options.flows, 1, 16)},
        {"nodes", whole(options.nodes, 3, 200)},
        {"side", real(options.side, 1, 1e5)},
        {"range", real(options.range, 1, 1e5)},
        {"sense", real(options.sense, 1, 10)},
        {"warmup", real(options.warmup, 0, 1e4)},
        {"min-rto", real(options.min_rto, 1, 1e5)},
        {"relay-drop", [&](auto& key, auto& value) { options.relay_drop = Number(key, value, 0, 1) != 0; }},
        {"connected", [&](auto& key, auto& value) { options.connected = Number(key, value, 0, 1) != 0; }},
    };
    for (int i = 1; i < argc; i++) {
        const std::string argument = argv[i];
        const size_t equals = argument.find('=');
        if (argument == "--help") {
            std::fputs(USAGE, stdout);
            std::exit(0);
        } else if (i == 1) {
            options.scenario = argument;
        } else if (argument.rfind("--", 0) != 0 || equals == std::string::npos) {
            Fail("expected --key=value, got " + argument);
        } else {
            const auto known = keys.find(argument.substr(2, equals - 2));
            if (known == keys.end())
                Fail("there is no option " + argument.substr(0, equals));
            known->second(known->first, argument.substr(equals + 1));
        }
    }
    if (options.scenario != "hop" && options.scenario != "cross" && options.scenario != "mesh")
        Fail("expected a scenario, hop, cross or mesh");
    if (options.transmissions == 0)
        options.transmissions = options.IsRlc() ? 1 : 4;
    if (options.acks.empty())
        options.acks = options.scenario == "mesh" ? "lossy" : "lossless";
    if (options.flows == 0)
        options.flows = 1;
    return options;
}
