#include "gpu_host/depthwise_plans.hpp"

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <tuple>

#include "core/plan/host_memory.hpp"
#include "gpu_host/engine.hpp"
#include "gpu_host/library.hpp"

namespace tapline::gpu_host {
namespace {

// Direct summation's share of the multiply-adds that a GPU could do, in f32: (8, 2048, 8192) tensors with 64 taps on an H200 take
// 635 us forward and for the gradient of x, 1,129 us for that of taps.
constexpr double kForwardShare = 0.4;
constexpr double kOfTapsShare = 0.23;
constexpr double kStartSeconds = 3e-6;
// Fewer taps are summed by plans too (Engine::local_taps), and asking for one costs more than a short call.
constexpr std::int64_t kLeastTaps = 65;
// More than models have shapes: what was captured in a graph reads a plan's tables as long as it is replayed.
constexpr std::size_t kKeptProblems = 256;

std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

core::Resolved rows_problem(const FilteredRows::Shape& s) {
    Problem p;
    p.length = s.n;
    p.taps = s.k;
    p.batch = s.rows;
    p.filters = Filters::per_row;
    p.filter_count = s.filters;
    p.mode = Mode::same;
    p.origin = s.origin;
    p.operation = Operation::correlation;
    p.dtype = s.dtype;
    core::Resolved resolved = core::resolve(p);
    resolved.x.outputs = s.outputs;
    resolved.batch.out_stride = s.outputs;
    if (s.in_stride != 0) { resolved.batch.in_stride = s.in_stride; }
    if (s.taps_stride != 0) { resolved.batch.taps_stride = s.taps_stride; }
    return resolved;
}

Dtype sums_of(Dtype dtype) { return dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32; }

FilteredRows::Shape forward_shape(const DepthwiseProblem& p) {
    return {.rows = p.batch * p.channels,
            .filters = p.channels,
            .n = p.length,
            .outputs = p.outputs,
            .k = p.taps,
            .origin = p.origin,
            .dtype = p.dtype};
}

// grad_x[i] = sum_t taps[k - 1 - t] grad_y[i + t - (k - 1 - origin)]
FilteredRows::Shape shape_of_x(const DepthwiseProblem& p) {
    FilteredRows::Shape shape = forward_shape(p);
    std::swap(shape.n, shape.outputs);
    shape.origin = p.taps - 1 - p.origin;
    return shape;
}

// Of one element of the batch, grad_taps[t] = sum_o grad_y[o] x[t + o - origin].
FilteredRows::Shape shape_of_taps(const DepthwiseProblem& p, std::int64_t batch) {
    return {.rows = batch * p.channels,
            .filters = batch * p.channels,
            .n = p.length,
            .outputs = p.taps,
            .k = p.outputs,
            .origin = p.origin,
            .dtype = sums_of(p.dtype)};
}

// The largest divisor of `count` so many of which fit, each with `correlations` of the taps' length and a row that is widened.
std::int64_t at_once(const DepthwiseProblem& p, std::int64_t count, std::int64_t rows_of_each, std::int64_t correlations,
                     std::int64_t most_bytes) {
    const auto bytes = static_cast<std::int64_t>(size_of(sums_of(p.dtype)));
    const std::int64_t copied = p.dtype == sums_of(p.dtype) ? 0 : p.length;
    const std::int64_t of_one = rows_of_each * (correlations * p.taps + copied) * bytes;
    std::int64_t most = std::clamp<std::int64_t>(most_bytes / std::max<std::int64_t>(of_one, 1), 1, count);
    while (count % most != 0) { --most; }
    return most;
}

// Pieces of a row of grad_y are worth it from so many on.
constexpr std::int64_t kLeastPieces = 4;
// Of them so many wait for their sum at least, if channels are few enough for that: each sum is read and written again.
constexpr std::int64_t kLeastWaiting = 4;

void widen_rows(void* to, const void* from, std::int64_t count, Dtype from_dtype, Dtype to_dtype, int device, void* stream) {
    const cuda_abi::RowSum copy{.to = to, .from = from, .rows = 1, .count = count, .from_dtype = from_dtype, .to_dtype = to_dtype};
    call(api_for(device, "").sum_rows, device, &copy, static_cast<cuda_abi::Stream*>(stream));
}

// What direct summation takes.
double direct_seconds(const DepthwiseProblem& p, double share, const cuda_abi::Device& device) {
    const double products =
        static_cast<double>(p.batch * p.channels) * static_cast<double>(p.outputs) * static_cast<double>(p.taps);
    const double rate = device.peak_flops / (p.dtype == Dtype::f64 ? device.single_to_double : 1);
    return kStartSeconds + 2 * products / (share * rate);
}

template <class Make>
auto made_if_possible(const Make& make) -> decltype(make()) {
    try {
        return make();
    } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported) { throw; }
        return nullptr;
    }
}

// The sooner one of whole rows and pieces as long as some segment has room for beside the taps; null where neither is possible.
// (1, 256, 2^22) samples and 4,096 taps on an H100: all pieces of a row at once 69 ms at best, a piece of all channels 34, 22, 31,
// 32 and 23 with segments of 2^14 to 2^18. Summing spectra in place of correlations would save a third of the transforms (not
// tried).
std::unique_ptr<TapsGradient> make_gradient_of_taps(const DepthwiseProblem& p, int device, double copy_bytes_per_second) {
    std::unique_ptr<TapsGradient> best =
        made_if_possible([&] { return std::make_unique<GradientOfTaps>(p, device, copy_bytes_per_second); });
    constexpr std::int64_t kShortestSegment = 1 << 12;
    constexpr std::int64_t kLongestSegment = 1 << 18;
    constexpr std::int64_t kUnit = 256;  // outputs of a piece: of whole lines, whatever their type
    for (std::int64_t segment = kShortestSegment; segment <= kLongestSegment; segment *= 2) {
        const std::int64_t piece = (segment - p.taps) / kUnit * kUnit;
        if (2 * piece < p.taps || kLeastPieces * piece > p.outputs) { continue; }
        for (const auto order : {GradientInPieces::Order::pieces_of_a_row, GradientInPieces::Order::channels_of_a_piece}) {
            auto pieces = made_if_possible(
                [&] { return std::make_unique<GradientInPieces>(p, piece, order, device, copy_bytes_per_second); });
            if (pieces != nullptr && (best == nullptr || pieces->seconds() < best->seconds())) { best = std::move(pieces); }
        }
    }
    return best;
}

std::shared_ptr<const DepthwiseWays> make_ways(const DepthwiseProblem& p, DepthwiseRole role, int index) {
    auto ways = std::make_shared<DepthwiseWays>();
    cuda_abi::Device device;
    call(api_for(index, "").device, index, &device);
    const double direct = direct_seconds(p, kForwardShare, device);
    if (role == DepthwiseRole::forward) {
        ways->forward = made_if_possible([&] { return std::make_unique<FilteredRows>(forward_shape(p), index); });
        if (ways->forward != nullptr && ways->forward->seconds() >= direct) { ways->forward = nullptr; }
        if (ways->forward != nullptr) { ways->forward->prepare(); }
        return ways;
    }
    const double of_taps = direct_seconds(p, kOfTapsShare, device);
    ways->of_x = made_if_possible([&] { return std::make_unique<FilteredRows>(shape_of_x(p), index); });
    ways->of_taps = make_gradient_of_taps(p, index, device.copy_bytes_per_second);
    if (ways->of_taps != nullptr && ways->of_taps->seconds() >= of_taps) { ways->of_taps = nullptr; }
    const double least_of_taps = ways->of_taps == nullptr ? of_taps : ways->of_taps->seconds();
    if (ways->of_x != nullptr && ways->of_x->seconds() + least_of_taps >= direct + of_taps) { ways->of_x = nullptr; }
    if (ways->of_x != nullptr) { ways->of_x->prepare(); }
    if (ways->of_taps != nullptr) { ways->of_taps->prepare(); }
    return ways;
}

// The last problems, each with the ways of one role on one device in one of its lives.
class Kept {
public:
    std::shared_ptr<const DepthwiseWays> get(const DepthwiseProblem& p, DepthwiseRole role, int device) {
        const cuda_abi::Api& api = api_for(device, "");
        const Key key{p.batch,  p.channels, p.length, p.outputs, p.taps,
                      p.origin, p.dtype,    role,     device,    api.life == nullptr ? 0 : api.life(device)};
        const std::lock_guard lock(mutex_);
        const auto found = std::find_if(all_.begin(), all_.end(), [&](const auto& kept) { return kept.first == key; });
        if (found != all_.end()) { return found->second; }
        all_.emplace_front(key, make_ways(p, role, device));
        if (all_.size() > kKeptProblems) { all_.pop_back(); }
        return all_.front().second;
    }

private:
    using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, Dtype, DepthwiseRole,
                           int, std::uint64_t>;
    std::mutex mutex_;
    std::deque<std::pair<Key, std::shared_ptr<const DepthwiseWays>>> all_;
};

}  // namespace

FilteredRows::FilteredRows(const Shape& shape, int device)
    : problem_(rows_problem(shape)),
      request_{.accuracy = Accuracy::standard, .threads = 1, .taps_come_later = true, .facts = {}},
      choice_(core::choose(engine(device), problem_, request_, "")) {}

void FilteredRows::prepare() { executable_ = choice_.algorithm->prepare(problem_, nullptr, request_); }

void FilteredRows::execute(void* out, const void* in, const core::GivenTaps& taps, std::span<std::byte> workspace,
                           void* stream) const {
    executable_->execute_with_taps(core::whole_output(problem_, out), core::whole_input(problem_, in), taps, workspace, stream);
}

GradientOfTaps::GradientOfTaps(const DepthwiseProblem& problem, int device, double copy_bytes_per_second)
    : problem_(problem),
      device_(device),
      copy_bytes_per_second_(copy_bytes_per_second),
      sums_(sums_of(problem.dtype)),
      at_once_(at_once(problem, problem.batch, problem.channels, 1, kMostRowsBytes)),
      rows_(shape_of_taps(problem, at_once_), device) {}

std::size_t GradientOfTaps::bytes_of(std::int64_t rows, std::int64_t length) const {
    return aligned(static_cast<std::size_t>(rows * problem_.channels * length) * size_of(sums_));
}

double GradientOfTaps::seconds() const {
    const auto times = static_cast<double>(problem_.batch / at_once_);
    const double summed = sums_nothing() ? 0 : 2.0 * static_cast<double>(bytes_of(problem_.batch, problem_.taps));
    const double copied = widens() ? 2.0 * static_cast<double>(bytes_of(problem_.batch, problem_.length)) : 0;
    return times * (rows_.seconds() + kStartSeconds) + (summed + copied) / copy_bytes_per_second_;
}

// Rows' correlations, the sum so far, samples as wide as sums, and what the rows need.
std::size_t GradientOfTaps::workspace_bytes() const {
    const std::size_t rows = sums_nothing() ? 0 : bytes_of(at_once_, problem_.taps) + bytes_of(1, problem_.taps);
    return rows + (widens() ? bytes_of(at_once_, problem_.length) : 0) + rows_.workspace_bytes();
}

void GradientOfTaps::execute(void* grad_taps, const void* grad_y, const void* x, std::span<std::byte> workspace,
                             void* stream) const {
    const cuda_abi::Api& api = api_for(device_, "");
    auto* const native = static_cast<cuda_abi::Stream*>(stream);
    const auto take = [&](std::size_t bytes) {
        void* const at = workspace.data();
        workspace = workspace.subspan(bytes);
        return at;
    };
    core::GivenTaps taps{.data = grad_y, .dtype = problem_.dtype};
    if (sums_nothing()) { return rows_.execute(grad_taps, x, taps, workspace, stream); }
    void* const rows = take(bytes_of(at_once_, problem_.taps));
    void* const so_far = take(bytes_of(1, problem_.taps));
    void* const widened = widens() ? take(bytes_of(at_once_, problem_.length)) : nullptr;
    const auto at = [&](const void* tensor, std::int64_t batch, std::int64_t length) {
        const std::size_t before = static_cast<std::size_t>(batch * problem_.channels * length) * size_of(problem_.dtype);
        return static_cast<const std::byte*>(tensor) + before;
    };
    for (std::int64_t batch = 0; batch < problem_.batch; batch += at_once_) {
        const void* samples = at(x, batch, problem_.length);
        if (widens()) {
            widen_rows(widened, samples, at_once_ * problem_.channels * problem_.length, problem_.dtype, sums_, device_, stream);
            samples = widened;
        }
        taps.data = at(grad_y, batch, problem_.outputs);
        rows_.execute(rows, samples, taps, workspace, stream);
        const bool is_last = batch + at_once_ == problem_.batch;
        const cuda_abi::RowSum sum{.to = is_last ? grad_taps : so_far,
                                   .from = rows,
                                   .before = batch == 0 ? nullptr : so_far,
                                   .rows = at_once_,
                                   .count = problem_.channels * problem_.taps,
                                   .from_dtype = sums_,
                                   .to_dtype = is_last ? problem_.dtype : sums_};
        call(api.sum_rows, device_, &sum, native);
    }
}

GradientInPieces::GradientInPieces(const DepthwiseProblem& problem, std::int64_t piece, Order order, int device,
                                   double copy_bytes_per_second, std::int64_t most_bytes)
    : problem_(problem),
      device_(device),
      copy_bytes_per_second_(copy_bytes_per_second),
      sums_(sums_of(problem.dtype)),
      order_(order),
      piece_(piece),
      first_(std::max<std::int64_t>(problem.origin, 0)) {
    const DepthwiseProblem& p = problem_;
    const bool across = order == Order::channels_of_a_piece;
    const std::int64_t outputs = std::min(p.outputs, p.length + p.origin);  // those behind meet no sample
    const std::int64_t inner_end = std::min(outputs, p.length + p.origin - p.taps + 1);
    pieces_ = std::max<std::int64_t>(inner_end - first_, 0) / piece;
    if (pieces_ < kLeastPieces) { throw Error(ErrorCode::unsupported, "gradient of taps: rows too short for pieces"); }
    channels_ = across ? at_once(p, p.channels, 1, kLeastWaiting, most_bytes) : 1;
    FilteredRows::Shape shape{.rows = channels_,
                              .filters = channels_,
                              .outputs = p.taps,
                              .dtype = sums_,
                              .in_stride = p.length,
                              .taps_stride = p.outputs};
    if (first_ > 0) {
        shape.k = first_;
        shape.n = std::min(p.length, first_ + p.taps - 1 - p.origin);
        shape.origin = p.origin;
        head_.emplace(shape, device);
    }
    shape.origin = 0;
    const std::int64_t left = first_ + pieces_ * piece;
    if (left < outputs) {
        shape.k = outputs - left;
        shape.n = p.length - (left - p.origin);
        tail_.emplace(shape, device);
    }
    shape.k = piece;
    shape.n = piece + p.taps - 1;
    if (!across) {
        shape.rows = shape.filters = pieces_;
        shape.in_stride = shape.taps_stride = piece;
    }
    inner_.emplace(shape, device);
    const auto of_each = static_cast<std::int64_t>(bytes_of(channels_, p.taps));
    at_once_ = across ? std::clamp<std::int64_t>(most_bytes / of_each, kLeastWaiting, correlations()) : correlations();
}

void GradientInPieces::prepare() {
    for (auto* const part : {&head_, &inner_, &tail_}) {
        if (*part) { (*part)->prepare(); }
    }
}

std::size_t GradientInPieces::bytes_of(std::int64_t rows, std::int64_t length) const {
    return aligned(static_cast<std::size_t>(rows * length) * size_of(sums_));
}

double GradientInPieces::seconds() const {
    const bool across = order_ == Order::channels_of_a_piece;
    double copied = 2.0 * static_cast<double>(bytes_of(channels_ * correlations(), problem_.taps));
    if (widens()) { copied += 2.0 * static_cast<double>(bytes_of(channels_, problem_.length)); }
    double of_group =
        kStartSeconds + copied / copy_bytes_per_second_ + inner_->seconds() * static_cast<double>(across ? pieces_ : 1);
    for (const auto* const part : {&head_, &tail_}) {
        if (*part) { of_group += (*part)->seconds(); }
    }
    return of_group * static_cast<double>(problem_.batch * problem_.channels / channels_);
}

// Correlations that wait, sums so far, rows as wide as sums, and what the parts need, one after the other.
std::size_t GradientInPieces::workspace_bytes() const {
    std::size_t parts = 0;
    for (const auto* const part : {&head_, &inner_, &tail_}) {
        if (*part) { parts = std::max(parts, (*part)->workspace_bytes()); }
    }
    return bytes_of(at_once_ * channels_, problem_.taps) + (keeps_sums() ? bytes_of(problem_.channels, problem_.taps) : 0) +
           (widens() ? bytes_of(channels_, problem_.length) : 0) + parts;
}

// Correlations of some channels as they are made, and their sum.
class GradientInPieces::Sums {
public:
    // `so_far` holds a sum already if `goes_on`.
    Sums(const GradientInPieces& way, void* correlated, void* so_far, bool goes_on, void* stream)
        : way_(way), correlated_(correlated), so_far_(so_far), before_(goes_on ? so_far : nullptr), stream_(stream) {}

    // Where the next `rows` of them go.
    void* next(std::int64_t rows) {
        if (waiting_ + rows > way_.at_once_) { sum(so_far_, way_.sums_); }
        const std::size_t bytes = static_cast<std::size_t>(waiting_ * count()) * size_of(way_.sums_);
        waiting_ += rows;
        return static_cast<std::byte*>(correlated_) + bytes;
    }
    void sum(void* to, Dtype dtype) {
        const cuda_abi::RowSum sum{.to = to,
                                   .from = correlated_,
                                   .before = before_,
                                   .rows = waiting_,
                                   .count = count(),
                                   .from_dtype = way_.sums_,
                                   .to_dtype = dtype};
        call(api_for(way_.device_, "").sum_rows, way_.device_, &sum, static_cast<cuda_abi::Stream*>(stream_));
        before_ = so_far_;
        waiting_ = 0;
    }

private:
    [[nodiscard]] std::int64_t count() const { return way_.channels_ * way_.problem_.taps; }

    const GradientInPieces& way_;
    void* correlated_;
    void* so_far_;
    const void* before_;
    void* stream_;
    std::int64_t waiting_ = 0;
};

void GradientInPieces::execute(void* grad_taps, const void* grad_y, const void* x, std::span<std::byte> workspace,
                               void* stream) const {
    const DepthwiseProblem& p = problem_;
    const auto take = [&](std::size_t bytes) {
        std::byte* const at = workspace.data();
        workspace = workspace.subspan(bytes);
        return at;
    };
    std::byte* const correlated = take(bytes_of(at_once_ * channels_, p.taps));
    std::byte* const so_far = keeps_sums() ? take(bytes_of(p.channels, p.taps)) : nullptr;
    std::byte* const widened = widens() ? take(bytes_of(channels_, p.length)) : nullptr;
    const std::size_t bytes = size_of(p.dtype);
    const std::size_t wide = size_of(sums_);
    const auto at = [](auto* from, std::int64_t elements, std::size_t of) {
        using Bytes = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(from)>>, const std::byte, std::byte>;
        return static_cast<Bytes*>(from) + static_cast<std::size_t>(elements) * of;
    };
    for (std::int64_t row = 0; row < p.batch * p.channels; row += channels_) {
        const void* samples = at(x, row * p.length, bytes);
        if (widens()) {
            widen_rows(widened, samples, channels_ * p.length, p.dtype, sums_, device_, stream);
            samples = widened;
        }
        const std::int64_t tap = row % p.channels * p.taps;
        void* const sums = so_far == nullptr ? nullptr : at(so_far, tap, wide);
        Sums waiting(*this, correlated, sums, row >= p.channels, stream);
        const auto correlate = [&](const FilteredRows& part, std::int64_t rows, std::int64_t first_output) {
            const core::GivenTaps taps{.data = at(grad_y, row * p.outputs + first_output, bytes), .dtype = p.dtype};
            const void* const from = at(samples, std::max<std::int64_t>(first_output - p.origin, 0), wide);
            part.execute(waiting.next(rows), from, taps, workspace, stream);
        };
        if (head_) { correlate(*head_, 1, 0); }
        const std::int64_t together = order_ == Order::pieces_of_a_row ? pieces_ : 1;
        for (std::int64_t i = 0; i < pieces_; i += together) { correlate(*inner_, together, first_ + i * piece_); }
        if (tail_) { correlate(*tail_, 1, first_ + pieces_ * piece_); }
        const bool is_last = row / p.channels == p.batch - 1;
        waiting.sum(is_last ? at(grad_taps, tap, bytes) : sums, is_last ? p.dtype : sums_);
    }
}

std::shared_ptr<const DepthwiseWays> depthwise_ways(const DepthwiseProblem& problem, DepthwiseRole role, int device) {
    static const auto kDirect = std::make_shared<const DepthwiseWays>();
    if (problem.taps < kLeastTaps) { return kDirect; }
    static Kept& kept = *new Kept;  // as the library: never destroyed
    return kept.get(problem, role, device);
}

}  // namespace tapline::gpu_host
