// Problems among which every algorithm finds one, for tests that go through all of them.
#pragma once

#include <vector>

#include "tapline/tapline.hpp"

namespace tapline::test {

struct NamedProblem {
    const char* name;
    Problem problem;
};

inline Problem with(Problem p, const auto& change) {
    change(p);
    return p;
}

// For each algorithm something that it takes; large enough for several blocks, tiles and tasks.
inline std::vector<NamedProblem> problems_for_each_algorithm() {
    const Problem signal{.length = 60000, .taps = 63, .mode = Mode::same};
    const ImageProblem image{.height = 300, .width = 400, .channels = 3, .mask_height = 7, .mask_width = 5};
    std::vector<NamedProblem> all{
        {"few taps", with(signal, [](Problem& p) { p.taps = 5; })},
        {"many taps", with(signal, [](Problem& p) { p.taps = 5000; })},
        {"a mirrored boundary", with(signal, [](Problem& p) { p.boundary = Boundary::mirror; })},
        {"a far origin", with(signal, [](Problem& p) { p.origin = 70000, p.boundary = Boundary::reflect; })},
        {"an epilogue", with(signal,
                             [](Problem& p) {
                                 p.scale = 2, p.clamp = Clamp{0, 1}, p.output_dtype = Dtype::i16;
                             })},
        {"complex", with(signal, [](Problem& p) { p.dtype = Dtype::complex128, p.complex_taps = true; })},
        {"integers", with(signal, [](Problem& p) { p.dtype = Dtype::i16, p.overflow = Overflow::wrap; })},
        {"integers with real taps", with(signal, [](Problem& p) { p.dtype = Dtype::i16, p.real_taps = Dtype::f32; })},
        {"rows", with(signal, [](Problem& p) { p.length = 700, p.batch = 90, p.filters = Filters::per_row; })},
        {"time first", with(signal,
                            [](Problem& p) {
                                p.length = 700, p.batch = 90;
                                p.input_row_stride = p.output_row_stride = 1;
                                p.input_sample_stride = p.output_sample_stride = 90;
                            })},
        {"a transposed view", with(signal,
                                   [](Problem& p) {
                                       p.length = 700, p.batch = 90;
                                       p.input_row_stride = 1;
                                       p.input_sample_stride = 90;
                                   })},
        {"a rate", with(signal, [](Problem& p) { p.length = 3000, p.up = 3, p.down = 2; })},
        {"an image", image},
        {"an image of bytes", with(image, [](Problem& p) { p.dtype = Dtype::u8, p.real_taps = Dtype::f32; })},
        {"an image with a large mask", with(image, [](Problem& p) { p.axes[0].taps = p.axes[1].taps = 40; })},
        {"a volume", VolumeProblem{.depth = 20, .height = 21, .width = 22, .mask_depth = 3, .mask_height = 3, .mask_width = 3}},
    };
    Problem outer;
    outer.axes = {{.length = 900, .taps = 33}};
    outer.batch_axes = {{.length = 3, .input_stride = 0, .output_stride = 8000, .taps_stride = 33}, {.length = 7}};
    all.push_back({"outer axes", outer});
    outer.batch_axes = {{.length = 7}, {.length = 20, .input_stride = 1, .output_stride = 1}};
    outer.axes[0].input_stride = outer.axes[0].output_stride = 20;
    outer.batch_axes[0].input_stride = outer.batch_axes[0].output_stride = 20 * 1000;
    all.push_back({"a middle axis", outer});
    return all;
}

}  // namespace tapline::test
