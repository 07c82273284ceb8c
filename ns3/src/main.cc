// weftline-ns3: the multi-node experiments of Garrido et al. in ns-3, one JSON object for each run.
#include "flow.h"

#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <queue>
#include <random>

#include <sys/wait.h>
#include <unistd.h>

using namespace ns3;

void Stop(const char* where, const char* reason) {
    std::fprintf(stderr, "weftline-ns3: %s: %s\n", where, reason);
    std::exit(1);
}

namespace {

// Where stations are, and which send to which.
struct Plan {
    std::vector<Position> positions;
    std::vector<std::pair<uint32_t, uint32_t>> flows;
    std::vector<uint32_t> hops; // of each flow
    // Towards the first station, by way of: next[to][at].
    std::vector<std::vector<uint32_t>> next;
};

// Two stations, ten metres apart.
Plan Hop() { return {{{0, 0}, {10, 0}}, {{0, 1}}, {1}, {}}; }

// The cross: S1 sends to D1 and S2 to D2 across the relay R1 in the middle (station 0), all within each
// other's hearing.
Plan Cross(const Options& options) {
    const double arm = 0.96 * options.range;
    return {{{0, 0}, {-arm, 0}, {arm, 0}, {0, -arm}, {0, arm}}, {{1, 2}, {3, 4}}, {2, 2}, {}};
}

double Distance(const Position& a, const Position& b) { return std::hypot(a.x - b.x, a.y - b.y); }

// Fewest hops from every station towards `to`; `next` is a station's next hop.
std::vector<uint32_t> Hops(const Plan& plan, double range, uint32_t to, std::vector<uint32_t>& next) {
    std::vector<uint32_t> hops(plan.positions.size(), UINT32_MAX);
    next.assign(plan.positions.size(), UINT32_MAX);
    hops[to] = 0;
    std::queue<uint32_t> open({to});
    for (; !open.empty(); open.pop()) {
        const uint32_t at = open.front();
        for (uint32_t other = 0; other < hops.size(); other++) {
            if (hops[other] == UINT32_MAX && Distance(plan.positions[at], plan.positions[other]) <= range) {
                hops[other] = hops[at] + 1;
                next[other] = at;
                open.push(other);
            }
        }
    }
    return hops;
}

// Stations anywhere in a square; flows between any two that a path of two hops or more joins. Connected
// meshes are rare where radios reach a fifth of the square, so many are drawn.
Plan Mesh(const Options& options) {
    std::mt19937_64 chance(options.seed);
    // The distributions of the standard library differ between libraries; this does not.
    const auto draw = [&chance] { return double(chance() >> 11) * 0x1p-53; };
    for (int attempt = 0; attempt < 1000000; attempt++) {
        Plan plan;
        for (uint32_t i = 0; i < options.nodes; i++)
            plan.positions.push_back({draw() * options.side, draw() * options.side});
        plan.next.resize(options.nodes);
        std::vector<std::vector<uint32_t>> hops{Hops(plan, options.range, 0, plan.next[0])};
        if (options.connected && std::count(hops[0].begin(), hops[0].end(), UINT32_MAX) > 0)
            continue;
        for (uint32_t to = 1; to < options.nodes; to++)
            hops.push_back(Hops(plan, options.range, to, plan.next[to]));
        for (int pick = 0; pick < 1000 && plan.flows.size() < options.flows; pick++) {
            const auto from = uint32_t(draw() * options.nodes), to = uint32_t(draw() * options.nodes);
            if (hops[to][from] < 2 || hops[to][from] == UINT32_MAX)
                continue;
            plan.flows.push_back({from, to});
            plan.hops.push_back(hops[to][from]);
        }
        if (plan.flows.size() == options.flows)
            return plan;
    }
    Stop("mesh", "no two stations are two hops or more apart: change --nodes, --side or --range");
}

void SetFers(const Options& options, const Plan& plan, Network& network) {
    if (options.scenario == "cross") {
        // Ends 1 and 2 are the first flow's, 3 and 4 the second's.
        for (uint32_t end = 1; end <= 4; end++) {
            const bool lossy = options.lossy == "all" || end == 3 || (end == 4 && options.lossy == "flow2");
            network.SetFer(0, end, lossy ? options.fer : 0);
        }
    } else if (options.scenario == "mesh") {
        std::mt19937_64 chance(options.seed ^ 0x5EED);
        for (uint32_t one = 0; one < plan.positions.size(); one++)
            for (uint32_t other = 0; other < one; other++)
                network.SetFer(one, other, options.fer * double(chance() >> 11) * 0x1p-53);
    }
}

void SetRoutes(const Options& options, const Plan& plan, Network& network) {
    if (options.scenario == "cross") {
        for (uint32_t at = 1; at <= 4; at++)
            for (uint32_t to = 1; to <= 4; to++)
                if (at != to)
                    network.Route(at, to, 0);
    } else if (options.scenario == "mesh" && options.routing == "static") {
        for (uint32_t to = 0; to < plan.positions.size(); to++)
            for (uint32_t at = 0; at < plan.positions.size(); at++)
                if (plan.next[to][at] < plan.positions.size() && plan.next[to][at] != to)
                    network.Route(at, to, plan.next[to][at]);
    }
}

// The stations and the flows' links, for a drawing.
void PrintPlan(const Plan& plan, const Network& network) {
    std::printf("\"stations\":[");
    for (uint32_t at = 0; at < plan.positions.size(); at++)
        std::printf("%s{\"x\":%.17g,\"y\":%.17g,\"frames\":%llu}", at ? "," : "", plan.positions[at].x,
                    plan.positions[at].y, static_cast<unsigned long long>(network.FramesOf(at)));
    std::printf("],\"links\":[");
    const char* comma = "";
    for (const auto& [from, to] : plan.flows) {
        const bool relayed = plan.positions.size() > 2;
        const std::vector<uint32_t> path =
            relayed ? std::vector<uint32_t>{from, 0, to} : std::vector<uint32_t>{from, to};
        for (size_t hop = 0; hop + 1 < path.size(); hop++) {
            std::printf("%s{\"from\":%u,\"to\":%u,\"fer\":%.17g}", comma, path[hop], path[hop + 1],
                        network.Fer(path[hop], path[hop + 1]));
            comma = ",";
        }
    }
    std::printf("],");
}

using Flows = std::vector<std::unique_ptr<Flow>>;

// What all runs share.
void PrintSettings(const Options& options) {
    const char* const lossy = options.scenario == "cross" ? options.lossy.c_str() : "all";
    std::printf("{\"scenario\":\"%s\",\"protocol\":\"%s\",\"preset\":\"%s\",", options.scenario.c_str(),
                options.protocol.c_str(), options.IsSession() ? options.preset.c_str() : "");
    std::printf("\"fer\":%.17g,\"lossy\":\"%s\",\"acks\":\"%s\",\"transmissions\":%u,", options.fer, lossy,
                options.acks.c_str(), options.transmissions);
    std::printf("\"q\":%u,\"k\":%u,\"header\":\"%s\",\"seconds\":%.17g,", options.q, options.k,
                options.header.c_str(), options.seconds);
}

void PrintRun(const Options& options, const Plan& plan, const Network& network, const Flows& flows) {
    std::vector<double> rates;
    double delay = 0;
    uint64_t blocks = 0;
    for (const auto& flow : flows) {
        rates.push_back(flow->Bytes() * 8e-6 / options.seconds);
        delay += flow->DelayMs() / flows.size();
        blocks += flow->Blocks();
    }
    const double sum = std::accumulate(rates.begin(), rates.end(), 0.0);
    const double squares = std::inner_product(rates.begin(), rates.end(), rates.begin(), 0.0);
    std::printf("{\"seed\":%u,\"throughput_mbit\":{\"total\":%.17g,\"flows\":[", options.seed, sum);
    for (size_t i = 0; i < rates.size(); i++)
        std::printf("%s%.17g", i ? "," : "", rates[i]);
    std::printf("]},");
    if (options.scenario != "mesh")
        PrintPlan(plan, network);
    std::printf("\"hops\":[");
    for (size_t i = 0; i < plan.hops.size(); i++)
        std::printf("%s%u", i ? "," : "", plan.hops[i]);
    if (squares > 0)
        std::printf("],\"jain\":%.17g", sum * sum / (rates.size() * squares));
    else
        std::printf("],\"jain\":null");
    std::printf(",\"delay_ms_mean\":%.17g,\"blocks\":%llu,", delay, static_cast<unsigned long long>(blocks));
    std::printf("\"mac_transmissions\":%llu,\"queue_drops\":%llu}",
                static_cast<unsigned long long>(network.Frames()),
                static_cast<unsigned long long>(network.Overflows()));
}

void Run(const Options& options) {
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(options.seed);
    const Plan plan = options.scenario == "hop"     ? Hop()
                      : options.scenario == "cross" ? Cross(options)
                                                    : Mesh(options);
    Network network(options, plan.positions);
    SetFers(options, plan, network);
    SetRoutes(options, plan, network);

    const auto make = options.IsRlc() ? MakeRlcFlow : options.IsSession() ? MakeSessionFlow : MakeTcpFlow;
    Flows flows;
    for (uint32_t i = 0; i < plan.flows.size(); i++)
        flows.push_back(make(options, network, {i, plan.flows[i].first, plan.flows[i].second}));
    // Flows do not start in the same instant.
    const double start = options.scenario == "mesh" ? options.warmup : 0.1;
    for (uint32_t i = 0; i < flows.size(); i++)
        Simulator::Schedule(Seconds(start + 0.01 * i), &Flow::Start, flows[i].get());
    Simulator::Stop(Seconds(start + options.seconds));
    Simulator::Run();
    PrintRun(options, plan, network, flows);
}

} // namespace

int main(int argc, char** argv) {
    Options options = ReadOptions(argc, argv);
    PrintSettings(options);
    std::printf("\"runs\":[");
    for (uint32_t run = 0; run < options.runs; run++, options.seed++) {
        std::printf("%s", run ? "," : "");
        std::fflush(stdout);
        // Each run has a process of its own: ns-3 numbers stations, addresses and random streams for
        // the whole process, and a run is to give the same however many came before it.
        const pid_t child = fork();
        if (child == 0) {
            Run(options);
            std::fflush(stdout);
            _exit(0);
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child)
            Stop("run", "the process of a run cannot be started or awaited");
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            Stop("run", "a run failed");
    }
    std::printf("]}\n");
    return 0;
}
