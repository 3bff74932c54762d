#include "core/plan/repeated.hpp"

#include <algorithm>

namespace tapline::core {
namespace {

class Repeated final : public Executable {
public:
    Repeated(const Resolved& problem, std::vector<std::unique_ptr<Executable>> each) : problem_(problem), each_(std::move(each)) {}

    [[nodiscard]] std::size_t workspace_bytes() const override { return most(&Executable::workspace_bytes); }
    [[nodiscard]] std::size_t host_workspace_bytes() const override { return most(&Executable::host_workspace_bytes); }
    [[nodiscard]] bool takes_host_memory() const override { return each_.front()->takes_host_memory(); }
    [[nodiscard]] std::int64_t granularity() const override { return each_.front()->granularity(); }
    [[nodiscard]] std::int64_t inner_granularity() const override { return each_.front()->inner_granularity(); }
    [[nodiscard]] std::int64_t lookahead() const override { return each_.front()->lookahead(); }
    [[nodiscard]] std::string describe() const override {
        return std::to_string(problem_.outer_length()) + " times: " + each_.front()->describe();
    }

    void execute(const Output& output, const Input& input, std::span<std::byte> workspace, void* stream) const override {
        for_each(output, input, [&](const Executable& one, const OuterElement& element) {
            one.execute(element.output, element.input, workspace, stream);
        });
    }
    void execute_with_taps(const Output& output, const Input& input, const GivenTaps& taps, std::span<std::byte> workspace,
                           void* stream) const override {
        const auto bytes = static_cast<std::int64_t>(size_of(taps.dtype));
        for_each(output, input, [&](const Executable& one, const OuterElement& element) {
            GivenTaps own = taps;
            own.data = static_cast<const std::byte*>(taps.data) + element.taps * bytes;
            one.execute_with_taps(element.output, element.input, own, workspace, stream);
        });
    }
    void execute_alone(const Output& output, const Input& input) const override {
        for_each(output, input,
                 [&](const Executable& one, const OuterElement& element) { one.execute_alone(element.output, element.input); });
    }
    void execute_host(const Output& output, const Input& input, std::span<std::byte> workspace) const override {
        for_each(output, input, [&](const Executable& one, const OuterElement& element) {
            one.execute_host(element.output, element.input, workspace);
        });
    }

private:
    [[nodiscard]] std::size_t most(std::size_t (Executable::*bytes)() const) const {
        std::size_t most = 0;
        for (const auto& one : each_) { most = std::max(most, ((*one).*bytes)()); }
        return most;
    }

    template <class Body>
    void for_each(const Output& output, const Input& input, const Body& body) const {
        for (std::int64_t index = 0; index < problem_.outer_length(); ++index) {
            const OuterElement element = outer_element(problem_, output, input, index);
            body(*each_[each_.size() == 1 ? 0 : static_cast<std::size_t>(element.set)], element);
        }
    }

    Resolved problem_;
    std::vector<std::unique_ptr<Executable>> each_;
};

}  // namespace

OuterElement outer_element(const Resolved& problem, const Output& output, const Input& input, std::int64_t index) {
    OuterElement element{output, input};
    std::int64_t in = 0;
    std::int64_t out = 0;
    std::int64_t sets = 1;
    for (auto axis = problem.outer.rbegin(); axis != problem.outer.rend(); ++axis) {
        const std::int64_t i = index % axis->length;
        index /= axis->length;
        in += i * axis->in_stride;
        out += i * axis->out_stride;
        element.taps += i * axis->taps_stride;
        if (axis->taps_stride == 0) { continue; }
        element.set += i * sets;
        sets *= axis->length;
    }
    element.output.data = static_cast<std::byte*>(output.data) + out * static_cast<std::int64_t>(size_of(problem.output_dtype));
    element.input.main.data =
        static_cast<const std::byte*>(input.main.data) + in * static_cast<std::int64_t>(size_of(problem.dtype));
    return element;
}

std::int64_t filter_set_offset(const Resolved& problem, std::int64_t index) {
    std::int64_t offset = 0;
    for (auto axis = problem.outer.rbegin(); axis != problem.outer.rend(); ++axis) {
        if (axis->taps_stride == 0) { continue; }
        offset += index % axis->length * axis->taps_stride;
        index /= axis->length;
    }
    return offset;
}

std::unique_ptr<const Executable> repeat(const Resolved& problem, std::vector<std::unique_ptr<Executable>> each) {
    if (!problem.has_outer()) { return std::move(each.front()); }
    return std::make_unique<Repeated>(problem, std::move(each));
}

std::unique_ptr<const Executable> prepare_with_outer(const Algorithm& algorithm, const Resolved& problem, const void* taps,
                                                     const Request& request) {
    if (algorithm.takes_outer(problem, request)) { return algorithm.prepare(problem, taps, request); }
    const Resolved one = without_outer(problem);
    const std::size_t bytes = static_cast<std::size_t>(one.filters * one.taps()) * size_of(one.taps_dtype);
    std::vector<std::unique_ptr<Executable>> sets;
    for (std::int64_t set = 0; set < filter_sets(problem); ++set) {
        sets.push_back(
            algorithm.prepare(one, static_cast<const std::byte*>(taps) + static_cast<std::size_t>(set) * bytes, request));
    }
    return repeat(problem, std::move(sets));
}

double seconds_with_outer(const Algorithm& algorithm, const Resolved& problem, const Request& request) {
    if (algorithm.takes_outer(problem, request)) { return algorithm.estimate_seconds(problem, request); }
    return algorithm.estimate_seconds(without_outer(problem), request) * static_cast<double>(problem.outer_length());
}

}  // namespace tapline::core
