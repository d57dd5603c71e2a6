// A driver of fuzz targets without libFuzzer: runs a target once on every file of the given folders, as the
// quick tests do with the seeds, and then on inputs that are made of them.
//
//   fuzz_api_request [-runs=N] [-seed=S] FOLDER ...    N: inputs that are made
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

/// What breaks readers of text: limits of numbers, broken UTF-8, brackets, control characters.
constexpr std::string_view kHostile[] = {"-1",
                                         "0",
                                         "1e999",
                                         "-1e999",
                                         "9223372036854775808",
                                         "18446744073709551616",
                                         "0.1",
                                         "1e-320",
                                         "null",
                                         "true",
                                         "[]",
                                         "{}",
                                         "[[[[[[[[",
                                         "{\"a\":{\"a\":{\"a\":",
                                         "\"\"",
                                         "\"\\ud800\"",
                                         "\"\\u0000\"",
                                         "\xff\xfe",
                                         "\xed\xa0\x80",
                                         "\xf4\x90\x80\x80",
                                         "\\",
                                         "\"",
                                         "\n",
                                         "\r\n",
                                         ",",
                                         ":",
                                         "]",
                                         "}",
                                         "\x1b[2J",
                                         "\xe2\x80\xae"};

class Mutator {
 public:
  Mutator(std::vector<std::string> seeds, uint64_t seed) : seeds_(std::move(seeds)), random_(seed) {}

  std::string next() {
    std::string text = seeds_[below(seeds_.size())];
    for (size_t left = 1 + below(6); left > 0; --left) change(text);
    return text;
  }

 private:
  size_t below(size_t count) { return static_cast<size_t>(random_() % std::max<size_t>(count, 1)); }

  /// A piece of a seed, whole between marks of punctuation more often than not.
  std::string piece() {
    const std::string& seed = seeds_[below(seeds_.size())];
    size_t begin = below(seed.size() + 1), end = begin + below(40);
    if (below(3) > 0) {
      begin = seed.find_first_of("{[\",:", begin);
      if (begin == std::string::npos) return "";
      end = seed.find_first_of(",:]}", begin + 1);
    }
    return seed.substr(std::min(begin, seed.size()), end - begin);
  }

  void change(std::string& text) {
    const size_t place = below(text.size() + 1), length = below(below(4) == 0 ? 200 : 8);
    switch (below(7)) {
      case 0:
        if (place < text.size()) text[place] = static_cast<char>(below(256));
        break;
      case 1:
        text.insert(place, 1, static_cast<char>(below(256)));
        break;
      case 2:
        text.erase(place, length);
        break;
      case 3:
        text.insert(place, text.substr(place, length));
        break;
      case 4:
        text.replace(place, length, kHostile[below(std::size(kHostile))]);
        break;
      case 5:
        text.insert(place, piece());
        break;
      default:
        replace_value(text, place);
    }
  }

  /// Puts something hostile in the place of a value of JSON.
  void replace_value(std::string& text, size_t place) {
    const size_t colon = text.find(':', place);
    if (colon == std::string::npos) return;
    const size_t end = text.find_first_of(",}]", colon);
    const std::string value(below(2) == 0 ? std::string(kHostile[below(std::size(kHostile))]) : piece());
    text.replace(colon + 1, end == std::string::npos ? end : end - colon - 1, value);
  }

  std::vector<std::string> seeds_;
  std::mt19937_64 random_;
};

/// Runs the target; keeps the input in a file first, for the case that the target ends the process.
void run(const std::string& text, const char* kept) {
  if (kept != nullptr) std::ofstream(kept, std::ios::binary) << text;
  const auto begin = std::chrono::steady_clock::now();
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  if (time.count() < 10.0) return;
  std::printf("an input took %.1f s: %s\n", time.count(), text.c_str());
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  long num_runs = 0;
  uint64_t seed = 1;
  std::vector<std::string> seeds;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("-runs=")) {
      num_runs = std::strtol(argv[i] + 6, nullptr, 10);
    } else if (argument.starts_with("-seed=")) {
      seed = std::strtoull(argv[i] + 6, nullptr, 10);
    } else if (argument[0] != '-') {
      for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
        std::ifstream file(entry.path(), std::ios::binary);
        seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
      }
    }
  }
  std::ranges::sort(seeds);  // a folder has no order
  for (const std::string& each : seeds) run(each, nullptr);
  if (seeds.empty()) return 1;
  const std::filesystem::path kept = std::filesystem::temp_directory_path() / "cohort-fuzz-input";
  Mutator mutator(seeds, seed);
  for (long i = 0; i < num_runs; ++i) run(mutator.next(), kept.c_str());
  std::printf("%zu seeds, %ld inputs made of them\n", seeds.size(), num_runs);
  return 0;
}
