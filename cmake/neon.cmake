# Toolchain of the presets neon and neon-full: 64-bit ARM with Debian's cross compiler; what is built
# runs under qemu.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)
# The build machine's own archives must not be found. ./test --full unpacks arm64's below
# build/arm64; rooms base to cpu need none.
set(CMAKE_IGNORE_PATH /usr/lib/x86_64-linux-gnu /lib/x86_64-linux-gnu)
set(CMAKE_LIBRARY_PATH ${CMAKE_CURRENT_LIST_DIR}/../build/arm64/usr/lib/aarch64-linux-gnu)
set(CMAKE_INCLUDE_PATH ${CMAKE_CURRENT_LIST_DIR}/../build/arm64/usr/include)
