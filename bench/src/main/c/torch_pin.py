"""PyTorch's own pinned allocation, one command a line as the C yardstick takes them: pin bytes=N, or quit."""

import json
import sys
import time

try:
    import torch

    torch.cuda.init()
    torch.empty(1, device="cuda")
    missing = None
except Exception as failure:  # whatever it is, it is the answer
    missing = repr(failure)

for line in sys.stdin:
    words = line.split()
    if not words or words[0] == "quit":
        break
    answer = {"what": words[0]}
    if missing:
        answer["error"] = "PyTorch cannot be used here: " + missing
    else:
        size = int(dict(word.split("=", 1) for word in words[1:])["bytes"])
        begun = time.perf_counter()
        memory = torch.empty(size, dtype=torch.uint8, pin_memory=True)
        answer["seconds"] = time.perf_counter() - begun
        answer["pinned"] = memory.is_pinned()
        answer["version"] = torch.__version__
        begun = time.perf_counter()
        del memory
        torch._C._host_emptyCache()
        answer["freeSeconds"] = time.perf_counter() - begun
    print(json.dumps(answer), flush=True)
