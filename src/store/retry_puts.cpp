#include "store/retry_puts.hpp"

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "engine/frame/lifecycle.hpp"

namespace durahash {

template <class Key>
void retry_puts(std::span<const Key> keys, status* answers,
                detail::function_ref<status(std::size_t)> put,
                detail::function_ref<bool()> await_space) {
  std::unordered_map<Key, std::size_t> last_done;  // of the keys that found no space
  const auto find_last_done = [&] {
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (answers[i] == status::no_space) last_done.emplace(keys[i], 0);
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (answers[i] == status::ok)
        if (auto found = last_done.find(keys[i]); found != last_done.end()) found->second = i;
    return status::ok;
  };
  if (with_memory(find_last_done) != status::ok) return;
  bool waits = true;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (answers[i] != status::no_space) continue;
    if (last_done[keys[i]] > i) answers[i] = status::ok;
    else if (waits = waits && await_space(); waits)
      answers[i] = with_memory([&] { return put(i); });
  }
}

template void retry_puts(std::span<const std::uint64_t>, status*,
                         detail::function_ref<status(std::size_t)>, detail::function_ref<bool()>);
template void retry_puts(std::span<const std::string_view>, status*,
                         detail::function_ref<status(std::size_t)>, detail::function_ref<bool()>);

}  // namespace durahash
