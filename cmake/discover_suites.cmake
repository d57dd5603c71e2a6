# What ctest includes for each test program, see cohort_test(): one test for every suite that the program lists. A process
# for every single test would spend most of its time on the start of torch. The list is kept until the program is newer.
#
# Defined by the file that includes this one: PROGRAM, NAME (the prefix of the tests) and LIST (a file in the build folder).
if(NOT EXISTS "${LIST}" OR "${PROGRAM}" IS_NEWER_THAN "${LIST}")
  execute_process(COMMAND "${PROGRAM}" --gtest_list_tests OUTPUT_VARIABLE output RESULT_VARIABLE result)
  if(result EQUAL 0)
    file(WRITE "${LIST}" "${output}")
  endif()
endif()
if(EXISTS "${LIST}")
  file(STRINGS "${LIST}" suites REGEX "^[^ ]+[.]")
  foreach(suite IN LISTS suites)
    string(REGEX REPLACE "[.].*$" "" suite "${suite}")
    add_test("${NAME}.${suite}" "${PROGRAM}" "--gtest_filter=${suite}.*")
    set_tests_properties("${NAME}.${suite}" PROPERTIES ENVIRONMENT OMP_NUM_THREADS=1)
  endforeach()
else()
  add_test("${NAME}_NOT_BUILT" "${PROGRAM}")
endif()
