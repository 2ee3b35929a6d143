"""Four real laptops as scripted devices: what published tables of llama-bench say of their processors and devices.

A published table has tokens/s of prompts (pp512) and of writing (tg128), with the processor and with all layers on the
device (`-ngl 99`). None of them has the prompts' speed with weights in RAM (`-ngl 0` of a build with a device) but the
ThinkPad's, whose table lacks the processor's: llama-bench reads prompts on the device there.

Sources:
- i7-1165G7: ggml-org/llama.cpp, pull request 5301, comment of 2024-02-04; llama 7B Q4_K_M, AVX-512, Vulkan.
- Core Ultra 7 258V: r/LocalLLaMA, “Testing llama.cpp with Intel's Xe2 iGPU”, 2024-11; llama 2 7B Q4_0, build 4008,
  Vulkan.
- Ryzen AI 9 HX 370: eliranwong/AMD_iGPU_AI_Setup at 34ee648c, speed_test/llamacpp_cpu.md and
  llamacpp_vulkan_32_32.md; qwen2 1.5B and 7B Q4_K_M, Vulkan.
- ThinkPad P15 Gen 2: PrismML-Eng/Bonsai-demo at 42e37cad, community-benchmarks/cuda-rtxa2000-debian.md; qwen3 8B Q1_0,
  build 8796, CUDA.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.costs.cost_prior import Speed
from engine.devices.device import Device, Measured, Way
from engine.loading.device_choice import Work

MIB, GIB = 1 << 20, 1 << 30
# llama 2 7B as Q4_0: 32 layers, 3.56 GiB, a cache of 4,096 tokens as f16.
WORK_7B = Work(32, 108 * MIB, 70 * MIB, 2 * GIB, 164 * MIB, 108 * MIB + 64 * MIB)


@dataclass(frozen=True)
class Laptop:
    """A laptop, with the speeds of the processor, of all layers on the device, and of prompts alone on it.

    `prompts_alone`: None where no table tells.
    """

    device: Device
    processor: Speed
    all_layers: Speed
    prompts_alone: Speed | None = None
    work: Work = WORK_7B

    def measured(self, *, offload: float | None = None) -> tuple[Measured, ...]:
        """Return what the engine would have measured.

        `offload`: tokens/s of prompts with the weights in RAM, where no table tells them.
        """
        alone = self.prompts_alone or (Speed(self.processor.decode, offload) if offload else None)
        speeds = {Way.ALL_LAYERS: self.all_layers} | ({Way.PROMPTS: alone} if alone else {})
        return tuple(measured(self.device, way, speed, self.work) for way, speed in speeds.items())


def measured(device: Device, way: Way, speed: Speed, work: Work, layers: int | None = None) -> Measured:
    count = (work.layers if way is Way.ALL_LAYERS else 0) if layers is None else layers
    return Measured(device.id, device.driver, "b1", "m", way, count, 1 / speed.prompt, 1 / speed.decode)


def device(description: str, *, free_bytes: int = 0, integrated: bool = True, software: bool = False) -> Device:
    id = description.casefold()
    return Device(id, "Vulkan0", description, "vulkan", integrated, software, free_bytes, free_bytes, "driver 1")


IRIS_XE = Laptop(device("Intel(R) Iris(R) Xe Graphics (TGL GT2)"), Speed(6.70, 10.51), Speed(5.54, 31.92))
ARC_140V = Laptop(device("Intel(R) Arc(TM) Graphics 140V (LNL)"), Speed(11.59, 25.05), Speed(5.54, 44.65))
RADEON_890M = Laptop(device("AMD Radeon 890M Graphics (RADV GFX1150)"), Speed(17.32, 49.13), Speed(19.07, 159.65))
RADEON_890M_SMALL = replace(RADEON_890M, processor=Speed(65.23, 227.01), all_layers=Speed(72.45, 764.66))
# No table tells how fast its processor alone reads prompts: anything from its speed of writing to that of its device
# (`test_the_unknown_speed_of_a_processor_changes_no_choice`).
RTX_A2000 = Laptop(
    device("NVIDIA RTX A2000 Laptop GPU", free_bytes=3770 * MIB, integrated=False),
    Speed(21.96, 106.0),
    Speed(63.22, 1387.23),
    Speed(21.96, 1060.83),
    Work(36, 24 * MIB, 50 * MIB, 576 * MIB, 300 * MIB, 24 * MIB + 16 * MIB),
)
ALL = (IRIS_XE, ARC_140V, RADEON_890M, RADEON_890M_SMALL, RTX_A2000)
