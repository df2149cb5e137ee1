// The process that the demo kills: it indexes a list of files, from wherever its predecessor was
// stopped.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace durahash::tool {

/// The three things that are done to every file of the list.
enum class work_kind { index, refresh, erase };

std::string_view name_of(work_kind work) noexcept;
std::optional<work_kind> work_named(std::string_view name) noexcept;

inline constexpr std::size_t worker_batch = 64;  // records written, and acknowledged, together
inline constexpr int worker_list_file = 3;       // where the worker finds its list
inline constexpr int worker_acks_file = 4;       // and sends its acknowledgements

/// The worker's main. It does not return before all is done; usually it is killed.
void run_worker(const std::string& pool_path, work_kind work);

}  // namespace durahash::tool
