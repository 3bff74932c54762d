// Effort::measure: candidates timed on this machine on data of the problem's own size.
#pragma once

#include <memory>

#include "core/choice/engine.hpp"

namespace tapline::core {

/// Input and output of one problem in the memory that an engine's executables take.
class MeasuringBuffers {
public:
    MeasuringBuffers() = default;
    MeasuringBuffers(const MeasuringBuffers&) = delete;
    MeasuringBuffers& operator=(const MeasuringBuffers&) = delete;
    virtual ~MeasuringBuffers() = default;

    /// Seconds of one execution: the best of a few.
    virtual double seconds_of(const Executable& executable) = 0;
};

/// For executables that take host memory, or (cuda_device >= 0) memory of that device. Throws Error (memory).
std::unique_ptr<MeasuringBuffers> make_measuring_buffers(const Resolved& problem, int cuda_device);

/// Everything of a whole call.
Input whole_input(const Resolved& problem, const void* in);
Output whole_output(const Resolved& problem, void* out);

}  // namespace tapline::core
