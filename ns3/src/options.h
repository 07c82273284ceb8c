// What a run is told on its command line.
#pragma once

#include <cstdint>
#include <string>

struct Options {
    std::string scenario;
    std::string protocol = "rlc"; // rlc, session, or a TCP: newreno, westwood, westwood+, cubic
    std::string header = "short"; // short: a seed of 4 bytes; long: the coding vector
    std::string preset = "auto";  // of the session
    std::string routing = "olsr"; // of the mesh: olsr, aodv, static
    std::string lossy = "flow2";  // links of the cross with errors: flow2, hop2, all
    std::string acks = "";        // packets of acknowledgements: lossless or lossy
    double fer = 0;               // frame error rate; of the mesh: the worst link's
    uint32_t q = 8;               // coefficients are of GF(2^q)
    uint32_t k = 128;             // packets of a block
    uint32_t seed = 1;
    uint32_t runs = 1;            // with consecutive seeds
    double seconds = 30;          // of traffic
    uint32_t transmissions = 0;   // of a frame by the MAC at most; 1 for rlc, else 4
    uint32_t queue = 100;         // packets of a node's queue
    uint32_t ahead = 2;           // rlc, session: packets that a source keeps in its node's queue
    uint32_t flows = 0;           // of the mesh
    uint32_t nodes = 32;          // of the mesh
    double side = 100;            // of the mesh's square, metres
    double range = 20;            // of a radio, metres
    double sense = 2;             // how many times farther a transmission is sensed
    double warmup = 20;           // seconds before traffic in the mesh, for routing
    double min_rto = 1000;        // of TCP, ms
    bool relay_drop = true;       // relays drop packets of blocks whose ACK they have forwarded
    bool connected = true;        // meshes in which a station is out of reach are drawn anew

    bool IsRlc() const { return protocol == "rlc"; }
    bool IsSession() const { return protocol == "session"; }
};

// Reads `SCENARIO --key=value...`; says what is wrong and ends the program with 2 if it is.
Options ReadOptions(int argc, char** argv);
