#include "core/plan/plan_parts.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/choice/choice.hpp"
#include "core/choice/engine.hpp"
#include "core/problem/refuse.hpp"

namespace tapline::core {
namespace {

constexpr int kMaxThreads = 1024;
// A thread keeps its workspace between calls up to this size, so that small calls do not allocate.
constexpr std::size_t kKeptWorkspaceBytes = std::size_t{16} << 20;

struct KeptWorkspace {
    AlignedBytes bytes;
    std::size_t size = 0;
};

KeptWorkspace& kept_workspace() {
    thread_local KeptWorkspace workspace;
    return workspace;
}

}  // namespace

int resolve_threads(int threads) {
    if (threads < 0 || threads > kMaxThreads) {
        refuse("threads: " + std::to_string(threads) + "; give 0 (all cores) to " + std::to_string(kMaxThreads));
    }
    return threads == 0 ? std::min(available_threads(), kMaxThreads) : threads;
}

void check_buffers(const BufferFacts& out, const BufferFacts& in) {
    const auto a = reinterpret_cast<std::uintptr_t>(out.data);
    const auto b = reinterpret_cast<std::uintptr_t>(in.data);
    if (a % size_of(real_part_of(out.dtype)) != 0) { refuse("out: the address is not aligned to its element type"); }
    if (b % size_of(real_part_of(in.dtype)) != 0) { refuse("in: the address is not aligned to its element type"); }
    const auto span_of = [](std::uintptr_t first, const BufferFacts& buffer) {
        const std::uintptr_t begin = first - static_cast<std::uintptr_t>(buffer.extent.start) * size_of(buffer.dtype);
        return std::pair(begin, begin + static_cast<std::uintptr_t>(buffer.extent.elements) * size_of(buffer.dtype));
    };
    const auto [a_begin, a_end] = span_of(a, out);
    const auto [b_begin, b_end] = span_of(b, in);
    if (a_begin < b_end && b_begin < a_end) {
        refuse("out: overlaps the input; tapline does not work in place: give a separate buffer");
    }
}

void check_workspace(std::span<const std::byte> workspace, std::size_t needed) {
    if (workspace.size() < needed) {
        refuse("workspace: " + std::to_string(workspace.size()) + " bytes; the plan needs " + std::to_string(needed));
    }
    if (reinterpret_cast<std::uintptr_t>(workspace.data()) % kAlignment != 0) {
        refuse("workspace: the address is not a multiple of 64");
    }
}

void check_typed_buffer(const char* name, Dtype dtype, Dtype wanted, std::int64_t size, std::int64_t extent) {
    if (dtype != wanted) {
        throw Error(ErrorCode::type,
                    std::string(name) + ": elements are " + to_string(dtype) + ", the plan needs " + to_string(wanted));
    }
    if (size < extent) {
        refuse(std::string(name) + ": " + std::to_string(size) + " elements; the plan needs " + std::to_string(extent));
    }
}

std::byte* workspace_for(std::size_t bytes, AlignedBytes& own) {
    if (bytes > kKeptWorkspaceBytes) {
        own = allocate(bytes, "workspace");
        return own.get();
    }
    KeptWorkspace& kept = kept_workspace();
    if (kept.size < bytes || kept.bytes == nullptr) {
        kept.size = 0;
        kept.bytes = allocate(std::max(bytes, kAlignment), "workspace");
        kept.size = bytes;
    }
    return kept.bytes.get();
}

std::string prediction_text(double seconds, double copy_seconds, const char* unit, Accuracy accuracy, std::size_t workspace_bytes) {
    std::array<char, 64> share{};
    std::snprintf(share.data(), share.size(), "%.3g%%", 100 * copy_seconds / seconds);
    return "predicted: " + format_seconds(seconds) + unit + ", " + share.data() + " of the copy's speed; accuracy " +
           to_string(accuracy) + "; workspace " + std::to_string(workspace_bytes) + " bytes\n";
}

void Executable::execute_with_taps(const Output&, const Input&, const GivenTaps&, std::span<std::byte>, void*) const {
    refuse("taps: the plan has its own; make_plan_without_taps makes one that takes them with each execution");
}

void Executable::execute_alone(const Output& output, const Input& input) const {
    AlignedBytes own;
    const std::size_t bytes = workspace_bytes();
    execute(output, input, {workspace_for(bytes, own), bytes}, nullptr);
}

}  // namespace tapline::core
