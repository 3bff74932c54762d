#include "support/case.hpp"

#include <cstdlib>
#include <cstring>

#include "reference/reference.hpp"

namespace tapline::test {
namespace {

// All taps become the first one: those of means.
void make_equal(unsigned char* taps, Dtype dtype, std::int64_t count) {
    const std::size_t size = size_of(dtype);
    for (std::int64_t i = 1; i < count; ++i) { std::memcpy(taps + static_cast<std::size_t>(i) * size, taps, size); }
}

std::size_t bytes_of(std::int64_t elements, Dtype dtype) { return static_cast<std::size_t>(elements) * size_of(dtype); }

}  // namespace

std::int64_t environment_number(const char* name, std::int64_t fallback) {
    const char* text = std::getenv(name);
    return text == nullptr || *text == 0 ? fallback : std::atoll(text);
}

const void* Case::first_in() const { return in.data() + bytes_of(input_start(problem), problem.dtype); }
void* Case::first_out() { return out.data() + bytes_of(output_start(problem), output_dtype(problem)); }

bool Case::gaps_untouched() const {
    const reference::Shape shape = reference::shape_of(problem);
    const std::size_t size = size_of(output_dtype(problem));
    std::vector<bool> is_output(out.size() / size);
    for (const reference::Item& item : shape.items) {
        for (std::int64_t i = 0; i < shape.outputs(); ++i) {
            is_output[static_cast<std::size_t>(output_start(problem) + shape.place(item, i))] = true;
        }
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (!is_output[i / size] && out.data()[i] != 0xFF) { return false; }
    }
    return true;
}

Case draw_case(const Problem& p, Random& random) {
    const auto offset = [&](Dtype dtype) { return static_cast<std::size_t>(between(0, 9, random)) * size_of(real_part_of(dtype)); };
    Case c{p, GuardedBuffer(bytes_of(input_extent(p), p.dtype), offset(p.dtype)),
           GuardedBuffer(bytes_of(taps_extent(p), taps_dtype(p)), offset(taps_dtype(p))),
           GuardedBuffer(bytes_of(output_extent(p), output_dtype(p)), offset(output_dtype(p)))};
    fill_random(c.in.data(), p.dtype, input_extent(p), random);
    fill_random(c.taps.data(), taps_dtype(p), taps_extent(p), random);
    const bool is_real = !is_complex(taps_dtype(p)) && !is_integer(taps_dtype(p));
    if (p.axes.size() == 2 && is_real && chance(0.4, random)) {
        make_separable(c.taps.data(), p, static_cast<int>(between(1, 4, random)), random);
    }
    if (p.axes.size() < 2 && is_real && chance(0.06, random)) { make_equal(c.taps.data(), taps_dtype(p), taps_extent(p)); }
    if (chance(0.12, random)) { spoil(c.in.data(), p.dtype, input_extent(p), random); }
    if (chance(0.02, random)) { spoil(c.taps.data(), taps_dtype(p), taps_extent(p), random); }
    return c;
}

std::string failure_of(Case& c, const Expected& expected, const Plan& plan, bool elementwise, const Block& block) {
    std::memset(c.out.data(), 0xFF, c.out.size());
    GuardedBuffer workspace(plan.workspace_bytes());
    plan.execute(c.first_out(), c.first_in(), {reinterpret_cast<std::byte*>(workspace.data()), workspace.size()});
    if (!c.out.guards_intact() || !c.gaps_untouched()) { return "wrote outside the outputs"; }
    if (!c.in.guards_intact()) { return "wrote outside the input"; }
    if (!workspace.guards_intact()) { return "wrote outside the workspace"; }
    return expected.compare(c.first_out(), elementwise, block);
}

}  // namespace tapline::test
