# One static library per folder of libs/ and cohort/ (with its subfolders), one test program per folder of tests/.
add_library(cohort_options INTERFACE)
target_compile_options(cohort_options INTERFACE -Wall -Wextra -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # g++ 13 takes any reference that a function of a temporary returns for one to it
  target_compile_options(cohort_options INTERFACE -Wno-dangling-reference)
endif()
target_include_directories(cohort_options INTERFACE ${CMAKE_SOURCE_DIR})

# cohort_pch(target kind libraries...): the target shares the precompiled header cmake/<kind>_pch.h, which needs the libraries.
function(cohort_pch target kind)
  set(owner cohort_${kind}_pch)
  if(NOT TARGET ${owner})
    file(WRITE ${CMAKE_BINARY_DIR}/${kind}_pch.cpp "")
    add_library(${owner} STATIC ${CMAKE_BINARY_DIR}/${kind}_pch.cpp)
    target_link_libraries(${owner} PUBLIC cohort_options ${ARGN})
    target_precompile_headers(${owner} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/${kind}_pch.h)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
  # Programs default to -fPIE, with which a header precompiled for libraries is refused.
  target_compile_options(${target} PRIVATE -fPIC)
endfunction()

# Headers and templates cost most of a compilation, so that up to 16 files of a target are compiled as one.
option(COHORT_UNITY "compile the files of a target in groups" ON)
function(cohort_unity target)
  if(NOT COHORT_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  execute_process(COMMAND ${COHORT_PYTHON} ${CMAKE_SOURCE_DIR}/tools/unity_groups.py 16 ${sources}
                  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REPLACE "\n" ";" lines "${lines}")
  foreach(line ${lines})
    string(REGEX MATCH "^([0-9]+) (.*)$" line "${line}")
    set_source_files_properties(${CMAKE_MATCH_2} PROPERTIES UNITY_GROUP ${CMAKE_MATCH_1})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # A member of an unnamed namespace's type is no mistake while the class is in the same file.
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
endfunction()

function(cohort_torch_pch target)
  target_link_libraries(${target} PRIVATE torch_libs)
  set_target_properties(${target} PROPERTIES JOB_POOL_COMPILE torch_pool)
  cohort_pch(${target} torch torch_libs nlohmann_json::nlohmann_json)
  cohort_unity(${target})
endfunction()

function(cohort_plain_pch target)
  cohort_pch(${target} plain nlohmann_json::nlohmann_json)
  cohort_unity(${target})
endfunction()

# cohort_lib(folder LINK targets): libs/<folder>/*.cpp as the library lib_<folder>.
function(cohort_lib name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/libs/${name}/*.cpp)
  add_library(lib_${name} STATIC ${sources})
  target_link_libraries(lib_${name} PUBLIC cohort_options ${ARG_LINK})
  cohort_plain_pch(lib_${name})
endfunction()

# cohort_library(folder [TORCH] LINK targets): cohort/<folder>/*.cpp as the library cohort_<folder>.
function(cohort_library name)
  cmake_parse_arguments(ARG "TORCH" "" "LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cohort/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_cpu\\.cpp$")
  if(NOT sources)
    add_library(cohort_${name} INTERFACE)
    target_link_libraries(cohort_${name} INTERFACE cohort_options ${ARG_LINK})
    return()
  endif()
  add_library(cohort_${name} STATIC ${sources})
  target_link_libraries(cohort_${name} PUBLIC cohort_options ${ARG_LINK})
  if(ARG_TORCH)
    target_link_libraries(cohort_${name} PUBLIC torch_libs)
    cohort_torch_pch(cohort_${name})
  else()
    cohort_plain_pch(cohort_${name})
  endif()
endfunction()

# cohort_test(folder LINK targets [TORCH]): tests/<folder>/*_test.cpp as the program test_<last part of folder>.
function(cohort_test folder)
  cmake_parse_arguments(ARG "TORCH" "" "LINK" ${ARGN})
  cmake_path(GET folder FILENAME name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(test_${name} ${sources})
  target_link_libraries(test_${name} PRIVATE cohort_options ${ARG_LINK} GTest::gtest GTest::gtest_main)
  target_compile_definitions(test_${name} PRIVATE COHORT_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  if(ARG_TORCH)
    cohort_torch_pch(test_${name})
  else()
    cohort_plain_pch(test_${name})
  endif()
  # One thread each: ctest runs several programs at once, and threads that share a core wait for each other.
  gtest_discover_tests(test_${name} TEST_PREFIX ${name}. DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES ENVIRONMENT OMP_NUM_THREADS=1)
endfunction()

# The CPU kernels (*_cpu.cpp) are compiled once per instruction set, see cohort/ops/cpu_arch.h; they are left out of the
# folder's own sources.
function(cohort_cpu_kernels name)
  file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cohort/${name}/*_cpu.cpp)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    set(archs base avx2 avx512 avx512bf16 amx)
  else()
    set(archs base)
    target_compile_definitions(cohort_options INTERFACE COHORT_ONE_ARCH)
  endif()
  set(flags_avx2 -march=x86-64-v3)
  set(flags_avx512 -march=x86-64-v4 -mprefer-vector-width=512)
  set(flags_avx512bf16 ${flags_avx512} -mavx512bf16)
  set(flags_amx ${flags_avx512bf16} -mamx-tile -mamx-bf16)
  # g++ 13 leaves multiply-adds of some loops unfused, depending on the loop around them: then a row's bits would depend
  # on the tile that it is in.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(fused --param=avoid-fma-max-bits=0)
  endif()
  # Kernels that use no matrix unit; cpu_arch.h lets `amx` have those of avx512bf16.
  set(COHORT_TILELESS "/(qkv_heads|row_kernels|token_logprobs)_cpu\\.cpp$")
  foreach(arch ${archs})
    if(arch STREQUAL "amx")
      list(FILTER kernels EXCLUDE REGEX ${COHORT_TILELESS})
    endif()
    add_library(cohort_${name}_${arch} OBJECT ${kernels})
    target_link_libraries(cohort_${name}_${arch} PRIVATE cohort_options torch_libs)
    target_compile_definitions(cohort_${name}_${arch} PRIVATE COHORT_ARCH=${arch})
    target_compile_options(cohort_${name}_${arch} PRIVATE
      -O3 -ffp-contract=fast ${fused} -fno-math-errno -Wno-psabi ${flags_${arch}})
    set_target_properties(cohort_${name}_${arch} PROPERTIES JOB_POOL_COMPILE torch_pool)
    target_sources(cohort_${name} PRIVATE $<TARGET_OBJECTS:cohort_${name}_${arch}>)
  endforeach()
endfunction()
