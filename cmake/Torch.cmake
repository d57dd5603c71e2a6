# Finds the LibTorch inside the `torch` package of a Python interpreter and links its libraries by path:
# find_package(Torch) of a CUDA build aborts on machines without a CUDA toolkit.
#
# COHORT_PYTHON  the interpreter whose torch is used (tools/setup.sh chooses it)
if(SKBUILD)  # the interpreter that runs pip, whichever it was the last time
  set(COHORT_PYTHON ${Python_EXECUTABLE})
else()
  set(default_python python3)
  if(EXISTS ${CMAKE_SOURCE_DIR}/build/torch-python)  # what `make build` chose
    file(STRINGS ${CMAKE_SOURCE_DIR}/build/torch-python default_python LIMIT_COUNT 1)
  endif()
  set(COHORT_PYTHON "${default_python}" CACHE STRING "Python interpreter whose torch package is built against")
endif()
execute_process(
  COMMAND ${COHORT_PYTHON} ${CMAKE_SOURCE_DIR}/tools/find_torch.py
  OUTPUT_VARIABLE torch_lines RESULT_VARIABLE torch_result ERROR_VARIABLE torch_error
  OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT torch_result EQUAL 0)
  message(FATAL_ERROR "${COHORT_PYTHON} has no usable torch: ${torch_error}\n"
                      "Run `make build`, which finds or installs one, or set -DCOHORT_PYTHON=/path/to/python.")
endif()
string(REPLACE "\n" ";" torch_lines "${torch_lines}")
list(GET torch_lines 0 TORCH_ROOT)
list(GET torch_lines 1 TORCH_VERSION)
list(GET torch_lines 2 torch_device)
message(STATUS "torch ${TORCH_VERSION} in ${TORCH_ROOT}, linked for ${torch_device}")

set(torch_library_dir ${TORCH_ROOT}/lib)
# The OpenMP runtime inside the wheel is the one that torch's threads live in; a second one would double them.
file(GLOB torch_openmp ${torch_library_dir}/libgomp*.so* ${TORCH_ROOT}/../torch.libs/libgomp*.so*)
list(GET torch_openmp 0 torch_openmp)
add_library(torch_libs INTERFACE)
target_include_directories(torch_libs SYSTEM INTERFACE
  ${TORCH_ROOT}/include ${TORCH_ROOT}/include/torch/csrc/api/include)
# clang can't read g++'s omp.h; without it the headers run on one thread, which is what fuzzing wants.
if(NOT COHORT_FUZZ)
  target_compile_options(torch_libs INTERFACE -fopenmp)
endif()
# libtorch.so is empty and needs the libraries of every device. Without an NVIDIA driver the program links those of the
# CPU alone: CUDA's take seconds to load and may be missing (tools/setup.sh).
set(torch_linked ${torch_library_dir}/libtorch_cpu.so)
if(torch_device STREQUAL "cuda")
  list(APPEND torch_linked ${torch_library_dir}/libtorch.so ${torch_library_dir}/libtorch_cuda.so
       ${torch_library_dir}/libc10_cuda.so)
endif()
target_link_libraries(torch_libs INTERFACE
  -Wl,--no-as-needed ${torch_linked} -Wl,--as-needed ${torch_library_dir}/libc10.so ${torch_openmp})
if(NOT SKBUILD)  # cmake/Wheel.cmake
  target_link_options(torch_libs INTERFACE -Wl,-rpath,${torch_library_dir})
endif()
