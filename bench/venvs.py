"""The peers' virtual environments, in the project's root, each made when it is first needed."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What torch needs in Python; Cohort's own environment has torch without it.
TORCH_NEEDS = ["sympy", "jinja2", "networkx", "filelock", "fsspec", "typing-extensions", "setuptools>=77"]


def torch_python():
    """The Python whose torch Cohort is built with."""
    return (ROOT / "build/torch-python").read_text().strip()


def add_torch(venv, python):
    """Cohort's torch instead of a download of its own."""
    ask = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = subprocess.run(ask, check=True, capture_output=True, text=True).stdout
    next(venv.glob("lib/python3*/site-packages")).joinpath("torch.pth").write_text(packages)


def make_venv(name, packages, alone=(), without=()):
    """Path of the environment's Python. `alone`: further packages, without what these need. `without`: removed ones."""
    venv, python = ROOT / name, torch_python()
    stamp = venv / "cohort-stamp"
    wanted = "\n".join([python, *packages, *alone, *without])
    if stamp.exists() and stamp.read_text() == wanted:
        return venv / "bin/python"
    print(f"making {name} with {', '.join([*packages, *alone])} (takes minutes)", flush=True)
    subprocess.run([python, "-m", "venv", "--clear", venv], check=True)
    add_torch(venv, python)
    install = [venv / "bin/pip", "install", "--quiet"]
    subprocess.run([*install, *TORCH_NEEDS, *packages], check=True)
    if alone:
        subprocess.run([*install, "--no-deps", *alone], check=True)
    if without:
        subprocess.run([venv / "bin/pip", "uninstall", "--quiet", "--yes", *without], check=True)
    stamp.write_text(wanted)
    return venv / "bin/python"
