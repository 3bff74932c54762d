#include "cli/shared/taps_source.hpp"

#include "cli/commands.hpp"
#include "design/design.hpp"

namespace tapline::cli {
namespace {

constexpr std::int64_t kMaxTapsBytes = std::int64_t{4} << 30;

TapsSet designed(const std::string& text, double sample_rate) {
    design::Design design;
    try {
        design = design::parse(text, sample_rate);
    } catch (const Error& error) { throw usage_error(error.what()); }
    TapsSet set;
    set.adapts = true;
    set.taps = static_cast<std::int64_t>(design.taps.size());
    set.data = Bytes(design.taps.size() * sizeof(double));
    set.description = text.size() <= 60 ? text : text.substr(0, 57) + "...";
    if (design.integers.empty()) {
        std::memcpy(set.data.data(), design.taps.data(), set.data.size());
    } else {
        set.dtype = Dtype::i64;
        std::memcpy(set.data.data(), design.integers.data(), set.data.size());
    }
    return set;
}

// rows x columns elements to columns x rows.
Bytes transposed(const std::byte* from, std::int64_t rows, std::int64_t columns, std::size_t element) {
    Bytes to(static_cast<std::size_t>(rows * columns) * element);
    for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < columns; ++c) {
            std::memcpy(to.data() + static_cast<std::size_t>(c * rows + r) * element,
                        from + static_cast<std::size_t>(r * columns + c) * element, element);
        }
    }
    return to;
}

TapsSet loaded(const std::string& path, const io::OpenOptions& options) {
    const io::Contents contents = io::read_all(path, kMaxTapsBytes, options);
    const io::Info& info = contents.info;
    if (contents.data.empty())
        throw Error(ErrorCode::argument, "taps: '" + path + "' is empty; a filter needs at least one coefficient");
    TapsSet set;
    set.dtype = info.dtype;
    set.description = path;
    const auto elements = static_cast<std::int64_t>(contents.data.size() / size_of(info.dtype));
    bool interleaved = false;
    if (info.format == io::Format::npy) {
        if (info.shape.size() > 2) {
            throw Error(ErrorCode::argument, "taps: '" + path + "' has " + std::to_string(info.shape.size()) +
                                                 " dimensions; give one filter, or an array with one filter a row");
        }
        set.filters = info.shape.size() == 2 ? info.shape[0] : 1;
        interleaved = info.fortran;
    } else {
        set.filters = info.channels;
        interleaved = true;
        set.adapts = info.format != io::Format::raw;
        set.sample_rate = info.sample_rate;
    }
    set.taps = elements / set.filters;
    if (interleaved && set.filters > 1) {
        set.data = transposed(contents.data.data(), set.taps, set.filters, size_of(set.dtype));
    } else {
        set.data = Bytes(contents.data.size());
        std::memcpy(set.data.data(), contents.data.data(), contents.data.size());
    }
    return set;
}

}  // namespace

Bytes TapsSet::rows_as(Dtype to, std::int64_t row, std::int64_t count) const {
    Bytes out(static_cast<std::size_t>(count * taps) * size_of(to));
    convert(out.data(), to, data.data() + static_cast<std::size_t>(row * taps) * size_of(dtype), dtype, count * taps);
    return out;
}

TapsSet load_taps(const std::string& text, double sample_rate, const io::OpenOptions& options) {
    if (design::is_design(text)) return designed(text, sample_rate);
    check_is_file(text, design::design_advice(text));
    return loaded(text, options);
}

}  // namespace tapline::cli
