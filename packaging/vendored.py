"""What is inside packages without being one: the sources that they vendor, with the commit they were taken at.

The packages pin a commit in their own repositories, but their metadata does not say which. A new version of one of
them needs its new commit here: a test compares the versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Source:
    """Repository that a package compiles, at a commit, and the libraries that it carries and links in."""

    package: str
    version: str
    repository: str
    commit: str
    inside: tuple[tuple[str, str, str], ...]  # name, version, licence

    def component(self) -> dict[str, Any]:
        """Return the entry of the SBOM."""
        inside = [
            {"type": "library", "name": name, "version": version, "licenses": [{"license": {"id": licence}}]}
            for name, version, licence in self.inside
        ]
        return {
            "type": "library",
            "name": self.repository.partition("/")[2],
            "version": self.commit,
            "description": f"compiled in {self.package} {self.version}",
            "licenses": [{"license": {"id": "MIT"}}],
            "purl": f"pkg:github/{self.repository}@{self.commit}",
            "externalReferences": [{"type": "vcs", "url": f"https://github.com/{self.repository}"}],
            "components": inside,
        }


LLAMA_CPP = Source(
    "llama-cpp-python", "0.3.36", "ggml-org/llama.cpp", "0c1e57098bba43ac29e6e3b677cdceebdd22334f",
    (
        ("ggml", "0.25.3", "MIT"), ("miniaudio", "0.11.25", "MIT-0"), ("stb_image", "2.30", "MIT"),
        ("xxHash", "0.8.3", "BSD-2-Clause"),
    ),
)  # fmt: skip
IK_COMMIT = "55d3c05bf7b377deaa5dc84d255d9740a345a206"
IK_LLAMA_CPP = Source(
    "ik-llama-cpp-python", "0.1.5", "ikawrakow/ik_llama.cpp", IK_COMMIT, (("ggml", IK_COMMIT, "MIT"),)
)
# The wheel names the release of its library, not the commit.
WHISPER_CPP = Source("pywhispercpp", "1.5.1", "ggml-org/whisper.cpp", "v1.8.5", (("ggml", "0.13.1", "MIT"),))
SOURCES = (LLAMA_CPP, IK_LLAMA_CPP, WHISPER_CPP)


def components(packages: set[str]) -> list[dict[str, Any]]:
    """Return the SBOM's entries of what is inside the packages, which are given by their canonical names."""
    return [source.component() for source in SOURCES if source.package in packages]
