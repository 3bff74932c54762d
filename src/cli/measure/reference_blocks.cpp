#include "cli/measure/reference_blocks.hpp"

#include <atomic>
#include <cmath>
#include <cstdio>
#include <limits>

#include "cli/measure/random.hpp"
#include "core/problem/half.hpp"

namespace tapline::cli {
namespace {

using Block = ReferenceBlocks::Block;
using Counts = std::array<std::int64_t, 3>;

Block block_at(const reference::Shape& shape, std::int64_t item, const Counts& first, const Counts& count) {
    Block block{.item = item, .first = first, .count = count, .offset = shape.items[static_cast<std::size_t>(item)].out, .span = 1};
    for (std::size_t a = 0; a < 3; ++a) {
        block.offset += first[a] * shape.axes[a].out_stride;
        block.span += (count[a] - 1) * shape.axes[a].out_stride;
    }
    return block;
}

constexpr double kWork = 1 << 26;         // multiply-adds of all blocks
constexpr double kMostOutputs = 1 << 22;  // whose sums are kept
constexpr std::int64_t kBlocksOfSignals = 8;

// The extent of a block, and how many there are; `allowed` outputs in all.
std::pair<Counts, std::int64_t> blocks_wanted(const reference::Shape& shape, double allowed) {
    const auto sized = [&](std::int64_t along_z_and_y, std::int64_t along_x) {
        return Counts{std::min(along_z_and_y, shape.axes[0].outputs), std::min(along_z_and_y, shape.axes[1].outputs),
                      std::min(along_x, shape.axes[2].outputs)};
    };
    if (shape.rank == 1) {
        const auto length = static_cast<std::int64_t>(allowed / static_cast<double>(kBlocksOfSignals));
        return {sized(1, std::max<std::int64_t>(16, length)), kBlocksOfSignals};
    }
    constexpr std::int64_t kSide = 8;
    constexpr double kLeast = 6, kMost = 64;
    const Counts count = sized(kSide, kSide);
    const auto outputs = static_cast<double>(count[0] * count[1] * count[2]);
    return {count, static_cast<std::int64_t>(std::clamp(allowed / outputs, kLeast, kMost))};
}

std::vector<Block> blocks_to_check(const reference::Shape& shape) {
    const auto items = static_cast<std::int64_t>(shape.items.size());
    const Counts outputs = {shape.axes[0].outputs, shape.axes[1].outputs, shape.axes[2].outputs};
    const double allowed = std::min(kWork / static_cast<double>(shape.taps()), kMostOutputs);
    std::vector<Block> blocks;
    if (static_cast<double>(shape.outputs()) * static_cast<double>(items) <= allowed) {
        for (std::int64_t item = 0; item < items; ++item) { blocks.push_back(block_at(shape, item, {0, 0, 0}, outputs)); }
        return blocks;
    }
    const auto [count, number] = blocks_wanted(shape, allowed);
    const Counts last = {outputs[0] - count[0], outputs[1] - count[1], outputs[2] - count[2]};
    blocks.push_back(block_at(shape, 0, {0, 0, 0}, count));
    blocks.push_back(block_at(shape, items - 1, last, count));
    blocks.push_back(block_at(shape, items / 2, {last[0] / 2, last[1] / 2, last[2] / 2}, count));
    if (shape.rank > 1) {
        blocks.push_back(block_at(shape, 0, {last[0], 0, last[2]}, count));
        blocks.push_back(block_at(shape, items - 1, {0, last[1], 0}, count));
    }
    Random random(static_cast<std::uint64_t>(shape.outputs() + shape.taps() + items));
    while (static_cast<std::int64_t>(blocks.size()) < number) {
        const std::int64_t item = random.up_to(items - 1);
        blocks.push_back(block_at(shape, item, {random.up_to(last[0]), random.up_to(last[1]), random.up_to(last[2])}, count));
    }
    return blocks;
}

// Where in the signal the samples are that a block reads along one axis, in elements; negative: outside, a zero.
std::vector<std::int64_t> sources(const reference::Axis& axis, std::int64_t first, std::int64_t count) {
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < count + axis.k - 1; ++i) {
        const std::int64_t at = reference::sample_at(axis, first + i - axis.origin);
        places.push_back(at < 0 ? -1 : at * axis.in_stride);
    }
    return places;
}

// The block as a problem of its own: its window with the boundary rule applied, fully overlapping outputs only.
struct Window {
    Problem problem;
    Bytes signal;
};

Window window_of(const Problem& problem, const reference::Shape& shape, const CaseData& data, const Block& block) {
    Window window{.problem = {.mode = Mode::valid,
                              .operation = problem.operation,
                              .dtype = problem.dtype,
                              .complex_taps = problem.complex_taps,
                              .real_taps = problem.real_taps},
                  .signal = {}};
    std::array<std::vector<std::int64_t>, 3> from;
    for (std::size_t a = 0; a < 3; ++a) {
        from[a] = sources(shape.axes[a], block.first[a], block.count[a]);
        if (static_cast<int>(a) < 3 - shape.rank) { continue; }
        window.problem.axes.push_back({.length = static_cast<std::int64_t>(from[a].size()), .taps = shape.axes[a].k});
    }
    const std::size_t element = size_of(problem.dtype);
    window.signal = Bytes(from[0].size() * from[1].size() * from[2].size() * element);
    std::memset(window.signal.data(), 0, window.signal.size());
    const std::int64_t start = shape.items[static_cast<std::size_t>(block.item)].in;
    std::byte* to = window.signal.data();
    for (const std::int64_t z : from[0]) {
        for (const std::int64_t y : from[1]) {
            for (const std::int64_t x : from[2]) {
                if (z >= 0 && y >= 0 && x >= 0) {
                    std::memcpy(to, data.signal.data() + static_cast<std::size_t>(start + z + y + x) * element, element);
                }
                to += element;
            }
        }
    }
    return window;
}

// Elements as numbers; the 16-bit types as what their bits mean.
template <class T, Dtype kType>
struct Elements {
    static constexpr bool kIsIntegral = std::is_integral_v<T> && kType != Dtype::f16 && kType != Dtype::bf16;
    static constexpr long double kMost = std::numeric_limits<T>::max(), kLeast = std::numeric_limits<T>::lowest();
    const T* data;
    [[nodiscard]] auto at(std::int64_t i) const {
        if constexpr (kType == Dtype::f16) {
            return core::from_f16(data[i]);
        } else if constexpr (kType == Dtype::bf16) {
            return core::from_bf16(data[i]);
        } else {
            return data[i];
        }
    }
    [[nodiscard]] std::complex<long double> operator()(std::int64_t i) const {
        if constexpr (kIsComplex<T>) {
            return {data[i].real(), data[i].imag()};
        } else {
            return {static_cast<long double>(at(i)), 0};
        }
    }
    [[nodiscard]] bool is_nan(std::int64_t i) const { return at(i) != at(i); }
};

template <class Visitor>
void visit_elements(Dtype type, const std::byte* bytes, Visitor visitor) {
    const auto* const halves = reinterpret_cast<const std::uint16_t*>(bytes);
    if (type == Dtype::f16) { return visitor(Elements<std::uint16_t, Dtype::f16>{halves}); }
    if (type == Dtype::bf16) { return visitor(Elements<std::uint16_t, Dtype::bf16>{halves}); }
    visit_dtype(type, [&]<class T>(T) { visitor(Elements<T, dtype_of<T>>{reinterpret_cast<const T*>(bytes)}); });
}

// visit(i, place): the block's outputs in the order of their sums, and where each lies behind block.offset.
template <class Visit>
void for_each_output(const reference::Shape& shape, const Block& block, const Visit& visit) {
    std::size_t i = 0;
    for (std::int64_t z = 0; z < block.count[0]; ++z) {
        for (std::int64_t y = 0; y < block.count[1]; ++y) {
            std::int64_t place = z * shape.axes[0].out_stride + y * shape.axes[1].out_stride;
            for (std::int64_t x = 0; x < block.count[2]; ++x, ++i, place += shape.axes[2].out_stride) { visit(i, place); }
        }
    }
}

}  // namespace

std::string CheckResult::describe() const {
    char text[64];
    std::snprintf(text, sizeof(text), "error %.1e, allowed %.1e", std::abs(error), tolerance);
    return text + (unwritten > 0 ? ", " + std::to_string(unwritten) + " outputs unwritten" : std::string());
}

ReferenceBlocks::ReferenceBlocks(const Problem& problem, const CaseData& data)
    : problem_(problem), shape_(reference::shape_of(problem)), blocks_(blocks_to_check(shape_)) {
    exact_.resize(blocks_.size());
    core::parallel_for(static_cast<std::int64_t>(blocks_.size()), available_threads(), [&](std::int64_t b, int /*slot*/) {
        exact_[static_cast<std::size_t>(b)] = exact_of(blocks_[static_cast<std::size_t>(b)], data);
    });
}

ReferenceBlocks::Exact ReferenceBlocks::exact_of(const Block& block, const CaseData& data) const {
    const Window window = window_of(problem_, shape_, data, block);
    const std::byte* taps = data.taps.data() + static_cast<std::size_t>(shape_.items[static_cast<std::size_t>(block.item)].taps) *
                                                   size_of(taps_dtype(problem_));
    if (is_integer(problem_.dtype) && is_integer(taps_dtype(problem_))) {
        return {{}, {}, reference::integer_sums(window.problem, window.signal.data(), taps)};
    }
    auto sums = reference::sums(window.problem, window.signal.data(), taps);
    if (problem_.clamp) {
        for (auto& sum : sums.real) { sum = std::clamp<long double>(sum, problem_.clamp->low, problem_.clamp->high); }
    }
    return {std::move(sums.real), is_complex(problem_.dtype) ? std::move(sums.imag) : std::vector<long double>{}, {}};
}

// Rounding of k random terms grows like sqrt(k) eps; a single wrong tap costs 1 / sqrt(k), far above it. 16-bit types are summed
// in f32 and rounded once.
double ReferenceBlocks::tolerance(Accuracy accuracy) const {
    if (is_integer(problem_.dtype)) { return 0; }
    const Dtype real = real_part_of(problem_.dtype);
    const double eps = real == Dtype::f64 ? 0x1p-52 : 0x1p-23;
    const double stored = real == Dtype::f16 ? 0x1p-11 : real == Dtype::bf16 ? 0x1p-8 : 0;
    const double direct = stored + eps * (16 + std::sqrt(static_cast<double>(shape_.taps())));
    return accuracy == Accuracy::fast ? std::max(direct, 1e-3) : direct;
}

CheckResult ReferenceBlocks::compare(Accuracy accuracy, const std::function<const std::byte*(const Block&)>& outputs_of) const {
    long double errors = 0, squares = 0;
    double wrong = 0;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
        const Exact& exact = exact_[b];
        visit_elements(output_dtype(problem_), outputs_of(blocks_[b]), [&]<class E>(const E& element) {
            for_each_output(shape_, blocks_[b], [&](std::size_t i, std::int64_t place) {
                if constexpr (E::kIsIntegral) {
                    // A sum beside a tie may be rounded either way, by as much as f32 sums may be off.
                    const bool right = exact.integers.empty() ? std::abs(std::clamp(exact.real[i], E::kLeast, E::kMost) -
                                                                         element(place).real()) <= 0.5L + 1e-5L * E::kMost
                                                              : static_cast<__int128>(element.at(place)) == exact.integers[i];
                    wrong += right ? 0 : 1;
                } else {
                    const std::complex<long double> wanted(exact.real[i], exact.imag.empty() ? 0 : exact.imag[i]);
                    errors += std::norm(element(place) - wanted);
                    squares += std::norm(wanted);
                }
            });
        });
    }
    // Where a clamp leaves nothing but zeros there is nothing to divide by.
    const auto relative = static_cast<double>(std::sqrt(squares > 0 ? errors / squares : errors));
    return {.error = is_integer(problem_.dtype) ? wrong : relative, .tolerance = tolerance(accuracy), .unwritten = 0};
}

CheckResult ReferenceBlocks::compare(Accuracy accuracy, const std::byte* output) const {
    const Dtype type = output_dtype(problem_);
    CheckResult result =
        compare(accuracy, [&](const Block& block) { return output + static_cast<std::size_t>(block.offset) * size_of(type); });
    if (is_integer(type)) { return result; }
    std::atomic<std::int64_t> unwritten{0};
    visit_elements(type, output, [&](const auto& element) {
        in_pieces(output_extent(problem_), [&](std::int64_t first, std::int64_t last) {
            std::int64_t found = 0;
            for (std::int64_t i = first; i < last; ++i) { found += element.is_nan(i) ? 1 : 0; }
            unwritten += found;
        });
    });
    result.unwritten = unwritten;
    return result;
}

}  // namespace tapline::cli
