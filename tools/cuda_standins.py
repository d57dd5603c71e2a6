"""Makes `import torch` work without CUDA's libraries, 2.2 GB of downloads, in an environment of our own.

    cuda_standins.py FOLDER     FOLDER is torch/lib of a CUDA build on a machine without an NVIDIA driver

torch's Python module needs these libraries to load, and calls none of them without a driver. For each missing library
the script links one of the same name that defines the wanted symbols; a call of one ends the process.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

# Which library defines a symbol without a version, by the symbol's prefix.
PREFIXES = {"cublasLt": "libcublasLt", "cublas": "libcublas", "cudnn": "libcudnn", "cufft": "libcufft",
            "cuFile": "libcufile", "curand": "libcurand", "cusolver": "libcusolver", "cusparseLt": "libcusparseLt",
            "cusparse": "libcusparse", "nccl": "libnccl", "pnccl": "libnccl", "nvrtc": "libnvrtc",
            "nvshmem": "libnvshmem"}  # fmt: skip


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def missing_libraries(folder):
    needed = set()
    for library in folder.glob("*.so"):
        needed.update(re.findall(r"NEEDED.*\[(lib(?:cu|nv|nc).*)\]", output_of("readelf", "-d", library)))
    present = {
        path.name for root in (folder, folder.parent.parent / "nvidia") for path in root.rglob("lib*.so*")
    }
    # The driver's own library is loaded on demand.
    return sorted(needed - present - {"libcuda.so.1"})


def wanted_symbols(folder, library):
    """(name, version) pairs that torch's libraries want of `library`; the version may be empty."""
    wanted = set()
    for user in folder.glob("*.so"):
        for symbol in re.findall(r" U (\S+)", output_of("nm", "-D", user)):
            name, _, version = symbol.partition("@")
            prefix = next((p for p in sorted(PREFIXES, key=len, reverse=True) if name.startswith(p)), None)
            if prefix and PREFIXES[prefix] == re.split(r"_host|\.", library)[0]:
                wanted.add((name, version.strip("@")))
    return sorted(wanted)


def link(folder, library):
    symbols = wanted_symbols(folder, library)
    with tempfile.TemporaryDirectory() as scratch:
        source, versions = Path(scratch, "symbols.s"), Path(scratch, "versions.map")
        source.write_text(
            ".text\n" + "".join(f".globl {n}\n.type {n},@function\n{n}: ud2\n" for n, _ in symbols)
        )
        nodes = {v: "".join(f"{n};" for n, version in symbols if version == v) for _, v in symbols if v}
        versions.write_text("".join(f"{v} {{ global: {names} }};\n" for v, names in nodes.items()))
        script = [f"-Wl,--version-script={versions}"] if nodes else []
        output_of(
            "gcc", "-shared", "-nostdlib", f"-Wl,-soname,{library}", "-o", folder / library, source, *script
        )
    print(f"{library}: {len(symbols)} symbols")


if __name__ == "__main__":
    lib = Path(sys.argv[1])
    for name in missing_libraries(lib):
        link(lib, name)
