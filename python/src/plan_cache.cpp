#include "plan_cache.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <list>

#include "numpy_api.hpp"

namespace tapline::python {
namespace {

constexpr std::size_t kMaxPlans = 32;
constexpr std::size_t kMaxTapsBytes = std::size_t{8} << 20;  // of all plans
constexpr std::size_t kMaxOwnTapsBytes = std::size_t{1} << 20;
// Preparing more than this many taps takes longer than handing over the GIL (0.1 us).
constexpr std::int64_t kLongFilter = 1024;

// Everything that a plan depends on but its taps, compared as bytes: the members leave no bytes between them.
struct Key {
    std::int64_t n, k, batch, in_row, in_sample, out_row, out_sample, taps_row, filter_count, has_origin, origin;
    std::int64_t filters, mode, boundary, operation, dtype, real_taps, complex_taps, out_dtype, overflow, has_clamp;
    std::int64_t accuracy, effort, threads;
    std::int64_t constant_real, constant_imag, scale, bias, low, high;  // the bits of doubles
    std::array<std::array<std::int64_t, 3>, 4> batch_axes;              // length, strides of input and output; filters are shared
    std::array<char, 16> device, algorithm;
};
static_assert(sizeof(Key) == 42 * 8 + 32);

bool set_name(std::array<char, 16>& to, const std::string& from) {
    if (from.size() >= to.size()) { return false; }
    std::copy(from.begin(), from.end(), to.begin());
    return true;
}

// A stride, or a number that is none.
std::int64_t known(const std::optional<std::int64_t>& stride) { return stride.value_or(std::numeric_limits<std::int64_t>::min()); }

// False: the call has names that no plan has, which make_plan() refuses.
bool fill(Key& key, const Problem& p, const PlanOptions& o) {
    std::memset(&key, 0, sizeof key);
    key.n = p.length;
    key.k = p.taps;
    key.batch = p.batch;
    key.in_row = known(p.input_row_stride);
    key.in_sample = known(p.input_sample_stride);
    key.out_row = known(p.output_row_stride);
    key.out_sample = known(p.output_sample_stride);
    key.taps_row = known(p.taps_row_stride);
    key.filter_count = p.filter_count;
    key.has_origin = p.origin.has_value() ? 1 : 0;
    key.origin = p.origin.value_or(0);
    key.filters = static_cast<std::int64_t>(p.filters);
    key.mode = static_cast<std::int64_t>(p.mode);
    key.boundary = static_cast<std::int64_t>(p.boundary);
    key.operation = static_cast<std::int64_t>(p.operation);
    key.dtype = static_cast<std::int64_t>(p.dtype);
    key.real_taps = static_cast<std::int64_t>(taps_dtype(p));
    key.complex_taps = p.complex_taps ? 1 : 0;
    key.out_dtype = static_cast<std::int64_t>(output_dtype(p));
    key.overflow = static_cast<std::int64_t>(p.overflow);
    key.has_clamp = p.clamp.has_value() ? 1 : 0;
    key.accuracy = static_cast<std::int64_t>(o.accuracy);
    key.effort = static_cast<std::int64_t>(o.effort);
    key.threads = o.threads;
    key.constant_real = std::bit_cast<std::int64_t>(p.constant.real());
    key.constant_imag = std::bit_cast<std::int64_t>(p.constant.imag());
    key.scale = std::bit_cast<std::int64_t>(p.scale);
    key.bias = std::bit_cast<std::int64_t>(p.bias);
    if (p.clamp) {
        key.low = std::bit_cast<std::int64_t>(p.clamp->low);
        key.high = std::bit_cast<std::int64_t>(p.clamp->high);
    }
    for (std::size_t i = 0; i < p.batch_axes.size(); ++i) {
        const BatchAxis& axis = p.batch_axes[i];
        key.batch_axes[i] = {axis.length, known(axis.input_stride), known(axis.output_stride)};
    }
    return set_name(key.device, o.device) && set_name(key.algorithm, o.algorithm);
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
    std::vector<std::byte> taps;
    Plan plan;
};

// Guarded by the GIL; most recent first. Never destroyed: the interpreter may end while threads still run.
std::list<Entry>& entries() {
    static auto* const list = new std::list<Entry>;
    return *list;
}

void add(Entry entry) {
    std::list<Entry>& list = entries();
    list.push_front(std::move(entry));
    std::size_t bytes = 0;
    std::size_t count = 0;
    for (auto it = list.begin(); it != list.end(); ++it) {
        bytes += it->taps.size();
        if (++count > kMaxPlans || bytes > kMaxTapsBytes) {
            list.erase(it, list.end());
            return;
        }
    }
}

Plan prepare(const Problem& problem, const void* taps, const PlanOptions& options) {
    const bool on_cpu = !options.device.starts_with("cuda");  // a GPU's plan allocates, copies and waits
    if (on_cpu && problem.taps < kLongFilter && options.effort == Effort::estimate) { return make_plan(problem, taps, options); }
    const WithoutGil without_gil;
    return make_plan(problem, taps, options);
}

}  // namespace

Plan cached_plan(const Problem& problem, const void* taps, const PlanOptions& options) {
    Key key;
    const std::int64_t own = problem.filter_count == 0 ? problem.batch : problem.filter_count;
    const std::int64_t rows = problem.filters == Filters::per_row ? own : 1;
    const auto bytes = static_cast<std::size_t>(rows * problem.taps) * size_of(taps_dtype(problem));
    const bool packed = rows == 1 || problem.taps_row_stride == problem.taps;
    if (!packed || bytes > kMaxOwnTapsBytes || !fill(key, problem, options)) { return prepare(problem, taps, options); }

    const std::uint64_t h = hash(hash(0, &key, sizeof key), taps, bytes);
    std::list<Entry>& list = entries();
    for (auto it = list.begin(); it != list.end(); ++it) {
        if (it->hash == h && it->taps.size() == bytes && std::memcmp(&it->key, &key, sizeof key) == 0 &&
            std::memcmp(it->taps.data(), taps, bytes) == 0) {
            if (it != list.begin()) { list.splice(list.begin(), list, it); }
            return it->plan;
        }
    }
    // Copied before: while the GIL is released, another thread may change the array, and what is kept must be what was prepared.
    const auto* from = static_cast<const std::byte*>(taps);
    std::vector<std::byte> own_taps(from, from + bytes);
    Plan plan = prepare(problem, own_taps.data(), options);
    if (plan.device() == "cpu" || options.device.starts_with("cuda")) {  // "auto" may choose otherwise next time
        add({hash(hash(0, &key, sizeof key), own_taps.data(), bytes), key, std::move(own_taps), plan});
    }
    return plan;
}

void clear_plan_cache() { entries().clear(); }

std::size_t plan_cache_size() { return entries().size(); }

}  // namespace tapline::python
