// weftline-ns3: the multi-node experiments of Garrido et al. in ns-3, one JSON object for each run.
#include "flow.h"

#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <queue>
#include <random>

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

// Two flows from station to station across a relay in the middle, all within each other's hearing.
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

// Stations anywhere in a square; flows between any two that a path of two hops or more joins.
Plan Mesh(const Options& options) {
    std::mt19937_64 chance(options.seed);
    // The distributions of the standard library differ between libraries; this does not.
    const auto draw = [&chance] { return double(chance() >> 11) * 0x1p-53; };
    for (int attempt = 0; attempt < 1000; attempt++) {
        Plan plan;
        for (uint32_t i = 0; i < options.nodes; i++)
            plan.positions.push_back({draw() * options.side, draw() * options.side});
        plan.next.resize(options.nodes);
        std::vector<std::vector<uint32_t>> hops;
        for (uint32_t to = 0; to < options.nodes; to++)
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
        const uint32_t lossy = options.lossy == "first" ? 1 : options.lossy == "flow" ? 2 : 4;
        for (uint32_t end = 1; end <= 4; end++)
            network.SetFer(0, end, end <= lossy ? options.fer : 0);
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

using Flows = std::vector<std::unique_ptr<Flow>>;

void Print(const Options& options, const Plan& plan, const Network& network, const Flows& flows) {
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
    const char* const lossy = options.scenario == "cross" ? options.lossy.c_str() : "all";
    std::printf("{\"scenario\":\"%s\",\"protocol\":\"%s\",\"fer\":%.17g,\"lossy\":\"%s\",",
                options.scenario.c_str(), options.protocol.c_str(), options.fer, lossy);
    std::printf("\"q\":%u,\"k\":%u,\"header\":\"%s\",", options.q, options.k, options.header.c_str());
    std::printf("\"seed\":%u,\"seconds\":%.17g,\"throughput_mbit\":{\"total\":%.17g,\"flows\":[", options.seed,
                options.seconds, sum);
    for (size_t i = 0; i < rates.size(); i++)
        std::printf("%s%.17g", i ? "," : "", rates[i]);
    std::printf("]},\"hops\":[");
    for (size_t i = 0; i < plan.hops.size(); i++)
        std::printf("%s%u", i ? "," : "", plan.hops[i]);
    if (squares > 0)
        std::printf("],\"jain\":%.17g", sum * sum / (rates.size() * squares));
    else
        std::printf("],\"jain\":null");
    std::printf(",\"delay_ms_mean\":%.17g,\"blocks\":%llu,", delay, static_cast<unsigned long long>(blocks));
    std::printf("\"mac_transmissions\":%llu,\"queue_drops\":%llu}\n",
                static_cast<unsigned long long>(network.Frames()),
                static_cast<unsigned long long>(network.Overflows()));
}

} // namespace

int main(int argc, char** argv) {
    const Options options = ReadOptions(argc, argv);
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
    Print(options, plan, network, flows);
    flows.clear();
    Simulator::Destroy();
    return 0;
}
