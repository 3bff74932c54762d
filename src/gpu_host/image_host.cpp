// Images in host memory on a GPU: whole, image by image, or in bands of rows where the device's memory is short.
#include <algorithm>
#include <cstring>

#include "gpu_host/host_memory.hpp"
#include "gpu_host/image_engine.hpp"

namespace tapline::core {
namespace {

// Of pinned memory: while one half is copied by the device, the host fills or empties the other.
constexpr std::int64_t kPinnedBytes = std::int64_t{16} << 20;
constexpr double kShareOfFreeMemory = 0.9;

std::int64_t bytes_of(std::int64_t elements, Dtype dtype) { return elements * static_cast<std::int64_t>(size_of(dtype)); }

class ImageHostRun {
public:
    ImageHostRun(const ImageHostTask& task, void* out, const void* in)
        : task_(task),
          r_(*task.problem),
          out_(static_cast<std::byte*>(out)),
          in_(static_cast<const std::byte*>(in)),
          stream_(make_stream(*task.api, task.device)),
          done_{make_event(*task.api, task.device), make_event(*task.api, task.device)},
          in_row_(bytes_of(r_.x.n * r_.channels.length, r_.dtype)),
          out_row_(bytes_of(r_.x.outputs * r_.channels.length, r_.output_dtype)) {}

    void run() {
        try {
            run_all();
        } catch (...) {
            cuda_abi::Status ignored;
            task_.api->synchronize_stream(task_.device, stream_.get(), &ignored);  // nothing may run that uses what goes away now
            throw;
        }
    }

private:
    void run_all() {
        const std::int64_t one_in = r_.y.n * in_row_;
        const std::int64_t one_out = r_.y.outputs * out_row_;
        if (task_.workspace_bytes > 0) { workspace_ = allocate_device(*task_.api, task_.device, task_.workspace_bytes); }
        const auto room = static_cast<std::int64_t>(kShareOfFreeMemory * static_cast<double>(task_.api->free_bytes(task_.device)));
        const bool fits = static_cast<double>(one_in) + static_cast<double>(one_out) <= static_cast<double>(room);
        if (fits || !task_.takes_pieces) {
            const std::int64_t together = std::clamp<std::int64_t>(room / std::max<std::int64_t>(one_in + one_out, 1), 1, r_.batch.length);
            reserve(together * one_in, together * one_out);
            for (std::int64_t image = 0; image < r_.batch.length; image += together) {
                const std::int64_t images = std::min(together, r_.batch.length - image);
                upload(images * r_.y.n, [&](std::int64_t row) { return in_row_at(image + row / r_.y.n, row % r_.y.n); });
                compute({.first = 0, .rows = r_.y.outputs, .in_first = 0, .in_last = r_.y.n, .images = images});
                download(images * r_.y.outputs,
                         [&](std::int64_t row) { return out_row_at(image + row / r_.y.outputs, row % r_.y.outputs); });
            }
            return;
        }
        run_bands(room);
    }

    void run_bands(std::int64_t room) {
        const std::int64_t halo = r_.y.k - 1;
        std::int64_t rows = (room - halo * in_row_) / (in_row_ + out_row_);
        // A result's bits do not depend on the bands then, but for halves whose scale changes on the way (docs/numerics.md).
        const std::int64_t together = task_.images->band_rows(task_.prepared);
        if (rows >= together) { rows -= rows % together; }
        if (rows < 1) {
            throw Error(ErrorCode::memory, "device: the GPU has no room for one row of outputs, " + std::to_string(r_.y.k) +
                                               " rows of " + std::to_string(in_row_) + " bytes; use the CPU");
        }
        reserve((rows + halo) * in_row_, rows * out_row_);
        const Boundary boundary = r_.x.boundary;
        const bool absent_outside = boundary == Boundary::zero || boundary == Boundary::constant;
        for (std::int64_t image = 0; image < r_.batch.length; ++image) {
            for (std::int64_t first = 0; first < r_.y.outputs; first += rows) {
                const std::int64_t count = std::min(rows, r_.y.outputs - first);
                // Rows of the image as the band sees them: the boundary rule of the rows is applied here.
                std::int64_t begin = first - r_.y.origin;
                std::int64_t end = begin + count + halo;
                if (absent_outside) {
                    begin = std::clamp<std::int64_t>(begin, 0, r_.y.n);
                    end = std::clamp<std::int64_t>(end, begin, r_.y.n);
                }
                upload(end - begin,
                       [&](std::int64_t row) { return in_row_at(image, boundary_index(boundary, begin + row, r_.y.n)); });
                compute({.first = first, .rows = count, .in_first = begin, .in_last = end, .images = 1});
                download(count, [&](std::int64_t row) { return out_row_at(image, first + row); });
            }
        }
    }

    void reserve(std::int64_t in_bytes, std::int64_t out_bytes) {
        device_in_ = allocate_device(*task_.api, task_.device, std::max<std::int64_t>(in_bytes, 1));
        device_out_ = allocate_device(*task_.api, task_.device, std::max<std::int64_t>(out_bytes, 1));
        const std::int64_t most = std::max(in_bytes, out_bytes);
        half_bytes_ = std::min(kPinnedBytes / 2, std::max<std::int64_t>(most, 1));
        pinned_ = allocate_pinned(*task_.api, task_.device, 2 * half_bytes_);
    }

    void compute(cuda_abi::ImageJob job) {
        job.out = device_out_.get();
        job.out_row = r_.x.outputs * r_.channels.length;
        job.out_image = job.rows * job.out_row;
        job.in = device_in_.get();
        job.in_row = r_.x.n * r_.channels.length;
        job.in_image = (job.in_last - job.in_first) * job.in_row;
        cuda_abi::Status status;
        require(task_.images->execute(task_.prepared, &job, workspace_.get(), task_.workspace_bytes, stream_.get(), &status),
                status);
    }

    // `rows` rows of the host, one after the other on the device; at(row): where a row begins.
    template <class At>
    void upload(std::int64_t rows, const At& at) {
        auto* const to = static_cast<std::byte*>(device_in_.get());
        const std::int64_t bytes = rows * in_row_;
        int half = 0;
        for (std::int64_t done = 0; done < bytes; done += half_bytes_, half = 1 - half) {
            const std::int64_t size = std::min(half_bytes_, bytes - done);
            wait(half);
            std::byte* const piece = static_cast<std::byte*>(pinned_.get()) + half * half_bytes_;
            for_rows(done, size, in_row_, [&](std::int64_t row, std::int64_t from, std::int64_t count, std::int64_t place) {
                std::memcpy(piece + place, at(row) + from, static_cast<std::size_t>(count));
            });
            copy(to + done, piece, size);
            record(half);
        }
    }

    template <class At>
    void download(std::int64_t rows, const At& at) {
        const auto* const from = static_cast<const std::byte*>(device_out_.get());
        const std::int64_t bytes = rows * out_row_;
        const auto fetch = [&](std::int64_t done, int half) {
            if (done >= bytes) { return; }
            copy(static_cast<std::byte*>(pinned_.get()) + half * half_bytes_, from + done, std::min(half_bytes_, bytes - done));
            record(half);
        };
        fetch(0, 0);
        int half = 0;
        for (std::int64_t done = 0; done < bytes; done += half_bytes_, half = 1 - half) {
            fetch(done + half_bytes_, 1 - half);
            wait(half);
            const std::byte* const piece = static_cast<std::byte*>(pinned_.get()) + half * half_bytes_;
            for_rows(done, std::min(half_bytes_, bytes - done), out_row_,
                     [&](std::int64_t row, std::int64_t begin, std::int64_t count, std::int64_t place) {
                         std::memcpy(at(row) + begin, piece + place, static_cast<std::size_t>(count));
                     });
        }
    }

    // Bytes [first, first + size) of rows of `row_bytes` bytes, one after the other, row by row.
    template <class Body>
    static void for_rows(std::int64_t first, std::int64_t size, std::int64_t row_bytes, const Body& body) {
        for (std::int64_t place = 0; place < size;) {
            const std::int64_t row = (first + place) / row_bytes;
            const std::int64_t from = (first + place) % row_bytes;
            const std::int64_t count = std::min(row_bytes - from, size - place);
            body(row, from, count, place);
            place += count;
        }
    }

    [[nodiscard]] const std::byte* in_row_at(std::int64_t image, std::int64_t row) const {
        return in_ + bytes_of(image * r_.batch.in_stride + row * r_.y.in_stride, r_.dtype);
    }
    [[nodiscard]] std::byte* out_row_at(std::int64_t image, std::int64_t row) const {
        return out_ + bytes_of(image * r_.batch.out_stride + row * r_.y.out_stride, r_.output_dtype);
    }

    static void require(bool done, const cuda_abi::Status& status) {
        if (!done) { throw_status(status); }
    }
    void copy(void* to, const void* from, std::int64_t bytes) {
        cuda_abi::Status status;
        require(task_.api->copy(task_.device, to, from, bytes, stream_.get(), &status), status);
    }
    // Everything that uses a half of the pinned memory is on the stream before its event.
    void record(int half) {
        cuda_abi::Status status;
        require(task_.api->record(task_.device, done_[half].get(), stream_.get(), &status), status);
        recorded_[half] = true;
    }
    void wait(int half) {
        if (!recorded_[half]) { return; }
        cuda_abi::Status status;
        require(task_.api->synchronize(task_.device, done_[half].get(), &status), status);
    }

    const ImageHostTask& task_;
    const Resolved& r_;
    std::byte* out_;
    const std::byte* in_;
    StreamHandle stream_;
    EventHandle done_[2];
    bool recorded_[2] = {};
    std::int64_t in_row_, out_row_;  // bytes, packed
    std::int64_t half_bytes_ = 0;
    DeviceBytes device_in_, device_out_, workspace_;
    PinnedBytes pinned_;
};

}  // namespace

void run_image_on_host_memory(const ImageHostTask& task, void* out, const void* in) { ImageHostRun(task, out, in).run(); }

}  // namespace tapline::core
