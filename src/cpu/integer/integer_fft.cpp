// Exact convolution of bool and integer signals by transforms in double.
//
// A transform's error has a bound that is proved (fft.hpp: proved_error). Where it is below one half, rounding to the nearest
// integer makes a convolution of integers exact. Where samples or taps are too large for that they become limbs of fewer bits,
// X = sum X_j 2^(b j), H likewise, and the outputs of equal power, the sums of X_j H_l over j + l = w, are each exact. They are
// formed of spectra: s limbs of samples and t of taps take s transforms and s + t - 1 inverse ones, of two segments at once.
//
// The taps' limbs are those of the plan. The samples' are found for each unit of two segments from the values there: the fewest
// for which the bound holds. Where their sums are so narrow that adding all products takes less time, the unit is summed directly:
// both are exact, so that nobody sees which it was.
#include <cstdlib>
#include <functional>
#include <optional>

#include "cpu/algorithms.hpp"
#include "cpu/element_types.hpp"
#include "cpu/integer/integer_fft.hpp"
#include "cpu/integer/integer_fft_executable.hpp"
#include "cpu/integer/integer_sums.hpp"

namespace tapline::cpu {
namespace {

using core::Resolved;

template <class T>
class IntegerFft final : public IntegerFftExecutable<T> {
public:
    IntegerFft(const Resolved& problem, const std::int64_t* taps, const core::Request& request, const IntegerFftShape& shape,
               bool may_sum_directly)
        : IntegerFftExecutable<T>(problem, taps, request, shape), way_for_all_(this->way_for_all(values())) {
        const std::uint64_t all = or_bits_of(problem_.dtype);
        const LimbWays ways(shape_.taps, bits_of(all), epilogue_.modulo_bits());
        one_way_ = this->is_exact_for(*ways.begin(), bits_of(all), values());
        if (!may_sum_directly || seconds_directly(Level::pairs16) > seconds_of(way_for_all_)) { return; }
        // Who asks for transforms by name where direct sums of any samples take less time gets them.
        const IntegerTaps levels(taps, problem_.x.k, problem_.dtype == Dtype::u64, epilogue_.modulo_bits());
        if (levels.level(all) != levels.level(0) && seconds_directly(levels.level(all)) > seconds_of(*ways.begin())) {
            sums_.emplace(problem_, taps);
        }
    }

    [[nodiscard]] std::size_t workspace_bytes() const override {
        const std::int64_t scratch = this->scratch_elements() * static_cast<std::int64_t>(sizeof(double));
        return static_cast<std::size_t>(shape_.blocks.slots * slot_bytes() + scratch);
    }

    [[nodiscard]] std::string describe() const override {
        std::string text = "FFT of " + std::to_string(fft_.size()) + " points, blocks of " + std::to_string(shape_.blocks.block) +
                           " outputs, taps in " + std::to_string(shape_.taps.count) + " limbs";
        if (sums_) { text += ", or where it is sooner " + sums_->describe(); }
        return text + ", " + cpu::to_string(target_);
    }

    void execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace, void*) const override {
        OverflowLog log;
        const Call call = io_.call(output, input, threads_);
        auto* const scratch = reinterpret_cast<double*>(workspace.data() + shape_.blocks.slots * slot_bytes());
        const auto task = [&](const Unit& unit, int slot) {
            std::byte* const bytes = workspace.data() + slot * slot_bytes();
            std::byte* const windows = bytes + this->buffers_bytes(shape_.most_outputs);
            run(call, unit,
                {reinterpret_cast<double*>(bytes), reinterpret_cast<T*>(windows),
                 reinterpret_cast<IntegerScratch*>(windows + this->windows_bytes()), scratch + slot * fft_.tables().scratch_extent,
                 this->transform_threads()},
                log);
        };
        for_each_unit<double>(io_, call, shape_.blocks, std::cref(task));
        log.check(problem_);
    }

private:
    using typename IntegerFftExecutable<T>::Windows;
    using typename IntegerFftExecutable<T>::Norms;
    /// One slot of the workspace.
    struct Place {
        double* buffers;
        T* windows;
        IntegerScratch* direct;
        double* scratch;
        int threads;
    };

    [[nodiscard]] std::int64_t slot_bytes() const {
        return this->buffers_bytes(shape_.most_outputs) + this->windows_bytes() +
               (sums_ ? static_cast<std::int64_t>(sizeof(IntegerScratch)) : 0);
    }
    [[nodiscard]] double* buffer(const Place& place, int w) const { return place.buffers + w * fft_.extent(); }
    [[nodiscard]] const double* spectrum(const Unit& unit, int l) const { return taps_.of(unit.row[0] % problem_.filters, l, 0); }
    // Of a unit: real numbers that its transform takes in, and seconds.
    [[nodiscard]] double values() const { return 2 * static_cast<double>(fft_.size()); }
    [[nodiscard]] double seconds_directly(Level level) const {
        return seconds_of_product(level) * static_cast<double>(problem_.x.k) * 2 * static_cast<double>(shape_.blocks.block);
    }
    [[nodiscard]] double seconds_of(const LimbWay& way) const { return seconds_of_unit(problem_, shape_, way.products); }

    void run(const Call& call, const Unit& unit, const Place& place, OverflowLog& log) const {
        if (this->is_needless(unit, log)) { return; }
        const Windows windows = this->load(call, unit, 0, place.windows, place.threads);
        const std::uint64_t bits = one_way_ && !sums_ ? or_bits_of(problem_.dtype) : this->or_bits_in(windows);
        if (sums_ && seconds_directly(sums_->level(unit.row[0], bits)) < least_seconds(bits)) {
            return sum_directly(call, unit, place, log);
        }
        const LimbWay way = convolve(unit, windows, bits, place);
        this->join(call, unit, way, bits, place.buffers, place.threads, log);
    }

    // What the first way that may be exact takes.
    [[nodiscard]] double least_seconds(std::uint64_t bits) const {
        const LimbWays ways(shape_.taps, bits_of(bits), epilogue_.modulo_bits());
        const auto* const way = std::find_if(ways.begin(), ways.end(), [&](const LimbWay& w) {
            return this->has_room_for(w) && this->may_be_exact(w, bits_of(bits), values());
        });
        return seconds_of(way == ways.end() ? way_for_all_ : *way);
    }

    // The outputs of the first way that is exact, to its buffers.
    LimbWay convolve(const Unit& unit, const Windows& windows, std::uint64_t bits, const Place& place) const {
        const LimbWays ways(shape_.taps, bits_of(bits), epilogue_.modulo_bits());
        for (const LimbWay& way : ways) {
            if (!this->has_room_for(way)) { continue; }
            if (this->is_exact_for(way, bits_of(bits), values())) {
                convolve_by(way, unit, windows, place);
                return way;
            }
            if (this->may_be_exact(way, bits_of(bits), values()) && convolve_if_exact(way, unit, windows, place)) { return way; }
        }
        convolve_by(way_for_all_, unit, windows, place);
        return way_for_all_;
    }

    // Limb by limb, each to the end while it is in the cache.
    void convolve_by(const LimbWay& way, const Unit& unit, const Windows& windows, const Place& place) const {
        for (int j = 0; j < way.samples.count; ++j) {
            this->split(buffer(place, j), windows, way, j, place.threads);
            transform(way, unit, j, place);
        }
        if (way.products.taps > 1) { multiply(unit, way, place); }
    }

    bool convolve_if_exact(const LimbWay& way, const Unit& unit, const Windows& windows, const Place& place) const {
        Norms norms{};
        for (int j = 0; j < way.samples.count; ++j) {
            norms[static_cast<std::size_t>(j)] = std::sqrt(this->split(buffer(place, j), windows, way, j, place.threads));
        }
        if (!this->is_exact(way, norms)) { return false; }
        for (int j = 0; j < way.samples.count; ++j) { transform(way, unit, j, place); }
        if (way.products.taps > 1) { multiply(unit, way, place); }
        return true;
    }

    // Limb j of the samples, as far as it goes alone.
    void transform(const LimbWay& way, const Unit& unit, int j, const Place& place) const {
        double* const data = buffer(place, j);
        if (way.products.taps > 1) {
            fft_.forward_columns(data, place.scratch, place.threads);
        } else if (j < way.products.outputs) {
            fft_.convolve(data, spectrum(unit, 0), place.scratch, place.threads, fft_.source(data), this->sink(unit, data));
        }
    }

    // From the samples' limbs after their columns' transforms to the outputs: each row of all to the end before the next, while it
    // is in the cache.
    void multiply(const Unit& unit, const LimbWay& way, const Place& place) const {
        const FftTables<double>& t = fft_.tables();
        const FftKernels<double>& fft = fft_.kernels();
        const auto row = [&](std::int64_t r, int) {
            std::array<double*, kMostJoined> data;
            std::array<const double*, LimbWays::kMostLimbs> taps;
            for (int w = 0; w < std::max(way.products.samples, way.products.outputs); ++w) {
                data[static_cast<std::size_t>(w)] = buffer(place, w) + r * t.pitch;
            }
            for (int l = 0; l < way.products.taps; ++l) { taps[static_cast<std::size_t>(l)] = spectrum(unit, l) + r * t.pitch; }
            for (int j = 0; j < way.products.samples; ++j) {
                double* const re = data[static_cast<std::size_t>(j)];
                fft.forward_row(t, re, re + t.im_offset);
            }
            kernels_.multiply(data.data(), taps.data(), t.im_offset, t.columns, way.products);
            for (int w = 0; w < way.products.outputs; ++w) {
                double* const re = data[static_cast<std::size_t>(w)];
                fft.inverse_row(t, re, re + t.im_offset);
            }
        };
        core::parallel_for(t.rows, place.threads, std::cref(row));
        for (int w = 0; w < way.products.outputs; ++w) {
            double* const data = buffer(place, w);
            fft_.inverse_columns(data, place.scratch, place.threads, this->sink(unit, data));
        }
    }

    void sum_directly(const Call& call, const Unit& unit, const Place& place, OverflowLog& log) const {
        for (int side = 0; side < (unit.both ? 2 : 1); ++side) {
            const auto wanted = io_.wanted(call, unit, side);
            const std::int64_t first = unit.segment[side] * shape_.blocks.block + wanted.first;
            const std::int64_t tiles = (wanted.count + kIntegerTile - 1) / kIntegerTile;
            for (std::int64_t i = 0; i < tiles; ++i) {
                sums_->tile(call.output, call.input, unit.row[side], first + i * kIntegerTile,
                            std::min(kIntegerTile, wanted.count - i * kIntegerTile), *place.direct, log);
            }
        }
    }

    using IntegerFftExecutable<T>::problem_, IntegerFftExecutable<T>::shape_, IntegerFftExecutable<T>::threads_,
        IntegerFftExecutable<T>::target_, IntegerFftExecutable<T>::kernels_, IntegerFftExecutable<T>::epilogue_,
        IntegerFftExecutable<T>::fft_, IntegerFftExecutable<T>::taps_, IntegerFftExecutable<T>::io_;

    LimbWay way_for_all_;                 // exact whatever the samples are
    bool one_way_ = false;                // it is the cheapest there is
    std::optional<IntegerSums<T>> sums_;  // if units may be summed directly
};

int modulo_bits_of(const Resolved& problem) { return IntegerEpilogue(problem).modulo_bits(); }

class IntegerFftAlgorithm final : public core::Algorithm {
public:
    [[nodiscard]] std::string_view name() const override { return "integer_fft"; }
    [[nodiscard]] std::string_view summary() const override {
        return "exact sums of bool and integer signals by fast Fourier transforms in f64 of limbs so narrow that rounding is exact";
    }
    [[nodiscard]] core::Support supports(const Resolved& problem, const core::Request& request) const override {
        if (core::Support support = supports_integers(problem); !support.ok) { return support; }
        if (!is_small(problem) && shape_of(problem, request).blocks.log2_size == 0) {
            return core::Support::no("the transforms of these filters would need too much memory");
        }
        return core::Support::yes();
    }
    [[nodiscard]] double estimate_seconds(const Resolved& problem, const core::Request& request) const override {
        if (problem.x.k < kLeastTaps) {
            IntegerFftShape shape;
            shape.blocks.log2_size = kMinLog2Fft;
            shape.blocks.block = fft_size(kMinLog2Fft) / 2;
            return seconds_of_unit(problem, shape, {.samples = 4, .taps = 4, .ratio = 1, .outputs = 7}) *
                   units_of(problem, shape.blocks.block, shape.blocks.pairing) / request.threads;
        }
        return seconds_on(shape_of(problem, request).blocks, request.threads);
    }
    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const Resolved& problem, const void* taps,
                                                            const core::Request& request) const override {
        return prepare_integer_fft(problem, taps, request, shape_of(problem, request), true);
    }

private:
    // Up to there direct sums of any width take less time, and an estimate in microseconds would count in plans for short signals.
    static constexpr std::int64_t kLeastTaps = 24;

    static std::int64_t fft_size(int log2_size) { return std::int64_t{1} << log2_size; }

    // Whether the spectra of any limbs fit: transforms of at most 4 k + 256 points, 16 bytes each.
    static bool is_small(const Resolved& problem) {
        constexpr double kBytes = 16.0 * (1 << 20);
        const double points = 4 * static_cast<double>(problem.x.k) + static_cast<double>(fft_size(kMinLog2Fft));
        return 16 * points * LimbWays::kMostLimbs * static_cast<double>(problem.filters) < kBytes;
    }

    static IntegerFftShape shape_of(const Resolved& problem, const core::Request& request) {
        return integer_fft_shape(problem, request.facts, modulo_bits_of(problem), request.threads);
    }
};

}  // namespace

std::unique_ptr<core::Executable> prepare_integer_fft(const core::Resolved& problem, const void* taps, const core::Request& request,
                                                      const IntegerFftShape& shape, bool may_sum_directly) {
    const auto* const bits = static_cast<const std::int64_t*>(taps);  // of u64 taps, their bits
    if (shape.blocks.partitions > 1) { return prepare_integer_fft_partitioned(problem, bits, request, shape); }
    return with_sample_type(problem.dtype, [&]<class T>(T) -> std::unique_ptr<core::Executable> {
        return std::make_unique<IntegerFft<T>>(problem, bits, request, shape, may_sum_directly);
    });
}

const core::Algorithm& integer_fft_algorithm() { return core::only<IntegerFftAlgorithm>(); }

}  // namespace tapline::cpu
