// Parts of a problem cover it, ask for what the boundary rules say, and give the bits of one plan, however it is cut.
#include "tapline/shard.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "core/problem/window.hpp"
#include "support/draw.hpp"
#include "support/errors.hpp"
#include "support/sanitized.hpp"
#include "tapline/info.hpp"

namespace tapline {
namespace {

using test::between;
using test::chance;
using test::expect_error;
using test::Random;
using Bytes = std::vector<std::byte>;
using Index = std::vector<std::int64_t>;

Index draw_cuts(Random& random, std::int64_t n, std::int64_t most) {
    std::map<std::int64_t, bool> cuts;
    for (std::int64_t i = 0; n > 1 && i < between(0, most, random); ++i) { cuts[between(1, n - 1, random)] = true; }
    Index all;
    for (const auto& [cut, unused] : cuts) { all.push_back(cut); }
    return all;
}

FilteredAxis draw_axis(Random& random, std::int64_t most_samples, std::int64_t most_taps) {
    FilteredAxis axis{.length = between(1, most_samples, random), .taps = between(1, most_taps, random)};
    axis.mode = static_cast<Mode>(between(0, 4, random));
    axis.boundary = static_cast<Boundary>(between(0, 5, random));
    if (axis.mode == Mode::valid) { axis.taps = std::min(axis.taps, axis.length); }
    if (chance(0.3, random)) { axis.origin = between(-axis.taps - 3, 2 * axis.taps + 3, random); }
    return axis;
}

core::Axis resolved_axis(const Problem& problem, std::size_t index) {
    std::vector<core::Axis> axes;
    core::resolve(problem).for_each_axis([&](const core::Axis& axis) { axes.push_back(axis); });
    return axes[index];
}

// Every position of the window is named once, by the part that has its sample.
void check_sources(const Part& part, const std::vector<Part>& all, const core::Axis& axis) {
    std::int64_t at = part.window.first;
    for (const Source& source : part.sources) {
        ASSERT_EQ(source.position, at);
        ASSERT_GT(source.count, 0);
        const Span& owned = all[static_cast<std::size_t>(source.part)].samples;
        ASSERT_GE(source.samples.first, owned.first);
        ASSERT_LE(source.samples.last, owned.last);
        ASSERT_EQ(source.samples.size(), source.step == 0 ? 1 : source.count);
        for (std::int64_t i = 0; i < source.count; ++i) {
            const std::int64_t sample = source.step < 0 ? source.samples.last - 1 - i : source.samples.first + source.step * i;
            ASSERT_EQ(sample, core::boundary_index(axis.boundary, at + i, axis.n)) << at + i;
        }
        at += source.count;
    }
    ASSERT_EQ(at, part.window.last);
}

TEST(Shard, PartsCoverTheOutputsAndNameWhoHasTheirSamples) {
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        Random random(seed);
        SCOPED_TRACE("seed " + std::to_string(seed));
        Problem problem;
        problem.axes = {draw_axis(random, 60, 150)};
        const core::Axis axis = resolved_axis(problem, 0);
        const Blocks blocks{between(1, 40, random), between(0, 9, random)};
        const std::vector<Part> parts = shard(problem, 0, draw_cuts(random, axis.n, 7), blocks);
        std::int64_t samples = 0, outputs = 0;
        for (const Part& part : parts) {
            ASSERT_EQ(part.samples.first, samples);
            ASSERT_EQ(part.outputs.first, outputs);
            samples = part.samples.last;
            outputs = part.outputs.last;
            if (part.outputs.empty()) {
                ASSERT_TRUE(part.sources.empty());
                continue;
            }
            ASSERT_LE(part.computed.first, part.outputs.first);
            ASSERT_GE(part.computed.last, part.outputs.last);
            ASSERT_EQ(part.computed.first % blocks.outputs, 0);
            ASSERT_TRUE(part.inner.empty() || (part.inner.first >= part.computed.first && part.inner.last <= part.computed.last));
            ASSERT_NO_FATAL_FAILURE(check_sources(part, parts, axis));
            // Without blocks no more than the window of the outputs is asked for.
            if (blocks.outputs == 1 && blocks.lookahead == 0) { ASSERT_LE(part.window.size(), part.outputs.size() + axis.k - 1); }
        }
        ASSERT_EQ(samples, axis.n);
        ASSERT_EQ(outputs, axis.outputs);
    }
}

TEST(Shard, HalosAreKMinusOneSamplesOfTheNeighbours) {
    const Problem problem{.length = 100, .taps = 9, .mode = Mode::same, .boundary = Boundary::wrap};
    const std::vector<Part> parts = shard(problem, 0, Index{40, 60});
    EXPECT_EQ(parts[1].window, (Span{36, 64}));
    ASSERT_EQ(parts[1].sources.size(), 3U);
    EXPECT_EQ(parts[1].sources[0], (Source{.part = 0, .samples = {36, 40}, .position = 36, .count = 4, .step = 1}));
    EXPECT_EQ(parts[1].halo_samples(1), 8);
    EXPECT_EQ(parts[1].inner, (Span{44, 56}));
    // A ring: the first part's left neighbour is the last.
    EXPECT_EQ(parts[0].sources[0], (Source{.part = 2, .samples = {96, 100}, .position = -4, .count = 4, .step = 1}));
    // Longer than a neighbour: over as many as it reaches.
    const Problem reaching{.length = 100, .taps = 60, .mode = Mode::causal};
    EXPECT_EQ(shard(reaching, 0, Index{40, 60, 70})[3].sources.front().part, 0);
    // The ends of a reflected signal come from itself.
    const Problem mirrored{.length = 10, .taps = 5, .mode = Mode::same, .boundary = Boundary::mirror};
    EXPECT_EQ(shard(mirrored, 0, {})[0].halo_samples(0), 0);
}

TEST(Shard, AnAxisOfTheBatchHasNoHalo) {
    const std::vector<Part> parts = shard_batch(10, Index{3, 4});
    ASSERT_EQ(parts.size(), 3U);
    EXPECT_EQ(parts[1].outputs, (Span{3, 4}));
    EXPECT_EQ(parts[2].inner, (Span{4, 10}));
    EXPECT_EQ(parts[2].halo_samples(2), 0);
}

TEST(Shard, RefusesWhatIsNoCut) {
    const Problem problem{.length = 10, .taps = 3};
    for (const Index& cuts : {Index{0}, Index{10}, Index{5, 5}, Index{6, 5}, Index{-1}}) {
        expect_error(ErrorCode::argument, "cuts", [&] { (void)shard(problem, 0, cuts); });
    }
    expect_error(ErrorCode::argument, "axis", [&] { (void)shard(problem, 1, {}); });
    expect_error(ErrorCode::argument, "output_cuts", [&] { (void)shard(problem, 0, Index{5}, Index{13}); });
    expect_error(ErrorCode::argument, "blocks", [&] { (void)shard(problem, 0, Index{5}, Blocks{0, 0}); });
    expect_error(ErrorCode::unsupported, "down", [&] { (void)shard(Problem{.length = 10, .taps = 3, .down = 2}, 0, Index{5}); });
    expect_error(ErrorCode::argument, "length", [&] { (void)shard_batch(0, {}); });
}

TEST(Shard, FingerprintsTellProblemsApart) {
    const std::vector<float> taps{1, 2, 3}, others{1, 2, 4};
    const Problem problem{.length = 10, .taps = 3};
    const std::uint64_t own = fingerprint(problem, taps.data());
    EXPECT_EQ(own, fingerprint(problem, taps.data(), {.threads = 7}));
    EXPECT_NE(own, fingerprint(problem, others.data()));
    EXPECT_NE(own, fingerprint(Problem{.length = 11, .taps = 3}, taps.data()));
    EXPECT_NE(own, fingerprint(Problem{.length = 10, .taps = 3, .boundary = Boundary::wrap}, taps.data()));
    EXPECT_NE(own, fingerprint(problem, taps.data(), {.accuracy = Accuracy::strict}));
}

// ---- Bits ----

// An array (before, filtered axes, after), packed: rows that lie apart and rows that interleave.
struct Sizes {
    Index sizes;
    [[nodiscard]] std::int64_t count() const {
        return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
    }
    [[nodiscard]] std::int64_t stride(std::size_t axis) const {
        return std::accumulate(sizes.begin() + static_cast<std::ptrdiff_t>(axis) + 1, sizes.end(), std::int64_t{1},
                               std::multiplies<>());
    }
};

// Calls body(flat index in a, flat index in b) for the elements of `b`, whose element i along an axis is from[axis][i] of `a`.
template <class Body>
void for_each_element(const Sizes& a, const Sizes& b, const std::vector<Index>& from, const Body& body) {
    for (std::int64_t i = 0; i < b.count(); ++i) {
        std::int64_t rest = i, other = 0;
        for (std::size_t axis = 0; axis < b.sizes.size(); ++axis) {
            other += from[axis][static_cast<std::size_t>(rest / b.stride(axis))] * a.stride(axis);
            rest %= b.stride(axis);
        }
        body(other, i);
    }
}

Index range(const Span& span) {
    Index all(static_cast<std::size_t>(span.size()));
    std::iota(all.begin(), all.end(), span.first);
    return all;
}

struct Whole {
    Problem problem;
    std::size_t rank;
    Sizes in, out;
    Bytes signal, taps;
};

// Taps last in `axes`; the batch is what lies before and after them.
Whole draw_whole(Random& random, std::size_t rank, std::int64_t most_samples, std::int64_t most_taps) {
    Whole w{.problem = {}, .rank = rank, .in = {}, .out = {}, .signal = {}, .taps = {}};
    Problem& p = w.problem;
    const std::int64_t before = chance(0.5, random) ? 1 : between(1, 5, random);
    const std::int64_t after = chance(0.5, random) ? 1 : between(1, rank == 2 ? 3 : 40, random);
    for (std::size_t i = 0; i < rank; ++i) { p.axes.push_back(draw_axis(random, most_samples, most_taps)); }
    constexpr Dtype kTypes[] = {Dtype::f32, Dtype::f64, Dtype::complex64, Dtype::u16, Dtype::i32};
    p.dtype = kTypes[between(0, 4, random)];
    if (is_integer(p.dtype)) {
        if (rank == 2 || chance(0.5, random)) { p.real_taps = Dtype::f32; }
        p.overflow = Overflow::wrap;
        if (rank == 2) { p.dtype = Dtype::u16; }
    }
    p.complex_taps = is_complex(p.dtype) && chance(0.3, random);
    p.operation = static_cast<Operation>(between(0, 1, random));
    p.constant = 3;
    const UpTo<std::int64_t, 3> lengths = output_shape(p);
    w.in.sizes = {before};
    w.out.sizes = {before};
    for (std::size_t i = 0; i < rank; ++i) {
        w.in.sizes.push_back(p.axes[i].length);
        w.out.sizes.push_back(lengths[i]);
    }
    w.in.sizes.push_back(after);
    w.out.sizes.push_back(after);
    for (std::size_t i = 0; i < rank; ++i) {
        p.axes[i].input_stride = w.in.stride(i + 1);
        p.axes[i].output_stride = w.out.stride(i + 1);
    }
    p.batch_axes = {{.length = before, .input_stride = w.in.stride(0), .output_stride = w.out.stride(0)},
                    {.length = after, .input_stride = 1, .output_stride = 1}};
    w.signal.resize(static_cast<std::size_t>(w.in.count()) * size_of(p.dtype));
    test::fill_random(w.signal.data(), p.dtype, w.in.count(), random);
    if (chance(0.2, random)) { test::spoil(w.signal.data(), p.dtype, w.in.count(), random); }
    w.taps.resize(static_cast<std::size_t>(taps_extent(p)) * size_of(taps_dtype(p)));
    test::fill_random(w.taps.data(), taps_dtype(p), taps_extent(p), random);
    if (rank == 2 && !p.complex_taps && chance(0.4, random)) { test::make_separable(w.taps.data(), p, 1, random); }
    return w;
}

template <class T>
bool is_nan(const std::byte* data) {
    T value;
    std::memcpy(&value, data, sizeof(T));
    return std::isnan(value);
}

// The same bits; a NaN's sign and payload are nobody's promise.
bool same_bits(const Bytes& a, const Bytes& b, Dtype dtype) {
    if (a == b) { return true; }
    const std::size_t size = size_of(real_part_of(dtype));
    for (std::size_t i = 0; i < a.size(); i += size) {
        if (std::memcmp(&a[i], &b[i], size) == 0) { continue; }
        const bool nan = !is_integer(dtype) && (size == 4 ? is_nan<float>(&a[i]) && is_nan<float>(&b[i])
                                                          : is_nan<double>(&a[i]) && is_nan<double>(&b[i]));
        if (!nan) { return false; }
    }
    return true;
}

std::string text_of(const Whole& w, const Plan& plan) {
    return plan.explain() + " (" + std::to_string(w.in.sizes.back()) + " after)";
}

// Computes the outputs of one combination of parts into `out`, from nothing but the samples that the parts name.
void run_part(const Whole& w, const ShardedPlan& plan, const std::vector<const Part*>& chosen, Random& random, Bytes& out) {
    const std::size_t last = w.rank + 1;
    PartShape shape;
    Sizes in{w.in.sizes}, made{w.out.sizes};
    std::vector<Index> read(last + 1), write(last + 1);
    for (std::size_t axis = 0; axis <= last; ++axis) {
        const Part& part = *chosen[axis];
        if (part.outputs.empty()) { return; }
        in.sizes[axis] = part.window.size();
        made.sizes[axis] = part.computed.size();
        for (const Source& source : part.sources) {
            for (std::int64_t i = 0; i < source.count; ++i) {
                read[axis].push_back(source.step < 0 ? source.samples.last - 1 - i : source.samples.first + source.step * i);
            }
        }
        write[axis] = range(part.computed);
    }
    for (std::size_t i = 1; i < last; ++i) {
        shape.axes.push_back({.samples = chosen[i]->window,
                              .outputs = chosen[i]->computed,
                              .input_stride = in.stride(i),
                              .output_stride = made.stride(i)});
    }
    shape.batch_axes = {{.length = in.sizes[0], .input_stride = in.stride(0), .output_stride = made.stride(0)},
                        {.length = in.sizes[last], .input_stride = 1, .output_stride = 1}};
    const std::size_t in_size = size_of(w.problem.dtype), out_size = size_of(output_dtype(w.problem));
    test::GuardedBuffer input(static_cast<std::size_t>(in.count()) * in_size);
    test::GuardedBuffer output(static_cast<std::size_t>(made.count()) * out_size,
                               out_size * static_cast<std::size_t>(between(0, 3, random)));
    for_each_element(w.in, in, read, [&](std::int64_t from, std::int64_t to) {
        std::memcpy(input.data() + static_cast<std::size_t>(to) * in_size,
                    w.signal.data() + static_cast<std::size_t>(from) * in_size, in_size);
    });
    plan.part(shape).execute(output.data(), input.data());
    EXPECT_TRUE(output.guards_intact());
    for_each_element(w.out, made, write, [&](std::int64_t to, std::int64_t from) {
        std::int64_t rest = from;
        for (std::size_t axis = 0; axis <= last; ++axis) {  // the part's own outputs, not all of its blocks
            const std::int64_t at = write[axis][static_cast<std::size_t>(rest / made.stride(axis))];
            if (at < chosen[axis]->outputs.first || at >= chosen[axis]->outputs.last) { return; }
            rest %= made.stride(axis);
        }
        std::memcpy(out.data() + static_cast<std::size_t>(to) * out_size, output.data() + static_cast<std::size_t>(from) * out_size,
                    out_size);
    });
}

void check_bits(const Whole& w, const std::string& algorithm, Random& random) {
    PlanOptions options{.device = "cpu", .algorithm = algorithm, .threads = static_cast<int>(between(1, 2, random))};
    const ShardedPlan plan(w.problem, w.taps.data(), options);
    options.rows_alone = true;
    const Plan one = make_plan(w.problem, w.taps.data(), options);
    ASSERT_EQ(one.algorithm(), plan.whole().algorithm());
    Bytes expected(static_cast<std::size_t>(w.out.count()) * size_of(output_dtype(w.problem)), std::byte{0xff});
    one.execute(static_cast<void*>(expected.data()), w.signal.data());
    Bytes parts(expected.size(), std::byte{0xff});
    const bool cut_channels = w.rank == 1;
    std::vector<std::vector<Part>> axes{shard_batch(w.in.sizes.front(), draw_cuts(random, w.in.sizes.front(), 3))};
    for (std::size_t i = 0; i < w.rank; ++i) {
        axes.push_back(plan.shard(i, draw_cuts(random, w.in.sizes[i + 1], w.rank == 1 ? 6 : 3)));
    }
    axes.push_back(shard_batch(w.in.sizes.back(), cut_channels ? draw_cuts(random, w.in.sizes.back(), 3) : Index{}));
    std::vector<std::size_t> at(axes.size(), 0);
    for (bool more = true; more;) {
        std::vector<const Part*> chosen;
        for (std::size_t axis = 0; axis < axes.size(); ++axis) { chosen.push_back(&axes[axis][at[axis]]); }
        run_part(w, plan, chosen, random, parts);
        more = false;
        for (std::size_t axis = axes.size(); axis-- > 0 && !more;) {
            more = ++at[axis] < axes[axis].size();
            if (!more) { at[axis] = 0; }
        }
    }
    ASSERT_TRUE(same_bits(parts, expected, output_dtype(w.problem))) << text_of(w, one);
}

void check_cases(std::uint64_t first, int count, std::size_t rank, std::int64_t most_samples, std::int64_t most_taps) {
    const int cases = test::kSanitized ? count / 4 : count;
    for (int i = 0; i < cases; ++i) {
        const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
        Random random(seed);
        SCOPED_TRACE("seed " + std::to_string(seed));
        const Whole w = draw_whole(random, rank, most_samples, most_taps);
        for (const AlgorithmInfo& info : algorithms(w.problem, "cpu", Accuracy::standard, 1, w.taps.data())) {
            if (!info.supported || info.predicted_seconds > 0.05) { continue; }
            SCOPED_TRACE(info.name);
            ASSERT_NO_FATAL_FAILURE(check_bits(w, info.name, random));
        }
    }
}

TEST(ShardedPlan, PartsOfSignalsGiveTheBitsOfTheWhole) { check_cases(0, 300, 1, 300, 60); }
TEST(ShardedPlan, PartsOfSignalsUnderLongFiltersGiveTheBitsOfTheWhole) { check_cases(10000, 20, 1, 9000, 2000); }
TEST(ShardedPlan, PartsOfImagesGiveTheBitsOfTheWhole) { check_cases(20000, 150, 2, 60, 12); }
TEST(ShardedPlan, PartsOfLargerImagesGiveTheBitsOfTheWhole) { check_cases(30000, 8, 2, 400, 60); }

// Rows side by side that are summed in panels, with samples at positions before the signal's first.
TEST(ShardedPlan, PanelsOfRowsReadSamplesOutsideTheSignal) {
    for (const std::int64_t rows : {16, 28, 33}) {
        Random random(9);
        Problem problem{.mode = Mode::full, .boundary = Boundary::reflect};
        problem.axes = {{.length = 64, .taps = 45, .input_stride = rows, .output_stride = rows}};
        problem.batch_axes = {{.length = rows, .input_stride = 1, .output_stride = 1}};
        const auto outputs = static_cast<std::size_t>(rows * 108);
        std::vector<float> signal(static_cast<std::size_t>(rows * 64)), taps(45), whole(outputs), part, out;
        test::fill_random(signal.data(), Dtype::f32, rows * 64, random);
        test::fill_random(taps.data(), Dtype::f32, 45, random);
        const ShardedPlan plan(problem, taps.data(), {.algorithm = "direct"});
        plan.whole().execute(static_cast<void*>(whole.data()), signal.data());
        for (std::int64_t at = -44; at < 2; ++at) {
            const auto row = signal.begin() + (at < 0 ? -at - 1 : at) * rows;
            part.insert(part.end(), row, row + rows);
        }
        out.resize(static_cast<std::size_t>(2 * rows));
        plan.part({.axes = {{.samples = {-44, 2}, .outputs = {0, 2}, .input_stride = rows, .output_stride = rows}},
                   .batch_axes = problem.batch_axes})
            .execute(out.data(), part.data());
        EXPECT_EQ(std::memcmp(out.data(), whole.data(), out.size() * sizeof(float)), 0) << rows;
    }
}

TEST(ShardedPlan, InnerOutputsNeedNoHalo) {
    Random random(5);
    const Problem problem{.length = 20000, .taps = 700, .mode = Mode::same, .boundary = Boundary::reflect};
    std::vector<float> signal(20000), taps(700), whole(20000);
    test::fill_random(signal.data(), Dtype::f32, 20000, random);
    test::fill_random(taps.data(), Dtype::f32, 700, random);
    const ShardedPlan plan(problem, taps.data(), {.algorithm = "overlap_save"});
    plan.whole().execute(static_cast<void*>(whole.data()), signal.data());
    const Part part = plan.shard(0, Index{4000, 16000})[1];
    ASSERT_FALSE(part.inner.empty());
    std::vector<float> inner(static_cast<std::size_t>(part.inner.size()));
    plan.part({.axes = {{.samples = part.samples, .outputs = part.inner}}, .batch_axes = {}})
        .execute(inner.data(), signal.data() + part.samples.first);
    EXPECT_EQ(std::memcmp(inner.data(), whole.data() + part.inner.first, inner.size() * sizeof(float)), 0);
}

// Mailboxes between threads.
class Mail {
public:
    void send(std::int64_t from, std::int64_t to, const void* data, std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        const auto* first = static_cast<const std::byte*>(data);
        boxes_[{from, to}].emplace_back(first, first + bytes);
        arrived_.notify_all();
    }
    void receive(std::int64_t from, std::int64_t to, void* data, std::size_t bytes) {
        std::unique_lock lock(mutex_);
        auto& box = boxes_[{from, to}];
        arrived_.wait(lock, [&] { return !box.empty(); });
        if (box.front().size() != bytes) { throw std::runtime_error("another size than was sent"); }
        std::memcpy(data, box.front().data(), bytes);
        received_ += bytes;
        box.pop_front();
    }
    [[nodiscard]] std::size_t received() const { return received_; }

private:
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::map<std::pair<std::int64_t, std::int64_t>, std::deque<Bytes>> boxes_;
    std::size_t received_ = 0;
};

void check_exchange(std::uint64_t seed) {
    Random random(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    Problem problem{.length = between(1, 3000, random), .taps = between(1, chance(0.5, random) ? 40 : 2000, random)};
    problem.batch = between(1, 3, random);
    problem.mode = static_cast<Mode>(between(0, 4, random));
    problem.boundary = static_cast<Boundary>(between(0, 5, random));
    if (problem.mode == Mode::valid) { problem.taps = std::min(problem.taps, problem.length); }
    const auto rows = static_cast<std::size_t>(problem.batch), n = static_cast<std::size_t>(problem.length);
    std::vector<float> signal(rows * n), taps(static_cast<std::size_t>(problem.taps));
    test::fill_random(signal.data(), Dtype::f32, problem.batch * problem.length, random);
    test::fill_random(taps.data(), Dtype::f32, problem.taps, random);
    const ShardedPlan plan(problem, taps.data(), {.threads = 1});
    const std::vector<Part> parts = plan.shard(0, draw_cuts(random, problem.length, 4));
    const auto outputs = static_cast<std::size_t>(plan.whole().output_length());
    std::vector<float> whole(rows * outputs);
    plan.whole().execute(static_cast<void*>(whole.data()), signal.data());
    Mail mail;
    std::vector<std::vector<float>> results(parts.size());
    std::vector<std::thread> parties;
    std::size_t halos = 0;
    for (std::size_t own = 0; own < parts.size(); ++own) {
        const auto party = static_cast<std::int64_t>(own);
        halos += rows * sizeof(float) * static_cast<std::size_t>(parts[own].halo_samples(party));
        results[own].resize(rows * static_cast<std::size_t>(parts[own].outputs.size()));
        parties.emplace_back([&, own, party] {
            std::vector<float> samples;
            for (std::size_t row = 0; row < rows; ++row) {
                const auto first = signal.begin() + static_cast<std::ptrdiff_t>(row * n);
                samples.insert(samples.end(), first + parts[own].samples.first, first + parts[own].samples.last);
            }
            execute_part(
                results[own].data(), samples.data(), plan, parts, party,
                {.send = [&](std::int64_t to, const void* data, std::size_t bytes) { mail.send(party, to, data, bytes); },
                 .receive = [&](std::int64_t from, void* data, std::size_t bytes) { mail.receive(from, party, data, bytes); }});
        });
    }
    for (std::thread& party : parties) { party.join(); }
    ASSERT_EQ(mail.received(), halos);
    for (std::size_t own = 0; own < parts.size(); ++own) {
        const auto size = static_cast<std::size_t>(parts[own].outputs.size());
        for (std::size_t row = 0; row < rows && size > 0; ++row) {
            const float* expected = whole.data() + row * outputs + parts[own].outputs.first;
            ASSERT_EQ(std::memcmp(results[own].data() + row * size, expected, size * sizeof(float)), 0) << "part " << own;
        }
    }
}

TEST(ShardedPlan, PartiesThatExchangeHalosGetTheBitsOfOne) {
    for (std::uint64_t seed = 0; seed < 100 && !HasFailure(); ++seed) { check_exchange(seed); }
}

TEST(ShardedPlan, RefusesPartsThatAreNone) {
    const std::vector<float> taps(600, 1.0F);
    const Problem problem{.length = 20000, .taps = 600, .batch = 3, .mode = Mode::same};
    const ShardedPlan plan(problem, taps.data(), {.algorithm = "overlap_save"});
    const std::int64_t block = plan.blocks(0).outputs;
    ASSERT_GT(block, 1);
    const auto part = [&](Span samples, Span outputs, std::int64_t rows) {
        (void)plan.part({.axes = {{.samples = samples, .outputs = outputs}}, .batch_axes = {{.length = rows}}});
    };
    expect_error(ErrorCode::argument, "blocks", [&] { part({0, 20000}, {1, block}, 3); });
    expect_error(ErrorCode::argument, "positions", [&] { part({0, block}, {0, block}, 3); });
    expect_error(ErrorCode::argument, "batch axis", [&] { part({0, 20000}, {0, block}, 4); });
    expect_error(ErrorCode::argument, "axes", [&] { (void)plan.part({}); });
    expect_error(ErrorCode::argument, "axis", [&] { (void)plan.blocks(1); });
    expect_error(ErrorCode::unsupported, "device", [&] { (void)ShardedPlan(problem, taps.data(), {.device = "cuda:0"}); });
    const VolumeProblem volume{.depth = 3, .height = 3, .width = 3, .mask_depth = 1, .mask_height = 1, .mask_width = 1};
    expect_error(ErrorCode::unsupported, "axes", [&] { (void)ShardedPlan(volume, taps.data()); });
    expect_error(ErrorCode::argument, "taps", [&] { (void)ShardedPlan(problem, nullptr); });
}

}  // namespace
}  // namespace tapline
