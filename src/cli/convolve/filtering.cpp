#include "cli/convolve/filtering.hpp"

#include <algorithm>

namespace tapline::cli {
namespace {

// Small enough that the queues stay within some tens of MiB, large enough that system calls and threads cost nothing beside.
constexpr std::int64_t kChunkBytes = std::int64_t{1} << 20;
constexpr std::int64_t kOutputBytes = std::int64_t{2} << 20;
// Up to this size rows are computed by plans of several rows: no stream has to be filled and drained for each.
constexpr std::int64_t kBlockBytes = std::int64_t{4} << 20;

std::int64_t bytes_of(Dtype dtype) { return static_cast<std::int64_t>(size_of(dtype)); }

bool filters_differ_by_block(const FilteringTask& task) { return task.taps->filters > 1 && task.layout.inner == 1; }

/// The file's elements as the problem wants them; the chunk's own memory if they are.
const std::byte* converted(const FilteringTask& task, const Chunk& chunk, std::int64_t elements, Bytes& room) {
    if (task.file_dtype == task.problem.dtype) return chunk.data.data();
    const auto bytes = static_cast<std::size_t>(elements * bytes_of(task.problem.dtype));
    if (room.size() < bytes) room = Bytes(bytes);
    convert(room.data(), task.problem.dtype, chunk.data.data(), task.file_dtype, elements);
    return room.data();
}

class StreamFiltering final : public Filtering {
public:
    explicit StreamFiltering(const FilteringTask& task) : task_(task) {
        problem_ = task.problem;
        problem_.batch = task.layout.inner;
        problem_.filters = task.taps->filters > 1 && task.layout.inner > 1 ? Filters::per_row : Filters::shared;
        out_frame_bytes_ = static_cast<std::size_t>(task.layout.inner * bytes_of(output_dtype(problem_)));
    }

    void compute(const Chunk& chunk, Outlet& outlet) override {
        const std::int64_t elements = chunk.frames * task_.layout.inner;
        if (chunk.kind == Chunk::Kind::tail) {
            tail_ = Bytes(static_cast<std::size_t>(elements * bytes_of(problem_.dtype)));
            convert(tail_.data(), problem_.dtype, chunk.data.data(), task_.file_dtype, elements);
            tail_frames_ = chunk.frames;
            return;
        }
        if (chunk.frames == 0 && chunk.begins_block) {
            throw Error(ErrorCode::argument, "signal: it is empty; a convolution needs at least one sample");
        }
        if (chunk.begins_block) begin(chunk.block);
        const std::byte* in = converted(task_, chunk, elements, room_);
        if (task_.on_input && chunk.block == 0) task_.on_input(in, chunk.frames, task_.layout.inner);
        stream_->push(in, chunk.frames);
        drain(chunk.block, outlet);
        if (chunk.ends_block) {
            stream_->flush();
            drain(chunk.block, outlet);
        }
        done_ += chunk.frames;
        if (task_.on_progress) task_.on_progress(done_);
    }

private:
    void begin(std::int64_t block) {
        if (stream_ && !filters_differ_by_block(task_) && tail_frames_ == 0) {
            stream_->restore(fresh_);
            return;
        }
        const bool own = filters_differ_by_block(task_);
        const Bytes taps = task_.taps->rows_as(taps_dtype(problem_), own ? block : 0, own ? 1 : task_.taps->filters);
        StreamOptions options;
        options.plan = task_.plan;
        options.tail = tail_frames_ > 0 ? tail_.data() : nullptr;
        options.tail_frames = tail_frames_;
        const bool first = !stream_;
        stream_.reset();
        stream_.emplace(problem_, taps.data(), options);
        if (task_.layout.outer > 1 && !own && tail_frames_ == 0) fresh_ = stream_->save();
        if (first && task_.on_plan) task_.on_plan(stream_->plan());
    }

    void drain(std::int64_t block, Outlet& outlet) {
        const std::int64_t most = std::max<std::int64_t>(1, kOutputBytes / static_cast<std::int64_t>(out_frame_bytes_));
        while (stream_->available() > 0) {
            const std::int64_t wanted = std::min(most, stream_->available());
            Bytes out = outlet.reserve(static_cast<std::size_t>(most) * out_frame_bytes_);
            const std::int64_t frames = stream_->take(out.data(), wanted);
            if (task_.on_output && block == 0) task_.on_output(out.data(), frames, task_.layout.inner);
            outlet.send(std::move(out), frames * task_.layout.inner / task_.writer_channels);
        }
    }

    const FilteringTask& task_;
    Problem problem_;
    std::size_t out_frame_bytes_;
    Bytes tail_;
    std::int64_t tail_frames_ = 0;
    Bytes room_;
    std::optional<Stream> stream_;
    std::vector<std::byte> fresh_;  // the stream's state before its first sample
    std::int64_t done_ = 0;
};

class BlockFiltering final : public Filtering {
public:
    explicit BlockFiltering(const FilteringTask& task) : task_(task) {}

    void compute(const Chunk& chunk, Outlet& outlet) override {
        prepare(chunk);
        const std::int64_t rows = chunk.blocks;
        const std::byte* in = converted(task_, chunk, rows * chunk.frames, room_);
        const std::int64_t outputs = rows * plan_->output_length();
        Bytes out = outlet.reserve(static_cast<std::size_t>(outputs * bytes_of(output_dtype(plan_->problem()))));
        plan_->execute(out.data(), in, workspace_.span());
        if (chunk.block == 0) {
            if (task_.on_input) task_.on_input(in, chunk.frames, 1);
            if (task_.on_output) task_.on_output(out.data(), plan_->output_length(), 1);
        }
        outlet.send(std::move(out), outputs / task_.writer_channels);
        done_ += rows * chunk.frames;
        if (task_.on_progress) task_.on_progress(done_);
    }

private:
    void prepare(const Chunk& chunk) {
        const bool own = filters_differ_by_block(task_);
        if (plan_ && !own && plan_->problem().batch == chunk.blocks) return;
        Problem problem = task_.problem;
        problem.batch = chunk.blocks;
        problem.filters = own ? Filters::per_row : Filters::shared;
        const Bytes taps = task_.taps->rows_as(taps_dtype(problem), own ? chunk.block : 0, own ? chunk.blocks : 1);
        const bool first = !plan_;
        plan_ = make_plan(problem, taps.data(), task_.plan);
        if (workspace_.size() < plan_->workspace_bytes()) workspace_ = Bytes(plan_->workspace_bytes());
        if (first && task_.on_plan) task_.on_plan(*plan_);
    }

    const FilteringTask& task_;
    std::optional<Plan> plan_;
    Bytes workspace_;
    Bytes room_;
    std::int64_t done_ = 0;
};

}  // namespace

Problem with_length(Problem problem) {
    if (problem.length == kUnknownLength) problem.length = std::max<std::int64_t>(problem.taps, 1);
    return problem;
}

Cutting cutting_for(const FilteringTask& task) {
    Cutting cutting{.layout = task.layout};
    const Problem problem = with_length(task.problem);
    const std::int64_t element = std::max(bytes_of(task.file_dtype), bytes_of(problem.dtype));
    const std::int64_t block_bytes =
        std::max(task.layout.length * task.layout.inner * element, output_length(problem) * bytes_of(output_dtype(problem)));
    if (task.layout.outer > 1 && task.layout.inner == 1 && block_bytes <= kBlockBytes) {
        cutting.blocks_per_chunk = std::max<std::int64_t>(1, kBlockBytes / block_bytes);
        return cutting;
    }
    cutting.frames_per_chunk = std::max<std::int64_t>(1, kChunkBytes / (task.layout.inner * element));
    if (task.problem.boundary == Boundary::wrap && task.layout.length > 0) {
        cutting.tail_frames = std::clamp<std::int64_t>(origin(problem), 0, task.layout.length);
    }
    return cutting;
}

std::unique_ptr<Filtering> make_filtering(const FilteringTask& task, const Cutting& cutting) {
    if (cutting.blocks_per_chunk > 0) return std::make_unique<BlockFiltering>(task);
    return std::make_unique<StreamFiltering>(task);
}

}  // namespace tapline::cli
