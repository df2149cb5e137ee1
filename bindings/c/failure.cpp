#include "failure.hpp"

#include <exception>

namespace durahash::c {
namespace {

/// Of this thread. Where there is no memory for the sentence it is that of the status.
struct last_failure {
  const char* text = "";
  std::string kept;
};
last_failure& of_thread() noexcept {
  static thread_local last_failure last;
  return last;
}

}  // namespace

durahash_status fail(status code) noexcept {
  of_thread().text = message(code).data();  // a literal
  return static_cast<durahash_status>(code);
}

durahash_status fail(status code, std::string_view why) noexcept {
  last_failure& last = of_thread();
  if (why.empty()) return fail(code);
  try {
    last.kept = why;
    last.text = last.kept.c_str();
  } catch (const std::bad_alloc&) {
    fail(code);
  }
  return static_cast<durahash_status>(code);
}

durahash_status fail_by_exception() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return fail(status::out_of_memory);
  } catch (const std::exception& e) {
    return fail(status::invalid_argument, e.what());
  } catch (...) {
    return fail(status::invalid_argument, "a callback has thrown an exception");
  }
}

}  // namespace durahash::c

using namespace durahash;

const char* durahash_last_message(void) { return c::of_thread().text; }

const char* durahash_status_message(durahash_status code) {
  const bool known = code >= 0 && code <= static_cast<int>(status::locked);
  return message(known ? static_cast<status>(code) : static_cast<status>(255)).data();
}
