find_package(durahash 99 REQUIRED)
