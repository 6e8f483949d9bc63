// The iterator of a VideoDataset.
#ifndef TF_NVCODEC_KERNELS_DATASET_VIDEO_DATASET_ITERATOR_H_
#define TF_NVCODEC_KERNELS_DATASET_VIDEO_DATASET_ITERATOR_H_

#include <memory>
#include <string>

#include "tf_nvcodec/kernels/dataset/video_dataset.h"

namespace nvc {

// Makes an iterator that decodes several clips at once, ahead of the consumer. It returns them in
// order unless the dataset is not deterministic.
std::unique_ptr<::tensorflow::data::IteratorBase> MakeVideoDatasetIterator(
    const VideoDataset* dataset, const std::string& prefix);

}  // namespace nvc

#endif  // TF_NVCODEC_KERNELS_DATASET_VIDEO_DATASET_ITERATOR_H_
