#include "cpu/overlap_save/local_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/direct/direct_executable.hpp"
#include "cpu/element_types.hpp"
#include "cpu/engine.hpp"

namespace tapline::cpu {
namespace {

// Shorter filters have windows that hold no whole passage, and are summed directly in less time.
constexpr std::int64_t kFewestLocalTaps = 2 * kFftPassage;
// The least loudness of a passage, beside the mean of all that the transform reads: a sixteenth of the power, a quarter of the
// size. With 127 taps the transform's error is 1.6e-7 of an output as loud as all others, where direct summation's is 1.5e-7, so at
// most four times as much of the quietest. Random samples pass (the power of 32 of them varies by 25%), and so do speech and music
// within a passage; silence beside sound does not.
constexpr double kLeastShare = 1.0 / 16;

// Below, squares lose digits.
constexpr double kLeastPower = 1e-30, kLeastPowerDouble = 1e-290;

}  // namespace

bool keeps_errors_local(const core::Resolved& p, const core::Request& request) {
    return request.accuracy == Accuracy::standard && p.x.k >= kFewestLocalTaps && p.x.k <= engine().local_taps(1) && p.filters == 1;
}

LocalPassages local_passages(Boundary boundary, std::int64_t n, std::int64_t begin, std::int64_t needed_end, std::int64_t size) {
    // Samples of a zero boundary are absent: they make no passage quiet.
    const bool zero = boundary == Boundary::zero;
    LocalPassages p;
    p.from = zero ? std::clamp<std::int64_t>(-begin, 0, size) : 0;
    p.to = std::clamp<std::int64_t>(needed_end - begin, p.from, size);
    if (zero && n != kUnknownLength) { p.to = std::clamp<std::int64_t>(n - begin, p.from, p.to); }
    p.first = std::min((p.from + kFftPassage - 1) / kFftPassage * kFftPassage, size);
    p.last = std::max(p.to / kFftPassage * kFftPassage, p.first);
    return p;
}

bool is_even_enough(double total, double least, std::int64_t size, bool complex, std::size_t real_bytes) {
    const double passages = static_cast<double>(size / kFftPassage) * (complex ? 2 : 1);
    const double mean = total / passages;
    // A NaN or an infinity among the samples makes it false.
    return mean > (real_bytes == sizeof(float) ? kLeastPower : kLeastPowerDouble) && least >= kLeastShare * mean &&
           std::isfinite(mean);
}

template <class T>
LocalSums<T>::LocalSums(const core::Resolved& problem, const void* taps, const core::Request& request, const SegmentIo<T>& io,
                        const BlockFft<T>& fft)
    : problem_(problem), io_(io), fft_(fft), finite_taps_(request.facts.finite) {
    if (!keeps_errors_local(problem, request)) { return; }
    core::Resolved one = problem;
    one.batch.length = 1;
    core::Request serial = request;
    serial.threads = 1;
    direct_ = with_element_types(one, [&]<class X, class H>(X, H) -> std::unique_ptr<const core::Executable> {
        return std::make_unique<const DirectExecutable<X, H>>(one, taps, serial);
    });
}

template <class T>
std::size_t LocalSums<T>::workspace_bytes() const {
    return is_active() ? (direct_->workspace_bytes() + 63) / 64 * 64 : 0;
}

// Positions [first, last) of the windows; whether passages among them count, of which there are whole ones then.
template <class T>
void LocalSums<T>::add(Loudness& loudness, const T* re, const T* im, std::int64_t pitch, std::int64_t first, std::int64_t last,
                       bool counts) const {
    T unheard = 0;
    const std::int64_t columns = fft_.tables().columns;
    while (first < last) {
        const std::int64_t column = first % columns;
        const std::int64_t count = std::min(columns - column, last - first);
        const std::int64_t at = first / columns * pitch + column;
        loudness.total +=
            fft_.kernels().power(re + at, im == nullptr ? nullptr : im + at, count, counts ? &loudness.least : &unheard);
        first += count;
    }
}

// One side's window, or both parts of a complex signal's.
template <class T>
void LocalSums<T>::add_side(Loudness& loudness, const Call& call, const Unit& unit, int side, const FftSource<T>& source) const {
    const bool complex = io_.is_complex_signal();
    const T* const re = side == 0 ? source.re : source.im;
    const T* const im = complex ? source.im : nullptr;
    const std::int64_t size = fft_.size();
    const std::int64_t begin = io_.window_begin(unit, side);
    const LocalPassages passages = local_passages(problem_.x.boundary, call.input.n, begin, call.needed_end, size);
    const std::int64_t first = passages.first, last = passages.last;
    add(loudness, re, im, source.pitch, 0, first, false);
    add(loudness, re, im, source.pitch, first, last, true);
    add(loudness, re, im, source.pitch, last, size, false);
    // Those at the signal's ends, wherever they begin.
    const auto check = [&](std::int64_t at) {
        T power = 0;
        for (std::int64_t p = at; p < at + kFftPassage; ++p) {
            const std::int64_t place = p / fft_.tables().columns * source.pitch + p % fft_.tables().columns;
            power += re[place] * re[place] + (im == nullptr ? T{0} : im[place] * im[place]);
        }
        loudness.least = std::min(loudness.least, power);
    };
    if (passages.is_short()) { loudness.least = 0; }
    for (const std::int64_t at : passages.at_ends()) {
        if (at >= 0) { check(at); }
    }
}

template <class T>
bool LocalSums<T>::is_even(const Call& call, const Unit& unit, const FftSource<T>& source) const {
    if (!finite_taps_) { return false; }
    Loudness loudness{.total = 0, .least = std::numeric_limits<T>::infinity()};
    const bool complex = io_.is_complex_signal();
    const int sides = complex || !unit.both ? 1 : 2;
    for (int side = 0; side < sides; ++side) { add_side(loudness, call, unit, side, source); }
    return is_even_enough(static_cast<double>(loudness.total), static_cast<double>(loudness.least), fft_.size(), complex,
                          sizeof(T));
}

template <class T>
void LocalSums<T>::sum(const Call& call, const Unit& unit, std::span<std::byte> workspace) const {
    const auto out_bytes = static_cast<std::int64_t>(size_of(problem_.output_dtype));
    const auto in_bytes = static_cast<std::int64_t>(size_of(problem_.dtype));
    for (int side = 0; side < (io_.is_complex_signal() || !unit.both ? 1 : 2); ++side) {
        const auto wanted = io_.wanted(call, unit, side);
        if (wanted.count == 0) { continue; }
        core::Output output = call.output;
        output.first = io_.window_begin(unit, side) + problem_.x.origin + wanted.first;
        output.count = wanted.count;
        output.data = static_cast<std::byte*>(call.output.data) +
                      out_bytes * (unit.row[side] * output.batch_stride + (output.first - call.output.first) * output.stride);
        core::Input input = call.input;
        for (core::Piece* const piece : {&input.main, &input.extra}) {
            if (piece->data == nullptr) { continue; }
            piece->data = static_cast<const std::byte*>(piece->data) + in_bytes * unit.row[side] * piece->batch_stride;
        }
        direct_->execute(output, input, workspace, nullptr);
    }
}

template class LocalSums<float>;
template class LocalSums<double>;

}  // namespace tapline::cpu
