// The spectrum of a plan's taps, made on the device in double.
#pragma once

#include "cuda/families/overlap_save/large/overlap_save_large_cut.hpp"

namespace tapline::cuda::overlap_save {

/// Loads what make_plan_spectrum() launches.
void load_plan_spectrum(const Prepared& prepared, int bits);
/// Writes the spectrum for segments of `cut` to `to`, in the order and type of the segments' kernel, from the taps in
/// prepared.on_device. A device in double takes a fraction of a millisecond for 2^20 taps, the host a second; rounded once, it is
/// what the host would have made. Allocates, and waits for the stream.
void make_plan_spectrum(const Prepared& prepared, const LargeCut& cut, void* to, cudaStream_t stream);

/// The same of a long segment's parts of 2^bits points, whose taps, split, are in double at `points`; these become the spectra, and
/// `to` may be `points`.
void load_parts_spectra(const Prepared& prepared, int bits);
void make_parts_spectra(const Prepared& prepared, const LargeCut& part, int parts, void* points, void* to, cudaStream_t stream);

}  // namespace tapline::cuda::overlap_save
