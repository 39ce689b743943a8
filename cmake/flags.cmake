# Code generation and warnings for everything of ours (docs/architecture.md, section 5.5).
# Neither -ffast-math nor -march=native: the bits must not depend on the machine.
add_library(verbatim_flags INTERFACE)
target_include_directories(verbatim_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/generated)
target_compile_options(verbatim_flags INTERFACE
  -ffp-contract=off -fno-math-errno -fno-trapping-math -fvisibility=hidden
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wold-style-cast -Wcast-qual
  -Wnon-virtual-dtor -Woverloaded-virtual -Wdouble-promotion -Wformat=2 -Wundef
  -Wimplicit-fallthrough -Wextra-semi -Wvla)
if(VERBATIM_WERROR)
  target_compile_options(verbatim_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 warns falsely of strings joined to temporaries and of variants that hold strings.
  target_compile_options(verbatim_flags INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
  target_link_options(verbatim_flags INTERFACE -static-libstdc++ -static-libgcc)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g -D_GLIBCXX_ASSERTIONS")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
if(VERBATIM_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=address,undefined)
elseif(VERBATIM_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -g1)
  add_link_options(-fsanitize=thread)
endif()
if(VERBATIM_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
find_package(Threads REQUIRED)
