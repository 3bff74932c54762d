// A part's outputs with the help of others: halos travel while the outputs that need none are computed.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/plan/host_memory.hpp"
#include "core/problem/refuse.hpp"
#include "core/shard/sharded_plan.hpp"

namespace tapline {
namespace {

using core::refuse;

class Exchange {
public:
    Exchange(const ShardedPlan& plan, std::span<const Part> parts, std::int64_t own, const Transport& transport)
        : plan_(plan),
          parts_(parts),
          own_(own),
          part_(parts[static_cast<std::size_t>(own)]),
          transport_(transport),
          problem_(plan.whole().problem()),
          in_bytes_(static_cast<std::int64_t>(size_of(problem_.dtype))),
          out_bytes_(static_cast<std::int64_t>(size_of(output_dtype(problem_)))) {
        for (const BatchAxis& axis : core::batch_axes_of(problem_)) { rows_ *= axis.length; }
    }

    void run(std::byte* out, const std::byte* in) {
        send_all(in);
        if (!part_.outputs.empty()) { receive_and_compute(out, in); }
        if (transport_.finish) { transport_.finish(); }
    }

private:
    void receive_and_compute(std::byte* out, const std::byte* in) {
        const std::int64_t window = part_.window.size();
        window_ = core::allocate(static_cast<std::size_t>(rows_ * window * in_bytes_), "window");
        for (const Source& source : part_.sources) {
            if (source.part == own_) { place(source, in, part_.samples); }
        }
        // Outputs that need no halo, unless they are too few for a call of their own.
        const Span inner = 2 * part_.inner.size() > part_.computed.size() ? part_.inner : Span{};
        if (!inner.empty()) { compute(inner, out); }
        receive_all();
        if (inner.empty()) { return compute(part_.computed, out); }
        compute({part_.computed.first, inner.first}, out);
        compute({inner.last, part_.computed.last}, out);
    }

    // Every party's windows, in the order in which they name samples of this one.
    void send_all(const std::byte* in) {
        for (std::size_t receiver = 0; receiver < parts_.size(); ++receiver) {
            if (static_cast<std::int64_t>(receiver) == own_) { continue; }
            for (const Source& source : parts_[receiver].sources) {
                if (source.part != own_) { continue; }
                const std::int64_t bytes = source.samples.size() * in_bytes_;
                core::AlignedBytes packed = core::allocate(static_cast<std::size_t>(rows_ * bytes), "halo");
                for (std::int64_t row = 0; row < rows_; ++row) {
                    const std::int64_t from = row * part_.samples.size() + source.samples.first - part_.samples.first;
                    std::memcpy(packed.get() + row * bytes, in + from * in_bytes_, static_cast<std::size_t>(bytes));
                }
                transport_.send(static_cast<std::int64_t>(receiver), packed.get(), static_cast<std::size_t>(rows_ * bytes));
                sent_.push_back(std::move(packed));
            }
        }
    }

    void receive_all() {
        for (const Source& source : part_.sources) {
            if (source.part == own_) { continue; }
            const std::int64_t bytes = rows_ * source.samples.size() * in_bytes_;
            const core::AlignedBytes packed = core::allocate(static_cast<std::size_t>(bytes), "halo");
            transport_.receive(source.part, packed.get(), static_cast<std::size_t>(bytes));
            place(source, packed.get(), source.samples);
        }
    }

    // A source's samples from `data`, which holds `held` of each row, to their positions in the window.
    void place(const Source& source, const std::byte* data, const Span& held) {
        for (std::int64_t row = 0; row < rows_; ++row) {
            const std::byte* const from = data + (row * held.size() - held.first) * in_bytes_;
            std::byte* const to = window_.get() + (row * part_.window.size() + source.position - part_.window.first) * in_bytes_;
            if (source.step > 0) {
                std::memcpy(to, from + source.samples.first * in_bytes_, static_cast<std::size_t>(source.count * in_bytes_));
                continue;
            }
            for (std::int64_t i = 0; i < source.count; ++i) {
                const std::int64_t sample = source.step < 0 ? source.samples.last - 1 - i : source.samples.first;
                std::memcpy(to + i * in_bytes_, from + sample * in_bytes_, static_cast<std::size_t>(in_bytes_));
            }
        }
    }

    // The outputs of some whole blocks, as far as they are this part's.
    void compute(const Span& blocks, std::byte* out) {
        if (blocks.empty()) { return; }
        const core::AlignedBytes made = core::allocate(static_cast<std::size_t>(rows_ * blocks.size() * out_bytes_), "outputs");
        const core::Resolved& r = plan_.whole().state().resolved;
        const Span needed = core::window_of(r.x, plan_.blocks(0), blocks);
        PartShape shape;
        shape.axes = {{.samples = needed, .outputs = blocks, .input_stride = 1, .output_stride = 1}};
        std::int64_t in_step = part_.window.size(), out_step = blocks.size();
        std::vector<BatchAxis> axes;
        for (const BatchAxis& axis : core::batch_axes_of(problem_)) { axes.push_back(axis); }
        for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
            axis->input_stride = in_step;
            axis->output_stride = out_step;
            in_step *= axis->length;
            out_step *= axis->length;
        }
        for (const BatchAxis& axis : axes) { shape.batch_axes.push_back(axis); }
        plan_.part(shape).execute(made.get(), window_.get() + (needed.first - part_.window.first) * in_bytes_);
        const Span wanted{std::max(blocks.first, part_.outputs.first), std::min(blocks.last, part_.outputs.last)};
        if (wanted.empty()) { return; }
        for (std::int64_t row = 0; row < rows_; ++row) {
            std::memcpy(out + (row * part_.outputs.size() + wanted.first - part_.outputs.first) * out_bytes_,
                        made.get() + (row * blocks.size() + wanted.first - blocks.first) * out_bytes_,
                        static_cast<std::size_t>(wanted.size() * out_bytes_));
        }
    }

    const ShardedPlan& plan_;
    std::span<const Part> parts_;
    std::int64_t own_;
    const Part& part_;
    const Transport& transport_;
    const Problem& problem_;
    std::int64_t in_bytes_, out_bytes_;  // of an element
    std::int64_t rows_ = 1;
    core::AlignedBytes window_;
    std::vector<core::AlignedBytes> sent_;  // until run() ends
};

}  // namespace

void execute_part(void* out, const void* in, const ShardedPlan& plan, std::span<const Part> parts, std::int64_t own,
                  const Transport& transport) {
    if (own < 0 || static_cast<std::size_t>(own) >= parts.size()) {
        refuse("own: " + std::to_string(own) + " of " + std::to_string(parts.size()) + " parts");
    }
    if (plan.whole().state().resolved.rank != 1) {
        throw Error(ErrorCode::unsupported, "plan: parts of images have halos on all sides, which this function does not exchange");
    }
    const bool makes_outputs = !parts[static_cast<std::size_t>(own)].outputs.empty();
    if (in == nullptr || (out == nullptr && makes_outputs)) { refuse("out, in: a null pointer"); }
    Exchange(plan, parts, own, transport).run(static_cast<std::byte*>(out), static_cast<const std::byte*>(in));
}

}  // namespace tapline
