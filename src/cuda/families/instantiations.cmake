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
# Samples of 16 bits whose outputs are f32.
foreach(named i16:short "u16:unsigned short" f16:__half bf16:__nv_bfloat16)
  string(REGEX MATCH "^[^:]+" name ${named})
  string(REGEX REPLACE "^[^:]+:" "" ELEMENT ${named})
  set(made ${CMAKE_CURRENT_BINARY_DIR}/families/overlap_save/segment/overlap_save_narrow_kernels_${name}.cu)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/overlap_save/segment/overlap_save_narrow_kernels.cu.in ${made} @ONLY)
  list(APPEND family_sources ${made})
endforeach()
# Samples of f32 and complex64 in double.
foreach(named f32:WideFloat complex64:WideComplex)
  string(REGEX MATCH "^[^:]+" name ${named})
  string(REGEX REPLACE "^[^:]+:" "" ELEMENT ${named})
  set(made ${CMAKE_CURRENT_BINARY_DIR}/families/overlap_save/checked/overlap_save_checked_kernels_${name}.cu)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/overlap_save/checked/overlap_save_checked_kernels.cu.in ${made} @ONLY)
  list(APPEND family_sources ${made})
endforeach()
foreach(source ${per_element_type} ${per_type_of_taps})
  foreach(named ${element_types})
    if(source IN_LIST per_type_of_taps AND named MATCHES "f16")
      continue()
    endif()
    string(REGEX MATCH "^[^:]+" name ${named})
    string(REGEX REPLACE "^[^:]+:" "" ELEMENT ${named})
    set(made ${CMAKE_CURRENT_BINARY_DIR}/families/${source}_${name}.cu)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/${source}.cu.in ${made} @ONLY)
    list(APPEND family_sources ${made})
  endforeach()
endforeach()
# Images' transforms, a source for each size of their tiles, of floats and of any type.
foreach(SIZE 256 512 1024 2048)
  foreach(ANY_TYPE false true)
    set(made ${CMAKE_CURRENT_BINARY_DIR}/families/image_fft_large/image_fft_large_kernels_${SIZE}_${ANY_TYPE}.cu)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/image_fft_large/image_fft_large_kernels.cu.in ${made} @ONLY)
    list(APPEND family_sources ${made})
  endforeach()
endforeach()
