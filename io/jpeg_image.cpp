#include <turbojpeg.h>

#include "io/image.hpp"

namespace pacewise {

/// A warning means that pixels were made up for data that are damaged or missing: that is an error here. A progressive
/// file may refine the same pixels in any number of passes; a real one needs a dozen, libjpeg-turbo stops at 500.
GreyImage decode_jpeg(const Reading& reading) {
  const std::unique_ptr<void, int (*)(tjhandle)> file(tjInitDecompress(), tjDestroy);
  if (!file) throw std::bad_alloc();
  const auto fail = [&] {
    reading.fail("JPEG", line_of(printable(tjGetErrorStr2(file.get()), 100), "; save the image again"));
  };
  const auto* bytes = reinterpret_cast<const unsigned char*>(reading.bytes.data());
  int width = 0, height = 0, sampling = 0, colours = 0;
  if (tjDecompressHeader3(file.get(), bytes, reading.bytes.size(), &width, &height, &sampling, &colours) != 0) fail();
  if (colours == TJCS_CMYK || colours == TJCS_YCCK) reading.fail("JPEG", "is a CMYK image; save it as RGB or grey");
  GreyImage image(reading, width, height, 8);
  Vector<unsigned char> raw(image.pixels.size());
  if (tjDecompress2(file.get(), bytes, reading.bytes.size(), raw.data(), width, 0, height, TJPF_GRAY,
                    TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS | TJFLAG_ACCURATEDCT) != 0)
    fail();
  std::copy(raw.begin(), raw.end(), image.pixels.begin());
  return image;
}

}  // namespace pacewise
