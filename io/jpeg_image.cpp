#include <csetjmp>
#include <cstddef>
#include <cstdio>

#include <jpeglib.h>

#include "io/image.hpp"

namespace pacewise {
namespace {

struct Errors {
  jpeg_error_mgr base;
  jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

void leave(j_common_ptr info) {
  auto* errors = reinterpret_cast<Errors*>(info->err);
  errors->base.format_message(info, errors->message);
  longjmp(errors->jump, 1);
}

/// A warning means that pixels were made up for data that are damaged or missing: that is an error here.
void leave_on_warning(j_common_ptr info, int level) {
  if (level < 0) leave(info);
}

void print_nothing(j_common_ptr) {}

/// libjpeg reports errors by longjmp, which must not pass over C++ objects: these two functions have none.
bool read_header(jpeg_decompress_struct* info, Errors* errors, const unsigned char* bytes, unsigned long size) {
  if (setjmp(errors->jump) != 0) return false;
  jpeg_mem_src(info, bytes, size);
  jpeg_read_header(info, TRUE);
  return true;
}

bool read_pixels(jpeg_decompress_struct* info, Errors* errors, unsigned char* out, std::size_t width) {
  if (setjmp(errors->jump) != 0) return false;
  info->out_color_space = JCS_GRAYSCALE;
  jpeg_start_decompress(info);
  while (info->output_scanline < info->output_height) {
    JSAMPROW row = out + info->output_scanline * width;
    jpeg_read_scanlines(info, &row, 1);
  }
  jpeg_finish_decompress(info);
  return true;
}

/// A progressive file may refine the same pixels in any number of passes; a real one needs a dozen.
void limit_passes(j_common_ptr info) {
  auto* decompress = reinterpret_cast<j_decompress_ptr>(info);
  if (decompress->input_scan_number > 100) {
    auto* errors = reinterpret_cast<Errors*>(info->err);
    std::snprintf(errors->message, sizeof(errors->message), "more than 100 passes");
    longjmp(errors->jump, 1);
  }
}

struct Jpeg {
  jpeg_decompress_struct info{};
  jpeg_progress_mgr progress{};
  explicit Jpeg(Errors& errors) {
    info.err = jpeg_std_error(&errors.base);
    errors.base.error_exit = leave;
    errors.base.emit_message = leave_on_warning;
    errors.base.output_message = print_nothing;
    jpeg_create_decompress(&info);
    progress.progress_monitor = limit_passes;
    info.progress = &progress;
  }
  ~Jpeg() { jpeg_destroy_decompress(&info); }
  Jpeg(const Jpeg&) = delete;
  Jpeg& operator=(const Jpeg&) = delete;
};

}  // namespace

GreyImage decode_jpeg(const Reading& reading) {
  Errors errors{};
  Jpeg file(errors);
  const auto fail = [&] { reading.fail("JPEG", line_of(printable(errors.message, 100), "; save the image again")); };
  const auto* bytes = reinterpret_cast<const unsigned char*>(reading.bytes.data());
  if (!read_header(&file.info, &errors, bytes, reading.bytes.size())) fail();
  if (file.info.jpeg_color_space == JCS_CMYK || file.info.jpeg_color_space == JCS_YCCK)
    reading.fail("JPEG", "is a CMYK image; save it as RGB or grey");
  GreyImage image(reading, file.info.image_width, file.info.image_height, 8);
  Vector<unsigned char> raw(image.pixels.size());
  if (!read_pixels(&file.info, &errors, raw.data(), file.info.image_width)) fail();
  std::copy(raw.begin(), raw.end(), image.pixels.begin());
  return image;
}

}  // namespace pacewise
