#include "cli/ladder/ladder_output.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/ladder/ladder_format.hpp"
#include "cli/measure/problems.hpp"
#include "tapline/error.hpp"

namespace tapline::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kLadderSchema = "tapline-ladder-1";
constexpr const char* kImageSchema = "tapline-ladder-image-1";
constexpr const char* kPeersSchema = "tapline-peers-1";

Json timing_json(const Timing& timing) {
    return {{"median", timing.median}, {"min", timing.least}, {"max", timing.most}, {"runs", timing.runs}};
}

Json warm_json(const std::optional<Timing>& warm) { return warm ? timing_json(*warm) : Json(nullptr); }

Json problem_json(const Problem& problem) {
    Json json{{"length", problem.length},
              {"taps", problem.taps},
              {"mode", to_string(problem.mode)},
              {"operation", to_string(problem.operation)},
              {"clamp", nullptr},
              {"dtype", to_string(problem.dtype)}};
    if (problem.clamp) json["clamp"] = {problem.clamp->low, problem.clamp->high};
    return json;
}

Json identity_json(const Lesson& lesson) { return {{"number", lesson.number}, {"name", lesson.name}, {"origin", lesson.origin}}; }

const char* kind_name(RowKind kind) { return kind == RowKind::rung ? "rung" : kind == RowKind::autotuned ? "autotuned" : "peer"; }

void add_lesson(Json& json, const Lesson& lesson) {
    json["idea"] = lesson.idea;
    json["changed"] = lesson.changed;
    json["requires"] = lesson.requirements;
    json["limited_by"] = lesson.limited_by;
    json["source"] = lesson.source;
}

// NaN and infinity (the error of a wrong rung) have no JSON number: nlohmann writes null.
Json row_json(const LadderRow& row) {
    Json json = identity_json(row.lesson);
    json["kind"] = kind_name(row.kind);
    json["ok"] = row.failure.empty();
    json["failure"] = row.failure;
    json["detail"] = row.detail;
    json["error"] = row.error;
    json["tolerance"] = row.tolerance;
    const bool timed = row.failure.empty();
    json["seconds"] = timed ? timing_json(row.time) : Json(nullptr);
    json["warm_seconds"] = timed ? warm_json(row.warm) : Json(nullptr);
    json["times_naive"] = row.times_naive;
    json["times_previous"] = row.times_previous;
    json["gigabytes_per_second"] = row.bytes_per_second * 1e-9;
    json["copy_fraction"] = row.copy_fraction;
    json["gflops"] = row.flops * 1e-9;
    return json;
}

Json table_json(const LadderTable& table) {
    Json json{{"case", table.contest.key}, {"title", table.contest.title}, {"problem", problem_json(table.contest.problem)}};
    json["output_length"] = output_length(table.contest.problem);
    json["known_answers"] = table.contest.known.size();
    json["naive"] = table.naive;
    json["copy"] = {{"seconds", timing_json(table.copy.time)},
                    {"warm_seconds", warm_json(table.copy.warm)},
                    {"gigabytes_per_second", table.copy.bytes_per_second * 1e-9}};
    json["rows"] = Json::array();
    for (const auto& row : table.rows) json["rows"].push_back(row_json(row));
    json["skipped"] = Json::array();
    for (const auto& skipped : table.skipped) {
        Json entry = identity_json(skipped.lesson);
        entry["reason"] = skipped.reason;
        json["skipped"].push_back(std::move(entry));
    }
    return json;
}

Json point_json(const SweepPoint& point) {
    return {{"length", point.length},
            {"seconds", point.seconds},
            {"gigabytes_per_second", point.bytes_per_second * 1e-9},
            {"copy_fraction", point.copy_fraction}};
}

Json sweep_json(const Sweep& sweep) {
    Json json{
        {"problem", problem_json(sweep.problem)}, {"copy", Json::array()}, {"lines", Json::array()}, {"failures", sweep.failures}};
    json["problem"].erase("length");
    for (const auto& point : sweep.copy) json["copy"].push_back(point_json(point));
    for (const auto& line : sweep.lines) {
        Json entry = identity_json(line.lesson);
        entry["points"] = Json::array();
        for (const auto& point : line.points) entry["points"].push_back(point_json(point));
        json["lines"].push_back(std::move(entry));
    }
    return json;
}

// One table, of images: a row a rung with its lesson, medians only.
std::string image_json(const LadderRun& run) {
    const LadderTable& table = run.tables.front();
    const Problem& problem = table.contest.problem;
    const auto warm = [](const std::optional<Timing>& second, const Timing& first) {
        return second ? second->median : first.median;
    };
    Json json{{"schema", kImageSchema}, {"version", run.version}, {"device", run.device.name + ": " + run.device.description}};
    add_sizes(json, image_sizes(problem));
    json["separable"] = table.contest.separable;
    json["boundary"] = to_string(problem.boundary);
    json["copy_seconds"] = table.copy.time.median;
    json["copy_warm_seconds"] = warm(table.copy.warm, table.copy.time);
    json["rungs"] = Json::array();
    for (const LadderRow& row : table.rows) {
        Json entry = identity_json(row.lesson);
        add_lesson(entry, row.lesson);
        if (row.failure.empty()) {
            entry["detail"] = row.detail;
            entry["seconds"] = row.time.median;
            entry["warm_seconds"] = warm(row.warm, row.time);
            entry["predicted_seconds"] = row.predicted;
            entry["copy_fraction"] = row.copy_fraction;
            entry["error"] = row.error;
        } else {
            entry["failure"] = row.failure;
        }
        json["rungs"].push_back(std::move(entry));
    }
    for (const Skipped& skipped : table.skipped) {
        Json entry = identity_json(skipped.lesson);
        add_lesson(entry, skipped.lesson);
        entry["skipped"] = skipped.reason;
        json["rungs"].push_back(std::move(entry));
    }
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Timing peer_timing(const Json& json) {
    Timing timing{json.at("median"), json.at("min"), json.at("max"), json.at("runs")};
    if (!(timing.median > 0)) throw Error(ErrorCode::io, "a time is not positive");
    return timing;
}

Peer peer_of(const Json& json) {
    Peer peer{.name = json.at("name"), .what = json.at("what"), .problem = {}, .time = peer_timing(json.at("seconds")), .warm = {}};
    peer.problem.length = json.at("length");
    peer.problem.taps = json.at("taps");
    const auto mode = mode_from_string(json.at("mode").get<std::string>());
    if (!mode) throw Error(ErrorCode::io, "mode is not one of full, same, valid, causal, leading");
    peer.problem.mode = *mode;
    if (json.contains("warm_seconds") && !json["warm_seconds"].is_null()) peer.warm = peer_timing(json["warm_seconds"]);
    peer.error = json.at("error");
    return peer;
}

}  // namespace

std::string ladder_json(const LadderRun& run) {
    if (!run.tables.empty() && is_image(run.tables.front().contest.problem)) { return image_json(run); }
    Json json{{"schema", kLadderSchema}, {"version", run.version}, {"date", run.date}};
    json["device"] = {{"engine", run.device.engine}, {"name", run.device.name}, {"description", run.device.description}};
    json["device"]["facts"] = Json::object();
    for (const auto& [name, value] : run.device.facts) json["device"]["facts"][name] = value;
    json["lessons"] = Json::array();
    for (const auto& lesson : lessons_of(run)) {
        Json entry = identity_json(lesson);
        add_lesson(entry, lesson);
        json["lessons"].push_back(std::move(entry));
    }
    json["tables"] = Json::array();
    for (const auto& table : run.tables) json["tables"].push_back(table_json(table));
    json["sweep"] = run.sweep ? sweep_json(*run.sweep) : Json(nullptr);
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<Peer> read_peers(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    if (!file) throw Error(ErrorCode::io, "cannot read " + path + ": " + std::strerror(errno));
    try {
        const Json json = Json::parse(text.str());
        if (json.at("schema") != kPeersSchema) throw Error(ErrorCode::io, std::string("its schema is not ") + kPeersSchema);
        std::vector<Peer> peers;
        for (const auto& row : json.at("rows")) peers.push_back(peer_of(row));
        return peers;
    } catch (const Error& error) { throw Error(ErrorCode::io, path + ": " + error.what()); } catch (const Json::exception& error) {
        throw Error(ErrorCode::io, path + " is not what bench/gpu_peers.py writes: " + error.what());
    }
}

void merge_peers(const std::vector<Peer>& peers, LadderTable& table) {
    const Problem& problem = table.contest.problem;
    for (const auto& peer : peers) {
        const bool same =
            peer.problem.length == problem.length && peer.problem.taps == problem.taps && peer.problem.mode == problem.mode;
        if (!same || problem.clamp) continue;
        LadderRow row;
        row.kind = RowKind::peer;
        row.lesson.number = "C7";
        row.lesson.name = peer.name;
        row.lesson.origin = "C7";
        row.detail = peer.what;
        row.error = peer.error;
        row.time = peer.time;
        row.warm = peer.warm;
        table.rows.push_back(std::move(row));
    }
    finish(table);
}

}  // namespace tapline::cli
