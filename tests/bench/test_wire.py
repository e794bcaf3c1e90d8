from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode

from scripts._bench.wire import frame, split

SIZES = st.integers(0, 300) | st.sampled_from([125, 126, 65_535, 65_536])
PAYLOADS = st.lists(SIZES.map(bytes), max_size=6)


@given(PAYLOADS, st.data())
def test_a_stream_cut_anywhere_gives_the_same_frames(
    payloads: list[bytes], data: st.DataObject
) -> None:
    stream = b"".join(Frame(Opcode.BINARY, each).serialize(mask=False) for each in payloads)
    cut = data.draw(st.integers(0, len(stream)))
    first, rest = split(stream[:cut])
    second, end = split(rest + stream[cut:])
    assert [payload for _, payload in first + second] == payloads
    assert end == b""


@given(st.binary(max_size=300))
def test_a_client_frame_says_its_length_and_masks_with_zeros(payload: bytes) -> None:
    framed = frame(payload)
    mask_at = len(framed) - len(payload) - 4
    as_from_a_server = bytes([framed[0], framed[1] & 0x7F]) + framed[2:mask_at] + payload
    assert framed[mask_at:] == bytes(4) + payload
    assert split(as_from_a_server) == ([(0x82, payload)], b"")
