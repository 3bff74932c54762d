// Convolution by fast Fourier transforms of overlapping blocks.
#include <functional>

#include "core/problem/arrange.hpp"
#include "cpu/algorithms.hpp"
#include "cpu/element_types.hpp"
#include "cpu/lines/line_tiles.hpp"
#include "cpu/lines/lined_algorithm.hpp"
#include "cpu/overlap_save/checked_overlap_save.hpp"
#include "cpu/overlap_save/column_transforms.hpp"
#include "cpu/overlap_save/local_sums.hpp"
#include "cpu/overlap_save/overlap_save_executable.hpp"
#include "cpu/overlap_save/split_overlap_save.hpp"

namespace tapline::cpu {
namespace {

// What looking for quiet passages adds.
constexpr double kWatchingFactor = 1.06;

template <class T>
class OverlapSave final : public OverlapSaveExecutable<T> {
public:
    OverlapSave(const core::Resolved& problem, const void* taps, const core::Request& request, const OverlapSaveShape& shape)
        : OverlapSaveExecutable<T>(problem, taps, request, shape), local_(problem_, taps, request, io_, fft_) {}

    [[nodiscard]] std::size_t workspace_bytes() const override {
        return transforms_bytes() + static_cast<std::size_t>(shape_.slots) * local_.workspace_bytes();
    }

    void execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace, void*) const override {
        const Call call = io_.call(output, input, threads_);
        T* const buffers = reinterpret_cast<T*>(workspace.data());
        T* const scratch = buffers + shape_.slots * fft_.extent();
        const auto task = [&](const Unit& unit, int slot) {
            const std::span<std::byte> sums = workspace.subspan(
                transforms_bytes() + static_cast<std::size_t>(slot) * local_.workspace_bytes(), local_.workspace_bytes());
            run(call, unit, buffers + slot * fft_.extent(), scratch + slot * fft_.tables().scratch_extent,
                this->transform_threads(), sums);
        };
        for_each_unit<T>(io_, call, shape_, std::cref(task));
    }

    [[nodiscard]] std::int64_t lookahead() const override { return fft_.size() - (shape_.block + problem_.x.k - 1); }

    [[nodiscard]] std::string describe() const override {
        return "FFT of " + std::to_string(fft_.size()) + " points, " + std::to_string(shape_.block) + " outputs each, " +
               to_string(target_);
    }

private:
    [[nodiscard]] std::size_t transforms_bytes() const { return (this->slots_bytes(fft_.extent()) + 63) / 64 * 64; }

    void run(const Call& call, const Unit& unit, T* data, T* scratch, int threads, std::span<std::byte> sums) const {
        const T* const spectrum = taps_.spectrum(fft_, 1, unit.row[0] % problem_.filters, 0);
        const bool plain = taps_.unscale_exponent == 0;
        FftSource<T> source = io_.direct_source(call, unit);
        if (source.re == nullptr) {
            io_.load(call, unit, 0, data, threads);
            source = fft_.source(data);
        }
        if (local_.is_active() && !local_.is_even(call, unit, source)) { return local_.sum(call, unit, sums); }
        FftSink<T> sink = plain ? io_.direct_sink(call, unit) : FftSink<T>{};
        const bool direct = sink.re != nullptr;
        if (!direct) {
            const auto re = io_.wanted(call, unit, 0), im = io_.wanted(call, unit, 1);
            sink = fft_.sink(data, re.first + re.count, io_.parts(unit) == 2 ? im.first + im.count : 0);
        }
        const bool finite = fft_.convolve(data, spectrum, scratch, threads, source, sink);
        if (!finite || !taps_.special.empty() || !plain) {
            run_again(call, unit, data, spectrum, scratch, threads);
        } else if (!direct) {
            io_.store(call, unit, data, threads);
        }
    }

    void run_again(const Call& call, const Unit& unit, T* data, const T* spectrum, T* scratch, int threads) const {
        const int exponent = repair_.exponent(call, unit);
        io_.load(call, unit, 0, data, threads);
        repair_.clean(data, exponent);
        fft_.convolve(data, spectrum, scratch, threads, fft_.source(data), fft_.sink(data, fft_.size(), fft_.size()));
        repair_.finish(call, unit, data, exponent);
        io_.store(call, unit, data, threads);
    }

    using OverlapSaveExecutable<T>::problem_, OverlapSaveExecutable<T>::shape_, OverlapSaveExecutable<T>::target_,
        OverlapSaveExecutable<T>::threads_, OverlapSaveExecutable<T>::fft_, OverlapSaveExecutable<T>::taps_,
        OverlapSaveExecutable<T>::io_, OverlapSaveExecutable<T>::repair_;

    LocalSums<T> local_;
};

std::unique_ptr<core::Executable> prepare_whole(const core::Resolved& problem, const void* taps, const core::Request& request,
                                                const OverlapSaveShape& shape) {
    if (request.accuracy == Accuracy::strict) {
        const bool of_doubles = real_part_of(problem.dtype) == Dtype::f64;
        return of_doubles ? prepare_split(problem, taps, request, shape) : prepare_checked(problem, taps, request, shape);
    }
    return with_real_type(problem.dtype, [&]<class T>(T) -> std::unique_ptr<core::Executable> {
        return std::make_unique<OverlapSave<T>>(problem, taps, request, shape);
    });
}

/// The two differ in their shapes and in what executes them.
class FftAlgorithm final : public core::Algorithm {
public:
    using Shape = OverlapSaveShape (*)(const core::Resolved&, const core::Request&);
    using Prepare = std::unique_ptr<core::Executable> (*)(const core::Resolved&, const void*, const core::Request&,
                                                          const OverlapSaveShape&);
    using Supports = core::Support (*)(const core::Resolved&, const core::Request&);
    using KeepsLocal = bool (*)(const core::Resolved&, const core::Request&);
    FftAlgorithm(std::string_view name, std::string_view summary, Supports strict, Shape shape_of, Prepare prepare_of,
                 KeepsLocal keeps_of)
        : name_(name), summary_(summary), strict_(strict), shape_(shape_of), prepare_(prepare_of), keeps_local_(keeps_of) {}

    [[nodiscard]] std::string_view name() const override { return name_; }
    [[nodiscard]] std::string_view summary() const override { return summary_; }
    [[nodiscard]] bool is_local() const override { return false; }
    // Not for streams, whose outputs would come a block later than those of direct sums.
    [[nodiscard]] bool keeps_local(const core::Resolved& problem, const core::Request& request) const override {
        return problem.x.n != kUnknownLength && request.facts.finite && keeps_local_(problem, request);
    }
    [[nodiscard]] core::Support supports(const core::Resolved& problem, const core::Request& request) const override {
        if (core::Support elements = supports_elements(problem); !elements.ok) { return elements; }
        if (request.accuracy == Accuracy::strict) {
            if (core::Support checked = strict_(problem, request); !checked.ok) { return checked; }
        }
        if (shape_(problem, request).log2_size == 0) {
            return core::Support::no("the transforms of these filters would need too much memory");
        }
        return core::Support::yes();
    }
    [[nodiscard]] double estimate_seconds(const core::Resolved& problem, const core::Request& request) const override {
        const OverlapSaveShape shape = shape_(problem, request);
        if (request.accuracy == Accuracy::strict) { return checked_seconds_on(problem, shape, request.threads); }
        return seconds_on(shape, request.threads) * (keeps_local_(problem, request) ? kWatchingFactor : 1);
    }
    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const core::Resolved& problem, const void* taps,
                                                            const core::Request& request) const override {
        return prepare_(problem, taps, request, shape_(problem, request));
    }

private:
    std::string_view name_, summary_;
    Supports strict_;  ///< what keeps strict accuracy
    Shape shape_;
    Prepare prepare_;
    KeepsLocal keeps_local_;
};

// Two channels of a frame are what a transform reads anyway.
bool takes_pairs(const core::Resolved& p) {
    return p.batch.length == 2 && p.x.in_stride == 2 && p.x.out_stride == 2 && !is_complex(p.dtype) && p.trivial_epilogue;
}

OverlapSaveShape whole_shape(const core::Resolved& problem, const core::Request& request) {
    const bool checked = request.accuracy == Accuracy::strict;
    return checked ? checked_shape(problem, request.threads, request.rows_alone)
                   : overlap_save_shape(problem, request.threads, request.rows_alone);
}

OverlapSaveShape parts_shape(const core::Resolved& problem, const core::Request& request) {
    return partitioned_shape(problem, request.threads, request.rows_alone);
}

core::Support supports_no_strict(const core::Resolved& /*problem*/, const core::Request& /*request*/) {
    return core::Support::no("strict accuracy needs direct summation, or transforms of the whole filter");
}

}  // namespace

const core::Algorithm& overlap_save_algorithm() {
    static const FftAlgorithm kAlgorithm("overlap_save", "fast Fourier transforms of overlapping blocks", supports_checked,
                                         whole_shape, prepare_whole, keeps_errors_local);
    // One row of the layout, from and to where it lies.
    constexpr auto kPrepareColumns = [](const LineLayout& layout, const void* taps, const core::Request& request) {
        LineLayout one = layout;
        one.problem = core::without_outer(layout.problem);
        one.problem.batch.length = 1;
        one.gathers = one.scatters = true;
        core::Request serial = request;
        serial.threads = 1;
        const auto prepare = [&](const core::Resolved& lines, const core::Request& asked, std::int64_t /*filter*/) {
            return kAlgorithm.prepare(lines, taps, asked);
        };
        return prepare_column_transforms(layout, taps, request, prepare_tiles(one, serial, 1, false, prepare));
    };
    static const LinedAlgorithm kLined(
        kAlgorithm, takes_pairs, false,
        {.takes = takes_column_transforms, .seconds = seconds_of_column_transforms, .prepare = kPrepareColumns});
    return kLined;
}

const core::Algorithm& partitioned_algorithm() {
    static const FftAlgorithm kAlgorithm(
        "partitioned", "fast Fourier transforms of blocks and of parts of the filter, for filters too long for one transform",
        supports_no_strict, parts_shape, prepare_partitioned, [](const core::Resolved&, const core::Request&) { return false; });
    static const LinedAlgorithm kLined(kAlgorithm, takes_pairs, false);
    return kLined;
}

}  // namespace tapline::cpu
