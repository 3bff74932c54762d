/* An example: a lesson's kernel as a C function for one problem, valid correlation of f32 arrays in GPU memory. It is in
 * libtapline_solve.so, which needs neither libtapline.so nor the CUDA runtime: only the driver. For speed and for any other problem
 * use tapline.h. */
#ifndef TAPLINE_SOLVE_H
#define TAPLINE_SOLVE_H

#ifndef TAPLINE_SOLVE_API
#define TAPLINE_SOLVE_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Computes, on the current device and its default stream, and returns when the output is there:
 *
 *     output[i] = sum_{j=0}^{kernel_size-1} input[i + j] * kernel[j],   0 <= i <= input_size - kernel_size
 *
 * 1 <= kernel_size <= input_size. `input` has input_size elements, `kernel` (the taps) kernel_size and `output`
 * input_size - kernel_size + 1, all in memory that the current device can read and write; they stay the caller's, and `output`
 * overlaps neither of the others. On an error nothing is launched, or what was launched has failed: ask tapline_solve_error(). */
TAPLINE_SOLVE_API void solve(const float* input, const float* kernel, float* output, int input_size, int kernel_size);

/* What was wrong in this thread's last solve(), naming the argument, or NULL if it succeeded. Valid until the thread's next
 * solve(). */
TAPLINE_SOLVE_API const char* tapline_solve_error(void);

#ifdef __cplusplus
}
#endif

#endif
