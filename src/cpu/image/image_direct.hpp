// Direct convolution of images and volumes: an execution's tiles of outputs, each of which a few rows of vectors sum.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/choice/engine.hpp"
#include "cpu/image/image_tasks.hpp"

namespace tapline::cpu {

/// T: the real type of the sums.
template <class T>
class ImageDirect final : public core::Executable {
public:
    /// `seconds`: predicted, on one thread.
    ImageDirect(const core::Resolved& problem, const void* taps, const core::Request& request, double seconds);

    [[nodiscard]] std::size_t workspace_bytes() const override { return static_cast<std::size_t>(threads_) * slot_bytes(); }
    void execute(const core::Output& output, const core::Input& input, std::span<std::byte> workspace, void* stream) const override;
    [[nodiscard]] std::string describe() const override;

    /// Outputs of one rectangle of a plane of an image: rows [y, y + rows), elements [first, first + count) of each, of whole
    /// samples. `scratch`: rectangle_bytes() of them. With the bits that execute() gives them.
    void execute_rectangle(void* out, const void* in, const Plane& plane, std::int64_t y, std::int64_t rows, std::int64_t first,
                           std::int64_t count, std::byte* scratch) const;
    [[nodiscard]] std::size_t rectangle_bytes() const { return slot_bytes(); }
    /// Rows of outputs that are best summed together.
    [[nodiscard]] std::int64_t rows_together() const { return rows_; }

private:
    /// Outputs [first, last) of one segment of the rows of one plane.
    struct Job {
        const ImageTasks& tasks;
        Plane plane;
        Segment segment;
        std::int64_t z, first, last;
        void* out;       ///< the output's plane z
        const void* in;  ///< the input's first plane
        std::byte* scratch;
    };
    /// What one plane of the mask reads.
    struct Layer {
        std::size_t tz;
        std::optional<RowWindow<T>> window;  ///< none: a plane of the constant beyond the volume
        const T** rows;
    };

    [[nodiscard]] std::int64_t beyond_elements() const { return problem_.rank == 3 ? 2 * pitch_ : 0; }
    [[nodiscard]] std::size_t slot_bytes() const;
    void run(const Job& job) const;
    void execute_three(const core::Output& output, const core::Input& input, std::span<std::byte> workspace) const;
    void run_three(void* out, const void* in, std::int64_t plane, std::int64_t y, std::int64_t rows, Segment columns, bool stream,
                   std::byte* scratch) const;
    const T* const* rows_beyond(const T** rows, const T* beyond, std::int64_t top, std::int64_t count) const;
    [[nodiscard]] std::int64_t group_width() const;
    void put_columns_together(std::vector<T>& taps) const;
    void sum(const ImageCall<T>& whole, const Plane& plane, std::size_t part, std::size_t tz) const;
    void combine(T* sums, std::int64_t rows, std::int64_t count) const;

    core::Resolved problem_;
    Target target_;
    const ImageKernels<T>& kernels_;
    ImageLines<T> lines_;
    std::vector<T> taps_[2];  ///< real and imaginary parts
    int threads_;
    double seconds_;  ///< on one thread
    std::int64_t plane_taps_;
    bool in_groups_;
    bool three_;                ///< 3 x 3 along rows, their ends too, as pixels lie
    std::int64_t rows_;         ///< of outputs at a time
    std::int64_t stream_rows_;  ///< where they go past the caches, at most as many
    std::int64_t ring_;         ///< input rows in work
    std::int64_t block_ = 0, pitch_ = 0, sums_pitch_ = 0;
};

extern template class ImageDirect<float>;
extern template class ImageDirect<double>;

}  // namespace tapline::cpu
