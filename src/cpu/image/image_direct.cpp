#include "cpu/image/image_direct.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>

#include "core/plan/parallel.hpp"
#include "core/problem/window.hpp"
#include "cpu/algorithms.hpp"
#include "cpu/element_types.hpp"
#include "cpu/image/image_cost.hpp"
#include "cpu/image/image_stack.hpp"
#include "cpu/image/line_masks.hpp"
#include "cpu/image/pixel_algorithm.hpp"

namespace tapline::cpu {
namespace {

using core::Request;
using core::Resolved;

// Input rows in work, so that they stay in the L2 cache beside what passes through.
constexpr std::int64_t kRingBytes = std::int64_t{512} << 10;
// Masks of more taps are summed in groups, groups of groups and the rest, so that no chain of additions is long: where a mask and
// an image of bytes are flat every rounding goes the same way, and 1,256 equal products in one sum end up to 1.8e-5 off, where the
// promise is 1e-6. A chain of 64 leaves at most 9.3e-7, 32 half of that.
constexpr std::int64_t kTapsInTurn = 64;
// The same of one plane of a volume's mask, whose planes' sums are added in turn.
constexpr std::int64_t kPlaneTapsInTurn = 49;
constexpr std::int64_t kGroup = 20;
constexpr std::int64_t kGroupsInTurn = 32;
// Planes of a volume's mask.
constexpr std::int64_t kMostLayers = 64;
constexpr std::int64_t kLeastBlock = 256, kMostBlock = 4096;
// Rows of a task where rows go along the image, and those of them that go together.
constexpr std::int64_t kMostBand = 60, kRowsAlong = 6;
constexpr std::int64_t kLeastPiece = 1024;  ///< outputs of a row in a task
// A tile's loads and stores count as so many products an output: 5x5, 7x7, 11x11, 15x15 on 2048 x 2048 f32 with one thread
// take 2.3, 3.9, 8.5, 14.4 ms; 2.3, 3.8, 8.1, 14.4 predicted.
constexpr double kProductsOfAnOutput = 13.5;
// What a row has beside strips of some vectors is summed a vector at a time, which takes so many times as long, and as whole ones:
// 1,000 x 17 and 1,000 x 70 under 11 x 11 taps take 132 and 241 us, 4,710 x 8 under 31 x 31 2.07 ms. Sums in groups take so many
// times as long as others (1,000 x 1,000 under 11 x 11 2.69 ms; all of this on one thread, AVX-512).
constexpr double kAloneFactor = 1.45, kGroupsFactor = 1.38;
// An output's share of converting the input and rounding the output: u8 with 3x3 and 7x7 takes 2.0 and 4.5 ms.
constexpr double kConvertProducts = 10;

// Beside them a plane of outputs and a row of it.
constexpr double kPlaneSeconds = 0.2e-6, kRowSeconds = 20e-9;

template <class Address>
Address* at(Address* begin, std::int64_t elements, Dtype dtype) {
    using Byte = std::conditional_t<std::is_const_v<Address>, const std::byte, std::byte>;
    return static_cast<Byte*>(begin) + elements * static_cast<std::int64_t>(size_of(dtype));
}

// Whether rows may be summed whole, as pixels lie, under the kernel for 3 x 3: what is beside them is zeros.
template <class T>
bool goes_by_three(const Resolved& p, const ImageLines<T>& lines, const ImageKernels<T>& kernels) {
    const auto side = [](const core::Axis& axis) { return axis.k == 3 && axis.origin >= 0 && axis.origin < 3; };
    return kernels.three != nullptr && p.rank == 2 && side(p.x) && side(p.y) && p.x.boundary == Boundary::zero &&
           p.y.boundary != Boundary::constant && lines.step() == 1 && lines.is_in_place() && lines.is_plain_output() &&
           !p.complex_taps && p.x.outputs - p.x.origin <= p.x.n && p.x.n >= 3;
}

bool sums_in_groups(const Resolved& p) { return p.y.k * p.x.k > (p.rank == 2 ? kTapsInTurn : kPlaneTapsInTurn); }

}  // namespace

template <class T>
ImageDirect<T>::ImageDirect(const Resolved& problem, const void* taps, const Request& request, double seconds)
    : problem_(problem),
      target_(current_target()),
      kernels_(image_kernels(target_).of<T>()),
      lines_(problem_, kernels_),
      threads_(core::worthwhile_threads(seconds, request.threads)),
      seconds_(seconds),
      plane_taps_(problem.y.k * problem.x.k),
      in_groups_(sums_in_groups(problem)),
      three_(goes_by_three(problem, lines_, kernels_)),
      rows_(kernels_.call_rows(problem.y.k, problem.x.k, false)),
      stream_rows_(kernels_.call_rows(problem.y.k, problem.x.k, true)),
      ring_(problem.y.k + rows_ - 1 + lines_.rows_together() - 1) {
    const auto count = static_cast<std::size_t>(problem.filters * problem.taps());
    const T* from = static_cast<const T*>(taps);
    const std::size_t parts = problem.complex_taps ? 2 : 1;
    for (std::size_t part = 0; part < parts; ++part) {
        for (std::size_t t = 0; t < count; ++t) { taps_[part].push_back(from[t * parts + part]); }
        if (in_groups_) { put_columns_together(taps_[part]); }
    }
    const std::int64_t halo = (problem.x.k - 1) * lines_.step();
    const std::int64_t fitting = kRingBytes / static_cast<std::int64_t>(sizeof(T)) / (ring_ * problem.z.k) - halo;
    block_ = std::min(std::clamp(fitting / kImagePadding * kImagePadding, kLeastBlock, kMostBlock),
                      whole_vectors(lines_.out_elements()));
    pitch_ = whole_vectors(block_ + halo) + kImagePadding;
    sums_pitch_ = block_ + kImagePadding;
}

// In a slot: for each plane of the mask a window's lines, sums twice, what is beyond the volume, pointers to rows.
template <class T>
std::size_t ImageDirect<T>::slot_bytes() const {
    const std::int64_t elements = problem_.z.k * ring_ * pitch_ + 2 * rows_ * sums_pitch_ + beyond_elements();
    const std::size_t bytes =
        static_cast<std::size_t>(elements) * sizeof(T) + static_cast<std::size_t>(problem_.z.k * ring_) * sizeof(const T*);
    return (bytes + 63) / 64 * 64;
}

template <class T>
void ImageDirect<T>::execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace, void*) const {
    if (three_) { return execute_three(output, input, workspace); }
    void* const out = output.data;
    const void* const in = input.main.data;
    const ImageTasks tasks = divide(problem_, lines_, out, block_, 2 * problem_.y.k, threads_, true);
    const auto body = [&](std::int64_t task, int slot) {
        const std::int64_t layer = task / tasks.blocks() / tasks.bands, z = layer % problem_.z.outputs;
        const std::int64_t band = task / tasks.blocks() % tasks.bands, first = band * tasks.band;
        tasks.visit_block(task % tasks.blocks(), [&](const Segment& segment) {
            run({.tasks = tasks,
                 .plane = lines_.plane(layer / problem_.z.outputs),
                 .segment = segment,
                 .z = z,
                 .first = first,
                 .last = std::min(first + tasks.band, problem_.y.outputs),
                 .out = at(out, z * problem_.z.out_stride, problem_.output_dtype),
                 .in = in,
                 .scratch = workspace.data() + static_cast<std::size_t>(slot) * slot_bytes()});
        });
    };
    core::parallel_for(tasks.tasks() * problem_.z.outputs, threads_, std::cref(body), seconds_);
}

template <class T>
void ImageDirect<T>::execute_three(const core::Output& output, const core::Input& input, std::span<std::byte> workspace) const {
    const std::int64_t rows = problem_.y.outputs, planes = lines_.planes();
    const std::int64_t elements = (problem_.y.out_stride | (planes > 1 ? problem_.batch.out_stride : 0));
    const bool stream = image_goes_past_caches(problem_, threads_) && elements * static_cast<std::int64_t>(sizeof(T)) % 64 == 0;
    const std::int64_t wanted = (core::good_number_of_tasks(seconds_, threads_) + planes - 1) / planes;
    const std::int64_t band = std::clamp((rows / wanted + kRowsAlong - 1) / kRowsAlong * kRowsAlong, kRowsAlong, kMostBand);
    const std::int64_t bands = (rows + band - 1) / band;
    // Few long rows are shared out by pieces of their columns.
    const std::int64_t pieces = std::clamp(wanted / bands, std::int64_t{1}, (problem_.x.outputs + kLeastPiece - 1) / kLeastPiece);
    const std::int64_t piece = whole_vectors((problem_.x.outputs + pieces - 1) / pieces);
    const auto body = [&](std::int64_t task, int slot) {
        const std::int64_t y = task / pieces % bands * band, first = task % pieces * piece;
        run_three(output.data, input.main.data, task / pieces / bands, y, std::min(band, rows - y),
                  {first, std::min(piece, problem_.x.outputs - first)}, stream,
                  workspace.data() + static_cast<std::size_t>(slot) * slot_bytes());
    };
    core::parallel_for(planes * bands * pieces, threads_, std::cref(body), seconds_);
}

template <class T>
void ImageDirect<T>::run_three(void* out, const void* in, std::int64_t plane, std::int64_t y, std::int64_t rows, Segment columns,
                               bool stream, std::byte* scratch) const {
    constexpr std::int64_t kRows = kMostBand + 2;
    std::array<const T*, kRows> lines;  // NOLINT(cppcoreguidelines-pro-type-member-init): as many as are read are written
    T* const zeros = reinterpret_cast<T*>(scratch);
    ImageCall<T> call;
    call.in = lines.data();
    call.taps = taps_[0].data() + lines_.mask(lines_.plane(plane)) * problem_.taps();
    call.height = call.width = 3;
    call.out_pitch = problem_.y.out_stride;
    call.rows = rows;
    call.stream = stream;
    bool absent = false;
    for (std::int64_t first = columns.first, last = columns.first + columns.count; first < last; first += block_) {
        call.count = std::min(block_, last - first);
        const std::int64_t begin = first - problem_.x.origin, end = begin + call.count + 2;
        call.lead = std::max<std::int64_t>(-begin, 0);
        call.trail = std::max<std::int64_t>(end - problem_.x.n, 0);
        for (std::int64_t r = 0; r < rows + 2; ++r) {
            const std::int64_t at = core::boundary_index(problem_.y.boundary, y + r - problem_.y.origin, problem_.y.n);
            if (at < 0 && !absent) {
                std::fill_n(zeros, block_ + 2, T{});
                absent = true;
            }
            lines[static_cast<std::size_t>(r)] = at < 0 ? zeros
                                                        : static_cast<const T*>(in) +
                                                              lines_.plane(plane).image * problem_.batch.in_stride +
                                                              at * problem_.y.in_stride + begin;
        }
        call.out = static_cast<T*>(out) + lines_.plane(plane).image * problem_.batch.out_stride + y * problem_.y.out_stride + first;
        kernels_.three(call);
    }
    if (stream) { kernels_.flush(); }
}

template <class T>
void ImageDirect<T>::execute_rectangle(void* out, const void* in, const Plane& plane, std::int64_t y, std::int64_t rows,
                                       std::int64_t first, std::int64_t count, std::byte* scratch) const {
    const ImageTasks tasks;
    for (std::int64_t done = 0; done < count; done += block_) {
        run({.tasks = tasks,
             .plane = plane,
             .segment = {first + done, std::min(block_, count - done)},
             .z = 0,
             .first = y,
             .last = y + rows,
             .out = out,
             .in = in,
             .scratch = scratch});
    }
}

template <class T>
std::string ImageDirect<T>::describe() const {
    return std::string(to_string(target_)) + ", tiles of " + std::to_string(rows_) + " rows, segments of " +
           std::to_string(block_) + " elements";
}

template <class T>
void ImageDirect<T>::run(const Job& job) const {
    const ImageTasks& tasks = job.tasks;
    const Segment& segment = job.segment;
    T* const lines = reinterpret_cast<T*>(job.scratch);
    T* const sums = lines + problem_.z.k * ring_ * pitch_;
    T* const beyond = sums + 2 * rows_ * sums_pitch_;
    const T** const rows = reinterpret_cast<const T**>(beyond + beyond_elements());
    const std::int64_t vectors = whole_vectors(segment.count);
    const std::int64_t halo = (problem_.x.k - 1) * lines_.step(), left = segment.first - problem_.x.origin * lines_.step();
    const bool inner = tasks.is_inner(segment);
    const bool stream = tasks.stream && (inner || !tasks.has_edges());
    const bool adds = in_groups_ || problem_.z.k > 1;
    const bool in_vectors = vectors == segment.count || (!adds && segment.count >= kImagePadding);
    const bool in_place = in_vectors && lines_.is_plain_output() && !problem_.complex_taps && (!stream || (inner && !adds));
    std::array<Layer, kMostLayers> layers;
    std::size_t count = 0;
    for (std::int64_t tz = 0; tz < problem_.z.k; ++tz) {
        const std::int64_t z = core::boundary_index(problem_.z.boundary, job.z + tz - problem_.z.origin, problem_.z.n);
        if (z < 0 && problem_.z.boundary != Boundary::constant) { continue; }
        Layer& layer = layers[count++];
        layer.tz = static_cast<std::size_t>(tz);
        layer.rows = rows + tz * ring_;
        if (z >= 0) {
            layer.window.emplace(lines_, at(job.in, z * problem_.z.in_stride, problem_.dtype), job.plane, left, vectors + halo,
                                 lines + tz * ring_ * pitch_, pitch_, layer.rows, ring_, vectors - segment.count);
        } else {
            lines_.fill_beyond(beyond, left, vectors + halo);
            std::fill_n(beyond + pitch_, vectors + halo, T{});
        }
    }
    ImageCall<T> call;
    call.height = problem_.y.k;
    call.width = problem_.x.k;
    call.step = lines_.step();
    call.count = in_place ? segment.count : vectors;
    const std::int64_t together = stream ? stream_rows_ : rows_;
    for (std::int64_t y = job.first; y < job.last; y += together) {
        call.rows = std::min(together, job.last - y);
        const std::int64_t top = y - problem_.y.origin, window_rows = call.rows + problem_.y.k - 1;
        const auto sum_layers = [&](T* to, std::int64_t pitch, std::size_t part) {
            call.out = to;
            call.out_pitch = pitch;
            if (count == 0) {
                for (std::int64_t r = 0; r < call.rows; ++r) { std::fill_n(to + r * pitch, call.count, T{}); }
            }
            for (std::size_t i = 0; i < count; ++i) {
                call.in = layers[i].window ? layers[i].window->at(top, window_rows)
                                           : rows_beyond(layers[i].rows, beyond, top, window_rows);
                call.accumulate = i > 0;
                sum(call, job.plane, part, layers[i].tz);
            }
        };
        if (in_place) {
            call.stream = stream;
            sum_layers(lines_.target(job.out, job.plane, y, segment.first, call.count), problem_.y.out_stride * lines_.parts(), 0);
            continue;
        }
        sum_layers(sums, sums_pitch_, 0);
        if (problem_.complex_taps) {
            sum_layers(sums + rows_ * sums_pitch_, sums_pitch_, 1);
            combine(sums, call.rows, segment.count);
        }
        lines_.store(job.out, job.plane, y, call.rows, segment.first, segment.count, sums, sums_pitch_, stream);
    }
    if (stream) { kernels_.flush(); }
}

// Rows of a plane of constants; those of zeros are where the constant's product with a row beyond a zero boundary is absent.
template <class T>
const T* const* ImageDirect<T>::rows_beyond(const T** rows, const T* beyond, std::int64_t top, std::int64_t count) const {
    for (std::int64_t r = 0; r < count; ++r) {
        const bool absent = problem_.y.boundary == Boundary::zero && (top + r < 0 || top + r >= problem_.y.n);
        rows[r] = absent ? beyond + pitch_ : beyond;
    }
    return rows;
}

// Columns of the mask that are summed together.
template <class T>
std::int64_t ImageDirect<T>::group_width() const {
    const std::int64_t parts = (problem_.x.k + kGroup - 1) / kGroup;
    return (problem_.x.k + parts - 1) / parts;
}

// Of each mask the columns of one group, row after row, and behind them those of the next.
template <class T>
void ImageDirect<T>::put_columns_together(std::vector<T>& taps) const {
    const std::vector<T> masks = taps;
    const std::int64_t width = group_width(), height = problem_.y.k;
    auto to = taps.begin();
    for (auto mask = masks.begin(); mask != masks.end(); mask += plane_taps_) {
        for (std::int64_t j = 0; j < problem_.x.k; j += width) {
            const std::int64_t columns = std::min(width, problem_.x.k - j);
            for (std::int64_t i = 0; i < height; ++i) { to = std::copy_n(mask + i * problem_.x.k + j, columns, to); }
        }
    }
}

// Of one plane of the mask.
template <class T>
void ImageDirect<T>::sum(const ImageCall<T>& whole, const Plane& plane, std::size_t part, std::size_t tz) const {
    const T* const taps = taps_[part].data() + lines_.mask(plane) * problem_.taps() + static_cast<std::int64_t>(tz) * plane_taps_;
    ImageCall<T> call = whole;
    if (!in_groups_) {
        call.taps = taps;
        return kernels_.sums(call);
    }
    const std::int64_t width = group_width();
    call.group_rows = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(kGroup / width)));
    const std::int64_t height = call.group_rows * kGroupsInTurn;
    for (std::int64_t i = 0; i < problem_.y.k; i += height) {
        for (std::int64_t j = 0; j < problem_.x.k; j += width) {
            call.in = whole.in + i;
            call.offset = j * call.step;
            call.height = std::min(height, problem_.y.k - i);
            call.width = std::min(width, problem_.x.k - j);
            call.taps = taps + j * problem_.y.k + i * call.width;
            call.accumulate = whole.accumulate || i + j > 0;
            kernels_.sums(call);
        }
    }
}

// (a, b) of the products with imaginary parts belongs to the output as (-b, a).
template <class T>
void ImageDirect<T>::combine(T* sums, std::int64_t rows, std::int64_t count) const {
    for (std::int64_t r = 0; r < rows; ++r) {
        T* const real = sums + r * sums_pitch_;
        const T* const imaginary = real + rows_ * sums_pitch_;
        for (std::int64_t e = 0; e < count; e += 2) {
            real[e] -= imaginary[e + 1];
            real[e + 1] += imaginary[e];
        }
    }
}

template class ImageDirect<float>;
template class ImageDirect<double>;

namespace {

class DirectAlgorithm final : public core::Algorithm {
public:
    [[nodiscard]] std::string_view name() const override { return "direct"; }
    [[nodiscard]] std::string_view summary() const override { return "every product, tiles of outputs in SIMD registers"; }
    [[nodiscard]] bool takes_rank(int rank) const override { return rank >= 2; }
    [[nodiscard]] core::Support supports(const Resolved& problem, const Request& request) const override {
        if (problem.z.k > kMostLayers) {
            return core::Support::no("more than " + std::to_string(kMostLayers) + " taps along the outermost of three axes");
        }
        return request.facts.finite ? core::Support::yes() : core::Support::no("a tap is not finite");
    }
    [[nodiscard]] double estimate_seconds(const Resolved& p, const Request& request) const override {
        return image_seconds(p, work(p), request.threads);
    }
    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const Resolved& p, const void* taps,
                                                            const Request& request) const override {
        return with_real_type(p.sum_dtype, [&]<class T>(T) -> std::unique_ptr<core::Executable> {
            if (!takes_stack(p)) { return std::make_unique<ImageDirect<T>>(p, taps, request, work(p)); }
            Request alone = request;
            alone.threads = 1;
            return prepare_stack(p, request.threads, work(p), [&](const Resolved& stacked) {
                return std::make_unique<ImageDirect<T>>(stacked, taps, alone, work(stacked));
            });
        });
    }

private:
    // Products of an output, as those of a row in strips count.
    static double products(const Resolved& p) {
        const auto taps = static_cast<double>(p.taps());
        if (!sums_in_groups(p)) { return taps; }
        if (takes_stack(p)) { return taps * kGroupsFactor; }
        const double row = outputs_of(p) / static_cast<double>(p.batch.length * p.z.outputs * p.y.outputs);
        return taps * kGroupsFactor * elements_in_strips(p, kAloneFactor) / row;
    }
    static double work(const Resolved& p) {
        const double convert = p.dtype == p.sum_dtype ? 0 : kConvertProducts;
        const double each = kProductsOfAnOutput + convert;
        const double sums = outputs_of(p) * (products(p) + static_cast<double>(p.z.k) * each) * image_product_seconds(p);
        if (takes_stack(p)) { return sums + seconds_of_stacking(p); }
        const double planes = static_cast<double>(p.batch.length) * static_cast<double>(p.z.outputs);
        return sums + planes * (kPlaneSeconds + static_cast<double>(p.y.outputs) * kRowSeconds);
    }
};

// Rows of fewer elements than this are summed many at a time as signals: of 3,084 images of 8 x 8 under 9 x 1 taps each takes 44 ns
// so and 580 as an image. So are all under one tap, and longer ones under masks of a row, of integers, too, where no channels lie
// between: 1,000 x 1,000 under 1 x 9 taps take 0.75 times as long so, read backwards or every second one, under 9 x 1 twice as long
// (two threads, AVX-512). Masks of a column go so over images of a few hundred pixels a row whose pixels lie apart: 50,000 x 40
// transposed under 9 x 1 taps take 0.4 times as long so, 15,625 x 128 backwards 0.65 times, 1,448 x 1,448 1.1 to 1.4 times.
constexpr std::int64_t kShortRow = 128, kShortRowApart = 320;
// 1,951 rows of 96 pixels of 2 channels under 4 taps take 0.43 times as long as signals, 512 of 512 of 4 channels under 9 0.92
// times, 1,024 of 1,024 of 3 1.4 times, and under 31 taps 0.81 times.
constexpr std::int64_t kMostChannelsOfLines = 4, kShortRowOfChannels = 2048, kManyTapsOfChannels = 24;
Lines goes_by_lines(const Resolved& p, const Request& /*request*/) {
    const bool widens = p.dtype != p.sum_dtype, packed = p.has_packed_pixels();
    const bool plain = p.channels.length == 1 && !is_complex(p.dtype);
    const std::int64_t row_bytes = p.x.n * p.channels.length * static_cast<std::int64_t>(size_of(p.dtype));
    const bool of_channels = p.x.k > 1 && p.channels.length > 1 && p.channels.length <= kMostChannelsOfLines && packed && !widens &&
                             !is_complex(p.dtype) && (row_bytes <= kShortRowOfChannels || p.x.k >= kManyTapsOfChannels);
    const bool of_rows = (p.x.k > 1 && plain && (!widens || is_integer(p.dtype))) || of_channels;
    const bool of_one_tap = p.taps() == 1;
    const bool of_columns = p.x.k == 1 && p.rank == 2 && plain && p.x.in_stride != 1 && p.x.n < kShortRowApart;
    const bool of_short_rows = packed && p.x.n * p.channels.length < kShortRow;
    return of_rows || of_columns || of_one_tap || of_short_rows ? Lines::always : Lines::never;
}

}  // namespace

const core::Algorithm& image_direct_algorithm() {
    static const DirectAlgorithm kInner;
    static const PixelAlgorithm kImages(kInner);
    static const LineMaskAlgorithm kAlgorithm(kImages, direct_algorithm(), goes_by_lines);
    return kAlgorithm;
}

}  // namespace tapline::cpu
