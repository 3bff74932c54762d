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
class Lined final : public core::Executable {
public:
    Lined(const Signals& signals, std::unique_ptr<const core::Executable> each, bool of_cut_axis)
        : signals_(signals), each_(std::move(each)), of_cut_axis_(of_cut_axis) {}

    [[nodiscard]] std::size_t workspace_bytes() const override { return each_->workspace_bytes(); }
    [[nodiscard]] std::int64_t granularity() const override { return of_cut_axis_ ? each_->granularity() : 1; }
    [[nodiscard]] std::int64_t inner_granularity() const override { return of_cut_axis_ ? 1 : each_->granularity(); }
    [[nodiscard]] std::string describe() const override { return "lines of images as signals: " + each_->describe(); }
    void execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace,
                 void* stream) const override {
        const auto* const first = static_cast<const std::byte*>(input.main.data) +
                                  signals_.first * static_cast<std::int64_t>(size_of(signals_.problem.dtype));
        each_->execute(core::whole_output(signals_.problem, output.data), core::whole_input(signals_.problem, first), workspace,
                       stream);
    }

private:
    Signals signals_;
    std::unique_ptr<const core::Executable> each_;
    bool of_cut_axis_;
};

}  // namespace

std::optional<Signals> as_signals(const Resolved& images) {
    const std::array axes{&images.x, &images.y, &images.z};
    const auto reads_inside = [](const Axis* a) { return a->k == 1 && a->origin <= 0 && a->outputs - a->origin <= a->n; };
    const std::ptrdiff_t inside = std::count_if(axes.begin(), axes.end(), reads_inside);
    if (inside < 2 || images.changes_rate() || images.has_outer()) { return std::nullopt; }
    const auto found = std::find_if_not(axes.begin(), axes.end(), reads_inside);
    const Axis* const filtered = found == axes.end() ? &images.x : *found;
    Signals lines{images};
    Resolved& signals = lines.problem;
    std::vector<Batch> batch;
    for (const Axis* axis : axes) {
        if (axis != filtered) {
            batch.push_back({.length = axis->outputs, .in_stride = axis->in_stride, .out_stride = axis->out_stride});
            lines.first -= axis->origin * axis->in_stride;
        }
    }
    batch.push_back(images.batch);
    batch.push_back(images.channels);
    signals.rank = 1;
    signals.x = *filtered;
    signals.mode = filtered->outputs == filtered->n ? Mode::same : filtered->outputs > filtered->n ? Mode::full : Mode::valid;
    signals.y = signals.z = {};
    signals.batch = signals.channels = {};
    signals.filters = 1;
    core::arrange(signals, batch);
    return lines;
}

std::optional<Signals> LineMaskAlgorithm::signals_of(const Resolved& problem, const Request& request) const {
    const Resolved& whole = request.whole == nullptr ? problem : *request.whole;
    std::optional<Signals> signals = as_signals(problem);
    if (!signals || (&whole != &problem && !as_signals(whole))) { return std::nullopt; }
    const Lines goes = goes_(whole, request);
    if (goes == Lines::never || !signals_.supports(signals->problem, request).ok) { return std::nullopt; }
    Request alone = request;  // bits do not depend on the number of threads
    alone.threads = 1;
    const bool takes = goes == Lines::always || !inner().supports(problem, request).ok ||
                       core::seconds_with_outer(signals_, signals->problem, alone) < inner().estimate_seconds(problem, alone);
    return takes ? signals : std::nullopt;
}

bool LineMaskAlgorithm::keeps_local(const Resolved& problem, const Request& request) const {
    const auto signals = signals_of(problem, request);
    return signals ? signals_.keeps_local(signals->problem, request) : inner().keeps_local(problem, request);
}

core::Support LineMaskAlgorithm::supports(const Resolved& problem, const Request& request) const {
    return signals_of(problem, request) ? core::Support::yes() : inner().supports(problem, request);
}

double LineMaskAlgorithm::estimate_seconds(const Resolved& problem, const Request& request) const {
    const auto signals = signals_of(problem, request);
    return signals ? core::seconds_with_outer(signals_, signals->problem, request) : inner().estimate_seconds(problem, request);
}

std::unique_ptr<core::Executable> LineMaskAlgorithm::prepare(const Resolved& problem, const void* taps,
                                                             const Request& request) const {
    const auto signals = signals_of(problem, request);
    if (!signals) { return inner().prepare(problem, taps, request); }
    const Axis& filtered = signals->problem.x;
    const bool of_cut_axis = problem.cut().k == filtered.k && filtered.k > 1;
    Request of_lines = request;
    of_lines.whole = nullptr;
    return std::make_unique<Lined>(*signals, core::prepare_with_outer(signals_, signals->problem, taps, of_lines), of_cut_axis);
}

}  // namespace tapline::cpu
