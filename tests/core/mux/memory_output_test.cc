#include "tf_nvcodec/core/mux/memory_output.h"

#include <cstring>
#include <string>

#include "gtest/gtest.h"

namespace nvc {
namespace {

// Gives memory that is not zero, as a tensor's may be.
class DirtyBytes : public GrowingBytes {
 public:
  explicit DirtyBytes(std::string* bytes) : bytes_(bytes) {}
  char* Resize(size_t size) override {
    bytes_->resize(size, '~');
    return &(*bytes_)[0];
  }

 private:
  std::string* bytes_;
};

TEST(MemoryOutputTest, GrowsAndIsCutToSize) {
  std::string bytes = "old contents";
  StringBytes sink(&bytes);
  auto output = MemoryOutput::Create(&sink);
  ASSERT_TRUE(output.ok());
  std::string want;
  for (int i = 0; i < 100000; ++i) {
    const std::string part = std::to_string(i * 7919);
    avio_write((*output)->avio(), reinterpret_cast<const uint8_t*>(part.data()),
               static_cast<int>(part.size()));
    want += part;
  }
  ASSERT_TRUE((*output)->Finish().ok());
  EXPECT_EQ(bytes, want);
}

TEST(MemoryOutputTest, OverwritesAndFillsHolesWithZeros) {
  std::string bytes;
  DirtyBytes sink(&bytes);
  auto output = MemoryOutput::Create(&sink);
  ASSERT_TRUE(output.ok());
  AVIOContext* const io = (*output)->avio();
  avio_write(io, reinterpret_cast<const uint8_t*>("0123456789"), 10);
  EXPECT_EQ(avio_seek(io, 2, SEEK_SET), 2);
  avio_write(io, reinterpret_cast<const uint8_t*>("ab"), 2);
  avio_flush(io);
  EXPECT_EQ(avio_size(io), 10);
  EXPECT_EQ(avio_seek(io, 13, SEEK_SET), 13);
  avio_write(io, reinterpret_cast<const uint8_t*>("z"), 1);
  ASSERT_TRUE((*output)->Finish().ok());
  EXPECT_EQ(bytes, std::string("01ab456789\0\0\0z", 14));
}

TEST(MemoryOutputTest, ReaderSeesWhatWasWritten) {
  std::string bytes;
  StringBytes sink(&bytes);
  auto output = MemoryOutput::Create(&sink);
  ASSERT_TRUE(output.ok());
  AVIOContext* const io = (*output)->avio();
  avio_write(io, reinterpret_cast<const uint8_t*>("0123456789"), 10);
  avio_flush(io);
  AVIOContext* const reader = (*output)->OpenReader();
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(avio_size(reader), 10);
  avio_seek(reader, 4, SEEK_SET);
  uint8_t read[16];
  EXPECT_EQ(avio_read(reader, read, sizeof(read)), 6);
  EXPECT_EQ(std::memcmp(read, "456789", 6), 0);
  MemoryOutput::CloseReader(reader);
  EXPECT_LT(avio_seek(io, -5, SEEK_SET), 0);
}

class NoMemory : public GrowingBytes {
 public:
  char* Resize(size_t size) override { return nullptr; }
};

TEST(MemoryOutputTest, ReportsThatThereIsNoMemory) {
  NoMemory sink;
  auto output = MemoryOutput::Create(&sink);
  ASSERT_TRUE(output.ok());
  avio_write((*output)->avio(), reinterpret_cast<const uint8_t*>("x"), 1);
  EXPECT_EQ((*output)->Finish().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace nvc
