// How the algorithm "direct" divides a problem into calls of its kernels.
#pragma once

#include <complex>
#include <string>
#include <type_traits>
#include <vector>

#include "core/choice/engine.hpp"
#include "cpu/direct/calls/direct_shape.hpp"
#include "cpu/direct/calls/simd_direct.hpp"
#include "cpu/lines/line_store.hpp"
#include "cpu/lines/line_tiles.hpp"

namespace tapline::cpu {

/// X: the signal's element type, H: the taps'.
///
/// Three ways to the samples, all with the same bits: outputs whose window lies in one piece of memory are computed in
/// place (`in place`); those at the ends, of strided rows and of filters longer than kTapChunk from a gathered copy of their
/// window (`gathered`); rows whose samples lie side by side - interleaved channels, the columns of an image - are computed
/// together, in place as one long row (`flat`) or through packed panels of some columns (`panels`).
template <class X, class H>
class DirectExecutable final : public LinesExecutable {
public:
    DirectExecutable(const core::Resolved& problem, const void* taps, const core::Request& request);

    [[nodiscard]] std::size_t workspace_bytes() const override;
    void execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace, void* stream) const override;
    [[nodiscard]] std::string describe() const override;

    /// Outputs [first, last) of one row of the batch, with the bits that execute() gives them, in the calling thread.
    void execute_run(const core::Output& output, const core::Input& input, std::span<std::byte> workspace, std::int64_t row,
                     std::int64_t first, std::int64_t last, bool past_caches = false) const;

    void execute_line(std::int64_t filter, const core::Output& output, const core::Input& input, bool past_caches,
                      std::span<std::byte> workspace) const override;
    [[nodiscard]] bool takes_extended_lines() const override;
    [[nodiscard]] const void* taps_in_order(std::int64_t filter) const override;

private:
    static constexpr bool kComplex = !std::is_floating_point_v<X>;
    static constexpr bool kComplexTaps = !std::is_floating_point_v<H>;
    static constexpr std::int64_t kParts = kComplex ? 2 : 1;  ///< real elements of a sample
    static constexpr std::int64_t kTapParts = kComplexTaps ? 2 : 1;
    using Real = std::conditional_t<std::is_same_v<X, float> || std::is_same_v<X, std::complex<float>>, float, double>;
    using Call = DirectCall<Real>;

    struct Scratch {
        X* window;
        X* sums;
        Real* present;
    };
    /// How an execution is divided into tasks.
    struct Division {
        std::int64_t rows_per_task = 1;  ///< side by side: all, or the columns of some panels
        std::int64_t outputs_per_task = 1;
        std::int64_t tasks_per_row = 1;
        std::int64_t tasks = 1;
        double seconds = 0;        ///< on one thread
        bool past_caches = false;  ///< so large that outputs are stored past the caches
    };
    /// One execution: its arguments and how it is divided.
    struct Job {
        const core::Output& output;
        const core::Input& input;
        std::byte* workspace = nullptr;
        std::int64_t interior_first = 0;  ///< outputs whose windows lie in input.main
        std::int64_t interior_last = 0;
        bool side_by_side = false;
        bool flat = false;          ///< side by side without gaps: computed in place, as one long row
        bool panels = false;        ///< side by side, rows enough for panels
        bool plain_output = false;  ///< sums are the output, with unit stride
        bool stream = false;
        Division division{};
    };

    [[nodiscard]] Job plan_job(const core::Output& output, const core::Input& input, std::span<std::byte> workspace) const;
    void run_task(const Job& job, std::int64_t task, int slot) const;
    void run_row(const Job& job, const Scratch& scratch, std::int64_t row, std::int64_t first, std::int64_t last) const;
    void run_in_place(const Job& job, const Scratch& scratch, std::int64_t row, std::int64_t first, std::int64_t last) const;
    bool run_few(const Job& job, std::int64_t row, std::int64_t first, std::int64_t last) const;
    void run_gathered(const Job& job, const Scratch& scratch, std::int64_t row, std::int64_t first, std::int64_t last) const;
    void sum_gathered(const Job& job, const Scratch& scratch, std::int64_t row, std::int64_t first, std::int64_t count) const;
    void run_contiguous(const Job& job, const Scratch& scratch, const core::Output& output, std::int64_t row, std::int64_t first,
                        std::int64_t count, const X* in, const H* taps, std::int64_t step) const;
    void run_side_by_side(const Job& job, const Scratch& scratch, std::int64_t first, std::int64_t last, std::int64_t row,
                          std::int64_t row_end) const;
    void run_flat(const Job& job, const Scratch& scratch, std::int64_t first, std::int64_t count) const;
    void run_panels(const Job& job, const Scratch& scratch, std::int64_t first, std::int64_t last, std::int64_t row,
                    std::int64_t row_end) const;
    void run_panel(const Job& job, const Scratch& scratch, std::int64_t first, std::int64_t last, std::int64_t row,
                   std::int64_t row_end) const;
    void gather_line(X* line, const Job& job, std::int64_t position, std::int64_t row, std::int64_t row_end,
                     std::int64_t ahead) const;

    [[nodiscard]] Division divide(std::int64_t count, bool side_by_side, bool flat) const;
    [[nodiscard]] std::size_t window_samples() const;
    [[nodiscard]] std::int64_t sums_samples() const;
    /// Outputs of a panel that are summed before more lines are packed: all where sums of neighbours share most of their work.
    [[nodiscard]] std::int64_t panel_step() const { return doubles_ ? kPanelSamples : kPanelStep; }
    [[nodiscard]] Scratch scratch_of(const Job& job, int slot) const;
    [[nodiscard]] std::size_t slot_bytes() const;
    [[nodiscard]] std::int64_t chunk() const;
    [[nodiscard]] const H* taps_of(std::int64_t row) const { return taps_.data() + row % problem_.filters * problem_.x.k; }

    core::Resolved problem_;
    std::vector<H> taps_;
    bool finite_taps_ = true;
    bool doubles_ = false;  ///< all taps of a filter are the same
    int threads_ = 1;
    Target target_;
    LineStore<X> store_;
    Division whole_;  ///< of all outputs, rows one after the other
    typename DirectKernels<Real>::Kernel kernel_ = nullptr, careful_kernel_ = nullptr;
    typename DirectKernels<Real>::Kernel few_kernel_ = nullptr;  ///< of few taps under a zero boundary, where the target has it
};

/// Seconds of one output of a problem that is summed directly, on one thread.
double direct_seconds_of_output(const core::Resolved& problem);

extern template class DirectExecutable<float, float>;
extern template class DirectExecutable<double, double>;
extern template class DirectExecutable<std::complex<float>, float>;
extern template class DirectExecutable<std::complex<float>, std::complex<float>>;
extern template class DirectExecutable<std::complex<double>, double>;
extern template class DirectExecutable<std::complex<double>, std::complex<double>>;

}  // namespace tapline::cpu
