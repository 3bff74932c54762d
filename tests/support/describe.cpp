// Problems in words, for the messages of tests.
#include <sstream>

#include "support/draw.hpp"

namespace tapline::test {
namespace {

std::ostream& operator<<(std::ostream& text, const std::optional<std::int64_t>& value) {
    return value ? text << *value : text << "packed";
}

void rate(std::ostream& text, std::int64_t up, std::int64_t down, std::int64_t dilation) {
    if (up != 1 || down != 1 || dilation != 1) { text << ", up " << up << " down " << down << " dilation " << dilation; }
}

void short_form(std::ostream& text, const Problem& p) {
    text << "length " << p.length << ", taps " << p.taps;
    if (p.origin) { text << ", origin " << *p.origin; }
    rate(text, p.up, p.down, p.dilation);
    text << ", sample strides " << p.input_sample_stride << " and " << p.output_sample_stride;
}

void rows(std::ostream& text, const Problem& p) {
    text << "; batch " << p.batch << " " << to_string(p.filters);
    if (p.filter_count != 0) { text << " " << p.filter_count << " in turn"; }
    text << ", row strides " << p.input_row_stride << " and " << p.output_row_stride << ", of taps " << p.taps_row_stride;
}

void axes(std::ostream& text, const Problem& p) {
    for (const FilteredAxis& a : p.axes) {
        text << "[length " << a.length << ", taps " << a.taps;
        if (a.mode) { text << ", " << to_string(*a.mode); }
        if (a.boundary) { text << ", " << to_string(*a.boundary); }
        if (a.origin) { text << ", origin " << *a.origin; }
        rate(text, a.up, a.down, a.dilation);
        text << ", strides " << a.input_stride << " and " << a.output_stride << "]";
    }
}

}  // namespace

std::string describe(const Problem& p) {
    std::ostringstream text;
    text << to_string(p.mode) << " " << to_string(p.operation) << " of " << to_string(p.dtype) << " with "
         << to_string(taps_dtype(p)) << " taps -> " << to_string(output_dtype(p)) << ", boundary " << to_string(p.boundary);
    if (p.constant != 0.0) { text << " " << p.constant; }
    text << ": ";
    p.axes.empty() ? short_form(text, p) : axes(text, p);
    if (p.batch_axes.empty()) { rows(text, p); }
    for (const BatchAxis& a : p.batch_axes) {
        text << "; batch " << a.length << ", strides " << a.input_stride << " and " << a.output_stride << ", of taps "
             << a.taps_stride;
    }
    text << "; scale " << p.scale << ", bias " << p.bias;
    if (p.clamp) { text << ", clamp " << p.clamp->low << " to " << p.clamp->high; }
    return text.str();
}

}  // namespace tapline::test
