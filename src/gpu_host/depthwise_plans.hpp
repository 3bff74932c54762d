// Depthwise correlation and its gradients by plans without taps: what transforms do sooner than direct summation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/choice/choice.hpp"
#include "core/problem/interface.hpp"
#include "cuda/abi.hpp"
#include "tapline/depthwise.hpp"

namespace tapline::gpu_host {

/// Packed rows correlated with packed filters, row r with filter r % filters; all in memory of a GPU.
class FilteredRows {
public:
    struct Shape {
        std::int64_t rows = 1, filters = 1, n = 0, outputs = 0, k = 0, origin = 0;
        Dtype dtype = Dtype::f32;
        std::int64_t in_stride = 0;    ///< from a row of x to the next; 0: they are packed
        std::int64_t taps_stride = 0;  ///< from a filter to the next; 0: they are packed
    };
    /// Throws Error (unsupported) where the GPU has no way to do it. Only chooses; prepare() loads kernels and tables.
    FilteredRows(const Shape& shape, int device);
    void prepare();

    [[nodiscard]] double seconds() const { return choice_.predicted_seconds; }  ///< as the cost model expects
    [[nodiscard]] std::size_t workspace_bytes() const { return executable_->workspace_bytes(); }
    /// `taps` may be of 16 bits where those of the rows are f32.
    void execute(void* out, const void* in, const core::GivenTaps& taps, std::span<std::byte> workspace, void* stream) const;

private:
    core::Resolved problem_;
    core::Request request_;
    core::Choice choice_;
    std::unique_ptr<const core::Executable> executable_;
};

/// Of copied and correlated rows at a time, so that a workspace stays small beside the tensors of a model.
inline constexpr std::int64_t kMostRowsBytes = std::int64_t{256} << 20;

/// A way to the gradient of taps.
class TapsGradient : public core::Interface {
public:
    virtual void prepare() = 0;  ///< loads kernels and tables
    [[nodiscard]] virtual double seconds() const = 0;
    [[nodiscard]] virtual std::size_t workspace_bytes() const = 0;
    virtual void execute(void* grad_taps, const void* grad_y, const void* x, std::span<std::byte> workspace,
                         void* stream) const = 0;
};

/// Rows of x are correlated with those of grad_y as their filters, then summed over the batch, in its order.
class GradientOfTaps final : public TapsGradient {
public:
    GradientOfTaps(const DepthwiseProblem& problem, int device, double copy_bytes_per_second);
    void prepare() override { rows_.prepare(); }

    [[nodiscard]] double seconds() const override;
    [[nodiscard]] std::size_t workspace_bytes() const override;
    void execute(void* grad_taps, const void* grad_y, const void* x, std::span<std::byte> workspace, void* stream) const override;

private:
    [[nodiscard]] bool widens() const { return problem_.dtype != sums_; }
    /// Whether rows of one execution are the gradient already.
    [[nodiscard]] bool sums_nothing() const { return problem_.batch == 1 && !widens(); }
    [[nodiscard]] std::size_t bytes_of(std::int64_t rows, std::int64_t length) const;

    DepthwiseProblem problem_;
    int device_;
    double copy_bytes_per_second_;
    Dtype sums_;            // of rows' correlations: f32 or f64
    std::int64_t at_once_;  // of the batch, which it divides
    FilteredRows rows_;
};

/// Of rows that are much longer than their filters: a row of grad_y is cut into pieces, each a filter of its own for the samples
/// that it meets, and their correlations are summed.
class GradientInPieces final : public TapsGradient {
public:
    /// What one execution takes: all pieces of one row (few long rows), or one piece of many channels.
    enum class Order { pieces_of_a_row, channels_of_a_piece };

    /// Pieces of so many outputs. Throws Error (unsupported) where there are too few of them.
    GradientInPieces(const DepthwiseProblem& problem, std::int64_t piece, Order order, int device, double copy_bytes_per_second,
                     std::int64_t most_bytes = kMostRowsBytes);
    void prepare() override;

    [[nodiscard]] double seconds() const override;
    [[nodiscard]] std::size_t workspace_bytes() const override;
    void execute(void* grad_taps, const void* grad_y, const void* x, std::span<std::byte> workspace, void* stream) const override;

private:
    class Sums;
    [[nodiscard]] bool widens() const { return problem_.dtype != sums_; }
    [[nodiscard]] bool keeps_sums() const { return problem_.batch > 1 || at_once_ < correlations(); }
    /// Of each channel.
    [[nodiscard]] std::int64_t correlations() const { return pieces_ + (head_ ? 1 : 0) + (tail_ ? 1 : 0); }
    [[nodiscard]] std::size_t bytes_of(std::int64_t rows, std::int64_t length) const;

    DepthwiseProblem problem_;
    int device_;
    double copy_bytes_per_second_;
    Dtype sums_;
    Order order_;
    std::int64_t piece_;
    std::int64_t first_;        // output of the first piece: those before read samples before the row's
    std::int64_t pieces_;       // whose samples all exist
    std::int64_t channels_;     // together, of which problem_.channels is a multiple
    std::int64_t at_once_ = 0;  // correlations of each channel that wait for their sum
    std::optional<FilteredRows> head_, inner_, tail_;
};

/// What a problem is solved by on a GPU; null: direct summation.
struct DepthwiseWays {
    std::unique_ptr<FilteredRows> forward;
    std::unique_ptr<FilteredRows> of_x;     ///< if null, both gradients are one direct kernel's
    std::unique_ptr<TapsGradient> of_taps;  ///< also where only this one is asked for
};

enum class DepthwiseRole { forward, gradients };

/// Made once for each problem, role and GPU and kept for the next calls, the last few of them.
std::shared_ptr<const DepthwiseWays> depthwise_ways(const DepthwiseProblem& problem, DepthwiseRole role, int device);

}  // namespace tapline::gpu_host
