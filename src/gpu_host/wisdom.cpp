#include "gpu_host/wisdom.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <mutex>
#include <tuple>

#include "gpu_host/wisdom_file.hpp"
#include "tapline/error.hpp"
#include "tapline/info.hpp"

namespace tapline::gpu_host {
namespace {

constexpr std::int64_t kExactTaps = 64;  // below, each tap more is a visible share of the work and loops are unrolled for it
constexpr int kReach = 2;                // in powers of two: the sizes of the default list of `tapline tune` are 16 times apart

struct Loaded {
    WisdomState state;
    WisdomSections sections;
};

std::mutex& mutex() {
    static std::mutex m;
    return m;
}

std::shared_ptr<const Loaded>& slot() {
    static std::shared_ptr<const Loaded> loaded;
    return loaded;
}

std::shared_ptr<const Loaded> load() {
    auto loaded = std::make_shared<Loaded>();
    loaded->state.path = wisdom_path();
    if (loaded->state.path.empty()) { return loaded; }
    try {
        loaded->sections = read_wisdom(loaded->state.path);
    } catch (const std::exception& error) { loaded->state.reason = error.what(); }
    for (const WisdomSection& section : loaded->sections) { loaded->state.entries += static_cast<int>(section.entries.size()); }
    return loaded;
}

std::shared_ptr<const Loaded> wisdom() {
    const std::lock_guard lock(mutex());
    if (slot() == nullptr) { slot() = load(); }
    return slot();
}

// log2, rounded: 0 for 1, 1 for 2, 2 for 3 (nearer to 4 as a ratio), 3 for 6 to 11.
std::int32_t rounded_log2(std::int64_t value) {
    return static_cast<std::int32_t>(std::lround(std::log2(static_cast<double>(value))));
}

// Up to 64 the number itself, then the next of 96, 128, 192, 256, ...
std::int64_t taps_class(std::int64_t k) {
    if (k <= kExactTaps) { return k; }
    const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(k - 1)));
    return k <= power / 2 * 3 ? power / 2 * 3 : std::min(power, std::int64_t{1} << 61) * 2;
}

std::int64_t channels_class(std::int64_t channels) {
    constexpr std::int64_t kExactChannels = 4;  // grey, two planes, RGB, RGBA
    return channels <= kExactChannels ? channels : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(channels)));
}

bool describes(const WisdomSection& section, const cuda_abi::Device& device) {
    return section.device == device.name && section.driver == device.driver_version && section.version == version();
}

// Taps whose ratio is at most 5/4 want much the same policy; the same ones are 0 apart.
std::optional<int> taps_distance(std::int64_t a, std::int64_t b) {
    if (a == b) { return 0; }
    const auto [few, many] = std::minmax(a, b);
    return many - few <= few / 4 ? std::optional(1) : std::nullopt;
}

// How far two classes are apart if they differ in sizes only, else nothing.
std::optional<int> distance(const ProblemClass& a, const ProblemClass& b) {
    ProblemClass same = a;
    same.taps = b.taps;
    same.taps_y = b.taps_y;
    same.outputs_log2 = b.outputs_log2;
    same.batch_log2 = b.batch_log2;
    same.narrow_taps = b.narrow_taps;
    same.equal_taps = b.equal_taps;
    const auto taps = taps_distance(a.taps, b.taps), taps_y = taps_distance(a.taps_y, b.taps_y);
    if (same != b || !taps || !taps_y || (a.batch_log2 == 0) != (b.batch_log2 == 0)) { return std::nullopt; }
    const int size = std::abs(a.outputs_log2 - b.outputs_log2) + std::abs(a.batch_log2 - b.batch_log2);
    return size <= kReach ? std::optional(size + *taps + *taps_y) : std::nullopt;
}

bool has_taps_alike(const ProblemClass& a, const ProblemClass& b) {
    return a.narrow_taps == b.narrow_taps && a.equal_taps == b.equal_taps;
}

// Of the entries that `accept` takes the one of the nearest class.
template <class Accept>
const WisdomEntry* nearest(const Loaded& loaded, const cuda_abi::Device& device, const cuda_abi::Problem& problem, Accept accept) {
    const auto wanted = class_of(problem);
    if (!wanted) { return nullptr; }
    // Of classes equally near the larger sizes and taps win, whatever the order of the file; within a class the fastest.
    const auto rank = [&](const WisdomEntry& entry, int apart) {
        return std::tuple(entry.accuracy != problem.accuracy, !has_taps_alike(entry.problem, *wanted), apart,
                          -entry.problem.outputs_log2, -entry.problem.batch_log2, -entry.problem.taps, -entry.problem.taps_y,
                          entry.seconds);
    };
    const WisdomEntry* best = nullptr;
    int best_apart = 0;
    for (const WisdomSection& section : loaded.sections) {
        if (!describes(section, device)) { continue; }
        for (const WisdomEntry& entry : section.entries) {
            const auto apart = distance(entry.problem, *wanted);
            if (!apart || !accept(entry)) { continue; }
            if (best == nullptr || rank(entry, *apart) < rank(*best, best_apart)) {
                best = &entry;
                best_apart = *apart;
            }
        }
    }
    return best;
}

}  // namespace

std::optional<ProblemClass> class_of(const cuda_abi::Problem& problem) {
    if (problem.x.n < 1 || problem.x.outputs < 1) { return std::nullopt; }
    ProblemClass c;
    c.rank = problem.rank;
    c.dtype = problem.dtype;
    c.taps_dtype = problem.taps_dtype;
    c.output_dtype = problem.output_dtype;
    c.taps = taps_class(problem.x.k);
    c.taps_y = taps_class(problem.y.k);
    c.outputs_log2 = rounded_log2(problem.y.outputs * problem.x.outputs);
    c.batch_log2 = rounded_log2(problem.batch.length);
    c.per_row = problem.filters > 1;
    c.channels = channels_class(problem.channels.length);
    c.separable = problem.separable;
    c.narrow_taps = problem.narrow_taps;
    c.equal_taps = problem.equal_taps;
    c.strided = !problem.has_packed_pixels();
    return c;
}

std::optional<cuda_abi::Policy> tuned_policy(const cuda_abi::Device& device, const std::string& rung,
                                             const cuda_abi::Problem& problem) {
    try {
        const auto loaded = wisdom();
        const WisdomEntry* entry = nearest(*loaded, device, problem, [&](const WisdomEntry& e) { return e.rung == rung; });
        if (entry != nullptr) { return entry->policy; }
    } catch (const std::exception&) {  // no memory for the question: the default serves
    }
    return std::nullopt;
}

std::optional<WisdomEntry> tuned_rung(const cuda_abi::Device& device, const cuda_abi::Problem& problem,
                                      const std::function<bool(const std::string& rung)>& accept) {
    const auto loaded = wisdom();
    const auto wanted = class_of(problem);
    const WisdomEntry* entry = nearest(*loaded, device, problem, [&](const WisdomEntry& e) {
        return e.accuracy == problem.accuracy && has_taps_alike(e.problem, *wanted) && accept(e.rung);
    });
    return entry == nullptr ? std::nullopt : std::optional(*entry);
}

WisdomState wisdom_state() { return wisdom()->state; }

void forget_wisdom() noexcept {
    const std::lock_guard lock(mutex());
    slot().reset();
}

void remember(const cuda_abi::Device& device, std::span<const WisdomEntry> entries) {
    if (entries.empty()) { return; }
    WisdomSection section{.device = device.name, .driver = device.driver_version, .version = version(), .entries = {}};
    section.entries.assign(entries.begin(), entries.end());
    try {
        update_wisdom(wisdom_path(), section);
    } catch (const std::bad_alloc&) { throw Error(ErrorCode::memory, "wisdom: out of memory"); }
    forget_wisdom();
}

}  // namespace tapline::gpu_host
