# cohort_embed(target NAME=FILE...): the target carries each file. `std::string_view NAME();` in namespace cohort is its
# bytes; whoever reads it declares that function. FILE is relative to the calling CMakeLists.txt, which must be the one
# that makes the target. A changed file is embedded anew. May be called several times for a target.
function(cohort_embed target)
  foreach(pair ${ARGN})
    if(NOT pair MATCHES "^([A-Za-z_][A-Za-z0-9_]*)=(.+)$")
      message(FATAL_ERROR "cohort_embed(${target}): \"${pair}\" is not NAME=FILE")
    endif()
    set(name ${CMAKE_MATCH_1})
    set(file ${CMAKE_MATCH_2})
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    if(NOT EXISTS "${file}")
      message(FATAL_ERROR "cohort_embed(${target}): there is no file ${file}")
    endif()
    set(source ${CMAKE_BINARY_DIR}/embedded/${target}/${name}.cpp)
    file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [==[
#include <string_view>

asm(R"(
  .pushsection .rodata,"a",%progbits
  .balign 16
  .hidden cohort_embedded_@name@, cohort_embedded_@name@_end
  .globl cohort_embedded_@name@, cohort_embedded_@name@_end
cohort_embedded_@name@:
  .incbin "@file@"
cohort_embedded_@name@_end:
  .byte 0
  .popsection
)");

extern "C" {
[[gnu::visibility("hidden")]] extern const char cohort_embedded_@name@[], cohort_embedded_@name@_end[];
}

namespace cohort {

std::string_view @name@() {
  return {cohort_embedded_@name@, static_cast<size_t>(cohort_embedded_@name@_end - cohort_embedded_@name@)};
}

}  // namespace cohort
]==])
    set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${file}" SKIP_PRECOMPILE_HEADERS ON
                                SKIP_UNITY_BUILD_INCLUSION ON)
    target_sources(${target} PRIVATE ${source})
  endforeach()
endfunction()
