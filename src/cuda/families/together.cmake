# Where CUDA code is hardly optimised, reading headers takes most of the time: sources that are alike are read together, as one that includes them, or as two
# where some are for the oldest GPU as well. A line is what their paths are behind families/.
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
foreach(paths ${alike})
  foreach(kind EXCLUDE INCLUDE)
    set(members ${family_sources})
    list(FILTER members INCLUDE REGEX "/families/${paths}\\.cu$")
    list(FILTER members ${kind} REGEX ${once_for_new_gpus})
    list(LENGTH members count)
    if(count GREATER 1)
      list(GET members 0 first)
      get_filename_component(name ${first} NAME)  # which says for which GPUs all of them are
      list(TRANSFORM members REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE text)
      list(JOIN text "" text)
      file(CONFIGURE OUTPUT together/${name} CONTENT "${text}" @ONLY)
      list(REMOVE_ITEM family_sources ${members})
      list(APPEND family_sources ${CMAKE_CURRENT_BINARY_DIR}/together/${name})
    endif()
  endforeach()
endforeach()
