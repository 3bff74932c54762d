#include "cpu/overlap_save/overlap_save.hpp"

#include <algorithm>
#include <functional>

#include "core/plan/parallel.hpp"
#include "cpu/element_types.hpp"
#include "cpu/overlap_save/overlap_save_blocks.hpp"
#include "cpu/overlap_save/overlap_save_partitioned.hpp"
#include "cpu/overlap_save/overlap_save_taps.hpp"
#include "cpu/overlap_save/repair.hpp"

namespace tapline::cpu {
namespace {

// Units of one task: enough that starting a task does not count (a microsecond against some 10 each), few enough that
// threads finish together.
constexpr std::int64_t kTasksPerThread = 16;

template <class T>
class OverlapSave final : public core::Executable {
public:
    OverlapSave(const core::Resolved& problem, const void* taps, const core::Request& request, const OverlapSaveShape& shape)
        : problem_(problem),
          shape_(shape),
          threads_(request.threads),
          target_(current_target()),
          fft_(target_, shape.log2_size),
          taps_(prepare_taps(problem_, shape, fft_, taps, request.threads)),
          io_(problem_, shape_, fft_),
          repair_(problem_, io_, fft_, taps_) {}

    [[nodiscard]] std::size_t workspace_bytes() const override {
        const std::int64_t scratch = fft_.tables().scratch_extent * std::max(shape_.slots, shape_.shared ? threads_ : 1);
        return static_cast<std::size_t>(shape_.slots * fft_.extent() + scratch) * sizeof(T);
    }

    void execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace, void*) const override {
        const Call call = io_.call(output, input);
        const Chains chains = io_.chains(call);
        T* const buffers = reinterpret_cast<T*>(workspace.data());
        T* const scratch = buffers + shape_.slots * fft_.extent();
        const std::int64_t longest = io_.chain_length(chains, 0);  // a last row's chain has half as many units
        const std::int64_t units = longest * chains.chains;
        const std::int64_t per_task = shape_.shared ? 1 : std::max<std::int64_t>(units / (threads_ * kTasksPerThread), 1);
        const auto task = [&](std::int64_t index, int slot) {
            T* const slot_scratch = scratch + slot * fft_.tables().scratch_extent;
            for (std::int64_t u = index * per_task; u < std::min((index + 1) * per_task, units); ++u) {
                const std::int64_t chain = u / longest;
                if (u % longest >= io_.chain_length(chains, chain)) { continue; }
                run(call, io_.unit(call, chains, chain, u % longest), buffers + slot * fft_.extent(), slot_scratch,
                    shape_.shared ? threads_ : 1);
            }
        };
        core::parallel_for((units + per_task - 1) / per_task, shape_.shared ? 1 : shape_.slots, std::cref(task));
    }

    [[nodiscard]] std::int64_t granularity() const override {
        const bool pairs =
            pairing_of(problem_) == Pairing::segments || (pairing_of(problem_) == Pairing::rows && problem_.batch.length % 2 == 1);
        return shape_.block * (pairs ? 2 : 1);
    }

    [[nodiscard]] std::int64_t lookahead() const override { return fft_.size() - (shape_.block + problem_.x.k - 1); }

    [[nodiscard]] std::string describe() const override {
        return "FFT of " + std::to_string(fft_.size()) + " points, " + std::to_string(shape_.block) + " outputs each, " +
               to_string(target_);
    }

private:
    void run(const Call& call, const Unit& unit, T* data, T* scratch, int threads) const {
        const T* const spectrum = taps_.spectrum(fft_, 1, unit.row[0] % problem_.filters, 0);
        const bool plain = taps_.unscale_exponent == 0;
        FftSource<T> source = io_.direct_source(call, unit);
        if (source.re == nullptr) {
            io_.load(call, unit, 0, data, threads);
            source = fft_.source(data);
        }
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

    core::Resolved problem_;
    OverlapSaveShape shape_;
    int threads_;
    Target target_;
    BlockFft<T> fft_;
    OverlapSaveTaps<T> taps_;
    SegmentIo<T> io_;
    Repair<T> repair_;
};

core::Support supports_fft(const core::Resolved& problem, const core::Request& request, const OverlapSaveShape& shape) {
    if (const core::Support elements = supports_elements(problem); !elements.ok) { return elements; }
    if (request.accuracy == Accuracy::strict) { return core::Support::no("strict accuracy needs direct summation"); }
    if (shape.log2_size == 0) { return core::Support::no("the transforms of these filters would need too much memory"); }
    return core::Support::yes();
}

bool is_floating(const core::Resolved& problem) {
    const Dtype real = real_part_of(problem.dtype);
    return real == Dtype::f32 || real == Dtype::f64;
}

class OverlapSaveAlgorithm final : public core::Algorithm {
public:
    [[nodiscard]] std::string_view name() const override { return "overlap_save"; }
    [[nodiscard]] bool is_local() const override { return false; }
    [[nodiscard]] std::string_view summary() const override { return "fast Fourier transforms of overlapping blocks"; }
    [[nodiscard]] core::Support supports(const core::Resolved& problem, const core::Request& request) const override {
        return supports_fft(problem, request,
                            is_floating(problem) ? overlap_save_shape(problem, request.threads) : OverlapSaveShape{});
    }
    [[nodiscard]] double estimate_seconds(const core::Resolved& problem, const core::Request& request) const override {
        return seconds_on(overlap_save_shape(problem, request.threads), request.threads);
    }
    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const core::Resolved& problem, const void* taps,
                                                            const core::Request& request) const override {
        const OverlapSaveShape shape = overlap_save_shape(problem, request.threads);
        if (real_part_of(problem.dtype) == Dtype::f32) {
            return std::make_unique<OverlapSave<float>>(problem, taps, request, shape);
        }
        return std::make_unique<OverlapSave<double>>(problem, taps, request, shape);
    }
};

class PartitionedAlgorithm final : public core::Algorithm {
public:
    [[nodiscard]] std::string_view name() const override { return "partitioned"; }
    [[nodiscard]] bool is_local() const override { return false; }
    [[nodiscard]] std::string_view summary() const override {
        return "fast Fourier transforms of blocks and of parts of the filter, for filters too long for one transform";
    }
    [[nodiscard]] core::Support supports(const core::Resolved& problem, const core::Request& request) const override {
        return supports_fft(problem, request,
                            is_floating(problem) ? partitioned_shape(problem, request.threads) : OverlapSaveShape{});
    }
    [[nodiscard]] double estimate_seconds(const core::Resolved& problem, const core::Request& request) const override {
        return seconds_on(partitioned_shape(problem, request.threads), request.threads);
    }
    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const core::Resolved& problem, const void* taps,
                                                            const core::Request& request) const override {
        return prepare_partitioned(problem, taps, request, partitioned_shape(problem, request.threads));
    }
};

}  // namespace

const core::Algorithm& overlap_save_algorithm() {
    static const OverlapSaveAlgorithm algorithm;
    return algorithm;
}

const core::Algorithm& partitioned_algorithm() {
    static const PartitionedAlgorithm algorithm;
    return algorithm;
}

}  // namespace tapline::cpu
