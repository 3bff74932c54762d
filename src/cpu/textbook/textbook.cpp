// The naive loop.
#include <algorithm>

#include "core/problem/epilogue.hpp"
#include "core/problem/int_range.hpp"
#include "cpu/algorithms.hpp"
#include "cpu/element_types.hpp"
#include "cpu/integer/integer_epilogue.hpp"

namespace tapline::cpu {
namespace {

using core::Axis;
using core::Input;
using core::Output;
using core::Piece;
using core::Resolved;

// Outputs of a line whose sums are stored together; bounds the scratch memory, nothing else.
constexpr std::int64_t kTile = 256;
// One scalar multiply-add in order takes the latency of an addition, 4 cycles at about 2.7 GHz.
constexpr double kSecondsPerProduct = 1.5e-9;
// More than of any other algorithm, so that none loses to this one in the shortest signals, in many of them, or with few threads:
// parts of an array, and the array with all threads, are then given the same sums. This one is up to 1.2 times as fast below 1 us.
constexpr double kSecondsPerCall = 0.5e-6;
constexpr double kSecondsPerRow = 0.1e-6, kSecondsPerImageRow = 0.25e-6;
// Exact sums are stored one by one.
constexpr double kSecondsPerExactOutput = 20e-9;

// ---- Products ----

// The four real products of a complex one; std::complex's operator* would repair infinities.
template <class Sum, class X, class H>
void add_product(Sum& sum, const X& x, const H& h) {
    if constexpr (std::is_same_v<Sum, core::Int192>) {
        sum.add(core::Int192(static_cast<core::Int128>(x) * h));
    } else if constexpr (std::is_floating_point_v<Sum>) {
        sum += static_cast<Sum>(x) * h;
    } else if constexpr (std::is_floating_point_v<H>) {
        sum = Sum(sum.real() + x.real() * h, sum.imag() + x.imag() * h);
    } else {
        sum =
            Sum(sum.real() + (x.real() * h.real() - x.imag() * h.imag()), sum.imag() + (x.real() * h.imag() + x.imag() * h.real()));
    }
}
// Two u64 factors fill all bits of their product.
void add_product(core::Int192& sum, std::uint64_t x, std::uint64_t h) { sum.add(static_cast<core::Uint128>(x) * h, 0); }

// Any byte but 0 is true.
template <class X>
X load(const X* at) {
    if constexpr (std::is_same_v<X, bool>) {
        return *reinterpret_cast<const unsigned char*>(at) != 0;
    } else {
        return *at;
    }
}

// ---- Positions ----

/// What a tap meets along one axis. A product is absent if it is so along any axis; else its sample is the boundary's constant if
/// it is so along any.
struct Met {
    enum class What { absent, constant, sample };
    What what = What::absent;
    std::int64_t offset = 0;       ///< of a sample: elements from its item's first one
    const Piece* piece = nullptr;  ///< along the cut axis: where it lies, and counted from there
};

/// Taps [first, last) that meet samples of one piece, `step` elements from one to the next.
struct Run {
    std::int64_t first = 0, last = 0;
    Met met;  ///< by tap `first`
    std::int64_t step = 0;
};

/// Finds samples along one axis, whose positions are those of the signal with up - 1 zeros behind each sample.
class Finder {
public:
    /// `pieces`: along the cut axis only.
    Finder(const Axis& axis, const Input* pieces) : axis_(axis), pieces_(pieces), n_(pieces != nullptr ? pieces->n : axis.n) {}

    /// Of output o and tap t.
    [[nodiscard]] Met meet(std::int64_t o, std::int64_t t) const {
        std::int64_t position = o * axis_.down + t * axis_.dilation - axis_.origin;
        if (axis_.up != 1) {
            if (position % axis_.up != 0) { return {}; }  // a zero between samples
            position /= axis_.up;
        }
        if (Met met = at(position); met.what == Met::What::sample) { return met; }
        const std::int64_t index = core::boundary_index(axis_.boundary, position, n_);
        if (index >= 0) { return at(index); }
        return {axis_.boundary == Boundary::constant ? Met::What::constant : Met::What::absent};
    }

    /// Of output o, in the main piece and without the boundary rule: most taps of most outputs.
    [[nodiscard]] Run run(std::int64_t o) const {
        if (axis_.up != 1) { return {}; }
        const std::int64_t begin = pieces_ != nullptr ? pieces_->main.first : 0, end = pieces_ != nullptr ? pieces_->main.last : n_;
        const std::int64_t position = o * axis_.down - axis_.origin, d = axis_.dilation;
        const auto steps_to = [&](std::int64_t to) {  // taps before the first that meets `to` or what lies behind it
            const std::int64_t distance = std::max<std::int64_t>(to - position, 0);
            return d == 1 ? distance : (distance + d - 1) / d;
        };
        const std::int64_t first = std::min(steps_to(begin), axis_.k), last = std::min(steps_to(end), axis_.k);
        if (first >= last) { return {}; }
        const std::int64_t stride = pieces_ != nullptr ? pieces_->main.stride : axis_.in_stride;
        return {first, last, at(position + first * d), d * stride};
    }

private:
    // Samples in neither piece are absent: only outputs that nobody asked for meet them.
    [[nodiscard]] Met at(std::int64_t index) const {
        if (pieces_ == nullptr) {
            if (index < 0 || index >= n_) { return {}; }
            return {Met::What::sample, index * axis_.in_stride, nullptr};
        }
        for (const Piece* piece : {&pieces_->main, &pieces_->extra}) {
            if (index < piece->first || index >= piece->last) { continue; }
            return {Met::What::sample, (index - piece->first) * piece->stride, piece};
        }
        return {};
    }

    const Axis& axis_;
    const Input* pieces_;
    std::int64_t n_;
};

/// Outputs along one axis that an execution wants.
struct Wanted {
    std::int64_t first, last, stride;
};

// ---- The sum ----

template <class X, class H, class Sum>
class Textbook final : public core::Executable {
public:
    Textbook(const Resolved& problem, const void* taps)
        : problem_(problem),
          taps_(static_cast<const H*>(taps), static_cast<const H*>(taps) + problem.filters * problem.taps()),
          constant_(core::element_of<X>(problem.constant)),
          epilogue_(problem) {}

    [[nodiscard]] std::size_t workspace_bytes() const override { return kTile * sizeof(Sum); }

    void execute(const Output& output, const Input& input, std::span<std::byte> workspace, void*) const override {
        const Lines lines{{problem_.z, pieces(3, input)}, {problem_.y, pieces(2, input)}, {problem_.x, pieces(1, input)}};
        const Wanted wanted_z = wanted(3, problem_.z, output), wanted_y = wanted(2, problem_.y, output);
        Sum* const sums = reinterpret_cast<Sum*>(workspace.data());
        OverflowLog log;
        for (std::int64_t item = 0; item < problem_.batch.length * problem_.channels.length; ++item) {
            for (std::int64_t z = wanted_z.first; z < wanted_z.last; ++z) {
                for (std::int64_t y = wanted_y.first; y < wanted_y.last; ++y) {
                    const std::int64_t offset = (z - wanted_z.first) * wanted_z.stride + (y - wanted_y.first) * wanted_y.stride;
                    line(output, offset, lines, {item, z, y}, sums, log);
                }
            }
        }
        log.check(problem_);
    }

    [[nodiscard]] std::string describe() const override { return "one output at a time"; }

private:
    struct Lines {
        Finder z, y, x;
    };
    /// A line of outputs; items are counted through the channels of each element of the batch.
    struct Place {
        std::int64_t item, z, y;
    };

    [[nodiscard]] const Input* pieces(int rank, const Input& input) const { return problem_.rank == rank ? &input : nullptr; }
    [[nodiscard]] Wanted wanted(int rank, const Axis& axis, const Output& output) const {
        if (problem_.rank == rank) { return {output.first, output.first + output.count, output.stride}; }
        return {0, axis.outputs, axis.out_stride};
    }

    // Outputs along x, the first of which lies `offset` elements behind its item's first one.
    void line(const Output& output, std::int64_t offset, const Lines& lines, const Place& place, Sum* sums,
              OverflowLog& log) const {
        const std::int64_t channel = place.item % problem_.channels.length, element = place.item / problem_.channels.length;
        const std::int64_t filter = problem_.rank == 1 ? element % problem_.filters : channel % problem_.filters;
        const H* const taps = taps_.data() + filter * problem_.taps();
        const Wanted x = wanted(1, problem_.x, output);
        const auto bytes = static_cast<std::int64_t>(size_of(problem_.output_dtype));
        Output to{.data = nullptr, .first = 0, .count = 0, .batch_stride = 0, .stride = x.stride};
        offset += element * output.batch_stride + channel * problem_.channels.out_stride;
        // Counted along all axes, for the overflow's message.
        const std::int64_t before = problem_.rank == 1 ? 0 : (place.z * problem_.y.outputs + place.y) * problem_.x.outputs;
        for (std::int64_t o = x.first; o < x.last; o += kTile) {
            const std::int64_t count = std::min(kTile, x.last - o);
            if (log.before(place.item, before + o)) { return; }
            sum(sums, lines, place, o, count, taps);
            to.data = static_cast<std::byte*>(output.data) + (offset + (o - x.first) * x.stride) * bytes;
            to.first = before + o;
            to.count = count;
            if constexpr (std::is_same_v<Sum, core::Int192>) {
                epilogue_.store(to, place.item, to.first, count, sums, log);
            } else {
                core::store(problem_, to, 0, to.first, count, sums);
            }
        }
    }

    /// A line of samples and the taps that meet it.
    struct Row {
        bool is_constant;
        const Piece* piece;  ///< null: x is the cut axis
        std::int64_t element, offset;
        const H* taps;
    };

    // Outputs [first, first + count) of a line.
    void sum(Sum* sums, const Lines& lines, const Place& place, std::int64_t first, std::int64_t count, const H* taps) const {
        std::fill(sums, sums + count, Sum{});
        const std::int64_t channels = problem_.channels.length;
        for (std::int64_t tz = 0; tz < problem_.z.k; ++tz) {
            const Met z = lines.z.meet(place.z, tz);
            if (z.what == Met::What::absent) { continue; }
            for (std::int64_t ty = 0; ty < problem_.y.k; ++ty) {
                const Met y = lines.y.meet(place.y, ty);
                if (y.what == Met::What::absent) { continue; }
                const Row row{.is_constant = z.what == Met::What::constant || y.what == Met::What::constant,
                              .piece = z.piece != nullptr ? z.piece : y.piece,
                              .element = place.item / channels,
                              .offset = place.item % channels * problem_.channels.in_stride + z.offset + y.offset,
                              .taps = taps + (tz * problem_.y.k + ty) * problem_.x.k};
                for (std::int64_t i = 0; i < count; ++i) { sums[i] = add_row(sums[i], lines.x, row, first + i); }
            }
        }
    }

    Sum add_row(Sum sum, const Finder& x, const Row& row, std::int64_t o) const {
        const Run run = row.is_constant ? Run{} : x.run(o);
        for (std::int64_t t = 0; t < run.first; ++t) { add(sum, x.meet(o, t), row, t); }
        if (run.first < run.last) {
            const X* at = address(row, run.met);
            for (std::int64_t t = run.first; t < run.last; ++t, at += run.step) { add_product(sum, load(at), row.taps[t]); }
        }
        for (std::int64_t t = run.last; t < problem_.x.k; ++t) { add(sum, x.meet(o, t), row, t); }
        return sum;
    }

    void add(Sum& sum, const Met& x, const Row& row, std::int64_t t) const {
        if (x.what == Met::What::absent) { return; }
        const bool is_constant = row.is_constant || x.what == Met::What::constant;
        add_product(sum, is_constant ? constant_ : load(address(row, x)), row.taps[t]);
    }

    const X* address(const Row& row, const Met& x) const {
        const Piece& piece = row.piece != nullptr ? *row.piece : *x.piece;
        return static_cast<const X*>(piece.data) + row.element * piece.batch_stride + row.offset + x.offset;
    }

    Resolved problem_;
    std::vector<H> taps_;
    X constant_;
    IntegerEpilogue epilogue_;
};

class TextbookAlgorithm final : public core::Algorithm {
public:
    [[nodiscard]] std::string_view name() const override { return "textbook"; }
    [[nodiscard]] std::string_view summary() const override {
        return "the naive loop, one thread: a baseline, and for what no other algorithm takes";
    }
    [[nodiscard]] bool takes_rank(int /*rank*/) const override { return true; }
    [[nodiscard]] bool changes_rate() const override { return true; }
    [[nodiscard]] core::Support supports(const Resolved& problem, const core::Request&) const override {
        return core::is_half(problem.dtype) ? core::Support::no("it takes no f16 and bf16") : core::Support::yes();
    }

    [[nodiscard]] double estimate_seconds(const Resolved& problem, const core::Request&) const override {
        const bool known = problem.x.n != kUnknownLength;
        const double items = static_cast<double>(problem.batch.length) * static_cast<double>(problem.channels.length);
        const double outputs = known ? static_cast<double>(problem.outputs()) : items;
        const double products = static_cast<double>(problem.taps()) * (is_complex(problem.dtype) ? 2 : 1);
        const double sums = outputs * (products * kSecondsPerProduct + (problem.is_exact() ? kSecondsPerExactOutput : 0));
        if (!known) { return sums; }
        const double rows = items * static_cast<double>(problem.y.outputs * problem.z.outputs);
        const double each = problem.is_exact() ? 0 : problem.rank == 1 ? kSecondsPerRow : kSecondsPerImageRow;
        return kSecondsPerCall + rows * each + sums;
    }

    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const Resolved& problem, const void* taps,
                                                            const core::Request&) const override {
        const auto make = [&]<class X, class H, class Sum>(X, H, Sum) -> std::unique_ptr<core::Executable> {
            return std::make_unique<Textbook<X, H, Sum>>(problem, taps);
        };
        if (!is_integer(problem.dtype)) {
            return with_element_types(problem, [&]<class X, class H>(X x, H h) { return make(x, h, x); });
        }
        return core::with_integer_type(problem.dtype, [&]<class X>(X x) {
            using Exact = std::conditional_t<std::is_same_v<X, std::uint64_t>, std::uint64_t, std::int64_t>;
            if (problem.is_exact()) { return make(x, Exact{}, core::Int192{}); }
            return with_real_type(problem.taps_dtype, [&]<class H>(H h) { return make(x, h, h); });
        });
    }
};

}  // namespace

const core::Algorithm& textbook_algorithm() { return core::only<TextbookAlgorithm>(); }

}  // namespace tapline::cpu
