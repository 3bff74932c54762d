/* The C interface. Without CMake: cc main.c $(pkg-config --cflags --libs tapline) */
#include <stdio.h>

#include "tapline/tapline.h"

int main(void) {
    const float signal[] = {1, 2, 3};
    const float taps[] = {1, 2};
    float out[4];
    if (tapline_convolve_f32(out, 4, signal, 3, taps, 2, TAPLINE_FULL) != TAPLINE_OK) {
        fprintf(stderr, "%s\n", tapline_last_error());
        return 1;
    }
    printf("tapline %s from C:", tapline_version());
    for (int i = 0; i < 4; ++i) printf(" %g", out[i]);
    printf("\n");
    return 0;
}
