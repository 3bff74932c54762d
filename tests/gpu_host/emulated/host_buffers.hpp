// Plans for host buffers on emulated GPUs, held against the textbook; also where calls of the driver fail.
#pragma once

#include "gpu_host/emulated/emulated_engine.hpp"
#include "support/buffers.hpp"
#include "support/comparison.hpp"
#include "support/draw.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {

inline std::size_t bytes_of(std::int64_t elements, Dtype dtype) { return static_cast<std::size_t>(elements) * size_of(dtype); }

/// A problem's buffers with random samples and taps. Strides may lead down from the first element.
struct HostBuffers {
    HostBuffers(const Problem& p, Random& random)
        : in(bytes_of(input_extent(p), p.dtype)),
          taps(bytes_of(taps_extent(p), taps_dtype(p))),
          out(bytes_of(output_extent(p), output_dtype(p))) {
        fill_random(in.data(), p.dtype, input_extent(p), random);
        fill_random(taps.data(), taps_dtype(p), taps_extent(p), random);
    }
    [[nodiscard]] void* first_out(const Problem& p) { return out.data() + bytes_of(output_start(p), output_dtype(p)); }
    [[nodiscard]] const void* first_in(const Problem& p) { return in.data() + bytes_of(input_start(p), p.dtype); }
    GuardedBuffer in, taps, out;
};

/// Empty, or what is wrong with execute_host.
inline std::string failure_of(const Problem& p, HostBuffers& data, const PlanOptions& options) {
    make_plan(p, data.taps.data(), options).execute_host(data.first_out(p), data.first_in(p));
    if (!data.out.guards_intact() || !data.in.guards_intact()) { return "wrote outside the buffers"; }
    return compare(p, data.first_out(p), data.first_in(p), data.taps.data(), true);
}

/// Lets call number `count` of the driver's function `name` fail in an execution on idle devices. Whether that was told; what comes
/// after it, with the device's own choice, must be right.
inline bool is_told(const std::string& name, int count, const Problem& p, HostBuffers& data, const PlanOptions& options) {
    drop_idle_memory();
    const Plan plan = make_plan(p, data.taps.data(), options);
    inject("fail " + name + " " + std::to_string(count));
    bool told = false;
    try {
        plan.execute_host(data.first_out(p), data.first_in(p));
    } catch (const Error& error) {
        told = true;
        EXPECT_NE(std::string(error.what()).find("as injected"), std::string::npos) << error.what();
    }
    inject("nothing");
    EXPECT_EQ(failure_of(p, data, {.device = options.device}), "") << "after " << name << " " << count;
    return told;
}

}  // namespace tapline::test
