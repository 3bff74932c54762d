#include "cli/convolve/convolve_job.hpp"

#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/convolve/filtering.hpp"
#include "cli/convolve/promotion.hpp"
#include "cli/plot/plot.hpp"
#include "cli/shared/progress.hpp"
#include "cli/shared/shared_options.hpp"
#include "io/reader.hpp"
#include "io/shape.hpp"
#include "io/writer.hpp"
#include "tapline/info.hpp"

namespace tapline::cli {
namespace {

using Json = nlohmann::ordered_json;

io::OpenOptions open_options(const ConvolveJob& job) {
    io::OpenOptions options;
    options.raw_dtype = job.raw_dtype;
    options.need_seek = job.boundary == Boundary::wrap;
    if (!job.from.empty()) {
        options.format = io::format_of_name("." + job.from);
        if (!options.raw_dtype) options.raw_dtype = io::raw_dtype_of_name("." + job.from);
    }
    return options;
}

// The sample rate that cutoffs, plots and audio outputs refer to; 0 if there is none.
double sample_rate_of(const ConvolveJob& job, const io::Info& info) {
    if (job.rate == 0) return info.sample_rate;
    if (info.sample_rate != 0 && job.rate != info.sample_rate) {
        throw Error(ErrorCode::argument, "rate: '" + job.signal + "' says " + std::to_string(info.sample_rate) +
                                             " Hz itself; leave out --rate, which is for signals without a rate");
    }
    return job.rate;
}

// Boundary wrap must know where the signal ends; a text file only tells when it was read.
std::int64_t count_frames(io::Reader& reader) {
    constexpr std::int64_t kFrames = 1 << 16;
    const Bytes room(static_cast<std::size_t>(kFrames * reader.info().channels) * size_of(reader.info().dtype));
    std::int64_t frames = 0;
    for (std::int64_t got = kFrames; got == kFrames;) {
        got = reader.read(room.data(), kFrames);
        frames += got;
    }
    reader.rewind();
    return frames;
}

void check_filters(const TapsSet& taps, const io::Layout& layout) {
    const std::int64_t rows = layout.inner > 1 ? layout.inner : layout.outer;
    if (taps.filters == 1 || taps.filters == rows) return;
    throw Error(ErrorCode::argument, "taps: '" + taps.description + "' holds " + std::to_string(taps.filters) +
                                         " filters, the signal has " + std::to_string(rows) +
                                         (rows == 1 ? " channel" : " channels or rows") +
                                         "; give one filter for all or one for each");
}

io::WriteOptions write_options(const ConvolveJob& job, const io::Info& info, const io::Layout& layout, const Problem& problem,
                               double rate) {
    io::WriteOptions options;
    const std::int64_t outputs = layout.length == kUnknownLength ? 0 : output_length(problem);
    options.dtype = output_dtype(problem);
    options.sample_rate = static_cast<int>(std::lround(rate));
    options.audio = info.audio;
    options.format = io::format_of_name(job.out);
    if (!job.to.empty()) {
        options.format = io::format_of_name("." + job.to);
        if (const int code = io::audio_container_of_name("." + job.to); code != 0) options.audio.code = code;
    } else if (!options.format && job.out == "-") {
        options.format = info.format;
    }
    options.channels = layout.outer == 1 ? layout.inner : 1;
    if (layout.length != kUnknownLength) {
        options.frames =
            io::checked_product({layout.outer, layout.inner, outputs}, ErrorCode::argument, "output", "give a smaller array") /
            options.channels;
    }
    if (options.format == io::Format::npy && info.format == io::Format::npy) {
        options.shape = info.shape;
        const int axis = job.axis < 0 ? job.axis + static_cast<int>(info.shape.size()) : job.axis;
        options.shape[static_cast<std::size_t>(axis)] = outputs;
        options.fortran = info.fortran;
    }
    if (options.format == io::Format::audio && layout.outer > 1) {
        throw Error(ErrorCode::argument, "output: rows of an array are no audio channels; write .npy, or filter along --axis 0");
    }
    return options;
}

struct Outcome {
    std::optional<Plan> plan;  ///< the first one
    double seconds = 0;
    std::int64_t samples = 0;
};

Json report(const ConvolveJob& job, const FilteringTask& task, const io::Reader& reader, const io::Writer& writer,
            const io::WriteOptions& written, const Outcome& outcome, double rate) {
    const io::Info& info = reader.info();
    const Problem& problem = task.problem;
    Json json;
    json["input"] = {{"name", reader.name()},
                     {"description", info.description},
                     {"format", to_string(info.format)},
                     {"dtype", to_string(info.stored)},
                     {"samples", outcome.samples},
                     {"channels", info.channels},
                     {"sample_rate", rate},
                     {"shape", info.shape}};
    json["taps"] = {{"name", task.taps->description},
                    {"length", task.taps->taps},
                    {"filters", task.taps->filters},
                    {"dtype", to_string(taps_dtype(problem))}};
    json["output"] = {{"name", job.out},
                      {"description", writer.description()},
                      {"dtype", to_string(written.dtype)},
                      {"frames", writer.frames_written()},
                      {"channels", written.channels},
                      {"shape", written.shape},
                      {"clipped_samples", writer.clipped_samples()}};
    json["mode"] = to_string(problem.mode);
    json["boundary"] = to_string(problem.boundary);
    json["operation"] = to_string(problem.operation);
    json["origin"] = origin(with_length(problem));
    json["computed_in"] = to_string(problem.dtype);
    json["accuracy"] = to_string(job.accuracy);
    json["algorithm"] = outcome.plan->algorithm();
    json["device"] = outcome.plan->device();
    json["threads"] = outcome.plan->threads();
    json["reason"] = outcome.plan->reason();
    json["seconds"] = outcome.seconds;
    json["samples_per_second"] = static_cast<double>(outcome.samples) / outcome.seconds;
    if (rate > 0 && task.layout.outer == 1) {
        json["times_real_time"] = static_cast<double>(outcome.samples / task.layout.inner) / rate / outcome.seconds;
    }
    json["version"] = version();
    return json;
}

std::string base_name(const std::string& path, const char* standard) {
    if (path == "-") return standard;
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? path : path.substr(slash + 1);
}

PlotTexts plot_texts(const ConvolveJob& job, const FilteringTask& task, const io::Reader& reader, const io::Writer& writer,
                     const Outcome& outcome, double rate) {
    const Problem& problem = task.problem;
    PlotTexts texts;
    texts.signal_name = base_name(job.signal, "standard input");
    texts.output_name = base_name(job.out, "standard output") + ", " + writer.description();
    texts.taps_name = task.taps->adapts && task.taps->sample_rate == 0 ? task.taps->description
                                                                       : base_name(task.taps->description, "standard input");
    texts.title = texts.signal_name + " \xe2\x88\x97 " + texts.taps_name;
    texts.signal_details =
        reader.info().description + (rate > 0 && reader.info().sample_rate == 0 ? ", " + format_si(rate) + "Hz" : "");
    texts.subtitle = std::string(to_string(problem.mode)) + " " + to_string(problem.operation) + ", " +
                     to_string(problem.boundary) + " boundary, " + format_count(task.taps->taps) + " taps, computed in " +
                     to_string(problem.dtype) + " by " + outcome.plan->algorithm() + " on " + outcome.plan->device();
    return texts;
}

void warn(const ConvolveJob& job, const std::string& message) {
    if (!job.quiet) std::fprintf(stderr, "tapline: warning: %s\n", message.c_str());
}

void warn_before(const ConvolveJob& job, const TapsSet& taps, double rate) {
    if (taps.sample_rate == 0 || rate == 0 || taps.sample_rate == rate) return;
    warn(job, "the taps have " + std::to_string(taps.sample_rate) + " Hz and the signal has " + std::to_string(std::lround(rate)) +
                  " Hz; they are used as they are, which changes their pitch and duration");
}

void warn_after(const ConvolveJob& job, const io::Writer& writer) {
    const std::int64_t clipped = writer.clipped_samples();
    if (clipped > 0) {
        warn(job, std::to_string(clipped) + " samples of '" + job.out +
                      "' were outside the format's range and clipped; a smaller " + "--scale or a float .wav keeps them");
    }
}

io::Layout layout_of(const ConvolveJob& job, io::Reader& reader) {
    io::Layout layout = io::layout_along(reader.info(), job.axis);
    if (layout.length == kUnknownLength && job.boundary == Boundary::wrap) layout.length = count_frames(reader);
    if (layout.length == 0 || layout.outer == 0 || layout.inner == 0) {
        throw Error(ErrorCode::argument, "signal: '" + job.signal + "' is empty; a convolution needs at least one sample");
    }
    return layout;
}

void check_job(const ConvolveJob& job) {
    if (job.signal == "-" && job.taps == "-") throw usage_error("SIGNAL and TAPS cannot both be standard input");
    if (job.out == "-" && job.json) throw usage_error("--json and -o - would both write to standard output");
    if (!job.plot.empty()) check_plot_name(job.plot);
    for (const auto& name : {job.from, job.to}) {
        if (!name.empty() && !io::format_of_name("." + name)) {
            throw usage_error("'" + name + "' is not a format; use npy, wav, flac, ogg, f32, f64, raw, txt or another extension");
        }
    }
}

FilteringTask task_for(const ConvolveJob& job, io::Reader& reader, const TapsSet& taps) {
    FilteringTask task;
    task.problem = promoted_problem(job, reader.info(), taps);
    task.taps = &taps;
    task.layout = layout_of(job, reader);
    task.problem.length = task.layout.length;
    task.file_dtype = reader.info().dtype;
    task.plan = plan_options(job);
    check_filters(taps, task.layout);
    return task;
}

void filter_all(const ConvolveJob& job, FilteringTask& task, io::Reader& reader, io::Writer& writer, const Cutting& cutting,
                double rate, Outcome& outcome) {
    const io::Layout& layout = task.layout;
    const std::int64_t total = layout.length == kUnknownLength ? kUnknownLength : layout.length * layout.outer;
    Progress progress(total, rate, !job.quiet && !job.json);
    task.on_progress = [&](std::int64_t frames) {
        outcome.samples = frames * layout.inner;
        progress.update(frames);
    };
    const auto filtering = make_filtering(task, cutting);
    run_pipeline(reader, writer, cutting, [&](const Chunk& chunk, Outlet& outlet) { filtering->compute(chunk, outlet); });
}

}  // namespace

void run_convolve(const ConvolveJob& job) {
    check_job(job);
    const Stopwatch watch;
    const auto reader = io::Reader::open(job.signal, open_options(job));
    const double rate = sample_rate_of(job, reader->info());
    const TapsSet taps = load_taps(job.taps, rate, {.format = {}, .raw_dtype = job.raw_dtype, .need_seek = false});
    warn_before(job, taps, rate);
    FilteringTask task = task_for(job, *reader, taps);
    const io::WriteOptions written = write_options(job, reader->info(), task.layout, task.problem, rate);
    task.writer_channels = written.channels;
    const Cutting cutting = cutting_for(task);
    Outcome outcome;
    task.on_plan = [&](const Plan& plan) {
        outcome.plan = plan;
        if (job.explain) std::fputs(plan.explain().c_str(), stderr);
    };
    std::optional<PlotCollector> plot;
    if (!job.plot.empty()) {
        plot.emplace(job.plot, task.problem.dtype, written.dtype, task.layout.inner);
        task.on_input = [&](const void* data, std::int64_t frames, std::int64_t channels) {
            plot->input.add(data, frames, channels);
        };
        task.on_output = [&](const void* data, std::int64_t frames, std::int64_t channels) {
            plot->output.add(data, frames, channels);
        };
    }
    const auto writer = io::Writer::create(job.out, written);
    filter_all(job, task, *reader, *writer, cutting, rate, outcome);
    if (plot) plot->draw(plot_texts(job, task, *reader, *writer, outcome, rate), taps, rate);
    writer->commit();
    if (plot) plot->commit();
    outcome.seconds = watch.seconds();
    warn_after(job, *writer);
    if (job.json) std::cout << report(job, task, *reader, *writer, written, outcome, rate).dump(2) << '\n';
}

}  // namespace tapline::cli
