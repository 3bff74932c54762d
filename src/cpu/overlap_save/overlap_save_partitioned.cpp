// Filters cut into parts of B taps, transforms of N = 2B points: with X_i the spectrum of the block of input that starts at
// i B - origin, segment j's outputs are the inverse of sum_p X_(j+p) H_p.
//
// Keeping the spectra of all past blocks would take twice the memory of the parts' spectra. Instead the sums of `group`
// segments are kept, and each block is transformed once for all of them: (P + group) / group transforms a segment instead
// of one, little against the P products. Parts are added in ascending order whatever the grouping: the bits do not
// depend on it. Blocks outside a zero boundary are skipped, so that a short signal costs what few parts cost.
#include <algorithm>
#include <functional>

#include "core/plan/parallel.hpp"
#include "cpu/element_types.hpp"
#include "cpu/overlap_save/overlap_save_executable.hpp"

namespace tapline::cpu {
namespace {

template <class T>
class Partitioned final : public OverlapSaveExecutable<T> {
public:
    using OverlapSaveExecutable<T>::OverlapSaveExecutable;

    [[nodiscard]] std::size_t workspace_bytes() const override { return this->slots_bytes(slot_extent()); }

    void execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace, void*) const override {
        const Call call = io_.call(output, input, this->threads_);
        const Chains chains = io_.chains(call);
        T* const buffers = reinterpret_cast<T*>(workspace.data());
        T* const scratch = buffers + shape_.slots * slot_extent();
        const std::int64_t longest = io_.chain_length(chains, 0);
        const std::int64_t groups = (longest + shape_.group - 1) / shape_.group;
        const auto task = [&](std::int64_t index, int slot) {
            const std::int64_t chain = index / groups;
            const std::int64_t first = index % groups * shape_.group;
            const std::int64_t last = std::min(first + shape_.group, io_.chain_length(chains, chain));
            if (first >= last) { return; }
            run(call, chains, chain, first, last,
                {buffers + slot * slot_extent(), scratch + slot * fft_.tables().scratch_extent, this->transform_threads()});
        };
        core::parallel_for(groups * chains.chains, this->task_threads(), std::cref(task),
                           static_cast<double>(longest * chains.chains) * shape_.unit_seconds);
    }

    // The last part's blocks reach past the last tap.
    [[nodiscard]] std::int64_t lookahead() const override {
        return (shape_.partitions + 1) * shape_.block - (shape_.block + problem_.x.k - 1);
    }

    [[nodiscard]] std::string describe() const override {
        return std::to_string(shape_.partitions) + " parts of " + std::to_string(shape_.block) + " taps, FFT of " +
               std::to_string(fft_.size()) + " points, " + to_string(target_);
    }

private:
    struct Place {
        T* buffers;  ///< the block's spectrum, then `group` sums
        T* scratch;
        int threads;
    };

    [[nodiscard]] std::int64_t slot_extent() const { return (1 + shape_.group) * fft_.extent(); }

    // Units [first, last) of a chain.
    void run(const Call& call, const Chains& chains, std::int64_t chain, std::int64_t first, std::int64_t last,
             const Place& place) const {
        const std::int64_t step = io_.chain_step(chains, chain);
        const Unit unit = io_.unit(call, chains, chain, first);
        accumulate(call, unit, step, last - first, nullptr, place);
        std::uint64_t broken = 0;
        for (std::int64_t g = 0; g < last - first; ++g) {
            T* const sum = place.buffers + (1 + g) * fft_.extent();
            const Unit member = io_.unit(call, chains, chain, first + g);
            fft_.inverse(sum, place.scratch, place.threads);
            if (taps_.special.empty() && taps_.unscale_exponent == 0 && io_.is_finite(call, member, sum)) {
                io_.store(call, member, sum, place.threads);
            } else {
                broken |= std::uint64_t{1} << g;
            }
        }
        for (std::int64_t g = 0; g < last - first; ++g) {
            if ((broken >> g & 1) != 0) { run_again(call, io_.unit(call, chains, chain, first + g), place); }
        }
    }

    void run_again(const Call& call, const Unit& unit, const Place& place) const {
        const int exponent = repair_.exponent(call, unit);
        T* const sum = place.buffers + fft_.extent();
        accumulate(call, unit, 1, 1, &exponent, place);
        fft_.inverse(sum, place.scratch, place.threads);
        repair_.finish(call, unit, sum, exponent);
        io_.store(call, unit, sum, place.threads);
    }

    // The sums of `units` units, `step` segments apart, from `unit` on. `exponent`: the input is cleaned for a repair.
    void accumulate(const Call& call, const Unit& unit, std::int64_t step, std::int64_t units, const int* exponent,
                    const Place& place) const {
        std::uint64_t begun = 0;
        T* const block = place.buffers;
        // A pair whose second segment lies past the end shares blocks with pairs before it: both sides are loaded.
        Unit whole = unit;
        whole.both = unit.both || unit.segment[0] != unit.segment[1];
        for (std::int64_t i = 0; i < step * (units - 1) + shape_.partitions; ++i) {
            if (io_.is_outside(call, whole, i * shape_.block)) { continue; }
            io_.load(call, whole, i * shape_.block, block, place.threads);
            if (exponent != nullptr) { repair_.clean(block, *exponent); }
            fft_.forward(block, place.scratch, place.threads);
            for (std::int64_t g = std::max<std::int64_t>((i - shape_.partitions + step) / step, 0); g < units && g * step <= i;
                 ++g) {
                multiply_add(unit, g, i - g * step, (begun >> g & 1) == 0, place);
                begun |= std::uint64_t{1} << g;
            }
        }
        for (std::int64_t g = 0; g < units; ++g) {
            T* const sum = block + (1 + g) * fft_.extent();
            if ((begun >> g & 1) == 0) { std::fill(sum, sum + fft_.extent(), T{0}); }
        }
    }

    void multiply_add(const Unit& unit, std::int64_t g, std::int64_t partition, bool first, const Place& place) const {
        const FftTables<T>& t = fft_.tables();
        const T* const block = place.buffers;
        T* const sum = place.buffers + (1 + g) * fft_.extent();
        const T* const spectrum = taps_.spectrum(fft_, shape_.partitions, unit.row[0] % problem_.filters, partition);
        const auto row = [&](std::int64_t r, int) {
            const std::int64_t at = r * t.pitch;
            fft_.kernels().multiply_add(sum + at, sum + t.im_offset + at, block + at, block + t.im_offset + at, spectrum + at,
                                        spectrum + t.im_offset + at, t.columns, first);
        };
        core::parallel_for(t.rows, place.threads, std::cref(row));
    }

    using OverlapSaveExecutable<T>::problem_, OverlapSaveExecutable<T>::shape_, OverlapSaveExecutable<T>::target_,
        OverlapSaveExecutable<T>::fft_, OverlapSaveExecutable<T>::taps_, OverlapSaveExecutable<T>::io_,
        OverlapSaveExecutable<T>::repair_;
};

}  // namespace

std::unique_ptr<core::Executable> prepare_partitioned(const core::Resolved& problem, const void* taps, const core::Request& request,
                                                      const OverlapSaveShape& shape) {
    return with_real_type(problem.dtype, [&]<class T>(T) -> std::unique_ptr<core::Executable> {
        return std::make_unique<Partitioned<T>>(problem, taps, request, shape);
    });
}

}  // namespace tapline::cpu
