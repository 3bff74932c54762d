#include "cpu/image/line_masks.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "core/plan/repeated.hpp"
#include "core/problem/arrange.hpp"
#include "core/problem/window.hpp"

namespace tapline::cpu {
namespace {

using core::Axis;
using core::Batch;
using core::Request;
using core::Resolved;

// Rows or columns of images: executed for all of them at once.
class Signals final : public core::Executable {
public:
    Signals(const Resolved& signals, std::unique_ptr<const core::Executable> each, bool of_cut_axis)
        : problem_(signals), each_(std::move(each)), of_cut_axis_(of_cut_axis) {}

    [[nodiscard]] std::size_t workspace_bytes() const override { return each_->workspace_bytes(); }
    [[nodiscard]] std::int64_t granularity() const override { return of_cut_axis_ ? each_->granularity() : 1; }
    [[nodiscard]] std::int64_t inner_granularity() const override { return of_cut_axis_ ? 1 : each_->granularity(); }
    [[nodiscard]] std::string describe() const override { return "lines of images as signals: " + each_->describe(); }
    void execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace,
                 void* stream) const override {
        each_->execute(core::whole_output(problem_, output.data), core::whole_input(problem_, input.main.data), workspace, stream);
    }

private:
    Resolved problem_;
    std::unique_ptr<const core::Executable> each_;
    bool of_cut_axis_;
};

}  // namespace

std::optional<Resolved> as_signals(const Resolved& problem) {
    const std::array axes{&problem.x, &problem.y, &problem.z};
    const auto has_taps = [](const Axis* a) { return a->k != 1 || a->origin != 0 || a->outputs != a->n; };
    if (std::count_if(axes.begin(), axes.end(), has_taps) > 1) { return std::nullopt; }
    const auto found = std::find_if(axes.begin(), axes.end(), has_taps);
    const Axis* const filtered = found == axes.end() ? &problem.x : *found;
    if (problem.changes_rate() || problem.has_outer()) { return std::nullopt; }
    Resolved signals = problem;
    std::vector<Batch> batch;
    for (const Axis* axis : axes) {
        if (axis != filtered) {
            batch.push_back({.length = axis->n, .in_stride = axis->in_stride, .out_stride = axis->out_stride});
        }
    }
    batch.push_back(problem.batch);
    batch.push_back(problem.channels);
    signals.rank = 1;
    signals.x = *filtered;
    signals.mode = filtered->outputs == filtered->n ? Mode::same : filtered->outputs > filtered->n ? Mode::full : Mode::valid;
    signals.y = signals.z = {};
    signals.batch = signals.channels = {};
    signals.filters = 1;
    core::arrange(signals, batch);
    return signals;
}

std::optional<Resolved> LineMaskAlgorithm::signals_of(const Resolved& problem, const Request& request) const {
    std::optional<Resolved> signals = as_signals(problem);
    if (!signals) { return std::nullopt; }
    const Lines goes = goes_(problem, request);
    if (goes == Lines::never || !signals_.supports(*signals, request).ok) { return std::nullopt; }
    Request alone = request;  // bits do not depend on the number of threads
    alone.threads = 1;
    const bool takes = goes == Lines::always || !inner().supports(problem, request).ok ||
                       core::seconds_with_outer(signals_, *signals, alone) < inner().estimate_seconds(problem, alone);
    return takes ? signals : std::nullopt;
}

bool LineMaskAlgorithm::keeps_local(const Resolved& problem, const Request& request) const {
    const auto signals = signals_of(problem, request);
    return signals ? signals_.keeps_local(*signals, request) : inner().keeps_local(problem, request);
}

core::Support LineMaskAlgorithm::supports(const Resolved& problem, const Request& request) const {
    return signals_of(problem, request) ? core::Support::yes() : inner().supports(problem, request);
}

double LineMaskAlgorithm::estimate_seconds(const Resolved& problem, const Request& request) const {
    const auto signals = signals_of(problem, request);
    return signals ? core::seconds_with_outer(signals_, *signals, request) : inner().estimate_seconds(problem, request);
}

std::unique_ptr<core::Executable> LineMaskAlgorithm::prepare(const Resolved& problem, const void* taps,
                                                             const Request& request) const {
    const auto signals = signals_of(problem, request);
    if (!signals) { return inner().prepare(problem, taps, request); }
    const bool of_cut_axis = problem.cut().k == signals->x.k && problem.cut().k > 1;
    return std::make_unique<Signals>(*signals, core::prepare_with_outer(signals_, *signals, taps, request), of_cut_axis);
}

}  // namespace tapline::cpu
