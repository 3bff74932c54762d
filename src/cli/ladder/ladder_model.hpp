// What the ladder's run consists of: cases, rows, the sweep. The table, the JSON and the report all show this.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/shared/timing.hpp"
#include "tapline/problem.hpp"

namespace tapline::cli {

/// Input whose output is printed in the write-up that a case comes from.
struct KnownAnswer {
    Mode mode;
    std::vector<float> signal;
    std::vector<float> taps;
    std::vector<float> expected;
};

/// One problem that every rung is measured on.
struct LadderCase {
    std::string key;    ///< of LADDER's table: "A", "A2", ..., "ours"; "own" for one given by options
    std::string title;  ///< in words
    Problem problem;    ///< f32
    std::vector<KnownAnswer> known;
    bool sweeps = false;     ///< its rungs are also measured over the lengths
    bool separable = false;  ///< of an image: the mask is a column times a row
};

/// What a rung says about itself.
struct Lesson {
    std::string number = {};  ///< "05"; empty if it has none
    std::string name = {};    ///< "reduction_over_taps"
    std::string origin = {};  ///< "C1"; empty: tapline's own
    std::string idea = {};
    std::string changed = {};
    std::string requirements = {};
    std::string limited_by = {};
    std::string source = {};
    [[nodiscard]] std::string label() const { return number.empty() ? name : number + " " + name; }
};

enum class RowKind { rung, autotuned, peer };

struct LadderRow {
    RowKind kind = RowKind::rung;
    Lesson lesson;
    std::string detail;             ///< sizes that it was launched with
    std::string failure;            ///< why it is WRONG or did not run; empty: right
    const char* verdict = "WRONG";  ///< with a failure: or "FAILED", if there is no result to judge
    double error = 0;               ///< relative L2
    double tolerance = 0;
    double predicted = 0;        ///< seconds; 0: nobody predicts it
    Timing time;                 ///< on a GPU with a cold L2 cache
    std::optional<Timing> warm;  ///< on a GPU: with what is in the L2 cache since the run before
    // Filled in by finish().
    double times_naive = 0;     ///< 0: nothing to compare with
    double times_previous = 0;  ///< 0: as above
    double bytes_per_second = 0;
    double copy_fraction = 0;
    double flops = 0;
};

struct CopyRow {
    Timing time;
    std::optional<Timing> warm;
    double bytes_per_second = 0;
};

struct Skipped {
    Lesson lesson;
    std::string reason;
};

struct LadderTable {
    LadderCase contest;
    std::vector<LadderRow> rows;
    CopyRow copy;
    std::vector<Skipped> skipped;
    std::string naive;  ///< label of the row that times_naive refers to
};

struct SweepPoint {
    std::int64_t length = 0;
    double seconds = 0;
    double bytes_per_second = 0;
    double copy_fraction = 1;
};

struct SweepLine {
    Lesson lesson;
    std::vector<SweepPoint> points;
};

struct Sweep {
    Problem problem;  ///< length aside
    std::vector<SweepPoint> copy;
    std::vector<SweepLine> lines;
    std::vector<std::string> failures;  ///< points that are missing because a rung was wrong or failed
};

struct LadderDevice {
    std::string engine;       ///< "cpu", "cuda"
    std::string name;         ///< "cpu", "cuda:0"
    std::string description;  ///< its maker's name for it
    std::vector<std::pair<std::string, std::string>> facts;
};

struct LadderRun {
    LadderDevice device;
    std::string date;  ///< UTC, "2026-11-21 14:05"
    std::string version;
    std::vector<LadderTable> tables;
    std::optional<Sweep> sweep;
};

/// Fills in what rows owe to each other and to the copy. The naive one is the first rung of family C that ran, else the
/// first row that did.
void finish(LadderTable& table);

}  // namespace tapline::cli
