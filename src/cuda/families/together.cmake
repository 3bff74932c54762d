# Reading headers takes 2 to 4 s a source, in both compilers: sources that are alike are read together, as one that includes them. Where code is
# hardly optimised that is most of the time, so more of them are; else what is alike stays small enough to be unpacked in a few milliseconds
# when a kernel of it is first used. A line is what their paths are behind families/ or, of made ones, in the build.
function(tapline_read_together list regex filter)
  set(members ${${list}})
  list(FILTER members INCLUDE REGEX "/families/(${regex})\\.cu$")
  if(ARGC GREATER 3)
    list(FILTER members ${filter} REGEX ${ARGV3})
  endif()
  list(LENGTH members count)
  if(count GREATER 1)
    list(GET members 0 first)
    get_filename_component(name ${first} NAME)  # which says for which GPUs all of them are
    set(all ${${list}})
    list(REMOVE_ITEM all ${members})
    list(TRANSFORM members REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE text)
    list(JOIN text "" text)
    file(CONFIGURE OUTPUT together/${name} CONTENT "${text}" @ONLY)
    list(APPEND all ${CMAKE_CURRENT_BINARY_DIR}/together/${name})
    set(${list} ${all} PARENT_SCOPE)
  endif()
endfunction()

if(TAPLINE_CUDA_QUICK)
  set(alike
    "common/[a-z0-9_]+"
    "depthwise/[a-z0-9_]+"
    "direct/[a-z0-9_]+"
    "direct/columns/[a-z0-9_]+"
    "direct/rows/[a-z0-9_]+"
    "image_fft_large/image_fft_large_kernels_[a-z0-9_]+"
    "(image_planes|image_tiles|flattened|transposed|volume)/[a-z0-9_]+"
    "integer/[a-z0-9_/]+"
    "overlap_save/(overlap_save_spectrum|checked/overlap_save_repair|long/overlap_save_long_kernels)"
    "overlap_save/checked/overlap_save_checked_kernels_[a-z0-9]+"
    "overlap_save/cluster/overlap_save_cluster_kernels_[a-z0-9]+"
    "overlap_save/large/overlap_save_large_kernels_[a-z0-9]+"
    "overlap_save/large/overlap_save_large_spectrum_kernels_[a-z0-9]+"
    "overlap_save/segment/overlap_save_kernels_[a-z0-9]+"
    "overlap_save/segment/overlap_save_narrow_kernels_[a-z0-9]+"
    "overlap_save/segment/overlap_save_tiles_kernels_[a-z0-9]+")
  # What is for the oldest GPU as well apart.
  foreach(paths ${alike})
    tapline_read_together(family_sources "${paths}" EXCLUDE ${once_for_new_gpus})
    tapline_read_together(family_sources "${paths}" INCLUDE ${once_for_new_gpus})
  endforeach()
else()
  # The first one's name decides in CMakeLists.txt for which GPUs all of a line are, so that they must be for the same ones.
  set(alike
    "common/[a-z_]+|flattened/flattened|image_fft_large/image_fft_large_around|image_planes/image_planes|overlap_save/large/overlap_save_large_prepare|strict_sums/strict_sums|transposed/[a-z_]+"
    "depthwise/[a-z_]+"
    "direct/columns/[a-z_]+"
    "direct/direct_few_(f32|16bit)"
    "direct/direct_window_[a-z_]+"
    "direct/image_(bytes|direct)_kernels"
    "direct/(direct_kernels|rows/direct_(widened|words)_kernels)"
    "direct/rows/direct_across_[a-z_]+"
    "direct/rows/direct_few_[a-z_]+"
    "image_fft_large/image_fft_large_kernels_(256|512)"
    "image_fft_large/image_fft_large_kernels_(1024|2048)"
    "image_tiles/image_(tiles|bands)_[a-z]+"
    "integer/[a-z_]+|integer/passes/[a-z_]+"
    "bytes/bytes_kernels|integer/digits/integer_tensor|tensor/(image_tensor|tensor_kernels|lines/tensor_lines_kernels)"
    "overlap_save/(overlap_save_spectrum|checked/overlap_save_repair)"
    "overlap_save/long/overlap_save_long_kernels|overlap_save/segment/overlap_save_narrow_kernels_[a-z0-9]+"
    "overlap_save/checked/overlap_save_checked_kernels_[a-z0-9]+"
    "overlap_save/cluster/overlap_save_cluster_kernels_b?f16"
    "overlap_save/cluster/overlap_save_cluster_kernels_(f32|complex64|f64|complex128)"
    "overlap_save/large/overlap_save_large_kernels_(f64|complex128)"
    "overlap_save/large/overlap_save_large_kernels_b?f16"
    "overlap_save/large/overlap_save_large_spectrum_kernels_[a-z0-9]+"
    "overlap_save/segment/overlap_save_(ahead|to_bytes)_kernels"
    "overlap_save/segment/overlap_save_kernels_(f64|complex128)"
    "overlap_save/segment/overlap_save_kernels_b?f16"
    "overlap_save/segment/overlap_save_tiles_kernels_complex[0-9]+")
  foreach(paths ${alike})
    tapline_read_together(family_sources "${paths}" INCLUDE)
  endforeach()
  tapline_read_together(sources_of_90a "integer/digits/integer_group|tensor/(short/short_rows|tensor_group)_kernels" INCLUDE)
endif()
