"""The table of the test clips. They have every container, codec, sample format and timing that the
decoder must get right.

One ffmpeg command makes a clip, or a function of clip_surgery.py if no encoder can. `make_clips.py`
runs them. The tests read the clips by name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import clip_surgery as surgery
import h264_fields
import mp4_join

MEDIA = Path(__file__).resolve().parent / "media"
REAL_CLIP = MEDIA / "bigbuckbunny_720p.mp4"


@dataclasses.dataclass(frozen=True)
class Clip:
    """One file of the corpus.

    `args` are ffmpeg's output options. The input is `of`, which is another clip or an absolute
    path. `input_args` stand before it, and `also` names further inputs after it. Without `of`, the
    input is the synthetic `source`. `edit` replaces the command: it takes the bytes of `of` and
    returns those of the clip. `needs` names clips that must exist first. In `also`, {folder} is the
    folder of the clips.
    """

    name: str
    args: str = ""
    of: str = ""
    input_args: str = ""
    also: str = ""
    needs: tuple[str, ...] = ()
    source: str = "testsrc2"
    size: str = "96x64"
    rate: str = "25"
    frames: int = 30
    filters: str = ""
    edit: Callable[[bytes, Path], bytes] | None = None
    tags: frozenset[str] = frozenset()


CLIPS: dict[str, Clip] = {}


def _add(name: str, args: str = "", tags: str = "", **fields: object) -> None:
    if name in CLIPS:
        raise ValueError(f"two clips are named {name}")
    CLIPS[name] = Clip(name, args, tags=frozenset(tags.split()), **fields)


def _x264(params: str, pixel_format: str = "yuv420p", extra: str = "") -> str:
    return f"-c:v libx264 -preset fast -pix_fmt {pixel_format} -x264-params {params} {extra}"


def _x265(params: str, pixel_format: str = "yuv420p", extra: str = "") -> str:
    # With more frame threads, x265 may hang at the end (core/encode/codec_settings.cc).
    return (
        f"-c:v libx265 -preset ultrafast -pix_fmt {pixel_format} "
        f"-x265-params log-level=error:frame-threads=1:{params} {extra}"
    )


_GOP = "keyint=12:min-keyint=12:scenecut=0:bframes=3:b-adapt=0:ref=3"
_VP9 = "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -b:v 200k -g 12"
_AOM = "-c:v libaom-av1 -usage realtime -cpu-used 8 -b:v 100k -g 12"
_SVT = "-c:v libsvtav1 -preset 12 -crf 40 -g 12"
_FFV1 = "-c:v ffv1 -level 3 -g 1"


def _codecs() -> None:
    """Adds clips of all codecs, with different depths, chroma formats and sizes."""
    for fmt in ("yuv422p", "yuv444p", "gray", "yuv420p10le", "yuv422p10le", "yuv444p10le"):
        _add(f"h264_{fmt}.mp4", _x264(_GOP, fmt))
    _add("h264_rgb.mp4", "-c:v libx264rgb -preset fast -pix_fmt rgb24 -g 12 -bf 2", frames=20)
    _add("h264_lossless.mkv", _x264(_GOP + ":qp=0", "yuv444p"), frames=20)
    _add("h264_odd_444.mp4", _x264(_GOP, "yuv444p"), size="97x65", source="testsrc")
    _add("h264_cropped.mp4", _x264(_GOP), size="98x66")
    _add(
        "h264_crop_left_top.mp4",
        "-c copy -bsf:v h264_metadata=crop_left=6:crop_top=4:crop_right=2:crop_bottom=10",
        of="h264.mp4",
    )
    _add(
        "hevc_crop_left_top.mp4",
        "-c copy -bsf:v hevc_metadata=crop_left=6:crop_top=4:crop_right=2:crop_bottom=10",
        of="hevc.mp4",
    )
    _add("h264_tall.mp4", _x264(_GOP), size="48x160")
    for fmt in ("yuv422p", "yuv444p", "gray", "yuv420p10le", "yuv422p10le", "yuv444p10le"):
        _add(f"hevc_{fmt}.mp4", _x265(_GOP, fmt))
    for fmt in ("yuv420p12le", "yuv422p12le", "yuv444p12le"):
        _add(f"hevc_{fmt}.mkv", _x265(_GOP, fmt))
    _add("hevc_rgb.mkv", _x265(_GOP, "gbrp"), frames=20)
    _add("hevc_odd_444.mp4", _x265(_GOP, "yuv444p"), size="97x65", source="testsrc")
    _add("hevc_cropped.mp4", _x265(_GOP), size="98x66")
    _add("av1.mp4", _SVT, frames=40)
    _add("av1_10bit.mkv", _SVT + " -pix_fmt yuv420p10le")
    _add("av1_film_grain.webm", _SVT + " -svtav1-params film-grain=10", size="192x128")
    _add("av1_odd.mkv", _AOM + " -pix_fmt yuv420p", size="97x65", source="testsrc", frames=20)
    _add("av1_gray.mp4", _AOM + " -pix_fmt gray", frames=20)
    for fmt in ("yuv422p", "yuv444p", "yuv420p12le"):
        _add(f"av1_{fmt}.mkv", _AOM.replace("realtime", "good") + f" -pix_fmt {fmt}", frames=12)
    _add("vp8.webm", "-c:v libvpx -b:v 200k -g 12 -auto-alt-ref 0")
    _add("vp8_odd.webm", "-c:v libvpx -b:v 200k -g 12", size="97x65", source="testsrc")
    _add("vp8_altref.webm", "-c:v libvpx -b:v 200k -auto-alt-ref 1 -lag-in-frames 16", frames=40)
    _add("vp9.webm", _VP9)
    _add(
        "vp9_altref.webm",
        "-c:v libvpx-vp9 -cpu-used 8 -b:v 100k -auto-alt-ref 1 -lag-in-frames 16",
        frames=40,
    )
    _add("vp9_odd.webm", _VP9 + " -pix_fmt yuv420p", size="97x65", source="testsrc")
    _add("vp9_alpha.webm", _VP9 + " -pix_fmt yuva420p -auto-alt-ref 0", frames=20)
    for fmt in ("yuv422p", "yuv440p", "yuv444p", "gbrp", "yuv420p10le", "yuv444p12le"):
        _add(f"vp9_{fmt}.webm", _VP9 + f" -pix_fmt {fmt}", frames=15)
    for name, fmt in (("", "yuv420p"), ("_422", "yuv422p")):
        _add(f"mpeg2{name}.ts", f"-c:v mpeg2video -bf 2 -g 12 -q:v 4 -pix_fmt {fmt}")
    _add("mpeg2_odd.mkv", "-c:v mpeg2video -bf 2 -g 12 -q:v 4", size="97x65", source="testsrc")
    _add("mpeg2.avi", "-c:v mpeg2video -bf 0 -g 12 -q:v 4")
    _add("mpeg4.mp4", "-c:v mpeg4 -bf 2 -g 12 -q:v 4")
    _add("mpeg4.avi", "-c:v mpeg4 -bf 0 -g 12 -q:v 4")
    _add("mpeg4_qpel.mkv", "-c:v mpeg4 -bf 2 -g 12 -q:v 4 -flags +qpel+mv4")
    _add("mpeg4_odd.mkv", "-c:v mpeg4 -bf 2 -g 12 -q:v 4", size="97x65", source="testsrc")
    _add("mjpeg.avi", "-c:v mjpeg -q:v 4 -pix_fmt yuvj420p", frames=12)
    _add(
        "mjpeg_odd.mov",
        "-c:v mjpeg -q:v 4 -pix_fmt yuvj420p",
        frames=12,
        size="97x65",
        source="testsrc",
    )
    _add("mjpeg_422.mkv", "-c:v mjpeg -q:v 4 -pix_fmt yuvj422p", frames=12)
    _add("jpegls.mov", "-c:v jpegls -pix_fmt gray", frames=10)
    _add("huffyuv.avi", "-c:v huffyuv -pix_fmt yuv422p", frames=10)
    _add("cfhd.mkv", "-c:v cfhd -pix_fmt yuv422p10le", frames=10)
    _add("mjpeg_444.avi", "-c:v mjpeg -q:v 4 -pix_fmt yuvj444p", frames=12)
    for fmt in ("yuv420p", "yuv411p", "yuv422p10le", "yuv444p12le", "gray", "gray12le"):
        _add(f"ffv1_{fmt}.mkv", _FFV1 + f" -pix_fmt {fmt}", frames=10)
    _add("ffv1_gray16.mkv", _FFV1 + " -pix_fmt gray16le", frames=10)
    _add("ffv1_rgb.mkv", _FFV1 + " -pix_fmt gbrp10le", frames=10)
    _add("ffv1_alpha.mkv", _FFV1 + " -pix_fmt yuva420p", frames=10)
    _add("ffv1_odd.avi", _FFV1 + " -pix_fmt yuv420p", frames=10, size="97x65", source="testsrc")
    # FFmpeg's muxer flags every packet of H.261 as a key frame. In Theora, an empty packet repeats
    # the frame before it.
    _add("h261.mkv", "-c:v h261 -g 12", size="176x144")
    _add(
        "theora_repeats.ogv",
        "-c:v libtheora -g 12 -q:v 5",
        filters="setpts='if(gt(N,10),N+5,N)/(25*TB)'",
        frames=40,
    )
    _add("wmv2.asf", "-c:v wmv2 -g 12 -q:v 4")
    _add("ffv1_inter.mkv", "-c:v ffv1 -level 1 -context 1 -g 8 -pix_fmt yuv420p", frames=20)


def _containers() -> None:
    _add("h264.mp4", _x264(_GOP), frames=48, size="160x96")
    for suffix in ("mkv", "mov", "ts", "flv", "h264", "avi"):
        _add(f"h264.{suffix}", "-c copy", of="h264.mp4")
    _add("h264_fragmented.mp4", "-c copy -movflags frag_keyframe+empty_moov", of="h264.mp4")
    _add("h264_sidx.mp4", "-c copy -movflags dash+global_sidx+frag_keyframe", of="h264.mp4")
    _add("h264_frame_fragments.mp4", "-c copy -movflags frag_every_frame", of="h264.mp4")
    _add(
        "h264_cut_fragments.mp4",
        "-c copy -movflags frag_keyframe+delay_moov",
        of="h264.mp4",
        input_args="-ss 0.7",
    )
    _add("h264.m2ts", "-c copy -mpegts_m2ts_mode 1", of="h264.mp4")
    _add("mpeg2.mpg", "-c copy", of="mpeg2.ts")
    _add("h264_faststart.mp4", "-c copy -movflags faststart", of="h264.mp4")
    _add("h264_live.mkv", "-c copy -f matroska -live 1", of="h264.mp4")
    _add(
        "h264_audio.mp4",
        "-map 0:v -map 1:a -c:v copy -c:a aac -shortest",
        of="h264.mp4",
        also="-f lavfi -i sine=r=44100:d=2",
    )
    _add("h264_audio.ts", "-map 0 -c copy", of="h264_audio.mp4")
    _add("h264_audio.mkv", "-map 0 -c copy", of="h264_audio.mp4")
    _add(
        "h264_two_videos.mp4",
        "-map 0:v -map 1:v -c copy -disposition:v:0 default -disposition:v:1 0",
        of="h264.mp4",
        also="-i {folder}/vp9_as_second.mp4",
        needs=("vp9_as_second.mp4",),
    )
    _add("vp9_as_second.mp4", _VP9, size="64x48", frames=20)
    _add(
        "h264_cover_art.mp4",
        "-map 0:v -map 1:v -c:v:0 copy -c:v:1 mjpeg -frames:v:1 1 -disposition:v:1 attached_pic",
        of="h264.mp4",
        also="-f lavfi -i testsrc2=s=320x240:r=1:d=1",
    )
    _add("hevc.mp4", _x265(_GOP, extra="-tag:v hvc1"), frames=48)
    for suffix in ("mkv", "ts", "hevc"):
        _add(f"hevc.{suffix}", "-c copy", of="hevc.mp4")
    _add("av1.ivf", "-c copy", of="av1.mp4")
    _add("av1.obu", "-c copy", of="av1.mp4")
    _add("av1.webm", "-c copy", of="av1.mp4")
    _add("vp8.ivf", "-c copy", of="vp8_altref.webm")
    _add("vp9.ivf", "-c copy", of="vp9_altref.webm")
    _add("vp9.mp4", "-c copy", of="vp9_altref.webm")
    _add("mpeg2.mp4", "-c copy", of="mpeg2.ts")
    _add("mpeg4.ts", "-c:v mpeg4 -bf 2 -g 12 -q:v 4")
    _add("flv1.flv", "-c:v flv1 -g 12 -q:v 4", tags="unlisted_codec")


def _structure() -> None:
    """Adds clips in which the encoder arranges frames in different ways."""
    _add("h264_no_b.mp4", _x264("keyint=12:bframes=0"))
    _add("h264_b_no_pyramid.mp4", _x264(_GOP + ":b-pyramid=none"), frames=40)
    _add("h264_b_strict_pyramid.mp4", _x264("keyint=30:bframes=7:b-adapt=0:b-pyramid=strict"))
    _add("h264_open_gop.mp4", _x264(_GOP + ":open-gop=1"), frames=60)
    _add("h264_open_gop.ts", "-c copy", of="h264_open_gop.mp4")
    _add("h264_long_gop.mp4", _x264("keyint=300:scenecut=0:bframes=2"), frames=150)
    _add("h264_long_gop.h264", "-c copy", of="h264_long_gop.mp4")
    _add("h264_intra_refresh.mp4", _x264("intra-refresh=1:keyint=12:bframes=0"), frames=60)
    _add("h264_intra_refresh.ts", "-c copy", of="h264_intra_refresh.mp4")
    _add("h264_all_intra.mov", _x264("keyint=1"))
    _add("h264_slices.mp4", _x264(_GOP + ":slices=4"))
    _add("h264_mbaff.mp4", _x264(_GOP + ":tff=1", extra="-flags +ilme+ildct"))
    _add("h264_mbaff_bff.ts", _x264(_GOP + ":bff=1", extra="-flags +ilme+ildct"))
    # Each frame is two fields. They are in one packet, or in two if FFmpeg's parser splits them.
    _add("h264_paff.ivf", of="h264.h264", edit=h264_fields.all_fields)
    _add("h264_paff_mixed.ivf", of="h264.h264", edit=h264_fields.fields_and_frames)
    for suffix in ("mp4", "mkv", "ts", "h264"):
        _add(f"h264_paff.{suffix}", "-c copy", of="h264_paff.ivf")
        _add(f"h264_paff_mixed.{suffix}", "-c copy", of="h264_paff_mixed.ivf")
    _add("h264_fake_interlaced.mp4", _x264(_GOP + ":fake-interlaced=1"))
    _add(
        "h264_deep_open_gop.mp4",
        _x264("keyint=24:min-keyint=24:scenecut=0:bframes=16:b-adapt=2:ref=16:open-gop=1"),
        frames=60,
    )
    _add("h264_scene_cuts.mp4", _x264("keyint=60:bframes=3"), source="mandelbrot", frames=40)
    _add("hevc_open_gop.mkv", _x265("keyint=12:min-keyint=12:bframes=4:open-gop=1"), frames=60)
    _add("hevc_open_gop.ts", "-c copy", of="hevc_open_gop.mkv")
    _add("hevc_closed_gop.mp4", _x265("keyint=12:min-keyint=12:bframes=4:open-gop=0"), frames=48)
    _add("hevc_temporal_layers.mp4", _x265(_GOP + ":temporal-layers=1"), frames=40)
    _add("hevc_fields.mkv", _x265(_GOP + ":interlace=tff"), frames=40)
    _add("hevc_slices.mp4", _x265(_GOP + ":slices=2"), size="192x256", frames=20)
    _add("hevc_all_intra.mp4", _x265("keyint=1"), frames=15)
    _add("hevc_long_gop.hevc", _x265("keyint=300:bframes=6:b-adapt=2:rc-lookahead=20"), frames=90)
    _add(
        "mpeg2_interlaced.ts",
        "-c:v mpeg2video -flags +ilme+ildct -bf 2 -g 12 -q:v 4",
        filters="setfield=tff",
    )
    _add("mpeg2_open_gop.mkv", "-c:v mpeg2video -bf 2 -g 9 -q:v 4", frames=40)
    _add("mpeg4_interlaced.mp4", "-c:v mpeg4 -flags +ilme+ildct -bf 2 -g 12 -q:v 4")
    _add("mpeg4_packed_b.avi", "-c:v libxvid -bf 2 -g 12 -q:v 4", frames=40)
    _add("av1_long_gop.mkv", "-c:v libsvtav1 -preset 12 -crf 40 -g 200", frames=90)


def _timing() -> None:
    _add("h264_edit_list.mp4", "-c copy", of="h264.mp4", input_args="-ss 0.7")
    _add(
        "hevc_edit_list.mp4", "-c copy -tag:v hvc1", of="hevc_closed_gop.mp4", input_args="-ss 0.7"
    )
    _add("h264_two_edits.mp4", of="h264.mp4", edit=surgery.two_edits)
    _add("h264_no_edit_list.mp4", "-c copy -use_editlist 0", of="h264.mp4")
    _add("h264_negative_cts.mp4", "-c copy -movflags negative_cts_offsets", of="h264.mp4")
    _add("h264_start_delay.mp4", "-c copy -output_ts_offset 1.5", of="h264.mp4")
    _add("h264_start_delay.mkv", "-c copy -output_ts_offset 3.25", of="h264.mp4")
    _add("h264_start_delay.ts", "-c copy -output_ts_offset 1000", of="h264.mp4")
    _add("h264_wrap.ts", "-c copy -output_ts_offset 95441.5", of="h264.mp4")
    _add("h264_negative_dts.mkv", "-c copy -avoid_negative_ts disabled", of="h264.mp4")
    vfr = "setpts='(N+2*floor(N/3)+if(gt(N,15),20,0))/(25*TB)'"
    for suffix in ("mp4", "mkv"):
        args = _x264(_GOP, extra="-fps_mode passthrough")
        _add(f"h264_vfr.{suffix}", args, filters=vfr, frames=40)
    # AVI has no timestamps, so the muxer fills the gaps with empty packets.
    _add("mpeg4_gaps.avi", "-c:v mpeg4 -g 12 -q:v 4 -fps_mode passthrough", filters=vfr)
    _add("vp9_vfr.webm", _VP9 + " -fps_mode passthrough", filters=vfr)
    _add("h264_ntsc.mp4", _x264(_GOP), rate="30000/1001")
    _add("h264_high_rate.mkv", _x264(_GOP), rate="240")
    _add("h264_slow.mp4", _x264(_GOP), rate="1/3", frames=15)
    _add("h264_no_b.h264", "-c copy", of="h264_no_b.mp4")
    _add("h264_joined.h264", of="h264.h264", edit=surgery.twice)
    _add("h264_joined.ts", of="h264.ts", edit=surgery.twice)
    # Frames of these clips refer to lost frames. FFmpeg makes up a replacement, and the right
    # result is what it then shows.
    _add("h264_lost_cells.ts", of="h264_pairs.ts", edit=surgery.lose_three_cells)
    _add("h264_pairs.ts", _x264(_GOP), frames=60)
    _add("h264_lost_packets.mkv", r"-c copy -bsf:v noise=drop='eq(n\,20)+eq(n\,21)'", of="h264.mp4")
    _add("h264_cut_start.ts", of="h264_long_lead.ts", edit=surgery.drop_first_third)
    _add("h264_long_lead.ts", _x264("keyint=20:min-keyint=20:scenecut=0:bframes=2"), frames=60)
    # These clips begin with an open GOP. Its first pictures (RASL in HEVC) refer to frames that are
    # not in the clip.
    for suffix in ("mp4", "mkv"):
        for codec, source in (("h264", "h264_open_gop.mp4"), ("hevc", "hevc_open_gop.mkv")):
            _add(f"{codec}_open_cut.{suffix}", "-c copy", of=source, input_args="-ss 1.2")
    _add("hevc_cra_first.hevc", of="hevc_repeat.hevc", edit=surgery.from_second_keyframe)
    _add("hevc_repeat.hevc", _x265("keyint=12:min-keyint=12:bframes=4:open-gop=1:repeat-headers=1"))
    # The first frames refer to pictures that were cut off. FFmpeg makes these up and shows the
    # frames.
    _add("hevc_cut_start.ts", of="hevc_open_gop.ts", edit=surgery.drop_first_third)
    _add("mpeg2_cut_start.ts", of="mpeg2.ts", edit=surgery.drop_first_third)
    _add("one_frame.mp4", _x264(_GOP), frames=1)
    _add("two_frames.mkv", _x264(_GOP), frames=2)


def _misleading_times() -> None:
    """Adds clips with B-frames whose pts are the times of decoding. The bitstream alone has the
    order of the frames. AVI has no pts, so MP4 files that are made of it are like this."""
    as_decoded = "-c copy -bsf:v setts=pts=DTS"
    x264 = _x264("keyint=20:min-keyint=20:scenecut=0:bframes=3:b-adapt=0:open-gop=1")
    for suffix in ("mp4", "mkv", "ts"):
        _add(f"h264_as_decoded.{suffix}", as_decoded, of="h264_open_gop.mp4", tags="misleading")
        _add(f"hevc_as_decoded.{suffix}", as_decoded, of="hevc_open_gop.mkv", tags="misleading")
    _add("mpeg4_as_decoded.mkv", as_decoded, of="mpeg4.mp4", tags="misleading")
    _add("mpeg2_as_decoded.mkv", as_decoded, of="mpeg2.ts", tags="misleading")
    _add("mpeg2_as_decoded.ts", as_decoded, of="mpeg2.ts", tags="misleading")
    for suffix in ("mp4", "mov"):
        _add(f"h264_of_avi.{suffix}", "-c copy", of="h264.avi", tags="misleading")
    _add("mpeg4_of_avi.mp4", "-c copy", of="mpeg4_b.avi", tags="misleading")
    _add("mpeg4_b.avi", "-c:v mpeg4 -bf 2 -g 12 -q:v 4")
    _add("mpeg2_of_avi.mov", "-c copy", of="mpeg2_b.avi", tags="misleading")
    _add("mpeg2_b.avi", "-c:v mpeg2video -bf 2 -g 12 -q:v 4")
    # FFmpeg's muxer writes the times of decoding.
    _add("h264.mxf", x264, frames=60, tags="misleading")
    _add("mpeg2.mxf", "-c:v mpeg2video -bf 2 -g 12 -q:v 4")
    _add("h264_no_first_pts.ts", of="h264.ts", edit=surgery.without_first_pts)


def _palettes() -> None:
    """Adds clips whose palette is beside the first packet, in the container. Decoding may start
    behind it."""
    for suffix in ("avi", "mov"):
        _add(f"pal8.{suffix}", "-c:v rawvideo -pix_fmt pal8", frames=12, tags="palette")
    _add("smc.mov", "-c:v smc -g 5", frames=20, tags="palette")


def _descriptions() -> None:
    """Adds clips of two parts that are coded differently. The parameter sets of each part are in a
    sample description, outside of the packets."""
    part = {"frames": 20, "tags": "part"}
    plain = "-movflags negative_cts_offsets -use_editlist 0"
    first, second = "keyint=8:min-keyint=8:scenecut=0", "keyint=10:min-keyint=10:scenecut=0"
    _add("h264_part.mp4", _x264(f"{first}:bframes=3", extra=plain), **part)
    _add(
        "h264_part_second.mp4",
        _x264(f"{second}:bframes=1:cabac=0:8x8dct=0:ref=1", extra=plain),
        source="testsrc",
        **part,
    )
    hvc1 = f"-tag:v hvc1 {plain}"
    _add("hevc_part.mp4", _x265(f"{first}:ctu=32:open-gop=0", extra=hvc1), **part)
    _add(
        "hevc_part_second.mp4",
        _x265(f"{second}:ctu=16:sao=0:amp=1:open-gop=0:bframes=3", extra=hvc1),
        source="testsrc",
        **part,
    )
    for codec in ("h264", "hevc"):
        _add(
            f"{codec}_two_descriptions.mp4",
            of=f"{codec}_part.mp4",
            needs=(f"{codec}_part_second.mp4",),
            edit=mp4_join.with_second,
        )
    _add(
        "h264_two_lengths.mp4",
        of="h264_part.mp4",
        needs=("h264_part_second.mp4",),
        edit=mp4_join.with_second_of_short_lengths,
    )


def _display() -> None:
    for degrees in (45, 90, 180, 270):
        edit = surgery.display_matrix(degrees)
        _add(f"h264_rotate_{degrees}.mp4", of="h264.mp4", edit=edit)
    for degrees in (0, 90, 180, 270):
        edit = surgery.display_matrix(degrees, mirrored=True)
        _add(f"h264_mirror_{degrees}.mp4", of="h264.mp4", edit=edit)
    edit = surgery.display_matrix(270, mirrored=True)
    _add("hevc_mirror_270.mp4", of="hevc.mp4", edit=edit)
    edit = surgery.display_matrix(90, mirrored=True)
    _add("hevc_odd_mirror_90.mp4", of="hevc_odd_444.mp4", edit=edit)
    _add("h264_sar.mp4", _x264(_GOP), filters="setsar=4/3")
    _add("h264_sar.mkv", "-c copy", of="h264_sar.mp4")


# The noise has random code values in the whole range, so it has colours out of gamut and values
# that must be clipped.
_NOISE = "geq=lum='random(1)*{top}':cb='random(2)*{top}':cr='random(3)*{top}'"
SPACES = {"bt601": "smpte170m", "bt709": "bt709", "bt2020": "bt2020nc"}
RANGES = {"limited": "tv", "full": "pc"}


def colour_clip(space: str, colour_range: str, depth: int) -> str:
    """Returns the name of the lossless noise clip with these tags."""
    return f"colour_{space}_{colour_range}_{depth}.mkv"


def _colour() -> None:
    for space, space_tag in SPACES.items():
        for colour_range, range_tag in RANGES.items():
            tag = f"-colorspace {space_tag} -color_range {range_tag}"
            for depth, fmt in ((8, "yuv420p"), (10, "yuv420p10le")):
                _add(
                    colour_clip(space, colour_range, depth),
                    f"{_FFV1} -pix_fmt {fmt} {tag}",
                    source="color=black",
                    filters=f"format={fmt},{_NOISE.format(top=2**depth - 1)}",
                    frames=2,
                    tags="colour",
                )
            _add(
                f"h264_{space}_{colour_range}.mp4",
                _x264("keyint=12:bframes=0", extra=tag),
                frames=3,
                tags="colour",
            )
    for name, fmt, depth, size in (
        ("422", "yuv422p", 8, "96:64"),
        ("444", "yuv444p", 8, "96:64"),
        ("444_12", "yuv444p12le", 12, "96:64"),
        ("odd", "yuv420p", 8, "97:65"),
    ):
        _add(
            f"colour_{name}.mkv",
            f"{_FFV1} -pix_fmt {fmt} -colorspace bt709 -color_range tv",
            source="color=black",
            filters=f"scale={size},format={fmt},{_NOISE.format(top=2**depth - 1)}",
            frames=2,
        )
    _add(
        "colour_untagged.mkv",
        f"{_FFV1} -pix_fmt yuv420p",
        source="color=black",
        filters=f"format=yuv420p,{_NOISE.format(top=255)}",
        frames=2,
    )
    _add("colour_untagged_hd.mp4", _x264("keyint=2"), size="1280x64", frames=2)
    _add("colour_smooth.mkv", f"{_FFV1} -pix_fmt yuv420p", size="160x90", frames=3)
    for number, siting in enumerate(("left", "center", "topleft")):
        _add(
            f"h264_siting_{siting}.mp4",
            _x264(f"keyint=1:chromaloc={number}", extra="-crf 10"),
            filters=f"format=yuv420p,{_NOISE.format(top=255)}",
            frames=2,
        )
        _add(
            f"hevc_siting_{siting}.mp4",
            _x265(f"keyint=1:chromaloc={number}", extra="-crf 10"),
            filters=f"format=yuv420p,{_NOISE.format(top=255)}",
            frames=2,
        )
    _add("hevc_bt2020.mp4", _x265(_GOP, "yuv420p10le", "-colorspace bt2020nc -color_range tv"))
    _add("vp9_bt709.webm", _VP9 + " -colorspace bt709 -color_range tv", frames=10)


def _real() -> None:
    real = str(REAL_CLIP)
    _add("bbb.mp4", "-c copy -map 0", of=real)
    _add("bbb_edit_list.mp4", "-an -c copy", of=real, input_args="-ss 1.3 -t 2")
    _add("bbb_small.mp4", "-an " + _x264(_GOP + ":open-gop=1", extra="-vf scale=320:180"), of=real)
    _add("bbb_small.webm", "-an -vf scale=160:90 -r 25/2 " + _VP9, of=real)


def _long_and_damaged() -> None:
    _add("long.mp4", _x264("keyint=50:bframes=2"), size="320x180", frames=1500, tags="long")
    for name in ("h264.mp4", "hevc.mp4", "h264.ts", "mpeg2.ts", "vp9.webm", "av1.mp4"):
        edit = surgery.break_middle_packet
        _add(f"broken_{name}", of=name, edit=edit, tags="damaged")
    for name in ("h264.mkv", "hevc.mp4", "vp8.webm", "mpeg4.mp4"):
        _add(f"garbled_{name}", of=name, edit=surgery.garble_middle_packet, tags="damaged")
    for name in ("h264.mkv", "h264_no_b.mp4", "hevc.mp4", "vp9.webm", "mpeg4.mp4"):
        zeros = "broken_{}_zeros.{}".format(*name.split("."))
        _add(zeros, of=name, edit=surgery.zero_middle_packet, tags="damaged")
    _add("broken_first.mp4", of="h264_no_b.mp4", edit=surgery.break_first_packet, tags="damaged")
    _add("audio_only.mp4", "-vn -c copy", of="h264_audio.mp4", tags="no_video")
    _add(
        "size_change.h264",
        of="h264.h264",
        edit=surgery.append_small,
        needs=("h264_small.h264",),
        tags="mixed",
    )
    _add("h264_small.h264", _x264(_GOP), size="64x48", frames=12)


for _group in (
    _codecs,
    _containers,
    _structure,
    _timing,
    _misleading_times,
    _palettes,
    _descriptions,
    _display,
    _colour,
    _real,
    _long_and_damaged,
):
    _group()

# FFmpeg decodes these clips without an error, and all frames of a clip have one size and format.
SOUND = tuple(
    sorted(
        name
        for name, clip in CLIPS.items()
        if not clip.tags & {"damaged", "no_video", "mixed", "long", "part", "unlisted_codec"}
    )
)
