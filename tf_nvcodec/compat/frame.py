"""DecodedFrame: a decoded picture in its own memory, for NumPy, TensorFlow, PyTorch and CUDA."""

from __future__ import annotations

import ctypes
from typing import Any

from tf_nvcodec.compat import dlpack
from tf_nvcodec.compat.enums import Pixel_Format
from tf_nvcodec.compat.errors import IndexRangeError, PyNvVCExceptionUnsupported
from tf_nvcodec.compat.library import declare
from tf_nvcodec.compat.ownership import Handle, Single, inherited


class _PlaneInfo(ctypes.Structure):
    """nvc_plane_info of capi/frame.h."""

    _fields_ = (
        ("data", ctypes.c_uint64),
        ("stride", ctypes.c_int64),
        ("height", ctypes.c_int32),
        ("width", ctypes.c_int32),
        ("channels", ctypes.c_int32),
    )


class _FrameInfo(ctypes.Structure):
    """nvc_frame_info of capi/frame.h."""

    _fields_ = (
        ("pts", ctypes.c_int64),
        ("data", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("shape", ctypes.c_int64 * 3),
        ("strides", ctypes.c_int64 * 3),
        ("planes", _PlaneInfo * 3),
        ("num_dims", ctypes.c_int32),
        ("num_planes", ctypes.c_int32),
        ("format", ctypes.c_int32),
        ("sample_bytes", ctypes.c_int32),
        ("width", ctypes.c_int32),
        ("height", ctypes.c_int32),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
    )


_free = declare("frame_free", [ctypes.c_void_p], None)
_get_info = declare("frame_get_info", [ctypes.c_void_p, ctypes.POINTER(_FrameInfo)], None)


class _Shape(tuple[int, ...]):
    """A tuple that returns itself as a plain one when called: `frame.shape` and `frame.shape()`."""

    __slots__ = ()

    def __call__(self) -> tuple[int, ...]:
        return tuple(self)


class _Dtype(str):
    """A str that returns itself as a plain one when called: `frame.dtype` and `frame.dtype()`."""

    __slots__ = ()

    def __call__(self) -> str:
        return str(self)


class CAIMemoryView:
    """The memory of a frame or of a plane on a GPU, with CUDA's array interface.

    Attributes:
      shape: The shape in samples.
      stride: The distance between neighbours along each dimension, in samples.
      dataptr: The address on the GPU.
    """

    def __init__(
        self, shape: list[int], stride: list[int], typestr: str, dataptr: int, owner: object
    ) -> None:
        self.shape = shape
        self.stride = stride
        self.dataptr = dataptr
        self._typestr = typestr
        self._owner = owner  # keeps the memory alive

    @property
    def data(self) -> int:
        return self.dataptr

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        # There is no "stream", because the memory is complete and no consumer has to wait.
        size = int(self._typestr[2:])
        return {
            "version": 3,
            "shape": tuple(self.shape),
            "strides": tuple(step * size for step in self.stride),
            "typestr": self._typestr,
            "data": (self.dataptr, False),
        }

    def __repr__(self) -> str:
        return f"<CAIMemoryView {self.shape}>"


class DecodedFrame(Single):
    """A decoded frame.

    Its memory belongs to it and to the arrays and tensors made of it. Later calls of the decoder do
    not change it.

    In host memory NumPy reads it as an array: `np.asarray(frame)`, `np.from_dlpack(frame)` and
    `tf.experimental.dlpack.from_dlpack(frame.__dlpack__())` share the memory without a copy.

    Attributes:
      timestamp: The `pts` of its packet, in units of the stream's time base.
      format: A Pixel_Format.
      shape: The shape of the whole frame: [H + H/2, W] for NV12 and P016, with luma above
        interleaved chroma; [2 H, W] for NV16 and P216; [3 H, W] for YUV444 and YUV444_16Bit;
        [H, W, 3] for RGB; [3, H, W] for RGBP. Halves are rounded up.
      strides: The distance between neighbours along each dimension, in samples. Rows of NV12, P016,
        NV16 and P216 have an even number of samples, whatever W is.
      dtype: "|u1", or "<u2" for the 16-bit formats, whose samples are in the high bits.

    PyNvVideoCodec has shape, strides and dtype as attributes in some versions and as methods in
    others. Both work here.
    """

    def __init__(self, handle: Handle) -> None:
        if not isinstance(handle, Handle) or not handle:
            raise TypeError("a DecodedFrame comes from a decoder")
        self._handle = handle
        self._info = _FrameInfo()
        _get_info(handle, ctypes.byref(self._info))
        self.timestamp: int = self._info.pts
        self.format = Pixel_Format(self._info.format)

    @property
    def shape(self) -> _Shape:
        return _Shape(self._info.shape[: self._info.num_dims])

    @property
    def strides(self) -> _Shape:
        return _Shape(self._info.strides[: self._info.num_dims])

    @property
    def dtype(self) -> _Dtype:
        return _Dtype("|u1" if self._info.sample_bytes == 1 else "<u2")

    @property
    def decoder_stream_event(self) -> int:
        """Always 0, because the frame is complete and there is nothing to wait for."""
        return 0

    def framesize(self) -> int:
        """Returns the bytes of the whole frame."""
        return self._info.bytes

    def getPTS(self) -> int:
        return self.timestamp

    def GetPtrToPlane(self, planeIdx: int) -> int:
        """Returns the address of a plane, in host memory or on a GPU.

        It is valid as long as this object.

        Raises:
          IndexError: There is no such plane.
        """
        if not 0 <= planeIdx < self._info.num_planes:
            raise IndexRangeError(
                f"plane {planeIdx} of a frame in {self.format.name}, which has "
                f"{self._info.num_planes}"
            )
        return self._info.planes[planeIdx].data

    def cuda(self) -> list[CAIMemoryView]:
        """Returns the planes on the GPU.

        They are luma [H, W, 1] and chroma [H/2, W/2, 2], or as the format has them. RGB is one view
        [H, W, 3].

        Raises:
          PyNvVCExceptionUnsupported: The frame is in host memory.
        """
        self._need_gpu("cuda()")
        return self._views()

    def nvcv_image(self) -> list[CAIMemoryView]:
        """Returns one view of the whole frame: [H + H/2, W, 1] for NV12, [3 H, W, 1] for YUV444.

        Raises:
          PyNvVCExceptionUnsupported: The frame is in host memory, or has another format.
        """
        self._need_gpu("nvcv_image()")
        if self.format not in (Pixel_Format.NV12, Pixel_Format.YUV444):
            raise PyNvVCExceptionUnsupported(
                f"nvcv_image() is for NV12 and YUV444, not {self.format.name}: use __dlpack__ or "
                "cuda()"
            )
        shape, strides = [*self.shape, 1], [*self.strides, 1]
        return [CAIMemoryView(shape, strides, self.dtype(), self._info.data, self)]

    def _views(self) -> list[CAIMemoryView]:
        views = []
        for plane in self._info.planes[: self._info.num_planes]:
            shape = [plane.height, plane.width, plane.channels]
            row = plane.stride // self._info.sample_bytes
            views.append(
                CAIMemoryView(shape, [row, plane.channels, 1], self.dtype(), plane.data, self)
            )
        return views

    def _need_gpu(self, what: str) -> None:
        if self._info.device_type != dlpack.CUDA:
            raise PyNvVCExceptionUnsupported(
                f"{what} is for frames on a GPU, and this one is in host memory: use "
                "numpy.asarray(frame), or usedevicememory=True on a machine whose GPU decodes"
            )
        self._check_process()

    def _check_process(self) -> None:
        """Raises in a fork, where addresses on a GPU are not valid."""
        if self._info.device_type != dlpack.CPU and self._handle.is_inherited:
            raise inherited("this frame on a GPU", self._handle.process)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._info.device_type, self._info.device_id

    def __dlpack__(
        self,
        stream: Any = None,
        *,
        max_version: Any = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Returns a DLPack capsule of the whole frame, which shares its memory.

        Args:
          stream: Ignored, because the frame is complete.
          max_version: Ignored, because every consumer knows this version of capsules.
          dl_device: Must be the frame's device.
          copy: True is refused.
        """
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("a frame is exported where it is, without a copy")
        self._check_process()
        return dlpack.capsule_of(self._handle, -1)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if self._info.device_type != dlpack.CPU:
            raise AttributeError("the frame is on a GPU: NumPy can't see its memory")
        size = self._info.sample_bytes
        return {
            "version": 3,
            "shape": self.shape(),
            "strides": tuple(step * size for step in self.strides),
            "typestr": self.dtype(),
            "data": (self._info.data, False),
        }

    def __bytes__(self) -> bytes:
        """Returns a copy of a frame in host memory."""
        if self._info.device_type != dlpack.CPU:
            raise TypeError("the frame is on a GPU: its bytes can't be had from here")
        return ctypes.string_at(self._info.data, self._info.bytes)

    def __repr__(self) -> str:
        return (
            f"<DecodedFrame [timestamp={self.timestamp}, format={self.format.name}, "
            f"{self._views()}]>"
        )


def frame_of(address: int | None) -> DecodedFrame:
    """Returns the frame of the C API at `address`, and takes over its ownership."""
    return DecodedFrame(Handle(_free, address))
