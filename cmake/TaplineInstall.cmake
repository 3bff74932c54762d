# cmake --install: headers, library, the CUDA engine beside it if it is built, command, completion, man page,
# find_package(tapline) and pkg-config. The tree may be moved: every path in it is relative to itself.
include(CMakePackageConfigHelpers)

set_target_properties(tapline PROPERTIES INSTALL_RPATH "$ORIGIN")

install(TARGETS tapline EXPORT taplineTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tapline DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")

# All that an installation takes from the build: what `make install` builds first.
add_custom_target(tapline_installed DEPENDS tapline)
if(TARGET tapline_cuda)
  add_dependencies(tapline_installed tapline_cuda)
  install(TARGETS tapline_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})  # loaded at run time: no part of the exported target
endif()

# What wheels take from it: no lessons, which would be compiled for every GPU.
add_custom_target(tapline_in_wheels DEPENDS tapline)
foreach(part tapline_cli tapline_cuda)
  if(TARGET ${part})
    add_dependencies(tapline_in_wheels ${part})
  endif()
endforeach()

set(tapline_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tapline)
install(EXPORT taplineTargets NAMESPACE tapline:: DESTINATION ${tapline_cmake_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/taplineConfig.cmake.in ${PROJECT_BINARY_DIR}/taplineConfig.cmake
  INSTALL_DESTINATION ${tapline_cmake_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/taplineConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/taplineConfig.cmake ${PROJECT_BINARY_DIR}/taplineConfigVersion.cmake
  DESTINATION ${tapline_cmake_dir})

file(RELATIVE_PATH TAPLINE_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" TAPLINE_PC_PREFIX "${TAPLINE_PC_PREFIX}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/tapline.pc.in ${PROJECT_BINARY_DIR}/tapline.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tapline.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

if(TARGET tapline_cli)
  add_dependencies(tapline_installed tapline_cli)
  set_target_properties(tapline_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${tapline_bin_to_lib}")
  if(TARGET tapline_lessons)  # for `tapline ladder` alone
    add_dependencies(tapline_installed tapline_lessons)
    install(TARGETS tapline_lessons LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT lessons)
  endif()
  install(TARGETS tapline_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES ${PROJECT_SOURCE_DIR}/share/completions/tapline DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${PROJECT_SOURCE_DIR}/docs/tapline.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
