# Installs the library below a directory of its own, then builds and runs the programs of examples/ with what is there.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    file(REMOVE_RECURSE ${work})
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ${result}\n${output}")
  endif()
  message(STATUS "${output}")
endfunction()

execute_process(COMMAND mktemp --directory --tmpdir headgate-library-XXXXXX OUTPUT_VARIABLE work OUTPUT_STRIP_TRAILING_WHITESPACE)
set(prefix ${work}/prefix)
set(flags -Wall -Wextra -Wpedantic -Werror)
if(SANITIZE)
  list(APPEND flags -fsanitize=${SANITIZE})
endif()

run(${CMAKE_COMMAND} --install ${BUILD} --component library --prefix ${prefix})
file(REMOVE ${BUILD}/install_manifest_library.txt)
foreach(installed lib/libheadgate.a lib/libheadgate.so lib/libheadgate.so.1 include/headgate/token_bucket.hpp include/headgate/scheduler.hpp
    lib/libheadgate-redis.so lib/libheadgate-redis.so.1 include/headgate/redis/gcra.hpp)
  string(REGEX REPLACE "^lib/" "${LIBDIR}/" installed ${installed})
  if(NOT EXISTS ${prefix}/${installed})
    message(FATAL_ERROR "not installed: ${installed}")
  endif()
endforeach()

# By find_package.
list(JOIN flags " " joined)
run(${CMAKE_COMMAND} -S ${EXAMPLES} -B ${work}/build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_CXX_FLAGS=${joined})
run(${CMAKE_COMMAND} --build ${work}/build)
foreach(example api_limit worker_pool pacer tenants)
  run(${work}/build/${example})
endforeach()

# By pkg-config, with the shared library and with the archive.
set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
execute_process(COMMAND pkg-config --cflags --libs headgate OUTPUT_VARIABLE of_library OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(of_library)
run(${CXX} -std=c++20 ${flags} ${EXAMPLES}/pacer.cpp ${of_library} -o ${work}/pacer)
set(ENV{LD_LIBRARY_PATH} ${prefix}/${LIBDIR})
run(${work}/pacer)
run(${CXX} -std=c++20 ${flags} -I${prefix}/include ${EXAMPLES}/pacer.cpp ${prefix}/${LIBDIR}/libheadgate.a -o ${work}/pacer_static)
run(${work}/pacer_static)

# The component redis, with a server of its own.
run(${CMAKE_CURRENT_LIST_DIR}/../support/with_redis_server ${work} ${work}/build/shared_api_limit unix:${work}/redis.sock)
execute_process(COMMAND pkg-config --cflags --libs headgate headgate-redis OUTPUT_VARIABLE of_library
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(of_library)
run(${CXX} -std=c++20 ${flags} ${EXAMPLES}/shared_api_limit.cpp ${of_library} -o ${work}/shared_api_limit)
run(${CMAKE_CURRENT_LIST_DIR}/../support/with_redis_server ${work} ${work}/shared_api_limit unix:${work}/redis.sock)

file(REMOVE_RECURSE ${work})
