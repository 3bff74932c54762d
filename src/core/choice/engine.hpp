// What an engine is, and what an algorithm tells about itself.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/problem/interface.hpp"
#include "core/problem/resolved.hpp"
#include "core/problem/taps_facts.hpp"
#include "core/problem/window.hpp"
#include "tapline/info.hpp"
#include "tapline/plan.hpp"

namespace tapline::core {

/// The part of a request that is not the problem.
struct Request {
    Accuracy accuracy = Accuracy::standard;
    int threads = 1;  ///< resolved, >= 1
    /// Every execution will be execute_host() (streams, device "auto"): an algorithm that cannot work in pieces is no use.
    bool host_buffers = false;
    /// Executions will bring the taps, in the device's memory: an algorithm that makes something of them on the host is no use.
    bool taps_come_later = false;
    bool rows_alone = false;          ///< PlanOptions::rows_alone
    const Resolved* whole = nullptr;  ///< while a part is prepared: the problem that it is of, for which tiles are chosen
    TapsFacts facts;
};

/// yes, or the reason why not.
struct Support {
    bool ok = true;
    std::string reason;
    static Support yes() { return {}; }
    static Support no(std::string why) { return {false, std::move(why)}; }
};

/// Taps that an execution brings, in the order in which the caller has them.
struct GivenTaps {
    const void* data = nullptr;                 ///< in memory of the plan's device
    bool reversed = false, conjugated = false;  ///< what makes correlation order of them
    Dtype dtype = Dtype::f32;                   ///< the problem's type of taps; beside f32 also f16 and bf16
};

/// An algorithm with its taps prepared for one problem. Immutable; execute may be called from several threads at once with
/// separate workspaces.
class Executable : public Interface {
public:
    [[nodiscard]] virtual std::size_t workspace_bytes() const = 0;

    /// Computes outputs [output.first, output.first + output.count) along the cut axis of every item of the batch. Bits do not
    /// depend on how outputs are divided into calls when each call but the last covers whole multiples of granularity(), starting
    /// at one. `workspace` is 64-byte aligned and large enough. Allocates nothing. Executables that do not take_pieces() are asked
    /// for all outputs of the whole input only.
    virtual void execute(const Output& output, const Input& input, std::span<std::byte> workspace, void* stream) const = 0;

    /// execute() of what was prepared without taps. Throws Error (argument) where it was prepared with them.
    virtual void execute_with_taps(const Output& output, const Input& input, const GivenTaps& taps, std::span<std::byte> workspace,
                                   void* stream) const;

    /// execute() on the default stream with a workspace of its own, and waits where it must free that.
    virtual void execute_alone(const Output& output, const Input& input) const;

    /// Whether execute() takes host memory; if not, it takes memory of the plan's device.
    [[nodiscard]] virtual bool takes_host_memory() const { return true; }

    /// execute() from and to host memory on any device. Elsewhere than on the CPU it may allocate, and it waits for the result.
    /// `workspace` is host memory of host_workspace_bytes() bytes.
    virtual void execute_host(const Output& output, const Input& input, std::span<std::byte> workspace) const {
        execute(output, input, workspace, nullptr);
    }
    [[nodiscard]] virtual std::size_t host_workspace_bytes() const { return workspace_bytes(); }

    /// Outputs along the cut axis that belong together: blocks start at multiples of it.
    [[nodiscard]] virtual std::int64_t granularity() const { return 1; }

    /// The same along x of images in two dimensions, where a part may begin and end.
    [[nodiscard]] virtual std::int64_t inner_granularity() const { return 1; }

    /// Inputs [o - origin - lookbehind, o - origin + k + lookahead) may be read to compute the block starting at output o:
    /// how many samples past the last one needed by a block's last output are read (0: none).
    [[nodiscard]] virtual std::int64_t lookahead() const { return 0; }

    /// One line for explain(): tile or FFT sizes, instruction set.
    [[nodiscard]] virtual std::string describe() const = 0;
};

/// One way to solve the problem. One table per engine lists them; a new one is one file and one line.
class Algorithm : public Interface {
public:
    [[nodiscard]] virtual std::string_view name() const = 0;
    [[nodiscard]] virtual std::string_view summary() const = 0;
    /// Of which numbers of filtered axes it solves problems; two algorithms may share a name if they share no rank.
    [[nodiscard]] virtual bool takes_rank(int rank) const { return rank == 1; }
    /// Whether the problem's up, down and dilation may be other than 1. Asked before supports(), so that most need not look.
    [[nodiscard]] virtual bool changes_rate() const { return false; }
    /// Whether an execution goes through the problem's outer axes by itself. Where not, the algorithm is asked about the problem of
    /// one of their elements, and its executable is repeated (core/plan/repeated.hpp).
    [[nodiscard]] virtual bool takes_outer(const Resolved& /*problem*/, const Request& /*request*/) const { return false; }
    /// Asked for problems of its ranks. The problem has outer axes only where the algorithm takes them.
    [[nodiscard]] virtual Support supports(const Resolved& problem, const Request& request) const = 0;
    /// Whether an output's error depends on the terms of its own sum alone. A transform's does not: a quiet passage that shares
    /// a block with a loud one has the loud one's error.
    [[nodiscard]] virtual bool is_local() const { return true; }
    /// Whether errors stay local for this problem: for all of them, or because the algorithm watches over them here. Called only if
    /// supported.
    [[nodiscard]] virtual bool keeps_local(const Resolved& /*problem*/, const Request& /*request*/) const { return is_local(); }
    /// Seconds of one execution; called only if supported. With n unknown: seconds a sample.
    [[nodiscard]] virtual double estimate_seconds(const Resolved& problem, const Request& request) const = 0;
    /// `taps`: problem.filters rows of problem.taps() packed elements of problem.taps_dtype, in correlation order (already reversed
    /// or conjugated); so many for each set of filters, one after the other, where the problem has outer axes. They need not
    /// outlive the call. nullptr: executions bring them; only a GPU's algorithms are asked so.
    [[nodiscard]] virtual std::unique_ptr<Executable> prepare(const Resolved& problem, const void* taps,
                                                              const Request& request) const = 0;
};

/// What an earlier measurement on the same device says is the fastest.
struct Measured {
    const Algorithm* algorithm = nullptr;
    std::string reason;  ///< "fastest as `tapline tune` measured ..."
};

/// Input and output of one problem in the memory that an engine's executables take, with ordinary numbers in the input.
class MeasuringBuffers : public Interface {
public:
    /// Seconds of one execution: the best of a few.
    virtual double seconds_of(const Executable& executable) = 0;
};

class Engine : public Interface {
public:
    /// `devices`: the one that this engine's plans run on.
    [[nodiscard]] virtual EngineInfo info() const = 0;
    /// The table, in the order in which ties are broken.
    [[nodiscard]] virtual std::span<const Algorithm* const> algorithms() const = 0;
    /// Why nothing of this engine solves the problem, where one reason holds for all: supports() is not asked then.
    [[nodiscard]] virtual Support accepts(const Resolved& /*problem*/, const Request& /*request*/) const { return Support::yes(); }
    /// Of the algorithms that `accept` takes the one that was measured to be the fastest for problems like this one, on this
    /// device and for the request's accuracy; nothing if nobody measured: the cost model decides.
    [[nodiscard]] virtual std::optional<Measured> measured(const Resolved& /*problem*/, const Request& /*request*/,
                                                           const std::function<bool(const Algorithm&)>& /*accept*/) const {
        return std::nullopt;
    }
    /// Up to so many taps algorithms whose errors stay local go first for accuracy `standard`: what is next to a passage 10^6 times
    /// as loud keeps its digits, while transforms leave an error of 1.4% in the outputs there (docs/numerics.md). What takes
    /// `strict` keeps every output's own bound, and `fast` asks for less.
    [[nodiscard]] virtual std::int64_t local_taps(int /*rank*/) const { return 128; }
    /// Seconds to copy so many bytes, for explain().
    [[nodiscard]] virtual double copy_seconds(std::int64_t bytes, int threads) const = 0;
    /// Where Effort::measure times this engine's executables. Throws Error (memory).
    [[nodiscard]] virtual std::unique_ptr<MeasuringBuffers> measuring_buffers(const Resolved& problem) const = 0;
};

// ---- The engines of this build: src/engines ----

/// The engine of a device name ("cpu", "cuda", "cuda:N"; "auto" is the CPU, see device_choice.hpp). Throws Error (device) with
/// the reason if it is absent, Error (argument) for a name that is none.
const Engine& engine_for(const std::string& device);

/// The engine that works in host memory.
const Engine& host_engine();

/// The first accelerator, or null with the reason why there is none.
const Engine* first_accelerator(std::string& reason);

// ---- Plans ----

struct PlanState {
    Problem problem;    ///< as given
    Resolved resolved;  ///< with all its outer axes
    Extent in_extent, out_extent;
    Request request;
    std::string device;
    bool host_buffers = false;  ///< Plan::execute takes host memory although the device is a GPU: device "auto", streams
    std::string algorithm;
    std::string reason;
    double predicted_seconds = 0;
    double predicted_copy_seconds = 0;
    std::size_t workspace_bytes = 0;
    std::unique_ptr<const Executable> executable;
};

/// The choice and the preparation behind make_plan, also with an unknown length for streams.
std::shared_ptr<const PlanState> make_state(const Problem& problem, const void* taps, const PlanOptions& options,
                                            bool allow_unknown_length);

/// The same behind make_plan_without_taps.
std::shared_ptr<const PlanState> make_state_without_taps(const Problem& problem, const PlanOptions& options);

/// The same algorithm with the same filters for `part`, which is state.resolved with other rows, strides or, of images, other
/// ranges of outputs. `taps`: as the state was made of. Only of engines whose executables take host memory.
std::unique_ptr<const Executable> prepare_part(const PlanState& state, const Resolved& part, const void* taps);

/// What holds for all sets of filters that the outer axes step through; `taps`: the caller's, or null.
TapsFacts facts_of_all(const Resolved& problem, const void* taps);

}  // namespace tapline::core
