# The build tool that makes the seccomp filters, by libseccomp. It runs where we build: a cross build
# compiles it with that machine's own compiler, which neither the toolchain file nor the targets'
# options concern.
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBSECCOMP REQUIRED IMPORTED_TARGET libseccomp)

# libseccomp's names of processors are those of CMake.
set(SECCOMP_ARCHITECTURE "${CMAKE_SYSTEM_PROCESSOR}")
set(SECCOMP_GENERATOR_SOURCES "${CMAKE_SOURCE_DIR}/native/launcher/seccomp/generate.cpp")

# Sets SECCOMP_GENERATOR: what a custom command runs, and depends on.
function(native_runner_seccomp_generator includes)
  if(NOT CMAKE_CROSSCOMPILING)
    add_executable(seccomp_generator ${SECCOMP_GENERATOR_SOURCES})
    target_include_directories(seccomp_generator PRIVATE "${includes}")
    target_link_libraries(seccomp_generator PRIVATE PkgConfig::LIBSECCOMP)
    native_runner_warnings(seccomp_generator)
    set(SECCOMP_GENERATOR seccomp_generator PARENT_SCOPE)
    return()
  endif()
  find_program(BUILD_CXX NAMES "$ENV{CXX_FOR_BUILD}" g++ clang++ c++ REQUIRED NO_CMAKE_FIND_ROOT_PATH)
  set(program "${CMAKE_CURRENT_BINARY_DIR}/seccomp_generator")
  set(units)
  foreach(source IN LISTS SECCOMP_GENERATOR_SOURCES)
    get_filename_component(name "${source}" NAME_WE)
    set(unit "${CMAKE_CURRENT_BINARY_DIR}/${name}.build.o")
    add_custom_command(OUTPUT "${unit}"
      COMMAND "${BUILD_CXX}" -std=c++20 -O1 "-I${includes}" ${LIBSECCOMP_CFLAGS}
        -MD -MF "${unit}.d" -c "${source}" -o "${unit}"
      DEPENDS "${source}" DEPFILE "${unit}.d" VERBATIM)
    list(APPEND units "${unit}")
  endforeach()
  add_custom_command(OUTPUT "${program}"
    COMMAND "${BUILD_CXX}" ${units} -o "${program}" ${LIBSECCOMP_LDFLAGS}
    DEPENDS ${units} VERBATIM)
  set(SECCOMP_GENERATOR "${program}" PARENT_SCOPE)
endfunction()
