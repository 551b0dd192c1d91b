"""Small files of every format, written with the standard library alone."""
import io
import struct
import zipfile
import zlib


def npy_bytes(rows, kind="<f8"):
    shape = f"({len(rows)}, {len(rows[0])})" if isinstance(rows[0], (list, tuple)) else f"({len(rows)},)"
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    flat = [x for row in rows for x in row] if isinstance(rows[0], (list, tuple)) else rows
    code = {"<f8": "d", "<f4": "f", "<i4": "i"}[kind]
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(flat)}{code}", *flat)


def npz_bytes(method=zipfile.ZIP_DEFLATED, **arrays):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in arrays.items():
            archive.writestr(zipfile.ZipInfo(name + ".npy"), content, method)
    return out.getvalue()


def csv_text(rows):
    return "".join(",".join(repr(float(x)) for x in row) + "\n" for row in rows)


def mtx_text(rows):
    entries = [(i + 1, j + 1, x) for i, row in enumerate(rows) for j, x in enumerate(row) if x != 0]
    head = f"%%MatrixMarket matrix coordinate real general\n{len(rows)} {len(rows[0])} {len(entries)}\n"
    return head + "".join(f"{i} {j} {x!r}\n" for i, j, x in entries)


def idx_bytes(rows, side):
    return struct.pack(">IIII", 0x0803, len(rows), side, len(rows[0]) // side) + bytes(int(x) for row in rows for x in row)


def by_column(rows):
    return [row[c] for c in range(len(rows[0])) for row in rows]


def mat5_bytes(compress=False, **matrices):
    """A MATLAB v5 file of double matrices."""

    def element(kind, data):
        return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)

    out = b"MATLAB 5.0 MAT-file".ljust(116) + bytes(8) + struct.pack("<H", 0x0100) + b"IM"
    for name, rows in matrices.items():
        flat = by_column(rows)
        body = element(6, struct.pack("<II", 6, 0)) + element(5, struct.pack("<ii", len(rows), len(rows[0])))
        body += element(1, name.encode()) + element(9, struct.pack(f"<{len(flat)}d", *flat))
        matrix = element(14, body)
        packed = zlib.compress(matrix)
        out += struct.pack("<II", 15, len(packed)) + packed if compress else matrix
    return out


def hdf5_bytes(user_block=b"", **matrices):
    """An HDF5 file of double matrices as the format's oldest superblock (version 0) has it, data contiguous."""
    none = struct.pack("<Q", 2**64 - 1)

    def header(*messages):
        body = b""
        for kind, data in messages:
            data += bytes(-len(data) % 8)
            body += struct.pack("<HHB3x", kind, len(data), 0) + data
        return struct.pack("<BxHII4x", 1, len(messages), 1, len(body)) + body

    at, links, rest = 96, [(0x0002, b"\0\0" + none + none), (0x000A, b"\0\0")], b""
    for name, rows in matrices.items():
        values = struct.pack(f"<{len(rows) * len(rows[0])}d", *[x for row in rows for x in row])
        float64 = struct.pack("<B3BIHHBBBBI", 0x11, 0x20, 0x3F, 0, 8, 0, 64, 52, 11, 0, 52, 1023)
        space = struct.pack("<BBB5xQQ", 1, 2, 0, len(rows), len(rows[0]))
        dataset = header((1, space), (3, float64), (5, b"\2\2\0\0"), (8, struct.pack("<BBQQ", 3, 1, at, len(values))))
        links.append((0x0006, struct.pack("<BBB", 1, 0, len(name)) + name.encode() + struct.pack("<Q", at + len(values))))
        rest += values + dataset
        at += len(values) + len(dataset)
    root = header(*links)
    base = len(user_block)
    start = b"\x89HDF\r\n\x1a\n" + struct.pack("<8BHHI", 0, 0, 0, 0, 0, 8, 8, 0, 4, 16, 0) + struct.pack("<Q", base) + none
    start += struct.pack("<Q", base + at + len(root)) + none + struct.pack("<QQII16x", 0, at, 0, 0)
    return user_block + start + rest + root


def mat73_bytes(**matrices):
    """A MATLAB v7.3 file: HDF5 after 512 bytes, every matrix by columns."""
    block = b"MATLAB 7.3 MAT-file".ljust(116) + bytes(8) + struct.pack("<H", 0x0200) + b"IM"
    return hdf5_bytes(block.ljust(512, b"\0"), **{name: list(zip(*rows)) for name, rows in matrices.items()})


def pgm_bytes(rows):
    return f"P5\n{len(rows[0])} {len(rows)}\n255\n".encode() + b"".join(bytes(row) for row in rows)


def png_bytes(rows):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
