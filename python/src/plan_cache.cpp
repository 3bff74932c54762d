#include "plan_cache.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <list>

#include "numpy_api.hpp"
#include "tapline/convolve.hpp"

namespace tapline::python {
namespace {

// On a GPU room for what is made of 512 filters of 65,536 taps of f32, which takes 0.2 s and is asked for every 2 ms. The last of
// so many plans is found 0.7 us later than the first (2.9 us for a call with 9 taps instead of 2.2).
constexpr std::size_t kDefaultLimitBytes = std::size_t{1} << 30;
constexpr std::size_t kMaxPlans = 256;
// Spectra hold a complex value for each tap and as much room again for the samples beside them.
constexpr std::size_t kPreparedShare = 4;
// Beside taps and what is made of them.
constexpr std::size_t kPlanBytes = 4096;
// Preparing more than this many taps takes longer than handing over the GIL (0.1 us).
constexpr std::int64_t kLongFilter = 1024;

// Everything that a plan depends on but its taps, as words.
class Key {
public:
    void add(std::int64_t word) { words_[count_++] = word; }
    void add(double number) { add(std::bit_cast<std::int64_t>(number)); }
    // A stride or an origin, or a number that is none.
    void add(const std::optional<std::int64_t>& number) { add(number.value_or(std::numeric_limits<std::int64_t>::min())); }
    template <class E>
    void add_one_of(E value) {
        add(static_cast<std::int64_t>(value));
    }
    template <class E>
    void add_one_of(const std::optional<E>& value) {
        add(value ? static_cast<std::int64_t>(*value) : -1);
    }
    bool add(const std::string& name) {
        std::array<std::int64_t, 2> words{};
        if (name.size() >= sizeof words) { return false; }
        std::memcpy(words.data(), name.data(), name.size());
        for (const std::int64_t word : words) { add(word); }
        return true;
    }
    [[nodiscard]] const void* data() const { return words_.data(); }
    [[nodiscard]] std::size_t bytes() const { return count_ * sizeof words_[0]; }
    bool operator==(const Key& other) const {
        return count_ == other.count_ && std::memcmp(words_.data(), other.words_.data(), bytes()) == 0;
    }

private:
    static constexpr std::size_t kOwn = 40, kEachAxis = 10, kEachBatchAxis = 4;
    std::array<std::int64_t, kOwn + 3 * kEachAxis + 4 * kEachBatchAxis> words_;  // NOLINT: the first count_ are read
    std::size_t count_ = 0;
};

void add_axes(Key& key, const Problem& p) {
    for (const FilteredAxis& a : p.axes) {
        for (const std::int64_t number : {a.length, a.taps, a.up, a.down, a.dilation}) { key.add(number); }
        key.add_one_of(a.mode);
        key.add_one_of(a.boundary);
        for (const auto& number : {a.origin, a.input_stride, a.output_stride}) { key.add(number); }
    }
    for (const BatchAxis& b : p.batch_axes) {
        key.add(b.length);
        key.add(b.input_stride);
        key.add(b.output_stride);
        key.add(b.taps_stride);
    }
}

// False: the call has names that no plan has, which make_plan() refuses.
bool fill(Key& key, const Problem& p, const PlanOptions& o) {
    for (const std::int64_t number : {p.length, p.taps, p.batch, p.filter_count, std::int64_t{o.threads}}) { key.add(number); }
    for (const auto& number :
         {p.input_row_stride, p.input_sample_stride, p.output_row_stride, p.output_sample_stride, p.taps_row_stride, p.origin}) {
        key.add(number);
    }
    key.add_one_of(p.filters);
    key.add_one_of(p.mode);
    key.add_one_of(p.boundary);
    key.add_one_of(p.operation);
    key.add_one_of(p.dtype);
    key.add_one_of(p.complex_taps);
    key.add_one_of(output_dtype(p));
    key.add_one_of(p.real_taps);
    key.add_one_of(p.overflow);
    key.add_one_of(o.accuracy);
    key.add_one_of(o.effort);
    key.add_one_of(p.clamp.has_value());
    const Clamp clamp = p.clamp.value_or(Clamp{0, 0});
    for (const double number : {p.constant.real(), p.constant.imag(), p.scale, p.bias, clamp.low, clamp.high}) { key.add(number); }
    key.add_one_of(p.axes.size());
    add_axes(key, p);
    return key.add(o.device) && key.add(o.algorithm);
}

// Eight bytes at a time, multiplied and folded; a collision only costs a comparison, which ends at the first difference. What is
// longer than kHashedBytes is looked at in places: all of 65,535 taps took 56 us of a call, comparing them once takes 5.
constexpr std::size_t kHashedBytes = 4096;

std::uint64_t hash(std::uint64_t seed, const void* data, std::size_t bytes) {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15U;
    const std::size_t step = 8 * std::max<std::size_t>(1, bytes / kHashedBytes);
    const auto* from = static_cast<const unsigned char*>(data);
    std::uint64_t h = seed ^ bytes;
    const auto add = [&h](std::uint64_t word) {
        h = (h ^ word) * kOdd;
        h ^= h >> 29;
    };
    const auto* const end = from + bytes;
    for (; from + step <= end; from += step) {
        std::uint64_t word = 0;
        std::memcpy(&word, from, 8);
        add(word);
    }
    std::uint64_t word = 0;
    std::memcpy(&word, from, std::min<std::size_t>(8, static_cast<std::size_t>(end - from)));
    add(word);
    return h;
}

struct Entry {
    std::uint64_t hash;
    Key key;
    KeptTaps taps;
    Plan plan;
    std::size_t host_bytes, device_bytes;
    double seconds;                                 // of preparing
    double worth;                                   // what is worth the least is forgotten first
    std::vector<std::shared_ptr<const void>> kept;  // made of the plan, oldest first

    [[nodiscard]] std::size_t bytes() const { return host_bytes + device_bytes; }
};

std::size_t first_limit() {
    const char* const text = std::getenv("TAPLINE_PLAN_CACHE_BYTES");
    std::size_t bytes = 0;
    if (text == nullptr) { return kDefaultLimitBytes; }
    const char* const end = text + std::strlen(text);
    const auto [stop, error] = std::from_chars(text, end, bytes);
    return error == std::errc{} && stop == end && stop != text ? bytes : kDefaultLimitBytes;
}

// Guarded by the GIL. Never destroyed: the interpreter may end while threads still run.
struct Cache {
    std::list<Entry> entries;  // most recent first
    std::size_t host_bytes = 0, device_bytes = 0;
    bool latest_is_first = false;  // whether the plan that was given last is kept
    std::size_t limit = first_limit();
    // What was forgotten last was worth so much: what is asked for afterwards is worth that more, so that plans that cost much once
    // do not stay for good (the rule "greedy dual size").
    double age = 0;
    std::uint64_t hits = 0, misses = 0;

    void touch(Entry& entry) const { entry.worth = age + entry.seconds / static_cast<double>(entry.bytes()); }
    void shrink() {
        while (host_bytes > limit || device_bytes > limit || entries.size() > kMaxPlans) {
            const bool of_device = device_bytes > limit;
            auto least = entries.end();
            for (auto it = entries.begin(); it != entries.end(); ++it) {
                const bool helps = !of_device || it->device_bytes > 0;
                if (helps && (least == entries.end() || it->worth < least->worth)) { least = it; }
            }
            age = least->worth;
            host_bytes -= least->host_bytes;
            device_bytes -= least->device_bytes;
            latest_is_first = latest_is_first && least != entries.begin();
            entries.erase(least);
        }
    }
    void add(Entry entry) {
        touch(entry);
        host_bytes += entry.host_bytes;
        device_bytes += entry.device_bytes;
        entries.push_front(std::move(entry));
        latest_is_first = true;
        shrink();
    }
    void use(std::list<Entry>::iterator entry) {
        if (entry != entries.begin()) { entries.splice(entries.begin(), entries, entry); }
        ++hits;
        touch(entries.front());
        latest_is_first = true;
    }
};
Cache& cache() {
    static auto* const instance = new Cache;
    return *instance;
}

// Bytes of the taps that the problem takes; none where they are not packed.
std::optional<std::size_t> taps_bytes_of(const Problem& problem) {
    const std::size_t size = size_of(taps_dtype(problem));
    const bool own_taps = std::any_of(problem.batch_axes.begin(), problem.batch_axes.end(),
                                      [](const BatchAxis& axis) { return axis.taps_stride != 0; });
    if (!problem.axes.empty() || own_taps) { return static_cast<std::size_t>(taps_extent(problem)) * size; }
    const std::int64_t own = problem.filter_count == 0 ? problem.batch : problem.filter_count;
    const std::int64_t rows = problem.filters == Filters::per_row ? own : 1;
    if (rows != 1 && problem.taps_row_stride != problem.taps) { return std::nullopt; }
    return static_cast<std::size_t>(rows * problem.taps) * size;
}

Plan prepare(const Problem& problem, const void* taps, const PlanOptions& options) {
    const bool on_cpu = !options.device.starts_with("cuda");  // a GPU's plan allocates, copies and waits
    if (on_cpu && problem.taps < kLongFilter && options.effort == Effort::estimate) { return make_plan(problem, taps, options); }
    const WithoutGil without_gil;
    return make_plan(problem, taps, options);
}

}  // namespace

bool is_too_long_to_keep(std::size_t taps_bytes, bool on_gpu) {
    const std::size_t prepared = kPreparedShare * taps_bytes;
    const std::size_t on_host = kPlanBytes + taps_bytes + (on_gpu ? 0 : prepared);
    return on_host > cache().limit || (on_gpu && prepared > cache().limit);
}

Plan cached_plan(const Problem& problem, const void* taps, const PlanOptions& options) {
    Key key;
    Cache& all = cache();
    const std::optional<std::size_t> taps_bytes = taps_bytes_of(problem);
    all.latest_is_first = false;
    if (!taps_bytes || is_too_long_to_keep(*taps_bytes, options.device.starts_with("cuda")) || !fill(key, problem, options)) {
        return prepare(problem, taps, options);
    }
    const std::size_t bytes = *taps_bytes;

    const std::uint64_t h = hash(hash(0, key.data(), key.bytes()), taps, bytes);
    for (auto it = all.entries.begin(); it != all.entries.end(); ++it) {
        if (it->hash == h && it->taps->size() == bytes && it->key == key && detail::same_bytes(it->taps->data(), taps, bytes)) {
            all.use(it);
            return it->plan;
        }
    }
    ++all.misses;
    // Copied before: while the GIL is released, another thread may change the array, and what is kept must be what was prepared.
    const auto* from = static_cast<const std::byte*>(taps);
    const auto copy = std::make_shared<const std::vector<std::byte>>(from, from + bytes);
    const auto begin = std::chrono::steady_clock::now();
    Plan plan = prepare(problem, copy->data(), options);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    all.latest_is_first = false;  // other threads may have asked meanwhile
    // A plan in host memory that "auto" put on a GPU holds that GPU's memory without being asked to.
    const bool on_gpu = plan.device() != "cpu";
    if (on_gpu && options.device == "auto") { return plan; }
    const std::size_t prepared = kPreparedShare * bytes;
    const std::uint64_t of_copy = hash(hash(0, key.data(), key.bytes()), copy->data(), bytes);
    all.add({of_copy, key, copy, plan, kPlanBytes + bytes + (on_gpu ? 0 : prepared), on_gpu ? prepared : 0, seconds, 0, {}});
    return plan;
}

KeptTaps latest_kept_taps() {
    const Cache& all = cache();
    return all.latest_is_first ? all.entries.front().taps : nullptr;
}

void keep_with_latest(std::shared_ptr<const void> what) {
    constexpr std::size_t kMost = 8;
    Cache& all = cache();
    if (!all.latest_is_first) { return; }
    auto& kept = all.entries.front().kept;
    if (kept.size() == kMost) { kept.erase(kept.begin()); }
    kept.push_back(std::move(what));
}

void count_use(const KeptTaps& taps) {
    Cache& all = cache();
    const auto found = std::find_if(all.entries.begin(), all.entries.end(), [&](const Entry& entry) {
        return entry.taps == taps || std::find(entry.kept.begin(), entry.kept.end(), taps) != entry.kept.end();
    });
    if (found != all.entries.end()) { all.use(found); }
}

void clear_plan_cache() {
    Cache& all = cache();
    all.entries.clear();
    all.host_bytes = all.device_bytes = 0;
    all.latest_is_first = false;
}

std::size_t plan_cache_size() { return cache().entries.size(); }

std::string explain_latest_plan() {
    const std::list<Entry>& entries = cache().entries;
    return entries.empty() ? "" : entries.front().plan.explain();
}

PlanCacheInfo plan_cache_info() {
    const Cache& all = cache();
    PlanCacheInfo info{.plans = all.entries.size(),
                       .host_bytes = all.host_bytes,
                       .device_bytes = all.device_bytes,
                       .limit_bytes = all.limit,
                       .hits = all.hits,
                       .misses = all.misses};
    for (const Entry& entry : all.entries) { info.preparation_seconds += entry.seconds; }
    return info;
}

void set_plan_cache_limit(std::size_t bytes) {
    cache().limit = bytes;
    cache().shrink();
}

}  // namespace tapline::python
