"""The public names; importing this module brings TensorFlow in and registers the ops."""

from tf_nvcodec.python.availability import build_info, is_available
from tf_nvcodec.python.dataset import VideoDataset, VideoDatasetOptions
from tf_nvcodec.python.dataset_directory import video_dataset_from_directory
from tf_nvcodec.python.dataset_statistics import VideoDatasetStatistics
from tf_nvcodec.python.decode import (
    DecodedVideo,
    DecodedVideoWithValidity,
    DecodeOptions,
    decode_frames_at,
    decode_video,
)
from tf_nvcodec.python.decode_clips import ClipOptions, DecodedClips, decode_clips
from tf_nvcodec.python.decode_packets import DecodedPackets, decode_packets
from tf_nvcodec.python.decoder_pool import DecoderPoolStatistics, decoder_pool
from tf_nvcodec.python.dlpack import DeviceFrames, from_dlpack
from tf_nvcodec.python.encode import encode_video
from tf_nvcodec.python.export import ExportedModel, export_video_model
from tf_nvcodec.python.iter_video import IterOptions, VideoIterator, iter_video
from tf_nvcodec.python.probe import VideoInfo, probe
from tf_nvcodec.python.video_index import VideoIndexReport, index_videos

__all__ = [
    "ClipOptions",
    "DecodeOptions",
    "DecodedClips",
    "DecodedPackets",
    "DecodedVideo",
    "DecodedVideoWithValidity",
    "DecoderPoolStatistics",
    "DeviceFrames",
    "ExportedModel",
    "IterOptions",
    "VideoDataset",
    "VideoDatasetOptions",
    "VideoDatasetStatistics",
    "VideoIndexReport",
    "VideoInfo",
    "VideoIterator",
    "build_info",
    "decode_clips",
    "decode_frames_at",
    "decode_packets",
    "decode_video",
    "decoder_pool",
    "encode_video",
    "export_video_model",
    "from_dlpack",
    "index_videos",
    "is_available",
    "iter_video",
    "probe",
    "video_dataset_from_directory",
]
