// A run of the ladder as people and programs read it: on a terminal, as JSON (docs/benchmarking.md has the schemas), as a page.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "cli/ladder/ladder_model.hpp"

namespace tapline::cli {

/// Columns of the terminal: COLUMNS, else what the system knows of `file`, else 80.
int terminal_columns(std::FILE* file);

/// `missing`: why the lessons are not there; empty if they are.
void print_device(std::FILE* to, const LadderDevice& device, const std::string& missing, int columns);

/// With 100 columns or more the time with a warm cache has one of its own.
void print_table(std::FILE* to, const LadderTable& table, int columns);

std::string ladder_json(const LadderRun& run);

/// HTML with its style and its drawings inside: no scripts, nothing from elsewhere.
std::string ladder_report(const LadderRun& run);

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
