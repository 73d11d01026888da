# A room is one folder of native/. Its headers are reached as "room/file.h" through a directory that
# holds a link to this room alone, so that a target sees only the rooms it is linked with: an
# include against the arrows of docs/architecture.md does not compile.
function(native_runner_room name)
  set(root "${CMAKE_BINARY_DIR}/rooms/${name}")
  file(MAKE_DIRECTORY "${root}")
  file(CREATE_LINK "${CMAKE_SOURCE_DIR}/native/${name}" "${root}/${name}" SYMBOLIC)
  set(NATIVE_RUNNER_ROOM_${name} "${root}" PARENT_SCOPE)
endfunction()

function(native_runner_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")  # which has signs among conversions
    target_compile_options(${target} PRIVATE -Wno-sign-conversion)
  endif()
  if(NATIVE_RUNNER_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# With NATIVE_RUNNER_JOIN the compiler sees the sources of a folder as one, and builds the templates
# that they share once. The preset debug compiles each file by itself, which rebuilds one file faster.
function(native_runner_join_folders target)
  if(NOT NATIVE_RUNNER_JOIN)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_filename_component(folder "${source}" DIRECTORY)
    string(MAKE_C_IDENTIFIER "in_${folder}" group)
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${group}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# The standard headers that most sources include, compiled once for each target.
function(native_runner_precompile target)
  if(NATIVE_RUNNER_JOIN)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <atomic> <chrono> <deque> <functional> <map> <memory> <mutex> <optional>
      <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>)
  endif()
endfunction()

# Warnings, no exceptions, and the sanitizers that were asked for.
function(native_runner_options target)
  native_runner_warnings(${target})
  target_compile_options(${target} PRIVATE -fno-exceptions)
  native_runner_join_folders(${target})
  if(NATIVE_RUNNER_SANITIZE)
    target_compile_options(${target} PRIVATE
      -fsanitize=${NATIVE_RUNNER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    # AddressSanitizer sees null pointers and accesses outside of objects by itself. GCC takes as long
    # again to compile these checks of each access; Clang, which builds the fuzz targets, does not.
    if(NATIVE_RUNNER_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -fno-sanitize=null,alignment,object-size,vptr)
    endif()
    target_link_options(${target} PRIVATE -fsanitize=${NATIVE_RUNNER_SANITIZE})
  endif()
endfunction()

# For what is linked into the launcher, which has no C library to call.
set(NATIVE_RUNNER_FREESTANDING
  -O2 -fno-exceptions -fno-rtti -fno-builtin -fno-pie -fno-stack-protector -U_FORTIFY_SOURCE
  -fno-asynchronous-unwind-tables -ffunction-sections -fdata-sections)
