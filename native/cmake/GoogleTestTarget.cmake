# GTest::gtest_main for what is built: installed for this machine, and from the sources that Debian's
# googletest has where the build is for another.
if(NOT CMAKE_CROSSCOMPILING)
  find_package(GTest REQUIRED)
  return()
endif()
set(GOOGLETEST_SOURCES /usr/src/googletest CACHE PATH "Sources of GoogleTest, for cross builds")
if(NOT EXISTS "${GOOGLETEST_SOURCES}/CMakeLists.txt")
  message(FATAL_ERROR "no GoogleTest in ${GOOGLETEST_SOURCES}: install Debian's package googletest")
endif()
set(BUILD_GMOCK OFF CACHE BOOL "" FORCE)
set(INSTALL_GTEST OFF CACHE BOOL "" FORCE)
add_subdirectory("${GOOGLETEST_SOURCES}" "${CMAKE_BINARY_DIR}/googletest" EXCLUDE_FROM_ALL)
