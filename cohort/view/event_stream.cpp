#include "cohort/view/event_stream.h"

namespace cohort {

void EventStream::add(const std::shared_ptr<HttpAnswer>& answer, const std::string& first) {
  const int64_t number = next_++;
  listeners_[number] = answer;
  answer->on_close([this, number] { listeners_.erase(number); });
  answer->write("retry: 2000\n\n" + first);
}

std::string EventStream::event(const std::string& data) { return "data: " + data + "\n\n"; }

void EventStream::send(const std::string& data) { write(event(data)); }

void EventStream::keep_alive() { write(": still here\n\n"); }

void EventStream::write(const std::string& bytes) {
  for (const auto& [number, answer] : listeners_) answer->write(bytes);
}

}  // namespace cohort
