# TAPLINE_SANITIZE applies to everything, the shared library and the tests alike: a program half of which is instrumented
# reports races and overflows that are not there.
if(TAPLINE_SANITIZE)
  add_compile_options(-fsanitize=${TAPLINE_SANITIZE} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${TAPLINE_SANITIZE})
  add_compile_definitions(TAPLINE_SANITIZED)  # compilers have a macro each
  if(TAPLINE_SANITIZE MATCHES "thread")
    add_compile_definitions(TAPLINE_SANITIZES_THREADS)
  endif()
  if(TAPLINE_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=all)  # the first finding ends the program, so that a test fails
  endif()
endif()
