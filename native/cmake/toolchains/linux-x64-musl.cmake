# Cross-builds for x64 and musl with Zig, which brings musl's headers, its start files and a C++ library
# for it. NATIVE_RUNNER_ZIG names the program.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
if(NOT DEFINED ENV{NATIVE_RUNNER_ZIG})
  message(FATAL_ERROR "NATIVE_RUNNER_ZIG names no Zig: build with `npm run build -- --libc musl`")
endif()
set(CMAKE_C_COMPILER "$ENV{NATIVE_RUNNER_ZIG}" cc)
set(CMAKE_CXX_COMPILER "$ENV{NATIVE_RUNNER_ZIG}" c++)
set(CMAKE_C_COMPILER_TARGET x86_64-linux-musl)
set(CMAKE_CXX_COMPILER_TARGET x86_64-linux-musl)

# Programs and pkg-config's answers are the build machine's: they serve build tools alone.
set(CMAKE_FIND_ROOT_PATH "${CMAKE_CURRENT_LIST_DIR}/none")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
