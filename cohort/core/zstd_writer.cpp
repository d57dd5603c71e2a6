#include "cohort/core/zstd_writer.h"

#include "cohort/core/error.h"

namespace cohort {

ZstdWriter::ZstdWriter(std::filesystem::path path)
    : file_(std::move(path)), context_(::ZSTD_createCCtx()), buffer_(::ZSTD_CStreamOutSize(), '\0') {
  COHORT_CHECK(context_ != nullptr);
}

ZstdWriter::~ZstdWriter() { ::ZSTD_freeCCtx(context_); }

void ZstdWriter::append(std::string_view bytes) { compress(bytes, ZSTD_e_continue); }

void ZstdWriter::finish() {
  compress({}, ZSTD_e_end);
  file_.sync();
}

void ZstdWriter::compress(std::string_view bytes, ZSTD_EndDirective directive) {
  ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
  for (bool is_done = false; !is_done;) {
    ZSTD_outBuffer output{buffer_.data(), buffer_.size(), 0};
    const size_t left = ::ZSTD_compressStream2(context_, &output, &input, directive);
    COHORT_CHECK(::ZSTD_isError(left) == 0, ::ZSTD_getErrorName(left));
    file_.append({buffer_.data(), output.pos});
    file_.flush();
    is_done = directive == ZSTD_e_end ? left == 0 : input.pos == input.size;
  }
}

}  // namespace cohort
