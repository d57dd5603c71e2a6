# What the wheel holds beside the Python files: the extension, the program with what it looks for beside itself, and the
# recipes. torch is found where pip installs it, beside the package; no path of this machine is kept.
if(NOT TARGET cohort_python)
  message(FATAL_ERROR "${COHORT_PYTHON} has no header Python.h: install Python's headers (Debian: python3-dev)")
endif()
set_target_properties(cohort_python PROPERTIES INSTALL_RPATH "$ORIGIN/../torch/lib")
set_target_properties(cohort PROPERTIES INSTALL_RPATH "$ORIGIN/../../torch/lib")
install(TARGETS cohort_python LIBRARY DESTINATION cohort COMPONENT python)
install(TARGETS cohort cohort-sandboxd RUNTIME DESTINATION cohort/bin COMPONENT python)
install(PROGRAMS apps/python/cohort_reward.py apps/python/cohort_environment.py apps/python/tool_schema.py DESTINATION cohort/bin COMPONENT python)
install(FILES ${CMAKE_BINARY_DIR}/python/cohort/built_with.py DESTINATION cohort COMPONENT python)
install(DIRECTORY recipes DESTINATION cohort COMPONENT python)
