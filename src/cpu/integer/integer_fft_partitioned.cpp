// Integers by transforms with filters cut into parts, as overlap_save's partitioned: parts of B taps, transforms of N = 2B points;
// segment j's outputs are the inverse of sum_p X_(j+p) H_p. Limbs as in integer_fft.cpp; here they are the same for all blocks that
// a group of units reads, which are looked at before.
#include "cpu/element_types.hpp"
#include "cpu/integer/integer_fft_executable.hpp"

namespace tapline::cpu {
namespace {

template <class T>
class IntegerFftPartitioned final : public IntegerFftExecutable<T> {
public:
    IntegerFftPartitioned(const core::Resolved& problem, const std::int64_t* taps, const core::Request& request,
                          const IntegerFftShape& shape)
        : IntegerFftExecutable<T>(problem, taps, request, shape), way_for_all_(this->way_for_all(values())) {}

    [[nodiscard]] std::size_t workspace_bytes() const override {
        const std::int64_t scratch = this->scratch_elements() * static_cast<std::int64_t>(sizeof(double));
        return static_cast<std::size_t>(shape_.blocks.slots * slot_bytes() + scratch);
    }

    [[nodiscard]] std::string describe() const override {
        return std::to_string(shape_.blocks.partitions) + " parts of " + std::to_string(shape_.blocks.block) + " taps in " +
               std::to_string(shape_.taps.count) + " limbs, FFT of " + std::to_string(fft_.size()) + " points, " +
               cpu::to_string(target_);
    }

    void execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace, void*) const override {
        OverflowLog log;
        const Call call = io_.call(output, input, this->threads_);
        const Chains chains = io_.chains(call);
        auto* const scratch = reinterpret_cast<double*>(workspace.data() + shape_.blocks.slots * slot_bytes());
        const std::int64_t longest = io_.chain_length(chains, 0);
        const std::int64_t groups = (longest + shape_.blocks.group - 1) / shape_.blocks.group;
        const auto task = [&](std::int64_t index, int slot) {
            const std::int64_t chain = index / groups;
            const std::int64_t first = index % groups * shape_.blocks.group;
            const std::int64_t last = std::min(first + shape_.blocks.group, io_.chain_length(chains, chain));
            if (first >= last || this->is_needless(io_.unit(call, chains, chain, first), log)) { return; }
            std::byte* const bytes = workspace.data() + slot * slot_bytes();
            const Place place{reinterpret_cast<double*>(bytes), reinterpret_cast<T*>(bytes + this->buffers_bytes(buffers())),
                              scratch + slot * fft_.tables().scratch_extent, this->transform_threads()};
            run({call, chains, chain, first, last - first}, place, log);
        };
        core::parallel_for(groups * chains.chains, this->task_threads(), std::cref(task),
                           static_cast<double>(longest * chains.chains) * shape_.blocks.unit_seconds);
        log.check(problem_);
    }

private:
    using typename IntegerFftExecutable<T>::Windows;
    using typename IntegerFftExecutable<T>::Norms;
    /// One slot of the workspace.
    struct Place {
        double* buffers;  ///< a block's limbs, then the sums of each unit, then the spectra of a part if they are not kept
        T* windows;
        double* scratch;
        int threads;
    };
    /// Units [first, first + units) of a chain.
    struct Group {
        const Call& call;
        const Chains& chains;
        std::int64_t chain, first, units;
    };

    [[nodiscard]] std::int64_t buffers() const {
        return shape_.most_outputs * (1 + shape_.blocks.group) + (shape_.keeps_spectra ? 0 : shape_.taps.count);
    }
    [[nodiscard]] std::int64_t slot_bytes() const { return this->buffers_bytes(buffers()) + this->windows_bytes(); }
    [[nodiscard]] double* limb(const Place& place, int j) const { return place.buffers + j * fft_.extent(); }
    [[nodiscard]] double* sum(const Place& place, std::int64_t unit, int w) const {
        return place.buffers + (shape_.most_outputs * (1 + unit) + w) * fft_.extent();
    }
    [[nodiscard]] double* made(const Place& place, int l) const { return sum(place, shape_.blocks.group, l); }
    // Real numbers that the transforms of one unit's blocks take in.
    [[nodiscard]] double values() const {
        return 2 * static_cast<double>(shape_.blocks.partitions) * static_cast<double>(fft_.size());
    }

    // The unit that all units of a group are like, some segments on. A pair whose second segment lies past the end shares blocks
    // with pairs before it: both sides are loaded.
    [[nodiscard]] Unit first_of(const Group& group) const {
        Unit unit = io_.unit(group.call, group.chains, group.chain, group.first);
        unit.both = unit.both || unit.segment[0] != unit.segment[1];
        return unit;
    }
    [[nodiscard]] std::int64_t step_of(const Group& group) const { return io_.chain_step(group.chains, group.chain); }

    // Calls visit(block, windows) for the blocks of a group that do not lie outside the signal.
    template <class Visit>
    void visit_blocks(const Group& group, const Place& place, const Visit& visit) const {
        const Unit unit = first_of(group);
        for (std::int64_t i = 0; i < step_of(group) * (group.units - 1) + shape_.blocks.partitions; ++i) {
            if (io_.is_outside(group.call, unit, i * shape_.blocks.block)) { continue; }
            visit(i, this->load(group.call, unit, i * shape_.blocks.block, place.windows, place.threads));
        }
    }

    void run(const Group& group, const Place& place, OverflowLog& log) const {
        std::uint64_t bits = 0;
        visit_blocks(group, place, [&](std::int64_t, const Windows& windows) { bits |= this->or_bits_in(windows); });
        const LimbWay way = way_of(group, bits, place);
        accumulate(group, way, place);
        for (std::int64_t g = 0; g < group.units; ++g) {
            const Unit unit = io_.unit(group.call, group.chains, group.chain, group.first + g);
            for (int w = 0; w < way.products.outputs; ++w) { fft_.inverse(sum(place, g, w), place.scratch, place.threads); }
            this->join(group.call, unit, way, bits, sum(place, g, 0), place.threads, log);
        }
    }

    // The first way that is exact. The norm is that of all blocks, which is not less than that of one unit's.
    LimbWay way_of(const Group& group, std::uint64_t or_bits, const Place& place) const {
        const int bits = bits_of(or_bits);
        const LimbWays ways(shape_.taps, bits, epilogue_.modulo_bits());
        for (const LimbWay& way : ways) {
            if (!this->has_room_for(way)) { continue; }
            if (this->is_exact_for(way, bits, values())) { return way; }
            if (!this->may_be_exact(way, bits, values())) { continue; }
            Norms norms{};
            visit_blocks(group, place, [&](std::int64_t, const Windows& windows) {
                for (int j = 0; j < way.samples.count; ++j) {
                    norms[static_cast<std::size_t>(j)] += this->split(limb(place, j), windows, way, j, place.threads);
                }
            });
            for (double& norm : norms) { norm = std::sqrt(norm); }
            if (this->is_exact(way, norms)) { return way; }
        }
        return way_for_all_;
    }

    void accumulate(const Group& group, const LimbWay& way, const Place& place) const {
        const std::uint64_t begun = taps_.kept() ? by_blocks(group, way, place) : by_parts(group, way, place);
        for (std::int64_t g = 0; g < group.units; ++g) {
            if ((begun >> g & 1) != 0) { continue; }
            for (int w = 0; w < way.products.outputs; ++w) { std::fill_n(sum(place, g, w), fft_.extent(), 0.0); }
        }
    }

    void transform(const Windows& windows, const LimbWay& way, const Place& place) const {
        for (int j = 0; j < way.samples.count; ++j) {
            this->split(limb(place, j), windows, way, j, place.threads);
            fft_.forward(limb(place, j), place.scratch, place.threads);
        }
    }

    // Each block once, for all parts that meet it. Returns which units have sums.
    std::uint64_t by_blocks(const Group& group, const LimbWay& way, const Place& place) const {
        const std::int64_t step = step_of(group), filter = first_of(group).row[0] % problem_.filters;
        std::array<const double*, LimbWays::kMostLimbs> spectra{};
        std::uint64_t begun = 0;
        visit_blocks(group, place, [&](std::int64_t i, const Windows& windows) {
            transform(windows, way, place);
            const std::int64_t first = std::max<std::int64_t>((i - shape_.blocks.partitions + step) / step, 0);
            for (std::int64_t g = first; g < group.units && g * step <= i; ++g) {
                for (int l = 0; l < way.products.taps; ++l) {
                    spectra[static_cast<std::size_t>(l)] = taps_.of(filter, l, i - g * step);
                }
                multiply(way, spectra.data(), g, (begun >> g & 1) == 0, place);
                begun |= std::uint64_t{1} << g;
            }
        });
        return begun;
    }

    // Each part once, for all units.
    std::uint64_t by_parts(const Group& group, const LimbWay& way, const Place& place) const {
        const Unit unit = first_of(group);
        const std::int64_t filter = unit.row[0] % problem_.filters;
        std::array<const double*, LimbWays::kMostLimbs> spectra{};
        std::uint64_t begun = 0;
        for (std::int64_t part = 0; part < shape_.blocks.partitions; ++part) {
            bool is_made = false;
            for (std::int64_t g = 0; g < group.units; ++g) {
                const std::int64_t offset = (part + g * step_of(group)) * shape_.blocks.block;
                if (io_.is_outside(group.call, unit, offset)) { continue; }
                for (int l = 0; l < way.products.taps && !is_made; ++l) {
                    taps_.make(made(place, l), filter, l, part, place.scratch, place.threads);
                    spectra[static_cast<std::size_t>(l)] = made(place, l);
                }
                is_made = true;
                transform(this->load(group.call, unit, offset, place.windows, place.threads), way, place);
                multiply(way, spectra.data(), g, (begun >> g & 1) == 0, place);
                begun |= std::uint64_t{1} << g;
            }
        }
        return begun;
    }

    // Adds the products of a block's limbs and those of a part to the sums of unit g, some points at a time, which stay in the
    // cache.
    void multiply(const LimbWay& way, const double* const* spectra, std::int64_t g, bool first, const Place& place) const {
        constexpr std::int64_t kPoints = 512;
        const FftTables<double>& t = fft_.tables();
        const LimbProducts& p = way.products;
        const auto add = [&](int w, std::int64_t at, std::int64_t points) {
            double* const to = sum(place, g, w) + at;
            bool fresh = first;
            for (int l = 0; l < p.taps && p.ratio * l <= w; ++l) {
                const int j = w - p.ratio * l;
                if (j >= p.samples) { continue; }
                const double* const x = limb(place, j) + at;
                const double* const h = spectra[l] + at;
                fft_.kernels().multiply_add(to, to + t.im_offset, x, x + t.im_offset, h, h + t.im_offset, points, fresh);
                fresh = false;
            }
        };
        const auto row = [&](std::int64_t r, int) {
            for (std::int64_t at = 0; at < t.columns; at += kPoints) {
                for (int w = 0; w < p.outputs; ++w) { add(w, r * t.pitch + at, std::min(kPoints, t.columns - at)); }
            }
        };
        core::parallel_for(t.rows, place.threads, std::cref(row));
    }

    using IntegerFftExecutable<T>::problem_, IntegerFftExecutable<T>::shape_, IntegerFftExecutable<T>::target_,
        IntegerFftExecutable<T>::epilogue_, IntegerFftExecutable<T>::fft_, IntegerFftExecutable<T>::taps_,
        IntegerFftExecutable<T>::io_;

    LimbWay way_for_all_;  // exact whatever the samples are
};

}  // namespace

std::unique_ptr<core::Executable> prepare_integer_fft_partitioned(const core::Resolved& problem, const std::int64_t* taps,
                                                                  const core::Request& request, const IntegerFftShape& shape) {
    return with_sample_type(problem.dtype, [&]<class T>(T) -> std::unique_ptr<core::Executable> {
        return std::make_unique<IntegerFftPartitioned<T>>(problem, taps, request, shape);
    });
}

}  // namespace tapline::cpu
