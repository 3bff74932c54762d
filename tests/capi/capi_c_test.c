/* Compiled as C11 and including nothing else of the library: the header is C. Called by capi_test.cpp. */
#include "tapline/tapline.h"

#include <stdlib.h>

#define CHECK(condition)                         \
    do {                                         \
        if (!(condition)) { return #condition; } \
    } while (0)

static const char* one_call(void) {
    const float signal[4] = {1, 2, 3, 4};
    const float taps[2] = {1, -1};
    float out[5] = {0};
    CHECK(tapline_convolve_f32(out, 5, signal, 4, taps, 2, TAPLINE_FULL) == TAPLINE_OK);
    CHECK(out[0] == 1 && out[1] == 1 && out[3] == 1 && out[4] == -4);
    CHECK(tapline_convolve_f32(out, 4, signal, 4, taps, 2, TAPLINE_FULL) == TAPLINE_ARGUMENT);
    return NULL;
}

static const char* plan(void) {
    const double signal[5] = {1, 2, 3, 4, 5};
    const double taps[3] = {1, 0, -1};
    double out[5] = {0};
    tapline_problem problem;
    tapline_plan_options options;
    tapline_plan* made = NULL;
    int64_t length = 0;
    CHECK(tapline_problem_init(&problem) == TAPLINE_OK);
    CHECK(tapline_plan_options_init(&options) == TAPLINE_OK);
    problem.length = 5;
    problem.taps = 3;
    problem.dtype = TAPLINE_F64;
    problem.mode = TAPLINE_SAME;
    problem.boundary = TAPLINE_BOUNDARY_NEAREST;
    options.device = "cpu";
    CHECK(tapline_output_length(&length, &problem) == TAPLINE_OK && length == 5);
    CHECK(tapline_plan_create(&made, &problem, taps, &options) == TAPLINE_OK);
    CHECK(tapline_plan_execute_simple(made, out, signal) == TAPLINE_OK);
    tapline_plan_destroy(made);
    CHECK(out[0] == 1 && out[1] == 2 && out[4] == 1);
    return NULL;
}

/* NULL, or the condition that failed. */
const char* tapline_capi_c_test(void) {
    const char* failure = one_call();
    return failure != NULL ? failure : plan();
}
