// A plugin for TensorFlow that registers s3:// before this project does. Its files are not there.
#include <cstdlib>
#include <cstring>

#include "tensorflow/c/experimental/filesystem/filesystem_interface.h"
#include "tensorflow/c/tf_status.h"

namespace {

template <typename T>
T* Zeros() {
  return static_cast<T*>(std::calloc(1, sizeof(T)));
}

}  // namespace

extern "C" void TF_InitPlugin(TF_FilesystemPluginInfo* info) {
  info->plugin_memory_allocate = [](size_t size) { return std::calloc(1, size); };
  info->plugin_memory_free = [](void* memory) { std::free(memory); };
  info->num_schemes = 1;
  info->ops = Zeros<TF_FilesystemPluginOps>();
  TF_SetFilesystemVersionMetadata(info->ops);
  info->ops->scheme = strdup("s3");
  info->ops->random_access_file_ops = Zeros<TF_RandomAccessFileOps>();
  info->ops->random_access_file_ops->cleanup = [](TF_RandomAccessFile*) {};
  info->ops->filesystem_ops = Zeros<TF_FilesystemOps>();
  info->ops->filesystem_ops->init = [](TF_Filesystem*, TF_Status* status) {
    TF_SetStatus(status, TF_OK, "");
  };
  info->ops->filesystem_ops->cleanup = [](TF_Filesystem*) {};
  info->ops->filesystem_ops->path_exists = [](const TF_Filesystem*, const char*,
                                              TF_Status* status) {
    TF_SetStatus(status, TF_DATA_LOSS, "this is the other s3");
  };
}
