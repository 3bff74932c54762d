// A rung prepared and launched in host memory, as the engine does it on a device, and memory that shows what is read beside it.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "core/plan/host_memory.hpp"
#include "core/plan/repeated.hpp"
#include "core/plan/taps_order.hpp"
#include "core/problem/taps_facts.hpp"
#include "cuda/rung.hpp"
#include "support/buffers.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {

/// `bytes` bytes with a page that cannot be read right behind them, or right before them.
class FencedBuffer {
public:
    FencedBuffer(const void* from, std::size_t bytes, bool at_end) {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        size_ = (bytes + page - 1) / page * page + 2 * page;
        base_ = static_cast<char*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (base_ == MAP_FAILED) { throw std::bad_alloc(); }
        mprotect(base_, page, PROT_NONE);
        mprotect(base_ + size_ - page, page, PROT_NONE);
        data_ = at_end ? base_ + size_ - page - bytes : base_ + page;
        std::memcpy(data_, from, bytes);
    }
    ~FencedBuffer() { munmap(base_, size_); }
    FencedBuffer(const FencedBuffer&) = delete;
    FencedBuffer& operator=(const FencedBuffer&) = delete;
    [[nodiscard]] const void* data() const { return data_; }

private:
    std::size_t size_;
    char* base_;
    char* data_;
};

inline std::size_t bytes_of(std::int64_t elements, Dtype dtype) { return static_cast<std::size_t>(elements) * size_of(dtype); }

// A device by hand; with one multiprocessor as fast as large ones, so that tiles suit large images.
inline cuda_abi::Device device_of(int multiprocessors, int major) {
    cuda_abi::Device device;
    device.major = major;
    device.multiprocessors = multiprocessors;
    device.copy_bytes_per_second = 4e12;
    device.peak_flops = 6e13 * (multiprocessors > 1 && multiprocessors < 132 ? multiprocessors / 132.0 : 1);
    device.shared_bytes_per_block = static_cast<int>(on_host::kSharedBytes);
    return device;
}

// Outputs [first, first + count) of every row, or such rows of every image, from all of the input.
inline cuda::Job job_of(const core::Resolved& r, void* out, const void* in, std::int64_t first, std::int64_t count) {
    const core::Axis& cut = r.cut();
    return {.out = static_cast<char*>(out) + first * cut.out_stride * static_cast<std::int64_t>(size_of(r.output_dtype)),
            .first = first,
            .count = count,
            .out_batch = r.batch.out_stride,
            .out_stride = cut.out_stride,
            .in = in,
            .in_first = 0,
            .in_last = cut.n,
            .in_batch = r.batch.in_stride,
            .in_stride = cut.in_stride,
            .batch = r.batch.length,
            .n = cut.n};
}

// What the taps' values say of all problems but images.
inline void set_facts(cuda_abi::Problem& p, const core::TapsFacts& facts) {
    p.taps_finite = facts.finite;
    p.has_negative_tap = facts.has_negative_tap;
    p.bits_of_taps = static_cast<std::int8_t>(facts.bits_of_taps());
    p.bits_of_tap = static_cast<std::int8_t>(facts.bits_of_tap());
}

// With the filters of all sets that outer axes step through.
inline core::Resolved with_all_filters(const core::Resolved& r) {
    core::Resolved all = r;
    all.filters *= core::filter_sets(r);
    return all;
}

// As the engine prepares a rung, in host memory.
class PreparedOnHost {
public:
    PreparedOnHost(const cuda::Rung& rung, const core::Resolved& given, const void* taps, int multiprocessors = 0, int major = 9,
                   Accuracy accuracy = Accuracy::standard, int threads_per_block = 0)
        : turned_(core::joined_sets(given, core::ordered_sets(given, taps))) {
        const core::Resolved r = with_all_filters(given);
        const core::TapsFacts facts = core::facts_of(r, turned_.get());
        prepared_.rung = &rung;
        prepared_.device = device_of(multiprocessors > 0 ? multiprocessors : r.x.n % 2 == 0 ? 132 : 1, major);
        static_cast<core::Resolved&>(prepared_.problem) = r;
        prepared_.problem.accuracy = accuracy;
        prepared_.policy.threads_per_block = threads_per_block;
        set_facts(prepared_.problem, facts);
        if (r.filters == 1 && !facts.separable.empty()) {
            factors_ = facts.separable[0];
            prepared_.problem.separable = factors_.rank;
            prepared_.problem.exact_specials = factors_.exact_specials;
            prepared_.problem.equal_taps = facts.equal;
        }
        prepared_.given = {turned_.get(), factors_.columns.data(), factors_.rows.data()};
        const std::size_t row = bytes_of(r.taps(), r.taps_dtype);
        const std::size_t pitch = (row + 15) / 16 * 16;
        prepared_.taps_pitch_bytes = static_cast<std::int64_t>(pitch);
        prepared_.host_taps.resize(std::max<std::size_t>(pitch * static_cast<std::size_t>(r.filters), 2048));
        for (std::size_t f = 0; f < static_cast<std::size_t>(r.filters); ++f) {
            std::memcpy(prepared_.host_taps.data() + f * pitch, turned_.get() + f * row, row);
        }
        taps_ = prepared_.host_taps;
        prepared_.on_device.taps = taps_.data();
    }
    // Empty, or why the rung does not take it.
    std::string make() {
        const std::string refusal = prepared_.rung->supports(prepared_.problem, prepared_.device);
        if (!refusal.empty()) { return refusal; }
        prepared_.chosen = prepared_.rung->load(prepared_);
        const std::vector<std::byte> tables = prepared_.rung->tables(prepared_);
        const auto filled = static_cast<std::size_t>(prepared_.rung->filled_table_bytes(prepared_));
        if (!tables.empty() || filled != 0) {
            tables_ = std::make_unique<GuardedBuffer>(tables.size() + filled);
            std::memcpy(tables_->data(), tables.data(), tables.size());
            prepared_.on_device.tables = tables_->data();
            if (filled != 0) { prepared_.rung->fill_tables(prepared_, tables_->data() + tables.size(), nullptr); }
        }
        if (const std::int64_t bytes = prepared_.rung->workspace_bytes(prepared_); bytes != 0) {
            workspace_ = std::make_unique<GuardedBuffer>(static_cast<std::size_t>(bytes));
        }
        prepared_.given = {};
        return {};
    }
    [[nodiscard]] const cuda::Prepared& get() const { return prepared_; }
    [[nodiscard]] void* workspace() const { return workspace_ ? workspace_->data() : nullptr; }
    void launch(const cuda::Job& job) const { prepared_.rung->launch(prepared_, job, prepared_.on_device, workspace(), nullptr); }

private:
    core::AlignedBytes turned_;
    core::SeparableMask factors_;
    std::vector<std::byte> taps_;
    std::unique_ptr<GuardedBuffer> tables_, workspace_;
    cuda::Prepared prepared_;
};

}  // namespace tapline::test
