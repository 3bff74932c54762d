# The kernels of families that are compiled once an element type: a source each, made from the family's .cu.in. What is not worth a
# source of its own lists its types where its kernels are chosen.
set(element_types f32:float f64:double f16:__half bf16:__nv_bfloat16 complex64:float2 complex128:double2)
# Where the type of taps or sums is what counts, which has no 16 bits.
set(per_type_of_taps
  overlap_save/segment/overlap_save_tiles_kernels
  overlap_save/large/overlap_save_large_spectrum_kernels)
set(per_element_type
  overlap_save/segment/overlap_save_kernels
  overlap_save/cluster/overlap_save_cluster_kernels
  overlap_save/large/overlap_save_large_kernels)
# A source of the family's for each of the named C++ types, "name:type".
function(tapline_instantiate source)
  foreach(named ${ARGN})
    string(REGEX MATCH "^[^:]+" name ${named})
    string(REGEX REPLACE "^[^:]+:" "" ELEMENT ${named})
    set(made ${CMAKE_CURRENT_BINARY_DIR}/families/${source}_${name}.cu)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/${source}.cu.in ${made} @ONLY)
    list(APPEND family_sources ${made})
  endforeach()
  set(family_sources ${family_sources} PARENT_SCOPE)
endfunction()
# Samples of 16 bits whose outputs are f32.
tapline_instantiate(overlap_save/segment/overlap_save_narrow_kernels
  i16:short "u16:unsigned short" f16:__half bf16:__nv_bfloat16)
# Samples of f32 and complex64 in double.
tapline_instantiate(overlap_save/checked/overlap_save_checked_kernels f32:WideFloat complex64:WideComplex)
foreach(source ${per_element_type})
  tapline_instantiate(${source} ${element_types})
endforeach()
set(element_types_of_taps ${element_types})
list(FILTER element_types_of_taps EXCLUDE REGEX "f16")
foreach(source ${per_type_of_taps})
  tapline_instantiate(${source} ${element_types_of_taps})
endforeach()
# Images' transforms, a source for each size of their tiles.
foreach(SIZE 256 512 1024 2048)
  set(made ${CMAKE_CURRENT_BINARY_DIR}/families/image_fft_large/image_fft_large_kernels_${SIZE}.cu)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/image_fft_large/image_fft_large_kernels.cu.in ${made} @ONLY)
  list(APPEND family_sources ${made})
endforeach()
