// The ladder's run as JSON, and the peers' JSON that is merged into it. docs/benchmarking.md has both schemas.
#pragma once

#include <string>
#include <vector>

#include "cli/ladder/ladder_model.hpp"

namespace tapline::cli {

std::string ladder_json(const LadderRun& run);

/// A library that was measured elsewhere on the same problem.
struct Peer {
    std::string name;  ///< "NumPy"
    std::string what;  ///< the call and its version
    Problem problem;   ///< length, taps, mode; f32
    Timing time;
    std::optional<Timing> warm;
    double error = 0;
};

/// The rows of a file that bench/gpu_peers.py wrote. Throws Error (io), which names the file and what is wrong in it.
std::vector<Peer> read_peers(const std::string& path);

/// Adds the peers that solved this table's problem as rows "C7 NAME" and compares again.
void merge_peers(const std::vector<Peer>& peers, LadderTable& table);

}  // namespace tapline::cli
