# tapline_link_with_old_system(TARGET): where TAPLINE_OLD_SYSTEM names such a folder, TARGET is linked against its C library and libstdc++, with
# what that one lacks from the compiler's archive. -B: a program starts as there, where Scrt1.o runs constructors, which glibc does itself since
# 2.34. Libraries of this system that are named by their path may ask for newer ones than there are.
function(tapline_link_with_old_system target)
  if(TAPLINE_OLD_SYSTEM)
    set(folder ${TAPLINE_OLD_SYSTEM})
    set(triple ${CMAKE_LIBRARY_ARCHITECTURE})
    target_link_options(${target} PRIVATE --sysroot=${folder} -B${folder}/usr/lib/${triple} -L${folder}/link
      -L${folder}/usr/lib/${triple} -L${folder}/lib/${triple} LINKER:--allow-shlib-undefined)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${folder}/complete)
  endif()
endfunction()
