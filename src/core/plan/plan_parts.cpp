#include "core/plan/plan_parts.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/choice/choice.hpp"

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

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::argument, message); }

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
    const std::uintptr_t a_end = a + static_cast<std::uintptr_t>(out.elements) * size_of(out.dtype);
    const std::uintptr_t b_end = b + static_cast<std::uintptr_t>(in.elements) * size_of(in.dtype);
    if (a < b_end && b < a_end) { refuse("out: overlaps the input; tapline does not work in place: give a separate buffer"); }
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

}  // namespace tapline::core
